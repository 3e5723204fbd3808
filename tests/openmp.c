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

/* Arguments: as for move. */
int main(int count, char **arguments) {
  check_team();
  return move_main(count, arguments);
}
