/* redist tests: schedules against element loops and the papers' figures; closed forms, memory, bad
   input.
   MIT licence, see LICENSE. */
#include <limits.h>

#include "failing_malloc.h"
#include "serial.h"
#include "walker_otto.h"

/* How many of the tested schedules, without and with tables, had one axis, had several, and took
   fewer steps than their axes one after the other; and how many axes fanned out and in. */
static struct { long alone, several, shared, fans; } tested[2];
static long all_meet, in_turn, short_views;

/* ---- any schedule against moves element by element ---- */

static int64_t largest_degree(const serial_matrix *m) {
  int64_t most = 0;
  for (int a = 0; a < SERIAL_RANKS; a++) {
    int64_t sends = 0, receives = 0;
    for (int b = 0; b < SERIAL_RANKS; b++) {
      sends += m->volume[a][b] > 0;
      receives += m->volume[b][a] > 0;
    }
    serial_raise(&most, sends);
    serial_raise(&most, receives);
  }
  return most;
}

/* One step: both ends agree, and the pair has something to exchange and meets for the first
   time. */
static int step_is_right(const redist_schedule *s, int step, serial_matrix *left) {
  int send_to[SERIAL_RANKS], receive_from[SERIAL_RANKS], good = 1;
  for (int a = 0; a < SERIAL_RANKS; a++) {
    good = good && redist_schedule_step(s, a, step, &send_to[a], &receive_from[a]) == REDIST_OK;
    good = good && send_to[a] >= -1 && send_to[a] < SERIAL_RANKS && receive_from[a] >= -1 &&
           receive_from[a] < SERIAL_RANKS;
  }
  for (int a = 0; a < SERIAL_RANKS && good; a++) {
    good = good && (send_to[a] < 0 || receive_from[send_to[a]] == a) &&
           (receive_from[a] < 0 || send_to[receive_from[a]] == a);
    if (good && send_to[a] >= 0) {
      good = left->volume[a][send_to[a]] > 0;
      left->volume[a][send_to[a]] = 0;
    }
  }
  return good;
}

static int nothing_left(const serial_matrix *left) {
  for (int a = 0; a < SERIAL_RANKS; a++)
    for (int b = 0; b < SERIAL_RANKS; b++)
      if (left->volume[a][b] != 0) return 0;
  return 1;
}

/* The most coordinates of an axis with which any coordinate of the other side shares elements, both
   ways, counted element by element; returns whether all do. */
static int axis_degrees(const test_model *from, const test_model *to, int d, int64_t *degree) {
  static unsigned char meets[TEST_PLACES][TEST_PLACES];
  int coords[2][TEST_DIMS], last[2] = {0, 0}, pairs = 0;
  memset(meets, 0, sizeof meets);
  degree[0] = degree[1] = 0;
  for (int64_t e = 0; e < from->table.elements; e++) {
    serial_coords(from, from->table.place[e], coords[0]);
    serial_coords(to, to->table.place[e], coords[1]);
    meets[coords[0][d]][coords[1][d]] = 1;
    for (int side = 0; side < 2; side++)
      last[side] = coords[side][d] > last[side] ? coords[side][d] : last[side];
  }
  for (int a = 0; a <= last[0] || a <= last[1]; a++) {
    int64_t sends = 0, receives = 0;
    for (int b = 0; b <= last[0] || b <= last[1]; b++) {
      sends += meets[a][b];
      receives += meets[b][a];
    }
    pairs += (int)sends;
    serial_raise(&degree[0], sends);
    serial_raise(&degree[1], receives);
  }
  return degree[0] * degree[1] == pairs;
}

static void count_kinds(const test_model *from, const test_model *to, const redist_schedule *s,
                        int tables) {
  int64_t degree[2], steps = 1;
  int out = 0, in = 0, complete = 0;
  for (int d = 0; d < from->array.ndim; d++) {
    const int meet = axis_degrees(from, to, d, degree);
    out += degree[0] > degree[1];
    in += degree[0] < degree[1];
    complete += meet && degree[0] * degree[1] > 1;
    steps *= degree[0] > degree[1] ? degree[0] : degree[1];
  }
  tested[tables].alone += from->array.ndim == 1;
  tested[tables].several += from->array.ndim > 1;
  tested[tables].shared += redist_schedule_steps(s) < steps;
  all_meet += !tables && complete > 1;
  tested[tables].fans += out > 0 && in > 0;
  in_turn += redist_schedule_steps(s) == steps && steps > 1 && from->array.ndim > 1;
}

static void check_schedule(const test_model *from, const test_model *to, const char *what,
                           int number) {
  const redist_layout *x = &from->layout, *y = &to->layout;
  const int64_t before = live_blocks;
  static serial_matrix left;
  redist_schedule *s;
  int64_t wanted;
  int step = 0, code;
  serial_volumes(from, to, &left);
  wanted = largest_degree(&left);
  code = redist_schedule_create(x, y, 0, &s);
  if (test_case(code == REDIST_OK && redist_schedule_steps(s) == wanted,
                "%s %d: code %d, %d steps instead of %d", what, number, code,
                redist_schedule_steps(s), (int)wanted)) {
    while (step < redist_schedule_steps(s) && step_is_right(s, step, &left)) step++;
    test_case(step == redist_schedule_steps(s), "%s %d: step %d of %d", what, number, step,
              redist_schedule_steps(s));
    test_case(step < redist_schedule_steps(s) || nothing_left(&left),
              "%s %d: pairs that never meet", what, number);
    count_kinds(from, to, s, live_blocks - before > 3); /* itself, and its listed ranks */
  }
  redist_schedule_free(&s);
  if (test_failed > 0 && test_failed < 3) {
    redist_layout_print(x, stdout);
    redist_layout_print(y, stdout);
  }
}

/* Pairs of every view, halo, order and kind of axis, on few places. */
static void check_random_views(int number) {
  test_model *from, *to;
  test_random r;
  int64_t shape[TEST_DIMS];
  int ndim;
  r.state = (uint64_t)number;
  ndim = (int)test_between(&r, 1, 4);
  serial_random_shape(&r, ndim, shape);
  from = serial_random(&r, 24, ndim, shape);
  to = serial_random(&r, 24, ndim, shape);
  check_schedule(from, to, "random views", number);
  free(from);
  free(to);
}

/* ---- pairs of axes of one family, on up to 96 places ---- */

typedef enum {
  FAMILY_WALKER,
  FAMILY_INTERVALS,
  FAMILY_FINE,
  FAMILY_ANY,
  FAMILY_LINES,
  FAMILIES
} family;

static const int most_procs[4] = {0, 96, 9, 4};
static const int64_t longest[4] = {0, 400, 60, 14};

/* Blocks of r and of K r on the same processes, either way. */
static void draw_walker(test_random *r, int64_t n, int procs, test_axis *axes) {
  int64_t block = test_between(r, 1, 3);
  int large = (int)test_between(r, 0, 1);
  axes[!large] = test_axis_of(TEST_BLOCK_CYCLIC, n, block, procs);
  axes[large] = test_axis_of(TEST_BLOCK_CYCLIC, n,
                             block * test_between(r, 1, procs < 12 ? procs : 12), procs);
  short_views += n < axes[large].block * procs;
}

/* One interval per coordinate on one side or on both; short blocks on the other. */
static void draw_kinds(test_random *r, family f, int64_t n, int most, test_axis *axes) {
  static const int intervals[] = {TEST_BLOCK, TEST_BALANCED, TEST_CUTS};
  int fine = f == FAMILY_FINE ? (int)test_between(r, 0, 1) : -1;
  for (int side = 0; side < 2; side++) {
    int kind = side == fine ? TEST_BLOCK_CYCLIC : intervals[test_between(r, 0, 2)];
    axes[side] = test_axis_of(kind, n, test_between(r, 1, 3),
                              (int)test_between(r, 1, side == fine ? 1 + most / 6 : most));
    test_draw_cuts(r, &axes[side]);
  }
}

static void draw_axes(test_random *r, family f, int64_t n, int most, test_axis *axes) {
  int whole = (int)test_between(r, 0, 1);
  if (f == FAMILY_WALKER)
    draw_walker(r, n, (int)test_between(r, 1, most), axes);
  else if (f == FAMILY_INTERVALS || f == FAMILY_FINE)
    draw_kinds(r, f, n, most, axes);
  else
    for (int side = 0; side < 2; side++)
      if (f == FAMILY_LINES && side == whole)
        axes[side] = test_axis_of(TEST_WHOLE, n, 1, 1);
      else
        test_draw_axis(r, n, most, 0, &axes[side]);
  for (int side = 0; side < 2; side++)
    axes[side].first = (int)test_between(r, 0, axes[side].procs - 1);
}

/* A section of both sides, often backward, that starts at the same index or at another. */
static void draw_sections(test_random *r, int ndim, const int64_t *shape, test_operation *s) {
  int same = (int)test_between(r, 0, 1);
  s[0] = test_operation_of(TEST_SECTION, 0);
  s[0].axis = (int)test_between(r, 0, ndim - 1);
  s[0].count = test_between(r, (shape[s[0].axis] + 1) / 2, shape[s[0].axis]);
  s[0].step = test_between(r, 0, 1) ? 1 : -1;
  s[1] = s[0];
  for (int side = 0; side < 2; side++)
    s[side].start =
        test_between(r, 0, shape[s[0].axis] - s[0].count) + (s[0].step < 0 ? s[0].count - 1 : 0);
  if (same) s[1].start = s[0].start;
}

static void add_views(test_random *r, int ndim, const int64_t *shape, test_array *arrays) {
  test_operation sections[2], flip = test_operation_of(TEST_FLIP, 0),
                              order = test_operation_of(TEST_GRID_ORDER, 0);
  int sectioned = (int)test_between(r, 0, 1), side = (int)test_between(r, 0, 1);
  draw_sections(r, ndim, shape, sections);
  flip.axis = sections[0].axis;
  order.value = 1;
  for (int k = 0; k < 2 && sectioned; k++) test_add(&arrays[k], sections[k]);
  if (test_between(r, 0, 3) == 0) test_add(&arrays[side], flip);
  if (test_between(r, 0, 1)) test_add(&arrays[side], order);
}

static void check_family(family f, int number) {
  test_axis axes[2][TEST_DIMS], pair[2];
  test_array arrays[2];
  test_model *layouts[2];
  int64_t shape[TEST_DIMS];
  test_random r;
  int ndim;
  r.state = (uint64_t)number;
  ndim = (int)test_between(&r, f == FAMILY_LINES ? 2 : 1, 3);
  for (int d = 0; d < ndim; d++) {
    shape[d] = test_between(&r, 1, longest[ndim]);
    draw_axes(&r, f == FAMILY_LINES && d == ndim - 1 ? FAMILY_ANY : f, shape[d], most_procs[ndim],
              pair);
    axes[0][d] = pair[0];
    axes[1][d] = pair[1];
  }
  for (int side = 0; side < 2; side++) arrays[side] = serial_array(ndim, axes[side]);
  add_views(&r, ndim, shape, arrays);
  for (int side = 0; side < 2; side++) {
    if (test_between(&r, 0, 2)) serial_draw_ranks(&r, &arrays[side]);
    layouts[side] = serial_new(&arrays[side]);
  }
  check_schedule(layouts[0], layouts[1], "family", (int)f * 100000 + number);
  free(layouts[0]);
  free(layouts[1]);
}

static void check_kinds_occurred(int part) {
  for (int tables = 0; tables < 2; tables++) {
    test_case(tested[tables].alone > 300 / part, "one axis, tables %d: only %ld times", tables,
              tested[tables].alone);
    test_case(tested[tables].several > 500 / part, "several axes, tables %d: only %ld times",
              tables, tested[tables].several);
    test_case(tested[tables].fans > 200 / part, "fan out and fan in, tables %d: only %ld times",
              tables, tested[tables].fans);
    test_case(tested[tables].shared > 100 / part, "shared steps, tables %d: only %ld times", tables,
              tested[tables].shared);
  }
  test_case(all_meet > 100 / part, "several axes where all meet: only %ld times", all_meet);
  test_case(in_turn > 500 / part, "axes one after the other: only %ld times", in_turn);
  test_case(short_views > 100 / part,
            "blocks of r and K r on less than a superblock: only %ld times", short_views);
}

/* ---- grids of one shape to grids of another ---- */

static const struct {
  const char *what;
  int64_t shape[3];
  int before[3], after[3];
  int grid_before[3], grid_after[3], steps;
} reshapes[] = {
    {"rows to columns",
     {12, 12},
     {TEST_BLOCK, TEST_WHOLE},
     {TEST_WHOLE, TEST_BLOCK},
     {12, 1},
     {1, 12},
     12},
    {"rows to columns on fewer",
     {12, 12},
     {TEST_BLOCK, TEST_WHOLE},
     {TEST_WHOLE, TEST_CYCLIC},
     {12, 1},
     {1, 5},
     12},
    {"pencils",
     {6, 6, 6},
     {TEST_WHOLE, TEST_BLOCK, TEST_BLOCK},
     {TEST_BLOCK, TEST_WHOLE, TEST_BLOCK},
     {1, 3, 2},
     {3, 1, 2},
     3},
    {"rows to a square grid",
     {16, 16},
     {TEST_BLOCK, TEST_BLOCK},
     {TEST_BLOCK, TEST_BLOCK},
     {16, 1},
     {4, 4},
     4},
    {"4 x 9 to 9 x 4",
     {36, 36},
     {TEST_BLOCK, TEST_BLOCK},
     {TEST_BLOCK, TEST_BLOCK},
     {4, 9},
     {9, 4},
     6},
    {"4 x 5 blocks to 5 x 4 cyclic",
     {40, 40},
     {TEST_BLOCK, TEST_BLOCK},
     {TEST_CYCLIC, TEST_CYCLIC},
     {4, 5},
     {5, 4},
     20},
    {"a single process",
     {5, 7},
     {TEST_WHOLE, TEST_WHOLE},
     {TEST_BLOCK, TEST_CYCLIC},
     {1, 1},
     {2, 3},
     6},
    {"nothing", {5, 0}, {TEST_BLOCK, TEST_BLOCK}, {TEST_BLOCK, TEST_CYCLIC}, {2, 2}, {2, 3}, 0},
};

static test_model *on_grid(int ndim, const int64_t *shape, const int *kinds, const int *grid) {
  test_axis axes[3];
  test_array array;
  for (int d = 0; d < ndim; d++) axes[d] = test_axis_of(kinds[d], shape[d], 1, grid[d]);
  array = serial_array(ndim, axes);
  return serial_new(&array);
}

static void check_reshapes(void) {
  for (size_t k = 0; k < sizeof reshapes / sizeof *reshapes; k++) {
    const int ndim = reshapes[k].grid_before[2] ? 3 : 2;
    test_model *from =
        on_grid(ndim, reshapes[k].shape, reshapes[k].before, reshapes[k].grid_before);
    test_model *to = on_grid(ndim, reshapes[k].shape, reshapes[k].after, reshapes[k].grid_after);
    redist_schedule *s;
    int code;
    check_schedule(from, to, reshapes[k].what, 0);
    code = redist_schedule_create(&from->layout, &to->layout, 0, &s);
    test_case(code == REDIST_OK && redist_schedule_steps(s) == reshapes[k].steps, "%s: %d steps",
              reshapes[k].what, redist_schedule_steps(s));
    redist_schedule_free(&s);
    free(from);
    free(to);
  }
}

/* ---- Walker and Otto 1996, figures 6, 8 and 9 ---- */

/* Axes with blocks of r and of K r over `superblocks` superblocks; starts: the coordinate of block
   0. */
typedef struct {
  redist_axis small, large;
  int64_t r;
  int start_small, start_large;
} walker_axes;

static walker_axes walker_axes_of(const walker_figure *f, int64_t r, int superblocks,
                                  int start_small, int start_large) {
  walker_axes a;
  int64_t n = r * f->procs * f->ratio * superblocks;
  a.r = r;
  a.start_small = start_small % f->procs;
  a.start_large = start_large % f->procs;
  a.small = redist_starting_at(redist_block_cyclic(n, r, f->procs), a.start_small);
  a.large = redist_starting_at(redist_block_cyclic(n, r * f->ratio, f->procs), a.start_large);
  return a;
}

/* The local index of the one block of the first superblock that a process shares with its peer; -1
   unless there is exactly one. */
static int shared_place(const walker_axes *a, const walker_figure *f, int coord, int other_coord) {
  const redist_axis *own = f->receives ? &a->large : &a->small,
                    *other = f->receives ? &a->small : &a->large;
  int found = -1, count = 0;
  for (int place = 0; place < f->ratio; place++)
    if (redist_axis_owner(other, redist_axis_global(own, coord, place * a->r)) == other_coord) {
      found = place;
      count++;
    }
  return count == 1 ? found : -1;
}

/* The schedule's entry for a process and a step of the figure, whose processes are numbered from
   block 0. */
static int64_t walker_number(const walker_axes *a, const walker_figure *f, int process, int peer) {
  const redist_axis *own = f->receives ? &a->large : &a->small;
  const int own_start = f->receives ? a->start_large : a->start_small,
            start = f->receives ? a->start_small : a->start_large;
  const int coord = (process + own_start) % f->procs, place = shared_place(a, f, coord, peer);
  if (peer < 0 || place < 0) return -1;
  return f->entry == WALKER_PROCESS ? (peer + f->procs - start) % f->procs
         : f->entry == WALKER_PLACE ? place
                                    : redist_axis_global(own, coord, place * a->r) / a->r;
}

/* Growing, or shrinking: the same steps with source and destination exchanged. */
static void check_figure(const walker_figure *f, const walker_axes *a, int shrinks) {
  redist_layout small = redist_layout_1d(a->small), large = redist_layout_1d(a->large);
  const int64_t before = live_blocks;
  redist_schedule *s;
  int code = redist_schedule_create(shrinks ? &large : &small, shrinks ? &small : &large, 0, &s);
  if (!test_case(code == REDIST_OK && redist_schedule_steps(s) == f->ratio, "P=%d K=%d: %d steps",
                 f->procs, f->ratio, redist_schedule_steps(s)))
    return;
  for (int step = 0; step < f->ratio; step++)
    for (int process = 0; process < f->procs; process++) {
      int own_start = f->receives ? a->start_large : a->start_small, to = -1, from = -1;
      int64_t found;
      redist_schedule_step(s, (process + own_start) % f->procs, step, &to, &from);
      found = walker_number(a, f, process, f->receives != shrinks ? from : to);
      test_case(found == f->number[step][process],
                "P=%d K=%d %s: step %d, process %d: %d instead of %d", f->procs, f->ratio,
                shrinks ? "shrinking" : "growing", step, process, (int)found,
                f->number[step][process]);
    }
  test_case(live_blocks == before + 1, "P=%d K=%d: no tables", f->procs, f->ratio);
  redist_schedule_free(&s);
}

static void check_figures(void) {
  static const struct {
    int64_t r;
    int superblocks, start_small, start_large;
  } ways[] = {{1, 1, 0, 0}, {5, 3, 0, 0}, {2, 1, 3, 14}};
  for (int k = 0; k < WALKER_FIGURES; k++)
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
      walker_axes a = walker_axes_of(&walker_figures[k], ways[w].r, ways[w].superblocks,
                                     ways[w].start_small, ways[w].start_large);
      check_figure(&walker_figures[k], &a, 0);
      check_figure(&walker_figures[k], &a, 1);
    }
}

/* ---- a million places without tables ---- */

static int pair_is_right(const redist_schedule *s, const redist_layout *x, const redist_layout *y,
                         int rank, int step) {
  int to = -1, from = -1, back = -1, peer = -1;
  int good = redist_schedule_step(s, rank, step, &to, &from) == REDIST_OK;
  if (to >= 0)
    good = good && test_volume(x, rank, y, to) > 0 &&
           redist_schedule_step(s, to, step, &peer, &back) == REDIST_OK && back == rank;
  if (from >= 0)
    good = good && test_volume(x, from, y, rank) > 0 &&
           redist_schedule_step(s, from, step, &peer, &back) == REDIST_OK && peer == rank;
  return good;
}

static void check_many(const char *what, redist_axis from, redist_axis to, int steps) {
  static const int ranks[] = {0, 1, 2, 777, 499999, 500000, 999981, 999982, 999983, 999999};
  redist_layout x = redist_layout_1d(from), y = redist_layout_1d(to);
  const int64_t before = live_blocks;
  redist_schedule *s;
  int code = redist_schedule_create(&x, &y, 0, &s), good = 1;
  test_case(code == REDIST_OK && redist_schedule_steps(s) == steps, "%s: code %d, %d steps", what,
            code, redist_schedule_steps(s));
  test_case(live_blocks == before + 1, "%s: %d blocks of memory held, not one", what,
            (int)(live_blocks - before));
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
    for (int step = 0; step < redist_schedule_steps(s);
         step += redist_schedule_steps(s) < 100 ? 1 : redist_schedule_steps(s) / 5 - 1)
      good = good && pair_is_right(s, &x, &y, ranks[k], step);
  test_case(good, "%s: a step", what);
  redist_schedule_free(&s);
}

static void check_million_places(void) {
  const int million = 1000000;
  const int64_t fine = 42000000, cut = 30000011, ragged = 100000003,
                long_one = INT64_C(1000000000003), far = INT64_C(3) << 40;
  check_many("10^6 places, CYCLIC(2) to CYCLIC(14)", redist_block_cyclic(fine, 2, million),
             redist_starting_at(redist_block_cyclic(fine, 14, million), 5), 7);
  check_many("10^6 places, CYCLIC(14) to CYCLIC(2)", redist_block_cyclic(fine, 14, million),
             redist_block_cyclic(fine, 2, million), 7);
  check_many("10^6 places, BLOCK to balanced on fewer", redist_block(cut, million),
             redist_balanced(cut, 999983), 2);
  check_many("10^6 places, BLOCK to CYCLIC", redist_block(ragged, million),
             redist_cyclic(ragged, million), 101);
  check_many("10^6 places, long BLOCK to CYCLIC", redist_block(long_one, million),
             redist_cyclic(long_one, million), million);
  check_many("10^6 places, CYCLIC to CYCLIC(1) on fewer", redist_block_cyclic(far, 3, million),
             redist_cyclic(far, 999999), million);
  check_many("from one place to 10^6", redist_whole(far), redist_block_cyclic(far, 64, million),
             million);
}

/* ---- memory ---- */

static void check_memory(const char *what, const redist_layout *x, const redist_layout *y,
                         int least) {
  const int64_t before = live_blocks;
  redist_schedule *s;
  int code = REDIST_ERR_MEMORY, failures = 0, good = 1;
  while (code == REDIST_ERR_MEMORY) {
    memset(&s, 0x5a, sizeof s);
    until_failure = failures;
    code = redist_schedule_create(x, y, 0, &s);
    good = good && (code != REDIST_ERR_MEMORY || (s == NULL && live_blocks == before));
    failures += code == REDIST_ERR_MEMORY;
  }
  until_failure = -1;
  test_case(good, "%s: memory fails: nothing is left, no schedule", what);
  test_case(code == REDIST_OK && failures >= least, "%s: code %d after %d failures", what, code,
            failures);
  redist_schedule_free(&s);
  redist_schedule_free(&s);
  test_case(s == NULL && live_blocks == before, "%s: freed, twice", what);
}

static void check_memory_failures(void) {
  static const int ranks[12] = {4, 7, 1, 0, 9, 12, 3, 5, 30, 2, 11, 8};
  redist_layout x = redist_layout_2d(redist_block_cyclic(50, 3, 4), redist_block_cyclic(40, 2, 3));
  redist_layout y = redist_layout_2d(redist_block_cyclic(50, 5, 4), redist_balanced(40, 3));
  redist_layout rows =
      redist_layout_2d(redist_block_cyclic(50, 1, 4), redist_block_cyclic(40, 2, 3));
  redist_layout columns =
      redist_layout_2d(redist_block_cyclic(50, 2, 3), redist_block_cyclic(40, 4, 4));
  redist_layout blocks = redist_layout_1d(redist_block(40, 4)),
                cycles = redist_layout_1d(redist_cyclic(40, 5));
  check_memory("tables", &x, &y, 10);
  x = redist_on_ranks(x, ranks);
  check_memory("tables and listed ranks", &x, &y, 12);
  check_memory("joined tables", &rows, &columns, 10);
  check_memory("no tables", &blocks, &cycles, 0);
}

/* ---- bad input ---- */

static void expect_refused(const char *what, const redist_layout *x, const redist_layout *y,
                           int wanted) {
  redist_schedule *s;
  int code;
  memset(&s, 0x5a, sizeof s);
  code = redist_schedule_create(x, y, 0, &s);
  test_case(code == wanted && s == NULL, "%s: code %d", what, code);
  redist_schedule_free(&s);
}

static void check_bad_layouts(void) {
  redist_layout good = redist_layout_1d(redist_block(10, 2)),
                longer = redist_layout_1d(redist_block(11, 2));
  redist_layout flat = redist_layout_2d(redist_block(10, 2), redist_whole(1)),
                bad = redist_layout_1d(redist_block_cyclic(10, 0, 2));
  redist_layout places = redist_layout_2d(redist_block(10, INT_MAX), redist_block(10, 2));
  test_case(redist_schedule_create(&good, &good, 0, NULL) == REDIST_ERR_ARGUMENT,
            "no schedule to fill");
  expect_refused("no source", NULL, &good, REDIST_ERR_ARGUMENT);
  expect_refused("no destination", &good, NULL, REDIST_ERR_ARGUMENT);
  expect_refused("a longer axis", &good, &longer, REDIST_ERR_SHAPE);
  expect_refused("one more axis", &good, &flat, REDIST_ERR_SHAPE);
  expect_refused("a bad source", &bad, &good, REDIST_ERR_LAYOUT);
  expect_refused("a bad destination", &good, &bad, REDIST_ERR_LAYOUT);
  expect_refused("too many places", &places, &places, REDIST_ERR_OVERFLOW);
}

static void check_bad_steps(void) {
  redist_layout x = redist_layout_1d(redist_block(10, 2)),
                y = redist_layout_1d(redist_cyclic(10, 3));
  redist_schedule *s;
  int to = 7, from = 7, sends = 0, receives = 0;
  redist_schedule_create(&x, &y, 0, &s);
  test_case(redist_schedule_steps(s) == 3, "2 blocks to 3 cycles: %d steps",
            redist_schedule_steps(s));
  test_case(redist_schedule_step(NULL, 0, 0, &to, &from) == REDIST_ERR_ARGUMENT, "no schedule");
  test_case(redist_schedule_step(s, 0, 0, NULL, &from) == REDIST_ERR_ARGUMENT,
            "nowhere to write whom to send to");
  test_case(redist_schedule_step(s, 0, 0, &to, NULL) == REDIST_ERR_ARGUMENT,
            "nowhere to write whom to receive from");
  test_case(redist_schedule_step(s, 0, -1, &to, &from) == REDIST_ERR_ARGUMENT, "step -1");
  test_case(redist_schedule_step(s, 0, 3, &to, &from) == REDIST_ERR_ARGUMENT, "step 3 of 3");
  test_case(to == 7 && from == 7, "an error writes nothing");
  test_case(redist_schedule_step(s, -5, 0, &to, &from) == REDIST_OK && to == -1 && from == -1,
            "rank -5 is idle");
  test_case(redist_schedule_step(s, INT_MAX, 2, &to, &from) == REDIST_OK && to == -1 && from == -1,
            "rank INT_MAX is idle");
  for (int step = 0; step < 3; step++) {
    sends += redist_schedule_step(s, 2, step, &to, &from) != REDIST_OK || to != -1;
    receives += from >= 0;
  }
  test_case(sends == 0 && receives == 2, "rank 2, which only receives: %d sends, %d receives",
            sends, receives);
  test_case(redist_schedule_free(&s) == REDIST_OK && s == NULL, "freed");
  test_case(redist_schedule_steps(s) == 0 &&
                redist_schedule_step(s, 0, 0, &to, &from) == REDIST_ERR_ARGUMENT,
            "a freed schedule has no steps");
  test_case(redist_schedule_free(&s) == REDIST_OK, "freed twice");
  test_case(redist_schedule_free(NULL) == REDIST_ERR_ARGUMENT, "nothing to free");
}

int main(int argc, char **argv) {
  static const int pairs[FAMILIES] = {900, 900, 700, 500, 500};
  const int part = argc > 1 ? atoi(argv[1]) : 1; /* one case of so many */
  check_figures();
  check_reshapes();
  for (int k = 0; k < 1500; k += part) check_random_views(k);
  for (int f = 0; f < FAMILIES; f++)
    for (int k = 0; k < pairs[f]; k += part) check_family((family)f, k);
  check_kinds_occurred(part);
  check_million_places();
  check_memory_failures();
  check_bad_layouts();
  check_bad_steps();
  test_case(live_blocks == 0, "%d blocks of memory never freed", (int)live_blocks);
  return test_report("schedule");
}
