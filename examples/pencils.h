/* Fourier transforms of real vector fields on pencils, for spectral methods: redist and FFTW. MIT
   licence, see LICENSE.

   An array (x, y, z) is distributed over p1 x p2 ranks with x, y or z whole. Pencil 0 holds points,
   x whole. Transformed along x, it moves to pencil 1; along y, to pencil 2; along z, it holds
   modes; and back in reverse. In memory the whole axis comes last, so that every transform is
   contiguous. Of n modes those with |k| < n / 3 are kept: a product of two of them, formed at the
   points, aliases none of these. Along x only k >= 0 are kept, since the field is real. */
#ifndef PENCILS_H
#define PENCILS_H

#include <complex.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>

#include <fftw3.h>

#include "redist_plan.h"

typedef double complex complex_number;

enum { VECTOR = 3 };

/* x, y and z component on one of the pencils */
typedef struct {
  complex_number *part[VECTOR];
} field;

/* Axes before the whole one already hold modes, those after it still hold points. */
typedef struct {
  redist_axis axes[3];  /* in storage order; the last is whole */
  redist_layout layout; /* its view is (x, y, z) */
  int64_t first[2], count[3], lines;
  fftw_plan forward, backward; /* of all lines of one component, in place */
} pencil;

typedef struct {
  int64_t points[3], modes[3];
  int rank, ranks, grid[2];
  pencil at[3];
  redist_plan *down[2], *up[2]; /* from pencil w to w + 1, and from w + 1 to w */
  redist_arena *arena;
  field between;                       /* on pencil 1 */
  redist_wire wire;                    /* how numbers travel */
  double transforming, redistributing; /* seconds */
  char wrong[256];                     /* why pencils_create failed */
} pencils;

/* The axes of a pencil in storage order, and the positions of x, y and z among them: y z x, x z y
   and x y z. */
static const int pencil_storage[3][3] = {{1, 2, 0}, {0, 2, 1}, {0, 1, 2}},
                 pencil_view[3][3] = {{2, 0, 1}, {0, 2, 1}, {0, 1, 2}};

/* MPI's own waiting may spin, at the cost of ranks that share a core. */
static inline void reduce(double *values, int count, MPI_Op op) {
  MPI_Request request;
  int done = 0;
  MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) sched_yield();
}

static inline double maximum(double value) {
  reduce(&value, 1, MPI_MAX);
  return value;
}

static inline int everywhere(int ok) { return maximum(!ok) < 0.5; }

/* ---- layouts ---- */

/* Modes are stored in the order 0, 1, ..., K, -K, ..., -1. */
static inline int64_t negative_modes(const pencils *p, int axis) {
  return axis > 0 ? p->modes[axis] / 2 : 0;
}

static inline double wave_number(const pencils *p, int axis, int64_t i) {
  return (double)(i < p->modes[axis] - negative_modes(p, axis) ? i : i - p->modes[axis]);
}

static inline redist_layout pencil_layout(const pencils *p, int which, const int *grid,
                                          redist_axis *axes) {
  for (int d = 0; d < 2; d++) {
    int axis = pencil_storage[which][d];
    axes[d] = redist_balanced(axis < which ? p->modes[axis] : p->points[axis], grid[d]);
  }
  /* room for points, or all modes */
  axes[2] = redist_whole(which > 0 ? p->points[which] : p->points[0] / 2 + 1);
  return redist_permuted(redist_layout_nd(3, axes), pencil_view[which]);
}

/* The same after the transform along its lines. Modes outside this section are never sent. */
static inline redist_layout kept_modes(const pencils *p, int which, redist_layout layout) {
  return redist_section(layout, which, 0, p->modes[which], 1);
}

/* Which grids may be chosen: with this p1 (0: any), and perhaps with ranks without elements. */
typedef struct {
  const pencils *of;
  int p1, idle;
} grid_wish;

/* A vector's way from points to modes, for redist_best_grid: from pencil 0 to 1, and from what is
   kept of that to 2. */
static inline int way_to_modes(const int *grid, redist_layout *sequence, int most, void *context) {
  const grid_wish *wish = context;
  int idle = 0;
  (void)most;
  for (int which = 0; which < 2; which++) {
    redist_axis axes[3];
    redist_layout *from = &sequence[2 * which], *to = from + 1;
    *from = pencil_layout(wish->of, which, grid, axes);
    *to = pencil_layout(wish->of, which + 1, grid, axes);
    idle |= redist_layout_local_size(from, wish->of->ranks - 1) == 0 ||
            redist_layout_local_size(to, wish->of->ranks - 1) == 0;
    *from = kept_modes(wish->of, which, *from);
  }
  return idle > wish->idle || (wish->p1 > 0 && wish->p1 != grid[0]) ? 0 : 4;
}

/* Chooses the grid of ranks with the least predicted time, if possible without idle ranks; p1 > 0:
   the grid with this p1. */
static inline int choose_grid(pencils *p, int64_t p1) {
  grid_wish wish = {p, (int)p1, 0};
  redist_cost cost;
  double seconds;
  int code = redist_calibrate(MPI_COMM_WORLD, &cost);
  if (code != REDIST_OK) return code;
  do
    code = redist_best_grid(p->ranks, 2, way_to_modes, &wish, VECTOR * sizeof(complex_number),
                            &cost, p->grid, &seconds);
  while (code == REDIST_ERR_LAYOUT && !wish.idle++);
  if (code == REDIST_OK && p->rank == 0)
    printf("  %3d x %-3d ranks  %10.2f us predicted for a vector's way from points to modes\n",
           p->grid[0], p->grid[1], 1e6 * seconds);
  return code;
}

static inline void create_pencil(pencils *p, int which) {
  pencil *a = &p->at[which];
  int coords[3];
  a->layout = pencil_layout(p, which, p->grid, a->axes);
  redist_layout stored = redist_layout_nd(3, a->axes);
  redist_layout_coords(&stored, p->rank, coords);
  for (int d = 0; d < 3; d++) a->count[d] = redist_axis_count(&a->axes[d], coords[d]);
  for (int d = 0; d < 2; d++)
    a->first[d] = a->count[d] > 0 ? redist_axis_global(&a->axes[d], coords[d], 0) : 0;
  a->lines = a->count[0] * a->count[1];
}

/* ---- memory and plans ---- */

static inline size_t component_bytes(const pencils *p, int which) {
  size_t bytes = (size_t)(p->at[which].lines * p->at[which].count[2] + 1) * sizeof(complex_number);
  return (bytes + 63) / 64 * 64;
}

/* A vector field of zeros on a pencil, in memory that a node's ranks share. */
static inline field new_field(pencils *p, int which) {
  field f;
  for (int c = 0; c < VECTOR; c++) {
    f.part[c] = redist_arena_alloc(p->arena, component_bytes(p, which));
    memset(f.part[c], 0, component_bytes(p, which));
  }
  return f;
}

static inline void copy_field(const pencils *p, int which, const field *from, const field *to) {
  for (int c = 0; c < VECTOR; c++) memcpy(to->part[c], from->part[c], component_bytes(p, which));
}

/* A rank without lines needs no plans. */
static inline int plan_transforms(pencil *p, int which, int n, complex_number *a) {
  int length = (int)p->count[2], lines = (int)p->lines;
  double *real = (double *)a;
  if (lines == 0) return 1;
  if (which == 0) {
    p->forward = fftw_plan_many_dft_r2c(1, &n, lines, real, NULL, 1, 2 * length, a, NULL, 1, length,
                                        FFTW_ESTIMATE);
    p->backward = fftw_plan_many_dft_c2r(1, &n, lines, a, NULL, 1, length, real, NULL, 1,
                                         2 * length, FFTW_ESTIMATE);
  } else {
    p->forward =
        fftw_plan_many_dft(1, &n, lines, a, NULL, 1, n, a, NULL, 1, n, FFTW_FORWARD, FFTW_ESTIMATE);
    p->backward = fftw_plan_many_dft(1, &n, lines, a, NULL, 1, n, a, NULL, 1, n, FFTW_BACKWARD,
                                     FFTW_ESTIMATE);
  }
  return p->forward && p->backward;
}

/* Scratch memory for any component while FFTW plans: planning may write to the array. */
static inline int plan_all_transforms(pencils *p) {
  int ok = 1;
  for (int which = 0; which < 3; which++) {
    complex_number *a = fftw_malloc(component_bytes(p, which));
    ok = ok && p->at[which].lines <= INT_MAX && a &&
         plan_transforms(&p->at[which], which, (int)p->points[which], a);
    fftw_free(a);
  }
  return everywhere(ok) ? REDIST_OK : REDIST_ERR_MEMORY;
}

/* A plan for all components at once. */
static inline int plan_moves(pencils *p, const redist_layout *from, const redist_layout *to,
                             redist_arena *arena, redist_plan **plan) {
  redist_options options;
  memset(&options, 0, sizeof options);
  options.arrays = VECTOR;
  options.arena = arena;
  options.wire = p->wire;
  options.message = p->wrong;
  options.message_size = sizeof p->wrong;
  return redist_plan_create(MPI_COMM_WORLD, from, to, MPI_C_DOUBLE_COMPLEX, &options, plan);
}

static inline int plan_all_moves(pencils *p) {
  int code = REDIST_OK;
  for (int which = 0; which < 2 && code == REDIST_OK; which++) {
    redist_layout upper = kept_modes(p, which, p->at[which].layout),
                  *lower = &p->at[which + 1].layout;
    code = plan_moves(p, &upper, lower, p->arena, &p->down[which]);
    if (code == REDIST_OK) code = plan_moves(p, lower, &upper, p->arena, &p->up[which]);
  }
  return code;
}

/* Allocates memory for `at_points` and `of_modes` fields. Collective; returns a redist_error, the
   same on every rank. */
static inline int pencils_create(pencils *p, const int64_t *points, int64_t p1, redist_wire wire,
                                 size_t at_points, size_t of_modes) {
  memset(p, 0, sizeof *p);
  p->wire = wire;
  MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p->ranks);
  for (int axis = 0; axis < 3; axis++) {
    p->points[axis] = points[axis];
    p->modes[axis] = (axis > 0 ? 2 : 1) * ((points[axis] - 1) / 3) + 1;
  }
  int code = choose_grid(p, p1);
  for (int which = 0; which < 3 && code == REDIST_OK; which++) create_pencil(p, which);
  if (code == REDIST_OK) code = plan_all_transforms(p);
  if (code == REDIST_OK)
    code = redist_arena_create(MPI_COMM_WORLD,
                               VECTOR * (at_points * component_bytes(p, 0) + component_bytes(p, 1) +
                                         of_modes * component_bytes(p, 2)),
                               &p->arena);
  if (code == REDIST_OK) {
    p->between = new_field(p, 1);
    code = plan_all_moves(p);
  }
  return code;
}

static inline void pencils_free(pencils *p) {
  for (int which = 0; which < 3; which++) {
    if (p->at[which].forward) fftw_destroy_plan(p->at[which].forward);
    if (p->at[which].backward) fftw_destroy_plan(p->at[which].backward);
  }
  for (int which = 0; which < 2; which++) {
    redist_plan_free(&p->down[which]);
    redist_plan_free(&p->up[which]);
  }
  redist_arena_free(&p->arena);
  fftw_cleanup();
}

/* ---- transforms ---- */

static inline void move(pencils *p, redist_plan *plan, const field *from, const field *to) {
  const void *a[VECTOR] = {from->part[0], from->part[1], from->part[2]};
  void *b[VECTOR] = {to->part[0], to->part[1], to->part[2]};
  double begin = MPI_Wtime();
  int code = redist_execute_many(plan, a, b);
  if (code != REDIST_OK) {
    fprintf(stderr, "pencils: %s\n", redist_strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  p->redistributing += MPI_Wtime() - begin;
}

/* Moves the kept modes of each line together; the others are overwritten or left behind. */
static inline void cut_off(const pencils *p, int which, complex_number *a) {
  int64_t negative = negative_modes(p, which), positive = p->modes[which] - negative,
          length = p->at[which].count[2];
  for (complex_number *line = a; line < a + p->at[which].lines * length; line += length)
    memmove(line + positive, line + length - negative, (size_t)negative * sizeof *line);
}

/* Moves them apart again, with zeros between. */
static inline void fill_up(const pencils *p, int which, complex_number *a) {
  int64_t negative = negative_modes(p, which), positive = p->modes[which] - negative,
          length = p->at[which].count[2];
  for (complex_number *line = a; line < a + p->at[which].lines * length; line += length) {
    memmove(line + length - negative, line + positive, (size_t)negative * sizeof *line);
    memset(line + positive, 0, (size_t)(length - p->modes[which]) * sizeof *line);
  }
}

static inline void transform_forward(const pencils *p, int which, complex_number *a) {
  if (which == 0)
    fftw_execute_dft_r2c(p->at[which].forward, (double *)a, a);
  else
    fftw_execute_dft(p->at[which].forward, a, a);
  cut_off(p, which, a);
}

static inline void transform_backward(const pencils *p, int which, complex_number *a) {
  fill_up(p, which, a);
  if (which == 0)
    fftw_execute_dft_c2r(p->at[which].backward, a, (double *)a);
  else
    fftw_execute_dft(p->at[which].backward, a, a);
}

static inline void transform(pencils *p, int which, const field *f,
                             void (*one)(const pencils *, int, complex_number *)) {
  double begin = MPI_Wtime();
  for (int c = 0; c < VECTOR && p->at[which].lines > 0; c++) one(p, which, f->part[c]);
  p->transforming += MPI_Wtime() - begin;
}

/* Overwrites the points; the modes are multiplied by the number of points. */
static inline void to_modes(pencils *p, const field *points, const field *modes) {
  transform(p, 0, points, transform_forward);
  move(p, p->down[0], points, &p->between);
  transform(p, 1, &p->between, transform_forward);
  move(p, p->down[1], &p->between, modes);
  transform(p, 2, modes, transform_forward);
}

/* Overwrites the modes. */
static inline void to_points(pencils *p, const field *modes, const field *points) {
  transform(p, 2, modes, transform_backward);
  move(p, p->up[1], modes, &p->between);
  transform(p, 1, &p->between, transform_backward);
  move(p, p->up[0], &p->between, points);
  transform(p, 0, points, transform_backward);
}

#endif
