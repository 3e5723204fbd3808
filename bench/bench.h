/* Shared by the measuring programs: command line, memory, yielding waits, quartiles, figures as
   CSV. MIT licence, see LICENSE. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../examples/options.h"
#include "../tests/yielding.h"

static inline void give_up(const char *format, ...) {
  va_list arguments;
  int begun;
  va_start(arguments, format);
  fprintf(stderr, "bench: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  MPI_Initialized(&begun);
  if (begun) MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/* Options that several programs have. */
#define OPTION_COUNT(option, variable, highest, text)                                       \
  {                                                                                         \
    .name = option, .argument = "K", .integer = &(variable), .least = 1, .most = (highest), \
    .help = text                                                                            \
  }
#define OPTION_SECONDS(variable, text) \
  { .name = "--seconds", .argument = "S", .real = &(variable), .most = 3600, .help = text }
#define OPTION_CSV(variable)                                  \
  {                                                           \
    .name = "--csv", .argument = "FILE", .text = &(variable), \
    .help = "write the figures to FILE too"                   \
  }

/* Begins an MPI program whose options the table lists. Returns -1 to continue, else the exit
   status. */
static inline int start(const option *table, int argc, char **argv, int *rank, int *ranks,
                        const char *name, const char *lesson) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  return options_start(table, argc, argv, *rank, name, lesson);
}

static inline void *allocate(size_t bytes) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) give_up("not enough memory for %zu bytes", bytes);
  return memory;
}

static inline void barrier(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_yielding(&request);
}

static inline void maxima(double *values, int count) {
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  wait_yielding(&request);
}

static inline int compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the times. */
static inline double lower_quartile(double *times, int64_t count) {
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return times[(count - 1) / 4];
}

/* ---- figures as CSV: a line each, on rank 0 ---- */

static FILE *figures; /* NULL: no file was asked for */

static inline void figures_open(const char *name, int rank, const char *columns) {
  if (!name || rank != 0) return;
  figures = fopen(name, "w");
  if (!figures) give_up("%s cannot be created", name);
  fprintf(figures, "%s\n", columns);
}

static inline void figures_close(void) {
  if (figures && fclose(figures) != 0) give_up("the figures cannot be written");
}

#define FIGURE_COLUMNS "case,ranks,bytes,contestant,repetitions,value,best,ratio"

static char further_columns[96]; /* appended to the next figures, each after a comma */

/* bytes: of a rank. value: in seconds, unless stated otherwise; ratio: to the first
   contestant's. */
static inline void figure(const char *what, int ranks, int64_t bytes, const char *contestant,
                          int64_t repetitions, double value, double best, double ratio) {
  if (figures)
    fprintf(figures, "\"%s\",%d,%lld,\"%s\",%lld,%.9g,%.9g,%.4f%s\n", what, ranks, (long long)bytes,
            contestant, (long long)repetitions, value, best, ratio, further_columns);
}

/* The memory that redist holds through its hooks, and the most since most_held was last set. */

typedef struct {
  int64_t held, most_held;
} memory_count;

enum { MEMORY_HEAD = 64 }; /* preserves malloc's alignment modulo a cache line */

static inline void *counted_malloc(memory_count *count, size_t bytes) {
  char *memory = malloc(bytes + MEMORY_HEAD);
  if (!memory) return NULL;
  *(size_t *)(void *)memory = bytes;
  count->held += (int64_t)bytes;
  if (count->held > count->most_held) count->most_held = count->held;
  return memory + MEMORY_HEAD;
}

static inline void counted_free(memory_count *count, void *pointer) {
  char *memory = pointer;
  if (!memory) return;
  memory -= MEMORY_HEAD;
  count->held -= (int64_t) * (size_t *)(void *)memory;
  free(memory);
}

#endif
