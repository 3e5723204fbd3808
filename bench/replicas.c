/* Replicas beside MPI_Bcast, MPI_Reduce and MPI_Allreduce: on one node, on emulated ones (sh
   bench/cluster.sh --run) and simulated ones (sh bench/simulate.sh --replicas). Works with any MPI.
   MIT licence, see LICENSE.

   usage: replicas [BYTES...]

   Both contestants of a case run alternately, each from a common start to the end of the last rank;
   the first execution does not count, and a figure is the median of the others. Both use the
   same arrays: one on each rank for a broadcast, which is in place, else two. */
#include "simulated.h"

enum { CASES = 3, MOST_SIZES = 16, MOST_EXECUTIONS = 101 };
enum { BROADCAST, REDUCE, ALLREDUCE };
static const char *const name[CASES] = {"broadcast", "reduce", "all-reduce"};

typedef struct {
  int kind, rank, executions;
  int64_t n; /* doubles */
  double *from, *to;
  redist_plan *plan;
  redist_stats stats;
} contest;

/* MPI's own collective, blocking, as programs call it. */
static void run_mpi(const contest *c) {
  const int n = (int)c->n;
  if (c->kind == BROADCAST)
    MPI_Bcast(c->from, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else if (c->kind == REDUCE)
    MPI_Reduce(c->from, c->to, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else
    MPI_Allreduce(c->from, c->to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double timed(const contest *c, int by_mpi) {
  const double begin = latest(MPI_Wtime()) + 1e-5;
  wait_until(begin);
  if (by_mpi)
    run_mpi(c);
  else
    redist_execute(c->plan, c->from, c->kind == BROADCAST ? c->from : c->to);
  return latest(MPI_Wtime()) - begin;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints the medians of both and what the busiest rank sends or receives, in arrays. */
static void race(const contest *c) {
  double seconds[2][MOST_EXECUTIONS], busiest;
  int k, side;
  for (k = 0; k < c->executions; k++)
    for (side = 0; side < 2; side++) seconds[side][k] = timed(c, side);
  for (side = 0; side < 2; side++)
    qsort(&seconds[side][1], (size_t)c->executions - 1, sizeof **seconds, compare);
  busiest =
      latest((double)(c->stats.bytes_sent > c->stats.bytes_received ? c->stats.bytes_sent
                                                                    : c->stats.bytes_received) /
             (double)(c->n * (int64_t)sizeof *c->from));
  if (c->rank == 0)
    printf("%-11s %10.0f %12.1f %12.1f %6.2f %8.2f  %d phases\n", name[c->kind], (double)c->n * 8,
           seconds[0][c->executions / 2] * 1e6, seconds[1][c->executions / 2] * 1e6,
           seconds[0][c->executions / 2] / seconds[1][c->executions / 2], busiest, c->stats.phases);
  fflush(stdout);
}

static void measure(int kind, int64_t bytes, int rank, int ranks) {
  const redist_layout one = redist_layout_1d(redist_whole(bytes / 8)),
                      all = redist_replicated(one, ranks);
  redist_op sum = {MPI_SUM, MPI_DOUBLE};
  redist_options options;
  contest c;
  memset(&options, 0, sizeof options);
  options.in_place = kind == BROADCAST;
  options.combine = kind == BROADCAST ? NULL : redist_combine_op;
  options.context = &sum;
  memset(&c, 0, sizeof c);
  c.kind = kind;
  c.rank = rank;
  c.n = bytes / 8;
#if defined SMPI_H
  c.executions = 2;
#else
  c.executions = bytes < 1 << 20 ? 61 : 21;
#endif
  c.from = array_new((size_t)bytes);
  c.to = array_new((size_t)bytes);
  if (redist_plan_create(MPI_COMM_WORLD, kind == BROADCAST ? &one : &all,
                         kind == REDUCE ? &one : &all, MPI_DOUBLE, &options, &c.plan) != REDIST_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  redist_plan_stats(c.plan, &c.stats);
  race(&c);
  redist_plan_free(&c.plan);
  array_free(c.from);
  array_free(c.to);
}

int main(int argc, char **argv) {
  static const int64_t usual[] = {65536, 1048576, 8388608};
  int64_t bytes[MOST_SIZES];
  int rank, ranks, kind, k, sizes = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (k = 1; k < argc && sizes < MOST_SIZES; k++) bytes[sizes++] = atoll(argv[k]);
  for (k = 0; argc == 1 && k < 3; k++) bytes[sizes++] = usual[k];
  if (rank == 0)
    printf("%-11s %10s %12s %12s %6s %8s  on %d ranks\n", "", "bytes", "redist, us", "MPI, us",
           "ratio", "busiest", ranks);
  for (kind = 0; kind < CASES; kind++)
    for (k = 0; k < sizes; k++) measure(kind, bytes[k], rank, ranks);
  leave();
  return 0;
}
