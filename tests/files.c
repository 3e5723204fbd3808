/* redist tests: arrays written to files and read from there by the datatypes of a layout, against
   files that one process writes and reads byte by byte. MIT licence, see LICENSE. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "hooks.h"

#include "oracle.h"

#include "redist_plan.h"
#include "test_mpi.h"

enum { SIZES = 6, MOST_ARRAYS = 2, MOST_HEADER = 40, MOST_BOXES = 12 };

static const size_t sizes[SIZES] = {1, 2, 4, 8, 24, 7};

/* An array in the hands of these ranks: who owns element i of the view, and where in its memory. */
typedef struct {
  redist_layout layout; /* as this rank describes it */
  int64_t elements, alloc, owned, shape[TEST_DIMS];
  int owner[TEST_ELEMENTS];
  int64_t offset[TEST_ELEMENTS]; /* of this rank's elements */
  size_t bytes;
  uint64_t seed;
  int arrays, header; /* arrays: how many, one after another; header: bytes before them */
  MPI_Datatype element, file, memory;
} distributed;

/* The file is open all the time, and has lost its name. */
static struct {
  MPI_File file;
  int bytewise; /* rank 0's descriptor */
} disk;

static void open_disk(void) {
  char name[200] = "";
  int status;
  if (test_rank() == 0) {
    const char *where = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/redist_files.XXXXXX", where == NULL ? "/tmp" : where);
    disk.bytewise = mkstemp(name);
  }
  MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  status = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &disk.file);
  test_sum(0);
  if (test_rank() == 0) unlink(name);
  if (status != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- what the types must be ---- */

static int has_bounds(MPI_Datatype type, MPI_Count extent, MPI_Count size) {
  MPI_Count lower = -1, length = -1, bytes = -1;
  MPI_Type_get_extent_x(type, &lower, &length);
  MPI_Type_size_x(type, &bytes);
  return lower == 0 && length == extent && bytes == size;
}

enum { MOST_LEVELS = 14 }; /* MPICH's device ch3 takes 15 with the element's, then it aborts */

/* The number of types within each other. *displaced counts the structs whose first part is not at
   0: MPICH 4.2 aborts in MPI_File_write_all and MPI_File_read_all if their parts follow each
   other. */
static int levels_of(MPI_Datatype type, int *displaced) {
  int integers, addresses, types, combiner, kind, levels = 0, k;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (types > 0) {
    int *numbers = malloc((size_t)integers * sizeof *numbers + 1);
    MPI_Aint *at = malloc((size_t)addresses * sizeof *at + 1), begin, extent;
    MPI_Datatype *part = malloc((size_t)types * sizeof *part);
    MPI_Type_get_contents(type, integers, addresses, types, numbers, at, part);
    MPI_Type_get_true_extent(part[0], &begin, &extent);
    *displaced += combiner == MPI_COMBINER_STRUCT && at[0] + begin != 0;
    for (k = 0; k < types; k++) {
      const int below = levels_of(part[k], displaced);
      levels = below > levels ? below : levels;
      MPI_Type_get_envelope(part[k], &integers, &addresses, &integers, &kind);
      if (kind != MPI_COMBINER_NAMED) MPI_Type_free(&part[k]);
    }
    free(numbers);
    free(at);
    free(part);
  }
  return levels + (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_DUP &&
                   combiner != MPI_COMBINER_RESIZED);
}

/* Whether a type takes this rank's elements out of `from`, in the order of the file. */
static int takes_in_order(const distributed *x, const unsigned char *from, MPI_Datatype type) {
  unsigned char *packed = malloc((size_t)x->owned * x->bytes + 1), *at = packed;
  int64_t i;
  size_t b;
  int good = 1;
  if (x->owned > 0)
    MPI_Sendrecv(from, 1, type, 0, 0, packed, (int)x->owned, x->element, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  for (i = 0; i < x->elements; i++)
    for (b = 0; x->owner[i] == test_rank() && b < x->bytes; b++)
      good &= *at++ == test_byte(x->seed, i, b);
  free(packed);
  return good;
}

/* ---- contents ---- */

/* The elements of the view where they lie in this rank's arrays, between bytes of `background`. */
static unsigned char *make_arrays(const distributed *x, int hold) {
  const size_t bytes = (size_t)x->alloc * x->bytes;
  unsigned char *arrays = malloc((size_t)x->arrays * bytes + 1);
  int64_t i;
  size_t b;
  int k;
  for (b = 0; b < (size_t)x->arrays * bytes; b++)
    arrays[b] = test_byte(x->seed + 17, test_rank(), b);
  for (k = 0; k < x->arrays && hold; k++)
    for (i = 0; i < x->elements; i++)
      for (b = 0; x->owner[i] == test_rank() && b < x->bytes; b++)
        arrays[(size_t)k * bytes + (size_t)x->offset[i] * x->bytes + b] =
            test_byte(x->seed + (uint64_t)k, i, b);
  return arrays;
}

static size_t file_bytes(const distributed *x) {
  return (size_t)x->header + (size_t)x->arrays * (size_t)x->elements * x->bytes;
}

/* The file as one process writes it. */
static unsigned char *make_file(const distributed *x) {
  unsigned char *file = malloc(file_bytes(x) + 1), *at = file;
  int64_t i;
  size_t b;
  int k;
  for (k = 0; k < x->header; k++) *at++ = (unsigned char)k;
  for (k = 0; k < x->arrays; k++)
    for (i = 0; i < x->elements; i++)
      for (b = 0; b < x->bytes; b++) *at++ = test_byte(x->seed + (uint64_t)k, i, b);
  return file;
}

/* ---- files ---- */

/* Rank 0 makes the file begin with these bytes, and end there. */
static void prepare_file(const unsigned char *contents, size_t bytes) {
  if (test_rank() == 0 && (ftruncate(disk.bytewise, 0) != 0 ||
                           pwrite(disk.bytewise, contents, bytes, 0) != (ssize_t)bytes))
    MPI_Abort(MPI_COMM_WORLD, 1);
  test_sum(0);
}

/* Whether rank 0 finds these bytes in the file, and no more. */
static int file_is(const unsigned char *contents, size_t bytes) {
  unsigned char *found = malloc(bytes + 2);
  int good;
  test_sum(0);
  good = test_rank() != 0 || (pread(disk.bytewise, found, bytes + 1, 0) == (ssize_t)bytes &&
                              memcmp(found, contents, bytes) == 0);
  free(found);
  return good;
}

static int set_view(const distributed *x) {
  return MPI_File_set_view(disk.file, x->header, x->element, x->file, "native", MPI_INFO_NULL) ==
         MPI_SUCCESS;
}

static int writes(const distributed *x, const unsigned char *file) {
  unsigned char *arrays = make_arrays(x, 1);
  int good;
  prepare_file(file, (size_t)x->header);
  good = set_view(x) && MPI_File_write_all(disk.file, arrays, x->arrays, x->memory,
                                           MPI_STATUS_IGNORE) == MPI_SUCCESS;
  free(arrays);
  return file_is(file, file_bytes(x)) && good;
}

static int reads(const distributed *x, const unsigned char *file) {
  unsigned char *arrays = make_arrays(x, 0), *expected = make_arrays(x, 1);
  int good;
  prepare_file(file, file_bytes(x));
  good = set_view(x) && MPI_File_read_all(disk.file, arrays, x->arrays, x->memory,
                                          MPI_STATUS_IGNORE) == MPI_SUCCESS;
  good = memcmp(arrays, expected, (size_t)x->arrays * (size_t)x->alloc * x->bytes) == 0 && good;
  free(arrays);
  free(expected);
  return good;
}

enum {
  CODE = 1,
  BOUNDS = 2,
  MEMORY_ORDER = 4,
  FILE_ORDER = 8,
  WRITTEN = 16,
  READ = 32,
  STRUCTS = 64,
  LEVELS = 128
};

/* Returns what is wrong. */
static int judge(distributed *x) {
  const MPI_Count size = (MPI_Count)((size_t)x->owned * x->bytes);
  unsigned char *file = make_file(x), *arrays = make_arrays(x, 1);
  const int code = redist_layout_types(&x->layout, test_rank(), x->element, &x->file, &x->memory);
  int wrong = 0, displaced = 0;
  if (test_sum(code != REDIST_OK) == 0) {
    if (!has_bounds(x->file, (MPI_Count)((size_t)x->elements * x->bytes), size) ||
        !has_bounds(x->memory, (MPI_Count)((size_t)x->alloc * x->bytes), size))
      wrong |= BOUNDS;
    wrong |= takes_in_order(x, arrays, x->memory) ? 0 : MEMORY_ORDER;
    wrong |= takes_in_order(x, file + x->header, x->file) ? 0 : FILE_ORDER;
    wrong |= levels_of(x->file, &displaced) <= MOST_LEVELS ? 0 : LEVELS;
    wrong |= levels_of(x->memory, &displaced) <= MOST_LEVELS ? 0 : LEVELS;
    wrong |= displaced == 0 ? 0 : STRUCTS;
    wrong |= writes(x, file) ? 0 : WRITTEN;
    wrong |= reads(x, file) ? 0 : READ;
  } else {
    wrong = CODE;
  }
  if (x->file != MPI_DATATYPE_NULL) MPI_Type_free(&x->file);
  if (x->memory != MPI_DATATYPE_NULL) MPI_Type_free(&x->memory);
  free(file);
  free(arrays);
  return wrong;
}

static void check(test_random *r, distributed *x, const char *what, int number) {
  const int64_t blocks = live_blocks;
  int wrong;
  x->bytes = sizes[test_between(r, 0, SIZES - 1)];
  x->seed = test_next(r) % 100000;
  x->arrays = (int)test_between(r, 1, MOST_ARRAYS);
  x->header = (int)test_between(r, 0, MOST_HEADER);
  /* of places and parts: MPICH 4.0 writes structs of structs wrongly that it packs rightly */
  test_max_count = what[0] != 'p' && test_one_in(r, 3) ? test_between(r, 1, 5) : INT32_MAX;
  MPI_Type_contiguous((int)x->bytes, MPI_BYTE, &x->element);
  MPI_Type_commit(&x->element);
  wrong = judge(x);
  test_case_all(wrong == 0 && live_blocks == blocks,
                "%s %d, %d arrays of %d elements of %d bytes: rank %d has %d of them: wrong %d",
                what, number, x->arrays, (int)x->elements, (int)x->bytes, test_rank(),
                (int)x->owned, wrong);
  MPI_Type_free(&x->element);
  test_max_count = INT32_MAX;
}

/* ---- regular layouts, seen in any way ---- */

static void check_regular(test_random *r, test_array *array, test_table *t, distributed *x, int k) {
  int64_t i;
  int ndim = test_draw_shape(r, TEST_MEDIUM, x->shape), mine;
  test_draw(r, test_size(), k % 3 == 1 ? TEST_OWN_EXTENTS | TEST_RESHAPES : TEST_OWN_EXTENTS, ndim,
            x->shape, array);
  test_tabulate(array, t);
  mine = test_place_of_rank(t, test_rank());
  x->layout = test_layout(t, test_rank());
  x->elements = t->elements;
  x->alloc = mine < 0 ? 0 : t->alloc[mine];
  x->owned = mine < 0 ? 0 : t->owned[mine];
  for (i = 0; i < t->elements; i++) {
    x->owner[i] = t->ranks[t->place[i]];
    x->offset[i] = t->offset[i];
  }
  check(r, x, array->tails > 0 ? "parts of a reshaped view," : "regular", k);
}

/* ---- boxes, ghost cells, replicas: element by element, by the queries of the layout ---- */

static void ask(distributed *x) {
  int64_t i, index[TEST_DIMS];
  int d;
  x->owned = 0;
  for (x->elements = 1, d = 0; d < x->layout.ndim; d++) x->elements *= x->shape[d];
  for (i = 0; i < x->elements; i++) {
    int64_t rest = i;
    for (d = x->layout.ndim - 1; d >= 0; d--) {
      index[d] = rest % x->shape[d];
      rest /= x->shape[d];
    }
    x->owner[i] = redist_layout_owner(&x->layout, index);
    x->offset[i] = redist_layout_offset(&x->layout, index);
    x->owned += x->owner[i] == test_rank();
  }
  x->alloc = redist_layout_local_size(&x->layout, test_rank());
}

/* Cuts boxes in two until there are enough. */
static void draw_boxes(test_random *r, int ndim, const int64_t *shape, int boxes, redist_box *box) {
  int made, d;
  memset(box, 0, (size_t)boxes * sizeof *box);
  memcpy(box[0].high, shape, (size_t)ndim * sizeof *shape);
  for (made = 1; made < boxes; made++) {
    redist_box *old = &box[test_between(r, 0, made - 1)];
    d = (int)test_between(r, 0, ndim - 1);
    box[made] = *old;
    old->high[d] = box[made].low[d] = test_between(r, old->low[d], old->high[d]);
  }
}

/* Some views of x->layout. x->shape follows. */
static void draw_views(test_random *r, distributed *x) {
  const int ndim = x->layout.ndim;
  int k;
  for (k = (int)test_between(r, 0, 3); k > 0; k--) {
    const int d = (int)test_between(r, 0, ndim - 1), last = ndim - 1 - d;
    const int64_t swapped = x->shape[d];
    switch (test_between(r, 0, 3)) {
    case 0: x->layout = redist_flipped(x->layout, d); break;
    case 1:
      if (x->shape[d] > 2) {
        x->layout = redist_section(x->layout, d, 1, (x->shape[d] - 1) / 2, 2);
        x->shape[d] = (x->shape[d] - 1) / 2;
      }
      break;
    case 2: x->layout = redist_memory_order(x->layout, REDIST_COLUMN_MAJOR); break;
    default:
      if (ndim == 2) {
        x->layout = redist_transposed(x->layout);
        x->shape[d] = x->shape[last];
        x->shape[last] = swapped;
      }
    }
  }
}

static void check_boxes(test_random *r, distributed *x, int k) {
  redist_box box[TEST_PLACES];
  const int boxes = (int)test_between(r, 1, test_size());
  int d, ndim = (int)test_between(r, 1, 3);
  for (d = 0; d < ndim; d++) x->shape[d] = test_between(r, 1, ndim == 1 ? 300 : 14);
  draw_boxes(r, ndim, x->shape, boxes, box);
  x->layout = redist_layout_boxes(ndim, x->shape, boxes, box);
  if (test_one_in(r, 2))
    x->layout = redist_with_halo(x->layout, 0, test_between(r, 0, 2), test_between(r, 0, 2));
  x->layout = redist_from_rank(x->layout, (int)test_between(r, 0, test_size() - boxes));
  draw_views(r, x);
  ask(x);
  check(r, x, "boxes", k);
}

/* Blocks with ghost cells that hold elements, in several replicas. */
static void check_ghosts(test_random *r, distributed *x, int k) {
  int copies = (int)test_between(r, 1, test_size()), procs = test_size() / copies, d;
  for (d = 0; d < 2; d++) x->shape[d] = test_between(r, 2, 30);
  x->layout = redist_layout_2d(redist_block(x->shape[0], procs), redist_balanced(x->shape[1], 1));
  for (d = 0; d < 2; d++) {
    x->layout = redist_with_halo(x->layout, d, test_between(r, 0, 2), 1);
    x->layout =
        redist_with_ghosts(x->layout, d, test_one_in(r, 2) ? REDIST_PERIODIC : REDIST_CLOSED);
  }
  x->layout = redist_replicated(x->layout, copies);
  draw_views(r, x);
  ask(x);
  check(r, x, "ghosts", k);
}

/* Several places on a rank, of cyclic axes or of boxes, one after another or from the last to the
   first. */
static void check_places(test_random *r, distributed *x, int k) {
  enum { PLACES = 8 };
  redist_box box[PLACES];
  int ranks[PLACES], places = (int)test_between(r, 1, PLACES), d, i;
  const int listed = test_one_in(r, 2), rows = places % 2 == 0 ? 2 : 1;
  int64_t offsets[PLACES], end = 0;
  for (d = 0; d < 2; d++) x->shape[d] = test_between(r, 1, 14);
  x->layout =
      redist_layout_2d(redist_block_cyclic(x->shape[0], test_between(r, 1, 3), rows),
                       redist_block_cyclic(x->shape[1], test_between(r, 1, 3), places / rows));
  if (test_one_in(r, 2)) {
    draw_boxes(r, 2, x->shape, places, box);
    x->layout = redist_layout_boxes(2, x->shape, places, box);
  }
  x->layout = redist_with_halo(x->layout, 1, test_between(r, 0, 2), test_between(r, 0, 2));
  for (i = 0; i < places; i++) ranks[i] = (int)test_between(r, 0, test_size() - 1);
  x->layout = redist_on_ranks(x->layout, ranks);
  for (i = places - 1; i >= 0; i--) {
    redist_shape shape;
    redist_layout_place_shape(&x->layout, i, &shape);
    offsets[i] = end;
    end += shape.allocated[0] * shape.allocated[1];
  }
  if (listed) x->layout = redist_at_offsets(x->layout, offsets);
  draw_views(r, x);
  ask(x);
  check(r, x, "places", k);
}

/* ---- MPI's own type of a block-cyclic array ---- */

static void check_darray(test_random *r, int number) {
  int extents[2], kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, blocks[2],
                  procs[2] = {1, 1};
  MPI_Datatype darray, file, memory;
  MPI_Aint lower, extent;
  redist_layout layout;
  int *whole, *found, i, size, good = 1, elements;
  for (i = 0; i < 2; i++) {
    extents[i] = (int)test_between(r, 1, 40);
    blocks[i] = (int)test_between(r, 1, 9);
  }
  procs[number % 2] = test_size();
  elements = extents[0] * extents[1];
  layout = redist_layout_2d(redist_block_cyclic(extents[0], blocks[0], procs[0]),
                            redist_block_cyclic(extents[1], blocks[1], procs[1]));
  MPI_Type_create_darray(test_size(), test_rank(), 2, extents, kinds, blocks, procs, MPI_ORDER_C,
                         MPI_INT, &darray);
  MPI_Type_commit(&darray);
  MPI_Type_size(darray, &size);
  good = redist_layout_types(&layout, test_rank(), MPI_INT, &file, &memory) == REDIST_OK;
  MPI_Type_get_extent(darray, &lower, &extent);
  good = good && has_bounds(file, extent, size) && has_bounds(memory, size, size);
  whole = malloc((size_t)elements * sizeof *whole);
  found = malloc(2 * (size_t)size + 1);
  for (i = 0; i < elements; i++) whole[i] = i;
  if (size > 0) {
    MPI_Sendrecv(whole, 1, darray, 0, 0, found, size, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(whole, 1, file, 0, 0, found + size / 4, size, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  }
  good = memcmp(found, found + size / 4, (size_t)size) == 0 && good;
  test_case_all(good, "darray %d: %d x %d in blocks of %d x %d", number, extents[0], extents[1],
                blocks[0], blocks[1]);
  MPI_Type_free(&darray);
  MPI_Type_free(&file);
  MPI_Type_free(&memory);
  free(whole);
  free(found);
}

/* ---- more than an int counts ---- */

static int type_is(const redist_layout *layout, MPI_Datatype element, MPI_Count size,
                   MPI_Count first, MPI_Count span) {
  MPI_Datatype file, memory;
  MPI_Count lower = -1, extent = -1, bytes = -1, others = -1;
  if (redist_layout_types(layout, test_rank(), element, &file, &memory) != REDIST_OK) return 0;
  MPI_Type_get_true_extent_x(file, &lower, &extent);
  MPI_Type_size_x(file, &bytes);
  MPI_Type_size_x(memory, &others);
  MPI_Type_free(&file);
  MPI_Type_free(&memory);
  return bytes == size && others == size && lower == first && extent == span;
}

/* MPICH's device ch3 takes minutes for a type of 2^32 parts, however few levels it has. */
static int counts_one_by_one(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "ch3:") != NULL;
}

/* A file and a rank's array of 6 GB, where MPI's addresses have 32 bits. */
static void check_small_addresses(void) {
  const int64_t n = INT64_C(3) << 31, cuts[] = {0, 1, n};
  const redist_layout one = redist_layout_1d(redist_block(n, 1));
  const redist_layout first = redist_layout_1d(redist_cuts(cuts, 2));
  MPI_Datatype file, memory;
  test_case_all(redist_layout_types(&one, 0, MPI_CHAR, &file, &memory) == REDIST_ERR_OVERFLOW &&
                    redist_layout_types(&first, 0, MPI_CHAR, &file, &memory) == REDIST_ERR_OVERFLOW,
                "more bytes than MPI's addresses can express");
}

static void check_large_counts(void) {
  const int64_t n = INT64_C(3) << 31, p = test_size(), mine = test_rank();
  const redist_layout whole = redist_layout_1d(redist_block(n * p, (int)p));
  const redist_layout rows =
      redist_layout_2d(redist_block(n * p, (int)p), redist_block_cyclic(7, 2, 1));
  const redist_layout cyclic = redist_layout_2d(redist_whole(3), redist_cyclic(n * p, (int)p));
  const redist_layout halves = redist_section(whole, 0, 0, n * p / 2, 2);
  test_case_all(type_is(&whole, MPI_CHAR, n, mine * n, n), "bytes in a row");
  test_case_all(type_is(&whole, MPI_DOUBLE, 8 * n, 8 * mine * n, 8 * n), "numbers in a row");
  test_case_all(type_is(&rows, MPI_CHAR, 7 * n, 7 * mine * n, 7 * n), "rows");
  test_case_all(type_is(&cyclic, MPI_CHAR, 3 * n, mine, 3 * n * p - p + 1), "cyclic");
  test_case_all(type_is(&halves, MPI_CHAR, n / 2, mine * n / 2, n / 2), "every other one");
}

/* The last rank writes the last bytes of a file that is longer than an int can tell; what comes
   before belongs to others, who write nothing today. */
static void check_far_away(int transposed) {
  const int64_t n = (INT64_C(5) << 30) + 3, cuts[] = {0, n - 6, n};
  const char mine[7] = "it ends";
  char found[7] = "", view[8] = "";
  redist_layout layout = redist_layout_1d(redist_cuts(cuts, 2));
  MPI_Datatype file, memory;
  const int last = test_size() - 1, ranks[2] = {last + 1, last}, own = test_rank() == last;
  int code, good;
  layout = redist_on_ranks(transposed ? redist_flipped(layout, 0) : layout, ranks);
  code = redist_layout_types(&layout, test_rank(), MPI_CHAR, &file, &memory);
  prepare_file((const unsigned char *)"", 0);
  good = code == REDIST_OK &&
         MPI_File_set_view(disk.file, 0, MPI_CHAR, file, "native", MPI_INFO_NULL) == MPI_SUCCESS;
  MPI_File_write_all(disk.file, mine, 1, memory, MPI_STATUS_IGNORE);
  test_sum(0);
  if (test_rank() == 0)
    good = good && pread(disk.bytewise, found, 7, transposed ? 0 : n - 6) == 6 &&
           memcmp(found, transposed ? "dne ti" : "it end", 6) == 0;
  MPI_File_seek(disk.file, 0, MPI_SEEK_SET);
  MPI_File_read_all(disk.file, view, 1, memory, MPI_STATUS_IGNORE);
  good = good && memcmp(view, own ? "it end" : "\0\0\0\0\0", 6) == 0;
  test_case_all(good, "the end of a long file%s", transposed ? ", flipped" : "");
  MPI_Type_free(&file);
  MPI_Type_free(&memory);
}

/* ---- bad input ---- */

static void refused(const redist_layout *layout, int rank, MPI_Datatype element, int expected,
                    const char *what) {
  MPI_Datatype file = MPI_INT, memory = MPI_INT;
  const int64_t blocks = live_blocks;
  const int code = redist_layout_types(layout, rank, element, &file, &memory);
  test_case_all(code == expected && file == MPI_DATATYPE_NULL && memory == MPI_DATATYPE_NULL &&
                    live_blocks == blocks && strlen(redist_strerror(code)) > 10,
                "%s: code %d", what, code);
}

static void check_bad_input(void) {
  const redist_layout good = redist_layout_1d(redist_block(100, 1));
  const redist_layout bad = redist_layout_1d(redist_block(100, 0));
  const redist_layout tight = redist_with_allocated(good, 0, 99);
  const redist_layout huge = redist_layout_2d(redist_whole(INT64_C(1) << 59), redist_whole(2));
  redist_layout raw;
  MPI_Datatype gaps, type;
  int k;
  memset(&raw, 0, sizeof raw);
  MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
  MPI_Type_commit(&gaps);
  refused(NULL, 0, MPI_INT, REDIST_ERR_ARGUMENT, "no layout");
  refused(&bad, 0, MPI_INT, REDIST_ERR_LAYOUT, "an invalid layout");
  refused(&raw, 0, MPI_INT, REDIST_ERR_LAYOUT, "a layout never built");
  refused(&tight, 0, MPI_INT, REDIST_ERR_LAYOUT, "an allocated extent that is too small");
  refused(&good, -1, MPI_INT, REDIST_ERR_RANK, "a negative rank");
  refused(&good, 0, gaps, REDIST_ERR_TYPE, "an element with gaps");
  refused(&good, 0, MPI_DATATYPE_NULL, REDIST_ERR_TYPE, "no element");
  refused(&huge, 0, MPI_INT64_T, REDIST_ERR_OVERFLOW, "more than 2^62 bytes");
  for (k = 0; k < 2; k++) {
    type = MPI_INT;
    test_case_all(redist_layout_types(&good, 0, MPI_INT, k == 0 ? &type : NULL,
                                      k == 0 ? NULL : &type) == REDIST_ERR_ARGUMENT &&
                      type == MPI_DATATYPE_NULL,
                  "nowhere to put a type");
  }
  MPI_Type_free(&gaps);
}

/* Memory that is exhausted at any allocation is reported, and nothing is left behind. */
static void check_memory(void) {
  const redist_layout layout =
      redist_section(redist_layout_2d(redist_block_cyclic(40, 4, 2), redist_block(9, 1)), 0, 1, 13,
                     3);
  static const int ranks[2] = {0, 0};
  const redist_layout listed = redist_on_ranks(layout, ranks);
  const int64_t blocks = live_blocks;
  MPI_Datatype file, memory;
  int64_t at;
  int code = REDIST_ERR_MEMORY, good = 1;
  for (at = 0; code == REDIST_ERR_MEMORY && good; at++) {
    until_failure = at;
    code = redist_layout_types(&listed, 0, MPI_INT, &file, &memory);
    good = live_blocks == blocks && (code == REDIST_OK || file == MPI_DATATYPE_NULL);
    if (code == REDIST_OK) {
      MPI_Type_free(&file);
      MPI_Type_free(&memory);
    }
  }
  until_failure = -1;
  test_case_all(good && code == REDIST_OK && at > 5,
                "several places, memory exhausted at any of %d allocations: code %d", (int)at,
                code);
  code = REDIST_ERR_MEMORY;
  for (at = 0; code == REDIST_ERR_MEMORY && good; at++) {
    until_failure = at;
    code = redist_layout_types(&layout, 0, MPI_INT, &file, &memory);
    good = live_blocks == blocks && (code == REDIST_OK || file == MPI_DATATYPE_NULL);
  }
  until_failure = -1;
  if (code == REDIST_OK) {
    MPI_Type_free(&file);
    MPI_Type_free(&memory);
  }
  test_case_all(good && code == REDIST_OK && at > 10, "no memory at allocation %d: code %d",
                (int)at, code);
}

/* Arguments: a seed, the number of cases. */
int main(int count, char **arguments) {
  static test_array array;
  static test_table table;
  static distributed x;
  test_random r = {1};
  int k, cases, status;
  MPI_Init(&count, &arguments);
  r.state = (uint64_t)test_size() * 1000 + (count > 1 ? (uint64_t)atoi(arguments[1]) : 0);
  cases = count > 2 ? atoi(arguments[2]) : 300;
  open_disk();
  for (k = 0; k < cases; k++) {
    check_regular(&r, &array, &table, &x, k);
    if (k % 4 == 0) check_boxes(&r, &x, k);
    if (k % 4 == 1) check_ghosts(&r, &x, k);
    if (k % 4 == 3) check_places(&r, &x, k);
    check_darray(&r, k);
  }
  if (sizeof(MPI_Aint) < sizeof(int64_t)) {
    check_small_addresses();
  } else if (!counts_one_by_one()) {
    check_large_counts();
    check_far_away(0);
    check_far_away(1);
  }
  check_bad_input();
  check_memory();
  MPI_File_close(&disk.file);
  status = test_report_all("files");
  MPI_Finalize();
  return status;
}
