# Draws field.dat (see field.sh) as a picture. MIT licence, see LICENSE.
set encoding utf8
set terminal svg size 1500,440 font "sans-serif,14" background "white"
set output picture
set datafile separator "|"
set border 1 linecolor rgb "#666666"
set tics nomirror
set logscale y
unset ytics
set grid noxtics noytics
set xtics scale 0
set style data histograms
set style histogram clustered gap 1.2
set style fill solid
set boxwidth 0.92
set xrange [-0.6:*]
set yrange [0.35:top]
set lmargin 2
set bmargin 4.5
set rmargin 1
set key outside top center horizontal Left reverse width 1 samplen 1.5 noenhanced
set title "Whole cycles as multiples of redist's, 2 ranks (less is better; logarithmic). \
Grey is the floor: a memcpy in place of the exchange. What was made for the job stands below its name."
colour = "#aaaaaa #009e73 #0072b2 #e69f00 #cc79a7 #d55e00"
label = '"memcpy" "redist, arrays in an arena" "redist, arrays from malloc" "MPI_Alltoallw by hand" ' . \
    '"pack, MPI_Alltoallv by hand" "made for the job"'
place(k) = (k - 3.5) / 7.2
number(x) = x >= 9.95 ? sprintf("%.0f", x) : sprintf("%.1f", x)
plot for [k = 1:6] data using (column(k + 2)):xtic(1) linecolor rgb word(colour, k) title word(label, k), \
    for [k = 1:6] data using ($0 + place(k)):(column(k + 2)):(number(column(k + 2))) \
        with labels offset 0,0.6 font "sans-serif,11" notitle
