/* What relabelling saves: traffic on paper for the papers' cases, and time on the ranks of this
   run. MIT licence, see LICENSE.

   On paper, with the process counts of the papers. Hsu et al. 2001: CYCLIC(k r) to CYCLIC(r) and
   back on 50 processes, r = 2 (k = 2 on 200 elements is theirs, the other k are ours), and from 50
   processes to fewer or more. Kalns 1995: the eight cases of table 6.1 on 20 and 100 processes, and
   figures 3.2 to 3.10; the sizes of the eight are ours, with few blocks on each process, since with
   many the gain is small: ceil(z/p) of z blocks stay.

   Times are lower quartiles of the slowest rank's, there and back, with the contestants
   round-robin, compared with a memcpy of a rank's elements. */
#include <string.h>

#include "bench.h"
#include "redist_plan.h"

typedef struct {
  char name[64];
  redist_layout from, to;
} pair;

static pair name_pair(const char *name, redist_layout from, redist_layout to) {
  pair p;
  snprintf(p.name, sizeof p.name, "%s", name);
  p.from = from;
  p.to = to;
  return p;
}

static int *relabelling(const pair *p) {
  int *ranks = allocate((size_t)redist_layout_places(&p->to) * sizeof *ranks);
  int code = redist_relabel(&p->from, &p->to, 0, ranks);
  if (code != REDIST_OK) give_up("%s: %s", p->name, redist_strerror(code));
  return ranks;
}

static redist_traffic traffic(const redist_layout *from, const redist_layout *to) {
  redist_traffic t;
  int code = redist_traffic_between(from, to, 0, &t);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return t;
}

/* ---- on paper ---- */

static void print_traffic(pair p) {
  double begin = MPI_Wtime(), seconds;
  int *ranks = relabelling(&p);
  redist_layout relabelled = redist_on_ranks(p.to, ranks);
  redist_traffic before = traffic(&p.from, &p.to), after;
  seconds = MPI_Wtime() - begin;
  after = traffic(&p.from, &relabelled);
  printf("%-52s %9lld %9lld %9lld %8lld %8lld %8lld %8lld %9.3f\n", p.name, (long long)before.total,
         (long long)before.local, (long long)after.local, (long long)before.messages,
         (long long)after.messages, (long long)before.max_received, (long long)after.max_received,
         1e3 * seconds);
  free(ranks);
}

static void print_hsu(int sources, int places, int64_t k, int64_t n, int back) {
  char name[64];
  redist_layout coarse = redist_layout_1d(redist_block_cyclic(n, 2 * k, back ? places : sources));
  redist_layout fine = redist_layout_1d(redist_block_cyclic(n, 2, back ? sources : places));
  snprintf(name, sizeof name, "Hsu: %sCYCLIC(%lld) on %d %s CYCLIC(2) on %d",
           back ? "back to " : "", (long long)(2 * k), back ? places : sources,
           back ? "from" : "to", back ? sources : places);
  print_traffic(name_pair(name, back ? fine : coarse, back ? coarse : fine));
}

static void print_all_hsu(void) {
  static const int64_t factors[] = {2, 5, 10, 25, 50};
  static const int others[] = {10, 40, 80};
  for (int back = 0; back < 2; back++) {
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++)
      print_hsu(50, 50, factors[k], 100 * factors[k], back);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
      print_hsu(50, others[k], 2, 8000, back);
  }
}

static void print_kalns_figures(void) {
  print_traffic(name_pair("Kalns, figure 3.2: 16, BLOCK to CYCLIC on 8",
                          redist_layout_1d(redist_block(16, 8)),
                          redist_layout_1d(redist_cyclic(16, 8))));
  print_traffic(
      name_pair("Kalns, figure 3.7: 18x16 on 3x4",
                redist_layout_2d(redist_block(18, 3), redist_block(16, 4)),
                redist_layout_2d(redist_block_cyclic(18, 3, 3), redist_block_cyclic(16, 2, 4))));
  print_traffic(name_pair("Kalns, figure 3.8: 24x16, 3x2 to 6x1",
                          redist_layout_2d(redist_block(24, 3), redist_block(16, 2)),
                          redist_layout_2d(redist_block_cyclic(24, 2, 6), redist_whole(16))));
  print_traffic(name_pair("Kalns, figure 3.10: 24x24, 6x1 to 3x2",
                          redist_layout_2d(redist_block(24, 6), redist_whole(24)),
                          redist_layout_2d(redist_block_cyclic(24, 2, 3), redist_block(24, 2))));
}

/* BLOCK or CYCLIC along an axis, which is whole on one process. */
static redist_axis axis(int cyclic, int64_t n, int procs) {
  return cyclic ? redist_cyclic(n, procs) : redist_block(n, procs);
}

/* Four cases on a set of grids: both axes to CYCLIC, exchanged, and one axis alone. */
static void print_table_6_1(int rows, int columns) {
  /* case, before or after, axis */
  static const int cyclic[2][2][2] = {{{0, 0}, {1, 1}}, {{0, 1}, {1, 0}}};
  const int p = rows * columns;
  /* two elements of an axis on each process */
  const int64_t n = 2 * p, sides[2] = {2 * rows, 2 * columns};
  char name[64];
  for (int k = 0; k < 2; k++) {
    snprintf(name, sizeof name, "Kalns, table 6.1: (%s) to (%s) on %dx%d",
             k == 0 ? "BLOCK,BLOCK" : "BLOCK,CYCLIC", k == 0 ? "CYCLIC,CYCLIC" : "CYCLIC,BLOCK",
             rows, columns);
    print_traffic(name_pair(name,
                            redist_layout_2d(axis(cyclic[k][0][0], sides[0], rows),
                                             axis(cyclic[k][0][1], sides[1], columns)),
                            redist_layout_2d(axis(cyclic[k][1][0], sides[0], rows),
                                             axis(cyclic[k][1][1], sides[1], columns))));
  }
  snprintf(name, sizeof name, "Kalns, table 6.1: (BLOCK,*) to (CYCLIC,*) on %dx1", p);
  print_traffic(name_pair(name, redist_layout_2d(redist_block(n, p), redist_whole(n)),
                          redist_layout_2d(redist_cyclic(n, p), redist_whole(n))));
  snprintf(name, sizeof name, "Kalns, table 6.1: (*,CYCLIC) to (*,BLOCK) on 1x%d", p);
  print_traffic(name_pair(name, redist_layout_2d(redist_whole(n), redist_cyclic(n, p)),
                          redist_layout_2d(redist_whole(n), redist_block(n, p))));
}

static void print_paper(void) {
  printf(
      "on paper: elements that stay, messages, and the most that a process receives, with the current numbering and relabelled\n"
      "%-52s %9s %9s %9s %8s %8s %8s %8s %9s\n",
      "", "elements", "stay", "stay", "messages", "messages", "receives", "receives", "plan, ms");
  print_all_hsu();
  print_kalns_figures();
  print_table_6_1(5, 4);
  print_table_6_1(10, 10);
}

/* ---- in time ---- */

enum { AS_NUMBERED, RELABELLED, MEMCPY, CONTESTANTS };

typedef struct {
  redist_plan *plan[MEMCPY];
  double *from, *to, *times[CONTESTANTS];
  size_t bytes;
} race;

static redist_plan *plan_for(const redist_layout *from, const redist_layout *to) {
  redist_plan *plan;
  int code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, NULL, &plan);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return plan;
}

static double time_once(const race *r, int who) {
  double begin;
  int code = REDIST_OK;
  barrier();
  begin = MPI_Wtime();
  if (who == MEMCPY)
    memcpy(r->to, r->from, r->bytes);
  else
    code = redist_execute(r->plan[who], r->from, r->to);
  begin = MPI_Wtime() - begin;
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  maxima(&begin, 1);
  return begin;
}

static double *zeros(size_t bytes) { return memset(allocate(bytes), 0, bytes); }

/* Every rank holds the same number of elements before and after. */
static void measure(const pair *p, int rank, int64_t samples) {
  int *ranks = relabelling(p);
  redist_layout relabelled = redist_on_ranks(p->to, ranks);
  redist_traffic before = traffic(&p->from, &p->to), after = traffic(&p->from, &relabelled);
  double quartile[CONTESTANTS], total = (double)before.total;
  race r;
  r.bytes = (size_t)redist_layout_local_size(&p->from, rank) * sizeof(double);
  r.from = zeros(r.bytes);
  r.to = zeros(r.bytes);
  r.plan[AS_NUMBERED] = plan_for(&p->from, &p->to);
  r.plan[RELABELLED] = plan_for(&p->from, &relabelled);
  for (int who = 0; who < CONTESTANTS; who++)
    r.times[who] = allocate((size_t)samples * sizeof(double));
  for (int64_t s = -2; s < samples; s++) /* the first two rounds warm up */
    for (int k = 0; k < CONTESTANTS; k++) {
      int who = s % 2 == 0 ? k : CONTESTANTS - 1 - k; /* vary who follows whom */
      r.times[who][s < 0 ? 0 : s] = time_once(&r, who);
    }
  for (int who = 0; who < CONTESTANTS; who++) {
    quartile[who] = lower_quartile(r.times[who], samples);
    free(r.times[who]);
  }
  if (rank == 0)
    printf("%-52s %5.1f%% %5.1f%% %9.3f %9.3f %9.3f %7.2f\n", p->name,
           100 * (double)before.local / total, 100 * (double)after.local / total,
           1e3 * quartile[AS_NUMBERED], 1e3 * quartile[RELABELLED], 1e3 * quartile[MEMCPY],
           quartile[AS_NUMBERED] / quartile[RELABELLED]);
  redist_plan_free(&r.plan[AS_NUMBERED]);
  redist_plan_free(&r.plan[RELABELLED]);
  free(r.from);
  free(r.to);
  free(ranks);
}

static void measure_all(int rank, int p, int64_t n, int64_t samples) {
  n = n / (4 * p) * 4 * p; /* so that all ranks hold equally many */
  n = n > 0 ? n : 4 * p;
  const int rows = p % 2 == 0 ? p / 2 : p, columns = p / rows;
  const redist_axis line = redist_block(n * n, p), side = redist_block(n, p), all = redist_whole(n);
  const redist_layout grid = redist_layout_2d(redist_block(n, rows), redist_block(n, columns));
  const pair pairs[] = {
      name_pair("Hsu: CYCLIC(2r) to CYCLIC(r), one cycle", redist_layout_1d(line),
                redist_layout_1d(redist_block_cyclic(n * n, n * n / (2 * p), p))),
      name_pair("Kalns: (BLOCK,*) to (CYCLIC(b),*), two blocks each", redist_layout_2d(side, all),
                redist_layout_2d(redist_block_cyclic(n, n / (2 * p), p), all)),
      name_pair("Kalns: (BLOCK,BLOCK) to (CYCLIC(b),*), as figure 3.8", grid,
                redist_layout_2d(redist_block_cyclic(n, n / (2 * p), p), all)),
      name_pair("half a turn of (BLOCK,*)", redist_rotated(redist_layout_2d(side, all), 2),
                redist_layout_2d(side, all)),
      name_pair("a grid by rows to the same by columns", grid,
                redist_grid_order(grid, REDIST_COLUMN_MAJOR)),
      name_pair("(BLOCK,*) to (*,BLOCK): nothing to gain", redist_layout_2d(side, all),
                redist_layout_2d(all, side)),
  };
  if (rank == 0)
    printf(
        "\n%d ranks, %lld x %lld doubles: what stays, and milliseconds, with the current numbering and relabelled\n"
        "%-52s %6s %6s %9s %9s %9s %7s\n",
        p, (long long)n, (long long)n, "", "stay", "stay", "numbered", "relabel", "memcpy",
        "ratio");
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) measure(&pairs[k], rank, samples);
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  int rank, ranks, status;
  int64_t n = 2048, samples = 100;
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &n,
                           .least = 1,
                           .most = 40000,
                           .help = "rows and columns in time (default 2048)"},
                          OPTION_COUNT("--samples", samples, 100000, "of each time (default 100)"),
                          {.name = NULL}};
  status = start(table, argc, argv, &rank, &ranks, "mappings",
                 "What relabelling saves, on paper and in time.");
  if (status < 0) {
    if (rank == 0) print_paper();
    measure_all(rank, ranks, n, samples);
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
