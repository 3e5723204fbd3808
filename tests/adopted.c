/* redist tests: arrays that an arena adopts: their bytes and their neighbours', plans that copy them
   directly, shared pages, failing system calls, what the heap does meanwhile, leaks. MIT licence,
   see LICENSE. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the system calls of the library, of which one may fail ---- */

enum { NEVER = -1 };
static int until_call = NEVER;
static int64_t copied; /* bytes by this rank */
static uint64_t shared_free = UINT64_MAX / 2;

static int no_copies; /* of pages that are released: the file's become private */

static int call_fails(void) {
  if (until_call < 0 || until_call-- > 0) return 0;
  errno = ENOMEM;
  return 1;
}

static int test_open(const char *path, int flags, ...) {
  if (no_copies && strcmp(path, "/dev/zero") == 0) return -1;
  return call_fails() ? -1 : open(path, flags, 0600);
}
static ssize_t test_write(int file, const void *data, size_t n) {
  return call_fails() ? -1 : write(file, data, n);
}
static off_t test_lseek(int file, off_t at, int how) {
  return call_fails() ? -1 : lseek(file, at, how);
}
static void *test_mmap(void *at, size_t bytes, int how, int flags, int file, off_t from) {
  return call_fails() ? MAP_FAILED : mmap(at, bytes, how, flags, file, from);
}
static long test_syscall(long number, ...) {
  va_list a;
  long v[5];
  int k;
  va_start(a, number);
  for (k = 0; k < 5; k++) v[k] = va_arg(a, long);
  va_end(a);
  return call_fails() ? -1 : syscall(number, v[0], v[1], v[2], v[3], v[4]);
}
static int test_statvfs(const char *path, struct statvfs *answer) {
  const int code = statvfs(path, answer);
  if (shared_free < UINT64_MAX / 2) {
    answer->f_bavail = (fsblkcnt_t)shared_free;
    answer->f_frsize = 1;
  }
  return code;
}

#define REDIST_COPIED(bytes) (copied += (bytes))
#define open test_open
#define write test_write
#define lseek test_lseek
#define mmap test_mmap
#define syscall test_syscall
#define statvfs(path, answer) test_statvfs(path, answer)
#include "exchange.h"
#undef open
#undef write
#undef lseek
#undef mmap
#undef syscall
#undef statvfs

enum { MARGIN = 9000, PAIRS = 60, ROUNDS = 4, SMALL = 8, MOST_CALLS = 200 };

static redist_arena *arena;

/* ---- what this process holds ---- */

static int count_files(void) {
  DIR *files = opendir("/proc/self/fd");
  int n = 0;
  while (files != NULL && readdir(files) != NULL) n++;
  if (files != NULL) closedir(files);
  return n;
}

/* Mappings of this name and kind: rw-s are shared, rw-p private. */
static int count(const char *name, const char *kind) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  int n = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    n += strstr(line, name) != NULL && strstr(line, kind) != NULL;
  if (maps != NULL) fclose(maps);
  return n;
}

/* Of shared memory. */
static int count_mappings(void) { return count("/dev/shm/", " rw-s "); }

/* The bytes of memory that the file of this rank's segment takes. */
static int64_t file_bytes(void) {
  struct stat s;
  return fstat(arena->home.member[arena->home.rank].file, &s) == 0 ? (int64_t)s.st_blocks * 512
                                                                   : -1;
}

/* Mappings in /dev/shm may be someone else's; how many there are now counts. */
static int shares(void) {
  return arena->home.size > 0 && arena->home.member[arena->home.rank].file >= 0;
}

/* ---- bytes, before, during and after ---- */

/* Bytes k to k + 7 of a block; salt: that of a rank and a round. */
static uint64_t word_at(size_t k, int salt) {
  const uint64_t z = (uint64_t)(k * 131 + (uint64_t)salt) * UINT64_C(0x9E3779B97F4A7C15);
  return z ^ z >> 29;
}

static int salt_of(int round) { return round * 7 + test_rank(); }

static void fill_block(unsigned char *block, size_t bytes, int round) {
  const int salt = salt_of(round);
  size_t k;
  for (k = 0; k < bytes; k += sizeof(uint64_t)) {
    const uint64_t word = word_at(k, salt);
    memcpy(block + k, &word, test_word_bytes(k, bytes));
  }
}

static int block_holds(const unsigned char *block, size_t bytes, int round) {
  const int salt = salt_of(round);
  int good = 1;
  size_t k;
  for (k = 0; good && k < bytes; k += sizeof(uint64_t)) {
    const uint64_t word = word_at(k, salt);
    good = memcmp(block + k, &word, test_word_bytes(k, bytes)) == 0;
  }
  return good;
}

/* Adopts what lies between two margins of a block, all of which must keep its bytes. */
static void check_block(const char *what, unsigned char *block, size_t bytes) {
  unsigned char *array = block + MARGIN;
  const size_t all = bytes + 2 * MARGIN;
  const int files = count_files(), mappings = count_mappings();
  const int64_t before = file_bytes();
  int adopted, during, written, released, after;
  fill_block(block, all, 1);
  adopted = redist_arena_adopt(arena, array, bytes) == REDIST_OK;
  during = block_holds(block, all, 1) && count_mappings() > mappings &&
           file_bytes() >= before + (int64_t)bytes;
  fill_block(block, all, 2);
  written = block_holds(block, all, 2);
  test_sum(0);
  released = redist_arena_release(arena, array) == REDIST_OK;
  after = block_holds(block, all, 2) && count_files() == files && count_mappings() == mappings &&
          file_bytes() == before;
  fill_block(block, all, 3);
  test_case_all(adopted && during && written && released && after && block_holds(block, all, 3),
                "%s, %d bytes: adopted %d, during %d, written %d, released %d, after %d", what,
                (int)bytes, adopted, during, written, released, after);
}

static unsigned char static_block[300000 + 2 * MARGIN];

static void check_blocks(void) {
  static const size_t bytes[] = {1, 100, 4096, 5000, 100000, 3000000};
  size_t k;
  int shift;
  for (shift = 0; shift < 4096; shift += shift == 0 ? 1 : shift < 4094 ? 4093 : 1)
    check_block("static", static_block + shift, 200000);
  for (k = 0; k < sizeof bytes / sizeof *bytes; k++) {
    unsigned char *block = malloc(bytes[k] + 2 * MARGIN), *neighbour = malloc(3000);
    fill_block(neighbour, 3000, 9);
    check_block("malloc", block, bytes[k]);
    test_case_all(block_holds(neighbour, 3000, 9), "malloc's next");
    free(neighbour);
    block = realloc(block, 2 * bytes[k] + 2 * MARGIN);
    test_case_all(block_holds(block, bytes[k] + 2 * MARGIN, 3), "realloc after a release");
    free(block);
  }
}

/* ---- plans ---- */

/* What of an array is adopted: nothing (0), all (1), or half (2), of which plans can make no use. */
static size_t adopted_bytes(const exchange *e, int side, int k, int adopts) {
  return adopts == 0 || e->held[side][k] == NULL ? 0 : exchange_bytes(e, side) / (size_t)adopts;
}

static int adopt_arrays(exchange *e, int adopts) {
  int side, k, code = REDIST_OK;
  for (side = 0; side < 2 - e->in_place; side++)
    for (k = 0; k < e->count && code == REDIST_OK; k++) {
      const size_t bytes = adopted_bytes(e, side, k, adopts);
      code = redist_arena_adopt(arena, bytes > 0 ? e->held[side][k] : NULL, bytes);
    }
  return code;
}

static int release_arrays(exchange *e, int adopts) {
  int side, k, code = REDIST_OK;
  for (side = 0; side < 2 - e->in_place; side++)
    for (k = 0; k < e->count; k++) {
      const int mine = adopted_bytes(e, side, k, adopts) > 0;
      if (test_sum(mine) > 0) code |= redist_arena_release(arena, mine ? e->held[side][k] : NULL);
    }
  return code;
}

/* Executes with arrays of which no rank, or all, have adopted all, half, or some have. */
static void check_pair(int pair, int node_ranks) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_options options;
  int round, code, good = 1;
  memset(&options, 0, sizeof options);
  exchange_draw(e, 8000 + (uint64_t)pair);
  e->method = REDIST_SHARED;
  e->count = 1 + pair % 3;
  e->many = e->count > 1;
  e->in_place = pair % 5 == 0;
  e->way = pair % WAYS;
  options.arena = arena;
  options.node_ranks = node_ranks;
  exchange_allocate(e);
  code = exchange_create_with(e, &options);
  for (round = 0; round < ROUNDS && code == REDIST_OK; round++) {
    const int adopts = round < 3 ? round : (test_rank() + pair) % 2;
    code = adopt_arrays(e, adopts);
    good = code == REDIST_OK && exchange_is_right(e, round) && good;
    good = release_arrays(e, adopts) == REDIST_OK && exchange_arrived(e, round) && good;
  }
  good = redist_plan_free(&e->plan) == REDIST_OK && good;
  test_case_all(code == REDIST_OK && good, "pair %d, nodes of %d, %d arrays%s: code %d, %s", pair,
                node_ranks, e->count, e->in_place ? ", in place" : "", code, e->message);
  exchange_release(e);
  free(e);
}

/* Bytes that all ranks copy in an execution: what moves counts twice through rings, once
   directly. */
static int64_t copied_by_all(exchange *e, int number, int *good) {
  int64_t sum = 0;
  copied = 0;
  *good = exchange_is_right(e, number) && *good;
  MPI_Allreduce(&copied, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum / (int64_t)sizeof(double);
}

static void check_direct(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_options options;
  redist_traffic traffic;
  int64_t rings, direct, released;
  int good;
  memset(&options, 0, sizeof options);
  exchange_rows(e, 64, 64, TEST_BLOCK);
  e->method = REDIST_SHARED;
  options.arena = arena;
  exchange_allocate(e);
  good = redist_traffic_between(&e->layouts[0], &e->layouts[1], 0, &traffic) == REDIST_OK &&
         exchange_create_with(e, &options) == REDIST_OK;
  rings = copied_by_all(e, 0, &good);
  good = adopt_arrays(e, 1) == REDIST_OK && good;
  direct = copied_by_all(e, 1, &good);
  good = release_arrays(e, 1) == REDIST_OK && good;
  released = copied_by_all(e, 2, &good);
  test_case_all(good && rings == 64 * 64 + traffic.moved && direct == 64 * 64 && released == rings,
                "elements copied through rings %ld, adopted %ld, released %ld", (long)rings,
                (long)direct, (long)released);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* ---- several arrays in a page, and overlapping ones ---- */

/* Arrays of one block are adopted and released in random orders, while plans move them in a ring
   of ranks: from this rank's array k to the next rank's array k + 1. */
static void check_shared_pages(uint64_t seed) {
  const int size = test_size(), rank = test_rank();
  static const int64_t length[SMALL] = {10, 100, 1, 512, 300, 700, 1500, 50};
  const redist_layout here = redist_layout_1d(redist_block(50 * size, size));
  redist_layout there = here;
  int *next = malloc((size_t)size * sizeof *next);
  double *block = malloc(4000 * sizeof *block), *array[SMALL];
  int order[SMALL], live[SMALL] = {0}, k, step, good, from, to;
  int64_t at = 0, i;
  const int64_t before = file_bytes();
  test_random r = {seed};
  redist_options options;
  redist_plan *plan = NULL;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  options.method = REDIST_SHARED;
  for (k = 0; k < size; k++) next[k] = (k + 1) % size;
  there = redist_on_ranks(there, next);
  good =
      redist_plan_create(MPI_COMM_WORLD, &here, &there, MPI_DOUBLE, &options, &plan) == REDIST_OK;
  for (k = 0; k < SMALL; k++, at += length[k - 1]) array[k] = block + at;
  for (i = 0; i < 4000; i++) block[i] = (double)(rank * 10000 + i);
  test_shuffle(&r, order, SMALL);
  for (step = 0; step < 4 * SMALL && good; step++) {
    k = order[step % SMALL];
    good = (live[k] ? redist_arena_release(arena, array[k])
                    : redist_arena_adopt(arena, array[k], (size_t)length[k] * sizeof **array)) ==
           REDIST_OK;
    live[k] = !live[k];
    if (step % SMALL == SMALL - 1) test_shuffle(&r, order, SMALL);
    /* the arrays of 512 and 1500 numbers hold the plan's 50 */
    from = step % 2 == 0 ? 3 : 6;
    to = step % 2 == 0 ? 6 : 3;
    for (i = 0; i < 50; i++) array[from][i] = (double)(rank * 1000 + step * 50 + i);
    good = good && redist_execute(plan, array[from], array[to]) == REDIST_OK;
    for (i = 0; i < 50; i++)
      good = good && array[to][i] == (double)((rank + size - 1) % size * 1000 + step * 50 + i);
    for (i = 0; i < 4000; i++)
      good = good && ((i >= array[3] - block && i < array[3] - block + 50) ||
                      (i >= array[6] - block && i < array[6] - block + 50) ||
                      block[i] == (double)(rank * 10000 + i));
  }
  for (k = 0; k < SMALL; k++)
    if (live[k]) good = redist_arena_release(arena, array[k]) == REDIST_OK && good;
  test_case_all(good && file_bytes() == before, "arrays that share pages, seed %d: step %d",
                (int)seed, step);
  redist_plan_free(&plan);
  free(next);
  free(block);
}

/* ---- the heap, while arrays are adopted, and afterwards ---- */

static int storm(uint64_t seed) {
  enum { BLOCKS = 200, TURNS = 4000 };
  test_random r = {seed};
  unsigned char *block[BLOCKS] = {NULL};
  size_t bytes[BLOCKS] = {0};
  int turn, n, good = 1;
  for (turn = 0; turn < TURNS; turn++) {
    n = (int)test_between(&r, 0, BLOCKS - 1);
    good = good && (block[n] == NULL || block_holds(block[n], bytes[n], n));
    free(block[n]);
    bytes[n] = (size_t)test_between(&r, 1, test_one_in(&r, 20) ? 300000 : 3000);
    block[n] = calloc(bytes[n], 1);
    good = good && block[n][0] == 0 && memcmp(block[n], block[n] + 1, bytes[n] - 1) == 0;
    fill_block(block[n], bytes[n], n);
  }
  for (n = 0; n < BLOCKS; n++) {
    good = good && (block[n] == NULL || block_holds(block[n], bytes[n], n));
    free(block[n]);
  }
  return good;
}

static void check_heap(void) {
  unsigned char *array[SMALL];
  int k, good = 1;
  for (k = 0; k < SMALL; k++) {
    array[k] = malloc(1000 + 20000 * (size_t)k);
    fill_block(array[k], 1000 + 20000 * (size_t)k, k);
    good = redist_arena_adopt(arena, array[k], 1000 + 20000 * (size_t)k) == REDIST_OK && good;
  }
  test_case_all(storm(3) && good, "the heap, while arrays of it are adopted");
  for (k = 0; k < SMALL; k++) {
    good = block_holds(array[k], 1000 + 20000 * (size_t)k, k) && good;
    good = redist_arena_release(arena, array[k]) == REDIST_OK && good;
    good = block_holds(array[k], 1000 + 20000 * (size_t)k, k) && good;
    if (k % 2 == 0) free(array[k]);
  }
  test_case_all(storm(4) && good, "the heap, after half of them is freed");
  for (k = 1; k < SMALL; k += 2) {
    good = block_holds(array[k], 1000 + 20000 * (size_t)k, k) && good;
    free(array[k]);
  }
  test_case_all(storm(5) && good, "the heap, after all of them are freed");
}

/* ---- system calls that fail on one rank ---- */

/* Adopts with a call that fails, releases with one that fails. Returns whether a call failed. */
static int check_failure(unsigned char *block, size_t bytes, int call, int releases) {
  const int files = count_files(), mappings = count_mappings(), last = test_size() - 1;
  const int64_t before = file_bytes();
  const size_t all = bytes + 2 * MARGIN;
  int adopted, released = REDIST_OK, failed, good;
  fill_block(block, all, call);
  if (!releases && test_rank() == last) until_call = call;
  adopted = redist_arena_adopt(arena, block + MARGIN, bytes);
  failed = test_sum(!releases && test_rank() == last && until_call == NEVER);
  good = adopted == (failed ? REDIST_ERR_MEMORY : REDIST_OK) && block_holds(block, all, call);
  if (adopted != REDIST_OK)
    good = good && count_mappings() == mappings &&
           redist_arena_release(arena, block + MARGIN) == REDIST_ERR_ARGUMENT;
  until_call = NEVER;
  if (releases && test_rank() == last) until_call = call;
  if (adopted == REDIST_OK) released = redist_arena_release(arena, block + MARGIN);
  failed |= test_sum(releases && test_rank() == last && until_call == NEVER);
  until_call = NEVER;
  good = good && released == REDIST_OK && block_holds(block, all, call) && count_files() == files &&
         count_mappings() == mappings && (failed || file_bytes() == before);
  fill_block(block, all, call + 1);
  good = good && block_holds(block, all, call + 1) &&
         redist_arena_adopt(arena, block + MARGIN, bytes) == REDIST_OK &&
         block_holds(block, all, call + 1) &&
         redist_arena_release(arena, block + MARGIN) == REDIST_OK &&
         block_holds(block, all, call + 1);
  test_case_all(good, "call %d of %s fails: adopted %d, released %d", call,
                releases ? "releasing" : "adopting", adopted, released);
  return failed;
}

static void check_failures(void) {
  unsigned char *block = malloc(50000 + 2 * MARGIN);
  const int copies = count("/dev/zero", " rw-p ");
  int releases, call;
  for (releases = 0; releases < 2; releases++) {
    for (call = 0; call < MOST_CALLS && check_failure(block, 50000, call, releases); call++)
      continue;
    test_case_all(call >= 3 && call < MOST_CALLS, "%d calls failed, one by one", call);
  }
  test_case_all(count("/dev/zero", " rw-p ") <= copies + 1, "no copy but the array's own remains");
  free(block);
}

/* An array around one that is adopted already is shared in two runs of pages; the second fails. */
static void check_island(void) {
  enum { PAGES = 5, PAGE = 4096 };
  unsigned char *block = malloc((PAGES + 1) * PAGE), *array;
  const int last = test_size() - 1;
  int call, failed = 1, good = 1;
  array = block + (size_t)(-(uintptr_t)block % PAGE);
  fill_block(array, PAGES * PAGE, 0);
  good = redist_arena_adopt(arena, array + 2 * PAGE, 100) == REDIST_OK;
  no_copies = 1;
  for (call = 0; call < MOST_CALLS && failed && good; call++) {
    fill_block(array, PAGES * PAGE, call);
    if (test_rank() == last) until_call = call;
    good = redist_arena_adopt(arena, array, PAGES * PAGE) != REDIST_OK ||
           redist_arena_release(arena, array) == REDIST_OK;
    failed = test_sum(test_rank() == last && until_call == NEVER);
    until_call = NEVER;
    good = good && block_holds(array, PAGES * PAGE, call);
  }
  no_copies = 0;
  good = redist_arena_release(arena, array + 2 * PAGE) == REDIST_OK && good;
  test_case_all(good && call >= 5 && block_holds(array, PAGES * PAGE, call - 1),
                "pages on both sides of an adopted array, %d calls", call);
  free(block);
}

/* Arrays without bytes are released like others, whatever the other ranks adopt. */
static void check_empty(int owner) {
  unsigned char *array = malloc(100);
  const size_t bytes = test_rank() == owner ? 100 : 0;
  const int adopted = redist_arena_adopt(arena, array, bytes);
  const int released = redist_arena_release(arena, array);
  const int again = redist_arena_release(arena, array);
  test_case_all(adopted == REDIST_OK && released == REDIST_OK && again == REDIST_ERR_ARGUMENT &&
                    redist_arena_adopt(arena, NULL, 0) == REDIST_OK,
                "only rank %d has bytes: adopted %d, released %d, again %d", owner, adopted,
                released, again);
  free(array);
}

/* Ranks without bytes may give one address for several arrays; then the array that others release
   counts, in whatever order. */
static void check_same_address(void) {
  char *array[2];
  const int last = test_rank() == test_size() - 1;
  int k, order, code = REDIST_OK;
  for (order = 0; order < 2; order++) {
    for (k = 0; k < 2; k++) {
      array[k] = last && k == 1 ? array[0] : malloc(100);
      if (code == REDIST_OK) code = redist_arena_adopt(arena, array[k], last && k == 0 ? 0 : 100);
    }
    for (k = 0; k < 2; k++)
      if (code == REDIST_OK) code = redist_arena_release(arena, array[k ^ order]);
    test_case_all(code == REDIST_OK && redist_arena_release(arena, array[0]) == REDIST_ERR_ARGUMENT,
                  "an empty array at the address of another, order %d: code %d", order, code);
    for (k = 0; k < 2 - last; k++) free(array[k]);
  }
}

/* The exchange works after an adoption that failed, with rings. */
static void check_no_room(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_options options;
  int code, good;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  exchange_rows(e, 50, 40, TEST_CYCLIC);
  e->method = REDIST_SHARED;
  exchange_allocate(e);
  good = exchange_create_with(e, &options) == REDIST_OK;
  shared_free = test_rank() == 0 ? 1000 : UINT64_MAX / 2;
  code = redist_arena_adopt(arena, e->held[0][0], exchange_bytes(e, 0));
  shared_free = UINT64_MAX / 2;
  test_case_all(good && code == REDIST_ERR_MEMORY && exchange_is_right(e, 0),
                "no room on rank 0: code %d", code);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* ---- mistakes ---- */

/* Two arenas share no page: the second array has the page before the first one's or behind it, or,
   with apart == 0, lies in it on the last rank. Where it is refused, nothing has changed. */
static void check_two_arenas(int apart) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *block = malloc(4 * page);
  unsigned char *first = block + 2 * page - (uintptr_t)block % page + 100;
  unsigned char *second = apart < 0 ? first - page : first + page;
  redist_arena *other;
  int before, good, code = redist_arena_create(MPI_COMM_WORLD, 100, &other);
  if (!apart && test_rank() == test_size() - 1) second = first + 1000;
  good = code == REDIST_OK && redist_arena_adopt(arena, first, 200) == REDIST_OK;
  before = count_mappings();
  code = redist_arena_adopt(other, second, 200);
  good = good && code == (apart ? REDIST_OK : REDIST_ERR_ARGUMENT) &&
         (apart || count_mappings() == before);
  if (!apart)
    good = good && redist_arena_release(arena, first) == REDIST_OK &&
           redist_arena_adopt(other, second, 200) == REDIST_OK;
  test_case_all(good, "arrays of two arenas, %d pages apart: code %d", apart, code);
  redist_arena_free(&other);
  if (apart) redist_arena_release(arena, first);
  free(block);
}

static void check_mistakes(void) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  redist_options options;
  static double a[1000], b[1000];
  const int last = test_size() - 1, mine = test_rank() == last;
  int good, code;
  memset(&options, 0, sizeof options);
  options.arena = arena;
  exchange_rows(e, 20, 20, TEST_BLOCK);
  exchange_allocate(e);
  good = exchange_create_with(e, &options) == REDIST_OK;
  test_case_all(redist_arena_adopt(NULL, a, sizeof a) == REDIST_ERR_ARGUMENT &&
                    redist_arena_release(NULL, a) == REDIST_ERR_ARGUMENT,
                "no arena");
  test_case_all(redist_arena_adopt(arena, mine ? NULL : a, sizeof a) == REDIST_ERR_ARGUMENT,
                "NULL on the last rank");
  test_case_all(redist_arena_adopt(arena, mine ? (void *)arena->memory : a, 8) ==
                    REDIST_ERR_ARGUMENT,
                "in the arena, on the last rank");
  test_case_all(redist_arena_adopt(arena, NULL, 0) == REDIST_OK &&
                    redist_arena_release(arena, NULL) == REDIST_ERR_ARGUMENT,
                "nothing on all ranks");
  test_case_all(redist_arena_release(arena, mine ? a : NULL) == REDIST_ERR_ARGUMENT, "not adopted");
  code = redist_arena_adopt(arena, a, sizeof a);
  test_case_all(code == REDIST_OK &&
                    redist_arena_adopt(arena, mine ? a : b, sizeof b) == REDIST_ERR_ARGUMENT,
                "adopted already, on the last rank");
  code = redist_arena_adopt(arena, b, sizeof b);
  test_case_all(code == REDIST_OK &&
                    redist_arena_release(arena, mine ? b : a) ==
                        (last == 0 ? REDIST_OK : REDIST_ERR_MISMATCH) &&
                    redist_arena_release(arena, last == 0 ? a : b) == REDIST_OK,
                "arrays of two calls");
  if (last > 0)
    test_case_all(redist_arena_release(arena, mine ? a : NULL) == REDIST_OK,
                  "one rank names the array for all");
  exchange_prepare(e, 0);
  good = good && redist_start(e->plan, e->held[0][0], e->held[1][0]) == REDIST_OK;
  code = redist_arena_adopt(arena, a, sizeof a);
  good = good && code == REDIST_ERR_BUSY && redist_arena_release(arena, a) == REDIST_ERR_BUSY;
  test_case_all(redist_wait(e->plan) == REDIST_OK && good && exchange_arrived(e, 0),
                "while a plan is started: code %d", code);
  redist_plan_free(&e->plan);
  exchange_release(e);
  free(e);
}

/* An arena that is freed releases its arrays. */
static void check_free(void) {
  const int files = count_files(), mappings = count_mappings();
  unsigned char *block = malloc(100000);
  redist_arena *other = NULL;
  int good = redist_arena_create(MPI_COMM_WORLD, 0, &other) == REDIST_OK, held;
  fill_block(block, 100000, 5);
  good = redist_arena_adopt(other, block + 10, 5000) == REDIST_OK &&
         redist_arena_adopt(other, block + 5010, 60000) == REDIST_OK && good;
  held = count_mappings() > mappings;
  good = redist_arena_free(&other) == REDIST_OK && good && held;
  test_case_all(good && block_holds(block, 100000, 5) && count_files() == files &&
                    count_mappings() == mappings,
                "an arena is freed with adopted arrays");
  free(block);
}

int main(int argc, char **argv) {
  int k, status;
  MPI_Init(&argc, &argv);
  test_case_all(redist_arena_create(MPI_COMM_WORLD, 4096, &arena) == REDIST_OK, "an arena");
  if (!shares()) {
    test_skip("no shared memory of the library's own");
  } else {
    check_blocks();
    for (k = 0; k < PAIRS; k++) check_pair(k, k % 6 == 0 ? 2 : 0);
    check_direct();
    for (k = 0; k < 6; k++) check_shared_pages((uint64_t)k);
    check_heap();
    check_failures();
    check_island();
    for (k = -1; k < test_size(); k++) check_empty(k);
    check_same_address();
    check_no_room();
    for (k = -1; k <= 1; k++) check_two_arenas(k);
    check_mistakes();
    check_free();
  }
  test_case_all(redist_arena_free(&arena) == REDIST_OK, "the arena is freed");
  status = test_report_all("adopted");
  MPI_Finalize();
  return status;
}
