/* redist.h: who owns what, who sends what to whom, and the copying. No MPI. MIT licence, see the
 * end of the file.
 *
 * A redist_layout says where every element of a distributed array lives: which rank, and where in
 * that rank's memory. Layouts are plain values. Transposing, rotating, cutting out a section,
 * adding ghost cells or choosing other ranks makes another layout; one verb then copies element i
 * of one view to element i of another view of the same shape.
 *
 *     #include <stdio.h>
 *     #include "redist.h"
 *
 *     int main(void)
 *     {
 *         redist_layout rows = redist_layout_2d(redist_block(6, 2), redist_whole(4));
 *         redist_layout columns = redist_layout_2d(redist_whole(6), redist_cyclic(4, 2));
 *         const int64_t index[2] = {5, 2};
 *         int64_t sent;
 *         int error = redist_volume(&rows, 0, &columns, 1, &sent);
 *         printf("(5,2) lives on rank %d by rows, on rank %d by columns; 0 sends %d to 1\n",
 *                redist_layout_owner(&rows, index), redist_layout_owner(&columns, index),
 *                (int)sent);
 *         return error;
 *     }
 *
 * redist_plan.h moves the data with MPI. Axes are independent of each other: ownership,
 * intersections and traffic factor into per-axis pieces. So costs are sums over axes, never
 * products, and processes with which a rank exchanges nothing cost it nothing.
 *
 * Words. An axis is one dimension of an array, distributed over a line of processes; a coordinate
 * is a process of that line. The product of all axes' coordinates is the process grid. Its
 * processes are places, numbered 0, 1, ...; each place lives on a rank. A replica repeats the grid:
 * its places hold the same elements. Along an axis, a view index numbers the elements that a view
 * shows, and a local position those that a coordinate owns, in the order of its memory.
 *
 * All functions here are local (no communication), keep no state, and may be called from any
 * thread.
 *
 * Map: the sections in their order, p with prototypes, b with bodies.
 *     p    options
 *     p    errors
 *     p    types
 *       b  toolbox: numbers and memory
 *       b  errors
 *     p b  axes: who owns index i
 *     p b  layouts and views
 *       b  runs: what two coordinates of an axis share
 *       b  joined axes: reshaped views
 *       b  directories: who is where
 *       b  messages: products of run lists
 *       b  copying
 *       b  compiling copies
 *       b  running copies
 *       b  flows: who shares elements with whom
 *     p b  moving on one process
 *       b  how many peers
 *     p b  traffic, on paper
 *     p b  schedules
 *     p b  cost and multiphase routes
 *     p b  relabelling and advice
 *     p    text
 *       b  text: writing
 *       b  text: reading
 *
 * References: Kalns and Ni 1995 (block-cyclic intersections per axis), Walker and Otto 1996 (the
 * superblock: every pair of block-cyclic axes repeats with the least common multiple of the two
 * cycles), Kaushik et al. 1994, Hsu et al. 2001, Namugwanya 2021.
 */
#if defined REDIST_IMPLEMENTATION && defined REDIST_H && !defined REDIST_PRIV_IMPLEMENTS
#error "define REDIST_IMPLEMENTATION before the first #include of redist.h or redist_plan.h"
#endif
#ifndef REDIST_H
#define REDIST_H

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if defined REDIST_IMPLEMENTATION
#define REDIST_PRIV_IMPLEMENTS 1
#endif
#if defined REDIST_IMPLEMENTATION || !defined REDIST_DECLARATIONS_ONLY
#define REDIST_PRIV_BODIES 1
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdlib.h>
#if defined __SSE2__ && !defined REDIST_SMALL
#define REDIST_PRIV_SSE2 1
#include <emmintrin.h>
#ifndef REDIST_NO_STREAMING
#define REDIST_PRIV_STREAMS 1
#endif
#elif defined __ARM_NEON && defined __aarch64__ && !defined REDIST_SMALL
#define REDIST_PRIV_NEON 1
#include <arm_neon.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#elif defined REDIST_MALLOC || defined REDIST_FREE || defined REDIST_ASSERT ||                   \
    defined REDIST_STREAM_BYTES || defined REDIST_NO_STREAMING || defined REDIST_THREAD_BYTES || \
    defined REDIST_COPIED
#error \
    "REDIST_MALLOC and others do nothing in a file that only declares: the implementation has them"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, for tests by the preprocessor. Within a major version programs that
   compile go on to compile and to mean the same; minor versions add. Not promised: names that begin
   with redist_priv_ or REDIST_PRIV_, the texts of errors and reports, which method REDIST_AUTO
   takes, and how long anything takes. */
#define REDIST_VERSION_MAJOR 1
#define REDIST_VERSION_MINOR 0
#define REDIST_VERSION_PATCH 0
#define REDIST_VERSION \
  (10000 * REDIST_VERSION_MAJOR + 100 * REDIST_VERSION_MINOR + REDIST_VERSION_PATCH)

/* -------------------------------------------------------------------------------------- options */

/* Macros such as REDIST_MAX_DIMS and REDIST_MALLOC: define them before the first #include. Three
   ways to include:
     - by default every function is static, and there is nothing to link;
     - REDIST_DECLARATIONS_ONLY: types, macros, prototypes, and the functions of a single axis,
     inline. It compiles fast;
     - REDIST_IMPLEMENTATION, in one C file (which may define both): the public functions get
     external linkage. It includes redist_plan.h (without MPI, redist.h) and defines all hooks.
   What is not needed can be left out, the same in every file of a program:
     - REDIST_NO_TEXT: layouts as text, and redist_plan_print, which are not declared then;
     - REDIST_NO_LISTS: redist_owners, redist_lists, redist_split and redist_merged, which are not
       declared then;
     - REDIST_NO_SHARED, REDIST_NO_COLLECTIVES, REDIST_NO_SCHEDULED, REDIST_NO_MULTIPHASE,
     REDIST_NO_NODES: methods of redist_plan.h. A plan that asks for one by name fails
     (REDIST_ERR_ARGUMENT);
     - REDIST_SMALL: all of these, and the instructions of particular processors. Plans send
     whole messages, for which max_buffer must have room, and copy short runs one by one. */

#ifdef REDIST_SMALL
#undef REDIST_NO_TEXT
#undef REDIST_NO_LISTS
#undef REDIST_NO_SHARED
#undef REDIST_NO_COLLECTIVES
#undef REDIST_NO_SCHEDULED
#undef REDIST_NO_MULTIPHASE
#undef REDIST_NO_NODES
#define REDIST_NO_TEXT
#define REDIST_NO_LISTS
#define REDIST_NO_SHARED
#define REDIST_NO_COLLECTIVES
#define REDIST_NO_SCHEDULED
#define REDIST_NO_MULTIPHASE
#define REDIST_NO_NODES
#endif

#ifndef REDIST_MAX_DIMS
#define REDIST_MAX_DIMS 8 /* the highest rank of an array; the same in every file of a program */
#endif

/* Linkage of the public functions, and of those for a single axis. */
#if defined REDIST_PRIV_IMPLEMENTS || !defined REDIST_PRIV_BODIES
#ifndef REDIST_API
#define REDIST_API extern
#endif
#if REDIST_MAX_DIMS != \
    8 /* names of functions then contain it, so that files which disagree do not link */
#define REDIST_PRIV_JOIN(name, dims) name##_max_dims_##dims
#define REDIST_PRIV_SIZED(name, dims) REDIST_PRIV_JOIN(name, dims)
#define redist_layout_1d REDIST_PRIV_SIZED(redist_layout_1d, REDIST_MAX_DIMS)
#define redist_layout_2d REDIST_PRIV_SIZED(redist_layout_2d, REDIST_MAX_DIMS)
#define redist_layout_3d REDIST_PRIV_SIZED(redist_layout_3d, REDIST_MAX_DIMS)
#define redist_layout_nd REDIST_PRIV_SIZED(redist_layout_nd, REDIST_MAX_DIMS)
#define redist_layout_boxes REDIST_PRIV_SIZED(redist_layout_boxes, REDIST_MAX_DIMS)
#define redist_grid_order REDIST_PRIV_SIZED(redist_grid_order, REDIST_MAX_DIMS)
#define redist_memory_order REDIST_PRIV_SIZED(redist_memory_order, REDIST_MAX_DIMS)
#define redist_from_rank REDIST_PRIV_SIZED(redist_from_rank, REDIST_MAX_DIMS)
#define redist_on_ranks REDIST_PRIV_SIZED(redist_on_ranks, REDIST_MAX_DIMS)
#define redist_at_offsets REDIST_PRIV_SIZED(redist_at_offsets, REDIST_MAX_DIMS)
#define redist_replicated REDIST_PRIV_SIZED(redist_replicated, REDIST_MAX_DIMS)
#define redist_with_halo REDIST_PRIV_SIZED(redist_with_halo, REDIST_MAX_DIMS)
#define redist_with_ghosts REDIST_PRIV_SIZED(redist_with_ghosts, REDIST_MAX_DIMS)
#define redist_ghost_depth REDIST_PRIV_SIZED(redist_ghost_depth, REDIST_MAX_DIMS)
#define redist_without_corners REDIST_PRIV_SIZED(redist_without_corners, REDIST_MAX_DIMS)
#define redist_partial REDIST_PRIV_SIZED(redist_partial, REDIST_MAX_DIMS)
#define redist_with_allocated REDIST_PRIV_SIZED(redist_with_allocated, REDIST_MAX_DIMS)
#define redist_from_scalapack REDIST_PRIV_SIZED(redist_from_scalapack, REDIST_MAX_DIMS)
#define redist_permuted REDIST_PRIV_SIZED(redist_permuted, REDIST_MAX_DIMS)
#define redist_transposed REDIST_PRIV_SIZED(redist_transposed, REDIST_MAX_DIMS)
#define redist_flipped REDIST_PRIV_SIZED(redist_flipped, REDIST_MAX_DIMS)
#define redist_rotated REDIST_PRIV_SIZED(redist_rotated, REDIST_MAX_DIMS)
#define redist_section REDIST_PRIV_SIZED(redist_section, REDIST_MAX_DIMS)
#define redist_split REDIST_PRIV_SIZED(redist_split, REDIST_MAX_DIMS)
#define redist_merged REDIST_PRIV_SIZED(redist_merged, REDIST_MAX_DIMS)
#define redist_layout_parse REDIST_PRIV_SIZED(redist_layout_parse, REDIST_MAX_DIMS)
#define redist_layout_parse_size REDIST_PRIV_SIZED(redist_layout_parse_size, REDIST_MAX_DIMS)
#define redist_layout_shape REDIST_PRIV_SIZED(redist_layout_shape, REDIST_MAX_DIMS)
#define redist_layout_place_shape REDIST_PRIV_SIZED(redist_layout_place_shape, REDIST_MAX_DIMS)
#define redist_phases REDIST_PRIV_SIZED(redist_phases, REDIST_MAX_DIMS)
#define redist_best_grid REDIST_PRIV_SIZED(redist_best_grid, REDIST_MAX_DIMS)
#define redist_plan_create REDIST_PRIV_SIZED(redist_plan_create, REDIST_MAX_DIMS)
#define redist_plan_create_parts REDIST_PRIV_SIZED(redist_plan_create_parts, REDIST_MAX_DIMS)
#endif
#elif !defined REDIST_API
#define REDIST_API static inline
#endif
#if defined REDIST_PRIV_BODIES
#define REDIST_AXIS_API REDIST_API
#else
#define REDIST_AXIS_API static inline
#endif

/* What makes an axis or a layout: compilers warn where the result is dropped. */
#if defined __GNUC__
#define REDIST_PRIV_BUILDER REDIST_API __attribute__((warn_unused_result))
#define REDIST_PRIV_AXIS_BUILDER REDIST_AXIS_API __attribute__((warn_unused_result))
#else
#define REDIST_PRIV_BUILDER REDIST_API
#define REDIST_PRIV_AXIS_BUILDER REDIST_AXIS_API
#endif

/* Linkage of private functions. FAST and INLINE: inlined. PRIV: the compiler decides. APART: never
   inlined. COLD: not in inner loops; optimized for size. */
#define REDIST_PRIV_FAST static inline
#if defined __GNUC__
#define REDIST_PRIV_INLINE static inline __attribute__((always_inline))
#define REDIST_PRIV static __attribute__((unused))
#define REDIST_PRIV_APART static __attribute__((unused, noinline))
#define REDIST_PRIV_COLD static __attribute__((unused, cold))
#else
#define REDIST_PRIV_INLINE static inline
#define REDIST_PRIV static inline
#define REDIST_PRIV_APART static inline
#define REDIST_PRIV_COLD static inline
#endif

#ifndef REDIST_MALLOC
/* How the library allocates and frees memory; define both, or none, before the #include. The first
   may return NULL: functions then return REDIST_ERR_MEMORY, or as they say. */
#define REDIST_MALLOC(bytes) malloc(bytes)
#define REDIST_FREE(pointer) free(pointer)
#endif

#ifndef REDIST_STREAM_BYTES
/* bytes from which copies are streamed, that is written by non-temporal stores: for redist_move the
   size of a destination array, for a plan what an execution touches; REDIST_NO_STREAMING: never */
#define REDIST_STREAM_BYTES 8388608
#endif

#ifndef REDIST_THREAD_BYTES
/* bytes, with OpenMP: from this size on a copy is shared among the threads */
#define REDIST_THREAD_BYTES 1048576
#endif

#ifndef REDIST_ASSERT
/* checks internal consistency only; functions answer bad input by error codes */
#define REDIST_ASSERT(condition) ((void)0)
#endif

#ifndef REDIST_COPIED
#define REDIST_COPIED(bytes) ((void)0) /* test hook: receives the byte count of each copy */
#endif

/* --------------------------------------------------------------------------------------- errors */

/* The error codes, and the sentence of redist_strerror for each. Functions that return int return
   one of them unless they say otherwise. */
#define REDIST_PRIV_ERRORS(X)                                                                    \
  X(REDIST_OK, "success")                                                                        \
  X(REDIST_ERR_ARGUMENT, "an argument is NULL, out of range, or not a valid enumerator")         \
  X(REDIST_ERR_LAYOUT, "invalid layout")                                                         \
  X(REDIST_ERR_SHAPE, "the source view and the destination view differ in rank or extents")      \
  X(REDIST_ERR_RANK,                                                                             \
    "a rank is negative, outside the communicator, or holds several places where it must not")   \
  X(REDIST_ERR_OVERFLOW, "2^62 elements or more, or more than INT_MAX places")                   \
  X(REDIST_ERR_TYPE, "the element datatype is null, has gaps, or does not suit options.wire")    \
  X(REDIST_ERR_MISMATCH, "ranks passed different layouts, element sizes or options")             \
  X(REDIST_ERR_MEMORY, "memory is exhausted, or max_buffer is too small")                        \
  X(REDIST_ERR_ALIAS, "source and destination overlap, and the plan is not in place")            \
  X(REDIST_ERR_BUSY, "a plan is started and must not be, or the reverse, or an arena has plans") \
  X(REDIST_ERR_BUFFER, "these are not the fixed arrays that the plan was made for")              \
  X(REDIST_ERR_MPI, "an MPI call failed")

#define REDIST_PRIV_ERROR_NAME(name, sentence) name,
typedef enum { REDIST_PRIV_ERRORS(REDIST_PRIV_ERROR_NAME) REDIST_PRIV_ERROR_CODES } redist_error;

/* Returns the general sentence for an error code, a constant text; never NULL. */
REDIST_API const char *redist_strerror(int code);

/* REDIST_VERSION of the implementation that the program is linked with. */
REDIST_API int redist_version(void);

/* ---------------------------------------------------------------------------------------- types */

/* The axis that varies fastest: the last (C) or the first (Fortran). */
typedef enum { REDIST_ROW_MAJOR = 0, REDIST_COLUMN_MAJOR = 1 } redist_order;

/* What lies beyond the ends of an axis: nothing, or its other end. */
typedef enum { REDIST_CLOSED = 0, REDIST_PERIODIC = 1 } redist_edge;

/* The elements low[d] <= index[d] < high[d] of an array; none where low >= high. d counts the
   array's axes as built, before any view. */
typedef struct {
  int64_t low[REDIST_MAX_DIMS], high[REDIST_MAX_DIMS];
} redist_box;

/* How an axis is cut into blocks (REDIST_PRIV_AXIS_FIELDS has the names for users); from OWNERS on
   it is scattered: any index may be anywhere. */
typedef enum {
  REDIST_PRIV_CYCLIC,
  REDIST_PRIV_BALANCED,
  REDIST_PRIV_LISTED,
  REDIST_PRIV_OWNERS,
  REDIST_PRIV_INDICES,
  REDIST_PRIV_JOINED /* several axes of a reshaped layout, in the library's own copies */
} redist_priv_kind;

/* A stretch of a scattered axis: the indices from `start` to the next stretch's. One set holds
   them, a coordinate's but for the axis's `first`, at local positions that advance by `step` from
   `local` on. next: the number of the set's next stretch, -1: none. */
typedef struct {
  int64_t start, local, next, step;
  int set;
} redist_priv_stretch;

/* A scattered axis as stretches, ascending; stretch[stretches] ends them. first, size: of every
   set, its first stretch, or -1, and how many indices it has. */
typedef struct {
  int64_t stretches, *first, *size;
  redist_priv_stretch *stretch;
} redist_priv_sets;

/* One dimension of an array. Block k lives at coordinate (k + first) mod procs; view index i is
   axis index start + i * step. Made by redist_block and other builders of axes. */
typedef struct {
  redist_priv_kind kind;
  int procs;      /* processes along the axis; of a layout of boxes, all its boxes  */
  int first;      /* coordinate of block 0                                          */
  int64_t extent; /* length of the whole axis, of which the view may show a part    */
  int64_t block;  /* indices per block (REDIST_PRIV_CYCLIC), at most max(extent, 1) */
  /* REDIST_PRIV_LISTED: block k is begin[k * apart] <= index < end[k * apart]. With apart 1,
     ascending cuts; else one side of the layout's boxes, in any order (empty ones: anywhere) */
  const int64_t *begin, *end;
  int64_t apart;
  const int *owner; /* REDIST_PRIV_OWNERS: index i is in set owner[i], which ascends in memory */
  /* REDIST_PRIV_INDICES: set k has index[begin[k]], ..., index[end[k] - 1], in this order */
  const int64_t *index;
  /* of a scattered axis in one of the library's own copies of a layout; else NULL */
  redist_priv_sets *sets;
  int ghosts;                 /* 1 + redist_edge where ghost cells hold elements, else 0     */
  int64_t low, high;          /* how many of them, nearest to what a coordinate owns         */
  int64_t start, step, count; /* the view; count is 0 when the axis is invalid               */
} redist_axis;

/* X(field, name): the numbers that define an axis, without its list and its ghost cells. */
#define REDIST_PRIV_AXIS_FIELDS(X)                                                 \
  X(extent, "extent")                                                              \
  X(kind, "kind of blocks (0: cyclic, 1: balanced, 2: cuts, 3: owners, 4: lists)") \
  X(procs, "number of processes")                                                  \
  X(block, "block")                                                                \
  X(first, "first coordinate")                                                     \
  X(start, "start of the section")                                                 \
  X(step, "step of the section")                                                   \
  X(count, "count of the section")
#define REDIST_PRIV_GHOST_FIELDS(X)      \
  X(ghosts, "edge of the ghost cells")   \
  X(low, "low depth of the ghost cells") \
  X(high, "high depth of the ghost cells")

/* The first error found: its code, where it was found, and the sentence for the user. */
typedef struct {
  int code;                     /* REDIST_OK: none */
  int rank, part, column, axis; /* -1: none in particular; column: of a parsed text */
  char text[208];
} redist_priv_error;

/* An axis of a view, and how the local array stores it. */
typedef struct {
  redist_axis axis;
  int stored;        /* its number among the array's axes as built         */
  int64_t low, high; /* ghost cells before and after the owned elements    */
  int64_t allocated; /* elements along this axis, ghost cells included; 0: just what is needed */
} redist_priv_dimension;

/* A digit of the axes of a reshaped view: its index i, 0 <= i < count, adds i * step to the index
   of dim[dim], which starts at dim[dim].axis.start. */
typedef struct {
  int dim;
  int64_t count, step;
} redist_priv_digit;

/* An axis of a reshaped view: its index i is number start + i * step of those that its digits make,
   the first the slowest. start and step are other than 0 and 1 only where a section of several
   digits shows a part of them. */
typedef struct {
  int first, digits;
  int64_t start, step, count;
} redist_priv_view_axis;

/* The axes of a view, and their digits one after another. */
typedef struct {
  int axes;
  redist_priv_view_axis axis[REDIST_MAX_DIMS];
  redist_priv_digit digit[2 * REDIST_MAX_DIMS];
} redist_priv_view;

struct redist_priv_joined;

/* Axes, process grid, ranks and local storage of an array. A plain value, which owns no memory. */
typedef struct {
  /* REDIST_PRIV_MARK: made by a builder of this version, with this REDIST_MAX_DIMS */
  uint64_t mark;
  int ndim;
  redist_order grid_order, memory_order; /* of the array's own axes */
  int first_rank;
  const int *ranks; /* place k lives on ranks[k], or on first_rank + k when NULL */
  /* place k begins at offsets[k] of its rank's array; NULL: a rank's places one after another */
  const int64_t *offsets;
  int copies; /* replicas of the grid: replica c of place k is place k + c * (places of the grid) */
  int boxes;  /* box[boxes]: what each place owns; 0: places own products over their coordinates */
  const redist_box *box;
  int partial;   /* elements may lie in no box */
  int faces;     /* without corners: a ghost cell beyond several axes holds no element */
  int truncated; /* a valid copy that ends with dim[ndim]: those of plans */
  /* of a reshaped layout in one of the library's own copies, whose axes are joined; else NULL */
  struct redist_priv_joined *joined;
  redist_priv_dimension dim[REDIST_MAX_DIMS]; /* in the order of the view */
  redist_priv_view view; /* axes 0: not reshaped, the axes of the view are dim[ndim] */
  redist_priv_error error;
} redist_layout;

/* A place and its rank. Tables of them are sorted by rank, then by place, so that a rank's places
   are found in O(log places). */
typedef struct {
  int rank, place;
} redist_priv_rank_place;

/* ----------------------------------------------------------------------- axes: who owns index i */

/* Owner, local position and global index of CYCLIC(b) over p processes, as constant expressions.
   i, l: global index and local position, >= 0; c: coordinate, 0 <= c < p; b, p: block size and
   processes, >= 1. */
#define REDIST_OWNER(i, b, p) ((i) / (b) % (p))
#define REDIST_LOCAL(i, b, p) ((i) / (b) / (p) * (b) + (i) % (b))
#define REDIST_GLOBAL(c, l, b, p) (((l) / (b) * (p) + (c)) * (b) + (l) % (b))

/* Builders of axes. n: indices, 0 <= n < 2^62; procs: processes along the axis, >= 1. They never
   fail: an axis built from bad numbers is empty, and redist_layout_explain gives the reason. */

/* "*", in HPF collapsed: the axis is not distributed. ScaLAPACK: one process along it. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_whole(int64_t n);
/* HPF BLOCK: blocks of ceil(n / procs), ScaLAPACK's MB; the last may own less, or nothing. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_block(int64_t n, int procs);
/* HPF CYCLIC: index i belongs to coordinate i mod procs. ScaLAPACK: MB = 1. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_cyclic(int64_t n, int procs);
/* HPF CYCLIC(block): blocks of `block` >= 1 indices, ScaLAPACK's MB, distributed round-robin. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_block_cyclic(int64_t n, int64_t block, int procs);
/* One block for each process; sizes differ by at most 1, the larger ones first. In HPF-2 a
   GEN_BLOCK. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_balanced(int64_t n, int procs);
/* HPF-2 GEN_BLOCK, by the sums of its sizes: block k holds the indices cuts[k] <= i < cuts[k + 1].
   cuts[procs + 1], 0 = cuts[0] <= ... <= cuts[procs] = n, is kept by reference: it must live as
   long as the axis and the layouts made from it. After such a list changes, build them again. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_cuts(const int64_t *cuts, int procs);
#ifndef REDIST_NO_LISTS
/* Index i belongs to coordinate owner[i], 0 <= owner[i] < procs, whose memory holds its indices in
   ascending order, as after a partitioner of meshes or a balancing of loads. owner[n] is kept by
   reference, as cuts are. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_owners(int64_t n, const int *owner, int procs);
/* Coordinate c holds the indices index[begin[c]], ..., index[begin[c + 1] - 1], in this order in
   its memory. index[n] names every index 0 <= i < n once; begin[procs + 1] ascends from 0 to n.
   Both are kept by reference, as cuts are. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_lists(int64_t n, const int64_t *begin,
                                                  const int64_t *index, int procs);
#endif
/* Shifts the blocks of an axis: block 0 is at coordinate `coord`, 0 <= coord < procs, and block k
   at (k + coord) mod procs (ScaLAPACK's RSRC and CSRC). Of redist_owners and redist_lists, what
   coordinate k would have. */
REDIST_PRIV_AXIS_BUILDER redist_axis redist_starting_at(redist_axis x, int coord);

/* Fill cuts[procs + 1], n >= 0, procs >= 1: floor(n / procs) indices each, and the remainder to the
   last process, or to the first (Namugwanya 2021: the standard mapping and "special rules"). */
REDIST_AXIS_API void redist_cuts_remainder_last(int64_t n, int procs, int64_t *cuts);
REDIST_AXIS_API void redist_cuts_remainder_first(int64_t n, int procs, int64_t *cuts);

/* Queries of an axis. i: view index, 0 <= i < count; coord: 0 <= coord < procs; l: local position,
   >= 0, counting all that coord owns of the axis, without ghost cells. O(1); cuts: O(log procs);
   redist_lists, and all but redist_axis_owner of redist_owners: O(n). */

/* The coordinate that owns view index i; -1 when i is outside the view. */
REDIST_AXIS_API int redist_axis_owner(const redist_axis *x, int64_t i);
/* The position of view index i in its owner's local array; -1 when i is outside the view. */
REDIST_AXIS_API int64_t redist_axis_local(const redist_axis *x, int64_t i);
/* The view index at local position l of coord; -1 when not in the view. Inverse of
   redist_axis_owner and redist_axis_local. */
REDIST_AXIS_API int64_t redist_axis_global(const redist_axis *x, int coord, int64_t l);
/* How many view indices coord owns; 0 outside the axis. O(log block) in views with steps. */
REDIST_AXIS_API int64_t redist_axis_count(const redist_axis *x, int coord);

/* ---------------------------------------------------------------------------- layouts and views */

/* A layout of 1, 2, 3 or ndim axes, 1 <= ndim <= REDIST_MAX_DIMS: axes[ndim], the slowest-varying
   first, as in C. The list is copied, but not the cuts that its axes refer to. The process grid is
   the product of the axes' processes, at most INT_MAX; its places are numbered row by row and live
   on ranks 0, 1, .... Local arrays are stored row by row without a halo. The array has fewer than
   2^62 elements, and so has each local array, ghost cells and padding included. */
REDIST_PRIV_BUILDER redist_layout redist_layout_1d(redist_axis x);
REDIST_PRIV_BUILDER redist_layout redist_layout_2d(redist_axis x, redist_axis y);
REDIST_PRIV_BUILDER redist_layout redist_layout_3d(redist_axis x, redist_axis y, redist_axis z);
REDIST_PRIV_BUILDER redist_layout redist_layout_nd(int ndim, const redist_axis *axes);

/* A layout of an array of extents[ndim], each >= 0, in which place k owns box[k], 0 <= k < boxes. A
   box lies in the array, or is empty: low >= high along some axis, with any values there. Every
   element lies in exactly one box: redist_layout_explain names two boxes that overlap, or an
   element in none (which redist_partial allows).
   box[boxes], boxes >= 1, is kept by reference: it must outlive the layout; extents are copied.
   Boxes form no grid: along every axis, a place's coordinate is its box's number; redist_grid_order
   has no effect. A plan sorts the boxes, and finds each one's peers in O(log boxes + peers). */
REDIST_PRIV_BUILDER redist_layout redist_layout_boxes(int ndim, const int64_t *extents, int boxes,
                                                      const redist_box *box);

/* Builders that are passed a layout return a changed copy. Builders never fail: bad arguments make
   a layout that redist_layout_check refuses; redist_layout_explain reports its first mistake.
   `axis`, 0 <= axis < ndim, counts the axes of the layout that is passed, a view or not. */

/* How places are numbered, and so which one is number k in the lists of redist_on_ranks and
   redist_at_offsets: the coordinate along the last (REDIST_ROW_MAJOR, the default) or the first
   axis varies fastest. In a grid of 2 x 3, coordinates (1, 0) are place 3, or in column-major order
   place 1. Refers to the axes as given to redist_layout_nd, whatever views are made before or
   after. */
REDIST_PRIV_BUILDER redist_layout redist_grid_order(redist_layout layout, redist_order order);
/* The axis that is contiguous in memory: the last (REDIST_ROW_MAJOR, the default) or the first, of
   the axes as given to redist_layout_nd, whatever views are made before or after. */
REDIST_PRIV_BUILDER redist_layout redist_memory_order(redist_layout layout, redist_order order);
/* Place k lives on rank first_rank + k, 0 <= first_rank <= INT_MAX - places. Replaces
   redist_on_ranks. */
REDIST_PRIV_BUILDER redist_layout redist_from_rank(redist_layout layout, int first_rank);
/* Place k lives on ranks[k] >= 0. Replaces redist_from_rank. Places are numbered row by row over
   the grid, or as redist_grid_order says; place k of redist_layout_boxes has box k; replica c of
   place k is place k + c * (places of the grid). A rank may hold several places, but no two
   replicas of one. ranks[places] is kept by reference: it must outlive the layout (plans keep
   copies of all lists). Where a rank holds several places of the destination, redist_relabel fails
   (REDIST_ERR_RANK); where it does of either layout, redist_phases finds no route. */
REDIST_PRIV_BUILDER redist_layout redist_on_ranks(redist_layout layout, const int *ranks);
/* Place k, numbered as for redist_on_ranks, begins at element offsets[k] of its rank's array, 0 <=
   offsets[k] <= 2^62, which ends with the last cell of any of the rank's places. By default a
   rank's places lie one after another in ascending order, and each takes the product of its cells
   along all axes, ghost cells and padding included. Places may interleave, as tiles in one array do
   (redist_with_allocated), but cells that hold elements must not coincide. A rank reads only the
   offsets of its own places, so the others may differ from rank to rank. offsets[places] is kept by
   reference, as ranks are. redist_move, which takes one array per place, ignores the offsets. */
REDIST_PRIV_BUILDER redist_layout redist_at_offsets(redist_layout layout, const int64_t *offsets);
/* Repeats the whole grid `replicas` times: replica c of place k is place k + c * (places of the
   grid), and redist_on_ranks takes the ranks of all of them. No rank holds two replicas of a place.
   replicas >= 1, at most INT_MAX places in all; a later call replaces an earlier one.
   All replicas of a destination receive. Of a replicated source, a destination rank that holds a
   replica of a source place reads that one. Others read round-robin: if 4 destination places share
   elements with a source place of 2 replicas, they read replicas 0, 1, 0 and 1 (in the order of
   their coordinates, first all of the destination's replica 0). Of n such places, a replica sends
   to at most ceil(n / replicas) other ranks; where none reads its own, replicas differ by at most
   one. */
REDIST_PRIV_BUILDER redist_layout redist_replicated(redist_layout layout, int replicas);
/* Surrounds the local array by ghost cells along an axis: `low` before local position 0 and `high`
   after the last, both >= 0, in the order of memory (a flipped view does not exchange them).
   Without redist_with_ghosts, ghost cells are never accessed. */
REDIST_PRIV_BUILDER redist_layout redist_with_halo(redist_layout layout, int axis, int64_t low,
                                                   int64_t high);
/* The ghost cells that redist_with_halo gave an axis hold elements: those of the neighbouring
   indices. Past an end of the axis, REDIST_PERIODIC continues at the other end; with REDIST_CLOSED,
   cells there hold nothing. A destination receives its ghost cells, too. Those of a source are
   ignored, unless the plan combines (redist_plan.h): then they are combined into their owners'
   elements. Ghost cells of several axes form their product, so corners are included, unless
   redist_without_corners follows. Every coordinate must own one interval of the axis (block,
   balanced, cuts, whole, boxes), of any length. The halo, at least 1 on one side, may reach over
   several neighbours, on either side at most the length of the axis; ghost cells of a coordinate
   that owns nothing lie around where its interval would begin. To fill an array's ghost cells (a
   halo exchange), redistribute in place from its layout to the same with ghosts. */
REDIST_PRIV_BUILDER redist_layout redist_with_ghosts(redist_layout layout, int axis,
                                                     redist_edge edge);
/* Of the ghost cells of redist_with_ghosts, only the nearest `low` and `high` in memory hold
   elements, 0 <= low, high <= the halo; the others are storage. So plans of different depths may
   exchange in one array, in place. Call it after redist_with_ghosts, else REDIST_ERR_LAYOUT; a
   later redist_with_ghosts or redist_with_halo restores the whole halo. */
REDIST_PRIV_BUILDER redist_layout redist_ghost_depth(redist_layout layout, int axis, int64_t low,
                                                     int64_t high);
/* Of the ghost cells that redist_with_ghosts gave several axes, only those beyond one axis hold
   elements (faces), as stencils without diagonals need them; corners, and edges of bricks, are
   storage. Neighbours that share nothing else exchange no message. Where one axis has ghosts,
   nothing changes. Call it after redist_with_ghosts of at least one axis, else REDIST_ERR_LAYOUT;
   it then applies to all axes, also to those that a later redist_with_ghosts gives ghosts. */
REDIST_PRIV_BUILDER redist_layout redist_without_corners(redist_layout layout);
/* Allows elements of a layout of boxes (of others: REDIST_ERR_LAYOUT) to lie in no box. No rank
   owns such elements; where this layout is the source, their destinations are left unchanged, but
   for what its ghost cells contribute to a plan that combines. So a halo exchange fills only those
   ghost cells that lie in other boxes. */
REDIST_PRIV_BUILDER redist_layout redist_partial(redist_layout layout);
/* Sets how many elements the local array has along an axis (a leading dimension), >= 0; it may
   differ from rank to rank. It must cover the low halo, what the rank owns, and the high halo up to
   the last cell that can hold an element: no cell without redist_with_ghosts, and none past a
   closed end. 0, the default: what the rank owns and its whole halo. A length that is too small is
   refused where arrays are used, by redist_plan_create, redist_move and redist_layout_types
   (REDIST_ERR_LAYOUT); redist_layout_check does not know the rank. */
REDIST_PRIV_BUILDER redist_layout redist_with_allocated(redist_layout layout, int axis,
                                                        int64_t allocated);
/* The layout of a ScaLAPACK matrix. desc: DTYPE and CTXT (not read), M, N, MB, NB, RSRC, CSRC, LLD.
   nprow x npcol: its process grid, whose places are numbered row by row (BLACS "Row"). The local
   array is column-major with LLD elements along axis 0; only LLD may differ from rank to rank. */
REDIST_PRIV_BUILDER redist_layout redist_from_scalapack(const int desc[9], int nprow, int npcol);
/* Axis d of the result is axis axes[d]; axes[ndim] is a permutation of 0, ..., ndim - 1. */
REDIST_PRIV_BUILDER redist_layout redist_permuted(redist_layout layout, const int *axes);
/* All axes reversed: element (i, j) of the result is element (j, i). */
REDIST_PRIV_BUILDER redist_layout redist_transposed(redist_layout layout);
/* The axis reversed: its index i is index count - 1 - i of the layout that is passed. */
REDIST_PRIV_BUILDER redist_layout redist_flipped(redist_layout layout, int axis);
/* Axes 0 and 1 turned counter-clockwise by quarter_turns * 90 degrees (any int), like numpy.rot90;
   ndim >= 2. */
REDIST_PRIV_BUILDER redist_layout redist_rotated(redist_layout layout, int quarter_turns);
/* A section of the axis: its index i, 0 <= i < count, is index start + i * step of the layout that
   is passed. count >= 0, step is not 0, and all these indices lie in the axis. */
REDIST_PRIV_BUILDER redist_layout redist_section(redist_layout layout, int axis, int64_t start,
                                                 int64_t count, int64_t step);
#ifndef REDIST_NO_LISTS
/* redist_split: the axis, of length n, becomes two, of lengths n / inner and inner, of which the
   second varies faster: index i becomes i / inner and i % inner. inner >= 1 divides n; the axis may
   be distributed in any way. redist_merged is the inverse: the axis and the next one become one,
   whose index is i * (length of the next) + j. Splits and merges make the reshapes of numpy whose
   lengths divide each other. Memory and ownership stay, so what a process owns need not be a
   product of the new axes.
   Call redist_with_halo and redist_with_allocated before: axes that are split or merged refuse them
   (REDIST_ERR_LAYOUT). Coordinates of processes (redist_layout_rank, _coords, _place_coords) remain
   those of the axes before the first split or merge, until merges have undone all splits and splits
   all merges: then the view is as if there had been none.
   REDIST_ERR_LAYOUT: boxes, or an axis with redist_with_ghosts, are split or merged; or an axis
   that is a section of a merged one (it may be reversed). In plans and on paper also where one side
   splits an axis, and the other side has boxes or redist_with_ghosts on the axes that come of it.
   REDIST_ERR_SHAPE: `inner` and a length by which the axis was merged do not divide each other; in
   plans and on paper also where both sides merge an axis by such lengths: 4 x 6 is no view of
   3 x 8. REDIST_ERR_OVERFLOW, there, only if the product of 4 (l + 1) over the axes that are
   joined, where l is the largest length of an axis in any place, reaches 2^62. */
REDIST_PRIV_BUILDER redist_layout redist_split(redist_layout layout, int axis, int64_t inner);
REDIST_PRIV_BUILDER redist_layout redist_merged(redist_layout layout, int axis);
#endif

/* REDIST_OK, or why the layout is invalid: REDIST_ERR_ARGUMENT (NULL), REDIST_ERR_LAYOUT,
   REDIST_ERR_RANK, REDIST_ERR_OVERFLOW, REDIST_ERR_MEMORY. O(axes); O(places log places) with
   redist_on_ranks; O(boxes log boxes) with boxes. */
REDIST_API int redist_layout_check(const redist_layout *layout);
/* Returns what redist_layout_check does, and writes a sentence that names the axis and the value to
   text[size]: cut short to fit, always terminated; empty when all is well; may be NULL when size is
   0. */
REDIST_API int redist_layout_explain(const redist_layout *layout, char *text, size_t size);

/* Queries of a layout. On a layout that redist_layout_check refuses, redist_layout_rank, _owner,
   _offset and _next_place return -1, the others 0; but they do not check the ranks of
   redist_on_ranks, nor whether boxes overlap or leave out elements. */

/* Processes in the grid, times its replicas. */
REDIST_API int redist_layout_places(const redist_layout *layout);
/* The rank that holds the place at coords[ndim], by axis of the view, in replica 0; -1 when there
   is no such place. */
REDIST_API int redist_layout_rank(const redist_layout *layout, const int *coords);
/* Writes the coordinates of a rank's place, the lowest of several, to coords[ndim]. 1 when the rank
   holds a place of any replica, else 0 (and nothing is written). O(axes); O(places) with
   redist_on_ranks. */
REDIST_API int redist_layout_coords(const redist_layout *layout, int rank, int *coords);
/* How many places a rank holds. The first `most` >= 0 of them are written to places[most],
   ascending; it may be NULL when most is 0. O(places) with redist_on_ranks. */
REDIST_API int redist_layout_on_rank(const redist_layout *layout, int rank, int most, int *places);
/* Returns the least place of a rank after another, place >= -1; -1 when there is none. Begin with
   -1. With redist_on_ranks O(places) for all of a rank's together, else O(1). */
REDIST_API int redist_layout_next_place(const redist_layout *layout, int rank, int place);
/* Writes the coordinates of a place, 0 <= place < redist_layout_places, to coords[ndim]. 1, or 0
   when there is no such place (and nothing is written). O(axes). */
REDIST_API int redist_layout_place_coords(const redist_layout *layout, int place, int *coords);
/* The rank in replica 0 that owns element index[ndim] of the view; -1 outside it, or in no box. */
REDIST_API int redist_layout_owner(const redist_layout *layout, const int64_t *index);
/* The offset of element index[ndim] of the view in its owner's array, in elements, including ghost
   cells and places before its own; -1 when nobody owns it. Pass the owner's own layout where
   lengths of redist_with_allocated or offsets of redist_at_offsets differ from rank to rank. */
REDIST_API int64_t redist_layout_offset(const redist_layout *layout, const int64_t *index);
/* The elements of a rank's local array, ghost cells and padding of all its places included: what to
   allocate. 0 if it holds no place. */
REDIST_API int64_t redist_layout_local_size(const redist_layout *layout, int rank);
/* Returns redist_layout_local_size, and writes where place k begins in the rank's array, in
   elements, to offsets[k], as redist_at_offsets takes it; those of other ranks' places stay as they
   are. offsets[redist_layout_places] may be NULL. O(places). With the offsets in the layout,
   redist_layout_place_shape and redist_layout_offset take O(axes) for a place, else as long as all
   places before it. */
REDIST_API int64_t redist_layout_place_offsets(const redist_layout *layout, int rank,
                                               int64_t *offsets);

/* How to loop over the elements that a rank owns: they are a[origin + i * stride[0] + j * stride[1]
   + ...], 0 <= i < count[0], ..., by axis of the view. first: the view index of i = 0 (0 when the
   rank owns nothing); view indices ascend with i, by 1 unless blocks are cyclic (then ask
   redist_axis_global). stride: in elements of memory, negative in a flipped view. allocated: cells
   that the place's array has along the axis; of one that redist_split made, its length. origin: the
   first element's offset in the rank's array, ghost cells and places before this one included. */
typedef struct {
  int64_t first[REDIST_MAX_DIMS], count[REDIST_MAX_DIMS], stride[REDIST_MAX_DIMS];
  int64_t allocated[REDIST_MAX_DIMS], origin;
} redist_shape;

/* Writes the shape of what a rank owns, of its lowest place when it has several. Returns no
   redist_error, but 1 when it holds a place, else 0 (shape is not written); -1 when the elements of
   an axis lie at unequal distances (its stride is 0 then): in sections with steps through cyclic
   blocks, in redist_lists, along a merged axis, and along a split one that is distributed; or when
   memory is exhausted. O(axes); with such steps, one pass over a period of the blocks, for which
   memory is taken. */
REDIST_API int redist_layout_shape(const redist_layout *layout, int rank, redist_shape *shape);
/* Writes the shape of what one place owns, 0 <= place < redist_layout_places(layout). 1; 0 when
   there is no such place (shape is not written); -1 as redist_layout_shape. */
REDIST_API int redist_layout_place_shape(const redist_layout *layout, int place,
                                         redist_shape *shape);

/* ------------------------------------------------------------------------ moving on one process */

/* The whole redistribution inside one process, for tests, simulation and threads. from_arrays[k]
   and to_arrays[k] are the local arrays of place k; each has as many elements, of element_bytes >=
   1 bytes, as redist_layout_local_size gives for a rank that holds no other place; NULL where a
   place holds nothing. Arrays must not overlap. Only owned elements and ghost cells of
   redist_with_ghosts are written.
   REDIST_ERR_ARGUMENT, _LAYOUT, _SHAPE, _RANK, _OVERFLOW: nothing is written. _MEMORY: some
   elements may be. */
REDIST_API int redist_move(const redist_layout *from, const void *const *from_arrays,
                           const redist_layout *to, void *const *to_arrays, size_t element_bytes);

/* Combines elements that arrive, `from`, with those at the destination: to[i] = f(to[i], from[i]),
   0 <= i < n. Both are contiguous, in elements of the size given to the plan or
   redist_move_combining. Called for sections of the arrays in any order, with OpenMP by several
   threads at once. */
typedef void redist_combine(const void *from, void *to, int64_t n, void *context);

/* The element type of redist_combine_axpby. */
typedef enum {
  REDIST_FLOAT = 0,
  REDIST_DOUBLE,
  REDIST_COMPLEX_FLOAT,
  REDIST_COMPLEX_DOUBLE
} redist_number;

/* The context of redist_combine_axpby. alpha, beta: real and imaginary part, the latter ignored for
   real types. */
typedef struct {
  redist_number type;
  double alpha[2], beta[2];
  int conjugate; /* not 0: conjugate `from` */
} redist_axpby;

/* to = beta to + alpha from, as in p?geadd and p?tran; context: a redist_axpby, read at every
   execution. Where beta is 0, `to` is written but not read. */
REDIST_API void redist_combine_axpby(const void *from, void *to, int64_t n, void *context);

/* redist_move where every holder of an element contributes: its owner, the ghost cells of
   redist_with_ghosts and all replicas of the source, in an order that only depends on the layouts.
   NULL combine: redist_move. Errors as redist_move. */
REDIST_API int redist_move_combining(const redist_layout *from, const void *const *from_arrays,
                                     const redist_layout *to, void *const *to_arrays,
                                     size_t element_bytes, redist_combine *combine, void *context);

/* ---------------------------------------------------------------------------- traffic, on paper */

/* What redist_traffic_between counts. */
typedef struct {
  int64_t total, local, moved;     /* elements that the destination receives, in all replicas */
  int64_t messages;                /* pairs of different ranks that exchange anything       */
  int64_t max_sends, max_receives; /* messages, over ranks                                  */
  int64_t max_sent, max_received;  /* elements, over ranks, to and from other ranks         */
} redist_traffic;

/* Writes how many elements rank_from of `from` sends to rank_to of `to` to *elements: 0 when either
   rank holds no place, or rank_to receives from another replica; -1 on failure.
   REDIST_ERR_ARGUMENT, _LAYOUT, _SHAPE, _RANK, _OVERFLOW, _MEMORY. */
REDIST_API int redist_volume(const redist_layout *from, int rank_from, const redist_layout *to,
                             int rank_to, int64_t *elements);

/* Counts the elements that the redistribution moves between ranks, and those that it leaves on
   their rank (local). combining: not 0 for a plan that combines, to which all holders of the source
   contribute. total: what all holders of the destination receive, at most 2^62 (of a source with
   gaps, too, as if there were none). O(places x axes + sum of the axes' runs); O(pairs of places
   that share elements) with replicas, ghosts, boxes or several places on a rank. *traffic: all zero
   on failure. REDIST_ERR_ARGUMENT, _LAYOUT, _SHAPE, _RANK, _OVERFLOW, _MEMORY. */
REDIST_API int redist_traffic_between(const redist_layout *from, const redist_layout *to,
                                      int combining, redist_traffic *traffic);

/* ------------------------------------------------------------------------------------ schedules */

/* Who exchanges with whom at which step, made by redist_schedule_create. What it contains is
   private. */
typedef struct redist_schedule redist_schedule;

/* Arranges the messages of any two layouts of the same shape in steps without contention: in every
   step each rank sends at most one message and receives at most one (a copy to itself is one), and
   every pair of ranks that shares elements meets in exactly one step. steps is the most messages
   that any rank sends, or receives: the least possible (Koenig 1916). The schedule needs no tables
   where both sides are block-cyclic with blocks of r and K r on the same number of processes, where
   both have one interval per coordinate, or where all coordinates share elements with all. Else it
   takes O(pairs of coordinates of an axis) of memory, or O(pairs of ranks) where axes cannot be
   arranged one by one, as with replicas, boxes or several places on a rank. combining: not 0 for a
   plan that combines. The layouts are copied; the cuts and ranks that they refer to must outlive
   the schedule.
   *schedule: the new schedule, NULL on failure; free it with redist_schedule_free.
   REDIST_ERR_ARGUMENT, _LAYOUT, _SHAPE, _RANK, _OVERFLOW, _MEMORY. */
REDIST_API int redist_schedule_create(const redist_layout *from, const redist_layout *to,
                                      int combining, redist_schedule **schedule);
/* Frees a schedule and sets *schedule to NULL; does nothing if it is NULL. REDIST_ERR_ARGUMENT:
   `schedule` is NULL. */
REDIST_API int redist_schedule_free(redist_schedule **schedule);
/* How many steps a schedule has, the fewest possible; 0 for an empty array, and for NULL. */
REDIST_API int redist_schedule_steps(const redist_schedule *schedule);
/* Finds the ranks that `rank` sends to and receives from at a step, 0 <= step < steps; -1: none,
   also when `rank` holds no place. O(axes), times a logarithm where there are tables, cuts or
   redist_on_ranks. REDIST_ERR_ARGUMENT: NULL, or no such step; nothing is written. */
REDIST_API int redist_schedule_step(const redist_schedule *schedule, int rank, int step,
                                    int *send_to, int *receive_from);

/* ------------------------------------------------------------------- cost and multiphase routes */

/* What the cost model charges: seconds, both finite and >= 0. */
typedef struct {
  double per_message, per_byte;
} redist_cost;

/* Writes the seconds that one exchange takes by the model of Kaushik et al. 1994, Q ts + (N/P) te,
   to *seconds (-1 on failure): Q is the most messages that any rank sends or receives, a copy to
   itself counted (if the source is replicated, an upper bound that may exceed Q by 1); N/P the most
   elements that any rank sends or receives, those that it keeps counted; ts = cost->per_message; te
   = element_bytes * cost->per_byte, element_bytes >= 1. Work is a sum over axes: mostly a formula
   where both axes are block-cyclic and seen whole, O(coordinates) where one of them has an interval
   per coordinate, else O(pairs of coordinates that meet). REDIST_ERR_ARGUMENT (NULL, a bad cost,
   element_bytes 0), _LAYOUT, _SHAPE, _RANK, _OVERFLOW, _MEMORY. */
REDIST_API int redist_cost_of(const redist_layout *from, const redist_layout *to,
                              size_t element_bytes, const redist_cost *cost, double *seconds);

/* The cheapest multiphase route found, by the model of redist_cost_of. The data passes through
   *stops intermediate layouts, at most `max` and never more than 7, which are written to
   between[max] in order (others of its entries may be overwritten). *stops is 0 where the data
   should go directly: no route is predicted to be cheaper, or a side is replicated, has ghosts or
   boxes, or a rank holds several places. Intermediate layouts have the shape of the two views,
   without ghost cells. Each lives on ranks of `to`, with the grid and memory order of `to`, or on
   those of `from` when its grid fits only there. No rank holds more than twice what the fullest
   rank holds before or after. Lists of ranks and cuts are shared by reference. Example: rows on 16
   ranks become columns by way of 4 x 4 blocks, with 8 messages instead of 16, and twice the
   elements. Costs a few evaluations of redist_cost_of for each phase.
   REDIST_ERR_ARGUMENT: NULL (between may be NULL when max is 0), a bad cost, element_bytes < 1, max
   < 0. Else REDIST_ERR_LAYOUT, _SHAPE, _RANK, _OVERFLOW, _MEMORY. *stops is 0 then. */
REDIST_API int redist_phases(const redist_layout *from, const redist_layout *to,
                             size_t element_bytes, const redist_cost *cost, int max,
                             redist_layout *between, int *stops);

/* Writes the layouts that the data passes through, in order, on the process grid grid[dims] to
   sequence[most], most = 16: the callback of redist_best_grid. Returns how many it wrote; 0 where
   this grid cannot be used, for instance because it would leave ranks without elements. Lists that
   the layouts refer to (ranks, cuts, ...) must live until the next call, or the end of
   redist_best_grid. context: as given to redist_best_grid. */
typedef int redist_layouts(const int *grid, redist_layout *sequence, int most, void *context);

/* Finds the best process grid by arithmetic: of all ordered factorizations of procs into dims
   factors, procs >= 1, 1 <= dims <= REDIST_MAX_DIMS, the one whose sequence of layouts is predicted
   to take the least time. Local: no communication, no trial; all ranks find the same grid.
   The seconds of a sequence are the sum of redist_cost_of over its exchanges, from each layout to
   the next. Between layouts whose shapes differ (redist_cost_of: REDIST_ERR_SHAPE) there is none: a
   transform that keeps fewer modes than points stands in the sequence as a layout of the points and
   one of the modes. Of equally good grids, the one whose largest factor is the smallest is taken,
   and of these the lexicographically first.
   layouts: called once for each grid, in lexicographic order. grid[dims]: receives the best.
   seconds: receives those of its sequence. Example: of pencils along x, y and z on 16 ranks, 4 x 4
   is best, since each rank sends 8 messages, its copies to itself counted, not 17.
   Takes as long as redist_cost_of for each grid: there are 13 grids of 4,096 in 2 factors, 91 in 3.
   On failure *seconds is -1. REDIST_ERR_ARGUMENT: NULL (only context may be NULL), out of range, a
   bad cost, element_bytes 0; grid is untouched. Else grid is the one that failed, for which
   redist_layout_explain may tell more: REDIST_ERR_ARGUMENT: `layouts` did not return 0 to `most`;
   REDIST_ERR_LAYOUT: an invalid layout, or no grid can be used (then grid is the last); _RANK,
   _OVERFLOW, _MEMORY. */
REDIST_API int redist_best_grid(int procs, int dims, redist_layouts *layouts, void *context,
                                size_t element_bytes, const redist_cost *cost, int *grid,
                                double *seconds);

/* ----------------------------------------------------------------------- relabelling and advice */

/* Renumbers the destination so that as many elements as possible stay on their rank. Place k of
   `to` is assigned to ranks[k], a rank that either layout uses, no rank twice; then plan with
   redist_on_ranks(to, ranks). ranks has as many entries as `to` has places. node_ranks > 1: rank r
   is on node r / node_ranks, and as many elements as possible stay on their node; of these
   assignments, it returns one that keeps the most on their rank; 0 and 1: each rank is a node. Of
   equally good ones, it returns one that moves the fewest places off their rank in `to`; a current
   numbering that is best is returned unchanged. To renumber the source instead, exchange the
   arguments: redist_relabel(to, from, node_ranks, ranks), then redist_on_ranks(from, ranks).
   Exact for any number of places: an assignment over the pairs of a place and a rank on a node that
   it receives elements from, in time and memory that grow with their number (rows to columns
   receive from all: 4,096 places take seconds).
   It reaches the bounds of Kalns and Ni 1995 (BLOCK of b to CYCLIC(c) on p processes keeps at most
   ceil(b/(c p)) c p of b p elements) and of Hsu et al. 2001 (CYCLIC(k r) to CYCLIC(r) on M
   processes, and back, keeps ceil(k/M) M r of a cycle of M k r). All ranks that ask find the same
   answer.
   REDIST_ERR_ARGUMENT (NULL, node_ranks < 0), _LAYOUT, _SHAPE, _RANK (also where a rank holds
   several places of `to`), _OVERFLOW, _MEMORY; ranks is written on success only. */
REDIST_API int redist_relabel(const redist_layout *from, const redist_layout *to, int node_ranks,
                              int *ranks);

/* What redist_advise answers. */
typedef struct {
  double gain; /* seconds that redistributing saves in all; negative: that it costs */
  /* the fewest repetitions, >= 1, that gain anything; -1: none up to 2^53 does */
  int64_t break_even;
  int worthwhile; /* 1 when gain > 0, else 0 */
} redist_advice;

/* Advises whether to compute on the current layout or to redistribute first. here, there: seconds
   of one repetition of the computation on the current layout and on the other. in, out: seconds to
   redistribute its input to the other layout before the first repetition, and its results back
   after the last (0 when they may stay there). All are >= 0 and finite, and so is in + out.
   repetitions >= 0. The gain is repetitions (here - there) - in - out: with one repetition and no
   way back the comparison of Namugwanya 2021, tables 4.1 to 4.4. REDIST_ERR_ARGUMENT: NULL, or out
   of range. */
REDIST_API int redist_advise(double here, double there, double in, double out, int64_t repetitions,
                             redist_advice *advice);

/* ----------------------------------------------------------------------------------------- text */

/* Layouts as text, such as `100x80: block@4, cyclic(8)@2; memory column-major`. What is printed can
   be parsed, and is then the same layout. The axes are written as the view shows them, with the
   view's extents in front:

       layout  extent x extent ...: axis, axis, ...; option; option ...
       axis    one of
                 *                              redist_whole
                 block@procs                    redist_block
                 cyclic@procs                   redist_cyclic
                 cyclic(block)@procs            redist_block_cyclic
                 balanced@procs                 redist_balanced
                 cuts(0, cut, ..., extent)      redist_cuts
                 owners(owner, ...)@procs       redist_owners
                 box                            of redist_layout_boxes
               followed by any of
                 from coordinate                redist_starting_at
                 [start:count:step of extent]   redist_section of `extent`; :step may be absent
                 halo(low, high)                redist_with_halo; halo(width) for both sides
                 periodic | closed              redist_with_ghosts
                 depth(low, high)               redist_ghost_depth; depth(width) for both sides
                 allocated(number)              redist_with_allocated
       option  one of
                 axes(stored, ...)              redist_permuted: axis d is axis stored[d]
                 transposed                     the same, in reversed order
                 grid row-major | grid column-major      redist_grid_order
                 memory row-major | memory column-major  redist_memory_order
                 from rank first                redist_from_rank
                 ranks rank, rank, ...          redist_on_ranks; or on rank rank ...
                 offsets offset, offset, ...    redist_at_offsets
                 replicas number                redist_replicated
                 boxes low:high x ..., ...      redist_layout_boxes; all axes are `box`
                 partial                        redist_partial
                 without corners                redist_without_corners
                 reshaped length x length ...   redist_merged and redist_split, to these lengths

   White space may stand between any two of these; case does not matter; no clause comes twice. */

#ifndef REDIST_NO_TEXT
/* Writes a layout as text into text[size], cut short to fit and always terminated; it may be NULL
   when size is 0. Returns the length of the whole text like snprintf, or -1 for a layout that
   redist_layout_check refuses, and an empty text, or for one that text cannot describe: with
   redist_lists, or of which other views were taken after redist_split and redist_merged. */
REDIST_API int64_t redist_layout_format(const redist_layout *layout, char *text, size_t size);
/* Writes a layout as one line of text, in which redist_lists is `lists@procs`. REDIST_ERR_ARGUMENT
   for NULL, or what redist_layout_check says. */
REDIST_API int redist_layout_print(const redist_layout *layout, FILE *file);
/* Bytes of storage that redist_layout_parse takes for a text's lists; of a wrong text, up to where
   it is wrong. 0 for NULL. */
REDIST_API size_t redist_layout_parse_size(const char *text);
/* Reads a layout from its text. The lists of cuts, owners, ranks, offsets and boxes in the text
   go to storage[storage_bytes], aligned as an int64_t, which must live as long as the layout:
   redist_layout_parse_size(text) bytes, NULL when that is 0. On failure message[message_size] holds
   a sentence, cut short to fit, else ""; it may be NULL when message_size is 0.
   REDIST_ERR_ARGUMENT: NULL, or storage is not aligned.
   REDIST_ERR_LAYOUT: the text does not match the grammar; the sentence begins with the position,
   `column 14: expected '@' and the number of processes, found 'x'`, columns counted in bytes from
   1. REDIST_ERR_MEMORY: storage is too small; the sentence says how much is needed. Else what
   redist_layout_explain says. *layout is always written; after a failure redist_layout_check
   refuses it. */
REDIST_API int redist_layout_parse(const char *text, redist_layout *layout, void *storage,
                                   size_t storage_bytes, char *message, size_t message_size);
#endif

/* Names before 1.0: their use is an error that says today's, until 2.0. */
#define redist_owner(...) redist_owner_is_now_redist_axis_owner
#define redist_local(...) redist_local_is_now_redist_axis_local
#define redist_global(...) redist_global_is_now_redist_axis_global
#define redist_count(...) redist_count_is_now_redist_axis_count
#define redist_layout_alloc(...) redist_layout_alloc_is_now_redist_layout_local_size
#define redist_with_extent(...) redist_with_extent_is_now_redist_with_allocated
#define redist_places(...) redist_places_is_now_redist_layout_places
#define redist_rank_of(...) redist_rank_of_is_now_redist_layout_rank
#define redist_coords_of(...) redist_coords_of_is_now_redist_layout_coords

/* =================================================================================================
   Bodies, under the same banners.
   ============================================================================================== */

/* ------------------------------------------------------------------ toolbox: numbers and memory */

/* All constants that were tuned or chosen: their unit, what they decide, and the command that
   measured them (chosen: none did). */
enum {
  /* What axes share, which becomes a few runs if these have so many elements on average
     (build/owners), or are one for so many segments (chosen); segments among which repetitions are
     sought (chosen). */
  REDIST_PRIV_LONG_RUN = 64,
  REDIST_PRIV_FEW_RUNS = 16,
  REDIST_PRIV_SEARCHED = 131072,

  /* Compiled copies: offsets in a table, of as many superblocks as fit, and rows that are copied by
     it before what is left of them is (build/cycles); elements of an axis below which a slower one
     is made the table (chosen); forms of copies that a pool remembers, a power of 2
     (build/boxes). */
  REDIST_PRIV_TABLE_UNITS = 128,
  REDIST_PRIV_ROWS_AT_ONCE = 4,
  REDIST_PRIV_FEW_ELEMENTS = 32,
  REDIST_PRIV_FORMS = 64,

  /* Copying, in bytes: a cache line; what lies on the stack while lines are assembled
     (build/transposes), and how many times as much for strips that are combined (build/halo); what
     stays in the second-level cache, so that larger tiles are prefetched (chosen); the greatest
     width of a tile, and that of one whose rows may each lie on a page of their own
     (build/transposes); the longest row that is not copied by memcpy (build/cycles); the shortest
     contiguous write that streams (build/transposes). */
  REDIST_PRIV_LINE = 64,
  REDIST_PRIV_TILE_BUFFER = 8192,
  REDIST_PRIV_TILE_BUFFERS = 8,
  REDIST_PRIV_NEAR = 262144,
  REDIST_PRIV_PAGE = 4096,
  REDIST_PRIV_WIDTH = 256,
  REDIST_PRIV_ROW = 1024,
  REDIST_PRIV_LONG = 128,

  /* Iterations of a loop that threads share at once (chosen). */
  REDIST_PRIV_FOR_THREADS = 32,

  /* At most (chosen): phases of a chain, divisors of a number of processes, layouts for which a
     grid is sought. */
  REDIST_PRIV_PHASES = 8,
  REDIST_PRIV_DIVISORS = 1024,
  REDIST_PRIV_SEQUENCE = 16
};

#define REDIST_PRIV_MAX_ELEMENTS (INT64_C(1) << 62)

REDIST_PRIV_FAST int64_t redist_priv_min(int64_t a, int64_t b) { return a < b ? a : b; }
REDIST_PRIV_FAST int64_t redist_priv_max(int64_t a, int64_t b) { return a > b ? a : b; }
REDIST_PRIV_FAST int64_t redist_priv_abs(int64_t a) { return a < 0 ? -a : a; }
REDIST_PRIV_FAST int64_t redist_priv_clamp(int64_t a, int64_t low, int64_t high) {
  return redist_priv_min(redist_priv_max(a, low), high);
}
REDIST_PRIV_FAST int64_t redist_priv_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
/* b > 0 */
REDIST_PRIV_FAST int64_t redist_priv_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
REDIST_PRIV_FAST int64_t redist_priv_mod(int64_t a, int64_t b) {
  return a % b < 0 ? a % b + b : a % b;
}

/* Narrows low <= k <= high to the least k for which a condition of k holds, as it then does for all
   above; high, if for none below. */
#define REDIST_PRIV_BISECT(low, high, k, condition) \
  while ((low) < (high)) {                          \
    (k) = (low) + ((high) - (low)) / 2;             \
    if (condition)                                  \
      (high) = (k);                                 \
    else                                            \
      (low) = (k) + 1;                              \
  }

REDIST_PRIV_APART int64_t redist_priv_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* a * b, or limit when that is more; a, b >= 0. */
REDIST_PRIV_APART int64_t redist_priv_multiply(int64_t a, int64_t b, int64_t limit) {
  return b != 0 && a > limit / b ? limit : redist_priv_min(a * b, limit);
}

/* The smallest x >= 0 with low <= a x mod m <= high, -1 when there is none or a x passes 2^62.
   0 <= low <= high < m, 0 <= a < m. Euclid's algorithm on the pair (a, m). */
REDIST_PRIV_APART int64_t redist_priv_first_in(int64_t a, int64_t m, int64_t low, int64_t high) {
  int64_t x, wraps;
  REDIST_ASSERT(0 <= low && low <= high && high < m && 0 <= a && a < m);
  if (low == 0) return 0;
  if (a == 0) return -1;
  if (a > m - a) return redist_priv_first_in(m - a, m, m - high, m - low);
  x = redist_priv_ceil_div(low, a);
  if (x <= high / a) return x;
  wraps = redist_priv_first_in(m % a, a, redist_priv_mod(-high, a), redist_priv_mod(-low, a));
  if (wraps < 0 || wraps > (REDIST_PRIV_MAX_ELEMENTS - low) / m) return -1;
  return redist_priv_ceil_div(m * wraps + low, a);
}

/* Sum of floor((a i + b) / m) over 0 <= i < n, modulo 2^64: a difference of two such sums is exact
   if it fits, although they may wrap. Requires a n + b < 2^63, a and b reduced below m. */
REDIST_PRIV_FAST uint64_t redist_priv_floor_sum(uint64_t n, uint64_t m, uint64_t a, uint64_t b) {
  uint64_t sum = 0, pairs, top;
  for (;;) {
    pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    sum += n == 0 ? 0 : pairs * (a / m);
    sum += n * (b / m);
    a %= m;
    b %= m;
    top = a * n + b;
    if (top < m) return sum;
    n = top / m;
    b = top % m;
    top = m;
    m = a;
    a = top;
  }
}

#ifdef REDIST_PRIV_BODIES
/* How an int64_t, or a double, is aligned: to 4 bytes on i386. */
typedef struct {
  char before;
  int64_t number;
} redist_priv_aligned;
enum { REDIST_PRIV_ALIGNED = (int)offsetof(redist_priv_aligned, number) };

/* Allocates n >= 0 objects of `bytes` bytes each; NULL without memory, or if size_t overflows. */
REDIST_PRIV_APART void *redist_priv_alloc(int64_t n, size_t bytes) {
  return (uint64_t)n > SIZE_MAX / bytes ? NULL
                                        : REDIST_MALLOC((size_t)redist_priv_max(n, 1) * bytes);
}

/* The same, all zero. */
REDIST_PRIV void *redist_priv_zeroed(int64_t n, size_t bytes) {
  void *memory = redist_priv_alloc(n, bytes);
  return memory == NULL ? NULL : memset(memory, 0, (size_t)redist_priv_max(n, 1) * bytes);
}

#define REDIST_PRIV_ALLOC(type, n) ((type *)redist_priv_alloc(n, sizeof(type)))
#define REDIST_PRIV_ZEROED(type, n) ((type *)redist_priv_zeroed(n, sizeof(type)))

/* Makes room in a full growing array, to whose pointer `array` points. REDIST_ERR_MEMORY: it is as
   it was. */
REDIST_PRIV_APART int redist_priv_grow(void *array, int64_t *room, size_t bytes) {
  const int64_t more = 2 * *room + 4;
  char *old, *grown = (char *)redist_priv_alloc(more, bytes);
  if (grown == NULL) return REDIST_ERR_MEMORY;
  memcpy(&old, array, sizeof old);
  if (*room > 0) memcpy(grown, old, (size_t)*room * bytes);
  REDIST_FREE(old);
  memcpy(array, &grown, sizeof grown);
  *room = more;
  return REDIST_OK;
}

/* Appends an item to a growing array. REDIST_ERR_MEMORY: the array is as it was. */
#define REDIST_PRIV_APPEND(array, used, room, item)                                     \
  ((used) < (room) || redist_priv_grow(&(array), &(room), sizeof *(array)) == REDIST_OK \
       ? ((array)[(used)++] = (item), (int)REDIST_OK)                                   \
       : (int)REDIST_ERR_MEMORY)

/* Comparator for structs that begin with two int64_t: by the first, then by the second. */
REDIST_PRIV_COLD int redist_priv_compare_numbers(const void *a, const void *b) {
  const int64_t *x = (const int64_t *)a, *y = (const int64_t *)b;
  const int k = x[0] == y[0];
  return (x[k] > y[k]) - (x[k] < y[k]);
}
#endif

/* ------------------------------------------------------------------------------ errors (bodies) */

/* The first bytes of a valid layout; checked before anything else is read. */
#define REDIST_PRIV_MARK \
  (UINT64_C(0x72647374) << 32 | (uint64_t)REDIST_VERSION_MAJOR << 24 | (uint64_t)REDIST_MAX_DIMS)

/* Errors have one idiom. A function that can fail returns a code, and its caller stops at the first
   that is not REDIST_OK. Where the user needs to know which axis, rank or value is to blame, a
   sentence is recorded as well; only the first is kept. */

REDIST_PRIV_APART redist_priv_error redist_priv_no_error(int rank) {
  redist_priv_error error;
  error.code = REDIST_OK;
  error.rank = rank;
  error.part = error.column = error.axis = -1;
  error.text[0] = '\0';
  return error;
}

/* Records an error as "rank 3: part 2: axis 1: sentence". */
REDIST_PRIV_COLD void redist_priv_record(redist_priv_error *error, int code, const char *sentence,
                                         va_list values) {
  static const char *const name[] = {"rank", "part", "column", "axis"};
  const int where[] = {error->rank, error->part, error->column, error->axis};
  size_t used = 0;
  int k;
  if (error->code != REDIST_OK || code == REDIST_OK) return;
  error->code = code;
  for (k = 0; k < 4; k++)
    if (where[k] >= 0)
      used += (size_t)snprintf(error->text + used, sizeof error->text - used, "%s %d: ", name[k],
                               where[k]);
  vsnprintf(error->text + used, sizeof error->text - used, sentence, values);
}

/* The same for an axis; -1: of none. */
REDIST_PRIV_COLD void redist_priv_fail_axis(redist_priv_error *error, int code, int axis,
                                            const char *sentence, ...) {
  va_list values;
  if (error->code == REDIST_OK) error->axis = axis;
  va_start(values, sentence);
  redist_priv_record(error, code, sentence, values);
  va_end(values);
}

#define redist_priv_fail(error, code, ...) redist_priv_fail_axis(error, code, -1, __VA_ARGS__)

/* Records an error unless low <= value <= high. high INT64_MAX: no bound; axis -1: of no axis. */
REDIST_PRIV_COLD void redist_priv_require(redist_priv_error *error, int code, int axis,
                                          const char *what, int64_t value, int64_t low,
                                          int64_t high) {
  char most[48] = "";
  if (value >= low && value <= high) return;
  if (high < INT64_MAX) snprintf(most, sizeof most, " and at most %" PRId64, high);
  redist_priv_fail_axis(error, code, axis, "%s is %" PRId64 ", must be at least %" PRId64 "%s",
                        what, value, low, most);
}

#ifdef REDIST_PRIV_BODIES
/* Copies the sentence of an error, cut short to fit; returns its code. */
REDIST_PRIV_COLD int redist_priv_tell(const redist_priv_error *error, char *text, size_t size) {
  const size_t length = strlen(error->text), fits = length < size ? length : size - 1;
  if (text == NULL || size == 0) return error->code;
  memcpy(text, error->text, fits);
  text[fits] = '\0';
  return error->code;
}

#define REDIST_PRIV_ERROR_TEXT(name, sentence) sentence,

REDIST_API const char *redist_strerror(int code) {
  static const char *const texts[] = {REDIST_PRIV_ERRORS(REDIST_PRIV_ERROR_TEXT)};
  return code < 0 || code >= REDIST_PRIV_ERROR_CODES ? "not a redist error code" : texts[code];
}

REDIST_API int redist_version(void) { return REDIST_VERSION; }
#endif

/* -------------------------------------------------------------- axes: who owns index i (bodies) */

/* Blocks of an axis: block k holds the indices [block_start(k), block_start(k + 1)), and is block
   number k / procs of its owner. */

REDIST_PRIV_FAST int64_t redist_priv_blocks(const redist_axis *x) {
  return x->kind == REDIST_PRIV_CYCLIC ? redist_priv_ceil_div(x->extent, x->block) : x->procs;
}

REDIST_PRIV_FAST int64_t redist_priv_block_start(const redist_axis *x, int64_t k) {
  if (x->kind == REDIST_PRIV_LISTED) return redist_priv_clamp(x->begin[k * x->apart], 0, x->extent);
  if (x->kind == REDIST_PRIV_BALANCED)
    return k * (x->extent / x->procs) + redist_priv_min(k, x->extent % x->procs);
  return k > x->extent / x->block ? x->extent : k * x->block;
}

REDIST_PRIV_FAST int64_t redist_priv_block_end(const redist_axis *x, int64_t k) {
  return x->kind == REDIST_PRIV_LISTED
             ? redist_priv_clamp(x->end[k * x->apart], redist_priv_block_start(x, k), x->extent)
             : redist_priv_block_start(x, k + 1);
}

/* The last block that starts at or before g and is not empty. */
REDIST_PRIV_FAST int64_t redist_priv_cut_of(const redist_axis *x, int64_t g) {
  int64_t low = 1, high = x->procs, k;
  REDIST_PRIV_BISECT(low, high, k, x->begin[k * x->apart] > g)
  return low - 1;
}

#ifdef REDIST_NO_LISTS
enum { REDIST_PRIV_SCATTERS = 0 };
#else
enum { REDIST_PRIV_SCATTERS = 1 };
#endif

REDIST_PRIV_FAST int redist_priv_is_scattered(const redist_axis *x) {
  return REDIST_PRIV_SCATTERS && x->kind >= REDIST_PRIV_OWNERS;
}

/* Where index g stands in the list of all indices. */
REDIST_PRIV_APART int64_t redist_priv_listed_at(const redist_axis *x, int64_t g) {
  int64_t at = 0;
  while (at < x->extent - 1 && x->index[at] != g) at++;
  return at;
}

/* The number of the stretch that has index g; near: of one near it, perhaps, which makes the search
   short: in steps of 1, 2, 4, ... away from it, and then by bisection. */
REDIST_PRIV_APART int64_t redist_priv_stretch_of(const redist_priv_sets *sets, int64_t g,
                                                 int64_t near) {
  const redist_priv_stretch *stretch = sets->stretch;
  int64_t low = near, high = near + 1, k, width;
  for (width = 1; stretch[low].start > g; width *= 2) low = redist_priv_max(low - width, 0);
  for (width = 1; stretch[high].start <= g; width *= 2)
    high = redist_priv_min(high + width, sets->stretches);
  REDIST_PRIV_BISECT(low, high, k, stretch[k].start > g)
  return low - 1;
}

/* The set of a scattered axis that has index g; below 0, if the axis is invalid. */
REDIST_PRIV_FAST int64_t redist_priv_set_of(const redist_axis *x, int64_t g) {
  if (x->kind == REDIST_PRIV_OWNERS) return x->owner[g] < x->procs ? x->owner[g] : -1;
  return x->sets != NULL ? x->sets->stretch[redist_priv_stretch_of(x->sets, g, 0)].set
                         : redist_priv_cut_of(x, redist_priv_listed_at(x, g));
}

/* The block that has index g; of a scattered axis, the set. */
REDIST_PRIV_FAST int64_t redist_priv_block_of(const redist_axis *x, int64_t g) {
  /* balanced: the first `larger` blocks hold small + 1 indices */
  int64_t small = x->extent / x->procs, larger = x->extent % x->procs;
  REDIST_ASSERT(g >= 0 && g < x->extent);
  if (x->kind == REDIST_PRIV_CYCLIC) return g / x->block;
  if (x->kind == REDIST_PRIV_LISTED) return redist_priv_cut_of(x, g);
  if (redist_priv_is_scattered(x)) return redist_priv_set_of(x, g);
  return g < larger * (small + 1) ? g / (small + 1) : larger + (g - larger * (small + 1)) / small;
}

/* The first block of a coordinate; its others follow in steps of procs. */
REDIST_PRIV_FAST int64_t redist_priv_first_block(const redist_axis *x, int coord) {
  REDIST_ASSERT(coord >= 0 && coord < x->procs);
  return coord - x->first + (coord < x->first ? x->procs : 0);
}

/* Whether every coordinate owns one interval, so that nothing repeats. */
REDIST_PRIV_FAST int redist_priv_is_interval(const redist_axis *x) {
  return !redist_priv_is_scattered(x) && (x->procs == 1 || redist_priv_blocks(x) <= x->procs);
}

/* How many indices below g set k of redist_owners has. */
REDIST_PRIV_APART int64_t redist_priv_owned_below(const redist_axis *x, int64_t k, int64_t g) {
  int64_t n = 0;
  while (g-- > 0) n += x->owner[g] == k;
  return n;
}

/* The local position of index g in set k, which has it. */
REDIST_PRIV_APART int64_t redist_priv_local_in_set(const redist_axis *x, int64_t k, int64_t g) {
  if (x->sets != NULL) {
    const redist_priv_stretch *s = &x->sets->stretch[redist_priv_stretch_of(x->sets, g, 0)];
    return s->local + (g - s->start) * s->step;
  }
  return x->kind == REDIST_PRIV_OWNERS ? redist_priv_owned_below(x, k, g)
                                       : redist_priv_listed_at(x, g) - x->begin[k];
}

/* The local position of index g of the whole axis, 0 <= g <= extent, if coord owns it. Of an axis
   that is not scattered, how many indices below g it owns. */
REDIST_PRIV_FAST int64_t redist_priv_below(const redist_axis *x, int coord, int64_t g) {
  int64_t mine = redist_priv_first_block(x, coord), k, inside;
  REDIST_ASSERT(g >= 0 && g <= x->extent);
  if (redist_priv_is_scattered(x)) return redist_priv_local_in_set(x, mine, g);
  if (x->kind != REDIST_PRIV_CYCLIC) {
    const int64_t start = redist_priv_block_start(x, mine);
    const int64_t end = redist_priv_block_end(x, mine);
    return redist_priv_clamp(g, start, end) - start;
  }
  k = g / x->block;
  inside = k % x->procs > mine ? x->block : k % x->procs == mine ? g % x->block : 0;
  return k / x->procs * x->block + inside;
}

/* The local array's owned elements along an axis. */
REDIST_PRIV_FAST int64_t redist_priv_size(const redist_axis *x, int coord) {
  const int64_t k = redist_priv_first_block(x, coord);
  if (!redist_priv_is_scattered(x)) return redist_priv_below(x, coord, x->extent);
  if (x->sets != NULL) return x->sets->size[k];
  return x->kind == REDIST_PRIV_OWNERS ? redist_priv_owned_below(x, k, x->extent)
                                       : x->end[k] - x->begin[k];
}

/* Checks the cuts of an axis, or where the list of each coordinate begins. */
REDIST_PRIV_COLD void redist_priv_check_cuts(const redist_axis *x, int axis,
                                             redist_priv_error *error) {
  const char *name = x->kind == REDIST_PRIV_LISTED ? "cuts" : "begin";
  int k;
  if (x->begin == NULL)
    redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis, "%s is NULL for %d processes", name,
                          x->procs);
  for (k = 0; k <= x->procs && error->code == REDIST_OK; k++)
    if (k == 0 ? x->begin[0] != 0 : x->begin[k] < x->begin[k - 1])
      redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis,
                            "%s must start at 0 and never fall, but one is %" PRId64, name,
                            x->begin[k]);
  if (error->code == REDIST_OK && x->begin[x->procs] != x->extent)
    redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis,
                          "%s ends at %" PRId64 ", but the extent is %" PRId64, name,
                          x->begin[x->procs], x->extent);
}

REDIST_PRIV_COLD void redist_priv_check_axis(const redist_axis *x, int axis,
                                             redist_priv_error *error) {
  const int listed = x->kind == REDIST_PRIV_LISTED || x->kind == REDIST_PRIV_INDICES;
  if ((unsigned)x->kind > (unsigned)REDIST_PRIV_JOINED || (listed && x->apart != 1) ||
      (x->kind == REDIST_PRIV_JOINED && x->sets == NULL))
    redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis, "the axis was never built");
  redist_priv_require(error, REDIST_ERR_LAYOUT, axis, "the number of processes", x->procs, 1,
                      INT64_MAX);
  if (error->code == REDIST_OK && listed) redist_priv_check_cuts(x, axis, error);
  if (x->extent > 0 && ((x->kind == REDIST_PRIV_OWNERS && x->owner == NULL) ||
                        (x->kind == REDIST_PRIV_INDICES && x->index == NULL)))
    redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis, "%s is NULL for %" PRId64 " indices",
                          x->kind == REDIST_PRIV_OWNERS ? "owner" : "index", x->extent);
  redist_priv_require(error, REDIST_ERR_LAYOUT, axis, "extent", x->extent, 0, INT64_MAX);
  redist_priv_require(error, REDIST_ERR_OVERFLOW, axis, "extent", x->extent, 0,
                      REDIST_PRIV_MAX_ELEMENTS);
  redist_priv_require(error, REDIST_ERR_LAYOUT, axis, "block", x->block, 1, INT64_MAX);
  redist_priv_require(error, REDIST_ERR_LAYOUT, axis, "the coordinate of block 0", x->first, 0,
                      (int64_t)x->procs - 1);
}

/* begin, owner, index: the lists that the kind has. */
REDIST_PRIV_FAST redist_axis redist_priv_axis(redist_priv_kind kind, int64_t n, int64_t block,
                                              int procs, const int64_t *begin, const int *owner,
                                              const int64_t *index) {
  redist_axis x;
  memset(&x, 0, sizeof x);
  x.kind = kind;
  x.procs = procs;
  x.extent = x.count = n;
  x.block = redist_priv_min(block, redist_priv_max(n, 1));
  x.begin = begin;
  x.end = begin == NULL ? NULL : begin + 1;
  x.owner = owner;
  x.index = index;
  x.apart = x.step = 1;
  return redist_starting_at(x, 0);
}

REDIST_AXIS_API redist_axis redist_whole(int64_t n) { return redist_block(n, 1); }

REDIST_AXIS_API redist_axis redist_block(int64_t n, int procs) {
  int64_t block = n > 0 && procs > 0 ? redist_priv_ceil_div(n, procs) : 1;
  return redist_block_cyclic(n, block, procs);
}

REDIST_AXIS_API redist_axis redist_cyclic(int64_t n, int procs) {
  return redist_block_cyclic(n, 1, procs);
}

REDIST_AXIS_API redist_axis redist_block_cyclic(int64_t n, int64_t block, int procs) {
  return redist_priv_axis(REDIST_PRIV_CYCLIC, n, block, procs, NULL, NULL, NULL);
}

REDIST_AXIS_API redist_axis redist_balanced(int64_t n, int procs) {
  return redist_priv_axis(REDIST_PRIV_BALANCED, n, 1, procs, NULL, NULL, NULL);
}

REDIST_AXIS_API redist_axis redist_cuts(const int64_t *cuts, int procs) {
  return redist_priv_axis(REDIST_PRIV_LISTED, cuts != NULL && procs > 0 ? cuts[procs] : 0, 1, procs,
                          cuts, NULL, NULL);
}

#ifndef REDIST_NO_LISTS
REDIST_AXIS_API redist_axis redist_owners(int64_t n, const int *owner, int procs) {
  return redist_priv_axis(REDIST_PRIV_OWNERS, n, 1, procs, NULL, owner, NULL);
}

REDIST_AXIS_API redist_axis redist_lists(int64_t n, const int64_t *begin, const int64_t *index,
                                         int procs) {
  return redist_priv_axis(REDIST_PRIV_INDICES, n, 1, procs, begin, NULL, index);
}
#endif

REDIST_AXIS_API redist_axis redist_starting_at(redist_axis x, int coord) {
  redist_priv_error error = redist_priv_no_error(-1);
  x.first = coord;
  redist_priv_check_axis(&x, -1, &error);
  x.count = error.code == REDIST_OK ? x.extent : 0;
  return x;
}

REDIST_AXIS_API void redist_cuts_remainder_last(int64_t n, int procs, int64_t *cuts) {
  int k;
  for (k = 0; k <= procs; k++) cuts[k] = k < procs ? k * (n / procs) : n;
}

REDIST_AXIS_API void redist_cuts_remainder_first(int64_t n, int procs, int64_t *cuts) {
  int k;
  for (k = 0; k <= procs; k++) cuts[k] = k > 0 ? n % procs + k * (n / procs) : 0;
}

/* Index of the whole axis of view index i, -1 when i is outside the view. */
REDIST_PRIV_FAST int64_t redist_priv_axis_index(const redist_axis *x, int64_t i) {
  return x == NULL || i < 0 || i >= x->count ? -1 : x->start + i * x->step;
}

REDIST_AXIS_API int redist_axis_owner(const redist_axis *x, int64_t i) {
  const int64_t g = redist_priv_axis_index(x, i), k = g < 0 ? -1 : redist_priv_block_of(x, g);
  return k < 0 ? -1 : (int)((k + x->first) % x->procs);
}

REDIST_AXIS_API int64_t redist_axis_local(const redist_axis *x, int64_t i) {
  int64_t g = redist_priv_axis_index(x, i), k;
  if (g < 0) return -1;
  k = redist_priv_block_of(x, g);
  if (redist_priv_is_scattered(x)) return redist_priv_local_in_set(x, k, g);
  return k / x->procs * x->block + g - redist_priv_block_start(x, k);
}

/* The view index of an index of the whole axis; -1 when it is outside the view. */
REDIST_PRIV_FAST int64_t redist_priv_view_index(const redist_axis *x, int64_t g) {
  const int64_t i = (g - x->start) / x->step;
  return (g - x->start) % x->step == 0 && i >= 0 && i < x->count ? i : -1;
}

/* The index at local position l of set k, which has more than l indices. */
REDIST_PRIV_APART int64_t redist_priv_index_in_set(const redist_axis *x, int64_t k, int64_t l) {
  int64_t g = -1;
  if (x->kind == REDIST_PRIV_INDICES) return x->index[x->begin[k] + l];
  while (l >= 0) l -= x->owner[++g] == k;
  return g;
}

REDIST_AXIS_API int64_t redist_axis_global(const redist_axis *x, int coord, int64_t l) {
  int64_t g, mine;
  if (x == NULL || x->count == 0 || coord < 0 || coord >= x->procs || l < 0 ||
      l >= redist_priv_size(x, coord))
    return -1;
  mine = redist_priv_first_block(x, coord);
  if (redist_priv_is_scattered(x))
    g = redist_priv_index_in_set(x, mine, l);
  else if (x->kind == REDIST_PRIV_CYCLIC)
    g = (l / x->block * x->procs + mine) * x->block + l % x->block;
  else
    g = redist_priv_block_start(x, mine) + l;
  return redist_priv_view_index(x, g);
}

/* What a coordinate of an axis of intervals (one per coordinate) owns: begin <= index < end. */
REDIST_PRIV_FAST void redist_priv_interval(const redist_axis *x, int coord, int64_t *begin,
                                           int64_t *end) {
  *begin = redist_priv_block_start(x, redist_priv_first_block(x, coord));
  *end = *begin + redist_priv_size(x, coord);
}

/* A track: the view indices start <= i < start + length, whose local positions advance by `step`
   from `local` on. */
typedef struct {
  int64_t start, length, local, step;
} redist_priv_track;

/* The track of the axis indices low <= g < high, clipped to the view. Their local positions advance
   by `step` from `local` on. */
REDIST_PRIV_FAST redist_priv_track redist_priv_track_of(const redist_axis *x, int64_t low,
                                                        int64_t high, int64_t local, int64_t step) {
  const int64_t apart = redist_priv_abs(x->step);
  int64_t begin = x->step > 0 ? low - x->start : x->start - high + 1;
  int64_t end = x->step > 0 ? high - x->start : x->start - low + 1;
  redist_priv_track track;
  if (apart > 1) {
    begin = redist_priv_ceil_div(begin, apart);
    end = redist_priv_ceil_div(end, apart);
  }
  track.start = redist_priv_clamp(begin, 0, x->count);
  track.length = redist_priv_clamp(end, track.start, x->count) - track.start;
  track.local = local + (x->start + track.start * x->step - low) * step;
  track.step = x->step * step;
  return track;
}

/* The track of a coordinate's only interval. */
REDIST_PRIV_FAST redist_priv_track redist_priv_only_track(const redist_axis *x, int coord) {
  int64_t begin, end;
  redist_priv_interval(x, coord, &begin, &end);
  return redist_priv_track_of(x, begin, end, 0, 1);
}

/* redist_axis_count of a scattered axis. */
REDIST_PRIV_APART int64_t redist_priv_count_in_set(const redist_axis *x, int64_t k) {
  int64_t i, n = 0;
  if (x->sets != NULL && x->count == x->extent) return x->sets->size[k];
  if (x->kind == REDIST_PRIV_OWNERS)
    for (i = 0; i < x->count; i++) n += x->owner[x->start + i * x->step] == k;
  else
    for (i = x->begin[k]; i < x->end[k]; i++) n += redist_priv_view_index(x, x->index[i]) >= 0;
  return n;
}

REDIST_AXIS_API int64_t redist_axis_count(const redist_axis *x, int coord) {
  int64_t low;
  /* low + i a is where a block of coord begins if i a + past is a multiple of the cycle */
  uint64_t cycle, n, a, past;
  if (x == NULL || x->count == 0 || coord < 0 || coord >= x->procs) return 0;
  if (redist_priv_is_scattered(x))
    return redist_priv_count_in_set(x, redist_priv_first_block(x, coord));
  low = redist_priv_min(x->start, x->start + (x->count - 1) * x->step);
  if (x->step == 1 || x->step == -1)
    return redist_priv_below(x, coord, low + x->count) - redist_priv_below(x, coord, low);
  if (redist_priv_is_interval(x)) return redist_priv_only_track(x, coord).length;
  cycle = (uint64_t)(x->block * x->procs);
  n = (uint64_t)x->count;
  a = (uint64_t)redist_priv_abs(x->step);
  past = (uint64_t)low + cycle - (uint64_t)(redist_priv_first_block(x, coord) * x->block);
  return (int64_t)(redist_priv_floor_sum(n, cycle, a, past) -
                   redist_priv_floor_sum(n, cycle, a, past - (uint64_t)x->block));
}

#ifdef REDIST_PRIV_BODIES

REDIST_PRIV_COLD int redist_priv_is_whole(const redist_axis *x) { return x->count == x->extent; }

/* Whether an axis is block-cyclic and seen whole and forwards. */
REDIST_PRIV_COLD int redist_priv_is_plain(const redist_axis *x) {
  return x->kind == REDIST_PRIV_CYCLIC && redist_priv_is_whole(x) && x->step == 1;
}

REDIST_PRIV_COLD int redist_priv_same_axis(const redist_axis *x, const redist_axis *y) {
#define REDIST_PRIV_SAME_FIELD(field, name) &&x->field == y->field
  return x->begin == y->begin && x->owner == y->owner && x->index == y->index &&
         (x->kind != REDIST_PRIV_JOINED || x->sets == y->sets)
             REDIST_PRIV_AXIS_FIELDS(REDIST_PRIV_SAME_FIELD);
}

/* A list that an axis refers to. */
typedef struct {
  const void *entry;
  int64_t n;
  size_t bytes;     /* of an entry */
  const char *name; /* of one */
} redist_priv_axis_list;

/* The lists of an axis, which is not a side of boxes: list[2]. Returns how many there are. */
REDIST_PRIV_COLD int redist_priv_lists_of(const redist_axis *x, redist_priv_axis_list *list) {
  const int owners = x->kind == REDIST_PRIV_OWNERS, indices = x->kind == REDIST_PRIV_INDICES;
  const redist_priv_axis_list begin = {x->begin, (int64_t)x->procs + 1, sizeof *x->begin,
                                       indices ? "the beginning of list" : "cut"};
  const redist_priv_axis_list owner = {x->owner, x->extent, sizeof *x->owner, "the owner of index"};
  const redist_priv_axis_list index = {x->index, x->extent, sizeof *x->index,
                                       "the index at position"};
  list[0] = owners ? owner : begin;
  list[1] = index;
  return owners || (x->kind == REDIST_PRIV_LISTED && x->apart == 1) ? 1 : 2 * indices;
}

/* Checks that the lists of coordinates name every index once. */
REDIST_PRIV_COLD void redist_priv_check_indices(const redist_axis *x, int axis,
                                                redist_priv_error *error) {
  char *seen = (char *)redist_priv_zeroed(x->extent, 1);
  int64_t at = 0, missing = 0;
  if (seen == NULL) redist_priv_fail(error, REDIST_ERR_MEMORY, "no memory to check an axis");
  while (seen != NULL && at < x->extent && !seen[x->index[at]]) seen[x->index[at++]] = 1;
  if (seen != NULL && at < x->extent) {
    const int64_t twice = at;
    while (++at < x->extent) seen[x->index[at]] = 1;
    while (seen[missing]) missing++;
    redist_priv_fail_axis(error, REDIST_ERR_LAYOUT, axis,
                          "index[%" PRId64 "] and index[%" PRId64 "] are %" PRId64
                          ", and no coordinate has index %" PRId64,
                          redist_priv_listed_at(x, x->index[twice]), twice, x->index[twice],
                          missing);
  }
  REDIST_FREE(seen);
}

/* Checks the owner of every index, or the lists of coordinates. */
REDIST_PRIV_COLD void redist_priv_check_sets(const redist_axis *x, int axis,
                                             redist_priv_error *error) {
  const int owners = x->kind == REDIST_PRIV_OWNERS;
  const int64_t most = owners ? x->procs : x->extent;
  char what[48];
  int64_t k;
  for (k = 0; k < x->extent && error->code == REDIST_OK; k++) {
    const int64_t entry = owners ? x->owner[k] : x->index[k];
    if (entry >= 0 && entry < most) continue;
    snprintf(what, sizeof what, owners ? "the owner of index %" PRId64 : "index[%" PRId64 "]", k);
    redist_priv_require(error, REDIST_ERR_LAYOUT, axis, what, entry, 0, most - 1);
  }
  if (!owners && error->code == REDIST_OK) redist_priv_check_indices(x, axis, error);
}

/* Makes room for the sizes of a scattered axis's sets. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_open_sets(redist_axis *x) {
  x->sets = REDIST_PRIV_ZEROED(redist_priv_sets, 1);
  if (x->sets == NULL) return REDIST_ERR_MEMORY;
  x->sets->size = REDIST_PRIV_ZEROED(int64_t, 2 * (int64_t)x->procs);
  if (x->sets->size != NULL) x->sets->first = x->sets->size + x->procs;
  return x->sets->size == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
}

/* Adds the `length` indices from next->start on to a set: to the last stretch if they continue it,
   of which they may be the second; at a distance other than 1 only on a joined axis.
   REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_add_stretch(const redist_axis *x, int64_t *room,
                                        const redist_priv_stretch *next, int64_t length) {
  redist_priv_sets *sets = x->sets;
  sets->size[next->set] += length;
  if (sets->stretches > 0) {
    redist_priv_stretch *last = &sets->stretch[sets->stretches - 1];
    const int64_t passed = next->start - last->start, ahead = next->local - last->local;
    const int may_step = x->kind == REDIST_PRIV_JOINED || redist_priv_abs(ahead) == 1;
    const int64_t step = passed == 1 && may_step ? ahead : last->step;
    if (next->set == last->set && ahead == passed * step && (length == 1 || next->step == step)) {
      last->step = step;
      return REDIST_OK;
    }
  }
  return REDIST_PRIV_APPEND(sets->stretch, sets->stretches, *room, *next);
}

/* Ends the stretches of an axis, and links those of each set. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_link_sets(const redist_axis *x, int64_t *room) {
  const redist_priv_stretch end = {x->extent, 0, -1, 1, -1};
  redist_priv_sets *sets = x->sets;
  int64_t k;
  if (REDIST_PRIV_APPEND(sets->stretch, sets->stretches, *room, end) != REDIST_OK)
    return REDIST_ERR_MEMORY;
  sets->stretches--;
  for (k = 0; k < x->procs; k++) sets->first[k] = -1;
  for (k = sets->stretches - 1; k >= 0; k--) {
    redist_priv_stretch *stretch = &sets->stretch[k];
    stretch->next = sets->first[stretch->set];
    sets->first[stretch->set] = k;
  }
  return REDIST_OK;
}

/* Sorts an axis by owners, or by lists, into stretches. REDIST_ERR_MEMORY; forget them even on
   failure. */
REDIST_PRIV int redist_priv_sort_axis(redist_axis *x) {
  const int lists = x->kind == REDIST_PRIV_INDICES;
  redist_priv_stretch next = {0, 0, -1, 1, 0};
  int64_t k, room = 0, *at = lists ? REDIST_PRIV_ALLOC(int64_t, x->extent) : NULL;
  int code = lists && at == NULL ? REDIST_ERR_MEMORY : redist_priv_open_sets(x);
  for (k = 0; k < x->extent && at != NULL; k++) at[x->index[k]] = k;
  for (; next.start < x->extent && code == REDIST_OK; next.start++) {
    next.set = lists ? (int)redist_priv_cut_of(x, at[next.start]) : x->owner[next.start];
    next.local = lists ? at[next.start] - x->begin[next.set] : x->sets->size[next.set];
    code = redist_priv_add_stretch(x, &room, &next, 1);
  }
  if (code == REDIST_OK) code = redist_priv_link_sets(x, &room);
  REDIST_FREE(at);
  return code;
}

REDIST_PRIV_COLD void redist_priv_forget_joined(redist_layout *copy);

REDIST_PRIV_COLD void redist_priv_forget_sets(redist_layout *copy) {
  int d;
  if (REDIST_PRIV_SCATTERS && copy->joined != NULL) redist_priv_forget_joined(copy);
  for (d = 0; d < copy->ndim; d++) {
    redist_priv_sets *sets = copy->dim[d].axis.sets;
    if (sets != NULL) REDIST_FREE(sets->size);
    if (sets != NULL) REDIST_FREE(sets->stretch);
    REDIST_FREE(sets);
    copy->dim[d].axis.sets = NULL;
    copy->dim[d].axis.owner = NULL; /* the caller's, who may free them now */
    copy->dim[d].axis.index = NULL;
  }
}

/* Sorts the scattered axes of one of the library's own copies of a valid layout.
   REDIST_ERR_MEMORY: of none. */
REDIST_PRIV_COLD int redist_priv_sort_axes(redist_layout *copy) {
  int d, code = REDIST_OK;
  for (d = 0; d < copy->ndim; d++) copy->dim[d].axis.sets = NULL;
  for (d = 0; d < copy->ndim && code == REDIST_OK; d++)
    if (redist_priv_is_scattered(&copy->dim[d].axis))
      code = redist_priv_sort_axis(&copy->dim[d].axis);
  if (code != REDIST_OK) redist_priv_forget_sets(copy);
  return code;
}

/* ------------------------------------------------------------------- layouts and views (bodies) */

REDIST_PRIV int redist_priv_usable(const redist_layout *layout) {
  return layout != NULL && layout->mark == REDIST_PRIV_MARK &&
         (layout->truncated || layout->error.code == REDIST_OK);
}

/* Places of one replica of the grid; 0 when the layout is not usable. */
REDIST_PRIV int redist_priv_grid_places(const redist_layout *layout) {
  int64_t places = 1;
  int d;
  if (!redist_priv_usable(layout)) return 0;
  if (layout->boxes > 0) return layout->boxes;
  for (d = 0; d < layout->ndim; d++)
    if ((places *= layout->dim[d].axis.procs) > INT_MAX) return 0;
  return (int)places;
}

/* Refuses an argument of a builder unless low <= value <= high; axis -1: of no axis. */
REDIST_PRIV_COLD void redist_priv_expect(redist_layout *layout, int axis, const char *what,
                                         int64_t value, int64_t low, int64_t high) {
  redist_priv_require(&layout->error, REDIST_ERR_LAYOUT, axis, what, value, low, high);
}

REDIST_PRIV_COLD void redist_priv_expect_list(redist_layout *layout, const void *list) {
  if (list == NULL) redist_priv_fail(&layout->error, REDIST_ERR_LAYOUT, "a builder was given NULL");
}

/* Whether axes of a layout are split or merged. Of the library's own copies, which are truncated,
   the view is not read. */
REDIST_PRIV_FAST int redist_priv_is_reshaped(const redist_layout *layout) {
  return REDIST_PRIV_SCATTERS && !layout->truncated && layout->view.axes > 0;
}

/* How many axes a view has. */
REDIST_PRIV_FAST int redist_priv_axes(const redist_layout *layout) {
  return redist_priv_is_reshaped(layout) ? layout->view.axes : layout->ndim;
}

/* The length of an axis of the view. */
REDIST_PRIV_FAST int64_t redist_priv_length(const redist_layout *layout, int axis) {
  return redist_priv_is_reshaped(layout) ? layout->view.axis[axis].count
                                         : layout->dim[axis].axis.count;
}

/* Whether the layout is valid and has an axis; else records an error. */
REDIST_PRIV_COLD int redist_priv_has_axis(redist_layout *layout, int axis) {
  const int has = redist_priv_usable(layout) && axis >= 0 && axis < redist_priv_axes(layout);
  if (!has)
    redist_priv_fail_axis(&layout->error, REDIST_ERR_LAYOUT, axis,
                          "a builder was given axis %d, which the layout does not have", axis);
  return has;
}

/* The number among dim[] of an axis of the view that is neither split nor merged; else -1. */
REDIST_PRIV_COLD int redist_priv_only_dim(const redist_priv_view *view, int axis) {
  const redist_priv_view_axis *a = &view->axis[axis];
  int v, k, digits = 0;
  for (v = 0; v < view->axes; v++)
    for (k = 0; k < view->axis[v].digits; k++)
      digits += view->digit[view->axis[v].first + k].dim == view->digit[a->first].dim;
  return a->digits == 1 && digits == 1 ? view->digit[a->first].dim : -1;
}

/* The dimension that a builder changes. Where there is none, or the layout is invalid, records an
   error and returns a zeroed one. */
REDIST_PRIV_COLD redist_priv_dimension *redist_priv_pick(redist_layout *layout, int axis) {
  int dim = axis;
  if (redist_priv_has_axis(layout, axis) && redist_priv_is_reshaped(layout)) {
    dim = redist_priv_only_dim(&layout->view, axis);
    if (dim < 0)
      redist_priv_fail_axis(&layout->error, REDIST_ERR_LAYOUT, axis,
                            "the axis is split or merged: halos and allocated lengths come before");
  }
  return layout->error.code == REDIST_OK
             ? &layout->dim[dim]
             : (redist_priv_dimension *)memset(layout->dim, 0, sizeof layout->dim[0]);
}

/* The largest number of elements any coordinate owns; at most, if the axis is scattered and not
   sorted. */
REDIST_PRIV_COLD int64_t redist_priv_largest(const redist_axis *x) {
  const int regular = x->kind == REDIST_PRIV_CYCLIC || x->kind == REDIST_PRIV_BALANCED;
  int64_t most;
  int c;
  if (redist_priv_is_scattered(x) && x->sets == NULL) return x->extent;
  most = redist_priv_size(x, x->first);
  for (c = 0; !regular && c < x->procs; c++) most = redist_priv_max(most, redist_priv_size(x, c));
  return most;
}

REDIST_PRIV_COLD void redist_priv_check_overflow(redist_layout *layout) {
  const int64_t limit = REDIST_PRIV_MAX_ELEMENTS;
  int64_t all = 1, local = 1;
  int d;
  for (d = 0; redist_priv_usable(layout) && d < layout->ndim; d++) {
    const redist_priv_dimension *dim = &layout->dim[d];
    int64_t need = redist_priv_largest(&dim->axis);
    need += redist_priv_min(dim->low, limit - need);
    need += redist_priv_min(dim->high, limit - need);
    all = redist_priv_multiply(all, dim->axis.extent, limit);
    local = redist_priv_multiply(local, redist_priv_max(redist_priv_max(need, dim->allocated), 1),
                                 limit);
  }
  if (redist_priv_grid_places(layout) == 0)
    redist_priv_fail(&layout->error, REDIST_ERR_OVERFLOW,
                     "the process grid has more than INT_MAX places");
  if (all >= limit || local >= limit)
    redist_priv_fail(&layout->error, REDIST_ERR_OVERFLOW,
                     "the array or a local array has 2^62 elements or more");
}

REDIST_API redist_layout redist_layout_nd(int ndim, const redist_axis *axes) {
  redist_layout layout;
  int d;
  memset(&layout, 0, sizeof layout);
  layout.mark = REDIST_PRIV_MARK;
  layout.error = redist_priv_no_error(-1);
  layout.copies = 1;
  redist_priv_expect(&layout, -1, "the number of axes", ndim, 1, REDIST_MAX_DIMS);
  redist_priv_expect_list(&layout, axes);
  layout.ndim = layout.error.code == REDIST_OK ? ndim : 0;
  for (d = 0; d < layout.ndim; d++) {
    layout.dim[d].axis = axes[d];
    layout.dim[d].stored = d;
    redist_priv_check_axis(&axes[d], d, &layout.error);
  }
  redist_priv_check_overflow(&layout);
  return layout;
}

REDIST_PRIV_COLD void redist_priv_attach_boxes(redist_layout *layout, int boxes,
                                               const redist_box *box) {
  int d;
  layout->boxes = boxes;
  layout->box = box;
  for (d = 0; d < layout->ndim; d++) {
    redist_axis *x = &layout->dim[d].axis;
    x->kind = REDIST_PRIV_LISTED;
    x->procs = boxes;
    x->begin = &box->low[layout->dim[d].stored];
    x->end = &box->high[layout->dim[d].stored];
    x->apart = sizeof *box / sizeof *box->low;
  }
}

/* Makes a layout of whole axes one of boxes. */
REDIST_PRIV_COLD void redist_priv_set_boxes(redist_layout *layout, int boxes,
                                            const redist_box *box) {
  int d, k;
  redist_priv_expect(layout, -1, "the number of boxes", boxes, 1, INT64_MAX);
  redist_priv_expect_list(layout, box);
  for (k = 0; k < boxes && layout->error.code == REDIST_OK; k++)
    for (d = 0; d < layout->ndim; d++) {
      const int64_t extent = layout->dim[d].axis.extent;
      const int64_t low = box[k].low[layout->dim[d].stored],
                    high = box[k].high[layout->dim[d].stored];
      if (low < high && (low < 0 || high > extent))
        redist_priv_fail_axis(&layout->error, REDIST_ERR_LAYOUT, d,
                              "box %d reaches outside the extent %" PRId64, k, extent);
    }
  if (layout->error.code == REDIST_OK) redist_priv_attach_boxes(layout, boxes, box);
}

REDIST_API redist_layout redist_layout_boxes(int ndim, const int64_t *extents, int boxes,
                                             const redist_box *box) {
  redist_axis axes[REDIST_MAX_DIMS];
  redist_layout layout;
  int d, whole = extents != NULL && ndim <= REDIST_MAX_DIMS;
  for (d = 0; whole && d < ndim; d++) axes[d] = redist_whole(extents[d]);
  layout = redist_layout_nd(ndim, whole ? axes : NULL);
  redist_priv_set_boxes(&layout, boxes, box);
  return layout;
}

REDIST_API redist_layout redist_layout_1d(redist_axis x) { return redist_layout_nd(1, &x); }

REDIST_API redist_layout redist_layout_2d(redist_axis x, redist_axis y) {
  const redist_axis axes[2] = {x, y};
  return redist_layout_nd(2, axes);
}

REDIST_API redist_layout redist_layout_3d(redist_axis x, redist_axis y, redist_axis z) {
  const redist_axis axes[3] = {x, y, z};
  return redist_layout_nd(3, axes);
}

REDIST_API redist_layout redist_grid_order(redist_layout layout, redist_order order) {
  redist_priv_expect(&layout, -1, "the order of the grid", (int64_t)order, 0, 1);
  layout.grid_order = order;
  return layout;
}

REDIST_API redist_layout redist_memory_order(redist_layout layout, redist_order order) {
  redist_priv_expect(&layout, -1, "the order of memory", (int64_t)order, 0, 1);
  layout.memory_order = order;
  return layout;
}

REDIST_API redist_layout redist_from_rank(redist_layout layout, int first_rank) {
  redist_priv_require(&layout.error, REDIST_ERR_RANK, -1, "the first rank", first_rank, 0,
                      INT_MAX - redist_layout_places(&layout));
  layout.first_rank = first_rank;
  layout.ranks = NULL;
  return layout;
}

REDIST_API redist_layout redist_on_ranks(redist_layout layout, const int *ranks) {
  redist_priv_expect_list(&layout, ranks);
  layout.ranks = ranks;
  return layout;
}

REDIST_API redist_layout redist_at_offsets(redist_layout layout, const int64_t *offsets) {
  redist_priv_expect_list(&layout, offsets);
  layout.offsets = offsets;
  return layout;
}

REDIST_API redist_layout redist_replicated(redist_layout layout, int replicas) {
  const int64_t places = redist_priv_grid_places(&layout),
                most = INT_MAX / redist_priv_max(places, 1);
  redist_priv_expect(&layout, -1, "the number of replicas", replicas, 1, INT64_MAX);
  redist_priv_require(&layout.error, REDIST_ERR_OVERFLOW, -1, "the number of replicas", replicas, 1,
                      most);
  if (layout.ranks == NULL)
    redist_priv_require(&layout.error, REDIST_ERR_RANK, -1, "the first rank", layout.first_rank, 0,
                        INT_MAX - places * replicas);
  layout.copies = replicas;
  return layout;
}

REDIST_API redist_layout redist_with_halo(redist_layout layout, int axis, int64_t low,
                                          int64_t high) {
  redist_priv_dimension *dim = redist_priv_pick(&layout, axis);
  redist_priv_expect(&layout, axis, "a halo", low, 0, REDIST_PRIV_MAX_ELEMENTS);
  redist_priv_expect(&layout, axis, "a halo", high, 0, REDIST_PRIV_MAX_ELEMENTS);
  dim->low = low;
  dim->high = high;
  redist_priv_check_overflow(&layout);
  return dim->axis.ghosts == 0
             ? layout
             : redist_with_ghosts(layout, axis, (redist_edge)(dim->axis.ghosts - 1));
}

REDIST_API redist_layout redist_with_ghosts(redist_layout layout, int axis, redist_edge edge) {
  redist_priv_dimension *dim = redist_priv_pick(&layout, axis);
  redist_axis *x = &dim->axis;
  redist_priv_expect(&layout, axis, "the edge of ghost cells", (int64_t)edge, 0, 1);
  if (redist_priv_max(dim->low, dim->high) == 0)
    redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, axis,
                          "there are no ghost cells: call redist_with_halo first, with low or high "
                          "at least 1");
  redist_priv_expect(&layout, axis, "the width of ghost cells",
                     redist_priv_max(dim->low, dim->high), 1, x->extent);
  if (layout.error.code == REDIST_OK && !redist_priv_is_interval(x))
    redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, axis,
                          "ghost cells need one interval per process, "
                          "but a process owns several blocks of %" PRId64,
                          x->block);
  x->ghosts = edge == REDIST_PERIODIC ? 2 : 1;
  x->low = dim->low;
  x->high = dim->high;
  return layout;
}

REDIST_API redist_layout redist_ghost_depth(redist_layout layout, int axis, int64_t low,
                                            int64_t high) {
  redist_priv_dimension *dim = redist_priv_pick(&layout, axis);
  if (dim->axis.ghosts == 0)
    redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, axis,
                          "a ghost depth of %" PRId64 " and %" PRId64
                          ", but redist_with_ghosts comes before redist_ghost_depth",
                          low, high);
  redist_priv_expect(&layout, axis, "the depth of low ghost cells", low, 0, dim->low);
  redist_priv_expect(&layout, axis, "the depth of high ghost cells", high, 0, dim->high);
  dim->axis.low = low;
  dim->axis.high = high;
  return layout;
}

REDIST_API redist_layout redist_without_corners(redist_layout layout) {
  int d, ghosts = 0;
  for (d = 0; redist_priv_usable(&layout) && d < layout.ndim; d++)
    ghosts |= layout.dim[d].axis.ghosts;
  if (ghosts == 0)
    redist_priv_fail(&layout.error, REDIST_ERR_LAYOUT,
                     "no axis has ghost cells, but redist_with_ghosts comes before "
                     "redist_without_corners");
  layout.faces = 1;
  return layout;
}

REDIST_API redist_layout redist_partial(redist_layout layout) {
  if (layout.boxes == 0)
    redist_priv_fail(&layout.error, REDIST_ERR_LAYOUT, "only boxes may be partial");
  layout.partial = 1;
  return layout;
}

REDIST_API redist_layout redist_with_allocated(redist_layout layout, int axis, int64_t allocated) {
  redist_priv_dimension *dim = redist_priv_pick(&layout, axis);
  redist_priv_expect(&layout, axis, "the allocated extent", allocated, 0, INT64_MAX);
  dim->allocated = allocated;
  redist_priv_check_overflow(&layout);
  return layout;
}

REDIST_API redist_layout redist_from_scalapack(const int desc[9], int nprow, int npcol) {
  redist_layout layout;
  if (desc == NULL) return redist_layout_nd(2, NULL);
  layout =
      redist_layout_2d(redist_starting_at(redist_block_cyclic(desc[2], desc[4], nprow), desc[6]),
                       redist_starting_at(redist_block_cyclic(desc[3], desc[5], npcol), desc[7]));
  return redist_with_allocated(redist_memory_order(layout, REDIST_COLUMN_MAJOR), 0, desc[8]);
}

/* Whether an axis of a view is a section of several digits. */
REDIST_PRIV_COLD int redist_priv_is_section(const redist_priv_view *view, int axis) {
  const redist_priv_view_axis *a = &view->axis[axis];
  int64_t count = 1;
  int k;
  for (k = a->first; k < a->first + a->digits; k++) count *= view->digit[k].count;
  return a->start != 0 || a->step != 1 || a->count != count;
}

/* Makes a layout a plain one again if no axis of its view is split or merged any more. */
REDIST_PRIV_COLD redist_layout redist_priv_simplify(redist_layout layout) {
  redist_priv_dimension dim[REDIST_MAX_DIMS];
  const redist_priv_view *view = &layout.view;
  int v;
  if (!redist_priv_is_reshaped(&layout)) return layout;
  for (v = 0; v < view->axes; v++) {
    const redist_priv_digit *digit = &view->digit[view->axis[v].first];
    if (redist_priv_only_dim(view, v) < 0) return layout;
    dim[v] = layout.dim[digit->dim];
    if (digit->count == 0) dim[v].axis.start = 0;
    dim[v].axis.step = digit->count <= 1 ? 1 : digit->step;
    dim[v].axis.count = digit->count;
  }
  memcpy(layout.dim, dim, (size_t)layout.ndim * sizeof *dim);
  layout.view.axes = 0;
  return layout;
}

REDIST_API redist_layout redist_permuted(redist_layout layout, const int *axes) {
  const redist_layout given = layout;
  const int reshaped = redist_priv_is_reshaped(&layout);
  int d, seen[REDIST_MAX_DIMS] = {0};
  redist_priv_expect_list(&layout, axes);
  for (d = 0; redist_priv_usable(&layout) && d < redist_priv_axes(&layout); d++) {
    const int from = axes[d], there = from >= 0 && from < redist_priv_axes(&layout);
    if (!there || seen[from]++)
      redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, d,
                            "a permutation names axis %d, outside the layout or twice", from);
    if (reshaped)
      layout.view.axis[d] = given.view.axis[there ? from : d];
    else
      layout.dim[d] = given.dim[there ? from : d];
  }
  return redist_priv_simplify(layout);
}

REDIST_API redist_layout redist_transposed(redist_layout layout) {
  int d, axes[REDIST_MAX_DIMS];
  const int n = redist_priv_axes(&layout);
  for (d = 0; redist_priv_usable(&layout) && d < n; d++) axes[d] = n - 1 - d;
  return redist_permuted(layout, axes);
}

REDIST_API redist_layout redist_flipped(redist_layout layout, int axis) {
  const int64_t count = redist_priv_has_axis(&layout, axis) ? redist_priv_length(&layout, axis) : 0;
  return count == 0 ? layout : redist_section(layout, axis, count - 1, count, -1);
}

REDIST_API redist_layout redist_rotated(redist_layout layout, int quarter_turns) {
  int d, turns, axes[REDIST_MAX_DIMS];
  const int there = redist_priv_has_axis(&layout, 1);
  for (d = 0; there && d < redist_priv_axes(&layout); d++) axes[d] = d < 2 ? 1 - d : d;
  for (turns = (int)redist_priv_mod(quarter_turns, 4); there && turns > 0; turns--)
    layout = redist_flipped(redist_permuted(layout, axes), 0);
  return layout;
}

/* The section of an axis of a reshaped view, count > 0: of its only digit; reversed, of all. */
REDIST_PRIV_COLD void redist_priv_section_view(redist_layout *layout, int axis, int64_t start,
                                               int64_t count, int64_t step) {
  redist_priv_view_axis *a = &layout->view.axis[axis];
  const int whole = !redist_priv_is_section(&layout->view, axis) && step == -1 && count == a->count;
  int k;
  for (k = 0; k < a->digits && (a->digits == 1 || whole); k++) {
    redist_priv_digit *digit = &layout->view.digit[a->first + k];
    layout->dim[digit->dim].axis.start += (whole ? digit->count - 1 : start) * digit->step;
    digit->count = whole ? digit->count : count;
    digit->step *= step;
  }
  if (a->digits > 1 && !whole) {
    a->start += start * a->step;
    a->step = count == 1 ? 1 : a->step * step;
  }
  a->count = count;
}

REDIST_API redist_layout redist_section(redist_layout layout, int axis, int64_t start,
                                        int64_t count, int64_t step) {
  const int64_t length =
      redist_priv_has_axis(&layout, axis) ? redist_priv_length(&layout, axis) : 0;
  redist_axis *x;
  int64_t most = 0;
  if (step == 0)
    redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, axis,
                          "the step of a section is 0, must not be 0");
  redist_priv_expect(&layout, axis, "the start of a section", start, 0, length - (count > 0));
  if (layout.error.code == REDIST_OK)
    most =
        1 + (step > 0 ? (length - 1 - start) / step : start / -redist_priv_max(step, -INT64_MAX));
  redist_priv_expect(&layout, axis, "the count of a section", count, 0, most);
  if (layout.error.code != REDIST_OK) return layout;
  if (redist_priv_is_reshaped(&layout)) {
    redist_priv_section_view(&layout, axis, count == 0 ? 0 : start, count, count <= 1 ? 1 : step);
    return layout;
  }
  x = &layout.dim[axis].axis;
  x->start = count == 0 ? 0 : x->start + start * x->step;
  x->step = count <= 1 ? 1 : x->step * step;
  x->count = count;
  return layout;
}

/* The view of a layout, reshaped or not. Its digits lie in the order of its axes. */
REDIST_PRIV_COLD redist_priv_view redist_priv_view_of(const redist_layout *layout) {
  const int reshaped = redist_priv_is_reshaped(layout);
  redist_priv_view view;
  int v, k, digits = 0;
  memset(&view, 0, sizeof view);
  view.axes = redist_priv_axes(layout);
  for (v = 0; v < view.axes; v++) {
    const redist_axis *x = &layout->dim[v].axis;
    const redist_priv_view_axis plain = {v, 1, 0, 1, x->count};
    const redist_priv_digit only = {v, x->count, x->step};
    view.axis[v] = reshaped ? layout->view.axis[v] : plain;
    for (k = 0; k < view.axis[v].digits; k++)
      view.digit[digits + k] = reshaped ? layout->view.digit[view.axis[v].first + k] : only;
    view.axis[v].first = digits;
    digits += view.axis[v].digits;
  }
  return view;
}

/* Whether an axis of a layout's view has ghost cells. */
REDIST_PRIV_COLD int redist_priv_has_ghosts_at(const redist_layout *layout,
                                               const redist_priv_view *view, int axis) {
  const redist_priv_view_axis *a = &view->axis[axis];
  int k, ghosts = 0;
  for (k = 0; k < a->digits; k++) ghosts |= layout->dim[view->digit[a->first + k].dim].axis.ghosts;
  return ghosts;
}

/* Whether an axis of the view, *view, may be split or merged; else records an error. */
REDIST_PRIV_COLD int redist_priv_may_reshape(redist_layout *layout, int axis,
                                             redist_priv_view *view) {
  if (!redist_priv_has_axis(layout, axis)) return 0;
  *view = redist_priv_view_of(layout);
  if (layout->boxes > 0 || redist_priv_has_ghosts_at(layout, view, axis))
    redist_priv_fail_axis(&layout->error, REDIST_ERR_LAYOUT, axis,
                          layout->boxes > 0 ? "boxes cannot be split or merged"
                                            : "an axis with redist_with_ghosts cannot be split or "
                                              "merged");
  if (redist_priv_is_section(view, axis))
    redist_priv_fail_axis(&layout->error, REDIST_ERR_LAYOUT, axis,
                          "the axis is a section of a merged one: split or merge before "
                          "redist_section");
  return layout->error.code == REDIST_OK;
}

/* Makes an axis of a view two, of which the second has `inner` indices, among them `fast` of the
   numbers of digit k. Each of the two has a digit, if only one of a single number. Records an error
   if there are too many. */
REDIST_PRIV_COLD void redist_priv_cut_axis(redist_layout *layout, redist_priv_view *view, int axis,
                                           int k, int64_t fast, int64_t inner) {
  redist_priv_view_axis *a = &view->axis[axis], *last = &view->axis[view->axes - 1];
  redist_priv_digit *digit = &view->digit[k];
  const int slow = k == a->first || digit->count != fast, digits = last->first + last->digits;
  const int cut = slow && (fast > 1 || k + 1 == a->first + a->digits);
  redist_priv_expect(layout, -1, "the number of digits of a reshaped view", digits + cut, 1,
                     2 * REDIST_MAX_DIMS);
  if (layout->error.code != REDIST_OK) return;
  if (cut) {
    memmove(digit + 1, digit, (size_t)(digits - k) * sizeof *digit);
    digit[0].count /= fast;
    digit[0].step *= fast;
    digit[1].count = fast;
  }
  for (; last > a; last--) last->first += cut;
  memmove(a + 1, a, (size_t)(view->axes++ - axis) * sizeof *a);
  a[0].digits = k + slow - a->first;
  a[0].count /= inner;
  a[1].first += a[0].digits;
  a[1].digits += cut - a[0].digits;
  a[1].count = inner;
}

#ifndef REDIST_NO_LISTS

REDIST_API redist_layout redist_split(redist_layout layout, int axis, int64_t inner) {
  redist_priv_view view;
  int64_t rest = inner, length = 1;
  int k;
  if (!redist_priv_may_reshape(&layout, axis, &view)) return layout;
  redist_priv_expect(&layout, axis, "the inner length", inner, 1, INT64_MAX);
  redist_priv_expect(&layout, axis, "the number of axes", view.axes + 1, 1, REDIST_MAX_DIMS);
  if (layout.error.code == REDIST_OK && view.axis[axis].count % inner != 0)
    redist_priv_fail_axis(&layout.error, REDIST_ERR_LAYOUT, axis,
                          "the length %" PRId64 " is no multiple of the inner length %" PRId64,
                          view.axis[axis].count, inner);
  if (layout.error.code != REDIST_OK) return layout;
  for (k = view.axis[axis].first + view.axis[axis].digits - 1;
       k > view.axis[axis].first && view.digit[k].count > 0 && rest % view.digit[k].count == 0; k--)
    length *= view.digit[k].count, rest /= view.digit[k].count;
  if (view.digit[k].count % rest != 0)
    redist_priv_fail_axis(&layout.error, REDIST_ERR_SHAPE, axis,
                          "the axis is merged by the length %" PRId64 " and split by %" PRId64
                          ": neither divides the other",
                          length * view.digit[k].count, inner);
  redist_priv_cut_axis(&layout, &view, axis, k, rest, inner);
  if (layout.error.code == REDIST_OK) layout.view = view;
  return redist_priv_simplify(layout);
}

REDIST_API redist_layout redist_merged(redist_layout layout, int axis) {
  redist_priv_view view;
  redist_priv_view_axis *a, *last;
  redist_priv_digit *slow, *fast;
  int continued;
  if (!redist_priv_may_reshape(&layout, axis, &view) ||
      !redist_priv_may_reshape(&layout, axis + 1, &view))
    return layout;
  a = &view.axis[axis];
  last = &view.axis[--view.axes];
  fast = &view.digit[a[1].first];
  slow = fast - 1;
  continued = slow->dim == fast->dim &&
              (slow->count == 1 || fast->count == 1 || slow->step == fast->step * fast->count);
  if (continued) {
    slow->step = fast->count == 1 ? slow->step : fast->step;
    slow->count *= fast->count;
    memmove(fast, fast + 1, (size_t)(last->first + last->digits - a[1].first - 1) * sizeof *fast);
  }
  a->digits += a[1].digits - continued;
  a->count *= a[1].count;
  for (a++; a < last; a++) {
    a[0] = a[1];
    a->first -= continued;
  }
  layout.view = view;
  return redist_priv_simplify(layout);
}

/* The view in other lengths, row by row: all axes merged, and split again. */
REDIST_PRIV_COLD redist_layout redist_priv_reshaped(redist_layout layout, int axes,
                                                    const int64_t *length) {
  int64_t inner = 1;
  int d;
  redist_priv_expect(&layout, -1, "the number of axes", axes, 1, REDIST_MAX_DIMS);
  for (d = 1; d < axes && layout.error.code == REDIST_OK; d++)
    inner = redist_priv_multiply(inner, length[d], REDIST_PRIV_MAX_ELEMENTS);
  while (layout.error.code == REDIST_OK && redist_priv_axes(&layout) > 1)
    layout = redist_merged(layout, 0);
  if (layout.error.code == REDIST_OK &&
      redist_priv_multiply(inner, length[0], REDIST_PRIV_MAX_ELEMENTS) !=
          redist_priv_length(&layout, 0))
    redist_priv_fail(&layout.error, REDIST_ERR_SHAPE,
                     "a view of %" PRId64 " elements is reshaped to other than so many",
                     redist_priv_length(&layout, 0));
  for (d = 1; d < axes && layout.error.code == REDIST_OK; d++) {
    layout = redist_split(layout, d - 1, inner);
    inner /= redist_priv_max(length[d], 1);
  }
  return layout;
}

#endif

REDIST_PRIV_APART int redist_priv_rank_at(const redist_layout *layout, int place) {
  REDIST_ASSERT(place >= 0 && place < redist_layout_places(layout));
  return layout->ranks != NULL ? layout->ranks[place] : layout->first_rank + place;
}

/* Comparator for ints, and for structs whose first member is an int key. */
REDIST_PRIV_COLD int redist_priv_compare_ints(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Of structs that begin with n ints: by the first that differs. */
REDIST_PRIV_COLD int redist_priv_compare_keys(const void *a, const void *b, int n) {
  const int *x = (const int *)a, *y = (const int *)b;
  int k = 0;
  while (k < n - 1 && x[k] == y[k]) k++;
  return redist_priv_compare_ints(x + k, y + k);
}

/* Comparator for redist_priv_rank_place and redist_priv_flow. */
REDIST_PRIV_COLD int redist_priv_compare_pairs(const void *a, const void *b) {
  return redist_priv_compare_keys(a, b, 2);
}

/* Binary search in n structs, sorted by their first member, an int: one with this key, or NULL. Not
   inlined: gcc would warn of NULL where the key is always found. */
REDIST_PRIV_APART void *redist_priv_find(const void *array, int64_t n, size_t bytes, int wanted) {
  return bsearch(&wanted, array, (size_t)n, bytes, redist_priv_compare_ints);
}

/* *by_rank: all places, sorted by rank, if a layout lists its ranks; else NULL.
   REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_list_ranks(const redist_layout *layout,
                                            redist_priv_rank_place **by_rank) {
  const int places = redist_layout_places(layout);
  int k;
  *by_rank = NULL;
  if (layout->ranks == NULL) return REDIST_OK;
  *by_rank = REDIST_PRIV_ALLOC(redist_priv_rank_place, places);
  if (*by_rank == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; k < places; k++) {
    (*by_rank)[k].rank = layout->ranks[k];
    (*by_rank)[k].place = k;
  }
  qsort(*by_rank, (size_t)places, sizeof **by_rank, redist_priv_compare_pairs);
  return REDIST_OK;
}

/* REDIST_ERR_RANK where a rank of either layout holds several places. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_check_single(const redist_layout *from, const redist_layout *to) {
  const redist_layout *const layout[2] = {from, to};
  int side, k, several = 0, code = REDIST_OK;
  for (side = 0; side < 2 && code == REDIST_OK; side++) {
    redist_priv_rank_place *by_rank;
    code = redist_priv_list_ranks(layout[side], &by_rank);
    for (k = 1; by_rank != NULL && k < redist_layout_places(layout[side]); k++)
      several |= by_rank[k].rank == by_rank[k - 1].rank;
    REDIST_FREE(by_rank);
  }
  return code == REDIST_OK && several ? REDIST_ERR_RANK : code;
}

REDIST_PRIV_COLD void redist_priv_check_ranks(const redist_layout *layout,
                                              redist_priv_error *error) {
  redist_priv_rank_place *sorted;
  const int places = redist_layout_places(layout), code = redist_priv_list_ranks(layout, &sorted);
  const int grid = redist_priv_grid_places(layout);
  int k;
  if (code != REDIST_OK) redist_priv_fail(error, REDIST_ERR_MEMORY, "no memory to check the ranks");
  if (code != REDIST_OK) return;
  redist_priv_require(error, REDIST_ERR_RANK, -1, "a rank", sorted[0].rank, 0, INT_MAX);
  for (k = 0; k < places; k++) sorted[k].place %= grid;
  if (grid < places) qsort(sorted, (size_t)places, sizeof *sorted, redist_priv_compare_pairs);
  for (k = 1; k < places; k++)
    if (redist_priv_compare_pairs(&sorted[k - 1], &sorted[k]) == 0)
      redist_priv_fail(error, REDIST_ERR_RANK, "two replicas of place %d are on rank %d",
                       sorted[k].place, sorted[k].rank);
  REDIST_FREE(sorted);
}

/* How many elements two boxes share. */
REDIST_PRIV_COLD int64_t redist_priv_in_both(int ndim, const redist_box *a, const redist_box *b) {
  int64_t shared = 1;
  int d;
  for (d = 0; d < ndim; d++) {
    const int64_t begin = redist_priv_max(a->low[d], b->low[d]),
                  end = redist_priv_min(a->high[d], b->high[d]);
    shared =
        redist_priv_multiply(shared, redist_priv_max(end, begin) - begin, REDIST_PRIV_MAX_ELEMENTS);
  }
  return shared;
}

/* How many elements of a region are in no box, when no two boxes overlap. */
REDIST_PRIV_COLD int64_t redist_priv_in_none(const redist_layout *layout,
                                             const redist_box *region) {
  int64_t left = redist_priv_in_both(layout->ndim, region, region);
  int k;
  for (k = 0; k < layout->boxes; k++)
    left -= redist_priv_in_both(layout->ndim, region, &layout->box[k]);
  return left;
}

/* The number, row by row of the array, of the first element that lies in no box; region: the whole
   array. */
REDIST_PRIV_COLD int64_t redist_priv_find_hole(const redist_layout *layout, redist_box region) {
  int64_t hole = 0;
  int d;
  for (d = 0; d < layout->ndim; d++) {
    int64_t low = 1, high = region.high[d];
    hole *= high;
    REDIST_PRIV_BISECT(low, high, region.high[d], redist_priv_in_none(layout, &region) > 0)
    region.high[d] = low;
    region.low[d] = low - 1;
    hole += low - 1;
  }
  return hole;
}

/* The box that holds the element of these axis indices, -1 when none does. */
REDIST_PRIV int redist_priv_box_of(const redist_layout *layout, const int64_t *indices) {
  int64_t begin, end;
  int d, k;
  for (k = 0; k < layout->boxes; k++) {
    for (d = 0; d < layout->ndim; d++) {
      redist_priv_interval(&layout->dim[d].axis, k, &begin, &end);
      if (indices[d] < begin || indices[d] >= end) break;
    }
    if (d == layout->ndim) return k;
  }
  return -1;
}

/* Where two boxes overlap, their numbers: pair[0] < pair[1]. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_find_overlap(const redist_layout *layout, int *pair);

REDIST_PRIV_COLD void redist_priv_check_boxes(const redist_layout *layout,
                                              redist_priv_error *error) {
  redist_box all = {{0}, {0}};
  int d, pair[2] = {-1, -1}, code = redist_priv_find_overlap(layout, pair);
  if (code != REDIST_OK) redist_priv_fail(error, code, "no memory to check the boxes");
  if (pair[0] >= 0)
    redist_priv_fail(error, REDIST_ERR_LAYOUT, "box %d overlaps box %d", pair[0], pair[1]);
  for (d = 0; d < layout->ndim; d++) all.high[layout->dim[d].stored] = layout->dim[d].axis.extent;
  if (error->code == REDIST_OK && !layout->partial && redist_priv_in_none(layout, &all) > 0)
    redist_priv_fail(error, REDIST_ERR_LAYOUT,
                     "no box holds element %" PRId64 ", counted row by row of the array",
                     redist_priv_find_hole(layout, all));
}

REDIST_API int redist_layout_check(const redist_layout *layout) {
  return redist_layout_explain(layout, NULL, 0);
}

/* Whether two layouts have the boxes of one array. */
REDIST_PRIV_COLD int redist_priv_same_boxes(const redist_layout *a, const redist_layout *b) {
  int d, same = a->ndim == b->ndim && a->boxes == b->boxes && a->partial == b->partial;
  for (d = 0; d < a->ndim && same; d++)
    same = a->dim[d].stored == b->dim[d].stored && a->dim[d].axis.begin == b->dim[d].axis.begin &&
           a->dim[d].axis.extent == b->dim[d].axis.extent;
  return same;
}

/* The first error of a layout, if any. checked: a layout without errors, perhaps of the same boxes;
   or NULL. */
REDIST_PRIV_COLD redist_priv_error redist_priv_error_of(const redist_layout *layout,
                                                        const redist_layout *checked) {
  redist_priv_error error = redist_priv_no_error(-1);
  const uint64_t mark = layout == NULL ? 0 : layout->mark;
  int d;
  if (layout == NULL) redist_priv_fail(&error, REDIST_ERR_ARGUMENT, "the layout is NULL");
  if ((mark ^ REDIST_PRIV_MARK) >> 32 == 0 && mark != REDIST_PRIV_MARK)
    redist_priv_fail(
        &error, REDIST_ERR_LAYOUT,
        "the layout is from a file compiled with redist %d and REDIST_MAX_DIMS %d, here "
        "%d and %d",
        (int)(mark >> 24 & 255), (int)(mark % 65536), REDIST_VERSION_MAJOR, REDIST_MAX_DIMS);
  if (mark != REDIST_PRIV_MARK)
    redist_priv_fail(&error, REDIST_ERR_LAYOUT, "the layout was never built");
  if (error.code == REDIST_OK && !layout->truncated) error = layout->error;
  for (d = 0; error.code == REDIST_OK && d < layout->ndim; d++)
    if (layout->dim[d].axis.kind == REDIST_PRIV_OWNERS ||
        layout->dim[d].axis.kind == REDIST_PRIV_INDICES)
      redist_priv_check_sets(&layout->dim[d].axis, d, &error);
  if (error.code == REDIST_OK && layout->boxes > 0 &&
      (checked == NULL || !redist_priv_same_boxes(layout, checked)))
    redist_priv_check_boxes(layout, &error);
  if (error.code == REDIST_OK && layout->ranks != NULL) redist_priv_check_ranks(layout, &error);
  return error;
}

REDIST_API int redist_layout_explain(const redist_layout *layout, char *text, size_t size) {
  const redist_priv_error error = redist_priv_error_of(layout, NULL);
  return redist_priv_tell(&error, text, size);
}

/* The axes of the view from the slowest to the fastest in a storage order. */
REDIST_PRIV_APART void redist_priv_slow_to_fast(const redist_layout *layout, redist_order order,
                                                int *axes) {
  int d;
  for (d = 0; d < layout->ndim; d++) {
    REDIST_ASSERT(layout->dim[d].stored >= 0 && layout->dim[d].stored < layout->ndim);
    axes[order == REDIST_ROW_MAJOR ? layout->dim[d].stored
                                   : layout->ndim - 1 - layout->dim[d].stored] = d;
  }
}

REDIST_API int redist_layout_places(const redist_layout *layout) {
  const int grid = redist_priv_grid_places(layout);
  return grid == 0 ? 0 : grid * layout->copies;
}

/* Where axes of a reshaped layout are joined, process grid and storage remain those of the base.
   Axis d of the base became axis[d]: alone, or joined to others. Its coordinate counts weight[d]
   times in the joined one, and its local positions unit[d] times; the base's axes are decoded in
   this order, from large units to small ones. folded[d]: they continue those of the next, of which
   they count as part: unless this rank gives that an allocated length, as others may not. */
typedef struct redist_priv_joined {
  redist_layout base;
  redist_priv_view view;
  int padded; /* for that reason an axis is not folded: others number positions differently */
  int axis[REDIST_MAX_DIMS], weight[REDIST_MAX_DIMS];
  int order[REDIST_MAX_DIMS], folded[REDIST_MAX_DIMS];
  int64_t unit[REDIST_MAX_DIMS];
} redist_priv_joined;

/* The base of one of the library's own copies, and its coordinates; or, if no axes are joined, the
   layout itself. own[]: room. */
REDIST_PRIV_FAST const redist_layout *redist_priv_unjoined(const redist_layout *layout,
                                                           const int **coords, int *own) {
  const redist_priv_joined *j = layout->joined;
  int d;
  if (!REDIST_PRIV_SCATTERS || j == NULL) return layout;
  for (d = 0; coords != NULL && d < j->base.ndim; d++)
    own[d] = (*coords)[j->axis[d]] / j->weight[d] % j->base.dim[d].axis.procs;
  if (coords != NULL) *coords = own;
  return &j->base;
}

/* The place of replica 0 at these coordinates. */
REDIST_PRIV_COLD int redist_priv_place_of(const redist_layout *layout, const int *coords) {
  int axes[REDIST_MAX_DIMS], own[REDIST_MAX_DIMS];
  int k, place = 0;
  layout = redist_priv_unjoined(layout, &coords, own);
  if (layout->boxes > 0) return coords[0];
  redist_priv_slow_to_fast(layout, layout->grid_order, axes);
  for (k = 0; k < layout->ndim; k++)
    place = place * layout->dim[axes[k]].axis.procs + coords[axes[k]];
  REDIST_ASSERT(place >= 0 && place < redist_priv_grid_places(layout));
  return place;
}

/* The coordinates of a place, the same in every replica. */
REDIST_PRIV void redist_priv_coords_of_place(const redist_layout *layout, int place, int *coords) {
  int axes[REDIST_MAX_DIMS];
  int k;
  REDIST_ASSERT(place >= 0 && place < redist_layout_places(layout));
  if (REDIST_PRIV_SCATTERS && layout->joined != NULL) {
    const redist_priv_joined *j = layout->joined;
    int base[REDIST_MAX_DIMS];
    redist_priv_coords_of_place(&j->base, place, base);
    for (k = 0; k < layout->ndim; k++) coords[k] = 0;
    for (k = 0; k < j->base.ndim; k++) coords[j->axis[k]] += base[k] * j->weight[k];
    return;
  }
  redist_priv_slow_to_fast(layout, layout->grid_order, axes);
  for (k = layout->ndim - 1; k >= 0; k--) {
    coords[axes[k]] = place % layout->dim[axes[k]].axis.procs;
    place /= layout->boxes > 0 ? 1 : layout->dim[axes[k]].axis.procs;
  }
}

/* The first place after `place` that a rank holds; -1: none. by_rank: redist_priv_list_ranks of the
   layout; or NULL, which takes O(places) with redist_on_ranks. */
REDIST_PRIV int redist_priv_next_place(const redist_layout *layout,
                                       const redist_priv_rank_place *by_rank, int rank, int place) {
  const int places = redist_layout_places(layout);
  const redist_priv_rank_place last = {rank, place};
  int low = 0, high = places, k;
  if (layout->ranks == NULL) {
    const int64_t only = (int64_t)rank - layout->first_rank;
    return place < only && only < places ? (int)only : -1;
  }
  if (by_rank == NULL) {
    for (place++; place < places && layout->ranks[place] != rank; place++) continue;
    return place < places ? place : -1;
  }
  REDIST_PRIV_BISECT(low, high, k, redist_priv_compare_pairs(&by_rank[k], &last) > 0)
  return low < places && by_rank[low].rank == rank ? by_rank[low].place : -1;
}

REDIST_API int redist_layout_rank(const redist_layout *layout, const int *coords) {
  int d;
  if (redist_layout_places(layout) == 0 || coords == NULL) return -1;
  for (d = 0; d < layout->ndim; d++)
    if (coords[d] < 0 || coords[d] >= layout->dim[d].axis.procs ||
        (layout->boxes > 0 && coords[d] != coords[0]))
      return -1;
  return redist_priv_rank_at(layout, redist_priv_place_of(layout, coords));
}

REDIST_API int redist_layout_coords(const redist_layout *layout, int rank, int *coords) {
  return redist_layout_place_coords(layout, redist_layout_next_place(layout, rank, -1), coords);
}

REDIST_API int redist_layout_on_rank(const redist_layout *layout, int rank, int most, int *places) {
  int n = 0, place = -1;
  while ((place = redist_layout_next_place(layout, rank, place)) >= 0) {
    if (n < most && places != NULL) places[n] = place;
    n++;
  }
  return n;
}

REDIST_API int redist_layout_next_place(const redist_layout *layout, int rank, int place) {
  if (redist_layout_places(layout) == 0 || place < -1) return -1;
  return redist_priv_next_place(layout, NULL, rank, place);
}

REDIST_API int redist_layout_place_coords(const redist_layout *layout, int place, int *coords) {
  if (place < 0 || place >= redist_layout_places(layout) || coords == NULL) return 0;
  redist_priv_coords_of_place(layout, place, coords);
  return 1;
}

/* Adds what index i of an axis of a reshaped view, which it has, adds to the indices of dim[]. */
REDIST_PRIV_COLD void redist_priv_add_index(const redist_priv_view *view, int axis, int64_t i,
                                            int64_t *indices) {
  const redist_priv_view_axis *a = &view->axis[axis];
  int64_t rest = a->start + i * a->step;
  int k;
  for (k = a->first + a->digits - 1; k >= a->first; rest /= view->digit[k--].count)
    indices[view->digit[k].dim] += rest % view->digit[k].count * view->digit[k].step;
}

/* The coordinates that own index[ndim] of the view, and its axis indices; 0 when outside. */
REDIST_PRIV_COLD int redist_priv_owner_coords(const redist_layout *layout, const int64_t *index,
                                              int *coords, int64_t *indices) {
  int d, box = -1;
  if (redist_layout_places(layout) == 0 || index == NULL) return 0;
  if (redist_priv_is_reshaped(layout)) {
    for (d = 0; d < layout->ndim; d++) indices[d] = layout->dim[d].axis.start;
    for (d = 0; d < layout->view.axes; d++) {
      if (index[d] < 0 || index[d] >= layout->view.axis[d].count) return 0;
      redist_priv_add_index(&layout->view, d, index[d], indices);
    }
  } else
    for (d = 0; d < layout->ndim; d++)
      if ((indices[d] = redist_priv_axis_index(&layout->dim[d].axis, index[d])) < 0) return 0;
  if (layout->boxes > 0 && (box = redist_priv_box_of(layout, indices)) < 0) return 0;
  for (d = 0; d < layout->ndim; d++) {
    const redist_axis *x = &layout->dim[d].axis;
    const int64_t k = box >= 0 ? box : redist_priv_block_of(x, indices[d]);
    if (k < 0) return 0;
    coords[d] = (int)((k + x->first) % x->procs);
  }
  return 1;
}

REDIST_API int redist_layout_owner(const redist_layout *layout, const int64_t *index) {
  int64_t indices[REDIST_MAX_DIMS];
  int coords[REDIST_MAX_DIMS];
  return redist_priv_owner_coords(layout, index, coords, indices)
             ? redist_layout_rank(layout, coords)
             : -1;
}

/* How the local array of one place is stored, in elements: the strides, the offset of local
   position 0 of all axes, and the size of the array. */
typedef struct {
  int64_t stride[REDIST_MAX_DIMS]; /* by axis of the view; of the base, if axes are joined */
  int64_t origin, size;
} redist_priv_storage;

/* Cells of the local array along an axis. */
REDIST_PRIV int64_t redist_priv_allocated(const redist_priv_dimension *dim, int coord) {
  return dim->allocated > 0 ? dim->allocated
                            : dim->low + redist_priv_size(&dim->axis, coord) + dim->high;
}

REDIST_PRIV redist_priv_storage redist_priv_storage_at(const redist_layout *layout,
                                                       const int *coords) {
  redist_priv_storage storage;
  int axes[REDIST_MAX_DIMS], own[REDIST_MAX_DIMS];
  int k;
  layout = redist_priv_unjoined(layout, &coords, own);
  storage.origin = 0;
  storage.size = 1;
  redist_priv_slow_to_fast(layout, layout->memory_order, axes);
  for (k = layout->ndim - 1; k >= 0; k--) {
    const redist_priv_dimension *dim = &layout->dim[axes[k]];
    storage.stride[axes[k]] = storage.size;
    storage.origin += dim->low * storage.size;
    storage.size *= redist_priv_allocated(dim, coords[axes[k]]);
  }
  return storage;
}

/* A place of a rank, and how it is stored in the rank's array; begin: where it begins there; end:
   where it and those before it end. */
typedef struct {
  int place;
  redist_priv_storage storage;
  int64_t begin, end;
} redist_priv_held_place;

REDIST_PRIV_COLD redist_priv_held_place redist_priv_before_first(void) {
  redist_priv_held_place held;
  memset(&held, 0, sizeof held);
  held.place = -1;
  return held;
}

/* Advances to the next place of a rank, from before the first. Returns 0 when there is none.
   Offsets that overflow, or are negative, are refused elsewhere. */
REDIST_PRIV_COLD int redist_priv_next_held(const redist_layout *layout, int rank,
                                           redist_priv_held_place *held) {
  int coords[REDIST_MAX_DIMS];
  held->place = redist_priv_next_place(layout, NULL, rank, held->place);
  if (held->place < 0) return 0;
  redist_priv_coords_of_place(layout, held->place, coords);
  held->storage = redist_priv_storage_at(layout, coords);
  held->begin =
      redist_priv_clamp(layout->offsets == NULL ? held->end : layout->offsets[held->place], 0,
                        REDIST_PRIV_MAX_ELEMENTS);
  held->storage.origin += held->begin;
  if (held->storage.size > 0)
    held->end = redist_priv_max(held->end, held->begin + held->storage.size);
  return 1;
}

/* How a place is stored in its rank's array. O(places) where ranks hold several without offsets. */
REDIST_PRIV_COLD redist_priv_storage redist_priv_storage_of(const redist_layout *layout,
                                                            int place) {
  redist_priv_held_place held = redist_priv_before_first();
  if (layout->ranks == NULL || layout->offsets != NULL) held.place = place - 1;
  while (redist_priv_next_held(layout, redist_priv_rank_at(layout, place), &held) &&
         held.place < place)
    continue;
  REDIST_ASSERT(held.place == place);
  return held.storage;
}

/* The least allocated length along an axis: up to the last cell that can hold an element. */
REDIST_PRIV_COLD int64_t redist_priv_least(const redist_priv_dimension *dim, int coord) {
  const redist_axis *x = &dim->axis;
  const int closed = x->ghosts == 1 + (int)REDIST_CLOSED;
  int64_t begin, end;
  redist_priv_interval(x, coord, &begin, &end);
  return dim->low + end - begin + (closed ? redist_priv_min(x->high, x->extent - end) : x->high);
}

/* Records an error where redist_with_allocated gave less than a place needs. */
REDIST_PRIV_COLD void redist_priv_check_extents(const redist_layout *layout, const int *coords,
                                                redist_priv_error *error) {
  int d, own[REDIST_MAX_DIMS];
  layout = redist_priv_unjoined(layout, &coords, own);
  for (d = 0; d < layout->ndim; d++)
    if (layout->dim[d].allocated > 0)
      redist_priv_require(error, REDIST_ERR_LAYOUT, d, "the allocated extent",
                          layout->dim[d].allocated, redist_priv_least(&layout->dim[d], coords[d]),
                          INT64_MAX);
}

REDIST_API int64_t redist_layout_offset(const redist_layout *layout, const int64_t *index) {
  int64_t indices[REDIST_MAX_DIMS], offset;
  int coords[REDIST_MAX_DIMS];
  redist_priv_storage storage;
  int d;
  if (!redist_priv_owner_coords(layout, index, coords, indices)) return -1;
  storage = redist_priv_storage_of(layout, redist_priv_place_of(layout, coords));
  offset = storage.origin;
  for (d = 0; d < layout->ndim; d++) {
    REDIST_ASSERT(redist_priv_below(&layout->dim[d].axis, coords[d], indices[d]) <
                  redist_priv_size(&layout->dim[d].axis, coords[d]));
    offset += redist_priv_below(&layout->dim[d].axis, coords[d], indices[d]) * storage.stride[d];
  }
  return offset;
}

REDIST_API int64_t redist_layout_place_offsets(const redist_layout *layout, int rank,
                                               int64_t *offsets) {
  redist_priv_held_place held = redist_priv_before_first();
  while (redist_layout_places(layout) > 0 && redist_priv_next_held(layout, rank, &held))
    if (offsets != NULL) offsets[held.place] = held.begin;
  return held.end;
}

REDIST_API int64_t redist_layout_local_size(const redist_layout *layout, int rank) {
  return redist_layout_place_offsets(layout, rank, NULL);
}

/* Bytes of a layout up to its last axis: a plan's layouts have no room for more. */
REDIST_PRIV_COLD size_t redist_priv_layout_bytes(const redist_layout *layout) {
  return offsetof(redist_layout, dim) + (size_t)layout->ndim * sizeof layout->dim[0];
}

/* Copies a layout; ghosts 0: its ghost cells hold no elements, as in a source that is not
   combined. */
REDIST_PRIV_COLD redist_layout *redist_priv_copy_to(redist_layout *copy,
                                                    const redist_layout *layout, int ghosts) {
  int d;
  memcpy((void *)copy, layout, redist_priv_layout_bytes(layout));
  copy->truncated = 1;
  for (d = 0; d < copy->ndim && !ghosts; d++) {
    redist_axis *x = &copy->dim[d].axis;
    x->ghosts = 0;
    x->low = x->high = 0;
  }
  if (!ghosts) copy->faces = 0;
  return copy;
}

/* Frees what belongs to one of the library's own copies. */
REDIST_PRIV_COLD void redist_priv_close_layout(redist_layout *copy) {
  redist_priv_forget_sets(copy);
  REDIST_FREE(copy->joined);
  copy->joined = NULL;
}

REDIST_PRIV_COLD void redist_priv_close_pair(redist_layout *pair) {
  redist_priv_close_layout(&pair[0]);
  redist_priv_close_layout(&pair[1]);
}

/* The lengths of which axes of two views of the same shape are merged divide each other; boxes and
   ghost cells are not joined to other axes. */
REDIST_PRIV_COLD void redist_priv_check_views(const redist_layout *from, const redist_layout *to,
                                              redist_priv_error *v);

/* Joins the axes of copies of two layouts of the same shape if either is reshaped. Close them even
   on failure. REDIST_ERR_MEMORY, REDIST_ERR_OVERFLOW. */
REDIST_PRIV_COLD int redist_priv_join(const redist_layout *const *given,
                                      redist_layout *const *copy);

/* Checks that two valid layouts show the same shape. */
REDIST_PRIV_COLD void redist_priv_check_shapes(const redist_layout *from, const redist_layout *to,
                                               redist_priv_error *v) {
  int d;
  if (redist_priv_axes(from) != redist_priv_axes(to))
    redist_priv_fail(v, REDIST_ERR_SHAPE, "the source has %d axes, the destination %d",
                     redist_priv_axes(from), redist_priv_axes(to));
  for (d = 0; v->code == REDIST_OK && d < redist_priv_axes(from); d++)
    if (redist_priv_length(from, d) != redist_priv_length(to, d))
      redist_priv_fail(v, REDIST_ERR_SHAPE,
                       "axis %d: the source has extent %" PRId64 ", the destination %" PRId64, d,
                       redist_priv_length(from, d), redist_priv_length(to, d));
  if (v->code == REDIST_OK && (redist_priv_is_reshaped(from) || redist_priv_is_reshaped(to)))
    redist_priv_check_views(from, to, v);
}

/* Checks that both layouts are valid and show the same shape. On success pair[2] are copies of
   them, with sorted axes, to be closed; that of `from` with or without ghosts. */
REDIST_PRIV_COLD int redist_priv_open_pair(const redist_layout *from, const redist_layout *to,
                                           int ghosts, redist_layout *pair) {
  const redist_layout *const given[2] = {from, to};
  redist_layout *const copy[2] = {&pair[0], &pair[1]};
  redist_priv_error error = redist_priv_no_error(-1);
  int code = redist_layout_check(from);
  if (code == REDIST_OK) code = redist_layout_check(to);
  if (code != REDIST_OK) return code;
  redist_priv_check_shapes(from, to, &error);
  if (error.code != REDIST_OK) return error.code;
  redist_priv_copy_to(&pair[1], to, 1);
  code = redist_priv_sort_axes(redist_priv_copy_to(&pair[0], from, ghosts));
  if (code == REDIST_OK) code = redist_priv_sort_axes(&pair[1]);
  if (code == REDIST_OK) code = redist_priv_join(given, copy);
  if (code != REDIST_OK) redist_priv_close_pair(pair);
  return code;
}

/* Whether every element has exactly one place in each replica, which is found axis by axis: there
   are no boxes, and ghost cells hold no elements. */
REDIST_PRIV_COLD int redist_priv_is_partitioned(const redist_layout *layout) {
  int d, partitioned = layout->boxes == 0;
  for (d = 0; d < layout->ndim; d++) partitioned &= layout->dim[d].axis.ghosts == 0;
  return partitioned;
}

/* Whether the pairs of ranks that share elements are a product over axes: each has one place at
   most, and each element goes from one place to one place. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_find_product(const redist_layout *from, const redist_layout *to,
                                              int *product) {
  const int code = redist_priv_check_single(from, to);
  *product = code == REDIST_OK && from->copies == 1 && to->copies == 1 &&
             redist_priv_is_partitioned(from) && redist_priv_is_partitioned(to);
  return code == REDIST_ERR_RANK ? REDIST_OK : code;
}

/* The distance in the view from index i, 0 <= i < count, to the first index from i on that coord
   owns; -1 when there is none. */
REDIST_PRIV int64_t redist_priv_distance(const redist_axis *x, int coord, int64_t i);

/* The distance in memory, in local positions, between successive view indices that a coordinate
   owns; 0 where distances differ. */
REDIST_PRIV int64_t redist_priv_local_stride(const redist_axis *x, int coord);

/* The shape of what a place owns along axis v of the view of a layout whose axes are sorted; view:
   NULL, if it is not reshaped. Returns whether its elements lie at equal distances. */
REDIST_PRIV_COLD int redist_priv_axis_shape(redist_layout *sorted, const redist_priv_view *view,
                                            int v, const int *coords,
                                            const redist_priv_storage *storage,
                                            redist_shape *shape) {
  const redist_priv_digit *digit = view == NULL ? NULL : &view->digit[view->axis[v].first];
  const int d = digit == NULL ? v : digit->dim, coord = coords[d];
  redist_axis *x = &sorted->dim[d].axis;
  int64_t stride;
  if (digit != NULL && redist_priv_only_dim(view, v) < 0) {
    if (view->axis[v].digits > 1 || x->procs > 1 || x->kind == REDIST_PRIV_INDICES) return 0;
    shape->count[v] = shape->allocated[v] = digit->count;
    shape->stride[v] = digit->step * storage->stride[d];
    return 1;
  }
  if (digit != NULL) {
    x->step = digit->step;
    x->count = digit->count;
    shape->origin -= x->start * storage->stride[d];
  }
  stride = redist_priv_local_stride(x, coord);
  shape->count[v] = redist_axis_count(x, coord);
  shape->stride[v] = stride * storage->stride[d];
  shape->allocated[v] = redist_priv_allocated(&sorted->dim[d], coord);
  if (shape->count[v] == 0) return 1;
  shape->first[v] = redist_priv_distance(x, coord, 0);
  shape->origin +=
      redist_priv_below(x, coord, redist_priv_axis_index(x, shape->first[v])) * storage->stride[d];
  return stride != 0 || shape->count[v] == 1;
}

REDIST_API int redist_layout_place_shape(const redist_layout *layout, int place,
                                         redist_shape *shape) {
  redist_layout sorted;
  redist_priv_storage storage;
  const redist_priv_view *view;
  int d, coords[REDIST_MAX_DIMS], even = 1;
  if (shape == NULL || place < 0 || place >= redist_layout_places(layout)) return 0;
  for (d = 0; d < layout->ndim; d++)
    if (redist_priv_is_scattered(&layout->dim[d].axis) && redist_layout_check(layout) != REDIST_OK)
      return 0;
  if (redist_priv_sort_axes(redist_priv_copy_to(&sorted, layout, 1)) != REDIST_OK) return -1;
  storage = redist_priv_storage_of(&sorted, place);
  redist_priv_coords_of_place(&sorted, place, coords);
  memset(shape, 0, sizeof *shape);
  shape->origin = storage.origin;
  view = redist_priv_is_reshaped(layout) ? &layout->view : NULL;
  for (d = 0; d < sorted.ndim && view != NULL; d++)
    shape->origin += sorted.dim[d].axis.start * storage.stride[d];
  for (d = 0; d < redist_priv_axes(layout); d++)
    even &= redist_priv_axis_shape(&sorted, view, d, coords, &storage, shape);
  redist_priv_forget_sets(&sorted);
  return even ? 1 : -1;
}

REDIST_API int redist_layout_shape(const redist_layout *layout, int rank, redist_shape *shape) {
  return redist_layout_place_shape(layout, redist_layout_next_place(layout, rank, -1), shape);
}

/* -------------------------------------------------- runs: what two coordinates of an axis share */

/* Which view indices do a source coordinate and a destination coordinate share? Enumerating them
   takes O(elements). But block-cyclic ownership repeats, so what two axes share repeats, too, with
   the least common multiple of both cycles: the superblock (Walker and Otto 1996). It is enough to
   intersect one superblock; its shared indices, with their repetitions, are runs. For example,
   coordinates 0 of CYCLIC(2) and of CYCLIC(3), both on 2 processes:

       view index   012345678901234567890123456789
       source       ##..##..##..##..##..##..##..##   a track of length 2, period 4; local memory + 2
       destination  ###...###...###...###...###...   a track of length 3, period 6; local memory + 3
       both         ##......#...##......#...##....
       superblock   |----------||----------||tail    lcm(4, 6) = 12 indices, twice

   The runs: indices 0-1 (local 0-1 here and there) and 8 (local 4 and 5), both repeated 12 indices
   and 6 local positions on, and 24-25 in the tail. Views with steps may need several tracks, all
   with one period. */

/* The view indices that a coordinate owns. Each track stands for the segments [start + k period,
   start + k period + length), k >= 0, clipped to the view, in ascending order. The local position
   advances by `advance` from a segment to the track's next. A block-cyclic axis seen without steps
   has one track; period is the view's count when nothing repeats. */
typedef struct {
  int64_t period, advance, count;
  int scattered; /* the axis is */
  int64_t tracks, room;
  redist_priv_track *track;
  redist_priv_track few[4]; /* those of an axis of intervals: at most REDIST_PRIV_IMAGES */
} redist_priv_pattern;

/* A run, a loop nest along one axis: n[0] elements, repeated n[1] times, and all that n[2] times.
   Positions and strides are in elements: in the source, in the destination, and in a dense array of
   just the elements that two coordinates share. */
enum { REDIST_PRIV_FROM, REDIST_PRIV_TO, REDIST_PRIV_PACKED, REDIST_PRIV_SIDES };
enum { REDIST_PRIV_LEVELS = 3 };

typedef struct {
  int64_t n[REDIST_PRIV_LEVELS];
  int64_t at[REDIST_PRIV_SIDES];
  int64_t stride[REDIST_PRIV_LEVELS][REDIST_PRIV_SIDES];
} redist_priv_run;

/* A short form of runs without repetitions, which ends where the next begins in a dense array. */
typedef struct {
  int64_t at[REDIST_PRIV_SIDES], stride[2];
} redist_priv_segment;

/* The elements that two coordinates share: run[runs], of which a single one lies in `one`; or,
   where they are many and irregular, segment[runs], which are contiguous in a dense array. */
typedef struct {
  redist_priv_run *run;
  redist_priv_segment *segment;
  int64_t runs, room;
  int64_t elements;
  redist_priv_run one;
} redist_priv_runs;

REDIST_PRIV void redist_priv_runs_free(redist_priv_runs *list) {
  if (list->run != &list->one) REDIST_FREE(list->run);
  REDIST_FREE(list->segment);
}

REDIST_PRIV_FAST int redist_priv_has_segments(const redist_priv_runs *list) {
  return REDIST_PRIV_SCATTERS && list->segment != NULL;
}

/* How many elements a segment has. */
REDIST_PRIV_FAST int64_t redist_priv_length_of(const redist_priv_runs *list, int64_t r) {
  const int64_t end =
      r + 1 < list->runs ? list->segment[r + 1].at[REDIST_PRIV_PACKED] : list->elements;
  return end - list->segment[r].at[REDIST_PRIV_PACKED];
}

/* The r-th run, of whichever form. */
REDIST_PRIV redist_priv_run redist_priv_run_at(const redist_priv_runs *list, int64_t r) {
  redist_priv_run run;
  const redist_priv_segment *segment;
  int side;
  if (!redist_priv_has_segments(list)) return list->run[r];
  segment = &list->segment[r];
  memset(&run, 0, sizeof run);
  run.n[0] = redist_priv_length_of(list, r);
  run.n[1] = run.n[2] = 1;
  memcpy(run.at, segment->at, sizeof run.at);
  for (side = 0; side < 2; side++) run.stride[0][side] = segment->stride[side];
  run.stride[0][REDIST_PRIV_PACKED] = 1;
  run.stride[1][REDIST_PRIV_PACKED] = run.stride[2][REDIST_PRIV_PACKED] = run.n[0];
  return run;
}

/* Copies a list. REDIST_ERR_MEMORY: the copy is empty. */
REDIST_PRIV_COLD int redist_priv_copy_runs(const redist_priv_runs *list, redist_priv_runs *copy) {
  const int in_segments = redist_priv_has_segments(list);
  const void *const from = in_segments ? (const void *)list->segment : list->run;
  const size_t bytes = in_segments ? sizeof *list->segment : sizeof *list->run;
  void *memory = from == &list->one ? &copy->one : redist_priv_alloc(list->runs, bytes);
  *copy = *list;
  copy->run = in_segments ? NULL : (redist_priv_run *)memory;
  copy->segment = in_segments ? (redist_priv_segment *)memory : NULL;
  copy->runs = copy->room = memory == NULL ? 0 : list->runs;
  if (copy->runs > 0) memcpy(memory, from, (size_t)copy->runs * bytes);
  return memory == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
}

/* Adds a run. REDIST_ERR_MEMORY: the list is empty. */
REDIST_PRIV int redist_priv_append_run(redist_priv_runs *list, const redist_priv_run *run) {
  if (list->run == &list->one) {
    list->run = NULL;
    list->runs = 0;
    if (REDIST_PRIV_APPEND(list->run, list->runs, list->room, list->one) != REDIST_OK)
      return REDIST_ERR_MEMORY;
  }
  if (list->room > 0) return REDIST_PRIV_APPEND(list->run, list->runs, list->room, *run);
  list->one = *run;
  list->run = &list->one;
  list->runs = 1;
  return REDIST_OK;
}

/* Adds `length` elements, from positions at[2] on, in strides[2], as a segment, or to the last one
   if they continue it. REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_append_segment(redist_priv_runs *list, const int64_t *at,
                                           int64_t length, const int64_t *strides) {
  const redist_priv_segment *last = list->runs > 0 ? &list->segment[list->runs - 1] : NULL;
  const int64_t before = last == NULL ? 0 : redist_priv_length_of(list, list->runs - 1);
  redist_priv_segment next;
  int side, joined = last != NULL;
  for (side = 0; side < 2; side++) {
    next.at[side] = at[side];
    next.stride[side] = length == 1 ? 1 : strides[side];
    joined = joined && at[side] == last->at[side] + before * last->stride[side] &&
             (length == 1 || strides[side] == last->stride[side]);
  }
  next.at[REDIST_PRIV_PACKED] = list->elements;
  list->elements += length;
  return joined ? REDIST_OK : REDIST_PRIV_APPEND(list->segment, list->runs, list->room, next);
}

/* Where a traversal of a view is: at a block, of this coordinate; of a sorted scattered axis, at
   this stretch. Zeroed at first. */
typedef struct {
  int64_t stretch;
  int coord;
} redist_priv_cursor;

/* What the view shows of the block, or the stretch, of index i, 0 <= i < count. */
REDIST_PRIV redist_priv_track redist_priv_block_at(const redist_axis *x, int64_t i,
                                                   redist_priv_cursor *cursor) {
  const int64_t g = x->start + i * x->step;
  const redist_priv_stretch *s;
  int64_t k;
  if (redist_priv_is_scattered(x)) {
    cursor->stretch = redist_priv_stretch_of(x->sets, g, cursor->stretch);
    s = &x->sets->stretch[cursor->stretch];
    cursor->coord = (int)(((int64_t)s->set + x->first) % x->procs);
    return redist_priv_track_of(x, s->start, s[1].start, s->local, s->step);
  }
  k = redist_priv_block_of(x, g);
  cursor->coord = (int)((k + x->first) % x->procs);
  return x->procs == 1
             ? redist_priv_only_track(x, 0)
             : redist_priv_track_of(x, redist_priv_block_start(x, k), redist_priv_block_end(x, k),
                                    k / x->procs * x->block, 1);
}

REDIST_PRIV int64_t redist_priv_distance(const redist_axis *x, int coord, int64_t i) {
  const int64_t g = x->start + i * x->step, step = redist_priv_abs(x->step);
  /* first, last: of the block, as distances from g */
  int64_t at = i, low, first, last, cycle, distance;
  redist_priv_cursor cursor = {0, 0};
  redist_priv_track track;
  for (; redist_priv_is_scattered(x) && at < x->count; at = track.start + track.length) {
    track = redist_priv_block_at(x, at, &cursor);
    if (cursor.coord == coord) return at - i;
  }
  if (redist_priv_is_scattered(x)) return -1;
  if (redist_priv_is_interval(x)) {
    const redist_priv_track owned = redist_priv_only_track(x, coord);
    const int64_t next = redist_priv_max(owned.start, i);
    return next < owned.start + owned.length ? next - i : -1;
  }
  cycle = x->block * x->procs;
  low = redist_priv_first_block(x, coord) * x->block;
  first = redist_priv_mod(x->step > 0 ? low - g : g - (low + x->block - 1), cycle);
  last = first + x->block - 1;
  distance = last >= cycle ? 0 : redist_priv_first_in(step % cycle, cycle, first, last);
  REDIST_ASSERT(distance < 0 || distance >= x->count - i ||
                redist_axis_owner(x, i + distance) == coord);
  return distance < x->count - i ? distance : -1;
}

/* View indices after which the owners repeat; the view's count when they do not. */
REDIST_PRIV int64_t redist_priv_period(const redist_axis *x) {
  int64_t cycle;
  if (redist_priv_is_interval(x) || redist_priv_is_scattered(x)) return x->count;
  cycle = x->block * x->procs;
  return redist_priv_min(cycle / redist_priv_gcd(cycle, redist_priv_abs(x->step)), x->count);
}

/* The images of an interval with its ghost cells, as bits: what it owns, what ghost cells show
   inside the axis, and what they show past the low and the high end of a periodic axis. */
enum {
  REDIST_PRIV_OWNED = 1,
  REDIST_PRIV_INSIDE = 2,
  REDIST_PRIV_PAST_LOW = 4,
  REDIST_PRIV_PAST_HIGH = 8,
  REDIST_PRIV_ALL_IMAGES = 15,
  REDIST_PRIV_IMAGES = 4
};

/* Writes to track[REDIST_PRIV_IMAGES] what a coordinate of an axis of intervals holds in some
   images; two tracks may show the same index only if the images include others than OWNED and
   INSIDE. Returns their number. */
REDIST_PRIV int redist_priv_holdings(const redist_axis *x, int coord, int images,
                                     redist_priv_track *track) {
  static const int bits[3] = {REDIST_PRIV_PAST_LOW, REDIST_PRIV_OWNED | REDIST_PRIV_INSIDE,
                              REDIST_PRIV_PAST_HIGH};
  const int around = x->ghosts == 1 + (int)REDIST_PERIODIC;
  int64_t begin, end, first, last;
  int turn, half, tracks = 0;
  redist_priv_interval(x, coord, &begin, &end);
  for (turn = -around; turn <= around; turn++) {
    const int64_t shift = turn * x->extent;
    const int wanted = images & bits[1 + turn], ghosts = (wanted & ~REDIST_PRIV_OWNED) != 0,
              halves = wanted == REDIST_PRIV_INSIDE ? 2 : wanted != 0;
    for (half = 0; half < halves; half++) {
      first = half == 1 ? end : ghosts ? begin - x->low : begin;
      last = half + 1 < halves ? begin : ghosts ? end + x->high : end;
      first = redist_priv_max(first, shift);
      last = redist_priv_min(last, shift + x->extent);
      track[tracks] = redist_priv_track_of(x, first - shift, last - shift, first - begin, 1);
      tracks += track[tracks].length > 0;
    }
  }
  return tracks;
}

REDIST_PRIV void redist_priv_pattern_free(redist_priv_pattern *p) {
  if (p->track != p->few) REDIST_FREE(p->track);
}

/* Adds the tracks of a coordinate of a sorted scattered axis. */
REDIST_PRIV int redist_priv_add_tracks(const redist_axis *x, int coord, redist_priv_pattern *p) {
  const redist_priv_stretch *stretch = x->sets->stretch;
  int64_t k = x->sets->first[redist_priv_first_block(x, coord)], t;
  int code = REDIST_OK;
  for (; k >= 0 && code == REDIST_OK; k = stretch[k].next) {
    const redist_priv_track next = redist_priv_track_of(x, stretch[k].start, stretch[k + 1].start,
                                                        stretch[k].local, stretch[k].step);
    if (next.length > 0) code = REDIST_PRIV_APPEND(p->track, p->tracks, p->room, next);
  }
  for (t = 0; t < p->tracks / 2 && x->step < 0; t++) {
    const redist_priv_track first = p->track[t];
    p->track[t] = p->track[p->tracks - 1 - t];
    p->track[p->tracks - 1 - t] = first;
  }
  return code;
}

/* The pattern of a coordinate, in some images or in all. REDIST_ERR_MEMORY. Free it, even on
   failure. */
REDIST_PRIV int redist_priv_pattern_of(const redist_axis *x, int coord, int images,
                                       redist_priv_pattern *p) {
  int64_t i = 0, skip;
  redist_priv_cursor cursor = {0, 0};
  redist_priv_track *head, *last;
  memset(p, 0, sizeof *p);
  p->count = x->count;
  p->period = redist_priv_period(x);
  p->advance = p->period == x->count ? 0 : p->period * x->step / x->procs;
  p->scattered = redist_priv_is_scattered(x);
  if (p->scattered) return redist_priv_add_tracks(x, coord, p);
  if (redist_priv_is_interval(x)) {
    p->track = p->few;
    p->tracks = redist_priv_holdings(x, coord, images, p->track);
    return REDIST_OK;
  }
  while (i < p->period && (skip = redist_priv_distance(x, coord, i)) >= 0 && i + skip < p->period) {
    redist_priv_track next = redist_priv_block_at(x, i + skip, &cursor);
    REDIST_ASSERT(next.start <= i + skip && i + skip < next.start + next.length);
    next.length = redist_priv_min(next.length, p->period - next.start);
    i = next.start + next.length;
    if (REDIST_PRIV_APPEND(p->track, p->tracks, p->room, next) != REDIST_OK)
      return REDIST_ERR_MEMORY;
  }
  if (p->tracks < 2 || p->period == p->count) return REDIST_OK;
  head = &p->track[0];
  last = &p->track[p->tracks - 1];
  /* Joins the halves of a segment cut by the end of the period; it then starts before index 0. */
  if (head->start == 0 && last->start + last->length == p->period &&
      last->local + last->length * last->step == head->local + p->advance) {
    head->start = last->start - p->period;
    head->local = last->local - p->advance;
    head->length += last->length;
    p->tracks--;
  }
  return REDIST_OK;
}

/* Compares successive segments; where they repeat, the last with the first of the next period. */
REDIST_PRIV int64_t redist_priv_local_stride(const redist_axis *x, int coord) {
  redist_priv_pattern p;
  int64_t k, at, before = 0, stride = x->step;
  int even;
  if (!redist_priv_is_scattered(x) && (x->step == 1 || x->step == -1 || redist_priv_is_interval(x)))
    return x->step;
  even = redist_priv_pattern_of(x, coord, REDIST_PRIV_ALL_IMAGES, &p) == REDIST_OK;
  for (k = 0; k <= p.tracks && p.tracks > 0 && even; k++) {
    const redist_priv_track *t = &p.track[k % p.tracks];
    if (k == p.tracks && t->start + p.period >= p.count) break;
    at = t->local + k / p.tracks * p.advance - p.track[0].local;
    stride = before == 1 ? at : before == 0 ? t->step : stride;
    even = at == before * stride && (t->length == 1 || stride == t->step);
    before += t->length;
  }
  redist_priv_pattern_free(&p);
  return even ? stride : 0;
}

/* An intersection in progress, of the patterns of the sides FROM and TO: one track of each. */
typedef struct {
  const redist_priv_pattern *pattern[2];
  const redist_priv_track *track[2];
  int outer; /* the side with the longer period */
  /* runs occur `repeat` times, at distances of `superblock` view indices */
  int64_t repeat, superblock;
  redist_priv_runs *runs;
} redist_priv_meeting;

/* Adds `count` runs of `length` indices, the first at view index i, the others at distances of the
   inner period. */
REDIST_PRIV int redist_priv_add_run(redist_priv_meeting *m, int64_t i, int64_t length,
                                    int64_t count) {
  redist_priv_runs *list = m->runs;
  const int64_t distance = m->pattern[!m->outer]->period;
  redist_priv_run run;
  int side;
  run.n[0] = length;
  run.n[1] = count;
  run.n[2] = m->repeat;
  for (side = REDIST_PRIV_FROM; side <= REDIST_PRIV_TO; side++) {
    const redist_priv_pattern *p = m->pattern[side];
    const int64_t on = i - m->track[side]->start, k = redist_priv_floor_div(on, p->period);
    const int64_t step = m->track[side]->step;
    REDIST_ASSERT(on - k * p->period + length + (side == m->outer ? (count - 1) * distance : 0) <=
                  m->track[side]->length);
    run.at[side] = m->track[side]->local + k * p->advance + (on - k * p->period) * step;
    run.stride[0][side] = step;
    run.stride[1][side] = count == 1 ? 0 : side == m->outer ? distance * step : p->advance;
    run.stride[2][side] = m->repeat == 1 ? 0 : m->superblock / p->period * p->advance;
  }
  run.at[REDIST_PRIV_PACKED] = list->elements;
  run.stride[0][REDIST_PRIV_PACKED] = 1;
  run.stride[1][REDIST_PRIV_PACKED] = length;
  run.stride[2][REDIST_PRIV_PACKED] = 0; /* known when the superblock is complete */
  list->elements += length * count;
  return redist_priv_append_run(list, &run);
}

/* Adds what the inner track has of the view indices begin <= i < end, which lie in one segment of
   the outer track: a cut segment, whole ones, and another cut one. */
REDIST_PRIV int redist_priv_add_segment(redist_priv_meeting *m, int64_t begin, int64_t end) {
  const redist_priv_track *inner = m->track[!m->outer];
  const int64_t period = m->pattern[!m->outer]->period;
  int64_t at = inner->start + redist_priv_floor_div(begin - inner->start, period) * period,
          count = 1;
  int code = REDIST_OK;
  for (; at < end && code == REDIST_OK; at += count * period) {
    const int64_t low = redist_priv_max(at, begin), high = redist_priv_min(at + inner->length, end);
    count = high - low == inner->length ? (end - high) / period + 1 : 1;
    if (low < high) code = redist_priv_add_run(m, low, high - low, count);
  }
  return code;
}

/* Adds what the two tracks share of the view indices begin <= i < end. Visits only those segments k
   of the outer track that meet the inner one: (outer start + k outer period - inner start) mod
   inner period lies in a window. Kalns and Ni 1995 visit all blocks; redist_priv_first_in finds the
   next k. */
REDIST_PRIV int redist_priv_add_range(redist_priv_meeting *m, int64_t begin, int64_t end) {
  const redist_priv_track *outer = m->track[m->outer], *inner = m->track[!m->outer];
  const int64_t period = m->pattern[m->outer]->period, p = m->pattern[!m->outer]->period;
  const int64_t window = outer->length + inner->length - 1;
  int64_t at = redist_priv_max(outer->start, inner->start), stop;
  int code = REDIST_OK;
  if (p == m->pattern[REDIST_PRIV_FROM]->count) { /* nothing repeats */
    stop = redist_priv_min(outer->start + outer->length, inner->start + inner->length);
    return at < stop ? redist_priv_add_run(m, at, stop - at, 1) : REDIST_OK;
  }
  at = outer->start +
       redist_priv_max(redist_priv_floor_div(begin - outer->start, period), 0) * period;
  for (; code == REDIST_OK && at < end; at += period) {
    const int64_t low = redist_priv_mod(inner->start - (outer->length - 1) - at, p);
    const int64_t skip =
        low + window > p ? 0 : redist_priv_first_in(period % p, p, low, low + window - 1);
    if (skip < 0 || skip > (end - at) / period) break;
    at += skip * period;
    code = redist_priv_add_segment(m, redist_priv_max(at, begin),
                                   redist_priv_min(at + outer->length, end));
  }
  return code;
}

/* Joins each run with the next where that continues it on every side. */
REDIST_PRIV void redist_priv_join_runs(redist_priv_runs *list) {
  int64_t r, kept = 0;
  int side, joined;
  for (r = 1; r < list->runs; r++) {
    redist_priv_run *a = &list->run[kept], *b = &list->run[r];
    joined = a->n[1] == 1 && a->n[2] == 1 && b->n[1] == 1 && b->n[2] == 1;
    for (side = 0; side < REDIST_PRIV_SIDES; side++)
      joined &= b->at[side] == a->at[side] + a->n[0] * a->stride[0][side] &&
                (b->n[0] == 1 || b->stride[0][side] == a->stride[0][side]);
    if (joined)
      a->n[0] += b->n[0];
    else
      list->run[++kept] = *b;
  }
  list->runs = list->runs == 0 ? 0 : kept + 1;
}

/* Replaces repetitions that continue each other on every side by a longer run. */
REDIST_PRIV void redist_priv_fold(redist_priv_run *run) {
  int level, side, contiguous;
  for (level = 1; level < REDIST_PRIV_LEVELS; level++) {
    contiguous = run->n[level] > 1 && (level == 1 || run->n[1] == 1);
    for (side = 0; side < REDIST_PRIV_SIDES && contiguous; side++)
      contiguous = run->stride[level][side] == run->n[0] * run->stride[0][side];
    if (contiguous) {
      run->n[0] *= run->n[level];
      run->n[level] = 1;
    }
  }
}

/* Adds one superblock, repeated, or the tail: what all tracks share of begin <= i < end. */
REDIST_PRIV int redist_priv_add_all(redist_priv_meeting *m, int64_t begin, int64_t end) {
  const redist_priv_pattern *from = m->pattern[REDIST_PRIV_FROM], *to = m->pattern[REDIST_PRIV_TO];
  const int64_t first_run = m->runs->runs, before = m->runs->elements;
  int64_t k, r, elements;
  int code = REDIST_OK;
  for (k = 0; k < from->tracks * to->tracks && code == REDIST_OK; k++) {
    m->track[REDIST_PRIV_FROM] = &from->track[k / to->tracks];
    m->track[REDIST_PRIV_TO] = &to->track[k % to->tracks];
    code = redist_priv_add_range(m, begin, end);
  }
  elements = m->runs->elements - before;
  for (r = first_run; r < m->runs->runs; r++) {
    m->runs->run[r].stride[2][REDIST_PRIV_PACKED] = elements;
    redist_priv_fold(&m->runs->run[r]);
  }
  m->runs->elements = before + elements * m->repeat;
  return code;
}

/* The elements that two patterns share: one superblock of lcm(periods) indices, repeated, and a
   tail (Walker and Otto 1996). REDIST_ERR_MEMORY; free its runs even on failure. */
REDIST_PRIV int redist_priv_meet(const redist_priv_pattern *from, const redist_priv_pattern *to,
                                 redist_priv_runs *list) {
  redist_priv_meeting m;
  int64_t begin;
  int code = REDIST_OK;
  REDIST_ASSERT(from->count == to->count);
  memset(list, 0, sizeof *list);
  if (from->tracks == 0 || to->tracks == 0) return REDIST_OK;
  m.pattern[REDIST_PRIV_FROM] = from;
  m.pattern[REDIST_PRIV_TO] = to;
  m.outer = to->period > from->period ? REDIST_PRIV_TO : REDIST_PRIV_FROM;
  m.runs = list;
  m.superblock = redist_priv_multiply(from->period / redist_priv_gcd(from->period, to->period),
                                      to->period, from->count);
  for (begin = 0; begin < from->count && code == REDIST_OK; begin += m.repeat * m.superblock) {
    m.repeat = redist_priv_max((from->count - begin) / m.superblock, 1);
    code = redist_priv_add_all(&m, begin, redist_priv_min(begin + m.superblock, from->count));
  }
  redist_priv_join_runs(list);
  return code;
}

/* Where an axis is scattered, no theorem says what repeats. What two coordinates share is found by
   a sweep along the view, as segments, and these are searched for repetitions. */

/* Whether two segments, neither the last, have one length and lie at one distance from the next. */
REDIST_PRIV int redist_priv_is_uniform(const redist_priv_runs *list, int64_t a, int64_t b) {
  const redist_priv_segment *x = &list->segment[a], *y = &list->segment[b];
  int side, uniform = x->stride[0] == y->stride[0] && x->stride[1] == y->stride[1];
  for (side = 0; side < REDIST_PRIV_SIDES; side++)
    uniform &= x[1].at[side] - x->at[side] == y[1].at[side] - y->at[side];
  return uniform;
}

/* Whether two segments have one length and one stride. */
REDIST_PRIV int redist_priv_is_equal(const redist_priv_runs *list, int64_t a, int64_t b) {
  const redist_priv_segment *x = &list->segment[a], *y = &list->segment[b];
  return redist_priv_length_of(list, a) == redist_priv_length_of(list, b) &&
         x->stride[0] == y->stride[0] && x->stride[1] == y->stride[1];
}

/* Returns how many segments, from `first` on, the list repeats up to its end, and *times how often;
   once, if not so. What repeats its first p segments begins as it ends without them. The longest
   beginning that also ends at segment k, border[k], is found from the earlier ones (Knuth, Morris
   and Pratt 1977). -1: REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int64_t redist_priv_repeated(const redist_priv_runs *list, int64_t first,
                                              int64_t *times) {
  const int64_t all = list->runs - 1 - first; /* the last may be short */
  const int64_t n = redist_priv_min(all, REDIST_PRIV_SEARCHED);
  int64_t k, apart, length = 0, *border = REDIST_PRIV_ALLOC(int64_t, n);
  *times = 1;
  if (border == NULL) return -1;
  for (k = 0; k < n; k++) {
    while (length > 0 && !redist_priv_is_uniform(list, first + length, first + k))
      length = border[length - 1];
    length += k > 0 && redist_priv_is_uniform(list, first + length, first + k);
    border[k] = length;
  }
  REDIST_FREE(border);
  apart = n - length;
  while (k < all && redist_priv_is_uniform(list, first + k, first + k - apart)) k++;
  if (n < 1 || k < all) return apart;
  k = first + all;
  *times = (all + redist_priv_is_equal(list, k - apart, k)) / apart;
  return apart;
}

/* Adds segments begin <= k < end as runs, all `times` times at the distance of `apart` segments;
   those of equal length at equal distances as one run. Stops when there are more than `most`. */
REDIST_PRIV_COLD int redist_priv_add_repeated(const redist_priv_runs *list, int64_t begin,
                                              int64_t end, int64_t times, int64_t apart,
                                              int64_t most, redist_priv_runs *to) {
  int64_t k, n;
  int side, code = REDIST_OK;
  for (k = begin; k < end && to->runs <= most && code == REDIST_OK; k += n) {
    const redist_priv_segment *s = &list->segment[k];
    redist_priv_run run = redist_priv_run_at(list, k);
    for (n = 1; k + n < end && redist_priv_is_equal(list, k, k + n) &&
                redist_priv_is_uniform(list, k, k + n - 1);)
      n++;
    run.n[1] = n;
    run.n[2] = times;
    run.stride[2][REDIST_PRIV_PACKED] *= n;
    for (side = 0; side < REDIST_PRIV_SIDES; side++) {
      if (n > 1) run.stride[1][side] = s[1].at[side] - s->at[side];
      if (times > 1) run.stride[2][side] = s[apart].at[side] - s->at[side];
    }
    redist_priv_fold(&run);
    code = redist_priv_append_run(to, &run);
  }
  return code;
}

/* Turns segments into runs if these are few, or few for so many segments, or long. (The others
   become tables of offsets.) REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_compress(redist_priv_runs *list) {
  const int64_t most =
      list->elements >= REDIST_PRIV_LONG_RUN * list->runs
          ? list->runs
          : redist_priv_max(list->runs / REDIST_PRIV_FEW_RUNS, REDIST_PRIV_FEW_RUNS);
  redist_priv_runs runs;
  int64_t first, times = 1, apart = 0;
  int code = REDIST_OK;
  memset(&runs, 0, sizeof runs);
  for (first = 0; first < 2 && first < list->runs && times == 1; first++) /* it may be short, too */
    if ((apart = redist_priv_repeated(list, first, &times)) < 0) return REDIST_ERR_MEMORY;
  first = times > 1 ? first - 1 : 0;
  apart = times > 1 ? apart : 0;
  code = redist_priv_add_repeated(list, 0, first, 1, 0, most, &runs);
  if (code == REDIST_OK)
    code = redist_priv_add_repeated(list, first, first + apart, times, apart, most, &runs);
  if (code == REDIST_OK)
    code = redist_priv_add_repeated(list, first + times * apart, list->runs, 1, 0, most, &runs);
  if (code != REDIST_OK || runs.runs > most) {
    redist_priv_runs_free(&runs);
    return code;
  }
  redist_priv_join_runs(&runs);
  runs.elements = list->elements;
  redist_priv_runs_free(list);
  *list = runs;
  if (runs.run == &runs.one) list->run = &list->one;
  return REDIST_OK;
}

/* A growing array of coordinates. */
typedef struct {
  int *coord;
  int64_t n, room;
} redist_priv_coords;

/* Where a sweep puts what it shares with coordinates: of all in runs[slot[coord] * images], with
   new slots for new ones, or, where slot is NULL, of coordinate `only` in *runs. images 0: nowhere,
   only slots are made. */
typedef struct {
  int *slot; /* by coordinate; -1: none */
  int only, images;
  redist_priv_coords met; /* by slot */
  int64_t n, room;
  redist_priv_runs *runs;
} redist_priv_sink;

/* The runs shared with a coordinate, or -1 for none; REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_find_slot(redist_priv_sink *sink, int coord, int *slot) {
  redist_priv_runs none;
  int image, code = REDIST_OK;
  if (sink->slot == NULL) *slot = coord == sink->only ? 0 : -1;
  if (sink->slot == NULL) return REDIST_OK;
  if (sink->slot[coord] < 0) {
    code = REDIST_PRIV_APPEND(sink->met.coord, sink->met.n, sink->met.room, coord);
    if (code == REDIST_OK) sink->slot[coord] = (int)sink->met.n - 1;
    memset(&none, 0, sizeof none);
    for (image = 0; image < sink->images && code == REDIST_OK; image++)
      code = REDIST_PRIV_APPEND(sink->runs, sink->n, sink->room, none);
  }
  *slot = sink->images > 0 ? sink->slot[coord] * sink->images : -1;
  return code;
}

/* Adds what a pattern, of side `own`, shares with coordinates of an axis without ghosts: the tracks
   of its first period, then those of the second, ... Both ends of a message sweep in this order.
   REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_sweep(const redist_priv_pattern *mine, int own,
                                  const redist_axis *other, int image, redist_priv_sink *sink) {
  redist_priv_cursor cursor = {0, 0};
  redist_priv_track block;
  int64_t k, t, i, next;
  int code = REDIST_OK;
  for (k = 0; mine->tracks > 0 && mine->track[0].start + k * mine->period < mine->count; k++)
    for (t = 0; t < mine->tracks && code == REDIST_OK; t++) {
      const redist_priv_track *track = &mine->track[t];
      const int64_t start = track->start + k * mine->period;
      const int64_t end = redist_priv_min(start + track->length, mine->count);
      for (i = redist_priv_max(start, 0); i < end && code == REDIST_OK; i = next) {
        const int64_t at = track->local + k * mine->advance + (i - start) * track->step;
        int64_t position[2], strides[2];
        int slot;
        block = redist_priv_block_at(other, i, &cursor);
        next = redist_priv_min(block.start + block.length, end);
        position[own] = at;
        position[!own] = block.local + (i - block.start) * block.step;
        strides[own] = track->step;
        strides[!own] = block.step;
        code = redist_priv_find_slot(sink, cursor.coord, &slot);
        if (code == REDIST_OK && slot >= 0)
          code = redist_priv_append_segment(&sink->runs[slot + image], position, next - i, strides);
      }
    }
  return code;
}

REDIST_PRIV int redist_priv_append_coord(redist_priv_coords *list, int coord) {
  return list->n > 0 && list->coord[list->n - 1] == coord
             ? REDIST_OK
             : REDIST_PRIV_APPEND(list->coord, list->n, list->room, coord);
}

/* Whether a pattern has any of the view indices begin <= i < end. */
REDIST_PRIV int redist_priv_has_any(const redist_priv_pattern *p, int64_t begin, int64_t end) {
  int64_t t = 0, last = p->tracks, k;
  if (REDIST_PRIV_SCATTERS && p->scattered) { /* the first track that does not end before them */
    REDIST_PRIV_BISECT(t, last, k, p->track[k].start + p->track[k].length > begin)
    return t < p->tracks && p->track[t].start < end;
  }
  for (; t < last; t++) {
    const int64_t beyond = begin - p->track[t].start - p->track[t].length + 1;
    k = redist_priv_max(redist_priv_ceil_div(beyond, p->period), 0);
    if (p->track[t].start + k * p->period < end) return 1;
  }
  return 0;
}

/* Whether a coordinate of an axis of intervals holds any of the view indices of a pattern. */
REDIST_PRIV int redist_priv_holds_any(const redist_axis *x, int coord,
                                      const redist_priv_pattern *pattern) {
  redist_priv_track track[REDIST_PRIV_IMAGES];
  int t, any = 0, tracks = redist_priv_holdings(x, coord, REDIST_PRIV_ALL_IMAGES, track);
  for (t = 0; t < tracks && !any; t++)
    any = redist_priv_has_any(pattern, track[t].start, track[t].start + track[t].length);
  return any;
}

/* Appends the coordinates of an axis with ghosts that may hold some of the view indices begin <= i
   < end. What coordinates hold begins and ends in the order of their blocks, so the search stops
   early. Periodic images repeat that order, shifted by the extent to either side. */
REDIST_PRIV int redist_priv_append_holders(redist_priv_coords *list, const redist_axis *x,
                                           int64_t begin, int64_t end) {
  const int64_t first = x->start + begin * x->step, last = x->start + (end - 1) * x->step;
  const int64_t low = redist_priv_min(first, last) - x->high, high = redist_priv_max(first, last);
  int64_t k, shift;
  int code = REDIST_OK;
  for (shift = -x->extent; shift <= x->extent && low + shift < x->extent; shift += x->extent) {
    k = low + shift < 0 || x->procs == 1 ? 0 : redist_priv_block_of(x, low + shift);
    for (; code == REDIST_OK && k < x->procs &&
           redist_priv_block_start(x, k) - x->low <= high + shift;
         k++)
      code = redist_priv_append_coord(list, (int)((k + x->first) % x->procs));
  }
  return code;
}

/* Appends the coordinates of `other` that may hold some of what `pattern` shows below index `end`.
   Visits the blocks of `other` in the segments of `traversed`, which is `pattern` or shows the
   whole view; in each segment at most a period of `other`. */
REDIST_PRIV int redist_priv_traverse(redist_priv_coords *list, const redist_priv_pattern *traversed,
                                     const redist_priv_pattern *pattern, const redist_axis *other,
                                     int64_t end) {
  const int64_t period = redist_priv_period(other);
  redist_priv_cursor cursor = {0, 0};
  redist_priv_track block;
  int64_t t, at, i, last, next;
  int code = REDIST_OK;
  for (t = 0; t < traversed->tracks; t++)
    for (at = traversed->track[t].start; at < end && code == REDIST_OK; at += traversed->period) {
      i = redist_priv_max(at, 0);
      last = redist_priv_min(redist_priv_min(at + traversed->track[t].length, i + period), end);
      if (other->ghosts != 0) code = redist_priv_append_holders(list, other, i, last);
      for (; other->ghosts == 0 && i < last && code == REDIST_OK; i = next) {
        block = redist_priv_block_at(other, i, &cursor);
        next = redist_priv_min(block.start + block.length, last);
        if (traversed == pattern || redist_priv_has_any(pattern, i, next))
          code = redist_priv_append_coord(list, cursor.coord);
      }
    }
  return code;
}

/* How many elements a coordinate holds in some images; one that several show counts each time. */
REDIST_PRIV int64_t redist_priv_held(const redist_axis *x, int coord, int images) {
  redist_priv_track track[REDIST_PRIV_IMAGES];
  int64_t held = 0;
  int t;
  if (x->ghosts == 0) return redist_axis_count(x, coord);
  for (t = redist_priv_holdings(x, coord, images, track) - 1; t >= 0; t--) held += track[t].length;
  return held;
}

/* The coordinates of `other` that own some of what `pattern` shows, ascending. Visits the blocks of
   the coarser of the two over one superblock. REDIST_ERR_MEMORY; free *coords even on failure. */
REDIST_PRIV int redist_priv_peers(const redist_priv_pattern *pattern, const redist_axis *other,
                                  int **coords, int64_t *peers) {
  const int64_t period = redist_priv_max(redist_priv_period(other), 1),
                mine = redist_priv_max(pattern->period, 1);
  const int64_t end =
      redist_priv_multiply(mine / redist_priv_gcd(mine, period), period, pattern->count);
  const int64_t blocks =
      redist_priv_is_interval(other) /* of `other` below `end`, roughly */
          ? redist_priv_min(redist_priv_blocks(other), other->procs)
          : end / redist_priv_max(other->block / redist_priv_abs(other->step), 1);
  redist_priv_pattern all;
  redist_priv_coords list = {NULL, 0, 0};
  int64_t k;
  const int finer = end / mine * pattern->tracks > blocks;
  int code;
  memset(&all, 0, sizeof all); /* one track, of the whole view */
  all.period = all.few[0].length = period;
  all.count = pattern->count;
  all.tracks = all.few[0].step = 1;
  all.track = all.few;
  code = redist_priv_traverse(&list, finer ? &all : pattern, pattern, other, end);
  if (list.n > 0) qsort(list.coord, (size_t)list.n, sizeof *list.coord, redist_priv_compare_ints);
  *coords = list.coord;
  *peers = 0;
  for (k = 0; k < list.n && code == REDIST_OK; k++)
    if ((*peers == 0 || list.coord[k] != list.coord[*peers - 1]) &&
        (other->ghosts == 0 || redist_priv_holds_any(other, list.coord[k], pattern)))
      list.coord[(*peers)++] = list.coord[k];
  REDIST_ASSERT(*peers <= other->procs);
  return code;
}

/* Whether ghost cells of several axes hold no element where they meet. */
REDIST_PRIV int redist_priv_is_without_corners(const redist_layout *layout) {
  int d, axes = 0;
  for (d = 0; d < layout->ndim && layout->faces; d++) axes += layout->dim[d].axis.ghosts != 0;
  return axes > 1;
}

/* The elements of a product of axes: of what they own, and of what they hold. */
typedef struct {
  int64_t owned, held;
} redist_priv_volume;

/* Multiplies by one more axis, up to a limit. faces: without corners, so that at most one axis has
   ghost cells. */
REDIST_PRIV redist_priv_volume redist_priv_times(redist_priv_volume v, int faces, int64_t owned,
                                                 int64_t held, int64_t most) {
  v.held = redist_priv_multiply(v.held, faces ? owned : held, most);
  if (faces)
    v.held += redist_priv_min(redist_priv_multiply(v.owned, held - owned, most), most - v.held);
  v.owned = redist_priv_multiply(v.owned, owned, most);
  return v;
}

/* The elements that a place holds; at most 2^62. */
REDIST_PRIV int64_t redist_priv_held_at(const redist_layout *layout, const int *coords) {
  const int faces = redist_priv_is_without_corners(layout);
  redist_priv_volume v = {1, 1};
  int d;
  for (d = 0; d < layout->ndim; d++) {
    const redist_axis *x = &layout->dim[d].axis;
    const int64_t owned = faces ? redist_priv_held(x, coords[d], REDIST_PRIV_OWNED) : 0;
    v = redist_priv_times(v, faces, owned, redist_priv_held(x, coords[d], REDIST_PRIV_ALL_IMAGES),
                          REDIST_PRIV_MAX_ELEMENTS);
  }
  return v.held;
}

/* ----------------------------------------------------------------- joined axes: reshaped views */

/* A reshaped view splits axes into digits and merges digits into axes. What a place owns of a split
   axis that is distributed need not be a product over its digits, and what two places share of a
   merged axis none over its parts. For example, the rows of a matrix of 4 x 6 are dealt out to 2
   processes, and become a line of 24 elements, cut 14 + 10 and split into 4 x 6:

       source        destination         joined: one axis of 24 indices, 4 stretches by 2
       0 0 0 0 0 0   0 0 0 0 0 0           source       000000111111000000111111
       1 1 1 1 1 1   0 0 0 0 0 0           destination  000000000000001111111111
       0 0 0 0 0 0   0 0 1 1 1 1
       1 1 1 1 1 1   1 1 1 1 1 1

   So the axes of the view that share a digit of an axis of either side are joined to one, whose
   index counts them row by row. It is a scattered axis, whose coordinates are those of all axes
   that it joins. Its local positions are numbers with a digit for each of these, far enough apart
   that sums and multiples can be distinguished; when a place's strides are known, they are
   decoded to offsets. Nothing else knows of it. */

/* The axes of two views that become the axis `number`: one, or several that are joined. */
typedef struct {
  int number, axes, axis[REDIST_MAX_DIMS];
  int64_t count;
} redist_priv_group;

/* Makes axes of the view that share a digit's axis have one number, the least. */
REDIST_PRIV_COLD void redist_priv_unite(const redist_priv_view *view, int *group) {
  int dim[REDIST_MAX_DIMS], v, w, k;
  for (k = 0; k < REDIST_MAX_DIMS; k++) dim[k] = -1;
  for (v = 0; v < view->axes; v++)
    for (k = 0; k < view->axis[v].digits; k++) {
      int *other = &dim[view->digit[view->axis[v].first + k].dim];
      const int here = group[v], there = *other < 0 ? here : group[*other];
      for (w = 0; w < view->axes; w++)
        if (group[w] == here || group[w] == there) group[w] = here < there ? here : there;
      *other = v;
    }
}

/* Lists the groups of axes that are joined; most are alone. Returns how many. */
REDIST_PRIV_COLD int redist_priv_find_groups(const redist_priv_view *view,
                                             redist_priv_group *group) {
  int number[REDIST_MAX_DIMS], v, w, groups = 0;
  for (v = 0; v < view->axes; v++) number[v] = v;
  redist_priv_unite(&view[0], number);
  redist_priv_unite(&view[1], number);
  for (v = 0; v < view->axes; v++) {
    redist_priv_group *g = &group[groups];
    if (number[v] != v) continue;
    g->number = groups;
    g->axes = 0;
    g->count = 1;
    for (w = v; w < view->axes; w++)
      if (number[w] == v) {
        g->axis[g->axes++] = w;
        g->count *= view->axis[w].count;
      }
    groups++;
  }
  return groups;
}

/* Whether what an axis of one view is merged of has lengths that divide those of the other. */
REDIST_PRIV_COLD void redist_priv_check_lengths(const redist_priv_view *view, int axis,
                                                redist_priv_error *v) {
  const redist_priv_view_axis *a = &view[0].axis[axis], *b = &view[1].axis[axis];
  int64_t x = 1, y;
  int i, k;
  if (redist_priv_is_section(&view[0], axis) || redist_priv_is_section(&view[1], axis)) return;
  for (i = a->first + a->digits - 1; i > a->first; i--) {
    x *= view[0].digit[i].count;
    for (y = 1, k = b->first + b->digits - 1; k > b->first; k--) {
      y *= view[1].digit[k].count;
      if (x > 0 && y > 0 && x % y != 0 && y % x != 0)
        redist_priv_fail_axis(v, REDIST_ERR_SHAPE, axis,
                              "the source merges by the length %" PRId64
                              ", the destination by %" PRId64 ": neither divides the other",
                              x, y);
    }
  }
}

REDIST_PRIV_COLD void redist_priv_check_views(const redist_layout *from, const redist_layout *to,
                                              redist_priv_error *v) {
  const redist_layout *layout[2] = {from, to};
  redist_priv_view view[2];
  redist_priv_group group[REDIST_MAX_DIMS];
  int k, g, side, groups;
  view[0] = redist_priv_view_of(from);
  view[1] = redist_priv_view_of(to);
  for (k = 0; k < view->axes; k++) redist_priv_check_lengths(view, k, v);
  groups = redist_priv_find_groups(view, group);
  for (g = 0; g < groups; g++)
    for (side = 0; side < 2; side++)
      for (k = 0; k < group[g].axes && group[g].axes > 1; k++)
        if (layout[side]->boxes > 0 ||
            redist_priv_has_ghosts_at(layout[side], &view[side], group[g].axis[k]))
          redist_priv_fail_axis(
              v, REDIST_ERR_LAYOUT, group[g].axis[k],
              "the %s splits an axis into this and others, but the %s has %s here",
              side == 0 ? "destination" : "source", side == 0 ? "source" : "destination",
              layout[side]->boxes > 0 ? "boxes" : "ghost cells");
}

/* The number among dim[] of a group's only axis, if it need not be joined; else -1. */
REDIST_PRIV_COLD int redist_priv_alone(const redist_priv_view *view,
                                       const redist_priv_group *group) {
  return group->axes == 1 ? redist_priv_only_dim(view, group->axis[0]) : -1;
}

/* Numbers the local positions of the base's axes. REDIST_ERR_OVERFLOW. */
REDIST_PRIV_COLD int redist_priv_number_positions(redist_priv_joined *j,
                                                  const redist_priv_group *group) {
  const redist_layout *base = &j->base;
  const redist_priv_dimension *faster = NULL;
  int64_t reach[REDIST_MAX_DIMS];
  int64_t unit = 0;
  int k, g, last = -1;
  redist_priv_slow_to_fast(base, base->memory_order, j->order);
  for (g = 0; g < REDIST_MAX_DIMS; g++) reach[g] = 1;
  for (k = base->ndim - 1; k >= 0; k--) {
    const int d = j->order[k], axis = j->axis[d];
    const redist_axis *x = &base->dim[d].axis;
    const int joined = redist_priv_alone(&j->view, &group[axis]) < 0;
    const int folds = joined && last == axis && faster->axis.procs == 1 && faster->low == 0 &&
                      faster->high == 0 && !redist_priv_is_scattered(&faster->axis);
    j->folded[d] = folds && faster->allocated <= 0;
    j->padded |= folds && faster->allocated > 0;
    j->unit[d] = j->folded[d] ? unit * faster->axis.extent : reach[axis];
    unit = j->unit[d] = redist_priv_max(j->unit[d], 1); /* 0: there are no elements */
    reach[axis] = redist_priv_multiply(4, redist_priv_largest(x) + 1, REDIST_PRIV_MAX_ELEMENTS);
    reach[axis] = redist_priv_multiply(j->unit[d], reach[axis], REDIST_PRIV_MAX_ELEMENTS);
    if (joined && reach[axis] >= REDIST_PRIV_MAX_ELEMENTS) return REDIST_ERR_OVERFLOW;
    last = axis;
    faster = &base->dim[d];
  }
  return REDIST_OK;
}

/* The indices of the base's axes at index i of a group's; *inner, *step: which of them advances,
   how far. Returns for how many indices, at least 1. */
REDIST_PRIV_COLD int64_t redist_priv_indices_at(const redist_priv_view *view,
                                                const redist_priv_group *group, int64_t i,
                                                int64_t *index, int *inner, int64_t *step) {
  int64_t length = 1;
  int n, k, found = 0;
  for (n = group->axes - 1; n >= 0; n--) {
    const redist_priv_view_axis *a = &view->axis[group->axis[n]];
    const int64_t at = i % a->count;
    i /= a->count;
    redist_priv_add_index(view, group->axis[n], at, index);
    for (k = a->first + a->digits - 1; k >= a->first && !found; k--) {
      const redist_priv_digit *digit = &view->digit[k];
      const int64_t here = (a->start + at * a->step) % digit->count; /* faster digits are 0 */
      if (digit->count < 2) continue;
      found = 1;
      *inner = digit->dim;
      *step = digit->step * a->step;
      length = (a->step > 0 ? digit->count - 1 - here : here) / redist_priv_abs(a->step) + 1;
      length = redist_priv_min(length, a->count - at);
    }
  }
  return length;
}

/* The stretch of a joined axis that begins at index i; *length: how long it is. cursor: of the
   base's axes. */
REDIST_PRIV_COLD redist_priv_stretch redist_priv_stretch_at(const redist_priv_joined *j,
                                                            const redist_priv_group *group,
                                                            int64_t i, redist_priv_cursor *cursor,
                                                            int64_t *length) {
  redist_priv_stretch next = {i, 0, -1, 1, 0};
  int64_t index[REDIST_MAX_DIMS], step = 1;
  int d, inner = -1;
  for (d = 0; d < j->base.ndim; d++) index[d] = j->base.dim[d].axis.start;
  *length = redist_priv_indices_at(&j->view, group, i, index, &inner, &step);
  for (d = 0; d < j->base.ndim; d++) {
    redist_axis x = j->base.dim[d].axis;
    redist_priv_track track;
    if (j->axis[d] != group->number) continue;
    x.start = index[d];
    x.step = d == inner ? step : 1;
    x.count = d == inner ? *length : 1;
    track = redist_priv_block_at(&x, 0, &cursor[d]);
    next.set += cursor[d].coord * j->weight[d];
    next.local += track.local * j->unit[d];
    if (d != inner) continue;
    *length = track.length;
    next.step = track.step * j->unit[d];
  }
  return next;
}

/* Fills the sets of a joined axis. REDIST_ERR_MEMORY; forget them even on failure. */
REDIST_PRIV_COLD int redist_priv_traverse_axis(const redist_priv_joined *j,
                                               const redist_priv_group *group, redist_axis *x) {
  redist_priv_cursor cursor[REDIST_MAX_DIMS];
  int64_t i, length, room = 0;
  int code = redist_priv_open_sets(x);
  memset(cursor, 0, sizeof cursor);
  for (i = 0; i < x->extent && code == REDIST_OK; i += length) {
    const redist_priv_stretch next = redist_priv_stretch_at(j, group, i, cursor, &length);
    code = redist_priv_add_stretch(x, &room, &next, length);
  }
  return code == REDIST_OK ? redist_priv_link_sets(x, &room) : code;
}

/* The axis that a group becomes on a side, but for its sets. */
REDIST_PRIV_COLD redist_priv_dimension redist_priv_joined_dim(const redist_priv_joined *j,
                                                              const redist_priv_group *group) {
  const int dim = redist_priv_alone(&j->view, group);
  redist_priv_dimension joined;
  int d;
  if (dim >= 0) {
    const redist_priv_digit *digit = &j->view.digit[j->view.axis[group->axis[0]].first];
    joined = j->base.dim[dim];
    joined.axis.step = digit->step;
    joined.axis.count = digit->count;
    return joined;
  }
  memset(&joined, 0, sizeof joined);
  joined.axis.kind = REDIST_PRIV_JOINED;
  joined.axis.procs = 1;
  for (d = 0; d < j->base.ndim; d++)
    joined.axis.procs *= j->axis[d] == group->number ? j->base.dim[d].axis.procs : 1;
  joined.axis.block = joined.axis.step = joined.axis.apart = 1;
  joined.axis.extent = joined.axis.count = group->count;
  return joined;
}

/* Orders the joined axes as their fastest axes lie in memory. */
REDIST_PRIV_COLD void redist_priv_order_joined(const redist_priv_joined *j, redist_layout *copy) {
  int k, g, faster, stored[REDIST_MAX_DIMS];
  for (k = 0; k < j->base.ndim; k++) stored[j->axis[j->order[k]]] = k;
  for (g = 0; g < copy->ndim; g++) {
    for (k = faster = 0; k < copy->ndim; k++) faster += stored[k] > stored[g];
    copy->dim[g].stored = copy->memory_order == REDIST_ROW_MAJOR ? copy->ndim - 1 - faster : faster;
  }
}

/* Joins the axes of a copy. REDIST_ERR_MEMORY, REDIST_ERR_OVERFLOW; forget its sets even then. */
REDIST_PRIV_COLD int redist_priv_join_side(const redist_priv_view *view,
                                           const redist_priv_group *group, int groups,
                                           redist_layout *copy) {
  redist_priv_joined *j = REDIST_PRIV_ZEROED(redist_priv_joined, 1);
  int g, d, k, weight[REDIST_MAX_DIMS], code;
  if (j == NULL) return REDIST_ERR_MEMORY;
  redist_priv_copy_to(&j->base, copy, 1);
  j->view = *view;
  for (g = 0; g < groups; g++)
    for (weight[g] = 1, k = 0; k < group[g].axes; k++) {
      const redist_priv_view_axis *a = &view->axis[group[g].axis[k]];
      for (d = 0; d < a->digits; d++) j->axis[view->digit[a->first + d].dim] = g;
    }
  for (d = 0; d < copy->ndim; d++) {
    j->weight[d] = weight[j->axis[d]];
    weight[j->axis[d]] *= copy->dim[d].axis.procs;
  }
  copy->joined = j;
  copy->ndim = groups;
  code = redist_priv_number_positions(j, group);
  for (g = 0; g < groups; g++) copy->dim[g] = redist_priv_joined_dim(j, &group[g]);
  redist_priv_order_joined(j, copy);
  for (g = 0; g < groups && code == REDIST_OK; g++)
    if (copy->dim[g].axis.kind == REDIST_PRIV_JOINED)
      code = redist_priv_traverse_axis(j, &group[g], &copy->dim[g].axis);
  return code;
}

REDIST_PRIV_COLD int redist_priv_join(const redist_layout *const *given,
                                      redist_layout *const *copy) {
  redist_priv_group group[REDIST_MAX_DIMS];
  redist_priv_view view[2];
  int groups, side, code = REDIST_OK;
  if (!redist_priv_is_reshaped(given[0]) && !redist_priv_is_reshaped(given[1])) return code;
  for (side = 0; side < 2; side++) view[side] = redist_priv_view_of(given[side]);
  groups = redist_priv_find_groups(view, group);
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    code = redist_priv_join_side(&view[side], group, groups, copy[side]);
  return code;
}

/* Forgets the sets of the base; those of an axis alone are the copy's. */
REDIST_PRIV_COLD void redist_priv_forget_joined(redist_layout *copy) {
  redist_priv_joined *j = copy->joined;
  int d;
  for (d = 0; d < j->base.ndim; d++)
    if (copy->dim[j->axis[d]].axis.kind != REDIST_PRIV_JOINED) j->base.dim[d].axis.sets = NULL;
  redist_priv_forget_sets(&j->base);
}

/* The offset of a joined axis's local position, or the distance of two, at a place. */
REDIST_PRIV_COLD int64_t redist_priv_decode(const redist_priv_joined *j, int axis,
                                            const redist_priv_storage *storage, int64_t position) {
  int64_t offset = 0, local;
  int k;
  for (k = 0; k < j->base.ndim; k++) {
    const int d = j->order[k];
    if (j->axis[d] != axis || j->folded[d]) continue;
    local = redist_priv_floor_div(position + j->unit[d] / 2, j->unit[d]);
    position -= local * j->unit[d];
    offset += local * storage->stride[d];
  }
  REDIST_ASSERT(position == 0);
  return offset;
}

/* Decodes a side's positions of a joined axis's runs. */
REDIST_PRIV_COLD void redist_priv_decode_runs(const redist_priv_joined *j, int axis,
                                              const redist_priv_storage *storage, int side,
                                              redist_priv_runs *list) {
  int64_t r;
  int level;
  for (r = 0; r < list->runs; r++) {
    int64_t *at =
        redist_priv_has_segments(list) ? &list->segment[r].at[side] : &list->run[r].at[side];
    *at = redist_priv_decode(j, axis, storage, *at);
    for (level = 0; level < (redist_priv_has_segments(list) ? 1 : REDIST_PRIV_LEVELS); level++) {
      int64_t *stride = redist_priv_has_segments(list) ? &list->segment[r].stride[side]
                                                       : &list->run[r].stride[level][side];
      *stride = redist_priv_decode(j, axis, storage, *stride);
    }
  }
}

/* -------------------------------------------------------------------- directories: who is where */

/* A tree of the view indices that boxes hold, ghost cells included. Its leaves lie along a
   space-filling curve (Morton order of their centres), so that neighbours are near each other, and
   node k covers those of nodes 2 k and 2 k + 1. Finding the boxes that meet a region takes O(log
   n) and what is found. A region is 2 * ndim numbers, the lows and then the highs: low <= index <
   high. */
typedef struct {
  uint64_t key;
  int box, image;
} redist_priv_leaf;

typedef struct {
  int ndim;
  int64_t leaves, room, first; /* first: the number of the first leaf's node, a power of 2 */
  redist_priv_leaf *leaf;
  int64_t *bounds; /* regions of the nodes */
  int *rank;       /* of all boxes below a node; -1: of several, or of none */
} redist_priv_tree;

REDIST_PRIV_COLD int redist_priv_compare_leaves(const void *a, const void *b) {
  const redist_priv_leaf *x = (const redist_priv_leaf *)a, *y = (const redist_priv_leaf *)b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->box - y->box;
}

/* The bits of a region's centre, those of all axes interleaved. */
REDIST_PRIV_COLD uint64_t redist_priv_morton(const redist_layout *layout, const int64_t *region) {
  const int bits = (int)redist_priv_min(63 / layout->ndim, 16);
  uint64_t key = 0, cell[REDIST_MAX_DIMS] = {0};
  int d, bit;
  for (d = 0; d < layout->ndim; d++)
    cell[d] = (uint64_t)((double)(region[d] + (region[layout->ndim + d] - region[d]) / 2) /
                         (double)layout->dim[d].axis.count * (double)(UINT64_C(1) << bits));
  for (bit = bits - 1; bit >= 0; bit--)
    for (d = 0; d < layout->ndim; d++) key = 2 * key + (cell[d] >> bit & 1);
  return key;
}

/* Finds the region of an image of a box, if there is this image. Returns how many there are. */
REDIST_PRIV_COLD int redist_priv_region_of(const redist_layout *layout, int box, int image,
                                           int64_t *region) {
  redist_priv_track track[REDIST_PRIV_IMAGES], *t;
  int d, tracks, images = 1;
  for (d = 0; d < layout->ndim; d++) {
    tracks = redist_priv_holdings(&layout->dim[d].axis, box, REDIST_PRIV_ALL_IMAGES, track);
    if (tracks == 0) return 0;
    t = &track[image / images % tracks];
    images *= tracks;
    region[d] = t->start;
    region[layout->ndim + d] = t->start + t->length;
  }
  return images;
}

/* Sorts the leaves, and finds the regions of all nodes. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_grow_tree(const redist_layout *layout, redist_priv_tree *tree) {
  const int n = tree->ndim;
  int64_t k;
  int d;
  for (tree->first = 1; tree->first < tree->leaves; tree->first *= 2) continue;
  tree->bounds = REDIST_PRIV_ALLOC(int64_t, 4 * n * tree->first);
  tree->rank = REDIST_PRIV_ALLOC(int, 2 * tree->first);
  if (tree->bounds == NULL || tree->rank == NULL) return REDIST_ERR_MEMORY;
  if (tree->leaves > 0)
    qsort(tree->leaf, (size_t)tree->leaves, sizeof *tree->leaf, redist_priv_compare_leaves);
  for (k = 2 * tree->first - 1; k > 0; k--) {
    const int64_t leaf = k - tree->first;
    const int64_t *halves = tree->bounds + 4 * n * k;
    int64_t *here = tree->bounds + 2 * n * k;
    if (leaf >= 0 && leaf < tree->leaves) {
      tree->rank[k] = redist_priv_rank_at(layout, tree->leaf[leaf].box);
      redist_priv_region_of(layout, tree->leaf[leaf].box, tree->leaf[leaf].image, here);
      continue;
    }
    tree->rank[k] =
        leaf >= 0 || tree->rank[2 * k] != tree->rank[2 * k + 1] ? -1 : tree->rank[2 * k];
    for (d = 0; d < n; d++) {
      here[d] = leaf >= 0 ? INT64_MAX : redist_priv_min(halves[d], halves[2 * n + d]);
      here[n + d] = leaf >= 0 ? INT64_MIN : redist_priv_max(halves[n + d], halves[3 * n + d]);
    }
  }
  return REDIST_OK;
}

REDIST_PRIV_COLD void redist_priv_tree_free(redist_priv_tree *tree) {
  REDIST_FREE(tree->leaf);
  REDIST_FREE(tree->bounds);
  REDIST_FREE(tree->rank);
}

/* REDIST_ERR_MEMORY; free the tree even on failure. */
REDIST_PRIV_COLD int redist_priv_plant(const redist_layout *layout, redist_priv_tree *tree) {
  redist_priv_leaf leaf;
  int64_t region[2 * REDIST_MAX_DIMS];
  int code = REDIST_OK;
  memset(tree, 0, sizeof *tree);
  memset(&leaf, 0, sizeof leaf);
  tree->ndim = layout->ndim;
  for (; leaf.box < layout->boxes && code == REDIST_OK; leaf.box++)
    for (leaf.image = 0; leaf.image < redist_priv_region_of(layout, leaf.box, leaf.image, region) &&
                         code == REDIST_OK;
         leaf.image++) {
      leaf.key = redist_priv_morton(layout, region);
      code = REDIST_PRIV_APPEND(tree->leaf, tree->leaves, tree->room, leaf);
    }
  return code == REDIST_OK ? redist_priv_grow_tree(layout, tree) : code;
}

/* Appends the boxes of the leaves below a node that meet a region; node 1: of all. except: without
   those of this rank; or -1. */
REDIST_PRIV_COLD int redist_priv_find_boxes(const redist_priv_tree *tree, int64_t node,
                                            const int64_t *region, int except,
                                            redist_priv_coords *list) {
  const int64_t *bounds = tree->bounds + 2 * tree->ndim * node;
  const int n = tree->ndim;
  int d, code;
  if (except >= 0 && tree->rank[node] == except) return REDIST_OK;
  for (d = 0; d < n; d++)
    if (bounds[d] >= region[n + d] || bounds[n + d] <= region[d]) return REDIST_OK;
  if (node >= tree->first)
    return redist_priv_append_coord(list, tree->leaf[node - tree->first].box);
  code = redist_priv_find_boxes(tree, 2 * node, region, except, list);
  return code == REDIST_OK ? redist_priv_find_boxes(tree, 2 * node + 1, region, except, list)
                           : code;
}

REDIST_PRIV_COLD int redist_priv_find_overlap(const redist_layout *layout, int *pair) {
  redist_layout bare;
  redist_priv_tree tree;
  redist_priv_coords list = {NULL, 0, 0};
  int64_t k, i;
  int d, code;
  redist_priv_copy_to(&bare, layout, 0);
  for (d = 0; d < bare.ndim; d++) {
    redist_axis *x = &bare.dim[d].axis;
    x->start = 0;
    x->step = 1;
    x->count = x->extent;
  }
  code = redist_priv_plant(&bare, &tree);
  for (k = 0; k < tree.leaves && code == REDIST_OK && pair[0] < 0; k++) {
    const int box = tree.leaf[k].box;
    list.n = 0;
    code =
        redist_priv_find_boxes(&tree, 1, tree.bounds + 2 * tree.ndim * (tree.first + k), -1, &list);
    REDIST_ASSERT(code != REDIST_OK || list.n > 0); /* at least itself */
    for (i = 0; i < list.n && code == REDIST_OK; i++)
      if (list.coord[i] != box) {
        pair[0] = (int)redist_priv_min(box, list.coord[i]);
        pair[1] = (int)redist_priv_max(box, list.coord[i]);
      }
  }
  REDIST_FREE(list.coord);
  redist_priv_tree_free(&tree);
  return code;
}

/* What finding a layout's places takes, for the time of one operation. */
typedef struct {
  const redist_layout *layout;
  redist_priv_rank_place *by_rank; /* all places; NULL where their ranks are consecutive */
  redist_priv_tree tree;           /* of boxes */
  int *slot, slots;                /* slot[slots]: of sweeps, by coordinate; else all are -1 */
} redist_priv_directory;

/* REDIST_ERR_MEMORY; close it even on failure. */
REDIST_PRIV_COLD int redist_priv_directory_open(redist_priv_directory *x,
                                                const redist_layout *layout) {
  int code;
  memset(x, 0, sizeof *x);
  x->layout = layout;
  code = redist_priv_list_ranks(layout, &x->by_rank);
  return code == REDIST_OK && layout->boxes > 0 ? redist_priv_plant(layout, &x->tree) : code;
}

REDIST_PRIV_COLD void redist_priv_directory_close(redist_priv_directory *x) {
  redist_priv_tree_free(&x->tree);
  REDIST_FREE(x->by_rank);
  REDIST_FREE(x->slot);
}

/* -------------------------------------------------------------- messages: products of run lists */

/* What a place exchanges is a product. Its coordinate on each axis shares runs with some of the
   other side's coordinates, its peers there. Each choice of a peer on every axis makes a message:

                        axis 1:  coordinate 0  coordinate 1  coordinate 3
       axis 0: coordinate 0      message 0     message 1     message 2      message 5: the runs with
               coordinate 2      message 3     message 4     message 5      2, times those with 3

   So runs are found once per axis and peer, not once per message. */

/* The peers of a coordinate on the other side of its axis, and the runs shared with each. */
typedef struct {
  int64_t peers;
  int *coord; /* ascending */
  int images; /* choices of images of the source and of the destination: image[images] */
  unsigned char image[2 * REDIST_PRIV_IMAGES][2];
  redist_priv_runs *runs; /* runs[k * images + i]: what is shared with coord[k] in choice i */
} redist_priv_axis_peers;

/* Everything one place sends, or receives: the product of its axes' peers. own: its side. */
typedef struct {
  int own, ndim;
  /* the other side has boxes: message k is exchanged with peer k of every axis, a box's number */
  int boxes;
  int faces;        /* bit 1 << side: that side is without corners */
  int64_t messages; /* places of one replica that it shares elements with */
  int64_t *meeting; /* without corners: which of the products of peers these are; else NULL */
  /* of a message: one for each choice of images of all axes. An element that several images of the
     source show comes once in each block, so the order of blocks is the order of its contributions:
     first the owned element, then its images along axis 0, ... Blocks may be empty. */
  int blocks;
  redist_priv_axis_peers axis[REDIST_MAX_DIMS];
} redist_priv_place_peers;

/* Elements that two places share, as runs along every axis, and how the three sides store them: the
   source array, the destination array, and a dense buffer of just these elements. Strides and
   origins in elements. */
typedef struct {
  int own; /* the side whose place's peers it is of */
  int ndim;
  const int *order; /* of the axes in the buffer, slow to fast */
  int64_t elements;
  const redist_priv_runs *axis[REDIST_MAX_DIMS];
  int64_t stride[REDIST_PRIV_SIDES][REDIST_MAX_DIMS];
  int64_t origin[REDIST_PRIV_SIDES];
  redist_priv_runs *decoded; /* decoded[ndim]: of joined axes; NULL: none */
} redist_priv_message;

/* Chooses which images of both sides of an axis are distinguished: each choice has blocks of its
   own. Those of a source's periodic axis may show an element several times; without corners (faces:
   bit 1 << side), what is owned is apart from ghost cells. */
REDIST_PRIV void redist_priv_choose_images(const redist_axis *const *x, int faces,
                                           redist_priv_axis_peers *p) {
  static const unsigned char kinds[4][REDIST_PRIV_IMAGES + 1] = {
      {REDIST_PRIV_ALL_IMAGES},
      {REDIST_PRIV_OWNED | REDIST_PRIV_INSIDE, REDIST_PRIV_PAST_LOW, REDIST_PRIV_PAST_HIGH},
      {REDIST_PRIV_OWNED, REDIST_PRIV_ALL_IMAGES - REDIST_PRIV_OWNED},
      {REDIST_PRIV_OWNED, REDIST_PRIV_INSIDE, REDIST_PRIV_PAST_LOW, REDIST_PRIV_PAST_HIGH}};
  const unsigned char *a, *from, *to;
  from = kinds[(x[0]->ghosts == 1 + (int)REDIST_PERIODIC) +
               ((faces & 1) && x[0]->ghosts != 0 ? 2 : 0)];
  to = kinds[(faces & 2) && x[1]->ghosts != 0 ? 2 : 0];
  for (p->images = 0; *to != 0; to++)
    for (a = from; *a != 0; a++, p->images++) {
      p->image[p->images][REDIST_PRIV_FROM] = *a;
      p->image[p->images][REDIST_PRIV_TO] = *to;
    }
}

/* A coordinate of an axis, in some images. */
typedef struct {
  const redist_axis *axis;
  int coord, images;
} redist_priv_holder;

/* What two coordinates, holder[FROM] and holder[TO], share. Where an axis is scattered: by a sweep
   of the side that is not, or has ghosts. REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_meet_coords(const redist_priv_holder *holder, redist_priv_runs *list) {
  const int own = redist_priv_is_scattered(holder[REDIST_PRIV_FROM].axis) &&
                  !redist_priv_is_scattered(holder[REDIST_PRIV_TO].axis);
  const redist_priv_holder *other = &holder[!own];
  const int swept = redist_priv_is_scattered(other->axis);
  redist_priv_sink sink = {NULL, other->coord, 1, {NULL, 0, 0}, 0, 0, list};
  redist_priv_pattern pattern[2];
  int side, code = REDIST_OK;
  memset(list, 0, sizeof *list);
  pattern[!own].track = pattern[own].track = NULL;
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    if (side == own || !swept)
      code = redist_priv_pattern_of(holder[side].axis, holder[side].coord, holder[side].images,
                                    &pattern[side]);
  if (code == REDIST_OK && swept) {
    code = redist_priv_sweep(&pattern[own], own, other->axis, 0, &sink);
    if (code == REDIST_OK) code = redist_priv_compress(list);
  } else if (code == REDIST_OK) {
    code = redist_priv_meet(&pattern[0], &pattern[1], list);
  }
  for (side = 0; side < 2; side++) redist_priv_pattern_free(&pattern[side]);
  return code;
}

/* Finds the peers of a coordinate of x on axis d of `there` by a sweep, with or without the runs
   that it shares with them. REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_sweep_peers(const redist_axis *x, int coord, int own,
                                        redist_priv_directory *there, int d, int runs,
                                        redist_priv_axis_peers *p) {
  const redist_axis *other = &there->layout->dim[d].axis;
  redist_priv_sink sink = {NULL, 0, runs ? p->images : 0, {NULL, 0, 0}, 0, 0, NULL};
  redist_priv_pattern mine;
  int64_t k;
  int image, code = REDIST_OK;
  if (other->procs > there->slots) {
    REDIST_FREE(there->slot);
    there->slot = REDIST_PRIV_ALLOC(int, other->procs);
    there->slots = there->slot == NULL ? 0 : other->procs;
    if (there->slot == NULL) return REDIST_ERR_MEMORY;
    memset(there->slot, -1, (size_t)other->procs * sizeof *there->slot);
  }
  sink.slot = there->slot;
  for (image = 0; image < p->images && code == REDIST_OK; image++) {
    code = redist_priv_pattern_of(x, coord, p->image[image][own], &mine);
    if (code == REDIST_OK) code = redist_priv_sweep(&mine, own, other, image, &sink);
    redist_priv_pattern_free(&mine);
  }
  p->coord = sink.met.coord;
  p->runs = runs ? REDIST_PRIV_ZEROED(redist_priv_runs, sink.n) : NULL;
  if (runs && p->runs == NULL) code = REDIST_ERR_MEMORY;
  if (sink.met.n > 0) qsort(p->coord, (size_t)sink.met.n, sizeof(int), redist_priv_compare_ints);
  for (k = 0; k < sink.n && code == REDIST_OK; k++)
    p->runs[k] = sink.runs[sink.slot[p->coord[k / sink.images]] * sink.images + k % sink.images];
  for (k = 0; k < sink.met.n; k++) sink.slot[p->coord[k]] = -1;
  if (code == REDIST_OK) p->peers = sink.met.n;
  for (k = 0; k < sink.n && code != REDIST_OK; k++) redist_priv_runs_free(&sink.runs[k]);
  for (k = 0; k < sink.n && code == REDIST_OK; k++) code = redist_priv_compress(&p->runs[k]);
  REDIST_FREE(sink.runs);
  return code;
}

/* Whether two boxes, coordinates of an axis, have one interval. */
REDIST_PRIV_FAST int redist_priv_is_level(const redist_axis *x, int a, int b) {
  const int64_t k = redist_priv_first_block(x, a), l = redist_priv_first_block(x, b);
  return x->kind == REDIST_PRIV_LISTED && x->begin[k * x->apart] == x->begin[l * x->apart] &&
         x->end[k * x->apart] == x->end[l * x->apart];
}

/* The runs of the peers found for a coordinate of x, on side `own`: of boxes, there are many that
   differ from the one before along other axes only. REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_meet_peers(const redist_axis *x, int coord, int own,
                                       const redist_axis *other, redist_priv_axis_peers *p) {
  redist_priv_holder holder[2];
  int64_t k;
  int side, code = REDIST_OK;
  holder[own].axis = x;
  holder[own].coord = coord;
  holder[!own].axis = other;
  p->runs = REDIST_PRIV_ZEROED(redist_priv_runs, p->peers * p->images);
  if (p->runs == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; code == REDIST_OK && k < p->peers * p->images; k++) {
    const int64_t before = k - p->images;
    holder[!own].coord = p->coord[k / p->images];
    for (side = 0; side < 2; side++) holder[side].images = p->image[k % p->images][side];
    if (before >= 0 && p->runs[before].room == 0 &&
        redist_priv_is_level(other, p->coord[before / p->images], holder[!own].coord)) {
      p->runs[k] = p->runs[before];
      if (p->runs[k].runs == 1) p->runs[k].run = &p->runs[k].one;
    } else {
      code = redist_priv_meet_coords(holder, &p->runs[k]);
    }
  }
  return code;
}

REDIST_PRIV void redist_priv_place_peers_free(redist_priv_place_peers *n) {
  int64_t k;
  int d;
  for (d = 0; d < n->ndim; d++) {
    redist_priv_axis_peers *p = &n->axis[d];
    for (k = 0; p->runs != NULL && k < p->peers * p->images; k++)
      redist_priv_runs_free(&p->runs[k]);
    REDIST_FREE(p->runs);
    REDIST_FREE(n->boxes && d > 0 ? NULL : p->coord); /* boxes: shared by all axes */
  }
  REDIST_FREE(n->meeting);
  memset(n, 0, sizeof *n);
}

/* Lists the boxes that are peers of the place at coords, as redist_priv_find_peers does. */
REDIST_PRIV_COLD int redist_priv_find_box_peers(const redist_layout *mine, const int *coords,
                                                const redist_priv_directory *other, int except,
                                                redist_priv_place_peers *n) {
  redist_priv_pattern pattern[REDIST_MAX_DIMS];
  redist_priv_coords list = {NULL, 0, 0};
  int64_t region[2 * REDIST_MAX_DIMS], t, k;
  int d, code = REDIST_OK;
  memset(pattern, 0, sizeof pattern);
  for (d = 0; d < n->ndim && code == REDIST_OK; d++) {
    const redist_priv_pattern *p = &pattern[d];
    int64_t *low = &region[d], *high = &region[n->ndim + d];
    code =
        redist_priv_pattern_of(&mine->dim[d].axis, coords[d], REDIST_PRIV_ALL_IMAGES, &pattern[d]);
    *low = p->count;
    *high = p->period < p->count ? p->count : 0;
    for (t = 0; t < p->tracks; t++) {
      *low = redist_priv_min(*low, p->track[t].start);
      *high = redist_priv_max(*high, p->track[t].start + p->track[t].length);
    }
  }
  if (code == REDIST_OK) code = redist_priv_find_boxes(&other->tree, 1, region, except, &list);
  if (list.n > 0) qsort(list.coord, (size_t)list.n, sizeof *list.coord, redist_priv_compare_ints);
  for (k = n->messages = 0; k < list.n && code == REDIST_OK; k++) {
    const int box = list.coord[k];
    if (n->messages > 0 && box == list.coord[n->messages - 1]) continue;
    for (d = 0; d < n->ndim; d++)
      if (!redist_priv_holds_any(&other->layout->dim[d].axis, box, &pattern[d])) break;
    if (d == n->ndim) list.coord[n->messages++] = box;
  }
  for (d = 0; d < n->ndim; d++) {
    n->axis[d].coord = list.coord;
    n->axis[d].peers = n->messages;
    redist_priv_pattern_free(&pattern[d]);
  }
  return code;
}

/* Finds the peers of a coordinate of x on axis d of `there`, which has no boxes.
   REDIST_ERR_MEMORY. */
REDIST_PRIV int redist_priv_find_axis_peers(const redist_axis *x, int coord, int own,
                                            redist_priv_directory *there, int d, int runs,
                                            redist_priv_axis_peers *p) {
  const redist_axis *other = &there->layout->dim[d].axis;
  redist_priv_pattern pattern;
  int code;
  /* by a sweep where an axis is scattered, and each index of `other` has one owner */
  if ((redist_priv_is_scattered(x) || redist_priv_is_scattered(other)) && other->ghosts == 0 &&
      (other->kind != REDIST_PRIV_LISTED || other->apart == 1))
    return redist_priv_sweep_peers(x, coord, own, there, d, runs, p);
  code = redist_priv_pattern_of(x, coord, REDIST_PRIV_ALL_IMAGES, &pattern);
  if (code == REDIST_OK) code = redist_priv_peers(&pattern, other, &p->coord, &p->peers);
  redist_priv_pattern_free(&pattern);
  return code;
}

/* Decodes this place's positions of joined axes. */
REDIST_PRIV_COLD void redist_priv_decode_peers(const redist_layout *mine, const int *coords,
                                               redist_priv_place_peers *n) {
  const redist_priv_storage storage = redist_priv_storage_at(mine, coords);
  int64_t k;
  int d;
  for (d = 0; d < n->ndim; d++)
    for (k = 0; k < n->axis[d].peers * n->axis[d].images; k++)
      if (mine->dim[d].axis.kind == REDIST_PRIV_JOINED)
        redist_priv_decode_runs(mine->joined, d, &storage, n->own, &n->axis[d].runs[k]);
}

/* Which peer of each axis the k-th message is with, 0 <= k < messages. */
REDIST_PRIV void redist_priv_peers_at(const redist_priv_place_peers *n, int64_t k, int64_t *peer) {
  int d;
  REDIST_ASSERT(k >= 0 && k < n->messages);
  k = n->meeting == NULL ? k : n->meeting[k];
  for (d = n->ndim - 1; d >= 0; d--) {
    peer[d] = k % n->axis[d].peers;
    k /= n->boxes ? 1 : n->axis[d].peers;
  }
}

/* Whether a block may have elements: on a side without corners, at most one axis is in its ghost
   cells. */
REDIST_PRIV int redist_priv_is_block(const redist_priv_place_peers *n, int block) {
  int d, side, ghosts[2] = {0, 0};
  for (d = 0; d < n->ndim && n->faces != 0; block /= n->axis[d++].images)
    for (side = 0; side < 2; side++)
      ghosts[side] += (n->faces >> side & 1) &&
                      !(n->axis[d].image[block % n->axis[d].images][side] & REDIST_PRIV_OWNED);
  return ghosts[0] <= 1 && ghosts[1] <= 1;
}

/* The elements of the k-th message, whose runs are known. */
REDIST_PRIV int64_t redist_priv_elements_of(const redist_priv_place_peers *n, int64_t k) {
  int64_t peer[REDIST_MAX_DIMS], elements = 0, product;
  int block, rest, d;
  redist_priv_peers_at(n, k, peer);
  for (block = 0; block < n->blocks; block++, elements += product) {
    product = redist_priv_is_block(n, block);
    for (d = 0, rest = block; d < n->ndim; rest /= n->axis[d++].images) {
      const int images = n->axis[d].images;
      product *= n->axis[d].runs[peer[d] * images + rest % images].elements;
    }
  }
  return elements;
}

/* Leaves out messages without elements: with places that only corners show. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_drop_corners(redist_priv_place_peers *n) {
  int64_t *meeting = REDIST_PRIV_ALLOC(int64_t, n->messages), k, meetings = 0;
  if (meeting == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; k < n->messages; k++)
    if (redist_priv_elements_of(n, k) > 0) meeting[meetings++] = k;
  n->meeting = meeting;
  n->messages = meetings;
  return REDIST_OK;
}

/* The peers of the place at coords of layout `mine`, which is side `own` of the exchange, with or
   without the runs that it shares with them. except: the boxes of this rank may be left out; or -1.
   REDIST_ERR_MEMORY; free with redist_priv_place_peers_free even on failure. */
REDIST_PRIV int redist_priv_find_peers(const redist_layout *mine, const int *coords, int own,
                                       redist_priv_directory *other, int runs, int except,
                                       redist_priv_place_peers *n) {
  int d, code = REDIST_OK;
  memset(n, 0, sizeof *n);
  n->own = own;
  n->ndim = mine->ndim;
  n->boxes = other->layout->boxes > 0;
  n->messages = n->blocks = 1;
  n->faces = redist_priv_is_without_corners(mine) << own |
             redist_priv_is_without_corners(other->layout) << !own;
  runs |= n->faces;
  if (n->boxes) code = redist_priv_find_box_peers(mine, coords, other, except, n);
  for (d = 0; d < n->ndim && code == REDIST_OK; d++) {
    redist_priv_axis_peers *p = &n->axis[d];
    const redist_axis *x[2];
    x[own] = &mine->dim[d].axis;
    x[!own] = &other->layout->dim[d].axis;
    redist_priv_choose_images(x, n->faces, p);
    n->blocks *= p->images;
    if (!n->boxes) code = redist_priv_find_axis_peers(x[own], coords[d], own, other, d, runs, p);
    if (code == REDIST_OK && runs && p->runs == NULL)
      code = redist_priv_meet_peers(x[own], coords[d], own, x[!own], p);
    n->messages *= n->boxes ? 1 : p->peers;
  }
  if (n->faces != 0 && code == REDIST_OK) code = redist_priv_drop_corners(n);
  if (REDIST_PRIV_SCATTERS && mine->joined != NULL && runs && code == REDIST_OK)
    redist_priv_decode_peers(mine, coords, n);
  return code;
}

/* The coordinates of the other place of the k-th message; messages ascend by them. */
REDIST_PRIV void redist_priv_peer_coords(const redist_priv_place_peers *n, int64_t k, int *coords) {
  int64_t peer[REDIST_MAX_DIMS];
  int d;
  redist_priv_peers_at(n, k, peer);
  for (d = 0; d < n->ndim; d++) coords[d] = n->axis[d].coord[peer[d]];
}

/* Lays out the packed elements one after the other. begin, end: by axis, a window; NULL: all. */
REDIST_PRIV_COLD void redist_priv_pack_densely(redist_priv_message *m, const int64_t *begin,
                                               const int64_t *end) {
  int k;
  m->elements = 1;
  for (k = m->ndim - 1; k >= 0; k--) {
    const int d = m->order[k];
    m->stride[REDIST_PRIV_PACKED][d] = m->elements;
    m->elements *= begin == NULL ? m->axis[d]->elements : end[d] - begin[d];
  }
}

/* A block of the k-th message of a place, 0 <= k < messages, with the place or places at
   redist_priv_peer_coords, packed densely in this order of axes: that of the source's memory, which
   both sides know. The caller sets the strides and origins of FROM and TO. */
REDIST_PRIV redist_priv_message redist_priv_message_of(const redist_priv_place_peers *n, int64_t k,
                                                       int block, const int *order) {
  redist_priv_message m;
  int64_t peer[REDIST_MAX_DIMS];
  int d, rest = block;
  REDIST_ASSERT(block >= 0 && block < n->blocks);
  memset(&m, 0, sizeof m);
  m.own = n->own;
  m.ndim = n->ndim;
  redist_priv_peers_at(n, k, peer);
  for (d = 0; d < n->ndim; d++) {
    const int images = n->axis[d].images;
    m.axis[d] = &n->axis[d].runs[peer[d] * images + rest % images];
    rest /= images;
  }
  m.order = order;
  redist_priv_pack_densely(&m, NULL, NULL);
  if (!redist_priv_is_block(n, block)) m.elements = 0;
  return m;
}

/* Sets how a side stores a message. REDIST_ERR_MEMORY, but not of the side whose place's peers it
   is of, whose runs are decoded; close the message even on failure. */
REDIST_PRIV int redist_priv_store(redist_priv_message *m, int side, const redist_layout *layout,
                                  const redist_priv_storage *storage) {
  int d, code = REDIST_OK;
  memcpy(m->stride[side], storage->stride, sizeof storage->stride);
  m->origin[side] = storage->origin;
  if (!REDIST_PRIV_SCATTERS || layout->joined == NULL) return REDIST_OK;
  for (d = 0; d < layout->joined->base.ndim; d++)
    m->stride[side][layout->joined->axis[d]] = storage->stride[d];
  if (side != m->own) m->decoded = REDIST_PRIV_ZEROED(redist_priv_runs, m->ndim);
  if (side != m->own && m->decoded == NULL) return REDIST_ERR_MEMORY;
  for (d = 0; d < m->ndim && code == REDIST_OK; d++) {
    if (layout->dim[d].axis.kind != REDIST_PRIV_JOINED) continue;
    m->stride[side][d] = 1;
    if (side == m->own) continue;
    code = redist_priv_copy_runs(m->axis[d], &m->decoded[d]);
    if (code == REDIST_OK)
      redist_priv_decode_runs(layout->joined, d, storage, side, &m->decoded[d]);
    m->axis[d] = &m->decoded[d];
  }
  return code;
}

REDIST_PRIV void redist_priv_message_close(redist_priv_message *m) {
  int d;
  if (!REDIST_PRIV_SCATTERS || m->decoded == NULL) return;
  for (d = 0; d < m->ndim; d++) redist_priv_runs_free(&m->decoded[d]);
  REDIST_FREE(m->decoded);
}

/* -------------------------------------------------------------------------------------- copying */

/* A copy is loops around units of contiguous bytes. Which loops are innermost, and how long a unit
   is, decides what is fast: memcpy; a loop for units of one length; or, where the source is read
   along one axis and the destination is written along another, tiles, which are cut so that they
   fit into the fastest cache, and each line is fetched once:

       source  0 1|2 3    destination  0 4|8 c    each quarter is copied whole
               4 5|6 7                 1 5|9 d    before the next
               ---+---                 ---+---
               8 9|a b                 2 6|a e
               c d|e f                 3 7|b f
*/

/* One loop of a copy: n times, at these distances in bytes. */
typedef struct {
  int64_t n, from, to;
} redist_priv_loop;

/* The store policy: a copy overwrites its destination, or a function converts or combines. */
typedef struct {
  redist_combine *function; /* NULL: overwrite */
  void *context;
  int64_t element, there; /* bytes of an element at the source and at the destination */
  int alone;              /* the function is not thread-safe */
  int converts;           /* the function only converts: one of redist_priv_conversions */
} redist_priv_policy;

/* Conversions of numbers: double to float, float to double, double to float and back. */
enum redist_priv_conversions { REDIST_PRIV_NARROW = 1, REDIST_PRIV_WIDEN, REDIST_PRIV_ROUND };
#ifdef REDIST_SMALL
#define REDIST_PRIV_CONVERTS(conversion) 0 /* by functions, as elements are combined */
#define REDIST_PRIV_STREAMS_IF(stream) ((void)(stream), 0)
#define REDIST_PRIV_TABLES 0 /* short runs are copied one by one */
#else
#define REDIST_PRIV_CONVERTS(conversion) (conversion)
#define REDIST_PRIV_STREAMS_IF(stream) (stream)
#define REDIST_PRIV_TABLES 1
#endif

/* The default store policy: overwrite, elements of so many bytes. */
REDIST_PRIV_FAST redist_priv_policy redist_priv_replacing(int64_t element_bytes) {
  const redist_priv_policy policy = {NULL, NULL, element_bytes, element_bytes, 0, 0};
  return policy;
}

/* Two nested loops, and where they begin. */
typedef struct {
  redist_priv_loop outer, inner;
  const char *from;
  char *to;
} redist_priv_plane;

/* Prefetches the cache line `bytes` after `from`; the address need not be valid. */
#if defined __GNUC__
#define REDIST_PRIV_PREFETCH(from, bytes) \
  __builtin_prefetch((const void *)((uintptr_t)(from) + (uintptr_t)(bytes)))
#else
#define REDIST_PRIV_PREFETCH(from, bytes) ((void)(from), (void)(bytes))
#endif

/* Unaligned vectors of 16 bytes; FIRST and LAST interleave the first and the last elements, of 4 or
   8 bytes, of two vectors. */
#if defined REDIST_PRIV_SSE2
typedef __m128i redist_priv_vector;
#define REDIST_PRIV_VECTORS 1
#define REDIST_PRIV_LOAD(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define REDIST_PRIV_STORE(to, v) _mm_storeu_si128((__m128i *)(void *)(to), v)
#define REDIST_PRIV_FIRST_4(a, b) _mm_unpacklo_epi32(a, b)
#define REDIST_PRIV_LAST_4(a, b) _mm_unpackhi_epi32(a, b)
#define REDIST_PRIV_FIRST_8(a, b) _mm_unpacklo_epi64(a, b)
#define REDIST_PRIV_LAST_8(a, b) _mm_unpackhi_epi64(a, b)
#define REDIST_PRIV_ROUND_2(v) _mm_castpd_si128(_mm_cvtps_pd(_mm_cvtpd_ps(_mm_castsi128_pd(v))))
#elif defined REDIST_PRIV_NEON
typedef uint8x16_t redist_priv_vector;
#define REDIST_PRIV_VECTORS 1
#define REDIST_PRIV_LOAD(from) vld1q_u8((const uint8_t *)(from))
#define REDIST_PRIV_STORE(to, v) vst1q_u8((uint8_t *)(to), v)
#define REDIST_PRIV_PAIR(zip, bits, a, b) \
  vreinterpretq_u8_u##bits(               \
      zip##_u##bits(vreinterpretq_u##bits##_u8(a), vreinterpretq_u##bits##_u8(b)))
#define REDIST_PRIV_FIRST_4(a, b) REDIST_PRIV_PAIR(vzip1q, 32, a, b)
#define REDIST_PRIV_LAST_4(a, b) REDIST_PRIV_PAIR(vzip2q, 32, a, b)
#define REDIST_PRIV_FIRST_8(a, b) REDIST_PRIV_PAIR(vzip1q, 64, a, b)
#define REDIST_PRIV_LAST_8(a, b) REDIST_PRIV_PAIR(vzip2q, 64, a, b)
#define REDIST_PRIV_ROUND_2(v) \
  vreinterpretq_u8_f64(vcvt_f64_f32(vcvt_f32_f64(vreinterpretq_f64_u8(v))))
#endif

#ifdef REDIST_PRIV_VECTORS

/* How vectors are stored: by non-temporal stores, if `to` is a multiple of 16; as two doubles that
   are rounded to float. */
enum redist_priv_storing { REDIST_PRIV_STREAMING = 1, REDIST_PRIV_ROUNDING = 2 };

REDIST_PRIV_INLINE void redist_priv_store_16(int how, char *to, redist_priv_vector value) {
  if (how & REDIST_PRIV_ROUNDING) value = REDIST_PRIV_ROUND_2(value);
#ifdef REDIST_PRIV_STREAMS
  if (how & REDIST_PRIV_STREAMING) {
    _mm_stream_si128((__m128i *)(void *)to, value);
    return;
  }
#endif
  REDIST_PRIV_STORE(to, value);
}
#endif

/* Makes streamed bytes visible before later stores. */
REDIST_PRIV_FAST void redist_priv_fence(void) {
#ifdef REDIST_PRIV_STREAMS
  _mm_sfence();
#endif
}

/* Copies contiguous bytes, by non-temporal stores where the processor has them: a plain store first
   reads the line that it writes. ahead: distance from `from` of the bytes to prefetch, or 0. */
REDIST_PRIV_APART void redist_priv_stream(char *to, const char *from, int64_t bytes,
                                          int64_t ahead) {
  int64_t k = 0;
#ifdef REDIST_PRIV_STREAMS
  const int64_t head = redist_priv_min((int64_t)(-(uintptr_t)to % REDIST_PRIV_LINE), bytes);
  memcpy(to, from, (size_t)head);
  for (k = head; k + REDIST_PRIV_LINE <= bytes; k += REDIST_PRIV_LINE) {
    REDIST_PRIV_PREFETCH(from, k + ahead);
    redist_priv_store_16(1, to + k, REDIST_PRIV_LOAD(from + k));
    redist_priv_store_16(1, to + k + 16, REDIST_PRIV_LOAD(from + k + 16));
    redist_priv_store_16(1, to + k + 32, REDIST_PRIV_LOAD(from + k + 32));
    redist_priv_store_16(1, to + k + 48, REDIST_PRIV_LOAD(from + k + 48));
  }
#endif
  (void)ahead;
  memcpy(to + k, from + k, (size_t)(bytes - k));
}

#if defined __GNUC__ && __GNUC__ >= 8 && !defined __clang__
#define REDIST_PRIV_UNROLL(times) REDIST_PRIV_PRAGMA(GCC unroll times) /* clang does so by itself */
#define REDIST_PRIV_PRAGMA(text) _Pragma(#text)
#else
#define REDIST_PRIV_UNROLL(times)
#endif

/* KEEP: compilers keep two pointers in registers, instead of adding up their terms again for each
   unit. */
#if defined __GNUC__
#define REDIST_PRIV_RESTRICT __restrict__
#define REDIST_PRIV_KEEP(a, b) __asm__("" : "+r"(a), "+r"(b))
#else
#define REDIST_PRIV_RESTRICT
#define REDIST_PRIV_KEEP(a, b) ((void)0)
#endif

/* Copies a row of contiguous bytes. Where it is short, a call of memcpy takes longer than vectors
   do, of which the last may overlap the one before. */
REDIST_PRIV_INLINE void redist_priv_copy_row(char *to, const char *from, int64_t bytes) {
#ifdef REDIST_PRIV_VECTORS
  int64_t k;
  if (bytes >= 16 && bytes <= REDIST_PRIV_ROW) {
    REDIST_PRIV_UNROLL(4)
    for (k = 0; k < bytes - 16; k += 16) REDIST_PRIV_STORE(to + k, REDIST_PRIV_LOAD(from + k));
    REDIST_PRIV_STORE(to + bytes - 16, REDIST_PRIV_LOAD(from + bytes - 16));
    return;
  }
#endif
  memcpy(to, from, (size_t)bytes);
}

/* Convert n numbers, of any alignment. */
#define REDIST_PRIV_CONVERT_SOME(name, source, target)                                    \
  REDIST_PRIV_INLINE void name##_some(char *REDIST_PRIV_RESTRICT to,                      \
                                      const char *REDIST_PRIV_RESTRICT from, int64_t n) { \
    int64_t k;                                                                            \
    for (k = 0; k < n; k++) {                                                             \
      source x;                                                                           \
      target y;                                                                           \
      memcpy(&x, from + k * (int64_t)sizeof x, sizeof x);                                 \
      y = (target)x;                                                                      \
      memcpy(to + k * (int64_t)sizeof y, &y, sizeof y);                                   \
    }                                                                                     \
  }

REDIST_PRIV_CONVERT_SOME(redist_priv_narrow, double, float)
REDIST_PRIV_CONVERT_SOME(redist_priv_widen, float, double)

/* Two at a time, by vectors, if there are any; in gcc 12 a single one goes through memory: 12.1 and
   12.2 make vectors themselves, of numbers that become float and double again, and take them for
   unchanged. */
REDIST_PRIV_INLINE void redist_priv_round_some(char *REDIST_PRIV_RESTRICT to,
                                               const char *REDIST_PRIV_RESTRICT from, int64_t n) {
  int64_t k = 0;
#ifdef REDIST_PRIV_VECTORS
  for (; k < n - 1; k += 2)
    REDIST_PRIV_STORE(to + 8 * k, REDIST_PRIV_ROUND_2(REDIST_PRIV_LOAD(from + 8 * k)));
#endif
  for (; k < n; k++) {
    double x;
    float single;
    memcpy(&x, from + 8 * k, sizeof x);
    single = (float)x;
#if defined __GNUC__ && __GNUC__ == 12 && !defined __clang__
    __asm__("" : "+m"(single));
#endif
    x = (double)single;
    memcpy(to + 8 * k, &x, sizeof x);
  }
}

/* As functions. Where it is known that there are 16 numbers, compilers make vectors of them. */
#define REDIST_PRIV_CONVERT(name, source, target)                                     \
  REDIST_PRIV void name(const void *from, void *to, int64_t n, void *context) {       \
    const char *at = (const char *)from;                                              \
    char *there = (char *)to;                                                         \
    (void)context;                                                                    \
    for (; n >= 16; n -= 16, at += 16 * sizeof(source), there += 16 * sizeof(target)) \
      name##_some(there, at, 16);                                                     \
    name##_some(there, at, n);                                                        \
  }

REDIST_PRIV_CONVERT(redist_priv_narrow, double, float)
REDIST_PRIV_CONVERT(redist_priv_widen, float, double)
REDIST_PRIV_CONVERT(redist_priv_round, double, double)

/* How many units lead to the next cache line, at most `most`; `most` when `at` begins a line. */
REDIST_PRIV_FAST int64_t redist_priv_to_line(const char *at, int64_t unit, int64_t most) {
  const int64_t head = (int64_t)(-(uintptr_t)at % REDIST_PRIV_LINE) / unit;
  return head > 0 ? redist_priv_min(head, most) : most;
}

/* The buffer in which a tile is assembled, aligned for numbers of any kind. */
typedef union {
  char bytes[REDIST_PRIV_TILE_BUFFER];
  long double aligned;
} redist_priv_tile;

/* The context of redist_priv_combine_converted: converts numbers, then combines elements, or
   streams what was converted (NULL), whole lines at a time. */
typedef struct {
  const redist_priv_policy *convert, *combine;
} redist_priv_conversion;

REDIST_PRIV void redist_priv_combine_converted(const void *from, void *to, int64_t n,
                                               void *context) {
  const redist_priv_policy *convert = ((const redist_priv_conversion *)context)->convert,
                           *combine = ((const redist_priv_conversion *)context)->combine;
  const int64_t element = combine != NULL ? combine->element : convert->there,
                numbers = element / convert->there, most = REDIST_PRIV_TILE_BUFFER / element;
  const char *at = (const char *)from;
  char *there = (char *)to;
  redist_priv_tile tile;
  int64_t some = redist_priv_to_line(there, element, most);
  for (; n > 0; n -= some, some = most) {
    some = redist_priv_min(some, n);
    convert->function(at, tile.bytes, some * numbers, convert->context);
    if (REDIST_PRIV_STREAMS_IF(combine == NULL))
      redist_priv_stream(there, tile.bytes, some * element, 0);
    else
      combine->function(tile.bytes, there, some, combine->context);
    at += some * numbers * convert->element;
    there += some * element;
  }
}

/* Copies contiguous bytes by any policy. */
REDIST_PRIV void redist_priv_write(const redist_priv_policy *a, int stream, char *to,
                                   const char *from, int64_t bytes, int64_t ahead) {
  redist_priv_conversion streamed = {a, NULL};
  if (a->function != NULL && !(stream && REDIST_PRIV_CONVERTS(a->converts)))
    a->function(from, to, bytes / a->element, a->context);
  else if (a->function != NULL)
    redist_priv_combine_converted(from, to, bytes / a->element, &streamed);
  else
    redist_priv_stream(to, from, bytes, ahead);
}

/* How a unit is copied, as cases of a switch: its bytes, if they are overwritten (a: NULL, or no
   function); a conversion of one number or two; or by redist_priv_write. */
enum { REDIST_PRIV_WRITTEN = 0 };
#define REDIST_PRIV_CONVERTED(conversion, numbers) (-2 * (conversion) - (numbers))

REDIST_PRIV_FAST int64_t redist_priv_case_of(const redist_priv_policy *a, int stream,
                                             int64_t unit) {
  int64_t n;
  if (a == NULL || a->function == NULL)
    return REDIST_PRIV_STREAMS_IF(stream) ? (int64_t)REDIST_PRIV_WRITTEN : unit;
  n = unit / a->element;
  return REDIST_PRIV_CONVERTS(a->converts) &&
                 redist_priv_max(unit, n * a->there) <= 2 * (int)sizeof(double)
             ? REDIST_PRIV_CONVERTED(a->converts, n)
             : (int64_t)REDIST_PRIV_WRITTEN;
}

#define REDIST_PRIV_WRITE(there, at, bytes) \
  redist_priv_write(a, stream, there, at, bytes, p.inner.from)

#ifdef REDIST_SMALL
#define REDIST_PRIV_CONVERSIONS(loops)
#else
#define REDIST_PRIV_CONVERSION(loops, conversion, copy)              \
  case REDIST_PRIV_CONVERTED(conversion, 1): loops(, copy, 1) break; \
  case REDIST_PRIV_CONVERTED(conversion, 2):                         \
    loops(, copy, 2) break;
#define REDIST_PRIV_CONVERSIONS(loops)                                       \
  REDIST_PRIV_CONVERSION(loops, REDIST_PRIV_NARROW, redist_priv_narrow_some) \
  REDIST_PRIV_CONVERSION(loops, REDIST_PRIV_WIDEN, redist_priv_widen_some)   \
  REDIST_PRIV_CONVERSION(loops, REDIST_PRIV_ROUND, redist_priv_round_some)
#endif

/* Two loops around a unit; short units have a size that the compiler knows. */
#define REDIST_PRIV_COPY_LOOPS(unroll, copy, unit)                                                 \
  for (j = 0; j < p.outer.n; j++)                                                                  \
    unroll for (i = 0; i < p.inner.n; i++)                                                         \
        copy(p.to + j * p.outer.to + i * p.inner.to, p.from + j * p.outer.from + i * p.inner.from, \
             unit);

#define REDIST_PRIV_COPY_UNITS(unroll, bytes) \
  case bytes: REDIST_PRIV_COPY_LOOPS(unroll, memcpy, bytes) break;

REDIST_PRIV void redist_priv_copy_units(const redist_priv_policy *a, int stream, int64_t unit,
                                        const redist_priv_plane *plane) {
  const redist_priv_plane p = *plane; /* a copy: no store can change it */
  int64_t i, j;
  switch (redist_priv_case_of(a, stream, unit)) {
    REDIST_PRIV_COPY_UNITS(, 1)
    REDIST_PRIV_COPY_UNITS(, 2)
    REDIST_PRIV_COPY_UNITS(REDIST_PRIV_UNROLL(2), 4)
    REDIST_PRIV_COPY_UNITS(REDIST_PRIV_UNROLL(2), 8)
    REDIST_PRIV_COPY_UNITS(, 12)
    REDIST_PRIV_COPY_UNITS(REDIST_PRIV_UNROLL(2), 16)
    REDIST_PRIV_COPY_UNITS(, 24)
    REDIST_PRIV_COPY_UNITS(, 32)
    REDIST_PRIV_COPY_UNITS(, 48)
    REDIST_PRIV_COPY_UNITS(, 64)
    REDIST_PRIV_COPY_UNITS(, 128)
    REDIST_PRIV_CONVERSIONS(REDIST_PRIV_COPY_LOOPS)
  case REDIST_PRIV_WRITTEN: REDIST_PRIV_COPY_LOOPS(, REDIST_PRIV_WRITE, unit) break;
  default: REDIST_PRIV_COPY_LOOPS(, redist_priv_copy_row, unit)
  }
}

/* How the two innermost loops of a step are cut into tiles of wide x tall units, and how a tile is
   copied: in strips, through a buffer, by non-temporal stores, with lines prefetched (far). */
typedef struct {
  int wide, tall;
  char strips, buffered, stream, far;
  /* planes are transposed; as in redist_priv_manner; the destination's rows have no gaps */
  char turned, combine, contiguous;
} redist_priv_tiling;

/* The kinds of steps. */
enum redist_priv_kinds {
  REDIST_PRIV_UNITS,  /* unit by unit */
  REDIST_PRIV_TILES,  /* two loops in tiles */
  REDIST_PRIV_OFFSETS /* units at the offsets of a table */
};

/* A step of a copy, in bytes: a unit of contiguous bytes, or a table of offsets of such units, in
   two loops, and these in others. */
typedef struct {
  enum redist_priv_kinds kind;
  int loops; /* loop[first], ..., of the pool: those around outer, the outermost first */
  int64_t first, from, to; /* from, to: where it begins */
  int64_t unit, there;     /* at the source; and at the destination, if a function converts */
  redist_priv_loop outer, inner;
  int64_t offset, offsets; /* of a table: offset[offset], ..., of the pool: */
  int64_t scale[2];        /* in elements of so many bytes at the source and at the destination */
  int64_t buffered;        /* repetitions of the table that fill a tile without gaps; or 0 */
  int64_t contiguous;      /* whether the table's units follow each other at the source */
  int64_t pair; /* 1: copied with the next step, some rows at a time; -1: with the one before */
  redist_priv_tiling tiling;
} redist_priv_step;

#ifdef REDIST_PRIV_VECTORS

/* Writes a line of two rows of the destination: the lower halves of each pair of vectors to the
   first row, then the upper halves to the next. */
REDIST_PRIV_INLINE void redist_priv_store_halves(int how, const redist_priv_vector *v, char *to,
                                                 int64_t to_pitch) {
  int k;
  REDIST_PRIV_UNROLL(4)
  for (k = 0; k < 4; k++)
    redist_priv_store_16(how, to + 16 * k, REDIST_PRIV_FIRST_8(v[2 * k], v[2 * k + 1]));
  REDIST_PRIV_UNROLL(4)
  for (k = 0; k < 4; k++)
    redist_priv_store_16(how, to + to_pitch + 16 * k, REDIST_PRIV_LAST_8(v[2 * k], v[2 * k + 1]));
}

/* Transposes 16 bytes of as many rows of the source as fill one line of each row of the
   destination. Lines are written one after another: alternating between incomplete lines takes
   twice the time. */
REDIST_PRIV_INLINE void redist_priv_transpose_strip(int unit, int how, const char *from,
                                                    int64_t from_pitch, char *to,
                                                    int64_t to_pitch) {
  redist_priv_vector first[8], second[8];
  int k;
  if (unit == 16) {
    REDIST_PRIV_UNROLL(4)
    for (k = 0; k < 4; k++)
      redist_priv_store_16(how, to + 16 * k, REDIST_PRIV_LOAD(from + k * from_pitch));
    return;
  }
  REDIST_PRIV_UNROLL(8)
  for (k = 0; k < 8; k++) {
    const char *row = from + k * (8 / unit) * from_pitch;
    const redist_priv_vector a = REDIST_PRIV_LOAD(row),
                             b = REDIST_PRIV_LOAD(row + (unit == 4 ? from_pitch : 0));
    first[k] = unit == 4 ? REDIST_PRIV_FIRST_4(a, b) : a;
    second[k] = REDIST_PRIV_LAST_4(a, b);
  }
  redist_priv_store_halves(how, first, to, to_pitch);
  if (unit == 4) redist_priv_store_halves(how, second, to + 2 * to_pitch, to_pitch);
}

/* Transposes `lines` x `columns` elements in strips of a destination line; ahead: prefetches. */
REDIST_PRIV_INLINE void redist_priv_transpose_strips(int unit, int how, int ahead, int64_t lines,
                                                     int64_t columns, const redist_priv_plane *p) {
  const int64_t rows = REDIST_PRIV_LINE / unit, side = 16 / unit, from_pitch = p->inner.from,
                to_pitch = p->outer.to;
  int64_t i, j;
  for (i = 0; i < lines; i += rows) {
    const char *from = p->from + i * from_pitch;
    char *to = p->to + i * unit;
    for (j = 0; ahead && j < rows; j++)
      REDIST_PRIV_PREFETCH(from, j * from_pitch + 2 * REDIST_PRIV_LINE);
    for (j = 0; j < columns; j += side, from += 16, to += side * to_pitch)
      redist_priv_transpose_strip(unit, how, from, from_pitch, to, to_pitch);
  }
}

/* Copies `columns` x `lines` units of a plane, from (column, line) on. */
REDIST_PRIV_APART void redist_priv_copy_edge(const redist_priv_policy *a, int64_t unit,
                                             const redist_priv_plane *p, int64_t column,
                                             int64_t columns, int64_t line, int64_t lines) {
  redist_priv_plane edge = *p;
  edge.outer.n = columns;
  edge.inner.n = lines;
  edge.from += column * p->outer.from + line * p->inner.from;
  edge.to += column * p->outer.to + line * p->inner.to;
  redist_priv_copy_units(a, 0, unit, &edge);
}

/* Transposes two loops, the outer along contiguous elements of the source, the inner along those of
   the destination: strips, and the remainder at the two edges. Overwrites, or rounds. */
REDIST_PRIV_APART void redist_priv_transpose(const redist_priv_policy *a, int64_t unit, int far,
                                             int stream, const redist_priv_plane *p) {
  const int64_t side = 16 / unit, lines = p->inner.n & -(REDIST_PRIV_LINE / unit),
                columns = p->outer.n & -side;
  const int ahead = far && columns * unit <= REDIST_PRIV_LINE;
  const int how = stream ? REDIST_PRIV_STREAMING : 0, rounds = a != NULL && a->converts;
  if (unit == 4)
    redist_priv_transpose_strips(4, how, ahead, lines, columns, p);
  else if (unit == 8 && rounds)
    redist_priv_transpose_strips(8, how | REDIST_PRIV_ROUNDING, ahead, lines, columns, p);
  else if (unit == 8)
    redist_priv_transpose_strips(8, how, ahead, lines, columns, p);
  else if (rounds)
    redist_priv_transpose_strips(16, how | REDIST_PRIV_ROUNDING, ahead, lines, columns, p);
  else
    redist_priv_transpose_strips(16, how, ahead, lines, columns, p);
  if (columns < p->outer.n)
    redist_priv_copy_edge(a, unit, p, columns, p->outer.n - columns, 0, p->inner.n);
  if (lines < p->inner.n) redist_priv_copy_edge(a, unit, p, 0, columns, lines, p->inner.n - lines);
}

#else
#define redist_priv_transpose(a, unit, far, stream, plane) redist_priv_copy_units(a, 0, unit, plane)
#endif

/* Chooses tiles so that each cache line of either side is visited once, while it is cached. Strips
   that fill a whole line of the destination are streamed directly; their tiles are low and wide, so
   that the processor prefetches the source's rows. Where several strips fill a line, tiles are high
   and narrow. Anything else that is streamed, or copied unit by unit, is assembled in a buffer and
   written in long pieces. Strips that are combined, or converted without streaming, use a larger
   buffer, to access the destination in long pieces, too. */
REDIST_PRIV_COLD void redist_priv_choose_tiles(redist_priv_step *s, int stream) {
  const int64_t unit = redist_priv_max(s->unit, s->there), pitch = s->outer.to;
  const int contiguous = s->inner.to == s->there;
  redist_priv_tiling *t = &s->tiling;
  int64_t across;
  int by_function, large; /* strips are rounded as they are stored */
  t->contiguous = (char)contiguous;
  t->strips = t->turned && contiguous && s->outer.from == s->unit &&
              (s->unit == 4 || s->unit == 8 || s->unit == 16);
  t->stream = stream && contiguous;
  by_function =
      t->strips && REDIST_PRIV_CONVERTS(t->combine == 1 + REDIST_PRIV_ROUND) ? 0 : t->combine;
  large = t->strips && (by_function == 1 || (by_function && !t->stream));
  t->buffered =
      by_function == 1 || (t->strips ? by_function || (t->stream && pitch % 16 != 0) : contiguous);
  t->far = t->far || stream || s->outer.n * s->inner.n * unit > REDIST_PRIV_NEAR;
  across = !t->turned   ? unit
           : !t->strips ? (int64_t)REDIST_PRIV_WIDTH
           : large      ? 4 * (int64_t)REDIST_PRIV_WIDTH
                        : (int64_t)REDIST_PRIV_LINE;
  t->wide = t->turned ? (int)redist_priv_max(across / unit, 1) : 1;
  t->tall = (int)((large ? REDIST_PRIV_TILE_BUFFERS : 1) * REDIST_PRIV_TILE_BUFFER / across);
  if (!t->strips || t->buffered) return;
  if (t->stream && pitch % REDIST_PRIV_LINE != 0) {
    t->wide = 4; /* no more incomplete lines than the processor holds */
  } else if (s->outer.n * unit >= 2 * REDIST_PRIV_WIDTH && (t->stream || unit < 16)) {
    t->wide = 2 * REDIST_PRIV_WIDTH / (int)unit;
    t->tall = 2 * REDIST_PRIV_LINE / (int)unit;
  }
}

/* Decides how a step is copied, by non-temporal stores or not. */
REDIST_PRIV_COLD void redist_priv_choose_kind(redist_priv_step *s, int stream) {
  const int combine = s->tiling.combine;
  const int long_rows =
      stream && s->inner.to == s->there && s->inner.n * s->there >= REDIST_PRIV_LONG;
  s->kind = s->offsets > 0 ? REDIST_PRIV_OFFSETS
            : s->unit < REDIST_PRIV_LONG && (s->tiling.turned || combine == 1 || long_rows)
                ? REDIST_PRIV_TILES
                : REDIST_PRIV_UNITS;
  redist_priv_choose_tiles(s, stream);
  REDIST_ASSERT(s->kind != REDIST_PRIV_TILES || (s->tiling.wide > 0 && s->tiling.tall > 0));
  if (s->kind != REDIST_PRIV_TILES)
    s->tiling.stream = (char)(stream && (s->buffered > 0 || s->unit >= REDIST_PRIV_LONG));
}

/* Combines an assembled tile with a non-contiguous destination, through a second tile. */
REDIST_PRIV void redist_priv_combine_tile(const redist_priv_policy *a, int64_t unit,
                                          const redist_priv_plane *p,
                                          const redist_priv_tile *tile) {
  const int64_t n = unit / a->element, bytes = n * a->there, row = p->inner.n * bytes;
  redist_priv_tile there;
  redist_priv_plane in = {{p->outer.n, p->outer.to, row},
                          {p->inner.n, p->inner.to, bytes},
                          p->to,
                          there.bytes};
  redist_priv_plane out = {{p->outer.n, row, p->outer.to},
                           {p->inner.n, bytes, p->inner.to},
                           there.bytes,
                           p->to};
  REDIST_ASSERT(p->outer.n * row <= (int64_t)sizeof there);
  redist_priv_copy_units(NULL, 0, bytes, &in);
  a->function(tile->bytes, there.bytes, p->outer.n * p->inner.n * n, a->context);
  redist_priv_copy_units(NULL, 0, bytes, &out);
}

/* Copies a tile, shorter at the edges, through a buffer. */
REDIST_PRIV void redist_priv_copy_buffered(const redist_priv_tiling *t, const redist_priv_policy *a,
                                           int64_t unit, const redist_priv_plane *p,
                                           redist_priv_tile *tile) {
  const int64_t bytes = p->inner.n * unit;
  char *at = (char *)tile;
  redist_priv_plane in = {{p->outer.n, p->outer.from, bytes},
                          {p->inner.n, p->inner.from, unit},
                          p->from,
                          at};
  redist_priv_plane across = {in.inner, in.outer, p->from, at};
  redist_priv_plane rows = {{1, 0, 0}, {p->outer.n, bytes, p->outer.to}, at, p->to};
  const int reads = a->function != NULL && !REDIST_PRIV_CONVERTS(a->converts) && t->contiguous;
  int64_t k, line;
  REDIST_ASSERT(p->outer.n * bytes <= REDIST_PRIV_TILE_BUFFERS * (int64_t)sizeof *tile);
  for (k = 0; reads && t->far && k < p->outer.n; k++)
    for (line = 0; line < p->inner.n * p->inner.to; line += REDIST_PRIV_LINE)
      REDIST_PRIV_PREFETCH(p->to, k * p->outer.to + line);
  if (t->strips)
    redist_priv_transpose(NULL, unit, t->far, 0, &in);
  else
    redist_priv_copy_units(NULL, 0, unit, p->outer.n > 1 ? &across : &in);
  if (t->contiguous)
    redist_priv_copy_units(a, t->stream, bytes, &rows);
  else
    redist_priv_combine_tile(a, unit, p, tile);
}

/* Two loops in tiles, forwards along the source and one page of it at a time, so that the
   destination's pages stay in the translation cache. The first tiles are small, so that the others
   begin at cache lines. buffer: where tiles are assembled, or NULL. */
REDIST_PRIV_APART void redist_priv_copy_tiles(const redist_priv_tiling *t,
                                              const redist_priv_policy *a, int64_t unit,
                                              const redist_priv_plane *p,
                                              redist_priv_tile *buffer) {
  const int64_t page = redist_priv_max(REDIST_PRIV_PAGE / unit, 1);
  redist_priv_plane tile = *p;
  const int64_t top = p->inner.n > t->tall ? redist_priv_to_line(p->to, unit, t->tall) : t->tall,
                left = redist_priv_to_line(p->from, unit, t->wide);
  int64_t begin, end, i, j;
  for (begin = 0; begin < p->outer.n; begin = end) {
    end = redist_priv_min(begin == 0 && left < t->wide ? left : begin + page, p->outer.n);
    for (i = 0; i < p->inner.n; i += tile.inner.n) {
      tile.inner.n = redist_priv_min(i == 0 ? top : t->tall, p->inner.n - i);
      for (j = begin; j < end; j += tile.outer.n) {
        tile.outer.n = redist_priv_min(t->wide, end - j);
        tile.from = p->from + j * p->outer.from + i * p->inner.from;
        tile.to = p->to + j * p->outer.to + i * p->inner.to;
        if (buffer != NULL)
          redist_priv_copy_buffered(t, a, unit, &tile, buffer);
        else if (t->strips)
          redist_priv_transpose(a, unit, t->far, t->stream, &tile);
        else
          redist_priv_copy_units(a, 0, unit, &tile);
      }
    }
  }
}

/* The same through a buffer. */
REDIST_PRIV_APART void redist_priv_copy_through(redist_priv_tiling t, const redist_priv_policy *a,
                                                int64_t unit, const redist_priv_plane *p) {
  redist_priv_tile buffer[REDIST_PRIV_TILE_BUFFERS];
  if (!t.buffered) {
    t.wide = REDIST_PRIV_LINE / (int)unit;
    t.tall = REDIST_PRIV_TILE_BUFFER / REDIST_PRIV_LINE;
  }
  redist_priv_copy_tiles(&t, a, unit, p, buffer);
}

/* to = beta to + alpha from, of n real or complex numbers. */
#define REDIST_PRIV_AXPBY(name, real)                                                     \
  REDIST_PRIV void name(real *to, const real *from, int64_t n, const redist_axpby *c,     \
                        int complex_numbers) {                                            \
    const real a = (real)c->alpha[0], b = (real)c->beta[0], ai = (real)c->alpha[1],       \
               bi = (real)c->beta[1], minus_ai = -ai, minus_bi = -bi;                     \
    const real sign = c->conjugate ? (real)-1 : (real)1;                                  \
    const int keeps = c->beta[0] != 0 || (complex_numbers && c->beta[1] != 0);            \
    int64_t k;                                                                            \
    for (k = 0; !complex_numbers && !keeps && k < n; k++) to[k] = a * from[k];            \
    for (k = 0; !complex_numbers && keeps && k < n; k++) to[k] = b * to[k] + a * from[k]; \
    for (k = 0; complex_numbers && k < 2 * n; k += 2) {                                   \
      const real x = from[k], y = sign * from[k + 1], u = keeps ? to[k] : 0,              \
                 v = keeps ? to[k + 1] : 0;                                               \
      to[k] = (b * u + minus_bi * v) + (a * x + minus_ai * y);                            \
      to[k + 1] = (b * v + bi * u) + (a * y + ai * x);                                    \
    }                                                                                     \
  }

REDIST_PRIV_AXPBY(redist_priv_axpby_float, float)
REDIST_PRIV_AXPBY(redist_priv_axpby_double, double)

REDIST_API void redist_combine_axpby(const void *from, void *to, int64_t n, void *context) {
  const redist_axpby *c = (const redist_axpby *)context;
  const int is_complex = c->type == REDIST_COMPLEX_FLOAT || c->type == REDIST_COMPLEX_DOUBLE;
  if (c->type == REDIST_FLOAT || c->type == REDIST_COMPLEX_FLOAT)
    redist_priv_axpby_float((float *)to, (const float *)from, n, c, is_complex);
  else
    redist_priv_axpby_double((double *)to, (const double *)from, n, c, is_complex);
}

/* The axis with several elements that is fastest on one side of a message; the last if none. */
REDIST_PRIV_APART int redist_priv_fastest(const redist_priv_message *m, int side) {
  int d, fastest = -1;
  for (d = 0; d < m->ndim; d++)
    if (m->axis[d]->elements > 1 && (fastest < 0 || m->stride[side][d] < m->stride[side][fastest]))
      fastest = d;
  return fastest < 0 ? m->ndim - 1 : fastest;
}

/* ---------------------------------------------------------------------------- compiling copies */

/* A message is a product of runs, which may be copied in many orders, most of them slow: they visit
   cache lines repeatedly. So a copy is compiled when a plan is made; an execution follows it and
   decides nothing. It consists of steps: loops around a unit of contiguous bytes, or around a table
   of offsets where runs are short. Each choice of a run on every axis makes one step, whose loops
   are ordered and merged: the destination's slowest goes first and its fastest last; the source's
   fastest comes last but one, so that the two innermost loops form planes, which are transposed
   where the two sides' fastest loops differ. For example, columns of 200 x 1024 doubles go from
   CYCLIC(3) to CYCLIC(2) on 2 processes into packed memory (n x {source, destination distance} is a
   loop):

       first step    200 x {4104, 2056}, 2 x {2016, 1008} around a table of 126 offsets, which
                     are 42 superblocks
       second step   200 x {4104, 2056} around a table of the 5 offsets that are left

   Steps of all copies of a plan lie in one pool. A piece of a message is a copy of its own: the
   part of the message that lies in a window of packed positions. Pieces of equal form share their
   steps. */
typedef struct {
  uint32_t to, from; /* unsigned: no signs to extend; `to` is first: it sorts tables, as an int */
} redist_priv_offset;

typedef struct {
  int64_t steps, step_room, loops, loop_room, offsets, offset_room;
  redist_priv_step *step;
  redist_priv_loop *loop;
  redist_priv_offset *offset;
  int32_t latest[REDIST_PRIV_FORMS]; /* by the form of its first step: a copy that may have it */
} redist_priv_pool;

/* A compiled copy: step[first], ..., of a pool, all begin `from` and `to` bytes further on. */
typedef struct {
  int64_t first, steps, from, to;
  int64_t bytes; /* that it copies, on the side where they are fewer */
  int array;     /* of a plan's several arrays: which */
  int when;      /* what is local to a rank is copied only at some times: see redist_priv_local */
} redist_priv_program;

typedef struct {
  int64_t n, room;
  redist_priv_program *copy;
} redist_priv_copies;

REDIST_PRIV_COLD void redist_priv_pool_free(redist_priv_pool *pool) {
  REDIST_FREE(pool->step);
  REDIST_FREE(pool->loop);
  REDIST_FREE(pool->offset);
  memset(pool, 0, sizeof *pool);
}

/* A choice along an axis: a run, or the part of it that lies in the window; or a table of offsets,
   repeated by the first loop. */
typedef struct {
  redist_priv_loop loop[REDIST_PRIV_LEVELS]; /* the outermost first; n is 1 where there is none */
  int64_t from, to, offset, offsets, buffered;
  int64_t stride; /* at the source, from each offset of the table to the next; 0: various */
  int rest;       /* a table of what another leaves of the same rows, which is copied with it */
} redist_priv_option;

/* What is copied, and how. */
typedef struct {
  int side[2];
  int64_t element[2]; /* bytes on each side */
  int combine;        /* a function combines (1), or converts (1 + the conversion) */
  int stream;         /* by non-temporal stores */
} redist_priv_manner;

typedef struct {
  redist_priv_pool *pool;
  redist_priv_manner manner;
  int64_t options, room;
  redist_priv_option *option, next; /* of axis d: option[first[d]], ..., option[first[d + 1] - 1] */
  int64_t first[REDIST_MAX_DIMS + 1];
  int64_t begin, end; /* the window of an axis */
  int64_t bytes[2];   /* from one position of the axis to the next */
  int scattered;      /* the axis whose segments are tables of offsets; -1: none */
} redist_priv_compiler;

/* Which repetitions of a level of a run have packed positions in the window begin <= position <
   end: bound[0] <= k < bound[3], of which bound[1] <= k < bound[2] lie wholly inside:

       packed position  0    5 6   11 12  17 18  23
       repetition       [ 0  ] [ 1  ] [ 2  ] [ 3  ]
       window 4 to 19      (------------------)        bound: 0, 1, 3, 4 */
REDIST_PRIV_COLD void redist_priv_clip(const redist_priv_run *run, int level, int64_t begin,
                                       int64_t end, int64_t *bound) {
  const int64_t n = run->n[level], stride = run->stride[level][REDIST_PRIV_PACKED];
  const int64_t length = level == 0 ? 1 : level == 1 ? run->n[0] : run->n[0] * run->n[1];
  bound[0] = bound[1] = 0;
  bound[2] = bound[3] = n;
  if (begin <= 0 && end >= (n - 1) * stride + length) return;
  REDIST_ASSERT(stride > 0);
  bound[0] = redist_priv_clamp(redist_priv_floor_div(begin - length, stride) + 1, 0, n);
  bound[1] = redist_priv_ceil_div(begin, stride);
  bound[2] = redist_priv_min(redist_priv_floor_div(end - length, stride) + 1, n);
  bound[3] = redist_priv_clamp(redist_priv_ceil_div(end, stride), 0, n);
}

/* Adds what lies in the window of a run whose packed positions begin at `at`. Repetitions that lie
   wholly inside become one loop; one that is cut recurses. */
REDIST_PRIV_COLD int redist_priv_add_options(redist_priv_compiler *c, const redist_priv_run *run,
                                             int level, int64_t at, int64_t from, int64_t to) {
  redist_priv_loop *loop = &c->next.loop[REDIST_PRIV_LEVELS - 1 - level];
  int64_t k, bound[4];
  int code = REDIST_OK;
  loop->from = run->stride[level][c->manner.side[0]] * c->bytes[0];
  loop->to = run->stride[level][c->manner.side[1]] * c->bytes[1];
  redist_priv_clip(run, level, c->begin - at, c->end - at, bound);
  for (k = bound[0]; k < bound[3] && code == REDIST_OK; k += loop->n) {
    loop->n = k >= bound[1] && k < bound[2] ? bound[2] - k : 1;
    c->next.from = from + k * loop->from;
    c->next.to = to + k * loop->to;
    if (level > 0)
      code = redist_priv_add_options(c, run, level - 1,
                                     at + k * run->stride[level][REDIST_PRIV_PACKED], c->next.from,
                                     c->next.to);
    else
      code = REDIST_PRIV_APPEND(c->option, c->options, c->room, c->next);
  }
  return code;
}

/* Bytes of an element where it is smaller. */
REDIST_PRIV_FAST int64_t redist_priv_least_element(const redist_priv_manner *w) {
  return redist_priv_min(w->element[0], w->element[1]);
}

/* Adds an entry to a table, bytes from where that begins. */
REDIST_PRIV int redist_priv_add_offset(redist_priv_pool *p, const int64_t *element, int64_t from,
                                       int64_t to) {
  redist_priv_offset at;
  at.from = (uint32_t)(from / element[0]);
  at.to = (uint32_t)(to / element[1]);
  return REDIST_PRIV_APPEND(p->offset, p->offsets, p->offset_room, at);
}

/* Adds the elements of repetitions begin <= k < end of an option's outermost loop to the table,
   which begins where `first` does. */
REDIST_PRIV_COLD int redist_priv_add_offsets(redist_priv_compiler *c, const redist_priv_option *s,
                                             const redist_priv_option *first, int64_t begin,
                                             int64_t end) {
  const redist_priv_loop *l = s->loop;
  const int64_t from = s->from - first->from, to = s->to - first->to;
  int64_t i, j, k;
  int code = REDIST_OK;
  for (i = begin; i < end; i++)
    for (j = 0; j < l[1].n; j++)
      for (k = 0; k < l[2].n && code == REDIST_OK; k++)
        code = redist_priv_add_offset(c->pool, c->manner.element,
                                      from + i * l[0].from + j * l[1].from + k * l[2].from,
                                      to + i * l[0].to + j * l[1].to + k * l[2].to);
  return code;
}

/* How far from the first option's beginning, in bytes, options reach on either side. */
REDIST_PRIV_COLD int64_t redist_priv_option_reach(const redist_priv_option *all, int64_t n) {
  int64_t k, reach = 0;
  int level;
  for (k = 0; k < n; k++) {
    int64_t from = redist_priv_abs(all[k].from - all->from);
    int64_t to = redist_priv_abs(all[k].to - all->to);
    for (level = 0; level < REDIST_PRIV_LEVELS; level++) {
      from += (all[k].loop[level].n - 1) * redist_priv_abs(all[k].loop[level].from);
      to += (all[k].loop[level].n - 1) * redist_priv_abs(all[k].loop[level].to);
    }
    reach = redist_priv_max(reach, redist_priv_max(from, to));
  }
  return reach;
}

/* Begins a table at its least offsets: those that were added may lie before it, modulo 2^32. */
REDIST_PRIV_COLD void redist_priv_settle_table(redist_priv_pool *pool, const int64_t *element,
                                               redist_priv_option *table) {
  redist_priv_offset *offset = pool->offset + table->offset;
  int64_t k, from = (int32_t)offset->from, to = (int32_t)offset->to;
  for (k = 1; k < table->offsets; k++) {
    from = redist_priv_min(from, (int32_t)offset[k].from);
    to = redist_priv_min(to, (int32_t)offset[k].to);
  }
  table->stride = 0;
  for (k = 0; k < table->offsets; k++) {
    offset[k].from -= (uint32_t)from;
    offset[k].to -= (uint32_t)to;
    if (k == 1) table->stride = offset[k].from;
    if (offset[k].from != k * table->stride) table->stride = 0;
  }
  table->from += from * element[0];
  table->to += to * element[1];
}

/* Makes a table of the options of an axis: of repetitions begin <= k < end of those that are
   periodic, and of all others if `others`; sorted by destination. */
REDIST_PRIV_COLD int redist_priv_table_of(redist_priv_compiler *c, const redist_priv_option *all,
                                          int64_t n, redist_priv_loop period, int64_t begin,
                                          int64_t end, int others, redist_priv_option *table) {
  redist_priv_pool *p = c->pool;
  const int64_t first = p->offsets, *element = c->manner.element;
  redist_priv_offset *offset;
  int64_t k;
  int gaps, code = REDIST_OK;
  for (k = 0; k < n && code == REDIST_OK; k++) {
    const int periodic = period.n > 1 && memcmp(&period, all[k].loop, sizeof period) == 0;
    if (periodic || others)
      code = redist_priv_add_offsets(c, &all[k], all, periodic ? begin : 0,
                                     periodic ? end : all[k].loop->n);
  }
  if (code != REDIST_OK) return code;
  REDIST_ASSERT(p->offsets > first);
  table->from = all->from;
  table->to = all->to;
  table->offset = first;
  table->offsets = p->offsets - first;
  offset = p->offset + first;
  qsort(offset, (size_t)table->offsets, sizeof *offset, redist_priv_compare_ints);
  redist_priv_settle_table(p, element, table);
  gaps = table->loop[0].n > 1 && table->loop[0].to != table->offsets * element[1];
  for (k = 0; k < table->offsets; k++) gaps |= offset[k].to != k;
  table->buffered =
      gaps || table->offsets * element[1] * table->loop[0].n < REDIST_PRIV_LONG
          ? 0
          : redist_priv_max(REDIST_PRIV_TILE_BUFFER / (table->offsets * element[1]), 1);
  return REDIST_OK;
}

/* Copied run by run, short runs would visit each cache line many times. Turns the options of the
   innermost axis, from the first-th on, into tables of offsets: one of a few superblocks, which is
   repeated, and one of the rest. */
REDIST_PRIV_COLD int redist_priv_tabulate(redist_priv_compiler *c, int64_t first) {
  redist_priv_loop once = {1, 0, 0}, period = once;
  redist_priv_option table[2];
  const redist_priv_option *given = c->option + first;
  const int64_t n = c->options - first;
  int64_t k, runs = 0, in_runs = 0, all = 0, each = 0, blocks, done;
  int t, tables = 0, code = REDIST_OK;
  for (k = 0; k < n; k++) {
    const redist_priv_loop *l = given[k].loop;
    period = period.n == 1 ? l[0] : period;
    runs += l[1].n;
    in_runs += l[1].n * l[2].n;
    all += l[0].n * l[1].n * l[2].n;
    each += period.n > 1 && memcmp(&period, l, sizeof period) == 0 ? l[1].n * l[2].n : 0;
  }
  blocks = all <= REDIST_PRIV_TABLE_UNITS || period.n == 1
               ? 0
               : redist_priv_min(REDIST_PRIV_TABLE_UNITS / each, period.n);
  done = blocks == 0 ? 0 : period.n / blocks * blocks;
  if (n < 2 || in_runs > 4 * runs || all - done * each > 4 * REDIST_PRIV_TABLE_UNITS ||
      redist_priv_option_reach(given, n) / redist_priv_least_element(&c->manner) > INT32_MAX / 4)
    return REDIST_OK;
  for (t = 0; t < 2; t++) {
    table[t].loop[0] = table[t].loop[1] = table[t].loop[2] = once;
    table[t].rest = t > 0 && c->manner.combine != 1; /* functions take many rows at once */
  }
  if (done > 0) {
    table->loop[0].n = period.n / blocks;
    table->loop[0].from = blocks * period.from;
    table->loop[0].to = blocks * period.to;
    code = redist_priv_table_of(c, given, n, period, 0, blocks, 0, &table[tables++]);
  }
  if (code == REDIST_OK && all > done * each)
    code = redist_priv_table_of(c, given, n, period, done, period.n, 1, &table[tables++]);
  REDIST_ASSERT(code != REDIST_OK ||
                table[0].loop[0].n * table[0].offsets + (tables > 1 ? table[1].offsets : 0) == all);
  memcpy(c->option + first, table, (size_t)tables * sizeof *table);
  c->options = first + tables;
  return code;
}

/* The segment that has a packed position. */
REDIST_PRIV int64_t redist_priv_segment_at(const redist_priv_runs *list, int64_t packed) {
  int64_t low = 1, high = list->runs, r;
  REDIST_PRIV_BISECT(low, high, r, list->segment[r].at[REDIST_PRIV_PACKED] > packed)
  return low - 1;
}

/* Adds the elements of a segment, from packed position `at` on, that lie in the window, to the last
   table of the scattered axis, or to a new one where that began too far away. */
REDIST_PRIV int redist_priv_extend_tables(redist_priv_compiler *c, const redist_priv_run *run,
                                          int64_t at, int64_t from, int64_t to) {
  const int64_t most = INT32_MAX * redist_priv_least_element(&c->manner),
                begin = redist_priv_max(c->begin - at, 0),
                end = redist_priv_min(run->n[0], c->end - at);
  redist_priv_option *table;
  int64_t k;
  int code = REDIST_OK;
  for (k = begin; k < end && code == REDIST_OK; k++) {
    const int64_t x = from + k * run->stride[0][c->manner.side[0]] * c->bytes[0],
                  y = to + k * run->stride[0][c->manner.side[1]] * c->bytes[1];
    if (c->options == c->first[c->scattered] ||
        redist_priv_abs(x - c->option[c->options - 1].from) > most ||
        redist_priv_abs(y - c->option[c->options - 1].to) > most) {
      c->next.loop[0].n = c->next.loop[1].n = c->next.loop[2].n = 1;
      c->next.from = x;
      c->next.to = y;
      c->next.offset = c->pool->offsets;
      code = REDIST_PRIV_APPEND(c->option, c->options, c->room, c->next);
      if (code != REDIST_OK) break;
    }
    table = &c->option[c->options - 1];
    table->offsets++;
    code = redist_priv_add_offset(c->pool, c->manner.element, x - table->from, y - table->to);
  }
  return code;
}

/* The axis whose segments become tables: the fastest of the destination, unless it has few
   elements; -1: no axis has segments. Segments of other axes make a step each. */
REDIST_PRIV_COLD int redist_priv_choose_scattered(const redist_priv_message *m, int side) {
  int d, chosen = -1;
  for (d = 0; d < m->ndim; d++) {
    const int64_t n = m->axis[d]->elements;
    if (!redist_priv_has_segments(m->axis[d])) continue;
    if (chosen < 0 || (redist_priv_min(n, m->axis[chosen]->elements) < REDIST_PRIV_FEW_ELEMENTS
                           ? n > m->axis[chosen]->elements
                           : m->stride[side][d] < m->stride[side][chosen]))
      chosen = d;
  }
  return chosen;
}

/* Lists the options of an axis. shift: in bytes, to where the window begins in a dense array. */
REDIST_PRIV_COLD int redist_priv_list_runs(redist_priv_compiler *c, const redist_priv_runs *list,
                                           int axis, const int64_t *shift) {
  const redist_priv_manner *w = &c->manner;
  const int in_segments = redist_priv_has_segments(list),
            tables = in_segments && axis == c->scattered;
  int64_t r = in_segments ? redist_priv_segment_at(list, c->begin) : 0;
  int code = REDIST_OK;
  for (; r < list->runs && code == REDIST_OK; r++) {
    const redist_priv_run run = redist_priv_run_at(list, r);
    const int64_t at = run.at[REDIST_PRIV_PACKED],
                  from = run.at[w->side[0]] * c->bytes[0] - shift[0],
                  to = run.at[w->side[1]] * c->bytes[1] - shift[1];
    if (in_segments && at >= c->end) break;
    code = tables ? redist_priv_extend_tables(c, &run, at, from, to)
                  : redist_priv_add_options(c, &run, REDIST_PRIV_LEVELS - 1, at, from, to);
  }
  for (r = c->first[axis]; tables && r < c->options && code == REDIST_OK; r++)
    redist_priv_settle_table(c->pool, w->element, &c->option[r]);
  return code;
}

/* Lists the options of every axis. begin, end: by axis, the window; NULL: the whole message. */
REDIST_PRIV_COLD int redist_priv_list_options(redist_priv_compiler *c, const redist_priv_message *m,
                                              const int64_t *begin, const int64_t *end) {
  const redist_priv_manner *w = &c->manner;
  const int inner = redist_priv_fastest(m, w->side[1]);
  const int tables = REDIST_PRIV_TABLES && c->scattered < 0 &&
                     inner == redist_priv_fastest(m, w->side[0]) &&
                     (w->element[0] == 4 || w->element[0] == 8 || w->element[0] == 16);
  int d, k, packed, code = REDIST_OK;
  for (d = 0; d < m->ndim && code == REDIST_OK; d++) {
    const redist_priv_runs *list = m->axis[d];
    int64_t shift[2] = {0, 0};
    c->first[d] = c->options;
    c->begin = begin == NULL ? 0 : begin[d];
    c->end = begin == NULL ? list->elements : end[d];
    for (k = 0; k < 2; k++) {
      packed = w->side[k] == REDIST_PRIV_PACKED;
      c->bytes[k] = m->stride[w->side[k]][d] * w->element[k];
      shift[k] = packed ? c->begin * c->bytes[k] : 0;
    }
    memset(&c->next, 0, sizeof c->next);
    code = redist_priv_list_runs(c, list, d, shift);
    if (code == REDIST_OK && tables && d == inner) code = redist_priv_tabulate(c, c->first[d]);
  }
  c->first[m->ndim] = c->options;
  return code;
}

enum { REDIST_PRIV_MOST_LOOPS = REDIST_PRIV_LEVELS * REDIST_MAX_DIMS };

/* Adds a loop to a step, unless it is done once, in the order of the destination's distances, which
   become positive. */
REDIST_PRIV_COLD void redist_priv_insert_loop(redist_priv_step *s, redist_priv_loop *loops,
                                              redist_priv_loop l) {
  int k = s->loops;
  if (l.n == 1) return;
  if (l.to < 0) {
    s->from += (l.n - 1) * l.from;
    s->to += (l.n - 1) * l.to;
    l.from = -l.from;
    l.to = -l.to;
  }
  for (; k > 0 && loops[k - 1].to < l.to; k--) loops[k] = loops[k - 1];
  loops[k] = l;
  s->loops++;
}

/* Merges loops that continue each other, and makes what is contiguous on both sides the unit. */
REDIST_PRIV_COLD void redist_priv_merge_loops(redist_priv_step *s, redist_priv_loop *loops) {
  int k, n = 0;
  for (k = 0; k < s->loops; k++) {
    redist_priv_loop *last = &loops[n - 1];
    if (n > 0 && last->from == loops[k].n * loops[k].from && last->to == loops[k].n * loops[k].to) {
      last->n *= loops[k].n;
      last->from = loops[k].from;
      last->to = loops[k].to;
    } else {
      loops[n++] = loops[k];
    }
  }
  s->loops = n;
  if (n > 0 && loops[n - 1].from == s->unit && loops[n - 1].to == s->there) {
    s->unit *= loops[n - 1].n;
    s->there *= loops[n - 1].n;
    s->loops--;
  }
}

/* Puts the source's fastest loop last but one, if it is not the last, so that planes are
   transposed. Returns whether it did. */
REDIST_PRIV_COLD int redist_priv_turn_loops(redist_priv_step *s, redist_priv_loop *loops) {
  const int last = s->loops - 1;
  redist_priv_loop l;
  int k, fastest = last;
  for (k = 0; k < last; k++)
    if (redist_priv_abs(loops[k].from) < redist_priv_abs(loops[fastest].from)) fastest = k;
  if (fastest == last) return 0;
  l = loops[fastest];
  if (l.from < 0) {
    s->from += (l.n - 1) * l.from;
    s->to += (l.n - 1) * l.to;
    l.from = -l.from;
    l.to = -l.to;
  }
  memmove(&loops[fastest], &loops[fastest + 1], (size_t)(last - 1 - fastest) * sizeof *loops);
  loops[last - 1] = l;
  return 1;
}

/* A step made of a choice along each axis, with all its loops, merged. */
REDIST_PRIV_COLD redist_priv_step redist_priv_join_options(const redist_priv_compiler *c, int ndim,
                                                           const int64_t *chosen,
                                                           redist_priv_loop *loops) {
  const redist_priv_loop once = {1, 0, 0};
  const int64_t *element = c->manner.element;
  redist_priv_step s;
  int64_t stride = 0;
  int d, k;
  memset(&s, 0, sizeof s);
  s.unit = s.scale[0] = element[0];
  s.there = s.scale[1] = element[1];
  for (d = 0; d < ndim; d++) {
    const redist_priv_option *o = &c->option[chosen[d]];
    s.from += o->from;
    s.to += o->to;
    if (REDIST_PRIV_TABLES && o->offsets > 0) {
      s.offset = o->offset;
      s.offsets = o->offsets;
      s.buffered = o->buffered;
      s.pair = -o->rest;
      stride = o->stride * element[0];
    }
    for (k = 0; k < REDIST_PRIV_LEVELS; k++) redist_priv_insert_loop(&s, loops, o->loop[k]);
  }
  redist_priv_merge_loops(&s, loops);
  if (s.pair != 0) loops[s.loops++] = once; /* in place of the other table's repetitions */
  s.contiguous = stride == s.unit;
  return s;
}

/* Whether a step, a table of what another leaves of the same rows, goes through these as the step
   added last does. */
REDIST_PRIV_COLD int redist_priv_pairs_up(const redist_priv_pool *pool, const redist_priv_step *s,
                                          const redist_priv_loop *loops) {
  const redist_priv_step *last = &pool->step[pool->steps - 1];
  return last->pair == 0 && last->loops == s->loops &&
         memcmp(&last->outer, &s->outer, sizeof s->outer) == 0 &&
         (s->loops == 0 ||
          memcmp(pool->loop + last->first, loops, (size_t)s->loops * sizeof *loops) == 0);
}

/* Adds the step of a choice of options, one of each axis. */
REDIST_PRIV_COLD int redist_priv_add_step(redist_priv_compiler *c, int ndim, const int64_t *chosen,
                                          int64_t from, int64_t to) {
  const redist_priv_manner *w = &c->manner;
  redist_priv_loop loops[REDIST_PRIV_MOST_LOOPS + 2];
  const redist_priv_loop once = {1, 0, 0};
  redist_priv_step s = redist_priv_join_options(c, ndim, chosen, loops);
  int k, turned = 0, code = REDIST_OK;
  s.from += from;
  s.to += to;
  if (s.loops > 1 && s.offsets == 0 && s.unit == w->element[0] && s.unit < REDIST_PRIV_LINE)
    turned = redist_priv_turn_loops(&s, loops);
  s.inner = s.loops > 0 ? loops[s.loops - 1] : once;
  s.outer = s.loops > 1 ? loops[s.loops - 2] : once;
  s.loops = (int)redist_priv_max(s.loops - 2, 0);
  if (s.pair != 0 && !redist_priv_pairs_up(c->pool, &s, loops)) s.pair = 0;
  if (s.pair != 0) c->pool->step[c->pool->steps - 1].pair = 1;
  s.first = c->pool->loops;
  for (k = 0; k < s.loops && code == REDIST_OK; k++)
    code = REDIST_PRIV_APPEND(c->pool->loop, c->pool->loops, c->pool->loop_room, loops[k]);
  s.tiling.turned = (char)turned;
  s.tiling.combine = (char)w->combine;
  s.tiling.far = w->side[0] == REDIST_PRIV_PACKED; /* another core wrote it */
  redist_priv_choose_kind(&s, REDIST_PRIV_STREAMS_IF(w->stream));
  return code == REDIST_OK
             ? REDIST_PRIV_APPEND(c->pool->step, c->pool->steps, c->pool->step_room, s)
             : code;
}

/* Compiles the copy of a message, or of what lies in a window of it, from one of its sides to
   another. A packed side has no gaps. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_compile(redist_priv_pool *pool, const redist_priv_message *message,
                                         const int64_t *begin, const int64_t *end,
                                         redist_priv_manner manner, redist_priv_program *program) {
  redist_priv_message m = *message;
  redist_priv_compiler c;
  int64_t chosen[REDIST_MAX_DIMS], at[2];
  int d, k, code;
  memset(&c, 0, sizeof c);
  c.pool = pool;
  c.manner = manner;
  redist_priv_pack_densely(&m, begin, end);
  for (k = 0; k < 2; k++) at[k] = m.origin[manner.side[k]] * manner.element[k];
  program->first = pool->steps;
  program->from = program->to = program->array = program->when = 0;
  program->bytes = m.elements * redist_priv_least_element(&manner);
  c.scattered = REDIST_PRIV_SCATTERS && m.elements > 0
                    ? redist_priv_choose_scattered(&m, manner.side[1])
                    : -1;
  code = redist_priv_list_options(&c, &m, begin, end);
  memcpy(chosen, c.first, sizeof chosen);
  for (d = 0; d >= 0 && code == REDIST_OK && m.elements > 0;) {
    code = redist_priv_add_step(&c, m.ndim, chosen, at[0], at[1]);
    for (d = m.ndim - 1; d >= 0 && ++chosen[d] == c.first[d + 1]; d--) chosen[d] = c.first[d];
  }
  REDIST_FREE(c.option);
  program->steps = pool->steps - program->first;
  return code;
}

/* Makes steps begin <= k < end of a pool write by non-temporal stores. */
REDIST_PRIV_COLD void redist_priv_stream_steps(redist_priv_pool *pool, int64_t begin, int64_t end) {
  for (; begin < end; begin++)
    redist_priv_choose_kind(&pool->step[begin], REDIST_PRIV_STREAMS_IF(1));
}

/* Makes a copy that was compiled last share the steps of an earlier one of the same form. Returns
   whether it does. */
REDIST_PRIV_COLD int redist_priv_share_steps(redist_priv_pool *pool,
                                             const redist_priv_program *earlier,
                                             redist_priv_program *p) {
  const redist_priv_step *a = pool->step + earlier->first, *b = pool->step + p->first;
  const int64_t from = b->from - a->from, to = b->to - a->to;
  int64_t k, offsets = pool->offsets;
  if (p->steps == 0 || earlier->steps != p->steps) return 0;
  for (k = 0; k < p->steps; k++) {
    redist_priv_step x = b[k];
    x.from -= from;
    x.to -= to;
    x.first = a[k].first;
    x.offset = a[k].offset;
    if (memcmp(&x, &a[k], sizeof x) != 0 ||
        (x.loops > 0 && memcmp(pool->loop + b[k].first, pool->loop + x.first,
                               (size_t)x.loops * sizeof *pool->loop) != 0))
      return 0;
    if (x.offsets == 0 || (k > 0 && b[k].offset == b[k - 1].offset && x.offset == a[k - 1].offset))
      continue;
    if (memcmp(pool->offset + b[k].offset, pool->offset + x.offset,
               (size_t)x.offsets * sizeof *pool->offset) != 0)
      return 0;
    offsets = redist_priv_min(offsets, b[k].offset);
  }
  pool->steps = p->first;
  pool->loops = b->first;
  pool->offsets = offsets;
  p->first = earlier->first;
  p->from += from;
  p->to += to;
  return 1;
}

/* Adds a copy that was compiled last to a list; it shares the steps of one of the same form, if the
   pool remembers one, but not of one before list->copy[since]. */
REDIST_PRIV_COLD int redist_priv_add_copy(redist_priv_pool *pool, redist_priv_copies *list,
                                          int64_t since, redist_priv_program *copy) {
  uint64_t form = 0;
  int32_t *latest;
  size_t k;
  if (copy->steps > 0) {
    const redist_priv_step *s = pool->step + copy->first;
    const int64_t number[] = {s->unit,     s->outer.n, s->outer.from, s->outer.to,  s->inner.n,
                              s->inner.to, s->loops,   s->offsets,    s->inner.from};
    for (k = 0; k < sizeof number / sizeof *number; k++)
      form = (form ^ (uint64_t)number[k]) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    latest = &pool->latest[form >> 32 & (REDIST_PRIV_FORMS - 1)];
    if (*latest < since || *latest >= list->n ||
        !redist_priv_share_steps(pool, &list->copy[*latest], copy))
      *latest = (int32_t)redist_priv_min(list->n, INT32_MAX);
  }
  return REDIST_PRIV_APPEND(list->copy, list->n, list->room, *copy);
}

/* ----------------------------------------------------------------------------- running copies */

#define REDIST_PRIV_COPY_TABLE(unroll, copy, bytes, x, y)                              \
  for (j = 0; j < p.outer.n; j++)                                                      \
    for (i = 0; i < p.inner.n; i++) {                                                  \
      const char *from = p.from + j * p.outer.from + i * p.inner.from;                 \
      char *to = p.to + j * p.outer.to + i * p.inner.to;                               \
      REDIST_PRIV_KEEP(from, to);                                                      \
      unroll for (k = 0; k < n; k++)                                                   \
          copy(to + (y) * (int64_t)at[k].to, from + (x) * (int64_t)at[k].from, bytes); \
    }
#define REDIST_PRIV_COPY_SOME(unroll, copy, bytes) REDIST_PRIV_COPY_TABLE(unroll, copy, bytes, x, y)
#define REDIST_PRIV_COPY_ELEMENTS(bytes) \
  case bytes: REDIST_PRIV_COPY_TABLE(REDIST_PRIV_UNROLL(4), memcpy, bytes, bytes, bytes) break;

/* Copies a table of n units for each iteration of a plane. */
REDIST_PRIV_APART void redist_priv_copy_table(const redist_priv_policy *a, int stream,
                                              const redist_priv_step *s,
                                              const redist_priv_offset *at, int64_t n,
                                              const redist_priv_plane *plane) {
  const redist_priv_plane p = *plane;
  const int64_t unit = s->unit, x = s->scale[0], y = s->scale[1];
  int64_t way = redist_priv_case_of(a, stream, unit), i, j, k;
  if (way == unit && unit != x) way = REDIST_PRIV_ROW;
  switch (way) {
    REDIST_PRIV_COPY_ELEMENTS(4)
    REDIST_PRIV_COPY_ELEMENTS(8)
    REDIST_PRIV_COPY_ELEMENTS(16)
    REDIST_PRIV_CONVERSIONS(REDIST_PRIV_COPY_SOME)
  case REDIST_PRIV_WRITTEN: REDIST_PRIV_COPY_SOME(, REDIST_PRIV_WRITE, unit) break;
  default: REDIST_PRIV_COPY_SOME(REDIST_PRIV_UNROLL(4), redist_priv_copy_row, unit)
  }
}

/* Copies a table for each iteration of a plane through a tile that is then streamed: the table
   fills its destination without gaps. */
REDIST_PRIV void redist_priv_stream_table(const redist_priv_policy *a, const redist_priv_step *s,
                                          const redist_priv_offset *at,
                                          const redist_priv_plane *p) {
  const int64_t bytes = s->offsets * s->there;
  /* rows follow each other: lines are streamed whole */
  const int across = p->inner.n == 1 && p->outer.to == bytes;
  const redist_priv_loop outer = across ? p->inner : p->outer, inner = across ? p->outer : p->inner;
  redist_priv_tile tile;
  redist_priv_plane chunk = {{1, 0, 0}, {0, inner.from, bytes}, NULL, tile.bytes};
  int64_t i, j;
  REDIST_ASSERT(s->buffered > 0 && s->buffered * bytes <= (int64_t)sizeof tile);
  for (j = 0; j < outer.n; j++)
    for (i = 0; i < inner.n; i += chunk.inner.n) {
      chunk.inner.n = redist_priv_min(inner.to == bytes ? s->buffered : 1, inner.n - i);
      chunk.from = p->from + j * outer.from + i * inner.from;
      redist_priv_copy_table(a, 0, s, at, s->offsets, &chunk);
      redist_priv_stream(p->to + j * outer.to + i * inner.to, tile.bytes, chunk.inner.n * bytes, 0);
    }
}

#define REDIST_PRIV_PASS_UNITS(copy, bytes, scale)                                 \
  REDIST_PRIV_UNROLL(4)                                                            \
  for (k = 0; k < n; k++) {                                                        \
    char *at = array + (scale) * (int64_t)offset[2 * k], *next = tile + k * bytes; \
    copy(scatters ? at : next, scatters ? next : at, bytes);                       \
  }                                                                                \
  break;

/* Gathers n units of an array into a tile, or scatters them. offset: one side's numbers in a table,
   every second one. */
REDIST_PRIV_APART void redist_priv_pass_table(int64_t unit, int64_t scale, const uint32_t *offset,
                                              int64_t n, char *array, char *tile, int scatters) {
  int64_t k;
  switch (unit == scale ? unit : 0) {
  case 4: REDIST_PRIV_PASS_UNITS(memcpy, 4, 4)
  case 8: REDIST_PRIV_PASS_UNITS(memcpy, 8, 8)
  case 16: REDIST_PRIV_PASS_UNITS(memcpy, 16, 16)
  default: REDIST_PRIV_PASS_UNITS(redist_priv_copy_row, unit, scale)
  }
}

/* Combines the n units of a table with their destination, for `rows` repetitions at once, through
   two tiles; or one, where they arrived without gaps. */
REDIST_PRIV void redist_priv_combine_units(const redist_priv_policy *a, const redist_priv_step *s,
                                           const redist_priv_offset *at, int64_t n,
                                           redist_priv_loop rows, const char *from, char *to) {
  const int64_t unit = s->unit, each = unit / a->element, bytes = each * a->there;
  const int contiguous = s->contiguous && (rows.n == 1 || rows.from == n * unit);
  redist_priv_tile there, arrived;
  int64_t k = 0;
  do {
    if (!contiguous)
      redist_priv_pass_table(unit, s->scale[0], &at->from, n,
                             (char *)(uintptr_t)from + k * rows.from, arrived.bytes + k * n * unit,
                             0);
    redist_priv_pass_table(bytes, s->scale[1], &at->to, n, to + k * rows.to,
                           there.bytes + k * n * bytes, 0);
  } while (++k < rows.n);
  a->function(contiguous ? from + at->from * s->scale[0] : arrived.bytes, there.bytes,
              rows.n * n * each, a->context);
  for (k = 0; k < rows.n; k++)
    redist_priv_pass_table(bytes, s->scale[1], &at->to, n, to + k * rows.to,
                           there.bytes + k * n * bytes, 1);
}

/* The same for each iteration of a plane: as much at a time as fits a tile. */
REDIST_PRIV_APART void redist_priv_combine_table(const redist_priv_policy *a,
                                                 const redist_priv_step *s,
                                                 const redist_priv_offset *at,
                                                 const redist_priv_plane *p) {
  const int64_t most = REDIST_PRIV_TILE_BUFFER / redist_priv_max(s->unit, s->there),
                units = redist_priv_min(s->offsets, most);
  redist_priv_loop rows = p->inner;
  int64_t i, j, k;
  for (j = 0; j < p->outer.n; j++)
    for (i = 0; i < p->inner.n; i += rows.n) {
      rows.n = redist_priv_min(most / units, p->inner.n - i);
      for (k = 0; k < s->offsets; k += units)
        redist_priv_combine_units(a, s, at + k, redist_priv_min(units, s->offsets - k), rows,
                                  p->from + j * p->outer.from + i * p->inner.from,
                                  p->to + j * p->outer.to + i * p->inner.to);
    }
}

/* Copies the table of a step, and that of the step which is paired with it. */
REDIST_PRIV void redist_priv_copy_tables(const redist_priv_pool *pool, const redist_priv_step *s,
                                         const redist_priv_policy *a,
                                         const redist_priv_plane *plane) {
  const redist_priv_step *t, *last = s + s->pair;
  const int64_t rows = s < last ? (int64_t)REDIST_PRIV_ROWS_AT_ONCE : plane->outer.n;
  redist_priv_plane p = *plane;
  int64_t j, k, some;
  for (k = 0; k < plane->outer.n; k += rows)
    for (t = s; t <= last; t++) {
      const redist_priv_offset *at = pool->offset + t->offset;
      p.outer.n = redist_priv_min(rows, plane->outer.n - k);
      p.inner = t->inner;
      p.from = plane->from + k * p.outer.from + (t->from - s->from);
      p.to = plane->to + k * p.outer.to + (t->to - s->to);
      some = p.inner.n * p.outer.n > 1 ? (int64_t)REDIST_PRIV_TABLE_UNITS : t->offsets;
      if (t->unit < REDIST_PRIV_LONG && a->function != NULL && !REDIST_PRIV_CONVERTS(a->converts))
        redist_priv_combine_table(a, t, at, &p);
      else if (t->unit < REDIST_PRIV_LONG && t->tiling.stream)
        redist_priv_stream_table(a, t, at, &p);
      else
        for (j = 0; j < t->offsets; j += some)
          redist_priv_copy_table(a, t->tiling.stream, t, at + j,
                                 redist_priv_min(some, t->offsets - j), &p);
    }
}

/* Copies a step, whose outer loops are loop[loops]. Strips cannot be streamed to an address that is
   not a multiple of 16. */
REDIST_PRIV void redist_priv_copy_step(const redist_priv_pool *pool, const redist_priv_step *s,
                                       const redist_priv_loop *loop, int loops,
                                       const redist_priv_policy *a, const char *from, char *to) {
  const int misaligned = s->tiling.strips && s->tiling.stream && (uintptr_t)to % 16 != 0;
  const redist_priv_plane p = {s->outer, s->inner, from, to};
  int64_t k;
  for (k = 0; loops > 0 && k < loop->n; k++)
    redist_priv_copy_step(pool, s, loop + 1, loops - 1, a, from + k * loop->from,
                          to + k * loop->to);
  if (loops > 0) return;
  if (s->kind == REDIST_PRIV_UNITS)
    redist_priv_copy_units(a, s->tiling.stream, s->unit, &p);
  else if (s->kind == REDIST_PRIV_TILES && (s->tiling.buffered || misaligned))
    redist_priv_copy_through(s->tiling, a, s->unit, &p);
  else if (s->kind == REDIST_PRIV_TILES)
    redist_priv_copy_tiles(&s->tiling, a, s->unit, &p, NULL);
  else if (REDIST_PRIV_TABLES)
    redist_priv_copy_tables(pool, s, a, &p);
}

#ifdef _OPENMP

/* How many threads share a copy. */
REDIST_PRIV int redist_priv_team(int64_t bytes) {
  if (bytes < REDIST_THREAD_BYTES || omp_in_parallel()) return 1;
  return (int)redist_priv_min(omp_get_max_threads(), 4 * bytes / REDIST_THREAD_BYTES);
}

/* Narrows a step to a thread's share: of the first loop with enough iterations for many threads, or
   the one with most; or of contiguous units, by whole lines, and whole elements for a function.
   Where nothing is left for a thread, its unit is 0. */
REDIST_PRIV void redist_priv_take_share(redist_priv_step *s, redist_priv_loop *loop,
                                        const redist_priv_policy *a, int64_t t, int64_t all) {
  const int64_t grain = REDIST_PRIV_LINE * (a->function == NULL ? 1 : a->element);
  const int64_t own = s->offsets > 0 && !s->tiling.stream ? s->offsets : s->unit / REDIST_PRIV_PAGE;
  redist_priv_loop *best = NULL, *l;
  int64_t most = redist_priv_max(own, 1), begin, end;
  int k;
  for (k = 0; k < s->loops + 2; k++) {
    l = k < s->loops ? &loop[k] : k == s->loops ? &s->outer : &s->inner;
    if (l->n > most && most < REDIST_PRIV_FOR_THREADS) {
      most = l->n;
      best = l;
    }
  }
  if (best == NULL && s->tiling.stream && s->offsets > 0) best = &s->outer; /* by one thread */
  if (best == NULL && s->offsets > 0) {
    begin = s->offsets * t / all;
    s->offsets = s->offsets * (t + 1) / all - begin;
    s->offset += begin;
    if (s->offsets == 0) s->unit = 0;
    return;
  }
  begin = best != NULL ? best->n * t / all : s->unit / grain * t / all * grain;
  end = best != NULL   ? best->n * (t + 1) / all
        : t + 1 == all ? s->unit
                       : s->unit / grain * (t + 1) / all * grain;
  s->from += best != NULL ? begin * best->from : begin;
  s->to += best != NULL          ? begin * best->to
           : a->function != NULL ? begin / a->element * a->there
                                 : begin;
  *(best != NULL ? &best->n : &s->unit) = end - begin;
}

/* Copies the share of thread t of several. */
REDIST_PRIV void redist_priv_copy_share(const redist_priv_pool *pool, const redist_priv_program *p,
                                        const redist_priv_policy *a, const char *from, char *to,
                                        int t, int threads) {
  redist_priv_loop loop[REDIST_PRIV_MOST_LOOPS];
  int64_t k;
  for (k = p->first; k < p->first + p->steps; k++) {
    redist_priv_step s = pool->step[k];
    s.pair = 0;
    if (s.loops > 0) memcpy(loop, pool->loop + s.first, (size_t)s.loops * sizeof *loop);
    redist_priv_take_share(&s, loop, a, t, threads);
    if (s.unit > 0) redist_priv_copy_step(pool, &s, loop, s.loops, a, from + s.from, to + s.to);
  }
  redist_priv_fence();
}
#endif

/* Runs a compiled copy. `from` and `to` are where the arrays, or the packed piece, begin. */
REDIST_PRIV void redist_priv_copy(const redist_priv_pool *pool, const redist_priv_program *p,
                                  const redist_priv_policy *a, const char *from, char *to) {
  const redist_priv_step *s, *end;
  int streamed = 0;
  REDIST_COPIED(p->bytes);
  if (p->steps == 0) return; /* perhaps NULL arrays, and no pool */
  REDIST_ASSERT(from != NULL && to != NULL && p->first + p->steps <= pool->steps);
  s = pool->step + p->first;
  end = s + p->steps;
  from += p->from;
  to += p->to;
#ifdef _OPENMP
  if (!a->alone && redist_priv_team(p->bytes) > 1) {
#pragma omp parallel num_threads(redist_priv_team(p->bytes))
    redist_priv_copy_share(pool, p, a, from, to, omp_get_thread_num(), omp_get_num_threads());
    return;
  }
#endif
  for (; s < end; s++) {
    if (s->pair >= 0)
      redist_priv_copy_step(pool, s, s->loops > 0 ? pool->loop + s->first : NULL, s->loops, a,
                            from + s->from, to + s->to);
    streamed |= s->tiling.stream;
  }
  if (streamed) redist_priv_fence();
}

/* Where copies begin: in one of several arrays; or, if that is NULL, in packed memory. */
typedef struct {
  const void *const *array;
  const char *packed;
} redist_priv_base;

REDIST_PRIV_FAST char *redist_priv_base_of(redist_priv_base base, const redist_priv_program *c) {
  return (char *)(uintptr_t)(base.array != NULL ? base.array[c->array] : base.packed);
}

/* How many of n copies, from c on, are short and have one and the same step, which copies units. */
REDIST_PRIV_FAST int64_t redist_priv_uniform_copies(const redist_priv_pool *pool,
                                                    const redist_priv_program *c, int64_t n) {
  const redist_priv_step *s = pool->step + c->first;
  int64_t uniform = 1;
  if (c->steps != 1 || c->bytes > REDIST_PRIV_ROW || s->kind != REDIST_PRIV_UNITS ||
      s->tiling.combine || s->loops > 0)
    return 1;
  while (uniform < n && c[uniform].first == c->first) uniform++;
  return uniform;
}

#define REDIST_PRIV_COPY_UNIFORM(copy, unit)                      \
  for (; n > 0; n--, c++) {                                       \
    p.from = redist_priv_base_of(from, c) + c->from + step->from; \
    p.to = redist_priv_base_of(to, c) + c->to + step->to;         \
    REDIST_PRIV_COPY_LOOPS(, copy, unit)                          \
  }                                                               \
  break;

/* Copies such copies: calls and tables would take longer than their bytes. */
REDIST_PRIV_APART void redist_priv_copy_uniform(const redist_priv_pool *pool,
                                                const redist_priv_program *c, int64_t n,
                                                redist_priv_base from, redist_priv_base to) {
  const redist_priv_step *step = &pool->step[c->first];
  const int64_t unit = step->unit;
  redist_priv_plane p = {step->outer, step->inner, NULL, NULL};
  int64_t i, j;
  REDIST_COPIED(n * c->bytes);
  switch (unit) {
  case 4: REDIST_PRIV_COPY_UNIFORM(memcpy, 4)
  case 8: REDIST_PRIV_COPY_UNIFORM(memcpy, 8)
  default: REDIST_PRIV_COPY_UNIFORM(redist_priv_copy_row, unit)
  }
}

/* ------------------------------------------------------ flows: who shares elements with whom */

/* Everything that asks who sends what to whom, a plan or a question on paper, goes through the
   pairs of places that share elements: those of one place, or of all. A pair's message is a product
   of runs. Where pairs of all places would be too many, products of axes are counted instead. */

/* Iterates over the messages of one place, and over the pairs of places that exchange them. */
typedef struct {
  redist_priv_directory *side[2];
  int all;     /* all holders of the source contribute, rather than one replica */
  int grid[2]; /* places of one replica */
  const redist_priv_place_peers *n; /* of the current place */
  int mine; /* the current place; of a source, in replica 0: all its replicas' pairs follow */
  int64_t at, end;
  int code;        /* REDIST_ERR_MEMORY: there are more pairs */
  int64_t message; /* of the current pair */
  int place[2], rank[2];
} redist_priv_pairs;

REDIST_PRIV_COLD redist_priv_pairs redist_priv_pairs_between(redist_priv_directory *from,
                                                             redist_priv_directory *to, int all) {
  redist_priv_pairs p;
  memset(&p, 0, sizeof p);
  p.all = all || from->layout->copies == 1;
  p.side[REDIST_PRIV_FROM] = from;
  p.side[REDIST_PRIV_TO] = to;
  p.grid[REDIST_PRIV_FROM] = redist_priv_grid_places(from->layout);
  p.grid[REDIST_PRIV_TO] = redist_priv_grid_places(to->layout);
  return p;
}

/* Begins the pairs of a place. n: its peers in all replicas; must live until the last pair. */
REDIST_PRIV_COLD void redist_priv_pairs_of(redist_priv_pairs *p, int place,
                                           const redist_priv_place_peers *n) {
  const int source = n->own == REDIST_PRIV_FROM;
  p->n = n;
  p->mine = source && !p->all ? place % p->grid[REDIST_PRIV_FROM] : place;
  p->at = 0;
  p->end = source || p->all ? n->messages * p->side[!n->own]->layout->copies : n->messages;
}

/* The number of a destination place among the receivers of a source place of replica 0. */
REDIST_PRIV_COLD int64_t redist_priv_receiver_number(redist_priv_pairs *p, int place,
                                                     int receiver) {
  const redist_layout *from = p->side[REDIST_PRIV_FROM]->layout,
                      *to = p->side[REDIST_PRIV_TO]->layout;
  redist_priv_place_peers receivers;
  int64_t number = 0, high, at;
  int coords[REDIST_MAX_DIMS], own[REDIST_MAX_DIMS];
  redist_priv_coords_of_place(from, place, coords);
  redist_priv_coords_of_place(to, receiver, own);
  p->code = redist_priv_find_peers(from, coords, REDIST_PRIV_FROM, p->side[REDIST_PRIV_TO], 0, -1,
                                   &receivers);
  high = p->code == REDIST_OK ? receivers.messages : 0;
  REDIST_PRIV_BISECT(number, high, at,
                     (redist_priv_peer_coords(&receivers, at, coords),
                      redist_priv_compare_keys(coords, own, receivers.ndim) >= 0))
  REDIST_ASSERT(p->code != REDIST_OK || number < receivers.messages);
  number += receiver / p->grid[REDIST_PRIV_TO] * receivers.messages;
  redist_priv_place_peers_free(&receivers);
  return number;
}

/* The replica of a source place that sends to a receiver: the one on the receiver's own rank, else
   round-robin by the receiver's number (-1: not known). */
REDIST_PRIV_COLD int redist_priv_sender_of(redist_priv_pairs *p, int place, int receiver,
                                           int64_t number) {
  const redist_priv_directory *from = p->side[REDIST_PRIV_FROM];
  const int grid = p->grid[REDIST_PRIV_FROM],
            rank = redist_priv_rank_at(p->side[REDIST_PRIV_TO]->layout, receiver);
  int held = -1;
  do held = redist_priv_next_place(from->layout, from->by_rank, rank, held);
  while (held >= 0 && held % grid != place);
  if (held >= 0) return held;
  number = number < 0 ? redist_priv_receiver_number(p, place, receiver) : number;
  return place + (int)(number % from->layout->copies) * grid;
}

/* The next pair; 0 when there are no more, or p->code says why not. */
REDIST_PRIV_COLD int redist_priv_next_pair(redist_priv_pairs *p) {
  const int own = p->n->own;
  int side, coords[REDIST_MAX_DIMS];
  if (p->at == p->end) return 0;
  p->message = p->at % p->n->messages;
  redist_priv_peer_coords(p->n, p->message, coords);
  p->place[own] = p->mine;
  p->place[!own] = redist_priv_place_of(p->side[!own]->layout, coords) +
                   (int)(p->at / p->n->messages) * p->grid[!own];
  if (!p->all)
    p->place[REDIST_PRIV_FROM] =
        redist_priv_sender_of(p, p->place[REDIST_PRIV_FROM], p->place[REDIST_PRIV_TO],
                              own == REDIST_PRIV_FROM ? p->at : -1);
  for (side = 0; side < 2; side++)
    p->rank[side] = redist_priv_rank_at(p->side[side]->layout, p->place[side]);
  p->at++;
  return p->code == REDIST_OK;
}

/* Called for each pair. Returns a code, of which the first that is not REDIST_OK ends the visit. */
typedef int redist_priv_visit(void *context, const redist_priv_pairs *pair);

/* Visits all pairs of places, with or without the runs that they share. all: as in
   redist_priv_pairs. REDIST_ERR_MEMORY, or the visitor's. */
REDIST_PRIV_COLD int redist_priv_visit_pairs(const redist_layout *from, const redist_layout *to,
                                             int all, int runs, redist_priv_visit *visit,
                                             void *context) {
  const int places = all ? redist_layout_places(from) : redist_priv_grid_places(from);
  redist_priv_directory here, there;
  redist_priv_place_peers n;
  redist_priv_pairs pairs;
  int place, coords[REDIST_MAX_DIMS], code = redist_priv_directory_open(&here, from);
  if (redist_priv_directory_open(&there, to) != REDIST_OK) code = REDIST_ERR_MEMORY;
  pairs = redist_priv_pairs_between(&here, &there, all);
  for (place = 0; place < places && code == REDIST_OK; place++) {
    redist_priv_coords_of_place(from, place, coords);
    code = redist_priv_find_peers(from, coords, REDIST_PRIV_FROM, &there, runs, -1, &n);
    redist_priv_pairs_of(&pairs, place, &n);
    while (code == REDIST_OK && redist_priv_next_pair(&pairs)) code = visit(context, &pairs);
    code = code == REDIST_OK ? pairs.code : code;
    redist_priv_place_peers_free(&n);
  }
  redist_priv_directory_close(&here);
  redist_priv_directory_close(&there);
  return code;
}

/* The elements that one rank sends another, or itself. */
typedef struct {
  int rank[2];
  int64_t elements; /* at most 2^62 + 1, which stands for more than 2^62 */
  int64_t distinct; /* of them, those that come from places which are not repeated */
} redist_priv_flow;

/* All flows, sorted by the two ranks. */
typedef struct {
  /* redist_priv_find_repeated of the source: rank[0] is the number of the destination's place
     instead, rank[1] the sender; or NULL */
  const char *repeated;
  int64_t flows, room;
  redist_priv_flow *flow;
} redist_priv_flows;

/* The sum, 2^62 + 1 where it is more. */
REDIST_PRIV_COLD int64_t redist_priv_add(int64_t a, int64_t b) {
  return a > REDIST_PRIV_MAX_ELEMENTS - b ? REDIST_PRIV_MAX_ELEMENTS + 1 : a + b;
}

/* repeated[places]: whether a lower rank of the place's node, of `each` ranks, holds a replica of
   it. NULL: no memory. */
REDIST_PRIV_COLD char *redist_priv_find_repeated(const redist_layout *layout, int each) {
  const int places = redist_layout_places(layout), grid = redist_priv_grid_places(layout);
  char *repeated = REDIST_PRIV_ZEROED(char, places);
  int *last = REDIST_PRIV_ALLOC(int, grid); /* the last node with a replica of each place */
  redist_priv_rank_place *by_rank;
  int k, code = redist_priv_list_ranks(layout, &by_rank);
  if (repeated == NULL || last == NULL) code = REDIST_ERR_MEMORY;
  for (k = 0; k < grid && code == REDIST_OK; k++) last[k] = -1;
  for (k = 0; k < places && code == REDIST_OK; k++) {
    const int place = by_rank == NULL ? k : by_rank[k].place;
    const int node = redist_priv_rank_at(layout, place) / each;
    repeated[place] = last[place % grid] == node;
    last[place % grid] = node;
  }
  REDIST_FREE(by_rank);
  REDIST_FREE(last);
  if (code == REDIST_OK) return repeated;
  REDIST_FREE(repeated);
  return NULL;
}

REDIST_PRIV_COLD int redist_priv_note_flow(void *context, const redist_priv_pairs *pair) {
  redist_priv_flows *list = (redist_priv_flows *)context;
  redist_priv_flow flow;
  flow.rank[0] = list->repeated != NULL ? pair->place[1] : pair->rank[0];
  flow.rank[1] = list->repeated != NULL ? pair->rank[0] : pair->rank[1];
  flow.elements =
      pair->n->axis[0].runs == NULL ? 1 : redist_priv_elements_of(pair->n, pair->message);
  flow.distinct = list->repeated != NULL && list->repeated[pair->place[0]] ? 0 : flow.elements;
  return flow.elements > 0 ? REDIST_PRIV_APPEND(list->flow, list->flows, list->room, flow)
                           : REDIST_OK;
}

/* Lists the flows of all pairs, those between the same ranks added up. counted 0: a message may
   count as one element. repeated: as in redist_priv_flows. REDIST_ERR_MEMORY; free list->flow even
   on failure. */
REDIST_PRIV_COLD int redist_priv_list_flows(const redist_layout *from, const redist_layout *to,
                                            int all, int counted, const char *repeated,
                                            redist_priv_flows *list) {
  redist_priv_flow *last;
  int64_t k;
  int code;
  memset(list, 0, sizeof *list);
  list->repeated = repeated;
  code = redist_priv_visit_pairs(from, to, all, counted, redist_priv_note_flow, list);
  if (code != REDIST_OK || list->flows == 0) return code;
  last = list->flow;
  qsort(last, (size_t)list->flows, sizeof *last, redist_priv_compare_pairs);
  for (k = 1; k < list->flows; k++)
    if (redist_priv_compare_pairs(last, &list->flow[k]) == 0) {
      last->elements = redist_priv_add(last->elements, list->flow[k].elements);
      last->distinct = redist_priv_add(last->distinct, list->flow[k].distinct);
    } else {
      *++last = list->flow[k];
    }
  list->flows = last + 1 - list->flow;
  return REDIST_OK;
}

/* --------------------------------------------------------------- moving on one process (bodies) */

typedef struct {
  const void *const *from;
  void *const *to;
  redist_priv_policy policy;
} redist_priv_mover;

/* Copies a block of a pair's message. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_move_block(const redist_priv_mover *m,
                                            const redist_priv_pairs *pair, int block) {
  const redist_layout *from = pair->side[REDIST_PRIV_FROM]->layout;
  redist_priv_message message;
  redist_priv_manner manner = {{REDIST_PRIV_FROM, REDIST_PRIV_TO}, {0, 0}, 0, 0};
  redist_priv_storage storage;
  redist_priv_pool pool;
  redist_priv_program program;
  int side, code = REDIST_OK, coords[REDIST_MAX_DIMS], order[REDIST_MAX_DIMS];
  redist_priv_slow_to_fast(from, from->memory_order, order);
  message = redist_priv_message_of(pair->n, pair->message, block, order);
  if (message.elements == 0) return REDIST_OK;
  for (side = REDIST_PRIV_FROM; side <= REDIST_PRIV_TO; side++) {
    redist_priv_coords_of_place(pair->side[side]->layout, pair->place[side], coords);
    storage = redist_priv_storage_at(pair->side[side]->layout, coords);
    if (code == REDIST_OK)
      code = redist_priv_store(&message, side, pair->side[side]->layout, &storage);
  }
  manner.element[0] = manner.element[1] = m->policy.element;
  manner.combine = m->policy.function != NULL;
  manner.stream = storage.size * m->policy.element >= REDIST_STREAM_BYTES;
  memset(&pool, 0, sizeof pool);
  if (code == REDIST_OK) code = redist_priv_compile(&pool, &message, NULL, NULL, manner, &program);
  if (code == REDIST_OK)
    redist_priv_copy(&pool, &program, &m->policy,
                     (const char *)m->from[pair->place[REDIST_PRIV_FROM]],
                     (char *)m->to[pair->place[REDIST_PRIV_TO]]);
  redist_priv_pool_free(&pool);
  redist_priv_message_close(&message);
  return code;
}

REDIST_PRIV_COLD int redist_priv_move_pair(void *context, const redist_priv_pairs *pair) {
  int block, code = REDIST_OK;
  for (block = 0; block < pair->n->blocks && code == REDIST_OK; block++)
    code = redist_priv_move_block((const redist_priv_mover *)context, pair, block);
  return code;
}

/* Whether every place has an array with enough room, or none where `held`, the same layout with or
   without ghost cells, has no elements. */
REDIST_PRIV_COLD int redist_priv_check_arrays(const redist_layout *layout,
                                              const redist_layout *held,
                                              const void *const *arrays) {
  redist_priv_error error = redist_priv_no_error(-1);
  int coords[REDIST_MAX_DIMS];
  int place, places = redist_layout_places(layout);
  for (place = 0; place < places && error.code == REDIST_OK; place++) {
    redist_priv_coords_of_place(layout, place, coords);
    if (arrays[place] == NULL && redist_priv_held_at(held, coords) > 0) return REDIST_ERR_ARGUMENT;
    redist_priv_check_extents(layout, coords, &error);
  }
  return error.code;
}

REDIST_API int redist_move_combining(const redist_layout *from, const void *const *from_arrays,
                                     const redist_layout *to, void *const *to_arrays,
                                     size_t element_bytes, redist_combine *combine, void *context) {
  redist_layout pair[2], source;
  redist_priv_mover m = {from_arrays, to_arrays, redist_priv_replacing((int64_t)element_bytes)};
  int code = redist_priv_open_pair(from, to, 1, pair);
  m.policy.function = combine;
  m.policy.context = context;
  if (code != REDIST_OK) return code;
  redist_priv_copy_to(&source, &pair[0], combine != NULL);
  if (from_arrays == NULL || to_arrays == NULL || element_bytes == 0) code = REDIST_ERR_ARGUMENT;
  if (code == REDIST_OK) code = redist_priv_check_arrays(&pair[0], &source, from_arrays);
  if (code == REDIST_OK)
    code = redist_priv_check_arrays(&pair[1], &pair[1], (const void *const *)to_arrays);
  if (code == REDIST_OK)
    code =
        redist_priv_visit_pairs(&source, &pair[1], combine != NULL, 1, redist_priv_move_pair, &m);
  redist_priv_close_pair(pair);
  return code;
}

REDIST_API int redist_move(const redist_layout *from, const void *const *from_arrays,
                           const redist_layout *to, void *const *to_arrays, size_t element_bytes) {
  return redist_move_combining(from, from_arrays, to, to_arrays, element_bytes, NULL, NULL);
}

/* ------------------------------------------------------------------------------- how many peers */

/* Two coordinates meet if they share an element. How many coordinates of the other axis each one
   meets is counted by a theorem where two block-cyclic axes show a whole superblock, in
   O(coordinates) where a side has intervals, else from the flows between all pairs. */

/* The gcd of two block-cyclic axes' cycles if the view shows a whole superblock, else 0. */
REDIST_PRIV_COLD int64_t redist_priv_common_cycle(const redist_axis *x, const redist_axis *y) {
  const int64_t a = redist_priv_multiply(x->block, x->procs, REDIST_PRIV_MAX_ELEMENTS);
  const int64_t b = redist_priv_multiply(y->block, y->procs, REDIST_PRIV_MAX_ELEMENTS),
                g = redist_priv_gcd(a, b);
  const int whole = redist_priv_multiply(a / g, b, REDIST_PRIV_MAX_ELEMENTS) <= x->count;
  return whole && redist_priv_is_plain(x) && redist_priv_is_plain(y) ? g : 0;
}

/* The most coordinates of y that one of x meets, both plain; 0 when the view is shorter than their
   superblock. Coordinate p of blocks of r on P processes and q of blocks of s on Q meet in it when
   s q - r p, modulo g = gcd(r P, s Q), lies strictly between -s and r. Over all q, s q mod g takes
   every multiple of e = gcd(s, g) equally often; over all p, r p mod e every multiple of gcd(r,
   e). */
REDIST_PRIV_COLD int64_t redist_priv_superblock_degree(const redist_axis *x, const redist_axis *y) {
  const int64_t r = x->block, s = y->block, g = redist_priv_common_cycle(x, y),
                e = redist_priv_gcd(s, g);
  if (g == 0) return 0;
  return redist_priv_min(y->procs,
                         y->procs * e / g *
                             (s / e + redist_priv_ceil_div(r - redist_priv_gcd(r, e), e)));
}

/* Whether coordinates of x own one interval of the view each, and these intervals meet every block
   of y between their ends. */
REDIST_PRIV_COLD int redist_priv_has_stretches(const redist_axis *x, const redist_axis *y) {
  const int64_t step = redist_priv_abs(y->step);
  return redist_priv_is_interval(x) &&
         (y->kind == REDIST_PRIV_CYCLIC ? step <= y->block
                                        : y->kind == REDIST_PRIV_BALANCED && step == 1);
}

/* What a place or a rank sends or receives. */
typedef struct {
  int64_t messages, elements;
} redist_priv_load;

/* The loads of all places of two layouts. */
typedef struct {
  int places[2];
  redist_priv_load *place[2]; /* one block of memory */
} redist_priv_tally;

/* Where redist_priv_has_stretches: how many coordinates of the other axis each one meets. of_y
   first accumulates a difference array, prefix-summed below. */
REDIST_PRIV_COLD void redist_priv_tally_stretches(const redist_axis *x, redist_priv_load *of_x,
                                                  const redist_axis *y, redist_priv_load *of_y) {
  int64_t i, a, b, first, past;
  int c;
  for (c = 0; c < x->procs; c++) {
    i = redist_priv_distance(x, c, 0);
    if (i < 0) continue;
    a = redist_priv_block_of(y, redist_priv_axis_index(y, i));
    b = redist_priv_block_of(y, redist_priv_axis_index(y, i + redist_axis_count(x, c) - 1));
    of_x[c].messages = redist_priv_min(y->procs, 1 + redist_priv_abs(b - a));
    first = (redist_priv_min(a, b) + y->first) % y->procs;
    past = first + of_x[c].messages;
    of_y[first].messages++;
    of_y[0].messages += past >= y->procs;
    of_y[past % y->procs].messages--;
  }
  for (c = 1; c < y->procs; c++) of_y[c].messages += of_y[c - 1].messages;
}

/* Begins a tally. REDIST_ERR_MEMORY; free t->place[0] even on failure. */
REDIST_PRIV_COLD int redist_priv_tally_open(redist_priv_tally *t, int from_places, int to_places) {
  t->places[REDIST_PRIV_FROM] = from_places;
  t->places[REDIST_PRIV_TO] = to_places;
  t->place[0] = REDIST_PRIV_ZEROED(redist_priv_load, (int64_t)from_places + to_places);
  t->place[1] = t->place[0] == NULL ? NULL : t->place[0] + from_places;
  return t->place[0] == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
}

/* The messages of all coordinates of two axes; O(coordinates) where redist_priv_has_stretches. */
REDIST_PRIV_COLD int redist_priv_tally_axis(const redist_axis *const *x, redist_priv_tally *t) {
  const redist_layout from = redist_layout_nd(1, x[0]), to = redist_layout_nd(1, x[1]);
  const int own = redist_priv_has_stretches(x[1], x[0]);
  redist_priv_flows list;
  int64_t k;
  int side, code = redist_priv_tally_open(t, x[0]->procs, x[1]->procs);
  if (code != REDIST_OK) return code;
  if (own || redist_priv_has_stretches(x[0], x[1])) {
    redist_priv_tally_stretches(x[own], t->place[own], x[!own], t->place[!own]);
    return REDIST_OK;
  }
  code = redist_priv_list_flows(&from, &to, 0, 0, NULL, &list);
  for (k = 0; k < list.flows && code == REDIST_OK; k++)
    for (side = 0; side < 2; side++) t->place[side][list.flow[k].rank[side]].messages++;
  REDIST_FREE(list.flow);
  return code;
}

/* The most messages of any place of a side, and the most elements. */
REDIST_PRIV_COLD redist_priv_load redist_priv_most_of(const redist_priv_tally *t, int side) {
  redist_priv_load most = {0, 0};
  int k;
  for (k = 0; k < t->places[side]; k++) {
    most.messages = redist_priv_max(most.messages, t->place[side][k].messages);
    most.elements = redist_priv_max(most.elements, t->place[side][k].elements);
  }
  return most;
}

/* The most coordinates of the other side that a coordinate of either meets: by the theorem, or
   counted. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_most_peers(const redist_axis *const *x, int64_t *most) {
  const int same = redist_priv_same_axis(x[0], x[1]);
  redist_priv_tally t;
  int side, code;
  for (side = 0; side < 2; side++)
    most[side] = same ? x[side]->count > 0 : redist_priv_superblock_degree(x[side], x[!side]);
  if (x[0]->count == 0 || most[0] > 0) return REDIST_OK;
  code = redist_priv_tally_axis(x, &t);
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    most[side] = redist_priv_most_of(&t, side).messages;
  REDIST_FREE(t.place[0]);
  return code;
}

/* ------------------------------------------------------------------- traffic, on paper (bodies) */

/* The elements that two coordinates share; -1 when memory is exhausted. */
REDIST_PRIV_COLD int64_t redist_priv_shared_on(const redist_priv_holder *holder) {
  redist_priv_runs list;
  const int code = redist_priv_meet_coords(holder, &list);
  const int64_t elements = code == REDIST_OK ? list.elements : -1;
  redist_priv_runs_free(&list);
  return elements;
}

/* The elements that two places share, of a source without ghosts; -1 when memory is exhausted. */
REDIST_PRIV_COLD int64_t redist_priv_shared_by(const redist_layout *from, int from_place,
                                               const redist_layout *to, int to_place) {
  const int faces = redist_priv_is_without_corners(to);
  int coords[2][REDIST_MAX_DIMS];
  redist_priv_volume v = {1, 1};
  int d;
  redist_priv_coords_of_place(from, from_place, coords[REDIST_PRIV_FROM]);
  redist_priv_coords_of_place(to, to_place, coords[REDIST_PRIV_TO]);
  for (d = 0; d < from->ndim && v.held > 0; d++) {
    redist_priv_holder holder[2] = {{&from->dim[d].axis, coords[REDIST_PRIV_FROM][d],
                                     REDIST_PRIV_ALL_IMAGES},
                                    {&to->dim[d].axis, coords[REDIST_PRIV_TO][d],
                                     REDIST_PRIV_ALL_IMAGES}};
    const int64_t held = redist_priv_shared_on(holder);
    int64_t owned = held;
    holder[REDIST_PRIV_TO].images = REDIST_PRIV_OWNED;
    if (faces && to->dim[d].axis.ghosts != 0) owned = redist_priv_shared_on(holder);
    if (held < 0 || owned < 0) return -1;
    v = redist_priv_times(v, faces, owned, held, REDIST_PRIV_MAX_ELEMENTS);
  }
  return v.held;
}

/* The elements that one place sends another; 0 where another replica does; -1 without memory. */
REDIST_PRIV_COLD int64_t redist_priv_sent_between(redist_priv_pairs *pairs, int from_place,
                                                  int to_place) {
  const int64_t shared =
      redist_priv_shared_by(pairs->side[0]->layout, from_place, pairs->side[1]->layout, to_place);
  int sender;
  if (shared <= 0 || pairs->all) return shared;
  sender = redist_priv_sender_of(pairs, from_place % pairs->grid[REDIST_PRIV_FROM], to_place, -1);
  return pairs->code != REDIST_OK ? -1 : sender == from_place ? shared : 0;
}

/* The elements that a place sends to all places of a rank; -1 without memory. */
REDIST_PRIV_COLD int64_t redist_priv_sent_to(redist_priv_pairs *pairs, int place, int rank) {
  redist_priv_directory *to = pairs->side[REDIST_PRIV_TO];
  const redist_layout *from = pairs->side[REDIST_PRIV_FROM]->layout;
  const int first = redist_priv_next_place(to->layout, to->by_rank, rank, -1);
  redist_priv_place_peers n;
  int64_t elements = 0;
  int coords[REDIST_MAX_DIMS];
  if (first < 0) return 0;
  if (redist_priv_next_place(to->layout, to->by_rank, rank, first) < 0)
    return redist_priv_sent_between(pairs, place, first);
  redist_priv_coords_of_place(from, place, coords);
  pairs->code = redist_priv_find_peers(from, coords, REDIST_PRIV_FROM, to, 1, -1, &n);
  redist_priv_pairs_of(pairs, place, &n);
  while (pairs->code == REDIST_OK && redist_priv_next_pair(pairs))
    if (pairs->place[REDIST_PRIV_FROM] == place && pairs->rank[REDIST_PRIV_TO] == rank)
      elements += redist_priv_elements_of(&n, pairs->message);
  redist_priv_place_peers_free(&n);
  return pairs->code == REDIST_OK ? elements : -1;
}

REDIST_API int redist_volume(const redist_layout *from, int rank_from, const redist_layout *to,
                             int rank_to, int64_t *elements) {
  redist_layout pair[2];
  redist_priv_directory side[2];
  redist_priv_pairs pairs;
  int64_t all = 0, one;
  int i = -1, code;
  if (elements == NULL) return REDIST_ERR_ARGUMENT;
  *elements = -1;
  code = redist_priv_open_pair(from, to, 0, pair);
  if (code != REDIST_OK) return code;
  if (redist_priv_directory_open(&side[0], &pair[0]) != REDIST_OK) all = -1;
  if (redist_priv_directory_open(&side[1], &pair[1]) != REDIST_OK) all = -1;
  pairs = redist_priv_pairs_between(&side[0], &side[1], 0);
  while (all >= 0 && (i = redist_priv_next_place(&pair[0], side[0].by_rank, rank_from, i)) >= 0) {
    one = redist_priv_sent_to(&pairs, i, rank_to);
    all = one < 0 ? -1 : all + one;
  }
  redist_priv_directory_close(&side[0]);
  redist_priv_directory_close(&side[1]);
  redist_priv_close_pair(pair);
  *elements = all;
  return all < 0 ? REDIST_ERR_MEMORY : REDIST_OK;
}

/* Messages and elements of all places where both are products over axes. */
REDIST_PRIV_COLD int redist_priv_tally_axes(const redist_layout *from, const redist_layout *to,
                                            redist_priv_tally *t) {
  const redist_layout *layout[2] = {from, to};
  redist_priv_tally axis[REDIST_MAX_DIMS];
  int coords[REDIST_MAX_DIMS];
  int d, k, side,
      code = redist_priv_tally_open(t, redist_layout_places(from), redist_layout_places(to));
  memset(axis, 0, sizeof axis);
  for (d = 0; d < from->ndim && code == REDIST_OK; d++) {
    const redist_axis *x[2] = {&from->dim[d].axis, &to->dim[d].axis};
    code = redist_priv_tally_axis(x, &axis[d]);
    for (side = 0; side < 2 && code == REDIST_OK; side++)
      for (k = 0; k < x[side]->procs; k++)
        axis[d].place[side][k].elements = redist_axis_count(x[side], k);
  }
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    for (k = 0; k < t->places[side]; k++) {
      redist_priv_load all = {1, 1};
      redist_priv_coords_of_place(layout[side], k, coords);
      for (d = 0; d < from->ndim; d++) {
        const redist_priv_load *one = &axis[d].place[side][coords[d]];
        all.messages *= one->messages;
        all.elements = redist_priv_multiply(all.elements, one->elements, REDIST_PRIV_MAX_ELEMENTS);
      }
      t->place[side][k] = all;
    }
  for (d = 0; d < from->ndim; d++) REDIST_FREE(axis[d].place[0]);
  return code;
}

/* Subtracts what is local to a rank from the tally, and adds it to `local`. */
REDIST_PRIV_COLD int redist_priv_tally_local(redist_priv_tally *t, const redist_layout *from,
                                             const redist_layout *to, int64_t *local) {
  redist_priv_rank_place *rank_places;
  int k, side, code = redist_priv_list_ranks(from, &rank_places);
  for (k = 0; k < t->places[REDIST_PRIV_TO] && code == REDIST_OK; k++) {
    const int place[2] = {redist_priv_next_place(from, rank_places, redist_priv_rank_at(to, k), -1),
                          k};
    const int64_t shared = place[0] < 0 ? 0 : redist_priv_shared_by(from, place[0], to, k);
    code = shared < 0 ? REDIST_ERR_MEMORY : REDIST_OK;
    *local += shared;
    for (side = 0; side < 2 && shared > 0; side++) {
      t->place[side][place[side]].messages--;
      t->place[side][place[side]].elements -= shared;
      REDIST_ASSERT(t->place[side][place[side]].messages >= 0 &&
                    t->place[side][place[side]].elements >= 0);
    }
  }
  REDIST_FREE(rank_places);
  return code;
}

REDIST_PRIV_COLD void redist_priv_sum_tally(const redist_priv_tally *t, redist_traffic *traffic) {
  const redist_priv_load sent = redist_priv_most_of(t, REDIST_PRIV_FROM),
                         received = redist_priv_most_of(t, REDIST_PRIV_TO);
  int k;
  for (k = 0; k < t->places[REDIST_PRIV_TO]; k++) {
    traffic->messages += t->place[REDIST_PRIV_TO][k].messages;
    traffic->moved += t->place[REDIST_PRIV_TO][k].elements;
  }
  traffic->max_sends = sent.messages;
  traffic->max_receives = received.messages;
  traffic->max_sent = sent.elements;
  traffic->max_received = received.elements;
}

/* The most messages of any rank of a side, and the most elements. own: count those to itself. */
REDIST_PRIV_COLD redist_priv_load redist_priv_most_of_flows(redist_priv_flows *list, int side,
                                                            int own) {
  redist_priv_load most = {0, 0}, load = {0, 0};
  int64_t k;
  for (k = 0; k < list->flows; k++) {
    redist_priv_flow *flow = &list->flow[k];
    const int first = flow->rank[0];
    flow->rank[0] = flow->rank[side];
    flow->rank[1] = side == 0 ? flow->rank[1] : first;
  }
  if (list->flows > 0)
    qsort(list->flow, (size_t)list->flows, sizeof *list->flow, redist_priv_compare_pairs);
  for (k = 0; k < list->flows; k++) {
    const redist_priv_flow *flow = &list->flow[k];
    if (k == 0 || flow->rank[0] != flow[-1].rank[0]) load.messages = load.elements = 0;
    load.messages += own || flow->rank[0] != flow->rank[1];
    if (own || flow->rank[0] != flow->rank[1])
      load.elements = redist_priv_add(load.elements, flow->elements);
    most.messages = redist_priv_max(most.messages, load.messages);
    most.elements = redist_priv_max(most.elements, load.elements);
  }
  return most;
}

REDIST_PRIV_COLD void redist_priv_sum_flows(redist_priv_flows *list, redist_traffic *traffic) {
  redist_priv_load most;
  int64_t k;
  for (k = 0; k < list->flows; k++) {
    const int local = list->flow[k].rank[0] == list->flow[k].rank[1];
    int64_t *sum = local ? &traffic->local : &traffic->moved;
    traffic->messages += !local;
    *sum = redist_priv_add(*sum, list->flow[k].elements);
  }
  most = redist_priv_most_of_flows(list, REDIST_PRIV_FROM, 0);
  traffic->max_sends = most.messages;
  traffic->max_sent = most.elements;
  most = redist_priv_most_of_flows(list, REDIST_PRIV_TO, 0);
  traffic->max_receives = most.messages;
  traffic->max_received = most.elements;
}

/* The elements that all holders of a destination receive, those beside a reshaped view counted; -1
   above 2^62. */
REDIST_PRIV_COLD int64_t redist_priv_received(const redist_layout *to) {
  const int boxes = to->boxes > 0, axes = boxes ? 1 : to->ndim,
            faces = !boxes && redist_priv_is_without_corners(to);
  redist_priv_volume v = {1, 1};
  int64_t elements;
  int d, c, coords[REDIST_MAX_DIMS];
  for (d = 0; d < axes; d++) {
    redist_axis x = to->dim[d].axis;
    const int counted = boxes || x.ghosts != 0;
    int64_t held = 0;
    if (redist_priv_is_reshaped(to)) x.start = 0, x.step = 1, x.count = x.extent;
    for (c = 0; counted && c < x.procs && held <= REDIST_PRIV_MAX_ELEMENTS; c++) {
      redist_priv_coords_of_place(to, c, coords);
      held +=
          boxes ? redist_priv_held_at(to, coords) : redist_priv_held(&x, c, REDIST_PRIV_ALL_IMAGES);
    }
    v = redist_priv_times(v, faces, x.count, counted ? held : x.count,
                          REDIST_PRIV_MAX_ELEMENTS + 1);
  }
  elements = redist_priv_multiply(v.held, to->copies, REDIST_PRIV_MAX_ELEMENTS + 1);
  return elements > REDIST_PRIV_MAX_ELEMENTS ? -1 : elements;
}

/* By axes where pairs are a product of these; else from all flows. REDIST_ERR_MEMORY, _OVERFLOW. */
REDIST_PRIV_COLD int redist_priv_count_traffic(const redist_layout *from, const redist_layout *to,
                                               int combining, redist_traffic *traffic) {
  redist_priv_tally t;
  redist_priv_flows list;
  int product, code = redist_priv_find_product(from, to, &product);
  if (code == REDIST_OK && product) {
    code = redist_priv_tally_axes(from, to, &t);
    if (code == REDIST_OK) code = redist_priv_tally_local(&t, from, to, &traffic->local);
    if (code == REDIST_OK) redist_priv_sum_tally(&t, traffic);
    REDIST_FREE(t.place[0]);
  } else if (code == REDIST_OK) {
    code = redist_priv_list_flows(from, to, combining != 0, 1, NULL, &list);
    if (code == REDIST_OK) redist_priv_sum_flows(&list, traffic);
    REDIST_FREE(list.flow);
  }
  if (code != REDIST_OK) return code;
  traffic->total = redist_priv_add(traffic->local, traffic->moved);
  REDIST_ASSERT(combining || from->partial || traffic->total == redist_priv_received(to));
  return traffic->total > REDIST_PRIV_MAX_ELEMENTS ? REDIST_ERR_OVERFLOW : REDIST_OK;
}

REDIST_API int redist_traffic_between(const redist_layout *from, const redist_layout *to,
                                      int combining, redist_traffic *traffic) {
  redist_layout pair[2];
  int code =
      traffic == NULL ? REDIST_ERR_ARGUMENT : redist_priv_open_pair(from, to, combining != 0, pair);
  if (traffic != NULL) memset(traffic, 0, sizeof *traffic);
  if (code != REDIST_OK) return code;
  code = redist_priv_received(&pair[1]) < 0
             ? REDIST_ERR_OVERFLOW
             : redist_priv_count_traffic(&pair[0], &pair[1], combining, traffic);
  if (code != REDIST_OK) memset(traffic, 0, sizeof *traffic);
  redist_priv_close_pair(pair);
  return code;
}

/* --------------------------------------------------------------------------- schedules (bodies) */

/* Ranks that send to one rank at once contend for its link. A schedule puts messages in steps, in
   which each rank sends and receives at most one. That is an edge colouring of a bipartite graph:
   the fewest steps are the most messages of any rank (Koenig 1916). To avoid tables of all pairs of
   places, each axis is arranged by itself: a step is a mixed-radix number with a digit for each
   axis. An axis takes one of three forms:
     - blocks of r and K r on the same P >= K processes, either way, seen whole: Walker and Otto
       1996, their equations for B(k,p) and C(k,q) and their numbering of the steps;
     - one interval per coordinate on both sides, or all coordinates meet all (or all but a few,
       where one side has such intervals): the sum of the two coordinates, of all such axes in one;
     - anything else: the axis's pairs are coloured, in a table.
   An axis on which sources have several peers shares steps with one on which destinations do:
   (BLOCK,*) to (*,BLOCK) on P processes takes P steps, not P * P. Where that would take too many
   steps, as degrees of a table do not divide, all pairs of places are coloured together. */

enum {
  REDIST_PRIV_WALKER_OTTO, /* blocks of r and K r: coloured by formulas (Walker and Otto 1996) */
  /* the peers of each have consecutive numbers, on both sides; or all (but a few) pairs meet */
  REDIST_PRIV_SUM,
  REDIST_PRIV_TABLE /* coloured by alternating paths (Koenig 1916), and kept */
};

/* Walker and Otto's schedule for blocks of r and of ratio * r on the same processes. */
typedef struct {
  int small;                    /* the side with blocks of r   */
  int64_t procs, ratio, common; /* P, K and g = gcd(P, K)      */
  int64_t inverse;              /* of K / g modulo P / g       */
  int64_t blocks;               /* how many blocks of r in all */
} redist_priv_walker;

/* A coloured bipartite graph: the edges of a vertex, ascending by colour. */
typedef struct {
  int colour, peer;
} redist_priv_edge;

typedef struct {
  redist_priv_edge *edge;
  int64_t n;
} redist_priv_row;

/* An axis of a schedule, or all places. A step is a round and a colour for each axis. A place of
   either side has a number, with a digit for each axis; in a round, the number of the destination
   is that of the source plus the round, modulo the rounds. Rows on 2 places to columns on 3, where
   all meet, take 3 rounds of one colour:

       round                     0  1  2
       source 0 sends to         0  1  2
       source 1 sends to         1  2  0
       destination 2 hears from  -  1  0

   Where peers have consecutive numbers, those of their first blocks, a digit is the number modulo
   the radix. In a table, a vertex with `radix` times as many edges as there are colours is split
   into as many vertices, and the digit says which. */
typedef struct {
  int form;
  int64_t degree[2]; /* most peers of any number */
  int64_t base, radix[2];
  redist_priv_walker walker;
  redist_priv_row *table[2]; /* by number; the edges of a side are one block of memory */
} redist_priv_factor;

struct redist_schedule {
  int steps;
  int all;      /* all holders of a source contribute */
  int together; /* the only factor is a table of all ranks, numbered by their first places */
  int64_t rounds;
  redist_priv_factor factor[REDIST_MAX_DIMS];
  const redist_layout *layout[2];
  redist_layout kept[2];              /* of a schedule with layouts of its own */
  redist_priv_rank_place *by_rank[2]; /* of a layout with redist_on_ranks */
};

/* Whether blocks of r meet blocks of K r, K <= P, on the same P processes. */
REDIST_PRIV_COLD int redist_priv_walker_of(const redist_axis *const *x, redist_priv_walker *w) {
  const redist_axis *small, *large;
  int64_t p;
  w->small = x[0]->block <= x[1]->block ? REDIST_PRIV_FROM : REDIST_PRIV_TO;
  small = x[w->small];
  large = x[!w->small];
  w->procs = small->procs;
  w->ratio = large->block / small->block;
  if (!redist_priv_is_plain(small) || !redist_priv_is_plain(large) ||
      large->procs != small->procs || large->block % small->block != 0 || w->ratio > w->procs)
    return 0;
  w->common = redist_priv_gcd(w->procs, w->ratio);
  p = w->procs / w->common;
  w->inverse = p == 1 ? 0 : redist_priv_first_in(w->ratio / w->common % p, p, 1, 1);
  REDIST_ASSERT(p == 1 || w->ratio / w->common * w->inverse % p == 1);
  w->blocks = redist_priv_blocks(small);
  return 1;
}

/* Walker and Otto 1996: process `own` of the side with small blocks exchanges block B(k, p) at step
   k, of the other side block C(k, q). The notation is theirs. */
REDIST_PRIV_COLD int64_t redist_priv_walker_peer(const redist_priv_walker *w, int side, int64_t own,
                                                 int64_t k) {
  const int64_t g = w->common, p = w->procs / g, ratio = w->ratio / g;
  int64_t block, alpha, beta;
  if (side == w->small) {
    alpha = own % g;
    beta = redist_priv_mod(alpha - k % g, g);
    block = k / g + ratio * redist_priv_mod((own / g - k / g) * w->inverse, p);
    block = g * block + w->procs * ratio * beta + alpha;
  } else {
    block = w->ratio * own + k / g * g + (own / p + k % g) % g;
  }
  if (block >= w->blocks) return -1;
  return side == w->small ? block / w->ratio % w->procs : block % w->procs;
}

/* The coordinates that own the view indices i to last, in whichever order; all coordinates where
   each may own several blocks. */
REDIST_PRIV_COLD void redist_priv_find_numbers(const redist_axis *x, int64_t i, int64_t last,
                                               int64_t *low, int64_t *high) {
  const int64_t a = redist_priv_first_block(x, redist_axis_owner(x, i));
  const int64_t b = redist_priv_first_block(x, redist_axis_owner(x, last));
  const int interval = redist_priv_is_interval(x);
  *low = interval ? redist_priv_min(a, b) : 0;
  *high = interval ? redist_priv_max(a, b) : x->procs - 1;
}

REDIST_PRIV_COLD int redist_priv_numbered(const redist_axis *x, int64_t number) {
  return (int)((x->first + number) % x->procs);
}

/* Peers have consecutive numbers where each side has intervals and none between is empty. Other
   axes count as complete where their largest degrees are those of all, and it is cheap to ask
   whether two coordinates meet: one side has intervals, or the blocks together are longer than the
   greatest common divisor of the cycles (all meet then, by the Chinese remainder theorem). A table
   has as many colours as the lesser degree if that divides the other, else as the greater.
   REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_factor_of(const redist_axis *const *x, redist_priv_factor *f) {
  const int intervals = redist_priv_is_interval(x[0]) + redist_priv_is_interval(x[1]);
  int64_t n, low, high, common, least, most;
  const int scattered = redist_priv_is_scattered(x[0]) || redist_priv_is_scattered(x[1]);
  int side, in_line = 1, complete = !scattered, code = redist_priv_most_peers(x, f->degree);
  if (code != REDIST_OK || x[0]->count == 0) return code;
  if (redist_priv_walker_of(x, &f->walker) &&
      redist_priv_max(f->degree[0], f->degree[1]) == f->walker.ratio) {
    f->form = REDIST_PRIV_WALKER_OTTO;
    f->base = f->walker.ratio;
    f->radix[0] = f->radix[1] = 1;
    return REDIST_OK;
  }
  f->form = REDIST_PRIV_SUM;
  f->base = 1;
  memcpy(f->radix, f->degree, sizeof f->radix);
  for (side = 0; side < 2; side++) {
    redist_priv_find_numbers(x[side], 0, x[side]->count - 1, &low, &high);
    complete &= f->degree[!side] == high - low + 1;
    for (n = low; n <= high && intervals == 2; n++)
      in_line &= redist_axis_count(x[side], redist_priv_numbered(x[side], n)) > 0;
  }
  common = redist_priv_common_cycle(x[0], x[1]);
  if (intervals == 0) complete &= common > 0 && x[0]->block + x[1]->block > common;
  if (intervals == 2 ? in_line : complete) return REDIST_OK;
  least = redist_priv_min(f->degree[0], f->degree[1]);
  most = redist_priv_max(f->degree[0], f->degree[1]);
  REDIST_ASSERT(least > 0);
  f->form = REDIST_PRIV_TABLE;
  f->base = most % least == 0 ? least : most;
  for (side = 0; side < 2; side++) f->radix[side] = redist_priv_ceil_div(f->degree[side], f->base);
  return REDIST_OK;
}

/* vertex: a number, times the radix, plus the digit. */
REDIST_PRIV_COLD redist_priv_row redist_priv_row_of(const redist_priv_factor *f, int side,
                                                    int64_t vertex) {
  const redist_priv_row *all = &f->table[side][vertex / f->radix[side]];
  const int64_t before = vertex % f->radix[side] * f->base;
  redist_priv_row row;
  row.edge = all->edge + redist_priv_min(before, all->n);
  row.n = redist_priv_clamp(all->n - before, 0, f->base);
  return row;
}

/* The position of the first edge of at least this colour. (Colours ascend.) colour -1: the first
   position whose edge has another colour, which is the least colour that the vertex lacks. */
REDIST_PRIV_COLD int64_t redist_priv_edge_at(const redist_priv_row *row, int colour) {
  int64_t low = 0, high = row->n, k;
  REDIST_PRIV_BISECT(low, high, k, row->edge[k].colour >= (colour < 0 ? k + 1 : colour))
  return low;
}

/* The vertex that another meets at a colour; -1: none. */
REDIST_PRIV_COLD int redist_priv_table_peer(const redist_priv_factor *f, int side, int64_t vertex,
                                            int64_t colour) {
  const redist_priv_row row = redist_priv_row_of(f, side, vertex);
  const int64_t at = redist_priv_edge_at(&row, (int)colour);
  return at < row.n && row.edge[at].colour == colour ? row.edge[at].peer : -1;
}

REDIST_PRIV_COLD void redist_priv_set_peer(redist_priv_row *row, int colour, int64_t peer) {
  redist_priv_edge *edge = row->edge + redist_priv_edge_at(row, colour), *end = row->edge + row->n;
  const int had = edge < end && edge->colour == colour, has = peer >= 0;
  if (had != has) memmove(edge + has, edge + had, (size_t)(end - edge - had) * sizeof *edge);
  row->n += has - had;
  if (has) {
    edge->colour = colour;
    edge->peer = (int)peer;
  }
}

/* Adds a pair of numbers, with a colour below base that the first vertex lacks. Where the second
   vertex has that colour, two colours are exchanged along a path that alternates between them and
   never ends at the first vertex (Koenig 1916). */
REDIST_PRIV_COLD void redist_priv_add_pair(redist_priv_factor *f, const int *number) {
  redist_priv_row row;
  int64_t vertex[2], at, peer, next;
  int side, colour[2];
  for (side = 1; side >= 0; side--) {
    vertex[side] = number[side] * f->radix[side] + f->table[side][number[side]].n / f->base;
    row = redist_priv_row_of(f, side, vertex[side]);
    colour[side] = (int)redist_priv_edge_at(&row, -1);
    REDIST_ASSERT(colour[side] < f->base);
  }
  redist_priv_set_peer(&row, colour[0], vertex[1]);
  for (side = 1, at = vertex[1], peer = vertex[0]; at >= 0; side = !side) {
    const int wanted = colour[!side], other = colour[side];
    row = redist_priv_row_of(f, side, at);
    next = redist_priv_table_peer(f, side, at, wanted);
    redist_priv_set_peer(&row, other, next);
    redist_priv_set_peer(&row, wanted, peer);
    peer = at;
    at = next;
  }
  for (side = 0; side < 2; side++) f->table[side][number[side]].n++;
}

/* Makes a row for each place of a side, with room for its pairs, in which places stand for their
   ranks then. *most: the most of any. */
REDIST_PRIV_COLD int redist_priv_make_rows(const redist_layout *layout,
                                           const redist_priv_rank_place *by_rank,
                                           redist_priv_flows *list, int side, redist_priv_factor *f,
                                           int64_t *most) {
  const int64_t n = redist_layout_places(layout);
  redist_priv_row *rows = REDIST_PRIV_ZEROED(redist_priv_row, n);
  int64_t k, begin = 0, pairs;
  f->table[side] = rows;
  if (rows == NULL || n > INT_MAX / f->radix[side]) return REDIST_ERR_MEMORY;
  rows->edge = REDIST_PRIV_ALLOC(redist_priv_edge, list->flows);
  if (rows->edge == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; k < list->flows; k++) {
    int *own = &list->flow[k].rank[side];
    *own = layout->ranks == NULL ? *own - layout->first_rank
                                 : redist_priv_next_place(layout, by_rank, *own, -1);
    rows[*own].n++;
  }
  for (k = 0; k < n; k++, begin += pairs) {
    pairs = rows[k].n;
    *most = redist_priv_max(*most, pairs);
    rows[k].edge = rows->edge + begin;
    rows[k].n = 0;
  }
  return REDIST_OK;
}

/* Counts the pairs of two layouts (an axis, whose places are its coordinates, or the whole), and
   colours them. */
REDIST_PRIV_COLD int redist_priv_fill_table(redist_schedule *s, redist_priv_factor *f,
                                            const redist_layout *from, const redist_layout *to) {
  redist_priv_flows list;
  int64_t k, most = 0;
  int side, code = redist_priv_list_flows(from, to, s->all, 0, NULL, &list);
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    code = redist_priv_make_rows(side == REDIST_PRIV_FROM ? from : to, s->by_rank[side], &list,
                                 side, f, &most);
  if (s->together) f->base = most;
  for (k = 0; k < list.flows && code == REDIST_OK; k++) redist_priv_add_pair(f, list.flow[k].rank);
  REDIST_FREE(list.flow);
  return code;
}

/* Whether two coordinates of an axis on which all meet, or on which one side has intervals, share
   anything. */
REDIST_PRIV_COLD int redist_priv_share_any(const redist_axis *x, int coord,
                                           const redist_axis *other, int other_coord) {
  int64_t begin, distance;
  if (!redist_priv_is_interval(x))
    return !redist_priv_is_interval(other) || redist_priv_share_any(other, other_coord, x, coord);
  begin = redist_priv_distance(x, coord, 0);
  distance = redist_priv_distance(other, other_coord, begin);
  return distance >= 0 && distance < redist_axis_count(x, coord);
}

/* The number of a coordinate's peer, given its digit, on an axis arranged by sums; -1: none. */
REDIST_PRIV_COLD int64_t redist_priv_sum_peer(const redist_axis *x, int coord, const redist_axis *y,
                                              int64_t radix, int64_t digit) {
  const int64_t begin = redist_priv_is_interval(x) ? redist_priv_distance(x, coord, 0) : 0;
  const int64_t count = redist_priv_is_interval(x) ? redist_axis_count(x, coord) : x->count;
  int64_t low, high, peer;
  if (begin < 0) return -1;
  redist_priv_find_numbers(y, begin, begin + count - 1, &low, &high);
  peer = low + redist_priv_mod(digit - low, radix);
  return peer <= high && redist_priv_share_any(x, coord, y, redist_priv_numbered(y, peer)) ? peer
                                                                                           : -1;
}

/* The number of a place's peer at a step: its own, with the round added or subtracted. -1: idle. */
REDIST_PRIV_COLD int64_t redist_priv_digits_at(const redist_schedule *s, int side,
                                               const int *coords, int step) {
  const redist_layout *own = s->layout[side];
  int64_t colours = step / s->rounds, weight = 1, digit;
  int64_t sum = (side == REDIST_PRIV_FROM ? 1 : -1) * (step % s->rounds);
  int d;
  for (d = 0; d < own->ndim; colours /= s->factor[d++].base) {
    const redist_priv_factor *f = &s->factor[d];
    digit = redist_priv_first_block(&own->dim[d].axis, coords[d]);
    if (f->form == REDIST_PRIV_TABLE && f->radix[!side] > 1)
      digit = redist_priv_table_peer(f, side, digit, colours % f->base);
    if (digit < 0) return -1;
    sum += digit % f->radix[!side] * weight; /* so local messages share a step */
    weight *= f->radix[!side];
  }
  return redist_priv_mod(sum, s->rounds);
}

/* The place that a place of one side exchanges with at a step, 0 <= step < steps; -1: idle. */
REDIST_PRIV_COLD int redist_priv_peer_in_step(const redist_schedule *s, int side, int place,
                                              int step) {
  const redist_layout *own = s->layout[side], *other = s->layout[!side];
  int coords[REDIST_MAX_DIMS], other_coords[REDIST_MAX_DIMS], d;
  int64_t colours = step / s->rounds, peer, digit, left;
  redist_priv_coords_of_place(own, place, coords);
  left = redist_priv_digits_at(s, side, coords, step);
  for (d = 0; d < own->ndim && left >= 0; colours /= s->factor[d++].base) {
    const redist_priv_factor *f = &s->factor[d];
    const redist_axis *x = &own->dim[d].axis, *y = &other->dim[d].axis;
    const int64_t number = redist_priv_first_block(x, coords[d]);
    digit = left % f->radix[side];
    left /= f->radix[side];
    peer =
        f->form == REDIST_PRIV_SUM ? redist_priv_sum_peer(x, coords[d], y, f->radix[side], digit)
        : f->form == REDIST_PRIV_WALKER_OTTO
            ? redist_priv_walker_peer(&f->walker, side, number, colours % f->base)
            : redist_priv_table_peer(f, side, number * f->radix[side] + digit, colours % f->base);
    if (peer < 0) return -1;
    peer /= f->form == REDIST_PRIV_TABLE ? f->radix[!side] : 1;
    other_coords[d] = redist_priv_numbered(y, peer);
  }
  return left != 0 ? -1 : redist_priv_place_of(other, other_coords);
}

REDIST_PRIV_COLD int redist_priv_schedule_peer(const redist_schedule *s, int side, int rank,
                                               int step) {
  const int place = redist_priv_next_place(s->layout[side], s->by_rank[side], rank, -1);
  int peer = place;
  if (place >= 0)
    peer = s->together ? redist_priv_table_peer(&s->factor[0], side, place, step)
                       : redist_priv_peer_in_step(s, side, place, step);
  return peer < 0 ? -1 : redist_priv_rank_at(s->layout[!side], peer);
}

/* Finds the form of every axis, if pairs are a product, and the steps and rounds: neither passes
   2^62, for a side's degrees multiply to its places at most. All places are coloured together where
   the axes' colours make too many steps. */
REDIST_PRIV_COLD int redist_priv_find_forms(redist_schedule *s) {
  int64_t fewest[2] = {1, 1}, given[2] = {1, 1}, colours = 1;
  int d, side, product, code = redist_priv_find_product(s->layout[0], s->layout[1], &product);
  s->together = !product;
  for (d = 0; d < s->layout[0]->ndim && !s->together && code == REDIST_OK; d++) {
    const redist_axis *x[2] = {&s->layout[0]->dim[d].axis, &s->layout[1]->dim[d].axis};
    const redist_priv_factor *f = &s->factor[d];
    code = redist_priv_factor_of(x, &s->factor[d]);
    colours *= f->base;
    for (side = 0; side < 2; side++) {
      fewest[side] *= f->degree[side];
      given[side] *= f->radix[side];
    }
  }
  s->steps = (int)redist_priv_max(fewest[0], fewest[1]);
  s->rounds = redist_priv_max(given[0], given[1]);
  s->together |= colours * s->rounds != s->steps;
  return code;
}

/* all: every holder of the source contributes; else the source has no ghosts. s: zeroed; free it
   even on failure. */
REDIST_PRIV_COLD int redist_priv_arrange(redist_schedule *s, const redist_layout *from,
                                         const redist_layout *to, int all) {
  redist_priv_factor *f = s->factor;
  int d, side, code = REDIST_OK;
  s->all = all;
  s->layout[REDIST_PRIV_FROM] = from;
  s->layout[REDIST_PRIV_TO] = to;
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    code = redist_priv_list_ranks(s->layout[side], &s->by_rank[side]);
  if (code == REDIST_OK) code = redist_priv_find_forms(s);
  if (code == REDIST_OK && s->together) {
    s->rounds = f->radix[0] = f->radix[1] = 1;
    code = redist_priv_fill_table(s, f, from, to);
    s->steps = (int)f->base;
    return code;
  }
  for (d = 0; d < from->ndim && code == REDIST_OK; d++) {
    redist_layout x = redist_layout_nd(1, &from->dim[d].axis);
    redist_layout y = redist_layout_nd(1, &to->dim[d].axis);
    x.dim[0].axis.first = y.dim[0].axis.first = 0; /* so that places are numbers */
    if (f[d].form == REDIST_PRIV_TABLE) code = redist_priv_fill_table(s, &f[d], &x, &y);
  }
  return code;
}

REDIST_PRIV_COLD void redist_priv_schedule_close(redist_schedule *s) {
  int k, side;
  for (side = 0; side < 2 && s != NULL; side++) {
    for (k = 0; k < REDIST_MAX_DIMS; k++) {
      redist_priv_row *rows = s->factor[k].table[side];
      REDIST_FREE(rows == NULL ? NULL : rows->edge);
      REDIST_FREE(rows);
    }
    REDIST_FREE(s->by_rank[side]);
    redist_priv_close_layout(&s->kept[side]);
  }
}

REDIST_API int redist_schedule_create(const redist_layout *from, const redist_layout *to,
                                      int combining, redist_schedule **schedule) {
  redist_schedule *s;
  int code;
  if (schedule == NULL) return REDIST_ERR_ARGUMENT;
  s = *schedule = REDIST_PRIV_ZEROED(redist_schedule, 1);
  if (s == NULL) return REDIST_ERR_MEMORY;
  code = redist_priv_open_pair(from, to, combining != 0, s->kept);
  if (code == REDIST_OK) code = redist_priv_arrange(s, &s->kept[0], &s->kept[1], combining != 0);
  if (code != REDIST_OK) redist_schedule_free(schedule);
  return code;
}

REDIST_API int redist_schedule_free(redist_schedule **schedule) {
  if (schedule == NULL) return REDIST_ERR_ARGUMENT;
  redist_priv_schedule_close(*schedule);
  REDIST_FREE(*schedule);
  *schedule = NULL;
  return REDIST_OK;
}

REDIST_API int redist_schedule_steps(const redist_schedule *schedule) {
  return schedule == NULL ? 0 : schedule->steps;
}

REDIST_API int redist_schedule_step(const redist_schedule *schedule, int rank, int step,
                                    int *send_to, int *receive_from) {
  if (schedule == NULL || send_to == NULL || receive_from == NULL || step < 0 ||
      step >= schedule->steps)
    return REDIST_ERR_ARGUMENT;
  *send_to = redist_priv_schedule_peer(schedule, REDIST_PRIV_FROM, rank, step);
  *receive_from = redist_priv_schedule_peer(schedule, REDIST_PRIV_TO, rank, step);
  REDIST_ASSERT(*send_to < 0 ||
                redist_priv_schedule_peer(schedule, REDIST_PRIV_TO, *send_to, step) == rank);
  return REDIST_OK;
}

/* ---------------------------------------------------------- cost and multiphase routes (bodies) */

/* The most view indices that any coordinate owns. */
REDIST_PRIV_COLD int64_t redist_priv_share(const redist_axis *x) {
  int64_t most = 0;
  int c;
  if (redist_priv_is_whole(x)) return redist_priv_largest(x);
  for (c = 0; c < x->procs; c++) most = redist_priv_max(most, redist_axis_count(x, c));
  return most;
}

REDIST_PRIV_COLD int redist_priv_is_time(double seconds) {
  return seconds >= 0 && seconds <= DBL_MAX;
}

REDIST_PRIV_COLD int redist_priv_is_cost(const redist_cost *cost) {
  return cost != NULL && redist_priv_is_time(cost->per_message) &&
         redist_priv_is_time(cost->per_byte);
}

/* The most messages and the most elements of any rank, of what it sends itself, too: by axes where
   pairs are a product of these, and each element has one place; else from all flows.
   REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_busiest(const redist_layout *from, const redist_layout *to,
                                         redist_priv_load *busiest) {
  redist_priv_load most[2] = {{1, 1}, {1, 1}};
  redist_priv_flows list;
  int64_t peers[2];
  int d, side, product, code = redist_priv_find_product(from, to, &product);
  if (code == REDIST_OK && product) {
    for (d = 0; d < from->ndim && code == REDIST_OK; d++) {
      const redist_axis *x[2] = {&from->dim[d].axis, &to->dim[d].axis};
      code = redist_priv_most_peers(x, peers);
      for (side = 0; side < 2; side++) {
        most[side].messages *= peers[side];
        most[side].elements *= redist_priv_share(x[side]);
      }
    }
  } else if (code == REDIST_OK) {
    code = redist_priv_list_flows(from, to, 0, 1, NULL, &list);
    for (side = 0; side < 2 && code == REDIST_OK; side++)
      most[side] = redist_priv_most_of_flows(&list, side, 1);
    REDIST_FREE(list.flow);
  }
  busiest->messages = redist_priv_max(most[0].messages, most[1].messages);
  busiest->elements = redist_priv_max(most[0].elements, most[1].elements);
  return code;
}

REDIST_PRIV_COLD double redist_priv_seconds_of(const redist_priv_load *load, size_t element_bytes,
                                               const redist_cost *cost) {
  return (double)load->messages * cost->per_message +
         (double)load->elements * ((double)element_bytes * cost->per_byte);
}

REDIST_API int redist_cost_of(const redist_layout *from, const redist_layout *to,
                              size_t element_bytes, const redist_cost *cost, double *seconds) {
  redist_layout pair[2];
  redist_priv_load busiest = {0, 0};
  int code;
  if (seconds == NULL) return REDIST_ERR_ARGUMENT;
  *seconds = -1;
  if (!redist_priv_is_cost(cost) || element_bytes < 1) return REDIST_ERR_ARGUMENT;
  code = redist_priv_open_pair(from, to, 0, pair);
  if (code != REDIST_OK) return code;
  code = redist_priv_busiest(&pair[0], &pair[1], &busiest);
  if (code == REDIST_OK) *seconds = redist_priv_seconds_of(&busiest, element_bytes, cost);
  redist_priv_close_pair(pair);
  return code;
}

/* Routes. The time of short messages is mostly latency. Passing through intermediate layouts takes
   fewer messages, but moves elements several times (Kaushik et al. 1994). Two changes can be split
   into phases. Blocks of k r become blocks of r on the same processes by k messages from each
   process. P processes along an axis become P / k by one message sent and k received, when each k
   neighbours become one; or the other way round. Such changes commute. Their messages multiply
   within a phase and add up over phases, so the factors k of all axes are divided among the phases,
   as evenly as their divisors allow:
       BLOCK to CYCLIC, 36 elements on 6 processes:  blocks of 6, 2, 1: 3 + 2 messages, not 6
       rows to columns on 16 processes:              16 x 1, 4 x 4, 1 x 16: 4 + 4 messages, not 16
   An axis has two sizes: the number of its processes, and the cycle, which is one block of each and
   stays the same where neighbours become one. */
enum {
  REDIST_PRIV_FEWER, /* processes */
  REDIST_PRIV_MORE,
  REDIST_PRIV_SHORTER, /* cycle */
  REDIST_PRIV_LONGER,
  REDIST_PRIV_CHANGES
};

/* How the factors of Q are split over the phases. EXACT: all of them, as they are. ROUNDED: where
   each process has one block, whose size may be rounded, a factor is rounded down to an n-th power,
   of which n phases take equal parts. CAPPED: as EXACT, but a cycle's factor counts as at most P
   messages. */
enum { REDIST_PRIV_EXACT, REDIST_PRIV_ROUNDED, REDIST_PRIV_CAPPED, REDIST_PRIV_DIVISIONS };

/* An axis along a route: its size is common * (growth / left to grow) * (left to shrink). */
typedef struct {
  int64_t common[2], growth[2], left[REDIST_PRIV_CHANGES];
  int64_t grain; /* blocks are multiples of this            */
  int64_t most;  /* messages that a cycle's factor counts as */
} redist_priv_way;

typedef struct {
  const redist_layout *from, *to;
  redist_cost cost; /* per_byte: per element                   */
  double latency;   /* of each phase                           */
  int64_t elements; /* of the fullest rank at either end       */
} redist_priv_route;

/* x / r^n */
REDIST_PRIV_COLD double redist_priv_divided(double x, int64_t r, int n) {
  while (n-- > 0) x /= (double)r;
  return x;
}

/* The largest r^n <= k, r <= REDIST_PRIV_DIVISORS. */
REDIST_PRIV_COLD int64_t redist_priv_power_below(int64_t k, int n) {
  int64_t r = 1, power = 1;
  while (r < REDIST_PRIV_DIVISORS && redist_priv_divided((double)k, r + 1, n) >= 1) r++;
  while (n-- > 0) power *= r;
  return power;
}

/* The changes from x to y in n phases. One process fits any cycle. */
REDIST_PRIV_COLD void redist_priv_find_way(const redist_axis *x, const redist_axis *y, int division,
                                           int n, redist_priv_way *way) {
  const redist_axis *const end[2] = {x, y};
  const int one[2] = {redist_priv_is_interval(x), redist_priv_is_interval(y)};
  const int64_t count = redist_priv_max(x->count, 1), procs = redist_priv_max(x->procs, y->procs);
  int64_t size[REDIST_PRIV_CHANGES]; /* processes of both ends, cycles of both ends */
  int k;
  for (k = 0; k < 2; k++) {
    const redist_axis *e = end[k]->procs == 1 ? end[!k] : end[k];
    int64_t block = redist_priv_ceil_div(count, e->procs);
    if (e->kind == REDIST_PRIV_CYCLIC)
      block = redist_priv_clamp(e->block / redist_priv_abs(e->step), 1, count);
    size[k] = end[k]->procs;
    size[2 + k] = redist_priv_multiply(block, e->procs, REDIST_PRIV_MAX_ELEMENTS);
    size[2 + k] = one[0] && one[1] ? count : size[2 + k];
  }
  for (k = 0; k < REDIST_PRIV_CHANGES; k++) {
    way->common[k / 2] = redist_priv_gcd(size[k], size[k ^ 1]);
    way->growth[k / 2] = way->left[k] = size[k] / way->common[k / 2];
    if (division == REDIST_PRIV_ROUNDED && one[k % 2])
      way->left[k] = redist_priv_power_below(way->left[k], n);
  }
  way->grain = one[0] && one[1] ? redist_priv_ceil_div(count, procs) : 1;
  way->most = division == REDIST_PRIV_CAPPED ? procs : REDIST_PRIV_MAX_ELEMENTS;
}

REDIST_PRIV_COLD int64_t redist_priv_messages(const redist_priv_way *way, int change,
                                              int64_t factor) {
  return change < REDIST_PRIV_SHORTER ? factor : redist_priv_min(factor, way->most);
}

/* The largest divisor of what is left whose messages to the n-th power are closest to `wanted`. */
REDIST_PRIV_COLD int64_t redist_priv_fair_divisor(const redist_priv_way *way, int change,
                                                  double wanted, int n) {
  const int64_t all = way->left[change];
  int64_t r, best = 1;
  double apart, least = DBL_MAX;
  for (r = all; r > 0; r = redist_priv_min(r - 1, REDIST_PRIV_DIVISORS)) {
    apart = redist_priv_divided(wanted, redist_priv_messages(way, change, r), n);
    apart = apart < 1 ? 1 / apart : apart;
    if (all % r == 0 && apart < least) {
      best = r;
      least = apart;
    }
  }
  return best;
}

/* Takes the next of n phases from the factors that are left. It wants the n-th root of their
   messages: [0] sent (1 where processes become fewer), [1] received (1 where they become more). */
REDIST_PRIV_COLD void redist_priv_take_phase(redist_priv_way *way, int ndim, int n) {
  double wanted[2] = {1, 1};
  int d, k, side;
  for (d = 0; d < ndim; d++)
    for (k = 0; k < REDIST_PRIV_CHANGES; k++)
      for (side = 0; side < 2; side++)
        if (k != side) wanted[side] *= (double)redist_priv_messages(&way[d], k, way[d].left[k]);
  for (d = 0; d < ndim; d++)
    for (k = 0; k < REDIST_PRIV_CHANGES; k++) {
      const int scarcer = k < REDIST_PRIV_SHORTER ? !k : wanted[1] < wanted[0];
      const int64_t r = redist_priv_fair_divisor(&way[d], k, wanted[scarcer], n);
      const int64_t messages = redist_priv_messages(&way[d], k, r);
      REDIST_ASSERT(way[d].left[k] % r == 0);
      way[d].left[k] /= r;
      for (side = 0; side < 2; side++)
        wanted[side] = redist_priv_divided(wanted[side], messages, k == side ? 0 : n);
    }
}

/* The processes of an axis at the current stop, or its cycle. */
REDIST_PRIV_COLD int64_t redist_priv_size_on_way(const redist_priv_way *way, int cycle) {
  const int64_t *left = &way->left[2 * cycle], limit = REDIST_PRIV_MAX_ELEMENTS;
  const int64_t factor = redist_priv_multiply(way->growth[cycle] / left[1], left[0], limit);
  return redist_priv_multiply(way->common[cycle], factor, limit);
}

/* The layout at a stop, on ranks of `to` or, if too few, of `from`; 0 where both are too few. */
REDIST_PRIV_COLD int redist_priv_write_stop(const redist_priv_route *route,
                                            const redist_priv_way *way, redist_layout *stop) {
  const redist_layout *base = route->to;
  int64_t places = 1, block, limit = REDIST_PRIV_MAX_ELEMENTS;
  int d;
  for (d = 0; d < base->ndim; d++)
    places = redist_priv_multiply(places, redist_priv_size_on_way(&way[d], 0), limit);
  base = places <= redist_layout_places(base) ? base : route->from;
  if (places > redist_layout_places(base)) return 0;
  redist_priv_copy_to(stop, base, 1);
  stop->truncated = 0; /* the caller may go on building */
  stop->error = redist_priv_no_error(-1);
  stop->view.axes = 0;
  for (d = 0; d < stop->ndim; d++) {
    const redist_axis *y = &route->to->dim[d].axis;
    const int64_t procs = redist_priv_size_on_way(&way[d], 0), *left = way[d].left;
    block = redist_priv_ceil_div(redist_priv_size_on_way(&way[d], 1), procs);
    block = redist_priv_ceil_div(block, way[d].grain) * way[d].grain;
    stop->dim[d].axis = redist_block_cyclic(y->count, block, (int)procs);
    if ((left[0] | left[1] | left[2] | left[3]) == 1 && redist_priv_is_whole(y))
      stop->dim[d].axis = *y;
    stop->dim[d].low = stop->dim[d].high = stop->dim[d].allocated = 0;
  }
  return 1;
}

/* Writes the layouts between n phases. *seconds: DBL_MAX if not allowed. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_write_route(redist_priv_route *route, int n, int division,
                                             redist_layout *between, double *seconds) {
  redist_priv_way way[REDIST_MAX_DIMS];
  redist_priv_load load = {0, 0};
  int d, k, code = REDIST_OK;
  for (d = 0; d < route->to->ndim; d++)
    redist_priv_find_way(&route->from->dim[d].axis, &route->to->dim[d].axis, division, n, &way[d]);
  *seconds = 0;
  for (k = 0; k < n && code == REDIST_OK && *seconds < DBL_MAX; k++) {
    const redist_layout *here = k == 0 ? route->from : &between[k - 1];
    const redist_layout *next = k == n - 1 ? route->to : &between[k];
    redist_priv_take_phase(way, here->ndim, n - k);
    if (k < n - 1 && !redist_priv_write_stop(route, way, &between[k]))
      *seconds = DBL_MAX;
    else
      code = redist_priv_busiest(here, next, &load);
    *seconds += route->latency + redist_priv_seconds_of(&load, 1, &route->cost);
    if (n == 1) route->elements = load.elements;
    if (load.elements - route->elements > route->elements) /* more than twice */
      *seconds = DBL_MAX;
  }
  return code;
}

/* redist_phases with a latency that each phase costs besides its messages and bytes. */
REDIST_PRIV_COLD int redist_priv_phases(const redist_layout *from, const redist_layout *to,
                                        size_t element_bytes, const redist_cost *cost,
                                        double latency, int max, redist_layout *between,
                                        int *stops) {
  enum { ALL = REDIST_PRIV_DIVISIONS }; /* a try: phases * ALL + division */
  const int phases = (int)redist_priv_min(max, REDIST_PRIV_PHASES - 1) + 1;
  redist_priv_route route;
  double seconds, least = DBL_MAX;
  int k, product, best = ALL, code = redist_priv_find_product(from, to, &product);
  const int tries = max > 0 && product && to->joined == NULL ? phases * ALL + ALL : 0;
  route.from = from;
  route.to = to;
  route.cost.per_message = cost->per_message;
  route.cost.per_byte = (double)element_bytes * cost->per_byte;
  route.latency = latency;
  for (k = 2 * ALL - 1; k < tries && code == REDIST_OK; k++) { /* directly, two phases, ... */
    code = redist_priv_write_route(&route, k / ALL, k % ALL, between, &seconds);
    best = seconds < least ? k : best;
    least = seconds < least ? seconds : least;
  }
  if (code == REDIST_OK && best >= 2 * ALL)
    code = redist_priv_write_route(&route, best / ALL, best % ALL, between, &seconds);
  *stops = code == REDIST_OK ? best / ALL - 1 : 0;
  return code;
}

REDIST_API int redist_phases(const redist_layout *from, const redist_layout *to,
                             size_t element_bytes, const redist_cost *cost, int max,
                             redist_layout *between, int *stops) {
  redist_layout pair[2];
  int d, k, code;
  if (stops == NULL) return REDIST_ERR_ARGUMENT;
  *stops = 0;
  code = redist_priv_open_pair(from, to, 1, pair);
  if (code != REDIST_OK) return code;
  if (!redist_priv_is_cost(cost) || element_bytes < 1 || max < 0 || (max > 0 && between == NULL))
    code = REDIST_ERR_ARGUMENT;
  if (code == REDIST_OK)
    code = redist_priv_phases(&pair[0], &pair[1], element_bytes, cost, 0, max, between, stops);
  for (k = 0; k < *stops; k++)
    for (d = 0; d < between[k].ndim; d++) between[k].dim[d].axis.sets = NULL;
  redist_priv_close_pair(pair);
  return code;
}

/* The best grid: every factorization is tried. */

typedef struct {
  int grid[REDIST_MAX_DIMS], largest; /* of its factors */
  double seconds;
} redist_priv_grid;

/* The least divisor of n above f; 0: none. */
REDIST_PRIV_COLD int redist_priv_next_divisor(int n, int f) {
  int64_t up = (int64_t)f + 1, down;
  for (; up <= n / up; up++)
    if (n % up == 0) return (int)up;
  for (down = n / up; down > 0; down--)
    if (n % down == 0) return (int)(n / down);
  return 0;
}

/* The lexicographically next factorization of the same product; 0: none. */
REDIST_PRIV_COLD int redist_priv_next_grid(int dims, int *grid) {
  int d, next, rest = grid[dims - 1];
  for (d = dims - 2; d >= 0; d--) {
    grid[d + 1] = 1;
    next = redist_priv_next_divisor(grid[d] * rest, grid[d]);
    rest *= grid[d];
    if (next == 0) continue;
    grid[d] = next;
    grid[dims - 1] = rest / next;
    return 1;
  }
  return 0;
}

/* Whether a try costs less, or as much, but for rounding, on a grid that is closer to a cube. */
REDIST_PRIV_COLD int redist_priv_is_better(const redist_priv_grid *a, const redist_priv_grid *b) {
  const double rounding = 1e-9;
  return a->seconds < b->seconds * (1 - rounding) ||
         (a->seconds <= b->seconds * (1 + rounding) && a->largest < b->largest);
}

/* The seconds of a sequence of layouts. Errors as redist_cost_of. */
REDIST_PRIV_COLD int redist_priv_sequence_cost(const redist_layout *sequence, int layouts,
                                               size_t element_bytes, const redist_cost *cost,
                                               double *seconds) {
  double one;
  int k, code = layouts < 0 || layouts > REDIST_PRIV_SEQUENCE ? REDIST_ERR_ARGUMENT : REDIST_OK;
  if (code == REDIST_OK && layouts > 0) code = redist_layout_check(sequence);
  for (*seconds = 0, k = 1; k < layouts && code == REDIST_OK; k++) {
    code = redist_cost_of(&sequence[k - 1], &sequence[k], element_bytes, cost, &one);
    if (code == REDIST_OK) *seconds += one;
    if (code == REDIST_ERR_SHAPE) code = REDIST_OK;
  }
  return code;
}

REDIST_API int redist_best_grid(int procs, int dims, redist_layouts *layouts, void *context,
                                size_t element_bytes, const redist_cost *cost, int *grid,
                                double *seconds) {
  redist_priv_grid now, best = {{0}, 0, -1};
  redist_layout *sequence;
  int d, used, more, code;
  if (seconds != NULL) *seconds = -1;
  if (procs < 1 || dims < 1 || dims > REDIST_MAX_DIMS || layouts == NULL || element_bytes < 1 ||
      !redist_priv_is_cost(cost) || grid == NULL || seconds == NULL)
    return REDIST_ERR_ARGUMENT;
  for (d = 0; d < dims; d++) now.grid[d] = d < dims - 1 ? 1 : procs;
  sequence = REDIST_PRIV_ALLOC(redist_layout, REDIST_PRIV_SEQUENCE);
  code = sequence == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
  for (more = 1; more && code == REDIST_OK;
       more = code == REDIST_OK && redist_priv_next_grid(dims, now.grid)) {
    used = layouts(now.grid, sequence, REDIST_PRIV_SEQUENCE, context);
    code = redist_priv_sequence_cost(sequence, used, element_bytes, cost, &now.seconds);
    for (now.largest = d = 0; d < dims; d++)
      now.largest = now.grid[d] > now.largest ? now.grid[d] : now.largest;
    if (code == REDIST_OK && used > 0 && (best.seconds < 0 || redist_priv_is_better(&now, &best)))
      best = now;
  }
  REDIST_FREE(sequence);
  if (code == REDIST_OK && best.seconds < 0) code = REDIST_ERR_LAYOUT;
  memcpy(grid, code == REDIST_OK ? best.grid : now.grid, (size_t)dims * sizeof *grid);
  if (code == REDIST_OK) *seconds = best.seconds;
  return code;
}

/* -------------------------------------------------------------- relabelling and advice (bodies) */

/* What a place is worth on a rank: the elements that stay on its node, those that stay on the rank,
   and 1 if that is its rank now. Compared in this order. */
typedef struct {
  int64_t part[3];
} redist_priv_worth;

/* a + sign * b. */
REDIST_PRIV_FAST redist_priv_worth redist_priv_add_worth(redist_priv_worth a, int sign,
                                                         redist_priv_worth b) {
  int k;
  for (k = 0; k < 3; k++) a.part[k] += sign * b.part[k];
  return a;
}

REDIST_PRIV_FAST int redist_priv_is_less(redist_priv_worth a, redist_priv_worth b) {
  int k = 0;
  while (k < 2 && a.part[k] == b.part[k]) k++;
  return a.part[k] < b.part[k];
}

/* The assignment problem: give rows columns of their own so that the sum of the weights is largest,
   which are > 0. A row may also get none. Each column has a price; it is worth its weight less its
   price to a row. If every row has what is worth most to it, and free columns cost 0, the
   assignment is best (duality). Row after row gets a column: Dijkstra's algorithm finds the path of
   least loss to a free column, or to a row that does without one, and the rows on that path pass
   their columns on (Kuhn 1955; Jonker and Volgenant 1987). */
typedef struct {
  int column;
  redist_priv_worth weight;
} redist_priv_choice;

typedef struct {
  redist_priv_worth price, loss; /* loss: on the best known path in search number `search` */
  int row, via, search, settled; /* row -1: free; via: the column before it on that path; -1 */
  redist_priv_worth weight;      /* of the row's choice */
  redist_priv_worth tentative;   /* of the row that `via` would pass it to */
} redist_priv_column;

/* An entry of the heap of columns to be settled. */
typedef struct {
  redist_priv_worth loss;
  int column;
} redist_priv_candidate;

typedef struct {
  const redist_priv_choice *choice; /* of row r: choice[first[r]], ..., choice[first[r + 1] - 1] */
  const int64_t *first;
  redist_priv_column *column;
  int64_t candidates, room;
  redist_priv_candidate *heap;
  int search;
} redist_priv_assignment;

/* Adds a candidate, the least of which is heap[0]. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_push(redist_priv_assignment *a, redist_priv_candidate x) {
  int64_t k = a->candidates;
  if (REDIST_PRIV_APPEND(a->heap, a->candidates, a->room, x) != REDIST_OK) return REDIST_ERR_MEMORY;
  for (; k > 0 && redist_priv_is_less(x.loss, a->heap[(k - 1) / 2].loss); k = (k - 1) / 2)
    a->heap[k] = a->heap[(k - 1) / 2];
  a->heap[k] = x;
  return REDIST_OK;
}

REDIST_PRIV_COLD redist_priv_candidate redist_priv_pop(redist_priv_assignment *a) {
  const redist_priv_candidate least = a->heap[0], last = a->heap[--a->candidates];
  int64_t k = 0, child;
  for (; (child = 2 * k + 1) < a->candidates; k = child) {
    child += child + 1 < a->candidates &&
             redist_priv_is_less(a->heap[child + 1].loss, a->heap[child].loss);
    if (!redist_priv_is_less(a->heap[child].loss, last.loss)) break;
    a->heap[k] = a->heap[child];
  }
  a->heap[k] = last;
  return least;
}

/* What column c is worth to a row at that weight. */
REDIST_PRIV_COLD redist_priv_worth redist_priv_net(const redist_priv_column *c,
                                                   redist_priv_worth weight) {
  return redist_priv_add_worth(weight, -1, c->price);
}

/* Extends the paths by a row, which has column `via` (-1: the row that begins). loss: with no
   column for that row. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_extend(redist_priv_assignment *a, int row, int via,
                                        redist_priv_worth loss) {
  int64_t k;
  int code = REDIST_OK;
  for (k = a->first[row]; k < a->first[row + 1] && code == REDIST_OK; k++) {
    redist_priv_column *c = &a->column[a->choice[k].column];
    const redist_priv_candidate x = {redist_priv_add_worth(loss, -1,
                                                           redist_priv_net(c, a->choice[k].weight)),
                                     a->choice[k].column};
    if (c->search == a->search && (c->settled || !redist_priv_is_less(x.loss, c->loss))) continue;
    c->search = a->search;
    c->settled = 0;
    c->loss = x.loss;
    c->via = via;
    c->tentative = a->choice[k].weight;
    code = redist_priv_push(a, x);
  }
  return code;
}

/* Passes columns on along the path to column `end`, which is free or becomes so. row: where the
   path begins. */
REDIST_PRIV_COLD void redist_priv_pass_on(redist_priv_assignment *a, int row, int end) {
  int at, via;
  for (at = end; at >= 0; at = via) {
    via = a->column[at].via;
    a->column[at].row = via < 0 ? row : a->column[via].row;
    a->column[at].weight = a->column[at].tentative;
  }
}

/* Assigns one more row. settled[columns]: memory. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_assign_row(redist_priv_assignment *a, int row, int *settled) {
  redist_priv_worth most = {{0, 0, 0}}, least, net;
  int64_t k;
  int n = 0, end = -1, code;
  for (k = a->first[row]; k < a->first[row + 1]; k++) {
    net = redist_priv_net(&a->column[a->choice[k].column], a->choice[k].weight);
    most = redist_priv_is_less(most, net) ? net : most;
  }
  least = most; /* what is lost if the row does without a column */
  a->candidates = 0;
  a->search++;
  code = redist_priv_extend(a, row, -1, most);
  while (code == REDIST_OK && a->candidates > 0 && !redist_priv_is_less(least, a->heap[0].loss)) {
    const redist_priv_candidate x = redist_priv_pop(a);
    redist_priv_column *c = &a->column[x.column];
    if (c->settled || redist_priv_is_less(c->loss, x.loss)) continue;
    c->settled = 1;
    settled[n++] = x.column;
    if (c->row < 0) {
      least = x.loss;
      end = x.column;
      break;
    }
    net = redist_priv_add_worth(x.loss, 1, redist_priv_net(c, c->weight));
    if (redist_priv_is_less(net, least)) {
      least = net;
      end = x.column;
    }
    code = redist_priv_extend(a, c->row, x.column, net);
    REDIST_ASSERT(a->candidates == 0 || !redist_priv_is_less(a->heap[0].loss, x.loss));
  }
  while (n-- > 0) {
    redist_priv_column *c = &a->column[settled[n]];
    if (redist_priv_is_less(c->loss, least))
      c->price = redist_priv_add_worth(c->price, 1, redist_priv_add_worth(least, -1, c->loss));
  }
  if (end >= 0) redist_priv_pass_on(a, row, end);
  return code;
}

/* Assigns rows to as many columns or more. column_of[rows]: rows for which there is nothing to gain
   get any free column. REDIST_ERR_MEMORY: column_of is not written. */
REDIST_PRIV_COLD int redist_priv_assign(int rows, int columns, const int64_t *first,
                                        const redist_priv_choice *choice, int *column_of) {
  redist_priv_assignment a = {choice, first, NULL, 0, 0, NULL, 0};
  int *settled = REDIST_PRIV_ALLOC(int, columns);
  int k, left = 0, code = REDIST_OK;
  a.column = REDIST_PRIV_ZEROED(redist_priv_column, columns);
  if (settled == NULL || a.column == NULL) code = REDIST_ERR_MEMORY;
  for (k = 0; k < columns && code == REDIST_OK; k++) a.column[k].row = -1;
  for (k = 0; k < rows && code == REDIST_OK; k++) code = redist_priv_assign_row(&a, k, settled);
  for (k = 0; k < rows && code == REDIST_OK; k++) column_of[k] = -1;
  for (k = 0; k < columns && code == REDIST_OK; k++)
    if (a.column[k].row >= 0) column_of[a.column[k].row] = k;
  for (k = 0; k < rows && code == REDIST_OK; k++)
    if (column_of[k] < 0) {
      while (a.column[left].row >= 0) left++;
      column_of[k] = left++;
    }
  REDIST_FREE(a.column);
  REDIST_FREE(a.heap);
  REDIST_FREE(settled);
  return code;
}

/* A destination to be renumbered: its places choose among the ranks that either layout uses. */
typedef struct {
  const redist_layout *to;
  int places, ranks, each; /* each: ranks of a node */
  int *rank;               /* rank[ranks], ascending */
  int64_t *first, choices, room;
  redist_priv_choice *choice; /* of place t: choice[first[t]], ..., choice[first[t + 1] - 1] */
} redist_priv_relabelling;

/* Lists the ranks of both layouts. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_list_used(const redist_layout *from, redist_priv_relabelling *r) {
  const int sources = redist_layout_places(from);
  int k, all = sources + r->places;
  r->rank = REDIST_PRIV_ALLOC(int, all);
  if (r->rank == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; k < all; k++)
    r->rank[k] =
        k < sources ? redist_priv_rank_at(from, k) : redist_priv_rank_at(r->to, k - sources);
  qsort(r->rank, (size_t)all, sizeof *r->rank, redist_priv_compare_ints);
  for (k = 0; k < all; k++)
    if (k == 0 || r->rank[k] != r->rank[r->ranks - 1]) r->rank[r->ranks++] = r->rank[k];
  return REDIST_OK;
}

/* Adds the ranks of a node to the choices of a place, whose rank now is `own`. flow[n]: what the
   place receives from them, ascending by rank[1]. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_add_choices(redist_priv_relabelling *r, int own, int node,
                                             const redist_priv_flow *flow, int64_t n) {
  redist_priv_choice c;
  int64_t k;
  int low = 0, high = r->ranks, at, code = REDIST_OK;
  memset(&c, 0, sizeof c);
  REDIST_PRIV_BISECT(low, high, at, r->rank[at] / r->each >= node)
  for (k = 0; k < n; k++) c.weight.part[0] += flow[k].distinct;
  for (k = 0; low < r->ranks && r->rank[low] / r->each == node && code == REDIST_OK; low++) {
    c.column = low;
    c.weight.part[1] = k < n && flow[k].rank[1] == r->rank[low] ? flow[k++].elements : 0;
    c.weight.part[2] = r->rank[low] == own;
    if (c.weight.part[0] > 0 || c.weight.part[2] > 0)
      code = REDIST_PRIV_APPEND(r->choice, r->choices, r->room, c);
  }
  return code;
}

/* Makes the ranks of the nodes from which a place receives elements its choices, and those of its
   own node. list: by place. */
REDIST_PRIV_COLD int redist_priv_list_choices(redist_priv_relabelling *r,
                                              const redist_priv_flows *list) {
  int64_t n, at = 0;
  int t, node, own, met, code = REDIST_OK;
  r->first = REDIST_PRIV_ZEROED(int64_t, (int64_t)r->places + 1);
  if (r->first == NULL) return REDIST_ERR_MEMORY;
  for (t = 0; t < r->places && code == REDIST_OK; t++) {
    own = redist_priv_rank_at(r->to, t);
    for (met = 0; code == REDIST_OK && at < list->flows && list->flow[at].rank[0] == t; at += n) {
      const redist_priv_flow *flow = &list->flow[at];
      node = flow->rank[1] / r->each;
      for (n = 1;
           at + n < list->flows && flow[n].rank[0] == t && flow[n].rank[1] / r->each == node;)
        n++;
      met |= node == own / r->each;
      code = redist_priv_add_choices(r, own, node, flow, n);
    }
    if (!met && code == REDIST_OK) code = redist_priv_add_choices(r, own, own / r->each, NULL, 0);
    r->first[t + 1] = r->choices;
  }
  REDIST_ASSERT(code != REDIST_OK || at == list->flows);
  return code;
}

/* redist_relabel of valid layouts, whose axes are sorted. */
REDIST_PRIV_COLD int redist_priv_relabel(const redist_layout *from, const redist_layout *to,
                                         int node_ranks, int *ranks) {
  redist_priv_relabelling r;
  redist_priv_flows list;
  char *repeated;
  int t, code = REDIST_ERR_OVERFLOW;
  if (redist_priv_received(to) >= 0) code = redist_priv_check_single(to, to);
  if (code != REDIST_OK) return code;
  memset(&r, 0, sizeof r);
  r.to = to;
  r.places = redist_layout_places(to);
  r.each = (int)redist_priv_max(node_ranks, 1);
  repeated = redist_priv_find_repeated(from, r.each);
  if (repeated == NULL) return REDIST_ERR_MEMORY;
  code = redist_priv_list_flows(from, to, 1, 1, repeated, &list);
  REDIST_FREE(repeated);
  if (code == REDIST_OK) code = redist_priv_list_used(from, &r);
  if (code == REDIST_OK) code = redist_priv_list_choices(&r, &list);
  if (code == REDIST_OK) code = redist_priv_assign(r.places, r.ranks, r.first, r.choice, ranks);
  for (t = 0; t < r.places && code == REDIST_OK; t++) ranks[t] = r.rank[ranks[t]];
  REDIST_FREE(list.flow);
  REDIST_FREE(r.rank);
  REDIST_FREE(r.first);
  REDIST_FREE(r.choice);
  return code;
}

REDIST_API int redist_relabel(const redist_layout *from, const redist_layout *to, int node_ranks,
                              int *ranks) {
  redist_layout pair[2];
  int code;
  if (ranks == NULL || node_ranks < 0) return REDIST_ERR_ARGUMENT;
  code = redist_priv_open_pair(from, to, 0, pair);
  if (code != REDIST_OK) return code;
  code = redist_priv_relabel(&pair[0], &pair[1], node_ranks, ranks);
  redist_priv_close_pair(pair);
  return code;
}

REDIST_PRIV_COLD double redist_priv_gain(double saving, double cost, int64_t n) {
  return (double)n * saving - cost;
}

/* The fewest repetitions that gain anything, in the arithmetic of redist_priv_gain; -1 when none up
   to 2^53 does. */
REDIST_PRIV_COLD int64_t redist_priv_break_even(double saving, double cost) {
  const int64_t most = INT64_C(1) << 53;
  int64_t k;
  if (!(redist_priv_gain(saving, cost, most) > 0)) return -1;
  k = redist_priv_clamp((int64_t)(cost / saving), 1, most);
  while (k > 1 && redist_priv_gain(saving, cost, k - 1) > 0) k--;
  while (!(redist_priv_gain(saving, cost, k) > 0)) k++;
  return k;
}

REDIST_API int redist_advise(double here, double there, double in, double out, int64_t repetitions,
                             redist_advice *advice) {
  if (advice == NULL || repetitions < 0 || !redist_priv_is_time(here) ||
      !redist_priv_is_time(there) || !redist_priv_is_time(in) || !redist_priv_is_time(out) ||
      !redist_priv_is_time(in + out))
    return REDIST_ERR_ARGUMENT;
  advice->gain = redist_priv_gain(here - there, in + out, repetitions);
  advice->break_even = redist_priv_break_even(here - there, in + out);
  advice->worthwhile = advice->gain > 0;
  return REDIST_OK;
}

/* ----------------------------------------------------------------------- text: writing (bodies) */

#ifndef REDIST_NO_TEXT

/* Where text is written: to a file, or to text[size]. */
typedef struct {
  FILE *file;
  char *text;
  size_t size;
  int64_t length; /* of all that was written, whether it fitted or not */
  int brief;      /* without owners */
} redist_priv_writer;

REDIST_PRIV_COLD void redist_priv_print(redist_priv_writer *w, const char *format, ...) {
  const size_t used = (uint64_t)w->length < w->size ? (size_t)w->length : w->size;
  va_list values;
  va_start(values, format);
  w->length += w->file != NULL ? vfprintf(w->file, format, values)
                               : vsnprintf(w->text + used, w->size - used, format, values);
  va_end(values);
}

REDIST_PRIV_COLD void redist_priv_print_kind(redist_priv_writer *w, const redist_axis *x) {
  const int cuts = x->kind == REDIST_PRIV_LISTED && x->apart == 1;
  const int owners = x->kind == REDIST_PRIV_OWNERS, listed = owners && !w->brief;
  const int balanced = x->kind == REDIST_PRIV_BALANCED;
  const int even = x->block == redist_block(x->extent, x->procs).block;
  int64_t k;
  for (k = 0; cuts && k <= x->procs; k++)
    redist_priv_print(w, "%s%" PRId64, k == 0 ? "cuts(" : ",", x->begin[k]);
  if (redist_priv_is_scattered(x)) redist_priv_print(w, owners ? "owners" : "lists");
  for (k = 0; listed && k < x->extent; k++)
    redist_priv_print(w, "%s%d", k == 0 ? "(" : ",", x->owner[k]);
  if (redist_priv_is_scattered(x))
    redist_priv_print(w, listed ? "%s)@%d" : "%s@%d", listed && k == 0 ? "(" : "", x->procs);
  else if (x->kind == REDIST_PRIV_LISTED)
    redist_priv_print(w, cuts ? ")" : "box");
  else if (x->procs == 1 && !balanced)
    redist_priv_print(w, "*");
  else if (balanced || even || x->block == 1)
    redist_priv_print(w, "%s@%d", balanced ? "balanced" : even ? "block" : "cyclic", x->procs);
  else
    redist_priv_print(w, "cyclic(%" PRId64 ")@%d", x->block, x->procs);
}

REDIST_PRIV_COLD void redist_priv_print_axis(redist_priv_writer *w,
                                             const redist_priv_dimension *dim) {
  const redist_axis *x = &dim->axis;
  redist_priv_print_kind(w, x);
  if (x->first != 0) redist_priv_print(w, " from %d", x->first);
  if (x->start != 0 || x->step != 1 || x->count != x->extent) {
    redist_priv_print(w, " [%" PRId64 ":%" PRId64, x->start, x->count);
    if (x->step != 1) redist_priv_print(w, ":%" PRId64, x->step);
    redist_priv_print(w, " of %" PRId64 "]", x->extent);
  }
  if (dim->low != 0 || dim->high != 0)
    redist_priv_print(w, " halo(%" PRId64 ",%" PRId64 ")", dim->low, dim->high);
  if (x->ghosts != 0)
    redist_priv_print(w, x->ghosts == 1 + (int)REDIST_PERIODIC ? " periodic" : " closed");
  if (x->ghosts != 0 && (x->low != dim->low || x->high != dim->high))
    redist_priv_print(w, " depth(%" PRId64 ",%" PRId64 ")", x->low, x->high);
  if (dim->allocated != 0) redist_priv_print(w, " allocated(%" PRId64 ")", dim->allocated);
}

/* A layout as it was given: of one of the library's own copies whose axes are joined, in room. */
REDIST_PRIV_COLD const redist_layout *redist_priv_as_given(const redist_layout *layout,
                                                           redist_layout *room) {
#ifndef REDIST_NO_LISTS
  if (layout->joined != NULL) {
    *room = layout->joined->base;
    room->view = layout->joined->view;
    room->truncated = 0;
    *room = redist_priv_simplify(*room);
    return room;
  }
#endif
  (void)room;
  return layout;
}

/* Whether a view shows all elements in their order before it was reshaped, in other lengths. */
REDIST_PRIV_COLD int redist_priv_is_in_order(const redist_layout *layout) {
#ifdef REDIST_NO_LISTS
  return layout == NULL;
#else
  const redist_priv_view a = redist_priv_view_of(layout);
  redist_priv_view b;
  redist_layout other = *layout;
  int64_t length[REDIST_MAX_DIMS];
  int v, k, same;
  for (v = 0; v < a.axes; v++) length[v] = a.axis[v].count;
  other.view.axes = 0;
  other = redist_priv_reshaped(other, a.axes, length);
  b = redist_priv_view_of(&other);
  same = other.error.code == REDIST_OK;
  for (v = 0; v < a.axes; v++)
    same &= a.axis[v].digits == b.axis[v].digits && !redist_priv_is_section(&a, v);
  for (k = 0; k < 2 * REDIST_MAX_DIMS; k++)
    same &= a.digit[k].dim == b.digit[k].dim && a.digit[k].count == b.digit[k].count &&
            a.digit[k].step == b.digit[k].step;
  return same;
#endif
}

/* Says which indices of which axes each axis of a reshaped view shows. */
REDIST_PRIV_COLD void redist_priv_print_view(redist_priv_writer *w, const redist_layout *layout,
                                             const redist_priv_view *view) {
  int v, k;
  for (v = 0; v < view->axes; v++) {
    const redist_priv_view_axis *a = &view->axis[v];
    redist_priv_print(w, "; axis %d of %" PRId64 " shows", v, a->count);
    for (k = a->first; k < a->first + a->digits; k++)
      redist_priv_print(w, "%s %" PRId64 " indices of %d in steps of %" PRId64,
                        k == a->first ? "" : " by", view->digit[k].count, view->digit[k].dim,
                        view->digit[k].step);
    if (redist_priv_is_section(view, v))
      redist_priv_print(w, ", from number %" PRId64 " of these on in steps of %" PRId64, a->start,
                        a->step);
  }
  for (k = 0; k < layout->ndim; k++)
    if (layout->dim[k].axis.start != 0)
      redist_priv_print(w, "; axis %d from index %" PRId64 " on", k, layout->dim[k].axis.start);
}

/* Where the places live. */
REDIST_PRIV_COLD void redist_priv_print_places(redist_priv_writer *w, const redist_layout *layout) {
  int k;
  for (k = 0; layout->ranks != NULL && k < redist_layout_places(layout); k++)
    redist_priv_print(w, "%s%d", k == 0 ? "; ranks " : ",", layout->ranks[k]);
  for (k = 0; layout->offsets != NULL && k < redist_layout_places(layout); k++)
    redist_priv_print(w, "%s%" PRId64, k == 0 ? "; offsets " : ",", layout->offsets[k]);
  if (layout->ranks == NULL && layout->first_rank != 0)
    redist_priv_print(w, "; from rank %d", layout->first_rank);
}

REDIST_PRIV_COLD void redist_priv_print_layout(redist_priv_writer *w, const redist_layout *layout) {
  redist_layout room;
  int d, k, in_order, by_axis, permuted = 0;
  layout = redist_priv_as_given(layout, &room);
  in_order = redist_priv_is_reshaped(layout) && redist_priv_is_in_order(layout);
  by_axis = redist_priv_is_reshaped(layout) && !in_order;
  for (d = 0; d < layout->ndim; d++)
    redist_priv_print(w, "%s%" PRId64, d == 0 ? "" : "x",
                      by_axis ? layout->dim[d].axis.extent : layout->dim[d].axis.count);
  for (d = 0; d < layout->ndim; d++) {
    redist_priv_dimension dim = layout->dim[d];
    if (by_axis) dim.axis.start = 0, dim.axis.step = 1, dim.axis.count = dim.axis.extent;
    redist_priv_print(w, d == 0 ? ": " : ", ");
    redist_priv_print_axis(w, &dim);
    permuted |= dim.stored != d;
  }
  for (d = 0; permuted && d < layout->ndim; d++)
    redist_priv_print(w, "%s%d%s", d == 0 ? "; axes(" : ",", layout->dim[d].stored,
                      d == layout->ndim - 1 ? ")" : "");
  if (layout->grid_order == REDIST_COLUMN_MAJOR) redist_priv_print(w, "; grid column-major");
  if (layout->memory_order == REDIST_COLUMN_MAJOR) redist_priv_print(w, "; memory column-major");
  if (layout->copies > 1) redist_priv_print(w, "; replicas %d", layout->copies);
  for (k = 0; k < layout->boxes; k++)
    for (d = 0; d < layout->ndim; d++)
      redist_priv_print(w, "%s%" PRId64 ":%" PRId64,
                        d > 0   ? "x"
                        : k > 0 ? ", "
                                : "; boxes ",
                        layout->box[k].low[d], layout->box[k].high[d]);
  if (layout->partial) redist_priv_print(w, "; partial");
  if (layout->faces) redist_priv_print(w, "; without corners");
  redist_priv_print_places(w, layout);
  for (d = 0; in_order && d < layout->view.axes; d++)
    redist_priv_print(w, "%s%" PRId64, d == 0 ? "; reshaped " : "x", layout->view.axis[d].count);
  if (by_axis) redist_priv_print_view(w, layout, &layout->view);
}

REDIST_API int64_t redist_layout_format(const redist_layout *layout, char *text, size_t size) {
  char none = '\0';
  redist_priv_writer w = {NULL, text == NULL ? &none : text, text == NULL ? 0 : size, 0, 0};
  int d;
  redist_priv_print(&w, "%s", ""); /* terminates an empty text */
  if (redist_layout_check(layout) != REDIST_OK) return -1;
  for (d = 0; d < layout->ndim; d++)
    if (layout->dim[d].axis.kind == REDIST_PRIV_INDICES) return -1;
  if (redist_priv_is_reshaped(layout) && !redist_priv_is_in_order(layout)) return -1;
  redist_priv_print_layout(&w, layout);
  return w.length;
}

/* Writes a line for a valid layout; brief: without owners, of which there may be millions. */
REDIST_PRIV_COLD void redist_priv_print_line(const redist_layout *layout, FILE *file, int brief) {
  redist_priv_writer w = {file, NULL, 0, 0, brief};
  redist_priv_print_layout(&w, layout);
  redist_priv_print(&w, "\n");
}

REDIST_API int redist_layout_print(const redist_layout *layout, FILE *file) {
  const int code = file == NULL ? REDIST_ERR_ARGUMENT : redist_layout_check(layout);
  if (code == REDIST_OK) redist_priv_print_line(layout, file, 0);
  return code;
}

/* ----------------------------------------------------------------------- text: reading (bodies) */

/* A text that is being read. After the first mistake nothing more is read. */
typedef struct {
  const char *text, *at; /* at: what comes next */
  redist_priv_error error;
  char *storage;
  size_t room, used; /* bytes; used > room: it does not fit, and only the bytes are counted */
  int ndim;
  redist_priv_dimension said[REDIST_MAX_DIMS]; /* the numbers of the axes, not yet checked */
  int lengths;                                 /* of the reshaped view; 0: it is not reshaped */
  int64_t length[REDIST_MAX_DIMS];
  /* of the axes and the options so far; its axes are numbered as in the text */
  redist_layout layout;
  unsigned subjects;     /* what the axis, or the options, have said so far */
  int spaced;            /* numbers of a list may be separated by spaces alone */
  const char *number_at; /* the last number */
  int64_t last, listed;  /* entry of a list, and how many so far */
  int64_t last_cut;      /* of an axis; or how many owners it lists */
  int64_t counted[2];    /* ranks, and offsets, that are listed */
  const char *counted_at[2];
  int box_axes, boxes;
  const redist_box *box;
} redist_priv_reader;

REDIST_PRIV_COLD int redist_priv_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
REDIST_PRIV_COLD int redist_priv_is_digit(char c) { return c >= '0' && c <= '9'; }
REDIST_PRIV_COLD char redist_priv_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Where an error at a position of the text is recorded. */
REDIST_PRIV_COLD redist_priv_error *redist_priv_error_at(redist_priv_reader *r, const char *at) {
  if (r->error.code == REDIST_OK)
    r->error.column = (int)redist_priv_min(at - r->text, INT_MAX - 1) + 1;
  return &r->error;
}

#define redist_priv_parse_error(r, at, ...) \
  redist_priv_fail(redist_priv_error_at(r, at), REDIST_ERR_LAYOUT, __VA_ARGS__)

/* Quotes the text at a position for a message. */
REDIST_PRIV_COLD void redist_priv_parse_quote(const char *at, char *quote, size_t size) {
  int n = 0;
  while (n < 24 && (redist_priv_is_letter(at[n]) || redist_priv_is_digit(at[n]) || at[n] == '-'))
    n++;
  if (*at == '\0')
    snprintf(quote, size, "the end");
  else if (*at < ' ' || *at > '~')
    snprintf(quote, size, "byte 0x%02x", (unsigned)(unsigned char)*at);
  else
    snprintf(quote, size, "'%.*s'", n == 0 ? 1 : n, at);
}

/* Where the next word, sign or number begins. */
REDIST_PRIV_COLD const char *redist_priv_parse_next(redist_priv_reader *r) {
  while (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')) r->at++;
  return r->at;
}

REDIST_PRIV_COLD void redist_priv_parse_unexpected(redist_priv_reader *r, const char *expected) {
  char found[32];
  redist_priv_parse_quote(redist_priv_parse_next(r), found, sizeof found);
  redist_priv_parse_error(r, r->at, "expected %s, found %s", expected, found);
}

/* Reads a word or a sign if it comes next. */
REDIST_PRIV_COLD int redist_priv_parse_accept(redist_priv_reader *r, const char *word) {
  const char *at = redist_priv_parse_next(r);
  const size_t n = strlen(word);
  size_t k = 0;
  while (k < n && redist_priv_lower(at[k]) == word[k]) k++;
  if (k < n || r->error.code != REDIST_OK ||
      (redist_priv_is_letter(word[n - 1]) && redist_priv_is_letter(at[n])))
    return 0;
  r->at += n;
  return 1;
}

REDIST_PRIV_COLD void redist_priv_parse_expect(redist_priv_reader *r, const char *word,
                                               const char *expected) {
  if (!redist_priv_parse_accept(r, word)) redist_priv_parse_unexpected(r, expected);
}

/* Reads a word or a sign that begins a clause, if it comes next. Clauses on one subject, a bit,
   exclude each other. */
REDIST_PRIV_COLD int redist_priv_parse_begins(redist_priv_reader *r, const char *word,
                                              unsigned subject) {
  if (!redist_priv_parse_accept(r, word)) return 0;
  if (r->subjects & subject)
    redist_priv_parse_error(r, r->at - strlen(word),
                            "'%s' repeats or contradicts what was said before it", word);
  r->subjects |= subject;
  return 1;
}

/* Reads -most - 1 <= number <= most (INT_MAX, INT64_MAX) after a word or a sign (NULL: none). 0
   after a mistake. */
REDIST_PRIV_COLD int64_t redist_priv_parse_number(redist_priv_reader *r, const char *after,
                                                  const char *what, int64_t most) {
  char quote[80], *end;
  long long value;
  snprintf(quote, sizeof quote, "'%s' and %s", after == NULL ? "" : after, what);
  if (after != NULL) redist_priv_parse_expect(r, after, quote);
  r->number_at = redist_priv_parse_next(r);
  if (!redist_priv_is_digit(r->at[*r->at == '-'])) redist_priv_parse_unexpected(r, what);
  if (r->error.code != REDIST_OK) return 0;
  errno = 0;
  value = strtoll(r->at, &end, 10);
  if (errno == ERANGE || value > most || value < -most - 1) {
    redist_priv_parse_quote(r->at, quote, sizeof quote);
    redist_priv_parse_error(r, r->at, "%s does not fit %s", quote,
                            most == INT_MAX ? "an int" : "an int64_t");
    return 0;
  }
  r->at = end;
  return value;
}

/* Reads low:high of every axis. */
REDIST_PRIV_COLD void redist_priv_parse_box(redist_priv_reader *r, redist_box *box) {
  int d;
  for (d = 0; d < r->ndim; d++) {
    box->low[d] = redist_priv_parse_number(r, d > 0 ? "x" : NULL, "where a box begins", INT64_MAX);
    box->high[d] = redist_priv_parse_number(r, ":", "where a box ends", INT64_MAX);
  }
}

/* Parses a list of boxes, or of numbers of so many bytes, and returns it; NULL where it does not
   fit the storage. */
REDIST_PRIV_COLD const void *redist_priv_parse_list(redist_priv_reader *r, const char *what,
                                                    size_t bytes) {
  const size_t align = bytes < sizeof r->last ? bytes : sizeof r->last;
  const size_t begin = (r->used + align - 1) / align * align;
  redist_box box;
  int rank;
  const void *const entry[3] = {&rank, &r->last, &box};
  const int kind = (bytes > sizeof rank) + (bytes > sizeof r->last);
  memset(&box, 0, sizeof box);
  r->used = begin;
  r->listed = 0;
  do {
    if (kind == 2)
      redist_priv_parse_box(r, &box);
    else
      r->last = redist_priv_parse_number(r, NULL, what, kind == 0 ? INT_MAX : INT64_MAX);
    rank = (int)r->last;
    r->used += bytes;
    if (r->used <= r->room) memcpy(r->storage + r->used - bytes, entry[kind], bytes);
    if (++r->listed == INT_MAX) redist_priv_parse_error(r, r->at, "a list of INT_MAX numbers");
    redist_priv_parse_next(r);
  } while (redist_priv_parse_accept(r, ",") ||
           (r->spaced && kind < 2 && r->error.code == REDIST_OK &&
            (*r->at == '-' || redist_priv_is_digit(*r->at))));
  return r->used <= r->room ? r->storage + begin : NULL;
}

/* Reads the cuts, or the owners, of an axis. */
REDIST_PRIV_COLD void redist_priv_parse_listed(redist_priv_reader *r, redist_axis *x, int owners) {
  redist_priv_parse_expect(r, "(", owners ? "'(' and the owners" : "'(' and the cuts");
  x->kind = owners ? REDIST_PRIV_OWNERS : REDIST_PRIV_LISTED;
  r->listed = 0;
  if (!owners)
    x->begin = (const int64_t *)redist_priv_parse_list(r, "a cut", sizeof *x->begin);
  else if (*redist_priv_parse_next(r) != ')')
    x->owner = (const int *)redist_priv_parse_list(r, "an owner", sizeof *x->owner);
  x->procs = (int)(r->listed - 1); /* of cuts; after owners, '@' says it */
  r->last_cut = owners ? r->listed : r->last;
  if (!owners && r->listed < 2) redist_priv_parse_expect(r, ",", "',' and a second cut");
  redist_priv_parse_expect(r, ")", owners ? "')' or ',' and an owner" : "')' or ',' and a cut");
}

/* Reads the kind of an axis. Returns whether it is `block`, whose size follows from the extent. */
REDIST_PRIV_COLD int redist_priv_parse_kind(redist_priv_reader *r, redist_axis *x) {
  const int box = redist_priv_parse_accept(r, "box"), even = redist_priv_parse_accept(r, "block");
  r->box_axes += box;
  if (box || (!even && redist_priv_parse_accept(r, "*"))) return 1;
  if (!even && redist_priv_parse_accept(r, "cuts")) {
    redist_priv_parse_listed(r, x, 0);
    return 0;
  }
  if (!even && redist_priv_parse_accept(r, "balanced")) {
    x->kind = REDIST_PRIV_BALANCED;
  } else if (!even && REDIST_PRIV_SCATTERS && redist_priv_parse_accept(r, "owners")) {
    redist_priv_parse_listed(r, x, 1);
  } else if (!even) {
    redist_priv_parse_expect(r, "cyclic",
                             "one of '*', 'block', 'cyclic', 'balanced', 'cuts', 'owners', 'box'");
    if (redist_priv_parse_accept(r, "(")) {
      x->block = redist_priv_parse_number(r, NULL, "the size of a block", INT64_MAX);
      redist_priv_parse_expect(r, ")", "')'");
    }
  }
  x->procs = (int)redist_priv_parse_number(r, "@", "the number of processes", INT_MAX);
  return even;
}

REDIST_PRIV_COLD void redist_priv_parse_section(redist_priv_reader *r, redist_axis *x) {
  int64_t count;
  x->start = redist_priv_parse_number(r, NULL, "the start of a section", INT64_MAX);
  count = redist_priv_parse_number(r, ":", "the count of a section", INT64_MAX);
  if (count != x->count)
    redist_priv_parse_error(r, r->number_at,
                            "a section of %" PRId64
                            " indices, where the extent in front is %" PRId64,
                            count, x->count);
  if (redist_priv_parse_accept(r, ":"))
    x->step = redist_priv_parse_number(r, NULL, "the step of a section", INT64_MAX);
  x->extent = redist_priv_parse_number(r, "of", "the extent of the whole axis", INT64_MAX);
  redist_priv_parse_expect(r, "]", "']'");
}

#define REDIST_PRIV_SUFFIXES \
  "one of 'from', '[', 'halo', 'allocated', 'periodic', 'closed', 'depth'"

/* Reads (low, high), or one number for both. */
REDIST_PRIV_COLD void redist_priv_parse_widths(redist_priv_reader *r, const char *what,
                                               int64_t *low, int64_t *high) {
  *low = *high = redist_priv_parse_number(r, "(", what, INT64_MAX);
  if (redist_priv_parse_accept(r, ",")) *high = redist_priv_parse_number(r, NULL, what, INT64_MAX);
  redist_priv_parse_expect(r, ")", "')'");
}

/* Reads a suffix of an axis; returns 0 if none comes next. */
REDIST_PRIV_COLD int redist_priv_parse_suffix(redist_priv_reader *r, redist_priv_dimension *dim) {
  if (redist_priv_parse_begins(r, "from", 1)) {
    dim->axis.first = (int)redist_priv_parse_number(r, NULL, "the coordinate of block 0", INT_MAX);
  } else if (redist_priv_parse_begins(r, "[", 2)) {
    redist_priv_parse_section(r, &dim->axis);
  } else if (redist_priv_parse_begins(r, "halo", 4)) {
    redist_priv_parse_widths(r, "the width of a halo", &dim->low, &dim->high);
  } else if (redist_priv_parse_begins(r, "depth", 32)) {
    redist_priv_parse_widths(r, "the depth of ghost cells", &dim->axis.low, &dim->axis.high);
  } else if (redist_priv_parse_begins(r, "allocated", 8)) {
    dim->allocated = redist_priv_parse_number(r, "(", "the allocated extent", INT64_MAX);
    redist_priv_parse_expect(r, ")", "')'");
  } else if (redist_priv_parse_begins(r, "periodic", 16)) {
    dim->axis.ghosts = 1 + (int)REDIST_PERIODIC;
  } else if (redist_priv_parse_begins(r, "closed", 16)) {
    dim->axis.ghosts = 1 + (int)REDIST_CLOSED;
  } else {
    return 0;
  }
  return 1;
}

REDIST_PRIV_COLD void redist_priv_parse_extents(redist_priv_reader *r) {
  do {
    if (r->ndim == REDIST_MAX_DIMS) {
      redist_priv_parse_error(r, redist_priv_parse_next(r), "more than %d axes", REDIST_MAX_DIMS);
      return;
    }
    r->said[r->ndim++].axis.count = redist_priv_parse_number(r, NULL, "an extent", INT64_MAX);
  } while (redist_priv_parse_accept(r, "x"));
  redist_priv_parse_expect(r, ":", "':' or 'x' and an extent");
}

/* Reads an axis, and returns it without its section. */
REDIST_PRIV_COLD redist_axis redist_priv_parse_axis(redist_priv_reader *r,
                                                    redist_priv_dimension *dim) {
  redist_axis *x = &dim->axis;
  const char *begin = redist_priv_parse_next(r);
  int even;
  x->extent = x->count;
  x->procs = 1;
  x->block = x->step = 1;
  r->subjects = 0;
  even = redist_priv_parse_kind(r, x);
  while (redist_priv_parse_suffix(r, dim)) continue;
  if ((r->subjects & (16 | 32)) == 32)
    redist_priv_parse_error(r, begin, "a depth of ghost cells, but not 'periodic' or 'closed'");
  if (!(r->subjects & 32)) {
    x->low = dim->low;
    x->high = dim->high;
  }
  if (x->kind == REDIST_PRIV_LISTED && r->last_cut != x->extent)
    redist_priv_parse_error(r, begin, "the last cut is %" PRId64 ", but the extent is %" PRId64,
                            r->last_cut, x->extent);
  if (x->kind == REDIST_PRIV_OWNERS && r->last_cut != x->extent)
    redist_priv_parse_error(r, begin, "%" PRId64 " owners, but the extent is %" PRId64, r->last_cut,
                            x->extent);
  return redist_starting_at(even ? redist_block(x->extent, x->procs)
                                 : redist_priv_axis(x->kind, x->extent, x->block, x->procs,
                                                    x->begin, x->owner, NULL),
                            x->first);
}

/* Makes a layout of the axes that were read, and then stores them as the text says. The builders
   find mistakes in the numbers. Until boxes have been read, their axes are whole. */
REDIST_PRIV_COLD void redist_priv_parse_axes(redist_priv_reader *r) {
  redist_axis axes[REDIST_MAX_DIMS];
  char expected[128];
  int d;
  for (d = 0; d < r->ndim && r->error.code == REDIST_OK; d++) {
    snprintf(expected, sizeof expected, "',' and axis %d of %d, or " REDIST_PRIV_SUFFIXES, d,
             r->ndim);
    if (d > 0) redist_priv_parse_expect(r, ",", expected);
    axes[d] = redist_priv_parse_axis(r, &r->said[d]);
  }
  r->layout = redist_layout_nd(d, axes);
  for (d = 0; d < r->layout.ndim; d++)
    r->layout = redist_section(r->layout, d, r->said[d].axis.start, r->said[d].axis.count,
                               r->said[d].axis.step);
}

REDIST_PRIV_COLD void redist_priv_store_axes(redist_priv_reader *r) {
  int d;
  for (d = 0; d < r->layout.ndim; d++) {
    const redist_priv_dimension *dim = &r->said[d];
    r->layout = redist_with_allocated(redist_with_halo(r->layout, d, dim->low, dim->high), d,
                                      dim->allocated);
    if (dim->axis.ghosts == 0) continue;
    r->layout = redist_with_ghosts(r->layout, d, (redist_edge)(dim->axis.ghosts - 1));
    r->layout = redist_ghost_depth(r->layout, d, dim->axis.low, dim->axis.high);
  }
}

/* Reads the array's own axes, or takes them in reversed order. */
REDIST_PRIV_COLD void redist_priv_parse_stored(redist_priv_reader *r, int reversed) {
  const char *all = "the array's own axes";
  int d, stored[REDIST_MAX_DIMS];
  for (d = 0; d < r->ndim; d++)
    stored[d] = reversed ? r->ndim - 1 - d
                         : (int)redist_priv_parse_number(r, d == 0 ? "(" : ",",
                                                         d == 0 ? all : "an axis", INT_MAX);
  if (!reversed) redist_priv_parse_expect(r, ")", "')'");
  r->layout.error = redist_permuted(r->layout, stored).error;
  for (d = 0; d < r->ndim; d++) r->layout.dim[d].stored = stored[d];
}

/* Reads the lengths of a reshaped view. */
REDIST_PRIV_COLD void redist_priv_parse_lengths(redist_priv_reader *r) {
  do {
    const int64_t length = redist_priv_parse_number(r, NULL, "a length", INT64_MAX);
    if (r->lengths < REDIST_MAX_DIMS) r->length[r->lengths] = length;
    r->lengths++;
  } while (redist_priv_parse_accept(r, "x"));
}

REDIST_PRIV_COLD redist_order redist_priv_parse_order(redist_priv_reader *r) {
  if (redist_priv_parse_accept(r, "column-major")) return REDIST_COLUMN_MAJOR;
  redist_priv_parse_expect(r, "row-major", "'row-major' or 'column-major'");
  return REDIST_ROW_MAJOR;
}

REDIST_PRIV_COLD void redist_priv_parse_option(redist_priv_reader *r) {
  redist_layout *layout = &r->layout;
  if (redist_priv_parse_begins(r, "axes", 1))
    redist_priv_parse_stored(r, 0);
  else if (redist_priv_parse_begins(r, "transposed", 1))
    redist_priv_parse_stored(r, 1);
  else if (redist_priv_parse_begins(r, "grid", 2))
    *layout = redist_grid_order(*layout, redist_priv_parse_order(r));
  else if (redist_priv_parse_begins(r, "memory", 4))
    *layout = redist_memory_order(*layout, redist_priv_parse_order(r));
  else if (redist_priv_parse_begins(r, "from", 8))
    *layout = redist_from_rank(*layout,
                               (int)redist_priv_parse_number(r, "rank", "the first rank", INT_MAX));
  else if (redist_priv_parse_begins(r, "ranks", 8) || redist_priv_parse_begins(r, "on", 8)) {
    r->counted_at[0] = redist_priv_parse_next(r);
    *layout =
        redist_on_ranks(*layout, (const int *)redist_priv_parse_list(r, "a rank", sizeof(int)));
    r->counted[0] = r->listed;
  } else if (redist_priv_parse_begins(r, "offsets", 128)) {
    r->counted_at[1] = redist_priv_parse_next(r);
    *layout = redist_at_offsets(*layout, (const int64_t *)redist_priv_parse_list(r, "an offset",
                                                                                 sizeof(int64_t)));
    r->counted[1] = r->listed;
  } else if (redist_priv_parse_begins(r, "replicas", 16))
    *layout =
        redist_replicated(*layout, (int)redist_priv_parse_number(r, NULL, "the number of replicas",
                                                                 INT_MAX));
  else if (redist_priv_parse_begins(r, "boxes", 32)) {
    r->box = (const redist_box *)redist_priv_parse_list(r, NULL, sizeof *r->box);
    r->boxes = (int)r->listed;
  } else if (redist_priv_parse_begins(r, "without", 512))
    redist_priv_parse_expect(r, "corners", "'corners'");
  else if (REDIST_PRIV_SCATTERS && redist_priv_parse_begins(r, "reshaped", 256))
    redist_priv_parse_lengths(r);
  else if (!redist_priv_parse_begins(r, "partial", 64))
    redist_priv_parse_unexpected(r, "one of 'axes', 'transposed', 'grid', 'memory', 'from', "
                                    "'ranks', 'on', 'offsets', 'replicas', 'boxes', 'partial', "
                                    "'without', 'reshaped'");
}

REDIST_PRIV_COLD void redist_priv_parse_layout(redist_priv_reader *r) {
  int k;
  redist_priv_parse_extents(r);
  redist_priv_parse_axes(r);
  r->subjects = 0;
  r->spaced = 1;
  while (redist_priv_parse_accept(r, ";")) redist_priv_parse_option(r);
  if (*redist_priv_parse_next(r) != '\0')
    redist_priv_parse_unexpected(r, r->subjects != 0
                                        ? "';' and an option, or the end"
                                        : "';' and an option, the end, or " REDIST_PRIV_SUFFIXES);
  if (r->box_axes != (r->boxes > 0 ? r->ndim : 0))
    redist_priv_parse_error(r, r->at,
                            "%d of %d axes are 'box', and boxes are%s listed: all or none must be",
                            r->box_axes, r->ndim, r->boxes > 0 ? "" : " not");
  if (r->boxes > 0 && r->error.code == REDIST_OK) { /* else axes may not be whole */
    redist_priv_set_boxes(&r->layout, r->boxes, r->box);
    r->layout = redist_replicated(r->layout, r->layout.copies); /* of as many places */
  }
  if (r->subjects & 64) r->layout = redist_partial(r->layout);
  redist_priv_store_axes(r);
  if (r->subjects & 512) r->layout = redist_without_corners(r->layout);
#ifndef REDIST_NO_LISTS
  if (r->lengths > 0) r->layout = redist_priv_reshaped(r->layout, r->lengths, r->length);
#endif
  for (k = 0; k < 2 && redist_priv_usable(&r->layout); k++)
    if (r->counted[k] > 0 && r->counted[k] != redist_layout_places(&r->layout))
      redist_priv_parse_error(r, r->counted_at[k], "%" PRId64 " %s for a grid of %d places",
                              r->counted[k], k == 0 ? "ranks" : "offsets",
                              redist_layout_places(&r->layout));
}

/* A text, and the bytes that its lists may take. */
REDIST_PRIV_COLD redist_priv_reader redist_priv_reader_of(const char *text, void *storage,
                                                          size_t bytes) {
  redist_priv_reader r;
  memset(&r, 0, sizeof r);
  r.text = r.at = text;
  r.error = redist_priv_no_error(-1);
  r.storage = (char *)storage;
  r.room = storage == NULL ? 0 : bytes;
  return r;
}

REDIST_API size_t redist_layout_parse_size(const char *text) {
  redist_priv_reader r = redist_priv_reader_of(text, NULL, 0);
  if (text != NULL) redist_priv_parse_layout(&r);
  return r.used;
}

REDIST_API int redist_layout_parse(const char *text, redist_layout *layout, void *storage,
                                   size_t storage_bytes, char *message, size_t message_size) {
  redist_priv_reader r = redist_priv_reader_of(text, storage, storage_bytes);
  if (layout != NULL) *layout = redist_layout_nd(0, NULL);
  if (text == NULL || layout == NULL)
    redist_priv_fail(&r.error, REDIST_ERR_ARGUMENT, "the text or the layout is NULL");
  else if ((uintptr_t)storage % REDIST_PRIV_ALIGNED != 0)
    redist_priv_fail(&r.error, REDIST_ERR_ARGUMENT, "storage must be aligned to %d bytes",
                     REDIST_PRIV_ALIGNED);
  else
    redist_priv_parse_layout(&r);
  if (r.used > r.room)
    redist_priv_fail(&r.error, REDIST_ERR_MEMORY,
                     "the cuts and ranks need %" PRIu64 " bytes of storage", (uint64_t)r.used);
  if (r.error.code == REDIST_OK) {
    *layout = r.layout;
    r.error = redist_priv_error_of(layout, NULL);
  }
  return redist_priv_tell(&r.error, message, message_size);
}

#endif /* REDIST_NO_TEXT */

#endif /* REDIST_PRIV_BODIES */

#ifdef __cplusplus
}
#endif

#endif /* REDIST_H */

/*
 * MIT License
 *
 * Copyright (c) 2026 the redist authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
