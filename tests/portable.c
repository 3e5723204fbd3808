/* redist tests: the moves of move.c without vectors, as compilers make them that call themselves GNU's, but know none of
   its shuffles. MIT licence, see LICENSE. */
#define __NVCOMPILER 1
#define __builtin_shuffle(...) no_shuffle
#define __builtin_shufflevector(...) no_shuffle
#include "move.c"
