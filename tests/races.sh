#!/bin/sh
# Runs copies shared among threads under clang's thread sanitizer. MIT licence, see LICENSE.
# usage: BUILD=directory tests/races.sh
# The sanitizer understands OpenMP's barriers only with libarcher, a part of clang's OpenMP that may be missing.
. "${0%/*}/lib.sh"

build() { clang -g -O1 -fopenmp -fsanitize=thread -I"$root" -o "$work/$1" "$2" 2>"$work/output"; }

run() { TSAN_OPTIONS='ignore_noninstrumented_modules=1' OMP_NUM_THREADS=3 "$work/$@" >"$work/output" 2>&1; }

# Threads write, and read each other's data after a barrier: no race.
cat >"$work/probe.c" <<'PROBE'
int main(void)
{
    int n[1000] = {0}, sum = 0, k;
#pragma omp parallel for
    for (k = 0; k < 1000; k++)
        n[k] = k;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
    for (k = 0; k < 1000; k++)
        sum += n[999 - k];
    return sum != 499500;
}
PROBE

if ! build probe "$work/probe.c" || ! run probe; then
    skip 'no clang with OpenMP, a thread sanitizer and libarcher'
else
    build openmp "$tests/openmp.c" && run openmp 150 0 3 200
    count $? 'threads share copies without races'
fi
report
