/* What redist adds to a small exchange, and what creating a plan costs. MIT licence, see LICENSE.

   Small exchanges: 64 x 64 doubles, rows to columns, against empty persistent messages to and from
   every other rank. Each sample is a batch of executions between two barriers. Plans: their
   creation, compared with one execution and with the MPI calls that create communicators and as
   much shared memory. All times are lower quartiles of the slowest rank's. */
#include <string.h>

#include "bench.h"
#include "redist_plan.h"

typedef struct {
  int rank, ranks;
  int64_t samples, plans;
  double seconds; /* for the plans of a size */
} bench;

/* ---- the redistribution ---- */

typedef struct {
  redist_layout from, to;
  size_t bytes; /* of this rank's source and of its destination */
} problem;

static problem rows_to_columns(const bench *b, int64_t n) {
  problem p;
  int64_t from, to;
  p.from = redist_layout_2d(redist_block(n, b->ranks), redist_whole(n));
  p.to = redist_layout_2d(redist_whole(n), redist_block(n, b->ranks));
  from = redist_layout_local_size(&p.from, b->rank);
  to = redist_layout_local_size(&p.to, b->rank);
  p.bytes = (size_t)(from > to ? from : to) * sizeof(double);
  return p;
}

static redist_plan *plan_for(const problem *p, redist_method method, redist_arena *arena) {
  redist_plan *plan;
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  options.method = method;
  options.arena = arena;
  code = redist_plan_create(MPI_COMM_WORLD, &p->from, &p->to, MPI_DOUBLE, &options, &plan);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return plan;
}

static void *zeroed(void *memory, size_t bytes) { return memset(memory, 0, bytes); }

/* ---- contestants of the small exchange ---- */

typedef struct {
  const bench *bench;
  MPI_Request *requests; /* of the empty exchange */
  redist_plan *plan;
  redist_arena *arena;
  void *from, *to;
  double *times;
} exchange;

typedef struct {
  const char *name;
  redist_method method;
  void (*run)(exchange *);
  int in_arena;
} contestant;

static void run_empty(exchange *x) {
  int count = 2 * (x->bench->ranks - 1);
  MPI_Startall(count, x->requests);
  for (int k = 0; k < count; k++) wait_yielding(&x->requests[k]);
}

static void run_redist(exchange *x) {
  int code = redist_execute(x->plan, x->from, x->to);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
}

static const contestant contestants[] = {{"empty messages", REDIST_AUTO, run_empty, 0},
                                         {"redist, auto", REDIST_AUTO, run_redist, 0},
                                         {"redist, shared", REDIST_SHARED, run_redist, 0},
                                         {"redist, arena", REDIST_SHARED, run_redist, 1},
                                         {"redist, point to point", REDIST_POINT_TO_POINT,
                                          run_redist, 0}};

enum { CONTESTANTS = sizeof contestants / sizeof contestants[0] };

static MPI_Request *empty_messages(const bench *b) {
  MPI_Request *requests = allocate(2 * (size_t)b->ranks * sizeof *requests);
  int count = 0;
  for (int peer = 0; peer < b->ranks; peer++)
    if (peer != b->rank) {
      MPI_Recv_init(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[count++]);
      MPI_Send_init(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[count++]);
    }
  return requests;
}

static exchange exchange_create(const bench *b, const contestant *who, const problem *p) {
  exchange x;
  memset(&x, 0, sizeof x);
  x.bench = b;
  x.times = allocate((size_t)b->samples * sizeof *x.times);
  x.requests = empty_messages(b);
  if (who->in_arena &&
      redist_arena_create(MPI_COMM_WORLD, 2 * p->bytes + 128, &x.arena) != REDIST_OK)
    give_up("no arena");
  x.from =
      zeroed(who->in_arena ? redist_arena_alloc(x.arena, p->bytes) : allocate(p->bytes), p->bytes);
  x.to =
      zeroed(who->in_arena ? redist_arena_alloc(x.arena, p->bytes) : allocate(p->bytes), p->bytes);
  x.plan = plan_for(p, who->method, x.arena);
  return x;
}

static void exchange_free(exchange *x) {
  for (int k = 0; k < 2 * (x->bench->ranks - 1); k++) MPI_Request_free(&x->requests[k]);
  free(x->requests);
  redist_plan_free(&x->plan);
  if (!x->arena) {
    free(x->from);
    free(x->to);
  }
  redist_arena_free(&x->arena);
  free(x->times);
}

static double time_batch(const contestant *who, exchange *x, int batch) {
  double begin;
  barrier();
  begin = MPI_Wtime();
  for (int k = 0; k < batch; k++) who->run(x);
  return (MPI_Wtime() - begin) / batch;
}

static void compare_small(const bench *b, int batch) {
  problem p = rows_to_columns(b, 64);
  exchange x[CONTESTANTS];
  double empty = 0;
  for (int k = 0; k < CONTESTANTS; k++) x[k] = exchange_create(b, &contestants[k], &p);
  for (int64_t s = 0; s < b->samples; s++)
    for (int k = 0; k < CONTESTANTS; k++) {
      x[k].times[s] = time_batch(&contestants[k], &x[k], batch);
      maxima(&x[k].times[s], 1);
    }
  if (b->rank == 0)
    printf(
        "%d ranks, 64 x 64 doubles, rows to columns, batches of %d: microseconds, and above the empty messages\n",
        b->ranks, batch);
  for (int k = 0; k < CONTESTANTS; k++) {
    double time = lower_quartile(x[k].times, b->samples);
    empty = k == 0 ? time : empty;
    figure("64 x 64", b->ranks, (int64_t)p.bytes, contestants[k].name, b->samples, time,
           x[k].times[0], time / empty);
    if (b->rank == 0)
      printf("%-24s %8.2f %8.2f\n", contestants[k].name, 1e6 * time, 1e6 * (time - empty));
    exchange_free(&x[k]);
  }
}

/* ---- creating plans ---- */

enum {
  EXECUTE,
  CREATE,
  FREE,
  ARENA,
  CREATE_IN_ARENA,
  FREE_IN_ARENA,
  DUPLICATE,
  SPLIT,
  WINDOW,
  MPI_FREE,
  STEPS
};

static const char *const steps[STEPS] = {"execute",         "create",        "free", "arena",
                                         "create in arena", "free in arena", "dup",  "split",
                                         "window",          "MPI free"};

enum { MOST_SAMPLES = 40 };

typedef struct {
  double begin, spent, times[STEPS][MOST_SAMPLES];
  int64_t sample;
} stopwatch;

static void lap(stopwatch *w, int step) {
  double time = MPI_Wtime() - w->begin;
  maxima(&time, 1);
  w->times[step][w->sample] = time;
  w->spent += time;
  barrier();
  w->begin = MPI_Wtime();
}

/* Returns the bytes of its staging memory. */
static int64_t time_plan(stopwatch *w, const problem *p, void *from, void *to) {
  enum { WARM = 2 }; /* executions that touch all pages of staging memory */
  redist_plan *plan;
  redist_stats stats;
  w->begin = MPI_Wtime();
  plan = plan_for(p, REDIST_AUTO, NULL);
  lap(w, CREATE);
  for (int k = 0; k < WARM; k++) redist_execute(plan, from, to);
  barrier();
  w->begin = MPI_Wtime();
  redist_execute(plan, from, to);
  lap(w, EXECUTE);
  redist_plan_stats(plan, &stats);
  w->begin = MPI_Wtime();
  redist_plan_free(&plan);
  lap(w, FREE);
  return stats.buffer_bytes;
}

static void time_arena(stopwatch *w, const problem *p) {
  redist_arena *arena;
  redist_plan *plan;
  w->begin = MPI_Wtime();
  if (redist_arena_create(MPI_COMM_WORLD, 2 * p->bytes + 128, &arena) != REDIST_OK)
    give_up("no arena");
  lap(w, ARENA);
  plan = plan_for(p, REDIST_AUTO, arena);
  lap(w, CREATE_IN_ARENA);
  redist_plan_free(&plan);
  lap(w, FREE_IN_ARENA);
  redist_arena_free(&arena);
}

/* The MPI calls that set up a window of shared memory. */
static void time_mpi(stopwatch *w, int64_t bytes) {
  MPI_Comm twin, node;
  MPI_Request request;
  MPI_Win window;
  void *base;
  w->begin = MPI_Wtime();
  MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
  wait_yielding(&request);
  lap(w, DUPLICATE);
  MPI_Comm_split_type(twin, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  lap(w, SPLIT);
  MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, node, &base, &window);
  lap(w, WINDOW);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  MPI_Comm_free(&twin);
  lap(w, MPI_FREE);
}

static int column_width(const char *title) { return strlen(title) > 9 ? (int)strlen(title) : 9; }

static void measure_plan(const bench *b, int64_t n) {
  static stopwatch w;
  problem p = rows_to_columns(b, n);
  void *from = zeroed(allocate(p.bytes), p.bytes), *to = zeroed(allocate(p.bytes), p.bytes);
  char what[32];
  snprintf(what, sizeof what, "%lld x %lld", (long long)n, (long long)n);
  for (w.sample = 0, w.spent = 0; w.sample < b->plans && (w.sample < 3 || w.spent < b->seconds);
       w.sample++) {
    barrier();
    time_mpi(&w, time_plan(&w, &p, from, to));
    time_arena(&w, &p);
  }
  if (b->rank == 0) printf("%-12s %9.3f", what, (double)p.bytes / 1e6);
  for (int step = 0; step < STEPS; step++) {
    double time = lower_quartile(w.times[step], w.sample);
    figure(what, b->ranks, (int64_t)p.bytes, steps[step], w.sample, time, w.times[step][0], 0);
    if (b->rank == 0) printf(" %*.1f", column_width(steps[step]), 1e6 * time);
  }
  if (b->rank == 0) printf("\n");
  free(from);
  free(to);
}

static void measure_plans(const bench *b) {
  static const int64_t sizes[] = {64, 512, 2048, 4096};
  if (b->rank == 0) {
    printf(
        "\n%d ranks, doubles, rows to columns, auto: microseconds of an execution, and of creating and freeing a "
        "plan alone\nand in an arena; then the calls of MPI made by hand, with as many bytes\n%-12s %9s",
        b->ranks, "", "MB/rank");
    for (int step = 0; step < STEPS; step++) printf(" %*s", column_width(steps[step]), steps[step]);
    printf("\n");
  }
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) measure_plan(b, sizes[k]);
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  bench b = {.samples = 1000, .plans = MOST_SAMPLES, .seconds = 2};
  int64_t batch = 20;
  const char *csv = NULL;
  const option table[] = {
      OPTION_COUNT("--samples", b.samples, 100000, "of each small exchange (default 1000)"),
      {.name = "--batch",
       .argument = "K",
       .integer = &batch,
       .least = 1,
       .most = 1000,
       .help = "small exchanges in a sample (default 20)"},
      {.name = "--plans",
       .argument = "K",
       .integer = &b.plans,
       .least = 1,
       .most = MOST_SAMPLES,
       .help = "of each size at most (default 40)"},
      OPTION_SECONDS(b.seconds, "for the plans of a size, once there were three (default 2)"),
      OPTION_CSV(csv),
      {.name = NULL}};
  int status = start(table, argc, argv, &b.rank, &b.ranks, "small",
                     "What redist adds to a small exchange, and what creating a plan costs.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    compare_small(&b, (int)batch);
    measure_plans(&b);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
