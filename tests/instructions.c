/* redist tests: the instructions of executions, compared with hand-written loops. MIT licence, see
   LICENSE.

   By itself this program checks that both give the same arrays. Under callgrind, which counts
   within the functions counted_... and writes its counts at every next_count, tests/instructions.sh
   compares them with the bounds of the table. Plans are created and executed before anything is
   counted. All messages arrive between start and wait, so that no rank spins. MPI's instructions
   are not counted. */
#include "redist_plan.h"

#include "../bench/cases.h"
#include "test_mpi.h"

/* A case of bench/cases.h of size n on `ranks` ranks. On one rank, all elements are local; on two,
   messages are packed and unpacked, and local elements moved. An execution may take `bound` times
   the instructions of the loops, plus the cost of starting and waiting. today: the ratio when the
   row was written, if it exceeded the bound. Such rows are skipped until they keep their bound, and
   fail if they get worse. */
typedef struct {
  const char *name;
  int64_t n;
  element_type type;
  int ranks;
  double bound, today;
  const char *reason; /* of the bound */
  int adds;           /* adds to the destination's doubles instead of replacing them */
} guarded;

/* Instructions of a start and a wait, including checks of the arguments, but no copies: at d8fd893
   1,300 for a message to and from a peer, 650 without. */
enum { ALONE = 900, WITH_PEER = 2000 };

#define OVER "next to nothing is copied: what starting and waiting cost"
#define MEMCPY "rows by memcpy, as by hand"
#define STEP "one step between elements: a loop"
#define LIST "short runs: offsets listed when planned, as by hand"
#define STRIPS "strips of vectors take less than elements, once there are some"
#define BACKWARDS "one side backwards: one step between elements, or strips"
#define WIDE "16 bytes at a time, by step or in strips"
#define ONE "one memcpy"

static const guarded table[] = {
    {"rows to columns", 4, DOUBLE, 2, 1.5, 0, OVER, 0},
    {"rows to columns", 16, DOUBLE, 2, 1.5, 0, MEMCPY, 0},
    {"rows to columns", 64, DOUBLE, 2, 1.2, 0, MEMCPY, 0},
    {"rows to columns", 256, DOUBLE, 2, 1.1, 0, MEMCPY, 0},
    {"rows, BLOCK to CYCLIC(1)", 64, DOUBLE, 2, 1.2, 0, MEMCPY, 0},
    {"rows of 32x32 to columns of 48x48", 96, DOUBLE, 2, 1.2, 0, MEMCPY, 0},
    {"columns, BLOCK to CYCLIC(1)", 16, DOUBLE, 2, 1.3, 0, STEP, 0},
    {"columns, BLOCK to CYCLIC(1)", 64, DOUBLE, 2, 1.2, 0, STEP, 0},
    {"columns, BLOCK to CYCLIC(1)", 256, DOUBLE, 2, 1.1, 0, STEP, 0},
    {"columns, CYCLIC(3) to CYCLIC(2)", 16, DOUBLE, 2, 1.5, 2.4, LIST, 0},
    {"columns, CYCLIC(3) to CYCLIC(2)", 32, DOUBLE, 2, 1.5, 0, LIST, 0},
    {"columns, CYCLIC(3) to CYCLIC(2)", 64, DOUBLE, 2, 1.3, 0, LIST, 0},
    {"columns, CYCLIC(3) to CYCLIC(2)", 256, DOUBLE, 2, 1.3, 0, LIST, 0},
    {"columns, CYCLIC(3) to CYCLIC(2)", 64, FLOAT, 2, 1.3, 0, LIST, 0},
    {"vector, BLOCK to CYCLIC(1)", 64, FLOAT, 2, 1.1, 0, STEP, 0},
    {"Kalns 1 (B,B) to (C,C)", 64, FLOAT, 2, 1.5, 0, MEMCPY, 0},
    {"Kalns 4 (*,C) to (*,B)", 16, FLOAT, 2, 1.3, 0, STEP, 0},
    {"Kalns 4 (*,C) to (*,B)", 64, FLOAT, 2, 1.2, 0, STEP, 0},
    {"transpose", 16, DOUBLE, 2, 1.5, 0, STRIPS, 0},
    {"transpose", 64, DOUBLE, 2, 1.0, 0, STRIPS, 0},
    {"transpose", 256, DOUBLE, 2, 0.7, 0, STRIPS, 0},
    {"rotate", 64, DOUBLE, 2, 1.2, 0, BACKWARDS, 0},
    {"pencils, x to y", 256, COMPLEX, 2, 1.2, 0, MEMCPY, 0},
    {"pencils, x to y, reordered", 256, COMPLEX, 2, 1.3, 0, WIDE, 0},
    {"bricks with halo to pencils", 256, DOUBLE, 2, 1.2, 0, MEMCPY, 0},
    {"rows to columns", 4, DOUBLE, 1, 1.5, 0, OVER, 0},
    {"rows to columns", 64, DOUBLE, 1, 1.1, 0, ONE, 0},
    {"bricks with halo to pencils", 256, DOUBLE, 1, 1.1, 0, MEMCPY, 0},
    {"transpose", 4, DOUBLE, 1, 1.5, 4.0, OVER, 0},
    {"transpose", 64, FLOAT, 1, 0.7, 0, STRIPS, 0},
    {"transpose", 64, DOUBLE, 1, 0.7, 0, STRIPS, 0},
    {"transpose", 64, COMPLEX, 1, 1.0, 0, STRIPS, 0},
    {"rotate", 64, DOUBLE, 1, 0.8, 0, BACKWARDS, 0},
    {"pencils, x to y, reordered", 256, COMPLEX, 1, 1.0, 0, WIDE, 0},
    {"rows to columns", 64, DOUBLE, 2, 1.5, 0, "contiguous runs: a loop of additions", 1},
    {"columns, CYCLIC(3) to CYCLIC(2)", 64, DOUBLE, 2, 1.5, 2.1, LIST, 1},
    {"transpose", 64, DOUBLE, 2, 1.5, 0, "tiles put together, then added", 1},
    {"rows to columns", 64, DOUBLE, 1, 1.5, 0, "one loop of additions", 1},
    {"transpose", 64, DOUBLE, 1, 1.5, 0, "tiles put together, then added", 1},
};

enum { ROWS_OF_TABLE = sizeof table / sizeof table[0], EXECUTIONS = 3, WARM = 10 };

/* Never inlined, so that callgrind can find them. */
#if defined __GNUC__ && !defined __clang__
#define COUNTED __attribute__((noinline, noclone)) static
#elif defined __GNUC__
#define COUNTED __attribute__((noinline)) static
#else
#define COUNTED static
#endif

/* Callgrind writes its counts before this function. */
static volatile int counts;
COUNTED void next_count(void) { counts++; }

COUNTED int counted_start(redist_plan *plan, const void *from, void *to) {
  return redist_start(plan, from, to);
}

COUNTED int counted_wait(redist_plan *plan) { return redist_wait(plan); }

/* ---- by hand ---- */

/* Copies local elements from their offsets in the source to those in the destination. */
#define DEFINE_MOVING(name, type, assign, replaces)                                             \
  static void name(const shared *f, const void *from, const shared *t, void *to) {              \
    for (int64_t i = 0; i < f->count[0]; i++)                                                   \
      for (int64_t j = 0; j < f->count[1]; j++) {                                               \
        const type *a = (const type *)from + f->offset[0][i] + f->offset[1][j];                 \
        type *b = (type *)to + t->offset[0][i] + t->offset[1][j];                               \
        const int64_t n = f->count[2], x = f->step, y = t->step;                                \
        if (replaces && x == 1 && y == 1)                                                       \
          memcpy(b + t->offset[2][0], a + f->offset[2][0], (size_t)n * sizeof *a);              \
        else if (x == 1 && y == 1)                                                              \
          for (int64_t k = 0; k < n; k++) b[t->offset[2][0] + k] assign a[f->offset[2][0] + k]; \
        else if (x && y)                                                                        \
          for (int64_t k = 0; k < n; k++)                                                       \
            b[t->offset[2][0] + k * y] assign a[f->offset[2][0] + k * x];                       \
        else                                                                                    \
          for (int64_t k = 0; k < n; k++) b[t->offset[2][k]] assign a[f->offset[2][k]];         \
      }                                                                                         \
  }

DEFINE_MOVING(move_float, float, =, 1)
DEFINE_MOVING(move_double, double, =, 1)
DEFINE_MOVING(move_double_complex, double_complex, =, 1)
DEFINE_MOVING(add_double, double, +=, 0)

/* Adds packed elements. */
static void unpack_adding(const shared *s, const void *buffer, void *array) {
  const double *next = buffer;
  for (int64_t i = 0; i < s->count[0]; i++)
    for (int64_t j = 0; j < s->count[1]; j++, next += s->count[2]) {
      double *a = (double *)array + s->offset[0][i] + s->offset[1][j] + s->offset[2][0];
      const int64_t first = s->offset[2][0];
      for (int64_t k = 0; s->step == 1 && k < s->count[2]; k++) a[k] += next[k];
      for (int64_t k = 0; s->step > 1 && k < s->count[2]; k++) a[k * s->step] += next[k];
      for (int64_t k = 0; s->step < 1 && k < s->count[2]; k++)
        a[s->offset[2][k] - first] += next[k];
    }
}

typedef void moving_loop(const shared *, const void *, const shared *, void *);
static moving_loop *const move_loops[] = {move_float, move_double, move_double_complex};

COUNTED void counted_pack(const packed_exchange *x, int rank, int adds, const void *from,
                          void *to) {
  const packed_messages *out = &x->send;
  for (int peer = 0; peer < x->ranks; peer++)
    if (peer == rank && out->counts[peer] > 0)
      (adds ? add_double : move_loops[x->loop])(&out->parts[peer], from, &x->receive.parts[peer],
                                                to);
    else if (out->counts[peer] > 0)
      pack_loops[x->loop](&out->parts[peer], from,
                          out->buffer + (size_t)out->displacements[peer] * x->element);
}

COUNTED void counted_unpack(const packed_exchange *x, int rank, int adds, void *to) {
  const packed_messages *in = &x->receive;
  for (int peer = 0; peer < x->ranks; peer++)
    if (peer != rank && in->counts[peer] > 0)
      (adds ? unpack_adding
            : unpack_loops[x->loop])(&in->parts[peer],
                                     in->buffer + (size_t)in->displacements[peer] * x->element, to);
}

static void exchange_by_hand(const packed_exchange *x, int rank, int adds, const void *from,
                             void *to) {
  const packed_messages *out = &x->send, *in = &x->receive;
  counted_pack(x, rank, adds, from, to);
  if (x->ranks > 1)
    MPI_Alltoallv(out->buffer, out->counts, out->displacements, x->datatype, in->buffer, in->counts,
                  in->displacements, x->datatype, MPI_COMM_WORLD);
  counted_unpack(x, rank, adds, to);
  next_count();
}

/* ---- by redist ---- */

/* Waits until every message has arrived, including those that need progress on both sides. */
static void settle(void) {
  for (int round = 0; round < 2; round++) {
    barrier();
    for (int k = 0; k < 100; k++) {
      int there;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
  }
}

static int exchange_by_plan(redist_plan *plan, const void *from, void *to) {
  int code = counted_start(plan, from, to);
  settle();
  if (code == REDIST_OK) code = counted_wait(plan);
  next_count();
  return code;
}

static redist_plan *plan_of(const contest *c, MPI_Comm comm, int adds) {
  static redist_axpby sum = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0};
  redist_options options;
  redist_plan *plan = NULL;
  memset(&options, 0, sizeof options);
  options.method = REDIST_POINT_TO_POINT;
  options.combine = adds ? redist_combine_axpby : NULL;
  options.context = &sum;
  redist_plan_create(comm, &c->from_layout, &c->to_layout, c->by_hand.datatype, &options, &plan);
  for (int k = 0; plan && k < WARM; k++) redist_execute(plan, c->source, c->destination);
  return plan;
}

/* ---- both ---- */

static bench_case case_of(const guarded *g) {
  const bench_case *found = cases;
  bench_case what;
  while (strcmp(found->name, g->name) != 0) found++;
  what = *found;
  what.type = g->type;
  return what;
}

/* The line for the script: the row, how often each side was counted, its bounds. */
static void tell_row(const guarded *g) {
  static const char *const types[] = {"float", "double", "complex"};
  static const char *const ways[] = {"moved", "packed and unpacked", "added", "packed and added"};
  printf("row: %s, n = %lld, %s, %s|%d|%g|%d|%g|%s\n", g->name, (long long)g->n, types[g->type],
         ways[2 * (g->adds != 0) + (g->ranks > 1)], EXECUTIONS, g->bound,
         g->ranks > 1 ? WITH_PEER : ALONE, g->today, g->reason);
}

/* Counts the plan's executions first, and then the same by hand. */
static void compare(const guarded *g, int tell) {
  const int rank = g->ranks > 1 ? test_rank() : 0;
  const bench_case what = case_of(g);
  contest c = contest_create(&what, g->n, g->ranks, rank);
  redist_plan *plan = plan_of(&c, g->ranks > 1 ? MPI_COMM_WORLD : MPI_COMM_SELF, g->adds);
  packed_exchange *hand = packed_create(&c.by_hand);
  const size_t bytes = bytes_of(&c, &c.by_hand.to);
  int good = plan != NULL;
  for (int k = 0; good && k < 2 * EXECUTIONS; k++) {
    memset(c.destination, g->adds ? 0 : 0xA5, bytes);
    if (k < EXECUTIONS)
      good = exchange_by_plan(plan, c.source, c.destination) == REDIST_OK;
    else
      exchange_by_hand(hand, rank, g->adds, c.source, c.destination);
    good = good && memcmp(c.destination, c.expected, bytes) == 0;
  }
  test_case_all(good, "%s, n = %lld, %d ranks", g->name, (long long)g->n, g->ranks);
  if (tell) tell_row(g);
  redist_plan_free(&plan);
  packed_free(hand);
  contest_free(&c);
}

int main(int argc, char **argv) {
  int k;
  MPI_Init(&argc, &argv);
  for (k = 0; k < ROWS_OF_TABLE; k++)
    if (table[k].ranks <= test_size()) compare(&table[k], test_rank() == 0 && argc > 1);
  k = test_report_all("instructions");
  MPI_Finalize();
  return k;
}
