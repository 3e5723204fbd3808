/* The cost of a plan that is created, executed once and freed, as in codes that plan anew every few
   steps: rows to columns of n x n doubles, without an arena, in an arena, and with messages. MIT
   licence, see LICENSE.

   A barrier begins and ends each sample. Figures are medians of the slowest rank's time, in all and
   for each of the three calls. Arrays are allocated and written before. */
#include <string.h>

#include "bench.h"
#include "redist_plan.h"

enum { CREATE, EXECUTE, FREE, ALL, STEPS, MOST_SAMPLES = 1000 };

typedef struct {
  const char *name;
  redist_method method;
  int in_arena;
} contestant;

static const contestant contestants[] = {{"auto", REDIST_AUTO, 0},
                                         {"auto, in an arena", REDIST_AUTO, 1},
                                         {"point to point", REDIST_POINT_TO_POINT, 0}};

typedef struct {
  int rank, ranks;
  int64_t samples;
  double seconds; /* for each size and contestant */
} bench;

static double median(double *times, int64_t count) {
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return times[(count - 1) / 2];
}

/* Creates, executes and frees a plan. times: of the calls, then of all. */
static void live(const redist_layout *from, const redist_layout *to, const redist_options *options,
                 const void *a, void *b, double *times) {
  redist_plan *plan;
  double begin;
  int code;
  barrier();
  begin = MPI_Wtime();
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, options, &plan);
  times[CREATE] = MPI_Wtime() - begin;
  if (code == REDIST_OK) code = redist_execute(plan, a, b);
  times[EXECUTE] = MPI_Wtime() - begin - times[CREATE];
  if (code == REDIST_OK) code = redist_plan_free(&plan);
  times[ALL] = MPI_Wtime() - begin;
  times[FREE] = times[ALL] - times[EXECUTE] - times[CREATE];
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  maxima(times, STEPS);
}

static void measure(const bench *b, int64_t n, const contestant *who) {
  static double times[STEPS][MOST_SAMPLES];
  const redist_layout from = redist_layout_2d(redist_block(n, b->ranks), redist_whole(n));
  const redist_layout to = redist_layout_2d(redist_whole(n), redist_block(n, b->ranks));
  const size_t from_bytes = (size_t)redist_layout_local_size(&from, b->rank) * sizeof(double);
  const size_t to_bytes = (size_t)redist_layout_local_size(&to, b->rank) * sizeof(double);
  double *source = allocate(from_bytes), *destination = allocate(to_bytes), one[STEPS], begin,
         spent = 0;
  redist_options options;
  int64_t k, s;
  char what[48];
  memset(&options, 0, sizeof options);
  options.method = who->method;
  if (who->in_arena && redist_arena_create(MPI_COMM_WORLD, 0, &options.arena) != REDIST_OK)
    give_up("no arena");
  memset(source, 1, from_bytes);
  memset(destination, 1, to_bytes);
  live(&from, &to, &options, source, destination, one);
  for (k = 0, begin = MPI_Wtime(); k < b->samples && spent < b->seconds; k++) {
    live(&from, &to, &options, source, destination, one);
    for (s = 0; s < STEPS; s++) times[s][k] = one[s];
    spent = MPI_Wtime() - begin;
    maxima(&spent, 1);
  }
  snprintf(what, sizeof what, "%lld x %lld", (long long)n, (long long)n);
  if (b->rank == 0) printf("%-12s %5d  %-20s", what, b->ranks, who->name);
  for (s = 0; s < STEPS; s++) {
    const double time = median(times[s], k);
    if (b->rank == 0) printf(" %9.3f", 1e3 * time);
    if (s == ALL) figure(what, b->ranks, (int64_t)from_bytes, who->name, k, time, times[s][0], 0);
  }
  if (b->rank == 0) printf(" %9.3f\n", 1e3 * times[ALL][0]);
  redist_arena_free(&options.arena);
  free(source);
  free(destination);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {200, 2000};
  bench b = {.samples = 200, .seconds = 1};
  const char *csv = NULL;
  const option table[] = {OPTION_COUNT("--samples", b.samples, MOST_SAMPLES,
                                       "of each size at most (default 200)"),
                          OPTION_SECONDS(b.seconds, "for each line (default 1)"),
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int status =
      start(table, argc, argv, &b.rank, &b.ranks, "create", "What a plan costs that runs once.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    if (b.rank == 0)
      printf("a plan that runs once, medians in ms\n%-12s %5s  %-20s %9s %9s %9s %9s %9s\n",
             "doubles", "ranks", "", "create", "execute", "free", "all", "least");
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
      for (size_t k = 0; k < sizeof contestants / sizeof *contestants; k++)
        measure(&b, sizes[n], &contestants[k]);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
