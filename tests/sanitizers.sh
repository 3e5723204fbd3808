#!/bin/sh
# Runs the tests without MPI, five of plans, and those of files and checkpoints, under clang's address and undefined
# behaviour sanitizers. MIT licence, see LICENSE.
# usage: BUILD=directory tests/sanitizers.sh     (environment: MPICC, MPIEXEC)
tests=$(dirname "$0")
flags="-std=c99 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -I$tests/.."

serial_tests() {
    for name in $(awk '!/^#/ && $2 == 0 && $1 !~ /\.sh$/ { print $1 }' "$tests/list"); do
        grep -qE 'mpi\.h"|coroutines\.h|omp_' "$tests/$name.c" || echo "$name"
    done
}

# Fewer cases for tests with many.
arguments_of() {
    case $1 in
        move | portable) echo 60 0 1 ;;
        phases) echo 300 60 ;;
        plan_random | files) echo 5 40 ;;
        plan_ghosts | plan_places) echo 10 ;;
        plan_parts) echo 4 ;;
        checkpoints) echo 100 ;;
        copies) echo 3000 ;;
        relabelling) echo 16 ;;
        replicated) echo 300 ;;
        views) echo 600 ;;
        layouts) echo 200 ;;
    esac
}

# Programs that take longer to compile than to run are not optimised.
level_of() {
    case $1 in
        index | move | portable | relabelling | schedule | phases) echo -O1 ;;
        *) echo -O0 ;;
    esac
}

ranks_of() { if [ "$1" = multiphase ]; then echo 6; else echo 2; fi; }

one() { # name: compiles and runs it
    name=$1
    case $name in
        plan_* | files | checkpoints | multiphase) # only what happens here counts, not what MPI libraries leave behind
            MPICH_CC=clang OMPI_CC=clang $MPICC $flags $(level_of "$name") -o "$work/$name" "$tests/$name.c" &&
                ASAN_OPTIONS=detect_leaks=0 timeout -k 5 100 $MPIEXEC -n $(ranks_of "$name") \
                    $YIELDING "$work/$name" $(arguments_of "$name") ;;
        *) clang $flags $(level_of "$name") -o "$work/$name" "$tests/$name.c" -lm &&
               timeout -k 5 100 "$work/$name" $(arguments_of "$name") ;;
    esac >"$work/$name.output" 2>&1 && grep -qE ': [1-9][0-9]* passed, 0 failed' "$work/$name.output" &&
        touch "$work/$name.good"
}

if [ "$1" = one ]; then
    one "$2"
    exit 0
fi
. "$tests/lib.sh"
if ! echo 'int main(void) { return 0; }' | clang -x c $flags -o "$work/probe" - 2>/dev/null; then
    skip 'no clang with sanitizers'
    report
fi
export MPICC MPIEXEC work
names="multiphase files checkpoints plan_parts plan_random plan_ghosts plan_places $(serial_tests)"
printf '%s\n' $names | xargs -P 2 -n 1 sh "$0" one
for name in $names; do
    cp "$work/$name.output" "$work/output"
    [ -e "$work/$name.good" ]
    count $? "$name under the sanitizers"
done
report
