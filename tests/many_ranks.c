/* redist tests: REDIST_AUTO on many ranks: a chain of phases for tiny messages between nodes. MIT
   licence, see LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

/* Rows to columns, `side` x `side` elements from each rank to each. Whether the result is right. */
static int arrives(redist_plan *plan, int side) {
  const int size = test_size(), n = size * side;
  double *rows = malloc((size_t)(side * n) * sizeof *rows),
         *columns = malloc((size_t)(side * n) * sizeof *columns);
  int i, j, good;
  for (i = 0; i < side; i++)
    for (j = 0; j < n; j++) rows[i * n + j] = (double)(test_rank() * side + i) * n + j;
  good = redist_execute(plan, rows, columns) == REDIST_OK;
  for (i = 0; i < n; i++)
    for (j = 0; j < side; j++)
      good = good && columns[i * side + j] == (double)i * n + test_rank() * side + j;
  free(rows);
  free(columns);
  return good;
}

static void check(int side, int node_ranks, int phases) {
  const int n = test_size() * side;
  redist_layout rows = redist_layout_2d(redist_block(n, test_size()), redist_whole(n));
  redist_layout columns = redist_layout_2d(redist_whole(n), redist_block(n, test_size()));
  redist_options options;
  redist_plan *plan = NULL;
  redist_stats stats;
  int good;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.node_ranks = node_ranks;
  options.cost.per_message = 1e-5;
  options.cost.per_byte = 1e-9;
  good = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options, &plan) ==
             REDIST_OK &&
         redist_plan_stats(plan, &stats) == REDIST_OK && arrives(plan, side);
  test_case_all(good && (stats.method == REDIST_MULTIPHASE) == phases &&
                    (stats.phases > 1) == phases,
                "%d bytes from each of %d ranks to each, %d a node: method %d, %d phases",
                side * side * 8, test_size(), node_ranks, (int)stats.method, stats.phases);
  redist_plan_free(&plan);
}

int main(int argc, char **argv) {
  int status;
  MPI_Init(&argc, &argv);
  check(1, 1, test_size() >= 32);
  check(1, test_size(), 0);
  check(64, 1, 0);
  status = test_report_all("many_ranks");
  MPI_Finalize();
  return status;
}
