/* Checkpoints: a solver's fields in one file, for any ranks and any layouts. MIT licence, see
   LICENSE.

   The file holds a text header and then the fields one after another, each row by row of its view.
   Only the header depends on the ranks:

       redist checkpoint 1 little 00000000184 0000000000000024760
       note 20 steps, t = 0.1
       field u double 64x48: block@2, block@2, halo 1
       field flag int 64x48: cyclic(4)@4, *

   The lines hold the byte order, the bytes of the header and of the file; a note of the solver's
   own; and for each field its name, type, extents and the layout at the time. Fields are saved and
   loaded in one of two ways. With datatypes, every rank writes and reads what it owns
   (redist_layout_types). With a few writers, a plan moves each field between its layout and slabs
   of rows on the writers, which are contiguous in the file. A checkpoint is written under another
   name, and renamed when it is complete. It is read into scratch memory; when all of it is there,
   one plan moves all fields to their arrays, replicas and ghost cells (redist_with_ghosts)
   included. A file that does not hold exactly the fields is refused, and no field is touched. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redist_plan.h"

enum { CHECKPOINT_WRITERS = 64, CHECKPOINT_LINE = 59, CHECKPOINT_HEADER = 1 << 20 };

typedef struct {
  const char *name, *type; /* one word each; types: double, float, complex, int, byte */
  redist_layout layout;
  void *array; /* NULL where a rank owns nothing */
} checkpoint_field;

/* The caller sets name, writers and, for saving, note; `wrong` and the seconds are results. */
typedef struct {
  MPI_Comm comm;
  const char *name;
  int writers; /* 0: with datatypes */
  char note[256];
  char wrong[512];       /* the reason of a failure */
  double filing, moving; /* seconds so far in the file and in plans */
  int ranks[CHECKPOINT_WRITERS];
  int64_t at; /* where the next field begins in the file */
} checkpoint;

static inline int checkpoint_rank(const checkpoint *c) {
  int rank;
  MPI_Comm_rank(c->comm, &rank);
  return rank;
}

/* Whether `ok` is true on all ranks. */
static inline int checkpoint_agree(const checkpoint *c, int ok) {
  int all;
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, c->comm);
  return all;
}

/* Records the first error, after the name of the file. Returns 0. */
static inline int checkpoint_fail(checkpoint *c, const char *format, ...) {
  va_list arguments;
  int n;
  if (c->wrong[0] != '\0') return 0;
  n = snprintf(c->wrong, sizeof c->wrong / 2, "%s: ", c->name);
  va_start(arguments, format);
  vsnprintf(c->wrong + n, sizeof c->wrong - (size_t)n, format, arguments);
  va_end(arguments);
  return 0;
}

static inline MPI_Datatype checkpoint_element(const char *type) {
  return strcmp(type, "double") == 0    ? MPI_DOUBLE
         : strcmp(type, "float") == 0   ? MPI_FLOAT
         : strcmp(type, "complex") == 0 ? MPI_C_DOUBLE_COMPLEX
         : strcmp(type, "int") == 0     ? MPI_INT32_T
         : strcmp(type, "byte") == 0    ? MPI_BYTE
                                        : MPI_DATATYPE_NULL;
}

static inline const char *checkpoint_order(void) {
  const int one = 1;
  return *(const char *)&one == 1 ? "little" : "big";
}

/* ---- descriptions of fields: "field NAME TYPE EXTENTS: LAYOUT" ---- */

/* Appends a field's line to a text that may be NULL. Returns its length; 0: a bad layout. */
static inline size_t checkpoint_describe(const checkpoint_field *f, char *text, size_t size) {
  const int64_t length = redist_layout_format(&f->layout, NULL, 0);
  const int head = snprintf(text, size, "field %s %s ", f->name, f->type);
  if (length < 0) return 0;
  if (text) {
    redist_layout_format(&f->layout, text + head, (size_t)length + 1);
    strcpy(text + head + length, "\n");
  }
  return (size_t)head + (size_t)length + 1;
}

/* The extents of a field's view, from its description. Returns how many there are. */
static inline int checkpoint_extents(const char *description, int64_t *extents) {
  const char *at = description;
  int d = 0, blanks;
  for (blanks = 0; blanks < 3; at++) blanks += *at == ' ';
  for (; d < REDIST_MAX_DIMS; at++) {
    char *end;
    extents[d++] = strtoll(at, &end, 10);
    at = end;
    if (*at != 'x') break;
  }
  return d;
}

/* The bytes of a field in the file; INT64_MAX if there are more. */
static inline int64_t checkpoint_bytes(const checkpoint_field *f, int ndim,
                                       const int64_t *extents) {
  int d, size;
  int64_t bytes;
  MPI_Type_size(checkpoint_element(f->type), &size);
  for (bytes = size, d = 0; d < ndim; d++)
    bytes = extents[d] == 0 || bytes <= INT64_MAX / extents[d] ? bytes * extents[d] : INT64_MAX;
  return bytes;
}

/* The lines of all fields, with this rank's layouts; NULL: a bad layout or type, or no memory. */
static inline char *checkpoint_text(checkpoint *c, int fields, const checkpoint_field *field) {
  size_t length = 1, used = 0;
  char *text;
  int k;
  for (k = 0; k < fields; k++) {
    const size_t more = checkpoint_describe(&field[k], NULL, 0);
    if (more == 0 || checkpoint_element(field[k].type) == MPI_DATATYPE_NULL)
      return checkpoint_fail(c, "field %s has a bad layout or type", field[k].name), NULL;
    length += more;
  }
  text = calloc(length + 64, 1);
  if (!text) return checkpoint_fail(c, "not enough memory"), NULL;
  for (k = 0; k < fields; k++)
    used += checkpoint_describe(&field[k], text + used, length - used + 64);
  return text;
}

/* The bytes of all fields, whose descriptions are lines of a text; INT64_MAX if there are more. */
static inline int64_t checkpoint_sum(int fields, const checkpoint_field *field, const char *text) {
  int64_t extents[REDIST_MAX_DIMS], bytes, sum = 0;
  int k;
  for (k = 0; k < fields; k++) {
    const int ndim = checkpoint_extents(text, extents);
    bytes = checkpoint_bytes(&field[k], ndim, extents);
    sum = bytes <= INT64_MAX - sum ? sum + bytes : INT64_MAX;
    text = strchr(text, '\n') + 1;
  }
  return sum;
}

/* ---- one field ---- */

/* Whether a call has written or read all bytes of one object of a type; none if it is empty. */
static inline int checkpoint_is_complete(const MPI_Status *status, MPI_Datatype type) {
  MPI_Count bytes = -1;
  int count = -1;
  return MPI_Type_size_x(type, &bytes) == MPI_SUCCESS &&
         (bytes == 0 || (MPI_Get_count(status, type, &count) == MPI_SUCCESS && count == 1));
}

/* Writes or reads the elements of a layout, at c->at of the file. */
static inline int checkpoint_transfer(checkpoint *c, MPI_File file, const redist_layout *layout,
                                      MPI_Datatype element, void *array, int saving) {
  MPI_Datatype there = MPI_DATATYPE_NULL, here = MPI_DATATYPE_NULL;
  int code = redist_layout_types(layout, checkpoint_rank(c), element, &there, &here);
  int ok = checkpoint_agree(c, code == REDIST_OK);
  const double begin = MPI_Wtime();
  MPI_Status status;
  if (ok) {
    ok = MPI_File_set_view(file, c->at, element, there, "native", MPI_INFO_NULL) == MPI_SUCCESS;
    code = saving ? MPI_File_write_all(file, array, 1, here, &status)
                  : MPI_File_read_all(file, array, 1, here, &status);
    ok = checkpoint_agree(c, ok && code == MPI_SUCCESS && checkpoint_is_complete(&status, here));
  }
  c->filing += MPI_Wtime() - begin;
  if (there != MPI_DATATYPE_NULL) MPI_Type_free(&there);
  if (here != MPI_DATATYPE_NULL) MPI_Type_free(&here);
  return ok ? 1 : checkpoint_fail(c, "cannot be %s", saving ? "written" : "read");
}

static inline int checkpoint_move(checkpoint *c, const redist_layout *from, const redist_layout *to,
                                  MPI_Datatype element, void *source, void *target) {
  const double begin = MPI_Wtime();
  char message[256] = "";
  redist_options options;
  redist_plan *plan;
  int code;
  memset(&options, 0, sizeof options);
  options.executions = 1;
  options.message = message;
  options.message_size = sizeof message;
  code = redist_plan_create(c->comm, from, to, element, &options, &plan);
  if (code == REDIST_OK) {
    code = redist_execute(plan, source, target);
    redist_plan_free(&plan);
  }
  c->moving += MPI_Wtime() - begin;
  return checkpoint_agree(c, code == REDIST_OK)
             ? 1
             : checkpoint_fail(c, "%s", message[0] ? message : redist_strerror(code));
}

/* A block of rows on each writer. Writers are evenly spaced ranks, so that they spread over
   nodes. */
static inline redist_layout checkpoint_slabs(checkpoint *c, int ndim, const int64_t *extents) {
  redist_axis axes[REDIST_MAX_DIMS];
  int d, k, ranks, writers = c->writers < CHECKPOINT_WRITERS ? c->writers : CHECKPOINT_WRITERS;
  MPI_Comm_size(c->comm, &ranks);
  writers = writers < ranks ? writers : ranks;
  for (k = 0; k < writers; k++) c->ranks[k] = (int)((int64_t)k * ranks / writers);
  for (d = 0; d < ndim; d++)
    axes[d] = d == 0 ? redist_block(extents[d], writers) : redist_whole(extents[d]);
  return redist_on_ranks(redist_layout_nd(ndim, axes), c->ranks);
}

static inline int checkpoint_through_writers(checkpoint *c, MPI_File file,
                                             const checkpoint_field *f, int ndim,
                                             const int64_t *extents, int saving) {
  const MPI_Datatype element = checkpoint_element(f->type);
  const redist_layout slabs = checkpoint_slabs(c, ndim, extents);
  int size, ok;
  void *rows;
  MPI_Type_size(element, &size);
  rows = malloc((size_t)redist_layout_local_size(&slabs, checkpoint_rank(c)) * (size_t)size + 1);
  ok = checkpoint_agree(c, rows != NULL) || checkpoint_fail(c, "not enough memory");
  if (ok && saving) ok = checkpoint_move(c, &f->layout, &slabs, element, f->array, rows);
  ok = ok && checkpoint_transfer(c, file, &slabs, element, rows, saving);
  if (ok && !saving) ok = checkpoint_move(c, &slabs, &f->layout, element, rows, f->array);
  free(rows);
  return ok;
}

static inline int checkpoint_pass(checkpoint *c, MPI_File file, const checkpoint_field *f,
                                  const char *description, int saving) {
  const MPI_Datatype element = checkpoint_element(f->type);
  int64_t extents[REDIST_MAX_DIMS];
  const int ndim = checkpoint_extents(description, extents);
  int ok;
  if (c->writers > 0)
    ok = checkpoint_through_writers(c, file, f, ndim, extents, saving);
  else
    ok = checkpoint_transfer(c, file, &f->layout, element, f->array, saving);
  c->at += checkpoint_bytes(f, ndim, extents);
  return ok;
}

/* Moves all fields, whose descriptions are lines of a text. */
static inline int checkpoint_pass_all(checkpoint *c, MPI_File file, int fields,
                                      const checkpoint_field *field, const char *text, int saving) {
  int k, ok = 1;
  for (k = 0; k < fields && ok; k++) {
    ok = checkpoint_pass(c, file, &field[k], text, saving);
    text = strchr(text, '\n') + 1;
  }
  return ok;
}

/* ---- the header ---- */

/* The first line of a header, of CHECKPOINT_LINE characters if the numbers are not negative. */
static inline void checkpoint_first_line(char *line, size_t size, const char *order,
                                         long long header, long long bytes) {
  snprintf(line, size, "redist checkpoint 1 %-6.6s %011lld %019lld\n", order, header, bytes);
}

/* ---- saving ---- */

/* Rank 0 writes the header, last of all. */
static inline int checkpoint_seal(const checkpoint *c, MPI_File file, int64_t header,
                                  const char *text) {
  MPI_Offset bytes = 0;
  char *head = malloc((size_t)header + 1);
  int ok = head != NULL;
  if (ok) {
    checkpoint_first_line(head, (size_t)header + 1, checkpoint_order(), header, c->at);
    snprintf(head + CHECKPOINT_LINE, (size_t)header + 1 - CHECKPOINT_LINE, "note %s\n%s", c->note,
             text);
    ok =
        MPI_File_write_at(file, 0, head, (int)header, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == c->at;
  }
  free(head);
  return ok;
}

/* Writes the file. Collective. Returns 1, or 0 and c->wrong; an older file is then unchanged. */
static inline int checkpoint_save(checkpoint *c, int fields, const checkpoint_field *field) {
  char part[1024], *text = (c->wrong[0] = '\0', checkpoint_text(c, fields, field));
  int64_t header = text ? (int64_t)(CHECKPOINT_LINE + 6 + strlen(c->note) + strlen(text)) : 0;
  MPI_File file;
  int ok = checkpoint_agree(c, text && header < CHECKPOINT_HEADER) ||
           checkpoint_fail(c, "another rank has a bad layout or no memory");
  const int first = checkpoint_rank(c) == 0;
  snprintf(part, sizeof part, "%s.part", c->name);
  if (ok && !checkpoint_agree(c, MPI_File_open(c->comm, part, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                               MPI_INFO_NULL, &file) == MPI_SUCCESS))
    ok = checkpoint_fail(c, "cannot be created");
  if (ok) {
    MPI_Bcast(&header, 1, MPI_INT64_T, 0, c->comm);
    c->at = header;
    ok = checkpoint_agree(c, MPI_File_set_size(file, 0) == MPI_SUCCESS);
    ok = ok && checkpoint_pass_all(c, file, fields, field, text, 1);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_sync(file);
    ok = ok && checkpoint_agree(c, !first || checkpoint_seal(c, file, header, text));
    ok = MPI_File_close(&file) == MPI_SUCCESS && ok;
    ok = ok && (!first || rename(part, c->name) == 0);
    ok = checkpoint_agree(c, ok) || checkpoint_fail(c, "cannot be written");
  }
  free(text);
  return ok;
}

/* ---- loading ---- */

/* Opens the file for reading. Collective. */
static inline int checkpoint_open(checkpoint *c, MPI_File *file) {
  c->wrong[0] = '\0';
  return checkpoint_agree(c, MPI_File_open(c->comm, c->name, MPI_MODE_RDONLY, MPI_INFO_NULL,
                                           file) == MPI_SUCCESS) ||
         checkpoint_fail(c, "cannot be opened");
}

/* The real length of the file; -1 where MPI fails. */
static inline int64_t checkpoint_length(MPI_File file) {
  MPI_Offset bytes = -1;
  return MPI_File_get_size(file, &bytes) == MPI_SUCCESS ? (int64_t)bytes : -1;
}

/* Reads so many bytes on this rank; returns whether they are all there. */
static inline int checkpoint_read_at(MPI_File file, int64_t at, char *text, int64_t bytes) {
  MPI_Status status;
  int count = -1;
  return MPI_File_read_at(file, at, text, (int)bytes, MPI_BYTE, &status) == MPI_SUCCESS &&
         MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == bytes;
}

/* Whether a line is the first one of a checkpoint, and what it says. */
static inline int checkpoint_parse_line(const char *line, char order[7], int64_t *header,
                                        int64_t *bytes) {
  char expected[128];
  memcpy(order, line + 20, 6);
  *header = strtoll(line + 27, NULL, 10);
  *bytes = strtoll(line + 39, NULL, 10);
  checkpoint_first_line(expected, sizeof expected, order, *header, *bytes);
  return strcmp(line, expected) == 0 && *header >= CHECKPOINT_LINE && *header <= CHECKPOINT_HEADER;
}

/* The text of `bytes` after the first line, or NULL and sets c->wrong. A zero would end it early;
   without a last newline, it would run into the first field. */
static inline char *checkpoint_read_text(checkpoint *c, MPI_File file, int64_t bytes) {
  char *text = calloc((size_t)bytes + 1, 1);
  if (!text)
    checkpoint_fail(c, "not enough memory");
  else if (!checkpoint_read_at(file, CHECKPOINT_LINE, text, bytes))
    checkpoint_fail(c, "has a header that cannot be read");
  else if (strncmp(text, "note ", 5) != 0 || !strchr(text, '\n'))
    checkpoint_fail(c, "has a header that says nothing");
  else if ((int64_t)strlen(text) != bytes || text[bytes - 1] != '\n')
    checkpoint_fail(c, "has a header of another length than it says");
  else
    return text;
  free(text);
  return NULL;
}

/* Rank 0 reads the header and sets c->at to its length. Returns the text after its first line, or
   NULL and sets c->wrong. */
static inline char *checkpoint_read_head(checkpoint *c, MPI_File file) {
  char line[CHECKPOINT_LINE + 1] = "", order[7] = "", own[7];
  int64_t bytes = 0;
  const int64_t found = checkpoint_length(file);
  if (!checkpoint_read_at(file, 0, line, CHECKPOINT_LINE) ||
      !checkpoint_parse_line(line, order, &c->at, &bytes))
    return checkpoint_fail(c, "is no checkpoint"), NULL;
  snprintf(own, sizeof own, "%-6s", checkpoint_order());
  if (strcmp(order, own) != 0)
    return checkpoint_fail(c, "is of a machine with the other byte order"), NULL;
  if (found != bytes)
    return checkpoint_fail(c, "has %lld bytes, not %lld: it is torn", (long long)found,
                           (long long)bytes),
           NULL;
  return checkpoint_read_text(c, file, c->at - CHECKPOINT_LINE);
}

/* The text of the header on all ranks; sets c->note, and c->at to where the first field begins.
   NULL on failure, with c->wrong. */
static inline char *checkpoint_share_head(checkpoint *c, MPI_File file) {
  char *text = checkpoint_rank(c) == 0 ? checkpoint_read_head(c, file) : NULL;
  MPI_Bcast(c->wrong, (int)sizeof c->wrong, MPI_CHAR, 0, c->comm);
  if (c->wrong[0] != '\0') return NULL;
  MPI_Bcast(&c->at, 1, MPI_INT64_T, 0, c->comm);
  if (checkpoint_rank(c) != 0) text = calloc((size_t)(c->at - CHECKPOINT_LINE) + 1, 1);
  if (!checkpoint_agree(c, text != NULL)) {
    free(text);
    return checkpoint_fail(c, "not enough memory"), NULL;
  }
  MPI_Bcast(text, (int)(c->at - CHECKPOINT_LINE), MPI_CHAR, 0, c->comm);
  snprintf(c->note, sizeof c->note, "%.*s", (int)strcspn(text + 5, "\n"), text + 5);
  return text;
}

/* Reads only the note. Collective. Returns 1, or 0 and sets c->wrong. */
static inline int checkpoint_look(checkpoint *c) {
  MPI_File file;
  char *text;
  if (!checkpoint_open(c, &file)) return 0;
  text = checkpoint_share_head(c, file);
  MPI_File_close(&file);
  free(text);
  return text != NULL;
}

/* Whether the lines describe these fields; their layouts may differ. */
static inline int checkpoint_compare(checkpoint *c, const char *there, const char *here,
                                     int fields) {
  int k;
  for (k = 0; k < fields; k++) {
    const int own = (int)strcspn(here, ":"), found = (int)strcspn(there, ":\n");
    if (own != found || there[found] != ':' || strncmp(there, here, (size_t)own) != 0)
      return checkpoint_fail(c, "has '%.*s', not '%.*s'", found, there, own, here);
    there = strchr(there, '\n') + 1;
    here = strchr(here, '\n') + 1;
  }
  return *there == '\0' || checkpoint_fail(c, "has more than %d fields", fields);
}

/* Whether a file, whose header has this text, holds these fields, and nothing after them. */
static inline int checkpoint_fits(checkpoint *c, MPI_File file, const char *there, const char *here,
                                  int fields, const checkpoint_field *field) {
  const int64_t left = checkpoint_length(file) - c->at;
  if (!checkpoint_compare(c, strchr(there, '\n') + 1, here, fields)) return 0;
  return left == checkpoint_sum(fields, field, here) ||
         checkpoint_fail(c, "has %lld bytes for fields of %lld", (long long)left,
                         (long long)checkpoint_sum(fields, field, here));
}

/* Scratch memory into which a file is read, and the plan that moves it to the fields. */
typedef struct {
  checkpoint_field *field; /* without replicas */
  redist_part *part;
  const void **from;
  void **to;
  redist_plan *plan;
} checkpoint_scratch;

static inline void checkpoint_free_scratch(checkpoint_scratch *s, int fields) {
  int k;
  for (k = 0; k < fields && s->field; k++) free(s->field[k].array);
  redist_plan_free(&s->plan);
  free(s->field);
  free(s->part);
  free((void *)s->from);
  free((void *)s->to);
}

/* Allocates and describes scratch memory; local. */
static inline int checkpoint_allocate(const checkpoint *c, checkpoint_scratch *s, int fields,
                                      const checkpoint_field *field) {
  const size_t room = (size_t)fields + 1;
  int k, size, ok = (s->field = calloc(room, sizeof *s->field)) != NULL;
  ok = (s->part = calloc(room, sizeof *s->part)) != NULL && ok;
  ok = (s->from = calloc(room, sizeof *s->from)) != NULL && ok;
  ok = (s->to = calloc(room, sizeof *s->to)) != NULL && ok;
  for (k = 0; k < fields && ok; k++) {
    checkpoint_field *f = &s->field[k];
    *f = field[k];
    f->layout = redist_replicated(f->layout, 1);
    s->part[k].from = &f->layout;
    s->part[k].to = &field[k].layout;
    s->part[k].element = checkpoint_element(f->type);
    MPI_Type_size(s->part[k].element, &size);
    f->array =
        malloc((size_t)redist_layout_local_size(&f->layout, checkpoint_rank(c)) * (size_t)size + 1);
    s->from[k] = f->array;
    s->to[k] = field[k].array;
    ok = f->array != NULL;
  }
  return ok;
}

/* Makes all that moving the fields needs, so that it cannot fail later. Collective. */
static inline int checkpoint_make_scratch(checkpoint *c, checkpoint_scratch *s, int fields,
                                          const checkpoint_field *field) {
  const double begin = MPI_Wtime();
  char message[256] = "";
  redist_options options;
  int code = REDIST_OK;
  memset(&options, 0, sizeof options);
  options.executions = 1;
  options.message = message;
  options.message_size = sizeof message;
  if (!checkpoint_agree(c, checkpoint_allocate(c, s, fields, field)))
    return checkpoint_fail(c, "not enough memory");
  if (fields > 0) code = redist_plan_create_parts(c->comm, fields, s->part, &options, &s->plan);
  c->moving += MPI_Wtime() - begin;
  return code == REDIST_OK || checkpoint_fail(c, "%s", message);
}

/* Reads all fields into scratch memory. MPI libraries may report complete reads past the end of a
   file that has become shorter, so its length is compared again. */
static inline int checkpoint_read(checkpoint *c, MPI_File file, const checkpoint_scratch *s,
                                  int fields, const char *text) {
  return checkpoint_pass_all(c, file, fields, s->field, text, 0) &&
         (checkpoint_agree(c, checkpoint_length(file) == c->at) ||
          checkpoint_fail(c, "has become shorter or longer"));
}

static inline int checkpoint_move_all(checkpoint *c, const checkpoint_scratch *s) {
  const double begin = MPI_Wtime();
  const int code = s->plan ? redist_execute_many(s->plan, s->from, s->to) : REDIST_OK;
  c->moving += MPI_Wtime() - begin;
  return checkpoint_agree(c, code == REDIST_OK) || checkpoint_fail(c, "%s", redist_strerror(code));
}

/* Reads the fields. Collective. Returns 1, or 0 and sets c->wrong. The real length of the file must
   be that of its header and of these fields, and the header must say so. Takes as much memory again
   as the fields. On failure no field is touched; only if MPI fails while the fields, all read, move
   to their arrays, these may hold anything. The file must not be written meanwhile: if it becomes
   shorter, loading fails, but a file carries no sum of its bytes by which other changes show. */
static inline int checkpoint_load(checkpoint *c, int fields, const checkpoint_field *field) {
  checkpoint_scratch s;
  char *there, *here = NULL;
  MPI_File file;
  int ok;
  memset(&s, 0, sizeof s);
  if (!checkpoint_open(c, &file)) return 0;
  there = checkpoint_share_head(c, file);
  if (there) here = checkpoint_text(c, fields, field);
  ok = here && checkpoint_fits(c, file, there, here, fields, field);
  ok = there && (checkpoint_agree(c, ok) || checkpoint_fail(c, "fails on another rank"));
  ok = ok && checkpoint_make_scratch(c, &s, fields, field) &&
       checkpoint_read(c, file, &s, fields, here);
  MPI_File_close(&file);
  ok = ok && checkpoint_move_all(c, &s);
  checkpoint_free_scratch(&s, fields);
  free(there);
  free(here);
  return ok;
}

#endif
