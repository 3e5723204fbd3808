#!/bin/sh
# Random plans on simulated clusters of 16 ranks, on nodes of one rank and of four, and of 32 ranks; and REDIST_AUTO's
# choices there from its measurements. MIT licence, see LICENSE.
# usage: BUILD=directory tests/simulated.sh     (needs SimGrid's smpicc and smpirun)
. "${0%/*}/lib.sh"

hosts() { # ranks, ranks of a node
    awk -v n="$1" -v each="$2" 'BEGIN { for (k = 0; k < n; k++) print "node-" int(k / each) }' >"$work/hosts"
}

# Times methods; standard input is a case for simulate.c.
simulate() { # ranks, ranks of a node, methods, what long messages get of a link
    [ -x "$work/simulate" ] || smpicc -std=c99 -D_POSIX_C_SOURCE=200112L -O0 -I"$root" -o "$work/simulate" \
        "$root/bench/simulate.c" >"$work/output" 2>&1
    hosts "$1" "$2"
    timeout -k 5 100 smpirun -np "$1" -platform "$work/platform.xml" -hostfile "$work/hosts" --log=root.thres:critical \
        --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/os:0:1e-6:0 --cfg=smpi/ois:0:1e-6:0 \
        --cfg=smpi/lat-factor:0:1 --cfg="smpi/bw-factor:0:0.97$4" \
        "$work/simulate" full 1.25e9 "$2" "$3" 1 >"$work/output" 2>&1
}

# Rows to columns. For a few bytes, two phases are faster than 32 messages, and on nodes of four ranks one message for
# each node; longer messages share the node's link. Where messages of 64 kB and more take twice as long as shorter ones,
# short pieces are better.
check_choice() { # rows, columns, ranks of a node, expected remark, what long ones get of a link
    printf 'rows\t0\t8\t%s: block@32, *\t%s: *, block@32\t-\n' "$1x$2" "$1x$2" | simulate 32 "$3" a "$5"
    grep -q "auto,.*,$4\$" "$work/output"
    count $? "rows to columns of $1 x $2 on nodes of $3 are not $4"
}

# On a torus some messages cross several links, a latency that two phases would pay twice.
check_direct() {
    printf 'cyclic\t0\t8\t256: block@16\t256: cyclic(1)@16\t-\n' | simulate 16 1 a ''
    grep -q 'auto,.*,point to point$' "$work/output"
    count $? '8 bytes each are not sent directly on a torus'
}

# Messages to one node's ranks alternate with messages to others.
check_order() {
    printf 'rows\t0\t8\t128x128: block@16, *\t128x128: *, block@16\t-\n' | simulate 16 4 ap ''
    awk -F, '$6 == "auto" { t = $7 } $6 == "point to point" { good = t > 0 && t < 0.9 * $7 } END { exit !good }' \
        "$work/output"
    count $? 'messages to different nodes do not alternate'
}

platform() { # attributes
    cat >"$work/platform.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" speed="10Gf" bw="1.25GBps" lat="5us" loopback_bw="8GBps"
           loopback_lat="0.3us" $1/>
</platform>
END
}

# Computation takes no simulated time, so that every run is the same; an unsuccessful test takes 0.1 ms.
check() { # name, ranks, ranks of a node, program, arguments...
    name=$1 ranks=$2 each=$3 program=$4
    shift 4
    [ -x "$work/$program" ] ||
        smpicc -std=c99 -O0 -I"$root" -o "$work/$program" "$tests/$program.c" >"$work/output" 2>&1
    hosts "$ranks" "$each"
    timeout -k 5 100 smpirun -np "$ranks" -platform "$work/platform.xml" -hostfile "$work/hosts" \
            --log=root.thres:critical \
        --cfg=smpi/simulate-computation:no --cfg=smpi/test:1e-4 --cfg=smpi/iprobe:1e-4 \
        "$work/$program" "$@" >>"$work/output" 2>&1
    status=$?
    [ "$status" -eq 0 ] && grep -Eq "^$program: [1-9][0-9]* passed, 0 failed" "$work/output"
    count $? "$program on $name, status $status"
}

if ! command -v smpicc >/dev/null || ! command -v smpirun >/dev/null; then
    skip 'no smpicc and smpirun (libsimgrid-dev)'
    report
fi
platform 'radical="0-31"'
check '16 nodes' 16 1 plan_random 1 3
check '4 nodes of 4 ranks' 16 4 plan_random 2 3
check '32 nodes' 32 1 many_ranks
check_choice 64 128 1 '2 phases' ''
check_choice 64 128 4 nodes ''
check_choice 256 256 4 'point to point' ''
check_choice 512 512 4 'point to point' ''
check_choice 512 512 4 '32 steps' ';65536:0.48'
platform 'radical="0-15" topology="TORUS" topo_parameters="4,4,1"'
check_direct
platform 'radical="0-3" topology="TORUS" topo_parameters="2,2,1"'
check_order
report
