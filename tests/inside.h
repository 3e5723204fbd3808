/* redist tests: what tests look up or set inside plans and arenas, linked or not. MIT licence, see
   LICENSE. */
#ifndef INSIDE_H
#define INSIDE_H

#ifdef REDIST_DECLARATIONS_ONLY
void test_empty_arena(redist_arena *arena);
int test_lies_in(const redist_arena *arena, const void *memory);
void test_set_fetching(redist_arena *arena, int64_t nanoseconds);
int test_is_alone(const redist_plan *plan);
double test_seconds(const redist_plan *plan, redist_method method);
int test_overwrites(const redist_plan *plan);
int test_is_checked(const redist_plan *plan);
int test_check_aliases(redist_plan *plan, const void *const *arrays);
void *test_swap_extent(redist_plan *plan, void *extent);
int test_is_named(const redist_plan *plan);
int64_t test_copied_in_place(const redist_plan *plan);
#else
#ifdef TEST_STATIC /* linked.h */
#define TEST_INSIDE
#else
#define TEST_INSIDE static inline
#endif

/* What was allocated in it is free again; adopted arrays are not. */
TEST_INSIDE void test_empty_arena(redist_arena *arena) { arena->used = 0; }

/* Whether memory was allocated in an arena; NULL: in none. */
TEST_INSIDE int test_lies_in(const redist_arena *arena, const void *memory) {
  return arena != NULL && (uintptr_t)memory - (uintptr_t)arena->memory < arena->bytes;
}

/* The time to fetch what another core wrote, as measured; nothing where memory is not shared. */
TEST_INSIDE void test_set_fetching(redist_arena *arena, int64_t nanoseconds) {
#ifdef REDIST_NO_SHARED
  (void)arena, (void)nanoseconds;
#else
  if (arena->home.size > 0) arena->home.fetching = nanoseconds;
#endif
}

/* Whether one thread calls the combining function. */
TEST_INSIDE int test_is_alone(const redist_plan *plan) { return plan->part->policy.alone; }

TEST_INSIDE double test_seconds(const redist_plan *plan, redist_method method) {
  return plan->seconds[method];
}

/* Whether an execution overwrites elements that it sends. */
TEST_INSIDE int test_overwrites(const redist_plan *plan) { return plan->overwrites; }

/* Whether the arrays of the last execution need no more checking. */
TEST_INSIDE int test_is_checked(const redist_plan *plan) { return plan->checked; }

/* Checks arrays as an execution would. */
TEST_INSIDE int test_check_aliases(redist_plan *plan, const void *const *arrays) {
  int k;
  for (k = 0; k < 2 * plan->arrays; k++) plan->pointers[k] = arrays[k];
  return redist_priv_check_aliases(plan);
}

/* Without an extent to write, checking arrays is an error of memory. */
TEST_INSIDE void *test_swap_extent(redist_plan *plan, void *extent) {
  void *before = plan->extent;
  plan->extent = (redist_priv_extent *)extent;
  return before;
}

/* Whether the ranks of a node share files with names (1), or without (0); -1: nothing. */
TEST_INSIDE int test_is_named(const redist_plan *plan) {
#ifdef REDIST_NO_SHARED
  (void)plan;
  return -1;
#else
  return plan->rings != NULL ? plan->home.named : -1;
#endif
}

#ifndef REDIST_NO_TEXT /* a number of reports */
TEST_INSIDE int64_t test_copied_in_place(const redist_plan *plan) {
  return redist_priv_copied_in_place(plan);
}
#endif
#endif

#endif
