/* Transposes by redist beside memcpy, FFTW's MPI transpose and plain loops. MIT licence, see
   LICENSE.

   An n x n array in blocks of rows becomes its transpose, in blocks of rows again, from malloc and
   from an arena; then the same on each rank alone. Adding instead of replacing is compared with
   plain loops of the same traffic on local arrays, b += a and b += a^T. What the machine allows:
   the same blocks copied by hand to the same ranks, row by row with memcpy through shared memory,
   without transposing. All contestants of a size run alternately. A time is the slowest rank's; a
   figure is the lower quartile as a multiple of a memcpy of a rank's bytes. Every transpose is
   compared with a formula.

   Debian's FFTW-MPI is made for Open MPI: make build/transposes MPICC=mpicc.openmpi. */
#include <sched.h>
#include <string.h>

#include "redist_plan.h"
#include "rivals.h"

typedef struct {
  int rank, ranks;
  int64_t least, most, element, n, rows; /* element: bytes; rows: of this rank */
  double seconds;
  const char *only;
  redist_arena *arena;
  char *array[2][2]; /* source and destination, from malloc and in the arena */
  void *plan;        /* of the current contestant */
} bench;

/* ---- contestants: prepare sets plan to NULL if one cannot take part ---- */

typedef struct {
  const char *name;
  enum { COPIES, CARRIES, TRANSPOSES, TRANSPOSES_ALONE, ADDS, ADDS_TRANSPOSED, ADDS_ALONE } what;
  int shared; /* its arrays are in the arena */
  void (*prepare)(bench *b);
  void (*run)(bench *b);
  void (*finish)(bench *b);
} contestant;

static void need_nothing(bench *b) { b->plan = b; }
static void need_doubles(bench *b) { b->plan = b->element == sizeof(double) ? b : NULL; }
static void leave(bench *b) { b->plan = NULL; }

static void run_memcpy(bench *b) {
  memcpy(b->array[0][1], b->array[0][0], (size_t)(b->rows * b->n * b->element));
}

/* Three streams through memory, and nothing else. */
static void add_loop(bench *b) {
  const double *from = (const double *)(void *)b->array[0][0];
  double *to = (double *)(void *)b->array[0][1];
  for (int64_t k = 0; k < b->rows * b->n; k++) to[k] += from[k];
}

/* A plain tiled loop: a cache line of every row of a tile. */
static void add_transposed_loops(bench *b) {
  enum { WIDE = 8, TALL = 64 };
  const int64_t n = b->n, rows = b->rows;
  const double *from = (const double *)(void *)b->array[0][0];
  double *to = (double *)(void *)b->array[0][1];
  for (int64_t i = 0; i < n; i += TALL)
    for (int64_t j = 0; j < rows; j += WIDE)
      for (int64_t l = j; l < j + WIDE && l < rows; l++)
        for (int64_t k = i; k < i + TALL && k < n; k++) to[l * n + k] += from[k * rows + l];
}

static void make_plan(bench *b, int alone, redist_arena *arena, redist_combine *combine,
                      void *context) {
  const redist_layout rows = redist_layout_2d(redist_block(b->n, b->ranks), redist_whole(b->n));
  const redist_layout mine = redist_layout_2d(redist_whole(b->n), redist_whole(b->rows));
  const redist_layout from = redist_transposed(alone ? mine : rows);
  const redist_layout to =
      alone ? redist_layout_2d(redist_whole(b->rows), redist_whole(b->n)) : rows;
  redist_options options;
  redist_plan *plan;
  MPI_Datatype type;
  char message[256];
  int code;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  options.combine = combine;
  options.context = context;
  options.message = message;
  options.message_size = sizeof message;
  MPI_Type_contiguous((int)b->element, MPI_BYTE, &type);
  code = redist_plan_create(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, &from, &to,
                            combine ? MPI_DOUBLE : type, &options, &plan);
  MPI_Type_free(&type);
  if (code != REDIST_OK) give_up("%s", message);
  b->plan = plan;
}

static redist_axpby add = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0};

static void prepare_malloc(bench *b) { make_plan(b, 0, NULL, NULL, NULL); }
static void prepare_arena(bench *b) { make_plan(b, 0, b->arena, NULL, NULL); }
static void prepare_alone(bench *b) { make_plan(b, 1, NULL, NULL, NULL); }

static void prepare_adding(bench *b) {
  if (b->element == sizeof(double)) make_plan(b, 0, b->arena, redist_combine_axpby, &add);
}

static void prepare_adding_alone(bench *b) {
  if (b->element == sizeof(double)) make_plan(b, 1, NULL, redist_combine_axpby, &add);
}

static void prepare_sum(bench *b) {
  static redist_op sum;
  sum.op = MPI_SUM;
  sum.type = MPI_DOUBLE;
  if (b->element == sizeof(double)) make_plan(b, 0, b->arena, redist_combine_op, &sum);
}

static void run_plan(bench *b, int in_arena) {
  redist_plan *plan = b->plan;
  if (redist_execute(plan, b->array[in_arena][0], b->array[in_arena][1]) != REDIST_OK)
    give_up("%s", redist_plan_message(plan));
}

static void run_malloc(bench *b) { run_plan(b, 0); }
static void run_arena(bench *b) { run_plan(b, 1); }

static void free_plan(bench *b) {
  redist_plan *plan = b->plan;
  redist_plan_free(&plan);
  b->plan = NULL;
}

/* Blocks copied by hand: a rank's part of the shared memory holds flags, its source, and blocks for
   the others. Both sides of a flag count exchanges; each flag has its own cache line. */
typedef struct {
  int64_t count, line[7];
} flag;

typedef struct {
  MPI_Win window;
  char **part;
  int64_t step, bytes, row; /* bytes: of a block; row: of a row of a block */
} carrier;

/* Flags from rank r to rank s: its block is filled, and it has taken the block of s. */
static flag *filled(const carrier *c, int r, int s) { return (flag *)(void *)c->part[r] + 2 * s; }
static flag *taken(const carrier *c, int r, int s) { return filled(c, r, s) + 1; }

static char *source_of(const bench *b, const carrier *c, int r) {
  return c->part[r] + 2 * b->ranks * (int)sizeof(flag);
}

static char *block_for(const bench *b, const carrier *c, int r, int s) {
  return source_of(b, c, r) + b->ranks * c->bytes + s * c->bytes;
}

static void await(const flag *f, int64_t count) {
  for (int tries = 0; __atomic_load_n(&f->count, __ATOMIC_ACQUIRE) < count; tries++)
    if (tries > 1000) sched_yield();
}

static void tell(flag *f, int64_t count) { __atomic_store_n(&f->count, count, __ATOMIC_RELEASE); }

static void carry(const bench *b, const carrier *c, const char *from, int64_t from_pitch, char *to,
                  int64_t to_pitch) {
  for (int64_t i = 0; i < b->rows; i++)
    memcpy(to + i * to_pitch, from + i * from_pitch, (size_t)c->row);
}

static void prepare_carrier(bench *b) {
  carrier *c;
  void *part;
  MPI_Aint size;
  int unit;
  b->plan = NULL;
  if (b->n % b->ranks != 0) return;
  c = allocate(sizeof *c);
  c->row = b->rows * b->element;
  c->bytes = b->rows * c->row;
  c->step = 0;
  c->part = allocate((size_t)b->ranks * sizeof *c->part);
  size = (MPI_Aint)(2 * b->ranks * ((int)sizeof(flag) + c->bytes));
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &c->window);
  memset(part, 0, (size_t)size);
  for (int r = 0; r < b->ranks; r++) MPI_Win_shared_query(c->window, r, &size, &unit, &c->part[r]);
  barrier();
  b->plan = c;
}

static void finish_carrier(bench *b) {
  carrier *c = b->plan;
  MPI_Win_free(&c->window);
  free(c->part);
  free(c);
  b->plan = NULL;
}

/* The receiver copies from the source; for the check, the source is first copied to shared
   memory. */
static void run_carried_once(bench *b) {
  carrier *c = b->plan;
  const int64_t pitch = b->n * b->element, step = ++c->step;
  char *to = b->array[0][1];
  if (step == 1) memcpy(source_of(b, c, b->rank), b->array[0][0], (size_t)(b->rows * pitch));
  for (int r = 0; r < b->ranks; r++) tell(filled(c, b->rank, r), step);
  for (int k = 0; k < b->ranks; k++) {
    const int r = (b->rank + k) % b->ranks;
    await(filled(c, r, b->rank), step);
    carry(b, c, source_of(b, c, r) + b->rank * c->row, pitch, to + r * c->row, pitch);
    tell(taken(c, b->rank, r), step);
  }
  for (int r = 0; r < b->ranks; r++) await(taken(c, r, b->rank), step);
}

/* The sender packs, the receiver unpacks. */
static void run_carried_twice(bench *b) {
  carrier *c = b->plan;
  const int64_t pitch = b->n * b->element, step = ++c->step;
  const char *from = b->array[0][0];
  char *to = b->array[0][1];
  for (int k = 1; k < b->ranks; k++) {
    const int r = (b->rank + k) % b->ranks;
    await(taken(c, r, b->rank), step - 1);
    carry(b, c, from + r * c->row, pitch, block_for(b, c, b->rank, r), c->row);
    tell(filled(c, b->rank, r), step);
  }
  carry(b, c, from + b->rank * c->row, pitch, to + b->rank * c->row, pitch);
  for (int k = 1; k < b->ranks; k++) {
    const int r = (b->rank + b->ranks - k) % b->ranks;
    await(filled(c, r, b->rank), step);
    carry(b, c, block_for(b, c, r, b->rank), c->row, to + r * c->row, pitch);
    tell(taken(c, b->rank, r), step);
  }
}

#ifdef HAVE_FFTW_MPI

static void prepare_fftw(bench *b) {
  double *from = (double *)(void *)b->array[0][0], *to = (double *)(void *)b->array[0][1];
  if (b->element % (int64_t)sizeof(double) == 0)
    b->plan = fftw_transpose(b->n, b->ranks, b->element / (int64_t)sizeof(double), from, to);
}

static void run_fftw(bench *b) { fftw_execute(b->plan); }

static void finish_fftw(bench *b) {
  fftw_destroy_plan(b->plan);
  b->plan = NULL;
}

#endif

static const contestant contestants[] = {
    {"memcpy", COPIES, 0, need_nothing, run_memcpy, leave},
    {"arena", TRANSPOSES, 1, prepare_arena, run_arena, free_plan},
    {"malloc", TRANSPOSES, 0, prepare_malloc, run_malloc, free_plan},
#ifdef HAVE_FFTW_MPI
    {"FFTW", TRANSPOSES, 0, prepare_fftw, run_fftw, finish_fftw},
#endif
    {"carried once", CARRIES, 0, prepare_carrier, run_carried_once, finish_carrier},
    {"carried twice", CARRIES, 0, prepare_carrier, run_carried_twice, finish_carrier},
    {"alone", TRANSPOSES_ALONE, 0, prepare_alone, run_malloc, free_plan},
    {"adding", ADDS_TRANSPOSED, 1, prepare_adding, run_arena, free_plan},
    {"MPI_SUM", ADDS_TRANSPOSED, 1, prepare_sum, run_arena, free_plan},
    {"adding alone", ADDS_ALONE, 0, prepare_adding_alone, run_malloc, free_plan},
    {"loops, a^T", ADDS_ALONE, 0, need_doubles, add_transposed_loops, leave},
    {"loops, a", ADDS, 0, need_doubles, add_loop, leave},
};

enum { CONTESTANTS = sizeof contestants / sizeof contestants[0], MOST_TIMES = 1000 };

static int invited(const bench *b, int k) {
  return k == 0 || !b->only || strstr(b->only, contestants[k].name);
}

/* ---- the formula: element k of rank r's source ---- */

static int64_t value_of(int64_t k, int rank) { return (k * 7 + rank * 13) % 1000003; }

static void put(char *at, int64_t element, int64_t value) {
  const double number = (double)value, pair[2] = {number, -number};
  const float single = (float)value;
  memcpy(at, element == sizeof single ? (const void *)&single : (const void *)pair,
         (size_t)element);
}

/* What element (i, j) of this rank's destination must be once `to` has been set to ones and c has
   run. */
static int64_t expected(const bench *b, const contestant *c, int64_t i, int64_t j) {
  const int64_t block = (b->n + b->ranks - 1) / b->ranks;
  switch (c->what) {
  case COPIES: return value_of(i * b->n + j, b->rank);
  case CARRIES: return value_of(i * b->n + b->rank * block + j % block, (int)(j / block));
  case ADDS: return value_of(i * b->n + j, b->rank) + 1;
  case TRANSPOSES:
  case ADDS_TRANSPOSED:
    return value_of(j % block * b->n + b->rank * block + i, (int)(j / block)) +
           (c->what == ADDS_TRANSPOSED);
  default: return value_of(j * b->rows + i, b->rank) + (c->what == ADDS_ALONE);
  }
}

/* Runs a contestant once on known arrays. */
static void check(bench *b, const contestant *c) {
  char **array = b->array[c->shared], wanted[16];
  double wrong = 0;
  for (int64_t k = 0; k < b->rows * b->n; k++) {
    put(array[0] + k * b->element, b->element, value_of(k, b->rank));
    put(array[1] + k * b->element, b->element, 1);
  }
  barrier();
  c->run(b);
  for (int64_t i = 0; i < b->rows; i++)
    for (int64_t j = 0; j < b->n; j++) {
      put(wanted, b->element, expected(b, c, i, j));
      wrong += memcmp(wanted, array[1] + (i * b->n + j) * b->element, (size_t)b->element) != 0;
    }
  maxima(&wrong, 1);
  if (wrong > 0) give_up("%s, n = %lld: %g elements are wrong", c->name, (long long)b->n, wrong);
}

/* ---- running alternately ---- */

static double sample(bench *b, const contestant *c, int batch) {
  double time;
  c->run(b); /* replaces other contestants' data in the caches */
  barrier();
  time = MPI_Wtime();
  for (int i = 0; i < batch; i++) c->run(b);
  time = (MPI_Wtime() - time) / batch;
  maxima(&time, 1);
  return time;
}

/* Runs rounds until each contestant has had its seconds, or the most rounds are done. */
static void compete(bench *b, void **plan, double (*times)[MOST_TIMES], int *rounds) {
  const int batch = b->n <= 128 ? 50 : b->n <= 512 ? 10 : 1;
  double spent = 0;
  int present = 0;
  for (int k = 0; k < CONTESTANTS; k++) present += plan[k] != NULL;
  for (*rounds = 0; *rounds < 5 || (*rounds < MOST_TIMES && spent < b->seconds * present);
       ++*rounds)
    for (int k = 0; k < CONTESTANTS; k++)
      if (plan[k]) {
        b->plan = plan[k];
        times[k][*rounds] = sample(b, &contestants[k], batch);
        spent += times[k][*rounds] * batch;
      }
}

static void allocate_arrays(bench *b) {
  const size_t bytes = (size_t)(b->rows * b->n * b->element + 63) / 64 * 64;
  if (redist_arena_create(MPI_COMM_WORLD, 2 * bytes + 128, &b->arena) != REDIST_OK)
    give_up("no arena");
  for (int side = 0; side < 2; side++) {
    b->array[0][side] = allocate(bytes);
    b->array[1][side] = redist_arena_alloc(b->arena, bytes);
  }
}

static void compare(bench *b, int64_t n) {
  static double times[CONTESTANTS][MOST_TIMES];
  void *plan[CONTESTANTS] = {NULL};
  double yardstick = 0;
  char what[32];
  int rounds;
  const redist_axis axis = redist_block(n, b->ranks);
  b->n = n;
  b->rows = redist_axis_count(&axis, b->rank);
  allocate_arrays(b);
  for (int k = 0; k < CONTESTANTS; k++) {
    b->plan = NULL;
    if (invited(b, k)) contestants[k].prepare(b);
    plan[k] = b->plan;
    if (plan[k]) check(b, &contestants[k]);
  }
  compete(b, plan, times, &rounds);
  snprintf(what, sizeof what, "%lld", (long long)n);
  if (b->rank == 0) printf("%6s", what);
  for (int k = 0; k < CONTESTANTS; k++)
    if (plan[k]) {
      const double time = lower_quartile(times[k], rounds);
      yardstick = k == 0 ? time : yardstick;
      figure(what, b->ranks, b->rows * n * b->element, contestants[k].name, rounds, time,
             times[k][0], time / yardstick);
      if (b->rank == 0) printf(" %12.2f", k == 0 ? 1e6 * time : time / yardstick);
      b->plan = plan[k];
      contestants[k].finish(b);
    } else if (invited(b, k) && b->rank == 0) {
      printf(" %12s", "-");
    }
  if (b->rank == 0) printf("\n");
  fflush(stdout);
  for (int side = 0; side < 2; side++) free(b->array[0][side]);
  redist_arena_free(&b->arena);
}

/* Powers of two, and each plus four. */
static void compare_all(bench *b) {
  if (b->rank == 0) {
    printf(
        "%d ranks, elements of %lld bytes; memcpy in microseconds, the others as multiples of it\n%6s",
        b->ranks, (long long)b->element, "n");
    for (int k = 0; k < CONTESTANTS; k++)
      if (invited(b, k)) printf(" %12s", contestants[k].name);
    printf("\n");
  }
  for (int64_t n = b->least; n <= b->most; n *= 2) {
    compare(b, n);
    compare(b, n + 4);
  }
}

int main(int argc, char **argv) {
  bench b = {.least = 64, .most = 4096, .element = 8, .seconds = 0.1};
  const char *csv = NULL;
  const option table[] = {
      {.name = "--least",
       .argument = "N",
       .integer = &b.least,
       .least = 16,
       .most = 16384,
       .help = "the first n (default 64)"},
      {.name = "--most",
       .argument = "N",
       .integer = &b.most,
       .least = 16,
       .most = 16384,
       .help = "the last n (default 4096)"},
      {.name = "--element",
       .argument = "B",
       .integer = &b.element,
       .least = 4,
       .most = 16,
       .help = "4, 8 or 16 bytes (default 8)"},
      {.name = "--seconds",
       .argument = "S",
       .real = &b.seconds,
       .most = 3600,
       .help = "for each contestant and n (default 0.1)"},
      {.name = "--only",
       .argument = "NAMES",
       .text = &b.only,
       .help = "of contestants, beside memcpy"},
      {.name = "--csv", .argument = "FILE", .text = &csv, .help = "write the figures to FILE too"},
      {.name = NULL}};
  int status = start(table, argc, argv, &b.rank, &b.ranks, "transposes",
                     "Transposes beside FFTW's and plain loops.");
#ifdef HAVE_FFTW_MPI
  fftw_mpi_init();
#endif
  if (status < 0 && (b.element == 4 || b.element == 8 || b.element == 16)) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    compare_all(&b);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
