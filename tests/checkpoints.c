/* redist tests: checkpoints (examples/checkpoint.h). Files of random fields are composed byte by
   byte, and read and written by these ranks. A file that is cut, extended or changed, or a read
   that fails or comes up short on some rank, either loads all the right data or is refused on all
   ranks; then every byte of every array is as before. MIT licence, see LICENSE.
   usage: checkpoints [files [seed]] */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "failing_malloc.h"

#define TEST_LENGTH 256
#define TEST_ELEMENTS 2048
#define TEST_LARGEST 4096
#include "oracle.h"

#include "redist_plan.h"
#include "test_mpi.h"

static void *zeroed(size_t n, size_t bytes) {
  void *memory = failing_malloc(n * bytes);
  return memory == NULL ? NULL : memset(memory, 0, n * bytes);
}
#define malloc(bytes) failing_malloc(bytes)
#define calloc(n, bytes) zeroed(n, bytes)
#define free(memory) counted_free(memory)
#include "examples/checkpoint.h"
#undef malloc
#undef calloc
#undef free

/* ---- what goes wrong, once and on one rank: `call` counts its calls of this kind ---- */

enum { NOTHING, LENGTH, HEAD, CUT, READ, KINDS };
enum { FAILS, ONE_LESS, OTHER, HOWS }; /* OTHER: a length is one more; nothing is read */

static struct {
  int kind, how, call, rank, happened;
  const char *name; /* of the file */
  int64_t bytes;    /* of the file after a CUT */
} trouble;

static int is_now(int kind) {
  const int now = trouble.kind == kind && trouble.call-- == 0 && test_rank() == trouble.rank;
  trouble.happened |= now;
  return now;
}

int MPI_File_get_size(MPI_File file, MPI_Offset *bytes) {
  const int code = PMPI_File_get_size(file, bytes);
  if (!is_now(LENGTH)) return code;
  *bytes += trouble.how == OTHER ? 1 : trouble.how == ONE_LESS ? -1 : 0;
  return trouble.how == FAILS ? MPI_ERR_IO : code;
}

int MPI_File_read_at(MPI_File file, MPI_Offset at, void *to, int n, MPI_Datatype type,
                     MPI_Status *status) {
  const int code = PMPI_File_read_at(file, at, to, n, type, status);
  if (!is_now(HEAD)) return code;
  if (trouble.how != FAILS) MPI_Status_set_elements(status, type, trouble.how == OTHER ? 0 : n - 1);
  return trouble.how == FAILS ? MPI_ERR_IO : code;
}

/* A file that becomes shorter does so for all ranks, before any of them reads. */
int MPI_File_read_all(MPI_File file, void *to, int n, MPI_Datatype type, MPI_Status *status) {
  MPI_Count bytes = 0;
  int code;
  if (is_now(CUT) && truncate(trouble.name, (off_t)trouble.bytes) != 0) return MPI_ERR_IO;
  if (trouble.kind == CUT) test_sum(0);
  code = PMPI_File_read_all(file, to, n, type, status);
  MPI_Type_size_x(type, &bytes);
  if (n * bytes == 0 || !is_now(READ)) return code;
  if (trouble.how != FAILS)
    MPI_Status_set_elements_x(status, MPI_BYTE, trouble.how == OTHER ? 0 : n * bytes - 1);
  return trouble.how == FAILS ? MPI_ERR_IO : code;
}

/* ---- fields, and arrays on this rank ---- */

enum { MOST_FIELDS = 3, TYPES = 5, MOST_BYTES = 1 << 17 };

static const struct {
  const char *name;
  size_t bytes;
} types[TYPES] = {{"double", 8}, {"float", 4}, {"complex", 16}, {"int", 4}, {"byte", 1}};

typedef struct {
  test_array array;
  test_table table;
  int place, type; /* place: what this rank holds, or -1 */
  char name[8];
  size_t bytes; /* of this rank's array */
  unsigned char *memory;
} test_field;

typedef struct {
  int n;
  test_field field[MOST_FIELDS];
  checkpoint_field given[MOST_FIELDS];
} test_fields;

/* The bytes of a file: of its header as far as is known, and of all. */
typedef struct {
  size_t header, n;
  char bytes[MOST_BYTES];
} test_image;

static int64_t field_bytes(const test_field *f) {
  return f->table.elements * (int64_t)types[f->type].bytes;
}

static unsigned char contents(int k, int64_t element, size_t byte) {
  return test_byte((uint64_t)k + 5, element, byte);
}

/* Adds a field of any layout but lists; its elements all have an owner. */
static void add_field(test_random *r, test_fields *s, int type, int ndim, const int64_t *shape) {
  test_field *f = &s->field[s->n];
  checkpoint_field *given = &s->given[s->n];
  do test_draw(r, test_size(), test_any_kind(r, 1) | TEST_OWN_EXTENTS, ndim, shape, &f->array);
  while (f->array.partial || test_has_lists(&f->array));
  test_tabulate(&f->array, &f->table);
  f->place = test_place_of_rank(&f->table, test_rank());
  f->type = type;
  snprintf(f->name, sizeof f->name, "f%d", s->n++);
  f->bytes = f->place < 0 ? 0 : (size_t)f->table.alloc[f->place] * types[type].bytes;
  f->memory = malloc(f->bytes + 1);
  given->name = f->name;
  given->type = types[type].name;
  given->layout = test_layout(&f->table, test_rank());
  given->array = f->bytes == 0 ? NULL : f->memory;
}

static void free_fields(test_fields *s) {
  while (s->n > 0) free(s->field[--s->n].memory);
}

/* Whether the arrays hold what the file's bytes from `data` on say, or are as hide_fields left
   them if that is NULL. */
static int fields_hold(const test_fields *s, const char *data) {
  size_t b;
  int k, good = 1;
  for (k = 0; k < s->n; k++) {
    const test_field *f = &s->field[k];
    const size_t bytes = types[f->type].bytes;
    for (b = 0; b < f->bytes; b++) {
      const int64_t e =
          data == NULL ? -1 : test_element(&f->table, f->place, (int64_t)(b / bytes), 1);
      good &= f->memory[b] ==
              (e < 0 ? test_byte(77, k, b) : (unsigned char)data[(size_t)e * bytes + b % bytes]);
    }
    if (data != NULL) data += field_bytes(f);
  }
  return good;
}

static void hide_fields(test_fields *s) {
  size_t b;
  int k;
  for (k = 0; k < s->n; k++)
    for (b = 0; b < s->field[k].bytes; b++) s->field[k].memory[b] = test_byte(77, k, b);
}

/* Sets owned elements. */
static void set_fields(test_fields *s) {
  int64_t cell, e;
  size_t b;
  int k;
  for (k = 0; k < s->n; k++)
    for (cell = 0; cell < (int64_t)(s->field[k].bytes / types[s->field[k].type].bytes); cell++) {
      const test_field *f = &s->field[k];
      e = test_element(&f->table, f->place, cell, 0);
      for (b = 0; b < types[f->type].bytes && e >= 0; b++)
        f->memory[(size_t)cell * types[f->type].bytes + b] = contents(k, e, b);
    }
}

/* ---- files, as these tests understand them ---- */

enum { FIRST_LINE = 59 };

static const char *byte_order(void) {
  static const uint16_t one = 1;
  return *(const unsigned char *)&one == 1 ? "little" : "big   ";
}

/* Makes the first line say so. */
static void set_numbers(test_image *x, long long header, long long bytes) {
  char line[100];
  snprintf(line, sizeof line, "redist checkpoint 1 %s %011lld %019lld\n", byte_order(), header,
           bytes);
  memcpy(x->bytes, line, FIRST_LINE < x->n ? FIRST_LINE : x->n);
}

/* A field's line up to its layout. Returns its length. */
static size_t begin_of_line(const test_field *f, char *text, size_t size) {
  size_t n = (size_t)snprintf(text, size, "field %s %s ", f->name, types[f->type].name);
  int d;
  for (d = 0; d < f->array.ndim; d++)
    n += (size_t)snprintf(text + n, size - n, "%s%d", d == 0 ? "" : "x", (int)f->table.shape[d]);
  return n + (size_t)snprintf(text + n, size - n, ":");
}

static void compose(const test_fields *s, const char *note, test_image *x) {
  int64_t e;
  size_t b;
  int k;
  x->n = FIRST_LINE;
  x->n += (size_t)snprintf(x->bytes + x->n, 300, "note %s\n", note);
  for (k = 0; k < s->n; k++) {
    x->n += begin_of_line(&s->field[k], x->bytes + x->n, 100);
    x->n += (size_t)snprintf(x->bytes + x->n, 100, " as it was stored then\n");
  }
  x->header = x->n;
  for (k = 0; k < s->n; k++)
    for (e = 0; e < s->field[k].table.elements; e++)
      for (b = 0; b < types[s->field[k].type].bytes; b++)
        x->bytes[x->n++] = (char)contents(k, e, b);
  set_numbers(x, (long long)x->header, (long long)x->n);
}

/* Whether a file holds these fields: their bytes at its end, and before them the lines that say
   so, in which only the note and the layouts are free. */
static int is_valid(const test_fields *s, const test_image *x, size_t *header) {
  static test_image expected;
  char begin[100];
  const char *at = x->bytes + FIRST_LINE, *end;
  int64_t sum = 0;
  int k;
  for (k = 0; k < s->n; k++) sum += field_bytes(&s->field[k]);
  if ((int64_t)x->n < sum + FIRST_LINE + 6) return 0;
  *header = x->n - (size_t)sum;
  expected.n = FIRST_LINE;
  set_numbers(&expected, (long long)*header, (long long)x->n);
  if (memcmp(expected.bytes, x->bytes, FIRST_LINE) != 0) return 0;
  for (k = -1; k < s->n; k++) {
    const size_t left = *header - (size_t)(at - x->bytes),
                 n = k < 0 ? (size_t)snprintf(begin, sizeof begin, "note ")
                           : begin_of_line(&s->field[k], begin, sizeof begin);
    end = memchr(at, '\n', left);
    if (left < n || memcmp(at, begin, n) != 0 || end == NULL || end < at + n ||
        memchr(at, 0, (size_t)(end - at)) != NULL)
      return 0;
    at = end + 1;
  }
  return at == x->bytes + *header;
}

/* Rank 0 changes the file to these bytes, which is faster than to write another. */
static void put(const char *name, const test_image *x) {
  const int file = test_rank() == 0 ? open(name, O_WRONLY) : -1;
  if (test_rank() == 0 && (file < 0 || ftruncate(file, (off_t)x->n) != 0 ||
                           pwrite(file, x->bytes, x->n, 0) != (ssize_t)x->n || close(file) != 0))
    MPI_Abort(MPI_COMM_WORLD, 1);
  test_sum(0);
}

static checkpoint open_checkpoint(const char *name, int writers) {
  checkpoint c;
  memset(&c, 0, sizeof c);
  c.comm = MPI_COMM_WORLD;
  c.name = name;
  c.writers = writers;
  return c;
}

/* Loads the file; x: what it holds, if it is valid. Returns whether all is as promised. */
static int loads_or_refuses(const char *name, int writers, test_fields *s, const test_image *x,
                            int valid, size_t header) {
  checkpoint c = open_checkpoint(name, writers);
  const int loaded = checkpoint_load(&c, s->n, s->given);
  const char *note = x->bytes + FIRST_LINE + 5;
  const size_t length = valid ? strcspn(note, "\n") : 0;
  int good = loaded == valid && fields_hold(s, loaded && valid ? x->bytes + header : NULL);
  if (valid)
    good = good && c.wrong[0] == '\0' && strncmp(c.note, note, length < 255 ? length : 255) == 0 &&
           strlen(c.note) == (length < 255 ? length : 255);
  else
    good = good && strncmp(c.wrong, name, strlen(name)) == 0;
  if (loaded || !good) hide_fields(s);
  return good;
}

/* ---- any fields, on any ranks ---- */

static void draw_fields(test_random *r, test_fields *s) {
  int64_t shape[TEST_DIMS];
  int k, ndim, n = (int)test_between(r, 0, MOST_FIELDS);
  for (k = 0; k < n; k++) {
    ndim = test_draw_shape(r, TEST_SMALL, shape);
    add_field(r, s, (int)test_between(r, 0, TYPES - 1), ndim, shape);
  }
}

/* Whether rank 0 finds a valid file with the elements of x. */
static int file_is(const char *name, const test_fields *s, const test_image *x) {
  static test_image found;
  FILE *file = test_rank() == 0 ? fopen(name, "rb") : NULL;
  size_t header;
  if (test_rank() != 0) return 1;
  found.n = file == NULL ? 0 : fread(found.bytes, 1, MOST_BYTES, file);
  if (file != NULL) fclose(file);
  return is_valid(s, &found, &header) && found.n - header == x->n - x->header &&
         memcmp(found.bytes + header, x->bytes + x->header, found.n - header) == 0;
}

static void check_fields(const char *name, const char *other, int cases) {
  static test_fields s;
  static test_image x;
  test_random r = {31};
  checkpoint c;
  int k, writers, good;
  for (k = 0; k < cases; k++)
    for (draw_fields(&r, &s), writers = 0; writers < 4; writers++) {
      compose(&s, k % 2 ? "some, note" : "", &x);
      put(name, &x);
      hide_fields(&s);
      good = loads_or_refuses(name, writers, &s, &x, 1, x.header);
      set_fields(&s);
      c = open_checkpoint(other, writers);
      good = checkpoint_save(&c, s.n, s.given) && good;
      good = good && file_is(other, &s, &x);
      test_case_all(good, "case %d, %d fields by %d writers: %s", k, s.n, writers, c.wrong);
      if (writers == 3) free_fields(&s);
    }
}

/* ---- troubles ---- */

/* Whether a load with this trouble is refused, or right if it did not happen. */
static int is_refused(const char *name, int writers, test_fields *s, const test_image *x) {
  int happened, good;
  checkpoint c = open_checkpoint(name, writers);
  put(name, x);
  hide_fields(s);
  trouble.name = name;
  trouble.happened = 0;
  good = checkpoint_load(&c, s->n, s->given);
  trouble.kind = NOTHING;
  happened = test_sum(trouble.happened) > 0;
  return good == !happened && fields_hold(s, good ? x->bytes + x->header : NULL) &&
         (c.wrong[0] != '\0') == happened;
}

static void check_troubles(const char *name) {
  static test_fields s;
  static test_image x;
  static const int64_t shape[2] = {12, 10};
  test_random r = {4};
  int writers, kind, how, call, rank;
  for (call = 0; call < MOST_FIELDS; call++) add_field(&r, &s, call, 2, shape);
  compose(&s, "trouble", &x);
  for (writers = 0; writers < 3; writers++)
    for (kind = LENGTH; kind < KINDS; kind++)
      for (how = FAILS; how < HOWS; how++)
        for (call = 0; call < MOST_FIELDS; call++)
          for (rank = 0; rank < test_size(); rank++) {
            trouble.kind = kind;
            trouble.how = how;
            trouble.call = call;
            trouble.rank = rank;
            trouble.bytes = (int64_t)(how == FAILS ? x.header : x.n - (size_t)how);
            test_case_all(is_refused(name, writers, &s, &x),
                          "trouble %d %d in call %d on rank %d, %d writers", kind, how, call, rank,
                          writers);
          }
  free_fields(&s);
}

/* Every allocation fails once, on each rank. */
static void check_memory(const char *name, int writers) {
  static test_fields s;
  static test_image x;
  static const int64_t shape[2] = {12, 10};
  const int64_t blocks = live_blocks;
  test_random r = {14};
  int k = 0, rank = 0, left = 0, loaded, good = 1;
  checkpoint c;
  add_field(&r, &s, 0, 2, shape);
  add_field(&r, &s, 4, 2, shape);
  compose(&s, "memory", &x);
  put(name, &x);
  hide_fields(&s);
  for (rank = 0; rank < test_size() && good; rank++)
    for (k = left = 0; !left && good; k++) {
      c = open_checkpoint(name, writers);
      until_failure = test_rank() == rank ? k : -1;
      loaded = checkpoint_load(&c, s.n, s.given);
      left = test_sum(until_failure >= 0);
      until_failure = -1;
      good = fields_hold(&s, loaded ? x.bytes + x.header : NULL) &&
             loaded == (c.wrong[0] == '\0') && (loaded || !left) && live_blocks == blocks;
      good = test_sum(!good) == 0;
      hide_fields(&s);
    }
  test_case_all(good && k > 10, "allocation %d fails on rank %d, %d writers: %s", k, rank, writers,
                c.wrong);
  free_fields(&s);
}

/* ---- changed files ---- */

enum { FORMS = 5 };

static test_fields form[FORMS];
static test_image valid_image[FORMS];

/* The first three have equally many bytes. */
static void make_forms(void) {
  static const struct {
    int type, ndim;
    int64_t shape[3];
  } list[FORMS][MOST_FIELDS] = {
      {{0, 2, {6, 8, 0}}, {3, 2, {5, 7, 0}}},
      {{0, 2, {8, 6, 0}}, {3, 2, {5, 7, 0}}},
      {{2, 2, {6, 4, 0}}, {1, 2, {7, 5, 0}}},
      {{4, 3, {3, 5, 7}}},
      {{0, 2, {6, 8, 0}}, {3, 2, {5, 7, 0}}, {4, 1, {16, 0, 0}}},
  };
  test_random r = {8};
  int f, k;
  for (f = 0; f < FORMS; f++) {
    for (k = 0; k < MOST_FIELDS && list[f][k].ndim > 0; k++)
      add_field(&r, &form[f], list[f][k].type, list[f][k].ndim, list[f][k].shape);
    hide_fields(&form[f]);
    compose(&form[f], "of a run", &valid_image[f]);
  }
}

/* Replaces bytes of an image by others. The header ends where it did, but for what comes before. */
static void splice(test_image *x, size_t at, size_t removed, const char *with, size_t n) {
  if (at > x->n) at = x->n;
  if (removed > x->n - at) removed = x->n - at;
  if (x->n - removed + n > MOST_BYTES) return;
  memmove(x->bytes + at + n, x->bytes + at + removed, x->n - at - removed);
  memcpy(x->bytes + at, with, n);
  x->n = x->n - removed + n;
  if (at < x->header) x->header = x->header > at + removed ? x->header - removed + n : at + n;
}

static size_t below(test_random *r, size_t n) {
  return n == 0 ? 0 : (size_t)test_between(r, 0, (int64_t)n - 1);
}

/* Few bytes, a few words of 8, or any number, up to n. */
static size_t some(test_random *r, size_t n) {
  const size_t few = below(r, 20) * (test_one_in(r, 2) ? 8 : 1);
  return few <= n && !test_one_in(r, 3) ? few : below(r, n + 1);
}

static void draw_bytes(test_random *r, char *bytes, size_t n) {
  static const char likely[] = "\n\0: x0123456789field note";
  const int kind = (int)test_between(r, 0, 3);
  size_t k;
  for (k = 0; k < n; k++)
    bytes[k] = kind == 0   ? '\0'
               : kind == 1 ? '\n'
               : kind == 2 ? likely[below(r, sizeof likely)]
                           : (char)test_between(r, 0, 255);
}

static void duplicate_line(test_random *r, test_image *x) {
  char line[300];
  size_t at = below(r, x->header), n = 0;
  while (at > 0 && x->bytes[at - 1] != '\n') at--;
  while (n < sizeof line && at + n < x->n && x->bytes[at + n] != '\n') n++;
  if (n == sizeof line || at + n == x->n) return;
  memcpy(line, x->bytes + at, n + 1);
  splice(x, at, test_one_in(r, 2) ? n + 1 : 0, line, test_one_in(r, 2) ? n + 1 : 0);
}

/* Ends a line early, often where a layout begins. */
static void end_line(test_random *r, test_image *x) {
  const char what = test_one_in(r, 2) ? ':' : (char)test_between(r, 0, 127);
  size_t at = below(r, x->header), end;
  while (at < x->n && x->bytes[at] != what) at++;
  for (end = at; end < x->n && x->bytes[end] != '\n';) end++;
  splice(x, at, end - at, "", 0);
}

static void change(test_random *r, test_image *x, const test_image *other) {
  char bytes[100];
  const size_t n = test_one_in(r, 2) ? 1 : below(r, sizeof bytes), at = below(r, x->header);
  size_t k = some(r, x->n);
  draw_bytes(r, bytes, sizeof bytes);
  switch (test_between(r, 0, 10)) {
  case 0: x->n -= k; break;
  case 1: splice(x, x->n, 0, bytes, n); break;
  case 2: splice(x, at, 0, bytes, n); break;
  case 3: splice(x, at, n, bytes, 0); break;
  case 4: splice(x, at, n, bytes, n); break;
  case 5: splice(x, 0, x->header, other->bytes, other->header); break;
  case 6: splice(x, 0, test_one_in(r, 2) ? x->header : x->n, bytes, n); break;
  case 7: duplicate_line(r, x); break;
  case 8: splice(x, x->header, k, bytes, 0); break;
  case 9: end_line(r, x); break;
  default:
    for (k = 1 + below(r, 3); k > 0 && at + k < x->n; k--)
      x->bytes[at + below(r, k)] ^= (char)(1 << test_between(r, 0, 7));
  }
  if (x->header > x->n) x->header = x->n;
}

/* Makes the first line say the truth, or something near it, or anything. */
static void renumber(test_random *r, test_image *x) {
  const long long by = test_one_in(r, 2) ? test_between(r, -100, 100) : 0,
                  far = (long long)test_next(r);
  const long long header = (long long)x->header, n = (long long)x->n;
  switch (test_between(r, 0, 7)) {
  case 0: set_numbers(x, header, n + by); break;
  case 1: set_numbers(x, header + by, n); break;
  case 2: set_numbers(x, header + by, n + by); break;
  case 3: set_numbers(x, test_one_in(r, 2) ? far : header, test_one_in(r, 2) ? far : n); break;
  default: set_numbers(x, header, n);
  }
}

static void check_changed_files(const char *name, long files, uint64_t seed) {
  static test_image x;
  test_random r = {seed};
  long k, loaded = 0;
  int changes;
  size_t header = 0;
  make_forms();
  for (k = 0; k < files; k++) {
    const int is = (int)below(&r, FORMS), other = (int)below(&r, FORMS);
    int valid;
    x = valid_image[test_one_in(&r, 4) ? other : is];
    for (changes = (int)test_between(&r, 0, 3); changes > 0; changes--)
      change(&r, &x, &valid_image[other]);
    if (!test_one_in(&r, 3)) renumber(&r, &x);
    put(name, &x);
    valid = is_valid(&form[is], &x, &header);
    loaded += valid;
    if (test_sum(!loads_or_refuses(name, (int)below(&r, 3), &form[is], &x, valid, header)) > 0)
      test_case_all(0, "changed file %ld of seed %ld, %s", k, (long)seed,
                    valid ? "valid" : "not valid");
  }
  test_case_all(loaded > files / 50 && files - loaded > files / 2,
                "of %ld changed files, %ld are valid", files, loaded);
  for (k = 0; k < FORMS; k++) free_fields(&form[k]);
}

/* ---- fields of 2^64 bytes: their sum must not become 0, as many as the file has ---- */

static void check_huge(const char *name, int fields) {
  static test_image x;
  const int64_t n = (INT64_C(1) << 32) / fields, m = INT64_C(1) << 28;
  checkpoint_field field[4];
  checkpoint c = open_checkpoint(name, 0);
  int k;
  x.n = FIRST_LINE;
  x.n += (size_t)snprintf(x.bytes + x.n, 100, "note huge\n");
  for (k = 0; k < fields; k++) {
    field[k].name = "u";
    field[k].type = "complex";
    field[k].layout = redist_layout_2d(redist_whole(n), redist_whole(m));
    field[k].array = NULL;
    x.n += (size_t)snprintf(x.bytes + x.n, 100, "field u complex %lldx%lld: *, *\n", (long long)n,
                            (long long)m);
  }
  set_numbers(&x, (long long)x.n, (long long)x.n);
  put(name, &x);
  test_case_all(!checkpoint_load(&c, fields, field) && strstr(c.wrong, "has 0 bytes for fields"),
                "%d fields of 2^64 bytes in all: %s", fields, c.wrong);
}

/* A header is at most 1 MB. */
static void check_long_header(const char *name, int length, int loads) {
  checkpoint c = open_checkpoint(name, 0);
  FILE *file = test_rank() == 0 ? fopen(name, "wb") : NULL;
  if (file != NULL) {
    fprintf(file, "redist checkpoint 1 %s %011d %019d\nnote ", byte_order(), length, length);
    fprintf(file, "%0*d\n", length - FIRST_LINE - 6, 0);
    fclose(file);
  }
  test_sum(0);
  test_case_all(checkpoint_load(&c, 0, NULL) == loads && strlen(c.note) == (loads ? 255 : 0),
                "a header of %d bytes: %s", length, c.wrong);
}

int main(int argc, char **argv) {
  const char *where = getenv("TMPDIR");
  char name[200] = "", other[220];
  int status;
  MPI_Init(&argc, &argv);
  if (test_rank() == 0) {
    snprintf(name, sizeof name, "%s/redist_checkpoints.XXXXXX", where == NULL ? "/tmp" : where);
    close(mkstemp(name));
  }
  MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(other, sizeof other, "%s.saved", name);
  check_fields(name, other, 30);
  check_troubles(name);
  check_memory(name, 0);
  check_memory(name, 2);
  check_huge(name, 1);
  check_huge(name, 4);
  check_long_header(name, 1 << 20, 1);
  check_long_header(name, (1 << 20) + 1, 0);
  check_changed_files(name, argc > 1 ? atol(argv[1]) : 5000,
                      argc > 2 ? (uint64_t)atol(argv[2]) : 1);
  if (test_rank() == 0) {
    unlink(name);
    unlink(other);
  }
  status = test_report_all("checkpoints");
  MPI_Finalize();
  return status;
}
