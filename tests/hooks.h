/* redist tests: what tests set and read through hooks: the largest count given to MPI, small so that
   messages are cut as those beyond an int are; the bytes of an arena's rings; the bytes copied so
   far. Include it before redist_plan.h. MIT licence, see LICENSE. */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdint.h>

#ifdef REDIST_DECLARATIONS_ONLY
extern int64_t test_max_count, test_ring_bytes, test_copied; /* linked.h */
#else
#ifndef TEST_STATIC
#define TEST_STATIC static
#endif
TEST_STATIC int64_t test_max_count = INT32_MAX, test_ring_bytes = 4194304, test_copied;
#ifndef REDIST_MAX_COUNT /* the Makefile's */
#define REDIST_MAX_COUNT test_max_count
#endif
#define REDIST_RING_BYTES test_ring_bytes
#define REDIST_COPIED(bytes) (test_copied += (bytes))
#endif

#endif
