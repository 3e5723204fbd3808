#!/bin/sh
# The Python module against numpy (python/python.py), its examples, and the Python of examples/README.md, with the MPI
# that mpi4py uses, whatever MPI the other tests use. The C file compiles with both. MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wc++-compat -Werror'

limited() { # what, command...
    limited_what=$1
    shift
    check "$limited_what" timeout -k 5 60 "$@"
}

says() { # sentence, command...
    sentence=$1
    shift
    timeout -k 5 60 "$@" >said 2>&1 </dev/null
    cat said && grep -q -e "$sentence" said
}

make_python() { ${MAKE:-make} -s -C "$root" BUILD="$work" CFLAGS=-O0 python "$@"; }

# The C file compiles with other compilers, with the MPI of the other tests, and with the standard ABI of MPI 5.
check_c() {
    flags=
    for word in $($MPICC -show); do
        case $word in -I*) flags="$flags -isystem ${word#-I}" ;; esac
    done
    for compiler in gcc clang; do
        if ! have $compiler; then skip "no $compiler"; continue; fi
        for mpi in "$flags" "-isystem $tests/abi"; do
            limited "$compiler $mpi: redist_python.c" $compiler -std=c99 $warnings $mpi -I"$root" -fsyntax-only \
                "$root/examples/python/redist_python.c"
        done
    done
}

run_tests() { # ranks: adds what the module's tests count
    timeout -k 5 60 $MPI_RUN -n "$1" $YIELDING "$python" -B -m mpi4py "$tests/python/python.py" "$root/redist.h" \
        >output 2>&1 </dev/null
    read -r _ good _ bad _ <<REPORT
$(grep '^python: [0-9]* passed, [0-9]* failed, 0 skipped$' output || echo 'python: 0 passed, 1 failed, 0')
REPORT
    [ "$bad" -eq 0 ]
    count $? "python.py on $1 ranks"
    passed=$((passed + good)) failed=$((failed + bad))
}

run_example() { # ranks, program and arguments: all is right
    ranks=$1
    shift
    check "$* on $ranks ranks" says ' right$' $MPI_RUN -n "$ranks" $YIELDING "$python" -B -m mpi4py "$work/python/$@"
}

# The Python of examples/README.md, with a rank's whole array before and what it asserts after.
check_readme() {
    {
        echo 'import numpy, redist; from mpi4py import MPI'
        echo 'comm = MPI.COMM_WORLD; rank, steps = comm.rank, 2; whole = numpy.random.rand(1000, 800)'
        echo 'whole = comm.bcast(whole)'
        sed -n '/^```python$/,/^```$/p' "$root/examples/README.md" | grep -v '^```'
        echo 'assert (b == whole[columns.global_slice(rank)]).all()'
        echo 'if rank == 0: print("right")'
    } >readme.py
    check 'examples/README.md shows Python' grep -q 'redist.Plan(' readme.py
    check 'examples/README.md on 4 ranks' says '^right$' $MPI_RUN -n 4 $YIELDING "$python" -B -m mpi4py readme.py
}

# What keeps the module from working is said.
check_obstacles() {
    make_python PYTHON=/bin/false BUILD="$work/none" >said 2>&1
    check 'make python without packages' grep -qx 'python: skipped, no mpi4py and numpy for /bin/false' said
    importing='import mpi4py; mpi4py.rc.initialize = False; import redist'
    check 'a library that is missing' says 'absent.so: cannot open' env REDIST_LIBRARY="$work/absent.so" \
        "$python" -B -c "$importing"
    for other in openmpi mpich; do
        [ "$other" != "$mpi" ] && have "mpicc.$other" || continue
        check "make python with $other" make_python PYTHON_MPICC="mpicc.$other" CFLAGS=-O0 BUILD="$work/other"
        check "a library of $other" says 'of another MPI than mpi4py' \
            env REDIST_LIBRARY="$work/other/python/redist_python.so" "$python" -B -c "$importing"
    done
}

find_python() { # sets python, mpi and MPI_RUN, or says why not
    for python in python3 /usr/bin/python3 none; do $python -c 'import numpy, mpi4py' 2>/dev/null && break; done
    [ $python != none ] || { skip 'no python3 with numpy and mpi4py'; return 1; }
    mpi=$($python -c 'import mpi4py; mpi4py.rc.initialize = False
from mpi4py import MPI; print(MPI.get_vendor()[0].lower().replace(" ", ""))')
    have "mpicc.$mpi" && have "mpiexec.$mpi" || { skip "no mpicc.$mpi and mpiexec.$mpi, which mpi4py needs"; return 1; }
    MPI_RUN="mpiexec.$mpi"
    [ "$mpi" != openmpi ] || MPI_RUN='mpiexec.openmpi --allow-run-as-root --oversubscribe'
}

cd "$work" || exit 1
prefer_clang
check_c
if find_python; then
    export PYTHONPATH="$work/python"
    check 'make python' make_python PYTHON="$python"
    for ranks in 1 2 3 4; do run_tests $ranks; done
    run_example 3 fft2.py
    run_example 4 fft2.py 5 3
    run_example 3 jacobi.py
    run_example 4 jacobi.py 3 7
    check_readme
    check_obstacles
fi
report
