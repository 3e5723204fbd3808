/* redist tests: properties of plans besides moving data: statistics, memory, independence, pieces,
   threads. MIT licence, see LICENSE. */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t live_bytes, allocations;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

enum { PREFIX = 64 };

static void count_bytes(int64_t bytes) {
  pthread_mutex_lock(&counting);
  live_bytes += bytes;
  allocations += bytes > 0;
  pthread_mutex_unlock(&counting);
}

/* Every block is preceded by its size. */
static void *counted_malloc(size_t bytes) {
  unsigned char *block = malloc(bytes + PREFIX);
  if (block == NULL) return NULL;
  memcpy(block, &bytes, sizeof bytes);
  count_bytes((int64_t)bytes);
  return block + PREFIX;
}

static void counted_free(void *block) {
  size_t bytes;
  if (block == NULL) return;
  memcpy(&bytes, (unsigned char *)block - PREFIX, sizeof bytes);
  count_bytes(-(int64_t)bytes);
  free((unsigned char *)block - PREFIX);
}

/* The largest count passed to MPI: small here, so that the code for large messages runs. */
static int largest_count = INT_MAX;

#define REDIST_MALLOC counted_malloc
#define REDIST_FREE counted_free
#define REDIST_MAX_COUNT largest_count

#include "exchange.h"

static const struct {
  const char *name;
  redist_method method;
  int dear; /* sets up shared memory, which takes long when ranks outnumber cores */
} methods[] = {{"automatic", REDIST_AUTO, 1},       {"alltoallv", REDIST_ALLTOALLV, 0},
               {"alltoallw", REDIST_ALLTOALLW, 0},  {"point to point", REDIST_POINT_TO_POINT, 0},
               {"shared", REDIST_SHARED, 1},        {"scheduled", REDIST_SCHEDULED, 0},
               {"multiphase", REDIST_MULTIPHASE, 1}};
enum { METHODS = sizeof methods / sizeof *methods, SCHEDULED = METHODS - 2 };

/* Whether method m is tested in case k: expensive ones in every case on up to 2 ranks, on more in
   every sixth. */
static int is_due(int m, int k) { return test_size() <= 2 || !methods[m].dear || (k + m) % 6 == 0; }

/* Frees the plan and the exchange's arrays; whether the library gave back all its memory. */
static int finish(exchange *e) {
  int code = e->plan == NULL ? REDIST_OK : redist_plan_free(&e->plan);
  exchange_release(e);
  return code == REDIST_OK && e->plan == NULL;
}

/* ---- statistics ---- */

static int stats_agree(const exchange *e, const redist_stats *s) {
  int64_t sends = 0, receives = 0, sent = 0, received = 0, each = (int64_t)e->bytes * e->count;
  int other;
  for (other = 0; other < e->size; other++) {
    int64_t out = test_volume(&e->layouts[0], e->rank, &e->layouts[1], other);
    int64_t in = test_volume(&e->layouts[0], other, &e->layouts[1], e->rank);
    if (other == e->rank) continue;
    sends += out > 0;
    receives += in > 0;
    sent += out * each;
    received += in * each;
  }
  return s->sends == sends && s->receives == receives && s->bytes_sent == sent &&
         s->bytes_received == received &&
         s->bytes_local == test_volume(&e->layouts[0], e->rank, &e->layouts[1], e->rank) * each &&
         s->buffer_bytes >= 0;
}

/* Whether the statistics of all ranks add up to the traffic on paper. */
static int stats_add_up(const exchange *e, const redist_stats *s) {
  redist_traffic t = {0, 0, 0, 0, 0, 0, 0, 0};
  int each = (int)e->bytes * e->count;
  int code = redist_traffic_between(&e->layouts[0], &e->layouts[1], 0, &t);
  int sends = test_sum((int)s->sends), receives = test_sum((int)s->receives),
      kept = test_sum((int)s->bytes_local);
  int sent = test_sum((int)s->bytes_sent);
  return code == REDIST_OK && sends == t.messages && receives == t.messages &&
         kept == t.local * each && sent == t.moved * each;
}

/* The most messages that any rank sends or receives, that to itself included; 1 if there are
   none. */
static int most_steps(const exchange *e) {
  int most = 1, rank, other;
  for (rank = 0; rank < e->size; rank++) {
    int out = 0, in = 0;
    for (other = 0; other < e->size; other++) {
      out += test_volume(&e->layouts[0], rank, &e->layouts[1], other) > 0;
      in += test_volume(&e->layouts[0], other, &e->layouts[1], rank) > 0;
    }
    most = out > most ? out : most;
    most = in > most ? in : most;
  }
  return most;
}

/* Whether the method is the requested one; without exchanges, shared memory is not needed. */
static int has_method(const exchange *e, const redist_stats *s) {
  redist_traffic t = {0, 0, 0, 0, 0, 0, 0, 0};
  if (e->method == REDIST_AUTO) return s->method != REDIST_AUTO;
  redist_traffic_between(&e->layouts[0], &e->layouts[1], 0, &t);
  return s->method == e->method || (e->method == REDIST_SHARED && t.messages == 0);
}

static void check_stats(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_stats s;
  int k, m, code, agree, total, named, steps_right;
  for (k = 0; k < 15; k++)
    for (m = 0; m < METHODS; m++) {
      if (!is_due(m, k)) continue;
      exchange_draw(e, 5000 + (uint64_t)k);
      e->method = methods[m].method;
      e->count = e->many = k % 3 == 0 ? 3 : 1;
      memset(&s, 0, sizeof s);
      exchange_allocate(e);
      code = exchange_create(e);
      if (code == REDIST_OK) code = redist_plan_stats(e->plan, &s);
      named = has_method(e, &s);
      agree = s.phases > 1 || stats_agree(e, &s);
      total = s.phases > 1 || stats_add_up(e, &s);
      steps_right = m != SCHEDULED || s.steps == most_steps(e);
      test_case_all(finish(e) && code == REDIST_OK && named && agree && total && steps_right,
                    "statistics of pair %d, %s: code %d, %s, sends %ld, sent %ld", k,
                    methods[m].name, code, named ? "method right" : "method wrong", (long)s.sends,
                    (long)s.bytes_sent);
    }
  free(e);
}

/* One report, by rank 0 alone, that ends a line. */
static void check_print(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int m;
  for (m = 0; m < METHODS; m++) {
    FILE *file = tmpfile();
    long first = -1, second = -1;
    int good, last = '\n';
    exchange_rows(e, 23, 31, TEST_CYCLIC);
    e->method = methods[m].method;
    exchange_allocate(e);
    good = file != NULL && exchange_create(e) == REDIST_OK &&
           redist_plan_print(e->plan, file) == REDIST_OK;
    if (good) {
      first = ftell(file);
      good = redist_plan_print(e->plan, file) == REDIST_OK;
      second = ftell(file);
      if (second > 0 && fseek(file, -1, SEEK_END) == 0) last = fgetc(file);
    }
    good = good &&
           (e->rank == 0 ? first > 0 && second == 2 * first && last == '\n' : second == 0) &&
           exchange_is_right(e, 1);
    test_case_all(finish(e) && good, "report of a plan, %s: %ld characters, then %ld",
                  methods[m].name, first, second);
    if (file != NULL) fclose(file);
  }
  free(e);
}

/* Writes what rank 0 reports of a plan into text[size], "" on other ranks; whether that worked. */
static int report_of(redist_plan *plan, char *text, size_t size) {
  FILE *file = tmpfile();
  const int good = file != NULL && redist_plan_print(plan, file) == REDIST_OK;
  memset(text, 0, size);
  if (file == NULL) return 0;
  rewind(file);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
  return good;
}

/* Both sides are reported as they were given, though what one view merges is joined on both. */
static void check_printed_views(void) {
  const redist_layout sides[2] = {
      redist_merged(redist_layout_3d(redist_whole(14), redist_block(12, test_size()),
                                     redist_whole(10)),
                    1),
      redist_section(redist_layout_2d(redist_whole(14), redist_balanced(130, test_size())), 1, 10,
                     120, 1)};
  redist_plan *plan = NULL;
  char text[4000] = "", line[2][400] = {"  from      ", "  to        "};
  int side, back, good;
  for (back = 0; back < 2; back++) {
    good = redist_plan_create(MPI_COMM_WORLD, &sides[back], &sides[!back], MPI_DOUBLE, NULL,
                              &plan) == REDIST_OK &&
           report_of(plan, text, sizeof text);
    for (side = 0; side < 2; side++) {
      good = good && redist_layout_format(&sides[side ^ back], line[side] + 12, 380) > 0;
      strcat(line[side], "\n");
      good = good && (test_rank() != 0 || strstr(text, line[side]) != NULL);
    }
    test_case_all(good, "report of merged axes: %s, has no lines '%s%s'", text, line[0], line[1]);
    redist_plan_free(&plan);
  }
}

/* How often a text contains another. */
static int occurrences(const char *text, const char *what) {
  int n = 0;
  for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what)) n++;
  return n;
}

/* Whether a report has one prediction of direct messages (without them: none), on costs that it
   names, and no number that stands for what is not known. */
static int is_consistent(const char *text, int predicted) {
  const char *costs = strstr(text, "\n  costs     ");
  double message = 0, byte = 0;
  int numbers = costs == NULL ? 0
                              : sscanf(costs + 1, " costs %lf s per message, %lf s per byte",
                                       &message, &byte);
  const int named =
      strstr(text, "too little per byte to measure") != NULL ? numbers == 1 : numbers == 2;
  return test_rank() > 0 ||
         (occurrences(text, "  REDIST_POINT_TO_POINT  ") == predicted &&
          (predicted ? named && message > 1e-12 : costs == NULL) && (numbers < 2 || byte > 1e-14) &&
          strstr(text, " direct ") == NULL &&
          occurrences(text, "s predicted\n") == occurrences(text, "s predicted") &&
          strstr(text, " 0 s ") == NULL && strstr(text, " 0 ns ") == NULL);
}

/* Predictions of a report, where the network is assumed, given, measured, or too noisy to measure,
   or messages are asked for by name; where cores answered, or not. */
static void check_predictions(void) {
  enum { TIMES = 9 };
  const redist_layout rows = redist_layout_2d(redist_block(24, test_size()), redist_whole(20));
  const redist_layout columns = redist_layout_2d(redist_whole(24), redist_block(20, test_size()));
  static const char *const source[] = {"(assumed, not measured)", "(given by options.cost)",
                                       "(measured)", "too little per byte to measure (measured)",
                                       "(assumed, not measured)"};
  int64_t noise[TIMES + 1];
  int k;
  for (k = 0; k <= TIMES; k++) noise[k] = k == 0 ? 1000000 : 900000;
  for (k = 0; k < (test_size() < 4 ? 1 : 5); k++) {
    char text[4096] = "";
    redist_options options;
    redist_plan *plan = NULL;
    int code, unmeasured = 0;
    memset(&options, 0, sizeof options);
    options.node_ranks = k > 0 ? 2 : test_size();
    options.method = k == 4 ? REDIST_POINT_TO_POINT : REDIST_AUTO;
    options.cost.per_message = options.cost.per_byte = k == 1 ? 1e-5 : 0;
    code = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options, &plan);
    if (code == REDIST_OK && k == 3) {
      redist_priv_fit_network(noise, TIMES - 1, 131064, &plan->network);
      redist_priv_predict(plan, 0);
    }
    if (code == REDIST_OK && plan->rings != NULL && k == 0) {
      plan->rings->home->distance = 0;
      unmeasured = 1;
    }
    test_case_all(code == REDIST_OK && report_of(plan, text, sizeof text) &&
                      is_consistent(text, test_size() > 1) &&
                      (test_rank() > 0 || test_size() == 1 ||
                       (strstr(text, source[k]) != NULL &&
                        (strstr(text, "cores     not measured") != NULL || !unmeasured))),
                  "predictions %s: code %d\n%s", source[k], code, text);
    redist_plan_free(&plan);
  }
}

/* Counts, one by one, the elements of two views of 12 x 5 that stay on their rank, but change their
   offset. */
static int64_t count_shifted(const redist_layout *from, const redist_layout *to) {
  int64_t index[2], shifted = 0;
  for (index[0] = 0; index[0] < 12; index[0]++)
    for (index[1] = 0; index[1] < 5; index[1]++)
      shifted += redist_layout_owner(from, index) == redist_layout_owner(to, index) &&
                 redist_layout_offset(from, index) != redist_layout_offset(to, index);
  return shifted;
}

/* The report of a plan in place, and of no other, says how many elements are copied within their
   arrays: those whose offset changes, and at most `most` others, in runs that change. */
static void check_print_in_place(const redist_layout *from, const redist_layout *to, int in_place,
                                 int most, const char *what) {
  static const char before[] = "\n  in place  ",
                    after[] = " elements that stay on their ranks are copied to where";
  char text[2048] = "", *said, *end = text;
  const int64_t shifted = count_shifted(from, to);
  redist_options options;
  redist_plan *plan = NULL;
  int64_t copied = -1;
  int good;
  memset(&options, 0, sizeof options);
  options.in_place = in_place;
  good = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
         report_of(plan, text, sizeof text);
  said = strstr(text, before);
  if (said != NULL) copied = strtol(said + sizeof before - 1, &end, 10);
  if (test_rank() == 0 && in_place)
    good = good && copied >= shifted && copied <= shifted + most &&
           strncmp(end, after, sizeof after - 1) == 0;
  else
    good = good && said == NULL;
  good = redist_plan_free(&plan) == REDIST_OK && good;
  test_case_all(good, "%s: %ld elements change their offset, the report:\n%s", what, (long)shifted,
                text);
}

static void check_prints_in_place(void) {
  const redist_layout rows = redist_layout_2d(redist_block(12, test_size()), redist_whole(5));
  const redist_layout narrow = redist_with_halo(redist_with_halo(rows, 0, 1, 1), 1, 1, 1);
  const redist_layout wide = redist_with_halo(redist_with_halo(rows, 0, 2, 2), 1, 2, 2);
  const redist_layout ghosts = redist_with_ghosts(narrow, 0, REDIST_PERIODIC),
                      flipped = redist_flipped(rows, 1);
  const redist_layout apart = redist_layout_2d(redist_cyclic(12, test_size()), redist_whole(5));
  const int own_ghosts = test_size() == 1 ? 2 * 5 : 0; /* they come from this rank */
  check_print_in_place(&narrow, &ghosts, 1, own_ghosts, "a halo exchange");
  check_print_in_place(&wide, &ghosts, 1, own_ghosts, "with another halo");
  check_print_in_place(&wide, &ghosts, 0, 0, "with another halo, not in place");
  check_print_in_place(&rows, &flipped, 1, 12, "flipped");
  check_print_in_place(&rows, &apart, 1, 10, "to cyclic rows");
}

/* Equal views overwrite nothing in place, even if built separately with their own tables: local
   elements need no staging memory. */
static void check_equal_views(void) {
  static int64_t cuts[2][16];
  static int ranks[16];
  redist_layout from, to;
  redist_options options;
  redist_stats stats[2];
  redist_plan *plan = NULL;
  int k, listed, good = 1;
  memset(&options, 0, sizeof options);
  options.in_place = 1;
  options.method = REDIST_POINT_TO_POINT;
  for (k = 0; k <= test_size(); k++) {
    cuts[0][k] = cuts[1][k] = 3 * k;
    ranks[k] = k;
  }
  from = redist_with_halo(redist_layout_1d(redist_cuts(cuts[0], test_size())), 0, 1, 1);
  for (listed = 0; listed < 2; listed++) {
    to = redist_with_halo(redist_layout_1d(redist_cuts(cuts[listed], test_size())), 0, 1, 1);
    to = redist_with_ghosts(listed ? redist_on_ranks(to, ranks) : to, 0, REDIST_PERIODIC);
    good =
        good &&
        redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
        redist_plan_stats(plan, &stats[listed]) == REDIST_OK &&
        redist_plan_free(&plan) == REDIST_OK;
  }
  test_case_all(good && stats[0].buffer_bytes == stats[1].buffer_bytes,
                "equal views built apart: %ld bytes of staging, of one view %ld",
                (long)stats[1].buffer_bytes, (long)stats[0].buffer_bytes);
}

/* ---- memory ---- */

/* Executions allocate nothing, and freeing the plan gives everything back. */
static void check_allocations(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k, m;
  for (k = 0; k < 6; k++)
    for (m = 0; m < METHODS; m++) {
      int64_t before, during, live = live_bytes;
      int good;
      if (!is_due(m, k)) continue;
      exchange_draw(e, 6000 + (uint64_t)k);
      e->method = methods[m].method;
      e->count = e->many = 1 + k % 2;
      e->in_place = k % 3 == 2;
      exchange_allocate(e);
      good = exchange_create(e) == REDIST_OK;
      before = allocations;
      good = good && exchange_is_right(e, 0) && exchange_is_right(e, 1);
      during = allocations - before;
      good = finish(e) && good;
      test_case_all(good && during == 0 && live_bytes == live,
                    "memory of pair %d, %s: %ld allocations in two executions, %ld bytes left", k,
                    methods[m].name, (long)during, (long)(live_bytes - live));
    }
  free(e);
}

/* A plan for 10^9 elements between 2 ranks takes little memory. */
static int huge_plan_is_small(MPI_Comm two, redist_method method, int64_t *bytes) {
  const int64_t n = 1000000000, limit = 1000000;
  redist_layout from = redist_layout_1d(redist_block(n, 2)),
                to = redist_layout_1d(redist_cyclic(n, 2));
  redist_options options;
  redist_stats s;
  redist_plan *plan = NULL;
  int64_t live = live_bytes;
  int good;
  memset(&options, 0, sizeof options);
  options.method = method;
  good = redist_plan_create(two, &from, &to, MPI_CHAR, &options, &plan) == REDIST_OK &&
         redist_plan_stats(plan, &s) == REDIST_OK;
  *bytes = good ? live_bytes - live - s.buffer_bytes : -1;
  good = good && *bytes < limit && s.sends == 1 && s.receives == 1 && s.bytes_sent == n / 4 &&
         s.bytes_local == n / 4;
  if (plan != NULL) good = redist_plan_free(&plan) == REDIST_OK && good;
  return good && live_bytes == live;
}

static void check_huge(void) {
  MPI_Comm two;
  int m, take_part = test_rank() < 2;
  if (test_size() < 2) return;
  MPI_Comm_split(MPI_COMM_WORLD, take_part ? 0 : MPI_UNDEFINED, test_rank(), &two);
  for (m = 0; m < METHODS; m++) {
    int64_t bytes = 0;
    int good = !take_part || huge_plan_is_small(two, methods[m].method, &bytes);
    test_case_all(good, "plan of 10^9 elements, %s: %ld bytes besides its buffers", methods[m].name,
                  (long)bytes);
  }
  if (take_part) MPI_Comm_free(&two);
}

/* REDIST_AUTO obeys max_buffer. */
static void check_limit(void) {
  static const int64_t limits[] = {1, 64, 1000, 100000};
  exchange *e = exchange_new(MPI_COMM_WORLD);
  size_t k;
  for (k = 0; k < sizeof limits / sizeof *limits; k++) {
    redist_options options;
    redist_stats s;
    int code, good;
    memset(&options, 0, sizeof options);
    memset(&s, 0, sizeof s);
    options.max_buffer = (size_t)limits[k];
    exchange_rows(e, 30, 40, TEST_CYCLIC);
    exchange_allocate(e);
    code = exchange_create_with(e, &options);
    good = code == REDIST_OK && redist_plan_stats(e->plan, &s) == REDIST_OK &&
           s.buffer_bytes <= limits[k];
    good = good && exchange_is_right(e, 0);
    test_case_all(finish(e) && good,
                  "automatic choice with %d bytes of staging: code %d, it took %ld", (int)limits[k],
                  code, (long)s.buffer_bytes);
  }
  free(e);
}

/* ---- independence ---- */

enum { FLIGHT = 6 };

/* Plans that each rank starts in its own order and completes in another. */
static void check_flight(void) {
  exchange *all[FLIGHT];
  int k, number, good = 1;
  for (k = 0; k < FLIGHT; k++) {
    all[k] = exchange_new(MPI_COMM_WORLD);
    exchange_draw(all[k], 7000 + (uint64_t)k);
    all[k]->method = methods[k % METHODS].method;
    all[k]->way = START_WAIT;
    exchange_allocate(all[k]);
    good = exchange_create(all[k]) == REDIST_OK && good;
  }
  for (number = 0; number < 3 && good; number++) {
    for (k = 0; k < FLIGHT; k++) exchange_prepare(all[k], number);
    for (k = 0; k < FLIGHT; k++)
      good = exchange_start(all[(k + test_rank()) % FLIGHT]) == REDIST_OK && good;
    for (k = 0; k < FLIGHT; k++) good = redist_wait(all[FLIGHT - 1 - k]->plan) == REDIST_OK && good;
    for (k = 0; k < FLIGHT; k++) good = exchange_arrived(all[k], number) && good;
    test_case_all(good, "%d plans in flight at once, round %d", FLIGHT, number);
  }
  for (k = 0; k < FLIGHT; k++) {
    good = finish(all[k]) && good;
    free(all[k]);
  }
  test_case_all(good, "%d plans at once are freed", FLIGHT);
}

/* Plans one after another: each returns its MPI resources. */
static void check_many_plans(MPI_Comm comm, int plans, const char *where) {
  exchange *e = exchange_new(comm);
  int64_t live = live_bytes;
  int k, good = 1;
  exchange_rows(e, 5, 7, TEST_CYCLIC);
  exchange_allocate(e);
  for (k = 0; k < plans && good; k++) {
    e->method = methods[k % METHODS].method;
    good = exchange_create(e) == REDIST_OK && (k % 50 != 0 || exchange_is_right(e, k)) &&
           redist_plan_free(&e->plan) == REDIST_OK;
  }
  exchange_release(e);
  test_case_all(good && live == live_bytes, "%d plans one after another on %s, the last: %d", plans,
                where, k);
  free(e);
}

/* Layouts may be freed once the plan is created. */
static void check_outlives(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k;
  for (k = 0; k < 2 * METHODS; k++) {
    int good;
    exchange_draw(e, 8000 + (uint64_t)k);
    e->method = methods[k % METHODS].method;
    exchange_allocate(e);
    good = exchange_create(e) == REDIST_OK;
    memset(e->layouts, 0xA5, sizeof e->layouts);
    good = good && exchange_is_right(e, 0) && exchange_is_right(e, 1);
    test_case_all(finish(e) && good, "plan %d without its layouts, %s", k,
                  methods[k % METHODS].name);
  }
  free(e);
}

/* A plan has its own copies of an axis's owners and lists, of which it reports the owners. */
static void check_own_lists(void) {
  enum { ROWS = 12 };
  const int size = test_size(), rank = test_rank();
  int owner[ROWS], good, i;
  int64_t index[ROWS], begin[9];
  double from[ROWS], to[ROWS];
  char before[2000], after[2000];
  redist_layout source, destination;
  redist_plan *plan = NULL;
  for (i = 0; i < ROWS; i++) {
    owner[i] = i * 5 % size;
    index[i] = ROWS - 1 - i;
    from[i] = to[i] = 0;
  }
  for (i = 0; i <= size; i++) begin[i] = i < size ? 0 : ROWS; /* the last rank has all */
  source = redist_layout_1d(redist_owners(ROWS, owner, size));
  destination = redist_layout_1d(redist_lists(ROWS, begin, index, size));
  for (i = 0; i < ROWS; i++) {
    const int64_t at = i;
    if (redist_layout_owner(&source, &at) == rank) from[redist_layout_offset(&source, &at)] = i;
  }
  good = redist_plan_create(MPI_COMM_WORLD, &source, &destination, MPI_DOUBLE, NULL, &plan) ==
             REDIST_OK &&
         report_of(plan, before, sizeof before);
  memset(owner, 0, sizeof owner);
  memset(index, 0, sizeof index);
  memset(begin, 0, sizeof begin);
  good = good && report_of(plan, after, sizeof after) && strcmp(before, after) == 0 &&
         redist_execute(plan, from, to) == REDIST_OK;
  for (i = 0; i < ROWS && rank == size - 1; i++) good &= to[i] == ROWS - 1 - i;
  redist_plan_free(&plan);
  test_case_all(good, "a plan without its owners and lists");
}

/* Each group of processes has its own plan while all of them share another. */
static void check_parts(MPI_Comm part, const char *name) {
  int m, number;
  for (m = 0; m < METHODS; m++) {
    exchange *own = exchange_new(part), *shared = exchange_new(MPI_COMM_WORLD);
    int good;
    exchange_draw(own, 9000 + (uint64_t)m);
    exchange_rows(shared, 20, 17, TEST_BALANCED);
    own->method = shared->method = methods[m].method;
    own->way = shared->way = START_WAIT;
    exchange_allocate(own);
    exchange_allocate(shared);
    good = exchange_create(own) == REDIST_OK;
    good = exchange_create(shared) == REDIST_OK && good;
    for (number = 0; number < 2 && good; number++) {
      exchange_prepare(shared, number);
      good = exchange_start(shared) == REDIST_OK && exchange_is_right(own, number);
      good = redist_wait(shared->plan) == REDIST_OK && exchange_arrived(shared, number) && good;
    }
    good = finish(own) && good;
    good = finish(shared) && good;
    test_case_all(good, "plan on %s within one on all ranks, %s", name, methods[m].name);
    free(own);
    free(shared);
  }
}

static void check_communicators(void) {
  MPI_Comm part;
  check_parts(MPI_COMM_SELF, "each rank alone");
  MPI_Comm_split(MPI_COMM_WORLD, test_rank() % 2, -test_rank(), &part);
  check_parts(part, "every second rank, backwards");
  MPI_Comm_free(&part);
}

/* ---- in place ---- */

/* One axis in blocks of one size, then of another: repeated patterns of several runs, in the order
   of packed messages, derived datatypes and shared memory. */
static void check_in_place(void) {
  static const int64_t blocks[][2] = {{3, 4}, {5, 2}, {1, 3}, {6, 5}, {2, 7}, {4, 6}};
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k, m, side;
  for (k = 0; k < 6; k++)
    for (m = 0; m < METHODS; m++) {
      int good;
      if (!is_due(m, k)) continue;
      memset(e->arrays, 0, sizeof e->arrays);
      for (side = 0; side < 2; side++) {
        e->arrays[side].ndim = 1;
        exchange_axis(&e->arrays[side].axes[0], TEST_BLOCK_CYCLIC, 1000, e->size);
        e->arrays[side].axes[0].block = blocks[k][side];
      }
      exchange_describe(e);
      e->method = methods[m].method;
      e->in_place = 1;
      e->count = e->many = 1 + k % 2;
      exchange_allocate(e);
      good = exchange_create(e) == REDIST_OK;
      good = good && exchange_is_right(e, 0) && exchange_is_right(e, 1);
      test_case_all(finish(e) && good, "in place, blocks of %d to blocks of %d, %s",
                    (int)blocks[k][0], (int)blocks[k][1], methods[m].name);
    }
  free(e);
}

/* Moves in place what rank `rank` owns, numbers by their place in the view; 1: all that both sides
   own are right. */
static int moves_in_place(const redist_layout *from, const redist_layout *to,
                          redist_method method) {
  redist_layout const *side[2] = {from, to};
  const int64_t before = redist_layout_local_size(from, test_rank()),
                after = redist_layout_local_size(to, test_rank());
  double *array = calloc((size_t)(before > after ? before : after), sizeof *array);
  redist_plan *plan = NULL;
  redist_options options;
  int64_t index[2];
  int k, good, rows = (int)from->dim[0].axis.count, columns = (int)from->dim[1].axis.count;
  memset(&options, 0, sizeof options);
  options.method = method;
  options.in_place = 1;
  good = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < 2 * rows * columns; k++) {
    const redist_layout *x = side[k / (rows * columns)];
    const int element = k % (rows * columns);
    index[0] = element / columns;
    index[1] = element % columns;
    if (k == rows * columns && good) good = redist_execute(plan, array, array) == REDIST_OK;
    if (redist_layout_owner(from, index) < 0 || redist_layout_owner(x, index) != test_rank())
      continue;
    if (x == from) array[redist_layout_offset(x, index)] = element + 1;
    good &= array[redist_layout_offset(x, index)] == element + 1;
  }
  free(array);
  return redist_plan_free(&plan) == REDIST_OK && good;
}

/* Layouts that differ only in the numbers of their cuts, or in where their boxes begin or end. */
static void check_lists_in_place(void) {
  enum { MOST = 16, WIDE = 4 };
  const int size = test_size();
  const int64_t extents[2] = {3 * size, WIDE};
  int64_t even[MOST + 1] = {0}, uneven[MOST + 1] = {0};
  redist_box box[3][MOST];
  redist_layout lists[2], boxes[3];
  int k, m;
  for (k = 0; k < size; k++) {
    const redist_box all = {{3 * k, 0}, {3 * k + 3, WIDE}};
    box[0][k] = box[1][k] = box[2][k] = all;
    box[1][k].low[1] = box[2][k].high[1] = WIDE / 2;
    even[k + 1] = 3 * (k + 1);
    uneven[k + 1] = k + 1 == size ? 3 * size : 3 * k + 1;
  }
  lists[0] = redist_layout_2d(redist_cuts(even, size), redist_whole(WIDE));
  lists[1] = redist_layout_2d(redist_cuts(uneven, size), redist_whole(WIDE));
  for (k = 0; k < 3; k++) boxes[k] = redist_partial(redist_layout_boxes(2, extents, size, box[k]));
  for (m = 0; m < METHODS; m++)
    for (k = 0; k < 2; k++) {
      test_case_all(moves_in_place(&lists[k], &lists[!k], methods[m].method),
                    "in place to other cuts, %s", methods[m].name);
      test_case_all(moves_in_place(&boxes[0], &boxes[1 + k], methods[m].method) &&
                        moves_in_place(&boxes[1 + k], &boxes[0], methods[m].method),
                    "in place to other boxes, %s", methods[m].name);
    }
}

/* ---- allocated lengths of one rank ---- */

/* Merged axes, of which rank 0, which only receives, stores one longer than the sender. */
static int moves_merged(redist_method method) {
  static const int last[1] = {1}, ranks[3] = {0, 1, 0};
  const redist_layout to = redist_on_ranks(redist_layout_1d(redist_cyclic(24, 3)), ranks);
  redist_layout from = redist_layout_2d(redist_whole(3), redist_whole(8));
  redist_options options;
  redist_plan *plan = NULL;
  double a[24] = {0}, b[24] = {0};
  int64_t i;
  int good;
  if (test_rank() == 0) from = redist_with_allocated(from, 1, 9);
  from = redist_merged(redist_on_ranks(from, last), 0);
  memset(&options, 0, sizeof options);
  options.method = method;
  for (i = 0; i < 24 && test_rank() == 1; i++) a[redist_layout_offset(&from, &i)] = (double)i;
  good = redist_plan_create(MPI_COMM_WORLD, &from, &to, MPI_DOUBLE, &options, &plan) == REDIST_OK &&
         redist_execute(plan, a, b) == REDIST_OK;
  for (i = 0; i < 24; i++)
    if (redist_layout_owner(&to, &i) == test_rank())
      good = good && b[redist_layout_offset(&to, &i)] == (double)i;
  return redist_plan_free(&plan) == REDIST_OK && good;
}

static void check_merged(void) {
  int m;
  for (m = 0; m < METHODS && test_size() > 1; m++)
    test_case_all(moves_merged(methods[m].method), "merged axes, stored longer on rank 0, %s",
                  methods[m].name);
}

/* ---- large messages ---- */

static void check_pieces(int limit) {
  static const int kinds[] = {TEST_BLOCK, TEST_CYCLIC};
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k, m;
  largest_count = limit;
  for (k = 0; k < 6; k++)
    for (m = 0; m < METHODS; m++) {
      int good;
      if (!is_due(m, k)) continue;
      exchange_rows(e, 64, 60, kinds[k % 2]);
      test_piece_bytes = limit;
      e->method = methods[m].method;
      e->count = e->many = k < 4 ? 1 : 2;
      e->fixed = k == 2 || k == 3;
      e->in_place = k == 3;
      e->way = k % WAYS;
      exchange_allocate(e);
      good = exchange_create(e) == REDIST_OK;
      good = good && exchange_is_right(e, 0) && exchange_is_right(e, 1);
      test_case_all(finish(e) && good, "counts of at most %d, variant %d, %s: %s", limit, k,
                    methods[m].name, e->message);
    }
  largest_count = INT_MAX;
  test_piece_bytes = 262144;
  free(e);
}

/* ---- effort ---- */

static void check_measured(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  int k;
  for (k = 0; k < (test_size() <= 2 ? 8 : 2); k++) {
    redist_options options;
    redist_stats s;
    int good;
    memset(&options, 0, sizeof options);
    memset(&s, 0, sizeof s);
    options.effort = REDIST_MEASURE;
    options.executions = k % 2 * 1000;
    exchange_draw(e, 10000 + (uint64_t)k);
    exchange_allocate(e);
    good = exchange_create_with(e, &options) == REDIST_OK &&
           redist_plan_stats(e->plan, &s) == REDIST_OK && s.method != REDIST_AUTO;
    good = test_sum((int)s.method) == test_size() * (int)s.method && good;
    good = good && exchange_is_right(e, 0) && exchange_is_right(e, 1);
    test_case_all(finish(e) && good, "measured choice, pair %d: %s", k, e->message);
  }
  free(e);
}

/* ---- threads ---- */

enum { THREADS = 2 };

typedef struct {
  exchange *e;
  int good;
} job;

/* REDIST_AUTO does not set up shared memory for plans that run a few times, but for those that run
   often. */
static void check_executions(void) {
  const redist_layout rows = redist_layout_2d(redist_block(24, test_size()), redist_whole(20));
  const redist_layout columns = redist_layout_2d(redist_whole(24), redist_block(20, test_size()));
  static const int executions[] = {0, 1, 1000000000, -1};
  redist_method method[4];
  int k, code[4];
  for (k = 0; k < 4; k++) {
    redist_plan *plan = NULL;
    redist_options options;
    redist_stats s;
    memset(&options, 0, sizeof options);
    memset(&s, 0, sizeof s);
    options.executions = executions[k];
    code[k] = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, &options, &plan);
    if (code[k] == REDIST_OK) redist_plan_stats(plan, &s);
    method[k] = s.method;
    redist_plan_free(&plan);
  }
  test_case_all(code[1] == REDIST_OK && method[1] != REDIST_SHARED,
                "one execution: code %d, method %d", code[1], (int)method[1]);
  test_case_all(code[2] == REDIST_OK && method[2] == method[0],
                "many executions: method %d, not %d", (int)method[2], (int)method[0]);
  test_case_all(code[3] == REDIST_ERR_ARGUMENT, "executions below 0: code %d", code[3]);
}

static void *work(void *argument) {
  job *j = argument;
  int number;
  for (number = 0; number < 10 && j->good; number++) j->good = exchange_is_right(j->e, number);
  return NULL;
}

static void check_threads(void) {
  pthread_t threads[THREADS];
  job jobs[THREADS];
  int m, k;
  for (m = 0; m < METHODS; m++) {
    int good = 1;
    for (k = 0; k < THREADS; k++) {
      jobs[k].e = exchange_new(MPI_COMM_WORLD);
      exchange_draw(jobs[k].e, 11000 + (uint64_t)(m * THREADS + k));
      jobs[k].e->method = methods[m].method;
      exchange_allocate(jobs[k].e);
      jobs[k].good = exchange_create(jobs[k].e) == REDIST_OK;
    }
    for (k = 0; k < THREADS; k++) pthread_create(&threads[k], NULL, work, &jobs[k]);
    for (k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
    for (k = 0; k < THREADS; k++) {
      good = finish(jobs[k].e) && jobs[k].good && good;
      free(jobs[k].e);
    }
    test_case_all(good, "%d threads with a plan each, %s", THREADS, methods[m].name);
  }
}

int main(int count, char **arguments) {
  int provided, status;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  check_stats();
  check_print();
  check_printed_views();
  check_predictions();
  check_prints_in_place();
  check_equal_views();
  check_allocations();
  check_huge();
  check_limit();
  check_flight();
  check_outlives();
  check_own_lists();
  check_communicators();
  check_in_place();
  check_lists_in_place();
  check_merged();
  check_pieces(1000);
  check_pieces(100);
  check_pieces(7);
  check_measured();
  check_executions();
  check_many_plans(MPI_COMM_SELF, 2500, "each rank alone");
  check_many_plans(MPI_COMM_WORLD, test_size() <= 2 ? 2500 : 10, "all ranks");
  if (provided >= MPI_THREAD_MULTIPLE)
    check_threads();
  else if (test_rank() == 0)
    test_skip("two plans in two threads, MPI_THREAD_MULTIPLE is not provided");
  test_case_all(live_bytes == 0, "all memory came back: %ld bytes are left", (long)live_bytes);
  status = test_report_all("plan_features");
  MPI_Finalize();
  return status;
}
