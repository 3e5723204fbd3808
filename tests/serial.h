/* redist tests: layouts on one process, described and drawn as in oracle.h, and what moves between
   two of them.
   MIT licence, see LICENSE. */
#ifndef SERIAL_H
#define SERIAL_H

#define TEST_DIMS 8
#define TEST_PLACES 256
#define TEST_LENGTH 4096
#define TEST_ELEMENTS 65536
#define TEST_LARGEST 4000
#include "oracle.h"

enum { SERIAL_RANKS = 320 };

static inline void *serial_malloc(int64_t count, size_t size) {
  void *memory = calloc((size_t)(count + 1), size);
  if (memory == NULL) {
    printf("out of memory\n");
    exit(1);
  }
  return memory;
}

/* Free it with free. */
static inline test_model *serial_new(const test_array *array) {
  test_model *m = (test_model *)malloc(sizeof *m); /* megabytes: not cleared for each layout */
  if (m == NULL) exit(1);
  m->array = *array;
  test_build(m);
  return m;
}

static inline test_array serial_array(int ndim, const test_axis *axes) {
  test_array array;
  memset(&array, 0, sizeof array);
  array.ndim = ndim;
  memcpy(array.axes, axes, (size_t)ndim * sizeof *axes);
  return array;
}

/* On listed ranks, some of 0 .. places + 4, or on consecutive ones. */
static inline void serial_draw_ranks(test_random *r, test_array *array) {
  int all[TEST_PLACES + 5], places = test_places(array);
  array->listed = test_one_in(r, 2);
  array->first_rank = (int)test_between(r, 0, 5);
  test_shuffle(r, all, places + 5);
  memcpy(array->ranks, all, (size_t)places * sizeof *all);
  test_add(array, test_operation_of(TEST_RANKS, 0));
}

/* A random layout on at most `world` ranks whose view has the given shape. */
static inline test_model *serial_random(test_random *r, int world, int ndim, const int64_t *shape) {
  test_array array;
  test_draw(r, world, 0, ndim, shape, &array);
  return serial_new(&array);
}

static inline void serial_random_shape(test_random *r, int ndim, int64_t *shape) {
  static const int64_t longest[TEST_DIMS + 1] = {0, 40, 14, 8, 5, 4, 3, 3, 2};
  for (int d = 0; d < ndim; d++)
    shape[d] = test_between(r, test_between(r, 0, 9) ? 1 : 0, longest[ndim]);
}

/* Steps to the next index, the last axis fastest; 0 after the last one (which leaves all zeros). */
static inline int serial_next(int ndim, const int64_t *shape, int64_t *index) {
  for (int d = ndim - 1; d >= 0; d--) {
    if (++index[d] < shape[d]) return 1;
    index[d] = 0;
  }
  return 0;
}

/* The coordinates of a place in the order of the view's axes. */
static inline void serial_coords(const test_model *l, int place, int *coords) {
  for (int d = 0; d < l->array.ndim; d++) coords[d] = l->table.coords[place][l->table.own[d]];
}

/* ---- what moves between two layouts, element by element ---- */

typedef struct {
  int64_t volume[SERIAL_RANKS][SERIAL_RANKS];
} serial_matrix;

static inline void serial_volumes(const test_model *from, const test_model *to, serial_matrix *m) {
  test_volumes(&from->table, &to->table, SERIAL_RANKS, m->volume[0]);
}

static inline void serial_raise(int64_t *most, int64_t value) {
  *most = value > *most ? value : *most;
}

static inline redist_traffic serial_traffic(const serial_matrix *m) {
  redist_traffic t;
  memset(&t, 0, sizeof t);
  for (int a = 0; a < SERIAL_RANKS; a++) {
    int64_t sends = 0, receives = 0, sent = 0, received = 0;
    for (int b = 0; b < SERIAL_RANKS; b++) {
      t.total += m->volume[a][b];
      if (a == b) {
        t.local += m->volume[a][b];
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

static inline int serial_same_traffic(const redist_traffic *a, const redist_traffic *b) {
  return a->total == b->total && a->local == b->local && a->moved == b->moved &&
         a->messages == b->messages && a->max_sends == b->max_sends &&
         a->max_receives == b->max_receives && a->max_sent == b->max_sent &&
         a->max_received == b->max_received;
}

/* ---- redist_move ---- */

/* The array of every place, filled with these contents; NULL where there is nothing to allocate. */
static inline void serial_fill(const test_model *l, uint64_t contents, uint64_t background,
                               unsigned char **arrays) {
  for (int k = 0; k < l->table.places; k++) {
    arrays[k] = l->table.alloc[k] > 0 ? (unsigned char *)serial_malloc(l->table.alloc[k], 4) : NULL;
    if (arrays[k] != NULL) test_fill(&l->table, k, 4, contents, background, arrays[k]);
  }
}

/* Moves with the library, and compares every byte, padding included. */
static inline int serial_check_move(const test_model *from, const test_model *to) {
  unsigned char *source[TEST_PLACES], *target[TEST_PLACES], *wanted[TEST_PLACES];
  const void *read_only[TEST_PLACES];
  void *written[TEST_PLACES];
  int ok, k;
  serial_fill(from, 1, 2, source);
  serial_fill(to, 3, 4, target);
  serial_fill(to, 1, 4, wanted);
  for (k = 0; k < from->table.places; k++) read_only[k] = source[k];
  for (k = 0; k < to->table.places; k++) written[k] = target[k];
  ok = redist_move(&from->layout, read_only, &to->layout, written, 4) == REDIST_OK;
  for (k = 0; k < to->table.places; k++) {
    ok = ok &&
         (wanted[k] == NULL || memcmp(target[k], wanted[k], (size_t)to->table.alloc[k] * 4) == 0);
    free(target[k]);
    free(wanted[k]);
  }
  for (k = 0; k < from->table.places; k++) free(source[k]);
  return ok;
}

#endif
