/* redist tests: waiting: what progresses while a rank waits, and several started plans in any
   order. MIT licence, see LICENSE. */
#define TEST_LENGTH 4096
#define TEST_ELEMENTS 40000
#define TEST_LARGEST 40000
static int test_yields; /* the yields of waiting ranks */
#include <sched.h>
#define REDIST_YIELD() ((void)(test_yields++, sched_yield()))
#include "exchange.h"

/* bytes: more than any MPI library sends before the receiver takes part */
enum { LARGE = 1 << 20 };

static exchange *rows_to_columns(redist_method method, int64_t n, int64_t m) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  exchange_rows(e, n, m, TEST_CYCLIC);
  e->method = method;
  e->seed = 1; /* expensive messages, where chains are chosen by cost */
  return e;
}

static int create_on_nodes(exchange *e, int node_ranks) {
  redist_options options;
  memset(&options, 0, sizeof options);
  options.node_ranks = node_ranks;
  return exchange_create_with(e, &options);
}

/* ---- a rank that waits only for flags also progresses messages ---- */

static void pause_for(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) sched_yield();
}

/* Ranks 0 and 1 are a node. Rank 1 is late: rank 0 has completed its messages with other nodes and
   waits for it. Rank 1 first sends rank 0 a large message of its own. */
static int late_sender(exchange *e, char *buffer) {
  MPI_Request received = MPI_REQUEST_NULL;
  int code = REDIST_OK;
  if (e->rank == 0) MPI_Irecv(buffer, LARGE, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &received);
  test_sum(0);
  if (e->rank == 1) pause_for(0.1);
  if (e->rank == 1) MPI_Send(buffer, LARGE, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
  code = redist_execute(e->plan, e->held[0][0], e->held[1][0]);
  wait_yielding(&received);
  return code;
}

static void check_progress(void) {
  exchange *e = rows_to_columns(REDIST_SHARED, 11, 13);
  char *buffer = calloc(1, LARGE);
  int code, number;
  exchange_allocate(e);
  code = create_on_nodes(e, 2);
  for (number = 0; number < 2 && code == REDIST_OK; number++) {
    exchange_prepare(e, number);
    code = late_sender(e, buffer);
    test_case_all(code == REDIST_OK && exchange_arrived(e, number),
                  "a large message while rank 0 waits: code %d", code);
  }
  test_case_all(redist_plan_free(&e->plan) == REDIST_OK, "freed");
  free(buffer);
  exchange_release(e);
  free(e);
}

/* ---- several started plans ---- */

enum { PLANS = 3 };

/* Rows to columns of a shape of its own: pieces of 64 bytes make every message longer than its
   ring, and blocks to single rows make chains of several phases. */
static exchange *plan_of_many(redist_method method, int number, redist_arena **arena) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  const int64_t n = (int64_t)e->size * e->size;
  redist_options options;
  memset(&options, 0, sizeof options);
  exchange_rows(e, n, 32 * e->size + number, TEST_CYCLIC);
  if (method == REDIST_MULTIPHASE) {
    exchange_axis(&e->arrays[1].axes[0], TEST_CYCLIC, n, e->size);
    exchange_axis(&e->arrays[1].axes[1], TEST_WHOLE, 32 * e->size + number, 1);
    exchange_describe(e);
  }
  e->method = method;
  e->seed = 1;
  if (arena != NULL) {
    if (*arena == NULL)
      redist_arena_create(MPI_COMM_WORLD,
                          PLANS * (exchange_bytes(e, 0) + exchange_bytes(e, 1) + 4096), arena);
    e->held[0][0] = redist_arena_alloc(*arena, exchange_bytes(e, 0));
    e->held[1][0] = redist_arena_alloc(*arena, exchange_bytes(e, 1));
    options.arena = *arena;
  } else {
    exchange_allocate(e);
  }
  test_case_all(exchange_create_with(e, &options) == REDIST_OK, "a plan: %s", e->message);
  return e;
}

/* Lists the plans from a different one on, on every rank; some ranks list them backwards. */
static int complete(exchange *const *e, int way) {
  redist_plan *plan[PLANS];
  int k, done = 0, code = REDIST_OK;
  for (k = 0; k < PLANS; k++)
    plan[k] = e[(e[0]->rank % 2 ? PLANS - 1 - k : k + e[0]->rank / 2) % PLANS]->plan;
  if ((way + e[0]->rank / 2) % 2 == 0) return redist_wait_all(PLANS, plan);
  while (code == REDIST_OK && !done) {
    code = redist_test_all(PLANS, plan, &done);
    sched_yield();
  }
  return code;
}

static int many_run(exchange *const *e, int number) {
  int k, done = 0, good = 1;
  for (k = 0; k < PLANS; k++) exchange_prepare(e[k], number);
  for (k = 0; k < PLANS; k++) {
    const exchange *next = e[(k + e[0]->rank) % PLANS];
    good = good && redist_start(next->plan, next->held[0][0], next->held[1][0]) == REDIST_OK;
  }
  good = good && complete(e, number) == REDIST_OK;
  for (k = 0; k < PLANS; k++)
    good =
        good && exchange_arrived(e[k], number) && redist_test(e[k]->plan, &done) == REDIST_ERR_BUSY;
  return good;
}

/* with_arenas: 1: each plan has its own, 2: they share one. */
static void check_many(redist_method method, const char *name, int with_arenas) {
  redist_arena *arena[PLANS] = {NULL};
  exchange *e[PLANS];
  redist_stats stats;
  int k;
  for (k = 0; k < PLANS; k++)
    e[k] = plan_of_many(method, k, with_arenas == 0 ? NULL : &arena[with_arenas == 2 ? 0 : k]);
  redist_plan_stats(e[0]->plan, &stats);
  test_case_all((stats.method == method) == (method != REDIST_SHARED || test_shares()) &&
                    (method != REDIST_MULTIPHASE || e[0]->size < 6 || stats.phases > 1),
                "%s in %d phases", name, stats.phases);
  for (k = 0; k < 4; k++)
    test_case_all(many_run(e, k), "%d started plans, %s, arenas %d, time %d", PLANS, name,
                  with_arenas, k);
  for (k = 0; k < PLANS; k++) {
    redist_plan_free(&e[k]->plan);
    if (with_arenas == 0) exchange_release(e[k]);
    free(e[k]);
  }
  for (k = 0; k < PLANS; k++) redist_arena_free(&arena[k]);
}

static void check_lists(void) {
  exchange *e = plan_of_many(REDIST_POINT_TO_POINT, 0, NULL);
  redist_plan *list[2];
  int done = 0;
  list[0] = e->plan;
  list[1] = NULL;
  exchange_prepare(e, 0);
  test_case_all(redist_wait_all(0, NULL) == REDIST_OK &&
                    redist_test_all(0, NULL, &done) == REDIST_OK && done == 1,
                "no plans are complete");
  done = 0;
  test_case_all(redist_wait_all(1, list) == REDIST_OK &&
                    redist_test_all(1, list, &done) == REDIST_OK && done == 1,
                "a plan that is not started counts as done");
  test_case_all(redist_start(e->plan, e->held[0][0], e->held[1][0]) == REDIST_OK, "started");
  test_case_all(redist_wait_all(-1, list) == REDIST_ERR_ARGUMENT &&
                    redist_wait_all(1, NULL) == REDIST_ERR_ARGUMENT &&
                    redist_wait_all(2, list) == REDIST_ERR_ARGUMENT &&
                    redist_test_all(1, list, NULL) == REDIST_ERR_ARGUMENT &&
                    redist_test_all(2, list, &done) == REDIST_ERR_ARGUMENT,
                "lists that are none");
  test_case_all(redist_wait_all(1, list) == REDIST_OK && exchange_arrived(e, 0),
                "and then the execution");
  test_case_all(redist_plan_free(&e->plan) == REDIST_OK, "freed");
  exchange_release(e);
  free(e);
}

/* A wait of any length continues to yield: its counter stops at its limit. */
static void check_long_wait(void) {
  int tries = INT_MAX - 3, k, before = test_yields;
  for (k = 0; k < 10; k++) redist_priv_yield(&tries);
  test_case(test_yields - before == 10, "10 more tests of a very long wait: %d yields",
            test_yields - before);
}

/* ---- what waits, in an arena, to hear where to push ---- */

/* The way of rank 0's message to rank 1, which starts later: after rank 0 has called redist_start
   or, if only rank 0 sends, redist_execute; else, as rank 0 waits for it, a while later. */
static int way_to_late(redist_plan *plan, const double *from, double *to, int executed,
                       int mutual) {
  const redist_priv_rings *r = plan->rings;
  int way = 0, token = 0;
  if (test_rank() == 1 && executed && mutual)
    pause_for(0.05);
  else if (test_rank() == 1)
    MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (executed)
    redist_execute(plan, from, to);
  else
    redist_start(plan, from, to);
  if (test_rank() == 0) way = r->channel[r->receives].decided;
  if (test_rank() == 0 && !(executed && mutual)) MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (!executed) redist_wait(plan);
  return way;
}

/* Makes a plan, and arrays, of an n x n matrix in an arena. */
static int plan_in_arena(int n, const redist_layout *from, const redist_layout *to,
                         redist_arena **arena, double **array, redist_plan **plan) {
  const size_t bytes = (size_t)(n * n) * sizeof(double);
  redist_options options;
  int k, code = redist_arena_create(MPI_COMM_WORLD, 2 * bytes, arena);
  memset(&options, 0, sizeof options);
  options.arena = *arena;
  options.method = REDIST_SHARED;
  for (k = 0; k < 2 && code == REDIST_OK; k++)
    array[k] = memset(redist_arena_alloc(*arena, bytes), 0, bytes);
  if (code == REDIST_OK)
    code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, plan);
  return code;
}

/* Ranks 0 and 1 send each other a quarter of a square; or rank 0 sends to rank 1 only, and receives
   from none but rank 2, if there is one. */
static void check_way(int executed, int mutual) {
  enum { N = 128 };
  static const int ranks[2][2][2] = {{{0, 2}, {1, 0}}, {{0, 1}, {0, 1}}};
  const redist_axis whole = redist_whole(N), half = redist_block(N, 2);
  const int several = mutual || test_size() > 2;
  const redist_layout from = several
                                 ? redist_on_ranks(redist_layout_2d(half, whole), ranks[mutual][0])
                                 : redist_layout_2d(whole, whole),
                      to = redist_on_ranks(redist_layout_2d(whole, half), ranks[mutual][1]);
  redist_arena *arena;
  redist_plan *plan;
  double *array[2];
  int way = -1;
  const int code = plan_in_arena(N, &from, &to, &arena, array, &plan);
  if (code == REDIST_OK && plan->rings != NULL)
    way = way_to_late(plan, array[0], array[1], executed, mutual);
  test_case_all(code == REDIST_OK &&
                    (test_rank() > 0 || way < 0 ||
                     way == (executed && mutual ? (int)REDIST_PRIV_PUSH : (int)REDIST_PRIV_RING)),
                "%s, %s: the way is %d", executed ? "executed" : "started",
                mutual ? "both send" : "one sends", way);
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

/* Rank 0 starts, before or after rank 1 executes, and calls nothing until rank 1 has ended, although
   nobody can push to its destination. */
static void check_outside(int first) {
  enum { N = 128 };
  const redist_axis whole = redist_whole(N), half = redist_block(N, 2);
  const redist_layout from = redist_layout_2d(half, whole), to = redist_layout_2d(whole, half);
  redist_arena *arena;
  redist_plan *plan;
  double *array[2], *outside = calloc(N * N, sizeof *outside);
  int token = 0, code = plan_in_arena(N, &from, &to, &arena, array, &plan);
  const int shares = code == REDIST_OK && plan->transport->method == REDIST_SHARED;
  if (test_rank() == !first) pause_for(0.05);
  if (test_rank() == 0 && shares) {
    code = redist_start(plan, array[0], outside);
    MPI_Recv(&token, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code == REDIST_OK) code = redist_wait(plan);
  } else if (shares) {
    code = redist_execute(plan, array[0], array[1]);
    if (test_rank() == 1) MPI_Send(&token, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
  }
  test_case_all(code == REDIST_OK, "a destination outside the arena, started %s",
                first ? "first" : "last");
  free(outside);
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

int main(int argc, char **argv) {
  int status, k;
  MPI_Init(&argc, &argv);
  if (test_size() > 1) check_progress();
  if (test_rank() == 0) check_long_wait();
  check_lists();
  for (k = 0; k < 4 && test_size() > 1; k++) check_way(k / 2, k % 2);
  for (k = 0; k < 2 && test_size() > 1; k++) check_outside(k);
  test_piece_bytes = 64;
  if (test_size() > 1) check_many(REDIST_SHARED, "shared", 0);
  if (test_size() > 1) check_many(REDIST_SHARED, "shared", 1);
  if (test_size() > 1) check_many(REDIST_SHARED, "shared", 2);
  check_many(REDIST_POINT_TO_POINT, "point to point", 0);
  check_many(REDIST_POINT_TO_POINT, "point to point", 2);
  check_many(REDIST_SCHEDULED, "scheduled", 0);
  check_many(REDIST_SCHEDULED, "scheduled", 2);
  check_many(REDIST_ALLTOALLV, "alltoallv", 0);
  check_many(REDIST_ALLTOALLV, "alltoallv", 2);
  check_many(REDIST_ALLTOALLW, "alltoallw", 0);
  check_many(REDIST_MULTIPHASE, "multiphase", 0);
  status = test_report_all("waiting");
  MPI_Finalize();
  return status;
}
