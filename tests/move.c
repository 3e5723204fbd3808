/* redist tests: redist_move, redist_traffic_between and redist_volume on random pairs, against
   tables distributed by hand. MIT licence, see LICENSE. */
#define TEST_LENGTH 100000
#define TEST_ELEMENTS 400000
#define TEST_LARGEST 1500000

#include "oracle.h"

enum { WORLD = 12 };

typedef struct {
  test_array arrays[2];
  test_table tables[2];
  redist_layout layouts[2];
  unsigned char *held[2][TEST_PLACES]; /* [0] source, [1] destination */
  size_t shift;                        /* bytes by which the arrays miss the alignment of malloc */
} pair;

/* Repeating patterns are where large arrays differ from small ones. */
static void make_cyclic(test_array *array) {
  int a;
  for (a = 0; a < array->ndim; a++)
    if (array->axes[a].kind != TEST_WHOLE) array->axes[a].kind = TEST_BLOCK_CYCLIC;
}

enum { SMALL, LARGE, SHORT };

/* A few rows whose short blocks go round on both sides: many runs of a few elements. */
static void make_short(test_random *r, test_array *array) {
  memset(array, 0, sizeof *array);
  array->ndim = 2;
  array->axes[0] = test_axis_of(TEST_WHOLE, 3, 0, 1);
  array->axes[1] =
      test_axis_of(TEST_BLOCK_CYCLIC, 1000, test_between(r, 1, 7), (int)test_between(r, 2, 4));
}

static void draw(pair *p, int number, int size) {
  test_random r = {(uint64_t)number};
  int side;
  test_draw_pair(&r, (int)test_between(&r, 1, WORLD), number % 2 == 0 ? 0 : TEST_RESHAPES,
                 size == LARGE ? TEST_LARGE : TEST_MEDIUM, &p->arrays[0], &p->arrays[1]);
  for (side = 0; side < 2; side++) {
    if (size == LARGE && number % 4 != 0) make_cyclic(&p->arrays[side]);
    if (size == SHORT) make_short(&r, &p->arrays[side]);
    test_tabulate(&p->arrays[side], &p->tables[side]);
    p->layouts[side] = test_layout(&p->tables[side], -1);
  }
}

/* Places that own nothing get NULL every other time. */
static void allocate(pair *p, int side, size_t bytes, int number) {
  const test_table *t = &p->tables[side];
  int k;
  for (k = 0; k < t->places; k++) {
    int absent = t->owned[k] == 0 && number % 2 == 0;
    p->held[side][k] =
        absent ? NULL : (unsigned char *)malloc((size_t)t->alloc[k] * bytes + 1) + p->shift;
    if (!absent) test_fill(t, k, bytes, 100, side == 0 ? 7 : 8, p->held[side][k]);
    if (!absent && side == 1) /* the destination starts out with other contents */
      test_fill(t, k, bytes, 200, 8, p->held[side][k]);
  }
}

/* Whether the arrays hold these contents and nothing else was touched; frees them. */
static int holds(pair *p, int side, size_t bytes) {
  const test_table *t = &p->tables[side];
  int k, good = 1;
  for (k = 0; k < t->places; k++) {
    size_t size = (size_t)t->alloc[k] * bytes;
    unsigned char *expected = malloc(size + 1);
    test_fill(t, k, bytes, 100, side == 0 ? 7 : 8, expected);
    if (p->held[side][k] != NULL && memcmp(expected, p->held[side][k], size) != 0) good = 0;
    free(expected);
    if (p->held[side][k] != NULL) free(p->held[side][k] - p->shift);
  }
  return good;
}

static void check_move(pair *p, size_t bytes, int number) {
  const void *from[TEST_PLACES];
  void *to[TEST_PLACES];
  int k, code, target, source;
  p->shift = number % 5 == 0;
  allocate(p, 0, bytes, number);
  allocate(p, 1, bytes, number);
  for (k = 0; k < TEST_PLACES; k++) {
    from[k] = k < p->tables[0].places ? p->held[0][k] : NULL;
    to[k] = k < p->tables[1].places ? p->held[1][k] : NULL;
  }
  code = redist_move(&p->layouts[0], from, &p->layouts[1], to, bytes);
  source = holds(p, 0, bytes);
  target = holds(p, 1, bytes);
  test_case(code == REDIST_OK && target && source,
            "move, pair %d, %d bytes: code %d, destination %s, source %s", number, (int)bytes, code,
            target ? "right" : "wrong", source ? "untouched" : "changed");
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static redist_traffic expected_traffic(const int64_t *volumes) {
  redist_traffic t = {0, 0, 0, 0, 0, 0, 0, 0};
  int a, b;
  for (a = 0; a < WORLD; a++) {
    int64_t sends = 0, receives = 0, sent = 0, received = 0;
    for (b = 0; b < WORLD; b++) {
      int64_t out = a == b ? 0 : volumes[a * WORLD + b], in = a == b ? 0 : volumes[b * WORLD + a];
      sends += out > 0;
      receives += in > 0;
      sent += out;
      received += in;
    }
    t.local += volumes[a * WORLD + a];
    t.moved += sent;
    t.messages += sends;
    t.max_sends = larger(t.max_sends, sends);
    t.max_receives = larger(t.max_receives, receives);
    t.max_sent = larger(t.max_sent, sent);
    t.max_received = larger(t.max_received, received);
  }
  t.total = t.local + t.moved;
  return t;
}

static int same_traffic(const redist_traffic *a, const redist_traffic *b) {
  return a->total == b->total && a->local == b->local && a->moved == b->moved &&
         a->messages == b->messages && a->max_sends == b->max_sends &&
         a->max_receives == b->max_receives && a->max_sent == b->max_sent &&
         a->max_received == b->max_received;
}

static void check_traffic(pair *p, int number) {
  int64_t volumes[WORLD * WORLD];
  redist_traffic found = {0, 0, 0, 0, 0, 0, 0, 0}, expected;
  int a, b, code, same = 1;
  test_volumes(&p->tables[0], &p->tables[1], WORLD, volumes);
  expected = expected_traffic(volumes);
  code = redist_traffic_between(&p->layouts[0], &p->layouts[1], 0, &found);
  test_case(code == REDIST_OK && same_traffic(&found, &expected),
            "traffic, pair %d: code %d, moved %ld of %ld, messages %ld of %ld", number, code,
            (long)found.moved, (long)expected.moved, (long)found.messages, (long)expected.messages);
  for (a = 0; a < WORLD; a++)
    for (b = 0; b < WORLD; b++)
      if (test_volume(&p->layouts[0], a, &p->layouts[1], b) != volumes[a * WORLD + b]) same = 0;
  test_case(same, "volumes between ranks, pair %d", number);
}

/* Whether the library finds some elements of the view where they were dealt out. */
static int finds_elements(const test_table *t, const redist_layout *layout, int number) {
  test_random r = {(uint64_t)number};
  int64_t index[TEST_DIMS + 1], e;
  int k, d, same = 1;
  for (k = 0; k < 20 && t->elements > 0; k++) {
    int64_t rest = e = test_between(&r, 0, t->elements - 1);
    for (d = t->axes - 1; d >= 0; rest /= t->shape[d--]) index[d] = rest % t->shape[d];
    same &= redist_layout_owner(layout, index) == t->ranks[t->place[e]] &&
            redist_layout_offset(layout, index) == t->offset[e];
    index[k % t->axes] = t->shape[k % t->axes];
    same &= redist_layout_owner(layout, index) == -1;
  }
  return same;
}

/* Grids and allocations alone, so that their failure can be distinguished from one of copying. */
static void check_layouts(pair *p, int number) {
  int side, k, same = 1;
  for (side = 0; side < 2; side++) {
    const test_table *t = &p->tables[side];
    same = same && redist_layout_check(&p->layouts[side]) == REDIST_OK &&
           redist_layout_places(&p->layouts[side]) == t->places;
    for (k = 0; k < t->places; k++)
      same = same && redist_layout_local_size(&p->layouts[side], t->ranks[k]) == t->alloc[k];
    same = same && finds_elements(t, &p->layouts[side], number);
  }
  test_case(same,
            "layouts of pair %d: valid, with the places, allocations and elements distributed",
            number);
}

static void check_refusal(void) {
  const void *from[1] = {NULL};
  void *to[1] = {NULL};
  redist_layout a = redist_layout_2d(redist_whole(3), redist_whole(4)), b = redist_transposed(a),
                bad = redist_layout_1d(redist_block_cyclic(8, 0, 2));
  redist_layout flat = redist_layout_1d(redist_whole(12));
  redist_traffic traffic;
  test_case(redist_move(&a, from, &b, to, 4) == REDIST_ERR_SHAPE, "move between 3 x 4 and 4 x 3");
  test_case(redist_move(&a, from, &flat, to, 4) == REDIST_ERR_SHAPE, "move between 3 x 4 and 12");
  test_case(redist_traffic_between(&a, &b, 0, &traffic) == REDIST_ERR_SHAPE,
            "traffic between 3 x 4 and 4 x 3");
  test_case(redist_move(&bad, from, &bad, to, 4) == REDIST_ERR_LAYOUT, "move with block 0");
  test_case(redist_traffic_between(&bad, &bad, 0, &traffic) == REDIST_ERR_LAYOUT,
            "traffic with block 0");
}

/* ---- permuted, flipped and stepped arrays on one process, element by element ---- */

/* One side: a row-major array of `stored` elements whose axis k is the view's axis[k], seen every
   step-th element, and from the end where flipped. */
typedef struct {
  int axis[3], flip[3];
  int64_t stored[3], step, elements;
  unsigned char *memory, *first; /* what was allocated, and where the array begins in it */
  redist_layout layout;
} turned;

enum { GUARD = 64 };

static void draw_turned(test_random *r, turned *t, const int64_t *n, size_t bytes) {
  redist_axis axes[3];
  int order[3], k, other;
  t->step = test_one_in(r, 6) ? 2 : 1;
  t->elements = 1;
  for (k = 0; k < 3; k++) t->axis[k] = k;
  for (k = 2; k > 0; k--) {
    int swap = (int)test_between(r, 0, k), held = t->axis[swap];
    t->axis[swap] = t->axis[k];
    t->axis[k] = held;
  }
  for (k = 0; k < 3; k++) {
    other = t->axis[k];
    order[other] = k;
    t->flip[other] = test_one_in(r, 3);
    t->stored[k] = n[other] * (k == 2 ? t->step : 1);
    axes[k] = redist_whole(t->stored[k]);
    t->stored[k] += k == 2 && test_one_in(r, 2) ? test_between(r, 1, 20) : 0;
    t->elements *= t->stored[k];
  }
  t->layout = redist_with_allocated(redist_layout_3d(axes[0], axes[1], axes[2]), 2, t->stored[2]);
  t->layout = redist_section(t->layout, 2, 0, n[t->axis[2]], t->step);
  t->layout = redist_permuted(t->layout, order);
  for (k = 0; k < 3; k++) t->layout = t->flip[k] ? redist_flipped(t->layout, k) : t->layout;
  t->memory = malloc((size_t)t->elements * bytes + 2 * GUARD);
  t->first = t->memory + test_between(r, 0, GUARD);
  test_random_bytes(r, t->memory, (size_t)t->elements * bytes + 2 * GUARD);
}

static int64_t turned_offset(const turned *t, const int64_t *n, const int64_t *index) {
  int64_t offset = 0;
  int k;
  for (k = 0; k < 3; k++) {
    int d = t->axis[k];
    int64_t i = t->flip[d] ? n[d] - 1 - index[d] : index[d];
    offset = offset * t->stored[k] + i * (k == 2 ? t->step : 1);
  }
  return offset;
}

static void check_turned(int number) {
  static const size_t sizes[] = {4, 8, 16, 8, 4, 16, 1, 2, 12, 24, 32, 48, 7};
  test_random r = {(uint64_t)number + 1000000};
  const size_t bytes = sizes[number % 13];
  const int64_t longest = number % 4 == 0 ? 24 : 150;
  int64_t n[3], i[3];
  size_t size;
  turned from, to;
  unsigned char *expected;
  const void *source;
  void *target;
  int code;
  n[number % 3] = number % 4 == 0 ? test_between(&r, 1, 24) : 1;
  n[(number + 1) % 3] = test_between(&r, 1, longest);
  n[(number + 2) % 3] = test_between(&r, 1, longest);
  draw_turned(&r, &from, n, bytes);
  draw_turned(&r, &to, n, bytes);
  size = (size_t)to.elements * bytes + 2 * GUARD;
  expected = malloc(size);
  memcpy(expected, to.memory, size);
  for (i[0] = 0; i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++)
      for (i[2] = 0; i[2] < n[2]; i[2]++)
        memcpy(expected + (to.first - to.memory) + (size_t)turned_offset(&to, n, i) * bytes,
               from.first + (size_t)turned_offset(&from, n, i) * bytes, bytes);
  source = from.first;
  target = to.first;
  test_stream_bytes = test_one_in(&r, 2) ? 1 : 4194304;
  code = redist_move(&from.layout, &source, &to.layout, &target, bytes);
  test_case(code == REDIST_OK && memcmp(expected, to.memory, size) == 0,
            "turned array %d, %d x %d x %d of %d bytes: code %d", number, (int)n[0], (int)n[1],
            (int)n[2], (int)bytes, code);
  free(expected);
  free(from.memory);
  free(to.memory);
}

static void check_pairs(pair *p, int first, int pairs, int size) {
  static const size_t sizes[] = {1, 2, 4, 8, 16, 24, 7};
  int k;
  for (k = first; k < first + pairs; k++) {
    draw(p, k, size);
    check_layouts(p, k);
    check_move(p, sizes[k % 7], k);
    check_traffic(p, k);
  }
}

/* Arguments: the number of small pairs, the first one, the number of large pairs and of those with
   short blocks, and of turned arrays. */
/* b += a, where neither short rows in large numbers nor long ones fit a tile; sums of numbers that
   name their element. */
static void check_combined(int64_t rows, int64_t columns, int width) {
  enum { PROCS = 2 };
  const redist_axis dealt[2] = {redist_block_cyclic(columns, 3, PROCS),
                                redist_block_cyclic(columns, 2, PROCS)};
  const redist_axpby sum = {width == 4 ? REDIST_FLOAT : REDIST_DOUBLE, {1, 0}, {1, 0}, 0};
  redist_layout layout[2];
  char *held[2][PROCS];
  int64_t i, j, wrong = 0;
  int side, c;
  for (side = 0; side < 2; side++) {
    layout[side] = redist_layout_2d(redist_whole(rows), dealt[side]);
    for (c = 0; c < PROCS; c++)
      held[side][c] = calloc((size_t)redist_layout_local_size(&layout[side], c), (size_t)width);
  }
  for (side = 0; side < 2; side++)
    for (i = 0; i < rows * columns; i++) {
      const int owner = redist_axis_owner(&dealt[side], i % columns);
      j = i / columns * redist_axis_count(&dealt[side], owner) +
          redist_axis_local(&dealt[side], i % columns);
      if (width == 4)
        ((float *)(void *)held[side][owner])[j] = (float)(i % 65521 + side);
      else
        ((double *)(void *)held[side][owner])[j] = (double)(i + side);
    }
  c = redist_move_combining(&layout[0], (const void *const *)held[0], &layout[1],
                            (void *const *)held[1], (size_t)width, redist_combine_axpby,
                            (void *)(uintptr_t)&sum);
  for (i = 0; i < rows * columns; i++) {
    const int owner = redist_axis_owner(&dealt[1], i % columns);
    j = i / columns * redist_axis_count(&dealt[1], owner) +
        redist_axis_local(&dealt[1], i % columns);
    wrong += width == 4 ? ((float *)(void *)held[1][owner])[j] != (float)(2 * (i % 65521) + 1)
                        : ((double *)(void *)held[1][owner])[j] != (double)(2 * i + 1);
  }
  test_case(c == REDIST_OK && wrong == 0,
            "%lld x %lld elements of %d bytes, combined: code %d, %lld wrong", (long long)rows,
            (long long)columns, width, c, (long long)wrong);
  for (side = 0; side < 2; side++)
    for (c = 0; c < PROCS; c++) free(held[side][c]);
}

/* Vectors of three, and numbers in runs of many lengths, added by a function that takes whole
   elements only: also by threads that share a contiguous piece. */
static void add_vectors(const void *from, void *to, int64_t n, void *context) {
  const int width = *(const int *)context;
  int64_t k;
  for (k = 0; k < n * width; k++) ((double *)to)[k] += ((const double *)from)[k];
}

static void check_vectors(int width, int64_t n, int64_t from_block, int64_t to_block) {
  enum { PROCS = 2 };
  const redist_axis dealt[2] = {redist_block_cyclic(n, from_block, PROCS),
                                redist_block_cyclic(n, to_block, PROCS)};
  redist_layout layout[2];
  double *held[2][PROCS];
  int64_t i, wrong = 0;
  int side, c, k;
  for (side = 0; side < 2; side++) {
    layout[side] = redist_layout_1d(dealt[side]);
    for (c = 0; c < PROCS; c++)
      held[side][c] =
          calloc((size_t)(width * redist_layout_local_size(&layout[side], c)) + 1, sizeof(double));
  }
  for (i = 0; i < n; i++)
    for (k = 0; k < width; k++)
      held[0][redist_axis_owner(&dealt[0], i)][width * redist_axis_local(&dealt[0], i) + k] =
          (double)(width * i + k);
  for (k = 0; k < 2; k++)
    c = redist_move_combining(&layout[0], (const void *const *)held[0], &layout[1],
                              (void *const *)held[1], (size_t)width * sizeof(double), add_vectors,
                              &width);
  for (i = 0; i < n; i++)
    for (k = 0; k < width; k++)
      wrong +=
          held[1][redist_axis_owner(&dealt[1], i)][width * redist_axis_local(&dealt[1], i) + k] !=
          (double)(2 * (width * i + k));
  test_case(c == REDIST_OK && wrong == 0,
            "%lld vectors of %d, blocks of %lld to %lld, added twice: code %d, %lld wrong",
            (long long)n, width, (long long)from_block, (long long)to_block, c, (long long)wrong);
  for (side = 0; side < 2; side++)
    for (c = 0; c < PROCS; c++) free(held[side][c]);
}

/* A source place that owns nothing, but has ghost cells, needs an array only if these count. */
static void check_ghosts_alone(void) {
  static const int64_t cuts[3] = {0, 0, 4};
  const redist_layout to = redist_layout_1d(redist_whole(4));
  const redist_layout from =
      redist_with_ghosts(redist_with_halo(redist_layout_1d(redist_cuts(cuts, 2)), 0, 1, 1), 0,
                         REDIST_PERIODIC);
  const int32_t held[6] = {0, 1, 2, 3, 4, 0};
  int32_t array[4] = {0};
  const void *const sources[2] = {NULL, held};
  void *const arrays[1] = {array};
  const int moved = redist_move(&from, sources, &to, arrays, sizeof *array);
  test_case(moved == REDIST_OK && array[0] == 1 && array[3] == 4, "no array for ghost cells: %d",
            moved);
  test_case(redist_move_combining(&from, sources, &to, arrays, sizeof *array, add_vectors, NULL) ==
                REDIST_ERR_ARGUMENT,
            "no array for ghost cells that are combined");
}

int main(int count, char **arguments) {
  int pairs = count > 1 ? atoi(arguments[1]) : 10000, first = count > 2 ? atoi(arguments[2]) : 0;
  int large = count > 3 ? atoi(arguments[3]) : 100, turns = count > 4 ? atoi(arguments[4]) : 2000,
      k;
  pair *p = malloc(sizeof *p);
  check_pairs(p, first, pairs, SMALL);
  check_pairs(p, first, large, LARGE);
  check_pairs(p, first, large, SHORT);
  for (k = 0; k < turns; k++) check_turned(k);
  check_refusal();
  check_ghosts_alone();
  for (k = 4; k <= 8; k += 4) {
    check_combined(1000, 13, k);
    check_combined(3, 20011, k);
    check_combined(77, 101, k);
  }
  for (k = 1; k <= 3; k++) {
    check_vectors(k, 100003, 100003, 100003);
    check_vectors(k, 200001, 50, 6);
    check_vectors(k, 100001, 50, 20);
    check_vectors(k, 60001, 3, 2);
  }
  free(p);
  return test_report("move");
}
