/* The C side of the Fortran module `redist` (redist.f90): the implementation of the library, and what Fortran cannot
   express: MPI handles, indices that count from 1, standard output. MIT licence, see LICENSE.
   mpicc -c -O3 -I. examples/fortran/redist_f.c */
#define REDIST_IMPLEMENTATION
#include "redist_plan.h"
#if defined __has_include && __GNUC__ >= 12
#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>
#define REDIST_F_DESCRIBES
#endif
#endif

/* redist.f90 stores axes, layouts and contexts for combining as arrays of 8-byte words, and copies
   these. */
typedef char redist_f_axis_fits[sizeof(redist_axis) == 8 * 16 ? 1 : -1];
typedef char redist_f_layout_fits[sizeof(redist_layout) == 8 * 280 ? 1 : -1];
typedef char redist_f_op_fits[sizeof(redist_op) <= 8 * 2 ? 1 : -1];

/* A handle in Fortran is an int here, as in redist.f90 (c_int). MPI 5 converts ints; its standard ABI
   has neither MPI_Fint nor the functions that convert one. kind: Comm, Op or Type. */
#if MPI_VERSION >= 5
#define REDIST_F_FROM(kind, handle) MPI_##kind##_fromint(handle)
#define REDIST_F_TO(kind, handle) MPI_##kind##_toint(handle)
#else
#define REDIST_F_FROM(kind, handle) MPI_##kind##_f2c(handle)
#define REDIST_F_TO(kind, handle) MPI_##kind##_c2f(handle)
#endif

/* A part as Fortran has it. */
typedef struct {
  redist_layout from, to;
  int element;
  redist_combine *combine;
  void *context;
} redist_f_part;

redist_axis redist_f_whole(int n);
redist_axis redist_f_block(int n, int procs);
redist_axis redist_f_cyclic(int n, int procs);
redist_axis redist_f_block_cyclic(int n, int block, int procs);
redist_axis redist_f_balanced(int n, int procs);
void redist_f_cuts_remainder_last(int n, int procs, int64_t *cuts);
void redist_f_cuts_remainder_first(int n, int procs, int64_t *cuts);
redist_layout redist_f_with_halo(const redist_layout *layout, int axis, int low, int high);
redist_layout redist_f_with_ghosts(const redist_layout *layout, int axis, int edge);
redist_layout redist_f_ghost_depth(const redist_layout *layout, int axis, int low, int high);
redist_layout redist_f_with_allocated(const redist_layout *layout, int axis, int64_t allocated);
redist_layout redist_f_flipped(const redist_layout *layout, int axis);
redist_layout redist_f_section(const redist_layout *layout, int axis, int64_t start, int64_t count,
                               int64_t step);
redist_layout redist_f_split(const redist_layout *layout, int axis, int64_t inner) {
  return redist_split(*layout, axis - 1, inner);
}

redist_layout redist_f_merged(const redist_layout *layout, int axis) {
  return redist_merged(*layout, axis - 1);
}

redist_layout redist_f_permuted(const redist_layout *layout, const int *axes);
int redist_f_axis_owner(const redist_axis *x, int64_t i);
int64_t redist_f_axis_local(const redist_axis *x, int64_t i);
int64_t redist_f_axis_global(const redist_axis *x, int coord, int64_t l);
int redist_f_layout_owner(const redist_layout *layout, const int64_t *index);
int64_t redist_f_layout_offset(const redist_layout *layout, const int64_t *index);
int redist_f_layout_shape(const redist_layout *layout, int rank, redist_shape *shape);
int redist_f_layout_place_shape(const redist_layout *layout, int place, redist_shape *shape);
int redist_f_plan_create(int comm, const redist_layout *from, const redist_layout *to, int element,
                         const redist_options *options, redist_plan **plan);
int redist_f_plan_create_parts(int comm, int parts, const redist_f_part *part,
                               const redist_options *options, redist_plan **plan);
void redist_f_op(int op, int type, redist_op *context);
int redist_f_layout_types(const redist_layout *layout, int rank, int element, int *file,
                          int *memory);
int redist_f_layout_print(const redist_layout *layout);
int redist_f_plan_print(redist_plan *plan);
int redist_f_calibrate(int comm, redist_cost *cost);
int redist_f_calibrate(int comm, redist_cost *cost) {
  return redist_calibrate(REDIST_F_FROM(Comm, comm), cost);
}

int redist_f_arena_create(int comm, size_t bytes, redist_arena **arena);

/* How Fortran describes an array of any type and rank begins: the standard says so (18.5.3). */
typedef struct {
  void *base;
  size_t element_bytes;
} redist_f_descriptor;

size_t redist_f_element_bytes(const redist_f_descriptor *array);
size_t redist_f_element_bytes(const redist_f_descriptor *array) { return array->element_bytes; }

/* Whether an array has no gaps, which gfortran's own is_contiguous says of z%re, too; unknown for
   arrays of class(*), whose elements may be longer than they are described. Not asked without the
   header that describes arrays, or with gfortran 11, which aborts where it describes some. */
int redist_f_describes(void);
#ifdef REDIST_F_DESCRIBES
int redist_f_describes(void) { return 1; }
int redist_f_is_contiguous(const CFI_cdesc_t *array);
int redist_f_is_contiguous(const CFI_cdesc_t *array) {
  CFI_index_t bytes = (CFI_index_t)array->elem_len;
  int d, gaps = 0;
  for (d = 0; d < array->rank; d++) {
    gaps |= array->dim[d].extent > 1 && array->dim[d].sm != bytes;
    bytes *= array->dim[d].extent;
  }
  return !gaps || bytes == 0 || array->type == CFI_type_struct || array->type == CFI_type_cptr ||
         array->type == CFI_type_other;
}
#else
int redist_f_describes(void) { return 0; }
int redist_f_is_contiguous(const redist_f_descriptor *array);
int redist_f_is_contiguous(const redist_f_descriptor *array) { return array != NULL; }
#endif

/* ---- axes, from default integers ---- */

redist_axis redist_f_whole(int n) { return redist_whole(n); }
redist_axis redist_f_block(int n, int procs) { return redist_block(n, procs); }
redist_axis redist_f_cyclic(int n, int procs) { return redist_cyclic(n, procs); }
redist_axis redist_f_block_cyclic(int n, int block, int procs) {
  return redist_block_cyclic(n, block, procs);
}
redist_axis redist_f_balanced(int n, int procs) { return redist_balanced(n, procs); }
void redist_f_cuts_remainder_last(int n, int procs, int64_t *cuts) {
  redist_cuts_remainder_last(n, procs, cuts);
}
void redist_f_cuts_remainder_first(int n, int procs, int64_t *cuts) {
  redist_cuts_remainder_first(n, procs, cuts);
}

/* ---- axes, indices and positions that count from 1; "none" is then 0, of owners -1 ---- */

int redist_f_axis_owner(const redist_axis *x, int64_t i) { return redist_axis_owner(x, i - 1); }
int64_t redist_f_axis_local(const redist_axis *x, int64_t i) {
  return redist_axis_local(x, i - 1) + 1;
}
int64_t redist_f_axis_global(const redist_axis *x, int coord, int64_t l) {
  return redist_axis_global(x, coord, l - 1) + 1;
}

redist_layout redist_f_with_halo(const redist_layout *layout, int axis, int low, int high) {
  return redist_with_halo(*layout, axis - 1, low, high);
}

redist_layout redist_f_with_ghosts(const redist_layout *layout, int axis, int edge) {
  return redist_with_ghosts(*layout, axis - 1, (redist_edge)edge);
}

redist_layout redist_f_ghost_depth(const redist_layout *layout, int axis, int low, int high) {
  return redist_ghost_depth(*layout, axis - 1, low, high);
}

redist_layout redist_f_with_allocated(const redist_layout *layout, int axis, int64_t allocated) {
  return redist_with_allocated(*layout, axis - 1, allocated);
}

redist_layout redist_f_flipped(const redist_layout *layout, int axis) {
  return redist_flipped(*layout, axis - 1);
}

redist_layout redist_f_section(const redist_layout *layout, int axis, int64_t start, int64_t count,
                               int64_t step) {
  return redist_section(*layout, axis - 1, start - 1, count, step);
}

redist_layout redist_f_permuted(const redist_layout *layout, const int *axes) {
  int from_zero[REDIST_MAX_DIMS] = {0}, d;
  for (d = 0; d < redist_priv_axes(layout); d++) from_zero[d] = axes[d] - 1;
  return redist_permuted(*layout, from_zero);
}

static const int64_t *from_zero(const redist_layout *layout, const int64_t *index,
                                int64_t *shifted) {
  int d;
  for (d = 0; d < redist_priv_axes(layout); d++) shifted[d] = index[d] - 1;
  return shifted;
}

int redist_f_layout_owner(const redist_layout *layout, const int64_t *index) {
  int64_t shifted[REDIST_MAX_DIMS] = {0};
  return redist_layout_owner(layout, from_zero(layout, index, shifted));
}

int64_t redist_f_layout_offset(const redist_layout *layout, const int64_t *index) {
  int64_t shifted[REDIST_MAX_DIMS] = {0};
  return redist_layout_offset(layout, from_zero(layout, index, shifted)) + 1;
}

static int from_one(const redist_layout *layout, int holds, redist_shape *shape) {
  int d;
  if (holds == 1) shape->origin++;
  for (d = 0; holds == 1 && d < redist_priv_axes(layout); d++) shape->first[d]++;
  return holds;
}

int redist_f_layout_shape(const redist_layout *layout, int rank, redist_shape *shape) {
  return from_one(layout, redist_layout_shape(layout, rank, shape), shape);
}

int redist_f_layout_place_shape(const redist_layout *layout, int place, redist_shape *shape) {
  return from_one(layout, redist_layout_place_shape(layout, place, shape), shape);
}

/* ---- MPI handles, and standard output ---- */

int redist_f_plan_create(int comm, const redist_layout *from, const redist_layout *to, int element,
                         const redist_options *options, redist_plan **plan) {
  return redist_plan_create(REDIST_F_FROM(Comm, comm), from, to, REDIST_F_FROM(Type, element),
                            options, plan);
}

/* Without memory for the list, the rank passes NULL, which is an error on all ranks. */
int redist_f_plan_create_parts(int comm, int parts, const redist_f_part *part,
                               const redist_options *options, redist_plan **plan) {
  redist_part *list = parts > 0 ? (redist_part *)REDIST_MALLOC((size_t)parts * sizeof *list) : NULL;
  int k, code;
  for (k = 0; list != NULL && k < parts; k++) {
    list[k].from = &part[k].from;
    list[k].to = &part[k].to;
    list[k].element = REDIST_F_FROM(Type, part[k].element);
    list[k].combine = part[k].combine;
    list[k].context = part[k].context;
  }
  code = redist_plan_create_parts(REDIST_F_FROM(Comm, comm), parts, list, options, plan);
  REDIST_FREE(list);
  return code;
}

void redist_f_op(int op, int type, redist_op *context) {
  context->op = REDIST_F_FROM(Op, op);
  context->type = REDIST_F_FROM(Type, type);
}

int redist_f_layout_types(const redist_layout *layout, int rank, int element, int *file,
                          int *memory) {
  MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  const int code =
      redist_layout_types(layout, rank, REDIST_F_FROM(Type, element), &types[0], &types[1]);
  *file = REDIST_F_TO(Type, types[0]);
  *memory = REDIST_F_TO(Type, types[1]);
  return code;
}

int redist_f_layout_print(const redist_layout *layout) {
  const int code = redist_layout_print(layout, stdout);
  fflush(stdout);
  return code;
}

int redist_f_plan_print(redist_plan *plan) {
  const int code = redist_plan_print(plan, stdout);
  fflush(stdout);
  return code;
}

int redist_f_arena_create(int comm, size_t bytes, redist_arena **arena) {
  return redist_arena_create(REDIST_F_FROM(Comm, comm), bytes, arena);
}
