/* redist tests: every error of a plan, on one rank or on all: the same code everywhere, a sentence,
   no leak, and later plans work. MIT licence, see LICENSE. */
#include <stdlib.h>
#include <string.h>

#include "failing_malloc.h"

#include "exchange.h"
#include "inside.h"

static const struct {
  const char *name;
  redist_method method;
} methods[] = {{"shared", REDIST_SHARED},       {"alltoallv", REDIST_ALLTOALLV},
               {"alltoallw", REDIST_ALLTOALLW}, {"point to point", REDIST_POINT_TO_POINT},
               {"scheduled", REDIST_SCHEDULED}, {"multiphase", REDIST_MULTIPHASE}};
enum { METHODS = sizeof methods / sizeof *methods };

static const char *method_name(redist_method method) {
  int m = 0;
  while (methods[m].method != method) m++;
  return methods[m].name;
}

/* ---- a plan that works ---- */

static int plan_works(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int good;
  exchange_rows(e, 9, 7, TEST_CYCLIC);
  exchange_allocate(e);
  good = exchange_create(e) == REDIST_OK;
  good = good && exchange_is_right(e, 0) && redist_plan_free(&e->plan) == REDIST_OK;
  exchange_release(e);
  free(e);
  return good;
}

/* ---- errors of creation ---- */

enum { N = 12, M = 10 };

/* The arguments of redist_plan_create. */
typedef struct {
  redist_layout layouts[2];
  const redist_layout *from, *to;
  MPI_Datatype type;
  redist_options options;
  char message[400];
} request;

static MPI_Datatype vector_type, resized_type, gap_type, shifted_type;
static const int64_t falling_cuts[4] = {0, 8, 3, M};
static const int one_rank_twice[4] = {1, 0, 2, 0};

static void make_request(request *q) {
  int p = test_size();
  memset(q, 0, sizeof *q);
  q->layouts[0] = redist_layout_2d(redist_block(N, p), redist_whole(M));
  q->layouts[1] = redist_layout_2d(redist_whole(N), redist_block(M, p));
  q->from = &q->layouts[0];
  q->to = &q->layouts[1];
  q->type = MPI_DOUBLE;
  q->options.message = q->message;
  q->options.message_size = sizeof q->message;
}

static void no_source(request *q) { q->from = NULL; }
static void no_destination(request *q) { q->to = NULL; }
static void unknown_method(request *q) { q->options.method = (redist_method)99; }
static void negative_method(request *q) { q->options.method = (redist_method)-1; }
static void negative_arrays(request *q) { q->options.arrays = -3; }
static void unknown_effort(request *q) { q->options.effort = (redist_effort)99; }
static void negative_staging(request *q) { q->options.max_buffer = (size_t)-5; }
static void other_method(request *q) { q->options.method = REDIST_POINT_TO_POINT; }
static void other_arrays(request *q) { q->options.arrays = 2; }
static void other_place(request *q) { q->options.in_place = 1; }
static void vector(request *q) { q->type = vector_type; }
static void resized(request *q) { q->type = resized_type; }
static void gap(request *q) { q->type = gap_type; }
static void shifted(request *q) { q->type = shifted_type; }
static void no_type(request *q) { q->type = MPI_DATATYPE_NULL; }
static void other_size(request *q) { q->type = MPI_FLOAT; }

static void source(request *q, redist_axis rows, redist_axis columns) {
  q->layouts[0] = redist_layout_2d(rows, columns);
}
static void destination(request *q, redist_axis rows, redist_axis columns) {
  q->layouts[1] = redist_layout_2d(rows, columns);
}

static void no_block(request *q) {
  destination(q, redist_whole(N), redist_block_cyclic(M, 0, test_size()));
}
static void negative_block(request *q) {
  source(q, redist_block_cyclic(N, -7, test_size()), redist_whole(M));
}
static void no_processes(request *q) { destination(q, redist_whole(N), redist_block(M, 0)); }
static void negative_length(request *q) {
  source(q, redist_block(-5, test_size()), redist_whole(M));
}
static void cuts_fall(request *q) { destination(q, redist_whole(N), redist_cuts(falling_cuts, 3)); }
static void owner_outside(request *q) {
  static const int owner[M] = {0, 1, 2, 0, 0, 1, -1, 2, 1, 0};
  destination(q, redist_whole(N), redist_owners(M, owner, 3));
}
static void index_twice(request *q) {
  static const int64_t begin[3] = {0, 4, M}, index[M] = {0, 1, 2, 3, 4, 5, 6, 2, 8, 9};
  destination(q, redist_whole(N), redist_lists(M, begin, index, 2));
}
static void first_outside(request *q) {
  destination(q, redist_whole(N), redist_starting_at(redist_block(M, test_size()), 77));
}
static void negative_halo(request *q) { q->layouts[1] = redist_with_halo(q->layouts[1], 1, -2, 0); }
static void small_extent(request *q) {
  q->layouts[0] = redist_with_allocated(q->layouts[0], 1, M - 4);
}
static void depth_outside(request *q) {
  q->layouts[1] = redist_with_halo(q->layouts[1], 1, 2, 1);
  q->layouts[1] = redist_ghost_depth(redist_with_ghosts(q->layouts[1], 1, REDIST_CLOSED), 1, 3, 1);
}
static void depth_alone(request *q) {
  q->layouts[0] = redist_ghost_depth(redist_with_halo(q->layouts[0], 0, 2, 1), 0, 1, 0);
}
static void partial_blocks(request *q) { q->layouts[0] = redist_partial(q->layouts[0]); }
static void two_mistakes(request *q) {
  partial_blocks(q);
  q->layouts[0] = redist_with_halo(q->layouts[0], 1, -1, 0);
}
static void axis_outside(request *q) { q->layouts[0] = redist_flipped(q->layouts[0], 2); }
static void section_outside(request *q) {
  q->layouts[0] = redist_section(q->layouts[0], 1, 5, M, 1);
}
static void section_without_step(request *q) {
  q->layouts[0] = redist_section(q->layouts[0], 1, 0, M, 0);
}
static void other_shape(request *q) {
  destination(q, redist_whole(N), redist_block(M + 1, test_size()));
}
static void other_dimensions(request *q) {
  q->layouts[1] = redist_layout_1d(redist_block(N * M, test_size()));
}
static void rank_outside(request *q) { q->layouts[1] = redist_from_rank(q->layouts[1], 1); }
static void negative_rank(request *q) { q->layouts[0] = redist_from_rank(q->layouts[0], -1); }

static void rank_twice(request *q) {
  destination(q, redist_whole(N), redist_block(M, 2));
  q->layouts[1] = redist_replicated(redist_on_ranks(q->layouts[1], one_rank_twice), 2);
}

static void too_many(request *q) {
  const int64_t n = INT64_C(1) << 40;
  source(q, redist_block(n, test_size()), redist_whole(n));
  destination(q, redist_whole(n), redist_block(n, test_size()));
}

/* 2^61 bytes in all, but no rank holds so many. */
static void too_many_replicas(request *q) {
  const int64_t n = (INT64_C(1) << 58) / test_size() + 1;
  source(q, redist_whole(n), redist_whole(1));
  destination(q, redist_whole(n), redist_whole(1));
  q->layouts[1] = redist_replicated(q->layouts[1], test_size());
}

static void combine_nothing(request *q) { q->options.combine = redist_combine_axpby; }

static void combine_with(request *q, redist_combine *function, const void *context) {
  q->options.combine = function;
  q->options.context = (void *)(uintptr_t)context;
}
static void null_operation(request *q) {
  static const redist_op op = {MPI_OP_NULL, MPI_DOUBLE};
  combine_with(q, redist_combine_op, &op);
}
static void null_datatype(request *q) {
  static const redist_op op = {MPI_SUM, MPI_DATATYPE_NULL};
  combine_with(q, redist_combine_op, &op);
}
static void combined_ints(request *q) {
  static const redist_op op = {MPI_SUM, MPI_INT};
  combine_with(q, redist_combine_op, &op);
}

static void negative_axpby(request *q) {
  static const redist_axpby axpby = {(redist_number)-1, {1, 0}, {1, 0}, 0};
  combine_with(q, redist_combine_axpby, &axpby);
}
static void unknown_axpby(request *q) {
  static const redist_axpby axpby = {(redist_number)4, {1, 0}, {1, 0}, 0};
  combine_with(q, redist_combine_axpby, &axpby);
}
static void complex_axpby(request *q) {
  static const redist_axpby axpby = {REDIST_COMPLEX_DOUBLE, {1, 0}, {1, 0}, 0};
  combine_with(q, redist_combine_axpby, &axpby);
}

static void two_fixed(request *q) {
  q->options.fixed_from = q;
  q->options.arrays = 2;
}
static void combined_fixed(request *q) {
  static const redist_axpby axpby = {REDIST_DOUBLE, {1, 0}, {1, 0}, 0};
  combine_with(q, redist_combine_axpby, &axpby);
  q->options.fixed_to = q;
}

static void other_distribution(request *q) {
  destination(q, redist_whole(N), redist_cyclic(M, test_size()));
}
static void other_direction(request *q) { q->layouts[1] = redist_flipped(q->layouts[1], 1); }

static void other_order(request *q) {
  source(q, redist_block(M, test_size()), redist_whole(N));
  q->layouts[0] = redist_transposed(q->layouts[0]);
}

static const struct {
  const char *name;
  int code;
  void (*spoil)(request *);
  const char *says[2]; /* what the sentence must contain */
  int differs;         /* an error only if the ranks differ: needs a rank without it */
} faults[] = {
    {"no source", REDIST_ERR_ARGUMENT, no_source, {NULL, NULL}, 0},
    {"no destination", REDIST_ERR_ARGUMENT, no_destination, {NULL, NULL}, 0},
    {"method 99", REDIST_ERR_ARGUMENT, unknown_method, {"99", NULL}, 0},
    {"method -1", REDIST_ERR_ARGUMENT, negative_method, {NULL, NULL}, 0},
    {"effort 99", REDIST_ERR_ARGUMENT, unknown_effort, {"99", NULL}, 0},
    {"arrays -3", REDIST_ERR_ARGUMENT, negative_arrays, {"-3", NULL}, 0},
    {"max_buffer -5", REDIST_ERR_ARGUMENT, negative_staging, {"-5", NULL}, 0},
    {"block 0", REDIST_ERR_LAYOUT, no_block, {"axis 1", "0"}, 0},
    {"block -7", REDIST_ERR_LAYOUT, negative_block, {"axis 0", "-7"}, 0},
    {"no processes", REDIST_ERR_LAYOUT, no_processes, {"axis 1", "0"}, 0},
    {"length -5", REDIST_ERR_LAYOUT, negative_length, {"axis 0", "-5"}, 0},
    {"cuts that fall", REDIST_ERR_LAYOUT, cuts_fall, {"axis 1", "3"}, 0},
    {"owner -1",
     REDIST_ERR_LAYOUT,
     owner_outside,
     {"axis 1: the owner of index 6 is -1", "rank"},
     0},
    {"index 2 twice",
     REDIST_ERR_LAYOUT,
     index_twice,
     {"axis 1: index[2] and index[7] are 2", "7"},
     0},
    {"first coordinate 77", REDIST_ERR_LAYOUT, first_outside, {"axis 1", "77"}, 0},
    {"halo -2", REDIST_ERR_LAYOUT, negative_halo, {"axis 1", "-2"}, 0},
    {"extent 6 for 10 elements",
     REDIST_ERR_LAYOUT,
     small_extent,
     {"axis 1", "is 6, must be at least 10"},
     0},
    {"depth 3 of 2",
     REDIST_ERR_LAYOUT,
     depth_outside,
     {"destination axis 1: the depth of low ghost cells is 3", "at most 2"},
     0},
    {"depth without ghosts",
     REDIST_ERR_LAYOUT,
     depth_alone,
     {"source axis 0: a ghost depth of 1 and 0", "redist_with_ghosts"},
     0},
    {"blocks, partial", REDIST_ERR_LAYOUT, partial_blocks, {"source: only boxes", NULL}, 0},
    {"the first of two", REDIST_ERR_LAYOUT, two_mistakes, {"source: only boxes", NULL}, 0},
    {"axis 2 of 2", REDIST_ERR_LAYOUT, axis_outside, {"2", NULL}, 0},
    {"section past the end",
     REDIST_ERR_LAYOUT,
     section_outside,
     {"axis 1: the count of a section is 10", "at most 5"},
     0},
    {"section with step 0", REDIST_ERR_LAYOUT, section_without_step, {"axis 1", "0"}, 0},
    {"other shape", REDIST_ERR_SHAPE, other_shape, {"axis 1", "11"}, 0},
    {"other dimensions", REDIST_ERR_SHAPE, other_dimensions, {"1", "2"}, 0},
    {"rank outside", REDIST_ERR_RANK, rank_outside, {NULL, NULL}, 0},
    {"rank -1", REDIST_ERR_RANK, negative_rank, {"-1", NULL}, 0},
    {"rank twice", REDIST_ERR_RANK, rank_twice, {"0", NULL}, 0},
    {"2^80 elements", REDIST_ERR_OVERFLOW, too_many, {NULL, NULL}, 0},
    {"2^61 bytes of replicas", REDIST_ERR_OVERFLOW, too_many_replicas, {"2^61 bytes", NULL}, 0},
    {"vector type", REDIST_ERR_TYPE, vector, {NULL, NULL}, 0},
    {"resized type", REDIST_ERR_TYPE, resized, {NULL, NULL}, 0},
    {"type with a gap",
     REDIST_ERR_TYPE,
     gap,
     {"12 bytes from byte 0 on in an extent of 16", "MPI_Type_contiguous"},
     0},
    {"type that begins at byte 8", REDIST_ERR_TYPE, shifted, {NULL, NULL}, 0},
    {"no type", REDIST_ERR_TYPE, no_type, {NULL, NULL}, 0},
    {"combining without a context",
     REDIST_ERR_ARGUMENT,
     combine_nothing,
     {"options.context", "NULL"},
     0},
    {"combining by MPI_OP_NULL", REDIST_ERR_ARGUMENT, null_operation, {"is null", NULL}, 0},
    {"combining MPI_DATATYPE_NULL", REDIST_ERR_ARGUMENT, null_datatype, {"is null", NULL}, 0},
    {"combining ints", REDIST_ERR_ARGUMENT, combined_ints, {"8 bytes", "combined 4"}, 0},
    {"fixed arrays of two", REDIST_ERR_ARGUMENT, two_fixed, {"options.arrays is 2", NULL}, 0},
    {"fixed arrays, combined",
     REDIST_ERR_ARGUMENT,
     combined_fixed,
     {"fixed arrays do not go with options.combine", NULL},
     0},
    {"axpby of type -1", REDIST_ERR_ARGUMENT, negative_axpby, {"options.context is -1", NULL}, 0},
    {"axpby of type 4", REDIST_ERR_ARGUMENT, unknown_axpby, {"options.context is 4", NULL}, 0},
    {"axpby of complex", REDIST_ERR_ARGUMENT, complex_axpby, {"8 bytes", "combined 16"}, 0},
    {"other method", REDIST_ERR_MISMATCH, other_method, {NULL, NULL}, 1},
    {"other number of arrays", REDIST_ERR_MISMATCH, other_arrays, {NULL, NULL}, 1},
    {"in place on one rank", REDIST_ERR_MISMATCH, other_place, {NULL, NULL}, 1},
    {"other element size", REDIST_ERR_MISMATCH, other_size, {NULL, NULL}, 1},
    {"other distribution", REDIST_ERR_MISMATCH, other_distribution, {NULL, NULL}, 1},
    {"other direction", REDIST_ERR_MISMATCH, other_direction, {NULL, NULL}, 1},
    {"other order of the axes", REDIST_ERR_MISMATCH, other_order, {NULL, NULL}, 1},
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* Whether the sentence names what it should, and the only rank that has the error. */
static int sentence_is_good(const char *message, int fault, int bad_rank) {
  char name[32];
  int k;
  snprintf(name, sizeof name, "rank %d", bad_rank);
  for (k = 0; k < 2; k++)
    if (faults[fault].says[k] != NULL && strstr(message, faults[fault].says[k]) == NULL) return 0;
  return strlen(message) > 10 && (bad_rank < 0 || strstr(message, name) != NULL);
}

/* bad_rank -1: all ranks. */
static void check_fault(int fault, int bad_rank) {
  redist_plan *plan = (redist_plan *)(void *)&plan; /* anything but NULL */
  int64_t live = live_blocks;
  request q;
  int code, sentence;
  make_request(&q);
  if (bad_rank < 0 || bad_rank == test_rank()) faults[fault].spoil(&q);
  code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
  sentence = sentence_is_good(q.message, fault, faults[fault].differs ? -1 : bad_rank);
  test_case_all(code == faults[fault].code && plan == NULL && live_blocks == live,
                "%s on rank %d (-1: all): code %d (%s), plan %s, %ld blocks left",
                faults[fault].name, bad_rank, code, redist_strerror(code),
                plan == NULL ? "NULL" : "set", (long)(live_blocks - live));
  test_case_all(sentence, "%s on rank %d (-1: all), its sentence: %s", faults[fault].name, bad_rank,
                q.message);
  if (code == REDIST_OK) redist_plan_free(&plan);
  test_case_all(plan_works(), "a plan after %s on rank %d", faults[fault].name, bad_rank);
}

static void check_faults(void) {
  int k, last = test_size() - 1;
  for (k = 0; k < FAULTS; k++) {
    if (!faults[k].differs) check_fault(k, -1);
    if (last > 0) {
      check_fault(k, 0);
      check_fault(k, last);
    }
  }
}

/* ---- combining in place: views with different strides are refused ---- */

static void check_unlike(int flipped) {
  request q;
  redist_plan *plan = NULL;
  redist_op sum = {MPI_SUM, MPI_DOUBLE};
  int code;
  make_request(&q);
  q.layouts[1] = flipped ? redist_flipped(q.layouts[0], 1) : q.layouts[0];
  q.options.in_place = 1;
  q.options.combine = redist_combine_op;
  q.options.context = &sum;
  code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
  test_case_all(code == (flipped ? REDIST_ERR_ARGUMENT : REDIST_OK) && (plan == NULL) == flipped &&
                    (strstr(q.message, "in place needs views with identical strides") != NULL) ==
                        flipped,
                "combining in place, %s: code %d, %s", flipped ? "flipped" : "as it is", code,
                q.message);
  redist_plan_free(&plan);
}

/* ---- differences between ranks are named, down to the number in a table ---- */

static const int64_t cuts[2][3] = {{0, 4, M}, {0, 6, M}};
static const int ranks[2][2] = {{0, 1}, {1, 0}};
static const int64_t box_extents[2] = {N, M};
static const redist_box boxes[2][2] = {{{{0, 0}, {N, 4}}, {{0, 4}, {N, M}}},
                                       {{{0, 0}, {N, 5}}, {{0, 5}, {N, M}}}};

static void listed_cuts(request *q, int odd) {
  destination(q, redist_whole(N), redist_cuts(cuts[odd], 2));
}
static void other_owner(request *q, int odd) {
  static const int owner[2][M] = {{0, 1, 1, 0, 0, 1, 1, 0, 1, 0}, {0, 1, 1, 0, 1, 1, 1, 0, 1, 0}};
  destination(q, redist_whole(N), redist_owners(M, owner[odd], 2));
}
static void other_list(request *q, int odd) {
  static const int64_t begin[3] = {0, 4, M}, index[2][M] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                                                            {0, 1, 2, 3, 4, 5, 7, 6, 8, 9}};
  destination(q, redist_whole(N), redist_lists(M, begin, index[odd], 2));
}
static void other_begin(request *q, int odd) {
  static const int64_t begin[2][3] = {{0, 4, M}, {0, 5, M}},
                       index[M] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  destination(q, redist_whole(N), redist_lists(M, begin[odd], index, 2));
}
static void listed_boxes(request *q, int odd) {
  q->layouts[1] = redist_layout_boxes(2, box_extents, 2, boxes[odd]);
}
static void odd_cost(request *q, int odd) { q->options.cost.per_byte = odd ? 1e-20 : 1e-26; }

static void other_kind(request *q, int odd) {
  destination(q, redist_whole(N), odd ? redist_balanced(M, 2) : redist_block(M, 2));
}

static void listed_ranks(request *q, int odd) {
  destination(q, redist_whole(N), redist_block(M, 2));
  q->layouts[1] = redist_on_ranks(q->layouts[1], ranks[odd]);
}

static void other_depth(request *q, int odd) {
  q->layouts[1] = redist_with_ghosts(redist_with_halo(q->layouts[1], 1, 2, 3), 1, REDIST_CLOSED);
  q->layouts[1] = redist_ghost_depth(q->layouts[1], 1, 1, odd ? 3 : 2);
}
static void other_partial(request *q, int odd) {
  q->layouts[1] = redist_layout_boxes(2, box_extents, 2, boxes[0]);
  q->layouts[1] = odd ? redist_partial(q->layouts[1]) : q->layouts[1];
}

static void other_corners(request *q, int odd) {
  q->layouts[1] = redist_with_ghosts(redist_with_halo(q->layouts[1], 1, 2, 3), 1, REDIST_CLOSED);
  if (odd) q->layouts[1] = redist_without_corners(q->layouts[1]);
}

/* Layouts of many axes: more numbers than fit in one message. */
static void deep(request *q, int axes, int64_t high) {
  redist_axis x[REDIST_MAX_DIMS];
  int d;
  for (d = 0; d < axes; d++) x[d] = redist_whole(2);
  q->layouts[0] = redist_layout_nd(axes, x);
  q->layouts[1] = redist_with_halo(redist_layout_nd(axes, x), axes - 1, 0, high);
}

static void last_of_many(request *q, int odd) { deep(q, REDIST_MAX_DIMS, odd); }
static void fewer_axes(request *q, int odd) { deep(q, odd ? 1 : REDIST_MAX_DIMS, 0); }
static void more_axes(request *q, int odd) { deep(q, odd ? REDIST_MAX_DIMS : 1, 0); }

static const struct {
  void (*make)(request *, int odd);
  const char *says;
} differences[] = {
    {listed_cuts, "destination axis 1: cut 1 is 6, but 4 on rank 0"},
    {other_owner, "destination axis 1: the owner of index 4 is 1, but 0 on rank 0"},
    {other_list, "destination axis 1: the index at position 6 is 7, but 6 on rank 0"},
    {other_begin, "destination axis 1: the beginning of list 1 is 5, but 4 on rank 0"},
    {listed_boxes, "destination axis 1: the high end of box 0 is 5, but 4 on rank 0"},
    {other_kind, "destination axis 1: kind of blocks (0: cyclic, 1: balanced, 2: cuts, 3: owners, "
                 "4: lists) is 1, but 0 on rank 0"},
    {listed_ranks, "destination: the rank of place 0 is 1, but 0 on rank 0"},
    {odd_cost, "cost.per_byte"},
    {other_depth, "destination axis 1: high depth of the ghost cells is 3, but 2 on rank 0"},
    {other_partial, "destination: partial is 1, but 0 on rank 0"},
    {other_corners, "destination: without corners is 1, but 0 on rank 0"},
    {last_of_many, "destination axis 7: high halo is 1, but 0 on rank 0"},
    {fewer_axes, "source: number of axes is 1, but 8 on rank 0"},
    {more_axes, "source: number of axes is 8, but 1 on rank 0"},
};

static void check_differences(void) {
  const int last = test_size() - 1;
  size_t k;
  for (k = 0; last > 0 && k < sizeof differences / sizeof *differences; k++) {
    redist_plan *plan = NULL;
    char sentence[200];
    request q;
    int code;
    make_request(&q);
    differences[k].make(&q, test_rank() == last);
    snprintf(sentence, sizeof sentence, "rank %d: %s", last, differences[k].says);
    code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
    test_case_all(code == REDIST_ERR_MISMATCH && plan == NULL &&
                      strstr(q.message, sentence) != NULL,
                  "%s: code %d, %s", sentence, code, q.message);
  }
}

/* ---- memory of a plan besides its messages ---- */

static void check_size(void) {
  const int64_t bytes = live_bytes;
  redist_plan *plan = NULL;
  request q;
  int code, bystander = test_rank() > 0;
  make_request(&q);
  q.layouts[0] = q.layouts[1] = redist_layout_2d(redist_block(N, 1), redist_whole(M));
  code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
  test_case_all(code == REDIST_OK && (!bystander || live_bytes - bytes < 4300),
                "a plan without messages: %ld bytes", (long)(live_bytes - bytes));
  test_case_all(redist_plan_free(&plan) == REDIST_OK && live_bytes == bytes,
                "its memory is given back");
}

/* Errors that a rank detects before it can tell the others. */
static void check_local(void) {
  redist_plan *plan = NULL;
  request q;
  make_request(&q);
  test_case_all(redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, NULL) ==
                    REDIST_ERR_ARGUMENT,
                "nowhere to put the plan");
  test_case_all(redist_plan_create(MPI_COMM_NULL, q.from, q.to, q.type, &q.options, &plan) ==
                        REDIST_ERR_ARGUMENT &&
                    plan == NULL,
                "no communicator");
}

/* The sentence fits the caller's buffer, however small. */
static void check_message_size(void) {
  static const size_t sizes[] = {0, 1, 2, 12, 60};
  size_t k, b;
  for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    redist_plan *plan = NULL;
    request q;
    int code, good = 1;
    make_request(&q);
    no_block(&q);
    memset(q.message, 'x', sizeof q.message);
    q.options.message_size = sizes[k];
    code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
    for (b = sizes[k]; b < sizeof q.message; b++) good = good && q.message[b] == 'x';
    good = good && (sizes[k] == 0 || memchr(q.message, 0, sizes[k]) != NULL);
    test_case_all(code == REDIST_ERR_LAYOUT && good, "a message buffer of %d bytes: code %d",
                  (int)sizes[k], code);
  }
}

static void check_no_message(void) {
  redist_plan *plan = NULL;
  request q;
  make_request(&q);
  no_block(&q);
  q.options.message = NULL;
  test_case_all(redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan) ==
                    REDIST_ERR_LAYOUT,
                "no message buffer");
  test_case_all(redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, NULL, &plan) ==
                    REDIST_ERR_LAYOUT,
                "no options");
}

/* A method requested by name that needs more staging than allowed says how much it needs. */
static void check_staging(int method) {
  redist_plan *plan = NULL;
  request q;
  int code;
  if (test_size() == 1) return;
  make_request(&q);
  q.options.method = methods[method].method;
  q.options.max_buffer = 1;
  code = redist_plan_create(MPI_COMM_WORLD, q.from, q.to, q.type, &q.options, &plan);
  test_case_all(code == REDIST_ERR_MEMORY && plan == NULL &&
                    strpbrk(q.message, "23456789") != NULL && live_blocks == 0,
                "%s within one byte of staging: code %d, %s", methods[method].name, code,
                q.message);
}

static void check_sentences(void) {
  int a, b;
  for (a = REDIST_OK; a <= REDIST_ERR_MPI; a++) {
    int good = redist_strerror(a) != NULL && strlen(redist_strerror(a)) > 1;
    for (b = REDIST_OK; b < a; b++)
      good = good && strcmp(redist_strerror(a), redist_strerror(b)) != 0;
    test_case_all(good, "the sentence of code %d", a);
  }
  test_case_all(redist_strerror(12345) != NULL && redist_strerror(-1) != NULL,
                "sentences of codes that do not exist");
}

/* ---- running out of memory ---- */

/* The k-th allocation of one rank fails. Returns whether it was reached. */
static int allocation_fails(exchange *e, int k, int bad_rank) {
  int code, hit;
  until_failure = test_rank() == bad_rank ? k : -1;
  code = exchange_create(e);
  hit = test_sum(test_rank() == bad_rank && until_failure < 0);
  until_failure = -1;
  /* plans do without shared memory, or a schedule, that cannot be allocated */
  if (hit && code == REDIST_OK) {
    int good = exchange_is_right(e, k);
    good = redist_plan_free(&e->plan) == REDIST_OK && good;
    test_case_all(good && live_blocks == 0 && e->method != REDIST_POINT_TO_POINT &&
                      e->method != REDIST_ALLTOALLV && e->method != REDIST_ALLTOALLW,
                  "%s, %d arrays, falls back when allocation %d fails on rank %d: %ld blocks left",
                  method_name(e->method), e->count, k, bad_rank, (long)live_blocks);
  } else if (hit)
    test_case_all(code == REDIST_ERR_MEMORY && e->plan == NULL && live_blocks == 0 &&
                      strlen(e->message) > 10,
                  "%s, %d arrays, allocation %d fails on rank %d: code %d, %ld blocks left, %s",
                  method_name(e->method), e->count, k, bad_rank, code, (long)live_blocks,
                  e->message);
  else
    test_case_all(code == REDIST_OK, "%s with memory for %d allocations on rank %d: code %d",
                  method_name(e->method), k, bad_rank, code);
  return hit;
}

static void check_memory(int method, int variant, int bad_rank) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k = 0, good;
  exchange_rows(e, N, M, TEST_CYCLIC);
  if (variant == 3) { /* to rows distributed round-robin, with the source's storage order */
    exchange_axis(&e->arrays[1].axes[0], TEST_CYCLIC, N, e->size);
    exchange_axis(&e->arrays[1].axes[1], TEST_WHOLE, M, 1);
    exchange_describe(e);
  }
  e->method = methods[method].method;
  e->count = e->many = variant == 1 ? 2 : 1;
  e->in_place = variant >= 2;
  exchange_allocate(e);
  while (k < 1000 && allocation_fails(e, k, bad_rank)) k++;
  good = e->plan != NULL && exchange_is_right(e, k) && redist_plan_free(&e->plan) == REDIST_OK;
  test_case_all(k > 0 && good && live_blocks == 0, "%s after %d failed allocations on rank %d",
                methods[method].name, k, bad_rank);
  exchange_release(e);
  free(e);
}

/* ---- errors of execution: local, before anything is sent ---- */

static unsigned char elsewhere[8 * N * M];

static int same_array(exchange *e) { return redist_execute(e->plan, e->held[0][0], e->held[0][0]); }
static int overlap_above(exchange *e) {
  return redist_start(e->plan, e->held[0][0], e->held[0][0] + e->bytes);
}
static int overlap_below(exchange *e) {
  return redist_execute(e->plan, e->held[1][0] + e->bytes, e->held[1][0]);
}
static int null_source(exchange *e) { return redist_execute(e->plan, NULL, e->held[1][0]); }
static int null_destination(exchange *e) { return redist_start(e->plan, e->held[0][0], NULL); }
static int null_plan(exchange *e) { return redist_execute(NULL, e->held[0][0], e->held[1][0]); }
static int test_null_plan(exchange *e) { /* the flag is written nevertheless */
  int done = 1;
  const int code = redist_test(NULL, &done);
  (void)e;
  return done == 0 ? code : (int)REDIST_OK;
}
static int null_lists(exchange *e) { return redist_execute_many(e->plan, NULL, NULL); }
static int null_done(exchange *e) { return redist_test(e->plan, NULL); }
static int null_statistics(exchange *e) { return redist_plan_stats(e->plan, NULL); }
static int wait_idle(exchange *e) { return redist_wait(e->plan); }
static int test_idle(exchange *e) {
  int done;
  return redist_test(e->plan, &done);
}
static int start_again(exchange *e) { return redist_start(e->plan, e->held[0][0], e->held[1][0]); }
static int execute_started(exchange *e) {
  return redist_execute(e->plan, e->held[0][0], e->held[1][0]);
}
static int single_of_two(exchange *e) {
  return redist_execute(e->plan, e->held[0][0], e->held[1][0]);
}
static int other_source(exchange *e) { return redist_execute(e->plan, elsewhere, e->held[1][0]); }
static int other_destination(exchange *e) {
  return redist_start(e->plan, e->held[0][0], elsewhere);
}

static int free_started(exchange *e) {
  redist_plan *plan = e->plan;
  int code = redist_plan_free(&plan);
  return plan == e->plan ? code : -1;
}

static int two(exchange *e, unsigned char *from_0, unsigned char *from_1, unsigned char *to_0,
               unsigned char *to_1) {
  const void *from[2];
  void *to[2];
  from[0] = from_0;
  from[1] = from_1;
  to[0] = to_0;
  to[1] = to_1;
  return redist_execute_many(e->plan, from, to);
}

static int null_second(exchange *e) {
  return two(e, e->held[0][0], NULL, e->held[1][0], e->held[1][1]);
}
static int crosswise(exchange *e) {
  return two(e, e->held[0][0], e->held[0][1], e->held[1][0], e->held[0][0]);
}
static int one_destination(exchange *e) {
  return two(e, e->held[0][0], e->held[0][1], e->held[1][0], e->held[1][0]);
}

static const struct {
  const char *name;
  int code;
  int (*make)(exchange *);
  int arrays, fixed, started;
  const char *says; /* part of the plan's message; NULL: no plan, or an error of another kind */
} mistakes[] = {
    {"one array as source and destination", REDIST_ERR_ALIAS, same_array, 1, 0, 0,
     "source 0 and destination 0 overlap"},
    {"destination overlaps the source from above", REDIST_ERR_ALIAS, overlap_above, 1, 0, 0,
     "source 0 and destination 0 overlap"},
    {"destination overlaps the source from below", REDIST_ERR_ALIAS, overlap_below, 1, 0, 0,
     "overlap"},
    {"the second destination is the first source", REDIST_ERR_ALIAS, crosswise, 2, 0, 0,
     "source 0 and destination 1 overlap"},
    {"one destination for two sources", REDIST_ERR_ALIAS, one_destination, 2, 0, 0,
     "destinations 0 and 1 overlap"},
    {"NULL source", REDIST_ERR_ARGUMENT, null_source, 1, 0, 0, "source 0 is NULL"},
    {"NULL destination", REDIST_ERR_ARGUMENT, null_destination, 1, 0, 0, "destination 0 is NULL"},
    {"NULL plan", REDIST_ERR_ARGUMENT, null_plan, 1, 0, 0, NULL},
    {"test of a NULL plan", REDIST_ERR_ARGUMENT, test_null_plan, 1, 0, 0, NULL},
    {"NULL lists", REDIST_ERR_ARGUMENT, null_lists, 1, 0, 0, "list of source arrays is NULL"},
    {"NULL second source", REDIST_ERR_ARGUMENT, null_second, 2, 0, 0, "source 1 is NULL"},
    {"NULL flag", REDIST_ERR_ARGUMENT, null_done, 1, 0, 1, "`done`"},
    {"NULL statistics", REDIST_ERR_ARGUMENT, null_statistics, 1, 0, 0, NULL},
    {"one array to a plan for two", REDIST_ERR_ARGUMENT, single_of_two, 2, 0, 0,
     "the plan moves 2 arrays: call redist_execute_many"},
    {"wait without start", REDIST_ERR_BUSY, wait_idle, 1, 0, 0, "nothing is started"},
    {"test without start", REDIST_ERR_BUSY, test_idle, 1, 0, 0, "nothing is started"},
    {"start twice", REDIST_ERR_BUSY, start_again, 1, 0, 1,
     "not yet complete: call redist_wait first"},
    {"execute after start", REDIST_ERR_BUSY, execute_started, 1, 0, 1,
     "not yet complete: call redist_wait first"},
    {"free after start", REDIST_ERR_BUSY, free_started, 1, 0, 1, "before redist_plan_free"},
    {"source is not the fixed one", REDIST_ERR_BUFFER, other_source, 1, 1, 0,
     "the source is not the array that options.fixed_from gave"},
    {"destination is not the fixed one", REDIST_ERR_BUFFER, other_destination, 1, 1, 0,
     "the destination is not the array that options.fixed_to gave"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* Makes the mistake, and then a correct execution. */
static void check_mistake(exchange *e, int mistake, int bad_rank) {
  int made = mistakes[mistake].code, code = REDIST_OK, said = 1, good;
  exchange_prepare(e, mistake);
  if (mistakes[mistake].started) code = exchange_start(e);
  if (bad_rank < 0 || bad_rank == test_rank()) {
    made = mistakes[mistake].make(e);
    said = mistakes[mistake].says == NULL ||
           strstr(redist_plan_message(e->plan), mistakes[mistake].says) != NULL;
  }
  test_case_all(said, "%s: %s", mistakes[mistake].name, redist_plan_message(e->plan));
  if (mistakes[mistake].started)
    good = code == REDIST_OK && redist_wait(e->plan) == REDIST_OK && exchange_arrived(e, mistake);
  else
    good = exchange_run(e) == REDIST_OK && exchange_arrived(e, mistake);
  test_case_all(made == mistakes[mistake].code && good,
                "%s on rank %d (-1: all), %s: code %d, then %s", mistakes[mistake].name, bad_rank,
                method_name(e->method), made, good ? "right" : "wrong");
}

static void check_mistakes(int method) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k;
  for (k = 0; k < MISTAKES; k++) {
    exchange_rows(e, N, M, TEST_CYCLIC);
    e->method = methods[method].method;
    e->count = e->many = mistakes[k].arrays;
    e->fixed = mistakes[k].fixed;
    e->way = START_WAIT;
    exchange_allocate(e);
    if (test_sum(exchange_create(e) == REDIST_OK) == test_size()) {
      test_case_all(strcmp(redist_plan_message(e->plan), "") == 0 &&
                        strlen(redist_plan_message(NULL)) > 10,
                    "no mistake yet");
      check_mistake(e, k, -1);
      check_mistake(e, k, test_size() - 1);
      test_case_all(redist_plan_free(&e->plan) == REDIST_OK && e->plan == NULL,
                    "plan freed after: %s", mistakes[k].name);
    } else {
      test_case_all(0, "plan for: %s: %s", mistakes[k].name, e->message);
    }
    exchange_release(e);
  }
  free(e);
}

/* ---- arrays that overlap: every pair, by brute force ---- */

enum { MOST_ARRAYS = 5, CELLS = 40 };

/* What an execution is refused for: sources i, destinations n + j. padded: addresses alone tell. */
typedef struct {
  int n, parts, in_place, overwrites, padded[2 * MOST_ARRAYS];
  int64_t at[2 * MOST_ARRAYS], length[2 * MOST_ARRAYS]; /* elements */
} arrangement;

static int pair_is_refused(const arrangement *a, int i, int j) {
  const int equal = a->at[i] == a->at[j], reads = i < a->n;
  const int overlap = a->padded[i] || a->padded[j] ? equal
                                                   : a->at[i] < a->at[j] + a->length[j] &&
                                                         a->at[j] < a->at[i] + a->length[i];
  if (a->length[i] == 0 || a->length[j] == 0 || !overlap || (reads && a->overwrites)) return 0;
  if (a->parts && equal && (a->in_place || !reads)) return 0;
  return !(equal && a->in_place && j == i + a->n);
}

static int is_refused(const arrangement *a) {
  int i, j, refused = 0;
  for (i = 0; i < 2 * a->n; i++)
    for (j = i < a->n ? a->n : i + 1; j < 2 * a->n; j++) refused |= pair_is_refused(a, i, j);
  return refused;
}

/* Whether the message names two arrays that must not be used together. */
static int names_a_pair(const arrangement *a, const char *message) {
  int i, j;
  if (sscanf(message, "source %d and destination %d overlap", &i, &j) == 2)
    return pair_is_refused(a, i, a->n + j);
  return sscanf(message, "destinations %d and %d overlap", &i, &j) == 2 &&
         pair_is_refused(a, a->n + i, a->n + j);
}

/* A plan of this rank alone for arrays as arranged, in place with a layout and the same with ghosts, or
   with its elements in reversed order. */
static redist_plan *plan_of(test_random *r, arrangement *a) {
  redist_layout layout[2 * MOST_ARRAYS];
  redist_part part[MOST_ARRAYS];
  redist_options options;
  redist_plan *plan = NULL;
  int k, side;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  a->n = (int)test_between(r, 1, MOST_ARRAYS);
  a->parts = a->n > 1 && test_one_in(r, 2);
  options.in_place = a->in_place = !test_one_in(r, 3);
  options.arrays = a->parts ? 0 : a->n;
  options.method = REDIST_POINT_TO_POINT;
  a->overwrites = a->in_place && test_one_in(r, 2);
  for (k = 0; k < a->n; k++) {
    const int64_t n = test_between(r, 0, 5) * (k == 0 || a->parts),
                  room = n + test_between(r, 0, 3);
    const int padded = test_one_in(r, 3);
    for (side = 0; side < 2; side++) {
      redist_layout *x = &layout[2 * k + side];
      *x = redist_layout_1d(redist_whole(n));
      if (padded && n > 0) *x = redist_with_allocated(*x, 0, room);
      if (side == 1 && a->overwrites && n > 0) *x = redist_flipped(*x, 0);
      a->padded[side * a->n + k] = k > 0 && !a->parts ? a->padded[side * a->n] : padded && n > 0;
      a->length[side * a->n + k] = k > 0 && !a->parts ? a->length[side * a->n] : n;
    }
    part[k].from = &layout[2 * k];
    part[k].to = &layout[2 * k + 1];
    part[k].element = MPI_DOUBLE;
  }
  if (redist_plan_create_parts(MPI_COMM_SELF, a->parts ? a->n : 1, part, &options, &plan) ==
      REDIST_OK)
    a->overwrites = test_overwrites(plan);
  return plan;
}

static void check_overlaps(void) {
  static double cells[CELLS];
  const void *arrays[2 * MOST_ARRAYS];
  test_random r = {4711};
  arrangement a;
  int trial, k, code, refused[2] = {0, 0}, good = 1;
  for (trial = 0; trial < 4000 && good; trial++) {
    redist_plan *plan = plan_of(&r, &a);
    good = plan != NULL;
    for (k = 0; k < 2 * a.n && good; k++) {
      const int again = k > 0 && test_one_in(&r, 2);
      a.at[k] = again ? a.at[test_between(&r, 0, k - 1)] : test_between(&r, 0, CELLS - 9);
      arrays[k] = &cells[a.at[k]];
    }
    code = good ? test_check_aliases(plan, arrays) : -1;
    good = good && code == (is_refused(&a) ? REDIST_ERR_ALIAS : REDIST_OK) &&
           (code == REDIST_OK || names_a_pair(&a, redist_plan_message(plan)));
    if (good) refused[code != REDIST_OK]++;
    test_case(good, "arrays that overlap, %d of %d, parts %d: code %d, %s", trial, a.n, a.parts,
              code, redist_plan_message(plan));
    redist_plan_free(&plan);
  }
  test_case(refused[0] > 500 && refused[1] > 500, "%d arrangements good, %d refused", refused[0],
            refused[1]);
}

/* The same arrays are checked once. */
static void check_once(void) {
  const redist_layout x = redist_layout_1d(redist_whole(4));
  double from[4] = {0}, to[5] = {0};
  redist_plan *plan = NULL;
  void *extent;
  int good = redist_plan_create(MPI_COMM_SELF, &x, &x, MPI_DOUBLE, NULL, &plan) == REDIST_OK;
  good = good && !test_is_checked(plan) && redist_execute(plan, from, to) == REDIST_OK &&
         test_is_checked(plan);
  good = good && redist_execute(plan, to, to + 1) == REDIST_ERR_ALIAS && !test_is_checked(plan);
  good = good && redist_execute(plan, to, to + 1) == REDIST_ERR_ALIAS;
  good = good && redist_execute(plan, NULL, to) == REDIST_ERR_ARGUMENT && !test_is_checked(plan);
  good = good && redist_execute(plan, from, to + 1) == REDIST_OK && test_is_checked(plan);
  test_case(good, "arrays are checked when they change");
  if (!good) return;
  extent = test_swap_extent(plan, NULL); /* a check would write there */
  test_case(redist_execute(plan, from, to + 1) == REDIST_OK, "the same arrays are checked once");
  test_swap_extent(plan, extent);
  redist_plan_free(&plan);
}

/* A double at byte 8 of a type of extent 8: size and extent agree, but the element is elsewhere. */
static void make_shifted_type(void) {
  const int length = 1;
  const MPI_Aint place = 8;
  const MPI_Datatype type = MPI_DOUBLE;
  MPI_Datatype placed;
  MPI_Type_create_struct(1, &length, &place, &type, &placed);
  MPI_Type_create_resized(placed, 0, 8, &shifted_type);
  MPI_Type_commit(&shifted_type);
  MPI_Type_free(&placed);
}

static void make_types(void) {
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector_type);
  MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &resized_type);
  MPI_Type_create_struct(2, lengths, places, types, &gap_type);
  MPI_Type_commit(&vector_type);
  MPI_Type_commit(&resized_type);
  MPI_Type_commit(&gap_type);
  make_shifted_type();
}

static void free_types(void) {
  MPI_Type_free(&vector_type);
  MPI_Type_free(&resized_type);
  MPI_Type_free(&gap_type);
  MPI_Type_free(&shifted_type);
}

int main(int count, char **arguments) {
  int method, variant, status;
  MPI_Init(&count, &arguments);
  make_types();
  check_faults();
  check_unlike(0);
  check_unlike(1);
  check_differences();
  check_size();
  check_local();
  check_message_size();
  check_no_message();
  check_staging(1);
  check_staging(3);
  check_sentences();
  for (method = 0; method < METHODS; method++) {
    /* it is slow there */
    const int few = methods[method].method == REDIST_SHARED && test_size() > 2;
    const int variants = few ? 1 : count > 1 ? atoi(arguments[1]) : 4;
    for (variant = 0; variant < variants; variant++)
      check_memory(method, variant, variant == 0 ? 0 : test_size() - 1);
    check_mistakes(method);
  }
  if (test_rank() == 0) {
    check_overlaps();
    check_once();
  }
  free_types();
  status = test_report_all("plan_errors");
  MPI_Finalize();
  return status;
}
