/* What planning costs one of up to a million ranks, and what the cost model predicts. MIT licence,
   see LICENSE.

   There are no MPI calls: one process does, for some sample ranks, the planning that each of them
   would do. 10^12 elements of 8 bytes are redistributed over 10^3 to 10^6 places. Times are lower
   quartiles of the slowest sample rank; memory is the most that is allocated at once. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static memory_count tally;
#define REDIST_MALLOC(bytes) counted_malloc(&tally, bytes)
#define REDIST_FREE(pointer) counted_free(&tally, pointer)
#include "redist.h"

enum { ELEMENT = 8, SAMPLES = 4, REPETITIONS = 9, SIZES = 4, MOST_BETWEEN = 8 };

/* ---- the redistributions ---- */

static const int grids[3][SIZES][3] = {{{1000}, {10000}, {100000}, {1000000}},
                                       {{25, 40}, {100, 100}, {250, 400}, {1000, 1000}},
                                       {{10, 10, 10}, {20, 20, 25}, {40, 50, 50}, {100, 100, 100}}};
static const int64_t lengths[3] = {INT64_C(1000000000000), 1000000, 10000};

static redist_layout blocks(int ndim, const int *grid) {
  redist_axis axes[3];
  for (int d = 0; d < ndim; d++) axes[d] = redist_block(lengths[ndim - 1], grid[d]);
  return redist_layout_nd(ndim, axes);
}

static redist_layout blocks_of_32(int ndim, const int *grid) {
  redist_axis axes[3];
  for (int d = 0; d < ndim; d++) axes[d] = redist_block_cyclic(lengths[ndim - 1], 32, grid[d]);
  return redist_layout_nd(ndim, axes);
}

/* Half as many processes along the first axis, twice as many along the second; 25 x 40 becomes 40 x
   25. */
static redist_layout other_grid(int ndim, const int *grid) {
  int other[3] = {grid[1], grid[0], 1};
  if (grid[0] == grid[1]) {
    other[0] = grid[0] / 2;
    other[1] = grid[1] * 2;
  }
  return blocks(ndim, other);
}

static redist_layout rows(int ndim, const int *grid) {
  const int lines[3] = {grid[0] * grid[1], 1, 1};
  return blocks(ndim, lines);
}

static redist_layout columns(int ndim, const int *grid) {
  const int lines[3] = {1, grid[0] * grid[1], 1};
  return blocks(ndim, lines);
}

static const struct {
  const char *name;
  int ndim;
  redist_layout (*from)(int ndim, const int *grid), (*to)(int ndim, const int *grid);
} cases[] = {{"1-D, BLOCK to CYCLIC(32)", 1, blocks, blocks_of_32},
             {"2-D, BLOCK to CYCLIC(32)", 2, blocks, blocks_of_32},
             {"3-D, BLOCK to CYCLIC(32)", 3, blocks, blocks_of_32},
             {"2-D, BLOCK, another grid", 2, blocks, other_grid},
             {"2-D, rows to columns", 2, rows, columns}};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- measuring ---- */

typedef struct {
  double seconds;
  int64_t bytes;
} price;

typedef struct {
  /* peers and runs: of the sample rank with the most, both sides together */
  int64_t places, peers, runs;
  price find, arrange;    /* finding peers and runs; arranging the schedule */
  price walk;             /* querying all steps of the schedule */
  double traffic_seconds; /* NaN where it is not measured */
  int steps, phases;
  double direct, scheduled, multiphase; /* predicted seconds */
} row;

typedef struct {
  redist_cost cost;
  int64_t most_traffic;
  const char *csv;
} settings;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
  const redist_layout *from, *to;
  int rank;
  const redist_schedule *schedule;
  int64_t peers, runs;
} question;

static void count_side(question *q, const redist_layout *mine, const redist_layout *other,
                       int side) {
  redist_priv_directory directory;
  redist_priv_place_peers n;
  int coords[3];
  if (!redist_layout_coords(mine, q->rank, coords)) return;
  if (redist_priv_directory_open(&directory, other) != REDIST_OK ||
      redist_priv_find_peers(mine, coords, side, &directory, 1, -1, &n) != REDIST_OK)
    give_up("no memory");
  q->peers += n.messages;
  for (int d = 0; d < n.ndim; d++)
    for (int64_t k = 0; k < n.axis[d].peers; k++) q->runs += n.axis[d].runs[k].runs;
  redist_priv_place_peers_free(&n);
  redist_priv_directory_close(&directory);
}

static void find_peers(question *q) {
  q->peers = q->runs = 0;
  count_side(q, q->from, q->to, REDIST_PRIV_FROM);
  count_side(q, q->to, q->from, REDIST_PRIV_TO);
}

static void arrange(question *q) {
  redist_schedule *schedule;
  if (redist_schedule_create(q->from, q->to, 0, &schedule) != REDIST_OK) give_up("no schedule");
  redist_schedule_free(&schedule);
}

static void walk_steps(question *q) {
  int send_to, receive_from;
  q->peers = 0;
  for (int step = 0; step < redist_schedule_steps(q->schedule); step++) {
    if (redist_schedule_step(q->schedule, q->rank, step, &send_to, &receive_from) != REDIST_OK)
      give_up("no step");
    q->peers += (send_to >= 0) + (receive_from >= 0);
  }
}

static void count_traffic(question *q) {
  redist_traffic traffic;
  if (redist_traffic_between(q->from, q->to, 0, &traffic) != REDIST_OK) give_up("no traffic");
}

/* Repeats the query for at most half a second. */
static price ask(void (*answer)(question *), question *q) {
  double times[REPETITIONS], begin = now();
  int64_t k, held = tally.held;
  price p;
  tally.most_held = held;
  for (k = 0; k < REPETITIONS && (k == 0 || now() - begin < 0.5); k++) {
    times[k] = now();
    answer(q);
    times[k] = now() - times[k];
  }
  p.seconds = lower_quartile(times, k);
  p.bytes = tally.most_held - held;
  return p;
}

static price dearer(price a, price b) {
  a.seconds = a.seconds > b.seconds ? a.seconds : b.seconds;
  a.bytes = a.bytes > b.bytes ? a.bytes : b.bytes;
  return a;
}

/* The first and the last rank, and two between. */
static int sample(int k, int64_t places) {
  const int64_t ranks[SAMPLES] = {0, places / 3 + 1, places * 5 / 7, places - 1};
  return (int)ranks[k];
}

static void ask_ranks(question *q, row *r) {
  for (int k = 0; k < SAMPLES; k++) {
    q->rank = sample(k, r->places);
    r->find = dearer(r->find, ask(find_peers, q));
    r->peers = q->peers > r->peers ? q->peers : r->peers;
    r->runs = q->runs > r->runs ? q->runs : r->runs;
  }
}

/* The schedule must give a rank as many peers as the rank finds by itself. */
static void ask_schedule(question *q, row *r) {
  redist_schedule *schedule;
  r->arrange = ask(arrange, q);
  if (redist_schedule_create(q->from, q->to, 0, &schedule) != REDIST_OK) give_up("no schedule");
  q->schedule = schedule;
  r->steps = redist_schedule_steps(schedule);
  for (int k = 0; k < SAMPLES; k++) {
    int64_t heard;
    q->rank = sample(k, r->places);
    r->walk = dearer(r->walk, ask(walk_steps, q));
    heard = q->peers;
    find_peers(q);
    if (heard != q->peers) give_up("the schedule and the rank disagree about its peers");
  }
  redist_schedule_free(&schedule);
}

static double cost_of(const redist_layout *from, const redist_layout *to, const redist_cost *cost) {
  double seconds;
  const int code = redist_cost_of(from, to, ELEMENT, cost, &seconds);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  return seconds;
}

static double way_cost(const question *q, const redist_cost *cost, int n,
                       const redist_layout *between) {
  double sum = 0;
  for (int k = 0; k <= n; k++)
    sum += cost_of(k == 0 ? q->from : &between[k - 1], k == n ? q->to : &between[k], cost);
  return sum;
}

/* By the model of Kaushik et al., which knows no contention: directly; in the schedule's steps,
   with a message each and the same bytes, as the model assumes; and by the cheapest route in
   several phases. */
static void predict(const settings *s, const question *q, row *r) {
  redist_layout between[MOST_BETWEEN];
  redist_cost bytes = s->cost;
  int n, code;
  bytes.per_message = 0;
  code = redist_phases(q->from, q->to, ELEMENT, &s->cost, MOST_BETWEEN, between, &n);
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  r->phases = n + 1;
  r->direct = cost_of(q->from, q->to, &s->cost);
  r->scheduled = r->steps * s->cost.per_message + cost_of(q->from, q->to, &bytes);
  r->multiphase = way_cost(q, &s->cost, n, between);
}

static row measure(const settings *s, int which, int size) {
  const int *grid = grids[cases[which].ndim - 1][size];
  redist_layout from = cases[which].from(cases[which].ndim, grid),
                to = cases[which].to(cases[which].ndim, grid);
  question q = {&from, &to, 0, NULL, 0, 0};
  row r;
  memset(&r, 0, sizeof r);
  r.places = redist_layout_places(&from);
  ask_ranks(&q, &r);
  ask_schedule(&q, &r);
  r.traffic_seconds = r.places <= s->most_traffic ? ask(count_traffic, &q).seconds : NAN;
  predict(s, &q, &r);
  return r;
}

/* ---- printing ---- */

/* Kalns' NegSlope: the time saved per added process, from N processes to N'. */
static double neg_slope(double time, int64_t places, double next_time, int64_t next_places) {
  return -(next_time - time) / (double)(next_places - places);
}

static void print_planning(const row *r) {
  printf("%8lld %8lld %8lld %10.3f %9.1f %8d %10.3f %9.1f %10.3f ", (long long)r->places,
         (long long)r->peers, (long long)r->runs, 1e3 * r->find.seconds,
         (double)r->find.bytes / 1e3, r->steps, 1e3 * r->arrange.seconds,
         (double)r->arrange.bytes / 1e3, 1e3 * r->walk.seconds);
  if (isnan(r->traffic_seconds))
    printf("%10s\n", "-");
  else
    printf("%10.1f\n", 1e3 * r->traffic_seconds);
}

static void print_prediction(const row *r, const row *before) {
  printf("%8lld %12.4g %12.4g %12.4g %7d", (long long)r->places, 1e3 * r->direct,
         1e3 * r->scheduled, 1e3 * r->multiphase, r->phases);
  if (before)
    printf(" %13.3g %13.3g",
           neg_slope(1e3 * before->direct, before->places, 1e3 * r->direct, r->places),
           neg_slope(1e3 * before->multiphase, before->places, 1e3 * r->multiphase, r->places));
  printf("\n");
}

static void print_case(int which, const row *rows) {
  printf("%s, 10^12 elements\n"
         "%8s %8s %8s %10s %9s %8s %10s %9s %10s %10s\n",
         cases[which].name, "places", "peers", "runs", "find, ms", "kB", "steps", "arrange", "kB",
         "all steps", "traffic");
  for (int k = 0; k < SIZES; k++) print_planning(&rows[k]);
  printf("%8s %12s %12s %12s %7s %13s %13s\n", "places", "direct, ms", "scheduled", "multiphase",
         "phases", "NegSlope dir.", "multiphase");
  for (int k = 0; k < SIZES; k++) print_prediction(&rows[k], k > 0 ? &rows[k - 1] : NULL);
  printf("\n");
}

static void write_row(int which, const row *r) {
  fprintf(figures, "\"%s\",%lld,%lld,%lld,%.9g,%lld,%d,%.9g,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%d\n",
          cases[which].name, (long long)r->places, (long long)r->peers, (long long)r->runs,
          r->find.seconds, (long long)r->find.bytes, r->steps, r->arrange.seconds,
          (long long)r->arrange.bytes, r->walk.seconds, r->traffic_seconds, r->direct, r->scheduled,
          r->multiphase, r->phases);
}

static void measure_all(const settings *s) {
  figures_open(
      s->csv, 0,
      "case,places,peers,runs,find_seconds,find_bytes,steps,arrange_seconds,arrange_bytes,walk_seconds,"
      "traffic_seconds,direct_seconds,scheduled_seconds,multiphase_seconds,phases");
  printf(
      "One rank's work, both sides of the exchange: its peers and runs; the schedule, and querying all of\n"
      "its steps; the traffic of all ranks. Milliseconds, kB held at most. Predicted: %g us a message, %g GB/s.\n"
      "\n",
      1e6 * s->cost.per_message, 1e-9 / s->cost.per_byte);
  for (int which = 0; which < CASES; which++) {
    row rows[SIZES];
    for (int k = 0; k < SIZES; k++) {
      rows[k] = measure(s, which, k);
      if (figures) write_row(which, &rows[k]);
    }
    print_case(which, rows);
  }
  figures_close();
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  settings s = {{0, 0}, 10000, NULL};
  double latency = 2, bandwidth = 10;
  const option table[] = {{.name = "--latency",
                           .argument = "US",
                           .real = &latency,
                           .least = 0,
                           .most = 1e6,
                           .help = "microseconds a message (default 2)"},
                          {.name = "--bandwidth",
                           .argument = "GB",
                           .real = &bandwidth,
                           .least = 1e-3,
                           .most = 1e6,
                           .help = "10^9 bytes a second (default 10)"},
                          {.name = "--traffic",
                           .argument = "P",
                           .integer = &s.most_traffic,
                           .least = 0,
                           .most = 1e9,
                           .help = "places up to which all traffic is counted (default 10000)"},
                          OPTION_CSV(s.csv),
                          {.name = NULL}};
  char wrong[512];
  options_result result = options_read(table, argc, argv, wrong, sizeof wrong);
  s.cost.per_message = 1e-6 * latency;
  s.cost.per_byte = 1e-9 / bandwidth;
  if (result == OPTIONS_HELP) {
    printf("usage: scale [OPTION VALUE]...\n\n");
    options_help(table);
  }
  if (result == OPTIONS_WRONG) fprintf(stderr, "scale: %s\n", wrong);
  if (result == OPTIONS_RUN) measure_all(&s);
  return result == OPTIONS_WRONG ? 2 : 0;
}
