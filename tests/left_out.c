/* redist tests: plans where a macro leaves methods out (left_out.small: REDIST_SMALL, ...): by name
   these are refused, nothing else chooses them, and the others work. MIT licence, see LICENSE. */
#include "exchange.h"

#ifdef REDIST_NO_SHARED
#define SHARED "REDIST_NO_SHARED"
#else
#define SHARED NULL
#endif
#ifdef REDIST_NO_COLLECTIVES
#define COLLECTIVES "REDIST_NO_COLLECTIVES"
#else
#define COLLECTIVES NULL
#endif
#ifdef REDIST_NO_SCHEDULED
#define SCHEDULED "REDIST_NO_SCHEDULED"
#else
#define SCHEDULED NULL
#endif
#ifdef REDIST_NO_MULTIPHASE
#define MULTIPHASE "REDIST_NO_MULTIPHASE"
#else
#define MULTIPHASE NULL
#endif
#ifdef REDIST_NO_NODES
#define NODES "REDIST_NO_NODES"
#else
#define NODES NULL
#endif

/* Methods, and the macro that leaves each out, or NULL. */
static const struct {
  redist_method method;
  const char *macro;
} methods[] = {{REDIST_ALLTOALLV, COLLECTIVES},
               {REDIST_ALLTOALLW, COLLECTIVES},
               {REDIST_POINT_TO_POINT, NULL},
               {REDIST_SCHEDULED, SCHEDULED},
               {REDIST_SHARED, SHARED},
               {REDIST_MULTIPHASE, MULTIPHASE},
               {REDIST_NODES, NODES}};
enum { METHODS = sizeof methods / sizeof *methods };

static int is_left_out(redist_method method) {
  int k, out = 0;
  for (k = 0; k < METHODS; k++) out |= methods[k].method == method && methods[k].macro != NULL;
  return out;
}

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

static void check_by_name(redist_method method, const char *macro, redist_arena *arena) {
  exchange *e = columns(method);
  redist_options options;
  int code, good;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  code = exchange_create_with(e, &options);
  good = macro == NULL
             ? code == REDIST_OK && exchange_is_right(e, 0) && exchange_is_right(e, 1)
             : code == REDIST_ERR_ARGUMENT && e->plan == NULL && strstr(e->message, macro) != NULL;
  test_case_all(good, "method %d%s: code %d, %s", (int)method, arena != NULL ? " in an arena" : "",
                code, e->message);
  release(e);
}

/* REDIST_AUTO, perhaps between nodes of one rank, or with very little staging memory, which only
   some methods can do with. */
static void check_chosen(redist_effort effort, int node_ranks, int64_t max_buffer) {
  exchange *e = columns(REDIST_AUTO);
  const int bounded = !is_left_out(REDIST_SCHEDULED) || !is_left_out(REDIST_ALLTOALLW);
  redist_options options;
  redist_stats stats;
  int code, good;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.effort = effort;
  options.node_ranks = node_ranks;
  options.max_buffer = (size_t)max_buffer;
  code = exchange_create_with(e, &options);
  if (code == REDIST_OK) redist_plan_stats(e->plan, &stats);
  good = max_buffer > 0 && !bounded
             ? code == REDIST_ERR_MEMORY && strstr(e->message, "options.max_buffer is") != NULL
             : code == REDIST_OK && !is_left_out(stats.method) &&
                   (max_buffer == 0 || stats.buffer_bytes <= max_buffer) &&
                   exchange_is_right(e, 0) && exchange_is_right(e, 1);
  test_case_all(good, "effort %d, nodes of %d, within %d bytes: code %d, method %d, %s",
                (int)effort, node_ranks, (int)max_buffer, code, (int)stats.method, e->message);
#ifndef REDIST_NO_TEXT
  if (code == REDIST_OK) {
    FILE *sink = fopen("/dev/null", "w");
    test_case_all(redist_plan_print(e->plan, sink) == REDIST_OK, "its report");
    fclose(sink);
  }
#endif
  release(e);
}

int main(int argc, char **argv) {
  redist_arena *arena = NULL;
  int k, status;
  MPI_Init(&argc, &argv);
  test_case_all(redist_arena_create(MPI_COMM_WORLD, 1000, &arena) == REDIST_OK, "an arena");
  test_case_all(redist_arena_alloc(arena, 1000) != NULL, "and its memory");
  for (k = 0; k < 2 * METHODS; k++)
    check_by_name(methods[k / 2].method, methods[k / 2].macro, k % 2 ? arena : NULL);
  for (k = 0; k < 2; k++) {
    check_chosen(REDIST_ESTIMATE, k, 0);
    check_chosen(REDIST_ESTIMATE, k, 16);
    check_chosen(REDIST_MEASURE, k, 0);
  }
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "the arena is freed");
  status = test_report_all("left_out");
  MPI_Finalize();
  return status;
}
