/* Arenas: arrays in shared memory, in ordinary memory, and some of each; and too little of it. MIT licence, see LICENSE. */
#include <stddef.h>
#include <stdint.h>
#include <sys/statvfs.h>

/* Stands in for what the system says of its shared memory. */
struct test_statvfs {
    uint64_t f_bavail, f_frsize;
};
static uint64_t test_shared_free = UINT64_MAX / 2;

static int test_statvfs(const char *path, struct test_statvfs *answer)
{
    answer->f_bavail = test_shared_free;
    answer->f_frsize = 1;
    return path == NULL;
}

#define statvfs test_statvfs
#include "exchange.h"
#undef statvfs

enum { SLOT = 1 << 18, SLOTS = 2 * ARRAYS, ROUNDS = 3 };

typedef struct {
    redist_arena *arena;
    unsigned char *slot[SLOTS];
} slots;

static int open_slots(slots *s)
{
    int k, good = redist_arena_create(MPI_COMM_WORLD, (size_t)SLOT * SLOTS, &s->arena) == REDIST_OK;
    for (k = 0; k < SLOTS; k++) {
        s->slot[k] = redist_arena_alloc(s->arena, SLOT);
        good = good && s->slot[k] != NULL && (uintptr_t)s->slot[k] % 64 == 0;
    }
    return good && redist_arena_alloc(s->arena, 1) == NULL;
}

/* Lets some of this rank's arrays live in the arena: `some` is 0 (none), 1 (all) or 2 (as it comes). */
static void settle(exchange *e, const slots *s, test_random *r, int some, unsigned char *own[2][ARRAYS])
{
    int k, side;
    for (k = 0; k < e->count; k++)
        for (side = 0; side < 2; side++) {
            int fits = own[side][k] != NULL && exchange_bytes(e, side) < SLOT;
            int moves = some == 1 || (some == 2 && test_between(r, 0, 1));
            e->held[side][k] = fits && moves ? s->slot[2 * k + side] : own[side][k];
        }
    for (k = 0; k < e->count && e->in_place; k++)
        e->held[1][k] = e->held[0][k];
}

/* One pair of layouts: the arrays live elsewhere in each round. */
static int check_pair(exchange *e, const slots *s, test_random *r, int node_ranks)
{
    unsigned char *own[2][ARRAYS];
    redist_options options;
    int round, code, good = 1;
    memset(&options, 0, sizeof options);
    options.arena = s->arena;
    options.node_ranks = node_ranks;
    exchange_allocate(e);
    memcpy(own, e->held, sizeof own);
    code = exchange_create_with(e, &options);
    for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
        settle(e, s, r, e->seed % 4 == 0 ? round % 2 : 2, own);
        good = exchange_is_right(e, round) && good;
    }
    memcpy(e->held, own, sizeof own);
    exchange_release(e);
    return code == REDIST_OK && redist_plan_free(&e->plan) == REDIST_OK && good;
}

static void check_pairs(const slots *s, int pairs, int node_ranks)
{
    exchange *e = exchange_new(MPI_COMM_WORLD);
    test_random r = {(uint64_t)test_rank() + 99};
    int k;
    for (k = 0; k < pairs; k++) {
        exchange_draw(e, (uint64_t)(7000 + 31 * k + node_ranks));
        e->method = k % 8 == 0 ? REDIST_AUTO : REDIST_SHARED;
        e->count = k % 3 == 0 ? 1 + k % ARRAYS : 1;
        e->many = e->count > 1;
        e->in_place = k % 5 == 0;
        e->way = k % WAYS;
        test_case_all(check_pair(e, s, &r, node_ranks), "pair %d, nodes of %d, %d arrays%s, way %d: %s", k, node_ranks, e->count,
                      e->in_place ? ", in place" : "", e->way, e->message);
    }
    free(e);
}

/* Where there is shared memory, it is used. */
static void check_direct(const slots *s)
{
    exchange *e = exchange_new(MPI_COMM_WORLD);
    redist_options options;
    redist_stats stats;
    int good;
    memset(&options, 0, sizeof options);
    options.arena = s->arena;
    exchange_rows(e, 61, 59, TEST_CYCLIC);
    e->method = REDIST_SHARED;
    exchange_allocate(e);
    good = exchange_create_with(e, &options) == REDIST_OK && redist_plan_stats(e->plan, &stats) == REDIST_OK &&
           exchange_is_right(e, 0);
    test_case_all(good && stats.buffer_bytes < 8 << 20 && (test_size() == 1 || stats.method == REDIST_SHARED),
                  "shared memory is used, %ld bytes of it", (long)stats.buffer_bytes);
    redist_plan_free(&e->plan);
    exchange_release(e);
    free(e);
}

/* No shared memory at all: arenas are ordinary memory, plans send messages, nothing fails. */
static void check_exhausted(void)
{
    slots s;
    exchange *e = exchange_new(MPI_COMM_WORLD);
    redist_stats stats;
    int good;
    test_shared_free = 4096;
    test_case_all(open_slots(&s), "an arena without shared memory");
    check_pairs(&s, 6, 0);
    exchange_rows(e, 9, 7, TEST_CYCLIC);
    e->method = REDIST_SHARED;
    exchange_allocate(e);
    good = exchange_create(e) == REDIST_OK && redist_plan_stats(e->plan, &stats) == REDIST_OK && exchange_is_right(e, 0);
    test_case_all(good && stats.method == REDIST_POINT_TO_POINT, "a plan without shared memory falls back: %s", e->message);
    redist_plan_free(&e->plan);
    exchange_release(e);
    free(e);
    test_shared_free = UINT64_MAX / 2;
    test_case_all(redist_arena_free(&s.arena) == REDIST_OK && s.arena == NULL, "it is freed");
}

static void check_bad_input(void)
{
    redist_arena *arena = NULL;
    int code;
    test_case_all(redist_arena_create(MPI_COMM_WORLD, 1, NULL) == REDIST_ERR_ARGUMENT, "no pointer to the arena");
    test_case_all(redist_arena_create(MPI_COMM_NULL, 1, &arena) == REDIST_ERR_ARGUMENT && arena == NULL, "no communicator");
    test_case_all(redist_arena_free(NULL) == REDIST_ERR_ARGUMENT && redist_arena_free(&arena) == REDIST_OK, "nothing to free");
    test_case_all(redist_arena_alloc(NULL, 1) == NULL, "no arena");
    code = redist_arena_create(MPI_COMM_WORLD, test_rank() == 0 ? SIZE_MAX : 64, &arena);
    test_case_all(code == REDIST_ERR_MEMORY && arena == NULL, "too large on one rank: code %d", code);
    code = redist_arena_create(MPI_COMM_WORLD, (size_t)test_rank() * 100, &arena);
    test_case_all(code == REDIST_OK && redist_arena_alloc(arena, (size_t)test_rank() * 100) != NULL, "different sizes");
    test_case_all(redist_arena_alloc(arena, 1) == NULL && redist_arena_free(&arena) == REDIST_OK, "full");
}

int main(int count, char **arguments)
{
    const int few = 12;
    slots s;
    int status;
    MPI_Init(&count, &arguments);
    check_bad_input();
    test_case_all(open_slots(&s), "an arena and its arrays");
    check_direct(&s);
    check_pairs(&s, test_size() <= 2 ? 400 : few, 0);
    check_pairs(&s, test_size() <= 2 ? 100 : few, 2);
    test_case_all(redist_arena_free(&s.arena) == REDIST_OK && s.arena == NULL, "the arena is freed");
    check_exhausted();
    status = test_report_all("arenas");
    MPI_Finalize();
    return status;
}
