/* Multiply where the matrices lie, or on another process grid? The table of Namugwanya 2021 with
   this machine's numbers. MIT licence, see LICENSE.
   mpicc -I. examples/multiply.c -o multiply -lscalapack-mpich && mpiexec -n 4 ./multiply

   The program times ScaLAPACK's pdgemm on every process grid of the ranks, and redist between every
   two grids. To use another grid, both operands are moved there and the product is moved back;
   redist_advise predicts whether that pays. Then come the other operations of the thesis: reshaping
   the grid, transposing, both together, rotating. Each is one plan; only the view differs. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
void pdgemm_(const char *transposed_a, const char *transposed_b, const int *m, const int *n,
             const int *k, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *desc_a, const double *b, const int *ib, const int *jb, const int *desc_b,
             const double *beta, double *c, const int *ic, const int *jc, const int *desc_c);

enum { MOST_GRIDS = 64, TIMES = 3 };

/* A process grid, how an n x n matrix lies on it, and three of them: c = a b. */
typedef struct {
  int rows, columns, context, desc[9];
  redist_layout layout;
  double *a, *b, *c, multiply; /* seconds */
} grid;

typedef struct {
  int64_t n, block, repetitions;
  int rank, ranks, grids;
  grid grid[MOST_GRIDS];
  double reshape[MOST_GRIDS][MOST_GRIDS]; /* seconds for one matrix from one grid to another */
} study;

/* Rank 0 prints the error. Returns the exit status. */
static int fail(const study *s, const char *what, const char *detail) {
  if (s->rank == 0)
    fprintf(stderr, "multiply: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
  return 1;
}

static int everywhere(int ok) {
  int all = 0;
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

/* The slowest rank's time, which all ranks learn. */
static double slowest(double seconds) {
  double all = 0;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/* ---- matrices on grids ---- */

static double *matrix(const study *s, const redist_layout *layout) {
  /* + 1: calloc(0) may return NULL */
  return calloc((size_t)redist_layout_local_size(layout, s->rank) + 1, sizeof(double));
}

static int grid_create(const study *s, grid *g, int rows) {
  int place = s->rank, height;
  redist_axis dealt = redist_block_cyclic(s->n, s->block, rows);
  memset(g, 0, sizeof *g);
  g->rows = rows;
  g->columns = s->ranks / rows;
  Cblacs_get(-1, 0, &g->context);
  Cblacs_gridinit(&g->context, "Row", g->rows, g->columns);
  height = (int)redist_axis_count(&dealt, place / g->columns);
  g->desc[0] = 1;
  g->desc[1] = g->context;
  g->desc[2] = g->desc[3] = (int)s->n;
  g->desc[4] = g->desc[5] = (int)s->block;
  g->desc[8] = height > 0 ? height : 1;
  g->layout = redist_from_scalapack(g->desc, g->rows, g->columns);
  g->a = matrix(s, &g->layout);
  g->b = matrix(s, &g->layout);
  g->c = matrix(s, &g->layout);
  return everywhere(g->a && g->b && g->c) ? 0 : fail(s, "not enough memory", "");
}

static void grid_free(grid *g) {
  Cblacs_gridexit(g->context);
  free(g->a);
  free(g->b);
  free(g->c);
}

/* Element (i, j) of the operands; all products are exact. */
static double element(int64_t i, int64_t j) { return (double)((3 * i + 5 * j) % 17 - 8); }

/* Calls visit for each element of a matrix that this rank holds; returns how many calls return
   0. */
static int64_t walk(const study *s, const grid *g, double *values,
                    int (*visit)(int64_t i, int64_t j, double *value, const void *),
                    const void *what) {
  const redist_axis *rows = &g->layout.dim[0].axis, *columns = &g->layout.dim[1].axis;
  int64_t wrong = 0;
  int x = s->rank / g->columns, y = s->rank % g->columns;
  for (int64_t j = 0; j < redist_axis_count(columns, y); j++)
    for (int64_t i = 0; i < redist_axis_count(rows, x); i++)
      wrong += !visit(redist_axis_global(rows, x, i), redist_axis_global(columns, y, j),
                      &values[i + j * g->desc[8]], what);
  return wrong;
}

static int fill(int64_t i, int64_t j, double *value, const void *shift) {
  *value = element(i + *(const int *)shift, j);
  return 1;
}

static void multiply(const study *s, grid *g) {
  const int n = (int)s->n, one = 1;
  const double unit = 1, zero = 0;
  pdgemm_("N", "N", &n, &n, &n, &unit, g->a, &one, &one, g->desc, g->b, &one, &one, g->desc, &zero,
          g->c, &one, &one, g->desc);
}

static void time_multiply(const study *s, grid *g) {
  for (int k = 0; k < TIMES; k++) {
    double begin;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    multiply(s, g);
    begin = slowest(MPI_Wtime() - begin);
    g->multiply = k == 0 || begin < g->multiply ? begin : g->multiply;
  }
}

/* ---- redistribution: every operation of the thesis is this ---- */

/* Copies element (i, j) of one view to element (i, j) of another; *seconds: the fastest of a few
   times. */
static int redistribute(const study *s, const redist_layout *from, const double *source,
                        const redist_layout *to, double *target, double *seconds) {
  char message[256] = "";
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  options.method = REDIST_POINT_TO_POINT; /* quick to plan */
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan);
  for (int k = 0; k < TIMES && code == REDIST_OK; k++) {
    /* no barrier first: it would spin where ranks outnumber cores */
    double begin = MPI_Wtime();
    code = redist_execute(plan, source, target);
    begin = MPI_Wtime() - begin;
    *seconds = k == 0 || begin < *seconds ? begin : *seconds;
  }
  *seconds = slowest(*seconds);
  if (plan) redist_plan_free(&plan);
  return everywhere(code == REDIST_OK) ? 0 : fail(s, redist_strerror(code), message);
}

/* ---- the table ---- */

static int time_reshapes(study *s) {
  int status = 0;
  for (int from = 0; from < s->grids; from++)
    for (int to = 0; to < s->grids && status == 0; to++)
      if (from != to)
        status = redistribute(s, &s->grid[from].layout, s->grid[from].a, &s->grid[to].layout,
                              s->grid[to].a, &s->reshape[from][to]);
  return status;
}

static void print_row(const study *s, int from, int to, const redist_advice *advice) {
  const grid *here = &s->grid[from], *there = &s->grid[to];
  char break_even[32] = "never";
  if (advice->break_even > 0)
    snprintf(break_even, sizeof break_even, "%lld", (long long)advice->break_even);
  printf("%4dx%-4d %4dx%-4d %9.3f %9.3f %9.3f %9.3f %10.3f %12s  %s\n", here->rows, here->columns,
         there->rows, there->columns, 1e3 * here->multiply, 1e3 * there->multiply,
         2e3 * s->reshape[from][to], 1e3 * s->reshape[to][from], 1e3 * advice->gain, break_even,
         advice->worthwhile ? "redistribute" : "stay");
}

static int print_table(const study *s) {
  redist_advice advice;
  int code = REDIST_OK;
  if (s->rank == 0)
    printf(
        "%lld x %lld doubles in blocks of %lld on %d rank%s, %lld multiplication%s; milliseconds\n"
        "  present   new           here     there  both in  product  gain in all   break-even\n",
        (long long)s->n, (long long)s->n, (long long)s->block, s->ranks, s->ranks > 1 ? "s" : "",
        (long long)s->repetitions, s->repetitions != 1 ? "s" : "");
  for (int from = 0; from < s->grids; from++)
    for (int to = 0; to < s->grids && code == REDIST_OK; to++) {
      if (from == to) continue;
      code = redist_advise(s->grid[from].multiply, s->grid[to].multiply, 2 * s->reshape[from][to],
                           s->reshape[to][from], s->repetitions, &advice);
      if (code == REDIST_OK && s->rank == 0) print_row(s, from, to, &advice);
    }
  return code == REDIST_OK ? 0 : fail(s, "no advice", redist_strerror(code));
}

/* Moves both operands to another grid, multiplies, moves the product back, and compares it with the
   product made here: exactly, since all numbers are whole. */
static int check_round_trip(study *s, int from, int to) {
  grid *here = &s->grid[from], *there = &s->grid[to];
  double *product = matrix(s, &here->layout), unused;
  size_t bytes = (size_t)redist_layout_local_size(&here->layout, s->rank) * sizeof *product;
  int same, status = everywhere(product != NULL) ? 0 : fail(s, "not enough memory", "");
  if (status == 0)
    status = redistribute(s, &here->layout, here->a, &there->layout, there->a, &unused);
  if (status == 0)
    status = redistribute(s, &here->layout, here->b, &there->layout, there->b, &unused);
  if (status == 0) {
    multiply(s, here);
    multiply(s, there);
    status = redistribute(s, &there->layout, there->c, &here->layout, product, &unused);
  }
  if (status == 0) {
    same = everywhere(memcmp(product, here->c, bytes) == 0);
    if (s->rank == 0)
      printf("operands to %dx%d, product back to %dx%d: %s\n", there->rows, there->columns,
             here->rows, here->columns, same ? "right" : "WRONG");
    status = !same;
  }
  free(product);
  return status;
}

/* ---- the other operations ---- */

/* The view of the operand (transposed, rotated) and the grid of the destination. */
typedef struct {
  const char *name;
  int transposed, turned, reshaped;
  int64_t n;
} operation;

static int holds(int64_t i, int64_t j, double *value, const void *what) {
  const operation *o = (const operation *)what;
  if (o->transposed) return *value == element(j, i);
  return *value == (o->turned ? element(j, o->n - 1 - i) : element(i, j));
}

static int try_operation(study *s, operation o, int from, int to) {
  const grid *source = &s->grid[from], *target = &s->grid[o.reshaped ? to : from];
  redist_layout view = source->layout;
  double seconds;
  int right;
  if (o.transposed) view = redist_transposed(view);
  if (o.turned) view = redist_rotated(view, 1);
  if (redistribute(s, &view, source->a, &target->layout, target->c, &seconds) != 0) return 1;
  o.n = s->n;
  right = everywhere(walk(s, target, target->c, holds, &o) == 0);
  if (s->rank == 0)
    printf("%-26s %4dx%-4d to %4dx%-4d %9.3f ms: %s\n", o.name, source->rows, source->columns,
           target->rows, target->columns, 1e3 * seconds, right ? "right" : "WRONG");
  return !right;
}

static int try_operations(study *s) {
  static const operation operations[] = {{"reshape", 0, 0, 1, 0},
                                         {"transpose", 1, 0, 0, 0},
                                         {"transpose and reshape", 1, 0, 1, 0},
                                         {"rotate", 0, 1, 0, 0},
                                         {"rotate and reshape", 0, 1, 1, 0}};
  int status = 0;
  for (size_t k = 0; k < sizeof operations / sizeof *operations && status == 0; k++)
    status = try_operation(s, operations[k], 0, s->grids - 1);
  return status;
}

/* ---- the command line ---- */

static int run(study *s) {
  static const int shift[2] = {0, 4}; /* the two operands differ */
  int status = 0;
  for (int rows = 1; rows <= s->ranks && s->grids < MOST_GRIDS && status == 0; rows++)
    if (s->ranks % rows == 0) {
      grid *g = &s->grid[s->grids++];
      status = grid_create(s, g, rows);
      if (status != 0) return status;
      walk(s, g, g->a, fill, &shift[0]);
      walk(s, g, g->b, fill, &shift[1]);
      time_multiply(s, g);
    }
  status = time_reshapes(s);
  if (status == 0) status = print_table(s);
  if (status == 0 && s->grids > 1) status = check_round_trip(s, 0, s->grids - 1);
  return status == 0 ? try_operations(s) : status;
}

int main(int argc, char **argv) {
  static study s = {.n = 128, .block = 16, .repetitions = 1};
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &s.n,
                           .least = 1,
                           .most = 40000,
                           .help = "rows and columns (default 128)"},
                          {.name = "--block",
                           .argument = "B",
                           .integer = &s.block,
                           .least = 1,
                           .most = 40000,
                           .help = "ScaLAPACK's MB and NB (default 16)"},
                          {.name = "--repetitions",
                           .argument = "K",
                           .integer = &s.repetitions,
                           .least = 0,
                           .most = 1e15,
                           .help = "multiplications between going there and back (default 1)"},
                          {.name = NULL}};
  int status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  status = options_start(
      table, argc, argv, s.rank, "multiply",
      "Teaches redist_advise: whether to compute where the data lies, or to redistribute first; on ScaLAPACK's\n"
      "pdgemm and every process grid of the ranks. Then views: reshaping, transposing and rotating, each one plan.");
  if (status < 0) status = run(&s);
  for (int k = 0; k < s.grids; k++) grid_free(&s.grid[k]);
  Cblacs_exit(1);
  MPI_Finalize();
  return status;
}
