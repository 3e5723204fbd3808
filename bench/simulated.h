/* Ranks that share one exact clock: for programs that run on simulated clusters (bench/simulate.sh)
   and on nodes emulated on one machine (bench/cluster.sh), with any MPI. Includes redist_plan.h.
   MIT licence, see LICENSE.

   Under SMPI, computation (including packing) takes no time, and large arrays share memory: only
   times are evaluated, not contents. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined SMPI_H
#include <time.h>

/* SMPI charges for every unsuccessful test. So a test succeeds only for a request for which the
   idle rank has slept: one of the requests that it tested since it last slept. */
enum { MOST_ASKED = 64 };
static MPI_Request *asked[MOST_ASKED], *finished, left; /* `left`: the value of its request then */
static int count_asked;

static inline int ask(MPI_Request *request, int *done, MPI_Status *status) {
  int k = 0;
  (void)status;
  *done = request == finished || *request == MPI_REQUEST_NULL;
  if (request == finished) {
    finished = NULL;
    *request = left;
  }
  while (k < count_asked && asked[k] != request) k++;
  if (!*done && k == count_asked && k < MOST_ASKED) asked[count_asked++] = request;
  return MPI_SUCCESS;
}

/* Returns one of several requests, the first to complete. */
static inline int ask_some(int n, MPI_Request *request, int *done, int *index, MPI_Status *status) {
  const int code = MPI_Waitany(n, request, index, status);
  *done = index[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
  return code;
}

static inline void sleep_until_done(void) {
  MPI_Request copy[MOST_ASKED];
  int k;
  for (k = 0; k < count_asked; k++) copy[k] = *asked[k];
  if (count_asked == 1) /* may be a collective's request */
    MPI_Wait(copy, MPI_STATUS_IGNORE);
  else if (count_asked > 1)
    MPI_Waitany(count_asked, copy, &k, MPI_STATUS_IGNORE);
  if (count_asked > 0) {
    k = count_asked == 1 ? 0 : k;
    finished = asked[k];
    left = copy[k];
  }
  count_asked = 0;
}

/* All ranks share what lies beyond the first LARGE bytes of large memory: before it there may be
   pointers of a rank's own. */
enum { LARGE = 1 << 20, MOST_LARGE = 256 };
static void *large[MOST_LARGE];

static inline void *array_new(size_t bytes) {
  const size_t shared[2] = {LARGE, bytes};
  int k = 0;
  while (bytes >= 2 * LARGE && k < MOST_LARGE && large[k] != NULL) k++;
  if (bytes < 2 * LARGE || k == MOST_LARGE) return calloc(bytes + 1, 1);
  return large[k] = SMPI_PARTIAL_SHARED_MALLOC(bytes, shared, 1);
}

static inline void array_free(void *array) {
  for (int k = 0; k < MOST_LARGE; k++)
    if (array != NULL && large[k] == array) {
      SMPI_SHARED_FREE(array);
      large[k] = NULL;
      return;
    }
  free(array);
}

#define REDIST_MALLOC(bytes) array_new(bytes)
#define REDIST_FREE(pointer) array_free(pointer)
#define REDIST_YIELD() sleep_until_done()
#define MPI_Test ask
#define MPI_Testsome ask_some

/* SMPI's non-blocking reductions are all-to-all messages; plans use them only during creation. */
#define MPI_Iallreduce(from, to, n, type, op, comm, request) \
  (*(request) = MPI_REQUEST_NULL, MPI_Allreduce(from, to, n, type, op, comm))
#define MPI_Iallgather(from, n, type, to, m, its, comm, request) \
  (*(request) = MPI_REQUEST_NULL, MPI_Allgather(from, n, type, to, m, its, comm))
#else
#include <unistd.h>

static inline void *array_new(size_t bytes) { return calloc(bytes + 1, 1); }
static inline void array_free(void *array) { free(array); }
#endif

#include "redist_plan.h"

static inline double latest(double time) {
  MPI_Request request; /* early ranks leave the cores to the others */
  double last;
  MPI_Iallreduce(&time, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  redist_priv_await(MPI_SUCCESS, &request);
  return last;
}

static inline void wait_until(double time) {
#if defined SMPI_H
  const double seconds = time - MPI_Wtime();
  struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&t, NULL);
#else
  while (MPI_Wtime() < time) REDIST_YIELD();
#endif
}

/* MPICH 4.0 over UCX's TCP: 8 ranks that have sent any message mostly hang in MPI_Finalize. */
static inline void leave(void) {
#if !defined SMPI_H
  alarm(5);
#endif
  MPI_Finalize();
}

#endif
