/* redist tests: doubles that travel as float: random layouts by every method against (double)(float)
   of every number, by bits: one array, several, parts of other types, in place, combined; and what
   is refused. MIT licence, see LICENSE. */
#include <math.h>

#include "exchange.h"
#include "inside.h"
#include "settings.h"

enum { FIELDS = 3, ROUNDS = 2, SLOT_BYTES = 1 << 19, NEAR = 50, FAR_APART = 200 };

/* How a case moves its fields: exchange[parts], each of e->count arrays. */
typedef struct {
  const setting *s;
  uint64_t seed;
  int parts, arrays, combines, in_place;
  exchange *e[FIELDS];
  const void *from[FIELDS];
  void *to[FIELDS];
  redist_plan *plan;
} run;

static redist_arena *arena;
static unsigned char *slot[2][FIELDS]; /* of the arena */

/* ---- numbers ---- */

/* The numbers of an element of doubles; 0: it is of another type. */
static int numbers_of(const exchange *e) {
  return e->type == MPI_DOUBLE ? 1 : e->type == MPI_C_DOUBLE_COMPLEX ? 2 : 0;
}

static double of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Half of all numbers are ordinary, a quarter any bits, a quarter at the limits of float. */
static double number(uint64_t contents, int64_t element, int k) {
  static const double special[] = {0,        -0.0,     INFINITY,  -INFINITY,     NAN,
                                   1e-310,   -4e-324,  1.4e-45,   7e-46,         7.1e-46,
                                   1.17e-38, -1e-40,   3.4028e38, 3.40282357e38, 1e39,
                                   16777217, 16777219, 1 + 1e-8,  0.1,           -1.0 / 3};
  test_random r;
  uint64_t bits;
  r.state = contents * 1000003 + (uint64_t)(2 * element + k);
  bits = test_next(&r);
  switch (bits % 4) {
  case 0: return special[test_between(&r, 0, sizeof special / sizeof *special - 1)];
  case 1: return of_bits(test_next(&r));
  default: return ((double)(bits >> 11) - 4503599627370496.0) * 0x1p-40;
  }
}

static uint64_t rounded(double x) {
  const float single = (float)x;
  return bits_of((double)single);
}

static uint64_t combined(uint64_t there, uint64_t arrives) {
  return (there ^ arrives) * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

/* Combines the bits of elements of so many numbers. */
static void combine(const void *from, void *to, int64_t n, void *context) {
  uint64_t *there = (uint64_t *)to;
  int64_t i;
  for (i = 0; i < n * *(const int *)context; i++)
    there[i] = combined(there[i], ((const uint64_t *)from)[i]);
}

/* ---- arrays ---- */

/* Fills an array: its background, and the elements of these contents. */
static void fill(const exchange *e, int side, uint64_t contents, unsigned char *array) {
  const test_table *t = &e->tables[side];
  const int numbers = numbers_of(e);
  int64_t i;
  int k;
  if (e->place[side] < 0 || array == NULL) return;
  test_fill(t, e->place[side], e->bytes, contents, (uint64_t)side, array);
  for (i = 0; i < t->elements; i++)
    for (k = 0; k < numbers && t->place[i] == e->place[side]; k++) {
      const double x = number(contents, i, k);
      memcpy(array + (t->offset[i] * numbers + k) * 8, &x, sizeof x);
    }
}

/* Whether an element is its own destination, and need not be rounded. */
static int stays(const exchange *e, int64_t i) {
  return e->in_place && e->tables[0].place[i] == e->place[0] &&
         e->tables[0].offset[i] == e->tables[1].offset[i];
}

/* Writes what must arrive: doubles that are rounded, or other elements as they are. */
static void expect(const run *u, const exchange *e, uint64_t contents, unsigned char *array,
                   const unsigned char *arrived) {
  const test_table *t = &e->tables[1];
  const int numbers = numbers_of(e);
  int64_t i;
  size_t b;
  int k;
  for (i = 0; i < t->elements; i++) {
    unsigned char *at = array + (size_t)t->offset[i] * e->bytes;
    if (t->place[i] != e->place[1]) continue;
    for (b = 0; numbers == 0 && b < e->bytes; b++) at[b] = test_byte(contents, i, b);
    for (k = 0; k < numbers; k++) {
      const double x = number(contents, i, k);
      uint64_t there, bits = rounded(x);
      memcpy(&there, arrived + (at - array) + 8 * k, sizeof there);
      if (stays(e, i) && there == bits_of(x)) bits = there;
      memcpy(&there, at + 8 * k, sizeof there);
      if (u->combines) bits = combined(there, bits);
      memcpy(at + 8 * k, &bits, sizeof bits);
    }
  }
}

static uint64_t contents_of(const run *u, int array, int round) {
  return (u->seed * ROUNDS + (uint64_t)round) * FIELDS + (uint64_t)array;
}

static void prepare(run *u, int round) {
  int a;
  for (a = 0; a < u->arrays; a++) {
    const exchange *e = u->e[a % u->parts];
    fill(e, 1, ~contents_of(u, a, round), (unsigned char *)u->to[a]);
    fill(e, 0, contents_of(u, a, round), (unsigned char *)(uintptr_t)u->from[a]);
  }
}

/* Whether all bytes of the destination are as they must be; in place, those of elements. */
static int arrived(const run *u, int a, int round) {
  const exchange *e = u->e[a % u->parts];
  const size_t bytes = exchange_bytes(e, 1);
  unsigned char *wanted;
  int same;
  if (e->place[1] < 0 || u->to[a] == NULL) return 1;
  wanted = (unsigned char *)malloc(bytes + 1);
  if (u->in_place)
    memcpy(wanted, u->to[a], bytes);
  else
    fill(e, 1, ~contents_of(u, a, round), wanted);
  expect(u, e, contents_of(u, a, round), wanted, (const unsigned char *)u->to[a]);
  same = bytes == 0 || memcmp(wanted, u->to[a], bytes) == 0;
  free(wanted);
  return same;
}

/* ---- plans ---- */

/* A field, in memory of its own or, if it has room, in the arena. */
static void draw_field(run *u, int k) {
  const MPI_Datatype types[FIELDS] = {MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_INT};
  const int type = u->parts > 1 ? k : (int)(u->seed / 2 % 2);
  static const size_t bytes[FIELDS] = {8, 16, sizeof(int)};
  exchange *e = u->e[k] = exchange_new(MPI_COMM_WORLD);
  int a, side;
  exchange_draw(e, u->seed * FIELDS + (uint64_t)k);
  e->type = types[type];
  e->bytes = bytes[type];
  e->in_place = u->in_place;
  e->count = u->parts > 1 ? 1 : u->arrays;
  exchange_allocate(e);
  for (a = 0; a < e->count; a++)
    for (side = 0; side < 2; side++) {
      const int shares = u->s->arena && e->held[side][a] != NULL && (u->seed + 2) % 5 > 0 &&
                         exchange_bytes(e, 0) + exchange_bytes(e, 1) < SLOT_BYTES;
      void *array = shares ? slot[u->in_place ? 0 : side][k + a] : e->held[side][a];
      if (side == 0)
        u->from[k + a] = array;
      else
        u->to[k + a] = array;
    }
}

static int create(run *u, char *message, size_t size) {
  static int numbers[FIELDS];
  const int fixed = u->arrays == 1 && !u->combines && u->seed % 5 == 0;
  redist_part part[FIELDS];
  redist_options options;
  int k;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  for (k = 0; k < u->parts; k++) {
    part[k].from = &u->e[k]->layouts[0];
    part[k].to = &u->e[k]->layouts[1];
    part[k].element = u->e[k]->type;
    numbers[k] = numbers_of(u->e[k]);
    part[k].combine = u->combines && numbers[k] > 0 ? combine : NULL;
    part[k].context = &numbers[k];
  }
  options.wire = REDIST_WIRE_FLOAT;
  options.method = u->s->method;
  options.node_ranks = u->s->node_ranks;
  options.max_buffer = (size_t)u->s->max_buffer;
  options.arena = u->s->arena ? arena : NULL;
  options.in_place = u->in_place;
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-6;
  options.message = message;
  options.message_size = size;
  if (u->s->arena) test_set_fetching(arena, u->seed % 2 == 0 ? NEAR : FAR_APART);
  if (u->parts > 1)
    return redist_plan_create_parts(MPI_COMM_WORLD, u->parts, part, &options, &u->plan);
  options.arrays = u->arrays;
  options.combine = part->combine;
  options.context = part->context;
  options.fixed_from = fixed ? u->from[0] : NULL;
  options.fixed_to = fixed ? u->to[0] : NULL;
  return redist_plan_create(MPI_COMM_WORLD, part->from, part->to, part->element, &options,
                            &u->plan);
}

static int execute(const run *u, int round) {
  int code;
  if (round == 0 && u->seed % 3 == 0) return redist_execute_many(u->plan, u->from, u->to);
  code = redist_start_many(u->plan, u->from, u->to);
  if (code != REDIST_OK) return code;
  return u->seed % 3 == 1 ? exchange_finish_by_testing(u->plan) : redist_wait(u->plan);
}

/* The bytes that this rank sends: of doubles half. */
static int64_t sent(const run *u) {
  int64_t bytes = 0;
  int a, r;
  for (a = 0; a < u->arrays; a++)
    for (r = 0; r < test_size(); r++) {
      const exchange *e = u->e[a % u->parts];
      const int64_t each = numbers_of(e) > 0 ? 4 * numbers_of(e) : (int64_t)e->bytes;
      if (r != test_rank())
        bytes += test_volume(&e->layouts[0], test_rank(), &e->layouts[1], r) * each;
    }
  return bytes;
}

static void check_run(run *u) {
  char message[300] = "";
  redist_stats stats;
  int a, k, round, counted, good = 1, code = create(u, message, sizeof message);
  const int lacks = u->in_place && code == REDIST_ERR_MEMORY && u->s->max_buffer > 0;
  memset(&stats, 0, sizeof stats);
  for (round = 0; round < ROUNDS && code == REDIST_OK && good; round++) {
    prepare(u, round);
    code = execute(u, round);
    for (a = 0; a < u->arrays; a++) good = good && arrived(u, a, round);
    good = test_sum(!good) == 0;
  }
  if (u->plan != NULL) redist_plan_stats(u->plan, &stats);
  counted = u->plan == NULL || stats.phases > 1 || stats.method == REDIST_NODES ||
            stats.bytes_sent == sent(u);
  test_case_all((code == REDIST_OK || lacks) && good && counted && stats.method != REDIST_ALLTOALLW,
                "%s, seed %d, %d parts, %d arrays%s%s: code %d, %ld bytes sent, %s, %s", u->s->name,
                (int)u->seed, u->parts, u->arrays, u->combines ? ", combined" : "",
                u->in_place ? ", in place" : "", code, (long)stats.bytes_sent,
                good ? "right" : "wrong", message);
  redist_plan_free(&u->plan);
  for (k = 0; k < u->parts; k++) {
    exchange_release(u->e[k]);
    free(u->e[k]);
  }
}

static void check_random(const setting *s, uint64_t seed) {
  run u;
  int k;
  memset(&u, 0, sizeof u);
  u.s = s;
  u.seed = seed;
  u.parts = seed % 4 == 3 && s->method != REDIST_MULTIPHASE ? FIELDS : 1;
  u.arrays = u.parts > 1 ? FIELDS : seed % 4 == 2 ? 2 : 1;
  u.in_place = seed % 4 == 1 && u.parts == 1;
  u.combines = !u.in_place && seed / 4 % 2 == 1;
  for (k = 0; k < u.parts; k++) draw_field(&u, k);
  check_run(&u);
}

/* Combining by the library's function: a double and a complex one. */
static void check_axpby(int is_complex) {
  enum { N = 100 };
  const redist_layout from = redist_layout_1d(redist_block(N, test_size())),
                      to = redist_layout_1d(redist_cyclic(N, test_size()));
  redist_axpby axpby = {REDIST_DOUBLE, {3, 0}, {2, 0}, 0};
  const int each = is_complex ? 2 : 1;
  redist_options options;
  redist_plan *plan = NULL;
  double a[2 * N], b[2 * N];
  int64_t i;
  int k, code, good = 1;
  if (is_complex) axpby.type = REDIST_COMPLEX_DOUBLE;
  for (i = 0; i < 2 * N; i++) b[i] = 0.1 * (double)i;
  for (i = 0; i < N; i++)
    for (k = 0; k < each && redist_layout_owner(&from, &i) == test_rank(); k++)
      a[redist_layout_offset(&from, &i) * each + k] = 1 / (1.5 + (double)(i + 1000 * k));
  memset(&options, 0, sizeof options);
  options.wire = REDIST_WIRE_FLOAT;
  options.combine = redist_combine_axpby;
  options.context = &axpby;
  code = redist_plan_create(MPI_COMM_WORLD, &from, &to,
                            is_complex ? MPI_C_DOUBLE_COMPLEX : MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, b);
  for (i = 0; i < N; i++)
    for (k = 0; k < each && redist_layout_owner(&to, &i) == test_rank(); k++) {
      const int64_t at = redist_layout_offset(&to, &i) * each + k;
      const double x = of_bits(rounded(1 / (1.5 + (double)(i + 1000 * k))));
      good = good && fabs(b[at] - (2 * (0.1 * (double)at) + 3 * x)) < 1e-14 * fabs(b[at]);
    }
  test_case_all(code == REDIST_OK && good, "axpby of %d doubles: code %d", each, code);
  redist_plan_free(&plan);
}

static redist_options in_place(redist_wire wire, int combines) {
  static const redist_op sum = {MPI_SUM, MPI_DOUBLE};
  redist_options options;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.wire = wire;
  options.combine = combines ? redist_combine_op : NULL;
  options.context = (void *)(uintptr_t)&sum;
  return options;
}

/* In place, rows of a list that stay are not rounded, whatever the view splits, or (inner -1) merges
   across another axis; those of two rows in every 8 that change places are. Combining, which needs
   to know what stays, is not refused. */
static void check_stays(int inner, int swapped, int combines) {
  enum { ROWS = 8, WIDTH = 3, RANKS = 16 };
  const int size = test_size(), first = ROWS * test_rank();
  int64_t begin[RANKS + 1], index[2][RANKS * ROWS];
  redist_layout view[2];
  const redist_options options = in_place(REDIST_WIRE_FLOAT, combines);
  redist_plan *plan = NULL;
  double a[2 * ROWS * WIDTH];
  const int row = inner < 0 ? 2 * WIDTH : WIDTH, apart[3] = {0, 2, 1};
  /* runs that are split by 4 or merged are copied whole, even if some of their elements stay */
  const int whole = swapped && (inner == 4 || inner < 0);
  int k, side, code, good = 1;
  for (k = 0; k <= size; k++) begin[k] = ROWS * k;
  for (k = 0; k < ROWS * size; k++) {
    index[0][k] = index[1][k] = k;
    if (swapped && (k % 8 == 2 || k % 8 == 5)) index[1][k] = k + (k % 8 == 2 ? 3 : -3);
  }
  for (side = 0; side < 2; side++) {
    const redist_axis rows = redist_lists(ROWS * size, begin, index[side], size);
    view[side] = redist_layout_3d(rows, redist_whole(WIDTH), redist_whole(row / WIDTH));
    if (inner > 0) view[side] = redist_split(view[side], 0, inner);
    if (inner < 0) view[side] = redist_merged(redist_permuted(view[side], apart), 0);
  }
  for (k = 0; k < ROWS * row; k++) a[k] = number(9, first * row + k, 0);
  code = redist_plan_create(MPI_COMM_WORLD, &view[0], &view[1], MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, a);
  for (k = 0; k < ROWS * row && !combines; k++) {
    const int at = (int)(index[1][first + k / row] - first) * row + k % row;
    const double x = number(9, first * row + at, 0);
    good = good && (bits_of(a[k]) == (at == k ? bits_of(x) : rounded(x)) ||
                    (whole && bits_of(a[k]) == rounded(x)));
  }
  test_case_all(code == REDIST_OK && good, "in place, split by %d, %s%s: code %d, %s", inner,
                swapped ? "two rows swapped" : "all stays", combines ? ", combined" : "", code,
                good ? "right" : "wrong");
  redist_plan_free(&plan);
}

/* In place, the rows of a merged view from `skip` on go to rows start, start + step, ... of a list,
   which lies `skip` rows further on, or are added to them: then not those that stay, unless the plan
   is refused. Each rank alone. */
static void check_merged(const int64_t *rows_of, int skip, int start, int step, int rows,
                         int combines) {
  enum { ROWS = 8, WIDTH = 3, DEEP = 2, ROW = WIDTH * DEEP, CELLS = (ROWS + 2) * ROW };
  static const int64_t begin[2] = {0, ROWS};
  const int axes[3] = {0, 2, 1}, equal = step == 1; /* distances in runs */
  const int64_t offset = (int64_t)skip * ROW;
  const redist_axis across[3] = {redist_lists(ROWS, begin, rows_of, 1), redist_whole(WIDTH),
                                 redist_whole(DEEP)};
  redist_layout from = redist_layout_3d(redist_whole(ROWS), across[1], across[2]),
                to = redist_at_offsets(redist_layout_nd(3, across), &offset);
  const redist_options options = in_place(REDIST_WIRE_EXACT, combines);
  redist_plan *plan = NULL;
  double a[CELLS], wanted[CELLS];
  int k, code;
  from = redist_merged(redist_permuted(redist_section(from, 0, skip, rows, 1), axes), 0);
  to = redist_merged(redist_permuted(redist_section(to, 0, start, rows, step), axes), 0);
  for (k = 0; k < CELLS; k++) wanted[k] = a[k] = k + 1;
  for (k = skip * ROW; k < (ROWS + skip) * ROW; k++) {
    const int row = (int)rows_of[k / ROW - skip], at = (row - start) / step;
    if (at >= 0 && at < rows && at + skip != k / ROW && start + at * step == row)
      wanted[k] = a[(at + skip) * ROW + k % ROW] + (combines ? a[k] : 0);
  }
  code = redist_plan_create(MPI_COMM_SELF, &from, &to, MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, a);
  test_case_all(code == REDIST_OK ? memcmp(a, wanted, sizeof a) == 0
                                  : combines && code == REDIST_ERR_ARGUMENT && !equal,
                "merged rows from %d to row %d, %d, ...%s: code %d", skip, start, start + step,
                combines ? ", combined" : "", code);
  redist_plan_free(&plan);
}

static void check_all_merged(int combines) {
  static const int64_t rows[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}};
  int skip;
  for (skip = 0; skip < 3; skip += 2) {
    check_merged(rows[0], skip, 0, 1, 8 - skip, combines);
    check_merged(rows[0], skip, 2, 1, 6 - skip, combines);
    check_merged(rows[0], skip, 0, 2, 4, combines);                /* the first stays */
    check_merged(rows[0], skip, 6 - skip, -1, 7 - skip, combines); /* one in the middle does */
    check_merged(rows[1], skip, 0, 1, 8 - skip, combines);         /* the last do */
  }
}

/* Ghost cells of an axis that lies between those merged: filled, rounded, what is owned is not; or
   added to what is owned, which counts once. */
static void check_merged_ghosts(int combines) {
  enum { ROWS = 2, OWNED = 3, WIDTH = OWNED + 2, DEEP = 2 };
  const int axes[3] = {0, 2, 1}, size = test_size(), rank = test_rank();
  const redist_layout bricks =
      redist_with_halo(redist_layout_3d(redist_whole(ROWS), redist_block(OWNED * size, size),
                                        redist_whole(DEEP)),
                       1, 1, 1);
  const redist_layout bare = redist_merged(redist_permuted(bricks, axes), 0);
  const redist_layout full =
      redist_merged(redist_permuted(redist_with_ghosts(bricks, 1, REDIST_PERIODIC), axes), 0);
  const redist_options options =
      in_place(combines ? REDIST_WIRE_EXACT : REDIST_WIRE_FLOAT, combines);
  redist_plan *plan = NULL;
  double a[ROWS * WIDTH * DEEP];
  int k, code, good = 1;
  for (k = 0; k < ROWS * WIDTH * DEEP; k++) a[k] = combines ? 1 : 0.1 + rank;
  code = redist_plan_create(MPI_COMM_WORLD, combines ? &full : &bare, combines ? &bare : &full,
                            MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, a);
  for (k = 0; k < ROWS * WIDTH * DEEP; k++) {
    const int column = k / DEEP % WIDTH, owned = column > 0 && column <= OWNED;
    const int of = (rank + size + (column > OWNED) - (column == 0)) % size;
    double wanted = owned ? 0.1 + rank : of_bits(rounded(0.1 + of));
    if (combines) wanted = column == 1 || column == OWNED ? 2 : 1;
    good &= bits_of(a[k]) == bits_of(wanted);
  }
  test_case_all(code == REDIST_OK && good, "ghost cells between merged axes%s: code %d, %s",
                combines ? ", combined" : "", code, good ? "right" : "wrong");
  redist_plan_free(&plan);
}

/* In place, one row of each pair goes to where the other lies, or where the next begins: those that
   stay are not rounded. */
static void check_pairs(redist_order order, int pairs, int width, int from, int to,
                        int64_t offset) {
  enum { CELLS = 100, RANKS = 16 };
  const int size = test_size();
  const int row = order == REDIST_ROW_MAJOR ? width : 1,
            column = order == REDIST_ROW_MAJOR ? 1 : 2 * pairs;
  const redist_layout rows = redist_layout_2d(redist_block(2 * pairs * size, size),
                                              redist_whole(width)),
                      all = redist_split(redist_memory_order(rows, order), 0, 2);
  int64_t offsets[RANKS];
  redist_layout view[2];
  const redist_options options = in_place(REDIST_WIRE_FLOAT, 0);
  redist_plan *plan = NULL;
  double a[CELLS];
  uint64_t wanted[CELLS];
  int k, j, code, good = 1;
  for (k = 0; k < size; k++) offsets[k] = offset;
  view[0] = redist_section(all, 1, from, 1, 1);
  view[1] = redist_at_offsets(redist_section(all, 1, to, 1, 1), offsets);
  for (k = 0; k < CELLS; k++) wanted[k] = bits_of(a[k] = number(3, k, 0));
  for (k = 0; k < pairs; k++)
    for (j = 0; j < width; j++) {
      const int there = (int)offset + (2 * k + to) * row + j * column,
                here = (2 * k + from) * row + j * column;
      if (here != there) wanted[there] = rounded(a[here]);
    }
  code = redist_plan_create(MPI_COMM_WORLD, &view[0], &view[1], MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, a);
  for (k = 0; k < CELLS; k++) good = good && bits_of(a[k]) == wanted[k];
  test_case_all(code == REDIST_OK && good, "row %d of %d pairs of %d to row %d, %d on: code %d, %s",
                from, pairs, width, to, (int)offset, code, good ? "right" : "wrong");
  redist_plan_free(&plan);
}

/* ---- what is reported and refused ---- */

/* The report says how elements travel, and that another method replaces MPI_Alltoallw. */
static void check_report(void) {
  const redist_layout from = redist_layout_1d(redist_block(12, test_size())),
                      to = redist_layout_1d(redist_cyclic(12, test_size()));
  FILE *file = test_rank() == 0 ? tmpfile() : NULL;
  char text[4096] = "";
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  options.wire = REDIST_WIRE_FLOAT;
  options.method = REDIST_ALLTOALLW;
  code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_plan_print(plan, file);
  if (file != NULL) {
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
  }
  test_case_all(code == REDIST_OK &&
                    (test_rank() != 0 || (strstr(text, "travel as float") != NULL &&
                                          strstr(text, "does not work here") != NULL)),
                "report: code %d, %s", code, text);
  redist_plan_free(&plan);
}

static void check_outcome(int wanted, const char *sentence, MPI_Datatype element, int wire) {
  const redist_layout from = redist_layout_1d(redist_block(12, test_size())),
                      to = redist_layout_1d(redist_cyclic(12, test_size()));
  redist_part part[2];
  redist_options options;
  redist_plan *plan = NULL;
  char message[300] = "";
  int k, parts, code;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  memcpy(&options.wire, &wire, sizeof options.wire); /* perhaps no redist_wire */
  options.message = message;
  options.message_size = sizeof message;
  for (k = 0; k < 2; k++) {
    part[k].from = &from;
    part[k].to = &to;
    part[k].element = k == 0 ? MPI_CHAR : element;
  }
  for (parts = 1; parts <= 2; parts++) {
    code = redist_plan_create_parts(MPI_COMM_WORLD, parts, &part[parts % 2], &options, &plan);
    test_case_all(code == wanted && strstr(message, sentence) != NULL && !plan == (wanted != 0),
                  "%d parts, code %d, wanted %d: '%s', wanted '%s'", parts, code, wanted, message,
                  sentence);
    redist_plan_free(&plan);
  }
}

static void check_types(void) {
  const MPI_Datatype doubles[] = {
      MPI_DOUBLE,           MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
      MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX,   MPI_REAL8,
      MPI_COMPLEX16};
  const MPI_Datatype others[] = {MPI_FLOAT, MPI_INT64_T, MPI_C_FLOAT_COMPLEX, MPI_LONG_DOUBLE};
  MPI_Datatype pair;
  size_t k;
  for (k = 0; k < sizeof doubles / sizeof *doubles; k++)
    if (doubles[k] != MPI_DATATYPE_NULL) check_outcome(REDIST_OK, "", doubles[k], 1);
  for (k = 0; k < sizeof others / sizeof *others; k++) {
    check_outcome(REDIST_ERR_TYPE, "for double and double complex", others[k], 1);
    check_outcome(REDIST_OK, "", others[k], 0);
  }
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  check_outcome(REDIST_ERR_TYPE, "for double and double complex", pair, 1);
  MPI_Type_free(&pair);
  check_outcome(REDIST_ERR_ARGUMENT, "options.wire is 7", MPI_DOUBLE, 7);
  if (test_size() > 1)
    check_outcome(REDIST_ERR_MISMATCH, "wire is 1, but 0 on rank 0", MPI_DOUBLE, test_rank() == 1);
}

/* Rows by their owners, each a unit of several numbers, which may be many. */
static void check_owners(int width, int back) {
  enum { ROWS = 200, WIDEST = 40 };
  const int size = test_size(), rank = test_rank();
  int owner[ROWS], good, i, k;
  static double from[ROWS * WIDEST], to[ROWS * WIDEST];
  test_random r = {77};
  redist_options options;
  redist_plan *plan = NULL;
  redist_layout rows = redist_layout_2d(redist_block(ROWS, size), redist_whole(width)), owned;
  const redist_layout *source = back ? &owned : &rows, *destination = back ? &rows : &owned;
  for (i = 0; i < ROWS; i++) owner[i] = (int)test_between(&r, 0, size - 1);
  owned = redist_layout_2d(redist_owners(ROWS, owner, size), redist_whole(width));
  memset(&options, 0, sizeof options);
  options.wire = REDIST_WIRE_FLOAT;
  for (i = 0; i < ROWS; i++)
    for (k = 0; k < width; k++) {
      const int64_t index[2] = {i, k};
      if (redist_layout_owner(source, index) == rank)
        from[redist_layout_offset(source, index)] = number(5, i * width + k, 0);
    }
  good = redist_plan_create(MPI_COMM_WORLD, source, destination, MPI_DOUBLE, &options, &plan) ==
             REDIST_OK &&
         redist_execute(plan, from, to) == REDIST_OK;
  for (i = 0; i < ROWS; i++)
    for (k = 0; k < width; k++) {
      const int64_t index[2] = {i, k};
      if (redist_layout_owner(destination, index) == rank)
        good &= bits_of(to[redist_layout_offset(destination, index)]) ==
                rounded(number(5, i * width + k, 0));
    }
  redist_plan_free(&plan);
  test_case_all(good, "rows of %d numbers %s owners", width, back ? "from" : "to");
}

int main(int argc, char **argv) {
  uint64_t seed;
  int k, side, cases = argc > 1 ? atoi(argv[1]) : 40;
  MPI_Init(&argc, &argv);
  redist_arena_create(MPI_COMM_WORLD, 2 * FIELDS * (SLOT_BYTES + 64), &arena);
  for (k = 0; k < 2 * FIELDS; k++)
    slot[k % 2][k / 2] = (unsigned char *)redist_arena_alloc(arena, SLOT_BYTES);
  for (seed = 1; seed <= (uint64_t)cases; seed++)
    for (k = 0; k < SETTINGS; k++) check_random(&settings[k], seed);
  for (k = 0; k < 2; k++) check_axpby(k);
  for (k = 1; k <= 40; k++) check_owners(k, k % 2);
  for (k = 0; k < 5 * 4; k++)
    if (k < 3 * 4 || k % 4 < 3) check_stays((int[]){0, 1, 8, 4, -1}[k / 4], k % 2, k / 2 % 2);
  for (k = 0; k < 2; k++) check_all_merged(k), check_merged_ghosts(k);
  for (k = 0; k < 8 * 2 * 2 * 5; k++)
    for (side = 0; side < 2; side++)
      check_pairs(side ? REDIST_ROW_MAJOR : REDIST_COLUMN_MAJOR, 1 + k % 2 * 5, 1 + k / 20,
                  k / 2 % 2, k / 4 % 2, k / 4 % 5);
  check_report();
  check_types();
  redist_arena_free(&arena);
  k = test_report_all("wire");
  MPI_Finalize();
  return k;
}
