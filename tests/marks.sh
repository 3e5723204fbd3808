#!/bin/sh
# Layouts that pass between files compiled with different REDIST_MAX_DIMS are refused, and nothing beyond them is read.
# MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
root=$(cd "$(dirname "$0")/.." && pwd)
work=${BUILD:-$root/build}/marks
MPICC=${MPICC:-$(command -v mpicc.mpich || command -v mpicc)}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
passed=0 failed=0 skipped=0

mkdir -p "$work"
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

check() { # REDIST_MAX_DIMS there, here
    if $MPICC -std=c99 -O0 -g -w $sanitize -I"$root" -DREDIST_MAX_DIMS=$1 -c foreign.c -o foreign.o &&
        $MPICC -std=c99 -O0 -g $sanitize -I"$root" -I"$root/tests" -DREDIST_MAX_DIMS=$2 -DFOREIGN_DIMS=$1 \
            -o marks "$root/tests/built.c" foreign.o && timeout 60 $MPIEXEC -n 1 ./marks >log 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: a layout with REDIST_MAX_DIMS=$1 where it is $2"
        head -n 12 log
    fi
}

check 3 8
check 8 3
[ -n "$sanitize" ] || { skipped=1; echo "skipped: no sanitizers"; }
cd "$root" && rm -rf "$work"
echo "marks.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
