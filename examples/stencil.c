/* The wave equation on periodic bricks, with a halo exchange hidden behind the interior. MIT licence, see LICENSE.
   mpicc -I. examples/stencil.c -o stencil -lm && mpiexec -n 4 ./stencil

   u_tt = u_xx + u_yy + u_zz on the unit cube, periodic, by leapfrog with seven points:

       next = 2 u - before + (dt / h)^2 (sum of the six neighbours - 6 u)

   A brick is stored with a halo one cell wide. The exchange that fills it is the plan from the bricks' layout to the
   same layout with ghosts, in place on one array: it sends boundary cells and touches nothing else. While it is under
   way, cells that need no neighbour's are computed; the others follow when it is complete.

   A plane wave solves the scheme exactly, when its frequency w meets sin^2(w dt / 2) / dt^2 = sum of sin^2(pi k h) /
   h^2 over the axes, so that the program can be checked to rounding. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

typedef struct {
    int64_t n, steps;
} settings;

typedef struct {
    redist_shape shape;
    double c; /* (dt / h)^2 */
} brick;

/* One step for the cells begin[d] <= i[d] < end[d] of a brick. */
static void update(const brick *b, const double *u, double *next, const int64_t *begin,
                   const int64_t *end)
{
    const int64_t x = b->shape.stride[0], y = b->shape.stride[1];
    for (int64_t i = begin[0]; i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++) {
            const int64_t row = b->shape.origin + i * x + j * y;
            for (int64_t at = row + begin[2]; at < row + end[2]; at++)
                next[at] = 2 * u[at] - next[at] +
                           b->c * (u[at - x] + u[at + x] + u[at - y] + u[at + y] + u[at - 1] +
                                   u[at + 1] - 6 * u[at]);
        }
}

/* The cells that need no ghost cell. */
static void update_interior(const brick *b, const double *u, double *next)
{
    const int64_t begin[3] = {1, 1, 1};
    const int64_t end[3] = {b->shape.count[0] - 1, b->shape.count[1] - 1, b->shape.count[2] - 1};
    update(b, u, next, begin, end);
}

/* The six faces, each cell once. */
static void update_boundary(const brick *b, const double *u, double *next)
{
    int64_t begin[3] = {0, 0, 0}, end[3];
    for (int d = 0; d < 3; d++)
        end[d] = b->shape.count[d];
    for (int d = 0; d < 3; d++) {
        const int64_t low = begin[d], high = end[d];
        end[d] = low + 1 < high ? low + 1 : high;
        update(b, u, next, begin, end);
        begin[d] = high - 1 > low ? high - 1 : high;
        end[d] = high;
        update(b, u, next, begin, end);
        begin[d] = low + 1;
        end[d] = high - 1;
    }
}

/* Sets, or compares with, the wave cos(2 pi (x + 2 y + z) - phase); returns the largest difference. */
static double wave(const brick *b, double *u, int64_t n, double phase, int set)
{
    const double turn = 2 * acos(-1) / (double)n;
    double worst = 0;
    for (int64_t i = 0; i < b->shape.count[0]; i++)
        for (int64_t j = 0; j < b->shape.count[1]; j++)
            for (int64_t k = 0; k < b->shape.count[2]; k++) {
                const int64_t place =
                    b->shape.first[0] + i + 2 * (b->shape.first[1] + j) + b->shape.first[2] + k;
                const double exact = cos(turn * (double)place - phase);
                double *at =
                    &u[b->shape.origin + i * b->shape.stride[0] + j * b->shape.stride[1] + k];
                worst = fmax(worst, fabs(*at - exact));
                if (set)
                    *at = exact;
            }
    return worst;
}

static int solve(const settings *s, int rank, int ranks)
{
    const double pi = acos(-1), h = 1 / (double)s->n, dt = 0.5 * h;
    const double squares = 2 * pow(sin(pi * h), 2) + pow(sin(2 * pi * h), 2);
    const double frequency = 2 * asin(0.5 * sqrt(squares)) / dt; /* dt / h is 0.5 */
    int grid[3] = {0, 0, 0};
    MPI_Dims_create(ranks, 3, grid);
    redist_layout bricks =
        redist_layout_3d(redist_balanced(s->n, grid[0]), redist_balanced(s->n, grid[1]),
                         redist_balanced(s->n, grid[2]));
    for (int d = 0; d < 3; d++)
        bricks = redist_with_halo(bricks, d, 1, 1);
    redist_layout ghosts = bricks;
    for (int d = 0; d < 3; d++)
        ghosts = redist_with_ghosts(ghosts, d, REDIST_PERIODIC);

    char message[256] = "";
    redist_options options;
    redist_plan *exchange;
    memset(&options, 0, sizeof options);
    options.in_place = 1;
    options.message = message;
    options.message_size = sizeof message;
    if (redist_plan_create(MPI_COMM_WORLD, &bricks, &ghosts, MPI_DOUBLE, &options, &exchange) !=
        REDIST_OK) {
        if (rank == 0)
            fprintf(stderr, "stencil: %s\n", message);
        return 1;
    }
    brick b;
    redist_layout_shape(&bricks, rank, &b.shape);
    b.c = dt * dt / (h * h);
    double *now = calloc((size_t)redist_layout_alloc(&bricks, rank), sizeof *now);
    double *before = calloc((size_t)redist_layout_alloc(&bricks, rank), sizeof *before);
    if (!now || !before)
        MPI_Abort(MPI_COMM_WORLD, 1);
    wave(&b, before, s->n, -frequency * dt, 1);
    wave(&b, now, s->n, 0, 1);

    double seconds[4] = {0, 0, 0, 0}, mark[5]; /* starting, interior, waiting, boundary */
    for (int64_t step = 0; step < s->steps; step++) {
        mark[0] = MPI_Wtime();
        int error = redist_start(exchange, now, now);
        mark[1] = MPI_Wtime();
        update_interior(&b, now, before);
        mark[2] = MPI_Wtime();
        error = error == REDIST_OK ? redist_wait(exchange) : error;
        if (error != REDIST_OK)
            MPI_Abort(MPI_COMM_WORLD, 1);
        mark[3] = MPI_Wtime();
        update_boundary(&b, now, before);
        mark[4] = MPI_Wtime();
        double *swap = now;
        now = before;
        before = swap;
        for (int k = 0; k < 4; k++)
            seconds[k] += mark[k + 1] - mark[k];
    }
    double error = wave(&b, now, s->n, frequency * dt * (double)s->steps, 0), worst, most[4];
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(seconds, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    redist_plan_print(exchange, rank == 0 ? stdout : NULL);
    if (rank == 0)
        printf("wave equation: %lld^3 points in %d x %d x %d bricks, %lld steps\n"
               "  seconds          %.3f starting, %.3f interior, %.3f waiting, %.3f boundary\n"
               "  rounding         %.1e against the exact solution of the scheme: %s\n",
               (long long)s->n, grid[0], grid[1], grid[2], (long long)s->steps, most[0], most[1],
               most[2], most[3], worst, worst < 1e-9 ? "right" : "WRONG");
    redist_plan_free(&exchange);
    free(now), free(before);
    return !(worst < 1e-9);
}

int main(int argc, char **argv)
{
    settings s = {64, 100};
    int rank, ranks, status;
    const option table[] = {{.name = "--n",
                             .argument = "N",
                             .integer = &s.n,
                             .least = 1,
                             .most = 10000,
                             .help = "points along each side (default 64)"},
                            {.name = "--steps",
                             .argument = "K",
                             .integer = &s.steps,
                             .most = 1e9,
                             .help = "time steps (default 100)"},
                            {.name = NULL}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    status = options_start(
        table, argc, argv, rank, "stencil",
        "Teaches the halo exchange: the plan from a layout to the same with ghosts, in place, hidden behind the\n"
        "interior. Solves the wave equation on periodic bricks and compares with the exact solution.");
    if (status < 0)
        status = solve(&s, rank, ranks);
    MPI_Finalize();
    return status;
}
