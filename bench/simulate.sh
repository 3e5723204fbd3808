#!/bin/sh
# Every method on simulated clusters, and the experiments of the papers. MIT licence, see LICENSE.
# usage: [BUILD=directory] [JOBS=2] [METHODS=aAvpsmV] sh bench/simulate.sh [--full | --papers]     (needs SimGrid's smpicc and smpirun)
#        [PLATFORMS='full torus'] [RANKS='16 64'] [EACH='1 4'] [SIZES='8 512'] [CASES=regex] ... sh bench/simulate.sh --rows
#        [PLATFORMS='full torus'] [RANKS='16 64'] [EACH='1 4'] [SEQUENCES='pencils 32 matrix 256'] ... sh bench/simulate.sh --grids
#        [PLATFORMS=full] [RANKS='16 64'] [EACH='1 4'] [MOST=64000] sh bench/simulate.sh --replicas
# Writes BUILD/simulate.csv and BUILD/simulate.svg, or with --papers BUILD/simulate-papers.csv, and prints them as tables;
# with --grids BUILD/simulate-grids.csv: the grid that redist_best_grid finds, beside the fastest of all (best_grid.c);
# with --replicas nothing: replicas.c, where a processor takes as long to receive a message as to send one.
# Columns: platform, ranks of a node, ranks, case, bytes of a message, method, seconds, least seconds that the nodes' links
# allow, seconds by the model of redist_cost_of, the method chosen. METHODS: letters of simulate.c (c, C: creating a plan; d:
# MPI_Comm_dup). One core needs about an hour for --full, half of it for 128 ranks, and half a minute for --papers; a row
# of all methods on 16, 32, 64 or 128 ranks 0.2, 1, 2 or 15 s, of REDIST_NODES or MPI_Alltoallv on 1280 ranks 2 minutes.
here=$(dirname "$0")
BUILD=${BUILD:-build}
JOBS=${JOBS:-2}
work=$BUILD/simulated
mode=${1:-quick}

command -v smpicc >/dev/null && command -v smpirun >/dev/null ||
    { echo 'simulate: skipped, no smpicc and smpirun (libsimgrid-dev)'; exit 0; }
mkdir -p "$work"
for program in simulate best_grid replicas; do
    smpicc -std=c99 -D_POSIX_C_SOURCE=200112L -O2 -I"$here/.." -o "$work/$program" "$here/$program.c" || exit 1
done

# A platform: the bytes a second and the latency of a node's link, the processor's time for a message, and how the links
# are connected. Latencies: a route has two links.
parameters() { # platform
    case $1 in
        fast) echo '12.5e9 1e-6 0.3e-6' ;;
        ipsc) echo '2.8e6 5e-6 136e-6' ;;
        *) echo '1.25e9 5e-6 1e-6' ;;
    esac
}

joined() { # platform nodes bandwidth
    awk -v platform="$1" -v n="$2" -v bw="$3" 'BEGIN {
        if (platform == "crowded") printf "bb_bw=\"%gBps\" bb_lat=\"1us\"", n * bw / 4
        for (a = 1; a * a * 2 <= n; a *= 2) continue
        b = n / a
        if (platform == "fat-tree") printf "topology=\"FAT_TREE\" topo_parameters=\"2;%d,%d;1,%d;1,1\"", b, a, b / 2 < 1 ? 1 : b / 2
        for (x = 1; x * x * x * 2 <= n; x *= 2) continue
        for (y = x; x * y * y * 2 <= n; y *= 2) continue
        if (platform == "torus") printf "topology=\"TORUS\" topo_parameters=\"%d,%d,%d\"", n / x / y, y, x }'
}

platform() { # platform nodes
    set -- "$1" "$2" $(parameters "$1")
    cat <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-$(($2 - 1))" speed="10Gf" core="8" bw="${3}Bps" lat="${4}s"
           loopback_bw="8GBps" loopback_lat="0.3us" $(joined "$1" "$2" "$3")/>
</platform>
END
}

# Computation takes no simulated time, and waiting no more than until completion. A link moves 0.97 of its bytes.
# MPI_Allgather takes log2(ranks) steps, as in MPI libraries for short messages: SMPI's default sends a message to each rank,
# which costs 40 s of real time on 128 ranks, and 16 times as much on twice as many.
run() { # platform ranks ranks_of_a_node methods <cases; methods `grids`: the program best_grid, `replicas`; and no cases
    name=$1-$2-$3-$4 receive=0
    nodes=$(($2 / $3))
    read -r bandwidth _ message <<END
$(parameters "$1")
END
    platform "$1" "$nodes" >"$work/$name.xml"
    awk -v n="$2" -v each="$3" 'BEGIN { for (k = 0; k < n; k++) print "node-" int(k / each) }' >"$work/$name.hosts"
    ranks=$2
    if [ "$4" = grids ]; then
        set -- best_grid "$1" "$3" $SEQUENCES
    elif [ "$4" = replicas ]; then
        set -- replicas --node-ranks "$3" --samples 3 --seconds 0.001 --most "${MOST:-64000}"
        receive=$message
    else
        set -- simulate "$1" "$(awk -v b="$bandwidth" 'BEGIN { print 0.97 * b }')" "$3" "$4" 1
    fi
    program=$1
    shift
    alltoallv=default
    [ "$ranks" -le 512 ] || alltoallv=ring # SMPI's default crashes on 1280
    timeout -k 5 "${LIMIT:-3000}" smpirun -np "$ranks" -platform "$work/$name.xml" -hostfile "$work/$name.hosts" \
        --log=root.thres:critical --cfg=smpi/simulate-computation:no --cfg=smpi/test:0 --cfg=smpi/iprobe:0 --cfg=smpi/wtime:0 \
        --cfg=smpi/grow-injected-times:no --cfg=smpi/allgather:bruck --cfg=smpi/alltoallv:$alltoallv --cfg=smpi/lat-factor:0:1 --cfg=smpi/bw-factor:0:0.97 \
        --cfg="smpi/os:0:$message:0" --cfg="smpi/ois:0:$message:0" --cfg="smpi/or:0:$receive:0" "$work/$program" "$@" 2>>"$work/log" ||
        echo "simulate: $name failed" >&2
}

# ---- the cases: rows to columns, BLOCK to CYCLIC, 2-D blocks between grids, 3-D pencils ----

cases() { # ranks bytes_of_a_message...
    ranks=$1
    shift
    for bytes in "$@"; do echo "$bytes"; done | awk -v p="$ranks" '
        function line(name, from, to) { printf "%s\t%d\t8\t%s\t%s\t-\n", name, $1, from, to }
        {
            for (r = 1; r * r * 2 <= p; r *= 2) continue
            c = p / r
            if (c == r) { r /= 2; c *= 2 }
            n = $1 / 8
            for (a = 1; a * a * 2 <= n; a *= 2) continue
            b = n / a
            line("rows to columns", p * a "x" p * b ": block@" p ", *", p * a "x" p * b ": *, block@" p)
            line("BLOCK to CYCLIC", p * p * n ": block@" p, p * p * n ": cyclic(1)@" p)
            line("grid to grid", c * a "x" c * b ": block@" r ", block@" c, c * a "x" c * b ": block@" c ", block@" r)
            line("pencils", c * a "x" c * b "x" r ": *, block@" c ", block@" r, c * a "x" c * b "x" r ": block@" c ", *, block@" r)
        }'
}

# ---- the papers ----

walker_otto() { # ranks factor: CYCLIC(r) to CYCLIC(factor r)
    for r in 1 16 256 4096; do
        printf 'CYCLIC(r) to CYCLIC(%d r)\t%d\t8\t%d: cyclic(%d)@%d\t%d: cyclic(%d)@%d\t-\n' "$2" $((8 * r)) \
            $((4 * $1 * $2 * r)) "$r" "$1" $((4 * $1 * $2 * r)) $(($2 * r)) "$1"
    done
}

kaushik() { # ranks last between: CYCLIC(256) to CYCLIC(last), directly and through CYCLIC(between), 4-byte elements
    for n in 1 2 4 8 16; do
        elements=$((n * 256 * $1))
        for pair in "256 $2" "256 $3" "$3 $2"; do
            set -- "$1" "$2" "$3" $pair
            printf 'CYCLIC(%d) to CYCLIC(%d)\t%d\t4\t%d: cyclic(%d)@%d\t%d: cyclic(%d)@%d\t-\n' "$4" "$5" $elements $elements "$4" \
                "$1" $elements "$5" "$1"
        done
    done
}

both_numberings() { # name label element from to
    printf '%s\t%s\t%s\t%s\t%s\t-\n%s relabelled\t%s\t%s\t%s\t%s\trelabelled\n' "$@" "$@"
}

kalns() { # rows columns: of the grid; a matrix of 960 x 960
    p=$(($1 * $2))
    both_numberings 'B B to C C' 0 4 "960x960: block@$1, block@$2" "960x960: cyclic(1)@$1, cyclic(1)@$2"
    both_numberings 'B C to C B' 0 4 "960x960: block@$1, cyclic(1)@$2" "960x960: cyclic(1)@$1, block@$2"
    both_numberings 'B * to C *' 0 4 "960x960: block@$p, *" "960x960: cyclic(1)@$p, *"
    both_numberings '* C to * B' 0 4 "960x960: *, cyclic(1)@$p" "960x960: *, block@$p"
}

hsu() {
    for n in 200 20000 2000000; do
        both_numberings 'CYCLIC(4) to CYCLIC(2)' $n 4 "$n: cyclic(4)@50" "$n: cyclic(2)@50"
    done
}

namugwanya() { # a matrix of 5000 x 5000
    for from in 16 8 4 2 1; do
        for to in 16 8 4 2 1; do
            [ $from = $to ] || printf '%dx%d to %dx%d\t0\t8\t%s\t%s\t-\n' $from $((16 / from)) $to $((16 / to)) \
                "5000x5000: block@$from, block@$((16 / from))" "5000x5000: block@$to, block@$((16 / to))"
        done
    done
}

# ---- runs ----

queue() { # platform ranks ranks_of_a_node methods, cases on the standard input
    part=$work/part-$(ls "$work" | grep -c 'run$' | awk '{ printf "%03d", $1 }')
    cat >"$part.cases"
    echo "$@" >"$part.run"
}

run_all() {
    started=0
    for part in "$work"/part-*.run; do
        part=${part%.run}
        run $(cat "$part.run") <"$part.cases" >"$part.csv" &
        started=$((started + 1))
        [ $((started % JOBS)) -ne 0 ] || wait
    done
    wait
}

# A line for each case: microseconds by method.
table() {
    awk -F, 'NR > 1 {
        row = sprintf("%-9s %3d %3d  %-34s %8s", $1, $2, $3, $4, $5)
        if (!(row in seen)) { seen[row] = ++rows; name[rows] = row; wire[rows] = $8 }
        if (!($6 in column)) { column[$6] = ++columns; title[columns] = $6 }
        at[seen[row], column[$6]] = sprintf("%.1f", $7 * 1e6) }
        END {
            printf "%-9s %3s %3s  %-34s %8s %10s", "platform", "a n", "p", "case", "bytes", "wire, us"
            for (c = 1; c <= columns; c++) printf " %15s", title[c]
            print ""
            for (r = 1; r <= rows; r++) {
                printf "%s %10.1f", name[r], wire[r] * 1e6
                for (c = 1; c <= columns; c++) printf " %15s", at[r, c]
                print ""
            } }' "$1"
}

# A line for each sequence: the fastest grid, the one found, and how much slower that and the most square one are. Then
# the worst of each platform.
table_of_grids() {
    awk -F, '
        function times_slower(seconds, least) { return seconds > 1e-7 ? seconds / (least > 1e-7 ? least : seconds) : 1 }
        function note(network, kind, ratio) {
            above[network, kind] += ratio > 1.05
            if (ratio > worst[network, kind]) worst[network, kind] = ratio
        }
        NR > 1 {
            row = sprintf("%-9s %3d %3d  %-10s %6d", $1, $2, $3, $4, $5)
            if (!(row in best)) { name[++rows] = row; best[row] = $7; grid[row] = $6; side[row] = $3 + 1 }
            if ($7 < best[row]) { best[row] = $7; grid[row] = $6 }
            split($6, factor, "x")
            larger = factor[1] > factor[2] ? factor[1] : factor[2]
            if (larger < side[row]) { side[row] = larger; square[row] = $7 }
            if ($9) { found[row] = $6; time[row] = $7; predicted[row] = $8 }
        }
        END {
            printf "%-9s %3s %3s  %-10s %6s %8s %10s %8s %10s %10s %6s %6s\n", "platform", "a n", "p", "sequence", "n",
                "fastest", "us", "found", "predicted", "us", "ratio", "square"
            for (r = 1; r <= rows; r++) {
                row = name[r]
                ratio = times_slower(time[row], best[row])
                other = times_slower(square[row], best[row])
                printf "%s %8s %10.1f %8s %10.1f %10.1f %6.2f %6.2f\n", row, grid[row], best[row] * 1e6, found[row],
                    predicted[row] * 1e6, time[row] * 1e6, ratio, other
                network = substr(row, 1, 13)
                if (best[row] <= 1e-7) continue # nothing moves
                if (!all[network]++) networks[++count] = network
                note(network, "found", ratio)
                note(network, "square", other)
            }
            for (k = 1; k <= count; k++) {
                n = networks[k]
                printf "%s: found: at worst %.2f, above 1.05 in %d of %d; square: %.2f, %d\n", n, worst[n, "found"],
                    above[n, "found"], all[n], worst[n, "square"], above[n, "square"]
            }
        }' "$1"
}

rm -f "$work"/part-* "$work/log"
csv=$BUILD/simulate.csv
all=${METHODS:-aAvpsmV}
estimated=$(echo "$all" | tr -d A) # where measuring takes long
case $mode in
    --papers)
        csv=$BUILD/simulate-papers.csv
        kaushik 16 16 64 | queue ipsc 16 1 po
        kaushik 32 8 32 | queue ipsc 32 1 po
        for kind in full torus crowded; do
            { walker_otto 16 12; walker_otto 16 3; } | queue $kind 16 1 ps
        done
        { kalns 4 4; namugwanya; } | queue full 16 1 p
        kalns 8 4 | queue full 32 1 p
        hsu | queue full 50 1 p
        kalns 8 8 | queue full 64 1 p ;;
    --rows)
        for kind in ${PLATFORMS:-full fast crowded fat-tree torus}; do
            for each in ${EACH:-1 4}; do
                for ranks in ${RANKS:-16 64}; do
                    cases $ranks ${SIZES:-8 64 512 4096} | grep "${CASES:-.}" | queue "$kind" $ranks $each "$all"
                done
            done
        done ;;
    --grids)
        csv=$BUILD/simulate-grids.csv
        SEQUENCES=${SEQUENCES:-pencils 16 pencils 32 pencils 64 pencils 128 bricks 16 bricks 32 bricks 64 matrix 256 matrix 1024}
        for kind in ${PLATFORMS:-full fast crowded}; do
            for each in ${EACH:-1 4}; do
                for ranks in ${RANKS:-12 16 24 32 48 64}; do queue "$kind" $ranks $each grids </dev/null; done
            done
        done ;;
    --replicas)
        for kind in ${PLATFORMS:-full}; do
            for each in ${EACH:-1 4}; do
                for ranks in ${RANKS:-16 64}; do queue "$kind" $ranks $each replicas </dev/null; done
            done
        done ;;
    --full)
        for kind in full fast crowded fat-tree torus; do
            for each in 1 4; do
                cases 16 8 64 512 4096 32768 262144 1048576 | queue "$kind" 16 $each "${METHODS:-aAvwpsmVW}"
                for ranks in 32 64; do cases $ranks 8 64 512 4096 | queue "$kind" $ranks $each "$estimated"; done
                cases 64 32768 | queue "$kind" 64 $each apV
                cases 128 64 512 | queue "$kind" 128 $each "$estimated"
            done
        done
        cases 64 262144 1048576 | grep rows | queue full 64 1 apV ;;
    *)
        for kind in full fast crowded fat-tree torus; do
            cases 16 8 512 8192 131072 | queue "$kind" 16 1 $all
            cases 64 8 64 512 4096 | grep rows | queue "$kind" 64 1 "$estimated"
        done
        cases 64 8 64 512 4096 | grep rows | queue full 64 4 "$estimated" ;;
esac
run_all
if [ "$mode" = --replicas ]; then
    for part in "$work"/part-*.run; do
        read -r kind ranks each _ <"$part"
        echo "$kind, $((ranks / each)) nodes of $each:"
        cat "${part%.run}.csv"
    done
    exit
fi
columns=platform,ranks_of_a_node,ranks,case,message_bytes,method,seconds,wire,model,remark
[ "$mode" != --grids ] || columns=platform,ranks_of_a_node,ranks,sequence,n,grid,seconds,predicted,found
{
    echo $columns
    cat "$work"/part-*.csv
} >"$csv"
if [ "$mode" = --grids ]; then
    table_of_grids "$csv"
    exit
fi
cat "$work/log"
table "$csv"
[ "$mode" = --papers ] || ! command -v gnuplot >/dev/null ||
    gnuplot -e "csv='$csv'; output='$BUILD/simulate.svg'" "$here/simulate.gp"
