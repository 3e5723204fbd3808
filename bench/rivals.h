/* Hand-written redistributions, as in a program without redist: MPI_Alltoallw with derived
   datatypes, packing by loops and MPI_Alltoallv, subarrays for ghost cells, ScaLAPACK's p?gemr2d
   and p?tran, FFTW's transpose. Nothing here uses redist. MIT licence, see LICENSE. */
#ifndef RIVALS_H
#define RIVALS_H

#include <complex.h>
#include <mpi.h>
#include <string.h>
#ifdef HAVE_FFTW_MPI
#include <fftw3-mpi.h>
#endif

#include "bench.h"

/* ---- block-cyclic arithmetic ---- */

typedef struct {
  int64_t n, block;
  int procs, coord;
} dealt; /* coord: that of some rank */

/* A side of a case, seen from one rank. */
typedef struct {
  dealt axes[3];
  int view[3], flip[3];
  /* of the local array, halo included; computed by seen_from */
  int64_t halo, stride[3], elements;
} placed;

static inline int64_t at_most(int64_t value, int64_t limit) {
  return value < limit ? value : limit;
}

static inline int64_t count_owned(const dealt *x) {
  int64_t cycle = x->block * x->procs, rest = x->n % cycle - x->coord * x->block;
  return x->n / cycle * x->block + (rest > 0 ? at_most(rest, x->block) : 0);
}

/* The same side seen from another rank. Ranks are numbered with the last axis of the grid
   fastest. */
static inline placed seen_from(const placed *side, int rank) {
  placed p = *side;
  p.elements = 1;
  for (int a = 2; a >= 0; a--) {
    p.axes[a].coord = rank % p.axes[a].procs;
    rank /= p.axes[a].procs;
    p.stride[a] = p.elements;
    p.elements *= count_owned(&p.axes[a]) + 2 * p.halo;
  }
  return p;
}

static inline int owns(const placed *p, int d, int64_t i) {
  const dealt *x = &p->axes[p->view[d]];
  int64_t at = p->flip[d] ? x->n - 1 - i : i;
  return at / x->block % x->procs == x->coord;
}

/* The elements that one rank owns on one side and another on the other: for each axis, tables of
   view indices and of offsets in the first rank's array. */
typedef struct {
  int64_t count[3], *index[3], *offset[3];
  int64_t step; /* between the offsets of the last axis; 0 if not constant */
} shared;

static inline int64_t shared_elements(const shared *s) {
  return s->count[0] * s->count[1] * s->count[2];
}

static inline int64_t even_step(const int64_t *offsets, int64_t count) {
  int64_t step = count > 1 ? offsets[1] - offsets[0] : 1;
  for (int64_t k = 1; k < count; k++)
    if (offsets[k] - offsets[k - 1] != step) return 0;
  return step;
}

static inline void reverse(int64_t *list, int64_t count) {
  for (int64_t k = 0; k < count / 2; k++) {
    int64_t other = list[count - 1 - k];
    list[count - 1 - k] = list[k];
    list[k] = other;
  }
}

/* Visits my blocks of the stored axis; the tables are in the order of the view. */
static inline void share_axis(shared *s, int d, const placed *mine, const placed *theirs) {
  const dealt *x = &mine->axes[mine->view[d]];
  int64_t owned = count_owned(x), place_in_memory = mine->halo;
  s->count[d] = 0;
  s->index[d] = allocate((size_t)owned * sizeof(int64_t));
  s->offset[d] = allocate((size_t)owned * sizeof(int64_t));
  for (int64_t first = x->coord * x->block; first < x->n; first += x->block * x->procs)
    for (int64_t at = first; at < at_most(first + x->block, x->n); at++, place_in_memory++) {
      int64_t i = mine->flip[d] ? x->n - 1 - at : at;
      if (owns(theirs, d, i)) {
        s->index[d][s->count[d]] = i;
        s->offset[d][s->count[d]++] = place_in_memory * mine->stride[mine->view[d]];
      }
    }
  if (mine->flip[d]) {
    reverse(s->index[d], s->count[d]);
    reverse(s->offset[d], s->count[d]);
  }
}

static inline shared share(const placed *mine, const placed *theirs) {
  shared s;
  for (int d = 0; d < 3; d++) share_axis(&s, d, mine, theirs);
  s.step = even_step(s.offset[2], s.count[2]);
  return s;
}

static inline void shared_free(shared *s) {
  for (int d = 0; d < 3; d++) {
    free(s->index[d]);
    free(s->offset[d]);
  }
}

/* The exchange: both sides seen from this rank, on ranks 0, ..., ranks - 1 of MPI_COMM_WORLD. */
typedef struct {
  placed from, to;
  int ranks;
  MPI_Datatype datatype; /* of `element` bytes */
  size_t element;
} exchange;

/* MPI_Alltoallw with hand-written derived datatypes: for each peer and axis, the runs of indices
   that both own */

typedef struct {
  int *counts, *displacements;
  MPI_Datatype *types;
} typed_messages;

typedef struct {
  int ranks;
  typed_messages send, receive;
} typed_exchange;

/* Finds runs of consecutive positions, `stride` elements apart. Returns how many. */
static inline int find_runs(const int64_t *offsets, int64_t count, int64_t stride, int *lengths,
                            MPI_Aint *starts, size_t element) {
  int runs = 0;
  for (int64_t i = 0; i < count; i++) {
    if (i > 0 && offsets[i] == offsets[i - 1] + stride) {
      lengths[runs - 1]++;
    } else {
      lengths[runs] = 1;
      starts[runs++] = (MPI_Aint)((offsets[i] - offsets[0]) * (int64_t)element);
    }
  }
  return runs;
}

static inline int evenly_spaced(int runs, const int *lengths, const MPI_Aint *starts) {
  for (int r = 1; r < runs; r++)
    if (lengths[r] != lengths[0] || starts[r] != r * starts[1]) return 0;
  return 1;
}

/* A type with the old one at all offsets of one axis, relative to the first. Frees the old one. */
static inline MPI_Datatype along_axis(const int64_t *offsets, int64_t count, int64_t stride,
                                      size_t element, MPI_Datatype old) {
  int *lengths = allocate((size_t)count * sizeof *lengths);
  MPI_Aint *starts = allocate((size_t)count * sizeof *starts);
  int runs = find_runs(offsets, count, stride, lengths, starts, element);
  MPI_Datatype spaced, type;
  MPI_Type_create_resized(old, 0, (MPI_Aint)((int64_t)element * stride), &spaced);
  if (runs == 1)
    MPI_Type_contiguous(lengths[0], spaced, &type);
  else if (evenly_spaced(runs, lengths, starts))
    MPI_Type_create_hvector(runs, lengths[0], starts[1], spaced, &type);
  else
    MPI_Type_create_hindexed(runs, lengths, starts, spaced, &type);
  MPI_Type_free(&spaced);
  MPI_Type_free(&old);
  free(lengths);
  free(starts);
  return type;
}

static inline MPI_Datatype type_of(const shared *s, const placed *p, MPI_Datatype datatype,
                                   size_t element) {
  MPI_Datatype type, shifted;
  MPI_Aint first = 0;
  int one = 1;
  MPI_Type_dup(datatype, &type);
  for (int d = 2; d >= 0; d--) {
    type = along_axis(s->offset[d], s->count[d], p->stride[p->view[d]], element, type);
    first += (MPI_Aint)(s->offset[d][0] * (int64_t)element);
  }
  MPI_Type_create_hindexed(1, &one, &first, type, &shifted);
  MPI_Type_free(&type);
  MPI_Type_commit(&shifted);
  return shifted;
}

static inline typed_messages typed_messages_of(const exchange *c, const placed *mine,
                                               const placed *theirs) {
  typed_messages m;
  m.counts = allocate((size_t)c->ranks * sizeof *m.counts);
  m.displacements = allocate((size_t)c->ranks * sizeof *m.displacements);
  m.types = allocate((size_t)c->ranks * sizeof *m.types);
  for (int peer = 0; peer < c->ranks; peer++) {
    placed other = seen_from(theirs, peer);
    shared s = share(mine, &other);
    m.counts[peer] = shared_elements(&s) > 0;
    m.displacements[peer] = 0;
    m.types[peer] = m.counts[peer] ? type_of(&s, mine, c->datatype, c->element) : MPI_BYTE;
    shared_free(&s);
  }
  return m;
}

static inline void typed_messages_free(typed_messages *m, int ranks) {
  for (int peer = 0; peer < ranks; peer++)
    if (m->counts[peer]) MPI_Type_free(&m->types[peer]);
  free(m->counts);
  free(m->displacements);
  free(m->types);
}

static inline typed_exchange *typed_create(const exchange *c) {
  typed_exchange *x = allocate(sizeof *x);
  x->ranks = c->ranks;
  x->send = typed_messages_of(c, &c->from, &c->to);
  x->receive = typed_messages_of(c, &c->to, &c->from);
  return x;
}

static inline void typed_run(const typed_exchange *x, const void *from, void *to) {
  MPI_Alltoallw(from, x->send.counts, x->send.displacements, x->send.types, to, x->receive.counts,
                x->receive.displacements, x->receive.types, MPI_COMM_WORLD);
}

static inline void typed_free(typed_exchange *x) {
  typed_messages_free(&x->send, x->ranks);
  typed_messages_free(&x->receive, x->ranks);
  free(x);
}

/* Packing by plain loops (by memcpy where a row is contiguous), and MPI_Alltoallv */

#define DEFINE_PACKING(type)                                                             \
  static inline void pack_##type(const shared *s, const void *array, void *buffer) {     \
    type *next = buffer;                                                                 \
    for (int64_t i = 0; i < s->count[0]; i++)                                            \
      for (int64_t j = 0; j < s->count[1]; j++, next += s->count[2]) {                   \
        const type *a = (const type *)array + s->offset[0][i] + s->offset[1][j];         \
        if (s->step == 1)                                                                \
          memcpy(next, a + s->offset[2][0], (size_t)s->count[2] * sizeof *a);            \
        else if (s->step)                                                                \
          for (int64_t k = 0, at = s->offset[2][0]; k < s->count[2]; k++, at += s->step) \
            next[k] = a[at];                                                             \
        else                                                                             \
          for (int64_t k = 0; k < s->count[2]; k++) next[k] = a[s->offset[2][k]];        \
      }                                                                                  \
  }                                                                                      \
  static inline void unpack_##type(const shared *s, const void *buffer, void *array) {   \
    const type *next = buffer;                                                           \
    for (int64_t i = 0; i < s->count[0]; i++)                                            \
      for (int64_t j = 0; j < s->count[1]; j++, next += s->count[2]) {                   \
        type *a = (type *)array + s->offset[0][i] + s->offset[1][j];                     \
        if (s->step == 1)                                                                \
          memcpy(a + s->offset[2][0], next, (size_t)s->count[2] * sizeof *a);            \
        else if (s->step)                                                                \
          for (int64_t k = 0, at = s->offset[2][0]; k < s->count[2]; k++, at += s->step) \
            a[at] = next[k];                                                             \
        else                                                                             \
          for (int64_t k = 0; k < s->count[2]; k++) a[s->offset[2][k]] = next[k];        \
      }                                                                                  \
  }

typedef double complex double_complex;
DEFINE_PACKING(float)
DEFINE_PACKING(double)
DEFINE_PACKING(double_complex)

typedef void packing_loop(const shared *, const void *, void *);
static packing_loop *const pack_loops[] = {pack_float, pack_double, pack_double_complex};
static packing_loop *const unpack_loops[] = {unpack_float, unpack_double, unpack_double_complex};

typedef struct {
  shared *parts;
  int *counts, *displacements; /* elements */
  char *buffer;
} packed_messages;

typedef struct {
  int ranks, loop; /* one of the loops above */
  size_t element;
  MPI_Datatype datatype;
  packed_messages send, receive;
} packed_exchange;

static inline packed_messages packed_messages_of(const exchange *c, const placed *mine,
                                                 const placed *theirs) {
  packed_messages m;
  int64_t total = 0;
  m.parts = allocate((size_t)c->ranks * sizeof *m.parts);
  m.counts = allocate((size_t)c->ranks * sizeof *m.counts);
  m.displacements = allocate((size_t)c->ranks * sizeof *m.displacements);
  for (int peer = 0; peer < c->ranks; peer++) {
    placed other = seen_from(theirs, peer);
    m.parts[peer] = share(mine, &other);
    m.counts[peer] = (int)shared_elements(&m.parts[peer]);
    m.displacements[peer] = (int)total;
    total += m.counts[peer];
  }
  m.buffer = allocate((size_t)total * c->element);
  return m;
}

static inline void packed_messages_free(packed_messages *m, int ranks) {
  for (int peer = 0; peer < ranks; peer++) shared_free(&m->parts[peer]);
  free(m->parts);
  free(m->counts);
  free(m->displacements);
  free(m->buffer);
}

/* Elements of 4, 8 or 16 bytes. */
static inline packed_exchange *packed_create(const exchange *c) {
  packed_exchange *x = allocate(sizeof *x);
  x->ranks = c->ranks;
  x->loop = c->element == 4 ? 0 : c->element == 8 ? 1 : 2;
  x->element = c->element;
  x->datatype = c->datatype;
  x->send = packed_messages_of(c, &c->from, &c->to);
  x->receive = packed_messages_of(c, &c->to, &c->from);
  return x;
}

static inline void packed_run(const packed_exchange *x, const void *from, void *to) {
  const packed_messages *out = &x->send, *in = &x->receive;
  for (int peer = 0; peer < x->ranks; peer++)
    if (out->counts[peer] > 0)
      pack_loops[x->loop](&out->parts[peer], from,
                          out->buffer + (size_t)out->displacements[peer] * x->element);
  MPI_Alltoallv(out->buffer, out->counts, out->displacements, x->datatype, in->buffer, in->counts,
                in->displacements, x->datatype, MPI_COMM_WORLD);
  for (int peer = 0; peer < x->ranks; peer++)
    if (in->counts[peer] > 0)
      unpack_loops[x->loop](&in->parts[peer],
                            in->buffer + (size_t)in->displacements[peer] * x->element, to);
}

static inline void packed_free(packed_exchange *x) {
  packed_messages_free(&x->send, x->ranks);
  packed_messages_free(&x->receive, x->ranks);
  free(x);
}

/* Ghost cells of periodic bricks of doubles on a grid of ranks: messages of subarrays along one
   axis after the other */

enum { MOST_FIELDS = 5 };

typedef struct {
  int side, width, fields; /* side: of the brick, without ghost cells */
  double *field[MOST_FIELDS];
  MPI_Comm cart;
  MPI_Datatype send[3][2], receive[3][2];
} subarrays;

/* Axis by axis, each including the ghost cells that earlier axes have filled, and so corners. */
static inline void subarrays_create(subarrays *h, const int *grid) {
  const int periodic[3] = {1, 1, 1}, w = h->width, n = h->side, padded = n + 2 * w;
  const int size[3] = {padded, padded, padded};
  MPI_Cart_create(MPI_COMM_WORLD, 3, grid, periodic, 0, &h->cart);
  for (int d = 0; d < 3; d++)
    for (int up = 0; up < 2; up++) {
      int part[3], at[3];
      for (int e = 0; e < 3; e++) {
        part[e] = e == d ? w : e < d ? padded : n;
        at[e] = e < d ? 0 : w;
      }
      at[d] = up ? n : w;
      MPI_Type_create_subarray(3, size, part, at, MPI_ORDER_C, MPI_DOUBLE, &h->send[d][up]);
      at[d] = up ? 0 : n + w; /* what is sent up is received from below */
      MPI_Type_create_subarray(3, size, part, at, MPI_ORDER_C, MPI_DOUBLE, &h->receive[d][up]);
      MPI_Type_commit(&h->send[d][up]);
      MPI_Type_commit(&h->receive[d][up]);
    }
}

static inline void subarrays_run(const subarrays *h) {
  MPI_Request requests[4 * MOST_FIELDS];
  for (int d = 0; d < 3; d++) {
    int below, above, count = 0;
    MPI_Cart_shift(h->cart, d, 1, &below, &above);
    for (int a = 0; a < h->fields; a++) {
      MPI_Irecv(h->field[a], 1, h->receive[d][0], above, 2 * a, h->cart, &requests[count++]);
      MPI_Irecv(h->field[a], 1, h->receive[d][1], below, 2 * a + 1, h->cart, &requests[count++]);
      MPI_Isend(h->field[a], 1, h->send[d][0], below, 2 * a, h->cart, &requests[count++]);
      MPI_Isend(h->field[a], 1, h->send[d][1], above, 2 * a + 1, h->cart, &requests[count++]);
    }
    for (int k = 0; k < count; k++) wait_yielding(&requests[k]);
  }
}

static inline void subarrays_free(subarrays *h) {
  for (int d = 0; d < 3; d++)
    for (int up = 0; up < 2; up++) {
      MPI_Type_free(&h->send[d][up]);
      MPI_Type_free(&h->receive[d][up]);
    }
  MPI_Comm_free(&h->cart);
}

/* ScaLAPACK's matrices are column-major: it gets ours transposed, on the transposed grid */

/* Whether a side is a matrix as it is stored, or its transpose. */
static inline int is_matrix(const placed *p, int transposed) {
  const int flipped = p->flip[0] || p->flip[1] || p->flip[2];
  return p->halo == 0 && p->axes[0].n == 1 && !flipped && p->view[1] == 1 + transposed &&
         p->view[2] == 2 - transposed;
}

#ifdef HAVE_SCALAPACK
#include "../tests/scalapack_calls.h"

typedef struct {
  int from[9], to[9], all;
  size_t element;
} gemr2d;

static inline int blacs_grid(const char *order, int rows, int columns) {
  int context;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, order, rows, columns);
  return context;
}

static inline void describe(const placed *p, int descriptor[9]) {
  const dealt *fast = &p->axes[2], *slow = &p->axes[1];
  int64_t leading = count_owned(fast);
  descriptor[0] = 1;
  descriptor[1] = blacs_grid("Col", fast->procs, slow->procs);
  descriptor[2] = (int)fast->n;
  descriptor[3] = (int)slow->n;
  descriptor[4] = (int)fast->block;
  descriptor[5] = (int)slow->block;
  descriptor[6] = descriptor[7] = 0;
  descriptor[8] = leading > 0 ? (int)leading : 1;
}

/* For float and double matrices as they are stored; NULL for all others. */
static inline gemr2d *gemr2d_create(const exchange *c) {
  gemr2d *g;
  if (c->element > 8 || !is_matrix(&c->from, 0) || !is_matrix(&c->to, 0)) return NULL;
  g = allocate(sizeof *g);
  describe(&c->from, g->from);
  describe(&c->to, g->to);
  g->all = blacs_grid("Row", 1, c->ranks);
  g->element = c->element;
  return g;
}

static inline void gemr2d_run(const gemr2d *g, const void *from, void *to) {
  if (g->element == sizeof(float))
    Cpsgemr2d(g->from[2], g->from[3], from, 1, 1, g->from, to, 1, 1, g->to, g->all);
  else
    Cpdgemr2d(g->from[2], g->from[3], from, 1, 1, g->from, to, 1, 1, g->to, g->all);
}

static inline void gemr2d_free(gemr2d *g) {
  Cblacs_gridexit(g->from[1]);
  Cblacs_gridexit(g->to[1]);
  Cblacs_gridexit(g->all);
  free(g);
}

/* p?tran for double matrices on one grid; NULL for all others. */
static inline gemr2d *tran_create(const exchange *c) {
  gemr2d *g;
  if (c->datatype != MPI_DOUBLE || !is_matrix(&c->from, 0) || !is_matrix(&c->to, 1) ||
      c->from.axes[1].procs != c->to.axes[1].procs || c->from.axes[2].procs != c->to.axes[2].procs)
    return NULL;
  g = allocate(sizeof *g);
  describe(&c->from, g->from);
  describe(&c->to, g->to);
  Cblacs_gridexit(g->to[1]);
  g->to[1] = g->from[1];
  return g;
}

static inline void tran_run(const gemr2d *g, const double *from, double *to) {
  const double alpha = 1, beta = 0;
  const int one = 1;
  pdtran_(&g->to[2], &g->to[3], &alpha, from, &one, &one, g->from, &beta, to, &one, &one, g->to);
}

static inline void tran_free(gemr2d *g) {
  Cblacs_gridexit(g->from[1]);
  free(g);
}
#endif

/* FFTW's transpose of an n x n matrix with so many doubles per element, in blocks of rows. Planning
   overwrites the arrays. */

#ifdef HAVE_FFTW_MPI
static inline fftw_plan fftw_transpose(int64_t n, int ranks, int64_t doubles, double *from,
                                       double *to) {
  const ptrdiff_t block = (n + ranks - 1) / ranks;
  return fftw_mpi_plan_many_transpose(n, n, doubles, block, block, from, to, MPI_COMM_WORLD,
                                      FFTW_MEASURE);
}

static inline int in_blocks_of_rows(const placed *p) {
  const dealt *x = &p->axes[1];
  return x->block == (x->n + x->procs - 1) / x->procs && p->axes[2].procs == 1 &&
         p->axes[1].n == p->axes[2].n;
}

/* NULL for any other exchange. */
static inline fftw_plan fftw_transpose_create(const exchange *c, double *from, double *to) {
  if (c->datatype != MPI_DOUBLE || !is_matrix(&c->from, 0) || !is_matrix(&c->to, 1) ||
      !in_blocks_of_rows(&c->from) || !in_blocks_of_rows(&c->to))
    return NULL;
  return fftw_transpose(c->from.axes[1].n, c->ranks, 1, from, to);
}
#endif

#endif
