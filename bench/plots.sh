#!/bin/sh
# Draws the tables of methods and scale as SVG files in BUILD/plots, and measures those that are missing.
# MIT licence, see LICENSE.
# environment: BUILD (where methods and scale are), MPIEXEC
BUILD=${BUILD:-build}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
plots=$BUILD/plots
here=$(dirname "$0")
sizes='64 128 256 512 1024 2048 4096'

command -v gnuplot >/dev/null || { echo "plots: skipped, no gnuplot"; exit 0; }
mkdir -p "$plots"

fresh() { # file, program: is it newer than the program?
    [ -s "$1" ] && [ "$1" -nt "$BUILD/$2" ]
}

measure_sizes() {
    for n in $sizes; do
        $MPIEXEC -n 2 "$BUILD/methods" --n $n --cases '=rows to columns' --csv "$plots/part" >/dev/null || exit 1
        cat "$plots/part"
    done
    rm -f "$plots/part"
}

fresh "$BUILD/sizes.csv" methods || measure_sizes >"$BUILD/sizes.csv"
fresh "$BUILD/methods.csv" methods || $MPIEXEC -n 2 "$BUILD/methods" --csv "$BUILD/methods.csv" >/dev/null || exit 1
fresh "$BUILD/scale.csv" scale || "$BUILD/scale" --csv "$BUILD/scale.csv" >/dev/null || exit 1

# A column of figures for each contestant. Fields between double quotes: case, (ranks and bytes), contestant, (the rest)
pivot() { # key: "bytes" or "case"; figure: its number among the rest; contestant...
    key=$1 figure=$2
    shift 2
    printf '"%s"' "$key"
    printf ' "%s"' "$@"
    echo
    for contestant in "$@"; do printf '%s\n' "$contestant"; done | awk -F'"' -v key="$key" -v figure="$figure" '
        NR == FNR { wanted[++columns] = $0; next }
        NF < 5 { next }
        { split($3, size, ","); split($5, rest, ","); row = key == "bytes" ? size[3] : $2
          if (!(row in known)) { known[row] = 1; rows[++count] = row }
          value[row, $4] = rest[figure] }
        END {
            for (k = 1; k <= count; k++) {
                printf key == "bytes" ? "%s" : "\"%s\"", rows[k]
                for (c = 1; c <= columns; c++)
                    printf " %s", (rows[k], wanted[c]) in value ? value[rows[k], wanted[c]] : "NaN"
                printf "\n"
            }
        }' - "$source"
}

source=$BUILD/sizes.csv
pivot bytes 3 memcpy auto 'shared, arena' point_to_point alltoallv alltoallw 'Alltoallw by hand' 'pack, Alltoallv' \
    'p?gemr2d' >"$plots/sizes.dat"
source=$BUILD/methods.csv
pivot case 5 auto 'shared, arena' 'Alltoallw by hand' 'pack, Alltoallv' 'p?gemr2d' >"$plots/cases.dat"
# A block of lines for each case, headed by its name, two blank lines between: what gnuplot calls an index.
awk -F'"' 'NR > 1 {
    if ($2 != last) print (NR > 2 ? "\n\n" : "") "\"" $2 "\""
    last = $2
    gsub(",", " ", $3)
    print "-" $3 }' "$BUILD/scale.csv" >"$plots/scale.dat"
gnuplot -e "directory='$plots'" "$here/plots.gp" && ls "$plots"/*.svg
