/* redist tests: how plans move data, counted: messages, their peers and order, persistent requests,
   bytes copied. MIT licence, see LICENSE. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile.h"

static int64_t copied, table_bytes; /* table_bytes: the sum of all allocations */
static int copied_times;            /* copies that were made */
static int allocations;

static void *counted_malloc(size_t bytes) {
  void *memory;
  allocations++;
  table_bytes += (int64_t)bytes;
  memory = malloc(bytes);
  return memory == NULL ? NULL : memset(memory, 0xA5, bytes); /* fresh memory need not be zero */
}

static void counted_yield(void);

static int largest_count = INT_MAX; /* the largest count passed to MPI */
static int eager_bytes = INT_MAX;   /* of a piece of REDIST_SCHEDULED */
static int flight_bytes;            /* of pieces in flight; 0: one message at a time each way */

#define REDIST_MAX_COUNT largest_count
#define REDIST_EAGER_BYTES eager_bytes
#define REDIST_FLIGHT_BYTES flight_bytes
#define REDIST_MALLOC counted_malloc
#define REDIST_FREE free
#define REDIST_YIELD counted_yield
#define REDIST_COPIED(bytes) (copied += (bytes), copied_times++)

#include "exchange.h"

enum { FROM = 0, TO = 1, MOST = 16, N = 48, M = 80, ROUNDS = 2 };

/* On which sides the messages are not contiguous in the arrays, and must be packed. */
enum { BOTH_APART, SOURCE_APART, DESTINATION_APART, NONE_APART, BACKWARDS, SHAPES };
static const char *const shape_name[SHAPES] = {"both sides apart", "source apart",
                                               "destination apart", "contiguous",
                                               "ranks backwards"};
static const int apart[SHAPES][2] = {{1, 1}, {1, 0}, {0, 1}, {0, 0}, {1, 0}};

/* ---- exchanges with known messages ---- */

static void store_by_columns(test_array *array) {
  array->operations = 1;
  array->list[0].kind = TEST_MEMORY_ORDER;
  array->list[0].value = 1;
}

/* The schedule's order then differs from that of distances. */
static void number_backwards(test_array *array, int size) {
  int k;
  array->operations = array->listed = 1;
  array->list[0].kind = TEST_RANKS;
  for (k = 0; k < size; k++) array->ranks[k] = size - 1 - k;
}

/* The borders between neighbouring ranks move along one axis. */
static void move_borders(exchange *e) {
  int k;
  memset(e->arrays, 0, sizeof e->arrays);
  e->arrays[FROM].ndim = e->arrays[TO].ndim = 1;
  exchange_axis(&e->arrays[FROM].axes[0], TEST_BLOCK, 100 * e->size, e->size);
  exchange_axis(&e->arrays[TO].axes[0], TEST_CUTS, 100 * e->size, e->size);
  for (k = 1; k < e->size; k++) e->arrays[TO].axes[0].cuts[k] = 100 * k + ((k + 1) % 3 - 1) * 30;
}

static exchange *exchange_of(int shape, MPI_Comm comm) {
  exchange *e = exchange_new(comm);
  test_array kept;
  exchange_rows(e, N, M, TEST_BLOCK); /* every message is several rows, and several columns */
  if (shape == BOTH_APART) store_by_columns(&e->arrays[TO]);
  if (shape == DESTINATION_APART) {
    kept = e->arrays[FROM];
    e->arrays[FROM] = e->arrays[TO];
    e->arrays[TO] = kept;
  }
  if (shape == NONE_APART) move_borders(e);
  if (shape == BACKWARDS) number_backwards(&e->arrays[TO], e->size);
  exchange_describe(e);
  return e;
}

/* Elements that rank a holds before and rank b after. */
static int64_t volume(const exchange *e, int a, int b) {
  static int64_t volumes[MOST * MOST];
  test_volumes(&e->tables[FROM], &e->tables[TO], e->size, volumes);
  return volumes[a * e->size + b];
}

/* Bytes between this rank and another: sent to it, or received from it. */
static int64_t bytes_with(const exchange *e, int side, int other) {
  return (side == FROM ? volume(e, e->rank, other) : volume(e, other, e->rank)) *
         (int64_t)e->bytes * e->count;
}

/* Bytes exchanged with all other ranks. */
static int64_t moved(const exchange *e, int side) {
  int64_t sum = 0;
  int other;
  for (other = 0; other < e->size; other++)
    sum += other == e->rank ? 0 : bytes_with(e, side, other);
  return sum;
}

static int64_t kept(const exchange *e) { return bytes_with(e, FROM, e->rank); }

static int partners(const exchange *e, int side) {
  int other, n = 0;
  for (other = 0; other < e->size; other++) n += other != e->rank && bytes_with(e, side, other) > 0;
  return n;
}

/* ---- observed executions ---- */

/* Executes once. Whether the data is right, and nothing was allocated. */
static int observe_data(exchange *e, int number) {
  int code, before;
  exchange_prepare(e, number);
  before = allocations;
  copied = 0;
  profile_begin();
  code = exchange_run(e);
  profile_end();
  return code == REDIST_OK && exchange_arrived(e, number) && allocations == before;
}

/* The same, and whether MPI was used for messages only. */
static int observe(exchange *e, int number) {
  return observe_data(e, number) && profile.others == 0;
}

/* Whether there is one message per peer, with all its bytes, and none to the rank itself. */
static int has_messages(const exchange *e, int side) {
  int64_t bytes[MOST] = {0};
  int count[MOST] = {0}, k, other, good = profile.count[side] == partners(e, side);
  for (k = 0; k < profile.posts; k++)
    if (profile.post[k].side == side) {
      bytes[profile.post[k].peer] += profile.post[k].bytes;
      count[profile.post[k].peer]++;
    }
  for (other = 0; other < e->size; other++)
    good = good && bytes[other] == (other == e->rank ? 0 : bytes_with(e, side, other)) &&
           count[other] == (bytes[other] > 0);
  return good;
}

/* Whether all messages of a side are persistent, or none; and whether all begin inside the array,
   or none. */
static int are_like(const exchange *e, int side, int persistent, int inside) {
  int k, good = 1;
  for (k = 0; k < profile.posts; k++) {
    const profile_post *post = &profile.post[k];
    const uintptr_t at = (uintptr_t)post->memory - (uintptr_t)e->held[side][0];
    if (post->side == side)
      good = good && post->persistent == persistent && (at < exchange_bytes(e, side)) == inside;
  }
  return good;
}

/* Receives are posted first; peers are in the order of distance, so that ranks do not all send to
   one at once. */
static int are_in_turn(const exchange *e) {
  int k, last[2] = {0, 0}, good = 1;
  for (k = 0; k < profile.posts; k++) {
    const profile_post *post = &profile.post[k];
    const int ahead = post->side == FROM ? post->peer - e->rank : e->rank - post->peer;
    const int distance = (ahead + e->size) % e->size;
    good = good && distance > last[post->side] && (post->side == FROM || last[FROM] == 0);
    last[post->side] = distance;
  }
  return good;
}

/* Whether this holds on all ranks: they must continue together. */
static int all_say(int good) { return test_sum(!good) == 0; }

static int is_method(const exchange *e, redist_method method) {
  redist_stats stats;
  return redist_plan_stats(e->plan, &stats) == REDIST_OK && stats.method == method;
}

static void finish(exchange *e) {
  if (e->plan != NULL) redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* ---- messages to real peers ---- */

enum { PLAIN, FIXED, SEVERAL, IN_PLACE, VARIANTS };
static const char *const variant_name[VARIANTS] = {"arrays that change", "fixed arrays",
                                                   "several arrays", "in place"};

static exchange *open_variant(int shape, int variant, redist_method method,
                              redist_options *options) {
  exchange *e = exchange_of(shape, MPI_COMM_WORLD);
  memset(options, 0, sizeof *options);
  e->method = method;
  e->count = e->many = variant == SEVERAL ? 3 : 1;
  e->fixed = variant == FIXED;
  e->in_place = variant == IN_PLACE;
  exchange_allocate(e);
  return e;
}

/* Whether this rank's messages of a side pass through staging memory. */
static int is_packed(int shape, int variant, int side) {
  return apart[shape][side] || variant == SEVERAL || (variant == IN_PLACE && side == FROM);
}

/* The bytes copied when these sides are packed; in place, local elements are staged at most
   once. */
static int copies(const exchange *e, int from_packed, int to_packed) {
  const int64_t least = (from_packed ? moved(e, FROM) : 0) + (to_packed ? moved(e, TO) : 0) +
                        (e->in_place ? 0 : kept(e));
  return copied >= least && copied <= least + (e->in_place ? 2 * kept(e) : 0);
}

static void check_point_to_point(int shape, int variant) {
  redist_options options;
  exchange *e = open_variant(shape, variant, REDIST_POINT_TO_POINT, &options);
  int side, round,
      good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, REDIST_POINT_TO_POINT);
  for (round = 0; round < ROUNDS && all_say(good); round++) {
    good = observe(e, round) && profile.prepared == 0 && profile.count[PROFILE_COLLECTIVE] == 0 &&
           are_in_turn(e);
    for (side = 0; side < 2; side++)
      good = good && has_messages(e, side) &&
             are_like(e, side, is_packed(shape, variant, side) || variant == FIXED,
                      !is_packed(shape, variant, side));
    good = good && copies(e, is_packed(shape, variant, FROM), is_packed(shape, variant, TO));
  }
  test_case_all(good, "point to point, %s, %s: %d messages, %d persistent, %ld bytes copied",
                shape_name[shape], variant_name[variant], profile.posts, profile.persistent,
                (long)copied);
  finish(e);
}

/* ---- schedules ---- */

/* The steps in which this rank exchanges with its peers, and which of all ranks' steps precede
   which, on any rank and side. */
typedef struct {
  redist_schedule *schedule;
  int step[2][MOST], before[MOST][MOST];
} step_order;

static void find_steps(int rank, step_order *order) {
  int step, side, peer[2] = {-1, -1};
  for (step = 0; step < redist_schedule_steps(order->schedule); step++) {
    redist_schedule_step(order->schedule, rank, step, &peer[FROM], &peer[TO]);
    for (side = 0; side < 2; side++)
      if (peer[side] >= 0) order->step[side][peer[side]] = step;
  }
}

/* Collective. */
static void open_order(const exchange *e, step_order *order) {
  int side, a, b;
  memset(order, 0, sizeof *order);
  if (redist_schedule_create(&e->layouts[FROM], &e->layouts[TO], 0, &order->schedule) !=
          REDIST_OK ||
      redist_schedule_steps(order->schedule) > MOST)
    MPI_Abort(MPI_COMM_WORLD, 1);
  find_steps(e->rank, order);
  for (side = 0; side < 2; side++)
    for (a = 0; a < profile.posts; a++)
      for (b = a + 1; b < profile.posts; b++)
        if (profile.post[a].side == side && profile.post[b].side == side &&
            profile.post[a].peer != profile.post[b].peer)
          order->before[order->step[side][profile.post[a].peer]]
                       [order->step[side][profile.post[b].peer]] = 1;
  PMPI_Allreduce(MPI_IN_PLACE, order->before, MOST * MOST, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* Whether all ranks and both sides take the steps in one order, however messages are divided, so
   that no two of a rank's messages of a side are in flight at once. From four steps on, this order
   is not the schedule's own. */
static int is_in_order(const step_order *order) {
  int a, b, good = 1, turned = redist_schedule_steps(order->schedule) < 4;
  for (a = 0; a < MOST; a++)
    for (b = 0; b <= a; b++) {
      good = good && !(order->before[a][b] && order->before[b][a]);
      turned |= order->before[a][b];
    }
  return good && turned;
}

/* Whether messages have at most so many bytes each, and every peer gets all of its bytes. */
static int are_pieces(const exchange *e, int side, int64_t most) {
  int64_t bytes[MOST] = {0};
  int k, other, good = 1;
  for (k = 0; k < profile.posts; k++)
    if (profile.post[k].side == side) {
      good = good && profile.post[k].bytes <= most;
      bytes[profile.post[k].peer] += profile.post[k].bytes;
    }
  for (other = 0; other < e->size; other++)
    good = good && bytes[other] == (other == e->rank ? 0 : bytes_with(e, side, other));
  return good;
}

/* Whether receives of earlier steps are posted before anything is sent. */
static int receives_first(const exchange *e, const step_order *order) {
  int64_t missing[MOST] = {0};
  int k, other, step, good = 1;
  for (other = 0; other < e->size; other++)
    missing[other] = other == e->rank ? 0 : bytes_with(e, TO, other);
  for (k = 0; good && k < profile.posts; k++) {
    const profile_post *post = &profile.post[k];
    step = order->step[post->side][post->peer];
    for (other = 0; post->side == FROM && other < e->size; other++)
      good = good && (missing[other] == 0 || !order->before[order->step[TO][other]][step]);
    missing[post->peer] -= post->side == TO ? post->bytes : 0;
  }
  return good;
}

/* Long messages are sent in pieces, a few at a time, and none before the receives of earlier
   steps. */
static void check_pieces(int shape, int variant) {
  enum { PIECE = 200, FLIGHTS = 4 };
  redist_options options;
  step_order order;
  exchange *e;
  int side, round, good, most = 0;
  eager_bytes = PIECE;
  flight_bytes = (FLIGHTS - 1) * PIECE;
  e = open_variant(shape, variant, REDIST_SCHEDULED, &options);
  good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, REDIST_SCHEDULED);
  for (round = 0; round < ROUNDS && all_say(good); round++) {
    good = observe(e, round);
    open_order(e, &order);
    good = good && is_in_order(&order) && receives_first(e, &order);
    redist_schedule_free(&order.schedule);
    for (side = 0; side < 2 && good; side++) {
      good = profile.most[side] <= FLIGHTS && are_pieces(e, side, PIECE);
      most = profile.most[side] > most ? profile.most[side] : most;
    }
  }
  good = good && (most > 1 || partners(e, FROM) + partners(e, TO) == 0);
  test_case_all(good, "pieces, %s, %s: %d messages, at most %d at once", shape_name[shape],
                variant_name[variant], profile.posts, most);
  eager_bytes = INT_MAX;
  flight_bytes = 0;
  finish(e);
}

/* Bytes of the largest message between any two ranks. */
static int64_t largest_message(const exchange *e) {
  int64_t largest = 0;
  int a, b;
  for (a = 0; a < e->size; a++)
    for (b = 0; b < e->size; b++)
      if (a != b && volume(e, a, b) > largest) largest = volume(e, a, b);
  return largest * (int64_t)e->bytes * e->count;
}

enum { ONE_MESSAGE = -1 };

/* Without a limit, and with room for one message each way, messages are packed as a whole. */
static void check_scheduled(int shape, int variant, int64_t limit) {
  redist_options options;
  redist_stats stats;
  step_order order;
  exchange *e = open_variant(shape, variant, REDIST_SCHEDULED, &options);
  const int whole = limit <= 0;
  int side, round, good;
  if (limit == ONE_MESSAGE) limit = 2 * ((largest_message(e) + 63) / 64 * 64);
  options.max_buffer = (size_t)limit;
  good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, REDIST_SCHEDULED);
  good = good && redist_plan_stats(e->plan, &stats) == REDIST_OK &&
         (limit == 0 || stats.buffer_bytes <= limit);
  for (round = 0; round < ROUNDS && all_say(good); round++) {
    good = observe(e, round) && profile.prepared == 0;
    open_order(e, &order);
    good = good && is_in_order(&order);
    redist_schedule_free(&order.schedule);
    for (side = 0; side < 2 && good; side++) {
      const int packed =
          apart[shape][side] || variant == SEVERAL || (variant == IN_PLACE && side == FROM);
      good = profile.most[side] <= 1 && copies(e, apart[shape][FROM] || variant >= SEVERAL,
                                               apart[shape][TO] || variant == SEVERAL);
      good = good && (!whole ? are_pieces(e, side, limit / 2)
                             : has_messages(e, side) &&
                                   are_like(e, side, packed || variant == FIXED, !packed));
    }
  }
  test_case_all(
      good,
      "scheduled, %s, %s, %ld bytes: %d messages, at most %d and %d at once, %d persistent, %ld bytes copied",
      shape_name[shape], variant_name[variant], (long)limit, profile.posts, profile.most[FROM],
      profile.most[TO], profile.persistent, (long)copied);
  finish(e);
}

/* In all-to-all exchanges, a turn pairs nodes one to one: a node's ranks send to the same node, and
   receivers receive from their senders in the same turn. */
static void check_nodes(void) {
  enum { EACH = 2 };
  int turns[2][MOST] = {{0}}, all[MOST][2][MOST], n[2] = {0, 0}, rank, turn, k, good;
  redist_options options;
  exchange *e = open_variant(BOTH_APART, PLAIN, REDIST_SCHEDULED, &options);
  options.node_ranks = EACH;
  good = exchange_create_with(e, &options) == REDIST_OK && observe(e, 0) &&
         profile.posts == 2 * (e->size - 1);
  for (k = 0; good && k < profile.posts; k++)
    turns[profile.post[k].side][n[profile.post[k].side]++ % MOST] = profile.post[k].peer;
  PMPI_Allgather(turns, 2 * MOST, MPI_INT, all, 2 * MOST, MPI_INT, MPI_COMM_WORLD);
  for (rank = 0; rank < e->size; rank++)
    for (turn = 0; turn < e->size - 1; turn++) {
      const int to = all[rank][FROM][turn], first = all[rank / EACH * EACH][FROM][turn];
      good = good && to / EACH == first / EACH && all[to][TO][turn] == rank;
    }
  test_case_all(good, "nodes of %d: a turn joins one to one", (int)EACH);
  finish(e);
}

/* Messages too large for one count are sent in pieces, and still copied once. */
static void check_large(int variant) {
  redist_options options;
  exchange *e;
  int side, round, good;
  largest_count = 100;
  e = open_variant(BOTH_APART, variant, REDIST_POINT_TO_POINT, &options);
  good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, REDIST_POINT_TO_POINT);
  for (round = 0; round < ROUNDS && all_say(good); round++) {
    good = observe(e, round) && profile.persistent == profile.posts && copies(e, 1, 1);
    for (side = 0; side < 2; side++) good = good && are_pieces(e, side, largest_count);
  }
  test_case_all(good, "counts of at most %d, %s: %d messages, %ld bytes copied", largest_count,
                variant_name[variant], profile.posts, (long)copied);
  largest_count = INT_MAX;
  finish(e);
}

/* ---- collectives ---- */

static void check_collective(int shape, int variant, redist_method method) {
  redist_options options;
  exchange *e = open_variant(shape, variant, method, &options);
  const int packs = method == REDIST_ALLTOALLV;
  const int persistent = REDIST_PRIV_PERSISTS && (packs || variant == FIXED);
  /* for arrays that it has not seen before */
  const int makes_types = !packs && variant == SEVERAL;
  int round, good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, method);
  for (round = 0; round < ROUNDS + 1 && all_say(good); round++) {
    const int blocks = packs && round == 0; /* as REDIST_MEASURE finds for redist_execute */
    e->plan->synchronous = round != 1;
    e->way = round < 2 ? EXECUTE : START_TEST;
    good = observe_data(e, round) && (profile.others == 0 || (makes_types && round == 0)) &&
           profile.posts == 1 && profile.count[PROFILE_COLLECTIVE] == 1 &&
           profile.persistent == (persistent && !blocks);
    good = good && profile.self == 0 && profile.post[0].bytes == moved(e, FROM);
    good = good && copies(e,
                          (packs && (variant != FIXED || apart[shape][FROM])) ||
                              (!packs && variant == IN_PLACE),
                          packs && (variant != FIXED || apart[shape][TO]));
  }
  test_case_all(good, "method %d, %s, %s: %d calls, %d persistent, %ld bytes to itself, %ld copied",
                (int)method, shape_name[shape], variant_name[variant], profile.posts,
                profile.persistent, (long)profile.self, (long)copied);
  finish(e);
}

/* ---- shared memory ---- */

/* Whether all messages go to other nodes, one per peer there. */
static int leave_the_node(const exchange *e, int node_ranks) {
  int k, other, expected = 0, good = 1;
  for (k = 0; k < profile.posts; k++)
    good = good && profile.post[k].peer / node_ranks != e->rank / node_ranks;
  for (other = 0; other < e->size; other++)
    if (other / node_ranks != e->rank / node_ranks)
      expected += (bytes_with(e, FROM, other) > 0) + (bytes_with(e, TO, other) > 0);
  return good && profile.posts == expected;
}

/* Puts the first array of each side into the arena, or back. */
static void settle(exchange *e, unsigned char *arrays[2]) {
  e->held[FROM][0] = arrays[FROM];
  e->held[TO][0] = arrays[TO];
}

/* Arrays alternately in ordinary memory, where both ends copy, and in an arena, where one does, or
   both if one is late. */
static void check_shared(int shape, int node_ranks) {
  redist_options options;
  redist_arena *arena = NULL;
  exchange *e = open_variant(shape, PLAIN, REDIST_SHARED, &options);
  unsigned char *own[2] = {e->held[FROM][0], e->held[TO][0]}, *common[2];
  const int within = node_ranks == 0 || node_ranks >= e->size;
  int64_t sum, all;
  int side, round, good = redist_arena_create(MPI_COMM_WORLD, 1 << 20, &arena) == REDIST_OK, shared;
  for (side = 0; side < 2; side++)
    common[side] = redist_arena_alloc(arena, exchange_bytes(e, side) + 1);
  options.arena = arena;
  options.node_ranks = node_ranks;
  good = exchange_create_with(e, &options) == REDIST_OK && good;
  shared = is_method(e, REDIST_SHARED);
  for (round = 0; round < 4 && all_say(good && shared); round++) {
    settle(e, round % 2 == 0 ? own : common);
    good = observe(e, round) && leave_the_node(e, node_ranks > 0 ? node_ranks : e->size);
    sum = copied - kept(e);
    good = good && (!within || (sum <= moved(e, TO) + moved(e, FROM) &&
                                (round % 2 == 1 || sum == moved(e, TO) + moved(e, FROM))));
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    all = moved(e, TO);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    good = good && (!within || sum >= all);
  }
  settle(e, own);
  if (!test_sum(shared) && e->rank == 0) test_skip("no shared memory");
  test_case_all(good, "shared, %s, nodes of %d, round %d: %d messages, %ld bytes copied",
                shape_name[shape], node_ranks, round, profile.posts, (long)copied);
  finish(e);
  redist_arena_free(&arena);
}

/* ---- local elements, few peers, chosen methods ---- */

/* All elements are local: no message is sent, and no byte passes through MPI. */
static void check_identity(redist_method method) {
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  int good;
  e->arrays[TO] = e->arrays[FROM];
  exchange_describe(e);
  e->method = method;
  exchange_allocate(e);
  good = exchange_create(e) == REDIST_OK && observe(e, 0);
  good = all_say(good) && observe(e, 1);
  test_case_all(good && profile.count[PROFILE_SEND] + profile.count[PROFILE_RECEIVE] == 0 &&
                    profile.self == 0 && copied == kept(e),
                "nothing moves, method %d: %d messages, %ld bytes copied of %ld", (int)method,
                profile.posts, (long)copied, (long)kept(e));
  finish(e);
}

typedef struct {
  int posts;
  int64_t table_bytes;
} cost;

/* What a plan between the first two ranks of a communicator costs one of them. */
static cost cost_within(MPI_Comm comm, redist_method method) {
  redist_layout from = redist_layout_1d(redist_block(100, 2)),
                to = redist_layout_1d(redist_cyclic(100, 2));
  redist_options options;
  redist_plan *plan = NULL;
  double source[50] = {0}, destination[50];
  const int64_t before = table_bytes;
  cost result = {-1, -1};
  memset(&options, 0, sizeof options);
  options.method = method;
  if (redist_plan_create(comm, &from, &to, MPI_DOUBLE, &options, &plan) != REDIST_OK) return result;
  result.table_bytes = table_bytes - before;
  profile_begin();
  redist_execute(plan, source, destination);
  profile_end();
  result.posts = profile.posts;
  redist_plan_free(&plan);
  return result;
}

/* The cost of a rank depends on its peers, not on the number of ranks, for each of which a plan
   notes the node while it is made; a rank without peers has none. */
static void check_independence(redist_method method) {
  enum { NODE_BYTES = 32 };
  const int mine = test_rank() < 2;
  MPI_Comm part;
  cost among_two = {0, 0}, among_all;
  MPI_Comm_split(MPI_COMM_WORLD, mine, test_rank(), &part);
  if (mine) among_two = cost_within(part, method);
  among_all = cost_within(MPI_COMM_WORLD, method);
  test_case_all(among_all.posts == (mine ? 2 : 0) &&
                    (!mine || (among_two.posts == 2 &&
                               among_all.table_bytes ==
                                   among_two.table_bytes + NODE_BYTES * (test_size() - 2))),
                "method %d among 2 and %d ranks: %d and %d messages, %ld and %ld bytes of tables",
                (int)method, test_size(), among_two.posts, among_all.posts,
                (long)among_two.table_bytes, (long)among_all.table_bytes);
  MPI_Comm_free(&part);
}

/* A chain of phases, chosen because messages are expensive: as many messages as its statistics say,
   fewer than directly. */
static void check_chain(void) {
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  redist_options options;
  redist_stats stats;
  const int composite = e->size == 6 || e->size == 8;
  int round, good;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  memset(e->arrays, 0, sizeof e->arrays);
  e->arrays[FROM].ndim = e->arrays[TO].ndim = 1;
  exchange_axis(&e->arrays[FROM].axes[0], TEST_BLOCK, e->size * e->size, e->size);
  exchange_axis(&e->arrays[TO].axes[0], TEST_CYCLIC, e->size * e->size, e->size);
  exchange_describe(e);
  e->method = REDIST_MULTIPHASE;
  e->seed = 1; /* expensive messages */
  options.node_ranks = 1;
  exchange_allocate(e);
  good = exchange_create_with(e, &options) == REDIST_OK &&
         redist_plan_stats(e->plan, &stats) == REDIST_OK;
  for (round = 0; round < ROUNDS && all_say(good); round++)
    good = observe(e, round) && profile.posts == stats.sends + stats.receives;
  good = good && (stats.phases > 1) == composite;
  good = (test_sum((int)stats.sends) < test_sum(partners(e, FROM)) || !composite) && good;
  test_case_all(good, "a chain of %d phases: %d messages, %d directly", stats.phases, profile.posts,
                partners(e, FROM) + partners(e, TO));
  finish(e);
}

/* REDIST_AUTO chooses shared memory inside a node, messages between nodes; with options.cost it
   measures nothing. */
static void check_choice(int node_ranks, redist_method expected) {
  const redist_cost known = {1e-5, 1e-9};
  redist_options options;
  exchange *e = open_variant(BOTH_APART, PLAIN, REDIST_AUTO, &options);
  int good;
  options.node_ranks = node_ranks;
  options.cost = known;
  good = exchange_create_with(e, &options) == REDIST_OK && is_method(e, expected) && observe(e, 0);
  test_case_all(good, "nodes of %d: method %d is chosen", node_ranks, (int)expected);
  finish(e);
}

/* ---- waiting ---- */

static MPI_Comm tokens;
static int armed;

static void send_token(void) {
  MPI_Request request;
  int value = 1, done = 0;
  PMPI_Isend(&value, 1, MPI_INT, 0, 0, tokens, &request);
  while (!done) PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void counted_yield(void) {
  if (armed) send_token();
  armed = 0;
  sched_yield();
}

/* Receives a token from every other rank; gives up after a long time. */
static int all_tokens(void) {
  const double begin = MPI_Wtime();
  int missing = test_size() - 1, there, value;
  while (missing > 0 && MPI_Wtime() < begin + 30) {
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, tokens, &there, MPI_STATUS_IGNORE);
    if (there) PMPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, tokens, MPI_STATUS_IGNORE);
    missing -= there;
    sched_yield();
  }
  return missing == 0;
}

/* Rank 0 starts only when all others have returned from their start, and completes only after they
   have yielded in their wait. */
static void check_waiting(redist_method method) {
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  int good;
  e->method = method;
  e->way = START_WAIT;
  exchange_allocate(e);
  good = exchange_create(e) == REDIST_OK;
  test_sum(0);
  exchange_prepare(e, 0);
  if (e->rank == 0) good = good && all_tokens();
  good = good && (e->rank > 0 || all_tokens());
  if (e->rank > 0) {
    good = good && exchange_start(e) == REDIST_OK;
    send_token();
    armed = 1;
    good = redist_wait(e->plan) == REDIST_OK && good;
  } else {
    good = exchange_start(e) == REDIST_OK && redist_wait(e->plan) == REDIST_OK && good;
  }
  if (armed) send_token();
  good = good && !armed && exchange_arrived(e, 0);
  armed = 0;
  test_case_all(good, "method %d: starting waits for nobody, waiting yields", (int)method);
  finish(e);
}

/* The test's clock, on which every measurement takes a second. */
static double late;

double MPI_Wtime(void) { return PMPI_Wtime() + (late += late > 0); }

/* What is streamed: messages of 4 kB and more to cores that share no cache, or where an execution
   exceeds the caches; and the report says whether cores share a cache. */
static void check_streaming(void) {
  static const int64_t fetch[] = {0, 50, 125, 126, 200}; /* of 100 when streamed */
  static const int far[] = {0, 0, 0, 1, 1};
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  redist_priv_peer peer;
  char text[4096] = "";
  FILE *file = tmpfile();
  size_t k;
  int good;
  e->method = REDIST_SHARED;
  exchange_allocate(e);
  good = file != NULL && exchange_create(e) == REDIST_OK && is_method(e, REDIST_SHARED);
  memset(&peer, 0, sizeof peer);
  for (k = 0; k < sizeof far / sizeof *far && good; k++) {
    e->plan->rings->home->distance = 321;
    e->plan->rings->home->fetching = fetch[k];
    for (peer.bytes = 4095; peer.bytes <= 4096; peer.bytes++) {
      const int long_enough = peer.bytes == 4096;
      good = good && redist_priv_is_streamed(e->plan, &peer, 100) == (long_enough && far[k]) &&
             redist_priv_is_streamed(e->plan, &peer, REDIST_STREAM_BYTES - 1) ==
                 (long_enough && far[k]) &&
             redist_priv_is_streamed(e->plan, &peer, REDIST_STREAM_BYTES) == long_enough;
    }
    rewind(file);
    good = redist_plan_print(e->plan, file) == REDIST_OK && good;
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    good = good && (e->rank > 0 || (strstr(text, "321 ns there and back") != NULL &&
                                    strstr(text, far[k] ? "share no cache" : "share a cache")));
  }
  test_case_all(good || !all_say(is_method(e, REDIST_SHARED)), "what is streamed: case %d, %s",
                (int)k, text);
  fclose(file);
  finish(e);
}

/* Large arrays are streamed where they are moved, but not where only their ghost cells are. The
   plans are not executed: there are no arrays. 1200: half of 6 MB stays on either of 2 ranks. */
static void check_touched(void) {
  const int64_t n = test_size() == 2 ? 1200 : 4096;
  const redist_layout rows = redist_layout_2d(redist_block(n, test_size()), redist_whole(n)),
                      columns = redist_layout_2d(redist_whole(n), redist_block(n, test_size())),
                      stored = redist_with_halo(rows, 0, 1, 1),
                      halo = redist_with_ghosts(stored, 0, REDIST_PERIODIC);
  redist_options options;
  redist_plan *plan[2] = {NULL, NULL};
  char message[256] = "";
  memset(&options, 0, sizeof options);
  options.message = message;
  options.message_size = sizeof message;
  test_case_all(redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options,
                                   &plan[0]) == REDIST_OK &&
                    plan[0]->side[0].streams && plan[0]->side[1].streams,
                "a large array that moves is streamed");
  options.in_place = 1;
  test_case_all(redist_plan_create(MPI_COMM_WORLD, &stored, &halo, MPI_DOUBLE, &options,
                                   &plan[1]) == REDIST_OK &&
                    !plan[1]->side[0].streams && !plan[1]->side[1].streams,
                "its ghost cells are not, %s", message);
  redist_plan_free(&plan[0]);
  redist_plan_free(&plan[1]);
}

/* Combines nothing, but records whether an element was not zero. */
static void look(const void *from, void *to, int64_t n, void *context) {
  const unsigned char *byte = (const unsigned char *)to;
  int64_t k;
  (void)from;
  for (k = 0; k < n * (int64_t)sizeof(double); k++) *(int *)context |= byte[k] != 0;
}

/* REDIST_MEASURE combines only zeros. */
static void check_measured_numbers(void) {
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  redist_options options;
  int good, found = 0;
  memset(&options, 0, sizeof options);
  options.effort = REDIST_MEASURE;
  options.combine = look;
  options.context = &found;
  e->method = REDIST_AUTO;
  exchange_allocate(e);
  copied = 0;
  good = exchange_create_with(e, &options) == REDIST_OK;
  test_case_all(good && copied > 0 && !found, "measuring combines zeros");
  finish(e);
}

/* Inside a node, REDIST_MEASURE takes at most seven executions if one is too long to be repeated:
   three with the estimated method, and three with messages, unless the first of these is much
   slower. */
static void check_measuring(void) {
  exchange *e = exchange_of(BOTH_APART, MPI_COMM_WORLD);
  redist_options options;
  int good;
  memset(&options, 0, sizeof options);
  options.effort = REDIST_MEASURE;
  e->method = REDIST_AUTO;
  exchange_allocate(e);
  copied = 0;
  late = 1;
  good = exchange_create_with(e, &options) == REDIST_OK;
  late = 0;
  test_case_all(good && copied > 0 && copied <= 7 * (moved(e, FROM) + moved(e, TO) + kept(e)),
                "measuring copies %ld bytes", (long)copied);
  finish(e);
}

int main(int count, char **arguments) {
  static const redist_method methods[] = {REDIST_POINT_TO_POINT, REDIST_SCHEDULED, REDIST_ALLTOALLV,
                                          REDIST_ALLTOALLW, REDIST_SHARED};
  int shape, variant, status;
  size_t k;
  MPI_Init(&count, &arguments);
  MPI_Comm_dup(MPI_COMM_WORLD, &tokens);
  for (shape = 0; shape < SHAPES; shape++) {
    for (variant = 0; variant < VARIANTS; variant++) {
      check_point_to_point(shape, variant);
      check_scheduled(shape, variant, 0);
      check_collective(shape, variant, REDIST_ALLTOALLV);
      check_collective(shape, variant, REDIST_ALLTOALLW);
    }
    check_scheduled(shape, PLAIN, 400);
    check_scheduled(shape, SEVERAL, 400);
    check_scheduled(shape, PLAIN, ONE_MESSAGE);
    check_scheduled(shape, SEVERAL, ONE_MESSAGE);
    if (test_size() == 2 || (test_size() > 2 && shape % 2 == 0)) check_shared(shape, 0);
  }
  if (test_size() > 2) {
    check_shared(BOTH_APART, 2);
    check_nodes();
  }
  for (shape = 0; shape < SHAPES; shape++) check_pieces(shape, shape % 2 ? SEVERAL : PLAIN);
  check_large(PLAIN);
  check_large(SEVERAL);
  for (k = 0; k < sizeof methods / sizeof *methods; k++) {
    check_identity(methods[k]);
    if (test_size() > 1) check_waiting(methods[k]);
  }
  if (test_size() > 1) {
    check_independence(REDIST_POINT_TO_POINT);
    check_independence(REDIST_SCHEDULED);
    check_choice(0, REDIST_SHARED);
    check_choice(1, REDIST_POINT_TO_POINT);
  }
  if (test_size() > 1) {
    check_streaming();
    check_touched();
    check_measuring();
    check_measured_numbers();
  }
  check_chain();
  MPI_Comm_free(&tokens);
  status = test_report_all("promises");
  MPI_Finalize();
  return status;
}
