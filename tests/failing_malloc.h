/* redist tests: memory that is counted and fails when told to; include it before redist.h. MIT licence, see LICENSE. */
#ifndef FAILING_MALLOC_H
#define FAILING_MALLOC_H

#include <stdint.h>
#include <stdlib.h>

static int64_t live_blocks, until_failure = -1;

/* Fails at the allocation that until_failure counts down to. */
static void *failing_malloc(size_t bytes)
{
    void *block = until_failure == 0 ? NULL : malloc(bytes);
    if (until_failure >= 0)
        until_failure--;
    live_blocks += block != NULL;
    return block;
}

static void counted_free(void *block)
{
    live_blocks -= block != NULL;
    free(block);
}

#define REDIST_MALLOC failing_malloc
#define REDIST_FREE counted_free

#endif
