/* redist tests: random block-cyclic matrices, and parts of them, against ScaLAPACK's pdgemr2d.
   MIT licence, see LICENSE. */
#include "scalapack.h"

enum { GRIDS = 12 };

static void fill(const matrix *x, double background) {
  double *local = (double *)x->local;
  int64_t k;
  for (k = 0; k < x->elements; k++) local[k] = background + test_rank() * 100000 + (double)k;
}

static int copy_by_plan(const matrix *a, const matrix *b, void *target, redist_method method) {
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  options.method = method;
  code = redist_plan_create(MPI_COMM_WORLD, &a->layout, &b->layout, MPI_DOUBLE, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a->local, target);
  if (plan != NULL && redist_plan_free(&plan) != REDIST_OK) return REDIST_ERR_MPI;
  return code;
}

static void check(const matrix *a, const matrix *b, int m, int n, int context, int number) {
  /* The first sets up shared memory, which takes long when ranks outnumber cores: it is used less
       often. */
  static const redist_method methods[] = {REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW,
                                          REDIST_POINT_TO_POINT};
  const int ia = a->row + 1, ja = a->column + 1, ib = b->row + 1, jb = b->column + 1;
  void *target = malloc(b->bytes + 1);
  int code, same;
  memcpy(target, b->local, b->bytes);
  code = copy_by_plan(a, b, target, methods[number % 20 == 0 ? 0 : 1 + number % 3]);
  pdgemr2d_(&m, &n, a->local, &ia, &ja, a->desc, b->local, &ib, &jb, b->desc, &context);
  same = memcmp(target, b->local, b->bytes) == 0;
  test_case_all(
      code == REDIST_OK && same,
      "case %d: %d x %d at (%d, %d) of %d x %d on %d x %d to (%d, %d) of %d x %d on %d x %d: code %d",
      number, m, n, a->row, a->column, a->desc[2], a->desc[3], a->g->rows, a->g->columns, b->row,
      b->column, b->desc[2], b->desc[3], b->g->rows, b->g->columns, code);
  free(target);
}

/* Arguments: a seed, the number of cases. */
int main(int count, char **arguments) {
  grid grids[GRIDS], all = {1, 1, 0, {0}};
  test_random r = {1};
  int k, cases, status, ranks[LARGEST];
  MPI_Init(&count, &arguments);
  r.state = (uint64_t)test_size() * 1000 + (count > 1 ? (uint64_t)atoi(arguments[1]) : 0);
  cases = count > 2 ? atoi(arguments[2]) : 200;
  for (k = 0; k < test_size(); k++) ranks[k] = k;
  Cblacs_get(-1, 0, &all.context);
  Cblacs_gridmap(&all.context, ranks, 1, 1, test_size());
  for (k = 0; k < GRIDS; k++) make_grid(&r, &grids[k]);
  for (k = 0; k < cases; k++) {
    int m = (int)test_between(&r, 1, 40), n = (int)test_between(&r, 1, 40);
    matrix a, b;
    draw(&r, &grids[test_between(&r, 0, GRIDS - 1)], m, n, sizeof(double), &a);
    draw(&r, &grids[test_between(&r, 0, GRIDS - 1)], m, n, sizeof(double), &b);
    fill(&a, 1e6);
    fill(&b, -1e7);
    check(&a, &b, m, n, all.context, k);
    free(a.local);
    free(b.local);
  }
  for (k = 0; k < GRIDS; k++)
    if (grids[k].context >= 0) Cblacs_gridexit(grids[k].context);
  Cblacs_gridexit(all.context);
  status = test_report_all("pdgemr2d");
  Cblacs_exit(1);
  MPI_Finalize();
  return status;
}
