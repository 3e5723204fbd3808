#!/bin/sh
# Runs the tests without MPI, and three of plans, under clang's address and undefined behaviour sanitizers.
# MIT licence, see LICENSE.
# usage: BUILD=directory tests/sanitizers.sh     (environment: MPICC, MPIEXEC)
tests=$(dirname "$0")
BUILD=${BUILD:-build}
MPICC=${MPICC:-mpicc}
MPIEXEC=${MPIEXEC:-mpiexec}
work=$BUILD/sanitizers
flags="-std=c99 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -I$tests/.."
passed=0 failed=0 skipped=0

serial_tests() {
    for name in $(awk '!/^#/ && $2 == 0 && $1 !~ /\.sh$/ { print $1 }' "$tests/list"); do
        grep -qE 'mpi\.h"|omp_' "$tests/$name.c" || echo "$name"
    done
}

# Fewer cases where a test has many.
arguments_of() {
    case $1 in
        move | portable) echo 60 0 1 ;;
        phases) echo 100 60 ;;
        plan_random) echo 5 40 ;;
        plan_ghosts) echo 10 ;;
    esac
}

# What compiles longer than it runs is not optimised.
level_of() {
    case $1 in
        move | portable | relabelling | schedule | phases | replicated | ghosts) echo -O1 ;;
        *) echo -O0 ;;
    esac
}

ranks_of() { if [ "$1" = multiphase ]; then echo 6; else echo 2; fi; }

one() { # name: compiles and runs it
    name=$1
    case $name in
        plan_* | multiphase) # only what happens here counts, not what MPI libraries leave behind
            MPICH_CC=clang OMPI_CC=clang $MPICC $flags $(level_of "$name") -o "$work/$name" "$tests/$name.c" &&
                ASAN_OPTIONS=detect_leaks=0 timeout -k 5 100 $MPIEXEC -n $(ranks_of "$name") \
                    $POLITE "$work/$name" $(arguments_of "$name") ;;
        *) clang $flags $(level_of "$name") -o "$work/$name" "$tests/$name.c" -lm &&
               timeout -k 5 100 "$work/$name" $(arguments_of "$name") ;;
    esac >"$work/$name.output" 2>&1 && grep -qE ': [1-9][0-9]* passed, 0 failed' "$work/$name.output" &&
        touch "$work/$name.good"
}

if [ "$1" = one ]; then
    one "$2"
    exit 0
fi
if ! echo 'int main(void) { return 0; }' | clang -x c $flags -o "$BUILD/sanitizers.probe" - 2>/dev/null; then
    echo 'skipped: no clang with sanitizers'
    echo 'sanitizers.sh: 0 passed, 0 failed, 1 skipped'
    exit 0
fi
rm -rf "$BUILD/sanitizers.probe" "$work"
mkdir -p "$work"
export BUILD MPICC MPIEXEC
names="multiphase plan_random plan_ghosts $(serial_tests)"
printf '%s\n' $names | xargs -P 2 -n 1 sh "$0" one
for name in $names; do
    if [ -e "$work/$name.good" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name under the sanitizers"
        tail -n 20 "$work/$name.output"
    fi
done
rm -rf "$work"
echo "sanitizers.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
