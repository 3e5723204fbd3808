#!/bin/sh
# The picture at the top of the README, its numbers as CSV, and the README's table of them: redist beside what else there is, case by
# case, on 2 ranks. MIT licence, see LICENSE.
# usage: sh bench/field.sh [DIRECTORY]     (default examples/pictures, and then the README too; 2 minutes)
# environment: BUILD (where methods and halo are), MPIEXEC; QUICK=1 measures small arrays, to see that it works.
# FFTW-MPI as Debian has it needs Open MPI; so fft is built for that.
BUILD=${BUILD:-build}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
here=$(dirname "$0")
pictures=${1:-$here/../examples/pictures}
work=$BUILD/field
n=4096 cube=256 seconds=0.3 rounds=100 repetitions=15
[ -z "$QUICK" ] || { n=256 cube=32 seconds=0.01 rounds=3 repetitions=3; }
mkdir -p "$work" "$pictures" || exit 1

fail() {
    echo "field.sh: $1" >&2
    exit 1
}

run_fft() {
    fft=$BUILD/fft mpiexec=$MPIEXEC
    if [ ! -x "$fft" ] && command -v mpicc.openmpi >/dev/null; then
        MAKEFLAGS='' ${MAKE:-make} -s -C "$here/.." BUILD="$BUILD/openmpi" MPICC=mpicc.openmpi "$BUILD/openmpi/fft" >/dev/null
        fft=$BUILD/openmpi/fft mpiexec='mpiexec.openmpi --oversubscribe'
    fi
    [ -x "$fft" ] || { echo 'field.sh: no FFTW-MPI, so no FFT' >&2 && return; }
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 $mpiexec -n 2 "$fft" --from $cube --to $cube --repetitions $repetitions
}

# The lines "case",series,seconds. Series: arena, malloc (both redist), alltoallw, packed (by hand), other.
methods_csv() {
    timeout 200 $MPIEXEC -n 2 "$BUILD/methods" --n $n --seconds $seconds --csv "$work/methods" --methods \
        '=auto|=shared, arena|=Alltoallw by hand|=pack, Alltoallv|=p?gemr2d' --cases "=rows to columns|=rows to columns, middle|=\
rows of 32x32 to columns of 48x48|=columns, BLOCK to CYCLIC(1)|=transpose|=pencils, x to y, reordered" >"$work/said" || fail "methods: $(tail -n 3 "$work/said")"
    awk -F'"' 'BEGIN {
            series["auto"] = "malloc"; series["shared, arena"] = "arena"; series["Alltoallw by hand"] = "alltoallw"
            series["pack, Alltoallv"] = "packed"; series["p?gemr2d"] = "other" }
        $4 in series { split($5, rest, ","); printf "\"%s\",%s,%s\n", $2, series[$4], rest[3] }' "$work/methods"
}

halo_csv() { # part, name of its case, its title in the output, the rival
    timeout 100 $MPIEXEC -n 2 "$BUILD/halo" --only "$1" --n $n --rounds $rounds >"$work/said" || fail "halo: $(tail -n 3 "$work/said")"
    awk -v case="$2" -v title="$3" -v rival="$4" '
        !/^ / { here = index($0, title) == 1 }
        here && /^  / { name = substr($0, 3, 32); sub(/ +$/, "", name); split(substr($0, 35), time, " ")
            series = name == rival ? "other" : name == "redist, malloc" ? "malloc" : name == "redist, arena" ? "arena" : ""
            if (series != "") printf "\"%s\",%s,%.4g\n", case, series, 1e-6 * time[3] }' "$work/said"
}

# The faster of redist's two, the whole at once or in sections, with rows as FFTW has them, and of FFTW-MPI's, in place and out of place.
fft_csv() {
    run_fft >"$work/said"
    awk '/\^3/ { printf "\"FFT\",arena,%.4g\n\"FFT\",other,%.4g\n", ($2 < $3 ? $2 : $3) / 1e3, ($5 < $6 ? $5 : $6) / 1e3 }' "$work/said"
}

{
    methods_csv
    halo_csv halo 'halo exchange' 'halo of 1 around 128^3, 1 array' 'subarrays by hand'
    halo_csv tran 'p?tran' "C := beta C + alpha A^T of $n x" 'ScaLAPACK pdtran'
    halo_csv parres 'B += A^T' 'B += A^T' 'ParRes MPI1'
    fft_csv
} >"$work/field.csv"

# A row for each case, in this order: label, seconds of redist in an arena, and multiples of that for all others.
rows() {
    awk -F'"' -v size="$n" -v cube="$cube" '
        function row(name, label) {
            if (!((name, "arena") in time)) { if (name != "FFT" && name != "p?tran") { print name " is missing" >"/dev/stderr"; bad = 1 } return }
            unit = time[name, "arena"]
            printf "\"%s\"|%.4g", label, unit
            for (k = 1; k <= 5; k++) printf "|%s", (name, series[k]) in time ? sprintf("%.2f", time[name, series[k]] / unit) : "NaN"
            print "" }
        { split($3, rest, ","); time[$2, rest[2]] = rest[3] }
        END {
            split("arena malloc alltoallw packed other", series, " ")
            s = size " x " size
            row("rows to columns", "rows to columns\\n" s "\\np?gemr2d")
            row("rows to columns, middle", "rows to columns\\n512 x 512\\np?gemr2d")
            row("rows of 32x32 to columns of 48x48", "blocks of 32x32\\nto 48x48\\np?gemr2d")
            row("columns, BLOCK to CYCLIC(1)", "columns, BLOCK\\nto CYCLIC(1)\\np?gemr2d")
            row("pencils, x to y, reordered", "pencils, x to y\\n" cube "³ complex")
            row("transpose", "transpose\\n" s)
            row("p?tran", "βC + αA^T\\n" s "\\np?tran")
            row("B += A^T", "B += A^T, A += 1\\n" s "\\nParRes")
            row("halo exchange", "halo exchange\\n128³ a rank\\nsubarrays")
            row("FFT", "complex FFT\\n" cube "³\\nFFTW-MPI")
            exit bad
        }' "$work/field.csv"
}

rows >"$work/field.dat" || fail 'cases are missing'
cp "$work/field.csv" "$pictures/field.csv"

table() {
    echo '| case; made for the job | redist, arena | redist, malloc | MPI_Alltoallw by hand | pack, MPI_Alltoallv by hand | made for the job |'
    echo '|---|---|---|---|---|---|'
    awk -F'|' 'function cell(x, time) { return x == "NaN" ? "-" : x * time < 1e-3 ? sprintf("%.3g us", 1e6 * x * time) : sprintf("%.3g ms", 1e3 * x * time) }
        { gsub(/"/, "", $1); gsub(/\\nto /, " to ", $1); gsub(/\\n/, ", ", $1); printf "| %s", $1; for (k = 3; k <= 7; k++) printf " | %s", cell($k, $2); print " |" }' "$work/field.dat"
}

table | tee "$work/table"
if [ -z "$QUICK$1" ]; then # the README's table, between two comments
    awk -v table="$work/table" '/^<!-- make field/ { print; while ((getline line < table) > 0) print line; skipping = 1 }
        /^<!-- end/ { skipping = 0 } !skipping' "$here/../README.md" >"$work/README.md" && cat "$work/README.md" >"$here/../README.md"
fi
if command -v gnuplot >/dev/null; then
    gnuplot -e "data='$work/field.dat'; picture='$pictures/field.svg'" "$here/field.gp" && echo "$pictures/field.svg"
else
    echo 'field.sh: no gnuplot, so no picture'
fi
