# Draws sizes.dat, cases.dat and scale.dat of `directory` (see plots.sh). MIT licence, see LICENSE.
set encoding utf8
label(name) = name eq "auto" ? "redist, arrays from malloc" : name eq "shared, arena" ? "redist, arrays in an arena" : \
    name eq "point_to_point" ? "redist, point to point" : name eq "alltoallv" ? "redist, Alltoallv" : \
    name eq "alltoallw" ? "redist, Alltoallw" : name
set linetype 1 linewidth 2 linecolor rgb "#000000"
set linetype 2 linewidth 2.5 linecolor rgb "#0072b2"
set linetype 3 linewidth 2.5 linecolor rgb "#009e73"
set linetype 4 linewidth 1.5 linecolor rgb "#56b4e9"
set linetype 5 linewidth 1.5 linecolor rgb "#8a7fd0"
set linetype 6 linewidth 1.5 linecolor rgb "#b0b0b0"
set linetype 7 linewidth 2 linecolor rgb "#e69f00"
set linetype 8 linewidth 2 linecolor rgb "#cc79a7"
set linetype 9 linewidth 2 linecolor rgb "#d55e00"
set grid ytics linecolor rgb "#dddddd" linewidth 1
set border 3 linecolor rgb "#666666"
set tics nomirror

set terminal svg size 1050,600 font "sans-serif,15" background "white"
set output directory."/sizes.svg"
set title "Rows to columns, n x n doubles, 2 ranks"
set logscale xy
set xlabel "array on each rank"
set ylabel "time of one exchange"
set xtics ("16 kB" 16384, "64 kB" 65536, "256 kB" 262144, "1 MB" 1048576, "4 MB" 4194304, "16 MB" 16777216, \
    "64 MB" 67108864)
set ytics ("100 ns" 1e-7, "1 µs" 1e-6, "10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 1e-1, "1 s" 1)
set key outside right center Left reverse
plot [14000:8e7] for [k = 2:10] directory."/sizes.dat" using (column(1)):(column(k)) with linespoints linetype k - 1 \
    pointtype (k == 2 ? 0 : 7) pointsize 0.5 title label(columnhead(k))

set terminal svg size 1500,700 font "sans-serif,15" background "white"
set output directory."/cases.svg"
set title "Time of one exchange over that of a memcpy of what a rank holds, 2 ranks"
unset logscale x
set logscale y
set format y "%g"
unset xlabel
set ylabel "times memcpy"
unset xtics
set xtics rotate by -35 scale 0
set ytics autofreq
set rmargin 14
set key inside top left horizontal Left reverse width 2
set style data histograms
set style histogram clustered gap 1.5
set style fill solid
set boxwidth 0.95
set xrange [-0.7:*]
set yrange [0.4:3000]
plot directory."/cases.dat" using 2:xtic(1) linetype 2 title label(columnhead(2)), \
    '' using 3 linetype 3 title label(columnhead(3)), '' using 4 linetype 7 title label(columnhead(4)), \
    '' using 5 linetype 8 title label(columnhead(5)), '' using 6 linetype 9 title label(columnhead(6)), \
    1 with lines linetype 1 title "memcpy"

# Columns: case, places, peers, runs, find (s, bytes), steps, arrange (s, bytes), walk, traffic, direct, scheduled,
# multiphase
reset
set encoding utf8
set terminal svg size 1500,560 font "sans-serif,15" background "white"
set output directory."/scale.svg"
colour = "#0072b2 #009e73 #d55e00 #cc79a7"
scale = directory."/scale.dat"
case(k) = word(colour, k + 1)
set grid ytics linecolor rgb "#dddddd" linewidth 1
set border 3 linecolor rgb "#666666"
set tics nomirror
set logscale xy
set xrange [700:1.4e6]
set xtics ("10³" 1e3, "10⁴" 1e4, "10⁵" 1e5, "10⁶" 1e6)
set key below Left reverse
set multiplot layout 1,3 title "10¹² doubles, by the number of places"
set title "one rank finds its peers and runs: time"
set ytics ("1 µs" 1e-6, "10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 1e-1, "1 s" 1)
plot for [k = 0:3] scale index k using 2:5 with linespoints linewidth 2.5 pointtype 7 pointsize 0.5 \
    linecolor rgb case(k) title columnheader(1)
set title "and memory"
set ytics ("1 kB" 1e3, "10 kB" 1e4, "100 kB" 1e5, "1 MB" 1e6, "10 MB" 1e7, "100 MB" 1e8)
plot for [k = 0:3] scale index k using 2:6 with linespoints linewidth 2.5 pointtype 7 pointsize 0.5 \
    linecolor rgb case(k) title columnheader(1)
set title "an exchange, predicted (thin: in phases)"
set ytics ("1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 1e-1, "1 s" 1)
plot for [k = 0:3] scale index k using 2:12 with linespoints linewidth 2.5 pointtype 7 pointsize 0.5 \
    linecolor rgb case(k) title columnheader(1), \
    for [k = 0:3] scale index k using 2:14 with lines linewidth 1 linecolor rgb case(k) notitle
unset multiplot
