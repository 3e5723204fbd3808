#!/bin/sh
# make install into an empty directory, and make uninstall. A user's programs in C, C++ and Fortran, built and run with
# what is installed: by hand, with the flags of pkg-config, and with CMake; and with the source tree: by
# add_subdirectory, FetchContent and find_package. The Spack recipe. MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
. "${0%/*}/lib.sh"

make_here() { ${MAKE:-make} -C "$root" BUILD="$BUILD" "$@"; }

listed() { (cd "$1" && find . ! -type d | sort); }

flags() {
    PKG_CONFIG_PATH=$work/place/share/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config "$@" redist
}

version_in_header() { awk '/^#define REDIST_VERSION_/ { v = v (v ? "." : "") $3 } END { print v }' "$root/redist.h"; }

everything_is_there() {
    listed "$work/place" >"$work/there"
    for file in ./include/redist.h ./include/redist_plan.h ./share/pkgconfig/redist.pc \
        ./share/redist/cmake/redist-config.cmake ./share/redist/cmake/redist-config-version.cmake \
        ./share/redist/fortran/redist.f90 \
        ./share/redist/fortran/redist_f.c ./share/redist/python/redist.py ./share/redist/python/redist_python.c \
        ./share/redist/README.md ./share/redist/LICENSE \
        $(cd "$root/examples" && ls *.c *.h | sed 's|^|./share/redist/examples/|'); do
        grep -qx "$file" "$work/there" || { echo "$file is missing" && return 1; }
    done
}

nothing_is_there() { [ -z "$(listed "$1")" ] || { listed "$1" && return 1; }; }

# ---- a user's programs: hello in C and in C++, and the Fortran solver ----

write_programs() {
    mkdir "$work/user"
    programs=hello
    cp "$root/examples/hello.c" "$work/user/hello.c"
    MPICXX=$(echo "$MPICC" | sed 's/mpicc/mpicxx/') MPIFC=$(echo "$MPICC" | sed 's/mpicc/mpifort/')
    if have "$MPICXX"; then
        programs="$programs plus"
        sed 's/= malloc/= (double *)malloc/' "$root/examples/hello.c" >"$work/user/plus.cpp"
    else
        skip "programs in C++, no $MPICXX"
    fi
    if printf 'use mpi_f08\nend\n' | $MPIFC -x f95 -o "$work/probe" - >/dev/null 2>&1; then
        programs="$programs solver"
        cp "$root/examples/fortran/adi.f90" "$work/user/solver.f90"
    else
        skip "programs in Fortran, no gfortran with MPI's module mpi_f08"
    fi
}

compile() { # program, Fortran sources, flags...: into this directory
    program=$1 sources=$2
    shift 2
    case $program in
    hello) $MPICC -std=c99 "$@" -o hello "$work/user/hello.c" ;;
    plus) $MPICXX -std=c++11 "$@" -o plus "$work/user/plus.cpp" ;;
    solver)
        $MPICC "$@" -c "$sources/redist_f.c" &&
            $MPIFC -o solver "$sources/redist.f90" "$work/user/solver.f90" redist_f.o -lm
        ;;
    esac
}

runs() { # directory/program
    case $1 in
    */solver) timeout -k 5 60 $MPIEXEC -n 4 "$1" 40 4 | grep 'rounding .*: right' ;;
    *) timeout -k 5 60 $MPIEXEC -n 2 "$1" | grep '^0 of 96 elements are wrong' ;;
    esac
}

# One program, in Fortran where there is a compiler: its library is compiled from C.
choose_one() { case $programs in *solver*) programs=solver ;; *) programs=hello ;; esac; }

check_compiled() { # how, Fortran sources, flags...
    how=$1
    shift
    rm -rf "$work/compiled" && mkdir "$work/compiled" && cd "$work/compiled" || exit 1
    for each in $programs; do
        check "$each $how compiles" compile $each "$@"
        check "$each $how runs" runs "$work/compiled/$each"
    done
    cd "$work" || exit 1
}

# ---- CMake ----

# A project of the user's programs.
write_project() { # directory, how redist is found
    mkdir -p "$1"
    languages=C
    case $programs in *plus*) languages="$languages CXX" ;; esac
    case $programs in *solver*) languages="$languages Fortran" ;; esac
    {
        printf 'cmake_minimum_required(VERSION 3.14)\nproject(user LANGUAGES %s)\n%s\n' "$languages" "$2"
        for each in $programs; do
            echo "add_executable($each \"$(ls "$work/user/$each".*)\")"
            case $each in solver) target=fortran ;; *) target=redist ;; esac
            echo "target_link_libraries($each PRIVATE redist::$target)"
        done
        cat <<'EOT'
get_target_property(linked redist::redist INTERFACE_LINK_LIBRARIES)
get_target_property(included redist::redist INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "linked ${linked}, included ${included}")
EOT
    } >"$1/CMakeLists.txt"
}

configure() { # directory, options
    directory=$1
    shift
    cmake -S "$directory" -B "$directory/build" -DMPI_C_COMPILER="$(command -v "$MPICC")" \
        -DMPI_Fortran_COMPILER="$(command -v "$MPIFC")" "$@" >"$directory/log" 2>&1 || { cat "$directory/log"; false; }
}

used() { grep -q "linked MPI::MPI_C, included $2\$" "$1/log" || { cat "$1/log"; false; }; } # directory, include directory

check_project() { # name, include directory, how redist is found, options
    project=$1 included=$2
    write_project "$work/$project" "$3"
    shift 3
    check "a CMake project: $project" configure "$work/$project" "$@"
    check "redist::redist of $project" used "$work/$project" "$included"
    check "$project is built" cmake --build "$work/$project/build"
    for each in $programs; do check "$each of $project runs" runs "$work/$project/build/$each"; done
}

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

# Every language once; what differs then is how redist is found.
check_cmake() {
    components=
    case $programs in *solver*) components='COMPONENTS Fortran' ;; esac
    check_project installed "$work/place/include" "find_package(redist $(version_in_header) REQUIRED $components)" \
        -DCMAKE_PREFIX_PATH="$work/place"
    choose_one
    check_project subdirectory "$root" 'add_subdirectory("${TREE}/examples/packaging" redist)' -DTREE="$root"
    programs=hello
    check_project config "$root" 'find_package(redist REQUIRED OPTIONAL_COMPONENTS Fortran Rust)
find_package(redist)' -Dredist_DIR="$root/examples/packaging"
    # MPI is found first, in the project: redist takes it from there
    (cd "$root" && tar -cf "$work/redist.tar" --transform 's|^|redist-1/|' redist.h redist_plan.h examples)
    check_project fetched "$work/fetched/build/_deps/redist-src" "find_package(MPI REQUIRED COMPONENTS C)
include(FetchContent)
FetchContent_Declare(redist URL \"$work/redist.tar\" SOURCE_SUBDIR examples/packaging)
FetchContent_MakeAvailable(redist)"
    check 'an unknown component' lacks 'redist has no component Rust' 'COMPONENTS Rust'
    check 'Fortran without the language' lacks 'redist needs Fortran among' 'COMPONENTS Fortran'
    check_versions
}

# ---- Spack ----

# Runs the recipe with stand-ins for Spack: it fetches this tree, whose version is the recipe's, and installs with make.
check_spack() {
    cat >"$work/recipe.py" <<'EOT'
import subprocess, sys, types
root, recipe, version, build, prefix = sys.argv[1:]
source, said = open(recipe).read(), []
spack, package = types.ModuleType("spack"), types.ModuleType("spack.package")
package.Package = object
package.make = lambda *arguments: subprocess.run(["make", "-C", root, "BUILD=" + build, *arguments], check=True)
for directive in "license", "version", "depends_on":
    setattr(package, directive, lambda *words, **more: said.append(words[0]))
sys.modules.update({"spack": spack, "spack.package": package})
names = {"__file__": recipe, "__name__": "recipe"}
exec(compile(source, recipe, "exec"), names)
names["Redist"]().install(None, prefix)
assert names["Redist"].git == "file://" + root, names["Redist"].git
assert {"mpi", "main", version} <= set(said), (version, said)
EOT
    check 'the Spack recipe' python3 -B "$work/recipe.py" "$root" \
        "$root/examples/packaging/spack/packages/redist/package.py" "$(version_in_header)" "$BUILD" "$work/spack"
    check 'what Spack installs' sh -c "cd '$work' && diff -r -x redist.pc place spack"
}

prefer_clang
write_programs
check 'make install' make_here install PREFIX="$work/place"
check 'the installed files' everything_is_there
check_compiled 'by hand' "$work/place/share/redist/fortran" -I"$work/place/include"
check 'the library for Python by hand' $MPICC -std=c99 -shared -fPIC -I"$work/place/include" \
    -o "$work/redist_python.so" "$work/place/share/redist/python/redist_python.c"
if have pkg-config; then
    check 'the flags of redist.pc' test "$(flags --cflags | sed 's/ *$//')" = "-I$work/place/include"
    check 'make install with a space' make_here install PREFIX="$work/a place"
    check 'the flags of redist.pc with a space' test \
        "$(PKG_CONFIG_PATH="$work/a place/share/pkgconfig" pkg-config --cflags redist | sed 's/ *$//')" = \
        "-I$(echo "$work/a place/include" | sed 's/ /\\ /g')"
    check 'the version of redist.pc' test "$(flags --modversion)" = "$(version_in_header)"
    check 'the Fortran sources of redist.pc' test "$(flags --variable=fortrandir)" = "$work/place/share/redist/fortran"
else
    skip 'no pkg-config'
fi
if have cmake; then check_cmake; else skip 'CMake, no cmake'; fi
if have python3; then check_spack; else skip 'the Spack recipe, no python3'; fi
printf 'another file' >"$work/place/include/other.h"
check 'make uninstall' make_here uninstall PREFIX="$work/place"
check 'make uninstall leaves what it did not install' test "$(listed "$work/place")" = ./include/other.h
check 'make install with DESTDIR' make_here install PREFIX=/usr DESTDIR="$work/stage"
check 'DESTDIR is no part of redist.pc' grep -qx 'prefix=/usr' "$work/stage/usr/share/pkgconfig/redist.pc"
check 'make uninstall with DESTDIR' make_here uninstall PREFIX=/usr DESTDIR="$work/stage"
check 'nothing is left' nothing_is_there "$work/stage"
report
