/* redist tests: one order of contributions. An operation that neither commutes nor associates gives
   the same bits wherever the arrays lie, however messages are cut, and whichever of several started
   plans progresses first; and these bits are those of the contract's order, by a model. In a third
   of the cases elements travel as float, and the model combines rounded ones.
   MIT licence, see LICENSE. */
#include "pieces.h"

#define TEST_LENGTH 1024
#define TEST_ELEMENTS 1024
#define TEST_LARGEST 1000
#include "oracle.h"
#include "shapes.h"

#include "redist_plan.h"

#include "inside.h"
#include "test_mpi.h"

enum { PLANS = 2, ROUNDS = 3, MOST_CELLS = 1500, MOST_RANKS = 4, NEAR = 50, FAR_APART = 200 };

/* alike: the first setting that must give the same bits, or -1: any order of ranks will do.
   in: which sides lie in the arena. */
typedef struct {
  const char *name;
  redist_method method;
  int alike, arena, in[2], distance;
  int64_t max_buffer, piece;
  int node_ranks;
} setting;

static const setting settings[] = {
    {"alltoallv", REDIST_ALLTOALLV, 0, 0, {0, 0}, 0, 0, 0, 0},
    {"alltoallw", REDIST_ALLTOALLW, 1, 0, {0, 0}, 0, 0, 0, 0},
    {"point to point", REDIST_POINT_TO_POINT, 2, 0, {0, 0}, 0, 0, 0, 0},
    {"point to point, arena", REDIST_POINT_TO_POINT, 2, 1, {1, 1}, NEAR, 0, 0, 0},
    {"scheduled", REDIST_SCHEDULED, 4, 0, {0, 0}, 0, 0, 0, 0},
    {"scheduled within 64 bytes", REDIST_SCHEDULED, 4, 0, {0, 0}, 0, 64, 0, 0},
    {"scheduled within 400 bytes", REDIST_SCHEDULED, 4, 0, {0, 0}, 0, 400, 0, 0},
    {"shared", REDIST_SHARED, 7, 0, {0, 0}, 0, 0, 262144, 0},
    {"shared, pieces", REDIST_SHARED, 7, 0, {0, 0}, 0, 0, 64, 0},
    {"shared, arena, near", REDIST_SHARED, 7, 1, {0, 0}, NEAR, 0, 64, 0},
    {"shared, source in the arena, near", REDIST_SHARED, 7, 1, {1, 0}, NEAR, 0, 64, 0},
    {"shared, destination in the arena, near", REDIST_SHARED, 7, 1, {0, 1}, NEAR, 0, 262144, 0},
    {"shared, both in the arena, near", REDIST_SHARED, 7, 1, {1, 1}, NEAR, 0, 262144, 0},
    {"shared, source in the arena, far", REDIST_SHARED, 7, 1, {1, 0}, FAR_APART, 0, 262144, 0},
    {"shared, both in the arena, far", REDIST_SHARED, 7, 1, {1, 1}, FAR_APART, 0, 64, 0},
    {"nodes of 2", REDIST_NODES, 15, 0, {0, 0}, 0, 0, 262144, 2},
    {"nodes of 2, arena", REDIST_NODES, 15, 1, {1, 1}, NEAR, 0, 64, 2},
    {"nodes dealt out", REDIST_NODES, 15, 0, {0, 0}, 0, 0, 262144, DEALT_TO_2},
    {"uneven nodes, arena", REDIST_NODES, 15, 1, {1, 1}, NEAR, 0, 64, UNEVEN},
    {"multiphase", REDIST_MULTIPHASE, -1, 0, {0, 0}, 0, 0, 0, 0},
    {"automatic", REDIST_AUTO, -1, 0, {0, 0}, 0, 0, 0, 0},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static redist_arena *arena;
static uint64_t *slot[2][PLANS]; /* of the arena */

/* What a rank holds of an element: its cell, and which image of the periodic axes it lies in. */
typedef struct {
  int64_t element;
  int rank, image;
  int64_t cell;
  uint64_t value;
} contribution;

typedef struct {
  test_model side[2];
  int place[2], same, wire; /* same: in place */
  int64_t cells[2], contributions, element[MOST_CELLS];
  contribution *list;
  uint64_t *own[2][PLANS], *array[2][PLANS], *bits[SETTINGS];
} run;

static uint64_t initial(int side, int place, int64_t cell) {
  test_random r;
  r.state = (uint64_t)((side * 64 + place) * 100003 + cell);
  return test_next(&r);
}

/* A double as it arrives after it has travelled as float. */
static uint64_t rounded(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  value = (double)(float)value;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t combined(uint64_t there, uint64_t arrives) {
  return (there ^ arrives) * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

static void combine(const void *from, void *to, int64_t n, void *context) {
  uint64_t *there = (uint64_t *)to;
  int64_t i;
  (void)context;
  for (i = 0; i < n; i++) there[i] = combined(there[i], ((const uint64_t *)from)[i]);
}

/* ---- the model ---- */

/* 0: between the ends of the axis; 1: in ghost cells past its low end, 2: past its high end. */
static int image_along(const test_table *t, int a, int place, int64_t position) {
  const test_axis *x = &t->array->axes[a];
  const int64_t local = position - t->halo[a]->low;
  const int64_t i = t->deals[a].begin[t->coords[place][a]] + local;
  if (x->ghosts == TEST_NO_GHOSTS || x->edge != REDIST_PERIODIC) return 0;
  return i < 0 ? 1 : i >= x->n ? 2 : 0;
}

/* The images of axis 0 follow each other within one of axis 1, and so on. */
static int image_of(const test_table *t, int place, int64_t cell) {
  int64_t position[TEST_DIMS];
  int d, image = 0;
  test_positions(t, place, cell, position);
  for (d = t->array->ndim - 1; d >= 0; d--)
    image = 3 * image + image_along(t, t->own[d], place, position[t->own[d]]);
  return image;
}

static int compare(const void *a, const void *b) {
  const contribution *x = (const contribution *)a, *y = (const contribution *)b;
  if (x->element != y->element) return x->element < y->element ? -1 : 1;
  return x->rank != y->rank ? x->rank - y->rank : x->image - y->image;
}

static void list_contributions(run *u) {
  const test_table *from = &u->side[0].table;
  int place;
  int64_t cell;
  u->contributions = 0;
  for (place = 0; place < from->places; place++)
    for (cell = 0; cell < from->alloc[place]; cell++) {
      contribution *c = &u->list[u->contributions];
      c->element = test_element(from, place, cell, 1);
      c->rank = from->ranks[place];
      c->image = image_of(from, place, cell);
      c->cell = cell;
      c->value = u->wire ? rounded(initial(0, place, cell)) : initial(0, place, cell);
      u->contributions += c->element >= 0;
    }
  qsort(u->list, (size_t)u->contributions, sizeof *u->list, compare);
}

/* How often a rank holds the element that it holds most often. */
static int most_held(const run *u) {
  int64_t k, held = 0, most = 0;
  for (k = 0; k < u->contributions; k++) {
    const contribution *c = &u->list[k];
    held = k > 0 && c[-1].element == c->element && c[-1].rank == c->rank ? held + 1 : 1;
    most = held > most ? held : most;
  }
  return (int)most;
}

/* Combines what a rank holds of a cell's element. In place a cell does not contribute to itself. */
static uint64_t contribute(const run *u, uint64_t value, int64_t cell, int64_t first, int rank) {
  const int64_t e = u->element[cell];
  const contribution *c = u->list + first, *end = u->list + u->contributions;
  for (; c < end && c->element == e; c++)
    if (c->rank == rank && !(u->same && rank == test_rank() && c->cell == cell))
      value = combined(value, c->value);
  return value;
}

static int64_t first_of(const run *u, int64_t e) {
  int64_t low = 0, high = u->contributions, middle;
  while (low < high) {
    middle = (low + high) / 2;
    if (u->list[middle].element < e)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether the array holds what this order of the other ranks makes. */
static int is_order(const run *u, const uint64_t *array, const int *rank) {
  const int side = u->same ? 0 : 1;
  int64_t cell, first;
  int k;
  for (cell = 0; cell < u->cells[1]; cell++) {
    uint64_t value = initial(side, u->place[side], cell);
    if (u->element[cell] >= 0) {
      first = first_of(u, u->element[cell]);
      value = contribute(u, value, cell, first, test_rank());
      for (k = 0; k < test_size() - 1; k++) value = contribute(u, value, cell, first, rank[k]);
    }
    if (array[cell] != value) return 0;
  }
  return 1;
}

/* Whether one order of the other ranks, the same for all elements, explains the array. */
static int some_order(const run *u, const uint64_t *array, int *rank, int fixed, int others) {
  int k, found = fixed == others && is_order(u, array, rank);
  for (k = fixed; k < others && !found; k++) {
    const int chosen = rank[k];
    rank[k] = rank[fixed];
    rank[fixed] = chosen;
    found = some_order(u, array, rank, fixed + 1, others);
    rank[fixed] = rank[k];
    rank[k] = chosen;
  }
  return found;
}

static int is_contracts_order(const run *u, const uint64_t *array) {
  int rank[MOST_RANKS], k;
  for (k = 0; k < test_size() - 1; k++) rank[k] = k + (k >= test_rank());
  return some_order(u, array, rank, 0, test_size() - 1);
}

/* ---- plans ---- */

static void fill(const run *u, int k) {
  int side;
  int64_t cell;
  for (side = u->same ? 0 : 1; side >= 0; side--)
    for (cell = 0; cell < u->cells[side]; cell++)
      u->array[side][k][cell] = initial(side, u->place[side], cell);
}

/* Starts the plans in orders that differ from rank to rank, or in round 0 one after the other. */
static int start(run *u, redist_plan **plan, int round) {
  int i, code = REDIST_OK;
  for (i = 0; i < PLANS && code == REDIST_OK; i++) {
    const int k = round == 0 ? i : (i + test_rank() + round) % PLANS;
    code = redist_start(plan[k], u->array[0][k], u->array[1][k]);
    if (round == 0 && code == REDIST_OK) code = redist_wait(plan[k]);
  }
  return code;
}

/* Tests the plans so many times, one more often than the other. Returns whether all are done. */
static int progress(redist_plan **plan, int *done, int tests, int round, int *code) {
  int i, k, all = 0;
  for (i = test_rank() + round; tests > 0 && *code == REDIST_OK && !all; tests--, i++) {
    k = i % 7 < 4 ? i % PLANS : round % PLANS;
    *code = done[k] ? REDIST_OK : redist_test(plan[k], &done[k]);
    for (all = 1, k = 0; k < PLANS; k++) all = all && done[k];
    sched_yield();
  }
  return all;
}

/* In the last round one rank starts when the others have waited long enough to do without it. */
static int execute(run *u, redist_plan **plan, int round, int late) {
  enum { LONG = 80 }; /* tries: four times as many as a rank makes before it yields */
  int done[PLANS] = {0}, k, code = REDIST_OK;
  for (k = 0; k < PLANS; k++) fill(u, k);
  for (k = 0; k < (test_rank() * 5 + round * 3) % 4 * 30; k++) sched_yield();
  if (round == ROUNDS - 1 && test_rank() == late) test_sum(0);
  code = start(u, plan, round);
  if (round == ROUNDS - 1 && test_rank() != late) {
    progress(plan, done, LONG, round, &code);
    test_sum(0);
  }
  while (round > 0 && code == REDIST_OK && !progress(plan, done, LONG, round, &code)) continue;
  return code;
}

/* Whether the plans' arrays hold the bits of the first execution, which are kept. */
static int same_bits(run *u, int number) {
  const size_t bytes = (size_t)u->cells[1] * sizeof(uint64_t);
  const int alike = settings[number].alike < 0 ? number : settings[number].alike;
  int k, same = 1;
  if (u->bits[alike] == NULL) {
    u->bits[alike] = (uint64_t *)malloc(bytes + 1);
    if (bytes > 0) memcpy(u->bits[alike], u->array[1][0], bytes);
  }
  for (k = 0; k < PLANS && bytes > 0; k++)
    same = same && memcmp(u->bits[alike], u->array[1][k], bytes) == 0;
  return same;
}

static void place_arrays(run *u, const setting *s) {
  int k, side;
  for (k = 0; k < PLANS; k++)
    for (side = 0; side < 2; side++)
      u->array[side][k] = side == 1 && u->same ? u->array[0][k]
                          : s->in[side]        ? slot[side][k]
                                               : u->own[side][k];
}

static int create(run *u, const setting *s, redist_plan **plan, char *message, size_t size) {
  redist_options options;
  int k, code = REDIST_OK;
  memset(&options, 0, sizeof options);
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.in_place = u->same;
  options.arena = s->arena ? arena : NULL;
  options.combine = combine;
  options.wire = u->wire ? REDIST_WIRE_FLOAT : REDIST_WIRE_EXACT;
  options.message = message;
  options.message_size = size;
  options.cost.per_message = 1;
  options.cost.per_byte = 1e-6;
  test_piece_bytes = s->piece > 0 ? s->piece : 262144;
  if (s->arena) test_set_fetching(arena, s->distance > 0 ? s->distance : FAR_APART);
  for (k = 0; k < PLANS && code == REDIST_OK; k++)
    code = redist_plan_create(MPI_COMM_WORLD, &u->side[0].layout, &u->side[1].layout,
                              u->wire ? MPI_DOUBLE : MPI_UINT64_T, &options, &plan[k]);
  return code;
}

static void check_setting(run *u, int number, int the_case) {
  const setting *s = &settings[number];
  redist_plan *plan[PLANS] = {NULL};
  char message[300] = "";
  int k, round, same = 1, right = 1, code = create(u, s, plan, message, sizeof message);
  const int lacks = u->same && code == REDIST_ERR_MEMORY && s->max_buffer > 0; /* room in place */
  place_arrays(u, s);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    code = execute(u, plan, round, (the_case + number) % test_size());
    same = same && same_bits(u, number);
    right = right && (round > 0 || u->cells[1] == 0 || is_contracts_order(u, u->array[1][0]));
  }
  test_case_all((code == REDIST_OK || lacks) && same && right,
                "case %d, %s%s%s: %s, %s, code %d %s", the_case, s->name,
                u->wire ? ", as float" : "", u->same ? ", in place" : "",
                same ? "the same bits" : "other bits", right ? "in order" : "not in order", code,
                message);
  for (k = 0; k < PLANS; k++) redist_plan_free(&plan[k]);
}

/* ---- cases ---- */

/* Ghost cells that show an element several times: mostly periodic, often far around the axis. */
static void widen(test_random *r, test_array *array) {
  int a;
  for (a = 0; a < array->ndim; a++) {
    test_axis *x = &array->axes[a];
    const int dealt = x->kind == TEST_CYCLIC || x->kind == TEST_BLOCK_CYCLIC;
    if (dealt && !test_one_in(r, 8)) x->kind = TEST_CUTS;
    x->low = test_one_in(r, 3) ? x->n : test_between(r, 0, test_one_in(r, 3) ? 1 : x->n);
    x->high = test_one_in(r, 3) ? x->n : test_between(r, 0, test_one_in(r, 3) ? 1 : x->n);
    x->edge = test_one_in(r, 10) ? REDIST_CLOSED : REDIST_PERIODIC;
    x->ghosts = test_can_have_ghosts(x) && !test_one_in(r, 10);
    x->tight = 0;
    test_draw_depth(r, x);
  }
}

static void draw_sides(test_random *r, run *u, int number) {
  const int ndim = 1 + number % 3, halo = number / 3 % 2, copied = number % 4 == 3;
  test_array *from = &u->side[0].array, *to = &u->side[1].array;
  int64_t shape[TEST_DIMS];
  int d, side;
  for (d = 0; d < ndim; d++) shape[d] = test_between(r, 1, ndim == 1 ? 60 : ndim == 2 ? 8 : 4);
  test_draw(r, test_size(), test_any_kind(r, 1) | (copied ? TEST_REPLICAS : 0), ndim, shape, from);
  test_draw(r, test_size(), test_any_kind(r, test_one_in(r, 2)), ndim, shape, to);
  widen(r, from);
  for (d = 0; d < ndim && copied; d++) from->axes[d].ghosts = TEST_NO_GHOSTS;
  u->same = halo && !test_one_in(r, 3);
  u->wire = number / 2 % 3 == 2;
  if (halo) *to = *from;
  for (d = 0; d < ndim && halo && !test_one_in(r, 4); d++)
    to->axes[d].ghosts = TEST_NO_GHOSTS; /* its ghost cells, or some of them, receive nothing */
  for (side = 0; side < 2; side++) test_build(&u->side[side]);
}

/* Every fourth source has no ghosts, but as many replicas as there are ranks. */
static void draw(test_random *r, run *u, int number) {
  do draw_sides(r, u, number);
  while (test_most_cells(&u->side[0].table) > MOST_CELLS ||
         test_most_cells(&u->side[1].table) > MOST_CELLS ||
         (number % 4 == 3 && u->side[0].array.replicas < test_size()));
}

static void check_case(run *u, int number) {
  int64_t cell;
  int s, side;
  for (side = 0; side < 2; side++) {
    const test_table *t = &u->side[side].table;
    u->place[side] = test_place_of_rank(t, test_rank());
    u->cells[side] = u->place[side] < 0 ? 0 : t->alloc[u->place[side]];
  }
  for (cell = 0; cell < u->cells[1]; cell++)
    u->element[cell] = test_element(&u->side[1].table, u->place[1], cell, 1);
  list_contributions(u);
  for (s = 0; s < SETTINGS; s++) check_setting(u, s, number);
  for (s = 0; s < SETTINGS; s++) {
    free(u->bits[s]);
    u->bits[s] = NULL;
  }
}

int main(int argc, char **argv) {
  static run u;
  const size_t bytes = MOST_CELLS * sizeof(uint64_t);
  test_random r = {2026};
  int k, side, cases, most = 0;
  MPI_Init(&argc, &argv);
  cases = argc > 1 ? atoi(argv[1]) : 60;
  redist_arena_create(MPI_COMM_WORLD, 2 * PLANS * (bytes + 64), &arena);
  for (k = 0; k < 2 * PLANS; k++) {
    slot[k % 2][k / 2] = (uint64_t *)redist_arena_alloc(arena, bytes);
    u.own[k % 2][k / 2] = (uint64_t *)malloc(bytes);
  }
  u.list = (contribution *)malloc(MOST_RANKS * MOST_CELLS * sizeof *u.list);
  for (k = 0; k < cases; k++) {
    draw(&r, &u, k);
    check_case(&u, k);
    most = most_held(&u) > most ? most_held(&u) : most;
  }
  test_case_all(most > 4, "a rank holds an element %d times", most);
  redist_arena_free(&arena);
  for (k = 0; k < PLANS; k++)
    for (side = 0; side < 2; side++) free(u.own[side][k]);
  free(u.list);
  k = test_report_all("plan_bits");
  MPI_Finalize();
  return k;
}
