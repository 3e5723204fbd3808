/* A tool, not a lesson: how should an array pass through several layouts, on a machine whose
   messages and bytes cost so much? No MPI is used. MIT licence, see LICENSE.
   mpicc -I. examples/advise.c -o advise &&
   ./advise --node 4 '64x64x64: *, block@4, block@4' '64x64x64: block@4, *, block@4' \
       '64x64x64: block@4, block@4, *'

   The layouts as they are given are compared with the same on other ranks, where that leaves more
   elements on their nodes or ranks (redist_relabel, each layout after the one before), on another
   process grid (redist_best_grid), and both. The layouts that change their grid, together, are
   those with the fewest axes that are distributed, but at least two: pencils do, the bricks before
   them do not. Then come the methods for each redistribution. As a picture: who sends how much to
   whom, as given and as advised, by ranks and by nodes. Seconds are those of what the busiest rank
   exchanges with others: redist_cost_of, by which grids are compared, counts its own, too. */
#include <stdlib.h>
#include <string.h>

#include "redist.h"
#include "svg.h"

enum { MOST_LAYOUTS = 16, MOST_RANKS = 256, MOST_STOPS = 6, TEXT = 400 };

enum { GIVEN, RENUMBERED, OTHER_GRID, BOTH, CHAINS };

/* Elements from each rank, or node, to each. */
typedef struct {
  int n;
  int64_t *elements; /* [n * n], by sender */
} matrix;

/* The layouts that the data passes through. */
typedef struct {
  int exists;
  char name[80];
  redist_layout layout[MOST_LAYOUTS];
  int *ranks[MOST_LAYOUTS];
  redist_traffic all;                 /* summed over the redistributions */
  int64_t messages_off, elements_off; /* between nodes */
  matrix by_rank, by_node;
  double seconds;
} chain;

typedef struct {
  int layouts, ranks, node, picture, best;
  size_t element; /* bytes */
  redist_cost cost;
  char *text[MOST_LAYOUTS], *filled[MOST_LAYOUTS];
  void *storage[2][MOST_LAYOUTS]; /* of the layouts as given, and on another grid */
  int procs, dims;                /* of the grid that may change; 0: none */
  chain chain[CHAINS];
} study;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "advise: %s: %s\n", what, why);
  exit(1);
}

static void check(int code, const char *what) {
  if (code != REDIST_OK) fail(what, redist_strerror(code));
}

static void *allocate(size_t bytes) {
  void *memory = calloc(bytes + 1, 1);
  if (memory == NULL) fail("out of memory", "use smaller layouts");
  return memory;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- what a sequence of layouts costs ---- */

/* The busiest rank's messages to others: latency, nine tenths of what a message costs, counts once,
   and while one message is on the link, the next is prepared. */
static double price(const study *s, const redist_layout *layout, int n) {
  double seconds = 0;
  for (int k = 0; k + 1 < n; k++) {
    redist_traffic t;
    check(redist_traffic_between(&layout[k], &layout[k + 1], 0, &t), "counting");
    const double messages = (double)larger(t.max_sends, t.max_receives),
                 link = (double)larger(t.max_sent, t.max_received) * (double)s->element *
                        s->cost.per_byte,
                 others = 0.1 * (messages - 1) * s->cost.per_message;
    if (messages > 0)
      seconds +=
          s->cost.per_message + (link > others + link / messages ? link : others + link / messages);
  }
  return seconds;
}

/* ---- who sends how much to whom ---- */

static void count_pair(const study *s, chain *c, const redist_layout *from,
                       const redist_layout *to) {
  const int n = s->ranks, each = s->node;
  redist_traffic t;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) {
      const int off = a / each != b / each;
      int64_t elements;
      check(redist_volume(from, a, to, b, &elements), "counting");
      c->by_rank.elements[a * n + b] += elements;
      c->by_node.elements[a / each * c->by_node.n + b / each] += elements;
      c->messages_off += off && elements > 0;
      c->elements_off += off ? elements : 0;
    }
  check(redist_traffic_between(from, to, 0, &t), "counting");
  c->all.messages += t.messages;
  c->all.moved += t.moved;
  c->all.max_sends += larger(t.max_sends, t.max_receives);
  c->all.max_sent += larger(t.max_sent, t.max_received);
}

static void count(const study *s, chain *c) {
  const int n = s->ranks, nodes = (n + s->node - 1) / s->node;
  c->by_rank.n = n;
  c->by_node.n = nodes;
  c->by_rank.elements = allocate((size_t)n * (size_t)n * sizeof(int64_t));
  c->by_node.elements = allocate((size_t)nodes * (size_t)nodes * sizeof(int64_t));
  for (int k = 0; k + 1 < s->layouts; k++) count_pair(s, c, &c->layout[k], &c->layout[k + 1]);
  c->seconds = price(s, c->layout, s->layouts);
}

/* ---- other chains ---- */

/* Not where a rank holds several places. */
static void renumber(const study *s, chain *c, const chain *as) {
  c->layout[0] = as->layout[0];
  for (int k = 1; k < s->layouts; k++) {
    c->ranks[k] = allocate((size_t)redist_layout_places(&as->layout[k]) * sizeof(int));
    if (redist_relabel(&c->layout[k - 1], &as->layout[k], s->node, c->ranks[k]) != REDIST_OK)
      return;
    c->layout[k] = redist_on_ranks(as->layout[k], c->ranks[k]);
  }
  snprintf(c->name, sizeof c->name, "%.60s, renumbered", as->name);
  c->exists = 1;
}

/* The numbers of processes in a layout's text stand after @. Returns how many there are. */
static int grid_of(const char *text, int *procs) {
  int dims = 0;
  for (*procs = 1; (text = strchr(text, '@')) != NULL; text++, dims++) *procs *= atoi(text + 1);
  return dims;
}

static void fill_in(const char *from, const int *grid, char *to) {
  while (*from != '\0') {
    const int is_grid = *from == '@';
    *to++ = *from++;
    if (!is_grid) continue;
    to += sprintf(to, "%d", *grid++);
    from += strspn(from, "0123456789");
  }
  *to = '\0';
}

static int onto_grid(const int *grid, redist_layout *sequence, int most, void *context) {
  const study *s = context;
  int procs;
  (void)most;
  for (int k = 0; k < s->layouts; k++) {
    sequence[k] = s->chain[GIVEN].layout[k];
    if (grid_of(s->text[k], &procs) != s->dims || procs != s->procs) continue;
    fill_in(s->text[k], grid, s->filled[k]);
    if (redist_layout_parse(s->filled[k], &sequence[k], s->storage[1][k],
                            redist_layout_parse_size(s->text[k]), NULL, 0) != REDIST_OK)
      return 0;
  }
  return s->layouts;
}

static void change_grid(study *s, chain *c) {
  int grid[REDIST_MAX_DIMS], procs, dims;
  for (int k = 0; k < s->layouts; k++) {
    dims = grid_of(s->text[k], &procs);
    if (dims < 2 || (s->dims > 0 && dims >= s->dims)) continue;
    s->dims = dims;
    s->procs = procs;
  }
  if (s->dims == 0 || redist_best_grid(s->procs, s->dims, onto_grid, s, s->element, &s->cost, grid,
                                       &c->seconds) != REDIST_OK)
    return;
  c->exists = onto_grid(grid, c->layout, MOST_LAYOUTS, s) == s->layouts;
  strcpy(c->name, "on grid ");
  for (int d = 0; d < s->dims; d++)
    sprintf(c->name + strlen(c->name), "%s%d", d > 0 ? "x" : "", grid[d]);
}

/* One more than the highest rank that holds a place. */
static int ranks_of(const redist_layout *layout) {
  int left = redist_layout_places(layout), rank = 0;
  for (; left > 0 && rank < MOST_RANKS; rank++)
    left -= redist_layout_on_rank(layout, rank, 0, NULL);
  if (left > 0) fail("too many ranks", "at most 256 can be compared");
  return rank;
}

static void read_layout(study *s, const char *text) {
  const size_t bytes = redist_layout_parse_size(text);
  const int k = s->layouts++;
  redist_layout *layout = &s->chain[GIVEN].layout[k];
  char wrong[256];
  size_t room;
  if (k == MOST_LAYOUTS) fail("too many layouts", "at most 16 can be compared");
  s->storage[0][k] = allocate(bytes);
  s->storage[1][k] = allocate(bytes);
  if (redist_layout_parse(text, layout, s->storage[0][k], bytes, wrong, sizeof wrong) != REDIST_OK)
    fail(text, wrong);
  room = (size_t)redist_layout_format(layout, NULL, 0) + 1;
  s->text[k] = allocate(room);
  s->filled[k] = allocate(room + 16 * REDIST_MAX_DIMS);
  redist_layout_format(layout, s->text[k], room);
  if (ranks_of(layout) > s->ranks) s->ranks = ranks_of(layout);
}

static void compare(study *s) {
  chain *c = s->chain;
  strcpy(c[GIVEN].name, "as given");
  c[GIVEN].exists = 1;
  renumber(s, &c[RENUMBERED], &c[GIVEN]);
  change_grid(s, &c[OTHER_GRID]);
  if (c[OTHER_GRID].exists) renumber(s, &c[BOTH], &c[OTHER_GRID]);
  for (int k = 0; k < CHAINS; k++) {
    if (c[k].exists) count(s, &c[k]);
    if (k == RENUMBERED || k == BOTH)
      c[k].exists &=
          c[k].elements_off < c[k - 1].elements_off || c[k].all.moved < c[k - 1].all.moved;
    if (c[k].exists && c[k].seconds < c[s->best].seconds * (1 - 1e-9)) s->best = k;
  }
}

static void finish(study *s) {
  for (int k = 0; k < CHAINS; k++) {
    free(s->chain[k].by_rank.elements);
    free(s->chain[k].by_node.elements);
    for (int l = 0; l < s->layouts; l++) free(s->chain[k].ranks[l]);
  }
  for (int l = 0; l < s->layouts; l++) {
    free(s->text[l]);
    free(s->filled[l]);
    free(s->storage[0][l]);
    free(s->storage[1][l]);
  }
}

/* ---- as text ---- */

static void print_layouts(const study *s, const chain *c) {
  for (int k = 0; k < s->layouts; k++) {
    printf("  %d  ", k + 1);
    redist_layout_print(&c->layout[k], stdout);
  }
}

static void print_chains(const study *s) {
  printf("\n%-26s busiest rank's           in all  off node's\n%-26s %9s %9s %9s %9s %9s %10s\n",
         "", "redistributions", "messages", "elements", "elements", "messages", "elements",
         "seconds");
  for (int k = 0; k < CHAINS; k++) {
    const chain *c = &s->chain[k];
    if (c->exists)
      printf("%-26s %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64 " %10.2e%s\n",
             c->name, c->all.max_sends, c->all.max_sent, c->all.moved, c->messages_off,
             c->elements_off, c->seconds, k == s->best ? " *" : "");
  }
}

static void print_method(const char *method, double seconds, const char *how) {
  printf("          %-22s %10.2e  %s\n", method, seconds, how);
}

/* The route through other layouts that costs least, if one costs less than none. */
static void print_route(const study *s, const redist_layout *from, const redist_layout *to) {
  redist_layout route[MOST_STOPS + 2];
  char how[TEXT * MOST_STOPS] = "";
  int stops;
  check(redist_phases(from, to, s->element, &s->cost, MOST_STOPS, route + 1, &stops),
        "finding a route");
  route[0] = *from;
  route[stops + 1] = *to;
  for (int k = 1; k <= stops; k++) {
    strcat(how, k > 1 ? "; then " : "through ");
    redist_layout_format(&route[k], how + strlen(how), TEXT - 10);
  }
  if (stops > 0) print_method("REDIST_MULTIPHASE", price(s, route, stops + 2), how);
}

/* An all-to-all sends empty messages, too; of each message all but a tenth is latency. */
static void print_methods(const study *s, int k) {
  const redist_layout *pair = &s->chain[GIVEN].layout[k];
  const double together = price(s, pair, 2);
  redist_traffic t;
  redist_schedule *schedule;
  double alone;
  char how[TEXT];
  check(redist_traffic_between(&pair[0], &pair[1], 0, &t), "counting");
  check(redist_schedule_create(&pair[0], &pair[1], 0, &schedule), "scheduling");
  check(redist_cost_of(&pair[0], &pair[1], s->element, &s->cost, &alone), "predicting");
  snprintf(how, sizeof how, "%d steps, if each waits for the one before",
           redist_schedule_steps(schedule));
  printf("  %d to %d\n", k + 1, k + 2);
  print_method("REDIST_POINT_TO_POINT", together, "all messages at once");
  print_method("REDIST_ALLTOALLV",
               together + 0.1 * s->cost.per_message *
                              (double)(s->ranks - 1 - larger(t.max_sends, t.max_receives)),
               "the same, and empty messages to all other ranks");
  print_method("REDIST_SCHEDULED", alone, how);
  print_route(s, &pair[0], &pair[1]);
  redist_schedule_free(&schedule);
}

static void print_text(const study *s) {
  const chain *given = &s->chain[GIVEN], *best = &s->chain[s->best];
  printf("%d ranks, %d a node; elements of %d bytes; %.3g s a message, %.3g s a byte\n", s->ranks,
         s->node, (int)s->element, s->cost.per_message, s->cost.per_byte);
  print_layouts(s, given);
  print_chains(s);
  printf("\nmethods, as given\n");
  for (int k = 0; k + 1 < s->layouts; k++) print_methods(s, k);
  printf("\nadvice: %s", best->name);
  if (s->best != GIVEN) printf(", in %.2f of the time", best->seconds / given->seconds);
  printf("\n");
  if (s->best != GIVEN) print_layouts(s, best);
}

/* ---- as a picture ---- */

enum { MARGIN = 20, LINE = 19, PANEL = 420, CELL = 34 }; /* pixels */

static double cell_of(const matrix *m) {
  return PANEL / (m->n + 1) < CELL ? (double)PANEL / (m->n + 1) : CELL;
}

static double height_of(const matrix *m) { return 2 * LINE + cell_of(m) * (m->n + 1); }

static void draw_matrix(const matrix *m, const char *title, double x, double y) {
  const double cell = cell_of(m);
  int64_t most = 1;
  for (int k = 0; k < m->n * m->n; k++) most = larger(most, m->elements[k]);
  write_text(x, y + 14, "font-size=\"15\" font-weight=\"bold\"", title);
  printf("<g text-anchor=\"middle\">\n");
  for (int a = 0; a < m->n; a++) {
    write_number(cell_at(x, y + LINE, cell, cell, a + 1, 0), a, 14, "#333");
    write_number(cell_at(x, y + LINE, cell, cell, 0, a + 1), a, 14, "#333");
    for (int b = 0; b < m->n; b++) {
      const rectangle r = cell_at(x, y + LINE, cell, cell, a + 1, b + 1);
      const int64_t n = m->elements[a * m->n + b];
      const unsigned colour = n == 0 ? 0xF1F1F1 : mix(0xD6E6F4, 0x2A6DB0, (double)n / (double)most);
      fill(r, colour);
      if (n > 0) write_number(r, n, 14, ink_on(colour));
      if (n > 0 && a == b) mark(r);
    }
  }
  printf("</g>\n");
}

static void draw_chain(const study *s, const chain *c, double x) {
  const double y = 2 * MARGIN + LINE * s->layouts;
  char line[TEXT];
  for (int k = 0; k < s->layouts; k++) {
    redist_layout_format(&c->layout[k], line, sizeof line);
    if (strlen(line) > 54) strcpy(line + 51, "...");
    write_text(x, MARGIN + LINE * k + 10,
               "font-size=\"13\" font-family=\"DejaVu Sans Mono, monospace\"", line);
  }
  snprintf(line, sizeof line, "%s: %" PRId64 " elements move", c->name, c->all.moved);
  draw_matrix(&c->by_rank, line, x, y);
  snprintf(line, sizeof line, "nodes of %d ranks: %" PRId64 " elements move", s->node,
           c->elements_off);
  if (s->node > 1) draw_matrix(&c->by_node, line, x, y + height_of(&c->by_rank));
}

static void print_picture(const study *s) {
  const chain *given = &s->chain[GIVEN];
  const int columns = s->best == GIVEN ? 1 : 2;
  printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
         "font-family=\"DejaVu Sans, sans-serif\">\n"
         "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
         MARGIN + columns * (PANEL + MARGIN),
         2 * MARGIN + LINE * s->layouts + height_of(&given->by_rank) +
             (s->node > 1 ? height_of(&given->by_node) : 0));
  draw_chain(s, given, MARGIN);
  if (s->best != GIVEN) draw_chain(s, &s->chain[s->best], 2 * MARGIN + PANEL);
  printf("</svg>\n");
}

/* ---- the command line ---- */

static int help(void) {
  printf(
      "usage: advise [OPTION...] 'LAYOUT' 'LAYOUT'... [>picture.svg]\n"
      "A tool: compares methods, ranks and process grids for an array that passes through these layouts. A layout is\n"
      "a text such as '100x80: block@4, cyclic(8)@2' (redist.h describes the format).\n"
      "  --picture        as SVG: who sends how much to whom, as given and as advised\n"
      "  --node RANKS     ranks of a node, 1 or more (1): rank r is on node r / RANKS\n"
      "  --element BYTES  of an element, 1 or more (8)\n"
      "  --message S      seconds of a short message (1e-5); redist_calibrate measures it\n"
      "  --byte S         seconds of a byte (8e-10, 10 Gbit/s)\n"
      "  --help           this text\n");
  return 0;
}

/* Returns 0 where the number is none, or too small. */
static int read_number(const char *text, double least, double *number) {
  char *end;
  *number = text == NULL ? -1 : strtod(text, &end);
  return text != NULL && end != text && *end == '\0' && *number >= least && *number <= 1e9;
}

/* Returns how many arguments the option at arguments[0] takes; 0 when it is none, or incomplete. */
static int read_option(study *s, char **arguments) {
  double number;
  if (strcmp(arguments[0], "--picture") == 0) return s->picture = 1;
  if (strcmp(arguments[0], "--node") == 0 && read_number(arguments[1], 1, &number))
    s->node = (int)number;
  else if (strcmp(arguments[0], "--element") == 0 && read_number(arguments[1], 1, &number))
    s->element = (size_t)number;
  else if (strcmp(arguments[0], "--message") == 0 && read_number(arguments[1], 0, &number))
    s->cost.per_message = number;
  else if (strcmp(arguments[0], "--byte") == 0 && read_number(arguments[1], 0, &number))
    s->cost.per_byte = number;
  else
    return 0;
  return 2;
}

int main(int argc, char **argv) {
  static study s = {.node = 1, .element = 8, .cost = {1e-5, 8e-10}};
  int used;
  for (int k = 1; k < argc; k += used) {
    used = 1;
    if (strcmp(argv[k], "--help") == 0) return help();
    if (strncmp(argv[k], "--", 2) != 0)
      read_layout(&s, argv[k]);
    else if ((used = read_option(&s, argv + k)) == 0) {
      fprintf(stderr, "advise: unknown or incomplete option '%s' (--help lists all)\n", argv[k]);
      return 2;
    }
  }
  if (s.layouts < 2) fail("two layouts or more", "see --help");
  compare(&s);
  (s.picture ? print_picture : print_text)(&s);
  finish(&s);
  return 0;
}
