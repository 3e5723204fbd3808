/* redist tests: plans in an arena. They need no communicator of their own, take their rings from it
   and return them, may be waited for in any order, and are right in every combination. MIT licence,
   see LICENSE. */
#include <stdlib.h>
#include <string.h>

#include "failing_malloc.h"
#include "hooks.h"

#include "exchange.h"
#include "inside.h"

/* Counts of MPI calls while a plan is created. */
static int duplicates;

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  duplicates++;
  return PMPI_Comm_idup(comm, made, request);
}

static const redist_method methods[] = {REDIST_SHARED,     REDIST_POINT_TO_POINT, REDIST_SCHEDULED,
                                        REDIST_MULTIPHASE, REDIST_ALLTOALLV,      REDIST_ALLTOALLW};
enum { METHODS = sizeof methods / sizeof *methods };

/* An exchange with all arrays in the arena, none, or only the sources. */
static exchange *open_exchange(MPI_Comm comm, redist_arena *arena, int number, redist_method method,
                               int64_t n) {
  exchange *e = exchange_new(comm);
  redist_options options;
  unsigned char *memory;
  int side;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  exchange_rows(e, n + number % 5, n - number % 3, number % 2 ? TEST_CYCLIC : TEST_BLOCK);
  e->seed = (uint64_t)number;
  e->method = method;
  e->in_place = number % 7 == 3;
  e->count = number % 4 == 1 ? 2 : 1;
  e->many = e->count > 1;
  e->way = START_WAIT;
  exchange_allocate(e);
  for (side = 0; side < 2 && arena != NULL && !e->in_place; side++) {
    memory = side < number % 3 ? redist_arena_alloc(arena, exchange_bytes(e, side)) : NULL;
    if (memory != NULL && e->held[side][0] != NULL) {
      free(e->held[side][0]);
      e->held[side][0] = memory;
    }
  }
  exchange_create_with(e, &options);
  return e;
}

static void close_exchange(exchange *e, const redist_arena *arena) {
  int side, k;
  redist_plan_free(&e->plan);
  for (side = 0; side < 2; side++)
    for (k = 0; k < e->count; k++)
      if (!test_lies_in(arena, e->held[side][k]) && (side == 0 || !e->in_place))
        free(e->held[side][k]);
  free(e);
}

/* A plan only exchanges messages; only MPI's collectives need a communicator of their own. */
static void check_costs(void) {
  redist_arena *arena = NULL;
  int m, good;
  redist_arena_create(MPI_COMM_WORLD, 1 << 20, &arena);
  for (m = 0; m < METHODS; m++) {
    const int collective = methods[m] == REDIST_ALLTOALLV || methods[m] == REDIST_ALLTOALLW;
    exchange *e;
    duplicates = 0;
    e = open_exchange(MPI_COMM_WORLD, arena, 2 * m, methods[m], 30);
    good = e->plan != NULL && duplicates == collective && exchange_is_right(e, 0);
    test_case_all(good, "method %d makes %d communicators: %s", (int)methods[m], duplicates,
                  e->message);
    close_exchange(e, arena);
  }
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "the arena is freed");
}

/* REDIST_AUTO measures the network between nodes for the first plan that needs it, on a
   communicator of its own. */
static void check_network(void) {
  const int64_t n = 64 * (int64_t)test_size();
  redist_layout rows = redist_layout_2d(redist_block(n, test_size()), redist_whole(n));
  redist_layout columns = redist_layout_2d(redist_whole(n), redist_block(n, test_size()));
  redist_arena *arena = NULL;
  redist_options options;
  redist_plan *plan;
  int k, good;
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, 1 << 20, &arena);
  options.arena = arena;
  options.node_ranks = 1;
  for (k = 0; k < 3; k++) {
    duplicates = 0;
    good = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options, &plan) ==
           REDIST_OK;
    test_case_all(good && duplicates == (k == 0),
                  "plan %d of an arena between nodes: %d communicators", k, duplicates);
    redist_plan_free(&plan);
  }
  redist_arena_free(&arena);
}

/* A sender frees its plan before its receiver has read the ring: the next plan still gets the
   memory. */
static void check_given_back(void) {
  enum { N = 1536 };
  static double a[N], b[N];
  const redist_layout from = redist_layout_1d(redist_whole(N)), to = redist_from_rank(from, 1);
  redist_options options;
  redist_arena *arena = NULL;
  redist_stats stats;
  redist_plan *plan;
  double begin;
  int k, good = 1, shares = test_shares();
  test_ring_bytes = 20480; /* for one such plan */
  redist_arena_create(MPI_COMM_WORLD, 0, &arena);
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.method = REDIST_SHARED;
  options.arena = arena;
  for (k = 0; k < 3; k++) {
    good =
        redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
        good;
    for (begin = MPI_Wtime(); test_rank() == 1 && MPI_Wtime() < begin + 0.02;) sched_yield();
    good = good && redist_plan_stats(plan, &stats) == REDIST_OK &&
           (stats.method == REDIST_SHARED) == shares && redist_execute(plan, a, b) == REDIST_OK;
    redist_plan_free(&plan);
  }
  test_case_all(good, "room for the %d-th plan", k);
  for (k = 0; k < 40 && test_sum(!good) == 0; k++) {
    until_failure = test_rank() == 1 ? k : -1;
    redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan);
    until_failure = -1;
    redist_plan_free(&plan);
    good =
        redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
        redist_plan_stats(plan, &stats) == REDIST_OK && (stats.method == REDIST_SHARED) == shares;
    redist_plan_free(&plan);
  }
  test_case_all(good, "room after %d plans that rank 1 had no memory for", k);
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "the arena is freed");
  test_ring_bytes = 1 << 20;
}

/* Plans started in one order, and waited for in a different order on every rank. */
static void check_orders(int64_t n) {
  enum { PLANS = METHODS + 2 };
  redist_arena *arena = NULL;
  exchange *e[PLANS];
  int k, round, good = 1;
  redist_arena_create(MPI_COMM_WORLD, (size_t)(n * n * 8), &arena);
  for (k = 0; k < PLANS; k++) {
    e[k] = open_exchange(MPI_COMM_WORLD, arena, k, methods[k % METHODS], n);
    good = good && e[k]->plan != NULL;
  }
  for (round = 0; round < 3 && good; round++) {
    for (k = 0; k < PLANS; k++) {
      const int now = (k * (test_rank() % 2 ? PLANS - 1 : 1) + round) % PLANS;
      exchange_prepare(e[now], round);
      good = exchange_start(e[now]) == REDIST_OK && good;
    }
    for (k = 0; k < PLANS; k++) {
      const int now = (k * (test_rank() % 2 ? 1 : PLANS - 1) + test_rank() + round) % PLANS;
      good = redist_wait(e[now]->plan) == REDIST_OK && good;
      good = exchange_arrived(e[now], round) && good;
      good = redist_wait(e[now]->plan) == REDIST_ERR_BUSY && good;
    }
  }
  test_case_all(good, "plans for %d elements waited for in different orders", (int)(n * n));
  for (k = 0; k < PLANS; k++) close_exchange(e[k], arena);
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "their arena is freed");
}

/* Many plans at once: those without room for rings send messages; freed rings are reused. */
static void check_many(int plans) {
  redist_arena *arena = NULL;
  exchange **e = malloc((size_t)plans * sizeof *e);
  redist_stats stats;
  const int64_t blocks = live_blocks;
  int64_t bytes = 0;
  int k, turn, good, shared[3] = {0, 0, 0}, shares = test_shares();
  test_ring_bytes = 16384;
  redist_arena_create(MPI_COMM_WORLD, 1000, &arena);
  test_ring_bytes = 1 << 20;
  for (turn = 0; turn < 3; turn++) {
    for (k = 0, good = 1; k < plans; k++) {
      e[k] = open_exchange(MPI_COMM_WORLD, arena, 2, REDIST_SHARED, 9);
      good = good && e[k]->plan != NULL && redist_plan_stats(e[k]->plan, &stats) == REDIST_OK;
      shared[turn] += stats.method == REDIST_SHARED;
      bytes += stats.shared_bytes;
      good = good && (stats.shared_bytes > 0) == (stats.method == REDIST_SHARED) &&
             stats.shared_bytes >= stats.buffer_bytes * (stats.shared_bytes > 0);
    }
    test_case_all(good && bytes <= 16384, "%d plans, %ld bytes of shared memory: %s", plans,
                  (long)bytes, e[plans - 1]->message);
    for (k = 0, good = 1; k < plans; k++) good = exchange_is_right(e[k], k) && good;
    test_case_all(good, "%d plans in one arena", plans);
    for (k = 0; k < plans; k++) close_exchange(e[turn == 1 ? k : plans - 1 - k], arena);
    bytes = 0;
  }
  test_case_all(test_size() == 1 ||
                    ((shares ? shared[0] > 3 && shared[0] < plans : shared[0] == 0) &&
                     shared[1] == shared[0] && shared[2] == shared[0]),
                "%d, %d and %d of %d plans had rings", shared[0], shared[1], shared[2], plans);
  test_case_all(redist_arena_free(&arena) == REDIST_OK && live_blocks == blocks,
                "all is freed, but for %ld blocks", (long)(live_blocks - blocks));
  free(e);
}

/* Plans of some of the arena's ranks, and plans of all, whose rings are freed at different
   times. */
static void check_parts(void) {
  redist_arena *arena = NULL;
  exchange *whole, *part;
  MPI_Comm half, twin;
  int round, good = 1;
  MPI_Comm_split(MPI_COMM_WORLD, test_rank() / 2, -test_rank(), &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  redist_arena_create(MPI_COMM_WORLD, 1 << 20, &arena);
  for (round = 0; round < 20; round++) {
    part = open_exchange(half, arena, 5 * round, methods[round % 3], 20);
    good = good && part->plan != NULL && exchange_is_right(part, round);
    if (round % 3 == 0) close_exchange(part, arena);
    whole = open_exchange(round % 2 ? MPI_COMM_WORLD : twin, arena, round, methods[round % 2], 20);
    good = good && whole->plan != NULL && exchange_is_right(whole, round);
    if (round % 3 != 0) {
      good = good && exchange_is_right(part, round + 1);
      close_exchange(part, arena);
    }
    good = good && exchange_is_right(whole, round + 1);
    close_exchange(whole, arena);
  }
  test_case_all(good, "plans of some ranks and of all in one arena");
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "which is then freed");
  MPI_Comm_free(&half);
  MPI_Comm_free(&twin);
}

/* Moves n numbers from one rank's arrays to another's. */
static redist_plan *send_plan(MPI_Comm comm, redist_arena *arena, int64_t n, int from_rank,
                              int to_rank) {
  const redist_layout one = redist_layout_1d(redist_whole(n));
  const redist_layout from = redist_from_rank(one, from_rank), to = redist_from_rank(one, to_rank);
  redist_plan *plan = NULL;
  redist_options options;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  options.method = REDIST_SHARED;
  redist_plan_create(comm, &from, &to, MPI_INT, &options, &plan);
  return plan;
}

/* Rank 0 frees a plan and creates others before rank 1 has read the first one's ring. */
static void check_left_behind(void) {
  enum { N = 1000, LATER = 30 };
  redist_arena *arena = NULL;
  redist_plan *first, *later;
  MPI_Comm rest;
  MPI_Request request = MPI_REQUEST_NULL;
  int numbers[N], others[N], k, good = 1;
  if (test_size() < 3) return;
  MPI_Comm_split(MPI_COMM_WORLD, test_rank() == 1, test_rank(), &rest);
  redist_arena_create(MPI_COMM_WORLD, 0, &arena);
  first = send_plan(MPI_COMM_WORLD, arena, N, 0, 1);
  for (k = 0; k < N; k++) numbers[k] = test_rank() == 0 ? k : -1;
  good = redist_start(first, test_rank() == 0 ? numbers : NULL,
                      test_rank() == 1 ? numbers : NULL) == REDIST_OK;
  if (test_rank() == 1) {
    MPI_Irecv(others, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    wait_yielding(&request);
  }
  good = redist_wait(first) == REDIST_OK && redist_plan_free(&first) == REDIST_OK && good;
  for (k = 0; k < N && test_rank() == 1; k++) good = good && numbers[k] == k;
  for (k = 0; k < LATER && test_rank() != 1; k++) {
    memset(others, 255, sizeof others);
    later = send_plan(rest, arena, N, 0, 1);
    good = redist_execute(later, test_rank() == 0 ? others : NULL,
                          test_rank() == 2 ? numbers : NULL) == REDIST_OK &&
           good;
    good = redist_plan_free(&later) == REDIST_OK && good;
  }
  if (test_rank() == 0) {
    MPI_Isend(&k, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    wait_yielding(&request);
  }
  test_case_all(good, "a plan leaves its ring to those who still read it");
  MPI_Comm_free(&rest);
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "until the arena is freed");
}

/* Rank 0 frees a plan and creates another while rank 2 still has the first. */
static void check_unseen(void) {
  enum { N = 1000 };
  const redist_layout from = redist_layout_1d(redist_whole(N)),
                      to = redist_layout_1d(redist_block(N, 3));
  redist_arena *arena = NULL;
  redist_plan *first, *later;
  redist_options options;
  MPI_Request request;
  MPI_Comm rest;
  int numbers[N], arrived[N] = {0}, k = 0, good;
  if (test_size() < 3) return;
  MPI_Comm_split(MPI_COMM_WORLD, test_rank() == 2, test_rank(), &rest);
  redist_arena_create(MPI_COMM_WORLD, 0, &arena);
  memset(&options, 0, sizeof options);
  memset(numbers, 127, sizeof numbers);
  options.arena = arena;
  options.method = REDIST_SHARED;
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_INT, &options, &first) == REDIST_OK;
  if (test_rank() == 2) {
    MPI_Irecv(&k, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    wait_yielding(&request);
  }
  good = redist_plan_free(&first) == REDIST_OK && good;
  if (test_rank() != 2) {
    later = send_plan(rest, arena, N, 0, 1);
    good = redist_execute(later, numbers, arrived) == REDIST_OK &&
           redist_plan_free(&later) == REDIST_OK && good;
  }
  if (test_rank() == 0) {
    MPI_Isend(&k, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request);
    wait_yielding(&request);
  }
  test_case_all(good && (test_rank() != 1 || memcmp(numbers, arrived, sizeof numbers) == 0),
                "a plan that was freed at once stays until all ranks have seen it");
  MPI_Comm_free(&rest);
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "until the arena is freed");
}

/* Several arenas at once; plans of one use arrays in another. */
static void check_several(void) {
  redist_arena *arena[2] = {NULL, NULL};
  exchange *e[2];
  int k, round, good = 1;
  for (k = 0; k < 2; k++) redist_arena_create(MPI_COMM_WORLD, 1 << 18, &arena[k]);
  for (k = 0; k < 2; k++) {
    e[k] = open_exchange(MPI_COMM_WORLD, arena[k], 2, REDIST_SHARED, 40);
    good = good && e[k]->plan != NULL;
  }
  for (round = 0; round < 4 && good; round++) {
    unsigned char *memory = e[0]->held[0][0];
    e[0]->held[0][0] = e[1]->held[0][0];
    e[1]->held[0][0] = memory;
    for (k = 0; k < 2; k++) {
      exchange_prepare(e[k], round);
      good = exchange_start(e[k]) == REDIST_OK && good;
    }
    for (k = 0; k < 2; k++)
      good = redist_wait(e[k]->plan) == REDIST_OK && exchange_arrived(e[k], round) && good;
  }
  test_case_all(good, "two arenas, arrays in either");
  for (k = 0; k < 2; k++) redist_plan_free(&e[k]->plan);
  for (k = 0; k < 2; k++)
    test_case_all(redist_arena_free(&arena[k]) == REDIST_OK, "arena %d is freed", k);
  free(e[0]);
  free(e[1]);
}

int main(int count, char **arguments) {
  int status;
  test_ring_bytes = 1 << 20;
  MPI_Init(&count, &arguments);
  check_costs();
  check_network();
  check_given_back();
  check_orders(20);
  test_piece_bytes = 128; /* rings are shorter than the messages */
  check_orders(50);
  test_piece_bytes = 262144;
  check_many(40);
  check_parts();
  check_several();
  check_left_behind();
  check_unseen();
  status = test_report_all("home");
  MPI_Finalize();
  return status;
}
