/* redist tests: MPI calls that fail on request. Every rank gets the error and a sentence, nothing
   leaks, older plans still work, and plans that failed halfway can be freed. MIT licence, see
   LICENSE. */
#include <stdlib.h>
#include <string.h>

#include "failing_malloc.h"

#include "exchange.h"
#include "inside.h"

/* ---- stand-ins for MPI's calls ---- */

enum { NEVER = -1, MOST_HIDDEN = 4096 };
/* calls of a kind before one fails */
static int until_duplicate = NEVER, until_start = NEVER, until_prepare = NEVER;
static int fails_late; /* a failed MPI_Comm_idup is reported by its request */
static int live_communicators, hidden;
static MPI_Comm hidden_communicator[MOST_HIDDEN];
static MPI_Request bad_request;
static int has_bad_request;

/* Counts down to the call that fails. */
static int fails(int *until) {
  const int now = *until == 0;
  if (*until >= 0) --*until;
  return now;
}

static void free_hidden(void) {
  while (hidden > 0) PMPI_Comm_free(&hidden_communicator[--hidden]);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  const int bad = has_bad_request && *request == bad_request;
  const int code = PMPI_Test(request, done, status);
  if (!bad || !*done) return code;
  has_bad_request = 0;
  return MPI_ERR_OTHER;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  if (!fails(&until_duplicate)) {
    live_communicators++;
    return PMPI_Comm_idup(comm, made, request);
  }
  PMPI_Comm_idup(comm, &hidden_communicator[hidden++], request);
  memset(made, 0x55, sizeof *made);
  if (fails_late) {
    bad_request = *request;
    has_bad_request = 1;
    return MPI_SUCCESS;
  }
  wait_yielding(request);
  return MPI_ERR_OTHER;
}

int MPI_Comm_free(MPI_Comm *comm) {
  live_communicators--;
  return PMPI_Comm_free(comm);
}

int MPI_Start(MPI_Request *request) {
  return fails(&until_start) ? MPI_ERR_OTHER : PMPI_Start(request);
}

int MPI_Recv_init(void *memory, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  return fails(&until_prepare) ? MPI_ERR_OTHER
                               : PMPI_Recv_init(memory, n, type, from, tag, comm, request);
}

int MPI_Send_init(const void *memory, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  return fails(&until_prepare) ? MPI_ERR_OTHER
                               : PMPI_Send_init(memory, n, type, to, tag, comm, request);
}

int MPI_Isend(const void *memory, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  return fails(&until_start) ? MPI_ERR_OTHER : PMPI_Isend(memory, n, type, to, tag, comm, request);
}

int MPI_Irecv(void *memory, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
  return fails(&until_start) ? MPI_ERR_OTHER
                             : PMPI_Irecv(memory, n, type, from, tag, comm, request);
}

int MPI_Ialltoallw(const void *from, const int *from_counts, const int *from_at,
                   const MPI_Datatype *from_types, void *to, const int *counts, const int *at,
                   const MPI_Datatype *types, MPI_Comm comm, MPI_Request *request) {
  if (fails(&until_start)) return MPI_ERR_OTHER;
  return PMPI_Ialltoallw(from, from_counts, from_at, from_types, to, counts, at, types, comm,
                         request);
}

/* ---- the tests ---- */

static const struct {
  const char *name;
  redist_method method;
  int node_ranks;
} ways[] = {{"shared", REDIST_SHARED, 0},         {"shared on nodes of 2", REDIST_SHARED, 2},
            {"alltoallv", REDIST_ALLTOALLV, 0},   {"alltoallw", REDIST_ALLTOALLW, 0},
            {"scheduled", REDIST_SCHEDULED, 0},   {"messages", REDIST_POINT_TO_POINT, 0},
            {"multiphase", REDIST_MULTIPHASE, 1}, {"nodes of 1", REDIST_NODES, 1}};
enum { WAYS_TO_MAKE = sizeof ways / sizeof *ways };

static exchange *open_exchange(int way, redist_options *options) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  exchange_rows(e, 24, 16, TEST_CYCLIC);
  e->seed = 1; /* chains of plans have several phases */
  e->method = ways[way].method;
  exchange_allocate(e);
  memset(options, 0, sizeof *options);
  options->node_ranks = ways[way].node_ranks;
  return e;
}

static void close_exchange(exchange *e) {
  exchange_release(e);
  free(e);
}

static int is_chosen(int bad_rank) { return bad_rank < 0 || bad_rank == test_rank(); }

/* The k-th duplication of a communicator fails on one rank, or on all (-1). Returns whether it was
   reached. */
static int duplicate_fails(int way, int k, int bad_rank) {
  redist_options options;
  exchange *e = open_exchange(way, &options);
  const int64_t blocks = live_blocks;
  const int communicators = live_communicators;
  int code, hit, good;
  until_duplicate = is_chosen(bad_rank) ? k : NEVER;
  code = exchange_create_with(e, &options);
  hit = test_sum(is_chosen(bad_rank) && until_duplicate == NEVER) > 0;
  until_duplicate = NEVER;
  good = code == REDIST_OK ? exchange_is_right(e, 0) && redist_plan_free(&e->plan) == REDIST_OK
                           : code == REDIST_ERR_MPI && e->plan == NULL && strlen(e->message) > 10;
  test_case_all(
      good && live_blocks == blocks && live_communicators == communicators &&
          (hit || code == REDIST_OK) && (k > 0 || code == REDIST_ERR_MPI),
      "%s, duplication %d fails %s on rank %d (-1: all): code %d, %s, %ld blocks and %d communicators left",
      ways[way].name, k, fails_late ? "late" : "at once", bad_rank, code, e->message,
      (long)(live_blocks - blocks), live_communicators - communicators);
  close_exchange(e);
  return hit;
}

static void check_duplicates(void) {
  int way, k, bad_rank;
  for (fails_late = 0; fails_late < 2; fails_late++)
    for (way = 0; way < WAYS_TO_MAKE; way++)
      for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size())
        for (k = 0; duplicate_fails(way, k, bad_rank); k++) continue;
  free_hidden();
}

/* Whether the next plan's ranks find each other's files as before: no message is left over. */
static int is_untouched(int named) {
  redist_options options;
  exchange *e = open_exchange(0, &options);
  const int good = exchange_create_with(e, &options) == REDIST_OK &&
                   test_is_named(e->plan) == named && redist_plan_free(&e->plan) == REDIST_OK;
  close_exchange(e);
  return good;
}

static int is_named(void) {
  redist_options options;
  exchange *e = open_exchange(0, &options);
  const int named = exchange_create_with(e, &options) == REDIST_OK ? test_is_named(e->plan) : 0;
  redist_plan_free(&e->plan);
  close_exchange(e);
  return named;
}

/* A message between the ranks of a node fails once during creation, on one of them: no rank waits
   for it, and all have the same plan, or the same error. */
static void check_messages(void) {
  const int named = is_named();
  int k, hit, bad_rank;
  for (bad_rank = 0; bad_rank < test_size(); bad_rank++)
    for (k = 0, hit = 1; hit; k++) {
      redist_options options;
      exchange *e = open_exchange(0, &options);
      const int64_t blocks = live_blocks;
      int code, good;
      until_start = is_chosen(bad_rank) ? k : NEVER;
      code = exchange_create_with(e, &options);
      hit = test_sum(is_chosen(bad_rank) && until_start == NEVER) > 0;
      until_start = NEVER;
      good = code == REDIST_OK ? exchange_is_right(e, k) && redist_plan_free(&e->plan) == REDIST_OK
                               : code == REDIST_ERR_MPI && strlen(e->message) > 10;
      good = good && live_blocks == blocks && test_sum(code) == code * test_size();
      test_case_all(is_untouched(named) && good, "message %d fails on rank %d: code %d, %s", k,
                    bad_rank, code, e->message);
      close_exchange(e);
    }
}

static void check_arena(void) {
  int bad_rank;
  for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size()) {
    const int64_t blocks = live_blocks;
    const int communicators = live_communicators;
    redist_arena *arena;
    int code;
    until_duplicate = is_chosen(bad_rank) ? 0 : NEVER;
    code = redist_arena_create(MPI_COMM_WORLD, 100, &arena);
    test_case_all(code == REDIST_ERR_MPI && arena == NULL && live_blocks == blocks &&
                      live_communicators == communicators,
                  "an arena fails on rank %d (-1: all): code %d, %ld blocks left", bad_rank, code,
                  (long)(live_blocks - blocks));
  }
  free_hidden();
}

/* In an arena, the communicator for a collective cannot be created: the plan falls back to
   messages. */
static void check_collectives_in_arena(void) {
  static const redist_method method[] = {REDIST_ALLTOALLV, REDIST_ALLTOALLW};
  int k, bad_rank;
  for (k = 0; k < 2; k++)
    for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size()) {
      redist_options options;
      redist_stats stats;
      exchange *e = open_exchange(0, &options);
      redist_arena *arena = NULL;
      int code = redist_arena_create(MPI_COMM_WORLD, 100, &arena);
      e->method = method[k];
      options.arena = arena;
      until_duplicate = is_chosen(bad_rank) ? 0 : NEVER;
      code = code == REDIST_OK ? exchange_create_with(e, &options) : code;
      until_duplicate = NEVER;
      test_case_all(
          code == REDIST_OK && redist_plan_stats(e->plan, &stats) == REDIST_OK &&
              stats.method == REDIST_POINT_TO_POINT && exchange_is_right(e, k),
          "collective %d in an arena, a duplication fails on rank %d (-1: all): code %d, %s", k,
          bad_rank, code, e->message);
      redist_plan_free(&e->plan);
      redist_arena_free(&arena);
      close_exchange(e);
    }
  free_hidden();
}

static void check_calibrate(void) {
  int bad_rank;
  for (fails_late = 0; fails_late < 2; fails_late++)
    for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size()) {
      const int64_t blocks = live_blocks;
      const int communicators = live_communicators;
      redist_cost cost;
      int code;
      until_duplicate = is_chosen(bad_rank) ? 0 : NEVER;
      code = redist_calibrate(MPI_COMM_WORLD, &cost);
      test_case_all(code == REDIST_ERR_MPI && live_blocks == blocks &&
                        live_communicators == communicators,
                    "calibrating fails on rank %d (-1: all): code %d", bad_rank, code);
      until_prepare = is_chosen(bad_rank) ? bad_rank + 2 : NEVER;
      code = redist_calibrate(MPI_COMM_WORLD, &cost);
      until_prepare = NEVER;
      test_case_all(code == REDIST_ERR_MPI && live_blocks == blocks,
                    "a message fails on rank %d (-1: all) while calibrating: code %d", bad_rank,
                    code);
    }
  free_hidden();
}

/* The k-th start of a message fails on all ranks: the plan can be freed, and others still work. Its
   communicator need not be freed: messages may still be in flight there. */
static int start_fails(int way, int k, redist_effort effort) {
  redist_options options;
  exchange *e = open_exchange(way, &options);
  const int64_t blocks = live_blocks;
  const int communicators = live_communicators;
  int hit, code, created, freed, again;
  options.effort = effort;
  e->fixed = k % 2;
  if (effort == REDIST_MEASURE) e->method = REDIST_AUTO;
  until_start = effort == REDIST_MEASURE ? k : NEVER;
  created = exchange_create_with(e, &options);
  hit = until_start == NEVER;
  until_start = effort == REDIST_MEASURE ? NEVER : k;
  code = created == REDIST_OK ? exchange_run(e) : REDIST_OK;
  hit = effort == REDIST_MEASURE ? hit : until_start == NEVER;
  until_start = NEVER;
  again = code == REDIST_OK ? REDIST_ERR_MPI : redist_start(e->plan, e->held[0][0], e->held[1][0]);
  freed = redist_plan_free(&e->plan);
  test_case_all(
      again == REDIST_ERR_MPI && created == REDIST_OK &&
          code == (hit && effort == REDIST_ESTIMATE ? REDIST_ERR_MPI : REDIST_OK) &&
          freed == REDIST_OK && live_blocks == blocks &&
          live_communicators - communicators <= 2 * hit,
      "%s, start %d fails%s: created %d, executed %d, freed %d, %ld blocks and %d communicators left",
      ways[way].name, k, effort == REDIST_MEASURE ? " while measuring" : "", created, code, freed,
      (long)(live_blocks - blocks), live_communicators - communicators);
  close_exchange(e);
  return hit;
}

static void check_starts(void) {
  int way, k;
  for (way = 2; way < WAYS_TO_MAKE; way++)
    for (k = 0; k < 40 && start_fails(way, k, REDIST_ESTIMATE); k++) continue;
  for (k = 0; k < 3; k++) start_fails(2, k * 7, REDIST_MEASURE);
}

/* ---- communicators run out ---- */

enum { MOST_DUPLICATES = 4000, SPARE = 7 };

/* Duplicates of MPI_COMM_WORLD, as many as there can be: a duplicate is a few messages, so all are
   made only once. */
static MPI_Comm all[MOST_DUPLICATES];
static int held;

/* Returns whether that is possible. */
static int exhaust(void) {
  while (held < MOST_DUPLICATES && PMPI_Comm_dup(MPI_COMM_WORLD, &all[held]) == MPI_SUCCESS) held++;
  return held < MOST_DUPLICATES;
}

static void give_back(int most) {
  int k;
  for (k = 0; k < most && held > 0; k++) PMPI_Comm_free(&all[--held]);
}

/* Leaves MPI with `spare` communicators, and creates and frees a plan. */
static void check_exhausted(int way, int spare, const exchange *older) {
  redist_options options;
  exchange *e = open_exchange(way, &options);
  const int64_t blocks = live_blocks;
  int code, good;
  give_back(spare);
  code = exchange_create_with(e, &options);
  good = code == REDIST_OK ? exchange_is_right(e, 0) && redist_plan_free(&e->plan) == REDIST_OK
                           : code == REDIST_ERR_MPI && strlen(e->message) > 10 && e->plan == NULL;
  test_case_all(good && live_blocks == blocks && (spare > 0 || code == REDIST_ERR_MPI),
                "%s with %d communicators left: code %d, %s", ways[way].name, spare, code,
                e->message);
  good = redist_execute(older->plan, older->held[0][0], older->held[1][0]) == REDIST_OK &&
         exchange_arrived(older, 0);
  test_case_all(good, "an older plan when there are %d communicators", spare);
  close_exchange(e);
}

static void check_exhaustion(void) {
  redist_options options;
  exchange *older = open_exchange(0, &options);
  int way, spare, exhausted;
  if (exchange_create_with(older, &options) != REDIST_OK || !exchange_is_right(older, 0))
    test_case_all(0, "an older plan: %s", older->message);
  exhausted = exhaust();
  for (way = 0; way < WAYS_TO_MAKE && exhausted; way++)
    for (spare = 0; spare < SPARE && exhausted; spare += way < 2 ? 1 : SPARE - 1) {
      check_exhausted(way, spare, older);
      exhausted = exhaust();
    }
  give_back(MOST_DUPLICATES);
  if (!exhausted && test_rank() == 0)
    test_skip("this MPI library has more communicators than the test uses up");
  test_case_all(redist_plan_free(&older->plan) == REDIST_OK, "the older plan is freed");
  close_exchange(older);
}

int main(int count, char **arguments) {
  int status;
  MPI_Init(&count, &arguments);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_duplicates();
  check_messages();
  check_arena();
  check_collectives_in_arena();
  check_calibrate();
  check_starts();
  check_exhaustion();
  status = test_report_all("failing_mpi");
  MPI_Finalize();
  return status;
}
