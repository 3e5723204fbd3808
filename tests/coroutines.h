/* redist tests: the ranks of threads_mpi.h as coroutines, which switch only where they ask to: the
   first time by setcontext, which gives them a stack, then by longjmp, without a system call. MIT
   licence, see LICENSE. */
#ifndef COROUTINES_H
#define COROUTINES_H

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "threads_mpi.h"

enum { STACK = 262144 };

static struct {
  ucontext_t context;
  jmp_buf at;
  char *stack;
  int begun, finished;
} coroutine[CREW];
static jmp_buf scheduler;
static int running, arrivals, generation;

static void hand_over(void) {
  if (setjmp(coroutine[running].at) == 0) longjmp(scheduler, 1);
}

static void resume(int rank) {
  running = rank;
  if (setjmp(scheduler) != 0) return;
  if (coroutine[rank].begun++) longjmp(coroutine[rank].at, 1);
  setcontext(&coroutine[rank].context);
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
    coroutine[r].context.uc_link = NULL; /* they end by finish */
    coroutine[r].begun = coroutine[r].finished = 0;
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
