/* redist tests: pairs of layouts with copies drawn at random, and which copy serves whom by looking
   at every element. MIT licence, see LICENSE. */
#ifndef REPLICAS_H
#define REPLICAS_H

#include "oracle.h"

enum { COPIES = 4 };

/* One side: place k + c * grid is copy c of place k. */
typedef struct {
  test_array array;
  test_table table;
  redist_layout layout;
  int copies, grid, places, listed, ranks[TEST_PLACES];
} replicas;

/* Copy serving[k][t] of place k of the source serves place t of the destination; -1: they share
   nothing. */
typedef struct {
  replicas side[2];
  int64_t shared[TEST_PLACES][TEST_PLACES]; /* by place of either grid */
  int serving[TEST_PLACES][TEST_PLACES];
  int64_t volume[TEST_PLACES][TEST_PLACES]; /* by rank */
} replicated;

/* The copies may be asked for before the ranks or after. */
static inline void replicas_settle(test_random *r, int world, replicas *x) {
  int all[TEST_PLACES], k, first = (int)test_between(r, 0, world - x->places);
  test_shuffle(r, all, world);
  x->listed = test_one_in(r, 2);
  for (k = 0; k < x->places; k++) x->ranks[k] = x->listed ? all[k] : first + k;
  if (x->listed && test_one_in(r, 2))
    x->layout = redist_replicated(redist_on_ranks(x->layout, x->ranks), x->copies);
  else if (x->listed)
    x->layout =
        redist_on_ranks(redist_replicated(redist_replicated(x->layout, 7), x->copies), x->ranks);
  else if (test_one_in(r, 2))
    x->layout = redist_replicated(redist_from_rank(x->layout, first), x->copies);
  else
    x->layout = redist_from_rank(redist_replicated(x->layout, x->copies), first);
}

static inline void replicas_draw(test_random *r, int world, int copies, int ndim,
                                 const int64_t *shape, replicas *x) {
  test_draw(r, world / copies, 0, ndim, shape, &x->array);
  test_tabulate(&x->array, &x->table);
  x->layout = test_layout(&x->array, &x->table, -1);
  x->copies = copies;
  x->grid = x->table.places;
  x->places = x->grid * copies;
  replicas_settle(r, world, x);
}

/* Whether place a comes before place b by its coordinates, in the order of the view's axes. */
static inline int replicas_before(const replicas *x, int a, int b) {
  int first[TEST_DIMS], second[TEST_DIMS], d;
  test_coordinates(&x->array, &x->table, a, first);
  test_coordinates(&x->array, &x->table, b, second);
  for (d = 0; d < x->array.ndim; d++) {
    const int own = x->table.own[d];
    if (first[own] != second[own]) return first[own] < second[own];
  }
  return 0;
}

/* The copy of place k that a rank holds, or -1. */
static inline int replicas_held(const replicas *x, int k, int rank) {
  int c;
  for (c = 0; c < x->copies; c++)
    if (x->ranks[k + c * x->grid] == rank) return c;
  return -1;
}

/* Lets every place of the destination that needs place k of the source choose a copy: its own, else
   round-robin. */
static inline void replicated_serve(replicated *p, int k) {
  const replicas *from = &p->side[0], *to = &p->side[1];
  int order[TEST_PLACES], i, j, c, number = 0;
  for (i = 0; i < to->grid; i++) {
    for (j = i; j > 0 && replicas_before(to, i, order[j - 1]); j--) order[j] = order[j - 1];
    order[j] = i;
  }
  for (c = 0; c < to->copies; c++)
    for (i = 0; i < to->grid; i++) {
      const int t = order[i] + c * to->grid, own = replicas_held(from, k, to->ranks[t]);
      p->serving[k][t] = -1;
      if (p->shared[k][order[i]] == 0) continue;
      p->serving[k][t] = own >= 0 ? own : number % from->copies;
      number++;
      p->volume[from->ranks[k + p->serving[k][t] * from->grid]][to->ranks[t]] +=
          p->shared[k][order[i]];
    }
}

/* A pair of layouts of one shape, each in 1 .. COPIES copies, as many as the world has room for. */
static inline void replicated_draw(test_random *r, int world, replicated *p) {
  const int most = world < COPIES ? world : COPIES;
  int64_t shape[TEST_DIMS], i;
  int side, k, ndim = test_draw_shape(r, 0, shape);
  test_stream_bytes = test_one_in(r, 2) ? 1 : 4194304;
  for (side = 0; side < 2; side++)
    replicas_draw(r, world, (int)test_between(r, 1, most), ndim, shape, &p->side[side]);
  memset(p->shared, 0, sizeof p->shared);
  memset(p->volume, 0, sizeof p->volume);
  for (i = 0; i < p->side[0].table.elements; i++)
    p->shared[p->side[0].table.place[i]][p->side[1].table.place[i]]++;
  for (k = 0; k < p->side[0].grid; k++) replicated_serve(p, k);
}

/* The contents of the source's copies differ, so that one sees which one was read. */
static inline uint64_t replicated_contents(uint64_t seed, int copy) {
  return seed * COPIES + (uint64_t)copy;
}

static inline void replicated_fill_source(const replicated *p, int place, size_t bytes,
                                          uint64_t seed, unsigned char *array) {
  const replicas *from = &p->side[0];
  test_fill(&from->table, place % from->grid, bytes, replicated_contents(seed, place / from->grid),
            7, array);
}

/* The array of a place of the destination, filled element by element with what the copies that
   serve it hold. */
static inline void replicated_expect(const replicated *p, int place, size_t bytes, uint64_t seed,
                                     unsigned char *array) {
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  const int grid_place = place % p->side[1].grid;
  int64_t i;
  size_t b;
  test_fill(to, grid_place, bytes, 0, 8, array);
  for (i = 0; i < to->elements; i++)
    for (b = 0; to->place[i] == grid_place && b < bytes; b++)
      array[(size_t)to->offset[i] * bytes + b] =
          test_byte(replicated_contents(seed, p->serving[from->place[i]][place]), i, b);
}

static inline size_t replicas_bytes(const replicas *x, int place, size_t bytes) {
  return (size_t)x->table.alloc[place % x->grid] * bytes;
}

#endif
