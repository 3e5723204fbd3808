# Draws cluster.sh's table (`csv`) into `output`: times over the wire time, by bytes of a rank. MIT licence, see LICENSE.
set encoding utf8
set datafile separator ","
set terminal svg size 1500,900 font "sans-serif,14" background "white"
set output output
set border 3 linecolor rgb "#666666"
set tics nomirror
set grid ytics linecolor rgb "#dddddd" linewidth 1
set logscale x
set yrange [0:5]
set xlabel "bytes of a rank"
set ylabel "wire times"
set xtics ("64 kB" 65536, "256 kB" 262144, "1 MB" 1048576, "4 MB" 4194304)
set key top right Right
methods = "alltoallv point_to_point scheduled shared auto pairwise MPI_Alltoallv"
colours = "#56b4e9 #0072b2 #009e73 #cc79a7 #000000 #999999 #e69f00"
shown(k) = system("echo ".word(methods, k)." | sed 's/point_to_point/point to point/'")
pick(label, each, ranks, method) = sprintf("< awk -F, '$1 == \"%s\" && $2 == %d && $3 == %d && $6 == \"%s\"' %s", label, each, ranks, method, csv)
set multiplot layout 2,3 title "Rows to columns on emulated nodes"
do for [spec in "mpich/100mbit/2/4 mpich/100mbit/1/4 mpich/100mbit/2/8 openmpi/100mbit/2/4 openmpi/100mbit/1/4 mpich/1gbit/1/4"] {
    s = system("echo ".spec." | tr '/' ' '")
    label = word(s, 1)." ".word(s, 2)
    each = int(word(s, 3))
    ranks = int(word(s, 4))
    set title sprintf("%s, %d nodes of %d", label, ranks / each, each)
    plot for [k = 1:7] pick(label, each, ranks, shown(k)) using 5:($7 / $8) with linespoints linewidth 2 pointtype 7 pointsize 0.5 \
        linecolor rgb word(colours, k) title shown(k)
}
unset multiplot
