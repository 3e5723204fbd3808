/* redist tests: random block-cyclic plans against MPI_Type_create_darray. MIT licence, see
   LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

enum { DIMS = 3 };

/* One distribution described for MPI, and the same for redist. */
typedef struct {
  int order; /* MPI_ORDER_C or MPI_ORDER_FORTRAN */
  int extents[DIMS], kinds[DIMS], arguments[DIMS], processes[DIMS];
  redist_layout layout;
  MPI_Datatype piece; /* this rank's part of the whole array */
  int count;          /* elements in it */
} distribution;

/* Splits the ranks over the axes. */
static void draw_grid(test_random *r, int ndim, int *processes) {
  int d, left = test_size(), turn = (int)test_between(r, 0, ndim - 1);
  for (d = 0; d < ndim; d++) {
    int p = d == ndim - 1 ? left : (int)test_between(r, 1, left);
    while (left % p != 0) p--;
    processes[(turn + d) % ndim] = p;
    left /= p;
  }
}

/* One axis: not distributed, block with or without a size, cyclic with or without one. */
static redist_axis draw_axis(test_random *r, int n, int p, int *kind, int *argument) {
  const int least = (n + p - 1) / p;
  *argument = MPI_DISTRIBUTE_DFLT_DARG;
  switch (test_between(r, p == 1 ? 0 : 1, 4)) {
  case 0: *kind = MPI_DISTRIBUTE_NONE; return redist_whole(n);
  case 1: *kind = MPI_DISTRIBUTE_BLOCK; return redist_block(n, p);
  case 2:
    *kind = MPI_DISTRIBUTE_BLOCK;
    *argument = (int)test_between(r, least, least + 3);
    return redist_block_cyclic(n, *argument, p);
  case 3: *kind = MPI_DISTRIBUTE_CYCLIC; return redist_cyclic(n, p);
  default:
    *kind = MPI_DISTRIBUTE_CYCLIC;
    *argument = (int)test_between(r, 1, 5);
    return redist_block_cyclic(n, *argument, p);
  }
}

static void draw(test_random *r, int ndim, const int *extents, distribution *x) {
  redist_axis axes[DIMS];
  int d, size;
  x->order = test_between(r, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  draw_grid(r, ndim, x->processes);
  for (d = 0; d < ndim; d++) {
    x->extents[d] = extents[d];
    axes[d] = draw_axis(r, extents[d], x->processes[d], &x->kinds[d], &x->arguments[d]);
  }
  x->layout = redist_memory_order(redist_layout_nd(ndim, axes),
                                  x->order == MPI_ORDER_C ? REDIST_ROW_MAJOR : REDIST_COLUMN_MAJOR);
  MPI_Type_create_darray(test_size(), test_rank(), ndim, x->extents, x->kinds, x->arguments,
                         x->processes, x->order, MPI_INT, &x->piece);
  MPI_Type_commit(&x->piece);
  MPI_Type_size(x->piece, &size);
  x->count = size / (int)sizeof(int);
}

/* The whole array, stored in the distribution's order: each element is its own row-major number. */
static void fill_whole(const distribution *x, int ndim, int elements, int *whole) {
  int i, d;
  for (i = 0; i < elements; i++) {
    int index[DIMS], rest = i, offset = 0;
    for (d = ndim - 1; d >= 0; d--) {
      index[d] = rest % x->extents[d];
      rest /= x->extents[d];
    }
    for (d = 0; d < ndim; d++) {
      int k = x->order == MPI_ORDER_C ? d : ndim - 1 - d;
      offset = offset * x->extents[k] + index[k];
    }
    whole[offset] = i + 1;
  }
}

/* This rank's local array, extracted by MPI from the whole one. */
static void cut_out(const distribution *x, int ndim, int elements, int *local) {
  int *whole = malloc((size_t)elements * sizeof *whole);
  fill_whole(x, ndim, elements, whole);
  if (x->count > 0)
    MPI_Sendrecv(whole, 1, x->piece, 0, 0, local, x->count, MPI_INT, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  free(whole);
}

static int check(const distribution *from, const distribution *to, int ndim, int elements,
                 redist_method method) {
  int *source = calloc((size_t)from->count + 1, sizeof *source),
      *target = calloc((size_t)to->count + 1, sizeof *target);
  int *expected = calloc((size_t)to->count + 1, sizeof *expected);
  redist_options options;
  redist_plan *plan = NULL;
  int good = redist_layout_local_size(&from->layout, test_rank()) == from->count &&
             redist_layout_local_size(&to->layout, test_rank()) == to->count;
  cut_out(from, ndim, elements, source);
  cut_out(to, ndim, elements, expected);
  memset(&options, 0, sizeof options);
  options.method = method;
  if (redist_plan_create(MPI_COMM_WORLD, &from->layout, &to->layout, MPI_INT, &options, &plan) ==
      REDIST_OK) {
    good = redist_execute(plan, source, target) == REDIST_OK && good;
    good = memcmp(target, expected, ((size_t)to->count + 1) * sizeof *target) == 0 && good;
    good = redist_plan_free(&plan) == REDIST_OK && good;
  } else {
    good = 0;
  }
  free(source);
  free(target);
  free(expected);
  return good;
}

/* Arguments: a seed, the number of cases. */
int main(int count, char **arguments) {
  /* The first method sets up shared memory, which takes long when ranks outnumber cores: it is used
     less often. */
  static const redist_method methods[] = {REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW,
                                          REDIST_POINT_TO_POINT};
  static const int64_t longest[DIMS] = {600, 40, 14};
  test_random r = {1};
  int k, cases, status;
  MPI_Init(&count, &arguments);
  r.state = (uint64_t)test_size() * 1000 + (count > 1 ? (uint64_t)atoi(arguments[1]) : 0);
  cases = count > 2 ? atoi(arguments[2]) : 800;
  for (k = 0; k < cases; k++) {
    distribution from, to;
    int extents[DIMS], d, elements = 1, ndim = (int)test_between(&r, 1, DIMS);
    for (d = 0; d < ndim; d++) {
      extents[d] = (int)test_between(&r, 1, test_between(&r, 0, 4) == 0 ? 4 : longest[ndim - 1]);
      elements *= extents[d];
    }
    draw(&r, ndim, extents, &from);
    draw(&r, ndim, extents, &to);
    test_case_all(check(&from, &to, ndim, elements, methods[k % 20 == 0 ? 0 : 1 + k % 3]),
                  "case %d: %d axes, %d elements", k, ndim, elements);
    MPI_Type_free(&from.piece);
    MPI_Type_free(&to.piece);
  }
  status = test_report_all("darray");
  MPI_Finalize();
  return status;
}
