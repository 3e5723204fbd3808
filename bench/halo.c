/* Ghost cells and combining, compared with programs without redist. MIT licence, see LICENSE.

   Halo exchange of a periodic brick of doubles on every rank, corners included, against messages of
   subarrays along one axis after the other, and against plain loops that fill the same cells from
   another array of the same process. B += A^T followed by A += 1, ParRes' Transpose, against its
   MPI1 program. C := beta C + alpha A^T, block-cyclic, against ScaLAPACK's pdtran. Combining
   against moving. Whole cycles on blocks in static arrays and from malloc, as they are, adopted by
   an arena, and of the arena, against packing. All contestants run alternately; times are those of the slowest rank. */
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "redist_plan.h"
#include "rivals.h"

enum { ALL, HALO, PARRES, TRAN, COMBINING, FIELDS, PATCHES, BLOCKS };

typedef struct {
  int64_t rounds, largest;
  int only;
  int rank, ranks;
  redist_arena *arena;
  char *shared; /* of the arena */
} bench;

/* One of the contestants that run alternately. */
typedef struct {
  char name[48];
  void (*run)(void *what);
  void (*prepare)(void *what); /* before each timed batch, or NULL */
  void *what;
  double fastest, quartile;
} contestant;

static void take_turns(const bench *b, const char *what, contestant *c, int count, int64_t rounds,
                       int batch) {
  double *times = allocate((size_t)(rounds * count) * sizeof *times);
  for (int64_t round = -1; round < rounds; round++) /* round -1 warms up */
    for (int k = 0; k < count; k++) {
      if (c[k].prepare) c[k].prepare(c[k].what);
      barrier();
      double begin = MPI_Wtime();
      for (int i = 0; i < batch; i++) c[k].run(c[k].what);
      begin = (MPI_Wtime() - begin) / batch;
      maxima(&begin, 1);
      times[k * rounds + (round < 0 ? 0 : round)] = begin; /* round 0 overwrites the warm-up */
    }
  if (b->rank == 0) printf("\n%s\n", what);
  for (int k = 0; k < count; k++) {
    c[k].quartile = lower_quartile(times + k * rounds, rounds);
    c[k].fastest = times[k * rounds]; /* lower_quartile has sorted them */
    figure(what, b->ranks, 0, c[k].name, rounds, c[k].quartile, c[k].fastest,
           c[k].quartile / c[0].quartile);
    if (b->rank == 0)
      printf("  %-32s %10.1f %8.2f %10.1f %8.2f\n", c[k].name, 1e6 * c[k].fastest,
             c[k].fastest / c[0].fastest, 1e6 * c[k].quartile, c[k].quartile / c[0].quartile);
  }
  fflush(stdout);
  free(times);
}

static contestant enter(const char *name, void (*run)(void *), void *what) {
  contestant c;
  snprintf(c.name, sizeof c.name, "%s", name);
  c.run = run;
  c.prepare = NULL;
  c.what = what;
  c.fastest = c.quartile = 0;
  return c;
}

/* ---- plans ---- */

enum { ARRAYS = MOST_FIELDS };

typedef struct {
  redist_plan *plan;
  double *from[ARRAYS], *to[ARRAYS];
} planned;

static void run_plan(void *what) {
  planned *p = what;
  if (redist_execute_many(p->plan, (const void *const *)p->from, (void *const *)p->to) != REDIST_OK)
    give_up("%s", redist_plan_message(p->plan));
}

static redist_plan *make_plan(const redist_layout *from, const redist_layout *to,
                              const redist_options *options) {
  redist_plan *plan;
  char message[256];
  redist_options o = *options;
  o.message = message;
  o.message_size = sizeof message;
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &o, &plan) != REDIST_OK)
    give_up("%s", message);
  return plan;
}

/* Exact numbers that differ between elements and between ranks. */
static void fill(double *array, int64_t count, int seed) {
  for (int64_t k = 0; k < count; k++) array[k] = (double)((k * 7919 + seed * 104729) % 1000003);
}

static int64_t differences(const double *a, const double *b, int64_t count) {
  int64_t wrong = 0;
  for (int64_t k = 0; k < count; k++) wrong += a[k] != b[k];
  return wrong;
}

static void must_be_right(const char *what, int64_t wrong) {
  double most = (double)wrong;
  maxima(&most, 1);
  if (most > 0) give_up("%s: %g elements are wrong", what, most);
}

/* ---- halo exchange ---- */

enum { SIDE = 128, MOST_CELLS = (SIDE + 4) * (SIDE + 4) * (SIDE + 4) };

typedef struct {
  int width, arrays;
  double *from[ARRAYS], *to[ARRAYS];
} loops;

/* One of the 26 regions of ghost cells: on each axis below, inside or above. */
static void copy_part(const double *from, double *to, int64_t w, const int *part) {
  const int64_t pitch = SIDE + 2 * w;
  int64_t begin[3], end[3], shift = 0;
  for (int d = 0; d < 3; d++) {
    begin[d] = part[d] < 0 ? 0 : part[d] == 0 ? w : SIDE + w;
    end[d] = part[d] < 0 ? w : part[d] == 0 ? SIDE + w : SIDE + 2 * w;
    shift = shift * pitch - part[d] * SIDE;
  }
  for (int64_t i = begin[0]; i < end[0]; i++)
    for (int64_t j = begin[1]; j < end[1]; j++)
      for (int64_t k = begin[2]; k < end[2]; k++) {
        const int64_t at = (i * pitch + j) * pitch + k;
        to[at] = from[at + shift];
      }
}

static void run_loops(void *what) {
  loops *l = what;
  for (int a = 0; a < l->arrays; a++)
    for (int k = 0; k < 27; k++) {
      const int part[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
      if (k != 13) copy_part(l->from[a], l->to[a], l->width, part);
    }
}

static void run_subarrays(void *what) { subarrays_run(what); }

static void compare_halo(const bench *b, int width, int arrays) {
  int grid[3] = {0, 0, 0};
  const int64_t cells = (SIDE + 2 * width) * (SIDE + 2 * width) * (SIDE + 2 * width);
  redist_options options;
  redist_layout bricks, ghosts;
  planned malloced, in_arena;
  subarrays hand;
  loops plain;
  contestant c[4];
  char what[64];
  MPI_Dims_create(b->ranks, 3, grid);
  bricks =
      redist_layout_3d(redist_block(SIDE * grid[0], grid[0]), redist_block(SIDE * grid[1], grid[1]),
                       redist_block(SIDE * grid[2], grid[2]));
  for (int d = 0; d < 3; d++) bricks = redist_with_halo(bricks, d, width, width);
  ghosts = bricks;
  for (int d = 0; d < 3; d++) ghosts = redist_with_ghosts(ghosts, d, REDIST_PERIODIC);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.arrays = arrays;
  malloced.plan = make_plan(&bricks, &ghosts, &options);
  options.arena = b->arena;
  in_arena.plan = make_plan(&bricks, &ghosts, &options);
  hand.width = plain.width = width;
  hand.fields = plain.arrays = arrays;
  hand.side = SIDE;
  subarrays_create(&hand, grid);
  for (int a = 0; a < arrays; a++) {
    malloced.from[a] = malloced.to[a] = allocate(MOST_CELLS * sizeof(double));
    in_arena.from[a] = in_arena.to[a] = (double *)(void *)b->shared + a * MOST_CELLS;
    hand.field[a] = allocate(MOST_CELLS * sizeof(double));
    plain.from[a] = malloced.from[a];
    plain.to[a] = allocate(MOST_CELLS * sizeof(double));
    fill(malloced.to[a], cells, b->rank + 17 * a);
    fill(in_arena.to[a], cells, b->rank + 17 * a);
    fill(hand.field[a], cells, b->rank + 17 * a);
    fill(plain.to[a], cells, b->rank);
  }
  c[0] = enter("loops in one process", run_loops, &plain);
  c[1] = enter("subarrays by hand", run_subarrays, &hand);
  c[2] = enter("redist, malloc", run_plan, &malloced);
  c[3] = enter("redist, arena", run_plan, &in_arena);
  snprintf(what, sizeof what, "halo of %d around %d^3, %d array%s", width, SIDE, arrays,
           arrays > 1 ? "s" : "");
  take_turns(b, what, c, 4, b->rounds, 4);
  for (int a = 0; a < arrays; a++) {
    must_be_right("halo from malloc", differences(malloced.to[a], hand.field[a], cells));
    must_be_right("halo from an arena", differences(in_arena.to[a], hand.field[a], cells));
    free(malloced.to[a]);
    free(hand.field[a]);
    free(plain.to[a]);
  }
  redist_plan_free(&malloced.plan);
  redist_plan_free(&in_arena.plan);
  subarrays_free(&hand);
}

/* ---- B += A^T, A += 1 ---- */

enum { TILE = 32 }; /* as in ParRes */

/* Matrices of n columns, stored column by column, a block of them on each rank. */
typedef struct {
  const bench *bench;
  int64_t n, block;
  double *a, *b, *out, *in;
  planned plan;
} parres;

static void run_parres(void *what) {
  parres *p = what;
  const int64_t n = p->n, w = p->block, me = p->bench->rank, ranks = p->bench->ranks;
  double *own = p->a + me * w, *target = p->b + me * w;
  for (int64_t i = 0; i < w; i += TILE)
    for (int64_t j = 0; j < w; j += TILE)
      for (int64_t it = i; it < i + TILE && it < w; it++)
        for (int64_t jt = j; jt < j + TILE && jt < w; jt++) {
          target[jt + it * n] += own[it + jt * n];
          own[it + jt * n] += 1;
        }
  for (int64_t phase = 1; phase < ranks; phase++) {
    const int64_t from = (me + phase) % ranks, to = (me - phase + ranks) % ranks;
    MPI_Request receive, send;
    MPI_Irecv(p->in, (int)(w * w), MPI_DOUBLE, (int)from, (int)phase, MPI_COMM_WORLD, &receive);
    for (int64_t i = 0; i < w; i += TILE)
      for (int64_t j = 0; j < w; j += TILE)
        for (int64_t it = i; it < i + TILE && it < w; it++)
          for (int64_t jt = j; jt < j + TILE && jt < w; jt++) {
            p->out[jt + it * w] = p->a[to * w + it + jt * n];
            p->a[to * w + it + jt * n] += 1;
          }
    MPI_Isend(p->out, (int)(w * w), MPI_DOUBLE, (int)to, (int)phase, MPI_COMM_WORLD, &send);
    wait_yielding(&receive);
    wait_yielding(&send);
    for (int64_t j = 0; j < w; j++)
      for (int64_t i = 0; i < w; i++) p->b[from * w + i + j * n] += p->in[i + j * w];
  }
}

static void run_transposed(void *what) {
  parres *p = what;
  run_plan(&p->plan);
  for (int64_t k = 0; k < p->n * p->block; k++) p->a[k] += 1;
}

static void start_parres(parres *p) {
  for (int64_t j = 0; j < p->block; j++)
    for (int64_t i = 0; i < p->n; i++) {
      p->a[i + j * p->n] = (double)(p->n * (p->bench->rank * p->block + j) + i);
      p->b[i + j * p->n] = 0;
    }
}

/* Compares every element with the formula after so many iterations. */
static void check_parres(const char *name, const parres *p, int64_t iterations) {
  int64_t wrong = 0;
  for (int64_t j = 0; j < p->block; j++)
    for (int64_t i = 0; i < p->n; i++) {
      const int64_t first = p->n * i + p->bench->rank * p->block + j;
      wrong +=
          p->b[i + j * p->n] != (double)(first * iterations + iterations * (iterations - 1) / 2);
    }
  must_be_right(name, wrong);
}

static void compare_parres(const bench *b, int64_t n) {
  static redist_axpby add = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0};
  const char *names[3] = {"ParRes MPI1", "redist, malloc", "redist, arena"};
  const int64_t rounds = b->rounds / 8 + 3;
  parres p[3];
  contestant c[3];
  char what[64];
  redist_layout columns, rows;
  redist_options options;
  n = n / b->ranks * b->ranks;
  columns = redist_memory_order(redist_layout_2d(redist_whole(n), redist_block(n, b->ranks)),
                                REDIST_COLUMN_MAJOR);
  rows = redist_transposed(columns);
  memset(&options, 0, sizeof options);
  options.combine = redist_combine_axpby;
  options.context = &add;
  for (int k = 0; k < 3; k++) {
    const size_t bytes = (size_t)(n * (n / b->ranks)) * sizeof(double);
    p[k].bench = b;
    p[k].n = n;
    p[k].block = n / b->ranks;
    p[k].a = k == 2 ? (double *)(void *)b->shared : allocate(bytes);
    p[k].b = k == 2 ? p[k].a + n * p[k].block : allocate(bytes);
    p[k].out = allocate(bytes / (size_t)b->ranks);
    p[k].in = allocate(bytes / (size_t)b->ranks);
    options.arena = k == 2 ? b->arena : NULL;
    p[k].plan.plan = k == 0 ? NULL : make_plan(&rows, &columns, &options);
    p[k].plan.from[0] = p[k].a;
    p[k].plan.to[0] = p[k].b;
    c[k] = enter(names[k], k == 0 ? run_parres : run_transposed, &p[k]);
    start_parres(&p[k]);
  }
  snprintf(what, sizeof what, "B += A^T, A += 1 of %lld x %lld", (long long)n, (long long)n);
  take_turns(b, what, c, 3, rounds, 1);
  for (int k = 0; k < 3; k++) {
    check_parres(names[k], &p[k], rounds + 1);
    redist_plan_free(&p[k].plan.plan);
    free(p[k].out);
    free(p[k].in);
    if (k < 2) {
      free(p[k].a);
      free(p[k].b);
    }
  }
}

/* ---- C := beta C + alpha A^T ---- */

static void compare_moving(const bench *b, const char *name, const redist_layout *from,
                           const redist_layout *to) {
  static redist_axpby add = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0},
                      scale = {REDIST_DOUBLE, {0.5, 0}, {0.25, 0}, 0};
  static redist_op sum;
  const int64_t count = redist_layout_local_size(from, b->rank),
                there = redist_layout_local_size(to, b->rank);
  const char *names[4] = {"moving, arena", "to + from, arena", "beta to + alpha from, arena",
                          "MPI_SUM, arena"};
  redist_options options;
  planned p[4];
  contestant c[4];
  sum.op = MPI_SUM;
  sum.type = MPI_DOUBLE;
  memset(&options, 0, sizeof options);
  options.arena = b->arena;
  for (int k = 0; k < 4; k++) {
    options.combine = k == 0 ? NULL : k == 3 ? redist_combine_op : redist_combine_axpby;
    options.context = k == 3 ? (void *)&sum : k == 2 ? (void *)&scale : (void *)&add;
    p[k].plan = make_plan(from, to, &options);
    p[k].from[0] = (double *)(void *)b->shared;
    p[k].to[0] = p[k].from[0] + count;
    c[k] = enter(names[k], run_plan, &p[k]);
  }
  fill(p[0].from[0], count + there, b->rank);
  take_turns(b, name, c, 4, b->rounds / 4 + 3, count > 100000 ? 1 : 8);
  for (int k = 0; k < 4; k++) redist_plan_free(&p[k].plan);
}

#ifdef HAVE_SCALAPACK

enum { BLOCK = 32 };
static const double alpha = 0.75, beta = 0.5;

typedef struct {
  int n, desc[9];
  double *a, *c;
} pblas;

static void run_pblas(void *what) {
  const pblas *p = what;
  const int one = 1;
  pdtran_(&p->n, &p->n, &alpha, p->a, &one, &one, p->desc, &beta, p->c, &one, &one, p->desc);
}

static void compare_tran(const bench *b, int n) {
  static redist_axpby factors = {REDIST_DOUBLE, {0.75, 0}, {0.5, 0}, 0};
  const int batch = n < 256 ? 16 : 1, rows = b->ranks % 2 == 0 && b->ranks > 2 ? 2 : 1;
  const int grid[2] = {rows, b->ranks / rows};
  const int64_t rounds = n > 2000 ? b->rounds / 8 + 3 : b->rounds;
  redist_axis down = redist_block_cyclic(n, BLOCK, grid[0]),
              across = redist_block_cyclic(n, BLOCK, grid[1]);
  redist_layout matrix = redist_memory_order(redist_layout_2d(down, across), REDIST_COLUMN_MAJOR);
  const redist_layout transposed = redist_transposed(matrix);
  const int64_t count = redist_layout_local_size(&matrix, b->rank);
  int coords[2], context;
  redist_options options;
  planned p[2];
  pblas s;
  contestant c[3];
  char what[64];
  redist_layout_coords(&matrix, b->rank, coords);
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", grid[0], grid[1]);
  memset(&options, 0, sizeof options);
  options.combine = redist_combine_axpby;
  options.context = &factors;
  s.n = n;
  s.a = allocate((size_t)count * sizeof(double));
  s.c = allocate((size_t)count * sizeof(double));
  const int desc[9] = {1, context, n,
                       n, BLOCK,   BLOCK,
                       0, 0,       (int)redist_axis_count(&down, coords[0])};
  memcpy(s.desc, desc, sizeof desc);
  if (s.desc[8] < 1) s.desc[8] = 1;
  fill(s.a, count, b->rank);
  fill(s.c, count, b->rank + 5);
  for (int k = 0; k < 2; k++) {
    options.arena = k == 1 ? b->arena : NULL;
    p[k].plan = make_plan(&transposed, &matrix, &options);
    p[k].from[0] = k == 1 ? (double *)(void *)b->shared : s.a;
    p[k].to[0] = k == 1 ? p[k].from[0] + count : allocate((size_t)count * sizeof(double));
    memcpy(p[k].from[0], s.a, (size_t)count * sizeof(double));
    memcpy(p[k].to[0], s.c, (size_t)count * sizeof(double));
  }
  c[0] = enter("ScaLAPACK pdtran", run_pblas, &s);
  c[1] = enter("redist, malloc", run_plan, &p[0]);
  c[2] = enter("redist, arena", run_plan, &p[1]);
  snprintf(what, sizeof what, "C := beta C + alpha A^T of %d x %d", n, n);
  take_turns(b, what, c, 3, rounds, batch);
  must_be_right("from malloc", differences(p[0].to[0], s.c, count));
  must_be_right("from an arena", differences(p[1].to[0], s.c, count));
  free(p[0].to[0]);
  free(s.a);
  free(s.c);
  redist_plan_free(&p[0].plan);
  redist_plan_free(&p[1].plan);
  Cblacs_gridexit(context);
}

#else

static void compare_tran(const bench *b, int n) {
  if (b->rank == 0) printf("\nno ScaLAPACK to compare %d x %d with\n", n, n);
}

#endif

/* ---- the command line ---- */

static void compare_combining(const bench *b, int64_t n) {
  const redist_layout rows = redist_layout_2d(redist_block(n, b->ranks), redist_whole(n));
  const redist_layout columns = redist_layout_2d(redist_whole(n), redist_block(n, b->ranks));
  const redist_layout tiles =
      redist_layout_2d(redist_whole(n), redist_block_cyclic(n, 8, b->ranks));
  const redist_layout turned = redist_transposed(rows);
  char name[80];
  snprintf(name, sizeof name, "rows to columns, %lld x %lld", (long long)n, (long long)n);
  compare_moving(b, name, &rows, &columns);
  snprintf(name, sizeof name, "rows to columns in blocks of 8, %lld x %lld", (long long)n,
           (long long)n);
  compare_moving(b, name, &rows, &tiles);
  snprintf(name, sizeof name, "rows to rows, transposed, %lld x %lld", (long long)n, (long long)n);
  compare_moving(b, name, &turned, &rows);
}

/* ---- many fields with several staggerings ---- */

/* CloverLeaf's: 7 at cell centres, 4 at corners, 2 at the faces along each axis. The last rank of
   an axis owns the additional cell of a staggered field. */
enum { STAGGERINGS = 4, PER_FIELDS = 15, DEPTH = 2, MESH = 960 };

static const int staggered[STAGGERINGS][2] = {{0, 0}, {1, 1}, {1, 0}, {0, 1}},
                 fields_of[STAGGERINGS] = {7, 4, 2, 2};

typedef struct {
  int64_t n[2]; /* owned cells, and the ghost cells around them */
  double *array;
} mesh_field;

typedef struct {
  mesh_field field[PER_FIELDS];
  redist_plan *plan[STAGGERINGS]; /* one for all fields, or one for each staggering */
  int plans, rank, turn;
  int neighbour[2][2]; /* the neighbours of each axis, below and above, or MPI_PROC_NULL */
  double *packed[4];   /* sent to them and received from them */
} mesh;

static double *cell_of(const mesh_field *f, int64_t i, int64_t j) {
  return &f->array[(i + DEPTH) * (f->n[1] + 2 * DEPTH) + j + DEPTH];
}

/* Writes new numbers to the cells that neighbours receive. */
static void rewrite_edges(void *what) {
  mesh *m = what;
  m->turn++;
  for (int k = 0; k < PER_FIELDS; k++) {
    const mesh_field *f = &m->field[k];
    for (int64_t i = 0; i < f->n[0]; i++)
      for (int64_t j = 0; j < f->n[1]; j++) {
        const int inner = j >= DEPTH && j < f->n[1] - DEPTH;
        if (inner && i >= DEPTH && i < f->n[0] - DEPTH) {
          j = f->n[1] - DEPTH - 1;
          continue;
        }
        *cell_of(f, i, j) =
            (double)(m->turn + 1000 * k) + (double)(i * 7 + j) * 1e-3 + 100000.0 * m->rank;
      }
  }
}

/* Packs or unpacks DEPTH cells of all fields from i0 on along an axis; along the other axis the
   owned ones, or also its ghost cells. */
static double *copy_strips(const mesh *m, int axis, int above, int ghosts, double *packed) {
  for (int k = 0; k < PER_FIELDS; k++) {
    const mesh_field *f = &m->field[k];
    const int64_t edge = above ? f->n[axis] - DEPTH : 0;
    const int64_t first = ghosts ? (above ? f->n[axis] : -DEPTH) : edge;
    const int64_t margin = axis == 0 ? DEPTH : 0; /* the second axis is exchanged first */
    const int64_t low[2] = {axis == 0 ? first : -margin, axis == 1 ? first : -margin};
    const int64_t high[2] = {axis == 0 ? first + DEPTH : f->n[0] + margin,
                             axis == 1 ? first + DEPTH : f->n[1] + margin};
    for (int64_t i = low[0]; i < high[0]; i++)
      for (int64_t j = low[1]; j < high[1]; j++)
        if (ghosts)
          *cell_of(f, i, j) = *packed++;
        else
          *packed++ = *cell_of(f, i, j);
  }
  return packed;
}

/* Like CloverLeaf: one axis after the other, all fields of a side in one message. */
static void run_packing(void *what) {
  mesh *m = what;
  for (int axis = 1; axis >= 0; axis--) {
    MPI_Request request[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                              MPI_REQUEST_NULL};
    for (int side = 0; side < 2; side++)
      if (m->neighbour[axis][side] != MPI_PROC_NULL)
        MPI_Irecv(m->packed[2 + side], PER_FIELDS * DEPTH * (MESH + 8), MPI_DOUBLE,
                  m->neighbour[axis][side], side, MPI_COMM_WORLD, &request[side]);
    for (int side = 0; side < 2; side++)
      if (m->neighbour[axis][side] != MPI_PROC_NULL) {
        const double *end = copy_strips(m, axis, side, 0, m->packed[side]);
        MPI_Isend(m->packed[side], (int)(end - m->packed[side]), MPI_DOUBLE,
                  m->neighbour[axis][side], !side, MPI_COMM_WORLD, &request[2 + side]);
      }
    for (int k = 0; k < 4; k++) wait_yielding(&request[k]);
    for (int side = 0; side < 2; side++)
      if (m->neighbour[axis][side] != MPI_PROC_NULL)
        copy_strips(m, axis, side, 1, m->packed[2 + side]);
  }
}

static void run_mesh(void *what) {
  mesh *m = what;
  const void *from[PER_FIELDS];
  void *to[PER_FIELDS];
  for (int k = 0; k < PER_FIELDS; k++) from[k] = to[k] = m->field[k].array;
  for (int k = 0, first = 0; k < m->plans; first += fields_of[k++])
    if (redist_execute_many(m->plan[k], from + first, to + first) != REDIST_OK)
      give_up("%s", redist_plan_message(m->plan[k]));
}

/* memory: in the arena, or NULL; from.., to..: the layouts of the staggerings. */
static void make_mesh(const bench *b, mesh *m, const redist_layout *from, const redist_layout *to,
                      int plans, char *memory) {
  redist_options options;
  redist_part part[PER_FIELDS];
  redist_shape shape;
  char message[256] = "";
  int s, k, i;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  options.in_place = 1;
  options.arena = memory == NULL ? NULL : b->arena;
  options.message = message;
  options.message_size = sizeof message;
  m->plans = plans;
  m->rank = b->rank;
  m->turn = 0;
  for (s = 0, k = 0; s < STAGGERINGS; s++)
    for (i = 0; i < fields_of[s]; i++, k++) {
      const size_t bytes = (size_t)redist_layout_local_size(&from[s], b->rank) * sizeof(double);
      redist_layout_shape(&from[s], b->rank, &shape);
      memcpy(m->field[k].n, shape.count, sizeof m->field[k].n);
      m->field[k].array = memory == NULL ? allocate(bytes) : (double *)(void *)memory;
      memory += memory == NULL ? 0 : (bytes + 63) / 64 * 64;
      memset(m->field[k].array, 0, bytes);
      part[k].from = &from[s];
      part[k].to = &to[s];
      part[k].element = MPI_DOUBLE;
    }
  for (k = 0, i = 0; k < plans; i += fields_of[k++])
    if (redist_plan_create_parts(MPI_COMM_WORLD, plans == 1 ? PER_FIELDS : fields_of[k], &part[i],
                                 &options, &m->plan[k]) != REDIST_OK)
      give_up("%s", message);
}

static void drop_mesh(mesh *m, int in_arena) {
  for (int k = 0; k < PER_FIELDS && !in_arena; k++) free(m->field[k].array);
  for (int k = 0; k < m->plans; k++) redist_plan_free(&m->plan[k]);
}

static int64_t mesh_differs(const mesh *x, const mesh *y) {
  int64_t wrong = 0;
  for (int k = 0; k < PER_FIELDS; k++)
    wrong += differences(x->field[k].array, y->field[k].array,
                         (x->field[k].n[0] + 2 * DEPTH) * (x->field[k].n[1] + 2 * DEPTH));
  return wrong;
}

static void compare_fields(const bench *b) {
  enum { CONTESTANTS = 5 };
  static const char *const names[] = {"packing by hand", "4 plans, malloc", "1 plan, malloc",
                                      "4 plans, arena", "1 plan, arena"};
  static const int plans[] = {0, STAGGERINGS, 1, STAGGERINGS, 1};
  int grid[2] = {0, 0}, coords[2];
  int64_t cuts[2][2][65];
  redist_layout from[STAGGERINGS], to[STAGGERINGS];
  mesh m[CONTESTANTS];
  contestant c[CONTESTANTS];
  MPI_Dims_create(b->ranks, 2, grid);
  for (int d = 0; d < 2; d++)
    for (int more = 0; more < 2; more++)
      for (int k = 0; k <= grid[d] && k < 65; k++)
        cuts[d][more][k] = (int64_t)MESH * k / grid[d] + (k == grid[d] ? more : 0);
  for (int s = 0; s < STAGGERINGS; s++) {
    from[s] = redist_layout_2d(redist_cuts(cuts[0][staggered[s][0]], grid[0]),
                               redist_cuts(cuts[1][staggered[s][1]], grid[1]));
    for (int d = 0; d < 2; d++) from[s] = redist_with_halo(from[s], d, DEPTH, DEPTH);
    to[s] = redist_with_ghosts(redist_with_ghosts(from[s], 0, REDIST_CLOSED), 1, REDIST_CLOSED);
  }
  redist_layout_coords(&from[0], b->rank, coords);
  for (int k = 0; k < CONTESTANTS; k++) {
    char *memory = k < 3 ? NULL
                         : b->shared + (k - 3) * (int64_t)(PER_FIELDS * (MESH + 8) * (MESH + 8) *
                                                           sizeof(double));
    make_mesh(b, &m[k], from, to, plans[k], memory);
    c[k] = enter(names[k], k == 0 ? run_packing : run_mesh, &m[k]);
    c[k].prepare = rewrite_edges;
  }
  for (int d = 0; d < 2; d++)
    for (int side = 0; side < 2; side++) {
      int there[2] = {coords[0], coords[1]};
      there[d] += side ? 1 : -1;
      m[0].neighbour[d][side] = redist_layout_rank(&from[0], there);
      if (m[0].neighbour[d][side] < 0) m[0].neighbour[d][side] = MPI_PROC_NULL;
    }
  for (int k = 0; k < 4; k++)
    m[0].packed[k] = allocate(PER_FIELDS * DEPTH * (MESH + 8) * sizeof(double));
  take_turns(b, "15 fields of 4 staggerings, 960^2, depth 2", c, CONTESTANTS, b->rounds, 1);
  for (int k = 1; k < CONTESTANTS; k++) must_be_right(names[k], mesh_differs(&m[0], &m[k]));
  for (int k = 0; k < 4; k++) free(m[0].packed[k]);
  for (int k = 0; k < CONTESTANTS; k++) drop_mesh(&m[k], k >= 3);
}

/* ---- patches ---- */

enum { PATCH = 32, ALONG = 8, PATCH_CELLS = (PATCH + 2) * (PATCH + 2) };

/* All patches of a periodic domain as one process would store them, and those of a rank. */
typedef struct {
  double *all, *mine;
  int first, patches;
} patch_loops;

/* The strips and corners around a patch, from its neighbours. */
static void run_patch_loops(void *what) {
  const patch_loops *l = what;
  for (int k = l->first; k < l->first + l->patches; k++)
    for (int part = 0; part < 9; part++) {
      const int di = part / 3 - 1, dj = part % 3 - 1;
      const int ni = (k / ALONG + di + ALONG) % ALONG, nj = (k % ALONG + dj + ALONG) % ALONG;
      const double *from = l->all + (int64_t)(ni * ALONG + nj) * PATCH_CELLS;
      double *to = l->mine + (int64_t)(k - l->first) * PATCH_CELLS;
      const int low[2] = {di < 0    ? 0
                          : di == 0 ? 1
                                    : PATCH + 1,
                          dj < 0    ? 0
                          : dj == 0 ? 1
                                    : PATCH + 1};
      const int high[2] = {di == 0 ? PATCH + 1 : low[0] + 1, dj == 0 ? PATCH + 1 : low[1] + 1};
      for (int i = low[0]; i < high[0] && part != 4; i++)
        for (int j = low[1]; j < high[1]; j++)
          to[i * (PATCH + 2) + j] = from[(i - di * PATCH) * (PATCH + 2) + j - dj * PATCH];
    }
}

static void compare_patches(const bench *b) {
  enum { COUNT = ALONG * ALONG, CONTESTANTS = 3 };
  const int64_t extents[2] = {ALONG * PATCH, ALONG * PATCH};
  redist_box box[COUNT];
  redist_layout patches, ghosts;
  redist_options options;
  planned malloced, in_arena;
  patch_loops plain = {NULL, NULL, COUNT, 0};
  contestant c[CONTESTANTS];
  int owner[COUNT];
  double creating[2] = {1e9, 1e9};
  int64_t cells;
  memset(box, 0, sizeof box);
  for (int k = 0; k < COUNT; k++) {
    const int at[2] = {k / ALONG, k % ALONG};
    for (int d = 0; d < 2; d++) {
      box[k].low[d] = at[d] * PATCH;
      box[k].high[d] = (at[d] + 1) * PATCH;
    }
    owner[k] = k * b->ranks / COUNT;
    if (owner[k] == b->rank && plain.patches++ == 0) plain.first = k;
  }
  patches = redist_on_ranks(redist_layout_boxes(2, extents, COUNT, box), owner);
  patches = redist_with_halo(redist_with_halo(patches, 0, 1, 1), 1, 1, 1);
  ghosts = redist_with_ghosts(redist_with_ghosts(patches, 0, REDIST_PERIODIC), 1, REDIST_PERIODIC);
  cells = redist_layout_local_size(&patches, b->rank);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  for (int k = 0; k < 40; k++) {
    planned *p = k % 2 == 0 ? &malloced : &in_arena;
    double begin;
    options.arena = k % 2 == 0 ? NULL : b->arena;
    barrier();
    begin = MPI_Wtime();
    p->plan = make_plan(&patches, &ghosts, &options);
    begin = MPI_Wtime() - begin;
    maxima(&begin, 1);
    creating[k % 2] = begin < creating[k % 2] ? begin : creating[k % 2];
    if (k < 38) redist_plan_free(&p->plan);
  }
  plain.all = allocate(COUNT * PATCH_CELLS * sizeof(double));
  plain.mine = allocate((size_t)cells * sizeof(double));
  malloced.from[0] = malloced.to[0] = allocate((size_t)cells * sizeof(double));
  in_arena.from[0] = in_arena.to[0] = (double *)(void *)b->shared;
  for (int k = 0; k < COUNT; k++) fill(plain.all + (int64_t)k * PATCH_CELLS, PATCH_CELLS, k);
  for (int k = 0; k < 3; k++)
    memcpy(k == 0   ? plain.mine
           : k == 1 ? malloced.to[0]
                    : in_arena.to[0],
           plain.all + (int64_t)plain.first * PATCH_CELLS, (size_t)cells * sizeof(double));
  c[0] = enter("loops in one process", run_patch_loops, &plain);
  c[1] = enter("redist, malloc", run_plan, &malloced);
  c[2] = enter("redist, arena", run_plan, &in_arena);
  take_turns(b, "64 patches of 32^2, 1 ghost cell", c, CONTESTANTS, b->rounds, 8);
  must_be_right("patches from malloc", differences(malloced.to[0], plain.mine, cells));
  must_be_right("patches from an arena", differences(in_arena.to[0], plain.mine, cells));
  for (int k = 0; k < 2; k++)
    figure("64 patches of 32^2, 1 ghost cell", b->ranks, 0,
           k == 0 ? "creating, malloc" : "creating, arena", 20, creating[k], creating[k],
           creating[k] / c[0].quartile);
  if (b->rank == 0)
    printf("  creating that plan: %.0f us, in an arena %.0f us\n", 1e6 * creating[0],
           1e6 * creating[1]);
  free(plain.all);
  free(plain.mine);
  free(malloced.to[0]);
  redist_plan_free(&malloced.plan);
  redist_plan_free(&in_arena.plan);
}

/* ---- blocks in arrays that exist ---- */

enum { MOST_BLOCKS = 64, COMMON = 68 * 68 * 68 * 5 };

/* Blocks of side[] cells with variables outside, depth[] ghost cells on both sides of axis d, as one
   grid of blocks. */
typedef struct {
  const char *name;
  int grid[3], side[3], depth[3], variables;
  redist_edge ends;
  int diagonal;  /* a block's rank: a diagonal of the grid, as in NPB BT; else slabs of it */
  int is_static; /* the blocks lie in one static array; else each is from malloc */
} block_mesh;

/* Cells to copy, of which those along the last axis are contiguous. */
typedef struct {
  double *from, *to;
  int64_t count[4], from_step[3], to_step[3];
} face;

enum { SENT, RECEIVED, LOCAL, FACES }; /* what a rank does with a face */

typedef struct {
  double *at;
  int64_t count;
} message;

/* The blocks of a rank in one kind of memory, and either a plan or faces and messages[2][3 ranks],
   sent and received, for each axis and peer. */
typedef struct {
  const block_mesh *mesh;
  int ranks, count, number[MOST_BLOCKS];
  double *block[MOST_BLOCKS], sum;
  planned plan;
  int faces[FACES];
  face *face[FACES];
  message *messages[2];
  MPI_Request *requests;
} blocks;

static double common[3][COMMON]; /* by hand, as it is, adopted */

static int blocks_of(const block_mesh *m) { return m->grid[0] * m->grid[1] * m->grid[2]; }

static void block_at(const block_mesh *m, int number, int *at) {
  for (int d = 2; d >= 0; number /= m->grid[d], d--) at[d] = number % m->grid[d];
}

static int block_rank(const block_mesh *m, int number, int ranks) {
  int at[3];
  block_at(m, number, at);
  return m->diagonal ? (at[0] + at[1]) % ranks : number * ranks / blocks_of(m);
}

static int64_t pitch(const block_mesh *m, int d) { return m->side[d] + 2 * m->depth[d]; }

static int64_t cells_of(const block_mesh *m) {
  return m->variables * pitch(m, 0) * pitch(m, 1) * pitch(m, 2);
}

/* The block beside another, or -1 past an end. */
static int beside(const block_mesh *m, int number, int axis, int above) {
  int at[3];
  block_at(m, number, at);
  at[axis] += above ? 1 : -1;
  if (m->ends == REDIST_CLOSED && (at[axis] < 0 || at[axis] >= m->grid[axis])) return -1;
  at[axis] = (at[axis] + m->grid[axis]) % m->grid[axis];
  return (at[0] * m->grid[1] + at[1]) * m->grid[2] + at[2];
}

static double *local_block(const blocks *b, int number) {
  for (int k = 0; k < b->count; k++)
    if (b->number[k] == number) return b->block[k];
  return NULL;
}

/* The strip of a block that begins at position `first` along the axis; elsewhere without ghosts. */
static double *strip(const block_mesh *m, double *block, int axis, int64_t first) {
  int64_t at[3] = {m->depth[0], m->depth[1], m->depth[2]};
  at[axis] = first;
  return block + (at[0] * pitch(m, 1) + at[1]) * pitch(m, 2) + at[2];
}

static void append_message(message *m, int64_t cells, double **at) {
  *at = m->at + m->count;
  m->count += cells;
}

/* Adds the ghost cells of block `to` on one side to those that are copied, sent or received. */
static void add_face(blocks *b, int to, int axis, int above) {
  const block_mesh *m = b->mesh;
  const int from = beside(m, to, axis, above);
  const int64_t w = m->depth[axis], n = m->side[axis], plane = pitch(m, 1) * pitch(m, 2);
  double *source = from < 0 ? NULL : local_block(b, from), *target = local_block(b, to);
  const int kind = !target ? SENT : !source ? RECEIVED : LOCAL;
  face f = {.count = {m->variables, m->side[0], m->side[1], m->side[2]}};
  if (from < 0 || (!source && !target)) return;
  f.count[1 + axis] = w;
  const int64_t dense[3] = {f.count[1] * f.count[2] * f.count[3], f.count[2] * f.count[3],
                            f.count[3]};
  const int64_t inside[3] = {pitch(m, 0) * plane, plane, pitch(m, 2)};
  memcpy(f.from_step, kind == RECEIVED ? dense : inside, sizeof dense);
  memcpy(f.to_step, kind == SENT ? dense : inside, sizeof dense);
  if (source) f.from = strip(m, source, axis, above ? w : n);
  if (target) f.to = strip(m, target, axis, above ? n + w : 0);
  if (kind != LOCAL) {
    const int peer = block_rank(m, kind == SENT ? to : from, b->ranks);
    append_message(&b->messages[kind][axis * b->ranks + peer], f.count[0] * dense[0],
                   kind == SENT ? &f.to : &f.from);
  }
  b->face[kind][b->faces[kind]++] = f;
}

static void copy_faces(const blocks *b, int kind) {
  for (const face *f = b->face[kind]; f < b->face[kind] + b->faces[kind]; f++)
    for (int64_t v = 0; v < f->count[0]; v++)
      for (int64_t i = 0; i < f->count[1]; i++)
        for (int64_t j = 0; j < f->count[2]; j++) {
          const double *from =
              f->from + v * f->from_step[0] + i * f->from_step[1] + j * f->from_step[2];
          double *to = f->to + v * f->to_step[0] + i * f->to_step[1] + j * f->to_step[2];
          for (int64_t k = 0; k < f->count[3]; k++) to[k] = from[k];
        }
}

/* As NPB BT's copy_faces and miniAMR: an axis's faces for a rank in one message, its tag the axis. */
static void start_messages(blocks *b, int kind) {
  for (int k = 0; k < 3 * b->ranks; k++) {
    const message *m = &b->messages[kind][k];
    MPI_Request *request = &b->requests[kind * 3 * b->ranks + k];
    const int peer = k % b->ranks, axis = k / b->ranks, count = (int)m->count;
    *request = MPI_REQUEST_NULL;
    if (count > 0 && kind == SENT)
      MPI_Isend(m->at, count, MPI_DOUBLE, peer, axis, MPI_COMM_WORLD, request);
    else if (count > 0)
      MPI_Irecv(m->at, count, MPI_DOUBLE, peer, axis, MPI_COMM_WORLD, request);
  }
}

static void exchange_faces(blocks *b) {
  start_messages(b, RECEIVED);
  copy_faces(b, SENT);
  start_messages(b, SENT);
  copy_faces(b, LOCAL);
  for (int k = 0; k < 6 * b->ranks; k++) wait_yielding(&b->requests[k]);
  copy_faces(b, RECEIVED);
}

/* A whole cycle: computes all cells, fills the ghost cells, reads all. */
static void run_blocks(void *what) {
  blocks *b = what;
  const int64_t cells = cells_of(b->mesh);
  double sum[4] = {0, 0, 0, 0};
  for (int k = 0; k < b->count; k++)
    for (int64_t i = 0; i < cells; i++) b->block[k][i] += b->number[k] + 1;
  if (b->plan.plan)
    run_plan(&b->plan);
  else
    exchange_faces(b);
  for (int k = 0; k < b->count; k++)
    for (int64_t i = 0; i < cells; i++) sum[i % 4] += b->block[k][i];
  b->sum = sum[0] + sum[1] + sum[2] + sum[3];
}

enum { BY_HAND, AS_THEY_ARE, ADOPTED, IN_ARENA, MEMORIES };

static void create_blocks(const bench *b, blocks *x, const block_mesh *m, int memory) {
  const int64_t cells = cells_of(m);
  memset((void *)x, 0, sizeof *x);
  x->mesh = m;
  x->ranks = b->ranks;
  for (int k = 0; k < blocks_of(m); k++)
    if (block_rank(m, k, b->ranks) == b->rank) x->number[x->count++] = k;
  for (int k = 0; k < x->count; k++) {
    x->block[k] = memory == IN_ARENA ? (double *)(void *)b->shared + k * cells
                  : m->is_static     ? common[memory] + k * cells
                                     : allocate((size_t)cells * sizeof(double));
    fill(x->block[k], cells, x->number[k]);
  }
}

static void plan_faces(blocks *x) {
  const block_mesh *m = x->mesh;
  int64_t largest = 0;
  for (int d = 0; d < 3; d++) {
    const int64_t cells = cells_of(m) / pitch(m, d) * m->depth[d];
    largest = cells > largest ? cells : largest;
  }
  for (int side = 0; side < 2; side++) {
    x->messages[side] = allocate((size_t)(3 * x->ranks) * sizeof(message));
    for (int k = 0; k < 3 * x->ranks; k++)
      x->messages[side][k] =
          (message){allocate((size_t)(2 * x->count * largest) * sizeof(double)), 0};
  }
  x->requests = allocate((size_t)(6 * x->ranks) * sizeof(MPI_Request));
  for (int kind = 0; kind < FACES; kind++)
    x->face[kind] = allocate((size_t)(6 * x->count) * sizeof(face));
  for (int k = 0; k < blocks_of(m); k++)
    for (int axis = 0; axis < 3; axis++)
      for (int above = 0; above < 2; above++) add_face(x, k, axis, above);
}

/* Fills in the layout's box and rank of each block. */
static void describe_blocks(const block_mesh *m, int ranks, redist_box *box, int *rank) {
  const int count = blocks_of(m);
  memset((void *)box, 0, (size_t)count * sizeof *box);
  for (int k = 0; k < count; k++) {
    int at[3];
    block_at(m, k, at);
    rank[k] = block_rank(m, k, ranks);
    box[k].high[0] = m->variables;
    for (int d = 0; d < 3; d++) {
      box[k].low[1 + d] = at[d] * m->side[d];
      box[k].high[1 + d] = (at[d] + 1) * m->side[d];
    }
  }
}

/* One plan for all blocks of all ranks, wherever a rank's blocks lie. */
static void plan_blocks(const bench *b, blocks *x, int memory) {
  const block_mesh *m = x->mesh;
  const int count = blocks_of(m);
  const int64_t extents[4] = {m->variables, m->grid[0] * m->side[0], m->grid[1] * m->side[1],
                              m->grid[2] * m->side[2]};
  int64_t *offsets = allocate((size_t)count * sizeof *offsets);
  int *rank = allocate((size_t)count * sizeof *rank);
  redist_box *box = allocate((size_t)count * sizeof *box);
  redist_options options;
  redist_layout from, to;
  double *first = x->block[0], *last = first;
  for (int k = 0; k < x->count; k++) {
    first = x->block[k] < first ? x->block[k] : first;
    last = x->block[k] > last ? x->block[k] : last;
  }
  memset(offsets, 0, (size_t)count * sizeof *offsets);
  for (int k = 0; k < x->count; k++) offsets[x->number[k]] = x->block[k] - first;
  describe_blocks(m, b->ranks, box, rank);
  from = redist_at_offsets(redist_on_ranks(redist_layout_boxes(4, extents, count, box), rank),
                           offsets);
  for (int d = 0; d < 3; d++) from = redist_with_halo(from, 1 + d, m->depth[d], m->depth[d]);
  to = from;
  for (int d = 0; d < 3; d++) to = redist_with_ghosts(to, 1 + d, m->ends);
  to = redist_without_corners(to);
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.arena = memory == AS_THEY_ARE ? NULL : b->arena;
  if (memory == ADOPTED &&
      redist_arena_adopt(b->arena, first, (size_t)(last - first + cells_of(m)) * sizeof(double)) !=
          REDIST_OK)
    give_up("the blocks cannot be adopted");
  x->plan.plan = make_plan(&from, &to, &options);
  x->plan.from[0] = x->plan.to[0] = first;
  free(offsets);
  free(rank);
  free(box);
}

static void free_blocks(const bench *b, blocks *x, int memory) {
  if (memory == ADOPTED && redist_arena_release(b->arena, x->plan.from[0]) != REDIST_OK)
    give_up("the blocks cannot be released");
  for (int k = 0; k < x->count && memory != IN_ARENA && !x->mesh->is_static; k++) free(x->block[k]);
  for (int kind = 0; kind < FACES; kind++) free(x->face[kind]);
  for (int side = 0; side < 2 && x->requests; side++) {
    for (int k = 0; k < 3 * x->ranks; k++) free(x->messages[side][k].at);
    free(x->messages[side]);
  }
  free(x->requests);
}

static void compare_mesh(const bench *b, const block_mesh *m) {
  static const char *const names[MEMORIES] = {"by hand", "redist, as they are", "redist, adopted",
                                              "redist, arena"};
  blocks x[MEMORIES];
  contestant c[MEMORIES];
  for (int k = 0; k < MEMORIES; k++) {
    create_blocks(b, &x[k], m, k);
    c[k] = enter(names[k], run_blocks, &x[k]);
  }
  plan_faces(&x[BY_HAND]);
  for (int k = AS_THEY_ARE; k < MEMORIES; k++) plan_blocks(b, &x[k], k);
  take_turns(b, m->name, c, MEMORIES, b->rounds, 2);
  figure(m->name, b->ranks, 0, "ratio", b->rounds, c[ADOPTED].quartile / c[IN_ARENA].quartile, 0,
         0);
  for (int k = AS_THEY_ARE; k < MEMORIES; k++) {
    int64_t wrong = 0;
    for (int i = 0; i < x[k].count; i++)
      wrong += differences(x[k].block[i], x[BY_HAND].block[i], cells_of(m));
    must_be_right(names[k], wrong);
    redist_plan_free(&x[k].plan.plan);
  }
  for (int k = 0; k < MEMORIES; k++) free_blocks(b, &x[k], k);
}

/* Five variables of 64^3 cells in COMMON, two ghost cells, faces without corners, as in NPB BT; 64
   blocks a rank, one ghost cell, as in miniAMR. */
static void compare_blocks(const bench *b) {
  const block_mesh meshes[] = {{"COMMON, 5 x 64^3",
                                {b->ranks, b->ranks, 1},
                                {64 / b->ranks, 64 / b->ranks, 64 * 5},
                                {2, 2, 2 * 5},
                                1,
                                REDIST_CLOSED,
                                1,
                                1},
                               {"64 blocks of 10 x 6^3",
                                {4 * b->ranks, 4, 4},
                                {6, 6, 6},
                                {1, 1, 1},
                                10,
                                REDIST_PERIODIC,
                                0,
                                0},
                               {"64 blocks of 10 x 10^3",
                                {4 * b->ranks, 4, 4},
                                {10, 10, 10},
                                {1, 1, 1},
                                10,
                                REDIST_PERIODIC,
                                0,
                                0}};
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 24); /* blocks side by side, with no other memory between them */
#endif
  for (int k = 0; k < 3; k++)
    if (k > 0 || b->ranks <= 16) compare_mesh(b, &meshes[k]);
}

static int takes(const bench *b, int part) { return b->only == ALL || b->only == part; }

static void run_all(bench *b) {
  const size_t halo = ARRAYS * (size_t)MOST_CELLS * sizeof(double);
  const size_t matrices =
      2 * (size_t)(b->largest * b->largest / b->ranks + 64 * b->largest) * sizeof(double);
  const size_t fields = 2 * PER_FIELDS * sizeof(double) * (MESH + 8) * (MESH + 8);
  size_t bytes = halo > matrices ? halo : matrices;
  bytes = bytes > fields ? bytes : fields;
  if (redist_arena_create(MPI_COMM_WORLD, bytes + 64, &b->arena) != REDIST_OK) give_up("no arena");
  b->shared = redist_arena_alloc(b->arena, bytes);
  if (b->rank == 0)
    printf(
        "%d ranks: the fastest and the lower quartile in microseconds, each also as a multiple of the first "
        "contestant's\n",
        b->ranks);
  for (int width = 1; width <= 2 && takes(b, HALO); width++) {
    compare_halo(b, width, 1);
    compare_halo(b, width, ARRAYS);
  }
  if (takes(b, PARRES)) compare_parres(b, b->largest);
  for (int k = 0; k < 3 && takes(b, TRAN); k++)
    compare_tran(b, k == 0 ? 64 : k == 1 ? 512 : (int)b->largest);
  for (int k = 4; k > 0 && takes(b, COMBINING); k -= 3) compare_combining(b, b->largest / k);
  if (takes(b, FIELDS)) compare_fields(b);
  if (takes(b, PATCHES)) compare_patches(b);
  if (takes(b, BLOCKS)) compare_blocks(b);
  redist_arena_free(&b->arena);
}

int main(int argc, char **argv) {
  bench b = {.rounds = 100, .largest = 4096};
  const char *csv = NULL;
  static const option_choice parts[] = {
      {"all", ALL},         {"halo", HALO},           {"parres", PARRES},
      {"tran", TRAN},       {"combining", COMBINING}, {"fields", FIELDS},
      {"patches", PATCHES}, {"blocks", BLOCKS},       {NULL, 0}};
  const option table[] = {
      {.name = "--only",
       .argument = "PART",
       .choice = &b.only,
       .choices = parts,
       .help = "of all comparisons (default all)"},
      {.name = "--rounds",
       .argument = "K",
       .integer = &b.rounds,
       .least = 1,
       .most = 100000,
       .help = "of all contestants (default 100; of large matrices fewer)"},
      {.name = "--n",
       .argument = "N",
       .integer = &b.largest,
       .least = 64,
       .most = 30000,
       .help = "rows and columns of the largest matrix (default 4096)"},
      {.name = "--csv", .argument = "FILE", .text = &csv, .help = "write the figures to FILE too"},
      {.name = NULL}};
  int status = start(
      table, argc, argv, &b.rank, &b.ranks, "halo",
      "Ghost cells and combining, beside subarrays by hand, ParRes' Transpose and ScaLAPACK.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    run_all(&b);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
