/* redist tests: random pairs of layouts through every method and kind of execution, against tables dealt out by hand. MIT licence, see LICENSE. */
#include "exchange.h"

enum { SIZES = 7, ROUNDS = 2 };

typedef struct {
    const char *name;
    redist_method method;
    int node_ranks;
    int dear;           /* sets up shared memory, which takes long when ranks outnumber cores */
} setting;

static const setting settings[] = {
    {"alltoallv", REDIST_ALLTOALLV, 0, 0},
    {"alltoallw", REDIST_ALLTOALLW, 0, 0},
    {"point to point", REDIST_POINT_TO_POINT, 0, 0},
    {"scheduled", REDIST_SCHEDULED, 0, 0},
    {"multiphase", REDIST_MULTIPHASE, 0, 1},
    {"automatic", REDIST_AUTO, 0, 1},
    {"shared", REDIST_SHARED, 0, 1},
    {"shared on nodes of 2", REDIST_SHARED, 2, 1},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const size_t sizes[SIZES] = {1, 2, 4, 8, 16, 24, 7};

static void make_types(MPI_Datatype *types)
{
    int k;
    for (k = 0; k < SIZES; k++) {
        MPI_Type_contiguous((int)sizes[k], MPI_BYTE, &types[k]);
        MPI_Type_commit(&types[k]);
    }
}

static void free_types(MPI_Datatype *types)
{
    int k;
    for (k = 0; k < SIZES; k++)
        MPI_Type_free(&types[k]);
}

static void draw_variant(exchange *e, int setting_number)
{
    test_random r = {e->seed * 64 + (uint64_t)setting_number};
    e->count = test_one_in(&r, 3) ? (int)test_between(&r, 2, ARRAYS) : 1;
    e->many = e->count > 1 || test_one_in(&r, 4);
    e->in_place = test_one_in(&r, 5);
    e->fixed = e->count == 1 && test_one_in(&r, 4);
    e->way = (int)test_between(&r, 0, WAYS - 1);
}

/* Executes in the same arrays each time, or, where they are not fixed, in new ones. */
static void check(exchange *e, const setting *s)
{
    redist_options options;
    int code, number, good = 1;
    memset(&options, 0, sizeof options);
    options.node_ranks = s->node_ranks;
    e->method = s->method;
    exchange_allocate(e);
    code = exchange_create_with(e, &options);
    for (number = 0; number < ROUNDS && code == REDIST_OK; number++) {
        good = exchange_is_right(e, number) && good;
        if (!e->fixed) {
            exchange_release(e);
            exchange_allocate(e);
        }
    }
    exchange_release(e);
    if (code == REDIST_OK)
        good = redist_plan_free(&e->plan) == REDIST_OK && e->plan == NULL && good;
    test_case_all(code == REDIST_OK && good, "seed %lu, %s, %d bytes, %d arrays%s%s%s, way %d: %s %s", (unsigned long)e->seed,
                  s->name, (int)e->bytes, e->count, e->many ? ", many" : "", e->in_place ? ", in place" : "",
                  e->fixed ? ", fixed" : "", e->way, code == REDIST_OK ? "executed" : redist_strerror(code), e->message);
}

/* Dear settings are tried on every pair by up to 2 ranks, by more on a few of them. */
static int is_due(const setting *s, int pair, int pairs)
{
    const int turns = pairs / (test_size() <= 4 ? 12 : 5);
    return !s->dear || test_size() <= 2 || turns <= 1 || (pair + (int)(s - settings)) % turns == 0;
}

/* Arguments: a seed, the number of pairs, the first of them. */
int main(int count, char **arguments)
{
    MPI_Datatype types[SIZES];
    exchange *e;
    int seed, pairs, first, k, s;
    MPI_Init(&count, &arguments);
    seed = count > 1 ? atoi(arguments[1]) : 1;
    pairs = count > 2 ? atoi(arguments[2]) : test_size() <= 4 ? 600 : 200;
    first = count > 3 ? atoi(arguments[3]) : 0;
    e = exchange_new(MPI_COMM_WORLD);
    make_types(types);
    for (k = first; k < first + pairs; k++) {
        exchange_draw(e, (uint64_t)seed * 100000 + (uint64_t)k);
        for (s = 0; s < SETTINGS; s++) {
            if (!is_due(&settings[s], k, pairs))
                continue;
            e->type = types[(k + s) % SIZES];
            e->bytes = sizes[(k + s) % SIZES];
            draw_variant(e, s);
            check(e, &settings[s]);
        }
    }
    free_types(types);
    free(e);
    k = test_report_all("plan_random");
    MPI_Finalize();
    return k;
}
