/* Axes distributed by owner of each index, or by lists of indices: what a plan costs, and an
   execution beside gathering, MPI_Alltoallv and scattering by hand, with lists of positions that
   ascend by index. What stays on a rank is copied by hand without a buffer. MIT licence, see
   LICENSE.

   Contestants alternate, one execution each. Every execution is preceded by writing the whole
   source, and followed by reading the whole destination, which the time includes. Figures are lower
   quartiles of the slowest rank's time; the ratio is to the time by hand. */
#include <string.h>

#include "bench.h"
#include "redist_plan.h"

enum { HAND, REDIST, CONTESTANTS, MOST_SAMPLES = 1000 };

typedef struct {
  int rank, ranks;
  int64_t n, samples;
  double seconds; /* for each case */
} bench;

/* Elements at positions of a rank's array, for each other rank. */
typedef struct {
  int *at, *counts, *begin;
  double *buffer;
} side;

typedef struct {
  side side[2];  /* what is sent and what is received */
  int *local[2]; /* positions of what stays, in the source and in the destination */
  int64_t stays;
} hand;

typedef struct {
  const char *name;
  int longest;  /* of the stretches of indices that an owner has */
  int dealt;    /* round-robin, all of this length; else owners are drawn */
  int shuffled; /* the destination's coordinates list their indices in any order */
} sets;

static const sets cases[] = {
    {"owners, drawn one by one", 1, 0, 0},      {"owners, stretches of 1 to 7", 7, 0, 0},
    {"owners, stretches of 1 to 99", 99, 0, 0}, {"lists in any order", 1, 0, 1},
    {"CYCLIC(3) as owners", 3, 1, 0},
};

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
  uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (z ^ (z >> 31)) % below;
}

static void draw_owners(const bench *b, const sets *s, int *owner) {
  int64_t i, left = 0;
  int at = 0;
  for (i = 0; i < b->n; i++, left--) {
    if (left == 0) {
      at = s->dealt ? (int)(i / s->longest % b->ranks) : (int)draw((uint64_t)b->ranks);
      left = s->dealt ? s->longest : 1 + (int64_t)draw((uint64_t)s->longest);
    }
    owner[i] = at;
  }
}

/* The indices of each coordinate, ascending or in any order. */
static void list_indices(const bench *b, const int *owner, int shuffled, int64_t *begin,
                         int64_t *index) {
  int64_t i, k;
  int c;
  for (c = 0; c <= b->ranks; c++) begin[c] = 0;
  for (i = 0; i < b->n; i++) begin[owner[i] + 1]++;
  for (c = 0; c < b->ranks; c++) begin[c + 1] += begin[c];
  for (i = 0; i < b->n; i++) index[begin[owner[i]]++] = i;
  for (c = b->ranks; c > 0; c--) begin[c] = begin[c - 1];
  begin[0] = 0;
  for (c = 0; c < b->ranks && shuffled; c++)
    for (i = begin[c + 1] - 1; i > begin[c]; i--) {
      const int64_t other = begin[c] + (int64_t)draw((uint64_t)(i - begin[c] + 1));
      k = index[i];
      index[i] = index[other];
      index[other] = k;
    }
}

/* The position of every index in its owner's memory. */
static void find_positions(const bench *b, const int64_t *begin, const int64_t *index, int *at) {
  int64_t k;
  int c;
  for (c = 0; c < b->ranks; c++)
    for (k = begin[c]; k < begin[c + 1]; k++) at[index[k]] = (int)(k - begin[c]);
}

/* ---- by hand ---- */

static void open_side(const bench *b, side *s, const int *mine, const int *theirs, const int *at) {
  int64_t i;
  int c;
  s->counts = allocate((size_t)b->ranks * sizeof(int));
  s->begin = allocate((size_t)(b->ranks + 1) * sizeof(int));
  memset(s->begin, 0, (size_t)(b->ranks + 1) * sizeof(int));
  for (i = 0; i < b->n; i++)
    if (mine[i] == b->rank && theirs[i] != b->rank) s->begin[theirs[i] + 1]++;
  for (c = 0; c < b->ranks; c++) {
    s->counts[c] = s->begin[c + 1];
    s->begin[c + 1] += s->begin[c];
  }
  s->at = allocate((size_t)s->begin[b->ranks] * sizeof(int));
  s->buffer = allocate((size_t)s->begin[b->ranks] * sizeof(double));
  for (i = 0; i < b->n; i++)
    if (mine[i] == b->rank && theirs[i] != b->rank) s->at[s->begin[theirs[i]]++] = at[i];
  for (c = b->ranks - 1; c > 0; c--) s->begin[c] = s->begin[c - 1];
  s->begin[0] = 0;
  memset(s->buffer, 1, (size_t)(s->begin[b->ranks - 1] + s->counts[b->ranks - 1]) * sizeof(double));
}

static void open_hand(const bench *b, hand *h, int *const *owner, int *const *at) {
  int64_t i;
  int k;
  open_side(b, &h->side[0], owner[0], owner[1], at[0]);
  open_side(b, &h->side[1], owner[1], owner[0], at[1]);
  for (h->stays = i = 0; i < b->n; i++)
    h->stays += owner[0][i] == b->rank && owner[1][i] == b->rank;
  for (k = 0; k < 2; k++) h->local[k] = allocate((size_t)h->stays * sizeof(int));
  for (h->stays = i = 0; i < b->n; i++)
    if (owner[0][i] == b->rank && owner[1][i] == b->rank) {
      h->local[0][h->stays] = at[0][i];
      h->local[1][h->stays++] = at[1][i];
    }
}

static void close_hand(hand *h) {
  int k;
  for (k = 0; k < 2; k++) {
    free(h->side[k].at);
    free(h->side[k].counts);
    free(h->side[k].begin);
    free(h->side[k].buffer);
    free(h->local[k]);
  }
}

static void exchange(const bench *b, const hand *h, const double *from, double *to) {
  const side *out = &h->side[0], *in = &h->side[1];
  const int sent = out->begin[b->ranks - 1] + out->counts[b->ranks - 1];
  const int received = in->begin[b->ranks - 1] + in->counts[b->ranks - 1];
  MPI_Request request;
  int64_t k;
  for (k = 0; k < sent; k++) out->buffer[k] = from[out->at[k]];
  MPI_Ialltoallv(out->buffer, out->counts, out->begin, MPI_DOUBLE, in->buffer, in->counts,
                 in->begin, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  for (k = 0; k < h->stays; k++) to[h->local[1][k]] = from[h->local[0][k]];
  wait_yielding(&request);
  for (k = 0; k < received; k++) to[in->at[k]] = in->buffer[k];
}

/* ---- measuring ---- */

static double write_all(double *a, int64_t n, double value) {
  int64_t k;
  for (k = 0; k < n; k++) a[k] = value + (double)k;
  return value;
}

static double read_all(const double *a, int64_t n) {
  double sum = 0;
  int64_t k;
  for (k = 0; k < n; k++) sum += a[k];
  return sum;
}

/* Both contestants' cycles, alternately. The destination must end up the same. */
static void compare(const bench *b, const sets *s, redist_plan *plan, const hand *h,
                    const int64_t *size) {
  static double times[CONTESTANTS][MOST_SAMPLES];
  double *from = allocate((size_t)size[0] * sizeof(double)), begin, spent = 0, sum[CONTESTANTS];
  double *to = allocate((size_t)size[1] * sizeof(double)), quartile[CONTESTANTS];
  int64_t k;
  int who;
  memset(to, 1, (size_t)size[1] * sizeof(double));
  write_all(from, size[0], 0);
  for (k = -1, begin = MPI_Wtime(); k < b->samples && spent < b->seconds; k++) {
    for (who = 0; who < CONTESTANTS; who++) {
      double time;
      barrier();
      time = MPI_Wtime();
      write_all(from, size[0], (double)b->rank);
      if (who == HAND)
        exchange(b, h, from, to);
      else if (redist_execute(plan, from, to) != REDIST_OK)
        give_up("%s", redist_plan_message(plan));
      sum[who] = read_all(to, size[1]);
      time = MPI_Wtime() - time;
      maxima(&time, 1);
      if (k >= 0) times[who][k] = time;
    }
    if (sum[HAND] < sum[REDIST] || sum[HAND] > sum[REDIST]) give_up("sums differ");
    spent = MPI_Wtime() - begin;
    maxima(&spent, 1);
  }
  for (who = 0; who < CONTESTANTS; who++) {
    quartile[who] = lower_quartile(times[who], k);
    figure(s->name, b->ranks, size[0] * (int64_t)sizeof(double), who == HAND ? "by hand" : "redist",
           k, quartile[who], times[who][0], quartile[who] / quartile[HAND]);
  }
  figure(s->name, b->ranks, size[0] * (int64_t)sizeof(double), "ratio", k,
         quartile[REDIST] / quartile[HAND], times[REDIST][0] / times[HAND][0], 0);
  if (b->rank == 0)
    printf(" %9.2f %9.2f %7.3f %9.2f %9.2f\n", 1e3 * quartile[HAND], 1e3 * quartile[REDIST],
           quartile[REDIST] / quartile[HAND], 1e3 * times[HAND][0], 1e3 * times[REDIST][0]);
  free(from);
  free(to);
}

static void measure(const bench *b, const sets *s) {
  const size_t n = (size_t)b->n;
  int *owner[2] = {allocate(n * sizeof(int)), allocate(n * sizeof(int))};
  int *at[2] = {allocate(n * sizeof(int)), allocate(n * sizeof(int))};
  int64_t *index[2] = {allocate(n * sizeof(int64_t)), allocate(n * sizeof(int64_t))};
  int64_t *begin[2], size[2];
  redist_layout layout[2];
  redist_plan *plan;
  hand h;
  double seconds[2];
  int k, code;
  for (k = 0; k < 2; k++) {
    begin[k] = allocate((size_t)(b->ranks + 1) * sizeof(int64_t));
    draw_owners(b, s, owner[k]);
    if (s->dealt && k == 1) draw_owners(b, &(sets){"", 2, 1, 0}, owner[k]);
    list_indices(b, owner[k], s->shuffled && k == 1, begin[k], index[k]);
    find_positions(b, begin[k], index[k], at[k]);
    layout[k] =
        redist_layout_1d(s->shuffled && k == 1 ? redist_lists(b->n, begin[k], index[k], b->ranks)
                                               : redist_owners(b->n, owner[k], b->ranks));
    size[k] = redist_layout_local_size(&layout[k], b->rank);
  }
  barrier();
  seconds[HAND] = MPI_Wtime();
  open_hand(b, &h, owner, at);
  seconds[HAND] = MPI_Wtime() - seconds[HAND];
  barrier();
  seconds[REDIST] = MPI_Wtime();
  code = redist_plan_create(MPI_COMM_WORLD, &layout[0], &layout[1], MPI_DOUBLE, NULL, &plan);
  seconds[REDIST] = MPI_Wtime() - seconds[REDIST];
  if (code != REDIST_OK) give_up("%s", redist_strerror(code));
  maxima(seconds, 2);
  for (k = 0; k < 2; k++)
    figure(s->name, b->ranks, size[0] * (int64_t)sizeof(double), k == HAND ? "lists" : "plan", 1,
           seconds[k], seconds[k], 0);
  if (b->rank == 0)
    printf("%-28s %10lld %5d %9.3f %9.3f", s->name, (long long)b->n, b->ranks, seconds[HAND],
           seconds[REDIST]);
  compare(b, s, plan, &h, size);
  redist_plan_free(&plan);
  close_hand(&h);
  for (k = 0; k < 2; k++) {
    free(owner[k]);
    free(at[k]);
    free(index[k]);
    free(begin[k]);
  }
}

int main(int argc, char **argv) {
  bench b = {.n = 10000000, .samples = 200, .seconds = 3};
  const char *csv = NULL;
  const option table[] = {{.name = "--n",
                           .argument = "N",
                           .integer = &b.n,
                           .least = 1,
                           .most = 1000000000,
                           .help = "indices (default 10,000,000)"},
                          OPTION_COUNT("--samples", b.samples, MOST_SAMPLES,
                                       "of each case at most (default 200)"),
                          OPTION_SECONDS(b.seconds, "for each case (default 3)"),
                          OPTION_CSV(csv),
                          {.name = NULL}};
  int status = start(table, argc, argv, &b.rank, &b.ranks, "owners",
                     "Axes by owners and lists, beside lists of positions by hand.");
  if (status < 0) {
    figures_open(csv, b.rank, FIGURE_COLUMNS);
    if (b.rank == 0)
      printf("plan in s, cycles in ms: by hand and by redist; lower quartiles, then the least\n"
             "%-28s %10s %5s %9s %9s %9s %9s %7s %9s %9s\n",
             "sets", "indices", "ranks", "lists", "plan", "hand", "redist", "ratio", "hand",
             "redist");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) measure(&b, &cases[k]);
    figures_close();
  }
  MPI_Finalize();
  return status < 0 ? 0 : status;
}
