/* Arenas: arrays in shared memory, in ordinary memory, or in both; and too little shared memory.
   MIT licence, see LICENSE. */
#include <stddef.h>
#include <stdint.h>
#include <sys/statvfs.h>

/* Replaces the system's information on its shared memory. */
struct test_statvfs {
  uint64_t f_bavail, f_frsize;
};
static uint64_t test_shared_free = UINT64_MAX / 2;

static int test_statvfs(const char *path, struct test_statvfs *answer) {
  answer->f_bavail = test_shared_free;
  answer->f_frsize = 1;
  return path == NULL;
}

static int64_t copied; /* bytes copied by this rank */
#define REDIST_COPIED(bytes) (copied += (bytes))
#define statvfs test_statvfs
/* tests without progress until a rank copies for another */
static int test_cached = 1 << 20;
#define REDIST_PRIV_CACHED test_cached
/* nanoseconds there and back, below which cores are close and above which they are apart */
static long long test_close = 200, test_apart = 450;
#define REDIST_PRIV_CLOSE_BY test_close
#define REDIST_PRIV_FAR_APART test_apart

#include "exchange.h"
#undef statvfs

enum { SLOT = 1 << 18, SLOTS = 2 * ARRAYS, ROUNDS = 3 };

typedef struct {
  redist_arena *arena;
  unsigned char *slot[SLOTS];
} slots;

static int open_slots(slots *s) {
  int k, good = redist_arena_create(MPI_COMM_WORLD, (size_t)SLOT * SLOTS, &s->arena) == REDIST_OK;
  for (k = 0; k < SLOTS; k++) {
    s->slot[k] = redist_arena_alloc(s->arena, SLOT);
    good = good && s->slot[k] != NULL && (uintptr_t)s->slot[k] % 64 == 0;
  }
  return good && redist_arena_alloc(s->arena, 1) == NULL;
}

/* Places some of this rank's arrays in the arena: `some` is 0 (none), 1 (all) or 2 (random). */
static void settle(exchange *e, const slots *s, test_random *r, int some,
                   unsigned char *own[2][ARRAYS]) {
  int k, side;
  for (k = 0; k < e->count; k++)
    for (side = 0; side < 2; side++) {
      int fits = own[side][k] != NULL && exchange_bytes(e, side) < SLOT;
      int moves = some == 1 || (some == 2 && test_between(r, 0, 1));
      e->held[side][k] = fits && moves ? s->slot[2 * k + side] : own[side][k];
    }
  for (k = 0; k < e->count && e->in_place; k++) e->held[1][k] = e->held[0][k];
}

/* One pair of layouts: the arrays are in other memory in each round. */
static int check_pair(exchange *e, const slots *s, test_random *r, int node_ranks) {
  unsigned char *own[2][ARRAYS];
  redist_options options;
  int round, code, good = 1;
  memset(&options, 0, sizeof options);
  options.arena = s->arena;
  options.node_ranks = node_ranks;
  exchange_allocate(e);
  memcpy(own, e->held, sizeof own);
  code = exchange_create_with(e, &options);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    settle(e, s, r, e->seed % 4 == 0 ? round % 2 : 2, own);
    good = exchange_is_right(e, round) && good;
  }
  memcpy(e->held, own, sizeof own);
  exchange_release(e);
  return code == REDIST_OK && redist_plan_free(&e->plan) == REDIST_OK && good;
}

static void check_pairs(const slots *s, int pairs, int node_ranks) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  test_random r = {(uint64_t)test_rank() + 99};
  int k;
  for (k = 0; k < pairs; k++) {
    exchange_draw(e, (uint64_t)(7000 + 31 * k + node_ranks));
    e->method = k % 8 == 0 ? REDIST_AUTO : REDIST_SHARED;
    e->count = k % 3 == 0 ? 1 + k % ARRAYS : 1;
    e->many = e->count > 1;
    e->in_place = k % 5 == 0;
    e->way = k % WAYS;
    test_case_all(check_pair(e, s, &r, node_ranks), "pair %d, nodes of %d, %d arrays%s, way %d: %s",
                  k, node_ranks, e->count, e->in_place ? ", in place" : "", e->way, e->message);
  }
  free(e);
}

/* Where there is shared memory, it is used. */
static void check_direct(const slots *s) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_options options;
  redist_stats stats;
  int good;
  memset(&options, 0, sizeof options);
  options.arena = s->arena;
  exchange_rows(e, 61, 59, TEST_CYCLIC);
  e->method = REDIST_SHARED;
  exchange_allocate(e);
  good = exchange_create_with(e, &options) == REDIST_OK &&
         redist_plan_stats(e->plan, &stats) == REDIST_OK && exchange_is_right(e, 0);
  test_case_all(good && stats.buffer_bytes < 8 << 20 &&
                    (test_size() == 1 || stats.method == REDIST_SHARED),
                "shared memory is used, %ld bytes of it", (long)stats.buffer_bytes);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* Without shared memory, arenas are ordinary memory, plans send messages, and nothing fails. */
static void check_exhausted(void) {
  slots s;
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_stats stats;
  int good;
  test_shared_free = 4096;
  test_case_all(open_slots(&s), "an arena without shared memory");
  check_pairs(&s, 6, 0);
  exchange_rows(e, 9, 7, TEST_CYCLIC);
  e->method = REDIST_SHARED;
  exchange_allocate(e);
  good = exchange_create(e) == REDIST_OK && redist_plan_stats(e->plan, &stats) == REDIST_OK &&
         exchange_is_right(e, 0);
  test_case_all(good && stats.method == REDIST_POINT_TO_POINT,
                "a plan without shared memory falls back: %s", e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
  test_shared_free = UINT64_MAX / 2;
  test_case_all(redist_arena_free(&s.arena) == REDIST_OK && s.arena == NULL, "it is freed");
}

static void check_bad_input(void) {
  redist_arena *arena = (redist_arena *)&arena;
  int code;
  test_case_all(redist_arena_create(MPI_COMM_WORLD, 1, NULL) == REDIST_ERR_ARGUMENT,
                "no pointer to the arena");
  test_case_all(redist_arena_create(MPI_COMM_NULL, 1, &arena) == REDIST_ERR_ARGUMENT &&
                    arena == NULL,
                "no communicator");
  test_case_all(redist_arena_free(NULL) == REDIST_ERR_ARGUMENT &&
                    redist_arena_free(&arena) == REDIST_OK,
                "nothing to free");
  test_case_all(redist_arena_alloc(NULL, 1) == NULL, "no arena");
  code = redist_arena_create(MPI_COMM_WORLD, test_rank() == 0 ? SIZE_MAX : 64, &arena);
  test_case_all(code == REDIST_ERR_MEMORY && arena == NULL, "too large on one rank: code %d", code);
  code = redist_arena_create(MPI_COMM_WORLD, (size_t)test_rank() * 100, &arena);
  test_case_all(code == REDIST_OK && redist_arena_alloc(arena, (size_t)test_rank() * 100) != NULL,
                "different sizes");
  test_case_all(redist_arena_alloc(arena, 1) == NULL && redist_arena_free(&arena) == REDIST_OK,
                "full");
}

/* A plan of rows to columns with the arena that this rank passes. */
static int plan_with(redist_arena *arena, redist_method method, redist_plan **plan, char *message,
                     size_t size) {
  const redist_layout from = redist_layout_2d(redist_block(12, test_size()), redist_whole(8));
  const redist_layout to = redist_layout_2d(redist_whole(12), redist_block(8, test_size()));
  redist_options options;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  options.method = method;
  options.message = message;
  options.message_size = size;
  return redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, plan);
}

/* Ranks that pass different arenas: two of the same communicator, or one of each rank alone. */
static void check_different(redist_method method) {
  redist_arena *two[2] = {NULL, NULL}, *own = NULL;
  redist_plan *plan = NULL;
  char message[200];
  int code, last = test_rank() == test_size() - 1;
  redist_arena_create(MPI_COMM_WORLD, 10000, &two[0]);
  redist_arena_create(MPI_COMM_WORLD, 10000, &two[1]);
  redist_arena_create(MPI_COMM_SELF, 10000, &own);
  code = plan_with(two[last], method, &plan, message, sizeof message);
  test_case_all(code == REDIST_ERR_MISMATCH && plan == NULL && strstr(message, "arena") != NULL,
                "two arenas: code %d, %s", code, message);
  code = plan_with(own, method, &plan, message, sizeof message);
  test_case_all(code == REDIST_ERR_MISMATCH && plan == NULL && strstr(message, "arena") != NULL,
                "an arena of each rank: code %d, %s", code, message);
  code = plan_with(last ? two[0] : NULL, method, &plan, message, sizeof message);
  test_case_all(code == REDIST_ERR_MISMATCH && plan == NULL, "no arena on one rank: code %d, %s",
                code, message);
  test_case_all(redist_arena_free(&two[0]) == REDIST_OK &&
                    redist_arena_free(&two[1]) == REDIST_OK && redist_arena_free(&own) == REDIST_OK,
                "they are freed");
}

/* An arena cannot be freed before its plans. */
static void check_early(redist_method method) {
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  char message[200] = "";
  int code, again;
  redist_arena_create(MPI_COMM_WORLD, 10000, &arena);
  code = plan_with(arena, method, &plan, message, sizeof message);
  again = redist_arena_free(&arena);
  test_case_all(code == REDIST_OK && again == REDIST_ERR_BUSY && arena != NULL,
                "an arena freed before its plan: code %d, %s", again, message);
  test_case_all(redist_plan_free(&plan) == REDIST_OK && redist_arena_free(&arena) == REDIST_OK &&
                    arena == NULL,
                "and after it");
}

/* Nor while one rank, alone, has a plan in it: the ranks agree. */
static void check_early_somewhere(void) {
  const redist_layout all = redist_layout_1d(redist_whole(10));
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, 0, &options.arena);
  if (test_rank() == 0) redist_plan_create(MPI_COMM_SELF, &all, &all, MPI_DOUBLE, &options, &plan);
  code = redist_arena_free(&options.arena);
  test_case_all(code == REDIST_ERR_BUSY && options.arena != NULL,
                "an arena freed before rank 0's plan: code %d", code);
  test_case_all(redist_plan_free(&plan) == REDIST_OK &&
                    redist_arena_free(&options.arena) == REDIST_OK && options.arena == NULL,
                "and after it");
}

static void check_sizes(void) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 4 + 1,
                                 (SIZE_MAX >> 13) - 1};
  size_t k;
  for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    redist_arena *arena = NULL;
    int code = redist_arena_create(MPI_COMM_WORLD, sizes[k], &arena);
    test_case_all(code == REDIST_ERR_MEMORY && arena == NULL, "an arena of %zu bytes: code %d",
                  sizes[k], code);
  }
}

/* An intercommunicator is refused. */
static void check_between(void) {
  const int half = test_rank() % 2;
  const redist_layout layout = redist_layout_1d(redist_block(8, 1));
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  redist_options options;
  redist_cost cost;
  MPI_Comm part, between;
  char message[200] = "";
  if (test_size() == 1) return;
  MPI_Comm_split(MPI_COMM_WORLD, half, 0, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - half, 5, &between);
  memset(&options, 0, sizeof options);
  options.message = message;
  options.message_size = sizeof message;
  test_case_all(redist_plan_create(between, &layout, &layout, MPI_INT, &options, &plan) ==
                        REDIST_ERR_ARGUMENT &&
                    plan == NULL && strstr(message, "communicator") != NULL,
                "a plan between two groups: %s", message);
  test_case_all(redist_plan_create(MPI_COMM_NULL, &layout, &layout, MPI_INT, &options, &plan) ==
                        REDIST_ERR_ARGUMENT &&
                    plan == NULL && strstr(message, "MPI_COMM_NULL") != NULL,
                "a plan of nobody: %s", message);
  test_case_all(redist_arena_create(between, 100, &arena) == REDIST_ERR_ARGUMENT && arena == NULL,
                "an arena between two groups");
  test_case_all(redist_calibrate(between, &cost) == REDIST_ERR_ARGUMENT,
                "calibrating between two groups");
  MPI_Comm_free(&between);
  MPI_Comm_free(&part);
}

/* ---- which rank copies: rank 1 starts, then rank 0, then both wait ---- */

enum {
  KEPT = 1,
  SENT = 2,
  RECEIVED = 4,
  NEAR = 75, /* percent: the time of fetching lines, over that of streamed lines */
  BETWEEN = 76,
  FAR = 126,
  LINES = 0,
  INTERLEAVED = 1,
  SCATTERED = 2, /* short runs of the source */
  LONG_LINES = 3 /* as LINES, in more pieces than a ring has slots */
};

typedef struct {
  const char *name;
  int form, distance, from_inside, to_inside; /* arrays that lie in the arena */
  int started[2], done[2];                    /* by rank: the bytes copied by then */
  int cached;                                 /* bytes of a message that stays cached in a ring */
  int combines;
} copy_case;

static void set_distance(redist_arena *arena, int percent) { arena->home.fetching = percent; }

/* Elements of 8 bytes: a rank's local, sent and received bytes differ. */
static void uneven_layouts(int form, redist_layout *from, redist_layout *to, int64_t bytes[5]) {
  static const int64_t rows[] = {0, 10, 30}, columns[] = {0, 8, 32};
  const int me = test_rank();
  *to = redist_layout_2d(redist_whole(30), redist_cuts(columns, 2));
  *from = redist_layout_2d(redist_cuts(rows, 2), redist_whole(32));
  if (form == INTERLEAVED) *from = redist_layout_2d(redist_whole(30), redist_cyclic(32, 2));
  if (form == SCATTERED) {
    *from = *to;
    *to = redist_layout_2d(redist_whole(30), redist_cyclic(32, 2));
  }
  bytes[KEPT] = 8 * test_volume(from, me, to, me);
  bytes[SENT] = 8 * test_volume(from, me, to, !me);
  bytes[RECEIVED] = 8 * test_volume(from, !me, to, me);
}

static int64_t sum_of(int what, const int64_t bytes[5]) {
  return (what & KEPT ? bytes[KEPT] : 0) + (what & SENT ? bytes[SENT] : 0) +
         (what & RECEIVED ? bytes[RECEIVED] : 0);
}

static int elements_are_right(const redist_layout *l, const double *array) {
  int64_t index[2];
  int good = 1;
  for (index[0] = 0; index[0] < 30; index[0]++)
    for (index[1] = 0; index[1] < 32; index[1]++)
      if (redist_layout_owner(l, index) == test_rank())
        good = good && array[redist_layout_offset(l, index)] == (double)(32 * index[0] + index[1]);
  return good;
}

static void number_elements(const redist_layout *l, double *array) {
  int64_t index[2];
  for (index[0] = 0; index[0] < 30; index[0]++)
    for (index[1] = 0; index[1] < 32; index[1]++)
      if (redist_layout_owner(l, index) == test_rank())
        array[redist_layout_offset(l, index)] = (double)(32 * index[0] + index[1]);
}

/* Combines by the rule that the last one counts. */
static void take_last(const void *from, void *to, int64_t n, void *context) {
  (void)context;
  memcpy(to, from, (size_t)n * sizeof(double));
}

/* Rank 1, then rank 0. */
static int start_one_by_one(redist_plan *plan, const double *from, double *to) {
  int rank, good = 1;
  for (rank = 1; rank >= 0; rank--) {
    test_sum(0);
    if (test_rank() == rank) good = redist_start(plan, from, to) == REDIST_OK;
  }
  return good;
}

static void check_who_copies(const copy_case *c) {
  static double anywhere[2][30 * 32];
  const size_t room = sizeof anywhere[0];
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  redist_layout from, to;
  double *a, *b;
  int64_t bytes[5], started, done;
  int k, good, me = test_rank();
  uneven_layouts(c->form, &from, &to, bytes);
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, 2 * room, &arena);
  set_distance(arena, c->distance);
  test_cached = c->cached;
  test_piece_bytes = c->form == LONG_LINES ? 128 : 262144;
  options.method = REDIST_SHARED;
  options.arena = arena;
  options.combine = c->combines ? take_last : NULL;
  a = c->from_inside ? redist_arena_alloc(arena, room) : anywhere[0];
  b = c->to_inside ? redist_arena_alloc(arena, room) : anywhere[1];
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < 3; k++) { /* more than there are words for ways */
    number_elements(&from, a);
    memset(b, 255, room);
    copied = 0;
    good = start_one_by_one(plan, a, b) && good;
    started = copied;
    test_sum(0);
    good = redist_wait(plan) == REDIST_OK && good;
    done = copied;
    test_sum(0);
    good = good && elements_are_right(&to, b) && started == sum_of(c->started[me], bytes) &&
           done == sum_of(c->done[me], bytes);
    test_case_all(good, "who copies, %s: rank %d %ld bytes when started, %ld in the end", c->name,
                  me, (long)started, (long)done);
  }
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

enum { TWICE = KEPT | SENT | RECEIVED, WRITES = KEPT | SENT, READS = KEPT | RECEIVED };

static const copy_case copy_cases[] = {
    {"near", LINES, NEAR, 1, 1, {WRITES, WRITES}, {TWICE, WRITES}, 0, 0},
    {"far", LINES, FAR, 1, 1, {WRITES, WRITES}, {TWICE, WRITES}, 0, 0},
    /* rank 1's message does not fit in its ring: rank 0 pulls it */
    {"long, near", LONG_LINES, NEAR, 1, 1, {WRITES, KEPT}, {TWICE, KEPT}, 0, 0},
    {"long, far", LONG_LINES, FAR, 1, 1, {WRITES, KEPT}, {TWICE, KEPT}, 0, 0},
    /* rank 1 sends 32 bytes of each row */
    {"interleaved, near", INTERLEAVED, NEAR, 1, 1, {KEPT, WRITES}, {READS, TWICE}, 0, 0},
    {"interleaved, far", INTERLEAVED, FAR, 1, 1, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    {"interleaved, between", INTERLEAVED, BETWEEN, 1, 1, {KEPT, WRITES}, {READS, TWICE}, 0, 0},
    {"interleaved, cached, between",
     INTERLEAVED,
     BETWEEN,
     1,
     1,
     {WRITES, WRITES},
     {TWICE, TWICE},
     100000,
     0},
    {"interleaved, cached, near",
     INTERLEAVED,
     NEAR,
     1,
     1,
     {KEPT, WRITES},
     {READS, TWICE},
     100000,
     0},
    {"scattered, near", SCATTERED, NEAR, 1, 1, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    {"destinations in the arena, near", LINES, NEAR, 0, 1, {WRITES, WRITES}, {TWICE, WRITES}, 0, 0},
    {"sources in the arena, near", LINES, NEAR, 1, 0, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    /* neither message fits in its ring: the receivers pull */
    {"long, sources inside, near", LONG_LINES, NEAR, 1, 0, {KEPT, KEPT}, {READS, READS}, 0, 0},
    {"sources in the arena, far", LINES, FAR, 1, 0, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    {"none in the arena, near", LINES, NEAR, 0, 0, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    {"none in the arena, far", LINES, FAR, 0, 0, {WRITES, WRITES}, {TWICE, TWICE}, 0, 0},
    {"combined, near", LINES, NEAR, 1, 1, {KEPT, KEPT}, {READS, READS}, 0, 1},
    {"combined, cached, between",
     LINES,
     BETWEEN,
     1,
     1,
     {WRITES, WRITES},
     {TWICE, TWICE},
     100000,
     1},
    {"combined, far", LINES, FAR, 1, 1, {WRITES, WRITES}, {TWICE, TWICE}, 0, 1},
};

static void check_all_ways(void) {
  size_t k;
  for (k = 0; k < sizeof copy_cases / sizeof *copy_cases; k++) check_who_copies(&copy_cases[k]);
  test_piece_bytes = 262144;
  test_cached = 1 << 20;
}

/* Axes merged into one, of which rank 0 stores one longer than rank 1. */
static redist_layout padded_on_first(void) {
  redist_layout layout = redist_layout_3d(redist_block(4, 2), redist_whole(2), redist_whole(10));
  if (test_rank() == 0) layout = redist_with_allocated(layout, 1, 3);
  return redist_merged(redist_merged(layout, 0), 0);
}

/* A rank that copies from or to the other's array must not take its own lengths for those there.
   Rank 0 starts first. */
static void check_padded(int padded_sends) {
  enum { N = 80 };
  static const int last[1] = {1};
  const redist_layout flat = redist_on_ranks(redist_layout_1d(redist_whole(N)), last),
                      padded = padded_on_first();
  const redist_layout *from = padded_sends ? &padded : &flat, *to = padded_sends ? &flat : &padded;
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  double *a, *b;
  int64_t i;
  int k, good, me = test_rank();
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, 4 * N * sizeof *a, &arena);
  set_distance(arena, NEAR);
  options.method = REDIST_SHARED;
  options.arena = arena;
  options.combine = padded_sends ? take_last : NULL;
  a = redist_arena_alloc(arena, 2 * N * sizeof *a);
  b = redist_arena_alloc(arena, 2 * N * sizeof *b);
  for (i = 0; i < N; i++)
    if (redist_layout_owner(from, &i) == me) a[redist_layout_offset(from, &i)] = (double)i;
  good = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < 2; k++) {
    test_sum(0);
    if (me == k) good = good && redist_start(plan, a, b) == REDIST_OK;
  }
  good = good && redist_wait(plan) == REDIST_OK;
  for (i = 0; i < N; i++)
    if (redist_layout_owner(to, &i) == me)
      good = good && b[redist_layout_offset(to, &i)] == (double)i;
  test_case_all(good, "merged axes, stored longer on rank 0, which %s",
                padded_sends ? "sends" : "receives");
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

/* ---- how far apart cores are taken to be ---- */

/* An arena whose ranks have answered each other's flags, unless many processes share the processors
   all the time. compares: also lines, and no rank waited for its processor, with which streamed
   lines would take over a hundred times as long as fetched ones. */
static redist_arena *arena_of_answers(int compares) {
  redist_arena *arena = NULL;
  int tries, answered = test_size() == 1;
  for (tries = 0; tries < 50; tries++) {
    if (redist_arena_create(MPI_COMM_WORLD, 64, &arena) != REDIST_OK) return NULL;
    answered |= arena->home.distance > 0 && (!compares || arena->home.fetching > 0);
    MPI_Allreduce(MPI_IN_PLACE, &answered, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (answered) break;
    redist_arena_free(&arena);
  }
  return arena;
}

/* The percentage found where a flag's time lies on this side of the limits. */
static int64_t fetching_within(long long close, long long apart) {
  redist_arena *arena;
  int64_t fetching, distance;
  test_close = close;
  test_apart = apart;
  arena = arena_of_answers(close < apart);
  fetching = arena == NULL ? -1 : arena->home.fetching;
  distance = arena == NULL ? -1 : arena->home.distance;
  test_case_all(test_size() > 1 ? distance > 0 : distance == 0,
                "a flag takes %ld ns there and back", (long)distance);
  redist_arena_free(&arena);
  test_close = 200;
  test_apart = 450;
  return fetching;
}

static void check_distances(void) {
  const int64_t close = fetching_within(1000000000, 1000000000), apart = fetching_within(0, 0),
                between = fetching_within(0, 1000000000);
  test_case_all(test_size() > 1 ? close == 0 : close > REDIST_PRIV_FAR, "close cores: %ld%%",
                (long)close);
  test_case_all(apart > REDIST_PRIV_FAR, "cores far apart: %ld%%", (long)apart);
  test_case_all(test_size() > 1 ? between > 0 : between > REDIST_PRIV_FAR,
                "cores in between: %ld%%", (long)between);
}

/* ---- no rank waits for a rank that does nothing ---- */

enum { TESTS = 100000, FEW_TESTS = 200, LONG = 5000 };

static int completes(redist_plan *plan) {
  int k, done = 0;
  for (k = 0; k < TESTS && !done; k++)
    if (redist_test(plan, &done) != REDIST_OK) return 0;
  return done;
}

/* Rank 1 sends rank 0 all its elements. A message that fits in the ring leaves without the
   receiver's help; a started one arrives without the sender's, in arrays of the arena whatever its
   length. */
static void check_idle_ranks(int n, int distance, int late_receiver) {
  const redist_layout to = redist_layout_1d(redist_whole(n)), from = redist_from_rank(to, 1);
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  double *array;
  int k, i, good, me = test_rank(), last = late_receiver ? 0 : 1;
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, (size_t)n * sizeof *array, &arena);
  set_distance(arena, distance);
  options.method = REDIST_SHARED;
  options.arena = arena;
  array = redist_arena_alloc(arena, (size_t)n * sizeof *array);
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < 3 && test_sum(!good) == 0; k++) {
    for (i = 0; i < n; i++) array[i] = me == 1 ? k * n + i : -1;
    if (!late_receiver || me == 1) good = redist_start(plan, array, array) == REDIST_OK;
    test_sum(0);
    if (me != last) good = completes(plan) && good;
    test_sum(0); /* so far the last rank has done nothing */
    if (late_receiver && me == last) good = redist_start(plan, array, array) == REDIST_OK && good;
    if (me == last) good = completes(plan) && good;
    for (i = 0; i < n && me == 0; i++) good = good && array[i] == k * n + i;
    test_case_all(good, "%d elements, %s rank does nothing, distance %d, time %d", n,
                  late_receiver ? "the receiving" : "the sending", distance, k);
  }
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

/* Combined messages take the same way in every execution, also where the sender is ahead: its
   second message waits for the ring's only slot, although the receiver could copy it directly. */
static void check_combined(int distance) {
  const redist_layout to = redist_layout_1d(redist_whole(LONG)), from = redist_from_rank(to, 1);
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  double *array;
  int k, i, good, done = 0, me = test_rank();
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, LONG * sizeof *array, &arena);
  set_distance(arena, distance);
  options.method = REDIST_SHARED;
  options.arena = arena;
  options.combine = take_last;
  array = redist_arena_alloc(arena, LONG * sizeof *array);
  for (i = 0; i < LONG; i++) array[i] = me == 1 ? i : -1;
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  copied = 0;
  if (me == 1) {
    good = good && redist_start(plan, array, array) == REDIST_OK && completes(plan);
    good = good && redist_start(plan, array, array) == REDIST_OK;
  }
  test_sum(0);
  if (me == 0) {
    good = good && redist_start(plan, array, array) == REDIST_OK && completes(plan);
    good = good && redist_start(plan, array, array) == REDIST_OK;
    for (k = 0; k < FEW_TESTS && !done; k++) redist_test(plan, &done);
  }
  test_sum(0);
  if (me == 1) good = good && completes(plan);
  test_sum(0);
  if (me == 0) good = good && (done || completes(plan));
  for (i = 0; i < LONG; i++) good = good && array[i] == i;
  test_case_all(good && copied == 2 * LONG * (int64_t)sizeof *array,
                "combined messages, distance %d: rank %d copies %ld bytes", distance, me,
                (long)copied);
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

/* Rank 1 sends rank 0 all its elements, and is two executions ahead: the ring holds two messages,
   the third waits, and what was announced of the first two stays. */
static void check_ahead(int distance) {
  enum { N = 10 };
  const redist_layout to = redist_layout_1d(redist_whole(N)), from = redist_from_rank(to, 1);
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  double *array;
  int k, i, good, me = test_rank();
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, N * sizeof *array, &arena);
  set_distance(arena, distance);
  options.method = REDIST_SHARED;
  options.arena = arena;
  array = redist_arena_alloc(arena, N * sizeof *array);
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < 3 && me == 1; k++) {
    for (i = 0; i < N; i++) array[i] = k * N + i;
    good = good && redist_start(plan, array, array) == REDIST_OK && (k == 2 || completes(plan));
  }
  test_sum(0);
  for (k = 0; k < 3 && me == 0; k++) {
    good = good && redist_execute(plan, array, array) == REDIST_OK;
    for (i = 0; i < N; i++) good = good && array[i] == k * N + i;
  }
  if (me == 1) good = good && completes(plan);
  test_case_all(good, "a sender two executions ahead, distance %d", distance);
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

static void check_idle(void) {
  int distance;
  for (distance = NEAR; distance <= FAR; distance += FAR - NEAR) {
    check_idle_ranks(100, distance, 1);
    check_idle_ranks(100, distance, 0);
    check_ahead(distance);
    test_piece_bytes = 4096;
    check_idle_ranks(LONG, distance, 0); /* 40 kB, and a ring of 16 */
    test_piece_bytes = 262144;
  }
}

/* ---- tags and rings of freed plans ---- */

/* MPI's collectives take a communicator of their own, so the arena's tag is free again. */
static void check_tags(void) {
  const redist_method methods[] = {REDIST_POINT_TO_POINT, REDIST_ALLTOALLV, REDIST_ALLTOALLW};
  const redist_layout layout = redist_layout_1d(redist_block(12, test_size()));
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  int k, good;
  memset(&options, 0, sizeof options);
  good = redist_arena_create(MPI_COMM_WORLD, 1, &arena) == REDIST_OK;
  options.arena = arena;
  for (k = 0; k < 6 && good; k++) {
    options.method = methods[k % 3];
    good = redist_plan_create(MPI_COMM_WORLD, &layout, &layout, MPI_INT, &options, &plan) ==
               REDIST_OK &&
           redist_plan_free(&plan) == REDIST_OK && arena->tags == 0;
  }
  test_case_all(good, "plans have freed their tags");
  redist_arena_free(&arena);
}

enum { SHORT_MESSAGE = 64, LONG_MESSAGE = 2048 };

/* Rank 0 of a communicator sends its ranks a number, n times. All but the last `late` ranks wait
   for it and free the plan; returns the plan of the others. */
static redist_plan *send_number(MPI_Comm comm, redist_arena *arena, int late, int n, double number,
                                double *to, int *good) {
  const redist_layout whole = redist_layout_1d(redist_whole(n));
  redist_layout all;
  redist_options options;
  redist_plan *plan = NULL;
  double from[LONG_MESSAGE];
  int k, rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  all = redist_replicated(whole, size);
  for (k = 0; k < n; k++) from[k] = number;
  memset(&options, 0, sizeof options);
  options.method = REDIST_SHARED;
  options.arena = arena;
  *good &= redist_plan_create(comm, &whole, &all, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
           redist_start(plan, rank == 0 ? from : NULL, to) == REDIST_OK;
  if (rank >= size - late) return plan;
  *good &= redist_wait(plan) == REDIST_OK && to[0] == number && to[n - 1] == number;
  *good &= redist_plan_free(&plan) == REDIST_OK;
  return NULL;
}

/* A rank is late: the others have completed a plan, freed it, and run longer ones without that rank
   in the same arena. What the first plan has sent to the late rank must still be in its ring. */
static void check_late_reader(void) {
  const int late = test_rank() == test_size() - 1;
  redist_arena *arena = NULL;
  redist_plan *plan;
  MPI_Comm part;
  double first[SHORT_MESSAGE] = {0}, other[LONG_MESSAGE];
  int k, good;
  MPI_Comm_split(MPI_COMM_WORLD, late, 0, &part);
  good = redist_arena_create(MPI_COMM_WORLD, 64, &arena) == REDIST_OK;
  plan = send_number(MPI_COMM_WORLD, arena, 1, SHORT_MESSAGE, 1, first, &good);
  for (k = 0; k < 3 && !late; k++) send_number(part, arena, 0, LONG_MESSAGE, 2 + k, other, &good);
  test_sum(0);
  if (late) good = completes(plan) && good;
  for (k = 0; k < SHORT_MESSAGE; k++) good = good && first[k] == 1;
  test_case_all(good, "a late rank receives what a plan has sent that others have freed");
  redist_plan_free(&plan);
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "a late rank's arena is freed");
  MPI_Comm_free(&part);
}

int main(int count, char **arguments) {
  const int few = 12;
  slots s;
  int status;
  MPI_Init(&count, &arguments);
  check_bad_input();
  check_between();
  check_sizes();
  check_tags();
  check_early_somewhere();
  check_early(REDIST_SHARED);
  check_early(REDIST_POINT_TO_POINT);
  if (test_size() > 1) check_different(REDIST_SHARED);
  if (test_shares() || test_size() == 1) check_distances();
  if (test_size() == 2 && test_shares()) {
    check_all_ways();
    check_idle();
    check_padded(0);
    check_padded(1);
    check_combined(BETWEEN);
    check_combined(FAR);
  }
  if (test_size() > 2 && test_shares()) check_late_reader();
  test_case_all(open_slots(&s), "an arena and its arrays");
  check_direct(&s);
  check_pairs(&s, test_size() <= 2 ? 400 : few, 0);
  check_pairs(&s, test_size() <= 2 ? 100 : few, 2);
  test_case_all(redist_arena_free(&s.arena) == REDIST_OK && s.arena == NULL, "the arena is freed");
  check_exhausted();
  status = test_report_all("arenas");
  MPI_Finalize();
  return status;
}
