/* Pictures as SVG, to the standard output: rectangles, numbers in them, and marks around them. MIT
   licence, see LICENSE. */
#ifndef SVG_H
#define SVG_H

#include <inttypes.h>
#include <stdio.h>

typedef struct {
  double x, y, width, height;
} rectangle;

static const double veil_opacity = 0.45;

static inline unsigned mix(unsigned a, unsigned b, double share) {
  unsigned shift, mixed = 0;
  for (shift = 0; shift <= 16; shift += 8)
    mixed |= (unsigned)((1 - share) * (double)(a >> shift & 255) +
                        share * (double)(b >> shift & 255) + 0.5)
             << shift;
  return mixed;
}

static inline const char *ink_on(unsigned paper) {
  double r = (paper >> 16) / 255.0, g = (paper >> 8 & 255) / 255.0, b = (paper & 255) / 255.0;
  return 0.2126 * r * r + 0.7152 * g * g + 0.0722 * b * b > 0.2 ? "#111" : "#fff";
}

static inline void fill(rectangle r, unsigned colour) {
  printf("<rect x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" height=\"%.5g\" fill=\"#%06x\"/>\n", r.x, r.y,
         r.width, r.height, colour);
}

static inline void write_text(double x, double y, const char *style, const char *text) {
  if (text[0] != '\0') printf("<text x=\"%.5g\" y=\"%.5g\" %s>%s</text>\n", x, y, style, text);
}

/* A number in the middle of a rectangle, where it fits. */
static inline void write_number(rectangle r, int64_t number, double largest, const char *ink) {
  char text[32], style[80];
  int digits = snprintf(text, sizeof text, "%" PRId64, number);
  /* 0 is as large as 10 */
  double size = r.height * 0.62, fits = r.width * 0.8 / (0.64 * (digits < 2 ? 2 : digits));
  size = size > fits ? fits : size;
  size = size > largest ? largest : size;
  snprintf(style, sizeof style, "font-size=\"%.3g\" fill=\"%s\"", size, ink);
  if (size >= 7) write_text(r.x + r.width / 2, r.y + r.height / 2 + size * 0.36, style, text);
}

/* The outline of a rectangle, inset by `inside`, as part of a path. */
static inline void way_around(rectangle r, double inside) {
  if (r.width > 2 * inside + 1 && r.height > 2 * inside + 1)
    printf("M%.5g %.5gh%.5gv%.5gh%.5gz", r.x + inside, r.y + inside, r.width - 2 * inside,
           r.height - 2 * inside, 2 * inside - r.width);
}

enum { VEIL, WIDE, NARROW, STROKES };

/* A veil over elements that move; around those that stay, a dark line on a white one, visible on
   every colour. */
static inline void begin_mark(int stroke) {
  static const char *const styles[STROKES] = {"fill=\"#fff\" stroke=\"none",
                                              "fill=\"none\" stroke=\"#fff\" stroke-width=\"3.6",
                                              "fill=\"none\" stroke=\"#111\" stroke-width=\"1.8"};
  printf("<path %s\" fill-opacity=\"%g\" d=\"", styles[stroke], veil_opacity);
}

static inline void end_path(void) { printf("\"/>\n"); }

static inline void mark(rectangle r) {
  int stroke, small = r.width < 16;
  for (stroke = small ? NARROW : WIDE; stroke <= NARROW; stroke++) {
    begin_mark(stroke);
    way_around(r, small ? 0.9 : 2.3);
    end_path();
  }
}

static inline rectangle cell_at(double x, double y, double width, double height, int row,
                                int column) {
  rectangle r;
  r.x = x + column * width;
  r.y = y + row * height;
  r.width = width - 1;
  r.height = height - 1;
  return r;
}

#endif
