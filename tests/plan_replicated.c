/* redist tests: plans between replicated layouts, every method: each rank gets what the replica
   that serves it holds.
   MIT licence, see LICENSE. */
#include <sched.h>
#include <stdint.h>

#include "hooks.h"
#include "pieces.h"

#include "replicas.h"
#include "settings.h"
#include "test_mpi.h"

enum { ARRAYS = 3, ROUNDS = 2, ARENA = 1 << 20 };

static redist_arena *arena;
static unsigned char *slot[2 * ARRAYS]; /* of the arena */

/* One plan on this rank. */
typedef struct {
  const replicated *pair;
  int place[2], count, in_place, fixed;
  size_t bytes;
  MPI_Datatype type;
  uint64_t seed;
  unsigned char *held[2][ARRAYS];
  redist_plan *plan;
  char message[400];
} run;

static size_t held_bytes(const run *e, int side) {
  return e->place[side] < 0 ? 0
                            : (size_t)e->pair->side[side].table.alloc[e->place[side]] * e->bytes;
}

static void allocate(run *e, const setting *s) {
  size_t from = held_bytes(e, 0), to = held_bytes(e, 1);
  int k;
  for (k = 0; k < e->count; k++) {
    e->held[0][k] = s->arena ? slot[2 * k] : malloc((e->in_place && to > from ? to : from) + 1);
    e->held[1][k] = e->in_place ? e->held[0][k] : s->arena ? slot[2 * k + 1] : malloc(to + 1);
  }
}

static void release(run *e, const setting *s) {
  int k;
  for (k = 0; k < e->count && !s->arena; k++) {
    if (!e->in_place) free(e->held[1][k]);
    free(e->held[0][k]);
  }
}

static uint64_t contents(const run *e, int round, int k) {
  return (e->seed * ROUNDS + (uint64_t)round) * ARRAYS + (uint64_t)k + 1;
}

static void prepare(const run *e, int round) {
  int k;
  for (k = 0; k < e->count; k++) {
    if (e->place[1] >= 0)
      test_fill(&e->pair->side[1].table, e->place[1], e->bytes, 0, 8, e->held[1][k]);
    if (e->place[0] >= 0)
      replicated_fill_source(e->pair, e->place[0], e->bytes, contents(e, round, k), e->held[0][k]);
  }
}

/* Whether the elements of the destination are right; and, but in place, everything around them. */
static int arrived(const run *e, int round) {
  const test_table *to = &e->pair->side[1].table;
  int k, good = 1;
  for (k = 0; k < e->count && e->place[1] >= 0; k++) {
    unsigned char *expected = malloc(held_bytes(e, 1) + 1);
    int64_t i;
    replicated_expect(e->pair, e->place[1], e->bytes, contents(e, round, k), expected);
    good = good && (e->in_place || memcmp(expected, e->held[1][k], held_bytes(e, 1)) == 0);
    for (i = 0; i < to->elements; i++)
      if (to->place[i] == e->place[1] % to->grid) {
        const size_t at = (size_t)to->offset[i] * e->bytes;
        good = good && memcmp(expected + at, e->held[1][k] + at, e->bytes) == 0;
      }
    free(expected);
  }
  return good;
}

static int execute(run *e, int round) {
  const void *from[ARRAYS];
  void *to[ARRAYS];
  int k, code;
  prepare(e, round);
  for (k = 0; k < e->count; k++) {
    from[k] = e->held[0][k];
    to[k] = e->held[1][k];
  }
  code = e->count == 1 ? redist_execute(e->plan, from[0], to[0])
                       : redist_execute_many(e->plan, from, to);
  return code == REDIST_OK && arrived(e, round);
}

/* Messages and bytes of this rank are those of the element loops, unless others' are carried. */
static int stats_are_right(const run *e, int64_t max_buffer) {
  const int64_t bytes = (int64_t)e->bytes * e->count;
  const int rank = test_rank();
  redist_stats found;
  int64_t sends = 0, receives = 0, sent = 0, received = 0;
  int other;
  for (other = 0; other < test_size(); other++) {
    const int64_t out = other == rank ? 0 : e->pair->volume[rank][other],
                  in = other == rank ? 0 : e->pair->volume[other][rank];
    sends += out > 0;
    receives += in > 0;
    sent += out * bytes;
    received += in * bytes;
  }
  return redist_plan_stats(e->plan, &found) == REDIST_OK &&
         (found.method == REDIST_NODES ||
          (found.sends == sends && found.receives == receives && found.bytes_sent == sent &&
           found.bytes_received == received)) &&
         found.bytes_local == e->pair->volume[rank][rank] * bytes &&
         (max_buffer == 0 || found.buffer_bytes <= max_buffer);
}

static int create(run *e, const setting *s) {
  redist_options options;
  memset(&options, 0, sizeof options);
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  options.arrays = e->count;
  options.in_place = e->in_place;
  /* REDIST_MULTIPHASE: dear messages, so that it would pass by other layouts */
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-6;
  options.message = e->message;
  options.message_size = sizeof e->message;
  options.fixed_from = e->fixed ? e->held[0][0] : NULL;
  options.fixed_to = e->fixed ? e->held[1][0] : NULL;
  return redist_plan_create(MPI_COMM_WORLD, &e->pair->side[0].layout, &e->pair->side[1].layout,
                            e->type, &options, &e->plan);
}

static void draw_run(run *e, const setting *s, uint64_t seed) {
  static const size_t sizes[] = {8, 4, 1};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_BYTE};
  test_random r = {seed * 64 + (uint64_t)(s - settings)};
  const int type = (int)test_between(&r, 0, 2);
  e->seed = seed;
  e->bytes = sizes[type];
  e->type = types[type];
  e->count = test_one_in(&r, 3) ? (int)test_between(&r, 2, ARRAYS) : 1;
  e->in_place = test_one_in(&r, 4) && s->max_buffer == 0 && !s->arena;
  e->fixed = e->count == 1 && test_one_in(&r, 3);
  test_piece_bytes = test_one_in(&r, 2) ? 128 : 262144;
}

static void check(run *e, const setting *s) {
  int round, code, good = 1;
  allocate(e, s);
  code = create(e, s);
  good = code == REDIST_OK && stats_are_right(e, s->max_buffer);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) good = execute(e, round) && good;
  if (code == REDIST_OK) good = redist_plan_free(&e->plan) == REDIST_OK && good;
  release(e, s);
  test_case_all(good, "seed %lu, %s, %d to %d replicas, %d bytes, %d arrays%s%s: code %d %s",
                (unsigned long)e->seed, s->name, e->pair->side[0].array.replicas,
                e->pair->side[1].array.replicas, (int)e->bytes, e->count,
                e->in_place ? ", in place" : "", e->fixed ? ", fixed" : "", code, e->message);
}

/* Ranks that do not agree on the copies get a sentence; a copy outside the communicator is refused. */
static void check_mistakes(void) {
  const int size = test_size();
  redist_layout from = redist_layout_1d(redist_whole(12)), to = from;
  redist_options options;
  redist_plan *plan = NULL;
  char message[400] = "";
  int code;
  memset(&options, 0, sizeof options);
  options.message = message;
  options.message_size = sizeof message;
  to = redist_replicated(from, size + 1);
  code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &plan);
  test_case_all(code == REDIST_ERR_RANK && plan == NULL &&
                    strstr(message, "a destination place is on rank") != NULL,
                "one copy too many: code %d, %s", code, message);
  if (size == 1) return;
  to = redist_replicated(from, test_rank() == 0 ? 1 : 2);
  code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &plan);
  test_case_all(code == REDIST_ERR_MISMATCH && plan == NULL &&
                    strstr(message, "number of replicas is 2, but 1 on rank 0") != NULL,
                "ranks with other copies: code %d, %s", code, message);
}

/* One copy to all ranks and back: a broadcast, which sends to all others, and a return, which sends
   nothing. */
static void check_broadcast(void) {
  enum { N = 1000 };
  redist_layout one = redist_layout_1d(redist_whole(N)), all = redist_replicated(one, test_size());
  redist_plan *out = NULL, *back = NULL;
  redist_stats sent, returned;
  double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
  redist_options direct;
  int k, good;
  memset(&direct, 0, sizeof direct);
  direct.method = REDIST_POINT_TO_POINT;
  good = redist_plan_create(MPI_COMM_WORLD, &one, &all, MPI_DOUBLE, &direct, &out) == REDIST_OK &&
         redist_plan_create(MPI_COMM_WORLD, &all, &one, MPI_DOUBLE, &direct, &back) == REDIST_OK;
  for (k = 0; k < N; k++) {
    a[k] = test_rank() == 0 ? k : -1;
    b[k] = -2;
  }
  good = good && redist_execute(out, a, b) == REDIST_OK;
  for (k = 0; k < N; k++) good = good && b[k] == k;
  good = good && redist_execute(back, b, a) == REDIST_OK &&
         a[N - 1] == (test_rank() == 0 ? N - 1 : -1);
  good = good && redist_plan_stats(out, &sent) == REDIST_OK &&
         redist_plan_stats(back, &returned) == REDIST_OK &&
         sent.sends == (test_rank() == 0 ? test_size() - 1 : 0) && returned.sends == 0;
  test_case_all(good, "from one rank to all, and back");
  redist_plan_free(&out);
  redist_plan_free(&back);
  free(a);
  free(b);
}

/* Inside a node, one rank fills all replicas: it packs the elements once for all of them, or, in an
   arena, not at all. Then all ranks add to all, each in one order: nobody waits for one who waits
   for it. */
static void check_copies(int in_arena) {
  enum { N = 5000 };
  const redist_layout one = redist_layout_1d(redist_whole(N)),
                      all = redist_replicated(one, test_size());
  const int packs = test_size() > 1 && !in_arena;
  redist_op sum;
  double *a = in_arena ? (double *)(void *)slot[0] : malloc(N * sizeof *a),
         *b = in_arena ? (double *)(void *)slot[1] : malloc(N * sizeof *b);
  redist_plan *out = NULL, *add = NULL;
  redist_options options;
  int64_t once = (int64_t)(N * sizeof *a);
  redist_stats stats;
  int k, good;
  memset(&options, 0, sizeof options);
  options.method = REDIST_SHARED;
  options.arena = in_arena ? arena : NULL;
  test_piece_bytes = 1024;
  sum.op = MPI_SUM;
  sum.type = MPI_DOUBLE;
  good = redist_plan_create(MPI_COMM_WORLD, &one, &all, MPI_DOUBLE, &options, &out) == REDIST_OK;
  options.combine = redist_combine_op;
  options.context = &sum;
  good = redist_plan_create(MPI_COMM_WORLD, &all, &all, MPI_DOUBLE, &options, &add) == REDIST_OK &&
         good && redist_plan_stats(out, &stats) == REDIST_OK;
  for (k = 0; k < N; k++) a[k] = k;
  for (k = 0; k < N; k++) b[k] = 0;
  test_copied = 0;
  good = good && redist_execute(out, a, b) == REDIST_OK;
  good = good && (stats.method != REDIST_SHARED ||
                  test_copied == once * (test_rank() == 0 ? 1 + packs : 1));
  for (k = 0; k < N; k++) good = good && b[k] == k;
  good = redist_execute(add, a, b) == REDIST_OK && good;
  for (k = 0; k < N; k++) good = good && b[k] == k * (1.0 + test_size());
  test_case_all(good, "one rank fills all replicas%s: %ld of %ld bytes copied",
                in_arena ? ", arena" : "", (long)test_copied, (long)once);
  redist_plan_free(&out);
  redist_plan_free(&add);
  if (!in_arena) free(a);
  if (!in_arena) free(b);
}

/* Dear settings are tried on every pair by up to 2 ranks, by more on a few of them. */
static int is_due(const setting *s, int pair, int pairs) {
  const int turns = pairs / (test_size() <= 4 ? 3 : 1);
  return !s->dear || test_size() <= 2 || (pair + (int)(s - settings)) % turns == 0;
}

int main(int count, char **arguments) {
  static replicated pair;
  static run e;
  int k, s, pairs;
  MPI_Init(&count, &arguments);
  pairs = test_size() <= 2 ? 300 : 60;
  redist_arena_create(MPI_COMM_WORLD, (size_t)ARENA * 2 * ARRAYS, &arena);
  for (k = 0; k < 2 * ARRAYS; k++) slot[k] = redist_arena_alloc(arena, ARENA);
  for (k = 0; k < pairs; k++) {
    test_random r = {(uint64_t)(test_size() * 1000 + k)};
    replicated_draw(&r, test_size(), &pair);
    e.pair = &pair;
    for (s = 0; s < 2; s++) e.place[s] = test_place_of_rank(&pair.side[s].table, test_rank());
    for (s = 0; s < SETTINGS; s++)
      if (is_due(&settings[s], k, pairs)) {
        draw_run(&e, &settings[s], (uint64_t)k);
        check(&e, &settings[s]);
      }
  }
  check_mistakes();
  check_broadcast();
  check_copies(0);
  check_copies(1);
  redist_arena_free(&arena);
  k = test_report_all("plan_replicated");
  MPI_Finalize();
  return k;
}
