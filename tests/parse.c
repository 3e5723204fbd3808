/* redist tests: layouts as text, printed and parsed again, and every mistake that a text can hold.
   MIT licence, see LICENSE. */
#include <limits.h>

#include "oracle.h"

enum { PARSE_TEXT = 65536, PARSE_STORAGE = 16384 };

typedef struct {
  redist_layout layout;
  int code;
  char message[256], text[PARSE_TEXT]; /* text: what the layout is printed as */
  int64_t storage[PARSE_STORAGE];
} parsed;

static void parse(const char *text, parsed *p) {
  const size_t needed = redist_layout_parse_size(text);
  p->code = redist_layout_parse(text, &p->layout, p->storage,
                                needed < sizeof p->storage ? needed : sizeof p->storage, p->message,
                                sizeof p->message);
  strcpy(p->text, "?");
  if (p->code == REDIST_OK) redist_layout_format(&p->layout, p->text, sizeof p->text);
}

/* ---- what is printed is parsed ---- */

static int same_elements(const test_array *array, const test_table *t, const redist_layout *x) {
  int64_t e, index[TEST_DIMS + 1] = {0};
  int d, same = array->tails > 0 || x->ndim == array->ndim;
  for (e = 0; e < t->elements && same; e++) {
    int64_t rest = e;
    for (d = t->axes - 1; d >= 0; d--) {
      index[d] = rest % t->shape[d];
      rest /= t->shape[d];
    }
    same = redist_layout_owner(x, index) == t->ranks[t->place[e]];
    same = same && redist_layout_offset(x, index) == t->offset[e];
  }
  return same;
}

static int same_ranks(const test_table *t, const redist_layout *x) {
  int rank, same = redist_layout_places(x) == t->places;
  for (rank = 0; rank < TEST_PLACES + 2; rank++) {
    int place = test_place_of_rank(t, rank);
    same = same && redist_layout_local_size(x, rank) == (place < 0 ? 0 : t->alloc[place]);
  }
  return same;
}

static int same_in_file(const redist_layout *x, const char *text) {
  char written[PARSE_TEXT];
  size_t length;
  FILE *file = tmpfile();
  if (file == NULL) return 0;
  redist_layout_print(x, file);
  rewind(file);
  length = fread(written, 1, sizeof written - 1, file);
  fclose(file);
  written[length] = '\0';
  return length == strlen(text) + 1 && written[length - 1] == '\n' &&
         strncmp(written, text, length - 1) == 0;
}

static void check_round_trip(test_random *r, int number) {
  static test_array array;
  static test_table t;
  static parsed p;
  int64_t shape[TEST_DIMS];
  char text[PARSE_TEXT];
  redist_layout x;
  int ndim = test_draw_shape(r, TEST_MEDIUM, shape);
  test_draw(r, TEST_PLACES, number % 2 == 0 ? 0 : TEST_RESHAPES, ndim, shape, &array);
  test_tabulate(&array, &t);
  x = test_layout(&t, 0);
  if (array.tails > 0 && redist_layout_format(&x, text, sizeof text) < 0) return;
  if (test_has_lists(&array)) {
    test_case(redist_layout_format(&x, text, sizeof text) == -1 && text[0] == '\0',
              "random layout %d: no text for lists of indices", number);
    return;
  }
  test_case(redist_layout_format(&x, text, sizeof text) == (int64_t)strlen(text),
            "random layout %d: format", number);
  parse(text, &p);
  test_case(p.code == REDIST_OK && p.message[0] == '\0', "%s: %s", text, p.message);
  test_case(strcmp(p.text, text) == 0, "%s: becomes %s", text, p.text);
  test_case(same_elements(&array, &t, &p.layout), "%s: owner and offset", text);
  test_case(same_ranks(&t, &p.layout), "%s: places and allocations", text);
  if (number < 200) test_case(same_in_file(&x, text), "%s: in a file", text);
}

/* ---- texts written by hand, and what they are printed as ---- */

typedef struct {
  const char *written, *printed; /* NULL: the same */
} spelling;

static const spelling spellings[] = {
    {"100x80: block@4, cyclic(8)@2", NULL},
    {"7: *", NULL},
    {"7: block@1", "7: *"},
    {"7: cyclic(3)@1", "7: *"},
    {"100: cyclic(25)@4", "100: block@4"},
    {"100: cyclic(26)@4", NULL},
    {"100: cyclic(1)@4", "100: cyclic@4"},
    {"100: cyclic(999)@4", "100: cyclic(100)@4"},
    {"4: cyclic@4", "4: block@4"},
    {"0: block@3", NULL},
    {"0x5: cyclic(4)@3, balanced@2", "0x5: block@3, balanced@2"},
    {"10: balanced@3 from 2", NULL},
    {"9: cuts(0,3,9)", NULL},
    {"9: cuts(0,9)", NULL},
    {"5: owners(0,2,2,0,1)@4", NULL},
    {"5: OWNERS ( 0 ,2, 2,0,1 ) @ 3 from 2 halo(1)", "5: owners(0,2,2,0,1)@3 from 2 halo(1,1)"},
    {"2: owners(0,1,1,0,0)@2 [4:2:-3 of 5]", NULL},
    {"0x2: owners()@3, owners(1,0)@2", NULL},
    {"9: cuts(0,0,0,9,9) from 3", NULL},
    {"5: cuts(0,3,9) [8:5:-2 of 9]", NULL},
    {"5: block@2 [3:5 of 20]", NULL},
    {"5: block@2 [3:5:1 of 20]", "5: block@2 [3:5 of 20]"},
    {"20: block@2 [0:20:1 of 20]", "20: block@2"},
    {"20: block@2 [19:20:-1 of 20]", NULL},
    {"1: block@2 [7:1:-3 of 20]", "1: block@2 [7:1 of 20]"},
    {"0: block@2 [0:0 of 20]", NULL},
    {"8: block@2 halo(1,2)", NULL},
    {"8: block@2 halo(3)", "8: block@2 halo(3,3)"},
    {"8: block@2 halo(0,0)", "8: block@2"},
    {"8: block@2 halo(3) periodic", "8: block@2 halo(3,3) periodic"},
    {"8: block@2 halo(3,2) closed depth(3,2)", "8: block@2 halo(3,2) closed"},
    {"8: block@2 halo(3,2) closed depth(1,0)", NULL},
    {"8: block@2 depth ( 0 ) periodic halo(3) allocated(7)",
     "8: block@2 halo(3,3) periodic depth(0,0) allocated(7)"},
    {"4x6: box halo(2,1) closed depth(2,0), box; partial; boxes 1:6x0:2, 0:4x2:4; transposed",
     "4x6: box halo(2,1) closed depth(2,0), box; axes(1,0); boxes 1:6x0:2, 0:4x2:4; partial"},
    {"6: box; boxes 3:3; partial", NULL},
    {"4x6: block@2 halo(1) closed, * halo(1) periodic; Without  Corners; memory column-major",
     "4x6: block@2 halo(1,1) closed, * halo(1,1) periodic; memory column-major; without corners"},
    {"8: block@2 allocated(12)", NULL},
    {"8: block@2 allocated(12) halo(1) [0:8 of 9] from 1",
     "8: block@2 from 1 [0:8 of 9] halo(1,1) allocated(12)"},
    {"6x4: block@2, *; axes(1,0)", NULL},
    {"10: block@2; replicas 3", NULL},
    {"10: block@2; replicas 3", "10: block@2; replicas 3"},
    {"8: block@2 allocated(12)", "8: block@2 allocated(12)"},
    {"10: block@2; replicas 1", "10: block@2"},
    {"10: block@2; ranks 7,5,3,1; Replicas 2; grid column-major",
     "10: block@2; grid column-major; replicas 2; ranks 7,5,3,1"},
    {"10: block@2; from rank 2147483639; replicas 4",
     "10: block@2; replicas 4; from rank 2147483639"},
    {"6x4: block@2, *; transposed", "6x4: block@2, *; axes(1,0)"},
    {"6x4: block@2, *; axes(0,1)", "6x4: block@2, *"},
    {"6x4x2: *, *, *; axes(1,2,0)", NULL},
    {"6x4x2: *, *, *; transposed", "6x4x2: *, *, *; axes(2,1,0)"},
    {"6: *; transposed", "6: *"},
    {"4x6: box, box; boxes 0:6x0:2, 0:6x2:4; transposed",
     "4x6: box, box; axes(1,0); boxes 0:6x0:2, 0:6x2:4"},
    {"6: *; grid column-major; memory column-major", NULL},
    {"6: *; grid row-major; memory row-major", "6: *"},
    {"6: *; memory column-major; grid column-major",
     "6: *; grid column-major; memory column-major"},
    {"6: block@3; ranks 2,0,7", NULL},
    {"6: block@3; on 2 0 2; offsets 0, 9 3", "6: block@3; ranks 2,0,2; offsets 0,9,3"},
    {"6: block@3; ranks 1,1,1; offsets 0,3,9223372036854775807", NULL},
    {"6: block@3; from rank 4", NULL},
    {"6: block@3; from rank 0", "6: block@3"},
    {"  100 x 80 :\tBLOCK @ 4 ,Cyclic ( 8 )@2\n;\r\nGrid Column-Major ; RANKS 7 ,6, 5,4,3,2,1,0 ",
     "100x80: block@4, cyclic(8)@2; grid column-major; ranks 7,6,5,4,3,2,1,0"},
    {"5X4:*From 0[ 3 : 5 : 2 OF 20 ]Halo( 1 , 2 )Allocated(50),*",
     "5x4: * [3:5:2 of 20] halo(1,2) allocated(50), *"},
    {"4611686018427387903: cyclic(4611686018427387903)@2147483647; from rank 0",
     "4611686018427387903: cyclic(4611686018427387903)@2147483647"},
};

static void check_spellings(void) {
  static parsed p;
  size_t k;
  for (k = 0; k < sizeof spellings / sizeof spellings[0]; k++) {
    const char *printed =
        spellings[k].printed == NULL ? spellings[k].written : spellings[k].printed;
    parse(spellings[k].written, &p);
    test_case(p.code == REDIST_OK && strcmp(p.text, printed) == 0, "%s: code %d %s, printed %s",
              spellings[k].written, p.code, p.message, p.text);
  }
}

/* Element (i, j) of the view that a text describes, against the same view by the builders. */
static void check_meaning(const char *text, redist_layout wanted, const int64_t *shape) {
  static parsed p;
  int64_t index[2];
  int same;
  parse(text, &p);
  same = p.code == REDIST_OK;
  for (index[0] = 0; index[0] < shape[0]; index[0]++)
    for (index[1] = 0; index[1] < shape[1]; index[1]++) {
      same = same && redist_layout_owner(&p.layout, index) == redist_layout_owner(&wanted, index);
      same = same && redist_layout_offset(&p.layout, index) == redist_layout_offset(&wanted, index);
    }
  test_case(same, "%s is what the builders make", text);
}

static void check_meanings(void) {
  const int64_t shape[2] = {6, 10}, odd[2] = {5, 4}, cuts[4] = {0, 1, 7, 10};
  const int ranks[6] = {5, 3, 1, 0, 2, 4};
  redist_layout x =
      redist_layout_2d(redist_block(10, 3), redist_starting_at(redist_cyclic(6, 2), 1));
  check_meaning("6x10: cyclic@2 from 1, block@3; transposed", redist_transposed(x), shape);
  check_meaning("6x10: cyclic@2 from 1, block@3; transposed; ranks 5,3,1,0,2,4",
                redist_on_ranks(redist_transposed(x), ranks), shape);
  check_meaning(
      "6x10: cyclic@2 from 1, block@3 halo(1,2); axes(1,0); memory column-major; from rank 2",
      redist_from_rank(redist_memory_order(redist_transposed(redist_with_halo(x, 0, 1, 2)),
                                           REDIST_COLUMN_MAJOR),
                       2),
      shape);
  x = redist_layout_2d(redist_cuts(cuts, 3), redist_block_cyclic(12, 3, 2));
  x = redist_section(redist_section(x, 0, 9, 5, -2), 1, 1, 4, 3);
  check_meaning("5x4: cuts(0,1,7,10) [9:5:-2 of 10], cyclic(3)@2 [1:4:3 of 12]", x, odd);
}

/* ---- mistakes, and where they are ---- */

typedef struct {
  const char *text;
  int code;
  const char *message;
} mistake;

static const mistake mistakes[] = {
    {"", REDIST_ERR_LAYOUT, "column 1: expected an extent, found the end"},
    {"  ", REDIST_ERR_LAYOUT, "column 3: expected an extent, found the end"},
    {"block@4", REDIST_ERR_LAYOUT, "column 1: expected an extent, found 'block'"},
    {"10", REDIST_ERR_LAYOUT, "column 3: expected ':' or 'x' and an extent, found the end"},
    {"10x: *", REDIST_ERR_LAYOUT, "column 4: expected an extent, found ':'"},
    {"10:", REDIST_ERR_LAYOUT,
     "column 4: expected one of '*', 'block', 'cyclic', 'balanced', 'cuts', 'owners', 'box', found the end"},
    {"10: blocks@4", REDIST_ERR_LAYOUT,
     "column 5: expected one of '*', 'block', 'cyclic', 'balanced', 'cuts', 'owners', 'box', found 'blocks'"},
    {"10: \x80", REDIST_ERR_LAYOUT,
     "column 5: expected one of '*', 'block', 'cyclic', 'balanced', 'cuts', 'owners', 'box', found byte 0x80"},
    {"100x80: block x", REDIST_ERR_LAYOUT,
     "column 15: expected '@' and the number of processes, found 'x'"},
    {"10: block@", REDIST_ERR_LAYOUT, "column 11: expected the number of processes, found the end"},
    {"10: block@-x", REDIST_ERR_LAYOUT, "column 11: expected the number of processes, found '-x'"},
    {"10: cyclic(x)@2", REDIST_ERR_LAYOUT, "column 12: expected the size of a block, found 'x'"},
    {"10: cyclic(3@2", REDIST_ERR_LAYOUT, "column 13: expected ')', found '@'"},
    {"10: cuts 0,10", REDIST_ERR_LAYOUT, "column 10: expected '(' and the cuts, found '0'"},
    {"10: cuts()", REDIST_ERR_LAYOUT, "column 10: expected a cut, found ')'"},
    {"10: cuts(10)", REDIST_ERR_LAYOUT, "column 12: expected ',' and a second cut, found ')'"},
    {"10: cuts(0,10", REDIST_ERR_LAYOUT, "column 14: expected ')' or ',' and a cut, found the end"},
    {"3: owners 0", REDIST_ERR_LAYOUT, "column 11: expected '(' and the owners, found '0'"},
    {"3: owners(0,x)@2", REDIST_ERR_LAYOUT, "column 13: expected an owner, found 'x'"},
    {"3: owners(0,1,1@2", REDIST_ERR_LAYOUT,
     "column 16: expected ')' or ',' and an owner, found '@'"},
    {"3: owners(0,1,1)", REDIST_ERR_LAYOUT,
     "column 17: expected '@' and the number of processes, found the end"},
    {"2x4: *, owners(0,1,1)@2", REDIST_ERR_LAYOUT, "column 9: 3 owners, but the extent is 4"},
    {"3: lists@2", REDIST_ERR_LAYOUT,
     "column 4: expected one of '*', 'block', 'cyclic', 'balanced', 'cuts', 'owners', 'box', "
     "found 'lists'"},
    {"12x10: *, cuts(0,9)", REDIST_ERR_LAYOUT,
     "column 11: the last cut is 9, but the extent is 10"},
    {"12x10: *, cuts(0,11)", REDIST_ERR_LAYOUT,
     "column 11: the last cut is 11, but the extent is 10"},
    {"9: cuts(0,9) [0:9 of 10]", REDIST_ERR_LAYOUT,
     "column 4: the last cut is 9, but the extent is 10"},
    {"10: * from", REDIST_ERR_LAYOUT,
     "column 11: expected the coordinate of block 0, found the end"},
    {"10: * from rank 3", REDIST_ERR_LAYOUT,
     "column 12: expected the coordinate of block 0, found 'rank'"},
    {"10: * from 0 from 0", REDIST_ERR_LAYOUT,
     "column 14: 'from' repeats or contradicts what was said before it"},
    {"10: * [", REDIST_ERR_LAYOUT, "column 8: expected the start of a section, found the end"},
    {"10: * [0 of 20]", REDIST_ERR_LAYOUT,
     "column 10: expected ':' and the count of a section, found 'of'"},
    {"10: * [0:10:x of 20]", REDIST_ERR_LAYOUT,
     "column 13: expected the step of a section, found 'x'"},
    {"10: * [0:10]", REDIST_ERR_LAYOUT,
     "column 12: expected 'of' and the extent of the whole axis, found ']'"},
    {"10: * [0:10 of 20", REDIST_ERR_LAYOUT, "column 18: expected ']', found the end"},
    {"10: * [0:5 of 20]", REDIST_ERR_LAYOUT,
     "column 10: a section of 5 indices, where the extent in front is 10"},
    {"10: * halo 1", REDIST_ERR_LAYOUT,
     "column 12: expected '(' and the width of a halo, found '1'"},
    {"10: * halo(1,)", REDIST_ERR_LAYOUT, "column 14: expected the width of a halo, found ')'"},
    {"10: * halo(1,1,1)", REDIST_ERR_LAYOUT, "column 15: expected ')', found ','"},
    {"10: * halo(1) closed depth", REDIST_ERR_LAYOUT,
     "column 27: expected '(' and the depth of ghost cells, found the end"},
    {"10: * halo(1) closed depth(1,", REDIST_ERR_LAYOUT,
     "column 30: expected the depth of ghost cells, found the end"},
    {"10: * halo(1) closed depth(1) depth(1)", REDIST_ERR_LAYOUT,
     "column 31: 'depth' repeats or contradicts what was said before it"},
    {"10x10: *, * halo(1) depth(1)", REDIST_ERR_LAYOUT,
     "column 11: a depth of ghost cells, but not 'periodic' or 'closed'"},
    {"10: box; boxes 0:10; partial; partial", REDIST_ERR_LAYOUT,
     "column 31: 'partial' repeats or contradicts what was said before it"},
    {"10: * halo(1) closed; without edges", REDIST_ERR_LAYOUT,
     "column 31: expected 'corners', found 'edges'"},
    {"10: * halo(1); without corners", REDIST_ERR_LAYOUT,
     "no axis has ghost cells, but redist_with_ghosts comes before redist_without_corners"},
    {"24: *; reshaped 4x", REDIST_ERR_LAYOUT, "column 19: expected a length, found the end"},
    {"24: *; reshaped 4x6; reshaped 6x4", REDIST_ERR_LAYOUT,
     "column 22: 'reshaped' repeats or contradicts what was said before it"},
    {"24: *; reshaped 4x5", REDIST_ERR_SHAPE,
     "a view of 24 elements is reshaped to other than so many"},
    {"4x6: *, *; reshaped 3x8", REDIST_ERR_SHAPE,
     "axis 0: the axis is merged by the length 6 and split by 8: neither divides the other"},
    {"10: * allocated(", REDIST_ERR_LAYOUT,
     "column 17: expected the allocated extent, found the end"},
    {"10x10: block@2", REDIST_ERR_LAYOUT,
     "column 15: expected ',' and axis 1 of 2, or one of 'from', '[', 'halo', 'allocated', 'periodic', 'closed', "
     "'depth', found the end"},
    {"10: *, *", REDIST_ERR_LAYOUT,
     "column 6: expected ';' and an option, the end, or one of 'from', '[', 'halo', 'allocated', 'periodic', 'closed', "
     "'depth', found ','"},
    {"10: *;", REDIST_ERR_LAYOUT,
     "column 7: expected one of 'axes', 'transposed', 'grid', 'memory', 'from', 'ranks', 'on', 'offsets', 'replicas', 'boxes', "
     "'partial', 'without', 'reshaped', found the end"},
    {"10: *; size 3", REDIST_ERR_LAYOUT,
     "column 8: expected one of 'axes', 'transposed', 'grid', 'memory', 'from', 'ranks', 'on', 'offsets', 'replicas', 'boxes', "
     "'partial', 'without', 'reshaped', found 'size'"},
    {"10: *; from rank 3 4", REDIST_ERR_LAYOUT,
     "column 20: expected ';' and an option, or the end, found '4'"},
    {"10: *; from 3", REDIST_ERR_LAYOUT,
     "column 13: expected 'rank' and the first rank, found '3'"},
    {"10: *; grid", REDIST_ERR_LAYOUT,
     "column 12: expected 'row-major' or 'column-major', found the end"},
    {"10: *; memory column", REDIST_ERR_LAYOUT,
     "column 15: expected 'row-major' or 'column-major', found 'column'"},
    {"10: *; axes 0", REDIST_ERR_LAYOUT,
     "column 13: expected '(' and the array's own axes, found '0'"},
    {"10x9: *, *; axes(0)", REDIST_ERR_LAYOUT, "column 19: expected ',' and an axis, found ')'"},
    {"10x9: *, *; axes(0,1,2)", REDIST_ERR_LAYOUT, "column 21: expected ')', found ','"},
    {"10: *; axes(0); transposed", REDIST_ERR_LAYOUT,
     "column 17: 'transposed' repeats or contradicts what was said before it"},
    {"10: *; ranks", REDIST_ERR_LAYOUT, "column 13: expected a rank, found the end"},
    {"10: block@2; ranks 0,1; from rank 1", REDIST_ERR_LAYOUT,
     "column 25: 'from' repeats or contradicts what was said before it"},
    {"10: block@2; ranks 0,1,2", REDIST_ERR_LAYOUT, "column 20: 3 ranks for a grid of 2 places"},
    {"10: block@2; ranks 0", REDIST_ERR_LAYOUT, "column 20: 1 ranks for a grid of 2 places"},
    {"10: block@2; on 0 1 2", REDIST_ERR_LAYOUT, "column 17: 3 ranks for a grid of 2 places"},
    {"10: block@2; on 0 1; offsets 5", REDIST_ERR_LAYOUT,
     "column 30: 1 offsets for a grid of 2 places"},
    {"10: block@2; offsets 0,1; offsets 0,1", REDIST_ERR_LAYOUT,
     "column 27: 'offsets' repeats or contradicts what was said before it"},
    {"9223372036854775808: *", REDIST_ERR_LAYOUT,
     "column 1: '9223372036854775808' does not fit an int64_t"},
    {"1: * [-9223372036854775809:1 of 1]", REDIST_ERR_LAYOUT,
     "column 7: '-9223372036854775809' does not fit an int64_t"},
    {"10: block@2147483648", REDIST_ERR_LAYOUT, "column 11: '2147483648' does not fit an int"},
    {"10: *; ranks -2147483649", REDIST_ERR_LAYOUT, "column 14: '-2147483649' does not fit an int"},
    {"1x1x1x1x1x1x1x1x1: *", REDIST_ERR_LAYOUT, "column 17: more than 8 axes"},
    /* well written, but no layout */
    {"-10: *", REDIST_ERR_LAYOUT, "axis 0: extent is -10, must be at least 0"},
    {"9223372036854775807: *", REDIST_ERR_OVERFLOW,
     "axis 0: extent is 9223372036854775807, must be at least 0 and at most 4611686018427387904"},
    {"10x10: *, block@0", REDIST_ERR_LAYOUT,
     "axis 1: the number of processes is 0, must be at least 1"},
    {"10: cyclic(0)@2", REDIST_ERR_LAYOUT, "axis 0: block is 0, must be at least 1"},
    {"10: block@2 from 2", REDIST_ERR_LAYOUT,
     "axis 0: the coordinate of block 0 is 2, must be at least 0 and at most 1"},
    {"3: owners(0,1,2)@2", REDIST_ERR_LAYOUT,
     "axis 0: the owner of index 2 is 2, must be at least 0 and at most 1"},
    {"2x3: *, owners(0,-1,2)@2", REDIST_ERR_LAYOUT,
     "axis 1: the owner of index 1 is -1, must be at least 0 and at most 1"},
    {"10: cuts(0,11,10)", REDIST_ERR_LAYOUT,
     "axis 0: cuts must start at 0 and never fall, but one is 10"},
    {"5: * [0:5:0 of 20]", REDIST_ERR_LAYOUT, "axis 0: the step of a section is 0, must not be 0"},
    {"5: * [0:5:9 of 20]", REDIST_ERR_LAYOUT,
     "axis 0: the count of a section is 5, must be at least 0 and at most 3"},
    {"5: * [-9223372036854775808:5 of 20]", REDIST_ERR_LAYOUT,
     "axis 0: the start of a section is -9223372036854775808, must be at least 0 and at most 19"},
    {"10: * halo(-1)", REDIST_ERR_LAYOUT,
     "axis 0: a halo is -1, must be at least 0 and at most 4611686018427387904"},
    {"10x9: *, * halo(2,1) periodic depth(3,0)", REDIST_ERR_LAYOUT,
     "axis 1: the depth of low ghost cells is 3, must be at least 0 and at most 2"},
    {"10x9: *, * halo(2,1) periodic depth(0,-1)", REDIST_ERR_LAYOUT,
     "axis 1: the depth of high ghost cells is -1, must be at least 0 and at most 1"},
    {"10: *; partial", REDIST_ERR_LAYOUT, "only boxes may be partial"},
    {"10: * allocated(-9223372036854775808)", REDIST_ERR_LAYOUT,
     "axis 0: the allocated extent is -9223372036854775808, must be at least 0"},
    {"10x9: block@0, *; axes(1,0)", REDIST_ERR_LAYOUT,
     "axis 0: the number of processes is 0, must be at least 1"},
    {"10: block@2; replicas 2, 3", REDIST_ERR_LAYOUT,
     "column 24: expected ';' and an option, or the end, found ','"},
    {"10: block@2; replicas 2; replicas 3", REDIST_ERR_LAYOUT,
     "column 26: 'replicas' repeats or contradicts what was said before it"},
    {"10: block@2; replicas 2; ranks 0,1", REDIST_ERR_LAYOUT,
     "column 32: 2 ranks for a grid of 4 places"},
    {"10: block@2; replicas 0", REDIST_ERR_LAYOUT,
     "the number of replicas is 0, must be at least 1"},
    {"10: block@2; replicas 2147483647", REDIST_ERR_OVERFLOW,
     "the number of replicas is 2147483647, must be at least 1 and at most 1073741823"},
    {"4: box; replicas 2147483647; boxes 0:2, 2:4", REDIST_ERR_OVERFLOW,
     "the number of replicas is 2147483647, must be at least 1 and at most 1073741823"},
    {"4: box; from rank 2147483646; boxes 0:2, 2:4", REDIST_ERR_RANK,
     "the first rank is 2147483646, must be at least 0 and at most 2147483645"},
    {"4: box from 1; boxes 0:2, 2:4", REDIST_ERR_LAYOUT,
     "axis 0: the coordinate of block 0 is 1, must be at least 0 and at most 0"},
    {"10: cyclic@2147483647 from 2000000000; boxes 0:5, 5:10", REDIST_ERR_LAYOUT,
     "column 55: 0 of 1 axes are 'box', and boxes are listed: all or none must be"},
    {"10: cyclic@9 from 8; boxes 0:5, 5:10", REDIST_ERR_LAYOUT,
     "column 37: 0 of 1 axes are 'box', and boxes are listed: all or none must be"},
    {"10: cyclic@9 from 8 halo(1) closed; boxes 0:5, 5:10; grid diagonal", REDIST_ERR_LAYOUT,
     "column 59: expected 'row-major' or 'column-major', found 'diagonal'"},
    {"10: block@2; from rank 2147483640; replicas 4", REDIST_ERR_RANK,
     "the first rank is 2147483640, must be at least 0 and at most 2147483639"},
    {"10: block@2; ranks 0,1,2,1; replicas 2", REDIST_ERR_RANK,
     "two replicas of place 1 are on rank 1"},
    {"10x9: *, *; axes(1,1)", REDIST_ERR_LAYOUT,
     "axis 1: a permutation names axis 1, outside the layout or twice"},
    {"10x9: *, *; axes(-2147483648,2147483647)", REDIST_ERR_LAYOUT,
     "axis 0: a permutation names axis -2147483648, outside the layout or twice"},
    {"10: block@2; ranks 1,-1", REDIST_ERR_RANK,
     "a rank is -1, must be at least 0 and at most 2147483647"},
    {"10: block@2; from rank -1", REDIST_ERR_RANK,
     "the first rank is -1, must be at least 0 and at most 2147483645"},
    {"9x9: block@99999, block@99999", REDIST_ERR_OVERFLOW,
     "the process grid has more than INT_MAX places"},
};

static void check_mistakes(void) {
  static parsed p;
  size_t k;
  for (k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
    parse(mistakes[k].text, &p);
    test_case(p.code == mistakes[k].code && strcmp(p.message, mistakes[k].message) == 0,
              "%s: code %d, %s", mistakes[k].text, p.code, p.message);
    test_case(redist_layout_check(&p.layout) != REDIST_OK, "%s: the layout is refused afterwards",
              mistakes[k].text);
  }
}

/* Words of version 0.3: where each stands, the sentence lists today's. */
static void check_old_words(void) {
  static const char *const old[][3] = {{"8x6: block@2 extent(12), *", "found 'extent'",
                                        "'allocated'"},
                                       {"10: block@2; copies 2", "found 'copies'", "'replicas'"}};
  static parsed p;
  size_t k;
  for (k = 0; k < sizeof old / sizeof old[0]; k++) {
    parse(old[k][0], &p);
    test_case(p.code == REDIST_ERR_LAYOUT && strstr(p.message, old[k][1]) != NULL &&
                  strstr(p.message, old[k][2]) != NULL,
              "%s: code %d, %s", old[k][0], p.code, p.message);
  }
}

/* ---- memory that the caller gives ---- */

static void check_storage(void) {
  struct {
    char before;
    int64_t numbers[3];
  } member;
  static const char text[] = "9x4: cuts(0,3,9), cuts(0,1,2,4); ranks 3,1,5,0,2,4";
  const size_t needed = 7 * sizeof(int64_t) + 6 * sizeof(int);
  redist_layout x;
  char message[128], wanted[128];
  int64_t storage[16];
  size_t bytes;
  snprintf(wanted, sizeof wanted, "the cuts and ranks need %lu bytes of storage",
           (unsigned long)needed);
  for (bytes = 0; bytes < needed; bytes++) {
    /* so that a sanitizer sees what is written beyond */
    int64_t *exact = (int64_t *)malloc(bytes + 1);
    int code = redist_layout_parse(text, &x, exact, bytes, message, sizeof message);
    test_case(code == REDIST_ERR_MEMORY && strcmp(message, wanted) == 0, "%d bytes: code %d, %s",
              (int)bytes, code, message);
    test_case(redist_layout_check(&x) != REDIST_OK, "%d bytes: the layout is refused", (int)bytes);
    free(exact);
  }
  test_case(redist_layout_parse(text, &x, storage, needed, NULL, 0) == REDIST_OK,
            "just enough storage");
  test_case(redist_layout_parse(text, &x, NULL, 1000, NULL, 0) == REDIST_ERR_MEMORY, "no storage");
  test_case(redist_layout_parse("9: block@3", &x, NULL, 0, NULL, 0) == REDIST_OK,
            "no lists, no storage");
  test_case(redist_layout_parse_size(text) == needed &&
                redist_layout_parse_size("9: block@3") == 0 && redist_layout_parse_size("") == 0 &&
                redist_layout_parse_size(NULL) == 0,
            "the storage of a text: %lu bytes", (unsigned long)redist_layout_parse_size(text));
  test_case(redist_layout_parse("9: cuts(0,3", &x, NULL, 0, NULL, 0) == REDIST_ERR_LAYOUT,
            "a mistake is reported before a lack");
  test_case(redist_layout_parse(text, &x, (char *)storage + 1, 100, message, sizeof message) ==
                    REDIST_ERR_ARGUMENT &&
                strstr(message, "storage must be aligned to ") == message,
            "storage out of line");
  test_case(redist_layout_parse("9: cuts(0,3,9)", &x, member.numbers, sizeof member.numbers, NULL,
                                0) == REDIST_OK,
            "storage as a compiler aligns it");
}

static void check_arguments(void) {
  redist_layout x;
  char message[64] = "old", little[12];
  test_case(redist_layout_parse(NULL, &x, NULL, 0, message, sizeof message) ==
                    REDIST_ERR_ARGUMENT &&
                strcmp(message, "the text or the layout is NULL") == 0,
            "no text");
  test_case(redist_layout_check(&x) != REDIST_OK, "no text: the layout is refused");
  test_case(redist_layout_parse("7: *", NULL, NULL, 0, message, sizeof message) ==
                REDIST_ERR_ARGUMENT,
            "no layout");
  test_case(redist_layout_parse(NULL, NULL, NULL, 0, NULL, 9) == REDIST_ERR_ARGUMENT,
            "nothing at all");
  test_case(redist_layout_parse("7: *", &x, NULL, 0, message, sizeof message) == REDIST_OK &&
                message[0] == '\0',
            "no message when all is well");
  test_case(redist_layout_parse("7; *", &x, NULL, 0, little, sizeof little) == REDIST_ERR_LAYOUT &&
                strcmp(little, "column 2: e") == 0,
            "a message cut short");
  test_case(redist_layout_parse("7; *", &x, NULL, 0, little, 1) == REDIST_ERR_LAYOUT &&
                little[0] == '\0',
            "no room at all");
  test_case(redist_layout_parse("7; *", &x, NULL, 0, NULL, 100) == REDIST_ERR_LAYOUT,
            "a mistake, no message");
}

static void check_format(void) {
  redist_layout x = redist_layout_2d(redist_block(100, 4), redist_whole(8)),
                bad = redist_layout_1d(redist_block(7, 0));
  static const char whole[] = "100x8: block@4, *";
  char text[sizeof whole + 1];
  size_t size;
  for (size = 1; size <= sizeof text; size++) {
    memset(text, '#', sizeof text);
    test_case(redist_layout_format(&x, text, size) == (int64_t)sizeof whole - 1 &&
                  strncmp(text, whole, size - 1) == 0 &&
                  strlen(text) == (size < sizeof whole ? size - 1 : sizeof whole - 1) &&
                  (size == sizeof text || text[size] == '#'),
              "format into %d bytes", (int)size);
  }
  test_case(redist_layout_format(&x, NULL, 0) == (int64_t)sizeof whole - 1, "format into nothing");
  test_case(redist_layout_format(&x, NULL, 9) == (int64_t)sizeof whole - 1, "format into NULL");
  test_case(redist_layout_format(NULL, text, sizeof text) == -1 && text[0] == '\0', "format NULL");
  test_case(redist_layout_format(&bad, text, sizeof text) == -1 && text[0] == '\0',
            "format a bad layout");
}

/* 3000 cuts and 2999 ranks: longer than any fixed buffer. */
static void check_long_lists(void) {
  enum { PROCS = 2999 };
  static int64_t cuts[PROCS + 1], storage[2 * PROCS];
  static int ranks[PROCS];
  static char text[60000], again[60000];
  redist_layout x, y;
  int k, code;
  for (k = 0; k < PROCS; k++) {
    cuts[k + 1] = cuts[k] + k % 7;
    ranks[k] = PROCS * 3 - k;
  }
  x = redist_on_ranks(redist_layout_1d(redist_cuts(cuts, PROCS)), ranks);
  test_case(redist_layout_format(&x, text, sizeof text) == (int64_t)strlen(text),
            "long lists: format");
  code = redist_layout_parse(text, &y, storage, sizeof storage, NULL, 0);
  redist_layout_format(&y, again, sizeof again);
  test_case(code == REDIST_OK && strcmp(text, again) == 0, "long lists: parsed");
}

/* ---- texts cut short and spoilt ---- */

/* Whatever a text is, it is a layout that prints as one that parses to the same, or it is refused
   with a sentence. */
static int sound(const char *text) {
  static parsed p, again;
  /* so that a sanitizer sees what is read beyond */
  char *exact = (char *)malloc(strlen(text) + 1);
  strcpy(exact, text);
  parse(exact, &p);
  free(exact);
  if (p.code != REDIST_OK)
    return redist_layout_check(&p.layout) != REDIST_OK && p.message[0] != '\0';
  parse(p.text, &again);
  return redist_layout_check(&p.layout) == REDIST_OK && again.code == REDIST_OK &&
         strcmp(p.text, again.text) == 0;
}

static const char long_text[] =
    "12x5x7: cuts(0,3,12,20) from 2 [1:12 of 20] halo(1,2) allocated(40), cyclic(3)@2 [9:5:-2 of 10], balanced@2; "
    "axes(2,0,1); grid column-major; memory row-major; ranks 11,10,9,8,7,6,5,4,3,2,1,0";

static void check_prefixes(void) {
  char text[sizeof long_text];
  size_t n;
  parsed *p = (parsed *)malloc(sizeof *p);
  for (n = 0; n < sizeof long_text; n++) {
    strcpy(text, long_text);
    text[n] = '\0';
    test_case(sound(text), "cut short: %s", text);
  }
  parse(long_text, p);
  test_case(p->code == REDIST_OK, "the long text: %s", p->message);
  free(p);
}

static void spoil(test_random *r, char *text, size_t size) {
  static const char *const pieces[] = {",",
                                       ";",
                                       ":",
                                       "@",
                                       "(",
                                       ")",
                                       "[",
                                       "]",
                                       "*",
                                       "x",
                                       "0",
                                       "-1",
                                       "2147483647",
                                       "9223372036854775807",
                                       "4611686018427387904",
                                       "-9223372036854775808",
                                       "block",
                                       "cuts(0,",
                                       "ranks",
                                       "from",
                                       "of",
                                       " ",
                                       "\t",
                                       "\xff",
                                       "transposed",
                                       "halo(1)",
                                       "from 2000000000",
                                       "; boxes 0:5, 5:10",
                                       "box",
                                       "closed"};
  size_t length = strlen(text), at = (size_t)test_between(r, 0, (int64_t)length);
  size_t gone = (size_t)test_between(r, 0, 3);
  const char *piece =
      test_one_in(r, 4)
          ? ""
          : pieces[test_between(r, 0, (int64_t)(sizeof pieces / sizeof pieces[0]) - 1)];
  gone = at + gone > length ? length - at : gone;
  if (length + strlen(piece) >= size) return;
  memmove(text + at + strlen(piece), text + at + gone, length - at - gone + 1);
  memcpy(text + at, piece, strlen(piece));
}

static void check_spoilt(test_random *r, int cases) {
  const int64_t last = (int64_t)(sizeof spellings / sizeof spellings[0]) - 1;
  char text[512];
  int k, times, good = 1;
  for (k = 0; k < cases && good; k++) {
    strcpy(text, test_one_in(r, 2) ? long_text : spellings[test_between(r, 0, last)].written);
    for (times = (int)test_between(r, 1, 4); times > 0; times--) spoil(r, text, sizeof text);
    good = sound(text);
  }
  test_case(good, "spoilt: %s", text);
}

int main(int argc, char **argv) {
  const int hundreds = argc > 1 ? atoi(argv[1]) : 40;
  test_random r = {8};
  int number;
  for (number = 0; number < 100 * hundreds; number++) check_round_trip(&r, number);
  check_spellings();
  check_meanings();
  check_mistakes();
  check_old_words();
  check_storage();
  check_arguments();
  check_format();
  check_long_lists();
  check_prefixes();
  for (number = 0; number < 2 * hundreds; number++) check_spoilt(&r, 500);
  return test_report("parse");
}
