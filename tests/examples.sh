#!/bin/sh
# Runs the examples and looks at what they return, print and write. MIT licence, see LICENSE.
# environment: BUILD (where the programs are), MPIEXEC, POLITE (see tests/run)
passed=0 failed=0 skipped=0
work=$BUILD/examples.tmp
mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT

case_of() { # status description
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        [ "$failed" -gt 10 ] || { echo "FAILED: $2" && sed 's/^/    /' "$work/output" | head -n 12; }
    fi
}

# expect STATUS PATTERN RANKS PROGRAM [ARGUMENT...]: the exit status, and a line that matches
expect() {
    status=$1 pattern=$2 ranks=$3 program=$4
    shift 4
    timeout -k 5 20 $MPIEXEC -n "$ranks" $POLITE "$BUILD/$program" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$status" ] && grep -q -e "$pattern" "$work/output"
    case_of $? "$program $* on $ranks ranks: exit status $got, not $status, or no line like '$pattern'"
}

same() { # file file description
    cmp "$1" "$2" >"$work/output" 2>&1
    case_of $? "$3: the files differ"
}

skip() { # program
    [ -e "$BUILD/$1.skip" ] || return 1
    skipped=$((skipped + 1))
    echo "skipped: $1, $(cat "$BUILD/$1.skip")"
}

test_hello() {
    for ranks in 1 2 4 7 9; do
        expect 0 '^0 of 96 elements are wrong' $ranks hello
    done
}

test_adi() {
    for ranks in 1 2 4 7; do
        expect 0 'rounding .*: right' $ranks adi --n 50 --steps 20
        expect 0 'rounding .*: right' $ranks adi --n 3 --steps 4 --dt 0.01 --method point_to_point
        expect 0 'rounding .*: right' $ranks adi --n 41 --steps 5 --block 3 --method alltoallv
        expect 0 'rounding .*: right' $ranks adi --n 41 --steps 5 --block 1 --method alltoallw
    done
    for method in shared point_to_point scheduled alltoallv alltoallw multiphase; do
        expect 0 "REDIST_$(echo $method | tr a-z A-Z)" 4 adi --n 40 --steps 2 --method $method
        grep -q 'rounding .*: right' "$work/output"
        case_of $? "adi --method $method: not right"
    done
    expect 0 'error  *8\.81e-04 of 1\.39e-01' 2 adi --n 9 --steps 4
    expect 0 ' 0.00e+00 of 1.00e+00' 1 adi --n 60 --steps 0
}

test_adi_options() {
    expect 2 'adi: --n needs an integer from 1 to 1000000' 2 adi --n few
    for bad in '--n 0' '--n -3' '--n 12x' '--n' '--n 99999999999999999999' '--steps 1.5' '--steps -1' '--method fast' \
        '--block 0' \
        '--dt 0' '--dt nan' '--dt -1'; do
        expect 2 "adi: ${bad%% *} needs .*, not '$(echo "$bad" | cut -s -d ' ' -f 2)'" 2 adi $bad
    done
    expect 2 "unknown option '--fast'" 2 adi --fast 1
    expect 2 "unknown option 'fast'" 2 adi fast
}

# unchanged INPUT EXPECTED: only the format may change
unchanged() {
    for ranks in 1 4; do
        expect 0 '^  0 of' $ranks image --from "$1" --effect keep --picture "$work/copy.pgm"
        same "$2" "$work/copy.pgm" "$(basename "$1") read and written on $ranks ranks"
        rm -f "$work/copy.pgm"
    done
}

becomes() { # EXPECTED ARGUMENT...: what a picture of 3 x 2 pixels becomes
    printf "P5\n$1" >"$work/expected.pgm"
    shift
    expect 0 '^  0 of 6 pixels' 4 image --from "$work/binary.pgm" --picture "$work/copy.pgm" "$@"
    same "$work/expected.pgm" "$work/copy.pgm" "image $*"
    rm -f "$work/copy.pgm"
}

test_image() {
    printf 'P2\n# a comment\n3 2 # another\n9\n0 1 2\n3\t4 9' >"$work/text.pgm"
    printf 'P5\n3 2\n9\n\000\001\002\003\004\011' >"$work/binary.pgm"
    unchanged "$work/text.pgm" "$work/binary.pgm"
    printf 'P5\n2 3\n1000\n\001\000\000\012\003\350\000\000\002\001\000\377' >"$work/deep.pgm"
    unchanged "$work/deep.pgm" "$work/deep.pgm"
    printf 'P5 # all on one line\n5 1 255\n\007\010\007\007\007' >"$work/flat.pgm"
    printf 'P5\n5 1\n255\n\007\010\007\007\007' >"$work/same.pgm"
    unchanged "$work/flat.pgm" "$work/same.pgm"
    becomes '2 3\n9\n\002\011\001\004\000\003' --effect keep --turns 1
    becomes '3 2\n9\n\011\004\003\002\001\000' --effect keep --turns 2
    becomes '2 3\n9\n\003\000\004\001\011\002' --effect keep --turns 3
    becomes '3 2\n9\n\011\010\007\006\005\000' --effect negative
    becomes '3 2\n9\n\000\002\003\005\006\010'
    expect 0 '^  0 of' 1 image --turns 1 --picture "$work/one.pgm"
    for ranks in 2 5 6; do
        expect 0 '^  0 of 256000 pixels' $ranks image --turns 1 --picture "$work/other.pgm"
        same "$work/one.pgm" "$work/other.pgm" "image on $ranks ranks against 1 rank"
    done
}

bad_picture() { # contents pattern
    printf "$1" >"$work/bad.pgm"
    expect 1 "bad.pgm: .*$2" 3 image --from "$work/bad.pgm"
}

test_bad_pictures() {
    expect 1 'cannot be opened' 3 image --from "$work/absent.pgm"
    expect 1 'cannot be read' 2 image --from "$work"
    expect 1 'cannot be created' 3 image --picture "$work/absent/a.pgm"
    bad_picture '' 'must begin with P2 or P5'
    bad_picture 'P6\n1 1\n255\nabc' 'must begin with P2 or P5'
    bad_picture 'P5\n' 'width and height'
    bad_picture 'P5\n0 3\n255\n' 'width and height'
    bad_picture 'P5\n3 -1\n255\n' 'width and height'
    bad_picture 'P5\n99999999999999999999 2\n255\n' 'width and height'
    bad_picture 'P5\n2 2\n' 'largest grey value'
    bad_picture 'P5\n2 2\n70000\nabcd' 'largest grey value'
    bad_picture 'P5\n2 2\n0\nabcd' 'largest grey value'
    bad_picture 'P5\n2 2\n255' 'no white space'
    bad_picture 'P5\n4 4\n255\nabc' 'ends before'
    bad_picture 'P5\n2 1\n256\n\000\001\000' 'ends before'
    bad_picture 'P2\n2 2\n255\n1 2 3' 'ends before'
    bad_picture 'P2\n2 2\n255\n1 2 x 4\n' 'not a number'
    bad_picture 'P2\n2 2\n255\n1 2 256 4\n' 'above the largest'
    bad_picture 'P5\n2 1\n9\n\001\012' 'above the largest'
    bad_picture 'P5\n1048576 1048576\n255\nabc' '\(not enough memory\|ends before\|too large\)'
}

test_stencil() {
    for options in '1 --n 1' '2 --n 5' '4 --n 12' '7 --n 9'; do
        expect 0 'rounding .*: right' ${options%% *} stencil --steps 7 $(echo "$options" | cut -d ' ' -f 2-)
    done
    expect 2 'stencil: --n needs an integer' 2 stencil --n 0
}

# Every program says what it is there to show.
test_help() {
    for program in adi stencil deposit transpose image relabel advise fft3d taylor_green; do
        [ -e "$BUILD/$program.skip" ] || expect 0 '[Tt]eaches ' 2 $program --help
    done
    [ -e "$BUILD/draw.skip" ] || expect 0 '^A tool: ' 1 draw --help
}

test_fft3d() {
    for ranks in 1 2 4 6; do
        expect 0 'error .*: right' $ranks fft3d --nx 16 --ny 16 --nz 16
        expect 0 'error .*: right' $ranks fft3d --nx 12 --ny 7 --nz 5
        expect 0 'error .*: right' $ranks fft3d --nx 1 --ny 31 --nz 4
        expect 0 'error .*: right' $ranks fft3d --nx 3 --ny 2 --nz 1
    done
    expect 2 'fft3d: --nx needs an integer' 2 fft3d --nx 0
}

test_taylor_green_solution() {
    for options in '1 --n 12' '2 --n 13 --nz 5 --nu 0.1' '4 --n 4 --nz 2 --nu 0' '4 --n 15 --nz 3 --p1 4' \
        '6 --n 12 --nz 9'; do
        expect 0 'exact decay .*: right' ${options%% *} taylor_green --dimensions 2 --steps 6 \
            $(echo "$options" | cut -d ' ' -f 2-)
        grep -q 'energy balance .*: right' "$work/output"
        case_of $? "taylor_green --dimensions 2 on $options ranks: the energy does not balance"
    done
    # In three dimensions, the sums of the first six powers of t at 0.1, with nu = 0.02 and without.
    expect 0 't = 0.1, energy 1.23508455[34].*e-01, enstrophy 3.70905483.*e-01' \
        2 taylor_green --n 14 --nu 0.02 --dt 0.005 --steps 20
    expect 0 't = 0.1, energy 1.2\(50000000\|49999999\).*, enstrophy 3.75390920.*e-01' \
        1 taylor_green --n 14 --nu 0 --dt 0.005 --steps 20
}

ends() { # what the last run ended with
    sed -n 's/.*at the end *//p' "$work/output"
}

# Halving the time step divides the error by 8.
test_taylor_green_order() {
    for steps in 5 10 20; do
        expect 0 'energy balance .*: right' 1 taylor_green --n 12 --nu 0.02 \
            --dt $(echo "$steps" | awk '{ print 1 / $1 }') --steps $steps
        ends | sed 's/.*energy \([^,]*\),.*/\1/' >>"$work/energies"
    done
    awk '{ e[NR] = $1 } END { ratio = (e[2] - e[1]) / (e[3] - e[2]); print ratio; exit !(ratio > 7 && ratio < 9.5) }' \
        "$work/energies" >"$work/output"
    case_of $? 'taylor_green: the scheme is not of third order'
}

# 13 and 15 points carry the same modes. What they do must not depend on the points, or products are aliased.
test_taylor_green_aliases() {
    expect 0 right 1 taylor_green --n 13 --steps 20 --dt 0.1
    ends >"$work/one"
    expect 0 right 2 taylor_green --n 15 --steps 20 --dt 0.1
    ends >"$work/other"
    same "$work/one" "$work/other" 'taylor_green with 15 points against 13 points'
}

# The same on any ranks; the loss is 2 nu Z, and the energy is what the losses (by Simpson's rule) have left.
test_taylor_green_same() {
    expect 0 'energy balance .*: right' 1 taylor_green --n 14 --nz 9 --dt 0.03 --steps 10 --csv "$work/vortex.csv"
    ends >"$work/one"
    awk -F, 'NR > 1 { if (!($4 > 0) || ($4 - $5)^2 > (1e-12 * $4)^2) bad = 1
                      t[NR - 2] = $1; e[NR - 2] = $2; l[NR - 2] = $4; n = NR - 2 }
        END { for (k = 0; k < n; k += 2) sum += (t[k + 2] - t[k]) * (l[k] + 4 * l[k + 1] + l[k + 2]) / 6
              print n, e[0] - e[n], sum
              exit bad || n != 10 || (e[0] - e[n] - sum)^2 > (1e-5 * sum)^2 }' "$work/vortex.csv" >"$work/output"
    case_of $? 'taylor_green: what the energy loses'
    for options in 2 4 '4 --p1 4' 7; do
        expect 0 'energy balance .*: right' ${options%% *} taylor_green --n 14 --nz 9 --dt 0.03 --steps 10 \
            $(echo "$options" | cut -s -d ' ' -f 2-)
        ends >"$work/other"
        awk '/predicted/ { least = least == "" || $5 < least ? $5 : least; time[$1 " x " $3] = $5 }
            /preparing/ { chosen = $7 " x " $9 }
            END { exit !(chosen in time && time[chosen] == least) }' "$work/output"
        case_of $? "taylor_green on $options ranks: not the grid of the least predicted time"
        same "$work/one" "$work/other" "taylor_green on $options ranks against 1 rank"
    done
}

# Stopped on 4 ranks, gone on with others; and the file itself survives any number of ranks.
test_taylor_green_restart() {
    expect 0 right 2 taylor_green --n 14 --nz 9 --steps 8
    ends >"$work/one"
    expect 0 right 4 taylor_green --n 14 --nz 9 --steps 5 --save "$work/modes"
    for ranks in 1 2 3 7; do
        expect 0 right $ranks taylor_green --restart "$work/modes" --steps 3
        ends >"$work/other"
        same "$work/one" "$work/other" "taylor_green, gone on with on $ranks ranks"
        printf 'longer than what is to come: %20000s' x >"$work/again"
        expect 0 right $ranks taylor_green --restart "$work/modes" --steps 0 --save "$work/again"
        same "$work/modes" "$work/again" "a restart file read and written on $ranks ranks"
    done
    expect 0 'exact decay .*: right' 2 taylor_green --dimensions 2 --n 12 --nu 0.3 --steps 4 --save "$work/again"
    expect 0 'exact decay .*: right' 1 taylor_green --restart "$work/again" --steps 4
    expect 1 'absent: cannot be opened' 2 taylor_green --restart "$work/absent"
    head -c 2000 "$work/modes" >"$work/again"
    expect 1 'again: ends too early' 2 taylor_green --restart "$work/again"
    head -c 60 "$work/modes" >"$work/again"
    expect 1 'again: is no restart file' 2 taylor_green --restart "$work/again"
    { printf 'T'; tail -c +2 "$work/modes"; } >"$work/again"
    expect 1 'again: is no restart file' 1 taylor_green --restart "$work/again"
    { head -c 24 "$work/modes"; head -c 48 /dev/zero; tail -c +73 "$work/modes"; } >"$work/again"
    expect 1 'again: is no restart file' 1 taylor_green --restart "$work/again"
    expect 1 'cannot be created' 2 taylor_green --n 8 --steps 0 --save "$work/absent/modes"
}

# spin_picture RANKS COLUMNS OPTIONS: at the start |omega| is |sin y sin z| on x = 0, in two dimensions 2 |sin x sin y|
spin_picture() {
    expect 0 right $1 taylor_green --n 5 $3 --steps 0 --picture "$work/spin.pgm"
    awk -v columns=$2 'BEGIN {
        pi = atan2(0, -1); most = 0
        for (pass = 0; pass < 2; pass++)
            for (y = 0; y < 5; y++)
                for (z = 0; z < columns; z++) {
                    value = sqrt((sin(2 * pi * y / 5) * sin(2 * pi * z / columns))^2)
                    most = value > most ? value : most
                    if (pass) printf "%d%s", int(255 * value / most + 0.5), z + 1 < columns ? " " : "\n"
                } }' >"$work/expected"
    tail -n +4 "$work/spin.pgm" | od -An -v -tu1 -w$2 | awk '{ $1 = $1; print }' >"$work/other"
    same "$work/expected" "$work/other" "the picture of taylor_green $3 on $1 ranks"
}

test_taylor_green_files() {
    spin_picture 4 7 '--nz 7'
    spin_picture 2 5 '--dimensions 2'
    expect 1 'cannot be created' 2 taylor_green --n 5 --steps 0 --picture "$work/absent/spin.pgm"
    expect 1 'cannot be created' 2 taylor_green --n 5 --steps 0 --csv "$work/absent/vortex.csv"
}

test_taylor_green_options() {
    expect 0 '^usage.*taylor_green' 2 taylor_green --help
    grep -q 'It teaches pencils' "$work/output"
    case_of $? 'taylor_green --help does not say what it teaches'
    for bad in '--n 3' '--n' '--nz 0' '--dimensions 4' '--nu -1' '--nu nan' '--dt 0' '--steps -1' '--p1 0' \
        '--csv' '--save'; do
        expect 2 "taylor_green: ${bad%% *} needs .*, not '$(echo "$bad" | cut -s -d ' ' -f 2)'" 1 taylor_green $bad
    done
    expect 2 'p1 must divide' 4 taylor_green --p1 3
    expect 2 'nz needs at least 4' 1 taylor_green --nz 3
    expect 2 'exclude each other' 2 taylor_green --restart "$work/modes" --nu 0.1
    expect 2 "unknown option '--fast'" 2 taylor_green --fast 1
}

# picture RECTANGLES PATTERN ARGUMENT...: well-formed SVG with so many rectangles, and a line that matches
picture() {
    rectangles=$1 pattern=$2
    shift 2
    "$BUILD/draw" "$@" >"$work/picture.svg" 2>"$work/output" && [ "$(tail -n 1 "$work/picture.svg")" = '</svg>' ] &&
        [ "$(grep -c '<rect ' "$work/picture.svg")" -eq "$rectangles" ] && grep -q -e "$pattern" "$work/picture.svg" &&
        { ! command -v xmllint >/dev/null || xmllint --noout "$work/picture.svg" >"$work/output" 2>&1; }
    good=$?
    found=$(grep -c '<rect ' "$work/picture.svg")
    case_of $good "draw $*: fails, is no XML, has $found rectangles, not $rectangles, or no '$pattern'"
}

# Rectangles: the page's 1, each block's 1, and in a table 1 for every cell that holds something, its headings included.
test_draw() {
    rows='12x12: block@3, *' columns='12x12: *, block@3'
    picture 4 '>12x12: block@3, \*<' "$rows"
    picture 7 '48 of 144 elements stay' --array "$rows" "$columns"
    picture 17 '>16</text>' --matrix "$rows" "$columns"
    picture 13 'step 2<' --schedule "$rows" "$columns"
    picture 35 ' 48 stay, 96 move in 6 messages, .*; 3 steps' "$rows" "$columns"
    picture 109 '72 of 288 elements stay' --relabel --array '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4'
    picture 109 '24 of 288 elements stay' --relabel --array '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4'
    picture 49 '12 of 36 elements stay' '36: cyclic@4' --array '36: CYCLIC(3) @ 4'
    picture 106 '>99</text>' '300: cyclic(3)@200 [0:300 of 600]'
    picture 7 '^<text .*>9</text>' --axes 2,0 --at 0,1,0 '4x2x6: block@2, block@2, block@5; from rank 2'
    picture 3 '>1000000: block@2<' '1000000: block@2'
    picture 4 'M20 51h224v112h-224zM20 163h140v112h-140zM160 163h84v112h-84z' \
        '8x8: box, box; boxes 0:4x0:8, 4:8x0:5, 4:8x5:8'
    picture 6 '52 of 64 elements stay' --array '8x8: block@2, *' '8x8: box, box; boxes 0:4x0:8, 4:8x0:5, 4:8x5:8'
    picture 3 '<rect x="20" y="163" .*"#cc6677"' \
        '6x8x8: box, box, box; boxes 0:6x0:4x0:8, 0:3x4:8x0:8, 3:6x4:8x0:8' --axes 1,2 --at 4
    picture 5 'dasharray="5 3" d="M22 95h192v192h-192zM330 95h24v192h-24zM22 403h192v24h-192zM330 403h24v24h-24z"' \
        '12x12: block@2 halo(1) periodic, block@2 halo(1) periodic'
    picture 5 'dashed: with ghost cells' '20: block@4 halo(2) closed'
    picture 9 '>7</text>' --array '2x9: block@2, cuts(0,1,9); ranks 7,200,0,3' \
        '2x9: block@2, cuts(0,1,9); ranks 7,200,0,3'
}

test_draw_mistakes() {
    expect 1 "draw: column 15: expected '@'" 1 draw '100x80: block x'
    grep -q '^ \{18\}^$' "$work/output" && grep -q '^    100x80: block x$' "$work/output"
    case_of $? 'draw: no caret below column 15'
    expect 1 'draw: axis 0: the number of processes is 0' 1 draw '7: block@0'
    expect 1 'draw: the source view and the destination view differ in rank or extents' 1 draw '7: *' '8: *'
    expect 1 'which layout' 1 draw
    expect 1 'more than two layouts' 1 draw '7: *' '7: *' '7: *'
    expect 1 'too many ranks' 1 draw '1000: block@1000'
    expect 1 'too many blocks' 1 draw '9999: cyclic@2'
    expect 1 'too many blocks' 1 draw '400x400: cyclic@2, cyclic@2'
    expect 1 'too many elements' 1 draw '1000001: *'
    expect 1 'too many elements' 1 draw '2000: cyclic(4)@2'
    expect 1 'need two layouts' 1 draw '7: *' --schedule
    expect 1 'the array is empty' 1 draw '0: *'
    expect 1 'outside the array' 1 draw '3x4: *, *' --at 0,4
    for axes in 2 1,1 -1 0,9999999999; do
        expect 1 'axes needs' 1 draw --axes "$axes" '3x4: *, *'
    done
    for bad in --fast --axes '--axes x' '--axes 1,' '--at' '--at 0;1'; do
        expect 2 "unknown or incomplete option '${bad%% *}'" 1 draw '3x4: *, *' $bad
    done
    expect 0 '^usage' 1 draw --help
}

test_deposit() {
    for options in '1' '2 --particles 5000' '3 --n 7 --particles 3000' '4 --particles 20000' \
        '6 --n 33 --particles 9999' '7 --n 2 --particles 100' \
        '2 --n 1 --particles 3' '4 --particles 0'; do
        expect 0 'same bits as a deposit on one rank' ${options%% *} deposit $(echo "$options" | cut -s -d ' ' -f 2-)
        grep -q 'total charge .*: conserved' "$work/output"
        case_of $? "deposit on $options ranks: the charge is not conserved"
    done
    expect 0 'conserved' 1 deposit --n 50 --particles 20000 --picture "$work/one.pgm"
    expect 0 'conserved' 4 deposit --n 50 --particles 20000 --picture "$work/other.pgm"
    same "$work/one.pgm" "$work/other.pgm" 'deposit on 4 ranks against 1 rank'
    expect 1 'cannot be created' 2 deposit --particles 10 --picture "$work/absent/a.pgm"
    expect 2 'deposit: --n needs an integer' 2 deposit --n 0
}

test_transpose() {
    for options in '1' '2 --alpha 0.3 --beta 0.7' '4 --op none --beta 0 --n 60' \
        '4 --op conjugate --alpha -0.7 --beta 0.1 --n 37 --block 5' \
        '6 --n 2 --block 7' '3 --op conjugate --n 33 --block 1'; do
        expect 0 'redist, arena .* us, right, the same bits' ${options%% *} transpose --repetitions 2 \
            $(echo "$options" | cut -s -d ' ' -f 2-)
        grep -q 'after 10 times .*: right' "$work/output"
        case_of $? "transpose on $options ranks: the iteration is not right"
        [ -e "$BUILD/advise.skip" ] || grep -q 'ScaLAPACK .*, right, the same bits' "$work/output"
        case_of $? "transpose on $options ranks: not what ScaLAPACK makes"
    done
    expect 2 'transpose: --op needs one of none transpose conjugate' 2 transpose --op other
}

test_relabel() {
    for options in '1' '2 --n 20 --steps 3' '3 --n 3' '4' '4 --n 7 --block 7 --steps 0' '5 --n 23 --block 1'; do
        expect 0 'unchanged: the same solution' ${options%% *} relabel $(echo "$options" | cut -s -d ' ' -f 2-)
    done
    expect 0 'block k is on rank 0 2 1 3' 4 relabel --n 16 --block 2 --first 0 --steps 2
    expect 0 'as numbered     9.60 MB stay' 2 relabel --steps 0
    expect 0 'relabelled     22.40 MB stay' 2 relabel --steps 0
    expect 0 'as numbered     0.00 MB stay' 4 relabel --steps 0
    expect 0 'relabelled     16.00 MB stay' 4 relabel --steps 0
    expect 1 'relabel: there must be at least as many rows' 4 relabel --n 3
    expect 2 'relabel: --n needs an integer' 2 relabel --n 0
    expect 2 "unknown option '--fast'" 3 relabel --fast 1
}

test_advise() {
    for options in '1' '2 --n 31 --block 4' '3 --n 2 --block 64' '4 --repetitions 0'; do
        expect 0 'rotate and reshape .*: right' ${options%% *} advise $(echo "$options" | cut -s -d ' ' -f 2-)
        ! grep -q WRONG "$work/output"
        case_of $? 'advise: something is wrong'
    done
    expect 0 'product back to 1x4: right' 4 advise --n 40 --block 3
    expect 2 'advise: --block needs an integer' 2 advise --block 0
}

skip hello || test_hello
if ! skip draw; then
    test_draw
    test_draw_mistakes
fi
skip deposit || test_deposit
skip transpose || test_transpose
skip relabel || test_relabel
skip advise || test_advise
if ! skip adi; then
    test_adi
    test_adi_options
fi
if ! skip image; then
    test_image
    test_bad_pictures
fi
skip stencil || test_stencil
test_help
skip fft3d || test_fft3d
if ! skip taylor_green; then
    test_taylor_green_solution
    test_taylor_green_order
    test_taylor_green_aliases
    test_taylor_green_same
    test_taylor_green_restart
    test_taylor_green_files
    test_taylor_green_options
fi
echo "examples.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
