/* redist tests: ghost cells, boxes, copies and combining on one process and on paper, against every
   cell of every holder. MIT licence, see LICENSE. */
#include "holders.h"

enum { CASES = 2000, MOST_ELEMENTS = 1024 };

static int64_t initial(int side, int place, int64_t cell) {
  test_random r;
  r.state = (uint64_t)((side * 64 + place) * 100003 + cell);
  return (int64_t)(test_next(&r) >> 20);
}

typedef struct {
  holders side[2];
  int64_t *array[2][HOLDER_PROCS];
  int64_t owner_value[MOST_ELEMENTS], sum[MOST_ELEMENTS];
  char owned[MOST_ELEMENTS]; /* by some place of the source */
} pair_of_holders;

static void add(void *to, const void *from, int64_t n, void *context) {
  int64_t *there = (int64_t *)to, i;
  const int64_t *arrived = (const int64_t *)from;
  *(int64_t *)context += n;
  for (i = 0; i < n; i++) there[i] += arrived[i];
}

static void fill(pair_of_holders *p) {
  int side, place;
  int64_t cell, e;
  memset(p->sum, 0, sizeof p->sum);
  for (side = 0; side < 2; side++)
    for (place = 0; place < p->side[side].places; place++) {
      const int64_t cells = holder_cells(&p->side[side], place);
      p->array[side][place] = (int64_t *)malloc((size_t)cells * sizeof(int64_t) + 1);
      for (cell = 0; cell < cells; cell++) {
        int64_t *value = &p->array[side][place][cell];
        *value = initial(side, place, cell);
        if (side == 1) continue;
        e = holder_element(&p->side[0], place, cell, 1);
        if (e >= 0) p->sum[e] += *value;
      }
    }
}

/* The copy that a replicated source reads is the library's choice: copies agree where nothing is
   combined. */
static void agree(pair_of_holders *p) {
  int place;
  int64_t cell, e;
  memset(p->owned, 0, sizeof p->owned);
  for (place = 0; place < p->side[0].places; place++)
    for (cell = 0; cell < holder_cells(&p->side[0], place); cell++) {
      e = holder_element(&p->side[0], place, cell, 0);
      if (e >= 0) {
        p->owner_value[e] = p->array[0][place][cell] = 7 * e + 3;
        p->owned[e] = 1;
      }
    }
}

static int is_right(const pair_of_holders *p, int combined) {
  int place;
  int64_t cell, e, wanted;
  for (place = 0; place < p->side[1].places; place++)
    for (cell = 0; cell < holder_cells(&p->side[1], place); cell++) {
      e = holder_element(&p->side[1], place, cell, 1);
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
static int64_t shared(const pair_of_holders *p, int from, int to) {
  int64_t cell, e, count = 0;
  char owned[MOST_ELEMENTS];
  memset(owned, 0, sizeof owned);
  for (cell = 0; cell < holder_cells(&p->side[0], from); cell++)
    if ((e = holder_element(&p->side[0], from, cell, 0)) >= 0) owned[e] = 1;
  for (cell = 0; cell < holder_cells(&p->side[1], to); cell++)
    if ((e = holder_element(&p->side[1], to, cell, 1)) >= 0) count += owned[e];
  return count;
}

static void check_paper(const pair_of_holders *p, int number) {
  const holders *f = &p->side[0], *t = &p->side[1];
  const redist_cost cost = {1, 0};
  redist_traffic traffic;
  redist_schedule schedule;
  int64_t total = 0, kept = 0, messages = 0, volume, most = 0;
  int a, b, step, to = -1, from = -1, pairs = 0, right = 1, ranks[HOLDER_PROCS];
  for (a = 0; a < f->places; a++)
    for (b = 0; b < t->places; b++) {
      volume = redist_volume(&f->layout, f->ranks[a], &t->layout, t->ranks[b]);
      right &= volume == shared(p, a, b) || (f->copies > 1 && volume == 0);
      total += volume;
      kept += f->ranks[a] == t->ranks[b] ? volume : 0;
      messages += volume > 0 && f->ranks[a] != t->ranks[b];
      pairs += volume > 0;
    }
  test_case(right, "case %d: volumes", number);
  test_case(redist_traffic_between(&f->layout, &t->layout, &traffic) == REDIST_OK &&
                traffic.total == total && traffic.kept == kept && traffic.moved == total - kept &&
                traffic.messages == messages,
            "case %d: traffic of %lld, kept %lld, in %lld messages", number, (long long)total,
            (long long)kept, (long long)messages);
  test_case(redist_schedule_create(&f->layout, &t->layout, &schedule) == REDIST_OK,
            "case %d: schedule", number);
  for (step = 0; step < schedule.steps; step++)
    for (a = 0; a < HOLDER_PROCS; a++) {
      redist_schedule_step(&schedule, a, step, &to, &from);
      pairs -= to >= 0;
      right &= to < 0 || redist_volume(&f->layout, a, &t->layout, to) > 0;
    }
  test_case(right && pairs == 0, "case %d: %d pairs are not in the schedule", number, pairs);
  redist_schedule_free(&schedule);
  if (f->copies == 1 && t->copies == 1) {
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
    test_case(redist_cost_of(&f->layout, &t->layout, 8, &cost) == (double)most,
              "case %d: %g messages, not %lld", number,
              redist_cost_of(&f->layout, &t->layout, 8, &cost), (long long)most);
    volume = 0;
    test_case(redist_relabel(&f->layout, &t->layout, ranks) == REDIST_OK, "case %d: relabelled",
              number);
    for (a = 0; a < f->places; a++)
      for (b = 0; b < t->places; b++) volume += f->ranks[a] == ranks[b] ? shared(p, a, b) : 0;
    test_case(volume >= kept, "case %d: relabelled keeps %lld, less than %lld", number,
              (long long)volume, (long long)kept);
  }
}

/* Shapes visit what a rank owns, in order. */
static void check_shape(const holders *h, int number) {
  int place, right = 1;
  for (place = 0; place < h->places; place++) {
    redist_shape s;
    int64_t i[3] = {0, 0, 0}, at, visited = 0, owned = 0, cell;
    const int shaped = redist_layout_shape(&h->layout, h->ranks[place], &s), n = h->ndim;
    int d;
    for (cell = 0; cell < holder_cells(h, place); cell++)
      owned += holder_element(h, place, cell, 0) >= 0;
    if (shaped < 0) continue;
    right &= shaped == 1;
    for (d = n; d < 3; d++) s.count[d] = 1, s.stride[d] = 0, s.first[d] = 0;
    for (i[0] = 0; i[0] < s.count[0]; i[0]++)
      for (i[1] = 0; i[1] < s.count[1]; i[1]++)
        for (i[2] = 0; i[2] < s.count[2]; i[2]++, visited++) {
          int64_t e, first = 0;
          at = s.origin + i[0] * s.stride[0] + i[1] * s.stride[1] + i[2] * s.stride[2];
          e = holder_element(h, place, at, 0);
          right &= e >= 0;
          for (d = 0; d < n; d++) first = first * h->axis[h->stored[d]].count + s.first[d];
          right &= visited > 0 || e == first;
        }
    right &= visited == owned;
  }
  test_case(right, "case %d: shape", number);
}

/* The owner of every element and where it lies there; -1 where no place owns it. */
static void check_owners(const holders *h, int number) {
  static int64_t offset[MOST_ELEMENTS];
  static int rank[MOST_ELEMENTS];
  int64_t cell, e, elements = 1, index[HOLDER_DIMS];
  int d, place, right = 1;
  for (d = 0; d < h->ndim; d++) elements *= h->axis[h->stored[d]].count;
  for (e = 0; e < elements; e++) offset[e] = rank[e] = -1;
  for (place = 0; place < h->places / h->copies; place++)
    for (cell = 0; cell < holder_cells(h, place); cell++)
      if ((e = holder_element(h, place, cell, 0)) >= 0) {
        offset[e] = cell;
        rank[e] = h->ranks[place];
      }
  for (e = 0; e < elements; e++) {
    for (cell = e, d = h->ndim - 1; d >= 0; d--) {
      index[d] = cell % h->axis[h->stored[d]].count;
      cell /= h->axis[h->stored[d]].count;
    }
    right &= redist_layout_owner(&h->layout, index) == rank[e] &&
             redist_layout_offset(&h->layout, index) == offset[e];
  }
  test_case(right, "case %d: owners and offsets", number);
}

/* An allocated length that leaves no room for the last cell that holds an element is refused. */
static void check_room(pair_of_holders *p, int side, int number) {
  const holders *h = &p->side[side];
  redist_layout layout[2];
  int64_t least = 0;
  int d, k, place, tight, code;
  layout[0] = p->side[0].layout;
  layout[1] = p->side[1].layout;
  for (d = 0; d < h->ndim; d++) {
    const int s = h->stored[d];
    for (least = place = 0; place < h->places; place++) {
      k = holder_coord(h, place, s);
      least = holder_least(h, s, k) > least ? holder_least(h, s, k) : least;
    }
    tight = h->axis[s].allocated == least && least > 1;
    if (!tight) continue;
    layout[side] = redist_with_allocated(h->layout, d, least - 1);
    code = redist_move(&layout[0], (const void *const *)p->array[0], &layout[1],
                       (void *const *)p->array[1], sizeof(int64_t));
    test_case(code == REDIST_ERR_LAYOUT, "case %d: too little room, code %d", number, code);
  }
}

/* What is printed can be parsed, and is then the same layout. */
static void check_text(const holders *h, int number) {
  static int64_t storage[8192];
  static char text[4096], again[4096], why[200];
  redist_layout layout;
  const int64_t length = redist_layout_format(&h->layout, text, sizeof text);
  const int code =
      redist_layout_parse(text, &layout, storage, 8 + 40 * (size_t)length, why, sizeof why);
  test_case(length < (int64_t)sizeof text && code == REDIST_OK &&
                redist_layout_format(&layout, again, sizeof again) == length &&
                strcmp(text, again) == 0,
            "case %d: '%s' is read as '%s' (%s)", number, text, again, why);
}

static void check_case(test_random *r, pair_of_holders *p, int number) {
  const int ndim = (int)test_between(r, 1, 3);
  int64_t count[HOLDER_DIMS], calls = 0;
  char why[200];
  int d, side, place, code;
  for (d = 0; d < ndim; d++)
    count[d] = test_between(r, test_between(r, 0, 19) != 0, ndim == 1 ? 40 : ndim == 2 ? 9 : 6);
  for (side = 0; side < 2; side++)
    holder_draw(r, &p->side[side], ndim, count, HOLDER_PROCS, (int)test_between(r, 0, 1 + side));
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
    for (place = 0; place < p->side[side].places; place++) free(p->array[side][place]);
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
    for (place = 0; place < p->side[side].places; place++) free(p->array[side][place]);
}

/* Mistakes are told with the axis and the values. */
static void check_mistakes(void) {
  static const struct {
    const char *text, *sentence;
  } mistakes[] = {
      {"8: block@2 periodic",
       "axis 0: the width of ghost cells is 0, must be at least 1 and at most 8"},
      {"8x8: *, cyclic(2)@2 halo(1) closed",
       "axis 1: ghost cells need one interval per process, but a process owns several blocks of 2"},
      {"4: block@2 halo(5,0) periodic",
       "axis 0: the width of ghost cells is 5, must be at least 1 and at most 4"},
      {"4x4: box, box; boxes 0:4x0:4, 2:5x0:1", "axis 0: box 1 reaches outside the extent 4"},
      {"4x4: box, box; boxes 0:4x0:2, 0:2x2:4, 1:4x1:4", "box 0 overlaps box 2"},
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
  test_case(redist_traffic_between(&from, &to, &traffic) == REDIST_OK &&
                traffic.kept == 2 * n * n && traffic.moved == 2 * n,
            "large boxes with ghosts");
}

int main(void) {
  static pair_of_holders p;
  test_random r = {20261121};
  int k;
  for (k = 0; k < CASES; k++) check_case(&r, &p, k);
  check_mistakes();
  check_even_sections();
  check_large_boxes();
  return test_report("ghosts");
}
