/* redist tests: replicated layouts on paper, against every element and every replica looked at.
   MIT licence, see LICENSE. */
#include <limits.h>

#include "failing_malloc.h"
#include "replicas.h"

enum { WORLD = TEST_PLACES, TEXT = 4000 };

/* ---- what a layout answers ---- */

static void check_places(const test_model *x, int number) {
  const test_table *t = &x->table;
  int k, rank, coords[TEST_DIMS], other[TEST_DIMS],
      good = redist_layout_check(&x->layout) == REDIST_OK;
  good = good && redist_layout_places(&x->layout) == t->places;
  for (rank = 0; rank < WORLD + 2; rank++) {
    k = test_place_of_rank(t, rank);
    good = good && redist_layout_coords(&x->layout, rank, coords) == (k >= 0);
    good = good && redist_layout_local_size(&x->layout, rank) == (k >= 0 ? t->alloc[k] : 0);
    /* the same coordinates in every replica, and their rank is that of replica 0 */
    if (k >= 0) {
      good = good && redist_layout_rank(&x->layout, coords) == t->ranks[k % t->grid];
      good = good && redist_layout_coords(&x->layout, t->ranks[k % t->grid], other) &&
             memcmp(coords, other, (size_t)x->array.ndim * sizeof *coords) == 0;
    }
  }
  test_case(good, "pair %d: places, coordinates and ranks of %d replicas of %d places", number,
            x->array.replicas, t->grid);
}

static void check_text(const test_model *x, int number) {
  static int64_t storage[TEXT];
  char text[TEXT], again[TEXT], message[200];
  redist_layout y;
  int code, rank, good = 1;
  if (redist_layout_format(&x->layout, text, sizeof text) < 0) {
    test_case(test_has_lists(&x->array), "pair %d has no text", number);
    return;
  }
  code = redist_layout_parse(text, &y, storage, sizeof storage, message, sizeof message);
  redist_layout_format(&y, again, sizeof again);
  for (rank = 0; rank < WORLD + 2 && code == REDIST_OK; rank++)
    good = good && redist_layout_local_size(&x->layout, rank) == redist_layout_local_size(&y, rank);
  test_case(code == REDIST_OK && good && strcmp(text, again) == 0, "pair %d: %s %s becomes %s",
            number, text, message, again);
}

/* ---- who serves whom ---- */

static void check_volumes(const replicated *p, int number) {
  int a, b, same = 1;
  for (a = 0; a < WORLD; a++)
    for (b = 0; b < WORLD; b++)
      same = same && test_volume(&p->side[0].layout, a, &p->side[1].layout, b) == p->volume[a][b];
  test_case(same, "pair %d: volumes between ranks", number);
}

/* What the rule promises, whatever it is in detail: who has a replica reads it, and none serves
   more of the others than an even share of all, rounded up; all serve evenly where nobody reads
   their own. */
static void check_evenness(const replicated *p, int number) {
  const redist_layout *x = &p->side[0].layout, *y = &p->side[1].layout;
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  const int replicas = p->side[0].array.replicas;
  int k, c, t, good = 1;
  for (k = 0; k < from->grid; k++) {
    int served[TEST_MOST_REPLICAS] = {0}, least = INT_MAX, most = 0, all = 0, owners = 0;
    for (t = 0; t < to->places; t++) {
      const int own = replicas_held(from, k, to->ranks[t]);
      int readers = 0;
      for (c = 0; c < replicas; c++) {
        const int reads = test_volume(x, from->ranks[k + c * from->grid], y, to->ranks[t]) > 0;
        readers += reads;
        served[c] += reads && own < 0;
        good = good && (own < 0 || reads == (p->shared[k][t % to->grid] > 0 && c == own));
      }
      good = good && readers == (p->shared[k][t % to->grid] > 0);
      all += readers;
      owners += readers > 0 && own >= 0;
    }
    for (c = 0; c < replicas; c++) {
      least = served[c] < least ? served[c] : least;
      most = served[c] > most ? served[c] : most;
    }
    good = good && most * replicas < all + replicas && (owners > 0 || most - least <= 1);
  }
  test_case(
      good,
      "pair %d: one replica serves, one's own if there is one, and none serves more than its share",
      number);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The largest degrees count a rank's message to itself, the traffic does not. */
static redist_traffic expected_traffic(const replicated *p, int64_t *degree) {
  redist_traffic t = {0, 0, 0, 0, 0, 0, 0, 0};
  int a, b;
  *degree = 0;
  for (a = 0; a < WORLD; a++) {
    int64_t sends = 0, receives = 0, sent = 0, received = 0, self = p->volume[a][a] > 0;
    for (b = 0; b < WORLD; b++) {
      sends += a != b && p->volume[a][b] > 0;
      receives += a != b && p->volume[b][a] > 0;
      sent += a == b ? 0 : p->volume[a][b];
      received += a == b ? 0 : p->volume[b][a];
    }
    t.local += p->volume[a][a];
    t.moved += sent;
    t.messages += sends;
    t.max_sends = larger(t.max_sends, sends);
    t.max_receives = larger(t.max_receives, receives);
    t.max_sent = larger(t.max_sent, sent);
    t.max_received = larger(t.max_received, received);
    *degree = larger(*degree, larger(sends, receives) + self);
  }
  t.total = p->side[1].table.elements * p->side[1].array.replicas;
  return t;
}

/* The most elements that any rank sends or receives, itself included. */
static int64_t expected_busiest(const replicated *p) {
  int64_t busiest = 0;
  int a, b;
  for (a = 0; a < WORLD; a++) {
    int64_t sent = 0, received = 0;
    for (b = 0; b < WORLD; b++) {
      sent += p->volume[a][b];
      received += p->volume[b][a];
    }
    busiest = larger(busiest, larger(sent, received));
  }
  return busiest;
}

static void check_traffic(const replicated *p, int number) {
  const redist_cost messages = {1, 0}, bytes = {0, 1};
  redist_traffic found, expected;
  int64_t degree;
  double cost = test_cost(&p->side[0].layout, &p->side[1].layout, 8, &messages);
  int stops = -7;
  memset(&found, 0, sizeof found);
  expected = expected_traffic(p, &degree);
  test_case(
      redist_traffic_between(&p->side[0].layout, &p->side[1].layout, 0, &found) == REDIST_OK &&
          found.total == expected.total && found.local == expected.local &&
          found.moved == expected.moved && found.messages == expected.messages &&
          found.max_sends == expected.max_sends && found.max_receives == expected.max_receives &&
          found.max_sent == expected.max_sent && found.max_received == expected.max_received,
      "pair %d: traffic: moved %ld of %ld, kept %ld of %ld, messages %ld of %ld, %ld of %ld from one rank",
      number, (long)found.moved, (long)expected.moved, (long)found.local, (long)expected.local,
      (long)found.messages, (long)expected.messages, (long)found.max_sends,
      (long)expected.max_sends);
  test_case(cost == (double)degree || (p->side[0].array.replicas > 1 && cost == (double)degree + 1),
            "pair %d: cost of %g messages for %ld", number, cost, (long)degree);
  cost = test_cost(&p->side[0].layout, &p->side[1].layout, 8, &bytes);
  test_case(cost == 8.0 * (double)expected_busiest(p), "pair %d: cost of %g bytes", number, cost);
  test_case((p->side[0].array.replicas == 1 && p->side[1].array.replicas == 1) ||
                (redist_phases(&p->side[0].layout, &p->side[1].layout, 1, &messages, 4,
                               (redist_layout[4]){0}, &stops) == REDIST_OK &&
                 stops == 0),
            "pair %d: no phases with replicas", number);
}

static void check_schedule(const replicated *p, int number) {
  int64_t left[TEST_PLACES][TEST_PLACES], degree;
  redist_schedule *s;
  int step, a, b,
      good = redist_schedule_create(&p->side[0].layout, &p->side[1].layout, 0, &s) == REDIST_OK;
  expected_traffic(p, &degree);
  memcpy(left, p->volume, sizeof left);
  for (step = 0; step < redist_schedule_steps(s) && good; step++) {
    int to[WORLD], from[WORLD];
    for (a = 0; a < WORLD; a++)
      good = good && redist_schedule_step(s, a, step, &to[a], &from[a]) == REDIST_OK;
    for (a = 0; a < WORLD && good; a++) {
      good = to[a] >= -1 && to[a] < WORLD && from[a] >= -1 && from[a] < WORLD &&
             (to[a] < 0 || from[to[a]] == a) && (from[a] < 0 || to[from[a]] == a) &&
             (to[a] < 0 || left[a][to[a]] > 0);
      if (good && to[a] >= 0) left[a][to[a]] = 0;
    }
  }
  for (a = 0; a < WORLD; a++)
    for (b = 0; b < WORLD; b++) good = good && left[a][b] == 0;
  test_case(good && redist_schedule_steps(s) == degree,
            "pair %d: a schedule of %d steps for a degree of %ld", number, redist_schedule_steps(s),
            (long)degree);
  redist_schedule_free(&s);
}

/* ---- moving ---- */

/* Places that own nothing get NULL every other time. */
static void fill_arrays(const replicated *p, int number, size_t bytes,
                        unsigned char *held[2][TEST_PLACES]) {
  int side, k;
  for (side = 0; side < 2; side++)
    for (k = 0; k < p->side[side].table.places; k++) {
      const test_model *x = &p->side[side];
      held[side][k] = NULL;
      if (x->table.owned[k] == 0 && number % 2 == 0) continue;
      held[side][k] = malloc((size_t)x->table.alloc[k] * bytes + 1);
      if (side == 0)
        replicated_fill_source(p, k, bytes, 5, held[side][k]);
      else
        test_fill(&x->table, k, bytes, 12345, 8, held[side][k]);
    }
}

static void check_move(const replicated *p, int number) {
  static const size_t sizes[] = {1, 8, 3};
  const size_t bytes = sizes[number % 3];
  unsigned char *held[2][TEST_PLACES];
  const void *from[TEST_PLACES];
  void *to[TEST_PLACES];
  int k, side, code, good = 1;
  fill_arrays(p, number, bytes, held);
  for (k = 0; k < TEST_PLACES; k++) {
    from[k] = k < p->side[0].table.places ? held[0][k] : NULL;
    to[k] = k < p->side[1].table.places ? held[1][k] : NULL;
  }
  code = redist_move(&p->side[0].layout, from, &p->side[1].layout, to, bytes);
  for (side = 0; side < 2; side++)
    for (k = 0; k < p->side[side].table.places; k++) {
      const size_t size = (size_t)p->side[side].table.alloc[k] * bytes;
      unsigned char *expected = malloc(size + 1);
      if (side == 0)
        replicated_fill_source(p, k, bytes, 5, expected);
      else
        replicated_expect(p, k, bytes, 5, expected);
      good = good && (held[side][k] == NULL || memcmp(expected, held[side][k], size) == 0);
      free(expected);
      free(held[side][k]);
    }
  test_case(code == REDIST_OK && good, "pair %d: move of %d to %d replicas: code %d", number,
            p->side[0].array.replicas, p->side[1].array.replicas, code);
}

/* ---- relabelling ---- */

/* The most that places t, t + 1, ... keep on ranks not yet used. */
static int64_t best_numbering(const replicated *p, const int *candidates, int n, unsigned used,
                              int t) {
  const test_table *from = &p->side[0].table, *to = &p->side[1].table;
  int64_t best = 0;
  int c, k;
  if (t == to->places) return 0;
  for (c = 0; c < n; c++) {
    int64_t kept = 0;
    if (used >> c & 1) continue;
    for (k = 0; k < from->places; k++)
      if (from->ranks[k] == candidates[c]) kept = p->shared[k % from->grid][t % to->grid];
    best = larger(best, kept + best_numbering(p, candidates, n, used | 1u << c, t + 1));
  }
  return best;
}

static int list_candidates(const replicated *p, int *candidates) {
  int rank, side, n = 0, holds;
  for (rank = 0; rank < WORLD; rank++) {
    for (side = holds = 0; side < 2; side++)
      holds |= test_place_of_rank(&p->side[side].table, rank) >= 0;
    candidates[n] = rank;
    n += holds;
  }
  return n;
}

static void check_relabel(const replicated *p, int number) {
  int candidates[WORLD], ranks[TEST_PLACES], n = list_candidates(p, candidates), k, c, legal = 1;
  redist_traffic now = {0, 0, 0, 0, 0, 0, 0, 0};
  redist_layout renumbered;
  int64_t best;
  if (p->side[1].table.places > 5 || n > 7) return;
  best = best_numbering(p, candidates, n, 0, 0);
  test_case(redist_relabel(&p->side[0].layout, &p->side[1].layout, 0, ranks) == REDIST_OK,
            "pair %d: relabelling", number);
  for (k = 0; k < p->side[1].table.places; k++) {
    for (c = 0; c < n && candidates[c] != ranks[k]; c++) continue;
    legal = legal && c < n;
  }
  renumbered = redist_on_ranks(p->side[1].layout, ranks);
  test_case(legal &&
                redist_traffic_between(&p->side[0].layout, &renumbered, 0, &now) == REDIST_OK &&
                now.local == best,
            "pair %d: relabelled, %ld stay of at most %ld", number, (long)now.local, (long)best);
}

/* More places than are assigned exactly: every axis is matched for itself, and replicas with
   replicas. */
static void check_large_relabel(void) {
  enum { N = 1200, PROCS = 600 };
  static int ranks[3 * PROCS];
  redist_layout from = redist_replicated(redist_layout_1d(redist_block(N, PROCS)), 2);
  redist_layout to =
      redist_replicated(redist_layout_1d(redist_starting_at(redist_block(N, PROCS), 1)), 3);
  redist_traffic before = {0, 0, 0, 0, 0, 0, 0, 0}, after = before;
  redist_traffic_between(&from, &to, 0, &before);
  test_case(redist_relabel(&from, &to, 0, ranks) == REDIST_OK, "relabelling 1800 places");
  to = redist_on_ranks(to, ranks);
  redist_traffic_between(&from, &to, 0, &after);
  test_case(redist_layout_check(&to) == REDIST_OK && before.local < 2 * N && after.local == 2 * N &&
                after.total == 3 * N && after.moved == N,
            "relabelled 1800 places: %ld of %ld stay", (long)after.local, (long)after.total);
}

/* ---- memory ---- */

/* Calls every function that allocates; returns whether all had the memory, or said that they had
   none. */
static int call_all(const replicated *p, const void *const *from, void *const *to, int *memory) {
  const redist_layout *x = &p->side[0].layout, *y = &p->side[1].layout;
  redist_traffic traffic, none = {0, 0, 0, 0, 0, 0, 0, 0};
  redist_schedule *schedule;
  int ranks[TEST_PLACES], code[4], k, good;
  int64_t volume = test_volume(x, p->side[0].table.ranks[0], y, p->side[1].table.ranks[0]);
  code[0] = redist_traffic_between(x, y, 0, &traffic);
  good = code[0] == REDIST_OK || memcmp(&traffic, &none, sizeof none) == 0;
  code[1] = redist_schedule_create(x, y, 0, &schedule);
  redist_schedule_free(&schedule);
  code[2] = redist_relabel(x, y, 0, ranks);
  code[3] = redist_move(x, from, y, to, 1);
  *memory = volume < 0;
  for (k = 0; k < 4; k++) {
    *memory |= code[k] == REDIST_ERR_MEMORY;
    good = good && (code[k] == REDIST_OK || code[k] == REDIST_ERR_MEMORY);
  }
  return good;
}

static void check_memory(const replicated *p, int number) {
  unsigned char *held[2][TEST_PLACES];
  const void *from[TEST_PLACES];
  void *to[TEST_PLACES];
  int64_t n, before = live_blocks;
  int k, side, lacked = 1, good = 1;
  fill_arrays(p, 1, 1, held);
  for (k = 0; k < TEST_PLACES; k++) {
    from[k] = k < p->side[0].table.places ? held[0][k] : NULL;
    to[k] = k < p->side[1].table.places ? held[1][k] : NULL;
  }
  for (n = 0; lacked && good; n++) {
    until_failure = n;
    good = call_all(p, from, to, &lacked) && live_blocks == before && lacked == (until_failure < 0);
  }
  until_failure = -1;
  for (side = 0; side < 2; side++)
    for (k = 0; k < p->side[side].table.places; k++) free(held[side][k]);
  test_case(good, "pair %d: without its allocation %ld", number, (long)n - 1);
}

/* A source of one copy needs no memory for its pairs: on listed ranks only their checks, of which
   one is whether a rank holds several places, and their list to find what stays on a rank, take
   more than on others. */
static void check_thrift(void) {
  static const int ranks[3] = {0, 1, 2};
  const int64_t many = 1000000;
  redist_layout from = redist_layout_1d(redist_block(12, 3)), listed = redist_on_ranks(from, ranks);
  redist_layout to = redist_replicated(redist_layout_1d(redist_cyclic(12, 2)), 2);
  redist_traffic traffic;
  int64_t used[2];
  int code;
  until_failure = many;
  code = redist_traffic_between(&from, &to, 0, &traffic);
  used[0] = many - until_failure;
  until_failure = many;
  code += redist_layout_check(&listed);
  used[1] = until_failure - many;
  until_failure = many;
  code += redist_traffic_between(&listed, &to, 0, &traffic);
  used[1] += many - until_failure;
  until_failure = -1;
  test_case(code == REDIST_OK && used[0] > 0 && used[1] == used[0] + 2,
            "pairs of a source with one copy take no memory: %ld, %ld", (long)used[0],
            (long)used[1]);
}

/* ---- bad input ---- */

static void expect(redist_layout x, int code, const char *sentence) {
  char text[200];
  int found = redist_layout_explain(&x, text, sizeof text);
  test_case(found == code && strcmp(text, sentence) == 0 &&
                (code == REDIST_OK || redist_layout_places(&x) == 0 || code == REDIST_ERR_RANK),
            "expected code %d, %s; found %d, %s", code, sentence, found, text);
}

static void check_mistakes(void) {
  static const int twice[4] = {3, 4, 3, 5}, swapped[4] = {3, 4, 5, 3}, negative[4] = {3, 4, 5, -1};
  const redist_layout two = redist_layout_1d(redist_block(10, 2));
  redist_layout bad = redist_layout_1d(redist_block_cyclic(10, 0, 2));
  expect(redist_replicated(two, 0), REDIST_ERR_LAYOUT,
         "the number of replicas is 0, must be at least 1");
  expect(redist_replicated(two, -1), REDIST_ERR_LAYOUT,
         "the number of replicas is -1, must be at least 1");
  expect(redist_replicated(two, INT_MIN), REDIST_ERR_LAYOUT,
         "the number of replicas is -2147483648, must be at least 1");
  expect(redist_replicated(two, INT_MAX), REDIST_ERR_OVERFLOW,
         "the number of replicas is 2147483647, must be at least 1 and at most 1073741823");
  expect(redist_replicated(two, INT_MAX / 2), REDIST_OK, "");
  expect(redist_replicated(two, INT_MAX / 2 + 1), REDIST_ERR_OVERFLOW,
         "the number of replicas is 1073741824, must be at least 1 and at most 1073741823");
  expect(redist_replicated(redist_from_rank(two, INT_MAX - 5), 3), REDIST_ERR_RANK,
         "the first rank is 2147483642, must be at least 0 and at most 2147483641");
  expect(redist_from_rank(redist_replicated(two, 3), INT_MAX - 5), REDIST_ERR_RANK,
         "the first rank is 2147483642, must be at least 0 and at most 2147483641");
  expect(redist_replicated(redist_on_ranks(two, swapped), 2), REDIST_OK, "");
  expect(redist_replicated(redist_on_ranks(two, twice), 2), REDIST_ERR_RANK,
         "two replicas of place 0 are on rank 3");
  expect(redist_on_ranks(redist_replicated(two, 2), negative), REDIST_ERR_RANK,
         "a rank is -1, must be at least 0 and at most 2147483647");
  expect(redist_replicated(redist_on_ranks(two, twice), 1), REDIST_OK, "");
  expect(redist_replicated(bad, 0), REDIST_ERR_LAYOUT, "axis 0: block is 0, must be at least 1");
  expect(redist_replicated(redist_layout_nd(0, NULL), 2), REDIST_ERR_LAYOUT,
         "the number of axes is 0, must be at least 1 and at most 8");
  expect(redist_replicated(redist_layout_2d(redist_block(9, 99999), redist_block(9, 99999)), 5),
         REDIST_ERR_OVERFLOW, "the process grid has more than INT_MAX places");
}

/* 2^61 elements in two copies are counted; in three they are too many. */
static void check_overflow(void) {
  const int64_t n = INT64_C(1) << 61;
  redist_layout from = redist_layout_1d(redist_block(n, 4)), two = redist_replicated(from, 2),
                three = redist_replicated(from, 3);
  redist_traffic traffic;
  int ranks[12];
  test_case(redist_traffic_between(&from, &two, 0, &traffic) == REDIST_OK &&
                traffic.total == 2 * n && traffic.local == n,
            "2^62 elements in two copies");
  test_case(redist_traffic_between(&from, &three, 0, &traffic) == REDIST_ERR_OVERFLOW,
            "more than 2^62 elements in three copies");
  test_case(redist_traffic_between(&two, &from, 1, &traffic) == REDIST_OK && traffic.total == 2 * n,
            "2^62 elements of two copies are combined");
  for (int copies = 3; copies <= 9; copies += 2) {
    redist_layout many = redist_replicated(redist_layout_1d(redist_whole(n)), copies),
                  one = redist_from_rank(redist_layout_1d(redist_whole(n)), copies);
    test_case(redist_traffic_between(&many, &one, 1, &traffic) == REDIST_ERR_OVERFLOW &&
                  traffic.total == 0 && traffic.max_received == 0,
              "more than 2^62 elements of %d copies are combined", copies);
  }
  test_case(redist_relabel(&from, &three, 0, ranks) == REDIST_ERR_OVERFLOW,
            "relabelling more than 2^62 elements");
  test_case(redist_relabel(&three, &two, 0, ranks) == REDIST_OK && ranks[0] == 0 && ranks[7] == 7,
            "relabelling 2^62 elements");
}

/* Nothing there: no schedule, no traffic. */
static void check_empty(void) {
  redist_layout from =
      redist_replicated(redist_layout_2d(redist_block(0, 2), redist_cyclic(9, 2)), 2);
  redist_layout to = redist_replicated(redist_layout_2d(redist_whole(0), redist_block(9, 3)), 3);
  redist_traffic traffic;
  redist_schedule *s;
  test_case(redist_traffic_between(&from, &to, 0, &traffic) == REDIST_OK && traffic.total == 0 &&
                traffic.messages == 0 && redist_schedule_create(&from, &to, 0, &s) == REDIST_OK &&
                redist_schedule_steps(s) == 0 && test_volume(&from, 0, &to, 0) == 0,
            "an array of no elements in copies");
  redist_schedule_free(&s);
}

/* Boxes are numbered among the readers as places of a grid are: two halves in two copies serve four
   readers each, that stand in columns of a grid, or are boxes of whose numbers every other lies in
   a half. */
static void check_boxes(void) {
  static const redist_box halves[2] = {{{0, 0}, {8, 4}}, {{0, 4}, {8, 8}}};
  const int64_t extents[2] = {8, 8};
  const redist_cost messages = {1, 0};
  redist_box eighths[8];
  redist_layout from, to;
  redist_traffic traffic;
  int boxes, k, rank, good;
  for (k = 0; k < 8; k++)
    for (rank = 0; rank < 2; rank++) {
      eighths[k].low[rank] = rank == 0 ? k / 2 * 2 : k % 2 * 4;
      eighths[k].high[rank] = eighths[k].low[rank] + (rank == 0 ? 2 : 4);
    }
  for (boxes = 1; boxes < 4; boxes++) {
    from = redist_layout_2d(redist_whole(8), redist_block(8, 2));
    to = redist_layout_2d(redist_block(8, 4), redist_block(8, 2));
    if (boxes % 2 == 1) from = redist_layout_boxes(2, extents, 2, halves);
    if (boxes / 2 == 1) to = redist_layout_boxes(2, extents, 8, eighths);
    from = redist_replicated(from, 2);
    to = redist_from_rank(to, 4);
    good = redist_traffic_between(&from, &to, 0, &traffic) == REDIST_OK && traffic.max_sends == 2;
    for (rank = 0; rank < 4; rank++)
      for (k = 0; k < 8; k++)
        good = good && test_volume(&from, rank, &to, 4 + k) ==
                           (k % 2 == rank % 2 && k / 2 % 2 == rank / 2 ? 8 : 0);
    test_case(good && test_cost(&from, &to, 1, &messages) <= 3,
              "copies of boxes serve evenly, case %d: %d messages", boxes, (int)traffic.max_sends);
  }
}

/* usage: replicated [PAIRS] */
int main(int argc, char **argv) {
  const int pairs = argc > 1 ? atoi(argv[1]) : 6000;
  static replicated p;
  int number, side;
  for (number = 0; number < pairs; number++) {
    test_random r = {(uint64_t)number};
    replicated_draw(&r, (int)test_between(&r, 1, number % 2 == 0 ? WORLD : 7), &p);
    for (side = 0; side < 2; side++) check_places(&p.side[side], number);
    check_text(&p.side[number % 2], number);
    check_volumes(&p, number);
    check_evenness(&p, number);
    check_traffic(&p, number);
    check_schedule(&p, number);
    check_move(&p, number);
    check_relabel(&p, number);
    if (number % 50 == 7) check_memory(&p, number);
  }
  check_large_relabel();
  check_thrift();
  check_mistakes();
  check_overflow();
  check_empty();
  check_boxes();
  return test_report("replicated");
}
