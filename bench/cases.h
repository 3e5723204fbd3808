/* Cases as tables of plain numbers, from which the layouts of redist and the hand-written rivals
   are built separately; one case of one size on the ranks of MPI_COMM_WORLD; and the contestants.
   Include redist_plan.h first. MIT licence, see LICENSE. */
#ifndef CASES_H
#define CASES_H

#include <complex.h>

#include "rivals.h"

/* ---- cases ---- */

typedef enum { FLOAT, DOUBLE, COMPLEX } element_type;

/* the length of every axis */
typedef enum { FULL, QUARTER, FIXED_64, FIXED_512, VECTOR, CUBE } array_size;

/* The line of ranks that an axis is distributed over: one, all, or one side of a grid of all ranks
   in two or three dimensions. */
typedef enum { ONE, ALL, ROWS, COLUMNS, DEPTH, HEIGHT, WIDTH } rank_line;

typedef struct {
  rank_line line;
  int64_t block;
} dealing; /* block 0: BLOCK */

/* Axes in the order of storage, the last fastest. Axis d of the view is stored axis view[d],
   reversed where flip[d]. */
typedef struct {
  dealing axes[3];
  int view[3], flip[3];
  int64_t halo;
} side;

typedef struct {
  const char *name;
  element_type type;
  array_size size;
  int dims; /* an array of fewer than 3 dimensions has leading axes of length 1 */
  side from, to;
} bench_case;

#define WHOLE \
  { ONE, 0 }
#define BLOCK(line) \
  { line, 0 }
#define CYCLIC(line, block) \
  { line, block }
#define LINE(a) \
  { {WHOLE, WHOLE, a}, {0, 1, 2}, {0, 0, 0}, 0 }
#define PLANE(a, b) \
  { {WHOLE, a, b}, {0, 1, 2}, {0, 0, 0}, 0 }
#define TRANSPOSED(a, b) \
  { {WHOLE, a, b}, {0, 2, 1}, {0, 0, 0}, 0 }
#define ROTATED(a, b) \
  { {WHOLE, a, b}, {0, 2, 1}, {0, 1, 0}, 0 }
#define BRICK(a, b, c, halo) \
  { {a, b, c}, {0, 1, 2}, {0, 0, 0}, halo }
#define PENCIL_X \
  { {BLOCK(ROWS), BLOCK(COLUMNS), WHOLE}, {2, 0, 1}, {0, 0, 0}, 0 } /* stored y z x */
#define PENCIL_Y \
  { {BLOCK(ROWS), BLOCK(COLUMNS), WHOLE}, {0, 2, 1}, {0, 0, 0}, 0 } /* stored x z y */

/* Kalns' grids have 20 and 100 processes, nearly square or in one line; here they have all ranks,
   and there is a second, smaller array. */
static const bench_case cases[] = {
    {"rows to columns", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE), PLANE(WHOLE, BLOCK(ALL))},
    {"rows to columns, blocks of 64", DOUBLE, FULL, 2, PLANE(CYCLIC(ALL, 64), WHOLE),
     PLANE(WHOLE, CYCLIC(ALL, 64))},
    {"rows, BLOCK to CYCLIC(1)", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE),
     PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"columns, BLOCK to CYCLIC(1)", DOUBLE, FULL, 2, PLANE(WHOLE, BLOCK(ALL)),
     PLANE(WHOLE, CYCLIC(ALL, 1))},
    {"columns, CYCLIC(3) to CYCLIC(2)", DOUBLE, FULL, 2, PLANE(WHOLE, CYCLIC(ALL, 3)),
     PLANE(WHOLE, CYCLIC(ALL, 2))},
    {"rows of 32x32 to columns of 48x48", DOUBLE, FULL, 2, PLANE(CYCLIC(ALL, 32), CYCLIC(ONE, 32)),
     PLANE(CYCLIC(ONE, 48), CYCLIC(ALL, 48))},
    {"transpose", DOUBLE, FULL, 2, PLANE(BLOCK(ALL), WHOLE), TRANSPOSED(BLOCK(ALL), WHOLE)},
    {"rotate", DOUBLE, FULL, 2, ROTATED(BLOCK(ALL), WHOLE), PLANE(BLOCK(ALL), WHOLE)},
    {"pencils, x to y", COMPLEX, CUBE, 3, BRICK(WHOLE, BLOCK(ROWS), BLOCK(COLUMNS), 0),
     BRICK(BLOCK(ROWS), WHOLE, BLOCK(COLUMNS), 0)},
    {"pencils, y to z", COMPLEX, CUBE, 3, BRICK(BLOCK(ROWS), WHOLE, BLOCK(COLUMNS), 0),
     BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"pencils, x to y, reordered", COMPLEX, CUBE, 3, PENCIL_X, PENCIL_Y},
    {"pencils, y to z, reordered", COMPLEX, CUBE, 3, PENCIL_Y,
     BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"bricks with halo to pencils", DOUBLE, CUBE, 3,
     BRICK(BLOCK(DEPTH), BLOCK(HEIGHT), BLOCK(WIDTH), 1),
     BRICK(BLOCK(ROWS), BLOCK(COLUMNS), WHOLE, 0)},
    {"rows to columns, small", DOUBLE, FIXED_64, 2, PLANE(BLOCK(ALL), WHOLE),
     PLANE(WHOLE, BLOCK(ALL))},
    {"rows to columns, middle", DOUBLE, FIXED_512, 2, PLANE(BLOCK(ALL), WHOLE),
     PLANE(WHOLE, BLOCK(ALL))},
    {"vector, BLOCK to CYCLIC(1)", FLOAT, VECTOR, 1, LINE(BLOCK(ALL)), LINE(CYCLIC(ALL, 1))},
    {"Kalns 1 (B,B) to (C,C)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)),
     PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 2 (B,C) to (C,B)", FLOAT, FULL, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)),
     PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
    {"Kalns 3 (B,*) to (C,*)", FLOAT, FULL, 2, PLANE(BLOCK(ALL), WHOLE),
     PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"Kalns 4 (*,C) to (*,B)", FLOAT, FULL, 2, PLANE(WHOLE, CYCLIC(ALL, 1)),
     PLANE(WHOLE, BLOCK(ALL))},
    {"Kalns 5 (B,B) to (C,C)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), BLOCK(COLUMNS)),
     PLANE(CYCLIC(ROWS, 1), CYCLIC(COLUMNS, 1))},
    {"Kalns 6 (B,C) to (C,B)", FLOAT, QUARTER, 2, PLANE(BLOCK(ROWS), CYCLIC(COLUMNS, 1)),
     PLANE(CYCLIC(ROWS, 1), BLOCK(COLUMNS))},
    {"Kalns 7 (B,*) to (C,*)", FLOAT, QUARTER, 2, PLANE(BLOCK(ALL), WHOLE),
     PLANE(CYCLIC(ALL, 1), WHOLE)},
    {"Kalns 8 (*,C) to (*,B)", FLOAT, QUARTER, 2, PLANE(WHOLE, CYCLIC(ALL, 1)),
     PLANE(WHOLE, BLOCK(ALL))},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static const size_t element_bytes[] = {sizeof(float), sizeof(double), sizeof(double complex)};

static inline MPI_Datatype element_datatype(element_type type) {
  return type == FLOAT ? MPI_FLOAT : type == DOUBLE ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX;
}

static inline int64_t extent(int64_t n, array_size size) {
  switch (size) {
  case FIXED_64: return 64;
  case FIXED_512: return 512;
  case QUARTER: return n / 4;
  case VECTOR: return 3 * n * n;
  case CUBE: return n / 16;
  default: return n;
  }
}

static inline int line_length(rank_line line, int ranks) {
  int plane[2] = {0, 0}, space[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 2, plane);
  MPI_Dims_create(ranks, 3, space);
  switch (line) {
  case ONE: return 1;
  case ALL: return ranks;
  case ROWS: return plane[0];
  case COLUMNS: return plane[1];
  default: return space[line - DEPTH];
  }
}

/* A side of a case for n, seen from one of the ranks. */
static inline placed place(const bench_case *c, const side *s, int64_t n, int ranks, int rank) {
  placed p;
  memset(&p, 0, sizeof p);
  p.halo = s->halo;
  for (int a = 0; a < 3; a++) {
    dealt *x = &p.axes[a];
    x->n = a < 3 - c->dims ? 1 : extent(n, c->size);
    x->procs = line_length(s->axes[a].line, ranks);
    x->block = s->axes[a].block ? s->axes[a].block : (x->n + x->procs - 1) / x->procs;
    p.view[a] = s->view[a];
    p.flip[a] = s->flip[a];
  }
  return seen_from(&p, rank);
}

static inline redist_axis redist_axis_of(const dealt *x, int64_t block) {
  if (x->procs == 1 && block == 0) return redist_whole(x->n);
  return block > 0 ? redist_block_cyclic(x->n, block, x->procs) : redist_block(x->n, x->procs);
}

static inline redist_layout layout_of(const bench_case *c, const side *s, const placed *p) {
  redist_axis axes[3];
  redist_layout layout;
  int skipped = 3 - c->dims, view[3];
  for (int a = 0; a < c->dims; a++) {
    axes[a] = redist_axis_of(&p->axes[a + skipped], s->axes[a + skipped].block);
    view[a] = s->view[a + skipped] - skipped;
  }
  layout = redist_layout_nd(c->dims, axes);
  for (int a = 0; a < c->dims; a++) layout = redist_with_halo(layout, a, s->halo, s->halo);
  layout = redist_permuted(layout, view);
  for (int d = 0; d < c->dims; d++)
    if (s->flip[d + skipped]) layout = redist_flipped(layout, d);
  return layout;
}

/* A value that identifies the element's position in the view. */
static inline void put(void *array, int64_t at, element_type type, int64_t i, int64_t j,
                       int64_t k) {
  uint64_t h = (((uint64_t)i << 20) + (uint64_t)j) * 0x100001 + (uint64_t)k;
  h = (h ^ (h >> 31)) * UINT64_C(0x9E3779B97F4A7C15);
  if (type == FLOAT)
    ((float *)array)[at] = (float)(h >> 40);
  else if (type == DOUBLE)
    ((double *)array)[at] = (double)(h >> 12);
  else
    ((double complex *)array)[at] = (double)(h >> 12) + I * (double)k;
}

/* The expected array of a rank: every element that it owns, and 0xA5 in every other byte. */
static inline void *fill(element_type type, const placed *p, int64_t *owned) {
  char *array = allocate((size_t)p->elements * element_bytes[type]);
  shared s = share(p, p);
  memset(array, 0xA5, (size_t)p->elements * element_bytes[type]);
  for (int64_t i = 0; i < s.count[0]; i++)
    for (int64_t j = 0; j < s.count[1]; j++)
      for (int64_t k = 0; k < s.count[2]; k++)
        put(array, s.offset[0][i] + s.offset[1][j] + s.offset[2][k], type, s.index[0][i],
            s.index[1][j], s.index[2][k]);
  *owned = shared_elements(&s);
  shared_free(&s);
  return array;
}

/* ---- one contest ---- */

typedef struct {
  const char *name;
  int64_t n;
  exchange by_hand; /* the exchange as the rivals describe it */
  redist_layout from_layout, to_layout;
  int fields, in_place; /* a side is this many arrays, one after another */
  int64_t held;         /* elements of the source on this rank */
  int batch;            /* executions in one sample */
  int cached;           /* arrays fit the caches */
  void *source, *destination, *expected;
} contest;

static inline size_t bytes_of(const contest *c, const placed *p) {
  return (size_t)(c->fields * p->elements) * c->by_hand.element;
}

/* Bytes of the source, on the rank that has the most. */
static inline double most_held(const contest *c) {
  double bytes = (double)c->held * (double)c->by_hand.element;
  maxima(&bytes, 1);
  return bytes;
}

static inline contest contest_create(const bench_case *what, int64_t n, int ranks, int rank) {
  contest c;
  int64_t received;
  c.name = what->name;
  c.n = n;
  c.by_hand.from = place(what, &what->from, n, ranks, rank);
  c.by_hand.to = place(what, &what->to, n, ranks, rank);
  c.by_hand.ranks = ranks;
  c.by_hand.datatype = element_datatype(what->type);
  c.by_hand.element = element_bytes[what->type];
  c.from_layout = layout_of(what, &what->from, &c.by_hand.from);
  c.to_layout = layout_of(what, &what->to, &c.by_hand.to);
  c.fields = 1;
  c.in_place = 0;
  c.source = fill(what->type, &c.by_hand.from, &c.held);
  c.batch = most_held(&c) < 262144 ? 20 : 1;
  c.cached = most_held(&c) < 8388608;
  c.expected = fill(what->type, &c.by_hand.to, &received);
  c.destination = allocate(bytes_of(&c, &c.by_hand.to));
  return c;
}

static inline void contest_free(contest *c) {
  free(c->source);
  free(c->expected);
  free(c->destination);
}

/* ---- contestants ---- */

enum { MOST_TIMES = 2000 };

/* One contestant in one contest. It uses the contest's arrays unless prepare sets its own. */
typedef struct {
  const contest *contest;
  const void *from;
  void *to, *state;
  redist_plan *plan;
  redist_arena *arena;
  const char *remark;
  /* bytes of the plan besides staging, the most of these during its creation, and staging */
  double held, most_held, staging;
  int right;
  double *times, spent;
  int64_t count;
} entry;

typedef struct {
  const char *name;
  int method;                          /* of redist */
  int copies_all;                      /* it moves all elements, and its result is checked */
  int (*prepare)(entry *, int method); /* returns 0, on all ranks, if it cannot take part */
  void (*run)(entry *);
  void (*finish)(entry *);
} contestant;

/* Prepares an entry, runs it once and checks its result. Returns 0 when it does not take part. */
static inline int enter(entry *e, const contestant *who, const contest *c) {
  const size_t bytes = bytes_of(c, &c->by_hand.to);
  double wrong = 0;
  e->contest = c;
  e->from = c->source;
  e->to = c->in_place ? c->source : c->destination;
  if (!who->prepare(e, who->method)) return 0;
  if (!c->in_place) memset(e->to, 0xA5, bytes);
  who->run(e);
  if (who->copies_all) wrong = memcmp(e->to, c->expected, bytes) != 0;
  maxima(&wrong, 1);
  e->right = wrong == 0;
  e->times = allocate(MOST_TIMES * sizeof *e->times);
  return 1;
}

/* Slow contestants stop after three times; all ranks have the same times and so agree. */
static inline int wants_more(const entry *e, int64_t repetitions, double seconds) {
  int enough = e->count >= repetitions && e->spent >= seconds;
  int too_slow = e->count >= 3 && e->spent >= 10 * seconds;
  return e->times && !enough && !too_slow && e->count < MOST_TIMES;
}

/* Whether an item of the separated list occurs in the name, or, if it begins with =, is the
   name. */
static inline int selected(const char *name, const char *list, char separator) {
  while (list) {
    const char *end = strchr(list, separator);
    size_t length = end ? (size_t)(end - list) : strlen(list);
    char part[256];
    snprintf(part, sizeof part, "%.*s", (int)length, list);
    if (part[0] == '=' ? strcmp(name, part + 1) == 0
                       : part[0] != '\0' && strstr(name, part) != NULL)
      return 1;
    list = end ? end + 1 : NULL;
  }
  return 0;
}

/* memcpy of the rank's elements: not a redistribution, but the reference for its time */

static inline int copy_prepare(entry *e, int method) {
  (void)method;
  (void)e;
  return 1;
}

static inline void copy_run(entry *e) {
  const contest *c = e->contest;
  const int64_t room = c->fields * c->by_hand.to.elements;
  memcpy(c->destination, e->from, (size_t)at_most(c->held, room) * c->by_hand.element);
}

static inline void copy_finish(entry *e) { (void)e; }

/* redist */

static const option_choice methods[] = {
    {"auto", REDIST_AUTO},           {"alltoallv", REDIST_ALLTOALLV},
    {"alltoallw", REDIST_ALLTOALLW}, {"point_to_point", REDIST_POINT_TO_POINT},
    {"scheduled", REDIST_SCHEDULED}, {"multiphase", REDIST_MULTIPHASE},
    {"shared", REDIST_SHARED},       {NULL, 0}};

/* An arena that holds the arrays of both sides. */
static inline void arena_prepare(entry *e) {
  const contest *c = e->contest;
  const size_t from = bytes_of(c, &c->by_hand.from),
               to = c->in_place ? 0 : bytes_of(c, &c->by_hand.to);
  if (redist_arena_create(MPI_COMM_WORLD, from + to + 128, &e->arena) != REDIST_OK)
    give_up("%s: no arena", c->name);
  void *copy = redist_arena_alloc(e->arena, from);
  e->from = memcpy(copy, c->source, from);
  e->to = c->in_place ? copy : redist_arena_alloc(e->arena, to);
}

static inline void redist_run(entry *e) {
  const contest *c = e->contest;
  const void *from[MOST_FIELDS];
  void *to[MOST_FIELDS];
  int code;
  for (int k = 0; k < c->fields; k++) {
    from[k] = (const char *)e->from + (size_t)(k * c->by_hand.from.elements) * c->by_hand.element;
    to[k] = (char *)e->to + (size_t)(k * c->by_hand.to.elements) * c->by_hand.element;
  }
  code = c->fields == 1 ? redist_execute(e->plan, e->from, e->to)
                        : redist_execute_many(e->plan, from, to);
  if (code != REDIST_OK) give_up("%s: %s", c->name, redist_strerror(code));
}

/* Creates the plan of an entry; options lacks the number of arrays. */
static inline void plan_prepare(entry *e, redist_options options) {
  const contest *c = e->contest;
  char message[256] = "";
  redist_stats stats;
  int code;
  options.arena = e->arena;
  options.arrays = c->fields;
  options.in_place = c->in_place;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, &c->from_layout, &c->to_layout, c->by_hand.datatype,
                            &options, &e->plan);
  if (code != REDIST_OK) give_up("%s: %s: %s", c->name, redist_strerror(code), message);
  redist_plan_stats(e->plan, &stats);
  if (options.method == REDIST_AUTO) e->remark = option_choice_name(methods, (int)stats.method);
}

static inline void redist_finish(entry *e) {
  redist_plan_free(&e->plan);
  redist_arena_free(&e->arena);
}

/* The hand-written rivals. */

static inline int typed_prepare(entry *e, int method) {
  (void)method;
  e->state = typed_create(&e->contest->by_hand);
  return 1;
}

static inline void typed_execute(entry *e) { typed_run(e->state, e->from, e->to); }
static inline void typed_finish(entry *e) { typed_free(e->state); }

static inline int packed_prepare(entry *e, int method) {
  (void)method;
  e->state = packed_create(&e->contest->by_hand);
  return 1;
}

static inline void packed_execute(entry *e) { packed_run(e->state, e->from, e->to); }
static inline void packed_finish(entry *e) { packed_free(e->state); }

#ifdef HAVE_SCALAPACK
static inline int gemr2d_prepare(entry *e, int method) {
  (void)method;
  e->state = gemr2d_create(&e->contest->by_hand);
  return e->state != NULL;
}

static inline void gemr2d_execute(entry *e) { gemr2d_run(e->state, e->from, e->to); }
static inline void gemr2d_finish(entry *e) { gemr2d_free(e->state); }
#endif

#endif
