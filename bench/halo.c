/* Ghost cells and combining, beside what a program without redist would do. MIT licence, see LICENSE.

   Halo exchange of a periodic brick of doubles on every rank, corners included: against messages of subarrays along one
   axis after the other, and against plain loops that fill the same cells from another array of the same process. B +=
   A^T with A += 1 after it, as ParRes' Transpose: against its MPI1 program. C := beta C + alpha A^T, block-cyclic:
   against ScaLAPACK's pdtran. Combining against moving. All contestants take turns; times are those of the slowest
   rank. */
#include <string.h>

#include "redist_plan.h"
#include "rivals.h"

enum { ALL, HALO, PARRES, TRAN, COMBINING };

typedef struct {
    int64_t rounds, largest;
    int only;
    int rank, ranks;
    redist_arena *arena;
    char *shared; /* of the arena */
} bench;

/* One of those that take turns. */
typedef struct {
    char name[48];
    void (*run)(void *what);
    void *what;
    double fastest, quartile;
} contestant;

static void take_turns(const bench *b, const char *what, contestant *c, int count, int64_t rounds,
                       int batch)
{
    double *times = allocate((size_t)(rounds * count) * sizeof *times);
    for (int64_t round = -1; round < rounds; round++) /* the first is for warming up */
        for (int k = 0; k < count; k++) {
            barrier();
            double begin = MPI_Wtime();
            for (int i = 0; i < batch; i++)
                c[k].run(c[k].what);
            begin = (MPI_Wtime() - begin) / batch;
            maxima(&begin, 1);
            times[k * rounds + (round < 0 ? 0 : round)] = begin; /* round 0 replaces the warm one */
        }
    if (b->rank == 0)
        printf("\n%s\n", what);
    for (int k = 0; k < count; k++) {
        c[k].quartile = lower_quartile(times + k * rounds, rounds);
        c[k].fastest = times[k * rounds]; /* sorted by now */
        figure(what, b->ranks, 0, c[k].name, rounds, c[k].quartile, c[k].fastest,
               c[k].quartile / c[0].quartile);
        if (b->rank == 0)
            printf("  %-32s %10.1f %8.2f %10.1f %8.2f\n", c[k].name, 1e6 * c[k].fastest,
                   c[k].fastest / c[0].fastest, 1e6 * c[k].quartile, c[k].quartile / c[0].quartile);
    }
    fflush(stdout);
    free(times);
}

static contestant enter(const char *name, void (*run)(void *), void *what)
{
    contestant c;
    snprintf(c.name, sizeof c.name, "%s", name);
    c.run = run;
    c.what = what;
    c.fastest = c.quartile = 0;
    return c;
}

/* ---- plans ---- */

enum { ARRAYS = MOST_FIELDS };

typedef struct {
    redist_plan *plan;
    double *from[ARRAYS], *to[ARRAYS];
} planned;

static void run_plan(void *what)
{
    planned *p = what;
    if (redist_execute_many(p->plan, (const void *const *)p->from, (void *const *)p->to) !=
        REDIST_OK)
        give_up("%s", redist_plan_message(p->plan));
}

static redist_plan *make_plan(const redist_layout *from, const redist_layout *to,
                              const redist_options *options)
{
    redist_plan *plan;
    char message[256];
    redist_options o = *options;
    o.message = message;
    o.message_size = sizeof message;
    if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &o, &plan) != REDIST_OK)
        give_up("%s", message);
    return plan;
}

/* Numbers that differ from element to element and from rank to rank, and are exact. */
static void fill(double *array, int64_t count, int seed)
{
    for (int64_t k = 0; k < count; k++)
        array[k] = (double)((k * 7919 + seed * 104729) % 1000003);
}

static int64_t differences(const double *a, const double *b, int64_t count)
{
    int64_t wrong = 0;
    for (int64_t k = 0; k < count; k++)
        wrong += a[k] != b[k];
    return wrong;
}

static void must_be_right(const char *what, int64_t wrong)
{
    double most = (double)wrong;
    maxima(&most, 1);
    if (most > 0)
        give_up("%s: %g elements are wrong", what, most);
}

/* ---- halo exchange ---- */

enum { SIDE = 128, MOST_CELLS = (SIDE + 4) * (SIDE + 4) * (SIDE + 4) };

typedef struct {
    int width, arrays;
    double *from[ARRAYS], *to[ARRAYS];
} loops;

/* One of the 26 parts of the ghost cells: on each axis below, inside or above. */
static void copy_part(const double *from, double *to, int64_t w, const int *part)
{
    const int64_t pitch = SIDE + 2 * w;
    int64_t begin[3], end[3], shift = 0;
    for (int d = 0; d < 3; d++) {
        begin[d] = part[d] < 0 ? 0 : part[d] == 0 ? w : SIDE + w;
        end[d] = part[d] < 0 ? w : part[d] == 0 ? SIDE + w : SIDE + 2 * w;
        shift = shift * pitch - part[d] * SIDE;
    }
    for (int64_t i = begin[0]; i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++)
            for (int64_t k = begin[2]; k < end[2]; k++) {
                const int64_t at = (i * pitch + j) * pitch + k;
                to[at] = from[at + shift];
            }
}

static void run_loops(void *what)
{
    loops *l = what;
    for (int a = 0; a < l->arrays; a++)
        for (int k = 0; k < 27; k++) {
            const int part[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
            if (k != 13)
                copy_part(l->from[a], l->to[a], l->width, part);
        }
}

static void run_subarrays(void *what) { subarrays_run(what); }

static void compare_halo(const bench *b, int width, int arrays)
{
    int grid[3] = {0, 0, 0};
    const int64_t cells = (SIDE + 2 * width) * (SIDE + 2 * width) * (SIDE + 2 * width);
    redist_options options;
    redist_layout bricks, ghosts;
    planned malloced, in_arena;
    subarrays hand;
    loops plain;
    contestant c[4];
    char what[64];
    MPI_Dims_create(b->ranks, 3, grid);
    bricks = redist_layout_3d(redist_block(SIDE * grid[0], grid[0]),
                              redist_block(SIDE * grid[1], grid[1]),
                              redist_block(SIDE * grid[2], grid[2]));
    for (int d = 0; d < 3; d++)
        bricks = redist_with_halo(bricks, d, width, width);
    ghosts = bricks;
    for (int d = 0; d < 3; d++)
        ghosts = redist_with_ghosts(ghosts, d, REDIST_PERIODIC);
    memset(&options, 0, sizeof options);
    options.in_place = 1;
    options.arrays = arrays;
    malloced.plan = make_plan(&bricks, &ghosts, &options);
    options.arena = b->arena;
    in_arena.plan = make_plan(&bricks, &ghosts, &options);
    hand.width = plain.width = width;
    hand.fields = plain.arrays = arrays;
    hand.side = SIDE;
    subarrays_create(&hand, grid);
    for (int a = 0; a < arrays; a++) {
        malloced.from[a] = malloced.to[a] = allocate(MOST_CELLS * sizeof(double));
        in_arena.from[a] = in_arena.to[a] = (double *)(void *)b->shared + a * MOST_CELLS;
        hand.field[a] = allocate(MOST_CELLS * sizeof(double));
        plain.from[a] = malloced.from[a];
        plain.to[a] = allocate(MOST_CELLS * sizeof(double));
        fill(malloced.to[a], cells, b->rank + 17 * a);
        fill(in_arena.to[a], cells, b->rank + 17 * a);
        fill(hand.field[a], cells, b->rank + 17 * a);
        fill(plain.to[a], cells, b->rank);
    }
    c[0] = enter("loops in one process", run_loops, &plain);
    c[1] = enter("subarrays by hand", run_subarrays, &hand);
    c[2] = enter("redist, malloc", run_plan, &malloced);
    c[3] = enter("redist, arena", run_plan, &in_arena);
    snprintf(what, sizeof what, "halo of %d around %d^3, %d array%s", width, SIDE, arrays,
             arrays > 1 ? "s" : "");
    take_turns(b, what, c, 4, b->rounds, 4);
    for (int a = 0; a < arrays; a++) {
        must_be_right("halo from malloc", differences(malloced.to[a], hand.field[a], cells));
        must_be_right("halo from an arena", differences(in_arena.to[a], hand.field[a], cells));
        free(malloced.to[a]);
        free(hand.field[a]);
        free(plain.to[a]);
    }
    redist_plan_free(&malloced.plan);
    redist_plan_free(&in_arena.plan);
    subarrays_free(&hand);
}

/* ---- B += A^T, A += 1 ---- */

enum { TILE = 32 }; /* as in ParRes */

/* Matrices of n columns, stored column by column, a block of them on each rank. */
typedef struct {
    const bench *bench;
    int64_t n, block;
    double *a, *b, *out, *in;
    planned plan;
} parres;

static void run_parres(void *what)
{
    parres *p = what;
    const int64_t n = p->n, w = p->block, me = p->bench->rank, ranks = p->bench->ranks;
    double *own = p->a + me * w, *target = p->b + me * w;
    for (int64_t i = 0; i < w; i += TILE)
        for (int64_t j = 0; j < w; j += TILE)
            for (int64_t it = i; it < i + TILE && it < w; it++)
                for (int64_t jt = j; jt < j + TILE && jt < w; jt++) {
                    target[jt + it * n] += own[it + jt * n];
                    own[it + jt * n] += 1;
                }
    for (int64_t phase = 1; phase < ranks; phase++) {
        const int64_t from = (me + phase) % ranks, to = (me - phase + ranks) % ranks;
        MPI_Request receive, send;
        MPI_Irecv(p->in, (int)(w * w), MPI_DOUBLE, (int)from, (int)phase, MPI_COMM_WORLD, &receive);
        for (int64_t i = 0; i < w; i += TILE)
            for (int64_t j = 0; j < w; j += TILE)
                for (int64_t it = i; it < i + TILE && it < w; it++)
                    for (int64_t jt = j; jt < j + TILE && jt < w; jt++) {
                        p->out[jt + it * w] = p->a[to * w + it + jt * n];
                        p->a[to * w + it + jt * n] += 1;
                    }
        MPI_Isend(p->out, (int)(w * w), MPI_DOUBLE, (int)to, (int)phase, MPI_COMM_WORLD, &send);
        wait_politely(&receive);
        wait_politely(&send);
        for (int64_t j = 0; j < w; j++)
            for (int64_t i = 0; i < w; i++)
                p->b[from * w + i + j * n] += p->in[i + j * w];
    }
}

static void run_transposed(void *what)
{
    parres *p = what;
    run_plan(&p->plan);
    for (int64_t k = 0; k < p->n * p->block; k++)
        p->a[k] += 1;
}

static void start_parres(parres *p)
{
    for (int64_t j = 0; j < p->block; j++)
        for (int64_t i = 0; i < p->n; i++) {
            p->a[i + j * p->n] = (double)(p->n * (p->bench->rank * p->block + j) + i);
            p->b[i + j * p->n] = 0;
        }
}

/* After so many iterations, every element by formula. */
static void check_parres(const char *name, const parres *p, int64_t iterations)
{
    int64_t wrong = 0;
    for (int64_t j = 0; j < p->block; j++)
        for (int64_t i = 0; i < p->n; i++) {
            const int64_t first = p->n * i + p->bench->rank * p->block + j;
            wrong += p->b[i + j * p->n] !=
                     (double)(first * iterations + iterations * (iterations - 1) / 2);
        }
    must_be_right(name, wrong);
}

static void compare_parres(const bench *b, int64_t n)
{
    static redist_axpby add = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0};
    const char *names[3] = {"ParRes MPI1", "redist, malloc", "redist, arena"};
    const int64_t rounds = b->rounds / 8 + 3;
    parres p[3];
    contestant c[3];
    char what[64];
    redist_layout columns, rows;
    redist_options options;
    n = n / b->ranks * b->ranks;
    columns = redist_memory_order(redist_layout_2d(redist_whole(n), redist_block(n, b->ranks)),
                                  REDIST_COLUMN_MAJOR);
    rows = redist_transposed(columns);
    memset(&options, 0, sizeof options);
    options.combine = redist_combine_axpby;
    options.context = &add;
    for (int k = 0; k < 3; k++) {
        const size_t bytes = (size_t)(n * (n / b->ranks)) * sizeof(double);
        p[k].bench = b;
        p[k].n = n;
        p[k].block = n / b->ranks;
        p[k].a = k == 2 ? (double *)(void *)b->shared : allocate(bytes);
        p[k].b = k == 2 ? p[k].a + n * p[k].block : allocate(bytes);
        p[k].out = allocate(bytes / (size_t)b->ranks);
        p[k].in = allocate(bytes / (size_t)b->ranks);
        options.arena = k == 2 ? b->arena : NULL;
        p[k].plan.plan = k == 0 ? NULL : make_plan(&rows, &columns, &options);
        p[k].plan.from[0] = p[k].a;
        p[k].plan.to[0] = p[k].b;
        c[k] = enter(names[k], k == 0 ? run_parres : run_transposed, &p[k]);
        start_parres(&p[k]);
    }
    snprintf(what, sizeof what, "B += A^T, A += 1 of %lld x %lld", (long long)n, (long long)n);
    take_turns(b, what, c, 3, rounds, 1);
    for (int k = 0; k < 3; k++) {
        check_parres(names[k], &p[k], rounds + 1);
        redist_plan_free(&p[k].plan.plan);
        free(p[k].out);
        free(p[k].in);
        if (k < 2) {
            free(p[k].a);
            free(p[k].b);
        }
    }
}

/* ---- C := beta C + alpha A^T ---- */

static void compare_moving(const bench *b, const char *name, const redist_layout *from,
                           const redist_layout *to)
{
    static redist_axpby add = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0},
                        scale = {REDIST_DOUBLE, {0.5, 0}, {0.25, 0}, 0};
    static redist_op sum;
    const int64_t count = redist_layout_alloc(from, b->rank),
                  there = redist_layout_alloc(to, b->rank);
    const char *names[4] = {"moving, arena", "to + from, arena", "beta to + alpha from, arena",
                            "MPI_SUM, arena"};
    redist_options options;
    planned p[4];
    contestant c[4];
    sum.op = MPI_SUM;
    sum.type = MPI_DOUBLE;
    memset(&options, 0, sizeof options);
    options.arena = b->arena;
    for (int k = 0; k < 4; k++) {
        options.combine = k == 0 ? NULL : k == 3 ? redist_combine_op : redist_combine_axpby;
        options.context = k == 3 ? (void *)&sum : k == 2 ? (void *)&scale : (void *)&add;
        p[k].plan = make_plan(from, to, &options);
        p[k].from[0] = (double *)(void *)b->shared;
        p[k].to[0] = p[k].from[0] + count;
        c[k] = enter(names[k], run_plan, &p[k]);
    }
    fill(p[0].from[0], count + there, b->rank);
    take_turns(b, name, c, 4, b->rounds / 4 + 3, count > 100000 ? 1 : 8);
    for (int k = 0; k < 4; k++)
        redist_plan_free(&p[k].plan);
}

#ifdef HAVE_SCALAPACK

enum { BLOCK = 32 };
static const double alpha = 0.75, beta = 0.5;

typedef struct {
    int n, desc[9];
    double *a, *c;
} pblas;

static void run_pblas(void *what)
{
    const pblas *p = what;
    const int one = 1;
    pdtran_(&p->n, &p->n, &alpha, p->a, &one, &one, p->desc, &beta, p->c, &one, &one, p->desc);
}

static void compare_tran(const bench *b, int n)
{
    static redist_axpby factors = {REDIST_DOUBLE, {0.75, 0}, {0.5, 0}, 0};
    const int batch = n < 256 ? 16 : 1, rows = b->ranks % 2 == 0 && b->ranks > 2 ? 2 : 1;
    const int grid[2] = {rows, b->ranks / rows};
    const int64_t rounds = n > 2000 ? b->rounds / 8 + 3 : b->rounds;
    redist_axis down = redist_block_cyclic(n, BLOCK, grid[0]),
                across = redist_block_cyclic(n, BLOCK, grid[1]);
    redist_layout matrix = redist_memory_order(redist_layout_2d(down, across), REDIST_COLUMN_MAJOR);
    const redist_layout transposed = redist_transposed(matrix);
    const int64_t count = redist_layout_alloc(&matrix, b->rank);
    int coords[2], context;
    redist_options options;
    planned p[2];
    pblas s;
    contestant c[3];
    char what[64];
    redist_layout_coords(&matrix, b->rank, coords);
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", grid[0], grid[1]);
    memset(&options, 0, sizeof options);
    options.combine = redist_combine_axpby;
    options.context = &factors;
    s.n = n;
    s.a = allocate((size_t)count * sizeof(double));
    s.c = allocate((size_t)count * sizeof(double));
    const int desc[9] = {1, context, n, n, BLOCK, BLOCK, 0, 0, (int)redist_count(&down, coords[0])};
    memcpy(s.desc, desc, sizeof desc);
    if (s.desc[8] < 1)
        s.desc[8] = 1;
    fill(s.a, count, b->rank);
    fill(s.c, count, b->rank + 5);
    for (int k = 0; k < 2; k++) {
        options.arena = k == 1 ? b->arena : NULL;
        p[k].plan = make_plan(&transposed, &matrix, &options);
        p[k].from[0] = k == 1 ? (double *)(void *)b->shared : s.a;
        p[k].to[0] = k == 1 ? p[k].from[0] + count : allocate((size_t)count * sizeof(double));
        memcpy(p[k].from[0], s.a, (size_t)count * sizeof(double));
        memcpy(p[k].to[0], s.c, (size_t)count * sizeof(double));
    }
    c[0] = enter("ScaLAPACK pdtran", run_pblas, &s);
    c[1] = enter("redist, malloc", run_plan, &p[0]);
    c[2] = enter("redist, arena", run_plan, &p[1]);
    snprintf(what, sizeof what, "C := beta C + alpha A^T of %d x %d", n, n);
    take_turns(b, what, c, 3, rounds, batch);
    must_be_right("from malloc", differences(p[0].to[0], s.c, count));
    must_be_right("from an arena", differences(p[1].to[0], s.c, count));
    free(p[0].to[0]);
    free(s.a);
    free(s.c);
    redist_plan_free(&p[0].plan);
    redist_plan_free(&p[1].plan);
    Cblacs_gridexit(context);
}

#else

static void compare_tran(const bench *b, int n)
{
    if (b->rank == 0)
        printf("\nno ScaLAPACK to compare %d x %d with\n", n, n);
}

#endif

/* ---- the command line ---- */

static void compare_combining(const bench *b, int64_t n)
{
    const redist_layout rows = redist_layout_2d(redist_block(n, b->ranks), redist_whole(n));
    const redist_layout columns = redist_layout_2d(redist_whole(n), redist_block(n, b->ranks));
    const redist_layout tiles =
        redist_layout_2d(redist_whole(n), redist_block_cyclic(n, 8, b->ranks));
    const redist_layout turned = redist_transposed(rows);
    char name[80];
    snprintf(name, sizeof name, "rows to columns, %lld x %lld", (long long)n, (long long)n);
    compare_moving(b, name, &rows, &columns);
    snprintf(name, sizeof name, "rows to columns in blocks of 8, %lld x %lld", (long long)n,
             (long long)n);
    compare_moving(b, name, &rows, &tiles);
    snprintf(name, sizeof name, "rows to rows, transposed, %lld x %lld", (long long)n,
             (long long)n);
    compare_moving(b, name, &turned, &rows);
}

static int takes(const bench *b, int part) { return b->only == ALL || b->only == part; }

static void run_all(bench *b)
{
    const size_t halo = ARRAYS * (size_t)MOST_CELLS * sizeof(double);
    const size_t matrices =
        2 * (size_t)(b->largest * b->largest / b->ranks + 64 * b->largest) * sizeof(double);
    const size_t bytes = halo > matrices ? halo : matrices;
    if (redist_arena_create(MPI_COMM_WORLD, bytes + 64, &b->arena) != REDIST_OK)
        give_up("no arena");
    b->shared = redist_arena_alloc(b->arena, bytes);
    if (b->rank == 0)
        printf(
            "%d ranks: the fastest and the lower quartile in microseconds, each also as a multiple of the first "
            "contestant's\n",
            b->ranks);
    for (int width = 1; width <= 2 && takes(b, HALO); width++) {
        compare_halo(b, width, 1);
        compare_halo(b, width, ARRAYS);
    }
    if (takes(b, PARRES))
        compare_parres(b, b->largest);
    for (int k = 0; k < 3 && takes(b, TRAN); k++)
        compare_tran(b, k == 0 ? 64 : k == 1 ? 512 : (int)b->largest);
    for (int k = 4; k > 0 && takes(b, COMBINING); k -= 3)
        compare_combining(b, b->largest / k);
    redist_arena_free(&b->arena);
}

int main(int argc, char **argv)
{
    bench b = {.rounds = 100, .largest = 4096};
    const char *csv = NULL;
    static const option_choice parts[] = {
        {"all", ALL},   {"halo", HALO},           {"parres", PARRES},
        {"tran", TRAN}, {"combining", COMBINING}, {NULL, 0}};
    const option table[] = {{.name = "--only",
                             .argument = "PART",
                             .choice = &b.only,
                             .choices = parts,
                             .help = "of all comparisons (default all)"},
                            {.name = "--rounds",
                             .argument = "K",
                             .integer = &b.rounds,
                             .least = 1,
                             .most = 100000,
                             .help = "of all contestants (default 100; of large matrices fewer)"},
                            {.name = "--n",
                             .argument = "N",
                             .integer = &b.largest,
                             .least = 64,
                             .most = 30000,
                             .help = "rows and columns of the largest matrix (default 4096)"},
                            {.name = "--csv",
                             .argument = "FILE",
                             .text = &csv,
                             .help = "write the figures to FILE too"},
                            {.name = NULL}};
    int status = start(
        table, argc, argv, &b.rank, &b.ranks, "halo",
        "Ghost cells and combining, beside subarrays by hand, ParRes' Transpose and ScaLAPACK.");
    if (status < 0) {
        figures_open(csv, b.rank, FIGURE_COLUMNS);
        run_all(&b);
        figures_close();
    }
    MPI_Finalize();
    return status < 0 ? 0 : status;
}
