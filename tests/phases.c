/* redist tests: the cost model and multiphase routes: Kaushik's figures, all chains of small cases,
   random pairs.
   MIT licence, see LICENSE. */
#include <math.h>

#include "failing_malloc.h"
#include "oracle.h"

enum { WORLD = 12, MOST_BETWEEN = 6 };

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static const redist_cost messages_only = {1, 0}, elements_only = {0, 1};

static redist_cost cost_of_pair(double per_message, double per_element) {
  redist_cost cost;
  cost.per_message = per_message;
  cost.per_byte = per_element;
  return cost;
}

/* How many layouts lie between, elements of one byte; the negative of an error. */
static int find_route(const redist_layout *from, const redist_layout *to, const redist_cost *cost,
                      int max, redist_layout *between) {
  int stops = -7;
  const int code = redist_phases(from, to, 1, cost, max, between, &stops);
  test_case(code == REDIST_OK ? stops >= 0 && stops <= max : stops == 0, "code %d, %d stops", code,
            stops);
  return code == REDIST_OK ? stops : -code;
}

static redist_layout cyclic(int64_t n, int64_t block, int procs) {
  return redist_layout_1d(redist_block_cyclic(n, block, procs));
}

static double chain_cost(const redist_layout *from, const redist_layout *to,
                         const redist_cost *cost, int n, const redist_layout *between) {
  double sum = 0;
  for (int k = 0; k <= n; k++)
    sum += test_cost(k == 0 ? from : &between[k - 1], k == n ? to : &between[k], 1, cost);
  return sum;
}

static int close_to(double a, double b, double apart) { return a - b < apart && b - a < apart; }

static int same_owners(const redist_layout *a, const redist_layout *b, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (redist_layout_owner(a, &i) != redist_layout_owner(b, &i)) return 0;
  return 1;
}

/* ---- Kaushik, Huang, Johnson and Sadayappan 1994 ---- */

static const struct {
  int64_t n;
  int procs;
  int64_t before, after;
  int degree; /* a copy to itself counted */
} degrees[] = {
    {192, 8, 24, 3, 8},      {192, 8, 24, 12, 2},   {192, 8, 12, 3, 4},
    {27, 9, 1, 3, 3},        {36, 6, 6, 1, 6},      {8192, 16, 256, 16, 16},
    {8192, 16, 256, 64, 4},  {8192, 16, 64, 16, 4}, {16384, 32, 256, 8, 32},
    {16384, 32, 256, 32, 8}, {16384, 32, 32, 8, 4}, {16384, 32, 256, 64, 4},
    {16384, 32, 64, 8, 8},
};

static void check_degrees(void) {
  for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++) {
    redist_layout from = cyclic(degrees[k].n, degrees[k].before, degrees[k].procs);
    redist_layout to = cyclic(degrees[k].n, degrees[k].after, degrees[k].procs);
    const redist_cost cost = {3, 0.5};
    double wanted = 3 * degrees[k].degree + 8 * 0.5 * (double)(degrees[k].n / degrees[k].procs);
    test_case(test_cost(&from, &to, 1, &messages_only) == degrees[k].degree,
              "Kaushik, pair %d: degree", (int)k);
    test_case(test_cost(&to, &from, 1, &messages_only) == degrees[k].degree,
              "Kaushik, pair %d back: degree", (int)k);
    test_case(test_cost(&from, &to, 8, &cost) == wanted, "Kaushik, pair %d: cost", (int)k);
  }
}

/* The sums r1 + r2 of the cheapest two phases, and r1 + r2 + ... of any number of them. */
static const struct {
  int64_t n;
  int procs;
  int64_t before, after;
  int direct, two, any;
} splits[] = {
    {192, 8, 24, 3, 8, 6, 6},
    {36, 6, 6, 1, 6, 5, 5},
    {27, 9, 1, 3, 3, 3, 3},
    {8192, 16, 256, 16, 16, 8, 8},
    {16384, 32, 256, 8, 32, 12, 10},
    {8192, 16, 16, 256, 16, 8, 8},
    {65536, 32, 2048, 64, 32, 12, 10},
    {65536, 32, 2048, 1, 32, 32, 22},
    {12 * 12 * 35, 12, 12, 1, 12, 7, 7},
};

static void check_splits(void) {
  redist_layout between[MOST_BETWEEN];
  for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
    redist_layout from = cyclic(splits[k].n, splits[k].before, splits[k].procs);
    redist_layout to = cyclic(splits[k].n, splits[k].after, splits[k].procs);
    int one = find_route(&from, &to, &messages_only, 1, between);
    test_case(one == (splits[k].two < splits[k].direct) &&
                  chain_cost(&from, &to, &messages_only, one, between) == splits[k].two,
              "Kaushik, split %d: %d between", (int)k, one);
    one = find_route(&from, &to, &messages_only, MOST_BETWEEN, between);
    test_case(one >= 0 && chain_cost(&from, &to, &messages_only, one, between) == splits[k].any,
              "Kaushik, split %d: %d of any number between", (int)k, one);
    test_case(find_route(&from, &to, &elements_only, MOST_BETWEEN, between) == 0,
              "Kaushik, split %d: messages for nothing", (int)k);
    test_case(find_route(&from, &to, &messages_only, 0, NULL) == 0,
              "Kaushik, split %d: none allowed", (int)k);
  }
}

/* Where one block size is the best between two, it is that one. */
static void check_best_block(void) {
  redist_layout between[1], from = cyclic(8192, 256, 16), to = cyclic(8192, 16, 16),
                            best = cyclic(8192, 64, 16);
  test_case(find_route(&from, &to, &messages_only, 1, between) == 1 &&
                same_owners(&between[0], &best, 8192),
            "CYCLIC(64) on 16");
  from = cyclic(16384, 256, 32);
  to = cyclic(16384, 8, 32);
  test_case(find_route(&from, &to, &messages_only, 1, between) == 1, "one between on 32");
  best = cyclic(16384, 32, 32);
  if (!same_owners(&between[0], &best, 16384)) best = cyclic(16384, 64, 32);
  test_case(same_owners(&between[0], &best, 16384), "CYCLIC(32) or CYCLIC(64) on 32");
}

/* Block sizes 12 and 28 on 32 processes: by way of their lcm, as Walker and Otto go, 7 + 3
   messages, and by their gcd 3 + 7. What is found is no dearer than either, nor than the straight
   way. */
static void check_walker_otto(void) {
  const int64_t n = 32 * 60 * 7;
  redist_layout between[1], from = cyclic(n, 12, 32), to = cyclic(n, 28, 32),
                            lcm = cyclic(n, 84, 32), gcd = cyclic(n, 4, 32);
  double by_lcm, by_gcd, straight = test_cost(&from, &to, 1, &messages_only), found;
  by_lcm = test_cost(&from, &lcm, 1, &messages_only) + test_cost(&lcm, &to, 1, &messages_only);
  by_gcd = test_cost(&from, &gcd, 1, &messages_only) + test_cost(&gcd, &to, 1, &messages_only);
  found = chain_cost(&from, &to, &messages_only, find_route(&from, &to, &messages_only, 1, between),
                     between);
  test_case(by_lcm == 10 && by_gcd == 10 && found <= 10 && found <= straight,
            "lcm %g, gcd %g, straight %g, found %g", by_lcm, by_gcd, straight, found);
}

/* The paper's two measured crossovers, and the ratio ts/te where the model puts one and two phases
   level:
   (N/P) te = (Q - r1 - r2) ts. */
static const struct {
  int64_t elements;
  int procs;
  int64_t before, after;
  int saved; /* Q - r1 - r2 */
  double ratio;
} crossovers[] = {{28 * 1024, 16, 256, 16, 16 - 4 - 4, 224.0},
                  {64 * 1024, 32, 256, 8, 32 - 8 - 4, 102.4}};

static void check_crossovers(void) {
  redist_layout between[1];
  for (size_t k = 0; k < sizeof crossovers / sizeof *crossovers; k++) {
    const int64_t share = crossovers[k].elements / crossovers[k].procs;
    redist_layout from = cyclic(crossovers[k].elements, crossovers[k].before, crossovers[k].procs);
    redist_layout to = cyclic(crossovers[k].elements, crossovers[k].after, crossovers[k].procs);
    double low = 0, high = 1e6, level = (double)share / crossovers[k].saved;
    redist_cost less = cost_of_pair(level * (1 + 1e-9), 1),
                more = cost_of_pair(level * (1 - 1e-9), 1);
    test_case(find_route(&from, &to, &less, 1, between) == 1, "just below the crossover on %d",
              crossovers[k].procs);
    test_case(find_route(&from, &to, &more, 1, between) == 0, "just above the crossover on %d",
              crossovers[k].procs);
    while (high - low > 1e-6) {
      redist_cost middle = cost_of_pair((low + high) / 2, 1);
      if (find_route(&from, &to, &middle, 1, between) == 1)
        high = middle.per_message;
      else
        low = middle.per_message;
    }
    test_case(close_to(high, crossovers[k].ratio, 1e-5), "ts/te on %d: %g", crossovers[k].procs,
              high);
  }
}

/* ---- small cases: every block size between ---- */

enum { MOST_PROCS = 9 };

/* Q ts + (N/P) te between blocks of `a` and of `b` on as many processes, by looking at every
   element. */
static double phase(int64_t n, int procs, int64_t a, int64_t b, const redist_cost *cost) {
  int meets[MOST_PROCS][MOST_PROCS] = {{0}}, most = 0;
  for (int64_t i = 0; i < n; i++) meets[i / a % procs][i / b % procs] = 1;
  for (int k = 0; k < procs; k++) {
    int sends = 0, receives = 0;
    for (int other = 0; other < procs; other++) {
      sends += meets[k][other];
      receives += meets[other][k];
    }
    most = sends > most ? sends : most;
    most = receives > most ? receives : most;
  }
  return most * cost->per_message + (double)(n / procs) * cost->per_byte;
}

/* Where one block size divides the other and all ranks have as much, one layout between is the best
   of all of which sizes divide; more are cheaper still, or none. */
static void check_chains(int number) {
  test_random r = {(uint64_t)number};
  const int procs = (int)test_between(&r, 1, MOST_PROCS);
  const int64_t b = test_between(&r, 1, 6), k = test_between(&r, 1, 36),
                n = procs * b * k * test_between(&r, 1, 3);
  const int64_t ends[2][2] = {{b * k, b}, {b, b * k}};
  const int grows = test_one_in(&r, 2);
  const redist_cost cost =
      cost_of_pair(1, (double)test_between(&r, 0, 8) / (double)(n / procs) / 8);
  redist_layout between[MOST_BETWEEN], from = cyclic(n, ends[grows][0], procs),
                                       to = cyclic(n, ends[grows][1], procs);
  const double direct = phase(n, procs, b * k, b, &cost);
  double best = direct, found;
  for (int64_t d = 1; d <= k; d++)
    if (k % d == 0) {
      const double seconds =
          phase(n, procs, b * k, b * d, &cost) + phase(n, procs, b * d, b, &cost);
      best = seconds < best ? seconds : best;
    }
  test_case(close_to(test_cost(&from, &to, 1, &cost), direct, 1e-9), "chains %d: cost", number);
  found = chain_cost(&from, &to, &cost, find_route(&from, &to, &cost, 1, between), between);
  test_case(close_to(found, best, 1e-9),
            "chains %d: %ld as blocks of %ld to %ld on %d: found %g, best %g", number, (long)n,
            (long)ends[grows][0], (long)ends[grows][1], procs, found, best);
  found =
      chain_cost(&from, &to, &cost, find_route(&from, &to, &cost, MOST_BETWEEN, between), between);
  test_case(found <= best + 1e-9, "chains %d: longer ones: found %g, best %g", number, found, best);
}

/* ---- one axis on many processes ---- */

enum { MOST_COORDS = 1600 };

/* The most coordinates of either side that any of the other meets, by looking at every element. */
static int degree_by_elements(const redist_layout *from, const redist_layout *to, int64_t n) {
  const int size = MOST_COORDS;
  unsigned char *meets = calloc((size_t)(size * size), 1);
  int *sends = calloc((size_t)size, sizeof *sends),
      *receives = calloc((size_t)size, sizeof *receives), most = 0;
  for (int64_t i = 0; i < n; i++) {
    int a = redist_layout_owner(from, &i), b = redist_layout_owner(to, &i);
    sends[a] += !meets[a * size + b];
    receives[b] += !meets[a * size + b];
    meets[a * size + b] = 1;
  }
  for (int k = 0; k < size; k++) {
    most = sends[k] > most ? sends[k] : most;
    most = receives[k] > most ? receives[k] : most;
  }
  free(meets);
  free(sends);
  free(receives);
  return most;
}

static void check_degree(const char *what, int number, redist_axis x, redist_axis y) {
  redist_layout from = redist_layout_1d(x), to = redist_layout_1d(y);
  int wanted = degree_by_elements(&from, &to, x.count);
  double found = test_cost(&from, &to, 1, &messages_only);
  test_case(found == wanted, "%s %d: %ld on %d and %d: %g messages, not %d", what, number,
            (long)x.count, x.procs, y.procs, found, wanted);
}

/* Whole superblocks, with and without a rest: the formula. */
static void check_formula(int number) {
  test_random r = {(uint64_t)number};
  int64_t block[2], superblock;
  int procs[2];
  for (int side = 0; side < 2; side++) {
    block[side] = test_between(&r, 1, 24);
    procs[side] = (int)test_between(&r, 1, 24);
  }
  superblock = block[0] * procs[0];
  while (superblock % (block[1] * procs[1]) != 0) superblock += block[0] * procs[0];
  superblock += test_one_in(&r, 2) ? 0 : test_between(&r, 0, superblock);
  check_degree("formula", number,
               redist_starting_at(redist_block_cyclic(superblock, block[0], procs[0]),
                                  procs[0] - 1),
               redist_block_cyclic(superblock, block[1], procs[1]));
}

/* Many coordinates, also where only one in the middle has the most partners. */
static void check_many_coordinates(void) {
  const int64_t n = 40009;
  static int64_t cuts[1601];
  for (int k = 0; k <= 1600; k++) cuts[k] = k <= 800 ? 20 * k : n - 20 * (1600 - k);
  check_degree("cuts to CYCLIC", 0, redist_cuts(cuts, 1600), redist_cyclic(n, 1600));
  check_degree("cuts to CYCLIC(1000)", 0, redist_cuts(cuts, 1600),
               redist_starting_at(redist_block_cyclic(n, 1000, 7), 5));
  check_degree("cuts to balanced", 0, redist_cuts(cuts, 1600), redist_balanced(n, 1600));
  check_degree("one process to CYCLIC(3)", 0, redist_block_cyclic(n, 2, 1),
               redist_block_cyclic(n, 3, 11));
  check_degree("BLOCK to CYCLIC", 0, redist_block(n, 1600), redist_cyclic(n, 1600));
  check_degree("BLOCK to CYCLIC(7)", 0, redist_block(n, 1500), redist_block_cyclic(n, 7, 1200));
  check_degree("balanced to BLOCK", 0, redist_balanced(n, 1600), redist_block(n, 1100));
  check_degree("balanced to CYCLIC(3)", 0, redist_balanced(n, 1030),
               redist_block_cyclic(n, 3, 1599));
  check_degree("CYCLIC(5) to CYCLIC(7)", 0, redist_block_cyclic(n, 5, 1301),
               redist_block_cyclic(n, 7, 1201));
  check_degree("CYCLIC(2) to a few", 0, redist_block_cyclic(n, 2, 1500), redist_balanced(n, 9));
}

/* ---- random pairs of layouts ---- */

typedef struct {
  test_array arrays[2];
  test_table tables[2];
  redist_layout layouts[2], between[MOST_BETWEEN];
  int n;
} pair;

/* Deals out one axis alone, over many ranks. */
static void draw_line(test_random *r, int along, test_array *array) {
  static const int kinds[] = {TEST_BLOCK, TEST_BLOCK, TEST_CYCLIC, TEST_BLOCK_CYCLIC,
                              TEST_BALANCED};
  const int places = (int)test_between(r, 8, WORLD);
  int all[WORLD];
  for (int d = 0; d < array->ndim; d++) {
    array->axes[d].kind = d == along ? kinds[test_between(r, 0, 4)] : TEST_WHOLE;
    array->axes[d].procs = d == along ? places : 1;
    array->axes[d].first = 0;
  }
  array->first_rank = (int)test_between(r, 0, WORLD - places);
  test_shuffle(r, all, WORLD);
  memcpy(array->ranks, all, (size_t)places * sizeof *all);
}

/* Now and then rows and columns, or slabs, which pass other process grids. */
static void draw(pair *p, test_random *r) {
  test_draw_pair(r, (int)test_between(r, 1, WORLD), 0, TEST_MEDIUM, &p->arrays[0], &p->arrays[1]);
  if (test_one_in(r, 5))
    for (int side = 0; side < 2; side++)
      draw_line(r, side * (p->arrays[0].ndim - 1), &p->arrays[side]);
  for (int side = 0; side < 2; side++) {
    test_tabulate(&p->arrays[side], &p->tables[side]);
    p->layouts[side] = test_layout(&p->tables[side], -1);
  }
}

/* The most messages of any rank and the most elements on any, by looking at every element. */
static void check_cost(const pair *p, int number) {
  static int64_t volumes[WORLD * WORLD];
  int64_t messages = 0, elements = 0;
  test_volumes(&p->tables[0], &p->tables[1], WORLD, volumes);
  for (int a = 0; a < WORLD; a++) {
    int64_t out = 0, in = 0, sends = 0, receives = 0;
    for (int b = 0; b < WORLD; b++) {
      sends += volumes[a * WORLD + b] > 0;
      receives += volumes[b * WORLD + a] > 0;
      out += volumes[a * WORLD + b];
      in += volumes[b * WORLD + a];
    }
    messages = larger(messages, larger(sends, receives));
    elements = larger(elements, larger(out, in));
  }
  test_case(test_cost(&p->layouts[0], &p->layouts[1], 1, &messages_only) == (double)messages,
            "pair %d: %ld messages, not %g", number, (long)messages,
            test_cost(&p->layouts[0], &p->layouts[1], 1, &messages_only));
  test_case(test_cost(&p->layouts[0], &p->layouts[1], 3, &elements_only) == 3 * (double)elements,
            "pair %d: %ld elements", number, (long)elements);
}

/* A layout on the way is valid, shows the view, and puts no more on a rank than it may, nor on
   ranks that are not there. */
static int may_pass(const pair *p, const redist_layout *x) {
  int64_t most = 0, all = 0;
  int coords[TEST_DIMS],
      there = 0, good = redist_layout_check(x) == REDIST_OK && x->ndim == p->layouts[0].ndim;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < p->tables[side].places; k++) most = larger(most, p->tables[side].owned[k]);
  for (int rank = 0; rank < WORLD; rank++) {
    int used = test_place_of_rank(&p->tables[0], rank) >= 0 ||
               test_place_of_rank(&p->tables[1], rank) >= 0;
    there += redist_layout_coords(x, rank, coords);
    good = good && (used || !redist_layout_coords(x, rank, coords)) &&
           redist_layout_local_size(x, rank) <= 2 * most;
    all += redist_layout_local_size(x, rank);
  }
  return good && there == redist_layout_places(x) && all == p->tables[0].elements;
}

/* Every place has as much as the one that needs most. */
static void **arrays_for(const redist_layout *x, size_t bytes) {
  int places = redist_layout_places(x);
  void **arrays = malloc((size_t)places * sizeof *arrays);
  int64_t most = 0;
  for (int rank = 0; rank < WORLD; rank++) most = larger(most, redist_layout_local_size(x, rank));
  for (int k = 0; k < places; k++) arrays[k] = calloc((size_t)most + 1, bytes);
  return arrays;
}

static void free_arrays(const redist_layout *x, void **arrays) {
  for (int k = 0; k < redist_layout_places(x); k++) free(arrays[k]);
  free(arrays);
}

/* Moves the elements through the chain and compares every byte of the destination with what belongs
   there. */
static int arrives(const pair *p, int n, size_t bytes) {
  void **arrays[MOST_BETWEEN + 2];
  const redist_layout *layouts[MOST_BETWEEN + 2];
  int good = 1;
  for (int k = 0; k <= n + 1; k++) {
    layouts[k] = k == 0 ? &p->layouts[0] : k == n + 1 ? &p->layouts[1] : &p->between[k - 1];
    arrays[k] = arrays_for(layouts[k], bytes);
  }
  for (int k = 0; k < p->tables[0].places; k++)
    test_fill(&p->tables[0], k, bytes, 100, 7, arrays[0][k]);
  for (int k = 0; k < p->tables[1].places; k++)
    test_fill(&p->tables[1], k, bytes, 200, 8, arrays[n + 1][k]);
  for (int k = 0; k <= n; k++)
    good = good && redist_move(layouts[k], (const void *const *)arrays[k], layouts[k + 1],
                               arrays[k + 1], bytes) == REDIST_OK;
  for (int k = 0; k < p->tables[1].places; k++) {
    size_t size = (size_t)p->tables[1].alloc[k] * bytes;
    unsigned char *wanted = malloc(size + 1);
    test_fill(&p->tables[1], k, bytes, 100, 8, wanted);
    good = good && memcmp(wanted, arrays[n + 1][k], size) == 0;
    free(wanted);
  }
  for (int k = 0; k <= n + 1; k++) free_arrays(layouts[k], arrays[k]);
  return good;
}

/* Whether a layout on the way deals out an axis over as many processes as neither end does. */
static int takes_other_grid(const pair *p) {
  int other = 0;
  for (int k = 0; k < p->n; k++)
    for (int d = 0; d < p->between[k].ndim; d++) {
      const int procs = p->between[k].dim[d].axis.procs;
      other |= procs != p->layouts[0].dim[d].axis.procs && procs != p->layouts[1].dim[d].axis.procs;
    }
  return other;
}

/* Returns how many layouts lie between. */
static int check_pair(pair *p, int number) {
  test_random r = {(uint64_t)number};
  redist_cost cost;
  double direct, route;
  int good = 1;
  draw(p, &r);
  check_cost(p, number);
  cost = cost_of_pair(1, test_one_in(&r, 3) ? 0 : 1 / (double)test_between(&r, 1, 1000));
  p->n = find_route(&p->layouts[0], &p->layouts[1], &cost, MOST_BETWEEN, p->between);
  test_case(p->n >= 0 && p->n <= MOST_BETWEEN, "pair %d: %d", number, p->n);
  for (int k = 0; k < p->n; k++) {
    const redist_layout refused = redist_with_halo(p->between[k], 0, -1, 0);
    good = good && may_pass(p, &p->between[k]) && redist_layout_check(&refused) != REDIST_OK;
    for (int d = 0; d < p->between[k].ndim; d++)
      good = good && p->between[k].dim[d].axis.count == p->layouts[0].dim[d].axis.count;
  }
  test_case(good, "pair %d: the layouts between", number);
  direct = test_cost(&p->layouts[0], &p->layouts[1], 1, &cost);
  route = chain_cost(&p->layouts[0], &p->layouts[1], &cost, p->n, p->between);
  test_case(p->n == 0 ? route == direct : route < direct, "pair %d: %d between cost %g, none %g",
            number, p->n, route, direct);
  if (p->n > 0) test_case(arrives(p, p->n, 3), "pair %d: moved through %d", number, p->n);
  return p->n;
}

/* The random pairs must have taken ways of several lengths. */
static void check_pairs(pair *p, int pairs) {
  int lengths[MOST_BETWEEN + 1] = {0}, grids = 0;
  for (int k = 0; k < pairs; k++) {
    int n = check_pair(p, k);
    lengths[n < 0 ? 0 : n]++;
    grids += takes_other_grid(p);
  }
  test_case(grids > pairs / 100, "%d ways by other process grids", grids);
  test_case(lengths[0] > 0 && lengths[1] > pairs / 100 && lengths[2] > 0,
            "ways of no, one and two layouts: %d, %d, %d", lengths[0], lengths[1], lengths[2]);
}

/* ---- several axes: one after the other, or at once ---- */

static void check_axes(void) {
  redist_layout between[MOST_BETWEEN], from, to;
  redist_cost cost = cost_of_pair(1, 1e-6);
  from = redist_layout_2d(redist_block(64, 4), redist_block(64, 4));
  to = redist_layout_2d(redist_cyclic(64, 4), redist_cyclic(64, 4));
  test_case(test_cost(&from, &to, 1, &messages_only) == 16,
            "(BLOCK,BLOCK) to (CYCLIC,CYCLIC) on 4x4");
  test_case(find_route(&from, &to, &cost, 1, between) == 1 &&
                test_cost(&from, &between[0], 1, &messages_only) == 4 &&
                test_cost(&between[0], &to, 1, &messages_only) == 4,
            "one axis after the other, or half of both at once: 4 + 4");
}

/* ---- other process grids ---- */

static redist_layout grid_of_blocks(int ndim, int64_t n, const int *procs) {
  redist_axis axes[3];
  for (int d = 0; d < ndim; d++) axes[d] = redist_block(n, procs[d]);
  return redist_layout_nd(ndim, axes);
}

/* BLOCKs on two grids: rows to columns, pencils to pencils, slabs to pencils, gathering and
   scattering. */
static const struct {
  int ndim;
  int64_t n;
  int before[3], after[3];
  /* messages of a rank: directly, and both phases together by way of one layout */
  int direct, one;
  int even; /* whether that spreads the elements as evenly */
} turns[] = {
    {2, 64, {4, 1}, {1, 4}, 4, 4, 1},
    {2, 64, {16, 1}, {1, 16}, 16, 8, 1},
    {2, 72, {36, 1}, {1, 36}, 36, 12, 1},
    {2, 128, {64, 1}, {1, 64}, 64, 16, 1},
    {2, 4096, {4096, 1}, {1, 4096}, 4096, 128, 1},
    {2, 56, {7, 1}, {1, 7}, 7, 7, 1},
    {2, 121, {11, 1}, {1, 11}, 11, 8, 0},
    {3, 16, {1, 4, 4}, {4, 4, 1}, 4, 4, 1},
    {3, 16, {1, 2, 8}, {8, 2, 1}, 8, 6, 1},
    {3, 64, {1, 8, 8}, {8, 8, 1}, 8, 6, 1},
    {3, 64, {1, 4, 16}, {16, 4, 1}, 16, 8, 1},
    {3, 64, {64, 1, 1}, {1, 8, 8}, 64, 16, 1},
    {1, 64, {64}, {1}, 64, 16, 0},
    {1, 64, {1}, {64}, 64, 16, 0},
};

/* The most messages to others that any rank really sends or receives; -1 after an error. */
static double busiest(const redist_layout *from, const redist_layout *to) {
  redist_traffic traffic = {0};
  const int code = redist_traffic_between(from, to, 0, &traffic);
  return code == REDIST_OK ? (double)larger(traffic.max_sends, traffic.max_receives) : -1;
}

/* A message to itself is one of the degree, and not every rank has one. */
static void check_phase(int turn, const redist_layout *from, const redist_layout *to) {
  const double degree = test_cost(from, to, 1, &messages_only), most = busiest(from, to);
  test_case(most >= degree - 1 && most <= degree, "turn %d: %g messages, degree %g", turn, most,
            degree);
}

/* Q ts + (N/P) te directly, (r1 + r2) ts + 2 (N/P) te by way of one layout: level where Q - r1 - r2
   messages cost what moving the share of a rank does. */
static void check_crossover(int k, const redist_layout *from, const redist_layout *to) {
  const int saved = turns[k].direct - turns[k].one;
  const double share = test_cost(from, to, 1, &elements_only);
  const redist_cost cheap = cost_of_pair(share, saved * (1 - 1e-9)),
                    dear = cost_of_pair(share, saved * (1 + 1e-9));
  redist_layout between[1];
  const int n = find_route(from, to, &cheap, 1, between);
  test_case(n == (saved > 0) && close_to(chain_cost(from, to, &cheap, n, between),
                                         share * (turns[k].one + (n + 1) * cheap.per_byte), 1e-9),
            "turn %d: cheap elements, %d between", k, n);
  test_case(find_route(from, to, &dear, 1, between) == 0, "turn %d: dear elements", k);
}

static void check_turn(int k) {
  redist_layout between[MOST_BETWEEN],
      from = grid_of_blocks(turns[k].ndim, turns[k].n, turns[k].before);
  redist_layout to = grid_of_blocks(turns[k].ndim, turns[k].n, turns[k].after);
  const int n = find_route(&from, &to, &messages_only, 1, between);
  test_case(test_cost(&from, &to, 1, &messages_only) == turns[k].direct &&
                n == (turns[k].one < turns[k].direct) &&
                chain_cost(&from, &to, &messages_only, n, between) == turns[k].one,
            "turn %d: %d between, %g messages", k, n,
            chain_cost(&from, &to, &messages_only, n, between));
  if (n == 1 && redist_layout_places(&from) <= 64) {
    check_phase(k, &from, &between[0]);
    check_phase(k, &between[0], &to);
  }
  test_case(find_route(&from, &to, &elements_only, MOST_BETWEEN, between) == 0,
            "turn %d: messages for nothing", k);
  if (turns[k].even) check_crossover(k, &from, &to);
}

/* Rows to columns pass the square grid: `side` messages, perhaps one of them to oneself, in either
   phase. */
static void check_square(int side) {
  const int64_t n = 2 * side * side;
  redist_layout between[1], rows = redist_layout_2d(redist_block(n, side * side), redist_whole(n)),
                            columns = redist_transposed(rows);
  double there, onwards;
  test_case(find_route(&rows, &columns, &messages_only, 1, between) == 1 &&
                between[0].dim[0].axis.procs == side && between[0].dim[1].axis.procs == side,
            "rows to columns by way of %d x %d", side, side);
  there = busiest(&rows, &between[0]);
  onwards = busiest(&between[0], &columns);
  test_case(there >= side - 1 && there <= side && onwards >= side - 1 && onwards <= side,
            "%g and %g messages by way of %d x %d", there, onwards, side, side);
}

/* Large axes: a formula, or a bounded number of coordinates. */
static void check_large(void) {
  redist_layout between[MOST_BETWEEN];
  redist_layout from = redist_layout_1d(redist_block(INT64_C(1) << 40, 1 << 20));
  redist_layout to = redist_layout_1d(redist_cyclic(INT64_C(1) << 40, 1 << 20));
  test_case(test_cost(&from, &to, 1, &messages_only) == 1 << 20,
            "2^20 processes, BLOCK to CYCLIC: everybody");
  test_case(find_route(&from, &to, &messages_only, 1, between) == 1 &&
                chain_cost(&from, &to, &messages_only, 1, between) == 2048,
            "2^20 processes: 1024 + 1024");
  from = redist_layout_1d(redist_block_cyclic(INT64_C(1) << 61, INT64_C(1) << 61, 3));
  to = redist_layout_1d(redist_block_cyclic(INT64_C(1) << 61, (INT64_C(1) << 60) - 1, 1 << 20));
  test_case(test_cost(&from, &to, 1, &messages_only) == 3,
            "2^61 elements in blocks past 2^62 / processes");
  test_case(find_route(&from, &to, &messages_only, 3, between) >= 0, "a route for 2^61 elements");
}

/* ---- bad input, exhausted memory ---- */

/* Elements of 8 bytes at a second each are as dear as elements of one byte at 8 seconds. */
static void check_bytes(void) {
  redist_layout between[1], from = cyclic(8192, 256, 16), to = cyclic(8192, 16, 16);
  /* 8 messages against 512 elements */
  const redist_cost cheap = cost_of_pair(455, 1), dear = cost_of_pair(455, 8);
  int stops = -7;
  test_case(find_route(&from, &to, &cheap, 1, between) == 1 &&
                find_route(&from, &to, &dear, 1, between) == 0 &&
                redist_phases(&from, &to, 8, &cheap, 1, between, &stops) == REDIST_OK &&
                stops == 0 &&
                redist_phases(&from, &to, 7, &cheap, 1, between, &stops) == REDIST_OK && stops == 1,
            "bytes of an element");
}

static void check_bad_costs(const redist_layout *a, const redist_layout *b) {
  const double bad[] = {-1, NAN, INFINITY};
  redist_layout between[1];
  for (int k = 0; k < 6; k++) {
    redist_cost cost = k < 3 ? cost_of_pair(bad[k], 1) : cost_of_pair(1, bad[k - 3]);
    test_case(test_cost(a, b, 1, &cost) == -1, "cost_of with a bad cost, %d", k);
    test_case(find_route(a, b, &cost, 1, between) == -REDIST_ERR_ARGUMENT,
              "phases with a bad cost, %d", k);
  }
}

static void check_bad_input(void) {
  redist_layout a = redist_layout_2d(redist_whole(3), redist_block(4, 2)), b = redist_transposed(a),
                flat = redist_layout_1d(redist_whole(12));
  redist_layout bad = redist_layout_1d(redist_block_cyclic(8, 0, 2)), between[2];
  const int twice[2] = {1, 1};
  redist_layout doubled = redist_on_ranks(a, twice);
  double seconds;
  int stops = -7;
  test_case(test_cost(&a, &b, 1, &messages_only) == -1, "cost of 3 x 4 to 4 x 3");
  test_case(test_cost(NULL, &a, 1, &messages_only) == -1 &&
                test_cost(&a, NULL, 1, &messages_only) == -1,
            "cost of NULL");
  test_case(test_cost(&a, &a, 1, NULL) == -1, "cost_of without a cost");
  test_case(test_cost(&a, &a, 0, &messages_only) == -1, "cost of elements of 0 bytes");
  test_case(test_cost(&bad, &bad, 1, &messages_only) == -1, "cost of block 0");
  test_case(redist_cost_of(&a, &b, 1, &messages_only, &seconds) == REDIST_ERR_SHAPE &&
                redist_cost_of(&bad, &bad, 1, &messages_only, &seconds) == REDIST_ERR_LAYOUT &&
                redist_cost_of(&a, &a, 0, &messages_only, &seconds) == REDIST_ERR_ARGUMENT &&
                redist_cost_of(&a, &a, 1, &messages_only, NULL) == REDIST_ERR_ARGUMENT &&
                redist_volume(&a, 0, &a, 0, NULL) == REDIST_ERR_ARGUMENT,
            "the errors of costs and volumes");
  test_case(find_route(&a, &b, &messages_only, 1, between) == -REDIST_ERR_SHAPE,
            "phases 3 x 4 to 4 x 3");
  test_case(find_route(&a, &flat, &messages_only, 1, between) == -REDIST_ERR_SHAPE,
            "phases 3 x 4 to 12");
  test_case(find_route(&bad, &bad, &messages_only, 1, between) == -REDIST_ERR_LAYOUT,
            "phases with block 0");
  test_case(find_route(&a, &doubled, &messages_only, 1, between) == 0, "phases with a rank twice");
  test_case(find_route(NULL, &a, &messages_only, 1, between) == -REDIST_ERR_ARGUMENT,
            "phases from NULL");
  test_case(find_route(&a, &a, NULL, 1, between) == -REDIST_ERR_ARGUMENT, "phases without a cost");
  test_case(find_route(&a, &a, &messages_only, -1, between) == -REDIST_ERR_ARGUMENT,
            "phases, -1 at most");
  test_case(find_route(&a, &a, &messages_only, 1, NULL) == -REDIST_ERR_ARGUMENT, "phases to NULL");
  test_case(find_route(&a, &a, &messages_only, 0, NULL) == 0, "phases, 0 at most");
  test_case(redist_phases(&a, &a, 0, &messages_only, 1, between, &stops) == REDIST_ERR_ARGUMENT &&
                stops == 0,
            "phases of elements of 0 bytes");
  test_case(redist_phases(&a, &a, 1, &messages_only, 1, between, NULL) == REDIST_ERR_ARGUMENT,
            "phases to nowhere");
  check_bad_costs(&a, &a);
}

static void check_empty(void) {
  redist_layout a = redist_layout_2d(redist_block(0, 3), redist_block(4, 2)),
                b = redist_layout_2d(redist_cyclic(0, 3), redist_cyclic(4, 2));
  const redist_cost cost = {1, 1};
  redist_layout between[2];
  test_case(test_cost(&a, &b, 8, &cost) == 0, "nothing costs nothing");
  test_case(find_route(&a, &b, &cost, 2, between) == 0, "nothing goes directly");
}

/* Each allocation fails once: the error, or the cost, and no block is left. */
static void check_memory(void) {
  redist_layout a = redist_layout_2d(redist_balanced(50, 3), redist_block(70, 4)),
                b = redist_layout_2d(redist_cyclic(50, 4), redist_cyclic(70, 3));
  redist_layout between[2];
  double cost = test_cost(&a, &b, 1, &messages_only);
  int failures = 0, n, wanted = find_route(&a, &b, &messages_only, 2, between);
  for (int64_t k = 0;; k++) {
    until_failure = k;
    n = find_route(&a, &b, &messages_only, 2, between);
    if (until_failure >= 0) break;
    failures++;
    if (!test_case(n == -REDIST_ERR_MEMORY && live_blocks == 0,
                   "allocation %ld of phases fails: %d, %ld left", (long)k, n, (long)live_blocks))
      break;
  }
  until_failure = -1;
  test_case(wanted == n && failures > 2, "phases again after %d failures", failures);
  until_failure = 0;
  test_case(test_cost(&a, &b, 1, &messages_only) == -1 && live_blocks == 0,
            "cost_of without memory");
  until_failure = -1;
  test_case(cost > 0 && test_cost(&a, &b, 1, &messages_only) == cost, "cost_of again");
}

/* Arguments: the number of random pairs, of small cases. */
int main(int count, char **arguments) {
  int pairs = count > 1 ? atoi(arguments[1]) : 5000, small = count > 2 ? atoi(arguments[2]) : 1500;
  pair *p = malloc(sizeof *p);
  check_degrees();
  check_splits();
  check_best_block();
  check_walker_otto();
  check_crossovers();
  for (int k = 0; k < small; k++) check_chains(k);
  for (int k = 0; k < small / 5; k++) check_formula(k);
  check_many_coordinates();
  check_pairs(p, pairs);
  check_axes();
  for (int k = 0; k < (int)(sizeof turns / sizeof *turns); k++) check_turn(k);
  for (int side = 4; side <= 8; side += 2) check_square(side);
  check_large();
  check_bad_input();
  check_empty();
  check_memory();
  check_bytes();
  test_case(live_blocks == 0, "%ld blocks left", (long)live_blocks);
  free(p);
  return test_report("phases");
}
