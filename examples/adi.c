/* The heat equation by alternating directions, with two redistributions each time step. MIT
   licence, see LICENSE.
   mpicc -I. examples/adi.c -o adi -lm && mpiexec -n 4 ./adi

   u_t = u_xx + u_yy on the unit square, u = 0 on its boundary, by the scheme of Peaceman and
   Rachford. With Dx and Dy the second differences along x and y, and a = dt / 2, a time step is two
   half steps:

       (1 - a Dx) u' = (1 + a Dy) u          implicit along x, explicit along y
       (1 - a Dy) u" = (1 + a Dx) u'         implicit along y, explicit along x

   Each half step needs whole rows or whole columns, so the array alternates between two layouts.
   The redistributed array is w = (1 + a D) u, computed where that direction is whole. It costs
   nothing: (1 - a D) u = w gives (1 + a D) u = 2 u - w. So a step is: to rows, sweep, to columns,
   sweep. There are no halos and no other messages.

   In both layouts, the direction of the sweep varies slowest in memory (rows: column-major,
   columns: row-major). So one routine serves both, and solves many neighbouring lines at once with
   unit stride. The plan changes the storage order. */
#include <limits.h>
#include <math.h>
#include <mpi.h>

#include "checkpoint.h"
#include "options.h"
#include "redist_plan.h"

/* lines solved at once: a few cache lines wide, so that a strip of long lines stays in the cache */
enum { STRIP = 32 };

/* (1 - a D) for lines of n points, factored. ratio: a / h^2; strip: n + 2 rows of STRIP, the first
   and last stay 0. */
typedef struct {
  int64_t n;
  double ratio, *inverse, *strip;
} tridiagonal;

static double *allocate(int64_t count) {
  double *memory = calloc((size_t)count + 1, sizeof(double)); /* + 1: calloc(0) may return NULL */
  if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

static tridiagonal factor(int64_t n, double ratio) {
  tridiagonal t = {n, ratio, allocate(n), allocate((n + 2) * STRIP)};
  for (int64_t k = 0; k < n; k++)
    t.inverse[k] = 1 / (1 + 2 * ratio - (k > 0 ? ratio * ratio * t.inverse[k - 1] : 0));
  return t;
}

/* Solves (1 - a D) u = w for some lines: w becomes u, or with onward = 1 (1 + a D) u. Point k of
   line l is w[k lines + l]. */
static void sweep_strip(const tridiagonal *t, double *w, int64_t lines, int64_t width,
                        double onward) {
  for (int64_t k = 0; k < t->n; k++) /* forward elimination, into the strip */
    for (int64_t l = 0; l < width; l++) {
      double *y = t->strip + (k + 1) * STRIP + l;
      *y = (w[k * lines + l] + t->ratio * y[-STRIP]) * t->inverse[k];
    }
  for (int64_t k = t->n - 1; k >= 0; k--) /* back substitution */
    for (int64_t l = 0; l < width; l++) {
      double *u = t->strip + (k + 1) * STRIP + l, *at = &w[k * lines + l];
      *u += t->ratio * t->inverse[k] * u[STRIP];
      *at = *u + onward * (*u - *at);
    }
}

static void sweep(const tridiagonal *t, double *w, int64_t lines, double onward) {
  for (int64_t first = 0; first < lines; first += STRIP)
    sweep_strip(t, w + first, lines, lines - first < STRIP ? lines - first : STRIP, onward);
}

static redist_plan *create_plan(const redist_layout *from, const redist_layout *to, int method,
                                int rank) {
  char message[256] = "";
  redist_plan *plan = NULL;
  redist_options options;
  memset(&options, 0, sizeof options);
  options.method = (redist_method)method;
  options.timed = 1; /* for the report of copying and waiting */
  options.message = message;
  options.message_size = sizeof message;
  /* so on every rank */
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) != REDIST_OK) {
    if (rank == 0) fprintf(stderr, "adi: %s\n", message);
    MPI_Finalize();
    exit(1);
  }
  return plan;
}

static void execute(redist_plan *plan, const double *from, double *to, double *seconds) {
  double begin = MPI_Wtime();
  if (redist_execute(plan, from, to) != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  *seconds += MPI_Wtime() - begin;
}

typedef struct {
  int64_t n, steps, block, first; /* first: steps before this run */
  double dt;
  int method;
  const char *save, *restart;
} settings;

/* (1 + a Dy) u, where y is whole. */
static void apply(const tridiagonal *t, double *u, int64_t lines) {
  for (int64_t l = 0; l < lines; l++) {
    double before = 0;
    for (int64_t i = 0; i < t->n; i++) {
      const double now = u[i * lines + l], next = i + 1 < t->n ? u[(i + 1) * lines + l] : 0;
      u[i * lines + l] = now + t->ratio * (before - 2 * now + next);
      before = now;
    }
  }
}

/* ---- checkpoints: u, and which step of which run ---- */

static checkpoint open_checkpoint(const settings *s, const char *name) {
  checkpoint c;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = name;
  snprintf(c.note, sizeof c.note, "adi n %lld step %lld dt %.17g", (long long)s->n,
           (long long)(s->first + s->steps), s->dt);
  return c;
}

static int fail(int rank, const char *sentence) {
  if (rank == 0) fprintf(stderr, "adi: %s\n", sentence);
  return 1;
}

/* Reads the parameters of the run to be continued. */
static int look(settings *s, int rank) {
  checkpoint c = open_checkpoint(s, s->restart);
  long long n, step;
  if (!checkpoint_look(&c)) return fail(rank, c.wrong);
  if (sscanf(c.note, "adi n %lld step %lld dt %lg", &n, &step, &s->dt) != 3 || n < 1 || step < 0) {
    checkpoint_fail(&c, "is not of adi, but '%s'", c.note);
    return fail(rank, c.wrong);
  }
  s->n = n;
  s->first = step;
  return 0;
}

static int pass(const settings *s, const redist_layout *columns, double *u, int saving, int rank) {
  checkpoint c = open_checkpoint(s, saving ? s->save : s->restart);
  const checkpoint_field field = {"u", "double", *columns, u};
  return (saving ? checkpoint_save(&c, 1, &field) : checkpoint_load(&c, 1, &field))
             ? 0
             : fail(rank, c.wrong);
}

typedef struct {
  const settings *set;
  int rank, ranks;
  redist_axis mine;
  redist_layout rows, columns;
  redist_plan *to_rows, *to_columns;
  tridiagonal t;
  int64_t lines; /* the same number of rows and columns */
  double *sine, *by_rows, *by_columns;
  double marching, redistributing; /* seconds */
} solver;

static void prepare(solver *s) {
  const settings *set = s->set;
  const redist_axis whole = redist_whole(set->n);
  const double pi = acos(-1), h = 1 / (double)(set->n + 1);
  s->mine = set->block > 0 ? redist_block_cyclic(set->n, set->block, s->ranks)
                           : redist_block(set->n, s->ranks);
  s->rows = redist_memory_order(redist_layout_2d(s->mine, whole), REDIST_COLUMN_MAJOR);
  s->columns = redist_layout_2d(whole, s->mine);
  s->to_rows = create_plan(&s->columns, &s->rows, set->method, s->rank);
  s->to_columns = create_plan(&s->rows, &s->columns, set->method, s->rank);
  s->t = factor(set->n, set->dt / 2 / (h * h));
  s->lines = redist_axis_count(&s->mine, s->rank);
  s->sine = allocate(set->n + 2);
  s->by_rows = allocate(set->n * s->lines);
  s->by_columns = allocate(set->n * s->lines);
  for (int64_t i = 1; i <= set->n; i++) s->sine[i] = sin(pi * h * (double)i);
}

static void release(solver *s) {
  redist_plan_free(&s->to_rows);
  redist_plan_free(&s->to_columns);
  free(s->t.inverse), free(s->t.strip), free(s->sine), free(s->by_rows), free(s->by_columns);
}

/* sin(pi x) sin(pi y), whose shape does not change, at point i of line l. */
static double wave(const solver *s, int64_t i, int64_t l) {
  return s->sine[i + 1] * s->sine[redist_axis_global(&s->mine, s->rank, l) + 1];
}

static int start(solver *s) {
  if (s->set->restart) return pass(s->set, &s->columns, s->by_columns, 0, s->rank);
  for (int64_t i = 0; i < s->set->n; i++)
    for (int64_t l = 0; l < s->lines; l++) s->by_columns[i * s->lines + l] = wave(s, i, l);
  return 0;
}

static void march(solver *s) {
  const int64_t steps = s->set->steps;
  const double begin = MPI_Wtime();
  if (steps > 0) apply(&s->t, s->by_columns, s->lines);
  for (int64_t step = 1; step <= steps; step++) {
    execute(s->to_rows, s->by_columns, s->by_rows, &s->redistributing);
    sweep(&s->t, s->by_rows, s->lines, 1); /* along x */
    execute(s->to_columns, s->by_rows, s->by_columns, &s->redistributing);
    sweep(&s->t, s->by_columns, s->lines, step < steps); /* along y */
  }
  s->marching = MPI_Wtime() - begin;
}

/* Compares the result with the exact solutions of the equation and of the scheme; the latter must
   agree to rounding. Returns the exit status. */
static int judge(const solver *s) {
  const settings *set = s->set;
  const double pi = acos(-1), steps = (double)(set->first + set->steps);
  const double damping = 4 * s->t.ratio * pow(sin(pi / (double)(set->n + 1) / 2), 2);
  const double exact = exp(-2 * pi * pi * steps * set->dt);
  const double scheme = pow((1 - damping) / (1 + damping), 2 * steps);
  double worst[2] = {0, 0}, all[2];
  for (int64_t i = 0; i < set->n; i++)
    for (int64_t l = 0; l < s->lines; l++) {
      const double u = s->by_columns[i * s->lines + l];
      worst[0] = fmax(worst[0], fabs(u - exact * wave(s, i, l)));
      worst[1] = fmax(worst[1], fabs(u - scheme * wave(s, i, l)));
    }
  MPI_Allreduce(worst, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  redist_plan_print(s->to_rows, s->rank == 0 ? stdout : NULL);
  if (s->rank == 0)
    printf("heat equation by ADI: %lld x %lld points, %lld steps of %g on %d rank%s\n"
           "  seconds          %.3f redistributing, %.3f sweeping\n"
           "  error            %.2e of %.2e, against exp(-2 pi^2 t) sin(pi x) sin(pi y)\n"
           "  rounding         %.1e: %s\n",
           (long long)set->n, (long long)set->n, (long long)set->steps, set->dt, s->ranks,
           s->ranks > 1 ? "s" : "", s->redistributing, s->marching - s->redistributing, all[0],
           exact, all[1], all[1] < 1e-9 ? "right" : "WRONG");
  return !(all[1] < 1e-9);
}

/* Returns the exit status. */
static int solve(const settings *set, int rank, int ranks) {
  solver s;
  int status;
  memset(&s, 0, sizeof s);
  s.set = set;
  s.rank = rank;
  s.ranks = ranks;
  prepare(&s);
  status = start(&s);
  if (status == 0) {
    march(&s);
    status = judge(&s);
    if (set->save) status |= pass(set, &s.columns, s.by_columns, 1, rank);
  }
  release(&s);
  return status;
}

/* Sets what was not given as an option: from the run to be continued, or to the defaults. */
static int complete(settings *s, int rank) {
  if (s->restart && (s->n > 0 || s->dt > 0))
    return fail(rank, "--restart and --n, --dt exclude each other") + 1;
  if (s->restart) return look(s, rank);
  s->n = s->n > 0 ? s->n : 1000;
  s->dt = s->dt > 0 ? s->dt : 0.1 / (double)(s->steps > 0 ? s->steps : 1);
  return 0;
}

int main(int argc, char **argv) {
  static const option_choice methods[] = {{"auto", REDIST_AUTO},
                                          {"shared", REDIST_SHARED},
                                          {"point_to_point", REDIST_POINT_TO_POINT},
                                          {"scheduled", REDIST_SCHEDULED},
                                          {"alltoallv", REDIST_ALLTOALLV},
                                          {"alltoallw", REDIST_ALLTOALLW},
                                          {"multiphase", REDIST_MULTIPHASE},
                                          {"nodes", REDIST_NODES},
                                          {NULL, 0}};
  settings s = {0, 100, 0, 0, 0, REDIST_AUTO, NULL, NULL};
  int rank, ranks, status;
  const option table[] = {
      {.name = "--n",
       .argument = "N",
       .integer = &s.n,
       .least = 1,
       .most = 1000000,
       .help = "points along each side (default 1000)"},
      {.name = "--steps",
       .argument = "K",
       .integer = &s.steps,
       .most = 1e9,
       .help = "time steps (default 100)"},
      {.name = "--dt",
       .argument = "DT",
       .real = &s.dt,
       .least = 1e-300,
       .most = 1e6,
       .help = "time step (default 0.1 / K)"},
      {.name = "--method",
       .argument = "NAME",
       .choice = &s.method,
       .choices = methods,
       .help = "how to redistribute (default auto)"},
      {.name = "--block",
       .argument = "B",
       .integer = &s.block,
       .least = 1,
       .most = INT_MAX,
       .help = "distribute rows and columns in blocks of B (default one block each)"},
      {.name = "--save",
       .argument = "FILE",
       .text = &s.save,
       .help = "write a checkpoint at the end"},
      {.name = "--restart",
       .argument = "FILE",
       .text = &s.restart,
       .help = "continue from a checkpoint of any number of ranks"},
      {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  status = options_start(
      table, argc, argv, rank, "adi",
      "Teaches the use of two layouts and two plans: from columns to rows and back in every time step, so that\n"
      "one sweep serves both directions. Solves the heat equation and compares with the exact solution.");
  if (status < 0) {
    status = complete(&s, rank);
    status = status == 0 ? solve(&s, rank, ranks) : status;
  }
  MPI_Finalize();
  return status;
}
