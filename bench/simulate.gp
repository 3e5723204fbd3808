# Draws the table of simulate.sh (`csv`) into `output`: times over MPI_Alltoallv's, rows to columns. MIT licence, see LICENSE.
set encoding utf8
set terminal svg noenhanced size 1200,760 font "sans-serif,13" background "white"
set output output
set border 3 linecolor rgb "#666666"
set tics nomirror
set grid ytics linecolor rgb "#dddddd" linewidth 1
set logscale x
set xlabel "bytes of a message"
set xtics ("8" 8, "64" 64, "512" 512, "4k" 4096, "32k" 32768, "256k" 262144)
set yrange [0:1.8]
set key bottom right Left reverse
methods = "point_to_point scheduled multiphase auto MPI_Alltoallv"
colours = "#0072b2 #009e73 #cc79a7 #000000 #e69f00"
shown(k) = word(methods, k) eq "point_to_point" ? "point to point" : word(methods, k)
here(platform, each, ranks) = sprintf("$1 == \"%s\" && $2 == %d && $3 == %d && $4 == \"rows to columns\"", platform, each, ranks)
pick(rows, method) = sprintf("< awk -F, '%s { if (NR != FNR && $6 == \"%s\") print $5, $7 / base[$5]; if ($6 == \"MPI_Alltoallv\") base[$5] = $7 }' %s %s", rows, method, csv, csv)
panel(platform, each, ranks) = sprintf("%s: %d ranks, %d a node", platform, ranks, each)
set multiplot layout 2,3 title "Rows to columns on simulated clusters: time over that of MPI_Alltoallv by hand"
do for [spec in "full/1/16 full/1/64 full/4/64 fast/1/64 crowded/1/64 torus/1/64"] {
    s = system("echo ".spec." | tr '/' ' '")
    set title panel(word(s, 1), int(word(s, 2)), int(word(s, 3)))
    plot for [k = 1:5] pick(here(word(s, 1), int(word(s, 2)), int(word(s, 3))), shown(k)) using 1:2 with linespoints \
        linewidth (word(methods, k) eq "auto" ? 1 : 2) pointtype 7 pointsize 0.5 linecolor rgb word(colours, k) title shown(k)
    unset key
}
unset multiplot
