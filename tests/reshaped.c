/* redist tests: what redist_split and redist_merged refuse and say, what they leave as it is, and
   what is found on paper for reshaped views. Their elements are tested where those of all random
   views are. MIT licence, see LICENSE. */
#include "oracle.h"

enum { WORLD = 9 };

static void check_sentence(redist_layout layout, int code, const char *sentence) {
  char text[300];
  const int found = redist_layout_explain(&layout, text, sizeof text);
  test_case(found == code && strstr(text, sentence) != NULL, "code %d instead of %d: \"%s\"", found,
            code, text);
}

static redist_layout blocks(int64_t n, int64_t m) {
  return redist_layout_2d(redist_block(n, 2), redist_cyclic(m, 3));
}

static void check_builders(void) {
  const redist_box box = {{0, 0}, {4, 6}};
  const int64_t extents[2] = {4, 6};
  redist_layout many = redist_layout_1d(redist_block(1 << 12, 2));
  int k;
  check_sentence(redist_split(blocks(12, 5), 0, 0), REDIST_ERR_LAYOUT, "axis 0: the inner length");
  check_sentence(redist_split(blocks(12, 5), 1, 2), REDIST_ERR_LAYOUT,
                 "axis 1: the length 5 is no multiple of the inner length 2");
  check_sentence(redist_split(blocks(12, 5), 2, 1), REDIST_ERR_LAYOUT, "axis 2");
  check_sentence(redist_split(blocks(12, 5), -1, 1), REDIST_ERR_LAYOUT, "axis -1");
  check_sentence(redist_merged(blocks(12, 5), 1), REDIST_ERR_LAYOUT, "axis 2");
  check_sentence(redist_split(redist_merged(blocks(4, 6), 0), 0, 8), REDIST_ERR_SHAPE,
                 "merged by the length 6 and split by 8");
  check_sentence(redist_split(redist_layout_boxes(2, extents, 1, &box), 0, 2), REDIST_ERR_LAYOUT,
                 "boxes cannot be split or merged");
  check_sentence(redist_merged(redist_with_ghosts(redist_with_halo(blocks(8, 6), 0, 1, 1), 0,
                                                  REDIST_CLOSED),
                               0),
                 REDIST_ERR_LAYOUT, "axis 0: an axis with redist_with_ghosts");
  check_sentence(redist_with_halo(redist_split(blocks(8, 6), 0, 4), 0, 1, 1), REDIST_ERR_LAYOUT,
                 "axis 0: the axis is split or merged");
  check_sentence(redist_with_allocated(redist_split(blocks(8, 6), 0, 4), 2, 9), REDIST_OK, "");
  check_sentence(redist_split(redist_section(redist_merged(blocks(8, 6), 0), 0, 1, 12, 2), 0, 2),
                 REDIST_ERR_LAYOUT, "axis 0: the axis is a section of a merged one");
  check_sentence(redist_split(redist_section(redist_split(blocks(8, 6), 0, 4), 1, 1, 2, 2), 1, 2),
                 REDIST_OK, "");
  for (k = 1; k < REDIST_MAX_DIMS; k++) many = redist_split(many, k - 1, 1 << (12 - k));
  check_sentence(many, REDIST_OK, "");
  check_sentence(redist_split(many, 0, 1), REDIST_ERR_LAYOUT, "the number of axes");
}

#if REDIST_MAX_DIMS == 8
static redist_layout split_in_eights(redist_layout layout, int64_t outer) {
  int d;
  for (d = 0; d < 7; d++) layout = redist_split(layout, d, INT64_C(1) << (24 - outer - 3 * d));
  return layout;
}

/* An axis whose digits lie in no order of memory is split inside each of them: one digit more each
   time, up to 2 REDIST_MAX_DIMS. */
static void check_digits(void) {
  static const int reversed[8] = {7, 6, 5, 4, 3, 2, 1, 0};
  redist_layout layout = split_in_eights(redist_layout_1d(redist_whole(1 << 24)), 3);
  int d;
  layout = redist_permuted(layout, reversed);
  for (d = 0; d < 7; d++) layout = redist_merged(layout, 0);
  layout = redist_permuted(split_in_eights(layout, 2), reversed);
  check_sentence(layout, REDIST_OK, "");
  layout = redist_merged(layout, 6); /* of lengths 8 and 4, the latter one digit */
  layout = redist_split(layout, 6, 2);
  check_sentence(layout, REDIST_OK, "");
  layout = redist_split(redist_merged(layout, 5), 5, 4);
  check_sentence(layout, REDIST_ERR_LAYOUT, "the number of digits of a reshaped view is 17");
}
#endif

/* Splitting and merging again, in any order, is no change. */
static void check_inverse(void) {
  const redist_layout given = redist_with_halo(blocks(24, 30), 0, 2, 1);
  const redist_layout same[] = {
      redist_merged(redist_split(given, 0, 6), 0), redist_split(redist_merged(given, 0), 0, 30),
      redist_flipped(redist_flipped(redist_split(given, 1, 5), 1), 1),
      redist_merged(redist_merged(redist_split(redist_split(given, 1, 15), 2, 3), 1), 1)};
  const redist_layout split = redist_split(given, 0, 6), turned = redist_flipped(split, 1);
  char text[2][200];
  int k;
  redist_layout_format(&given, text[0], sizeof text[0]);
  for (k = 0; k < 4; k++) {
    const redist_layout plain = k == 2 ? redist_merged(same[k], 1) : same[k];
    test_case(redist_layout_format(&plain, text[1], sizeof text[1]) > 0 &&
                  strcmp(text[0], text[1]) == 0,
              "split and merged again, %d: \"%s\" was \"%s\"", k, text[1], text[0]);
  }
  test_case(redist_layout_format(&split, text[1], sizeof text[1]) > 0 &&
                strcmp(text[1], "24x30: block@2 halo(2,1), cyclic@3; reshaped 4x6x30") == 0,
            "the text of a reshaped layout: \"%s\"", text[1]);
  test_case(redist_layout_format(&turned, text[1], sizeof text[1]) == -1,
            "text describes no reshaped layout that is turned");
}

/* Views that no text describes are printed by what each axis shows. */
static void check_printed(void) {
  const redist_layout views[2] = {
      redist_flipped(redist_split(redist_with_halo(blocks(24, 30), 0, 2, 1), 0, 6), 1),
      redist_section(redist_merged(redist_section(blocks(24, 30), 1, 3, 20, 1), 0), 0, 7, 100, 3)};
  static const char *const lines[2] = {
      "24x30: block@2 halo(2,1), cyclic@3; axis 0 of 4 shows 4 indices of 0 in steps of 6; "
      "axis 1 of 6 shows 6 indices of 0 in steps of -1; "
      "axis 2 of 30 shows 30 indices of 1 in steps of 1; axis 0 from index 5 on\n",
      "24x30: block@2, cyclic@3; axis 0 of 100 shows 24 indices of 0 in steps of 1 by "
      "20 indices of 1 in steps of 1, from number 7 of these on in steps of 3; "
      "axis 1 from index 3 on\n"};
  char text[400];
  int k;
  for (k = 0; k < 2; k++) {
    FILE *file = tmpfile();
    const int good = file != NULL && redist_layout_print(&views[k], file) == REDIST_OK;
    memset(text, 0, sizeof text);
    if (good) rewind(file);
    if (good) text[fread(text, 1, sizeof text - 1, file)] = '\0';
    test_case(good && strcmp(text, lines[k]) == 0, "printed: '%s', not '%s'", text, lines[k]);
    if (file != NULL) fclose(file);
  }
}

static int move_code(redist_layout from, redist_layout to) {
  redist_traffic traffic;
  return redist_traffic_between(&from, &to, 0, &traffic);
}

static void check_pairs_of_views(void) {
  static const int64_t extents[3][2] = {{24, 5}, {4, 6}, {6, 5}};
  const redist_box box = {{0, 0}, {24, 5}}, small = {{0, 0}, {4, 6}};
  const redist_layout line = redist_layout_1d(redist_block(24, 3)),
                      rows = redist_layout_2d(redist_block(4, 2), redist_whole(6));
  const redist_layout ghosts =
      redist_with_ghosts(redist_with_halo(rows, 0, 1, 1), 0, REDIST_PERIODIC);
  test_case(move_code(redist_merged(rows, 0), line) == REDIST_OK, "4 x 6 to 24");
  test_case(move_code(redist_split(line, 0, 6), rows) == REDIST_OK, "24 to 4 x 6");
  test_case(move_code(redist_merged(blocks(4, 6), 0), redist_merged(blocks(3, 8), 0)) ==
                REDIST_ERR_SHAPE,
            "4 x 6 to 3 x 8");
  test_case(move_code(redist_merged(blocks(4, 6), 0), redist_merged(blocks(8, 3), 0)) == REDIST_OK,
            "4 x 6 to 8 x 3");
  test_case(move_code(redist_split(line, 0, 6), ghosts) == REDIST_ERR_LAYOUT,
            "24 to 4 x 6 with ghost cells");
  test_case(move_code(redist_split(line, 0, 6), redist_layout_boxes(2, extents[1], 1, &small)) ==
                REDIST_ERR_LAYOUT,
            "24 to a box of 4 x 6");
  test_case(move_code(redist_merged(redist_layout_3d(redist_block(4, 2), redist_whole(6),
                                                     redist_cyclic(5, 2)),
                                    0),
                      redist_layout_boxes(2, extents[0], 1, &box)) == REDIST_OK,
            "4 x 6 x 5 to a box of 24 x 5");
}

enum { AXES = 4, CELLS = 2 * 4 * 2 * 6 * 3 };
static const int64_t lengths[AXES] = {4, 2, 6, 3};

/* Whether the array has element e, from 1 on, everywhere: also around the axis with ghost cells. */
static int has_all(const double *array, int ghosts) {
  int64_t cell[AXES] = {0}, e;
  int d, cells = 0, good = 1;
  for (;;) {
    for (e = 0, d = 0; d < AXES; d++)
      e = e * lengths[d] + (cell[d] + (d == ghosts ? lengths[d] - 1 : 0)) % lengths[d];
    good &= array[cells++] == (double)(e + 1);
    for (d = AXES - 1; d >= 0 && ++cell[d] == lengths[d] + (d == ghosts ? 2 : 0); d--) cell[d] = 0;
    if (d < 0) return good;
  }
}

/* An array with ghost cells along one axis, and another axis split. The source is whole, or axis
   `pair` and the next of its view are one, split: then neither may be that with ghost cells. */
static void check_ghosts(int ghosts, int split, int pair) {
  const int beside = ghosts + (split < ghosts);
  const int refused = pair >= 0 && (pair == beside || pair + 1 == beside);
  redist_axis axes[AXES + 1];
  redist_layout from, to;
  double source[CELLS], array[CELLS] = {0};
  const void *const sources[1] = {source};
  void *const arrays[1] = {array};
  int64_t view[AXES + 1];
  int d, n = 0, code;
  for (d = 0; d < CELLS; d++) source[d] = d + 1;
  for (d = 0; d < AXES; d++) axes[d] = redist_whole(lengths[d]);
  to = redist_split(redist_with_ghosts(redist_with_halo(redist_layout_nd(AXES, axes), ghosts, 1, 1),
                                       ghosts, REDIST_PERIODIC),
                    split, 2);
  for (d = 0; d < AXES; d++) {
    if (d == split) view[n++] = lengths[d] / 2;
    view[n++] = d == split ? 2 : lengths[d];
  }
  for (n = 0, d = 0; d <= AXES; d++) {
    axes[n++] = redist_whole(d == pair ? view[d] * view[d + 1] : view[d]);
    d += d == pair;
  }
  from = redist_layout_nd(n, axes);
  if (pair >= 0) from = redist_split(from, pair, view[pair + 1]);
  code = redist_move(&from, sources, &to, arrays, sizeof *source);
  test_case(refused ? code == REDIST_ERR_LAYOUT : code == REDIST_OK && has_all(array, ghosts),
            "ghost cells of axis %d, axis %d split, the source at %d: code %d", ghosts, split, pair,
            code);
}

static void check_all_ghosts(void) {
  int ghosts, split, pair;
  for (ghosts = 0; ghosts < AXES; ghosts++)
    for (split = 0; split < AXES; split++)
      for (pair = -1; pair < AXES && lengths[split] % 2 == 0 && split != ghosts; pair++)
        check_ghosts(ghosts, split, pair);
}

/* Elements of a split axis lie at equal distances along both if it is not distributed. */
static void check_shape(void) {
  const redist_layout whole =
      redist_split(redist_flipped(redist_layout_2d(redist_whole(24), redist_block(10, 2)), 0), 0,
                   4);
  const redist_layout dealt = redist_split(redist_layout_1d(redist_block(24, 2)), 0, 4);
  const int64_t begin[2] = {0, 6}, index[6] = {0, 1, 2, 5, 4, 3};
  const int owner[24] = {0};
  const redist_layout listed =
      redist_split(redist_layout_1d(redist_lists(6, begin, index, 1)), 0, 3);
  const redist_layout few =
      redist_section(redist_split(redist_layout_1d(redist_owners(24, owner, 1)), 0, 12), 1, 11, 4,
                     -3);
  const redist_layout last =
      redist_section(redist_split(redist_layout_1d(redist_whole(24)), 0, 2), 0, 1, 1, -3);
  const redist_layout beside =
      redist_split(redist_section(redist_layout_2d(redist_whole(6), redist_whole(10)), 1, 8, 3, -2),
                   0, 3);
  redist_shape s;
  test_case(redist_layout_shape(&beside, 0, &s) == 1 && s.count[2] == 3 && s.stride[0] == 30 &&
                s.stride[2] == -2 && s.origin == 8,
            "the shape of a section beside a split axis");
  test_case(redist_layout_shape(&whole, 1, &s) == 1 && s.count[0] == 6 && s.count[1] == 4 &&
                s.count[2] == 5 && s.first[2] == 5 && s.stride[0] == -20 && s.stride[1] == -5 &&
                s.stride[2] == 1 && s.origin == 23 * 5 && s.allocated[2] == 5,
            "the shape of 24 reversed and split, 10 on 2 ranks");
  test_case(redist_layout_shape(&dealt, 1, &s) == -1, "a split axis on 2 ranks has no shape");
  test_case(redist_layout_shape(&listed, 0, &s) == -1 && s.stride[0] == 0 && s.stride[1] == 0,
            "a split axis in the order of a list has no shape");
  test_case(redist_layout_shape(&few, 0, &s) == 1 && s.count[0] == 2 && s.count[1] == 4 &&
                s.stride[0] == 12 && s.stride[1] == -3 && s.origin == 11,
            "the shape of a section of a split axis");
  test_case(redist_layout_shape(&last, 0, &s) == 1 && s.count[0] == 1 && s.count[1] == 2 &&
                s.stride[1] == 1 && s.origin == 2,
            "the shape of a row of a split axis, seen backwards");
}

/* A section of nothing, or of one element, is the same layout, and the same text, whatever views it
   is taken through. */
static void check_empty(void) {
  const redist_layout line = redist_layout_1d(redist_whole(5));
  const redist_layout third =
      redist_split(redist_section(redist_layout_1d(redist_whole(6)), 0, 0, 2, 3), 0, 2);
  const redist_layout one[2] = {redist_section(redist_layout_1d(redist_whole(6)), 0, 3, 1, 1),
                                redist_merged(redist_section(third, 1, 1, 1, 1), 0)};
  const redist_layout split = redist_split(redist_section(line, 0, 3, 2, 1), 0, 2);
  const redist_layout none[2] = {redist_section(line, 0, 0, 0, 1),
                                 redist_merged(redist_section(split, 1, 0, 0, 1), 0)};
  char text[2][64];
  int k;
  for (k = 0; k < 2; k++) redist_layout_format(&none[k], text[k], sizeof text[k]);
  test_case(strcmp(text[0], text[1]) == 0 && text[0][0] != '\0', "nothing of a line: %s, %s",
            text[0], text[1]);
  for (k = 0; k < 2; k++) redist_layout_format(&one[k], text[k], sizeof text[k]);
  test_case(strcmp(text[0], text[1]) == 0 && text[0][0] != '\0', "one of a line: %s, %s", text[0],
            text[1]);
}

/* 4 (l + 1) of joined axes, l the longest in any place, must multiply to less than 2^62. */
static void check_longest(void) {
  const int64_t largest = (INT64_C(1) << 62) / 48 - 1; /* beside rows, of which a place has 2 */
  const struct {
    int64_t half;
    int code;
  } cases[] = {{largest, REDIST_OK},
               {largest + 1, REDIST_ERR_OVERFLOW},
               {INT64_C(1) << 59, REDIST_ERR_OVERFLOW}};
  const redist_layout whole = redist_layout_1d(redist_whole((INT64_C(1) << 61) + 2)),
                      halves = redist_split(whole, 0, (INT64_C(1) << 60) + 1);
  int64_t none;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const int64_t length = 2 * cases[k].half;
    const redist_layout line = redist_layout_1d(redist_block(2 * length, 2)),
                        rows = redist_layout_2d(redist_whole(2), redist_block(length, 2));
    const redist_layout merged = redist_merged(rows, 0);
    int64_t elements = 0;
    const int code = redist_volume(&line, 0, &merged, 0, &elements);
    test_case(code == cases[k].code && elements == (code == REDIST_OK ? cases[k].half : -1),
              "rows of %lld elements merged: code %d", (long long)length, code);
  }
  test_case(redist_volume(&halves, 0, &halves, 0, &none) == REDIST_ERR_OVERFLOW && none == -1,
            "2^61 elements split");
}

/* A schedule has each pair that exchanges anything in one step. */
static void check_schedule(test_model *m, int number) {
  redist_schedule *s = NULL;
  int met[WORLD][WORLD] = {{0}}, k, rank, to = -1, from, good;
  good = redist_schedule_create(&m[0].layout, &m[1].layout, 0, &s) == REDIST_OK;
  for (k = 0; good && k < redist_schedule_steps(s); k++)
    for (rank = 0; rank < WORLD; rank++) {
      good &= redist_schedule_step(s, rank, k, &to, &from) == REDIST_OK;
      if (to >= 0) met[rank][to]++;
    }
  for (rank = 0; rank < WORLD; rank++)
    for (to = 0; to < WORLD; to++)
      good &= met[rank][to] == (test_volume(&m[0].layout, rank, &m[1].layout, to) > 0);
  test_case(good, "the schedule of reshaped pair %d", number);
  redist_schedule_free(&s);
}

/* Renumbering keeps at least what the current numbering does, and its ranks are as many. */
static void check_relabelling(test_model *m, int number) {
  redist_traffic before, after;
  int ranks[TEST_PLACES], code = redist_relabel(&m[0].layout, &m[1].layout, 0, ranks);
  redist_layout to = redist_on_ranks(m[1].layout, ranks);
  int good = code == REDIST_OK;
  good = good && redist_traffic_between(&m[0].layout, &m[1].layout, 0, &before) == REDIST_OK &&
         redist_traffic_between(&m[0].layout, &to, 0, &after) == REDIST_OK;
  test_case(good && after.local >= before.local && after.total == before.total,
            "the renumbering of reshaped pair %d: code %d", number, code);
}

int main(void) {
  test_model *m = (test_model *)malloc(2 * sizeof *m);
  int k;
  check_builders();
#if REDIST_MAX_DIMS == 8
  check_digits();
#endif
  check_inverse();
  check_printed();
  check_pairs_of_views();
  check_all_ghosts();
  check_shape();
  check_empty();
  check_longest();
  for (k = 0; k < 300; k++) {
    test_random r = {(uint64_t)k};
    test_draw_pair(&r, WORLD, TEST_RESHAPES, TEST_SMALL, &m[0].array, &m[1].array);
    test_build(&m[0]);
    test_build(&m[1]);
    check_schedule(m, k);
    check_relabelling(m, k);
  }
  free(m);
  return test_report("reshaped");
}
