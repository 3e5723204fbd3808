/* redist tests: axes, layouts and views as tables, filled by plain loops that deal out one element at a time. MIT licence, see LICENSE. */
#ifndef SERIAL_H
#define SERIAL_H

#include "redist.h"
#include "test.h"

enum {
    SERIAL_AXES = 8, SERIAL_LENGTH = 4096, SERIAL_PROCS = 128, SERIAL_PLACES = 256, SERIAL_RANKS = 320,
    SERIAL_STEPS = 8, SERIAL_ELEMENTS = 4000
};

/* ---- one axis ---- */

typedef enum {
    SERIAL_WHOLE, SERIAL_BLOCK, SERIAL_CYCLIC, SERIAL_BLOCK_CYCLIC, SERIAL_BALANCED, SERIAL_CUTS, SERIAL_KINDS
} serial_kind;

typedef struct {
    serial_kind kind;
    int64_t n, block;
    int procs, start;
    int64_t cuts[SERIAL_PROCS + 1];
} serial_axis;

typedef struct {
    int64_t n;
    int procs;
    int owner[SERIAL_LENGTH];
    int64_t local[SERIAL_LENGTH];
    int64_t count[SERIAL_PROCS];
} serial_dealt;

static inline const char *serial_kind_name(serial_kind kind)
{
    static const char *const names[SERIAL_KINDS] = { "whole", "block", "cyclic", "block_cyclic", "balanced", "cuts" };
    return names[kind];
}

static inline serial_axis serial_axis_of(serial_kind kind, int64_t n, int64_t block, int procs)
{
    serial_axis a;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    a.n = n;
    a.block = block;
    a.procs = kind == SERIAL_WHOLE ? 1 : procs;
    return a;
}

/* The library's axis. Cuts are kept by reference: `a` must outlive it. */
static inline redist_axis serial_build_axis(const serial_axis *a)
{
    redist_axis x = redist_whole(a->n);
    switch (a->kind) {
    case SERIAL_BLOCK: x = redist_block(a->n, a->procs); break;
    case SERIAL_CYCLIC: x = redist_cyclic(a->n, a->procs); break;
    case SERIAL_BLOCK_CYCLIC: x = redist_block_cyclic(a->n, a->block, a->procs); break;
    case SERIAL_BALANCED: x = redist_balanced(a->n, a->procs); break;
    case SERIAL_CUTS: x = redist_cuts(a->cuts, a->procs); break;
    case SERIAL_WHOLE: case SERIAL_KINDS: break;
    }
    return a->start ? redist_starting_at(x, a->start) : x;
}

/* How many elements are handed out in one go at the given turn (0, 1, 2, ..). */
static inline int64_t serial_turn(const serial_axis *a, int64_t turn)
{
    int64_t size = 0, i;
    switch (a->kind) {
    case SERIAL_WHOLE: return a->n;
    case SERIAL_CYCLIC: return 1;
    case SERIAL_BLOCK_CYCLIC: return a->block;
    case SERIAL_CUTS: return a->cuts[turn + 1] - a->cuts[turn];
    case SERIAL_BLOCK: /* the smallest size with which everybody's turn comes at most once */
        while (size * a->procs < a->n)
            size++;
        return size;
    case SERIAL_BALANCED: /* like cards: what this one would get one by one */
        for (i = turn; i < a->n; i += a->procs)
            size++;
        return size;
    case SERIAL_KINDS: break;
    }
    return size;
}

static inline void serial_deal(const serial_axis *a, serial_dealt *dealt)
{
    int coord = a->start;
    int64_t turn = 0, left = a->n ? serial_turn(a, 0) : 0;
    memset(dealt, 0, sizeof *dealt);
    dealt->n = a->n;
    dealt->procs = a->procs;
    for (int64_t i = 0; i < a->n; i++) {
        while (left == 0) {
            left = serial_turn(a, ++turn);
            coord = coord + 1 == a->procs ? 0 : coord + 1;
        }
        dealt->owner[i] = coord;
        dealt->local[i] = dealt->count[coord]++;
        left--;
    }
}

static inline void serial_random_cuts(test_random *r, serial_axis *a)
{
    a->cuts[0] = 0;
    a->cuts[a->procs] = a->n;
    for (int k = 1; k < a->procs; k++) {
        int at = k;
        int64_t cut = test_between(r, 0, a->n);
        for (; at > 1 && a->cuts[at - 1] > cut; at--)
            a->cuts[at] = a->cuts[at - 1];
        a->cuts[at] = cut;
    }
}

static inline serial_axis serial_random_axis(test_random *r, int64_t n, int most_procs)
{
    serial_kind kind = (serial_kind)test_between(r, 0, SERIAL_KINDS - 1);
    int64_t block = test_between(r, 1, n < 4 ? 4 : n + 1);
    serial_axis a = serial_axis_of(kind, n, block, (int)test_between(r, 1, most_procs));
    a.start = (int)test_between(r, 0, a.procs - 1);
    serial_random_cuts(r, &a);
    return a;
}

/* ---- layouts ---- */

typedef struct {
    int ndim, places;
    serial_axis axes[SERIAL_AXES];                       /* the array's own axes */
    serial_dealt dealt[SERIAL_AXES];
    redist_order grid_order, memory_order;
    int ranks[SERIAL_PLACES];                            /* of each place */
    int coords[SERIAL_PLACES][SERIAL_AXES];              /* of each place, own axis order */
    int64_t low[SERIAL_AXES], high[SERIAL_AXES], allocated[SERIAL_AXES];
    int64_t alloc[SERIAL_PLACES];                        /* elements of each place's local array */
    int64_t own_shape[SERIAL_AXES];
    int *place;                                          /* of each element of the array */
    int64_t *offset;                                     /* of each element of the array */
    int own[SERIAL_AXES];                                /* view axis d is own axis own[d] */
    int64_t shape[SERIAL_AXES], elements;                /* of the view */
    int64_t *map;                                        /* view element to array element, last axis fastest in both */
} serial_layout;

static inline int64_t serial_product(int ndim, const int64_t *shape)
{
    int64_t product = 1;
    for (int d = 0; d < ndim; d++)
        product *= shape[d];
    return product;
}

/* Steps to the next index, 0 after the last one (which leaves all zeros). */
static inline int serial_next(int ndim, const int64_t *shape, redist_order order, int64_t *index)
{
    for (int k = 0; k < ndim; k++) {
        int d = order == REDIST_ROW_MAJOR ? ndim - 1 - k : k;
        if (++index[d] < shape[d])
            return 1;
        index[d] = 0;
    }
    return 0;
}

/* The number of an element when the last axis varies fastest. */
static inline int64_t serial_number(int ndim, const int64_t *shape, const int64_t *index)
{
    int64_t number = 0;
    for (int d = 0; d < ndim; d++)
        number = number * shape[d] + index[d];
    return number;
}

static inline void *serial_malloc(int64_t count, size_t size)
{
    void *memory = calloc((size_t)(count + 1), size);
    if (memory == NULL) {
        printf("out of memory\n");
        exit(1);
    }
    return memory;
}

static inline redist_layout serial_begin(serial_layout *l, int ndim, const serial_axis *axes)
{
    redist_axis built[SERIAL_AXES];
    memset(l, 0, sizeof *l);
    l->ndim = ndim;
    l->places = 1;
    l->grid_order = l->memory_order = REDIST_ROW_MAJOR;
    for (int d = 0; d < ndim; d++) {
        l->axes[d] = axes[d];
        serial_deal(&axes[d], &l->dealt[d]);
        built[d] = serial_build_axis(&l->axes[d]);
        l->places *= axes[d].procs;
        l->own_shape[d] = l->shape[d] = axes[d].n;
        l->own[d] = d;
    }
    for (int k = 0; k < l->places; k++)
        l->ranks[k] = k;
    l->elements = serial_product(ndim, l->shape);
    l->map = (int64_t *)serial_malloc(l->elements, sizeof *l->map);
    for (int64_t e = 0; e < l->elements; e++)
        l->map[e] = e;
    return redist_layout_nd(ndim, built);
}

static inline void serial_free(serial_layout *l)
{
    free(l->map);
    free(l->place);
    free(l->offset);
}

/* ---- steps that make one layout from another ---- */

typedef enum {
    SERIAL_PERMUTE, SERIAL_TRANSPOSE, SERIAL_FLIP, SERIAL_ROTATE, SERIAL_SECTION, SERIAL_VIEWS,
    SERIAL_HALO = SERIAL_VIEWS, SERIAL_EXTENT, SERIAL_GRID_ORDER, SERIAL_MEMORY_ORDER, SERIAL_RANDOM_STEPS,
    SERIAL_FROM_RANK = SERIAL_RANDOM_STEPS, SERIAL_ON_RANKS
} serial_step_kind;

typedef struct {
    serial_step_kind kind;
    int axis, value;                     /* value: quarter turns, first rank, order */
    int64_t start, count, step;          /* a section; or the low and high halo, or the spare extent */
    int axes[SERIAL_AXES];
} serial_step;

/* Index `to` of the result is index from[axes[d]] = start[d] + step[d] * to[d] of the view before. */
typedef struct {
    int axes[SERIAL_AXES];
    int64_t start[SERIAL_AXES], step[SERIAL_AXES], shape[SERIAL_AXES];
} serial_view;

static inline serial_view serial_axes_view(const serial_layout *l, const serial_step *s)
{
    serial_view v;
    memset(&v, 0, sizeof v);
    for (int d = 0; d < l->ndim; d++) {
        v.axes[d] = s->kind == SERIAL_PERMUTE ? s->axes[d] : s->kind == SERIAL_TRANSPOSE ? l->ndim - 1 - d : d;
        if (s->kind == SERIAL_ROTATE && d < 2)
            v.axes[d] = 1 - d;
        v.start[d] = 0;
        v.step[d] = 1;
        v.shape[d] = l->shape[v.axes[d]];
    }
    return v;
}

static inline serial_view serial_view_of(const serial_layout *l, const serial_step *s)
{
    serial_view v = serial_axes_view(l, s);
    int reversed = s->kind == SERIAL_FLIP ? s->axis : s->kind == SERIAL_ROTATE ? 0 : -1;
    if (reversed >= 0) {
        v.start[reversed] = v.shape[reversed] - 1;
        v.step[reversed] = -1;
    }
    if (s->kind == SERIAL_SECTION) {
        v.start[s->axis] = s->start;
        v.step[s->axis] = s->step;
        v.shape[s->axis] = s->count;
    }
    return v;
}

static inline void serial_transform(serial_layout *l, const serial_view *v)
{
    int own[SERIAL_AXES];
    int64_t to[SERIAL_AXES] = { 0 }, from[SERIAL_AXES] = { 0 }, elements = serial_product(l->ndim, v->shape), e = 0;
    int64_t *map = (int64_t *)serial_malloc(elements, sizeof *map);
    if (elements > 0)
        do {
            for (int d = 0; d < l->ndim; d++)
                from[v->axes[d]] = v->start[d] + v->step[d] * to[d];
            map[e++] = l->map[serial_number(l->ndim, l->shape, from)];
        } while (serial_next(l->ndim, v->shape, REDIST_ROW_MAJOR, to));
    for (int d = 0; d < l->ndim; d++) {
        own[d] = l->own[v->axes[d]];
        l->shape[d] = v->shape[d];
    }
    memcpy(l->own, own, sizeof own);
    free(l->map);
    l->map = map;
    l->elements = elements;
}

static inline void serial_apply_view(serial_layout *l, const serial_step *s)
{
    int times = s->kind != SERIAL_ROTATE ? 1 : s->value < 0 ? 3 * -s->value : s->value;
    for (int k = 0; k < times; k++) {
        serial_view v = serial_view_of(l, s);
        serial_transform(l, &v);
    }
}

static inline redist_layout serial_library_view(redist_layout x, const serial_step *s)
{
    switch (s->kind) {
    case SERIAL_PERMUTE: return redist_permuted(x, s->axes);
    case SERIAL_TRANSPOSE: return redist_transposed(x);
    case SERIAL_FLIP: return redist_flipped(x, s->axis);
    case SERIAL_ROTATE: return redist_rotated(x, s->value);
    case SERIAL_SECTION: return redist_section(x, s->axis, s->start, s->count, s->step);
    default: return x;
    }
}

/* Distinct ranks in no order, some of 0 .. places + 4. */
static inline void serial_shuffle_ranks(serial_layout *l, uint64_t seed)
{
    int pool[SERIAL_PLACES + 5], size = l->places + 5;
    test_random r;
    r.state = seed;
    for (int k = 0; k < size; k++)
        pool[k] = k;
    for (int k = 0; k < l->places; k++) {
        int at = (int)test_between(&r, k, size - 1);
        l->ranks[k] = pool[at];
        pool[at] = pool[k];
    }
}

static inline int64_t serial_most(const serial_dealt *dealt)
{
    int64_t most = 0;
    for (int c = 0; c < dealt->procs; c++)
        most = dealt->count[c] > most ? dealt->count[c] : most;
    return most;
}

static inline redist_layout serial_apply_storage(serial_layout *l, redist_layout x, const serial_step *s)
{
    int own = l->own[s->axis];
    redist_order order = s->value ? REDIST_COLUMN_MAJOR : REDIST_ROW_MAJOR;
    switch (s->kind) {
    case SERIAL_HALO:
        l->low[own] = s->start;
        l->high[own] = s->count;
        return redist_with_halo(x, s->axis, s->start, s->count);
    case SERIAL_EXTENT: /* room for the widest halo of serial_random_step */
        l->allocated[own] = serial_most(&l->dealt[own]) + 4 + s->count;
        return redist_with_extent(x, s->axis, l->allocated[own]);
    case SERIAL_GRID_ORDER: l->grid_order = order; return redist_grid_order(x, order);
    case SERIAL_MEMORY_ORDER: l->memory_order = order; return redist_memory_order(x, order);
    case SERIAL_FROM_RANK:
        for (int k = 0; k < l->places; k++)
            l->ranks[k] = s->value + k;
        return redist_from_rank(x, s->value);
    case SERIAL_ON_RANKS: serial_shuffle_ranks(l, (uint64_t)s->start); return redist_on_ranks(x, l->ranks);
    default: return x;
    }
}

/* The same step on the tables and on the library's layout. */
static inline redist_layout serial_apply(serial_layout *l, redist_layout x, const serial_step *s)
{
    if (s->kind >= SERIAL_VIEWS)
        return serial_apply_storage(l, x, s);
    serial_apply_view(l, s);
    return serial_library_view(x, s);
}

/* ---- storage: every place's local array filled position by position ---- */

/* The array indices along each own axis that the place holds, in local order. */
static inline void serial_holdings(const serial_layout *l, const int *coords, int64_t (*indices)[SERIAL_LENGTH])
{
    for (int d = 0; d < l->ndim; d++) {
        int64_t held = 0;
        for (int64_t i = 0; i < l->dealt[d].n; i++)
            if (l->dealt[d].owner[i] == coords[d])
                indices[d][held++] = i;
    }
}

static inline void serial_store_place(serial_layout *l, int place, int64_t (*indices)[SERIAL_LENGTH])
{
    int64_t size[SERIAL_AXES], at[SERIAL_AXES] = { 0 }, index[SERIAL_AXES];
    serial_holdings(l, l->coords[place], indices);
    for (int d = 0; d < l->ndim; d++)
        size[d] = l->allocated[d] ? l->allocated[d] : l->low[d] + l->dealt[d].count[l->coords[place][d]] + l->high[d];
    if (serial_product(l->ndim, size) == 0)
        return;
    do {
        int held = 1;
        for (int d = 0; d < l->ndim; d++) {
            int64_t local = at[d] - l->low[d];
            int inside = local >= 0 && local < l->dealt[d].count[l->coords[place][d]];
            index[d] = inside ? indices[d][local] : 0;
            held = held && inside;
        }
        if (held) {
            int64_t element = serial_number(l->ndim, l->own_shape, index);
            l->place[element] = place;
            l->offset[element] = l->alloc[place];
        }
        l->alloc[place]++;
    } while (serial_next(l->ndim, size, l->memory_order, at));
}

/* Call once all steps are applied. */
static inline void serial_store(serial_layout *l)
{
    int64_t grid[SERIAL_AXES], coords[SERIAL_AXES] = { 0 }, elements = serial_product(l->ndim, l->own_shape);
    int64_t (*indices)[SERIAL_LENGTH] = (int64_t (*)[SERIAL_LENGTH])serial_malloc(l->ndim, sizeof *indices);
    int place = 0;
    l->place = (int *)serial_malloc(elements, sizeof *l->place);
    l->offset = (int64_t *)serial_malloc(elements, sizeof *l->offset);
    for (int d = 0; d < l->ndim; d++)
        grid[d] = l->dealt[d].procs;
    do {
        for (int d = 0; d < l->ndim; d++)
            l->coords[place][d] = (int)coords[d];
        serial_store_place(l, place++, indices);
    } while (serial_next(l->ndim, grid, l->grid_order, coords));
    free(indices);
}

static inline int serial_place_of_rank(const serial_layout *l, int rank)
{
    for (int k = 0; k < l->places; k++)
        if (l->ranks[k] == rank)
            return k;
    return -1;
}

/* ---- random layouts ---- */

/* A section of the given length out of a longer axis, whose length is returned. */
static inline int64_t serial_random_section(test_random *r, serial_step *s, int64_t count)
{
    int64_t stride = test_between(r, 1, 3), low = test_between(r, 0, 2), high = test_between(r, 0, 2);
    int64_t span = count ? (count - 1) * stride + 1 : 0;
    int backward = (int)test_between(r, 0, 1);
    s->count = count;
    s->step = backward ? -stride : stride;
    s->start = backward && count ? low + span - 1 : low;
    return low + span + high;
}

static inline void serial_random_permutation(test_random *r, int ndim, int *axes)
{
    for (int d = 0; d < ndim; d++) {
        int at = (int)test_between(r, 0, d);
        axes[d] = axes[at];
        axes[at] = d;
    }
}

static inline int serial_too_large(int ndim, const int64_t *shape)
{
    int64_t product = 1;
    for (int d = 0; d < ndim; d++)
        product *= shape[d] ? shape[d] : 1;
    return product > SERIAL_ELEMENTS;
}

/* The shape of the view that a permuting step starts from. */
static inline void serial_shape_before(int ndim, const serial_step *s, const int64_t *after, int64_t *shape)
{
    for (int d = 0; d < ndim; d++)
        if (s->kind == SERIAL_PERMUTE || s->kind == SERIAL_TRANSPOSE)
            shape[s->kind == SERIAL_PERMUTE ? s->axes[d] : ndim - 1 - d] = after[d];
    if (s->kind == SERIAL_ROTATE && s->value % 2 != 0) {
        shape[0] = after[1];
        shape[1] = after[0];
    }
}

/* Draws a step; shape: of the view after it on entry, before it on return. */
static inline void serial_random_step(test_random *r, int ndim, int64_t *shape, int views_only, serial_step *s)
{
    int64_t after[SERIAL_AXES];
    memset(s, 0, sizeof *s);
    memcpy(after, shape, sizeof after);
    s->kind = (serial_step_kind)test_between(r, 0, views_only ? SERIAL_VIEWS - 1 : SERIAL_RANDOM_STEPS - 1);
    s->axis = (int)test_between(r, 0, ndim - 1);
    s->value = (int)(s->kind == SERIAL_ROTATE ? test_between(r, -5, 5) : test_between(r, 0, 1));
    if (s->kind == SERIAL_ROTATE && ndim < 2)
        s->kind = SERIAL_TRANSPOSE;
    serial_random_permutation(r, ndim, s->axes);
    s->start = test_between(r, 0, 2);
    s->count = test_between(r, 0, 2);
    if (s->kind == SERIAL_SECTION)
        shape[s->axis] = serial_random_section(r, s, after[s->axis]);
    if (serial_too_large(ndim, shape)) {
        s->kind = SERIAL_FLIP;
        shape[s->axis] = after[s->axis];
    }
    serial_shape_before(ndim, s, after, shape);
}

static inline redist_layout serial_random_ranks(test_random *r, serial_layout *l, redist_layout x)
{
    serial_step s;
    memset(&s, 0, sizeof s);
    s.kind = test_between(r, 0, 1) ? SERIAL_FROM_RANK : SERIAL_ON_RANKS;
    s.value = (int)test_between(r, 0, 5);
    s.start = test_between(r, 0, 1000000);
    return serial_apply(l, x, &s);
}

/* A random layout whose view has the given shape, made in at most `most` steps (and, perhaps, other ranks); its tables go to l. */
static inline redist_layout serial_random(test_random *r, int ndim, const int64_t *shape, int most, int views_only, serial_layout *l)
{
    static const int most_procs[SERIAL_AXES + 1] = { 1, 12, 6, 4, 4, 3, 2, 2, 2 };
    serial_step steps[SERIAL_STEPS];
    serial_axis axes[SERIAL_AXES];
    redist_layout x;
    int64_t own_shape[SERIAL_AXES] = { 0 };
    int count = (int)test_between(r, 0, most), ranks = (int)test_between(r, 0, 2 * most);
    memcpy(own_shape, shape, (size_t)ndim * sizeof *shape);
    for (int k = count - 1; k >= 0; k--)
        serial_random_step(r, ndim, own_shape, views_only, &steps[k]);
    for (int d = 0; d < ndim; d++)
        axes[d] = serial_random_axis(r, own_shape[d], most_procs[ndim]);
    x = serial_begin(l, ndim, axes);
    for (int k = 0; k <= count; k++) {
        if (k == ranks)
            x = serial_random_ranks(r, l, x);
        if (k < count)
            x = serial_apply(l, x, &steps[k]);
    }
    serial_store(l);
    return x;
}

static inline void serial_random_shape(test_random *r, int ndim, int64_t *shape)
{
    static const int64_t longest[SERIAL_AXES + 1] = { 0, 40, 14, 8, 5, 4, 3, 3, 2 };
    for (int d = 0; d < ndim; d++)
        shape[d] = test_between(r, test_between(r, 0, 9) ? 1 : 0, longest[ndim]);
}

/* ---- what moves between two layouts, element by element ---- */

typedef struct { int64_t volume[SERIAL_RANKS][SERIAL_RANKS]; } serial_matrix;

static inline void serial_volumes(const serial_layout *from, const serial_layout *to, serial_matrix *m)
{
    memset(m, 0, sizeof *m);
    for (int64_t e = 0; e < from->elements; e++)
        m->volume[from->ranks[from->place[from->map[e]]]][to->ranks[to->place[to->map[e]]]]++;
}

static inline void serial_raise(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

static inline redist_traffic serial_traffic(const serial_matrix *m)
{
    redist_traffic t;
    memset(&t, 0, sizeof t);
    for (int a = 0; a < SERIAL_RANKS; a++) {
        int64_t sends = 0, receives = 0, sent = 0, received = 0;
        for (int b = 0; b < SERIAL_RANKS; b++) {
            t.total += m->volume[a][b];
            if (a == b) {
                t.kept += m->volume[a][b];
                continue;
            }
            sends += m->volume[a][b] > 0;
            receives += m->volume[b][a] > 0;
            sent += m->volume[a][b];
            received += m->volume[b][a];
        }
        t.messages += sends;
        t.moved += sent;
        serial_raise(&t.max_sends, sends);
        serial_raise(&t.max_receives, receives);
        serial_raise(&t.max_sent, sent);
        serial_raise(&t.max_received, received);
    }
    return t;
}

static inline int serial_same_traffic(const redist_traffic *a, const redist_traffic *b)
{
    return a->total == b->total && a->kept == b->kept && a->moved == b->moved && a->messages == b->messages &&
           a->max_sends == b->max_sends && a->max_receives == b->max_receives && a->max_sent == b->max_sent &&
           a->max_received == b->max_received;
}

/* ---- local arrays, for redist_move ---- */

/* One array per place, every cell -1; a place that allocates nothing gets NULL. */
static inline void serial_arrays_create(const serial_layout *l, void **arrays)
{
    for (int k = 0; k < l->places; k++) {
        arrays[k] = l->alloc[k] ? serial_malloc(l->alloc[k], sizeof(int32_t)) : NULL;
        if (arrays[k])
            memset(arrays[k], 0xff, (size_t)l->alloc[k] * sizeof(int32_t));
    }
}

/* Element e of the view becomes e. */
static inline void serial_arrays_number(const serial_layout *l, void *const *arrays)
{
    for (int64_t e = 0; e < l->elements; e++)
        ((int32_t *)arrays[l->place[l->map[e]]])[l->offset[l->map[e]]] = (int32_t)e;
}

static inline void serial_arrays_free(const serial_layout *l, void **arrays)
{
    for (int k = 0; k < l->places; k++)
        free(arrays[k]);
}

static inline int serial_arrays_same(const serial_layout *l, void *const *a, void *const *b)
{
    for (int k = 0; k < l->places; k++)
        if (l->alloc[k] && memcmp(a[k], b[k], (size_t)l->alloc[k] * sizeof(int32_t)) != 0)
            return 0;
    return 1;
}

/* Numbers the elements of one view, moves them with the library, and compares every cell, padding included. */
static inline int serial_check_move(const serial_layout *from, const redist_layout *x, const serial_layout *to, const redist_layout *y)
{
    void *source[SERIAL_PLACES], *target[SERIAL_PLACES], *wanted[SERIAL_PLACES];
    const void *read_only[SERIAL_PLACES];
    int ok;
    serial_arrays_create(from, source);
    serial_arrays_create(to, target);
    serial_arrays_create(to, wanted);
    serial_arrays_number(from, source);
    serial_arrays_number(to, wanted);
    for (int k = 0; k < from->places; k++)
        read_only[k] = source[k];
    ok = redist_move(x, read_only, y, target, sizeof(int32_t)) == REDIST_OK && serial_arrays_same(to, target, wanted);
    serial_arrays_free(from, source);
    serial_arrays_free(to, target);
    serial_arrays_free(to, wanted);
    return ok;
}

#endif
