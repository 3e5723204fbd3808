/* redist tests: the longest piece of a message in shared memory: a variable here, so that small
   messages travel in several. MIT licence, see LICENSE. */
#ifndef PIECES_H
#define PIECES_H

#include <stdint.h>

#ifdef REDIST_DECLARATIONS_ONLY
extern int64_t test_piece_bytes; /* linked.h */
#else
static int64_t test_piece_bytes = 262144;
#define REDIST_PIECE_BYTES test_piece_bytes
#endif

#endif
