/* Cells that follow their work, and a mesh stored in a new order. MIT licence, see LICENSE.
   mpicc -I. examples/balance.c -o balance -lm && mpiexec -n 4 ./balance

   First a flame travels along a line of cells. Cells in the flame are more work than others, so in
   each step every cell gets the owner that makes all ranks' work equal, and the cells' states, four
   numbers each, move from the old owners to the new ones: a plan between two layouts of
   redist_owners. (A real code would measure the weights.)

   Then a square mesh comes from a generator whose numbers jump about, and each rank has read a
   section of them. Stored along a space-filling curve, a section of the curve on each rank,
   neighbours lie close in memory, and few on other ranks: a plan to a layout of redist_lists. */
#include <math.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

enum { STATES = 4 };

typedef struct {
  int64_t n, steps, side;
  int rank, ranks;
} settings;

static void *take(int64_t n, size_t bytes) {
  void *memory = malloc((size_t)(n > 0 ? n : 1) * bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

/* State k of a cell is STATES * its number + k. Returns the states of cells[n]. */
static double *states_of(const int64_t *cells, int64_t n) {
  double *states = take(STATES * n, sizeof *states);
  for (int64_t k = 0; k < STATES * n; k++)
    states[k] = (double)(STATES * cells[k / STATES] + k % STATES);
  return states;
}

/* Moves the states of this rank's cells, and returns how many arrive wrong, on all ranks. *moved:
   cells that leave their rank. */
static int64_t move(redist_axis from, const int64_t *cells, int64_t n, redist_axis to,
                    const int64_t *new_cells, int64_t new_n, int64_t *moved) {
  const redist_layout a = redist_layout_2d(from, redist_whole(STATES)),
                      b = redist_layout_2d(to, redist_whole(STATES));
  double *before = states_of(cells, n), *expected = states_of(new_cells, new_n);
  double *after = take(STATES * new_n, sizeof *after);
  redist_traffic traffic;
  redist_plan *plan = NULL;
  int64_t wrong = 0;
  if (redist_plan_create(MPI_COMM_WORLD, &a, &b, MPI_DOUBLE, NULL, &plan) != REDIST_OK ||
      redist_execute(plan, before, after) != REDIST_OK ||
      redist_traffic_between(&a, &b, 0, &traffic) != REDIST_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  redist_plan_free(&plan);
  for (int64_t k = 0; k < STATES * new_n; k++)
    wrong += after[k] < expected[k] || after[k] > expected[k];
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  *moved = traffic.moved / STATES;
  free(before);
  free(expected);
  free(after);
  return wrong;
}

/* ---- owners by weights ---- */

static void weigh(const settings *s, int64_t step, double *weight) {
  const double flame = (double)step / (double)s->steps;
  for (int64_t i = 0; i < s->n; i++)
    weight[i] = 1 + 50 * exp(-pow(((double)i / (double)s->n - flame) / 0.05, 2));
}

/* Gives each rank neighbouring cells of equal weight, and lists those of this rank. */
static int64_t balance(const settings *s, const double *weight, int *owner, int64_t *cells) {
  double all = 0, before = 0;
  int64_t n = 0;
  for (int64_t i = 0; i < s->n; i++) all += weight[i];
  for (int64_t i = 0; i < s->n; before += weight[i++]) {
    owner[i] = (int)((before + weight[i] / 2) / all * s->ranks);
    if (owner[i] >= s->ranks) owner[i] = s->ranks - 1;
    if (owner[i] == s->rank) cells[n++] = i;
  }
  return n;
}

/* The work of the busiest rank, over the mean. */
static double imbalance(const settings *s, const double *weight, const int *owner) {
  double *work = take(s->ranks, sizeof *work), all = 0, most = 0;
  for (int k = 0; k < s->ranks; k++) work[k] = 0;
  for (int64_t i = 0; i < s->n; i++) work[owner[i]] += weight[i], all += weight[i];
  for (int k = 0; k < s->ranks; k++) most = work[k] > most ? work[k] : most;
  free(work);
  return most * s->ranks / all;
}

static int64_t follow_flame(const settings *s) {
  double *weight = take(s->n, sizeof *weight);
  int *owner[2] = {take(s->n, sizeof(int)), take(s->n, sizeof(int))};
  int64_t *cells[2] = {take(s->n, sizeof(int64_t)), take(s->n, sizeof(int64_t))};
  int64_t n[2], wrong = 0, moved;
  weigh(s, 0, weight);
  n[0] = balance(s, weight, owner[0], cells[0]);
  if (s->rank == 0) printf("step   busiest rank over mean, unmoved and moved   cells moved\n");
  for (int64_t step = 1; step <= s->steps; step++) {
    const int old = (int)(step + 1) % 2, new = !old;
    weigh(s, step, weight);
    n[new] = balance(s, weight, owner[new], cells[new]);
    wrong += move(redist_owners(s->n, owner[old], s->ranks), cells[old], n[old],
                  redist_owners(s->n, owner[new], s->ranks), cells[new], n[new], &moved);
    if (s->rank == 0)
      printf("%4lld %36.3f %9.3f %13lld\n", (long long)step, imbalance(s, weight, owner[old]),
             imbalance(s, weight, owner[new]), (long long)moved);
  }
  for (int k = 0; k < 2; k++) {
    free(owner[k]);
    free(cells[k]);
  }
  free(weight);
  return wrong;
}

/* ---- a mesh in a new order ---- */

/* The generator's number of a cell of the mesh, counted row by row. */
static int64_t number_of(const settings *s, int64_t cell) {
  return cell * 7919 % (s->side * s->side);
}

/* index[side * side]: the numbers of all cells along a curve of Morton, and at[]: where each is. */
static void follow_curve(const settings *s, int64_t *index, int64_t *at) {
  int64_t n = 0;
  for (int64_t k = 0; n < s->side * s->side; k++) {
    int64_t row = 0, column = 0;
    for (int bit = 0; bit < 20; bit++) {
      row |= (k >> (2 * bit + 1) & 1) << bit;
      column |= (k >> 2 * bit & 1) << bit;
    }
    if (row >= s->side || column >= s->side) continue;
    index[n] = number_of(s, row * s->side + column);
    at[index[n]] = n;
    n++;
  }
}

/* Cells have places 0, 1, ..., at[number]; rank k has begin[k] to begin[k + 1] - 1. */
static void report(const settings *s, const char *what, const int64_t *begin, const int64_t *at) {
  int64_t apart = 0, cut = 0, pairs = 0;
  for (int64_t cell = 0; cell + 1 < s->side * s->side; cell++) {
    const int64_t a = at[number_of(s, cell)], b = at[number_of(s, cell + 1)];
    int rank = 0;
    if (cell % s->side == s->side - 1) continue;
    while (begin[rank + 1] <= a) rank++;
    pairs++;
    if (b < begin[rank] || b >= begin[rank + 1])
      cut++;
    else
      apart += a < b ? b - a : a - b;
  }
  if (s->rank == 0)
    printf("%-9s  %lld of %lld neighbours on other ranks, the others %.1f cells apart\n", what,
           (long long)cut, (long long)pairs,
           pairs > cut ? (double)apart / (double)(pairs - cut) : 0.0);
}

static int64_t renumber(const settings *s) {
  const int64_t n = s->side * s->side;
  int64_t *as_read = take(n, sizeof *as_read), *begin = take(s->ranks + 1, sizeof *begin);
  int64_t *index = take(n, sizeof *index), *at = take(n, sizeof *at), wrong, moved, mine;
  redist_cuts_remainder_last(n, s->ranks, begin);
  mine = begin[s->rank + 1] - begin[s->rank];
  for (int64_t k = 0; k < n; k++) as_read[k] = k;
  follow_curve(s, index, at);
  wrong = move(redist_cuts(begin, s->ranks), as_read + begin[s->rank], mine,
               redist_lists(n, begin, index, s->ranks), index + begin[s->rank], mine, &moved);
  if (s->rank == 0)
    printf("a mesh of %lld cells, of which %lld moved\n", (long long)n, (long long)moved);
  report(s, "as read", begin, as_read);
  report(s, "as stored", begin, at);
  free(as_read);
  free(begin);
  free(index);
  free(at);
  return wrong;
}

int main(int argc, char **argv) {
  settings s = {.n = 20000, .steps = 5, .side = 100};
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &s.n,
                           .least = 1,
                           .most = 1000000,
                           .help = "cells on the line (default 20000)"},
                          {.name = "--steps",
                           .argument = "N",
                           .integer = &s.steps,
                           .least = 1,
                           .most = 1000,
                           .help = "in which the flame travels along it (default 5)"},
                          {.name = "--side",
                           .argument = "N",
                           .integer = &s.side,
                           .least = 1,
                           .most = 1000,
                           .help = "cells along a side of the mesh (default 100)"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  int status =
      options_start(table, argc, argv, s.rank, "balance",
                    "Teaches axes by owner and by list: cells that follow their work, and a mesh\n"
                    "stored in a new order.");
  if (status < 0) {
    const int64_t wrong = follow_flame(&s) + renumber(&s);
    if (s.rank == 0) printf("%lld states are wrong\n", (long long)wrong);
    status = wrong != 0;
  }
  MPI_Finalize();
  return status;
}
