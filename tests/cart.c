/* redist tests: halo exchanges on random Cartesian grids against messages of subarrays, axis by
   axis.
   MIT licence, see LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

enum { DIMS = 3, MOST = 8, WIDEST = 3, ARENA = 1 << 17 };

/* A grid of bricks, and this rank's. */
typedef struct {
  int ndim, procs[DIMS], periodic[DIMS], coords[DIMS];
  int64_t cuts[DIMS][MOST + 1];
  int64_t low[DIMS], high[DIMS]; /* widths of the halo */
  int size[DIMS], owned[DIMS];   /* of the local array, and of its owned elements */
  int cells;
  MPI_Comm comm;
} bricks;

static redist_arena *arena;
static double *slot; /* of the arena */

/* Every brick is at least as long as the halo is wide, so that only neighbours exchange. */
static void draw(test_random *r, bricks *b) {
  int d, k, widest;
  memset(b, 0, sizeof *b);
  b->ndim = (int)test_between(r, 2, DIMS);
  b->cells = 1;
  MPI_Dims_create(test_size(), b->ndim, b->procs);
  for (d = 0; d < b->ndim; d++) { /* the longest side anywhere */
    const int other = (int)test_between(r, 0, d), swap = b->procs[d];
    b->procs[d] = b->procs[other];
    b->procs[other] = swap;
  }
  for (d = 0; d < b->ndim; d++) b->periodic[d] = (int)test_between(r, 0, 1);
  MPI_Cart_create(MPI_COMM_WORLD, b->ndim, b->procs, b->periodic, 0, &b->comm);
  MPI_Cart_coords(b->comm, test_rank(), b->ndim, b->coords);
  for (d = 0; d < b->ndim; d++) {
    b->low[d] = test_between(r, 0, WIDEST);
    b->high[d] = test_between(r, b->low[d] == 0, WIDEST);
    widest = (int)(b->low[d] > b->high[d] ? b->low[d] : b->high[d]);
    for (k = 0; k < b->procs[d]; k++)
      b->cuts[d][k + 1] = b->cuts[d][k] + test_between(r, widest, widest + 4);
    b->owned[d] = (int)(b->cuts[d][b->coords[d] + 1] - b->cuts[d][b->coords[d]]);
    b->size[d] = b->owned[d] + (int)(b->low[d] + b->high[d]);
    b->cells *= b->size[d];
  }
}

/* Sends the cells from `from` on to the neighbour's ghost cells, in one direction of an axis. They
   include the ghost cells of earlier axes, and so corners, but no cells past an end, which hold
   nothing. */
static void shift(const bricks *b, double *array, int axis, int up) {
  int part[DIMS], at[DIMS], below, above, low, high, d,
      width = (int)(up ? b->low[axis] : b->high[axis]);
  MPI_Datatype send, receive;
  MPI_Request requests[2];
  for (d = 0; d < b->ndim; d++) {
    MPI_Cart_shift(b->comm, d, 1, &below, &above);
    low = d < axis && below != MPI_PROC_NULL ? (int)b->low[d] : 0;
    high = d < axis && above != MPI_PROC_NULL ? (int)b->high[d] : 0;
    at[d] = (int)b->low[d] - low;
    part[d] = low + b->owned[d] + high;
  }
  if (width == 0) return;
  MPI_Cart_shift(b->comm, axis, 1, &below, &above);
  part[axis] = width;
  at[axis] = (int)b->low[axis] + (up ? b->owned[axis] - width : 0);
  MPI_Type_create_subarray(b->ndim, b->size, part, at, MPI_ORDER_C, MPI_DOUBLE, &send);
  at[axis] = up ? 0 : (int)b->low[axis] + b->owned[axis];
  MPI_Type_create_subarray(b->ndim, b->size, part, at, MPI_ORDER_C, MPI_DOUBLE, &receive);
  MPI_Type_commit(&send);
  MPI_Type_commit(&receive);
  MPI_Irecv(array, 1, receive, up ? below : above, 0, b->comm, &requests[0]);
  MPI_Isend(array, 1, send, up ? above : below, 0, b->comm, &requests[1]);
  wait_yielding(&requests[0]);
  wait_yielding(&requests[1]);
  MPI_Type_free(&send);
  MPI_Type_free(&receive);
}

static int by_plan(const bricks *b, double *array, redist_method method, int in_arena) {
  redist_axis axes[DIMS];
  redist_layout bare, ghosts;
  redist_options options;
  redist_plan *plan = NULL;
  int d, code;
  for (d = 0; d < b->ndim; d++) axes[d] = redist_cuts(b->cuts[d], b->procs[d]);
  bare = redist_layout_nd(b->ndim, axes);
  for (d = 0; d < b->ndim; d++) bare = redist_with_halo(bare, d, b->low[d], b->high[d]);
  ghosts = bare;
  for (d = 0; d < b->ndim; d++)
    ghosts = redist_with_ghosts(ghosts, d, b->periodic[d] ? REDIST_PERIODIC : REDIST_CLOSED);
  memset(&options, 0, sizeof options);
  options.method = method;
  options.in_place = 1;
  options.arena = in_arena ? arena : NULL;
  code = redist_plan_create(MPI_COMM_WORLD, &bare, &ghosts, MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, array, array);
  if (plan != NULL && redist_plan_free(&plan) != REDIST_OK) return REDIST_ERR_MPI;
  return code;
}

static void check(const bricks *b, int number) {
  static const redist_method methods[] = {REDIST_POINT_TO_POINT, REDIST_ALLTOALLW, REDIST_SCHEDULED,
                                          REDIST_ALLTOALLV};
  const int in_arena = number % 3 == 0;
  const size_t bytes = (size_t)b->cells * sizeof(double);
  double *wanted = (double *)malloc(bytes), *array = in_arena ? slot : (double *)malloc(bytes);
  int k, code;
  for (k = 0; k < b->cells; k++) wanted[k] = array[k] = test_rank() * 100000 + k;
  code = by_plan(b, array, in_arena ? REDIST_SHARED : methods[number % 4], in_arena);
  for (k = 0; k < 2 * b->ndim; k++) shift(b, wanted, k / 2, k % 2);
  test_case_all(
      code == REDIST_OK && memcmp(array, wanted, bytes) == 0,
      "case %d: %d axes on %d x %d x %d, periodic %d %d %d, halos %d,%d %d,%d %d,%d: code %d",
      number, b->ndim, b->procs[0], b->procs[1], b->procs[2], b->periodic[0], b->periodic[1],
      b->periodic[2], (int)b->low[0], (int)b->high[0], (int)b->low[1], (int)b->high[1],
      (int)b->low[2], (int)b->high[2], code);
  free(wanted);
  if (!in_arena) free(array);
}

int main(int argc, char **argv) {
  test_random r = {2};
  int k, cases;
  MPI_Init(&argc, &argv);
  cases = argc > 1 ? atoi(argv[1]) : 60;
  redist_arena_create(MPI_COMM_WORLD, ARENA, &arena);
  slot = (double *)redist_arena_alloc(arena, ARENA);
  for (k = 0; k < cases; k++) {
    bricks b;
    draw(&r, &b);
    check(&b, k);
    MPI_Comm_free(&b.comm);
  }
  redist_arena_free(&arena);
  k = test_report_all("cart");
  MPI_Finalize();
  return k;
}
