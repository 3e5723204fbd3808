/* redist tests: plans in shared memory are created, run once, freed and created again in the same
   memory, by ranks that are coroutines of one process and switch at every flag, copy, message and
   system call. All schedules in which a rank is interrupted once, by each of the others, and many
   with two or three interruptions, must end with the right data and leak nothing. MIT licence, see
   LICENSE. */
#undef _FORTIFY_SOURCE /* its longjmp refuses another stack (coroutines.h) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_malloc.h"

static void point(void); /* where another rank may run */
#define CREW_POINT() point()
#include "coroutines.h"

#include "test.h"

/* A rank that reads an unchanged flag again lets the others run. */
static struct {
  const int64_t *flag;
  int64_t value;
} last_read[CREW];

static inline int64_t load_flag(const int64_t *flag) {
  point();
  if (last_read[running].flag == flag && last_read[running].value == *flag) hand_over();
  last_read[running].flag = flag;
  return last_read[running].value = *flag;
}
static inline void store_flag(int64_t *flag, int64_t value) {
  point();
  *flag = value;
}
#define REDIST_PRIV_ACQUIRE(pointer) load_flag(pointer)
#define REDIST_PRIV_RELEASE(pointer, value) store_flag(pointer, value)
#define REDIST_COPIED(bytes) ((void)(bytes), point())
#define REDIST_YIELD() hand_over()
#define REDIST_RING_BYTES 4096
#define write(file, data, bytes) (point(), write(file, data, bytes))
#define mmap(at, bytes, may, how, file, begin) (point(), mmap(at, bytes, may, how, file, begin))
#define munmap(at, bytes) (point(), munmap(at, bytes))
#define fstat(file, found) (point(), fstat(file, found))

#include "redist_plan.h"

/* ---- what the ranks do ---- */

enum { MOST_OWN = 24, GENERATIONS = 3, MOST_TURNS = 200000 };

typedef struct {
  const char *name;
  int ranks, own, in_arena; /* own: elements of a rank, 8 bytes each */
} life_case;

static life_case now;
static int wrong[CREW];

static int crew_rank(void) { return running; }
static void crew_barrier(void) { coroutine_barrier(); }

/* A plan and its arrays: block to cyclic, and in the next generation cyclic to block. */
typedef struct {
  redist_layout layout[2];
  redist_plan *plan;
  double *held[2];
} generation_plan;

static double element(const generation_plan *g, int number, int side, int rank, int k) {
  return 1000 * number + (double)redist_axis_global(&g->layout[side].dim[0].axis, rank, k);
}

static void begin(generation_plan *g, int rank, int number, redist_arena *arena) {
  const int n = now.ranks * now.own, back = number % 2;
  redist_options options;
  int k;
  memset(&options, 0, sizeof options);
  options.method = REDIST_SHARED;
  options.arena = arena;
  g->layout[back] = redist_layout_1d(redist_block(n, now.ranks));
  g->layout[!back] = redist_layout_1d(redist_cyclic(n, now.ranks));
  wrong[rank] |= redist_plan_create(MPI_COMM_WORLD, &g->layout[0], &g->layout[1], MPI_DOUBLE,
                                    &options, &g->plan) != REDIST_OK ||
                 g->plan->rings == NULL;
  if (wrong[rank]) return;
  for (k = 0; k < now.own; k++) g->held[0][k] = element(g, number, 0, rank, k);
  wrong[rank] |= redist_start(g->plan, g->held[0], g->held[1]) != REDIST_OK;
}

/* Waits and frees, whatever the others do. */
static void end(generation_plan *g, int rank, int number) {
  int k, done;
  for (done = 0; !done && !wrong[rank]; hand_over())
    wrong[rank] |= redist_test(g->plan, &done) != REDIST_OK;
  for (k = 0; k < now.own && !wrong[rank]; k++)
    wrong[rank] |= g->held[1][k] != element(g, number, 1, rank, k);
  wrong[rank] |= redist_plan_free(&g->plan) != REDIST_OK;
}

/* Odd ranks create a plan before they wait for the previous one. */
static void life(void) {
  const int rank = running, late = rank % 2;
  double outside[GENERATIONS][2][MOST_OWN];
  generation_plan g[GENERATIONS];
  redist_arena *arena = NULL;
  int k, side;
  memset((void *)g, 0, sizeof g);
  if (now.in_arena)
    wrong[rank] |= redist_arena_create(MPI_COMM_WORLD, 2 * sizeof outside, &arena) != REDIST_OK;
  for (k = 0; k < GENERATIONS; k++)
    for (side = 0; side < 2; side++)
      g[k].held[side] =
          arena == NULL ? outside[k][side] : redist_arena_alloc(arena, sizeof outside[k][side]);
  for (k = 0; k < GENERATIONS + late && !wrong[rank]; k++) {
    if (k < GENERATIONS) begin(&g[k], rank, k, arena);
    if (k >= late) end(&g[k - late], rank, k - late);
  }
  redist_arena_free(&arena);
  finish();
}

/* ---- schedules ---- */

enum { MOST_INTERRUPTIONS = 3 };
static int64_t points, interrupted[MOST_INTERRUPTIONS];

static void point(void) {
  const int64_t at = points++;
  int k;
  for (k = 0; k < MOST_INTERRUPTIONS; k++)
    if (at == interrupted[k]) {
      hand_over();
      return;
    }
}

/* The lowest descriptor that no file has: a file that stays open takes it. */
static int free_descriptor(void) {
  const int lowest = dup(STDOUT_FILENO);
  close(lowest);
  return lowest;
}

/* Runs the ranks round-robin, each until it blocks or is interrupted; the next schedule's
   interruptions are `stride` points later. Returns whether all passed. */
static int run_schedule(int first, int stride) {
  const int descriptor = free_descriptor();
  const int64_t blocks = live_blocks;
  int r, turns, good = 1;
  memset(wrong, 0, sizeof wrong);
  memset(last_read, 0, sizeof last_read);
  points = 0;
  begin_coroutines(life);
  for (turns = 0, r = first; !all_finished() && turns < MOST_TURNS; turns++) {
    if (!coroutine[r].finished) resume(r);
    r = (r + stride) % now.ranks;
  }
  good = all_finished();
  for (r = 0; r < now.ranks; r++) good = good && !wrong[r];
  return good && live_blocks == blocks && free_descriptor() == descriptor;
}

static uint64_t state = 88172645463325252u;

static int64_t random_below(int64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)n);
}

static void explore(const life_case *c) {
  enum { SAMPLES = 400 };
  int64_t all = 0, at = 0, runs = 0;
  int first, stride, k, good;
  now = *c;
  crew_size = c->ranks;
  for (k = 0; k < MOST_INTERRUPTIONS; k++) interrupted[k] = -1;
  good = run_schedule(0, 1);
  for (first = 0; first < c->ranks && good; first++)
    for (stride = 1; stride < c->ranks && good; stride++)
      for (at = 0, all = 1; at <= all && good; at++, runs++) {
        interrupted[0] = interrupted[1] = interrupted[2] = at - 1;
        good = run_schedule(first, stride);
        all = at == 0 ? points : all;
      }
  for (k = 0; k < SAMPLES && good; k++, runs++) {
    for (at = 0; at < MOST_INTERRUPTIONS; at++) interrupted[at] = random_below(all);
    good = run_schedule((int)random_below(c->ranks), 1 + (int)random_below(c->ranks - 1));
  }
  test_case(good && runs > all && all > 50,
            "%s: schedule %ld, interrupted at %ld, %ld and %ld of %ld points", c->name, (long)runs,
            (long)interrupted[0], (long)interrupted[1], (long)interrupted[2], (long)all);
  if (getenv("CREATION_VERBOSE") != NULL)
    printf("%s: %ld points, %ld schedules\n", c->name, (long)all, (long)runs);
}

int main(void) {
  static const life_case cases[] = {
      {"2 ranks", 2, 8, 0},
      {"2 ranks, in an arena", 2, 8, 1},
      {"3 ranks", 3, 6, 0},
      {"3 ranks, in an arena", 3, 6, 1},
  };
  const int shares = access("/dev/shm", W_OK) == 0;
  size_t k;
  if (!shares) test_skip("no /dev/shm");
  allocate_stacks();
  for (k = 0; shares && k < sizeof cases / sizeof *cases; k++) explore(&cases[k]);
  free_stacks();
  return test_report("creation");
}
