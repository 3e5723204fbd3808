/* Tests views (permuted, transposed, flipped, rotated, sections, compositions) against tables of
   array elements.
   MIT licence, see LICENSE. */
#include "serial.h"

/* ---- one layout against its tables ---- */

static int same_element(const test_model *l, const redist_layout *x, const int64_t *index,
                        int64_t element) {
  int place = l->table.place[element], coords[TEST_DIMS];
  serial_coords(l, place, coords);
  return redist_layout_owner(x, index) == l->table.ranks[place] &&
         redist_layout_offset(x, index) == l->table.offset[element] &&
         redist_layout_rank(x, coords) == l->table.ranks[place];
}

/* One step outside along every axis, both ways. */
static int nothing_outside(const test_model *l, const redist_layout *x) {
  int64_t index[TEST_DIMS] = {0};
  int nothing = 1;
  for (int d = 0; d < l->array.ndim; d++) {
    index[d] = l->table.shape[d];
    nothing =
        nothing && redist_layout_owner(x, index) == -1 && redist_layout_offset(x, index) == -1;
    index[d] = -1;
    nothing =
        nothing && redist_layout_owner(x, index) == -1 && redist_layout_offset(x, index) == -1;
    index[d] = 0;
  }
  return nothing;
}

static int same_view(const test_model *l, const redist_layout *x) {
  int64_t index[TEST_DIMS] = {0}, e = 0;
  int same = redist_layout_check(x) == REDIST_OK && nothing_outside(l, x);
  if (l->table.elements == 0) return same && redist_layout_owner(x, index) == -1;
  do same = same && same_element(l, x, index, e++);
  while (same && serial_next(l->array.ndim, l->table.shape, index));
  return same;
}

/* ---- one step on a fixed array ---- */

/* Axes of different kinds and lengths, so that no two can be confused. */
static void make_axes(int ndim, test_axis *axes) {
  static const int kinds[] = {TEST_BLOCK_CYCLIC, TEST_BALANCED, TEST_CYCLIC, TEST_CUTS};
  static const int64_t cuts[] = {0, 1, 1, 4};
  static const int procs[] = {2, 3, 2, 3};
  for (int d = 0; d < ndim; d++) {
    axes[d] = test_axis_of(kinds[d], 7 - d, 2, procs[d]);
    axes[d].first = d % 2;
  }
  if (ndim == 4) memcpy(axes[3].cuts, cuts, sizeof cuts);
}

static void check_steps(int ndim, const test_operation *steps, int count, const char *what) {
  test_axis axes[TEST_DIMS];
  test_array array;
  test_model *l;
  make_axes(ndim, axes);
  array = serial_array(ndim, axes);
  for (int k = 0; k < count; k++) test_add(&array, steps[k]);
  l = serial_new(&array);
  test_case(same_view(l, &l->layout), "%s of %d axes (axis %d, value %d, section %d:%d:%d)", what,
            ndim, steps[0].axis, steps[0].value, (int)steps[0].start, (int)steps[0].count,
            (int)steps[0].step);
  free(l);
}

static int is_permutation(const int *axes, int ndim) {
  int seen = 0;
  for (int d = 0; d < ndim; d++) seen |= 1 << axes[d];
  return seen == (1 << ndim) - 1;
}

static void check_permutations(int ndim) {
  test_operation s = test_operation_of(TEST_PERMUTE, 0);
  const int64_t digits[TEST_DIMS] = {ndim, ndim, ndim, ndim};
  int64_t number[TEST_DIMS] = {0};
  do {
    for (int d = 0; d < ndim; d++) s.axes[d] = (int)number[d];
    if (is_permutation(s.axes, ndim)) check_steps(ndim, &s, 1, "permutation");
  } while (serial_next(ndim, digits, number));
}

static void check_sections(int ndim) {
  test_operation s = test_operation_of(TEST_SECTION, 0);
  for (s.axis = 0; s.axis < ndim; s.axis++)
    for (s.step = -3; s.step <= 3; s.step++)
      for (s.start = 0; s.start < 7 - s.axis; s.start++)
        for (s.count = 0; s.count <= 7; s.count++) {
          int64_t last = s.start + (s.count - 1) * s.step;
          if (s.step != 0 && (s.count == 0 || (last >= 0 && last < 7 - s.axis)))
            check_steps(ndim, &s, 1, "section");
        }
}

static void check_single_steps(int ndim) {
  test_operation transpose = test_operation_of(TEST_TRANSPOSE, 0),
                 flip = test_operation_of(TEST_FLIP, 0), rotate = test_operation_of(TEST_ROTATE, 0);
  check_steps(ndim, &transpose, 0, "identity");
  check_steps(ndim, &transpose, 1, "transpose");
  check_permutations(ndim);
  check_sections(ndim);
  for (flip.axis = 0; flip.axis < ndim; flip.axis++) check_steps(ndim, &flip, 1, "flip");
  for (rotate.value = -9; ndim >= 2 && rotate.value <= 9; rotate.value++)
    check_steps(ndim, &rotate, 1, "rotation");
}

/* The order of two steps matters: every ordered pair. */
static void check_pairs(int ndim) {
  test_operation steps[5], pair[2];
  int kinds = ndim >= 2 ? 5 : 3;
  steps[0] = test_operation_of(TEST_TRANSPOSE, 0);
  steps[1] = test_operation_of(TEST_FLIP, 0);
  steps[2] = test_operation_of(TEST_SECTION, 0);
  steps[3] = test_operation_of(TEST_ROTATE, 0);
  steps[4] = test_operation_of(TEST_PERMUTE, 0);
  steps[2].start = 3;
  steps[2].count = 4;
  steps[2].step = -1;
  steps[3].value = 1;
  for (int d = 0; d < ndim; d++) steps[4].axes[d] = (d + 1) % ndim;
  for (int first = 0; first < kinds; first++)
    for (int second = 0; second < kinds; second++) {
      pair[0] = steps[first];
      pair[1] = steps[second];
      check_steps(ndim, pair, 2, "pair of steps");
    }
}

/* ---- against numbers that numpy prints ---- */

/* numpy.rot90(numpy.arange(6).reshape(2, 3), turns). */
static const struct {
  int turns;
  int64_t shape[2], element[6];
} rotations[] = {
    {0, {2, 3}, {0, 1, 2, 3, 4, 5}},
    {1, {3, 2}, {2, 5, 1, 4, 0, 3}},
    {2, {2, 3}, {5, 4, 3, 2, 1, 0}},
    {3, {3, 2}, {3, 0, 4, 1, 5, 2}},
    {4, {2, 3}, {0, 1, 2, 3, 4, 5}},
    {-1, {3, 2}, {3, 0, 4, 1, 5, 2}},
    {-2, {2, 3}, {5, 4, 3, 2, 1, 0}},
    {-3, {3, 2}, {2, 5, 1, 4, 0, 3}},
    {7, {3, 2}, {3, 0, 4, 1, 5, 2}},
    {2000000001, {3, 2}, {2, 5, 1, 4, 0, 3}},
    {-2147483647 - 1, {2, 3}, {0, 1, 2, 3, 4, 5}},
};

static void check_numpy_rotations(void) {
  for (size_t k = 0; k < sizeof rotations / sizeof *rotations; k++) {
    redist_layout x =
        redist_rotated(redist_layout_2d(redist_whole(2), redist_whole(3)), rotations[k].turns);
    int64_t index[2] = {0, 0};
    int same = 1, e = 0;
    do same = same && redist_layout_offset(&x, index) == rotations[k].element[e++];
    while (serial_next(2, rotations[k].shape, index));
    index[0] = rotations[k].shape[0];
    test_case(same && redist_layout_offset(&x, index) == -1, "numpy.rot90 by %d",
              rotations[k].turns);
  }
}

/* ---- compositions ---- */

static void check_random(test_random *r, int number) {
  int ndim = 1 + number % 4;
  int64_t shape[TEST_DIMS];
  test_model *l;
  serial_random_shape(r, ndim, shape);
  l = serial_random(r, 12, ndim, shape);
  test_case(same_view(l, &l->layout), "composition %d, %d axes", number, ndim);
  free(l);
}

/* Undoing a step restores every owner and offset. */
static void check_inverse(test_random *r, int number) {
  int64_t shape[TEST_DIMS];
  int turns = (int)test_between(r, -5, 5), permutation[3], inverse[3];
  test_model *l;
  redist_layout undone[4];
  serial_random_shape(r, 3, shape);
  l = serial_random(r, 12, 3, shape);
  test_shuffle(r, permutation, 3);
  for (int d = 0; d < 3; d++) inverse[permutation[d]] = d;
  undone[0] = redist_transposed(redist_transposed(l->layout));
  undone[1] = redist_rotated(redist_rotated(l->layout, turns), -turns);
  undone[2] = redist_permuted(redist_permuted(l->layout, permutation), inverse);
  undone[3] = redist_flipped(redist_flipped(l->layout, 1), 1);
  for (int k = 0; k < 4; k++)
    test_case(same_view(l, &undone[k]), "step %d undone, case %d", k, number);
  free(l);
}

/* usage: views [RANDOM VIEWS] */
int main(int argc, char **argv) {
  const int random_views = argc > 1 ? atoi(argv[1]) : 4000;
  test_random r = {2};
  for (int ndim = 1; ndim <= 4; ndim++) {
    check_single_steps(ndim);
    check_pairs(ndim);
  }
  check_numpy_rotations();
  for (int number = 0; number < random_views; number++) check_random(&r, number);
  for (int number = 0; number < 200; number++) check_inverse(&r, number);
  return test_report("views");
}
