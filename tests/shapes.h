/* redist tests: nodes of several shapes, by options.node_ranks: up to NODE_SHAPES that many
   consecutive ranks, else one of the list below. MIT licence, see LICENSE. */
#ifndef SHAPES_H
#define SHAPES_H

enum { NODE_SHAPES = 1000, DEALT_TO_2, DEALT_TO_3, DEALT_TO_4, UNEVEN, IN_REVERSE };

static inline int test_node_of(int rank, int node_ranks) {
  static const int uneven[] = {0, 1, 1, 2, 2, 2, 0, 1, 2};
  if (node_ranks <= NODE_SHAPES) return rank / node_ranks;
  if (node_ranks == UNEVEN) return uneven[rank % 9];
  return node_ranks == IN_REVERSE ? 50 - (rank + 1) / 2 : rank % (node_ranks - DEALT_TO_2 + 2);
}
#define REDIST_PRIV_NODE_OF(rank, node_ranks) test_node_of(rank, node_ranks)

#endif
