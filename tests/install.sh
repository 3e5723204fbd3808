#!/bin/sh
# make install into an empty directory: the installed files, programs built from them by hand, with pkg-config and with
# CMake (also from the source tree), and make uninstall. The Spack recipe. MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
. "${0%/*}/lib.sh"

make_here() { ${MAKE:-make} -C "$root" BUILD="$BUILD" "$@"; }

listed() { (cd "$1" && find . -type f | sort); }

flags() {
    PKG_CONFIG_PATH=$work/place/share/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config "$@" redist
}

version_in_header() { awk '/^#define REDIST_VERSION_/ { v = v (v ? "." : "") $3 } END { print v }' "$root/redist.h"; }

hello_runs() { timeout -k 5 60 $MPIEXEC -n 2 "$1" | grep '^0 of 96 elements are wrong'; }

compiles_and_runs() { # compiler flags
    $MPICC -std=c99 "$@" -o "$work/hello" "$work/place/share/redist/examples/hello.c" && hello_runs "$work/hello"
}

everything_is_there() {
    listed "$work/place" >"$work/there"
    for file in ./include/redist.h ./include/redist_plan.h ./share/pkgconfig/redist.pc \
        ./share/redist/cmake/redist-config.cmake ./share/redist/cmake/redist-config-version.cmake \
        ./share/redist/fortran/redist.f90 \
        ./share/redist/fortran/redist_f.c ./share/redist/README.md ./share/redist/LICENSE \
        $(cd "$root/examples" && ls *.c *.h | sed 's|^|./share/redist/examples/|'); do
        grep -qx "$file" "$work/there" || { echo "$file is missing" && return 1; }
    done
}

nothing_is_there() { [ -z "$(listed "$1")" ] || { listed "$1" && return 1; }; }

# ---- CMake ----

# A user's project: hello; with C++, also a C++ program; with redist's Fortran component, also the Fortran solver.
write_project() { # directory, languages, how redist is found
    mkdir -p "$1"
    printf '#include "redist_plan.h"\nint main() { return redist_layout_print(0, 0) == REDIST_OK; }\n' >"$1/plus.cpp"
    cat >"$1/CMakeLists.txt" <<EOT
cmake_minimum_required(VERSION 3.14)
project(user LANGUAGES $2)
$3
add_executable(hello "$work/place/share/redist/examples/hello.c")
target_link_libraries(hello PRIVATE redist::redist)
if(redist_Fortran_FOUND)
    add_executable(solver "$work/place/share/redist/examples/adi.f90")
    target_link_libraries(solver PRIVATE redist::fortran)
endif()
if(CMAKE_CXX_COMPILER)
    add_executable(plus plus.cpp)
    target_link_libraries(plus PRIVATE redist::redist)
endif()
get_target_property(linked redist::redist INTERFACE_LINK_LIBRARIES)
get_target_property(included redist::redist INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "linked \${linked}, included \${included}")
EOT
}

configure() { # directory, options
    directory=$1
    shift
    cmake -S "$directory" -B "$directory/build" -DMPI_C_COMPILER="$(command -v "$MPICC")" \
        -DMPI_Fortran_COMPILER="$(command -v "$MPIFC")" "$@" >"$directory/log" 2>&1 || { cat "$directory/log"; false; }
}

builds() { # directory, options: hello runs with it
    configure "$@" && cmake --build "$1/build" && hello_runs "$1/build/hello"
}

used() { grep -q "linked MPI::MPI_C, included $2\$" "$1/log" || { cat "$1/log"; false; }; } # directory, include directory

# find_package without a project: if the version suits, redist reports missing languages.
lacks() { # the sentence, what find_package takes
    echo "cmake_policy(VERSION 3.12)
        find_package(redist $2 CONFIG QUIET PATHS \"$work/place/share/redist/cmake\" NO_DEFAULT_PATH)
        if(NOT redist_NOT_FOUND_MESSAGE MATCHES \"$1\")
            message(FATAL_ERROR \"\${redist_CONSIDERED_VERSIONS} not so: \${redist_NOT_FOUND_MESSAGE}\")
        endif()" >"$work/version.cmake"
    cmake -P "$work/version.cmake"
}

suits() { lacks 'redist needs C among the languages' "$1"; }

does_not_suit() { ! suits "$1" && grep -q ' not so: *$' "$work/output"; }

check_versions() {
    version=$(version_in_header)
    major=${version%%.*} series=${version%.*} minor=${version#*.}
    minor=${minor%.*}
    for wanted in '' "$version" "$series" "$major" "$version EXACT"; do
        check "find_package(redist $wanted)" suits "$wanted"
    done
    for wanted in 99 "$major.$((minor + 1))" "$version.1" "$((major + 1))" "$series.99 EXACT"; do
        check "find_package(redist $wanted) finds $version" does_not_suit "$wanted"
    done
    [ "$major" -gt 0 ] || check 'an older series before 1.0' does_not_suit "0.$((minor - 1))"
    if printf 'if(CMAKE_VERSION VERSION_LESS 3.19)\nmessage(FATAL_ERROR)\nendif()' >"$work/version.cmake" &&
        cmake -P "$work/version.cmake" >/dev/null 2>&1; then
        check 'a range of versions' suits "0...$version"
        check 'a range of versions that ends before' does_not_suit "0...<$version"
    fi
}

check_cmake() {
    MPIFC=$(echo "$MPICC" | sed 's/mpicc/mpifort/') languages=C components=
    if printf 'use mpi_f08\nend\n' | $MPIFC -x f95 -o "$work/probe" - >/dev/null 2>&1; then
        languages='C Fortran' components='COMPONENTS Fortran'
    else
        skip "find_package's component Fortran, no gfortran with MPI's module mpi_f08"
    fi
    write_project "$work/installed" "$languages" "find_package(redist $(version_in_header) REQUIRED $components)"
    check 'a CMake project by find_package' builds "$work/installed" -DCMAKE_PREFIX_PATH="$work/place"
    check 'redist::redist' used "$work/installed" "$work/place/include"
    if [ -n "$components" ]; then
        timeout -k 5 60 $MPIEXEC -n 4 "$work/installed/build/solver" 40 4 >"$work/solver" 2>&1
        check 'the solver in Fortran that CMake has built' grep -q 'rounding .*: right' "$work/solver"
    fi
    languages=C
    if command -v c++ >/dev/null; then languages='C CXX'; else skip "find_package in C++, no c++"; fi
    write_project "$work/fetched" "$languages" 'include(FetchContent)
FetchContent_Declare(redist SOURCE_DIR "${TREE}")
FetchContent_MakeAvailable(redist)
find_package(redist REQUIRED OPTIONAL_COMPONENTS Fortran Rust
    PATHS "${redist_SOURCE_DIR}/examples/packaging" NO_DEFAULT_PATH)
find_package(redist PATHS "${redist_SOURCE_DIR}/examples/packaging" NO_DEFAULT_PATH)'
    check 'a CMake project with the source tree' builds "$work/fetched" -DTREE="$root"
    check 'redist::redist of the source tree' used "$work/fetched" "$root"
    check 'an unknown component' lacks 'redist has no component Rust' 'COMPONENTS Rust'
    check 'Fortran without the language' lacks 'redist needs Fortran among' 'COMPONENTS Fortran'
    check_versions
}

# ---- Spack ----

# Runs the recipe with stand-ins for Spack: it fetches this tree, and installs with make.
check_spack() {
    cat >"$work/recipe.py" <<'EOT'
import sys, types
root, recipe = sys.argv[1:]
source, calls, said = open(recipe).read(), [], []
spack, package = types.ModuleType("spack"), types.ModuleType("spack.package")
package.Package = object
package.make = lambda *arguments: calls.append(arguments)
for directive in "license", "version", "depends_on":
    setattr(package, directive, lambda *words, **more: said.append(words[0]))
sys.modules.update({"spack": spack, "spack.package": package})
names = {"__file__": recipe, "__name__": "recipe"}
exec(compile(source, recipe, "exec"), names)
names["Redist"]().install(None, "/there")
assert names["Redist"].git == "file://" + root, names["Redist"].git
assert calls == [("install", "PREFIX=/there")] and "mpi" in said, (calls, said)
EOT
    check 'the Spack recipe' python3 -B "$work/recipe.py" "$root" "$root/examples/packaging/spack/packages/redist/package.py"
}

check 'make install' make_here install PREFIX="$work/place"
check 'the installed files' everything_is_there
check 'hello from the installed files' compiles_and_runs -I"$work/place/include"
if command -v pkg-config >/dev/null; then
    check 'the flags of redist.pc' test "$(flags --cflags | sed 's/ *$//')" = "-I$work/place/include"
    check 'the version of redist.pc' test "$(flags --modversion)" = "$(version_in_header)"
    check 'the Fortran sources of redist.pc' test -e "$(flags --variable=fortrandir)/redist.f90"
    check 'hello by redist.pc' compiles_and_runs $(flags --cflags)
else
    skip 'no pkg-config'
fi
if command -v cmake >/dev/null; then check_cmake; else skip 'find_package, no cmake'; fi
if command -v python3 >/dev/null; then check_spack; else skip 'the Spack recipe, no python3'; fi
printf 'another file' >"$work/place/include/other.h"
check 'make uninstall' make_here uninstall PREFIX="$work/place"
check 'make uninstall leaves what it did not install' test "$(listed "$work/place")" = ./include/other.h
check 'make install with DESTDIR' make_here install PREFIX=/usr DESTDIR="$work/stage"
check 'DESTDIR is no part of redist.pc' grep -qx 'prefix=/usr' "$work/stage/usr/share/pkgconfig/redist.pc"
check 'make uninstall with DESTDIR' make_here uninstall PREFIX=/usr DESTDIR="$work/stage"
check 'nothing is left' nothing_is_there "$work/stage"
report
