/* redist tests: every MPI call of creation, execution and freeing fails once, and every allocation
   of creation, on one rank after the other. Creation ends with the same code and sentence on all
   ranks, nothing hangs or leaks, and created plans work. Failures while ranks agree or exchange
   spread (failing_calls.h): there only the failing rank must report an error. MIT licence, see
   LICENSE. */
#define _XOPEN_SOURCE 600
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "failing_calls.h"

#include "failing_malloc.h"
#include "hooks.h"

#include "exchange.h"

enum { PLAN, PLAN_IN_ARENA, ARENA, CALIBRATION, FILE_TYPES };
enum { MAKE, RUN, FREE, OPERATIONS };
static const char *const operation_name[] = {"creating", "executing", "freeing"};

/* node_ranks: MACHINES_OF_1, _2: ranks are on machines of several names */
enum { MACHINES_OF_1 = -1, MACHINES_OF_2 = -2 };
enum { BLOCKS = 1, TREE, RANKS_OF_A_TREE = 4 };

typedef struct {
  const char *name;
  int kind;
  redist_method method;
  int node_ranks, arrays, fixed, in_place, measures;
  int refused; /* the system refuses shared memory */
  int sums;    /* over replicas, through blocks; or by a tree, for which 4 ranks are needed */
} way;

static const way ways[] = {
    {"shared", PLAN, REDIST_SHARED, 0, 1, 0, 0, 0, 0, 0},
    {"shared on nodes of 2", PLAN, REDIST_SHARED, 2, 1, 0, 0, 0, 0, 0},
    {"shared in place in an arena", PLAN_IN_ARENA, REDIST_SHARED, 0, 1, 0, 1, 0, 0, 0},
    {"shared in an arena, nodes of 2", PLAN_IN_ARENA, REDIST_SHARED, 2, 1, 0, 0, 0, 0, 0},
    {"alltoallv", PLAN, REDIST_ALLTOALLV, 0, 1, 0, 0, 0, 0, 0},
    {"alltoallv in an arena", PLAN_IN_ARENA, REDIST_ALLTOALLV, 0, 1, 0, 0, 0, 0, 0},
    {"alltoallw, 2 arrays", PLAN, REDIST_ALLTOALLW, 0, 2, 0, 0, 0, 0, 0},
    {"alltoallw fixed in an arena", PLAN_IN_ARENA, REDIST_ALLTOALLW, 0, 1, 1, 0, 0, 0, 0},
    {"alltoallw in place", PLAN, REDIST_ALLTOALLW, 0, 1, 0, 1, 0, 0, 0},
    {"scheduled", PLAN, REDIST_SCHEDULED, 0, 1, 0, 0, 0, 0, 0},
    {"scheduled in an arena", PLAN_IN_ARENA, REDIST_SCHEDULED, 0, 2, 0, 0, 0, 0, 0},
    {"messages fixed", PLAN, REDIST_POINT_TO_POINT, 0, 1, 1, 0, 0, 0, 0},
    {"messages in an arena", PLAN_IN_ARENA, REDIST_POINT_TO_POINT, 0, 1, 0, 1, 0, 0, 0},
    {"multiphase", PLAN, REDIST_MULTIPHASE, 1, 1, 0, 0, 0, 0, 0},
    {"multiphase in an arena", PLAN_IN_ARENA, REDIST_MULTIPHASE, 1, 1, 0, 0, 0, 0, 0},
    {"a sum through blocks", PLAN, REDIST_MULTIPHASE, 0, 1, 0, 0, 0, 0, BLOCKS},
    {"a sum through blocks, nodes of 1", PLAN, REDIST_MULTIPHASE, 1, 1, 0, 0, 0, 0, BLOCKS},
    {"a sum by a tree, nodes of 1", PLAN, REDIST_MULTIPHASE, 1, 1, 0, 0, 0, 0, TREE},
    {"a sum by a tree, nodes of 2", PLAN, REDIST_MULTIPHASE, 2, 1, 0, 0, 0, 0, TREE},
    {"nodes of 1", PLAN, REDIST_NODES, 1, 2, 0, 0, 0, 0, 0},
    {"nodes of 2, no shared memory", PLAN, REDIST_NODES, 2, 1, 0, 1, 0, 1, 0},
    {"nodes dealt out in an arena", PLAN_IN_ARENA, REDIST_NODES, DEALT_TO_2, 1, 0, 0, 0, 0, 0},
    {"automatic, nodes of 1", PLAN, REDIST_AUTO, 1, 1, 0, 0, 0, 0, 0},
    {"messages, machines of 1", PLAN, REDIST_POINT_TO_POINT, MACHINES_OF_1, 1, 0, 0, 0, 0, 0},
    {"nodes, machines of 2", PLAN, REDIST_NODES, MACHINES_OF_2, 1, 0, 0, 0, 0, 0},
    {"nodes in an arena", PLAN_IN_ARENA, REDIST_NODES, 0, 1, 0, 0, 0, 0, 0},
    {"shared in an arena, machines of 2", PLAN_IN_ARENA, REDIST_SHARED, MACHINES_OF_2, 1, 0, 0, 0,
     0, 0},
    {"measured", PLAN, REDIST_AUTO, 0, 1, 0, 0, 1, 0, 0},
    {"measured in an arena", PLAN_IN_ARENA, REDIST_AUTO, 0, 1, 0, 0, 1, 0, 0},
    {"an arena", ARENA, REDIST_AUTO, 0, 0, 0, 0, 0, 0, 0},
    {"calibrating", CALIBRATION, REDIST_AUTO, 0, 0, 0, 0, 0, 0, 0},
    {"types of a file", FILE_TYPES, REDIST_AUTO, 0, 0, 0, 0, 0, 0, 0}};

/* One case: the at-th call fails on one rank during an operation; and its outcome on this rank. */
typedef struct {
  const way *way;
  int operation, call, at, bad_rank, spreads;
  int memory; /* the at-th allocation fails in place of a call */
  MPI_Comm comm;
  exchange *e;
  redist_arena *arena;
  MPI_Datatype types[2]; /* of a file, and of memory */
  int code[OPERATIONS], hit, alike;
} trial;

/* ---- a case that hangs prints its name ---- */

static char at_work[200];

static void give_up(int signal_number) {
  static const char hangs[] = "FAILED: hangs: ";
  (void)signal_number;
  if (write(1, hangs, sizeof hangs - 1) < 0 || write(1, at_work, strlen(at_work)) < 0 ||
      write(1, "\n", 1) < 0)
    _exit(2);
  _exit(1);
}

/* ---- the operations ---- */

/* Equal replicas and a destination of zeros: the result is a replica. */
static redist_op any_of;

static void replicate(exchange *e) {
  int side;
  for (side = 0; side < 2; side++) {
    exchange_axis(&e->arrays[side].axes[0], TEST_WHOLE, e->arrays[side].axes[0].n, 1);
    exchange_axis(&e->arrays[side].axes[1], TEST_WHOLE, e->arrays[side].axes[1].n, 1);
    e->arrays[side].replicas = e->size;
    e->arrays[side].operations = 1;
    e->arrays[side].list[0].kind = TEST_REPLICATE;
  }
  exchange_describe(e);
}

/* Datatypes for blocks with head, body and tail, and memory of bytes in reverse order. */
static int make_types(trial *t) {
  const redist_axis rows = redist_block_cyclic(45, 4, t->e->size);
  const redist_layout array = redist_layout_2d(rows, redist_whole(7));
  const redist_layout view = redist_section(redist_flipped(array, 1), 0, 2, 14, 3);
  return redist_layout_types(&view, t->e->rank, MPI_CHAR, &t->types[0], &t->types[1]);
}

static int free_types(trial *t) {
  int k;
  for (k = 0; k < 2; k++)
    if (t->types[k] != MPI_DATATYPE_NULL) MPI_Type_free(&t->types[k]);
  return REDIST_OK;
}

static int create(trial *t) {
  redist_options options;
  redist_cost cost;
  struct rlimit longest;
  int code;
  memset(&options, 0, sizeof options);
  if (t->way->kind == ARENA) return redist_arena_create(t->comm, 100, &t->arena);
  if (t->way->kind == CALIBRATION) return redist_calibrate(t->comm, &cost);
  if (t->way->kind == FILE_TYPES) return make_types(t);
  options.node_ranks = t->way->node_ranks > 0 ? t->way->node_ranks : 0;
  options.effort = t->way->measures ? REDIST_MEASURE : REDIST_ESTIMATE;
  options.arena = t->arena;
  options.combine = t->way->sums ? redist_combine_op : NULL;
  options.context = &any_of;
  getrlimit(RLIMIT_FSIZE, &longest);
  longest.rlim_cur = t->way->refused ? 0 : longest.rlim_max;
  setrlimit(RLIMIT_FSIZE, &longest);
  code = exchange_create_with(t->e, &options);
  longest.rlim_cur = longest.rlim_max;
  setrlimit(RLIMIT_FSIZE, &longest);
  return code;
}

static int perform(trial *t, int operation) {
  if (operation == MAKE) return create(t);
  if (operation == FREE && t->way->kind == FILE_TYPES) return free_types(t);
  if (operation == FREE)
    return t->way->kind == ARENA ? redist_arena_free(&t->arena) : redist_plan_free(&t->e->plan);
  if (t->e->plan == NULL) return REDIST_OK;
  exchange_prepare(t->e, 1);
  if (t->way->sums) memset(t->e->held[1][0], 0, exchange_bytes(t->e, 1));
  return exchange_run(t->e);
}

/* Where the failure spreads, all later MPI calls fail. */
static void perform_watched(trial *t, int operation) {
  const int lacks = t->memory && operation == MAKE && test_rank() == t->bad_rank;
  injected.watched = operation == t->operation || injected.broken;
  injected.call = operation == t->operation && test_rank() == t->bad_rank ? t->call : CALLS;
  until_failure = lacks ? t->at : -1;
  t->code[operation] = perform(t, operation);
  injected.hit |= lacks && until_failure < 0;
  until_failure = -1;
  injected.watched = 0;
  t->hit += test_sum(injected.hit);
  injected.hit = 0;
  injected.broken = t->spreads && t->hit;
}

static void open_trial(trial *t) {
  const way *w = t->way;
  t->types[0] = t->types[1] = MPI_DATATYPE_NULL;
  machine_ranks = w->node_ranks < 0 ? -w->node_ranks : 0;
  PMPI_Comm_dup(MPI_COMM_WORLD, &t->comm);
  PMPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
  t->e = exchange_new(t->comm);
  exchange_rows(t->e, 24, 16, TEST_CYCLIC);
  if (w->sums) replicate(t->e);
  t->e->seed = w->sums != BLOCKS; /* chains of plans have several phases */
  t->e->method = w->method;
  t->e->count = w->arrays;
  t->e->many = w->arrays > 1;
  t->e->fixed = w->fixed;
  t->e->in_place = w->in_place;
  exchange_allocate(t->e);
  if (w->kind == PLAN_IN_ARENA) redist_arena_create(t->comm, 100, &t->arena);
  memset(injected.counts, 0, sizeof injected.counts);
  injected.at = t->at;
  injected.spreads = t->spreads;
  injected.trial++;
}

/* A rank whose MPI fails cannot wait for others. */
static void close_trial(trial *t) {
  injected.watched = injected.broken;
  redist_arena_free(&t->arena);
  if (!injected.broken) PMPI_Comm_free(&t->comm);
  injected.watched = injected.broken = injected.spreads = 0;
  test_sum(0);
  free_hidden();
  exchange_release(t->e);
  free(t->e);
}

/* ---- conditions ---- */

/* Every rank creates its types alone: it has both or none, and none if a call failed that creates
   them or examines the element. */
static int types_are_right(const trial *t) {
  const int makes = t->call >= CALL_Type_size && t->call <= CALL_Type_create_resized;
  const int fails_here = t->e->rank == t->bad_rank && makes && t->operation == MAKE;
  const int none = t->types[0] == MPI_DATATYPE_NULL && t->types[1] == MPI_DATATYPE_NULL;
  const int both = t->types[0] != MPI_DATATYPE_NULL && t->types[1] != MPI_DATATYPE_NULL;
  return t->code[MAKE] == REDIST_OK ? both && !(t->hit && fails_here) : none && fails_here;
}

/* All ranks have the same code, and the same sentence. */
static int ended_alike(const trial *t) {
  char first[sizeof t->e->message];
  int code = t->code[MAKE];
  memcpy(first, t->e->message, sizeof first);
  PMPI_Bcast(first, (int)sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  PMPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code == t->code[MAKE] && strcmp(first, t->e->message) == 0 &&
         (code == REDIST_OK || t->way->kind > PLAN_IN_ARENA || strlen(first) > 10);
}

/* The rank where a call failed reports it; failures to free types do not count. */
static int codes_are_right(const trial *t) {
  const int reported = t->hit && test_rank() == t->bad_rank && t->call != CALL_Type_free;
  const int created = t->code[MAKE] == REDIST_OK, executed = t->code[RUN] == REDIST_OK;
  if (t->code[FREE] != REDIST_OK) return 0;
  if (t->operation == MAKE && t->spreads) return !reported || !created;
  if (t->operation == RUN && t->spreads)
    return created && (executed ? !reported : t->code[RUN] == REDIST_ERR_MPI);
  return executed && (created || t->operation == MAKE);
}

/* Where messages failed, their communicator is not freed, because messages may be in flight. */
static int nothing_is_left(const trial *t, const int *before, int64_t blocks) {
  const int messages = t->spreads || t->call == CALL_Send_init || t->call == CALL_Recv_init;
  int kind, good = live_blocks == blocks;
  for (kind = 0; kind < KINDS; kind++)
    good &= live[kind] == before[kind] ||
            (kind == COMMUNICATORS && messages && live[kind] > before[kind]);
  return good;
}

/* Whether the call failed at all. Collective. */
static int run(trial *t) {
  const int64_t blocks = live_blocks;
  int before[KINDS], right, created, arrived;
  snprintf(at_work, sizeof at_work, "%s: %s, call %d of %s%s fails on rank %d", t->way->name,
           operation_name[t->operation], t->at, t->memory ? "malloc" : "MPI_",
           t->memory ? "" : call_name[t->call], t->bad_rank);
  memcpy(before, live, sizeof before);
  alarm(20);
  open_trial(t);
  perform_watched(t, MAKE);
  created = test_sum(t->code[MAKE] != REDIST_OK) == 0;
  right = t->spreads || (t->way->kind == FILE_TYPES ? types_are_right(t) : ended_alike(t));
  if (created) perform_watched(t, RUN);
  arrived = !created || t->code[RUN] != REDIST_OK || t->way->kind > PLAN_IN_ARENA ||
            exchange_arrived(t->e, 1);
  perform_watched(t, FREE);
  close_trial(t);
  right = right && arrived && codes_are_right(t);
  test_case_all(right, "%s: codes %d %d %d, arrived %d", at_work, t->code[MAKE], t->code[RUN],
                t->code[FREE], arrived);
  test_case_all(nothing_is_left(t, before, blocks),
                "%s: left are %d blocks, %d communicators, %d types, %d groups, %d requests",
                at_work, (int)(live_blocks - blocks), live[0] - before[0], live[1] - before[1],
                live[2] - before[2], live[3] - before[3]);
  alarm(0);
  return t->hit;
}

/* ---- all cases ---- */

enum { MEMORY = CALLS + 1 };

static int fail_once(const way *w, int operation, int call, int at, int bad_rank) {
  trial t;
  memset(&t, 0, sizeof t);
  t.memory = call == MEMORY;
  t.way = w;
  t.operation = operation;
  t.call = call;
  t.at = at;
  t.bad_rank = bad_rank;
  t.spreads = call < CALLS && (operation == RUN || (operation == MAKE && call_spreads[call]));
  return run(&t);
}

/* A frequent call fails the first times, in the middle, and the last time. Failures that spread are
   tested on two ranks only: among more, broken ranks write into freed memory, unless they only
   send messages, as sums do between nodes of one rank. Runs on more than two ranks take longer, and
   test less. A function that combines reports no error. */
static void check_call(const way *w, int operation, int call, int calls) {
  enum { FIRST = 3, MANY = 6 };
  const int spreads = operation == RUN || call_spreads[call], several = test_size() > 2;
  const int sends = w->sums && w->node_ranks == 1 && operation == RUN;
  const int step = spreads ? 2 : several ? test_size() : 1, most = several && !sends ? 1 : calls;
  int at, bad_rank;
  if (several && spreads && !sends) return;
  if (operation == RUN && (call == CALL_Type_size || call == CALL_Reduce_local)) return;
  for (at = 0; at < most && at < calls; at++)
    if (calls <= MANY || at < FIRST || at == calls / 2 || at == calls - 1)
      for (bad_rank = step == 1 ? 0 : (at + call) % step; bad_rank < test_size(); bad_rank += step)
        fail_once(w, operation, call, at, bad_rank);
}

static void check_way(const way *w) {
  int counts[CALLS], operation, call, k = 0;
  for (operation = MAKE; operation < OPERATIONS; operation++) {
    fail_once(w, operation, CALLS, 0, 0);
    PMPI_Allreduce(injected.counts, counts, CALLS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (call = 0; call < CALLS; call++) check_call(w, operation, call, counts[call]);
  }
  while (w->kind < CALIBRATION && fail_once(w, MAKE, MEMORY, k, k % test_size())) k++;
}

/* How often the ranks agree, gather and duplicate while a plan is made. */
static void count_agreements(void) {
  static const struct {
    way way;
    int agreements, gathered, duplicates;
  } costs[] = {
      {{"messages", PLAN, REDIST_POINT_TO_POINT, 0, 1, 0, 0, 0, 0, 0}, 2, 0, 1},
      {{"scheduled in an arena", PLAN_IN_ARENA, REDIST_SCHEDULED, 0, 1, 0, 0, 0, 0, 0}, 2, 0, 0},
      {{"messages, nodes of 1", PLAN, REDIST_POINT_TO_POINT, 1, 1, 0, 0, 0, 0, 0}, 2, 0, 1},
      {{"alltoallw, machines", PLAN, REDIST_ALLTOALLW, MACHINES_OF_1, 1, 0, 0, 0, 0, 0}, 3, 1, 1},
      {{"shared", PLAN, REDIST_SHARED, 0, 1, 0, 0, 0, 0, 0}, 4, 0, 1},
      {{"shared in an arena", PLAN_IN_ARENA, REDIST_SHARED, 0, 1, 0, 0, 0, 0, 0}, 3, 0, 0},
      {{"nodes of 1", PLAN, REDIST_NODES, 1, 1, 0, 0, 0, 0, 0}, 6, 0, 1}};
  int k;
  for (k = 0; k < (int)(sizeof costs / sizeof *costs); k++) {
    const int *n = injected.counts;
    fail_once(&costs[k].way, MAKE, CALLS, 0, 0);
    test_case_all(n[CALL_Iallreduce] == costs[k].agreements &&
                      n[CALL_Iallgather] == costs[k].gathered &&
                      n[CALL_Comm_idup] == costs[k].duplicates,
                  "%s: %d agreements, %d gathered, %d duplicates", costs[k].way.name,
                  n[CALL_Iallreduce], n[CALL_Iallgather], n[CALL_Comm_idup]);
  }
}

int main(int count, char **arguments) {
  int k, status;
  test_ring_bytes = 65536; /* arenas are made thousands of times */
  MPI_Init(&count, &arguments);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  PMPI_Comm_dup(MPI_COMM_WORLD, &injected.telling);
  any_of.op = MPI_BOR;
  any_of.type = MPI_UINT64_T;
  signal(SIGALRM, give_up);
  for (k = 0; k < (int)(sizeof ways / sizeof *ways); k++)
    if ((ways[k].sums == TREE) == (test_size() == RANKS_OF_A_TREE)) check_way(&ways[k]);
  if (test_size() != RANKS_OF_A_TREE) count_agreements();
  PMPI_Comm_free(&injected.telling);
  status = test_report_all("failing_calls");
#ifdef MPICH_VERSION
  /* Messages are pending whose ends were never called: UCX 1.18 aborts in MPI_Finalize then. What
     was reported must have been read, or is lost. */
  poll(NULL, 0, 300);
  MPI_Abort(MPI_COMM_WORLD, status);
#endif
  MPI_Finalize();
  return status;
}
