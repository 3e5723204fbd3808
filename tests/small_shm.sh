#!/bin/sh
# Runs small_shm with a /dev/shm as small as in a container, in a separate mount namespace.
# MIT licence, see LICENSE.
# environment: BUILD (where small_shm is), MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"

namespace() { # megabytes command...: runs it with so small a /dev/shm
    size=$1
    shift
    unshare $user -m sh -c 'mount -t tmpfs -o size="$0"m tmpfs /dev/shm && exec "$@"' "$size" "$@"
}

runs() { # megabytes ranks arguments
    size=$1 ranks=$2
    shift 2
    namespace "$size" timeout -k 5 100 $MPIEXEC -n "$ranks" $YIELDING "$BUILD/small_shm" "$@"
}

user=
namespace 1 true 2>/dev/null || user=-r
if namespace 1 true 2>/dev/null; then
    check '4 ranks with 64 MB' runs 64 4 4000 small
    check '2 ranks with 64 MB' runs 64 2 500
else
    skip 'no mount namespaces here'
fi
report
