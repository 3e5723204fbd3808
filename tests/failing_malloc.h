/* redist tests: memory that is counted and fails on request; include it before redist.h. MIT
   licence, see LICENSE. */
#ifndef FAILING_MALLOC_H
#define FAILING_MALLOC_H

#include <stdint.h>
#include <stdlib.h>

#ifndef TEST_STATIC
#define TEST_STATIC static
#endif

enum { BEFORE_BLOCK = 16 }; /* bytes, for its size */

#ifdef REDIST_DECLARATIONS_ONLY
extern int64_t live_blocks, live_bytes, until_failure; /* linked.h */
void *failing_malloc(size_t bytes);
void counted_free(void *memory);
#else
TEST_STATIC int64_t live_blocks, live_bytes, until_failure = -1;

/* Fails at the allocation at which until_failure reaches 0. */
TEST_STATIC void *failing_malloc(size_t bytes) {
  char *block = until_failure == 0 ? NULL : malloc(BEFORE_BLOCK + bytes);
  if (until_failure >= 0) until_failure--;
  if (block == NULL) return NULL;
  *(size_t *)(void *)block = bytes;
  live_blocks++;
  live_bytes += (int64_t)bytes;
  return block + BEFORE_BLOCK;
}

TEST_STATIC void counted_free(void *memory) {
  char *block;
  if (memory == NULL) return;
  block = (char *)memory - BEFORE_BLOCK;
  live_blocks--;
  live_bytes -= (int64_t) * (size_t *)(void *)block;
  free(block);
}

#define REDIST_MALLOC failing_malloc
#define REDIST_FREE counted_free
#endif

#endif
