/* Tests the numbers printed in the field's papers, at the papers' own sizes and process counts.
   MIT licence, see LICENSE. */
#include "serial.h"

enum { CYCLE = TEST_CYCLIC, BLOCK = TEST_BLOCK, BLOCKS = TEST_BLOCK_CYCLIC, WHOLE = TEST_WHOLE };

/* A distribution in a paper's notation: (kind, kind, ..) on a grid. */
typedef struct {
  int kind[3], procs[3];
  int64_t block[3];
} distribution;

static test_model *deal(int ndim, const int64_t *shape, const distribution *d) {
  test_axis axes[3];
  test_array array;
  for (int k = 0; k < ndim; k++)
    axes[k] = test_axis_of(d->kind[k], shape[k], d->block[k], d->procs[k]);
  array = serial_array(ndim, axes);
  return serial_new(&array);
}

/* Compares the traffic with a loop over elements, and moves the array by redist_move; returns the
   traffic. */
static redist_traffic check_pair(const test_model *from, const test_model *to, const char *what) {
  static serial_matrix m;
  redist_traffic wanted, t;
  memset(&t, 0, sizeof t);
  serial_volumes(from, to, &m);
  wanted = serial_traffic(&m);
  test_case(
      redist_traffic_between(&from->layout, &to->layout, 0, &t) == REDIST_OK &&
          serial_same_traffic(&t, &wanted),
      "%s: kept %lld of %lld, messages %lld of %lld, max_sends %lld of %lld, max_received %lld of %lld",
      what, (long long)t.local, (long long)wanted.local, (long long)t.messages,
      (long long)wanted.messages, (long long)t.max_sends, (long long)wanted.max_sends,
      (long long)t.max_received, (long long)wanted.max_received);
  test_case(serial_check_move(from, to), "%s: move", what);
  return t;
}

/* ---- Kalns 1995 ---- */

static void check_kalns_three_axes(void) {
  const int64_t shape[] = {20, 12, 10};
  const distribution before = {{BLOCK, WHOLE, CYCLE}, {4, 1, 10}, {0, 0, 0}};
  const distribution after = {{CYCLE, CYCLE, BLOCK}, {5, 4, 2}, {0, 0, 0}};
  test_model *from = deal(3, shape, &before), *to = deal(3, shape, &after);
  int sixty = redist_layout_places(&from->layout) == 40 && redist_layout_places(&to->layout) == 40;
  for (int rank = 0; rank < 40; rank++)
    sixty = sixty && redist_layout_local_size(&from->layout, rank) == 60 &&
            redist_layout_local_size(&to->layout, rank) == 60;
  test_case(sixty, "Kalns, 20x12x10: 60 elements on each of 40 processes before and after");
  check_pair(from, to, "Kalns, 20x12x10");
  free(from);
  free(to);
}

/* Figure 4.1. */
static void check_kalns_partners(void) {
  static const int sends[5] = {1, 1, 1, 0, 0}, receives[5] = {1, 1, 0, 1, 0};
  redist_layout from = redist_layout_1d(redist_block(15, 5)),
                to = redist_layout_1d(redist_cyclic(15, 5));
  for (int rank = 0; rank < 5; rank++) {
    test_case((test_volume(&from, 0, &to, rank) > 0) == sends[rank],
              "Kalns, figure 4.1: process 0 to %d", rank);
    test_case((test_volume(&from, rank, &to, 0) > 0) == receives[rank],
              "Kalns, figure 4.1: process %d to 0", rank);
  }
}

static const struct {
  distribution before, after;
} kalns_cases[] = {
    /* table 6.1: the grids of 20 processes, then of 100 */
    {{{BLOCK, BLOCK}, {5, 4}, {0}}, {{CYCLE, CYCLE}, {5, 4}, {0}}},
    {{{BLOCK, CYCLE}, {5, 4}, {0}}, {{CYCLE, BLOCK}, {5, 4}, {0}}},
    {{{BLOCK, WHOLE}, {20, 1}, {0}}, {{CYCLE, WHOLE}, {20, 1}, {0}}},
    {{{WHOLE, CYCLE}, {1, 20}, {0}}, {{WHOLE, BLOCK}, {1, 20}, {0}}},
    {{{BLOCK, BLOCK}, {10, 10}, {0}}, {{CYCLE, CYCLE}, {10, 10}, {0}}},
    {{{BLOCK, CYCLE}, {10, 10}, {0}}, {{CYCLE, BLOCK}, {10, 10}, {0}}},
    {{{BLOCK, WHOLE}, {100, 1}, {0}}, {{CYCLE, WHOLE}, {100, 1}, {0}}},
    {{{WHOLE, CYCLE}, {1, 100}, {0}}, {{WHOLE, BLOCK}, {1, 100}, {0}}},
};

static void check_kalns_table(int64_t n) {
  const int64_t shape[] = {n, n};
  char what[80];
  for (int k = 0; k < 8; k++) {
    test_model *from = deal(2, shape, &kalns_cases[k].before),
               *to = deal(2, shape, &kalns_cases[k].after);
    snprintf(what, sizeof what, "Kalns, table 6.1, case %d, %lld x %lld", k + 1, (long long)n,
             (long long)n);
    check_pair(from, to, what);
    free(from);
    free(to);
  }
}

/* ---- elements that stay, with the current numbering: Kalns and Ni; Hsu, Chung, Yang and Dow
   ---- */

static const struct {
  const char *what;
  int ndim;
  int64_t shape[2];
  distribution before, after;
  int64_t kept;
} hits[] = {
    {"Kalns, figure 3.2", 1, {16, 0}, {{BLOCK}, {8}, {0}}, {{CYCLE}, {8}, {0}}, 2},
    {"Kalns, figure 3.7",
     2,
     {18, 16},
     {{BLOCK, BLOCK}, {3, 4}, {0}},
     {{BLOCKS, BLOCKS}, {3, 4}, {3, 2}},
     24},
    {"Kalns, figure 3.8",
     2,
     {24, 16},
     {{BLOCK, BLOCK}, {3, 2}, {0}},
     {{BLOCKS, WHOLE}, {6, 1}, {2}},
     64},
    {"Kalns, figure 3.10",
     2,
     {24, 24},
     {{BLOCK, WHOLE}, {6, 1}, {0}},
     {{BLOCKS, BLOCK}, {3, 2}, {2}},
     144},
    {"Hsu, figure 4", 1, {100, 0}, {{BLOCKS}, {5}, {10}}, {{BLOCKS}, {5}, {5}}, 20},
    {"Hsu, figure 6", 1, {100, 0}, {{BLOCKS}, {5}, {5}}, {{BLOCKS}, {5}, {10}}, 20},
    {"Hsu, table 2", 1, {200, 0}, {{BLOCKS}, {50}, {4}}, {{BLOCKS}, {50}, {2}}, 4},
    {"Hsu, M=7 k=3", 1, {42, 0}, {{BLOCKS}, {7}, {6}}, {{BLOCKS}, {7}, {2}}, 6},
};

static void check_hits(void) {
  for (size_t k = 0; k < sizeof hits / sizeof *hits; k++) {
    test_model *from = deal(hits[k].ndim, hits[k].shape, &hits[k].before),
               *to = deal(hits[k].ndim, hits[k].shape, &hits[k].after);
    redist_traffic t = check_pair(from, to, hits[k].what);
    test_case(t.local == hits[k].kept, "%s: kept %lld of %lld", hits[k].what, (long long)t.local,
              (long long)hits[k].kept);
    test_case(t.total == t.local + t.moved, "%s: kept and moved make the total", hits[k].what);
    free(from);
    free(to);
  }
}

/* ---- Kaushik, Huang, Johnson and Sadayappan 1994 ---- */

static const struct {
  int64_t n;
  int procs;
  int64_t block_before, block_after;
  int to_others, with_itself; /* most messages of one process; -1 where the paper does not say */
} kaushik[] = {
    {192, 8, 24, 3, 7, -1},      {192, 8, 24, 12, -1, 2},   {192, 8, 12, 3, -1, 4},
    {27, 9, 1, 3, -1, 3},        {36, 6, 6, 1, -1, 6},      {8192, 16, 256, 16, -1, 16},
    {8192, 16, 256, 64, -1, 4},  {8192, 16, 64, 16, -1, 4}, {16384, 32, 256, 8, -1, 32},
    {16384, 32, 256, 32, -1, 8}, {16384, 32, 32, 8, -1, 4}, {16384, 32, 256, 64, -1, 4},
    {16384, 32, 64, 8, -1, 8},
};

/* The most messages that any process sends, with or without that to itself. */
static int most_messages(const redist_layout *from, const redist_layout *to, int procs,
                         int with_itself) {
  int most = 0;
  for (int a = 0; a < procs; a++) {
    int messages = 0;
    for (int b = 0; b < procs; b++)
      messages += (a != b || with_itself) && test_volume(from, a, to, b) > 0;
    most = messages > most ? messages : most;
  }
  return most;
}

static void check_kaushik(void) {
  for (size_t k = 0; k < sizeof kaushik / sizeof *kaushik; k++) {
    int procs = kaushik[k].procs, itself = kaushik[k].with_itself >= 0;
    redist_layout from =
        redist_layout_1d(redist_block_cyclic(kaushik[k].n, kaushik[k].block_before, procs));
    redist_layout to =
        redist_layout_1d(redist_block_cyclic(kaushik[k].n, kaushik[k].block_after, procs));
    int wanted = itself ? kaushik[k].with_itself : kaushik[k].to_others,
        found = most_messages(&from, &to, procs, itself);
    test_case(found == wanted,
              "Kaushik, %lld elements, CYCLIC(%lld) to CYCLIC(%lld) on %d: %d messages, not %d",
              (long long)kaushik[k].n, (long long)kaushik[k].block_before,
              (long long)kaushik[k].block_after, procs, wanted, found);
  }
}

/* The papers' BLOCK and CYCLIC are the library's. */
static void check_kaushik_names(void) {
  const redist_axis same[][2] = {
      {redist_block(192, 8), redist_block_cyclic(192, 24, 8)},
      {redist_block(27, 9), redist_block_cyclic(27, 3, 9)},
      {redist_block(36, 6), redist_block_cyclic(36, 6, 6)},
      {redist_cyclic(27, 9), redist_block_cyclic(27, 1, 9)},
  };
  const int64_t lengths[] = {192, 27, 36, 27};
  for (int k = 0; k < 4; k++) {
    int equal = 1;
    for (int64_t i = 0; i < lengths[k]; i++)
      equal = equal && redist_axis_owner(&same[k][0], i) == redist_axis_owner(&same[k][1], i) &&
              redist_axis_local(&same[k][0], i) == redist_axis_local(&same[k][1], i);
    test_case(equal, "BLOCK and CYCLIC as CYCLIC(b), pair %d", k);
  }
}

/* ---- Walker and Otto 1996 ---- */

enum { MOST_PROCS = 16, MOST_STEPS = 12 };

/* Figures 6, 8 and 9: the destination of what process p sends at step k, and the source of what it
   receives. */
typedef struct {
  int procs, steps;
  int send_to[MOST_STEPS][MOST_PROCS];
} walker_table;

static const walker_table walker_tables[] = {
    {4, 3, {{0, 3, 2, 1}, {1, 0, 3, 2}, {2, 1, 0, 3}}},
    {16,
     12,
     {{0, 4, 8, 12, 3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13},
      {12, 0, 4, 8, 15, 3, 7, 11, 14, 2, 6, 10, 13, 1, 5, 9},
      {8, 12, 0, 4, 11, 15, 3, 7, 10, 14, 2, 6, 9, 13, 1, 5},
      {4, 8, 12, 0, 7, 11, 15, 3, 6, 10, 14, 2, 5, 9, 13, 1},
      {1, 5, 9, 13, 0, 4, 8, 12, 3, 7, 11, 15, 2, 6, 10, 14},
      {13, 1, 5, 9, 12, 0, 4, 8, 15, 3, 7, 11, 14, 2, 6, 10},
      {9, 13, 1, 5, 8, 12, 0, 4, 11, 15, 3, 7, 10, 14, 2, 6},
      {5, 9, 13, 1, 4, 8, 12, 0, 7, 11, 15, 3, 6, 10, 14, 2},
      {2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12, 3, 7, 11, 15},
      {14, 2, 6, 10, 13, 1, 5, 9, 12, 0, 4, 8, 15, 3, 7, 11},
      {10, 14, 2, 6, 9, 13, 1, 5, 8, 12, 0, 4, 11, 15, 3, 7},
      {6, 10, 14, 2, 5, 9, 13, 1, 4, 8, 12, 0, 7, 11, 15, 3}}},
};

static int greatest_common_divisor(int a, int b) {
  return b ? greatest_common_divisor(b, a % b) : a;
}

/* The one number in [0, p k) that leaves a on division by k and b on division by p. */
static int with_remainders(int k, int a, int p, int b) {
  int number = 0;
  while (number % k != a || number % p != b) number++;
  return number;
}

/* B(k, p): the block that process p sends at step k. */
static int sent_block(int procs, int steps, int step, int process) {
  int g = greatest_common_divisor(procs, steps), alpha = process % g,
      beta = (alpha - step % g + g) % g;
  int number = with_remainders(steps / g, step / g, procs / g, process / g);
  return g * number + procs * (steps / g) * beta + alpha;
}

/* C(k, q): the block that process q receives at step k. */
static int received_block(int procs, int steps, int step, int process) {
  int g = greatest_common_divisor(procs, steps);
  return steps * process + g * (step / g) + (process / (procs / g) + step % g) % g;
}

typedef struct {
  redist_axis small, large; /* blocks of `elements`, and of `steps` times as many */
  int64_t elements;
} walker_axes;

static int source_agrees(const walker_axes *a, const walker_table *t, int step, int process) {
  int block = sent_block(t->procs, t->steps, step, process);
  int64_t first = block * a->elements, local = block / t->procs * a->elements;
  return redist_axis_owner(&a->small, first) == process &&
         redist_axis_local(&a->small, first) == local &&
         redist_axis_global(&a->small, process, local) == first &&
         redist_axis_owner(&a->large, first) == t->send_to[step][process] &&
         block / t->steps % t->procs == t->send_to[step][process];
}

/* q receives into slot C mod K of its one block, from the process that sends to q in this step. */
static int destination_agrees(const walker_axes *a, const walker_table *t, int step, int process) {
  int block = received_block(t->procs, t->steps, step, process), source;
  int64_t first = block * a->elements, local = block % t->steps * a->elements;
  source = redist_axis_owner(&a->small, first);
  return redist_axis_owner(&a->large, first) == process &&
         redist_axis_local(&a->large, first) == local &&
         redist_axis_global(&a->large, process, local) == first && source >= 0 &&
         t->send_to[step][source] == process &&
         sent_block(t->procs, t->steps, step, source) == block;
}

static int step_is_permutation(const walker_table *t, int step) {
  int seen = 0;
  for (int p = 0; p < t->procs; p++) seen |= 1 << t->send_to[step][p];
  return seen == (1 << t->procs) - 1;
}

static void check_walker_otto(const walker_table *t, int64_t elements) {
  walker_axes a;
  int64_t n = elements * t->procs * t->steps;
  a.elements = elements;
  a.small = redist_block_cyclic(n, elements, t->procs);
  a.large = redist_block_cyclic(n, elements * t->steps, t->procs);
  for (int step = 0; step < t->steps; step++) {
    int good = step_is_permutation(t, step);
    for (int process = 0; process < t->procs; process++)
      good =
          good && source_agrees(&a, t, step, process) && destination_agrees(&a, t, step, process);
    test_case(good, "Walker and Otto, P=%d K=%d r=%lld, step %d", t->procs, t->steps,
              (long long)elements, step);
  }
}

/* Growing r to K r: K messages from each process, itself included, of one small block per
   superblock. */
static void check_walker_messages(const walker_table *t, int64_t elements) {
  int64_t n = elements * t->procs * t->steps;
  redist_layout small = redist_layout_1d(redist_block_cyclic(n, elements, t->procs));
  redist_layout large = redist_layout_1d(redist_block_cyclic(n, elements * t->steps, t->procs));
  test_case(most_messages(&small, &large, t->procs, 1) == t->steps &&
                most_messages(&large, &small, t->procs, 1) == t->steps,
            "Walker and Otto, P=%d K=%d: K messages", t->procs, t->steps);
  test_case(test_volume(&small, 1, &large, t->send_to[0][1]) == elements,
            "Walker and Otto, P=%d K=%d: one block each", t->procs, t->steps);
}

/* ---- Namugwanya 2021 ---- */

typedef enum { REMAINDER_LAST, REMAINDER_FIRST, REMAINDERS } remainder_rule;

/* The thesis's mapping as described: floor(n / p) each, and the remainder to one process. */
static test_axis remainder_axis(int64_t n, int procs, remainder_rule rule) {
  test_axis a = test_axis_of(TEST_CUTS, n, 0, procs);
  int64_t each = 0, rest;
  while ((each + 1) * procs <= n) each++;
  rest = n - each * procs;
  for (int k = 0; k < procs; k++)
    a.cuts[k + 1] =
        a.cuts[k] + each + ((rule == REMAINDER_LAST ? k == procs - 1 : k == 0) ? rest : 0);
  return a;
}

static void check_remainder_cuts(int64_t n, int procs) {
  int64_t cuts[TEST_PLACES + 1] = {0};
  test_axis last = remainder_axis(n, procs, REMAINDER_LAST),
            first = remainder_axis(n, procs, REMAINDER_FIRST);
  redist_cuts_remainder_last(n, procs, cuts);
  test_case(memcmp(cuts, last.cuts, (size_t)(procs + 1) * sizeof *cuts) == 0,
            "remainder last, %lld over %d", (long long)n, procs);
  redist_cuts_remainder_first(n, procs, cuts);
  test_case(memcmp(cuts, first.cuts, (size_t)(procs + 1) * sizeof *cuts) == 0,
            "remainder first, %lld over %d", (long long)n, procs);
}

static test_array matrix_on_grid(const int64_t *shape, const int *grid, remainder_rule rule) {
  test_axis axes[2];
  for (int d = 0; d < 2; d++) axes[d] = remainder_axis(shape[d], grid[d], rule);
  return serial_array(2, axes);
}

typedef enum { RESHAPE, TRANSPOSE, ROTATE, ROTATE_BACK, OPERATIONS } operation;

/* The new matrix is filled from a view of the old one. */
static void add_operation(operation what, test_array *before) {
  test_operation view = test_operation_of(what == TRANSPOSE ? TEST_TRANSPOSE : TEST_ROTATE, 0);
  view.value = what == ROTATE ? -1 : 1;
  if (what != RESHAPE) test_add(before, view);
}

static void check_operation(operation what, const int64_t *shape, const int *old_grid,
                            const int *new_grid, remainder_rule rule) {
  static const char *const names[OPERATIONS] = {"reshape", "transpose", "rotation",
                                                "rotation back"};
  char text[120];
  test_array before = matrix_on_grid(shape, old_grid, rule), after;
  test_model *from, *to;
  add_operation(what, &before);
  from = serial_new(&before);
  after = matrix_on_grid(from->table.shape, new_grid, rule);
  to = serial_new(&after);
  snprintf(text, sizeof text, "Namugwanya, %s of %dx%d, %dx%d to %dx%d, remainder %s", names[what],
           (int)shape[0], (int)shape[1], old_grid[0], old_grid[1], new_grid[0], new_grid[1],
           rule == REMAINDER_LAST ? "last" : "first");
  check_pair(from, to, text);
  free(from);
  free(to);
}

static void check_namugwanya(const int64_t *shape) {
  static const int grids[][2][2] = {
      {{2, 3}, {3, 2}}, {{2, 2}, {4, 1}}, {{6, 1}, {1, 6}}, {{2, 2}, {2, 2}},
      {{1, 4}, {2, 2}}, {{3, 2}, {2, 4}}, {{4, 4}, {1, 1}}, {{4, 2}, {2, 4}},
  };
  for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
    for (int what = 0; what < OPERATIONS; what++)
      for (int rule = 0; rule < REMAINDERS; rule++)
        check_operation((operation)what, shape, grids[k][0], grids[k][1], (remainder_rule)rule);
}

int main(void) {
  static const int64_t matrices[][2] = {{6, 4}, {9, 9}};
  check_kalns_three_axes();
  check_kalns_partners();
  check_kalns_table(120);
  check_kalns_table(203);
  check_hits();
  check_kaushik();
  check_kaushik_names();
  for (int k = 0; k < 2; k++) {
    check_walker_otto(&walker_tables[k], 1);
    check_walker_otto(&walker_tables[k], 5);
    check_walker_messages(&walker_tables[k], 5);
    check_namugwanya(matrices[k]);
  }
  for (int64_t n = 0; n <= 23; n++)
    for (int procs = 1; procs <= 7; procs++) check_remainder_cuts(n, procs);
  return test_report("papers");
}
