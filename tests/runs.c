/* The elements that two coordinates of an axis share are found exactly once, and not one by one.
   MIT licence, see LICENSE. */
#include <stdlib.h>

static size_t largest_block, all_blocks; /* bytes */

static void *watched_malloc(size_t bytes) {
  largest_block = bytes > largest_block ? bytes : largest_block;
  all_blocks += bytes;
  return malloc(bytes);
}

#define REDIST_MALLOC watched_malloc
#define REDIST_FREE free
#include "redist.h"
#include "test.h"

enum { MOST = 60, PROCS = 5 };

/* An axis of n indices and a view of it; the oracle is a table filled index by index. */
typedef struct {
  redist_layout layout; /* a layout of one axis, since sections are views of layouts */
  int owner[MOST];
  int64_t local[MOST], count;
} dealt_axis;

static void deal(dealt_axis *a, int64_t n, int64_t block, int procs, int first) {
  int64_t owned[PROCS] = {0}, i;
  a->layout = redist_layout_1d(redist_starting_at(redist_block_cyclic(n, block, procs), first));
  a->count = n;
  for (i = 0; i < n; i++) {
    a->owner[i] = (int)((i / block + first) % procs);
    a->local[i] = owned[a->owner[i]]++;
  }
}

/* Keeps count indices: start, start + step, ... */
static void keep(dealt_axis *a, int64_t start, int64_t count, int64_t step) {
  dealt_axis old = *a;
  int64_t i;
  a->layout = redist_section(a->layout, 0, start, count, step);
  a->count = count;
  for (i = 0; i < count; i++) {
    a->owner[i] = old.owner[start + i * step];
    a->local[i] = old.local[start + i * step];
  }
}

static void draw(dealt_axis *a, test_random *r, int64_t count) {
  int64_t step = test_between(r, 1, 4), start = test_between(r, 0, 3), n;
  int procs = (int)test_between(r, 1, PROCS);
  if (test_between(r, 0, 2) > 0) step = 1;
  n = start + (count > 0 ? (count - 1) * step + 1 : 0) + test_between(r, 0, 3);
  deal(a, n, test_between(r, 1, 9), procs, (int)test_between(r, 0, procs - 1));
  if (test_between(r, 0, 1))
    keep(a, start, count, step);
  else
    keep(a, count > 0 ? start + (count - 1) * step : 0, count, -step);
}

static void add(const void *from, void *to, int64_t n, void *context) {
  int64_t k, a, b;
  (void)context;
  for (k = 0; k < n; k++) {
    memcpy(&a, (const char *)from + k * (int64_t)sizeof a, sizeof a);
    memcpy(&b, (char *)to + k * (int64_t)sizeof b, sizeof b);
    b += a;
    memcpy((char *)to + k * (int64_t)sizeof b, &b, sizeof b);
  }
}

/* Adds the numbers that every coordinate holds, one per index, to those of the other side: each
   index must arrive exactly once, and nothing else. */
static int check_pair(const dealt_axis *from, const dealt_axis *to) {
  int64_t source[PROCS][MOST] = {{0}}, target[PROCS][MOST] = {{0}}, expected[PROCS][MOST] = {{0}},
          i;
  const void *sources[PROCS];
  void *targets[PROCS];
  int k;
  for (k = 0; k < PROCS; k++) {
    sources[k] = source[k];
    targets[k] = target[k];
    for (i = 0; i < MOST; i++) source[k][i] = 1 << 20;
  }
  for (i = 0; i < from->count; i++) {
    source[from->owner[i]][from->local[i]] = i + 1;
    expected[to->owner[i]][to->local[i]] = i + 1;
  }
  return redist_move_combining(&from->layout, sources, &to->layout, targets, sizeof(int64_t), add,
                               NULL) == REDIST_OK &&
         memcmp(target, expected, sizeof target) == 0;
}

/* Two coordinates must share as many indices as the tables say. */
static int check_volumes(const dealt_axis *from, const dealt_axis *to) {
  int64_t shared[PROCS][PROCS] = {{0}}, i;
  int f, t, good = 1;
  for (i = 0; i < from->count; i++) shared[from->owner[i]][to->owner[i]]++;
  for (f = 0; f < PROCS; f++)
    for (t = 0; t < PROCS; t++)
      good &= redist_volume(&from->layout, f, &to->layout, t, &i) == REDIST_OK && i == shared[f][t];
  return good;
}

static void check_random(int pairs) {
  test_random r = {7};
  dealt_axis from, to;
  int k;
  for (k = 0; k < pairs; k++) {
    int64_t count = test_between(&r, 0, 14);
    draw(&from, &r, count);
    draw(&to, &r, count);
    test_case(redist_layout_check(&from.layout) == REDIST_OK &&
                  redist_layout_check(&to.layout) == REDIST_OK && check_pair(&from, &to) &&
                  check_volumes(&from, &to),
              "random pair %d", k);
  }
}

/* Pairs that must be found without visiting their elements: no table has room for more than `most`
   entries of 128 bytes. The elements must add up. */
static void check_short(const char *name, redist_axis from, redist_axis to, int most) {
  const redist_layout a = redist_layout_1d(from), b = redist_layout_1d(to);
  int64_t elements = 0, one;
  int k, good = 1;
  largest_block = 0;
  for (k = 0; k < to.procs; k++) {
    good = good && redist_volume(&a, 0, &b, k, &one) == REDIST_OK;
    elements += one;
  }
  test_case(good && largest_block <= 128 * (size_t)most && elements == redist_axis_count(&from, 0),
            "%s: a list of %d bytes for %" PRId64 " elements", name, (int)largest_block, elements);
}

/* A block-cyclic axis, as owners or as the list of each coordinate. */
static redist_axis disguise(const redist_axis *x, int lists, int *owner, int64_t *begin,
                            int64_t *index) {
  int64_t i, l, n = 0;
  int c;
  for (i = 0; i < x->extent; i++) owner[i] = redist_axis_owner(x, i);
  for (c = 0; c < x->procs; c++)
    for (l = 0, begin[c] = n; l < redist_axis_count(x, c); l++)
      index[n++] = redist_axis_global(x, c, l);
  begin[x->procs] = n;
  return lists ? redist_lists(n, begin, index, x->procs) : redist_owners(n, owner, x->procs);
}

static int meet(const redist_layout *pair, int from, int to, redist_priv_runs *list) {
  const redist_priv_holder holder[2] = {{&pair[0].dim[0].axis, from, REDIST_PRIV_ALL_IMAGES},
                                        {&pair[1].dim[0].axis, to, REDIST_PRIV_ALL_IMAGES}};
  return redist_priv_meet_coords(holder, list) == REDIST_OK;
}

/* Where block-cyclic axes share few runs, the same axes in disguise do not share more in all: of a
   single pair of coordinates perhaps, as what repeats may begin in the midst of a superblock. */
static void check_disguised(test_random *r, int number) {
  enum { LONG = 3000, FEW = 16 };
  static int owner[2][LONG];
  static int64_t begin[2][PROCS + 1], index[2][LONG];
  const int64_t n = test_between(r, 1, LONG);
  redist_layout plain[2], hidden[2], sorted[2];
  redist_priv_runs few, same;
  int64_t all[2] = {0, 0};
  int side, c, good, procs[2];
  for (side = 0; side < 2; side++) {
    redist_axis x;
    procs[side] = (int)test_between(r, 1, PROCS);
    x = redist_block_cyclic(n, test_between(r, 1, test_one_in(r, 4) ? n : 8), procs[side]);
    plain[side] = hidden[side] = redist_layout_1d(x);
    x = disguise(&x, test_one_in(r, 2), owner[side], begin[side], index[side]);
    if (number % 3 != !side) hidden[side] = redist_layout_1d(x);
    if (test_one_in(r, 2)) continue;
    plain[side] = redist_flipped(plain[side], 0);
    hidden[side] = redist_flipped(hidden[side], 0);
  }
  good = redist_priv_open_pair(&hidden[0], &hidden[1], 1, sorted) == REDIST_OK;
  for (c = 0; good && c < procs[0] * procs[1]; c++) {
    good = meet(plain, c / procs[1], c % procs[1], &few) &&
           meet(sorted, c / procs[1], c % procs[1], &same) && same.elements == few.elements;
    if (few.runs < FEW) {
      good = good && same.segment == NULL && same.runs <= few.runs + few.runs / 2 + 1;
      all[0] += few.runs;
      all[1] += same.runs;
    }
    redist_priv_runs_free(&few);
    redist_priv_runs_free(&same);
  }
  test_case(good && all[1] <= all[0], "disguised pair %d of %d indices: %d runs instead of %d",
            number, (int)n, (int)all[1], (int)all[0]);
  redist_priv_close_pair(sorted);
}

/* The memory for many coordinates is in proportion to what they share: finding the peers of each of
   4,000 with room for 4,000 would take 64 MB. */
static void check_many(const char *name, const redist_layout *from, const redist_layout *to) {
  redist_traffic traffic;
  int code;
  all_blocks = 0;
  code = redist_traffic_between(from, to, 0, &traffic);
  test_case(code == REDIST_OK && all_blocks < 5000 * (size_t)redist_layout_places(from),
            "%s: code %d, %ld bytes", name, code, (long)all_blocks);
}

static void check_scattered(void) {
  enum { PLACES = 4000, INDICES = 4 * PLACES };
  static int owner[INDICES];
  redist_layout blocks = redist_layout_1d(redist_block(INDICES, PLACES)), owners, merged;
  int i;
  for (i = 0; i < INDICES; i++) owner[i] = (int)((int64_t)i * 7919 % PLACES);
  owners = redist_layout_1d(redist_owners(INDICES, owner, PLACES));
  merged = redist_merged(redist_layout_2d(redist_block(200, 50), redist_block(80, 80)), 0);
  check_many("owners to blocks", &owners, &blocks);
  check_many("blocks to owners", &blocks, &owners);
  check_many("merged axes to blocks", &merged, &blocks);
}

int main(int argc, char **argv) {
  const int disguised = argc > 1 ? atoi(argv[1]) : 2000;
  const int64_t large = INT64_C(1) << 60;
  test_random r = {11};
  int k;
  check_random(10 * disguised);
  for (k = 0; k < disguised; k++) check_disguised(&r, k);
  check_short("BLOCK to CYCLIC(1), 10^9 on 2", redist_block(1000000000, 2),
              redist_cyclic(1000000000, 2), 4);
  check_short("CYCLIC(1) to BLOCK, 10^9 on 2", redist_cyclic(1000000000, 2),
              redist_block(1000000000, 2), 4);
  check_short("BLOCK to CYCLIC(64), 2^60 on 1000", redist_block(large, 1000),
              redist_block_cyclic(large, 64, 1000), 4);
  check_short("CYCLIC(3) to CYCLIC(2), 2^60 on 7", redist_block_cyclic(large, 3, 7),
              redist_block_cyclic(large, 2, 7), 8);
  check_short("CYCLIC(5), 2^60, the same", redist_block_cyclic(large, 5, 9),
              redist_block_cyclic(large, 5, 9), 4);
  check_short("CYCLIC(1) to balanced, 2^60", redist_cyclic(large, 3), redist_balanced(large, 1000),
              4);
  check_scattered();
  return test_report("runs");
}
