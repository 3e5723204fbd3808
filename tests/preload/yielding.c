/* Preloaded into MPI programs: where MPI waits with UCX (MPICH, Open MPI), it yields the processor after some
   unsuccessful tests, so that tests on more ranks than cores take seconds instead of minutes. redist's own waiting
   yields by itself (promises.c). MIT licence, see LICENSE. */
#include <dlfcn.h>
#include <sched.h>

typedef unsigned progress(void *worker);

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker) {
  static progress *own;
  static int vain;
  unsigned events;
  if (!own) *(void **)&own = dlsym(dlopen("libucp.so.0", RTLD_LAZY), "ucp_worker_progress");
  events = own(worker);
  vain = events ? 0 : vain + 1;
  if (vain > 20) {
    vain = 20;
    sched_yield();
  }
  return events;
}
