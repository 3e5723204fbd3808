/* redist tests: counting test cases. MIT licence, see LICENSE. */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long test_passed, test_failed, test_skipped;

/* Counts one test case, and prints its description if it failed (the first 20 failures only). */
static inline int test_case(int ok, const char *format, ...) {
  va_list args;
  if (ok) {
    test_passed++;
    return 1;
  }
  if (++test_failed <= 20) {
    printf("FAILED: ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
  }
  return 0;
}

static inline void test_skip(const char *why) {
  test_skipped++;
  printf("skipped: %s\n", why);
}

/* The last line of every test program, which tests/run adds up. Returns the exit status. */
static inline int test_report(const char *name) {
  printf("%s: %ld passed, %ld failed, %ld skipped\n", name, test_passed, test_failed, test_skipped);
  return test_failed != 0;
}

/* A small generator (splitmix64), so that every rank and every machine draws the same cases. */
typedef struct {
  uint64_t state;
} test_random;

static inline uint64_t test_next(test_random *r) {
  uint64_t z = (r->state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* How many bytes of the word that begins at byte k are among so many. */
static inline size_t test_word_bytes(size_t k, size_t bytes) {
  return bytes - k < sizeof(uint64_t) ? bytes - k : sizeof(uint64_t);
}

static inline void test_random_bytes(test_random *r, unsigned char *memory, size_t bytes) {
  size_t k;
  for (k = 0; k < bytes; k += sizeof(uint64_t)) {
    const uint64_t word = test_next(r);
    memcpy(memory + k, &word, test_word_bytes(k, bytes));
  }
}

/* low <= result <= high */
static inline int64_t test_between(test_random *r, int64_t low, int64_t high) {
  return low + (int64_t)(test_next(r) % (uint64_t)(high - low + 1));
}

static inline int test_one_in(test_random *r, int n) { return test_between(r, 1, n) == 1; }

static inline void test_shuffle(test_random *r, int *list, int n) {
  int k;
  for (k = 0; k < n; k++) list[k] = k;
  for (k = n - 1; k > 0; k--) {
    int other = (int)test_between(r, 0, k), kept = list[k];
    list[k] = list[other];
    list[other] = kept;
  }
}

#endif
