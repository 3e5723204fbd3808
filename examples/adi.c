/* The heat equation by alternating directions, with two redistributions each time step. MIT licence, see LICENSE.

   u_t = u_xx + u_yy on the unit square, u = 0 on its boundary, by the scheme of Peaceman and Rachford. With Dx and Dy
   the second differences along x and y, and a = dt / 2, a time step is two half steps:

       (1 - a Dx) u' = (1 + a Dy) u          implicit along x, explicit along y
       (1 - a Dy) u" = (1 + a Dx) u'         implicit along y, explicit along x

   Each needs whole rows or whole columns, so the array changes between two layouts: rows dealt out over the ranks, and
   columns dealt out. What a half step needs of the other direction is evaluated before the array leaves the layout in
   which that direction is local: the array that travels is (1 + a D) u. It comes free with the solution, since the
   solution u of (1 - a D) u = w has (1 + a D) u = 2 u - w. So a step is: to rows, sweep, to columns, sweep; no halos, no
   other messages.

   Both layouts store the direction of the sweep slowest (rows: column-major, columns: row-major). One routine
   then serves both directions, and solves for many neighbouring lines at once with unit stride; that the array is stored
   in another order on the other side of a redistribution is the plan's business, not ours.

   Started from a picture, the boundary is insulated instead (no flux), and a point is a pixel. */
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <unistd.h>

#include "options.h"
#include "pgm.h"
#include "redist_plan.h"

/* ---- the sweeps ---- */

enum { STRIP = 32 }; /* lines solved at once: some cache lines wide, yet a strip of a long line stays in the cache */

/* (1 - a D) for lines of one length, factored: the matrix is the same for every line and step. */
typedef struct {
    int64_t length;
    double ratio;     /* a / h^2 */
    int insulated;    /* the boundary: no flux, or else u = 0 */
    double *inverse;  /* of the pivots */
    double *strip;    /* length + 2 rows of STRIP values; the first and the last row stay 0 */
} tridiagonal;

static double diagonal(const tridiagonal *t, int64_t k)
{
    int ends = (k == 0) + (k == t->length - 1);
    return 1 + t->ratio * (2 - (t->insulated ? ends : 0));
}

static int tridiagonal_create(tridiagonal *t, int64_t length, double ratio, int insulated)
{
    double above = 0;
    *t = (tridiagonal){length, ratio, insulated, NULL, NULL};
    t->inverse = malloc((size_t)length * sizeof *t->inverse);
    t->strip = calloc((size_t)length + 2, STRIP * sizeof *t->strip);
    if (!t->inverse || !t->strip)
        return 0;
    for (int64_t k = 0; k < length; k++)
        above = t->inverse[k] = 1 / (diagonal(t, k) - ratio * ratio * above);
    return 1;
}

static void tridiagonal_free(tridiagonal *t)
{
    free(t->inverse);
    free(t->strip);
}

/* Point k of line l is w[k * lines + l]. Forward elimination, from w into the strip. */
static void eliminate(const tridiagonal *t, const double *w, int64_t lines, int64_t width)
{
    for (int64_t k = 0; k < t->length; k++) {
        double *y = t->strip + (k + 1) * STRIP;
        for (int64_t l = 0; l < width; l++)
            y[l] = (w[k * lines + l] + t->ratio * y[l - STRIP]) * t->inverse[k];
    }
}

/* Back substitution, from the strip into w: the solution u, or with onward = 1 2 u - w. */
static void substitute(const tridiagonal *t, double *w, int64_t lines, int64_t width, double onward)
{
    for (int64_t k = t->length - 1; k >= 0; k--) {
        double *u = t->strip + (k + 1) * STRIP, factor = t->ratio * t->inverse[k];
        for (int64_t l = 0; l < width; l++) {
            u[l] += factor * u[l + STRIP];
            w[k * lines + l] = u[l] + onward * (u[l] - w[k * lines + l]);
        }
    }
}

/* u becomes (1 + a D) u, by way of the strip. */
static void evaluate(const tridiagonal *t, double *u, int64_t lines, int64_t width)
{
    for (int64_t k = 0; k < t->length; k++)
        memcpy(t->strip + (k + 1) * STRIP, u + k * lines, (size_t)width * sizeof *u);
    for (int64_t k = 0; k < t->length; k++) {
        const double *here = t->strip + (k + 1) * STRIP;
        double middle = 2 - diagonal(t, k);
        for (int64_t l = 0; l < width; l++)
            u[k * lines + l] = middle * here[l] + t->ratio * (here[l - STRIP] + here[l + STRIP]);
    }
}

/* What a sweep makes of the array, for all lines. */
typedef enum {
    EXPLICIT, /* u becomes (1 + a D) u: before the first step                       */
    HALFWAY,  /* w becomes (1 + a D) u, where (1 - a D) u = w: the usual half step */
    SOLUTION  /* w becomes u, where (1 - a D) u = w: the last half step            */
} purpose;

static void sweep(const tridiagonal *t, double *w, int64_t lines, purpose what)
{
    for (int64_t first = 0; first < lines; first += STRIP) {
        int64_t width = lines - first < STRIP ? lines - first : STRIP;
        if (what == EXPLICIT) {
            evaluate(t, w + first, lines, width);
        } else {
            eliminate(t, w + first, lines, width);
            substitute(t, w + first, lines, width, what == HALFWAY);
        }
    }
}

/* ---- the problem ---- */

typedef struct {
    int64_t n, steps, block;
    double dt;
    int method;
    const char *picture, *from;
} settings;

typedef struct {
    settings set;
    int rank, ranks;
    pgm picture;                    /* its values are on rank 0 only */
    int64_t height, width;          /* y and x */
    double spacing;
    redist_axis y, x;               /* dealt out */
    redist_layout rows, columns, whole;
    redist_plan *to_rows, *to_columns;
    double *by_rows, *by_columns;   /* the field, in either layout */
    tridiagonal along_x, along_y;
    double planning, sweeping, redistributing; /* seconds */
    double mean;                    /* of the picture at the start */
} heat;

static const option_choice methods[] = {{"auto", REDIST_AUTO},
                                        {"alltoallv", REDIST_ALLTOALLV},
                                        {"alltoallw", REDIST_ALLTOALLW},
                                        {"point_to_point", REDIST_POINT_TO_POINT},
                                        {"scheduled", REDIST_SCHEDULED},
                                        {"multiphase", REDIST_MULTIPHASE},
                                        {"shared", REDIST_SHARED},
                                        {NULL, 0}};

/* Rank 0 says what is wrong. Returns the exit status. */
static int fail(const heat *h, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (h->rank == 0) {
        fprintf(stderr, "adi: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
    }
    va_end(arguments);
    return 1;
}

static int everywhere(int ok)
{
    int all = 0;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static double maximum(double value)
{
    double all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static double total(double value)
{
    double all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int64_t local_rows(const heat *h)
{
    return redist_count(&h->y, h->rank);
}

static int64_t local_columns(const heat *h)
{
    return redist_count(&h->x, h->rank);
}

/* ---- plans and arrays ---- */

static int create_plan(heat *h, const redist_layout *from, const redist_layout *to, redist_plan **plan)
{
    char message[256] = "";
    redist_options options;
    double begin = MPI_Wtime();
    memset(&options, 0, sizeof options);
    options.method = (redist_method)h->set.method;
    options.message = message;
    options.message_size = sizeof message;
    int code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, plan);
    h->planning += MPI_Wtime() - begin;
    return code == REDIST_OK ? 0 : fail(h, "%s: %s", redist_strerror(code), message);
}

static void execute(const heat *h, redist_plan *plan, const double *from, double *to)
{
    int code = redist_execute(plan, from, to);
    if (code != REDIST_OK)
        MPI_Abort(MPI_COMM_WORLD, fail(h, "rank %d: %s", h->rank, redist_strerror(code)));
}

/* A redistribution that happens only once. */
static int move_once(heat *h, const redist_layout *from, const double *a, const redist_layout *to, double *b)
{
    redist_plan *plan = NULL;
    int status = create_plan(h, from, to, &plan);
    if (status == 0) {
        execute(h, plan, a, b);
        redist_plan_free(&plan);
    }
    return status;
}

static redist_axis deal(const heat *h, int64_t n)
{
    return h->set.block > 0 ? redist_block_cyclic(n, h->set.block, h->ranks) : redist_block(n, h->ranks);
}

static void lay_out(heat *h)
{
    redist_axis all_y = redist_whole(h->height), all_x = redist_whole(h->width);
    h->y = deal(h, h->height);
    h->x = deal(h, h->width);
    h->rows = redist_memory_order(redist_layout_2d(h->y, all_x), REDIST_COLUMN_MAJOR);
    h->columns = redist_layout_2d(all_y, h->x);
    h->whole = redist_layout_2d(all_y, all_x);
}

/* Room for this rank's part of a layout; NULL when memory is short. */
static double *allocate(const heat *h, const redist_layout *layout)
{
    int64_t elements = redist_layout_alloc(layout, h->rank);
    return malloc(elements > 0 ? (size_t)elements * sizeof(double) : 1);
}

static int prepare(heat *h)
{
    int insulated = h->set.from != NULL, ok, status;
    double ratio = h->set.dt / (2 * h->spacing * h->spacing);
    lay_out(h);
    h->by_rows = allocate(h, &h->rows);
    h->by_columns = allocate(h, &h->columns);
    ok = h->by_rows && h->by_columns;
    ok = tridiagonal_create(&h->along_x, h->width, ratio, insulated) && ok;
    ok = tridiagonal_create(&h->along_y, h->height, ratio, insulated) && ok;
    if (!everywhere(ok))
        return fail(h, "not enough memory");
    status = create_plan(h, &h->columns, &h->rows, &h->to_rows);
    if (status == 0)
        status = create_plan(h, &h->rows, &h->columns, &h->to_columns);
    h->planning = maximum(h->planning);
    return status;
}

static void finish(heat *h)
{
    if (h->to_rows)
        redist_plan_free(&h->to_rows);
    if (h->to_columns)
        redist_plan_free(&h->to_columns);
    tridiagonal_free(&h->along_x);
    tridiagonal_free(&h->along_y);
    free(h->by_rows);
    free(h->by_columns);
    free(h->picture.values);
}

/* ---- start and end ---- */

/* Rank 0 reads the picture, all ranks learn its size or that it cannot be read. */
static int read_picture(heat *h)
{
    const char *wrong = h->rank == 0 ? pgm_read(h->set.from, &h->picture) : NULL;
    int64_t header[4] = {wrong != NULL, h->picture.width, h->picture.height, h->picture.white};
    MPI_Bcast(header, 4, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (header[0])
        return fail(h, "%s: %s", h->set.from, wrong);
    h->width = h->picture.width = header[1];
    h->height = h->picture.height = header[2];
    h->picture.white = (int)header[3];
    h->spacing = 1;
    return 0;
}

/* sin(pi x) at each interior point. */
static double wave(const heat *h, int64_t i)
{
    return sin(acos(-1) * (double)(i + 1) * h->spacing);
}

static void start_with_waves(const heat *h)
{
    int64_t lines = local_columns(h);
    for (int64_t i = 0; i < h->height; i++)
        for (int64_t l = 0; l < lines; l++)
            h->by_columns[i * lines + l] = wave(h, i) * wave(h, redist_global(&h->x, h->rank, l));
}

/* The largest difference of the field from amplitude times the waves. */
static double difference(const heat *h, double amplitude)
{
    double worst = 0;
    int64_t lines = local_columns(h);
    for (int64_t i = 0; i < h->height; i++)
        for (int64_t l = 0; l < lines; l++) {
            double waves = wave(h, i) * wave(h, redist_global(&h->x, h->rank, l));
            worst = fmax(worst, fabs(h->by_columns[i * lines + l] - amplitude * waves));
        }
    return maximum(worst);
}

static double mean(const heat *h)
{
    double sum = 0;
    for (int64_t i = 0; i < h->height * local_columns(h); i++)
        sum += h->by_columns[i];
    return total(sum) / ((double)h->height * (double)h->width);
}

/* One layout on one rank is all it takes to scatter the picture; and below, to gather it. */
static int start(heat *h)
{
    if (!h->set.from) {
        start_with_waves(h);
        return 0;
    }
    int status = move_once(h, &h->whole, h->picture.values, &h->columns, h->by_columns);
    h->mean = mean(h);
    return status;
}

static double brightest(const pgm *picture)
{
    double most = 0;
    for (int64_t i = 0; i < picture->width * picture->height; i++)
        most = fmax(most, picture->values[i]);
    return most;
}

/* A picture keeps its grey values; otherwise the largest value becomes white. */
static const char *write_picture(const heat *h)
{
    double most = h->set.from ? h->picture.white : brightest(&h->picture);
    return pgm_write(h->set.picture, &h->picture, most > 0 ? h->picture.white / most : 0);
}

static int save(heat *h)
{
    const char *wrong;
    int ok;
    if (h->rank == 0 && !h->picture.values)
        h->picture.values = allocate(h, &h->whole);
    if (!everywhere(h->rank != 0 || h->picture.values))
        return fail(h, "not enough memory on rank 0 for the picture");
    if (move_once(h, &h->columns, h->by_columns, &h->whole, h->picture.values) != 0)
        return 1;
    wrong = h->rank == 0 ? write_picture(h) : NULL;
    ok = everywhere(wrong == NULL);
    return ok ? 0 : fail(h, "%s: %s", h->set.picture, wrong);
}

/* ---- the march ---- */

/* A line on a terminal, erased at the end. */
static void progress(const heat *h, int64_t step)
{
    if (h->rank != 0 || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rstep %lld of %lld", (long long)step, (long long)h->set.steps);
    if (step == h->set.steps)
        fprintf(stderr, "\r%*s\r", 48, "");
}

static void timed_execute(heat *h, redist_plan *plan, const double *from, double *to)
{
    double begin = MPI_Wtime();
    execute(h, plan, from, to);
    h->redistributing += MPI_Wtime() - begin;
}

static void timed_sweep(heat *h, const tridiagonal *t, double *w, int64_t lines, purpose what)
{
    double begin = MPI_Wtime();
    sweep(t, w, lines, what);
    h->sweeping += MPI_Wtime() - begin;
}

static void march(heat *h)
{
    int64_t rows = local_rows(h), columns = local_columns(h), steps = h->set.steps;
    if (steps > 0)
        timed_sweep(h, &h->along_y, h->by_columns, columns, EXPLICIT);
    for (int64_t step = 1; step <= steps; step++) {
        timed_execute(h, h->to_rows, h->by_columns, h->by_rows);
        timed_sweep(h, &h->along_x, h->by_rows, rows, HALFWAY);
        timed_execute(h, h->to_columns, h->by_rows, h->by_columns);
        timed_sweep(h, &h->along_y, h->by_columns, columns, step < steps ? HALFWAY : SOLUTION);
        progress(h, step);
    }
}

/* ---- the report ---- */

static void report_traffic(const heat *h)
{
    redist_stats one, other;
    double mine[3], all[3] = {0, 0, 0};
    redist_plan_stats(h->to_rows, &one);
    redist_plan_stats(h->to_columns, &other);
    mine[0] = (double)(one.sends + other.sends);
    mine[1] = (double)(one.bytes_sent + other.bytes_sent);
    mine[2] = (double)(one.bytes_kept + other.bytes_kept);
    MPI_Reduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (h->rank == 0) {
        printf("  methods          %s to rows, %s to columns\n", option_choice_name(methods, (int)one.method),
               option_choice_name(methods, (int)other.method));
        printf("  each step        %.0f messages of %.2f MB together; %.2f MB stay on their ranks\n", all[0], all[1] / 1e6,
               all[2] / 1e6);
    }
}

static void report_times(const heat *h)
{
    double sweeping = maximum(h->sweeping), redistributing = maximum(h->redistributing);
    double each = h->set.steps > 0 ? 1e3 / (double)h->set.steps : 0;
    if (h->rank == 0) {
        printf("  creating plans   %8.3f s\n", h->planning);
        printf("  sweeping         %8.3f s  %8.3f ms each step\n", sweeping, sweeping * each);
        printf("  redistributing   %8.3f s  %8.3f ms each step\n", redistributing, redistributing * each);
    }
}

/* What one half step in either direction, and so a step in both, makes of a wave: the scheme's own exact solution. */
static double scheme_amplitude(const heat *h)
{
    double half = sin(acos(-1) * h->spacing / 2), a_lambda = 4 * h->along_x.ratio * half * half;
    return pow((1 - a_lambda) / (1 + a_lambda), 2 * (double)h->set.steps);
}

static int judge(const heat *h, const char *what, double rounding)
{
    int good = rounding < 1e-9;
    if (h->rank == 0)
        printf("  %s %.1e: %s\n", what, rounding, good ? "right" : "WRONG");
    return !good;
}

static int report_waves(const heat *h)
{
    double t = (double)h->set.steps * h->set.dt, amplitude = exp(-2 * pow(acos(-1), 2) * t);
    double error = difference(h, amplitude);
    if (h->rank == 0)
        printf("  error            %.2e of %.2e, against exp(-2 pi^2 t) sin(pi x) sin(pi y)\n", error, amplitude);
    return judge(h, "rounding        ", difference(h, scheme_amplitude(h)));
}

static int report_picture(const heat *h)
{
    double now = mean(h);
    if (h->rank == 0)
        printf("  mean grey        %.6f at the start, %.6f at the end\n", h->mean, now);
    return judge(h, "heat lost       ", fabs(now - h->mean) / fmax(1, h->mean));
}

static void report_problem(const heat *h)
{
    char blocks[64] = "one block for each rank";
    if (h->rank != 0)
        return;
    if (h->set.block > 0)
        snprintf(blocks, sizeof blocks, "blocks of %lld in turn", (long long)h->set.block);
    printf("heat equation by ADI: %lld x %lld points, %lld steps of %g on %d rank%s\n", (long long)h->width, (long long)h->height,
           (long long)h->set.steps, h->set.dt, h->ranks, h->ranks > 1 ? "s" : "");
    printf("  rows, columns    %s\n", blocks);
}

static int report(const heat *h)
{
    report_problem(h);
    report_traffic(h);
    report_times(h);
    return h->set.from ? report_picture(h) : report_waves(h);
}

/* ---- the command line ---- */

static void help(const option *table)
{
    printf("usage: mpiexec -n RANKS adi [OPTION VALUE]...\n"
           "The heat equation by alternating directions, on n x n points of the unit square with u = 0 on the boundary, from\n"
           "u = sin(pi x) sin(pi y); or from a picture, smoothed with an insulated boundary, points one unit apart.\n\n");
    options_help(table);
}

/* Returns the exit status, or -1 to go on. */
static int read_settings(heat *h, int argc, char **argv)
{
    settings *s = &h->set;
    const option table[] = {
        {.name = "--n", .argument = "N", .integer = &s->n, .least = 1, .most = 1000000,
         .help = "points along each side (default 1000)"},
        {.name = "--steps", .argument = "K", .integer = &s->steps, .most = 1e9, .help = "time steps (default 100)"},
        {.name = "--dt", .argument = "DT", .real = &s->dt, .least = 1e-300, .most = 1e6,
         .help = "time step (default 0.1 / K; 0.2 for a picture)"},
        {.name = "--method", .argument = "NAME", .choice = &s->method, .choices = methods,
         .help = "auto, alltoallv, alltoallw, point_to_point or shared (default auto)"},
        {.name = "--block", .argument = "B", .integer = &s->block, .least = 1, .most = INT_MAX,
         .help = "deal rows and columns out in blocks of B (default one block each)"},
        {.name = "--picture", .argument = "FILE", .text = &s->picture, .help = "write the field at the end as a PGM picture"},
        {.name = "--from", .argument = "FILE", .text = &s->from, .help = "start from a PGM picture (P2 or P5) instead"},
        {.name = NULL}};
    char wrong[512];
    options_result result = options_read(table, argc, argv, wrong, sizeof wrong);
    if (result == OPTIONS_HELP && h->rank == 0)
        help(table);
    if (result == OPTIONS_RUN && s->from && s->n > 0) {
        snprintf(wrong, sizeof wrong, "--n and --from exclude each other");
        result = OPTIONS_WRONG;
    }
    if (result == OPTIONS_WRONG)
        fail(h, "%s", wrong);
    return result == OPTIONS_RUN ? -1 : result == OPTIONS_HELP ? 0 : 2;
}

static void set_defaults(heat *h)
{
    settings *s = &h->set;
    if (s->n == 0)
        s->n = 1000;
    if (s->dt <= 0)
        s->dt = s->from ? 0.2 : 0.1 / (double)(s->steps > 0 ? s->steps : 1);
    h->height = h->width = h->picture.height = h->picture.width = s->n;
    h->picture.white = 255;
    h->spacing = 1 / (double)(s->n + 1);
}

static int run(heat *h)
{
    int status;
    set_defaults(h);
    if (h->set.from && read_picture(h) != 0)
        return 1;
    status = prepare(h);
    if (status == 0)
        status = start(h);
    if (status == 0) {
        march(h);
        status = report(h);
        if (h->set.picture && save(h) != 0)
            status = 1;
    }
    return status;
}

int main(int argc, char **argv)
{
    heat h;
    int status;
    memset(&h, 0, sizeof h);
    h.set.steps = 100;
    h.set.method = REDIST_AUTO;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &h.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &h.ranks);
    status = read_settings(&h, argc, argv);
    if (status < 0)
        status = run(&h);
    finish(&h);
    MPI_Finalize();
    return status;
}
