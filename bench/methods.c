/* Every method of redist against memcpy, plain MPI and ScaLAPACK, case by case. MIT licence, see LICENSE.

   All contestants of a case run in turn, again and again, so that what the machine does meanwhile hits all of them. A
   time is the slowest rank's, of 20 executions where ranks hold less than 256 kB; of a contestant's times the table
   shows the lower quartile, and its ratio to a memcpy of the bytes that a rank holds. Every contestant's result is
   compared, byte by byte, with an array filled directly. redist's plans have been executed a few times before.

   Cases are tables of plain numbers, from which the layouts of redist and the rivals written by hand are built
   separately. */
#include <complex.h>
#include <limits.h>

#include "bench.h"

static memory_count plan_memory; /* what the plans hold */
#define REDIST_MALLOC(bytes) counted_malloc(&plan_memory, bytes)
#define REDIST_FREE(pointer) counted_free(&plan_memory, pointer)
#include "redist_plan.h"
#include "rivals.h"

/* ---- cases ---- */

typedef enum { FLOAT, DOUBLE, COMPLEX } element_type;

typedef enum { FULL, QUARTER, FIXED_64, FIXED_512, VECTOR, CUBE } array_size; /* the extent of every axis */

/* The line of ranks that an axis is distributed over: one, all, or one side of a grid of all ranks in two or three
   dimensions. */
typedef enum { ONE, ALL, ROWS, COLUMNS, DEPTH, HEIGHT, WIDTH } rank_line;

typedef struct { rank_line line; int64_t block; } dealing; /* block 0: BLOCK */

/* Axes in the order of storage, the last fastest. Axis d of the view is stored axis view[d], reversed where flip[d]. */
typedef struct {
    dealing axes[3];
    int view[3], flip[3];
    int64_t halo;
} side;

typedef struct {
    const char *name;
    element_type type;
    array_size size;
    int dims; /* an array of fewer than 3 dimensions has leading axes of extent 1 */
    side from, to;
} bench_case;

#define WHOLE {ONE, 0}
#define BLOCK(line) {line, 0}
#define CYCLIC(line, block) {line, block}
#define LINE(a) {{WHOLE, WHOLE, a}, {0, 1, 2}, {0, 0, 0}, 0}
#define PLANE(a, b) {{WHOLE, a, b}, {0, 1, 2}, {0, 0, 0}, 0}
#define TRANSPOSED(a, b) {{WHOLE, a, b}, {0, 2, 1}, {0, 0, 0}, 0}
#define ROTATED(a, b) {{WHOLE, a, b}, {0, 2, 1}, {0, 1, 0}, 0}
#define BRICK(a, b, c, halo) {{a, b, c}, {0, 1, 2}, {0, 0, 0}, halo}
#define PENCIL_X {{BLOCK(ROWS), BLOCK(COLUMNS), WHOLE}, {2, 0, 1}, {0, 0, 0}, 0} /* stored y z x */
#define PENCIL_Y {{BLOCK(ROWS), BLOCK(COLUMNS), WHOLE}, {0, 2, 1}, {0, 0, 0}, 0} /* stored x z y */

/* Kalns' grids have 20 and 100 processes, near-square and in a line either way; here all ranks, and a second, smaller
   array. */
static const bench_case cases[] = {
    {"rows to columns", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(WHOLE, BLOCK(ALL))},
    {"rows to columns, blocks of 64", DOUBLE, FULL, 2, PLANE(CYCLIC(ALL, 64), WHOLE), PLANE(WHOLE, CYCLIC(ALL, 64))},
    {"rows, BLOCK to CYCLIC(1)", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"columns, BLOCK to CYCLIC(1)", DOUBLE, FULL, 2, PLANE(WHOLE, BLOCK(ALL)), PLANE(WHOLE, CYCLIC(ALL, 1))},
    {"columns, CYCLIC(3) to CYCLIC(2)", DOUBLE, FULL, 2, PLANE(WHOLE, CYCLIC(ALL, 3)), PLANE(WHOLE, CYCLIC(ALL, 2))},
    {"rows of 32x32 to columns of 48x48", DOUBLE, FULL, 2, PLANE(CYCLIC(ALL, 32), CYCLIC(ONE, 32)),
     PLANE(CYCLIC(ONE, 48), CYCLIC(ALL, 48))},
    {"transpose", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE), TRANSPOSED(BLOCK(ALL), WHOLE)},
    {"rotate", DOUBLE, FULL, 2, ROTATED(BLOCK(ALL), WHOLE), PLANE(BLOCK(ALL), WHOLE)},
    {"pencils, x to y", COMPLEX, CUBE, 3, BRICK(WHOLE, BLOCK(ROWS), BLOCK(COLUMNS), 0),
     BRICK(BLOCK(ROWS), WHOLE, BLOCK(COLUMNS), 0)},
    {"pencils, y to z", COMPLEX, CUBE, 3, BRICK(BLOCK(ROWS), WHOLE, BLOCK(COLUMNS), 0),
     BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"pencils, x to y, reordered", COMPLEX, CUBE, 3, PENCIL_X, PENCIL_Y},
    {"pencils, y to z, reordered", COMPLEX, CUBE, 3, PENCIL_Y, BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"bricks with halo to pencils", DOUBLE, CUBE, 3, BRICK(BLOCK(DEPTH), BLOCK(HEIGHT), BLOCK(WIDTH), 1),
     BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"rows to columns, small", DOUBLE, FIXED_64, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(WHOLE, BLOCK(ALL))},
    {"rows to columns, middle", DOUBLE, FIXED_512, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(WHOLE, BLOCK(ALL))},
    {"vector, BLOCK to CYCLIC(1)", FLOAT, VECTOR, 1, LINE(BLOCK(ALL)), LINE(CYCLIC(ALL, 1))},
    {"Kalns 1 (B,B) to (C,C)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)),
     PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 2 (B,C) to (C,B)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)),
     PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
    {"Kalns 3 (B,*) to (C,*)", FLOAT, FULL, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"Kalns 4 (*,C) to (*,B)", FLOAT, FULL, 2, PLANE(WHOLE, CYCLIC(ALL, 1)), PLANE(WHOLE, BLOCK(ALL))},
    {"Kalns 5 (B,B) to (C,C)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)),
     PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 6 (B,C) to (C,B)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)),
     PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
    {"Kalns 7 (B,*) to (C,*)", FLOAT, QUARTER, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"Kalns 8 (*,C) to (*,B)", FLOAT, QUARTER, 2, PLANE(WHOLE, CYCLIC(ALL, 1)), PLANE(WHOLE, BLOCK(ALL))},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static const size_t element_bytes[] = {sizeof(float), sizeof(double), sizeof(double complex)};

static MPI_Datatype element_datatype(element_type type)
{
    return type == FLOAT ? MPI_FLOAT : type == DOUBLE ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX;
}

/* ---- what every part of the program needs ---- */

typedef struct {
    int64_t n, repetitions;
    double seconds;
    const char *only, *methods;
    int memory; /* print what plans hold instead of times */
} settings;

typedef struct {
    settings set;
    int rank, ranks;
} bench;

/* ---- from cases to layouts, without redist ---- */

static int64_t extent(const bench *b, array_size size)
{
    int64_t n = b->set.n;
    switch (size) {
    case FIXED_64: return 64;
    case FIXED_512: return 512;
    case QUARTER: return n / 4;
    case VECTOR: return 3 * n * n;
    case CUBE: return n / 16;
    default: return n;
    }
}

static int line_length(rank_line line, int ranks)
{
    int plane[2] = {0, 0}, space[3] = {0, 0, 0};
    MPI_Dims_create(ranks, 2, plane);
    MPI_Dims_create(ranks, 3, space);
    switch (line) {
    case ONE: return 1;
    case ALL: return ranks;
    case ROWS: return plane[0];
    case COLUMNS: return plane[1];
    default: return space[line - DEPTH];
    }
}

/* A side of a case, seen from a rank. */
static placed place(const bench *b, const bench_case *c, const side *s, int rank)
{
    placed p;
    memset(&p, 0, sizeof p);
    p.halo = s->halo;
    for (int a = 0; a < 3; a++) {
        dealt *x = &p.axes[a];
        x->n = a < 3 - c->dims ? 1 : extent(b, c->size);
        x->procs = line_length(s->axes[a].line, b->ranks);
        x->block = s->axes[a].block ? s->axes[a].block : (x->n + x->procs - 1) / x->procs;
        p.view[a] = s->view[a];
        p.flip[a] = s->flip[a];
    }
    return seen_from(&p, rank);
}

/* ---- contestants ---- */

typedef struct {
    const bench *bench;
    const bench_case *what;
    exchange by_hand; /* what is to be done, as the rivals see it */
    redist_layout from_layout, to_layout;
    int64_t held; /* elements of the source on this rank */
    int batch;    /* executions in one sample */
    int cached;   /* arrays fit the caches */
    void *source, *destination, *expected;
} contest;

/* One contestant in one contest. The arrays are the contest's unless prepare puts its own there. */
typedef struct {
    const contest *contest;
    const void *from;
    void *to, *state;
    const char *remark;
    double held, most_held, staging; /* bytes of the plan: besides staging, also while it was made; and the staging */
    int right;
    double *times, spent;
    int64_t count;
} entry;

typedef struct {
    const char *name;
    int method;                         /* for redist */
    int copies_all;                     /* its result is the whole redistribution, and is checked */
    int (*prepare)(entry *, int method); /* 0, on all ranks: not for this case */
    void (*run)(entry *);
    void (*finish)(entry *);
} contestant;

/* memcpy of what the rank holds: not a redistribution, but the yardstick for one */

static int copy_prepare(entry *e, int method)
{
    (void)method;
    (void)e;
    return 1;
}

static void copy_run(entry *e)
{
    const contest *c = e->contest;
    int64_t elements = c->held < c->by_hand.to.elements ? c->held : c->by_hand.to.elements;
    memcpy(e->to, e->from, (size_t)elements * c->by_hand.element);
}

static void copy_finish(entry *e)
{
    (void)e;
}

/* redist */

static const option_choice methods[] = {{"auto", REDIST_AUTO},
                                        {"alltoallv", REDIST_ALLTOALLV},
                                        {"alltoallw", REDIST_ALLTOALLW},
                                        {"point_to_point", REDIST_POINT_TO_POINT},
                                        {"scheduled", REDIST_SCHEDULED},
                                        {"multiphase", REDIST_MULTIPHASE},
                                        {"shared", REDIST_SHARED},
                                        {NULL, 0}};

/* An arena that holds both arrays. */
static redist_arena *arena_prepare(entry *e)
{
    const contest *c = e->contest;
    size_t from = (size_t)c->by_hand.from.elements * c->by_hand.element,
           to = (size_t)c->by_hand.to.elements * c->by_hand.element;
    redist_arena *arena = NULL;
    if (redist_arena_create(MPI_COMM_WORLD, from + to + 128, &arena) != REDIST_OK)
        give_up("%s: no arena", c->what->name);
    e->from = memcpy(redist_arena_alloc(arena, from), c->source, from);
    e->to = redist_arena_alloc(arena, to);
    return arena;
}

typedef struct {
    redist_plan *plan;
    redist_arena *arena;
} planned;

enum { TRIALS = 8 }; /* executions after which a plan has tried what depends on the machine */

/* method: of redist; or ARENA, REDIST_SHARED with arrays in an arena; or MEASURED, REDIST_AUTO that tries them all. */
enum { ARENA = 1000, MEASURED };

/* Staging of REDIST_SHARED is in the window (no case has ranks on several nodes), all other staging is malloc'ed. */
static void count_memory(entry *e, const redist_stats *stats, int64_t before)
{
    double counted = (double)before + (stats->method == REDIST_SHARED ? 0 : (double)stats->buffer_bytes);
    e->held = (double)plan_memory.held - counted;
    e->most_held = (double)plan_memory.most_held - counted;
    e->staging = (double)stats->buffer_bytes;
}

static redist_options options_for(int method, redist_arena *arena)
{
    redist_options options;
    memset(&options, 0, sizeof options);
    options.method = method == ARENA ? REDIST_SHARED : method == MEASURED ? REDIST_AUTO : (redist_method)method;
    options.effort = method == MEASURED ? REDIST_MEASURE : REDIST_ESTIMATE;
    options.arena = arena;
    return options;
}

static void redist_run(entry *e)
{
    const planned *state = e->state;
    int code = redist_execute(state->plan, e->from, e->to);
    if (code != REDIST_OK)
        give_up("%s: %s", e->contest->what->name, redist_strerror(code));
}

static int redist_prepare(entry *e, int method)
{
    const contest *c = e->contest;
    char message[256] = "";
    redist_plan *plan = NULL;
    redist_arena *arena = method == ARENA ? arena_prepare(e) : NULL;
    planned *state = allocate(sizeof *state);
    redist_options options = options_for(method, arena);
    redist_stats stats;
    int64_t before = plan_memory.most_held = plan_memory.held;
    int code;
    memset(&stats, 0, sizeof stats);
    options.message = message;
    options.message_size = sizeof message;
    code = redist_plan_create(MPI_COMM_WORLD, &c->from_layout, &c->to_layout, c->by_hand.datatype, &options, &plan);
    if (code != REDIST_OK)
        give_up("%s: %s: %s", c->what->name, redist_strerror(code), message);
    redist_plan_stats(plan, &stats);
    count_memory(e, &stats, before);
    if (options.method == REDIST_AUTO)
        e->remark = option_choice_name(methods, (int)stats.method);
    state->plan = plan;
    state->arena = arena;
    e->state = state;
    for (int k = 0; k < TRIALS && !c->bench->set.memory; k++)
        redist_run(e);
    return 1;
}

static void redist_finish(entry *e)
{
    planned *state = e->state;
    redist_plan_free(&state->plan);
    redist_arena_free(&state->arena);
    free(state);
}

/* The rivals written by hand. */

static int typed_prepare(entry *e, int method)
{
    (void)method;
    e->state = typed_create(&e->contest->by_hand);
    return 1;
}

static void typed_execute(entry *e) { typed_run(e->state, e->from, e->to); }
static void typed_finish(entry *e) { typed_free(e->state); }

static int packed_prepare(entry *e, int method)
{
    (void)method;
    e->state = packed_create(&e->contest->by_hand);
    return 1;
}

static void packed_execute(entry *e) { packed_run(e->state, e->from, e->to); }
static void packed_finish(entry *e) { packed_free(e->state); }

#ifdef HAVE_SCALAPACK
static int gemr2d_prepare(entry *e, int method)
{
    (void)method;
    e->state = gemr2d_create(&e->contest->by_hand);
    return e->state != NULL;
}

static void gemr2d_execute(entry *e) { gemr2d_run(e->state, e->from, e->to); }
static void gemr2d_finish(entry *e) { gemr2d_free(e->state); }
#endif

static const contestant contestants[] = {
    {"memcpy", 0, 0, copy_prepare, copy_run, copy_finish}, /* first: what the others are measured against */
    {"alltoallv", REDIST_ALLTOALLV, 1, redist_prepare, redist_run, redist_finish},
    {"alltoallw", REDIST_ALLTOALLW, 1, redist_prepare, redist_run, redist_finish},
    {"point_to_point", REDIST_POINT_TO_POINT, 1, redist_prepare, redist_run, redist_finish},
    {"scheduled", REDIST_SCHEDULED, 1, redist_prepare, redist_run, redist_finish},
    {"shared", REDIST_SHARED, 1, redist_prepare, redist_run, redist_finish},
    {"shared, arena", ARENA, 1, redist_prepare, redist_run, redist_finish},
    {"auto", REDIST_AUTO, 1, redist_prepare, redist_run, redist_finish},
    {"auto, measured", MEASURED, 1, redist_prepare, redist_run, redist_finish}, /* only when asked for */
    {"Alltoallw by hand", 0, 1, typed_prepare, typed_execute, typed_finish},
    {"pack, Alltoallv", 0, 1, packed_prepare, packed_execute, packed_finish},
#ifdef HAVE_SCALAPACK
    {"p?gemr2d", 0, 1, gemr2d_prepare, gemr2d_execute, gemr2d_finish},
#endif
};

enum { CONTESTANTS = sizeof contestants / sizeof contestants[0] };

/* ---- one contest ---- */

static redist_axis redist_axis_of(const dealt *x, int64_t block)
{
    if (x->procs == 1 && block == 0)
        return redist_whole(x->n);
    return block > 0 ? redist_block_cyclic(x->n, block, x->procs) : redist_block(x->n, x->procs);
}

static redist_layout layout_of(const bench_case *c, const side *s, const placed *p)
{
    redist_axis axes[3];
    redist_layout layout;
    int skipped = 3 - c->dims, view[3];
    for (int a = 0; a < c->dims; a++) {
        axes[a] = redist_axis_of(&p->axes[a + skipped], s->axes[a + skipped].block);
        view[a] = s->view[a + skipped] - skipped;
    }
    layout = redist_layout_nd(c->dims, axes);
    for (int a = 0; a < c->dims; a++)
        layout = redist_with_halo(layout, a, s->halo, s->halo);
    layout = redist_permuted(layout, view);
    for (int d = 0; d < c->dims; d++)
        if (s->flip[d + skipped])
            layout = redist_flipped(layout, d);
    return layout;
}

/* A value that tells where in the view the element belongs. */
static void put(void *array, int64_t at, element_type type, int64_t i, int64_t j, int64_t k)
{
    uint64_t h = (((uint64_t)i << 20) + (uint64_t)j) * 0x100001 + (uint64_t)k;
    h = (h ^ (h >> 31)) * UINT64_C(0x9E3779B97F4A7C15);
    if (type == FLOAT)
        ((float *)array)[at] = (float)(h >> 40);
    else if (type == DOUBLE)
        ((double *)array)[at] = (double)(h >> 12);
    else
        ((double complex *)array)[at] = (double)(h >> 12) + I * (double)k;
}

/* The rank's array as it must be: every element that it owns, and 0xA5 in every other byte. */
static void *fill(const contest *c, const placed *p, int64_t *owned)
{
    char *array = allocate((size_t)p->elements * c->by_hand.element);
    shared s = share(p, p);
    memset(array, 0xA5, (size_t)p->elements * c->by_hand.element);
    for (int64_t i = 0; i < s.count[0]; i++)
        for (int64_t j = 0; j < s.count[1]; j++)
            for (int64_t k = 0; k < s.count[2]; k++)
                put(array, s.offset[0][i] + s.offset[1][j] + s.offset[2][k], c->what->type, s.index[0][i],
                    s.index[1][j], s.index[2][k]);
    *owned = shared_elements(&s);
    shared_free(&s);
    return array;
}

/* Bytes of the source, on the rank that has most. */
static double most_held(const contest *c)
{
    double bytes = (double)c->held * (double)c->by_hand.element;
    maxima(&bytes, 1);
    return bytes;
}

static contest contest_create(const bench *b, const bench_case *what)
{
    contest c;
    int64_t received;
    c.bench = b;
    c.what = what;
    c.by_hand.from = place(b, what, &what->from, b->rank);
    c.by_hand.to = place(b, what, &what->to, b->rank);
    c.by_hand.ranks = b->ranks;
    c.by_hand.datatype = element_datatype(what->type);
    c.by_hand.element = element_bytes[what->type];
    c.from_layout = layout_of(what, &what->from, &c.by_hand.from);
    c.to_layout = layout_of(what, &what->to, &c.by_hand.to);
    c.source = fill(&c, &c.by_hand.from, &c.held);
    c.batch = most_held(&c) < 262144 ? 20 : 1;
    c.cached = most_held(&c) < 8388608;
    c.expected = fill(&c, &c.by_hand.to, &received);
    c.destination = allocate((size_t)c.by_hand.to.elements * c.by_hand.element);
    return c;
}

static void contest_free(contest *c)
{
    free(c->source);
    free(c->expected);
    free(c->destination);
}

enum { MOST_TIMES = 2000 };

/* Prepares an entry, runs it once and checks what came out. Returns 0 when it does not take part. */
static int enter(entry *e, const contestant *who, const contest *c)
{
    size_t bytes = (size_t)c->by_hand.to.elements * c->by_hand.element;
    double wrong = 0;
    memset(e, 0, sizeof *e);
    e->contest = c;
    e->from = c->source;
    e->to = c->destination;
    if (!who->prepare(e, who->method))
        return 0;
    memset(e->to, 0xA5, bytes);
    who->run(e);
    if (who->copies_all)
        wrong = memcmp(e->to, c->expected, bytes) != 0;
    maxima(&wrong, 1);
    e->right = wrong == 0;
    e->times = allocate(MOST_TIMES * sizeof *e->times);
    return 1;
}

/* Slow contestants are let off after three times; all ranks have the same times, so they agree. */
static int wants_more(const entry *e, const settings *set)
{
    int enough = e->count >= set->repetitions && e->spent >= set->seconds;
    int too_slow = e->count >= 3 && e->spent >= 10 * set->seconds;
    return e->times && !enough && !too_slow && e->count < MOST_TIMES;
}

/* What fits the caches is in them, whoever had its turn before; not all contestants have arrays of their own. */
static double time_once(const contestant *who, entry *e)
{
    double begin;
    if (e->contest->cached)
        who->run(e);
    barrier();
    begin = MPI_Wtime();
    for (int k = 0; k < e->contest->batch; k++)
        who->run(e);
    return (MPI_Wtime() - begin) / e->contest->batch;
}

static void compete(entry *entries, const settings *set)
{
    double times[CONTESTANTS];
    int active, running[CONTESTANTS];
    do {
        active = 0;
        for (int k = 0; k < CONTESTANTS; k++) {
            running[k] = wants_more(&entries[k], set);
            times[k] = running[k] ? time_once(&contestants[k], &entries[k]) : 0;
            active += running[k];
        }
        maxima(times, CONTESTANTS);
        for (int k = 0; k < CONTESTANTS; k++)
            if (running[k]) {
                entries[k].times[entries[k].count++] = times[k];
                entries[k].spent += times[k] * entries[k].contest->batch;
            }
    } while (active > 0);
}

/* ---- who takes part ---- */

/* Whether one of the parts of the list, which | separates, is in the name, or after = is all of it. */
static int selected(const char *name, const char *list)
{
    while (list) {
        const char *end = strchr(list, '|');
        size_t length = end ? (size_t)(end - list) : strlen(list);
        char part[256];
        snprintf(part, sizeof part, "%.*s", (int)length, list);
        if (part[0] == '=' ? strcmp(name, part + 1) == 0 : strstr(name, part) != NULL)
            return 1;
        list = end ? end + 1 : NULL;
    }
    return 0;
}

static int invited(const settings *set, int k)
{
    if (set->memory && contestants[k].prepare != redist_prepare)
        return 0;
    if (!set->methods)
        return contestants[k].method != MEASURED;
    return k == 0 || selected(contestants[k].name, set->methods);
}

/* ---- the table ---- */

static void print_cell(double time, double ratio, int right)
{
    char text[32];
    const char *unit = time < 1e-3 ? "us" : "ms";
    double shown = time * (time < 1e-3 ? 1e6 : 1e3);
    snprintf(text, sizeof text, "%.*f %s %5.2f%s", shown < 100 ? 2 : 0, shown, unit, ratio, right ? "" : "!");
    printf(" %17s", text);
}

static void print_row(const contest *c, entry *entries)
{
    const settings *set = &c->bench->set;
    double yardstick = lower_quartile(entries[0].times, entries[0].count);
    const char *remark = NULL;
    printf("%-34s", c->what->name);
    for (int k = 0; k < CONTESTANTS; k++) {
        entry *e = &entries[k];
        if (!invited(set, k))
            continue;
        if (!e->times) {
            printf(" %17s", "-");
            continue;
        }
        double time = lower_quartile(e->times, e->count);
        print_cell(time, time / yardstick, e->right);
        if (e->right)
            figure(c->what->name, c->bench->ranks, c->held * (int64_t)c->by_hand.element, contestants[k].name, e->count,
                   time, e->times[0], time / yardstick);
        remark = e->remark ? e->remark : remark;
    }
    printf("  %s\n", remark ? remark : "");
    fflush(stdout);
}

enum { BESIDES, MEANWHILE, STAGING, AMOUNTS };

/* What plans hold: bytes besides staging afterwards, the most while they were made, and staging; maxima over ranks. */
static void print_memory(const contest *c, const char *method, const entry *e)
{
    static const char *const names[AMOUNTS] = {"besides staging", "while made", "staging"};
    double bytes[AMOUNTS] = {e->held, e->most_held, e->staging};
    maxima(bytes, AMOUNTS);
    for (int k = 0; k < AMOUNTS; k++) {
        char who[64];
        snprintf(who, sizeof who, "%s: %s", method, names[k]);
        figure(c->what->name, c->bench->ranks, c->held * (int64_t)c->by_hand.element, who, 1, bytes[k], bytes[k], 0);
    }
    if (c->bench->rank == 0)
        printf("  %7.1f %7.1f %8.1f", bytes[BESIDES] / 1e3, bytes[MEANWHILE] / 1e3, bytes[STAGING] / 1e3);
}

static void print_memory_row(const contest *c, const entry *entries, const int *entered)
{
    if (c->bench->rank == 0)
        printf("%-34s", c->what->name);
    for (int k = 0; k < CONTESTANTS; k++)
        if (entered[k])
            print_memory(c, contestants[k].name, &entries[k]);
    if (c->bench->rank == 0)
        printf("\n");
}

/* Returns how many contestants were wrong. */
static int hold(const bench *b, const bench_case *what)
{
    contest c = contest_create(b, what);
    entry entries[CONTESTANTS];
    int entered[CONTESTANTS], wrong = 0;
    for (int k = 0; k < CONTESTANTS; k++) {
        memset(&entries[k], 0, sizeof entries[k]);
        entered[k] = invited(&b->set, k) && enter(&entries[k], &contestants[k], &c);
        wrong += entered[k] && !entries[k].right;
    }
    if (b->set.memory) {
        print_memory_row(&c, entries, entered);
    } else {
        compete(entries, &b->set);
        if (b->rank == 0)
            print_row(&c, entries);
    }
    for (int k = 0; k < CONTESTANTS; k++)
        if (entered[k]) {
            contestants[k].finish(&entries[k]);
            free(entries[k].times);
        }
    contest_free(&c);
    return wrong;
}

static void print_head(const bench *b)
{
    const char *times = "lower quartile of the times, and its ratio to a memcpy of what a rank holds; ! wrong result";
    const char *memory =
        "kB that a plan holds besides staging, the most while it was made, and staging; maxima over ranks";
    printf("%d ranks, n = %lld; %s\n%-34s", b->ranks, (long long)b->set.n, b->set.memory ? memory : times, "");
    for (int k = 0; k < CONTESTANTS; k++)
        if (invited(&b->set, k))
            printf(" %*s", b->set.memory ? 25 : 17, contestants[k].name);
    printf("\n");
}

static int hold_all(const bench *b)
{
    int wrong = 0, held = 0;
    if (b->rank == 0)
        print_head(b);
    for (int k = 0; k < CASES; k++)
        if (!b->set.only || selected(cases[k].name, b->set.only)) {
            wrong += hold(b, &cases[k]);
            held++;
        }
    if (b->rank == 0 && wrong > 0)
        printf("%d results are wrong\n", wrong);
    if (b->rank == 0 && held == 0)
        fprintf(stderr, "methods: no case is called '%s'\n", b->set.only);
    return wrong > 0 || held == 0;
}

/* ---- the command line ---- */

int main(int argc, char **argv)
{
    static const option_choice tables[] = {{"times", 0}, {"memory", 1}, {NULL, 0}};
    bench b = {.set = {.n = 4096, .repetitions = 5, .seconds = 0.2}};
    const char *csv = NULL;
    const option table[] = {
        {.name = "--n", .argument = "N", .integer = &b.set.n, .least = 16, .most = 16384,
         .help = "extent of a matrix (default 4096)"},
        {.name = "--cases", .argument = "PART", .text = &b.set.only,
         .help = "only cases with PART in their names; PART|PART: either; =NAME: just this"},
        {.name = "--methods", .argument = "PART", .text = &b.set.methods,
         .help = "only such contestants, in the same way"},
        {.name = "--table", .argument = "WHAT", .choice = &b.set.memory, .choices = tables,
         .help = "times (default) or memory"},
        {.name = "--seconds", .argument = "S", .real = &b.set.seconds, .most = 3600,
         .help = "for each contestant and case (default 0.2)"},
        {.name = "--repetitions", .argument = "K", .integer = &b.set.repetitions, .least = 1, .most = MOST_TIMES,
         .help = "at least, however long they take (default 5)"},
        {.name = "--csv", .argument = "FILE", .text = &csv, .help = "write the figures to FILE too"},
        {.name = NULL}};
    int status = start(table, argc, argv, &b.rank, &b.ranks, "methods",
                       "Every method of redist against memcpy, plain MPI and ScaLAPACK, case by case.");
    if (status < 0) {
        figures_open(csv, b.rank, FIGURE_COLUMNS);
        status = hold_all(&b);
        figures_close();
    }
    MPI_Finalize();
    return status;
}
