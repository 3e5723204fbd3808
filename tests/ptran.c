/* redist tests: beta C + alpha op(A) of random block-cyclic matrices, and parts of them, against
   ScaLAPACK's p?geadd, p?tran and p?tranc. MIT licence, see LICENSE. */
#include <math.h>

#include "scalapack.h"

enum { GRIDS = 6, SLOT = 1 << 17 };
enum { PLAIN, TRANSPOSED, CONJUGATED, OPERATIONS };

typedef struct {
  const char *name;
  redist_number number;
  int parts; /* real numbers in an element */
  geadd *add;
  tran *tran[OPERATIONS];
} kind;

static const kind kinds[] = {
    {"float", REDIST_FLOAT, 1, psgeadd_, {NULL, pstran_, pstran_}},
    {"double", REDIST_DOUBLE, 1, pdgeadd_, {NULL, pdtran_, pdtran_}},
    {"complex float", REDIST_COMPLEX_FLOAT, 2, pcgeadd_, {NULL, pctranu_, pctranc_}},
    {"complex double", REDIST_COMPLEX_DOUBLE, 2, pzgeadd_, {NULL, pztranu_, pztranc_}},
};

static redist_arena *arena;
static char *slot; /* of the arena: two, for the two matrices */

typedef struct {
  const kind *k;
  /* whole: small integers, whose sums are exact in any order */
  int operation, m, n, by_geadd, whole;
  redist_axpby factors;
  matrix a, c;
  void *target; /* redist's result for C */
} run;

static int is_float(const kind *k) {
  return k->number == REDIST_FLOAT || k->number == REDIST_COMPLEX_FLOAT;
}

static size_t element_bytes(const kind *k) {
  return (size_t)k->parts * (is_float(k) ? sizeof(float) : sizeof(double));
}

static double get(const kind *k, const void *array, int64_t i) {
  return is_float(k) ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void set(const kind *k, void *array, int64_t i, double value) {
  if (is_float(k))
    ((float *)array)[i] = (float)value;
  else
    ((double *)array)[i] = value;
}

static double draw_value(test_random *r, int whole) {
  return whole ? (double)test_between(r, -9, 9)
               : (double)test_between(r, -1000000, 1000000) / 777777.0;
}

/* Every rank draws values of its own. */
static void fill(test_random *r, const run *u, const matrix *x, int with_nan) {
  test_random mine = *r;
  int64_t i;
  mine.state += (uint64_t)test_rank() << 32;
  for (i = 0; i < x->elements * u->k->parts; i++)
    set(u->k, x->local, i, with_nan ? (double)NAN : draw_value(&mine, u->whole));
  test_next(r);
}

static void draw_factor(test_random *r, const run *u, double *factor) {
  static const double usual[] = {0, 1, -1};
  const int choice = (int)test_between(r, 0, 4);
  factor[0] = choice < 3 ? usual[choice] : draw_value(r, u->whole);
  factor[1] = choice < 3 || u->k->parts == 1 ? 0 : draw_value(r, u->whole);
  if (is_float(u->k)) {
    factor[0] = (double)(float)factor[0];
    factor[1] = (double)(float)factor[1];
  }
}

static int is_zero(const double *factor) { return factor[0] == 0 && factor[1] == 0; }

static void draw_run(test_random *r, const grid *g, run *u) {
  u->k = &kinds[test_between(r, 0, 3)];
  u->operation = (int)test_between(r, 0, OPERATIONS - 1);
  u->by_geadd = u->operation == PLAIN || test_between(r, 0, 1);
  u->whole = (int)test_between(r, 0, 1);
  u->m = (int)test_between(r, 1, 40);
  u->n = (int)test_between(r, 1, 40);
  u->factors.type = u->k->number;
  u->factors.conjugate = u->operation == CONJUGATED;
  draw_factor(r, u, u->factors.alpha);
  draw_factor(r, u, u->factors.beta);
  draw(r, g, u->operation == PLAIN ? u->m : u->n, u->operation == PLAIN ? u->n : u->m,
       element_bytes(u->k), &u->a);
  draw(r, g, u->m, u->n, element_bytes(u->k), &u->c);
  fill(r, u, &u->a, 0);
  fill(r, u, &u->c, is_zero(u->factors.beta)); /* NaN where nothing may be read */
}

static int by_plan(run *u, redist_method method, int in_arena) {
  redist_options options;
  redist_layout from = u->operation == PLAIN ? u->a.layout : redist_transposed(u->a.layout);
  redist_plan *plan = NULL;
  MPI_Datatype element;
  int code, round;
  memset(&options, 0, sizeof options);
  options.method = method;
  options.arena = in_arena ? arena : NULL;
  options.combine = redist_combine_axpby;
  options.context = &u->factors;
  MPI_Type_contiguous((int)element_bytes(u->k), MPI_BYTE, &element);
  code = redist_plan_create(MPI_COMM_WORLD, &from, &u->c.layout, element, &options, &plan);
  MPI_Type_free(&element);
  for (round = 0; round < 2 && code == REDIST_OK; round++) {
    memcpy(u->target, u->c.local, u->c.bytes);
    code = redist_execute(plan, u->a.local, u->target);
  }
  if (plan != NULL && redist_plan_free(&plan) != REDIST_OK) return REDIST_ERR_MPI;
  return code;
}

static void by_scalapack(const run *u) {
  static const char names[OPERATIONS][2] = {"N", "T", "C"};
  const int ia = u->a.row + 1, ja = u->a.column + 1, ic = u->c.row + 1, jc = u->c.column + 1;
  double alpha[2], beta[2];
  int i;
  for (i = 0; i < u->k->parts; i++) {
    set(u->k, alpha, i, u->factors.alpha[i]);
    set(u->k, beta, i, u->factors.beta[i]);
  }
  if (place_of_rank(u->c.g) < 0) return;
  if (u->by_geadd)
    u->k->add(names[u->operation], &u->m, &u->n, alpha, u->a.local, &ia, &ja, u->a.desc, beta,
              u->c.local, &ic, &jc, u->c.desc);
  else
    u->k->tran[u->operation](&u->m, &u->n, alpha, u->a.local, &ia, &ja, u->a.desc, beta, u->c.local,
                             &ic, &jc, u->c.desc);
}

/* Products and sums are the same, except perhaps for the order of complex ones. */
static int is_right(const run *u) {
  const double rounding = u->whole || u->k->parts == 1 ? 0 : is_float(u->k) ? 4e-6 : 1e-14;
  int64_t i;
  for (i = 0; i < u->c.elements * u->k->parts; i++) {
    const double wanted = get(u->k, u->c.local, i), is = get(u->k, u->target, i);
    if (!(fabs(wanted - is) <= rounding) && !(isnan(wanted) && isnan(is))) return 0;
  }
  return 1;
}

static void check(run *u, int number) {
  static const redist_method methods[] = {REDIST_AUTO,           REDIST_SHARED,
                                          REDIST_ALLTOALLV,      REDIST_ALLTOALLW,
                                          REDIST_POINT_TO_POINT, REDIST_SCHEDULED};
  static const char *const operations[] = {"A", "transposed A", "conjugated A"};
  const int in_arena = number % 4 == 0, method = in_arena           ? 1
                                                 : number % 50 == 1 ? 0
                                                                    : 2 + number / 4 % 4;
  const matrix in_memory = u->a;
  int code;
  u->target = in_arena ? slot + SLOT : malloc(u->c.bytes + 1);
  if (in_arena) u->a.local = memcpy(slot, in_memory.local, in_memory.bytes);
  code = by_plan(u, methods[method], in_arena);
  u->a = in_memory;
  by_scalapack(u);
  test_case_all(
      code == REDIST_OK && is_right(u),
      "case %d: %s %d x %d: (%g, %g) C + (%g, %g) %s from %d x %d to %d x %d blocks on %d x %d, by %s: code %d",
      number, u->k->name, u->m, u->n, u->factors.beta[0], u->factors.beta[1], u->factors.alpha[0],
      u->factors.alpha[1], operations[u->operation], u->a.desc[4], u->a.desc[5], u->c.desc[4],
      u->c.desc[5], u->a.g->rows, u->a.g->columns, u->by_geadd ? "p?geadd" : "p?tran", code);
  if (!in_arena) free(u->target);
}

/* Arguments: a seed, the number of cases. */
int main(int count, char **arguments) {
  grid grids[GRIDS];
  test_random r = {1};
  int k, cases, status;
  MPI_Init(&count, &arguments);
  r.state = (uint64_t)test_size() * 1000 + (count > 1 ? (uint64_t)atoi(arguments[1]) : 0);
  cases = count > 2 ? atoi(arguments[2]) : 200;
  redist_arena_create(MPI_COMM_WORLD, 2 * SLOT, &arena);
  slot = (char *)redist_arena_alloc(arena, 2 * SLOT);
  for (k = 0; k < GRIDS; k++) make_grid(&r, &grids[k]);
  for (k = 0; k < cases; k++) {
    run u;
    memset(&u, 0, sizeof u);
    draw_run(&r, &grids[k % GRIDS], &u);
    check(&u, k);
    free(u.a.local);
    free(u.c.local);
  }
  redist_arena_free(&arena);
  for (k = 0; k < GRIDS; k++)
    if (grids[k].context >= 0) Cblacs_gridexit(grids[k].context);
  status = test_report_all("ptran");
  Cblacs_exit(1);
  MPI_Finalize();
  return status;
}
