/* A level of an adaptive mesh: boxes of 8^3 cells with one ghost cell all around, dealt out to the
   ranks in their order. What plans cost, also after regridding, where one box in twenty has gone
   and as many are new; and an exchange of ghost cells beside the same by hand. MIT licence, see
   LICENSE.

   By hand: loops copy the cells that two boxes of a rank share, row by row; what another rank needs
   is packed into one message. Contestants alternate. Before each exchange all cells are written;
   after the first all are compared. Figures are lower quartiles of the slowest rank's time. */
#include <string.h>

#include "bench.h"

static memory_count plan_memory;
#define REDIST_MALLOC(bytes) counted_malloc(&plan_memory, bytes)
#define REDIST_FREE(pointer) counted_free(&plan_memory, pointer)
#include "redist_plan.h"

enum { SIDE = 8, WIDTH = SIDE + 2, CELLS = WIDTH * WIDTH * WIDTH, MOST_SAMPLES = 100 };
enum {
  HAND,
  REDIST,
  CONTESTANTS,
  CHECK = CONTESTANTS,
  SHAPES,
  PLAN,
  MOVING,
  AGAIN,
  RATIO,
  MEMORY,
  FIGURES
};

static const char *const figure_name[FIGURES] = {"by hand", "redist", "check",
                                                 "shapes",  "plan",   "moving",
                                                 "again",   "ratio",  "ratio of memory"};

typedef struct {
  int rank, ranks;
  int64_t tiles, samples;
  double seconds; /* for each case */
} bench;

/* Boxes of a domain of tiles, tiles[0] * tiles[1] * tiles[2], of which some have a box. */
typedef struct {
  int64_t tiles[3];
  int boxes, *number; /* of a tile's box; -1: it has none */
  redist_box *box;
  int *owner;
  int64_t *offset; /* of this rank's boxes in its array */
  redist_layout cells, ghosts;
  int64_t count; /* of the array */
} level;

/* Cells that a box shows in its ghost cells, and where they are: begin in both arrays. */
typedef struct {
  int64_t from, to;
  int n[3];
} strip;

/* What is copied on this rank, and packed for or unpacked from each other rank. */
typedef struct {
  strip *strip;
  int64_t strips, room;
  int64_t cells;
  double *buffer;
} strips;

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % below;
}

static int64_t tiles_of(const level *x) { return x->tiles[0] * x->tiles[1] * x->tiles[2]; }

static int64_t tile_at(const level *x, const int64_t *at) {
  int d;
  for (d = 0; d < 3; d++)
    if (at[d] < 0 || at[d] >= x->tiles[d]) return -1;
  return (at[0] * x->tiles[1] + at[1]) * x->tiles[2] + at[2];
}

/* Numbers the boxes of those tiles that have one, and lays them out. */
static void open_level(const bench *b, level *x) {
  const int64_t all = tiles_of(x);
  int64_t t, extents[3];
  int d, k = 0;
  for (t = 0, x->boxes = 0; t < all; t++) x->boxes += x->number[t] >= 0;
  x->box = allocate((size_t)x->boxes * sizeof *x->box);
  x->owner = allocate((size_t)x->boxes * sizeof *x->owner);
  x->offset = allocate((size_t)x->boxes * sizeof *x->offset);
  memset(x->box, 0, (size_t)x->boxes * sizeof *x->box);
  for (t = 0; t < all; t++) {
    const int64_t at[3] = {t / x->tiles[2] / x->tiles[1], t / x->tiles[2] % x->tiles[1],
                           t % x->tiles[2]};
    if (x->number[t] < 0) continue;
    for (d = 0; d < 3; d++) {
      x->box[k].low[d] = at[d] * SIDE;
      x->box[k].high[d] = at[d] * SIDE + SIDE;
    }
    x->owner[k] = (int)((int64_t)k * b->ranks / x->boxes);
    x->offset[k] = 0;
    x->number[t] = k++;
  }
  for (d = 0; d < 3; d++) extents[d] = x->tiles[d] * SIDE;
  x->cells = redist_partial(redist_layout_boxes(3, extents, x->boxes, x->box));
  x->cells = redist_on_ranks(x->cells, x->owner);
  for (d = 0; d < 3; d++) x->cells = redist_with_halo(x->cells, d, 1, 1);
  x->count = redist_layout_place_offsets(&x->cells, b->rank, x->offset);
  x->cells = redist_at_offsets(x->cells, x->offset);
  x->ghosts = x->cells;
  for (d = 0; d < 3; d++) x->ghosts = redist_with_ghosts(x->ghosts, d, REDIST_CLOSED);
}

static void close_level(level *x) {
  free(x->number);
  free(x->box);
  free(x->owner);
  free(x->offset);
}

/* A level in which ten of eleven tiles have a box, drawn at random; or, after another one, those of
   which one in twenty has gone, and as many in tiles that had none. */
static level draw_level(const bench *b, const level *before) {
  level x = {.tiles = {b->tiles + b->tiles / 10, b->tiles, b->tiles}};
  const int64_t all = tiles_of(&x), boxes = b->tiles * b->tiles * b->tiles;
  int64_t t, moved;
  x.number = allocate((size_t)all * sizeof *x.number);
  for (t = 0; t < all; t++) x.number[t] = before != NULL ? before->number[t] : -1;
  for (moved = 0; moved < boxes / 20 && before != NULL;) {
    t = (int64_t)draw((uint64_t)all);
    moved += x.number[t] >= 0;
    x.number[t] = -1;
  }
  for (moved = before != NULL ? boxes / 20 : boxes; moved > 0;) {
    t = (int64_t)draw((uint64_t)all);
    if (x.number[t] >= 0 || (before != NULL && before->number[t] >= 0)) continue;
    x.number[t] = 0;
    moved--;
  }
  open_level(b, &x);
  return x;
}

/* ---- by hand ---- */

static void add_strip(strips *list, strip s) {
  if (list->strips == list->room) {
    list->room = 2 * list->room + 64;
    list->strip = realloc(list->strip, (size_t)list->room * sizeof s);
    if (list->strip == NULL) give_up("no memory for strips");
  }
  list->strip[list->strips++] = s;
  list->cells += (int64_t)s.n[0] * s.n[1] * s.n[2];
}

/* Adds what box `to` shows of box `from`, which lies in this direction. Offsets of boxes of other
   ranks do not matter. */
static void add_shared(const bench *b, const level *x, int from, int to, const int *direction,
                       strips *list) {
  static const int pitch[3] = {WIDTH * WIDTH, WIDTH, 1};
  strip s = {.from = x->offset[from], .to = x->offset[to]};
  int d;
  for (d = 0; d < 3; d++) {
    s.n[d] = direction[d] == 0 ? SIDE : 1;
    s.from += pitch[d] * (direction[d] < 0 ? SIDE : 1);
    s.to += pitch[d] * (direction[d] < 0 ? 0 : direction[d] > 0 ? SIDE + 1 : 1);
  }
  if (x->owner[to] == b->rank && x->owner[from] == b->rank)
    add_strip(&list[2 * b->rank], s);
  else if (x->owner[to] == b->rank)
    add_strip(&list[2 * x->owner[from] + 1], s);
  else if (x->owner[from] == b->rank)
    add_strip(&list[2 * x->owner[to]], s);
}

/* Lists what rank r is sent, list[2 r], and sends, list[2 r + 1]; or what stays, list[2 rank]. */
static strips *open_hand(const bench *b, const level *x) {
  strips *list = allocate((size_t)(2 * b->ranks) * sizeof *list);
  int64_t at[3], next[3], t, neighbour;
  int k, d, direction[3];
  memset(list, 0, (size_t)(2 * b->ranks) * sizeof *list);
  for (at[0] = 0; at[0] < x->tiles[0]; at[0]++)
    for (at[1] = 0; at[1] < x->tiles[1]; at[1]++)
      for (at[2] = 0; at[2] < x->tiles[2]; at[2]++)
        for (k = 0, t = tile_at(x, at); k < 27 && x->number[t] >= 0; k++) {
          for (d = 0; d < 3; d++) {
            direction[d] = (d == 0 ? k / 9 : d == 1 ? k / 3 % 3 : k % 3) - 1;
            next[d] = at[d] + direction[d];
          }
          neighbour = tile_at(x, next);
          if (k != 13 && neighbour >= 0 && x->number[neighbour] >= 0)
            add_shared(b, x, x->number[neighbour], x->number[t], direction, list);
        }
  for (k = 0; k < 2 * b->ranks; k++) {
    list[k].buffer = allocate((size_t)list[k].cells * sizeof(double));
    memset(list[k].buffer, 0, (size_t)list[k].cells * sizeof(double));
  }
  return list;
}

static void close_hand(const bench *b, strips *list) {
  int k;
  for (k = 0; k < 2 * b->ranks; k++) {
    free(list[k].strip);
    free(list[k].buffer);
  }
  free(list);
}

/* Copies strips in an array, or from it into the buffer, or from there. */
static void copy_strips(const strips *list, double *a, int packs, int unpacks) {
  double *packed = list->buffer;
  int64_t k;
  int i, j, l;
  for (k = 0; k < list->strips; k++) {
    const strip s = list->strip[k];
    for (i = 0; i < s.n[0]; i++)
      for (j = 0; j < s.n[1]; j++) {
        const int64_t row = (i * WIDTH + j) * WIDTH;
        const double *from = unpacks ? packed : a + s.from + row;
        double *to = packs ? packed : a + s.to + row;
        for (l = 0; l < s.n[2]; l++) to[l] = from[l];
        packed += s.n[2];
      }
  }
}

static void exchange(const bench *b, const strips *list, double *a) {
  MPI_Request *request = allocate((size_t)(2 * b->ranks) * sizeof *request);
  int r, n = 0, k;
  for (r = 0; r < b->ranks; r++)
    if (r != b->rank && list[2 * r + 1].cells > 0)
      MPI_Irecv(list[2 * r + 1].buffer, (int)list[2 * r + 1].cells, MPI_DOUBLE, r, 0,
                MPI_COMM_WORLD, &request[n++]);
  for (r = 0; r < b->ranks; r++) {
    if (r == b->rank || list[2 * r].cells == 0) continue;
    copy_strips(&list[2 * r], a, 1, 0);
    MPI_Isend(list[2 * r].buffer, (int)list[2 * r].cells, MPI_DOUBLE, r, 0, MPI_COMM_WORLD,
              &request[n++]);
  }
  copy_strips(&list[2 * b->rank], a, 0, 0);
  for (k = 0; k < n; k++) wait_yielding(&request[k]);
  for (r = 0; r < b->ranks; r++)
    if (r != b->rank) copy_strips(&list[2 * r + 1], a, 0, 1);
  free(request);
}

/* ---- measuring ---- */

static double since(double begin) {
  double time = MPI_Wtime() - begin;
  maxima(&time, 1);
  return time;
}

static redist_plan *plan_of(const redist_layout *from, const redist_layout *to, int in_place,
                            double *time) {
  const redist_options options = {.in_place = in_place};
  redist_plan *plan;
  int code;
  barrier();
  *time = MPI_Wtime();
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan);
  *time = since(*time);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return plan;
}

static void fill(const level *x, double *a) {
  int64_t k;
  for (k = 0; k < x->count; k++) a[k] = (double)(k % 1021);
}

/* Both contestants' exchanges, alternately: lower quartiles, in seconds. */
static void compare(const bench *b, const level *x, redist_plan *plan, double *quartile) {
  static double times[CONTESTANTS][MOST_SAMPLES];
  double *a[CONTESTANTS], begin = MPI_Wtime(), spent = 0;
  strips *list = open_hand(b, x);
  int64_t k;
  int who;
  for (who = 0; who < CONTESTANTS; who++) a[who] = allocate((size_t)x->count * sizeof(double));
  for (k = -1; k < b->samples && spent < b->seconds; k++) {
    for (who = 0; who < CONTESTANTS; who++) {
      double time;
      fill(x, a[who]);
      barrier();
      time = MPI_Wtime();
      if (who == HAND)
        exchange(b, list, a[who]);
      else if (redist_execute(plan, a[who], a[who]) != REDIST_OK)
        give_up("%s", redist_plan_message(plan));
      time = since(time);
      if (k >= 0) times[who][k] = time;
    }
    if (memcmp(a[HAND], a[REDIST], (size_t)x->count * sizeof(double)) != 0)
      give_up("ghost cells differ");
    spent = since(begin);
  }
  for (who = 0; who < CONTESTANTS; who++) {
    quartile[who] = lower_quartile(times[who], k);
    free(a[who]);
  }
  close_hand(b, list);
}

/* Seconds of the queries that programs need: whether boxes are right, and where they lie. */
static void ask(const bench *b, level *x, double *value) {
  redist_shape shape;
  int k, wrong;
  barrier();
  value[CHECK] = MPI_Wtime();
  wrong = redist_layout_check(&x->cells) != REDIST_OK;
  value[CHECK] = since(value[CHECK]);
  value[SHAPES] = MPI_Wtime();
  redist_layout_place_offsets(&x->cells, b->rank, x->offset);
  for (k = 0; k < x->boxes; k++)
    if (x->owner[k] == b->rank) wrong |= redist_layout_place_shape(&x->cells, k, &shape) != 1;
  value[SHAPES] = since(value[SHAPES]);
  if (wrong) give_up("a layout is wrong");
}

static void measure(const bench *b) {
  level old = draw_level(b, NULL), x = draw_level(b, &old);
  double value[FIGURES];
  char name[32];
  redist_plan *plan;
  int k;
  ask(b, &x, value);
  plan = plan_of(&old.cells, &old.ghosts, 1, &value[PLAN]);
  redist_plan_free(&plan);
  plan = plan_of(&old.cells, &x.cells, 0, &value[MOVING]);
  redist_plan_free(&plan);
  plan = plan_of(&x.cells, &x.ghosts, 1, &value[AGAIN]);
  value[MEMORY] = (double)plan_memory.held / ((double)x.count * sizeof(double));
  maxima(&value[MEMORY], 1);
  compare(b, &x, plan, &value[HAND]);
  value[RATIO] = value[REDIST] / value[HAND];
  redist_plan_free(&plan);
  snprintf(name, sizeof name, "%d", x.boxes);
  if (b->rank == 0) printf("%8s %5d", name, b->ranks);
  for (k = 0; k < FIGURES; k++) {
    figure(name, b->ranks, x.count * (int64_t)sizeof(double), figure_name[k], b->samples, value[k],
           value[k], 0);
    if (b->rank == 0) printf(" %9.3f", k < RATIO ? 1e3 * value[k] : value[k]);
  }
  if (b->rank == 0) printf("\n");
  close_level(&old);
  close_level(&x);
}

int main(int argc, char **argv) {
  bench b = {.samples = MOST_SAMPLES, .seconds = 3};
  static const int64_t tiles[] = {10, 30, 46};
  const char *csv = NULL;
  int64_t most = 46;
  size_t k;
  const option table[] = {{.name = "--most",
                           .argument = "N",
                           .integer = &most,
                           .least = 10,
                           .most = 46,
                           .help = "boxes along a side: 10, 30 and 46, up to N"},
                          OPTION_COUNT("--samples", b.samples, MOST_SAMPLES,
                                       "of each case at most (default 100)"),
                          OPTION_SECONDS(b.seconds, "for each case (default 3)"),
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int status =
      start(table, argc, argv, &b.rank, &b.ranks, "boxes",
            "A level of boxes with ghost cells: plans, and exchanges beside loops by hand.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    if (b.rank == 0) {
      printf("ms, a ratio, and a plan's memory over the array's\n%8s %5s", "boxes", "ranks");
      for (k = 0; k < FIGURES; k++) printf(" %9.9s", figure_name[k]);
      printf("\n");
    }
    for (k = 0; k < sizeof tiles / sizeof *tiles; k++) {
      b.tiles = tiles[k];
      if (b.tiles <= most) measure(&b);
    }
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
