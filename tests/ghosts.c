/* redist tests: ghost cells, boxes, replicas and combining on one process and on paper, against
   every cell of every place. MIT licence, see LICENSE. */
#define TEST_LENGTH 1024
#define TEST_ELEMENTS 1024
#define TEST_LARGEST 2000
#include "oracle.h"

enum { RANKS = 8 };

static int64_t initial(int side, int place, int64_t cell) {
  test_random r;
  r.state = (uint64_t)((side * 64 + place) * 100003 + cell);
  return (int64_t)(test_next(&r) >> 20);
}

typedef struct {
  test_model side[2];
  int64_t *array[2][RANKS];
  int64_t owner_value[TEST_ELEMENTS], sum[TEST_ELEMENTS];
  char owned[TEST_ELEMENTS]; /* by some place of the source */
} pair;

static void add(const void *from, void *to, int64_t n, void *context) {
  int64_t *there = (int64_t *)to, i;
  const int64_t *arrived = (const int64_t *)from;
  *(int64_t *)context += n;
  for (i = 0; i < n; i++) there[i] += arrived[i];
}

static void fill(pair *p) {
  int side, place;
  int64_t cell, e;
  memset(p->sum, 0, sizeof p->sum);
  for (side = 0; side < 2; side++)
    for (place = 0; place < p->side[side].table.places; place++) {
      const int64_t cells = p->side[side].table.alloc[place];
      p->array[side][place] = (int64_t *)malloc((size_t)cells * sizeof(int64_t) + 1);
      for (cell = 0; cell < cells; cell++) {
        int64_t *value = &p->array[side][place][cell];
        *value = initial(side, place, cell);
        if (side == 1) continue;
        e = test_element(&p->side[0].table, place, cell, 1);
        if (e >= 0) p->sum[e] += *value;
      }
    }
}

/* Which replica of a source is read is the library's choice: replicas agree where nothing is
   combined. */
static void agree(pair *p) {
  int place;
  int64_t cell, e;
  memset(p->owned, 0, sizeof p->owned);
  for (place = 0; place < p->side[0].table.places; place++)
    for (cell = 0; cell < p->side[0].table.alloc[place]; cell++) {
      e = test_element(&p->side[0].table, place, cell, 0);
      if (e >= 0) {
        p->owner_value[e] = p->array[0][place][cell] = 7 * e + 3;
        p->owned[e] = 1;
      }
    }
}

static int is_right(const pair *p, int combined) {
  const test_table *t = &p->side[1].table;
  int place;
  int64_t cell, e, wanted;
  for (place = 0; place < t->places; place++)
    for (cell = 0; cell < t->alloc[place]; cell++) {
      e = test_element(t, place, cell, 1);
      wanted = initial(1, place, cell);
      if (e >= 0 && combined)
        wanted += p->sum[e];
      else if (e >= 0 && p->owned[e])
        wanted = p->owner_value[e];
      if (p->array[1][place][cell] != wanted) return 0;
    }
  return 1;
}

/* How often place `to` of the destination holds what place `from` of the source owns. */
static int64_t shared(const pair *p, int from, int to) {
  const test_table *f = &p->side[0].table, *t = &p->side[1].table;
  int64_t cell, e, count = 0;
  for (cell = 0; cell < t->alloc[to]; cell++)
    if ((e = test_element(t, to, cell, 1)) >= 0) count += f->place[e] == from % f->grid;
  return count;
}

static void check_paper(const pair *p, int number) {
  const redist_layout *x = &p->side[0].layout, *y = &p->side[1].layout;
  const test_table *f = &p->side[0].table, *t = &p->side[1].table;
  const redist_cost cost = {1, 0};
  redist_traffic traffic;
  redist_schedule *schedule;
  int64_t total = 0, kept = 0, messages = 0, volume, most = 0;
  int a, b, step, to = -1, from = -1, pairs = 0, right = 1, ranks[RANKS];
  for (a = 0; a < f->places; a++)
    for (b = 0; b < t->places; b++) {
      volume = test_volume(x, f->ranks[a], y, t->ranks[b]);
      right &= volume == shared(p, a, b) || (f->places > f->grid && volume == 0);
      total += volume;
      kept += f->ranks[a] == t->ranks[b] ? volume : 0;
      messages += volume > 0 && f->ranks[a] != t->ranks[b];
      pairs += volume > 0;
    }
  test_case(right, "case %d: volumes", number);
  test_case(redist_traffic_between(x, y, 0, &traffic) == REDIST_OK && traffic.total == total &&
                traffic.local == kept && traffic.moved == total - kept &&
                traffic.messages == messages,
            "case %d: traffic of %lld, kept %lld, in %lld messages", number, (long long)total,
            (long long)kept, (long long)messages);
  test_case(redist_schedule_create(x, y, 0, &schedule) == REDIST_OK, "case %d: schedule", number);
  for (step = 0; step < redist_schedule_steps(schedule); step++)
    for (a = 0; a < RANKS; a++) {
      redist_schedule_step(schedule, a, step, &to, &from);
      pairs -= to >= 0;
      right &= to < 0 || test_volume(x, a, y, to) > 0;
    }
  test_case(right && pairs == 0, "case %d: %d pairs are not in the schedule", number, pairs);
  redist_schedule_free(&schedule);
  if (f->places == f->grid && t->places == t->grid) {
    for (a = 0; a < f->places; a++) {
      int64_t sends = 0;
      for (b = 0; b < t->places; b++) sends += shared(p, a, b) > 0;
      most = sends > most ? sends : most;
    }
    for (b = 0; b < t->places; b++) {
      int64_t receives = 0;
      for (a = 0; a < f->places; a++) receives += shared(p, a, b) > 0;
      most = receives > most ? receives : most;
    }
    test_case(test_cost(x, y, 8, &cost) == (double)most, "case %d: %g messages, not %lld", number,
              test_cost(x, y, 8, &cost), (long long)most);
    volume = 0;
    test_case(redist_relabel(x, y, 0, ranks) == REDIST_OK, "case %d: relabelled", number);
    for (a = 0; a < f->places; a++)
      for (b = 0; b < t->places; b++) volume += f->ranks[a] == ranks[b] ? shared(p, a, b) : 0;
    test_case(volume >= kept, "case %d: relabelled keeps %lld, less than %lld", number,
              (long long)volume, (long long)kept);
  }
}

/* The element that a shape visits after so many others. */
static int64_t visited(const test_table *t, int place, const redist_shape *s, int64_t others) {
  int64_t at = s->origin;
  int d;
  for (d = t->array->ndim - 1; d >= 0; d--) {
    at += others % s->count[d] * s->stride[d];
    others /= s->count[d];
  }
  return test_element(t, place, at, 0);
}

/* Shapes visit what a rank owns, in order. */
static void check_shape(const test_model *m, int number) {
  const test_table *t = &m->table;
  int place, d, right = 1;
  for (place = 0; place < t->places; place++) {
    redist_shape s;
    const int shaped = redist_layout_shape(&m->layout, t->ranks[place], &s);
    int64_t k, e, before = -1, first = 0;
    if (shaped < 0) continue;
    right &= shaped == 1 && test_product(m->array.ndim, s.count) == t->owned[place];
    for (d = 0; d < m->array.ndim; d++) first = first * t->shape[d] + s.first[d];
    for (k = 0; right && k < t->owned[place]; k++, before = e) {
      e = visited(t, place, &s, k);
      right &= e > before && (k > 0 || e == first);
    }
  }
  test_case(right, "case %d: shape", number);
}

/* The owner of every element and where it lies there; -1 where no place owns it. */
static void check_owners(const test_model *m, int number) {
  const test_table *t = &m->table;
  int64_t e, rest, index[TEST_DIMS];
  int d, right = 1;
  for (e = 0; e < t->elements; e++) {
    for (rest = e, d = m->array.ndim - 1; d >= 0; d--) {
      index[d] = rest % t->shape[d];
      rest /= t->shape[d];
    }
    right &=
        redist_layout_owner(&m->layout, index) == (t->place[e] < 0 ? -1 : t->ranks[t->place[e]]) &&
        redist_layout_offset(&m->layout, index) == t->offset[e];
  }
  test_case(right, "case %d: owners and offsets", number);
}

/* An allocated length that leaves no room for the last cell that holds an element is refused. */
static void check_room(pair *p, int side, int number) {
  const test_model *m = &p->side[side];
  redist_layout layout[2];
  int64_t least;
  int d, code;
  layout[0] = p->side[0].layout;
  layout[1] = p->side[1].layout;
  for (d = 0; d < m->array.ndim; d++) {
    least = test_most(&m->table, m->table.own[d], 1);
    if (least <= 1) continue;
    layout[side] = redist_with_allocated(m->layout, d, least - 1);
    code = redist_move(&layout[0], (const void *const *)p->array[0], &layout[1],
                       (void *const *)p->array[1], sizeof(int64_t));
    test_case(code == REDIST_ERR_LAYOUT, "case %d: too little room, code %d", number, code);
  }
}

/* What is printed can be parsed, and is then the same layout. */
static void check_text(const test_model *m, int number) {
  static int64_t storage[8192];
  static char text[4096], again[4096], why[200];
  redist_layout layout;
  const int64_t length = redist_layout_format(&m->layout, text, sizeof text);
  int code;
  if (length < 0) {
    test_case(test_has_lists(&m->array), "case %d has no text", number);
    return;
  }
  code = redist_layout_parse(text, &layout, storage, 8 + 40 * (size_t)length, why, sizeof why);
  test_case(length < (int64_t)sizeof text && code == REDIST_OK &&
                redist_layout_format(&layout, again, sizeof again) == length &&
                strcmp(text, again) == 0,
            "case %d: '%s' is read as '%s' (%s)", number, text, again, why);
}

static void check_case(test_random *r, pair *p, int number) {
  int64_t shape[TEST_DIMS], calls = 0;
  char why[200];
  int side, place, code, ndim = test_draw_shape(r, TEST_SMALL, shape);
  for (side = 0; side < 2; side++) {
    test_draw(r, RANKS, test_any_kind(r, !test_one_in(r, 2 + side)), ndim, shape,
              &p->side[side].array);
    test_build(&p->side[side]);
  }
  fill(p);
  for (side = 0; side < 2; side++) {
    code = redist_layout_explain(&p->side[side].layout, why, sizeof why);
    if (!test_case(code == REDIST_OK, "case %d: side %d: %s", number, side, why)) exit(1);
  }
  code = redist_move_combining(&p->side[0].layout, (const void *const *)p->array[0],
                               &p->side[1].layout, (void *const *)p->array[1], sizeof(int64_t), add,
                               &calls);
  test_case(code == REDIST_OK && is_right(p, 1), "case %d: combined, code %d", number, code);
  for (side = 0; side < 2; side++)
    for (place = 0; place < p->side[side].table.places; place++) free(p->array[side][place]);
  fill(p);
  agree(p);
  code = redist_move(&p->side[0].layout, (const void *const *)p->array[0], &p->side[1].layout,
                     (void *const *)p->array[1], sizeof(int64_t));
  test_case(code == REDIST_OK && is_right(p, 0), "case %d: moved, code %d", number, code);
  if (number % 3 == 0) check_paper(p, number);
  for (side = 0; side < 2; side++) {
    check_shape(&p->side[side], number);
    check_owners(&p->side[side], number);
    check_room(p, side, number);
    check_text(&p->side[side], number);
  }
  for (side = 0; side < 2; side++)
    for (place = 0; place < p->side[side].table.places; place++) free(p->array[side][place]);
}

/* Mistakes are reported with the axis and the values. */
static void check_mistakes(void) {
  static const struct {
    const char *text, *sentence;
  } mistakes[] = {
      {"8: block@2 periodic",
       "axis 0: there are no ghost cells: call redist_with_halo first, with low or high at least 1"},
      {"8x8: *, cyclic(2)@2 halo(1) closed",
       "axis 1: ghost cells need one interval per process, but a process owns several blocks of 2"},
      {"4: block@2 halo(5,0) periodic",
       "axis 0: the width of ghost cells is 5, must be at least 1 and at most 4"},
      {"4x4: box, box; boxes 0:4x0:4, 2:5x0:1", "axis 0: box 1 reaches outside the extent 4"},
      {"4x4: box, box; boxes 0:4x0:2, 0:2x2:4, 1:4x1:4", "box 1 overlaps box 2"},
      {"4x4: box, box; boxes 0:4x0:2, 0:2x2:4, 3:4x2:4",
       "no box holds element 10, counted row by row of the array"},
      {"4x4: box, box; transposed; boxes 0:4x0:1, 0:2x1:4, 3:4x1:4",
       "no box holds element 9, counted row by row of the array"},
      {"2x4: box[1:2:1 of 4], box; boxes 0:4x0:1, 0:2x1:4, 3:4x1:4",
       "no box holds element 9, counted row by row of the array"},
      {"10: box; boxes 0:9, 9223372036854775807:-9223372036854775808",
       "no box holds element 9, counted row by row of the array"},
      {"4x4: box, *; boxes 0:4x0:4",
       "column 27: 1 of 2 axes are 'box', and boxes are listed: all or none must be"},
      {"4: box from 1; boxes 0:4",
       "axis 0: the coordinate of block 0 is 1, must be at least 0 and at most 0"},
      {"4: box", "column 7: 1 of 1 axes are 'box', and boxes are not listed: all or none must be"},
  };
  int64_t storage[512];
  redist_layout layout;
  char why[200];
  size_t k;
  for (k = 0; k < sizeof mistakes / sizeof *mistakes; k++)
    test_case(redist_layout_parse(mistakes[k].text, &layout, storage, sizeof storage, why,
                                  sizeof why) == REDIST_ERR_LAYOUT &&
                  strcmp(why, mistakes[k].sentence) == 0 &&
                  redist_layout_check(&layout) != REDIST_OK,
              "'%s': '%s', not '%s'", mistakes[k].text, why, mistakes[k].sentence);
  layout = redist_with_ghosts(redist_with_halo(redist_layout_1d(redist_block(8, 2)), 0, 1, 1), 0,
                              (redist_edge)7);
  test_case(redist_layout_explain(&layout, why, sizeof why) == REDIST_ERR_LAYOUT &&
                strstr(why, "edge of ghost cells is 7"),
            "an edge: '%s'", why);
  test_case(
      redist_layout_parse("3458764513820540928: box halo(2305843009213693952,0); "
                          "boxes 0:1729382256910270464, 1729382256910270464:3458764513820540928",
                          &layout, storage, sizeof storage, why, sizeof why) == REDIST_OK,
      "boxes that are small enough for their halo: '%s'", why);
  layout = redist_layout_boxes(1, NULL, 1, NULL);
  test_case(redist_layout_check(&layout) == REDIST_ERR_LAYOUT, "boxes without extents");
  storage[0] = 4;
  layout = redist_layout_boxes(1, storage, 1, NULL);
  test_case(redist_layout_check(&layout) == REDIST_ERR_LAYOUT, "no boxes");
  layout = redist_layout_boxes(1, storage, 0, NULL);
  test_case(redist_layout_check(&layout) == REDIST_ERR_LAYOUT, "0 boxes");
}

/* Sections in steps through cyclic blocks, and what coordinate 1 owns of them: at equal distances
   or not. */
static void check_even_sections(void) {
  static const struct {
    const char *text;
    int shaped;
    int64_t count, stride;
  } sections[] = {
      {"4: cyclic(3)@2 [7:4:-2 of 11]", 1, 2, -2}, {"2: cyclic(5)@2 [5:2:9 of 16]", 1, 1, 0},
      {"6: cyclic(5)@2 [2:6:5 of 30]", 1, 3, 5},   {"2: cyclic(2)@2 [3:2:4 of 9]", 1, 2, 2},
      {"5: cyclic(3)@2 [3:5:2 of 12]", -1, 4, 0},  {"8: cyclic(3)@2 [5:8:2 of 20]", -1, 5, 0},
  };
  redist_layout layout;
  redist_shape s;
  size_t k;
  for (k = 0; k < sizeof sections / sizeof *sections; k++)
    test_case(redist_layout_parse(sections[k].text, &layout, NULL, 0, NULL, 0) == REDIST_OK &&
                  redist_layout_shape(&layout, 1, &s) == sections[k].shaped &&
                  s.count[0] == sections[k].count &&
                  (sections[k].stride == 0 || s.stride[0] == sections[k].stride),
              "'%s': shape", sections[k].text);
}

/* Lists of indices have a shape where these ascend, or fall, from each position to the next. */
static void check_listed_shapes(void) {
  static const int64_t begin[5] = {0, 3, 6, 9, 10}, index[10] = {8, 6, 4, 2, 1, 0, 5, 3, 9, 7};
  static const struct {
    int shaped;
    int64_t first, origin, stride;
  } expected[4] = {{1, 4, 2, -1}, {1, 0, 2, -1}, {-1, 3, 1, 0}, {1, 7, 0, 1}};
  const redist_layout layout = redist_layout_1d(redist_lists(10, begin, index, 4));
  int rank;
  for (rank = 0; rank < 4; rank++) {
    redist_shape s;
    test_case(redist_layout_shape(&layout, rank, &s) == expected[rank].shaped &&
                  s.count[0] == begin[rank + 1] - begin[rank] &&
                  s.first[0] == expected[rank].first && s.origin == expected[rank].origin &&
                  s.stride[0] == expected[rank].stride,
              "list %d: shape", rank);
  }
}

/* What all boxes hold is fewer than 2^62 elements, though not the product of what they hold along
   each axis. */
static void check_large_boxes(void) {
  const int64_t n = INT64_C(1) << 30;
  redist_layout from, to;
  redist_traffic traffic;
  redist_box halves[2] = {{{0, 0}, {n, n}}, {{n, 0}, {2 * n, n}}};
  const int64_t extents[2] = {2 * n, n};
  from = redist_layout_boxes(2, extents, 2, halves);
  to = redist_with_ghosts(redist_with_halo(from, 0, 1, 1), 0, REDIST_CLOSED);
  to = redist_with_ghosts(redist_with_halo(to, 1, 1, 1), 1, REDIST_CLOSED);
  test_case(redist_traffic_between(&from, &to, 0, &traffic) == REDIST_OK &&
                traffic.local == 2 * n * n && traffic.moved == 2 * n,
            "large boxes with ghosts");
}

/* A place of 2 replicas that 5 places of a destination without corners read, itself and its
   neighbours along the axes: neither replica sends to more than 3 of them, nor to the corners. */
static void check_shared_faces(void) {
  const redist_axis quarters = redist_block(8, 4);
  const redist_layout from = redist_replicated(redist_layout_2d(quarters, quarters), 2);
  redist_layout to = redist_from_rank(redist_layout_2d(quarters, quarters), 32);
  int d, place, replica, most = 0, all = 0;
  for (d = 0; d < 2; d++)
    to = redist_with_ghosts(redist_with_halo(to, d, 1, 1), d, REDIST_PERIODIC);
  to = redist_without_corners(to);
  for (replica = 0; replica < 2; replica++) {
    int sends = 0;
    for (place = 0; place < 16; place++)
      sends += test_volume(&from, 5 + 16 * replica, &to, 32 + place) > 0;
    most = sends > most ? sends : most;
    all += sends;
  }
  test_case(all == 5 && most == 3, "faces of 2 replicas: %d messages, %d from one", all, most);
}

/* Ghost cells past the end of one periodic axis, of the other, and of both, are those of different
   boxes. */
static void check_periodic_boxes(void) {
  static const int64_t extents[2] = {6, 6}, received[9] = {4, 2, 2, 2, 1, 1, 2, 1, 1};
  redist_box box[9];
  redist_layout plain, ghosts;
  redist_traffic traffic;
  int k, d;
  memset(box, 0, sizeof box);
  for (k = 0; k < 9; k++)
    for (d = 0; d < 2; d++) {
      box[k].low[d] = d == 0 ? k / 3 * 2 : k % 3 * 2;
      box[k].high[d] = box[k].low[d] + 2;
    }
  ghosts = plain = redist_layout_boxes(2, extents, 9, box);
  for (d = 0; d < 2; d++)
    ghosts = redist_with_ghosts(redist_with_halo(ghosts, d, 1, 1), d, REDIST_PERIODIC);
  for (k = 0; k < 9; k++)
    test_case(test_volume(&plain, k, &ghosts, 0) == received[k],
              "box %d to the first of 9 with periodic ghosts: %d elements", k,
              (int)test_volume(&plain, k, &ghosts, 0));
  test_case(redist_traffic_between(&plain, &ghosts, 0, &traffic) == REDIST_OK &&
                traffic.total == 9 * 16 && traffic.local == 9 * 4 && traffic.messages == 9 * 8,
            "9 boxes with periodic ghosts: %d elements, %d messages", (int)traffic.total,
            (int)traffic.messages);
}

static void append_digit(const void *from, void *to, int64_t n, void *context) {
  int64_t k;
  (void)context;
  for (k = 0; k < n; k++) ((int64_t *)to)[k] = 10 * ((int64_t *)to)[k] + ((const int64_t *)from)[k];
}

/* What a place contributes several times: its own cell, then those past the low and the high end of
   axis 0, then of axis 1. */
static void check_order(void) {
  static const int number[3] = {1, 0, 2}; /* of an axis: past the low end, inside, past the high */
  const redist_layout plain = redist_layout_2d(redist_whole(2), redist_whole(2));
  redist_layout ghosts = plain;
  int64_t from[36], to[4] = {0, 0, 0, 0};
  const void *froms[1];
  void *tos[1];
  int k, code;
  froms[0] = from;
  tos[0] = to;
  for (k = 0; k < 2; k++)
    ghosts = redist_with_ghosts(redist_with_halo(ghosts, k, 2, 2), k, REDIST_PERIODIC);
  for (k = 0; k < 36; k++) from[k] = 1 + number[k / 12] + 3 * number[k % 6 / 2];
  code = redist_move_combining(&ghosts, froms, &plain, tos, sizeof *to, append_digit, NULL);
  for (k = 0; k < 4; k++)
    test_case(code == REDIST_OK && to[k] == 123456789, "contributions in order: code %d, %" PRId64,
              code, to[k]);
}

int main(int argc, char **argv) {
  static pair p;
  test_random r = {20261121};
  const int cases = argc > 1 ? atoi(argv[1]) : 2000;
  int k;
  for (k = 0; k < cases; k++) check_case(&r, &p, k);
  check_mistakes();
  check_even_sections();
  check_listed_shapes();
  check_large_boxes();
  check_shared_faces();
  check_periodic_boxes();
  check_order();
  return test_report("ghosts");
}
