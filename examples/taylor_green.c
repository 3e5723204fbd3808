/* The Navier-Stokes equations by a pseudo-spectral method: 18 redistributions of a vector field
   each time step. MIT licence, see LICENSE. An incompressible flow in a periodic box of side 2 pi,
   from the vortex of Taylor and Green:

       u_t = u x omega - grad(p + u^2 / 2) + nu laplace u,    div u = 0,    omega = curl u

   The unknowns are Fourier modes: their derivatives are products, and a projection removes the
   divergence. The product u x omega is formed at points. So each of a step's three stages
   transforms u and omega to points and their product back to modes: 9 real-to-complex transforms.
   What this program teaches about redist, here and in pencils.h:

   - Pencils: x, y or z is whole, the other axes are distributed over p1 x p2 ranks. The program
     finds the best p1 x p2 on paper (redist_best_grid, with redist_calibrate's costs) before it
     allocates anything.
   - Three arrays in one message to each peer (options.arrays), in an arena (memory of the node).
   - Dealiasing: modes that are cut off need not be sent. A section of a layout shows only the kept
     ones: 2/3 of all numbers are sent from the first pencil to the second, 4/9 to the third.
   - Numbers travel as float, if asked (options.wire), and are rounded the same on any ranks.
   - Files: a checkpoint holds modes in the order x, y, z and does not depend on the ranks. It is
     written and read with datatypes of the pencils' layout, and any number of ranks can continue
     from it.
   - Pictures: a plane of the points is a section, and a layout of whole axes lies on rank 0.

   Time steps are Williamson's third-order Runge-Kutta scheme with two arrays; viscosity is
   integrated exactly, by a factor exp(-nu k^2 t). In two dimensions u x omega is a gradient here,
   so that the decay is exact but for rounding. And since u x omega is perpendicular to u at every
   point, energy E and enstrophy Z, the means of u^2 / 2 and omega^2 / 2, obey dE/dt = -2 nu Z but
   for rounding: E and dE/dt are summed over modes of u and of the right-hand side, Z over
   points. */
#include <stdarg.h>
#include <unistd.h>

#include "checkpoint.h"
#include "options.h"
#include "pencils.h"
#include "pgm.h"

typedef struct {
  int64_t n, nz, dimensions, steps, p1;
  int wire; /* how numbers travel */
  double nu, dt;
  const char *csv, *picture, *save, *restart;
} settings;

/* loss: -dE/dt, dissipation: 2 nu Z */
typedef struct {
  double time, energy, loss, dissipation, enstrophy;
} state;

typedef struct {
  settings set;
  int rank, ranks, stage;
  int64_t points[3], step, first_step;
  pencils pencils;
  /* modes: the unknowns, the sum of the stages, and the stage being computed */
  field velocity, change, work;
  field flow, spin;           /* points: velocity and vorticity */
  state now, peak;            /* peak: when the most energy was lost */
  double unbalanced;          /* the largest so far */
  double preparing, marching; /* seconds */
  FILE *csv;
} solver;

static int fail(const solver *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (s->rank == 0) {
    fprintf(stderr, "taylor_green: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
  }
  va_end(arguments);
  return 1;
}

static double all_points(const solver *s) {
  return (double)s->points[0] * (double)s->points[1] * (double)s->points[2];
}

static int prepare(solver *s) {
  double begin = MPI_Wtime();
  int code = pencils_create(&s->pencils, s->points, s->set.p1, (redist_wire)s->set.wire, 2, 3);
  if (code != REDIST_OK) return fail(s, "%s %s", redist_strerror(code), s->pencils.wrong);
  s->velocity = new_field(&s->pencils, 2);
  s->change = new_field(&s->pencils, 2);
  s->work = new_field(&s->pencils, 2);
  s->flow = new_field(&s->pencils, 0);
  s->spin = new_field(&s->pencils, 0);
  s->preparing = maximum(MPI_Wtime() - begin);
  return 0;
}

/* ---- the right-hand side ---- */

/* A line of modes along z, by component. */
typedef struct {
  complex_number *u[VECTOR], *change[VECTOR], *work[VECTOR]; /* u: velocity */
  double kx, ky;
  const pencils *of; /* for kz */
  int64_t count;
} mode_line;

static void for_lines(solver *s, void (*visit)(solver *, const mode_line *)) {
  const pencil *p = &s->pencils.at[2];
  mode_line l;
  l.of = &s->pencils;
  l.count = s->pencils.modes[2];
  for (int64_t line = 0; line < p->lines; line++) {
    l.kx = wave_number(l.of, 0, p->first[0] + line / p->count[1]);
    l.ky = wave_number(l.of, 1, p->first[1] + line % p->count[1]);
    for (int c = 0; c < VECTOR; c++) {
      l.u[c] = s->velocity.part[c] + line * p->count[2];
      l.change[c] = s->change.part[c] + line * p->count[2];
      l.work[c] = s->work.part[c] + line * p->count[2];
    }
    visit(s, &l);
  }
}

static double kz_of(const mode_line *l, int64_t k) { return wave_number(l->of, 2, k); }

static double square_of(const mode_line *l, int64_t k) {
  return l->kx * l->kx + l->ky * l->ky + kz_of(l, k) * kz_of(l, k);
}

static complex_number times_i(complex_number a) { return -cimag(a) + I * creal(a); }

static double product(complex_number a, complex_number b) {
  return creal(a) * creal(b) + cimag(a) * cimag(b);
}

/* work = curl velocity */
static void curl(solver *s, const mode_line *l) {
  const complex_number *u = l->u[0], *v = l->u[1], *w = l->u[2];
  (void)s;
  for (int64_t k = 0; k < l->count; k++) {
    double kz = kz_of(l, k);
    l->work[0][k] = times_i(l->ky * w[k] - kz * v[k]);
    l->work[1][k] = times_i(kz * u[k] - l->kx * w[k]);
    l->work[2][k] = times_i(l->kx * v[k] - l->ky * u[k]);
  }
}

/* Removes the divergence of work, and divides by the factor of the transforms. */
static void project(solver *s, const mode_line *l) {
  complex_number *a = l->work[0], *b = l->work[1], *c = l->work[2];
  double scale = 1 / all_points(s);
  for (int64_t k = 0; k < l->count; k++) {
    double kz = kz_of(l, k), square = square_of(l, k);
    complex_number along = square > 0 ? (l->kx * a[k] + l->ky * b[k] + kz * c[k]) / square : 0;
    a[k] = scale * (a[k] - l->kx * along);
    b[k] = scale * (b[k] - l->ky * along);
    c[k] = scale * (c[k] - kz * along);
  }
}

/* The points x of a line of pencil 0 as real numbers. */
static double *points_of(const solver *s, const field *f, int component, int64_t line) {
  return (double *)(f->part[component] + line * s->pencils.at[0].count[2]);
}

/* flow = flow x spin. Returns the sum of spin^2 / 2. */
static double cross(solver *s) {
  double sum = 0;
  for (int64_t line = 0; line < s->pencils.at[0].lines; line++) {
    double *u = points_of(s, &s->flow, 0, line), *v = points_of(s, &s->flow, 1, line),
           *w = points_of(s, &s->flow, 2, line);
    const double *a = points_of(s, &s->spin, 0, line), *b = points_of(s, &s->spin, 1, line),
                 *c = points_of(s, &s->spin, 2, line);
    for (int64_t i = 0; i < s->points[0]; i++) {
      double x = u[i], y = v[i], z = w[i];
      u[i] = y * c[i] - z * b[i];
      v[i] = z * a[i] - x * c[i];
      w[i] = x * b[i] - y * a[i];
      sum += (a[i] * a[i] + b[i] * b[i] + c[i] * c[i]) / 2;
    }
  }
  return sum;
}

static void velocity_to_points(solver *s) {
  copy_field(&s->pencils, 2, &s->velocity, &s->work);
  to_points(&s->pencils, &s->work, &s->flow);
}

/* work becomes the right-hand side without viscosity; spin remains at the points. */
static void evaluate(solver *s) {
  velocity_to_points(s);
  for_lines(s, curl);
  to_points(&s->pencils, &s->work, &s->spin);
  s->now.enstrophy = cross(s);
  to_modes(&s->pencils, &s->flow, &s->work);
  for_lines(s, project);
}

/* ---- time steps ---- */

/* One stage: change = share change + dt rhs, velocity += weight change, and both decay until the
   next stage's time. */
static void advance(solver *s, const mode_line *l) {
  static const double share[] = {0, -5.0 / 9, -153.0 / 128},
                      weight[] = {1.0 / 3, 15.0 / 16, 8.0 / 15};
  static const double duration[] = {1.0 / 3, 5.0 / 12, 1.0 / 4};
  for (int64_t k = 0; k < l->count; k++) {
    double decay = exp(-s->set.nu * s->set.dt * duration[s->stage] * square_of(l, k));
    for (int c = 0; c < VECTOR; c++) {
      complex_number change = share[s->stage] * l->change[c][k] + s->set.dt * l->work[c][k];
      l->u[c][k] = decay * (l->u[c][k] + weight[s->stage] * change);
      l->change[c][k] = decay * change;
    }
  }
}

/* Adds up E and -dE/dt. Of modes with negative kx, which are not stored, each is the conjugate of
   one with positive kx. */
static void add_energy(solver *s, const mode_line *l) {
  double twice = l->kx > 0 ? 2 : 1;
  for (int64_t k = 0; k < l->count; k++) {
    double decay = s->set.nu * square_of(l, k);
    for (int c = 0; c < VECTOR; c++) {
      double square = product(l->u[c][k], l->u[c][k]);
      s->now.energy += twice * square / 2;
      s->now.loss += twice * (decay * square - product(l->u[c][k], l->work[c][k]));
    }
  }
}

/* Call right after evaluate. dE/dt is rounded as its terms are, of the size of E |omega| and 2 nu
   Z. */
static void observe(solver *s) {
  state *now = &s->now;
  double sums[3], scale, unbalanced;
  now->time += s->step > s->first_step ? s->set.dt : 0;
  now->energy = now->loss = 0;
  for_lines(s, add_energy);
  sums[0] = now->energy, sums[1] = now->loss, sums[2] = now->enstrophy;
  reduce(sums, 3, MPI_SUM);
  now->energy = sums[0], now->loss = sums[1], now->enstrophy = sums[2] / all_points(s);
  now->dissipation = 2 * s->set.nu * now->enstrophy;
  scale = now->dissipation + now->energy * sqrt(2 * now->enstrophy);
  unbalanced = fabs(now->loss - now->dissipation) / (scale != 0 ? scale : 1);
  if (!(unbalanced <= s->unbalanced)) s->unbalanced = unbalanced; /* not-a-number stays */
  if (s->step == s->first_step || now->loss > s->peak.loss) s->peak = *now;
  if (s->csv)
    fprintf(s->csv, "%.10g,%.15g,%.15g,%.15g,%.15g\n", now->time, now->energy, now->enstrophy,
            now->loss, now->dissipation);
}

/* A line on a terminal, erased at the end. */
static void progress(const solver *s, int64_t last) {
  if (s->rank != 0 || !isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\rstep %lld of %lld, t = %.3f, E = %.6f", (long long)s->step, (long long)last,
          s->now.time, s->now.energy);
  if (s->step == last) fprintf(stderr, "\r%*s\r", 72, "");
}

/* work holds the right-hand side of the first stage already. */
static void take_step(solver *s) {
  for (s->stage = 0; s->stage < 3; s->stage++) {
    if (s->stage > 0) evaluate(s);
    for_lines(s, advance);
  }
}

static void march(solver *s) {
  int64_t last = s->first_step + s->set.steps;
  double begin = MPI_Wtime();
  s->pencils.transforming = s->pencils.redistributing = 0;
  for (s->step = s->first_step;; s->step++) {
    evaluate(s);
    observe(s);
    progress(s, last);
    if (s->step == last) break;
    take_step(s);
  }
  s->marching = MPI_Wtime() - begin;
}

/* ---- the vortex ---- */

static void vortex(const solver *s, int64_t x, int64_t y, int64_t z, double *u) {
  double turn = 2 * acos(-1), a = turn * (double)x / (double)s->points[0],
         b = turn * (double)y / (double)s->points[1];
  double along = s->set.dimensions == 3 ? cos(turn * (double)z / (double)s->points[2]) : 1;
  u[0] = sin(a) * cos(b) * along;
  u[1] = -cos(a) * sin(b) * along;
  u[2] = 0;
}

/* Subtracts amplitude times the vortex from flow. Returns the largest remainder on any rank. */
static double subtract_vortex(solver *s, double amplitude) {
  const pencil *p = &s->pencils.at[0];
  double worst = 0, u[VECTOR];
  for (int64_t line = 0; line < p->lines; line++)
    for (int64_t x = 0; x < s->points[0]; x++) {
      vortex(s, x, p->first[0] + line / p->count[1], p->first[1] + line % p->count[1], u);
      for (int c = 0; c < VECTOR; c++)
        worst = fmax(worst, fabs(points_of(s, &s->flow, c, line)[x] -= amplitude * u[c]));
    }
  return maximum(worst);
}

static void start(solver *s) {
  subtract_vortex(s, -1); /* from a new field, which is zero */
  to_modes(&s->pencils, &s->flow, &s->work);
  for_lines(s, project);
  copy_field(&s->pencils, 2, &s->work, &s->velocity);
}

/* ---- checkpoints: the kept modes, and which flow they are of ---- */

/* enough for the vortex; planes of modes that an int can count */
enum { LEAST_POINTS = 4, MOST_POINTS = 32768 };

static checkpoint open_checkpoint(const solver *s, const char *name) {
  checkpoint c;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = name;
  snprintf(c.note, sizeof c.note,
           "taylor_green dimensions %lld points %lld %lld %lld step %lld time %.17g nu %.17g",
           (long long)s->set.dimensions, (long long)s->points[0], (long long)s->points[1],
           (long long)s->points[2], (long long)s->step, s->now.time, s->set.nu);
  return c;
}

static int save_or_load(solver *s, const char *name, int saving) {
  static const char *const component[VECTOR] = {"u", "v", "w"};
  checkpoint c = open_checkpoint(s, name);
  checkpoint_field modes[VECTOR];
  for (int k = 0; k < VECTOR; k++) {
    modes[k].name = component[k];
    modes[k].type = "complex";
    modes[k].layout = kept_modes(&s->pencils, 2, s->pencils.at[2].layout);
    modes[k].array = s->velocity.part[k];
  }
  return (saving ? checkpoint_save(&c, VECTOR, modes) : checkpoint_load(&c, VECTOR, modes))
             ? 0
             : fail(s, "%s", c.wrong);
}

/* Reads which flow the file continues. */
static int look(solver *s) {
  checkpoint c = open_checkpoint(s, s->set.restart);
  long long dimensions, points[3], step;
  double time, nu;
  int ok = checkpoint_look(&c);
  if (!ok) return fail(s, "%s", c.wrong);
  ok =
      sscanf(c.note, "taylor_green dimensions %lld points %lld %lld %lld step %lld time %lg nu %lg",
             &dimensions, &points[0], &points[1], &points[2], &step, &time, &nu) == 7 &&
      (dimensions == 2 || dimensions == 3) && nu >= 0 && step >= 0;
  for (int d = 0; d < 3 && ok; d++) {
    ok = points[d] >= (d < dimensions ? LEAST_POINTS : 1) && points[d] <= MOST_POINTS;
    s->points[d] = points[d];
  }
  if (!ok) return fail(s, "%s: is of no such flow, but '%s'", s->set.restart, c.note);
  s->set.dimensions = dimensions;
  s->set.nu = nu;
  s->first_step = step;
  s->now.time = time;
  return 0;
}

/* ---- the picture: |omega| on the plane x = 0, or in two dimensions z = 0 ---- */

/* The points are real numbers in a complex array, whose lines have unused room at the end. */
static redist_layout plane_of_points(const solver *s, int across) {
  const pencil *p = &s->pencils.at[0];
  redist_layout stored = redist_layout_3d(p->axes[0], p->axes[1], redist_whole(s->points[0]));
  stored = redist_with_allocated(stored, 2, 2 * p->count[2]);
  return redist_section(redist_permuted(stored, pencil_view[0]), across, 0, 1, 1);
}

static void spin_to_magnitude(solver *s) {
  for (int64_t line = 0; line < s->pencils.at[0].lines; line++) {
    double *a = points_of(s, &s->spin, 0, line), *b = points_of(s, &s->spin, 1, line),
           *c = points_of(s, &s->spin, 2, line);
    for (int64_t x = 0; x < s->points[0]; x++) a[x] = sqrt(a[x] * a[x] + b[x] * b[x] + c[x] * c[x]);
  }
}

static const char *write_brightened(const char *name, const pgm *picture) {
  double most = 0;
  for (int64_t i = 0; i < picture->width * picture->height; i++)
    most = fmax(most, picture->values[i]);
  return pgm_write(name, picture, most > 0 ? picture->white / most : 0);
}

static int draw(solver *s) {
  int across = s->set.dimensions == 3 ? 0 : 2;
  redist_layout from = plane_of_points(s, across), to;
  pgm picture = {s->points[across == 0 ? 2 : 1], s->points[across == 0 ? 1 : 0], 255, NULL};
  const char *wrong = NULL;
  redist_plan *plan = NULL;
  to = redist_layout_3d(redist_whole(across == 0 ? 1 : s->points[0]), redist_whole(s->points[1]),
                        redist_whole(across == 2 ? 1 : s->points[2]));
  spin_to_magnitude(s);
  picture.values = malloc((size_t)(redist_layout_local_size(&to, s->rank) + 1) * sizeof(double));
  int code = everywhere(picture.values != NULL) ? REDIST_OK : REDIST_ERR_MEMORY;
  if (code == REDIST_OK)
    code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, NULL, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, s->spin.part[0], picture.values);
  if (code == REDIST_OK && s->rank == 0) wrong = write_brightened(s->set.picture, &picture);
  redist_plan_free(&plan);
  free(picture.values);
  if (everywhere(code == REDIST_OK && !wrong)) return 0;
  return fail(s, "%s: %s", s->set.picture, wrong ? wrong : redist_strerror(code));
}

/* ---- the report ---- */

static int judge(const solver *s, const char *what, double value) {
  int good =
      value <= (s->set.wire == REDIST_WIRE_FLOAT ? 1e-6 : 1e-12); /* false for not-a-number */
  if (s->rank == 0) printf("  %-16s %.1e: %s\n", what, value, good ? "right" : "WRONG");
  return !good;
}

static void report_time(const solver *s, const char *what, double seconds) {
  double all = maximum(seconds);
  if (s->rank == 0)
    printf("  %-16s %8.3f s  %8.3f ms each step\n", what, all,
           1e3 * all / (double)(s->set.steps > 0 ? s->set.steps : 1));
}

static int report(solver *s) {
  const pencils *p = &s->pencils;
  int status;
  if (s->rank == 0)
    printf("  preparing        %8.3f s, for pencils on %d x %d ranks\n", s->preparing, p->grid[0],
           p->grid[1]);
  report_time(s, "transforming", p->transforming);
  report_time(s, "redistributing", p->redistributing);
  report_time(s, "the rest", s->marching - p->transforming - p->redistributing);
  if (s->rank == 0) {
    printf("  at the end       t = %.6g, energy %.12e, enstrophy %.12e\n", s->now.time,
           s->now.energy, s->now.enstrophy);
    printf("  dissipation      at most %.6e, at t = %.6g\n", s->peak.loss, s->peak.time);
  }
  status = judge(s, "energy balance", s->unbalanced);
  if (s->set.dimensions == 2) {
    velocity_to_points(s);
    status |= judge(s, "exact decay", subtract_vortex(s, exp(-2 * s->set.nu * s->now.time)));
  }
  return status;
}

/* ---- the command line ---- */

/* NULL, or why these options do not fit together. */
static const char *contradiction(const solver *s) {
  const settings *set = &s->set;
  if (set->restart && (set->n > 0 || set->nz > 0 || set->dimensions > 0 || set->nu >= 0))
    return "--restart and --n, --nz, --dimensions, --nu exclude each other";
  if (set->dimensions != 2 && set->nz > 0 && set->nz < LEAST_POINTS)
    return "--nz needs at least 4 points in three dimensions";
  return set->p1 > 0 && s->ranks % set->p1 != 0 ? "--p1 must divide the number of ranks" : NULL;
}

/* Returns the exit status, or -1 to continue. */
static int read_settings(solver *s, int argc, char **argv) {
  settings *set = &s->set;
  const option table[] = {{.name = "--dimensions",
                           .argument = "D",
                           .integer = &set->dimensions,
                           .least = 2,
                           .most = 3,
                           .help = "2 or 3 (default 3)"},
                          {.name = "--n",
                           .argument = "N",
                           .integer = &set->n,
                           .least = LEAST_POINTS,
                           .most = MOST_POINTS,
                           .help = "points along x and y (default 32)"},
                          {.name = "--nz",
                           .argument = "NZ",
                           .integer = &set->nz,
                           .least = 1,
                           .most = MOST_POINTS,
                           .help = "points along z (default N; 1 in two dimensions)"},
                          {.name = "--nu",
                           .argument = "NU",
                           .real = &set->nu,
                           .most = 1000,
                           .help = "viscosity (default 0.01)"},
                          {.name = "--dt",
                           .argument = "DT",
                           .real = &set->dt,
                           .least = 1e-300,
                           .most = 1000,
                           .help = "time step (default 1.5 / N)"},
                          {.name = "--steps",
                           .argument = "K",
                           .integer = &set->steps,
                           .most = 1e9,
                           .help = "time steps (default until t = 10)"},
                          {.name = "--p1",
                           .argument = "P1",
                           .integer = &set->p1,
                           .least = 1,
                           .most = INT_MAX,
                           .help = "p1 of the p1 x p2 ranks (default: the least predicted time)"},
                          OPTION_WIRE(set->wire),
                          {.name = "--csv",
                           .argument = "FILE",
                           .text = &set->csv,
                           .help = "write energy, enstrophy and dissipation of every step"},
                          {.name = "--picture",
                           .argument = "FILE",
                           .text = &set->picture,
                           .help = "write |omega| on a plane as a PGM picture"},
                          {.name = "--save",
                           .argument = "FILE",
                           .text = &set->save,
                           .help = "write a checkpoint at the end"},
                          {.name = "--restart",
                           .argument = "FILE",
                           .text = &set->restart,
                           .help = "continue from a checkpoint"},
                          {.name = NULL}};
  int status = options_start(
      table, argc, argv, s->rank, "taylor_green",
      "The vortex of Taylor and Green by a pseudo-spectral method. It teaches pencils on the p1 x p2 ranks that\n"
      "cost least on paper, three components in one message, sections that do not send dealiased modes, an\n"
      "arena, checkpoints for any number of ranks.\n"
      "gnuplot -e \"csv='FILE'\" examples/taylor_green.gp draws the dissipation.");
  const char *wrong = status < 0 ? contradiction(s) : NULL;
  return wrong ? fail(s, "%s", wrong) + 1 : status;
}

static void set_defaults(solver *s) {
  settings *set = &s->set;
  set->dimensions = set->dimensions > 0 ? set->dimensions : 3;
  set->nu = set->nu >= 0 ? set->nu : 0.01;
  s->points[0] = s->points[1] = set->n > 0 ? set->n : 32;
  s->points[2] = set->nz > 0 ? set->nz : set->dimensions == 2 ? 1 : s->points[0];
}

static void introduce(solver *s) {
  settings *set = &s->set;
  if (set->dt <= 0) set->dt = 1.5 / (double)s->points[0];
  if (set->steps < 0) set->steps = (int64_t)fmax(0, ceil((10 - s->now.time) / set->dt - 1e-9));
  if (s->rank == 0)
    printf("Taylor-Green vortex in %lld dimensions: %lld x %lld x %lld points, nu = %g, "
           "%lld steps of %g on %d rank%s\n",
           (long long)set->dimensions, (long long)s->points[0], (long long)s->points[1],
           (long long)s->points[2], set->nu, (long long)set->steps, set->dt, s->ranks,
           s->ranks > 1 ? "s" : "");
}

static int open_csv(solver *s) {
  if (s->rank == 0 && s->set.csv) s->csv = fopen(s->set.csv, "w");
  if (s->csv) fprintf(s->csv, "time,energy,enstrophy,loss,dissipation\n");
  return everywhere(s->rank != 0 || !s->set.csv || s->csv)
             ? 0
             : fail(s, "%s: cannot be created", s->set.csv);
}

static int close_csv(solver *s) {
  int wrong = s->csv && (ferror(s->csv) | fclose(s->csv)) != 0;
  return everywhere(!wrong) ? 0 : fail(s, "%s: cannot be written", s->set.csv);
}

static int run(solver *s) {
  int status = s->set.restart ? look(s) : (set_defaults(s), 0);
  if (status != 0) return status;
  introduce(s);
  if (prepare(s) != 0 || open_csv(s) != 0) return 1;
  if (!s->set.restart)
    start(s);
  else if (save_or_load(s, s->set.restart, 0) != 0)
    return 1;
  march(s);
  status = s->set.picture ? draw(s) : 0;
  status |= report(s);
  status |= s->set.save ? save_or_load(s, s->set.save, 1) : 0;
  return close_csv(s) | status;
}

int main(int argc, char **argv) {
  solver s;
  int status;
  memset(&s, 0, sizeof s);
  s.set.nu = -1;
  s.set.steps = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  status = read_settings(&s, argc, argv);
  if (status < 0) status = run(&s);
  pencils_free(&s.pencils);
  MPI_Finalize();
  return status;
}
