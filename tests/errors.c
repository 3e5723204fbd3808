/* Tests that bad axes and layouts are detected and explained, and that every function survives
   them. MIT licence, see LICENSE. */
#include <ctype.h>
#include <limits.h>

#include "redist.h"
#include "test.h"

enum { NOT_SAID = -1, ANY_ERROR = -1000 };

/* ---- every function on a bad layout ---- */

/* Every condition is evaluated: calls after a wrong result must survive, too. */
static void want(int *good, int condition) { *good = *good && condition; }

static void query(const redist_layout *x, int *good) {
  int64_t index[REDIST_MAX_DIMS + 1] = {0};
  int coords[REDIST_MAX_DIMS + 1] = {0};
  redist_shape shape;
  want(good, redist_layout_places(x) == 0);
  want(good, redist_layout_next_place(x, 0, -1) == -1);
  want(good, redist_layout_on_rank(x, 0, 1, coords) == 0);
  want(good, redist_layout_place_coords(x, 0, coords) == 0);
  want(good, redist_layout_shape(x, 0, &shape) == 0);
  want(good, redist_layout_place_shape(x, 0, &shape) == 0);
  want(good, redist_layout_rank(x, coords) == -1);
  want(good, redist_layout_coords(x, 0, coords) == 0);
  want(good, redist_layout_owner(x, index) == -1);
  want(good, redist_layout_offset(x, index) == -1);
  want(good, redist_layout_local_size(x, 0) == 0);
}

/* A builder never turns a bad layout into a good one. */
static void build_on(redist_layout x, int *good) {
  const int order[REDIST_MAX_DIMS] = {1, 0};
  redist_layout built[15];
  built[0] = redist_grid_order(x, REDIST_COLUMN_MAJOR);
  built[1] = redist_memory_order(x, REDIST_COLUMN_MAJOR);
  built[2] = redist_with_halo(x, 0, 1, 1);
  built[3] = redist_with_allocated(x, 0, 100);
  built[4] = redist_permuted(x, order);
  built[5] = redist_transposed(x);
  built[6] = redist_flipped(x, 0);
  built[7] = redist_rotated(x, 1);
  built[8] = redist_section(x, 0, 0, 1, 1);
  built[9] = redist_with_ghosts(x, 0, REDIST_PERIODIC);
  built[10] = redist_ghost_depth(x, 0, 0, 0);
  built[11] = redist_partial(x);
  built[12] = redist_from_rank(x, 1);
  built[13] = redist_on_ranks(x, order);
  built[14] = redist_replicated(built[12], 2);
  /* other ranks may be good ones */
  for (int k = 0; k < (redist_layout_places(&x) == 0 ? 15 : 12); k++)
    want(good, redist_layout_check(&built[k]) != REDIST_OK);
}

static void plan_on_paper(const redist_layout *x, int *good) {
  redist_layout fine = redist_layout_2d(redist_block(10, 2), redist_whole(10));
  const void *none[4] = {NULL, NULL, NULL, NULL};
  void *nowhere[4] = {NULL, NULL, NULL, NULL};
  redist_traffic t;
  int64_t elements = 0;
  want(good, redist_traffic_between(x, &fine, 0, &t) != REDIST_OK);
  want(good, redist_traffic_between(&fine, x, 0, &t) != REDIST_OK);
  want(good, redist_traffic_between(x, x, 0, &t) != REDIST_OK);
  want(good, redist_volume(x, 0, &fine, 0, &elements) != REDIST_OK && elements == -1);
  want(good, redist_volume(&fine, 0, x, 0, &elements) != REDIST_OK && elements == -1);
  want(good, redist_volume(x, 0, x, 0, &elements) != REDIST_OK && elements == -1);
  want(good, redist_move(x, none, &fine, nowhere, 8) != REDIST_OK);
  want(good, redist_move(&fine, none, x, nowhere, 8) != REDIST_OK);
}

static void print(const redist_layout *x, int *good) {
  FILE *file = tmpfile();
  if (file != NULL) {
    want(good, redist_layout_print(x, file) != REDIST_OK && ftell(file) < 4096);
    fclose(file);
  }
}

static void check_refusals(const redist_layout *x, const char *what) {
  int good = 1;
  build_on(*x, &good);
  test_case(good, "%s: builders keep it bad", what);
  good = 1;
  plan_on_paper(x, &good);
  test_case(good, "%s: traffic, volume and move refuse it", what);
  good = 1;
  print(x, &good);
  test_case(good, "%s: print", what);
}

static void check_no_answers(const redist_layout *x, const char *what) {
  int good = 1;
  query(x, &good);
  test_case(good, "%s: queries answer nothing", what);
}

/* ---- check and explain ---- */

/* Whether `number` is in the text, not as part of a longer number. */
static int mentions(const char *text, const char *number) {
  size_t length = strlen(number);
  for (const char *at = strstr(text, number); at != NULL; at = strstr(at + 1, number)) {
    int before =
        at > text && (isdigit((unsigned char)at[-1]) || (at[-1] == '-' && number[0] != '-'));
    if (!before && !isdigit((unsigned char)at[length])) return 1;
  }
  return 0;
}

/* axis NOT_SAID: the sentence need not name one; value NULL: need not quote one. */
static void expect_reported(const char *what, redist_layout x, int code, int axis,
                            const char *value) {
  char text[512] = "", wanted[32];
  int found = redist_layout_check(&x), explained = redist_layout_explain(&x, text, sizeof text);
  test_case(code == ANY_ERROR ? found != REDIST_OK : found == code, "%s: code %d, not %d", what,
            found, code);
  test_case(explained == found, "%s: explained as %d, checked as %d", what, explained, found);
  test_case(strlen(text) > 0, "%s: nothing said", what);
  snprintf(wanted, sizeof wanted, "axis %d", axis);
  test_case(axis == NOT_SAID || strstr(text, wanted) != NULL, "%s: \"%s\" lacks \"%s\"", what, text,
            wanted);
  test_case(value == NULL || mentions(text, value), "%s: \"%s\" lacks the value %s", what, text,
            value ? value : "");
  check_refusals(&x, what);
}

static void expect(const char *what, redist_layout x, int code, int axis, const char *value) {
  expect_reported(what, x, code, axis, value);
  check_no_answers(&x, what);
}

static redist_layout beside(redist_axis bad) { return redist_layout_2d(redist_block(10, 2), bad); }

static redist_layout fine(void) {
  return redist_layout_2d(redist_block(10, 2), redist_cyclic(7, 3));
}

static void expect_bad_axes(void) {
  static const int64_t falling[] = {0, 8, 6, 10}, late[] = {4, 5, 6, 10},
                       negative[] = {0, -9, 6, 10};
  const struct {
    const char *what, *value;
    redist_axis axis;
  } bad[] = {
      {"block 0", "0", redist_block_cyclic(10, 0, 2)},
      {"block -3", "-3", redist_block_cyclic(10, -3, 2)},
      {"block of the lowest number", NULL, redist_block_cyclic(10, INT64_MIN, 2)},
      {"whole of -7", "-7", redist_whole(-7)},
      {"block of -7", "-7", redist_block(-7, 2)},
      {"cyclic of -7", "-7", redist_cyclic(-7, 2)},
      {"block_cyclic of -7", "-7", redist_block_cyclic(-7, 2, 2)},
      {"balanced of -7", "-7", redist_balanced(-7, 2)},
      {"balanced of the lowest number", NULL, redist_balanced(INT64_MIN, 2)},
      {"block over 0", "0", redist_block(10, 0)},
      {"cyclic over -5", "-5", redist_cyclic(10, -5)},
      {"block_cyclic over 0", "0", redist_block_cyclic(10, 2, 0)},
      {"balanced over -5", "-5", redist_balanced(10, -5)},
      {"block over the lowest number", NULL, redist_block(10, INT_MIN)},
      {"cuts over 0", "0", redist_cuts(falling, 0)},
      {"cuts over -5", "-5", redist_cuts(falling, -5)},
      {"cuts that fall", "6", redist_cuts(falling, 3)},
      {"cuts that begin late", "4", redist_cuts(late, 3)},
      {"cuts that go below 0", "-9", redist_cuts(negative, 3)},
      {"cuts that are not there", NULL, redist_cuts(NULL, 3)},
      {"start 2 of 2", "2", redist_starting_at(redist_block(10, 2), 2)},
      {"start -4", "-4", redist_starting_at(redist_cyclic(10, 2), -4)},
      {"start 5 of whole", "5", redist_starting_at(redist_whole(10), 5)},
      {"start on a bad axis", "-3", redist_starting_at(redist_block_cyclic(10, -3, 2), 1)},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    expect(bad[k].what, beside(bad[k].axis), REDIST_ERR_LAYOUT, 1, bad[k].value);
    test_case(redist_axis_owner(&bad[k].axis, 0) == -1 && redist_axis_local(&bad[k].axis, 0) == -1,
              "%s: owner, local", bad[k].what);
    test_case(redist_axis_global(&bad[k].axis, 0, 0) == -1 &&
                  redist_axis_count(&bad[k].axis, 0) == 0,
              "%s: global, count", bad[k].what);
  }
  test_case(redist_starting_at(redist_starting_at(redist_block(10, 2), 5), 1).count == 10,
            "a coordinate that was wrong, put right");
  expect("the first of two bad axes", redist_layout_2d(redist_cyclic(10, -5), redist_whole(-7)),
         REDIST_ERR_LAYOUT, 0, "-5");
}

/* A wrong entry of a list, which only redist_layout_check looks for: there are no shapes, and no
   query leaves the lists. */
static void expect_entry(const char *what, redist_layout x, int code, int axis, const char *value) {
  int64_t index[2] = {0, 0};
  redist_shape shape;
  int place, inside = 1;
  expect_reported(what, x, code, axis, value);
  for (place = 0; place < redist_layout_places(&x); place++)
    test_case(redist_layout_place_shape(&x, place, &shape) == 0, "%s: place %d has a shape", what,
              place);
  for (; index[1] < 6; index[1]++) {
    const int owner = redist_layout_owner(&x, index);
    const int64_t offset = redist_layout_offset(&x, index);
    inside &= owner >= -1 && owner < 6 && offset >= -1 && offset < 5 * 6;
  }
  test_case(inside, "%s: queries", what);
}

/* What builders notice of lists, and what only redist_layout_check looks for: every owner and every
   index. */
static void expect_bad_lists(void) {
  static const int owner[2][6] = {{0, 1, 1, 0, 3, 2}, {2, 1, -4, 0, 0, 2}};
  static const int64_t begin[4] = {0, 2, 4, 6}, falling[] = {0, 4, 3, 6}, late[] = {1, 2, 4, 6},
                       early[] = {0, 2, 4, 5};
  static const int64_t index[3][6] = {{5, 1, 0, 9, 3, 2}, {5, 1, -8, 4, 3, 2}, {5, 1, 0, 4, 1, 2}};
  expect("owners that are not there", beside(redist_owners(6, NULL, 3)), REDIST_ERR_LAYOUT, 1, "6");
  expect("owners over 0", beside(redist_owners(6, owner[0], 0)), REDIST_ERR_LAYOUT, 1, "0");
  expect("-6 owners", beside(redist_owners(-6, owner[0], 3)), REDIST_ERR_LAYOUT, 1, "-6");
  expect("lists without begin", beside(redist_lists(6, NULL, index[0], 3)), REDIST_ERR_LAYOUT, 1,
         "3");
  expect("lists without indices", beside(redist_lists(6, begin, NULL, 3)), REDIST_ERR_LAYOUT, 1,
         "6");
  expect("begin that falls", beside(redist_lists(6, falling, index[0], 3)), REDIST_ERR_LAYOUT, 1,
         "3");
  expect("begin that is late", beside(redist_lists(6, late, index[0], 3)), REDIST_ERR_LAYOUT, 1,
         "1");
  expect("begin that ends early", beside(redist_lists(6, early, index[0], 3)), REDIST_ERR_LAYOUT, 1,
         "5");
  expect_entry("owner 3 of 3", beside(redist_owners(6, owner[0], 3)), REDIST_ERR_LAYOUT, 1,
               "the owner of index 4 is 3, must be at least 0 and at most 2");
  expect_entry("owner -4", beside(redist_owners(6, owner[1], 3)), REDIST_ERR_LAYOUT, 1,
               "the owner of index 2 is -4");
  expect_entry("index 9 of 6", beside(redist_lists(6, begin, index[0], 3)), REDIST_ERR_LAYOUT, 1,
               "index[3] is 9, must be at least 0 and at most 5");
  expect_entry("index -8", beside(redist_lists(6, begin, index[1], 3)), REDIST_ERR_LAYOUT, 1,
               "index[2] is -8");
  expect_entry("index 1 twice", beside(redist_lists(6, begin, index[2], 3)), REDIST_ERR_LAYOUT, 1,
               "index[1] and index[4] are 1, and no coordinate has index 3");
  expect_reported("ghosts beside owners",
                  redist_with_ghosts(redist_with_halo(beside(redist_owners(6, owner[0], 4)), 1, 1,
                                                      1),
                                     1, REDIST_CLOSED),
                  REDIST_ERR_LAYOUT, 1, "ghost cells need one interval per process");
}

static void expect_unbuilt(void) {
  const int bytes[] = {0, 1, 0x7f, 0x80, 0xff};
  for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) {
    redist_layout x;
    memset(&x, bytes[k], sizeof x);
    expect("never built", x, REDIST_ERR_LAYOUT, NOT_SAID, NULL);
  }
}

/* The mark of a layout ends with its REDIST_MAX_DIMS. */
static void expect_foreign(void) {
  redist_layout x = beside(redist_block(6, 2));
  x.mark ^= 1;
  expect("of other dimensions", x, REDIST_ERR_LAYOUT, NOT_SAID, "REDIST_MAX_DIMS 9, here 1 and 8");
}

/* An axis of boxes means nothing without the others: only its own layout may have it. */
static void expect_no_axis_of_boxes(void) {
  static const redist_box halves[2] = {{{0, 0}, {4, 2}}, {{0, 2}, {4, 5}}};
  const int64_t extents[2] = {4, 5};
  const redist_layout boxes = redist_layout_boxes(2, extents, 2, halves);
  expect("an axis of boxes", redist_layout_1d(boxes.dim[1].axis), REDIST_ERR_LAYOUT, 0, NULL);
}

static void expect_bad_dimensions(void) {
  redist_axis many[REDIST_MAX_DIMS + 1];
  char one_too_many[32];
  for (int d = 0; d <= REDIST_MAX_DIMS; d++) many[d] = redist_whole(1);
  snprintf(one_too_many, sizeof one_too_many, "%d", REDIST_MAX_DIMS + 1);
  expect("no axes", redist_layout_nd(0, many), REDIST_ERR_LAYOUT, NOT_SAID, "0");
  expect("-1 axes", redist_layout_nd(-1, many), REDIST_ERR_LAYOUT, NOT_SAID, "-1");
  expect("too many axes", redist_layout_nd(REDIST_MAX_DIMS + 1, many), REDIST_ERR_LAYOUT, NOT_SAID,
         one_too_many);
  expect("far too many axes", redist_layout_nd(INT_MAX, many), REDIST_ERR_LAYOUT, NOT_SAID,
         "2147483647");
  expect("axes that are not there", redist_layout_nd(2, NULL), ANY_ERROR, NOT_SAID, NULL);
}

static void expect_bad_storage(void) {
  expect("halo of axis -1", redist_with_halo(fine(), -1, 1, 1), REDIST_ERR_LAYOUT, NOT_SAID, "-1");
  expect("halo of axis 2", redist_with_halo(fine(), 2, 1, 1), REDIST_ERR_LAYOUT, NOT_SAID, "2");
  expect("low halo -3", redist_with_halo(fine(), 1, -3, 1), REDIST_ERR_LAYOUT, 1, "-3");
  expect("high halo -4", redist_with_halo(fine(), 1, 1, -4), REDIST_ERR_LAYOUT, 1, "-4");
  expect("halo past 2^62", redist_with_halo(fine(), 1, INT64_MAX, INT64_MAX), ANY_ERROR, NOT_SAID,
         NULL);
  expect("extent of axis -1", redist_with_allocated(fine(), -1, 10), REDIST_ERR_LAYOUT, NOT_SAID,
         "-1");
  expect("extent of axis 5", redist_with_allocated(fine(), 5, 10), REDIST_ERR_LAYOUT, NOT_SAID,
         "5");
  expect("extent -6", redist_with_allocated(fine(), 1, -6), REDIST_ERR_LAYOUT, 1, "-6");
  expect("extents past 2^62",
         redist_with_allocated(redist_with_allocated(fine(), 0, INT64_MAX), 1, INT64_MAX),
         ANY_ERROR, NOT_SAID, NULL);
}

static void expect_bad_ghosts(void) {
  const redist_layout bare =
                          redist_with_halo(redist_layout_2d(redist_block(9, 2), redist_block(9, 3)),
                                           1, 2, 1),
                      full = redist_with_ghosts(bare, 1, REDIST_PERIODIC);
  redist_layout shallow = redist_ghost_depth(full, 1, 0, 0);
  test_case(redist_layout_check(&shallow) == REDIST_OK, "a depth of 0");
  expect("ghosts without a halo", redist_with_ghosts(full, 0, REDIST_CLOSED), REDIST_ERR_LAYOUT, 0,
         "call redist_with_halo first");
  expect("ghosts without a halo of axis 2", redist_with_ghosts(full, 2, REDIST_CLOSED),
         REDIST_ERR_LAYOUT, NOT_SAID, "2");
  expect("depth of axis -1", redist_ghost_depth(full, -1, 1, 1), REDIST_ERR_LAYOUT, NOT_SAID, "-1");
  expect("depth of axis 2", redist_ghost_depth(full, 2, 1, 1), REDIST_ERR_LAYOUT, NOT_SAID, "2");
  expect("depth without ghosts", redist_ghost_depth(bare, 1, 2, 1), REDIST_ERR_LAYOUT, 1,
         "a ghost depth of 2 and 1");
  expect("depth without a halo", redist_ghost_depth(full, 0, 0, 0), REDIST_ERR_LAYOUT, 0,
         "a ghost depth of 0 and 0");
  expect("low depth 3 of 2", redist_ghost_depth(full, 1, 3, 1), REDIST_ERR_LAYOUT, 1,
         "low ghost cells is 3, must be at least 0 and at most 2");
  expect("high depth 2 of 1", redist_ghost_depth(full, 1, 0, 2), REDIST_ERR_LAYOUT, 1,
         "high ghost cells is 2, must be at least 0 and at most 1");
  expect("low depth -1", redist_ghost_depth(full, 1, -1, 0), REDIST_ERR_LAYOUT, 1, "-1");
  expect("high depth -5", redist_ghost_depth(full, 1, 0, -5), REDIST_ERR_LAYOUT, 1, "-5");
  expect("no corners without ghosts", redist_without_corners(bare), REDIST_ERR_LAYOUT, NOT_SAID,
         "redist_with_ghosts comes before redist_without_corners");
  shallow = redist_without_corners(full); /* of one axis: allowed, and nothing changes */
  test_case(redist_layout_check(&shallow) == REDIST_OK, "one axis without corners");
  expect("no boxes, partial", redist_partial(fine()), REDIST_ERR_LAYOUT, NOT_SAID, "boxes");
}

static void expect_bad_views(void) {
  static const int repeated[] = {1, 1}, outside[] = {0, 2}, negative[] = {-1, 0};
  expect("permutation that repeats", redist_permuted(fine(), repeated), REDIST_ERR_LAYOUT, NOT_SAID,
         "1");
  expect("permutation with axis 2", redist_permuted(fine(), outside), REDIST_ERR_LAYOUT, NOT_SAID,
         "2");
  expect("permutation with axis -1", redist_permuted(fine(), negative), REDIST_ERR_LAYOUT, NOT_SAID,
         "-1");
  expect("permutation that is not there", redist_permuted(fine(), NULL), ANY_ERROR, NOT_SAID, NULL);
  expect("flip of axis -1", redist_flipped(fine(), -1), REDIST_ERR_LAYOUT, NOT_SAID, "-1");
  expect("flip of axis 2", redist_flipped(fine(), 2), REDIST_ERR_LAYOUT, NOT_SAID, "2");
  expect("rotation of one axis", redist_rotated(redist_layout_1d(redist_whole(4)), 1),
         REDIST_ERR_LAYOUT, NOT_SAID, NULL);
}

static void expect_bad_sections(void) {
  static const struct {
    const char *what, *value;
    int axis;
    int64_t start, count, step;
  } bad[] = {
      {"section of axis -1", "-1", -1, 0, 1, 1},
      {"section of axis 2", "2", 2, 0, 1, 1},
      {"section with step 0", "0", 1, 1, 2, 0},
      {"section from -3", "-3", 1, -3, 2, 1},
      {"section from the end", "7", 1, 7, 1, 1},
      {"section of count -5", "-5", 1, 0, -5, 1},
      {"section past the end", "8", 1, 0, 8, 1},
      {"section stepping past the end", NULL, 1, 1, 3, 3},
      {"section stepping below 0", NULL, 1, 3, 3, -2},
      {"section whose last index overflows", NULL, 1, 1, INT64_MAX, INT64_MAX},
      {"section of the lowest step", NULL, 1, 1, 2, INT64_MIN},
      {"section of the lowest start", "-9223372036854775808", 1, INT64_MIN, 2, 1},
      {"section that wraps around to 0", NULL, 1, 0, 5, INT64_C(1) << 62},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    redist_layout x = redist_section(fine(), bad[k].axis, bad[k].start, bad[k].count, bad[k].step);
    int inside = bad[k].axis == 1;
    expect(bad[k].what, x, REDIST_ERR_LAYOUT, inside ? 1 : NOT_SAID, bad[k].value);
  }
  redist_layout x = redist_section(fine(), 1, 2, -3, 2);
  char text[100];
  redist_layout_explain(&x, text, sizeof text);
  test_case(strcmp(text,
                   "axis 1: the count of a section is -3, must be at least 0 and at most 3") == 0,
            "section of count -3: %s", text);
}

static void expect_bad_ranks(void) {
  static const int repeated[] = {4, 8, 5, 9, 8, 7, 0, 8, 1, 2, 3, 6},
                   negative[] = {0, 1, 2, -7, 4, 5};
  expect("first rank -6", redist_from_rank(fine(), -6), REDIST_ERR_RANK, NOT_SAID, "-6");
  expect("first rank beyond all", redist_from_rank(fine(), INT_MAX), ANY_ERROR, NOT_SAID, NULL);
  expect("first rank of the lowest number", redist_from_rank(fine(), INT_MIN), REDIST_ERR_RANK,
         NOT_SAID, NULL);
  expect_reported("two replicas on rank 8", redist_replicated(redist_on_ranks(fine(), repeated), 2),
                  REDIST_ERR_RANK, NOT_SAID, "two replicas of place 1 are on rank 8");
  expect_reported("rank -7", redist_on_ranks(fine(), negative), REDIST_ERR_RANK, NOT_SAID, "-7");
  expect("ranks that are not there", redist_on_ranks(fine(), NULL), ANY_ERROR, NOT_SAID, NULL);
}

/* Queries do not check listed ranks again: they answer as if the list were valid. */
static void check_answers_with_listed_ranks(void) {
  static const int repeated[] = {4, 8, 5, 9, 8, 7};
  redist_layout x = redist_on_ranks(fine(), repeated);
  const int64_t index[2] = {9, 2};
  test_case(redist_layout_places(&x) == 6 && redist_layout_owner(&x, index) == 7,
            "rank 8 twice: the owner on rank 7");
  test_case(redist_layout_local_size(&x, 7) == 10 && redist_layout_local_size(&x, 6) == 0,
            "rank 8 twice: what rank 7 allocates");
}

/* Nor do they check that boxes share no elements, and hold all. */
static void check_answers_with_boxes(void) {
  static const redist_box shared[2] = {{{0, 0}, {4, 3}}, {{0, 2}, {4, 5}}};
  static const redist_box far_away[2] = {{{0, 0}, {4, 5}}, {{2, 0}, {2, 9}}};
  const int64_t extents[2] = {4, 5}, index[2] = {1, 2};
  const redist_layout x = redist_layout_boxes(2, extents, 2, shared);
  test_case(redist_layout_check(&x) == REDIST_ERR_LAYOUT && redist_layout_places(&x) == 2 &&
                redist_layout_owner(&x, index) == 0 && redist_layout_local_size(&x, 1) == 12,
            "boxes that overlap: the first owns what both hold");
  expect("empty along axis 0, outside along axis 1", redist_layout_boxes(2, extents, 2, far_away),
         REDIST_ERR_LAYOUT, 1, "outside the extent 5");
}

static void expect_overflow(void) {
  const int64_t half = INT64_C(1) << 32;
  redist_axis most[3];
  for (int d = 0; d < 3; d++) most[d] = redist_block(10, INT_MAX);
  expect("2^62 + 1 elements", redist_layout_1d(redist_whole((INT64_C(1) << 62) + 1)),
         REDIST_ERR_OVERFLOW, NOT_SAID, NULL);
  expect("INT64_MAX elements", redist_layout_1d(redist_cyclic(INT64_MAX, 3)), REDIST_ERR_OVERFLOW,
         NOT_SAID, NULL);
  expect("2^64 elements", redist_layout_2d(redist_block(half, 2), redist_whole(half)),
         REDIST_ERR_OVERFLOW, NOT_SAID, NULL);
  expect("2^32 places", redist_layout_2d(redist_block(10, 65536), redist_block(10, 65536)),
         REDIST_ERR_OVERFLOW, NOT_SAID, NULL);
  expect("places past every integer", redist_layout_nd(3, most), REDIST_ERR_OVERFLOW, NOT_SAID,
         NULL);
}

static void expect_bad_scalapack(void) {
  static const struct {
    const char *what, *value;
    int at, put, nprow, npcol;
  } bad[] = {
      {"-7 rows", "-7", 2, -7, 2, 3},
      {"-7 columns", "-7", 3, -7, 2, 3},
      {"row block 0", "0", 4, 0, 2, 3},
      {"column block -2", "-2", 5, -2, 2, 3},
      {"first row process 2", "2", 6, 2, 2, 3},
      {"first column process -5", "-5", 7, -5, 2, 3},
      {"leading dimension -8", NULL, 8, -8, 2, 3},
      {"0 process rows", "0", 1, 0, 0, 3},
      {"-9 process columns", "-9", 1, 0, 2, -9},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    int desc[9] = {1, 0, 12, 13, 4, 5, 0, 0, 20};
    desc[bad[k].at] = bad[k].put;
    expect(bad[k].what, redist_from_scalapack(desc, bad[k].nprow, bad[k].npcol), REDIST_ERR_LAYOUT,
           NOT_SAID, bad[k].value);
  }
  expect("descriptor that is not there", redist_from_scalapack(NULL, 2, 2), ANY_ERROR, NOT_SAID,
         NULL);
}

/* The first error stays, whatever builders follow. */
static void expect_fault_to_stay(void) {
  redist_layout x = redist_section(fine(), 1, 0, 1, 0);
  x = redist_rotated(redist_flipped(redist_transposed(x), 0), 3);
  x = redist_section(redist_with_halo(x, 0, 1, 1), 1, 0, 1, 1);
  expect("a step of 0, four steps ago", x, REDIST_ERR_LAYOUT, NOT_SAID, "0");
}

/* ---- the size of the text ---- */

static void check_truncation(const redist_layout *x, size_t size, const char *whole) {
  char text[64];
  int code;
  size_t length = strlen(whole),
         kept = size == 0           ? 0
                : length < size - 1 ? length
                                    : size - 1,
         touched = 0;
  memset(text, '#', sizeof text);
  code = redist_layout_explain(x, text, size);
  for (size_t k = size; k < sizeof text; k++) touched += text[k] != '#';
  test_case(code == redist_layout_check(x), "explained in %d bytes: code", (int)size);
  test_case(touched == 0, "explained in %d bytes: %d beyond them written", (int)size, (int)touched);
  test_case(size == 0 || (strlen(text) == kept && memcmp(text, whole, kept) == 0),
            "explained in %d bytes: not what fits", (int)size);
}

static void check_truncations(void) {
  static const size_t sizes[] = {0, 1, 2, 10, 40};
  redist_layout bad = beside(redist_block_cyclic(10, -3, 2)), good = fine();
  char whole[512] = "#", nothing[512] = "#";
  redist_layout_explain(&bad, whole, sizeof whole);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check_truncation(&bad, sizes[k], whole);
  test_case(redist_layout_explain(&bad, NULL, 0) == REDIST_ERR_LAYOUT, "explained to nowhere");
  test_case(redist_layout_explain(&good, nothing, sizeof nothing) == REDIST_OK,
            "a good layout explained");
  test_case(strcmp(nothing, "#") != 0 && strlen(nothing) < 200,
            "a good layout leaves defined text");
}

/* ---- NULL arguments ---- */

static void check_null_axis(void) {
  test_case(redist_axis_owner(NULL, 0) == -1 && redist_axis_local(NULL, 0) == -1,
            "no axis: owner, local");
  test_case(redist_axis_global(NULL, 0, 0) == -1 && redist_axis_count(NULL, 0) == 0,
            "no axis: global, count");
}

static void check_null_layout(void) {
  char text[200] = "";
  int good = 1;
  test_case(redist_layout_check(NULL) != REDIST_OK, "no layout: check");
  test_case(redist_layout_explain(NULL, text, sizeof text) == redist_layout_check(NULL) &&
                strlen(text) > 0,
            "no layout: explain");
  query(NULL, &good);
  test_case(good, "no layout: queries");
  plan_on_paper(NULL, &good);
  test_case(good, "no layout: traffic, volume, move");
  test_case(redist_layout_print(NULL, stdout) != REDIST_OK, "no layout: print");
}

static void check_null_arguments(void) {
  redist_layout x = fine();
  const void *arrays[6] = {NULL};
  void *outputs[6] = {NULL};
  test_case(redist_layout_rank(&x, NULL) == -1 && redist_layout_owner(&x, NULL) == -1 &&
                redist_layout_offset(&x, NULL) == -1,
            "no coordinates, no index");
  test_case(redist_layout_coords(&x, 3, NULL) == 0, "nowhere to write coordinates");
  test_case(redist_traffic_between(&x, &x, 0, NULL) == REDIST_ERR_ARGUMENT, "no traffic to fill");
  test_case(redist_layout_print(&x, NULL) == REDIST_ERR_ARGUMENT, "no file to print to");
  test_case(redist_move(&x, NULL, &x, outputs, 8) == REDIST_ERR_ARGUMENT, "no source arrays");
  test_case(redist_move(&x, arrays, &x, NULL, 8) == REDIST_ERR_ARGUMENT, "no destination arrays");
  test_case(redist_move(&x, arrays, &x, outputs, 0) == REDIST_ERR_ARGUMENT, "elements of 0 bytes");
  test_case(redist_move(&x, arrays, &x, outputs, 8) == REDIST_ERR_ARGUMENT,
            "places that own elements without an array");
}

static void check_version(void) {
  test_case(redist_version() == REDIST_VERSION && REDIST_VERSION / 10000 == REDIST_VERSION_MAJOR &&
                REDIST_VERSION / 100 % 100 == REDIST_VERSION_MINOR &&
                REDIST_VERSION % 100 == REDIST_VERSION_PATCH,
            "version %d", redist_version());
}

static void check_strerror(void) {
  static const int codes[] = {
      REDIST_OK,         REDIST_ERR_ARGUMENT, REDIST_ERR_LAYOUT, REDIST_ERR_SHAPE,
      REDIST_ERR_RANK,   REDIST_ERR_OVERFLOW, REDIST_ERR_TYPE,   REDIST_ERR_MISMATCH,
      REDIST_ERR_MEMORY, REDIST_ERR_ALIAS,    REDIST_ERR_BUSY,   REDIST_ERR_BUFFER,
      REDIST_ERR_MPI,
  };
  static const int unknown[] = {-1, 1000, INT_MAX, INT_MIN};
  for (int a = 0; a < 13; a++) {
    int distinct = strlen(redist_strerror(codes[a])) > 0;
    for (int b = 0; b < a; b++)
      distinct = distinct && codes[a] != codes[b] &&
                 strcmp(redist_strerror(codes[a]), redist_strerror(codes[b])) != 0;
    test_case(distinct, "text of code %d", codes[a]);
  }
  test_case(REDIST_OK == 0, "REDIST_OK is 0");
  for (int k = 0; k < 4; k++)
    test_case(redist_strerror(unknown[k]) != NULL && strlen(redist_strerror(unknown[k])) > 0,
              "text of code %d", unknown[k]);
}

/* Long axes beside one of length 0 have no elements, and do not overflow. */
static void check_long_and_empty(void) {
  const int64_t n = INT64_C(1) << 32;
  redist_layout x = redist_layout_3d(redist_block(n, 4), redist_block(n, 4), redist_whole(0));
  redist_layout y = redist_layout_3d(redist_cyclic(n, 2), redist_block(n, 8), redist_whole(0));
  redist_traffic t;
  int64_t elements = 1;
  memset(&t, 1, sizeof t);
  test_case(redist_traffic_between(&x, &y, 0, &t) == REDIST_OK && t.total == 0 && t.local == 0 &&
                t.moved == 0 && t.messages == 0 &&
                redist_volume(&x, 0, &y, 0, &elements) == REDIST_OK && elements == 0,
            "an empty array of long axes: %lld elements", (long long)t.total);
}

int main(void) {
  check_long_and_empty();
  expect_bad_axes();
  expect_bad_lists();
  expect_unbuilt();
  expect_foreign();
  expect_no_axis_of_boxes();
  expect_bad_dimensions();
  expect_bad_storage();
  expect_bad_ghosts();
  expect_bad_views();
  expect_bad_sections();
  expect_bad_ranks();
  check_answers_with_listed_ranks();
  check_answers_with_boxes();
  expect_overflow();
  expect_bad_scalapack();
  expect_fault_to_stay();
  check_truncations();
  check_version();
  check_strerror();
  check_null_layout();
  check_null_arguments();
  check_null_axis();
  return test_report("errors");
}
