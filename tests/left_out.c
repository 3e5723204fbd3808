/* redist tests: plans where methods are left out of the header: by name they are refused, and no
   fallback chooses them. MIT licence, see LICENSE. */
#define REDIST_NO_MULTIPHASE
#define REDIST_NO_SCHEDULED
#include "exchange.h"

static exchange *columns(redist_method method) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  exchange_rows(e, 24, 17, TEST_CYCLIC);
  e->method = method;
  exchange_allocate(e);
  return e;
}

static void release(exchange *e) {
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

static void check_refused(redist_method method, const char *macro) {
  exchange *e = columns(method);
  const int code = exchange_create(e);
  test_case_all(code == REDIST_ERR_ARGUMENT && e->plan == NULL && strstr(e->message, macro) != NULL,
                "%s: code %d, %s", macro, code, e->message);
  release(e);
}

/* REDIST_AUTO with very little staging memory, where it would choose REDIST_SCHEDULED. */
static void check_chosen(redist_effort effort, int64_t max_buffer) {
  exchange *e = columns(REDIST_AUTO);
  redist_options options;
  redist_stats stats;
  int code;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.effort = effort;
  options.max_buffer = (size_t)max_buffer;
  code = exchange_create_with(e, &options);
  if (code == REDIST_OK) redist_plan_stats(e->plan, &stats);
  test_case_all(code == REDIST_OK && stats.method != REDIST_SCHEDULED &&
                    stats.method != REDIST_MULTIPHASE &&
                    (max_buffer == 0 || stats.buffer_bytes <= max_buffer),
                "effort %d within %d bytes: code %d, method %d, %s", (int)effort, (int)max_buffer,
                code, (int)stats.method, e->message);
  test_case_all(code == REDIST_OK && exchange_is_right(e, 0) && exchange_is_right(e, 1),
                "and its executions");
  release(e);
}

int main(int argc, char **argv) {
  int status;
  MPI_Init(&argc, &argv);
  check_refused(REDIST_SCHEDULED, "REDIST_NO_SCHEDULED");
  check_refused(REDIST_MULTIPHASE, "REDIST_NO_MULTIPHASE");
  check_chosen(REDIST_ESTIMATE, 0);
  check_chosen(REDIST_ESTIMATE, 16);
  check_chosen(REDIST_MEASURE, 0);
  status = test_report_all("left_out");
  MPI_Finalize();
  return status;
}
