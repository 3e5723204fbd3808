/* redist tests: the part of MPI that plans in shared memory need, for ranks that are threads, or
   coroutines, of one process. Include it in one file, before redist_plan.h. MIT licence, see
   LICENSE. */
#ifndef THREADS_MPI_H
#define THREADS_MPI_H

#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CREW = 4, CREW_WORDS = 64, CREW_LETTER = 128 };

#ifndef CREW_POINT /* where another rank may run */
#define CREW_POINT() ((void)0)
#endif

static int crew_size;
static int crew_rank(void);     /* of the calling thread or coroutine */
static void crew_barrier(void); /* waits for all ranks */

/* What the ranks show each other between two barriers. */
static int64_t crew_word[CREW][CREW_WORDS];
static const void *crew_data[CREW];

/* ---- communicators: there is one ---- */

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
  (void)comm;
  *rank = crew_rank();
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm comm, int *size) {
  (void)comm;
  *size = crew_size;
  return MPI_SUCCESS;
}
int MPI_Comm_test_inter(MPI_Comm comm, int *flag) {
  (void)comm;
  *flag = 0;
  return MPI_SUCCESS;
}
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  (void)comm;
  (void)handler;
  return MPI_SUCCESS;
}
int MPI_Comm_free(MPI_Comm *comm) {
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  *made = comm;
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result) {
  *result = a == b ? MPI_IDENT : MPI_UNEQUAL;
  return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found) {
  (void)comm;
  (void)key;
  (void)value;
  *found = 0;
  return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group) {
  (void)comm;
  *group = MPI_GROUP_EMPTY;
  return MPI_SUCCESS;
}
int MPI_Group_free(MPI_Group *group) {
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group a, int n, const int *ranks, MPI_Group b, int *translated) {
  (void)a;
  (void)b;
  memcpy(translated, ranks, (size_t)n * sizeof *ranks);
  return MPI_SUCCESS;
}

int MPI_Get_processor_name(char *name, int *length) {
  *name = 0;
  *length = 0;
  return MPI_SUCCESS;
}

/* ---- collectives, complete when they return ---- */

int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  int64_t *result = all;
  int k, r;
  (void)type;
  (void)comm;
  CREW_POINT();
  memcpy(crew_word[crew_rank()], mine == MPI_IN_PLACE ? all : mine, (size_t)n * sizeof *result);
  crew_barrier();
  memcpy(result, crew_word[0], (size_t)n * sizeof *result);
  for (r = 1; r < crew_size; r++)
    for (k = 0; k < n; k++) {
      const int64_t word = crew_word[r][k];
      result[k] = op == MPI_SUM                           ? result[k] + word
                  : (word > result[k]) == (op == MPI_MAX) ? word
                                                          : result[k];
    }
  crew_barrier();
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int all_n,
                   MPI_Datatype all_type, MPI_Comm comm, MPI_Request *request) {
  const size_t bytes = (size_t)n * sizeof(int64_t);
  int r;
  (void)type;
  (void)all_n;
  (void)all_type;
  (void)comm;
  CREW_POINT();
  memcpy(crew_word[crew_rank()], mine, bytes);
  crew_barrier();
  for (r = 0; r < crew_size; r++) memcpy((char *)all + (size_t)r * bytes, crew_word[r], bytes);
  crew_barrier();
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request) {
  (void)type;
  (void)comm;
  crew_data[crew_rank()] = data;
  crew_barrier();
  if (crew_rank() != root) memcpy(data, crew_data[root], (size_t)n);
  crew_barrier();
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

/* ---- messages: one at a time from a rank to another, copied when it is sent ---- */

static struct {
  char text[CREW_LETTER], *into; /* into: the receive buffer, if posted */
  int bytes;                     /* 0: no message is in flight */
} crew_letter[CREW][CREW];

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  (void)type;
  (void)tag;
  (void)comm;
  CREW_POINT();
  assert(n > 0 && n <= CREW_LETTER &&
         __atomic_load_n(&crew_letter[crew_rank()][to].bytes, __ATOMIC_ACQUIRE) == 0);
  memcpy(crew_letter[crew_rank()][to].text, data, (size_t)n);
  __atomic_store_n(&crew_letter[crew_rank()][to].bytes, n, __ATOMIC_RELEASE);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
  (void)n;
  (void)type;
  (void)tag;
  (void)comm;
  CREW_POINT();
  crew_letter[from][crew_rank()].into = data;
  *request = (MPI_Request)(intptr_t)(from + 1);
  return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  const int from = *request == MPI_REQUEST_NULL ? -1 : (int)(intptr_t)*request - 1;
  const int bytes =
      from < 0 ? 0 : __atomic_load_n(&crew_letter[from][crew_rank()].bytes, __ATOMIC_ACQUIRE);
  (void)status;
  *done = from < 0 || bytes > 0;
  if (!*done) return MPI_SUCCESS;
  if (from >= 0) {
    memcpy(crew_letter[from][crew_rank()].into, crew_letter[from][crew_rank()].text, (size_t)bytes);
    __atomic_store_n(&crew_letter[from][crew_rank()].bytes, 0, __ATOMIC_RELEASE);
  }
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Testsome(int n, MPI_Request *request, int *done, int *index, MPI_Status *status) {
  (void)n;
  (void)request;
  (void)index;
  (void)status;
  *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  (void)source;
  (void)tag;
  (void)comm;
  (void)status;
  *flag = 0;
  return MPI_SUCCESS;
}

/* Time passes quickly, on one clock of all threads: nobody waits long for a rank that does not answer. */
double MPI_Wtime(void) {
  static long now;
  return 1e-3 * (double)__atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
}

/* ---- datatypes: bytes and doubles ---- */

int MPI_Type_size(MPI_Datatype type, int *size) {
  *size = type == MPI_BYTE ? 1 : (int)sizeof(double);
  return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent) {
  *lower = 0;
  *extent = type == MPI_BYTE ? 1 : (MPI_Aint)sizeof(double);
  return MPI_SUCCESS;
}

int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent) {
  return MPI_Type_get_extent(type, lower, extent);
}

#endif
