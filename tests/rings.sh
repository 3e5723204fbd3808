#!/bin/sh
# The protocol of shared memory, a thread per rank, under the thread sanitizer, which detects flags without acquire or
# release on any processor. It must also detect flags spoilt on purpose. MIT licence, see LICENSE.
# usage: BUILD=directory tests/rings.sh     (environment: MPICC)
. "${0%/*}/lib.sh"
# UCX, part of Debian's MPICH, intercepts madvise. Ending threads call it after gcc's sanitizer has released their
# state, and crash.
export UCX_MEM_EVENTS=n

build() { # headers, program
    $MPICC -std=c99 -O0 -fsanitize=thread -DRINGS_SANITIZED -I"$1" -o "$work/$2" "$root/tests/rings.c" -pthread
}

run() { TSAN_OPTIONS='halt_on_error=1 exitcode=66' timeout -k 5 200 "$work/$1" >"$work/output" 2>&1; }

# A probe: a program with MPI and ending threads, like the test.
cat >"$work/probe.c" <<'PROBE'
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
static void *work(void *argument) { return argument; }
int main(void)
{
    pthread_t thread[4];
    int k, initialised;
    MPI_Initialized(&initialised);
    for (k = 0; k < 4; k++)
        if (pthread_create(&thread[k], NULL, work, NULL) != 0)
            return 1;
    for (k = 0; k < 4; k++)
        pthread_join(thread[k], NULL);
    return 0;
}
PROBE

probe() { # whether the compiler has the sanitizer, and such a program runs under it; if not, `reason` says why
    reason='no thread sanitizer'
    $MPICC -fsanitize=thread -o "$work/probe" "$work/probe.c" -pthread 2>/dev/null || return 1
    run probe && return
    reason="under the thread sanitizer even a program that does nothing fails (status $?)"
    return 1
}

spoilt() { # name, sed expression: whether the sanitizer reports a race in a copy of the headers changed like this
    mkdir -p "$work/$1"
    cp "$root"/redist*.h "$work/$1"
    sed "$2" "$root/redist_plan.h" >"$work/$1/redist_plan.h"
    ! cmp -s "$root/redist_plan.h" "$work/$1/redist_plan.h" && build "$work/$1" "$1_rings" && ! run "$1_rings" &&
        grep -q 'ThreadSanitizer: data race' "$work/output"
}

prefer_clang
if ! probe; then unset MPICH_CC OMPI_CC; fi
if probe; then
    build "$root" rings && run rings && grep -q ' 0 failed' "$work/output"
    count $? "threads under the sanitizer"
    spoilt load 's/__ATOMIC_ACQUIRE/__ATOMIC_RELAXED/'
    count $? "the sanitizer detects flags read without acquire"
    spoilt store 's/__ATOMIC_RELEASE/__ATOMIC_RELAXED/'
    count $? "the sanitizer detects flags written without release"
else
    skip "$reason"
fi
report
