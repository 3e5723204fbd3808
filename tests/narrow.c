/* redist tests: where size_t is narrow, no size wraps: sizes that it cannot represent are not
   requested. A 64-bit machine emulates this with its own limit and memory that records the sizes.
   MIT licence, see LICENSE. */
#include <stdint.h>
#include <stdlib.h>

#undef SIZE_MAX
#define SIZE_MAX UINT32_MAX

static int wrapped; /* allocations whose size does not fit a 32-bit size_t */

static void *narrow_malloc(uint64_t bytes) {
  wrapped += bytes > UINT32_MAX;
  return bytes > 1048576 ? NULL : malloc((size_t)bytes);
}

#define REDIST_MALLOC narrow_malloc
#define REDIST_FREE free
#include "redist.h"
#include "test.h"

/* A grid of 2^30 places. */
static redist_layout large_grid(int first) {
  const int64_t n = INT64_C(1) << 20;
  redist_layout layout = redist_layout_2d(redist_block(n, 32768), redist_cyclic(n, 32768));
  return redist_from_rank(layout, first);
}

static void check(int code, const char *what) {
  test_case(code == REDIST_ERR_MEMORY && wrapped == 0, "%s: code %d, %d sizes wrapped", what, code,
            wrapped);
  wrapped = 0;
}

int main(void) {
  static const int rank[1] = {0};
  const redist_layout from = large_grid(0), to = redist_transposed(large_grid(5));
  const redist_layout few = redist_layout_2d(redist_whole(2), redist_whole(2));
  redist_layout listed = redist_on_ranks(large_grid(0), rank);
  redist_schedule *schedule;
  redist_traffic traffic;
  int ranks[1] = {-1};
  check(redist_layout_check(&listed), "ranks in a list");
  check(redist_traffic_between(&from, &to, 0, &traffic), "traffic");
  check(redist_relabel(&from, &to, 0, ranks), "relabelling");
  listed = redist_replicated(few, 1 << 30);
  check(redist_schedule_create(&few, &listed, 0, &schedule), "the schedule of copies");
  check(redist_traffic_between(&few, &listed, 0, &traffic), "the traffic of copies");
  return test_report("narrow");
}
