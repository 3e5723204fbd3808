/* redist tests: random block-cyclic matrices, and parts of them, against ScaLAPACK's pdgemr2d. MIT licence, see LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridmap(int *context, int *ranks, int leading, int rows, int columns);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
void pdgemr2d_(const int *m, const int *n, const double *a, const int *ia, const int *ja, const int *desc_a, double *b,
               const int *ib, const int *jb, const int *desc_b, const int *context);

enum { GRIDS = 12, LARGEST = 8 };

/* A process grid: row by row, entry k is on ranks[k]. */
typedef struct {
    int rows, columns, context;
    int ranks[LARGEST];
} grid;

/* A matrix over a grid, and this rank's part of it. */
typedef struct {
    const grid *g;
    int desc[9], row, column;           /* where the part to be copied begins, from 0 */
    int local_columns;
    redist_layout layout;
    double *local;
    size_t bytes;
} matrix;

static void make_grid(test_random *r, grid *g)
{
    int order[LARGEST], by_column[LARGEST], i, j, k, size = test_size();
    g->rows = (int)test_between(r, 1, size);
    g->columns = (int)test_between(r, 1, size / g->rows);
    for (k = 0; k < size; k++)
        order[k] = k;
    for (k = size - 1; k > 0; k--) {
        int other = (int)test_between(r, 0, k), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
    for (i = 0; i < g->rows; i++)
        for (j = 0; j < g->columns; j++)
            by_column[i + j * g->rows] = g->ranks[i * g->columns + j] = order[i * g->columns + j];
    Cblacs_get(-1, 0, &g->context);
    Cblacs_gridmap(&g->context, by_column, g->rows, g->rows, g->columns);
}

/* Indices of an axis that a coordinate owns, counted one by one. */
static int owned(int n, int block, int first, int processes, int coordinate)
{
    int i, count = 0;
    for (i = 0; i < n; i++)
        count += (i / block + first) % processes == coordinate;
    return count;
}

static int place_of_rank(const grid *g)
{
    int k;
    for (k = 0; k < g->rows * g->columns; k++)
        if (g->ranks[k] == test_rank())
            return k;
    return -1;
}

/* A matrix in which a part of m x n fits. */
static void draw(test_random *r, const grid *g, int m, int n, double background, matrix *x)
{
    int below = (int)test_between(r, 0, 6), right = (int)test_between(r, 0, 6), padding = (int)test_between(r, 0, 3);
    int place = place_of_rank(g), rows, k;
    x->g = g;
    x->row = (int)test_between(r, 0, 6);
    x->column = (int)test_between(r, 0, 6);
    x->desc[0] = 1;
    x->desc[1] = g->context;
    x->desc[2] = x->row + m + below;
    x->desc[3] = x->column + n + right;
    x->desc[4] = (int)test_between(r, 1, 7);
    x->desc[5] = (int)test_between(r, 1, 7);
    x->desc[6] = (int)test_between(r, 0, g->rows - 1);
    x->desc[7] = (int)test_between(r, 0, g->columns - 1);
    rows = place < 0 ? 0 : owned(x->desc[2], x->desc[4], x->desc[6], g->rows, place / g->columns);
    x->local_columns = place < 0 ? 0 : owned(x->desc[3], x->desc[5], x->desc[7], g->columns, place % g->columns);
    x->desc[8] = rows + padding > 0 ? rows + padding : 1;
    x->layout = redist_on_ranks(redist_from_scalapack(x->desc, g->rows, g->columns), g->ranks);
    x->layout = redist_section(redist_section(x->layout, 0, x->row, m, 1), 1, x->column, n, 1);
    x->bytes = (size_t)x->desc[8] * (size_t)x->local_columns * sizeof *x->local;
    x->local = malloc(x->bytes + 1);
    for (k = 0; k < x->desc[8] * x->local_columns; k++)
        x->local[k] = background + test_rank() * 100000 + k;
}

static int copy_by_plan(const matrix *a, const matrix *b, double *target, redist_method method)
{
    redist_options options;
    redist_plan *plan = NULL;
    int code;
    memset(&options, 0, sizeof options);
    options.method = method;
    code = redist_plan_create(MPI_COMM_WORLD, &a->layout, &b->layout, MPI_DOUBLE, &options, &plan);
    if (code == REDIST_OK)
        code = redist_execute(plan, a->local, target);
    if (plan != NULL && redist_plan_free(&plan) != REDIST_OK)
        return REDIST_ERR_MPI;
    return code;
}

static void check(const matrix *a, const matrix *b, int m, int n, int context, int number)
{
    /* The first sets up shared memory, which takes long when ranks outnumber cores: it is used less often. */
    static const redist_method methods[] = {REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW, REDIST_POINT_TO_POINT};
    const int ia = a->row + 1, ja = a->column + 1, ib = b->row + 1, jb = b->column + 1;
    double *target = malloc(b->bytes + 1);
    int code, same;
    memcpy(target, b->local, b->bytes);
    code = copy_by_plan(a, b, target, methods[number % 20 == 0 ? 0 : 1 + number % 3]);
    pdgemr2d_(&m, &n, a->local, &ia, &ja, a->desc, b->local, &ib, &jb, b->desc, &context);
    same = memcmp(target, b->local, b->bytes) == 0;
    test_case_all(code == REDIST_OK && same, "case %d: %d x %d at (%d, %d) of %d x %d on %d x %d to (%d, %d) of %d x %d on %d x %d: code %d",
                  number, m, n, a->row, a->column, a->desc[2], a->desc[3], a->g->rows, a->g->columns, b->row, b->column,
                  b->desc[2], b->desc[3], b->g->rows, b->g->columns, code);
    free(target);
}

/* Arguments: a seed, the number of cases. */
int main(int count, char **arguments)
{
    grid grids[GRIDS], all = {1, 1, 0, {0}};
    test_random r = {1};
    int k, cases, status, ranks[LARGEST];
    MPI_Init(&count, &arguments);
    r.state = (uint64_t)test_size() * 1000 + (count > 1 ? (uint64_t)atoi(arguments[1]) : 0);
    cases = count > 2 ? atoi(arguments[2]) : 200;
    for (k = 0; k < test_size(); k++)
        ranks[k] = k;
    Cblacs_get(-1, 0, &all.context);
    Cblacs_gridmap(&all.context, ranks, 1, 1, test_size());
    for (k = 0; k < GRIDS; k++)
        make_grid(&r, &grids[k]);
    for (k = 0; k < cases; k++) {
        int m = (int)test_between(&r, 1, 40), n = (int)test_between(&r, 1, 40);
        matrix a, b;
        draw(&r, &grids[test_between(&r, 0, GRIDS - 1)], m, n, 1e6, &a);
        draw(&r, &grids[test_between(&r, 0, GRIDS - 1)], m, n, -1e7, &b);
        check(&a, &b, m, n, all.context, k);
        free(a.local);
        free(b.local);
    }
    for (k = 0; k < GRIDS; k++)
        if (grids[k].context >= 0)
            Cblacs_gridexit(grids[k].context);
    Cblacs_gridexit(all.context);
    status = test_report_all("pdgemr2d");
    Cblacs_exit(1);
    MPI_Finalize();
    return status;
}
