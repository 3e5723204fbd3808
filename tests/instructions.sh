#!/bin/sh
# Counts the instructions of executions and of equivalent hand-written loops with valgrind's
# callgrind, and compares them with the bounds in tests/instructions.c. MIT licence, see LICENSE.
# usage: BUILD=directory tests/instructions.sh     (environment: MPICC, MPIEXEC)
# COUNTED: the program, compiled with -O3, or none; HEADERS: the directory of others than this one's
. "${0%/*}/lib.sh"
export OMPI_MCA_mpi_yield_when_idle=1
# Callgrind counts a repeated string instruction once per byte: so memcpy must use vectors.
export GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1000000000

fail() { # what
    count 1 "$1"
    report
}

# The instructions of the program itself and of the mem... functions that it calls, a line for each
# of callgrind's files. MPI's instructions are not included.
counts() {
    awk '
        function name(text,   id) { # "(7) name" defines what "(7)" means
            id = substr(text, 1, index(text, ")"))
            if (length(text) > length(id)) names[id] = substr(text, length(id) + 2)
            return names[id] }
        FNR == 1 { if (NR > 1) print sum; sum = 0; inclusive = 0 }
        { at = index($0, "="); key = substr($0, 1, at - 1); rest = substr($0, at + 1) }
        key == "ob" { object = name(rest); next }
        key == "fn" { name(rest); next }
        key == "cob" { name(rest); next }
        key == "cfn" { callee = name(rest); next }
        key == "calls" { inclusive = 1; next }
        /^[-+*0-9]/ {
            if (object ~ /\/instructions$/ && (!inclusive || callee ~ /mem(cpy|move|set)/))
                sum += $NF
            inclusive = 0 }
        END { print sum }' $(cd "$work" && ls out.[0-9]* | sort -t . -k 2 -n | sed "s|^|$work/|")
}

# For each row the lowest count of either side, and whether it keeps its bound.
judge() {
    awk -F'|' -v numbers="$work/numbers" '
        function least(times,   n, x) {
            while (times-- > 0) {
                if ((getline n < numbers) <= 0) return 0
                if (x == "" || n + 0 < x) x = n + 0
            }
            return x }
        { plan = least($2); hand = least($2)
          if (plan == 0 || hand == 0) { print "FAILED: nothing was counted: " $1; next }
          sub(/^row: /, "", $1)
          ratio = plan / hand; bound = $3 + $4 / hand
          state = ratio <= bound ? "" : ratio <= 1.1 * $5 ? "skipped: not yet: " : "FAILED: "
          printf "%s%s: %d instructions, by hand %d: %.2f times as many, at most %.2f (%s)\n",
              state, $1, plan, hand, ratio, bound, $6 }
        END { if ((getline n < numbers) > 0 || NR == 0) print "FAILED: rows and counts differ" }'
}

have valgrind || { skip 'no valgrind' && report; }
starts_two || { skip 'this mpiexec cannot start two programs' && report; }
program=${COUNTED:-$work/instructions}
[ -n "$COUNTED" ] || $MPICC -std=c99 -O3 -g -I"${HEADERS:-$root}" -o "$program" "$tests/instructions.c" \
    >"$work/output" 2>&1 || fail 'instructions.c does not compile'
$MPIEXEC -n 1 valgrind --tool=callgrind --callgrind-out-file="$work/out" \
    --toggle-collect='counted_*' --dump-before=next_count "$program" rows : \
    -n 1 "$program" >"$work/rows" 2>"$work/output" || fail 'callgrind does not run it'
counts >"$work/numbers"
grep '^row: ' "$work/rows" | judge | tee "$work/judged"
failed=$(grep -c '^FAILED' "$work/judged")
skipped=$(grep -c '^skipped' "$work/judged")
passed=$(($(grep -c . "$work/judged") - failed - skipped))
report
