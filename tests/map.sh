#!/bin/sh
# Checks that the sections of each header are in the order of the map at its top: those marked p among the prototypes,
# those marked b among the bodies. MIT licence, see LICENSE.
. "${0%/*}/lib.sh"

# Prints the sections that the map has with one of the marks, or that the header has in that half.
mapped() { sed -n '/^ \* Map/,/^ \*$/p' "$1" | sed -n "s/^ \*     [p ]*$2[b ]*  //p"; }
found() {
    awk -v half="$2" '
        /^\/\* =====/ { bodies = 1 }
        /^\/\* ----/ && (half == "b") == bodies + 0 {
            gsub(/^\/\* -+ | \*\/$| \((bodies|private)\)/, ""); print }' "$1"
}

for header in redist.h redist_plan.h; do
    for half in p b; do
        [ -n "$(found "$root/$header" $half)" ] &&
            [ "$(mapped "$root/$header" $half)" = "$(found "$root/$header" $half)" ]
        count $? "$header: sections or their order differ from the map ($half)"
    done
done
report
