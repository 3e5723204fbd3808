/* A complex three-dimensional Fourier transform by redist and FFTW, and by FFTW's own MPI
   transform.
   MIT licence, see LICENSE.

   Both start with the array (x, y, z) distributed along x and end with the transform distributed
   along y, which FFTW allows with FFTW_MPI_TRANSPOSED_OUT, in place and out of place. With redist,
   z and y are transformed, a redistribution makes x whole and contiguous, and x is transformed. In
   sections: y is redistributed in four sections, through a buffer in which x is transformed while
   it is in the caches. In padded rows: each row of z is followed by some unused numbers, which a
   layout allows and FFTW's transform does not, so that the strides of y are no powers of two. As it
   arrives: only y is transformed before the redistribution, z of what each rank sends as soon as it
   is there, and x at the end; or, afterwards, z of everything when all is there. The planner's
   effort is the same. Repetitions alternate, each timed one after an untimed one, as in a
   time step loop. A time is that of the slowest rank, and the figure is the median. The results are
   compared. With --wire float, numbers travel as float (options.wire), and FFTW-MPI's transform in
   float takes part; both errors are the largest difference over the largest value.

   Debian's FFTW-MPI is made for Open MPI: make build/fft MPICC=mpicc.openmpi. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include <fftw3-mpi.h>

#include "bench.h"
#include "redist_plan.h"

typedef double complex number;

enum { DENSE, SECTIONS, PADDED, ARRIVING, AFTERWARDS, IN_PLACE, OUT_OF_PLACE, FLOATS, CONTESTANTS };
enum { ALL, MOVING, TRANSFORMING, TIMES, PAD = 4, MOST_SECTIONS = 4 };

typedef struct {
  int rank, ranks;
  int64_t n, repetitions, fewest, most;
  int effort;            /* of FFTW's planner */
  int wire;              /* how numbers travel */
  int contestants;       /* FLOATS only beside numbers that travel as float */
  fftwf_complex *single; /* of FLOATS, with its plan */
  fftwf_plan floats;
  int64_t rows, first; /* of x, as distributed */
  int64_t columns;     /* of y */
  struct {
    int64_t row;                /* the distance in numbers from one row of z to the next */
    int64_t sections;           /* of columns */
    number *from, *to, *buffer; /* buffer: of a section, or `to` */
    redist_arena *arena;
    redist_plan *plan[MOST_SECTIONS];
    /* planes: y and z, or y alone; arrived: z of what one rank sends; all: FFTW-MPI does all at once */
    fftw_plan planes, arrived, lines, all;
    /* seconds of a transform, and in it of the redistribution, and of z after that; of each
       times[repetitions] */
    double seconds[TIMES], *times[TIMES];
  } by[CONTESTANTS];
} bench;

static const char *const names[CONTESTANTS] = {"redist + FFTW", "in sections", "padded rows",
                                               "as it arrives", "afterwards",  "FFTW-MPI, in place",
                                               "out of place",  "in float"};
static const option_choice efforts[] = {{"estimate", FFTW_ESTIMATE},
                                        {"measure", FFTW_MEASURE},
                                        {"patient", FFTW_PATIENT},
                                        {NULL, 0}};

/* ---- contestants ---- */

static number *allocate_numbers(size_t bytes) {
  number *memory = fftw_malloc(bytes);
  if (!memory) give_up("not enough memory");
  return memory;
}

static void succeed(int code) {
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
}

/* Bytes of `lines` lines of planes with rows of this length. */
static size_t slab_bytes(const bench *b, int64_t lines, int64_t row) {
  return ((size_t)(lines * b->n * row) * sizeof(number) + 63) / 64 * 64;
}

/* Whether x is transformed where z is contiguous, since z is transformed there, too. */
static int is_last(int who) { return who == ARRIVING || who == AFTERWARDS; }

/* Planes (y, z) of x become lines along x, contiguous in memory for each y and z, or planes (x, z)
   of y. The axis y is split in two, ranks and columns of a rank, so that each section of columns has equal parts on all
   ranks. */
static void plan_sections(bench *b, int who, redist_options *options) {
  static const int axes_in_lines[4] = {3, 0, 1, 2}, axes_in_planes[4] = {2, 0, 1, 3};
  const int64_t sections = b->by[who].sections, count = b->columns / sections;
  const redist_axis whole = redist_whole(b->n), ranks = redist_whole(b->ranks);
  const redist_axis stored[4] = {redist_block(b->n, b->ranks), ranks, redist_whole(b->columns),
                                 whole};
  const redist_axis wanted[4] = {redist_block(b->ranks, b->ranks), redist_whole(count), whole,
                                 whole};
  redist_layout planes = redist_with_allocated(redist_layout_nd(4, stored), 3, b->by[who].row);
  redist_layout lines =
      redist_permuted(redist_layout_nd(4, wanted), is_last(who) ? axes_in_planes : axes_in_lines);
  for (int64_t s = 0; s < sections; s++) {
    redist_layout section = redist_section(planes, 2, s * count, count, 1);
    succeed(redist_plan_create(MPI_COMM_WORLD, &section, &lines, MPI_C_DOUBLE_COMPLEX, options,
                               &b->by[who].plan[s]));
  }
}

static void create_redist(bench *b, int who) {
  const int64_t n = b->n, row = n + (who == PADDED ? PAD : 0);
  const int64_t sections = who == SECTIONS && b->columns % MOST_SECTIONS == 0 ? MOST_SECTIONS : 1;
  const int64_t count = b->columns / sections;
  const unsigned flags = (unsigned)b->effort;
  const int last = is_last(who);
  const fftw_iodim64 yz[2] = {{n, row, row}, {n, 1, 1}}, x = {n, last ? n : 1, 1};
  const fftw_iodim64 planes[2] = {{b->rows, n * row, n * row}, {n, 1, 1}};
  const fftw_iodim64 arrived[2] = {{b->columns, n * n, n * n}, {b->rows, n, n}};
  const fftw_iodim64 lines[2] = {{count, n * n, n * n}, {n, last ? 1 : n, n}};
  redist_options options;
  memset(&options, 0, sizeof options);
  options.wire = (redist_wire)b->wire;
  succeed(redist_arena_create(MPI_COMM_WORLD, slab_bytes(b, b->rows, row), &options.arena));
  b->by[who].arena = options.arena;
  b->by[who].row = row;
  b->by[who].sections = sections;
  b->by[who].from = redist_arena_alloc(options.arena, slab_bytes(b, b->rows, row));
  b->by[who].to = allocate_numbers(slab_bytes(b, b->columns, n));
  b->by[who].buffer =
      sections > 1 || last ? allocate_numbers(slab_bytes(b, count, n)) : b->by[who].to;
  plan_sections(b, who, &options);
  b->by[who].planes = fftw_plan_guru64_dft(last ? 1 : 2, yz, last ? 2 : 1, planes, b->by[who].from,
                                           b->by[who].from, FFTW_FORWARD, flags);
  b->by[who].lines = fftw_plan_guru64_dft(1, &x, 2, lines, b->by[who].buffer, b->by[who].to,
                                          FFTW_FORWARD, flags | FFTW_DESTROY_INPUT);
  if (last)
    b->by[who].arrived = fftw_plan_guru64_dft(1, &yz[1], 2, arrived, b->by[who].buffer,
                                              b->by[who].buffer, FFTW_FORWARD, flags);
}

/* All contestants use FFTW-MPI's distribution. */
static ptrdiff_t distribute(bench *b) {
  ptrdiff_t rows, first, columns, begin;
  ptrdiff_t count = fftw_mpi_local_size_3d_transposed(b->n, b->n, b->n, MPI_COMM_WORLD, &rows,
                                                      &first, &columns, &begin);
  b->rows = rows, b->first = first, b->columns = columns;
  return count;
}

static void create_fftw(bench *b, int who) {
  size_t count = (size_t)distribute(b);
  unsigned flags = (unsigned)b->effort | FFTW_MPI_TRANSPOSED_OUT | FFTW_DESTROY_INPUT;
  number *from = allocate_numbers(count * sizeof *from);
  number *to = who == IN_PLACE ? from : allocate_numbers(count * sizeof *to);
  b->by[who].row = b->n;
  b->by[who].from = from;
  b->by[who].to = to;
  b->by[who].all =
      fftw_mpi_plan_dft_3d(b->n, b->n, b->n, from, to, MPI_COMM_WORLD, FFTW_FORWARD, flags);
}

/* In place, in float; `from` and `to` are what it is filled from, and its result as doubles. */
static void create_floats(bench *b) {
  const size_t count = (size_t)distribute(b);
  b->by[FLOATS].row = b->n;
  b->by[FLOATS].from = b->by[FLOATS].to = allocate_numbers(count * sizeof(number));
  b->single = fftwf_malloc(count * sizeof *b->single);
  if (!b->single) give_up("not enough memory");
  b->floats = fftwf_mpi_plan_dft_3d(b->n, b->n, b->n, b->single, b->single, MPI_COMM_WORLD,
                                    FFTW_FORWARD, (unsigned)b->effort | FFTW_MPI_TRANSPOSED_OUT);
}

static void create(bench *b) {
  distribute(b);
  for (int k = 0; k < FLOATS; k++) (k < IN_PLACE ? create_redist : create_fftw)(b, k);
  if (b->contestants > FLOATS) create_floats(b);
}

/* Transforms along z what a rank has sent. */
static void transform_arrived(bench *b, int who, int source) {
  number *first = b->by[who].buffer + source * b->rows * b->n;
  fftw_execute_dft(b->by[who].arrived, first, first);
}

/* The redistribution, and z of what arrives, meanwhile or afterwards. */
static void run_arriving(bench *b, int who) {
  redist_plan *plan = b->by[who].plan[0];
  double begin, *seconds = b->by[who].seconds;
  int source = -1, left = b->ranks;
  fftw_execute(b->by[who].planes);
  begin = MPI_Wtime();
  succeed(redist_start(plan, b->by[who].from, b->by[who].buffer));
  while (who == ARRIVING && left > 0) {
    succeed(redist_next_arrival(plan, &source));
    if (source < 0) {
      sched_yield();
      continue;
    }
    transform_arrived(b, who, source);
    left--;
  }
  succeed(redist_wait(plan));
  seconds[MOVING] = MPI_Wtime() - begin;
  while (left > 0) transform_arrived(b, who, --left);
  seconds[TRANSFORMING] = MPI_Wtime() - begin - seconds[MOVING];
  fftw_execute(b->by[who].lines);
}

static void run_redist(bench *b, int who) {
  const int64_t sections = b->by[who].sections;
  fftw_execute(b->by[who].planes);
  for (int64_t s = 0; s < sections; s++) {
    succeed(redist_execute(b->by[who].plan[s], b->by[who].from, b->by[who].buffer));
    fftw_execute_dft(b->by[who].lines, b->by[who].buffer,
                     b->by[who].to + s * (b->columns / sections) * b->n * b->n);
  }
}

static void run(bench *b, int who) {
  if (who == FLOATS)
    fftwf_execute(b->floats);
  else if (b->by[who].all)
    fftw_execute(b->by[who].all);
  else if (is_last(who))
    run_arriving(b, who);
  else
    run_redist(b, who);
}

static void destroy(bench *b) {
  fftwf_destroy_plan(b->floats);
  fftwf_free(b->single);
  b->floats = NULL;
  b->single = NULL;
  for (int k = 0; k < b->contestants; k++) {
    fftw_destroy_plan(b->by[k].all);
    fftw_destroy_plan(b->by[k].planes);
    fftw_destroy_plan(b->by[k].arrived);
    fftw_destroy_plan(b->by[k].lines);
    for (int64_t s = 0; s < b->by[k].sections; s++) redist_plan_free(&b->by[k].plan[s]);
    if (b->by[k].buffer != b->by[k].to) fftw_free(b->by[k].buffer);
    if (b->by[k].to != b->by[k].from) fftw_free(b->by[k].to);
    if (!b->by[k].arena) fftw_free(b->by[k].from);
    redist_arena_free(&b->by[k].arena);
  }
}

/* ---- measuring ---- */

static void fill(const bench *b, int who) {
  uint64_t h = (uint64_t)b->first * 7919 + 1;
  for (int64_t line = 0; line < b->rows * b->n; line++)
    for (int64_t z = 0; z < b->n; z++) {
      h = h * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      b->by[who].from[line * b->by[who].row + z] =
          (double)(h >> 40) / 8388608.0 - 1 + I * ((double)(h >> 20 & 0xfffff) / 524288.0 - 1);
    }
  for (int64_t i = 0; who == FLOATS && i < b->rows * b->n * b->n; i++)
    b->single[i] = (float complex)b->by[who].from[i];
}

/* The difference of redist's result from one of FFTW-MPI's. */
static double difference(const bench *b, int redist, int fftw) {
  double both[2] = {0, 0};
  for (int64_t y = 0; y < b->columns; y++)
    for (int64_t i = 0; i < b->n * b->n; i++) {
      int64_t x = i / b->n, z = i % b->n;
      number theirs = b->by[fftw].to[y * b->n * b->n + i];
      both[0] = fmax(both[0], cabs(b->by[redist].to[(y * b->n + z) * b->n + x] - theirs));
      both[1] = fmax(both[1], cabs(theirs));
    }
  maxima(both, 2);
  return both[0] / both[1];
}

/* The same for FFTW-MPI's transform in float. */
static double difference_of_floats(const bench *b) {
  double both[2] = {0, 0};
  for (int64_t i = 0; i < b->columns * b->n * b->n; i++) {
    both[0] = fmax(both[0], cabs(b->single[i] - b->by[OUT_OF_PLACE].to[i]));
    both[1] = fmax(both[1], cabs(b->by[OUT_OF_PLACE].to[i]));
  }
  maxima(both, 2);
  return both[0] / both[1];
}

static void time_one(bench *b, int who, int64_t repetition) {
  double *seconds = b->by[who].seconds;
  fill(b, who);
  run(b, who);
  fill(b, who);
  barrier();
  seconds[ALL] = MPI_Wtime();
  run(b, who);
  seconds[ALL] = MPI_Wtime() - seconds[ALL];
  maxima(seconds, TIMES);
  for (int k = 0; k < TIMES; k++) b->by[who].times[k][repetition] = seconds[k];
}

static double measure(bench *b) {
  double error = 0;
  for (int64_t r = 0; r < b->repetitions; r++)
    for (int k = 0; k < b->contestants; k++) time_one(b, k, r);
  for (int k = 0; k < IN_PLACE; k++)
    for (int other = IN_PLACE; other < FLOATS; other++)
      error = fmax(error, difference(b, k, other));
  return error;
}

static double median(double *times, int64_t count) {
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

/* How much longer than the longer of them the redistribution and the transforms of what arrives
   take together. */
static void report_overlap(const bench *b, const char *cube) {
  const double moving = median(b->by[AFTERWARDS].times[MOVING], b->repetitions),
               transforming = median(b->by[AFTERWARDS].times[TRANSFORMING], b->repetitions),
               both = median(b->by[ARRIVING].times[MOVING], b->repetitions),
               ratio = both / fmax(moving, transforming);
  figure(cube, b->ranks, 0, "ratio, as it arrives", b->repetitions, ratio, 0, 0);
  if (b->rank == 0)
    printf("%6s redistribution %.3f, z %.3f; together, as it arrives, %.3f: %.2f of the longer\n",
           "", 1e3 * moving, 1e3 * transforming, 1e3 * both, ratio);
}

/* How much larger the error in float is than that of numbers that travel as float. */
static void report_floats(const bench *b, const char *cube, double error) {
  const double floats = difference_of_floats(b);
  figure(cube, b->ranks, 0, "error, as float", b->repetitions, error, 0, 0);
  figure(cube, b->ranks, 0, "error in float", b->repetitions, floats, 0, 0);
  if (b->rank == 0)
    printf("%6s the error is %.1e, in float %.1e: %.1f times as large\n", "", error, floats,
           floats / error);
}

/* Returns whether the results agree. */
static int compare(bench *b) {
  const double most = b->wire == REDIST_WIRE_FLOAT ? 1e-6 : 1e-12;
  double error, time[CONTESTANTS], ours, rival;
  char cube[32];
  create(b);
  error = measure(b);
  for (int k = 0; k < b->contestants; k++) time[k] = median(b->by[k].times[ALL], b->repetitions);
  ours = fmin(time[DENSE], time[SECTIONS]);
  rival = fmin(time[IN_PLACE], time[OUT_OF_PLACE]);
  snprintf(cube, sizeof cube, "%lld^3", (long long)b->n);
  if (b->rank == 0) printf("%6s", cube);
  for (int k = 0; k < b->contestants; k++) {
    figure(cube, b->ranks, (int64_t)slab_bytes(b, b->rows, b->n), names[k], b->repetitions, time[k],
           b->by[k].times[ALL][0], time[k] / time[0]);
    if (b->rank == 0) printf(" %*.3f", k == IN_PLACE ? 20 : 14, 1e3 * time[k]);
  }
  figure(cube, b->ranks, 0, "ratio", b->repetitions, rival / ours, 0, 0);
  figure(cube, b->ranks, 0, "ratio, padded", b->repetitions, rival / fmin(ours, time[PADDED]), 0,
         0);
  if (b->rank == 0)
    printf(" %7.2f %7.2f   %s (%.0e)\n", rival / ours, rival / fmin(ours, time[PADDED]),
           error < most ? "the same result" : "WRONG", error);
  report_overlap(b, cube);
  if (b->contestants > FLOATS) report_floats(b, cube, error);
  destroy(b);
  return error < most;
}

static int compare_all(bench *b) {
  int same = 1;
  for (int k = 0; k < CONTESTANTS; k++)
    for (int t = 0; t < TIMES; t++)
      b->by[k].times[t] = allocate((size_t)b->repetitions * sizeof(double));
  if (b->rank == 0)
    printf(
        "%d ranks, milliseconds; then the faster of FFTW-MPI's over redist's fastest without and with padded rows\n"
        "%6s %14s %14s %14s %14s %14s %20s %14s %14s\n",
        b->ranks, "", names[DENSE], names[SECTIONS], names[PADDED], names[ARRIVING],
        names[AFTERWARDS], names[IN_PLACE], names[OUT_OF_PLACE],
        b->contestants > FLOATS ? names[FLOATS] : "");
  for (b->n = b->fewest; b->n <= b->most; b->n *= 2) same = compare(b) && same;
  for (int k = 0; k < CONTESTANTS; k++)
    for (int t = 0; t < TIMES; t++) free(b->by[k].times[t]);
  return same;
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  bench b = {.repetitions = 15, .fewest = 64, .most = 256, .effort = FFTW_MEASURE};
  const char *csv = NULL;
  const option table[] = {OPTION_COUNT("--repetitions", b.repetitions, 10000,
                                       "of each (default 15)"),
                          {.name = "--from",
                           .argument = "N",
                           .integer = &b.fewest,
                           .least = 2,
                           .most = 1024,
                           .help = "N^3 numbers first, N a multiple of RANKS (default 64)"},
                          {.name = "--to",
                           .argument = "N",
                           .integer = &b.most,
                           .least = 2,
                           .most = 1024,
                           .help = "then doubled up to N (default 256)"},
                          {.name = "--effort",
                           .argument = "NAME",
                           .choice = &b.effort,
                           .choices = efforts,
                           .help =
                               "FFTW's planner: estimate, measure or patient (default measure)"},
                          OPTION_WIRE(b.wire),
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int same = 1,
      status = start(
          table, argc, argv, &b.rank, &b.ranks, "fft",
          "A complex three-dimensional Fourier transform by redist and FFTW, and by FFTW-MPI.");
  fftw_mpi_init();
  fftwf_mpi_init();
  b.contestants = b.wire == REDIST_WIRE_FLOAT ? CONTESTANTS : FLOATS;
  if (status < 0 && b.fewest % b.ranks != 0)
    give_up("%d ranks do not divide %lld", b.ranks, (long long)b.fewest);
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    same = compare_all(&b);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? !same : status;
}
