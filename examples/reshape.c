/* Arrays in other shapes, moved as they are reshaped. MIT licence, see LICENSE.
   mpicc -I. examples/reshape.c -o reshape && mpiexec -n 4 ./reshape

   First a matrix in blocks of rows becomes one with a quarter of the rows, four times as long, in
   blocks of columns, as numpy.reshape(n / 4, 4 m) would have it on one process. By hand that takes
   a process that has room for the whole matrix: gather, reshape, scatter. With redist it is a plan
   between two views of one shape: what was the row becomes a split axis of one matrix, and a merged
   one of the other.

   Then a distribution function of space (x, y) and velocity (v, mu), for two species, as codes for
   plasmas have it: advection in space wants all of space on a rank, so the velocities and species
   are flattened to one axis and dealt out; collisions want all velocities, so space is. The two
   layouts are views of the same five axes. */
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

enum { FOLD = 4, SPECIES = 2 };

typedef struct {
  int64_t rows, columns, space, velocities, repetitions;
  int rank, ranks;
} settings;

static void *take(int64_t n) {
  void *memory = malloc((size_t)(n > 0 ? n : 1) * sizeof(double));
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

/* Where planning fails, it fails on every rank, with the same sentence. */
static redist_plan *plan_between(const redist_layout *from, const redist_layout *to) {
  char sentence[200];
  redist_options options = {REDIST_AUTO};
  redist_plan *plan = NULL;
  int rank;
  options.message = sentence;
  options.message_size = sizeof sentence;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) != REDIST_OK) {
    if (rank == 0) fprintf(stderr, "reshape: %s\n", sentence);
    MPI_Finalize();
    exit(1);
  }
  return plan;
}

static int64_t sum(int64_t n) {
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return n;
}

/* ---- a matrix ---- */

/* What a rank has of n things in blocks. */
static int64_t first_of(int64_t n, int ranks, int rank) {
  const int64_t block = (n + ranks - 1) / ranks, first = rank * block;
  return first < n ? first : n;
}

/* The elements of block k of columns of a matrix, and where they begin in it. */
static MPI_Datatype columns_of(int64_t rows, int64_t columns, int ranks, int k, int64_t *first) {
  MPI_Datatype type;
  *first = first_of(columns, ranks, k);
  MPI_Type_vector((int)rows, (int)(first_of(columns, ranks, k + 1) - *first), (int)columns,
                  MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Gathers blocks of rows, whose order is that of the other matrix, and scatters its columns. */
static void by_hand(const settings *s, const double *from, double *to) {
  const int64_t rows = s->rows / FOLD, columns = s->columns * FOLD;
  const int64_t mine =
      first_of(columns, s->ranks, s->rank + 1) - first_of(columns, s->ranks, s->rank);
  double *all = take(s->rank == 0 ? s->rows * s->columns : 0);
  int *n = take(s->ranks), *at = take(s->ranks);
  MPI_Request request;
  for (int k = 0; k < s->ranks; k++) {
    at[k] = (int)(first_of(s->rows, s->ranks, k) * s->columns);
    n[k] = (int)(first_of(s->rows, s->ranks, k + 1) * s->columns) - at[k];
  }
  MPI_Gatherv(from, n[s->rank], MPI_DOUBLE, all, n, at, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Irecv(to, (int)(rows * mine), MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
  for (int k = 0; k < s->ranks && s->rank == 0; k++) {
    int64_t first;
    MPI_Datatype type = columns_of(rows, columns, s->ranks, k, &first);
    MPI_Send(all + first, 1, type, k, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(all);
  free(n);
  free(at);
}

/* How many elements of the columns are not their number in the matrix; they are forgotten. */
static int64_t check_columns(const settings *s, double *to) {
  const int64_t columns = s->columns * FOLD, first = first_of(columns, s->ranks, s->rank),
                mine = first_of(columns, s->ranks, s->rank + 1) - first;
  int64_t wrong = 0;
  for (int64_t k = 0; k < s->rows / FOLD * mine; k++) {
    const double expected = (double)(k / mine * columns + first + k % mine);
    wrong += to[k] < expected || to[k] > expected;
    to[k] = -1;
  }
  return sum(wrong);
}

static int64_t reshape_matrix(const settings *s) {
  const redist_layout tall =
      redist_layout_2d(redist_block(s->rows, s->ranks), redist_whole(s->columns));
  const redist_layout wide =
      redist_layout_2d(redist_whole(s->rows / FOLD), redist_block(FOLD * s->columns, s->ranks));
  const redist_layout as_wide = redist_merged(redist_split(tall, 0, FOLD), 1);
  const int64_t n = redist_layout_local_size(&tall, s->rank);
  redist_plan *plan = plan_between(&as_wide, &wide);
  double *from = take(n), *to = take(redist_layout_local_size(&wide, s->rank));
  double least[2] = {1e9, 1e9};
  int64_t wrong = 0;
  for (int64_t k = 0; k < n; k++)
    from[k] = (double)(first_of(s->rows, s->ranks, s->rank) * s->columns + k);
  for (int64_t k = 0; k < 2 * s->repetitions; k++) {
    double begin, seconds;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    if (k % 2 == 0)
      redist_execute(plan, from, to);
    else
      by_hand(s, from, to);
    seconds = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    least[k % 2] = seconds < least[k % 2] ? seconds : least[k % 2];
    wrong += check_columns(s, to);
  }
  if (s->rank == 0)
    printf("%lld x %lld to %lld x %lld: redist %.3f ms, by hand %.3f ms and %.1f MB more on rank "
           "0\n",
           (long long)s->rows, (long long)s->columns, (long long)s->rows / FOLD,
           (long long)s->columns * FOLD, 1e3 * least[0], 1e3 * least[1],
           8e-6 * (double)(s->rows * s->columns));
  redist_plan_free(&plan);
  free(from);
  free(to);
  return wrong;
}

/* ---- a distribution function ---- */

/* Element (v, mu, species, x, y) of the view. */
static double value_of(const settings *s, const int64_t *i) {
  return (
      double)(((((i[0] * s->velocities + i[1]) * SPECIES + i[2]) * s->space + i[3]) * s->space) +
              i[4]);
}

/* Sets what this rank owns, or counts what is wrong: element by element, the layout says where. */
static int64_t visit(const settings *s, const redist_layout *layout, double *array, int set) {
  const int64_t lengths[] = {s->velocities, s->velocities, SPECIES, s->space, s->space};
  int64_t wrong = 0, all = 1, i[5];
  for (int d = 0; d < 5; d++) all *= lengths[d];
  for (int64_t k = 0; k < all; k++) {
    int64_t rest = k;
    for (int d = 4; d >= 0; rest /= lengths[d--]) i[d] = rest % lengths[d];
    if (redist_layout_owner(layout, i) != s->rank) continue;
    double *element = &array[redist_layout_offset(layout, i)];
    if (set) *element = value_of(s, i);
    wrong += *element < value_of(s, i) || *element > value_of(s, i);
  }
  return sum(wrong);
}

static int64_t reshape_function(const settings *s) {
  /* (v, mu, species) are one axis, (x, y) two; then (x, y) one, and v, mu, species three */
  const int64_t flat = s->velocities * s->velocities * SPECIES;
  const redist_axis velocity[] = {redist_block(s->space * s->space, s->ranks),
                                  redist_whole(s->velocities), redist_whole(s->velocities),
                                  redist_whole(SPECIES)};
  const int axes[] = {2, 3, 4, 0, 1};
  redist_layout in_space = redist_layout_3d(redist_block(flat, s->ranks), redist_whole(s->space),
                                            redist_whole(s->space));
  redist_layout in_velocity = redist_layout_nd(4, velocity);
  in_space = redist_split(redist_split(in_space, 0, SPECIES), 0, s->velocities);
  in_velocity = redist_permuted(redist_split(in_velocity, 0, s->space), axes);
  redist_plan *there = plan_between(&in_space, &in_velocity),
              *back = plan_between(&in_velocity, &in_space);
  double *a = take(redist_layout_local_size(&in_space, s->rank)),
         *b = take(redist_layout_local_size(&in_velocity, s->rank));
  int64_t wrong = visit(s, &in_space, a, 1);
  redist_execute(there, a, b);
  wrong += visit(s, &in_velocity, b, 0);
  redist_execute(back, b, a);
  wrong += visit(s, &in_space, a, 0);
  redist_plan_print(there, stdout);
  redist_plan_free(&there);
  redist_plan_free(&back);
  free(a);
  free(b);
  return wrong;
}

int main(int argc, char **argv) {
  settings s = {480, 600, 6, 8, 5, 0, 1};
  const option table[] = {{.name = "--rows",
                           .argument = "N",
                           .integer = &s.rows,
                           .least = 4,
                           .most = 100000,
                           .help = "of the matrix, a multiple of 4 (default 480)"},
                          {.name = "--columns",
                           .argument = "N",
                           .integer = &s.columns,
                           .least = 1,
                           .most = 100000,
                           .help = "of the matrix (default 600)"},
                          {.name = "--space",
                           .argument = "N",
                           .integer = &s.space,
                           .least = 1,
                           .most = 100,
                           .help = "points along x and along y (default 6)"},
                          {.name = "--velocities",
                           .argument = "N",
                           .integer = &s.velocities,
                           .least = 1,
                           .most = 100,
                           .help = "along v and along mu (default 8)"},
                          {.name = "--repetitions",
                           .argument = "N",
                           .integer = &s.repetitions,
                           .least = 1,
                           .most = 100000,
                           .help = "of which the fastest counts (default 5)"},
                          {.name = NULL}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  int status = options_start(table, argc, argv, s.rank, "reshape",
                             "Teaches split and merged axes: a matrix in another shape, and a\n"
                             "distribution function flattened in velocity or in space.");
  if (status < 0) {
    const int64_t wrong = reshape_matrix(&s) + reshape_function(&s);
    if (s.rank == 0) printf("%lld elements are wrong\n", (long long)wrong);
    status = wrong != 0;
  }
  MPI_Finalize();
  return status;
}
