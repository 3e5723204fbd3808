#!/bin/sh
# Runs small_shm with a /dev/shm as small as in a container, in a separate mount namespace.
# MIT licence, see LICENSE.
# environment: BUILD (where small_shm is), MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"

namespace() { # kB command...: runs it with so small a /dev/shm
    size=$1
    shift
    unshare $user -m sh -c 'mount -t tmpfs -o size="$0"k tmpfs /dev/shm && exec "$@"' "$size" "$@"
}

launch() { # kB ranks arguments
    size=$1 ranks=$2
    shift 2
    namespace "$size" timeout -k 5 100 $MPIEXEC -n "$ranks" $YIELDING "$BUILD/small_shm" "$@"
}

# MPI itself takes some of /dev/shm, according to the library and the number of ranks: the tests have 48 MB beyond that.
room=49152
runs() { # ranks arguments
    taken=$(launch 262144 "$1" taken | sed -n 's/^taken: \([0-9][0-9]*\) kB$/\1/p')
    echo "MPI takes ${taken:-an unknown number of} kB"
    [ -n "$taken" ] && launch $((taken + room)) "$@"
}

user=
namespace 1024 true 2>/dev/null || user=-r
if namespace 1024 true 2>/dev/null; then
    check '4 ranks with 48 MB' runs 4 2500 some
    check '2 ranks with 48 MB' runs 2 500 all
else
    skip 'no mount namespaces here'
fi
report
