#!/bin/sh
# Shared memory that the library creates itself, where the system refuses it; and what remains when ranks are killed
# while they create it: in a mount namespace with its own /dev/shm. MIT licence, see LICENSE.
# environment: BUILD (where own_memory and own_memory.named are), MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"

refused() { # what ranks
    timeout -k 5 60 $MPIEXEC -n "$2" $YIELDING "$BUILD/own_memory" "$1" >"$work/output" 2>&1
    if grep -q '^own_memory: 0 passed, 0 failed, 1 skipped' "$work/output"; then
        sed -n 's/^skipped: /&'"$1"': /p' "$work/output"
        skipped=$((skipped + 1))
    else
        grep -Eq '^own_memory: [1-9][0-9]* passed, 0 failed' "$work/output"
        count $? "$2 ranks, $1"
    fi
}

namespace() { # command...: runs it with a /dev/shm of its own
    unshare $user -m sh -c 'mount -t tmpfs -o size=512m tmpfs /dev/shm && "$@"' sh "$@"
}

killed() { # program, rank (-1: all), system call, command that tests /dev/shm afterwards
    namespace sh -c '
        output=$1 test=$2 && shift 2
        timeout -k 5 60 "$@" >"$output" 2>&1
        { df -k /dev/shm && ls /dev/shm; } >>"$output"
        eval "$test"' sh "$work/output" "$4" $MPIEXEC -n 2 $YIELDING "$BUILD/$1" kill "$2" "$3"
    count $? "$1: rank $2 (-1: all) is killed at system call $3"
}

# Arenas of 16 MB a rank; less than 8 MB may remain, which MPI may leave behind.
little_is_left='[ "$(df -k /dev/shm | awk "NR == 2 { print \$3 }")" -lt 8192 ]'
# A file with a name may remain of each rank, until all have opened it.
names_are_left() { # most
    echo '[ "$(ls /dev/shm | grep -c ^redist-)" -le '"$1 ]"
}

for what in seccomp-make seccomp-open permission proc shm mounts; do
    refused $what 2
done
refused mounts 4
user=
namespace true 2>/dev/null || user=-r
if namespace true 2>/dev/null; then
    for rank in -1 1; do
        for call in 3 4 5 6 8 10 12 14 16 18 20 1000; do
            killed own_memory $rank $call "$little_is_left"
        done
        for call in 3 5 6 8 11 14; do killed own_memory.named $rank $call "$(names_are_left 2)"; done
        killed own_memory.named $rank 1000 "$(names_are_left 0) && $little_is_left"
    done
else
    skip 'no mount namespaces here'
fi
report
