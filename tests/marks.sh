#!/bin/sh
# Layouts from files compiled with a different REDIST_MAX_DIMS are refused, and no memory outside them is read.
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
    return &layout;
}
FOREIGN

echo 'int main(void) { return 0; }' >probe.c
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
$MPICC $sanitize -o probe probe.c 2>/dev/null && ./probe || sanitize=
export ASAN_OPTIONS=detect_leaks=0

refused() { # REDIST_MAX_DIMS there, here
    $MPICC -std=c99 -O0 -g -w $sanitize -I"$root" -DREDIST_MAX_DIMS=$1 -c foreign.c -o foreign.o &&
        $MPICC -std=c99 -O0 -g $sanitize -I"$root" -I"$root/tests" -DREDIST_MAX_DIMS=$2 -DFOREIGN_DIMS=$1 \
            -o marks "$tests/built.c" foreign.o && timeout 60 $MPIEXEC -n 1 ./marks
}

check 'a layout with REDIST_MAX_DIMS=3 where it is 8' refused 3 8
check 'a layout with REDIST_MAX_DIMS=8 where it is 3' refused 8 3
[ -n "$sanitize" ] || skip 'no sanitizers'
report
