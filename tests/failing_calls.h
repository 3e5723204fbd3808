/* redist tests: wrappers of every MPI function that redist_plan.h calls, which count calls and fail
   on request. A failing call does nothing; but a call that other ranks wait for is executed, and
   then reported as failed. MIT licence, see LICENSE. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* X(name, spreads). spreads: a failure on one rank leaves ranks that agree or exchange in different
   states, which no protocol can prevent. So once such a call fails on one rank, every later MPI
   call fails on all ranks. */
/* clang-format off */
#define FAILING_CALLS(X)                                                                          \
    X(Comm_compare, 0) X(Comm_rank, 0) X(Comm_size, 0) X(Comm_test_inter, 0)                      \
    X(Comm_set_errhandler, 0) X(Comm_get_attr, 0) X(Comm_group, 0) X(Group_translate_ranks, 0)    \
    X(Get_processor_name, 0) X(Query_thread, 0) X(Type_size, 0) X(Type_get_extent, 0)             \
    X(Type_get_true_extent, 0) X(Type_commit, 0) X(Type_dup, 0) X(Type_contiguous, 0)             \
    X(Type_create_hvector, 0) X(Type_create_hindexed_block, 0) X(Type_create_struct, 0)           \
    X(Type_create_resized, 0) X(Send_init, 0) X(Recv_init, 0) X(Alltoallv_init, 0)                \
    X(Alltoallw_init, 0) X(Comm_idup, 0) X(Comm_free, 0) X(Group_free, 0) X(Type_free, 0)         \
    X(Request_free, 0) X(Cancel, 0) X(Request_get_status, 0) X(Iallreduce, 1) X(Ibcast, 1)        \
    X(Test, 1) X(Testsome, 1) X(Iprobe, 1) X(Start, 1) X(Startall, 1) X(Isend, 1) X(Irecv, 1)     \
    X(Ialltoallv, 1) X(Ialltoallw, 1) X(Reduce_local, 0) X(Iallgather, 1) X(Op_commutative, 0)    \
    X(Alltoallv, 1)
/* clang-format on */

#define FAILING_NUMBER(name, spreads) CALL_##name,
#define FAILING_NAME(name, spreads) #name,
#define FAILING_SPREADS(name, spreads) spreads,
enum { FAILING_CALLS(FAILING_NUMBER) CALLS };
static const char *const call_name[] = {FAILING_CALLS(FAILING_NAME) "none"};
static const int call_spreads[] = {FAILING_CALLS(FAILING_SPREADS) 0};

/* Objects of a kind that are created and not freed. */
enum { COMMUNICATORS, TYPES, GROUPS, PREPARED, KINDS };
static int live[KINDS];

enum { FINE, FAILS, IS_BROKEN, MOST_KEPT = 4096 };
static struct {
  /* the function that fails (CALLS: none), and at which of its calls, on this rank */
  int call, at, spreads;
  int watched, broken, hit;
  int counts[CALLS];
  int trial; /* its number: its messages have the tags 2 trial and 2 trial + 1 */
  MPI_Comm telling;
} injected;
static MPI_Comm hidden[MOST_KEPT];
static MPI_Request prepared[MOST_KEPT];
static int hidden_n, prepared_n;

/* Whether a failure has spread to this rank. */
static int is_broken(void) {
  int heard = 0;
  if (injected.spreads && !injected.broken)
    PMPI_Iprobe(MPI_ANY_SOURCE, 2 * injected.trial, injected.telling, &heard, MPI_STATUS_IGNORE);
  injected.broken |= heard;
  return injected.broken;
}

static int fails(int call) {
  if (!injected.watched) return FINE;
  if (injected.counts[call]++ == injected.at && call == injected.call) {
    injected.hit = 1;
    return FAILS;
  }
  return is_broken() ? IS_BROKEN : FINE;
}

static void tell(int tag) {
  int rank, size, r;
  PMPI_Comm_rank(injected.telling, &rank);
  PMPI_Comm_size(injected.telling, &size);
  for (r = 0; r < size; r++)
    if (r != rank) PMPI_Send(NULL, 0, MPI_BYTE, r, tag, injected.telling);
}

/* If the failure spreads, MPI fails from here on, on this rank and then on the others. */
static int failed(void) {
  if (injected.spreads && injected.hit && !injected.broken) tell(2 * injected.trial);
  injected.broken |= injected.spreads && injected.hit;
  return MPI_ERR_OTHER;
}

static void complete(MPI_Request *request) {
  int done = 0;
  while (PMPI_Test(request, &done, MPI_STATUS_IGNORE), !done) sched_yield();
}

/* ---- local calls, and those that begin or prepare something ---- */

#define FAILING_LOCAL(name, parameters, values) \
  int MPI_##name parameters { return fails(CALL_##name) ? failed() : PMPI_##name values; }

/* It works where MPI is broken, since who calls it while combining cannot report an error. */
#define FAILING_ALONE(name, parameters, values) \
  int MPI_##name parameters { return fails(CALL_##name) == FAILS ? failed() : PMPI_##name values; }

#define FAILING_MAKES(name, kind, parameters, values) \
  int MPI_##name parameters {                         \
    if (fails(CALL_##name)) return failed();          \
    live[kind]++;                                     \
    return PMPI_##name values;                        \
  }

#define FAILING_PREPARES(name, together, parameters, values)                  \
  int MPI_##name parameters {                                                 \
    const int state = fails(CALL_##name);                                     \
    int code;                                                                 \
    if (state == IS_BROKEN || (state == FAILS && !together)) return failed(); \
    code = PMPI_##name values;                                                \
    if (state == FAILS) {                                                     \
      PMPI_Request_free(request);                                             \
      return failed();                                                        \
    }                                                                         \
    live[PREPARED]++;                                                         \
    prepared[prepared_n++] = *request;                                        \
    return code;                                                              \
  }

FAILING_LOCAL(Comm_compare, (MPI_Comm a, MPI_Comm b, int *result), (a, b, result))
FAILING_LOCAL(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
FAILING_LOCAL(Comm_size, (MPI_Comm comm, int *size), (comm, size))
FAILING_LOCAL(Comm_test_inter, (MPI_Comm comm, int *flag), (comm, flag))
FAILING_LOCAL(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
FAILING_LOCAL(Comm_get_attr, (MPI_Comm comm, int key, void *value, int *flag),
              (comm, key, value, flag))
FAILING_LOCAL(Group_translate_ranks, (MPI_Group a, int n, const int *from, MPI_Group b, int *to),
              (a, n, from, b, to))
FAILING_LOCAL(Query_thread, (int *level), (level))
FAILING_LOCAL(Op_commutative, (MPI_Op op, int *commutes), (op, commutes))
FAILING_ALONE(Type_size, (MPI_Datatype type, int *size), (type, size))
FAILING_LOCAL(Type_get_extent, (MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent),
              (type, lower, extent))
FAILING_LOCAL(Type_get_true_extent, (MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent),
              (type, lower, extent))
FAILING_LOCAL(Type_commit, (MPI_Datatype * type), (type))
FAILING_LOCAL(Testsome, (int n, MPI_Request *request, int *done, int *index, MPI_Status *status),
              (n, request, done, index, status))
FAILING_LOCAL(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
              (from, tag, comm, flag, status))
FAILING_LOCAL(Start, (MPI_Request * request), (request))
FAILING_LOCAL(Startall, (int n, MPI_Request *request), (n, request))
FAILING_LOCAL(Isend,
              (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request),
              (data, n, type, to, tag, comm, request))
FAILING_LOCAL(Irecv,
              (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request *request),
              (data, n, type, from, tag, comm, request))
FAILING_ALONE(Reduce_local, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op),
              (from, to, n, type, op))

static int machine_ranks; /* of each emulated machine; 0: one machine */

int MPI_Get_processor_name(char *name, int *length) {
  int rank;
  if (fails(CALL_Get_processor_name)) return failed();
  if (machine_ranks == 0) return PMPI_Get_processor_name(name, length);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "machine %d", rank / machine_ranks);
  return MPI_SUCCESS;
}

FAILING_MAKES(Comm_group, GROUPS, (MPI_Comm comm, MPI_Group *made), (comm, made))
FAILING_MAKES(Type_dup, TYPES, (MPI_Datatype type, MPI_Datatype *made), (type, made))
FAILING_MAKES(Type_contiguous, TYPES, (int n, MPI_Datatype type, MPI_Datatype *made),
              (n, type, made))
FAILING_MAKES(Type_create_hvector, TYPES,
              (int n, int block, MPI_Aint stride, MPI_Datatype type, MPI_Datatype *made),
              (n, block, stride, type, made))
FAILING_MAKES(Type_create_hindexed_block, TYPES,
              (int n, int block, const MPI_Aint *at, MPI_Datatype type, MPI_Datatype *made),
              (n, block, at, type, made))
FAILING_MAKES(Type_create_struct, TYPES,
              (int n, const int *blocks, const MPI_Aint *at, const MPI_Datatype *type,
               MPI_Datatype *made),
              (n, blocks, at, type, made))
FAILING_MAKES(Type_create_resized, TYPES,
              (MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *made),
              (type, lower, extent, made))

FAILING_PREPARES(Send_init, 0,
                 (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request),
                 (data, n, type, to, tag, comm, request))
FAILING_PREPARES(Recv_init, 0,
                 (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request),
                 (data, n, type, from, tag, comm, request))

#define FAILING_V                                                                            \
  const void *from, const int *fn, const int *fat, MPI_Datatype ft, void *to, const int *tn, \
      const int *tat, MPI_Datatype tt, MPI_Comm comm
#define FAILING_W                                                                    \
  const void *from, const int *fn, const int *fat, const MPI_Datatype *ft, void *to, \
      const int *tn, const int *tat, const MPI_Datatype *tt, MPI_Comm comm
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
FAILING_PREPARES(Alltoallv_init, 1, (FAILING_V, MPI_Info info, MPI_Request *request),
                 (from, fn, fat, ft, to, tn, tat, tt, comm, info, request))
FAILING_PREPARES(Alltoallw_init, 1, (FAILING_W, MPI_Info info, MPI_Request *request),
                 (from, fn, fat, ft, to, tn, tat, tt, comm, info, request))
#endif
FAILING_LOCAL(Ialltoallv, (FAILING_V, MPI_Request *request),
              (from, fn, fat, ft, to, tn, tat, tt, comm, request))
FAILING_LOCAL(Ialltoallw, (FAILING_W, MPI_Request *request),
              (from, fn, fat, ft, to, tn, tat, tt, comm, request))

/* ---- collective calls: the others wait for this rank ---- */

#define FAILING_TOGETHER(name, parameters, values) \
  int MPI_##name parameters {                      \
    const int state = fails(CALL_##name);          \
    if (state == IS_BROKEN) return failed();       \
    PMPI_##name values;                            \
    if (state == FINE) return MPI_SUCCESS;         \
    complete(request);                             \
    return failed();                               \
  }

FAILING_TOGETHER(Iallreduce,
                 (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  MPI_Request *request),
                 (from, to, n, type, op, comm, request))
FAILING_TOGETHER(Ibcast,
                 (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm,
                  MPI_Request *request),
                 (data, n, type, root, comm, request))
FAILING_TOGETHER(Iallgather,
                 (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype kind,
                  MPI_Comm comm, MPI_Request *request),
                 (from, n, type, to, m, kind, comm, request))

int MPI_Alltoallv(FAILING_V) {
  MPI_Request request;
  int done = 0;
  if (fails(CALL_Alltoallv)) return failed();
  PMPI_Ialltoallv(from, fn, fat, ft, to, tn, tat, tt, comm, &request);
  while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) {
    if (injected.watched && is_broken()) return failed();
    sched_yield();
  }
  return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  const int state = fails(CALL_Test);
  if (state == FINE) return PMPI_Test(request, done, status);
  if (state == FAILS) complete(request);
  return failed();
}

/* The object that was created stays hidden; the caller gets a handle that is neither null nor
   usable. */
static int hide(MPI_Comm made, MPI_Comm *given) {
  hidden[hidden_n++] = made;
  memset(given, 0x55, sizeof *given);
  return failed();
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  const int state = fails(CALL_Comm_idup);
  if (state == IS_BROKEN) return failed();
  PMPI_Comm_idup(comm, made, request);
  if (state == FAILS) {
    complete(request);
    return hide(*made, made);
  }
  live[COMMUNICATORS]++;
  return MPI_SUCCESS;
}

/* ---- calls that free ---- */

#define FAILING_FREES(name, kind, parameters, values)                \
  int MPI_##name parameters {                                        \
    const int state = fails(CALL_##name), code = PMPI_##name values; \
    live[kind]--;                                                    \
    return state == FAILS ? failed() : code;                         \
  }

FAILING_FREES(Group_free, GROUPS, (MPI_Group * group), (group))
FAILING_FREES(Type_free, TYPES, (MPI_Datatype * type), (type))

/* Messages in flight must not match those of a later communicator. */
int MPI_Comm_free(MPI_Comm *comm) {
  const int state = fails(CALL_Comm_free);
  live[COMMUNICATORS]--;
  if (!injected.broken) PMPI_Comm_free(comm);
  *comm = MPI_COMM_NULL;
  return state == FAILS ? failed() : MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request) {
  const int state = fails(CALL_Request_free);
  int k = prepared_n - 1, idle = 1, code;
  while (k >= 0 && prepared[k] != *request) k--;
  if (k >= 0) prepared[k] = prepared[--prepared_n];
  live[PREPARED] -= k >= 0;
  if (injected.broken) /* MPICH would continue pending operations, and crash in freed memory */
    PMPI_Request_get_status(*request, &idle, MPI_STATUS_IGNORE);
  if (!idle) *request = MPI_REQUEST_NULL;
  code = idle ? PMPI_Request_free(request) : MPI_SUCCESS;
  return state == FAILS ? failed() : code;
}

int MPI_Cancel(MPI_Request *request) {
  const int state = fails(CALL_Cancel), code = PMPI_Cancel(request);
  return state == FAILS ? failed() : code;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  const int state = fails(CALL_Request_get_status),
            code = PMPI_Request_get_status(request, flag, status);
  return state == FAILS ? failed() : code;
}

/* Frees what redist could not free. Collective. */
static void free_hidden(void) {
  while (hidden_n > 0) PMPI_Comm_free(&hidden[--hidden_n]);
}

#endif
