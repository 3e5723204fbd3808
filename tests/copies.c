/* redist tests: compiled copies: what two coordinates of random axes share, between any two of the
   source, the destination and packed memory, whole or in a window, by ordinary and non-temporal
   stores, overwriting, combining, converting numbers, and both, against a copy of one element after
   the other. MIT licence, see LICENSE. */
#include "redist.h"
#include "test.h"

enum { DIMS = 3, ROOM = 1 << 16, ELEMENTS = 6000, LONGEST = 600 };

typedef struct {
  redist_priv_runs axis[DIMS];
  redist_priv_message m;
  redist_priv_manner manner;
  redist_priv_policy policy, combine;
  redist_priv_conversion conversion;
  int fast; /* a long axis of short runs that is the fastest of both sides; -1: none is sought */
  int order[DIMS];
  int64_t begin[DIMS], end[DIMS];
  int64_t cells[REDIST_PRIV_SIDES]; /* of each side */
} copy_case;

static redist_axis draw_axis(test_random *r, int64_t n) {
  const int procs = (int)test_between(r, 1, 3);
  redist_axis x = redist_block_cyclic(n, test_between(r, 1, 5), procs);
  if (test_one_in(r, 3)) x = redist_balanced(n, procs);
  if (test_one_in(r, 4)) x = redist_whole(n);
  return x;
}

/* A section, maybe backwards, of an axis that is longer than the view. */
static redist_axis draw_view(test_random *r, int64_t n) {
  const int64_t step = test_between(r, 1, 2), start = test_between(r, 0, 3);
  const redist_axis x = draw_axis(r, start + n * step);
  redist_layout layout = redist_section(redist_layout_1d(x), 0, start, n, step);
  if (test_one_in(r, 4)) layout = redist_flipped(layout, 0);
  return test_one_in(r, 2) ? draw_axis(r, n) : layout.dim[0].axis;
}

/* How one side stores the axes: in any order, with gaps at the ends of rows, or packed. */
static void draw_storage(test_random *r, copy_case *c, const redist_axis *axes, const int *coord,
                         int side) {
  int64_t stride = test_one_in(r, 8) ? 2 : 1;
  int k, order[DIMS];
  test_shuffle(r, order, c->m.ndim);
  for (k = 0; k < c->m.ndim && c->fast >= 0; k++)
    if (order[k] == c->fast) {
      order[k] = order[0];
      order[0] = c->fast;
    }
  c->m.origin[side] = test_between(r, 0, 9);
  for (k = 0; k < c->m.ndim; k++) {
    c->m.stride[side][order[k]] = stride;
    stride *= redist_priv_size(&axes[order[k]], coord[order[k]]) + test_between(r, 0, 2);
  }
  c->cells[side] = c->m.origin[side] + stride + 1;
}

static int draw_message(test_random *r, copy_case *c) {
  redist_axis axes[2][DIMS];
  redist_priv_holder holder[2];
  int coord[2][DIMS], d, side, fits = 1;
  memset(c, 0, sizeof *c);
  c->m.ndim = (int)test_between(r, 1, DIMS);
  c->m.elements = 1;
  c->fast = test_one_in(r, 2) ? (int)test_between(r, 0, c->m.ndim - 1) : -1;
  for (d = 0; d < c->m.ndim; d++) {
    const int64_t longest = c->fast >= 0 ? 16 : test_one_in(r, 3) ? LONGEST : 12;
    const int64_t least = d == c->fast ? LONGEST : 1, most = d == c->fast ? 2 * LONGEST : longest;
    const int64_t n = test_between(r, least, most);
    for (side = 0; side < 2; side++) {
      axes[side][d] =
          d == c->fast ? redist_block_cyclic(n, test_between(r, 1, 4), 2) : draw_view(r, n);
      coord[side][d] = (int)test_between(r, 0, axes[side][d].procs - 1);
    }
    for (side = 0; side < 2; side++) {
      holder[side].axis = &axes[side][d];
      holder[side].coord = coord[side][d];
      holder[side].images = REDIST_PRIV_ALL_IMAGES;
    }
    redist_priv_meet_coords(holder, &c->axis[d]);
    c->m.axis[d] = &c->axis[d];
    c->m.elements *= c->axis[d].elements;
  }
  for (side = 0; side < 2; side++) draw_storage(r, c, axes[side], coord[side], side);
  for (side = 0; side < 2; side++) fits &= c->cells[side] < ROOM;
  return fits && c->m.elements > 0 && c->m.elements <= ELEMENTS;
}

static void draw_window(test_random *r, copy_case *c) {
  const int whole = test_one_in(r, 2);
  int d;
  for (d = 0; d < c->m.ndim; d++) {
    const int64_t n = c->axis[d].elements;
    c->begin[d] = whole ? 0 : test_between(r, 0, n - 1);
    c->end[d] = whole ? n : test_between(r, c->begin[d] + 1, n);
  }
}

/* Combines n elements of so many bytes. */
static void add_bytes(const void *from, void *to, int64_t n, void *context) {
  const int64_t bytes = n * *(const int64_t *)context;
  int64_t k;
  for (k = 0; k < bytes; k++)
    ((unsigned char *)to)[k] =
        (unsigned char)(((unsigned char *)to)[k] + ((const unsigned char *)from)[k]);
}

/* Lets elements of one number, or of two, be converted before they overwrite or are combined. */
static void draw_conversion(test_random *r, copy_case *c) {
  static const redist_priv_policy convert[] = {
      {redist_priv_narrow, NULL, 8, 4, 0, REDIST_PRIV_NARROW},
      {redist_priv_widen, NULL, 4, 8, 0, REDIST_PRIV_WIDEN},
      {redist_priv_round, NULL, 8, 8, 0, REDIST_PRIV_ROUND}};
  const redist_priv_policy *chosen = &convert[test_between(r, 0, 2)];
  const int64_t numbers = test_between(r, 1, 2);
  c->manner.element[0] = chosen->element * numbers;
  c->manner.element[1] = chosen->there * numbers;
  c->policy = *chosen;
  c->conversion.convert = chosen;
  if (c->manner.combine) {
    c->combine = redist_priv_replacing(c->manner.element[1]);
    c->combine.function = add_bytes;
    c->combine.context = &c->combine.there;
    c->conversion.combine = &c->combine;
    c->policy = redist_priv_replacing(c->manner.element[0]);
    c->policy.there = c->manner.element[1];
    c->policy.function = redist_priv_combine_converted;
    c->policy.context = &c->conversion;
  } else {
    c->manner.combine = 1 + chosen->converts;
  }
}

static void draw(test_random *r, copy_case *c) {
  static const int64_t bytes[] = {1, 4, 8, 8, 8, 12, 16, 24, 136};
  static const int sides[4][2] = {{REDIST_PRIV_FROM, REDIST_PRIV_TO},
                                  {REDIST_PRIV_FROM, REDIST_PRIV_PACKED},
                                  {REDIST_PRIV_PACKED, REDIST_PRIV_TO},
                                  {REDIST_PRIV_FROM, REDIST_PRIV_TO}};
  int d;
  while (!draw_message(r, c))
    for (d = 0; d < c->m.ndim; d++) redist_priv_runs_free(&c->axis[d]);
  draw_window(r, c);
  test_shuffle(r, c->order, c->m.ndim);
  c->m.order = c->order;
  memcpy(c->manner.side, sides[test_between(r, 0, 3)], sizeof c->manner.side);
  c->manner.element[0] = c->manner.element[1] = bytes[test_between(r, 0, 8)];
  c->manner.combine = test_one_in(r, 3);
  c->policy = redist_priv_replacing(c->manner.element[0]);
  if (c->manner.combine) c->policy.function = add_bytes;
  if (c->manner.combine) c->policy.context = &c->policy.there;
  if (test_one_in(r, 3)) draw_conversion(r, c);
  c->manner.stream = test_one_in(r, 2);
  c->m.origin[REDIST_PRIV_PACKED] = test_between(r, 0, 3);
  c->cells[REDIST_PRIV_PACKED] = c->m.origin[REDIST_PRIV_PACKED] + c->m.elements;
}

/* ---- one element after the other ---- */

/* Where the element at a packed position of an axis lies on a side; of all runs, the one that has
   it. */
static int64_t position(const redist_priv_runs *list, int64_t packed, int side) {
  int64_t r, i, j, k;
  for (r = 0; r < list->runs; r++) {
    const redist_priv_run *run = &list->run[r];
    for (k = 0; k < run->n[2]; k++)
      for (j = 0; j < run->n[1]; j++)
        for (i = 0; i < run->n[0]; i++)
          if (run->at[REDIST_PRIV_PACKED] + i + j * run->stride[1][REDIST_PRIV_PACKED] +
                  k * run->stride[2][REDIST_PRIV_PACKED] ==
              packed)
            return run->at[side] + i * run->stride[0][side] + j * run->stride[1][side] +
                   k * run->stride[2][side];
  }
  return -1;
}

/* The offset of an element on a side, in elements; a packed window is dense in the order given. */
static int64_t offset_of(const copy_case *c, int64_t *const *table, const int64_t *at, int side) {
  int64_t offset = c->m.origin[side], stride = 1;
  int d, k;
  for (k = c->m.ndim - 1; k >= 0; k--) {
    d = c->order[k];
    offset += side == REDIST_PRIV_PACKED ? (at[d] - c->begin[d]) * stride
                                         : table[d][at[d]] * c->m.stride[side][d];
    stride *= c->end[d] - c->begin[d];
  }
  return offset;
}

/* A number, double or float, as a float. */
static float number_at(const unsigned char *from, int64_t bytes) {
  double wide;
  float single;
  if (bytes == 4) {
    memcpy(&single, from, sizeof single);
    return single;
  }
  memcpy(&wide, from, sizeof wide);
  return (float)wide;
}

/* Writes an element as it arrives, converted or not. */
static void convert_one(const copy_case *c, const unsigned char *from, unsigned char *arrives) {
  const redist_priv_policy *p = c->conversion.convert;
  int64_t k;
  if (p == NULL) memcpy(arrives, from, (size_t)c->manner.element[0]);
  for (k = 0; p != NULL && k < c->manner.element[0] / p->element; k++) {
    const float single = number_at(from + k * p->element, p->element);
    const double wide = single;
    if (p->there == 4)
      memcpy(arrives + 4 * k, &single, sizeof single);
    else
      memcpy(arrives + 8 * k, &wide, sizeof wide);
  }
}

static void copy_one_by_one(const copy_case *c, const unsigned char *from, unsigned char *to) {
  const int64_t *bytes = c->manner.element;
  unsigned char arrives[136];
  int64_t *table[2][DIMS], at[DIMS], k;
  int d, s;
  for (s = 0; s < 2; s++)
    for (d = 0; d < c->m.ndim; d++) {
      table[s][d] = malloc((size_t)c->axis[d].elements * sizeof **table[s]);
      for (k = 0; k < c->axis[d].elements && c->manner.side[s] != REDIST_PRIV_PACKED; k++)
        table[s][d][k] = position(&c->axis[d], k, c->manner.side[s]);
    }
  memcpy(at, c->begin, sizeof at);
  for (d = 0; d >= 0;) {
    const unsigned char *here = from + offset_of(c, table[0], at, c->manner.side[0]) * bytes[0];
    unsigned char *there = to + offset_of(c, table[1], at, c->manner.side[1]) * bytes[1];
    int64_t size = bytes[1];
    convert_one(c, here, arrives);
    if (c->manner.combine == 1)
      add_bytes(arrives, there, 1, &size);
    else
      memcpy(there, arrives, (size_t)size);
    for (d = c->m.ndim - 1; d >= 0 && ++at[d] == c->end[d]; d--) at[d] = c->begin[d];
  }
  for (s = 0; s < 2; s++)
    for (d = 0; d < c->m.ndim; d++) free(table[s][d]);
}

/* ---- cases ---- */

/* Whether each step is copied once: alone, or with one other. Counts these pairs. */
static int once_each(const redist_priv_pool *pool, int *pairs) {
  int64_t k, pair = 0, well = 1;
  for (k = 0; k < pool->steps; k++) {
    well &= pool->step[k].pair == -1 ? pair == 1 : pair != 1;
    pair = pool->step[k].pair;
    *pairs += pair == 1;
  }
  return well && pair != 1;
}

static void check(int number, int *pairs) {
  test_random r = {(uint64_t)number * 77 + 3};
  copy_case c;
  redist_priv_pool pool;
  redist_priv_program program;
  size_t size[2];
  unsigned char *memory[3], *from, *to, *wanted;
  int code, d, s;
  memset(&c, 0, sizeof c);
  draw(&r, &c);
  for (s = 0; s < 2; s++) size[s] = (size_t)(c.cells[c.manner.side[s]] * c.manner.element[s]) + 64;
  for (s = 0; s < 3; s++) memory[s] = malloc(size[s > 0] + 64);
  from = memory[0];
  to = memory[1] + test_between(&r, 0, 3) * (c.manner.element[1] % 8 == 0 ? 8 : 1);
  wanted = memory[2];
  test_random_bytes(&r, from, size[0]);
  test_random_bytes(&r, to, size[1]);
  memcpy(wanted, to, size[1]);
  copy_one_by_one(&c, from, wanted);
  memset(&pool, 0, sizeof pool);
  code = redist_priv_compile(&pool, &c.m, c.begin, c.end, c.manner, &program);
  if (code == REDIST_OK)
    redist_priv_copy(&pool, &program, &c.policy, (const char *)from, (char *)to);
  test_case(code == REDIST_OK && memcmp(to, wanted, size[1]) == 0 && once_each(&pool, pairs),
            "case %d: %d axes, %ld elements of %ld and %ld bytes, sides %d to %d%s%s: code %d",
            number, c.m.ndim, (long)c.m.elements, (long)c.manner.element[0],
            (long)c.manner.element[1], c.manner.side[0], c.manner.side[1],
            c.manner.stream ? ", streamed" : "", c.manner.combine == 1 ? ", combined" : "", code);
  redist_priv_pool_free(&pool);
  for (d = 0; d < c.m.ndim; d++) redist_priv_runs_free(&c.axis[d]);
  for (s = 0; s < 3; s++) free(memory[s]);
}

int main(int argc, char **argv) {
  int k, cases = argc > 1 ? atoi(argv[1]) : 20000, pairs = 0;
  for (k = 0; k < cases; k++) check(k, &pairs);
  test_case(pairs > cases / 1000, "rows are copied by two tables in %d of %d cases", pairs, cases);
  return test_report("copies");
}
