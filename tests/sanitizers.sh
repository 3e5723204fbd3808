#!/bin/sh
# Runs the tests without MPI, five of plans, and those of files, checkpoints and adopted arrays, under clang's address
# and undefined behaviour sanitizers. MIT licence, see LICENSE.
# usage: BUILD=directory tests/sanitizers.sh     (environment: MPICC, MPIEXEC, LINKED: see Makefile)
tests=$(dirname "$0")
flags="-std=c99 -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -I$tests/.."

serial_tests() {
    for name in $(awk '!/^#/ && $2 == 0 && $1 !~ /\.sh$/ { print $1 }' "$tests/list"); do
        grep -qE 'mpi\.h"|coroutines\.h|omp_' "$tests/$name.c" || echo "$name"
    done
}

# Fewer cases for tests with many.
arguments_of() {
    case $1 in
        move) echo 60 0 1 100 ;;
        portable) echo 20 0 1 30 ;;
        phases) echo 150 60 ;;
        plan_random | files) echo 5 20 ;;
        plan_ghosts | plan_places) echo 6 ;;
        plan_parts | relabelling) echo 4 ;;
        checkpoints) echo 5 ;;
        schedule) echo 40 ;;
        ghosts | views) echo 100 ;;
        copies) echo 600 ;;
        parse) echo 5 ;;
        layouts | replicated | runs) echo 80 ;;
        grids) echo 600 ;;
    esac
}

ranks_of() { if [ "$1" = multiphase ]; then echo 6; else echo 2; fi; }

has_mpi() { case $1 in adopted | plan* | files | checkpoints | multiphase) ;; *) return 1 ;; esac }

# Adopting writes whole pages to a file, also what the address sanitizer guards in them.
except() { if [ "$1" = adopted ]; then echo -fno-sanitize=address; fi; }

compile() { # name, flags and files...
    compiler=clang
    if has_mpi "$1"; then compiler="env MPICH_CC=clang OMPI_CC=clang $MPICC"; fi
    output=$work/$1
    shift
    $compiler $flags -o "$output" "$@" -lm
}

# The implementations that programs of the Makefile's LINKED are linked with: with MPI, and without.
implement() { # plan or serial
    printf '#define REDIST_IMPLEMENTATION\n#include "linked.h"\n' >"$work/$1.c"
    compile "$1.o" -I"$tests" $([ "$1" = plan ] || echo -DTEST_SERIAL) -c "$work/$1.c"
}

build() { # name
    case " $LINKED " in
        *" $1 "*)
            object=$work/serial.o
            if has_mpi "$1"; then object=$work/plan.o; fi
            compile "$1" -DREDIST_DECLARATIONS_ONLY "$tests/$1.c" "$object" ;;
        *) compile "$1" $(except "$1") "$tests/$1.c" ;;
    esac
}

# What happens here counts, not what MPI libraries leave behind. Long stacks of every allocation, and 256 MB of what was
# freed, kept to detect its use, would take most of the time.
run() { # name
    export ASAN_OPTIONS=malloc_context_size=3:quarantine_size_mb=8
    if has_mpi "$1"; then
        ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 timeout -k 5 100 $MPIEXEC -n $(ranks_of "$1") $YIELDING "$work/$1" $(arguments_of "$1")
    else timeout -k 5 100 "$work/$1" $(arguments_of "$1"); fi
}

one() { # name: compiles and runs it, with temporary files of its own (see tests/run)
    export TMPDIR="$work/$1.temporary"
    { mkdir "$TMPDIR" && build "$1" && run "$1"; } >"$work/$1.output" 2>&1 &&
        grep -qE ': [1-9][0-9]* passed, 0 failed' "$work/$1.output" && touch "$work/$1.good"
}

if [ "$1" = one ] || [ "$1" = implement ]; then
    "$1" "$2"
    exit 0
fi
. "$tests/lib.sh"
if ! echo 'int main(void) { return 0; }' | clang -x c $flags -o "$work/probe" - 2>/dev/null; then
    skip 'no clang with sanitizers'
    report
fi
export MPICC MPIEXEC work
# MPICH's buffers for files are 16 MB otherwise, and the sanitizer marks all of it
export ROMIO_HINTS=$work/hints
for buffer in cb ind_rd ind_wr; do echo "${buffer}_buffer_size 65536"; done >"$ROMIO_HINTS"
names="multiphase adopted files checkpoints plan_parts plan_random plan_ghosts plan_places $(serial_tests)"
[ -z "$LINKED" ] || printf '%s\n' plan serial | xargs -P 2 -n 1 sh "$0" implement
printf '%s\n' $names | xargs -P 2 -n 1 sh "$0" one
for name in $names; do
    cp "$work/$name.output" "$work/output"
    [ -e "$work/$name.good" ]
    count $? "$name under the sanitizers"
done
report
