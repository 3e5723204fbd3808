/* redist tests: the ranks of threads_mpi.h as coroutines, which switch only where they ask to. MIT
   licence, see LICENSE. */
#ifndef COROUTINES_H
#define COROUTINES_H

#include <stdlib.h>
#include <ucontext.h>

#include "threads_mpi.h"

enum { STACK = 262144 };

static struct {
  ucontext_t context;
  char *stack;
  int finished;
} coroutine[CREW];
static ucontext_t scheduler;
static int running, arrivals, generation;

static void hand_over(void) { swapcontext(&coroutine[running].context, &scheduler); }

static void resume(int rank) {
  running = rank;
  swapcontext(&scheduler, &coroutine[rank].context);
}

static void finish(void) {
  coroutine[running].finished = 1;
  hand_over();
}

static void coroutine_barrier(void) {
  const int mine = generation;
  if (++arrivals == crew_size) {
    arrivals = 0;
    generation++;
  }
  while (generation == mine) hand_over();
}

static void begin_coroutines(void (*work)(void)) {
  int r;
  arrivals = 0;
  for (r = 0; r < crew_size; r++) {
    getcontext(&coroutine[r].context);
    coroutine[r].context.uc_stack.ss_sp = coroutine[r].stack;
    coroutine[r].context.uc_stack.ss_size = STACK;
    coroutine[r].context.uc_link = &scheduler;
    coroutine[r].finished = 0;
    makecontext(&coroutine[r].context, work, 0);
  }
}

static int all_finished(void) {
  int r, finished = 1;
  for (r = 0; r < crew_size; r++) finished &= coroutine[r].finished;
  return finished;
}

static void allocate_stacks(void) {
  int r;
  for (r = 0; r < CREW; r++) coroutine[r].stack = malloc(STACK);
}

static void free_stacks(void) {
  int r;
  for (r = 0; r < CREW; r++) free(coroutine[r].stack);
}

#endif
