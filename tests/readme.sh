#!/bin/sh
# Runs every C snippet of README.md and examples/README.md on 4 ranks and checks its result, and also a spoilt version,
# which must fail. (fortran.sh runs the Fortran snippet.) Checks that names, files and examples in the texts exist. MIT
# licence, see LICENSE.
# environment: BUILD (where to write; redist.o), MPICC, MPIEXEC, YIELDING (see tests/run)
. "${0%/*}/lib.sh"
texts="$root/README.md $root/examples/README.md"
cd "$work" || exit 1

# The code around each snippet, selected by the first word of its first comment: code before it, code after it that adds
# to `bad`, and a sed expression that spoils it.
about() {
    before='' after='' spoil=''
    case $1 in
        rows)
            before='int step, steps = 3; (void)steps;'
            spoil='s/execute(plan, a, b)/execute(plan, a, a)/' ;;
        pencils)
            after='fill(&along_x, a); redist_execute(plan, a, b); bad += wrong(&along_y, b);
                redist_layout_shape(&along_y, rank, &shape); bad += shape.stride[1] != 1;'
            spoil='s/{0, 2, 1}/{0, 1, 2}/' ;;
        halo)
            after='for (k = 0; k < 4000; k++) a[k] = -1;
                fill(&bricks, a); redist_execute(plan, a, a); redist_layout_shape(&bricks, rank, &shape);
                for (i = -1; i <= shape.count[0]; i++) for (j = -1; j <= shape.count[1]; j++)
                    bad += a[shape.origin + i * shape.stride[0] + j * shape.stride[1]] !=
                           value((shape.first[0] + i + n) % n, (shape.first[1] + j + m) % m, 0);'
            spoil='s/REDIST_PERIODIC/REDIST_CLOSED/' ;;
        accumulation)
            before='n = 20;'
            after='for (k = 0; k < 9; k++) a[k] = 1;
                redist_execute(plan, a, a); for (k = 0; k < 5; k++) bad += a[2 + k] != (k == 2 ? 1 : 2);'
            spoil='s/0, 2, 2)/0, 1, 1)/' ;;
        transpose)
            before='double alpha = 0.5, beta = 2;'
            after='fill(transposed(&of_a), a); fill(&of_c, b); redist_execute(plan, a, b);
                for (i = 0; i < n; i++) for (j = 0; j < m; j++) { const int64_t at[2] = {i, j};
                    if (redist_layout_owner(&of_c, at) == rank)
                        bad += b[redist_layout_offset(&of_c, at)] != beta * value(i, j, 0) + alpha * value(j, i, 0); }'
            spoil='s/{alpha, 0}, {beta, 0}/{beta, 0}, {alpha, 0}/' ;;
        ScaLAPACK)
            before='int lld_a = 60, lld_b = 30;'
            after='redist_layout all_a = redist_from_scalapack(desc_a, p1, p2);
                redist_layout all_b = redist_from_scalapack(desc_b, p2, p1);
                for (k = 0; k < 4000; k++) b[k] = -1;
                fill(&all_a, a); redist_execute(plan, a, b);
                for (i = 0; i < 30; i++) for (j = 0; j < 30; j++) { const int64_t at[2] = {i, j};
                    if (redist_layout_owner(&all_b, at) == rank)
                        bad += b[redist_layout_offset(&all_b, at)] !=
                            (i < 20 && j < 10 ? value(i + 10, j + 5, 0) : -1); }'
            spoil='s/1, 5, 10, 1)/1, 4, 10, 1)/' ;;
        complex)
            after='for (k = 0; k < redist_layout_local_size(&complexes, rank); k++) a[k] = k % 2 == 0 ? -1 : (double)k + rank;
                redist_execute(plan, a, b);
                redist_layout_shape(&doubles, rank, &shape);
                for (i = 0; i < n; i++) for (j = 0; j < shape.count[1]; j++)
                    bad += b[shape.origin + i * shape.stride[0] + j * shape.stride[1]] !=
                        (double)(2 * (i % 13 * m + shape.first[1] + j) + 1 + i / 13);'
            spoil='s/2, 1, 1, 1)/2, 0, 1, 1)/' ;;
        tiles)
            after='for (i = 0; i < 3; i++) for (j = 0; j < 8; j++) a[8 * i + j] = value(i + 3 * rank, j, 0);
                redist_execute(plan, a, b);
                for (k = 0; k < 2; k++) for (j = 0; j < 4; j++) for (i = 0; i < 6; i++)
                    bad += rank / 2 + 2 * k < 4 && rank % 2 + 2 * j < 4 && b[12 * k + 6 * j + i] !=
                        value(3 * (rank / 2 + 2 * k) + i / 2, 2 * (rank % 2 + 2 * j) + i % 2, 0);'
            spoil='s/{0, 2, 1, 3}/{0, 1, 2, 3}/' ;;
        patches)
            after='for (k = 0; k < 200; k++) a[k] = -1;
                fill(&patches, a); redist_execute(plan, a, a);
                for (k = 0; k < 3; k++) if (ranks[k] == rank) { redist_layout_place_shape(&patches, (int)k, &shape);
                    for (i = -1; i <= shape.count[0]; i++) for (j = -1; j <= shape.count[1]; j++) {
                        const int64_t at[2] = {shape.first[0] + i, shape.first[1] + j};
                        bad += a[shape.origin + i * shape.stride[0] + j * shape.stride[1]] !=
                            (redist_layout_owner(&patches, at) < 0 ? -1 : value(at[0], at[1], 0)); } }'
            spoil='s/&ghosts, MPI/\&patches, MPI/' ;;
        malloc)
            before="$matrices int ranks[8]; int64_t offsets[8]; /* far apart, the first behind the second */
                double *block[2] = {malloc(4000000), malloc(8000)};"
            after='bad += 8 * redist_layout_local_size(&blocks, rank) < 4000; fill(&blocks, lowest);
                redist_execute(plan, lowest, b);
                bad += wrong(&columns, b); free(block[0]), free(block[1]);'
            spoil='s/block\[k . p\] - /block[0] - /' ;;
        depth)
            after='for (k = 0; k < 30; k++) a[k] = -1;
                fill(&bricks, a); redist_execute(plan, a, a); redist_layout_shape(&bricks, rank, &shape);
                for (i = -3; i < shape.count[0] + 3; i++)
                    bad += a[shape.origin + i] != (i < -1 || i > shape.count[0] ? -1 :
                        value((shape.first[0] + i + n) % n, 0, 0));'
            spoil='s/0, 1, 1)/0, 2, 1)/' ;;
        fields)
            before='int64_t cells[5], faces[5];'
            after='for (k = 0; k < 30; k++) a[k] = b[k] = -1;
                fill(&pressure, a); fill(&velocity, b); redist_execute_many(plan, from, to);
                bad += wrong_ghosts(&pressure, a, n) + wrong_ghosts(&velocity, b, n + 1);'
            spoil='s/&around_velocity, MPI/\&velocity, MPI/' ;;
        boxes)
            after='fill(&boxes, a); redist_execute(plan, a, b); bad += wrong(&rows, b);'
            spoil='s/{8, 5}/{8, 6}/' ;;
        other)
            after='fill(&simulated, a); redist_execute(plan, rank < 3 ? a : NULL, rank == 3 ? b : NULL);
                for (i = 0; rank == 3 && i < n; i++) bad += b[i] != value(i, 0, 0);'
            spoil='s/redist_whole(n)), 3)/redist_whole(n)), 2)/' ;;
        several)
            before="$matrices redist_arena *arena; size_t bytes = 4 * 65536;"
            after='fill(&rows, u); fill(&columns, z); fill(&rows, v);
                for (k = 0; k < redist_layout_local_size(&rows, rank); k++) v[k] *= 2;
                redist_execute_many(plan, from, to); bad += wrong(&columns, w);
                for (k = 0; k < redist_layout_local_size(&columns, rank); k++) bad += z[k] != 2 * w[k];
                redist_plan_free(&plan); redist_arena_free(&arena);'
            spoil='s/{w, z}/{z, w}/' ;;
        little)
            before="n = 256, m = 256; $matrices"
            after='fill(&rows, a); redist_execute(plan, a, b);
                bad += wrong(&columns, b) + (stats.buffer_bytes > 65536);'
            spoil='s/= 65536/= 0/' ;;
        measured)
            before="$matrices int saved = 0, run, first = 0; for (run = 0; run < 2; run++) {"
            after='fill(&rows, a); redist_execute(plan, a, b); bad += wrong(&columns, b) + (saved == REDIST_AUTO);
                first = run == 0 ? saved : first; bad += saved != first; redist_plan_free(&plan); }'
            spoil='s/saved = .*;/saved = REDIST_AUTO;/' ;;
        existing)
            before="$matrices redist_arena *arena; size_t bytes = 80000;
                double *u = malloc(bytes), *w = malloc(bytes); fill(&rows, u);"
            after='bad += wrong(&rows, u) + wrong(&columns, w);
                redist_plan_free(&plan); redist_arena_free(&arena); free(u); free(w);'
            spoil='s/adopt(arena, w/adopt(arena, u/' ;;
        arrivals)
            before="$matrices int done = 0, source, named[4] = {0};
                redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, NULL, &plan); fill(&rows, a);"
            after='for (k = 0; k < p; k++) bad += named[k] != 1;
                bad += wrong(&columns, b);'
            spoil='s/redist_test(plan, &done)/done = 1/' ;;
        text)
            before='redist_layout layout; char message[200];'
            after='bad += redist_layout_places(&layout) != 4;'
            spoil='s/block@2/block@3/' ;;
        grid)
            before='int grid[2]; int64_t extents[3] = {nx, ny, nz}; double seconds = -1; redist_cost cost;
                redist_layout sequence[16];'
            after='bad += all_pencils(grid, sequence, 16, extents) != 5 || seconds < 0;
                redist_plan_create(MPI_COMM_WORLD, &sequence[0], &sequence[1], MPI_DOUBLE, NULL, &plan);
                bad += redist_layout_places(&sequence[2]) != p;
                fill(&sequence[0], a); redist_execute(plan, a, b); bad += wrong(&sequence[1], b);'
            spoil='s/(p, 2,/(p + 1, 2,/' ;;
    esac
}
matrices='redist_layout rows = redist_layout_2d(redist_block(n, p), redist_whole(m));
    redist_layout columns = redist_layout_2d(redist_whole(n), redist_block(m, p));'

write_prologue() {
    cat <<'C'
#define REDIST_DECLARATIONS_ONLY
#include "redist_plan.h"
#include <stdlib.h>
static int rank, p, bad;
static double value(int64_t i, int64_t j, int64_t k) { return (double)((i * 300 + j) * 300 + k + 1); }
static int64_t extent(const redist_layout *x, int d) { return d < x->ndim ? x->dim[d].axis.count : 1; }
static int visit(const redist_layout *x, double *a, int filling)
{
    int64_t at[REDIST_MAX_DIMS] = {0};
    int differ = 0;
    for (at[0] = 0; at[0] < extent(x, 0); at[0]++)
        for (at[1] = 0; at[1] < extent(x, 1); at[1]++)
            for (at[2] = 0; at[2] < extent(x, 2); at[2]++)
                if (redist_layout_owner(x, at) == rank) {
                    double *element = a + redist_layout_offset(x, at), what = value(at[0], at[1], at[2]);
                    differ += !filling && *element != what;
                    *element = what;
                }
    return differ;
}
static void fill(const redist_layout *x, double *a) { visit(x, a, 1); }
static int wrong(const redist_layout *x, double *b) { return visit(x, b, 0); }
static int wrong_ghosts(const redist_layout *x, const double *a, int64_t n) /* one on either side, closed */
{
    redist_shape shape;
    int64_t i;
    int differ = 0;
    redist_layout_shape(x, rank, &shape);
    for (i = -1; i <= shape.count[0]; i++) {
        const int64_t at = shape.first[0] + i;
        differ += a[shape.origin + i] != (at < 0 || at >= n ? -1 : value(at, 0, 0));
    }
    return differ;
}
static int wrong_from(int source, const redist_layout *x, const redist_layout *y, const double *b)
{
    int64_t at[2];
    int differ = 0;
    for (at[0] = 0; at[0] < extent(x, 0); at[0]++)
        for (at[1] = 0; at[1] < extent(x, 1); at[1]++)
            if (redist_layout_owner(x, at) == source && redist_layout_owner(y, at) == rank)
                differ += b[redist_layout_offset(y, at)] != value(at[0], at[1], 0);
    return differ;
}
static redist_layout copy;
static const redist_layout *transposed(const redist_layout *x) { copy = redist_transposed(*x); return &copy; }
static void must(int code, const char *call)
{
    if (code != REDIST_OK) {
        fprintf(stderr, "%s: %s\n", call, redist_strerror(code));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define redist_plan_create(...) must(redist_plan_create(__VA_ARGS__), "redist_plan_create")
#define redist_plan_create_parts(...) must(redist_plan_create_parts(__VA_ARGS__), "redist_plan_create_parts")
#define redist_execute(...) must(redist_execute(__VA_ARGS__), "redist_execute")
#define redist_execute_many(...) must(redist_execute_many(__VA_ARGS__), "redist_execute_many")
#define redist_start(...) must(redist_start(__VA_ARGS__), "redist_start")
#define redist_wait(...) must(redist_wait(__VA_ARGS__), "redist_wait")
#define redist_arena_create(...) must(redist_arena_create(__VA_ARGS__), "redist_arena_create")
#define redist_arena_adopt(...) must(redist_arena_adopt(__VA_ARGS__), "redist_arena_adopt")
#define redist_arena_release(...) must(redist_arena_release(__VA_ARGS__), "redist_arena_release")
#define redist_arena_free(...) must(redist_arena_free(__VA_ARGS__), "redist_arena_free")
#define redist_plan_free(...) must(redist_plan_free(__VA_ARGS__), "redist_plan_free")
#define sweep_rows(a) fill(&rows, a)
#define sweep_columns(b) bad += wrong(&columns, b)
#define compute_inner(a) (void)a
#define add_rows(b, source) bad += wrong_from(source, &rows, &columns, b), named[source]++
C
}

write_function() { # name, snippet, spoil
    cat <<C
static void $1(void)
{
    redist_plan *plan = NULL;
    redist_options options = {0};
    redist_stats stats;
    redist_shape shape;
    int64_t n = 50, m = 30, nx = 12, ny = 10, nz = 9, i, j, k;
    int p1 = 2, p2 = 2, all = 0;
    double *a = calloc(100000, sizeof *a), *b = calloc(100000, sizeof *b);
    {$before
C
    sed "/^static/,/^}/d; $3" "$2"
    cat <<C
    $after}
    redist_plan_free(&plan);
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(a), free(b);
    if (rank == 0) fprintf(stderr, "$1: %d wrong\\n", all);
    bad = 0;
}
C
}

write_program() { # snippet, spoil
    write_prologue
    sed -n '/^static/,/^}/p' "$1"
    write_function snippet "$1" ''
    write_function spoilt "$1" "$2"
    cat <<'C'
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    snippet();
    spoilt();
    MPI_Finalize();
    return 0;
}
C
}

check_snippet() { # snippet: right, and wrong when it is spoilt
    name=$(head -n 1 "$1" | sed -n 's|^/\* \([A-Za-z]*\).*|\1|p')
    about "$name"
    [ -n "$spoil" ]
    count $? "a snippet begins with the unknown word '$name'"
    write_program "$1" "$spoil" >program.c
    check "the snippet '$name' compiles" \
        $MPICC -std=c99 -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter -I"$root" -o program program.c "$object"
    timeout -k 5 60 $MPIEXEC -n 4 $YIELDING ./program >/dev/null 2>output </dev/null
    grep -qx 'snippet: 0 wrong' output
    count $? "the snippet '$name'"
    ! grep -qx 'spoilt: 0 wrong' output
    count $? "the snippet '$name' passes although it is spoilt"
}

# Names of redist that no file has, except in the table of renamed ones.
unknown_names() {
    for text in $texts; do sed '/^## Renamed/q' "$text"; done | grep -oE '\b(redist|REDIST)_[A-Za-z0-9_]+' | sort -u | while read -r name; do
        grep -qw -e "$name" "$root/redist.h" "$root/redist_plan.h" "$root/examples/fortran/redist.f90" \
            "$root/Makefile" || echo "$name"
    done
}

dead_links() {
    for text in $texts; do
        grep -oE '\]\([^)#]+' "$text" | cut -c3- | while read -r link; do
            [ -e "$(dirname "$text")/$link" ] || echo "$text: $link"
        done
    done
}

missing_examples() {
    for example in "$root"/examples/*.c; do
        grep -q "\`$(basename "$example" .c)\`" "$root/examples/README.md" || echo "$example"
    done
}

# Programs in build/ that a text mentions but does not say how to make.
unbuilt_programs() {
    for text in $texts; do
        grep -oE '`build/[a-z]+' "$text" | cut -c2- | sort -u | while read -r program; do
            name=${program#build/}
            grep -q "make $program" "$text" && continue
            [ -e "$root/examples/$name.c" ] && grep -q 'make examples' "$text" || echo "$text: $program"
        done
        grep -oE 'make build/[a-z]+' "$text" | while read -r _ program; do
            ls "$root"/*/"${program#build/}.c" >/dev/null 2>&1 || echo "$text: make $program"
        done
    done
}

none() { [ -z "$("$1" | tee "$work/found")" ] || { cat "$work/found" && false; }; }

# Snippets begin at the left margin; indented code is a separate file.
awk '/^ *```c$/ { inside = 1; name = (/^ / ? "file." : "snippet.") sprintf("%02d", ++k); next }
    /^ *```$/ { inside = 0 }
    inside { sub(/^  #/, "#"); print >name }' $texts
object=$BUILD/redist.o
prefer_clang
cat file.* >implementation.c
$MPICC -std=c99 -O0 -I"$root" -c implementation.c -o implementation.o >output 2>&1
count $? 'the file with the implementation'
[ -e "$object" ] || object=implementation.o
for snippet in snippet.*; do check_snippet "$snippet"; done
check 'the READMEs mention unknown names' none unknown_names
check 'links are broken' none dead_links
check 'programs are mentioned, but not how to make them' none unbuilt_programs
check 'examples are missing in examples/README.md' none missing_examples
[ "$(wc -l <"$root/README.md")" -le 250 ]
count $? 'README.md has more than 250 lines'
[ "$passed" -ge 85 ]
count $? "only $passed checks: are snippets missing?"
report
