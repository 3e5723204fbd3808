/* redist tests: messages between nodes that carriers carry: random layouts on nodes of every shape,
   with and without shared memory; who carries what; when REDIST_AUTO chooses it. MIT licence, see
   LICENSE. */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#define REDIST_PRIV_NODE_MESSAGE message_bytes
static double message_bytes = 65536;

#define TEST_LENGTH 4096
#define TEST_ELEMENTS 40000
#define TEST_LARGEST 40000
#include "exchange.h"

static const int shapes[] = {1, 2, 3, 4, DEALT_TO_2, DEALT_TO_3, DEALT_TO_4, UNEVEN, IN_REVERSE};
enum { ALL_SHAPES = sizeof shapes / sizeof *shapes };

/* On which ranks the system refuses shared memory. */
enum { NOWHERE, ON_ONE, EVERYWHERE, REFUSALS };

/* From now on no file may be longer than so many bytes, if this rank is concerned. */
static void limit_files(int refusal, rlim_t bytes) {
  struct rlimit longest;
  getrlimit(RLIMIT_FSIZE, &longest);
  longest.rlim_cur = refusal == EVERYWHERE || (refusal == ON_ONE && test_rank() == test_size() - 1)
                         ? bytes
                         : longest.rlim_max;
  setrlimit(RLIMIT_FSIZE, &longest);
}

static redist_stats stats_of(const redist_plan *plan) {
  redist_stats stats;
  memset(&stats, 0, sizeof stats);
  redist_plan_stats(plan, &stats);
  return stats;
}

/* How many nodes there are. */
static int count_nodes(int shape) {
  int r, k, nodes = 0;
  for (r = 0; r < test_size(); r++) {
    for (k = 0; k < r && test_node_of(k, shape) != test_node_of(r, shape); k++) continue;
    nodes += k == r;
  }
  return nodes;
}

static int node_ranks_of(int shape, int rank) {
  int r, n = 0;
  for (r = 0; r < test_size(); r++) n += test_node_of(r, shape) == test_node_of(rank, shape);
  return n;
}

/* ---- who carries what ---- */

/* This rank's messages of a side as the other end should have them: bytes[rank], of each rank. */
static void list_cargoes(const redist_plan *plan, int own, int64_t *bytes) {
  const redist_priv_carriers *c = plan->carriers;
  int64_t k;
  memset(bytes, 0, (size_t)plan->size * sizeof *bytes);
  for (k = 0; k < c->between; k++)
    if (c->message[k].own == own) bytes[c->message[k].rank] += c->message[k].bytes;
}

/* Both carriers of each message have equally many bytes for it, no message stays in a node, and no
   rank carries more than its share. */
static int carriers_agree(const exchange *e, int shape) {
  const redist_priv_carriers *c = e->plan->carriers;
  int64_t *sent = calloc((size_t)e->size, sizeof *sent),
          *back = calloc((size_t)e->size, sizeof *back),
          *received = calloc((size_t)e->size, sizeof *received), k;
  const int others = count_nodes(shape) - 1, ranks = node_ranks_of(shape, e->rank);
  int side, good = 1, count[2] = {0, 0};
  list_cargoes(e->plan, 0, sent);
  list_cargoes(e->plan, 1, received);
  MPI_Alltoall(sent, 1, MPI_INT64_T, back, 1, MPI_INT64_T, e->comm);
  for (k = 0; k < e->size; k++) good &= back[k] == received[k];
  for (k = 0; k < c->between; k++) {
    good &= test_node_of(c->message[k].rank, shape) != test_node_of(e->rank, shape);
    count[c->message[k].own]++;
  }
  for (side = 0; side < 2; side++)
    good &= count[side] <= (others * c->per_pair + ranks - 1) / ranks;
  free(sent);
  free(back);
  free(received);
  return good;
}

/* Whether the plan is as REDIST_NODES should make it. */
static int is_carried(const exchange *e, int shape, int in_arena, int refusal) {
  const redist_priv_carriers *c = e->plan->carriers;
  const redist_stats stats = stats_of(e->plan);
  const int parts = count_nodes(shape), ranks = node_ranks_of(shape, e->rank);
  const int unmatched = test_sum((int)(stats.sends - stats.receives)),
            lost = test_sum((int)(stats.bytes_sent - stats.bytes_received));
  if (test_sum((int)e->plan->peers) == 0) return 1;
  if (unmatched != 0 || lost != 0) return 0;
  if (stats.method != REDIST_NODES) return 0;
  if (parts == 1) return c == NULL;
  return carriers_agree(e, shape) && c->nodes == parts && c->ranks == ranks &&
         (in_arena || c->shared == (refusal == NOWHERE)) &&
         stats.sends <= 2 * (ranks - 1) + ranks - 1 + (parts - 1) * c->per_pair;
}

/* ---- random layouts ---- */

static void draw_variant(exchange *e, int k) {
  test_random r = {(uint64_t)k};
  e->count = test_one_in(&r, 3) ? (int)test_between(&r, 2, ARRAYS) : 1;
  e->many = e->count > 1;
  e->in_place = test_one_in(&r, 4);
  e->fixed = e->count == 1 && test_one_in(&r, 4);
  e->way = (int)test_between(&r, 0, WAYS - 1);
  message_bytes = test_one_in(&r, 2) ? 32 : 65536;
}

static void check_pair(exchange *e, int k, redist_arena *arena) {
  const int shape = shapes[k % ALL_SHAPES], refusal = arena != NULL ? NOWHERE : k / ALL_SHAPES % 3;
  redist_options options;
  int code, good, number;
  memset(&options, 0, sizeof options);
  options.node_ranks = shape;
  options.arena = arena;
  e->method = REDIST_NODES;
  draw_variant(e, k);
  exchange_allocate(e);
  limit_files(refusal, 0);
  code = exchange_create_with(e, &options);
  limit_files(NOWHERE, 0);
  good = code == REDIST_OK && is_carried(e, shape, arena != NULL, refusal);
  for (number = 0; number < 3 && code == REDIST_OK; number++) {
    good = exchange_is_right(e, number) && good;
    if (!e->fixed) {
      exchange_release(e);
      exchange_allocate(e);
    }
  }
  test_case_all(good,
                "seed %lu, shape %d, refusal %d%s, %d arrays%s, way %d: code %d, method %d, %s",
                (unsigned long)e->seed, shape, refusal, arena != NULL ? ", arena" : "", e->count,
                e->in_place ? ", in place" : "", e->way, code,
                code == REDIST_OK ? (int)stats_of(e->plan).method : -1, e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
}

static void check_pairs(int pairs) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_arena *arena = NULL;
  int k;
  redist_arena_create(MPI_COMM_WORLD, 1000, &arena);
  for (k = 0; k < pairs; k++) {
    exchange_draw(e, 31 * (uint64_t)k);
    check_pair(e, k, k % 4 == 3 ? arena : NULL);
  }
  redist_arena_free(&arena);
  free(e);
}

/* ---- choosing ---- */

static exchange *transposition(int64_t width) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  exchange_rows(e, e->size * width, e->size, TEST_BLOCK);
  exchange_allocate(e);
  return e;
}

static int chosen(exchange *e, redist_method asked, int shape, double message, double byte) {
  redist_options options;
  int method;
  memset(&options, 0, sizeof options);
  options.node_ranks = shape;
  options.cost.per_message = message;
  options.cost.per_byte = byte;
  e->method = asked;
  if (exchange_create_with(e, &options) != REDIST_OK) return -1;
  method = exchange_is_right(e, 1) ? (int)stats_of(e->plan).method : -1;
  redist_plan_free(&e->plan);
  return method;
}

/* Where messages are dear and there are several ranks on a node, carriers carry; where bytes are
   dear, or each node has one rank, they do not. */
static void check_choice(void) {
  exchange *small = transposition(1), *medium = transposition(100),
           *large = transposition(4000 / test_size());
  int method = chosen(small, REDIST_AUTO, 2, 1e-3, 1e-9);
  test_case_all(method == REDIST_NODES, "dear messages: method %d", method);
  method = chosen(medium, REDIST_AUTO, 2, 1e-3, 1e-6);
  test_case_all(method == REDIST_NODES, "dear messages and bytes: method %d", method);
  method = chosen(small, REDIST_AUTO, 1, 1e-3, 1e-9);
  test_case_all(method != REDIST_NODES, "nodes of one rank: method %d", method);
  method = chosen(large, REDIST_AUTO, 2, 1e-9, 1e-3);
  test_case_all(method != REDIST_NODES, "dear bytes: method %d", method);
  method = chosen(small, REDIST_NODES, NODE_SHAPES, 0, 0);
  test_case_all(method == REDIST_NODES, "one node: method %d", method);
  method = chosen(large, REDIST_SHARED, 2, 0, 0);
  test_case_all(method == REDIST_SHARED, "shared memory, long messages: method %d", method);
  exchange_release(small);
  exchange_release(medium);
  exchange_release(large);
  free(small);
  free(medium);
  free(large);
}

/* Blocks that two ranks of a node swap go through shared memory, though there are other nodes. */
static void check_swap(void) {
  enum { LONG = 10000, RANKS = 64 };
  const redist_layout from =
      redist_layout_1d(redist_block((int64_t)LONG * test_size(), test_size()));
  redist_options options;
  redist_plan *plan = NULL;
  int to_rank[RANKS], k;
  redist_layout to;
  memset(&options, 0, sizeof options);
  options.node_ranks = 2;
  options.cost.per_message = 1e-5;
  options.cost.per_byte = 1e-9;
  for (k = 0; k < test_size(); k++) to_rank[k] = (k ^ 1) < test_size() ? k ^ 1 : k;
  to = redist_on_ranks(from, to_rank);
  k = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &plan);
  test_case_all(k == REDIST_OK && stats_of(plan).method == REDIST_SHARED,
                "what stays in nodes: method %d", k == REDIST_OK ? (int)stats_of(plan).method : -1);
  redist_plan_free(&plan);
}

/* Where other programs keep a rank from its core, one message seems to take longer than several: a
   message still costs something. */
static void check_fit(void) {
  enum { N = 9 };
  const int64_t busy[N + 1] = {700000000, 600000000, 1, 1, 1, 1, 1, 1, 1, 1},
                         idle[N + 1] = {11000000, 18000000, 1, 1, 1, 1, 1, 1, 1, 1};
  redist_priv_network network;
  redist_priv_fit_network(busy, N, 1, &network);
  test_case_all(network.cost.per_message > network.latency / 50, "a busy machine: %g of %g",
                network.cost.per_message, network.latency);
  redist_priv_fit_network(idle, N, 1, &network);
  test_case_all(network.cost.per_message > 0.99e-6 && network.cost.per_message < 1.01e-6,
                "an idle machine: %g", network.cost.per_message);
}

/* Between two nodes one message, or, if it is worth it, one for each rank of a node. */
static void check_several(double bytes, int expected) {
  exchange *e = transposition(4);
  redist_options options;
  int code, several;
  memset(&options, 0, sizeof options);
  options.node_ranks = DEALT_TO_2;
  e->method = REDIST_NODES;
  message_bytes = bytes;
  code = exchange_create_with(e, &options);
  several = code == REDIST_OK ? e->plan->carriers->per_pair : 0;
  test_case_all(several == expected && exchange_is_right(e, 1), "%d messages of %d: code %d",
                several, expected, code);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* ---- executions that overlap ---- */

/* Nodes of two ranks; a block from rank 0 to 4, from 2 to 0, from 4 to 2, in place. Rank 1 carries
   what rank 0 sends, but not what it receives, and is late to notice that this is sent. The second
   execution must not overwrite rank 0's array before it is packed. On 6 ranks or more. */
static void check_late_carrier(void) {
  enum { N = 50, LATE = 1 };
  const struct timespec pause = {0, 50000000};
  const int from_rank[] = {0, 2, 4}, to_rank[] = {4, 0, 2}, rank = test_rank();
  const redist_layout blocks = redist_layout_1d(redist_block(3 * N, 3)),
                      from = redist_on_ranks(blocks, from_rank),
                      to = redist_on_ranks(blocks, to_rank);
  const int holds = rank % 2 == 0 && rank < 6, source = rank / 2, arrives = (source + 1) % 3;
  redist_options options;
  redist_plan *plan = NULL;
  int array[N], k, i, good;
  memset(&options, 0, sizeof options);
  options.node_ranks = 2;
  options.in_place = 1;
  options.method = REDIST_NODES;
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &plan) == REDIST_OK &&
         stats_of(plan).method == REDIST_NODES;
  for (k = 0; k < 2 && good; k++) {
    for (i = 0; i < N; i++) array[i] = (3 * k + source) * N + i;
    if (k == 0 && rank == LATE) test_sum(0);
    good = redist_start(plan, holds ? array : NULL, holds ? array : NULL) == REDIST_OK;
    if (k == 0 && rank != LATE) test_sum(0);
    if (k == 0 && rank == LATE) nanosleep(&pause, NULL);
    good = redist_wait(plan) == REDIST_OK && good;
    for (i = 0; i < N && holds; i++) good = good && array[i] == (3 * k + arrives) * N + i;
  }
  test_case_all(good, "in place, a carrier is late");
  redist_plan_free(&plan);
}

/* Nodes of two ranks. Rank 1 only sends, to rank 0, and adds an element to itself: once, however
   long it carries what rank 4 is late to send. On 6 ranks or more. */
static void check_carrier_that_fills(void) {
  enum { N = 6, LATE = 4 };
  static const int from_rank[N] = {1, 1, 2, 0, 4, 0}, to_rank[N] = {1, 0, 0, 2, 0, 4};
  const struct timespec pause = {0, 50000000};
  const int rank = test_rank();
  const redist_layout from = redist_layout_1d(redist_owners(N, from_rank, test_size())),
                      to = redist_layout_1d(redist_owners(N, to_rank, test_size()));
  redist_op sum;
  redist_options options;
  redist_plan *plan = NULL;
  int a[N], b[N], k, good, held = 0;
  memset(&options, 0, sizeof options);
  sum.op = MPI_SUM;
  sum.type = MPI_INT;
  options.node_ranks = 2;
  options.method = REDIST_NODES;
  options.combine = redist_combine_op;
  options.context = &sum;
  for (k = 0; k < N; k++) b[k] = 100;
  for (k = 0; k < N; k++)
    if (from_rank[k] == rank) a[held++] = k;
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &plan) == REDIST_OK &&
         stats_of(plan).method == REDIST_NODES;
  if (rank == LATE) nanosleep(&pause, NULL);
  good = good && redist_execute(plan, a, b) == REDIST_OK;
  for (k = held = 0; k < N; k++)
    if (to_rank[k] == rank) good = good && b[held++] == 100 + k;
  test_case_all(good, "a carrier that only fills rings adds to itself once");
  redist_plan_free(&plan);
}

/* Two plans of an arena without shared memory run at once. What a rank receives from a carrier of
   the one, it must not take for what it carries for the other. */
static void check_two_plans(void) {
  exchange *e[2];
  redist_options options;
  redist_arena *arena = NULL;
  int k, code = REDIST_OK, good;
  memset(&options, 0, sizeof options);
  options.node_ranks = 2;
  limit_files(EVERYWHERE, 0);
  redist_arena_create(MPI_COMM_WORLD, 1000, &arena);
  options.arena = arena;
  for (k = 0; k < 2; k++) {
    e[k] = transposition(4);
    e[k]->method = REDIST_NODES;
    e[k]->way = START_TEST;
    e[k]->seed = (uint64_t)k;
    code = code == REDIST_OK ? exchange_create_with(e[k], &options) : code;
    exchange_prepare(e[k], 1);
  }
  limit_files(NOWHERE, 0);
  good = code == REDIST_OK && !e[0]->plan->carriers->shared;
  for (k = 0; k < 2 && good; k++) good = exchange_start(e[k]) == REDIST_OK;
  for (k = 0; k < 2 && good; k++) good = exchange_finish_by_testing(e[k]->plan) == REDIST_OK;
  for (k = 0; k < 2; k++) {
    good = good && exchange_arrived(e[k], 1);
    redist_plan_free(&e[k]->plan);
    exchange_release(e[k]);
    free(e[k]);
  }
  test_case_all(good, "two plans of an arena at once: code %d", code);
  redist_arena_free(&arena);
}

/* Makes a plan of two ranks in an arena, which takes the first room that is free. */
static int reuse_room(MPI_Comm pair, redist_arena *arena) {
  enum { N = 4096 };
  const redist_layout from = redist_layout_1d(redist_block(N, 2)),
                      to = redist_layout_1d(redist_cyclic(N, 2));
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  options.method = REDIST_SHARED;
  code = redist_plan_create(pair, &from, &to, MPI_DOUBLE, &options, &plan);
  redist_plan_free(&plan);
  return code;
}

/* In place, rank 1, which only sends, starts and does something else until its carrier, rank 0, has
   freed the plan and used its memory for one of ranks 0 and 2. Then rank 1's execution must end. */
static void check_reuse(void) {
  enum { N = 4096 };
  const int rank = test_rank();
  const redist_layout from = redist_layout_1d(redist_block(N, 4)),
                      to = redist_from_rank(redist_layout_1d(redist_block(N, 2)), 2);
  redist_options options;
  redist_arena *arena = NULL;
  redist_plan *plan = NULL;
  MPI_Comm pair;
  double *held;
  int done = 0, good, shared;
  memset(&options, 0, sizeof options);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == 2 ? 0 : MPI_UNDEFINED, rank, &pair);
  good = redist_arena_create(MPI_COMM_WORLD, N * sizeof *held, &arena) == REDIST_OK;
  held = redist_arena_alloc(arena, N * sizeof *held);
  memset(held, 0, N * sizeof *held);
  options.arena = arena;
  options.node_ranks = 2;
  options.method = REDIST_NODES;
  options.in_place = 1;
  good = good &&
         redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  shared = good && plan->carriers->shared;
  good = good && redist_start(plan, held, held) == REDIST_OK;
  if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  good = good && (rank == 1 ? redist_test(plan, &done) : redist_wait(plan)) == REDIST_OK;
  good = good && done == (rank == 1) && redist_plan_free(&plan) == REDIST_OK;
  if (shared && pair != MPI_COMM_NULL) good = reuse_room(pair, arena) == REDIST_OK && good;
  if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
  test_case_all(good, "a carrier's buffer is not used again while another rank reads it");
  redist_arena_free(&arena);
  if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
}

/* ---- limits ---- */

/* What does not fit into max_buffer is refused, or done otherwise; the limit is kept. */
static void check_limit(int shape, int refusal) {
  exchange *e = transposition(64);
  redist_options options;
  int64_t all, limit;
  int code;
  const char *needs;
  memset(&options, 0, sizeof options);
  options.node_ranks = shape;
  e->method = REDIST_NODES;
  limit_files(refusal, 0);
  code = exchange_create_with(e, &options);
  all = code == REDIST_OK ? stats_of(e->plan).buffer_bytes : 0;
  redist_plan_free(&e->plan);
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_MAX, e->comm);
  for (limit = 2 * all; limit > 0; limit /= 2) {
    options.max_buffer = (size_t)limit;
    e->method = REDIST_NODES;
    code = exchange_create_with(e, &options);
    needs = strstr(e->message, " needs ");
    test_case_all(code == REDIST_OK
                      ? stats_of(e->plan).buffer_bytes <= limit && exchange_is_right(e, 1)
                      : code == REDIST_ERR_MEMORY && needs != NULL &&
                            strtoll(needs + 7, NULL, 10) > limit && limit < 2 * all,
                  "shape %d, refusal %d, within %" PRId64 " of %" PRId64 ": code %d, %s", shape,
                  refusal, limit, all, code, e->message);
    redist_plan_free(&e->plan);
    e->method = REDIST_AUTO;
    options.cost.per_message = 1e-3;
    options.cost.per_byte = 1e-9;
    code = exchange_create_with(e, &options);
    test_case_all(code == REDIST_OK && stats_of(e->plan).buffer_bytes <= limit &&
                      exchange_is_right(e, 2),
                  "automatic, shape %d, refusal %d, within %" PRId64 ": code %d, %s", shape,
                  refusal, limit, code, e->message);
    redist_plan_free(&e->plan);
  }
  limit_files(NOWHERE, 0);
  exchange_release(e);
  free(e);
}

/* ---- the report ---- */

static void check_report(int shape) {
  exchange *e = transposition(1);
  char text[8192] = "", *line, expected[100];
  redist_options options;
  FILE *file = tmpfile();
  const redist_priv_carriers *c;
  int64_t k, messages = 0;
  int good;
  memset(&options, 0, sizeof options);
  options.node_ranks = shape;
  e->method = REDIST_NODES;
  good = file != NULL && exchange_create_with(e, &options) == REDIST_OK &&
         redist_plan_print(e->plan, file) == REDIST_OK;
  if (good && e->rank == 0) {
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    line = strstr(text, "\n  carriers  ");
    good = line != NULL;
    c = e->plan->carriers;
    for (k = 0; good && k < c->between; k++)
      if (c->message[k].own == 0) {
        messages++;
        snprintf(expected, sizeof expected, "by ranks 0 and %d", c->message[k].rank);
        good = strstr(line, expected) != NULL;
      }
    good = good && messages > 0;
  }
  test_case_all(good, "shape %d: the report names rank 0's counterparts: %s", shape, text);
  if (file != NULL) fclose(file);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* Argument: the number of random pairs. */
int main(int count, char **arguments) {
  int k, refusal;
  MPI_Init(&count, &arguments);
  signal(SIGXFSZ, SIG_IGN);
  check_pairs(count > 1 ? atoi(arguments[1]) : 216);
  check_several(1, test_size() / 2);
  check_several(65536, 1);
  check_two_plans();
  check_reuse();
  if (test_size() >= 6) check_late_carrier();
  if (test_size() >= 6) check_carrier_that_fills();
  check_choice();
  check_swap();
  check_fit();
  for (refusal = NOWHERE; refusal < REFUSALS; refusal++) check_limit(2, refusal);
  for (k = 1; k < ALL_SHAPES; k++)
    if (count_nodes(shapes[k]) > 1) check_report(shapes[k]);
  k = test_report_all("nodes");
  MPI_Finalize();
  return k;
}
