/* The heat equation by alternating directions, with two redistributions each time step. MIT licence, see LICENSE.
   mpicc -I. examples/adi.c -o adi -lm && mpiexec -n 4 ./adi

   u_t = u_xx + u_yy on the unit square, u = 0 on its boundary, by the scheme of Peaceman and Rachford. With Dx and Dy
   the second differences along x and y, and a = dt / 2, a time step is two half steps:

       (1 - a Dx) u' = (1 + a Dy) u          implicit along x, explicit along y
       (1 - a Dy) u" = (1 + a Dx) u'         implicit along y, explicit along x

   Each needs whole rows or whole columns, so the array changes between two layouts. What travels is w = (1 + a D) u,
   evaluated where that direction is whole, and it comes free with the solution: (1 - a D) u = w gives (1 + a D) u =
   2 u - w. So a step is: to rows, sweep, to columns, sweep. No halos, no other messages.

   Both layouts store the direction of the sweep slowest (rows: column-major, columns: row-major), so one routine serves
   both and solves many neighbouring lines at once with unit stride. Changing the storage order is the plan's
   business. */
#include <limits.h>
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

enum {
    STRIP = 32
}; /* lines solved at once: some cache lines wide, and a strip of a long line stays in the cache */

/* (1 - a D) for lines of n points, factored. ratio: a / h^2; strip: n + 2 rows of STRIP, the first and last stay 0. */
typedef struct {
    int64_t n;
    double ratio, *inverse, *strip;
} tridiagonal;

static double *allocate(int64_t count)
{
    double *memory = calloc((size_t)count + 1, sizeof(double)); /* + 1: never zero bytes */
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static tridiagonal factor(int64_t n, double ratio)
{
    tridiagonal t = {n, ratio, allocate(n), allocate((n + 2) * STRIP)};
    for (int64_t k = 0; k < n; k++)
        t.inverse[k] = 1 / (1 + 2 * ratio - (k > 0 ? ratio * ratio * t.inverse[k - 1] : 0));
    return t;
}

/* Solves (1 - a D) u = w for some lines: w becomes u, or with onward = 1 (1 + a D) u. Point k of line l is w[k lines +
   l]. */
static void sweep_strip(const tridiagonal *t, double *w, int64_t lines, int64_t width,
                        double onward)
{
    for (int64_t k = 0; k < t->n; k++) /* forward elimination, into the strip */
        for (int64_t l = 0; l < width; l++) {
            double *y = t->strip + (k + 1) * STRIP + l;
            *y = (w[k * lines + l] + t->ratio * y[-STRIP]) * t->inverse[k];
        }
    for (int64_t k = t->n - 1; k >= 0; k--) /* back substitution */
        for (int64_t l = 0; l < width; l++) {
            double *u = t->strip + (k + 1) * STRIP + l, *at = &w[k * lines + l];
            *u += t->ratio * t->inverse[k] * u[STRIP];
            *at = *u + onward * (*u - *at);
        }
}

static void sweep(const tridiagonal *t, double *w, int64_t lines, double onward)
{
    for (int64_t first = 0; first < lines; first += STRIP)
        sweep_strip(t, w + first, lines, lines - first < STRIP ? lines - first : STRIP, onward);
}

static redist_plan *create_plan(const redist_layout *from, const redist_layout *to, int method,
                                int rank)
{
    char message[256] = "";
    redist_plan *plan = NULL;
    redist_options options;
    memset(&options, 0, sizeof options);
    options.method = (redist_method)method;
    options.message = message;
    options.message_size = sizeof message;
    if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) !=
        REDIST_OK) { /* so on every rank */
        if (rank == 0)
            fprintf(stderr, "adi: %s\n", message);
        MPI_Finalize();
        exit(1);
    }
    return plan;
}

static void execute(redist_plan *plan, const double *from, double *to, double *seconds)
{
    double begin = MPI_Wtime();
    if (redist_execute(plan, from, to) != REDIST_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    *seconds += MPI_Wtime() - begin;
}

typedef struct {
    int64_t n, steps, block;
    double dt;
    int method;
} settings;

/* From u = sin(pi x) sin(pi y), which only fades. Returns the exit status. */
static int solve(const settings *s, int rank, int ranks)
{
    const redist_axis whole = redist_whole(s->n);
    const redist_axis mine =
        s->block > 0 ? redist_block_cyclic(s->n, s->block, ranks) : redist_block(s->n, ranks);
    const redist_layout rows =
        redist_memory_order(redist_layout_2d(mine, whole), REDIST_COLUMN_MAJOR);
    const redist_layout columns = redist_layout_2d(whole, mine);
    const int64_t lines = redist_count(&mine, rank); /* of rows as well as of columns */
    const double pi = acos(-1), h = 1 / (double)(s->n + 1), a = s->steps > 0 ? s->dt / 2 : 0;
    tridiagonal t = factor(s->n, a / (h * h));
    double *sine = allocate(s->n + 2), *by_rows = allocate(s->n * lines),
           *by_columns = allocate(s->n * lines);
    double marching, redistributing = 0, worst[2] = {0, 0}, all[2];
    redist_plan *to_rows = create_plan(&columns, &rows, s->method, rank);
    redist_plan *to_columns = create_plan(&rows, &columns, s->method, rank);

    for (int64_t i = 1; i <= s->n; i++)
        sine[i] = sin(pi * h * (double)i);
    for (int64_t i = 0; i < s->n; i++) /* (1 + a Dy) u */
        for (int64_t l = 0; l < lines; l++)
            by_columns[i * lines + l] =
                (sine[i + 1] + t.ratio * (sine[i] - 2 * sine[i + 1] + sine[i + 2])) *
                sine[redist_global(&mine, rank, l) + 1];

    marching = MPI_Wtime();
    for (int64_t step = 1; step <= s->steps; step++) {
        execute(to_rows, by_columns, by_rows, &redistributing);
        sweep(&t, by_rows, lines, 1); /* along x */
        execute(to_columns, by_rows, by_columns, &redistributing);
        sweep(&t, by_columns, lines, step < s->steps); /* along y */
    }
    marching = MPI_Wtime() - marching;

    /* How much is left by the differential equation, and by the scheme, which the program must meet to rounding. */
    const double damping = 4 * t.ratio * pow(sin(pi * h / 2), 2),
                 exact = exp(-2 * pi * pi * (double)s->steps * s->dt);
    const double scheme = pow((1 - damping) / (1 + damping), 2 * (double)s->steps);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t l = 0; l < lines; l++) {
            double start = sine[i + 1] * sine[redist_global(&mine, rank, l) + 1],
                   u = by_columns[i * lines + l];
            worst[0] = fmax(worst[0], fabs(u - exact * start));
            worst[1] = fmax(worst[1], fabs(u - scheme * start));
        }
    MPI_Allreduce(worst, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    redist_plan_print(to_rows, rank == 0 ? stdout : NULL);
    if (rank == 0)
        printf("heat equation by ADI: %lld x %lld points, %lld steps of %g on %d rank%s\n"
               "  seconds          %.3f redistributing, %.3f sweeping\n"
               "  error            %.2e of %.2e, against exp(-2 pi^2 t) sin(pi x) sin(pi y)\n"
               "  rounding         %.1e: %s\n",
               (long long)s->n, (long long)s->n, (long long)s->steps, s->dt, ranks,
               ranks > 1 ? "s" : "", redistributing, marching - redistributing, all[0], exact,
               all[1], all[1] < 1e-9 ? "right" : "WRONG");
    redist_plan_free(&to_rows);
    redist_plan_free(&to_columns);
    free(t.inverse), free(t.strip), free(sine), free(by_rows), free(by_columns);
    return !(all[1] < 1e-9);
}

int main(int argc, char **argv)
{
    static const option_choice methods[] = {{"auto", REDIST_AUTO},
                                            {"shared", REDIST_SHARED},
                                            {"point_to_point", REDIST_POINT_TO_POINT},
                                            {"scheduled", REDIST_SCHEDULED},
                                            {"alltoallv", REDIST_ALLTOALLV},
                                            {"alltoallw", REDIST_ALLTOALLW},
                                            {"multiphase", REDIST_MULTIPHASE},
                                            {NULL, 0}};
    settings s = {1000, 100, 0, 0, REDIST_AUTO};
    int rank, ranks, status;
    const option table[] = {
        {.name = "--n",
         .argument = "N",
         .integer = &s.n,
         .least = 1,
         .most = 1000000,
         .help = "points along each side (default 1000)"},
        {.name = "--steps",
         .argument = "K",
         .integer = &s.steps,
         .most = 1e9,
         .help = "time steps (default 100)"},
        {.name = "--dt",
         .argument = "DT",
         .real = &s.dt,
         .least = 1e-300,
         .most = 1e6,
         .help = "time step (default 0.1 / K)"},
        {.name = "--method",
         .argument = "NAME",
         .choice = &s.method,
         .choices = methods,
         .help = "how to redistribute (default auto)"},
        {.name = "--block",
         .argument = "B",
         .integer = &s.block,
         .least = 1,
         .most = INT_MAX,
         .help = "distribute rows and columns in blocks of B (default one block each)"},
        {.name = NULL}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    status = options_start(
        table, argc, argv, rank, "adi",
        "Teaches the use of two layouts and two plans: from columns to rows and back in every time step, so that\n"
        "one sweep serves both directions. Solves the heat equation and compares with the exact solution.");
    s.dt = s.dt > 0 ? s.dt : 0.1 / (double)(s.steps > 0 ? s.steps : 1);
    if (status < 0)
        status = solve(&s, rank, ranks);
    MPI_Finalize();
    return status;
}
