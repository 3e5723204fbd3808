/* Is the process grid of redist_best_grid the fastest? Times a sequence of redistributions on every
   grid of the ranks, on ranks that share one exact clock (bench/simulate.sh --grids). Works with any
   MPI. MIT licence, see LICENSE.

   usage: best_grid LABEL RANKS_PER_NODE SEQUENCE N [SEQUENCE N]... >table.csv
          best_grid paper RANKS SEQUENCE N [SEQUENCE N]...

   SEQUENCE: a name of `sequences` below; N: the edge of its array, of elements of 16 bytes. A row
   for each grid: seconds of the sequence from the common start to the end of the last rank, seconds
   predicted, and 1 for the grid that redist_best_grid finds with redist_calibrate's costs. On paper:
   the grid of so many ranks for 10 us a message and 1 ns a byte, and the time to find it. */
#include "simulated.h"

enum { ELEMENT = 16, MOST = 16 }; /* bytes; layouts of a sequence */

typedef struct {
  int64_t n;
  int ranks, only; /* the first factor of the one grid that is allowed; 0: of all */
  int (*fill)(const int *grid, redist_layout *sequence, int64_t n, int ranks);
} problem;

/* ---- sequences ---- */

static redist_layout pencil(int64_t n, int whole, const int *grid) {
  redist_axis axes[3];
  for (int d = 0, k = 0; d < 3; d++)
    axes[d] = d == whole ? redist_whole(n) : redist_balanced(n, grid[k++]);
  return redist_layout_nd(3, axes);
}

/* x, y, z, y, x */
static int pencils(const int *grid, redist_layout *sequence, int64_t n, int ranks) {
  (void)ranks;
  for (int whole = 0; whole < 3; whole++)
    sequence[whole] = sequence[4 - whole] = pencil(n, whole, grid);
  return 5;
}

/* From bricks to pencils along x, y, z, and back to the bricks. */
static int bricks(const int *grid, redist_layout *sequence, int64_t n, int ranks) {
  int sides[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 3, sides);
  for (int whole = 0; whole < 3; whole++) sequence[1 + whole] = pencil(n, whole, grid);
  sequence[0] = sequence[4] =
      redist_layout_3d(redist_balanced(n, sides[0]), redist_balanced(n, sides[1]),
                       redist_balanced(n, sides[2]));
  return 5;
}

/* From rows to blocks of 8 x 8, dealt out in both directions, and back. */
static int matrix(const int *grid, redist_layout *sequence, int64_t n, int ranks) {
  sequence[0] = sequence[2] = redist_layout_2d(redist_balanced(n, ranks), redist_whole(n));
  sequence[1] =
      redist_layout_2d(redist_block_cyclic(n, 8, grid[0]), redist_block_cyclic(n, 8, grid[1]));
  return 3;
}

static const struct {
  const char *name;
  int (*fill)(const int *grid, redist_layout *sequence, int64_t n, int ranks);
} sequences[] = {{"pencils", pencils}, {"bricks", bricks}, {"matrix", matrix}};
enum { SEQUENCES = sizeof sequences / sizeof *sequences };

static int allowed(const int *grid, redist_layout *sequence, int most, void *context) {
  const problem *p = context;
  (void)most;
  if (p->only > 0 && p->only != grid[0]) return 0;
  return p->fill(grid, sequence, p->n, p->ranks);
}

/* ---- one grid ---- */

static void check(int code, const char *what) {
  if (code == REDIST_OK) return;
  fprintf(stderr, "best_grid: %s: %s\n", what, redist_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double time_sequence(redist_plan *const *plan, int plans, void *const *array) {
  const double begin = latest(MPI_Wtime()) + 1e-3;
  wait_until(begin);
  for (int k = 0; k < plans; k++)
    check(redist_execute(plan[k], array[k], array[k + 1]), "executing");
  return latest(MPI_Wtime()) - begin;
}

static double time_grid(const problem *p, const int *grid) {
  redist_layout sequence[MOST];
  redist_plan *plan[MOST] = {NULL};
  void *array[MOST];
  MPI_Datatype element;
  const int layouts = p->fill(grid, sequence, p->n, p->ranks);
  double seconds;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(ELEMENT, MPI_BYTE, &element);
  for (int k = 0; k < layouts; k++)
    array[k] = array_new((size_t)redist_layout_local_size(&sequence[k], rank) * ELEMENT);
  for (int k = 0; k + 1 < layouts; k++)
    check(redist_plan_create(MPI_COMM_WORLD, &sequence[k], &sequence[k + 1], element, NULL,
                             &plan[k]),
          "planning");
  seconds = time_sequence(plan, layouts - 1, array);
  for (int k = 0; k < layouts; k++) array_free(array[k]);
  for (int k = 0; k + 1 < layouts; k++) redist_plan_free(&plan[k]);
  MPI_Type_free(&element);
  return seconds;
}

/* ---- the table ---- */

static void print_rows(problem *p, const char *label, int per_node, const char *name,
                       const redist_cost *cost) {
  int best[2], rank;
  double seconds, predicted;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  p->only = 0;
  check(redist_best_grid(p->ranks, 2, allowed, p, ELEMENT, cost, best, &predicted),
        "the best grid");
  for (int first = 1; first <= p->ranks; first++) {
    int grid[2] = {first, p->ranks / first};
    if (p->ranks % first != 0) continue;
    seconds = time_grid(p, grid);
    p->only = first;
    check(redist_best_grid(p->ranks, 2, allowed, p, ELEMENT, cost, grid, &predicted), "a grid");
    if (rank == 0)
      printf("%s,%d,%d,%s,%lld,%dx%d,%.9g,%.9g,%d\n", label, per_node, p->ranks, name,
             (long long)p->n, grid[0], grid[1], seconds, predicted, best[0] == first);
  }
  fflush(stdout);
}

static void print_time(problem *p, const char *name) {
  enum { TIMES = 9 };
  const redist_cost cost = {1e-5, 1e-9};
  double least = 1e9, predicted;
  int grid[2];
  for (int k = 0; k < TIMES; k++) {
    const double begin = MPI_Wtime();
    check(redist_best_grid(p->ranks, 2, allowed, p, ELEMENT, &cost, grid, &predicted), name);
    if (MPI_Wtime() - begin < least) least = MPI_Wtime() - begin;
  }
  printf("%s of %lld on %d ranks: %dx%d, found in %.2f ms\n", name, (long long)p->n, p->ranks,
         grid[0], grid[1], 1e3 * least);
}

int main(int argc, char **argv) {
  problem p;
  redist_cost cost;
  MPI_Init(&argc, &argv);
  memset(&p, 0, sizeof p);
  const int paper = argc > 2 && strcmp(argv[1], "paper") == 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  if (paper) p.ranks = atoi(argv[2]);
  check(redist_calibrate(MPI_COMM_WORLD, &cost), "measuring costs");
  for (int k = 3; k + 1 < argc; k += 2) {
    int which = 0;
    while (which < SEQUENCES && strcmp(argv[k], sequences[which].name) != 0) which++;
    check(which < SEQUENCES ? REDIST_OK : REDIST_ERR_ARGUMENT, argv[k]);
    p.fill = sequences[which].fill;
    p.n = atoll(argv[k + 1]);
    if (paper)
      print_time(&p, argv[k]);
    else
      print_rows(&p, argv[1], atoi(argv[2]), argv[k], &cost);
  }
  leave();
  return 0;
}
