# Draws rows of simulate.sh (`csv`) into `output`: one message between two nodes, beside MPI_Alltoallv by hand and what
# the links need. MIT licence, see LICENSE.
set encoding utf8
set terminal svg noenhanced size 1080,360 font "sans-serif,13" background "white"
set output output
set border 3 linecolor rgb "#666666"
set tics nomirror
set grid ytics linecolor rgb "#dddddd" linewidth 1
set logscale xy
set xlabel "bytes from a rank to each other"
set xtics ("8" 8, "64" 64, "512" 512, "4096" 4096)
set yrange [1:30000]
set key top left Left reverse
methods = "MPI_Alltoallv point_to_point nodes auto"
titles = "MPI_Alltoallv messages REDIST_NODES REDIST_AUTO"
colours = "#e69f00 #0072b2 #cc79a7 #000000"
method(k) = word(methods, k) eq "point_to_point" ? "point to point" : word(methods, k)
rows(each, ranks, name, column) = sprintf("< awk -F, '$2 == %d && $3 == %d && $6 == \"%s\" { print $5, 1e6 * $%d }' %s", each, ranks, name, column, csv)
set multiplot layout 1,3 title "Rows to columns on simulated nodes, microseconds"
do for [spec in "4/32 4/64 8/64"] {
    each = int(system("echo ".spec." | cut -d/ -f1"))
    ranks = int(system("echo ".spec." | cut -d/ -f2"))
    set title sprintf("%d nodes of %d ranks", ranks / each, each)
    plot for [k = 1:4] rows(each, ranks, method(k), 7) using 1:2 with linespoints linewidth (k == 4 ? 1 : 2) pointtype 7 \
        pointsize 0.5 linecolor rgb word(colours, k) title word(titles, k), \
        rows(each, ranks, "nodes", 8) using 1:2 with lines dashtype 2 linecolor rgb "#666666" title "the links alone"
    unset key
}
unset multiplot
