# Shared by the scripts of this directory, read by `. "${0%/*}/lib.sh"`. MIT licence, see LICENSE.
# environment: BUILD (where programs are, and where to write), MPICC, MPIEXEC
# Sets root and BUILD, both absolute, and work, an empty directory that report removes.
root=$(cd "${0%/*}/.." && pwd)
tests=$root/tests
script=${0##*/}
MPICC=${MPICC:-$(command -v mpicc.mpich || command -v mpicc)}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
BUILD=${BUILD:-$root/build}
mkdir -p "$BUILD" && BUILD=$(cd "$BUILD" && pwd) || exit 1
work=$BUILD/${script%.sh}.work
rm -rf "$work" && mkdir "$work" || exit 1
passed=0 failed=0 skipped=0

have() { command -v "$1" >/dev/null 2>&1; }

# What is not optimised is compiled by clang, where it is installed: in a third of gcc's time.
prefer_clang() {
    have clang && have clang++ || return
    export CC=clang CXX=clang++ MPICH_CC=clang OMPI_CC=clang MPICH_CXX=clang++ OMPI_CXX=clang++
}

# Whether mpiexec can start two programs; that of Open MPI 5.0.7 cannot.
starts_two() { $MPIEXEC -n 1 true : -n 1 true >"$work/output" 2>&1 </dev/null; }

skip() { # why
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

count() { # status, what: $work/output has the details
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        [ ! -e "$work/output" ] || tail -n 20 "$work/output"
    fi
}

check() { # what, command...
    what=$1
    shift
    "$@" >"$work/output" 2>&1 </dev/null
    count $? "$what"
}

report() { # ends the script
    cd "$root" && rm -rf "$work"
    echo "$script: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
    exit
}
