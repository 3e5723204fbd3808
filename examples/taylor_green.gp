# Draws what taylor_green wrote with --csv FILE as FILE.svg: gnuplot -e "csv='FILE'" examples/taylor_green.gp.
# MIT licence, see LICENSE.
set encoding utf8
set terminal svg size 900,520 font "sans-serif,15" background "white"
set output csv.".svg"
set datafile separator ","
set title "Taylor-Green vortex: what the energy loses"
set xlabel "time"
set ylabel "energy per time and volume"
set yrange [0:*]
set grid ytics linecolor rgb "#dddddd" linewidth 1
set border 3 linecolor rgb "#666666"
set tics nomirror
set key below
stats csv using 1 skip 1 nooutput
set xrange [STATS_min:STATS_max]
plot csv skip 1 using 1:4 with lines linewidth 2.5 linecolor rgb "#0072b2" title "-dE/dt, of the right-hand side", \
    csv skip 1 every (STATS_records / 40 + 1) using 1:5 with points pointtype 7 pointsize 0.6 linecolor rgb "#d55e00" \
    title "2νZ, of the vorticity"
