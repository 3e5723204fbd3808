/* redist tests: with options.checked a mistake of one rank, when it starts a plan, is the same error
   on all, and the plan can be used again. MIT licence, see LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

enum { N = 12, M = 10 };

static const redist_method methods[] = {REDIST_AUTO,           REDIST_ALLTOALLV, REDIST_ALLTOALLW,
                                        REDIST_POINT_TO_POINT, REDIST_SCHEDULED, REDIST_SHARED,
                                        REDIST_MULTIPHASE};
enum { METHODS = sizeof methods / sizeof *methods };

/* What a rank may do wrong. */
typedef enum { SOURCE, TARGET, UNALIGNED, OVERLAP, LIST, NUMBER, STARTED, MISTAKES } mistake;
static const struct {
  int code;
  const char *says;
} expected[MISTAKES] = {{REDIST_ERR_ARGUMENT, "source 0 is NULL"},
                        {REDIST_ERR_ARGUMENT, "destination 0 is NULL"},
                        {REDIST_ERR_ARGUMENT, "destination 0 is not aligned"},
                        {REDIST_ERR_ALIAS, "source 0 and destination 0 overlap"},
                        {REDIST_ERR_ARGUMENT, "the list of source arrays is NULL"},
                        {REDIST_ERR_ARGUMENT, "call redist_execute_many"},
                        {REDIST_ERR_BUSY, "started and not yet complete"}};

/* A plan from rows to columns, of one array or of two parts. */
typedef struct {
  redist_layout rows, columns;
  redist_plan *plan;
  int arrays;
  double *from[2], *to[2];
} exchange;

static void prepare(exchange *e, int round) {
  redist_shape s;
  int64_t i, j;
  int a;
  redist_layout_shape(&e->rows, test_rank(), &s);
  for (a = 0; a < e->arrays; a++) {
    for (i = 0; i < s.count[0]; i++)
      for (j = 0; j < s.count[1]; j++)
        e->from[a][s.origin + i * s.stride[0] + j * s.stride[1]] =
            (double)(((s.first[0] + i) * M + s.first[1] + j) * 2 + a + 1000 * round);
    memset(e->to[a], 0,
           (size_t)redist_layout_local_size(&e->columns, test_rank()) * sizeof(double));
  }
}

static int arrived(const exchange *e, int round) {
  redist_shape s;
  int64_t i, j;
  int a, good = 1;
  redist_layout_shape(&e->columns, test_rank(), &s);
  for (a = 0; a < e->arrays; a++)
    for (i = 0; i < s.count[0]; i++)
      for (j = 0; j < s.count[1]; j++)
        good = good && e->to[a][s.origin + i * s.stride[0] + j * s.stride[1]] ==
                           (double)(((s.first[0] + i) * M + s.first[1] + j) * 2 + a + 1000 * round);
  return good;
}

/* Starts an execution, with a mistake; MISTAKES: without. */
static int start_with(const exchange *e, mistake m, int blocking) {
  const void *from[2];
  void *to[2];
  int a;
  for (a = 0; a < 2; a++) {
    from[a] = e->from[a];
    to[a] = e->to[a];
  }
  if (m == SOURCE) from[0] = NULL;
  if (m == TARGET) to[0] = NULL;
  if (m == UNALIGNED) to[0] = (char *)to[0] + 1;
  if (m == OVERLAP) to[0] = (char *)e->from[0] + sizeof(double);
  if (m == NUMBER)
    return blocking ? redist_execute(e->plan, from[0], to[0])
                    : redist_start(e->plan, from[0], to[0]);
  return blocking ? redist_execute_many(e->plan, m == LIST ? NULL : from, to)
                  : redist_start_many(e->plan, m == LIST ? NULL : from, to);
}

static int start(const exchange *e, int blocking) { return start_with(e, MISTAKES, blocking); }

/* All ranks have the error and the sentence of the bad rank. */
static int all_know(const exchange *e, int code, mistake m, int bad) {
  char mine[512], theirs[512], begins[32];
  memset(mine, 0, sizeof mine);
  snprintf(mine, sizeof mine, "%s", redist_plan_message(e->plan));
  memcpy(theirs, mine, sizeof theirs);
  MPI_Bcast(theirs, sizeof theirs, MPI_CHAR, bad, MPI_COMM_WORLD);
  snprintf(begins, sizeof begins, "rank %d: ", bad);
  return code == expected[m].code && strcmp(mine, theirs) == 0 &&
         strncmp(mine, begins, strlen(begins)) == 0 && strstr(mine, expected[m].says) != NULL;
}

static int runs(exchange *e, int round) {
  int code;
  prepare(e, round);
  MPI_Barrier(MPI_COMM_WORLD); /* plans in an arena write to arrays of others */
  code = start(e, round % 2);
  if (round % 2 == 0 && code == REDIST_OK) code = redist_wait(e->plan);
  return code == REDIST_OK && arrived(e, round);
}

/* One rank has not waited for the last execution when the next one begins. */
static void check_started(exchange *e, int bad, const char *name) {
  int code, good;
  prepare(e, 7);
  MPI_Barrier(MPI_COMM_WORLD);
  good = start(e, 0) == REDIST_OK;
  if (test_rank() != bad) good = redist_wait(e->plan) == REDIST_OK && good;
  code = start(e, 0);
  good = all_know(e, code, STARTED, bad) && good;
  if (test_rank() == bad) good = redist_wait(e->plan) == REDIST_OK && good;
  good = good && arrived(e, 7);
  test_case_all(good, "%s: rank %d had started: code %d, %s", name, bad, code,
                redist_plan_message(e->plan));
  test_case_all(runs(e, 8) && runs(e, 9), "%s: used again after rank %d had started", name, bad);
}

static void check_mistakes(exchange *e, const char *name) {
  int m, bad, blocking, code;
  for (m = 0; m < STARTED; m++)
    for (bad = 0; bad < test_size(); bad++)
      for (blocking = 0; blocking < 2; blocking++) {
        if (m == NUMBER && e->arrays == 1) continue;
        prepare(e, 3);
        MPI_Barrier(MPI_COMM_WORLD);
        code = start_with(e, test_rank() == bad ? (mistake)m : MISTAKES, blocking);
        test_case_all(all_know(e, code, (mistake)m, bad), "%s: mistake %d of rank %d: code %d, %s",
                      name, m, bad, code, redist_plan_message(e->plan));
        test_case_all(runs(e, 4) && runs(e, 5), "%s: used again after mistake %d of rank %d", name,
                      m, bad);
      }
  for (bad = 0; bad < test_size(); bad++) check_started(e, bad, name);
}

static void check_method(redist_method method, int arrays, redist_arena *arena) {
  const size_t bytes = (size_t)N * M * sizeof(double);
  redist_options options;
  redist_part part[2];
  exchange e;
  char name[80], message[300];
  int a, code;
  memset(&e, 0, sizeof e);
  memset(&options, 0, sizeof options);
  e.arrays = arrays;
  e.rows = redist_layout_2d(redist_balanced(N, test_size()), redist_whole(M));
  e.columns = redist_layout_2d(redist_whole(N), redist_balanced(M, test_size()));
  options.method = method;
  options.checked = 1;
  options.arena = arena;
  options.message = message;
  options.message_size = sizeof message;
  for (a = 0; a < 2; a++) {
    memset((void *)&part[a], 0, sizeof part[a]);
    part[a].from = &e.rows;
    part[a].to = &e.columns;
    part[a].element = MPI_DOUBLE;
    e.from[a] = (double *)malloc(bytes + 16);
    e.to[a] = (double *)malloc(bytes + 16);
  }
  snprintf(name, sizeof name, "method %d, %d arrays%s", (int)method, arrays,
           arena != NULL ? ", arena" : "");
  code = redist_plan_create_parts(MPI_COMM_WORLD, arrays, part, &options, &e.plan);
  test_case_all(code == REDIST_OK, "%s: code %d, %s", name, code, message);
  if (code == REDIST_OK) check_mistakes(&e, name);
  redist_plan_free(&e.plan);
  for (a = 0; a < 2; a++) {
    free(e.from[a]);
    free(e.to[a]);
  }
}

/* Ranks must agree that they check; a plan that does not reports nothing to the others. */
static void check_options(void) {
  const redist_layout rows = redist_layout_2d(redist_balanced(N, test_size()), redist_whole(M));
  redist_options options;
  redist_plan *plan = NULL;
  char message[300] = "";
  double a[N * M], b[N * M];
  int code;
  memset(&options, 0, sizeof options);
  memset(a, 0, sizeof a);
  options.message = message;
  options.message_size = sizeof message;
  options.checked = test_rank() == test_size() - 1;
  code = redist_plan_create(MPI_COMM_WORLD, &rows, &rows, MPI_DOUBLE, &options, &plan);
  test_case_all(test_size() == 1 ||
                    (code == REDIST_ERR_MISMATCH && strstr(message, "checked is 1")),
                "one rank checks: code %d, %s", code, message);
  redist_plan_free(&plan);
  options.checked = 0;
  code = redist_plan_create(MPI_COMM_WORLD, &rows, &rows, MPI_DOUBLE, &options, &plan);
  code = code != REDIST_OK  ? code
         : test_rank() == 0 ? redist_execute(plan, NULL, b)
                            : redist_execute(plan, a, b); /* all elements stay on their rank */
  test_case_all(code == (test_rank() == 0 ? REDIST_ERR_ARGUMENT : REDIST_OK) &&
                    strncmp(redist_plan_message(plan), "rank", 4) != 0,
                "unchecked: code %d, %s", code, redist_plan_message(plan));
  redist_plan_free(&plan);
}

int main(int argc, char **argv) {
  redist_arena *arena = NULL;
  int k, status;
  MPI_Init(&argc, &argv);
  for (k = 0; k < METHODS; k++) {
    check_method(methods[k], 1, NULL);
    if (methods[k] != REDIST_MULTIPHASE) check_method(methods[k], 2, NULL);
  }
  test_case_all(redist_arena_create(MPI_COMM_WORLD, 4096, &arena) == REDIST_OK, "an arena");
  check_method(REDIST_SHARED, 2, arena);
  check_method(REDIST_POINT_TO_POINT, 1, arena);
  redist_arena_free(&arena);
  check_options();
  status = test_report_all("checked");
  MPI_Finalize();
  return status;
}
