#!/bin/sh
# Runs some tests under valgrind, or else with the compiler's sanitizers. MIT licence, see LICENSE.
# usage: BUILD=directory tests/leaks.sh     (environment: MPICC, MPIEXEC, YIELDING: see tests/run)
# MPI libraries have errors of their own. Only those count whose innermost frame is in a file of this project, and leaks
# that the MPI library reports at its end (datatypes that were not freed).
. "${0%/*}/lib.sh"
export OMPI_MCA_mpi_yield_when_idle=1 # under valgrind a rank that spins takes what the others need

# Prints our errors in valgrind's logs: paragraphs whose first frame outside valgrind is in a file of this project.
findings() {
    cat "$work"/log.* 2>/dev/null | sed -E 's/^==[0-9]+== ?//' |
        awk -v RS= '{
            n = split($0, line, "\n")
            for (i = 1; i <= n; i++)
                if (line[i] ~ /^ +(at|by) 0x/ && line[i] !~ /\((vg_replace|.*vgpreload)/)
                    break
            if (i <= n && (line[i] ~ /\((redist(_plan)?|oracle|exchange|test(_mpi)?)\.h:[0-9]+\)/ ||
                           line[i] ~ /\((move|files|plan_[a-z]+)\.c:[0-9]+\)/))
                print $0 "\n"
        }'
}

under_valgrind() { # ranks program arguments
    ranks=$1
    shift
    set -- valgrind --quiet --leak-check=full --num-callers=30 --log-file="$work/log.%p" "$@"
    [ "$ranks" -eq 0 ] || set -- $MPIEXEC -n "$ranks" $YIELDING "$@"
    "$@"
}

sanitized() { # ranks program arguments
    ranks=$1 program=$2
    shift 2
    name=$(basename "$program")
    $MPICC -std=c99 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -I"$root" \
        -o "$work/$name" "$tests/$name.c" || return 1
    set -- "$work/$name" "$@"
    if [ "$ranks" -eq 0 ]; then "$@"; else # leaks: only MPI's own would be found, in modules that are gone by then
        ASAN_OPTIONS=detect_leaks=0 $MPIEXEC -n "$ranks" "$@"; fi
}

check() { # ranks name arguments
    ranks=$1 name=$2
    shift 2
    rm -rf "$work"
    mkdir -p "$work"
    if [ ! -x "$BUILD/$name" ]; then
        skip "$name is not built"
        return
    fi
    echo "$name on $ranks ranks, $tool"
    "$tool" "$ranks" "$BUILD/$name" "$@" >"$work/output" 2>&1
    status=$?
    found=$(findings)
    [ "$status" -eq 0 ] && [ -z "$found" ] && grep -q ' 0 failed' "$work/output" &&
        ! grep -q ' leaked ' "$work/output"
    count $? "$name on $ranks ranks, $tool, status $status"
    [ -z "$found" ] || echo "$found" | head -n 60
}

if command -v valgrind >/dev/null; then
    tool=under_valgrind
elif echo 'int main(void) { return 0; }' |
    "$MPICC" -x c -fsanitize=address,undefined -o "$work/probe" - 2>/dev/null; then
    tool=sanitized
else
    skip 'neither valgrind nor sanitizers'
    report
fi
check 0 move 60 0 1 100
check 2 plan_random 1 5
check 2 plan_errors 1
check 2 files 1 8
report
