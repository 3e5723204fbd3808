/* redist tests: the moves of move.c on a processor without vector instructions. MIT licence, see
   LICENSE. */
#undef __SSE2__
#undef __ARM_NEON
#include "move.c"
