#!/bin/sh
# Layouts from files compiled with a different REDIST_MAX_DIMS, or another major version, are refused, and no memory
# outside them is read.
# MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
. "${0%/*}/lib.sh"

cd "$work" || exit 1
cat >foreign.c <<'FOREIGN'
#include "redist.h"
const void *foreign_layout(void);
const void *foreign_layout(void)
{
    static redist_layout layout;
    layout = redist_layout_2d(redist_block(12, 2), redist_whole(10));
    layout.mark |= MARKED_MINOR << 16; /* before 1.0 */
    return &layout;
}
FOREIGN

echo 'int main(void) { return 0; }' >probe.c
sanitize=-fsanitize=address
sanitizes() { $MPICC $sanitize -o probe probe.c 2>/dev/null && ./probe; }
prefer_clang
sanitizes || unset MPICH_CC OMPI_CC
sanitizes || sanitize=
export ASAN_OPTIONS=detect_leaks=0
printf '#define REDIST_IMPLEMENTATION\n#include "redist_plan.h"\n' >here.c
for dims in 3 8; do
    $MPICC -std=c99 -O0 $sanitize -I"$root" -DREDIST_MAX_DIMS=$dims -c -o here$dims.o here.c
done

refused() { # REDIST_MAX_DIMS there, here, major version there, minor version that the mark held
    sed "s/^\(#define REDIST_VERSION_MAJOR\) .*/\1 $3/" "$root/redist.h" >redist.h
    $MPICC -std=c99 -O0 -w $sanitize -I. -DREDIST_MAX_DIMS=$1 -DMARKED_MINOR=${4:-0} -c foreign.c -o foreign.o &&
        $MPICC -std=c99 -O0 $sanitize -I"$root" -I"$root/tests" -DREDIST_DECLARATIONS_ONLY -DREDIST_MAX_DIMS=$2 \
            -DFOREIGN_DIMS=$1 -DFOREIGN_MAJOR=$3 -o marks "$tests/built.c" foreign.o here$2.o &&
        timeout 60 $MPIEXEC -n 1 ./marks
}

check 'a layout with REDIST_MAX_DIMS=3 where it is 8' refused 3 8 1
check 'a layout with REDIST_MAX_DIMS=8 where it is 3' refused 8 3 1
check 'a layout of version 0.3 where it is 1' refused 8 8 0 3
check 'a layout of version 2 where it is 1' refused 8 8 2
[ -n "$sanitize" ] || skip 'no sanitizers'
report
