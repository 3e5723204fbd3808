#!/bin/sh
# Every method on emulated nodes: network namespaces on this machine, linked at a given rate both ways. MIT licence, see LICENSE.
# usage: [BUILD=directory] [MPIS='mpich openmpi'] [RATES='100mbit 1gbit'] [SHAPES='2x1 2x2 4x1 4x2 8x1'] [SIZES='65536 262144 1048576 4194304']
#            [METHODS=avwpsShV] [EXECUTIONS=6] sh bench/cluster.sh        writes BUILD/cluster.csv and BUILD/cluster.svg, and prints a table
#        sh bench/cluster.sh --run MPI NODESxRANKS_OF_A_NODE RATE PROGRAM [ARGUMENT...]
# Needs root and iproute2. Columns of the table: bytes of a rank, the time that the links need for the elements alone, and the methods'
# times over it; TCP and IP headers make it 1.05. Everything happens in separate namespaces, which are removed at the end.
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-build}
work=$BUILD/cluster.$$
name=redist$$

missing() { # prints what is missing, or nothing
    [ "$(uname)" = Linux ] || { echo 'no Linux'; return; }
    [ "$(id -u)" -eq 0 ] || { echo 'only root may make network namespaces'; return; }
    for program in ip tc unshare mount; do
        command -v $program >/dev/null || { echo "no $program (iproute2, util-linux)"; return; }
    done
    ip netns add "$name" 2>/dev/null || { echo 'network namespaces are not permitted here'; return; }
    ip -n "$name" link add veth0 type veth peer name veth1 2>/dev/null &&
        ip netns exec "$name" unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null &&
        ip netns exec "$name" tc qdisc add dev veth0 root tbf rate 1gbit burst 64kb latency 20ms 2>/dev/null ||
        echo 'no veth, tbf or mount namespaces here'
    ip netns del "$name"
}

# Creates the nodes' namespaces NAME-0, NAME-1, ... and NAME, which has the bridge between them, and starts programs.
up() { # nodes rate
    ip netns add "$name"
    ip -n "$name" link add br0 type bridge
    ip -n "$name" addr add 10.77.0.1/24 dev br0
    ip -n "$name" link set br0 up
    ip -n "$name" link set lo up
    k=0
    while [ $k -lt "$1" ]; do
        ip netns add "$name-$k"
        ip -n "$name" link add "port$k" type veth peer name eth0 netns "$name-$k"
        ip -n "$name" link set "port$k" master br0 up
        ip -n "$name-$k" addr add "10.77.0.$((10 + k))/24" dev eth0
        ip -n "$name-$k" link set eth0 up
        ip -n "$name-$k" link set lo up
        ip netns exec "$name" tc qdisc add dev "port$k" root tbf rate "$2" burst 16kb latency 20ms
        ip netns exec "$name-$k" tc qdisc add dev eth0 root tbf rate "$2" burst 16kb latency 20ms
        k=$((k + 1))
    done
}

down() {
    for space in $(ip netns list | awk -v n="$name" '$1 == n || index($1, n "-") == 1 { print $1 }'); do
        ip netns pids "$space" | xargs -r kill -9 2>/dev/null
        ip netns del "$space"
    done
}

# Writes the script that mpiexec calls instead of ssh. Besides its network, a node has its own host name, System V IPC,
# /dev/shm and, if no programs lie there, temporary directory.
write_enter() {
    for k in 0 1 2 3 4 5 6 7; do echo "10.77.0.$((10 + k)) node$k"; done >"$work/hosts"
    temporary='mount -t tmpfs tmpfs /tmp;'
    case $work in /tmp/*) temporary= ;; esac
    cat >"$work/enter" <<END
#!/bin/sh
while case \$1 in -*) true ;; *) false ;; esac; do shift; done
k=\${1#node}
shift
exec ip netns exec $name-\$k unshare -m -u -i sh -c "hostname node\$k; mount -t tmpfs tmpfs /dev/shm; $temporary mount --bind $work/hosts /etc/hosts; \$*"
END
    chmod +x "$work/enter"
}

# Runs a program on the nodes; standard input goes to rank 0.
launch() { # mpi nodes ranks_of_a_node program arguments...
    mpi=$1 nodes=$2 each=$3
    shift 3
    hosts=$(seq 0 $((nodes - 1)) | sed "s/.*/node&:$each/" | paste -sd,)
    set -- -n $((nodes * each)) "$@"
    if [ "$mpi" = openmpi ]; then
        set -- mpiexec.openmpi --allow-run-as-root --oversubscribe --mca plm_rsh_agent "$work/enter" --mca plm_rsh_no_tree_spawn 1 \
            --mca oob_tcp_if_include 10.77.0.0/24 --mca pml ob1 --mca btl tcp,self,vader --mca btl_tcp_if_include 10.77.0.0/24 -H "$hosts" "$@"
    else
        set -- env UCX_TLS=tcp,self,posix UCX_NET_DEVICES=eth0 mpiexec.mpich -launcher rsh -launcher-exec "$work/enter" \
            -localhost 10.77.0.1 -hosts "$hosts" "$@"
    fi
    timeout -k 5 "${LIMIT:-120}" ip netns exec "$name" unshare -m sh -c 'mount --bind "$0" /etc/hosts; exec "$@"' "$work/hosts" "$@"
}

begin() { # nodes rate
    down
    up "$1" "$2" || { echo 'cluster: no nodes' >&2; exit 1; }
}

# Rows to columns, in doubles.
cases() { # ranks
    for bytes in $SIZES; do echo "$bytes"; done | awk -v p="$1" '{
        n = $1 / p / 8
        for (a = 1; a * a * 2 <= n; a *= 2) continue
        printf "rows to columns\t%d\t8\t%dx%d: block@%d, *\t%dx%d: *, block@%d\t-\n", $1, p * a, p * n / a, p, p * a, p * n / a, p }'
}

# A line for each case: times over the wire time, by method.
table() {
    awk -F, 'NR > 1 {
        row = sprintf("%-8s %-8s %3s %8d %9.2f", substr($1, 1, index($1, " ") - 1), substr($1, index($1, " ") + 1), $3 / $2 "x" $2, $5, $8 * 1e3)
        if (!(row in seen)) { seen[row] = ++rows; name[rows] = row }
        if (!($6 in column)) { column[$6] = ++columns; title[columns] = $6 }
        at[seen[row], column[$6]] = sprintf("%.2f", $7 / $8) ($6 == "auto" ? " " $10 : "") }
        END {
            printf "%-8s %-8s %3s %8s %9s", "MPI", "rate", "", "bytes", "wire, ms"
            for (c = 1; c <= columns; c++) printf " %14s", title[c]
            print ""
            for (r = 1; r <= rows; r++) {
                printf "%s", name[r]
                for (c = 1; c <= columns; c++) printf " %14s", at[r, c]
                print ""
            } }' "$1"
}

why=$(missing)
if [ -n "$why" ]; then
    echo "cluster: skipped, $why"
    exit 77
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)
trap 'down; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
write_enter
if [ "$1" = --run ]; then
    mpi=$2 shape=$3 rate=$4
    shift 4
    begin "${shape%x*}" "$rate"
    launch "$mpi" "${shape%x*}" "${shape#*x}" "$@"
    exit
fi
METHODS=${METHODS:-avwpsShV}
SIZES=${SIZES:-65536 262144 1048576 4194304}
csv=$BUILD/cluster.csv
echo 'mpi rate,ranks_of_a_node,ranks,case,bytes,method,seconds,wire,model,remark' >"$csv"
for mpi in ${MPIS:-mpich openmpi}; do
    command -v mpiexec.$mpi >/dev/null && command -v mpicc.$mpi >/dev/null || { echo "cluster: no mpicc.$mpi" >&2; continue; }
    mpicc.$mpi -std=c99 -D_POSIX_C_SOURCE=200112L -O2 -I"$here/.." -o "$work/$mpi" "$here/simulate.c" || exit 1
    for rate in ${RATES:-100mbit 1gbit}; do
        bandwidth=$(echo "$rate" | sed 's/gbit/ 125e6/; s/mbit/ 125e3/' | awk '{ print $1 * $2 }')
        for shape in ${SHAPES:-2x1 2x2 4x1 4x2 8x1}; do
            nodes=${shape%x*} each=${shape#*x}
            begin "$nodes" "$rate"
            cases $((nodes * each)) | launch "$mpi" "$nodes" "$each" "$work/$mpi" "$mpi $rate" "$bandwidth" "$each" "$METHODS" \
                "${EXECUTIONS:-6}" 2>"$work/log" | grep "^$mpi $rate," >"$work/rows"
            cat "$work/rows" >>"$csv"
            [ "$(wc -l <"$work/rows")" -eq $(($(echo $SIZES | wc -w) * ${#METHODS})) ] ||
                { echo "cluster: $mpi on $shape did not end" >&2; tail -n 5 "$work/log" >&2; }
        done
    done
done
table "$csv"
command -v gnuplot >/dev/null && gnuplot -e "csv='$csv'; output='$BUILD/cluster.svg'" "$here/cluster.gp"
