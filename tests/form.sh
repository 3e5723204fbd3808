#!/bin/sh
# Checks that clang-format would not change any C file, and that no line of the headers is longer than 100 columns,
# except messages of #error. MIT licence, see LICENSE.
. "${0%/*}/lib.sh"

is_formatted() { ! grep "^$1:" "$work/changes"; }

cd "$root" || exit 1
for header in redist.h redist_plan.h; do
    check "$header has lines of more than 100 columns" \
        awk 'length > 100 && !/^ *"/ { print; wide = 1 } END { exit wide }' $header
    check "$header has functions of more than 40 lines" awk '
        !begin && /^[A-Za-z].*\(/ { begin = NR; name = $0; body = 0 }
        begin && /{$/ { body = 1 }
        begin && /^}/ && NR - begin >= 40 { print NR - begin + 1 ": " name; long = 1 }
        /^}/ || (!body && /[;}]$/) { begin = 0; functions += body }
        END { exit long || functions < 100 }' $header
done
case $(clang-format --version 2>/dev/null) in # versions differ in details
*'version 14.'*)
    set -- *.h tests/*.[ch] tests/*/*.[ch] bench/*.[ch] examples/*.[ch] examples/*/*.c
    clang-format --dry-run "$@" 2>"$work/changes"
    count $? 'clang-format does not read all files'
    for file in "$@"; do
        check "$file: clang-format -i $file would change it" is_formatted "$file"
    done
    ;;
*)
    skip 'no clang-format 14'
    ;;
esac
report
