/* Threads against ranks: memcpy, a transpose, packing and unpacking by one thread and by all, and
   the transpose through a plan. MIT licence, see LICENSE.

   Run with as many threads on one rank as ranks without threads, e.g. OMP_NUM_THREADS=2 mpiexec -n
   1 threads, and OMP_NUM_THREADS=1 mpiexec -n 2 threads, on the same array. */
#include <math.h>
#include <omp.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "bench.h"

#include "redist_plan.h"

enum { REPETITIONS = 200 }; /* or as many as fit in a second */

typedef struct {
  redist_layout from, to;
  const void *source[2];
  void *target[2];
} local_move;

static void move(const local_move *m, size_t bytes) {
  (void)bytes;
  if (redist_move(&m->from, m->source, &m->to, m->target, sizeof(double)) != REDIST_OK)
    give_up("redist_move failed");
}

/* This thread's share of so many bytes: its beginning and its length. */
static size_t part_of(size_t bytes, size_t *length) {
  const size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads(),
               lines = bytes / 64;
  const size_t begin = lines * thread / threads * 64;
  *length = thread + 1 < threads ? lines * (thread + 1) / threads * 64 - begin : bytes - begin;
  return begin;
}

/* What the memory allows: the same bytes in equal shares. */
static void copy(const local_move *m, size_t bytes) {
#pragma omp parallel
  {
    size_t length, begin = part_of(bytes, &length);
    memcpy((char *)m->target[0] + begin, (const char *)m->source[0] + begin, length);
  }
}

/* The same with non-temporal stores, if available: one core may use the whole bandwidth of its
   die. */
static void stream(const local_move *m, size_t bytes) {
#pragma omp parallel
  {
    size_t length, begin = part_of(bytes, &length);
    char *to = (char *)(((uintptr_t)m->target[0] + 15) / 16 * 16) + begin;
    const char *from = (const char *)m->source[0] + begin;
#ifdef __SSE2__
    for (size_t k = 0; k + 32 <= length; k += 16)
      _mm_stream_si128((__m128i *)(void *)(to + k),
                       _mm_loadu_si128((const __m128i *)(const void *)(from + k)));
    _mm_sfence();
#else
    memcpy(to, from, length - 16);
#endif
  }
}

typedef void mover(const local_move *m, size_t bytes);

static double timed(mover *run, const local_move *m, double bytes, int threads) {
  double begin = MPI_Wtime();
  omp_set_num_threads(threads);
  run(m, (size_t)bytes);
  return MPI_Wtime() - begin;
}

/* One thread and all threads alternate. Best times, since other load delays teams more than one
   thread. */
static void compare_threads(const char *name, mover *run, const local_move *m, double bytes,
                            int threads) {
  double one = 1e9, all = 1e9, begin = MPI_Wtime();
  char what[64], team[32];
  int k;
  for (k = 0; k < REPETITIONS && (k < 5 || MPI_Wtime() < begin + 1); k++) {
    one = fmin(one, timed(run, m, bytes, 1));
    all = fmin(all, timed(run, m, bytes, threads));
  }
  snprintf(what, sizeof what, "%s, %.0f MB", name, bytes / 1e6);
  snprintf(team, sizeof team, "%d thread%s", threads, threads > 1 ? "s" : "");
  figure(what, 1, (int64_t)bytes, "1 thread", k, one, one, 1);
  figure(what, 1, (int64_t)bytes, team, k, all, all, all / one);
  printf("%-24s 1 thread %9.3f ms   %s %9.3f ms   ratio %.2f\n", what, one * 1e3, team, all * 1e3,
         one / all);
}

/* Whole arrays on this rank, and half of their columns, which are packed and unpacked. */
static void move_alone(int64_t n, int threads) {
  const redist_layout whole = redist_layout_2d(redist_whole(n), redist_whole(n));
  const redist_layout halves = redist_layout_2d(redist_whole(n), redist_block(n, 2));
  const double bytes = (double)n * (double)n * sizeof(double);
  char *a = allocate((size_t)bytes), *b = allocate((size_t)bytes);
  local_move m;
  memset(a, 1, (size_t)bytes);
  memset(b, 2, (size_t)bytes);
  m.from = whole;
  m.to = redist_transposed(whole);
  m.source[0] = a;
  m.source[1] = a + redist_layout_local_size(&halves, 0) * (int64_t)sizeof(double);
  m.target[0] = b;
  m.target[1] = b + redist_layout_local_size(&halves, 0) * (int64_t)sizeof(double);
  compare_threads("memcpy", copy, &m, bytes, threads);
  compare_threads("streamed memcpy", stream, &m, bytes, threads);
  compare_threads("transpose", move, &m, bytes, threads);
  m.to = halves;
  compare_threads("pack", move, &m, bytes, threads);
  m.from = halves;
  m.to = whole;
  compare_threads("unpack", move, &m, bytes, threads);
  free(a);
  free(b);
}

/* Rows to columns of the transposed array, over all ranks, in an arena. */
static void execute(int64_t n, int rank, int ranks, int threads) {
  const redist_layout rows = redist_layout_2d(redist_block(n, ranks), redist_whole(n));
  const redist_layout turned = redist_transposed(rows);
  const size_t bytes = (size_t)redist_layout_local_size(&rows, rank) * sizeof(double);
  redist_arena *arena = NULL;
  redist_options options;
  redist_plan *plan = NULL;
  double best = 1e9;
  char what[64], team[32];
  void *a, *b;
  int k;
  memset(&options, 0, sizeof options);
  if (redist_arena_create(MPI_COMM_WORLD, 2 * bytes + 128, &arena) != REDIST_OK)
    give_up("no arena");
  a = memset(redist_arena_alloc(arena, bytes), 1, bytes);
  b = memset(redist_arena_alloc(arena, bytes), 2, bytes);
  options.arena = arena;
  if (redist_plan_create(MPI_COMM_WORLD, &rows, &turned, MPI_DOUBLE, &options, &plan) != REDIST_OK)
    give_up("no plan");
  omp_set_num_threads(threads);
  for (k = 0; k < 30; k++) {
    double time;
    barrier();
    time = MPI_Wtime();
    if (redist_execute(plan, a, b) != REDIST_OK) give_up("redist_execute failed");
    time = MPI_Wtime() - time;
    maxima(&time, 1);
    best = fmin(best, time);
  }
  snprintf(what, sizeof what, "plan, %.0f MB", (double)n * (double)n * 8 / 1e6);
  snprintf(team, sizeof team, "%d x %d", ranks, threads);
  figure(what, ranks, (int64_t)bytes, team, k, best, best, 1);
  if (rank == 0) printf("%-24s %s ranks x threads %9.3f ms\n", what, team, best * 1e3);
  redist_plan_free(&plan);
  redist_arena_free(&arena);
}

int main(int argc, char **argv) {
  int64_t least = 16, most = 256;
  const char *csv = NULL;
  const option table[] = {{.name = "--least",
                           .argument = "MB",
                           .integer = &least,
                           .least = 1,
                           .most = 10000,
                           .help = "megabytes of the first array (default 16)"},
                          {.name = "--most",
                           .argument = "MB",
                           .integer = &most,
                           .least = 1,
                           .most = 10000,
                           .help = "then four times as many, up to MB (default 256)"},
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int rank, ranks, threads = omp_get_max_threads();
  int status = start(
      table, argc, argv, &rank, &ranks, "threads",
      "A transpose, packing and unpacking by one thread and by all; run it on 1 rank and on several.");
  figures_open(status < 0 ? csv : NULL, rank, FIGURE_COLUMNS);
  for (int64_t megabytes = least; status < 0 && megabytes <= most; megabytes *= 4) {
    const int64_t n = (int64_t)sqrt((double)megabytes * 1e6 / sizeof(double));
    if (ranks == 1) move_alone(n, threads);
    execute(n, rank, ranks, threads);
  }
  figures_close();
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
