#!/bin/sh
# make reference: doxygen has no warnings, and every public name of both headers has a manual page, functions with their
# contract. Pages stand alone and begin with the #include. make install installs them, make uninstall removes them. MIT
# licence, see LICENSE.
# environment: BUILD (where to write)
. "${0%/*}/lib.sh"
pages=$work/reference/man3

make_here() { ${MAKE:-make} -s -C "$root" BUILD="$work" PREFIX="$work/place" "$@"; }

# The text before the bodies.
declarations() { sed '/^\/\* =====/q' "$1"; }

functions() {
    declarations "$1" | sed -nE \
        's/^REDIST_(API|AXIS_API|PRIV_BUILDER|PRIV_AXIS_BUILDER) [^(]*[ *](redist_[a-z0-9_]+)\(.*/\2/p'
}

# Types, macros and enumerators, except guards and macros of linkage.
other_names() {
    declarations "$1" | sed -nE 's/^typedef .*[ *](redist_[a-z_]+)(\(.*)?;$/\1/p; s/^\} (redist_[a-z_]+);$/\1/p
        s/^typedef enum.*\} (redist_[a-z_]+);$/\1/p; s/^#define (REDIST_[A-Z_]+).*/\1/p
        s/^ +(REDIST_[A-Z_]+)( = [0-9]+)?,?( \/\*.*)?$/\1/p; s/^ +X\((REDIST_[A-Z_]+),.*/\1/p' |
        grep -vE '_(PRIV|priv)(_|$)|^REDIST_(H|PLAN_H|API|AXIS_API|NO_[A-Z]+)$' | sort -u
}

# The page of a name, perhaps shared with another name; it must contain the name.
find_page() { # name
    page=$pages/$1.3
    [ -s "$page" ] && read -r first <"$page"
    case $first in '.so '*) page=$work/reference/${first#.so } ;; esac
    [ -s "$page" ] && grep -q "$1[^A-Za-z0-9_]" "$page"
}

# The page has a description of the function, not only its declaration.
describes() {
    find_page "$1" && awk '/^\.SH/ { inside = /Detailed Description/; next }
        inside && !/^Declared in/ && /[a-z]+ [a-z]/ { found = 1 } END { exit !found }' "$page"
}

# Prints the pages that begin by referring to another one, or point to what stands above or below in a header.
dependent_pages() {
    for page in "$pages"/*.3; do
        sed 's/\\f[A-Z]//g; s/\\&//g' "$page" | awk -v page="${page##*/}" '
            /^[^ ]+ \\- (The same|That|This|These|Those|It|They|As) / { print page ": " $0 }
            / \\- Declared in / { print page ": no description" }
            { text = " " $0 " "; gsub(/ above [0-9]/, " ", text) }
            text ~ /[^a-z](below|above)[^a-z]/ { print page ": " $0 }'
    done
}

# Prints the pages whose synopsis does not begin with the #include of the header that declares the name.
pages_without_include() {
    for page in "$pages"/*.3; do
        awk -v page="${page##*/}" '
            { gsub(/\\f[A-Z]|\\&/, "") }
            /^\.so / { named = 1; exit }
            /^\.SH / { synopsis = $2 == "SYNOPSIS" }
            synopsis && /^#include / && !begun { header = $2; gsub(/[<>]/, "", header) }
            synopsis && /^\.SS/ { begun = 1 }
            /^Declared in / { declared = $3; sub(/\.$/, "", declared) }
            END { if (!named && (header == "" || (declared != "" && header != declared)))
                print page ": " header ", declared in " declared }' "$page"
    done
}

none() { [ -z "$("$@" | tee "$work/found")" ] || { cat "$work/found" && false; }; }

# Prints the functions that are declared with a private name.
private_declarations() {
    awk '/^\.S[HS]/ { functions = /Functions/ } functions && /REDIST_PRIV|redist_priv/ { print FILENAME ": " $0 }' \
        "$pages"/*.3
}

no_private_names() { ! ls "$pages" | grep -iE '_priv|^redist_[a-z]*_h_[0-9]|^_'; }

is_silent() { ! grep . "$work/reference/warnings"; }

nothing_is_left() { [ -z "$(find "$work/place" -type f -o -type l)" ] || { find "$work/place" -type f && false; }; }

without_doxygen() { [ "$(PATH=/nowhere /bin/sh "$root/examples/packaging/reference.sh" "$work/none")" = \
    'reference: skipped, no doxygen' ]; }

check 'without doxygen, make reference says so' without_doxygen
if ! command -v doxygen >/dev/null; then
    skip 'no doxygen'
    report
fi
check 'make reference' make_here reference
check 'doxygen has no warnings' is_silent
check 'there is an HTML page' test -s "$work/reference/html/index.html"
check 'nothing private has a page' no_private_names
check 'functions are declared with private names' none private_declarations
check 'pages do not stand alone' none dependent_pages
check 'pages do not begin with their #include' none pages_without_include
for header in redist.h redist_plan.h; do
    for name in $(functions "$root/$header"); do check "$name has no page with its contract" describes "$name"; done
    for name in $(other_names "$root/$header"); do check "$name has no page" find_page "$name"; done
done
[ "$passed" -ge 160 ]
count $? "only $passed checks: are names missing?"
check 'make install' make_here install
check 'make install installs the pages' cmp "$pages/redist_execute.3" "$work/place/share/man/man3/redist_execute.3"
check 'make install installs HTML' test -s "$work/place/share/redist/html/index.html"
check 'make uninstall' make_here uninstall
check 'make uninstall removes them' nothing_is_left
report
