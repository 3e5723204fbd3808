/* Tests layouts (storage, grids, ranks, halos, ScaLAPACK descriptors, traffic) against storage
   distributed by loops. MIT licence, see LICENSE. */
#include <limits.h>

#include "serial.h"

/* ---- one layout against its tables ---- */

static int same_elements(const test_model *l, const redist_layout *x) {
  int64_t index[TEST_DIMS] = {0}, e = 0;
  int same = 1;
  if (l->table.elements > 0) do {
      same = same && redist_layout_owner(x, index) == l->table.ranks[l->table.place[e]];
      same = same && redist_layout_offset(x, index) == l->table.offset[e++];
    } while (same && serial_next(l->array.ndim, l->table.shape, index));
  return same;
}

/* All offsets are within the allocation, and no two elements share a cell. */
static int cells_are_distinct(const test_model *l, const redist_layout *x) {
  int64_t index[TEST_DIMS] = {0};
  char *taken[TEST_PLACES];
  int distinct = 1;
  for (int k = 0; k < l->table.places; k++)
    taken[k] = (char *)serial_malloc(redist_layout_local_size(x, l->table.ranks[k]), 1);
  if (l->table.elements > 0) do {
      int rank = redist_layout_owner(x, index), place = test_place_of_rank(&l->table, rank);
      int64_t offset = redist_layout_offset(x, index);
      distinct = distinct && place >= 0 && offset >= 0 &&
                 offset < redist_layout_local_size(x, rank) && !taken[place][offset];
      if (distinct) taken[place][offset] = 1;
    } while (distinct && serial_next(l->array.ndim, l->table.shape, index));
  for (int k = 0; k < l->table.places; k++) free(taken[k]);
  return distinct;
}

/* Every rank, and some that hold nothing: its coordinates and back, and its allocation. */
static int same_ranks(const test_model *l, const redist_layout *x) {
  int same = redist_layout_places(x) == l->table.places;
  for (int rank = -2; rank < l->table.places + 10; rank++) {
    int place = test_place_of_rank(&l->table, rank), coords[TEST_DIMS], wanted[TEST_DIMS];
    same = same && redist_layout_coords(x, rank, coords) == (place >= 0);
    same = same && redist_layout_local_size(x, rank) == (place >= 0 ? l->table.alloc[place] : 0);
    if (place >= 0) serial_coords(l, place, wanted);
    for (int d = 0; d < l->array.ndim && place >= 0; d++) same = same && coords[d] == wanted[d];
    same = same && (place < 0 || redist_layout_rank(x, coords) == rank);
  }
  return same;
}

static int no_rank_outside(const test_model *l, const redist_layout *x) {
  int coords[TEST_DIMS] = {0}, nothing = 1;
  for (int d = 0; d < l->array.ndim; d++) {
    coords[d] = -1;
    nothing = nothing && redist_layout_rank(x, coords) == -1;
    coords[d] = l->array.axes[l->table.own[d]].procs;
    nothing = nothing && redist_layout_rank(x, coords) == -1;
    coords[d] = 0;
  }
  return nothing && redist_layout_coords(x, INT_MAX, coords) == 0 &&
         redist_layout_local_size(x, INT_MAX) == 0;
}

/* The printed line names every extent of the view. */
static int prints_one_line(const test_model *l, const redist_layout *x) {
  char text[2048], number[32];
  FILE *file = tmpfile();
  size_t length;
  int good;
  if (file == NULL) return 0;
  good = redist_layout_print(x, file) == REDIST_OK;
  rewind(file);
  length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  good = good && length > 1 && length < sizeof text - 1 && strlen(text) == length &&
         strchr(text, '\n') == text + length - 1;
  for (int d = 0; d < l->array.ndim; d++) {
    snprintf(number, sizeof number, "%lld", (long long)l->table.shape[d]);
    good = good && strstr(text, number) != NULL;
  }
  return good;
}

static void check_layout(const test_model *l, const redist_layout *x, const char *what,
                         int number) {
  test_case(redist_layout_check(x) == REDIST_OK, "%s %d: check", what, number);
  test_case(same_elements(l, x), "%s %d: owner and offset", what, number);
  test_case(cells_are_distinct(l, x), "%s %d: cells distinct and within the allocation", what,
            number);
  test_case(same_ranks(l, x), "%s %d: ranks, coordinates, allocation", what, number);
  test_case(no_rank_outside(l, x), "%s %d: outside the grid", what, number);
}

static void check_random(test_random *r, int number) {
  int ndim = number % 20 == 19 ? TEST_DIMS : 1 + number % 4;
  int64_t shape[TEST_DIMS];
  test_model *l;
  serial_random_shape(r, ndim, shape);
  l = serial_random(r, 24, ndim, shape);
  check_layout(l, &l->layout, "random layout", number);
  if (number < 200) test_case(prints_one_line(l, &l->layout), "random layout %d: print", number);
  free(l);
}

/* ---- the builders, one by one ---- */

/* Each storage builder alone, on arrays of 1 to 3 axes with unequal numbers of elements per
   place. */
static void check_storage_steps(int ndim) {
  static const int kinds[] = {TEST_HALO,         TEST_HALO,  TEST_EXTENT, TEST_GRID_ORDER,
                              TEST_MEMORY_ORDER, TEST_RANKS, TEST_RANKS};
  test_random r = {9};
  for (int k = 0; k < 7; k++) {
    const test_axis axes[] = {test_axis_of(TEST_BLOCK, 5, 0, 3),
                              test_axis_of(TEST_BLOCK_CYCLIC, 7, 2, 2),
                              test_axis_of(TEST_CYCLIC, 3, 0, 2)};
    test_array array = serial_array(ndim, axes);
    test_operation step = test_operation_of(kinds[k], 0);
    test_model *l;
    step.axis = k % 2 == 0 ? ndim - 1 : 0;
    step.value = 1;
    array.axes[step.axis].low = k == 0 ? 2 : 0;
    array.axes[step.axis].high = k == 0 ? 0 : 3;
    array.axes[step.axis].extra = 3;
    test_add(&array, step);
    array.first_rank = 4;
    array.listed = k == 6;
    test_shuffle(&r, array.ranks, test_places(&array));
    l = serial_new(&array);
    check_layout(l, &l->layout, "storage step", k);
    test_case(prints_one_line(l, &l->layout), "storage step %d: print", k);
    free(l);
  }
}

/* layout_1d, _2d and _3d are layout_nd. */
static void check_short_builders(void) {
  const redist_axis axes[] = {redist_block(5, 3), redist_cyclic(7, 2), redist_balanced(4, 2)};
  redist_layout pairs[3][2];
  int64_t index[3] = {0, 0, 0};
  const int64_t shape[3] = {5, 7, 4};
  pairs[0][0] = redist_layout_1d(axes[0]);
  pairs[1][0] = redist_layout_2d(axes[0], axes[1]);
  pairs[2][0] = redist_layout_3d(axes[0], axes[1], axes[2]);
  for (int k = 0; k < 3; k++) {
    int same = 1;
    pairs[k][1] = redist_layout_nd(k + 1, axes);
    do {
      same = same &&
             redist_layout_owner(&pairs[k][0], index) == redist_layout_owner(&pairs[k][1], index);
      same = same &&
             redist_layout_offset(&pairs[k][0], index) == redist_layout_offset(&pairs[k][1], index);
    } while (serial_next(k + 1, shape, index));
    test_case(same && redist_layout_places(&pairs[k][0]) == redist_layout_places(&pairs[k][1]),
              "layout_%dd is layout_nd", k + 1);
  }
}

/* Numbers written out by hand: a 4 x 6 array on a 2 x 3 grid with halos, each rank's block 2 x 2 in
   a 4 x 5 array. */
static void check_by_hand(void) {
  redist_layout x = redist_layout_2d(redist_block(4, 2), redist_block(6, 3));
  int64_t corner[2] = {2, 5};
  x = redist_with_halo(redist_with_halo(x, 0, 1, 1), 1, 1, 2);
  test_case(redist_layout_owner(&x, corner) == 5 && redist_layout_local_size(&x, 5) == 20,
            "by hand: row-major grid");
  test_case(redist_layout_offset(&x, corner) == 1 * 5 + 2, "by hand: row-major memory");
  x = redist_memory_order(redist_grid_order(x, REDIST_COLUMN_MAJOR), REDIST_COLUMN_MAJOR);
  test_case(redist_layout_owner(&x, corner) == 1 + 2 * 2, "by hand: column-major grid");
  test_case(redist_layout_offset(&x, corner) == 1 + 2 * 4, "by hand: column-major memory");
  x = redist_from_rank(x, 10);
  test_case(redist_layout_owner(&x, corner) == 15 && redist_layout_local_size(&x, 5) == 0,
            "by hand: from rank 10");
}

/* The allocated extent may differ from rank to rank: each rank uses its own. */
static void check_extent_per_rank(void) {
  redist_layout x = redist_memory_order(redist_layout_2d(redist_block(10, 3), redist_whole(4)),
                                        REDIST_COLUMN_MAJOR);
  for (int rank = 0; rank < 3; rank++) {
    redist_layout mine = redist_with_allocated(x, 0, 4 + rank);
    int64_t index[2] = {4 * rank + 1, 3};
    test_case(redist_layout_local_size(&mine, rank) == 4 * (4 + rank), "allocation with extent %d",
              4 + rank);
    test_case(redist_layout_offset(&mine, index) == 1 + 3 * (4 + rank), "offset with extent %d",
              4 + rank);
  }
}

/* 2^61 elements in two axes: offsets, allocation and volumes stay exact. */
static void check_huge(void) {
  const int64_t rows = INT64_C(1) << 31, columns = INT64_C(1) << 30,
                last[2] = {rows - 1, (columns >> 1) - 1};
  redist_layout x = redist_layout_2d(redist_whole(rows), redist_block(columns, 2));
  redist_layout y =
      redist_memory_order(redist_layout_2d(redist_whole(rows), redist_cyclic(columns, 2)),
                          REDIST_COLUMN_MAJOR);
  test_case(redist_layout_check(&x) == REDIST_OK && redist_layout_local_size(&x, 0) == INT64_C(1)
                                                                                           << 60,
            "2^61 elements: allocation");
  test_case(redist_layout_owner(&x, last) == 0 &&
                redist_layout_offset(&x, last) == (INT64_C(1) << 60) - 1,
            "2^61 elements: offset");
  test_case(redist_layout_offset(&y, last) == (rows - 1) + ((columns >> 2) - 1) * rows,
            "2^61 elements: column-major offset");
  test_case(test_volume(&x, 0, &y, 1) == INT64_C(1) << 59, "2^61 elements: volume");
}

/* ---- ScaLAPACK descriptors ---- */

/* One axis of a descriptor by ScaLAPACK's TOOLS (0-based), each function as in its source. */
typedef struct {
  int n, block, source, procs;
} scalapack_axis;

static int numroc(const scalapack_axis *a, int process) {
  int distance = (a->procs + process - a->source) % a->procs, blocks = a->n / a->block,
      count = blocks / a->procs * a->block;
  int extra = blocks % a->procs;
  return distance < extra ? count + a->block : distance == extra ? count + a->n % a->block : count;
}

static int indxg2p(const scalapack_axis *a, int index) {
  return (a->source + index / a->block) % a->procs;
}

static int indxg2l(const scalapack_axis *a, int index) {
  return a->block * (index / (a->block * a->procs)) + index % a->block;
}

typedef struct {
  scalapack_axis rows, columns;
  int desc[9];
} scalapack_matrix;

static scalapack_axis random_scalapack_axis(test_random *r) {
  scalapack_axis a;
  a.n = (int)test_between(r, 0, 25);
  a.block = (int)test_between(r, 1, 9);
  a.procs = (int)test_between(r, 1, 4);
  a.source = (int)test_between(r, 0, a.procs - 1);
  return a;
}

static scalapack_matrix random_scalapack_matrix(test_random *r) {
  scalapack_matrix m;
  int leading = 1;
  m.rows = random_scalapack_axis(r);
  m.columns = random_scalapack_axis(r);
  for (int p = 0; p < m.rows.procs; p++)
    leading = numroc(&m.rows, p) > leading ? numroc(&m.rows, p) : leading;
  m.desc[0] = 1;
  m.desc[1] = (int)test_between(r, 0, 100);
  m.desc[2] = m.rows.n;
  m.desc[3] = m.columns.n;
  m.desc[4] = m.rows.block;
  m.desc[5] = m.columns.block;
  m.desc[6] = m.rows.source;
  m.desc[7] = m.columns.source;
  m.desc[8] = leading + (int)test_between(r, 0, 3);
  return m;
}

static int same_scalapack_elements(const scalapack_matrix *m, const redist_layout *x) {
  int same = 1;
  for (int i = 0; i < m->rows.n; i++)
    for (int j = 0; j < m->columns.n; j++) {
      const int64_t index[2] = {i, j};
      int rank = indxg2p(&m->rows, i) * m->columns.procs + indxg2p(&m->columns, j);
      int offset = indxg2l(&m->rows, i) + indxg2l(&m->columns, j) * m->desc[8];
      same =
          same && redist_layout_owner(x, index) == rank && redist_layout_offset(x, index) == offset;
    }
  return same;
}

static int same_scalapack_storage(const scalapack_matrix *m, const redist_layout *x) {
  int same = redist_layout_places(x) == m->rows.procs * m->columns.procs;
  for (int rank = 0; rank < m->rows.procs * m->columns.procs; rank++) {
    int coords[2] = {-1, -1}, column = rank % m->columns.procs;
    same = same && redist_layout_coords(x, rank, coords) && coords[0] == rank / m->columns.procs &&
           coords[1] == column;
    same = same &&
           redist_layout_local_size(x, rank) == (int64_t)m->desc[8] * numroc(&m->columns, column);
  }
  return same;
}

static void check_scalapack(test_random *r, int number) {
  scalapack_matrix m = random_scalapack_matrix(r);
  redist_layout x = redist_from_scalapack(m.desc, m.rows.procs, m.columns.procs);
  test_case(redist_layout_check(&x) == REDIST_OK && same_scalapack_elements(&m, &x),
            "ScaLAPACK descriptor %d: elements", number);
  test_case(same_scalapack_storage(&m, &x), "ScaLAPACK descriptor %d: storage", number);
}

/* ---- traffic ---- */

static int same_volumes(const serial_matrix *m, const redist_layout *x, const redist_layout *y,
                        int ranks) {
  int same = test_volume(x, -1, y, 0) == 0 && test_volume(x, 0, y, -1) == 0;
  for (int a = 0; a < ranks; a++)
    for (int b = 0; b < ranks; b++) same = same && test_volume(x, a, y, b) == m->volume[a][b];
  return same;
}

static void check_traffic(const test_model *from, const test_model *to, int number) {
  static serial_matrix m;
  redist_traffic wanted, t;
  const redist_layout *x = &from->layout, *y = &to->layout;
  int ranks = from->table.places > to->table.places ? from->table.places : to->table.places;
  memset(&t, 0, sizeof t);
  serial_volumes(from, to, &m);
  wanted = serial_traffic(&m);
  test_case(
      redist_traffic_between(x, y, 0, &t) == REDIST_OK && serial_same_traffic(&t, &wanted),
      "traffic %d: total %lld of %lld, kept %lld of %lld, messages %lld of %lld, max_sends %lld of %lld, "
      "max_sent %lld of %lld",
      number, (long long)t.total, (long long)wanted.total, (long long)t.local,
      (long long)wanted.local, (long long)t.messages, (long long)wanted.messages,
      (long long)t.max_sends, (long long)wanted.max_sends, (long long)t.max_sent,
      (long long)wanted.max_sent);
  test_case(same_volumes(&m, x, y, ranks + 6), "volumes %d", number);
}

static void check_random_traffic(test_random *r, int number) {
  int ndim = number % 25 == 24 ? TEST_DIMS : 1 + number % 4;
  int64_t shape[TEST_DIMS];
  test_model *from, *to;
  serial_random_shape(r, ndim, shape);
  from = serial_random(r, 24, ndim, shape);
  to = serial_random(r, 24, ndim, shape);
  check_traffic(from, to, number);
  free(from);
  free(to);
}

/* The second layout's ranks begin after those of the first, or among them: disjoint and overlapping
   sets of ranks. */
static void check_ranks_apart(int first_rank) {
  const test_axis rows = test_axis_of(TEST_BLOCK, 13, 0, 4),
                  columns = test_axis_of(TEST_CYCLIC, 13, 0, 3);
  test_array before = serial_array(1, &rows), after = serial_array(1, &columns);
  test_model *from, *to;
  after.first_rank = first_rank;
  test_add(&after, test_operation_of(TEST_RANKS, 0));
  from = serial_new(&before);
  to = serial_new(&after);
  check_traffic(from, to, -first_rank);
  free(from);
  free(to);
}

static void check_different_shapes(void) {
  redist_layout x = redist_layout_2d(redist_block(4, 2), redist_whole(5)), y = redist_transposed(x),
                z = redist_layout_1d(redist_whole(20));
  redist_traffic t;
  test_case(redist_traffic_between(&x, &y, 0, &t) == REDIST_ERR_SHAPE,
            "traffic of a 4 x 5 and a 5 x 4 view");
  test_case(redist_traffic_between(&x, &z, 0, &t) == REDIST_ERR_SHAPE,
            "traffic of a 2-D and a 1-D view");
}

/* ---- boxes that overlap, or leave an element out ---- */

enum { BOXES = 7 };

/* Cuts an array into boxes by repeated halving, and often moves an end of one box. */
static void draw_boxes(test_random *r, int ndim, const int64_t *extents, redist_box *box) {
  memset(box, 0, BOXES * sizeof *box);
  for (int d = 0; d < ndim; d++) box[0].high[d] = extents[d];
  for (int k = 1; k < BOXES; k++) {
    const int which = (int)test_between(r, 0, k - 1), d = (int)test_between(r, 0, ndim - 1);
    box[k] = box[which];
    box[which].high[d] = box[k].low[d] = test_between(r, box[k].low[d], box[k].high[d]);
  }
  if (!test_one_in(r, 4)) {
    const int d = (int)test_between(r, 0, ndim - 1);
    int64_t *end = &box[test_between(r, 0, BOXES - 1)].high[d];
    *end = test_between(r, 0, extents[d]);
  }
}

static int is_in(int ndim, const redist_box *box, const int64_t *index) {
  int in = 1;
  for (int d = 0; d < ndim; d++) in = in && box->low[d] <= index[d] && index[d] < box->high[d];
  return in;
}

/* Compares the sentence with all elements: an overlapping pair, or else the first element in no
   box. */
static void check_boxes(test_random *r, int number) {
  redist_box box[BOXES];
  int64_t extents[3], index[3] = {0}, hole = -1, element = 0;
  char overlap[BOXES][BOXES] = {{0}}, text[100] = "", wanted[100] = "";
  const int ndim = (int)test_between(r, 1, 3);
  int first = -1, second = -1, overlaps = 0;
  redist_layout x;
  for (int d = 0; d < ndim; d++) extents[d] = test_between(r, 1, 5);
  draw_boxes(r, ndim, extents, box);
  do {
    int held = 0;
    for (int a = 0; a < BOXES; a++)
      for (int b = a; b < BOXES; b++)
        if (is_in(ndim, &box[a], index) && is_in(ndim, &box[b], index)) {
          held = 1;
          overlap[a][b] = 1;
          overlaps += a < b;
        }
    hole = hole < 0 && !held ? element : hole;
    element++;
  } while (serial_next(ndim, extents, index));
  x = redist_layout_boxes(ndim, extents, BOXES, box);
  redist_layout_explain(&x, text, sizeof text);
  x = redist_partial(x); /* then only overlaps are errors */
  test_case(redist_layout_check(&x) == (overlaps > 0 ? REDIST_ERR_LAYOUT : REDIST_OK),
            "boxes %d, partial", number);
  if (overlaps > 0) {
    test_case(sscanf(text, "box %d overlaps box %d", &first, &second) == 2 && first >= 0 &&
                  first < second && second < BOXES && overlap[first][second],
              "boxes %d overlap: %s", number, text);
    return;
  }
  if (hole >= 0)
    snprintf(wanted, sizeof wanted, "no box holds element %d, counted row by row of the array",
             (int)hole);
  test_case(strcmp(text, wanted) == 0, "boxes %d: %s, not %s", number, text, wanted);
}

/* usage: layouts [RANDOM LAYOUTS] */
/* Which place is number k in ranks[k] and offsets[k], as README and redist_grid_order say. */
static void check_numbering(void) {
  static const int ranks[12] = {70, 71, 72, 73, 74, 75, 80, 81, 82, 83, 84, 85}, coords[2] = {1, 0};
  static const int64_t extents[1] = {4};
  static const redist_box box[2] = {{{2}, {4}}, {{0}, {2}}};
  static const int64_t element[2] = {1, 0}, index[1] = {3};
  redist_layout grid = redist_layout_2d(redist_block(2, 2), redist_block(3, 3));
  redist_layout boxes = redist_on_ranks(redist_layout_boxes(1, extents, 2, box), ranks);
  int places[1];
  grid = redist_on_ranks(redist_replicated(grid, 2), ranks);
  test_case(redist_layout_rank(&grid, coords) == 73 && redist_layout_owner(&grid, element) == 73,
            "coordinates (1, 0) of 2 x 3 are place 3");
  test_case(redist_layout_on_rank(&grid, 83, 1, places) == 1 && places[0] == 3 + 1 * 6,
            "replica 1 of place 3 is place 9");
  grid = redist_grid_order(grid, REDIST_COLUMN_MAJOR);
  test_case(redist_layout_rank(&grid, coords) == 71, "in column-major order they are place 1");
  test_case(redist_layout_owner(&boxes, index) == 70, "place 0 has box 0");
}

int main(int argc, char **argv) {
  const int most = argc > 1 ? atoi(argv[1]) : 1000;
  test_random r = {3};
  check_short_builders();
  check_by_hand();
  check_numbering();
  check_extent_per_rank();
  check_huge();
  for (int ndim = 1; ndim <= 3; ndim++) check_storage_steps(ndim);
  for (int number = 0; number < most; number++) check_random(&r, number);
  for (int number = 0; number < most / 2; number++) check_scalapack(&r, number);
  for (int number = 0; number < most * 3 / 5; number++) check_random_traffic(&r, number);
  for (int first_rank = 0; first_rank <= 5; first_rank++) check_ranks_apart(first_rank);
  check_different_shapes();
  for (int number = 0; number < most * 2; number++) check_boxes(&r, number);
  return test_report("layouts");
}
