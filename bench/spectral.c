/* A vector field's way from modes to points and back, as a pseudo-spectral solver takes it 4.5 times
   in a step of examples/taylor_green, three ways. MIT licence, see LICENSE.

   - redist: examples/pencils.h. The best grid, three arrays in one plan, in an arena.
   - by hand: the same pencils and transforms, moved as 2DECOMP&FFT moves them: each component
     packed for the ranks of a row or a column of the grid, MPI_Alltoallv among these, unpacked.
   - FFTW-MPI, where it is installed: its own transforms and transposes of slabs, in place, with
     FFTW_MPI_TRANSPOSED_OUT. All modes are sent; those with |k| >= n / 3 are then set to zero.
   Contestants alternate. A time is that of the slowest rank, and the figure is the median. Every
   time the modes are compared with what they were.

   Debian's FFTW-MPI is made for Open MPI: make build/spectral MPICC=mpicc.openmpi. */
#include "examples/pencils.h"
#ifdef HAVE_FFTW_MPI
#include <fftw3-mpi.h>
#endif

#include "bench.h"

/* The elements of one message: of x, y and z, where they begin in the rank's array, how many. */
typedef struct {
  int64_t first[3], count[3];
} block;

/* How a move by hand exchanges what two neighbouring pencils hold. */
typedef struct {
  MPI_Comm comm; /* of the ranks that exchange */
  int ranks;
  block *upper, *lower; /* upper[ranks], lower[ranks]: what either pencil has of each message */
  int *count[2], *offset[2]; /* in complex numbers, of the upper and the lower pencil's rank */
} hand_move;

typedef struct {
  int64_t fewest, most, n, p1, repetitions;
  int wire; /* how redist's numbers travel */
  double tolerance;
  pencils pencils;
  field points, modes;
  hand_move hand[2];
  complex_number *packed[2];
#ifdef HAVE_FFTW_MPI
  struct {
    ptrdiff_t columns, first; /* of y, in modes */
    complex_number *part[VECTOR];
    fftw_plan forward[VECTOR], backward[VECTOR];
  } slab;
#endif
} bench;

static void succeed(int code) {
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
}

/* ---- by hand ---- */

/* The local part of an axis of a pencil along dimension d of the grid at a coordinate. */
static void local_part(const pencil *p, int d, int coord, int64_t *first, int64_t *count) {
  *count = redist_axis_count(&p->axes[d], coord);
  *first = *count > 0 ? redist_axis_global(&p->axes[d], coord, 0) : 0;
}

/* The block of a message between the ranks with coordinates `above` and `below` along dimension d,
   on which pencil `which`, whole, becomes distributed, and pencil which + 1 whole. */
static void find_blocks(const pencils *p, int which, int d, int above, int below, block *upper,
                        block *lower) {
  const pencil *u = &p->at[which], *l = &p->at[which + 1];
  const int common = pencil_storage[which][1 - d];
  local_part(l, d, below, &upper->first[which], &upper->count[which]);
  local_part(u, d, above, &lower->first[which + 1], &lower->count[which + 1]);
  upper->first[which + 1] = upper->first[common] = lower->first[which] = lower->first[common] = 0;
  upper->count[common] = lower->count[common] = u->count[1 - d];
  upper->count[which + 1] = lower->count[which + 1];
  lower->count[which] = upper->count[which];
}

static void create_hand_move(bench *b, int which) {
  const pencils *p = &b->pencils;
  hand_move *h = &b->hand[which];
  const int at[2] = {p->rank / p->grid[1], p->rank % p->grid[1]}, mine = at[which];
  MPI_Comm_split(MPI_COMM_WORLD, at[1 - which], mine, &h->comm);
  h->ranks = p->grid[which];
  h->upper = allocate((size_t)h->ranks * sizeof *h->upper);
  h->lower = allocate((size_t)h->ranks * sizeof *h->lower);
  for (int side = 0; side < 2; side++) {
    int offset = 0;
    h->count[side] = allocate((size_t)h->ranks * sizeof(int));
    h->offset[side] = allocate((size_t)h->ranks * sizeof(int));
    for (int r = 0; r < h->ranks; r++) {
      block *mine_of = side == 0 ? h->upper : h->lower, other;
      if (side == 0)
        find_blocks(p, which, which, mine, r, &mine_of[r], &other);
      else
        find_blocks(p, which, which, r, mine, &other, &mine_of[r]);
      h->count[side][r] = (int)(mine_of[r].count[0] * mine_of[r].count[1] * mine_of[r].count[2]);
      h->offset[side][r] = offset;
      offset += h->count[side][r];
    }
  }
}

/* Copies a block of a pencil to or from its message, which has the order of the upper pencil's
   storage. */
static void copy_block(const pencils *p, int which, const int *order, const block *part,
                       complex_number *array, complex_number *message, int packs) {
  const int *own = pencil_storage[which];
  const int64_t *extent = p->at[which].count;
  int64_t there[3];
  there[order[2]] = 1;
  there[order[1]] = part->count[order[2]];
  there[order[0]] = part->count[order[1]] * part->count[order[2]];
  for (int64_t i = 0; i < part->count[own[0]]; i++)
    for (int64_t j = 0; j < part->count[own[1]]; j++) {
      complex_number *line =
          array + ((part->first[own[0]] + i) * extent[1] + part->first[own[1]] + j) * extent[2] +
          part->first[own[2]];
      complex_number *packed = message + i * there[own[0]] + j * there[own[1]];
      const int64_t step = there[own[2]], count = part->count[own[2]];
      if (step == 1)
        memcpy(packs ? packed : line, packs ? line : packed, (size_t)count * sizeof *line);
      else if (packs)
        for (int64_t k = 0; k < count; k++) packed[k * step] = line[k];
      else
        for (int64_t k = 0; k < count; k++) line[k] = packed[k * step];
    }
}

/* Moves a field from pencil `which` to the next one, or back. */
static void move_by_hand(bench *b, int which, int back, const field *from, const field *to) {
  const hand_move *h = &b->hand[which];
  const block *parts[2] = {h->upper, h->lower};
  const int *order = pencil_storage[which];
  for (int c = 0; c < VECTOR; c++) {
    MPI_Request request;
    for (int r = 0; r < h->ranks; r++)
      copy_block(&b->pencils, which + back, order, &parts[back][r], from->part[c],
                 b->packed[0] + h->offset[back][r], 1);
    MPI_Ialltoallv(b->packed[0], h->count[back], h->offset[back], MPI_C_DOUBLE_COMPLEX,
                   b->packed[1], h->count[1 - back], h->offset[1 - back], MPI_C_DOUBLE_COMPLEX,
                   h->comm, &request);
    wait_yielding(&request);
    for (int r = 0; r < h->ranks; r++)
      copy_block(&b->pencils, which + 1 - back, order, &parts[1 - back][r], to->part[c],
                 b->packed[1] + h->offset[1 - back][r], 0);
  }
}

static void to_modes_by_hand(bench *b) {
  pencils *p = &b->pencils;
  transform(p, 0, &b->points, transform_forward);
  move_by_hand(b, 0, 0, &b->points, &p->between);
  transform(p, 1, &p->between, transform_forward);
  move_by_hand(b, 1, 0, &p->between, &b->modes);
  transform(p, 2, &b->modes, transform_forward);
}

static void to_points_by_hand(bench *b) {
  pencils *p = &b->pencils;
  transform(p, 2, &b->modes, transform_backward);
  move_by_hand(b, 1, 1, &b->modes, &p->between);
  transform(p, 1, &p->between, transform_backward);
  move_by_hand(b, 0, 1, &p->between, &b->points);
  transform(p, 0, &b->points, transform_backward);
}

static void free_hand_moves(bench *b) {
  for (int which = 0; which < 2; which++) {
    hand_move *h = &b->hand[which];
    MPI_Comm_free(&h->comm);
    free(h->upper);
    free(h->lower);
    for (int side = 0; side < 2; side++) {
      free(h->count[side]);
      free(h->offset[side]);
    }
  }
}

/* ---- FFTW-MPI ---- */

/* The kept modes' velocity, at most 1.2: real fields, so that k and -k are conjugate. */
static complex_number velocity_of(int c, double x, double y, double z) {
  return (1 + 0.1 * c + I * 0.1 * x * (y - z)) / (1 + x * x + y * y + z * z);
}

#ifdef HAVE_FFTW_MPI
static void create_slabs(bench *b) {
  const ptrdiff_t n = b->n, half = n / 2 + 1;
  ptrdiff_t planes, begin, room;
  fftw_mpi_init();
  room = fftw_mpi_local_size_3d_transposed(n, n, half, MPI_COMM_WORLD, &planes, &begin,
                                           &b->slab.columns, &b->slab.first);
  for (int c = 0; c < VECTOR; c++) {
    complex_number *a = allocate((size_t)room * sizeof *a);
    b->slab.part[c] = a;
    b->slab.forward[c] = fftw_mpi_plan_dft_r2c_3d(n, n, n, (double *)a, a, MPI_COMM_WORLD,
                                                  FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
    b->slab.backward[c] = fftw_mpi_plan_dft_c2r_3d(n, n, n, a, (double *)a, MPI_COMM_WORLD,
                                                   FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
  }
}

static double slab_wave(const bench *b, int64_t i) { return (double)(2 * i < b->n ? i : i - b->n); }

/* Visits the modes, y z x in memory: fills in the velocity, or with check >= 0 sets to zero what is
   cut off, and returns the largest difference from check times the velocity. */
static double visit_slabs(bench *b, double check) {
  const int64_t half = b->n / 2 + 1;
  const double most = (double)((b->n - 1) / 3);
  double worst = 0;
  for (int c = 0; c < VECTOR; c++)
    for (int64_t y = 0; y < b->slab.columns; y++)
      for (int64_t z = 0; z < b->n; z++)
        for (int64_t x = 0; x < half; x++) {
          const double ky = slab_wave(b, b->slab.first + y), kz = slab_wave(b, z);
          complex_number *a = &b->slab.part[c][(y * b->n + z) * half + x];
          if ((double)x > most || fabs(ky) > most || fabs(kz) > most)
            *a = 0;
          else if (check < 0)
            *a = velocity_of(c, (double)x, ky, kz);
          else
            worst = fmax(worst, cabs(*a - check * velocity_of(c, (double)x, ky, kz)));
        }
  return worst;
}

/* Zeros what is cut off, line by line. */
static void cut_slabs(bench *b) {
  const int64_t n = b->n, half = n / 2 + 1, kept = (n - 1) / 3 + 1;
  for (int c = 0; c < VECTOR; c++)
    for (int64_t line = 0; line < b->slab.columns * n; line++) {
      const double ky = slab_wave(b, b->slab.first + line / n), kz = slab_wave(b, line % n);
      const int64_t from = fabs(ky) < (double)kept && fabs(kz) < (double)kept ? kept : 0;
      memset(b->slab.part[c] + line * half + from, 0,
             (size_t)(half - from) * sizeof(complex_number));
    }
}

static void transform_slabs(const fftw_plan *plans) {
  for (int c = 0; c < VECTOR; c++) fftw_execute(plans[c]);
}

static void free_slabs(bench *b) {
  for (int c = 0; c < VECTOR; c++) {
    fftw_destroy_plan(b->slab.forward[c]);
    fftw_destroy_plan(b->slab.backward[c]);
    free(b->slab.part[c]);
  }
  fftw_mpi_cleanup();
}
#endif

/* ---- there and back ---- */

static double visit_modes(bench *b, double check) {
  const pencils *p = &b->pencils;
  const pencil *a = &p->at[2];
  double worst = 0;
  for (int c = 0; c < VECTOR; c++)
    for (int64_t line = 0; line < a->lines; line++)
      for (int64_t z = 0; z < p->modes[2]; z++) {
        const complex_number v =
            velocity_of(c, wave_number(p, 0, a->first[0] + line / a->count[1]),
                        wave_number(p, 1, a->first[1] + line % a->count[1]), wave_number(p, 2, z));
        complex_number *mode = &b->modes.part[c][line * a->count[2] + z];
        if (check < 0)
          *mode = v;
        else
          worst = fmax(worst, cabs(*mode - check * v));
      }
  return worst;
}

static void step_redist(bench *b) {
  to_points(&b->pencils, &b->modes, &b->points);
  to_modes(&b->pencils, &b->points, &b->modes);
}

static void step_by_hand(bench *b) {
  to_points_by_hand(b);
  to_modes_by_hand(b);
}

#ifdef HAVE_FFTW_MPI
static void step_slabs(bench *b) {
  transform_slabs(b->slab.backward);
  transform_slabs(b->slab.forward);
  cut_slabs(b);
}
#endif

/* visit: fills the modes, or with check >= 0 returns how much they differ from check times that. */
static const struct {
  const char *name;
  void (*step)(bench *b);
  double (*visit)(bench *b, double check);
} contestants[] = {
    {"redist", step_redist, visit_modes},
    {"by hand", step_by_hand, visit_modes},
#ifdef HAVE_FFTW_MPI
    {"FFTW-MPI", step_slabs, visit_slabs},
#endif
};

enum { CONTESTANTS = sizeof contestants / sizeof *contestants };

/* Fills in the modes, and times a step. Returns the largest relative error. */
static double time_one(bench *b, int who, double *seconds) {
  const double points = (double)(b->n * b->n * b->n);
  contestants[who].visit(b, -1);
  barrier();
  *seconds = MPI_Wtime();
  contestants[who].step(b);
  *seconds = MPI_Wtime() - *seconds;
  maxima(seconds, 1);
  return contestants[who].visit(b, points) / points;
}

static void create(bench *b) {
  const int64_t points[3] = {b->n, b->n, b->n};
  size_t largest = 0;
  succeed(pencils_create(&b->pencils, points, b->p1, (redist_wire)b->wire, 1, 1));
  b->points = new_field(&b->pencils, 0);
  b->modes = new_field(&b->pencils, 2);
  for (int which = 0; which < 3; which++)
    if (component_bytes(&b->pencils, which) > largest)
      largest = component_bytes(&b->pencils, which);
  for (int side = 0; side < 2; side++) b->packed[side] = allocate(largest);
  for (int which = 0; which < 2; which++) create_hand_move(b, which);
#ifdef HAVE_FFTW_MPI
  create_slabs(b);
#endif
}

static void destroy(bench *b) {
#ifdef HAVE_FFTW_MPI
  free_slabs(b);
#endif
  free_hand_moves(b);
  for (int side = 0; side < 2; side++) free(b->packed[side]);
  pencils_free(&b->pencils);
}

/* Returns whether all modes come back. */
static int compare(bench *b) {
  double *times[CONTESTANTS], error = 0;
  char what[32];
  create(b);
  snprintf(what, sizeof what, "%lld^3", (long long)b->n);
  for (int k = 0; k < CONTESTANTS; k++)
    times[k] = allocate((size_t)b->repetitions * sizeof(double));
  for (int64_t r = -1; r < b->repetitions; r++)
    for (int k = 0; k < CONTESTANTS; k++)
      error = fmax(error, time_one(b, k, &times[k][r < 0 ? 0 : r]));
  maxima(&error, 1);
  if (b->pencils.rank == 0) printf("%6s", what);
  double first = 0;
  for (int k = 0; k < CONTESTANTS; k++) {
    qsort(times[k], (size_t)b->repetitions, sizeof(double), compare_times);
    const double median = times[k][b->repetitions / 2];
    if (k == 0) first = median;
    figure(what, b->pencils.ranks, (int64_t)component_bytes(&b->pencils, 0), contestants[k].name,
           b->repetitions, median, times[k][0], median / first);
    if (b->pencils.rank == 0)
      printf("  %s %.3f ms (%.2f)", contestants[k].name, 1e3 * median, median / first);
    free(times[k]);
  }
  if (b->pencils.rank == 0)
    printf("  %s (%.0e)\n", error < b->tolerance ? "right" : "WRONG", error);
  destroy(b);
  return error < b->tolerance;
}

int main(int argc, char **argv) {
  bench b;
  memset(&b, 0, sizeof b);
  b.fewest = 64, b.most = 128, b.repetitions = 15;
  const char *csv = NULL;
  const option table[] = {{.name = "--from",
                           .argument = "N",
                           .integer = &b.fewest,
                           .least = 4,
                           .most = 1024,
                           .help = "N^3 points first (default 64)"},
                          {.name = "--to",
                           .argument = "N",
                           .integer = &b.most,
                           .least = 4,
                           .most = 1024,
                           .help = "then doubled up to N (default 128)"},
                          {.name = "--p1",
                           .argument = "P1",
                           .integer = &b.p1,
                           .least = 1,
                           .most = INT_MAX,
                           .help = "p1 of the p1 x p2 ranks (default: the least predicted time)"},
                          OPTION_WIRE(b.wire),
                          OPTION_COUNT("--repetitions", b.repetitions, 10000,
                                       "of each (default 15)"),
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int rank, ranks,
      right = 1,
      status = start(table, argc, argv, &rank, &ranks, "spectral",
                     "A vector field from modes to points and back: redist, by hand, FFTW-MPI.");
  if (status < 0) {
    b.tolerance = b.wire == REDIST_WIRE_FLOAT ? 1e-6 : 1e-12;
    figures_open(csv, rank, FIGURE_COLUMNS);
    for (b.n = b.fewest; b.n <= b.most; b.n *= 2) right = compare(&b) && right;
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? !right : status;
}
