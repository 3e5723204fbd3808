#!/bin/sh
# Plans between emulated nodes, two of two ranks and two of one, with every installed MPI. MIT licence, see LICENSE.
# usage: BUILD=directory tests/cluster.sh     (needs root and iproute2, see bench/cluster.sh)
. "${0%/*}/lib.sh"

# A run without any output is repeated once: starting over TCP sometimes fails where ranks outnumber cores. MPICH's
# MPI_Finalize sometimes does not return there, when the report is written.
check() { # mpi shape program arguments...
    mpi=$1 shape=$2 program=$3
    shift 3
    [ -x "$work/$program.$mpi" ] ||
        mpicc.$mpi -std=c99 -O0 -I"$root" -o "$work/$program.$mpi" "$tests/$program.c" || return
    for limit in 20 60; do
        BUILD=$work LIMIT=$limit sh "$root/bench/cluster.sh" --run "$mpi" "$shape" 1gbit \
            "$work/$program.$mpi" "$@" >"$work/output" 2>&1 </dev/null
        ! grep -Eq "^$program: |^FAILED" "$work/output" || break
    done
    if grep -q '^cluster: skipped' "$work/output"; then
        sed -n 's/^cluster: skipped, /skipped: /p' "$work/output"
        skipped=1
        report
    fi
    grep -Eq "^$program: [1-9][0-9]* passed, 0 failed" "$work/output"
    count $? "$program on $shape, $mpi"
}

prefer_clang
for mpi in mpich openmpi; do
    command -v mpicc.$mpi >/dev/null && command -v mpiexec.$mpi >/dev/null || continue
    check $mpi 2x2 plan_random 1 4
    check $mpi 2x1 home
done
[ $((passed + failed)) -gt 0 ] || skip 'no mpicc.mpich or mpicc.openmpi'
report
