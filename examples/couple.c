/* Two programs that exchange a field every step, each with a layout of its own. MIT licence, see
   LICENSE.
   mpicc -I. examples/couple.c -o couple &&
   mpiexec -n 2 ./couple --role air : -n 3 ./couple --role sea

   A model of the air and a model of the sea exchange heat on the same plane of points. In every
   step, each model sends its temperatures to the other and moves towards those that it receives:

       air += (sea - air) / 8            sea += (air - sea) / 32

   Neither program knows how the other distributes the plane, nor over how many ranks. Both join one
   communicator, where the ranks of the air come first, and send each other their layouts as text. A
   program without a layout of its own takes the process grid on which the exchange costs least
   (redist_best_grid); if neither has one, the air takes rows.
   Then all ranks build the same two layouts, each on its program's ranks (redist_on_ranks), and one
   plan of two parts, air to sea and sea to air, with one message per pair of ranks. If a text is
   invalid, or two do not match, all ranks report the same error.

   There are two ways to join. Programs started by one mpiexec share MPI_COMM_WORLD, where
   MPI_APPNUM distinguishes them. With --spawn, one program starts the other, and
   MPI_Intercomm_merge makes one communicator of both, as it does after MPI_Comm_connect and
   MPI_Comm_accept.

   In each step the difference of the two temperatures is multiplied by 1 - 1/8 - 1/32, and air + 4
   sea does not change. So each program can check its own field. */
#include <mpi.h>

#include "options.h"
#include "redist_plan.h"

enum { AIR, SEA, PROGRAMS, NO_ROLE = PROGRAMS };

static const char *const program_name[PROGRAMS] = {"air", "sea"};
static const double rate[PROGRAMS] = {1. / 8, 1. / 32};

typedef struct {
  int role;
  const char *layout, *spawned_layout;
  int64_t steps, spawn;
} settings;

typedef struct {
  MPI_Comm mine, all; /* the ranks of this program; those of both, the air's first */
  int role, leads;    /* leads: this rank prints for its program */
  int first[PROGRAMS], ranks[PROGRAMS]; /* in `all` */
  int64_t n[PROGRAMS], m[PROGRAMS];     /* the points of the plane */
  char *text[PROGRAMS];
  void *storage[PROGRAMS]; /* for the cuts, ranks and boxes in the texts */
  int *rank_of[PROGRAMS];  /* of the places of the layouts */
  redist_layout layout[PROGRAMS];
  redist_plan *plan;
  double *field, *received;
} coupling;

static void *allocate(size_t bytes) {
  void *memory = calloc(bytes + 1, 1); /* + 1: calloc(0) may return NULL */
  if (!memory) {
    fprintf(stderr, "couple: not enough memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static int fail(const coupling *c, const char *what, const char *detail) {
  if (c->leads)
    fprintf(stderr, "couple, %s: %s%s%s\n", program_name[c->role], what,
            detail[0] != '\0' ? ": " : "", detail);
  return 1;
}

/* ---- joining ---- */

/* The ranks started by the same part of mpiexec's command line, or by one spawn. */
static MPI_Comm my_program(void) {
  MPI_Comm mine;
  int *number, given;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &given);
  MPI_Comm_split(MPI_COMM_WORLD, given ? *number : 0, 0, &mine);
  return mine;
}

/* Starts the other program, and passes it its own layout, if any, but no option of this one.
   MPI_COMM_NULL: this MPI cannot start programs. */
static MPI_Comm spawn(const settings *s, MPI_Comm mine, char *command) {
  char role[] = "--role", steps[] = "--steps", layout[] = "--layout", other[8], count[24];
  char *arguments[] = {role, other, steps, count, NULL, NULL, NULL};
  char *text = allocate(s->spawned_layout ? strlen(s->spawned_layout) : 0);
  MPI_Comm spawned;
  int started;
  snprintf(other, sizeof other, "%s", program_name[1 - s->role]);
  snprintf(count, sizeof count, "%lld", (long long)s->steps);
  if (s->spawned_layout) {
    arguments[4] = layout;
    arguments[5] = strcpy(text, s->spawned_layout);
  }
  MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
  started = MPI_Comm_spawn(command, arguments, (int)s->spawn, MPI_INFO_NULL, 0, mine, &spawned,
                           MPI_ERRCODES_IGNORE) == MPI_SUCCESS;
  MPI_Comm_set_errhandler(mine, MPI_ERRORS_ARE_FATAL);
  MPI_Allreduce(MPI_IN_PLACE, &started, 1, MPI_INT, MPI_LAND, mine);
  free(text);
  return started ? spawned : MPI_COMM_NULL;
}

/* A communicator of both programs, in any order, or MPI_COMM_NULL, as for spawn. */
static MPI_Comm meet(const settings *s, MPI_Comm mine, char *command) {
  MPI_Comm other, met = MPI_COMM_NULL;
  MPI_Comm_get_parent(&other);
  const int is_spawned = other != MPI_COMM_NULL, spawns = s->spawn > 0 && !is_spawned;
  if (spawns) other = spawn(s, mine, command);
  if (other != MPI_COMM_NULL) {
    MPI_Intercomm_merge(other, is_spawned, &met);
    MPI_Comm_disconnect(&other);
  } else if (!spawns) {
    MPI_Comm_dup(MPI_COMM_WORLD, &met);
  }
  return met;
}

/* Sets c->all, and which of its ranks belong to which program. */
static int know_each_other(coupling *c, MPI_Comm met) {
  int count[PROGRAMS] = {0};
  count[c->role] = 1;
  MPI_Comm_split(met, 0, c->role, &c->all);
  MPI_Allreduce(count, c->ranks, PROGRAMS, MPI_INT, MPI_SUM, c->all);
  c->first[SEA] = c->ranks[AIR];
  return c->ranks[AIR] > 0 && c->ranks[SEA] > 0
             ? 0
             : fail(c, "there must be two programs, one of each role (--role, --spawn)", "");
}

/* ---- layouts ---- */

static void set_text(coupling *c, int k, const char *text) {
  free(c->text[k]);
  c->text[k] = strcpy(allocate(strlen(text)), text);
}

static void exchange_texts(coupling *c) {
  for (int k = 0; k < PROGRAMS; k++) {
    int length = c->text[k] ? (int)strlen(c->text[k]) : 0;
    MPI_Bcast(&length, 1, MPI_INT, c->first[k], c->all);
    if (!c->text[k]) c->text[k] = allocate((size_t)length);
    MPI_Bcast(c->text[k], length, MPI_CHAR, c->first[k], c->all);
  }
}

/* Reads the numbers of points, with which a layout's text begins. */
static int is_plane(const redist_layout *layout, int64_t *n, int64_t *m) {
  char text[64], colon = '\0';
  long long rows = 0, columns = 0;
  redist_layout_format(layout, text, sizeof text);
  const int found = sscanf(text, "%lldx%lld%c", &rows, &columns, &colon);
  *n = rows;
  *m = columns;
  return found == 3 && colon == ':';
}

/* Program k numbers its ranks from 0. Assigns every place of its layout to the same rank, in the
   numbering of `all`. 0: there is no such rank. */
static int put_on_program(coupling *c, int k) {
  redist_layout *layout = &c->layout[k];
  const int places = redist_layout_places(layout);
  int found = 0, *held = allocate((size_t)places * sizeof *held);
  c->rank_of[k] = allocate((size_t)places * sizeof *c->rank_of[k]);
  for (int rank = 0; rank < c->ranks[k]; rank++) {
    const int holds = redist_layout_on_rank(layout, rank, places, held);
    for (int i = 0; i < holds; i++) c->rank_of[k][held[i]] = c->first[k] + rank;
    found += holds;
  }
  free(held);
  *layout = redist_on_ranks(*layout, c->rank_of[k]);
  return found == places;
}

/* Program k's layout from its text, on ranks of `all`. */
static int read_layout(coupling *c, int k) {
  char wrong[256], text[400];
  const size_t room = redist_layout_parse_size(c->text[k]);
  c->storage[k] = allocate(room);
  const int code =
      redist_layout_parse(c->text[k], &c->layout[k], c->storage[k], room, wrong, sizeof wrong);
  snprintf(text, sizeof text, "the layout of the %s, %.300s", program_name[k], c->text[k]);
  if (code != REDIST_OK) return fail(c, text, wrong);
  if (!is_plane(&c->layout[k], &c->n[k], &c->m[k])) return fail(c, text, "is not of a plane");
  if (put_on_program(c, k)) return 0;
  snprintf(wrong, sizeof wrong, "needs ranks beyond the %d of its program", c->ranks[k]);
  return fail(c, text, wrong);
}

/* Program k's field on a grid of its ranks, between two visits to the other's, for
   redist_best_grid. */
typedef struct {
  const coupling *of;
  int k;
} visitor;

static int there_and_back(const int *grid, redist_layout *sequence, int most, void *context) {
  const visitor *v = context;
  const coupling *c = v->of;
  const int other = 1 - v->k;
  (void)most;
  sequence[0] = sequence[2] = c->layout[other];
  sequence[1] = redist_layout_2d(redist_balanced(c->n[other], grid[0]),
                                 redist_balanced(c->m[other], grid[1]));
  sequence[1] = redist_from_rank(sequence[1], c->first[v->k]);
  return 3;
}

/* The text of the layout for which program k and the other exchange fastest. */
static int choose_layout(coupling *c, int k) {
  visitor v = {c, k};
  redist_cost cost;
  double seconds;
  int grid[2], code = redist_calibrate(c->all, &cost);
  char text[80];
  if (code == REDIST_OK)
    code =
        redist_best_grid(c->ranks[k], 2, there_and_back, &v, sizeof(double), &cost, grid, &seconds);
  if (code != REDIST_OK) return fail(c, "no process grid", redist_strerror(code));
  snprintf(text, sizeof text, "%lldx%lld: balanced@%d, balanced@%d", (long long)c->n[1 - k],
           (long long)c->m[1 - k], grid[0], grid[1]);
  set_text(c, k, text);
  return 0;
}

/* Reads both layouts; a program without one adapts to the other. */
static int read_layouts(coupling *c) {
  const int leader = c->text[AIR][0] == '\0' && c->text[SEA][0] != '\0' ? SEA : AIR;
  char rows[64];
  snprintf(rows, sizeof rows, "60x40: balanced@%d, *", c->ranks[AIR]);
  if (c->text[leader][0] == '\0') set_text(c, leader, rows);
  if (read_layout(c, leader) != 0) return 1;
  if (c->text[1 - leader][0] == '\0' && choose_layout(c, 1 - leader) != 0) return 1;
  return read_layout(c, 1 - leader);
}

/* Creates one plan for both directions. On ranks of the other program, a part's array is NULL. */
static int create_plan(coupling *c) {
  char wrong[256], detail[700];
  redist_options options;
  redist_part part[PROGRAMS];
  memset(&options, 0, sizeof options);
  memset(part, 0, sizeof part);
  options.message = wrong;
  options.message_size = sizeof wrong;
  for (int k = 0; k < PROGRAMS; k++) {
    part[k].from = &c->layout[k];
    part[k].to = &c->layout[1 - k];
    part[k].element = MPI_DOUBLE;
  }
  if (redist_plan_create_parts(c->all, PROGRAMS, part, &options, &c->plan) == REDIST_OK) return 0;
  snprintf(detail, sizeof detail, "%s (air: %.200s; sea: %.200s)", wrong, c->text[AIR],
           c->text[SEA]);
  return fail(c, "no plan", detail);
}

/* ---- the models ---- */

static double at_start(int program, int64_t i, int64_t j) {
  return program == AIR ? 0.25 * (double)i + 0.01 * (double)j
                        : 10 - 0.1 * (double)i + 0.5 * (double)j;
}

/* After steps in which the difference has shrunk by `factor`. */
static double exact(int program, int64_t i, int64_t j, double factor) {
  const double own = at_start(program, i, j), other = at_start(1 - program, i, j);
  const double share = rate[program] / (rate[AIR] + rate[SEA]);
  return own + share * (1 - factor) * (other - own);
}

/* Sets this rank's temperatures, or compares with them; returns the largest difference. */
static double visit(coupling *c, double factor, int set) {
  const redist_layout *layout = &c->layout[c->role];
  double worst = 0;
  int64_t index[2];
  int rank;
  MPI_Comm_rank(c->all, &rank);
  for (index[0] = 0; index[0] < c->n[c->role]; index[0]++)
    for (index[1] = 0; index[1] < c->m[c->role]; index[1]++)
      if (redist_layout_owner(layout, index) == rank) {
        double *at = &c->field[redist_layout_offset(layout, index)];
        const double value = exact(c->role, index[0], index[1], factor);
        const double error = *at > value ? *at - value : value - *at;
        *at = set ? value : *at;
        worst = error <= worst ? worst : error; /* also not-a-number */
      }
  return set ? 0 : worst;
}

/* Both arrays are of this program's layout, so that elements meet at equal offsets. */
static void step(const coupling *c, int64_t elements) {
  const void *from[PROGRAMS] = {NULL};
  void *to[PROGRAMS] = {NULL};
  from[c->role] = c->field;
  to[1 - c->role] = c->received;
  if (redist_execute_many(c->plan, from, to) != REDIST_OK) {
    fail(c, "no exchange", redist_plan_message(c->plan));
    MPI_Abort(c->all, 1);
  }
  for (int64_t k = 0; k < elements; k++)
    c->field[k] += rate[c->role] * (c->received[k] - c->field[k]);
}

/* Continues until one of the two programs has done all its steps. */
static int run(coupling *c, int64_t steps) {
  int rank;
  MPI_Comm_rank(c->all, &rank);
  const int64_t elements = redist_layout_local_size(&c->layout[c->role], rank);
  double factor = 1, error, worst;
  c->field = allocate((size_t)elements * sizeof *c->field);
  c->received = allocate((size_t)elements * sizeof *c->received);
  MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_INT64_T, MPI_MIN, c->all);
  visit(c, factor, 1);
  for (int64_t k = 0; k < steps; k++) {
    step(c, elements);
    factor *= 1 - rate[AIR] - rate[SEA];
  }
  error = visit(c, factor, 0);
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, c->mine);
  if (c->leads)
    printf("%s, %s, on rank %d and up of %d: %lld steps, error %8.2e: %s\n", program_name[c->role],
           c->text[c->role], c->first[c->role], c->ranks[AIR] + c->ranks[SEA], (long long)steps,
           worst, worst < 1e-9 ? "right" : "WRONG");
  return !(worst < 1e-9);
}

static int couple(coupling *c, const settings *s, MPI_Comm met) {
  int status = know_each_other(c, met);
  if (status == 0) {
    set_text(c, c->role, s->layout ? s->layout : "");
    exchange_texts(c);
    status = read_layouts(c) != 0 || create_plan(c) != 0;
  }
  if (status == 0) status = run(c, s->steps);
  redist_plan_free(&c->plan);
  for (int k = 0; k < PROGRAMS; k++) {
    free(c->text[k]);
    free(c->storage[k]);
    free(c->rank_of[k]);
  }
  free(c->field);
  free(c->received);
  MPI_Comm_free(&c->all);
  MPI_Comm_free(&met);
  return status;
}

/* ---- the command line ---- */

static int read_options(settings *s, int argc, char **argv, int rank, int is_alone) {
  static const option_choice roles[] = {{"air", AIR}, {"sea", SEA}, {NULL, 0}};
  const option table[] = {
      {.name = "--role",
       .argument = "ROLE",
       .choice = &s->role,
       .choices = roles,
       .help = "which of the two programs this is"},
      {.name = "--layout",
       .argument = "TEXT",
       .text = &s->layout,
       .help = "of this program's field (default: the best for the other's; 60x40)"},
      {.name = "--steps",
       .argument = "K",
       .integer = &s->steps,
       .least = 0,
       .most = 100000,
       .help = "at most (default 20)"},
      {.name = "--spawn",
       .argument = "RANKS",
       .integer = &s->spawn,
       .least = 0,
       .most = 10000,
       .help = "start the other program on so many (default 0: do not)"},
      {.name = "--spawned-layout",
       .argument = "TEXT",
       .text = &s->spawned_layout,
       .help = "the --layout of the program that --spawn starts"},
      {.name = NULL}};
  const int status = options_start(
      table, argc, argv, rank, "couple",
      "Teaches coupling: two programs, under one mpiexec (-n 2 couple --role air : -n 3 couple --role sea) or started\n"
      "one by the other (--spawn), that exchange their layouts as text and a field each every step.");
  const char *missing = s->role == NO_ROLE          ? "--role needs one of air sea: see --help"
                        : s->spawn > 0 && !is_alone ? "--spawn is for one program alone"
                                                    : NULL;
  if (status < 0 && missing && rank == 0) fprintf(stderr, "couple: %s\n", missing);
  return status < 0 && missing ? 2 : status;
}

int main(int argc, char **argv) {
  settings s = {.role = NO_ROLE, .steps = 20};
  coupling c;
  int rank, ranks, all_ranks, status;
  MPI_Init(&argc, &argv);
  memset(&c, 0, sizeof c);
  c.mine = my_program();
  MPI_Comm_rank(c.mine, &rank);
  MPI_Comm_size(c.mine, &ranks);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
  status = read_options(&s, argc, argv, rank, ranks == all_ranks);
  /* if one program has an error, neither runs */
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (status < 0) {
    MPI_Comm met = meet(&s, c.mine, argv[0]);
    c.role = s.role;
    c.leads = rank == 0;
    status =
        met != MPI_COMM_NULL ? couple(&c, &s, met) : fail(&c, "this MPI cannot start programs", "");
  }
  MPI_Comm_free(&c.mine);
  MPI_Finalize();
  return status;
}
