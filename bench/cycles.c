/* Whole cycles of a solver: write the whole source, exchange, read the whole destination.
   MIT licence, see LICENSE.

   An exchange alone can look fast, because nobody rewrites what was sent, so that lines stay in the
   receiver's cache, or because nobody reads what was received, so that later reads are slow. A
   cycle includes both. Its lower bound is the same cycle with a memcpy of as many bytes within the
   rank; figures are multiples of that.

   All contestants of a row run alternately, each for a batch of cycles, after cycles that bring
   their arrays into the caches. A cycle's time begins when all ranks have left a barrier in shared
   memory, and is that of the slowest rank; a figure is the lower quartile. Each cycle negates its
   source, so that stale data would change the sum of the destination; every contestant's first
   result is compared byte by byte.

   The time of a flag from rank 0 to rank 1 and back shows whether their cores share a cache. A
   virtual machine's host moves its cores, so each row has this time before and after it. */

/* Older headers, which bench/compare.sh also measures, lack redist_with_ghosts. */
#ifndef NO_GHOSTS
#define GHOSTS 1
#else
#define GHOSTS 0
#endif

#include "redist_plan.h"

#include "cases.h"

typedef struct {
  int64_t repetitions;
  double seconds;
  const char *sizes, *only, *cases;
  int rank, ranks;
} bench;

/* ---- flags in shared memory ---- */

typedef struct {
  int64_t count, line[15];
} flag; /* two lines: processors fetch them in pairs */

enum { ARRIVED, PING, FLAGS };

/* part[r]: rank r's flags; NULL where not all ranks share memory. */
typedef struct {
  MPI_Win window;
  flag **part;
  int rank, ranks;
  int64_t barriers;
} signals;

static signals signals_create(int rank, int ranks) {
  signals s = {.rank = rank, .ranks = ranks};
  const size_t bytes = FLAGS * sizeof(flag);
  MPI_Comm node;
  int together;
  void *own;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &together);
  MPI_Comm_free(&node);
  MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (together < ranks) return s;
  s.part = allocate((size_t)ranks * sizeof *s.part);
  MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &s.window);
  memset(own, 0, bytes);
  for (int r = 0; r < ranks; r++) {
    MPI_Aint size;
    int unit;
    MPI_Win_shared_query(s.window, r, &size, &unit, &s.part[r]);
  }
  barrier();
  return s;
}

static void signals_free(signals *s) {
  if (s->part) MPI_Win_free(&s->window);
  free(s->part);
}

/* Yields now and then, and lets MPI progress pending messages. */
static void await(const flag *f, int64_t count) {
  for (int tries = 1; __atomic_load_n(&f->count, __ATOMIC_ACQUIRE) < count; tries++)
    if (tries % 2000 == 0) {
      int there;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      sched_yield();
    }
}

static void tell(flag *f, int64_t count) { __atomic_store_n(&f->count, count, __ATOMIC_RELEASE); }

/* A barrier that all ranks leave within the time of one flag. */
static void leave_together(signals *s) {
  if (!s->part) {
    barrier();
    return;
  }
  tell(&s->part[s->rank][ARRIVED], ++s->barriers);
  for (int r = 0; r < s->ranks; r++) await(&s->part[r][ARRIVED], s->barriers);
}

enum { SERIES = 8, MOST_SERIES = 80, ROUND_TRIPS = 200 };

/* Nanoseconds of a flag there and back: below NEAR two cores share a cache, above ONE_CORE two
   ranks share a core. */
enum { NEAR = 250, ONE_CORE = 2000 };

/* Nanoseconds of a flag from rank 0 to rank 1 and back, on rank 0. */
static double round_trip(signals *s) {
  leave_together(s);
  if (s->rank < 2) tell(&s->part[s->rank][PING], 0);
  leave_together(s);
  const double begin = MPI_Wtime();
  for (int64_t i = 1; s->rank < 2 && i <= ROUND_TRIPS; i++) {
    if (s->rank == 0) tell(&s->part[0][PING], i);
    await(&s->part[1 - s->rank][PING], i);
    if (s->rank == 1) tell(&s->part[1][PING], i);
  }
  return (MPI_Wtime() - begin) / ROUND_TRIPS * 1e9;
}

/* The shortest of several round trips, the same on all ranks. Where both ranks are on one core, the
   system gets time to move one. 0: unknown. */
static double distance(signals *s) {
  double best = 1e9;
  if (!s->part || s->ranks < 2) return 0;
  for (int k = 0; k < SERIES || (best > ONE_CORE && k < MOST_SERIES); k++) {
    const double time = round_trip(s);
    best = time < best ? time : best;
    MPI_Bcast(&best, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  return best;
}

static const char *apart(double ns) {
  return ns <= 0 ? "-" : ns < NEAR ? "near" : ns < ONE_CORE ? "far" : "one core";
}

/* The same before and after, or the cores were moved meanwhile. */
static const char *cores_of_row(double before, double after) {
  return strcmp(apart(before), apart(after)) == 0 ? apart(before) : "moved";
}

/* ---- halo exchanges ---- */

enum { CELLS_FROM_N = 32 }; /* brick: n / 32 cells along each side, one ghost layer */

typedef struct {
  int width, side, grid[3], coord[3];
} brick;

static brick brick_of(int64_t n, int ranks, int rank) {
  brick b = {1, (int)(n / CELLS_FROM_N), {0, 0, 0}, {0, 0, 0}};
  MPI_Dims_create(ranks, 3, b.grid);
  for (int d = 2; d >= 0; rank /= b.grid[d], d--) b.coord[d] = rank % b.grid[d];
  return b;
}

/* The brick, field by field, with the expected ghost cells, or with 0xA5 in them. */
static double *brick_fields(const brick *b, int fields, int ghosts) {
  const int64_t w = b->width, padded = b->side + 2 * w, cells = padded * padded * padded;
  double *array = allocate((size_t)(fields * cells) * sizeof *array);
  memset(array, 0xA5, (size_t)(fields * cells) * sizeof *array);
  for (int64_t at = 0; at < fields * cells; at++) {
    const int64_t cell[3] = {at % cells / padded / padded, at / padded % padded, at % padded};
    int64_t global[3];
    int inside = 1;
    for (int d = 0; d < 3; d++) {
      const int64_t n = (int64_t)b->side * b->grid[d];
      inside = inside && cell[d] >= w && cell[d] < w + b->side;
      global[d] = ((int64_t)b->coord[d] * b->side + cell[d] - w + n) % n;
    }
    if (inside || ghosts)
      put(array, at, DOUBLE, global[0] + 1000 * (at / cells), global[1], global[2]);
  }
  return array;
}

/* memcpy copies as many bytes as there are ghost cells, out of the array. */
static contest halo_create(const char *name, int fields, int64_t n, int ranks, int rank) {
  const brick b = brick_of(n, ranks, rank);
  const int64_t padded = b.side + 2 * b.width, cells = padded * padded * padded;
  contest c;
  memset(&c, 0, sizeof c);
  c.name = name;
  c.n = n;
  c.by_hand.from.elements = c.by_hand.to.elements = cells;
  c.by_hand.ranks = ranks;
  c.by_hand.datatype = MPI_DOUBLE;
  c.by_hand.element = sizeof(double);
  c.fields = fields;
  c.in_place = 1;
  c.held = fields * (cells - (int64_t)b.side * b.side * b.side);
  c.from_layout = redist_layout_3d(redist_block(b.side * b.grid[0], b.grid[0]),
                                   redist_block(b.side * b.grid[1], b.grid[1]),
                                   redist_block(b.side * b.grid[2], b.grid[2]));
  for (int d = 0; d < 3; d++) c.from_layout = redist_with_halo(c.from_layout, d, b.width, b.width);
  c.to_layout = c.from_layout;
#if GHOSTS
  for (int d = 0; d < 3; d++) c.to_layout = redist_with_ghosts(c.to_layout, d, REDIST_PERIODIC);
#endif
  c.source = brick_fields(&b, fields, 0);
  c.expected = brick_fields(&b, fields, 1);
  c.destination = allocate((size_t)c.held * sizeof(double));
  return c;
}

static int subarrays_prepare(entry *e, int method) {
  const contest *c = e->contest;
  subarrays *h = allocate(sizeof *h);
  brick b;
  int rank;
  (void)method;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  b = brick_of(c->n, c->by_hand.ranks, rank);
  h->side = b.side;
  h->width = b.width;
  h->fields = c->fields;
  for (int k = 0; k < c->fields; k++) h->field[k] = (double *)e->to + k * c->by_hand.to.elements;
  subarrays_create(h, b.grid);
  e->state = h;
  return 1;
}

static void subarrays_execute(entry *e) { subarrays_run(e->state); }

static void subarrays_finish(entry *e) {
  subarrays_free(e->state);
  free(e->state);
}

/* ---- contestants ---- */

enum { WIRE = 900, ARENA = 1000, TIMED, ARENA_WIRE };

static int method_prepare(entry *e, int method) {
  enum { WARM = 8 }; /* executions after which all pages of staging memory have been touched */
  redist_options options;
  memset(&options, 0, sizeof options);
  options.method = method >= WIRE ? REDIST_AUTO : (redist_method)method;
#ifndef NO_WIRE
  if (method == WIRE || method == ARENA_WIRE) {
    if (e->contest->by_hand.element != sizeof(double)) return 0;
    options.wire = REDIST_WIRE_FLOAT;
  }
#endif
#ifndef NO_TIMED
  options.timed = method == TIMED;
#endif
  if (method >= ARENA) arena_prepare(e);
  plan_prepare(e, options);
  for (int k = 0; k < WARM; k++) redist_run(e);
  return 1;
}

#ifndef NO_ADOPT
/* Arrays from malloc, which an arena without arrays of its own has adopted; elsewhere they are
   contestant malloc's. */
static int adopted_prepare(entry *e, int method) {
  const contest *c = e->contest;
  const size_t from = bytes_of(c, &c->by_hand.from), to = bytes_of(c, &c->by_hand.to);
  void *copy = allocate(from);
  int code = redist_arena_create(MPI_COMM_WORLD, 0, &e->arena);
  e->from = memcpy(copy, c->source, from);
  e->to = c->in_place ? copy : allocate(to);
  if (code == REDIST_OK) code = redist_arena_adopt(e->arena, copy, from);
  if (code == REDIST_OK && !c->in_place) code = redist_arena_adopt(e->arena, e->to, to);
  if (code != REDIST_OK) e->remark = redist_strerror(code);
  return method_prepare(e, method);
}

static void adopted_finish(entry *e) {
  redist_finish(e);
  if (e->to != e->from) free(e->to);
  free((void *)(uintptr_t)e->from);
}
#endif

#ifdef HAVE_SCALAPACK
static int tran_prepare(entry *e, int method) {
  (void)method;
  e->state = tran_create(&e->contest->by_hand);
  return e->state != NULL;
}

static void tran_execute(entry *e) { tran_run(e->state, e->from, e->to); }
static void tran_finish(entry *e) { tran_free(e->state); }
#endif

#ifdef HAVE_FFTW_MPI
/* Has its own source, because planning overwrites it. */
static int fftw_prepare(entry *e, int method) {
  const contest *c = e->contest;
  const size_t bytes = bytes_of(c, &c->by_hand.from);
  double *from = allocate(bytes);
  (void)method;
  e->state = fftw_transpose_create(&c->by_hand, from, e->to);
  e->from = memcpy(from, c->source, bytes);
  if (!e->state) free(from);
  return e->state != NULL;
}

static void fftw_run(entry *e) { fftw_execute(e->state); }

static void fftw_finish(entry *e) {
  fftw_destroy_plan(e->state);
  free((void *)(uintptr_t)e->from);
}
#endif

enum { EITHER, MATRICES, HALOS, ASKED };

typedef struct {
  contestant who;
  int takes;
} participant;

#define METHOD(name, method) \
  { name, method, 1, method_prepare, redist_run, redist_finish }

static const participant participants[] = {
    {{"memcpy", 0, 0, copy_prepare, copy_run, copy_finish}, EITHER}, /* first: the lower bound */
    {METHOD("arena", ARENA), EITHER},
    {METHOD("timed", TIMED), ASKED}, /* the arena's plan, options.timed: only by --only */
#ifndef NO_ADOPT
    {{"adopted", REDIST_AUTO, 1, adopted_prepare, redist_run, adopted_finish}, EITHER},
#endif
    {METHOD("malloc", REDIST_AUTO), EITHER},
#ifndef NO_WIRE
    /* options.wire, which rounds: only by --only */
    {{"malloc wire", WIRE, 0, method_prepare, redist_run, redist_finish}, ASKED},
    {{"arena wire", ARENA_WIRE, 0, method_prepare, redist_run, redist_finish}, ASKED},
#endif
    {METHOD("shared", REDIST_SHARED), EITHER},
    {METHOD("point_to_point", REDIST_POINT_TO_POINT), EITHER},
    {METHOD("scheduled", REDIST_SCHEDULED), EITHER},
    {METHOD("alltoallv", REDIST_ALLTOALLV), EITHER},
    {METHOD("alltoallw", REDIST_ALLTOALLW), EITHER},
    {{"Alltoallw by hand", 0, 1, typed_prepare, typed_execute, typed_finish}, MATRICES},
    {{"pack, Alltoallv", 0, 1, packed_prepare, packed_execute, packed_finish}, MATRICES},
    {{"subarrays", 0, 1, subarrays_prepare, subarrays_execute, subarrays_finish}, HALOS},
#ifdef HAVE_SCALAPACK
    {{"p?gemr2d", 0, 1, gemr2d_prepare, gemr2d_execute, gemr2d_finish}, MATRICES},
    {{"p?tran", 0, 1, tran_prepare, tran_execute, tran_finish}, MATRICES},
#endif
#ifdef HAVE_FFTW_MPI
    {{"FFTW", 0, 1, fftw_prepare, fftw_run, fftw_finish}, MATRICES},
#endif
};

enum { CONTESTANTS = sizeof participants / sizeof participants[0] };

/* ---- a cycle ---- */

/* Computes the next step's source, and sums the destination as a sweep does: each element depends
   on the previous one. */
#define DEFINE_CYCLE(type)                                     \
  static void negate_##type(type *array, int64_t count) {      \
    for (int64_t k = 0; k < count; k++) array[k] = -array[k];  \
  }                                                            \
  static double sum_##type(const type *array, int64_t count) { \
    type sum = 0;                                              \
    for (int64_t k = 0; k < count; k++) sum += array[k];       \
    return (double)sum;                                        \
  }

DEFINE_CYCLE(float)
DEFINE_CYCLE(double)

static void write_source(const entry *e) {
  const contest *c = e->contest;
  void *array = (void *)(uintptr_t)e->from;
  const int64_t bytes = (int64_t)bytes_of(c, &c->by_hand.from);
  if (c->by_hand.element == sizeof(float))
    negate_float(array, bytes / (int64_t)sizeof(float));
  else
    negate_double(array, bytes / (int64_t)sizeof(double));
}

static double read_destination(const entry *e) {
  const contest *c = e->contest;
  const int64_t bytes = (int64_t)bytes_of(c, &c->by_hand.to);
  if (c->by_hand.element == sizeof(float)) return sum_float(e->to, bytes / (int64_t)sizeof(float));
  return sum_double(e->to, bytes / (int64_t)sizeof(double));
}

enum { MOST_BATCH = 20 };

/* An even number of cycles, so that the source is afterwards what it was before. */
static void take_turn(signals *s, const contestant *who, entry *e, double *times) {
  enum { WARM = 2 }; /* contestants may have their own arrays, evicted by the others' */
  double sum = 0;
  for (int k = 0; k < WARM + e->contest->batch; k++) {
    leave_together(s);
    const double begin = MPI_Wtime();
    who->run(e);
    const double read = read_destination(e);
    write_source(e);
    const double time = MPI_Wtime() - begin;
    if (k >= WARM) times[k - WARM] = time;
    if (k > 0 && read != -sum && who->copies_all) e->right = 0;
    sum = read;
  }
}

/* Replaces the ranks' times by the slowest rank's. */
static void keep_times(entry *e, double *times) {
  maxima(times, e->contest->batch);
  for (int k = 0; k < e->contest->batch && e->count < MOST_TIMES; k++) {
    e->times[e->count++] = times[k];
    e->spent += times[k];
  }
}

static void compete(const bench *b, signals *s, entry *entries) {
  double times[MOST_BATCH];
  int active;
  do {
    active = 0;
    for (int k = 0; k < CONTESTANTS; k++)
      if (wants_more(&entries[k], b->repetitions, b->seconds)) {
        take_turn(s, &participants[k].who, &entries[k], times);
        keep_times(&entries[k], times);
        active++;
      }
  } while (active > 0);
}

/* ---- rows ---- */

static int invited(const bench *b, int k) {
  if (!b->only) return participants[k].takes != ASKED;
  return k == 0 || selected(participants[k].who.name, b->only, ',');
}

/* Those that can take part in the contest. */
static int takes_part(const bench *b, int k, const contest *c) {
  const int takes = participants[k].takes;
  return invited(b, k) &&
         (takes == EITHER || takes == ASKED || takes == (c->in_place ? HALOS : MATRICES));
}

static int width_of(int k) {
  const int length = (int)strlen(participants[k].who.name);
  return length > 7 ? length : 7;
}

/* Returns what the cell shows: microseconds of the lower bound, else a multiple of it. */
static double report(const bench *b, const contest *c, entry *entries, int k) {
  entry *e = &entries[k];
  const double floor_time = lower_quartile(entries[0].times, entries[0].count);
  const double time = lower_quartile(e->times, e->count);
  if (e->right)
    figure(c->name, b->ranks, c->held * (int64_t)c->by_hand.element, participants[k].who.name,
           e->count, time, e->times[0], time / floor_time);
  return k == 0 ? time * 1e6 : time / floor_time;
}

static void print_row(const bench *b, const contest *c, entry *entries, double before,
                      double after) {
  const char *cores = cores_of_row(before, after), *chosen = "";
  snprintf(further_columns, sizeof further_columns, ",%lld,%.0f,%.0f,\"%s\"", (long long)c->n,
           before, after, cores);
  printf("%-34s %5lld", c->name, (long long)c->n);
  for (int k = 0; k < CONTESTANTS; k++) {
    char text[32] = "-";
    if (!invited(b, k)) continue;
    if (entries[k].times)
      snprintf(text, sizeof text, "%.2f%s", report(b, c, entries, k), entries[k].right ? "" : "!");
    if (participants[k].who.method == REDIST_AUTO && entries[k].remark) chosen = entries[k].remark;
    printf(" %*s", width_of(k), text);
  }
  printf("  %-8s %4.0f %4.0f  %s\n", cores, before, after, chosen);
  fflush(stdout);
}

/* Returns how many contestants were wrong on any rank. */
static int judge(entry *entries) {
  double bad[CONTESTANTS];
  int wrong = 0;
  for (int k = 0; k < CONTESTANTS; k++) bad[k] = entries[k].times && !entries[k].right;
  maxima(bad, CONTESTANTS);
  for (int k = 0; k < CONTESTANTS; k++) {
    entries[k].right = bad[k] == 0;
    wrong += bad[k] > 0;
  }
  return wrong;
}

/* A batch is an even number of cycles, larger for short ones. */
static void set_batch(contest *c) {
  const size_t from = bytes_of(c, &c->by_hand.from), to = bytes_of(c, &c->by_hand.to);
  double most = (double)(from > to ? from : to);
  maxima(&most, 1);
  c->batch = most < 262144 ? MOST_BATCH : most < 2097152 ? 6 : 2;
}

/* Frees the contest. Returns how many contestants were wrong. */
static int hold(const bench *b, signals *s, contest c) {
  entry entries[CONTESTANTS];
  double before, after;
  int wrong;
  set_batch(&c);
  memset(entries, 0, sizeof entries);
  for (int k = 0; k < CONTESTANTS; k++)
    if (takes_part(b, k, &c)) enter(&entries[k], &participants[k].who, &c);
  before = distance(s);
  compete(b, s, entries);
  after = distance(s);
  wrong = judge(entries);
  if (b->rank == 0) print_row(b, &c, entries, before, after);
  for (int k = 0; k < CONTESTANTS; k++)
    if (entries[k].times) {
      participants[k].who.finish(&entries[k]);
      free(entries[k].times);
    }
  contest_free(&c);
  return wrong;
}

static void print_head(const bench *b) {
  printf("%d ranks; write the source, exchange, read the destination. Lower quartiles: with a\n"
         "memcpy instead in microseconds, the others as multiples of it. Then the time of a flag\n"
         "to the other core and back, before and after the row (ns; near: less than %d), and\n"
         "what auto chose; ! wrong result\n%-34s %5s",
         b->ranks, NEAR, "", "n");
  for (int k = 0; k < CONTESTANTS; k++)
    if (invited(b, k)) printf(" %*s", width_of(k), participants[k].who.name);
  printf("  cores\n");
}

static const struct {
  const char *name;
  int fields;
} halos[] = {{"halo exchange, 1 field", 1}, {"halo exchange, 5 fields", 5}};

enum { HALO_CASES = GHOSTS ? sizeof halos / sizeof halos[0] : 0 };

static int chosen(const bench *b, const char *name) {
  return !b->cases || selected(name, b->cases, strchr(b->cases, '|') ? '|' : ',');
}

/* Skips cases with a size of their own: they are the other cases at that size. */
static int hold_size(const bench *b, signals *s, int64_t n, int *held) {
  int wrong = 0;
  for (int k = 0; k < CASES; k++)
    if (cases[k].size != FIXED_64 && cases[k].size != FIXED_512 && chosen(b, cases[k].name)) {
      wrong += hold(b, s, contest_create(&cases[k], n, b->ranks, b->rank));
      ++*held;
    }
  for (int k = 0; k < HALO_CASES; k++)
    if (chosen(b, halos[k].name)) {
      wrong += hold(b, s, halo_create(halos[k].name, halos[k].fields, n, b->ranks, b->rank));
      ++*held;
    }
  return wrong;
}

static int hold_all(const bench *b) {
  signals s = signals_create(b->rank, b->ranks);
  int wrong = 0, held = 0;
  if (b->rank == 0) print_head(b);
  for (const char *at = b->sizes; *at != '\0';) {
    char *end;
    const long n = strtol(at, &end, 10);
    if (end == at || n < 64 || n > 16384)
      give_up("sizes are numbers from 64 to 16384 with commas between, not '%s'", b->sizes);
    wrong += hold_size(b, &s, n, &held);
    at = *end == ',' ? end + 1 : end;
  }
  if (b->rank == 0 && wrong > 0) printf("%d results are wrong\n", wrong);
  if (b->rank == 0 && held == 0) fprintf(stderr, "cycles: no case is called '%s'\n", b->cases);
  signals_free(&s);
  return wrong > 0 || held == 0;
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  bench b = {.repetitions = 10, .seconds = 0.05, .sizes = "64,128,256,512,1024,2048,4096"};
  const char *csv = NULL;
  const option table[] = {
      {.name = "--sizes",
       .argument = "N,N",
       .text = &b.sizes,
       .help = "extents of matrices (default 64,128,256,512,1024,2048,4096)"},
      {.name = "--cases",
       .argument = "PART",
       .text = &b.cases,
       .help = "only cases with PART in their names; PART,PART or PART|PART: either; =NAME"},
      {.name = "--only",
       .argument = "PART",
       .text = &b.only,
       .help = "only such contestants beside memcpy, in the same way"},
      OPTION_SECONDS(b.seconds, "of cycles for each contestant and row (default 0.05)"),
      OPTION_COUNT("--repetitions", b.repetitions, MOST_TIMES,
                   "cycles at least, however long they take (default 10)"),
      OPTION_CSV(csv),
      {.name = NULL}};
  int status = start(table, argc, argv, &b.rank, &b.ranks, "cycles",
                     "Whole cycles, written, exchanged and read, beside the same with a memcpy.");
  if (status < 0) {
#ifdef HAVE_FFTW_MPI
    fftw_mpi_init();
#endif
    figures_open(csv, b.rank, FIGURE_COLUMNS ",n,before,after,cores");
    status = hold_all(&b);
    figures_close();
  }
  MPI_Finalize();
  return status;
}
