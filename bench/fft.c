/* A complex three-dimensional Fourier transform by redist and FFTW, and by FFTW's own MPI transform. MIT licence, see LICENSE.

   Both start with the array (x, y, z) distributed along x and end with the transform distributed along y: FFTW is told that
   this will do (FFTW_MPI_TRANSPOSED_OUT), in place and out of place. By redist: z and y are transformed, one redistribution
   makes x whole and contiguous, and x is transformed. The planner's effort is the same. Repetitions are interleaved; a time
   is that of the slowest rank, and the median of all repetitions counts. The results are compared.

   Debian's FFTW-MPI is made for Open MPI: make build/fft MPICC=mpicc.openmpi. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include <fftw3-mpi.h>

#include "../examples/options.h"
#include "bench.h"
#include "redist_plan.h"

typedef double complex number;

enum { CONTESTANTS = 3 };

typedef struct {
    int rank, ranks;
    int64_t n, repetitions, fewest, most;
    int effort;              /* of FFTW's planner */
    int64_t rows, first;     /* of x, as distributed */
    int64_t columns;         /* of y */
    number *from[CONTESTANTS], *to[CONTESTANTS];
    fftw_plan mpi[2], planes, lines;
    redist_arena *arena;
    redist_plan *plan;
    double *times[CONTESTANTS];
} bench;

static const char *const names[CONTESTANTS] = {"redist + FFTW", "FFTW-MPI, in place", "FFTW-MPI, out of place"};

static const option_choice efforts[] = {{"estimate", FFTW_ESTIMATE}, {"measure", FFTW_MEASURE}, {"patient", FFTW_PATIENT}, {NULL, 0}};

/* ---- contestants ---- */

static void succeed(int code)
{
    if (code != REDIST_OK)
        give_up("%s", redist_strerror(code));
}

static size_t slab_bytes(const bench *b)
{
    int64_t lines = b->rows > b->columns ? b->rows : b->columns;
    return ((size_t)(lines * b->n * b->n) * sizeof(number) + 63) / 64 * 64;
}

/* Planes (y, z) of x become lines along x, contiguous in memory for each y and z. */
static void create_redist(bench *b)
{
    static const int xyz_in_yzx[3] = {2, 0, 1};
    int n = (int)b->n, plane[2] = {n, n};
    redist_axis dealt_out = redist_block(b->n, b->ranks), whole = redist_whole(b->n);
    redist_layout planes = redist_layout_3d(dealt_out, whole, whole), lines = redist_permuted(planes, xyz_in_yzx);
    redist_options options;
    memset(&options, 0, sizeof options);
    succeed(redist_arena_create(MPI_COMM_WORLD, 2 * slab_bytes(b), &b->arena));
    options.arena = b->arena;
    b->from[0] = redist_arena_alloc(b->arena, slab_bytes(b));
    b->to[0] = redist_arena_alloc(b->arena, slab_bytes(b));
    succeed(redist_plan_create(MPI_COMM_WORLD, &planes, &lines, MPI_C_DOUBLE_COMPLEX, &options, &b->plan));
    b->planes = fftw_plan_many_dft(2, plane, (int)b->rows, b->from[0], NULL, 1, n * n, b->from[0], NULL, 1, n * n, FFTW_FORWARD,
                                   (unsigned)b->effort);
    b->lines = fftw_plan_many_dft(1, &n, (int)b->columns * n, b->to[0], NULL, 1, n, b->to[0], NULL, 1, n, FFTW_FORWARD,
                                  (unsigned)b->effort);
}

static void create_fftw(bench *b)
{
    ptrdiff_t n = b->n, rows, first, columns, begin;
    size_t count = (size_t)fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &rows, &first, &columns, &begin);
    unsigned flags = (unsigned)b->effort | FFTW_MPI_TRANSPOSED_OUT;
    b->rows = rows, b->first = first, b->columns = columns;
    for (int k = 1; k < CONTESTANTS; k++) {
        b->from[k] = fftw_alloc_complex(count);
        b->to[k] = k == 1 ? b->from[k] : fftw_alloc_complex(count);
        if (!b->from[k] || !b->to[k])
            give_up("not enough memory");
        b->mpi[k - 1] = fftw_mpi_plan_dft_3d(n, n, n, b->from[k], b->to[k], MPI_COMM_WORLD, FFTW_FORWARD, flags | FFTW_DESTROY_INPUT);
    }
}

static void run_redist(bench *b)
{
    if (b->planes)
        fftw_execute(b->planes);
    succeed(redist_execute(b->plan, b->from[0], b->to[0]));
    if (b->lines)
        fftw_execute(b->lines);
}

static void run(bench *b, int contestant)
{
    if (contestant == 0)
        run_redist(b);
    else
        fftw_execute(b->mpi[contestant - 1]);
}

static void destroy(bench *b)
{
    fftw_destroy_plan(b->planes);
    fftw_destroy_plan(b->lines);
    redist_plan_free(&b->plan);
    redist_arena_free(&b->arena);
    for (int k = 1; k < CONTESTANTS; k++) {
        fftw_destroy_plan(b->mpi[k - 1]);
        fftw_free(b->from[k]);
        if (b->to[k] != b->from[k])
            fftw_free(b->to[k]);
    }
}

/* ---- measuring ---- */

static void fill(const bench *b, number *a)
{
    uint64_t h = (uint64_t)b->first * 7919 + 1;
    for (int64_t i = 0; i < b->rows * b->n * b->n; i++) {
        h = h * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        a[i] = (double)(h >> 40) / 8388608.0 - 1 + I * ((double)(h >> 20 & 0xfffff) / 524288.0 - 1);
    }
}

static double difference(const bench *b, int contestant)
{
    double both[2] = {0, 0};
    for (int64_t y = 0; y < b->columns; y++)
        for (int64_t i = 0; i < b->n * b->n; i++) {
            int64_t x = i / b->n, z = i % b->n;
            number theirs = b->to[contestant][y * b->n * b->n + i];
            both[0] = fmax(both[0], cabs(b->to[0][(y * b->n + z) * b->n + x] - theirs));
            both[1] = fmax(both[1], cabs(theirs));
        }
    maxima(both, 2);
    return both[0] / both[1];
}

static double measure(bench *b)
{
    double error = 0;
    for (int64_t r = -1; r < b->repetitions; r++) {
        for (int k = 0; k < CONTESTANTS; k++) {
            double seconds;
            fill(b, b->from[k]);
            barrier();
            seconds = MPI_Wtime();
            run(b, k);
            seconds = MPI_Wtime() - seconds;
            maxima(&seconds, 1);
            if (r >= 0)
                b->times[k][r] = seconds;
        }
    }
    for (int k = 1; k < CONTESTANTS; k++)
        error = fmax(error, difference(b, k));
    return error;
}

static double median(double *times, int64_t count)
{
    qsort(times, (size_t)count, sizeof *times, compare_times);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

/* Returns whether the results agree. */
static int compare(bench *b)
{
    double error, time[CONTESTANTS];
    create_fftw(b);
    create_redist(b);
    error = measure(b);
    for (int k = 0; k < CONTESTANTS; k++)
        time[k] = median(b->times[k], b->repetitions);
    if (b->rank == 0)
        printf("%4lld^3 %14.3f %20.3f %24.3f %7.2f   %s (%.0e)\n", (long long)b->n, 1e3 * time[0], 1e3 * time[1], 1e3 * time[2],
               fmin(time[1], time[2]) / time[0], error < 1e-12 ? "the same result" : "WRONG", error);
    destroy(b);
    return error < 1e-12;
}

static int compare_all(bench *b)
{
    int same = 1;
    for (int k = 0; k < CONTESTANTS; k++)
        b->times[k] = allocate((size_t)b->repetitions * sizeof(double));
    if (b->rank == 0)
        printf("%d ranks, milliseconds; the last column: the faster of FFTW-MPI's over redist's\n%6s %14s %20s %24s\n", b->ranks, "",
               names[0], names[1], names[2]);
    for (b->n = b->fewest; b->n <= b->most; b->n *= 2)
        same = compare(b) && same;
    for (int k = 0; k < CONTESTANTS; k++)
        free(b->times[k]);
    return same;
}

/* ---- the command line ---- */

int main(int argc, char **argv)
{
    bench b;
    memset(&b, 0, sizeof b);
    b.repetitions = 15;
    b.fewest = 64;
    b.most = 256;
    b.effort = FFTW_MEASURE;
    const option table[] = {
        {.name = "--repetitions", .argument = "K", .integer = &b.repetitions, .least = 1, .most = 10000, .help = "of each (default 15)"},
        {.name = "--from", .argument = "N", .integer = &b.fewest, .least = 2, .most = 1024, .help = "N^3 numbers first (default 64)"},
        {.name = "--to", .argument = "N", .integer = &b.most, .least = 2, .most = 1024, .help = "then doubled up to N (default 256)"},
        {.name = "--effort", .argument = "NAME", .choice = &b.effort, .choices = efforts, 
         .help = "FFTW's planner: estimate, measure or patient (default measure)"},
        {.name = NULL}};
    char wrong[512];
    options_result result;
    int same = 1;
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    result = options_read(table, argc, argv, wrong, sizeof wrong);
    if (result == OPTIONS_HELP && b.rank == 0) {
        printf("usage: mpiexec -n RANKS fft [OPTION VALUE]...\n\n");
        options_help(table);
    }
    if (result == OPTIONS_WRONG && b.rank == 0)
        fprintf(stderr, "fft: %s\n", wrong);
    if (result == OPTIONS_RUN)
        same = compare_all(&b);
    MPI_Finalize();
    return result == OPTIONS_WRONG ? 2 : !same;
}
