/* Command line options from a table. MIT licence, see LICENSE. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a table of them ends with a NULL name */
typedef struct {
  const char *name;
  int value;
} option_choice;

/* One of the four pointers is set: the type of the value and where it goes. */
typedef struct {
  const char *name, *argument, *help;
  int64_t *integer;
  double *real;
  const char **text;
  int *choice;
  double least, most; /* for numbers */
  const option_choice *choices;
} option;

typedef enum { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG } options_result;

static inline const char *option_choice_name(const option_choice *choices, int value) {
  while (choices->name && choices->value != value) choices++;
  return choices->name ? choices->name : "unknown";
}

static inline int option_within(const option *o, double value) {
  return value >= o->least && value <= o->most; /* false for not-a-number */
}

static inline int option_set_integer(const option *o, const char *text) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  *o->integer = value;
  return end != text && *end == '\0' && errno == 0 && option_within(o, (double)value);
}

static inline int option_set_real(const option *o, const char *text) {
  char *end;
  *o->real = strtod(text, &end);
  return end != text && *end == '\0' && option_within(o, *o->real);
}

static inline int option_set_choice(const option *o, const char *text) {
  const option_choice *c;
  for (c = o->choices; c->name; c++)
    if (strcmp(c->name, text) == 0) {
      *o->choice = c->value;
      return 1;
    }
  return 0;
}

static inline int option_set(const option *o, const char *text) {
  if (o->integer) return option_set_integer(o, text);
  if (o->real) return option_set_real(o, text);
  if (o->choice) return option_set_choice(o, text);
  *o->text = text;
  return *text != '\0';
}

static inline void option_expectation(const option *o, char *text, size_t size) {
  const option_choice *c;
  size_t used;
  if (o->choice) {
    used = (size_t)snprintf(text, size, "one of");
    for (c = o->choices; c->name && used < size; c++)
      used += (size_t)snprintf(text + used, size - used, " %s", c->name);
  } else if (o->text) {
    snprintf(text, size, "a name");
  } else {
    snprintf(text, size, "%s from %.10g to %.10g", o->integer ? "an integer" : "a number", o->least,
             o->most);
  }
}

/* Sets the options that the arguments give; the table ends with a NULL name. On OPTIONS_WRONG,
   wrong holds a sentence. */
static inline options_result options_read(const option *table, int argc, char **argv, char *wrong,
                                          size_t size) {
  int i;
  for (i = 1; i < argc; i += 2) {
    char expected[256];
    const option *o = table;
    if (strcmp(argv[i], "--help") == 0) return OPTIONS_HELP;
    while (o->name && strcmp(o->name, argv[i]) != 0) o++;
    if (!o->name) {
      snprintf(wrong, size, "unknown option '%s' (--help lists all)", argv[i]);
      return OPTIONS_WRONG;
    }
    if (i + 1 == argc || !option_set(o, argv[i + 1])) {
      option_expectation(o, expected, sizeof expected);
      snprintf(wrong, size, "%s needs %s, not '%s'", o->name, expected,
               i + 1 == argc ? "" : argv[i + 1]);
      return OPTIONS_WRONG;
    }
  }
  return OPTIONS_RUN;
}

static inline void options_help(const option *table) {
  char form[64], names[256];
  for (; table->name; table++) {
    snprintf(form, sizeof form, "%s %s", table->name, table->argument);
    printf("  %-18s %s\n", form, table->help);
    if (table->choice) {
      option_expectation(table, names, sizeof names);
      printf("  %-18s   %s\n", "", names);
    }
  }
  printf("  %-18s %s\n", "--help", "this text");
}

/* Reads the arguments of an MPI program; rank 0 prints help and errors. lesson: what the program
   teaches. Returns -1 to continue, else the exit status. */
static inline int options_start(const option *table, int argc, char **argv, int rank,
                                const char *name, const char *lesson) {
  char wrong[512];
  const options_result result = options_read(table, argc, argv, wrong, sizeof wrong);
  if (result == OPTIONS_WRONG && rank == 0) fprintf(stderr, "%s: %s\n", name, wrong);
  if (result == OPTIONS_HELP && rank == 0) {
    printf("usage: mpiexec -n RANKS %s [OPTION VALUE]...\n%s\n\n", name, lesson);
    options_help(table);
  }
  return result == OPTIONS_RUN ? -1 : result == OPTIONS_HELP ? 0 : 2;
}

/* An option for redist's options.wire. */
#define OPTION_WIRE(variable)                                             \
  {                                                                       \
    .name = "--wire", .argument = "NAME", .choice = &(variable),          \
    .choices = (const option_choice[]){{"exact", REDIST_WIRE_EXACT},      \
                                       {"float", REDIST_WIRE_FLOAT},      \
                                       {NULL, 0}},                        \
    .help = "how redist's numbers travel: exact or float (default exact)" \
  }

#endif
