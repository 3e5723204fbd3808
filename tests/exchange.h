/* redist tests: one exchange between two described arrays: its plan, its arrays on this rank, and
   whether they hold what they should. MIT licence, see LICENSE. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "oracle.h"
#include "pieces.h"
#include "shapes.h"

#include "redist_plan.h"
#include "test_mpi.h"

enum { ARRAYS = 4 };

/* How an execution is called. */
enum { EXECUTE, START_WAIT, START_TEST, START_TRAFFIC, WAYS };

typedef struct {
  test_array arrays[2]; /* [0] source, [1] destination */
  test_table tables[2];
  redist_layout layouts[2];
  MPI_Comm comm;
  int rank, size, place[2]; /* place: what this rank holds, or -1 */
  MPI_Datatype type;
  size_t bytes;
  uint64_t seed;
  /* count: arrays at once; many: through the calls for several */
  int count, many, in_place, fixed, way;
  redist_method method;
  redist_plan *plan;
  unsigned char *held[2][ARRAYS];
  char message[400];
} exchange;

static inline exchange *exchange_new(MPI_Comm comm) {
  exchange *e = calloc(1, sizeof *e);
  e->comm = comm;
  MPI_Comm_rank(comm, &e->rank);
  MPI_Comm_size(comm, &e->size);
  e->type = MPI_DOUBLE;
  e->bytes = sizeof(double);
  e->count = 1;
  return e;
}

/* Finds the tables and layouts of e->arrays. */
static inline void exchange_describe(exchange *e) {
  int side;
  for (side = 0; side < 2; side++) {
    test_tabulate(&e->arrays[side], &e->tables[side]);
    e->layouts[side] = test_layout(&e->tables[side], e->rank);
    e->place[side] = test_place_of_rank(&e->tables[side], e->rank);
  }
}

static inline void exchange_draw(exchange *e, uint64_t seed) {
  test_random r = {seed};
  e->seed = seed;
  test_piece_bytes = test_one_in(&r, 2) ? 128 : 262144;
  test_draw_pair(&r, e->size, seed % 3 == 1 ? TEST_OWN_EXTENTS | TEST_RESHAPES : TEST_OWN_EXTENTS,
                 TEST_MEDIUM, &e->arrays[0], &e->arrays[1]);
  exchange_describe(e);
}

static inline void exchange_axis(test_axis *x, int kind, int64_t n, int procs) {
  x->kind = kind;
  x->n = n;
  x->procs = procs;
  x->block = 1;
  x->cuts[procs] = n;
}

/* An n x m matrix from blocks of rows to columns distributed as `kind` says. */
static inline void exchange_rows(exchange *e, int64_t n, int64_t m, int kind) {
  memset(e->arrays, 0, sizeof e->arrays);
  e->arrays[0].ndim = e->arrays[1].ndim = 2;
  exchange_axis(&e->arrays[0].axes[0], TEST_BLOCK, n, e->size);
  exchange_axis(&e->arrays[0].axes[1], TEST_WHOLE, m, 1);
  exchange_axis(&e->arrays[1].axes[0], TEST_WHOLE, n, 1);
  exchange_axis(&e->arrays[1].axes[1], kind, m, e->size);
  exchange_describe(e);
}

static inline int64_t exchange_owned(const exchange *e, int side) {
  return e->place[side] < 0 ? 0 : e->tables[side].owned[e->place[side]];
}

static inline size_t exchange_bytes(const exchange *e, int side) {
  return e->place[side] < 0 ? 0 : (size_t)e->tables[side].alloc[e->place[side]] * e->bytes;
}

/* A rank that owns nothing has no array, or, every other time, one that must stay as it is. */
static inline unsigned char *exchange_array(const exchange *e, int64_t elements, size_t bytes) {
  return elements == 0 && (bytes == 0 || e->seed % 2 == 0) ? NULL : malloc(bytes + 1);
}

static inline void exchange_allocate(exchange *e) {
  size_t from = exchange_bytes(e, 0), to = exchange_bytes(e, 1);
  int k;
  for (k = 0; k < e->count; k++) {
    if (e->in_place) {
      e->held[0][k] = e->held[1][k] =
          exchange_array(e, exchange_owned(e, 0) + exchange_owned(e, 1), from > to ? from : to);
    } else {
      e->held[0][k] = exchange_array(e, exchange_owned(e, 0), from);
      e->held[1][k] = exchange_array(e, exchange_owned(e, 1), to);
    }
  }
}

static inline void exchange_release(exchange *e) {
  int k;
  for (k = 0; k < e->count; k++) {
    free(e->held[0][k]);
    if (!e->in_place) free(e->held[1][k]);
  }
}

static inline void exchange_fill(exchange *e, int side, int k, uint64_t contents) {
  if (e->place[side] >= 0 && e->held[side][k] != NULL)
    test_fill(&e->tables[side], e->place[side], e->bytes, contents, (uint64_t)side,
              e->held[side][k]);
}

/* Whether the elements of this rank hold these contents, whatever lies between them. */
static inline int exchange_elements_hold(const exchange *e, int side, uint64_t contents,
                                         const unsigned char *array) {
  const test_table *t = &e->tables[side];
  int64_t i;
  size_t b;
  for (i = 0; i < t->elements; i++)
    for (b = 0; t->place[i] == e->place[side] && b < e->bytes; b++)
      if (array[(size_t)t->offset[i] * e->bytes + b] != test_byte(contents, i, b)) return 0;
  return 1;
}

/* Whether the array holds these contents and its background. In place only the elements themselves
   are promised. */
static inline int exchange_holds(const exchange *e, int side, int k, uint64_t contents) {
  unsigned char *expected;
  int same;
  if (e->place[side] < 0 || e->held[side][k] == NULL) return 1;
  if (e->in_place) return exchange_elements_hold(e, side, contents, e->held[side][k]);
  expected = malloc(exchange_bytes(e, side) + 1);
  test_fill(&e->tables[side], e->place[side], e->bytes, contents, (uint64_t)side, expected);
  same = memcmp(expected, e->held[side][k], exchange_bytes(e, side)) == 0;
  free(expected);
  return same;
}

static inline int exchange_start(exchange *e) {
  const void *from[ARRAYS];
  void *to[ARRAYS];
  int k;
  for (k = 0; k < e->count; k++) {
    from[k] = e->held[0][k];
    to[k] = e->held[1][k];
  }
  if (e->way == EXECUTE)
    return e->many ? redist_execute_many(e->plan, from, to)
                   : redist_execute(e->plan, from[0], to[0]);
  return e->many ? redist_start_many(e->plan, from, to) : redist_start(e->plan, from[0], to[0]);
}

static inline int exchange_finish_by_testing(redist_plan *plan) {
  int done = 0, code = REDIST_OK;
  while (code == REDIST_OK && !done) {
    code = redist_test(plan, &done);
    if (!done) sched_yield();
  }
  return code;
}

/* Messages of the program itself, which a plan must neither take nor disturb. */
static inline int exchange_other_traffic(MPI_Request *received, int *value) {
  int rank = test_rank(), size = test_size();
  MPI_Request sent;
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &sent);
  wait_yielding(received);
  wait_yielding(&sent);
  return *value == (rank + size - 1) % size && test_sum(1) == size;
}

static inline int exchange_run(exchange *e) {
  MPI_Request received = MPI_REQUEST_NULL;
  int value = -1, code;
  if (e->way == START_TRAFFIC)
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &received);
  code = exchange_start(e);
  if (e->way == START_TRAFFIC && !exchange_other_traffic(&received, &value)) return -1;
  if (code != REDIST_OK || e->way == EXECUTE) return code;
  return e->way == START_TEST ? exchange_finish_by_testing(e->plan) : redist_wait(e->plan);
}

static inline uint64_t exchange_contents(const exchange *e, int number, int k) {
  return (e->seed * 100 + (uint64_t)number) * ARRAYS + (uint64_t)k;
}

/* Gives the source the contents of execution `number`, the destination those of no execution. */
static inline void exchange_prepare(exchange *e, int number) {
  int k;
  for (k = 0; k < e->count; k++) {
    exchange_fill(e, 1, k, ~exchange_contents(e, number, k));
    exchange_fill(e, 0, k, exchange_contents(e, number, k));
  }
}

static inline int exchange_arrived(const exchange *e, int number) {
  int k, good = 1;
  for (k = 0; k < e->count; k++)
    good = good && exchange_holds(e, 1, k, exchange_contents(e, number, k)) &&
           (e->in_place || exchange_holds(e, 0, k, exchange_contents(e, number, k)));
  return good;
}

static inline int exchange_is_right(exchange *e, int number) {
  exchange_prepare(e, number);
  return exchange_run(e) == REDIST_OK && exchange_arrived(e, number);
}

static inline int exchange_create_with(exchange *e, redist_options *options) {
  options->method = e->method;
  options->arrays = e->many ? e->count : 0;
  options->in_place = e->in_place;
  options->message = e->message;
  options->message_size = sizeof e->message;
  /* dear messages make chains of plans, dear bytes a single one */
  if (e->method == REDIST_MULTIPHASE) {
    options->cost.per_message = 1;
    options->cost.per_byte = e->seed % 3 == 0 ? 1 : 1e-6;
  }
  if (e->fixed) {
    options->fixed_from = e->held[0][0];
    options->fixed_to = e->held[1][0];
  }
  e->message[0] = 0;
  e->plan = NULL;
  return redist_plan_create(e->comm, &e->layouts[0], &e->layouts[1], e->type, options, &e->plan);
}

static inline int exchange_create(exchange *e) {
  redist_options options;
  memset(&options, 0, sizeof options);
  return exchange_create_with(e, &options);
}

#endif
