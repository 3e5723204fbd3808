/* redist tests: pairs of layouts with replicas, and which replica serves whom by looking at every
   element. MIT licence, see LICENSE. */
#ifndef REPLICAS_H
#define REPLICAS_H

#include "oracle.h"

/* Replica serving[k][t] of place k of the source serves place t of the destination; -1: they share
   nothing. */
typedef struct {
  test_model side[2];
  int64_t shared[TEST_PLACES][TEST_PLACES]; /* by place of either grid */
  int serving[TEST_PLACES][TEST_PLACES];
  int64_t volume[TEST_PLACES][TEST_PLACES]; /* by rank */
} replicated;

/* Whether place a comes before place b by its coordinates, in the order of the view's axes. */
static inline int replicas_before(const test_table *t, int a, int b) {
  int d;
  for (d = 0; d < t->array->ndim; d++) {
    const int first = t->coords[a][t->own[d]], second = t->coords[b][t->own[d]];
    if (first != second) return first < second;
  }
  return 0;
}

/* The replica of place k that a rank holds, or -1. */
static inline int replicas_held(const test_table *t, int k, int rank) {
  int place;
  for (place = k; place < t->places; place += t->grid)
    if (t->ranks[place] == rank) return place / t->grid;
  return -1;
}

/* Lets every place of the destination that needs place k of the source choose a replica: its own,
   else round-robin. */
static inline void replicated_serve(replicated *p, int k) {
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  int order[TEST_PLACES], i, j, number = 0;
  for (i = 0; i < to->grid; i++) {
    for (j = i; j > 0 && replicas_before(to, i, order[j - 1]); j--) order[j] = order[j - 1];
    order[j] = i;
  }
  for (i = 0; i < to->places; i++) {
    const int needs = order[i % to->grid], t = needs + i / to->grid * to->grid;
    const int own = replicas_held(from, k, to->ranks[t]);
    p->serving[k][t] = -1;
    if (p->shared[k][needs] == 0) continue;
    p->serving[k][t] = own >= 0 ? own : number % p->side[0].array.replicas;
    number++;
    p->volume[from->ranks[k + p->serving[k][t] * from->grid]][to->ranks[t]] += p->shared[k][needs];
  }
}

/* A pair of layouts of one shape, as many replicas of each as the world has room for. */
static inline void replicated_draw(test_random *r, int world, replicated *p) {
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  int64_t i;
  int k;
  test_draw_pair(r, world, TEST_REPLICAS, TEST_MEDIUM, &p->side[0].array, &p->side[1].array);
  for (k = 0; k < 2; k++) test_build(&p->side[k]);
  memset(p->shared, 0, sizeof p->shared);
  memset(p->volume, 0, sizeof p->volume);
  for (i = 0; i < from->elements; i++) p->shared[from->place[i]][to->place[i]]++;
  for (k = 0; k < from->grid; k++) replicated_serve(p, k);
}

/* The contents of the source's replicas differ, so that one sees which one was read. */
static inline uint64_t replicated_contents(uint64_t seed, int replica) {
  return seed * TEST_MOST_REPLICAS + (uint64_t)replica;
}

static inline void replicated_fill_source(const replicated *p, int place, size_t bytes,
                                          uint64_t seed, unsigned char *array) {
  const test_table *from = &p->side[0].table;
  test_fill(from, place, bytes, replicated_contents(seed, place / from->grid), 7, array);
}

/* The array of a place of the destination, filled element by element with what the replicas that
   serve it hold. */
static inline void replicated_expect(const replicated *p, int place, size_t bytes, uint64_t seed,
                                     unsigned char *array) {
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  int64_t i;
  size_t b;
  test_fill(to, place, bytes, 0, 8, array);
  for (i = 0; i < to->elements; i++)
    for (b = 0; to->place[i] == place % to->grid && b < bytes; b++)
      array[(size_t)to->offset[i] * bytes + b] =
          test_byte(replicated_contents(seed, p->serving[from->place[i]][place]), i, b);
}

#endif
