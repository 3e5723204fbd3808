#!/bin/sh
# The Fortran module against C, and the solver in Fortran against that in C. MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wc++-compat -Werror'

limited() { # what, command...
    limited_what=$1
    shift
    check "$limited_what" timeout -k 5 60 "$@"
}

parses() { # what, C file, flags...: with every compiler
    parsed_what=$1 parsed=$2
    shift 2
    for compiler in gcc clang; do
        if have $compiler; then
            limited "$compiler: $parsed_what" $compiler -std=c99 $warnings "$@" -I"$root" -fsyntax-only "$parsed"
        else
            skip "no $compiler"
        fi
    done
}

# The C file compiles with other compilers, and both it and the library where MPI has the standard ABI of MPI 5.
check_c() { # MPI's C compiler
    flags=
    for word in $($1 -show); do
        case $word in -I*) flags="$flags -isystem ${word#-I}" ;; esac
    done
    parses redist_f.c "$root/examples/fortran/redist_f.c" $flags
    echo '#include "redist_plan.h"' >plan.c
    parses 'redist_plan.h with MPI 5' plan.c -isystem "$tests/abi"
    printf '%s\n' '#include "redist_plan.h"' '#if !REDIST_PRIV_PERSISTS' '#error no persistent collectives' '#endif' >plan.c
    parses 'redist_plan.h with Open MPI 5' plan.c -isystem "$tests/abi" -DMPI_VERSION=3 -DOMPI_MAJOR_VERSION=5
    parses 'redist_f.c with MPI 5' "$root/examples/fortran/redist_f.c" -isystem "$tests/abi"
}

compile() { # MPI's C compiler, its Fortran compiler
    for source in examples/fortran/redist_f.c tests/fortran/peer.c; do
        limited "$1 $source" $1 -std=c99 $warnings -O0 -I"$root" -c "$root/$source"
    done
    limited "$2 redist.f90" $2 -std=f2018 -Wall -Wextra -Werror -O1 -c "$root/examples/fortran/redist.f90"
    limited "$2 adi.f90" $2 -std=f2018 -Wall -Wextra -Werror -O1 -o adi_fortran \
        "$root/examples/fortran/adi.f90" redist.o redist_f.o -lm
    limited "$2 waves.f90" $2 -std=f2018 -Wall -Wextra -Werror -O1 -fcheck=all -o waves \
        "$root/examples/fortran/waves.f90" redist.o redist_f.o -lm
    limited "$2 fortran.f90" $2 -O1 -o fortran "$root/tests/fortran/fortran.f90" redist.o redist_f.o peer.o -lm
    limited "$2 paper.f90" $2 -std=f2018 -Wall -Wextra -Werror -O1 -o paper "$root/tests/fortran/paper.f90" \
        redist.o redist_f.o
    # COMMON is obsolescent in Fortran 2018; optimized, since gfortran may then take for unchanged what no declaration
    # says is changed; gfortran 10 takes strings of any length for undefined
    limited "$2 arrays.f90" $2 -cpp -ffree-line-length-none -std=gnu -Wall -Wextra -Wno-maybe-uninitialized -Werror \
        -O1 -o arrays "$root/tests/fortran/arrays.f90" redist.o redist_f.o
    limited "$1 adi.c" $1 -std=c99 -O1 -DREDIST_DECLARATIONS_ONLY -I"$root" -o adi_c "$root/examples/adi.c" redist_f.o -lm
}

# Every public function is in the module, or its head says which is not. Names before 1.0 do not link.
check_names() { # MPI's Fortran compiler
    module=$root/examples/fortran/redist.f90
    nm redist_f.o | sed -n 's/.* T \(redist_[a-z0-9_]*\)$/\1/p' | grep -v '^redist_f_' | sort >functions
    {
        awk '/^    public ::/ { on = 1 } on; !/&$/ { on = 0 }' "$module"
        sed -n '/^! - Not in this module/,/^module/p' "$module"
    } | grep -o 'redist_[a-z0-9_]*' | sort -u >named
    check 'the public functions of C are found' grep -qx redist_execute functions
    check 'every public function of C is in redist.f90' sh -c '! comm -23 functions named | grep .'
    sed ':joined; /&$/ { N; s/ *&\n */ /; b joined }' "$module" >joined
    sed -n "s/.* function \(redist_[a-z_]*\)\((.*)\) bind(c, name='redist_[a-z_]*_is_now_\(.*\)')/\1 \3 \2/p" \
        joined >renamed
    check 'old names are found' test -s renamed
    while read -r old new arguments; do
        cat >old.f90 <<F
use redist, only: redist_axis_t, redist_layout_t, $old, $new
type(redist_axis_t) :: x
type(redist_layout_t) :: layout
integer(8) :: i = 1, l = 1
integer :: coord = 0, rank = 0
print *, $old$arguments
end
F
        check "$1: $old compiles" $1 -c old.f90
        ! $1 -o old old.f90 redist.o redist_f.o >output 2>&1 && grep -q "${old}_is_now_$new" output
        count $? "$1: $old is now $new"
    done <renamed
}

# The Fortran of examples/README.md compiles, and moves rows to columns.
check_readme() { # MPI's Fortran compiler, mpiexec...
    {
        cat <<'F'
use mpi_f08; use redist; implicit none
type(redist_layout_t) :: rows, columns; type(redist_plan_t) :: plan; character(200) :: message
integer :: ierr, rank, step, i, j, steps = 2; double precision :: a(250, 800), b(1000, 200)
call MPI_Init(); call MPI_Comm_rank(MPI_COMM_WORLD, rank)
do j = 1, 800; do i = 1, 250; a(i, j) = 250 * rank + i + 1000d0 * j; end do; end do
F
        sed -n '/^```fortran$/,/^```$/p' "$root/examples/README.md" | grep -v '^```'
        cat <<'F'
do j = 1, 200; do i = 1, 1000; if (b(i, j) /= i + 1000d0 * (200 * rank + j)) error stop 1; end do; end do
call redist_plan_free(plan, ierr); call MPI_Finalize()
end
F
    } >readme.f90
    limited "$1, examples/README.md" $1 -O1 -o readme readme.f90 redist.o redist_f.o
    check 'examples/README.md shows Fortran' grep -q 'call redist_execute' readme.f90
    shift
    limited "$*, examples/README.md on 4 ranks" "$@" -n 4 $YIELDING ./readme
}

run_tests() { # program, ranks, mpiexec...
    tested=$1 ranks=$2
    shift 2
    timeout -k 5 60 "$@" -n "$ranks" $YIELDING ./$tested >output 2>&1 </dev/null
    grep -q "^$tested: [1-9][0-9]* passed, 0 failed, 0 skipped\$" output
    count $? "$* -n $ranks $tested"
}

# Both solvers have the same error.
error_of() { # mpiexec... program arguments
    timeout -k 5 60 "$@" >output 2>&1 </dev/null || return 1
    sed -n 's/^ *error  *\([^,]*\),.*/\1/p' output | tr e E
}

run_adi() { # points, steps, mpiexec...
    n=$1 steps=$2
    shift 2
    c=$(error_of "$@" -n 4 $YIELDING ./adi_c --n "$n" --steps "$steps")
    fortran=$(error_of "$@" -n 4 $YIELDING ./adi_fortran "$n" "$steps")
    [ -n "$c" ] && [ "$c" = "$fortran" ] && grep -q 'rounding .*: right' output
    count $? "$* adi, $n points, $steps steps: in C $c, in Fortran $fortran"
}

check_mpi() { # MPI's C compiler, mpiexec...
    mpicc=$1 mpifort=$(echo "$1" | sed 's/mpicc/mpifort/')
    shift
    if ! have "$mpifort" || ! have "$1" || ! printf 'use mpi_f08\nend\n' | $mpifort -x f95 -o probe - >output 2>&1; then
        skip "no gfortran with MPI's module mpi_f08 ($mpifort)"
        return
    fi
    compile "$mpicc" "$mpifort"
    check_readme "$mpifort" "$@"
    check_names "$mpifort"
    for ranks in 2 4; do run_tests fortran $ranks "$@"; done
    for ranks in 1 2 4; do
        run_tests arrays $ranks "$@"
        run_tests paper $ranks "$@"
        grep -qx '10x4: cuts(0,4,10), \*; ranks 1,0' output
        count $? 'redist_layout_print prints a layout'
    done
    for ranks in 1 3; do
        timeout -k 5 60 "$@" -n $ranks $YIELDING ./waves 31 50 >output 2>&1 </dev/null
        grep -q 'rounding .*: right' output
        count $? "$* -n $ranks waves"
    done
    run_adi 9 4 "$@"
    run_adi 57 13 "$@"
}

cd "$work" || exit 1
check_c "$MPICC"
check_mpi "$MPICC" $MPIEXEC
report
