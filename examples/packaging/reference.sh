#!/bin/sh
# Generates the reference from the contracts in the headers: manual pages (section 3) and HTML, by Doxygen. Without
# Doxygen it prints a message and succeeds. MIT licence, see LICENSE.
# usage: sh reference.sh DIRECTORY     (man3/ and html/ below it; Doxygen's warnings are in DIRECTORY/warnings)
command -v doxygen >/dev/null || { echo 'reference: skipped, no doxygen'; exit 0; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
mkdir -p "$1" && cd "$1" && rm -rf man3 html || exit 1
version=$(awk '/^#define REDIST_VERSION_/ { v = v (v ? "." : "") $3 } END { print v }' "$root/redist.h")
cat >Doxyfile <<DOXYFILE
PROJECT_NAME           = redist
PROJECT_NUMBER         = $version
PROJECT_BRIEF          = "Moves distributed arrays between layouts, with MPI"
INPUT                  = "$root/redist.h" "$root/redist_plan.h"
INPUT_FILTER           = "awk -f '$here/reference.awk'"
STRIP_FROM_PATH        = "$root"
OPTIMIZE_OUTPUT_FOR_C  = YES
EXTRACT_ALL            = YES
JAVADOC_AUTOBRIEF      = YES
MARKDOWN_SUPPORT       = NO
SORT_MEMBER_DOCS       = NO
SHOW_USED_FILES        = NO
SOURCE_BROWSER         = NO
VERBATIM_HEADERS       = NO
GENERATE_LATEX         = NO
HTML_TIMESTAMP         = NO
SEARCHENGINE           = NO
HAVE_DOT               = NO
GENERATE_MAN           = YES
MAN_OUTPUT             = .
MAN_LINKS              = YES
QUIET                  = YES
WARN_LOGFILE           = warnings
DOXYFILE
doxygen Doxyfile || exit 1
for page in man3/*; do
    case $page in
    man3/*_h_[0-9]*.3) rm "$page" ;; # a section of a header
    man3/redist*.3 | man3/REDIST_*.3)
        # Doxygen prints a page's name twice, its purpose apart, and signatures that the synopsis already has. It leaves
        # out the #include, except for structs.
        header=$(sed -n 's/^Declared in .*\(redist[_a-z]*\)\\&\.h.*/\1/p' "$page")
        case $page in *.h.3) header=$(basename "$page" .h.3) ;; esac
        ! grep -q '#include <redist' "$page" || header=
        awk -v header="$header" '/^\.SH "(Author|(Function|Macro Definition|Typedef) Documentation)"$/ { exit }
            titled && /^\.PP$/ { next }
            titled {
                sub(/^ +\\- /, "\\- ")
                print name (/^\\- / ? " " : "\n") $0
                titled = 0
                next
            }
            split($0, half, / \\- /) == 2 && half[1] == half[2] { name = half[1]; titled = 1; next }
            /^\.SH SYNOPSIS$/ && header != "" {
                print $0 "\n.PP\n\\fC#include <" header "\\&.h>\\fP"
                next
            }
            /[^ ]\.fi$/ { sub(/\.fi$/, "\n.fi") }
            { print }' "$page" >page && mv page "$page" ;;
    *) rm "$page" ;; # a member, by its name alone
    esac
done
cat warnings >&2
echo "reference: $(ls man3 | wc -l) manual pages in $1/man3, HTML in $1/html/index.html"
