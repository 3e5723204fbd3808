#!/bin/sh
# Plans between emulated nodes, two of two ranks and two of one, with every MPI there is. MIT licence, see LICENSE.
# usage: BUILD=directory tests/cluster.sh     (needs root and iproute2, see bench/cluster.sh)
tests=$(dirname "$0")
work=${BUILD:-build}/cluster
passed=0 failed=0 skipped=0

report() {
    rm -rf "$work"
    echo "cluster.sh: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

# A run that says nothing at all is repeated once: starting over TCP fails now and then where ranks outnumber the cores.
check() { # mpi shape program arguments...
    mpi=$1 shape=$2 program=$3
    shift 3
    [ -x "$work/$program.$mpi" ] ||
        mpicc.$mpi -std=c99 -O1 -I"$tests/.." -o "$work/$program.$mpi" "$tests/$program.c" || return
    for try in 1 2; do
        BUILD=$work LIMIT=45 sh "$tests/../bench/cluster.sh" --run "$mpi" "$shape" 1gbit \
            "$(cd "$work" && pwd)/$program.$mpi" "$@" >"$work/output" 2>&1 </dev/null
        ! grep -Eq "^$program: |^FAILED" "$work/output" || break
    done
    if grep -q '^cluster: skipped' "$work/output"; then
        sed -n 's/^cluster: skipped, /skipped: /p' "$work/output"
        skipped=1
        report
    elif grep -Eq "^$program: [1-9][0-9]* passed, 0 failed" "$work/output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $program on $shape, $mpi"
        tail -n 20 "$work/output"
    fi
}

mkdir -p "$work"
for mpi in mpich openmpi; do
    command -v mpicc.$mpi >/dev/null && command -v mpiexec.$mpi >/dev/null || continue
    check $mpi 2x2 plan_random 1 4
    check $mpi 2x1 home
done
[ $((passed + failed)) -gt 0 ] || { echo 'skipped: no mpicc.mpich or mpicc.openmpi'; skipped=1; }
report
