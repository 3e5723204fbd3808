/* redist tests: options.max_buffer bounds what a plan really holds, with every method. MIT licence,
   see LICENSE. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* larger allocations fail */
static int64_t live_bytes, allocations, overruns, largest_block = INT64_MAX;

/* guard bytes before and after a block, which must not be written */
enum { HEADER = 64, CANARY = 0x5A };

static void *counting_malloc(size_t bytes) {
  char *block = (int64_t)bytes > largest_block ? NULL : malloc(bytes + 2 * HEADER);
  if (block == NULL) return NULL;
  memset(block + HEADER + bytes, CANARY, HEADER);
  *(size_t *)(void *)block = bytes;
  live_bytes += (int64_t)bytes;
  allocations++;
  return block + HEADER;
}

static void counting_free(void *block) {
  int k;
  if (block == NULL) return;
  for (k = 0; k < HEADER; k++)
    overruns += ((char *)block)[*(size_t *)(void *)((char *)block - HEADER) + (size_t)k] != CANARY;
  live_bytes -= (int64_t) * (size_t *)(void *)((char *)block - HEADER);
  free((char *)block - HEADER);
}

#define REDIST_MALLOC counting_malloc
#define REDIST_FREE counting_free
static int64_t largest_piece = 262144;
#define REDIST_PIECE_BYTES largest_piece
#include "redist_plan.h"
#include "test_mpi.h"

enum { N = 120, M = 100, MOST_ARRAYS = 3, TABLES = 20480, PIECE = 256 };

/* Blocks of rows, stored by rows, become columns distributed one by one, stored by columns: nothing
   is contiguous. */
typedef struct {
  redist_layout from, to;
  redist_options options;
  redist_plan *plan;
  char message[300];
  double *held[2][MOST_ARRAYS];
  int arrays;
} transposition;

/* Elements of the largest array on any rank; rank 0 has it. */
static int64_t held_elements(const transposition *t) {
  const int64_t a = redist_layout_local_size(&t->from, 0), b = redist_layout_local_size(&t->to, 0);
  return a > b ? a : b;
}

static void transposition_open(transposition *t, int arrays, int in_place) {
  int k, size = test_size();
  memset(t, 0, sizeof *t);
  t->from = redist_layout_2d(redist_block(N, size), redist_whole(M));
  t->to = redist_memory_order(redist_layout_2d(redist_whole(N), redist_cyclic(M, size)),
                              REDIST_COLUMN_MAJOR);
  t->arrays = t->options.arrays = arrays;
  t->options.in_place = in_place;
  t->options.message = t->message;
  t->options.message_size = sizeof t->message;
  for (k = 0; k < arrays; k++) {
    t->held[0][k] = calloc((size_t)held_elements(t) + 1, sizeof(double));
    t->held[1][k] = in_place ? t->held[0][k] : calloc((size_t)held_elements(t) + 1, sizeof(double));
  }
}

static void transposition_close(transposition *t) {
  int k;
  redist_plan_free(&t->plan);
  for (k = 0; k < t->arrays; k++) {
    free(t->held[0][k]);
    if (t->held[1][k] != t->held[0][k]) free(t->held[1][k]);
  }
}

static int transposition_create(transposition *t, redist_method method, int64_t max_buffer,
                                int node_ranks) {
  t->options.method = method;
  t->options.max_buffer = (size_t)max_buffer;
  t->options.node_ranks = node_ranks;
  return redist_plan_create(MPI_COMM_WORLD, &t->from, &t->to, MPI_DOUBLE, &t->options, &t->plan);
}

static double element(int round, int array, int i, int j) {
  return ((double)(round * 10 + array) * N + i) * M + j;
}

static void fill_rows(transposition *t, int round) {
  const int size = test_size(), block = (N + size - 1) / size, first = test_rank() * block;
  int a, i, j;
  for (a = 0; a < t->arrays; a++)
    for (i = first; i < first + block && i < N; i++)
      for (j = 0; j < M; j++) t->held[0][a][(i - first) * M + j] = element(round, a, i, j);
}

static int columns_are_right(const transposition *t, int round) {
  int a, i, j, size = test_size();
  for (a = 0; a < t->arrays; a++)
    for (j = test_rank(); j < M; j += size)
      for (i = 0; i < N; i++)
        if (t->held[1][a][j / size * N + i] != element(round, a, i, j)) return 0;
  return 1;
}

/* Whether executions deliver the right arrays, and allocate nothing. */
static int executes(transposition *t) {
  const int64_t before = allocations;
  int round, good = 1;
  for (round = 0; round < 2; round++) {
    fill_rows(t, round);
    good &= redist_execute_many(t->plan, (const void *const *)t->held[0],
                                (void *const *)t->held[1]) == REDIST_OK;
    good &= columns_are_right(t, round);
  }
  return good && allocations == before;
}

typedef struct {
  const char *name;
  redist_method method;
  int node_ranks;
} way;

static const way ways[] = {{"scheduled", REDIST_SCHEDULED, 0},
                           {"auto", REDIST_AUTO, 0},
                           {"auto without shared memory", REDIST_AUTO, 1},
                           {"auto on nodes of 2", REDIST_AUTO, 2},
                           {"multiphase", REDIST_MULTIPHASE, 1}};

/* What tables take: of a plan, and of the pieces of its messages. */
static int64_t tables(const redist_stats *s, int64_t limit) {
  return (1 + s->phases) * TABLES + 2 * (s->bytes_sent + s->bytes_received) / limit * PIECE;
}

/* Compares what the plan holds, without its tables, with what it reports. */
static void check_bound(const way *w, int arrays, int64_t limit) {
  transposition t;
  redist_stats stats;
  const int64_t before = live_bytes;
  int64_t held;
  int code;
  memset(&stats, 0, sizeof stats);
  transposition_open(&t, arrays, 0);
  t.options.cost.per_message = 1; /* of chains */
  t.options.cost.per_byte = 1e-9;
  code = transposition_create(&t, w->method, limit, w->node_ranks);
  held = live_bytes - before;
  if (!test_case_all(code == REDIST_OK && redist_plan_stats(t.plan, &stats) == REDIST_OK &&
                         held <= limit + tables(&stats, limit) && stats.buffer_bytes <= limit &&
                         executes(&t),
                     "%s, %d arrays, at most %" PRId64 " bytes: code %d, holds %" PRId64
                     ", says %" PRId64,
                     w->name, arrays, limit, code, held, stats.buffer_bytes) &&
      test_rank() == 0)
    printf("%s\n", t.message);
  transposition_close(&t);
  test_case_all(live_bytes == before, "%s, at most %" PRId64 " bytes: all is freed", w->name,
                limit);
}

/* Without a limit, the plan holds all packed messages: so the limit is what bounds the other
   cases. */
static void check_unbounded(void) {
  transposition t;
  const int64_t before = live_bytes;
  redist_stats stats;
  transposition_open(&t, MOST_ARRAYS, 0);
  test_case_all(transposition_create(&t, REDIST_POINT_TO_POINT, 0, 1) == REDIST_OK &&
                    redist_plan_stats(t.plan, &stats) == REDIST_OK &&
                    live_bytes - before > stats.bytes_sent + stats.bytes_received &&
                    stats.bytes_sent > 2 * TABLES && executes(&t),
                "without a limit all messages are held");
  transposition_close(&t);
}

/* In place, all messages must be packed before any is received: less memory is an error, this much
   suffices. */
static void check_in_place(redist_method method, int64_t limit) {
  transposition t;
  redist_stats stats;
  int64_t needed = 0, other, before = live_bytes;
  const char *digits;
  int code;
  transposition_open(&t, 2, 1);
  code = transposition_create(&t, method, 0, 1);
  if (code == REDIST_OK && redist_plan_stats(t.plan, &stats) == REDIST_OK)
    needed = stats.bytes_sent + stats.bytes_local;
  test_case_all(code == REDIST_OK && executes(&t), "in place, method %d, without a limit",
                (int)method);
  redist_plan_free(&t.plan);
  code = transposition_create(&t, method, limit, 1);
  digits = strpbrk(strstr(t.message, " needs ") == NULL ? "" : strstr(t.message, " needs "),
                   "0123456789");
  other = digits == NULL ? -1 : strtoll(digits, NULL, 10);
  test_case_all(code == REDIST_ERR_MEMORY && t.plan == NULL && other > limit &&
                    (test_rank() > 0 || other >= needed) && live_bytes == before,
                "in place, method %d, %" PRId64 " bytes: code %d, %s", (int)method, limit, code,
                t.message);
  code = transposition_create(&t, method,
                              2 * held_elements(&t) * 2 * (int64_t)sizeof(double) + 100000, 1);
  test_case_all(code == REDIST_OK && executes(&t), "in place, method %d, within enough: code %d",
                (int)method, code);
  transposition_close(&t);
}

/* In place, rings hold exactly what is sent, array by array where a message of all arrays does not
   fit a piece. */
static void check_rings(redist_method method) {
  transposition t;
  redist_stats stats;
  int code;
  transposition_open(&t, MOST_ARRAYS, 1);
  /* between the bytes of a message of one array and of all arrays */
  largest_piece = 112000 / (test_size() * test_size());
  code = transposition_create(&t, method, 0, 0);
  if (code == REDIST_OK) redist_plan_stats(t.plan, &stats);
  test_case_all(code == REDIST_OK && stats.buffer_bytes <= stats.bytes_sent + stats.bytes_local +
                                                               stats.sends * t.arrays * 64,
                "in place, method %d: %" PRId64 " bytes held to send %" PRId64, (int)method,
                code == REDIST_OK ? stats.buffer_bytes : 0,
                code == REDIST_OK ? stats.bytes_sent : 0);
  test_case_all(code == REDIST_OK && executes(&t),
                "in place, method %d, arrays in pieces of their own", (int)method);
  largest_piece = 262144;
  transposition_close(&t);
}

/* Where one rank has no memory to stage its messages, REDIST_AUTO avoids staging; a method
   requested by name fails. */
static void check_scarce(int rank) {
  transposition t;
  redist_stats stats;
  const int64_t before = live_bytes;
  int code;
  memset(&stats, 0, sizeof stats);
  transposition_open(&t, MOST_ARRAYS, 0);
  largest_block = test_rank() == rank ? 10000 : INT64_MAX;
  code = transposition_create(&t, REDIST_POINT_TO_POINT, 0, 1);
  test_case_all(code == REDIST_ERR_MEMORY && t.plan == NULL && strlen(t.message) > 10 &&
                    live_bytes == before,
                "by name without memory on rank %d: code %d, %s", rank, code, t.message);
  code = transposition_create(&t, REDIST_AUTO, 0, 1);
  if (code == REDIST_OK) redist_plan_stats(t.plan, &stats);
  test_case_all(code == REDIST_OK && stats.buffer_bytes < stats.bytes_sent && executes(&t),
                "chosen without memory on rank %d: code %d, method %d holds %" PRId64
                " bytes to send %" PRId64 ", %s",
                rank, code, (int)stats.method, stats.buffer_bytes, stats.bytes_sent, t.message);
  largest_block = INT64_MAX;
  transposition_close(&t);
  test_case_all(live_bytes == before, "without memory on rank %d: all is freed", rank);
}

/* With room for one message at a time, a message by MPI waits for the previous one by MPI, though
   others between them pass through shared memory. Each rank is late once. */
static void check_places(void) {
  enum { ROUNDS = 60, FOR_ONE = 16000 };
  transposition t;
  double begin;
  int round, code, good = 1;
  transposition_open(&t, 1, 0);
  code = transposition_create(&t, REDIST_SHARED, FOR_ONE, 2);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    for (begin = MPI_Wtime();
         (test_rank() + round) % test_size() == 0 && MPI_Wtime() < begin + 0.002;)
      sched_yield();
    good &= executes(&t);
  }
  test_case_all(code == REDIST_OK && good, "nodes of 2 with room for one message: code %d, %s",
                code, t.message);
  transposition_close(&t);
}

/* The bytes in and around the arrays of check_short_runs before an execution. */
static void fill_short_runs(double *from, double *to, int64_t owned, int64_t wanted) {
  const int64_t size = test_size(), rank = test_rank();
  int64_t k;
  for (k = 0; k < owned; k++) from[k] = (double)((k / 2 * size + rank) * 2 + k % 2);
  for (k = -HEADER; k < wanted + HEADER; k++) to[k] = -2;
}

static int short_runs_are_right(const double *to, int64_t block, int64_t wanted) {
  const int64_t size = test_size(), rank = test_rank();
  int64_t k;
  int right = 1;
  for (k = -HEADER; k < wanted + HEADER && right; k++)
    right = to[k] ==
            (k < 0 || k >= wanted ? -2 : (double)((k / block * size + rank) * block + k % block));
  return right;
}

/* Long messages of short runs, whose pieces cut the tables of offsets: nothing outside the array is
   written. */
static void check_short_runs(redist_method method, int64_t block, int64_t n, int64_t limit,
                             int64_t piece) {
  const redist_layout from = redist_layout_1d(redist_block_cyclic(n, 2, test_size()));
  const redist_layout to = redist_layout_1d(redist_block_cyclic(n, block, test_size()));
  const int64_t owned = redist_layout_local_size(&from, test_rank()),
                wanted = redist_layout_local_size(&to, test_rank());
  double *a = malloc((size_t)(owned + 1) * sizeof *a),
         *b = malloc((size_t)(wanted + 2 * HEADER) * sizeof *b);
  redist_options options;
  redist_plan *plan;
  int round, code, right = 1;
  memset(&options, 0, sizeof options);
  options.method = method;
  options.max_buffer = (size_t)limit;
  largest_piece = piece;
  code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan);
  for (round = 0; round < 2 && code == REDIST_OK; round++) {
    fill_short_runs(a, b + HEADER, owned, wanted);
    code = redist_execute(plan, a, b + HEADER);
    right &= short_runs_are_right(b + HEADER, block, wanted);
  }
  redist_plan_free(&plan);
  largest_piece = 262144;
  test_case_all(code == REDIST_OK && right,
                "short runs, method %d, %" PRId64 " elements, buffer %" PRId64 ", piece %" PRId64
                ": code %d",
                (int)method, n, limit, piece, code);
  free(a);
  free(b);
}

static void check_all_short_runs(void) {
  static const int64_t pieces[] = {8, 40, 344, 1000, 4104, 8000};
  const int64_t million = test_size() == 2 ? 1000000 : 50000;
  size_t k;
  for (k = 0; k < sizeof pieces / sizeof *pieces; k++) {
    check_short_runs(REDIST_SCHEDULED, 3, 12 * pieces[k] + 7, 2 * pieces[k], 262144);
    check_short_runs(REDIST_SHARED, 3, 20011, 0, pieces[k]);
  }
  for (k = 2; k < 50; k++) /* pieces of the same runs at other strides */
    check_short_runs(REDIST_SCHEDULED, k % 2 ? 10 : 13, 407, 8 * (int64_t)k, 262144);
  check_short_runs(REDIST_SCHEDULED, 3, million / 2 + 7, 100000, 262144);
  check_short_runs(REDIST_SHARED, 3, 3 * million + 7, 0, 65528);
  check_short_runs(REDIST_SHARED, 3, 3 * million + 7, 0, 262144);
}

int main(int argc, char **argv) {
  static const int64_t limits[] = {16, 100, 1000, 9000, 33000, 70000, 100000, 140000, 200000};
  size_t k, l;
  MPI_Init(&argc, &argv);
  check_unbounded();
  for (k = 0; k < sizeof ways / sizeof *ways; k++)
    for (l = 0; l < sizeof limits / sizeof *limits; l++)
      check_bound(&ways[k], l % 2 == 0 ? MOST_ARRAYS : 1, limits[l]);
  check_in_place(REDIST_SCHEDULED, 16);
  check_in_place(REDIST_SCHEDULED, 20000);
  check_in_place(REDIST_AUTO, 20000);
  check_in_place(REDIST_POINT_TO_POINT, 20000);
  check_scarce(0);
  check_scarce(test_size() - 1);
  check_rings(REDIST_SHARED);
  check_rings(REDIST_AUTO);
  if (test_size() > 4) check_places();
  check_all_short_runs();
  test_case_all(overruns == 0, "nothing behind allocated memory is written: %" PRId64 " bytes",
                overruns);
  k = (size_t)test_report_all("bounded");
  MPI_Finalize();
  return (int)k;
}
