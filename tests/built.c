/* redist tests: layouts that no builder made, or made in a file with another REDIST_MAX_DIMS, are
   refused everywhere. MIT licence, see LICENSE. */
#include "redist_plan.h"
#include "test_mpi.h"

#ifdef FOREIGN_DIMS /* marks.sh links a file of another REDIST_MAX_DIMS or version */
const redist_layout *foreign_layout(void);
#endif

typedef struct {
  const char *name;
  redist_layout *layout; /* allocated, so that tools detect reads outside it */
} suspect;

static redist_layout good_layout(void) {
  return redist_layout_2d(redist_block(12, test_size()), redist_whole(10));
}

/* Functions of one layout. */
static void check_queries(const suspect *s) {
  const redist_layout *x = s->layout;
  const int64_t index[REDIST_MAX_DIMS] = {0};
  int coords[REDIST_MAX_DIMS] = {0};
  char text[200] = "";
  test_case(redist_layout_check(x) == REDIST_ERR_LAYOUT &&
                redist_layout_explain(x, text, sizeof text) == REDIST_ERR_LAYOUT,
            "%s is a layout", s->name);
  test_case(strlen(text) > 10, "%s: no sentence", s->name);
  test_case(redist_layout_places(x) == 0 && redist_layout_rank(x, coords) == -1 &&
                redist_layout_coords(x, 0, coords) == 0 && redist_layout_owner(x, index) == -1 &&
                redist_layout_offset(x, index) == -1 && redist_layout_local_size(x, 0) == 0,
            "%s has places", s->name);
  test_case(redist_layout_format(x, text, sizeof text) == -1 &&
                redist_layout_print(x, stdout) == REDIST_ERR_LAYOUT,
            "%s is written", s->name);
}

/* Functions of two layouts, of which one or both are invalid. */
static void check_pair(const char *name, const redist_layout *from, const redist_layout *to) {
  redist_layout between[2];
  redist_cost cost = {1, 1};
  redist_traffic traffic;
  redist_schedule *schedule;
  int ranks[8] = {0}, stops = -1;
  int64_t elements = 0;
  double seconds = 0;
  const void *sources[1] = {NULL};
  void *targets[1] = {NULL};
  test_case(redist_traffic_between(from, to, 0, &traffic) == REDIST_ERR_LAYOUT &&
                redist_volume(from, 0, to, 0, &elements) == REDIST_ERR_LAYOUT && elements == -1,
            "%s: traffic", name);
  test_case(redist_schedule_create(from, to, 0, &schedule) == REDIST_ERR_LAYOUT &&
                redist_schedule_steps(schedule) == 0,
            "%s: schedule", name);
  test_case(redist_relabel(from, to, 0, ranks) == REDIST_ERR_LAYOUT, "%s: relabelled", name);
  test_case(redist_phases(from, to, 8, &cost, 2, between, &stops) == REDIST_ERR_LAYOUT &&
                stops == 0 && redist_cost_of(from, to, 8, &cost, &seconds) == REDIST_ERR_LAYOUT &&
                seconds == -1,
            "%s: phases", name);
  test_case(redist_move(from, sources, to, targets, 8) == REDIST_ERR_LAYOUT, "%s: moved", name);
}

static void check_plan(const char *name, const redist_layout *from, const redist_layout *to) {
  redist_plan *plan = NULL;
  redist_options options;
  char message[300] = "";
  int code;
  memset(&options, 0, sizeof options);
  options.method = REDIST_POINT_TO_POINT;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan);
  test_case_all(code == REDIST_ERR_LAYOUT && plan == NULL && strstr(message, ": ") != NULL,
                "%s: planned, code %d: %s", name, code, message);
}

static void check_suspect(const suspect *s) {
  const redist_layout good = good_layout();
  if (test_rank() == 0) {
    check_queries(s);
    check_pair(s->name, s->layout, &good);
    check_pair(s->name, &good, s->layout);
    check_pair(s->name, s->layout, s->layout);
  }
  check_plan(s->name, s->layout, &good);
  check_plan(s->name, &good, s->layout);
}

/* Builders accept invalid layouts, and their results are refused, too. */
static void check_builders(const suspect *s) {
  const int ranks[8] = {0};
  redist_layout made[18];
  int axes[REDIST_MAX_DIMS], k, n = 0;
  for (k = 0; k < REDIST_MAX_DIMS; k++) axes[k] = k;
  made[n++] = redist_grid_order(*s->layout, REDIST_COLUMN_MAJOR);
  made[n++] = redist_memory_order(*s->layout, REDIST_COLUMN_MAJOR);
  made[n++] = redist_from_rank(*s->layout, 1);
  made[n++] = redist_on_ranks(*s->layout, ranks);
  made[n++] = redist_replicated(*s->layout, 2);
  made[n++] = redist_with_halo(*s->layout, 1, 1, 1);
  made[n++] = redist_with_allocated(*s->layout, 0, 100);
  made[n++] = redist_permuted(*s->layout, axes);
  made[n++] = redist_transposed(*s->layout);
  made[n++] = redist_flipped(*s->layout, 0);
  made[n++] = redist_rotated(*s->layout, 1);
  made[n++] = redist_section(*s->layout, 0, 1, 2, 1);
  made[n++] = redist_with_ghosts(*s->layout, 0, REDIST_PERIODIC);
  made[n++] = redist_ghost_depth(*s->layout, 0, 0, 0);
  made[n++] = redist_without_corners(*s->layout);
  made[n++] = redist_partial(*s->layout);
  made[n++] = redist_split(*s->layout, 0, 1);
  made[n++] = redist_merged(*s->layout, 0);
  for (k = 0; k < n; k++)
    test_case(redist_layout_check(&made[k]) == REDIST_ERR_LAYOUT, "%s: builder %d made a layout",
              s->name, k);
}

static void check_random_axis(test_random *r) {
  redist_axis x;
  redist_layout layout;
  unsigned char *byte = (unsigned char *)&x;
  size_t b;
  for (b = 0; b < sizeof x; b++) byte[b] = (unsigned char)test_next(r);
  layout = redist_layout_2d(redist_starting_at(x, 0), redist_whole(3));
  test_case(redist_layout_check(&layout) == REDIST_ERR_LAYOUT, "an axis of random bytes");
}

static void check_random(test_random *r, int kept_bytes) {
  redist_layout *x = malloc(sizeof *x);
  unsigned char *byte = (unsigned char *)x;
  suspect s = {"random bytes", NULL};
  size_t b;
  s.layout = x;
  *x = good_layout();
  for (b = (size_t)kept_bytes; b < sizeof *x; b++) byte[b] = (unsigned char)test_next(r);
  check_suspect(&s);
  check_builders(&s);
  free(x);
}

static void check_zeros(void) {
  redist_layout *x = calloc(1, sizeof *x);
  suspect s = {"zeros", NULL};
  char text[200] = "";
  s.layout = x;
  check_suspect(&s);
  check_builders(&s);
  redist_layout_explain(x, text, sizeof text);
  test_case(strstr(text, "never built") != NULL, "zeros: %s", text);
  free(x);
}

static void check_foreign(void) {
#ifdef FOREIGN_DIMS
  const redist_layout *foreign = foreign_layout();
  suspect s = {"a layout of another file", NULL};
  char text[200] = "", there[80];
  s.layout = (redist_layout *)(uintptr_t)foreign;
  check_suspect(&s);
  redist_layout_explain(foreign, text, sizeof text);
  snprintf(there, sizeof there, "redist %d and REDIST_MAX_DIMS %d, here %d and %d", FOREIGN_MAJOR,
           FOREIGN_DIMS, REDIST_VERSION_MAJOR, REDIST_MAX_DIMS);
  test_case(strstr(text, there) != NULL, "a layout of another file: %s", text);
#endif
}

int main(int argc, char **argv) {
  test_random r = {5};
  int k, status;
  MPI_Init(&argc, &argv);
  check_zeros();
  for (k = 0; k < 50; k++) check_random(&r, k % 5); /* some bytes of the mark are right by chance */
  for (k = 0; k < 1000; k++) check_random_axis(&r);
  check_foreign();
  status = test_report_all("built");
  MPI_Finalize();
  return status;
}
