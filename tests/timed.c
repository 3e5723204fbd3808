/* redist tests: the sums of options.timed: executions, seconds of copying, seconds of waiting. No
   comparison depends on other load. MIT licence, see LICENSE. */
#include "exchange.h"

enum { EXECUTIONS = 5, ROWS = 24, COLUMNS = 36, MOST_TESTS = 50000000 };

static const redist_method methods[] = {REDIST_AUTO,           REDIST_ALLTOALLV, REDIST_ALLTOALLW,
                                        REDIST_POINT_TO_POINT, REDIST_SCHEDULED, REDIST_SHARED,
                                        REDIST_MULTIPHASE};
enum { METHODS = sizeof methods / sizeof *methods };

static double combining; /* seconds spent there */

static void add_slowly(const void *from, void *to, int64_t n, void *context) {
  const double begin = MPI_Wtime();
  int64_t k;
  (void)context;
  for (k = 0; k < n; k++) ((double *)to)[k] += ((const double *)from)[k];
  while (MPI_Wtime() - begin < 1e-5) continue;
  combining += MPI_Wtime() - begin;
}

static exchange *open_rows(redist_method method, redist_options *options) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int code;
  exchange_rows(e, ROWS, COLUMNS, TEST_CYCLIC);
  exchange_allocate(e);
  e->method = method;
  code = exchange_create_with(e, options);
  test_case_all(code == REDIST_OK, "method %d: code %d, %s", (int)method, code, e->message);
  return e;
}

static void close_rows(exchange *e) {
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* Checks a plan's statistics of its calls, which took at most so many seconds. */
static void check_method(redist_method method, int timed, int combine) {
  redist_options options;
  redist_stats stats;
  exchange *e;
  double elapsed = 0, begin;
  int k, good = 1;
  memset(&options, 0, sizeof options);
  options.timed = timed;
  options.combine = combine ? add_slowly : NULL;
  options.effort = REDIST_MEASURE; /* its executions are not counted */
  e = open_rows(method, &options);
  combining = 0;
  for (k = 0; k < EXECUTIONS; k++) {
    e->way = k % 3 == 0 ? EXECUTE : k % 3 == 1 ? START_WAIT : START_TEST;
    exchange_prepare(e, k);
    begin = MPI_Wtime();
    good = exchange_run(e) == REDIST_OK && good;
    elapsed += MPI_Wtime() - begin;
    good = good && (combine || exchange_arrived(e, k));
  }
  redist_plan_stats(e->plan, &stats);
  test_case_all(good && stats.executions == EXECUTIONS, "method %d: %ld executions", (int)method,
                (long)stats.executions);
  if (!timed)
    test_case_all(stats.copying == 0 && stats.waiting == 0, "method %d: not timed", (int)method);
  else
    test_case_all(stats.copying >= 0 && stats.waiting > 0 &&
                      stats.copying + stats.waiting <= elapsed &&
                      (!combine || (stats.copying >= combining && combining > 0)),
                  "method %d: %g s copying, of these %g combining, %g waiting, in %g", (int)method,
                  stats.copying, combining, stats.waiting, elapsed);
  if (timed && !combine && method != REDIST_ALLTOALLW && exchange_owned(e, 0) > 0)
    test_case(stats.copying > 0, "method %d: no time for copies", (int)method);
  close_rows(e);
}

/* A rank whose peers have not started waits, and its statistics say so. */
static void check_waiting(redist_method method) {
  redist_options options;
  redist_stats stats;
  exchange *e;
  int64_t tests = 0;
  int done = 0, go = 0, code;
  memset(&options, 0, sizeof options);
  options.timed = 1;
  e = open_rows(method, &options);
  e->way = START_TEST;
  exchange_prepare(e, 0);
  redist_plan_stats(e->plan, &stats);
  if (test_rank() > 0) MPI_Recv(&go, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  code = exchange_start(e);
  while (test_rank() == 0 && stats.waiting < 1e-3 && tests++ < MOST_TESTS && code == REDIST_OK) {
    code = redist_test(e->plan, &done);
    redist_plan_stats(e->plan, &stats);
  }
  for (go = 1; test_rank() == 0 && go < test_size(); go++)
    MPI_Send(&go, 1, MPI_INT, go, 5, MPI_COMM_WORLD);
  if (code == REDIST_OK && !done) code = redist_wait(e->plan);
  test_case_all(code == REDIST_OK && exchange_arrived(e, 0) &&
                    (test_rank() > 0 || stats.waiting >= 1e-3),
                "method %d: waiting for peers that come later: code %d, %g s", (int)method, code,
                stats.waiting);
  close_rows(e);
}

/* Two plans of an arena progress each other: neither counts the other's copies. */
static void check_arena(void) {
  redist_options options;
  redist_stats stats[2];
  redist_plan *plan[2];
  exchange *e[2];
  double elapsed[2];
  int k, code;
  memset(&options, 0, sizeof options);
  redist_arena_create(MPI_COMM_WORLD, 1 << 16, &options.arena);
  options.timed = 1;
  for (k = 0; k < 2; k++) {
    e[k] = open_rows(REDIST_SHARED, &options);
    plan[k] = e[k]->plan;
    e[k]->way = START_TEST;
    exchange_prepare(e[k], 0);
  }
  for (k = 0; k < 2; k++) {
    elapsed[k] = MPI_Wtime();
    exchange_start(e[k]);
  }
  code = redist_wait_all(2, plan);
  for (k = 0; k < 2; k++) {
    elapsed[k] = MPI_Wtime() - elapsed[k];
    redist_plan_stats(plan[k], &stats[k]);
    test_case_all(code == REDIST_OK && stats[k].copying > 0 && stats[k].waiting >= 0 &&
                      stats[k].copying + stats[k].waiting <= elapsed[k],
                  "plan %d of an arena: %g copying, %g waiting, in %g", k, stats[k].copying,
                  stats[k].waiting, elapsed[k]);
    close_rows(e[k]);
  }
  redist_arena_free(&options.arena);
}

/* The report has both lines on rank 0, and only where a plan is timed. */
static void check_report(int timed) {
  redist_options options;
  char line[256];
  FILE *file = tmpfile();
  exchange *e;
  int found = 0, code;
  memset(&options, 0, sizeof options);
  options.timed = timed;
  e = open_rows(REDIST_AUTO, &options);
  exchange_is_right(e, 0);
  code = redist_plan_print(e->plan, file);
  rewind(file);
  while (fgets(line, sizeof line, file) != NULL)
    found += strstr(line, "  copying ") == line || strstr(line, "  waiting ") == line;
  test_case_all(code == REDIST_OK && found == (timed && test_rank() == 0 ? 2 : 0),
                "the report of a plan, timed %d: %d lines", timed, found);
  fclose(file);
  close_rows(e);
}

int main(int argc, char **argv) {
  int k;
  MPI_Init(&argc, &argv);
  for (k = 0; k < METHODS; k++) {
    check_method(methods[k], 1, 0);
    check_method(methods[k], 1, 1);
    check_method(methods[k], 0, 0);
    if (test_size() > 1) check_waiting(methods[k]);
  }
  check_arena();
  check_report(0);
  check_report(1);
  k = test_report_all("timed");
  MPI_Finalize();
  return k;
}
