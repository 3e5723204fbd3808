/* redist tests: random pairs of layouts, by every method and kind of execution, against arrays
   distributed by hand. MIT licence, see LICENSE. */
#include "exchange.h"

enum { SIZES = 7, ROUNDS = 2 };

typedef struct {
  const char *name;
  redist_method method;
  int node_ranks;
  int dear; /* sets up shared memory, which takes long when ranks outnumber cores */
  int64_t max_buffer;
} setting;

static const setting settings[] = {
    {"point to point", REDIST_POINT_TO_POINT, 0, 0, 0},
    {"automatic", REDIST_AUTO, 0, 1, 0},
#ifndef REDIST_SMALL
    {"alltoallv", REDIST_ALLTOALLV, 0, 0, 0},
    {"alltoallw", REDIST_ALLTOALLW, 0, 0, 0},
    {"scheduled", REDIST_SCHEDULED, 0, 0, 0},
    {"scheduled within 64 bytes", REDIST_SCHEDULED, 0, 0, 64},
    {"automatic within 200 bytes", REDIST_AUTO, 0, 1, 200},
    {"automatic within 40000 bytes", REDIST_AUTO, 0, 1, 40000},
    {"multiphase", REDIST_MULTIPHASE, 0, 1, 0},
    {"shared", REDIST_SHARED, 0, 1, 0},
    {"shared on nodes of 2", REDIST_SHARED, 2, 1, 0},
    {"nodes of 2", REDIST_NODES, 2, 1, 0},
    {"nodes of 3", REDIST_NODES, 3, 1, 0},
#endif
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const size_t sizes[SIZES] = {1, 2, 4, 8, 16, 24, 7};

static void make_types(MPI_Datatype *types) {
  int k;
  for (k = 0; k < SIZES; k++) {
    MPI_Type_contiguous((int)sizes[k], MPI_BYTE, &types[k]);
    MPI_Type_commit(&types[k]);
  }
}

static void free_types(MPI_Datatype *types) {
  int k;
  for (k = 0; k < SIZES; k++) MPI_Type_free(&types[k]);
}

static void draw_variant(exchange *e, const setting *s) {
  const int setting_number = (int)(s - settings);
  test_random r = {e->seed * 64 + (uint64_t)setting_number};
  e->count = test_one_in(&r, 3) ? (int)test_between(&r, 2, ARRAYS) : 1;
  e->many = e->count > 1 || test_one_in(&r, 4);
  e->in_place = test_one_in(&r, 5) && s->max_buffer == 0;
  e->fixed = e->count == 1 && test_one_in(&r, 4);
  e->way = (int)test_between(&r, 0, WAYS - 1);
}

/* Executes on the same arrays each time, or, where they are not fixed, on new ones. */
static void check(exchange *e, const setting *s, redist_arena *arena) {
  redist_options options;
  redist_stats stats;
  int code, number, good;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = arena;
  e->method = s->method;
  exchange_allocate(e);
  code = exchange_create_with(e, &options);
  if (code == REDIST_OK) code = redist_plan_stats(e->plan, &stats);
  good = s->max_buffer == 0 || stats.buffer_bytes <= s->max_buffer;
  for (number = 0; number < ROUNDS && code == REDIST_OK; number++) {
    good = exchange_is_right(e, number) && good;
    if (!e->fixed) {
      exchange_release(e);
      exchange_allocate(e);
    }
  }
  exchange_release(e);
  if (code == REDIST_OK) good = redist_plan_free(&e->plan) == REDIST_OK && e->plan == NULL && good;
  test_case_all(code == REDIST_OK && good, "seed %lu, %s, %d bytes, %d arrays%s%s%s, way %d: %s %s",
                (unsigned long)e->seed, s->name, (int)e->bytes, e->count, e->many ? ", many" : "",
                e->in_place ? ", in place" : "", e->fixed ? ", fixed" : "", e->way,
                code == REDIST_OK ? "executed" : redist_strerror(code), e->message);
}

/* Expensive settings set up their own memory for every pair on up to 2 ranks, for a few pairs on
   more; for the others they use an arena. */
static int is_due(const setting *s, int pair, int pairs) {
  const int turns = pairs / (test_size() <= 4 ? 4 : 2);
  return !s->dear || test_size() <= 2 || turns <= 1 || (pair + (int)(s - settings)) % turns == 0;
}

#ifndef REDIST_SMALL
/* Long cyclic vectors in pieces that begin within a period: their short runs are copied by
   tables. */
static void check_cut_periods(exchange *e, MPI_Datatype *types, redist_arena *arena, int cases) {
  static const setting cut[] = {{"scheduled", REDIST_SCHEDULED, 0, 0, 7000},
                                {"shared", REDIST_SHARED, 0, 1, 0}};
  test_random r = {3};
  int k, side;
  for (k = 0; k < cases; k++) {
    const int64_t n = test_between(&r, 1000, 4000);
    memset(e->arrays, 0, sizeof e->arrays);
    for (side = 0; side < 2; side++) {
      e->arrays[side].ndim = 1;
      exchange_axis(&e->arrays[side].axes[0], TEST_BLOCK_CYCLIC, n, e->size);
      e->arrays[side].axes[0].block = test_between(&r, 1, 9);
    }
    exchange_describe(e);
    e->seed = (uint64_t)k;
    e->type = types[2 + k % 3];
    e->bytes = sizes[2 + k % 3];
    e->count = 1;
    e->many = e->in_place = e->fixed = e->way = 0;
    test_piece_bytes = test_between(&r, 600, 9000);
    check(e, &cut[k % 2], arena);
  }
}
#endif

/* Arguments: a seed, the number of pairs, the first of them. */
int main(int count, char **arguments) {
  MPI_Datatype types[SIZES];
  redist_arena *arena = NULL;
  exchange *e;
  int seed, pairs, first, k, s;
  MPI_Init(&count, &arguments);
  seed = count > 1 ? atoi(arguments[1]) : 1;
  pairs = count > 2 ? atoi(arguments[2]) : test_size() <= 2 ? 600 : test_size() <= 4 ? 400 : 150;
  first = count > 3 ? atoi(arguments[3]) : 0;
  e = exchange_new(MPI_COMM_WORLD);
  make_types(types);
  test_case_all(redist_arena_create(MPI_COMM_WORLD, 0, &arena) == REDIST_OK,
                "an arena for rings alone");
#ifndef REDIST_SMALL
  check_cut_periods(e, types, arena, pairs < 12 ? 5 * pairs : 60);
#endif
  for (k = first; k < first + pairs; k++) {
    exchange_draw(e, (uint64_t)seed * 100000 + (uint64_t)k);
    for (s = 0; s < SETTINGS; s++) {
      e->type = types[(k + s) % SIZES];
      e->bytes = sizes[(k + s) % SIZES];
      draw_variant(e, &settings[s]);
      check(e, &settings[s], is_due(&settings[s], k, pairs) ? NULL : arena);
    }
  }
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "the arena is freed");
  free_types(types);
  free(e);
  k = test_report_all("plan_random");
  MPI_Finalize();
  return k;
}
