/* redist tests: random block-cyclic matrices on random process grids, as in ScaLAPACK. MIT licence,
   see LICENSE. */
#ifndef SCALAPACK_H
#define SCALAPACK_H

#include "redist_plan.h"
#include "scalapack_calls.h"
#include "test_mpi.h"

enum { LARGEST = 8 };

/* A process grid: row by row, entry k is on ranks[k]. */
typedef struct {
  int rows, columns, context;
  int ranks[LARGEST];
} grid;

/* A matrix over a grid, and this rank's part of it, not yet set. */
typedef struct {
  const grid *g;
  int desc[9], row, column; /* where the part to be copied begins, from 0 */
  int64_t elements;         /* of the local array, padding included */
  redist_layout layout;
  void *local;
  size_t bytes;
} matrix;

static void make_grid(test_random *r, grid *g) {
  int order[LARGEST], by_column[LARGEST], i, j, k, size = test_size();
  g->rows = (int)test_between(r, 1, size);
  g->columns = (int)test_between(r, 1, size / g->rows);
  for (k = 0; k < size; k++) order[k] = k;
  for (k = size - 1; k > 0; k--) {
    int other = (int)test_between(r, 0, k), kept = order[k];
    order[k] = order[other];
    order[other] = kept;
  }
  for (i = 0; i < g->rows; i++)
    for (j = 0; j < g->columns; j++)
      by_column[i + j * g->rows] = g->ranks[i * g->columns + j] = order[i * g->columns + j];
  Cblacs_get(-1, 0, &g->context);
  Cblacs_gridmap(&g->context, by_column, g->rows, g->rows, g->columns);
}

/* Indices of an axis that a coordinate owns, counted one by one. */
static int owned(int n, int block, int first, int processes, int coordinate) {
  int i, count = 0;
  for (i = 0; i < n; i++) count += (i / block + first) % processes == coordinate;
  return count;
}

static int place_of_rank(const grid *g) {
  int k;
  for (k = 0; k < g->rows * g->columns; k++)
    if (g->ranks[k] == test_rank()) return k;
  return -1;
}

/* A matrix in which a part of m x n fits. */
static void draw(test_random *r, const grid *g, int m, int n, size_t element_bytes, matrix *x) {
  int below = (int)test_between(r, 0, 6), right = (int)test_between(r, 0, 6),
      padding = (int)test_between(r, 0, 3);
  int place = place_of_rank(g), rows, columns;
  x->g = g;
  x->row = (int)test_between(r, 0, 6);
  x->column = (int)test_between(r, 0, 6);
  x->desc[0] = 1;
  x->desc[1] = g->context;
  x->desc[2] = x->row + m + below;
  x->desc[3] = x->column + n + right;
  x->desc[4] = (int)test_between(r, 1, 7);
  x->desc[5] = (int)test_between(r, 1, 7);
  x->desc[6] = (int)test_between(r, 0, g->rows - 1);
  x->desc[7] = (int)test_between(r, 0, g->columns - 1);
  rows = place < 0 ? 0 : owned(x->desc[2], x->desc[4], x->desc[6], g->rows, place / g->columns);
  columns =
      place < 0 ? 0 : owned(x->desc[3], x->desc[5], x->desc[7], g->columns, place % g->columns);
  x->desc[8] = rows + padding > 0 ? rows + padding : 1;
  x->layout = redist_on_ranks(redist_from_scalapack(x->desc, g->rows, g->columns), g->ranks);
  x->layout = redist_section(redist_section(x->layout, 0, x->row, m, 1), 1, x->column, n, 1);
  x->elements = (int64_t)x->desc[8] * columns;
  x->bytes = (size_t)x->elements * element_bytes;
  x->local = malloc(x->bytes + 1);
}

#endif
