/* redist tests: renumbering the destination, against every permutation, a certificate and the
   papers. MIT licence, see LICENSE.
   usage: relabelling [PLACES]     (at most, where all prefer the same ranks, and of bounds) */
#include "failing_malloc.h"

#include "serial.h"

enum { MOST = 2048, SMALL = 9 };

/* How many elements of places ranks have: weight[place * ranks + rank], counted one by one. With
   nodes, an element that the rank's node has counts `unit`, more than all elements together. */
typedef struct {
  int places, ranks;
  int64_t *weight, unit;
} volumes;

static int64_t weight_of(const volumes *v, int place, int rank) {
  return v->weight[(int64_t)place * v->ranks + rank];
}

static int64_t kept_on(const volumes *v, const int *ranks) {
  int64_t kept = 0;
  for (int t = 0; t < v->places; t++) kept += weight_of(v, t, ranks[t]);
  return kept;
}

/* Raises the prices of ranks until each place's own rank is worth the most to it. This ends with
   all unused ranks at 0 if and only if no exchange of ranks keeps more: no permutation needs to be
   tried. usable[rank]: whether it may be chosen. */
static int is_best(const volumes *v, const char *usable, const int *ranks) {
  static int64_t price[MOST];
  static char used[MOST];
  int changed = 1;
  memset(price, 0, sizeof price);
  memset(used, 0, sizeof used);
  for (int t = 0; t < v->places; t++) used[ranks[t]] = 1;
  for (int round = 0; changed && round <= v->places; round++) {
    changed = 0;
    for (int t = 0; t < v->places; t++) {
      int64_t worth = weight_of(v, t, ranks[t]) - price[ranks[t]];
      for (int u = 0; u < v->ranks; u++) {
        if (!usable[u] || weight_of(v, t, u) - price[u] <= worth) continue;
        if (!used[u]) return 0;
        price[u] = weight_of(v, t, u) - worth;
        changed = 1;
      }
    }
  }
  return !changed;
}

/* Whether the ranks are different, and each usable. */
static int are_legal(const char *usable, int places, const int *ranks) {
  static char used[MOST];
  memset(used, 0, sizeof used);
  for (int t = 0; t < places; t++) {
    if (ranks[t] < 0 || ranks[t] >= MOST || !usable[ranks[t]] || used[ranks[t]]) return 0;
    used[ranks[t]] = 1;
  }
  return 1;
}

/* ---- small layouts: all properties ---- */

static test_model *deal_axes(int ndim, const test_axis *axes) {
  test_array array = serial_array(ndim, axes);
  return serial_new(&array);
}

static volumes count_volumes(const test_model *from, const test_model *to, int node_ranks,
                             char *usable) {
  static serial_matrix m;
  volumes v;
  v.unit = INT64_C(1) << 40;
  v.places = to->table.places;
  v.ranks = SERIAL_RANKS;
  v.weight = (int64_t *)serial_malloc((int64_t)v.places * v.ranks, sizeof *v.weight);
  memset(usable, 0, MOST);
  serial_volumes(from, to, &m);
  for (int s = 0; s < from->table.places; s++) usable[from->table.ranks[s]] = 1;
  for (int t = 0; t < v.places; t++) {
    const int rank = to->table.ranks[t];
    int64_t of_node[SERIAL_RANKS] = {0};
    usable[rank] = 1;
    for (int u = 0; node_ranks > 1 && u < v.ranks; u++)
      of_node[u / node_ranks] += m.volume[u][rank];
    for (int u = 0; u < v.ranks; u++)
      v.weight[(int64_t)t * v.ranks + u] =
          m.volume[u][rank] + (node_ranks > 1 ? v.unit * of_node[u / node_ranks] : 0);
  }
  return v;
}

typedef struct {
  const volumes *v;
  const char *usable;
  const int *numbered;
  char used[SERIAL_RANKS];
  int64_t kept, best;
  int stay, most_stay;
} search;

/* Tries all assignments of the places from t on: the most elements kept, and then the most places
   with unchanged ranks. */
static void try_all(search *s, int t) {
  if (t == s->v->places) {
    if (s->kept > s->best || (s->kept == s->best && s->stay > s->most_stay)) {
      s->best = s->kept;
      s->most_stay = s->stay;
    }
    return;
  }
  for (int u = 0; u < s->v->ranks; u++) {
    if (!s->usable[u] || s->used[u]) continue;
    s->used[u] = 1;
    s->kept += weight_of(s->v, t, u);
    s->stay += u == s->numbered[t];
    try_all(s, t + 1);
    s->stay -= u == s->numbered[t];
    s->kept -= weight_of(s->v, t, u);
    s->used[u] = 0;
  }
}

static int agrees_with_all(const volumes *v, const char *usable, const int *numbered,
                           const int *ranks) {
  search s;
  int stay = 0;
  memset(&s, 0, sizeof s);
  s.v = v;
  s.usable = usable;
  s.numbered = numbered;
  s.best = -1;
  try_all(&s, 0);
  for (int t = 0; t < v->places; t++) stay += ranks[t] == numbered[t];
  return kept_on(v, ranks) == s.best && stay == s.most_stay;
}

/* The kept elements by redist_traffic_between, with the destination on these ranks. */
static int64_t library_keeps(const redist_layout *from, const redist_layout *to, const int *ranks) {
  redist_layout there = redist_on_ranks(*to, ranks);
  redist_traffic t;
  return redist_traffic_between(from, &there, 0, &t) == REDIST_OK ? t.local : -1;
}

/* numbered: the destination's own ranks. Returns what is kept; ranks[v->places]. */
static int64_t check_kept(const volumes *v, const char *usable, const redist_layout *from,
                          const redist_layout *to, const int *numbered, int node_ranks,
                          int exhaustive, int *ranks, const char *what) {
  int code = redist_relabel(from, to, node_ranks, ranks);
  int64_t kept = -1;
  if (test_case(code == REDIST_OK && are_legal(usable, v->places, ranks),
                "%s: code %d, or ranks that are not to be had", what, code)) {
    kept = kept_on(v, ranks);
    test_case(is_best(v, usable, ranks), "%s: keeps %lld, not the most", what, (long long)kept);
    test_case(library_keeps(from, to, ranks) == kept % v->unit, "%s: the traffic is not that",
              what);
    test_case(kept > kept_on(v, numbered) ||
                  memcmp(ranks, numbered, (size_t)v->places * sizeof *ranks) == 0,
              "%s: changed for nothing", what);
    if (exhaustive)
      test_case(agrees_with_all(v, usable, numbered, ranks), "%s: not as all permutations say",
                what);
  }
  return kept;
}

/* Returns what is kept; ranks[TEST_PLACES]. */
static int64_t check_relabel(const test_model *from, const test_model *to, int node_ranks,
                             int exhaustive, int *ranks, const char *what) {
  static char usable[MOST];
  volumes v = count_volumes(from, to, node_ranks, usable);
  const int64_t kept = check_kept(&v, usable, &from->layout, &to->layout, to->table.ranks,
                                  node_ranks, exhaustive, ranks, what);
  free(v.weight);
  return kept;
}

enum { RANKS_OF_REPLICAS = 8 };

/* Adds an element of a place to what ranks have. holders[ranks]; it counts once for a node. */
static void add_element(volumes *v, int place, const char *holders, int node_ranks) {
  int64_t *weight = v->weight + (int64_t)place * v->ranks;
  for (int u = 0; u < v->ranks; u++) {
    int on_node = 0;
    for (int w = 0; w < v->ranks && node_ranks > 1; w++)
      on_node |= holders[w] && w / node_ranks == u / node_ranks;
    weight[u] += holders[u] + on_node * v->unit;
  }
}

/* Replicas of the source, of which a node may hold several: each element stays once. Or several of
   its places on a rank. */
static void check_replicas(test_random *r) {
  int64_t weight[RANKS_OF_REPLICAS * RANKS_OF_REPLICAS] = {0};
  const int sources = (int)test_between(r, 1, 4), node_ranks = (int)test_between(r, 0, 4);
  const int copies = (int)test_between(r, 1, RANKS_OF_REPLICAS / sources);
  volumes v = {(int)test_between(r, 1, 5), RANKS_OF_REPLICAS, weight, INT64_C(1) << 40};
  const redist_axis x[2] = {redist_block_cyclic(30, test_between(r, 1, 15), sources),
                            redist_block_cyclic(30, test_between(r, 1, 15), v.places)};
  int held[2][RANKS_OF_REPLICAS], ranks[RANKS_OF_REPLICAS];
  redist_layout from, to;
  char usable[MOST] = {0};
  for (int side = 0; side < 2; side++) test_shuffle(r, held[side], RANKS_OF_REPLICAS);
  for (int k = 0; copies == 1 && k < sources; k++)
    held[0][k] = (int)test_between(r, 0, RANKS_OF_REPLICAS - 1);
  for (int k = 0; k < sources * copies; k++) usable[held[0][k]] = 1;
  for (int k = 0; k < v.places; k++) usable[held[1][k]] = 1;
  for (int64_t i = 0; i < 30; i++) {
    char holders[RANKS_OF_REPLICAS] = {0};
    for (int c = 0; c < copies; c++)
      holders[held[0][redist_axis_owner(&x[0], i) + c * sources]] = 1;
    add_element(&v, redist_axis_owner(&x[1], i), holders, node_ranks);
  }
  from = redist_on_ranks(redist_replicated(redist_layout_1d(x[0]), copies), held[0]);
  to = redist_on_ranks(redist_layout_1d(x[1]), held[1]);
  check_kept(&v, usable, &from, &to, held[1], node_ranks, 1, ranks, "replicas");
}

/* ---- random layouts ---- */

static int union_size(const test_model *from, const test_model *to) {
  int size = from->table.places;
  for (int t = 0; t < to->table.places; t++) {
    int found = 0;
    for (int s = 0; s < from->table.places; s++)
      found |= from->table.ranks[s] == to->table.ranks[t];
    size += !found;
  }
  return size;
}

/* Draws until the ranks are few enough for all permutations; others are checked by the
   certificate. */
static void check_random(test_random *r, int number) {
  int64_t shape[TEST_DIMS];
  int ranks[TEST_PLACES], ndim = (int)test_between(r, 1, 4), tries = 0, small = number % 4 != 0;
  test_model *from, *to;
  char what[80];
  for (;;) {
    serial_random_shape(r, ndim, shape);
    from = serial_random(r, small ? 7 : 24, ndim, shape);
    to = serial_random(r, small ? 7 : 24, ndim, shape);
    if (!small || ++tries > 100 ||
        (from->table.places <= 7 && to->table.places > 1 && to->table.places <= 7 &&
         union_size(from, to) <= SMALL))
      break;
    free(from);
    free(to);
  }
  snprintf(what, sizeof what, "random pair %d, %d axes, %d places to %d", number, ndim,
           from->table.places, to->table.places);
  for (int node_ranks = number % 2; node_ranks < 4; node_ranks += 2)
    check_relabel(from, to, node_ranks, union_size(from, to) <= SMALL && to->table.places <= 7,
                  ranks, what);
  free(from);
  free(to);
}

/* The source on ranks first, first + 1, ..., the destination on other ranks. */
static void check_rank_sets(int sources, int places, int first) {
  const test_axis before = test_axis_of(TEST_BLOCK, 31, 0, sources),
                  after = test_axis_of(TEST_CYCLIC, 31, 0, places);
  test_array array = serial_array(1, &before);
  test_model *from, *to = deal_axes(1, &after);
  int ranks[TEST_PLACES];
  char what[80];
  array.first_rank = first;
  test_add(&array, test_operation_of(TEST_RANKS, 0));
  from = serial_new(&array);
  snprintf(what, sizeof what, "%d ranks from %d on to %d ranks", sources, first, places);
  for (int node_ranks = 0; node_ranks < 4; node_ranks++)
    check_relabel(from, to, node_ranks, union_size(from, to) <= SMALL, ranks, what);
  free(from);
  free(to);
}

/* ---- the papers ---- */

enum { BLOCK = TEST_BLOCK, CYCLE = TEST_CYCLIC, BLOCKS = TEST_BLOCK_CYCLIC, WHOLE = TEST_WHOLE };

typedef struct {
  int kind[2], procs[2];
  int64_t block[2];
} distribution;

static const struct {
  const char *what;
  int ndim;
  int64_t shape[2];
  distribution before, after;
  int64_t numbered, best;
  int ordered, order[8]; /* the paper's own, where it gives one */
} figures[] = {
    {"Kalns, figure 3.2",
     1,
     {16},
     {{BLOCK}, {8}, {0}},
     {{CYCLE}, {8}, {0}},
     2,
     8,
     1,
     {0, 4, 1, 5, 2, 6, 3, 7}},
    {"Kalns, figure 3.7",
     2,
     {18, 16},
     {{BLOCK, BLOCK}, {3, 4}, {0}},
     {{BLOCKS, BLOCKS}, {3, 4}, {3, 2}},
     24,
     72,
     0,
     {0}},
    {"Kalns, figure 3.8",
     2,
     {24, 16},
     {{BLOCK, BLOCK}, {3, 2}, {0}},
     {{BLOCKS, WHOLE}, {6, 1}, {2}},
     64,
     96,
     0,
     {0}},
    {"Kalns, figure 3.10",
     2,
     {24, 24},
     {{BLOCK, WHOLE}, {6, 1}, {0}},
     {{BLOCKS, BLOCK}, {3, 2}, {2}},
     144,
     144,
     0,
     {0}},
    {"Hsu, figure 4",
     1,
     {100},
     {{BLOCKS}, {5}, {10}},
     {{BLOCKS}, {5}, {5}},
     20,
     50,
     1,
     {0, 3, 1, 4, 2}},
    {"Hsu, figure 6",
     1,
     {100},
     {{BLOCKS}, {5}, {5}},
     {{BLOCKS}, {5}, {10}},
     20,
     50,
     1,
     {0, 2, 4, 1, 3}},
    {"Hsu, table 2, k=2", 1, {200}, {{BLOCKS}, {50}, {4}}, {{BLOCKS}, {50}, {2}}, 4, 100, 0, {0}},
    {"Hsu, M=7 k=3", 1, {42}, {{BLOCKS}, {7}, {6}}, {{BLOCKS}, {7}, {2}}, 6, 14, 0, {0}},
};

static test_model *deal(int ndim, const int64_t *shape, const distribution *d) {
  test_axis axes[2];
  for (int k = 0; k < ndim; k++)
    axes[k] = test_axis_of(d->kind[k], shape[k], d->block[k], d->procs[k]);
  return deal_axes(ndim, axes);
}

static void check_figures(void) {
  for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
    test_model *from = deal(figures[k].ndim, figures[k].shape, &figures[k].before);
    test_model *to = deal(figures[k].ndim, figures[k].shape, &figures[k].after);
    int ranks[TEST_PLACES];
    int64_t kept = check_relabel(from, to, 0, to->table.places <= 7, ranks, figures[k].what);
    test_case(kept == figures[k].best, "%s: keeps %lld, the paper %lld", figures[k].what,
              (long long)kept, (long long)figures[k].best);
    test_case(library_keeps(&from->layout, &to->layout, to->table.ranks) == figures[k].numbered,
              "%s: current numbering", figures[k].what);
    if (figures[k].ordered)
      test_case(library_keeps(&from->layout, &to->layout, figures[k].order) == figures[k].best,
                "%s: the paper's order", figures[k].what);
    free(from);
    free(to);
  }
}

/* The order printed by Hsu et al. for 7 processes and k = 3 is not a permutation; figures[] has a
   correct one. */
static void check_hsu_formula(void) {
  const int M = 7, k = 3, printed[7] = {0, 3, 6, 1, 4, 7, 2};
  int same = 1, outside = 0;
  for (int j = 0; j < M; j++) {
    same = same && (j % k) * ((M + k - 1) / k) + j / k == printed[j];
    outside += printed[j] >= M;
  }
  test_case(same && outside == 1,
            "Hsu, M=7 k=3: the printed order names a process that there is not");
}

static int64_t relabelled(redist_axis before, redist_axis after) {
  redist_layout from = redist_layout_1d(before), to = redist_layout_1d(after);
  static int ranks[4096];
  return redist_relabel(&from, &to, 0, ranks) == REDIST_OK ? library_keeps(&from, &to, ranks) : -1;
}

static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* BLOCK of b = z c to CYCLIC(c) on p processes, for every z. */
static void check_kalns_bound(int p, int64_t c) {
  int good = 1;
  for (int64_t z = 1; z <= 40; z++) {
    int64_t b = z * c;
    good = good && relabelled(redist_block(b * p, p), redist_block_cyclic(b * p, c, p)) ==
                       ceiling(b, c * p) * c * p;
  }
  test_case(good, "Kalns: the upper bound for %d processes, blocks of %d", p, (int)c);
}

/* CYCLIC(k r) to CYCLIC(r) on M processes and back, two cycles, for every k. */
static void check_hsu_bound(int M, int64_t r) {
  int down = 1, up = 1;
  for (int64_t k = 1; k <= 40; k++) {
    int64_t n = 2 * M * k * r, most = 2 * ceiling(k, M) * M * r;
    down =
        down && relabelled(redist_block_cyclic(n, k * r, M), redist_block_cyclic(n, r, M)) == most;
    up = up && relabelled(redist_block_cyclic(n, r, M), redist_block_cyclic(n, k * r, M)) == most;
  }
  test_case(down, "Hsu: L_mapping for %d processes, k r to r", M);
  test_case(up, "Hsu: L_mapping for %d processes, r to k r", M);
}

/* ---- keeping the destination, renumbering the source ---- */

static void check_source(void) {
  redist_layout from = redist_layout_2d(redist_block(24, 6), redist_whole(10));
  redist_layout to = redist_layout_2d(redist_block_cyclic(24, 2, 3), redist_block(10, 4)), moved;
  int to_ranks[12], from_ranks[6];
  redist_traffic forward, backward;
  redist_relabel(&from, &to, 0, to_ranks);
  redist_relabel(&to, &from, 0, from_ranks);
  moved = redist_on_ranks(from, from_ranks);
  redist_traffic_between(&moved, &to, 0, &backward);
  moved = redist_on_ranks(to, to_ranks);
  redist_traffic_between(&from, &moved, 0, &forward);
  test_case(forward.local == backward.local, "renumbering either side keeps as much: %lld and %lld",
            (long long)forward.local, (long long)backward.local);
}

/* ---- many places ---- */

/* An axis that is distributed one element after the other. */
static volumes count_line(int64_t n, int64_t block, int sources, const int *cuts_of_places,
                          int64_t to_block, int places) {
  volumes v;
  int place = 0;
  v.places = places;
  v.ranks = MOST;
  v.weight = (int64_t *)serial_malloc((int64_t)places * MOST, sizeof *v.weight);
  for (int64_t i = 0; i < n; i++) {
    if (cuts_of_places != NULL)
      while (i >= cuts_of_places[place + 1]) place++;
    else
      place = (int)(i / to_block % places);
    v.weight[(int64_t)place * MOST + i / block % sources]++;
  }
  return v;
}

static void check_line(const volumes *v, redist_axis before, redist_axis after, const char *what) {
  static char usable[MOST];
  redist_layout from = redist_layout_1d(before), to = redist_layout_1d(after);
  int ranks[MOST], code = redist_relabel(&from, &to, 0, ranks);
  memset(usable, 0, sizeof usable);
  memset(usable, 1, (size_t)(before.procs > after.procs ? before.procs : after.procs));
  test_case(code == REDIST_OK && are_legal(usable, v->places, ranks) && is_best(v, usable, ranks),
            "%s", what);
  free(v->weight);
}

static void check_1024_places(void) {
  static int64_t cuts[1025];
  static int int_cuts[1025];
  volumes v;
  test_random r = {7};
  v = count_line(60000, 7, 1024, NULL, 13, 1000);
  check_line(&v, redist_block_cyclic(60000, 7, 1024), redist_block_cyclic(60000, 13, 1000),
             "1024 ranks to 1000, many to many");
  v = count_line(60000, 9, 1000, NULL, 4, 1024);
  check_line(&v, redist_block_cyclic(60000, 9, 1000), redist_block_cyclic(60000, 4, 1024),
             "1000 ranks to 1024");
  for (int k = 1; k < 1025; k++)
    int_cuts[k] = (int)(cuts[k] = cuts[k - 1] + test_between(&r, 0, 120));
  v = count_line(cuts[1024], 50, 1024, int_cuts, 0, 1024);
  check_line(&v, redist_block_cyclic(cuts[1024], 50, 1024), redist_cuts(cuts, 1024),
             "1024 ranks to uneven cuts");
}

/* Blocks of two sizes distributed over many ranks: every rank has elements of every place. */
static void check_dense(test_random *r, int number) {
  int64_t n = test_between(r, 1000, 20000), block = test_between(r, 1, 30),
          to_block = test_between(r, 1, 30);
  int sources = (int)test_between(r, 10, 100), places = (int)test_between(r, 10, 100);
  volumes v = count_line(n, block, sources, NULL, to_block, places);
  char what[80];
  snprintf(what, sizeof what, "dense pair %d: %d ranks to %d", number, sources, places);
  check_line(&v, redist_block_cyclic(n, block, sources), redist_block_cyclic(n, to_block, places),
             what);
}

static void draw_cuts(test_random *r, int procs, int64_t widest, int64_t *cuts) {
  cuts[0] = 0;
  for (int k = 0; k < procs; k++) cuts[k + 1] = cuts[k] + test_between(r, 0, widest);
}

static int compare_widths(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Uneven rows and uneven columns share products of their widths. By the rearrangement inequality,
   the widest on the widest keeps the most. All places prefer the same ranks, so this is hard to
   solve. */
static void check_rows_to_columns(test_random *r, int procs, int64_t widest, int first_rank) {
  static int64_t rows[1025], columns[1025], heights[1024], widths[1024];
  int64_t most = 0, kept;
  int ranks[MOST], code;
  redist_layout from, to;
  draw_cuts(r, procs, widest, rows);
  draw_cuts(r, procs, widest, columns);
  from = redist_layout_2d(redist_cuts(rows, procs), redist_whole(columns[procs]));
  to = redist_from_rank(redist_layout_2d(redist_whole(rows[procs]), redist_cuts(columns, procs)),
                        first_rank);
  for (int k = 0; k < procs; k++) {
    heights[k] = rows[k + 1] - rows[k];
    widths[k] = columns[k + 1] - columns[k];
  }
  qsort(heights, (size_t)procs, sizeof *heights, compare_widths);
  qsort(widths, (size_t)procs, sizeof *widths, compare_widths);
  for (int k = 0; k < procs; k++) most += heights[k] * widths[k];
  code = redist_relabel(&from, &to, 0, ranks);
  kept = code == REDIST_OK ? library_keeps(&from, &to, ranks) : -1;
  test_case(kept == most, "%d uneven rows to columns on ranks from %d on: keeps %lld of %lld",
            procs, first_rank, (long long)kept, (long long)most);
}

/* Beyond 1,024 places, axes are matched one by one. */
static void check_beyond(void) {
  static int backwards[1500];
  redist_layout from = redist_layout_1d(redist_balanced(100000, 1500)), to = from;
  int ranks[1600];
  /* Kalns' bound for either axis */
  int64_t most = ceiling(20, 40) * 40 * ceiling(80, 80) * 40 * 2;
  for (int k = 0; k < 1500; k++) backwards[k] = 1499 - k;
  to = redist_on_ranks(to, backwards);
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK &&
                library_keeps(&from, &to, ranks) == 100000,
            "1500 places backwards: all stays");
  from = redist_layout_2d(redist_block(20 * 40, 40), redist_block(80 * 40, 40));
  to = redist_layout_2d(redist_cyclic(20 * 40, 40), redist_block_cyclic(80 * 40, 2, 40));
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK &&
                library_keeps(&from, &to, ranks) == most,
            "1600 places: Kalns' bound on both axes, %lld",
            (long long)library_keeps(&from, &to, ranks));
}

/* Hsu's bound on more places than a matrix of all pairs could hold: 50 cycles of CYCLIC(k r) to
   CYCLIC(r) on M processes. */
static void check_hsu_beyond(int M, int k, int64_t expected) {
  const int64_t r = 2, n = 50 * M * k * r, most = 50 * ceiling(k, M) * M * r;
  const int64_t kept = relabelled(redist_block_cyclic(n, k * r, M), redist_block_cyclic(n, r, M));
  test_case(most == expected && kept == most, "CYCLIC(%lld) to CYCLIC(2) on %d ranks: keeps %lld",
            (long long)(k * r), M, (long long)kept);
}

/* Choosing the best coordinate one after another is mostly good, but here place 0 would take what
   place 1 needs. */
static void check_in_turn(void) {
  static int64_t before[1101], after[1101];
  static int backwards[1100];
  redist_layout from, to;
  int ranks[1100] = {0}, same, alone;
  for (int k = 1; k <= 1100; k++) {
    before[k] = 10 * k;
    after[k] = k < 1100 ? 10 * k + 1 : 10 * k;
    backwards[k - 1] = 1100 - k;
  }
  from = redist_layout_1d(redist_cuts(before, 1100));
  to = redist_on_ranks(redist_layout_1d(redist_cuts(after, 1100)), backwards);
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK &&
                library_keeps(&from, &to, ranks) == 11000 - 1099,
            "1100 places a little further on: keep %lld",
            (long long)library_keeps(&from, &to, ranks));

  for (int k = 1; k <= 1100; k++) before[k] = after[k] = 200 * k;
  before[1] = 5;
  after[1] = 11;
  from = redist_layout_1d(redist_cuts(before, 1100));
  to = redist_layout_1d(redist_cuts(after, 1100));
  same = redist_relabel(&from, &to, 0, ranks) == REDIST_OK;
  for (int k = 0; k < 1100 && same; k++) same = ranks[k] == k;
  test_case(same, "1100 places, the best numbering already: unchanged");

  from = redist_from_rank(redist_layout_1d(redist_whole(before[1100])), 5000);
  after[3] = after[2] + 399;
  to = redist_layout_1d(redist_cuts(after, 1100));
  alone = redist_relabel(&from, &to, 0, ranks) == REDIST_OK;
  for (int k = 0; k < 1100 && alone; k++) alone = ranks[k] == (k == 2 ? 5000 : k);
  test_case(alone, "one rank to 1100: the widest place stays on it, the others as before");
}

static void check_never_worse(int number, redist_layout from, redist_layout to) {
  static char usable[MOST];
  int ranks[MOST], numbered[MOST], code = redist_relabel(&from, &to, 0, ranks);
  for (int k = 0; k < redist_layout_places(&to); k++) numbered[k] = k;
  memset(usable, 0, sizeof usable);
  memset(usable, 1,
         (size_t)(redist_layout_places(&from) > redist_layout_places(&to)
                      ? redist_layout_places(&from)
                      : redist_layout_places(&to)));
  test_case(code == REDIST_OK && are_legal(usable, redist_layout_places(&to), ranks) &&
                library_keeps(&from, &to, ranks) >= library_keeps(&from, &to, numbered),
            "many places, pair %d: code %d", number, code);
}

static redist_layout draw_grid(test_random *r) {
  int rows = (int)test_between(r, 1, 40), columns = (int)test_between(r, 1030 / rows, 1400 / rows);
  return redist_layout_2d(redist_block_cyclic(500, test_between(r, 1, 40), rows),
                          redist_block_cyclic(700, test_between(r, 1, 40), columns));
}

/* ---- sizes near 2^62, no elements, no memory, bad arguments ---- */

static void check_huge(void) {
  const int64_t n = (INT64_C(1) << 62) - 1, half = INT64_C(1) << 61;
  const int backwards[3] = {2, 1, 0};
  const int64_t third[8] = {0, 0, 0, half, half, half, half, half};
  redist_layout from = redist_layout_1d(redist_balanced(n, 3)),
                to = redist_on_ranks(from, backwards);
  int ranks[8];
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK && ranks[0] == 0 && ranks[1] == 1 &&
                ranks[2] == 2 && library_keeps(&from, &to, ranks) == n,
            "2^62 - 1 elements stay");
  test_case(relabelled(redist_whole(n), redist_whole(n)) == n, "2^62 - 1 on one rank");
  test_case(relabelled(redist_block(half, 8), redist_cyclic(half, 8)) == half / 8,
            "2^61 elements, BLOCK to CYCLIC");
  to = redist_layout_1d(redist_balanced(n, 4));
  from = redist_from_rank(redist_layout_1d(redist_whole(n)), 6);
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK && ranks[0] == 6 &&
                library_keeps(&from, &to, ranks) == n / 4 + 1,
            "2^62 - 1 elements of one rank to four others");
  from = redist_from_rank(redist_layout_1d(redist_whole(half)), 100);
  to = redist_layout_1d(redist_cuts(third, 7));
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK && ranks[2] == 100,
            "2^61 elements of one rank to the third of seven");
}

static void check_empty(void) {
  const int64_t large = INT64_C(1) << 32; /* the two axes together pass 2^62 */
  redist_layout from =
      redist_layout_3d(redist_block(large, 4), redist_block(large, 4), redist_whole(0));
  redist_layout to = redist_from_rank(redist_layout_3d(redist_cyclic(large, 8),
                                                       redist_block(large, 2), redist_whole(0)),
                                      3);
  int ranks[16], same = redist_relabel(&from, &to, 0, ranks) == REDIST_OK;
  for (int t = 0; t < 16 && same; t++) same = ranks[t] == 3 + t;
  test_case(same, "no elements: the current numbering");
}

/* Memory fails at the first allocation, the second, ... (later in larger steps), until none
   fails. */
static void check_no_memory(const redist_layout *from, const redist_layout *to, const char *what) {
  static int ranks[MOST];
  const int64_t before = live_blocks;
  int code = REDIST_ERR_MEMORY, good = 1, times = 0;
  for (int fails = 0; code == REDIST_ERR_MEMORY && fails < 100000;
       fails += 1 + fails / 16, times++) {
    ranks[0] = -7;
    until_failure = fails;
    code = redist_relabel(from, to, 0, ranks);
    until_failure = -1;
    good = good && live_blocks == before && (code == REDIST_OK || ranks[0] == -7);
  }
  test_case(good && code == REDIST_OK && times > 5, "%s: memory fails %d times, then code %d", what,
            times - 1, code);
}

static void check_memory(void) {
  const int backwards[4] = {9, 3, 2, 1};
  redist_layout from = redist_layout_2d(redist_block(12, 2), redist_block_cyclic(12, 2, 3));
  redist_layout to =
      redist_on_ranks(redist_layout_2d(redist_cyclic(12, 2), redist_balanced(12, 2)), backwards);
  check_no_memory(&from, &to, "four places");
  from = redist_layout_2d(redist_block(1, 1025), redist_whole(3));
  to = redist_layout_2d(redist_whole(1), redist_cyclic(3, 3));
  check_no_memory(&from, &to, "1025 places");
  check_no_memory(&to, &from, "to 1025 places");
}

static void check_bad_input(void) {
  static const int twice[4] = {1, 2, 2, 3};
  redist_layout good = redist_layout_2d(redist_block(8, 2), redist_block(9, 2)),
                other = redist_layout_1d(redist_block(8, 2));
  redist_layout bad = redist_layout_2d(redist_block(8, 0), redist_whole(9)),
                wide = redist_layout_2d(redist_block(8, 2), redist_whole(10));
  redist_layout doubled = redist_on_ranks(good, twice),
                large = redist_layout_1d(redist_whole(INT64_MAX));
  int ranks[4] = {9, 9, 9, 9};
  test_case(redist_relabel(NULL, &good, 0, ranks) == REDIST_ERR_ARGUMENT, "no source");
  test_case(redist_relabel(&good, NULL, 0, ranks) == REDIST_ERR_ARGUMENT, "no destination");
  test_case(redist_relabel(&good, &good, 0, NULL) == REDIST_ERR_ARGUMENT, "nowhere to write ranks");
  test_case(redist_relabel(&good, &good, -1, ranks) == REDIST_ERR_ARGUMENT, "nodes of -1 ranks");
  test_case(redist_relabel(&bad, &good, 0, ranks) == REDIST_ERR_LAYOUT, "a bad source");
  test_case(redist_relabel(&good, &bad, 0, ranks) == REDIST_ERR_LAYOUT, "a bad destination");
  test_case(redist_relabel(&good, &other, 0, ranks) == REDIST_ERR_SHAPE, "other axes");
  test_case(redist_relabel(&good, &wide, 0, ranks) == REDIST_ERR_SHAPE, "other extents");
  test_case(redist_relabel(&good, &doubled, 0, ranks) == REDIST_ERR_RANK, "a rank twice");
  test_case(redist_relabel(&large, &large, 0, ranks) == REDIST_ERR_OVERFLOW, "too many elements");
  test_case(ranks[0] == 9 && ranks[1] == 9 && ranks[2] == 9 && ranks[3] == 9,
            "ranks untouched by errors");
  test_case(redist_relabel(&good, &good, 1, ranks) == REDIST_OK, "nodes of one rank");
}

int main(int argc, char **argv) {
  const int largest = argc > 1 ? atoi(argv[1]) : 256;
  test_random r = {1};
  for (int k = 0; k < 400 && k < 2 * largest; k++) check_random(&r, k);
  for (int k = 0; k < 200; k++) check_replicas(&r);
  for (int sources = 1; sources <= 5; sources++)
    for (int places = 1; places <= 5; places++)
      for (int first = 0; first <= 6; first += 2) check_rank_sets(sources, places, first);
  check_figures();
  check_hsu_formula();
  for (int p = 1; p <= 40 && p <= largest; p++) {
    check_kalns_bound(p, 1 + p % 3);
    check_hsu_bound(p, 2);
  }
  check_source();
  check_1024_places();
  for (int k = 0; k < 100 && k < largest; k++) check_dense(&r, k);
  for (int procs = 2; procs <= largest; procs *= 2)
    for (int64_t widest = 3; widest <= 30000; widest *= 100) {
      check_rows_to_columns(&r, procs, widest, 0);
      check_rows_to_columns(&r, procs, widest, procs / 2);
    }
  if (largest > 16) check_beyond(); /* takes as long as all others */
  check_hsu_beyond(1025, 10, 102500);
  check_hsu_beyond(4096, 5, 409600);
  check_in_turn();
  for (int k = 0; k < 12 && k < largest; k++) {
    redist_layout from = draw_grid(&r);
    check_never_worse(k, from, draw_grid(&r));
  }
  check_huge();
  check_empty();
  check_memory();
  check_bad_input();
  return test_report("relabelling");
}
