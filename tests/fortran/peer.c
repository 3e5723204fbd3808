/* redist tests: the layouts, constants and structures of tests/fortran/fortran.f90, made in C for
   comparison. MIT licence, see LICENSE. */
#define REDIST_DECLARATIONS_ONLY
#include "redist_plan.h"

enum { N = 13, M = 10, L = 7 };

static const int64_t cuts_2[] = {0, 3, N}, cuts_4[] = {0, 3, 3, 9, N};
static const int ranks_2[] = {1, 0}, ranks_4[] = {2, 3, 1, 0};
static const int axes[] = {2, 0, 1};

void peer_layout(int which, int p, redist_layout *layout);
int peer_constant(int which);
int peer_options(const redist_options *o, const void *arena);
int peer_move(const redist_layout *from, const redist_layout *to, const void *a, void *b);

static redist_layout by_columns(redist_layout layout) {
  return redist_memory_order(layout, REDIST_COLUMN_MAJOR);
}

static redist_layout matrix(redist_axis x, redist_axis y) {
  return by_columns(redist_layout_2d(x, y));
}

static redist_layout ghosts(int p) {
  redist_layout l = redist_with_halo(matrix(redist_balanced(N, p), redist_whole(M)), 0, 1, 2);
  return redist_with_allocated(redist_with_ghosts(l, 0, REDIST_PERIODIC), 1, M + 3);
}

static redist_layout boxes(void) {
  static const int64_t extents[] = {N, M};
  static const redist_box box[] = {{{0, 4}, {N, M}}, {{0, 0}, {N, 4}}};
  return by_columns(redist_layout_boxes(2, extents, 2, box));
}

static redist_layout scalapack(int p) {
  int desc[9] = {1, 0, N, M, 3, 2, 1, 0, N + 1};
  return redist_from_scalapack(desc, 2, p / 2);
}

/* The layout of that number on p = 2 or 4 ranks. */
void peer_layout(int which, int p, redist_layout *layout) {
  const redist_axis block = redist_block(N, p), whole = redist_whole(M);
  switch (which) {
  case 1: *layout = matrix(block, whole); break;
  case 2:
    *layout = redist_layout_2d(redist_cyclic(N * M, p), redist_whole(1));
    *layout = redist_merged(redist_split(*layout, 0, M), 1);
    break;
  case 3:
    *layout = redist_grid_order(matrix(redist_block_cyclic(N, 3, 2),
                                       redist_starting_at(redist_block(M, p / 2), p / 2 - 1)),
                                REDIST_COLUMN_MAJOR);
    break;
  case 4: *layout = ghosts(p); break;
  case 5:
    *layout = redist_on_ranks(matrix(redist_cuts(p == 2 ? cuts_2 : cuts_4, p), whole),
                              p == 2 ? ranks_2 : ranks_4);
    break;
  case 6: *layout = scalapack(p); break;
  case 7:
    *layout =
        redist_transposed(redist_section(redist_flipped(matrix(block, whole), 0), 1, 2, 3, 3));
    break;
  case 8:
    *layout = redist_permuted(by_columns(redist_layout_3d(redist_cyclic(N, 2), whole,
                                                          redist_block(L, p / 2))),
                              axes);
    break;
  case 9:
    *layout = redist_from_rank(redist_rotated(matrix(redist_block(N, p / 2), whole), 1), 1);
    break;
  case 11: *layout = boxes(); break;
  default: *layout = redist_replicated(matrix(redist_block(N, p / 2), whole), 2); break;
  }
}

int peer_constant(int which) {
  static const int all[] = {REDIST_OK,         REDIST_ERR_ARGUMENT,   REDIST_ERR_LAYOUT,
                            REDIST_ERR_SHAPE,  REDIST_ERR_RANK,       REDIST_ERR_OVERFLOW,
                            REDIST_ERR_TYPE,   REDIST_ERR_MISMATCH,   REDIST_ERR_MEMORY,
                            REDIST_ERR_ALIAS,  REDIST_ERR_BUSY,       REDIST_ERR_BUFFER,
                            REDIST_ERR_MPI,    REDIST_AUTO,           REDIST_ALLTOALLV,
                            REDIST_ALLTOALLW,  REDIST_POINT_TO_POINT, REDIST_SCHEDULED,
                            REDIST_SHARED,     REDIST_MULTIPHASE,     REDIST_NODES,
                            REDIST_ROW_MAJOR,  REDIST_COLUMN_MAJOR,   REDIST_CLOSED,
                            REDIST_PERIODIC,   REDIST_ESTIMATE,       REDIST_MEASURE,
                            REDIST_WIRE_EXACT, REDIST_WIRE_FLOAT,     REDIST_FLOAT,
                            REDIST_DOUBLE,     REDIST_COMPLEX_FLOAT,  REDIST_COMPLEX_DOUBLE,
                            REDIST_MAX_DIMS};
  return which < 1 || which > (int)(sizeof all / sizeof *all) ? -1 : all[which - 1];
}

/* Checks options that Fortran filled with 1, 2, 3, ... in the order of their members. */
int peer_options(const redist_options *o, const void *arena) {
  return (int)o->method == 1 && (int)o->effort == 1 && o->arrays == 3 && o->max_buffer == 4 &&
         o->in_place == 5 && o->arena != NULL && (const void *)o->arena == arena &&
         o->fixed_from == (const char *)arena + 1 && o->fixed_to == (const char *)arena + 2 &&
         o->executions == 9 && o->node_ranks == 10 && o->timed == 11 && o->checked == 12 &&
         o->wire == REDIST_WIRE_FLOAT && o->combine == redist_combine_op &&
         o->context == (const char *)arena + 3 && o->cost.per_message > 0.9 &&
         o->cost.per_message < 1.1 && o->cost.per_byte > 1.9 && o->cost.per_byte < 2.1 &&
         o->message == (const char *)arena + 4 && o->message_size == 14;
}

/* The same redistribution in C, of MPI_DOUBLE_PRECISION on all ranks. */
int peer_move(const redist_layout *from, const redist_layout *to, const void *a, void *b) {
  redist_plan *plan;
  int code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, NULL, &plan);
  if (code == REDIST_OK) code = redist_execute(plan, a, b);
  if (code == REDIST_OK) code = redist_plan_free(&plan);
  return code;
}
