/* Every method of redist against memcpy, plain MPI and ScaLAPACK, case by case. MIT licence, see
   LICENSE.

   All contestants of a case run round-robin, so that other load affects all of them. A time is the
   slowest rank's, for batches of 20 executions where ranks hold less than 256 kB. The table shows
   the lower quartile of a contestant's times, and its ratio to a memcpy of a rank's bytes. Every
   contestant's result is compared, byte by byte, with an array filled directly. redist's plans have
   been executed a few times before. */
#include <limits.h>

#include "bench.h"

static memory_count plan_memory; /* the memory of the plans */
#define REDIST_MALLOC(bytes) counted_malloc(&plan_memory, bytes)
#define REDIST_FREE(pointer) counted_free(&plan_memory, pointer)
#include "redist_plan.h"
#include "cases.h"

/* ---- shared by all parts of the program ---- */

typedef struct {
  int64_t n, repetitions;
  double seconds;
  const char *only, *methods;
  int memory; /* print the plans' memory instead of times */
} settings;

typedef struct {
  settings set;
  int rank, ranks;
} bench;

/* ---- contestants ---- */

enum { TRIALS = 8 }; /* executions before the times are taken */

/* method: a redist_method; or ARENA: REDIST_SHARED with arrays in an arena; or MEASURED:
   REDIST_AUTO with REDIST_MEASURE. */
enum { ARENA = 1000, MEASURED };

/* REDIST_SHARED stages in shared memory (no case has ranks on several nodes), all others in
   malloc's. */
static void count_memory(entry *e, const redist_stats *stats, int64_t before) {
  double counted =
      (double)before + (stats->method == REDIST_SHARED ? 0 : (double)stats->buffer_bytes);
  e->held = (double)plan_memory.held - counted;
  e->most_held = (double)plan_memory.most_held - counted;
  e->staging = (double)stats->buffer_bytes;
}

static int method_prepare(entry *e, int method) {
  redist_options options;
  redist_stats stats;
  int64_t before;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  options.method = method == ARENA      ? REDIST_SHARED
                   : method == MEASURED ? REDIST_AUTO
                                        : (redist_method)method;
  options.effort = method == MEASURED ? REDIST_MEASURE : REDIST_ESTIMATE;
  if (method == ARENA) arena_prepare(e);
  before = plan_memory.most_held = plan_memory.held;
  plan_prepare(e, options);
  redist_plan_stats(e->plan, &stats);
  count_memory(e, &stats, before);
  return 1;
}

static const contestant contestants[] = {
    {"memcpy", 0, 0, copy_prepare, copy_run, copy_finish}, /* first: the reference for the others */
    {"alltoallv", REDIST_ALLTOALLV, 1, method_prepare, redist_run, redist_finish},
    {"alltoallw", REDIST_ALLTOALLW, 1, method_prepare, redist_run, redist_finish},
    {"point_to_point", REDIST_POINT_TO_POINT, 1, method_prepare, redist_run, redist_finish},
    {"scheduled", REDIST_SCHEDULED, 1, method_prepare, redist_run, redist_finish},
    {"shared", REDIST_SHARED, 1, method_prepare, redist_run, redist_finish},
    {"shared, arena", ARENA, 1, method_prepare, redist_run, redist_finish},
    {"auto", REDIST_AUTO, 1, method_prepare, redist_run, redist_finish},
    {"auto, measured", MEASURED, 1, method_prepare, redist_run,
     redist_finish}, /* only if named by --methods */
    {"Alltoallw by hand", 0, 1, typed_prepare, typed_execute, typed_finish},
    {"pack, Alltoallv", 0, 1, packed_prepare, packed_execute, packed_finish},
#ifdef HAVE_SCALAPACK
    {"p?gemr2d", 0, 1, gemr2d_prepare, gemr2d_execute, gemr2d_finish},
#endif
};

enum { CONTESTANTS = sizeof contestants / sizeof contestants[0] };

/* ---- running round-robin ---- */

/* Brings arrays that fit the caches into them, whichever contestant ran before; not all have their
   own arrays. */
static double time_once(const contestant *who, entry *e) {
  double begin;
  if (e->contest->cached) who->run(e);
  barrier();
  begin = MPI_Wtime();
  for (int k = 0; k < e->contest->batch; k++) who->run(e);
  return (MPI_Wtime() - begin) / e->contest->batch;
}

static void compete(entry *entries, const settings *set) {
  double times[CONTESTANTS];
  int active, running[CONTESTANTS];
  do {
    active = 0;
    for (int k = 0; k < CONTESTANTS; k++) {
      running[k] = wants_more(&entries[k], set->repetitions, set->seconds);
      times[k] = running[k] ? time_once(&contestants[k], &entries[k]) : 0;
      active += running[k];
    }
    maxima(times, CONTESTANTS);
    for (int k = 0; k < CONTESTANTS; k++)
      if (running[k]) {
        entries[k].times[entries[k].count++] = times[k];
        entries[k].spent += times[k] * entries[k].contest->batch;
      }
  } while (active > 0);
}

/* ---- who takes part ---- */

static int invited(const settings *set, int k) {
  if (set->memory && contestants[k].prepare != method_prepare) return 0;
  if (!set->methods) return contestants[k].method != MEASURED;
  return k == 0 || selected(contestants[k].name, set->methods, '|');
}

/* ---- the table ---- */

static void print_cell(double time, double ratio, int right) {
  char text[32];
  const char *unit = time < 1e-3 ? "us" : "ms";
  double shown = time * (time < 1e-3 ? 1e6 : 1e3);
  snprintf(text, sizeof text, "%.*f %s %5.2f%s", shown < 100 ? 2 : 0, shown, unit, ratio,
           right ? "" : "!");
  printf(" %17s", text);
}

static void print_row(const bench *b, const contest *c, entry *entries) {
  const settings *set = &b->set;
  double yardstick = lower_quartile(entries[0].times, entries[0].count);
  const char *remark = NULL;
  printf("%-34s", c->name);
  for (int k = 0; k < CONTESTANTS; k++) {
    entry *e = &entries[k];
    if (!invited(set, k)) continue;
    if (!e->times) {
      printf(" %17s", "-");
      continue;
    }
    double time = lower_quartile(e->times, e->count);
    print_cell(time, time / yardstick, e->right);
    if (e->right)
      figure(c->name, b->ranks, c->held * (int64_t)c->by_hand.element, contestants[k].name,
             e->count, time, e->times[0], time / yardstick);
    remark = e->remark ? e->remark : remark;
  }
  printf("  %s\n", remark ? remark : "");
  fflush(stdout);
}

enum { BESIDES, MEANWHILE, STAGING, AMOUNTS };

/* The memory of plans: bytes besides staging, the most of these during creation, and staging;
   maxima over ranks. */
static void print_memory(const bench *b, const contest *c, const char *method, const entry *e) {
  static const char *const names[AMOUNTS] = {"besides staging", "while made", "staging"};
  double bytes[AMOUNTS] = {e->held, e->most_held, e->staging};
  maxima(bytes, AMOUNTS);
  for (int k = 0; k < AMOUNTS; k++) {
    char who[64];
    snprintf(who, sizeof who, "%s: %s", method, names[k]);
    figure(c->name, b->ranks, c->held * (int64_t)c->by_hand.element, who, 1, bytes[k], bytes[k], 0);
  }
  if (b->rank == 0)
    printf("  %7.1f %7.1f %8.1f", bytes[BESIDES] / 1e3, bytes[MEANWHILE] / 1e3,
           bytes[STAGING] / 1e3);
}

static void print_memory_row(const bench *b, const contest *c, const entry *entries,
                             const int *entered) {
  if (b->rank == 0) printf("%-34s", c->name);
  for (int k = 0; k < CONTESTANTS; k++)
    if (entered[k]) print_memory(b, c, contestants[k].name, &entries[k]);
  if (b->rank == 0) printf("\n");
}

/* Returns how many contestants were wrong. */
static int hold(const bench *b, const bench_case *what) {
  contest c = contest_create(what, b->set.n, b->ranks, b->rank);
  entry entries[CONTESTANTS];
  int entered[CONTESTANTS], wrong = 0;
  for (int k = 0; k < CONTESTANTS; k++) {
    memset(&entries[k], 0, sizeof entries[k]);
    entered[k] = invited(&b->set, k) && enter(&entries[k], &contestants[k], &c);
    wrong += entered[k] && !entries[k].right;
    for (int t = 0; t < TRIALS && entries[k].plan && !b->set.memory; t++) redist_run(&entries[k]);
  }
  if (b->set.memory) {
    print_memory_row(b, &c, entries, entered);
  } else {
    compete(entries, &b->set);
    if (b->rank == 0) print_row(b, &c, entries);
  }
  for (int k = 0; k < CONTESTANTS; k++)
    if (entered[k]) {
      contestants[k].finish(&entries[k]);
      free(entries[k].times);
    }
  contest_free(&c);
  return wrong;
}

static void print_head(const bench *b) {
  const char *times =
      "lower quartile of the times, and its ratio to a memcpy of what a rank holds; ! wrong result";
  const char *memory =
      "kB that a plan holds besides staging, the most while it was made, and staging; maxima over ranks";
  printf("%d ranks, n = %lld; %s\n%-34s", b->ranks, (long long)b->set.n,
         b->set.memory ? memory : times, "");
  for (int k = 0; k < CONTESTANTS; k++)
    if (invited(&b->set, k)) printf(" %*s", b->set.memory ? 25 : 17, contestants[k].name);
  printf("\n");
}

static int hold_all(const bench *b) {
  int wrong = 0, held = 0;
  if (b->rank == 0) print_head(b);
  for (int k = 0; k < CASES; k++)
    if (!b->set.only || selected(cases[k].name, b->set.only, '|')) {
      wrong += hold(b, &cases[k]);
      held++;
    }
  if (b->rank == 0 && wrong > 0) printf("%d results are wrong\n", wrong);
  if (b->rank == 0 && held == 0) fprintf(stderr, "methods: no case is called '%s'\n", b->set.only);
  return wrong > 0 || held == 0;
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  static const option_choice tables[] = {{"times", 0}, {"memory", 1}, {NULL, 0}};
  bench b = {.set = {.n = 4096, .repetitions = 5, .seconds = 0.2}};
  const char *csv = NULL;
  const option table[] = {
      {.name = "--n",
       .argument = "N",
       .integer = &b.set.n,
       .least = 16,
       .most = 16384,
       .help = "extent of a matrix (default 4096)"},
      {.name = "--cases",
       .argument = "PART",
       .text = &b.set.only,
       .help = "only cases with PART in their names; PART|PART: either; =NAME: just this"},
      {.name = "--methods",
       .argument = "PART",
       .text = &b.set.methods,
       .help = "only such contestants, in the same way"},
      {.name = "--table",
       .argument = "WHAT",
       .choice = &b.set.memory,
       .choices = tables,
       .help = "times (default) or memory"},
      OPTION_SECONDS(b.set.seconds, "for each contestant and case (default 0.2)"),
      OPTION_COUNT("--repetitions", b.set.repetitions, MOST_TIMES,
                   "at least, however long they take (default 5)"),
      OPTION_CSV(csv),
      {.name = NULL}};
  int status =
      start(table, argc, argv, &b.rank, &b.ranks, "methods",
            "Every method of redist against memcpy, plain MPI and ScaLAPACK, case by case.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    status = hold_all(&b);
    figures_close();
  }
  MPI_Finalize();
  return status;
}
