/* redist tests: plans between layouts with ghost cells, boxes and replicas, moving and combining,
   by every method: every cell of every place against a model. MIT licence, see LICENSE. */
#include "pieces.h"

#define TEST_LENGTH 1024
#define TEST_ELEMENTS 1024
#define TEST_LARGEST 2000
#include "oracle.h"
#include "settings.h"
#include "test_mpi.h"

#include "inside.h"

enum { ARRAYS = 3, ROUNDS = 2, MOST_CELLS = 1 << 15, ARENA = MOST_CELLS * 8, RANKS = 8 };

static redist_arena *arena;
static char *slot[2 * ARRAYS]; /* of the arena */

/* One plan on this rank. */
typedef struct {
  test_model side[2];
  int place[2], arrays, in_place, combine, same; /* same: the arrays of both sides are one */
  /* a halo exchange or its transpose, which overwrites nothing it sends */
  int halo;
  int64_t cells[2], room[2], sum[ARRAYS][TEST_ELEMENTS];
  char sent[TEST_ELEMENTS]; /* by some place */
  int64_t *array[2][ARRAYS];
  redist_plan *plan;
} run;

/* What a cell of a place holds before an execution. Where nothing is combined, replicas agree. */
static int64_t initial(const run *u, int side, int array, int place, int64_t cell) {
  test_random r;
  const int64_t e = side == 0 && !u->combine ? test_element(&u->side[0].table, place, cell, 0) : -1;
  r.state = (uint64_t)(array + 7 * (e >= 0 ? e : 1000 + (side * 64 + place) * 100003 + cell));
  return (int64_t)(test_next(&r) >> 20);
}

static void sum_up(run *u) {
  const test_table *t = &u->side[0].table;
  int place, a;
  int64_t cell, e;
  memset(u->sum, 0, sizeof u->sum);
  memset(u->sent, 0, sizeof u->sent);
  for (place = 0; place < t->places; place++)
    for (cell = 0; cell < t->alloc[place]; cell++) {
      e = test_element(t, place, cell, u->combine);
      if (e >= 0) u->sent[e] = 1;
      for (a = 0; a < u->arrays && e >= 0; a++)
        u->sum[a][e] = (u->combine ? u->sum[a][e] : 0) + initial(u, 0, a, place, cell);
    }
}

static void fill(run *u) {
  int side, a;
  int64_t cell;
  for (side = u->same ? 0 : 1; side >= 0; side--)
    for (a = 0; a < u->arrays; a++)
      for (cell = 0; cell < u->room[side] && u->array[side][a] != NULL; cell++)
        u->array[side][a][cell] = initial(u, side, a, u->place[side], cell);
}

static int is_right(const run *u) {
  const test_table *from = &u->side[0].table, *to = &u->side[1].table;
  int a, rests;
  int64_t cell, e, before, wanted;
  for (a = 0; a < u->arrays && u->place[1] >= 0; a++)
    for (cell = 0; cell < u->cells[1]; cell++) {
      e = test_element(to, u->place[1], cell, 1);
      before = initial(u, u->same ? 0 : 1, a, u->place[u->same ? 0 : 1], cell);
      rests = u->same && e >= 0 && test_element(from, u->place[0], cell, u->combine) == e;
      wanted = e < 0 || !u->sent[e] ? before
               : !u->combine        ? u->sum[a][e]
                                    : before + u->sum[a][e] - (rests ? before : 0);
      if (u->array[1][a][cell] != wanted) return 0;
    }
  return 1;
}

static void take_arrays(run *u, int in_arena) {
  int side, a;
  for (side = 0; side < 2; side++) {
    const test_table *t = &u->side[side].table;
    u->place[side] = test_place_of_rank(t, test_rank());
    u->cells[side] = u->place[side] < 0 ? 0 : t->alloc[u->place[side]];
    test_case_all(u->cells[side] == redist_layout_local_size(&u->side[side].layout, test_rank()),
                  "cells to allocate");
  }
  for (side = 0; side < 2; side++) {
    u->room[side] = u->cells[u->same && u->cells[1] > u->cells[0] ? 1 : side];
    for (a = 0; a < u->arrays; a++)
      u->array[side][a] = side == 1 && u->same ? u->array[0][a]
                          : u->room[side] == 0 ? NULL
                          : in_arena           ? (int64_t *)(void *)slot[side * ARRAYS + a]
                                     : (int64_t *)malloc((size_t)u->room[side] * sizeof(int64_t));
  }
}

static void drop_arrays(run *u, int in_arena) {
  int side, a;
  for (side = 0; side < (u->same ? 1 : 2) && !in_arena; side++)
    for (a = 0; a < u->arrays; a++) free(u->array[side][a]);
}

/* Combining that depends on the order of contributions, wrapping around. */
static void fold(const void *from, void *to, int64_t n, void *context) {
  uint64_t *there = (uint64_t *)to;
  const uint64_t *arrived = (const uint64_t *)from;
  int64_t i;
  (void)context;
  for (i = 0; i < n; i++) there[i] = 3 * there[i] + arrived[i];
}

/* The same arrays give the same bits, however late ranks are. */
static void check_order(run *u, redist_options options, const char *name, int number) {
  int64_t *first = (int64_t *)malloc((size_t)(u->cells[1] + 1) * sizeof *first);
  int round, turn, code, same = 1;
  options.combine = fold;
  code = redist_plan_create(MPI_COMM_WORLD, &u->side[0].layout, &u->side[1].layout, MPI_INT64_T,
                            &options, &u->plan);
  for (round = 0; round < 4 && code == REDIST_OK; round++) {
    fill(u);
    for (turn = 0; turn < (test_rank() * 5 + round * 3) % 7 * 60; turn++) sched_yield();
    code =
        redist_execute_many(u->plan, (const void *const *)u->array[0], (void *const *)u->array[1]);
    if (round == 0 && u->array[1][0] != NULL)
      memcpy(first, u->array[1][0], (size_t)u->cells[1] * sizeof *first);
    same &= u->array[1][0] == NULL ||
            memcmp(first, u->array[1][0], (size_t)u->cells[1] * sizeof *first) == 0;
  }
  test_case_all(code == REDIST_OK && same, "case %d, %s: contributions in one order, code %d",
                number, name, code);
  redist_plan_free(&u->plan);
  free(first);
}

static void check_plan(run *u, const setting *s, int number) {
  redist_op op;
  redist_options options;
  char message[300];
  int round, a, code, level, right = 1;
  memset(&options, 0, sizeof options);
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arrays = u->arrays;
  options.in_place = u->in_place;
  options.arena = s->arena ? arena : NULL;
  options.message = message;
  options.message_size = sizeof message;
  op.op = MPI_SUM;
  op.type = MPI_INT64_T;
  options.combine = u->combine ? redist_combine_op : NULL;
  options.context = &op;
  take_arrays(u, s->arena);
  test_piece_bytes = number % 2 ? 64 : 262144;
  code = redist_plan_create(MPI_COMM_WORLD, &u->side[0].layout, &u->side[1].layout, MPI_INT64_T,
                            &options, &u->plan);
  if (!u->halo && u->in_place &&
      ((code == REDIST_ERR_ARGUMENT && u->combine &&
        strstr(message, "identical strides") != NULL) ||
       (code == REDIST_ERR_MEMORY && s->max_buffer > 0))) {
    drop_arrays(u, s->arena);
    /* the views run through the one array in different ways, or what is sent has no room */
    return;
  }
  if (!test_case_all(code == REDIST_OK, "case %d, %s: code %d, %s", number, s->name, code,
                     message)) {
    drop_arrays(u, s->arena);
    return;
  }
  MPI_Query_thread(&level);
  test_case_all(!u->combine || test_is_alone(u->plan) || level == MPI_THREAD_MULTIPLE,
                "MPI's reductions stay in one thread");
  for (round = 0; round < ROUNDS; round++) {
    fill(u);
    for (a = 0; a < (int)(test_rank() + round) % 3 * 40; a++) sched_yield();
    code =
        redist_execute_many(u->plan, (const void *const *)u->array[0], (void *const *)u->array[1]);
    right &= code == REDIST_OK && is_right(u);
  }
  test_case_all(right, "case %d, %s: %d arrays%s%s, code %d", number, s->name, u->arrays,
                u->combine ? ", combined" : "", u->same ? ", in place" : "", code);
  redist_plan_free(&u->plan);
  if (u->combine) check_order(u, options, s->name, number);
  drop_arrays(u, s->arena);
}

/* A halo exchange or its transpose: one layout, with ghosts on one side, or on both to different
   depths. Sometimes one side has more room: in place, elements move. */
static void draw_halo(test_random *r, run *u, int both) {
  test_array *const array[2] = {&u->side[0].array, &u->side[1].array};
  const int ndim = array[0]->ndim, roomy = test_one_in(r, 4), a = (int)test_between(r, 0, ndim - 1);
  test_array *wide = array[test_between(r, 0, 1)];
  int d;
  for (d = 0; d < ndim && both; d++) array[u->combine]->axes[d].tight = 0;
  *array[!u->combine] = *array[u->combine];
  for (d = 0; d < ndim && both; d++) test_draw_depth(r, &array[0]->axes[d]);
  array[u->combine]->bare = !both;
  u->halo = !both && !roomy && array[0]->replicas == 1;
  if (!roomy) return;
  wide->axes[a].extra += 1 + wide->axes[a].low + wide->axes[a].n + wide->axes[a].high;
  test_add(wide, test_operation_of(TEST_EXTENT, a));
}

static void draw_sides(test_random *r, run *u, int number) {
  const int halo = number % 2, both = halo && test_one_in(r, 5);
  int64_t shape[TEST_DIMS];
  int side, ndim;
  u->combine = (int)test_between(r, 0, 1);
  u->arrays = (int)test_between(r, 1, ARRAYS);
  u->same = halo && !test_one_in(r, 4);
  u->in_place = u->same || test_one_in(r, 8);
  u->halo = 0;
  ndim = test_draw_shape(r, TEST_SMALL, shape);
  for (side = 0; side < 2; side++)
    test_draw(r, test_size() < RANKS ? test_size() : RANKS,
              test_any_kind(r, halo || test_one_in(r, 2)), ndim, shape, &u->side[side].array);
  if (halo) draw_halo(r, u, both);
  for (side = 0; side < 2; side++) test_build(&u->side[side]);
}

/* Every other pair is a halo exchange or its transpose. */
static void draw(test_random *r, run *u, int number) {
  do draw_sides(r, u, number);
  while (test_most_cells(&u->side[0].table) > MOST_CELLS ||
         test_most_cells(&u->side[1].table) > MOST_CELLS);
}

/* A halo exchange in place, where one rank's rows become longer, so that only its elements move. */
static void check_lengthened(void) {
  enum { ROWS = 3, LENGTH = 100, HALO = 2, HELD = ROWS + 2 * HALO };
  const int rank = test_rank(), n = ROWS * test_size(), longer = rank == 0 ? LENGTH + 5 : LENGTH;
  static int64_t a[HELD * (LENGTH + 5)];
  redist_layout bare = redist_layout_2d(redist_balanced(n, test_size()), redist_whole(LENGTH)),
                full;
  redist_options options;
  redist_plan *plan;
  int round, i, j, code, right = 1;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.method = REDIST_AUTO;
  test_piece_bytes = 64;
  bare = redist_with_allocated(redist_with_halo(bare, 0, HALO, HALO), 1, LENGTH);
  full = redist_with_allocated(redist_with_ghosts(bare, 0, REDIST_PERIODIC), 1, longer);
  code = redist_plan_create(MPI_COMM_WORLD, &bare, &full, MPI_INT64_T, &options, &plan);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    for (i = 0; i < ROWS * LENGTH; i++) a[HALO * LENGTH + i] = rank * ROWS * LENGTH + i + round;
    code = redist_execute(plan, a, a);
    for (i = 0; i < HELD; i++)
      for (j = 0; j < LENGTH; j++)
        right &= a[i * longer + j] == (rank * ROWS + i - HALO + n) % n * LENGTH + j + round;
  }
  test_case_all(code == REDIST_OK && right, "one rank's rows become longer: code %d", code);
  redist_plan_free(&plan);
}

#ifndef REDIST_NO_LISTS
/* A halo exchange of bricks without corners fills the same cells through a view that splits one axis
   and reverses another. */
static void check_reversed(void) {
  enum { CELLS = 6 * 7 * 6 };
  static int64_t a[2][CELLS];
  const int before = (test_rank() + test_size() - 1) % test_size();
  const redist_layout bricks = redist_layout_3d(redist_block(4 * test_size(), test_size()),
                                                redist_whole(5), redist_whole(6));
  redist_layout bare = redist_with_halo(redist_with_halo(bricks, 0, 1, 1), 1, 1, 1), full;
  redist_options options;
  redist_plan *plan;
  int k, view, code = REDIST_OK;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  for (view = 0; view < 2 && code == REDIST_OK; view++) {
    for (k = 0; k < CELLS; k++) a[view][k] = test_rank() * CELLS + k;
    full = redist_with_ghosts(redist_with_ghosts(bare, 0, REDIST_PERIODIC), 1, REDIST_PERIODIC);
    full = redist_without_corners(full);
    if (view) full = redist_flipped(redist_split(full, 2, 3), 0);
    if (view) bare = redist_flipped(redist_split(bare, 2, 3), 0);
    code = redist_plan_create(MPI_COMM_WORLD, &bare, &full, MPI_INT64_T, &options, &plan);
    if (code == REDIST_OK) code = redist_execute(plan, a[view], a[view]);
    redist_plan_free(&plan);
  }
  test_case_all(code == REDIST_OK && memcmp(a[0], a[1], sizeof a[0]) == 0 &&
                    a[0][7] == before * CELLS + 4 * 7 * 6 + 7,
                "ghost cells of a split and reversed view: code %d", code);
}
#endif

/* In place, each of several arrays is its own destination, and no other's. */
static void check_crosswise(void) {
  enum { N = 4 };
  static int64_t a[N + 2], b[N + 2];
  const redist_axis blocks = redist_block(N * test_size(), test_size());
  const redist_layout bare = redist_with_halo(redist_layout_1d(blocks), 0, 1, 1);
  const redist_layout full = redist_with_ghosts(bare, 0, REDIST_PERIODIC);
  const void *const from[2] = {a, b};
  void *const straight[2] = {a, b}, *const crosswise[2] = {b, a};
  redist_options options;
  redist_plan *plan;
  int code, crossed = REDIST_OK;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.arrays = 2;
  code = redist_plan_create(MPI_COMM_WORLD, &bare, &full, MPI_INT64_T, &options, &plan);
  if (code == REDIST_OK) crossed = redist_execute_many(plan, from, crosswise);
  if (code == REDIST_OK) code = redist_execute_many(plan, from, straight);
  test_case_all(code == REDIST_OK && crossed == REDIST_ERR_ALIAS,
                "two arrays in place: code %d, crosswise %d", code, crossed);
  redist_plan_free(&plan);
}

/* Two staggered fields in equal storage: of one, the last rank owns a node more, and nobody has room
   past the closed end. One stored halo, exchanged to every depth, in place. */
static void check_staggered(int nodes, int64_t depth) {
  enum { OWNED = 4, HALO = 3, ALLOCATED = OWNED + 2 * HALO };
  const int rank = test_rank(), last = test_size() - 1, count = OWNED + (nodes && rank == last);
  static int64_t a[ALLOCATED], cuts[64];
  redist_layout bare, full;
  redist_options options;
  redist_plan *plan;
  redist_stats stats;
  int64_t k, g, sent;
  int code, right = 1;
  for (k = 0; k <= last + 1; k++) cuts[k] = OWNED * k + (nodes && k > last);
  bare = redist_layout_1d(redist_cuts(cuts, last + 1));
  bare = redist_with_allocated(redist_with_halo(bare, 0, HALO, HALO), 0, ALLOCATED);
  full = redist_ghost_depth(redist_with_ghosts(bare, 0, REDIST_CLOSED), 0, depth, depth);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  for (k = 0; k < ALLOCATED; k++) a[k] = k >= HALO && k < HALO + count ? OWNED * rank + k : -k;
  code = redist_plan_create(MPI_COMM_WORLD, &bare, &full, MPI_INT64_T, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, a);
  for (k = 0; k < ALLOCATED; k++) {
    const int near = k >= HALO - depth && k < HALO + count + depth;
    g = OWNED * rank + k - HALO;
    right &= a[k] == (near && g >= 0 && g < cuts[last + 1] ? OWNED * rank + k : -k);
  }
  sent = depth * ((rank > 0) + (rank < last)) * (int64_t)sizeof *a;
  right &=
      code == REDIST_OK && redist_plan_stats(plan, &stats) == REDIST_OK && stats.bytes_sent == sent;
  test_case_all(right, "%s to depth %d: code %d", nodes ? "nodes" : "cells", (int)depth, code);
  redist_plan_free(&plan);
}

/* The distinct neighbours of this rank along the axes of a periodic grid, in row-major order. */
static int64_t count_neighbours(int ndim, const int *grid, int64_t *faces) {
  static char neighbour[64];
  int d, side, weight = 1;
  int64_t neighbours = 0;
  memset(neighbour, 0, sizeof neighbour);
  for (*faces = 0, d = ndim - 1; d >= 0; weight *= grid[d--])
    for (side = -1; side <= 1; side += 2) {
      const int coord = test_rank() / weight % grid[d];
      const int other = test_rank() + ((coord + side + grid[d]) % grid[d] - coord) * weight;
      *faces += other != test_rank();
      neighbours += other != test_rank() && !neighbour[other];
      neighbour[other] = 1;
    }
  return neighbours;
}

/* Without corners, ranks that only share these are no peers, and messages are faces alone; the
   other way, faces are combined into their owners' elements. */
static void check_faces(int ndim, redist_method method) {
  enum { SIDE = 2 };
  redist_axis axes[4];
  redist_layout bare, full;
  redist_options options;
  redist_plan *plan[2] = {NULL, NULL};
  redist_stats stats;
  int64_t faces, neighbours, bytes = sizeof(int64_t);
  int d, k, code, grid[4] = {0, 0, 0, 0};
  MPI_Dims_create(test_size(), ndim, grid);
  for (d = 0; d < ndim; d++) axes[d] = redist_block(SIDE * grid[d], grid[d]);
  bare = redist_layout_nd(ndim, axes);
  for (d = 0; d < ndim; d++) bare = redist_with_halo(bare, d, 1, 1);
  full = redist_without_corners(redist_with_ghosts(bare, 0, REDIST_PERIODIC));
  for (d = 1; d < ndim; d++) full = redist_with_ghosts(full, d, REDIST_PERIODIC);
  for (d = 1; d < ndim; d++) bytes *= SIDE;
  neighbours = count_neighbours(ndim, grid, &faces);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.method = method;
  code = redist_plan_create(MPI_COMM_WORLD, &bare, &full, MPI_INT64_T, &options, &plan[0]);
  options.combine = fold;
  if (code == REDIST_OK)
    code = redist_plan_create(MPI_COMM_WORLD, &full, &bare, MPI_INT64_T, &options, &plan[1]);
  for (k = 0; k < 2 && code == REDIST_OK; k++) {
    redist_plan_stats(plan[k], &stats);
    test_case_all(stats.sends == neighbours && stats.receives == neighbours &&
                      stats.bytes_sent == faces * bytes && stats.bytes_received == faces * bytes,
                  "faces in %d-D, plan %d, method %d: %d messages of %d bytes, not %d of %d", ndim,
                  k, (int)method, (int)stats.sends, (int)stats.bytes_sent, (int)neighbours,
                  (int)(faces * bytes));
  }
  test_case_all(code == REDIST_OK, "faces in %d-D, method %d: code %d", ndim, (int)method, code);
  for (k = 0; k < 2; k++) redist_plan_free(&plan[k]);
}

/* Two patches with a gap between them, periodic: each fills its ghost cells from the other, and
   from itself around the array; the gap keeps what it had. The whole array, received from patches, keeps
   its gaps too. */
static void check_patches(void) {
  enum { N = 12, HALO = 3 };
  static const redist_box box[2] = {{{2}, {5}}, {{7}, {11}}};
  static const int64_t extents[1] = {N};
  static const int first[2] = {2, 7}, count[2] = {3, 4};
  const int mine = test_rank() < 2 ? test_rank() : -1;
  redist_layout patches = redist_with_halo(redist_layout_boxes(1, extents, 2, box), 0, HALO, HALO);
  redist_layout full = redist_with_ghosts(redist_partial(patches), 0, REDIST_PERIODIC), all;
  redist_plan *plan;
  redist_options options;
  int64_t a[4 + 2 * HALO], b[N], index, k;
  int code, right = 1;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  patches = redist_partial(patches);
  for (k = 0; k < 4 + 2 * HALO; k++)
    a[k] = mine >= 0 && k >= HALO && k < HALO + count[mine] ? first[mine] + k - HALO : -1;
  code = redist_plan_create(MPI_COMM_WORLD, &patches, &full, MPI_INT64_T, &options, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, mine < 0 ? NULL : a, mine < 0 ? NULL : a);
  redist_plan_free(&plan);
  for (k = 0; mine >= 0 && k < count[mine] + 2 * HALO; k++) {
    index = (first[mine] + k - HALO + N) % N;
    right &= a[k] == ((index >= 2 && index < 5) || (index >= 7 && index < 11) ? index : -1);
  }
  test_case_all(code == REDIST_OK && right, "patches with a gap: code %d", code);
  all = redist_replicated(redist_layout_1d(redist_whole(N)), test_size());
  for (k = 0; k < N; k++) b[k] = -k;
  code = redist_plan_create(MPI_COMM_WORLD, &patches, &all, MPI_INT64_T, NULL, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, mine < 0 ? NULL : a, b);
  redist_plan_free(&plan);
  for (k = 0; k < N; k++) right &= b[k] == ((k >= 2 && k < 5) || (k >= 7 && k < 11) ? k : -k);
  test_case_all(code == REDIST_OK && right, "all of some patches: code %d", code);
}

int main(int argc, char **argv) {
  static run u;
  test_random r = {77};
  int k, s, cases;
  MPI_Init(&argc, &argv);
  cases = argc > 1 ? atoi(argv[1]) : 100;
  redist_arena_create(MPI_COMM_WORLD, 2 * ARRAYS * ARENA, &arena);
  for (k = 0; k < 2 * ARRAYS; k++) slot[k] = (char *)redist_arena_alloc(arena, ARENA);
  for (k = 0; k < cases; k++) {
    draw(&r, &u, k);
    sum_up(&u);
    for (s = 0; s < SETTINGS; s++)
      if (!settings[s].dear || test_size() <= 2 || k % 16 == s) check_plan(&u, &settings[s], k);
  }
  redist_arena_free(&arena);
  check_lengthened();
  check_crosswise();
#ifndef REDIST_NO_LISTS
  check_reversed();
#endif
  for (k = 0; k < 8; k++) check_staggered(k / 4, k % 4);
  if (test_size() > 1) check_patches();
  for (k = 2; k <= 4; k++) {
    check_faces(k, REDIST_AUTO);
    check_faces(k, REDIST_POINT_TO_POINT);
  }
  k = test_report_all("plan_ghosts");
  MPI_Finalize();
  return k;
}
