/* Every method of redist against memcpy, plain MPI and ScaLAPACK, case by case. MIT licence, see LICENSE.

   All contestants of a case run in turn, again and again, so that what the machine does meanwhile hits all of them. A time is
   the slowest rank's, of 20 executions where ranks hold less than 256 kB; of a contestant's times the table shows the lower quartile, and its ratio to a memcpy of
   the bytes that a rank holds. Every contestant's result is compared, byte by byte, with an array filled directly.

   Cases are tables of plain numbers, from which the layouts of redist and the rivals written by hand are built separately. */
#include <complex.h>
#include <limits.h>

#include "../examples/options.h"
#include "bench.h"

static memory_count plan_memory; /* what the plans hold */
#define REDIST_MALLOC(bytes) counted_malloc(&plan_memory, bytes)
#define REDIST_FREE(pointer) counted_free(&plan_memory, pointer)
#include "redist_plan.h"

/* ---- cases ---- */

typedef enum { FLOAT, DOUBLE, COMPLEX } element_type;

typedef enum { FULL, QUARTER, FIXED_64, FIXED_512, VECTOR, CUBE } array_size; /* the extent of every axis */

/* The line of ranks that an axis is dealt out over: one, all, or one side of a grid of all ranks in two or three dimensions. */
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

/* Kalns' grids have 20 and 100 processes, near-square and in a line either way; here all ranks, and a second, smaller array. */
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
    {"Kalns 1 (B,B) to (C,C)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)), PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 2 (B,C) to (C,B)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)), PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
    {"Kalns 3 (B,*) to (C,*)", FLOAT, FULL, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"Kalns 4 (*,C) to (*,B)", FLOAT, FULL, 2, PLANE(WHOLE, CYCLIC(ALL, 1)), PLANE(WHOLE, BLOCK(ALL))},
    {"Kalns 5 (B,B) to (C,C)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)), PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 6 (B,C) to (C,B)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)), PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
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
    const char *only, *methods, *csv;
    int memory; /* print what plans hold instead of times */
} settings;

typedef struct {
    settings set;
    int rank, ranks;
    FILE *csv;
} bench;

/* ---- block-cyclic arithmetic, independent of redist ---- */

typedef struct { int64_t n, block; int procs, coord; } dealt; /* coord: this or that rank's */

/* A side of a case, seen from one rank. */
typedef struct {
    dealt axes[3];
    int view[3], flip[3];
    int64_t halo, stride[3], elements; /* of the local array, halo included */
} placed;

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

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

static int64_t count_owned(const dealt *x)
{
    int64_t cycle = x->block * x->procs, rest = x->n % cycle - x->coord * x->block;
    return x->n / cycle * x->block + (rest > 0 ? at_most(rest, x->block) : 0);
}

/* Ranks are numbered with the last axis of the grid fastest. */
static placed place(const bench *b, const bench_case *c, const side *s, int rank)
{
    placed p;
    int64_t elements = 1;
    p.halo = s->halo;
    for (int a = 2; a >= 0; a--) {
        dealt *x = &p.axes[a];
        x->n = a < 3 - c->dims ? 1 : extent(b, c->size);
        x->procs = line_length(s->axes[a].line, b->ranks);
        x->block = s->axes[a].block ? s->axes[a].block : (x->n + x->procs - 1) / x->procs;
        x->coord = rank % x->procs;
        rank /= x->procs;
        p.stride[a] = elements;
        elements *= count_owned(x) + 2 * p.halo;
        p.view[a] = s->view[a];
        p.flip[a] = s->flip[a];
    }
    p.elements = elements;
    return p;
}

static int owns(const placed *p, int d, int64_t i)
{
    const dealt *x = &p->axes[p->view[d]];
    int64_t at = p->flip[d] ? x->n - 1 - i : i;
    return at / x->block % x->procs == x->coord;
}

/* What two ranks both own, one on either side: lists of view indices and of offsets in the first's array, for each axis. */
typedef struct {
    int64_t count[3], *index[3], *offset[3];
    int64_t step; /* between the offsets of the last axis; 0 when they are not evenly spaced */
} shared;

static int64_t shared_elements(const shared *s)
{
    return s->count[0] * s->count[1] * s->count[2];
}

static int64_t even_step(const int64_t *offsets, int64_t count)
{
    int64_t step = count > 1 ? offsets[1] - offsets[0] : 1;
    for (int64_t k = 1; k < count; k++)
        if (offsets[k] - offsets[k - 1] != step)
            return 0;
    return step;
}

static void reverse(int64_t *list, int64_t count)
{
    for (int64_t k = 0; k < count / 2; k++) {
        int64_t other = list[count - 1 - k];
        list[count - 1 - k] = list[k];
        list[k] = other;
    }
}

/* Walks through my blocks of the stored axis; the lists are in the order of the view. */
static void share_axis(shared *s, int d, const placed *mine, const placed *theirs)
{
    const dealt *x = &mine->axes[mine->view[d]];
    int64_t owned = count_owned(x), place_in_memory = mine->halo;
    s->count[d] = 0;
    s->index[d] = allocate((size_t)owned * sizeof(int64_t));
    s->offset[d] = allocate((size_t)owned * sizeof(int64_t));
    for (int64_t first = x->coord * x->block; first < x->n; first += x->block * x->procs)
        for (int64_t at = first; at < at_most(first + x->block, x->n); at++, place_in_memory++) {
            int64_t i = mine->flip[d] ? x->n - 1 - at : at;
            if (owns(theirs, d, i)) {
                s->index[d][s->count[d]] = i;
                s->offset[d][s->count[d]++] = place_in_memory * mine->stride[mine->view[d]];
            }
        }
    if (mine->flip[d]) {
        reverse(s->index[d], s->count[d]);
        reverse(s->offset[d], s->count[d]);
    }
}

static shared share(const placed *mine, const placed *theirs)
{
    shared s;
    for (int d = 0; d < 3; d++)
        share_axis(&s, d, mine, theirs);
    s.step = even_step(s.offset[2], s.count[2]);
    return s;
}

static void shared_free(shared *s)
{
    for (int d = 0; d < 3; d++) {
        free(s->index[d]);
        free(s->offset[d]);
    }
}

/* ---- contestants ---- */

typedef struct {
    const bench *bench;
    const bench_case *what;
    placed from, to; /* seen from this rank */
    redist_layout from_layout, to_layout;
    MPI_Datatype datatype;
    size_t element;
    int64_t held; /* elements of the source on this rank */
    int batch;    /* executions in one sample */
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
    int64_t elements = c->held < c->to.elements ? c->held : c->to.elements;
    memcpy(e->to, e->from, (size_t)elements * c->element);
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
    size_t from = (size_t)c->from.elements * c->element, to = (size_t)c->to.elements * c->element;
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
    code = redist_plan_create(MPI_COMM_WORLD, &c->from_layout, &c->to_layout, c->datatype, &options, &plan);
    if (code != REDIST_OK)
        give_up("%s: %s: %s", c->what->name, redist_strerror(code), message);
    redist_plan_stats(plan, &stats);
    count_memory(e, &stats, before);
    if (options.method == REDIST_AUTO)
        e->remark = option_choice_name(methods, (int)stats.method);
    state->plan = plan;
    state->arena = arena;
    e->state = state;
    return 1;
}

static void redist_run(entry *e)
{
    const planned *state = e->state;
    int code = redist_execute(state->plan, e->from, e->to);
    if (code != REDIST_OK)
        give_up("%s: %s", e->contest->what->name, redist_strerror(code));
}

static void redist_finish(entry *e)
{
    planned *state = e->state;
    redist_plan_free(&state->plan);
    redist_arena_free(&state->arena);
    free(state);
}

/* MPI_Alltoallw with derived datatypes written by hand: for each peer and axis, the runs of indices that both own */

typedef struct {
    int *counts, *displacements;
    MPI_Datatype *types;
} typed_messages;

typedef struct { typed_messages send, receive; } typed_exchange;

/* Runs of neighbouring positions, stride elements apart. Returns how many. */
static int find_runs(const int64_t *offsets, int64_t count, int64_t stride, int *lengths, MPI_Aint *starts, size_t element)
{
    int runs = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && offsets[i] == offsets[i - 1] + stride) {
            lengths[runs - 1]++;
        } else {
            lengths[runs] = 1;
            starts[runs++] = (MPI_Aint)((offsets[i] - offsets[0]) * (int64_t)element);
        }
    }
    return runs;
}

static int evenly_spaced(int runs, const int *lengths, const MPI_Aint *starts)
{
    for (int r = 1; r < runs; r++)
        if (lengths[r] != lengths[0] || starts[r] != r * starts[1])
            return 0;
    return 1;
}

/* A type of the old ones at all offsets of one axis, relative to the first. Frees the old one. */
static MPI_Datatype along_axis(const int64_t *offsets, int64_t count, int64_t stride, size_t element, MPI_Datatype old)
{
    int *lengths = allocate((size_t)count * sizeof *lengths);
    MPI_Aint *starts = allocate((size_t)count * sizeof *starts);
    int runs = find_runs(offsets, count, stride, lengths, starts, element);
    MPI_Datatype spaced, type;
    MPI_Type_create_resized(old, 0, (MPI_Aint)((int64_t)element * stride), &spaced);
    if (runs == 1)
        MPI_Type_contiguous(lengths[0], spaced, &type);
    else if (evenly_spaced(runs, lengths, starts))
        MPI_Type_create_hvector(runs, lengths[0], starts[1], spaced, &type);
    else
        MPI_Type_create_hindexed(runs, lengths, starts, spaced, &type);
    MPI_Type_free(&spaced);
    MPI_Type_free(&old);
    free(lengths);
    free(starts);
    return type;
}

static MPI_Datatype type_of(const shared *s, const placed *p, MPI_Datatype datatype, size_t element)
{
    MPI_Datatype type, shifted;
    MPI_Aint first = 0;
    int one = 1;
    MPI_Type_dup(datatype, &type);
    for (int d = 2; d >= 0; d--) {
        type = along_axis(s->offset[d], s->count[d], p->stride[p->view[d]], element, type);
        first += (MPI_Aint)(s->offset[d][0] * (int64_t)element);
    }
    MPI_Type_create_hindexed(1, &one, &first, type, &shifted);
    MPI_Type_free(&type);
    MPI_Type_commit(&shifted);
    return shifted;
}

static typed_messages typed_create(const contest *c, const placed *mine, const side *theirs)
{
    const bench *b = c->bench;
    typed_messages m;
    m.counts = allocate((size_t)b->ranks * sizeof *m.counts);
    m.displacements = allocate((size_t)b->ranks * sizeof *m.displacements);
    m.types = allocate((size_t)b->ranks * sizeof *m.types);
    for (int peer = 0; peer < b->ranks; peer++) {
        placed other = place(b, c->what, theirs, peer);
        shared s = share(mine, &other);
        m.counts[peer] = shared_elements(&s) > 0;
        m.displacements[peer] = 0;
        m.types[peer] = m.counts[peer] ? type_of(&s, mine, c->datatype, c->element) : MPI_BYTE;
        shared_free(&s);
    }
    return m;
}

static void typed_free(typed_messages *m, int ranks)
{
    for (int peer = 0; peer < ranks; peer++)
        if (m->counts[peer])
            MPI_Type_free(&m->types[peer]);
    free(m->counts);
    free(m->displacements);
    free(m->types);
}

static int typed_prepare(entry *e, int method)
{
    const contest *c = e->contest;
    typed_exchange *x = allocate(sizeof *x);
    (void)method;
    x->send = typed_create(c, &c->from, &c->what->to);
    x->receive = typed_create(c, &c->to, &c->what->from);
    e->state = x;
    return 1;
}

static void typed_run(entry *e)
{
    typed_exchange *x = e->state;
    MPI_Alltoallw(e->from, x->send.counts, x->send.displacements, x->send.types, e->to, x->receive.counts,
                  x->receive.displacements, x->receive.types, MPI_COMM_WORLD);
}

static void typed_finish(entry *e)
{
    typed_exchange *x = e->state;
    typed_free(&x->send, e->contest->bench->ranks);
    typed_free(&x->receive, e->contest->bench->ranks);
    free(x);
}

/* Packing by plain loops (by memcpy where a row is contiguous), and MPI_Alltoallv */

#define DEFINE_PACKING(type)                                                                      \
    static void pack_##type(const shared *s, const void *array, void *buffer)                     \
    {                                                                                             \
        type *next = buffer;                                                                      \
        for (int64_t i = 0; i < s->count[0]; i++)                                                 \
            for (int64_t j = 0; j < s->count[1]; j++, next += s->count[2]) {                      \
                const type *a = (const type *)array + s->offset[0][i] + s->offset[1][j];          \
                if (s->step == 1)                                                                 \
                    memcpy(next, a + s->offset[2][0], (size_t)s->count[2] * sizeof *a);           \
                else if (s->step)                                                                 \
                    for (int64_t k = 0, at = s->offset[2][0]; k < s->count[2]; k++, at += s->step)\
                        next[k] = a[at];                                                          \
                else                                                                              \
                    for (int64_t k = 0; k < s->count[2]; k++)                                     \
                        next[k] = a[s->offset[2][k]];                                             \
            }                                                                                     \
    }                                                                                             \
    static void unpack_##type(const shared *s, const void *buffer, void *array)                   \
    {                                                                                             \
        const type *next = buffer;                                                                \
        for (int64_t i = 0; i < s->count[0]; i++)                                                 \
            for (int64_t j = 0; j < s->count[1]; j++, next += s->count[2]) {                      \
                type *a = (type *)array + s->offset[0][i] + s->offset[1][j];                      \
                if (s->step == 1)                                                                 \
                    memcpy(a + s->offset[2][0], next, (size_t)s->count[2] * sizeof *a);           \
                else if (s->step)                                                                 \
                    for (int64_t k = 0, at = s->offset[2][0]; k < s->count[2]; k++, at += s->step)\
                        a[at] = next[k];                                                          \
                else                                                                              \
                    for (int64_t k = 0; k < s->count[2]; k++)                                     \
                        a[s->offset[2][k]] = next[k];                                             \
            }                                                                                     \
    }

typedef double complex double_complex;
DEFINE_PACKING(float)
DEFINE_PACKING(double)
DEFINE_PACKING(double_complex)

typedef void packing_loop(const shared *, const void *, void *);
static packing_loop *const pack_loops[] = {pack_float, pack_double, pack_double_complex};
static packing_loop *const unpack_loops[] = {unpack_float, unpack_double, unpack_double_complex};

typedef struct {
    shared *parts;
    int *counts, *displacements; /* elements */
    char *buffer;
} packed_messages;

typedef struct { packed_messages send, receive; } packed_exchange;

static packed_messages packed_create(const contest *c, const placed *mine, const side *theirs)
{
    const bench *b = c->bench;
    packed_messages m;
    int64_t total = 0;
    m.parts = allocate((size_t)b->ranks * sizeof *m.parts);
    m.counts = allocate((size_t)b->ranks * sizeof *m.counts);
    m.displacements = allocate((size_t)b->ranks * sizeof *m.displacements);
    for (int peer = 0; peer < b->ranks; peer++) {
        placed other = place(b, c->what, theirs, peer);
        m.parts[peer] = share(mine, &other);
        m.counts[peer] = (int)shared_elements(&m.parts[peer]);
        m.displacements[peer] = (int)total;
        total += m.counts[peer];
    }
    m.buffer = allocate((size_t)total * c->element);
    return m;
}

static void packed_free(packed_messages *m, int ranks)
{
    for (int peer = 0; peer < ranks; peer++)
        shared_free(&m->parts[peer]);
    free(m->parts);
    free(m->counts);
    free(m->displacements);
    free(m->buffer);
}

static int packed_prepare(entry *e, int method)
{
    const contest *c = e->contest;
    packed_exchange *x;
    (void)method;
    x = allocate(sizeof *x);
    x->send = packed_create(c, &c->from, &c->what->to);
    x->receive = packed_create(c, &c->to, &c->what->from);
    e->state = x;
    return 1;
}

/* Runs the loops of the element type over the messages that are not empty. */
static void pack_all(const packed_messages *m, const contest *c, const void *array)
{
    for (int peer = 0; peer < c->bench->ranks; peer++)
        if (m->counts[peer] > 0)
            pack_loops[c->what->type](&m->parts[peer], array, m->buffer + (size_t)m->displacements[peer] * c->element);
}

static void unpack_all(const packed_messages *m, const contest *c, void *array)
{
    for (int peer = 0; peer < c->bench->ranks; peer++)
        if (m->counts[peer] > 0)
            unpack_loops[c->what->type](&m->parts[peer], m->buffer + (size_t)m->displacements[peer] * c->element, array);
}

static void packed_run(entry *e)
{
    packed_exchange *x = e->state;
    const contest *c = e->contest;
    pack_all(&x->send, c, e->from);
    MPI_Alltoallv(x->send.buffer, x->send.counts, x->send.displacements, c->datatype, x->receive.buffer, x->receive.counts,
                  x->receive.displacements, c->datatype, MPI_COMM_WORLD);
    unpack_all(&x->receive, c, e->to);
}

static void packed_finish(entry *e)
{
    packed_exchange *x = e->state;
    packed_free(&x->send, e->contest->bench->ranks);
    packed_free(&x->receive, e->contest->bench->ranks);
    free(x);
}

/* ScaLAPACK, whose matrices are column-major: ours transposed, on a grid that is ours transposed */

#ifdef HAVE_SCALAPACK
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int m, int n, const void *a, int ia, int ja, const int *desca, void *b, int ib, int jb, const int *descb,
              int context);
void Cpsgemr2d(int m, int n, const void *a, int ia, int ja, const int *desca, void *b, int ib, int jb, const int *descb,
              int context);

typedef struct { int from[9], to[9], all; } gemr2d;

static int blacs_grid(const char *order, int rows, int columns)
{
    int context;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, order, rows, columns);
    return context;
}

static void describe(const placed *p, int descriptor[9])
{
    const dealt *fast = &p->axes[2], *slow = &p->axes[1];
    int64_t leading = count_owned(fast);
    descriptor[0] = 1;
    descriptor[1] = blacs_grid("Col", fast->procs, slow->procs);
    descriptor[2] = (int)fast->n;
    descriptor[3] = (int)slow->n;
    descriptor[4] = (int)fast->block;
    descriptor[5] = (int)slow->block;
    descriptor[6] = descriptor[7] = 0;
    descriptor[8] = leading > 0 ? (int)leading : 1;
}

static int is_plain(const side *s)
{
    int plain = s->halo == 0;
    for (int d = 0; d < 3; d++)
        plain = plain && s->view[d] == d && !s->flip[d];
    return plain;
}

static int gemr2d_prepare(entry *e, int method)
{
    const contest *c = e->contest;
    gemr2d *g;
    (void)method;
    if (c->what->dims > 2 || c->what->type == COMPLEX || !is_plain(&c->what->from) || !is_plain(&c->what->to))
        return 0;
    g = allocate(sizeof *g);
    describe(&c->from, g->from);
    describe(&c->to, g->to);
    g->all = blacs_grid("Row", 1, c->bench->ranks);
    e->state = g;
    return 1;
}

static void gemr2d_run(entry *e)
{
    gemr2d *g = e->state;
    if (e->contest->what->type == FLOAT)
        Cpsgemr2d(g->from[2], g->from[3], e->from, 1, 1, g->from, e->to, 1, 1, g->to, g->all);
    else
        Cpdgemr2d(g->from[2], g->from[3], e->from, 1, 1, g->from, e->to, 1, 1, g->to, g->all);
}

static void gemr2d_finish(entry *e)
{
    gemr2d *g = e->state;
    Cblacs_gridexit(g->from[1]);
    Cblacs_gridexit(g->to[1]);
    Cblacs_gridexit(g->all);
    free(g);
}
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
    {"Alltoallw by hand", 0, 1, typed_prepare, typed_run, typed_finish},
    {"pack, Alltoallv", 0, 1, packed_prepare, packed_run, packed_finish},
#ifdef HAVE_SCALAPACK
    {"p?gemr2d", 0, 1, gemr2d_prepare, gemr2d_run, gemr2d_finish},
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
    char *array = allocate((size_t)p->elements * c->element);
    shared s = share(p, p);
    memset(array, 0xA5, (size_t)p->elements * c->element);
    for (int64_t i = 0; i < s.count[0]; i++)
        for (int64_t j = 0; j < s.count[1]; j++)
            for (int64_t k = 0; k < s.count[2]; k++)
                put(array, s.offset[0][i] + s.offset[1][j] + s.offset[2][k], c->what->type, s.index[0][i], s.index[1][j],
                    s.index[2][k]);
    *owned = shared_elements(&s);
    shared_free(&s);
    return array;
}

/* Ranks leave a barrier at different times: what is shorter than that is timed several times over. */
static int batch_of(double bytes)
{
    maxima(&bytes, 1);
    return bytes < 262144 ? 20 : 1;
}

static contest contest_create(const bench *b, const bench_case *what)
{
    contest c;
    int64_t received;
    c.bench = b;
    c.what = what;
    c.from = place(b, what, &what->from, b->rank);
    c.to = place(b, what, &what->to, b->rank);
    c.from_layout = layout_of(what, &what->from, &c.from);
    c.to_layout = layout_of(what, &what->to, &c.to);
    c.datatype = element_datatype(what->type);
    c.element = element_bytes[what->type];
    c.source = fill(&c, &c.from, &c.held);
    c.batch = batch_of((double)c.held * (double)c.element);
    c.expected = fill(&c, &c.to, &received);
    c.destination = allocate((size_t)c.to.elements * c.element);
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
    size_t bytes = (size_t)c->to.elements * c->element;
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

static double time_once(const contestant *who, entry *e)
{
    double begin;
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

static void print_csv(FILE *csv, const contest *c, const entry *e, const char *name, double time, double ratio)
{
    if (csv)
        fprintf(csv, "\"%s\",%d,%lld,\"%s\",%lld,%.9g,%.9g,%.4f,%d\n", c->what->name, c->bench->ranks,
                (long long)(c->held * (int64_t)c->element), name, (long long)e->count, time, e->times[0], ratio, e->right);
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
        print_csv(c->bench->csv, c, e, contestants[k].name, time, time / yardstick);
        remark = e->remark ? e->remark : remark;
    }
    printf("  %s\n", remark ? remark : "");
    fflush(stdout);
}

/* What plans hold: bytes besides staging afterwards, the most while they were made, and staging; maxima over ranks. */
static void print_memory_row(const contest *c, const entry *entries, const int *entered)
{
    if (c->bench->rank == 0)
        printf("%-34s", c->what->name);
    for (int k = 0; k < CONTESTANTS; k++) {
        double kilobytes[] = {entries[k].held / 1e3, entries[k].most_held / 1e3, entries[k].staging / 1e3};
        if (!entered[k])
            continue;
        maxima(kilobytes, 3);
        if (c->bench->rank == 0)
            printf("  %7.1f %7.1f %8.1f", kilobytes[0], kilobytes[1], kilobytes[2]);
    }
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
    const char *memory = "kB that a plan holds besides staging, the most while it was made, and staging; maxima over ranks";
    printf("%d ranks, n = %lld; %s\n%-34s", b->ranks, (long long)b->set.n, b->set.memory ? memory : times, "");
    for (int k = 0; k < CONTESTANTS; k++)
        if (invited(&b->set, k))
            printf(" %*s", b->set.memory ? 25 : 17, contestants[k].name);
    printf("\n");
    if (b->csv)
        fprintf(b->csv, "case,ranks,bytes,contestant,repetitions,lower_quartile,best,ratio,right\n");
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

static const option_choice tables[] = {{"times", 0}, {"memory", 1}, {NULL, 0}};

/* Returns the exit status, or -1 to go on. */
static int read_settings(bench *b, int argc, char **argv)
{
    settings *s = &b->set;
    const option table[] = {
        {.name = "--n", .argument = "N", .integer = &s->n, .least = 16, .most = 16384,
         .help = "extent of a matrix (default 4096)"},
        {.name = "--cases", .argument = "PART", .text = &s->only,
         .help = "only cases with PART in their names; PART|PART: either; =NAME: just this"},
        {.name = "--methods", .argument = "PART", .text = &s->methods, .help = "only such contestants, in the same way"},
        {.name = "--table", .argument = "WHAT", .choice = &s->memory, .choices = tables, .help = "times (default) or memory"},
        {.name = "--seconds", .argument = "S", .real = &s->seconds, .most = 3600,
         .help = "for each contestant and case (default 0.2)"},
        {.name = "--repetitions", .argument = "K", .integer = &s->repetitions, .least = 1, .most = MOST_TIMES,
         .help = "at least, however long they take (default 5)"},
        {.name = "--csv", .argument = "FILE", .text = &s->csv, .help = "write the table to FILE too, times in seconds"},
        {.name = NULL}};
    char wrong[512];
    options_result result = options_read(table, argc, argv, wrong, sizeof wrong);
    if (result == OPTIONS_HELP && b->rank == 0) {
        printf("usage: mpiexec -n RANKS methods [OPTION VALUE]...\n\n");
        options_help(table);
    }
    if (result == OPTIONS_WRONG && b->rank == 0)
        fprintf(stderr, "methods: %s\n", wrong);
    return result == OPTIONS_RUN ? -1 : result == OPTIONS_HELP ? 0 : 2;
}

static int run(bench *b)
{
    int status;
    if (b->set.csv && b->rank == 0 && !(b->csv = fopen(b->set.csv, "w")))
        give_up("%s cannot be created", b->set.csv);
    status = hold_all(b);
    if (b->csv && fclose(b->csv) != 0)
        give_up("%s cannot be written", b->set.csv);
    return status;
}

int main(int argc, char **argv)
{
    bench b;
    int status;
    memset(&b, 0, sizeof b);
    b.set.n = 4096;
    b.set.repetitions = 5;
    b.set.seconds = 0.2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    status = read_settings(&b, argc, argv);
    if (status < 0)
        status = run(&b);
    MPI_Finalize();
    return status;
}
