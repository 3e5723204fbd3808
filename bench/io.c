/* A block-cyclic matrix in a file: written and read with the datatypes of its layout, with those of
   MPI_Type_create_darray, and through a plan to blocks of rows, which are contiguous in the file.
   MIT licence, see LICENSE.

   The matrix is n x n doubles in blocks on a grid as square as possible; the file holds it row by
   row. Local memory is row-major, and then, as in ScaLAPACK, column-major, which darray cannot
   write to such a file. A time includes opening the file, setting the view, one collective
   transfer, closing the file, and executing the plan; the creation of datatypes and plans is listed
   separately. The files are compared byte by byte, and the data read with the data written. Figures
   are lower quartiles of the slowest rank's times. Nothing is forced to the disk: these are times
   of MPI and of the page cache. */
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "redist_plan.h"

enum { TYPES, DARRAY, PLAN, WAYS };

static const char *const way_name[WAYS] = {"redist_layout_types", "MPI_Type_create_darray",
                                           "plan to rows"};

typedef struct {
  int64_t n, block, samples;
  const char *file, *csv;
} settings;

typedef struct {
  const settings *set;
  int rank, ranks, grid[2];
  redist_layout blocks, rows;
  int64_t elements[2]; /* in blocks, in rows */
  double *array, *by_rows, *expected;
  MPI_Datatype file[WAYS], memory[WAYS];
  redist_plan *to_rows, *to_blocks;
  double preparing[WAYS];
} bench;

static void succeed(int code) {
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
}

static void carry(int code) {
  if (code != MPI_SUCCESS) give_up("MPI fails with code %d", code);
}

/* ---- preparing ---- */

static void make_darray(bench *b) {
  const int n = (int)b->set->n, block = (int)b->set->block;
  const int extents[2] = {n, n}, blocks[2] = {block, block};
  const int kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  MPI_Type_create_darray(b->ranks, b->rank, 2, extents, kinds, blocks, b->grid, MPI_ORDER_C,
                         MPI_DOUBLE, &b->file[DARRAY]);
  MPI_Type_contiguous((int)b->elements[0], MPI_DOUBLE, &b->memory[DARRAY]);
  MPI_Type_commit(&b->file[DARRAY]);
  MPI_Type_commit(&b->memory[DARRAY]);
}

static void make_plans(bench *b) {
  succeed(redist_plan_create(MPI_COMM_WORLD, &b->blocks, &b->rows, MPI_DOUBLE, NULL, &b->to_rows));
  succeed(
      redist_plan_create(MPI_COMM_WORLD, &b->rows, &b->blocks, MPI_DOUBLE, NULL, &b->to_blocks));
  succeed(redist_layout_types(&b->rows, b->rank, MPI_DOUBLE, &b->file[PLAN], &b->memory[PLAN]));
}

static void prepare(bench *b, redist_order order) {
  const settings *set = b->set;
  const redist_axis axis[2] = {redist_block_cyclic(set->n, set->block, b->grid[0]),
                               redist_block_cyclic(set->n, set->block, b->grid[1])};
  double mark[WAYS + 1];
  b->blocks = redist_memory_order(redist_layout_2d(axis[0], axis[1]), order);
  b->rows = redist_layout_2d(redist_block(set->n, b->ranks), redist_whole(set->n));
  b->elements[0] = redist_layout_local_size(&b->blocks, b->rank);
  b->elements[1] = redist_layout_local_size(&b->rows, b->rank);
  b->array = allocate((size_t)b->elements[0] * sizeof(double));
  b->by_rows = allocate((size_t)b->elements[1] * sizeof(double));
  b->expected = allocate((size_t)b->elements[0] * sizeof(double));
  for (int64_t k = 0; k < b->elements[0]; k++) b->expected[k] = (double)(b->rank * set->n + k);
  memcpy(b->array, b->expected, (size_t)b->elements[0] * sizeof(double));
  mark[0] = MPI_Wtime();
  succeed(redist_layout_types(&b->blocks, b->rank, MPI_DOUBLE, &b->file[TYPES], &b->memory[TYPES]));
  mark[1] = MPI_Wtime();
  make_darray(b);
  mark[2] = MPI_Wtime();
  make_plans(b);
  mark[3] = MPI_Wtime();
  for (int way = 0; way < WAYS; way++) b->preparing[way] = mark[way + 1] - mark[way];
  maxima(b->preparing, WAYS);
}

static void release(bench *b) {
  for (int way = 0; way < WAYS; way++) {
    MPI_Type_free(&b->file[way]);
    MPI_Type_free(&b->memory[way]);
  }
  redist_plan_free(&b->to_rows);
  redist_plan_free(&b->to_blocks);
  free(b->array), free(b->by_rows), free(b->expected);
}

/* ---- files ---- */

static const char *file_name(const bench *b, int way) {
  static char name[1024];
  snprintf(name, sizeof name, "%s.%d", b->set->file, way);
  return name;
}

static void transfer(const bench *b, int way, double *array, int writing) {
  const int mode = writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  MPI_File file;
  carry(MPI_File_open(MPI_COMM_WORLD, file_name(b, way), mode, MPI_INFO_NULL, &file));
  carry(MPI_File_set_view(file, 0, MPI_DOUBLE, b->file[way], "native", MPI_INFO_NULL));
  carry(writing ? MPI_File_write_all(file, array, 1, b->memory[way], MPI_STATUS_IGNORE)
                : MPI_File_read_all(file, array, 1, b->memory[way], MPI_STATUS_IGNORE));
  carry(MPI_File_close(&file));
}

static double take(bench *b, int way, int writing) {
  double begin;
  barrier();
  begin = MPI_Wtime();
  if (way != PLAN) {
    transfer(b, way, b->array, writing);
  } else if (writing) {
    succeed(redist_execute(b->to_rows, b->array, b->by_rows));
    transfer(b, way, b->by_rows, 1);
  } else {
    transfer(b, way, b->by_rows, 0);
    succeed(redist_execute(b->to_blocks, b->by_rows, b->array));
  }
  return MPI_Wtime() - begin;
}

/* Whether the files of two ways are the same. On rank 0. */
static int same_files(const bench *b, int one, int other) {
  enum { PIECE = 1 << 20 };
  FILE *a = fopen(file_name(b, one), "rb"), *z = fopen(file_name(b, other), "rb");
  char *pieces = allocate(2 * PIECE);
  int64_t bytes = 0;
  size_t n = 1;
  int same = a && z;
  while (same && n > 0) {
    n = fread(pieces, 1, PIECE, a);
    same = fread(pieces + PIECE, 1, PIECE, z) == n && memcmp(pieces, pieces + PIECE, n) == 0;
    bytes += (int64_t)n;
  }
  if (a) fclose(a);
  if (z) fclose(z);
  free(pieces);
  return same && bytes == b->set->n * b->set->n * (int64_t)sizeof(double);
}

static void check_read(const bench *b, int way) {
  if (memcmp(b->array, b->expected, (size_t)b->elements[0] * sizeof(double)) != 0)
    give_up("%s reads something else than was written", way_name[way]);
}

/* ---- times ---- */

static void measure(bench *b, int ways, const int *way, int writing, const char *memory) {
  const int64_t samples = b->set->samples, bytes = b->elements[0] * (int64_t)sizeof(double);
  double *times[WAYS], first = 0;
  char what[80];
  for (int k = 0; k < ways; k++) times[k] = allocate((size_t)samples * sizeof(double));
  for (int64_t sample = -1; sample < samples; sample++) /* the first round warms up */
    for (int k = 0; k < ways; k++) {
      double seconds;
      if (!writing) memset(b->array, 255, (size_t)bytes);
      seconds = take(b, way[k], writing);
      if (sample >= 0) times[k][sample] = seconds;
      if (!writing) check_read(b, way[k]);
    }
  snprintf(what, sizeof what, "%s, %s", writing ? "written" : "read", memory);
  for (int k = 0; k < ways; k++) {
    double value;
    maxima(times[k], (int)samples);
    value = lower_quartile(times[k], samples);
    first = k == 0 ? value : first;
    figure(what, b->ranks, bytes, way_name[way[k]], samples, value, times[k][0], value / first);
    if (b->rank == 0)
      printf("  %-28s %-24s %9.2f ms  %6.2f   (preparing %8.3f ms)\n", what, way_name[way[k]],
             1e3 * value, value / first, 1e3 * b->preparing[way[k]]);
    free(times[k]);
  }
}

static void measure_order(bench *b, redist_order order) {
  static const int all[WAYS] = {TYPES, DARRAY, PLAN}, two[2] = {TYPES, PLAN};
  const int ways = order == REDIST_ROW_MAJOR ? WAYS : 2;
  const int *way = order == REDIST_ROW_MAJOR ? all : two;
  const char *memory = order == REDIST_ROW_MAJOR ? "memory row-major" : "memory column-major";
  prepare(b, order);
  measure(b, ways, way, 1, memory);
  barrier();
  for (int k = 1; k < ways && b->rank == 0; k++)
    if (!same_files(b, way[0], way[k])) give_up("the file of %s differs", way_name[way[k]]);
  if (b->rank == 0)
    printf("  %d files of %.1f MB are identical\n", ways, (double)(b->set->n * b->set->n) * 8e-6);
  measure(b, ways, way, 0, memory);
  barrier();
  for (int k = 0; k < ways && b->rank == 0; k++) unlink(file_name(b, way[k]));
  release(b);
}

int main(int argc, char **argv) {
  settings set = {4096, 64, 5, "redist_bench_file", NULL};
  bench b;
  int status;
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &set.n,
                           .least = 1,
                           .most = 40000,
                           .help = "rows and columns (default 4096)"},
                          {.name = "--block",
                           .argument = "B",
                           .integer = &set.block,
                           .least = 1,
                           .most = 40000,
                           .help = "rows and columns of a block (default 64)"},
                          OPTION_COUNT("--samples", set.samples, 1000, "of each time (default 5)"),
                          {.name = "--file",
                           .argument = "FILE",
                           .text = &set.file,
                           .help = "FILE.0, FILE.1, FILE.2 are written and removed"},
                          OPTION_CSV(set.csv),
                          {.name = NULL}};
  memset(&b, 0, sizeof b);
  b.set = &set;
  status = start(table, argc, argv, &b.rank, &b.ranks, "io",
                 "A block-cyclic matrix written to a file and read from it, three ways.");
  if (status < 0) {
    MPI_Dims_create(b.ranks, 2, b.grid);
    figures_open(set.csv, b.rank, FIGURE_COLUMNS);
    if (b.rank == 0)
      printf("%lld x %lld doubles in blocks of %lld on %d x %d ranks\n", (long long)set.n,
             (long long)set.n, (long long)set.block, b.grid[0], b.grid[1]);
    measure_order(&b, REDIST_ROW_MAJOR);
    measure_order(&b, REDIST_COLUMN_MAJOR);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
