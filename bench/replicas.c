/* Replicas beside MPI's collectives: one to all, all to one, all to all. MIT licence, see LICENSE.

   From one rank to a replica on each: MPI_Bcast. From a summand on each to one rank: MPI_Reduce, and
   to all: MPI_Allreduce. All contestants of a size run alternately, each execution between two
   barriers. Times are lower quartiles of the slowest rank's. Sums start from zero, as MPI's do:
   redist adds to what the destination holds, so that it is cleared, which counts. On simulated
   clusters (bench/simulate.sh) all begin at the same time, and there is no shared memory. */
#include <mpi.h>
#include <string.h>

#if defined SMPI_H
#define REDIST_NO_SHARED
#include "simulated.h"
#endif
#include "bench.h"
#include "redist_plan.h"

enum { FILL, SUM, SUM_EVERYWHERE, CASES, PLANS = 4, CONTESTANTS, MOST_SAMPLES = 1000 };
enum {
  OF_MPI,
  HEAP,
  ARENA,
  ARRAYS
}; /* of its own, since others' reading decides where lines lie */

typedef struct {
  int rank, ranks;
  int64_t samples, times, node_ranks, least, most;
  double seconds; /* for each line */
} bench;

typedef struct {
  const bench *bench;
  int kind, holds, from_all; /* whether this rank has a destination; whether each has a source */
  int64_t n;
  redist_arena *arena;
  redist_plan *plan[PLANS];
  double *from[ARRAYS], *to[ARRAYS];
} problem;

/* In the order of measuring, after MPI's collective. */
static const struct {
  const char *name;
  redist_method method;
  int array;
} contestants[PLANS] = {{"auto", REDIST_AUTO, HEAP},
#if defined SMPI_H
                        {"nodes", REDIST_NODES, HEAP},
#else
                        {"shared", REDIST_SHARED, HEAP},
#endif
                        {"point to point", REDIST_POINT_TO_POINT, HEAP},
                        {"auto, arena", REDIST_AUTO, ARENA}};

static const char *const names[CASES][2] = {{"one to all", "MPI_Bcast"},
                                            {"all to one", "MPI_Reduce"},
                                            {"all to all", "MPI_Allreduce"}};

static redist_plan *plan_for(const problem *p, int contestant) {
  static redist_op sum;
  const redist_layout one = redist_layout_1d(redist_whole(p->n)),
                      all = redist_replicated(one, p->bench->ranks);
  redist_options options;
  redist_plan *plan;
  int code;
  memset(&options, 0, sizeof options);
  sum.op = MPI_SUM;
  sum.type = MPI_DOUBLE;
  options.method = contestants[contestant].method;
  options.arena = contestants[contestant].array == ARENA ? p->arena : NULL;
  options.node_ranks = (int)p->bench->node_ranks;
  options.combine = p->kind == FILL ? NULL : redist_combine_op;
  options.context = p->kind == FILL ? NULL : &sum;
  code = redist_plan_create(MPI_COMM_WORLD, p->from_all ? &all : &one, p->kind == SUM ? &one : &all,
                            MPI_DOUBLE, &options, &plan);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return plan;
}

/* Blocking: these are the calls that libraries tune. */
static void run_mpi(const problem *p) {
  const int n = (int)p->n;
  if (p->kind == FILL) {
    if (p->bench->rank == 0) memcpy(p->to[OF_MPI], p->from[OF_MPI], (size_t)n * sizeof **p->to);
    MPI_Bcast(p->to[OF_MPI], n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  } else if (p->kind == SUM) {
    MPI_Reduce(p->from[OF_MPI], p->to[OF_MPI], n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(p->from[OF_MPI], p->to[OF_MPI], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void run_redist(const problem *p, int contestant) {
  const int array = contestants[contestant].array;
  double *to = p->to[array];
  int code;
  if (p->kind != FILL && p->holds) memset(to, 0, (size_t)p->n * sizeof *to);
  code = redist_execute(p->plan[contestant],
                        p->from_all || p->bench->rank == 0 ? p->from[array] : NULL,
                        p->holds ? to : NULL);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
}

#if defined SMPI_H
static double begin_together(void) {
  const double begin = latest(MPI_Wtime()) + 1e-3;
  wait_until(begin);
  return begin;
}

static double slowest(double seconds) { return latest(seconds); }
#else
static double begin_together(void) {
  barrier();
  return MPI_Wtime();
}

static double slowest(double seconds) {
  maxima(&seconds, 1);
  return seconds;
}
#endif

/* What a program does between executions: reads what has come, writes what goes next. */
static void compute(const problem *p, int array) {
  static volatile double read;
  double *from = p->from[array], sum = 0;
  int64_t k;
  for (k = 0; p->holds && k < p->n; k++) sum += p->to[array][k];
  for (k = 0; (p->from_all || p->bench->rank == 0) && k < p->n; k++) from[k] = 1 - from[k];
  read = sum;
  (void)read;
}

/* The mean seconds of an execution on the slowest rank. contestant -1: MPI */
static double time_once(const problem *p, int contestant) {
  double time = 0, begin;
  int64_t k;
  for (k = 0; k < p->bench->times; k++) {
    compute(p, contestant < 0 ? OF_MPI : contestants[contestant].array);
    begin = begin_together();
    if (contestant < 0)
      run_mpi(p);
    else
      run_redist(p, contestant);
    time += slowest(MPI_Wtime() - begin);
  }
  return time / (double)p->bench->times;
}

static void report(const problem *p, double times[CONTESTANTS][MOST_SAMPLES], int64_t samples) {
  const int64_t bytes = p->n * (int64_t)sizeof **p->to;
  redist_stats stats;
  double mpi = 0;
  int k;
  redist_plan_stats(p->plan[0], &stats);
  if (p->bench->rank == 0)
    printf("%-11s %5d %10lld %4d:%d", names[p->kind][0], p->bench->ranks, (long long)bytes,
           (int)stats.method, stats.phases);
  for (k = 0; k < CONTESTANTS; k++) {
    const double time = lower_quartile(times[k], samples);
    mpi = k == 0 ? time : mpi;
    figure(names[p->kind][0], p->bench->ranks, bytes, k == 0 ? "MPI" : contestants[k - 1].name,
           samples, time, times[k][0], time / mpi);
    if (p->bench->rank == 0 && k == 0) printf(" %11.1f", 1e6 * time);
    if (p->bench->rank == 0 && k > 0) printf(" %9.2f", time / mpi);
  }
  if (p->bench->rank == 0) printf("\n");
}

static void measure(const bench *b, int kind, int64_t n) {
  static double times[CONTESTANTS][MOST_SAMPLES];
  const size_t bytes = (size_t)n * sizeof(double);
  problem p = {.bench = b, .kind = kind, .n = n, .from_all = kind != FILL};
  double begin, spent = 0;
  int64_t s;
  int k;
  p.holds = kind != SUM || b->rank == 0;
  if (redist_arena_create(MPI_COMM_WORLD, 2 * bytes + 4096, &p.arena) != REDIST_OK)
    give_up("no arena of %zu bytes", 2 * bytes);
  for (k = 0; k < ARRAYS; k++) {
    p.from[k] = k == ARENA ? redist_arena_alloc(p.arena, bytes) : allocate(bytes);
    p.to[k] = k == ARENA ? redist_arena_alloc(p.arena, bytes) : allocate(bytes);
    if (p.from[k] == NULL || p.to[k] == NULL) give_up("no memory in the arena");
    memset(p.from[k], 0, bytes);
    memset(p.to[k], 0, bytes);
  }
  for (k = 0; k < PLANS; k++) p.plan[k] = plan_for(&p, k);
  for (k = 0; k < CONTESTANTS; k++) time_once(&p, k - 1);
  begin = MPI_Wtime();
  for (s = 0; s < b->samples && (s < 3 || spent < b->seconds); s++) {
    for (k = 0; k < CONTESTANTS; k++) times[k][s] = time_once(&p, k - 1);
    spent = slowest(MPI_Wtime() - begin);
  }
  report(&p, times, s);
  for (k = 0; k < PLANS; k++) redist_plan_free(&p.plan[k]);
  redist_arena_free(&p.arena);
  for (k = OF_MPI; k < ARENA; k++) {
    free(p.from[k]);
    free(p.to[k]);
  }
}

int main(int argc, char **argv) {
#if defined SMPI_H
  static const int64_t sizes[] = {1, 64, 256, 1000, 4000, 8000, 125000};
#else
  static const int64_t sizes[] = {1000, 8000, 125000, 1000000};
#endif
  bench b = {.samples = 200, .times = 1, .least = 1, .most = 8000000, .seconds = 1};
  const char *csv = NULL;
  const option table[] = {
      OPTION_COUNT("--samples", b.samples, MOST_SAMPLES, "of each size at most (default 200)"),
      OPTION_COUNT("--times", b.times, 1000,
                   "executions in a row, of which the mean counts (default 1)"),
      OPTION_COUNT("--least", b.least, 8000000, "bytes of a replica (default 1)"),
      OPTION_COUNT("--most", b.most, 8000000, "bytes of a replica (default 8000000)"),
      {.name = "--node-ranks",
       .argument = "R",
       .integer = &b.node_ranks,
       .most = 1000000,
       .help = "ranks that share memory (default 0: as MPI finds them)"},
      OPTION_SECONDS(b.seconds, "for each line (default 1)"),
      OPTION_CSV(csv),
      {.name = NULL}};
  int status = start(table, argc, argv, &b.rank, &b.ranks, "replicas",
                     "Replicas beside MPI_Bcast, MPI_Reduce and MPI_Allreduce.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    if (b.rank == 0)
      printf("us of MPI's collective, and times as long: redist's (auto's method: phases)\n"
             "%-11s %5s %10s %6s %11s %9s %9s %9s %9s\n",
             "", "ranks", "bytes", "auto", "MPI, us", contestants[0].name, contestants[1].name,
             "messages", "arena");
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
      for (int kind = 0; kind < CASES && 8 * sizes[n] >= b.least && 8 * sizes[n] <= b.most; kind++)
        measure(&b, kind, sizes[n]);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
