#!/bin/sh
# The picture at the top of the README, its numbers as CSV, and the README's table: redist compared with others, case by
# case, on 2 ranks. MIT licence, see LICENSE.
# usage: sh bench/field.sh [DIRECTORY]     (default examples/pictures, and then the README too; 2 minutes)
# environment: BUILD (where cycles and halo are), MPIEXEC; QUICK=1 measures small arrays, to test the script.
here=$(dirname "$0")
. "$here/tables.sh"
pictures=${1:-$here/../examples/pictures}
work=$BUILD/field
n=4096 brick=64 cube=256 seconds=0.3 rounds=100 repetitions=15
[ -z "$QUICK" ] || { n=256 brick=8 cube=32 seconds=0.01 rounds=3 repetitions=3; }
mkdir -p "$work" "$pictures" || exit 1
: >"$work/figures"

fail() {
    echo "field.sh: $1" >&2
    exit 1
}

measure default 2 cycles --sizes 512,$n --seconds $seconds --only 'arena,malloc,hand,pack,p?,subarrays' \
    --cases "=rows to columns|=rows of 32x32 to columns of 48x48|=columns, BLOCK to CYCLIC(1)|=transpose\
|=pencils, x to y, reordered" || fail 'no cycles'
measure default 2 cycles --sizes $((32 * brick)) --seconds $seconds --only 'arena,malloc,subarrays' \
    --cases '=halo exchange, 1 field' || fail 'no halo exchange'
for part in tran parres; do
    measure default 2 halo --only $part --n $n --rounds $rounds || fail "no $part"
done
measure openmpi 2 fft --from $cube --to $cube --repetitions $repetitions || echo 'field.sh: no FFTW-MPI, so no FFT' >&2

# Lines "case",series,seconds. If several contestants make one series, the fastest: redist's FFT in one piece or in
# sections, with unpadded rows as FFTW's, and FFTW-MPI's in place and out of place.
awk -F'"' "$formats$fields"'
    BEGIN {
        series["memcpy"] = "memcpy"
        series["malloc"] = series["redist, malloc"] = "malloc"
        series["arena"] = series["redist, arena"] = series["redist + FFTW"] = series["in sections"] = "arena"
        series["Alltoallw by hand"] = "alltoallw"; series["pack, Alltoallv"] = "packed"
        series["p?gemr2d"] = series["p?tran"] = series["subarrays"] = series["ScaLAPACK pdtran"] = series["ParRes MPI1"] = "other"
        series["FFTW-MPI, in place"] = series["out of place"] = "other" }
    $4 in series {
        k = "\"" $2 (b[6] == 512 ? ", middle" : "") "\"," series[$4]
        if (!(k in least)) keys[++count] = k
        if (!(k in least) || b[3] < least[k]) least[k] = b[3] + 0 }
    END { for (k = 1; k <= count; k++) printf "%s,%.4g\n", keys[k], least[keys[k]] }' "$work/figures" >"$work/field.csv"

# A row for each case, in this order: label, seconds of redist in an arena, and multiples of that for all series.
rows() {
    awk -F'"' -v n="$n" -v brick="$brick" -v cube="$cube" '
        function row(name, label, optional) {
            if (!((name, "arena") in time)) {
                if (!optional) { print name " is missing" >"/dev/stderr"; bad = 1 }
                return
            }
            unit = time[name, "arena"]
            printf "\"%s\"|%.4g", label, unit
            for (k = 1; k <= 6; k++)
                printf "|%s", (name, series[k]) in time ? sprintf("%.3f", time[name, series[k]] / unit) : "NaN"
            print "" }
        { split($3, rest, ","); time[$2, rest[2]] = rest[3] }
        END {
            split("memcpy arena malloc alltoallw packed other", series, " ")
            size = n " x " n
            row("rows to columns", "rows to columns\\n" size "\\np?gemr2d")
            row("rows to columns, middle", "rows to columns\\n512 x 512\\np?gemr2d")
            row("rows of 32x32 to columns of 48x48", "blocks of 32x32\\nto 48x48\\np?gemr2d")
            row("columns, BLOCK to CYCLIC(1)", "columns, BLOCK\\nto CYCLIC(1)\\np?gemr2d")
            row("pencils, x to y, reordered", "pencils, x to y\\ncomplex")
            row("transpose", "transpose\\n" size "\\np?tran")
            row("C := beta C + alpha A^T of " size, "βC + αA^T\\n" size "\\np?tran", 1)
            row("B += A^T, A += 1 of " size, "B += A^T, A += 1\\n" size "\\nParRes")
            row("halo exchange, 1 field", "halo exchange\\n" brick "³ a rank\\nsubarrays")
            row(cube "^3", "complex FFT\\n" cube "³\\nFFTW-MPI", 1)
            exit bad
        }' "$work/field.csv"
}

rows >"$work/field.dat" || fail 'cases are missing'
cp "$work/field.csv" "$pictures/field.csv"

field_table() {
    printf '| case; made for the job | memcpy instead | redist, arena | redist, malloc | MPI_Alltoallw by hand '
    echo '| pack, MPI_Alltoallv by hand | made for the job |'
    echo '|---|---|---|---|---|---|---|'
    awk -F'|' "$formats"'
        { gsub(/"/, "", $1); gsub(/\\nto /, " to ", $1); gsub(/\\n/, ", ", $1)
          printf "| %s", $1
          for (k = 3; k <= 8; k++) printf " | %s", $k == "NaN" ? "-" : time($k * $2)
          print " |" }' "$work/field.dat"
}

field_table | tee "$work/table"
marker='<!-- make field writes what follows -->'
[ -n "$QUICK$1" ] || replace "$here/../README.md" "$marker" "$marker" <"$work/table"
if command -v gnuplot >/dev/null; then
    top=$(awk -F'|' '{ for (k = 3; k <= 8; k++) if ($k != "NaN" && $k > most) most = $k } END { print 2 * most }' \
        "$work/field.dat")
    gnuplot -e "data='$work/field.dat'; picture='$pictures/field.svg'; top=$top" "$here/field.gp" &&
        echo "$pictures/field.svg"
else
    echo 'field.sh: no gnuplot, so no picture'
fi
