/* The C side of the Python module (redist.py): the implementation of the library, and what ctypes
   cannot do with it. A layout is its text there. MIT licence, see LICENSE.
   mpicc -shared -fPIC -O3 -I. -o redist_python.so examples/python/redist_python.c */
#define REDIST_IMPLEMENTATION
#include "redist_plan.h"

/* What a rank holds of an array, by axis of the view; without a place, nothing. */
typedef struct {
  int64_t extent[REDIST_MAX_DIMS]; /* of the view */
  /* first <= index < end, in steps: the view indices that it owns; step 0: not equally spaced */
  int64_t first[REDIST_MAX_DIMS], end[REDIST_MAX_DIMS], step[REDIST_MAX_DIMS];
  /* lengths of its array, from the slowest axis in memory to the fastest, and which of them belongs
     to each axis; only its size, if that is no product of lengths, as with several places */
  int64_t stored[REDIST_MAX_DIMS], at[REDIST_MAX_DIMS];
  int64_t ndim, stored_ndim, size; /* size: elements of its array */
} redist_python_local;

/* A redist_part whose layouts are texts. type: of its elements, MPI_DATATYPE_NULL where MPI has
   none; bytes: of an element, 0 where it cannot be sent. It combines by op, by axpby, or not (both
   NULL). context is written; like *axpby, it must live as long as the plan. */
typedef struct {
  const char *from, *to;
  MPI_Datatype type;
  int bytes;
  const MPI_Op *op;
  redist_axpby *axpby;
  redist_op context;
} redist_python_part;

/* What redist_python_layout makes of a layout. */
enum { SAME, TRANSPOSED, SECTION, GHOSTS, FACES };

/* 1 if `world`, an MPI_COMM_WORLD, is that of this library's MPI, and structs have these sizes, else
   0. */
REDIST_API int redist_python_fits(MPI_Comm world, size_t local, size_t part, size_t axpby,
                                  size_t options);
/* Makes a view of a layout. SECTION: axis, start, count and step are as for redist_section. GHOSTS:
   axis and start are the axis and the edge of redist_with_ghosts; without a halo nothing changes.
   FACES: redist_without_corners.
   Writes the new layout's text, or the sentence of an error, to result[size]. */
REDIST_API int redist_python_layout(const char *text, int64_t view, int64_t axis, int64_t start,
                                    int64_t count, int64_t step, char *result, size_t size);
/* Describes what a rank holds. Errors as redist_layout_parse, REDIST_ERR_MEMORY. */
REDIST_API int redist_python_local_of(const char *text, int rank, redist_python_local *local);
/* redist_plan_create_parts. It fails on all ranks if one of them passes no parts, or bad ones.
   Collective. */
REDIST_API int redist_python_plan(MPI_Comm comm, int parts, redist_python_part *part,
                                  const redist_options *options, redist_plan **plan);

int redist_python_fits(MPI_Comm world, size_t local, size_t part, size_t axpby, size_t options) {
  return world == MPI_COMM_WORLD && local == sizeof(redist_python_local) &&
         part == sizeof(redist_python_part) && axpby == sizeof(redist_axpby) &&
         options == sizeof(redist_options);
}

/* ---- layouts ---- */

/* Reads a layout. The caller frees *lists after its last use, also if this fails. */
static int read_layout(const char *text, redist_layout *layout, void **lists, char *message,
                       size_t size) {
  const size_t bytes = redist_layout_parse_size(text);
  *lists = malloc(bytes + 1);
  return *lists == NULL ? REDIST_ERR_MEMORY
                        : redist_layout_parse(text, layout, *lists, bytes, message, size);
}

/* Whether an axis of the view has a halo, or of a reshaped layout any axis has. */
static int has_halo(const redist_layout *layout, int axis) {
  const int reshaped = redist_priv_is_reshaped(layout);
  int d, halo = 0;
  for (d = 0; d < layout->ndim; d++)
    halo |= (reshaped || d == axis) && layout->dim[d].low + layout->dim[d].high > 0;
  return halo;
}

int redist_python_layout(const char *text, int64_t view, int64_t axis, int64_t start, int64_t count,
                         int64_t step, char *result, size_t size) {
  redist_layout layout;
  void *lists;
  int64_t length = 0;
  int code = read_layout(text, &layout, &lists, result, size);
  if (code == REDIST_OK) {
    if (view == TRANSPOSED) layout = redist_transposed(layout);
    if (view == SECTION) layout = redist_section(layout, (int)axis, start, count, step);
    if (view == GHOSTS && has_halo(&layout, (int)axis))
      layout = redist_with_ghosts(layout, (int)axis, (redist_edge)start);
    if (view == FACES) layout = redist_without_corners(layout);
    code = redist_layout_explain(&layout, result, size);
  }
  if (code == REDIST_OK) length = redist_layout_format(&layout, result, size);
  if (length >= (int64_t)size) code = REDIST_ERR_MEMORY;
  if (length < 0) {
    code = REDIST_ERR_LAYOUT;
    snprintf(result, size, "a reshaped layout has no such view: take views before reshaping");
  }
  free(lists);
  return code;
}

/* The step between the view indices of an axis that a rank owns, the last of which is written; 0 if
   they are not equally spaced: then it owns fewer indices of the section with that step. */
static int64_t step_of(const redist_layout *layout, int rank, int axis, const redist_shape *owned,
                       int64_t *last) {
  const int64_t first = owned->first[axis], count = owned->count[axis];
  redist_layout part = redist_flipped(*layout, axis);
  redist_shape shape;
  int64_t step;
  *last = first + count - 1;
  if (count < 2) return 1;
  redist_layout_shape(&part, rank, &shape);
  *last = layout->dim[axis].axis.count - 1 - shape.first[axis];
  step = (*last - first) / (count - 1);
  part = redist_section(*layout, axis, first, count, step);
  redist_layout_shape(&part, rank, &shape);
  return shape.count[axis] == count ? step : 0;
}

static void describe(const redist_layout *layout, int rank, redist_python_local *local) {
  const int several = redist_layout_on_rank(layout, rank, 0, NULL) > 1;
  redist_shape shape;
  int64_t cells = 1, last;
  int d;
  memset(local, 0, sizeof *local);
  memset(&shape, 0, sizeof shape);
  if (redist_priv_is_reshaped(layout)) {
    local->ndim = redist_priv_axes(layout);
    for (d = 0; d < local->ndim; d++) local->extent[d] = redist_priv_length(layout, d);
    local->size = local->stored[0] = redist_layout_local_size(layout, rank);
    local->stored_ndim = 1;
    return;
  }
  redist_layout_shape(layout, rank, &shape);
  for (d = 0; d < layout->ndim; d++) {
    const int stored = layout->dim[d].stored;
    local->at[d] = layout->memory_order == REDIST_ROW_MAJOR ? stored : layout->ndim - 1 - stored;
    local->stored[local->at[d]] = shape.allocated[d];
    local->extent[d] = layout->dim[d].axis.count;
    local->first[d] = shape.first[d];
    local->step[d] = step_of(layout, rank, d, &shape, &last) * !several;
    local->end[d] = last + 1;
    cells *= shape.allocated[d];
  }
  local->ndim = local->stored_ndim = layout->ndim;
  local->size = redist_layout_local_size(layout, rank);
  if (!several && cells == local->size) return;
  local->stored_ndim = 1;
  local->stored[0] = local->size;
  local->at[0] = 0;
}

int redist_python_local_of(const char *text, int rank, redist_python_local *local) {
  redist_layout layout;
  void *lists;
  const int code = read_layout(text, &layout, &lists, NULL, 0);
  if (code == REDIST_OK) describe(&layout, rank, local);
  free(lists);
  return code;
}

/* ---- plans ---- */

/* What a part is made of, until the plan is. */
typedef struct {
  redist_layout layout[2];
  void *lists[2];
  MPI_Datatype bytes; /* of an element for which MPI has no type */
} materials;

/* How a part's elements are combined. Returns NULL, or why they cannot be. */
static const char *set_combine(redist_python_part *p, redist_part *part) {
  const MPI_Datatype numbers[] = {MPI_FLOAT, MPI_DOUBLE, MPI_C_FLOAT_COMPLEX,
                                  MPI_C_DOUBLE_COMPLEX}; /* in the order of redist_number */
  char from[64] = {0}, to[64] = {0};
  int k = 0;
  if (p->axpby != NULL) {
    while (k < 4 && p->type != numbers[k]) k++;
    if (k == 4) return "axpby combines single or double precision, real or complex";
    p->axpby->type = (redist_number)k;
    part->combine = redist_combine_axpby;
    part->context = p->axpby;
  } else if (p->op != NULL) {
    if (p->type == MPI_DATATYPE_NULL ||
        MPI_Reduce_local(from, to, 1, p->type, *p->op) != MPI_SUCCESS)
      return "the MPI operation does not combine elements of this type";
    p->context.op = *p->op;
    p->context.type = p->type;
    part->combine = redist_combine_op;
    part->context = &p->context;
  }
  return NULL;
}

/* Sets the elements of a part. Returns NULL, or what is wrong with them. */
static const char *set_elements(redist_python_part *p, redist_part *part, materials *m) {
  int size = -1;
  if (p->bytes < 1) return "elements of this type cannot be sent";
  if (p->type != MPI_DATATYPE_NULL) MPI_Type_size(p->type, &size);
  if (size != p->bytes) p->type = MPI_DATATYPE_NULL;
  part->element = p->type;
  if (p->type == MPI_DATATYPE_NULL) {
    if (MPI_Type_contiguous(p->bytes, MPI_BYTE, &m->bytes) != MPI_SUCCESS ||
        MPI_Type_commit(&m->bytes) != MPI_SUCCESS)
      return "MPI has no datatype for the elements";
    part->element = m->bytes;
  }
  return set_combine(p, part);
}

/* Sets a part. What is wrong is written to options->message. */
static int set_part(redist_python_part *p, redist_part *part, materials *m,
                    const redist_options *options) {
  const char *const texts[2] = {p->from, p->to}, *wrong = set_elements(p, part, m);
  int side, code = wrong == NULL ? REDIST_OK : REDIST_ERR_TYPE;
  if (wrong != NULL) snprintf(options->message, options->message_size, "%s", wrong);
  for (side = 0; side < 2 && code == REDIST_OK; side++)
    code = read_layout(texts[side], &m->layout[side], &m->lists[side], options->message,
                       options->message_size);
  part->from = &m->layout[0];
  part->to = &m->layout[1];
  return code;
}

int redist_python_plan(MPI_Comm comm, int parts, redist_python_part *p,
                       const redist_options *options, redist_plan **plan) {
  materials *m = (materials *)calloc((size_t)parts + 1, sizeof *m);
  redist_part *part = (redist_part *)calloc((size_t)parts + 1, sizeof *part);
  int k, made, code = m == NULL || part == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
  for (k = 0; k < parts && m != NULL; k++) m[k].bytes = MPI_DATATYPE_NULL;
  for (k = 0; k < parts && code == REDIST_OK; k++) code = set_part(&p[k], &part[k], &m[k], options);
  made = redist_plan_create_parts(comm, code == REDIST_OK ? parts : 0, part,
                                  code == REDIST_OK ? options : NULL, plan);
  for (k = 0; k < parts && m != NULL; k++) {
    if (m[k].bytes != MPI_DATATYPE_NULL) MPI_Type_free(&m[k].bytes);
    free(m[k].lists[0]);
    free(m[k].lists[1]);
  }
  free(m);
  free(part);
  return code == REDIST_OK ? made : code;
}
