/* Shared memory runs out while plans and arenas are created: those that fit use it, the others do
   without, and no rank dies. small_shm.sh runs this where /dev/shm is small; elsewhere all fit. MIT
   licence, see LICENSE. */
#include <pthread.h>
#include <sys/statvfs.h>

#include "redist_plan.h"
#include "test_mpi.h"

enum { PLANS = 8, ARENAS = 2, ARENA_BYTES = 20000000, TIMES = 3, LEFT = 1 << 17 };

static double element(int64_t i, int64_t j, int round) { return (double)(i * 100000 + j + round); }

/* Blocks of rows of an n x n matrix. */
static void fill_rows(double *a, int64_t n, int round) {
  const redist_axis rows = redist_block(n, test_size());
  const int64_t mine = redist_axis_count(&rows, test_rank());
  int64_t i, j;
  for (i = 0; i < mine; i++)
    for (j = 0; j < n; j++)
      a[i * n + j] = element(redist_axis_global(&rows, test_rank(), i), j, round);
}

/* Blocks of its columns. */
static int columns_are_right(const double *b, int64_t n, int round) {
  const redist_axis columns = redist_block(n, test_size());
  const int64_t mine = redist_axis_count(&columns, test_rank());
  int64_t i, j;
  for (i = 0; i < n; i++)
    for (j = 0; j < mine; j++)
      if (b[i * mine + j] != element(i, redist_axis_global(&columns, test_rank(), j), round))
        return 0;
  return 1;
}

/* Many plans with default options, all alive, each executed. Returns how many use shared memory. */
static int check_plans(int64_t n) {
  const redist_layout from = redist_layout_2d(redist_block(n, test_size()), redist_whole(n));
  const redist_layout to = redist_layout_2d(redist_whole(n), redist_block(n, test_size()));
  double *a = malloc((size_t)redist_layout_local_size(&from, test_rank()) * sizeof *a);
  double *b = malloc((size_t)redist_layout_local_size(&to, test_rank()) * sizeof *b);
  redist_plan *plan[PLANS];
  redist_stats stats;
  int k, code, shared = 0;
  for (k = 0; k < PLANS; k++) {
    code = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, NULL, &plan[k]);
    test_case_all(code == REDIST_OK, "plan %d: %s", k, redist_strerror(code));
  }
  for (k = 0; k < PLANS; k++) {
    fill_rows(a, n, k);
    test_case_all(redist_execute(plan[k], a, b) == REDIST_OK && columns_are_right(b, n, k),
                  "execution of plan %d", k);
    redist_plan_stats(plan[k], &stats);
    shared += stats.method == REDIST_SHARED;
  }
  for (k = 0; k < PLANS; k++) redist_plan_free(&plan[k]);
  free(a);
  free(b);
  return shared;
}

/* Arenas that fit one by one, before anything is written. */
static void check_arenas(void) {
  redist_arena *arena[ARENAS];
  unsigned char *memory[ARENAS];
  size_t b;
  int k, good;
  for (k = 0; k < ARENAS; k++) {
    test_case_all(redist_arena_create(MPI_COMM_WORLD, ARENA_BYTES, &arena[k]) == REDIST_OK,
                  "arena %d", k);
    memory[k] = redist_arena_alloc(arena[k], ARENA_BYTES);
    test_case_all(memory[k] != NULL, "memory of arena %d", k);
  }
  for (k = 0; k < ARENAS; k++) memset(memory[k], k + 1, ARENA_BYTES);
  for (k = 0; k < ARENAS; k++) {
    for (b = 0, good = 1; b < ARENA_BYTES; b += 1000) good = good && memory[k][b] == k + 1;
    test_case_all(good && redist_arena_free(&arena[k]) == REDIST_OK,
                  "arena %d keeps what is written", k);
  }
}

/* Prints how much of /dev/shm is in use: by MPI, where nothing else uses it. */
static void print_taken(void) {
  long long taken = -1;
  struct statvfs memory;
  MPI_Barrier(MPI_COMM_WORLD);
  if (statvfs("/dev/shm", &memory) == 0)
    taken = (long long)((memory.f_blocks - memory.f_bfree) * memory.f_frsize / 1024);
  if (test_rank() == 0) printf("taken: %lld kB\n", taken);
}

/* Bytes of /dev/shm that are free. */
static double room_left(void) {
  struct statvfs memory;
  return statvfs("/dev/shm", &memory) == 0 ? (double)memory.f_bavail * (double)memory.f_frsize : 0;
}

/* What a thread sees: the least room in /dev/shm, in bytes, until `ends` is set. */
typedef struct {
  int ends;
  double least;
} watch;

static void *look(void *given) {
  watch *w = given;
  while (!__atomic_load_n(&w->ends, __ATOMIC_ACQUIRE)) {
    const double room = room_left();
    w->least = w->least < room ? w->least : room;
  }
  return NULL;
}

/* Arrays that all ranks adopt at once: if they do not fit, nothing stays shared. */
static void check_adoption(int fits) {
  unsigned char *array = malloc(ARENA_BYTES);
  redist_arena *arena;
  double before;
  size_t b;
  int good;
  memset(array, 5, ARENA_BYTES);
  redist_arena_create(MPI_COMM_WORLD, 0, &arena);
  MPI_Barrier(MPI_COMM_WORLD);
  before = room_left();
  MPI_Barrier(MPI_COMM_WORLD);
  good =
      redist_arena_adopt(arena, array, ARENA_BYTES) == (fits ? (int)REDIST_OK : REDIST_ERR_MEMORY);
  if (fits) good = good && redist_arena_release(arena, array) == REDIST_OK;
  MPI_Barrier(MPI_COMM_WORLD);
  test_case_all(good && room_left() > before - LEFT, "%.0f bytes fewer after adopting",
                before - room_left());
  for (b = 0, good = 1; b < ARENA_BYTES; b += 1000) good = good && array[b] == 5;
  test_case_all(redist_arena_free(&arena) == REDIST_OK && good, "the array stays as it was");
  free(array);
}

/* Arenas and arrays for which there may be too little are shared at once by all ranks, and still
   leave some to MPI, which dies where it touches a page too many. */
static void check_what_is_left(int fits) {
  watch w = {0, 1e300};
  pthread_t thread;
  const int looks = test_rank() == 0;
  int k;
  if (looks && pthread_create(&thread, NULL, look, &w) != 0) abort();
  for (k = 0; k < TIMES; k++) {
    check_arenas();
    check_adoption(fits);
  }
  __atomic_store_n(&w.ends, 1, __ATOMIC_RELEASE);
  if (looks) pthread_join(thread, NULL);
  test_case_all(!looks || w.least >= LEFT, "%.0f bytes of /dev/shm are left", w.least);
}

/* Arguments: the length of the matrix; "some" of its plans fit into a small /dev/shm, or "all". Or
   "taken". */
int main(int count, char **arguments) {
  int status, shared, fits;
  MPI_Init(&count, &arguments);
  if (count > 1 && strcmp(arguments[1], "taken") == 0) {
    print_taken();
    return MPI_Finalize() != MPI_SUCCESS;
  }
  shared = check_plans(count > 1 ? atoi(arguments[1]) : 500);
  check_arenas();
  if (count > 2) {
    fits = strcmp(arguments[2], "all") == 0;
    check_what_is_left(fits);
    test_case_all(shared > 0 && (shared == PLANS) == fits, "%d of %d plans use shared memory",
                  shared, PLANS);
  }
  status = test_report_all("small_shm");
  MPI_Finalize();
  return status;
}
