/* redist tests: the implementation that tests of plans are linked with, where they have no further
   hooks. MIT licence, see LICENSE. */
#include <stdint.h>

int64_t test_piece_bytes = 262144, test_stream_bytes = 4194304; /* pieces.h, oracle.h */
#define REDIST_PIECE_BYTES test_piece_bytes
#define REDIST_STREAM_BYTES test_stream_bytes
#define TEST_STATIC
#include "failing_malloc.h"
#include "hooks.h"
#include "shapes.h"
#ifdef TEST_SERIAL /* without MPI */
#include "redist.h"
#else
#include "redist_plan.h"

#include "inside.h"
#endif
