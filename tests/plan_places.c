/* redist tests: several places on a rank: random layouts, ranks and offsets against a model, by
   every method, alone and in parts, in place and combining; on paper; tiles and patches; bad input.
   MIT licence, see LICENSE. */
#define TEST_LENGTH 1024
#define TEST_ELEMENTS 1024
#define TEST_LARGEST 1000
#include "oracle.h"
#include "settings.h"
#include "test_mpi.h"

#include "inside.h"

enum { PARTS = 2, ROUNDS = 2, MOST_CELLS = 3000, ARENA_BYTES = 1 << 20, RANKS = 8 };
static const int64_t background = -77;

static redist_arena *arena;

/* A layout, where its places begin in their ranks' arrays, and this rank's array. */
typedef struct {
  test_model m;
  int listed; /* its offsets are given */
  int64_t begin[TEST_PLACES], cells;
  int64_t *array, *wanted;
} side;

typedef struct {
  side s[2];
  int in_place, combine;
} exchange;

/* ---- random ones ---- */

/* Any rank for any place, but no two replicas of one on the same rank. */
static void draw_ranks(test_random *r, test_array *array) {
  const int grid = test_places(array), spread = (int)test_between(r, 1, test_size());
  int k;
  for (k = 0; k < grid * array->replicas; k++)
    array->ranks[k] = array->replicas > 1 ? (k % grid + k / grid) % test_size()
                                          : (int)test_between(r, 0, spread - 1);
  array->listed = 1;
}

/* One after another, or anywhere apart. */
static void draw_begins(test_random *r, side *s) {
  const test_table *t = &s->m.table;
  int64_t end[RANKS] = {0};
  int i, k, backwards = (int)test_between(r, 0, 1);
  s->listed = (int)test_between(r, 0, 1);
  for (i = 0; i < t->places; i++) {
    const int place = s->listed && backwards ? t->places - 1 - i : i, rank = t->ranks[place];
    end[rank] += s->listed ? test_between(r, 0, 5) : 0;
    s->begin[place] = end[rank];
    end[rank] += t->alloc[place];
  }
  /* what other ranks hear of a rank's places does not matter to it */
  for (k = 0; k < t->places && s->listed; k++)
    if (t->ranks[k] != test_rank()) s->begin[k] = -(int64_t)k;
}

static void build(side *s) {
  test_build(&s->m);
  if (s->listed) s->m.layout = redist_at_offsets(s->m.layout, s->begin);
}

static int64_t all_cells(const side *s) {
  int64_t all = 0;
  int k;
  for (k = 0; k < s->m.table.places; k++) all += s->m.table.alloc[k];
  return all;
}

/* As many replicas as there can be on different ranks. */
static void draw_side(test_random *r, side *s, int flags, int ndim, const int64_t *shape) {
  do test_draw(r, RANKS, flags, ndim, shape, &s->m.array);
  while (s->m.array.replicas > test_size());
  draw_ranks(r, &s->m.array);
  test_build(&s->m);
  draw_begins(r, s);
}

static void draw_sides(test_random *r, exchange *e, int number) {
  const int ndim = 1 + number % 3, replicated = number % 6 == 3 && test_size() > 1;
  const int kinds = test_any_kind(r, e->combine) | (replicated ? TEST_REPLICAS : 0);
  int64_t shape[TEST_DIMS];
  int d, i;
  for (d = 0; d < ndim; d++) shape[d] = test_between(r, 1, ndim == 1 ? 40 : ndim == 2 ? 9 : 5);
  draw_side(r, &e->s[0], kinds, ndim, shape);
  draw_side(r, &e->s[1], test_any_kind(r, 1) & (number % 10 == 4 ? ~TEST_REPLICAS : ~0), ndim,
            shape);
  if (number % 10 == 4) e->s[0] = e->s[1];
  for (i = 0; i < 2; i++) build(&e->s[i]);
}

/* In place, every other pair has the same layout on both sides. */
static void draw(test_random *r, exchange *e, int number) {
  e->in_place = number % 5 >= 3;
  e->combine = number % 4 == 1 || number % 10 == 3;
  do draw_sides(r, e, number);
  while (all_cells(&e->s[0]) > MOST_CELLS || all_cells(&e->s[1]) > MOST_CELLS ||
         (number % 6 == 3 && !e->in_place && test_size() > 1 && e->s[0].m.array.replicas == 1));
}

static void allocate(exchange *e) {
  int i;
  for (i = 0; i < 2; i++) e->s[i].cells = redist_layout_local_size(&e->s[i].m.layout, test_rank());
  for (i = 0; i < 2; i++) {
    side *s = &e->s[i];
    if (e->in_place && s->cells < e->s[1 - i].cells) s->cells = e->s[1 - i].cells;
    s->array = i == 1 && e->in_place ? e->s[0].array : malloc(((size_t)s->cells + 1) * 8);
    s->wanted = malloc(((size_t)s->cells + 1) * 8);
  }
}

static void release(exchange *e) {
  free(e->s[0].array);
  if (!e->in_place) free(e->s[1].array);
  free(e->s[0].wanted);
  free(e->s[1].wanted);
}

/* ---- what executions do ---- */

/* What a cell of the source holds: the element's, the same for all owners, unless all contribute.
   */
static int64_t value_of(const exchange *e, int place, int64_t cell, int64_t element, int round) {
  return e->combine ? 1000 * (place + 1) + cell % 911 + round : 1000000 * (round + 1) + element;
}

/* By element, what the source sends: the sum of what its holders contribute; INT64_MIN: nothing. */
static int64_t *contributions(const exchange *e, int round) {
  const test_table *t = &e->s[0].m.table;
  int64_t *sent = malloc((size_t)t->elements * sizeof *sent), i, cell;
  int k;
  for (i = 0; i < t->elements; i++) sent[i] = INT64_MIN;
  for (k = 0; k < t->places; k++)
    for (cell = 0; cell < t->alloc[k]; cell++) {
      const int64_t element = test_element(t, k, cell, e->combine);
      if (element >= 0)
        sent[element] = value_of(e, k, cell, element, round) +
                        (e->combine && sent[element] != INT64_MIN ? sent[element] : 0);
    }
  return sent;
}

/* What this rank's source has of an element in a cell of the array, which is the destination's, too:
   that does not contribute to itself. */
static int64_t own_contribution(const exchange *e, int64_t at, int64_t element, int round) {
  const test_table *t = &e->s[0].m.table;
  int k;
  for (k = 0; k < t->places && e->in_place; k++) {
    const int64_t cell = at - e->s[0].begin[k];
    if (t->ranks[k] == test_rank() && cell >= 0 && test_element(t, k, cell, 1) == element)
      return value_of(e, k, cell, element, round);
  }
  return 0;
}

static void prepare(exchange *e, int round) {
  const test_table *from = &e->s[0].m.table, *to = &e->s[1].m.table;
  int64_t *sent = contributions(e, round), i, cell;
  int k, ghosts;
  for (k = 0; k < 2; k++)
    for (i = 0; i < e->s[k].cells; i++) e->s[k].array[i] = background - i;
  for (ghosts = 1; ghosts >= 0; ghosts--)
    for (k = 0; k < from->places; k++)
      for (cell = 0; from->ranks[k] == test_rank() && cell < from->alloc[k]; cell++) {
        const int64_t element = test_element(from, k, cell, ghosts && e->combine);
        if (element >= 0)
          e->s[0].array[e->s[0].begin[k] + cell] = value_of(e, k, cell, element, round);
      }
  for (k = 0; k < 2; k++) memcpy(e->s[k].wanted, e->s[k].array, (size_t)e->s[k].cells * 8);
  for (k = 0; k < to->places; k++)
    for (cell = 0; to->ranks[k] == test_rank() && cell < to->alloc[k]; cell++) {
      const int64_t element = test_element(to, k, cell, 1);
      const int64_t at = e->s[1].begin[k] + cell;
      int64_t *wanted = &e->s[1].wanted[at];
      if (element < 0 || sent[element] == INT64_MIN) continue;
      *wanted = !e->combine ? sent[element]
                            : *wanted + sent[element] - own_contribution(e, at, element, round);
    }
  free(sent);
}

static int arrived(const exchange *e) {
  return memcmp(e->s[1].wanted, e->s[1].array, (size_t)e->s[1].cells * 8) == 0 &&
         (e->in_place || memcmp(e->s[0].wanted, e->s[0].array, (size_t)e->s[0].cells * 8) == 0);
}

static void add(const void *from, void *to, int64_t n, void *context) {
  int64_t k;
  (void)context;
  for (k = 0; k < n; k++) ((int64_t *)to)[k] += ((const int64_t *)from)[k];
}

/* How many ranks this one sends to: over all parts, of which none combines. */
static int64_t count_sends(const exchange *e, int parts) {
  int64_t messages = 0;
  int k, r;
  for (r = 0; r < test_size(); r++) {
    int64_t elements = 0;
    for (k = 0; k < parts && r != test_rank(); k++)
      elements += test_volume(&e[k].s[0].m.layout, test_rank(), &e[k].s[1].m.layout, r);
    messages += elements > 0;
  }
  return messages;
}

/* Whether what a plan exchanges is what paper says, over all parts. */
static int paper_agrees(const exchange *e, int parts, const redist_stats *stats) {
  int64_t sum[3], most[4];
  redist_traffic t, all;
  int k, good = 1;
  memset(&all, 0, sizeof all);
  for (k = 0; k < parts; k++) {
    good = good && redist_traffic_between(&e[k].s[0].m.layout, &e[k].s[1].m.layout, e[k].combine,
                                          &t) == REDIST_OK;
    all.local += t.local;
    all.moved += t.moved;
  }
  sum[0] = stats->bytes_sent;
  sum[1] = stats->bytes_local;
  sum[2] = stats->sends;
  most[0] = stats->sends, most[1] = stats->receives;
  most[2] = stats->bytes_sent, most[3] = stats->bytes_received;
  MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  good = good && sum[0] == 8 * all.moved && sum[1] == 8 * all.local;
  return good && (parts > 1 || (sum[2] == t.messages && most[0] == t.max_sends &&
                                most[1] == t.max_receives && most[2] == 8 * t.max_sent &&
                                most[3] == 8 * t.max_received && t.total == t.local + t.moved));
}

static void check_plan(const setting *s, exchange *e, int parts, int number) {
  redist_part part[PARTS];
  redist_options options;
  redist_plan *plan = NULL;
  redist_stats stats;
  const void *from[PARTS];
  void *to[PARTS];
  char message[256] = "";
  int k, round, code, good = 1, combines = 0;
  memset(&options, 0, sizeof options);
  memset((void *)part, 0, sizeof part);
  for (k = 0; k < parts; k++) {
    part[k].from = &e[k].s[0].m.layout;
    part[k].to = &e[k].s[1].m.layout;
    part[k].element = MPI_INT64_T;
    part[k].combine = e[k].combine ? add : NULL;
    from[k] = e[k].s[0].array;
    to[k] = e[k].s[1].array;
    combines |= e[k].combine;
  }
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  options.arena = s->arena ? arena : NULL;
  options.in_place = e[0].in_place;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create_parts(MPI_COMM_WORLD, parts, part, &options, &plan);
  if (options.in_place &&
      ((code == REDIST_ERR_ARGUMENT && combines && strstr(message, "identical strides") != NULL) ||
       (code == REDIST_ERR_MEMORY && s->max_buffer > 0)))
    return; /* refused, or what is sent has no room */
  if (!test_case_all(code == REDIST_OK, "case %d, %s, %d parts: code %d, %s", number, s->name,
                     parts, code, message))
    return;
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    for (k = 0; k < parts; k++) prepare(&e[k], round);
    code = redist_execute_many(plan, from, to);
    for (k = 0; k < parts; k++) good = good && arrived(&e[k]);
  }
  test_case_all(good && code == REDIST_OK, "case %d, %s, %d parts: code %d", number, s->name, parts,
                code);
  redist_plan_stats(plan, &stats);
  test_case_all(s->method == REDIST_MULTIPHASE || stats.method == REDIST_NODES ||
                    paper_agrees(e, parts, &stats),
                "case %d, %s: paper and the plan", number, s->name);
  test_case_all(combines || stats.method == REDIST_NODES || stats.sends == count_sends(e, parts),
                "case %d, %s: %ld messages, one for each of %ld peers", number, s->name,
                (long)stats.sends, (long)count_sends(e, parts));
  redist_plan_free(&plan);
}

/* ---- on paper ---- */

/* How many contributions rank a makes to rank b. */
static int64_t contributions_of(const exchange *e, int a, int b) {
  const test_table *from = &e->s[0].m.table, *to = &e->s[1].m.table;
  static int64_t held[TEST_ELEMENTS];
  int64_t cell, element, n = 0;
  int k;
  memset(held, 0, sizeof held);
  for (k = 0; k < from->places; k++)
    for (cell = 0; from->ranks[k] == a && cell < from->alloc[k]; cell++)
      if ((element = test_element(from, k, cell, 1)) >= 0) held[element]++;
  for (k = 0; k < to->places; k++)
    for (cell = 0; to->ranks[k] == b && cell < to->alloc[k]; cell++)
      if ((element = test_element(to, k, cell, 1)) >= 0) n += held[element];
  return n;
}

/* What rank a sends rank b: all holders contribute, or of each element the only owner. */
static int64_t volume_of(const exchange *e, int a, int b) {
  const test_table *from = &e->s[0].m.table, *to = &e->s[1].m.table;
  int64_t cell, element, n = 0;
  int k;
  if (e->combine) return contributions_of(e, a, b);
  for (k = 0; k < to->places; k++)
    for (cell = 0; to->ranks[k] == b && cell < to->alloc[k]; cell++) {
      element = test_element(to, k, cell, 1);
      n += element >= 0 && from->place[element] >= 0 && from->ranks[from->place[element]] == a;
    }
  return n;
}

/* A replica on a destination's own rank serves it; all together serve each once. */
static void check_replicas(const exchange *e, int number) {
  const test_table *from = &e->s[0].m.table, *to = &e->s[1].m.table;
  int64_t kept[RANKS] = {0}, received[RANKS] = {0}, all, cell, element;
  int a, b, i, k, good = 1;
  for (k = 0; k < to->places; k++)
    for (i = 0; i < from->places; i++)
      for (cell = 0; cell < to->alloc[k] && from->ranks[i] == to->ranks[k]; cell++) {
        element = test_element(to, k, cell, 1);
        kept[to->ranks[k]] += element >= 0 && from->place[element] == i % from->grid;
      }
  for (a = 0; a < test_size(); a++)
    good = good && test_volume(&e->s[0].m.layout, a, &e->s[1].m.layout, a) == kept[a];
  test_case(good, "case %d: what replicas on the same rank serve", number);
  for (k = 0; k < to->places; k++)
    for (cell = 0; cell < to->alloc[k]; cell++) {
      element = test_element(to, k, cell, 1);
      received[to->ranks[k]] += element >= 0 && from->place[element] >= 0;
    }
  for (b = 0, good = 1; b < test_size(); b++) {
    for (a = 0, all = 0; a < test_size(); a++)
      all += test_volume(&e->s[0].m.layout, a, &e->s[1].m.layout, b);
    good = good && all == received[b];
  }
  test_case(good, "case %d: what replicas serve in all", number);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static redist_traffic traffic_of(const exchange *e, redist_traffic *own) {
  redist_traffic t;
  int a, b, other;
  memset(&t, 0, sizeof t);
  memset(own, 0, sizeof *own);
  for (a = 0; a < test_size(); a++) {
    int64_t sends = 0, receives = 0, sent = 0, received = 0;
    for (b = 0; b < test_size(); b++) {
      const int64_t out = volume_of(e, a, b), in = volume_of(e, b, a);
      other = a != b;
      t.total += out;
      *(other ? &t.moved : &t.local) += out;
      t.messages += other && out > 0;
      sends += out > 0;
      receives += in > 0;
      sent += out;
      received += in;
    }
    own->max_sends = larger(own->max_sends, larger(sends, receives));
    own->max_sent = larger(own->max_sent, larger(sent, received));
    other = volume_of(e, a, a) > 0;
    t.max_sends = larger(t.max_sends, sends - other);
    t.max_receives = larger(t.max_receives, receives - other);
    t.max_sent = larger(t.max_sent, sent - volume_of(e, a, a));
    t.max_received = larger(t.max_received, received - volume_of(e, a, a));
  }
  return t;
}

static int shares_ranks(const redist_layout *layout) {
  int rank, several = 0;
  for (rank = 0; rank < test_size(); rank++)
    several |= redist_layout_on_rank(layout, rank, 0, NULL) > 1;
  return several;
}

/* In every step each rank sends and receives at most one message; each pair that exchanges anything
   meets once; and there are no more steps than messages of any rank. */
static void check_schedule(const exchange *e, int degree, int number) {
  redist_schedule *schedule;
  int met[RANKS][RANKS] = {{0}}, to[RANKS], from[RANKS], a, b, step;
  int good = redist_schedule_create(&e->s[0].m.layout, &e->s[1].m.layout, e->combine, &schedule) ==
             REDIST_OK;
  for (step = 0; step < redist_schedule_steps(schedule) && good; step++) {
    for (a = 0; a < test_size(); a++)
      good = good && redist_schedule_step(schedule, a, step, &to[a], &from[a]) == REDIST_OK;
    for (a = 0; a < test_size(); a++) {
      good = good && (to[a] < 0 || from[to[a]] == a) && (from[a] < 0 || to[from[a]] == a);
      if (to[a] >= 0) met[a][to[a]]++;
    }
  }
  for (a = 0; a < test_size(); a++)
    for (b = 0; b < test_size(); b++) good = good && met[a][b] == (volume_of(e, a, b) > 0);
  test_case(good && redist_schedule_steps(schedule) == degree,
            "case %d: a schedule of %d steps, not %d", number, redist_schedule_steps(schedule),
            degree);
  redist_schedule_free(&schedule);
}

static void check_traffic(const exchange *e, int number) {
  const redist_layout *from = &e->s[0].m.layout, *to = &e->s[1].m.layout;
  const redist_cost cost = {1000, 1};
  redist_traffic own, wanted = traffic_of(e, &own), found;
  int a, b, good = redist_traffic_between(from, to, e->combine, &found) == REDIST_OK;
  test_case(good && memcmp(&wanted, &found, sizeof found) == 0,
            "case %d: traffic %ld %ld %ld, %ld messages, at most %ld %ld, %ld %ld", number,
            (long)found.total, (long)found.local, (long)found.moved, (long)found.messages,
            (long)found.max_sends, (long)found.max_receives, (long)found.max_sent,
            (long)found.max_received);
  check_schedule(e, (int)own.max_sends, number);
  if (e->combine) return;
  for (a = 0; a < test_size(); a++)
    for (b = 0; b < test_size(); b++)
      good = good && test_volume(from, a, to, b) == volume_of(e, a, b);
  test_case(good, "case %d: volumes", number);
  if (shares_ranks(from) || shares_ranks(to))
    test_case(test_cost(from, to, 1, &cost) ==
                  1000.0 * (double)own.max_sends + (double)own.max_sent,
              "case %d: a cost of %g", number, test_cost(from, to, 1, &cost));
}

/* redist_move, whose arrays are those of places. */
static void check_move(const exchange *e, int number) {
  const test_table *const t[2] = {&e->s[0].m.table, &e->s[1].m.table};
  int64_t *held[2][TEST_PLACES], *sent = contributions(e, 0), cell;
  int i, k, code, good = 1;
  for (i = 0; i < 2; i++)
    for (k = 0; k < t[i]->places; k++) {
      held[i][k] = malloc(((size_t)t[i]->alloc[k] + 1) * 8);
      for (cell = 0; cell < t[i]->alloc[k]; cell++) {
        const int64_t element = test_element(t[i], k, cell, e->combine);
        held[i][k][cell] =
            i == 0 && element >= 0 ? value_of(e, k, cell, element, 0) : background - cell;
      }
    }
  code = redist_move_combining(&e->s[0].m.layout, (const void *const *)held[0], &e->s[1].m.layout,
                               (void *const *)held[1], 8, e->combine ? add : NULL, NULL);
  for (k = 0; k < t[1]->places; k++)
    for (cell = 0; cell < t[1]->alloc[k]; cell++) {
      const int64_t element = test_element(t[1], k, cell, 1);
      const int arrives = element >= 0 && sent[element] != INT64_MIN;
      good = good && held[1][k][cell] == (arrives ? sent[element] : 0) +
                                             (e->combine || !arrives ? background - cell : 0);
    }
  test_case(code == REDIST_OK && good, "case %d: moving on one process, code %d", number, code);
  for (i = 0; i < 2; i++)
    for (k = 0; k < t[i]->places; k++) free(held[i][k]);
  free(sent);
}

/* Whether redist_layout_place_shape points at the elements of a place. */
static int shape_is_right(const side *s, int place) {
  const test_table *t = &s->m.table;
  redist_shape shape;
  int64_t left = 0;
  int d, code = redist_layout_place_shape(&s->m.layout, place, &shape);
  if (code != 1) return code == -1; /* steps through cyclic blocks */
  for (d = 0; d < s->m.array.ndim; d++)
    if (shape.allocated[d] != t->cells[place][t->own[d]]) return 0;
  for (d = 0; d < s->m.array.ndim; d++)
    if (shape.count[d] == 0) return 1;
  for (d = 0; d < s->m.array.ndim; d++) left = left * t->shape[d] + shape.first[d];
  return test_element(t, place, shape.origin - s->begin[place], 0) == left;
}

/* Whether redist_layout_place_offsets writes this rank's offsets, and no others. */
static int offsets_are_right(const side *s) {
  const test_table *t = &s->m.table;
  int64_t offsets[TEST_PLACES], end = 0;
  int k, right;
  for (k = 0; k < t->places; k++) {
    offsets[k] = -7;
    if (t->ranks[k] == test_rank() && t->alloc[k] > 0 && end < s->begin[k] + t->alloc[k])
      end = s->begin[k] + t->alloc[k];
  }
  right = redist_layout_place_offsets(&s->m.layout, test_rank(), offsets) == end &&
          redist_layout_place_offsets(&s->m.layout, test_rank(), NULL) == end;
  for (k = 0; k < t->places; k++)
    right = right && offsets[k] == (t->ranks[k] == test_rank() ? s->begin[k] : -7);
  return right;
}

static void check_queries(const side *s, int number) {
  const test_table *t = &s->m.table;
  int places[TEST_PLACES], k, n, rank, good = 1;
  for (rank = 0; rank < test_size(); rank++) {
    int coords[TEST_DIMS], at = 0;
    for (k = 0, n = 0; k < t->places; k++) n += t->ranks[k] == rank;
    good = good && redist_layout_on_rank(&s->m.layout, rank, TEST_PLACES, places) == n &&
           redist_layout_on_rank(&s->m.layout, rank, 0, NULL) == n;
    for (k = 0; k < t->places; k++) good = good && (t->ranks[k] != rank || places[at++] == k);
    good = good && redist_layout_coords(&s->m.layout, rank, coords) == (n > 0);
    for (k = -1, at = 0; at <= n && good; at++) {
      const int next = redist_layout_next_place(&s->m.layout, rank, k);
      good = next == (at < n ? places[at] : -1);
      k = next;
    }
  }
  for (k = -1; k <= t->places; k++) {
    int coords[TEST_DIMS], within = k >= 0 && k < t->places;
    good = good && redist_layout_place_coords(&s->m.layout, k, coords) == within;
    if (within && k < t->places / s->m.layout.copies)
      good = good && redist_layout_rank(&s->m.layout, coords) == t->ranks[k];
  }
  test_case(good, "case %d: places by rank", number);
  for (k = 0, good = 1; k < t->places; k++)
    good = good && (t->ranks[k] != test_rank() || shape_is_right(s, k));
  test_case(good, "case %d: shapes of places", number);
  test_case(offsets_are_right(s), "case %d: offsets of places", number);
}

static void check_text(const side *s, int number) {
  char text[8192], again[8192], message[256] = "";
  static int64_t storage[8192];
  redist_layout read;
  const int64_t length = redist_layout_format(&s->m.layout, text, sizeof text);
  int code = length < 0 ? -1
                        : redist_layout_parse(text, &read, storage, sizeof storage, message,
                                              sizeof message);
  if (test_has_lists(&s->m.array)) {
    test_case(length == -1, "case %d: no text for lists of indices", number);
    return;
  }
  if (code == REDIST_OK) redist_layout_format(&read, again, sizeof again);
  test_case(code == REDIST_OK && strcmp(text, again) == 0 &&
                redist_layout_local_size(&read, test_rank()) ==
                    redist_layout_local_size(&s->m.layout, test_rank()),
            "case %d: %s: code %d, %s", number, text, code, message);
}

static void check_paper(const exchange *e, int number) {
  int i;
  if (e->s[0].m.array.replicas == 1 || e->combine)
    check_traffic(e, number);
  else
    check_replicas(e, number);
  check_move(e, number);
  for (i = 0; i < 2; i++) {
    check_queries(&e->s[i], number);
    check_text(&e->s[i], number);
  }
}

static void check_random(int number) {
  test_random r = {(uint64_t)number * 7919 + 5};
  static exchange e[PARTS];
  int k, parts = 1 + number % PARTS;
  for (k = 0; k < parts; k++) {
    draw(&r, &e[k], number);
    allocate(&e[k]);
    check_paper(&e[k], number);
  }
  for (k = 0; k < SETTINGS; k++)
    if (parts == 1 || settings[k].method != REDIST_MULTIPHASE)
      check_plan(&settings[k], e, parts, number);
  for (k = 0; k < parts; k++) release(&e[k]);
}

/* ---- tiles of one array, in which they interleave ---- */

enum { TILES = 3, TILE = 4, SIDE = TILES * TILE };

static void check_tiles(const setting *s) {
  const int size = test_size();
  const redist_layout rows =
      redist_layout_2d(redist_block(SIDE, size), redist_whole(SIDE)); /* of the right order */
  int64_t offsets[TILES * TILES], tiles[SIDE * SIDE], row[SIDE * SIDE], i, j;
  int ranks[TILES * TILES], k, code, good = 1;
  redist_options options;
  redist_plan *plan = NULL;
  redist_layout x = redist_layout_2d(redist_block(SIDE, TILES), redist_block(SIDE, TILES));
  for (k = 0; k < TILES * TILES; k++) {
    ranks[k] = 0;
    offsets[k] = k / TILES * TILE * SIDE + (TILES - 1 - k % TILES) * TILE; /* mirrored */
  }
  x = redist_with_allocated(redist_at_offsets(redist_on_ranks(x, ranks), offsets), 1, SIDE);
  memset(&options, 0, sizeof options);
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.max_buffer = (size_t)s->max_buffer;
  for (i = 0; i < SIDE * SIDE; i++) {
    tiles[i] = i;
    row[i] = -1;
  }
  code = redist_plan_create(MPI_COMM_WORLD, &x, &rows, MPI_INT64_T, &options, &plan);
  for (k = 0; k < TILES * TILES; k++) ranks[k] = -1, offsets[k] = -1; /* the plan has its own */
  if (code == REDIST_OK) code = redist_execute(plan, tiles, row);
  redist_plan_free(&plan);
  for (i = 0; i < SIDE; i++)
    for (j = 0; j < SIDE && code == REDIST_OK; j++) {
      const int64_t index[2] = {i, j};
      const int64_t wanted = i * SIDE + (TILES - 1 - j / TILE) * TILE + j % TILE;
      good = good && (redist_layout_owner(&rows, index) != test_rank() ||
                      row[redist_layout_offset(&rows, index)] == wanted);
    }
  test_case_all(good && code == REDIST_OK, "tiles of one array, %s: code %d", s->name, code);
}

/* In place, the two places of each rank change sides in its array. */
static void check_swap(const setting *s) {
  enum { HALF = 5 };
  const int size = test_size();
  int *ranks = malloc(2 * (size_t)size * sizeof *ranks), k, code, good = 1;
  int64_t *offsets[2], array[2 * HALF];
  redist_layout x[2];
  redist_options options;
  redist_plan *plan = NULL;
  offsets[0] = malloc(2 * (size_t)size * sizeof **offsets);
  offsets[1] = malloc(2 * (size_t)size * sizeof **offsets);
  for (k = 0; k < 2 * size; k++) {
    ranks[k] = k / 2;
    offsets[0][k] = k % 2 * HALF;
    offsets[1][k] = (1 - k % 2) * HALF;
  }
  for (k = 0; k < 2; k++)
    x[k] =
        redist_at_offsets(redist_on_ranks(redist_layout_1d(redist_block(2 * HALF * size, 2 * size)),
                                          ranks),
                          offsets[k]);
  memset(&options, 0, sizeof options);
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.in_place = 1;
  code = redist_plan_create(MPI_COMM_WORLD, &x[0], &x[1], MPI_INT64_T, &options, &plan);
  for (k = 0; k < 2 * HALF; k++) array[k] = k;
  if (code == REDIST_OK) code = redist_execute(plan, array, array);
  for (k = 0; k < 2 * HALF; k++) good = good && array[k] == (k + HALF) % (2 * HALF);
  test_case_all(good && code == REDIST_OK, "places that change sides in place, %s: code %d",
                s->name, code);
  redist_plan_free(&plan);
  free(ranks);
  free(offsets[0]);
  free(offsets[1]);
}

/* In place, from one layout to another, both as text, on so many ranks. copied: elements of rank 0
   that stay on it and yet must be copied; -1: combining is refused. */
typedef struct {
  int ranks, copied;
  const char *from, *to;
} mixture;

static const mixture mixtures[] = {
    {1, 17, "17: *", "17: block@2; ranks 0,0; offsets 9,0"},
    {1, 17, "17: *", "17: box; boxes 14:17, 0:14; ranks 0,0"},
    {1, 8, "17: *", "17: block@2; ranks 0,0; offsets 0,20"},
    {1, 0, "6: block@2; ranks 0,0", "6: *"},
    {1, 0, "6: *", "6: block@2; ranks 0,0"},
    {1, 0, "6: block@3; ranks 0,0,0", "6: block@2; ranks 0,0"},
    {1, 6, "6: *", "6: block@2 [5:6:-1 of 6]; ranks 0,0"},
    {1, 8, "8: *", "8: cyclic@2; ranks 0,0; offsets 8,12"},
    {1, 4, "2x2: *, * halo(1,1) allocated(4); offsets 3", "2x2: *, * allocated(4); offsets 2"},
    {1, 0, "4x4: block@2, block@2 allocated(4); ranks 0,0,0,0; offsets 0,2,8,10", "4x4: *, *"},
    {1, 8, "4x4: block@2, block@2 allocated(4); ranks 0,0,0,0; offsets 2,0,8,10", "4x4: *, *"},
    {1, 8, "4x4: *, *", "4x4: block@2, block@2 allocated(4); ranks 0,0,0,0; offsets 0,2,10,8"},
    {1, 4, "3x4: *, *", "3x4: block@3, * allocated(4); ranks 0,0,0; offsets 0,12,8"},
    {1, 0, "4x2: *, * halo(1,1)", "4x2: block@2, * halo(1,1); ranks 0,0"},
    {1, -1, "4x4: *, *", "4x4: block@2, block@2; ranks 0,0,0,0"},
    {1, 8, "2x4: *, *", "2x4: *, block@2 allocated(4); ranks 0,0; offsets 3,11"},
    {1, 8, "4x2: *, *", "4x2: *, block@2; ranks 0,0; offsets 8,16"},
    {1, 0, "4x8: *, cuts(0,5,8); ranks 0,0", "4x8: *, cuts(0,5,8); ranks 0,0"},
    {1, 0, "2x4: *, * allocated(5); offsets 3", "2x4: *, * allocated(5); offsets 3"},
    {2, 12, "18: *", "18: block@3; ranks 0,1,0; offsets 9,0,2"},
    {2, 6, "18: *", "18: block@3; ranks 0,1,0; offsets 0,0,13"},
    {2, 0, "12: block@4; ranks 0,1,0,1", "12: block@3; ranks 0,1,1; offsets 0,6,0"},
};

/* What is not at its destination arrives, and nothing else is copied; combining, an element does not
   contribute to itself. */
static void check_layouts(const setting *s, const mixture *x, const redist_layout *layout,
                          int combine) {
  enum { CELLS = 64 };
  int64_t array[CELLS], wanted[CELLS], index[REDIST_MAX_DIMS] = {0}, n, m, k, value;
  redist_options options;
  redist_plan *plan = NULL;
  char message[256] = "";
  int code, good = 1;
  memset(&options, 0, sizeof options);
  n = layout[0].dim[0].axis.count;
  m = layout[0].ndim > 1 ? layout[0].dim[1].axis.count : 1;
  for (k = 0; k < CELLS; k++) array[k] = 1000 + k;
  for (k = 0; k < n * m; k++) {
    index[0] = k / m, index[1] = k % m;
    if (redist_layout_owner(&layout[0], index) == test_rank())
      array[redist_layout_offset(&layout[0], index)] = k + 1;
  }
  memcpy(wanted, array, sizeof array);
  for (k = 0; k < n * m; k++) {
    index[0] = k / m, index[1] = k % m;
    if (redist_layout_owner(&layout[1], index) != test_rank()) continue;
    value = array[redist_layout_offset(&layout[1], index)];
    if (value != k + 1)
      wanted[redist_layout_offset(&layout[1], index)] = (combine ? value : 0) + k + 1;
  }
  options.method = s->method;
  options.node_ranks = s->node_ranks;
  options.in_place = 1;
  options.combine = combine ? add : NULL;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, &layout[0], &layout[1], MPI_INT64_T, &options, &plan);
  if (combine && x->copied < 0) {
    test_case_all(code == REDIST_ERR_ARGUMENT && strstr(message, "identical strides") != NULL,
                  "%s to %s, %s: code %d, %s", x->from, x->to, s->name, code, message);
    return;
  }
  if (code == REDIST_OK && test_rank() == 0 && x->copied >= 0 && s->method != REDIST_MULTIPHASE)
    good = test_copied_in_place(plan) == x->copied;
  test_case_all(good, "%s to %s, %s: %d elements to be copied", x->from, x->to, s->name,
                plan == NULL ? -1 : (int)test_copied_in_place(plan));
  if (code == REDIST_OK) code = redist_execute(plan, array, array);
  test_case_all(code == REDIST_OK && memcmp(array, wanted, sizeof array) == 0,
                "%s to %s%s, %s: code %d, %s", x->from, x->to, combine ? ", combined" : "", s->name,
                code, message);
  redist_plan_free(&plan);
}

static void check_mixture(const setting *s, const mixture *x, int combine) {
  static int64_t storage[2][256];
  redist_layout layout[2];
  redist_layout_parse(x->from, &layout[0], storage[0], sizeof storage[0], NULL, 0);
  redist_layout_parse(x->to, &layout[1], storage[1], sizeof storage[1], NULL, 0);
  check_layouts(s, x, layout, combine);
}

/* In place on rank 0, from 4 x 3 elements to the same with rows and columns in other orders. */
typedef struct {
  mixture x;
  int64_t offset[2], rows[4], columns[3];
} shuffle;

static const shuffle shuffles[] = {
    {{1, -1, "rows by 0, 3 and -6", "columns by 1 and -2, all by -1"},
     {1, 0},
     {0, 3, 1, 2},
     {2, 0, 1}},
    {{1, 4, "no rows", "columns by 1 and -2, all by -1"}, {1, 0}, {0, 1, 2, 3}, {2, 0, 1}},
    {{1, 12, "no rows", "columns by 1 and -2"}, {0, 0}, {0, 1, 2, 3}, {2, 0, 1}},
    {{1, 9, "rows by 0, 3 and -6", "no columns"}, {0, 0}, {0, 3, 1, 2}, {0, 1, 2}},
    {{1, 12, "rows by 0, 3 and -6", "columns by 1 and -2, all by 1"},
     {0, 1},
     {0, 3, 1, 2},
     {2, 0, 1}},
    {{1, 12, "no rows", "columns by 1 and -2, all by 1"}, {0, 1}, {0, 1, 2, 3}, {2, 0, 1}},
};

static void check_shuffle(const setting *s, const shuffle *x) {
  static const int64_t rows[2] = {0, 4}, columns[2] = {0, 3};
  redist_layout layout[2];
  layout[0] = redist_layout_2d(redist_whole(4), redist_whole(3));
  layout[1] =
      redist_layout_2d(redist_lists(4, rows, x->rows, 1), redist_lists(3, columns, x->columns, 1));
  layout[0] = redist_at_offsets(layout[0], &x->offset[0]);
  layout[1] = redist_at_offsets(layout[1], &x->offset[1]);
  check_layouts(s, &x->x, layout, 0);
  check_layouts(s, &x->x, layout, 1);
}

static void check_mixtures(const setting *s) {
  size_t k;
  for (k = 0; k < sizeof mixtures / sizeof *mixtures; k++)
    if (mixtures[k].ranks <= test_size() && s->max_buffer == 0) {
      check_mixture(s, &mixtures[k], 0);
      check_mixture(s, &mixtures[k], 1);
    }
  for (k = 0; k < sizeof shuffles / sizeof *shuffles && s->max_buffer == 0; k++)
    check_shuffle(s, &shuffles[k]);
}

/* ---- lists that the caller frees ---- */

/* A number made of the layouts that the report of a plan shows on rank 0. */
static int64_t shown_layouts(redist_plan *plan) {
  FILE *file = tmpfile();
  char line[256];
  int64_t sum = 0;
  int code = plan == NULL ? REDIST_ERR_ARGUMENT : redist_plan_print(plan, file);
  rewind(file);
  while (code == REDIST_OK && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "  from", 6) == 0 || strncmp(line, "  to", 4) == 0)
      for (char *c = line; *c != '\0'; c++) sum = 31 * sum % 1000003 + *c;
  fclose(file);
  return sum;
}

static void check_lists(void) {
  const int size = test_size();
  int64_t *cuts = malloc(((size_t)size + 1) * sizeof *cuts), n = 3 * size, k;
  redist_box *box = malloc((size_t)size * sizeof *box);
  redist_layout a, b;
  redist_plan *plan = NULL;
  int64_t from[3] = {0}, to[6] = {0}, shown[2];
  int code, good;
  memset(box, 0, (size_t)size * sizeof *box);
  for (k = 0; k < size; k++) {
    cuts[k] = 3 * k;
    box[k].low[0] = 3 * ((k + 1) % size);
    box[k].high[0] = box[k].low[0] + 3;
  }
  cuts[size] = n;
  a = redist_layout_1d(redist_cuts(cuts, size));
  b = redist_layout_boxes(1, &n, size, box);
  code = redist_plan_create(MPI_COMM_WORLD, &a, &b, MPI_INT64_T, NULL, &plan);
  shown[0] = shown_layouts(plan);
  memset(cuts, -1, ((size_t)size + 1) * sizeof *cuts);
  memset(box, -1, (size_t)size * sizeof *box);
  free(cuts);
  free(box);
  for (k = 0; k < 3; k++) from[k] = 3 * test_rank() + k;
  if (code == REDIST_OK) code = redist_execute(plan, from, to);
  shown[1] = shown_layouts(plan);
  redist_plan_free(&plan);
  good = shown[0] == shown[1];
  for (k = 0; k < 3; k++) good = good && to[k] == 3 * ((test_rank() + 1) % size) + k;
  test_case_all(good && code == REDIST_OK, "cuts and boxes that are freed: code %d", code);
}

/* ---- bad input ---- */

static void check_refused(int wanted, const char *sentence, const redist_layout *from,
                          const redist_layout *to) {
  char message[256] = "";
  redist_options options;
  redist_plan *plan = NULL;
  int code;
  memset(&options, 0, sizeof options);
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(MPI_COMM_WORLD, from, to, MPI_INT, &options, &plan);
  test_case_all(code == wanted && plan == NULL && strstr(message, sentence) != NULL,
                "refused: code %d, wanted %d: '%s', wanted '%s'", code, wanted, message, sentence);
  redist_plan_free(&plan);
}

/* Corners that hold no element are no cells of a place: four places of 2 x 2 on rank 0, stored with
   their halo in 4 x 4, of which the last begins at an offset in the first. */
static void check_corners(void) {
  int64_t offsets[4] = {0, 100, 200, 0};
  const redist_layout rows = redist_layout_2d(redist_block(4, test_size()), redist_whole(4));
  redist_layout bare = redist_on_ranks(redist_layout_2d(redist_block(4, 2), redist_block(4, 2)),
                                       (const int[4]){0, 0, 0, 0}),
                faces;
  redist_plan *plan;
  int d, code;
  for (d = 0; d < 2; d++)
    bare = redist_with_ghosts(redist_with_halo(bare, d, 1, 1), d, REDIST_CLOSED);
  bare = redist_at_offsets(bare, offsets);
  faces = redist_without_corners(bare);
  for (offsets[3] = 13; offsets[3] < 16; offsets[3]++) {
    check_refused(REDIST_ERR_LAYOUT, "destination: places 0 and 3 overlap", &rows, &bare);
    if (offsets[3] == 13) /* cell (3, 2) of the first is cell (0, 1) of the last */
      check_refused(REDIST_ERR_LAYOUT, "destination: places 0 and 3 overlap", &rows, &faces);
    if (offsets[3] == 13) continue;
    code = redist_plan_create(MPI_COMM_WORLD, &rows, &faces, MPI_INT, NULL, &plan);
    test_case_all(code == REDIST_OK, "corners at offset %d: code %d", (int)offsets[3], code);
    redist_plan_free(&plan);
  }
}

static void check_bad_input(void) {
  enum { N = 12 };
  const redist_layout rows = redist_layout_1d(redist_block(N, test_size()));
  redist_layout x = redist_on_ranks(redist_layout_1d(redist_block(N, 4)), (const int[4]){0}), y;
  redist_layout ghosts = redist_with_ghosts(redist_with_halo(x, 0, 1, 1), 0, REDIST_PERIODIC);
  static const int64_t close[4] = {6, 0, 2, 12}, negative[4] = {0, 3, -6, 9},
                       apart[4] = {9, 6, 3, 0}, fours[4] = {0, 4, 8, 12};
  int coords[1] = {2};
  y = redist_at_offsets(x, close);
  check_refused(REDIST_ERR_LAYOUT,
                "rank 0: source: places 1 and 2 overlap in the array, at "
                "offsets 0 and 2",
                &y, &rows);
  check_refused(REDIST_ERR_LAYOUT, "destination: places 1 and 2 overlap", &rows, &y);
  y = redist_at_offsets(x, negative);
  check_refused(REDIST_ERR_LAYOUT, "source: the offset of place 2 is -6", &y, &rows);
  y = redist_at_offsets(ghosts, fours);
  check_refused(REDIST_ERR_LAYOUT, "destination: places 0 and 1 overlap", &rows, &y);
  y = redist_at_offsets(x, apart);
  test_case(redist_relabel(&rows, &y, 0, coords) == REDIST_ERR_RANK,
            "no relabelling where a rank of the destination holds several places");
  test_case(redist_layout_rank(&x, coords) == 0, "the rank of place 2");
  y = redist_at_offsets(rows, NULL);
  test_case(redist_layout_check(&y) == REDIST_ERR_LAYOUT, "offsets that are NULL");
  test_case(redist_layout_on_rank(&y, 0, 0, NULL) == 0 &&
                redist_layout_on_rank(NULL, 0, 0, NULL) == 0,
            "places of a layout that is refused");
}

int main(int argc, char **argv) {
  int k, cases = argc > 1 ? atoi(argv[1]) : 24;
  MPI_Init(&argc, &argv);
  redist_arena_create(MPI_COMM_WORLD, ARENA_BYTES, &arena);
  for (k = 0; k < cases; k++) check_random(k);
  for (k = 0; k < SETTINGS; k++) {
    check_tiles(&settings[k]);
    check_swap(&settings[k]);
    check_mixtures(&settings[k]);
  }
  check_lists();
  check_bad_input();
  check_corners();
  redist_arena_free(&arena);
  k = test_report_all("plan_places");
  MPI_Finalize();
  return k;
}
