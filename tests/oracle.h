/* redist tests: distributed arrays drawn at random, and where each of their elements lives by
   dealing them out one at a time. MIT licence, see LICENSE. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdint.h>

/* From how many bytes on arrays are written by non-temporal stores: a variable here, so that small
   arrays take both ways. */
static int64_t test_stream_bytes = 4194304;
#ifndef REDIST_STREAM_BYTES
#define REDIST_STREAM_BYTES test_stream_bytes
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

enum { TEST_OPERATIONS = 10 };

enum {
  TEST_WHOLE,
  TEST_BLOCK,
  TEST_CYCLIC,
  TEST_BLOCK_CYCLIC,
  TEST_BALANCED,
  TEST_CUTS,
  TEST_KINDS
};

/* What may be done to a layout after its axes are given, in any order. */
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
  TEST_OPERATION_KINDS
};

typedef struct {
  int kind, procs, first;
  int64_t n, block, cuts[TEST_PLACES + 1];
  int64_t low, high; /* used where a TEST_HALO names this axis                         */
  int64_t extra;     /* used where a TEST_EXTENT names it: elements beyond the need */
  int each;          /* the extent follows each rank's own need, not the largest one */
} test_axis;

typedef struct {
  int kind, axis, value; /* value: quarter turns, or the order */
  int axes[TEST_DIMS];
  int64_t start, count, step;
} test_operation;

typedef struct {
  int ndim, operations, listed, first_rank, ranks[TEST_PLACES];
  test_axis axes[TEST_DIMS];
  test_operation list[TEST_OPERATIONS];
} test_array;

/* One axis distributed: for each index its owner and local position. */
typedef struct {
  int owner[TEST_LENGTH];
  int64_t local[TEST_LENGTH], count[TEST_PLACES];
} test_deal;

/* The elements of a view, last axis fastest: the place that holds each, and where in that place's
   array. */
typedef struct {
  int64_t elements, offset[TEST_ELEMENTS];
  int place[TEST_ELEMENTS];
  int places, ranks[TEST_PLACES];
  int64_t owned[TEST_PLACES], alloc[TEST_PLACES];
  int64_t shape[TEST_DIMS];
  /* how it was found */
  int grid_order, memory_order, ranked, axis_at[TEST_OPERATIONS];
  int own[TEST_DIMS], halo[TEST_DIMS], extent[TEST_DIMS];
  int64_t index[TEST_DIMS][TEST_LENGTH];
  test_deal deals[TEST_DIMS];
} test_table;

/* ---- drawing ---- */

static inline int test_one_in(test_random *r, int n) { return test_between(r, 1, n) == 1; }

static inline void test_shuffle(test_random *r, int *list, int n) {
  int k;
  for (k = 0; k < n; k++) list[k] = k;
  for (k = n - 1; k > 0; k--) {
    int other = (int)test_between(r, 0, k), kept = list[k];
    list[k] = list[other];
    list[other] = kept;
  }
}

/* The shape of a view: uneven, sometimes with an axis of 1 or of 0. Returns its axes. */
static inline int test_draw_shape(test_random *r, int large, int64_t *shape) {
  static const int64_t largest[2][TEST_DIMS] = {{400, 30, 10, 6}, {30000, 600, 70, 24}};
  static const int chosen[10] = {1, 1, 2, 2, 2, 2, 3, 3, 3, 4};
  int d, ndim = chosen[test_between(r, 0, 9)];
  for (d = 0; d < ndim; d++) {
    shape[d] = test_between(r, 1, largest[large][ndim - 1]);
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

/* The shape before the operation, from the shape after it. */
static inline void test_undo(const test_operation *o, int ndim, int64_t *shape) {
  int64_t after[TEST_DIMS];
  int d;
  memcpy(after, shape, sizeof after);
  for (d = 0; d < ndim; d++) {
    if (o->kind == TEST_PERMUTE) shape[o->axes[d]] = after[d];
    if (o->kind == TEST_TRANSPOSE) shape[ndim - 1 - d] = after[d];
    if (o->kind == TEST_ROTATE && o->value % 2 != 0 && d < 2) shape[1 - d] = after[d];
  }
}

static inline void test_draw_operation(test_random *r, int ndim, int64_t *shape,
                                       test_operation *o) {
  o->kind = (int)test_between(r, 0, TEST_OPERATION_KINDS - 1);
  if (o->kind == TEST_ROTATE && ndim < 2) o->kind = TEST_FLIP;
  o->axis = (int)test_between(r, 0, ndim - 1);
  o->value = (int)(o->kind == TEST_ROTATE ? test_between(r, -5, 5) : test_between(r, 0, 1));
  test_shuffle(r, o->axes, ndim);
  if (o->kind == TEST_SECTION) test_draw_section(r, o, ndim, shape);
  test_undo(o, ndim, shape);
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

static inline test_axis test_axis_of(int kind, int64_t n, int64_t block, int procs) {
  test_axis x;
  memset(&x, 0, sizeof x);
  x.kind = kind;
  x.n = n;
  x.block = block;
  x.procs = kind == TEST_WHOLE ? 1 : procs;
  return x;
}

static inline void test_draw_axis(test_random *r, int64_t n, int room, int each, test_axis *x) {
  x->kind = (int)test_between(r, 0, TEST_KINDS - 1);
  x->n = n;
  x->procs = x->kind == TEST_WHOLE ? 1 : (int)test_between(r, 1, room);
  x->first = test_one_in(r, 3) ? (int)test_between(r, 0, x->procs - 1) : 0;
  x->block = test_between(r, 1, test_one_in(r, 2) ? 4 : n + 2);
  test_draw_cuts(r, x);
  x->low = test_between(r, 0, 2);
  x->high = test_between(r, 0, 2);
  x->extra = test_between(r, 0, 3);
  x->each = each && test_one_in(r, 2);
}

static inline int test_places(const test_array *array) {
  int a, places = 1;
  for (a = 0; a < array->ndim; a++) places *= array->axes[a].procs;
  return places;
}

/* Draws an array whose view has the given shape, on at most `world` ranks. With `each`, extents may
   differ between ranks. */
static inline void test_draw(test_random *r, int world, int each, int ndim, const int64_t *shape,
                             test_array *array) {
  int64_t before[TEST_DIMS] = {0};
  int all[TEST_PLACES], k, room = world, turn = (int)test_between(r, 0, ndim - 1);
  memset(array, 0, sizeof *array);
  array->ndim = ndim;
  memcpy(before, shape, (size_t)ndim * sizeof *shape);
  array->operations = test_one_in(r, 5) ? 0 : (int)test_between(r, 0, TEST_OPERATIONS);
  for (k = array->operations - 1; k >= 0; k--)
    test_draw_operation(r, ndim, before, &array->list[k]);
  for (k = 0; k < ndim; k++) {
    int a = (turn + k) % ndim;
    test_draw_axis(r, before[a], room, each, &array->axes[a]);
    room /= array->axes[a].procs;
  }
  array->listed = test_one_in(r, 2);
  array->first_rank = (int)test_between(r, 0, world - test_places(array));
  test_shuffle(r, all, world);
  memcpy(array->ranks, all, (size_t)test_places(array) * sizeof *all);
}

/* Draws two arrays whose views have one shape, and how large arrays are written; large ones need a
   larger TEST_ELEMENTS. */
static inline void test_draw_pair(test_random *r, int world, int each, int large, test_array *from,
                                  test_array *to) {
  int64_t shape[TEST_DIMS];
  int ndim = test_draw_shape(r, large, shape);
  test_stream_bytes = test_one_in(r, 2) ? 1 : 4194304;
  test_draw(r, world, each, ndim, shape, from);
  test_draw(r, world, each, ndim, shape, to);
}

/* ---- dealing out ---- */

/* Sizes of the blocks of an axis that has one block per process; 0 when its blocks go round
   instead. */
static inline int test_sizes(const test_axis *x, int64_t *sizes) {
  int64_t i;
  int k;
  memset(sizes, 0, TEST_PLACES * sizeof *sizes);
  if (x->kind == TEST_WHOLE) sizes[0] = x->n;
  for (i = 0; x->kind == TEST_BALANCED && i < x->n; i++) sizes[i % x->procs]++;
  for (k = 0; x->kind == TEST_CUTS && k < x->procs; k++) sizes[k] = x->cuts[k + 1] - x->cuts[k];
  return x->kind == TEST_WHOLE || x->kind == TEST_BALANCED || x->kind == TEST_CUTS;
}

static inline int64_t test_block(const test_axis *x) {
  int64_t block = 1;
  while (x->kind == TEST_BLOCK && block * x->procs < x->n) block++;
  return x->kind == TEST_BLOCK_CYCLIC ? x->block : block;
}

static inline void test_deal_out(const test_axis *x, test_deal *deal) {
  int64_t sizes[TEST_PLACES], i, used = 0;
  int uneven = test_sizes(x, sizes), number = 0, owner;
  int64_t block = test_block(x);
  memset(deal->count, 0, sizeof deal->count);
  for (i = 0; i < x->n; i++) {
    while (used == (uneven ? sizes[number] : block)) {
      used = 0;
      number = (number + 1) % x->procs;
    }
    used++;
    owner = (number + x->first) % x->procs;
    deal->owner[i] = owner;
    deal->local[i] = deal->count[owner]++;
  }
}

/* ---- views: each axis of the view is a list of the indices that it shows ---- */

static inline void test_exchange_axes(test_table *t, int a, int b) {
  int own = t->own[a];
  int64_t length = t->shape[a], i, longest = t->shape[a] > t->shape[b] ? t->shape[a] : t->shape[b];
  t->own[a] = t->own[b];
  t->own[b] = own;
  t->shape[a] = t->shape[b];
  t->shape[b] = length;
  for (i = 0; i < longest; i++) {
    int64_t kept = t->index[a][i];
    t->index[a][i] = t->index[b][i];
    t->index[b][i] = kept;
  }
}

/* Axis d of the result is axis axes[d], reached by exchanging two at a time. */
static inline void test_permute(test_table *t, int ndim, const int *axes) {
  int at[TEST_DIMS], d, k;
  for (d = 0; d < ndim; d++) at[d] = d;
  for (d = 0; d < ndim; d++) {
    for (k = d; at[k] != axes[d]; k++) continue;
    if (k == d) continue;
    test_exchange_axes(t, d, k);
    at[k] = at[d];
    at[d] = axes[d];
  }
}

static inline void test_pick(test_table *t, int axis, int64_t start, int64_t count, int64_t step) {
  static const int64_t none = -1;
  int64_t i, length = t->shape[axis];
  int64_t *list = t->index[axis], *old = malloc((size_t)(length + 1) * sizeof *old);
  memcpy(old, list, (size_t)length * sizeof *old);
  for (i = 0; i < count; i++) {
    int64_t at = start + i * step;
    list[i] = at >= 0 && at < length ? old[at] : none;
  }
  free(old);
  t->shape[axis] = count;
}

static inline void test_flip(test_table *t, int axis) {
  test_pick(t, axis, t->shape[axis] - 1, t->shape[axis], -1);
}

/* One quarter turn: result[i][j] = a[j][n1-1-i]. */
static inline void test_turn(test_table *t) {
  test_flip(t, 1);
  test_exchange_axes(t, 0, 1);
}

static inline void test_apply(const test_array *array, int k, test_table *t) {
  const test_operation *o = &array->list[k];
  int d, own = t->own[o->axis];
  t->axis_at[k] = own;
  switch (o->kind) {
  case TEST_PERMUTE: test_permute(t, array->ndim, o->axes); break;
  case TEST_TRANSPOSE:
    for (d = 0; d < array->ndim - 1 - d; d++) test_exchange_axes(t, d, array->ndim - 1 - d);
    break;
  case TEST_FLIP: test_flip(t, o->axis); break;
  case TEST_ROTATE:
    for (d = 0; d < (o->value + 12) % 4; d++) test_turn(t);
    break;
  case TEST_SECTION: test_pick(t, o->axis, o->start, o->count, o->step); break;
  case TEST_HALO: t->halo[own] = 1; break;
  case TEST_EXTENT: t->extent[own] = 1; break;
  case TEST_GRID_ORDER: t->grid_order = o->value; break;
  case TEST_MEMORY_ORDER: t->memory_order = o->value; break;
  default: t->ranked = 1; break;
  }
}

/* ---- the table ---- */

/* Order 0: the last axis varies fastest. Order 1: the first. Returns the k-th slowest axis. */
static inline int test_axis_in_order(int order, int ndim, int k) {
  return order ? ndim - 1 - k : k;
}

static inline void test_coordinates(const test_array *array, const test_table *t, int place,
                                    int *coordinates) {
  int k;
  for (k = array->ndim - 1; k >= 0; k--) {
    int a = test_axis_in_order(t->grid_order, array->ndim, k);
    coordinates[a] = place % array->axes[a].procs;
    place /= array->axes[a].procs;
  }
}

static inline int test_place(const test_array *array, const test_table *t, const int *coordinates) {
  int k, place = 0;
  for (k = 0; k < array->ndim; k++) {
    int a = test_axis_in_order(t->grid_order, array->ndim, k);
    place = place * array->axes[a].procs + coordinates[a];
  }
  return place;
}

static inline int64_t test_need(const test_array *array, const test_table *t, int a,
                                int coordinate) {
  const test_axis *x = &array->axes[a];
  return t->deals[a].count[coordinate] + (t->halo[a] ? x->low + x->high : 0);
}

/* Elements that a coordinate of axis a allocates along it. */
static inline int64_t test_extent(const test_array *array, const test_table *t, int a,
                                  int coordinate) {
  int64_t need = test_need(array, t, a, coordinate), largest = need;
  int c;
  if (!t->extent[a]) return need;
  for (c = 0; c < array->axes[a].procs && !array->axes[a].each; c++)
    if (test_need(array, t, a, c) > largest) largest = test_need(array, t, a, c);
  return largest + array->axes[a].extra;
}

static inline void test_locate(const test_array *array, test_table *t, int64_t element) {
  int64_t own[TEST_DIMS], rest = element, offset = 0;
  int coordinates[TEST_DIMS], d, k;
  for (d = array->ndim - 1; d >= 0; d--) {
    own[t->own[d]] = t->index[d][rest % t->shape[d]];
    rest /= t->shape[d];
  }
  for (k = 0; k < array->ndim; k++) {
    int a = test_axis_in_order(t->memory_order, array->ndim, k);
    coordinates[a] = t->deals[a].owner[own[a]];
    offset = offset * test_extent(array, t, a, coordinates[a]) + t->deals[a].local[own[a]] +
             (t->halo[a] ? array->axes[a].low : 0);
  }
  t->place[element] = test_place(array, t, coordinates);
  t->offset[element] = offset;
  t->owned[t->place[element]]++;
}

static inline void test_locate_place(const test_array *array, test_table *t, int place) {
  int coordinates[TEST_DIMS], a;
  test_coordinates(array, t, place, coordinates);
  t->owned[place] = 0;
  t->alloc[place] = 1;
  for (a = 0; a < array->ndim; a++) t->alloc[place] *= test_extent(array, t, a, coordinates[a]);
  t->ranks[place] = !t->ranked      ? place
                    : array->listed ? array->ranks[place]
                                    : array->first_rank + place;
}

static inline void test_tabulate(const test_array *array, test_table *t) {
  int64_t i;
  int a, k;
  t->grid_order = t->memory_order = t->ranked = 0;
  for (a = 0; a < array->ndim; a++) {
    test_deal_out(&array->axes[a], &t->deals[a]);
    t->own[a] = a;
    t->halo[a] = t->extent[a] = 0;
    t->shape[a] = array->axes[a].n;
    for (i = 0; i < t->shape[a]; i++) t->index[a][i] = i;
  }
  for (k = 0; k < array->operations; k++) test_apply(array, k, t);
  t->places = test_places(array);
  for (k = 0; k < t->places; k++) test_locate_place(array, t, k);
  t->elements = test_product(array->ndim, t->shape);
  for (i = 0; i < t->elements; i++) test_locate(array, t, i);
}

/* The place that a rank holds, or -1. */
static inline int test_place_of_rank(const test_table *t, int rank) {
  int k;
  for (k = 0; k < t->places; k++)
    if (t->ranks[k] == rank) return k;
  return -1;
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
    for (b = 0; t->place[i] == place && b < element_bytes; b++)
      array[(size_t)t->offset[i] * element_bytes + b] = test_byte(seed, i, b);
}

/* ---- the same array for the library ---- */

static inline redist_axis test_library_axis(const test_axis *x) {
  redist_axis axis;
  switch (x->kind) {
  case TEST_WHOLE: axis = redist_whole(x->n); break;
  case TEST_BLOCK: axis = redist_block(x->n, x->procs); break;
  case TEST_CYCLIC: axis = redist_cyclic(x->n, x->procs); break;
  case TEST_BLOCK_CYCLIC: axis = redist_block_cyclic(x->n, x->block, x->procs); break;
  case TEST_BALANCED: axis = redist_balanced(x->n, x->procs); break;
  default: axis = redist_cuts(x->cuts, x->procs); break;
  }
  return x->first > 0 ? redist_starting_at(axis, x->first) : axis;
}

/* The extent that a rank names along axis a; a rank outside the grid names any. */
static inline int64_t test_named_extent(const test_array *array, const test_table *t, int a,
                                        int rank) {
  int coordinates[TEST_DIMS], place = test_place_of_rank(t, rank);
  test_coordinates(array, t, place < 0 ? 0 : place, coordinates);
  return test_extent(array, t, a, coordinates[a]);
}

static inline redist_layout test_library_operation(const test_array *array, const test_table *t,
                                                   int k, int rank, redist_layout layout) {
  static const redist_order orders[2] = {REDIST_ROW_MAJOR, REDIST_COLUMN_MAJOR};
  const test_operation *o = &array->list[k];
  int own = t->axis_at[k];
  switch (o->kind) {
  case TEST_PERMUTE: return redist_permuted(layout, o->axes);
  case TEST_TRANSPOSE: return redist_transposed(layout);
  case TEST_FLIP: return redist_flipped(layout, o->axis);
  case TEST_ROTATE: return redist_rotated(layout, o->value);
  case TEST_SECTION: return redist_section(layout, o->axis, o->start, o->count, o->step);
  case TEST_HALO:
    return redist_with_halo(layout, o->axis, array->axes[own].low, array->axes[own].high);
  case TEST_EXTENT:
    return redist_with_allocated(layout, o->axis, test_named_extent(array, t, own, rank));
  case TEST_GRID_ORDER: return redist_grid_order(layout, orders[o->value]);
  case TEST_MEMORY_ORDER: return redist_memory_order(layout, orders[o->value]);
  default:
    return array->listed ? redist_on_ranks(layout, array->ranks)
                         : redist_from_rank(layout, array->first_rank);
  }
}

/* The layout as `rank` describes it. It refers to `array`. */
static inline redist_layout test_layout(const test_array *array, const test_table *t, int rank) {
  redist_axis axes[TEST_DIMS];
  redist_layout layout;
  int a;
  for (a = 0; a < array->ndim; a++) axes[a] = test_library_axis(&array->axes[a]);
  layout = redist_layout_nd(array->ndim, axes);
  for (a = 0; a < array->operations; a++)
    layout = test_library_operation(array, t, a, rank, layout);
  return layout;
}

#endif
