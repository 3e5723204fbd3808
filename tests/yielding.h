/* redist tests and measurements: waits that yield. MIT licence, see LICENSE. */
#ifndef YIELDING_H
#define YIELDING_H

#include <mpi.h>
#include <sched.h>

/* MPI's own waits may spin, which starves other ranks when ranks outnumber cores. */
static inline void wait_yielding(MPI_Request *request) {
  int done = 0, tries = 0;
  while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
    if (++tries > 20) sched_yield();
}

#endif
