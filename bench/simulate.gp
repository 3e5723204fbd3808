# Draws the table of simulate.sh (`csv`) into `output`: times over the wire's, rows to columns. MIT licence, see LICENSE.
set encoding utf8
set datafile separator ","
set terminal svg size 1500,900 font "sans-serif,14" background "white"
set output output
set border 3 linecolor rgb "#666666"
set tics nomirror
set grid ytics linecolor rgb "#dddddd" linewidth 1
set logscale xy
set xlabel "bytes of a message"
set ylabel "microseconds"
set xtics ("8 B" 8, "512 B" 512, "8 kB" 8192, "128 kB" 131072, "1 MB" 1048576)
set key top left Left reverse
methods = "alltoallv point_to_point scheduled multiphase auto MPI_Alltoallv"
colours = "#56b4e9 #0072b2 #009e73 #cc79a7 #000000 #e69f00"
shown(k) = system("echo ".word(methods, k)." | sed 's/point_to_point/point to point/'")
pick(platform, each, ranks, method) = sprintf("< awk -F, '$1 == \"%s\" && $2 == %d && $3 == %d && $4 == \"rows to columns\" && $6 == \"%s\"' %s", platform, each, ranks, method, csv)
panel(platform, each, ranks) = sprintf("%s: %d ranks, %d a node", platform, ranks, each)
set multiplot layout 2,3 title "Rows to columns on simulated clusters"
do for [spec in "full/1/16 full/1/64 full/4/64 fast/1/16 crowded/1/16 torus/1/16"] {
    s = system("echo ".spec." | tr '/' ' '")
    set title panel(word(s, 1), int(word(s, 2)), int(word(s, 3)))
    plot for [k = 1:6] pick(word(s, 1), int(word(s, 2)), int(word(s, 3)), shown(k)) using 5:($7 * 1e6) with linespoints \
        linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb word(colours, k) title shown(k), \
        pick(word(s, 1), int(word(s, 2)), int(word(s, 3)), "auto") using 5:($8 * 1e6) with lines dashtype 2 linecolor rgb "#888888" title "wire"
}
unset multiplot
