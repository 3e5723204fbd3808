/* The Navier-Stokes equations by a pseudo-spectral method, with 18 redistributions each time step. MIT licence, see LICENSE.

   An incompressible flow in a periodic box of side 2 pi, from the vortex of Taylor and Green,

       u_t = u x omega - grad(p + u^2 / 2) + nu laplace u,    div u = 0,    omega = curl u.

   The unknowns are Fourier modes: there derivatives are products, and taking the divergence away is a projection. The
   product u x omega is formed at the points of the grid. So each stage of a step takes u and omega from modes to points
   and their product back: 9 Fourier transforms, real to complex. What there is to learn here about redist:

   - Pencils: the array (x, y, z) is dealt out over p1 x p2 ranks with x, y or z whole, and goes from one to the next.
     All candidates for p1 x p2 are compared on paper (redist_cost_of, redist_calibrate) before anything is allocated.
   - Several arrays in one message: a vector's three components travel together (options.arrays).
   - Dealiasing: a product of modes |k| < n / 3 spoils none of these, so all others are cut off, as soon as the axis has
     been transformed. A section of a layout shows only the modes that remain: the others never travel (5 / 9 stay home).
   - One memory for all that travels (an arena): ranks of a node copy from array to array.
   - Files and pictures: a layout is also what a file looks like. One plan turns pencils into slabs, which are contiguous
     in the file; the file says nothing about ranks, so that any number of them can go on from it. Another plan takes a
     plane of the points to rank 0.

   Stages follow Williamson's third-order Runge-Kutta scheme with two arrays; viscosity is integrated exactly, by a factor
   exp(-nu k^2 t). In two dimensions u x omega is a gradient, so that the computed decay is exact but for rounding. With
   u x omega perpendicular to u at every point, the energy E of the modes obeys dE/dt = -2 nu Z but for rounding, where the
   enstrophy Z is the mean of omega^2 / 2: dE/dt is taken from the right-hand side, Z at the points. */
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

#include <fftw3.h>

#include "options.h"
#include "pgm.h"
#include "redist_plan.h"

typedef double complex number;

enum { STAGES = 3, VECTOR = 3, MOST_POINTS = 32768 };

typedef struct { number *part[VECTOR]; } field; /* x, y and z component on one of the pencils */

/* The axes of a pencil in the order of its storage, and where among them x, y and z are. */
typedef struct { int storage[3], view[3]; } pencil_shape;

static const pencil_shape shapes[3] = {{{1, 2, 0}, {2, 0, 1}},  /* y z x */
                                       {{0, 2, 1}, {0, 2, 1}},  /* x z y */
                                       {{0, 1, 2}, {0, 1, 2}}}; /* x y z */

/* Axes before the whole one are modes already, those after it are points still. */
typedef struct {
    redist_axis axes[3];   /* in the order of storage; the last is whole */
    redist_layout layout;  /* seen as (x, y, z) */
    int64_t first[2], count[3], lines;
    fftw_plan forward, backward; /* of all lines of one component, in place */
} pencil;

typedef struct {
    int64_t n, nz, dimensions, steps, p1;
    double nu, dt;
    const char *csv, *picture, *save, *restart;
} settings;

/* What the energy does at one time. */
typedef struct { double time, energy, rate, enstrophy; } state;

typedef struct {
    settings set;
    int rank, ranks, grid[2], stage;
    int64_t points[3], modes[3], step, first_step; /* modes: those that are kept */
    double *wave[3];                       /* this rank's wave numbers */
    double *decay;                         /* of one line of modes */
    pencil pencils[3];
    redist_plan *down[2], *up[2];          /* from pencil w to w + 1, and from w + 1 to w */
    redist_arena *arena;
    field velocity, change;                /* modes: what is solved for, and the sum of the stages */
    field work, between, flow, spin;       /* modes, halfway, points, points */
    state now, peak;                       /* peak: when the most energy was lost */
    double unbalanced;                     /* the worst so far */
    FILE *csv;
    double planning, transforming, redistributing, marching; /* seconds */
} solver;

static int fail(const solver *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (s->rank == 0) {
        fprintf(stderr, "taylor_green: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
    }
    va_end(arguments);
    return 1;
}

/* MPI's own waiting may spin, at the cost of ranks that share a core. */
static void reduce(double *values, int count, MPI_Op op)
{
    MPI_Request request;
    int done = 0;
    MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
        sched_yield();
}

static double maximum(double value)
{
    reduce(&value, 1, MPI_MAX);
    return value;
}

static int everywhere(int ok)
{
    return maximum(!ok) < 0.5;
}

/* ---- pencils ---- */

/* Modes of an axis: 0, 1, ..., K and, but for x, -K, ..., -1 with K < n / 3. */
static int64_t negative_modes(const solver *s, int axis)
{
    return axis > 0 ? s->modes[axis] / 2 : 0;
}

/* Complex numbers in a line of a pencil: room for all modes, or for the points. */
static int64_t line_length(const solver *s, int which)
{
    return which > 0 ? s->points[which] : s->points[0] / 2 + 1;
}

static redist_layout lay_out(const solver *s, int which, const int *grid, redist_axis *axes)
{
    const pencil_shape *shape = &shapes[which];
    for (int d = 0; d < 2; d++) {
        int axis = shape->storage[d];
        axes[d] = redist_balanced(axis < which ? s->modes[axis] : s->points[axis], grid[d]);
    }
    axes[2] = redist_whole(line_length(s, which));
    return redist_permuted(redist_layout_nd(3, axes), shape->view);
}

/* The same after the transform along its lines: only the modes that are kept, which then come first. */
static redist_layout kept(const solver *s, int which, redist_layout layout)
{
    return redist_section(layout, which, 0, s->modes[which], 1);
}

/* Seconds that a vector takes from points to modes on a grid of ranks, by the cost model. */
static double predict(const solver *s, const int *grid, const redist_cost *cost)
{
    double seconds = 0;
    for (int which = 0; which < 2; which++) {
        redist_axis axes[3];
        redist_layout from = kept(s, which, lay_out(s, which, grid, axes)), to = lay_out(s, which + 1, grid, axes);
        seconds += redist_cost_of(&from, &to, VECTOR * sizeof(number), cost);
    }
    return seconds;
}

static int choose_grid(solver *s)
{
    redist_cost cost;
    double least = HUGE_VAL;
    int code = redist_calibrate(MPI_COMM_WORLD, &cost);
    if (code != REDIST_OK)
        return fail(s, redist_strerror(code));
    for (int p1 = 1; p1 <= s->ranks; p1++) {
        int grid[2] = {p1, s->ranks / p1};
        double seconds;
        if (s->ranks % p1 != 0 || (s->set.p1 > 0 && s->set.p1 != p1))
            continue;
        seconds = predict(s, grid, &cost);
        if (s->rank == 0)
            printf("  on %3d x %-3d ranks %8.3f ms, as predicted, from points to modes\n", grid[0], grid[1], 1e3 * seconds);
        if (seconds < least) {
            least = seconds;
            memcpy(s->grid, grid, sizeof grid);
        }
    }
    return least < HUGE_VAL ? 0 : fail(s, "--p1 %lld does not divide the %d ranks", (long long)s->set.p1, s->ranks);
}

static void create_pencil(solver *s, int which)
{
    pencil *p = &s->pencils[which];
    int coords[3];
    p->layout = lay_out(s, which, s->grid, p->axes);
    redist_layout stored = redist_layout_nd(3, p->axes);
    redist_coords_of(&stored, s->rank, coords);
    for (int d = 0; d < 3; d++)
        p->count[d] = redist_count(&p->axes[d], coords[d]);
    for (int d = 0; d < 2; d++)
        p->first[d] = p->count[d] > 0 ? redist_global(&p->axes[d], coords[d], 0) : 0;
    p->lines = p->count[0] * p->count[1];
}

/* ---- memory and plans ---- */

static size_t component_bytes(const solver *s, int which)
{
    size_t bytes = (size_t)(s->pencils[which].lines * s->pencils[which].count[2] + 1) * sizeof(number);
    return (bytes + 63) / 64 * 64;
}

static int allocate_field(solver *s, int which, field *f)
{
    for (int c = 0; c < VECTOR; c++) {
        f->part[c] = redist_arena_alloc(s->arena, component_bytes(s, which));
        if (!f->part[c])
            return 0;
        memset(f->part[c], 0, component_bytes(s, which));
    }
    return 1;
}

static int allocate_fields(solver *s)
{
    size_t bytes = VECTOR * (3 * component_bytes(s, 2) + component_bytes(s, 1) + 2 * component_bytes(s, 0));
    int code = redist_arena_create(MPI_COMM_WORLD, bytes, &s->arena);
    if (code != REDIST_OK)
        return fail(s, redist_strerror(code));
    if (!everywhere(allocate_field(s, 2, &s->velocity) && allocate_field(s, 2, &s->change) && allocate_field(s, 2, &s->work) &&
                    allocate_field(s, 1, &s->between) && allocate_field(s, 0, &s->flow) && allocate_field(s, 0, &s->spin)))
        return fail(s, "not enough memory");
    return 0;
}

/* A rank without lines needs no plans. */
static int plan_transforms(pencil *p, int which, int n, number *a)
{
    int length = (int)p->count[2], lines = (int)p->lines;
    double *real = (double *)a;
    if (lines == 0)
        return 1;
    if (which == 0) {
        p->forward = fftw_plan_many_dft_r2c(1, &n, lines, real, NULL, 1, 2 * length, a, NULL, 1, length, FFTW_ESTIMATE);
        p->backward = fftw_plan_many_dft_c2r(1, &n, lines, a, NULL, 1, length, real, NULL, 1, 2 * length, FFTW_ESTIMATE);
    } else {
        p->forward = fftw_plan_many_dft(1, &n, lines, a, NULL, 1, n, a, NULL, 1, n, FFTW_FORWARD, FFTW_ESTIMATE);
        p->backward = fftw_plan_many_dft(1, &n, lines, a, NULL, 1, n, a, NULL, 1, n, FFTW_BACKWARD, FFTW_ESTIMATE);
    }
    return p->forward && p->backward;
}

static int create_plan(solver *s, const redist_layout *from, const redist_layout *to, redist_arena *arena, redist_plan **plan)
{
    char message[256] = "";
    redist_options options;
    memset(&options, 0, sizeof options);
    options.arrays = VECTOR;
    options.arena = arena;
    options.message = message;
    options.message_size = sizeof message;
    int code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_C_DOUBLE_COMPLEX, &options, plan);
    return code == REDIST_OK ? 0 : fail(s, "%s: %s", redist_strerror(code), message);
}

static int create_plans(solver *s)
{
    int status = 0;
    for (int which = 0; which < 2 && status == 0; which++) {
        redist_layout upper = kept(s, which, s->pencils[which].layout), *lower = &s->pencils[which + 1].layout;
        status = create_plan(s, &upper, lower, s->arena, &s->down[which]);
        if (status == 0)
            status = create_plan(s, lower, &upper, s->arena, &s->up[which]);
    }
    return status;
}

static int set_waves(solver *s)
{
    const pencil *p = &s->pencils[2];
    for (int d = 0; d < 3; d++) {
        int64_t count = d < 2 ? p->count[d] : s->modes[2], first = d < 2 ? p->first[d] : 0;
        s->wave[d] = malloc(((size_t)count + 1) * sizeof(double));
        if (!s->wave[d])
            return 0;
        for (int64_t i = 0; i < count; i++) {
            int64_t k = first + i;
            s->wave[d][i] = (double)(k < s->modes[d] - negative_modes(s, d) ? k : k - s->modes[d]);
        }
    }
    s->decay = malloc((size_t)s->modes[2] * sizeof(double));
    return s->decay != NULL;
}

static int prepare(solver *s)
{
    number *any[3];
    int ok = 1;
    double begin = MPI_Wtime();
    for (int axis = 0; axis < 3; axis++)
        s->modes[axis] = axis > 0 ? (s->points[axis] - 1) / 3 * 2 + 1 : (s->points[axis] - 1) / 3 + 1;
    if (choose_grid(s) != 0)
        return 1;
    for (int which = 0; which < 3; which++) {
        create_pencil(s, which);
        ok = ok && s->pencils[which].lines <= INT_MAX;
    }
    if (!everywhere(ok))
        return fail(s, "more than %d lines on a rank", INT_MAX);
    if (allocate_fields(s) != 0)
        return 1;
    any[0] = s->flow.part[0], any[1] = s->between.part[0], any[2] = s->work.part[0];
    for (int which = 0; which < 3; which++)
        ok = plan_transforms(&s->pencils[which], which, (int)s->points[which], any[which]) && ok;
    if (!everywhere(set_waves(s) && ok))
        return fail(s, "not enough memory");
    ok = create_plans(s) == 0;
    s->planning = MPI_Wtime() - begin;
    return !ok;
}

static void finish(solver *s)
{
    for (int which = 0; which < 3; which++) {
        if (s->pencils[which].forward)
            fftw_destroy_plan(s->pencils[which].forward);
        if (s->pencils[which].backward)
            fftw_destroy_plan(s->pencils[which].backward);
        free(s->wave[which]);
    }
    for (int which = 0; which < 2; which++) {
        redist_plan_free(&s->down[which]);
        redist_plan_free(&s->up[which]);
    }
    redist_arena_free(&s->arena);
    free(s->decay);
    fftw_cleanup();
}

/* ---- transforms of vectors ---- */

static void move(solver *s, redist_plan *plan, const field *from, const field *to)
{
    const void *a[VECTOR] = {from->part[0], from->part[1], from->part[2]};
    void *b[VECTOR] = {to->part[0], to->part[1], to->part[2]};
    double begin = MPI_Wtime();
    int code = redist_execute_many(plan, a, b);
    if (code != REDIST_OK)
        MPI_Abort(MPI_COMM_WORLD, fail(s, "%s", redist_strerror(code)));
    s->redistributing += MPI_Wtime() - begin;
}

/* Moves the kept modes of each line together: the negative ones to where the others end. */
static void cut_off(const solver *s, int which, number *a)
{
    const pencil *p = &s->pencils[which];
    int64_t negative = negative_modes(s, which), positive = s->modes[which] - negative, length = p->count[2];
    for (number *line = a; line < a + p->lines * length; line += length)
        memmove(line + positive, line + length - negative, (size_t)negative * sizeof *line);
}

/* And apart again, with zeros between. */
static void fill_up(const solver *s, int which, number *a)
{
    const pencil *p = &s->pencils[which];
    int64_t negative = negative_modes(s, which), positive = s->modes[which] - negative, length = p->count[2];
    for (number *line = a; line < a + p->lines * length; line += length) {
        memmove(line + length - negative, line + positive, (size_t)negative * sizeof *line);
        memset(line + positive, 0, (size_t)(length - s->modes[which]) * sizeof *line);
    }
}

static void transform_forward(solver *s, int which, number *a)
{
    const pencil *p = &s->pencils[which];
    if (p->lines == 0)
        return;
    if (which == 0)
        fftw_execute_dft_r2c(p->forward, (double *)a, a);
    else
        fftw_execute_dft(p->forward, a, a);
    cut_off(s, which, a);
}

static void transform_backward(solver *s, int which, number *a)
{
    const pencil *p = &s->pencils[which];
    if (p->lines == 0)
        return;
    fill_up(s, which, a);
    if (which == 0)
        fftw_execute_dft_c2r(p->backward, a, (double *)a);
    else
        fftw_execute_dft(p->backward, a, a);
}

static void transform(solver *s, int which, const field *f, void (*one)(solver *, int, number *))
{
    double begin = MPI_Wtime();
    for (int c = 0; c < VECTOR; c++)
        one(s, which, f->part[c]);
    s->transforming += MPI_Wtime() - begin;
}

static void to_modes(solver *s, const field *points, const field *modes)
{
    transform(s, 0, points, transform_forward);
    move(s, s->down[0], points, &s->between);
    transform(s, 1, &s->between, transform_forward);
    move(s, s->down[1], &s->between, modes);
    transform(s, 2, modes, transform_forward);
}

/* The modes are lost. */
static void to_points(solver *s, const field *modes, const field *points)
{
    transform(s, 2, modes, transform_backward);
    move(s, s->up[1], modes, &s->between);
    transform(s, 1, &s->between, transform_backward);
    move(s, s->up[0], &s->between, points);
    transform(s, 0, points, transform_backward);
}

/* ---- the right-hand side ---- */

/* Called for each line of modes along z: what kx and ky are, and where its numbers begin. */
typedef void line_visit(solver *s, double kx, double ky, int64_t at);

static void for_lines(solver *s, line_visit *visit)
{
    const pencil *p = &s->pencils[2];
    for (int64_t i = 0; i < p->count[0]; i++)
        for (int64_t j = 0; j < p->count[1]; j++)
            visit(s, s->wave[0][i], s->wave[1][j], (i * p->count[1] + j) * p->count[2]);
}

static number times_i(number a)
{
    return -cimag(a) + I * creal(a);
}

static double product(number a, number b)
{
    return creal(a) * creal(b) + cimag(a) * cimag(b);
}

static void curl(solver *s, double kx, double ky, int64_t at)
{
    const number *u = s->velocity.part[0] + at, *v = s->velocity.part[1] + at, *w = s->velocity.part[2] + at;
    number *a = s->work.part[0] + at, *b = s->work.part[1] + at, *c = s->work.part[2] + at;
    for (int64_t k = 0; k < s->modes[2]; k++) {
        double kz = s->wave[2][k];
        a[k] = times_i(ky * w[k] - kz * v[k]);
        b[k] = times_i(kz * u[k] - kx * w[k]);
        c[k] = times_i(kx * v[k] - ky * u[k]);
    }
}

/* Takes the divergence away, and what the transforms have multiplied all modes by. */
static void project(solver *s, double kx, double ky, int64_t at)
{
    number *a = s->work.part[0] + at, *b = s->work.part[1] + at, *c = s->work.part[2] + at;
    double scale = 1 / ((double)s->points[0] * (double)s->points[1] * (double)s->points[2]);
    for (int64_t k = 0; k < s->modes[2]; k++) {
        double kz = s->wave[2][k], square = kx * kx + ky * ky + kz * kz;
        number along = square > 0 ? (kx * a[k] + ky * b[k] + kz * c[k]) / square : 0;
        a[k] = scale * (a[k] - kx * along);
        b[k] = scale * (b[k] - ky * along);
        c[k] = scale * (c[k] - kz * along);
    }
}

/* flow becomes flow x spin. Returns the sum of spin^2 / 2. */
static double cross(solver *s)
{
    const pencil *p = &s->pencils[0];
    double sum = 0;
    for (int64_t line = 0; line < p->lines; line++) {
        int64_t at = line * p->count[2];
        double *u = (double *)(s->flow.part[0] + at), *v = (double *)(s->flow.part[1] + at), *w = (double *)(s->flow.part[2] + at);
        const double *a = (double *)(s->spin.part[0] + at), *b = (double *)(s->spin.part[1] + at);
        const double *c = (double *)(s->spin.part[2] + at);
        for (int64_t i = 0; i < s->points[0]; i++) {
            double x = u[i], y = v[i], z = w[i];
            u[i] = y * c[i] - z * b[i];
            v[i] = z * a[i] - x * c[i];
            w[i] = x * b[i] - y * a[i];
            sum += (a[i] * a[i] + b[i] * b[i] + c[i] * c[i]) / 2;
        }
    }
    return sum;
}

static void velocity_to_points(solver *s)
{
    for (int c = 0; c < VECTOR; c++)
        memcpy(s->work.part[c], s->velocity.part[c], component_bytes(s, 2));
    to_points(s, &s->work, &s->flow);
}

/* work becomes the right-hand side without viscosity; spin remains at the points. */
static void evaluate(solver *s)
{
    velocity_to_points(s);
    for_lines(s, curl);
    to_points(s, &s->work, &s->spin);
    s->now.enstrophy = cross(s);
    to_modes(s, &s->flow, &s->work);
    for_lines(s, project);
}

/* ---- the march ---- */

/* One stage: change = share change + dt rhs, velocity += weight change, and both decay until the next stage's time. */
static void advance(solver *s, double kx, double ky, int64_t at)
{
    static const double share[STAGES] = {0, -5.0 / 9, -153.0 / 128}, weight[STAGES] = {1.0 / 3, 15.0 / 16, 8.0 / 15};
    static const double duration[STAGES] = {1.0 / 3, 5.0 / 12, 1.0 / 4};
    double exponent = -s->set.nu * s->set.dt * duration[s->stage];
    for (int64_t k = 0; k < s->modes[2]; k++)
        s->decay[k] = exp(exponent * (kx * kx + ky * ky + s->wave[2][k] * s->wave[2][k]));
    for (int c = 0; c < VECTOR; c++) {
        number *u = s->velocity.part[c] + at, *change = s->change.part[c] + at;
        const number *rate = s->work.part[c] + at;
        for (int64_t k = 0; k < s->modes[2]; k++) {
            number q = share[s->stage] * change[k] + s->set.dt * rate[k];
            u[k] = s->decay[k] * (u[k] + weight[s->stage] * q);
            change[k] = s->decay[k] * q;
        }
    }
}

/* Adds up energy and dE/dt. Modes with negative kx are not stored: they are the conjugates of those with positive kx. */
static void add_energy(solver *s, double kx, double ky, int64_t at)
{
    double twice = kx > 0 ? 2 : 1;
    for (int c = 0; c < VECTOR; c++) {
        const number *u = s->velocity.part[c] + at, *rate = s->work.part[c] + at;
        for (int64_t k = 0; k < s->modes[2]; k++) {
            double square = kx * kx + ky * ky + s->wave[2][k] * s->wave[2][k];
            s->now.energy += twice * product(u[k], u[k]) / 2;
            s->now.rate += twice * (product(u[k], rate[k]) - s->set.nu * square * product(u[k], u[k]));
        }
    }
}

/* Right after evaluate. The rounding of dE/dt is that of its terms, E omega and 2 nu Z. */
static void observe(solver *s)
{
    state *now = &s->now;
    double sums[3], dissipation;
    now->time += s->step > s->first_step ? s->set.dt : 0;
    now->energy = now->rate = 0;
    for_lines(s, add_energy);
    sums[0] = now->energy, sums[1] = now->rate, sums[2] = now->enstrophy;
    reduce(sums, 3, MPI_SUM);
    now->energy = sums[0], now->rate = sums[1];
    now->enstrophy = sums[2] / ((double)s->points[0] * (double)s->points[1] * (double)s->points[2]);
    dissipation = 2 * s->set.nu * now->enstrophy;
    double unbalanced = fabs(now->rate + dissipation) / (dissipation + now->energy * sqrt(2 * now->enstrophy));
    if (!(unbalanced <= s->unbalanced))
        s->unbalanced = unbalanced; /* not-a-number stays */
    if (s->step == s->first_step || now->rate < s->peak.rate)
        s->peak = *now;
    if (s->csv)
        fprintf(s->csv, "%.10g,%.15g,%.15g,%.15g\n", now->time, now->energy, now->enstrophy, -now->rate);
}

/* A line on a terminal, erased at the end. */
static void progress(const solver *s, int64_t last)
{
    if (s->rank != 0 || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rstep %lld of %lld, t = %.3f, E = %.6f", (long long)s->step, (long long)last, s->now.time, s->now.energy);
    if (s->step == last)
        fprintf(stderr, "\r%*s\r", 72, "");
}

static void march(solver *s)
{
    int64_t last = s->first_step + s->set.steps;
    double begin = MPI_Wtime();
    for (s->step = s->first_step;; s->step++) {
        evaluate(s);
        observe(s);
        progress(s, last);
        if (s->step == last)
            break;
        for (s->stage = 0; s->stage < STAGES; s->stage++) {
            if (s->stage > 0)
                evaluate(s);
            for_lines(s, advance);
        }
    }
    s->marching = MPI_Wtime() - begin;
}

/* ---- the vortex ---- */

static void vortex(const solver *s, int64_t ix, int64_t iy, int64_t iz, double *u)
{
    double step = 2 * acos(-1), x = step * (double)ix / (double)s->points[0], y = step * (double)iy / (double)s->points[1];
    double along = s->set.dimensions == 3 ? cos(step * (double)iz / (double)s->points[2]) : 1;
    u[0] = sin(x) * cos(y) * along;
    u[1] = -cos(x) * sin(y) * along;
    u[2] = 0;
}

/* flow becomes the vortex, or the difference from it times amplitude; returns the largest on this rank. */
static double compare(solver *s, double amplitude, int set)
{
    const pencil *p = &s->pencils[0];
    double worst = 0, u[VECTOR];
    for (int64_t line = 0; line < p->lines; line++)
        for (int64_t i = 0; i < s->points[0]; i++) {
            vortex(s, i, p->first[0] + line / p->count[1], p->first[1] + line % p->count[1], u);
            for (int c = 0; c < VECTOR; c++) {
                double *at = (double *)(s->flow.part[c] + line * p->count[2]) + i;
                if (set)
                    *at = u[c];
                worst = fmax(worst, fabs(*at - amplitude * u[c]));
            }
        }
    return worst;
}

static void start(solver *s)
{
    compare(s, 1, 1);
    to_modes(s, &s->flow, &s->work);
    for_lines(s, project);
    for (int c = 0; c < VECTOR; c++)
        memcpy(s->velocity.part[c], s->work.part[c], component_bytes(s, 2));
}

/* ---- restart files ---- */

/* A restart file: this, and the kept modes of the three components one after the other, each in the order x, y, z. */
typedef struct {
    char magic[24];
    int64_t points[3], dimensions, step;
    double time, nu;
} header;

static const char magic[24] = "taylor_green modes 1\n";

/* A slab of whole planes for each rank, which is contiguous in the file. */
typedef struct {
    redist_layout layout;
    field modes;
    int planes;
    MPI_Datatype plane;
    MPI_Offset begin, component; /* of the first component's part, and from one to the next, in bytes */
} slab;

static int create_slab(const solver *s, slab *b)
{
    redist_axis x = redist_balanced(s->modes[0], s->ranks), y = redist_whole(s->modes[1]), z = redist_whole(s->modes[2]);
    redist_layout file = redist_layout_3d(redist_whole(s->modes[0]), y, z);
    int64_t first[3] = {0, 0, 0};
    int ok = 1;
    b->layout = redist_layout_3d(x, y, z);
    b->planes = (int)redist_count(&x, s->rank);
    first[0] = b->planes > 0 ? redist_global(&x, s->rank, 0) : 0;
    b->begin = (MPI_Offset)(sizeof(header) + (size_t)redist_layout_offset(&file, first) * sizeof(number));
    b->component = (MPI_Offset)((size_t)redist_layout_alloc(&file, 0) * sizeof(number));
    MPI_Type_contiguous((int)(s->modes[1] * s->modes[2]), MPI_C_DOUBLE_COMPLEX, &b->plane);
    MPI_Type_commit(&b->plane);
    for (int c = 0; c < VECTOR; c++) {
        b->modes.part[c] = fftw_malloc((size_t)(redist_layout_alloc(&b->layout, s->rank) + 1) * sizeof(number));
        ok = ok && b->modes.part[c];
    }
    return everywhere(ok);
}

static void free_slab(slab *b)
{
    MPI_Type_free(&b->plane);
    for (int c = 0; c < VECTOR; c++)
        fftw_free(b->modes.part[c]);
}

/* Between velocity and the slabs. */
static int exchange(solver *s, slab *b, int saving)
{
    redist_layout modes = kept(s, 2, s->pencils[2].layout);
    const redist_layout *from = saving ? &modes : &b->layout, *to = saving ? &b->layout : &modes;
    redist_plan *plan = NULL;
    int status = create_plan(s, from, to, NULL, &plan);
    if (status == 0)
        move(s, plan, saving ? &s->velocity : &b->modes, saving ? &b->modes : &s->velocity);
    redist_plan_free(&plan);
    return status;
}

/* Collective. Returns whether this rank's part, and on rank 0 the header, was written or read. */
static int transfer(const solver *s, MPI_File file, header *h, slab *b, int saving)
{
    MPI_Status status;
    int ok = 1, count = 0;
    if (saving && s->rank == 0)
        ok = MPI_File_write_at(file, 0, h, (int)sizeof *h, MPI_BYTE, &status) == MPI_SUCCESS;
    for (int c = 0; c < VECTOR; c++) {
        MPI_Offset at = b->begin + c * b->component;
        number *part = b->modes.part[c];
        int code = saving ? MPI_File_write_at_all(file, at, part, b->planes, b->plane, &status)
                          : MPI_File_read_at_all(file, at, part, b->planes, b->plane, &status);
        MPI_Get_count(&status, b->plane, &count);
        ok = ok && code == MPI_SUCCESS && count == b->planes;
    }
    return ok;
}

static int save_or_load(solver *s, const char *name, int saving)
{
    header h = {"", {s->points[0], s->points[1], s->points[2]}, s->set.dimensions, s->step, s->now.time, s->set.nu};
    slab b;
    MPI_File file;
    int status = 1, mode = saving ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    memcpy(h.magic, magic, sizeof magic);
    if (!create_slab(s, &b)) {
        fail(s, "not enough memory");
    } else if (!saving || exchange(s, &b, saving) == 0) {
        if (!everywhere(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS)) {
            fail(s, "%s: cannot be %s", name, saving ? "created" : "opened");
        } else {
            int ok = transfer(s, file, &h, &b, saving);
            ok = MPI_File_close(&file) == MPI_SUCCESS && ok;
            status = everywhere(ok) ? 0 : fail(s, "%s: cannot be %s", name, saving ? "written" : "read to its end");
        }
        if (status == 0 && !saving)
            status = exchange(s, &b, saving);
    }
    free_slab(&b);
    return status;
}

static const char *header_mistake(const header *h)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return "no restart file";
    for (int d = 0; d < 3; d++)
        if (h->points[d] < 1 || h->points[d] > MOST_POINTS)
            return "a restart file with impossible numbers";
    return h->dimensions == 2 || h->dimensions == 3 ? NULL : "a restart file with impossible numbers";
}

/* Rank 0 reads what the flow is, all ranks learn it. */
static int load_header(solver *s)
{
    header h;
    const char *wrong = NULL;
    memset(&h, 0, sizeof h);
    if (s->rank == 0) {
        FILE *file = fopen(s->set.restart, "rb");
        wrong = !file ? "cannot be opened" : fread(&h, sizeof h, 1, file) != 1 ? "no restart file" : header_mistake(&h);
        if (file)
            fclose(file);
    }
    MPI_Bcast(&h, (int)sizeof h, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!everywhere(wrong == NULL))
        return fail(s, "%s: %s", s->set.restart, wrong);
    memcpy(s->points, h.points, sizeof h.points);
    s->set.dimensions = h.dimensions;
    s->set.nu = h.nu;
    s->first_step = h.step;
    s->now.time = h.time;
    return 0;
}

/* ---- the picture ---- */

/* |omega| on the plane x = 0, or in two dimensions z = 0: one section of the points moves to rank 0. */
static int draw(solver *s)
{
    const pencil *p = &s->pencils[0];
    int across = s->set.dimensions == 3 ? 0 : 2, status;
    redist_axis points[3] = {p->axes[0], p->axes[1], redist_whole(s->points[0])}, plane[3];
    redist_layout from = redist_with_extent(redist_layout_nd(3, points), 2, 2 * p->count[2]), to;
    double *spin = (double *)s->spin.part[0];
    pgm picture = {s->points[across == 0 ? 2 : 1], s->points[across == 0 ? 1 : 0], 255, NULL};
    const char *wrong = NULL;
    redist_plan *plan = NULL;
    for (int d = 0; d < 3; d++)
        plane[d] = redist_whole(d == across ? 1 : s->points[d]);
    from = redist_section(redist_permuted(from, shapes[0].view), across, 0, 1, 1);
    to = redist_layout_nd(3, plane);
    for (int64_t i = 0; i < p->lines * 2 * p->count[2]; i++)
        spin[i] = sqrt(pow(spin[i], 2) + pow(((double *)s->spin.part[1])[i], 2) + pow(((double *)s->spin.part[2])[i], 2));
    picture.values = malloc((size_t)(redist_layout_alloc(&to, s->rank) + 1) * sizeof(double));
    status = !everywhere(picture.values != NULL) ||
             redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, NULL, &plan) != REDIST_OK ||
             redist_execute(plan, spin, picture.values) != REDIST_OK;
    redist_plan_free(&plan);
    if (status == 0 && s->rank == 0) {
        double most = 0;
        for (int64_t i = 0; i < picture.width * picture.height; i++)
            most = fmax(most, picture.values[i]);
        wrong = pgm_write(s->set.picture, &picture, most > 0 ? picture.white / most : 0);
    }
    free(picture.values);
    if (status == 0 && everywhere(wrong == NULL))
        return 0;
    return fail(s, "%s: %s", s->set.picture, wrong ? wrong : "not enough memory");
}

/* ---- the report ---- */

static int judge(const solver *s, const char *what, double value, double limit)
{
    int good = value <= limit;
    if (s->rank == 0)
        printf("  %-16s %.1e: %s\n", what, value, good ? "right" : "WRONG");
    return !good;
}

static void report_times(const solver *s)
{
    double rest = maximum(s->marching - s->transforming - s->redistributing), transforming = maximum(s->transforming);
    double redistributing = maximum(s->redistributing), each = 1e3 / (double)(s->set.steps > 0 ? s->set.steps : 1);
    if (s->rank != 0)
        return;
    printf("  preparing        %8.3f s\n", s->planning);
    printf("  transforming     %8.3f s  %8.3f ms each step\n", transforming, transforming * each);
    printf("  redistributing   %8.3f s  %8.3f ms each step\n", redistributing, redistributing * each);
    printf("  the rest         %8.3f s  %8.3f ms each step\n", rest, rest * each);
}

static int report(solver *s)
{
    int status;
    report_times(s);
    if (s->rank == 0) {
        printf("  at the end       t = %.6g, energy %.12e, enstrophy %.12e\n", s->now.time, s->now.energy, s->now.enstrophy);
        printf("  dissipation      at most %.6e, at t = %.6g\n", -s->peak.rate, s->peak.time);
    }
    status = judge(s, "energy balance", s->unbalanced, 1e-12);
    if (s->set.dimensions == 2) {
        velocity_to_points(s);
        double amplitude = exp(-2 * s->set.nu * s->now.time);
        status = judge(s, "exact decay", maximum(compare(s, amplitude, 0)), 1e-12) || status;
    }
    return status;
}

/* ---- the command line ---- */

static void help(const option *table)
{
    printf("usage: mpiexec -n RANKS taylor_green [OPTION VALUE]...\n"
           "The vortex of Taylor and Green by a pseudo-spectral method. It teaches pencils with p1 x p2 chosen on paper, three\n"
           "components in one message (options.arrays), sections that leave dealiased modes at home, an arena, a restart file for\n"
           "any number of ranks. gnuplot examples/taylor_green.gp draws the dissipation from vortex.csv.\n\n");
    options_help(table);
}

/* Returns the exit status, or -1 to go on. */
static int read_settings(solver *s, int argc, char **argv)
{
    settings *set = &s->set;
    const option table[] = {
        {.name = "--dimensions", .argument = "D", .integer = &set->dimensions, .least = 2, .most = 3, .help = "2 or 3 (default 3)"},
        {.name = "--n", .argument = "N", .integer = &set->n, .least = 1, .most = MOST_POINTS,
         .help = "points along x and y (default 32)"},
        {.name = "--nz", .argument = "NZ", .integer = &set->nz, .least = 1, .most = MOST_POINTS,
         .help = "points along z (default N; 1 in two dimensions)"},
        {.name = "--nu", .argument = "NU", .real = &set->nu, .most = 1e6, .help = "viscosity (default 0.01)"},
        {.name = "--dt", .argument = "DT", .real = &set->dt, .least = 1e-300, .most = 1e6, .help = "time step (default 1.5 / N)"},
        {.name = "--steps", .argument = "K", .integer = &set->steps, .most = 1e9, .help = "time steps (default until t = 10)"},
        {.name = "--p1", .argument = "P1", .integer = &set->p1, .least = 1, .most = INT_MAX,
         .help = "P1 x RANKS / P1 ranks (default: what promises to be fastest)"},
        {.name = "--csv", .argument = "FILE", .text = &set->csv, .help = "write energy, enstrophy and dissipation of every step"},
        {.name = "--picture", .argument = "FILE", .text = &set->picture, .help = "write |omega| on a plane as a PGM picture"},
        {.name = "--save", .argument = "FILE", .text = &set->save, .help = "write a restart file at the end"},
        {.name = "--restart", .argument = "FILE", .text = &set->restart, .help = "go on from a restart file"},
        {.name = NULL}};
    char wrong[512];
    options_result result = options_read(table, argc, argv, wrong, sizeof wrong);
    if (result == OPTIONS_HELP && s->rank == 0)
        help(table);
    if (result == OPTIONS_RUN && set->restart && (set->n > 0 || set->nz > 0 || set->dimensions > 0 || set->nu >= 0)) {
        snprintf(wrong, sizeof wrong, "--restart and --n, --nz, --dimensions, --nu exclude each other");
        result = OPTIONS_WRONG;
    }
    if (result == OPTIONS_WRONG)
        fail(s, "%s", wrong);
    return result == OPTIONS_RUN ? -1 : result == OPTIONS_HELP ? 0 : 2;
}

static int define(solver *s)
{
    settings *set = &s->set;
    if (set->restart && load_header(s) != 0)
        return 1;
    if (!set->restart) {
        set->dimensions = set->dimensions > 0 ? set->dimensions : 3;
        set->nu = set->nu >= 0 ? set->nu : 0.01;
        s->points[0] = s->points[1] = set->n > 0 ? set->n : 32;
        s->points[2] = set->nz > 0 ? set->nz : set->dimensions == 2 ? 1 : s->points[0];
    }
    if (set->dt <= 0)
        set->dt = 1.5 / (double)s->points[0];
    if (set->steps < 0)
        set->steps = (int64_t)fmax(0, ceil((10 - s->now.time) / set->dt - 1e-9));
    if (s->rank == 0)
        printf("Taylor-Green vortex in %lld dimensions: %lld x %lld x %lld points, nu = %g, %lld steps of %g on %d rank%s\n",
               (long long)set->dimensions, (long long)s->points[0], (long long)s->points[1], (long long)s->points[2], set->nu,
               (long long)set->steps, set->dt, s->ranks, s->ranks > 1 ? "s" : "");
    return 0;
}

static int open_csv(solver *s)
{
    if (s->rank == 0 && s->set.csv)
        s->csv = fopen(s->set.csv, "w");
    if (s->csv)
        fprintf(s->csv, "time,energy,enstrophy,dissipation\n");
    return everywhere(s->rank != 0 || !s->set.csv || s->csv) ? 0 : fail(s, "%s: cannot be created", s->set.csv);
}

static int close_csv(solver *s)
{
    int ok = !s->csv || (!ferror(s->csv) & (fclose(s->csv) == 0));
    return everywhere(ok) ? 0 : fail(s, "%s: cannot be written", s->set.csv);
}

static int run(solver *s)
{
    int status = define(s);
    if (status == 0)
        status = prepare(s);
    if (status == 0)
        status = open_csv(s);
    if (status == 0 && s->set.restart)
        status = save_or_load(s, s->set.restart, 0);
    else if (status == 0)
        start(s);
    if (status != 0)
        return status;
    s->transforming = s->redistributing = 0;
    march(s);
    if (s->set.picture)
        status = draw(s);
    status = report(s) || status;
    if (s->set.save)
        status = save_or_load(s, s->set.save, 1) || status;
    return close_csv(s) || status;
}

int main(int argc, char **argv)
{
    solver s;
    int status;
    memset(&s, 0, sizeof s);
    s.set.nu = -1;
    s.set.steps = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    status = read_settings(&s, argc, argv);
    if (status < 0)
        status = run(&s);
    finish(&s);
    MPI_Finalize();
    return status;
}
