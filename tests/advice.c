/* redist tests: when redistributing pays: Namugwanya's tables, arithmetic and bad numbers. MIT
   licence, see LICENSE. */
#include <math.h>

#include "redist.h"
#include "test.h"

enum { GRIDS = 8, NOT_GIVEN = -1 };

/* Matrix multiplication on process grids, seconds: the best on each grid, and reshaping from one
   grid (row) to another. */
static const struct {
  const char *name;
  int n, grids, worthwhile; /* the count of the thesis */
  const char *grid[GRIDS];
  double multiply[GRIDS], reshape[GRIDS][GRIDS];
} tables[] = {
    {"4.1",
     20000,
     5,
     0,
     {"16x1", "8x2", "4x4", "2x8", "1x16"},
     {2.68, 2.47, 2.52, 2.54, 2.78},
     {
         {0, 2.24, 2.28, 2.22, 2.35},
         {2.24, 0, 2.34, 2.49, 2.56},
         {2.32, 2.62, 0, 2.47, 2.56},
         {2.34, 2.48, 2.34, 0, 2.69},
         {NOT_GIVEN, 2.32, 2.53, 2.7, 0},
     }},
    {"4.2",
     40000,
     5,
     6,
     {"16x1", "8x2", "4x4", "2x8", "1x16"},
     {66.9, 38.85, 33.25, 40.39, 72.15},
     {
         {0, 8.81, 15.34, 9.65, 9.65},
         {14.73, 0, 16.26, 9.78, 16.26},
         {9.74, 16.62, 0, 10.36, 16.38},
         {9.89, 9.82, 16.91, 0, 16.52},
         {9.9, 15.73, 16.95, 10.63, 0},
     }},
    {"4.3",
     20004,
     8,
     18,
     {"24x1", "2x12", "12x2", "3x8", "8x3", "6x4", "4x6", "1x24"},
     {24.26, 13.9, 12.06, 10.14, 9.91, 8.6, 9.2, 24.49},
     {
         {0, 2.53, 2.39, 2.45, 1.48, 2.42, 2.47, 2.68},
         {3.14, 0, 2.6, 3.03, 2.73, 2.8, 3.02, 2.49},
         {2.43, 2.6, 0, 2.71, 2.79, 2.74, 2.61, 2.61},
         {2.51, 3.04, 2.63, 0, 2.65, 3.02, 2.9, 3.23},
         {2.49, 2.59, 2.66, 2.69, 0, 2.59, 2.67, 2.78},
         {2.45, 2.65, 2.85, 2.86, 2.87, 0, 2.88, 2.92},
         {2.49, 2.84, 2.57, 2.77, 2.83, 2.79, 0, 2.85},
         {2.59, 3.33, 2.61, 3.17, 2.71, 2.76, 2.9, 0},
     }},
    {"4.4",
     40008,
     8,
     19,
     {"24x1", "2x12", "12x2", "3x8", "8x3", "6x4", "4x6", "1x24"},
     {63.14, 52.52, 47.01, 34.88, 38.02, 39.21, 30.97, 73.85},
     {
         {0, 10.34, 9.47, 10.29, 5.39, 10.33, 10.19, 5.54},
         {10.49, 0, 10.7, 11.13, 11.43, 11.4, 11.56, 11.54},
         {9.53, 10.46, 0, 10.998, 11.48, 10.87, 10.36, 10.86},
         {10.41, 11.76, 11.11, 0, 11.58, 11.76, 11.64, 11.44},
         {10.17, 11.09, 10.89, 11.12, 0, 10.51, 11.18, 10.71},
         {10.47, 11.18, 11.38, 11.64, 10.92, 0, 11.36, 10.74},
         {10.62, 11.36, 10.57, 11.16, 11.32, 11.497, 0, 11.41},
         {10.57, 12.1, 10.92, 11.9, 11.11, 11.11, 11.6, 0},
     }},
};

static void check_table(int table) {
  int worthwhile = 0;
  for (int here = 0; here < tables[table].grids; here++)
    for (int there = 0; there < tables[table].grids; there++) {
      double compute = tables[table].multiply[here], other = tables[table].multiply[there];
      double reshape = tables[table].reshape[here][there];
      redist_advice advice = {0, 0, 0};
      if (reshape == NOT_GIVEN) continue;
      test_case(redist_advise(compute, other, reshape, 0, 1, &advice) == REDIST_OK &&
                    advice.worthwhile == (other + reshape < compute) &&
                    (advice.break_even == 1) == advice.worthwhile &&
                    fabs(advice.gain - (compute - other - reshape)) < 1e-9,
                "table %s, %s to %s: %d, %g s", tables[table].name, tables[table].grid[here],
                tables[table].grid[there], advice.worthwhile, advice.gain);
      worthwhile += advice.worthwhile;
    }
  test_case(worthwhile == tables[table].worthwhile,
            "table %s: redistribution pays in %d cases, in the thesis in %d", tables[table].name,
            worthwhile, tables[table].worthwhile);
}

static void check_one(double here, double there, double in, double out, int64_t repetitions,
                      double gain, int64_t break_even) {
  redist_advice a = {0, 0, 0};
  int code = redist_advise(here, there, in, out, repetitions, &a);
  test_case(code == REDIST_OK && a.gain == gain && a.worthwhile == (gain > 0) &&
                a.break_even == break_even,
            "%g here, %g there, %g in, %g out, %lld times: code %d, gain %g, from %lld on", here,
            there, in, out, (long long)repetitions, code, a.gain, (long long)a.break_even);
}

/* Numbers that binary fractions hold exactly. */
static void check_arithmetic(void) {
  check_one(5, 3, 4, 0, 1, -2, 3);
  check_one(5, 3, 4, 0, 2, 0, 3); /* nothing gained is not worthwhile */
  check_one(5, 3, 4, 0, 3, 2, 3);
  check_one(5, 3, 4, 2, 3, 0, 4);
  check_one(5, 3, 4, 2, 100, 194, 4);
  check_one(5, 3, 0, 0, 1, 2, 1);
  check_one(5, 3, 0, 0, 0, 0, 1);
  check_one(5, 3, 1, 0.5, 0, -1.5, 1);
  check_one(3, 3, 0, 0, 10, 0, -1);
  check_one(3, 5, 0, 0, 10, -20, -1);
  check_one(3, 5, 1, 1, 10, -22, -1);
  check_one(0, 0, 0, 0, 0, 0, -1);
  check_one(1, 0, 0, 1099511627776.0, 1, -1099511627775.0, INT64_C(1099511627777));
  /* 2^53: more repetitions than are counted */
  check_one(1, 0, 9007199254740992.0, 0, 1, -9007199254740991.0, -1);
  check_one(1e300, 0, 1, 0, 1, 1e300, 1);
}

/* break_even and worthwhile agree, whatever the rounding. */
static void check_consistency(test_random *r, int number) {
  redist_advice a = {0, 0, 0}, at = a, before = a;
  double here = (double)test_between(r, 1, 1000000) / 997,
         there = here * (double)test_between(r, 0, 1200) / 1000;
  double in = (double)test_between(r, 0, 1000000000) / 991,
         out = (double)test_between(r, 0, 1000) / 7;
  int good = redist_advise(here, there, in, out, 1, &a) == REDIST_OK &&
             (a.break_even < 0) == (there >= here);
  if (a.break_even > 0) {
    good = good && redist_advise(here, there, in, out, a.break_even, &at) == REDIST_OK &&
           at.worthwhile;
    good = good && redist_advise(here, there, in, out, a.break_even - 1, &before) == REDIST_OK &&
           !before.worthwhile;
    good = good && at.break_even == a.break_even && before.break_even == a.break_even;
  }
  test_case(good, "case %d: %g here, %g there, %g in, %g out: from %lld on", number, here, there,
            in, out, (long long)a.break_even);
}

static void check_bad_input(void) {
  const double bad[] = {NAN, INFINITY, -INFINITY, -1, -1e-300};
  const redist_advice untouched = {17, 18, 19};
  redist_advice a = untouched;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    for (int which = 0; which < 4; which++) {
      double times[4] = {4, 3, 2, 1};
      times[which] = bad[k];
      test_case(redist_advise(times[0], times[1], times[2], times[3], 1, &a) == REDIST_ERR_ARGUMENT,
                "time %d is %g", which, bad[k]);
    }
  test_case(redist_advise(4, 3, 2, 1, -1, &a) == REDIST_ERR_ARGUMENT, "-1 repetitions");
  test_case(redist_advise(4, 3, 2, 1, INT64_MIN, &a) == REDIST_ERR_ARGUMENT,
            "the lowest number of repetitions");
  test_case(redist_advise(4, 3, 1.7e308, 1.7e308, 1, &a) == REDIST_ERR_ARGUMENT,
            "a sum of costs that overflows");
  test_case(redist_advise(4, 3, 2, 1, 1, NULL) == REDIST_ERR_ARGUMENT,
            "nowhere to write the advice");
  test_case(a.gain == untouched.gain && a.break_even == untouched.break_even &&
                a.worthwhile == untouched.worthwhile,
            "advice untouched by errors");
  test_case(redist_advise(4, 3, 2, 1, INT64_MAX, &a) == REDIST_OK && a.worthwhile,
            "the highest number of repetitions");
  test_case(redist_advise(4, 3, -0.0, -0.0, 1, &a) == REDIST_OK && a.gain == 1,
            "a cost of minus zero is none");
}

int main(void) {
  test_random r = {1};
  for (int table = 0; table < (int)(sizeof tables / sizeof *tables); table++) check_table(table);
  check_arithmetic();
  for (int k = 0; k < 2000; k++) check_consistency(&r, k);
  check_bad_input();
  return test_report("advice");
}
