# Shared by the scripts that measure and write tables, field.sh and results.sh. Read by `.`; MIT licence, see LICENSE.
# environment: BUILD (where the programs are), MPIEXEC; work: a directory for temporary files
BUILD=${BUILD:-build}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

name_of_mpi() { # mpiexec...
    case $("$@" --version 2>&1) in *[Oo]pen*) echo 'Open MPI' ;; *) echo MPICH ;; esac
}

# Builds a program with Open MPI, which Debian's FFTW-MPI needs, unless all programs are built with it.
prepare_openmpi() { # program
    program=$BUILD/$1 mpiexec=$MPIEXEC
    [ "$(name_of_mpi $MPIEXEC)" != 'Open MPI' ] || return 0
    program=$BUILD/openmpi/$1 mpiexec='mpiexec.openmpi --oversubscribe'
    command -v mpicc.openmpi >/dev/null && command -v mpiexec.openmpi >/dev/null || return 1
    MAKEFLAGS='' ${MAKE:-make} -s -C "$here/.." BUILD="$(realpath -m "$BUILD")/openmpi" MPICC=mpicc.openmpi \
        "$(realpath -m "$BUILD")/openmpi/$1" >/dev/null
}

# Runs a program; appends its figures, each with the name of the MPI, to $work/figures, its command to $work/calls.
# environment: as `env` takes it. 0 ranks: without MPI.
measure() { # default or openmpi, ranks, program, arguments...
    mpi=$1 ranks=$2 program=$BUILD/$3 mpiexec=$MPIEXEC name=$3
    shift 3
    case $mpi in openmpi) prepare_openmpi "$name" ;; esac
    launch="$mpiexec -n $ranks "
    [ "$ranks" -gt 0 ] || launch=''
    [ -x "$program" ] || { echo "no $name for $mpi" >&2 && return 1; }
    rm -f "$work/part"
    env $environment timeout -k 5 "${LIMIT:-150}" $launch"$program" "$@" --csv "$work/part" \
        >"$work/said" 2>&1 </dev/null || { echo "$name fails:" && tail -n 3 "$work/said"; } >&2
    [ -s "$work/part" ] || return 1
    sed "1d; s/\$/,$(name_of_mpi $mpiexec)/" "$work/part" >>"$work/figures"
    {
        printf '%s' "${environment:+$environment }"
        echo "$launch$program" | sed "s|$BUILD/|build/|; s|^[^ ]*bin/||" | tr -d '\n'
        for argument in "$@"; do
            case $argument in *[!a-zA-Z0-9_.-]*) printf " '%s'" "$argument" ;; *) printf ' %s' "$argument" ;; esac
        done
        echo
    } >>"$work/calls"
}

# How figures are written, and how they are read: "case",ranks,bytes,"contestant",repetitions,value,best,ratio,MPI
formats='
    function digits(x) { return sprintf(x < 99.95 ? "%.3g" : "%.0f", x) }
    function time(t) { return t < 1e-3 ? digits(1e6 * t) " us" : t < 1 ? digits(1e3 * t) " ms" : digits(t) " s" }
    function amount(x) { return x < 1e6 ? digits(x / 1e3) " kB" : digits(x / 1e6) " MB" }
    function ratio(x) { return sprintf(x < 9.995 ? "%.2f" : x < 99.95 ? "%.1f" : "%.0f", x) }'
fields='
    { split($3, a, ","); split($5, b, ",")
      field["case"] = $2; field["ranks"] = a[2]; field["bytes"] = a[3]; field["contestant"] = $4; field["MPI"] = b[6] }
    function key(names,   n, name, k, text) {
        n = split(names, name, " ")
        for (k = 1; k <= n; k++) text = text (k > 1 ? " | " : "") field[name[k]]
        return text }'

# Figures as a table: a row for every value of the fields ROW, a column for each given value of the fields COLUMN.
# FORMAT: time; ratio (all but the first column are multiples of it); growth (times, and multiples of the first).
# Columns named ratio are printed as ratios.
table() { # ROW, COLUMN, FORMAT, heading of the rows, NAME=HEADING;NAME=HEADING...
    awk -F'"' -v row="$1" -v column="$2" -v format="$3" -v heading="$4" -v wanted="$5" "$formats$fields"'
        { r = key(row)
          if (!(r in known)) { known[r] = 1; rows[++count] = r }
          value[r, key(column)] = b[3] }
        function cell(r, c,   x, unit) {
            if (!((r, name[c]) in value)) return ""
            x = value[r, name[c]]
            unit = value[r, name[1]]
            if (name[c] ~ /^ratio/) return ratio(x)
            if (c == 1 || format == "time") return time(x)
            return format == "ratio" ? ratio(x / unit) : time(x) " (" ratio(x / unit) ")" }
        END {
            columns = split(wanted, name, ";")
            rule = "|" heading "|"
            gsub(/[^|]+/, "---", rule)
            printf "| %s |", heading
            for (c = 1; c <= columns; c++) {
                split(name[c], part, "=")
                name[c] = part[1]
                printf " %s |", part[2] == "" ? part[1] : part[2]
                rule = rule "---|"
            }
            print "\n" rule
            for (k = 1; k <= count; k++) {
                line = ""
                for (c = 1; c <= columns; c++) line = line " " cell(rows[k], c) " |"
                title = rows[k]
                gsub(/\*/, "\\*", title)
                if (line ~ /[0-9]/) print "| " title " |" line
            }
        }'
}

# Replaces the lines of a file between a marker and <!-- end --> by standard input.
replace() { # file, what its marker begins with, the whole marker
    cat >"$work/block"
    awk -v begin="$2" -v marker="$3" -v block="$work/block" '
        index($0, begin) == 1 { print marker; while ((getline line < block) > 0) print line; inside = found = 1 }
        /^<!-- end -->/ { inside = 0 }
        !inside
        END { exit !found }' "$1" >"$work/replaced" && cat "$work/replaced" >"$1"
}
