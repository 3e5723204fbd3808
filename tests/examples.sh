#!/bin/sh
# Runs the examples and checks their exit status, output and files. MIT licence, see LICENSE.
# environment: BUILD (where the programs are), MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"
trap 'rm -rf "$work"' EXIT
prefer_clang

# start MPIEXEC ARGUMENT...: sets got, the exit status
start() {
    for _ in 1 2 3; do # MPICH's mpiexec may write to a program that has ended: SIGPIPE, 141, ends it then
        timeout -k 5 60 "$@" >"$work/output" 2>&1 </dev/null
        got=$?
        [ "$got" -eq 141 ] || break
    done
}

# expect STATUS PATTERN RANKS PROGRAM [ARGUMENT...]: the exit status, and a line that matches; 0 ranks: without MPI, 1:
# without mpiexec, which takes two fifths of the time of a start
expect() {
    status=$1 pattern=$2 ranks=$3 program=$4
    shift 4
    if [ "$ranks" -le 1 ]; then start "$BUILD/$program" "$@"
    else start $MPIEXEC -n "$ranks" $YIELDING "$BUILD/$program" "$@"; fi
    [ "$got" -eq "$status" ] && grep -q -e "$pattern" "$work/output"
    count $? "$program $* on $ranks ranks: exit status $got, not $status, or no line like '$pattern'"
}

# also PATTERN: a line of what the last program wrote matches
also() {
    grep -q -e "$1" "$work/output"
    count $? "$program on $ranks ranks: no line like '$1'"
}

same() { # file file description
    cmp "$1" "$2" >"$work/output" 2>&1
    count $? "$3: the files differ"
}

left_out() { # program
    [ -e "$BUILD/$1.skip" ] && skip "$1, $(cat "$BUILD/$1.skip")"
}

test_hello() {
    for ranks in 1 5; do
        expect 0 '^0 of 96 elements are wrong' $ranks hello
    done
}

test_adi() {
    for ranks in 1 5; do
        expect 0 'rounding .*: right' $ranks adi --n 50 --steps 20
        also 'waiting  *[0-9.e-]* s in 20 executions on the mean'
    done
    expect 0 'rounding .*: right' 4 adi --n 3 --steps 4 --dt 0.01 --method point_to_point
    expect 0 'rounding .*: right' 3 adi --n 41 --steps 5 --block 3 --method alltoallv
    expect 0 'rounding .*: right' 2 adi --n 41 --steps 5 --block 1 --method alltoallw
    for method in shared point_to_point scheduled alltoallv alltoallw multiphase nodes; do
        expect 0 "REDIST_$(echo $method | tr a-z A-Z)" 2 adi --n 40 --steps 2 --method $method
        also 'rounding .*: right'
    done
    expect 0 'error  *8\.81e-04 of 1\.39e-01' 2 adi --n 9 --steps 4
    expect 0 ' 0.00e+00 of 1.00e+00' 1 adi --n 60 --steps 0
}

test_adi_options() {
    expect 2 'adi: --n needs an integer from 1 to 1000000' 2 adi --n few
    for bad in '--n 0' '--n -3' '--n 12x' '--n' '--n 99999999999999999999' '--steps 1.5' '--steps -1' '--method fast' \
        '--block 0' \
        '--dt 0' '--dt nan' '--dt -1'; do
        expect 2 "adi: ${bad%% *} needs .*, not '$(echo "$bad" | cut -s -d ' ' -f 2)'" 1 adi $bad
    done
    expect 2 "unknown option '--fast'" 1 adi --fast 1
    expect 2 "unknown option 'fast'" 1 adi fast
}

# Stopped on 4 ranks, continued on other numbers of ranks: the solution is that of all steps, to rounding.
test_adi_restart() {
    expect 0 'rounding .*: right' 4 adi --n 41 --steps 12 --dt 0.002 --block 3 --save "$work/heat"
    for ranks in 1 5; do
        expect 0 'rounding .*: right' $ranks adi --restart "$work/heat" --steps 8 --save "$work/again"
        also 'error .* of 4.54e-01' # exp(-2 pi^2 0.04)
    done
    expect 0 'rounding .*: right' 2 adi --restart "$work/again" --steps 0
    expect 1 'fields: is not of adi' 2 adi --restart "$work/fields"
    expect 1 'absent: cannot be opened' 2 adi --restart "$work/absent"
    expect 2 'exclude each other' 2 adi --restart "$work/heat" --n 41
    expect 1 "heat: has 'field u .*', not 'field pressure" 2 checkpoint --restart "$work/heat"
}

# unchanged INPUT EXPECTED: only the format may change
unchanged() {
    expect 0 '^  0 of' 3 image --from "$1" --effect keep --picture "$work/copy.pgm"
    same "$2" "$work/copy.pgm" "$(basename "$1") read and written"
    rm -f "$work/copy.pgm"
}

becomes() { # EXPECTED ARGUMENT...: what a picture of 3 x 2 pixels becomes
    printf "P5\n$1" >"$work/expected.pgm"
    shift
    expect 0 '^  0 of 6 pixels' 2 image --from "$work/binary.pgm" --picture "$work/copy.pgm" "$@"
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
    expect 0 '^  0 of 256000 pixels' 5 image --turns 1 --picture "$work/other.pgm"
    same "$work/one.pgm" "$work/other.pgm" 'image on 5 ranks against 1 rank'
}

bad_picture() { # contents pattern
    printf "$1" >"$work/bad.pgm"
    expect 1 "bad.pgm: .*$2" 1 image --from "$work/bad.pgm"
}

test_bad_pictures() {
    expect 1 'cannot be opened' 2 image --from "$work/absent.pgm"
    expect 1 'cannot be read' 1 image --from "$work"
    expect 1 'cannot be created' 3 image --picture "$work/absent/a.pgm"
    printf 'P5\n4 4\n255\nabc' >"$work/bad.pgm"
    expect 1 'bad.pgm: .*ends before' 3 image --from "$work/bad.pgm"
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
    bad_picture 'P5\n2 1\n256\n\000\001\000' 'ends before'
    bad_picture 'P2\n2 2\n255\n1 2 3' 'ends before'
    bad_picture 'P2\n2 2\n255\n1 2 x 4\n' 'not a number'
    bad_picture 'P2\n2 2\n255\n1 2 256 4\n' 'above the largest'
    bad_picture 'P5\n2 1\n9\n\001\012' 'above the largest'
    bad_picture 'P5\n1048576 1048576\n255\nabc' '\(not enough memory\|ends before\|too large\)'
}

test_stencil() {
    for options in '1 --n 1 --stencil box' '1 --n 1 --fields staggered --stencil star' '2 --n 5 --stencil star' \
        '4 --n 12 --halo 3 --stencil box' '4 --n 12 --halo 3 --fields staggered --stencil star' \
        '5 --n 9 --halo 1 --stencil star' '7 --n 9 --halo 1 --fields staggered --stencil box'; do
        expect 0 'rounding .*: right' ${options%% *} stencil --steps 7 $(echo "$options" | cut -d ' ' -f 2-)
    done
    expect 0 'faces  *2 messages and 1024 bytes from rank 0' 4 stencil --n 8 --steps 3 --stencil star
    also 'with corners  *3 messages and 1600 bytes from rank 0'
    expect 0 '3 messages from rank 0, of three fields' 4 stencil --fields staggered --steps 9
    also 'copying  *[0-9.e-]* s in 9 executions on the mean'
    expect 2 'stencil: --n needs an integer' 1 stencil --n 0
}

test_checkpoint() {
    for ranks in 1 2 5; do
        expect 0 'datatypes' $ranks checkpoint --n 23 --m 31 --writers 3 --file "$work/fields"
        [ "$(grep -c '^  0 bytes are wrong' "$work/output")" -eq 2 ]
        count $? "checkpoint on $ranks ranks: bytes are wrong"
        same "$work/fields" "$work/fields.slabs" "checkpoint on $ranks ranks, by datatypes and through writers"
        others=$((6 - ranks))
        expect 0 'datatypes' $others checkpoint --restart "$work/fields" --writers 2
        [ "$(grep -c '^  0 bytes are wrong' "$work/output")" -eq 2 ]
        count $? "checkpoint of $ranks ranks read on $others: bytes are wrong"
    done
    expect 2 'checkpoint: --writers needs an integer' 1 checkpoint --writers 0
    expect 1 'absent/fields: cannot be created' 2 checkpoint --file "$work/absent/fields"
}

# refused SENTENCE [RANKS]: the file `bad` is refused with this sentence, and no field is touched
refused() {
    expect 1 "bad: $1" ${2:-1} checkpoint --restart "$work/bad"
    also 'no field is touched'
}

test_bad_checkpoints() {
    rm -f "$work/bad"
    refused 'cannot be opened'
    printf '' >"$work/bad"
    refused 'is no checkpoint'
    head -c 40 "$work/fields" >"$work/bad"
    refused 'is no checkpoint'
    { printf 'R'; tail -c +2 "$work/fields"; } >"$work/bad"
    refused 'is no checkpoint'
    head -c 2000 "$work/fields" >"$work/bad"
    refused 'has 2000 bytes, not .*: it is torn' 3
    head -c 100 "$work/fields" >"$work/bad"
    refused 'has 100 bytes, not .*: it is torn'
    { cat "$work/fields"; echo; } >"$work/bad"
    refused 'has .* bytes, not .*: it is torn'
    size=$(wc -c <"$work/fields") # a header that agrees with the file, but not with the fields
    head -c $((size - 80)) "$work/fields" | sed "1s/0*$size\$/$(printf %019d $((size - 80)))/" >"$work/bad"
    refused 'has .* bytes for fields of '
    sed '1s/little/big   /' "$work/fields" >"$work/bad"
    refused 'is of a machine with the other byte order'
    for change in 's/pressure/pressurE/' 's/double/triple/' 's/ 23x31:/ 31x23:/' 's/^field wave/other wave/'; do
        sed "$change" "$work/fields" >"$work/bad"
        refused "has '.*', not '" 2
    done
    sed 's/^note/nota/' "$work/fields" >"$work/bad"
    refused 'has a header that says nothing'
}

# Every program's help says what it teaches.
test_help() {
    for program in adi stencil checkpoint couple balance reshape deposit patches transpose image relabel multiply fft3d taylor_green; do
        [ -e "$BUILD/$program.skip" ] || expect 0 '[Tt]eaches ' 1 $program --help
    done
    for program in draw advise; do
        [ -e "$BUILD/$program.skip" ] || expect 0 '^A tool: ' 0 $program --help
    done
}

test_fft3d() {
    for options in '1 16 16 16' '4 16 16 16' '2 12 7 5' '6 12 7 5' '3 1 31 4' '4 3 2 1'; do
        set -- $options
        expect 0 'error .*: right' $1 fft3d --nx $2 --ny $3 --nz $4
    done
    expect 0 'error .*e-08 .*: right' 4 fft3d --nx 16 --ny 16 --nz 16 --wire float
    expect 2 'fft3d: --nx needs an integer' 1 fft3d --nx 0
}

test_taylor_green_solution() {
    for options in '1 --n 12' '2 --n 13 --nz 5 --nu 0.1' '4 --n 15 --nz 3 --p1 4' '6 --n 12 --nz 9'; do
        expect 0 'exact decay .*: right' ${options%% *} taylor_green --dimensions 2 --steps 6 \
            $(echo "$options" | cut -d ' ' -f 2-)
        also 'energy balance .*: right'
    done
    expect 0 'exact decay .*: right' 4 taylor_green --dimensions 2 --steps 6 --n 4 --nz 2 --nu 0
    also 'pencils on 2 x 2 ranks' # on others, a rank has no modes
    expect 0 'energy balance .*: right' 2 taylor_green --n 14 --steps 5 --wire float
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
    count $? 'taylor_green: the scheme is not of third order'
}

# 13 and 15 points have the same modes. If results depend on the points, products are aliased.
test_taylor_green_aliases() {
    expect 0 right 1 taylor_green --n 13 --steps 20 --dt 0.1
    ends >"$work/one"
    expect 0 right 2 taylor_green --n 15 --steps 20 --dt 0.1
    ends >"$work/other"
    same "$work/one" "$work/other" 'taylor_green with 15 points against 13 points'
}

# Results do not depend on the ranks; the loss is 2 nu Z, and its integral (by Simpson's rule) the loss of energy.
test_taylor_green_same() {
    expect 0 'energy balance .*: right' 1 taylor_green --n 14 --nz 9 --dt 0.03 --steps 10 --csv "$work/vortex.csv"
    ends >"$work/one"
    awk -F, 'NR > 1 { if (!($4 > 0) || ($4 - $5)^2 > (1e-12 * $4)^2) bad = 1
                      t[NR - 2] = $1; e[NR - 2] = $2; l[NR - 2] = $4; n = NR - 2 }
        END { for (k = 0; k < n; k += 2) sum += (t[k + 2] - t[k]) * (l[k] + 4 * l[k + 1] + l[k + 2]) / 6
              print n, e[0] - e[n], sum
              exit bad || n != 10 || (e[0] - e[n] - sum)^2 > (1e-5 * sum)^2 }' "$work/vortex.csv" >"$work/output"
    count $? 'taylor_green: the loss of energy'
    for options in 2 '3 --p1 3' 6; do
        expect 0 'energy balance .*: right' ${options%% *} taylor_green --n 14 --nz 9 --dt 0.03 --steps 10 \
            $(echo "$options" | cut -s -d ' ' -f 2-)
        ends >"$work/other"
        same "$work/one" "$work/other" "taylor_green on $options ranks against 1 rank"
    done
}

# A checkpoint without its header, which depends on the ranks.
data_of() { tail -c +$(($(head -c 38 "$1" | tail -c 11 | sed 's/^0*//') + 1)) "$1"; }

# Stopped on 4 ranks, continued on others; and any number of ranks reads and writes the same file.
test_taylor_green_restart() {
    expect 0 right 2 taylor_green --n 14 --nz 9 --steps 8
    ends >"$work/one"
    expect 0 right 4 taylor_green --n 14 --nz 9 --steps 5 --save "$work/modes"
    data_of "$work/modes" >"$work/modes.data"
    for ranks in 1 5; do
        expect 0 right $ranks taylor_green --restart "$work/modes" --steps 3
        ends >"$work/other"
        same "$work/one" "$work/other" "taylor_green, continued on $ranks ranks"
        printf 'longer than what is to come: %20000s' x >"$work/again"
        expect 0 right $ranks taylor_green --restart "$work/modes" --steps 0 --save "$work/again"
        data_of "$work/again" >"$work/again.data"
        same "$work/modes.data" "$work/again.data" "a checkpoint read and written on $ranks ranks"
    done
    expect 0 'exact decay .*: right' 2 taylor_green --dimensions 2 --n 12 --nu 0.3 --steps 4 --save "$work/again"
    expect 0 'exact decay .*: right' 1 taylor_green --restart "$work/again" --steps 4
    expect 1 'absent: cannot be opened' 2 taylor_green --restart "$work/absent"
    head -c 2000 "$work/modes" >"$work/again"
    expect 1 'again: has 2000 bytes, not .*: it is torn' 2 taylor_green --restart "$work/again"
    head -c 50 "$work/modes" >"$work/again"
    expect 1 'again: is no checkpoint' 1 taylor_green --restart "$work/again"
    expect 1 'fields: is of no such flow' 1 taylor_green --restart "$work/fields"
    sed '2s/points 14/points 3 /' "$work/modes" >"$work/again"
    expect 1 'again: is of no such flow' 1 taylor_green --restart "$work/again"
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
    expect 0 '^usage.*taylor_green' 1 taylor_green --help
    also 'It teaches pencils'
    for bad in '--n 3' '--n' '--nz 0' '--dimensions 4' '--nu -1' '--nu nan' '--dt 0' '--steps -1' '--p1 0' \
        '--csv' '--save'; do
        expect 2 "taylor_green: ${bad%% *} needs .*, not '$(echo "$bad" | cut -s -d ' ' -f 2)'" 1 taylor_green $bad
    done
    expect 2 'p1 must divide' 4 taylor_green --p1 3
    expect 2 'nz needs at least 4' 1 taylor_green --nz 3
    expect 2 'exclude each other' 1 taylor_green --restart "$work/modes" --nu 0.1
    expect 2 "unknown option '--fast'" 2 taylor_green --fast 1
}

# picture RECTANGLES PATTERN ARGUMENT...: well-formed SVG with this number of rectangles, and a line that matches
picture() {
    rectangles=$1 pattern=$2
    shift 2
    "$BUILD/draw" "$@" >"$work/picture.svg" 2>"$work/output" && [ "$(tail -n 1 "$work/picture.svg")" = '</svg>' ] &&
        [ "$(grep -c '<rect ' "$work/picture.svg")" -eq "$rectangles" ] && grep -q -e "$pattern" "$work/picture.svg" &&
        { ! command -v xmllint >/dev/null || xmllint --noout "$work/picture.svg" >"$work/output" 2>&1; }
    good=$?
    found=$(grep -c '<rect ' "$work/picture.svg")
    count $good "draw $*: fails, is no XML, has $found rectangles, not $rectangles, or no '$pattern'"
}

# Rectangles: 1 for the page, 1 for each block, and in a table 1 for every non-empty cell, headings included.
test_draw() {
    rows='12x12: block@3, *' columns='12x12: *, block@3'
    picture 4 '>12x12: block@3, \*<' "$rows"
    picture 7 '48 of 144 elements stay' --array "$rows" "$columns"
    picture 17 '>16</text>' --matrix "$rows" "$columns"
    picture 13 'step 2<' --schedule "$rows" "$columns"
    picture 35 ' 48 stay, 96 move in 6 messages, .*; 3 steps' "$rows" "$columns"
    picture 109 '72 of 288 elements stay' --relabel --array '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4'
    picture 109 '24 of 288 elements stay' --relabel --array '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4'
    picture 27 '9 of 24 elements stay' --array '24: block@3; reshaped 4x6' '4x6: *, block@2'
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
    picture 5 'dasharray="5 3" d="M22 95h136v108h-136z"' \
        '8x8: block@2 halo(1) closed, block@2 halo(1) closed; without corners'
    picture 5 'dashed: with ghost cells' '20: block@4 halo(2) closed'
    picture 9 '>7</text>' --array '2x9: block@2, cuts(0,1,9); ranks 7,200,0,3' \
        '2x9: block@2, cuts(0,1,9); ranks 7,200,0,3'
    picture 24 '24 stay, 12 move in 2 messages, at most 1 from a rank and 1 to a rank; 2 steps<' \
        '6x6: block@2, block@3; on 0 1 0 1 0 1' '6x6: block@2, *'
    picture 5 '<rect x="244" y="51" width="112" height="56" fill="#88ccee"' \
        '8x12: box, box; boxes 0:4x0:4, 4:8x4:8, 0:2x8:12; on 0 1 0; partial'
    picture 7 '3 stay, 3 move in 2 messages, at most 1 from a rank and 1 to a rank; 2 steps<' \
        --schedule '6: block@3; on 0 1 0' '6: cyclic@2'
}

test_draw_mistakes() {
    expect 1 "draw: column 15: expected '@'" 0 draw '100x80: block x'
    grep -q '^ \{18\}^$' "$work/output" && grep -q '^    100x80: block x$' "$work/output"
    count $? 'draw: no caret below column 15'
    expect 1 'draw: axis 0: the number of processes is 0' 0 draw '7: block@0'
    expect 1 'draw: the source view and the destination view differ in rank or extents' 0 draw '7: *' '8: *'
    expect 1 'which layout' 0 draw
    expect 1 'more than two layouts' 0 draw '7: *' '7: *' '7: *'
    expect 1 'too many ranks' 0 draw '1000: block@1000'
    expect 1 'too many blocks' 0 draw '9999: cyclic@2'
    expect 1 'too many blocks' 0 draw '400x400: cyclic@2, cyclic@2'
    expect 1 'too many elements' 0 draw '1000001: *'
    expect 1 'too many elements' 0 draw '2000: cyclic(4)@2'
    expect 1 'need two layouts' 0 draw '7: *' --schedule
    expect 1 'the array is empty' 0 draw '0: *'
    expect 1 'outside the array' 0 draw '3x4: *, *' --at 0,4
    for axes in 2 1,1 -1 0,9999999999; do
        expect 1 'axes needs' 0 draw --axes "$axes" '3x4: *, *'
    done
    for bad in --fast --axes '--axes x' '--axes 1,' '--at' '--at 0;1'; do
        expect 2 "unknown or incomplete option '${bad%% *}'" 0 draw '3x4: *, *' $bad
    done
    expect 0 '^usage' 0 draw --help
}

test_deposit() {
    for options in '1' '3 --n 7 --particles 3000' '6 --n 33 --particles 9999' '5 --n 2 --particles 100' \
        '2 --n 1 --particles 3' '2 --particles 0'; do
        expect 0 'same bits as a deposit on one rank' ${options%% *} deposit $(echo "$options" | cut -s -d ' ' -f 2-)
        also 'total charge .*: conserved'
    done
    expect 0 'conserved' 1 deposit --n 50 --particles 20000 --picture "$work/one.pgm"
    expect 0 'conserved' 4 deposit --n 50 --particles 20000 --picture "$work/other.pgm"
    same "$work/one.pgm" "$work/other.pgm" 'deposit on 4 ranks against 1 rank'
    expect 1 'cannot be created' 2 deposit --particles 10 --picture "$work/absent/a.pgm"
    expect 2 'deposit: --n needs an integer' 1 deposit --n 0
}

test_patches() {
    for options in '2 --tiles 5 --side 7' '3 --steps 9' '5 --tiles 9 --side 3' '2 --side 1 --steps 0'; do
        expect 0 'rounding .*: right' ${options%% *} patches $(echo "$options" | cut -s -d ' ' -f 2-)
    done
    expect 0 '26 on rank 0 at first, 52 later' 4 patches --picture "$work/other.pgm"
    expect 0 'right' 1 patches --picture "$work/one.pgm"
    same "$work/one.pgm" "$work/other.pgm" 'patches on 4 ranks against 1 rank'
    expect 1 'cannot be created' 2 patches --picture "$work/absent/a.pgm"
    expect 2 'patches: --tiles needs an integer' 1 patches --tiles 1
}

test_transpose() {
    for options in '1' '2 --alpha 0.3 --beta 0.7' '2 --op none --beta 0 --n 60' \
        '4 --op conjugate --alpha -0.7 --beta 0.1 --n 37 --block 5' \
        '5 --n 2 --block 7' '3 --op conjugate --n 33 --block 1'; do
        expect 0 'redist, arena .* us, right, the same bits' ${options%% *} transpose --repetitions 2 \
            $(echo "$options" | cut -s -d ' ' -f 2-)
        also 'after 10 times .*: right'
        [ -e "$BUILD/multiply.skip" ] || also 'ScaLAPACK .*, right, the same bits'
    done
    expect 2 'transpose: --op needs one of none transpose conjugate' 1 transpose --op other
}

# coupled STATUS PATTERN RANKS OPTIONS RANKS OPTIONS: the air and the sea under one mpiexec; both print a match
coupled() {
    start $MPIEXEC -n "$3" $YIELDING "$BUILD/couple" --role air $4 : -n "$5" $YIELDING "$BUILD/couple" --role sea $6
    both_said "$1" "$2" "couple $4 on $3 ranks, $6 on $5 ranks"
}

both_said() { # expected status, pattern, what
    [ "$got" -eq "$1" ] && grep -q "air.*$2" "$work/output" && grep -q "sea.*$2" "$work/output"
    count $? "$3: exit status $got, not $1, or not from both '$2'"
}

test_couple() {
    starts_two || { skip 'couple, this mpiexec cannot start two programs' && return; }
    coupled 0 '20 steps, error .*: right' 2 '' 3 ''
    coupled 0 ' 7 steps, error .*: right' 1 '--steps 7' 1 '--steps 100'
    coupled 0 ': right' 4 '--layout 31x23:cyclic(3)@2,cyclic@2' 3 '--layout 31x23:*,cuts(0,1,20,23)'
    coupled 0 ': right' 1 '--layout 9x5:*,*[4:5:-1of5]' 3 '--layout 9x5:block@4,*[1:5:2of50];axes(1,0);ranks2,0,1,2'
    coupled 1 'axis 1: the source has extent 40, the destination 41' 2 '--layout 60x40:*,block@2' 2 '--layout 60x41:block@2,*'
    coupled 0 '60x40: balanced@\(2, \*\|1, balanced@3\|3, balanced@1\), .*: right' 2 '' 3 ''
    coupled 0 '30x50:\(\*,cyclic@2\| balanced@\(1, balanced@4\|2, balanced@2\|4, balanced@1\)\), .*: right' \
        4 '' 2 '--layout 30x50:*,cyclic@2'
    coupled 1 'differ in rank\|not of a plane' 1 '' 1 '--layout 60:*'
    coupled 1 "the layout of the sea, 60x40:block,\*: column 12: expected '@'" 1 '' 2 '--layout 60x40:block,*'
    coupled 1 'the layout of the air, .*: needs ranks beyond the 2 of its program' 2 '--layout 60x40:*,block@3' 3 ''
    expect 1 'couple, sea: there must be two programs' 2 couple --role sea
    start $MPIEXEC -n 1 $YIELDING "$BUILD/couple" --role air : -n 1 $YIELDING "$BUILD/couple" --role land
    [ "$got" -eq 2 ] && grep -q "couple: --role needs one of air sea, not 'land'" "$work/output"
    count $? 'couple: an error in the options of one program'
    expect 2 'couple: --role needs one of' 2 couple
    expect 2 'couple: --layout needs a name' 1 couple --role air --layout
}

# spawned PROGRAM MPIEXEC...: one program starts the other
spawned() {
    program=$1
    shift
    start "$@" -n 2 "$program" --role sea --spawn 3
    ! grep -q 'this MPI cannot start programs' "$work/output" || return 1
    both_said 0 'of 5: 20 steps, error .*: right' 'couple --role sea --spawn 3 on 2 ranks'
    start "$@" -n 1 "$program" --role air --spawn 2 --layout '60x40: *, *' --spawned-layout '70x40: *, cyclic@2'
    both_said 1 'axis 0: the source has extent 60, the destination 70' 'couple --spawn with other extents'
}

test_couple_spawned() {
    spawned "$BUILD/couple" $MPIEXEC && return
    examples=$root/examples
    if mpicc.openmpi -O0 -I"$examples/.." -o "$work/couple" "$examples/couple.c" >"$work/output" 2>&1; then
        spawned "$work/couple" mpiexec.openmpi --allow-run-as-root --oversubscribe
    else
        skip 'couple --spawn, no MPI that can start programs'
    fi
}

# Cells follow a flame, a mesh is stored in a new order: the states arrive, and the work is balanced.
test_balance() {
    for options in '1' '2 --n 1' '3 --n 50 --steps 2 --side 1' '4 --side 33' '5 --n 999 --steps 3 --side 5'; do
        expect 0 '^0 states are wrong' ${options%% *} balance $(echo "$options" | cut -s -d ' ' -f 2-)
    done
    expect 0 '^ *1  *1\.986  *1\.000  *3373$' 2 balance
    also '^as read  *4122 of 9900 neighbours on other ranks'
    also '^as stored  *64 of 9900 neighbours on other ranks'
    expect 2 'balance: --side needs an integer' 1 balance --side 0
}

# A matrix in another shape and a distribution function in two: every element arrives.
test_reshape() {
    for options in '2' '3 --rows 20 --columns 7 --space 5 --velocities 3' '4 --rows 4 --columns 1 --space 1 --velocities 1' \
        '5 --rows 44 --columns 13 --space 3 --velocities 4'; do
        expect 0 '^0 elements are wrong' ${options%% *} reshape --repetitions 2 $(echo "$options" | cut -s -d ' ' -f 2-)
    done
    expect 1 'reshape: .*axis 0: the length 6 is no multiple of the inner length 4' 2 reshape --rows 6
    expect 2 'reshape: --space needs an integer' 1 reshape --space 0
}

test_relabel() {
    for options in '2 --n 20 --steps 3' '3 --n 3' '4 --n 7 --block 7 --steps 0' '5 --n 23 --block 1'; do
        expect 0 'unchanged: the same solution' ${options%% *} relabel $(echo "$options" | cut -s -d ' ' -f 2-)
    done
    expect 0 'block k is on rank 0 2 1 3' 4 relabel --n 16 --block 2 --first 0 --steps 2
    expect 0 'current ranks    9.60 MB stay' 2 relabel
    also 'relabelled      22.40 MB stay'
    also 'unchanged: the same solution'
    expect 0 'current ranks    0.00 MB stay' 4 relabel --steps 0 --node-ranks 2
    also 'relabelled      16.00 MB stay on their rank,    9.60 MB on their node,    6.40 MB travel'
    expect 1 'relabel: there must be at least as many rows' 4 relabel --n 3
    expect 2 'relabel: --n needs an integer' 1 relabel --n 0
    expect 2 "unknown option '--fast'" 2 relabel --fast 1
}

test_multiply() {
    for options in '1' '2 --n 31 --block 4' '3 --n 2 --block 64' '4 --n 40 --block 3 --repetitions 0'; do
        expect 0 'rotate and reshape .*: right' ${options%% *} multiply $(echo "$options" | cut -s -d ' ' -f 2-)
        ! grep -q WRONG "$work/output"
        count $? 'multiply: something is wrong'
    done
    also 'product back to 1x4: right'
    expect 2 'multiply: --block needs an integer' 1 multiply --block 0
}

# advised PATTERN ARGUMENT...: a line of the table that matches
advised() {
    pattern=$1
    shift
    "$BUILD/advise" "$@" >"$work/output" 2>&1 && grep -q -e "$pattern" "$work/output"
    count $? "advise $*: fails, or no line like '$pattern'"
}

# Of 64^3 elements, pencils on 4 x 4 ranks move 3/4 twice; Kalns keeps 72 of 288 elements.
# pictured TABLES TEXT TEXT LAYOUT...: of 16 ranks in nodes of 4; a rectangle for every pair of ranks and pair of nodes
pictured() {
    rectangles=$((1 + $1 * (16 * 16 + 4 * 4))) first=$2 second=$3
    shift 3
    "$BUILD/advise" --picture --node 4 "$@" >"$work/picture.svg" 2>"$work/output" &&
        [ "$(grep -c '<rect ' "$work/picture.svg")" -eq $rectangles ] &&
        grep -q "$first" "$work/picture.svg" && grep -q "$second" "$work/picture.svg" &&
        { ! command -v xmllint >/dev/null || xmllint --noout "$work/picture.svg" >"$work/output" 2>&1; }
    count $? "advise --picture $*: fails, is no XML, or has other rectangles or texts"
}

test_advise() {
    along_x='64x64x64: *, block@4, block@4' along_y='64x64x64: block@4, *, block@4' along_z='64x64x64: block@4, block@4, *'
    advised '^as given  *6  *24576  *393216  *48  *196608 .* \*$' --node 4 --element 16 "$along_x" "$along_y" "$along_z"
    advised '^on grid 1x12 .* \*$' '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4' # nothing moves
    advised '^as given, renumbered .* \*$' '64x64x64: block@4, block@2, block@2' "$along_x" "$along_y" "$along_z"
    advised '^as given, renumbered  *3  *18  *216 ' '18x16: block@3, block@4' '18x16: cyclic(3)@3, cyclic(2)@4'
    advised '^  2  8: cyclic@4; ranks 0,2,1,3$' '8: block@4' '8: cyclic@4'
    advised 'REDIST_MULTIPHASE .* through 64x64: block@16, block@4; then 64x64: block@4, block@16' \
        '64x64: block@64, *' '64x64: *, block@64'
    grep -q 'REDIST_SCHEDULED .* 64 steps' "$work/output" && grep -q '^advice: as given$' "$work/output"
    count $? 'advise: rows to columns'
    advised '^advice: as given$' '8: block@2; on 0 0' '8: *'
    pictured 1 'as given: 393216 elements move' 'nodes of 4 ranks: 196608 ' "$along_x" "$along_y" "$along_z"
    pictured 2 'as given, renumbered: 352 ' 'nodes of 4 ranks: 256 ' '96x8: block@16, *' '96x8: cyclic(4)@16, *'
}

test_advise_mistakes() {
    expect 1 'advise: two layouts or more' 0 advise '8: *'
    expect 1 "advise: 8: block: column 9: expected '@'" 0 advise '8: *' '8: block'
    expect 1 'advise: counting: .* differ in rank or extents' 0 advise '8: block@2' '9: *'
    expect 1 'advise: too many ranks' 0 advise '1000: block@257' '1000: *'
    for bad in --fast --node '--node 0' '--node x' '--element 0' '--message -1' '--byte nan'; do
        expect 2 "unknown or incomplete option '${bad%% *}'" 0 advise '8: *' '8: *' $bad
    done
}

left_out hello || test_hello
if ! left_out draw; then
    test_draw
    test_draw_mistakes
fi
left_out deposit || test_deposit
left_out patches || test_patches
left_out transpose || test_transpose
left_out balance || test_balance
left_out reshape || test_reshape
left_out relabel || test_relabel
if ! left_out couple; then
    test_couple
    test_couple_spawned
fi
left_out multiply || test_multiply
if ! left_out advise; then
    test_advise
    test_advise_mistakes
fi
if ! left_out adi; then
    test_adi
    test_adi_options
fi
if ! left_out image; then
    test_image
    test_bad_pictures
fi
left_out stencil || test_stencil
test_checkpoint
test_bad_checkpoints
left_out adi || test_adi_restart
test_help
left_out fft3d || test_fft3d
if ! left_out taylor_green; then
    test_taylor_green_solution
    test_taylor_green_order
    test_taylor_green_aliases
    test_taylor_green_same
    test_taylor_green_restart
    test_taylor_green_files
    test_taylor_green_options
fi
report
