#!/bin/sh
# Whole cycles (bench/cycles.c) with these headers and with those of another commit, alternately:
# lists the slower cases. MIT licence, see LICENSE.
# usage: sh bench/compare.sh COMMIT [CASES [SIZES]]     (make results BASE=COMMIT; some 4 minutes)
# environment: MPICC, MPIEXEC, BUILD; RANKS (2); ROUNDS: of both (5); SECONDS_EACH: of a contestant
# and row in a round (0.02); SLOWER: what is listed (1.1 times); CONTESTANTS (arena, malloc)
# Both programs are bench/cycles.c, which uses only calls that all commits have; without
# redist_with_ghosts it has no halo exchanges, without options.timed no row of that name.
# A time is a multiple of the cycle with a memcpy in the same run. Cores that share a cache (near)
# and that share none (far) are compared separately, by the median of the rounds. Slower cases are
# measured again, in as many rounds, before they are listed.
here=$(cd "$(dirname "$0")" && pwd)
base=$1
cases=${2:-=rows to columns|=rows, BLOCK to CYCLIC(1)|=columns, BLOCK to CYCLIC(1)|\
CYCLIC(3) to|32x32|=transpose|=pencils, x to y|halo exchange}
sizes=${3:-64,128,256,512,1024,2048}
BUILD=${BUILD:-build}
MPICC=${MPICC:-$(command -v mpicc.mpich || command -v mpicc)}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
RANKS=${RANKS:-2} ROUNDS=${ROUNDS:-5} SLOWER=${SLOWER:-1.1}
CONTESTANTS=${CONTESTANTS:-=arena,=malloc}
work=$BUILD/compare
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

give_up() {
    echo "compare.sh: $1" >&2
    exit 2
}

[ -n "$base" ] || give_up 'usage: sh bench/compare.sh COMMIT [CASES [SIZES]]'
mkdir -p "$work/base" || exit 2
for header in redist.h redist_plan.h; do
    git -C "$here" show "$base:$header" >"$work/base/$header" || give_up "no $header at $base"
done

program() { # name, directory of the headers
    lacks=
    grep -q redist_with_ghosts "$2/redist.h" || lacks=-DNO_GHOSTS
    grep -q 'int timed;' "$2/redist_plan.h" || lacks="$lacks -DNO_TIMED"
    grep -q redist_arena_adopt "$2/redist_plan.h" || lacks="$lacks -DNO_ADOPT"
    $MPICC -std=c99 -O3 $lacks -I"$2" -o "$work/$1" "$here/cycles.c" ||
        give_up "$1: does not compile"
}

program new "$here/.."
program old "$work/base"

# Adds lines "new or old, case, n, contestant, cores: ratio, seconds" to $work/figures.
measure() { # cases, sizes
    for side in old new; do
        timeout -k 5 "${LIMIT:-300}" $MPIEXEC -n "$RANKS" "$work/$side" --cases "$1" --sizes "$2" \
            --only "$CONTESTANTS" --seconds "${SECONDS_EACH:-0.02}" --csv "$work/part" \
            >"$work/said" 2>&1 </dev/null || { tail -n 5 "$work/said" >&2 && give_up "$side fails"; }
        awk -F'"' -v side="$side" 'NR > 1 && $4 != "memcpy" {
            split($5, v, ",")
            print side "|" $2 "|" v[6] "|" $4 "|" $6 "|" v[5] "|" v[3] }' "$work/part" >>"$work/figures"
    done
}

# A row for what was measured on both sides with the same kind of cores, near or far.
summary() {
    awk -F'|' '
        { k = $2 "|" $3 "|" $4 "|" $5
          if ($5 == "moved" || $5 == "one core") next
          if (!(k in known)) { known[k] = 1; keys[++count] = k }
          i = ++times[$1, k]; value[$1, k, i] = $6 }
        function median(side, k,   n, i, j, x) {
            n = times[side, k]
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && value[side, k, j - 1] > value[side, k, j]; j--) {
                    x = value[side, k, j]; value[side, k, j] = value[side, k, j - 1]
                    value[side, k, j - 1] = x }
            return (value[side, k, int((n + 1) / 2)] + value[side, k, int(n / 2) + 1]) / 2 }
        END {
            for (i = 1; i <= count; i++) {
                k = keys[i]
                if (times["new", k] && times["old", k]) {
                    old = median("old", k); new = median("new", k)
                    printf "%s|%.2f|%.2f|%.2f|%d, %d\n", k, old, new, new / old,
                        times["old", k], times["new", k] } } }' \
        "$work/figures"
}

slower() { awk -F'|' -v limit="$SLOWER" '$7 > limit' "$work/summary"; }

: >"$work/figures"
round=0
while [ $((round += 1)) -le "$ROUNDS" ]; do measure "$cases" "$sizes"; done
summary >"$work/summary"
slower | cut -d '|' -f 1,2 | sort -u | while IFS='|' read -r name n; do
    round=0
    while [ $((round += 1)) -le "$ROUNDS" ]; do measure "=$name|" "$n"; done
done
summary >"$work/summary"

{ echo "case|n|contestant|cores|$base|now|now / then|rounds" && cat "$work/summary"; } |
    awk -F'|' '{ printf "%-34s %5s %-8s %-5s %8s %8s %11s  %s\n", $1, $2, $3, $4, $5, $6, $7, $8 }'
echo
if [ -n "$(slower)" ]; then
    echo "slower than $SLOWER times $base:"
    slower | awk -F'|' '{ printf "%-34s %5s %-8s %-5s %5.2f times\n", $1, $2, $3, $4, $7 }'
    exit 1
fi
echo "nothing is slower than $SLOWER times $base"
