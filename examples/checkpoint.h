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
   (redist_layout_types), and ghost cells are then exchanged. With a few writers, a plan moves each
   field between its layout and slabs of rows on the writers, which are contiguous in the file; on
   loading, it also fills ghost cells. A checkpoint is written under another name, and renamed when
   it is complete. A file that is cut short, or is no checkpoint, is refused before any field is
   touched. */
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
  int ghosts;  /* 1: loading fills the layout's ghost cells */
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

static inline int64_t checkpoint_bytes(const checkpoint_field *f, int ndim,
                                       const int64_t *extents) {
  int d, size;
  int64_t bytes;
  MPI_Type_size(checkpoint_element(f->type), &size);
  for (bytes = size, d = 0; d < ndim; d++) bytes *= extents[d];
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

/* ---- one field ---- */

/* Writes or reads the elements of a layout, at c->at of the file. */
static inline int checkpoint_transfer(checkpoint *c, MPI_File file, const redist_layout *layout,
                                      MPI_Datatype element, void *array, int saving) {
  MPI_Datatype there = MPI_DATATYPE_NULL, here = MPI_DATATYPE_NULL;
  int code = redist_layout_types(layout, checkpoint_rank(c), element, &there, &here);
  int ok = checkpoint_agree(c, code == REDIST_OK);
  const double begin = MPI_Wtime();
  if (ok) {
    ok = MPI_File_set_view(file, c->at, element, there, "native", MPI_INFO_NULL) == MPI_SUCCESS;
    code = saving ? MPI_File_write_all(file, array, 1, here, MPI_STATUS_IGNORE)
                  : MPI_File_read_all(file, array, 1, here, MPI_STATUS_IGNORE);
    ok = checkpoint_agree(c, ok && code == MPI_SUCCESS);
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
  options.in_place = from == to;
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
  rows = malloc((size_t)redist_layout_alloc(&slabs, checkpoint_rank(c)) * (size_t)size + 1);
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
  if (c->writers > 0) {
    ok = checkpoint_through_writers(c, file, f, ndim, extents, saving);
  } else {
    ok = checkpoint_transfer(c, file, &f->layout, element, f->array, saving);
    if (ok && !saving && f->ghosts)
      ok = checkpoint_move(c, &f->layout, &f->layout, element, f->array, f->array);
  }
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

/* ---- saving ---- */

/* Rank 0 writes the header, last of all. */
static inline int checkpoint_seal(const checkpoint *c, MPI_File file, int64_t header,
                                  const char *text) {
  MPI_Offset bytes = 0;
  char *head = malloc((size_t)header + 1);
  int ok = head != NULL;
  if (ok) {
    snprintf(head, (size_t)header + 1, "redist checkpoint 1 %-6s %011lld %019lld\nnote %s\n%s",
             checkpoint_order(), (long long)header, (long long)c->at, c->note, text);
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

/* Rank 0 reads the header. Returns the text after its first line, or NULL and sets c->wrong. */
static inline char *checkpoint_read_head(checkpoint *c) {
  FILE *file = fopen(c->name, "rb");
  char line[CHECKPOINT_LINE + 1] = "", order[8] = "", *text = NULL;
  long long header = 0, bytes = 0, found = -1;
  if (!file) return checkpoint_fail(c, "cannot be opened"), NULL;
  if (fread(line, CHECKPOINT_LINE, 1, file) != 1 ||
      sscanf(line, "redist checkpoint 1 %7s %lld %lld\n", order, &header, &bytes) != 3 ||
      header < CHECKPOINT_LINE || header > CHECKPOINT_HEADER)
    checkpoint_fail(c, "is no checkpoint");
  else if (strcmp(order, checkpoint_order()) != 0)
    checkpoint_fail(c, "is of a machine with the other byte order");
  else if (fseek(file, 0, SEEK_END) != 0 || (found = ftell(file)) != bytes)
    checkpoint_fail(c, "has %lld bytes, not %lld: it is torn", found, bytes);
  else if ((text = calloc((size_t)(header - CHECKPOINT_LINE) + 1, 1)) == NULL ||
           fseek(file, CHECKPOINT_LINE, SEEK_SET) != 0 ||
           fread(text, 1, (size_t)(header - CHECKPOINT_LINE), file) !=
               (size_t)(header - CHECKPOINT_LINE))
    checkpoint_fail(c, "has a header that cannot be read");
  fclose(file);
  c->at = header;
  if (text && (strncmp(text, "note ", 5) != 0 || !strchr(text, '\n')))
    checkpoint_fail(c, "has a header that says nothing");
  return text;
}

/* The text of the header on all ranks; sets c->note. NULL on failure, with c->wrong. */
static inline char *checkpoint_open_head(checkpoint *c) {
  char *text = NULL;
  int64_t length[2] = {0, 0};
  c->wrong[0] = '\0';
  if (checkpoint_rank(c) == 0) {
    text = checkpoint_read_head(c);
    length[0] = text && !c->wrong[0] ? (int64_t)strlen(text) : 0;
    length[1] = c->at;
  }
  MPI_Bcast(c->wrong, (int)sizeof c->wrong, MPI_CHAR, 0, c->comm);
  MPI_Bcast(length, 2, MPI_INT64_T, 0, c->comm);
  c->at = length[1];
  if (checkpoint_rank(c) != 0) text = calloc((size_t)length[0] + 1, 1);
  if (!checkpoint_agree(c, text != NULL && c->wrong[0] == '\0')) {
    free(text);
    return checkpoint_fail(c, "not enough memory"), NULL;
  }
  MPI_Bcast(text, (int)length[0], MPI_CHAR, 0, c->comm);
  snprintf(c->note, sizeof c->note, "%.*s", (int)strcspn(text + 5, "\n"), text + 5);
  return text;
}

/* Reads only the note. Collective. Returns 1, or 0 and sets c->wrong. */
static inline int checkpoint_look(checkpoint *c) {
  char *text = checkpoint_open_head(c);
  free(text);
  return text != NULL;
}

/* Whether the lines describe these fields; their layouts may differ. */
static inline int checkpoint_compare(checkpoint *c, const char *there, const char *here,
                                     int fields) {
  int k;
  for (k = 0; k < fields; k++) {
    const int own = (int)strcspn(here, ":"), found = (int)strcspn(there, ":\n");
    if (own != found || strncmp(there, here, (size_t)own) != 0)
      return checkpoint_fail(c, "has '%.*s', not '%.*s'", found, there, own, here);
    there += strcspn(there, "\n");
    there += *there == '\n';
    here = strchr(here, '\n') + 1;
  }
  return *there == '\0' || checkpoint_fail(c, "has more than %d fields", fields);
}

/* Reads the fields. Collective. Returns 1, or 0 and sets c->wrong. No field is touched unless the
   file has the right length and holds exactly these fields. */
static inline int checkpoint_load(checkpoint *c, int fields, const checkpoint_field *field) {
  char *there = checkpoint_open_head(c), *here = there ? checkpoint_text(c, fields, field) : NULL;
  MPI_File file;
  int ok = here && checkpoint_compare(c, strchr(there, '\n') + 1, here, fields);
  ok = there && (checkpoint_agree(c, ok) || checkpoint_fail(c, "fails on another rank"));
  if (ok && !checkpoint_agree(c, MPI_File_open(c->comm, c->name, MPI_MODE_RDONLY, MPI_INFO_NULL,
                                               &file) == MPI_SUCCESS))
    ok = checkpoint_fail(c, "cannot be opened");
  if (ok) {
    ok = checkpoint_pass_all(c, file, fields, field, here, 0);
    MPI_File_close(&file);
  }
  free(there);
  free(here);
  return ok;
}

#endif
