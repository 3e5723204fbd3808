/* A matrix moves from a block-cyclic layout of rows to one block of rows per rank, for a solver
   that needs neighbouring rows: with the ranks' current numbering, and relabelled so that more of
   it stays on its rank. MIT licence, see LICENSE.
   mpicc -I. examples/relabel.c -o relabel && mpiexec -n 4 ./relabel

   The solver (Jacobi's, for Laplace's equation with u = 0 around the matrix) is written in
   coordinates of the process grid: it asks the layout which ranks hold the rows above and below. So
   it runs unchanged on any numbering. */
#include <limits.h>
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

typedef struct {
  int64_t n, block, first, steps, node_ranks;
  int rank, ranks;
  redist_axis axis;     /* its rows */
  redist_layout before; /* the layout before and after the solver */
} problem;

/* One numbering of the blocks of rows, and its results. */
typedef struct {
  const char *name;
  redist_layout rows; /* with a ghost row above and below */
  redist_plan *there, *back;
  double *u, *next, *result;
  double seconds; /* of the redistribution to this layout */
} run;

/* Rank 0 prints the error. Returns the exit status. */
static int fail(const problem *p, const char *what, const char *detail) {
  if (p->rank == 0)
    fprintf(stderr, "relabel: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
  return 1;
}

static int everywhere(int ok) {
  int all = 0;
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

/* ---- the solver ---- */

/* Sends this block's first and last row to the neighbours, and fills the ghost rows with theirs. */
static void exchange_ghosts(const redist_layout *rows, int rank, double *u, int64_t height,
                            int64_t n) {
  int coords[2], above, below;
  redist_layout_coords(rows, rank, coords);
  coords[0]--;
  above = redist_layout_rank(rows, coords); /* -1 where the matrix ends */
  coords[0] += 2;
  below = redist_layout_rank(rows, coords);
  above = above < 0 ? MPI_PROC_NULL : above;
  below = below < 0 ? MPI_PROC_NULL : below;
  MPI_Sendrecv(u + n, (int)n, MPI_DOUBLE, above, 0, u + (height + 1) * n, (int)n, MPI_DOUBLE, below,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(u + height * n, (int)n, MPI_DOUBLE, below, 1, u, (int)n, MPI_DOUBLE, above, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each element becomes the mean of its four neighbours. */
static void relax(const double *u, double *next, int64_t height, int64_t n) {
  for (int64_t i = 1; i <= height; i++)
    for (int64_t j = 0; j < n; j++) {
      double left = j > 0 ? u[i * n + j - 1] : 0, right = j < n - 1 ? u[i * n + j + 1] : 0;
      next[i * n + j] = (u[(i - 1) * n + j] + u[(i + 1) * n + j] + left + right) / 4;
    }
}

static void solve(const problem *p, run *r) {
  int coords[2];
  const redist_axis blocks = redist_balanced(p->n, p->ranks);
  redist_layout_coords(&r->rows, p->rank, coords);
  const int64_t height = redist_axis_count(&blocks, coords[0]);
  for (int64_t step = 0; step < p->steps; step++) {
    double *kept = r->u;
    exchange_ghosts(&r->rows, p->rank, r->u, height, p->n);
    relax(r->u, r->next, height, p->n);
    r->u = r->next;
    r->next = kept;
  }
}

/* ---- there, solve, and back ---- */

static int create_plan(const problem *p, const redist_layout *from, const redist_layout *to,
                       redist_plan **plan) {
  char message[256] = "";
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  options.method = REDIST_POINT_TO_POINT; /* quick to plan, for a single execution */
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, plan);
  return code == REDIST_OK ? 0 : fail(p, redist_strerror(code), message);
}

static double *zeros(const problem *p, const redist_layout *layout) {
  /* + 1: calloc(0) may return NULL */
  return calloc((size_t)redist_layout_local_size(layout, p->rank) + 1, sizeof(double));
}

/* Redistributes a few times; *seconds: the fastest. */
static int execute(const problem *p, redist_plan *plan, const double *from, double *to,
                   double *seconds) {
  enum { TIMES = 5 };
  int code = REDIST_OK;
  for (int k = 0; k < TIMES && code == REDIST_OK; k++) {
    /* no barrier first: it would spin where ranks outnumber cores */
    double begin = MPI_Wtime();
    code = redist_execute(plan, from, to);
    begin = MPI_Wtime() - begin;
    *seconds = k == 0 || begin < *seconds ? begin : *seconds;
  }
  return everywhere(code == REDIST_OK) ? 0
                                       : fail(p, "a redistribution failed", redist_strerror(code));
}

static int go(const problem *p, run *r, const double *matrix) {
  double back;
  int status;
  r->u = zeros(p, &r->rows);
  r->next = zeros(p, &r->rows);
  r->result = zeros(p, &p->before);
  if (!everywhere(r->u && r->next && r->result)) return fail(p, "not enough memory", "");
  status = create_plan(p, &p->before, &r->rows, &r->there);
  if (status == 0) status = create_plan(p, &r->rows, &p->before, &r->back);
  if (status == 0) status = execute(p, r->there, matrix, r->u, &r->seconds);
  if (status != 0) return status;
  solve(p, r);
  return execute(p, r->back, r->u, r->result, &back);
}

static void finish(run *r) {
  if (r->there) redist_plan_free(&r->there);
  if (r->back) redist_plan_free(&r->back);
  free(r->u);
  free(r->next);
  free(r->result);
}

/* ---- the report ---- */

/* *inside: the elements that stay on their node, but not on their rank. */
static int count_inside(const problem *p, const run *r, int64_t *inside) {
  const int each = (int)p->node_ranks;
  int code = REDIST_OK;
  *inside = 0;
  for (int from = 0; from < p->ranks; from++)
    for (int to = from / each * each; to < p->ranks && to / each == from / each; to++) {
      int64_t elements = 0;
      if (to != from && code == REDIST_OK)
        code = redist_volume(&p->before, from, &r->rows, to, &elements);
      *inside += elements;
    }
  return code;
}

static int report(const problem *p, const run *r) {
  redist_traffic t;
  double slowest = 0;
  int64_t inside = 0;
  int code = redist_traffic_between(&p->before, &r->rows, 0, &t);
  if (code == REDIST_OK && p->node_ranks > 1) code = count_inside(p, r, &inside);
  MPI_Reduce(&r->seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (code != REDIST_OK) return fail(p, r->name, redist_strerror(code));
  if (p->rank != 0) return 0;
  printf("  %-13s %7.2f MB stay on their rank", r->name, 8e-6 * (double)t.local);
  if (p->node_ranks > 1) printf(", %7.2f MB on their node", 8e-6 * (double)inside);
  printf(", %7.2f MB travel%s in %4lld messages, %8.3f ms\n", 8e-6 * (double)(t.moved - inside),
         p->node_ranks > 1 ? " between nodes" : "", (long long)t.messages, 1e3 * slowest);
  return 0;
}

static void report_ranks(const problem *p, const int *ranks) {
  if (p->rank != 0) return;
  printf("  block k is on rank");
  for (int k = 0; k < p->ranks && k < 16; k++) printf(" %d", ranks[k]);
  printf("%s\n", p->ranks > 16 ? " ..." : "");
}

/* Both runs do the same arithmetic, so that their results must be identical. */
static int compare(const problem *p, const run *a, const run *b) {
  size_t bytes = (size_t)redist_layout_local_size(&p->before, p->rank) * sizeof(double);
  int same = everywhere(memcmp(a->result, b->result, bytes) == 0);
  if (p->rank == 0)
    printf("  the solver, %lld steps on either, unchanged: %s\n", (long long)p->steps,
           same ? "the same solution" : "DIFFERENT");
  return !same;
}

/* Not symmetric, so that misplaced rows are noticed. */
static void fill(const problem *p, double *matrix) {
  for (int64_t i = 0; i < redist_axis_count(&p->axis, p->rank); i++)
    for (int64_t j = 0; j < p->n; j++)
      matrix[i * p->n + j] = (double)(redist_axis_global(&p->axis, p->rank, i) * p->n + j);
}

static int compare_numberings(const problem *p, double *matrix, int *ranks) {
  run current = {.name = "current ranks"}, relabelled = {.name = "relabelled"};
  int code, status;
  current.rows = redist_layout_2d(redist_balanced(p->n, p->ranks), redist_whole(p->n));
  current.rows = redist_with_halo(current.rows, 0, 1, 1);
  code = redist_relabel(&p->before, &current.rows, (int)p->node_ranks,
                        ranks); /* the same on every rank */
  if (!everywhere(code == REDIST_OK)) return fail(p, "no relabelling", redist_strerror(code));
  relabelled.rows = redist_on_ranks(current.rows, ranks);

  fill(p, matrix);
  status = go(p, &current, matrix);
  if (status == 0) status = go(p, &relabelled, matrix);
  if (status == 0 && p->rank == 0)
    printf(
        "%lld x %lld doubles on %d rank%s, from blocks of %lld rows, the first on rank %lld, to one block each\n",
        (long long)p->n, (long long)p->n, p->ranks, p->ranks > 1 ? "s" : "", (long long)p->block,
        (long long)p->first);
  if (status == 0) status = report(p, &current);
  if (status == 0) status = report(p, &relabelled);
  if (status == 0) {
    report_ranks(p, ranks);
    status = compare(p, &current, &relabelled);
  }
  finish(&current);
  finish(&relabelled);
  return status;
}

/* ---- the command line ---- */

static int start(problem *p) {
  double *matrix;
  int *ranks = malloc((size_t)p->ranks * sizeof *ranks), status;
  if (p->block == 0) /* some ranks get two blocks: the fewer, the larger the gain */
    p->block = (4 * p->n + 5 * p->ranks - 1) / (5 * p->ranks);
  p->first %= p->ranks;
  p->axis = redist_starting_at(redist_block_cyclic(p->n, p->block, p->ranks), (int)p->first);
  p->before = redist_layout_2d(p->axis, redist_whole(p->n));
  matrix = zeros(p, &p->before);
  if (p->n < p->ranks)
    status = fail(p, "there must be at least as many rows as ranks", "");
  else if (!everywhere(matrix && ranks))
    status = fail(p, "not enough memory", "");
  else
    status = compare_numberings(p, matrix, ranks);
  free(matrix);
  free(ranks);
  return status;
}

int main(int argc, char **argv) {
  problem p = {.n = 2000, .first = 1, .steps = 10};
  const option table[] = {
      {.name = "--n",
       .argument = "N",
       .integer = &p.n,
       .least = 1,
       .most = 30000,
       .help = "rows and columns (default 2000)"},
      {.name = "--block",
       .argument = "B",
       .integer = &p.block,
       .least = 0,
       .most = 30000,
       .help = "rows per block before (default: four fifths of an even share)"},
      {.name = "--first",
       .argument = "R",
       .integer = &p.first,
       .least = 0,
       .most = INT_MAX,
       .help = "rank that has the first block, modulo the ranks (default 1)"},
      {.name = "--steps",
       .argument = "K",
       .integer = &p.steps,
       .least = 0,
       .most = 1000000,
       .help = "of the solver (default 10)"},
      {.name = "--node-ranks",
       .argument = "R",
       .integer = &p.node_ranks,
       .least = 0,
       .most = INT_MAX,
       .help = "ranks of a node: keeps data on its node first (default: every rank is one)"},
      {.name = NULL}};
  int status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  status = options_start(
      table, argc, argv, p.rank, "relabel",
      "Teaches redist_relabel: renumbering the destination's processes so that more data stays where it is, and a\n"
      "solver that asks the layout for its neighbours and so runs unchanged on any numbering.");
  if (status < 0) status = start(&p);
  MPI_Finalize();
  return status;
}
