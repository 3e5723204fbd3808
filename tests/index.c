/* Tests every function of one axis against elements distributed one by one, and by identities near
   2^60.
   MIT licence, see LICENSE. */
#include <limits.h>

#include "serial.h"

static const char *describe(const test_axis *a) {
  static const char *const names[TEST_KINDS] = {"whole",    "block", "cyclic", "block_cyclic",
                                                "balanced", "cuts",  "owners", "lists"};
  static char text[160];
  snprintf(text, sizeof text, "%s n=%lld block=%lld procs=%d start=%d", names[a->kind],
           (long long)a->n, (long long)a->block, a->procs, a->first);
  return text;
}

/* ---- against elements distributed one by one ---- */

static int same_elements(const redist_axis *x, const test_axis *a, const test_deal *dealt) {
  int same = 1;
  for (int64_t i = 0; i < a->n; i++) {
    same = same && redist_axis_owner(x, i) == dealt->owner[i] &&
           redist_axis_local(x, i) == dealt->local[i];
    same = same && redist_axis_global(x, dealt->owner[i], dealt->local[i]) == i;
  }
  return same;
}

static int same_counts(const redist_axis *x, const test_axis *a, const test_deal *dealt) {
  int same = 1;
  for (int c = 0; c < a->procs; c++) {
    int64_t count = dealt->count[c];
    same = same && redist_axis_count(x, c) == count;
    same = same && redist_axis_global(x, c, -1) == -1 && redist_axis_global(x, c, count) == -1;
    same = same && redist_axis_global(x, c, count + 1) == -1 &&
           redist_axis_global(x, c, INT64_MAX) == -1;
  }
  return same;
}

static int nothing_outside(const redist_axis *x, int64_t n, int procs) {
  const int64_t indices[] = {-1, n, n + 1, INT64_MIN, INT64_MAX};
  const int coords[] = {-1, procs, procs + 1, INT_MIN, INT_MAX};
  int nothing = 1;
  for (size_t k = 0; k < sizeof indices / sizeof *indices; k++) {
    nothing =
        nothing && redist_axis_owner(x, indices[k]) == -1 && redist_axis_local(x, indices[k]) == -1;
    nothing = nothing && redist_axis_count(x, coords[k]) == 0 &&
              redist_axis_global(x, coords[k], 0) == -1;
  }
  return nothing;
}

static void check_dealt(const test_axis *a) {
  static test_deal dealt;
  redist_axis x = test_library_axis(a);
  test_deal_out(a, &dealt);
  test_case(same_elements(&x, a, &dealt), "owner, local, global: %s", describe(a));
  test_case(same_counts(&x, a, &dealt), "count: %s", describe(a));
  test_case(nothing_outside(&x, a->n, a->procs), "outside the axis: %s", describe(a));
}

static void check_every_start(test_axis *a) {
  for (a->first = 0; a->first < a->procs; a->first++) check_dealt(a);
}

static void check_every_kind(test_random *r, int64_t n, int procs) {
  static const int64_t blocks[] = {1, 2, 3, 5, 8, 41};
  static const int plain[] = {TEST_WHOLE, TEST_BLOCK, TEST_CYCLIC, TEST_BALANCED};
  test_axis a;
  for (int k = 0; k < 4; k++) {
    a = test_axis_of(plain[k], n, 0, procs);
    check_every_start(&a);
  }
  for (int k = 0; k < 6; k++) {
    a = test_axis_of(TEST_BLOCK_CYCLIC, n, blocks[k], procs);
    check_every_start(&a);
  }
  for (int k = 0; k < 3; k++) {
    a = test_axis_of(TEST_CUTS, n, 0, procs);
    test_draw_cuts(r, &a);
    check_every_start(&a);
    a = test_axis_of(TEST_OWNERS, n, 0, procs);
    test_draw_owners(r, &a);
    check_every_start(&a);
    a.kind = TEST_LISTS;
    test_draw_lists(r, &a);
    check_every_start(&a);
  }
}

static void check_all_small(test_random *r) {
  static const int procs[] = {1, 2, 3, 4, 5, 7, 11, 41};
  for (int64_t n = 0; n <= 40; n += n < 13 ? 1 : 3)
    for (int k = 0; k < 8; k++) check_every_kind(r, n, procs[k]);
}

/* Every way to cut a short axis, empty blocks included. */
static void check_all_cuts(void) {
  test_axis a = test_axis_of(TEST_CUTS, 4, 0, 3);
  a.cuts[3] = 4;
  for (a.cuts[1] = 0; a.cuts[1] <= 4; a.cuts[1]++)
    for (a.cuts[2] = a.cuts[1]; a.cuts[2] <= 4; a.cuts[2]++) check_every_start(&a);
}

static void check_random_large(test_random *r) {
  for (int k = 0; k < 1500; k++) {
    test_axis a;
    test_draw_axis(r, test_between(r, 41, 4000), 128, 0, &a);
    if (test_between(r, 0, 1)) a.block = test_between(r, 1, 30);
    check_dealt(&a);
  }
}

/* ---- the macros ---- */

enum { MACRO_LENGTH = 12 };

/* An enumerator and a static initialiser accept only constant expressions. */
enum {
  CONSTANT_OWNER = REDIST_OWNER(17, 3, 4),
  CONSTANT_LOCAL = REDIST_LOCAL(17, 3, 4),
  CONSTANT_GLOBAL = REDIST_GLOBAL(1, 5, 3, 4)
};

#define ROW(macro, b, p)                                                                \
  {                                                                                     \
    macro(0, b, p), macro(1, b, p), macro(2, b, p), macro(3, b, p), macro(4, b, p),     \
        macro(5, b, p), macro(6, b, p), macro(7, b, p), macro(8, b, p), macro(9, b, p), \
        macro(10, b, p), macro(11, b, p)                                                \
  }

static const struct {
  int64_t block;
  int procs;
  int64_t owner[MACRO_LENGTH], local[MACRO_LENGTH];
} macro_rows[] = {
    {1, 1, ROW(REDIST_OWNER, 1, 1), ROW(REDIST_LOCAL, 1, 1)},
    {1, 3, ROW(REDIST_OWNER, 1, 3), ROW(REDIST_LOCAL, 1, 3)},
    {2, 3, ROW(REDIST_OWNER, 2, 3), ROW(REDIST_LOCAL, 2, 3)},
    {3, 2, ROW(REDIST_OWNER, 3, 2), ROW(REDIST_LOCAL, 3, 2)},
    {4, 5, ROW(REDIST_OWNER, 4, 5), ROW(REDIST_LOCAL, 4, 5)},
    {50, 4, ROW(REDIST_OWNER, 50, 4), ROW(REDIST_LOCAL, 50, 4)},
};

static void check_macro_row(int row) {
  static test_deal dealt;
  test_axis a =
      test_axis_of(TEST_BLOCK_CYCLIC, MACRO_LENGTH, macro_rows[row].block, macro_rows[row].procs);
  int same = 1;
  test_deal_out(&a, &dealt);
  for (int64_t i = 0; i < MACRO_LENGTH; i++) {
    same = same && macro_rows[row].owner[i] == dealt.owner[i] &&
           macro_rows[row].local[i] == dealt.local[i];
    same = same && REDIST_GLOBAL(dealt.owner[i], dealt.local[i], macro_rows[row].block,
                                 macro_rows[row].procs) == i;
  }
  test_case(same, "macros: %s", describe(&a));
}

static void check_macros(void) {
  test_case(CONSTANT_OWNER == 1 && CONSTANT_LOCAL == 5 && CONSTANT_GLOBAL == 17,
            "macros as enumerators");
  for (int row = 0; row < 6; row++) check_macro_row(row);
}

/* Arguments that are expressions keep their precedence. */
static void check_macro_arguments(void) {
  int64_t i = 30, b = 2;
  int p = 3;
  test_case(REDIST_OWNER(i + 1, b + 1, p + 1) == REDIST_OWNER(31, 3, 4),
            "an expression as argument of REDIST_OWNER");
  test_case(REDIST_LOCAL(i + 1, b + 1, p + 1) == REDIST_LOCAL(31, 3, 4),
            "an expression as argument of REDIST_LOCAL");
  test_case(REDIST_GLOBAL(p - 1, i - 20, b + 1, p + 1) == REDIST_GLOBAL(2, 10, 3, 4),
            "an expression as argument of REDIST_GLOBAL");
}

/* ---- near 2^60 ---- */

static const int64_t huge = INT64_C(1) << 60;

/* The owner has i at a local position within its count, and finds it there again. */
static int round_trip(const redist_axis *x, int64_t i) {
  int owner = redist_axis_owner(x, i);
  int64_t local = redist_axis_local(x, i);
  return owner >= 0 && local >= 0 && local < redist_axis_count(x, owner) &&
         redist_axis_global(x, owner, local) == i;
}

/* The index after i is the owner's next one, or the first one of a block of the next coordinate. */
static int steps_on(const redist_axis *x, const test_axis *a, int64_t i) {
  int owner = redist_axis_owner(x, i), next = redist_axis_owner(x, i + 1);
  if (next == owner) return redist_axis_local(x, i + 1) == redist_axis_local(x, i) + 1;
  return next == (owner + 1 == a->procs ? 0 : owner + 1);
}

static int block_has_one_owner(const redist_axis *x, const test_axis *a, int64_t i) {
  int64_t first = i - i % a->block,
          last = a->n - 1 - first < a->block - 1 ? a->n - 1 : first + (a->block - 1);
  return redist_axis_owner(x, first) == redist_axis_owner(x, last) &&
         redist_axis_local(x, last) - redist_axis_local(x, first) == last - first;
}

static void check_huge_index(const redist_axis *x, const test_axis *a, test_random *r) {
  int good = 1;
  for (int k = 0; k < 20; k++) {
    int64_t i = test_between(r, 0, a->n - 2);
    good = good && round_trip(x, i) && steps_on(x, a, i);
    good = good && (a->kind != TEST_BLOCK_CYCLIC || block_has_one_owner(x, a, i));
  }
  good = good && round_trip(x, 0) && round_trip(x, a->n - 1);
  good = good && redist_axis_owner(x, 0) == a->first && redist_axis_local(x, 0) == 0;
  test_case(good, "identities: %s", describe(a));
}

/* In block order, no coordinate owns more than the previous one; together they own all indices. */
static void check_huge_counts(const redist_axis *x, const test_axis *a) {
  int64_t sum = 0, previous = a->n;
  int good = 1;
  for (int k = 0; k < a->procs; k++) {
    int coord = (int)(((int64_t)k + a->first) % a->procs);
    int64_t count = redist_axis_count(x, coord);
    good = good && count >= 0 && count <= previous;
    good = good && redist_axis_global(x, coord, count) == -1;
    good = good && (count == 0 || (redist_axis_global(x, coord, count - 1) >= count - 1 &&
                                   redist_axis_global(x, coord, 0) >= 0));
    sum += count;
    previous = count;
  }
  test_case(good && sum == a->n, "counts: %s: sum %lld", describe(a), (long long)sum);
}

static test_axis random_huge_axis(test_random *r) {
  static const int kinds[] = {TEST_BLOCK, TEST_CYCLIC, TEST_BLOCK_CYCLIC, TEST_BALANCED,
                              TEST_BLOCK_CYCLIC};
  static const int64_t most_block[] = {2, 1000, INT64_C(1) << 31, INT64_C(1) << 59,
                                       INT64_C(1) << 62};
  static const int most_procs[] = {1, 9, 1000, 1 << 20, INT_MAX};
  int kind = kinds[test_between(r, 0, 4)];
  int64_t n = test_between(r, huge, 2 * huge),
          block = test_between(r, 1, most_block[test_between(r, 0, 4)]);
  test_axis a =
      test_axis_of(kind, n, block, (int)test_between(r, 1, most_procs[test_between(r, 0, 4)]));
  a.first = (int)test_between(r, 0, a.procs - 1);
  return a;
}

static void check_huge(test_random *r) {
  for (int k = 0; k < 2000; k++) {
    test_axis a = random_huge_axis(r);
    redist_axis x = test_library_axis(&a);
    check_huge_index(&x, &a, r);
    if (a.procs <= 1000) check_huge_counts(&x, &a);
    test_case(nothing_outside(&x, a.n, a.procs), "outside: %s", describe(&a));
  }
}

/* Cuts at round numbers near 2^60, where owner and local are obvious. */
static void check_huge_cuts(void) {
  static const int64_t cuts[] = {
      0, 0, 5, INT64_C(1) << 59, INT64_C(1) << 60, INT64_C(1) << 60, INT64_C(1) << 61};
  redist_axis x = redist_cuts(cuts, 6);
  for (int c = 0; c < 6; c++) {
    int64_t count = cuts[c + 1] - cuts[c];
    int good = redist_axis_count(&x, c) == count && redist_axis_global(&x, c, count) == -1;
    if (count > 0) {
      good = good && redist_axis_owner(&x, cuts[c]) == c &&
             redist_axis_owner(&x, cuts[c + 1] - 1) == c;
      good = good && redist_axis_local(&x, cuts[c]) == 0 &&
             redist_axis_local(&x, cuts[c + 1] - 1) == count - 1;
      good = good && redist_axis_global(&x, c, count - 1) == cuts[c + 1] - 1;
    }
    test_case(good, "cuts near 2^60, part %d", c);
  }
}

/* ---- sections near 2^60 ---- */

typedef struct {
  int64_t start, count, step;
} section;

static section random_huge_section(test_random *r, int64_t n) {
  static const int64_t most_step[] = {1, 7, 1000003, INT64_C(1) << 40, INT64_C(1) << 58};
  section s;
  int64_t stride = test_between(r, 1, most_step[test_between(r, 0, 4)]);
  s.count = (n - 1) / stride + 1 - test_between(r, 0, 1);
  s.start = n - 1 - (s.count - 1) * stride;
  s.step = stride;
  if (test_between(r, 0, 1)) {
    s.start = n - 1 - s.start;
    s.step = -stride;
  }
  return s;
}

static int section_agrees(const redist_axis *x, const redist_axis *part, const section *s,
                          int64_t i) {
  int64_t whole = s->start + s->step * i, local = redist_axis_local(part, i);
  int owner = redist_axis_owner(part, i);
  return owner == redist_axis_owner(x, whole) && local == redist_axis_local(x, whole) &&
         redist_axis_global(part, owner, local) == i;
}

static int64_t sum_of_counts(const redist_axis *part, int procs) {
  int64_t sum = 0;
  for (int coord = 0; coord < procs; coord++) sum += redist_axis_count(part, coord);
  return sum;
}

static void check_huge_section(const test_axis *a, test_random *r) {
  redist_axis x = test_library_axis(a), part;
  section s = random_huge_section(r, a->n);
  redist_layout layout = redist_section(redist_layout_1d(x), 0, s.start, s.count, s.step);
  int good = redist_layout_check(&layout) == REDIST_OK;
  part = layout.dim[0].axis;
  good = good && section_agrees(&x, &part, &s, 0) && section_agrees(&x, &part, &s, s.count - 1);
  for (int k = 0; k < 10; k++)
    good = good && section_agrees(&x, &part, &s, test_between(r, 0, s.count - 1));
  test_case(good, "section %lld:%lld:%lld of %s", (long long)s.start, (long long)s.count,
            (long long)s.step, describe(a));
  test_case(nothing_outside(&part, s.count, a->procs), "outside section %lld:%lld:%lld of %s",
            (long long)s.start, (long long)s.count, (long long)s.step, describe(a));
  test_case(sum_of_counts(&part, a->procs) == s.count,
            "counts of section %lld:%lld:%lld of %s: sum %lld", (long long)s.start,
            (long long)s.count, (long long)s.step, describe(a),
            (long long)sum_of_counts(&part, a->procs));
}

static void check_huge_sections(test_random *r) {
  for (int k = 0; k < 2000; k++) {
    test_axis a = random_huge_axis(r);
    a.procs = (int)test_between(r, 1, 12);
    a.first = (int)test_between(r, 0, a.procs - 1);
    check_huge_section(&a, r);
  }
}

/* ---- small sections against elements distributed one by one ---- */

/* Counts what a coordinate owns of a section, index by index; most steps exceed blocks and
   cycles. */
static int section_count_agrees(const redist_axis *part, const test_deal *dealt, const section *s,
                                int coord) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->count; i++) count += dealt->owner[s->start + i * s->step] == coord;
  return redist_axis_count(part, coord) == count;
}

/* redist_axis_global returns -1 for local positions outside the section. */
static int hidden_positions_agree(const redist_axis *part, const test_axis *a,
                                  const test_deal *dealt, const section *s) {
  int same = 1;
  for (int64_t g = 0; g < a->n; g++) {
    int64_t i = (g - s->start) / s->step;
    int shown = i >= 0 && i < s->count && s->start + i * s->step == g;
    same = same && redist_axis_global(part, dealt->owner[g], dealt->local[g]) == (shown ? i : -1);
  }
  return same;
}

static void check_small_section(const test_axis *a, const section *s) {
  static test_deal dealt;
  redist_layout layout =
      redist_section(redist_layout_1d(test_library_axis(a)), 0, s->start, s->count, s->step);
  redist_axis part = layout.dim[0].axis;
  int same = redist_layout_check(&layout) == REDIST_OK;
  test_deal_out(a, &dealt);
  for (int coord = 0; coord < a->procs; coord++)
    same = same && section_count_agrees(&part, &dealt, s, coord);
  test_case(same, "counts of section %d:%d:%d of %s", (int)s->start, (int)s->count, (int)s->step,
            describe(a));
  test_case(hidden_positions_agree(&part, a, &dealt, s),
            "local positions of section %d:%d:%d of %s", (int)s->start, (int)s->count, (int)s->step,
            describe(a));
}

static void check_small_sections(test_random *r) {
  for (int k = 0; k < 4000; k++) {
    test_axis a;
    section s;
    int64_t stride = test_between(r, 1, 40);
    test_draw_axis(r, test_between(r, 1, 120), 9, 0, &a);
    if (test_between(r, 0, 1)) a.block = test_between(r, 1, 7);
    s.count = test_between(r, 0, (a.n - 1) / stride + 1);
    s.start = test_between(r, 0, a.n - 1 - (s.count > 0 ? (s.count - 1) * stride : 0));
    s.step = stride;
    if (s.count > 0 && test_between(r, 0, 1)) {
      s.start += (s.count - 1) * stride;
      s.step = -stride;
    }
    check_small_section(&a, &s);
  }
}

int main(void) {
  test_random r = {1};
  check_all_small(&r);
  check_all_cuts();
  check_random_large(&r);
  check_macros();
  check_macro_arguments();
  check_huge(&r);
  check_huge_cuts();
  check_huge_sections(&r);
  check_small_sections(&r);
  return test_report("index");
}
