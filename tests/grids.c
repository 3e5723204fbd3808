/* redist tests: the best process grid: every factorization, its costs added up, closed forms, ties,
   refused grids, bad input. MIT licence, see LICENSE. */
#include <limits.h>
#include <math.h>

#include "failing_malloc.h"
#include "redist.h"
#include "test.h"

enum { MOST_DIMS = 4, MOST_AXES = 3, MOST_LAYOUTS = 4, MOST_RANKS = 32, FIRST_RANK = 3, MOST = 16 };
enum { BLOCKS, BALANCED, CYCLIC, KINDS };

/* ---- grids, by trying all numbers ---- */

typedef struct {
  int factor[MOST_DIMS];
} grid;

static int same_grid(const int *a, const int *b, int dims) {
  return memcmp(a, b, (size_t)dims * sizeof *a) == 0;
}

/* All ordered factorizations, lexicographically; returns how many. */
static int list_grids(int procs, int dims, int d, grid g, grid *list) {
  int f, n = 0;
  if (d == dims - 1) {
    g.factor[d] = procs;
    list[0] = g;
    return 1;
  }
  for (f = 1; f <= procs; f++)
    if (procs % f == 0) {
      g.factor[d] = f;
      n += list_grids(procs / f, dims, d + 1, g, list + n);
    }
  return n;
}

static int all_grids(int procs, int dims, grid *list) {
  const grid none = {{0}};
  return list_grids(procs, dims, 0, none, list);
}

static int largest(const grid *g, int dims) {
  int d, most = 1;
  for (d = 0; d < dims; d++) most = g->factor[d] > most ? g->factor[d] : most;
  return most;
}

/* ---- every factorization once, in order; of equal ones that with the least largest factor ---- */

enum { MOST_GRIDS = 2000 };

typedef struct {
  int dims, calls, most;
  grid seen[MOST_GRIDS];
} witness;

/* One layout costs nothing, whatever the grid. */
static int note_grid(const int *factor, redist_layout *sequence, int most, void *context) {
  witness *w = context;
  memcpy(w->seen[w->calls++].factor, factor, (size_t)w->dims * sizeof *factor);
  w->most = most;
  sequence[0] = redist_layout_1d(redist_whole(7));
  return 1;
}

static void check_factorizations(int procs, int dims) {
  static witness w;
  static grid list[MOST_GRIDS];
  const redist_cost cost = {1, 1};
  const int n = all_grids(procs, dims, list);
  int k, best = 0, chosen[MOST_DIMS], good;
  double seconds = -2;
  w.calls = 0;
  w.dims = dims;
  good = redist_best_grid(procs, dims, note_grid, &w, 1, &cost, chosen, &seconds) == REDIST_OK &&
         seconds == 0 && w.calls == n && w.most >= 16;
  for (k = 0; k < n && good; k++) {
    good = same_grid(list[k].factor, w.seen[k].factor, dims);
    if (largest(&list[k], dims) < largest(&list[best], dims)) best = k;
  }
  test_case(good && same_grid(chosen, list[best].factor, dims),
            "%d in %d factors: %d grids, not %d, or another is chosen", procs, dims, w.calls, n);
}

static void check_all_factorizations(void) {
  int procs, dims;
  for (procs = 1; procs <= 130; procs++)
    for (dims = 1; dims <= MOST_DIMS; dims++) check_factorizations(procs, dims);
  for (dims = 1; dims <= MOST_DIMS; dims++) {
    check_factorizations(720, dims);
    check_factorizations(1021, dims);
    check_factorizations(4096, dims);
  }
}

/* A large prime has few grids; they are found without going through all smaller numbers. */
static void check_large_primes(void) {
  static witness w;
  const redist_cost cost = {1, 1};
  const int largest_prime = INT_MAX, chosen_last[3] = {1, 1, INT_MAX};
  int chosen[3] = {0, 0, 0};
  double seconds;
  w.calls = 0;
  w.dims = 3;
  test_case(redist_best_grid(largest_prime, 3, note_grid, &w, 1, &cost, chosen, &seconds) ==
                    REDIST_OK &&
                w.calls == 3 && same_grid(chosen, chosen_last, 3),
            "2^31 - 1 in 3 factors: %d grids", w.calls);
}

/* ---- random sequences of layouts, and their costs ---- */

/* factors: bit d where factor d of the grid distributes this axis. */
typedef struct {
  int kind, factors;
  int64_t block;
} axis_of;

typedef struct {
  axis_of axis[MOST_AXES];
  int first_rank, columns;
} layout_of;

typedef struct {
  int ndim, dims, layouts, refused; /* refused: grids whose first factor this divides; 0: none */
  int64_t n[MOST_AXES];
  layout_of layout[MOST_LAYOUTS];
} sequence_of;

static int procs_of(const axis_of *x, const int *factor, int dims) {
  int d, procs = 1;
  for (d = 0; d < dims; d++) procs *= x->factors >> d & 1 ? factor[d] : 1;
  return procs;
}

static redist_axis axis_from(const axis_of *x, int64_t n, int procs) {
  return x->kind == BLOCKS     ? redist_block(n, procs)
         : x->kind == BALANCED ? redist_balanced(n, procs)
                               : redist_block_cyclic(n, x->block, procs);
}

static int build(const int *factor, redist_layout *layout, int most, void *context) {
  const sequence_of *s = context;
  int k, a;
  (void)most;
  if (s->refused > 0 && factor[0] % s->refused == 0) return 0;
  for (k = 0; k < s->layouts; k++) {
    redist_axis axes[MOST_AXES];
    for (a = 0; a < s->ndim; a++) {
      const axis_of *x = &s->layout[k].axis[a];
      axes[a] = axis_from(x, s->n[a], procs_of(x, factor, s->dims));
    }
    layout[k] = redist_from_rank(redist_layout_nd(s->ndim, axes), s->layout[k].first_rank);
    if (s->layout[k].columns) layout[k] = redist_grid_order(layout[k], REDIST_COLUMN_MAJOR);
  }
  return s->layouts;
}

/* The seconds of a sequence on a grid; -1 where it cannot be used. */
static double add_costs(redist_layouts *layouts, void *context, const int *factor, size_t bytes,
                        const redist_cost *cost) {
  static redist_layout sequence[MOST];
  const int n = layouts(factor, sequence, MOST, context);
  double seconds = 0, one;
  int k;
  for (k = 0; k + 1 < n; k++)
    if (redist_cost_of(&sequence[k], &sequence[k + 1], bytes, cost, &one) == REDIST_OK)
      seconds += one;
  return n == 0 ? -1 : seconds;
}

/* Whether a grid is the best of all: of equal ones that with the least largest factor, then the
   first. */
static int is_best(redist_layouts *layouts, void *context, int procs, int dims, size_t bytes,
                   const redist_cost *cost, const int *chosen, double seconds) {
  static grid list[MOST_GRIDS];
  const int n = all_grids(procs, dims, list);
  int k, best = -1;
  double least = 0;
  for (k = 0; k < n; k++) {
    const double here = add_costs(layouts, context, list[k].factor, bytes, cost),
                 close = 1e-9 * here;
    if (here < 0) continue;
    if (best < 0 || here < least - close ||
        (here <= least + close && largest(&list[k], dims) < largest(&list[best], dims))) {
      best = k;
      least = here;
    }
  }
  return best >= 0 && same_grid(list[best].factor, chosen, dims) &&
         fabs(seconds - least) <= 1e-9 * least;
}

static void draw_layout(test_random *r, const sequence_of *s, layout_of *l) {
  int a, d;
  memset(l, 0, sizeof *l);
  for (d = 0; d < s->dims; d++) /* now and then a factor distributes no axis */
    if (!test_one_in(r, 12)) l->axis[test_between(r, 0, s->ndim - 1)].factors |= 1 << d;
  for (a = 0; a < s->ndim; a++) {
    l->axis[a].kind = (int)test_between(r, 0, KINDS - 1);
    l->axis[a].block = test_between(r, 1, 4);
  }
  l->columns = test_one_in(r, 3);
  l->first_rank = test_one_in(r, 3) ? (int)test_between(r, 0, FIRST_RANK) : 0;
}

static void draw_sequence(test_random *r, sequence_of *s) {
  int a, k;
  s->ndim = (int)test_between(r, 1, MOST_AXES);
  s->dims = (int)test_between(r, 1, MOST_DIMS);
  s->layouts = (int)test_between(r, 1, MOST_LAYOUTS);
  s->refused = test_one_in(r, 3) ? (int)test_between(r, 2, 3) : 0;
  for (a = 0; a < s->ndim; a++) s->n[a] = test_between(r, 1, a == 0 ? 40 : 6);
  for (k = 0; k < s->layouts; k++) draw_layout(r, s, &s->layout[k]);
}

/* Returns how many grids there were to choose from. */
static int check_sequence(int number) {
  static grid list[MOST_GRIDS];
  test_random r = {(uint64_t)number};
  sequence_of s;
  const int procs = (int)test_between(&r, 1, MOST_RANKS);
  const redist_cost elements = {0, 1}, both = {(double)test_between(&r, 1, 2000), 1};
  const redist_cost *cost = test_one_in(&r, 2) ? &elements : &both;
  int chosen[MOST_DIMS] = {0}, n, k, usable = 0, code;
  double seconds = -2;
  draw_sequence(&r, &s);
  n = all_grids(procs, s.dims, list);
  for (k = 0; k < n; k++) usable += s.refused == 0 || list[k].factor[0] % s.refused != 0;
  code = redist_best_grid(procs, s.dims, build, &s, 8, cost, chosen, &seconds);
  if (usable == 0)
    test_case(code == REDIST_ERR_LAYOUT && seconds == -1 &&
                  same_grid(chosen, list[n - 1].factor, s.dims),
              "sequence %d: all refused: code %d", number, code);
  else
    test_case(code == REDIST_OK && is_best(build, &s, procs, s.dims, 8, cost, chosen, seconds),
              "sequence %d: %d ranks in %d factors, code %d, %dx%d..., %g s", number, procs, s.dims,
              code, chosen[0], chosen[1], seconds);
  return usable;
}

static void check_sequences(int sequences) {
  int k, choices = 0;
  for (k = 0; k < sequences; k++) choices += check_sequence(k) > 2;
  test_case(choices > sequences / 3, "only %d sequences had a choice", choices);
}

/* ---- pencils: a closed form ---- */

static redist_layout pencil(int64_t n, int whole, const int *factor) {
  redist_axis axes[3];
  int d, k = 0;
  for (d = 0; d < 3; d++) axes[d] = d == whole ? redist_whole(n) : redist_block(n, factor[k++]);
  return redist_layout_nd(3, axes);
}

static int pencils(const int *factor, redist_layout *sequence, int most, void *context) {
  const int64_t *n = context;
  int w;
  (void)most;
  for (w = 0; w < 3; w++) sequence[w] = sequence[4 - w] = pencil(*n, w, factor);
  return 5;
}

/* Where both factors divide the edge: x to y is p1 messages of a rank's share, y to z p2. */
static double pencils_cost(int64_t n, const int *factor, const redist_cost *cost) {
  const double share = (double)(n * n * n) / factor[0] / factor[1];
  return 2 * ((factor[0] + factor[1]) * cost->per_message + 2 * 16 * share * cost->per_byte);
}

/* first: the first factor of the best grid. */
static void check_pencils(int procs, int64_t n, double per_message, double per_byte, int first) {
  const redist_cost cost = {per_message, per_byte};
  int chosen[2] = {0, 0};
  double seconds = -2;
  const int good =
      redist_best_grid(procs, 2, pencils, &n, 16, &cost, chosen, &seconds) == REDIST_OK &&
      chosen[0] == first && chosen[0] * chosen[1] == procs &&
      fabs(seconds - pencils_cost(n, chosen, &cost)) <= 1e-9 * seconds;
  test_case(good && (procs > 1000 || is_best(pencils, &n, procs, 2, 16, &cost, chosen, seconds)),
            "pencils of %ld on %d ranks: %d x %d, %g s", (long)n, procs, chosen[0], chosen[1],
            seconds);
}

static void check_all_pencils(void) {
  check_pencils(1, 8, 1e-5, 1e-9, 1);
  check_pencils(7, 49, 1e-5, 1e-9, 1);
  check_pencils(16, 16, 1, 0, 4);
  check_pencils(64, 64, 1, 0, 8);
  check_pencils(64, 64, 0, 0, 8); /* all are equal: the most square */
  check_pencils(64, 64, 0, 1, 8);
  check_pencils(128, 128, 1e-6, 1e-9, 8); /* 8 x 16 and 16 x 8 are: the first */
  check_pencils(4096, 4096, 1e-6, 1e-9, 64);
}

/* A transform along y keeps two thirds of the modes. So y to z moves less than x to y, which stays
   on the ranks if the first factor is 1. */
static int shrinking(const int *factor, redist_layout *sequence, int most, void *context) {
  const int64_t *n = context;
  (void)most;
  sequence[0] = pencil(*n, 0, factor);
  sequence[1] = pencil(*n, 1, factor);
  sequence[2] = redist_section(pencil(*n, 1, factor), 1, 0, 2 * *n / 3, 1);
  sequence[3] = redist_layout_3d(redist_block(*n, factor[0]), redist_block(2 * *n / 3, factor[1]),
                                 redist_whole(*n));
  return 4;
}

static void check_shapes(void) {
  const redist_cost elements = {0, 1};
  int64_t n = 24;
  int chosen[2] = {0, 0};
  double seconds = -2;
  const int code = redist_best_grid(4, 2, shrinking, &n, 1, &elements, chosen, &seconds);
  test_case(code == REDIST_OK && seconds == 24 * 24 * 24 / 4 + 24 * 16 * 24 / 4 &&
                is_best(shrinking, &n, 4, 2, 1, &elements, chosen, seconds),
            "a transform in between: %d x %d, %g elements", chosen[0], chosen[1], seconds);
}

/* ---- layouts that are no products: replicas, boxes, ghosts, several places on a rank ---- */

static const int two_each[8] = {0, 0, 1, 1, 2, 2, 3, 3};

/* The factor chooses among layouts of 8 elements on ranks 0 to 3, from 8 elements on rank 0. */
static int special(const int *factor, redist_layout *sequence, int most, void *context) {
  (void)most;
  (void)context;
  sequence[0] = redist_layout_1d(redist_whole(8));
  sequence[1] = redist_layout_1d(redist_block(8, 8));
  if (factor[0] == 1) sequence[1] = redist_on_ranks(sequence[1], two_each);
  if (factor[0] == 2) sequence[1] = redist_replicated(redist_layout_1d(redist_whole(8)), 2);
  if (factor[0] == 4) return 0;
  return 2;
}

static void check_special(void) {
  const redist_cost messages = {10, 0}, elements = {0, 1};
  int chosen[2] = {0, 0};
  double seconds = -2;
  int code = redist_best_grid(8, 2, special, NULL, 1, &messages, chosen, &seconds);
  test_case(code == REDIST_OK && chosen[0] == 2 && seconds == 20,
            "few messages, 2 of them to replicas, not %d, %g s", chosen[0], seconds);
  code = redist_best_grid(8, 2, special, NULL, 1, &elements, chosen, &seconds);
  test_case(code == REDIST_OK && is_best(special, NULL, 8, 2, 1, &elements, chosen, seconds),
            "few elements: %d, %g s", chosen[0], seconds);
}

/* ---- bad input, layouts that are invalid, memory ---- */

enum { NEGATIVE, TOO_MANY, FULL, INVALID, LAST_INVALID, ALONE_INVALID, MISTAKES };

/* Makes a mistake on the grid 2 x 3 of 6. */
static int mistaken(const int *factor, redist_layout *sequence, int most, void *context) {
  const int mistake = factor[0] == 2 ? *(const int *)context : FULL;
  int k;
  for (k = 0; k < most; k++) sequence[k] = redist_layout_1d(redist_block(9, factor[k % 2]));
  if (mistake == INVALID) sequence[1] = redist_layout_1d(redist_block_cyclic(9, 0, 2));
  if (mistake == ALONE_INVALID) sequence[0] = redist_layout_1d(redist_block(9, 0));
  if (mistake == LAST_INVALID) sequence[most - 1] = redist_flipped(sequence[0], 1);
  return mistake == NEGATIVE        ? -1
         : mistake == TOO_MANY      ? most + 1
         : mistake == ALONE_INVALID ? 1
                                    : most;
}

static void check_mistakes(void) {
  static const int codes[MISTAKES] = {REDIST_ERR_ARGUMENT, REDIST_ERR_ARGUMENT, REDIST_OK,
                                      REDIST_ERR_LAYOUT,   REDIST_ERR_LAYOUT,   REDIST_ERR_LAYOUT};
  const redist_cost cost = {1, 1};
  int k;
  for (k = 0; k < MISTAKES; k++) {
    int chosen[2] = {17, 17}, code;
    double seconds = -2;
    code = redist_best_grid(6, 2, mistaken, &k, 1, &cost, chosen, &seconds);
    test_case(code == codes[k] &&
                  (code == REDIST_OK ? seconds >= 0
                                     : seconds == -1 && chosen[0] == 2 && chosen[1] == 3),
              "mistake %d: code %d, grid %d x %d, %g s", k, code, chosen[0], chosen[1], seconds);
  }
}

static void check_bad_input(void) {
  const double bad[] = {-1, NAN, INFINITY};
  const redist_cost cost = {1, 1};
  int64_t n = 8;
  int chosen[REDIST_MAX_DIMS] = {17}, k;
  double seconds;
#define REFUSED(what, call) \
  seconds = -2;             \
  test_case((call) == REDIST_ERR_ARGUMENT && seconds == -1 && chosen[0] == 17, what)
  REFUSED("0 ranks", redist_best_grid(0, 2, pencils, &n, 1, &cost, chosen, &seconds));
  REFUSED("-4 ranks", redist_best_grid(-4, 2, pencils, &n, 1, &cost, chosen, &seconds));
  REFUSED("no factors", redist_best_grid(4, 0, pencils, &n, 1, &cost, chosen, &seconds));
  REFUSED("too many factors",
          redist_best_grid(4, REDIST_MAX_DIMS + 1, pencils, &n, 1, &cost, chosen, &seconds));
  REFUSED("no callback", redist_best_grid(4, 2, NULL, &n, 1, &cost, chosen, &seconds));
  REFUSED("no bytes", redist_best_grid(4, 2, pencils, &n, 0, &cost, chosen, &seconds));
  REFUSED("no cost", redist_best_grid(4, 2, pencils, &n, 1, NULL, chosen, &seconds));
  REFUSED("no grid", redist_best_grid(4, 2, pencils, &n, 1, &cost, NULL, &seconds));
  for (k = 0; k < 6; k++) {
    const redist_cost wrong = {k < 3 ? bad[k] : 1, k < 3 ? 1 : bad[k - 3]};
    REFUSED("a bad cost", redist_best_grid(4, 2, pencils, &n, 1, &wrong, chosen, &seconds));
  }
#undef REFUSED
  test_case(redist_best_grid(4, 2, pencils, &n, 1, &cost, chosen, NULL) == REDIST_ERR_ARGUMENT &&
                chosen[0] == 17,
            "nowhere to write the seconds");
}

/* Each allocation fails once. */
static void check_memory(void) {
  const redist_cost cost = {1, 1};
  int64_t k;
  int chosen[2], failures = 0, code;
  double seconds;
  for (k = 0;; k++) {
    until_failure = k;
    code = redist_best_grid(8, 2, special, NULL, 1, &cost, chosen, &seconds);
    if (until_failure >= 0) break;
    failures++;
    if (!test_case(code == REDIST_ERR_MEMORY && seconds == -1 && live_blocks == 0,
                   "allocation %ld fails: code %d, %ld blocks left", (long)k, code,
                   (long)live_blocks))
      break;
  }
  until_failure = -1;
  test_case(code == REDIST_OK && failures > 5 && live_blocks == 0, "after %d failures", failures);
}

/* Argument: the number of random sequences. */
int main(int count, char **arguments) {
  check_all_factorizations();
  check_large_primes();
  check_sequences(count > 1 ? atoi(arguments[1]) : 3000);
  check_all_pencils();
  check_shapes();
  check_special();
  check_mistakes();
  check_bad_input();
  check_memory();
  return test_report("grids");
}
