/* A three-dimensional Fourier transform on pencils, with two redistributions. MIT licence, see
   LICENSE.

   The array (x, y, z) is distributed over a two-dimensional grid of ranks, the one on which the two
   redistributions cost least (redist_best_grid). One axis at a time is whole on each rank and can
   be transformed there: x, then y, then z. In memory the whole axis always comes last, so that
   every transform is contiguous. redist_permuted gives the three layouts the same order of axes, x,
   y, z. The result stays in the last layout. Rank 0 gathers input and output and compares with
   FFTW's own three-dimensional transform. With --wire float, numbers travel as float (options.wire),
   which makes messages half as long; the error is then compared with that of FFTW in float. */
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>

#include <fftw3.h>

#include "options.h"
#include "redist_plan.h"

/* The axes of a pencil in storage order, and the positions of x, y and z among them. */
typedef struct {
  int storage[3], view[3];
} pencil_shape;

static const pencil_shape shapes[3] = {{{1, 2, 0}, {2, 0, 1}},  /* y z x */
                                       {{0, 2, 1}, {0, 2, 1}},  /* x z y */
                                       {{0, 1, 2}, {0, 1, 2}}}; /* x y z */

typedef struct {
  redist_axis axes[3];  /* in storage order; the last is whole */
  redist_layout layout; /* its view is (x, y, z) */
  int coords[3];        /* of this rank, in storage order */
  double complex *data;
  fftw_plan transform;
} pencil;

typedef struct {
  int64_t extent[3];
  int rank, ranks, grid[2];
  pencil pencils[3];
  redist_plan *plans[2];                         /* from each pencil to the next */
  int wire;                                      /* how numbers travel */
  redist_layout whole;                           /* all on rank 0 */
  double planning, transforming, redistributing; /* seconds */
} transform;

static int fail(const transform *t, const char *what) {
  if (t->rank == 0) fprintf(stderr, "fft3d: %s\n", what);
  return 1;
}

static int everywhere(int ok) {
  int all = 0;
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

static double complex *allocate(const transform *t, const redist_layout *layout) {
  return fftw_malloc(sizeof(double complex) *
                     (size_t)(redist_layout_local_size(layout, t->rank) + 1));
}

/* ---- pencils ---- */

static redist_layout pencil_layout(const transform *t, int which, const int *grid,
                                   redist_axis *axes) {
  const pencil_shape *shape = &shapes[which];
  for (int d = 0; d < 2; d++) axes[d] = redist_balanced(t->extent[shape->storage[d]], grid[d]);
  axes[2] = redist_whole(t->extent[which]);
  return redist_permuted(redist_layout_nd(3, axes), shape->view);
}

/* The layouts that the data passes through on a grid of ranks, for redist_best_grid. */
static int all_pencils(const int *grid, redist_layout *sequence, int most, void *context) {
  redist_axis axes[3];
  (void)most;
  for (int which = 0; which < 3; which++)
    sequence[which] = pencil_layout(context, which, grid, axes);
  return 3;
}

static int choose_grid(transform *t) {
  redist_cost cost;
  double seconds;
  int code = redist_calibrate(MPI_COMM_WORLD, &cost);
  return code != REDIST_OK ? code
                           : redist_best_grid(t->ranks, 2, all_pencils, t, sizeof(double complex),
                                              &cost, t->grid, &seconds);
}

static void lay_out(transform *t, int which) {
  pencil *p = &t->pencils[which];
  p->layout = pencil_layout(t, which, t->grid, p->axes);
  redist_layout stored = redist_layout_nd(3, p->axes);
  redist_layout_coords(&stored, t->rank, p->coords);
}

/* Plans the transforms along the last, contiguous axis; a rank without data needs none. */
static int plan_transform(transform *t, int which) {
  pencil *p = &t->pencils[which];
  int64_t lines =
      redist_axis_count(&p->axes[0], p->coords[0]) * redist_axis_count(&p->axes[1], p->coords[1]);
  int length = (int)t->extent[which];
  p->data = allocate(t, &p->layout);
  if (!p->data || lines > INT_MAX) return 0;
  if (lines > 0)
    p->transform = fftw_plan_many_dft(1, &length, (int)lines, p->data, NULL, 1, length, p->data,
                                      NULL, 1, length, FFTW_FORWARD, FFTW_ESTIMATE);
  return lines == 0 || p->transform != NULL;
}

/* A number in [-1, 1) for each element, whichever rank it is on. */
static double scrambled(int64_t x, int64_t y, int64_t z) {
  uint64_t h = ((uint64_t)x * 1000003 + (uint64_t)y) * 1000003 + (uint64_t)z;
  h = (h ^ (h >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (double)(h >> 11) / 4503599627370496.0 - 1;
}

static void fill(transform *t) {
  const pencil *p = &t->pencils[0];
  double complex *next = p->data;
  for (int64_t j = 0; j < redist_axis_count(&p->axes[0], p->coords[0]); j++)
    for (int64_t k = 0; k < redist_axis_count(&p->axes[1], p->coords[1]); k++)
      for (int64_t x = 0; x < t->extent[0]; x++) {
        int64_t y = redist_axis_global(&p->axes[0], p->coords[0], j),
                z = redist_axis_global(&p->axes[1], p->coords[1], k);
        *next++ = scrambled(x, y, z) + I * scrambled(z, x, y);
      }
}

static int prepare(transform *t) {
  int ok = 1, code = choose_grid(t);
  double begin = MPI_Wtime();
  redist_options options;
  if (code != REDIST_OK) return fail(t, redist_strerror(code));
  memset(&options, 0, sizeof options);
  options.wire = (redist_wire)t->wire;
  for (int which = 0; which < 3; which++) {
    lay_out(t, which);
    ok = plan_transform(t, which) && ok;
  }
  t->whole = redist_layout_3d(redist_whole(t->extent[0]), redist_whole(t->extent[1]),
                              redist_whole(t->extent[2]));
  if (!everywhere(ok)) return fail(t, "not enough memory, or more than 2^31 lines on a rank");
  for (int which = 0; which < 2 && code == REDIST_OK; which++)
    code =
        redist_plan_create(MPI_COMM_WORLD, &t->pencils[which].layout, &t->pencils[which + 1].layout,
                           MPI_C_DOUBLE_COMPLEX, &options, &t->plans[which]);
  t->planning = MPI_Wtime() - begin;
  return code == REDIST_OK ? 0 : fail(t, redist_strerror(code));
}

static void finish(transform *t) {
  for (int which = 0; which < 3; which++) {
    if (t->pencils[which].transform) fftw_destroy_plan(t->pencils[which].transform);
    fftw_free(t->pencils[which].data);
  }
  for (int which = 0; which < 2; which++)
    if (t->plans[which]) redist_plan_free(&t->plans[which]);
  fftw_cleanup();
}

/* ---- the transform ---- */

static void execute(const transform *t, redist_plan *plan, const void *from, void *to) {
  int code = redist_execute(plan, from, to);
  if (code != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, fail(t, redist_strerror(code)));
}

static void forward(transform *t) {
  for (int which = 0; which < 3; which++) {
    double begin = MPI_Wtime(), middle;
    if (which > 0)
      execute(t, t->plans[which - 1], t->pencils[which - 1].data, t->pencils[which].data);
    middle = MPI_Wtime();
    if (t->pencils[which].transform) fftw_execute(t->pencils[which].transform);
    t->redistributing += middle - begin;
    t->transforming += MPI_Wtime() - middle;
  }
}

/* ---- the check ---- */

/* The whole array on rank 0; NULL on failure. */
static double complex *gather(const transform *t, const pencil *p) {
  redist_plan *plan = NULL;
  double complex *all = allocate(t, &t->whole);
  int code = REDIST_ERR_MEMORY;
  if (everywhere(all != NULL))
    code = redist_plan_create(MPI_COMM_WORLD, &p->layout, &t->whole, MPI_C_DOUBLE_COMPLEX, NULL,
                              &plan);
  if (code == REDIST_OK) {
    execute(t, plan, p->data, all);
    redist_plan_free(&plan);
    return all;
  }
  fail(t, redist_strerror(code));
  fftw_free(all);
  return NULL;
}

/* Whether FFTW transforms in float. */
static int transform_floats(const transform *t, fftwf_complex *data) {
  fftwf_plan plan = fftwf_plan_dft_3d((int)t->extent[0], (int)t->extent[1], (int)t->extent[2], data,
                                      data, FFTW_FORWARD, FFTW_ESTIMATE);
  if (plan) fftwf_execute(plan);
  fftwf_destroy_plan(plan);
  return plan != NULL;
}

/* FFTW's transform in float of numbers in double, as double; NULL on failure. */
static double complex *by_floats(const transform *t, const double complex *input) {
  const int64_t n = t->extent[0] * t->extent[1] * t->extent[2];
  fftwf_complex *single = fftwf_malloc(sizeof *single * (size_t)n);
  double complex *output = allocate(t, &t->whole);
  int ok = single && output;
  for (int64_t i = 0; ok && i < n; i++) single[i] = (float complex)input[i];
  ok = ok && transform_floats(t, single);
  for (int64_t i = 0; ok && i < n; i++) output[i] = single[i];
  fftwf_free(single);
  fftwf_cleanup();
  if (ok) return output;
  fftw_free(output);
  return NULL;
}

/* The largest difference relative to the largest value; infinite when FFTW cannot plan. floats: the
   same of FFTW's transform in float, where numbers travel as float. */
static double difference(const transform *t, double complex *input, const double complex *output,
                         double *floats) {
  double complex *others = t->wire == REDIST_WIRE_FLOAT ? by_floats(t, input) : NULL;
  double worst = 0, most = 0;
  fftw_plan plan = fftw_plan_dft_3d((int)t->extent[0], (int)t->extent[1], (int)t->extent[2], input,
                                    input, FFTW_FORWARD, FFTW_ESTIMATE);
  if (!plan) return HUGE_VAL;
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  for (int64_t i = 0; i < t->extent[0] * t->extent[1] * t->extent[2]; i++) {
    worst = fmax(worst, cabs(input[i] - output[i]));
    if (others) *floats = fmax(*floats, cabs(input[i] - others[i]));
    most = fmax(most, cabs(input[i]));
  }
  fftw_free(others);
  *floats /= most;
  return worst / most;
}

static double maximum(double value) {
  double all = 0;
  MPI_Reduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return all;
}

static void report(const transform *t) {
  double planning = maximum(t->planning), transforming = maximum(t->transforming),
         moving = maximum(t->redistributing);
  if (t->rank != 0) return;
  printf("3-D transform of %lld x %lld x %lld complex numbers, %d x %d ranks\n",
         (long long)t->extent[0], (long long)t->extent[1], (long long)t->extent[2], t->grid[0],
         t->grid[1]);
  printf("  planning         %8.3f ms\n  transforming     %8.3f ms\n  redistributing   %8.3f ms\n",
         1e3 * planning, 1e3 * transforming, 1e3 * moving);
}

static int judge(const transform *t, double complex *input, const double complex *output) {
  double floats = 0, error = t->rank == 0 ? difference(t, input, output, &floats) : 0;
  int good = error <= (t->wire == REDIST_WIRE_FLOAT ? 1e-6 : 1e-10);
  if (t->rank == 0)
    printf("  error            %.1e of the largest value: %s\n", error, good ? "right" : "WRONG");
  if (t->rank == 0 && floats > 0)
    printf("  FFTW in float    %.1e: %.1f times as large\n", floats, floats / error);
  MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return !good;
}

static int run(transform *t) {
  double complex *input, *output = NULL;
  int status = prepare(t);
  if (status != 0) return status;
  fill(t);
  input = gather(t, &t->pencils[0]);
  forward(t);
  if (input) output = gather(t, &t->pencils[2]);
  report(t);
  status = output ? judge(t, input, output) : 1;
  fftw_free(input);
  fftw_free(output);
  return status;
}

/* Returns the exit status, or -1 to continue. */
static int read_extents(transform *t, int argc, char **argv) {
  const option table[] = {{.name = "--nx",
                           .argument = "NX",
                           .integer = &t->extent[0],
                           .least = 1,
                           .most = 1e6,
                           .help = "extent of x (default 128)"},
                          {.name = "--ny",
                           .argument = "NY",
                           .integer = &t->extent[1],
                           .least = 1,
                           .most = 1e6,
                           .help = "extent of y (default 128)"},
                          {.name = "--nz",
                           .argument = "NZ",
                           .integer = &t->extent[2],
                           .least = 1,
                           .most = 1e6,
                           .help = "extent of z (default 128)"},
                          OPTION_WIRE(t->wire),
                          {.name = NULL}};
  return options_start(
      table, argc, argv, t->rank, "fft3d",
      "Teaches pencils on the best grid of ranks, and views that let arrays stored in different orders share axis numbering.\n"
      "A three-dimensional Fourier transform in two redistributions, compared with FFTW's own.");
}

int main(int argc, char **argv) {
  transform t;
  int status;
  memset(&t, 0, sizeof t);
  t.extent[0] = t.extent[1] = t.extent[2] = 128;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
  status = read_extents(&t, argc, argv);
  if (status < 0) status = run(&t);
  finish(&t);
  MPI_Finalize();
  return status;
}
