#!/bin/sh
# Checks that the headers compile and link in every language, with every compiler, order of inclusion and linkage, and
# that no test is forgotten. MIT licence, see LICENSE.
# environment: BUILD (where to write), MPICC, MPIEXEC
. "${0%/*}/lib.sh"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

cd "$work" || exit 1

# The MPI include directories, as system directories: their warnings are not ours, nor are their C++ bindings.
mpi_flags='-DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX'
for word in $($MPICC -show 2>/dev/null); do
    case $word in -I*) mpi_flags="$mpi_flags -isystem ${word#-I}" ;; esac
done

flags_of() { # header: what it needs beyond the root directory
    case $1 in *plan*) echo "$mpi_flags" ;; esac
}

# ---- sources ----

source_of() { # header... : a file that includes them in this order
    for header in "$@"; do echo "#include \"$header\""; done
    echo "int structure_unit(void);"
    echo "int structure_unit(void) { return 0; }"
}

write_sources() {
    for header in redist.h redist_plan.h; do
        source_of $header >alone_$header.c
        source_of $header $header >twice_$header.c
    done
    source_of redist.h redist_plan.h >forward_redist_plan.h.c
    source_of redist_plan.h redist.h >backward_redist_plan.h.c
    {
        echo '#include <stdlib.h>'
        echo 'static inline void *hook_malloc(size_t bytes) { return malloc(bytes); }'
        echo 'static inline void hook_free(void *memory) { free(memory); }'
        echo 'static inline void hook_yield(void) { }'
        echo '#define REDIST_MALLOC(bytes) hook_malloc(bytes)'
        echo '#define REDIST_FREE(memory) hook_free(memory)'
        echo '#define REDIST_YIELD() hook_yield()'
        echo '#define REDIST_ASSERT(condition) ((void)0)'
        source_of redist_plan.h
    } >hooks_redist_plan.h.c
    write_units
}

# Two units that both use a layout (and a plan), so that both contain the headers' definitions.
write_units() {
    for unit in first second; do
        {
            echo '#include "redist.h"'
            echo "int64_t ${unit}_unit(int64_t n);"
            echo "int64_t ${unit}_unit(int64_t n) { redist_layout x = redist_layout_1d(redist_cyclic(n, 2));"
            echo "    return redist_layout_check(&x) + redist_layout_local_size(&x, 1); }"
        } >${unit}_redist.h.c
        sed 's/redist\.h/redist_plan.h/
            s/return/redist_plan *plan = NULL; return n < 0 ? redist_plan_free(\&plan) :/' \
            ${unit}_redist.h.c >${unit}_redist_plan.h.c
    done
    {
        echo '#include <stdint.h>'
        echo 'int64_t first_unit(int64_t n);'
        echo 'int64_t second_unit(int64_t n);'
        echo 'int main(void) { return first_unit(10) != 5 || second_unit(11) != 5; }'
    } >main.c
}

# ---- compiling ----

compile() { # compiler standard source header flags... : an object of the same name
    compiler=$1 standard=$2 source=$3 header=$4
    shift 4
    language=c
    case $standard in *++*) language=c++ ;; *) set -- -Wc++-compat "$@" ;; esac
    check "$compiler -std=$standard $* $source" \
        $compiler -x $language -std=$standard $warnings -I"$root" $(flags_of $header) "$@" \
        -c "$source" -o "$source.o"
}

compile_alone() { # compiler standard
    for header in redist.h redist_plan.h; do compile $1 $2 alone_$header.c $header -fsyntax-only; done
}

compile_orders() { # compiler standard
    for header in redist.h redist_plan.h; do compile $1 $2 twice_$header.c $header -fsyntax-only; done
    compile $1 $2 forward_redist_plan.h.c redist_plan.h -fsyntax-only
    compile $1 $2 backward_redist_plan.h.c redist_plan.h -fsyntax-only
}

compile_options() { # compiler standard
    for header in redist.h redist_plan.h; do
        compile $1 $2 alone_$header.c $header -O2
        compile $1 $2 alone_$header.c $header -fsyntax-only -DREDIST_API=static -Wno-unused-function
        compile $1 $2 alone_$header.c $header -DREDIST_MAX_DIMS=1 -O2
    done
    compile $1 $2 hooks_redist_plan.h.c redist_plan.h -fsyntax-only
}

# What can be left out: each alone, in every way to include, and all together.
compile_without() { # compiler standard
    for macro in SMALL NO_TEXT NO_SHARED NO_COLLECTIVES NO_SCHEDULED NO_MULTIPHASE NO_NODES; do
        compile $1 $2 alone_redist_plan.h.c redist_plan.h -fsyntax-only -DREDIST_$macro
    done
    compile $1 $2 alone_redist_plan.h.c redist_plan.h -fsyntax-only -DREDIST_SMALL -DREDIST_NO_TEXT=1 \
        -DREDIST_DECLARATIONS_ONLY
    compile $1 $2 alone_redist_plan.h.c redist_plan.h -fsyntax-only -DREDIST_SMALL \
        -DREDIST_IMPLEMENTATION
}

compile_with() { # compiler, standard, later standard
    compiler_name=$1
    if have "$compiler_name"; then
        compile_alone "$compiler_name" "$2"
        compile "$compiler_name" "$3" alone_redist_plan.h.c redist_plan.h -fsyntax-only
        case $compiler_name in # one compiler of each language
            gcc | clang++)
                compile_orders "$compiler_name" "$2"
                compile_options "$compiler_name" "$2"
                compile_without "$compiler_name" "$2"
                ;;
        esac
    else
        skip "no $compiler_name"
    fi
}

# ---- symbols ----

# No external symbol (except the unit's own), and no writable data. Without -fno-pie, constant tables of pointers are
# relocated at load, and nm lists them as data.
no_symbols() { # object
    nm "$1" >symbols || return 1
    cat symbols
    ! grep -E ' [TDBRCGSVWuiw] ' symbols | grep -vE ' (structure_unit|[a-z]+_unit)$' | grep -q . &&
        ! grep -qE ' [dbDBCGgSs] ' symbols
}

check_symbols() { # compiler header flag
    compile "$1" c99 alone_$2.c $2 -fno-pie -fno-pic $3
    check "$1: symbols of $2 $3" no_symbols alone_$2.c.o
}

# The check above must be able to fail: functions that the compiler must keep are present, and all are local.
check_kept() { # header
    check "gcc: nothing kept of $1" sh -c "nm alone_$1.c.o | grep -qE ' t redist_'"
}

check_all_symbols() {
    have nm || { skip "no nm"; return; }
    for header in redist.h redist_plan.h; do
        if have clang; then check_symbols clang $header -O0; fi
        if have gcc; then
            check_symbols gcc $header "-fkeep-inline-functions"
            check_kept $header
        fi
    done
}

# ---- linking ----

check_linked() { # compiler of the units, header, linker
    for unit in first second; do compile "$1" c99 ${unit}_$2.c $2 -O1; done
    rm -f linked
    check "$1: two units with $2 linked" $3 -o linked main.c first_$2.c.o second_$2.c.o
    case $2 in redist.h) check "$1: two units with $2 run" ./linked ;; esac
}

# One C unit and one C++ unit with the same header.
check_mixed() { # C compiler, C++ compiler
    compile "$1" c99 first_redist.h.c redist.h -O1
    sed 's/^int64_t second_unit/extern "C" &/' second_redist.h.c >mixed_redist.h.c
    compile "$2" c++11 mixed_redist.h.c redist.h -O1
    rm -f linked
    check "$1 and $2: linked" $1 -o linked main.c first_redist.h.c.o mixed_redist.h.c.o
    check "$1 and $2: run" ./linked
}

check_all_links() {
    for compiler_name in gcc clang; do
        if have $compiler_name; then
            check_linked $compiler_name redist.h $compiler_name
            check_linked $compiler_name redist_plan.h "$MPICC"
        fi
    done
    if have gcc && have g++; then check_mixed gcc g++; fi
    if have clang && have clang++; then check_mixed clang clang++; fi
}

# ---- the tests themselves ----

# The programs and scripts in tests/list, by the names of their files, without the suffix for how they are compiled.
listed() { awk '!/^#/ && NF > 0 { sub(/\.(pieces|named|small|NO_[A-Z]+)$/, "", $1); print $1 }' "$root/tests/list" | sort -u; }

present() { (cd "$root/tests" && ls ./*.c ./*.sh) | sed 's|^\./||; s|\.c$||' | grep -vx lib.sh | sort; }

check_list() {
    listed >listed.txt
    present >present.txt
    check "every test is in tests/list, and only tests are" diff present.txt listed.txt
}

# The tables that bench/results.sh writes must be those of RESULTS.md.
check_results() {
    { echo machine && sed -n 's/.*| write \([a-z]*\)$/\1/p; s/^ *write \([a-z]*\)$/\1/p' "$root/bench/results.sh"; } |
        sort >written.txt
    sed -n 's/^<!-- \([a-z]*\): written by make results.*/\1/p' "$root/bench/RESULTS.md" | sort >tables.txt
    check "RESULTS.md has a place for every table of results.sh" diff written.txt tables.txt
}

# Whether tests/run counts a test with this report and exit status as passed.
run_accepts() { # status, report
    rm -rf suite
    mkdir suite
    cp "$root/tests/run" suite
    printf 'echo "%s"\nexit %s\n' "$2" "$1" >suite/probe.sh
    printf 'echo "other.sh: 1 passed, 0 failed, 0 skipped"\n' >suite/other.sh
    printf 'other.sh 0 5\nprobe.sh 0 5\n' >suite/list
    sh suite/run suite
}

run_refuses() { ! run_accepts "$@"; }

check_run() {
    check "tests/run takes what passes" run_accepts 0 'probe.sh: 2 passed, 0 failed, 0 skipped'
    check "tests/run takes what is skipped" run_accepts 0 'probe.sh: 0 passed, 0 failed, 1 skipped'
    check "tests/run refuses what reports nothing" run_refuses 0 'probe.sh: 0 passed, 0 failed, 0 skipped'
    check "tests/run refuses what has no report" run_refuses 0 'all is well'
    check "tests/run refuses what fails" run_refuses 0 'probe.sh: 2 passed, 1 failed, 0 skipped'
    check "tests/run refuses what ends badly" run_refuses 1 'probe.sh: 2 passed, 0 failed, 0 skipped'
}

# ---- what must not compile ----

# misuse HEADER PARAMETERS: writes misuse.c, where line k + 1 is a function of line k of the input
misuse() { awk -v header="$1" -v parameters="$2" '
    BEGIN { print "#include \"" header "\"" }
    { print "void f" NR "(" parameters ") { " $0 "; }" }' >misuse.c; }

# refuse COMPILER LANGUAGE FLAGS...: misuse.c does not compile; `said` looks at what the compiler says
refuse() {
    compiler=$1 language=$2
    shift 2
    check "$compiler $*: misuse.c is refused" fails_with error \
        $compiler -x $language -DREDIST_DECLARATIONS_ONLY $mpi_flags -I"$root" "$@" -c misuse.c -o unused.o
}

said() { check "$compiler: $1" sh -c 'grep -q -e "$0" failure || { cat failure && false; }' "$2"; } # what, pattern

# What is left out is not declared: its use is an error, or a warning and an error of the linker, that names it.
check_left_out() { # compiler language
    cat >TEXT <<'EOT'
(void)redist_layout_print(0, 0)
(void)redist_layout_format(0, 0, 0)
(void)redist_layout_parse_size(0)
(void)redist_layout_parse(0, 0, 0, 0, 0, 0)
(void)redist_plan_print(0, 0)
EOT
    printf '(void)%s.procs\n' 'redist_owners(0, 0, 1)' 'redist_lists(0, 0, 0, 1)' >LISTS
    for without in NO_TEXT:TEXT NO_LISTS:LISTS SMALL:TEXT SMALL:LISTS; do
        misuse redist_plan.h void <${without#*:}
        refuse $1 $2 -Werror=implicit-function-declaration -DREDIST_${without%:*}
        for name in $(sed 's/(void)//; s/(.*//' ${without#*:}); do said "$name" "misuse.c.*error.*[^a-z_]$name[^a-z_]"; done
    done
}

# A builder's dropped result is an error here.
check_dropped() { # compiler language
    printf '%s\n' 'redist_block(8, 2)' 'redist_layout_1d(x)' 'redist_memory_order(y, REDIST_COLUMN_MAJOR)' >dropped
    misuse redist.h 'redist_axis x, redist_layout y' <dropped
    refuse $1 $2 -Werror
    line=1
    while read -r call; do
        line=$((line + 1))
        said "$call dropped" "misuse.c:$line:.*unused.result"
    done <dropped
}

# A name before 1.0 is an error that says today's.
check_renamed() { # compiler language
    sed -n 's/^#define \(redist_[a-z_]*\)(...) \1_is_now_\(redist_[a-z_]*\)$/\1 \2/p' "$root/redist.h" >renamed
    check 'old names are found' test "$(wc -l <renamed)" -ge 9
    sed 's/ .*/(0, 1)/' renamed >calls
    misuse redist.h void <calls
    refuse $1 $2 -Werror=implicit-function-declaration
    while read -r old new; do
        said $old "error.*${old}_is_now_$new"
        check "$new is a function" grep -q " $new(" "$root/redist.h"
    done <renamed
}

# Calls, types and members as they were before 1.0 do not compile.
check_changed() { # compiler language
    cat >changed <<'EOT'
too few arguments\|no matching function#(void)redist_volume(x, 0, x, 1)
too few arguments\|no matching function#(void)redist_cost_of(x, x, 8, c)
too few arguments\|no matching function#(void)redist_relabel(x, x, ranks)
storage size\|incomplete type#redist_schedule s; (void)s
no member named .kept#redist_traffic t; t.kept = 0
no member named .bytes_kept#redist_stats s; s.bytes_kept = 0
no member named .from#redist_options o; o.from = 0
incompatible\|invalid conversion#redist_options o; o.combine = sum
EOT
    sed 's/.*#//' changed >statements
    misuse redist_plan.h \
        'redist_layout *x, redist_cost *c, int *ranks, void sum(void *, const void *, int64_t, void *)' <statements
    refuse $1 $2 -Werror
    line=1
    while IFS='#' read -r sentence statement; do
        line=$((line + 1))
        said "$statement" "misuse.c:$line:.*\\($sentence\\)"
    done <changed
}

# ---- three ways to include ----

write_linked() {
    {
        echo '#define REDIST_IMPLEMENTATION'
        source_of redist_plan.h
    } >implementation.c
    sed 's/^#define.*/&\n#define REDIST_DECLARATIONS_ONLY/
        s/.*redist_plan.h"/#include "redist.h"\n&/' implementation.c >both.c
    cat >declared.h <<'EOT'
#define REDIST_DECLARATIONS_ONLY
#include "redist_plan.h"
#ifdef __cplusplus
extern "C" {
#endif
int axes_unit(int procs);
int plan_unit(const redist_layout *from, const redist_layout *to, int rank, double *a, double *b);
#ifdef __cplusplus
}
#endif
EOT
    cat >axes.c <<'EOT'
#include "declared.h"
int axes_unit(int procs)
{
    const redist_axis x = redist_starting_at(redist_block_cyclic(100, 3, procs), procs - 1);
    int64_t i, owned = 0;
    int c, wrong = 0;
    for (i = 0; i < 100; i++)
        wrong += redist_axis_owner(&x, i) != (int)((i / 3 + procs - 1) % procs) ||
                 redist_axis_global(&x, redist_axis_owner(&x, i), redist_axis_local(&x, i)) != i;
    for (c = 0; c < procs; c++)
        owned += redist_axis_count(&x, c);
    return wrong + (owned != 100);
}
EOT
    cat >plan.c <<'EOT'
#include "declared.h"
int plan_unit(const redist_layout *from, const redist_layout *to, int rank, double *a, double *b)
{
    redist_plan *plan = NULL;
    int64_t index[2];
    int wrong = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, NULL, &plan) != REDIST_OK;
    for (index[0] = 0; index[0] < 12; index[0]++)
        for (index[1] = 0; index[1] < 8; index[1]++)
            if (redist_layout_owner(from, index) == rank)
                a[redist_layout_offset(from, index)] = (double)(10 * index[0] + index[1]);
    if (wrong || redist_execute(plan, a, b) != REDIST_OK)
        return 1;
    for (index[0] = 0; index[0] < 12; index[0]++)
        for (index[1] = 0; index[1] < 8; index[1]++)
            if (redist_layout_owner(to, index) == rank)
                wrong += !(b[redist_layout_offset(to, index)] == (double)(10 * index[0] + index[1]));
    return wrong + (redist_plan_free(&plan) != REDIST_OK);
}
EOT
    cat >program.c <<'EOT'
#include "declared.h"
int main(int argc, char **argv)
{
    static double a[96], b[96];
    redist_layout rows, columns;
    int wrong, ranks, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rows = redist_layout_2d(redist_block(12, ranks), redist_whole(8));
    columns = redist_layout_2d(redist_whole(12), redist_cyclic(8, ranks));
    wrong = axes_unit(ranks) + plan_unit(&rows, &columns, rank, a, b);
    MPI_Finalize();
    return wrong;
}
EOT
}

names_of() { sed -nE 's/^REDIST_(AXIS_)?API [^(]*[ *](redist_[a-z0-9_]+)\(.*/\2/p' "$@" | sort -u; }

# The external symbols are exactly the public functions, and nothing is writable.
only_public() { # object
    nm "$1" >symbols
    grep -E ' [A-TV-Z] ' symbols | sed 's/.* //' | grep -v structure_unit | sort >exported
    names_of "$root/redist.h" "$root/redist_plan.h" | diff - exported && ! grep -E ' [dbDBCGgSsVW] ' symbols
}

check_implementation() { # compiler standard source
    compile $1 $2 $3 redist_plan.h -fno-pie -fno-pic
    check "$1: $3 exports the public functions and nothing else" only_public $3.o
}

check_declared() { # compiler standard flags... : files that only declare
    for unit in axes plan program; do compile $1 $2 $unit.c redist_plan.h -I. -O2 $3 $4; done
}

check_program() { # what
    check "$1: linked" $MPICC -no-pie -o linked axes.c.o plan.c.o program.c.o implementation.c.o
    check "$1: run" timeout 60 $MPIEXEC -n 2 ./linked
}

fails_with() { # sentence command...
    sentence=$1
    shift
    ! "$@" >failure 2>&1 && cat failure && grep -q "$sentence" failure
}

# What takes, returns or fills layouts and shapes, not only pointers to them, has REDIST_MAX_DIMS in its name.
has_dims_in_names() {
    sed -nE 's/^REDIST_PRIV_BUILDER redist_layout (redist_[a-z0-9_]+)\(.*/\1/p' "$root/redist.h" >by_value
    [ "$(wc -l <by_value)" -ge 25 ] || return
    for name in $(cat by_value) redist_layout_shape redist_layout_place_shape redist_layout_parse redist_phases \
        redist_best_grid; do
        grep -q "^#define $name REDIST_PRIV_SIZED($name, REDIST_MAX_DIMS)" "$root/redist.h" || { echo $name && return 1; }
    done
}

# Settings without effect do not compile, and incompatible ones do not link.
check_notices() {
    for hook in REDIST_MALLOC REDIST_NO_STREAMING REDIST_MAX_COUNT REDIST_YIELD; do
        check "a $hook that has no effect" fails_with 'do nothing in a file that only declares' \
            gcc $mpi_flags -I"$root" -I. -D$hook -c plan.c -o unused.o
    done
    for header in redist.h redist_plan.h; do
        for late in redist.h redist_plan.h; do
            printf '#include "%s"\n#define REDIST_IMPLEMENTATION\n#include "%s"\n' $header $late >late.c
            check "an implementation after $header" fails_with 'REDIST_IMPLEMENTATION before the first' \
                gcc $mpi_flags -I"$root" -c late.c -o unused.o
        done
    done
    check_declared gcc c99 -DREDIST_MAX_DIMS=4
    check 'names have the number of axes' has_dims_in_names
    check 'numbers of axes that differ' fails_with 'redist_layout_2d_max_dims_4' \
        $MPICC -no-pie -o linked axes.c.o plan.c.o program.c.o implementation.c.o
    check_declared gcc c99
    compile gcc c99 plan.c redist_plan.h -I. -O2 -DREDIST_MAX_DIMS=4
    check 'a plan of other numbers of axes' fails_with 'redist_plan_create_max_dims_4' \
        $MPICC -no-pie -o linked axes.c.o plan.c.o program.c.o implementation.c.o
    check_declared gcc c99 -DREDIST_MAX_DIMS=4
    compile gcc c99 implementation.c redist_plan.h -DREDIST_MAX_DIMS=4
    check_program 'gcc, 4 axes'
}

# Compilers must not warn about array bounds, whatever they infer: gcc infers most with -O2, and from values' ranges.
check_dims() { # axes, gcc's options
    if have gcc; then compile gcc c99 implementation.c redist_plan.h $2 $3 -DREDIST_MAX_DIMS=$1; fi
    if have clang++; then compile clang++ c++11 implementation.c redist_plan.h -DREDIST_MAX_DIMS=$1; fi
}

# tests/failing_calls.h wraps every MPI function that the library calls, except the clock.
check_failing() { # uses gcc's object of the implementation
    nm implementation.c.o | sed -n 's/.* U MPI_//p' | grep -v '^Wtime$' | sort >called
    sed -n '/define FAILING_CALLS/,/^$/p' "$root/tests/failing_calls.h" |
        grep -o 'X([A-Z][A-Za-z_]*' | sed 's/X(//' | sort >wrapped
    check 'every MPI call is made to fail' sh -c '! comm -23 called wrapped | grep .'
}

check_ways() {
    write_linked
    if have clang; then
        check_implementation clang c99 both.c
        check_implementation clang c99 implementation.c
        check_declared clang c99
        check_program clang
    fi
    if have g++; then
        check_implementation g++ c++11 implementation.c
        check_declared g++ c++11
        have clang && compile clang c99 plan.c redist_plan.h -I.
        check_program 'g++ and clang'
    fi
    if have gcc; then
        check_implementation gcc c99 implementation.c
        if have nm; then check_failing; fi
        check_declared gcc c99
        check_program gcc
        if have g++; then compile g++ c++11 program.c redist_plan.h -I.; fi
        check_program 'gcc and g++'
        check_notices
        for each in gcc:c clang:c g++:c++ clang++:c++; do
            if have ${each%:*}; then
                check_dropped ${each%:*} ${each#*:}
            fi
            case $each in gcc:c | clang++:c++) have ${each%:*} || continue ;; *) continue ;; esac
            check_renamed ${each%:*} ${each#*:}
            check_left_out ${each%:*} ${each#*:}
            check_changed ${each%:*} ${each#*:}
        done
    fi
    check_dims 1 -O2
    check_dims 16 -O1 -ftree-vrp
}

# ---- measurements ----

# The programs of bench/ are run by hand only, so no other test notices when they stop compiling.
check_benches() {
    for bench in "$root"/bench/*.c; do
        needed=
        case $bench in */fft.c) needed=fftw3-mpi.h ;; */spectral.c) needed=fftw3.h ;; esac
        [ -z "$needed" ] || echo "#include <$needed>" | $MPICC -E - >unused 2>&1 || continue
        declared=-DREDIST_DECLARATIONS_ONLY
        ! grep -qE 'redist_priv_|define REDIST_|"simulated.h"' "$bench" || declared=
        check "${bench##*/} compiles" $MPICC -std=c99 $warnings -fopenmp $declared -I"$root" -fsyntax-only "$bench"
    done
}

# ---- sizes ----

smaller() { # object bytes: of code
    size -A "$1" >sections
    cat sections
    awk -v limit="$2" '/^\.text/ { code += $2 } END { exit !(code > 0 && code < limit) }' sections
}

smaller_in_all() { # object bytes: of code, constants and unwind tables
    size "$1" >sections
    cat sections
    awk -v limit="$2" 'NR == 2 { exit !($1 > 0 && $1 < limit) }' sections
}

# The size of the code in a file that creates and executes a plan. Of the same code, gcc 14 makes 1.2% more than gcc 12.
check_sizes() {
    bytes=138000
    [ "$(gcc -dumpversion | cut -d. -f1)" -le 12 ] || bytes=139700
    sed 1d declared.h >static.h
    sed 's/declared.h/static.h/' plan.c >whole.c
    compile gcc c99 whole.c redist_plan.h -I. -O2
    check "gcc -O2: a plan in $bytes bytes" smaller whole.c.o $bytes
    compile gcc c99 whole.c redist_plan.h -I. -O2 -DREDIST_SMALL # gcc infers most of values here
    compile gcc c99 whole.c redist_plan.h -I. -Os -DREDIST_SMALL
    check 'gcc -Os, REDIST_SMALL: a plan in 54000 bytes of code' smaller whole.c.o 54000
    check 'gcc -Os, REDIST_SMALL: a plan in 65500 bytes in all' smaller_in_all whole.c.o 65500
    check_declared gcc c99
    check 'gcc -O2: a plan declared' smaller plan.c.o 4096
    check 'gcc -O2: axes declared' smaller axes.c.o 4096
}

check_list
check_results
check_run
write_sources
compile_with gcc c99 c11
compile_with clang c99 c11
compile_with g++ c++11 c++17
compile_with clang++ c++11 c++17
check_all_symbols
check_all_links
if have gcc; then check_benches; fi
check_ways
if have gcc && have size; then check_sizes; else skip "no gcc or no size"; fi
report
