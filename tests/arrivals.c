/* redist tests: redist_next_arrival: every source rank once, not before all its elements are there,
   while late ranks have not started. MIT licence, see LICENSE. */
#include "exchange.h"
#include "inside.h"
#include "settings.h"

enum { MOST_RANKS = 8, PAIRS = 40, ROUNDS = 3, PARTS = 3, ARENA_BYTES = 4 << 20, PATIENCE = 20 };

static redist_arena *arena;
static int fails; /* MPI does, from now on */

int MPI_Testsome(int count, MPI_Request *request, int *done, int *index, MPI_Status *status) {
  return fails ? MPI_ERR_OTHER : PMPI_Testsome(count, request, done, index, status);
}

/* ---- what has arrived from a rank ---- */

/* How many elements this rank has from another. */
static int64_t elements_from(const exchange *e, int rank) {
  const test_table *from = &e->tables[0], *to = &e->tables[1];
  int64_t i, n = 0;
  for (i = 0; i < to->elements; i++)
    n += to->ranks[to->place[i]] == e->rank && from->ranks[from->place[i]] == rank;
  return n;
}

/* Whether all of them are there in execution `number`. */
static int are_there(const exchange *e, int rank, int number) {
  const test_table *from = &e->tables[0], *to = &e->tables[1];
  int64_t i;
  size_t b;
  int k, good = 1;
  for (i = 0; i < to->elements; i++)
    if (to->ranks[to->place[i]] == e->rank && from->ranks[from->place[i]] == rank)
      for (k = 0; k < e->count; k++)
        for (b = 0; b < e->bytes; b++)
          good &= e->held[1][k][(size_t)to->offset[i] * e->bytes + b] ==
                  test_byte(exchange_contents(e, number, k), i, b);
  return good;
}

/* The exchanges of one plan: one, or several parts. */
typedef struct {
  exchange *e[PARTS];
  int parts, number, named[MOST_RANKS];
  redist_plan *plan;
} group;

/* How many ranks should be named; or, in all, whether they were. */
static int sources(const group *g) {
  int r, k, n = 0;
  for (r = 0; r < test_size(); r++) {
    int64_t elements = 0;
    for (k = 0; k < g->parts; k++) elements += elements_from(g->e[k], r);
    n += elements > 0;
  }
  return n;
}

/* Asks once. Returns the rank, or -1; -2 if it has no elements, was named before or is not there. */
static int next(group *g) {
  int64_t elements = 0;
  int k, rank = -3, there = 1;
  if (redist_next_arrival(g->plan, &rank) != REDIST_OK || rank < -1 || rank >= test_size())
    return -2;
  for (k = 0; rank >= 0 && k < g->parts; k++) {
    elements += elements_from(g->e[k], rank);
    there &= are_there(g->e[k], rank, g->number);
  }
  if (rank >= 0 && (elements == 0 || !there || g->named[rank]++ > 0)) return -2;
  return rank;
}

static int start_group(group *g, int number) {
  const void *from[PARTS * ARRAYS];
  void *to[PARTS * ARRAYS];
  int k, a, n = 0;
  g->number = number;
  memset(g->named, 0, sizeof g->named);
  for (k = 0; k < g->parts; k++) {
    exchange_prepare(g->e[k], number);
    for (a = 0; a < g->e[k]->count; a++, n++) {
      from[n] = g->e[k]->held[0][a];
      to[n] = g->e[k]->held[1][a];
    }
  }
  return redist_start_many(g->plan, from, to);
}

/* Names all ranks: before the end, across the end found by redist_test, or after it; asks again when
   all are named. */
static int name_all(group *g, int way) {
  const int all = sources(g);
  const double end = MPI_Wtime() + PATIENCE;
  int n = 0, rank = -1, done = 0, code = way == 2 ? redist_wait(g->plan) : REDIST_OK;
  while (code == REDIST_OK && rank > -2 && MPI_Wtime() < end && (n < all || (way == 1 && !done))) {
    rank = next(g);
    n += rank >= 0;
    if (rank == -1 && way == 2) break;
    if (rank == -1) sched_yield();
    if (rank == -1 && way == 1 && !done) code = redist_test(g->plan, &done);
  }
  if (rank > -2 && next(g) != -1) rank = -2;
  if (way == 0 || (way == 1 && !done)) code = redist_wait(g->plan);
  return code == REDIST_OK && rank > -2 && n == all && next(g) == -1;
}

/* ---- random layouts, several arrays and parts, in place, by every method ---- */

static void place_arrays(exchange *e, const setting *s) {
  int side, k;
  if (!s->arena) {
    exchange_allocate(e);
    return;
  }
  for (side = 0; side < 2; side++)
    for (k = 0; k < e->count; k++)
      e->held[side][k] = e->in_place && side == 1
                             ? e->held[0][k]
                             : redist_arena_alloc(arena, exchange_bytes(e, 0) > exchange_bytes(e, 1)
                                                             ? exchange_bytes(e, 0)
                                                             : exchange_bytes(e, 1));
}

static void draw_group(group *g, const setting *s, test_random *r) {
  int k;
  const int in_place = test_one_in(r, 4) && s->max_buffer == 0;
  g->parts = s->method == REDIST_MULTIPHASE || test_one_in(r, 2) ? 1 : PARTS;
  for (k = 0; k < g->parts; k++) {
    exchange *e = g->e[k] = exchange_new(MPI_COMM_WORLD);
    exchange_draw(e, test_next(r) % 1000000);
    e->in_place = in_place;
    e->count = g->parts == 1 && test_one_in(r, 3) ? 3 : 1;
    e->many = 1;
    e->bytes = k == 1 ? 1 : 8;
    e->type = k == 1 ? MPI_BYTE : MPI_DOUBLE;
    place_arrays(e, s);
  }
}

static int create_group(group *g, const setting *s) {
  redist_part part[PARTS];
  redist_options options;
  int k;
  memset(&options, 0, sizeof options);
  memset(part, 0, sizeof part);
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  g->e[0]->method = s->method;
  if (g->parts == 1) {
    const int code = exchange_create_with(g->e[0], &options);
    g->plan = g->e[0]->plan;
    return code;
  }
  for (k = 0; k < g->parts; k++) {
    part[k].from = &g->e[k]->layouts[0];
    part[k].to = &g->e[k]->layouts[1];
    part[k].element = g->e[k]->type;
  }
  options.method = s->method;
  options.in_place = g->e[0]->in_place;
  return redist_plan_create_parts(MPI_COMM_WORLD, g->parts, part, &options, &g->plan);
}

static void drop_group(group *g, const setting *s) {
  int k;
  redist_plan_free(&g->plan);
  for (k = 0; k < g->parts; k++) {
    if (!s->arena) exchange_release(g->e[k]);
    free(g->e[k]);
  }
  if (arena != NULL) test_empty_arena(arena);
}

static void check_random(const setting *s, int pair) {
  test_random r = {(uint64_t)pair * 977 + (uint64_t)(s - settings)};
  group g;
  int number, rank = 0, code, good = 1;
  memset(&g, 0, sizeof g);
  draw_group(&g, s, &r);
  code = create_group(&g, s);
  good = code == REDIST_OK && redist_next_arrival(g.plan, &rank) == REDIST_ERR_BUSY && rank == -1;
  for (number = 0; number < ROUNDS && code == REDIST_OK; number++) {
    code = start_group(&g, number);
    good = code == REDIST_OK && name_all(&g, number) && good;
  }
  test_case_all(good, "pair %d, %s, %d parts, %d arrays%s: code %d", pair, s->name, g.parts,
                g.e[0]->count, g.e[0]->in_place ? ", in place" : "", code);
  drop_group(&g, s);
}

/* ---- late ranks ---- */

/* All but the late rank exchange and are named; then it starts. Only REDIST_SCHEDULED may make
   ranks wait for it that have nothing to do with it, and REDIST_NODES those of its node. */
static int name_before(group *g, int late) {
  const int all = sources(g);
  const double end = MPI_Wtime() + PATIENCE;
  MPI_Request met = MPI_REQUEST_NULL;
  int n = 0, rank = -1, code = REDIST_OK, good = 1;
  if (test_rank() == late) {
    MPI_Ibarrier(MPI_COMM_WORLD, &met);
    wait_yielding(&met);
  }
  code = start_group(g, g->number);
  while (code == REDIST_OK && rank > -2 && n < all && MPI_Wtime() < end) {
    rank = next(g);
    n += rank >= 0;
    good &= rank != late || test_rank() == late || met != MPI_REQUEST_NULL;
    if (n == all - 1 && met == MPI_REQUEST_NULL && test_rank() != late)
      MPI_Ibarrier(MPI_COMM_WORLD, &met);
    if (rank == -1) sched_yield();
  }
  if (n < all - 1) MPI_Ibarrier(MPI_COMM_WORLD, &met);
  code = redist_wait(g->plan);
  if (met != MPI_REQUEST_NULL) wait_yielding(&met);
  return code == REDIST_OK && rank > -2 && good && n == all;
}

static void check_late(const setting *s, int64_t n, int pieces) {
  group g;
  redist_stats stats;
  int code, late, good = 1;
  memset(&g, 0, sizeof g);
  g.parts = 1;
  g.e[0] = exchange_new(MPI_COMM_WORLD);
  exchange_rows(g.e[0], n, n, TEST_CYCLIC);
  g.e[0]->many = 1;
  test_piece_bytes = pieces;
  place_arrays(g.e[0], s);
  code = create_group(&g, s);
  memset(&stats, 0, sizeof stats);
  if (code == REDIST_OK) code = redist_plan_stats(g.plan, &stats);
  for (late = 0; late < test_size() && code == REDIST_OK && stats.method != REDIST_NODES; late++) {
    g.number = late;
    good &= name_before(&g, late);
  }
  test_case_all(code == REDIST_OK && good, "a late rank, %s, n = %d, pieces of %d bytes: code %d",
                s->name, (int)n, pieces, code);
  drop_group(&g, s);
}

/* ---- combining: a rank is named when its contributions are in ---- */

/* Rank r owns row r, and its halo shows the rows of both neighbours; every rank contributes its bit
   to all cells. Bits may be combined in any number before their rank is named, never after. */
static void check_combining(const setting *s) {
  enum { ROW = 5 };
  const int size = test_size(), me = test_rank();
  const double end = MPI_Wtime() + PATIENCE;
  const redist_layout bare =
      redist_with_halo(redist_layout_2d(redist_block(size, size), redist_whole(ROW)), 0, 1, 1);
  const redist_layout ghosts = redist_with_ghosts(bare, 0, REDIST_PERIODIC);
  redist_op either;
  redist_options options;
  redist_plan *plan = NULL;
  int32_t cells[3 * ROW], sums[3 * ROW];
  int named[MOST_RANKS] = {0}, k, rank, all = 0, n = 0, good, code;
  memset(&options, 0, sizeof options);
  either.op = MPI_BOR;
  either.type = MPI_INT32_T;
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.combine = redist_combine_op;
  options.context = &either;
  for (k = 0; k < 3 * ROW; k++) cells[k] = 1 << me, sums[k] = 0;
  for (k = 0; k < size; k++) all += k == me || k == (me + 1) % size || (k + 1) % size == me;
  code = redist_plan_create(MPI_COMM_WORLD, &ghosts, &bare, MPI_INT32_T, &options, &plan);
  good = code == REDIST_OK && redist_start(plan, cells, sums) == REDIST_OK;
  while (good && n < all && MPI_Wtime() < end) {
    good = redist_next_arrival(plan, &rank) == REDIST_OK;
    if (!good || rank < 0) continue;
    good = named[rank]++ == 0;
    for (k = ROW; k < 2 * ROW; k++) good &= (sums[k] >> rank & 1) == 1;
    n++;
  }
  for (k = 0; k < size; k++)
    good &= named[k] == (k == me || k == (me + 1) % size || (k + 1) % size == me);
  good = redist_wait(plan) == REDIST_OK && good;
  test_case_all(good, "combined, %s: code %d, %d of %d named", s->name, code, n, all);
  redist_plan_free(&plan);
}

/* ---- mistakes ---- */

static void check_mistakes(void) {
  group g;
  int rank = 0, code, failed = 0;
  const setting messages = {"messages", REDIST_POINT_TO_POINT, 0, 0, 0, 0};
  memset(&g, 0, sizeof g);
  g.parts = 1;
  g.e[0] = exchange_new(MPI_COMM_WORLD);
  exchange_rows(g.e[0], 12, 12, TEST_CYCLIC);
  g.e[0]->many = 1;
  place_arrays(g.e[0], &messages);
  code = create_group(&g, &messages);
  test_case_all(code == REDIST_OK && redist_next_arrival(NULL, &rank) == REDIST_ERR_ARGUMENT &&
                    rank == -1 && redist_next_arrival(g.plan, NULL) == REDIST_ERR_ARGUMENT &&
                    strcmp(redist_plan_message(g.plan), "the pointer to `rank` is NULL") == 0,
                "NULL");
  test_case_all(redist_next_arrival(g.plan, &rank) == REDIST_ERR_BUSY && rank == -1 &&
                    strstr(redist_plan_message(g.plan), "never started") != NULL,
                "never started: %s", redist_plan_message(g.plan));
  code = start_group(&g, 0);
  fails = 1;
  while (test_size() > 1 && code == REDIST_OK && !failed) {
    code = redist_next_arrival(g.plan, &rank);
    failed = code == REDIST_ERR_MPI;
  }
  fails = 0;
  test_case_all(test_size() == 1 ||
                    (failed && redist_next_arrival(g.plan, &rank) == REDIST_ERR_MPI &&
                     redist_wait(g.plan) == REDIST_ERR_BUSY),
                "an MPI call fails: code %d", code);
  if (test_size() == 1) redist_wait(g.plan);
  drop_group(&g, &messages);
}

int main(int argc, char **argv) {
  int k, s, status;
  MPI_Init(&argc, &argv);
  redist_arena_create(MPI_COMM_WORLD, ARENA_BYTES, &arena);
  for (s = 0; s < SETTINGS; s++)
    for (k = 0; k < PAIRS; k++)
      if (!settings[s].dear || settings[s].arena || test_size() <= 2 || k % 8 == s % 8)
        check_random(&settings[s], k);
  for (s = 0; s < SETTINGS; s++)
    if (settings[s].method != REDIST_MULTIPHASE && settings[s].max_buffer == 0)
      check_combining(&settings[s]);
  for (s = 0; s < SETTINGS && test_size() > 1; s++)
    if (settings[s].method == REDIST_POINT_TO_POINT || settings[s].method == REDIST_SHARED)
      for (k = 0; k < 2; k++) check_late(&settings[s], k == 0 ? 13 : 60, k == 0 ? 262144 : 64);
  redist_arena_free(&arena);
  check_mistakes();
  status = test_report_all("arrivals");
  MPI_Finalize();
  return status;
}
