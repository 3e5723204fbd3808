#!/bin/sh
# make install into a directory of its own: what is there, a program compiled from it, and nothing left by
# make uninstall.
# MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
mkdir -p "$build/install" && build=$(cd "$build" && pwd)
work=$build/install
MPICC=${MPICC:-$(command -v mpicc.mpich || command -v mpicc)}
MPIEXEC=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
passed=0 failed=0 skipped=0

check() { # what command...
    what=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        head -n 20 "$work/output"
    fi
}

make_here() { ${MAKE:-make} -C "$root" BUILD="$build" "$@"; }

listed() { (cd "$1" && find . -type f | sort); }

flags() {
    PKG_CONFIG_PATH=$work/place/share/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config "$@" redist
}

version_in_header() { awk '/^#define REDIST_VERSION_/ { v = v (v ? "." : "") $3 } END { print v }' "$root/redist.h"; }

compiles_and_runs() { # compiler flags
    $MPICC -std=c99 "$@" -o "$work/hello" "$work/place/share/redist/examples/hello.c" &&
        timeout -k 5 60 $MPIEXEC -n 2 "$work/hello" | grep '^0 of 96 elements are wrong'
}

everything_is_there() {
    listed "$work/place" >"$work/there"
    for file in ./include/redist.h ./include/redist_plan.h ./share/pkgconfig/redist.pc \
        ./share/redist/fortran/redist.f90 \
        ./share/redist/fortran/redist_f.c ./share/redist/README.md ./share/redist/LICENSE \
        $(cd "$root/examples" && ls *.c *.h | sed 's|^|./share/redist/examples/|'); do
        grep -qx "$file" "$work/there" || { echo "$file is missing" && return 1; }
    done
}

nothing_is_there() { [ -z "$(listed "$1")" ] || { listed "$1" && return 1; }; }

rm -rf "$work"
mkdir -p "$work"
check 'make install' make_here install PREFIX="$work/place"
check 'what is installed' everything_is_there
check 'hello from what is installed' compiles_and_runs -I"$work/place/include"
if command -v pkg-config >/dev/null; then
    check 'the flags of redist.pc' test "$(flags --cflags | sed 's/ *$//')" = "-I$work/place/include"
    check 'the version of redist.pc' test "$(flags --modversion)" = "$(version_in_header)"
    check 'the Fortran sources of redist.pc' test -e "$(flags --variable=fortrandir)/redist.f90"
    check 'hello by redist.pc' compiles_and_runs $(flags --cflags)
else
    skipped=1
    echo 'skipped: no pkg-config'
fi
printf 'another file' >"$work/place/include/other.h"
check 'make uninstall' make_here uninstall PREFIX="$work/place"
check 'make uninstall leaves what it did not install' test "$(listed "$work/place")" = ./include/other.h
check 'make install with DESTDIR' make_here install PREFIX=/usr DESTDIR="$work/stage"
check 'DESTDIR is no part of redist.pc' grep -qx 'prefix=/usr' "$work/stage/usr/share/pkgconfig/redist.pc"
check 'make uninstall with DESTDIR' make_here uninstall PREFIX=/usr DESTDIR="$work/stage"
check 'nothing is left' nothing_is_there "$work/stage"
rm -rf "$work"
echo "install.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
