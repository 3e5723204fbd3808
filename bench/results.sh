#!/bin/sh
# Runs the measurements that need one machine, and writes the tables of RESULTS.md between their markers and
# <!-- end -->. MIT licence, see LICENSE.
# usage: sh bench/results.sh [SECTION...]     (default all, in 14 minutes; none takes more than 2.5)
# Sections: cycles methods openmpi small halo fields blocks boxes owners transposes threads fft spectral files ranks
# replicas memory paper sizes. Where a program or an MPI is missing, a message says so, and the section's tables stay unchanged. The table of
# the machine is written each time, with the date of each section.
# environment: BUILD (where the programs are), MPIEXEC; QUICK=1 tests the script: it measures small arrays and writes
# BUILD/results/RESULTS.md
here=$(dirname "$0")
. "$here/tables.sh"
work=$BUILD/results
document=$here/RESULTS.md
mkdir -p "$work" || exit 1

# Arguments: those of a real measurement, or with QUICK=1 those of a test.
methods='--seconds 0.15' cases='--seconds 0.2' samples='' halo='' largest='--most 4096' fft='' threads='--most 64'
spectral='--to 256'
memory='' paper='' files='' replicas='--seconds 0.25' owners='' boxes=''
cycles='--sizes 64,256,1024,2048 --seconds 0.02'
if [ -n "$QUICK" ]; then
    methods='--n 128 --seconds 0.001' cases='--n 128 --seconds 0.001' memory='--n 128' paper='--traffic 1000'
    files='--n 128 --block 8 --samples 2' owners='--n 3000 --samples 2' boxes='--most 10 --samples 2'
    samples='--samples 5 --plans 3 --seconds 0.1'
    halo='--n 256 --rounds 2' largest='--most 128 --seconds 0.001' fft='--from 16 --to 32 --repetitions 2'
    replicas='--seconds 0.001 --most 8000'
    spectral='--from 8 --to 16 --repetitions 2'
    threads='--least 1 --most 1' cycles='--sizes 64 --seconds 0.001 --repetitions 2'
    cp "$document" "$work/RESULTS.md" && document=$work/RESULTS.md
fi

# ---- the machine, and what was measured on it ----

processor() { # name, family
    lscpu | awk -F': *' '/^(Vendor ID|Model name|CPU family)/ { v[$1] = $2 }
        END { printf "%s (%s, family %s)\n", v["Model name"], v["Vendor ID"], v["CPU family"] }'
}

commit=$(git -C "$here" log -1 --format=%h -- ../redist.h ../redist_plan.h 2>/dev/null || echo unknown)
git -C "$here" diff --quiet HEAD -- ../redist.h ../redist_plan.h 2>/dev/null || commit="$commit with changes"
stamp="$(date +%Y-%m-%d) at $commit on $(processor)"

# Replaces a block by the table read, below the commands that produced it.
write() { # name
    cat >"$work/table"
    grep -q '^|' "$work/table" || { echo "results.sh: nothing for $1" >&2 && return 1; }
    { [ ! -s "$work/calls" ] || { echo '```sh' && cat "$work/calls" && printf '```\n\n'; }; cat "$work/table"; } |
        replace "$document" "<!-- $1: written by make results" "<!-- $1: written by make results, $stamp -->" ||
        echo "results.sh: RESULTS.md has no place for $1" >&2
}

# All dates and machines in the markers: name, date and commit, processor.
stamps() { sed -n 's/^<!-- \(.*\): written by make results, \(.*\) on \(.*\) -->$/\1|\2|\3/p' "$document"; }

row() { echo "| $1 | $2 |"; }

compiler() { ${MPICC:-$(echo "${MPIEXEC%% *}" | sed 's/mpiexec/mpicc/')} --version | sed 's/ ([^)]*)//; q'; }

machine_table() {
    echo '| | |'
    echo '|---|---|'
    row processor "$(processor), $(nproc) cores, $(lscpu | sed -n 's/^Hypervisor vendor: */a virtual machine: /p')"
    row caches "$(lscpu -C=NAME,ONE-SIZE,ALL-SIZE 2>/dev/null |
        awk 'NR > 1 { printf "%s%s %s", sep, $1, $2; sep = ", " }') each"
    row memory "$(awk '/MemTotal/ { printf "%.1f GiB\n", $2 / 1048576 }' /proc/meminfo)"
    row system "$(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r | cut -d . -f 1,2)"
    row compiler "$(compiler), \`-std=c99 -O3\`"
    row MPI "$({ $MPIEXEC --version && mpiexec.openmpi --version; } 2>/dev/null |
        awk '/Version:/ { print "MPICH " $2 } /\(Open/ { print "Open MPI " $NF }' | uniq | paste -sd, | sed 's/,/, /g')"
    stamps | awk -F'|' '
        !($2 in names) { order[++count] = $2 }
        { names[$2] = names[$2] (names[$2] == "" ? "" : ", ") $1 }
        END { for (k = 1; k <= count; k++)
                  print "| measured | " order[k] (count > 1 ? ": " names[order[k]] : "") " |" }'
    stamps | awk -F'|' -v here="$(processor)" '$3 != here { print "| elsewhere | " $1 ": " $3 " |" }'
}

# ---- sections ----

contestants='memcpy;auto;shared, arena=arena;point_to_point=point to point;scheduled;alltoallv;alltoallw;'
contestants="${contestants}Alltoallw by hand;pack, Alltoallv;p?gemr2d"

# Rivals' times over redist's, over all cases: the least, the median and the most, with their cases.
against() {
    echo '| over the cases of the table | least | median | most |'
    echo '|---|---|---|---|'
    awk -F'"' "$formats$fields"'
        { taken[$2, $4] = b[3] }
        !($2 in known) { known[$2] = 1; cases[++count] = $2 }
        function least_of(c, list,   n, name, k, x) {
            n = split(list, name, ";")
            for (k = 1; k <= n; k++)
                if ((c, name[k]) in taken && (x == "" || taken[c, name[k]] < x)) x = taken[c, name[k]]
            return x }
        function line(title, above, below,   k, j, n, x, quotient, owner) {
            for (k = 1; k <= count; k++)
                if ((x = least_of(cases[k], above)) != "") {
                    x /= least_of(cases[k], below)
                    for (j = ++n; j > 1 && quotient[j - 1] > x; j--) {
                        quotient[j] = quotient[j - 1]; owner[j] = owner[j - 1] }
                    quotient[j] = x; owner[j] = cases[k] }
            if (n > 0) {
                x = sprintf("| %s | %s (%s) | %s | %s (%s) |", title, ratio(quotient[1]), owner[1],
                    ratio(quotient[int((n + 1) / 2)]), ratio(quotient[n]), owner[n])
                gsub(/\*/, "\\*", x)
                print x
            } }
        END {
            line("MPI_Alltoallw by hand / auto", "Alltoallw by hand", "auto")
            line("pack, MPI_Alltoallv / auto", "pack, Alltoallv", "auto")
            line("p?gemr2d / auto", "p?gemr2d", "auto")
            line("MPI_Alltoallw by hand / arena", "Alltoallw by hand", "shared, arena")
            line("pack, MPI_Alltoallv / arena", "pack, Alltoallv", "shared, arena")
            line("p?gemr2d / arena", "p?gemr2d", "shared, arena")
            line("point to point / auto", "point_to_point", "auto")
            line("auto / arena", "auto", "shared, arena")
            line("auto / the best method", "auto",
                 "auto;shared;point_to_point;scheduled;alltoallv;alltoallw") }' "$work/figures"
}

# Rows are named by their cores: near (they share a cache) or far. A row during which they were moved is left out.
section_cycles() {
    measure default 2 cycles $cycles || return
    awk -F'"' '$6 == "near" || $6 == "far" {
        split($5, v, ",")
        printf "\"%s | %s | %s\"%s\"%s\",%s,%s,%s,%s%s\n", $2, v[6], $6, $3, $4, v[2], v[3], v[4], v[5], $7 }' \
        "$work/figures" >"$work/rows"
    table case contestant ratio 'case | n | cores' "memcpy;arena;adopted;malloc;shared;point_to_point=point to point;\
scheduled;alltoallv;alltoallw;Alltoallw by hand;pack, Alltoallv;subarrays=subarrays by hand;p?gemr2d;p?tran;FFTW" \
        <"$work/rows" | write cycles
}

section_methods() {
    measure default 2 methods $methods || return
    table case contestant ratio case "$contestants" <"$work/figures" | write methods
    : >"$work/calls"
    against | write against
}

section_openmpi() {
    measure openmpi 2 methods $cases --cases "=rows to columns|=rows, BLOCK to CYCLIC(1)|columns, BLOCK to|32x32|\
transpose|pencils, x to y|rows to columns, small|rows to columns, middle" || return
    table case contestant ratio case "$contestants" <"$work/figures" | write openmpi
}

section_small() {
    for ranks in 2 4; do measure default $ranks small $samples || return; done
    for ranks in 2 4; do measure openmpi $ranks small $samples; done
    grep '"\(empty\|redist\)' "$work/figures" | table contestant 'MPI ranks' time 'on 64 x 64' \
        'MPICH | 2=MPICH, 2 ranks;MPICH | 4=4 ranks;Open MPI | 2=Open MPI, 2 ranks;Open MPI | 4=4 ranks' | write small
    table 'case ranks MPI' contestant time 'array | ranks | MPI' "execute;create;create in arena;arena=the arena;free;\
free in arena;dup;split;window;MPI free" <"$work/figures" | write creation
}

section_halo() {
    measure default 2 halo $halo || return
    grep '"halo' "$work/figures" | table case contestant time 'of every rank' "loops in one process=loops;\
subarrays by hand=by hand;redist, malloc;redist, arena" | write halo
    sed 's/"ScaLAPACK pdtran"\|"ParRes MPI1"/"rival"/' "$work/figures" | grep '"[CB] .*=' |
        table case contestant time case 'rival=ScaLAPACK, ParRes;redist, malloc;redist, arena' | write combining
    grep '"rows to' "$work/figures" | table case contestant ratio case "moving, arena=moving;to + from, arena=adding;\
beta to + alpha from, arena=beta, alpha;MPI_SUM, arena=MPI_SUM" | write adding
}

section_fields() {
    for ranks in 2 4; do
        for part in fields patches; do measure default $ranks halo --only $part $halo || return; done
    done
    grep '"15 fields' "$work/figures" | table ranks contestant time ranks "packing by hand=by hand;4 plans, malloc;\
1 plan, malloc;4 plans, arena;1 plan, arena" | write fields
    grep '"64 patches' "$work/figures" | table ranks contestant time ranks "loops in one process=loops;redist, malloc;\
redist, arena;creating, malloc;creating, arena" | write patches
}

section_blocks() {
    for ranks in 2 4; do measure default $ranks halo --only blocks $halo || return; done
    table 'case ranks' contestant time 'a cycle | ranks' "by hand;redist, as they are=as they are;redist, adopted=adopted;\
redist, arena=arena;ratio=adopted / arena" <"$work/figures" | write blocks
}

section_boxes() {
    measure default 2 boxes $boxes || return
    table case contestant time boxes "check;shapes;plan;moving;again;by hand=executed by hand;redist;\
ratio=redist / by hand;ratio of memory=memory of the plan / of the array" <"$work/figures" | write boxes
}

section_owners() {
    measure default 2 owners $owners || return
    table case contestant time 'each of two layouts' "lists=lists by hand;plan;by hand=executed by hand;redist;\
ratio=redist / by hand" <"$work/figures" | write owners
}

section_transposes() {
    measure openmpi 2 transposes --least 64 $largest || measure default 2 transposes --least 64 $largest || return
    table case contestant ratio n "memcpy;carried once=once by hand;arena;\
carried twice=twice by hand;malloc;FFTW;alone;adding;MPI_SUM;adding alone;loops, a^T;loops, a" \
        <"$work/figures" | write transposes
}

section_threads() {
    environment='OMP_PROC_BIND=true OMP_NUM_THREADS=2'
    measure default 1 threads $threads || return
    environment='OMP_NUM_THREADS=1'
    measure default 2 threads $threads
    sed 's/"plan\(.*\)"\([12]\) x \([12]\)"/"plan\1"\2 rank, \3 threads"/; s/"2 rank, 1 threads"/"2 ranks"/
        s/"1 rank, 2 threads"/"2 threads"/' "$work/figures" |
        table case contestant time case '1 thread;2 threads=1 rank of 2 threads;2 ranks=2 ranks of 1 thread' |
        write threads
}

section_fft() {
    for ranks in 2 4; do measure openmpi $ranks fft $fft || return; done
    table 'case ranks' contestant time 'numbers | ranks' "redist + FFTW;in sections;padded rows;as it arrives;\
afterwards;FFTW-MPI, in place;out of place;ratio=FFTW-MPI / redist;ratio, padded=with padded rows;\
ratio, as it arrives=overlapped / longer" <"$work/figures" | write fft
}

section_spectral() {
    for ranks in 2 4; do measure openmpi $ranks spectral $spectral || return; done
    table 'case ranks' contestant time 'points | ranks' 'redist;by hand;FFTW-MPI' <"$work/figures" | write spectral
}

section_ranks() {
    for ranks in 2 4 8; do
        measure default $ranks methods $cases --methods shared --cases "=rows to columns|\
=rows to columns, blocks of 64|rows, BLOCK|columns, BLOCK to|columns, CYCLIC|32x32|transpose|rotate" || return
    done
    sed 's/"shared"/"malloc"/; s/"shared, arena"/"arena"/' "$work/figures" | grep -v '"memcpy"' |
        table 'case contestant' ranks growth 'case | arrays' '2=2 ranks;4=4 ranks;8=8 ranks' | write ranks
}

# MPI's collectives must yield where ranks share cores.
section_replicas() {
    ${CC:-cc} -O1 -shared -fPIC -o "$BUILD/yielding.so" "$here/../tests/preload/yielding.c" -ldl || return
    environment="LD_PRELOAD=$BUILD/yielding.so"
    for ranks in 2 4; do measure default $ranks replicas $replicas || return; done
    table 'case ranks bytes' contestant ratio 'replicas | ranks | bytes' \
        "MPI;auto;shared;point to point=messages;auto, arena=arena" <"$work/figures" | write replicas
}

# The memory of plans, by method: over all cases the least and the most besides staging, the most during creation, and
# the most staging memory with its case.
section_files() {
    for ranks in 2 4; do measure default $ranks io $files --file "$work/matrix" || return; done
    table 'case ranks' contestant time 'a matrix | ranks' \
        'redist_layout_types;MPI_Type_create_darray;plan to rows=a plan to rows' <"$work/figures" | write files
}

section_memory() {
    measure default 2 methods $memory --table memory || return
    awk -F'"' "$formats$fields"'
        { split($4, who, ": ")
          m = who[1]
          if (!(m in known)) { known[m] = 1; methods[++count] = m; least[m] = 1e99 }
          x = b[3] + 0
          if (who[2] == "besides staging" && x < least[m]) least[m] = x
          if (x > most[m, who[2]] + 0) { most[m, who[2]] = x; owner[m, who[2]] = $2 } }
        END {
            print "| method | besides staging | while made, at most | staging at most | in |"
            print "|---|---|---|---|---|"
            for (k = 1; k <= count; k++) {
                m = methods[k]
                title = most[m, "staging"] > 0 ? owner[m, "staging"] : "-"
                gsub(/\*/, "\\*", title)
                printf "| %s | %s to %s ", m, amount(least[m]), amount(most[m, "besides staging"])
                printf "| %s | %s | %s |\n", amount(most[m, "while made"]), amount(most[m, "staging"]), title } }' \
        "$work/figures" | write memory
}

section_paper() {
    measure default 0 scale $paper || return
    awk -F'"' "$formats"'
        BEGIN {
            printf "| redistribution | places | peers | find | memory | steps | arranged in | all steps asked in "
            print "| predicted, direct | in phases | phases |\n|---|---|---|---|---|---|---|---|---|---|---|" }
        { split($3, v, ",")
          printf "| %s | 10^%d | %d | %s | %s | %d | %s ", $2, length(v[2]) - 1, v[3], time(v[5]), amount(v[6]), v[7],
              time(v[8])
          printf "| %s | %s | %s | %d |\n", time(v[10]), time(v[12]), time(v[14]), v[15] }' "$work/figures" |
        write paper
}

# Compiles a file without linking: its text in bytes by `size`, its sections .text, the best of three times.
compiled() { # title, file, options...
    title=$1 file=$2
    shift 2
    set -- ${MPICC:-mpicc} -std=c99 -O2 -I"$here/.." "$@" -c "$file" -o "$work/size.o"
    seconds=$(for try in 1 2 3; do
        begin=$(date +%s%N)
        "$@" >&2 || exit
        echo $((($(date +%s%N) - begin) / 1000000))
    done | sort -n | head -n 1)
    [ -n "$seconds" ] || return 1
    echo "$@" | sed "s|-I$here/..|-I.|; s|$here/../||; s|$work/||g" >>"$work/calls"
    { size "$work/size.o" && size -A "$work/size.o"; } | awk -v title="$title" -v seconds="$seconds" '
        NR == 2 { all = $1 }
        $1 ~ /^[.]text/ { code += $2 }
        END { printf "| %s | %.1f kB | %.1f kB | %.2f s |\n", title, all / 1e3, code / 1e3, seconds / 1e3 }' \
        >>"$work/rows"
}

section_sizes() {
    printf '%s\n' '#include "redist_plan.h"' >"$work/includes.c"
    : >"$work/rows"
    compiled 'examples/hello.c: a plan, an execution' "$here/../examples/hello.c" &&
        compiled 'the same with REDIST_SMALL' "$here/../examples/hello.c" -DREDIST_SMALL &&
        compiled 'the same with REDIST_SMALL, at -Os' "$here/../examples/hello.c" -DREDIST_SMALL -Os &&
        compiled 'the same, declarations only' "$here/../examples/hello.c" -DREDIST_DECLARATIONS_ONLY &&
        compiled 'all functions' "$work/includes.c" -DREDIST_IMPLEMENTATION || return
    { printf '%s\n' '| file | in all | code | compiled in |' '|---|---|---|---|' && cat "$work/rows"; } | write sizes
}

all='cycles methods openmpi small halo fields blocks boxes owners transposes threads fft spectral files ranks replicas memory paper sizes'
for section in ${*:-$all}; do
    case " $all " in *" $section "*) ;; *) echo "results.sh: no section $section; there are $all" >&2 && exit 2 ;; esac
done
for section in ${*:-$all}; do
    begin=$(date +%s) environment=''
    : >"$work/figures"
    : >"$work/calls"
    section_$section || echo "results.sh: $section stays as it was"
    echo "$section: $(($(date +%s) - begin)) s"
done
machine_table | replace "$document" '<!-- machine: written by make results' '<!-- machine: written by make results -->'
