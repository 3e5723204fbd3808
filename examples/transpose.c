/* A := beta A + alpha op(B) on block-cyclic matrices, where op is the identity, the transpose or
   the conjugate transpose: one combining plan, from a view of B to A. MIT licence, see LICENSE.
   mpicc -I. examples/transpose.c -o transpose && mpiexec -n 4 ./transpose

   The first part is HPC Challenge's PTRANS (there A := A + B^T): every element is compared with a
   formula, and, where ScaLAPACK is installed (-DHAVE_SCALAPACK, -lscalapack-mpich), with p?geadd's,
   bit for bit. The second is the iteration of ParRes' Transpose kernel, B += A^T and A += 1, whose
   result after any number of iterations is known. */
#include <complex.h>
#include <mpi.h>
#include <sched.h>

#include "options.h"
#include "redist_plan.h"

enum { PLAIN, TRANSPOSED, CONJUGATED };
enum { BY_MALLOC, BY_ARENA, BY_SCALAPACK, WAYS };

typedef struct {
  int64_t n, block, repetitions, iterations;
  double alpha, beta;
  int op, rank, ranks, grid[2];
  redist_layout layout; /* of A and of B: columns are contiguous, as in Fortran */
  redist_shape shape;
  redist_axis axis[2];
  redist_axpby factors;
  redist_arena *arena;
  int64_t count; /* elements here */
} problem;

/* Initial values: small whole numbers, so that ParRes' sums are exact. */
static double complex element(const problem *p, int matrix, int64_t i, int64_t j) {
  return (double)((p->n * i + j) % 1009 + matrix) + (double)((3 * i + 5 * j) % 101) * I;
}

/* The element of the whole matrix at index k of the local array. */
static void whereabouts(const problem *p, int64_t k, int64_t *i, int64_t *j) {
  int coords[2];
  redist_layout_coords(&p->layout, p->rank, coords);
  *i = redist_axis_global(&p->axis[0], coords[0], k % p->shape.count[0]);
  *j = redist_axis_global(&p->axis[1], coords[1], k / p->shape.count[0]);
}

static void fill(const problem *p, int matrix, double complex *array) {
  for (int64_t k = 0; k < p->count; k++) {
    int64_t i, j;
    whereabouts(p, k, &i, &j);
    array[k] = element(p, matrix, i, j);
  }
}

static double complex *take(const problem *p, int way) {
  const size_t bytes = ((size_t)p->count + 1) * sizeof(double complex);
  double complex *array = way == BY_ARENA ? redist_arena_alloc(p->arena, bytes) : malloc(bytes);
  if (!array) MPI_Abort(MPI_COMM_WORLD, 1);
  return array;
}

static redist_plan *make_plan(const problem *p, const redist_layout *from, redist_axpby *factors,
                              redist_arena *arena) {
  char message[256] = "";
  redist_options options;
  redist_plan *plan;
  memset(&options, 0, sizeof options);
  options.combine = redist_combine_axpby;
  options.context = factors;
  options.arena = arena;
  options.message = message;
  options.message_size = sizeof message;
  if (redist_plan_create(MPI_COMM_WORLD, from, &p->layout, MPI_C_DOUBLE_COMPLEX, &options, &plan) !=
      REDIST_OK) {
    if (p->rank == 0) fprintf(stderr, "transpose: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return plan;
}

static int64_t everywhere(int64_t value) {
  int64_t sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* ---- ScaLAPACK's ---- */

#ifdef HAVE_SCALAPACK
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
void pzgeadd_(const char *op, const int *m, const int *n, const double complex *alpha,
              const double complex *a, const int *ia, const int *ja, const int *desc_a,
              const double complex *beta, double complex *c, const int *ic, const int *jc,
              const int *desc_c);

static int scalapack_context(const problem *p) {
  int context;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", p->grid[0], p->grid[1]);
  return context;
}

static void by_scalapack(const problem *p, int context, double complex *a,
                         const double complex *b) {
  static const char op[] = "NTC";
  const int n = (int)p->n, one = 1, block = (int)p->block, rows = (int)p->shape.count[0];
  const int desc[9] = {1, context, n, n, block, block, 0, 0, rows > 0 ? rows : 1};
  const double complex alpha = p->alpha, beta = p->beta;
  pzgeadd_(&op[p->op], &n, &n, &alpha, b, &one, &one, desc, &beta, a, &one, &one, desc);
}

enum { COMPARED = WAYS };
#else
static int scalapack_context(const problem *p) { return p->rank; }
static void Cblacs_gridexit(int context) { (void)context; }
static void by_scalapack(const problem *p, int context, double complex *a,
                         const double complex *b) {
  (void)p, (void)context, (void)a, (void)b;
}

enum { COMPARED = BY_SCALAPACK };
#endif

/* ---- A := beta A + alpha op(B) ---- */

/* Counts the elements of A that differ from the formula, in which op(B) is evaluated element by
   element. */
static int64_t count_wrong(const problem *p, const double complex *a) {
  int64_t wrong = 0, i, j;
  for (int64_t k = 0; k < p->count; k++) {
    whereabouts(p, k, &i, &j);
    double complex x = p->op == PLAIN ? element(p, 1, i, j) : element(p, 1, j, i);
    x = p->op == CONJUGATED ? conj(x) : x;
    wrong += a[k] != p->beta * element(p, 0, i, j) + p->alpha * x;
  }
  return wrong;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The slowest rank's time after a barrier; not MPI's own, which would spin. */
static double meet(double value) {
  MPI_Request request;
  double most = 0;
  int done = 0;
  MPI_Iallreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) sched_yield();
  return most;
}

/* One way to combine: its arrays and its results. */
typedef struct {
  redist_plan *plan; /* NULL: ScaLAPACK's */
  double complex *a, *b;
  double *times;
  int64_t wrong;
} contestant;

static contestant enter(problem *p, int way) {
  /* this is all that transposing takes */
  const redist_layout view = p->op == PLAIN ? p->layout : redist_transposed(p->layout);
  contestant c;
  c.a = take(p, way);
  c.b = take(p, way);
  c.times = malloc((size_t)p->repetitions * sizeof *c.times);
  c.plan = way == BY_SCALAPACK
               ? NULL
               : make_plan(p, &view, &p->factors, way == BY_ARENA ? p->arena : NULL);
  if (!c.times) MPI_Abort(MPI_COMM_WORLD, 1);
  fill(p, 0, c.a);
  fill(p, 1, c.b);
  return c;
}

static void leave(contestant *c, int way) {
  redist_plan_free(&c->plan);
  free(c->times);
  if (way != BY_ARENA) {
    free(c->a);
    free(c->b);
  }
}

static void execute(const problem *p, contestant *c, int context, int64_t repetition) {
  double begin;
  meet(0);
  begin = MPI_Wtime();
  if (c->plan == NULL)
    by_scalapack(p, context, c->a, c->b);
  else if (redist_execute(c->plan, c->b, c->a) != REDIST_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  c->times[repetition] = meet(MPI_Wtime() - begin);
  if (repetition == 0) c->wrong = everywhere(count_wrong(p, c->a));
}

/* Prints the median time, and whether the result is right. */
static int report(const problem *p, contestant *c, const char *name, const contestant *first) {
  int64_t other = 0;
  for (int64_t k = 0; k < p->count; k++)
    other += memcmp(&c->a[k], &first->a[k], sizeof c->a[k]) != 0;
  other = everywhere(other);
  qsort(c->times, (size_t)p->repetitions, sizeof *c->times, compare);
  if (p->rank == 0)
    printf("  %-16s %10.1f us, %s%s\n", name, 1e6 * c->times[p->repetitions / 2],
           c->wrong == 0 ? "right" : "WRONG",
           other > 0    ? ", OTHER BITS"
           : c != first ? ", the same bits"
                        : "");
  return c->wrong != 0 || other != 0;
}

static int combine(problem *p) {
  static const char *const names[WAYS] = {"redist, malloc", "redist, arena", "ScaLAPACK"};
  const int context = scalapack_context(p);
  contestant c[WAYS];
  int status = 0;
  for (int way = 0; way < COMPARED; way++) c[way] = enter(p, way);
  for (int64_t k = 0; k < p->repetitions; k++) /* alternately: other load affects all of them */
    for (int way = 0; way < COMPARED; way++) execute(p, &c[way], context, k);
  for (int way = 0; way < COMPARED; way++) status |= report(p, &c[way], names[way], &c[0]);
  for (int way = 0; way < COMPARED; way++) leave(&c[way], way);
  Cblacs_gridexit(context);
  return status;
}

/* ---- B += A^T, A += 1 ---- */

static int iterate(problem *p) {
  redist_axpby add = {REDIST_COMPLEX_DOUBLE, {1, 0}, {1, 0}, 0};
  const redist_layout view = redist_transposed(p->layout);
  redist_plan *plan = make_plan(p, &view, &add, NULL);
  double complex *a = take(p, BY_MALLOC), *b = take(p, BY_MALLOC);
  const double rounds = (double)p->iterations;
  int64_t wrong = 0, i, j;
  fill(p, 0, a);
  memset(b, 0, (size_t)p->count * sizeof *b);
  for (int64_t k = 0; k < p->iterations; k++) {
    if (redist_execute(plan, a, b) != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int64_t l = 0; l < p->count; l++) a[l] += 1;
  }
  for (int64_t k = 0; k < p->count; k++) {
    whereabouts(p, k, &i, &j);
    wrong += b[k] != rounds * element(p, 0, j, i) + rounds * (rounds - 1) / 2;
  }
  wrong = everywhere(wrong);
  if (p->rank == 0)
    printf("  after %lld times B += A^T, A += 1: %s\n", (long long)p->iterations,
           wrong == 0 ? "right" : "WRONG");
  redist_plan_free(&plan);
  free(a);
  free(b);
  return wrong != 0;
}

static int run(problem *p) {
  static const char *const op[] = {"B", "B^T", "B^H"};
  int status;
  MPI_Dims_create(p->ranks, 2, p->grid);
  for (int d = 0; d < 2; d++) p->axis[d] = redist_block_cyclic(p->n, p->block, p->grid[d]);
  p->layout = redist_memory_order(redist_layout_2d(p->axis[0], p->axis[1]), REDIST_COLUMN_MAJOR);
  redist_layout_shape(&p->layout, p->rank, &p->shape);
  p->count = redist_layout_local_size(&p->layout, p->rank);
  p->factors.type = REDIST_COMPLEX_DOUBLE;
  p->factors.alpha[0] = p->alpha, p->factors.beta[0] = p->beta;
  p->factors.alpha[1] = p->factors.beta[1] = 0;
  p->factors.conjugate = p->op == CONJUGATED;
  if (redist_arena_create(MPI_COMM_WORLD, 2 * ((size_t)p->count + 9) * sizeof(double complex),
                          &p->arena) != REDIST_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (p->rank == 0)
    printf("A := %g A + %g %s, %lld x %lld complex numbers in blocks of %lld on %d x %d ranks\n",
           p->beta, p->alpha, op[p->op], (long long)p->n, (long long)p->n, (long long)p->block,
           p->grid[0], p->grid[1]);
  status = combine(p);
  status |= iterate(p);
  redist_arena_free(&p->arena);
  return status;
}

int main(int argc, char **argv) {
  problem p = {.n = 500,
               .block = 32,
               .repetitions = 9,
               .iterations = 10,
               .alpha = 1,
               .beta = 1,
               .op = TRANSPOSED};
  const option_choice ops[] = {{"none", PLAIN},
                               {"transpose", TRANSPOSED},
                               {"conjugate", CONJUGATED},
                               {NULL, 0}};
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &p.n,
                           .least = 1,
                           .most = 20000,
                           .help = "rows and columns (default 500)"},
                          {.name = "--block",
                           .argument = "B",
                           .integer = &p.block,
                           .least = 1,
                           .most = 20000,
                           .help = "rows and columns of a block (default 32)"},
                          {.name = "--op",
                           .argument = "OP",
                           .choice = &p.op,
                           .choices = ops,
                           .help = "what becomes of B (default transpose)"},
                          {.name = "--alpha",
                           .argument = "X",
                           .real = &p.alpha,
                           .least = -1e9,
                           .most = 1e9,
                           .help = "of B (default 1)"},
                          {.name = "--beta",
                           .argument = "X",
                           .real = &p.beta,
                           .least = -1e9,
                           .most = 1e9,
                           .help = "of A (default 1)"},
                          {.name = "--repetitions",
                           .argument = "K",
                           .integer = &p.repetitions,
                           .least = 1,
                           .most = 10000,
                           .help = "of which medians are printed (default 9)"},
                          {.name = "--iterations",
                           .argument = "K",
                           .integer = &p.iterations,
                           .most = 10000,
                           .help = "of B += A^T, A += 1 (default 10)"},
                          {.name = NULL}};
  int status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  status = options_start(
      table, argc, argv, p.rank, "transpose",
      "Teaches combining: A := beta A + alpha op(B) for block-cyclic matrices is a plan from a view of B to A with\n"
      "redist_combine_axpby. Compares with ScaLAPACK where it is installed, and runs ParRes' Transpose.");
  if (status < 0) status = run(&p);
  MPI_Finalize();
  return status;
}
