/* Grey pictures in the portable graymap format (PGM): P2 and P5, 8 and 16 bit. MIT licence, see
   LICENSE. */
#ifndef PGM_H
#define PGM_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int64_t width, height;
  int white;      /* the largest value, at most 65535 */
  double *values; /* height rows of width values from 0 to white; the caller frees them */
} pgm;

enum { PGM_MAX_SIDE = 1 << 20, PGM_MAX_WHITE = 65535 };

/* The next byte that is neither white space nor part of a comment, or EOF. */
static inline int pgm_next_byte(FILE *file) {
  int c = getc(file);
  while (isspace(c) || c == '#') {
    if (c == '#')
      while (c != '\n' && c != '\r' && c != EOF) c = getc(file);
    else
      c = getc(file);
  }
  return c;
}

/* The next decimal number; -1 when there is none or it is above the limit. */
static inline long pgm_number(FILE *file, long limit) {
  long number = 0;
  int c = pgm_next_byte(file);
  if (!isdigit(c)) return -1;
  for (; isdigit(c); c = getc(file)) {
    number = 10 * number + (c - '0');
    if (number > limit) return -1;
  }
  ungetc(c, file);
  return number;
}

/* One binary value, high byte first; -1 at the end of the file. */
static inline long pgm_binary(FILE *file, int white) {
  int high = 0, low;
  if (white > 255 && (high = getc(file)) == EOF) return -1;
  low = getc(file);
  return low == EOF ? -1 : 256L * high + low;
}

static inline const char *pgm_read_header(FILE *file, pgm *picture, int *binary) {
  int first = getc(file), second = getc(file);
  if (first != 'P' || (second != '2' && second != '5'))
    return "not a PGM picture (it must begin with P2 or P5)";
  *binary = second == '5';
  picture->width = pgm_number(file, PGM_MAX_SIDE);
  picture->height = pgm_number(file, PGM_MAX_SIDE);
  picture->white = (int)pgm_number(file, PGM_MAX_WHITE);
  if (picture->width < 1 || picture->height < 1)
    return "width and height must be numbers from 1 to 1048576";
  if (picture->white < 1) return "the largest grey value must be a number from 1 to 65535";
  if (!isspace(getc(file))) return "no white space after the header";
  return NULL;
}

static inline const char *pgm_read_values(FILE *file, pgm *picture, int binary) {
  int64_t i, size = picture->width * picture->height;
  if ((uint64_t)size > SIZE_MAX / sizeof *picture->values) return "too large";
  picture->values = malloc((size_t)size * sizeof *picture->values);
  if (!picture->values) return "not enough memory for a picture of this size";
  for (i = 0; i < size; i++) {
    long value = binary ? pgm_binary(file, picture->white) : pgm_number(file, PGM_MAX_WHITE);
    if (value < 0)
      return feof(file) ? "the file ends before the picture does"
                        : "a value is not a number from 0 to 65535";
    if (value > picture->white)
      return "a value is above the largest grey value that the header gives";
    picture->values[i] = (double)value;
  }
  return NULL;
}

/* Reads a picture. Returns NULL, or an error; then no values are allocated. */
static inline const char *pgm_read(const char *name, pgm *picture) {
  const char *wrong;
  int binary;
  FILE *file = fopen(name, "rb");
  picture->values = NULL;
  if (!file) return "cannot be opened";
  wrong = pgm_read_header(file, picture, &binary);
  if (!wrong) wrong = pgm_read_values(file, picture, binary);
  if (ferror(file)) wrong = "cannot be read";
  fclose(file);
  if (wrong) {
    free(picture->values);
    picture->values = NULL;
  }
  return wrong;
}

static inline int pgm_grey(double value, int white) {
  return !(value > 0) ? 0 : value >= white ? white : (int)(value + 0.5);
}

/* Writes values times scale, rounded and clipped to 0 .. white, as P5. Returns NULL or an error. */
static inline const char *pgm_write(const char *name, const pgm *picture, double scale) {
  int64_t i;
  int grey, failed;
  FILE *file = fopen(name, "wb");
  if (!file) return "cannot be created";
  fprintf(file, "P5\n%lld %lld\n%d\n", (long long)picture->width, (long long)picture->height,
          picture->white);
  for (i = 0; i < picture->width * picture->height; i++) {
    grey = pgm_grey(picture->values[i] * scale, picture->white);
    if (picture->white > 255) putc(grey / 256, file);
    putc(grey % 256, file);
  }
  failed = ferror(file);
  failed |= fclose(file) != 0; /* a full disk may be noticed only here */
  return failed ? "cannot be written" : NULL;
}

#endif
