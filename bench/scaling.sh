#!/bin/sh
# The same arrays on 2, 4 and 8 ranks: how much longer an exchange takes than on 2. MIT licence, see LICENSE.
# environment: BUILD (where methods is), MPIEXEC; arguments are passed on to methods (--n, --seconds, ...)
BUILD=${BUILD:-build}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
cases='=rows to columns|=rows to columns, blocks of 64|rows, BLOCK|columns, BLOCK to|columns, CYCLIC|32x32|transpose|rotate'
table=$BUILD/scaling.csv

: >"$table"
for ranks in 2 4 8; do
    $MPIEXEC -n $ranks "$BUILD/methods" --cases "$cases" --methods 'shared' --csv "$table.part" "$@" >/dev/null || exit 1
    cat "$table.part" >>"$table"
done
rm -f "$table.part"

# Fields between double quotes: case, (ranks and bytes), contestant, (repetitions, lower quartile, ...)
awk -F'"' '
    NF < 5 || $4 == "memcpy" { next }
    { split($3, size, ","); split($5, figures, ","); row = $2 SUBSEP $4; time[row, size[2]] = figures[3]
      if (!(row in known)) { known[row] = 1; rows[++count] = row; name[row] = sprintf("%-34s %-14s", $2, $4) } }
    END {
        printf "%-34s %-14s %9s %9s %9s %7s %7s\n", "milliseconds", "", "2 ranks", "4 ranks", "8 ranks", "4 / 2", "8 / 2"
        for (k = 1; k <= count; k++) {
            r = rows[k]
            printf "%s %9.2f %9.2f %9.2f %7.2f %7.2f\n", name[r], 1e3 * time[r, 2], 1e3 * time[r, 4], 1e3 * time[r, 8],
                time[r, 4] / time[r, 2], time[r, 8] / time[r, 2]
        }
    }' "$table"
