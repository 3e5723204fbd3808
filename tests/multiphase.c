/* redist tests: chains of plans with several phases, in every kind of execution; and the costs by
   which they are chosen. MIT licence, see LICENSE. */
#define TEST_LENGTH 4096
#define TEST_ELEMENTS 40000
#define TEST_LARGEST 40000
#include "exchange.h"
#include "inside.h"

enum { WIDTH = 23 };

static int gathers; /* collectives by plans that find the ranks of nodes */

int MPI_Iallgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype its,
                   MPI_Comm comm, MPI_Request *request) {
  gathers++;
  return PMPI_Iallgather(from, n, type, to, m, its, comm, request);
}

static int on_machines; /* two ranks each */

int MPI_Get_processor_name(char *name, int *length) {
  if (!on_machines) return PMPI_Get_processor_name(name, length);
  *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "machine %d", test_rank() / 2);
  return MPI_SUCCESS;
}

/* Rows in blocks to rows distributed one by one: from squares of 6 and 8 ranks on, two phases have
   fewer messages. */
static exchange *chain(int arrays, int64_t width) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  const int64_t rows = (int64_t)e->size * e->size;
  e->arrays[0].ndim = e->arrays[1].ndim = 2;
  exchange_axis(&e->arrays[0].axes[0], TEST_BLOCK, rows, e->size);
  exchange_axis(&e->arrays[1].axes[0], TEST_CYCLIC, rows, e->size);
  exchange_axis(&e->arrays[0].axes[1], TEST_WHOLE, width, 1);
  exchange_axis(&e->arrays[1].axes[1], TEST_WHOLE, width, 1);
  exchange_describe(e);
  e->method = REDIST_MULTIPHASE;
  e->seed = 1; /* expensive messages */
  e->count = arrays;
  e->many = arrays > 1;
  return e;
}

static int chain_create(exchange *e, int64_t max_buffer, redist_arena *arena) {
  redist_options options;
  memset(&options, 0, sizeof options);
  options.node_ranks = arena == NULL ? 1 : 0;
  options.max_buffer = (size_t)max_buffer;
  options.arena = arena;
  return exchange_create_with(e, &options);
}

static redist_stats stats_of(const redist_plan *plan) {
  redist_stats stats;
  memset(&stats, 0, sizeof stats);
  redist_plan_stats(plan, &stats);
  return stats;
}

/* Both plans in progress at once, tested alternately. */
static int both_run(exchange *e, exchange *f, int number) {
  int done[2] = {0, 0}, code;
  exchange_prepare(e, number);
  exchange_prepare(f, number);
  e->way = f->way = START_TEST;
  code = redist_start(e->plan, e->held[0][0], e->held[1][0]);
  code |= redist_start(f->plan, f->held[0][0], f->held[1][0]);
  while (code == REDIST_OK && (!done[0] || !done[1])) {
    if (!done[0]) code |= redist_test(e->plan, &done[0]);
    if (!done[1]) code |= redist_test(f->plan, &done[1]);
    sched_yield();
  }
  return code == REDIST_OK && exchange_arrived(e, number) && exchange_arrived(f, number);
}

static void check_ways(int arrays, int in_place, int fixed) {
  exchange *e = chain(arrays, WIDTH);
  int code;
  e->in_place = in_place;
  e->fixed = fixed;
  exchange_allocate(e);
  code = chain_create(e, 0, NULL);
  test_case_all(code == REDIST_OK && stats_of(e->plan).method == REDIST_MULTIPHASE &&
                    stats_of(e->plan).phases > 1,
                "%d arrays, in place %d: code %d, %s", arrays, in_place, code, e->message);
  test_case_all(code == REDIST_OK &&
                    test_sum((int)stats_of(e->plan).sends) < e->size * (e->size - 1),
                "fewer messages than at once");
  for (e->way = 0; code == REDIST_OK && e->way < WAYS; e->way++)
    test_case_all(exchange_is_right(e, e->way) && exchange_is_right(e, WAYS + e->way),
                  "%d arrays, in place %d, fixed %d, way %d", arrays, in_place, fixed, e->way);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

static void check_two_at_once(void) {
  exchange *e = chain(1, WIDTH), *f = chain(1, 2 * WIDTH);
  int done = 0, good;
  e->seed = 4;
  exchange_allocate(e);
  exchange_allocate(f);
  good = chain_create(e, 0, NULL) == REDIST_OK && chain_create(f, 0, NULL) == REDIST_OK;
  test_case_all(good && both_run(e, f, 0) && both_run(f, e, 1), "two chains at once");
  good = good && redist_wait(e->plan) == REDIST_ERR_BUSY &&
         redist_test(e->plan, &done) == REDIST_ERR_BUSY;
  exchange_prepare(e, 2);
  good = good && redist_start(e->plan, e->held[0][0], e->held[1][0]) == REDIST_OK &&
         redist_start(e->plan, e->held[0][0], e->held[1][0]) == REDIST_ERR_BUSY &&
         redist_plan_free(&e->plan) == REDIST_ERR_BUSY && e->plan != NULL &&
         redist_wait(e->plan) == REDIST_OK;
  test_case_all(good && exchange_arrived(e, 2), "a started chain is not freed, nor started again");
  redist_plan_free(&f->plan);
  redist_plan_free(&e->plan);
  exchange_release(f);
  exchange_release(e);
  free(f);
  free(e);
}

/* Combining in place leaves an element that is its own destination unchanged: a chain would pass it
   through other ranks. */
static void check_resting(void) {
  enum { MOST = 16 };
  static double grid[4 * MOST * MOST];
  const int p = test_size() < MOST ? test_size() : MOST, n = 2 * p, rank = test_rank();
  const redist_layout rows = redist_layout_2d(redist_block(n, p), redist_whole(n));
  const redist_layout columns =
      redist_with_allocated(redist_layout_2d(redist_whole(n), redist_block(n, p)), 1, n);
  redist_options options;
  redist_op op;
  redist_plan *plan;
  int k, code, right = 1;
  memset(&options, 0, sizeof options);
  memset(&op, 0, sizeof op);
  op.op = MPI_SUM;
  op.type = MPI_DOUBLE;
  options.method = REDIST_MULTIPHASE;
  options.in_place = 1;
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-9;
  options.combine = redist_combine_op;
  options.context = &op;
  for (k = 0; k < n * n; k++) grid[k] = 1000 * rank + k;
  code = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, grid, grid);
  /* row k / n, column 2 * rank + k % n, of which the first two are here */
  for (k = 0; k < n * n; k++) {
    const int owner = k / n / 2, arrives = k % n < 2 && (owner > 0 || rank > 0);
    right &= grid[k] ==
             1000 * rank + k + (arrives ? 1000 * owner + (k / n % 2) * n + 2 * rank + k % n : 0);
  }
  test_case_all(code == REDIST_OK && right, "combined in place: code %d", code);
  redist_plan_free(&plan);
}

/* Received elements replace those of the destination, one by one. */
static void replace(const void *from, void *to, int64_t n, void *context) {
  memcpy(to, from, (size_t)n * sizeof(double));
  *(int64_t *)context += n;
}

/* The last phase combines, and only that. */
static void check_combined(int arrays) {
  exchange *e = chain(arrays, WIDTH);
  redist_options options;
  int64_t combined = 0;
  int code;
  memset(&options, 0, sizeof options);
  options.combine = replace;
  options.context = &combined;
  exchange_allocate(e);
  code = exchange_create_with(e, &options);
  test_case_all(code == REDIST_OK && stats_of(e->plan).phases > 1 && exchange_is_right(e, 2) &&
                    combined == arrays * exchange_owned(e, 1),
                "%d arrays combined once: code %d", arrays, code);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* The function of the only part combines as the plan's would. */
static void check_combined_part(void) {
  exchange *e = chain(1, WIDTH);
  redist_part part;
  redist_options options;
  int64_t combined = 0;
  int code;
  memset(&part, 0, sizeof part);
  memset(&options, 0, sizeof options);
  part.from = &e->layouts[0];
  part.to = &e->layouts[1];
  part.element = e->type;
  part.combine = replace;
  part.context = &combined;
  options.method = REDIST_MULTIPHASE;
  options.node_ranks = 1;
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-9;
  e->many = 1;
  exchange_allocate(e);
  code = redist_plan_create_parts(e->comm, 1, &part, &options, &e->plan);
  test_case_all(code == REDIST_OK && stats_of(e->plan).phases > 1 && exchange_is_right(e, 2) &&
                    combined == exchange_owned(e, 1),
                "a part's function combined once: code %d", code);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* Slabs along one axis to slabs along the next, both views changed by `operation`; or to replicas
   on fewer ranks, or, without copies, from other ranks. */
static void check_slabs(int operation, int copies) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  const int64_t n = 2 * e->size;
  int d, k, code;
  for (k = 0; k < 2; k++) {
    test_array *a = &e->arrays[k];
    a->ndim = 2;
    exchange_axis(&a->axes[k], k == 0 ? TEST_BLOCK : TEST_CYCLIC, n,
                  k == 0 ? e->size : e->size / (copies > 1 ? copies : 1));
    exchange_axis(&a->axes[!k], TEST_WHOLE, n, 1);
    a->operations = operation < TEST_OPERATION_KINDS;
    a->list[0].kind = operation;
    a->list[0].axis = 1;
    a->list[0].count = n - 1; /* of a section */
    a->list[0].step = 1;
    a->listed = k;
    for (d = 0; d < e->size; d++) a->ranks[d] = e->size - 1 - d;
  }
  if (copies == 0) e->arrays[0].axes[0].first = 1;
  if (copies != 1) e->arrays[1].listed = 0;
  exchange_describe(e);
  if (copies > 1) {
    e->layouts[1] = redist_replicated(e->layouts[1], copies);
    d = e->size / copies;
    e->place[1] = e->rank < copies * d ? e->rank % d : -1;
  }
  e->method = REDIST_MULTIPHASE;
  e->seed = 1;
  exchange_allocate(e);
  code = exchange_create(e);
  test_case_all(code == REDIST_OK && exchange_is_right(e, 0) && exchange_is_right(e, WAYS),
                "operation %d, %d copies: code %d, %s", operation, copies, code, e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* Elements received by several ranks, in ghost cells, pass through no other ranks. */
static void check_ghosts(int ghosts) {
  exchange *e = chain(1, WIDTH);
  const int64_t rows = (int64_t)e->size * e->size;
  int code;
  e->layouts[1] = redist_layout_2d(redist_whole(rows), redist_block(WIDTH, e->size));
  e->layouts[1] = redist_with_halo(e->layouts[1], 1, 1, 1);
  if (ghosts) e->layouts[1] = redist_with_ghosts(e->layouts[1], 1, REDIST_CLOSED);
  code = chain_create(e, 0, NULL);
  test_case_all(code == REDIST_OK && (stats_of(e->plan).phases == 1) == ghosts,
                "to slabs, ghost cells %d: code %d, %d phases", ghosts, code,
                code == REDIST_OK ? stats_of(e->plan).phases : 0);
  redist_plan_free(&e->plan);
  free(e);
}

/* The report lists the layouts between the phases, the last of which is the destination. */
static void check_report(void) {
  exchange *e = chain(1, WIDTH);
  char text[8192] = "", last[16], *phase, *to, *end;
  FILE *file = tmpfile();
  int good = file != NULL && chain_create(e, 0, NULL) == REDIST_OK &&
             redist_plan_print(e->plan, file) == REDIST_OK;
  if (good && e->rank == 0) {
    snprintf(last, sizeof last, "\n  phase %d ", stats_of(e->plan).phases);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    to = strstr(text, "\n  to        ");
    phase = strstr(text, last);
    good = to != NULL && phase != NULL && (phase = strstr(phase, " to ")) != NULL &&
           (end = strchr(to + 1, '\n')) != NULL &&
           strncmp(to + 13, phase + 4, (size_t)(end - to - 12)) == 0;
  }
  test_case_all(good, "the report's last phase leads to the destination: %s", text);
  if (file != NULL) fclose(file);
  redist_plan_free(&e->plan);
  free(e);
}

/* Measuring includes the chain, within the limits. */
static void check_measured(void) {
  exchange *e = chain(1, WIDTH);
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  options.effort = REDIST_MEASURE;
  options.node_ranks = 1;
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-6;
  e->method = REDIST_AUTO;
  exchange_allocate(e);
  code = exchange_create_with(e, &options);
  test_case_all(code == REDIST_OK && test_seconds(e->plan, REDIST_MULTIPHASE) > 0 &&
                    exchange_is_right(e, 0),
                "measured: code %d, %s", code, e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* The memory of the whole chain, its phases' staging and the arrays in between, stays within
   max_buffer. */
static void check_limits(int arrays, int in_place) {
  static const int percents[] = {100, 70, 55, 51, 40, 20, 1};
  exchange *e = chain(arrays, 400);
  int64_t whole;
  int code, chains = 0;
  size_t k;
  e->in_place = in_place;
  exchange_allocate(e);
  code = chain_create(e, 0, NULL);
  whole = code == REDIST_OK ? stats_of(e->plan).buffer_bytes : 0;
  MPI_Allreduce(MPI_IN_PLACE, &whole, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  redist_plan_free(&e->plan);
  for (k = 0; k < sizeof percents / sizeof *percents; k++) {
    const int64_t limit = whole * percents[k] / 100;
    const char *bytes;
    code = chain_create(e, limit, NULL);
    chains += code == REDIST_OK && stats_of(e->plan).phases > 1;
    bytes = strstr(e->message, " needs ");
    if (code == REDIST_OK)
      test_case_all(exchange_is_right(e, (int)k) && stats_of(e->plan).buffer_bytes <= limit,
                    "%d arrays, in place %d: holds %" PRId64 " of %" PRId64, arrays, in_place,
                    stats_of(e->plan).buffer_bytes, limit);
    else
      test_case_all(code == REDIST_ERR_MEMORY && e->plan == NULL && bytes != NULL &&
                        strtoll(bytes + 7, NULL, 10) > limit,
                    "at most %" PRId64 ": code %d, %s", limit, code, e->message);
    test_case_all(test_sum(code) == code * e->size, "the same outcome on all ranks");
    redist_plan_free(&e->plan);
  }
  test_case_all(chains > 1, "%d chains within limits", chains);
  exchange_release(e);
  free(e);
}

static void check_arena(void) {
  exchange *e = chain(1, WIDTH);
  redist_arena *arena = NULL;
  int code = redist_arena_create(MPI_COMM_WORLD, 2 * exchange_bytes(e, 0) + 256, &arena);
  if (code == REDIST_OK) {
    e->held[0][0] = redist_arena_alloc(arena, exchange_bytes(e, 0));
    e->held[1][0] = redist_arena_alloc(arena, exchange_bytes(e, 1));
    code = chain_create(e, 0, arena);
  }
  test_case_all(code == REDIST_OK && stats_of(e->plan).phases > 1 && exchange_is_right(e, 0) &&
                    exchange_is_right(e, 1),
                "arrays in an arena: code %d, %s", code, e->message);
  redist_plan_free(&e->plan);
  redist_arena_free(&arena);
  free(e);
}

/* A chain where the first rank owns nothing before, and the last nothing after. */
static void check_other_ranks(void) {
  exchange *e = chain(2, WIDTH);
  const int64_t rows = (int64_t)(e->size - 1) * (e->size - 1);
  int code;
  memset(e->arrays, 0, sizeof e->arrays);
  e->arrays[0].ndim = e->arrays[1].ndim = 2;
  exchange_axis(&e->arrays[0].axes[0], TEST_BLOCK, rows, e->size - 1);
  exchange_axis(&e->arrays[1].axes[0], TEST_CYCLIC, rows, e->size - 1);
  exchange_axis(&e->arrays[0].axes[1], TEST_WHOLE, WIDTH, 1);
  exchange_axis(&e->arrays[1].axes[1], TEST_WHOLE, WIDTH, 1);
  exchange_describe(e);
  e->layouts[0] = redist_from_rank(e->layouts[0], 0);
  exchange_allocate(e);
  code = chain_create(e, 0, NULL);
  test_case_all(code == REDIST_OK && exchange_is_right(e, 0) && exchange_is_right(e, 1),
                "a rank that owns nothing: code %d, %s", code, e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* From nine ranks on: three phases, with arrays in between in two buffers. */
static void check_long_chain(int arrays, int in_place) {
  exchange *e = chain(arrays, WIDTH);
  const int64_t rows = 17 * (int64_t)e->size + 1;
  int code;
  exchange_axis(&e->arrays[0].axes[0], TEST_BLOCK, rows, e->size);
  exchange_axis(&e->arrays[1].axes[0], TEST_CYCLIC, rows, e->size);
  exchange_describe(e);
  e->in_place = in_place;
  exchange_allocate(e);
  code = chain_create(e, 0, NULL);
  test_case_all(code == REDIST_OK && stats_of(e->plan).phases > 2 && exchange_is_right(e, 0) &&
                    exchange_is_right(e, 1),
                "%d arrays in %d phases: code %d, %s", arrays,
                code == REDIST_OK ? stats_of(e->plan).phases : 0, code, e->message);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

static void check_costs(void) {
  redist_cost cost = {0, 0};
  double least[2], most[2];
  int code = redist_calibrate(MPI_COMM_WORLD, &cost);
  MPI_Allreduce(&cost, least, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&cost, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  test_case_all(code == REDIST_OK && cost.per_message > 0 && cost.per_byte > 0 &&
                    least[0] >= most[0] && least[1] >= most[1],
                "calibrated: code %d, %g and %g seconds", code, cost.per_message, cost.per_byte);
  test_case_all(redist_calibrate(MPI_COMM_NULL, &cost) == REDIST_ERR_ARGUMENT &&
                    redist_calibrate(MPI_COMM_WORLD, NULL) == REDIST_ERR_ARGUMENT,
                "nothing to calibrate");
  test_case_all(redist_calibrate(MPI_COMM_WORLD, test_rank() == 1 ? NULL : &cost) ==
                    REDIST_ERR_ARGUMENT,
                "one rank has no room for the costs");
}

/* An estimate finds the ranks of a node at most once. */
static void check_estimate(void) {
  exchange *e = chain(1, WIDTH);
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  e->method = REDIST_AUTO;
  options.cost.per_message = 1e-6;
  options.cost.per_byte = 1e-10;
  gathers = 0;
  on_machines = 1;
  code = redist_plan_create(e->comm, &e->layouts[0], &e->layouts[1], e->type, &options, &e->plan);
  on_machines = 0;
  test_case_all(code == REDIST_OK && gathers == 1, "an estimate: code %d, %d gathers", code,
                gathers);
  redist_plan_free(&e->plan);
  free(e);
}

static int code_of_costs(double per_message, double per_byte, char *message, size_t size) {
  exchange *e = chain(1, WIDTH);
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  options.method = REDIST_MULTIPHASE;
  options.node_ranks = 1;
  options.cost.per_message = per_message;
  options.cost.per_byte = per_byte;
  options.message = message;
  options.message_size = size;
  code = redist_plan_create(e->comm, &e->layouts[0], &e->layouts[1], e->type, &options, &e->plan);
  redist_plan_free(&e->plan);
  free(e);
  return code;
}

static void check_bad_costs(void) {
  static const double zero;
  const double bad[] = {-1, -1e-30, 1 / zero, -1 / zero, zero / zero};
  char message[300];
  size_t k;
  for (k = 0; k < sizeof bad / sizeof *bad; k++) {
    test_case_all(code_of_costs(bad[k], 1e-6, message, sizeof message) == REDIST_ERR_ARGUMENT &&
                      strstr(message, "cost.per_message") != NULL,
                  "a message costs %g: %s", bad[k], message);
    test_case_all(code_of_costs(1, test_rank() == 1 ? bad[k] : 1e-6, message, sizeof message) ==
                          REDIST_ERR_ARGUMENT &&
                      strstr(message, "rank 1: options.cost") != NULL,
                  "on rank 1 a byte costs %g: %s", bad[k], message);
  }
  test_case_all(code_of_costs(1e-20, test_rank() == 1 ? 1e-20 : 1e-26, message, sizeof message) ==
                    REDIST_ERR_MISMATCH,
                "tiny costs that differ: %s", message);
  test_case_all(code_of_costs(1e300, test_rank() == 1 ? 1e300 : 1e294, message, sizeof message) ==
                    REDIST_ERR_MISMATCH,
                "huge costs that differ: %s", message);
}

static void check_short_chains(void) {
  int arrays;
  check_estimate();
  for (arrays = 1; arrays <= 3; arrays += 2) {
    check_ways(arrays, 0, 0);
    check_ways(arrays, 1, 0);
    check_limits(arrays, 0);
    check_limits(arrays, 1);
  }
  check_ways(1, 0, 1);
  check_resting();
  check_two_at_once();
  check_report();
  check_measured();
  check_combined(1);
  check_combined(3);
  check_combined_part();
  check_slabs(TEST_SECTION, 1);
  check_slabs(TEST_FLIP, 1);
  check_slabs(TEST_RANKS, 1);
  check_slabs(TEST_OPERATION_KINDS, 2);
  check_slabs(TEST_OPERATION_KINDS, 0);
  check_ghosts(0);
  check_ghosts(1);
  check_arena();
  check_other_ranks();
  check_costs();
  check_bad_costs();
}

int main(int argc, char **argv) {
  int arrays;
  MPI_Init(&argc, &argv);
  if (test_size() < 9) check_short_chains();
  for (arrays = 1; arrays <= 3 && test_size() >= 9; arrays += 2) {
    check_long_chain(arrays, 0);
    check_long_chain(arrays, 1);
  }
  arrays = test_report_all("multiphase");
  MPI_Finalize();
  return arrays;
}
