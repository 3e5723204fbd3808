#!/bin/sh
# Checks, or rewrites, the map at the top of each header: its sections, with the lines of their prototypes and bodies.
# usage: sh tests/map.sh [--write]. MIT licence, see LICENSE.
root=$(cd "$(dirname "$0")/.." && pwd)
new=${TMPDIR:-/tmp}/redist_map.$$
passed=0 failed=0
trap 'rm -f "$new"' EXIT

# The file with its map renewed. Prototypes and bodies meet in one line where their banners begin alike.
renewed() {
    awk '
    function range(k) { return k == 0 ? "" : (first[k] + shift) "-" (last[k] + shift) }
    function prototypes_of(k, j) {
        for (j = 1; j < bodies; j++)
            if (index(title[k], title[j]) == 1) return j
        return 0
    }
    function add(proto, body) {
        map[++lines] = sprintf(" * %11s %11s   %s", range(proto), range(body), title[body ? body : proto]) }
    function write_map(k) {
        for (k = 1; k < bodies; k++) if (!met[k]) add(k, 0)
        for (k = bodies; k <= sections; k++) add(partner[k], k)
        for (k = 1; k <= lines; k++) print map[k]
    }
    pass == 1 {
        if (/^\/\* =====/ || /^#endif .* REDIST_PRIV_BODIES/) { if (open) last[sections] = FNR - 1; open = 0 }
        if (/^\/\* =====/) bodies = sections + 1
        if (/^\/\* ----/) {
            if (open) last[sections] = FNR - 1
            first[++sections] = FNR; open = 1
            gsub(/^\/\* -+ | \*\/$| \((bodies|private)\)/, ""); title[sections] = $0
        }
        if (old == 1 && /^ \*\/?$/) old = 2
        if (old == 1) shift--
        if (/^ \* Map/) old = 1
    }
    pass == 2 && FNR == 1 {
        for (k = bodies; k <= sections; k++) {
            j = prototypes_of(k)
            if (j && !met[j]) { met[j] = 1; partner[k] = j }
        }
        shift += sections
        for (k in met) shift--
        if (old != 2) exit 1
    }
    pass == 2 {
        if (inside && /^ \*\/?$/) inside = 0
        if (!inside) print
        if (/^ \* Map/) { inside = 1; write_map() }
    }' pass=1 "$1" pass=2 "$1"
}

for header in redist.h redist_plan.h; do
    if ! renewed "$root/$header" >"$new"; then
        echo "FAILED: $header has no place for a map"
        failed=$((failed + 1))
    elif cmp -s "$root/$header" "$new"; then
        passed=$((passed + 1))
    elif [ "$1" = --write ]; then
        cat "$new" >"$root/$header" && passed=$((passed + 1))
    else
        echo "FAILED: the map of $header is old; 'sh tests/map.sh --write' renews it"
        diff "$root/$header" "$new"
        failed=$((failed + 1))
    fi
done
echo "map.sh: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
