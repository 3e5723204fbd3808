/* redist tests: layouts drawn at random, and which element each of their cells holds, by dealing
   elements out one at a time. MIT licence, see LICENSE. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdint.h>

/* From how many bytes on arrays are written by non-temporal stores: a variable here, so that small
   arrays take both ways. */
#ifdef REDIST_DECLARATIONS_ONLY
extern int64_t test_stream_bytes; /* linked.h */
#else
static int64_t test_stream_bytes = 4194304;
#ifndef REDIST_STREAM_BYTES
#define REDIST_STREAM_BYTES test_stream_bytes
#endif
#endif

#include "redist.h"
#include "test.h"

/* The longest axis, the most elements of a view, and of the whole array that it shows. */
#ifndef TEST_ELEMENTS
#define TEST_LENGTH 4096
#define TEST_ELEMENTS 4096
#define TEST_LARGEST 20000
#endif

#ifndef TEST_DIMS
#define TEST_DIMS 4
#define TEST_PLACES 16
#endif

/* ---- answers on paper; -1: an error ---- */

static inline int64_t test_volume(const redist_layout *from, int rank_from, const redist_layout *to,
                                  int rank_to) {
  int64_t elements = -2;
  const int code = redist_volume(from, rank_from, to, rank_to, &elements);
  return (code == REDIST_OK) == (elements >= 0) ? elements : -2;
}

static inline double test_cost(const redist_layout *from, const redist_layout *to,
                               size_t element_bytes, const redist_cost *cost) {
  double seconds = -2;
  const int code = redist_cost_of(from, to, element_bytes, cost, &seconds);
  return (code == REDIST_OK) == (seconds >= 0) ? seconds : -2;
}

/* ---- a layout as described ---- */

enum {
  TEST_WHOLE,
  TEST_BLOCK,
  TEST_CYCLIC,
  TEST_BLOCK_CYCLIC,
  TEST_BALANCED,
  TEST_CUTS,
  TEST_OWNERS,
  TEST_LISTS,
  TEST_KINDS,
#ifdef REDIST_NO_LISTS
  TEST_RESHAPED = 0,
  TEST_LAST_DRAWN = TEST_CUTS
#else
  TEST_RESHAPED = 1,
  TEST_LAST_DRAWN = TEST_LISTS
#endif
};
enum {
  TEST_MOST_REPLICAS = 8,
  TEST_SCATTERED = TEST_LENGTH < 512 ? TEST_LENGTH : 512 /* the longest list of owners */
};

/* Operations that may be drawn at random, and those together with what flags ask for. */
enum { TEST_ANY = 10, TEST_OPERATIONS = TEST_ANY + 3 * TEST_DIMS + 3 };

/* What may be done to a layout after its axes or boxes are given, in any order. */
enum {
  TEST_PERMUTE,
  TEST_TRANSPOSE,
  TEST_FLIP,
  TEST_ROTATE,
  TEST_SECTION,
  TEST_HALO,
  TEST_EXTENT,
  TEST_GRID_ORDER,
  TEST_MEMORY_ORDER,
  TEST_RANKS,
  TEST_REPLICATE,
  TEST_SPLIT, /* by `count` */
  TEST_MERGE, /* with the next axis */
  TEST_OPERATION_KINDS
};

/* What may be drawn beyond views of an array on a grid. */
enum {
  TEST_OWN_EXTENTS = 1, /* not the same on every rank                                 */
  TEST_HALOS = 2,       /* around most axes, often wide, and more sections and extents */
  TEST_GHOSTS = 4,      /* ghost cells that hold elements                              */
  TEST_BOXES = 8,       /* now and then, of which some leave out elements              */
  TEST_REPLICAS = 16,
  TEST_RESHAPES = 32 /* splits and merges after all other operations, without ghosts and boxes */
};
enum { TEST_TAIL = 8 }; /* the most operations of a reshaping */

/* Which shapes are drawn. */
enum { TEST_MEDIUM, TEST_LARGE, TEST_SMALL };

/* Which ghost cells hold elements. */
enum { TEST_NO_GHOSTS, TEST_ALL_GHOSTS, TEST_NEAR_GHOSTS };

typedef struct {
  int kind, procs, first;
  int64_t n, block, cuts[TEST_PLACES + 1];
  /* of TEST_OWNERS and TEST_LISTS, before `first` shifts them; index, begin: as redist_lists has
     them */
  int owner[TEST_SCATTERED];
  int64_t index[TEST_SCATTERED], begin[TEST_PLACES + 1];
  /* used where a TEST_HALO names this axis; depth: of the ghost cells that hold elements */
  int64_t low, high, depth[2];
  int ghosts;
  redist_edge edge;
  /* used where a TEST_EXTENT names it: elements beyond the need. tight: no cell is needed after the
     last that can hold an element; each: a rank's extent follows its own need, not the largest */
  int64_t extra;
  int tight, each;
} test_axis;

/* axis: of the view, but of a TEST_HALO and a TEST_EXTENT the axis as given.
   value: quarter turns, or the order. */
typedef struct {
  int kind, axis, value;
  int axes[TEST_DIMS];
  int64_t start, count, step;
} test_operation;

/* Places are on a grid, or boxes where there are any. Place k + c * (places of the grid) is replica
   c of place k. */
typedef struct {
  int ndim, boxes, partial, replicas, operations, listed, first_rank, ranks[TEST_PLACES];
  int bare;  /* as with ghosts, but no ghost cell holds an element */
  int faces; /* no ghost cell beyond several axes holds an element; 2: said after each axis */
  test_axis axes[TEST_DIMS];
  redist_box box[TEST_PLACES];
  test_operation list[TEST_OPERATIONS];
  /* what reshapes the view that these operations make */
  int tails;
  test_operation tail[TEST_TAIL];
} test_array;

/* One axis distributed: for each index its owner and local position, and for each coordinate its
   `count` indices, index[begin] and those that follow. */
typedef struct {
  int owner[TEST_LENGTH];
  int64_t local[TEST_LENGTH], index[TEST_LENGTH];
  int64_t begin[TEST_PLACES], count[TEST_PLACES];
} test_deal;

/* The elements of a view, last axis fastest: the place that owns each (the first of its replicas;
   -1: none does), and which cell of that place's array it is. */
typedef struct {
  const test_array *array;
  int grid_order, memory_order, ranked; /* order 0: the last axis varies fastest, 1: the first */
  int axes;                             /* of the view */
  int64_t elements, offset[TEST_ELEMENTS], shape[TEST_DIMS + 1];
  int place[TEST_ELEMENTS];
  /* grid: the places without their replicas */
  int grid, places, ranks[TEST_PLACES];
  int64_t owned[TEST_PLACES], alloc[TEST_PLACES];
  /* by axis as given, except axis_at, the axis of the view that an operation names */
  int coords[TEST_PLACES][TEST_DIMS], axis_at[TEST_OPERATIONS], extent[TEST_DIMS];
  int64_t cells[TEST_PLACES][TEST_DIMS];
  const test_axis *halo[TEST_DIMS]; /* what says it */
  test_deal deals[TEST_DIMS];
  /* axis d of the view is axis own[d]: how many of its indices it shows, and as which each */
  int own[TEST_DIMS];
  int64_t count[TEST_DIMS], seen[TEST_DIMS][TEST_LENGTH];
  /* of the view before it is reshaped: its shape, and which element of the result each is, or -1 */
  int64_t whole[TEST_DIMS + 1], after[TEST_LARGEST];
} test_table;

/* A layout as described, where its elements are, and as the library has it. It must not move. */
typedef struct {
  test_array array;
  test_table table;
  redist_layout layout;
} test_model;

static inline test_axis test_axis_of(int kind, int64_t n, int64_t block, int procs) {
  test_axis x;
  memset(&x, 0, sizeof x);
  x.kind = kind;
  x.n = n;
  x.block = block;
  x.procs = kind == TEST_WHOLE ? 1 : procs;
  return x;
}

static inline test_operation test_operation_of(int kind, int axis) {
  const test_operation o = {kind, axis, 0, {0}, 0, 0, 1};
  return o;
}

static inline void test_add(test_array *array, test_operation o) {
  array->list[array->operations++] = o;
}

/* Without replicas. */
static inline int test_places(const test_array *array) {
  int a, places = 1;
  for (a = 0; a < array->ndim; a++) places *= array->axes[a].procs;
  return array->boxes > 0 ? array->boxes : places;
}

/* ---- drawing ---- */

/* The shape of a view: uneven, sometimes with an axis of 1 or of 0; a small one has few cells, so
   that all can be looked at. Returns its axes. */
static inline int test_draw_shape(test_random *r, int size, int64_t *shape) {
  static const int64_t largest[3][4] = {{400, 30, 10, 6}, {30000, 600, 70, 24}, {40, 9, 6, 4}};
  static const int chosen[10] = {1, 1, 2, 2, 2, 2, 3, 3, 3, 4};
  int d, ndim = chosen[test_between(r, 0, 9)];
  for (d = 0; d < ndim; d++) {
    shape[d] = test_between(r, 1, largest[size][ndim - 1]);
    if (test_one_in(r, 40)) shape[d] = test_between(r, 0, 1);
  }
  return ndim;
}

static inline int64_t test_product(int ndim, const int64_t *shape) {
  int64_t product = 1;
  int d;
  for (d = 0; d < ndim; d++) product *= shape[d];
  return product;
}

/* Draws a section that leaves shape[axis] indices, and widens shape[axis] to what it is cut
   from. */
static inline void test_draw_section(test_random *r, test_operation *o, int ndim, int64_t *shape) {
  int64_t step = test_between(r, 1, 3), below = test_between(r, 0, 3),
          above = test_between(r, 0, 3);
  int64_t count = shape[o->axis], span = count > 0 ? (count - 1) * step + 1 : 0;
  o->count = count;
  shape[o->axis] = below + span + above;
  if (shape[o->axis] > TEST_LENGTH || test_product(ndim, shape) > TEST_LARGEST) {
    o->kind = TEST_FLIP;
    shape[o->axis] = count;
  } else if (test_one_in(r, 2)) {
    o->start = below;
    o->step = step;
  } else {
    o->start = span > 0 ? below + span - 1 : 0;
    o->step = -step;
  }
}

/* Axis d of the result of an operation is axis axes[d] before. */
static inline void test_axes(const test_operation *o, int ndim, int *axes) {
  int d;
  for (d = 0; d < ndim; d++) {
    const int turned = o->kind == TEST_ROTATE && o->value % 2 != 0 && d < 2;
    axes[d] = turned ? 1 - d : o->kind == TEST_TRANSPOSE ? ndim - 1 - d : d;
    if (o->kind == TEST_PERMUTE) axes[d] = o->axes[d];
  }
}

/* The shape before the operation, from the shape after it. */
static inline void test_undo(const test_operation *o, int ndim, int64_t *shape) {
  int64_t after[TEST_DIMS];
  int axes[TEST_DIMS], d;
  memcpy(after, shape, sizeof after);
  test_axes(o, ndim, axes);
  for (d = 0; d < ndim; d++) shape[axes[d]] = after[d];
}

/* Inserts an operation among those drawn before. */
static inline void test_draw_operation(test_random *r, int kind, int axis, test_array *array) {
  test_operation o = test_operation_of(kind, axis), *at;
  if (kind == TEST_ROTATE && array->ndim < 2) o.kind = TEST_FLIP;
  o.value = (int)(o.kind == TEST_ROTATE ? test_between(r, -5, 5) : test_between(r, 0, 1));
  test_shuffle(r, o.axes, array->ndim);
  at = &array->list[test_between(r, 0, array->operations)];
  array->list[array->operations++] = *at;
  *at = o;
}

/* Some of any kind, and those that the flags ask for. Turns the shape of the view into that of the
   array. */
static inline void test_draw_operations(test_random *r, int flags, test_array *array,
                                        int64_t *shape) {
  int a, k, ndim = array->ndim, any = test_one_in(r, 5) ? 0 : (int)test_between(r, 0, TEST_ANY);
  for (k = 0; k < any; k++)
    test_draw_operation(r, (int)test_between(r, 0, TEST_RANKS), (int)test_between(r, 0, ndim - 1),
                        array);
  for (a = 0; a < ndim && flags & TEST_HALOS; a++) {
    test_draw_operation(r, TEST_HALO, a, array);
    if (test_one_in(r, 4)) test_draw_operation(r, TEST_EXTENT, a, array);
    if (test_one_in(r, 3)) test_draw_operation(r, TEST_SECTION, a, array);
  }
  if (flags & TEST_REPLICAS) test_draw_operation(r, TEST_REPLICATE, 0, array);
  if (flags & ~TEST_OWN_EXTENTS) test_draw_operation(r, TEST_RANKS, 0, array);
  for (k = array->operations - 1; k >= 0; k--) {
    if (array->list[k].kind == TEST_SECTION) test_draw_section(r, &array->list[k], ndim, shape);
    test_undo(&array->list[k], ndim, shape);
  }
}

/* ---- reshaping: drawn from the last operation to the first ---- */

/* A suffix product of the ascending prime factors of n, less than n; any two of a number, or of its
   quotient by one, divide each other. 1: there is none. */
static inline int64_t test_draw_inner(test_random *r, int64_t n) {
  int64_t p = 2, rest = n, least[64];
  int k = 0;
  for (; rest > 1; p++)
    for (; rest % p == 0; rest /= p) least[k++] = rest;
  return k < 2 ? 1 : least[test_between(r, 1, k - 1)];
}

static inline int test_is_inner(int64_t n, int64_t inner) {
  int64_t p = 2, rest = n;
  int is = inner == 1 || inner == n;
  for (; rest > 1; p++)
    for (; rest % p == 0; rest /= p) is |= rest == inner;
  return is;
}

/* Inserts the first of a split axis's lengths, or removes it. */
static inline void test_insert(int64_t *shape, int ndim, int axis, int64_t inner) {
  memmove(shape + axis + 1, shape + axis, (size_t)(ndim - axis) * sizeof *shape);
  shape[axis + 1] = inner;
  shape[axis] /= inner;
}

static inline void test_remove(int64_t *shape, int ndim, int axis) {
  shape[axis] *= shape[axis + 1];
  memmove(shape + axis + 1, shape + axis + 2, (size_t)(ndim - axis - 2) * sizeof *shape);
}

/* Draws an operation, whose result has this shape, and turns the shape into the one before. Returns
   the axes before. */
static inline int test_draw_reshaping(test_random *r, int kind, int ndim, int64_t *shape,
                                      test_operation *o) {
  const int axis = (int)test_between(r, 0, ndim - 1);
  const int64_t inner = test_draw_inner(r, shape[axis]);
  *o = test_operation_of(TEST_FLIP, axis);
  if (kind == TEST_MERGE && ndim < TEST_DIMS && shape[axis] > 0 && inner > 0) {
    o->kind = TEST_MERGE;
    test_insert(shape, ndim, axis, inner);
    return ndim + 1;
  }
  if (kind == TEST_SPLIT && axis < ndim - 1 && shape[axis + 1] > 0 &&
      shape[axis] * shape[axis + 1] <= TEST_LENGTH &&
      test_is_inner(shape[axis] * shape[axis + 1], shape[axis + 1])) {
    o->kind = TEST_SPLIT;
    o->count = shape[axis + 1];
    test_remove(shape, ndim, axis);
    return ndim - 1;
  }
  if (kind == TEST_PERMUTE) {
    o->kind = kind;
    test_shuffle(r, o->axes, ndim);
    test_undo(o, ndim, shape);
  }
  if (kind == TEST_SECTION) {
    o->kind = kind;
    test_draw_section(r, o, ndim, shape);
  }
  return ndim;
}

/* Draws operations that make a view of this shape: splits and merges, and then others. */
static inline int test_draw_tail(test_random *r, test_array *array, int ndim, int64_t *shape) {
  static const int after[] = {TEST_PERMUTE, TEST_FLIP, TEST_SECTION};
  static const int reshaping[] = {TEST_MERGE, TEST_SPLIT,   TEST_MERGE,
                                  TEST_SPLIT, TEST_PERMUTE, TEST_FLIP};
  const int last = (int)test_between(r, 0, 2);
  int k;
  array->tails = last + (int)test_between(r, 1, TEST_TAIL - 2);
  for (k = array->tails - 1; k >= 0; k--)
    ndim = test_draw_reshaping(r,
                               k >= array->tails - last ? after[test_between(r, 0, 2)]
                                                        : reshaping[test_between(r, 0, 5)],
                               ndim, shape, &array->tail[k]);
  return ndim;
}

/* Applies an operation to the index of an element: 0 if the result does not show it. */
static inline int test_reshape(const test_operation *o, int *ndim, int64_t *shape, int64_t *index) {
  int64_t before[2][TEST_DIMS], *i = &index[o->axis];
  const int64_t distance = *i - o->start;
  int axes[TEST_DIMS], d;
  switch (o->kind) {
  case TEST_SPLIT:
    memmove(i + 1, i, (size_t)(*ndim - o->axis) * sizeof *i);
    *i /= o->count;
    i[1] %= o->count;
    test_insert(shape, (*ndim)++, o->axis, o->count);
    return 1;
  case TEST_MERGE:
    *i = *i * shape[o->axis + 1] + i[1];
    memmove(i + 1, i + 2, (size_t)(*ndim - o->axis - 2) * sizeof *i);
    test_remove(shape, (*ndim)--, o->axis);
    return 1;
  case TEST_PERMUTE:
    memcpy(before[0], shape, sizeof before[0]);
    memcpy(before[1], index, sizeof before[1]);
    test_axes(o, *ndim, axes);
    for (d = 0; d < *ndim; d++) shape[d] = before[0][axes[d]], index[d] = before[1][axes[d]];
    return 1;
  case TEST_SECTION:
    *i = distance / o->step;
    shape[o->axis] = o->count;
    return distance % o->step == 0 && *i >= 0 && *i < o->count;
  default: *i = shape[o->axis] - 1 - *i; return 1;
  }
}

static inline void test_draw_cuts(test_random *r, test_axis *x) {
  int k, j;
  x->cuts[0] = 0;
  for (k = 1; k < x->procs; k++) {
    int64_t cut = test_between(r, 0, x->n);
    for (j = k; j > 1 && x->cuts[j - 1] > cut; j--) x->cuts[j] = x->cuts[j - 1];
    x->cuts[j] = cut;
  }
  x->cuts[x->procs] = x->n;
}

/* Lists the indices of each coordinate in ascending order. */
static inline void test_list_owners(test_axis *x) {
  int64_t i, at = 0;
  int k;
  for (k = 0; k < x->procs; k++) {
    x->begin[k] = at;
    for (i = 0; i < x->n; i++)
      if (x->owner[i] == k) x->index[at++] = i;
  }
  x->begin[x->procs] = at;
}

/* Owners at random, one by one or in stretches, or dealt out round-robin. */
static inline void test_draw_owners(test_random *r, test_axis *x) {
  const int64_t longest = test_one_in(r, 2) ? 1 : test_between(r, 1, 12);
  const int dealt = test_one_in(r, 4), among = (int)test_between(r, 1, x->procs);
  int64_t i, left = 0;
  int owner = 0;
  for (i = 0; i < x->n; i++) {
    if (left-- == 0) {
      left = dealt ? longest - 1 : test_between(r, 0, longest - 1);
      owner = dealt ? (owner + 1) % x->procs : (int)test_between(r, 0, among - 1);
    }
    x->owner[i] = owner;
  }
  test_list_owners(x);
}

/* Puts some of a coordinate's indices, or all, in another order. */
static inline void test_draw_order(test_random *r, test_axis *x, int64_t begin, int64_t end) {
  int64_t k;
  for (k = end - 1; k > begin; k--) {
    const int64_t other = test_one_in(r, 2) ? begin + end - 1 - k : test_between(r, begin, k);
    const int64_t kept = x->index[k];
    if (other > k) break;
    x->index[k] = x->index[other];
    x->index[other] = kept;
  }
}

static inline void test_draw_lists(test_random *r, test_axis *x) {
  int k;
  test_draw_owners(r, x);
  for (k = 0; k < x->procs; k++) {
    const int64_t begin = x->begin[k], end = x->begin[k + 1];
    if (test_one_in(r, 4)) continue;
    test_draw_order(r, x, test_one_in(r, 2) ? begin : test_between(r, begin, end), end);
  }
}

/* Whether ghost cells can hold elements: beside one interval, at most once around the axis. */
static inline int test_can_have_ghosts(const test_axis *x) {
  const int goes_round = x->kind == TEST_CYCLIC || x->kind == TEST_BLOCK_CYCLIC;
  return x->kind < TEST_OWNERS && (!goes_round || x->procs == 1) && x->low + x->high > 0 &&
         x->low <= x->n && x->high <= x->n;
}

static inline void test_draw_depth(test_random *r, test_axis *x) {
  if (x->ghosts != TEST_NO_GHOSTS) x->ghosts = (int)test_between(r, 1, 2);
  x->depth[0] = x->ghosts == TEST_NEAR_GHOSTS ? test_between(r, 0, x->low) : x->low;
  x->depth[1] =
      x->ghosts == TEST_NEAR_GHOSTS && test_one_in(r, 2) ? test_between(r, 0, x->high) : x->high;
}

static inline int64_t test_draw_width(test_random *r, int flags, int64_t n) {
  if (!(flags & TEST_HALOS)) return test_between(r, 0, 2);
  return test_one_in(r, 2) ? 0 : test_between(r, 0, test_one_in(r, 5) ? n : 3);
}

static inline void test_draw_halo(test_random *r, int flags, test_axis *x) {
  x->low = test_draw_width(r, flags, x->n);
  x->high = test_draw_width(r, flags, x->n);
  x->edge = test_one_in(r, 2) ? REDIST_CLOSED : REDIST_PERIODIC;
  x->ghosts = flags & TEST_GHOSTS && test_can_have_ghosts(x) && !test_one_in(r, 4);
  test_draw_depth(r, x);
}

static inline void test_draw_axis(test_random *r, int64_t n, int room, int flags, test_axis *x) {
  x->kind = (int)test_between(r, 0, n <= TEST_SCATTERED ? TEST_LAST_DRAWN : TEST_CUTS);
  x->n = n;
  x->procs = x->kind == TEST_WHOLE ? 1 : (int)test_between(r, 1, room);
  x->first = test_one_in(r, 2) ? (int)test_between(r, 0, x->procs - 1) : 0;
  x->block = test_between(r, 1, test_one_in(r, 2) ? 4 : n + 2);
  test_draw_cuts(r, x);
  if (x->kind >= TEST_OWNERS) test_draw_lists(r, x);
  if (x->kind == TEST_OWNERS) test_list_owners(x);
  test_draw_halo(r, flags, x);
  x->extra = test_between(r, 0, 3);
  x->tight = !test_one_in(r, 3);
  x->each = flags & TEST_OWN_EXTENTS && test_one_in(r, 2);
}

static inline void test_draw_axes(test_random *r, int room, int flags, const int64_t *shape,
                                  test_array *array) {
  int k, turn = (int)test_between(r, 0, array->ndim - 1);
  for (k = 0; k < array->ndim; k++) {
    int a = (turn + k) % array->ndim;
    test_draw_axis(r, shape[a], room, flags, &array->axes[a]);
    room /= array->axes[a].procs;
  }
}

/* What a box is along one axis: sometimes less than it could be, and, if empty, far away. */
static inline void test_draw_interval(test_random *r, int partial, int64_t *low, int64_t *high) {
  if (partial && test_one_in(r, 3)) *low = test_between(r, *low, *high);
  if (partial && test_one_in(r, 3)) *high = test_between(r, *low, *high);
  if (*low < *high || test_one_in(r, 2)) return;
  *low = test_one_in(r, 2) ? INT64_MAX : INT64_MIN;
  *high = INT64_MIN;
}

/* Cuts the array in two, and then again one of its boxes. */
static inline void test_draw_boxes(test_random *r, int boxes, test_array *array) {
  redist_box *box = array->box, kept;
  int k, a, other;
  for (a = 0; a < array->ndim; a++) box[0].high[a] = array->axes[a].n;
  for (k = 1; k < boxes; k++) {
    other = (int)test_between(r, 0, k - 1);
    a = (int)test_between(r, 0, array->ndim - 1);
    box[k] = box[other];
    box[k].low[a] = box[other].high[a] = test_between(r, box[k].low[a], box[k].high[a]);
  }
  array->boxes = boxes;
  array->partial = test_one_in(r, 2);
  for (k = 0; k < boxes; k++) {
    for (a = 0; a < array->ndim; a++)
      test_draw_interval(r, array->partial, &box[k].low[a], &box[k].high[a]);
    other = (int)test_between(r, 0, k);
    kept = box[k];
    box[k] = box[other];
    box[other] = kept;
  }
}

/* Flags for layouts of every kind, of which every third may have replicas. */
static inline int test_any_kind(test_random *r, int ghosts) {
  return TEST_HALOS | TEST_BOXES | (ghosts ? TEST_GHOSTS : 0) |
         (test_one_in(r, 3) ? TEST_REPLICAS : 0);
}

/* Draws an array whose view has the given shape, on at most `world` ranks. */
static inline void test_draw(test_random *r, int world, int flags, int ndim, const int64_t *shape,
                             test_array *array) {
  const int64_t most = test_one_in(r, 4) ? TEST_MOST_REPLICAS : TEST_MOST_REPLICAS / 2;
  const int reshaped = TEST_RESHAPED && flags & TEST_RESHAPES && !test_one_in(r, 4);
  const int boxed = !reshaped && flags & TEST_BOXES && test_one_in(r, 3);
  int64_t before[TEST_DIMS] = {0};
  int all[TEST_PLACES], places;
  memset(array, 0, sizeof *array);
  array->ndim = ndim;
  array->replicas =
      flags & TEST_REPLICAS ? (int)test_between(r, 1, world < most ? world : most) : 1;
  memcpy(before, shape, (size_t)ndim * sizeof *shape);
  if (reshaped) array->ndim = test_draw_tail(r, array, ndim, before);
  if (reshaped) flags &= ~(TEST_GHOSTS | TEST_BOXES);
  test_draw_operations(r, flags, array, before);
  array->faces = flags & TEST_GHOSTS && test_one_in(r, 2) ? (int)test_between(r, 1, 2) : 0;
  test_draw_axes(r, boxed ? 1 : world / array->replicas, flags, before, array);
  if (boxed) test_draw_boxes(r, (int)test_between(r, 1, world / array->replicas), array);
  places = array->replicas * test_places(array);
  array->listed = !test_one_in(r, 3);
  array->first_rank = (int)test_between(r, 0, world - places);
  test_shuffle(r, all, world);
  memcpy(array->ranks, all, (size_t)places * sizeof *all);
}

/* Draws two arrays whose views have one shape, and how large arrays are written; large ones need a
   larger TEST_ELEMENTS. */
static inline void test_draw_pair(test_random *r, int world, int flags, int size, test_array *from,
                                  test_array *to) {
  int64_t shape[TEST_DIMS];
  int ndim = test_draw_shape(r, size, shape);
  test_stream_bytes = test_one_in(r, 2) ? 1 : 4194304;
  test_draw(r, world, flags, ndim, shape, from);
  test_draw(r, world, flags, ndim, shape, to);
}

/* ---- dealing out ---- */

/* How many indices each process gets in its turn. */
static inline void test_sizes(const test_axis *x, int64_t *size) {
  const int one_block = x->kind == TEST_WHOLE || x->kind == TEST_BLOCK;
  int64_t i, block = x->kind == TEST_BLOCK_CYCLIC ? x->block : x->kind != TEST_BALANCED;
  int k;
  while (one_block && block * x->procs < x->n) block++;
  for (k = 0; k < x->procs; k++)
    size[k] = x->kind == TEST_CUTS ? x->cuts[k + 1] - x->cuts[k] : block;
  for (i = 0; x->kind == TEST_BALANCED && i < x->n; i++) size[i % x->procs]++;
}

/* Lists what each coordinate has, beginning with the owner of the first block. */
static inline void test_list(const test_axis *x, test_deal *deal) {
  int64_t i, begin = 0;
  int k;
  for (k = 0; k < x->procs; k++) {
    deal->begin[(k + x->first) % x->procs] = begin;
    begin += deal->count[(k + x->first) % x->procs];
  }
  for (i = 0; i < x->n; i++) deal->index[deal->begin[deal->owner[i]] + deal->local[i]] = i;
}

static inline void test_deal_lists(const test_axis *x, test_deal *deal) {
  int64_t at;
  int k;
  for (k = 0; k < x->procs; k++)
    for (at = x->begin[k]; at < x->begin[k + 1]; at++) {
      const int owner = (k + x->first) % x->procs;
      deal->owner[x->index[at]] = owner;
      deal->local[x->index[at]] = deal->count[owner]++;
    }
  test_list(x, deal);
}

static inline void test_deal_out(const test_axis *x, test_deal *deal) {
  int64_t size[TEST_PLACES], i, used = 0;
  int k = 0, owner;
  memset(deal->count, 0, sizeof deal->count);
  if (x->kind >= TEST_OWNERS) {
    test_deal_lists(x, deal);
    return;
  }
  test_sizes(x, size);
  for (i = 0; i < x->n; i++) {
    for (; used == size[k]; used = 0) k = (k + 1) % x->procs;
    used++;
    owner = (k + x->first) % x->procs;
    deal->owner[i] = owner;
    deal->local[i] = deal->count[owner]++;
  }
  test_list(x, deal);
}

/* Boxes may share indices of an axis; an empty one is at one of the ends. */
static inline void test_deal_boxes(const test_array *array, int a, test_deal *deal) {
  const int64_t n = array->axes[a].n;
  int64_t i;
  int k;
  for (k = 0; k < array->boxes; k++) {
    const int64_t low = array->box[k].low[a], high = array->box[k].high[a];
    deal->begin[k] = low < 0 ? 0 : low > n ? n : low;
    deal->count[k] = high > low ? high - low : 0;
  }
  for (i = 0; i < n; i++) deal->index[i] = i;
}

/* ---- views: where each index of an axis as given is seen ---- */

static inline void test_start(const test_array *array, test_table *t) {
  static const test_axis without = {0};
  int64_t i;
  int a;
  t->array = array;
  t->grid_order = t->memory_order = t->ranked = 0;
  t->places = t->grid = test_places(array);
  for (a = 0; a < array->ndim; a++) {
    t->own[a] = a;
    t->count[a] = array->axes[a].n;
    for (i = 0; i < t->count[a]; i++) t->seen[a][i] = i;
    t->extent[a] = 0;
    t->halo[a] = &without;
    if (array->boxes > 0)
      test_deal_boxes(array, a, &t->deals[a]);
    else
      test_deal_out(&array->axes[a], &t->deals[a]);
  }
}

static inline void test_permute(test_table *t, const test_operation *o) {
  int own[TEST_DIMS], axes[TEST_DIMS], d;
  memcpy(own, t->own, sizeof own);
  test_axes(o, t->array->ndim, axes);
  for (d = 0; d < t->array->ndim; d++) t->own[d] = own[axes[d]];
}

/* Of the indices seen until now every step-th one, so many. */
static inline void test_pick(test_table *t, int axis, int64_t start, int64_t count, int64_t step) {
  const int a = t->own[axis];
  int64_t i;
  for (i = 0; i < t->array->axes[a].n; i++) {
    const int64_t distance = t->seen[a][i] - start, at = distance / step;
    if (t->seen[a][i] >= 0) t->seen[a][i] = distance % step == 0 && at >= 0 && at < count ? at : -1;
  }
  t->count[a] = count;
}

static inline void test_flip(test_table *t, int axis) {
  const int64_t count = t->count[t->own[axis]];
  test_pick(t, axis, count - 1, count, -1);
}

/* One quarter turn: result[i][j] = a[j][n1-1-i]; two: a[n0-1-i][n1-1-j]; three: a[n0-1-j][i]. */
static inline void test_turn(test_table *t, const test_operation *o) {
  const int quarters = (o->value + 12) % 4;
  if (quarters == 1 || quarters == 2) test_flip(t, 1);
  if (quarters == 2 || quarters == 3) test_flip(t, 0);
  test_permute(t, o);
}

static inline void test_apply(test_table *t, int k) {
  const test_operation *o = &t->array->list[k];
  for (t->axis_at[k] = 0; t->own[t->axis_at[k]] != o->axis;) t->axis_at[k]++;
  switch (o->kind) {
  case TEST_PERMUTE:
  case TEST_TRANSPOSE: test_permute(t, o); break;
  case TEST_FLIP: test_flip(t, o->axis); break;
  case TEST_ROTATE: test_turn(t, o); break;
  case TEST_SECTION: test_pick(t, o->axis, o->start, o->count, o->step); break;
  case TEST_HALO: t->halo[o->axis] = &t->array->axes[o->axis]; break;
  case TEST_EXTENT: t->extent[o->axis] = 1; break;
  case TEST_GRID_ORDER: t->grid_order = o->value; break;
  case TEST_MEMORY_ORDER: t->memory_order = o->value; break;
  case TEST_REPLICATE: t->places = t->grid * t->array->replicas; break;
  default: t->ranked = 1; break;
  }
}

/* ---- cells ---- */

/* The index of axis a at a position of a coordinate's memory; -1 where none is. */
static inline int64_t test_index(const test_table *t, int a, int coord, int64_t position,
                                 int ghosts) {
  const test_deal *deal = &t->deals[a];
  const test_axis *x = t->halo[a];
  const int64_t local = position - x->low, n = t->array->axes[a].n;
  int64_t i = deal->begin[coord] + local;
  if (local >= 0 && local < deal->count[coord]) return deal->index[i];
  if (!ghosts || x->ghosts == TEST_NO_GHOSTS) return -1;
  if (local < -x->depth[0] || local >= deal->count[coord] + x->depth[1]) return -1;
  if (x->edge == REDIST_PERIODIC) i = (i + n) % n;
  return i >= 0 && i < n ? i : -1;
}

/* Whether a position of a coordinate's memory is before or after what it owns of axis a. */
static inline int test_is_beyond(const test_table *t, int a, int coord, int64_t position) {
  const int64_t local = position - t->halo[a]->low;
  return local < 0 || local >= t->deals[a].count[coord];
}

/* How many cells a coordinate of axis a has along it, and with `least` how many it cannot do
   without. */
static inline int64_t test_need(const test_table *t, int a, int coord, int least) {
  const int64_t owned = t->halo[a]->low + t->deals[a].count[coord];
  int64_t need = owned + t->halo[a]->high;
  while (least && need > owned && test_index(t, a, coord, need - 1, 1) < 0) need--;
  return need;
}

/* The most that a place needs along axis a. */
static inline int64_t test_most(const test_table *t, int a, int least) {
  int64_t most = 0, need;
  int k;
  for (k = 0; k < t->grid; k++) {
    need = test_need(t, a, t->coords[k][a], least);
    most = need > most ? need : most;
  }
  return most;
}

/* Cells that a coordinate of axis a allocates along it. */
static inline int64_t test_extent(const test_table *t, int a, int coord) {
  const test_axis *x = &t->array->axes[a];
  const int64_t whole = test_need(t, a, coord, 0);
  int64_t named;
  if (!t->extent[a]) return whole;
  named = x->extra + (x->each ? test_need(t, a, coord, x->tight) : test_most(t, a, x->tight));
  return named > 0 ? named : whole;
}

/* What is stored at a cell of a place's array: positions along the axes as given. */
static inline void test_positions(const test_table *t, int place, int64_t cell, int64_t *position) {
  int k;
  for (k = 0; k < t->array->ndim; k++) {
    const int a = t->memory_order ? k : t->array->ndim - 1 - k;
    position[a] = cell % t->cells[place][a];
    cell /= t->cells[place][a];
  }
}

/* The element in a cell of a place's array; -1 where none is. ghosts: also as a ghost cell. */
static inline int64_t test_element(const test_table *t, int place, int64_t cell, int ghosts) {
  int64_t position[TEST_DIMS], element = 0, i;
  int d, beyond = 0;
  if (cell >= t->alloc[place]) return -1;
  test_positions(t, place, cell, position);
  for (d = 0; d < t->array->ndim; d++) {
    const int a = t->own[d];
    i = test_index(t, a, t->coords[place][a], position[a], ghosts && !t->array->bare);
    i = i < 0 ? -1 : t->seen[a][i];
    if (i < 0) return -1;
    element = element * t->whole[d] + i;
    beyond += test_is_beyond(t, a, t->coords[place][a], position[a]);
  }
  if (t->array->faces && beyond > 1) return -1;
  return t->array->tails > 0 ? t->after[element] : element;
}

/* ---- the table ---- */

static inline void test_set_place(test_table *t, int place) {
  const test_array *array = t->array;
  int k, rest = place % t->grid;
  for (k = 0; k < array->ndim; k++) {
    const int a = t->grid_order ? k : array->ndim - 1 - k;
    t->coords[place][a] = array->boxes > 0 ? rest : rest % array->axes[a].procs;
    if (array->boxes == 0) rest /= array->axes[a].procs;
  }
  t->ranks[place] = !t->ranked      ? place
                    : array->listed ? array->ranks[place]
                                    : array->first_rank + place;
}

/* Looks into all cells of a place. */
static inline void test_look(test_table *t, int place) {
  int64_t cell, e;
  int a;
  for (t->alloc[place] = 1, a = 0; a < t->array->ndim; a++)
    t->alloc[place] *= t->cells[place][a] = test_extent(t, a, t->coords[place][a]);
  for (t->owned[place] = cell = 0; cell < t->alloc[place]; cell++) {
    e = test_element(t, place, cell, 0);
    if (e < 0) continue;
    t->owned[place]++;
    t->place[e] = place % t->grid;
    t->offset[e] = cell;
  }
}

/* Finds which element of the reshaped view each element of the view before is; the shapes. */
static inline void test_reshape_all(test_table *t) {
  const test_array *array = t->array;
  const int64_t all = test_product(array->ndim, t->whole);
  int64_t e, rest, index[TEST_DIMS + 1], shape[TEST_DIMS + 1];
  int d, k, shown, ndim = array->ndim;
  memcpy(t->shape, t->whole, sizeof t->shape);
  t->axes = array->ndim;
  for (e = -1; e < all && array->tails > 0; e++) { /* -1: for the shape */
    memcpy(shape, t->whole, sizeof t->whole);
    for (ndim = array->ndim, d = ndim - 1, rest = e < 0 ? 0 : e; d >= 0; d--) {
      index[d] = shape[d] == 0 ? 0 : rest % shape[d];
      rest /= shape[d] == 0 ? 1 : shape[d];
    }
    for (k = 0, shown = 1; k < array->tails; k++)
      shown &= test_reshape(&array->tail[k], &ndim, shape, index);
    if (e < 0) memcpy(t->shape, shape, sizeof t->shape);
    if (e < 0) t->axes = ndim;
    for (rest = 0, d = 0; d < ndim; d++) rest = rest * shape[d] + index[d];
    if (e >= 0) t->after[e] = shown ? rest : -1;
  }
  t->elements = test_product(t->axes, t->shape);
}

static inline void test_tabulate(const test_array *array, test_table *t) {
  int64_t e;
  int k;
  test_start(array, t);
  for (k = 0; k < array->operations; k++) test_apply(t, k);
  for (k = 0; k < array->ndim; k++) t->whole[k] = t->count[t->own[k]];
  test_reshape_all(t);
  for (e = 0; e < t->elements; e++) t->place[e] = -1, t->offset[e] = -1;
  for (k = 0; k < t->places; k++) test_set_place(t, k);
  for (k = 0; k < t->places; k++) test_look(t, k);
}

/* Whether an axis is given by lists of indices, which text cannot describe. */
static inline int test_has_lists(const test_array *array) {
  int a, lists = 0;
  for (a = 0; a < array->ndim && array->boxes == 0; a++) lists |= array->axes[a].kind == TEST_LISTS;
  return lists;
}

/* The place that a rank holds, or -1. */
static inline int test_place_of_rank(const test_table *t, int rank) {
  int k;
  for (k = 0; k < t->places; k++)
    if (t->ranks[k] == rank) return k;
  return -1;
}

static inline int64_t test_most_cells(const test_table *t) {
  int64_t most = 0;
  int k;
  for (k = 0; k < t->places; k++) most = t->alloc[k] > most ? t->alloc[k] : most;
  return most;
}

/* volumes[a * world + b]: elements that rank a holds and rank b is to hold. */
static inline void test_volumes(const test_table *from, const test_table *to, int world,
                                int64_t *volumes) {
  int64_t i;
  memset(volumes, 0, (size_t)(world * world) * sizeof *volumes);
  for (i = 0; i < from->elements; i++)
    volumes[from->ranks[from->place[i]] * world + to->ranks[to->place[i]]]++;
}

/* ---- contents ---- */

static inline unsigned char test_byte(uint64_t seed, int64_t element, size_t byte) {
  uint64_t z = (seed * 1000003 + (uint64_t)element * 31 + byte) * UINT64_C(0x9E3779B97F4A7C15);
  return (unsigned char)((z ^ (z >> 29)) * UINT64_C(0xBF58476D1CE4E5B9) >> 56);
}

/* The array of one place: bytes of `background` everywhere, and the elements of the view with the
   contents `seed`. */
static inline void test_fill(const test_table *t, int place, size_t element_bytes, uint64_t seed,
                             uint64_t background, unsigned char *array) {
  size_t bytes = (size_t)t->alloc[place] * element_bytes, b;
  int64_t i;
  for (b = 0; b < bytes; b++) array[b] = test_byte(background, place, b);
  for (i = 0; i < t->elements; i++)
    for (b = 0; t->place[i] == place % t->grid && b < element_bytes; b++)
      array[(size_t)t->offset[i] * element_bytes + b] = test_byte(seed, i, b);
}

/* ---- the same for the library ---- */

static inline redist_axis test_library_axis(const test_axis *x) {
  redist_axis axis = redist_whole(x->n);
  if (x->kind == TEST_BLOCK) axis = redist_block(x->n, x->procs);
  if (x->kind == TEST_CYCLIC) axis = redist_cyclic(x->n, x->procs);
  if (x->kind == TEST_BLOCK_CYCLIC) axis = redist_block_cyclic(x->n, x->block, x->procs);
  if (x->kind == TEST_BALANCED) axis = redist_balanced(x->n, x->procs);
  if (x->kind == TEST_CUTS) axis = redist_cuts(x->cuts, x->procs);
#ifndef REDIST_NO_LISTS
  if (x->kind == TEST_OWNERS) axis = redist_owners(x->n, x->owner, x->procs);
  if (x->kind == TEST_LISTS) axis = redist_lists(x->n, x->begin, x->index, x->procs);
#endif
  return x->first > 0 ? redist_starting_at(axis, x->first) : axis;
}

static inline redist_layout test_library_halo(const test_table *t, int a, int d,
                                              redist_layout layout) {
  const test_axis *x = &t->array->axes[a];
  layout = redist_with_halo(layout, d, x->low, x->high);
  if (x->ghosts == TEST_NO_GHOSTS || t->array->bare) return layout;
  layout = redist_with_ghosts(layout, d, x->edge);
  if (t->array->faces == 2) layout = redist_without_corners(layout);
  if (x->ghosts == TEST_ALL_GHOSTS) return layout;
  return redist_ghost_depth(layout, d, x->depth[0], x->depth[1]);
}

/* Operation k; the extents are those of a place. Of replicas the last number counts. */
static inline redist_layout test_library_operation(const test_table *t, int k, int place,
                                                   redist_layout layout) {
  const test_array *array = t->array;
  const test_operation *o = &array->list[k];
  const int d = t->axis_at[k];
  switch (o->kind) {
  case TEST_PERMUTE: return redist_permuted(layout, o->axes);
  case TEST_TRANSPOSE: return redist_transposed(layout);
  case TEST_FLIP: return redist_flipped(layout, o->axis);
  case TEST_ROTATE: return redist_rotated(layout, o->value);
  case TEST_SECTION: return redist_section(layout, o->axis, o->start, o->count, o->step);
  case TEST_HALO: return test_library_halo(t, o->axis, d, layout);
  case TEST_EXTENT: return redist_with_allocated(layout, d, t->cells[place][o->axis]);
  case TEST_GRID_ORDER: return redist_grid_order(layout, (redist_order)o->value);
  case TEST_MEMORY_ORDER: return redist_memory_order(layout, (redist_order)o->value);
  case TEST_REPLICATE: return redist_replicated(redist_replicated(layout, 7), array->replicas);
  default:
    return array->listed ? redist_on_ranks(layout, array->ranks)
                         : redist_from_rank(layout, array->first_rank);
  }
}

static inline int test_has_ghosts(const test_table *t) {
  int a, ghosts = 0;
  for (a = 0; a < t->array->ndim; a++) ghosts |= t->halo[a]->ghosts != TEST_NO_GHOSTS;
  return ghosts && !t->array->bare;
}

static inline redist_layout test_library_reshaping(const test_operation *o, redist_layout layout) {
  switch (o->kind) {
#ifndef REDIST_NO_LISTS
  case TEST_SPLIT: return redist_split(layout, o->axis, o->count);
  case TEST_MERGE: return redist_merged(layout, o->axis);
#endif
  case TEST_PERMUTE: return redist_permuted(layout, o->axes);
  case TEST_SECTION: return redist_section(layout, o->axis, o->start, o->count, o->step);
  default: return redist_flipped(layout, o->axis);
  }
}

/* The layout as `rank` describes it; outside the grid it describes what place 0 has. It refers to
   the table's array. */
static inline redist_layout test_layout(const test_table *t, int rank) {
  const test_array *array = t->array;
  const int place = test_place_of_rank(t, rank);
  redist_axis axes[TEST_DIMS];
  redist_layout layout;
  int64_t extents[TEST_DIMS];
  int k;
  for (k = 0; k < array->ndim; k++) axes[k] = test_library_axis(&array->axes[k]);
  for (k = 0; k < array->ndim; k++) extents[k] = array->axes[k].n;
  layout = array->boxes > 0 ? redist_layout_boxes(array->ndim, extents, array->boxes, array->box)
                            : redist_layout_nd(array->ndim, axes);
  if (array->partial) layout = redist_partial(layout);
  for (k = 0; k < array->operations; k++)
    layout = test_library_operation(t, k, place < 0 ? 0 : place, layout);
  if (array->faces && test_has_ghosts(t)) layout = redist_without_corners(layout);
  for (k = 0; k < array->tails; k++) layout = test_library_reshaping(&array->tail[k], layout);
  return layout;
}

/* Finds where the elements of the described array are, and what the library has for it. */
static inline void test_build(test_model *m) {
  test_tabulate(&m->array, &m->table);
  m->layout = test_layout(&m->table, -1);
}

#endif
