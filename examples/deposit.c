/* Particles' charge on a periodic grid: ghost cells are added to their owners' points. MIT licence,
   see LICENSE.
   mpicc -I. examples/deposit.c -o deposit -lm && mpiexec -n 4 ./deposit --picture density.pgm

   A particle spreads its charge over the four grid points around it, bilinearly. Every rank
   deposits the particles in its block, also on the points beyond its upper edges, which its
   neighbours own: these points are ghost cells. The plan from the blocks with ghosts to the blocks
   without, in place, adds every ghost cell to its owner's point, corners included. It is the
   reverse of a halo exchange.

   Positions are multiples of 1/256 of a cell, weights multiples of 2^-16, and so all sums are
   exact: the total charge is conserved to the last bit, and the density is the same as on one
   rank. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "pgm.h"
#include "redist_plan.h"

enum { LATTICE = 256 };

typedef struct {
  int64_t n, particles;
  const char *picture;
  int rank, ranks;
  redist_axis x, y; /* grid points, distributed over the processes of an axis */
} settings;

/* in units of 1 / LATTICE of a cell, from 0 to below n * LATTICE */
typedef struct {
  int64_t x, y;
} particle;

/* A pseudo-random number in [0, 1) that depends on k alone. */
static double scatter(uint64_t k) {
  k = (k ^ (k >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  k = (k ^ (k >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (double)((k ^ (k >> 31)) >> 11) / 9007199254740992.0;
}

static int64_t on_lattice(double place, int64_t n) {
  const int64_t size = n * LATTICE, at = (int64_t)floor(place * (double)size) % size;
  return at < 0 ? at + size : at;
}

/* Particle k of a galaxy with two arms, which reach around the edges. */
static particle particle_number(const settings *s, int64_t k) {
  const uint64_t seed = 4 * (uint64_t)k * UINT64_C(0x9E3779B97F4A7C15);
  const double radius = 0.6 * sqrt(scatter(seed + 1)), arm = k % 2 ? 0 : acos(-1);
  const double angle = arm + 9 * radius + (scatter(seed + 2) + scatter(seed + 3) - 1) * 1.2;
  particle p;
  p.x = on_lattice(0.5 + radius * cos(angle), s->n);
  p.y = on_lattice(0.5 + radius * sin(angle), s->n);
  return p;
}

/* Adds a particle whose cell begins at the point *u, of a grid with these strides. */
static void deposit(const particle *p, double *u, int64_t down, int64_t right) {
  const double x = (double)(p->x % LATTICE) / LATTICE, y = (double)(p->y % LATTICE) / LATTICE;
  u[0] += (1 - x) * (1 - y);
  u[down] += x * (1 - y);
  u[right] += (1 - x) * y;
  u[down + right] += x * y;
}

/* Deposits the particles of this rank's block; a real code has them there, here each rank
   searches. */
static void deposit_block(const settings *s, const redist_shape *block, double *u) {
  for (int64_t k = 0; k < s->particles; k++) {
    const particle p = particle_number(s, k);
    const int64_t i = p.x / LATTICE - block->first[0], j = p.y / LATTICE - block->first[1];
    if (i >= 0 && i < block->count[0] && j >= 0 && j < block->count[1])
      deposit(&p, u + block->origin + i * block->stride[0] + j * block->stride[1], block->stride[0],
              block->stride[1]);
  }
}

/* Deposits all particles on a grid with one more row and column, which are then folded back. */
static void deposit_all(const settings *s, double *u, double *padded) {
  const int64_t n = s->n, width = n + 1;
  for (int64_t k = 0; k < s->particles; k++) {
    const particle p = particle_number(s, k);
    deposit(&p, padded + p.x / LATTICE * width + p.y / LATTICE, width, 1);
  }
  for (int64_t i = 0; i < width; i++)
    for (int64_t j = 0; j < width; j++) u[i % n * n + j % n] += padded[i * width + j];
}

static redist_plan *make_plan(const settings *s, const redist_layout *from, const redist_layout *to,
                              redist_op *sum) {
  char message[256] = "";
  redist_options options;
  redist_plan *plan;
  memset(&options, 0, sizeof options);
  options.in_place = sum != NULL;
  options.combine = sum != NULL ? redist_combine_op : NULL;
  options.context = sum;
  options.message = message;
  options.message_size = sizeof message;
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK)
    return plan;
  if (s->rank == 0) fprintf(stderr, "deposit: %s\n", message);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

static double *zeros(int64_t count) {
  double *memory = calloc((size_t)count + 1, sizeof *memory); /* + 1: calloc(0) may return NULL */
  if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

static void execute(redist_plan *plan, const double *from, double *to) {
  if (redist_execute(plan, from, to) != REDIST_OK) {
    fprintf(stderr, "deposit: %s\n", redist_plan_message(plan));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Checks the gathered density. Returns the exit status. */
static int judge(const settings *s, const double *density) {
  double *alone = zeros(s->n * s->n), *padded = zeros((s->n + 1) * (s->n + 1)), total = 0, most = 0;
  pgm picture = {s->n, s->n, 255, (double *)density};
  const char *wrong = NULL;
  int same;
  deposit_all(s, alone, padded);
  same = memcmp(alone, density, (size_t)(s->n * s->n) * sizeof *alone) == 0;
  for (int64_t k = 0; k < s->n * s->n; k++) {
    total += density[k];
    most = fmax(most, density[k]);
  }
  printf("%lld particles on %lld x %lld points and %d ranks\n  total charge     %.17g: %s\n"
         "  density          %s a deposit on one rank, at most %g\n",
         (long long)s->particles, (long long)s->n, (long long)s->n, s->ranks, total,
         total == (double)s->particles ? "conserved" : "LOST",
         same ? "the same bits as" : "NOT those of", most);
  if (s->picture) wrong = pgm_write(s->picture, &picture, most > 0 ? 255 / most : 0);
  if (wrong) fprintf(stderr, "deposit: %s: %s\n", s->picture, wrong);
  free(alone);
  free(padded);
  return wrong != NULL || !same || total != (double)s->particles;
}

static int run(settings *s) {
  int grid[2] = {0, 0}, status = 0;
  MPI_Dims_create(s->ranks, 2, grid);
  s->x = redist_balanced(s->n, grid[0]);
  s->y = redist_balanced(s->n, grid[1]);
  const redist_layout blocks =
      redist_with_halo(redist_with_halo(redist_layout_2d(s->x, s->y), 0, 0, 1), 1, 0, 1);
  const redist_layout ghosts =
      redist_with_ghosts(redist_with_ghosts(blocks, 0, REDIST_PERIODIC), 1, REDIST_PERIODIC);
  /* on rank 0 */
  const redist_layout one = redist_layout_2d(redist_whole(s->n), redist_whole(s->n));
  redist_op sum = {MPI_SUM, MPI_DOUBLE};
  redist_plan *add = make_plan(s, &ghosts, &blocks, &sum),
              *gather = make_plan(s, &blocks, &one, NULL);
  double *u = zeros(redist_layout_local_size(&blocks, s->rank)),
         *density = zeros(redist_layout_local_size(&one, s->rank));

  redist_shape block;
  redist_layout_shape(&blocks, s->rank, &block);
  deposit_block(s, &block, u);
  execute(add, u, u);
  execute(gather, u, density);

  if (s->rank == 0) status = judge(s, density);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  redist_plan_free(&add);
  redist_plan_free(&gather);
  free(u);
  free(density);
  return status;
}

int main(int argc, char **argv) {
  settings s = {.n = 256, .particles = 200000};
  int status;
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &s.n,
                           .least = 1,
                           .most = 10000,
                           .help = "grid points along each side (default 256)"},
                          {.name = "--particles",
                           .argument = "K",
                           .integer = &s.particles,
                           .most = 1e9,
                           .help = "of charge 1 (default 200000)"},
                          {.name = "--picture",
                           .argument = "FILE",
                           .text = &s.picture,
                           .help = "writes the density as a PGM picture"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  status = options_start(
      table, argc, argv, s.rank, "deposit",
      "Teaches accumulation: the plan from a layout with ghosts to the same without, in place,\n"
      "with a sum, adds ghost cells to their owners' points. Deposits particles' charge\n"
      "on a periodic grid and gathers the density.");
  if (status < 0) status = run(&s);
  MPI_Finalize();
  return status;
}
