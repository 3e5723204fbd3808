/* redist tests: test cases that pass only if they pass on all ranks of MPI_COMM_WORLD. MIT licence,
   see LICENSE. */
#ifndef TEST_MPI_H
#define TEST_MPI_H

#include <mpi.h>

#include "test.h"
#include "yielding.h"

static inline int test_sum(int value) {
  int sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  wait_yielding(&request);
  return sum;
}

static inline int test_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int test_size(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/* Whether ranks 0 and 1 share memory. Collective. */
static inline int test_shares(void) {
  MPI_Comm node;
  int shares;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &shares);
  MPI_Comm_free(&node);
  MPI_Bcast(&shares, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return shares > 1;
}

/* One test case for all ranks: it passes if ok is true on every rank. Collective; counted on rank
   0. */
static inline int test_case_all(int ok, const char *format, ...) {
  int bad = test_sum(!ok);
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (test_rank() == 0) test_case(bad == 0, "%s (%d of %d ranks)", text, bad, test_size());
  return bad == 0;
}

/* Rank 0 prints the report line. Returns the exit status, the same on every rank. */
static inline int test_report_all(const char *name) {
  if (test_rank() == 0) test_report(name);
  fflush(stdout);
  return test_sum((int)test_failed) != 0;
}

#endif
