/* redist tests: replicas filled and reduced through blocks and by trees. No rank sends or receives
   more than the bounds; random layouts give what brute force over every element expects; the order
   of a sum is the contract's, wherever the arrays lie; what must not pass does not. MIT licence,
   see LICENSE. */
#define TEST_LENGTH 1024
#define TEST_ELEMENTS 4096
#define TEST_LARGEST 1000
#include "replicas.h"
#include "redist_plan.h"
#include "test_mpi.h"

enum { FILL, ADD, KINDS, LARGE = 10007, ROUNDS = 2 };

static redist_op sum_of_doubles, sum_of_words;

static redist_stats stats_of(const redist_plan *plan) {
  redist_stats stats;
  memset(&stats, 0, sizeof stats);
  redist_plan_stats(plan, &stats);
  return stats;
}

/* Nodes of one rank with messages that cost like those of a network, or, by name, nothing. */
static redist_options options_of(redist_method method, const redist_op *op) {
  redist_options options;
  memset(&options, 0, sizeof options);
  options.method = method;
  options.node_ranks = 1;
  options.cost.per_message = method == REDIST_AUTO ? 1e-5 : 0;
  options.cost.per_byte = 1e-9;
  options.combine = op != NULL ? redist_combine_op : NULL;
  options.context = (void *)(uintptr_t)op;
  return options;
}

/* ---- bounds ---- */

static double whole_of(int rank, int64_t i) { return (double)((rank + 1) * 1000 + i % 997); }

/* From one rank or replicas to one rank or replicas of LARGE doubles: what arrives, and the most
   that this rank sends or receives, in arrays. */
static void check_bound(int from_all, int to_all, redist_method method) {
  const int size = test_size(), rank = test_rank();
  const int adds = from_all, holds = rank == 0 || to_all;
  const double most = from_all && to_all ? 2.0 * (size - 1) / size : 2;
  const redist_layout one = redist_layout_1d(redist_whole(LARGE)),
                      all = redist_replicated(one, size);
  redist_options options = options_of(method, adds ? &sum_of_doubles : NULL);
  double *from = malloc(LARGE * sizeof *from), *to = malloc(LARGE * sizeof *to);
  redist_plan *plan = NULL;
  redist_stats stats;
  int64_t i;
  int k, round, good;
  good = redist_plan_create(MPI_COMM_WORLD, from_all ? &all : &one, to_all ? &all : &one,
                            MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (round = 0; round < ROUNDS && good; round++) {
    for (i = 0; i < LARGE; i++) {
      from[i] = whole_of(rank, i);
      to[i] = -5;
    }
    good = redist_execute(plan, rank == 0 || from_all ? from : NULL, holds ? to : NULL) == 0;
    for (i = 0; i < LARGE && holds; i++) {
      double expected = adds ? -5 : 0;
      for (k = 0; k < (adds ? size : 1); k++) expected += whole_of(k, i);
      good = good && to[i] == expected;
    }
  }
  stats = stats_of(plan);
  test_case_all(good && stats.method == REDIST_MULTIPHASE && stats.phases == 2 &&
                    (double)stats.bytes_sent <= (most * LARGE + 2 * size) * sizeof *from &&
                    (double)stats.bytes_received <= (most * LARGE + 2 * size) * sizeof *from,
                "%s to %s, method %d: %.0f sent, %.0f received, by method %d",
                from_all ? "replicas" : "one", to_all ? "replicas" : "one", (int)method,
                (double)stats.bytes_sent, (double)stats.bytes_received, (int)stats.method);
  redist_plan_free(&plan);
  free(from);
  free(to);
}

/* ---- random layouts ---- */

static void draw(test_random *r, replicated *pair) {
  int side;
  test_draw_pair(r, test_size(), TEST_REPLICAS | TEST_BOXES | TEST_HALOS, TEST_MEDIUM,
                 &pair->side[0].array, &pair->side[1].array);
  for (side = 0; side < 2; side++) test_build(&pair->side[side]);
}

static uint64_t source_word(int replica, int64_t element, int round) {
  test_random r = {(uint64_t)((replica * 7 + round) * 100003 + element)};
  return test_next(&r);
}

/* Fills the cells of a place: `arrived`: as after the plan. */
static void fill(const replicated *pair, int side, int place, int kind, int round, int arrived,
                 uint64_t *array) {
  const test_table *t = &pair->side[side].table, *from = &pair->side[0].table;
  int64_t i;
  int c;
  for (i = 0; i < t->alloc[place]; i++) array[i] = (uint64_t)(place * 1000 + i);
  for (i = 0; i < t->elements; i++) {
    uint64_t *cell = &array[t->offset[i]];
    if (t->place[i] != place % t->grid) continue;
    if (side == 0) *cell = source_word(place / t->grid, i, round);
    if (side == 0 || !arrived || from->place[i] < 0) continue;
    if (kind == FILL) *cell = 0;
    for (c = 0; c < (kind == ADD ? pair->side[0].array.replicas : 1); c++)
      *cell += source_word(c, i, round);
  }
}

/* Whether the plan arrives at what every element should be, and touches nothing else. */
static int arrives(redist_plan *plan, const replicated *pair, int kind, int in_place) {
  uint64_t *array[3];
  int place[2], side, round, good = 1;
  int64_t cells[2] = {0, 0}, most;
  for (side = 0; side < 2; side++) {
    place[side] = test_place_of_rank(&pair->side[side].table, test_rank());
    if (place[side] >= 0) cells[side] = pair->side[side].table.alloc[place[side]];
  }
  most = cells[0] > cells[1] ? cells[0] : cells[1];
  for (side = 0; side < 3; side++) array[side] = malloc((size_t)(most + 1) * sizeof **array);
  for (round = 0; round < ROUNDS; round++) {
    uint64_t *to = in_place ? array[0] : array[1];
    if (place[1] >= 0) fill(pair, 1, place[1], kind, round, 0, to);
    if (place[1] >= 0) fill(pair, 1, place[1], kind, round, 1, array[2]);
    if (place[0] >= 0) fill(pair, 0, place[0], kind, round, 0, array[0]);
    good = redist_execute(plan, array[0], to) == REDIST_OK && good;
    if (place[1] >= 0 && !in_place)
      good = good && memcmp(to, array[2], (size_t)cells[1] * sizeof *to) == 0;
    for (most = 0; place[1] >= 0 && most < pair->side[1].table.elements; most++) {
      const test_table *t = &pair->side[1].table;
      if (t->place[most] == place[1] % t->grid && pair->side[0].table.place[most] >= 0)
        good = good && to[t->offset[most]] == array[2][t->offset[most]];
    }
  }
  for (side = 0; side < 3; side++) free(array[side]);
  return good;
}

static int is_cyclic(const test_array *array) {
  int a, cyclic = 0;
  for (a = 0; a < array->ndim; a++)
    cyclic |= array->axes[a].kind == TEST_CYCLIC && array->axes[a].procs > 1 &&
              array->axes[a].n > array->axes[a].block * array->axes[a].procs;
  return cyclic;
}

/* Returns whether the plan passes through blocks, or by a tree, where messages are expensive. */
static int check_random(const replicated *pair, int number, int kind, int tree) {
  redist_options options = options_of(REDIST_MULTIPHASE, kind == ADD ? &sum_of_words : NULL);
  redist_plan *plan = NULL;
  char message[400] = "";
  const int sources = pair->side[0].array.replicas;
  int code, through;
  options.in_place = kind == FILL && number % 3 == 0;
  if (tree) options.cost.per_message = 1;
  if (tree) options.node_ranks = 1 + number / 2 % 3;
  options.message = message;
  options.message_size = sizeof message;
  /* replicas of the source differ, so only a sum, or one of them, has one result */
  if (kind == FILL && sources > 1) return 0;
  code = redist_plan_create(MPI_COMM_WORLD, &pair->side[0].layout, &pair->side[1].layout,
                            MPI_UINT64_T, &options, &plan);
  through = code == REDIST_OK && stats_of(plan).phases >= 2;
  test_case_all(code == REDIST_OK && arrives(plan, pair, kind, options.in_place),
                "pair %d, kind %d, %d to %d replicas, %d and %d boxes, %d phases: code %d %s",
                number, kind, sources, pair->side[1].array.replicas, pair->side[0].array.boxes,
                pair->side[1].array.boxes, stats_of(plan).phases, code, message);
  redist_plan_free(&plan);
  return through;
}

/* ---- the order of a sum ---- */

/* Whether a result is `sum` and the terms that are left, in any order, and then `old`. */
static int is_sum(double result, double old, const double *terms, int n, unsigned used,
                  double sum) {
  int k, found = used == (1u << n) - 1 && sum + old == result;
  for (k = 0; k < n && !found; k++)
    if (!(used >> k & 1))
      found = is_sum(result, old, terms, n, used | 1u << k, used == 0 ? terms[k] : terms[k] + sum);
  return found;
}

/* Thirds, so that the bits tell the order: one term after the other, and all of it onto what was
   there; by a tree, in an order of its own. The same bits in and outside an arena, and on all ranks,
   unless groups of a tree have more than two members, each of which begins with its own. */
static void check_order(int node_ranks, int tree) {
  enum { MOST = 9000 };
  const int n = tree ? 900 : MOST;
  const int size = test_size();
  const redist_layout all = redist_replicated(redist_layout_1d(redist_whole(n)), size);
  redist_options options = options_of(REDIST_MULTIPHASE, &sum_of_doubles);
  redist_plan *plan;
  double sum, *from, *to[3], *terms = malloc((size_t)size * sizeof *terms);
  int k, good = 1;
  int64_t i;
  options.node_ranks = node_ranks;
  if (tree) options.cost.per_message = 1;
  redist_arena_create(MPI_COMM_WORLD, 3 * MOST * sizeof *from, &options.arena);
  from = redist_arena_alloc(options.arena, MOST * sizeof *from);
  to[0] = redist_arena_alloc(options.arena, MOST * sizeof *from);
  for (k = 1; k < 3; k++) to[k] = malloc(MOST * sizeof *from);
  for (i = 0; i < n; i++) from[i] = whole_of(test_rank(), i) / 3;
  for (k = 0; k < 2; k++) {
    redist_arena *arena = options.arena;
    for (i = 0; i < n; i++) to[k][i] = 0.1;
    options.arena = k == 0 ? arena : NULL;
    plan = NULL;
    good = redist_plan_create(MPI_COMM_WORLD, &all, &all, MPI_DOUBLE, &options, &plan) == 0 &&
           redist_execute(plan, from, to[k]) == REDIST_OK && stats_of(plan).phases >= 2 && good;
    redist_plan_free(&plan);
    options.arena = arena;
  }
  for (i = 0; i < n; i += 7) {
    for (k = 0; k < size; k++) terms[k] = whole_of(k, i) / 3;
    for (k = 0, sum = 0.1; k < size; k++) sum += terms[k];
    good = good && (tree ? to[0][i] > 0.999999 * sum && to[0][i] < 1.000001 * sum
                         : is_sum(to[0][i], 0.1, terms, size, 0, 0));
  }
  memcpy(to[2], to[0], (size_t)n * sizeof *from);
  if (!tree || (size & (size - 1)) == 0) MPI_Bcast(to[2], n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (k = 1; k < 3; k++) good = good && memcmp(to[0], to[k], (size_t)n * sizeof *from) == 0;
  test_case_all(good, "nodes of %d: one order of a sum%s", node_ranks, tree ? " by a tree" : "");
  for (k = 1; k < 3; k++) free(to[k]);
  free(terms);
  redist_arena_free(&options.arena);
}

/* Blocks of a cyclic axis that begin elsewhere: what arrives, and that each rank keeps the part that
   it sums. On 6 ranks or more. */
static void check_cyclic(int blocks, int block, int columns) {
  const int replicas = test_size() / 2, place = test_rank() % 2;
  const int holds = test_rank() < 2 * replicas;
  const redist_axis axis = redist_starting_at(redist_block_cyclic(blocks * block, block, 2), 1);
  const redist_layout all =
      redist_replicated(redist_layout_2d(axis, redist_whole(columns)), replicas);
  const redist_options options = options_of(REDIST_MULTIPHASE, &sum_of_doubles);
  const int n = holds ? columns * (int)redist_axis_count(&axis, place) : 0, sent = n / replicas;
  double *from = malloc((size_t)(n + 1) * sizeof *from), *to = malloc((size_t)(n + 1) * sizeof *to);
  redist_plan *plan = NULL;
  redist_stats stats;
  int i, k, good;
  for (i = 0; i < n; i++) {
    from[i] = 1000 * test_rank() + i;
    to[i] = 0.5;
  }
  good = redist_plan_create(MPI_COMM_WORLD, &all, &all, MPI_DOUBLE, &options, &plan) == 0 &&
         redist_execute(plan, from, to) == REDIST_OK;
  stats = stats_of(plan);
  for (i = 0; i < n; i++) {
    double expected = 0.5;
    for (k = 0; k < replicas; k++) expected += 1000 * (place + 2 * k) + i;
    good = good && to[i] == expected;
  }
  test_case_all(good && stats.phases == 2 &&
                    stats.bytes_sent == 2 * (replicas - 1) * sent * (int64_t)sizeof *to &&
                    stats.bytes_received == stats.bytes_sent,
                "%d blocks of %d rows of %d: %.0f bytes sent, %.0f received", blocks, block,
                columns, (double)stats.bytes_sent, (double)stats.bytes_received);
  redist_plan_free(&plan);
  free(from);
  free(to);
}

/* ---- trees ---- */

enum { CYCLIC_GRID, BOXES_AT_OFFSETS, HALO_ON_RANKS, TWO_PLACES, TREES, MOST_SIZE = 16 };

/* Replicas on all ranks: of a grid of 2 on 8 ranks; TWO_PLACES: every rank holds two. */
static redist_layout tree_layout(int kind, int64_t rows, int *ranks, int64_t *offsets,
                                 redist_box *box) {
  const int64_t extents[2] = {rows, 3};
  const int size = test_size(), grid = size == 8 || kind == TWO_PLACES ? 2 : 1;
  redist_layout x = redist_layout_2d(redist_block_cyclic(rows, 2, grid), redist_whole(3));
  int k;
  memset(box, 0, 2 * sizeof *box);
  for (k = 0; k < grid; k++) {
    box[k].low[0] = k * (rows / 2 - 1);
    box[k].high[0] = k == grid - 1 ? rows : rows / 2 - 1;
    box[k].high[1] = 3;
  }
  for (k = 0; k < 2 * size; k++) {
    ranks[k] = kind == TWO_PLACES ? k / 2 : size - 1 - k;
    offsets[k] = 3 + k % 2;
  }
  if (kind == BOXES_AT_OFFSETS)
    x = redist_at_offsets(redist_layout_boxes(2, extents, grid, box), offsets);
  if (kind == HALO_ON_RANKS) x = redist_with_halo(x, 1, 1, 2);
  if (kind == CYCLIC_GRID)
    x = redist_memory_order(redist_grid_order(x, REDIST_COLUMN_MAJOR), REDIST_COLUMN_MAJOR);
  if (kind >= HALO_ON_RANKS) x = redist_on_ranks(x, ranks);
  return redist_replicated(x, kind == TWO_PLACES ? size : size / grid);
}

/* On nodes with two replicas, by a tree, or through blocks of one replica of each node, arrives what
   arrives by messages, and nothing else changes. */
static void check_tree(int kind, int from_all, int to_all, int blocks) {
  const int phases = kind == TWO_PLACES ? 1 : 2 + blocks + (from_all && to_all);
  const int64_t rows = blocks ? 6000 : 12; /* from 64 kB on there are blocks */
  redist_box box[2];
  int ranks[2 * MOST_SIZE], good, by;
  int64_t offsets[2 * MOST_SIZE], cells[2], i;
  const redist_layout one = redist_layout_2d(redist_whole(3), redist_whole(rows)),
                      all = tree_layout(kind, rows, ranks, offsets, box),
                      single = redist_transposed(one);
  const redist_layout *from = from_all ? &all : &single, *to = to_all ? &all : &single;
  double *array[3];
  redist_stats stats[2];
  cells[0] = redist_layout_local_size(from, test_rank());
  cells[1] = redist_layout_local_size(to, test_rank());
  array[2] = malloc((size_t)(cells[0] + 1) * sizeof **array);
  for (i = 0; i < cells[0]; i++) array[2][i] = whole_of(test_rank(), 7 * i);
  for (by = 0, good = 1; by < 2; by++) {
    redist_options options = options_of(by == 0 ? REDIST_MULTIPHASE : REDIST_POINT_TO_POINT,
                                        from_all ? &sum_of_doubles : NULL);
    redist_plan *plan = NULL;
    options.cost.per_message = !blocks;
    options.node_ranks = test_size() == 8 ? 4 : 2;
    array[by] = malloc((size_t)(cells[1] + 1) * sizeof **array);
    for (i = 0; i < cells[1]; i++) array[by][i] = (double)-i;
    good = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
           redist_execute(plan, array[2], array[by]) == REDIST_OK && good;
    stats[by] = stats_of(plan);
    redist_plan_free(&plan);
  }
  good = good && memcmp(array[0], array[1], (size_t)cells[1] * sizeof **array) == 0;
  test_case_all(good && stats[0].phases == phases, "kind %d, %s to %s, blocks %d: %d phases", kind,
                from_all ? "replicas" : "one", to_all ? "replicas" : "one", blocks,
                stats[0].phases);
  for (by = 0; by < 3; by++) free(array[by]);
}

/* ---- what may not pass through blocks ---- */

static void own_sum(const void *from, void *to, int64_t n, void *context) {
  redist_combine_op(from, to, n, context);
}

static void minus(void *from, void *to, int *n, MPI_Datatype *type) {
  int k;
  (void)type;
  for (k = 0; k < *n; k++) ((double *)to)[k] = ((double *)from)[k] - ((double *)to)[k];
}

/* A plan from `from` to `to`, and how many phases it has; 0: no chain could be opened. */
static int phases_of(const redist_layout *from, const redist_layout *to, redist_options options) {
  redist_plan *plan = NULL;
  int phases = 0;
  options.method = REDIST_MULTIPHASE;
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK)
    phases = stats_of(plan).method == REDIST_MULTIPHASE ? stats_of(plan).phases : 0;
  redist_plan_free(&plan);
  return phases;
}

static void check_refusals(void) {
  const redist_box half = {{0}, {LARGE / 2}};
  const int64_t extent = LARGE;
  const redist_layout one = redist_layout_1d(redist_whole(LARGE)),
                      all = redist_replicated(one, test_size()), two = redist_replicated(one, 2),
                      part = redist_partial(redist_layout_boxes(1, &extent, 1, &half));
  redist_options fills = options_of(REDIST_MULTIPHASE, NULL),
                 adds = options_of(REDIST_MULTIPHASE, &sum_of_doubles), rest = adds;
  redist_op subtract = {MPI_OP_NULL, MPI_DOUBLE};
  test_case_all(phases_of(&one, &all, fills) == 2 && phases_of(&all, &all, adds) == 2,
                "through blocks");
  test_case_all(phases_of(&two, &all, fills) == 1, "a replica that the contract names");
  test_case_all(phases_of(&part, &all, fills) == 1, "elements that no place of the source owns");
  /* the ranks need not have the same function */
  if (test_rank() == test_size() - 1) rest.combine = own_sum;
  test_case_all(phases_of(&all, &all, rest) == 1, "a function that may not be associative");
  rest = adds;
  rest.in_place = 1;
  test_case_all(phases_of(&all, &all, rest) == 1, "a sum in place");
  rest.in_place = 0;
  rest.wire = REDIST_WIRE_FLOAT;
  test_case_all(phases_of(&all, &all, rest) == 1, "a sum that would be rounded twice");
  MPI_Op_create(minus, 0, &subtract.op);
  rest = adds;
  rest.context = &subtract;
  test_case_all(phases_of(&all, &all, rest) == 1, "an operation that does not commute");
  MPI_Op_free(&subtract.op);
}

int main(int count, char **arguments) {
  static replicated pair;
  const int pairs = count > 1 ? atoi(arguments[1]) : 200;
  int through[KINDS] = {0, 0}, boxed = 0, cyclic = 0, trees = 0, k, kind, status;
  MPI_Init(&count, &arguments);
  sum_of_doubles.op = sum_of_words.op = MPI_SUM;
  sum_of_doubles.type = MPI_DOUBLE;
  sum_of_words.type = MPI_UINT64_T;
  for (k = 0; k < 2; k++) {
    const redist_method method = k == 0 ? REDIST_AUTO : REDIST_MULTIPHASE;
    check_bound(0, 1, method);
    check_bound(1, 0, method);
    check_bound(1, 1, method);
  }
  for (k = 0; k < pairs; k++) {
    test_random r = {(uint64_t)(test_size() * 1000 + k)};
    draw(&r, &pair);
    while (k % 2 == 0 && pair.side[0].array.replicas > 1) draw(&r, &pair);
    for (kind = FILL; kind < KINDS; kind++) {
      const int passes = check_random(&pair, k, kind, 0);
      trees += check_random(&pair, k, kind, 1);
      through[kind] += passes;
      boxed += passes && pair.side[kind == FILL].array.boxes > 0;
      cyclic += passes && is_cyclic(&pair.side[kind == FILL].array);
    }
  }
  test_case_all(pairs < 200 ||
                    (through[FILL] > 2 && through[ADD] > 2 && boxed > 0 && cyclic > 0 && trees > 4),
                "%d filled, %d added, %d of boxes, %d block-cyclic, %d trees", through[FILL],
                through[ADD], boxed, cyclic, trees);
  for (k = 0; k < (test_size() == 7 ? 3 : 6); k++) check_order(k % 3, k / 3);
  if (test_size() >= 6) {
    check_cyclic(5, 2 * (test_size() / 2), 1); /* too few to be dealt out: they are cut */
    check_cyclic(6 * (test_size() / 2), 7, 1);
  }
  if (test_size() == 8) check_cyclic(24, 7, 80); /* both axes are cut */
  for (k = 0; k < 2 * TREES && test_size() != 7; k++) {
    check_tree(k / 2, 0, 1, k % 2);
    check_tree(k / 2, 1, 0, k % 2);
    check_tree(k / 2, 1, 1, k % 2);
  }
  check_refusals();
  status = test_report_all("plan_blocks");
  MPI_Finalize();
  return status;
}
