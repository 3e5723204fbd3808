/* redist tests: who holds which element, by a model of its own: ghost cells, boxes, copies.
   MIT licence, see LICENSE. */
#ifndef HOLDERS_H
#define HOLDERS_H

#include "redist.h"
#include "test.h"

enum { HOLDER_DIMS = 3, HOLDER_PROCS = 8, HOLDER_BOXES = 12 };

/* One axis of an array as built, seen from start on in steps. Intervals: block k is cut[k] <= i <
   cut[k + 1]. */
typedef struct {
  /* edge: -1 where ghost cells hold nothing, else a redist_edge */
  int cyclic, procs, first, edge;
  int64_t n, block, cut[HOLDER_PROCS + 1], low, high, allocated;
  int64_t low_depth, high_depth; /* of the ghost cells that hold elements, -1: all */
  int64_t start, step, count;
} holder_axis;

/* Axes as built; view axis d is axis stored[d]. */
typedef struct {
  int ndim, boxes, partial, copies, places;
  holder_axis axis[HOLDER_DIMS];
  int stored[HOLDER_DIMS];
  redist_order grid_order, memory_order;
  int ranks[HOLDER_PROCS];
  redist_box box[HOLDER_BOXES];
  redist_layout layout;
} holders;

static int holder_coord(const holders *h, int place, int s) {
  int k, stride = 1;
  if (h->boxes > 0) return place % h->boxes;
  place %= h->places / h->copies;
  if (h->grid_order == REDIST_ROW_MAJOR)
    for (k = h->ndim - 1; k > s; k--) stride *= h->axis[k].procs;
  else
    for (k = 0; k < s; k++) stride *= h->axis[k].procs;
  return place / stride % h->axis[s].procs;
}

/* How many indices of the whole axis a coordinate owns before index g. */
static int64_t holder_before(const holders *h, int s, int coord, int64_t g) {
  const holder_axis *x = &h->axis[s];
  int64_t i, count = 0;
  int k = (coord - x->first + x->procs) % x->procs;
  for (i = 0; i < g; i++)
    if (h->boxes > 0)
      count += i >= h->box[coord].low[s] && i < h->box[coord].high[s];
    else
      count += x->cyclic ? i / x->block % x->procs == k : i >= x->cut[k] && i < x->cut[k + 1];
  return count;
}

static int64_t holder_begin(const holders *h, int s, int coord) {
  const holder_axis *x = &h->axis[s];
  const int64_t begin =
      h->boxes > 0 ? h->box[coord].low[s] : x->cut[(coord - x->first + x->procs) % x->procs];
  return begin < 0 ? 0 : begin > x->n ? x->n : begin;
}

/* The index of the whole axis at a position of memory; -1 where none is. */
static int64_t holder_index(const holders *h, int s, int coord, int64_t position, int ghosts) {
  const holder_axis *x = &h->axis[s];
  const int64_t owned = holder_before(h, s, coord, x->n), l = position - x->low;
  const int64_t low = x->low_depth < 0 ? x->low : x->low_depth;
  const int64_t high = x->high_depth < 0 ? x->high : x->high_depth;
  int64_t g;
  if (l >= owned + x->high) return -1;
  if (l >= 0 && l < owned) {
    for (g = 0; holder_before(h, s, coord, g + 1) <= l; g++) continue;
    return g;
  }
  if (!ghosts || x->edge < 0 || l < -low || l >= owned + high) return -1;
  g = holder_begin(h, s, coord) + l;
  if (x->edge == REDIST_PERIODIC) g = (g + x->n) % x->n;
  return g >= 0 && g < x->n ? g : -1;
}

/* How many cells along an axis a coordinate needs to store all that it may hold. */
static int64_t holder_least(const holders *h, int s, int coord) {
  const int64_t owned = h->axis[s].low + holder_before(h, s, coord, h->axis[s].n);
  int64_t position = owned + h->axis[s].high;
  while (position > owned && holder_index(h, s, coord, position - 1, 1) < 0) position--;
  return position;
}

static int64_t holder_length(const holders *h, int s, int place) {
  const holder_axis *x = &h->axis[s];
  const int64_t need = x->low + holder_before(h, s, holder_coord(h, place, s), x->n) + x->high;
  return x->allocated > 0 ? x->allocated : need;
}

static int64_t holder_cells(const holders *h, int place) {
  int64_t cells = 1;
  int s;
  for (s = 0; s < h->ndim; s++) cells *= holder_length(h, s, place);
  return cells;
}

/* Where a cell lies along the axes as built. */
static void holder_position(const holders *h, int place, int64_t cell, int64_t *position) {
  int k, s;
  for (k = 0; k < h->ndim; k++) {
    s = h->memory_order == REDIST_ROW_MAJOR ? h->ndim - 1 - k : k;
    position[s] = cell % holder_length(h, s, place);
    cell /= holder_length(h, s, place);
  }
}

/* The element, counted row by row of the view, in a cell of a place's array; -1 where none is. */
static int64_t holder_element(const holders *h, int place, int64_t cell, int ghosts) {
  int64_t position[HOLDER_DIMS], element = 0, g, i;
  int d;
  if (cell >= holder_cells(h, place)) return -1;
  holder_position(h, place, cell, position);
  for (d = 0; d < h->ndim; d++) {
    const holder_axis *x = &h->axis[h->stored[d]];
    g = holder_index(h, h->stored[d], holder_coord(h, place, h->stored[d]), position[h->stored[d]],
                     ghosts);
    i = g < 0 || (g - x->start) % x->step != 0 ? -1 : (g - x->start) / x->step;
    if (i < 0 || i >= x->count) return -1;
    element = element * x->count + i;
  }
  return element;
}

/* ---- random ones ---- */

static void holder_draw_depth(test_random *r, holder_axis *x) {
  x->low_depth = test_between(r, 0, 1) ? -1 : test_between(r, 0, x->low);
  x->high_depth = test_between(r, 0, 1) ? x->high : test_between(r, 0, x->high);
  if (x->low_depth < 0) x->high_depth = -1;
}

static void holder_draw_axis(test_random *r, holder_axis *x, int64_t count, int most, int ghosts) {
  int k;
  memset(x, 0, sizeof *x);
  x->step = test_between(r, 0, 2) ? 1 : test_between(r, 1, 3);
  x->n = (count == 0 ? 0 : (count - 1) * x->step + 1) +
         (test_between(r, 0, 2) ? 0 : test_between(r, 0, 3));
  x->start = count == 0 ? 0 : test_between(r, 0, x->n - 1 - (count - 1) * x->step);
  x->count = count;
  if (test_between(r, 0, 3) == 0 && count > 0) {
    x->start += (count - 1) * x->step;
    x->step = -x->step;
  }
  x->procs = (int)test_between(r, 1, most);
  x->first = (int)test_between(r, 0, x->procs - 1);
  x->cyclic = (!ghosts || x->procs == 1) && test_between(r, 0, 1);
  x->block = test_between(r, 1, 4);
  for (k = 1; k < x->procs; k++)
    x->cut[k] = x->cut[k - 1] + test_between(r, 0, x->n - x->cut[k - 1]);
  x->cut[x->procs] = x->n;
  x->edge = -1;
  if (test_between(r, 0, 1)) {
    x->low = test_between(r, 0, x->n < 3 ? x->n : 3);
    x->high = test_between(r, 0, test_between(r, 0, 4) ? (x->n < 3 ? x->n : 3) : x->n);
  }
  if (ghosts && x->low + x->high > 0) x->edge = (int)test_between(r, -1, 1);
  holder_draw_depth(r, x);
}

/* Sometimes one length for all, the least that will do or little more. */
static void holder_draw_allocated(test_random *r, holders *h, int s) {
  holder_axis *x = &h->axis[s];
  int64_t least = 0;
  int k;
  if (test_between(r, 0, 3) != 0) return;
  for (k = 0; k < (h->boxes > 0 ? h->boxes : x->procs); k++)
    if (holder_least(h, s, k) > least) least = holder_least(h, s, k);
  x->allocated = least + test_between(r, 0, 2);
}

/* Takes something from some of the boxes, which nobody holds then. */
static void holder_draw_holes(test_random *r, holders *h) {
  int k, s;
  h->partial = 1;
  for (k = 0; k < h->boxes; k++)
    for (s = 0; s < h->ndim; s++) {
      redist_box *box = &h->box[k];
      if (test_between(r, 0, 2) == 0) box->low[s] = test_between(r, box->low[s], box->high[s]);
      if (test_between(r, 0, 2) == 0) box->high[s] = test_between(r, box->low[s], box->high[s]);
    }
}

/* Cuts the array at random until there are so many boxes, some of them empty, and perhaps far
   away; sometimes leaves elements out. */
static void holder_draw_boxes(test_random *r, holders *h, int boxes) {
  int k, s;
  memset(h->box, 0, sizeof h->box);
  for (s = 0; s < h->ndim; s++) h->box[0].high[s] = h->axis[s].n;
  for (h->boxes = 1; h->boxes < boxes; h->boxes++) {
    redist_box *old = &h->box[test_between(r, 0, h->boxes - 1)], *new_box = &h->box[h->boxes];
    s = (int)test_between(r, 0, h->ndim - 1);
    *new_box = *old;
    new_box->low[s] = old->high[s] = test_between(r, old->low[s], old->high[s]);
  }
  if (test_between(r, 0, 1)) holder_draw_holes(r, h);
  for (k = 0; k < boxes; k++)
    for (s = 0; s < h->ndim; s++)
      if (h->box[k].low[s] == h->box[k].high[s] && test_between(r, 0, 1)) {
        h->box[k].low[s] = test_between(r, 0, 1) ? INT64_MAX : INT64_MIN;
        h->box[k].high[s] = INT64_MIN;
      }
  for (k = 0; k < boxes; k++) {
    redist_box *other = &h->box[test_between(r, 0, boxes - 1)], swap = *other;
    *other = h->box[k];
    h->box[k] = swap;
  }
}

/* The same by redist's builders. */
static void holder_build(holders *h) {
  redist_axis axes[HOLDER_DIMS];
  int64_t extents[HOLDER_DIMS];
  int d, s;
  for (s = 0; s < h->ndim; s++) {
    holder_axis *x = &h->axis[s];
    extents[s] = x->n;
    axes[s] =
        x->cyclic ? redist_block_cyclic(x->n, x->block, x->procs) : redist_cuts(x->cut, x->procs);
    axes[s] = redist_starting_at(axes[s], x->first);
  }
  h->layout = h->boxes > 0 ? redist_layout_boxes(h->ndim, extents, h->boxes, h->box)
                           : redist_layout_nd(h->ndim, axes);
  h->layout = redist_permuted(h->partial == 1 ? redist_partial(h->layout) : h->layout, h->stored);
  for (d = 0; d < h->ndim; d++) {
    const holder_axis *x = &h->axis[h->stored[d]];
    h->layout =
        redist_with_allocated(redist_with_halo(h->layout, d, x->low, x->high), d, x->allocated);
    if (x->edge >= 0) h->layout = redist_with_ghosts(h->layout, d, (redist_edge)x->edge);
    if (x->edge >= 0 && x->low_depth >= 0)
      h->layout = redist_ghost_depth(h->layout, d, x->low_depth, x->high_depth);
    h->layout = redist_section(h->layout, d, x->start, x->count, x->step);
  }
  h->layout = redist_memory_order(redist_grid_order(h->layout, h->grid_order), h->memory_order);
  h->layout = redist_on_ranks(redist_replicated(h->layout, h->copies), h->ranks);
}

/* A layout whose view has these counts, on at most `most` of the ranks 0, ..., ranks - 1. h must
   not move afterwards. */
static void holder_draw(test_random *r, holders *h, int ndim, const int64_t *count, int ranks,
                        int ghosts) {
  int k, d, left;
  memset(h, 0, sizeof *h);
  h->ndim = ndim;
  h->copies = test_between(r, 0, 3) ? 1 : (int)test_between(r, 1, ranks);
  left = ranks / h->copies;
  for (d = 0; d < ndim; d++) h->stored[d] = d;
  for (d = ndim - 1; d > 0 && test_between(r, 0, 1); d--) {
    k = (int)test_between(r, 0, d);
    const int swap = h->stored[d];
    h->stored[d] = h->stored[k];
    h->stored[k] = swap;
  }
  for (d = 0; d < ndim; d++) {
    holder_draw_axis(r, &h->axis[h->stored[d]], count[d], left, ghosts);
    left /= h->axis[h->stored[d]].procs;
  }
  h->places = h->copies;
  if (test_between(r, 0, 2) == 0) {
    holder_draw_boxes(r, h, (int)test_between(r, 1, ranks / h->copies));
    h->places *= h->boxes;
    for (d = 0; d < ndim; d++) h->axis[d].first = h->axis[d].cyclic = 0, h->axis[d].procs = 1;
  } else {
    for (d = 0; d < ndim; d++) h->places *= h->axis[d].procs;
  }
  for (d = 0; d < ndim; d++) holder_draw_allocated(r, h, d);
  h->grid_order = (redist_order)test_between(r, 0, 1);
  h->memory_order = (redist_order)test_between(r, 0, 1);
  for (k = 0; k < ranks; k++) h->ranks[k] = k;
  for (k = ranks - 1; k > 0; k--) {
    d = (int)test_between(r, 0, k);
    left = h->ranks[k];
    h->ranks[k] = h->ranks[d];
    h->ranks[d] = left;
  }
  holder_build(h);
}

#endif
