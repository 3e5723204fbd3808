/* redist tests: several parts in one plan: random pairs of layouts and element sizes by every
   method, and the uses of parts: fields of different staggering, faces without corners, signs
   across a fold, a redistribution with a halo exchange. MIT licence, see LICENSE. */
#include "exchange.h"
#include "settings.h"

enum { PARTS = 5, ROUNDS = 3, ARENA_BYTES = 1 << 20 };

static redist_arena *arena;

/* ---- random parts ---- */

static void draw_parts(exchange **e, int parts, int in_place, uint64_t seed) {
  static const size_t bytes[] = {1, 2, 4, 8, 12, 16};
  int k;
  for (k = 0; k < parts; k++) {
    e[k] = exchange_new(MPI_COMM_WORLD);
    exchange_draw(e[k], seed * PARTS + (uint64_t)k);
    e[k]->in_place = in_place;
    e[k]->bytes = bytes[(seed + (uint64_t)k) % 6];
    MPI_Type_contiguous((int)e[k]->bytes, MPI_BYTE, &e[k]->type);
    MPI_Type_commit(&e[k]->type);
    exchange_allocate(e[k]);
  }
}

static void drop_parts(exchange **e, int parts) {
  int k;
  for (k = 0; k < parts; k++) {
    MPI_Type_free(&e[k]->type);
    exchange_release(e[k]);
    free(e[k]);
  }
}

/* To how many ranks this one sends, and how many bytes, over all parts. */
static void count_messages(exchange **e, int parts, int64_t *messages, int64_t *bytes) {
  int k, r;
  *messages = *bytes = 0;
  for (r = 0; r < test_size(); r++) {
    int64_t to_r = 0;
    for (k = 0; k < parts && r != test_rank(); k++)
      to_r +=
          test_volume(&e[k]->layouts[0], test_rank(), &e[k]->layouts[1], r) * (int64_t)e[k]->bytes;
    *messages += to_r > 0;
    *bytes += to_r;
  }
}

static void check_random(const setting *s, int parts, uint64_t seed) {
  exchange *e[PARTS];
  redist_part part[PARTS];
  const void *from[PARTS];
  void *to[PARTS];
  redist_options options;
  redist_plan *plan = NULL;
  redist_stats stats;
  char message[256];
  int64_t messages, bytes;
  int k, round, code, good = 1;
  draw_parts(e, parts, seed % 3 == 0, seed);
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  memset((void *)part, 0, sizeof part);
  for (k = 0; k < parts; k++) {
    part[k].from = &e[k]->layouts[0];
    part[k].to = &e[k]->layouts[1];
    part[k].element = e[k]->type;
    from[k] = e[k]->held[0][0];
    to[k] = e[k]->held[1][0];
  }
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  options.in_place = seed % 3 == 0;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create_parts(MPI_COMM_WORLD, parts, part, &options, &plan);
  if (options.in_place && code == REDIST_ERR_MEMORY && s->max_buffer > 0) {
    drop_parts(e, parts); /* what is sent has no room */
    return;
  }
  if (!test_case_all(code == REDIST_OK, "%s, %d parts, seed %d: code %d, %s", s->name, parts,
                     (int)seed, code, message)) {
    drop_parts(e, parts);
    return;
  }
  for (round = 0; round < ROUNDS; round++) {
    for (k = 0; k < parts; k++) exchange_prepare(e[k], round);
    code = redist_execute_many(plan, from, to);
    for (k = 0; k < parts; k++) good = good && exchange_arrived(e[k], round);
    test_case_all(good && code == REDIST_OK, "%s, %d parts, seed %d, execution %d: code %d",
                  s->name, parts, (int)seed, round, code);
  }
  redist_plan_stats(plan, &stats);
  count_messages(e, parts, &messages, &bytes);
  test_case_all(stats.method == REDIST_NODES ||
                    (stats.bytes_sent == bytes && stats.sends == messages),
                "%s, %d parts, seed %d: %ld bytes of %ld in %ld messages of %ld", s->name, parts,
                (int)seed, (long)stats.bytes_sent, (long)bytes, (long)stats.sends, (long)messages);
  redist_plan_free(&plan);
  drop_parts(e, parts);
}

/* ---- a brick of rows with a halo, exchanged in parts ---- */

enum { ROWS = 5, COLUMNS = 6, HALO = 1 };

typedef struct {
  redist_layout bare, ghosts[2]; /* ghosts along one axis each */
  int coords[2], grid[2];
  int64_t count;
  double *array;
} brick;

static double element_at(const brick *b, int64_t i, int64_t j) {
  const int64_t n = ROWS * b->grid[0], m = COLUMNS * b->grid[1];
  return (double)((i + n) % n * 1000 + (j + m) % m);
}

static double *cell(const brick *b, int64_t i, int64_t j) {
  return &b->array[(i + HALO) * (COLUMNS + 2 * HALO) + j + HALO];
}

static void brick_open(brick *b, int in_arena) {
  const int size = test_size();
  int d;
  b->grid[0] = size % 2 == 0 ? 2 : 1;
  b->grid[1] = size / b->grid[0];
  b->bare = redist_layout_2d(redist_block(ROWS * b->grid[0], b->grid[0]),
                             redist_block(COLUMNS * b->grid[1], b->grid[1]));
  for (d = 0; d < 2; d++) b->bare = redist_with_halo(b->bare, d, HALO, HALO);
  for (d = 0; d < 2; d++) b->ghosts[d] = redist_with_ghosts(b->bare, d, REDIST_PERIODIC);
  redist_layout_coords(&b->bare, test_rank(), b->coords);
  b->count = redist_layout_local_size(&b->bare, test_rank());
  b->array = in_arena ? redist_arena_alloc(arena, (size_t)b->count * sizeof *b->array)
                      : malloc((size_t)b->count * sizeof *b->array);
}

static void brick_fill(brick *b) {
  int64_t i, j;
  for (i = 0; i < b->count; i++) b->array[i] = -1;
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < COLUMNS; j++)
      *cell(b, i, j) = element_at(b, b->coords[0] * ROWS + i, b->coords[1] * COLUMNS + j);
}

static int brick_holds(const brick *b, int corners) {
  int64_t i, j;
  int good = 1;
  for (i = -HALO; i < ROWS + HALO; i++)
    for (j = -HALO; j < COLUMNS + HALO; j++) {
      const int out = (i < 0 || i >= ROWS) + (j < 0 || j >= COLUMNS);
      const double wanted = out < 2 || corners
                                ? element_at(b, b->coords[0] * ROWS + i, b->coords[1] * COLUMNS + j)
                                : -1;
      good = good && *cell(b, i, j) == wanted;
    }
  return good;
}

/* One part per axis, all in place in one array: the faces are filled, the corners are not. */
static void check_faces(const setting *s) {
  brick b;
  redist_part part[2];
  redist_options options;
  redist_plan *plan = NULL;
  const void *from[2];
  void *to[2];
  int k, code, good = 1;
  brick_open(&b, s->arena);
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  for (k = 0; k < 2; k++) {
    part[k].from = &b.bare;
    part[k].to = &b.ghosts[k];
    part[k].element = MPI_DOUBLE;
    from[k] = to[k] = b.array;
  }
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  options.in_place = 1;
  code = redist_plan_create_parts(MPI_COMM_WORLD, 2, part, &options, &plan);
  for (k = 0; k < ROUNDS && code == REDIST_OK; k++) {
    brick_fill(&b);
    code = redist_execute_many(plan, from, to);
    good = good && brick_holds(&b, 0);
  }
  test_case_all(code == REDIST_OK && good, "faces without corners, %s: code %d", s->name, code);
  redist_plan_free(&plan);
  if (!s->arena) free(b.array);
}

static void negate(const void *from, void *to, int64_t n, void *context) {
  int64_t k;
  for (k = 0; k < n; k++) ((double *)to)[k] = *(const double *)context * ((const double *)from)[k];
}

/* One component of a vector field changes its sign across a fold; another part redistributes
   bytes. */
static void check_fold(const setting *s) {
  enum { N = 24 };
  const redist_layout rows = redist_layout_1d(redist_block(N, test_size())),
                      folded = redist_flipped(rows, 0),
                      cycles = redist_layout_1d(redist_cyclic(N, test_size()));
  static double plus = 1, minus = -1;
  redist_part part[3];
  redist_options options;
  redist_plan *plan = NULL;
  double u[N], v[N], fold_u[N], fold_v[N];
  char bytes[N], dealt[N];
  const void *from[3];
  void *to[3];
  int64_t k;
  int code, good = 1;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  part[0].from = part[1].from = part[2].from = &rows;
  part[0].to = part[1].to = &folded;
  part[2].to = &cycles;
  part[0].element = part[1].element = MPI_DOUBLE;
  part[2].element = MPI_CHAR;
  part[0].combine = part[1].combine = negate;
  part[0].context = &plus;
  part[1].context = &minus;
  from[0] = u, from[1] = v, from[2] = bytes;
  to[0] = fold_u, to[1] = fold_v, to[2] = dealt;
  for (k = 0; k < N; k++)
    if (redist_layout_owner(&rows, &k) == test_rank()) {
      u[redist_layout_offset(&rows, &k)] = (double)k;
      v[redist_layout_offset(&rows, &k)] = 100 + (double)k;
      bytes[redist_layout_offset(&rows, &k)] = (char)k;
    }
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  code = redist_plan_create_parts(MPI_COMM_WORLD, 3, part, &options, &plan);
  if (code == REDIST_OK) code = redist_execute_many(plan, from, to);
  for (k = 0; k < N && code == REDIST_OK; k++) {
    if (redist_layout_owner(&folded, &k) == test_rank())
      good = good && fold_u[redist_layout_offset(&folded, &k)] == (double)k &&
             fold_v[redist_layout_offset(&folded, &k)] == -100 - (double)k;
    if (redist_layout_owner(&cycles, &k) == test_rank())
      good = good && dealt[redist_layout_offset(&cycles, &k)] == (char)k;
  }
  test_case_all(code == REDIST_OK && good, "signs across a fold, %s: code %d", s->name, code);
  redist_plan_free(&plan);
}

/* ---- bad input ---- */

static void check_refused(int wanted, const char *sentence, int parts, const redist_part *part,
                          redist_options *options) {
  char message[256] = "";
  redist_plan *plan = NULL;
  int code;
  options->message = message;
  options->message_size = sizeof message;
  code = redist_plan_create_parts(MPI_COMM_WORLD, parts, part, options, &plan);
  test_case_all(code == wanted && plan == NULL && strstr(message, sentence) != NULL,
                "refused: code %d, wanted %d: '%s', wanted '%s'", code, wanted, message, sentence);
  redist_plan_free(&plan);
}

static void check_bad_input(void) {
  const redist_layout rows = redist_layout_1d(redist_block(12, test_size())),
                      longer = redist_layout_1d(redist_block(13, test_size())),
                      bad = redist_layout_1d(redist_block_cyclic(12, 0, test_size()));
  redist_part part[3];
  redist_options options;
  int k;
  memset((void *)part, 0, sizeof part);
  memset(&options, 0, sizeof options);
  for (k = 0; k < 3; k++) {
    part[k].from = part[k].to = &rows;
    part[k].element = MPI_INT;
  }
  check_refused(REDIST_ERR_ARGUMENT, "number of parts is 0", 0, part, &options);
  check_refused(REDIST_ERR_ARGUMENT, "list of parts is NULL", 3, NULL, &options);
  options.arrays = 2;
  check_refused(REDIST_ERR_ARGUMENT, "options.arrays", 3, part, &options);
  options.arrays = 0;
  options.fixed_from = &options;
  check_refused(REDIST_ERR_ARGUMENT, "fixed_from", 3, part, &options);
  options.fixed_from = NULL;
  options.method = REDIST_MULTIPHASE;
  check_refused(REDIST_ERR_ARGUMENT, "MULTIPHASE moves one part, not 3", 3, part, &options);
  options.method = REDIST_AUTO;
  part[2].from = &bad;
  check_refused(REDIST_ERR_LAYOUT, "part 2: source axis 0: block is 0", 3, part, &options);
  part[2].from = &longer;
  check_refused(REDIST_ERR_SHAPE, "part 2: axis 0: the source has extent 13", 3, part, &options);
  part[2].from = &rows;
  part[1].element = MPI_DATATYPE_NULL;
  check_refused(REDIST_ERR_TYPE, "part 1: the element datatype", 3, part, &options);
  part[1].element = MPI_INT;
  if (test_size() > 1) {
    part[1].element = test_rank() == 1 ? MPI_SHORT : MPI_INT;
    check_refused(REDIST_ERR_MISMATCH, "part 1: element size is 2, but 4 on rank 0", 3, part,
                  &options);
    part[1].element = MPI_INT;
    part[2].combine = test_rank() == 1 ? negate : NULL;
    check_refused(REDIST_ERR_MISMATCH, "part 2: combine", 3, part, &options);
    part[2].combine = NULL;
    check_refused(REDIST_ERR_MISMATCH, "number of parts is 2, but 3 on rank 0",
                  test_rank() == 1 ? 2 : 3, part, &options);
  }
}

int main(int argc, char **argv) {
  int k, pairs = argc > 1 ? atoi(argv[1]) : 12;
  uint64_t seed;
  MPI_Init(&argc, &argv);
  redist_arena_create(MPI_COMM_WORLD, ARENA_BYTES, &arena);
  for (seed = 1; seed <= (uint64_t)pairs; seed++)
    for (k = 0; k < SETTINGS - 1; k++)
      check_random(&settings[k], 1 + (int)(seed + (uint64_t)k) % PARTS, seed);
  for (k = 0; k < SETTINGS - 1; k++) {
    check_faces(&settings[k]);
    check_fold(&settings[k]);
  }
  check_bad_input();
  redist_arena_free(&arena);
  k = test_report_all("plan_parts");
  MPI_Finalize();
  return k;
}
