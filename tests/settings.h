/* redist tests: every method, alone and with options that change how it works. MIT licence, see
   LICENSE. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "shapes.h"

#include "redist_plan.h"

typedef struct {
  const char *name;
  redist_method method;
  /* dear: expensive, sets up shared memory, which takes long when ranks outnumber cores */
  int node_ranks, dear, arena;
  int64_t max_buffer;
} setting;

/* MULTIPHASE, which takes no parts, comes last. */
static const setting settings[] = {
    {"point to point", REDIST_POINT_TO_POINT, 0, 0, 0, 0},
    {"automatic", REDIST_AUTO, 0, 1, 0, 0},
#ifndef REDIST_SMALL
    {"alltoallv", REDIST_ALLTOALLV, 0, 0, 0, 0},
    {"alltoallw", REDIST_ALLTOALLW, 0, 0, 0, 0},
    {"scheduled", REDIST_SCHEDULED, 0, 0, 0, 0},
    {"scheduled within 96 bytes", REDIST_SCHEDULED, 0, 0, 0, 96},
    {"automatic within 300 bytes", REDIST_AUTO, 0, 1, 0, 300},
    {"shared", REDIST_SHARED, 0, 1, 0, 0},
    {"shared on nodes of 2", REDIST_SHARED, 2, 1, 0, 0},
    {"shared, arrays in an arena", REDIST_SHARED, 0, 1, 1, 0},
    {"shared on nodes of 2, arrays in an arena", REDIST_SHARED, 2, 1, 1, 0},
    {"nodes of 2", REDIST_NODES, 2, 1, 0, 0},
    {"uneven nodes", REDIST_NODES, UNEVEN, 1, 0, 0},
    {"2 nodes dealt out, arrays in an arena", REDIST_NODES, DEALT_TO_2, 1, 1, 0},
    {"multiphase", REDIST_MULTIPHASE, 0, 1, 0, 0},
#endif
};
enum { SETTINGS = sizeof settings / sizeof *settings };

#endif
