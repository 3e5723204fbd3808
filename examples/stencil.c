/* The wave equation on periodic bricks, with a halo exchange while the interior is computed; and on
   a staggered grid, whose fields are exchanged in one message. MIT licence, see LICENSE.
   mpicc -I. examples/stencil.c -o stencil -lm && mpiexec -n 4 ./stencil

   u_tt = u_xx + u_yy + u_zz on the unit cube, periodic, by leapfrog with seven points:

       next = 2 u - before + (dt / h)^2 (sum of the six neighbours - 6 u)

   A brick is stored with a halo of some cells, of which this scheme needs the nearest
   (redist_ghost_depth). A plan from the bricks' layout to the same layout with ghosts, in place on
   one array, fills them: it sends boundary cells and touches nothing else. While it is in progress,
   the cells that need no ghost cell are computed; the others follow when it is complete.

   With --stencil star, ghost cells beyond several faces, which seven points never read, are left out
   (redist_without_corners): fewer bytes, and at most six messages instead of 26. The exchange is
   then also timed with corners, as box stencils need them.

   A plane wave solves the scheme exactly, when its frequency w meets sin^2(w dt / 2) / dt^2 = sum
   of sin^2(pi k h) / h^2 over the axes, so that the program can be checked to rounding.

   With --fields staggered it solves h_t = -u_x - v_y, u_t = -h_x, v_t = -h_y in a closed square:
   heights at cell centres, velocities at faces, of which there is one more along an axis. One plan
   of three parts exchanges all three fields, with one message to each neighbour in a step, because
   a rank also computes the faces beyond its last cells, from its ghost cells. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

enum { ONE, STAGGERED };
enum { BOX, STAR };

typedef struct {
  int64_t n, steps, halo;
  int fields, stencil;
} settings;

typedef struct {
  redist_shape shape;
  double c; /* (dt / h)^2 */
} brick;

/* One step for the cells begin[d] <= i[d] < end[d] of a brick. */
static void update(const brick *b, const double *u, double *next, const int64_t *begin,
                   const int64_t *end) {
  const int64_t x = b->shape.stride[0], y = b->shape.stride[1];
  for (int64_t i = begin[0]; i < end[0]; i++)
    for (int64_t j = begin[1]; j < end[1]; j++) {
      const int64_t row = b->shape.origin + i * x + j * y;
      for (int64_t at = row + begin[2]; at < row + end[2]; at++)
        next[at] = 2 * u[at] - next[at] +
                   b->c * (u[at - x] + u[at + x] + u[at - y] + u[at + y] + u[at - 1] + u[at + 1] -
                           6 * u[at]);
    }
}

/* The cells that need no ghost cell. */
static void update_interior(const brick *b, const double *u, double *next) {
  const int64_t begin[3] = {1, 1, 1};
  const int64_t end[3] = {b->shape.count[0] - 1, b->shape.count[1] - 1, b->shape.count[2] - 1};
  update(b, u, next, begin, end);
}

/* The six faces, each cell once. */
static void update_boundary(const brick *b, const double *u, double *next) {
  int64_t begin[3] = {0, 0, 0}, end[3];
  for (int d = 0; d < 3; d++) end[d] = b->shape.count[d];
  for (int d = 0; d < 3; d++) {
    const int64_t low = begin[d], high = end[d];
    end[d] = low + 1 < high ? low + 1 : high;
    update(b, u, next, begin, end);
    begin[d] = high - 1 > low ? high - 1 : high;
    end[d] = high;
    update(b, u, next, begin, end);
    begin[d] = low + 1;
    end[d] = high - 1;
  }
}

/* Sets, or compares with, the wave cos(2 pi (x + 2 y + z) - phase); returns the largest
   difference. */
static double wave(const brick *b, double *u, int64_t n, double phase, int set) {
  const double turn = 2 * acos(-1) / (double)n;
  double worst = 0;
  for (int64_t i = 0; i < b->shape.count[0]; i++)
    for (int64_t j = 0; j < b->shape.count[1]; j++)
      for (int64_t k = 0; k < b->shape.count[2]; k++) {
        const int64_t place =
            b->shape.first[0] + i + 2 * (b->shape.first[1] + j) + b->shape.first[2] + k;
        const double exact = cos(turn * (double)place - phase);
        double *at = &u[b->shape.origin + i * b->shape.stride[0] + j * b->shape.stride[1] + k];
        worst = fmax(worst, fabs(*at - exact));
        if (set) *at = exact;
      }
  return worst;
}

static redist_plan *plan_exchange(const redist_layout *bricks, int stencil, int rank) {
  char message[256] = "";
  redist_layout ghosts = *bricks;
  redist_options options;
  redist_plan *plan;
  for (int d = 0; d < 3; d++)
    ghosts = redist_ghost_depth(redist_with_ghosts(ghosts, d, REDIST_PERIODIC), d, 1, 1);
  if (stencil == STAR) ghosts = redist_without_corners(ghosts);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.timed = 1; /* for the report of copying and waiting */
  options.message = message;
  options.message_size = sizeof message;
  redist_plan_create(MPI_COMM_WORLD, bricks, &ghosts, MPI_DOUBLE, &options, &plan);
  if (!plan && rank == 0) fprintf(stderr, "stencil: %s\n", message);
  return plan;
}

/* Times exchanges alone, of faces and with corners, alternately. They change nothing: the ghost
   cells are those of u. */
static void compare_exchanges(const settings *s, const redist_layout *bricks, redist_plan *faces,
                              double *u, int rank) {
  static const char *const name[] = {"faces", "with corners"};
  redist_plan *plan[2] = {faces, plan_exchange(bricks, BOX, rank)};
  double least[2] = {INFINITY, INFINITY}, most[2];
  redist_stats stats;
  if (!plan[1]) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int64_t k = 0; k < 2 * s->steps; k++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (redist_execute(plan[k % 2], u, u) != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    least[k % 2] = fmin(least[k % 2], MPI_Wtime() - begin);
  }
  MPI_Reduce(least, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int k = 0; k < 2 && rank == 0; k++) {
    redist_plan_stats(plan[k], &stats);
    printf("  %-16s %lld message%s and %lld bytes from rank 0, %.1f us at the least\n", name[k],
           (long long)stats.sends, stats.sends == 1 ? "" : "s", (long long)stats.bytes_sent,
           s->steps > 0 ? 1e6 * most[k] : 0);
  }
  redist_plan_free(&plan[1]);
}

static int solve(const settings *s, int rank, int ranks) {
  const double pi = acos(-1), h = 1 / (double)s->n, dt = 0.5 * h;
  const double squares = 2 * pow(sin(pi * h), 2) + pow(sin(2 * pi * h), 2);
  const double frequency = 2 * asin(0.5 * sqrt(squares)) / dt; /* dt / h is 0.5 */
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 3, grid);
  redist_layout bricks =
      redist_layout_3d(redist_balanced(s->n, grid[0]), redist_balanced(s->n, grid[1]),
                       redist_balanced(s->n, grid[2]));
  for (int d = 0; d < 3; d++) bricks = redist_with_halo(bricks, d, s->halo, s->halo);
  redist_plan *exchange = plan_exchange(&bricks, s->stencil, rank);
  if (!exchange) return 1;
  brick b;
  redist_layout_shape(&bricks, rank, &b.shape);
  b.c = dt * dt / (h * h);
  double *now = calloc((size_t)redist_layout_local_size(&bricks, rank), sizeof *now);
  double *before = calloc((size_t)redist_layout_local_size(&bricks, rank), sizeof *before);
  if (!now || !before) MPI_Abort(MPI_COMM_WORLD, 1);
  wave(&b, before, s->n, -frequency * dt, 1);
  wave(&b, now, s->n, 0, 1);

  double seconds[4] = {0, 0, 0, 0}, mark[5]; /* starting, interior, waiting, boundary */
  for (int64_t step = 0; step < s->steps; step++) {
    mark[0] = MPI_Wtime();
    int error = redist_start(exchange, now, now);
    mark[1] = MPI_Wtime();
    update_interior(&b, now, before);
    mark[2] = MPI_Wtime();
    error = error == REDIST_OK ? redist_wait(exchange) : error;
    if (error != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    mark[3] = MPI_Wtime();
    update_boundary(&b, now, before);
    mark[4] = MPI_Wtime();
    double *swap = now;
    now = before;
    before = swap;
    for (int k = 0; k < 4; k++) seconds[k] += mark[k + 1] - mark[k];
  }
  double error = wave(&b, now, s->n, frequency * dt * (double)s->steps, 0), worst, most[4];
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Reduce(seconds, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  redist_plan_print(exchange, rank == 0 ? stdout : NULL);
  if (rank == 0)
    printf("wave equation: %lld^3 points in %d x %d x %d bricks, %lld steps\n"
           "  seconds          %.3f starting, %.3f interior, %.3f waiting, %.3f boundary\n"
           "  rounding         %.1e against the exact solution of the scheme: %s\n",
           (long long)s->n, grid[0], grid[1], grid[2], (long long)s->steps, most[0], most[1],
           most[2], most[3], worst, worst < 1e-9 ? "right" : "WRONG");
  if (s->stencil == STAR) compare_exchanges(s, &bricks, exchange, now, rank);
  redist_plan_free(&exchange);
  free(now), free(before);
  return !(worst < 1e-9);
}

/* ---- a staggered grid ---- */

enum { HEIGHT, ALONG_X, ALONG_Y, FIELDS };

/* more: additional points along each axis, beyond those of the cells. */
static const int more[FIELDS][2] = {{0, 0}, {1, 0}, {0, 1}};
static const double modes[2] = {1, 2};

typedef struct {
  redist_layout bare, ghosts;
  redist_shape shape;
  int64_t *cuts[2];
  double *array;
} field;

static double *point(const field *f, int64_t i, int64_t j) {
  return &f->array[f->shape.origin + (i - f->shape.first[0]) * f->shape.stride[0] +
                   (j - f->shape.first[1]) * f->shape.stride[1]];
}

/* The last rank of an axis owns a field's additional points. */
static int make_field(const settings *s, const int *grid, int rank, int which, field *f) {
  for (int d = 0; d < 2; d++) {
    f->cuts[d] = malloc(((size_t)grid[d] + 1) * sizeof *f->cuts[d]);
    for (int k = 0; f->cuts[d] && k <= grid[d]; k++)
      f->cuts[d][k] = s->n * k / grid[d] + (k == grid[d] ? more[which][d] : 0);
  }
  if (!f->cuts[0] || !f->cuts[1]) return 0;
  f->bare = redist_layout_2d(redist_cuts(f->cuts[0], grid[0]), redist_cuts(f->cuts[1], grid[1]));
  for (int d = 0; d < 2; d++) f->bare = redist_with_halo(f->bare, d, s->halo, s->halo);
  f->ghosts = f->bare;
  for (int d = 0; d < 2; d++)
    f->ghosts = redist_ghost_depth(redist_with_ghosts(f->ghosts, d, REDIST_CLOSED), d, 1, 1);
  if (s->stencil == STAR) f->ghosts = redist_without_corners(f->ghosts);
  redist_layout_shape(&f->bare, rank, &f->shape);
  f->array = calloc((size_t)redist_layout_local_size(&f->bare, rank), sizeof *f->array);
  return f->array != NULL;
}

static redist_plan *plan_fields(field *f, int rank) {
  redist_part part[FIELDS];
  redist_options options;
  redist_plan *plan;
  char message[256] = "";
  memset((void *)part, 0, sizeof part);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.timed = 1;
  options.message = message;
  options.message_size = sizeof message;
  for (int k = 0; k < FIELDS; k++) {
    part[k].from = &f[k].bare;
    part[k].to = &f[k].ghosts;
    part[k].element = MPI_DOUBLE;
  }
  redist_plan_create_parts(MPI_COMM_WORLD, FIELDS, part, &options, &plan);
  if (!plan && rank == 0) fprintf(stderr, "stencil: %s\n", message);
  return plan;
}

/* Computes velocities at the faces of this rank's cells, then heights. ratio: dt / h. */
static void step_fields(const settings *s, field *f, double ratio) {
  const field *h = &f[HEIGHT];
  const int64_t *first = h->shape.first, *count = h->shape.count;
  for (int d = 0; d < 2; d++)
    for (int64_t i = first[0]; i < first[0] + count[0] + (d == 0); i++)
      for (int64_t j = first[1]; j < first[1] + count[1] + (d == 1); j++) {
        const int64_t at = d == 0 ? i : j;
        if (at > 0 && at < s->n)
          *point(&f[ALONG_X + d], i, j) -=
              ratio * (*point(h, i, j) - *point(h, i - (d == 0), j - (d == 1)));
      }
  for (int64_t i = first[0]; i < first[0] + count[0]; i++)
    for (int64_t j = first[1]; j < first[1] + count[1]; j++)
      *point(h, i, j) -= ratio * (*point(&f[ALONG_X], i + 1, j) - *point(&f[ALONG_X], i, j) +
                                  *point(&f[ALONG_Y], i, j + 1) - *point(&f[ALONG_Y], i, j));
}

/* Sets a field to a standing wave times a factor, or returns the largest difference. */
static double standing_wave(const settings *s, int which, const field *f, double factor, int set) {
  const double turn = acos(-1) / (double)s->n;
  double worst = 0;
  for (int64_t i = f->shape.first[0]; i < f->shape.first[0] + f->shape.count[0]; i++)
    for (int64_t j = f->shape.first[1]; j < f->shape.first[1] + f->shape.count[1]; j++) {
      const double x = modes[0] * turn * (double)i, y = modes[1] * turn * (double)j,
                   across = modes[0] * turn / 2, up = modes[1] * turn / 2;
      const double exact = factor * (more[which][0] ? sin(x) : cos(x + across)) *
                           (more[which][1] ? sin(y) : cos(y + up));
      worst = fmax(worst, fabs(*point(f, i, j) - exact));
      if (set) *point(f, i, j) = exact;
    }
  return worst;
}

static int report_fields(const settings *s, redist_plan *plan, double error, int rank) {
  double worst;
  redist_stats stats;
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  redist_plan_print(plan, rank == 0 ? stdout : NULL);
  redist_plan_stats(plan, &stats);
  if (rank == 0)
    printf("waves on a staggered grid of %lld x %lld cells, %lld steps\n"
           "  exchange         %lld message%s from rank 0, of three fields\n"
           "  rounding         %.1e against the exact solution of the scheme: %s\n",
           (long long)s->n, (long long)s->n, (long long)s->steps, (long long)stats.sends,
           stats.sends == 1 ? "" : "s", worst, worst < 1e-9 ? "right" : "WRONG");
  return !(worst < 1e-9);
}

static int solve_staggered(const settings *s, int rank, int ranks) {
  const double ratio = 0.5, quarter = acos(-1) / 2 / (double)s->n,
               sine[2] = {ratio * sin(modes[0] * quarter), ratio * sin(modes[1] * quarter)},
               turn = 2 * asin(hypot(sine[0], sine[1]));
  int grid[2] = {0, 0}, status = 1, code = REDIST_OK;
  field f[FIELDS];
  redist_plan *plan;
  memset(f, 0, sizeof f);
  MPI_Dims_create(ranks, 2, grid);
  for (int k = 0; k < FIELDS; k++) /* velocities are half a step earlier */
    if (!make_field(s, grid, rank, k, &f[k]))
      MPI_Abort(MPI_COMM_WORLD, 1);
    else
      standing_wave(s, k, &f[k], k == HEIGHT ? 1 : -sine[k - ALONG_X], 1);
  plan = plan_fields(f, rank);
  if (plan) {
    for (int64_t step = 0; step < s->steps && code == REDIST_OK; step++) {
      void *arrays[FIELDS] = {f[0].array, f[1].array, f[2].array};
      code = redist_execute_many(plan, (const void *const *)arrays, arrays);
      step_fields(s, f, ratio);
    }
    if (code != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    status =
        report_fields(s, plan,
                      standing_wave(s, HEIGHT, &f[HEIGHT], cos(turn * (double)s->steps), 0), rank);
    redist_plan_free(&plan);
  }
  for (int k = 0; k < FIELDS; k++) free(f[k].array), free(f[k].cuts[0]), free(f[k].cuts[1]);
  return status;
}

int main(int argc, char **argv) {
  settings s = {64, 100, 2, ONE, BOX};
  int rank, ranks, status;
  static const option_choice fields[] = {{"one", ONE}, {"staggered", STAGGERED}, {NULL, 0}};
  static const option_choice stencils[] = {{"box", BOX}, {"star", STAR}, {NULL, 0}};
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &s.n,
                           .least = 1,
                           .most = 10000,
                           .help = "points along each side (default 64)"},
                          {.name = "--steps",
                           .argument = "K",
                           .integer = &s.steps,
                           .most = 1e9,
                           .help = "time steps (default 100)"},
                          {.name = "--halo",
                           .argument = "W",
                           .integer = &s.halo,
                           .least = 1,
                           .most = 100,
                           .help = "cells that are stored around a brick; the nearest are "
                                   "exchanged (default 2, at most N)"},
                          {.name = "--fields",
                           .argument = "WHICH",
                           .choice = &s.fields,
                           .choices = fields,
                           .help = "one, or three on a staggered grid (default one)"},
                          {.name = "--stencil",
                           .argument = "WHICH",
                           .choice = &s.stencil,
                           .choices = stencils,
                           .help = "box: exchange corners, too; star: only faces (default box)"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  status = options_start(
      table, argc, argv, rank, "stencil",
      "Teaches the halo exchange: the plan from a layout to the same with ghosts, in place, while the\n"
      "interior is computed. Solves the wave equation on periodic bricks and compares with the exact solution.");
  s.halo = s.halo < s.n ? s.halo : s.n;
  if (status < 0)
    status = s.fields == ONE ? solve(&s, rank, ranks) : solve_staggered(&s, rank, ranks);
  MPI_Finalize();
  return status;
}
