#!/bin/sh
# Runs small_shm where /dev/shm is as small as in a container: in a mount namespace of its own.
# MIT licence, see LICENSE.
# environment: BUILD (where small_shm is), MPIEXEC, POLITE (see tests/run)
BUILD=${BUILD:-build}
MPIEXEC=${MPIEXEC:-mpiexec}
passed=0 failed=0 skipped=0

namespace() { # megabytes command...: runs it with so small a /dev/shm
    size=$1
    shift
    unshare $user -m sh -c 'mount -t tmpfs -o size="$0"m tmpfs /dev/shm && exec "$@"' "$size" "$@"
}

check() { # megabytes ranks arguments
    size=$1 ranks=$2
    shift 2
    namespace "$size" timeout -k 5 100 $MPIEXEC -n "$ranks" $POLITE "$BUILD/small_shm" "$@" \
        >"$BUILD/small_shm.output" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $ranks ranks with $size MB: status $status"
        tail -n 20 "$BUILD/small_shm.output"
    fi
    rm -f "$BUILD/small_shm.output"
}

user=
namespace 1 true 2>/dev/null || user=-r
if namespace 1 true 2>/dev/null; then
    check 64 4 4000 small
    check 64 2 500
else
    echo 'skipped: no mount namespaces here'
    skipped=1
fi
echo "small_shm.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
