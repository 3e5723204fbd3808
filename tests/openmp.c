/* redist tests: the moves of move.c, shared among OpenMP threads at any size. MIT licence, see
   LICENSE. */
#define REDIST_THREAD_BYTES 1
#define main move_main
#include "move.c"
#undef main

enum { THREADS = 3 };

/* Threads are used outside parallel regions only, and as many as the program allows. */
static void check_team(void) {
  int inside = 0, outside, alone;
  omp_set_num_threads(1);
  alone = redist_priv_team(1000);
  omp_set_num_threads(THREADS);
  outside = redist_priv_team(1000);
#pragma omp parallel reduction(max : inside)
  inside = redist_priv_team(1000);
  test_case(alone == 1, "threads where 1 is allowed: %d", alone);
  test_case(outside == THREADS, "threads where %d are allowed: %d", THREADS, outside);
  test_case(inside == 1, "threads inside a parallel region: %d", inside);
}

static void add(const void *from, void *to, int64_t n, void *context) {
  int64_t k;
  (void)context;
  for (k = 0; k < n; k++) ((double *)to)[k] += ((const double *)from)[k];
}

/* Sums into n elements between cyclic blocks of 3 and 5, whose last table may have fewer offsets
   than there are threads. */
static void check_sums(int n) {
  const redist_layout from = redist_layout_1d(redist_block_cyclic(n, 3, 2)),
                      to = redist_layout_1d(redist_block_cyclic(n, 5, 2));
  double source[2][200], sum[2][200];
  const void *const sources[] = {source[0], source[1]};
  void *const sums[] = {sum[0], sum[1]};
  int64_t g;
  int code, wrong = 0;
  for (g = 0; g < n; g++) {
    source[redist_layout_owner(&from, &g)][redist_layout_offset(&from, &g)] = (double)g;
    sum[redist_layout_owner(&to, &g)][redist_layout_offset(&to, &g)] = 0.5;
  }
  code = redist_move_combining(&from, sources, &to, sums, sizeof(double), add, NULL);
  for (g = 0; g < n; g++)
    wrong += sum[redist_layout_owner(&to, &g)][redist_layout_offset(&to, &g)] != (double)g + 0.5;
  test_case(code == REDIST_OK && wrong == 0, "%d sums by threads: code %d, %d wrong", n, code,
            wrong);
}

/* Arguments: as for move. */
int main(int count, char **arguments) {
  int n;
  check_team();
  for (n = 1; n <= 200; n++) check_sums(n);
  return move_main(count, arguments);
}
