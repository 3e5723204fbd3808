/* A tool, not a lesson: draws layouts, and the elements that move between two of them, as SVG. No
   MPI is used. MIT licence, see LICENSE.
   mpicc -I. examples/draw.c -o draw &&
   ./draw '12x12: block@3, *' '12x12: *, block@3' >picture.svg */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redist.h"
#include "svg.h"

enum {
  MAX_RANKS = 256,
  MAX_BLOCKS = 512,
  MAX_RECTANGLES = 20000,
  MAX_LINES = 40,
  MAX_ELEMENTS = 1000000,
  TEXT = 400
};
enum { PAGE = 960, MARGIN = 20, GAP = 34, ELEMENT = 28, HEAD = 42 }; /* pixels */

enum { EMPTY = 0xF1F1F1 }; /* the colour of elements in no box */

enum { ARRAY = 1, MATRIX = 2, SCHEDULE = 4 };
enum { BEFORE, AFTER, RELABELLED, LAYOUTS };

/* What is to be drawn. */
typedef struct {
  redist_layout layout[LAYOUTS];
  void *storage[LAYOUTS];
  int layouts, relabel;
  unsigned wanted;             /* ARRAY | MATRIX | SCHEDULE; 0: all */
  int axes, axis[2];           /* the axes that are drawn: down and across, or only across */
  int64_t at[REDIST_MAX_DIMS]; /* the index along the others */
  int ranks, rank[MAX_RANKS];  /* all ranks of the layouts, ascending */
  redist_traffic traffic[LAYOUTS];
  redist_schedule *schedule;
  int scheduled; /* there is a schedule: no rank holds several places */
} story;

/* How indices become pixels; an array of one axis may be wrapped into lines of `wrap` elements. */
typedef struct {
  double across, down;
  int64_t rows, columns, wrap;
} scale;

/* A picture inside the picture. */
typedef struct part {
  char title[TEXT], note[TEXT];
  double width, height;
  void (*draw)(const story *s, const struct part *p, double x, double y);
  scale scale;
  int layout;
} part;

/* Ends the program. */
static void fail(const char *sentence) {
  fprintf(stderr, "draw: %s\n", sentence);
  exit(1);
}

/* ---- colours: Tol's muted scheme, which colour-blind readers can tell apart, then lighter and
   darker tones of it ---- */

static int position_of(const story *s, int rank) {
  int k = 0;
  while (k < s->ranks && s->rank[k] != rank) k++;
  return k;
}

static unsigned rank_colour(const story *s, int rank) {
  enum { HUES = 9, TONES = 5 };
  static const unsigned hue[HUES] = {0x88CCEE, 0xDDCC77, 0xCC6677, 0x44AA99, 0x332288,
                                     0x999933, 0xAA4499, 0x117733, 0x882255};
  static const struct {
    unsigned into;
    double share;
  } tone[TONES] = {{0, 0}, {0x000000, 0.35}, {0xFFFFFF, 0.5}, {0x000000, 0.6}, {0xFFFFFF, 0.25}};
  int k = position_of(s, rank);
  return mix(hue[k % HUES], tone[k / HUES % TONES].into, tone[k / HUES % TONES].share);
}

static void draw_rank(const story *s, rectangle r, int rank) {
  unsigned colour = rank_colour(s, rank);
  fill(r, colour);
  write_number(r, rank, 15, ink_on(colour));
}

/* ---- arrays ---- */

static int is_reshaped(const redist_layout *x) { return x->view.axes > 0; }

static int axes_in(const redist_layout *x) { return is_reshaped(x) ? x->view.axes : x->ndim; }

static int64_t length_of(const redist_layout *x, int axis) {
  return is_reshaped(x) ? x->view.axis[axis].count : x->dim[axis].axis.count;
}

/* The axis of a layout that is drawn down (0) or across (1); an array of one axis has one row. */
static const redist_axis *axis_of(const story *s, int layout, int across) {
  return s->axes == 1 && !across ? NULL
                                 : &s->layout[layout].dim[s->axis[s->axes == 1 ? 0 : across]].axis;
}

static int64_t extent_of(const story *s, int across) {
  if (s->axes == 1 && !across) return 1;
  return length_of(&s->layout[BEFORE], s->axis[s->axes == 1 ? 0 : across]);
}

static int64_t whole_index(const redist_axis *x, int64_t i) { return x->start + i * x->step; }

static int in_box(const redist_axis *x, int box, int64_t g) {
  return g >= x->begin[box * x->apart] && g < x->end[box * x->apart];
}

/* Whether index i may belong to another coordinate, or to other boxes, than the one before. */
static int changes_at(const story *s, int layout, int across, int64_t i) {
  const int reshaped = is_reshaped(&s->layout[layout]);
  const redist_axis *x = reshaped ? NULL : axis_of(s, layout, across);
  int k;
  if (reshaped) return s->axes == 2 || across;
  if (x == NULL || x->begin == NULL) return redist_axis_owner(x, i) != redist_axis_owner(x, i - 1);
  for (k = 0; k < x->procs; k++)
    if (in_box(x, k, whole_index(x, i)) != in_box(x, k, whole_index(x, i - 1))) return 1;
  return 0;
}

/* Cuts an axis wherever the owner changes in one of two layouts. Returns the number of blocks;
   block k is edge[k] <= i < edge[k + 1]. */
static int cut(const story *s, int layout, int other, int across, int64_t *edge) {
  int64_t i, n = extent_of(s, across);
  int blocks = 0, changes;
  if (n > MAX_ELEMENTS) fail("too many elements to draw: draw a section");
  for (i = 0; i < n; i++) {
    changes = i == 0 || changes_at(s, layout, across, i) || changes_at(s, other, across, i);
    if (changes && blocks == MAX_BLOCKS) fail("too many blocks to draw: draw a section");
    if (changes) edge[blocks++] = i;
  }
  edge[blocks] = n;
  return blocks;
}

/* The pixels of rows r0 <= r < r1 and of as many of the columns *c <= column < c1 as stand on one
   line. */
static rectangle next_piece(const scale *f, double x, double y, int64_t r0, int64_t r1, int64_t *c,
                            int64_t c1) {
  rectangle r;
  int64_t line = *c / f->wrap, end = c1 < (line + 1) * f->wrap ? c1 : (line + 1) * f->wrap;
  r.x = x + (double)(*c % f->wrap) * f->across;
  r.y = y + (double)r0 * f->down + (double)line * (f->down + 8);
  r.width = (double)(end - *c) * f->across;
  r.height = (double)(r1 - r0) * f->down;
  *c = end;
  return r;
}

static void index_at(const story *s, int64_t row, int64_t column, int64_t *index) {
  memcpy(index, s->at, sizeof s->at);
  index[s->axis[0]] = s->axes == 1 ? column : row;
  if (s->axes == 2) index[s->axis[1]] = column;
}

/* The owner in replica 0; -1: the element is in no box. */
static int owner_at(const story *s, int layout, int64_t row, int64_t column) {
  int64_t index[REDIST_MAX_DIMS];
  index_at(s, row, column, index);
  return redist_layout_owner(&s->layout[layout], index);
}

/* Whether a rank holds an element, in any replica. */
static int holds_at(const story *s, int layout, int rank, int64_t row, int64_t column) {
  const redist_layout *x = &s->layout[layout];
  int coords[REDIST_MAX_DIMS], owner[REDIST_MAX_DIMS];
  if (x->copies == 1) /* a rank may hold several places */
    return owner_at(s, layout, row, column) == rank;
  return redist_layout_coords(x, rank, coords) &&
         redist_layout_coords(x, owner_at(s, layout, row, column), owner) &&
         memcmp(coords, owner, (size_t)x->ndim * sizeof *coords) == 0;
}

/* Layers: each is drawn for all blocks before the next begins. */
enum { COLOURS, ELEMENTS, BORDERS, NUMBERS, LAYERS };

static void begin_layer(int layer) {
  if (layer == ELEMENTS)
    printf("<path stroke=\"#fff\" stroke-opacity=\".45\" stroke-width=\".8\" d=\"");
  if (layer == BORDERS) printf("<path fill=\"none\" stroke=\"#fff\" stroke-width=\"1.5\" d=\"");
  if (layer == NUMBERS) printf("<g stroke-width=\"3\" paint-order=\"stroke\">\n");
}

static void end_layer(int layer) {
  if (layer == ELEMENTS || layer == BORDERS) end_path();
  if (layer == NUMBERS) printf("</g>\n");
}

/* Thin lines between the elements of a block, where elements are large enough. */
static void draw_elements(const scale *f, rectangle r) {
  double at;
  if (f->across < 9 || f->down < 9) return;
  for (at = f->across; at < r.width - 1; at += f->across)
    printf("M%.5g %.5gv%.5g", r.x + at, r.y, r.height);
  for (at = f->down; at < r.height - 1; at += f->down)
    printf("M%.5g %.5gh%.5g", r.x, r.y + at, r.width);
}

/* Whether marks are drawn: not on the source of two destinations, where different elements stay. */
static int marked(const story *s, int layout) { return s->layouts == 2 || layout > BEFORE; }

enum { MOVES, STAYS, NEITHER };

/* Whether an element moves or stays; neither where one of the layouts has it in no box. */
static int fate_of(const story *s, int layout, int64_t row, int64_t column) {
  const int other = layout == BEFORE ? AFTER : BEFORE, owner = owner_at(s, layout, row, column);
  if (owner < 0 || owner_at(s, other, row, column) < 0) return NEITHER;
  return holds_at(s, other, owner, row, column) ? STAYS : MOVES;
}

/* The number has a rim in the colour below it, so that marks do not cross it. */
static void draw_number(const story *s, int layout, rectangle r, int64_t row, int64_t column) {
  int rank = owner_at(s, layout, row, column);
  unsigned paper = rank_colour(s, rank);
  char ink[40];
  if (marked(s, layout) && fate_of(s, layout, row, column) == MOVES)
    paper = mix(paper, 0xFFFFFF, veil_opacity);
  snprintf(ink, sizeof ink, "%s\" stroke=\"#%06x", ink_on(paper), paper);
  write_number(r, rank, 26, ink);
}

/* One layer of a block, of which row and column are the middle. */
static void draw_block(const story *s, const part *p, rectangle r, int64_t row, int64_t column,
                       int layer) {
  switch (layer) {
  case COLOURS: fill(r, rank_colour(s, owner_at(s, p->layout, row, column))); break;
  case ELEMENTS: draw_elements(&p->scale, r); break;
  case BORDERS: way_around(r, 0); break;
  default: draw_number(s, p->layout, r, row, column); break;
  }
}

/* One layer of the rows r0 <= r < r1 of the columns c <= column < c1, which may stand on several
   lines. */
static void draw_piece(const story *s, const part *p, double x, double y, const int64_t *rows,
                       const int64_t *columns, int layer) {
  int64_t c, begin;
  for (begin = c = columns[0]; c < columns[1]; begin = c) {
    rectangle r = next_piece(&p->scale, x, y, rows[0], rows[1], &c, columns[1]);
    draw_block(s, p, r, (rows[0] + rows[1]) / 2, (begin + c) / 2, layer);
  }
}

/* The indices of a view's axis that a box holds: range[0] <= i < range[1]. */
static int box_range(const redist_axis *x, int box, int64_t *range) {
  int64_t i;
  range[0] = range[1] = 0;
  for (i = x->count - 1; i >= 0; i--)
    if (in_box(x, box, whole_index(x, i))) {
      range[0] = i;
      range[1] = range[1] == 0 ? i + 1 : range[1];
    }
  return range[1] > 0;
}

/* Whether a process of the grid owns the index along the axes that are not drawn. */
static int owns_plane(const story *s, int layout, const int *coords) {
  const redist_layout *x = &s->layout[layout];
  int d, owns = 1;
  for (d = 0; d < x->ndim; d++) {
    const redist_axis *axis = &x->dim[d].axis;
    if (d == s->axis[0] || (s->axes == 2 && d == s->axis[1])) continue;
    owns &= x->boxes > 0 ? in_box(axis, coords[d], whole_index(axis, s->at[d]))
                         : redist_axis_owner(axis, s->at[d]) == coords[d];
  }
  return owns;
}

/* The coordinates of a process of the grid, in the order of the view's axes; returns its rank. */
static int process_at(const redist_layout *x, int process, int *coords) {
  int d;
  for (d = x->ndim - 1; d >= 0; d--) {
    coords[d] = process % x->dim[d].axis.procs;
    process /= x->boxes > 0 ? 1 : x->dim[d].axis.procs;
  }
  return redist_layout_rank(x, coords);
}

/* Boxes, where they meet the plane that is drawn. */
static void draw_boxes(const story *s, const part *p, double x, double y, int layer) {
  const redist_axis *down = axis_of(s, p->layout, 0), *across = axis_of(s, p->layout, 1);
  int64_t rows[2] = {0, 1}, columns[2];
  int k, coords[REDIST_MAX_DIMS];
  for (k = 0; k < across->procs; k++) {
    process_at(&s->layout[p->layout], k, coords);
    if ((down == NULL || box_range(down, k, rows)) && box_range(across, k, columns) &&
        owns_plane(s, p->layout, coords))
      draw_piece(s, p, x, y, rows, columns, layer);
  }
}

static void draw_layer(const story *s, const part *p, double x, double y, int layer) {
  int64_t rows[MAX_BLOCKS + 1], columns[MAX_BLOCKS + 1];
  int a, b, down = cut(s, p->layout, p->layout, 0, rows),
            across = cut(s, p->layout, p->layout, 1, columns);
  begin_layer(layer);
  if (s->layout[p->layout].boxes > 0) down = 0, draw_boxes(s, p, x, y, layer);
  for (a = 0; a < down; a++)
    for (b = 0; b < across; b++) draw_piece(s, p, x, y, rows + a, columns + b, layer);
  end_layer(layer);
}

/* ---- ghost cells ---- */

/* The index of the whole axis where what a coordinate owns begins, and where it ends; 0 when it
   owns nothing. */
static int owned_range(const redist_axis *x, int coord, int64_t *range) {
  redist_axis whole = *x;
  whole.start = 0;
  whole.step = 1;
  whole.count = x->extent;
  range[0] = redist_axis_count(&whole, coord) > 0 ? redist_axis_global(&whole, coord, 0) : 0;
  range[1] = range[0] + redist_axis_count(&whole, coord);
  return range[0] < range[1];
}

/* Whether a coordinate holds an index of the view, perhaps as a ghost cell. */
static int shows(const redist_axis *x, const int64_t *owned, int64_t i) {
  const int64_t low = x->ghosts ? owned[0] - x->low : owned[0],
                high = x->ghosts ? owned[1] + x->high : owned[1];
  const int64_t around = x->ghosts == 1 + REDIST_PERIODIC ? x->extent : 0, g = whole_index(x, i);
  return (g >= low && g < high) || (g + around >= low && g + around < high) ||
         (g - around >= low && g - around < high);
}

enum { MAX_SHOWN = 8 };

/* The intervals of the view that a coordinate holds, with or without ghost cells. Returns how
   many. */
static int shown_ranges(const redist_axis *axis, int coord, int ghosts, int64_t (*range)[2]) {
  redist_axis copy, *x = NULL;
  int64_t owned[2], i;
  int n = 0, inside = 0, was;
  if (axis == NULL) {
    range[0][0] = 0, range[0][1] = 1;
    return 1;
  }
  copy = *axis, x = &copy;
  if (!ghosts) copy.ghosts = 0;
  if (!owned_range(x, coord, owned)) return 0;
  for (i = 0; i < x->count && n < MAX_SHOWN; i++) {
    was = inside;
    inside = shows(x, owned, i);
    if (inside && !was) range[n++][0] = i;
    if (inside) range[n - 1][1] = i + 1;
  }
  return n;
}

static int has_ghosts(const story *s, int layout) {
  int a, ghosts = 0;
  for (a = 0; a < s->axes && !is_reshaped(&s->layout[layout]); a++)
    ghosts |= s->layout[layout].dim[s->axis[a]].axis.ghosts;
  return ghosts;
}

/* A dashed line in its rank's colour around what each process of the grid holds; without corners,
   around what it holds along either axis. */
static void draw_ghosts(const story *s, const part *p, double x, double y) {
  const redist_layout *layout = &s->layout[p->layout];
  const redist_axis *down = axis_of(s, p->layout, 0), *across = axis_of(s, p->layout, 1);
  const int places = redist_layout_places(layout) / layout->copies;
  int64_t rows[MAX_SHOWN][2], columns[MAX_SHOWN][2], c;
  int k, a, b, n, m, rank, coords[REDIST_MAX_DIMS];
  for (k = 0; k < places * (1 + layout->faces) && has_ghosts(s, p->layout); k++) {
    rank = process_at(layout, k % places, coords);
    if (!owns_plane(s, p->layout, coords)) continue;
    n = shown_ranges(down, coords[s->axis[0]], !layout->faces || k < places, rows);
    m = shown_ranges(across, coords[s->axis[s->axes - 1]], !layout->faces || k >= places, columns);
    printf("<path fill=\"none\" stroke=\"#%06x\" stroke-width=\"2\" stroke-dasharray=\"5 3\" d=\"",
           mix(rank_colour(s, rank), 0, 0.45));
    for (a = 0; a < n; a++)
      for (b = 0; b < m; b++)
        for (c = columns[b][0]; c < columns[b][1];)
          way_around(next_piece(&p->scale, x, y, rows[a][0], rows[a][1], &c, columns[b][1]), 2);
    end_path();
  }
}

/* Veils elements that move or marks those that stay. The array is cut as in both layouts, so that a
   whole rectangle moves or stays. */
static void draw_kept(const story *s, const part *p, double x, double y, int stroke) {
  int64_t rows[MAX_BLOCKS + 1], columns[MAX_BLOCKS + 1], c;
  int other = p->layout == BEFORE ? AFTER : BEFORE;
  int down = cut(s, p->layout, other, 0, rows), across = cut(s, p->layout, other, 1, columns), a, b;
  begin_mark(stroke);
  for (a = 0; a < down; a++)
    for (b = 0; b < across; b++)
      for (c = columns[b]; c < columns[b + 1];) {
        rectangle r = next_piece(&p->scale, x, y, rows[a], rows[a + 1], &c, columns[b + 1]);
        if (fate_of(s, p->layout, rows[a], columns[b]) == (stroke == VEIL ? MOVES : STAYS))
          way_around(r, stroke == VEIL ? 0 : 2.3);
      }
  end_path();
}

/* Elements in no box are grey. */
static void draw_gaps(const story *s, const part *p, double x, double y) {
  int64_t c = 0;
  while (s->layout[p->layout].partial && c < p->scale.columns)
    fill(next_piece(&p->scale, x, y, 0, p->scale.rows, &c, p->scale.columns), EMPTY);
}

static void draw_array(const story *s, const part *p, double x, double y) {
  int layer, stroke;
  draw_gaps(s, p, x, y);
  for (layer = COLOURS; layer < LAYERS; layer++) {
    if (layer == NUMBERS && marked(s, p->layout))
      for (stroke = VEIL; stroke <= NARROW; stroke++) draw_kept(s, p, x, y, stroke);
    draw_layer(s, p, x, y, layer);
  }
  draw_ghosts(s, p, x, y);
}

/* Chooses how large the elements of an array are; `side` arrays of two axes stand side by side. */
static scale scale_of(const story *s, int blocks, int side) {
  double width = s->axes == 1 ? PAGE - 2 * MARGIN
                              : (PAGE - 2 * MARGIN - (side - 1) * GAP) / (double)side,
         height = 400;
  scale f;
  f.rows = extent_of(s, 0);
  f.columns = f.wrap = extent_of(s, 1);
  f.across = width / (double)f.columns < ELEMENT ? width / (double)f.columns : ELEMENT;
  f.down = height / (double)f.rows < ELEMENT ? height / (double)f.rows : ELEMENT;
  /* else elements are not square */
  if (s->axes == 2 && f.across < 4 * f.down && f.down < 4 * f.across)
    f.across = f.down = f.across < f.down ? f.across : f.down;
  if (s->axes == 1 && f.across < 10 && width / blocks < 14) {
    f.across = 23;
    f.wrap = (int64_t)(width / f.across) / 4 * 4;
  }
  if ((f.columns - 1) / f.wrap >= MAX_LINES) fail("too many elements to draw: draw a section");
  return f;
}

static part array_part(const story *s, int layout, int side) {
  static const char *const titles[LAYOUTS] = {"before", "after", "after, relabelled"};
  int64_t edge[MAX_BLOCKS + 1];
  const redist_traffic *t = &s->traffic[layout];
  int blocks;
  part p;
  memset(&p, 0, sizeof p);
  snprintf(p.title, sizeof p.title, "%s%s", s->layouts > 1 ? titles[layout] : "",
           s->layout[layout].copies == 1 ? ""
           : s->layouts > 1              ? ", replica 0"
                                         : "replica 0");
  if (layout != BEFORE)
    snprintf(p.note, sizeof p.note, "%" PRId64 " of %" PRId64 " elements stay (outlined)", t->local,
             t->total);
  else if (s->layouts == 2)
    snprintf(p.note, sizeof p.note, "pale: what moves; outlined: what stays");
  if (has_ghosts(s, layout))
    snprintf(p.note + strlen(p.note), sizeof p.note - strlen(p.note), "%sdashed: with ghost cells",
             p.note[0] != '\0' ? "; " : "");
  p.layout = layout;
  blocks = cut(s, BEFORE, s->layouts - 1, 1, edge);
  if (blocks * cut(s, BEFORE, s->layouts - 1, 0, edge) > MAX_RECTANGLES)
    fail("too many blocks to draw: draw a section");
  p.scale = scale_of(s, blocks, side);
  p.width = p.scale.across * (double)p.scale.wrap;
  p.height = p.scale.down * (double)p.scale.rows +
             (double)((p.scale.columns - 1) / p.scale.wrap) * (p.scale.down + 8);
  p.draw = draw_array;
  return p;
}

/* ---- how much each rank sends to each ---- */

/* The width of a table's cells: readable, if the page is wide enough. */
static double cell_size(int cells, double room) {
  double size = room / cells, width = PAGE - 2 * MARGIN;
  size = size > 34 ? 34 : size < 13 ? 13 : size;
  return size * cells > width ? width / cells : size;
}

static void check(int code) {
  if (code != REDIST_OK) fail(redist_strerror(code));
}

static int64_t volume(const story *s, int row, int column) {
  int64_t elements;
  check(redist_volume(&s->layout[BEFORE], s->rank[row], &s->layout[s->layouts - 1], s->rank[column],
                      &elements));
  return elements;
}

static int64_t largest_volume(const story *s) {
  int64_t most = 1, v;
  int row, column;
  for (row = 0; row < s->ranks; row++)
    for (column = 0; column < s->ranks; column++) {
      v = volume(s, row, column);
      most = v > most ? v : most;
    }
  return most;
}

static void draw_matrix(const story *s, const part *p, double x, double y) {
  const double size = p->scale.across;
  const int64_t most = largest_volume(s);
  int row, column;
  fill(cell_at(x + size, y + size, size * s->ranks, size * s->ranks, 0, 0), EMPTY);
  for (row = 0; row < s->ranks; row++) {
    draw_rank(s, cell_at(x, y, size, size, row + 1, 0), s->rank[row]);
    draw_rank(s, cell_at(x, y, size, size, 0, row + 1), s->rank[row]);
    for (column = 0; column < s->ranks; column++) {
      rectangle r = cell_at(x, y, size, size, row + 1, column + 1);
      int64_t v = volume(s, row, column);
      unsigned colour = mix(0xD6E6F4, 0x2A6DB0, (double)v / (double)most);
      if (v == 0) continue;
      fill(r, colour);
      write_number(r, v, 14, ink_on(colour));
      if (row == column) mark(r);
    }
  }
}

static part matrix_part(const story *s) {
  part p;
  memset(&p, 0, sizeof p);
  p.scale.across = cell_size(s->ranks + 1, 330);
  p.width = p.height = p.scale.across * (s->ranks + 1);
  snprintf(p.title, sizeof p.title, "traffic");
  snprintf(p.note, sizeof p.note, "elements from rank (row) to rank (column), at most %" PRId64,
           largest_volume(s));
  p.draw = draw_matrix;
  return p;
}

/* ---- the peer of each rank in each step ---- */

static void draw_schedule(const story *s, const part *p, double x, double y) {
  int step, k, to = -1, from = -1;
  char number[32];
  for (k = 0; k < s->ranks; k++)
    draw_rank(s, cell_at(x + 50, y, p->scale.across, p->scale.down, 0, k), s->rank[k]);
  for (step = 0; step < redist_schedule_steps(s->schedule); step++) {
    snprintf(number, sizeof number, "step %d", step);
    if (p->scale.down >= 9)
      write_text(x, y + p->scale.down * (step + 1.7),
                 "font-size=\"12\" fill=\"#333\" text-anchor=\"start\"", number);
    for (k = 0; k < s->ranks; k++) {
      rectangle r = cell_at(x + 50, y, p->scale.across, p->scale.down, step + 1, k);
      redist_schedule_step(s->schedule, s->rank[k], step, &to, &from);
      if (to < 0)
        fill(r, EMPTY);
      else
        draw_rank(s, r, to);
      if (to == s->rank[k]) mark(r);
    }
  }
}

static part schedule_part(const story *s) {
  part p;
  memset(&p, 0, sizeof p);
  p.scale.across = cell_size(s->ranks + 2, 560); /* 2: for the names of the steps */
  p.scale.down = 0.75 * cell_size(redist_schedule_steps(s->schedule) + 1, 560);
  p.width = 50 + p.scale.across * s->ranks;
  p.height = p.scale.down * (redist_schedule_steps(s->schedule) + 1);
  snprintf(p.title, sizeof p.title, "schedule");
  snprintf(p.note, sizeof p.note, "to whom each rank (column) sends at each step");
  p.draw = draw_schedule;
  return p;
}

/* ---- the whole picture ---- */

static int parts_of(const story *s, part *parts) {
  unsigned wanted = s->wanted ? s->wanted : ARRAY | MATRIX | SCHEDULE;
  int n = 0, layout;
  for (layout = 0; layout < s->layouts && wanted & ARRAY; layout++)
    parts[n++] = array_part(s, layout, s->layouts);
  if (wanted & MATRIX && s->layouts > 1) parts[n++] = matrix_part(s);
  if (wanted & SCHEDULE && s->scheduled) parts[n++] = schedule_part(s);
  return n;
}

static double text_width(const char *text, double size) {
  return 0.6 * size * (double)strlen(text);
}

static double head_of(const part *p) {
  return p->title[0] == '\0' && p->note[0] == '\0' ? 0 : HEAD;
}

/* The width of a part, its title and its note. */
static double room_of(const part *p) {
  double width = text_width(p->title, 15) > text_width(p->note, 12) ? text_width(p->title, 15)
                                                                    : text_width(p->note, 12);
  return width > p->width ? width : p->width;
}

/* Arranges the parts in rows, from left to right. Returns the size of the whole picture. */
static rectangle place(const part *parts, int n, rectangle *at) {
  rectangle page = {0, 0, 0, 0};
  double x = MARGIN, y = 0, lowest = 0, bottom;
  int k;
  for (k = 0; k < n; k++) {
    if (x > MARGIN && x + room_of(&parts[k]) > PAGE - MARGIN + 1) {
      x = MARGIN;
      y = lowest + 26;
    }
    at[k].x = x;
    at[k].y = y;
    x += room_of(&parts[k]) + GAP;
    bottom = y + head_of(&parts[k]) + parts[k].height;
    lowest = bottom > lowest ? bottom : lowest;
    page.width = x - GAP > page.width ? x - GAP : page.width;
  }
  page.height = lowest;
  return page;
}

/* Writes the lines above the pictures (layouts and totals). Returns how many there are. */
static int heading(const story *s, char lines[4][TEXT]) {
  static const char *const names[LAYOUTS] = {"from", "to", "relabelled"};
  const redist_traffic *t = &s->traffic[s->layouts - 1];
  char steps[32] = "";
  int l, used;
  if (s->scheduled) snprintf(steps, sizeof steps, "; %d steps", redist_schedule_steps(s->schedule));
  for (l = 0; l < s->layouts; l++) {
    used = s->layouts > 1
               ? snprintf(lines[l], TEXT, "%-*s", s->layouts == LAYOUTS ? 12 : 6, names[l])
               : 0;
    redist_layout_format(&s->layout[l], lines[l] + used, TEXT - (size_t)used);
    if (strlen(lines[l]) > 116) /* the longest text that fits the page */
      strcpy(lines[l] + 113, "...");
  }
  if (s->layouts > 1)
    snprintf(lines[l++], TEXT,
             "%" PRId64 " elements: %" PRId64 " stay, %" PRId64 " move in %" PRId64
             " messages, at most %" PRId64 " from a rank and %" PRId64 " to a rank%s",
             t->total, t->local, t->moved, t->messages, t->max_sends, t->max_receives, steps);
  return l;
}

static void draw(const story *s) {
  char lines[4][TEXT];
  part parts[LAYOUTS + 2];
  rectangle at[LAYOUTS + 2], page;
  int k, n = parts_of(s, parts), texts = heading(s, lines);
  double top = MARGIN + 19 * texts + 12;
  page = place(parts, n, at);
  for (k = 0; k < texts; k++)
    page.width = MARGIN + text_width(lines[k], 13) > page.width ? MARGIN + text_width(lines[k], 13)
                                                                : page.width;
  printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"DejaVu Sans, "
      "sans-serif\">\n",
      page.width + MARGIN, top + page.height + MARGIN);
  printf("<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
  for (k = 0; k < texts; k++)
    write_text(MARGIN, MARGIN + 19 * k + 10,
               k < s->layouts ? "font-size=\"13\" font-family=\"DejaVu Sans Mono, monospace\""
                                " xml:space=\"preserve\""
                              : "font-size=\"13\" fill=\"#333\"",
               lines[k]);
  for (k = 0; k < n; k++) {
    write_text(at[k].x, top + at[k].y + 14, "font-size=\"15\" font-weight=\"bold\"",
               parts[k].title);
    write_text(at[k].x, top + at[k].y + 31, "font-size=\"12\" fill=\"#333\"", parts[k].note);
    printf("<g text-anchor=\"middle\">\n");
    parts[k].draw(s, &parts[k], at[k].x, top + at[k].y + head_of(&parts[k]));
    printf("</g>\n");
  }
  printf("</svg>\n");
}

/* ---- the command line ---- */

/* Reads a layout; shows where an error is. */
static void read_layout(story *s, const char *text) {
  size_t bytes = redist_layout_parse_size(text);
  char message[256];
  int column;
  if (s->layouts == RELABELLED) fail("more than two layouts (see --help)");
  s->storage[s->layouts] = malloc(bytes);
  if (redist_layout_parse(text, &s->layout[s->layouts], s->storage[s->layouts], bytes, message,
                          sizeof message) != REDIST_OK) {
    fprintf(stderr, "draw: %s\n    %s\n", message, text);
    if (sscanf(message, "column %d:", &column) == 1) fprintf(stderr, "    %*s\n", column, "^");
    exit(1);
  }
  s->layouts++;
}

static void relabel(story *s) {
  int *ranks = malloc((size_t)redist_layout_places(&s->layout[AFTER]) * sizeof *ranks);
  s->storage[RELABELLED] = ranks;
  check(redist_relabel(&s->layout[BEFORE], &s->layout[AFTER], 0, ranks));
  s->layout[RELABELLED] = redist_on_ranks(s->layout[AFTER], ranks);
  s->layouts = LAYOUTS;
}

static void list_ranks(story *s) {
  int rank, l, holds, left = 0;
  for (l = 0; l < s->layouts; l++) left += redist_layout_places(&s->layout[l]);
  for (rank = 0; left > 0; rank++) {
    for (holds = l = 0; l < s->layouts; l++)
      holds += redist_layout_on_rank(&s->layout[l], rank, 0, NULL);
    if (s->ranks == MAX_RANKS || rank > 65535) fail("too many ranks to draw");
    if (holds > 0) s->rank[s->ranks++] = rank;
    left -= holds;
  }
}

/* Which elements are drawn: by default, the first two axes at index 0 of the others. */
static void check_plane(story *s) {
  const redist_layout *first = &s->layout[BEFORE];
  int d, bad = 0;
  if (s->axes == 0) s->axes = axes_in(first) > 1 ? 2 : 1;
  for (d = 0; d < s->axes; d++) bad |= s->axis[d] < 0 || s->axis[d] >= axes_in(first);
  if (bad || (s->axes == 2 && s->axis[0] == s->axis[1]))
    fail("--axes needs one or two different axes of the array");
  for (d = 0; d < axes_in(first); d++) bad |= s->at[d] < 0 || s->at[d] >= length_of(first, d);
  if (bad) fail("the index of --at lies outside the array, or the array is empty");
}

/* Completes what is to be drawn, from the layouts that were read. */
static void prepare(story *s) {
  int l;
  if (s->layouts == 0) fail("which layout? (see --help)");
  if (s->layouts == 1 && (s->relabel || s->wanted & (MATRIX | SCHEDULE)))
    fail("--matrix, --schedule and --relabel need two layouts");
  if (s->relabel) relabel(s);
  for (l = 1; l < s->layouts; l++)
    check(redist_traffic_between(&s->layout[BEFORE], &s->layout[l], 0, &s->traffic[l]));
  if (s->layouts > 1) {
    const int code =
        redist_schedule_create(&s->layout[BEFORE], &s->layout[s->layouts - 1], 0, &s->schedule);
    s->scheduled = code == REDIST_OK;
    check(code == REDIST_ERR_RANK && !(s->wanted & SCHEDULE) ? REDIST_OK : code);
  }
  check_plane(s);
  list_ranks(s);
}

/* Reads "1,2,3" into numbers[most]. Returns how many there are; 0 when it is something else. */
static int read_numbers(const char *text, int64_t *numbers, int most) {
  int n;
  char *end;
  for (n = 0; n < most; text = end + 1) {
    numbers[n++] = strtoll(text, &end, 10);
    if (end == text || (*end != ',' && *end != '\0')) return 0;
    if (*end == '\0') return n;
  }
  return 0;
}

static int read_axes(story *s, const char *text) {
  int64_t axes[2];
  int k;
  s->axes = read_numbers(text, axes, 2);
  for (k = 0; k < s->axes; k++)
    s->axis[k] = axes[k] < 0 || axes[k] > REDIST_MAX_DIMS ? -1 : (int)axes[k];
  return s->axes > 0;
}

/* Returns how many arguments the option at arguments[0] takes, itself included; 0 when it is
   none. */
static int read_option(story *s, char **arguments) {
  static const struct {
    const char *name;
    unsigned part;
  } choices[] = {{"--array", ARRAY}, {"--matrix", MATRIX}, {"--schedule", SCHEDULE}};
  const char *name = arguments[0], *value = arguments[1]; /* NULL after the last */
  int k;
  for (k = 0; k < 3; k++)
    if (strcmp(name, choices[k].name) == 0) {
      s->wanted |= choices[k].part;
      return 1;
    }
  if (strcmp(name, "--relabel") == 0) return s->relabel = 1;
  if (strcmp(name, "--axes") == 0 && value != NULL) return read_axes(s, value) ? 2 : 0;
  if (strcmp(name, "--at") == 0 && value != NULL)
    return read_numbers(value, s->at, REDIST_MAX_DIMS) > 0 ? 2 : 0;
  return 0;
}

static int help(void) {
  printf(
      "usage: draw [OPTION...] 'LAYOUT' ['LAYOUT'] >picture.svg\n"
      "A tool: draws a layout, or two and what moves from the first to the second. A layout is a text such as\n"
      "'100x80: block@4, cyclic(8)@2' (redist.h describes the format).\n"
      "  --array --matrix --schedule   only these parts\n"
      "  --relabel                     also the second layout with its ranks renumbered by redist_relabel\n"
      "  --axes A[,B]                  the axes drawn down and across (0,1)\n"
      "  --at I,J,...                  the index along the other axes (0,0,...)\n"
      "  --help                        this text\n");
  return 0;
}

int main(int argc, char **argv) {
  story s;
  int k, used;
  memset(&s, 0, sizeof s);
  s.axis[1] = 1;
  for (k = 1; k < argc; k += used) {
    used = 1;
    if (strcmp(argv[k], "--help") == 0) return help();
    if (strncmp(argv[k], "--", 2) != 0)
      read_layout(&s, argv[k]);
    else if ((used = read_option(&s, argv + k)) == 0) {
      fprintf(stderr, "draw: unknown or incomplete option '%s' (--help lists all)\n", argv[k]);
      return 2;
    }
  }
  prepare(&s);
  draw(&s);
  redist_schedule_free(&s.schedule);
  for (k = 0; k < LAYOUTS; k++) free(s.storage[k]);
  return 0;
}
