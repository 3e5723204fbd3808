/* The methods of redist, case by case, on ranks that share one exact clock: on simulated clusters
   (bench/simulate.sh) and on nodes emulated on one machine (bench/cluster.sh). Works with any MPI.
   MIT licence, see LICENSE.

   usage: simulate LABEL BYTES_PER_SECOND RANKS_PER_NODE METHODS EXECUTIONS <cases >table.csv

   A line of cases: name, bytes of a message (a label), bytes of an element, layouts from and to as
   redist_layout_parse reads them, and `relabelled` or `-`, between tabs. METHODS: letters of
   `methods` below. A row of the table is the median of so many executions, from the common start to
   the end of the last rank. On real networks methods run alternately, and each timed execution
   follows an untimed one, because the previous method's effect on TCP's state slows the next one
   down. `wire` is the shortest time that the links of the nodes allow, `model` what redist_cost_of
   predicts with the costs that redist_calibrate found. */
#include <stdint.h>

static int64_t flight_bytes;
#define REDIST_FLIGHT_BYTES flight_bytes
#include "simulated.h"

#if defined SMPI_H
enum { TOGETHER = 1 }; /* contestants that alternate: times are exact, memory is scarce */
#else
enum { TOGETHER = 99 };
#endif

enum { MOST_FLIGHT = 65536 }; /* the header's default */
enum {
  ONE_BY_ONE = 998,
  MEASURED,
  BY_HAND,
  HAND_ALLTOALLV = BY_HAND,
  HAND_ALLTOALLW,
  HAND_PAIRWISE,
  DUPLICATE,
  CREATE /* + a method: its plan is made and freed in place of executions */
};

static const struct {
  char letter;
  int method;
  const char *name;
} methods[] = {{'a', REDIST_AUTO, "auto"},
               {'A', MEASURED, "measured auto"},
               {'v', REDIST_ALLTOALLV, "alltoallv"},
               {'w', REDIST_ALLTOALLW, "alltoallw"},
               {'p', REDIST_POINT_TO_POINT, "point to point"},
               {'s', REDIST_SCHEDULED, "scheduled"},
               {'o', ONE_BY_ONE, "one by one"},
               {'S', REDIST_SHARED, "shared"},
               {'h', HAND_PAIRWISE, "pairwise"},
               {'m', REDIST_MULTIPHASE, "multiphase"},
               {'n', REDIST_NODES, "nodes"},
               {'V', HAND_ALLTOALLV, "MPI_Alltoallv"},
               {'W', HAND_ALLTOALLW, "MPI_Alltoallw"},
               {'d', DUPLICATE, "MPI_Comm_dup"},
               {'c', CREATE + REDIST_POINT_TO_POINT, "creating messages"},
               {'C', CREATE + REDIST_NODES, "creating nodes"}};
enum { METHODS = sizeof methods / sizeof methods[0], LINE = 1000, MOST_EXECUTIONS = 100 };

typedef struct {
  const char *label, *methods;
  double bandwidth;
  int rank, ranks, per_node, executions;
  redist_cost cost;
} bench;

typedef struct {
  char line[LINE], *name, *label;
  int64_t bytes; /* of an element */
  redist_layout from, to;
  double wire;
} problem;

/* ---- what the links allow ---- */

/* Bytes that this rank sends to rank k, or receives from it. */
static int64_t between(const bench *b, const problem *p, int own, int k) {
  int64_t n;
  redist_volume(&p->from, own == 0 ? b->rank : k, &p->to, own == 0 ? k : b->rank, &n);
  return n * p->bytes;
}

static double most(const double *values, int n) {
  double largest = 0;
  for (int k = 0; k < n; k++) largest = values[k] > largest ? values[k] : largest;
  return largest;
}

/* The busiest direction of the nodes' links. */
static double wire_time(const bench *b, const problem *p) {
  const int node = b->rank / b->per_node;
  double *load = calloc(2 * (size_t)b->ranks, sizeof *load), busiest;
  for (int k = 0; k < b->ranks; k++)
    if (k / b->per_node != node) {
      load[node] += (double)between(b, p, 0, k);
      load[b->ranks + node] += (double)between(b, p, 1, k);
    }
  MPI_Allreduce(MPI_IN_PLACE, load, 2 * b->ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  busiest = most(load, 2 * b->ranks) / b->bandwidth;
  free(load);
  return busiest;
}

/* ---- one contestant ---- */

typedef struct {
  const problem *problem;
  redist_plan *plan;
  int takes_part, *counts[2], *offsets[2];
  MPI_Datatype *types;
  void *array[2];
} contestant;

/* The tables of a collective that moves the same bytes, packed. */
static void prepare_by_hand(const bench *b, const problem *p, contestant *c) {
  c->types = malloc((size_t)b->ranks * sizeof *c->types);
  for (int own = 0; own < 2; own++) {
    int64_t at = 0;
    c->counts[own] = calloc((size_t)b->ranks, sizeof(int));
    c->offsets[own] = calloc((size_t)b->ranks, sizeof(int));
    for (int k = 0; k < b->ranks; k++) {
      c->types[k] = MPI_BYTE;
      c->counts[own][k] = (int)between(b, p, own, k);
      c->offsets[own][k] = (int)at;
      at += c->counts[own][k];
    }
  }
}

static void finish(contestant *c) {
  for (int own = 0; own < 2; own++) {
    free(c->counts[own]);
    free(c->offsets[own]);
    array_free(c->array[own]);
  }
  free(c->types);
  redist_plan_free(&c->plan);
}

static int create(const problem *p, int method, redist_plan **plan) {
  MPI_Datatype element;
  redist_options options;
  int code;
  memset(&options, 0, sizeof options);
  options.method = method < ONE_BY_ONE    ? (redist_method)method
                   : method == ONE_BY_ONE ? REDIST_SCHEDULED
                                          : REDIST_AUTO;
  flight_bytes = method == ONE_BY_ONE ? 0 : MOST_FLIGHT;
  options.effort = method == MEASURED ? REDIST_MEASURE : REDIST_ESTIMATE;
  MPI_Type_contiguous((int)p->bytes, MPI_BYTE, &element);
  code = redist_plan_create(MPI_COMM_WORLD, &p->from, &p->to, element, &options, plan);
  MPI_Type_free(&element);
  return code;
}

static int prepare(const bench *b, const problem *p, int method, contestant *c) {
  c->problem = p;
  c->array[0] = array_new((size_t)(redist_layout_local_size(&p->from, b->rank) * p->bytes));
  c->array[1] = array_new((size_t)(redist_layout_local_size(&p->to, b->rank) * p->bytes));
  if (method < BY_HAND) return create(p, method, &c->plan);
  prepare_by_hand(b, p, c);
  return REDIST_OK;
}

/* One whole message each way at a time. */
static void pairwise(const contestant *c) {
  int rank, ranks, k;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (k = 0; k < ranks; k++) {
    const int to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
    MPI_Request request[2];
    MPI_Irecv((char *)c->array[1] + c->offsets[1][from], c->counts[1][from], MPI_BYTE, from, 0,
              MPI_COMM_WORLD, &request[0]);
    MPI_Isend((char *)c->array[0] + c->offsets[0][to], c->counts[0][to], MPI_BYTE, to, 0,
              MPI_COMM_WORLD, &request[1]);
    redist_priv_await(MPI_SUCCESS, &request[0]);
    redist_priv_await(MPI_SUCCESS, &request[1]);
  }
}

static void duplicate(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
}

static void create_and_free(int method, const problem *p) {
  redist_plan *plan;
  if (create(p, method, &plan) != REDIST_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  redist_plan_free(&plan);
}

static void execute(int method, const contestant *c) {
  if (method >= CREATE)
    create_and_free(method - CREATE, c->problem);
  else if (method == DUPLICATE)
    duplicate();
  else if (method == HAND_ALLTOALLV)
    MPI_Alltoallv(c->array[0], c->counts[0], c->offsets[0], MPI_BYTE, c->array[1], c->counts[1],
                  c->offsets[1], MPI_BYTE, MPI_COMM_WORLD);
  else if (method == HAND_ALLTOALLW)
    MPI_Alltoallw(c->array[0], c->counts[0], c->offsets[0], c->types, c->array[1], c->counts[1],
                  c->offsets[1], c->types, MPI_COMM_WORLD);
  else if (method == HAND_PAIRWISE)
    pairwise(c);
  else
    redist_execute(c->plan, c->array[0], c->array[1]);
}

/* All ranks begin at the same time of the common clock. */
static double time_one(int method, const contestant *c) {
  const double begin = latest(MPI_Wtime()) + 1e-3;
  wait_until(begin);
  execute(method, c);
  return latest(MPI_Wtime()) - begin;
}

/* ---- the table ---- */

/* The remark on a plan: the method chosen, or the number of phases. */
static const char *remark(const contestant *c, char *text, size_t size) {
  redist_stats stats;
  text[0] = 0;
  if (c->plan == NULL || redist_plan_stats(c->plan, &stats) != REDIST_OK) return text;
  if (stats.method == REDIST_MULTIPHASE || stats.method == REDIST_SCHEDULED)
    snprintf(text, size, stats.method == REDIST_MULTIPHASE ? "%d phases" : "%d steps",
             stats.method == REDIST_MULTIPHASE ? stats.phases : stats.steps);
  for (int k = 0; k < METHODS && text[0] == 0; k++)
    if (methods[k].method == (int)stats.method) snprintf(text, size, "%s", methods[k].name);
  return text;
}

static int in_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const bench *b, double *seconds) {
  qsort(seconds, (size_t)b->executions, sizeof *seconds, in_order);
  return seconds[(b->executions - 1) / 2];
}

/* Times `n` methods, which run alternately. */
static void compare(const bench *b, const problem *p, int first, int n) {
  static double seconds[METHODS][MOST_EXECUTIONS];
  contestant c[METHODS];
  char text[64];
  double model;
  redist_cost_of(&p->from, &p->to, (size_t)p->bytes, &b->cost, &model);
  for (int k = 0; k < n; k++) {
    memset(&c[k], 0, sizeof c[k]);
    c[k].takes_part = strchr(b->methods, methods[first + k].letter) != NULL &&
                      prepare(b, p, methods[first + k].method, &c[k]) == REDIST_OK;
  }
  for (int round = 0; round < b->executions; round++)
    for (int k = 0; k < n; k++)
      if (c[k].takes_part) {
        if (TOGETHER > 1) time_one(methods[first + k].method, &c[k]);
        seconds[k][round] = time_one(methods[first + k].method, &c[k]);
      }
  for (int k = 0; k < n; k++) {
    if (b->rank == 0 && c[k].takes_part)
      printf("%s,%d,%d,%s,%s,%s,%.9g,%.9g,%.9g,%s\n", b->label, b->per_node, b->ranks, p->name,
             p->label, methods[first + k].name, median(b, seconds[k]), p->wire, model,
             remark(&c[k], text, sizeof text));
    finish(&c[k]);
  }
  fflush(stdout);
}

/* Reads a line of cases; 0 at their end. */
static int read_problem(const bench *b, problem *p, int *places) {
  char *field[6];
  int k;
  if (b->rank == 0 && fgets(p->line, LINE, stdin) == NULL) p->line[0] = 0;
  MPI_Bcast(p->line, LINE, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (k = 0, field[0] = strtok(p->line, "\t\n"); k < 5 && field[k] != NULL; k++)
    field[k + 1] = strtok(NULL, "\t\n");
  if (k < 5 || field[5] == NULL) return 0;
  p->name = field[0];
  p->label = field[1];
  p->bytes = atoll(field[2]);
  if (redist_layout_parse(field[3], &p->from, NULL, 0, NULL, 0) != REDIST_OK ||
      redist_layout_parse(field[4], &p->to, NULL, 0, NULL, 0) != REDIST_OK ||
      redist_layout_places(&p->to) > b->ranks) {
    fprintf(stderr, "simulate: %s: a layout does not parse or fit\n", p->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (strcmp(field[5], "relabelled") == 0 &&
      redist_relabel(&p->from, &p->to, 0, places) == REDIST_OK)
    p->to = redist_on_ranks(p->to, places);
  return 1;
}

int main(int argc, char **argv) {
  bench b;
  problem p;
  int *places;
  MPI_Init(&argc, &argv);
  if (argc < 6) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(&b, 0, sizeof b);
  b.label = argv[1];
  b.bandwidth = atof(argv[2]);
  b.per_node = atoi(argv[3]);
  b.methods = argv[4];
  b.executions = atoi(argv[5]) < MOST_EXECUTIONS ? atoi(argv[5]) : MOST_EXECUTIONS;
  MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
  places = calloc((size_t)b.ranks, sizeof *places);
  redist_calibrate(MPI_COMM_WORLD, &b.cost);
  if (b.rank == 0)
    fprintf(stderr, "%s, %d ranks, %d a node: %.3g us a message, %.3g ns a byte\n", b.label,
            b.ranks, b.per_node, 1e6 * b.cost.per_message, 1e9 * b.cost.per_byte);
  while (read_problem(&b, &p, places)) {
    p.wire = wire_time(&b, &p);
    for (int k = 0; k < METHODS; k += TOGETHER)
      compare(&b, &p, k, METHODS - k < TOGETHER ? METHODS - k : TOGETHER);
  }
  free(places);
  leave();
  return 0;
}
