/* The smallest complete program: a matrix goes from rows to columns. MIT licence, see LICENSE.
   mpicc -I. examples/hello.c -o hello && mpiexec -n 4 ./hello */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "redist_plan.h"

enum { N = 8, M = 12 };

/* Prints the matrix, with the owner's rank in the position of each element. */
static void show(const char *title, const redist_layout *layout) {
  int64_t index[2];
  printf("%s\n", title);
  for (index[0] = 0; index[0] < N; index[0]++, printf("\n"))
    for (index[1] = 0; index[1] < M; index[1]++) printf(" %2d", redist_layout_owner(layout, index));
}

/* Element (i, j) of the matrix is 100 i + j: fills the rows that this rank owns ... */
static void fill(double *a, const redist_axis *rows, int rank) {
  for (int64_t i = 0; i < redist_axis_count(rows, rank); i++)
    for (int64_t j = 0; j < M; j++)
      a[i * M + j] = (double)(100 * redist_axis_global(rows, rank, i) + j);
}

/* ... and counts the elements of its columns that are wrong. */
static int count_wrong(const double *b, const redist_axis *columns, int rank) {
  int wrong = 0;
  int64_t width = redist_axis_count(columns, rank);
  for (int64_t i = 0; i < N; i++)
    for (int64_t j = 0; j < width; j++)
      wrong += b[i * width + j] != (double)(100 * i + redist_axis_global(columns, rank, j));
  return wrong;
}

int main(int argc, char **argv) {
  int rank, p, wrong, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);

  redist_axis i = redist_block(N, p), j = redist_block(M, p);
  redist_layout rows = redist_layout_2d(i, redist_whole(M));
  redist_layout columns = redist_layout_2d(redist_whole(N), j);
  redist_plan *plan;

  /* + 1: malloc(0) may return NULL */
  double *a = malloc(sizeof *a * (size_t)(redist_layout_local_size(&rows, rank) + 1));
  double *b = malloc(sizeof *b * (size_t)(redist_layout_local_size(&columns, rank) + 1));
  if (!a || !b ||
      redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, NULL, &plan) != REDIST_OK)
    return MPI_Abort(MPI_COMM_WORLD, 1);

  fill(a, &i, rank);
  if (redist_execute(plan, a, b) != REDIST_OK) /* as often as needed */
    return MPI_Abort(MPI_COMM_WORLD, 1);
  wrong = count_wrong(b, &j, rank);

  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    show("The rank that owns each element, before:", &rows);
    show("and after:", &columns);
    printf("%d of %d elements are wrong.\n", all_wrong, N * M);
  }
  redist_plan_free(&plan);
  free(a);
  free(b);
  MPI_Finalize();
  return all_wrong != 0;
}
