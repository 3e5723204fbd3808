/* A level of an adaptive mesh: patches over ranks. Their ghost cells are filled in each step, and
   some patches move to other ranks during the run. MIT licence, see LICENSE.
   mpicc -I. examples/patches.c -o patches -lm && mpiexec -n 4 ./patches --picture level.pgm

   The level is a ring of square patches in a periodic domain; the rest of the domain is coarse and
   not computed here. A rank holds many patches (redist_on_ranks names it many times), each with one
   ghost cell around it, one after another in one array. The patches do not cover the domain
   (redist_partial). The exchange from the level to the same with ghosts, in place, fills those
   ghost cells that other patches own, on this rank or another, around the domain's ends too. The
   program fills the others from the coarse solution, here the exact one.

   The upwind scheme advects the field. Halfway, some patches become more expensive: all patches are
   assigned to ranks anew by their cost, a plan moves their cells from the old ranks to the new
   ones, and a new plan exchanges ghost cells. The scheme multiplies a wave by a known factor in
   each step, so the result is right to rounding. */
#include <complex.h>
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "pgm.h"
#include "redist_plan.h"

enum { WIDTH = 1 };

static const double courant[2] = {0.4, 0.3}, wave_number[2] = {1, 2};

typedef struct {
  int64_t tiles, side, steps; /* patches that fit along the domain, cells of each along a side */
  const char *picture;
  int rank, ranks;
  int patches;
  redist_box *box; /* box[patches] */
  double complex factor;
} settings;

/* The patches with their ranks, and this rank's cells. */
typedef struct {
  const settings *set;
  int *owner;       /* owner[patches] */
  int64_t *offsets; /* where this rank's patches begin in its array */
  redist_layout cells, ghosts;
  redist_plan *fill;
  double *now, *before;
  int64_t count;
  double planned; /* seconds that making the plan took */
} level;

static int64_t cells_along(const settings *s) { return s->tiles * s->side; }

/* The exact result of the scheme after so many steps. */
static double exact(const settings *s, int64_t i, int64_t j, int64_t step) {
  const double turn = 2 * acos(-1) / (double)cells_along(s);
  return creal(cpow(s->factor, (double)step) *
               cexp(I * turn * (wave_number[0] * (double)i + wave_number[1] * (double)j)));
}

/* Patches whose middle lies in a ring around the domain's middle. */
static int list_patches(settings *s) {
  int64_t i, j;
  s->box = calloc((size_t)(s->tiles * s->tiles), sizeof *s->box);
  for (i = 0; i < s->tiles && s->box != NULL; i++)
    for (j = 0; j < s->tiles; j++) {
      const double x = ((double)i + 0.5) / (double)s->tiles - 0.5,
                   y = ((double)j + 0.5) / (double)s->tiles - 0.5, radius = hypot(x, y);
      redist_box *box = &s->box[s->patches];
      if (radius < 0.2 || radius > 0.52) continue;
      box->low[0] = i * s->side, box->high[0] = (i + 1) * s->side;
      box->low[1] = j * s->side, box->high[1] = (j + 1) * s->side;
      s->patches++;
    }
  return s->box != NULL && s->patches > 0;
}

/* In the second half of the run the lower half of the patches costs three times as much. */
static int cost_of(const settings *s, int patch, int later) {
  return later && 2 * s->box[patch].low[0] >= cells_along(s) ? 3 : 1;
}

/* Assigns consecutive patches to the same rank, and about the same cost to all ranks. */
static void deal_out(const settings *s, int later, int *owner) {
  int64_t all = 0, so_far = 0;
  int k;
  for (k = 0; k < s->patches; k++) all += cost_of(s, k, later);
  for (k = 0; k < s->patches; k++) {
    owner[k] = (int)(so_far * s->ranks / all);
    so_far += cost_of(s, k, later);
  }
}

static int fail(const settings *s, const char *message) {
  if (s->rank == 0) fprintf(stderr, "patches: %s\n", message);
  return 1;
}

static int open_level(const settings *s, int later, level *x) {
  const int64_t extents[2] = {cells_along(s), cells_along(s)};
  redist_options options;
  char message[256] = "";
  int d, code;
  memset(x, 0, sizeof *x);
  x->set = s;
  x->owner = malloc((size_t)s->patches * sizeof *x->owner);
  x->offsets = calloc((size_t)s->patches, sizeof *x->offsets);
  deal_out(s, later, x->owner);
  x->cells = redist_partial(redist_layout_boxes(2, extents, s->patches, s->box));
  x->cells = redist_on_ranks(x->cells, x->owner);
  for (d = 0; d < 2; d++) x->cells = redist_with_halo(x->cells, d, WIDTH, WIDTH);
  x->count = redist_layout_place_offsets(&x->cells, s->rank, x->offsets);
  x->cells = redist_at_offsets(x->cells, x->offsets); /* known, so that visits are fast */
  x->ghosts = x->cells;
  for (d = 0; d < 2; d++) x->ghosts = redist_with_ghosts(x->ghosts, d, REDIST_PERIODIC);
  x->now = malloc((size_t)x->count * sizeof *x->now + 1);
  x->before = malloc((size_t)x->count * sizeof *x->before + 1);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.message = message;
  options.message_size = sizeof message;
  x->planned = MPI_Wtime();
  code = redist_plan_create(MPI_COMM_WORLD, &x->cells, &x->ghosts, MPI_DOUBLE, &options, &x->fill);
  x->planned = MPI_Wtime() - x->planned;
  return code == REDIST_OK ? 0 : fail(s, message);
}

static void close_level(level *x) {
  redist_plan_free(&x->fill);
  free(x->owner);
  free(x->offsets);
  free(x->now);
  free(x->before);
}

/* Called for cell (i, j) of the domain, which lies at an offset of the rank's array. */
typedef void visitor(level *x, int64_t i, int64_t j, int64_t offset, const redist_shape *shape,
                     int64_t step);

/* Visits the cells of this rank's patches, and with `width` as many around each. */
static void visit(level *x, int64_t width, visitor *cell, int64_t step) {
  const int patches = redist_layout_on_rank(&x->cells, x->set->rank, 0, NULL);
  int *patch = malloc((size_t)patches * sizeof *patch + 1), k;
  redist_shape shape;
  redist_layout_on_rank(&x->cells, x->set->rank, patches, patch);
  for (k = 0; k < patches; k++) {
    redist_layout_place_shape(&x->cells, patch[k], &shape);
    for (int64_t i = -width; i < shape.count[0] + width; i++)
      for (int64_t j = -width; j < shape.count[1] + width; j++)
        cell(x, shape.first[0] + i, shape.first[1] + j,
             shape.origin + i * shape.stride[0] + j * shape.stride[1], &shape, step);
  }
  free(patch);
}

static void set_exact(level *x, int64_t i, int64_t j, int64_t offset, const redist_shape *shape,
                      int64_t step) {
  (void)shape;
  x->now[offset] = exact(x->set, i, j, step);
}

/* Ghost cells are the coarse level's, until the exchange overwrites those that patches own. */
static void set_coarse(level *x, int64_t i, int64_t j, int64_t offset, const redist_shape *shape,
                       int64_t step) {
  const int inside = i >= shape->first[0] && i < shape->first[0] + shape->count[0] &&
                     j >= shape->first[1] && j < shape->first[1] + shape->count[1];
  if (!inside) x->now[offset] = exact(x->set, i, j, step);
}

static void upwind(level *x, int64_t i, int64_t j, int64_t offset, const redist_shape *shape,
                   int64_t step) {
  const double *u = &x->before[offset];
  (void)i;
  (void)j;
  (void)step;
  x->now[offset] = u[0] - courant[0] * (u[0] - u[-shape->stride[0]]) -
                   courant[1] * (u[0] - u[-shape->stride[1]]);
}

static void step_on(level *x, int64_t from, int64_t steps) {
  double *swap;
  for (int64_t step = from; step < from + steps; step++) {
    visit(x, WIDTH, set_coarse, step);
    redist_execute(x->fill, x->now, x->now);
    swap = x->before;
    x->before = x->now;
    x->now = swap;
    visit(x, 0, upwind, step);
  }
}

static double worst_error;

static void compare(level *x, int64_t i, int64_t j, int64_t offset, const redist_shape *shape,
                    int64_t step) {
  (void)shape;
  worst_error = fmax(worst_error, fabs(x->now[offset] - exact(x->set, i, j, step)));
}

/* Moves the cells of a level to the ranks of another level, or all of them to rank 0. */
static int move(const level *x, const redist_layout *to, double *array) {
  redist_plan *plan;
  int code = redist_plan_create(MPI_COMM_WORLD, &x->cells, to, MPI_DOUBLE, NULL, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, x->now, array);
  redist_plan_free(&plan);
  return code == REDIST_OK ? 0 : fail(x->set, redist_strerror(code));
}

/* The level in shades of grey, the coarse rest white. */
static int draw(const level *x) {
  const int64_t n = cells_along(x->set);
  const redist_layout whole = redist_layout_2d(redist_whole(n), redist_whole(n));
  double *cells = malloc((size_t)(n * n) * sizeof *cells);
  const char *wrong = NULL;
  for (int64_t k = 0; k < n * n; k++) cells[k] = 2;
  if (move(x, &whole, cells) != 0) return 1;
  for (int64_t k = 0; k < n * n; k++) cells[k] = cells[k] > 1.5 ? 255 : 110 + 100 * cells[k];
  if (x->set->rank == 0) {
    const pgm picture = {.width = n, .height = n, .white = 255, .values = cells};
    wrong = pgm_write(x->set->picture, &picture, 1);
    if (wrong != NULL) fprintf(stderr, "patches: %s: %s\n", x->set->picture, wrong);
  }
  free(cells);
  return wrong != NULL;
}

static int report(level *x, const level *first) {
  double worst;
  redist_stats stats;
  const int here = redist_layout_on_rank(&first->cells, 0, 0, NULL),
            later = redist_layout_on_rank(&x->cells, 0, 0, NULL);
  visit(x, 0, compare, x->set->steps);
  MPI_Allreduce(&worst_error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  redist_plan_stats(x->fill, &stats);
  if (x->set->rank == 0)
    printf("advection on %d patches of %lld x %lld cells in a domain of %lld x %lld, %lld "
           "steps\n"
           "  patches          %d on rank 0 at first, %d later, on %d rank%s\n"
           "  planned in       %.3g ms, and in %.3g ms after patches moved\n"
           "  exchange         %lld message%s from rank 0, %lld bytes\n"
           "  rounding         %.1e: %s\n",
           x->set->patches, (long long)x->set->side, (long long)x->set->side,
           (long long)cells_along(x->set), (long long)cells_along(x->set), (long long)x->set->steps,
           here, later, x->set->ranks, x->set->ranks == 1 ? "" : "s", 1e3 * first->planned,
           1e3 * x->planned, (long long)stats.sends, stats.sends == 1 ? "" : "s",
           (long long)stats.bytes_sent, worst, worst < 1e-11 ? "right" : "WRONG");
  return worst >= 1e-11;
}

static int run(settings *s) {
  level first, second;
  const double turn = 2 * acos(-1) / (double)cells_along(s);
  int status;
  if (!list_patches(s)) return fail(s, "no patches, or no memory for them");
  s->factor = 1 - courant[0] * (1 - cexp(-I * turn * wave_number[0])) -
              courant[1] * (1 - cexp(-I * turn * wave_number[1]));
  if (open_level(s, 0, &first) != 0 || open_level(s, 1, &second) != 0) return 1;
  visit(&first, 0, set_exact, 0);
  step_on(&first, 0, s->steps / 2);
  if (move(&first, &second.cells, second.now) != 0) return 1;
  step_on(&second, s->steps / 2, s->steps - s->steps / 2);
  status = report(&second, &first);
  if (s->picture != NULL) status |= draw(&second);
  close_level(&first);
  close_level(&second);
  free(s->box);
  return status;
}

int main(int argc, char **argv) {
  settings s = {.tiles = 12, .side = 16, .steps = 60};
  int status;
  const option table[] = {{.name = "--tiles",
                           .argument = "T",
                           .integer = &s.tiles,
                           .least = 2,
                           .most = 1000,
                           .help = "patches that fit along the domain (default 12)"},
                          {.name = "--side",
                           .argument = "B",
                           .integer = &s.side,
                           .least = 1,
                           .most = 10000,
                           .help = "cells of a patch along each side (default 16)"},
                          {.name = "--steps",
                           .argument = "S",
                           .integer = &s.steps,
                           .most = 1e6,
                           .help = "half of them before patches move (default 60)"},
                          {.name = "--picture",
                           .argument = "FILE",
                           .text = &s.picture,
                           .help = "writes the level as a PGM picture"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  status =
      options_start(table, argc, argv, s.rank, "patches",
                    "Teaches patches: a rank with many places of a layout of boxes, ghost "
                    "cells between\npatches, and moving patches to other ranks during the run. "
                    "Carries a wave across a ring\nof patches, right to rounding.");
  if (status < 0) status = run(&s);
  MPI_Finalize();
  return status;
}
