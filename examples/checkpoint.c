/* Fields saved on some ranks and read on others, in other layouts. MIT licence, see LICENSE.
   mpicc -I. examples/checkpoint.c -o checkpoint && mpiexec -n 4 ./checkpoint --file fields

   Three fields of a solver on a plane of n x m points: the pressure in bricks with a halo, whose
   ghost cells must be filled when the solver continues; flags in blocks distributed round-robin,
   stored by columns; and complex amplitudes in boxes of unequal sizes. They are saved with
   datatypes, and again by a few writers: the two files are identical. With --restart the file of
   another run, on any number of ranks, is read both ways, and every element is checked, ghost cells
   included. checkpoint.h does the work; taylor_green and adi restart from such files.

   HDF5. In parallel HDF5, the elements of a place, of bricks or boxes, are one hyperslab of the
   dataset, and another of the memory. With `s` from redist_layout_shape, d counting the axes of the
   view:

       in the file:    start[d] = s.first[d], count[d] = s.count[d]
       in memory:      an array of the allocated extents, start[d] = cells of the halo below, count
                       as above, where memory is row-major and the view is not turned

       H5Sselect_hyperslab(filespace, H5S_SELECT_SET, start, NULL, count, NULL);
       H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memspace, filespace, collective, array);

   Blocks distributed round-robin are one hyperslab, too: stride[d] = block x processes, block[d] =
   block, except for a short last block, which is a second one (H5S_SELECT_OR). Where memory is
   transposed or flipped, a plan first moves the field to slabs of rows, as for the writers here. */
#include <complex.h>
#include <limits.h>
#include <math.h>

#include "checkpoint.h"
#include "options.h"

enum { FIELDS = 3, STEP = 17 };

typedef struct {
  int64_t n, m, writers;
  const char *file, *restart;
} settings;

typedef struct {
  int rank, ranks;
  redist_box *boxes;
  redist_layout stored; /* the pressure without ghosts: the owned elements */
  checkpoint_field field[FIELDS];
  int64_t room[FIELDS]; /* elements */
} solver;

static size_t bytes_of(const checkpoint_field *f) {
  int size;
  MPI_Type_size(checkpoint_element(f->type), &size);
  return (size_t)size;
}

/* Strips of unequal width; the last one extends to the end. */
static redist_layout uneven_boxes(solver *s, int64_t n, int64_t m) {
  const int64_t extents[2] = {n, m};
  s->boxes = calloc((size_t)s->ranks, sizeof *s->boxes);
  for (int k = 0; s->boxes && k < s->ranks; k++) {
    s->boxes[k].high[0] = n;
    s->boxes[k].low[1] = m * k * k / s->ranks / s->ranks;
    s->boxes[k].high[1] = m * (k + 1) * (k + 1) / s->ranks / s->ranks;
  }
  return redist_layout_boxes(2, extents, s->ranks, s->boxes);
}

static int prepare(solver *s, int64_t n, int64_t m) {
  int grid[2] = {0, 0}, ok = 1;
  MPI_Dims_create(s->ranks, 2, grid);
  redist_layout bricks = redist_layout_2d(redist_balanced(n, grid[0]), redist_balanced(m, grid[1]));
  redist_layout dealt = redist_layout_2d(redist_whole(n), redist_block_cyclic(m, 3, s->ranks));
  for (int d = 0; d < 2; d++) bricks = redist_with_halo(bricks, d, 1, 1);
  s->stored = bricks;
  for (int d = 0; d < 2; d++) bricks = redist_with_ghosts(bricks, d, REDIST_PERIODIC);
  dealt = redist_memory_order(dealt, REDIST_COLUMN_MAJOR);
  const checkpoint_field field[FIELDS] = {{"pressure", "double", bricks, NULL},
                                          {"flag", "int", dealt, NULL},
                                          {"wave", "complex", uneven_boxes(s, n, m), NULL}};
  for (int k = 0; k < FIELDS; k++) {
    s->field[k] = field[k];
    s->room[k] = redist_layout_local_size(&field[k].layout, s->rank);
    s->field[k].array = calloc((size_t)s->room[k] + 1, bytes_of(&field[k]));
    ok = ok && s->field[k].array;
  }
  return ok && s->boxes;
}

/* ---- contents ---- */

static double value(int64_t i, int64_t j) { return sin((double)i) + (double)j; }

static void set(const checkpoint_field *f, int64_t at, int64_t i, int64_t j) {
  if (strcmp(f->type, "double") == 0)
    ((double *)f->array)[at] = value(i, j);
  else if (strcmp(f->type, "int") == 0)
    ((int32_t *)f->array)[at] = (int32_t)(1000 * i + j);
  else
    ((double complex *)f->array)[at] = value(i, j) + I * value(j, i);
}

/* Sets all elements of a field on this rank; with `ghosts` also the pressure's ghost cells. */
static void fill(const solver *s, const checkpoint_field *f, int64_t n, int64_t m, int ghosts) {
  const int has_halo = strcmp(f->name, "pressure") == 0;
  const redist_layout *layout = has_halo ? &s->stored : &f->layout;
  redist_shape shape;
  int64_t index[2];
  if (has_halo && redist_layout_shape(layout, s->rank, &shape)) {
    const int around = ghosts && shape.count[0] > 0 && shape.count[1] > 0;
    for (int64_t i = -around; i < shape.count[0] + around; i++)
      for (int64_t j = -around; j < shape.count[1] + around; j++)
        set(f, shape.origin + i * shape.stride[0] + j * shape.stride[1],
            (shape.first[0] + i + n) % n, (shape.first[1] + j + m) % m);
    return;
  }
  for (index[0] = 0; index[0] < n; index[0]++)
    for (index[1] = 0; index[1] < m; index[1]++)
      if (redist_layout_owner(layout, index) == s->rank)
        set(f, redist_layout_offset(layout, index), index[0], index[1]);
}

/* Counts the wrong bytes on all ranks, and clears the arrays. */
static int64_t count_wrong(solver *s, int64_t n, int64_t m, int expected) {
  int64_t wrong = 0, all;
  for (int k = 0; k < FIELDS; k++) {
    const size_t bytes = (size_t)s->room[k] * bytes_of(&s->field[k]);
    checkpoint_field other = s->field[k];
    other.array = calloc(bytes + 1, 1);
    if (!other.array) MPI_Abort(MPI_COMM_WORLD, 1);
    if (expected) fill(s, &other, n, m, 1);
    for (size_t b = 0; b < bytes; b++)
      wrong += ((char *)other.array)[b] != ((char *)s->field[k].array)[b];
    memset(s->field[k].array, 0, bytes);
    free(other.array);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/* ---- both ways ---- */

static void report(const solver *s, const checkpoint *c, const char *what) {
  double seconds[2] = {c->filing, c->moving}, most[2];
  char way[40] = "datatypes";
  MPI_Reduce(seconds, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (c->writers > 0)
    snprintf(way, sizeof way, "%d writer%s", c->writers, c->writers > 1 ? "s" : "");
  if (s->rank == 0)
    printf("  %-8s by %-12s %8.3f ms in the file, %8.3f ms in plans\n", what, way, 1e3 * most[0],
           1e3 * most[1]);
}

static int fail(const solver *s, const char *sentence) {
  if (s->rank == 0) fprintf(stderr, "checkpoint: %s\n", sentence);
  return 1;
}

static int save(solver *s, const settings *set_to, const char *name, int writers) {
  checkpoint c;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = name;
  c.writers = writers;
  snprintf(c.note, sizeof c.note, "%lld x %lld points, step %d", (long long)set_to->n,
           (long long)set_to->m, STEP);
  for (int k = 0; k < FIELDS; k++) fill(s, &s->field[k], set_to->n, set_to->m, 0);
  if (!checkpoint_save(&c, FIELDS, s->field)) return fail(s, c.wrong);
  report(s, &c, "saved");
  for (int k = 0; k < FIELDS; k++)
    memset(s->field[k].array, 0, (size_t)s->room[k] * bytes_of(&s->field[k]));
  return 0;
}

static int load(solver *s, const settings *set_to, const char *name, int writers) {
  checkpoint c;
  int64_t wrong;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = name;
  c.writers = writers;
  if (!checkpoint_load(&c, FIELDS, s->field)) {
    fail(s, c.wrong);
    return fail(s, count_wrong(s, set_to->n, set_to->m, 0) == 0 ? "no field is touched"
                                                                : "fields are TOUCHED");
  }
  report(s, &c, "read");
  wrong = count_wrong(s, set_to->n, set_to->m, 1);
  if (s->rank == 0) printf("  %lld bytes are wrong\n", (long long)wrong);
  return wrong != 0;
}

static int run(solver *s, settings *set_to) {
  const int writers = (int)set_to->writers;
  char other[1024];
  checkpoint c;
  long long n = set_to->n, m = set_to->m;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = set_to->restart;
  if (set_to->restart && checkpoint_look(&c)) sscanf(c.note, "%lld x %lld points", &n, &m);
  set_to->n = n, set_to->m = m;
  if (!checkpoint_agree(&c, prepare(s, n, m))) return fail(s, "not enough memory");
  if (s->rank == 0)
    printf("%d fields of %lld x %lld points on %d rank%s\n", FIELDS, n, m, s->ranks,
           s->ranks > 1 ? "s" : "");
  if (set_to->restart)
    return load(s, set_to, set_to->restart, 0) || load(s, set_to, set_to->restart, writers);
  snprintf(other, sizeof other, "%s.slabs", set_to->file);
  return save(s, set_to, set_to->file, 0) || load(s, set_to, set_to->file, writers) ||
         save(s, set_to, other, writers) || load(s, set_to, other, 0);
}

int main(int argc, char **argv) {
  settings set_to = {64, 48, 2, "checkpoint.redist", NULL};
  solver s;
  int status;
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &set_to.n,
                           .least = 2,
                           .most = 32768,
                           .help = "points along the first axis (default 64)"},
                          {.name = "--m",
                           .argument = "M",
                           .integer = &set_to.m,
                           .least = 2,
                           .most = 32768,
                           .help = "points along the second (default 48)"},
                          {.name = "--writers",
                           .argument = "W",
                           .integer = &set_to.writers,
                           .least = 1,
                           .most = CHECKPOINT_WRITERS,
                           .help = "ranks that write for all (default 2)"},
                          {.name = "--file",
                           .argument = "FILE",
                           .text = &set_to.file,
                           .help = "what to write, also as FILE.slabs (default checkpoint.redist)"},
                          {.name = "--restart",
                           .argument = "FILE",
                           .text = &set_to.restart,
                           .help = "read this file instead, of any number of ranks"},
                          {.name = NULL}};
  memset(&s, 0, sizeof s);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  status = options_start(
      table, argc, argv, s.rank, "checkpoint",
      "Teaches files: fields in three layouts are saved in global order, by datatypes of their layouts and\n"
      "through a few writers, and read on any number of ranks, ghost cells included.");
  if (status < 0) status = run(&s, &set_to);
  for (int k = 0; k < FIELDS; k++) free(s.field[k].array);
  free(s.boxes);
  MPI_Finalize();
  return status;
}
