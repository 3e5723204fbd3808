/* redist tests: the moves of move.c as a processor without vectors makes them. MIT licence, see
   LICENSE. */
#undef __SSE2__
#undef __ARM_NEON
#include "move.c"
