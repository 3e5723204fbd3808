/* redist_plan.h: persistent MPI plans: plan once, execute every step. MIT licence, see the end of
 * redist.h.
 *
 *     #include <mpi.h>
 *     #include <stdlib.h>
 *     #include "redist_plan.h"
 *
 *     int main(int argc, char **argv)
 *     {
 *         int p, rank, step;
 *         MPI_Init(&argc, &argv);
 *         MPI_Comm_size(MPI_COMM_WORLD, &p);
 *         MPI_Comm_rank(MPI_COMM_WORLD, &rank);
 *         redist_layout rows = redist_layout_2d(redist_block(1000, p), redist_whole(800));
 *         redist_layout columns = redist_layout_2d(redist_whole(1000), redist_block(800, p));
 *         double *a = calloc((size_t)redist_layout_local_size(&rows, rank), sizeof *a);
 *         double *b = calloc((size_t)redist_layout_local_size(&columns, rank), sizeof *b);
 *         redist_plan *plan;
 *         int error = redist_plan_create(MPI_COMM_WORLD, &rows, &columns, MPI_DOUBLE, NULL, &plan);
 *         for (step = 0; error == REDIST_OK && step < 10; step++)
 *             error = redist_execute(plan, a, b);
 *         if (error == REDIST_OK)
 *             redist_plan_free(&plan);
 *         free(a);
 *         free(b);
 *         MPI_Finalize();
 *         return error;
 *     }
 *
 * Works with any MPI-3.1 library; persistent collectives are used where there are any. A plan
 * duplicates the communicator, so its messages never match the caller's receives, and owns all its
 * state: there are no static data and no attributes. Different threads may use different plans
 * under MPI_THREAD_MULTIPLE; plans that share an arena are not thread-safe. The library allocates
 * nothing between redist_start and redist_wait. Whatever waits yields the processor after a few
 * tests.
 *
 * Errors. Functions that return int return a redist_error. In redist_plan_create the ranks agree:
 * when one fails, every rank returns the same error, with the same sentence in options.message.
 * Mistakes in the arguments of an execution are reported on the calling rank only, before it sends
 * anything: it may call again with correct ones; redist_plan_message gives the sentence. MPI errors
 * are reported as REDIST_ERR_MPI; the plan may then only be freed, and its communicator stays
 * allocated, for messages may still be in flight.
 *
 * Map: the sections in their order, p with prototypes, b with bodies.
 *     p    types
 *       b  waiting
 *       b  errors
 *       b  the plan
 *       b  combining
 *       b  checking arguments
 *       b  peers
 *       b  staging
 *       b  pieces
 *       b  REDIST_POINT_TO_POINT and REDIST_SCHEDULED
 *       b  datatypes
 *       b  MPI's collectives
 *       b  REDIST_ALLTOALLV
 *       b  REDIST_ALLTOALLW
 *       b  shared memory
 *       b  adopted arrays
 *       b  REDIST_SHARED
 *       b  nodes
 *       b  REDIST_NODES
 *       b  the network
 *       b  REDIST_MULTIPHASE
 *       b  choosing a method
 *     p b  plans
 *     p b  reports
 *       b  calibrating
 *     p b  arenas
 *     p b  files
 */
#include "redist.h" /* also the second time: it diagnoses a late REDIST_IMPLEMENTATION */
#ifndef REDIST_PLAN_H
#define REDIST_PLAN_H

#include <mpi.h>

#ifdef REDIST_PRIV_BODIES
#if defined __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifndef REDIST_YIELD
#include <sched.h>
#define REDIST_YIELD() ((void)sched_yield()) /* yields the processor while waiting */
#endif

/* REDIST_NAMED_MEMORY: files in shared memory have names, as where /proc does not show them. */
#if defined __linux__ && UINTPTR_MAX > UINT32_MAX && (defined __GNUC__ || defined __clang__) && \
    !defined SMPI_H && !defined REDIST_NO_SHARED
#define REDIST_PRIV_SHARES /* ranks of a node share memory, with flags of 64 bits */
#if defined __O_CLOEXEC    /* glibc, with -std=c99 under this name only */
#define REDIST_PRIV_FLAG(name) __O_##name
#else
#define REDIST_PRIV_FLAG(name) O_##name
#endif
#if (defined __O_TMPFILE || defined O_TMPFILE) && !defined REDIST_NAMED_MEMORY
#define REDIST_PRIV_UNNAMED REDIST_PRIV_FLAG(TMPFILE)
#else
#define REDIST_PRIV_UNNAMED 0 /* opening a directory for writing fails */
#endif
#endif

#if defined REDIST_PRIV_SHARES || !defined REDIST_NO_COLLECTIVES || \
    !defined REDIST_NO_SCHEDULED || !defined REDIST_NO_MULTIPHASE || !defined REDIST_NO_NODES
#define REDIST_PRIV_CHOOSES /* between several methods */
#define REDIST_PRIV_CUTS 1  /* messages into pieces that take less memory */
#else
#define REDIST_PRIV_CUTS 0
#endif

#ifndef REDIST_MAX_COUNT
/* the largest count given to MPI; larger messages are cut, or sent in larger units */
#define REDIST_MAX_COUNT INT_MAX
#endif

#ifndef REDIST_PIECE_BYTES
/* REDIST_SHARED, bytes: the largest piece that one rank packs before another unpacks it; should fit
   a cache */
#define REDIST_PIECE_BYTES 262144
#endif

#ifndef REDIST_RING_BYTES
/* REDIST_SHARED, bytes: shared staging memory of a rank, for one plan or for all in an arena */
#define REDIST_RING_BYTES 4194304
#endif

#ifndef REDIST_FLIGHT_BYTES
/* REDIST_SCHEDULED, bytes: of pieces in flight together; 0: one piece at a time */
#define REDIST_FLIGHT_BYTES 65536
#endif

#ifndef REDIST_EAGER_BYTES
/* REDIST_SCHEDULED, bytes: of a piece; at most what MPI sends eagerly */
#define REDIST_EAGER_BYTES 16384
#endif

/* Open MPI 5 says that it is MPI 3.1, but has persistent collectives. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define REDIST_PRIV_PERSISTS 1
#else
#define REDIST_PRIV_PERSISTS 0
#endif

#ifndef REDIST_PRIV_NODE_OF
/* which node options.node_ranks puts a rank on; tests put nodes of other shapes in its place */
#define REDIST_PRIV_NODE_OF(rank, node_ranks) ((rank) / (node_ranks))
#endif

/* Further constants: their unit, what they decide, and the command that measured them (chosen: none
   did). Waiting: */
/* tests before the processor is yielded; build/small on more ranks than cores */
#define REDIST_PRIV_TRIES 20
/* tests of flags alone per call of MPI, which progresses other messages; chosen */
#define REDIST_PRIV_PROGRESS 64

/* A datatype of scattered elements: elements in each of those that it consists of; chosen */
#define REDIST_PRIV_IN_A_TYPE 1048576

/* REDIST_SHARED: */
#define REDIST_PRIV_SLOTS 4          /* slots of the ring of a message of several pieces; chosen */
#define REDIST_PRIV_LEAST_PIECE 4096 /* bytes: no ring has shorter pieces; chosen */
/* bytes: the least length of pieces along fast axes; build/methods */
#define REDIST_PRIV_WIDE 1024
/* bytes: rings of messages up to this size have two slots, so that a sender need not wait for the
   last execution; build/small */
#define REDIST_PRIV_SHORT 32768
/* bytes from which on redist_execute waits to hear where to push a message to a rank from which it
   receives: 2 to 4 times as fast as by the ring, if not written or read between; build/halo */
#ifndef REDIST_PRIV_AWAITED
#define REDIST_PRIV_AWAITED 4096
#endif
/* cache lines read for one used, from which on the sender packs; build/methods. Messages of up to
   REDIST_PRIV_NEAR bytes it packs from 2 on: 1.5 to 1.9 times a memcpy, not 2.0 to 2.6;
   build/cycles */
#define REDIST_PRIV_WASTEFUL 6
/* nanoseconds of a flag there and back: below the first cores share a cache (90 to 125 measured),
   above the second they share none (480 to 1700); build/cycles. In between (280 to 420 where cores
   share only the last cache) it depends on the time to fetch lines that another core has just
   written, in percent of that for lines that it streamed: */
#ifndef REDIST_PRIV_CLOSE_BY
#define REDIST_PRIV_CLOSE_BY 200
#define REDIST_PRIV_FAR_APART 450
#endif
/* Above the first the cores are taken to share no cache. Above the second, messages of up to
   REDIST_PRIV_CACHED bytes take the ring (95 where a flag takes 280 ns); build/cycles */
#define REDIST_PRIV_FAR 125
#define REDIST_PRIV_NOT_NEAR 75
#ifndef REDIST_PRIV_CACHED
#define REDIST_PRIV_CACHED 1048576
#endif
#define REDIST_PRIV_PROBE_BYTES 32768 /* of those lines */
/* nanoseconds: ranks that answer later share a core, or wait for one (2,000 and more; up to 700
   between cores), so that the time says nothing of them, and is taken again so often; build/cycles
   beside a busy process */
#define REDIST_PRIV_NO_ANSWER 1000
#define REDIST_PRIV_ASKED 3
#define REDIST_PRIV_ANSWER 0.01  /* seconds to wait for an answer: some slices; chosen */
#define REDIST_PRIV_PROBING 1e-5 /* seconds of a probe, if answers are slow; build/create */
#define REDIST_PRIV_SPINS 1000   /* looks at a flag before the processor is yielded; chosen */
/* rounds of the flag that are timed together, and how many times at least; chosen */
#define REDIST_PRIV_ROUNDS 8
#define REDIST_PRIV_LEAST_TIMED 3
/* bytes of shared memory left to others; where little more is free, a rank takes a sixteenth of
   them at a time; chosen */
#define REDIST_PRIV_SPARE 1048576
/* bytes from which messages to cores that share no cache are streamed; build/cycles */
#define REDIST_PRIV_STREAMED 4096

/* Seconds per message and per byte where the network is not measured; see redist_priv_predict. */
#define REDIST_PRIV_WITHIN 1e-6, 5e-10  /* MPI's messages in a node; build/small, build/methods */
#define REDIST_PRIV_RINGS 7e-7, 3e-10   /* rings; the same */
#define REDIST_PRIV_BETWEEN 1e-6, 8e-10 /* messages between nodes: 10 Gbit/s; chosen */
/* REDIST_NODES: bytes of a message between nodes from which on it is worth another one */
#ifndef REDIST_PRIV_NODE_MESSAGE
#define REDIST_PRIV_NODE_MESSAGE 65536
#endif
/* the ratio of long messages' time to that of short pieces, if not measured; bench/cluster.sh */
#define REDIST_PRIV_CROWDING 2
/* the part of a message's time during which no other is on the link; bench/simulate.sh */
#define REDIST_PRIV_IDLE 0.25
/* the time to set up rings, in duplications of a communicator; build/small */
#define REDIST_PRIV_SETUP 15
/* the fraction of options.cost.per_message that concurrent messages share; chosen */
#define REDIST_PRIV_LATENCY 0.9
/* how many messages at most share a latency, however long cores made it seem; chosen */
#define REDIST_PRIV_MOST_SHARED 32
#define REDIST_PRIV_NEARER 8 /* the latency between nodes over that inside one; bench/simulate.sh */
/* how much faster a chain, or another method than estimated, must be; bench/simulate.sh */
#define REDIST_PRIV_MARGIN 1.1
#define REDIST_PRIV_WITHIN_MARGIN 1.8 /* the same inside a node, for blocks; build/replicas */
/* bytes from which on no rank sends or receives a replica more than twice; chosen */
#define REDIST_PRIV_LONG_REPLICA 65536
#define REDIST_PRIV_GRAIN 8 /* indices of an axis per block that is cut from it; chosen */

/* Measuring the network, by bursts of messages, and the methods: */
#define REDIST_PRIV_OFTEN 10 /* the network is measured from so many executions on; chosen */
#define REDIST_PRIV_SMALL 8  /* bytes of a short message; chosen */
/* messages of a burst, and pieces of a long one; bench/simulate.sh */
#define REDIST_PRIV_BURST 8
#define REDIST_PRIV_SERIES 3 /* how often a method is timed, first to warm up; chosen */
/* executions each time, if one takes less than so many seconds; chosen */
#define REDIST_PRIV_MANY 20
#define REDIST_PRIV_BRIEF 5e-4
#elif defined REDIST_YIELD || defined REDIST_MAX_COUNT || defined REDIST_PIECE_BYTES || \
    defined REDIST_RING_BYTES || defined REDIST_FLIGHT_BYTES || defined REDIST_EAGER_BYTES
#error \
    "REDIST_YIELD and others do nothing in a file that only declares: the implementation has them"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------- types */

/* How a plan exchanges, and where that is best. Elements that stay on a rank bypass MPI always. */
typedef enum {
  REDIST_AUTO = 0, /* chosen by the library: the fastest as predicted, or as measured */
  /* packed, one MPI_Alltoallv: networks on which it is faster than messages */
  REDIST_ALLTOALLV,
  /* derived datatypes, no staging memory: long runs (128 doubles and more), scarce memory; replaced
     by another where they do not convert (options.wire), where one rank cannot know how another's
     array is stored (merged axes with redist_with_allocated on some rank), and for 1-byte elements
     with Open MPI, which gets them wrong */
  REDIST_ALLTOALLW,
  /* packed, persistent messages, only to ranks that share elements; if contiguous, not packed */
  REDIST_POINT_TO_POINT,
  /* contention-free steps, in short pieces that never run ahead of what is received, with any
     max_buffer: networks between nodes, scarce memory */
  REDIST_SCHEDULED,
  /* shared memory inside a node; between nodes as REDIST_SCHEDULED or, for short messages (600
     bytes), REDIST_POINT_TO_POINT; from REDIST_AUTO the faster one */
  REDIST_SHARED,
  /* a chain of plans through intermediate layouts: those of redist_phases, for tiny messages, or
     blocks of replicas, for broadcasts and for sums over replicas by commutative MPI_Ops */
  REDIST_MULTIPHASE,
  /* what the ranks of a node send to another node goes in one message, or in a few, gathered and
     handed out through shared memory; inside a node as REDIST_SHARED: short messages between nodes
     of several ranks */
  REDIST_NODES
} redist_method;

enum { REDIST_PRIV_METHODS = REDIST_NODES + 1 };

/* How REDIST_AUTO chooses: by prediction, or by timing candidates on scratch arrays of full
   size. */
typedef enum { REDIST_ESTIMATE = 0, REDIST_MEASURE } redist_effort;

/* How elements travel: as they are, or as float. */
typedef enum { REDIST_WIRE_EXACT = 0, REDIST_WIRE_FLOAT } redist_wire;

/* A prepared redistribution, made by redist_plan_create. What it contains is private. */
typedef struct redist_plan redist_plan;
/* Shared memory of a node's ranks, made by redist_arena_create. What it contains is private. */
typedef struct redist_arena redist_arena;

/* Options of a plan: all zero is the default (redist_options options = {0}). Every rank passes the
   same ones, except fixed_from, fixed_to, context, message. All numbers are >= 0, and costs finite.
   They are copied; what they point to must live as long as the plan, but for message, which is
   written by redist_plan_create. */
typedef struct {
  redist_method method;
  redist_effort effort;
  int arrays; /* arrays moved by one execution, in one message per peer; 0 means 1 */
  /* bytes of staging memory per rank that the plan may hold; 0: no limit. Smaller means more pieces
     of messages; the tables of each take about 200 bytes beside it */
  size_t max_buffer;
  /* not 0: source and destination may be the same memory, from[i] == to[i], whatever places of a
     rank share it; of parts, any from[i] and to[j] may. Elements that are already at their
     destination are not copied, but for single ones where the two views step differently (the
     middle of a flipped axis). Different halos of the two layouts change the offsets; then those
     that stay on the rank are copied, too (redist_plan_print counts them). A plan that also
     combines may be refused: see "Combining" */
  int in_place;
  /* where arrays may live (redist_arena_create), or NULL; the same arena on every rank */
  redist_arena *arena;
  /* fixed arrays (one array per execution only): every execution passes exactly these, so that
     persistent requests can use them directly; NULL: arrays may change */
  const void *fixed_from;
  void *fixed_to;
  /* how often the plan will run, for REDIST_AUTO to weigh the cost of creation; 0: many */
  int executions;
  int node_ranks; /* > 0: treat the communicator as nodes of so many ranks (for tests) */
  int timed;      /* not 0: seconds of copying and waiting are added up (redist_stats) */
  /* not 0, for debugging: every execution begins with an agreement of the ranks whether all gave
     correct arguments. If not, all return the same error and sentence, and the plan can be started
     again. Arrays of double, float, int and int64_t must be aligned as C has them, too. Starting
     then waits for all ranks, which start their plans in the same order */
  int checked;
  /* REDIST_WIRE_FLOAT: elements of double, or of double complex, travel as float, so that messages
     are half as long. Every element is rounded as C converts it, once, before it is sent, combined
     or copied on its rank: results are the same bits whatever the distribution, the method and the
     number of ranks. Not so in place: elements that are not copied are not rounded, so ghost cells
     may be, and what they are filled from is not. Of several parts, those of other types travel as
     they are; one at least must be of doubles. Not with REDIST_ALLTOALLW, which is replaced */
  redist_wire wire;
  /* the function that combines arriving elements with the destination's (redist_combine_op,
     redist_combine_axpby, or your own); NULL: they replace these. Given on all ranks, or none; not
     with fixed arrays; in place, only for views with identical strides. REDIST_MEASURE calls it on
     scratch arrays while the plan is made */
  redist_combine *combine;
  void *context;
  /* cost of a message and a byte; zero: measured where REDIST_AUTO, or a chain, needs it */
  redist_cost cost;
  /* message[message_size]: receives the sentence of a failure, "" on success; or NULL */
  char *message;
  size_t message_size;
} redist_options;

/* What one execution does on this rank. */
typedef struct {
  redist_method method;
  int64_t sends, receives;                         /* messages to and from other ranks       */
  int64_t bytes_sent, bytes_received, bytes_local; /* per execution, all arrays; the first two as
                                                      they travel (options.wire) */
  int64_t buffer_bytes;                            /* staging memory that the plan holds     */
  /* of shared memory, the plan's or the arena's; buffer_bytes includes its rings */
  int64_t shared_bytes;
  /* of REDIST_SCHEDULED's schedule and REDIST_MULTIPHASE's chain; elsewhere 1 */
  int steps, phases;
  int64_t executions; /* complete ones so far */
  /* with options.timed, seconds of all executions so far: in the plan's copies and combining, and
     the rest of the time inside redist_start, redist_test and redist_wait, MPI included. A rank
     that waits much longer than others has less to do, or the others start later */
  double copying, waiting;
} redist_stats;

/* ---------------------------------------------------------------------------------------- plans */

/* Plans the redistribution of arrays from one layout to another, whose views have the same shape.
   Collective over comm (an intracommunicator), which is duplicated and may be freed after the call.
   from, to: valid layouts on ranks of comm; the lists that they refer to (cuts, ranks, offsets,
       boxes) may be freed after the call, for the plan has copies. Every rank passes the same
       layouts; only lengths given by redist_with_allocated and offsets may differ. A rank's places
       must not share cells that hold elements (REDIST_ERR_LAYOUT).
   element: a datatype without gaps (size = extent); it may be freed after the call.
   options: NULL for defaults.
   *plan: the new plan, NULL on failure; free it with redist_plan_free.
   Costs O(sum of the axes' runs + peers), O(ranks) for the collective methods and on several nodes;
   not O(elements). MPI libraries have only some thousands of communicators. A plan holds one; a
   chain of REDIST_MULTIPHASE also those of its plans; a plan in an arena none, or one if it uses
   MPI's collectives, REDIST_NODES without shared memory, or fewer ranks than the arena.
   Errors, the same on every rank: REDIST_ERR_ARGUMENT, _LAYOUT, _SHAPE, _RANK, _OVERFLOW, _TYPE,
   _MISMATCH, _MEMORY, _MPI. A bad communicator is reported on the calling rank only. Errors of MPI
   on comm itself, while it is duplicated, go to its error handler. */
REDIST_API int redist_plan_create(MPI_Comm comm, const redist_layout *from, const redist_layout *to,
                                  MPI_Datatype element, const redist_options *options,
                                  redist_plan **plan);

/* A part of a plan: an array that it moves from one layout to another. Layouts and element as for
   redist_plan_create; combine and context as in redist_options, which apply if combine is NULL. */
typedef struct {
  const redist_layout *from, *to;
  MPI_Datatype element;
  redist_combine *combine;
  void *context;
} redist_part;

/* Plans several parts, of any shapes, layouts and element types, whose elements travel in one
   message per peer: fields of different staggering, or a redistribution with a halo exchange.
   redist_execute_many(plan, from[parts], to[parts]) moves part k from from[k] to to[k]. Collective.
   part[parts]: parts >= 1, the same on all ranks except allocated lengths, offsets and contexts;
       may be freed after the call.
   options: arrays is 0 or 1, fixed_from and fixed_to are NULL, method is not REDIST_MULTIPHASE.
   Several parts may use one array; with options.in_place any from[i] may be any to[j]. No element
   that one part writes may be read or written by another: redist cannot check that.
   Errors as redist_plan_create; sentences name the part: "rank 3: part 2: source axis 0: ...". */
REDIST_API int redist_plan_create_parts(MPI_Comm comm, int parts, const redist_part *part,
                                        const redist_options *options, redist_plan **plan);

/* Combining (options.combine). Every holder of an element in the source contributes: its owner, the
   ghost cells of redist_with_ghosts, and all replicas. Every holder in the destination receives.
   Contributions to an element are combined one at a time: first the receiving rank's own, then
   those of the other ranks, rank by rank, in an order that depends only on method, layouts and
   nodes. A rank may hold an element several times; then its cell inside the array comes first,
   owned or ghost, and its ghost cells past the ends of periodic axes follow. With two such axes
   they come in this order:

       axis 0     low   high  -     low   high  -     low   high      -: past neither end
       axis 1     -     -     low   low   low   high  high  high

   Sums over replicas through blocks (REDIST_MULTIPHASE) begin with what the rank of an element's
   block contributes, then come those of the other ranks in that order, and all of it is combined
   with what the destination holds. Groups of replicas may be summed before, of those on a node
   or of others, and then their sums in that order. The groups depend on the costs of messages as
   well: options.cost or, if the method is REDIST_AUTO, measured ones.

   With one method, the same arrays give the same bits. Arenas, sizes of pieces, when ranks start
   and which plan progresses first do not matter; max_buffer only where REDIST_MULTIPHASE chooses
   the method of its phases by it. But the function's results must not depend on how many elements
   it is called with, as those of redist_combine_axpby may where a compiler contracts complex
   products (gcc's -std=gnu99 does). In place, an element that is its own destination does
   not contribute, whatever the numbers of the two places that name its cell: a plan from a layout
   with ghosts to the same without combines every ghost cell into its owner's element, and changes
   nothing else. These elements cannot be distinguished where two places overlap in the array
   that have different strides there, or through which the two views run in different orders: such a
   plan is refused ("needs views with identical strides"). That may depend on how many ranks there
   are. */

/* The context of redist_combine_op: an operation that MPI_Reduce_local accepts, and the type of the
   elements. */
typedef struct {
  MPI_Op op;
  MPI_Datatype type;
} redist_op;
/* Combines by an MPI operation: to[i] = op(from[i], to[i]) by MPI_Reduce_local, whose errors go to
   MPI's error handler alone; context: a redist_op. */
REDIST_API void redist_combine_op(const void *from, void *to, int64_t n, void *context);

/* Moves one array: redist_start, then redist_wait. Collective over the plan's communicator. Some
   ranks may call redist_execute where others call those two, except where options.effort is
   REDIST_MEASURE: REDIST_ALLTOALLV may then be the blocking MPI_Alltoallv, which waits as the MPI
   library does.
   from, to: local arrays of redist_layout_local_size elements; NULL on ranks that own nothing
       there. They overlap only with options.in_place; where cells may interleave
       (redist_with_allocated, redist_at_offsets), only the caller can tell.
   REDIST_ERR_ARGUMENT (NULL, or a plan for several arrays), _ALIAS, _BUSY, _BUFFER: this rank has
   sent nothing, and redist_plan_message gives the reason. The other ranks learn nothing: those that
   need its elements wait until it calls again with correct arguments; with options.checked all
   return the error. REDIST_ERR_MPI: the plan may only be freed. */
REDIST_API int redist_execute(redist_plan *plan, const void *from, void *to);

/* Starts moving one array. Collective, but does not wait for other ranks. Elements move inside this
   and later calls of redist: a rank that does something else in between may keep others waiting, so
   it should wait for none of them there. Until redist_wait returns, or redist_test sets *done, the
   source is read-only and the destination must not be accessed, except what redist_next_arrival
   names. Several plans may be started at a time, in any order. Waiting for one progresses only that
   one (in an arena: all), so ranks that wait for different plans may deadlock. Wait for them in the
   same order on all ranks, or by redist_wait_all or redist_test_all, or call redist_test for all of
   them round-robin. Small messages may get through in any order; do not rely on it. Errors as
   redist_execute: where a rank's arguments are refused, nothing is started, and other ranks may
   stay in redist_wait until that rank has started with correct ones. */
REDIST_API int redist_start(redist_plan *plan, const void *from, void *to);

/* Progresses a started execution. Local. *done = 1 when it is complete, as after redist_wait; else,
   and on failure, 0. REDIST_ERR_ARGUMENT, _BUSY (nothing is started), _MPI (the plan may only be
   freed). */
REDIST_API int redist_test(redist_plan *plan, int *done);

/* Completes a started execution, yielding the processor while it waits. Collective: ranks wait for
   several started plans in the same order, unless the plans are in one arena. REDIST_ERR_ARGUMENT,
   _BUSY (nothing is started), _MPI (the plan may only be freed). */
REDIST_API int redist_wait(redist_plan *plan);

/* Names a source rank whose elements are all in place on this rank, while others may be on their
   way, so that work can begin on them. Each is named once an execution, in the order of arrival.
   Progresses a started execution, as redist_test does, but does not end it: redist_wait or
   redist_test does, and ranks not yet named can be named after that. Local.
   *rank: a rank of the plan's communicator, whose elements in all arrays or parts are now in the
       destination, or combined with it; this rank, too, if elements stay on it. -1: no further rank
       has arrived yet; after the end of the execution: all are named; on failure.
   The elements of a named rank may be accessed; but in place those that belong to the source, too,
   stay read-only until the end, as do elements that other ranks combine with. Messages by MPI's
   collectives, and by REDIST_MULTIPHASE, all arrive at the end.
   REDIST_ERR_ARGUMENT, _BUSY (never started), _MPI (which ends the execution). */
REDIST_API int redist_next_arrival(redist_plan *plan, int *rank);

/* Progress several started plans, plan[plans], plans >= 0, which each rank may list in any order:
   redist_test_all sets *done = 1 when all are complete, else 0; redist_wait_all returns when they
   are. Plans that are not started, or are complete, count as done. Returns the first error in list
   order; incomplete plans stay started. redist_test_all is local, redist_wait_all collective.
   REDIST_ERR_ARGUMENT (nothing progresses, *done is not written), _MPI. */
REDIST_API int redist_test_all(int plans, redist_plan *const *plan, int *done);
REDIST_API int redist_wait_all(int plans, redist_plan *const *plan);

/* Move several arrays, as redist_execute and redist_start move one: options.arrays arrays of the
   plan's two layouts, or one for each part of redist_plan_create_parts. from and to have as many
   entries, which may be changed when the call returns; the arrays as for redist_execute.
   Collective. Errors as redist_execute. */
REDIST_API int redist_execute_many(redist_plan *plan, const void *const *from, void *const *to);
REDIST_API int redist_start_many(redist_plan *plan, const void *const *from, void *const *to);

/* Frees a plan and sets *plan to NULL; does nothing if it is NULL. Collective.
   REDIST_ERR_ARGUMENT (`plan` is NULL), _BUSY (started): the plan lives on. */
REDIST_API int redist_plan_free(redist_plan **plan);

/* Why a call for the plan last failed, as a sentence ("the plan moves 2 arrays: call
   redist_execute_many"), or "". The text belongs to the plan and lasts until its next failure.
   Never NULL. Local. */
REDIST_API const char *redist_plan_message(const redist_plan *plan);

/* Writes what an execution does on this rank, and the time of all so far. Local.
   REDIST_ERR_ARGUMENT: NULL; nothing is written. */
REDIST_API int redist_plan_stats(const redist_plan *plan, redist_stats *stats);

/* Measures what a message and a byte cost between the ranks of comm (an intracommunicator). All
   ranks exchange small and large messages in pairs at once, so that the ranks of a node share its
   links; where there are several nodes, most pairs are on two. The slowest pair counts. Takes some
   milliseconds. Collective.
   *cost: the same on every rank, both members > 0; not written on failure.
   The same on every rank: REDIST_ERR_ARGUMENT (NULL), _MEMORY, _MPI. A bad communicator is reported
   on the calling rank only. */
REDIST_API int redist_calibrate(MPI_Comm comm, redist_cost *cost);

/* -------------------------------------------------------------------------------------- reports */

#ifndef REDIST_NO_TEXT
/* Rank 0 writes one report for all ranks to file, which the others may pass as NULL: the layouts
   (redist_layout_parse reads them), the method and the reason for it, the seconds of every method
   where they were predicted, or measured by REDIST_MEASURE, the costs of messages on which
   predictions rest (given, measured or assumed), messages, bytes, staging memory, steps, phases,
   and the fastest execution so far. With options.timed also the time spent copying and waiting: the
   mean of the ranks, and the slowest. Collective.
   REDIST_ERR_ARGUMENT (NULL; for file, on rank 0 only), _MPI. */
REDIST_API int redist_plan_print(redist_plan *plan, FILE *file);
#endif

/* --------------------------------------------------------------------------------------- arenas */

/* Shared memory of the ranks of a node, set up once for arrays and plans. Plans that are given the
   arena (options.arena) copy arrays that lie in it straight from the sender's to the receiver's.
   Other arrays go through rings, for which the arena holds REDIST_RING_BYTES per rank besides
   `bytes`. Such a plan needs no MPI set-up: it takes its rings from the arena, or sends messages
   when no room is left. If it is for the same ranks, it uses the arena's communicator; only
   MPI's collectives need one more, and REDIST_AUTO measures the network between nodes only once.
   Waiting for one of an arena's plans progresses all that are started, so ranks may wait for them
   in different orders. Where shared memory is missing or too small, arrays are in ordinary memory.
   Only one thread at a time may use an arena and its plans. All pages are committed at creation.
   An arena keeps one file open for each rank of the node, to adopt arrays.
   Collective over comm, which is duplicated and may be freed. bytes: for this rank, any number
   >= 0. *arena: the new arena, NULL on failure.
   A NULL pointer or a bad communicator is reported on the calling rank only (REDIST_ERR_ARGUMENT);
   the same on every rank: REDIST_ERR_MEMORY (also above 2^50 bytes, or 2^30 where size_t has 32
   bits), _MPI. */
REDIST_API int redist_arena_create(MPI_Comm comm, size_t bytes, redist_arena **arena);

/* Allocates the next `bytes` of this rank's arena, aligned to 64 bytes; NULL when fewer are left.
   The arena owns the memory, which lasts until redist_arena_free. Local. */
REDIST_API void *redist_arena_alloc(redist_arena *arena, size_t bytes);

/* Makes an array that exists part of the arena, where it is: from malloc, from ALLOCATE, static, or
   in a COMMON block. Plans of the arena then copy straight to and from it, as if
   redist_arena_alloc had given it. Its pages, rounded outwards, become shared memory; what is in
   them stays. Takes about 1 ms a MB, once. Several arrays that one arena adopts may share a page,
   or overlap; with another arena's they share none (small ones from malloc might).
   While this call, redist_arena_release or redist_arena_free runs, no other thread may write to
   these pages, nor, in the first and the last of them, to what lies beside the array: for a small
   array from malloc, the heap. While the array is adopted, processes made by fork write to the same
   memory. Free it, or change its size, only after redist_arena_release, which would otherwise
   access memory that is gone. Not for arrays on the stack, or in memory that is another arena's, or
   that MPI, a device or a file has mapped or registered. (Compilers' address sanitizers report the
   reading of what lies beside an array in its pages.) Collective over the arena's ranks, while none
   of its plans is started.
   array: this rank's.
   bytes: its size, >= 0. 0: this rank adopts nothing.
   The same on every rank, and nothing has changed: REDIST_ERR_ARGUMENT (NULL; in the arena; adopted
   already; a page is another arena's or a shared file's), _BUSY (a plan is started), _MEMORY
   (shared memory is missing or too small, or there are too many mappings: plans then use rings),
   _MPI. A NULL arena is reported on the calling rank only. */
REDIST_API int redist_arena_adopt(redist_arena *arena, void *array, size_t bytes);

/* Makes an adopted array private again; its contents and its address stay. Its pages remain a
   mapping of their own until the memory is returned to the system, and systems limit how many
   mappings a process has (Linux: 65,530, vm.max_map_count): do not adopt ever new small arrays.
   Collective over the arena's ranks, while none of its plans is started.
   array: what this rank gave to redist_arena_adopt; where it adopted nothing, that or NULL.
   The same on every rank: REDIST_ERR_ARGUMENT (not adopted, or NULL on all ranks), _MISMATCH (ranks
   give arrays of different calls of redist_arena_adopt), _BUSY (a plan is started), _MPI. A NULL
   arena is reported on the calling rank only. */
REDIST_API int redist_arena_release(redist_arena *arena, void *array);

/* Frees an arena, with its memory, after releasing the arrays that it has adopted, and sets *arena
   to NULL; does nothing if it is NULL. Collective over the arena's ranks. REDIST_ERR_ARGUMENT
   (`arena` is NULL), _BUSY, on every rank (free its plans first): the arena lives on. */
REDIST_API int redist_arena_free(redist_arena **arena);

/* ---------------------------------------------------------------------------------------- files */

/* Makes the datatypes with which a rank writes its elements of an array to a file, or reads them.
   The file holds the elements of the view row by row (last axis fastest):

       MPI_File_set_view(f, header_bytes, element, file, "native", MPI_INFO_NULL);
       MPI_File_write_all(f, array, 1, memory, MPI_STATUS_IGNORE);

   Both select the elements that the rank owns in replica 0, in the order of the file, without ghost
   cells and padding. A rank that owns nothing there gets types of size 0. Local.
   layout: valid, with this rank's own allocated lengths; readers may use another layout and other
       ranks than writers.
   rank: >= 0, a rank of the layout or not.
   element: a datatype without gaps (size = extent); it may be freed after the call.
   *file: displacements ascend, the lower bound is 0, the extent covers all elements of the view.
   *memory: the lower bound is 0, the extent covers the rank's array (redist_layout_local_size).
       So a count of 2 writes two arrays that follow each other in memory and in the file. Both are
       committed; the caller frees them. MPI_DATATYPE_NULL on failure.
   REDIST_ERR_ARGUMENT (NULL), _LAYOUT (also an allocated length that is too small), _RANK,
   _OVERFLOW (an extent of more than 2^62 bytes), _TYPE, _MEMORY, _MPI. */
REDIST_API int redist_layout_types(const redist_layout *layout, int rank, MPI_Datatype element,
                                   MPI_Datatype *file, MPI_Datatype *memory);

/* =================================================================================================
   Bodies.
   ============================================================================================== */

#ifdef REDIST_PRIV_BODIES

/* -------------------------------------------------------------------------------------- waiting */

/* MPI's calls that wait may keep the core, on which the rank that they wait for might have to run.
   So whatever waits for other ranks tests, and yields after REDIST_PRIV_TRIES tests. */

REDIST_PRIV void redist_priv_yield(int *tries) {
  if (*tries >= REDIST_PRIV_TRIES)
    REDIST_YIELD();
  else
    ++*tries;
}

/* Waits, yielding, for the request of an MPI call that returned `code`. */
REDIST_PRIV int redist_priv_await(int code, MPI_Request *request) {
  int done = 0, tries = 0;
  while (code == MPI_SUCCESS && !done) {
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    redist_priv_yield(&tries);
  }
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Frees a request. A receive that is still pending, because MPI failed elsewhere, is cancelled: it
   must not write later. */
REDIST_PRIV_COLD void redist_priv_drop(MPI_Request *request, int receives) {
  int idle = 1;
  if (*request == MPI_REQUEST_NULL) return;
  if (receives && MPI_Request_get_status(*request, &idle, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
      !idle)
    MPI_Cancel(request);
  MPI_Request_free(request);
}

/* Replaces values[n] by their sums or maxima over ranks. Collective. */
REDIST_PRIV int redist_priv_reduce(MPI_Comm comm, int64_t *values, int n, MPI_Op op) {
  MPI_Request request;
  return redist_priv_await(MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, op, comm, &request),
                           &request);
}

REDIST_PRIV int redist_priv_broadcast(MPI_Comm comm, void *data, size_t bytes, int root) {
  MPI_Request request;
  return redist_priv_await(MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, comm, &request), &request);
}

/* What this rank sends to another one, and receives from it; rank < 0: nothing. */
typedef struct {
  int rank;
  int bytes[2];
  void *data[2];
  MPI_Request request[2];
} redist_priv_swap;

REDIST_PRIV_COLD int redist_priv_post_swap(redist_priv_swap *s, int receives, int tag,
                                           MPI_Comm comm) {
  MPI_Request *request = &s->request[receives];
  return receives ? MPI_Irecv(s->data[1], s->bytes[1], MPI_BYTE, s->rank, tag, comm, request)
                  : MPI_Isend(s->data[0], s->bytes[0], MPI_BYTE, s->rank, tag, comm, request);
}

/* Sends to and receives from n ranks, each of which calls this, too. What cannot be posted is tried
   again, because others wait for it; the error remains. All messages are completed even on failure:
   a later plan would receive one left behind. */
REDIST_PRIV_COLD int redist_priv_swap_all(redist_priv_swap *s, int n, int tag, MPI_Comm comm) {
  int k, posted, code = MPI_SUCCESS;
  for (k = 0; k < 2 * n; k++) {
    MPI_Request *request = &s[k / 2].request[k % 2];
    *request = MPI_REQUEST_NULL;
    if (s[k / 2].rank < 0) continue;
    posted = redist_priv_post_swap(&s[k / 2], k % 2, tag, comm);
    if (posted != MPI_SUCCESS && redist_priv_post_swap(&s[k / 2], k % 2, tag, comm) != MPI_SUCCESS)
      *request = MPI_REQUEST_NULL;
    code = code == MPI_SUCCESS ? posted : code;
  }
  for (k = 0; k < 2 * n; k++) {
    MPI_Request *request = &s[k / 2].request[k % 2];
    posted = *request == MPI_REQUEST_NULL ? MPI_SUCCESS : redist_priv_await(MPI_SUCCESS, request);
    if (posted != MPI_SUCCESS) redist_priv_drop(request, k % 2);
    code = code == MPI_SUCCESS ? posted : code;
  }
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* --------------------------------------------------------------------------------------- errors */

/* The ranks of a plan must make the same choices without exchanging all they know. So each rank
   puts what matters into numbers (its facts), and all agree on the maxima over ranks. All members
   are int64_t. The maxima of a number and of its negative say whether all ranks have the same:

       rank       0   1   2    all
       peers      2   3   3      3
       hash       7   7   7      7
       not_hash  -7  -7  -7     -7   the hash is 7 on every rank */
typedef struct {
  int64_t words, hash, not_hash; /* numbers that must be equal: how many, and their hash */
  int64_t unfixed[2];            /* by side: a rank owns something, but gives no fixed array */
  int64_t largest;               /* bytes of staging memory or of an array */
  int64_t peers;
  int64_t message;        /* bytes */
  int64_t bytes;          /* of all messages that a rank sends, or receives */
  int64_t node, not_node; /* a number of this rank's node, almost surely no other's */
  int64_t tag;            /* the next one in the arena */
  int64_t own_comm;       /* the arena's communicator cannot be used */
  /* agreed on, as allocated lengths may differ but both ends of a message lay out its ring */
  int64_t overwrites;
  /* allocated lengths keep joined axes from being folded: ranks may number positions differently */
  int64_t padded;
} redist_priv_facts;

/* Agrees on the error of the lowest failing rank and on the maxima of values[n]. Collective.
   Returns the error's code. A rank that does not know its number counts as rank 0. */
REDIST_PRIV_COLD int redist_priv_agree(MPI_Comm comm, redist_priv_error *v, int64_t *values,
                                       size_t n) {
  int64_t all[1 + sizeof(redist_priv_facts) / sizeof(int64_t)];
  all[0] = v->code == REDIST_OK ? 0 : INT_MAX - redist_priv_max(v->rank, 0);
  if (n > 0) memcpy(all + 1, values, n * sizeof *all);
  if (redist_priv_reduce(comm, all, (int)n + 1, MPI_MAX) != REDIST_OK ||
      (all[0] > 0 &&
       redist_priv_broadcast(comm, v, sizeof *v, INT_MAX - (int)all[0]) != REDIST_OK) ||
      (all[0] > 0 && v->code == REDIST_OK))
    redist_priv_fail(v, REDIST_ERR_MPI, "an MPI call failed while the ranks agreed on a plan");
  if (n > 0) memcpy(values, all + 1, n * sizeof *all);
  return v->code;
}

/* The largest of the ranks' codes. Collective. */
REDIST_PRIV_COLD int redist_priv_worst(MPI_Comm comm, int code) {
  int64_t worst = code;
  return redist_priv_reduce(comm, &worst, 1, MPI_MAX) == REDIST_OK ? (int)worst : REDIST_ERR_MPI;
}

/* Why a communicator is refused: collective calls need an intracommunicator. NULL: it is not, or
   MPI fails, and will fail again where the ranks agree. Local. */
REDIST_PRIV_COLD const char *redist_priv_comm_error(MPI_Comm comm) {
  int between = 0;
  if (comm == MPI_COMM_NULL) return "the communicator is MPI_COMM_NULL";
  if (MPI_Comm_test_inter(comm, &between) == MPI_SUCCESS && between)
    return "the communicator is an intercommunicator";
  return NULL;
}

/* This rank's number, and how many there are; 0 and 1 where MPI fails. */
REDIST_PRIV_COLD int redist_priv_ranks_of(MPI_Comm comm, int *rank, int *size) {
  if (MPI_Comm_rank(comm, rank) == MPI_SUCCESS && MPI_Comm_size(comm, size) == MPI_SUCCESS)
    return REDIST_OK;
  *rank = 0;
  *size = 1;
  return REDIST_ERR_MPI;
}

/* *own: a private duplicate of comm; MPI_COMM_NULL where MPI fails (MPI may leave anything in a
   handle). Collective, but it may fail on some ranks only. */
REDIST_PRIV_COLD int redist_priv_duplicate(MPI_Comm comm, MPI_Comm *own) {
  int code;
#if defined SMPI_H /* SimGrid's MPI runs all ranks one after another, and has no MPI_Comm_idup */
  code = MPI_Comm_dup(comm, own) == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
#else
  MPI_Request request;
  code = redist_priv_await(MPI_Comm_idup(comm, own, &request), &request);
#endif
  if (code == REDIST_OK)
    MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  else
    *own = MPI_COMM_NULL;
  return code;
}

/* --------------------------------------------------------------------------- the plan (private) */

/* What a rank sends to another in one execution, of all parts, is one message:

       part      arrays of one pair of layouts; this rank's places in both
       product   what one of these places and one elsewhere share: runs of each axis
       block     a product in one of the part's arrays: a range of bytes of a message
       peer      the rank at the other end, and the blocks, in an order that both ends know
       piece     bytes of a message that are packed, sent and unpacked at once

   A method is a row, redist_priv_transport, which says by what links messages go. A link gets
   them to their peers by functions of its own. An execution posts the links of its method, and
   polls them, one after the other, until all are done. */

/* A slot: what two ranks of a node share for one message (drawn at REDIST_SHARED). The sender
   counts the pieces that it has filled, the receiver those that it has drained, over all
   executions, each in its own cache line. */
typedef struct {
  int64_t filled;
  char filled_line[REDIST_PRIV_LINE - sizeof(int64_t)];
  int64_t drained;
  char drained_line[REDIST_PRIV_LINE - sizeof(int64_t)];
  int64_t way[2]; /* for executions alternately: REDIST_PRIV_WAYS * its number + a way */
  int64_t direct; /* constant: not 0 where the message may bypass the ring */
  int64_t ring;   /* constant: where the ring begins, relative to the slot */
  char way_line[REDIST_PRIV_LINE - 4 * sizeof(int64_t)];
} redist_priv_slot;

/* What is timed between two cores: a flag; a flag and lines that the other core has just written;
   the same with streamed lines. */
enum redist_priv_probes {
  REDIST_PRIV_FLAG,
  REDIST_PRIV_FETCH,
  REDIST_PRIV_STREAM,
  REDIST_PRIV_PROBES,
  REDIST_PRIV_LAST_ROUND = 1 << 20
};

/* A notice in a rank's segment to one other member: for the plan that both are creating, and while
   the time between their cores is measured. */
typedef struct {
  int64_t board; /* where the rank's board lies in its segment */
  int64_t slot;  /* where the slot of its message to the other one lies there */
  int64_t way;   /* how it prefers to receive the other one's message, one of redist_priv_ways */
  /* for probes: where its lines are in its segment, and the rounds it has finished, from
     REDIST_PRIV_LAST_ROUND times the number of the home's probe on */
  int64_t lines, flag;
  int64_t address, bytes; /* the pages of the array that the rank adopts */
} redist_priv_notice;

/* Where an array lies in its rank's shared memory: so many bytes from the beginning of a range: 0,
   the segment, or k, the pages of the array adopted k-th. */
typedef struct {
  int64_t range, at;
} redist_priv_spot;

/* The board at the beginning of a rank's block of shared memory for a plan. The rank's slots
   follow, each with its ring. */
typedef struct {
  /* 4 * the execution's number, + 1 if all sources lie in the arena, + 2 if all destinations do */
  int64_t announced;
  char announced_line[REDIST_PRIV_LINE - sizeof(int64_t)];
  int64_t piece;  /* bytes of its pieces */
  int64_t buffer; /* a carrier's: where it lies, relative to the board */
  /* array[2 * arrays]: where this execution's arrays are; then first[2 * parts], the first place of
     each half, and their number; then the places */
  redist_priv_spot array[2];
} redist_priv_board;

/* How messages are cut into pieces: bricks of at most `bytes`, and of at least `wide` bytes along
   the destination's fastest axis. */
typedef struct {
  int64_t bytes, wide;
} redist_priv_cutting;

/* A product of runs that a message has once per array of a part. */
typedef struct {
  /* sort keys: the rank of the other end, the part, the places of the source and the destination,
     the number of the choice of images */
  int rank, part, place[2], number;
  int own;
  int held; /* which of the places is this rank's, in its redist_priv_half */
  int64_t message, bytes;
  int64_t at;          /* of the first array, in the message */
  int64_t copy, shift; /* while pieces are listed: its first copy, and where it lies in its piece */
} redist_priv_product;

/* A message is a list of blocks, one after the other, each at a multiple of the plan's alignment.
   A block is a product of runs, of one array. Blocks are in the order of parts, of a part's arrays,
   of the source's places, of the destination's, and of choices of images. */
typedef struct {
  redist_priv_product *product;
  int64_t at;
  int array;
} redist_priv_block;

/* A piece of a message: bytes of the packed message from `at` on, and its copies between the arrays
   and packed memory, which begins where the piece does: copy[first], ..., of the plan. */
typedef struct {
  int64_t at, bytes, first, copies;
} redist_priv_piece;

/* This rank's end of a message. */
typedef struct {
  /* sort key: the distance in the ring of ranks, so that not all ranks serve one peer first, or the
     position in a schedule */
  int order;
  int own;  /* REDIST_PRIV_FROM where this rank sends, REDIST_PRIV_TO where it receives */
  int rank; /* of the other end */
  int near; /* the message goes through shared memory */
  int64_t product, products; /* of the plan's */
  int64_t each;              /* from an array's first block to that of the next array */
  int64_t blocks, bytes;     /* of all arrays */
  int64_t staged; /* its offset in the staging memory, in bytes, or one of the constants below */
  int64_t direct; /* its offset in the array, in bytes, if it is contiguous there; or -1 */
  int64_t whole;  /* the plan's piece that is all of it, if it is packed at once */
  int64_t pieces; /* how many it is cut into: */
  int64_t step;   /* of so many bytes each; or, where 0, */
  int64_t listed; /* piece[listed], ..., of the plan */
  int64_t direct_first,
      direct_copies; /* from the sender's arrays to the receiver's, of the plan's */
  int64_t prepared;  /* pieces 0 to prepared - 1 have persistent requests: */
  int64_t first;     /* request[first], ... */
  int64_t pending;   /* pieces not yet complete; while peers are put in order, its turn */
} redist_priv_peer;

/* Special values of redist_priv_peer.staged: contiguous in the array, or staged piece by piece. */
enum { REDIST_PRIV_IN_ARRAY = -1, REDIST_PRIV_BY_PIECES = -2 };

/* One end of a message through shared memory, by a ring of `slots`, each with room (slot_bytes) for
   a piece. Equal messages of a sender have one ring, which it fills once, as the first of them. */
typedef struct redist_priv_channel {
  redist_priv_peer *peer;
  redist_priv_slot *slot;
  const char *ring;
  struct redist_priv_channel *first, *also; /* in its ring; the next one there, or NULL */
  redist_priv_board *board;                 /* the other end's */
  int there;                                /* the other end's rank in the node */
  int direct;                               /* the message may bypass the ring */
  int way;                                  /* which the receiver prefers */
  int mutual;         /* the message is not short, and this rank receives from the other end, too */
  int decided;        /* the way of this execution's message */
  int64_t steps, end; /* its pieces are step[steps], ..., step[end - 1] of the plan's pool */
  int64_t slots, slot_bytes; /* at most twice as many as pieces; 0 bytes: the ring is another's */
  int64_t next;              /* slot */
  int64_t done;              /* pieces of this execution */
  int64_t before;            /* pieces of all earlier executions */
} redist_priv_channel;

/* The sending (REDIST_PRIV_FROM) or the receiving (REDIST_PRIV_TO) side of this rank's exchange. */
typedef struct {
  int streams;                /* an execution touches enough there to stream */
  int64_t owned, array_bytes; /* owned elements, and bytes of all arrays */
  int64_t touched; /* bytes that an execution reads or writes there, without what stays in place */
  int64_t peers;   /* peer[peers], inside plan.peer  */
  redist_priv_peer *peer;
  int64_t bytes; /* of all messages, without what aligns their blocks */
} redist_priv_side;

/* This rank's places in the layout of a part's side. */
typedef struct {
  int64_t owned, array_bytes; /* elements it owns there; bytes of one array */
  int64_t places, found;
  redist_priv_held_place *place;  /* place[places], ascending */
  redist_priv_place_peers *peers; /* peers[found]: of the first ones, of each place */
} redist_priv_half;

typedef struct {
  int64_t bytes;
  char *memory;
} redist_priv_staging;

/* What a rank sends to another to identify the file that is its segment beyond doubt. */
typedef struct {
  /* redist_priv_machine; the file's descriptor in that process, -1: none */
  int64_t machine, process, file;
  int64_t device, inode, token; /* token: what the file begins with */
  int64_t place;                /* the receiver's number among the sender's members */
} redist_priv_identity;

/* A rank that may share memory with this one. */
typedef struct {
  int rank;                         /* in the home's communicator */
  int shares;                       /* memory with this one */
  int file;                         /* its segment's, open until that is mapped; or -1 */
  char *segment;                    /* where its segment begins here; NULL: not mapped */
  size_t bytes;                     /* mapped from the file */
  redist_priv_identity identity[2]; /* by this rank, by that one */
} redist_priv_member;

/* Whole pages of memory. */
typedef struct {
  char *at;
  size_t bytes;
} redist_priv_pages;

/* An array that each member of an arena's home has adopted, or not. */
typedef struct {
  char *array; /* this rank's */
  size_t bytes;
  char *until;              /* this rank's pages are shared up to here */
  redist_priv_pages *pages; /* pages[size]: those of the members' arrays, here; NULL: released */
} redist_priv_adopted;

/* A home: memory that ranks of a node share, for plans. Its members, sorted by rank, are this rank
   and a plan's peers, or an arena's whole node. Each has a segment (drawn at "shared memory"). */
typedef struct {
  MPI_Comm comm;   /* the plan's or the arena's */
  int64_t machine; /* redist_priv_machine */
  int named;       /* the files of segments have names until all members have opened them */
  int rank, size;  /* this rank's number among the members; size 0: no home */
  int sharing;     /* how many others share memory with this rank */
  redist_priv_member *member;      /* behind them, room for a redist_priv_swap of each */
  int64_t begin, end;              /* of the room, in an arena the same on every rank */
  struct redist_priv_rings *first; /* blocks in use, by address */
  int64_t adoptions, adoption_room;
  redist_priv_adopted *adopted; /* adopted[adoptions] */
  int64_t probes;               /* so far */
  int64_t distance; /* nanoseconds of a flag there and back between cores; 0: not known */
  /* percent: the time to fetch lines that another core has just written over that of lines that it
     streamed; 0 where cores are so close that it need not be measured */
  int64_t fetching;
} redist_priv_home;

/* The flag of a rank that has no section in a carrier's buffer. */
#define REDIST_PRIV_UNUSED INT64_MAX

/* The beginning of a carrier's buffer. The flags of the node's ranks follow, each in a cache line,
   then the list of sections, then the sections. */
typedef struct {
  int64_t state[2][REDIST_PRIV_LINE / sizeof(int64_t)]; /* state[own][0]: sent, arrived */
  int64_t entries;
  char line[REDIST_PRIV_LINE - sizeof(int64_t)];
} redist_priv_node_buffer;

/* The state of REDIST_SHARED. It outlives its plan while other ranks still read its block. */
typedef struct redist_priv_rings {
  redist_priv_home *home; /* the plan's, or the arena's */
  int64_t begin, bytes;   /* its block in this rank's segment; bytes 0: none */
  int64_t ring_bytes;
  struct redist_priv_rings *next; /* in the same home */
  int abandoned;
  unsigned polls;
  int direct;                      /* messages may bypass rings where arrays lie in the arena */
  int64_t execution, announced;    /* number of the one in progress; its word on the board */
  redist_priv_node_buffer *buffer; /* of so many ranks; or NULL */
  int ranks;
  int64_t receives, channels, rings; /* rings: of messages that this rank sends */
  redist_priv_channel channel[1];    /* channel[channels], first those that receive */
} redist_priv_rings;

/* A code of opening a home, worse than all errors: the system refuses files without names. */
enum { REDIST_PRIV_REFUSED = 1000 };

/* What messages cost between ranks, in seconds. Concurrent messages cost the latency once. */
typedef struct {
  double latency;
  redist_cost cost;
  /* the worst ratio of a long message's time to that of short pieces in its place; 0: not known */
  double crowding;
} redist_priv_network;

/* A rank and the number of its node (redist_priv_node_number). */
typedef struct {
  int64_t node, rank;
} redist_priv_on_node;

/* Which node each rank is on. Nodes are numbered by their lowest ranks. */
typedef struct {
  redist_priv_on_node *list; /* list[ranks], sorted by node */
  int nodes, least, most;    /* ranks of the smallest and the largest one */
  int *node, *number;        /* node[ranks]; number[ranks]: its number among the node's ranks */
  int *first, *rank;         /* node k has rank[first[k]], ..., rank[first[k + 1] - 1], ascending */
} redist_priv_nodes;

/* What the ranks agree on after their facts. All members are int64_t. */
typedef struct {
  int64_t unfit, used;        /* an error of the method; whether any rank needs shared memory */
  int64_t duplication;        /* nanoseconds, of the communicator */
  int64_t peers[2], bytes[2]; /* of a rank, on one side, on its own node and on others */
} redist_priv_outcome;

/* A message of the plan, packed, in the buffer of a carrier on this rank's node (drawn at
   REDIST_NODES). */
typedef struct {
  /* sort keys, up to the ranks */
  int carrier;
  int own;         /* REDIST_PRIV_FROM: it leaves the node */
  int node, which; /* the other node, and which of the messages to or from there */
  int rank[2];     /* source and destination */
  int64_t bytes;
  int64_t at;   /* from the beginning of the buffer */
  int64_t peer; /* of the plan, at the rank that packs or unpacks it */
} redist_priv_section;

/* A message of MPI's, in pieces of REDIST_MAX_COUNT bytes: between carriers or, without shared
   memory, between a carrier and a rank of its node. */
typedef struct {
  int own, sends, rank, tag;
  int copies;        /* the carrier's end of a portion: its sections to or from their places */
  int64_t at, bytes; /* from the beginning of the buffer on */
  int64_t first, pieces, pending; /* request[first], ...; pieces not yet complete */
  int64_t *flag; /* receives the execution's number when it is complete; NULL: between carriers */
} redist_priv_node_message;

/* This rank's sections of a side in the buffer of one carrier. */
typedef struct {
  int local; /* sort key: not 0 where all sections stay in the node, which can wait */
  int own, carrier;
  int there; /* the carrier's number in the home */
  int done;  /* packed, or unpacked; 2: in place, also sent */
  int64_t sections;
  redist_priv_section *section;      /* section[sections] */
  redist_priv_node_message *message; /* NULL: through memory */
  int64_t complete;                  /* the last execution whose message is complete, if any */
  char *buffer;
  const int64_t *state; /* sent or arrived; or `complete` */
  int64_t *flag;        /* flag[0]: packed or drained; flag[1]: left */
} redist_priv_portion;

/* The state of REDIST_NODES. */
typedef struct {
  int shared;              /* buffers are shared memory */
  int nodes, per_pair;     /* nodes of the communicator; messages from each to each other */
  int ranks, number;       /* of the node; this rank's among them */
  int *pair;               /* rank 0: pair[2 * k], pair[2 * k + 1] carry node 0's k-th message */
  int contributors[2];     /* other ranks of the node with sections in this rank's buffer */
  int code;                /* an error of this rank, before it takes part in opening the home */
  int stage[2], raised[2]; /* by side, of an execution; flags of the buffer that are raised */
  int64_t pending[2];      /* messages between carriers in progress */
  int64_t execution;
  int64_t sections; /* section[sections]: this rank's, by carrier */
  redist_priv_section *section;
  int64_t entries; /* entry[entries]: those in this rank's buffer */
  redist_priv_section *entry;
  int64_t portions, left; /* portion[portions]; how many are not done */
  redist_priv_portion *portion;
  /* message[0], ... between carriers; message[between], ... of the portions in this rank's buffer;
     message[first_own], ..., message[messages - 1] of this rank's portions */
  int64_t between, first_own, messages;
  redist_priv_node_message *message;
  redist_priv_node_buffer *buffer;
  int64_t bytes;            /* of the buffer, and what follows it */
  int64_t requests, active; /* request[requests]; those in progress */
  MPI_Request *request;
  int *index, *message_of; /* for MPI_Testsome; behind it, each request's message */
  MPI_Status *status;      /* not read; gcc warns of MPICH's MPI_STATUSES_IGNORE */
} redist_priv_carriers;

struct redist_arena {
  int64_t name;                /* the same on every rank, and no other arena's */
  MPI_Comm comm;               /* of all its plans on the same ranks, each with its own tag */
  int tags, most_tags;         /* used so far, and available */
  redist_priv_network network; /* as measured for the first plan on these ranks that asked */
  redist_priv_home home;
  char *memory;   /* of the arrays */
  void *ordinary; /* the same when it is not shared, or NULL */
  size_t bytes, used;
  int plans;            /* that live in it */
  redist_plan *started; /* the first in progress, linked by `next` */
};

/* What is local to this rank. In place, elements that are their own destinations should not be
   copied, and the rest should be few messages. Where two places have the same strides, a run along
   an axis is in place if its positions in the rank's array are equal. So the rest is one message
   for each axis d: the elements whose runs are in place along all axes before d, but not along d.
   In two dimensions what two places share falls into three:

                        columns in place   other columns
       rows in place    stay               the message of axis 1
       other rows       the message of axis 0 */
typedef struct {
  /* to the destination; or, if executions overwrite, to staging memory and from there */
  redist_priv_copies copies[2];
  int64_t bytes; /* of one array of each part, as they lie in staging memory */
} redist_priv_local;

/* When a local copy is made: where source and destination are two arrays, where they are one. */
enum { REDIST_PRIV_APART_ONLY = 1, REDIST_PRIV_TOGETHER_ONLY = 2, REDIST_PRIV_ALWAYS = 3 };

/* How elements are copied: from this rank's array to its own; from array to array; into packed
   memory; from there into an array. */
enum redist_priv_stores {
  REDIST_PRIV_HERE,
  REDIST_PRIV_ACROSS,
  REDIST_PRIV_PACKING,
  REDIST_PRIV_UNPACKING,
  REDIST_PRIV_STORES
};

/* The private form of a redist_part; a plan for one array, or several of one layout and type, has
   one. */
typedef struct {
  redist_layout *from, *to;            /* allocated for ndim axes only */
  MPI_Datatype element;                /* valid during creation only */
  int64_t element_bytes, packed_bytes; /* of an element in an array, and in a message */
  /* axes of the source from slow to fast: of packed elements, and of pieces */
  int order[REDIST_MAX_DIMS];
  redist_priv_policy policy; /* how elements come to the destination, if not converted */
  redist_priv_policy store[REDIST_PRIV_STORES]; /* how copies store elements, converted or not */
  redist_priv_conversion conversion[REDIST_PRIV_STORES]; /* the contexts of those that combine */
  redist_priv_directory directory[2];                    /* valid during creation only */
  redist_priv_half half[2];
  int64_t local, rest; /* elements that stay on this rank; those that must be copied in place */
} redist_priv_part;

/* How bytes get to peers: the links of a method are some of these. */
enum redist_priv_link_kinds {
  REDIST_PRIV_BY_CARRIERS = 1,
  REDIST_PRIV_BY_MEMORY = 2,
  REDIST_PRIV_BY_MESSAGES = 4,
  REDIST_PRIV_BY_COLLECTIVE = 8,
  REDIST_PRIV_BY_PHASES = 16
};

/* What a link does in an execution; one loop progresses all, redist_priv_poll. Functions return
   redist_error; they find everything in the plan. */
typedef struct {
  int kinds;                             /* for methods with one of these links */
  int (*post)(redist_plan *);            /* its part of the beginning */
  int (*poll)(redist_plan *, int *done); /* progresses it; NULL: post has completed it */
  void (*close)(redist_plan *);          /* also if incomplete; or NULL */
} redist_priv_link;

/* One way to exchange. */
typedef struct {
  redist_method method;
  const char *name;
  int (*open)(redist_plan *); /* collective; or NULL */
  /* decides what a side stages, and its bytes; or NULL */
  int (*plan_staging)(redist_plan *, int own);
  int (*create)(redist_plan *); /* after staging memory is allocated; local; or NULL */
  /* after all ranks have created; collective, but it may fail on some ranks only; or NULL */
  int (*connect)(redist_plan *);
  int links; /* redist_priv_link_kinds */
} redist_priv_transport;

/* A flight: a piece of a message in progress. */
typedef struct {
  redist_priv_peer *peer;
  int64_t piece;
} redist_priv_flight;

/* A lane: the messages of one side, in the order of its peers. `posted` pieces have been started;
   the next is piece `piece` of peer[at]. Piece k >= `arrived` uses flight `first` + k mod
   `flights`. */
typedef struct {
  int64_t at, piece, posted, arrived, flights, first;
  int64_t places; /* how many whole messages the staging memory holds, used round-robin */
} redist_priv_lane;

/* REDIST_POINT_TO_POINT, or REDIST_SCHEDULED where steps > 0: flight[requests], each with a
   request. First come the flights of both lanes, null requests when complete, with arrays for
   MPI_Testsome's answers; then the persistent requests. */
typedef struct {
  redist_priv_lane lane[2];
  int64_t most, slot; /* bytes of a piece; and those that it takes in the staging memory */
  int by_pieces;      /* that memory has no room for a message on some rank: pieces are listed */
  int steps;
  int64_t flights, requests;
  redist_priv_flight *flight;
  MPI_Request *request;
  int *index;
  MPI_Status *status;
} redist_priv_lanes;

/* The arguments of MPI's collectives for one side, by rank. */
typedef struct {
  int *counts, *offsets;
  /* REDIST_ALLTOALLW: all arrays, at the addresses of the last execution; else the unit */
  MPI_Datatype *types;
  /* each[part * ranks + rank]: one array of a part, relative to its beginning, where there are
     several arrays; else `types` */
  MPI_Datatype *each;
} redist_priv_table;

typedef struct {
  MPI_Request request;
  redist_priv_table table[2];
  int64_t unit_bytes; /* REDIST_ALLTOALLV counts in these; REDIST_ALLTOALLW has none */
  /* REDIST_ALLTOALLW: before[2 * arrays], the last execution's arrays; NULL: no types are made */
  const void **before;
  int64_t types;        /* of a side's table */
  MPI_Datatype *member; /* member[arrays] and counts[arrays]: to make the type of several */
  int *counts;
} redist_priv_collective;

/* REDIST_MULTIPHASE: the plans of its phases. */
typedef struct {
  int phases, at; /* the one in progress */
  int sums;       /* all that begin at replicas combine */
  redist_plan *phase[REDIST_PRIV_PHASES];
  int64_t array_bytes; /* of an intermediate array */
} redist_priv_chain;

/* The memory of an array, from its first byte to behind its last. Sort keys: at, array. */
typedef struct {
  int64_t at, array, end;
} redist_priv_extent;

/* With options.timed, the seconds that a plan has spent in copies, and in all its calls, which may
   be nested (depth). */
typedef struct {
  double copying, inside, entered;
  int depth;
} redist_priv_clock;

struct redist_plan {
  MPI_Comm comm;
  int tag;     /* of all its messages */
  int borrows; /* the communicator is the arena's */
  int rank, size, arrays, active;
  int failed;      /* an MPI call failed: messages may stay in flight for ever */
  int blocking;    /* the caller of the last start waits for its end */
  int synchronous; /* such executions call MPI_Alltoallv, which was measured to be faster */
  int parts;       /* part[parts], after the plan: array a belongs to part a, or the only one */
  redist_priv_part *part;
  const redist_part *given; /* the caller's; valid during creation only */
  int64_t alignment; /* of blocks in messages: enough for every part's elements, at most 16 */
  int64_t largest;   /* bytes of an element */
  redist_options options;
  redist_priv_side side[2];
  /* peer[peers]: all messages of this rank, those that it receives come first */
  redist_priv_peer *peer;
  redist_priv_product *product; /* of all peers */
  redist_priv_piece *piece;     /* of all messages */
  int64_t peers, peer_room, products, product_room, pieces, piece_room;
  redist_priv_pool pool; /* of all copies */
  struct {
    int64_t steps, loops, offsets;
  } kept;                    /* what it had when only what is local was compiled */
  redist_priv_copies copies; /* of all messages */
  redist_priv_local local;
  int combines;  /* a part does */
  int chained;   /* it is a phase of a chain, whose network it knows */
  int scheduled; /* redist_schedule_create arranges the messages; else they go by distance */
  /* in place, an element may arrive where another has yet to leave: on any rank; on this rank */
  int overwrites, overwritten;
  /* several contributions to one element: messages are unpacked in the peers' order */
  int ordered;
  /* of the two sides; and for what is local, when an execution overwrites */
  redist_priv_staging staging[REDIST_PRIV_SIDES];
  /* pointers[3 * arrays]: of the execution in progress, the source first; then those of another
     rank, while they are copied from or to */
  const void **pointers;
  int checked; /* these arrays have been checked */
  /* source ranks whose elements are in place, of which redist_next_arrival has named some */
  int *arrival;
  int64_t arrivals, named;
  redist_priv_extent *extent; /* extent[2 * arrays]: for checking them */
  const redist_priv_transport *transport;
  redist_priv_facts agreed; /* of all ranks */
  unsigned tried;           /* methods: bit k for method k */
  int64_t node; /* ranks before the first that is not on rank 0's node; 0: all are on one */
  redist_priv_nodes *nodes;    /* where there are several; valid during creation only */
  redist_priv_outcome outcome; /* the most of any rank */
  redist_priv_network network; /* zero: not known yet */
  union {
    redist_priv_lanes lanes; /* REDIST_SHARED's, too */
    redist_priv_collective collective;
    redist_priv_chain chain;
  } state;                        /* of the transport; zero when it opens */
  redist_priv_home home;          /* REDIST_SHARED's, of a plan without an arena */
  redist_priv_rings *rings;       /* NULL: REDIST_SHARED is not open */
  redist_priv_carriers *carriers; /* NULL: no rank carries messages */
  redist_plan *next;              /* started in the same arena */
  int64_t executions;             /* completed */
  /* when the execution in progress began; seconds that one took on this rank */
  double began, fastest;
  redist_priv_clock times, *clock; /* its own, or its chain's; NULL: not timed */
  /* seconds of an execution, with its share of creation; 0: no candidate */
  double predicted[REDIST_PRIV_METHODS];
  /* REDIST_MEASURE: of one execution on the slowest rank; 0: not tried */
  double seconds[REDIST_PRIV_METHODS];
  redist_priv_error error; /* of the call that failed last; redist_plan_message */
};

/* A rank's flags in a buffer: packed and left (REDIST_PRIV_FROM), or drained. number: the rank's in
   its node. */
REDIST_PRIV int64_t *redist_priv_buffer_flag(redist_priv_node_buffer *buffer, int ranks, int own,
                                             int number) {
  char *flags = (char *)(buffer + 1);
  return (int64_t *)(void *)(flags + (own * ranks + number) * (int64_t)REDIST_PRIV_LINE);
}

/* The first array of a side: of the execution in progress, or fixed. */
REDIST_PRIV char *redist_priv_given(const redist_plan *p, int own) {
  return (char *)(uintptr_t)p->pointers[own * p->arrays];
}

REDIST_PRIV redist_priv_part *redist_priv_part_of(const redist_plan *p, int a) {
  REDIST_ASSERT(a >= 0 && a < p->arrays);
  return &p->part[p->parts > 1 ? a : 0];
}

REDIST_PRIV const char *redist_priv_side_name(int side) {
  return side == REDIST_PRIV_FROM ? "source" : "destination";
}

/* NULL for a method that does not exist, REDIST_AUTO included. */
REDIST_PRIV const redist_priv_transport *redist_priv_transport_of(int method);
REDIST_PRIV const redist_priv_link *redist_priv_links(void);

/* The faster of REDIST_POINT_TO_POINT and REDIST_SCHEDULED for a plan's messages, as predicted. */
REDIST_PRIV_COLD redist_method redist_priv_by_messages(const redist_plan *p);

/* Whether cores are taken to share no cache; also where it is not known: if wrong, messages take up
   to 1.3 times as long, while the opposite mistake costs long ones a factor of 3. */
REDIST_PRIV int redist_priv_is_far(const redist_priv_home *h) {
  return h->fetching > REDIST_PRIV_FAR;
}

REDIST_PRIV_COLD void redist_priv_forget_members(redist_priv_home *h) {
  REDIST_FREE(h->member);
  h->member = NULL;
  h->size = 0;
}

/* Records why a call for the plan fails, in place of an earlier failure. Returns the code. */
REDIST_PRIV_COLD int redist_priv_refuse(redist_plan *p, int code, const char *sentence, ...) {
  va_list values;
  p->error = redist_priv_no_error(p->options.checked ? p->rank : -1);
  va_start(values, sentence);
  redist_priv_record(&p->error, code, sentence, values);
  va_end(values);
  return code;
}

/* redist_plan.active: an execution is in progress; or has ended, which redist_test will report. */
enum { REDIST_PRIV_ACTIVE = 1, REDIST_PRIV_UNREPORTED };

/* Ends an execution in which MPI failed; the plan may only be freed then. */
REDIST_PRIV int redist_priv_end_failed(redist_plan *p, int code) {
  if (code == REDIST_OK) return code;
  p->failed = 1;
  p->active = 0;
  return redist_priv_refuse(p, code,
                            "an MPI call failed during %s: only redist_plan_free may be called now",
                            p->transport->name);
}

REDIST_PRIV_FAST double redist_priv_now(const redist_plan *p) {
  return p->clock == NULL ? 0 : MPI_Wtime();
}

REDIST_PRIV_FAST void redist_priv_add_copying(const redist_plan *p, double began) {
  if (p->clock != NULL) p->clock->copying += MPI_Wtime() - began;
}

/* A call for the plan begins, or ends. */
REDIST_PRIV_FAST void redist_priv_enter(redist_plan *p) {
  if (p->clock != NULL && p->clock->depth++ == 0) p->clock->entered = MPI_Wtime();
}

REDIST_PRIV_FAST void redist_priv_leave(redist_plan *p) {
  REDIST_ASSERT(p->clock == NULL || p->clock->depth > 0);
  if (p->clock != NULL && --p->clock->depth == 0)
    p->clock->inside += MPI_Wtime() - p->clock->entered;
}

/* All elements of a source rank are in place. */
REDIST_PRIV_FAST void redist_priv_arrive(redist_plan *p, int rank) {
  REDIST_ASSERT(p->arrivals <= p->side[REDIST_PRIV_TO].peers);
  p->arrival[p->arrivals++] = rank;
}

/* All messages are unpacked. */
REDIST_PRIV_COLD void redist_priv_arrive_all(redist_plan *p) {
  const redist_priv_side *s = &p->side[REDIST_PRIV_TO];
  int64_t k;
  for (k = 0; k < s->peers; k++) redist_priv_arrive(p, s->peer[k].rank);
}

/* What is local is copied. */
REDIST_PRIV_FAST void redist_priv_arrive_local(redist_plan *p) {
  if (p->local.bytes > 0) redist_priv_arrive(p, p->rank);
}

/* While a rank waits for flags only, it must let MPI progress other messages of this process: some
   libraries do nothing when all requests are complete. */
REDIST_PRIV int redist_priv_let_progress(const redist_plan *p) {
  redist_priv_rings *r = p->rings;
  int flag;
  if (r == NULL || ++r->polls % REDIST_PRIV_PROGRESS != 0) return REDIST_OK;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p->comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS
             ? REDIST_OK
             : REDIST_ERR_MPI;
}

/* Progresses all links, one after the other. */
REDIST_PRIV int redist_priv_poll(redist_plan *p, int *done) {
  const redist_priv_link *l;
  int one, code = REDIST_OK;
  *done = 1;
  for (l = redist_priv_links(); l->post != NULL && code == REDIST_OK; l++) {
    one = 1;
    if ((l->kinds & p->transport->links) && l->poll != NULL) code = l->poll(p, &one);
    *done &= one;
  }
  return code == REDIST_OK && !*done ? redist_priv_let_progress(p) : code;
}

/* Begins an execution, whose arrays are known. */
REDIST_PRIV int redist_priv_begin(redist_plan *p) {
  const redist_priv_link *l;
  int code = REDIST_OK;
  REDIST_ASSERT(!p->failed && !p->active && p->transport != NULL);
  p->arrivals = p->named = 0;
  p->began = MPI_Wtime();
  p->active = REDIST_PRIV_ACTIVE;
  for (l = redist_priv_links(); l->post != NULL && code == REDIST_OK; l++)
    if (l->kinds & p->transport->links) code = l->post(p);
  return redist_priv_end_failed(p, code);
}

/* Progresses one plan; completes its execution when it can, and remembers the fastest. */
REDIST_PRIV int redist_priv_test(redist_plan *p, int *done) {
  double seconds;
  int code;
  redist_priv_enter(p);
  code = redist_priv_end_failed(p, redist_priv_poll(p, done));
  redist_priv_leave(p);
  if (code != REDIST_OK || !*done) return code;
  REDIST_ASSERT(p->arrivals == p->side[REDIST_PRIV_TO].peers + (p->local.bytes > 0));
  seconds = MPI_Wtime() - p->began;
  p->fastest = p->executions == 0 || seconds < p->fastest ? seconds : p->fastest;
  p->executions++;
  p->active = 0;
  return REDIST_OK;
}

/* --------------------------------------------------------------------------- combining (bodies) */

REDIST_API void redist_combine_op(const void *from, void *to, int64_t n, void *context) {
  const redist_op *op = (const redist_op *)context;
  char *there = (char *)to, *arrived = (char *)(uintptr_t)from;
  int64_t k;
  int size = 0;
  MPI_Type_size(op->type, &size);
  for (k = 0; k < n; k += REDIST_MAX_COUNT)
    MPI_Reduce_local(arrived + k * size, there + k * size,
                     (int)redist_priv_min(n - k, REDIST_MAX_COUNT), op->type, op->op);
}

/* The same, for plans where what a rank holds itself replaces what was there, and begins the
   sum. */
REDIST_PRIV_COLD void redist_priv_begin_op(const void *from, void *to, int64_t n, void *context) {
  redist_combine_op(from, to, n, context);
}

/* ----------------------------------------------------------------- checking arguments (private) */

/* What a rank alone can be wrong about, it checks by itself. What must be equal on all ranks is a
   list of words, each with a name. Ranks compare the hash of the list, with their other facts.
   Only where it differs does rank 0 broadcast its list, so that the first other word is named. */

REDIST_PRIV_FAST uint64_t redist_priv_hash(uint64_t hash, int64_t word) {
  hash = (hash ^ (uint64_t)word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

/* A number that almost surely differs between machines, and between containers that share no
   memory. Ranks with the same number try whether they really share it. */
REDIST_PRIV_COLD int64_t redist_priv_machine(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  uint64_t hash = 0;
  int k, length = 0;
  MPI_Get_processor_name(name, &length);
  for (k = 0; k < length; k++) hash = redist_priv_hash(hash, name[k]);
#ifdef REDIST_PRIV_SHARES
  {
    struct stat memory;
    int64_t boot[4] = {0};
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | REDIST_PRIV_FLAG(CLOEXEC));
    if (file >= 0 && read(file, boot, sizeof boot) < 0) boot[0] = 0;
    if (file >= 0) close(file);
    for (k = 0; k < 4; k++) hash = redist_priv_hash(hash, boot[k]);
    hash = redist_priv_hash(hash, stat("/dev/shm", &memory) == 0 ? (int64_t)memory.st_dev : 0);
  }
#endif
  return (int64_t)(hash >> 2);
}

/* The same for the node of a rank: this one, or any where the caller has said who shares nodes. */
REDIST_PRIV_COLD int64_t redist_priv_node_number(const redist_plan *p, int rank) {
  const int each = p->options.node_ranks;
  return each > 0 ? REDIST_PRIV_NODE_OF(rank, each) : p->home.machine;
}

/* Whatever must be the same on every rank, as a sequence of named numbers. Ranks compare hashes of
   it; where these differ, they compare the numbers with rank 0's, to name the culprit. */
typedef struct {
  int side, axis; /* -1: of the plan; -1: of the layout */
  uint64_t hash;
  int64_t n; /* words so far */
  /* first[first_n]: rank 0's numbers, which rank 0 writes here; none while hashing */
  int64_t *first;
  int64_t first_n;
  redist_priv_error *error;
} redist_priv_words;

/* Compares the k-th word with rank 0's, or notes it there. */
REDIST_PRIV_COLD void redist_priv_compare_word(redist_priv_words *w, int64_t k, const char *what,
                                               int64_t index, int64_t value) {
  char where[48] = "", which[32] = "";
  if (w->error->rank == 0) w->first[k] = value;
  if (w->first[k] == value) return;
  if (w->side >= 0)
    snprintf(where, sizeof where,
             w->axis < 0 ? "%s: " : "%s axis %d: ", redist_priv_side_name(w->side), w->axis);
  if (index >= 0) snprintf(which, sizeof which, " %" PRId64, index);
  redist_priv_fail(w->error, REDIST_ERR_MISMATCH,
                   "%s%s%s is %" PRId64 ", but %" PRId64 " on rank 0", where, what, which, value,
                   w->first[k]);
}

/* Adds a word. index: its position in a list of like words; -1: a single word. */
REDIST_PRIV_FAST void redist_priv_word(redist_priv_words *w, const char *what, int64_t index,
                                       int64_t value) {
  const int64_t k = w->n++;
  w->hash = redist_priv_hash(w->hash, value);
  if (k < w->first_n) redist_priv_compare_word(w, k, what, index, value);
}

REDIST_PRIV_COLD void redist_priv_list(redist_priv_words *w, size_t n, const char *const *name,
                                       const int64_t *value) {
  size_t k;
  for (k = 0; k < n; k++) redist_priv_word(w, name[k], -1, value[k]);
}

REDIST_PRIV_COLD void redist_priv_list_axis(redist_priv_words *w,
                                            const redist_priv_dimension *dim) {
#define REDIST_PRIV_FIELD_NAME(field, name) name,
#define REDIST_PRIV_FIELD_VALUE(field, name) (int64_t) dim->axis.field,
  static const char *const name[] = {REDIST_PRIV_AXIS_FIELDS(REDIST_PRIV_FIELD_NAME)
                                         REDIST_PRIV_GHOST_FIELDS(
                                             REDIST_PRIV_FIELD_NAME) "axis of the array",
                                     "low halo", "high halo"};
  const int64_t value[] = {REDIST_PRIV_AXIS_FIELDS(REDIST_PRIV_FIELD_VALUE)
                               REDIST_PRIV_GHOST_FIELDS(REDIST_PRIV_FIELD_VALUE) dim->stored,
                           dim->low, dim->high};
  const redist_axis *x = &dim->axis;
  redist_priv_axis_list list[2];
  const int lists = redist_priv_lists_of(x, list);
  int64_t k;
  int i;
  redist_priv_list(w, sizeof name / sizeof name[0], name, value);
  for (i = 0; i < lists; i++)
    for (k = 0; k < list[i].n; k++)
      redist_priv_word(w, list[i].name, k,
                       list[i].bytes == sizeof(int) ? ((const int *)list[i].entry)[k]
                                                    : ((const int64_t *)list[i].entry)[k]);
  for (k = 0; x->kind == REDIST_PRIV_LISTED && x->apart > 1 && k < x->procs; k++) {
    redist_priv_word(w, "the low end of box", k, x->begin[k * x->apart]);
    redist_priv_word(w, "the high end of box", k, x->end[k * x->apart]);
  }
}

/* The digits of a reshaped view. */
REDIST_PRIV_COLD void redist_priv_list_view(redist_priv_words *w, const redist_priv_view *view) {
  static const char *const name[] = {"number of digits", "start of the view's section",
                                     "step of the view's section", "length of the view"};
  static const char *const digit[] = {"axis of a digit", "length of a digit", "step of a digit"};
  int v, k;
  for (v = 0; v < view->axes; v++) {
    const redist_priv_view_axis *a = &view->axis[v];
    const int64_t value[] = {a->digits, a->start, a->step, a->count};
    redist_priv_list(w, sizeof name / sizeof name[0], name, value);
    for (k = a->first; k < a->first + a->digits; k++) {
      const int64_t of[] = {view->digit[k].dim, view->digit[k].count, view->digit[k].step};
      redist_priv_list(w, sizeof digit / sizeof digit[0], digit, of);
    }
  }
}

REDIST_PRIV_COLD void redist_priv_list_layout(redist_priv_words *w, int side,
                                              const redist_layout *layout) {
  static const char *const name[] = {"number of axes",     "grid order",      "memory order",
                                     "number of replicas", "number of boxes", "partial",
                                     "without corners",    "a list of ranks"};
  const int64_t value[] = {layout->ndim,
                           (int64_t)layout->grid_order,
                           (int64_t)layout->memory_order,
                           layout->copies,
                           layout->boxes,
                           layout->partial,
                           layout->faces,
                           layout->ranks != NULL};
  int k;
  w->side = side;
  redist_priv_list(w, sizeof name / sizeof name[0], name, value);
  if (REDIST_PRIV_SCATTERS && layout->joined != NULL)
    redist_priv_list_view(w, &layout->joined->view);
  layout = redist_priv_unjoined(layout, NULL, NULL);
  for (w->axis = 0; w->axis < layout->ndim; w->axis++)
    redist_priv_list_axis(w, &layout->dim[w->axis]);
  w->axis = -1;
  for (k = 0; k < (layout->ranks == NULL ? 1 : redist_layout_places(layout)); k++)
    redist_priv_word(w, "the rank of place", k, redist_priv_rank_at(layout, k));
}

/* Lists what the caller asked for, beside the parts. */
REDIST_PRIV_COLD void redist_priv_list_request(redist_priv_words *w, const redist_plan *p) {
  static const char *const name[] = {"method",
                                     "effort",
                                     "number of parts",
                                     "number of arrays",
                                     "max_buffer",
                                     "in_place",
                                     "number of the arena (0: none)",
                                     "node_ranks",
                                     "timed",
                                     "checked",
                                     "wire",
                                     "executions",
                                     "cost.per_message, as bits,",
                                     "cost.per_byte, as bits,"};
  enum { NAMES = sizeof name / sizeof name[0] };
  const redist_options *o = &p->options;
  const double costs[2] = {o->cost.per_message + 0.0, o->cost.per_byte + 0.0}; /* no -0 */
  int64_t value[NAMES] = {(int64_t)o->method,
                          (int64_t)o->effort,
                          p->parts,
                          p->arrays,
                          (int64_t)o->max_buffer,
                          o->in_place != 0,
                          o->arena != NULL ? o->arena->name : 0,
                          o->node_ranks,
                          o->timed != 0,
                          o->checked != 0,
                          (int64_t)o->wire,
                          o->executions};
  memcpy(&value[NAMES - 2], costs, sizeof costs);
  redist_priv_list(w, NAMES, name, value);
}

REDIST_PRIV_COLD void redist_priv_list_plan(redist_priv_words *w, const redist_plan *p) {
  int k;
  w->side = w->axis = -1;
  w->n = 0;
  redist_priv_list_request(w, p);
  for (k = 0; k < p->parts; k++) {
    const redist_priv_part *part = &p->part[k];
    if (w->error != NULL) w->error->part = p->parts > 1 ? k : -1;
    w->side = -1;
    redist_priv_word(w, "element size", -1, part->element_bytes);
    redist_priv_word(w, "combine", -1, part->policy.function != NULL);
    redist_priv_list_layout(w, REDIST_PRIV_FROM, part->from);
    redist_priv_list_layout(w, REDIST_PRIV_TO, part->to);
  }
  if (w->error != NULL) w->error->part = -1;
}

/* Reports the first of this rank's numbers that differs from rank 0's. Collective. */
REDIST_PRIV_COLD void redist_priv_explain_mismatch(redist_plan *p, MPI_Comm comm,
                                                   redist_priv_error *v) {
  const int64_t n = redist_priv_min(p->agreed.words, INT_MAX / (int)sizeof(int64_t));
  redist_priv_words words = {0, 0, 0, 0, REDIST_PRIV_ZEROED(int64_t, n), n, v};
  if (words.first != NULL && p->rank == 0) redist_priv_list_plan(&words, p);
  if (redist_priv_worst(comm, words.first == NULL ? REDIST_ERR_MEMORY : REDIST_OK) == REDIST_OK &&
      redist_priv_broadcast(comm, words.first, (size_t)words.first_n * sizeof *words.first, 0) ==
          REDIST_OK)
    redist_priv_list_plan(&words, p);
  REDIST_FREE(words.first);
  redist_priv_agree(comm, v, NULL, 0);
  v->rank = -1;
  redist_priv_fail(v, REDIST_ERR_MISMATCH,
                   "ranks passed different layouts, element sizes or options");
}

/* Checks how this rank stores its places in a valid layout. */
REDIST_PRIV_COLD void redist_priv_check_held(const redist_layout *layout, int rank,
                                             const char *name, redist_priv_error *v) {
  redist_priv_error error = redist_priv_no_error(-1);
  int k = -1, coords[REDIST_MAX_DIMS];
  while ((k = redist_priv_next_place(layout, NULL, rank, k)) >= 0) {
    redist_priv_coords_of_place(layout, k, coords);
    redist_priv_check_extents(layout, coords, &error);
    redist_priv_fail(v, error.code, "%s %s", name, error.text);
    if (layout->offsets != NULL &&
        (layout->offsets[k] < 0 || layout->offsets[k] > REDIST_PRIV_MAX_ELEMENTS))
      redist_priv_fail(v, REDIST_ERR_LAYOUT,
                       "%s: the offset of place %d is %" PRId64
                       ", must be at least 0 and at most 2^62",
                       name, k, layout->offsets[k]);
  }
}

REDIST_PRIV_COLD void redist_priv_check_layout(const redist_plan *p, int64_t element_bytes,
                                               int side, const redist_layout *layout,
                                               const redist_layout *checked, redist_priv_error *v) {
  const int64_t limit = INT64_MAX / 4 / redist_priv_max(element_bytes, 1) / p->arrays;
  int64_t all; /* elements that all ranks hold; -1: too many */
  const char *name = redist_priv_side_name(side);
  const redist_priv_error error = redist_priv_error_of(layout, checked);
  int k;
  redist_priv_fail(v, error.code, "%s%s %s", name, error.axis >= 0 ? "" : ":", error.text);
  if (error.code != REDIST_OK) return;
  for (k = layout->ranks == NULL ? redist_layout_places(layout) - 1 : 0;
       k < redist_layout_places(layout); k++) {
    const int rank = redist_priv_rank_at(layout, k);
    if (rank >= p->size)
      redist_priv_fail(v, REDIST_ERR_RANK,
                       "a %s place is on rank %d, but the communicator has %d rank%s", name, rank,
                       p->size, p->size == 1 ? "" : "s");
  }
  redist_priv_check_held(layout, p->rank, name, v);
  all = redist_priv_received(layout);
  if (redist_layout_local_size(layout, p->rank) > limit || all > limit || all < 0)
    redist_priv_fail(v, REDIST_ERR_OVERFLOW, "the %s arrays have more than 2^61 bytes", name);
}

/* Copies a list, which may be NULL, to *room + *used, and adds its bytes to *used. *room NULL: only
   counts bytes. */
REDIST_PRIV_COLD const void *redist_priv_keep_list(char **room, size_t *used, const void *list,
                                                   size_t bytes) {
  char *copy = list == NULL || *room == NULL ? NULL : *room + *used;
  *used += list == NULL ? 0 : (bytes + 7) / 8 * 8;
  return copy == NULL ? NULL : memcpy(copy, list, bytes);
}

/* Copies a layout's lists behind `copy`, which lies at `room`; NULL: only counts. Returns the bytes
   of all. Those of scattered axes, of which there may be millions, are read during creation only,
   and remain the caller's. */
REDIST_PRIV_COLD size_t redist_priv_keep_lists(char *room, const redist_layout *layout,
                                               redist_layout *copy) {
  const size_t places = (size_t)redist_layout_places(layout);
  size_t used = (redist_priv_layout_bytes(layout) + 7) / 8 * 8;
  int d;
  copy->ranks = (const int *)redist_priv_keep_list(&room, &used, layout->ranks,
                                                   places * sizeof *layout->ranks);
  copy->offsets = (const int64_t *)redist_priv_keep_list(&room, &used, layout->offsets,
                                                         places * sizeof *layout->offsets);
  for (d = 0; d < layout->ndim; d++) {
    redist_axis *x = &copy->dim[d].axis;
    if (x->kind != REDIST_PRIV_LISTED || x->apart > 1) continue;
    x->begin = (const int64_t *)redist_priv_keep_list(&room, &used, layout->dim[d].axis.begin,
                                                      ((size_t)x->procs + 1) * sizeof *x->begin);
    x->end = x->begin == NULL ? NULL : x->begin + 1;
  }
  copy->box =
      (const redist_box *)redist_priv_keep_list(&room, &used, layout->box,
                                                (size_t)layout->boxes * sizeof *layout->box);
  if (copy->box != NULL) redist_priv_attach_boxes(copy, copy->boxes, copy->box);
  return used;
}

/* Copies a valid layout with its lists, which the caller may then free, and sorts its axes until
   redist_priv_forget_sets. (An invalid layout's lists have unknown lengths.) */
REDIST_PRIV_COLD redist_layout *redist_priv_keep_layout(const redist_layout *layout, int ghosts,
                                                        redist_priv_error *v) {
  redist_layout counted;
  char *room = (char *)redist_priv_alloc(
      1, redist_priv_keep_lists(NULL, layout, redist_priv_copy_to(&counted, layout, 1)));
  redist_layout *copy = (redist_layout *)(void *)room;
  redist_priv_fail(v, copy == NULL ? REDIST_ERR_MEMORY : REDIST_OK, "no memory for a plan");
  if (copy == NULL) return NULL;
  redist_priv_copy_to(copy, layout, ghosts);
  redist_priv_keep_lists(room, layout, copy);
  redist_priv_fail(v, redist_priv_sort_axes(copy), "no memory for a plan");
  return copy;
}

/* The cells of a place that hold elements, in its rank's array: first + i * stride[axis] + j *
   stride[axis + 1] + ..., 0 <= i < count[axis], ..., from slow to fast. */
typedef struct {
  int64_t first, place;
  int axis, ndim;
  int64_t count[REDIST_MAX_DIMS], stride[REDIST_MAX_DIMS];
} redist_priv_cells;

/* only: the axis whose ghost cells hold elements; -1: those of all axes do. Returns how many cells
   there are. */
REDIST_PRIV_COLD int64_t redist_priv_cells_of(const redist_layout *layout,
                                              const redist_priv_held_place *held, int only,
                                              redist_priv_cells *cells) {
  int64_t begin, end, low, n = 1;
  int k, coords[REDIST_MAX_DIMS], axes[REDIST_MAX_DIMS];
  redist_priv_coords_of_place(layout, held->place, coords);
  redist_priv_slow_to_fast(layout, layout->memory_order, axes);
  cells->place = held->place;
  cells->axis = 0;
  cells->ndim = layout->ndim;
  cells->first = held->storage.origin;
  for (k = 0; k < layout->ndim; k++) {
    const redist_priv_dimension *dim = &layout->dim[axes[k]];
    const redist_axis *x = &dim->axis;
    const int ghosts = only < 0 || only == axes[k], closed = x->ghosts != 1 + (int)REDIST_PERIODIC;
    redist_priv_interval(x, coords[axes[k]], &begin, &end);
    low = !ghosts ? 0 : closed ? redist_priv_min(x->low, begin) : x->low;
    cells->stride[k] = held->storage.stride[axes[k]];
    cells->count[k] =
        low + (ghosts ? redist_priv_least(dim, coords[axes[k]]) - dim->low : end - begin);
    cells->first -= low * cells->stride[k];
    n *= cells->count[k];
  }
  return n;
}

/* From the first cell to the last. */
REDIST_PRIV_COLD int64_t redist_priv_cells_span(const redist_priv_cells *c) {
  int64_t span = 0;
  int d;
  for (d = c->axis; d < c->ndim; d++) span += (c->count[d] - 1) * c->stride[d];
  return span;
}

/* Whether all cells from the first to the last belong to the place. */
REDIST_PRIV_COLD int redist_priv_cells_are_solid(const redist_priv_cells *c) {
  int64_t n = 1;
  int d;
  for (d = c->axis; d < c->ndim; d++) n *= c->count[d];
  return redist_priv_cells_span(c) == n - 1;
}

/* Whether two places share a cell. Splits the first with gaps along its slowest axis, where it
   overlaps the range of the other, and recurses. */
REDIST_PRIV_COLD int redist_priv_cells_meet(const redist_priv_cells *a,
                                            const redist_priv_cells *b) {
  const int64_t to = b->first + redist_priv_cells_span(b);
  redist_priv_cells slice = *a;
  int64_t i, end, stride;
  if (a->first > to || b->first > a->first + redist_priv_cells_span(a)) return 0;
  if (redist_priv_cells_are_solid(a))
    return redist_priv_cells_are_solid(b) || redist_priv_cells_meet(b, a);
  slice.axis++;
  stride = a->stride[a->axis];
  i = redist_priv_ceil_div(redist_priv_max(b->first - redist_priv_cells_span(&slice) - a->first, 0),
                           stride);
  end = redist_priv_min((to - a->first) / stride, a->count[a->axis] - 1);
  for (; i <= end; i++) {
    slice.first = a->first + i * stride;
    if (redist_priv_cells_meet(&slice, b)) return 1;
  }
  return 0;
}

/* Checks that this rank's places share no cells. layout: the plan's copy. */
REDIST_PRIV_COLD void redist_priv_check_apart(const redist_layout *layout, int side, int rank,
                                              redist_priv_error *v) {
  const int places = layout->offsets == NULL ? 0 : redist_layout_on_rank(layout, rank, 0, NULL),
            faces = redist_priv_is_without_corners(layout), each = faces ? layout->ndim : 1;
  redist_priv_cells *cells;
  redist_priv_held_place held = redist_priv_before_first();
  int64_t a, b, n = 0;
  int d;
  if (places < 2) return;
  cells = REDIST_PRIV_ALLOC(redist_priv_cells, (int64_t)places * each);
  redist_priv_fail(v, cells == NULL ? REDIST_ERR_MEMORY : REDIST_OK, "no memory for a plan");
  while (cells != NULL && redist_priv_next_held(layout, rank, &held))
    for (d = 0; d < each; d++)
      n += redist_priv_cells_of(layout, &held, faces ? d : -1, &cells[n]) > 0;
  if (n > 0) qsort(cells, (size_t)n, sizeof *cells, redist_priv_compare_numbers);
  for (a = 0; a < n; a++)
    for (b = a + 1; b < n && v->code == REDIST_OK &&
                    cells[b].first <= cells[a].first + redist_priv_cells_span(&cells[a]);
         b++)
      if (cells[a].place != cells[b].place && redist_priv_cells_meet(&cells[a], &cells[b]))
        redist_priv_fail(v, REDIST_ERR_LAYOUT,
                         "%s: places %" PRId64 " and %" PRId64
                         " overlap in the array, at offsets %" PRId64 " and %" PRId64,
                         redist_priv_side_name(side), cells[a].place, cells[b].place,
                         layout->offsets[cells[a].place], layout->offsets[cells[b].place]);
  REDIST_FREE(cells);
}

/* The bytes of an element. */
REDIST_PRIV_COLD int redist_priv_check_element(MPI_Datatype element, redist_priv_error *v) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  int size = 0;
  if (element == MPI_DATATYPE_NULL)
    redist_priv_fail(v, REDIST_ERR_TYPE, "the element datatype is MPI_DATATYPE_NULL");
  else if (MPI_Type_size(element, &size) != MPI_SUCCESS ||
           MPI_Type_get_extent(element, &lower, &extent) != MPI_SUCCESS ||
           MPI_Type_get_true_extent(element, &true_lower, &true_extent) != MPI_SUCCESS)
    redist_priv_fail(v, REDIST_ERR_TYPE, "the element datatype is not a datatype");
  else if (size < 1 || lower != 0 || true_lower != 0 || extent != (MPI_Aint)size ||
           true_extent != extent)
    redist_priv_fail(v, REDIST_ERR_TYPE,
                     "the element datatype has gaps: %d bytes from byte %" PRId64
                     " on in an extent of %" PRId64
                     "; redist moves bytes, so MPI_Type_contiguous of MPI_BYTE will do",
                     size, (int64_t)true_lower, (int64_t)extent);
  return size;
}

/* The macro that leaves a method out; NULL: none does. */
REDIST_PRIV_COLD const char *redist_priv_left_out(int method) {
  switch (method) {
#ifdef REDIST_NO_SHARED
  case REDIST_SHARED: return "REDIST_NO_SHARED";
#endif
#ifdef REDIST_NO_COLLECTIVES
  case REDIST_ALLTOALLV:
  case REDIST_ALLTOALLW: return "REDIST_NO_COLLECTIVES";
#endif
#ifdef REDIST_NO_SCHEDULED
  case REDIST_SCHEDULED: return "REDIST_NO_SCHEDULED";
#endif
#ifdef REDIST_NO_MULTIPHASE
  case REDIST_MULTIPHASE: return "REDIST_NO_MULTIPHASE";
#endif
#ifdef REDIST_NO_NODES
  case REDIST_NODES: return "REDIST_NO_NODES";
#endif
  default: return NULL;
  }
}

/* The doubles of an element that is a double or a double complex; 0: it is of another type. */
REDIST_PRIV_COLD int redist_priv_doubles_of(MPI_Datatype element) {
#if defined MPI_REAL8 && defined MPI_COMPLEX16 /* MPI need not have them */
  if (element == MPI_REAL8) return 1;
  if (element == MPI_COMPLEX16) return 2;
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
  if (element == MPI_CXX_DOUBLE_COMPLEX) return 2;
#endif
  if (element == MPI_DOUBLE || element == MPI_DOUBLE_PRECISION) return 1;
  return element == MPI_C_DOUBLE_COMPLEX || element == MPI_DOUBLE_COMPLEX ? 2 : 0;
}

REDIST_PRIV_COLD void redist_priv_check_wire(const redist_plan *p, redist_priv_error *v) {
  int k, doubles = 0;
  for (k = 0; k < p->parts; k++) doubles += redist_priv_doubles_of(p->part[k].element);
  if (p->options.wire != REDIST_WIRE_EXACT && p->options.wire != REDIST_WIRE_FLOAT)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "options.wire is %d", (int)p->options.wire);
  if (p->options.wire == REDIST_WIRE_FLOAT && doubles == 0)
    redist_priv_fail(v, REDIST_ERR_TYPE, "options.wire is for double and double complex");
}

REDIST_PRIV_COLD void redist_priv_check_options(redist_plan *p, redist_priv_error *v) {
  const redist_options *o = &p->options;
  const int method = (int)o->method, fixed = o->fixed_from != NULL || o->fixed_to != NULL;
  const char *macro = redist_priv_left_out(method);
  if (macro != NULL)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "options.method is %d, which %s leaves out", method,
                     macro);
  if (method < 0 || method >= REDIST_PRIV_METHODS)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "options.method is %d, which is no method", method);
  if (o->effort != REDIST_ESTIMATE && o->effort != REDIST_MEASURE)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "options.effort is %d", (int)o->effort);
  redist_priv_check_wire(p, v);
  if (o->arrays < 0 || (ptrdiff_t)o->max_buffer < 0 || o->node_ranks < 0 || o->executions < 0)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT,
                     "options.arrays is %d, max_buffer %" PRId64
                     ", node_ranks %d, executions %d, must be at least 0",
                     o->arrays, (int64_t)(ptrdiff_t)o->max_buffer, o->node_ranks, o->executions);
  if (fixed && o->arrays > 1)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT,
                     "fixed arrays go with one array, but options.arrays is %d", o->arrays);
  if (fixed && p->part->policy.function != NULL)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "fixed arrays do not go with options.combine");
  if (!redist_priv_is_cost(&o->cost))
    redist_priv_fail(
        v, REDIST_ERR_ARGUMENT,
        "options.cost.per_message is %g, cost.per_byte %g, must be at least 0 and finite",
        o->cost.per_message, o->cost.per_byte);
  if (p->parts > 1 && (fixed || o->arrays > 1))
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "several parts do not go with options.%s",
                     fixed ? "fixed_from or fixed_to" : "arrays");
  if (p->parts > 1 && method == REDIST_MULTIPHASE)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "REDIST_MULTIPHASE moves one part, not %d", p->parts);
}

/* Checks that a combining function of the library supports the element type. */
REDIST_PRIV_COLD void redist_priv_check_combine(const redist_priv_part *part,
                                                redist_priv_error *v) {
  static const int bytes[] = {4, 8, 8, 16};
  redist_combine *const function = part->policy.function;
  const redist_axpby *axpby = (const redist_axpby *)part->policy.context;
  const redist_op *op = (const redist_op *)part->policy.context;
  int size = 0;
  if (function != redist_combine_op && function != redist_combine_axpby) return;
  if (part->policy.context == NULL)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT,
                     "options.combine needs options.context, which is NULL");
  else if (function == redist_combine_op &&
           (op->type == MPI_DATATYPE_NULL || op->op == MPI_OP_NULL))
    redist_priv_fail(v, REDIST_ERR_ARGUMENT,
                     "the operation or the datatype of options.context is null");
  else if (function == redist_combine_op)
    MPI_Type_size(op->type, &size);
  else if ((unsigned)axpby->type > REDIST_COMPLEX_DOUBLE)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT, "the type of options.context is %d", (int)axpby->type);
  else
    size = bytes[axpby->type];
  if (size != part->element_bytes)
    redist_priv_fail(v, REDIST_ERR_ARGUMENT,
                     "elements have %" PRId64 " bytes, those that are combined %d",
                     part->element_bytes, size);
}

/* ------------------------------------------------------------------------------ peers (private) */

/* Both ends of a message order its blocks equally without exchanging a word: each finds the
   products of its own places, by the layouts alone, and sorts them by the same keys. What a rank
   keeps is copied from array to array. In place, what lies at its destination already stays there,
   and the rest goes by way of staging memory. */

/* a, rounded up to a multiple, which is a power of 2. */
REDIST_PRIV int64_t redist_priv_round_up(int64_t a, int64_t multiple) {
  return (a + multiple - 1) & -multiple;
}

/* A product's message, with this side's storage filled in. */
REDIST_PRIV redist_priv_message redist_priv_product_message(const redist_plan *p,
                                                            const redist_priv_product *product) {
  const redist_priv_part *part = &p->part[product->part];
  const redist_priv_half *half = &part->half[product->own];
  redist_priv_message m = redist_priv_message_of(&half->peers[product->held], product->message,
                                                 product->number, part->order);
  REDIST_ASSERT(product->held < half->found);
  redist_priv_store(&m, product->own, product->own == REDIST_PRIV_FROM ? part->from : part->to,
                    &half->place[product->held].storage);
  return m;
}

/* How much further on an axis puts elements on one side than on another: by low, high, or what lies
   between them, low + unit, ... unit 0: all by low. */
typedef struct {
  int64_t low, high, unit;
} redist_priv_distances;

REDIST_PRIV_COLD redist_priv_distances redist_priv_distances_of(const redist_priv_message *m,
                                                                int from, int to, int axis) {
  redist_priv_distances all = {INT64_MAX, INT64_MIN, 0};
  int64_t r, low, high, step;
  int level;
  for (r = 0; r < m->axis[axis]->runs; r++) {
    const redist_priv_run run = redist_priv_run_at(m->axis[axis], r);
    low = high = run.at[to] * m->stride[to][axis] - run.at[from] * m->stride[from][axis];
    if (r > 0) all.unit = redist_priv_gcd(low - all.low, all.unit);
    for (level = 0; level < REDIST_PRIV_LEVELS; level++) {
      if (run.n[level] == 1) continue;
      step = run.stride[level][to] * m->stride[to][axis] -
             run.stride[level][from] * m->stride[from][axis];
      low += redist_priv_min((run.n[level] - 1) * step, 0);
      high += redist_priv_max((run.n[level] - 1) * step, 0);
      all.unit = redist_priv_gcd(step, all.unit);
    }
    all.low = redist_priv_min(all.low, low);
    all.high = redist_priv_max(all.high, high);
  }
  all.unit = redist_priv_abs(all.unit);
  return all;
}

/* The offset of a message that lies in the array in packed order, in elements; -1 when it does
   not. */
REDIST_PRIV_COLD int64_t redist_priv_contiguous(const redist_priv_message *m, int side) {
  redist_priv_distances distances;
  int64_t begin = m->origin[side];
  int d;
  for (d = 0; d < m->ndim; d++) {
    distances = redist_priv_distances_of(m, REDIST_PRIV_PACKED, side, d);
    if (distances.low != distances.high) return -1;
    begin += distances.low;
  }
  return begin;
}

/* Splits the runs of an axis into those that lie at their destination and the others. shift: how
   much further on in the array local position 0 of the destination lies. */
REDIST_PRIV_COLD int redist_priv_split_runs(const redist_priv_runs *list, int64_t shift,
                                            int combined, redist_priv_runs *halves) {
  redist_priv_runs *half;
  int64_t r;
  int level, same_strides, code = REDIST_OK;
  for (r = 0; r < list->runs && code == REDIST_OK; r++) {
    redist_priv_run run = redist_priv_run_at(list, r);
    for (level = 0, same_strides = 1; level < REDIST_PRIV_LEVELS; level++)
      same_strides &= run.n[level] == 1 ||
                      run.stride[level][REDIST_PRIV_FROM] == run.stride[level][REDIST_PRIV_TO];
    half = &halves[!same_strides || run.at[REDIST_PRIV_FROM] != run.at[REDIST_PRIV_TO] + shift];
    /* packed one after the other, without the other half's */
    run.at[REDIST_PRIV_PACKED] = half->elements;
    run.stride[1][REDIST_PRIV_PACKED] = run.n[0];
    run.stride[2][REDIST_PRIV_PACKED] = run.n[0] * run.n[1];
    if (redist_priv_has_segments(list)) {
      code = redist_priv_append_segment(half, run.at, run.n[0], run.stride[0]);
    } else {
      half->elements += run.n[0] * run.n[1] * run.n[2];
      code = redist_priv_append_run(half, &run);
    }
    if (code == REDIST_OK && combined && !same_strides) code = REDIST_ERR_ARGUMENT;
  }
  REDIST_ASSERT(code != REDIST_OK || halves[0].elements + halves[1].elements == list->elements);
  return code;
}

/* How a part's elements are copied from one side to another. */
REDIST_PRIV_COLD redist_priv_manner redist_priv_manner_of(const redist_priv_part *part, int from,
                                                          int to, int stream) {
  const enum redist_priv_stores store = from == REDIST_PRIV_PACKED ? REDIST_PRIV_UNPACKING
                                        : to == REDIST_PRIV_PACKED ? REDIST_PRIV_PACKING
                                                                   : REDIST_PRIV_ACROSS;
  const redist_priv_manner manner = {
      {from, to},
      {store == REDIST_PRIV_UNPACKING ? part->packed_bytes : part->element_bytes,
       store == REDIST_PRIV_PACKING ? part->packed_bytes : part->element_bytes},
      part->store[store].converts ? 1 + part->store[store].converts
                                  : part->store[store].function != NULL,
      stream};
  return manner;
}

/* Adds the copy of a local message; if executions overwrite, by way of staging memory, where it
   begins at element m->origin[REDIST_PRIV_PACKED] of what is local to this message. */
REDIST_PRIV_COLD int redist_priv_add_local(redist_plan *p, redist_priv_part *part,
                                           const redist_priv_message *m, int when) {
  const int halves = p->overwritten ? 2 : 1;
  redist_priv_program copy;
  int half, code = REDIST_OK;
  for (half = 0; half < halves && code == REDIST_OK; half++) {
    redist_priv_manner manner =
        redist_priv_manner_of(part, half == 0 ? REDIST_PRIV_FROM : REDIST_PRIV_PACKED,
                              half == halves - 1 ? REDIST_PRIV_TO : REDIST_PRIV_PACKED, 0);
    if (part->store[REDIST_PRIV_HERE].function == NULL) manner.combine = 0;
    code = redist_priv_compile(&p->pool, m, NULL, NULL, manner, &copy);
    copy.array = (int)(part - p->part);
    copy.when = when;
    copy.from += half > 0 ? p->local.bytes : 0;
    copy.to += half < halves - 1 ? p->local.bytes : 0;
    if (code == REDIST_OK) code = redist_priv_add_copy(&p->pool, &p->local.copies[half], 0, &copy);
  }
  part->rest += when & REDIST_PRIV_TOGETHER_ONLY ? m->elements : 0;
  return code;
}

/* Adds the messages, one per axis, of the elements of a local message that must move in place. */
REDIST_PRIV_COLD int redist_priv_add_moves(redist_plan *p, redist_priv_part *part,
                                           redist_priv_message whole, const int64_t *shift) {
  redist_priv_runs half[2 * REDIST_MAX_DIMS];
  redist_priv_message move;
  int d, e, code = REDIST_OK;
  memset(half, 0, sizeof half);
  for (d = 0; d < whole.ndim && code == REDIST_OK; d++)
    code = redist_priv_split_runs(whole.axis[d], shift[d], part->policy.function != NULL,
                                  &half[2 * d]);
  for (d = 0; d < whole.ndim && code == REDIST_OK; d++) {
    move = whole;
    for (e = 0; e <= d; e++) move.axis[e] = &half[2 * e + (e == d)];
    redist_priv_pack_densely(&move, NULL, NULL);
    whole.origin[REDIST_PRIV_PACKED] += move.elements;
    if (move.elements > 0) code = redist_priv_add_local(p, part, &move, REDIST_PRIV_TOGETHER_ONLY);
  }
  for (d = 0; d < 2 * whole.ndim; d++) redist_priv_runs_free(&half[d]);
  return code;
}

/* Which elements of a message of this rank to itself are their own destinations: none; those of
   which each axis has a distance of its own; or others. */
enum { REDIST_PRIV_NO_OWN, REDIST_PRIV_OWN_BY_AXES, REDIST_PRIV_OWN_ANYHOW };

/* An element is its own destination where the distances of all axes and of the two origins add up
   to 0. From the slowest axis on, that leaves one distance of an axis, if those of the faster ones
   do not reach from one to the next. shift[axis]: by how much local positions of the destination
   are then less than those of the source. */
REDIST_PRIV_COLD int redist_priv_find_own(const redist_priv_message *m, const redist_layout *to,
                                          int64_t *shift) {
  redist_priv_distances distances[REDIST_MAX_DIMS];
  int64_t low = m->origin[REDIST_PRIV_TO] - m->origin[REDIST_PRIV_FROM], high = low, one, unit;
  int axes[REDIST_MAX_DIMS], d, k;
  for (d = 0; d < m->ndim; d++) {
    distances[d] = redist_priv_distances_of(m, REDIST_PRIV_FROM, REDIST_PRIV_TO, d);
    low += distances[d].low;
    high += distances[d].high;
  }
  if (low > 0 || high < 0) return REDIST_PRIV_NO_OWN;
  redist_priv_slow_to_fast(to, to->memory_order, axes);
  for (k = 0; k < m->ndim; k++) {
    d = axes[k];
    if (m->stride[REDIST_PRIV_FROM][d] != m->stride[REDIST_PRIV_TO][d])
      return REDIST_PRIV_OWN_ANYHOW;
    low -= distances[d].low; /* of the faster axes, and of what has been chosen */
    high -= distances[d].high;
    unit = redist_priv_max(distances[d].unit, 1);
    one = distances[d].low +
          redist_priv_ceil_div(redist_priv_max(-high - distances[d].low, 0), unit) * unit;
    if (one + unit <= redist_priv_min(-low, distances[d].high)) return REDIST_PRIV_OWN_ANYHOW;
    shift[d] = -one / m->stride[REDIST_PRIV_TO][d];
    low += one;
    high += one;
  }
  if (low != 0) shift[0] = REDIST_PRIV_MAX_ELEMENTS; /* no element has it */
  return REDIST_PRIV_OWN_BY_AXES;
}

/* As blocks are, for each rank. */
REDIST_PRIV_COLD int redist_priv_compare_products(const void *a, const void *b) {
  return redist_priv_compare_keys(a, b, 5);
}

/* Adds the local copy of a product, whose message is m, or what of it must be copied in place.
   REDIST_ERR_ARGUMENT: the plan combines in place, and the elements that are their own destinations
   cannot be separated from others. */
REDIST_PRIV_APART int redist_priv_keep(redist_plan *p, redist_priv_part *part,
                                       const redist_priv_product *product, redist_priv_message *m) {
  const redist_priv_half *to = &part->half[REDIST_PRIV_TO];
  const redist_priv_held_place *there =
      (const redist_priv_held_place *)redist_priv_find(to->place, to->places, sizeof *there,
                                                       product->place[REDIST_PRIV_TO]);
  const int in_place = p->options.in_place;
  int64_t shift[REDIST_MAX_DIMS];
  int code, own = REDIST_PRIV_OWN_BY_AXES;
  REDIST_ASSERT(there != NULL);
  code = redist_priv_store(m, REDIST_PRIV_TO, part->to, &there->storage);
  part->local += m->elements;
  if (in_place && code == REDIST_OK) own = redist_priv_find_own(m, part->to, shift);
  if (own == REDIST_PRIV_OWN_ANYHOW && part->policy.function != NULL) code = REDIST_ERR_ARGUMENT;
  if (code == REDIST_OK)
    code = redist_priv_add_local(p, part, m,
                                 own == REDIST_PRIV_OWN_BY_AXES ? REDIST_PRIV_APART_ONLY
                                                                : REDIST_PRIV_ALWAYS);
  if (code == REDIST_OK && in_place && own == REDIST_PRIV_OWN_BY_AXES)
    code = redist_priv_add_moves(p, part, *m, shift);
  REDIST_ASSERT(part->rest <= part->local);
  redist_priv_message_close(m);
  p->local.bytes += redist_priv_round_up(product->bytes, REDIST_PRIV_LINE);
  return code;
}

/* Adds the products of what one of this rank's places exchanges with another, one for each choice
   of images, or their local copies. */
REDIST_PRIV_COLD int redist_priv_add_products(redist_plan *p, redist_priv_part *part,
                                              redist_priv_product *product) {
  const int images = part->half[product->own].peers[product->held].blocks;
  int code = REDIST_OK;
  for (; product->number < images && code == REDIST_OK; product->number++) {
    redist_priv_message m = redist_priv_product_message(p, product);
    product->bytes = m.elements * part->packed_bytes;
    if (product->bytes == 0) continue;
    code = product->rank == p->rank
               ? redist_priv_keep(p, part, product, &m)
               : REDIST_PRIV_APPEND(p->product, p->products, p->product_room, *product);
  }
  return code;
}

/* Adds the next peer, whose products begin at *at, and advances *at. */
REDIST_PRIV_COLD int redist_priv_add_peer(redist_plan *p, int own, int64_t *at) {
  const int rank = p->product[*at].rank, arrays = p->parts > 1 ? 1 : p->arrays;
  const int ahead = own == REDIST_PRIV_FROM ? rank - p->rank : p->rank - rank;
  redist_priv_side *s = &p->side[own];
  redist_priv_peer peer;
  memset((void *)&peer, 0, sizeof peer);
  peer.own = own;
  peer.rank = rank;
  peer.order = (ahead + p->size) % p->size; /* in the ring of ranks */
  peer.product = *at;
  for (; *at < p->products && p->product[*at].rank == rank; ++*at) {
    redist_priv_product *m = &p->product[*at];
    const redist_priv_part *part = &p->part[m->part];
    REDIST_ASSERT(m->bytes > 0);
    m->at = redist_priv_round_up(peer.bytes, p->alignment);
    peer.bytes = m->at + m->bytes;
    s->bytes += m->bytes * arrays;
    s->touched += m->bytes / part->packed_bytes * part->element_bytes * arrays;
  }
  peer.products = *at - peer.product;
  peer.blocks = peer.products * arrays;
  peer.each = redist_priv_round_up(peer.bytes, p->alignment);
  peer.bytes += (arrays - 1) * peer.each;
  s->peers++;
  return REDIST_PRIV_APPEND(p->peer, p->peers, p->peer_room, peer);
}

/* A message's k-th block. */
REDIST_PRIV_COLD redist_priv_block redist_priv_message_block(const redist_plan *p,
                                                             const redist_priv_peer *peer,
                                                             int64_t k) {
  redist_priv_product *product = &p->product[peer->product + k % peer->products];
  const int64_t a = k / peer->products;
  const redist_priv_block block = {product, product->at + a * peer->each,
                                   p->parts > 1 ? product->part : (int)a};
  return block;
}

/* Finds this rank's places in the layout of a part's side, and what they own. */
REDIST_PRIV_COLD int redist_priv_open_half(const redist_plan *p, redist_priv_part *part, int own) {
  const redist_layout *layout = own == REDIST_PRIV_FROM ? part->from : part->to;
  redist_priv_half *half = &part->half[own];
  redist_priv_held_place held = redist_priv_before_first();
  int coords[REDIST_MAX_DIMS], code = redist_priv_directory_open(&part->directory[own], layout);
  int64_t k;
  if (code != REDIST_OK) return code;
  half->places = redist_layout_on_rank(layout, p->rank, 0, NULL);
  half->place = REDIST_PRIV_ZEROED(redist_priv_held_place, half->places);
  half->peers = REDIST_PRIV_ZEROED(redist_priv_place_peers, half->places);
  if (half->place == NULL || half->peers == NULL) return REDIST_ERR_MEMORY;
  for (k = 0; redist_priv_next_held(layout, p->rank, &held); k++) {
    redist_priv_coords_of_place(layout, held.place, coords);
    half->place[k] = held;
    half->owned += redist_priv_held_at(layout, coords);
  }
  half->array_bytes = held.end * part->element_bytes;
  return REDIST_OK;
}

/* Finds what one of this rank's places exchanges on one side. What stays on the rank is found on
   the source's side. */
REDIST_PRIV_COLD int redist_priv_meet_place(redist_plan *p, redist_priv_pairs *pairs, int own,
                                            int part, int held) {
  const redist_layout *layout = pairs->side[own]->layout;
  redist_priv_half *half = &p->part[part].half[own];
  const int mine = half->place[held].place;
  const int except =
      own == REDIST_PRIV_TO && pairs->side[REDIST_PRIV_FROM]->layout->copies == 1 ? p->rank : -1;
  const int64_t before = p->products;
  redist_priv_product product;
  int coords[REDIST_MAX_DIMS], code;
  redist_priv_coords_of_place(layout, mine, coords);
  half->found = held + 1;
  code =
      redist_priv_find_peers(layout, coords, own, pairs->side[!own], 1, except, &half->peers[held]);
  redist_priv_pairs_of(pairs, mine, &half->peers[held]);
  while (code == REDIST_OK && redist_priv_next_pair(pairs)) {
    if (pairs->place[own] != mine) continue;
    memset(&product, 0, sizeof product);
    product.rank = pairs->rank[!own];
    product.own = own;
    product.part = part;
    memcpy(product.place, pairs->place, sizeof pairs->place);
    product.held = held;
    product.message = pairs->message;
    if (product.rank != p->rank || own == REDIST_PRIV_FROM)
      code = redist_priv_add_products(p, &p->part[part], &product);
  }
  if (p->products == before) redist_priv_place_peers_free(&half->peers[held]);
  return code == REDIST_OK ? pairs->code : code;
}

/* Finds what this rank exchanges on one side, in all parts, and with whom. */
REDIST_PRIV_COLD int redist_priv_open_side(redist_plan *p, int own) {
  redist_priv_side *s = &p->side[own];
  const int64_t before = p->products;
  redist_priv_pairs pairs;
  int64_t k;
  int i, code = REDIST_OK;
  for (i = 0; i < p->parts && code == REDIST_OK; i++) {
    redist_priv_part *part = &p->part[i];
    const int arrays = p->parts > 1 ? 1 : p->arrays;
    s->owned += part->half[own].owned;
    s->array_bytes += part->half[own].array_bytes * arrays;
    pairs =
        redist_priv_pairs_between(&part->directory[REDIST_PRIV_FROM],
                                  &part->directory[REDIST_PRIV_TO], part->policy.function != NULL);
    for (k = 0; k < part->half[own].places && code == REDIST_OK; k++)
      code = redist_priv_meet_place(p, &pairs, own, i, (int)k);
  }
  if (p->products > before)
    qsort(p->product + before, (size_t)(p->products - before), sizeof *p->product,
          redist_priv_compare_products);
  for (k = before; k < p->products && code == REDIST_OK;) code = redist_priv_add_peer(p, own, &k);
  return code;
}

/* How many bytes of a side an execution touches: messages, which are known, and what is local
   unless it stays in place. */
REDIST_PRIV_COLD void redist_priv_measure_side(redist_plan *p, redist_priv_side *s) {
  int a;
  for (a = 0; a < p->arrays; a++) {
    const redist_priv_part *part = redist_priv_part_of(p, a);
    s->touched += (p->options.in_place ? part->rest : part->local) * part->element_bytes;
  }
  s->streams = s->touched >= REDIST_STREAM_BYTES;
}

REDIST_PRIV_COLD int redist_priv_open_sides(redist_plan *p) {
  const redist_priv_copies *list = &p->local.copies[p->overwritten]; /* to the destination */
  int64_t k;
  int own, code = REDIST_OK;
  p->peer = (redist_priv_peer *)redist_priv_zeroed(1, 1); /* not NULL; grows later */
  p->pointers = REDIST_PRIV_ZEROED(const void *, 3 * (int64_t)p->arrays);
  p->extent = REDIST_PRIV_ALLOC(redist_priv_extent, 2 * (int64_t)p->arrays);
  if (p->peer == NULL || p->pointers == NULL || p->extent == NULL) return REDIST_ERR_MEMORY;
  p->pointers[0] = p->options.fixed_from;
  p->pointers[p->arrays] = p->options.fixed_to;
  for (k = 0; k < 2 * p->parts && code == REDIST_OK; k++)
    code = redist_priv_open_half(p, &p->part[k / 2], (int)(k % 2));
  for (own = REDIST_PRIV_TO; own >= REDIST_PRIV_FROM && code == REDIST_OK; own--)
    code = redist_priv_open_side(p, own);
  for (k = 0; k < 2 * p->parts; k++) redist_priv_directory_close(&p->part[k / 2].directory[k % 2]);
  for (own = 0; own < 2 && code == REDIST_OK; own++) {
    redist_priv_side *s = &p->side[own];
    s->peer = p->peer + (own == REDIST_PRIV_FROM ? p->side[REDIST_PRIV_TO].peers : 0);
    qsort(s->peer, (size_t)s->peers, sizeof *s->peer, redist_priv_compare_ints);
    redist_priv_measure_side(p, s);
  }
  for (k = 0; k < list->n && code == REDIST_OK && p->side[REDIST_PRIV_TO].streams; k++)
    redist_priv_stream_steps(&p->pool, list->copy[k].first,
                             list->copy[k].first + list->copy[k].steps);
  p->kept.steps = p->pool.steps;
  p->kept.loops = p->pool.loops;
  p->kept.offsets = p->pool.offsets;
  p->arrival = REDIST_PRIV_ALLOC(int, p->side[REDIST_PRIV_TO].peers + 1);
  if (code == REDIST_OK && p->arrival == NULL) code = REDIST_ERR_MEMORY;
  return code;
}

/* ---------------------------------------------------------------------------- staging (private) */

/* A message that is not contiguous in the array is packed into staging memory before it is sent,
   and unpacked from there after it has arrived:

       source's   staging memory              staging memory                destination's
       array   -> | to rank 1 | to rank 4 | => | from rank 0 | from rank 3 | -> array
*/

/* Which messages of a side stay in the array: none, those that are contiguous there, or all. */
enum { REDIST_PRIV_NONE, REDIST_PRIV_CONTIGUOUS, REDIST_PRIV_ALL };

/* Gives staged messages their offsets in the staging memory, multiples of `unit` bytes, a power of
   2. Contiguous messages are staged, too, if there are several arrays, if other messages arrive in
   the array meanwhile, or if elements are combined. */
REDIST_PRIV_COLD int redist_priv_stage_peers(redist_plan *p, int own, int in_array, int64_t unit) {
  const redist_priv_side *s = &p->side[own];
  const int taken = own == REDIST_PRIV_FROM ? p->overwrites : p->combines;
  const int contiguous = in_array == REDIST_PRIV_CONTIGUOUS && p->arrays == 1 && !taken;
  redist_priv_staging *staging = &p->staging[own];
  int64_t k;
  staging->bytes = 0;
  for (k = 0; k < s->peers; k++) {
    redist_priv_peer *peer = &s->peer[k];
    const redist_priv_product *product = &p->product[peer->product];
    const redist_priv_message m = redist_priv_product_message(p, product);
    const redist_priv_part *part = &p->part[product->part];
    const int whole = peer->blocks == 1 && part->store[REDIST_PRIV_PACKING].function == NULL;
    peer->direct = whole ? redist_priv_contiguous(&m, own) * part->element_bytes : -1;
    peer->staged = REDIST_PRIV_IN_ARRAY;
    if (peer->near || in_array == REDIST_PRIV_ALL || (contiguous && peer->direct >= 0)) continue;
    peer->staged = staging->bytes;
    staging->bytes += redist_priv_round_up(peer->bytes, redist_priv_max(unit, REDIST_PRIV_LINE));
  }
  return REDIST_OK;
}

REDIST_PRIV_COLD int64_t redist_priv_buffer_bytes(const redist_plan *p) {
  int64_t bytes = p->rings != NULL ? p->rings->ring_bytes : 0;
  int side;
  for (side = 0; side < REDIST_PRIV_SIDES; side++) bytes += p->staging[side].bytes;
  return bytes;
}

/* The buffer of a side's messages for MPI's collectives: staging memory, the array, or MPI_BOTTOM
   for types with addresses. NULL without messages: MPI refuses equal buffers, even to send
   nothing. */
REDIST_PRIV void *redist_priv_memory(const redist_plan *p, int own) {
  if (p->staging[own].memory != NULL) return p->staging[own].memory;
  if (p->side[own].peers == 0) return NULL;
  return p->arrays > 1 ? MPI_BOTTOM : redist_priv_given(p, own);
}

/* Runs copies between arrays, or to or from packed memory. */
REDIST_PRIV void redist_priv_run_copies(const redist_plan *p, const redist_priv_program *c,
                                        int64_t n, enum redist_priv_stores store,
                                        redist_priv_base from, redist_priv_base to) {
  int64_t uniform;
  for (; n > 0; n -= uniform, c += uniform) {
    uniform = redist_priv_uniform_copies(&p->pool, c, n);
    if (uniform > 1)
      redist_priv_copy_uniform(&p->pool, c, uniform, from, to);
    else
      redist_priv_copy(&p->pool, c, &redist_priv_part_of(p, c->array)->store[store],
                       redist_priv_base_of(from, c), redist_priv_base_of(to, c));
  }
}

/* Where copies of a side begin, in the a-th array and those after it. */
REDIST_PRIV redist_priv_base redist_priv_arrays(const redist_plan *p, int side, int a) {
  const redist_priv_base base = {p->pointers + side * p->arrays + a, NULL};
  return base;
}

REDIST_PRIV redist_priv_base redist_priv_packed(const char *memory) {
  const redist_priv_base base = {NULL, memory};
  return base;
}

/* Whether a local copy of the a-th array, or of those after it, is made. */
REDIST_PRIV_FAST int redist_priv_is_due(const redist_plan *p, const redist_priv_program *c, int a) {
  const void *const *at = p->pointers + a + c->array;
  return c->when & (at[0] == at[p->arrays] ? REDIST_PRIV_TOGETHER_ONLY : REDIST_PRIV_APART_ONLY);
}

/* Copies a half of what is local: straight there, or with `packed` into staging memory (half 0) and
   from there (half 1). */
REDIST_PRIV void redist_priv_copy_local_half(const redist_plan *p, int half, const char *packed) {
  const redist_priv_copies *list = &p->local.copies[half];
  const enum redist_priv_stores store = packed == NULL ? REDIST_PRIV_HERE
                                        : half == 0    ? REDIST_PRIV_PACKING
                                                       : REDIST_PRIV_UNPACKING;
  const int repeated = p->parts > 1 ? 1 : p->arrays; /* the list, for one array after another */
  redist_priv_base from, to;
  int64_t begin, end;
  int a;
  for (a = 0; a < repeated; a++) {
    from = half == 1 ? redist_priv_packed(packed) : redist_priv_arrays(p, REDIST_PRIV_FROM, a);
    to = store == REDIST_PRIV_PACKING ? redist_priv_packed(packed)
                                      : redist_priv_arrays(p, REDIST_PRIV_TO, a);
    for (begin = end = 0; begin < list->n; begin = ++end) {
      while (end < list->n && redist_priv_is_due(p, &list->copy[end], a)) end++;
      redist_priv_run_copies(p, list->copy + begin, end - begin, store, from, to);
    }
    if (packed != NULL) packed += p->local.bytes;
  }
}

/* Copies what is local, after everything else has been packed. */
REDIST_PRIV_APART void redist_priv_copy_local(redist_plan *p) {
  const char *packed = p->overwritten ? p->staging[REDIST_PRIV_PACKED].memory : NULL;
  const double began = redist_priv_now(p);
  int half;
  for (half = 0; half < (packed != NULL ? 2 : 1); half++)
    redist_priv_copy_local_half(p, half, packed);
  redist_priv_add_copying(p, began);
  redist_priv_arrive_local(p);
}

/* Whether what is local is copied last: the rank only fills rings, and receivers would wait. */
REDIST_PRIV int redist_priv_fills_first(const redist_plan *p) {
  const redist_priv_rings *r = p->rings;
  return r != NULL && p->blocking && !p->overwrites && !r->direct && p->carriers == NULL &&
         r->channels == p->peers && r->receives == 0;
}

/* The link to this rank itself. Plans that overwrite have copied what is local before, when all
   was packed. */
REDIST_PRIV int redist_priv_local_post(redist_plan *p) {
  if (!p->overwrites && !redist_priv_fills_first(p)) redist_priv_copy_local(p);
  return REDIST_OK;
}

/* ----------------------------------------------------------------------------- pieces (private) */

/* Staging memory may be smaller than a message, and the peer can unpack early pieces while later
   ones are packed. So long messages are cut into pieces, equally at both ends. Where both ends have
   the packed message in one range of memory, pieces are equally long ranges of it. Else they are
   listed: a piece holds as many whole blocks as fit, or a brick of one: some of its elements along
   each axis. Bricks are numbered from the source's fastest axis on. */

/* The elements along each axis of the bricks of a block. Bricks are long along the source's fastest
   axes, so that packing reads long runs, and wide along the destination's fastest, so that
   unpacking writes long runs. Returns the number of bricks. */
REDIST_PRIV_COLD int64_t redist_priv_cut(const redist_priv_part *part, const redist_priv_message *m,
                                         redist_priv_cutting c, int64_t *size) {
  int axes[REDIST_MAX_DIMS], i, wide;
  int64_t bricks = 1, room = redist_priv_max(c.bytes / part->packed_bytes, 1), width;
  redist_priv_slow_to_fast(part->to, part->to->memory_order, axes);
  for (i = 0, wide = axes[0]; i < m->ndim; i++)
    wide = m->axis[axes[i]]->elements > 1 ? axes[i] : wide;
  width = redist_priv_min(redist_priv_max(c.wide / part->packed_bytes, 1), room);
  width = redist_priv_min(width, m->axis[wide]->elements);
  room /= width;
  for (i = m->ndim - 1; i >= 0; i--) {
    const int d = part->order[i];
    const int64_t n = m->axis[d]->elements, least = d == wide ? width : 1;
    const int64_t times = redist_priv_min(redist_priv_ceil_div(n, least), room);
    size[d] = redist_priv_min(least * times, n);
    bricks *= redist_priv_ceil_div(n, size[d]);
    room /= times;
  }
  return bricks;
}

/* Advances the window of a brick, from before the first; returns 0 after the last. */
REDIST_PRIV_COLD int redist_priv_next_brick(const redist_priv_message *m, const int64_t *size,
                                            int64_t *begin, int64_t *end) {
  int i, d;
  for (i = m->ndim - 1; i >= 0; i--) {
    d = m->order[i];
    begin[d] += size[d];
    if (begin[d] >= m->axis[d]->elements) begin[d] = 0;
    end[d] = redist_priv_min(begin[d] + size[d], m->axis[d]->elements);
    if (begin[d] > 0) return 1;
  }
  return 0;
}

/* The pieces of a message that are being listed, perhaps with their copies. */
typedef struct {
  const redist_priv_peer *peer;
  redist_priv_cutting cutting;
  int compiles, stream;
  int cut;             /* the last piece is a brick */
  int64_t first, copy; /* of the plan's pieces and copies, the message's first */
} redist_priv_listing;

/* Adds a copy, or only its bytes, to the message's last piece if it fits, or to a new one. at:
   where it begins in the packed message. again: it has been compiled for another array. */
REDIST_PRIV_COLD int redist_priv_list_copy(redist_plan *p, redist_priv_listing *l, int64_t at,
                                           int brick, int again, redist_priv_program *copy) {
  redist_priv_piece *last = p->pieces > l->first ? &p->piece[p->pieces - 1] : NULL,
                    next = {0, 0, 0, 0};
  const int fits =
      !brick && !l->cut && last != NULL && at + copy->bytes - last->at <= l->cutting.bytes;
  int code = REDIST_OK;
  next.at = at;
  next.first = p->copies.n;
  if (!fits) code = REDIST_PRIV_APPEND(p->piece, p->pieces, p->piece_room, next);
  if (code != REDIST_OK) return code;
  last = &p->piece[p->pieces - 1];
  l->cut = brick;
  last->bytes = at + copy->bytes - last->at;
  REDIST_ASSERT(last->bytes <= l->cutting.bytes);
  *(l->peer->own == REDIST_PRIV_FROM ? &copy->to : &copy->from) += at - last->at;
  if (!l->compiles) return REDIST_OK;
  last->copies++;
  return redist_priv_add_copy(&p->pool, &p->copies, again ? INT64_MAX : l->copy, copy);
}

/* Lists the pieces of a block. What one array has been compiled for serves the others, too. */
REDIST_PRIV_COLD int redist_priv_list_block(redist_plan *p, redist_priv_listing *l,
                                            redist_priv_block block) {
  redist_priv_product *product = block.product;
  const redist_priv_part *part = &p->part[product->part];
  const redist_priv_message m = redist_priv_product_message(p, product);
  const int packs = product->own == REDIST_PRIV_FROM, again = p->parts == 1 && block.array > 0;
  const int brick =
      REDIST_PRIV_CUTS && l->peer->bytes > l->cutting.bytes && product->bytes > l->cutting.bytes;
  const redist_priv_manner manner =
      redist_priv_manner_of(part, packs ? REDIST_PRIV_FROM : REDIST_PRIV_PACKED,
                            packs ? REDIST_PRIV_PACKED : REDIST_PRIV_TO, l->stream);
  int64_t size[REDIST_MAX_DIMS], begin[REDIST_MAX_DIMS] = {0}, end[REDIST_MAX_DIMS];
  int64_t at = block.at, k = product->copy;
  redist_priv_program copy;
  int d, code = REDIST_OK;
  for (d = 0; d < m.ndim; d++) size[d] = m.axis[d]->elements;
  if (brick) redist_priv_cut(part, &m, l->cutting, size);
  memcpy(end, size, sizeof size);
  if (!again) product->copy = p->copies.n;
  do {
    memset(&copy, 0, sizeof copy);
    copy.bytes = part->packed_bytes;
    for (d = 0; d < m.ndim; d++) copy.bytes *= end[d] - begin[d];
    if (l->compiles && again)
      copy = p->copies.copy[k++];
    else if (l->compiles)
      code = redist_priv_compile(&p->pool, &m, begin, end, manner, &copy);
    if (again) *(packs ? &copy.to : &copy.from) -= product->shift;
    copy.array = block.array;
    if (code == REDIST_OK) code = redist_priv_list_copy(p, l, at, brick, again, &copy);
    if (!again && code == REDIST_OK) product->shift = at - p->piece[p->pieces - 1].at;
    at += copy.bytes;
  } while (code == REDIST_OK && redist_priv_next_brick(&m, size, begin, end));
  REDIST_ASSERT(code != REDIST_OK || at == block.at + product->bytes);
  return code;
}

/* Lists the pieces of a message, with their copies or without. *first: the first one, of the
   plan's. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_list_pieces(redist_plan *p, const redist_priv_peer *peer,
                                             redist_priv_cutting cutting, int compiles,
                                             int64_t *first) {
  const int own = peer->own;
  redist_priv_listing l;
  int64_t k;
  int code = REDIST_OK;
  l.peer = peer;
  l.cutting = cutting;
  l.compiles = compiles;
  l.stream = own == REDIST_PRIV_TO && p->side[own].streams;
  l.cut = 0;
  l.first = *first = p->pieces;
  l.copy = p->copies.n;
  for (k = 0; k < peer->blocks && code == REDIST_OK; k++)
    code = redist_priv_list_block(p, &l, redist_priv_message_block(p, peer, k));
  REDIST_ASSERT(code != REDIST_OK ||
                p->piece[p->pieces - 1].at + p->piece[p->pieces - 1].bytes == peer->bytes);
  return code;
}

REDIST_PRIV redist_priv_piece redist_priv_piece_of(const redist_plan *p,
                                                   const redist_priv_peer *peer, int64_t k) {
  redist_priv_piece piece = {0, 0, 0, 0};
  REDIST_ASSERT(k >= 0 && k < peer->pieces);
  if (peer->step == 0) return p->piece[peer->listed + k];
  piece.at = k * peer->step;
  piece.bytes = redist_priv_min(peer->step, peer->bytes - piece.at);
  return piece;
}

/* Packs a listed piece of a message into `packed`, or unpacks it. */
REDIST_PRIV void redist_priv_copy_piece(const redist_plan *p, const redist_priv_peer *peer,
                                        int64_t piece, const char *packed) {
  const redist_priv_piece *listed = &p->piece[piece];
  const redist_priv_base arrays = redist_priv_arrays(p, peer->own, 0),
                         memory = redist_priv_packed(packed);
  const int arrives = peer->own == REDIST_PRIV_TO;
  const double began = redist_priv_now(p);
  REDIST_ASSERT(piece < p->pieces && listed->first + listed->copies <= p->copies.n);
  redist_priv_run_copies(p, p->copies.copy + listed->first, listed->copies,
                         arrives ? REDIST_PRIV_UNPACKING : REDIST_PRIV_PACKING,
                         arrives ? memory : arrays, arrives ? arrays : memory);
  redist_priv_add_copying(p, began);
}

/* Packs a whole message into its staging memory, or unpacks it. */
REDIST_PRIV void redist_priv_copy_staged(const redist_plan *p, const redist_priv_peer *peer) {
  REDIST_ASSERT(peer->staged >= 0 && peer->staged + peer->bytes <= p->staging[peer->own].bytes);
  redist_priv_copy_piece(p, peer, peer->whole, p->staging[peer->own].memory + peer->staged);
}

/* The same for all that is staged on a side. */
REDIST_PRIV void redist_priv_copy_all_staged(const redist_plan *p, int own) {
  const redist_priv_side *s = &p->side[own];
  int64_t k;
  for (k = 0; k < s->peers; k++)
    if (s->peer[k].staged >= 0) redist_priv_copy_staged(p, &s->peer[k]);
}

/* ----------------------------------------- REDIST_POINT_TO_POINT and REDIST_SCHEDULED (private) */

/* Each side of a rank is a lane, which serves its peers in their order, piece by piece.
   REDIST_POINT_TO_POINT starts all pieces at once. On a network between nodes this may congest
   links and buffers, where fast ranks run ahead of others. REDIST_SCHEDULED therefore orders the
   peers by redist_schedule_create, and sends a piece only when this rank has posted all receives of
   earlier steps, and of earlier pieces of the same step. Receives are posted as earlier ones
   complete, so no rank runs ahead, and the earliest piece in flight never waits. Pieces are so
   short that MPI sends them eagerly: over a socket, a receiver's answer would queue behind the data
   of the opposite direction. */

#ifndef REDIST_NO_SCHEDULED

/* This rank's peer in a step; without a schedule, the rank at that distance. Where all exchange
   with all, in each step a node's ranks send to one other node and receive from one, so that all
   links are busy. */
REDIST_PRIV_COLD int redist_priv_arranged_peer(const redist_plan *p, const redist_schedule *s,
                                               int own, int step) {
  const int each = (int)p->node, sign = own == REDIST_PRIV_FROM ? 1 : -1;
  if (!p->scheduled) return (p->rank + sign * step + p->size) % p->size;
  if (s->steps < p->size || each < 2 || p->size % each != 0)
    return redist_priv_schedule_peer(s, own, p->rank, step);
  return (p->rank / each * each + sign * (step - step % each) + p->size) % p->size +
         (p->rank % each + sign * (step % each) + each) % each;
}

/* Orders the peers by the schedule's steps, permuted so that successive steps are distant: messages
   of adjacent steps use the same links of a torus or fat tree, and should not be in flight
   together. REDIST_SHARED may have ordered the peers before. */
REDIST_PRIV_COLD int redist_priv_order_peers(redist_plan *p) {
  redist_schedule s;
  redist_priv_peer *peer;
  int turn, own, rank, stride, code = REDIST_OK;
  memset((void *)&s, 0, sizeof s);
  s.steps = p->size;
  if (p->scheduled) code = redist_priv_arrange(&s, p->part->from, p->part->to, p->combines);
  stride = (int)(0.618 * s.steps) | 1;
  while (redist_priv_gcd(stride, s.steps) > 1) stride++;
  p->state.lanes.steps = s.steps;
  for (own = 0; own < 2 && code == REDIST_OK; own++) {
    const redist_priv_side *side = &p->side[own];
    for (peer = side->peer; peer < side->peer + side->peers; peer++) {
      peer->order = peer->rank;
      peer->pending = -1;
    }
    qsort(side->peer, (size_t)side->peers, sizeof *peer, redist_priv_compare_ints);
    for (turn = 0; turn < s.steps; turn++) {
      rank = redist_priv_arranged_peer(p, &s, own, (int)((int64_t)turn * stride % s.steps));
      peer = (redist_priv_peer *)redist_priv_find(side->peer, side->peers, sizeof *peer, rank);
      REDIST_ASSERT(peer == NULL || peer->pending < 0); /* they meet once, */
      if (peer != NULL) peer->pending = turn;
    }
    for (peer = side->peer; peer < side->peer + side->peers; peer++) {
      REDIST_ASSERT(peer->pending >= 0); /* and do meet */
      peer->order = (int)peer->pending;
    }
    qsort(side->peer, (size_t)side->peers, sizeof *peer, redist_priv_compare_ints);
  }
  redist_priv_schedule_close(&s);
  return code;
}

#endif

/* Whether a message is never whole in the staging memory. */
REDIST_PRIV_FAST int redist_priv_is_by_pieces(const redist_priv_peer *peer) {
  return REDIST_PRIV_CUTS && peer->staged == REDIST_PRIV_BY_PIECES;
}

/* Cuts the messages of a side into pieces, equally at both ends. All may be in flight at once; with
   a schedule one, or as many as REDIST_FLIGHT_BYTES holds. */
REDIST_PRIV_COLD int redist_priv_cut_side(redist_plan *p, int own) {
  const redist_priv_side *s = &p->side[own];
  redist_priv_lanes *l = &p->state.lanes;
  redist_priv_peer *peer;
  redist_priv_cutting cutting = {0, 0};
  int64_t pieces = 0;
  int code = REDIST_OK;
  cutting.bytes = l->most;
  for (peer = s->peer; peer < s->peer + s->peers && code == REDIST_OK; peer++) {
    if (peer->near) continue;
    peer->step = l->by_pieces ? 0 : l->most;
    if (REDIST_PRIV_CUTS && l->by_pieces)
      code =
          redist_priv_list_pieces(p, peer, cutting, redist_priv_is_by_pieces(peer), &peer->listed);
    peer->pieces =
        l->by_pieces ? p->pieces - peer->listed : redist_priv_ceil_div(peer->bytes, l->most);
    pieces += peer->pieces;
  }
  l->lane[own].flights =
      l->steps > 0 ? redist_priv_min(pieces, REDIST_FLIGHT_BYTES / l->slot + 1) : pieces;
  return code;
}

/* Non-contiguous messages are packed whole, since pieces of a strided message waste most of the
   cache lines that they read. Where a schedule's max_buffer has no room for all messages, whole
   messages share its slots round-robin; where it has no room for the longest message of any rank,
   pieces do. In place, everything is packed before anything arrives. */
REDIST_PRIV_COLD int redist_priv_lanes_staging(redist_plan *p, int own) {
  const redist_priv_side *s = &p->side[own];
  redist_priv_lanes *l = &p->state.lanes;
  redist_priv_lane *lane = &l->lane[own];
  redist_priv_staging *staging = &p->staging[own];
  const int bounded = REDIST_PRIV_CUTS && p->options.max_buffer > 0 && l->steps > 0;
  /* rings take the other half */
  const int64_t room =
      bounded ? (int64_t)p->options.max_buffer / (p->rings != NULL ? 4 : 2) : INT64_MAX;
  const int64_t eager = l->steps > 0 ? REDIST_EAGER_BYTES : REDIST_MAX_COUNT;
  int64_t k, place = REDIST_PRIV_LINE;
  int whole, code;
  l->most = redist_priv_min(redist_priv_min(p->agreed.message, room),
                            redist_priv_min(eager, REDIST_MAX_COUNT));
  l->most = redist_priv_max(l->most, p->largest);
  l->slot = redist_priv_round_up(l->most, REDIST_PRIV_LINE);
  l->by_pieces = redist_priv_round_up(p->agreed.message, REDIST_PRIV_LINE) > room;
  redist_priv_stage_peers(p, own, REDIST_PRIV_CONTIGUOUS, 1);
  whole = staging->bytes <= room || (own == REDIST_PRIV_FROM && p->overwrites);
  for (k = 0; k < s->peers; k++)
    if (s->peer[k].staged >= 0)
      place = redist_priv_max(place, redist_priv_round_up(s->peer[k].bytes, REDIST_PRIV_LINE));
  lane->places = whole || l->by_pieces ? s->peers : redist_priv_min(room / place, s->peers);
  REDIST_ASSERT(s->peers == 0 || lane->places > 0);
  for (k = 0; k < s->peers && !whole; k++)
    if (s->peer[k].staged >= 0)
      s->peer[k].staged = l->by_pieces ? (int64_t)REDIST_PRIV_BY_PIECES : k % lane->places * place;
  code = redist_priv_cut_side(p, own);
  if (!whole && l->by_pieces) {
    lane->flights = redist_priv_clamp(room / l->slot, 1, lane->flights);
    staging->bytes = (lane->flights - 1) * l->slot + l->most;
  } else if (!whole) {
    staging->bytes = lane->places * place;
  }
  return code;
}

REDIST_PRIV char *redist_priv_flight_memory(const redist_plan *p, int64_t k) {
  const redist_priv_flight *flight = &p->state.lanes.flight[k];
  const redist_priv_peer *peer = flight->peer;
  char *staged = p->staging[peer->own].memory;
  REDIST_ASSERT(!redist_priv_is_by_pieces(peer) ||
                (k - p->state.lanes.lane[peer->own].first) * p->state.lanes.slot +
                        redist_priv_piece_of(p, peer, flight->piece).bytes <=
                    p->staging[peer->own].bytes);
  if (redist_priv_is_by_pieces(peer))
    return staged + (k - p->state.lanes.lane[peer->own].first) * p->state.lanes.slot;
  return redist_priv_piece_of(p, peer, flight->piece).at +
         (peer->staged >= 0 ? staged + peer->staged
                            : redist_priv_given(p, peer->own) + peer->direct);
}

/* Posts a flight's piece, or makes its persistent request. */
REDIST_PRIV int redist_priv_post(const redist_plan *p, int64_t k, int persistent) {
  const redist_priv_flight *flight = &p->state.lanes.flight[k];
  const redist_priv_peer *peer = flight->peer;
  MPI_Request *request = &p->state.lanes.request[k];
  char *memory = redist_priv_flight_memory(p, k);
  const int n = (int)redist_priv_piece_of(p, peer, flight->piece).bytes;
  int code;
  if (peer->own == REDIST_PRIV_FROM)
    code = (persistent ? MPI_Send_init : MPI_Isend)(memory, n, MPI_BYTE, peer->rank, p->tag,
                                                    p->comm, request);
  else
    code = (persistent ? MPI_Recv_init : MPI_Irecv)(memory, n, MPI_BYTE, peer->rank, p->tag,
                                                    p->comm, request);
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Whether a peer's memory is known when the plan is made, so that its requests can be persistent.
   SimGrid's SMPI 3.32 loses messages if a persistent send restarts before the last was received. */
REDIST_PRIV_COLD int redist_priv_is_bound(const redist_plan *p, const redist_priv_peer *peer) {
#if defined SMPI_H
  return 0;
#endif
  const int fixed = peer->staged == REDIST_PRIV_IN_ARRAY && !p->agreed.unfixed[peer->own];
  return !peer->near && (peer->staged >= 0 || fixed);
}

/* Makes persistent requests; of a schedule's messages, for the first pieces. */
REDIST_PRIV_COLD int redist_priv_lanes_create(redist_plan *p) {
  redist_priv_lanes *l = &p->state.lanes;
  redist_priv_peer *peer;
  int64_t k;
  int code = REDIST_OK;
  l->lane[REDIST_PRIV_FROM].first = l->lane[REDIST_PRIV_TO].flights;
  l->flights = l->requests = l->lane[REDIST_PRIV_FROM].first + l->lane[REDIST_PRIV_FROM].flights;
  for (peer = p->peer; peer < p->peer + p->peers; peer++) {
    peer->first = l->requests;
    peer->prepared = !redist_priv_is_bound(p, peer) ? 0 : l->steps > 0 ? 1 : peer->pieces;
    l->requests += peer->prepared;
  }
  l->flight = REDIST_PRIV_ZEROED(redist_priv_flight, l->requests);
  l->request = REDIST_PRIV_ALLOC(MPI_Request, l->requests);
  l->status = (MPI_Status *)redist_priv_alloc(l->flights, sizeof *l->status + sizeof *l->index);
  for (k = 0; k < l->requests && l->request != NULL; k++) l->request[k] = MPI_REQUEST_NULL;
  if (l->flight == NULL || l->request == NULL || l->status == NULL) return REDIST_ERR_MEMORY;
  l->index = (int *)(void *)(l->status + l->flights);
  for (peer = p->peer; peer < p->peer + p->peers; peer++)
    for (k = 0; k < peer->prepared && code == REDIST_OK; k++) {
      l->flight[peer->first + k].peer = peer;
      l->flight[peer->first + k].piece = k;
      code = redist_priv_post(p, peer->first + k, 1);
    }
  return code;
}

/* Starts the next piece of a lane. */
REDIST_PRIV int redist_priv_go(redist_plan *p, int own) {
  redist_priv_lanes *l = &p->state.lanes;
  redist_priv_lane *lane = &l->lane[own];
  redist_priv_peer *peer = &p->side[own].peer[lane->at];
  const int64_t k = lane->first + lane->posted++ % lane->flights;
  const redist_priv_flight flight = {peer, lane->piece++};
  REDIST_ASSERT(lane->posted - lane->arrived <= lane->flights && flight.piece < peer->pieces);
  l->flight[k] = flight;
  if (flight.piece == 0) {
    peer->pending = peer->pieces;
    if (own == REDIST_PRIV_FROM && peer->staged >= 0 && !p->overwrites)
      redist_priv_copy_staged(p, peer);
  }
  if (lane->piece == peer->pieces) {
    lane->piece = 0;
    lane->at++;
  }
  if (own == REDIST_PRIV_FROM && redist_priv_is_by_pieces(peer))
    redist_priv_copy_piece(p, peer, peer->listed + flight.piece, redist_priv_flight_memory(p, k));
  if (flight.piece >= peer->prepared) return redist_priv_post(p, k, 0);
  l->request[k] = l->request[peer->first + flight.piece];
  return MPI_Start(&l->request[k]) == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Whether the next message's slot in the staging memory is free: its last message is complete. */
REDIST_PRIV int redist_priv_has_place(const redist_priv_side *s, const redist_priv_lane *lane) {
  int64_t k = lane->at - lane->places;
  while (k >= 0 && s->peer[k].near) k -= lane->places;
  return k < 0 || s->peer[k].pending == 0;
}

/* Whether a schedule's next piece to be sent must wait for an earlier step to be received. (Without
   a schedule, all receives are posted before.) */
REDIST_PRIV int redist_priv_is_ahead(const redist_plan *p) {
  const redist_priv_lane *from = &p->state.lanes.lane[REDIST_PRIV_FROM],
                         *to = &p->state.lanes.lane[REDIST_PRIV_TO];
  const redist_priv_side *s = &p->side[REDIST_PRIV_FROM], *t = &p->side[REDIST_PRIV_TO];
  const int ahead = to->at == t->peers ? -1 : s->peer[from->at].order - t->peer[to->at].order;
  return ahead > 0 || (ahead == 0 && from->piece > to->piece);
}

/* Starts pieces until all flights are in use; skips peers on the same node. */
REDIST_PRIV int redist_priv_fill(redist_plan *p, int own) {
  const redist_priv_side *s = &p->side[own];
  redist_priv_lane *lane = &p->state.lanes.lane[own];
  int code = REDIST_OK;
  while (code == REDIST_OK && lane->at < s->peers) {
    if (s->peer[lane->at].near)
      lane->at++;
    else if (!REDIST_PRIV_CUTS ||
             (lane->posted - lane->arrived < lane->flights && redist_priv_has_place(s, lane) &&
              (own == REDIST_PRIV_TO || !redist_priv_is_ahead(p))))
      code = redist_priv_go(p, own);
    else
      break;
  }
  return code;
}

/* In place, everything is packed before the first message arrives. */
REDIST_PRIV int redist_priv_lanes_post(redist_plan *p) {
  int own, code = REDIST_OK;
  if (p->overwrites) {
    redist_priv_copy_all_staged(p, REDIST_PRIV_FROM);
    redist_priv_copy_local(p);
  }
  for (own = REDIST_PRIV_TO; own >= REDIST_PRIV_FROM && code == REDIST_OK; own--) {
    redist_priv_lane *lane = &p->state.lanes.lane[own];
    lane->at = lane->piece = lane->posted = lane->arrived = 0;
    code = redist_priv_fill(p, own);
  }
  return code;
}

/* Whether a message may be unpacked: in an ordered plan, only after all before it. */
REDIST_PRIV int redist_priv_is_in_turn(const redist_plan *p, const redist_priv_peer *peer) {
  return !p->ordered || peer == p->side[REDIST_PRIV_TO].peer || peer[-1].pending == 0;
}

/* Whether the flights of a peer must complete in order. */
REDIST_PRIV_FAST int redist_priv_lands_in_order(const redist_plan *p,
                                                const redist_priv_peer *peer) {
  return p->ordered || redist_priv_is_by_pieces(peer);
}

/* Completes a flight, and unpacks what it received. */
REDIST_PRIV void redist_priv_land(redist_plan *p, int64_t k) {
  const redist_priv_flight *flight = &p->state.lanes.flight[k];
  redist_priv_peer *peer = flight->peer;
  REDIST_ASSERT(peer->pending > 0);
  peer->pending--;
  if (peer->own == REDIST_PRIV_TO && redist_priv_is_by_pieces(peer))
    redist_priv_copy_piece(p, peer, peer->listed + flight->piece, redist_priv_flight_memory(p, k));
  else if (peer->own == REDIST_PRIV_TO && peer->staged >= 0 && peer->pending == 0)
    redist_priv_copy_staged(p, peer);
  if (peer->own == REDIST_PRIV_TO && peer->pending == 0) redist_priv_arrive(p, peer->rank);
}

/* Frees the completed flights of a lane, in order. */
REDIST_PRIV void redist_priv_retire(redist_plan *p, int own) {
  const redist_priv_lanes *l = &p->state.lanes;
  redist_priv_lane *lane = &p->state.lanes.lane[own];
  while (lane->arrived < lane->posted) {
    const int64_t k = lane->first + lane->arrived % lane->flights;
    if (l->request[k] != MPI_REQUEST_NULL ||
        (own == REDIST_PRIV_TO && !redist_priv_is_in_turn(p, l->flight[k].peer)))
      return;
    if (redist_priv_lands_in_order(p, l->flight[k].peer)) redist_priv_land(p, k);
    lane->arrived++;
  }
}

REDIST_PRIV int redist_priv_lanes_poll(redist_plan *p, int *done) {
  redist_priv_lanes *l = &p->state.lanes;
  int k, own, n = 0, code = REDIST_OK;
  if (l->flights > 0 &&
      MPI_Testsome((int)l->flights, l->request, &n, l->index, l->status) != MPI_SUCCESS)
    return REDIST_ERR_MPI;
  for (k = 0; n != MPI_UNDEFINED && k < n; k++) {
    l->request[l->index[k]] = MPI_REQUEST_NULL;
    if (!redist_priv_lands_in_order(p, l->flight[l->index[k]].peer))
      redist_priv_land(p, l->index[k]);
  }
  *done = 1;
  for (own = REDIST_PRIV_TO; own >= REDIST_PRIV_FROM && code == REDIST_OK; own--) {
    const redist_priv_lane *lane = &l->lane[own];
    redist_priv_retire(p, own);
    code = redist_priv_fill(p, own);
    *done &= lane->at == p->side[own].peers && lane->arrived == lane->posted;
  }
  return code;
}

/* A flight's request may be a copy of a persistent one, which is freed there. */
REDIST_PRIV_COLD void redist_priv_lanes_close(redist_plan *p) {
  redist_priv_lanes *l = &p->state.lanes;
  int64_t k;
  for (k = 0; k < p->peers; k++) p->peer[k].near = 0; /* another method may follow */
  for (k = 0; k < l->requests && l->request != NULL && l->flight != NULL; k++) {
    const redist_priv_flight *flight = &l->flight[k];
    if (flight->peer != NULL && (k >= l->flights || flight->piece >= flight->peer->prepared))
      redist_priv_drop(&l->request[k], p->failed && flight->peer->own == REDIST_PRIV_TO);
  }
  REDIST_FREE(l->flight);
  REDIST_FREE(l->request);
  REDIST_FREE(l->status);
}

/* -------------------------------------------------------------------------- datatypes (private) */

/* MPI sends elements from where they lie, or writes them to files, if a datatype says where. It
   grows by the axes of a message: an element's datatype is repeated along the runs of the fastest
   one, what results along those of the next one, and so on. */

/* Replaces *type by the result of an MPI constructor. */
REDIST_PRIV_COLD int redist_priv_become(MPI_Datatype *type, int mpi_code,
                                        const MPI_Datatype *made) {
  if (mpi_code != MPI_SUCCESS) return REDIST_ERR_MPI;
  if (*type != MPI_BYTE) MPI_Type_free(type);
  *type = *made;
  return REDIST_OK;
}

/* Elements: a datatype, and where it is put. Displacing each type within a type would make levels:
   MPICH's device ch3 takes 15 of them, then it aborts. */
typedef struct {
  MPI_Datatype type;
  MPI_Aint at; /* bytes */
} redist_priv_typed;

/* Allocates typed[n], all MPI_BYTE; NULL when memory is exhausted. */
REDIST_PRIV_COLD redist_priv_typed *redist_priv_typed_open(int64_t n) {
  redist_priv_typed *typed = REDIST_PRIV_ALLOC(redist_priv_typed, n);
  int64_t k;
  for (k = 0; typed != NULL && k < n; k++) {
    typed[k].type = MPI_BYTE;
    typed[k].at = 0;
  }
  return typed;
}

REDIST_PRIV_COLD void redist_priv_typed_close(redist_priv_typed *typed, int64_t n) {
  int64_t k;
  for (k = 0; typed != NULL && k < n; k++)
    if (typed[k].type != MPI_BYTE) MPI_Type_free(&typed[k].type);
  REDIST_FREE(typed);
}

/* *x becomes elements of this type, put at `at`. */
REDIST_PRIV_COLD int redist_priv_retype(redist_priv_typed *x, MPI_Datatype type, MPI_Aint at) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  x->at = at;
  return redist_priv_become(&x->type, MPI_Type_dup(type, &made), &made);
}

/* The same elements, by a type that is put at 0. */
REDIST_PRIV_COLD int redist_priv_displace(redist_priv_typed *x) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const MPI_Aint at = x->at;
  x->at = 0;
  if (at == 0) return REDIST_OK;
  return redist_priv_become(&x->type, MPI_Type_create_hindexed_block(1, 1, &at, x->type, &made),
                            &made);
}

/* Replaces *x by typed[n]. code: of making them. A struct begins at its first part: MPICH 4.2's
   files abort where it does not, and its parts follow each other. */
REDIST_PRIV_COLD int redist_priv_compose(redist_priv_typed *x, const redist_priv_typed *typed,
                                         int n, int code) {
  int *ones = REDIST_PRIV_ALLOC(int, n);
  MPI_Aint *at = REDIST_PRIV_ALLOC(MPI_Aint, n), first = 0, extent;
  MPI_Datatype made = MPI_DATATYPE_NULL, *type = REDIST_PRIV_ALLOC(MPI_Datatype, n);
  int k;
  if (code == REDIST_OK && (ones == NULL || at == NULL || type == NULL)) code = REDIST_ERR_MEMORY;
  if (code == REDIST_OK && n > 0) {
    if (MPI_Type_get_true_extent(typed->type, &first, &extent) != MPI_SUCCESS)
      code = REDIST_ERR_MPI;
    first += typed->at;
  }
  for (k = 0; k < n && code == REDIST_OK; k++) {
    ones[k] = 1;
    at[k] = typed[k].at - first;
    type[k] = typed[k].type;
  }
  if (code == REDIST_OK) {
    x->at = first;
    code = redist_priv_become(&x->type, MPI_Type_create_struct(n, ones, at, type, &made), &made);
  }
  REDIST_FREE(type);
  REDIST_FREE(at);
  REDIST_FREE(ones);
  return code;
}

/* The same, and frees typed[n], NULL when memory is exhausted. */
REDIST_PRIV_COLD int redist_priv_concatenate(redist_priv_typed *x, redist_priv_typed *typed, int n,
                                             int code) {
  if (typed == NULL) return REDIST_ERR_MEMORY;
  if (code == REDIST_OK && n == 1)
    code = redist_priv_retype(x, typed->type, typed->at);
  else
    code = redist_priv_compose(x, typed, n, code);
  redist_priv_typed_close(typed, n);
  return code;
}

/* Replaces *x by n of it, `stride` bytes apart; in two halves where n exceeds REDIST_MAX_COUNT. MPI
   would copy an hvector element by element even if they are contiguous, and Open MPI takes a stride
   of -1 for the extent. */
REDIST_PRIV_COLD int redist_priv_repeat(redist_priv_typed *x, int64_t n, int64_t stride) {
  redist_priv_typed *half;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Aint lower = 0, extent = 0;
  int k, code = REDIST_OK;
  if (n == 1) return REDIST_OK;
  if (n > REDIST_MAX_COUNT) {
    half = redist_priv_typed_open(2);
    for (k = 0; half != NULL && k < 2 && code == REDIST_OK; k++) {
      code = redist_priv_retype(&half[k], x->type, x->at + (MPI_Aint)(k * (n / 2) * stride));
      if (code == REDIST_OK) code = redist_priv_repeat(&half[k], (n + k) / 2, stride);
    }
    return redist_priv_concatenate(x, half, 2, code);
  }
  if (stride == -1)
    code = redist_priv_become(&x->type, MPI_Type_create_resized(x->type, 0, -1, &made), &made);
  else if (MPI_Type_get_extent(x->type, &lower, &extent) != MPI_SUCCESS)
    code = REDIST_ERR_MPI;
  if (code != REDIST_OK) return code;
  if (stride == -1 || (lower == 0 && extent == (MPI_Aint)stride))
    code = MPI_Type_contiguous((int)n, x->type, &made);
  else
    code = MPI_Type_create_hvector((int)n, 1, (MPI_Aint)stride, x->type, &made);
  return redist_priv_become(&x->type, code, &made);
}

/* Replaces *x by such elements at every element of a run. */
REDIST_PRIV_COLD int redist_priv_follow_run(redist_priv_typed *x, const redist_priv_run *run,
                                            int side, int64_t stride) {
  int level, code = REDIST_OK;
  for (level = 0; level < REDIST_PRIV_LEVELS && code == REDIST_OK; level++)
    code = redist_priv_repeat(x, run->n[level], run->stride[level][side] * stride);
  x->at += (MPI_Aint)(run->at[side] * stride);
  return code;
}

/* Replaces *x by such elements at the next elements of segments, at most `most`, from packed
   position *at on, which advances. */
REDIST_PRIV_COLD int redist_priv_follow_elements(redist_priv_typed *x, const redist_priv_runs *list,
                                                 int side, int64_t stride, int64_t most,
                                                 int64_t *at) {
  MPI_Aint first = 0, *displacement = REDIST_PRIV_ALLOC(MPI_Aint, most);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int64_t r = redist_priv_segment_at(list, *at), n;
  int code = REDIST_ERR_MEMORY;
  if (displacement == NULL) return code;
  for (n = 0; n < most && *at < list->elements; r++) {
    const redist_priv_run run = redist_priv_run_at(list, r);
    int64_t k = *at - run.at[REDIST_PRIV_PACKED];
    for (; n < most && k < run.n[0]; k++, ++*at) {
      displacement[n] = (MPI_Aint)((run.at[side] + k * run.stride[0][side]) * stride);
      if (n == 0) first = *displacement;
      displacement[n++] -= first;
    }
  }
  x->at += first;
  code = redist_priv_become(&x->type,
                            MPI_Type_create_hindexed_block((int)n, 1, displacement, x->type, &made),
                            &made);
  REDIST_FREE(displacement);
  return code;
}

/* Replaces *x by such elements at every element of several runs; of segments, many at a time. */
REDIST_PRIV_COLD int redist_priv_follow_runs(redist_priv_typed *x, const redist_priv_runs *list,
                                             int side, int64_t stride) {
  const int scattered = redist_priv_has_segments(list);
  const int64_t limit = redist_priv_min(REDIST_MAX_COUNT, REDIST_PRIV_IN_A_TYPE);
  const int64_t most = scattered ? redist_priv_min(limit, list->elements) : 1;
  const int n = (int)(scattered ? redist_priv_ceil_div(list->elements, most) : list->runs);
  redist_priv_typed *typed;
  int64_t at = 0;
  int k, code = REDIST_OK;
  if (n == 1 && !scattered) return redist_priv_follow_run(x, list->run, side, stride);
  typed = redist_priv_typed_open(n);
  for (k = 0; typed != NULL && k < n && code == REDIST_OK; k++) {
    code = redist_priv_retype(&typed[k], x->type, x->at);
    if (code == REDIST_OK)
      code = scattered ? redist_priv_follow_elements(&typed[k], list, side, stride, most, &at)
                       : redist_priv_follow_run(&typed[k], &list->run[k], side, stride);
  }
  return redist_priv_concatenate(x, typed, n, code);
}

/* ------------------------------------------------------------------ MPI's collectives (private) */

/* One call moves the messages of all ranks, with counts and offsets in staging memory
   (REDIST_ALLTOALLV) or datatypes (REDIST_ALLTOALLW). It is persistent where MPI has that. MPI
   matches such calls by their order on a communicator. */

/* Gives the arena back a tag that no message has any more, if it is the last one. */
REDIST_PRIV_COLD void redist_priv_return_tag(const redist_plan *p) {
  REDIST_ASSERT(p->options.arena->tags > p->tag);
  p->options.arena->tags -= p->options.arena->tags == p->tag + 1;
}

/* MPI matches collectives by their order, and ranks may start plans in different orders. So a plan
   that borrows the arena's communicator gets its own. Collective; the same answer on all ranks. */
REDIST_PRIV_COLD int redist_priv_separate(redist_plan *p) {
  MPI_Comm own = MPI_COMM_NULL;
  int code;
  if (!p->borrows) return REDIST_OK;
  code = redist_priv_worst(p->comm, redist_priv_duplicate(p->comm, &own));
  if (code == REDIST_OK) {
    redist_priv_return_tag(p);
    p->comm = own;
    p->borrows = 0;
  } else if (own != MPI_COMM_NULL) {
    MPI_Comm_free(&own);
  }
  return code;
}

#ifndef REDIST_NO_COLLECTIVES

/* Frees requests first: some MPI libraries still read the types of a persistent collective. */
REDIST_PRIV_COLD void redist_priv_collective_close(redist_plan *p) {
  redist_priv_collective *c = &p->state.collective;
  int64_t k;
  int own;
  if (c->before != NULL) redist_priv_drop(&c->request, 0);
  for (own = 0; own < 2; own++) {
    MPI_Datatype *types = c->table[own].types;
    for (k = 0; types != NULL && k < c->types; k++)
      if (types[k] != MPI_BYTE) MPI_Type_free(&types[k]);
    REDIST_FREE(types);
    REDIST_FREE(c->table[own].counts);
  }
  REDIST_FREE(c->member);
  REDIST_FREE(c->counts);
  REDIST_FREE(c->before);
}

/* Whether the execution in progress calls the blocking MPI_Alltoallv. */
REDIST_PRIV int redist_priv_is_synchronous(const redist_plan *p) {
  return p->synchronous && p->blocking && p->transport->method == REDIST_ALLTOALLV;
}

/* MPICH 4.0 never completes a persistent collective that was never started. */
REDIST_PRIV_COLD int redist_priv_collective_poll(redist_plan *p, int *done) {
  *done = redist_priv_is_synchronous(p);
  if (!*done && MPI_Test(&p->state.collective.request, done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return REDIST_ERR_MPI;
  if (!*done) return REDIST_OK;
  redist_priv_copy_all_staged(p, REDIST_PRIV_TO);
  redist_priv_arrive_all(p);
  return REDIST_OK;
}

/* Makes the datatypes of several arrays at their addresses, one for each peer, unless the arrays
   are those of the last execution. */
REDIST_PRIV_COLD int redist_priv_address_types(redist_plan *p, int own) {
  redist_priv_collective *c = &p->state.collective;
  redist_priv_table *t = &c->table[own];
  const size_t bytes = (size_t)p->arrays * sizeof *c->before;
  const void **now = p->pointers + own * p->arrays, **before = c->before + own * p->arrays;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int64_t k;
  int a, code = REDIST_OK;
  if (t->each == t->types || memcmp(now, before, bytes) == 0) return REDIST_OK;
  for (k = 0; k < p->side[own].peers && code == REDIST_OK; k++) {
    const int rank = p->side[own].peer[k].rank;
    for (a = 0; a < p->arrays; a++) {
      c->member[a] = t->each[rank + (p->parts > 1 ? a : 0) * (int64_t)p->size];
      c->counts[a] = c->member[a] != MPI_BYTE;
    }
    code = MPI_Type_create_struct(p->arrays, c->counts, (const MPI_Aint *)(const void *)now,
                                  c->member, &made);
    code = redist_priv_become(&t->types[rank], code, &made);
    if (code == REDIST_OK && MPI_Type_commit(&t->types[rank]) != MPI_SUCCESS) code = REDIST_ERR_MPI;
  }
  if (code == REDIST_OK) memcpy(before, now, bytes);
  return code;
}

/* Whether a collective's buffers and counts are known when the plan is made, on all ranks. */
REDIST_PRIV int redist_priv_collective_persists(const redist_plan *p) {
  const int fixed = !p->agreed.unfixed[0] && !p->agreed.unfixed[1];
  return REDIST_PRIV_PERSISTS && (p->transport->method == REDIST_ALLTOALLV ||
                                  (p->transport->method == REDIST_ALLTOALLW && fixed));
}

/* Starts a nonblocking collective, or makes the persistent one; or calls the blocking one, which
   some MPI libraries tune more: then no request is active. Collective. */
REDIST_PRIV_COLD int redist_priv_collective_begin(redist_plan *p) {
  redist_priv_collective *c = &p->state.collective;
  const redist_priv_table *f = &c->table[REDIST_PRIV_FROM], *t = &c->table[REDIST_PRIV_TO];
  const void *from = redist_priv_memory(p, REDIST_PRIV_FROM);
  void *to = redist_priv_memory(p, REDIST_PRIV_TO);
  int code;
  if (redist_priv_is_synchronous(p))
    code = MPI_Alltoallv(from, f->counts, f->offsets, *f->types, to, t->counts, t->offsets,
                         *t->types, p->comm);
  else if (c->request != MPI_REQUEST_NULL)
    code = MPI_Start(&c->request);
#if REDIST_PRIV_PERSISTS
  else if (c->unit_bytes > 0)
    code = MPI_Alltoallv_init(from, f->counts, f->offsets, *f->types, to, t->counts, t->offsets,
                              *t->types, p->comm, MPI_INFO_NULL, &c->request);
  else if (redist_priv_collective_persists(p))
    code = MPI_Alltoallw_init(from, f->counts, f->offsets, f->types, to, t->counts, t->offsets,
                              t->types, p->comm, MPI_INFO_NULL, &c->request);
#else
  else if (c->unit_bytes > 0)
    code = MPI_Ialltoallv(from, f->counts, f->offsets, *f->types, to, t->counts, t->offsets,
                          *t->types, p->comm, &c->request);
#endif
  else
    code = MPI_Ialltoallw(from, f->counts, f->offsets, f->types, to, t->counts, t->offsets,
                          t->types, p->comm, &c->request);
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Makes a persistent collective, where it can be. Collective. */
REDIST_PRIV_COLD int redist_priv_collective_connect(redist_plan *p) {
  return redist_priv_collective_persists(p) ? redist_priv_collective_begin(p) : (int)REDIST_OK;
}

/* In place, local elements must be packed before the first message arrives in the array. */
REDIST_PRIV_COLD int redist_priv_collective_post(redist_plan *p) {
  int own, code = REDIST_OK;
  redist_priv_copy_all_staged(p, REDIST_PRIV_FROM);
  for (own = 0; own < 2 && code == REDIST_OK; own++) code = redist_priv_address_types(p, own);
  if (p->overwrites) redist_priv_copy_local(p);
  return code == REDIST_OK ? redist_priv_collective_begin(p) : code;
}

/* ------------------------------------------------------------------- REDIST_ALLTOALLV (private) */

/* MPI's counts and offsets are ints. So that larger messages fit, they are counted in units of
   several bytes and padded to whole units. MPI takes one buffer for all messages of a side: the
   array itself, if it is fixed and every message is contiguous in it, else staging memory. */
REDIST_PRIV_COLD int redist_priv_alltoallv_staging(redist_plan *p, int own) {
  redist_priv_collective *c = &p->state.collective;
  const int64_t largest = p->agreed.largest;
  for (c->unit_bytes = 1; largest / c->unit_bytes > REDIST_MAX_COUNT - p->size; c->unit_bytes *= 2)
    if (c->unit_bytes > largest) return REDIST_ERR_OVERFLOW;
  if (!p->agreed.unfixed[own] && !p->options.in_place && c->unit_bytes == 1) {
    redist_priv_stage_peers(p, own, REDIST_PRIV_CONTIGUOUS, 1);
    if (p->staging[own].bytes == 0) return REDIST_OK;
  }
  return redist_priv_stage_peers(p, own, REDIST_PRIV_NONE, c->unit_bytes);
}

/* ------------------------------------------------------------------- REDIST_ALLTOALLW (private) */

/* The datatype of a peer's message: of its blocks of one array, or of all its blocks, staged (-1);
   run by run, so that both ends agree on the order of elements. */
REDIST_PRIV_COLD int redist_priv_type_of(const redist_plan *p, const redist_priv_peer *peer,
                                         int array, MPI_Datatype *type) {
  const int side = array < 0 ? REDIST_PRIV_PACKED : peer->own;
  redist_priv_typed message = {MPI_BYTE, 0}, *typed = redist_priv_typed_open(peer->blocks);
  int64_t b;
  int k, n = 0, code = REDIST_OK;
  for (b = 0; typed != NULL && b < peer->blocks && code == REDIST_OK; b++) {
    const redist_priv_block block = redist_priv_message_block(p, peer, b);
    const redist_priv_part *part = &p->part[block.product->part];
    const redist_priv_message m = redist_priv_product_message(p, block.product);
    const int64_t at = array < 0 ? peer->staged + block.at : m.origin[side] * part->element_bytes;
    if (array >= 0 && block.array != array) continue;
    code = redist_priv_retype(&typed[n], part->element, (MPI_Aint)at);
    for (k = m.ndim - 1; k >= 0 && code == REDIST_OK; k--)
      code = redist_priv_follow_runs(&typed[n], m.axis[part->order[k]], side,
                                     m.stride[side][part->order[k]] * part->element_bytes);
    n++;
  }
  if (n == 0 && typed != NULL) {
    redist_priv_typed_close(typed, 0);
    return REDIST_OK;
  }
  code = redist_priv_concatenate(&message, typed, n, code);
  if (code == REDIST_OK) code = redist_priv_displace(&message);
  *type = message.type;
  return code == REDIST_OK && MPI_Type_commit(type) != MPI_SUCCESS ? REDIST_ERR_MPI : code;
}

/* Stages only what will be combined, and in place the source: Open MPI takes equal buffers for
   MPI_IN_PLACE. */
REDIST_PRIV_COLD int redist_priv_alltoallw_staging(redist_plan *p, int own) {
  const int staged = own == REDIST_PRIV_FROM ? p->options.in_place : p->combines;
  return redist_priv_stage_peers(p, own, staged ? REDIST_PRIV_NONE : REDIST_PRIV_ALL, 1);
}

/* Enters a message into its side's table: REDIST_ALLTOALLW has a datatype for each,
   REDIST_ALLTOALLV counts in units. */
REDIST_PRIV_COLD int redist_priv_enter_peer(redist_plan *p, const redist_priv_peer *peer) {
  const int64_t unit = p->state.collective.unit_bytes,
                at = peer->staged >= 0 ? peer->staged : peer->direct;
  const int last = peer->staged >= 0 ? -1 : p->parts - 1;
  redist_priv_table *t = &p->state.collective.table[peer->own];
  int a, code = REDIST_OK;
  REDIST_ASSERT(unit == 0 || (at >= 0 && at % unit == 0 && at / unit <= REDIST_MAX_COUNT));
  t->counts[peer->rank] = unit > 0 ? (int)redist_priv_ceil_div(peer->bytes, unit) : 1;
  t->offsets[peer->rank] = unit > 0 ? (int)(at / unit) : 0;
  for (a = last < 0 ? -1 : 0; unit == 0 && a <= last && code == REDIST_OK; a++)
    code = redist_priv_type_of(p, peer, a,
                               &t->each[peer->rank + redist_priv_max(a, 0) * (int64_t)p->size]);
  return code;
}

REDIST_PRIV_COLD int redist_priv_collective_create(redist_plan *p) {
  redist_priv_collective *c = &p->state.collective;
  MPI_Datatype made;
  int64_t k;
  int own, code = REDIST_OK;
  c->request = MPI_REQUEST_NULL;
  c->before = REDIST_PRIV_ZEROED(const void *, 2 * (int64_t)p->arrays);
  c->types = (1 + (int64_t)p->parts) * p->size;
  c->member = REDIST_PRIV_ALLOC(MPI_Datatype, p->arrays);
  c->counts = REDIST_PRIV_ALLOC(int, p->arrays);
  for (own = 0; own < 2; own++) {
    redist_priv_table *t = &c->table[own];
    t->counts = REDIST_PRIV_ZEROED(int, 2 * (int64_t)p->size);
    t->types = REDIST_PRIV_ALLOC(MPI_Datatype, c->types);
    for (k = 0; t->types != NULL && k < c->types; k++) t->types[k] = MPI_BYTE;
    if (c->before == NULL || c->member == NULL || c->counts == NULL || t->counts == NULL ||
        t->types == NULL)
      return REDIST_ERR_MEMORY;
    t->offsets = t->counts + p->size;
    t->each = t->types + (p->arrays > 1 && p->staging[own].memory == NULL ? p->size : 0);
    if (c->unit_bytes > 1 &&
        (redist_priv_become(t->types, MPI_Type_contiguous((int)c->unit_bytes, MPI_BYTE, &made),
                            &made) != REDIST_OK ||
         MPI_Type_commit(t->types) != MPI_SUCCESS))
      return REDIST_ERR_MPI;
  }
  for (k = 0; k < p->peers && code == REDIST_OK; k++) code = redist_priv_enter_peer(p, &p->peer[k]);
  return code;
}

#endif

/* ---------------------------------------------------------------------- shared memory (private) */

/* Ranks of a node should exchange through memory, not messages, but neither MPI nor the system
   shares a rank's arrays. So every member of a home makes a segment for the others: a file in
   memory, which they map. Only an arena's segments hold arrays, and blocks of several plans.

       a notice to each member | lines  | block of a plan             | block ... | arrays
       board, slot, way, flags | probed | board | slot ring | slot ...|           |

   The file has no name: the others open it as /proc shows it, and it vanishes when nobody has it
   open or mapped, however its ranks end. Where the system refuses that on any rank, all begin again
   with files that have names, until all have opened them; where it refuses that too, with messages.
   All ranks write their blocks and notices; they agree; all read their peers' (connect); they
   agree. Only then may a rank free the plan and write something else there. */

#ifdef REDIST_PRIV_SHARES

#ifndef REDIST_PRIV_ACQUIRE /* tests put their own in their place */
#define REDIST_PRIV_ACQUIRE(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define REDIST_PRIV_RELEASE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#endif

enum { REDIST_PRIV_PATH = 64 /* bytes of a file's path */ };

/* Where other ranks find the file of a segment. */
REDIST_PRIV_COLD void redist_priv_path_of(const redist_priv_home *h,
                                          const redist_priv_identity *identity, char *path) {
  if (h->named)
    snprintf(path, REDIST_PRIV_PATH, "/dev/shm/redist-%016" PRIx64, (uint64_t)identity->token);
  else
    snprintf(path, REDIST_PRIV_PATH, "/proc/%" PRId64 "/fd/%" PRId64, identity->process,
             identity->file);
}

/* This rank's file loses its name, if it has one. */
REDIST_PRIV_COLD void redist_priv_drop_name(const redist_priv_home *h) {
  char path[REDIST_PRIV_PATH];
  redist_priv_path_of(h, &h->member[h->rank].identity[0], path);
  if (h->named) unlink(path);
}

REDIST_PRIV_COLD void redist_priv_close_file(redist_priv_home *h, int r) {
  redist_priv_member *m = &h->member[r];
  if (m->file < 0) return;
  if (r == h->rank) redist_priv_drop_name(h);
  close(m->file);
  m->file = -1;
}

/* Gives back what was opened in a home; its members stay listed. */
REDIST_PRIV_COLD void redist_priv_home_release(redist_priv_home *h) {
  int r;
  for (r = 0; r < h->size; r++) {
    redist_priv_member *m = &h->member[r];
    if (m->segment != NULL) munmap(m->segment - REDIST_PRIV_LINE, m->bytes);
    m->segment = NULL;
    redist_priv_close_file(h, r);
  }
}

/* Allocates n members; none when memory is exhausted. */
REDIST_PRIV_COLD int redist_priv_members(redist_priv_home *h, int n) {
  int r;
  h->member = (redist_priv_member *)redist_priv_zeroed(n, sizeof(redist_priv_member) +
                                                              sizeof(redist_priv_swap));
  h->size = h->member == NULL ? 0 : n;
  for (r = 0; r < h->size; r++) h->member[r].file = -1;
  return h->size == 0 ? REDIST_ERR_MEMORY : REDIST_OK;
}

/* Lists the members of the plan's home, if it may have one of its own: only where
   options.node_ranks puts a rank on this rank's node may it share memory. */
REDIST_PRIV_COLD int redist_priv_list_members(redist_plan *p) {
  redist_priv_home *h = &p->home;
  const int64_t own = redist_priv_node_number(p, p->rank);
  int64_t k;
  int n = 0;
  if (p->options.arena != NULL ||
      (p->options.method != REDIST_AUTO && p->options.method != REDIST_SHARED &&
       p->options.method != REDIST_NODES))
    return REDIST_OK;
  if (redist_priv_members(h, (int)p->peers + 1) != REDIST_OK) return REDIST_ERR_MEMORY;
  h->member[n++].rank = p->rank;
  for (k = 0; k < p->peers; k++)
    if (redist_priv_node_number(p, p->peer[k].rank) == own) h->member[n++].rank = p->peer[k].rank;
  qsort(h->member, (size_t)n, sizeof *h->member, redist_priv_compare_ints);
  for (h->size = 0, k = 0; k < n; k++) {
    if (h->size == 0 || h->member[k].rank != h->member[h->size - 1].rank)
      h->member[h->size++] = h->member[k];
    h->rank = h->member[k].rank == p->rank ? h->size - 1 : h->rank;
  }
  REDIST_ASSERT(h->rank < h->size && h->member[h->rank].rank == p->rank);
  return REDIST_OK;
}

/* Lists an arena's members: the ranks with this rank's machine number. Fails on all ranks.
   Collective. */
REDIST_PRIV_COLD int redist_priv_list_machine(redist_priv_home *h) {
  MPI_Request request;
  int64_t *machine;
  int r, rank, size, n = 0, code = redist_priv_ranks_of(h->comm, &rank, &size);
  machine = REDIST_PRIV_ZEROED(int64_t, size);
  code = redist_priv_worst(h->comm, machine == NULL ? (int)REDIST_ERR_MEMORY : code);
  if (code == REDIST_OK)
    code = redist_priv_await(MPI_Iallgather(&h->machine, 1, MPI_INT64_T, machine, 1, MPI_INT64_T,
                                            h->comm, &request),
                             &request);
  for (r = 0; r < size && code == REDIST_OK; r++) n += machine[r] == h->machine;
  code = code == REDIST_OK ? redist_priv_members(h, n) : code;
  for (r = n = 0; r < size && code == REDIST_OK; r++)
    if (machine[r] == h->machine) {
      h->rank = r == rank ? n : h->rank;
      h->member[n++].rank = r;
    }
  REDIST_ASSERT(code != REDIST_OK || h->member[h->rank].rank == rank);
  REDIST_FREE(machine);
  return redist_priv_worst(h->comm, code);
}

/* Makes the file that will be this rank's segment, with its token, and describes it in
   `identity`. */
REDIST_PRIV_COLD int redist_priv_make_file(const redist_priv_home *h,
                                           redist_priv_identity *identity) {
  char path[REDIST_PRIV_PATH] = "/dev/shm";
  struct stat s;
  int file;
  identity->machine = h->machine;
  identity->process = (int64_t)getpid();
  identity->token =
      (int64_t)redist_priv_hash((uint64_t)(h->machine ^ identity->process) ^ (uintptr_t)h,
                                (int64_t)(MPI_Wtime() * 1e9));
  if (h->named) redist_priv_path_of(h, identity, path);
  file =
      open(path,
           (h->named ? O_CREAT | O_EXCL : REDIST_PRIV_UNNAMED) | O_RDWR | REDIST_PRIV_FLAG(CLOEXEC),
           0600);
  if (file < 0 || fstat(file, &s) != 0) return file;
  identity->device = (int64_t)s.st_dev;
  identity->inode = (int64_t)s.st_ino;
  if (write(file, &identity->token, sizeof identity->token) == (int)sizeof identity->token)
    identity->file = file;
  return file;
}

/* Opens another rank's file; -1 on failure. The process number may belong to another system, and
   the path then name any file. So checks that it is the right file before it waits, writes or
   maps. */
REDIST_PRIV_COLD int redist_priv_open_file(const redist_priv_home *h,
                                           const redist_priv_identity *identity) {
  char path[REDIST_PRIV_PATH];
  struct stat s;
  int64_t token = 0;
  int file, found = -1;
  redist_priv_path_of(h, identity, path);
  file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | REDIST_PRIV_FLAG(CLOEXEC));
  if (file < 0) return -1;
  if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
      (int64_t)s.st_dev == identity->device && (int64_t)s.st_ino == identity->inode &&
      s.st_size >= (int)sizeof token && read(file, &token, sizeof token) == (int)sizeof token &&
      token == identity->token) {
    if (!h->named) snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    found = open(path, O_RDWR | REDIST_PRIV_FLAG(CLOEXEC));
  }
  close(file);
  return found;
}

/* Exchanges the identities of segments with all other members. */
REDIST_PRIV_COLD int redist_priv_introduce(redist_priv_home *h) {
  enum { TAG = 32767, BYTES = sizeof(redist_priv_identity) };
  redist_priv_swap *swap = (redist_priv_swap *)(void *)(h->member + h->size);
  int k;
  for (k = 0; k < h->size; k++) {
    swap[k].rank = k == h->rank ? -1 : h->member[k].rank;
    swap[k].data[0] = &h->member[k].identity[0];
    swap[k].data[1] = &h->member[k].identity[1];
    swap[k].bytes[0] = swap[k].bytes[1] = BYTES;
  }
  return redist_priv_swap_all(swap, h->size, TAG, h->comm);
}

/* The bytes of shared memory that seem free, but for those left to others; untouched pages count as
   free. */
REDIST_PRIV_COLD int64_t redist_priv_free_bytes(void) {
  struct statvfs memory;
  return statvfs("/dev/shm", &memory) != 0
             ? INT64_MAX
             : (int64_t)(memory.f_bavail * (uint64_t)memory.f_frsize) - REDIST_PRIV_SPARE;
}

/* Whether shared memory seems to have so much room, for a file that is `length` bytes long then.
   Writing it beyond the process's limit would kill that by a signal. */
REDIST_PRIV_COLD int redist_priv_seems_free(uint64_t length, int64_t bytes) {
  struct rlimit longest;
  if (getrlimit(RLIMIT_FSIZE, &longest) == 0 && length > (uint64_t)longest.rlim_cur) return 0;
  return bytes <= redist_priv_free_bytes();
}

/* Finds by trying which members, which are listed, share memory with this rank. If the system
   refuses that for one with this machine's number, REDIST_PRIV_REFUSED, or, where files have names,
   REDIST_ERR_MEMORY. Every member must call it, also with an error, which it returns. */
REDIST_PRIV_COLD int redist_priv_home_find(redist_priv_home *h, MPI_Comm comm, int code) {
  const int refused = h->named ? (int)REDIST_ERR_MEMORY : (int)REDIST_PRIV_REFUSED;
  redist_priv_identity identity = {0, 0, -1, 0, 0, 0, 0};
  int r, introduced;
  redist_priv_member *m;
  h->comm = comm;
  h->sharing = 0;
  if (code == REDIST_OK && !redist_priv_seems_free(REDIST_PRIV_LINE, REDIST_PRIV_LINE))
    code = REDIST_ERR_MEMORY;
  if (code == REDIST_OK) {
    h->member[h->rank].file = redist_priv_make_file(h, &identity);
    if (identity.file < 0) code = h->member[h->rank].file < 0 ? refused : (int)REDIST_ERR_MEMORY;
  }
  for (r = 0; r < h->size; r++) {
    identity.place = r;
    h->member[r].identity[0] = identity;
  }
  introduced = redist_priv_introduce(h);
  code = code == REDIST_OK ? introduced : code;
  for (r = 0; r < h->size && code == REDIST_OK; r++) {
    m = &h->member[r];
    m->shares = r != h->rank && m->identity[1].machine == h->machine && m->identity[1].file >= 0;
    h->sharing += m->shares;
    m->file = m->shares ? redist_priv_open_file(h, &m->identity[1]) : m->file;
    code = m->shares && m->file < 0 ? refused : code;
  }
  return code;
}

/* Maps the segment of a member, whose file has its final size. */
REDIST_PRIV_COLD int redist_priv_map(redist_priv_home *h, int r) {
  redist_priv_member *m = &h->member[r];
  struct stat s;
  void *memory = MAP_FAILED;
  if (fstat(m->file, &s) == 0)
    memory = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, m->file, 0);
  m->shares &= memory != MAP_FAILED;
  if (memory == MAP_FAILED) return REDIST_ERR_MEMORY;
  m->bytes = (size_t)s.st_size;
  m->segment = (char *)memory + REDIST_PRIV_LINE;
  return REDIST_OK;
}

REDIST_PRIV_FAST char *redist_priv_own_segment(const redist_priv_home *h) {
  return h->member[h->rank].segment;
}

/* Reads a file into fresh memory, or writes memory to one, and so commits pages of shared memory; 0
   where there are too few: touching them would kill the process. Little by little: even if all
   ranks do so at once, some pages are left that MPI may be about to touch. */
REDIST_PRIV_COLD int redist_priv_commit(const redist_priv_home *h, int file, int writes,
                                        char *memory, size_t bytes) {
  enum { TIMES = 64 }; /* to take a share; of 64 MB, all ranks take at once what is left to MPI */
  const int64_t least = REDIST_PRIV_SPARE / 16;
  ssize_t done;
  for (; bytes > 0; bytes -= (size_t)done, memory += done) {
    const int64_t share = redist_priv_free_bytes() / (h->sharing + 1);
    const size_t some =
        (size_t)redist_priv_min((int64_t)bytes, redist_priv_max(share / TIMES, least));
    if (share < least) return 0;
    done = writes ? write(file, memory, some) : read(file, memory, some);
    if (done <= 0) return 0;
  }
  return 1;
}

/* Extends this rank's file, and maps it: its segment, zeroed, has `room` for plans, then `bytes`
   for arrays. */
REDIST_PRIV_COLD int redist_priv_home_open(redist_priv_home *h, int64_t room, int64_t bytes) {
  const int file = h->member[h->rank].file, zeros = open("/dev/zero", O_RDONLY);
  int good;
  h->begin = redist_priv_round_up(h->size * (int64_t)sizeof(redist_priv_notice), REDIST_PRIV_LINE) +
             REDIST_PRIV_PROBE_BYTES;
  h->end = h->begin + redist_priv_round_up(room, REDIST_PRIV_LINE);
  bytes += h->end + REDIST_PRIV_LINE;
  good =
      zeros >= 0 && redist_priv_seems_free((uint64_t)bytes, bytes) &&
      lseek(file, (off_t)bytes - 1, SEEK_SET) == (off_t)bytes - 1 && write(file, "", 1) == 1 &&
      redist_priv_map(h, h->rank) == REDIST_OK &&
      redist_priv_commit(h, zeros, 0, redist_priv_own_segment(h), (size_t)bytes - REDIST_PRIV_LINE);
  if (zeros >= 0) close(zeros);
  return good ? REDIST_OK : REDIST_ERR_MEMORY;
}

/* Maps the members' segments, after all ranks have opened theirs and found the others'. adopts: the
   files stay open, for arrays that will be adopted. Local. */
REDIST_PRIV_COLD int redist_priv_home_reach(redist_priv_home *h, int adopts) {
  int r, code = REDIST_OK;
  for (r = 0; r < h->size; r++) {
    if (h->member[r].file >= 0 && r != h->rank && redist_priv_map(h, r) != REDIST_OK)
      code = REDIST_ERR_MEMORY;
    if (!adopts) redist_priv_close_file(h, r);
  }
  if (adopts) redist_priv_drop_name(h);
  return code;
}

/* The notice of a member to this rank. */
REDIST_PRIV_COLD redist_priv_notice *redist_priv_notice_of(const redist_priv_member *m) {
  return (redist_priv_notice *)(void *)m->segment + m->identity[1].place;
}

/* Whether the node's ranks have unpacked all that has entered a buffer, if there is one, and left
   it. */
REDIST_PRIV_COLD int redist_priv_is_drained(const redist_priv_rings *r) {
  int k, drained = 1;
  for (k = 0; r->buffer != NULL && k < r->ranks; k++) {
    const int64_t *left = redist_priv_buffer_flag(r->buffer, r->ranks, REDIST_PRIV_FROM, k) + 1;
    drained &= REDIST_PRIV_ACQUIRE(left) >= r->execution &&
               REDIST_PRIV_ACQUIRE(
                   redist_priv_buffer_flag(r->buffer, r->ranks, REDIST_PRIV_TO, k)) >= r->execution;
  }
  return drained;
}

/* Frees the blocks of freed plans that no rank reads any more: all their pieces are drained. */
REDIST_PRIV_COLD void redist_priv_reclaim(redist_priv_home *home) {
  redist_priv_rings **at = &home->first;
  while (*at != NULL) {
    redist_priv_rings *r = *at;
    int64_t k = r->receives;
    while (r->abandoned && k < r->channels &&
           REDIST_PRIV_ACQUIRE(&r->channel[k].slot->drained) ==
               r->channel[k].before + r->channel[k].done)
      k++;
    if (r->abandoned && k == r->channels && redist_priv_is_drained(r)) {
      *at = r->next;
      REDIST_FREE(r);
    } else {
      at = &r->next;
    }
  }
}

/* bytes 0: the size of the largest free range in this rank's room. Else gives r the first free
   range of so many bytes; returns bytes, or 0 if there is none. */
REDIST_PRIV_COLD int64_t redist_priv_find_room(redist_priv_home *home, redist_priv_rings *r,
                                               int64_t bytes) {
  redist_priv_rings **at = &home->first;
  int64_t begin = home->begin, most = 0;
  for (;; at = &(*at)->next) {
    const int64_t free_bytes = (*at != NULL ? (*at)->begin : home->end) - begin;
    REDIST_ASSERT(free_bytes >= 0);
    if (bytes > 0 && free_bytes >= bytes) break;
    most = redist_priv_max(most, free_bytes);
    if (*at == NULL) return bytes > 0 ? 0 : most;
    begin = (*at)->begin + (*at)->bytes;
  }
  r->begin = begin;
  r->bytes = bytes;
  r->next = *at;
  *at = r;
  return bytes;
}

/* --------------------------------------------------------------------- adopted arrays (private) */

/* An array becomes shared memory at its address: its pages are written to the file of the rank's
   segment, and mapped from there in place of the old ones. In the file they lie at their address,
   behind the segment. So every array is in one piece there, and arrays that share a page share it
   in the file, too; what lies between takes no memory:

       file   segment |     | pages of an array |     | pages of two arrays |
              0       end   end + address             end + address

   Where pages of several arrays meet, each page is shared by the first that is adopted, and
   released with the last. */

REDIST_PRIV int redist_priv_contains(const char *range, size_t range_bytes, const void *array,
                                     size_t bytes) {
  const uintptr_t at = (uintptr_t)array - (uintptr_t)range;
  return at <= range_bytes && bytes <= range_bytes - at;
}

/* Finds an array of this rank in the arena's shared memory; returns 0 if it is not there. */
REDIST_PRIV int redist_priv_find_spot(const redist_arena *arena, const void *array, size_t bytes,
                                      redist_priv_spot *spot) {
  const redist_priv_home *h = &arena->home;
  int64_t k;
  spot->range = spot->at = 0;
  if (bytes == 0) return 1;
  if (arena->ordinary == NULL && redist_priv_contains(arena->memory, arena->bytes, array, bytes)) {
    spot->at = (const char *)array - redist_priv_own_segment(h);
    return 1;
  }
  for (k = 0; k < h->adoptions; k++)
    if (h->adopted[k].pages != NULL &&
        redist_priv_contains(h->adopted[k].array, h->adopted[k].bytes, array, bytes)) {
      spot->range = k + 1;
      spot->at = (const char *)array - h->adopted[k].pages[h->rank].at;
      return 1;
    }
  return 0;
}

#if !defined __cplusplus && !defined __USE_MISC
long syscall(long number, ...); /* unistd.h hides it with -std=c99 */
#endif

REDIST_PRIV_COLD size_t redist_priv_round_pages(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

REDIST_PRIV_COLD redist_priv_pages redist_priv_pages_of(char *array, size_t bytes) {
  const size_t before = (uintptr_t)array % (size_t)sysconf(_SC_PAGESIZE);
  redist_priv_pages pages = {NULL, 0};
  if (array == NULL || bytes == 0) return pages;
  pages.at = array - before;
  pages.bytes = redist_priv_round_pages(before + bytes);
  return pages;
}

/* Where a member's page at an address lies in its file. */
REDIST_PRIV_COLD off_t redist_priv_in_file(const redist_priv_home *h, int member,
                                           uintptr_t address) {
  return (off_t)(redist_priv_round_pages(h->member[member].bytes) + address);
}

REDIST_PRIV_COLD void redist_priv_punch(int file, off_t at, size_t bytes) {
  enum { PUNCHES = 3 }; /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */
  if (sizeof(long) >= sizeof(int64_t))
    (void)syscall(SYS_fallocate, file, PUNCHES, at, (off_t)bytes);
}

/* Whether any of these pages is shared memory, of another arena, of MPI, of a device or a file. It
   is not known where /proc cannot be read: then none is taken for shared. */
REDIST_PRIV_COLD int redist_priv_are_mapped(const redist_priv_home *h, redist_priv_pages pages) {
  const uintptr_t at = (uintptr_t)pages.at;
  FILE *maps = fopen("/proc/self/maps", "r");
  uintptr_t begin, end;
  int64_t inode;
  char may[8];
  int found = 0;
  while (maps != NULL && fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %" SCNd64 "%*[^\n]",
                                &begin, &end, may, &inode) == 4)
    found |= may[3] == 's' && begin < at + pages.bytes && at < end &&
             inode != h->member[h->rank].identity[0].inode;
  if (maps != NULL) fclose(maps);
  return found;
}

/* Shares pages of this rank's, or leaves them as they are. */
REDIST_PRIV_COLD int redist_priv_share_pages(const redist_priv_home *h, redist_priv_pages pages) {
  const int file = h->member[h->rank].file;
  const off_t at = redist_priv_in_file(h, h->rank, (uintptr_t)pages.at);
  if (redist_priv_are_mapped(h, pages)) return REDIST_ERR_ARGUMENT;
  if (!redist_priv_seems_free((uint64_t)at + pages.bytes, (int64_t)pages.bytes) ||
      lseek(file, at, SEEK_SET) != at)
    return REDIST_ERR_MEMORY;
  if (redist_priv_commit(h, file, 1, pages.at, pages.bytes) &&
      mmap(pages.at, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, at) !=
          MAP_FAILED)
    return REDIST_OK;
  redist_priv_punch(file, at, pages.bytes);
  return REDIST_ERR_MEMORY;
}

/* Replaces shared pages by copies, and frees those in the file. Private pages of /dev/zero are
   anonymous memory. Without memory for them, the file's become private. */
REDIST_PRIV_COLD void redist_priv_unshare_pages(const redist_priv_home *h,
                                                redist_priv_pages pages) {
  enum { MOVES_TO = 3 }; /* MREMAP_MAYMOVE | MREMAP_FIXED */
  const int file = h->member[h->rank].file, zeros = open("/dev/zero", O_RDWR);
  const off_t at = redist_priv_in_file(h, h->rank, (uintptr_t)pages.at);
  void *copy = MAP_FAILED;
  if (zeros >= 0) copy = mmap(NULL, pages.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
  if (zeros >= 0) close(zeros);
  if (copy != MAP_FAILED) {
    memcpy(copy, pages.at, pages.bytes);
    if (syscall(SYS_mremap, copy, pages.bytes, pages.bytes, MOVES_TO, pages.at) != -1) {
      redist_priv_punch(file, at, pages.bytes);
      return;
    }
    munmap(copy, pages.bytes);
  }
  (void)mmap(pages.at, pages.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, at);
}

/* The next pages from `at` to `end` that no adopted array covers but the k-th; 0 bytes: none. */
REDIST_PRIV_COLD redist_priv_pages redist_priv_next_pages(const redist_priv_home *h, int64_t k,
                                                          char *at, char *end) {
  redist_priv_pages next = {at, 0};
  int64_t other;
  char *until = end;
  for (other = 0; other < h->adoptions; other++) {
    const redist_priv_adopted *adopted = &h->adopted[other];
    redist_priv_pages pages = {NULL, 0};
    if (other != k && adopted->pages != NULL) pages = adopted->pages[h->rank];
    if (pages.bytes == 0 || pages.at >= until || pages.at + pages.bytes <= next.at) continue;
    if (pages.at > next.at) {
      until = pages.at;
    } else {
      next.at = pages.at + pages.bytes;
      until = end;
      other = -1; /* once more */
    }
  }
  next.bytes = next.at < until ? (size_t)(until - next.at) : 0;
  return next;
}

/* Shares the pages of this rank's k-th adopted array, or those that are shared no more. */
REDIST_PRIV_COLD int redist_priv_turn_pages(redist_priv_home *h, int64_t k, int shares) {
  redist_priv_adopted *adopted = &h->adopted[k];
  const redist_priv_pages *all = &adopted->pages[h->rank];
  char *at = all->at, *end = adopted->until;
  int code = REDIST_OK;
  if (shares && all->bytes > 0) end = at + all->bytes;
  while (at < end && code == REDIST_OK) {
    const redist_priv_pages next = redist_priv_next_pages(h, k, at, end);
    if (next.bytes > 0 && shares)
      code = redist_priv_share_pages(h, next);
    else if (next.bytes > 0)
      redist_priv_unshare_pages(h, next);
    at = next.bytes > 0 ? next.at + next.bytes : end;
    if (code == REDIST_OK) adopted->until = at;
  }
  return code;
}

/* Lists an adopted array, shares its pages, and gives the members notice of them. */
REDIST_PRIV_COLD int redist_priv_share_array(redist_priv_home *h, int64_t k, char *array,
                                             size_t bytes) {
  redist_priv_notice *notice = (redist_priv_notice *)(void *)redist_priv_own_segment(h);
  redist_priv_adopted adopted;
  int r;
  memset((void *)&adopted, 0, sizeof adopted);
  if (k == h->adoptions &&
      REDIST_PRIV_APPEND(h->adopted, h->adoptions, h->adoption_room, adopted) != REDIST_OK)
    return REDIST_ERR_MEMORY;
  adopted.pages = REDIST_PRIV_ZEROED(redist_priv_pages, h->size);
  if (adopted.pages == NULL) return REDIST_ERR_MEMORY;
  adopted.array = array;
  adopted.bytes = bytes;
  adopted.pages[h->rank] = redist_priv_pages_of(array, bytes);
  adopted.until = adopted.pages[h->rank].at;
  h->adopted[k] = adopted;
  for (r = 0; r < h->size; r++, notice++) {
    REDIST_PRIV_RELEASE(&notice->address, (int64_t)(uintptr_t)adopted.until);
    REDIST_PRIV_RELEASE(&notice->bytes, (int64_t)adopted.pages[h->rank].bytes);
  }
  return redist_priv_turn_pages(h, k, 1);
}

/* Maps the pages of the members' arrays, of which they have given notice. */
REDIST_PRIV_COLD int redist_priv_map_adopted(redist_priv_home *h, int64_t k) {
  int r;
  for (r = 0; r < h->size; r++) {
    const redist_priv_member *m = &h->member[r];
    const redist_priv_notice *notice = redist_priv_notice_of(m);
    redist_priv_pages pages = {NULL, 0};
    if (r != h->rank && m->shares) pages.bytes = (size_t)REDIST_PRIV_ACQUIRE(&notice->bytes);
    if (pages.bytes == 0) continue;
    pages.at =
        (char *)mmap(NULL, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->file,
                     redist_priv_in_file(h, r, (uintptr_t)REDIST_PRIV_ACQUIRE(&notice->address)));
    if (pages.at == MAP_FAILED) return REDIST_ERR_MEMORY;
    h->adopted[k].pages[r] = pages;
  }
  return REDIST_OK;
}

/* Releases an adopted array, also one that could not be adopted everywhere. */
REDIST_PRIV_COLD void redist_priv_release(redist_priv_home *h, int64_t k) {
  redist_priv_adopted *adopted = h->adopted;
  int r;
  if (k >= h->adoptions || adopted[k].pages == NULL) return;
  adopted += k;
  for (r = 0; r < h->size; r++)
    if (r != h->rank && adopted->pages[r].bytes > 0)
      munmap(adopted->pages[r].at, adopted->pages[r].bytes);
  (void)redist_priv_turn_pages(h, k, 0);
  REDIST_FREE(adopted->pages);
  adopted->pages = NULL;
}

/* Adopts the k-th array of all ranks. Collective; fails on all ranks. */
REDIST_PRIV_COLD int redist_priv_adopt(redist_arena *a, int64_t k, char *array, size_t bytes) {
  redist_priv_home *h = &a->home;
  int code = redist_priv_worst(a->comm, redist_priv_share_array(h, k, array, bytes));
  if (code == REDIST_OK) code = redist_priv_worst(a->comm, redist_priv_map_adopted(h, k));
  if (code != REDIST_OK) redist_priv_release(h, k);
  return code;
}

/* Why an array cannot be adopted. */
REDIST_PRIV_COLD int redist_priv_check_adopted(const redist_arena *a, char *array, size_t bytes) {
  const redist_priv_home *h = &a->home;
  const redist_priv_pages pages = redist_priv_pages_of(array, bytes);
  const char *segment = h->size > 0 ? redist_priv_own_segment(h) - REDIST_PRIV_LINE : NULL;
  if ((array == NULL && bytes > 0) || (uintptr_t)array > UINTPTR_MAX - bytes)
    return REDIST_ERR_ARGUMENT;
  if (a->started != NULL) return REDIST_ERR_BUSY;
  if (h->size == 0 || h->member[h->rank].file < 0) return REDIST_ERR_MEMORY;
  return pages.bytes > 0 && pages.at < segment + h->member[h->rank].bytes &&
                 segment < pages.at + pages.bytes
             ? REDIST_ERR_ARGUMENT
             : REDIST_OK;
}

/* ---------------------------------------------------------------------- REDIST_SHARED (private) */

/* Staging copies each element twice, once into a ring and once out of it. Where arrays lie in an
   arena, one copy is enough, made by the sender or by the receiver. The sender decides, and writes
   the way of a message into its slot. Each rank has a block of shared memory for a plan. Its board
   announces which execution the rank has started, with which arrays; each message that it sends has
   a slot with a ring.

       sender's block    board: announced, arrays | slot: filled, drained, way, direct, ring | ...
       receiver's block  board: announced, arrays | ...

       way   first                then                                        last
       ring                       sender: decides; packs a piece, filled++    receiver: unpacks it,
                                                                              drained++
       push  receiver: announces  sender: decides; copies all, filled += n    receiver: drained += n
       pull  sender: announces    sender: decides                             receiver: copies all,
                                                                              drained += n

   Both ends number executions equally; n is the message's number of pieces, all of which count in
   every way. The sender pushes a message if it has heard where; before redist_start returns, it
   packs into the ring what fits there, and leaves the rest to be pulled. (redist_execute waits to
   hear where to push that, and what goes to a rank from which this one receives: for that it waits
   in any case, and the late rank need not copy both messages.) So no rank needs the help of one
   that has started and does something else, unless it is itself an execution behind: then the way
   is decided later. A rank ends an execution when all its messages are copied; it may then change
   its board, which only the end that copies reads. The receiver may be in the execution before:
   hence two words for ways. Arrays in ordinary memory, and plans that overwrite their source, use
   the ring.

   What goes to several replicas is pulled by all at once or, by the ring, packed once: messages
   that are equal share one, but not in an ordered plan, where each receiver drains its messages one
   after another, and a full ring might wait for one who waits for another ring. */

enum redist_priv_ways {
  REDIST_PRIV_UNDECIDED,
  REDIST_PRIV_RING,
  REDIST_PRIV_PUSH,
  REDIST_PRIV_PULL,
  REDIST_PRIV_WAYS
};

/* Writes, or reads, the lines that go with the flag of a probe. */
REDIST_PRIV_COLD void redist_priv_touch_lines(int64_t *lines, int probe, int writes) {
  enum { AT_ONCE = 256 };
  const int64_t zero[AT_ONCE] = {0};
  const volatile int64_t *read = lines;
  int64_t k;
  for (k = 0; writes && k < REDIST_PRIV_PROBE_BYTES / 8; k += AT_ONCE)
    if (probe == REDIST_PRIV_STREAM)
      redist_priv_stream((char *)(lines + k), (const char *)zero, sizeof zero, 0);
    else
      memcpy(lines + k, zero, sizeof zero);
  for (k = 0; !writes && k < REDIST_PRIV_PROBE_BYTES / 8; k += REDIST_PRIV_LINE / 8) (void)read[k];
  redist_priv_fence();
}

/* Waits until a flag has at least this value, and returns it; 0 if it does not come soon. The
   other rank may first have to wait for its processor. */
REDIST_PRIV_COLD int64_t redist_priv_await_flag(const int64_t *flag, int64_t value) {
  const double begin = MPI_Wtime();
  int64_t now;
  int tries;
  for (tries = 0; (now = REDIST_PRIV_ACQUIRE(flag)) < value; tries++) {
    if (tries < REDIST_PRIV_SPINS) continue;
    if (MPI_Wtime() - begin > REDIST_PRIV_ANSWER) return 0;
    REDIST_YIELD();
  }
  return now;
}

/* Raises a flag, after writing the lines of a probe if it has any, and waits for the answer, many
   times, until a last round ends it. first: the number before its first round. Returns the least
   nanoseconds there and back; 0: no answer. */
REDIST_PRIV_COLD int64_t redist_priv_ask(redist_priv_notice *own, const redist_priv_notice *other,
                                         int64_t *lines, int probe, int64_t first) {
  const int rounds = probe == REDIST_PRIV_FLAG ? REDIST_PRIV_ROUNDS : 1;
  const double start = MPI_Wtime();
  double least = 1, begin = start, now;
  int64_t k, answer = 1;
  for (k = 1; k < REDIST_PRIV_LAST_ROUND && answer > 0; k++) {
    if (probe != REDIST_PRIV_FLAG) redist_priv_touch_lines(lines, probe, 1);
    REDIST_PRIV_RELEASE(&own->flag, first + k);
    answer = redist_priv_await_flag(&other->flag, first + k);
    if (k % rounds != 0) continue;
    now = MPI_Wtime();
    least = now - begin < least ? now - begin : least;
    begin = now;
    if (k >= rounds * REDIST_PRIV_LEAST_TIMED && now - start > REDIST_PRIV_PROBING) break;
  }
  REDIST_PRIV_RELEASE(&own->flag, first + REDIST_PRIV_LAST_ROUND);
  return answer > 0 ? (int64_t)(least * 1e9) / rounds + 1 : 0;
}

/* Answers until the last round comes. segment: the other rank's. */
REDIST_PRIV_COLD void redist_priv_answer(redist_priv_notice *own, const redist_priv_notice *other,
                                         char *segment, int probe, int64_t first) {
  int64_t k, asked;
  for (k = 1; (asked = redist_priv_await_flag(&other->flag, first + k)) > 0; k++) {
    if (asked >= first + REDIST_PRIV_LAST_ROUND) return;
    if (probe != REDIST_PRIV_FLAG)
      redist_priv_touch_lines((int64_t *)(void *)(segment + other->lines), probe, 0);
    REDIST_PRIV_RELEASE(&own->flag, first + k);
  }
}

/* The nanoseconds of a probe between this rank and its mirror image, of which the lower rank asks.
   0: this rank answers, or the image is no member or does not answer. */
REDIST_PRIV_COLD int64_t redist_priv_time_probe(const redist_priv_home *h, int rank, int mirror,
                                                int probe) {
  const int64_t first = h->probes * REDIST_PRIV_LAST_ROUND;
  const redist_priv_member *m =
      (const redist_priv_member *)redist_priv_find(h->member, h->size, sizeof *m, mirror);
  char *segment = redist_priv_own_segment(h);
  redist_priv_notice *own, *other;
  if (m == NULL || !m->shares || rank == mirror) return 0;
  own = (redist_priv_notice *)(void *)segment + (m - h->member);
  other = redist_priv_notice_of(m);
  own->lines = h->begin - REDIST_PRIV_PROBE_BYTES;
  if (rank < mirror)
    return redist_priv_ask(own, other, (int64_t *)(void *)(segment + own->lines), probe, first);
  redist_priv_answer(own, other, m->segment, probe, first);
  return 0;
}

/* The mean of a probe's nanoseconds over pairs of ranks, 0: no answer. Collective over the home's
   communicator, the same on all its ranks. */
REDIST_PRIV_COLD int redist_priv_mean_probe(redist_priv_home *h, int rank, int size, int probe,
                                            int64_t *mean) {
  int64_t sum[2];
  int code;
  sum[0] = h->size > 0 ? redist_priv_time_probe(h, rank, size - 1 - rank, probe) : 0;
  sum[1] = sum[0] > 0;
  h->probes++;
  code = redist_priv_reduce(h->comm, sum, 2, MPI_SUM);
  *mean = code == REDIST_OK ? sum[0] / redist_priv_max(sum[1], 1) : 0;
  return code;
}

/* Measures the distance between the cores of a node. A flag's time is repeatable, and differs
   between cores that share a cache and cores that share none; only in between, lines are fetched.
   Collective over the home's communicator, the same on all its ranks. */
REDIST_PRIV_COLD int redist_priv_measure_distance(redist_priv_home *h) {
  int64_t mean[REDIST_PRIV_PROBES] = {0}, *flag = &mean[REDIST_PRIV_FLAG];
  int k, rank, size, code = redist_priv_ranks_of(h->comm, &rank, &size);
  for (k = 0; k < REDIST_PRIV_ASKED && (k == 0 || *flag > REDIST_PRIV_NO_ANSWER); k++)
    if (redist_priv_mean_probe(h, rank, size, REDIST_PRIV_FLAG, flag) != REDIST_OK)
      code = REDIST_ERR_MPI;
  for (k = REDIST_PRIV_FETCH;
       k < REDIST_PRIV_PROBES && *flag >= REDIST_PRIV_CLOSE_BY && *flag <= REDIST_PRIV_FAR_APART;
       k++)
    if (redist_priv_mean_probe(h, rank, size, k, &mean[k]) != REDIST_OK) code = REDIST_ERR_MPI;
  h->distance = *flag;
  h->fetching = *flag > 0 && *flag < REDIST_PRIV_CLOSE_BY ? 0
                : mean[REDIST_PRIV_STREAM] > 0
                    ? 100 * mean[REDIST_PRIV_FETCH] / mean[REDIST_PRIV_STREAM]
                    : (int64_t)REDIST_PRIV_FAR + 1;
  return code;
}

/* Whether a message of `bytes` is streamed into a ring or an array. */
REDIST_PRIV int redist_priv_is_streamed(const redist_plan *p, const redist_priv_peer *peer,
                                        int64_t touched) {
  return peer->bytes >= REDIST_PRIV_STREAMED &&
         (redist_priv_is_far(p->rings->home) || touched >= REDIST_STREAM_BYTES);
}

/* Packs the next piece of a message into its slot of the ring, or unpacks it. */
REDIST_PRIV void redist_priv_copy_slot(const redist_plan *p, redist_priv_channel *channel) {
  REDIST_ASSERT(channel->next < channel->slots &&
                redist_priv_piece_of(p, channel->peer, channel->done).bytes <= channel->slot_bytes);
  redist_priv_copy_piece(p, channel->peer, channel->peer->listed + channel->done,
                         channel->ring + channel->next * channel->slot_bytes);
  channel->next = channel->next + 1 == channel->slots ? 0 : channel->next + 1;
}

/* Copies a message between this rank's arrays and the other end's: pushes what it sends, pulls what
   it receives. Streamed stores are fenced. */
REDIST_PRIV void redist_priv_copy_direct(const redist_plan *p, const redist_priv_channel *channel) {
  const redist_priv_peer *peer = channel->peer;
  const redist_priv_home *home = p->rings->home;
  const redist_priv_spot *spots = channel->board->array;
  const double began = redist_priv_now(p);
  redist_priv_base base[2];
  int a;
  REDIST_ASSERT((channel->board->announced | (peer->own + 1)) ==
                4 * p->rings->execution + 3); /* it has said where */
  for (a = 0; a < p->arrays; a++) {           /* where they are here */
    const redist_priv_spot spot = spots[!peer->own * p->arrays + a];
    const char *range = spot.range == 0 ? home->member[channel->there].segment
                                        : home->adopted[spot.range - 1].pages[channel->there].at;
    p->pointers[2 * p->arrays + a] = range + spot.at;
  }
  for (a = 0; a < (p->parts > 1 ? 1 : p->arrays); a++) {
    base[peer->own] = redist_priv_arrays(p, peer->own, a);
    base[!peer->own] = redist_priv_arrays(p, 2, a);
    redist_priv_run_copies(p, p->copies.copy + peer->direct_first, peer->direct_copies,
                           REDIST_PRIV_ACROSS, base[REDIST_PRIV_FROM], base[REDIST_PRIV_TO]);
  }
  redist_priv_add_copying(p, began);
}

/* Announces where this execution's arrays lie, and which of them are in the arena. */
REDIST_PRIV void redist_priv_announce(const redist_plan *p) {
  redist_priv_rings *r = p->rings;
  redist_priv_board *board =
      (redist_priv_board *)(void *)(redist_priv_own_segment(r->home) + r->begin);
  redist_priv_spot *spot = board->array;
  int i;
  r->announced = 4 * r->execution + 3;
  for (i = 0; i < 2 * p->arrays; i++) {
    const int own = i >= p->arrays;
    const redist_priv_half *half = &redist_priv_part_of(p, i % p->arrays)->half[own];
    if (!redist_priv_find_spot(p->options.arena, p->pointers[i], (size_t)half->array_bytes,
                               &spot[i]))
      r->announced &= ~(INT64_C(1) << own);
  }
  REDIST_PRIV_RELEASE(&board->announced, r->announced);
}

/* The way of a message: the one that the receiver prefers if that is possible. Combined messages of
   the same arrays take the same way in every execution. last: decides in any case. */
REDIST_PRIV int redist_priv_way_of(const redist_plan *p, const redist_priv_channel *channel,
                                   int last) {
  const redist_priv_rings *r = p->rings;
  const int64_t announced = channel->direct ? REDIST_PRIV_ACQUIRE(&channel->board->announced) : 0;
  /* the other end, for this execution */
  const int64_t heard = announced / 4 == r->execution ? announced : 0;
  const int readable = channel->direct && (r->announced & 1),
            fits = channel->peer->pieces <= channel->slots;
  if (channel->way == REDIST_PRIV_PUSH && (heard & 2)) return REDIST_PRIV_PUSH;
  if (channel->way == REDIST_PRIV_PULL && readable) return REDIST_PRIV_PULL;
  if (channel->way != REDIST_PRIV_PUSH || !readable) return REDIST_PRIV_RING;
  if (heard) return fits || redist_priv_is_far(r->home) ? REDIST_PRIV_RING : REDIST_PRIV_PULL;
  if (!last || (p->blocking && (channel->mutual || !fits))) return REDIST_PRIV_UNDECIDED;
  return fits ? REDIST_PRIV_RING : REDIST_PRIV_PULL;
}

/* Whether a piece of a message can enter its ring: all receivers have drained the slot; or the
   first of the ring's messages has filled it. ahead: filled pieces that this message's receiver has
   not drained. */
REDIST_PRIV int redist_priv_may_fill(const redist_priv_channel *channel, int64_t ahead) {
  const int64_t next = channel->before + channel->done;
  const redist_priv_channel *c = channel->also;
  if (channel->first != channel) return channel->first->done > channel->done;
  if (ahead >= channel->slots) return 0;
  while (c != NULL && next - REDIST_PRIV_ACQUIRE(&c->slot->drained) < channel->slots) c = c->also;
  return c == NULL;
}

/* Progresses a message that this rank sends. Fills one free slot of the ring at most, because other
   peers may need elements of the cache lines just read. Returns whether it did anything. */
REDIST_PRIV int redist_priv_send(const redist_plan *p, redist_priv_channel *channel, int last) {
  const int64_t pieces = channel->peer->pieces, now = p->rings->execution;
  int64_t ahead;
  if (channel->done == pieces) return 0;
  ahead = channel->before + channel->done - REDIST_PRIV_ACQUIRE(&channel->slot->drained);
  REDIST_ASSERT(ahead <= 2 * pieces &&
                ahead >= (channel->decided == REDIST_PRIV_PULL ? -pieces : 0));
  if (channel->decided == REDIST_PRIV_UNDECIDED && ahead <= pieces) {
    channel->decided = redist_priv_way_of(p, channel, last);
    REDIST_PRIV_RELEASE(&channel->slot->way[now % 2], now * REDIST_PRIV_WAYS + channel->decided);
  }
  if (channel->decided == REDIST_PRIV_RING && redist_priv_may_fill(channel, ahead)) {
    if (channel->first == channel) redist_priv_copy_slot(p, channel);
    channel->done++;
  } else if (channel->decided == REDIST_PRIV_PUSH) {
    redist_priv_copy_direct(p, channel);
    channel->done = pieces;
  } else if (channel->decided == REDIST_PRIV_PULL && ahead == -pieces) {
    channel->done = pieces;
  } else {
    return 0;
  }
  REDIST_PRIV_RELEASE(&channel->slot->filled, channel->before + channel->done);
  return 1;
}

/* Progresses all messages that this rank sends, round-robin. */
REDIST_PRIV void redist_priv_send_all(const redist_plan *p, int last) {
  redist_priv_rings *r = p->rings;
  int64_t k;
  int sent = 1;
  while (sent)
    for (k = r->receives, sent = 0; k < r->channels; k++)
      sent |= redist_priv_send(p, &r->channel[k], last);
}

REDIST_PRIV void redist_priv_receive(redist_plan *p, redist_priv_channel *channel) {
  const int64_t pieces = channel->peer->pieces, now = p->rings->execution;
  int64_t filled, way;
  if (channel->done == pieces) return;
  while (channel->done < pieces) {
    filled = REDIST_PRIV_ACQUIRE(&channel->slot->filled) - channel->before;
    way = REDIST_PRIV_ACQUIRE(&channel->slot->way[now % 2]) - now * REDIST_PRIV_WAYS;
    if (way <= REDIST_PRIV_UNDECIDED || (way != REDIST_PRIV_PULL && filled <= channel->done)) break;
    if (way == REDIST_PRIV_RING)
      redist_priv_copy_slot(p, channel);
    else if (way == REDIST_PRIV_PULL)
      redist_priv_copy_direct(p, channel);
    channel->done = way == REDIST_PRIV_RING ? channel->done + 1 : pieces;
    REDIST_PRIV_RELEASE(&channel->slot->drained, channel->before + channel->done);
  }
  channel->peer->pending = pieces - channel->done;
  if (channel->done == pieces) redist_priv_arrive(p, channel->peer->rank);
}

/* Before the local copies: pushes to receivers that have started. */
REDIST_PRIV int redist_priv_rings_post(redist_plan *p) {
  redist_priv_rings *r = p->rings;
  int64_t k;
  r->execution++;
  for (k = 0; k < r->channels; k++) {
    redist_priv_channel *channel = &r->channel[k];
    REDIST_ASSERT(channel->done == (r->execution == 1 ? 0 : channel->peer->pieces));
    channel->before += channel->done;
    channel->done = 0;
    channel->decided = REDIST_PRIV_UNDECIDED;
    channel->peer->pending = channel->peer->pieces;
  }
  if (r->direct) redist_priv_announce(p);
  redist_priv_send_all(p, 0);
  return REDIST_OK;
}

/* After them: to all others that can be served now. */
REDIST_PRIV int redist_priv_rings_push(redist_plan *p) {
  redist_priv_send_all(p, 1);
  return REDIST_OK;
}

/* A sender is done when its arrays are free. In place, the ring must be empty, so that the next
   execution can pack everything before it unpacks anything. */
REDIST_PRIV int redist_priv_rings_poll(redist_plan *p, int *done) {
  redist_priv_rings *r = p->rings;
  int64_t k;
  redist_priv_send_all(p, 1);
  for (k = 0; k < r->channels; k++) {
    redist_priv_channel *channel = &r->channel[k];
    if (k < r->receives && redist_priv_is_in_turn(p, channel->peer))
      redist_priv_receive(p, channel);
    *done &= channel->done == channel->peer->pieces &&
             (k < r->receives || !p->overwrites ||
              REDIST_PRIV_ACQUIRE(&channel->slot->drained) == channel->before + channel->done);
  }
  if (*done && redist_priv_fills_first(p)) redist_priv_copy_local(p);
  return REDIST_OK;
}

/* A block that receivers still read stays allocated. */
REDIST_PRIV_COLD void redist_priv_rings_close(redist_plan *p) {
  redist_priv_rings *r = p->rings;
  redist_priv_home_release(&p->home);
  p->home.first = NULL;
  p->rings = NULL;
  if (r != NULL && r->bytes > 0 && p->options.arena != NULL)
    r->abandoned = 1;
  else
    REDIST_FREE(r);
}

/* Bytes of a ring slot. Plans take at most half of REDIST_RING_BYTES or of an arena's room; without
   an arena no more than they send, because making pages takes longer than filling them. */
REDIST_PRIV_COLD int64_t redist_priv_piece_bytes(const redist_plan *p) {
  const redist_priv_rings *r = p->rings;
  const int64_t slots = redist_priv_max(r->rings, 1) * REDIST_PRIV_SLOTS;
  const int64_t wanted =
      redist_priv_max(p->side[REDIST_PRIV_FROM].bytes, slots * REDIST_PRIV_SHORT);
  const int64_t room = p->options.arena != NULL ? redist_priv_find_room(r->home, NULL, 0) / 2
                                                : redist_priv_min(wanted, REDIST_RING_BYTES / 2);
  const int64_t budget =
      p->options.max_buffer > 0 ? redist_priv_min((int64_t)p->options.max_buffer / 2, room) : room;
  const int64_t most =
      redist_priv_clamp(budget / slots, REDIST_PRIV_LEAST_PIECE, REDIST_PIECE_BYTES);
  return redist_priv_round_up(redist_priv_max(most, p->largest), REDIST_PRIV_LINE);
}

/* Roughly how many bytes of cache lines are read per byte of a product. Receivers that pull each
   read the source's lines from another core's cache; a sender that packs for all has them
   cached. */
REDIST_PRIV_COLD int64_t redist_priv_waste(const redist_plan *p,
                                           const redist_priv_product *product) {
  const redist_priv_part *part = &p->part[product->part];
  const redist_priv_message m = redist_priv_product_message(p, product);
  const int side = product->own, d = redist_priv_fastest(&m, side);
  const redist_priv_runs *list = m.axis[d];
  int64_t r, length, count, runs = 0;
  int level;
  for (r = 0; r < list->runs; r++, runs += count)
    for (level = 0, length = count = 1; level < REDIST_PRIV_LEVELS; level++) {
      const redist_priv_run run = redist_priv_run_at(list, r);
      const int continues = count == 1 && redist_priv_abs(run.stride[level][side]) == length;
      length *= continues ? run.n[level] : 1;
      count *= continues ? 1 : run.n[level];
    }
  runs = redist_priv_multiply(runs, REDIST_PRIV_LINE, INT64_MAX);
  return redist_priv_clamp(runs / (list->elements * part->element_bytes), 1,
                           part->half[side].peers[product->held].axis[d].peers);
}

REDIST_PRIV_COLD int64_t redist_priv_most_waste(const redist_plan *p,
                                                const redist_priv_peer *peer) {
  int64_t k, most = 1;
  for (k = 0; k < peer->products; k++)
    most = redist_priv_max(most, redist_priv_waste(p, &p->product[peer->product + k]));
  return most;
}

/* *number: a rank's number among the home's members; -1: it shares no memory with this one. */
REDIST_PRIV_COLD int redist_priv_member_of(const redist_plan *p, int rank, int *number) {
  const redist_priv_home *home = p->rings->home;
  const redist_priv_member *m = NULL;
  MPI_Group group[2] = {MPI_GROUP_NULL, MPI_GROUP_NULL};
  int k, there = -1, code = MPI_Comm_group(p->comm, &group[0]);
  if (code == MPI_SUCCESS) code = MPI_Comm_group(home->comm, &group[1]);
  if (code == MPI_SUCCESS) code = MPI_Group_translate_ranks(group[0], 1, &rank, group[1], &there);
  for (k = 0; k < 2; k++)
    if (group[k] != MPI_GROUP_NULL) MPI_Group_free(&group[k]);
  if (code == MPI_SUCCESS && there >= 0)
    m = (const redist_priv_member *)redist_priv_find(home->member, home->size, sizeof *m, there);
  *number = m != NULL && m->shares ? (int)(m - home->member) : -1;
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Creates the channels to peers that share memory with this rank. */
REDIST_PRIV_COLD int redist_priv_find_near(redist_plan *p) {
  redist_priv_rings *r = p->rings;
  const int64_t own = redist_priv_node_number(p, p->rank);
  int64_t k;
  int code = REDIST_OK, there;
  for (k = 0; k < p->peers && code == REDIST_OK; k++) {
    redist_priv_peer *peer = &p->peer[k];
    if (redist_priv_node_number(p, peer->rank) != own) continue;
    code = redist_priv_member_of(p, peer->rank, &there);
    peer->near = there >= 0;
    if (there < 0) continue;
    r->channel[r->channels].peer = peer;
    r->channel[r->channels++].there = there;
    r->receives += peer->own == REDIST_PRIV_TO;
  }
  return code;
}

/* Whether two messages that this rank sends have the same elements, as those to replicas. */
REDIST_PRIV_COLD int redist_priv_are_equal(const redist_plan *p, const redist_priv_peer *a,
                                           const redist_priv_peer *b) {
  int64_t k;
  int equal = a->products == b->products && a->bytes == b->bytes;
  for (k = 0; k < a->products && equal; k++) {
    const redist_priv_product *s = &p->product[a->product + k], *t = &p->product[b->product + k];
    equal = s->part == t->part && s->held == t->held && s->message == t->message &&
            s->number == t->number;
  }
  return equal;
}

/* Decides which sent messages may bypass their rings, and gives others that are equal one ring. */
REDIST_PRIV_COLD void redist_priv_join_rings(const redist_plan *p) {
  redist_priv_rings *r = p->rings;
  int64_t k, j;
  for (k = r->receives; k < r->channels; k++) {
    redist_priv_channel *channel = &r->channel[k], *other = channel;
    channel->direct =
        r->direct && redist_priv_most_waste(p, channel->peer) <
                         (channel->peer->bytes > REDIST_PRIV_NEAR ? REDIST_PRIV_WASTEFUL : 2);
    channel->first = channel;
    for (j = r->receives; j < k && other == channel && !channel->direct && !p->ordered; j++)
      if (redist_priv_are_equal(p, r->channel[j].peer, channel->peer)) other = &r->channel[j];
    r->rings += other == channel;
    if (other == channel) continue;
    channel->first = other->first;
    channel->also = other->first->also;
    other->first->also = channel;
  }
}

/* Plans a message's ring, equally at both ends, for pieces of `bytes`, and compiles its copies,
   unless the first of equal messages has them. */
REDIST_PRIV_COLD int redist_priv_plan_ring(redist_plan *p, redist_priv_channel *channel,
                                           int64_t piece) {
  redist_priv_peer *peer = channel->peer;
  const redist_priv_cutting cutting = {piece, REDIST_PRIV_WIDE};
  int64_t k, most = 0;
  int code;
  if (channel->first != NULL && channel->first != channel) {
    peer->step = 0;
    peer->listed = channel->first->peer->listed;
    peer->pieces = channel->first->peer->pieces;
    channel->slots = channel->first->slots;
    return REDIST_OK;
  }
  channel->steps = p->pool.steps;
  peer->step = 0;
  code = redist_priv_list_pieces(p, peer, cutting, 1, &peer->listed);
  channel->end = p->pool.steps;
  peer->pieces = p->pieces - peer->listed;
  for (k = peer->listed; k < p->pieces; k++) most = redist_priv_max(most, p->piece[k].bytes);
  if (code != REDIST_OK) return code;
  channel->slots = peer->bytes > piece               ? REDIST_PRIV_SLOTS
                   : peer->bytes > REDIST_PRIV_SHORT ? 1
                                                     : 2;
  if (p->overwrites && peer->bytes > piece) channel->slots = peer->pieces;
  channel->slot_bytes = redist_priv_round_up(most, REDIST_PRIV_LINE);
  return REDIST_OK;
}

/* Writes the slots of sent messages to this rank's segment, from `at` on, and gives the members
   notice of them and the board. A receiver prefers a push if the message fills whole cache lines,
   but to pull if others receive the same and it is long: all at once, while pushes come one after
   another, though without an answer. Else it prefers the ring if cores share no cache, or are not
   close and the ring stays cached; else to pull. */
REDIST_PRIV_COLD void redist_priv_write_slots(const redist_plan *p, int64_t at) {
  redist_priv_rings *r = p->rings;
  const int far = redist_priv_is_far(r->home);
  const int64_t cached = r->home->fetching > REDIST_PRIV_NOT_NEAR ? REDIST_PRIV_CACHED : 0;
  int64_t k;
  for (k = 0; k < r->channels; k++) {
    redist_priv_channel *channel = &r->channel[k];
    redist_priv_notice *notice =
        (redist_priv_notice *)(void *)redist_priv_own_segment(r->home) + channel->there;
    if (k < r->receives) {
      const int fills = !p->combines && redist_priv_most_waste(p, channel->peer) == 1;
      const int alone = p->part->to->copies == 1 || channel->peer->bytes <= REDIST_PRIV_SHORT;
      channel->way = fills && alone                                      ? REDIST_PRIV_PUSH
                     : !fills && (far || channel->peer->bytes <= cached) ? REDIST_PRIV_RING
                                                                         : REDIST_PRIV_PULL;
      REDIST_PRIV_RELEASE(&notice->way, channel->way);
    } else {
      channel->slot = (redist_priv_slot *)(void *)(redist_priv_own_segment(r->home) + at);
      memset(channel->slot, 0, sizeof *channel->slot);
      channel->slot->direct = channel->direct;
      channel->ring = (char *)(channel->first->slot + 1);
      channel->slot->ring = channel->ring - (char *)channel->slot;
      REDIST_PRIV_RELEASE(&notice->slot, at);
      at += (int64_t)sizeof *channel->slot + channel->slots * channel->slot_bytes;
    }
    REDIST_PRIV_RELEASE(&notice->board, r->begin);
  }
  REDIST_ASSERT(at == r->begin + r->bytes - (p->carriers == NULL ? 0 : p->carriers->bytes));
}

/* Where the lists of places begin on a board. */
REDIST_PRIV_COLD int64_t *redist_priv_board_lists(const redist_plan *p, redist_priv_board *board) {
  redist_priv_spot *spots = board->array;
  return (int64_t *)(void *)(spots + 2 * p->arrays);
}

REDIST_PRIV_COLD int64_t redist_priv_board_bytes(const redist_plan *p) {
  int64_t bytes = (int64_t)sizeof(redist_priv_board) +
                  2 * p->arrays * (int64_t)sizeof(redist_priv_spot) +
                  (2 * p->parts + 1) * (int64_t)sizeof(int64_t);
  int k;
  for (k = 0; k < 2 * p->parts; k++)
    bytes += p->part[k / 2].half[k % 2].places * (int64_t)sizeof(redist_priv_held_place);
  return redist_priv_round_up(bytes, REDIST_PRIV_LINE);
}

REDIST_PRIV_COLD void redist_priv_write_places(const redist_plan *p, redist_priv_board *board) {
  int64_t *first = redist_priv_board_lists(p, board);
  redist_priv_held_place *place = (redist_priv_held_place *)(void *)(first + 2 * p->parts + 1);
  int k;
  for (k = 0, first[0] = 0; k < 2 * p->parts; k++) {
    const redist_priv_half *half = &p->part[k / 2].half[k % 2];
    if (half->places > 0)
      memcpy(place + first[k], half->place, (size_t)half->places * sizeof *place);
    first[k + 1] = first[k] + half->places;
  }
}

/* Where the other end of a message stores its place of a product. */
REDIST_PRIV_COLD const redist_priv_storage *
redist_priv_storage_there(const redist_plan *p, redist_priv_board *board,
                          const redist_priv_product *m) {
  const int64_t *first = redist_priv_board_lists(p, board);
  const redist_priv_held_place *place =
      (const redist_priv_held_place *)(const void *)(first + 2 * p->parts + 1);
  const int k = 2 * m->part + !m->own;
  place =
      (const redist_priv_held_place *)redist_priv_find(place + first[k], first[k + 1] - first[k],
                                                       sizeof *place, m->place[!m->own]);
  REDIST_ASSERT(place != NULL);
  return &place->storage;
}

/* Takes a block of shared memory from the arena, or opens one for this plan, and writes it. */
REDIST_PRIV_COLD int redist_priv_write_block(redist_plan *p) {
  redist_priv_rings *r = p->rings;
  const int64_t head = redist_priv_board_bytes(p);
  int64_t k, piece, bytes;
  redist_priv_board *board;
  int code = REDIST_OK;
  /* collective calls have waited for this plan's ranks; others of the arena may be late */
  redist_priv_reclaim(r->home);
  r->direct = p->options.arena != NULL && !p->overwrites && !p->agreed.padded;
  redist_priv_join_rings(p);
  piece = redist_priv_piece_bytes(p);
  for (k = r->receives; k < r->channels && code == REDIST_OK; k++) {
    code = redist_priv_plan_ring(p, &r->channel[k], piece);
    r->ring_bytes += r->channel[k].slots * r->channel[k].slot_bytes;
  }
  bytes = head + (r->channels - r->receives) * (int64_t)sizeof(redist_priv_slot) + r->ring_bytes;
  if (code == REDIST_OK && p->options.arena == NULL)
    code = redist_priv_home_open(r->home, bytes, 0);
  if (code != REDIST_OK || redist_priv_find_room(r->home, r, bytes) == 0)
    return code != REDIST_OK ? code : (int)REDIST_ERR_MEMORY;
  board = (redist_priv_board *)(void *)(redist_priv_own_segment(r->home) + r->begin);
  board->announced = 0;
  board->piece = piece;
  redist_priv_write_places(p, board);
  redist_priv_write_slots(p, r->begin + head);
  return REDIST_OK;
}

/* Finds the peers on this node, and allocates shared memory for them. Fails where there is none, or
   too little. Peers keep the order in which they must be unpacked, if any, else that for
   messages. */
REDIST_PRIV_COLD int redist_priv_shared_open(redist_plan *p) {
  const redist_priv_transport *messages = redist_priv_transport_of((int)redist_priv_by_messages(p));
  redist_arena *arena = p->options.arena;
  redist_priv_home *home = arena != NULL ? &arena->home : &p->home;
  const redist_priv_carriers *c = p->carriers;
  const size_t bytes = sizeof(redist_priv_rings) + (size_t)p->peers * sizeof(redist_priv_channel);
  int code;
  p->rings = (redist_priv_rings *)redist_priv_zeroed(1, bytes);
  code = p->rings == NULL || home->size == 0 ? (int)REDIST_ERR_MEMORY
         : c != NULL                         ? c->code
                                             : (int)REDIST_OK;
  if (arena == NULL) code = redist_priv_home_find(home, p->comm, code);
  if (code != REDIST_OK) return code;
  p->rings->home = home;
  p->rings->ring_bytes = c == NULL ? 0 : c->bytes;
  if (c == NULL && !p->ordered && messages->open != NULL) code = messages->open(p);
  if (code == REDIST_OK) code = redist_priv_find_near(p);
  return code == REDIST_OK ? redist_priv_write_block(p) : code;
}

/* Compiles the direct copies of a message, from the sender's arrays to the receiver's: of the first
   of several equal arrays. */
REDIST_PRIV_COLD int redist_priv_compile_direct(redist_plan *p, redist_priv_channel *channel) {
  redist_priv_peer *peer = channel->peer;
  const int own = peer->own;
  const int64_t begin = p->pool.steps;
  redist_priv_program copy;
  int64_t k, bytes = 0;
  int code = REDIST_OK;
  peer->direct_first = p->copies.n;
  for (k = 0; k < peer->products && code == REDIST_OK; k++) {
    const redist_priv_product *product = &p->product[peer->product + k];
    const redist_priv_part *part = &p->part[product->part];
    const redist_priv_storage *there = redist_priv_storage_there(p, channel->board, product);
    redist_priv_message m = redist_priv_product_message(p, product);
    code = redist_priv_store(&m, !own, own == REDIST_PRIV_FROM ? part->to : part->from, there);
    bytes += there->size * part->element_bytes;
    if (code == REDIST_OK)
      code = redist_priv_compile(&p->pool, &m, NULL, NULL,
                                 redist_priv_manner_of(part, REDIST_PRIV_FROM, REDIST_PRIV_TO, 0),
                                 &copy);
    redist_priv_message_close(&m);
    copy.array = product->part;
    if (code == REDIST_OK)
      code = redist_priv_add_copy(&p->pool, &p->copies, peer->direct_first, &copy);
  }
  peer->direct_copies = p->copies.n - peer->direct_first;
  bytes = redist_priv_min(bytes, p->side[REDIST_PRIV_FROM].touched);
  if (own == REDIST_PRIV_TO ? p->side[own].streams : redist_priv_is_streamed(p, peer, bytes))
    redist_priv_stream_steps(&p->pool, begin, p->pool.steps);
  return code;
}

/* Connects both ends of all messages, after all ranks have written their blocks; the plan may be
   freed only after all have connected. Of senders, only those that push need direct copies. */
REDIST_PRIV_COLD int redist_priv_connect(redist_plan *p) {
  const redist_priv_home *home = p->rings->home;
  int64_t k, j;
  int code = REDIST_OK;
  for (k = p->rings->receives; k < p->rings->channels; k++) {
    redist_priv_channel *channel = &p->rings->channel[k];
    for (j = 0; j < p->rings->receives; j++)
      channel->mutual |= p->rings->channel[j].there == channel->there &&
                         channel->peer->bytes >= REDIST_PRIV_AWAITED;
    if (channel->also == NULL &&
        redist_priv_is_streamed(p, channel->peer, p->side[REDIST_PRIV_FROM].touched))
      redist_priv_stream_steps(&p->pool, channel->steps, channel->end);
  }
  for (k = 0; k < p->rings->channels && code == REDIST_OK; k++) {
    redist_priv_channel *channel = &p->rings->channel[k];
    char *part = home->member[channel->there].segment;
    redist_priv_notice *notice = redist_priv_notice_of(&home->member[channel->there]);
    channel->board = (redist_priv_board *)(void *)(part + REDIST_PRIV_ACQUIRE(&notice->board));
    if (k < p->rings->receives) {
      channel->slot = (redist_priv_slot *)(void *)(part + REDIST_PRIV_ACQUIRE(&notice->slot));
      REDIST_ASSERT((char *)channel->slot > (char *)channel->board);
      channel->ring = (char *)channel->slot + channel->slot->ring;
      channel->direct = (int)channel->slot->direct;
      code = redist_priv_plan_ring(p, channel, channel->board->piece);
    } else {
      channel->way = (int)REDIST_PRIV_ACQUIRE(&notice->way);
    }
    channel->direct &= !p->combines || channel->way == REDIST_PRIV_PULL;
    if (code == REDIST_OK && channel->direct &&
        (k < p->rings->receives || channel->way == REDIST_PRIV_PUSH))
      code = redist_priv_compile_direct(p, channel);
  }
  return code;
}

/* Maps the peers' memory and connects. If messages may be streamed, also measures the distance of
   cores, of an arena on the same ranks again if nothing was learned. Collective; may fail on some
   ranks only. */
REDIST_PRIV_COLD int redist_priv_shared_connect(redist_plan *p) {
  redist_priv_home *home = p->rings->home;
  int measured = REDIST_OK, code = REDIST_OK;
  if (p->options.arena == NULL) code = redist_priv_home_reach(home, 0);
  if ((p->options.arena == NULL || (p->borrows && home->distance > REDIST_PRIV_NO_ANSWER)) &&
      p->agreed.message >= REDIST_PRIV_STREAMED)
    measured = redist_priv_measure_distance(home);
  code = code == REDIST_OK ? measured : code;
  return code == REDIST_OK ? redist_priv_connect(p) : code;
}

/* Opens the shared memory of an arena, without its arrays where these do not fit, and measures the
   distance of cores; where there is none, the arena has no home. Collective; fails on all ranks. */
REDIST_PRIV_COLD int redist_priv_share_arena(redist_arena *a) {
  redist_priv_home *h = &a->home;
  int apart, found, code;
  h->comm = a->comm;
  found = code = redist_priv_list_machine(h);
  for (apart = 0; found == REDIST_OK && apart < 2; apart += code != REDIST_PRIV_REFUSED) {
    code = redist_priv_home_find(h, a->comm, REDIST_OK);
    if (code == REDIST_OK)
      code = redist_priv_home_open(h, REDIST_RING_BYTES, apart ? 0 : (int64_t)a->bytes);
    code = redist_priv_worst(a->comm, code);
    if (code == REDIST_OK) code = redist_priv_worst(a->comm, redist_priv_home_reach(h, 1));
    if (code == REDIST_OK) break;
    redist_priv_home_release(h);
    h->named |= code == REDIST_PRIV_REFUSED;
  }
  if (code == REDIST_OK && apart == 0) a->memory = redist_priv_own_segment(h) + h->end;
  if (code == REDIST_OK) return redist_priv_worst(a->comm, redist_priv_measure_distance(h));
  redist_priv_forget_members(h);
  return REDIST_OK;
}

/* Frees the shared memory of an arena, and what its plans have left because others still read it:
   all ranks have freed their plans. */
REDIST_PRIV_COLD void redist_priv_unshare_arena(redist_arena *a) {
  redist_priv_rings *r, *next;
  int64_t k;
  for (k = a->home.adoptions - 1; k >= 0; k--) redist_priv_release(&a->home, k);
  REDIST_FREE(a->home.adopted);
  redist_priv_home_release(&a->home);
  redist_priv_forget_members(&a->home);
  for (r = a->home.first; r != NULL; r = next) {
    next = r->next;
    REDIST_FREE(r);
  }
}

#else

REDIST_PRIV_COLD int redist_priv_share_arena(redist_arena *a) {
  (void)a;
  return REDIST_OK;
}
REDIST_PRIV_COLD void redist_priv_unshare_arena(redist_arena *a) { (void)a; }
REDIST_PRIV_COLD int redist_priv_adopt(redist_arena *a, int64_t k, char *array, size_t bytes) {
  (void)a, (void)k, (void)array, (void)bytes;
  return REDIST_ERR_MEMORY;
}
REDIST_PRIV_COLD int redist_priv_check_adopted(const redist_arena *a, char *array, size_t bytes) {
  (void)a;
  return array == NULL && bytes > 0 ? REDIST_ERR_ARGUMENT : REDIST_OK;
}
REDIST_PRIV_COLD void redist_priv_release(redist_priv_home *h, int64_t k) { (void)h, (void)k; }

#endif

/* ------------------------------------------------------------------------------ nodes (private) */

/* Which ranks share a node. Nodes are numbered in the order of their lowest ranks, the ranks of a
   node from the lowest on. */

#ifdef REDIST_PRIV_CHOOSES

/* Tables for so many ranks, not filled; NULL when memory is exhausted. */
REDIST_PRIV_COLD redist_priv_nodes *redist_priv_nodes_new(int size) {
  const size_t ints = 4 * (size_t)size + 1;
  redist_priv_nodes *n =
      (redist_priv_nodes *)redist_priv_zeroed(1, sizeof *n + (size_t)size * sizeof *n->list +
                                                     ints * sizeof *n->node);
  if (n == NULL) return NULL;
  n->list = (redist_priv_on_node *)(void *)(n + 1);
  n->node = (int *)(void *)(n->list + size);
  n->number = n->node + size;
  n->rank = n->number + size;
  n->first = n->rank + size;
  n->least = size;
  return n;
}

/* Fills p->nodes. Collective over comm, unless the caller has said which ranks share nodes. */
REDIST_PRIV_COLD int redist_priv_list_nodes(redist_plan *p, MPI_Comm comm) {
  redist_priv_nodes *n = p->nodes;
  redist_priv_on_node own, *list = n->list;
  MPI_Request request;
  int k, r, code = REDIST_OK;
  for (r = 0; r < p->size; r++) {
    list[r].node = redist_priv_node_number(p, r);
    list[r].rank = r;
  }
  own = list[p->rank];
  if (p->options.node_ranks == 0)
    code = redist_priv_await(MPI_Iallgather(&own, 2, MPI_INT64_T, list, 2, MPI_INT64_T, comm,
                                            &request),
                             &request);
  if (code != REDIST_OK) return code;
  qsort(list, (size_t)p->size, sizeof *list, redist_priv_compare_numbers);
  for (k = 0; k < p->size; k++) {
    const int same = k > 0 && list[k].node == list[k - 1].node;
    r = (int)list[k].rank;
    n->number[r] = same ? n->number[list[k - 1].rank] + 1 : 0;
    n->node[r] = same ? n->node[list[k - 1].rank] : r; /* the lowest rank of its node */
  }
  for (r = 0; r < p->size; r++) {
    if (n->node[r] == r) n->rank[r] = n->nodes++;
    n->node[r] = n->rank[n->node[r]];
    n->first[n->node[r] + 1]++;
  }
  for (k = 0; k < n->nodes; k++) {
    n->least = (int)redist_priv_min(n->least, n->first[k + 1]);
    n->most = (int)redist_priv_max(n->most, n->first[k + 1]);
    n->first[k + 1] += n->first[k];
  }
  for (r = 0; r < p->size; r++) n->rank[n->first[n->node[r]] + n->number[r]] = r;
  return REDIST_OK;
}

#endif

/* ----------------------------------------------------------------------- REDIST_NODES (private) */

/* What the ranks of a node send to the ranks of another goes in one message, or in a few if it is
   long, from a carrier on the one node to a carrier on the other. Each message of the plan is a
   section of it. Contributors gather their sections in the carrier's buffer: they pack into it. At
   the other end they are scattered: each rank unpacks its own straight from the buffer. A node's
   carriers are spread over its ranks.

       node 0                                                                node 1
       rank 0 packs --+                                                +-- rank 2 unpacks
                      +-- buffer of rank 1 -- message --> of rank 2 --+
       rank 1 packs --+                                                +-- rank 3 unpacks

       flag in a buffer   of            what it says of an execution, by its number
       packed             each rank     all its sections are in the messages to be sent
       sent               the carrier   these are sent: ranks may pack the next execution's
       arrived            the carrier   all messages to be received are there
       drained            each rank     it has unpacked its sections: the next ones may arrive
       left               each rank     in place: it has seen `sent`, and reads no more

   The ranks of a node report their sections to its carriers when the plan is made. Both carriers of
   a message sort them by source and destination. Where ranks share no memory, buffers are private:
   a rank sends a carrier its sections (its portion) in one message, or receives them in one, and a
   section from one rank of the node to another is in the portion that goes there. */

#ifndef REDIST_PRIV_SHARES /* buffers are private */
#define REDIST_PRIV_ACQUIRE(pointer) (*(pointer))
#define REDIST_PRIV_RELEASE(pointer, value) (*(pointer) = (value))
#endif

#ifndef REDIST_NO_NODES

/* The messages of a side, in an execution: before they are sent or received, while, and after. */
enum redist_priv_stages { REDIST_PRIV_GATHERS, REDIST_PRIV_MOVES, REDIST_PRIV_RESTS };

/* The rank of a node that carries the messages to and from another node; `which` of several. */
REDIST_PRIV_COLD int redist_priv_carrier_of(const redist_priv_nodes *n, int node, int other,
                                            int which) {
  const int ranks = n->first[node + 1] - n->first[node];
  const int turn = (other - node + n->nodes) % n->nodes - 1 + which * (n->nodes - 1);
  return n->rank[n->first[node] + turn % ranks];
}

/* How many messages go from a node to another: several only if they are long, and no rank carries
   two. */
REDIST_PRIV_COLD int redist_priv_per_pair(const redist_plan *p) {
  const redist_priv_nodes *n = p->nodes;
  const int others = n->nodes - 1;
  const double bytes = (double)p->outcome.bytes[1] * p->size / n->nodes / others;
  return (int)redist_priv_clamp((int64_t)(bytes / REDIST_PRIV_NODE_MESSAGE), 1,
                                redist_priv_max(n->least / others, 1));
}

REDIST_PRIV_COLD redist_priv_section *redist_priv_buffer_entries(redist_priv_node_buffer *buffer,
                                                                 int ranks) {
  return (redist_priv_section *)(void *)redist_priv_buffer_flag(buffer, ranks, 2, 0);
}

/* By carrier, side and message; then by source and destination. */
REDIST_PRIV_COLD int redist_priv_compare_sections(const void *a, const void *b) {
  return redist_priv_compare_keys(a, b, 6);
}

/* Lists this rank's messages that carriers carry: those to and from other nodes; without shared
   memory, all. Returns the most for any carrier. */
REDIST_PRIV_COLD int64_t redist_priv_list_sections(const redist_plan *p, redist_priv_carriers *c) {
  const redist_priv_nodes *n = p->nodes;
  const int here = n->node[p->rank];
  int64_t k, carried = 0, most = 0;
  for (k = 0; k < p->peers; k++) {
    const redist_priv_peer *peer = &p->peer[k];
    redist_priv_section s;
    memset(&s, 0, sizeof s);
    s.own = peer->own;
    s.node = n->node[peer->rank];
    s.rank[peer->own] = p->rank;
    s.rank[!peer->own] = peer->rank;
    s.which = s.node == here ? 0 : n->number[s.rank[REDIST_PRIV_FROM]] % c->per_pair;
    s.carrier =
        s.node == here ? s.rank[REDIST_PRIV_TO] : redist_priv_carrier_of(n, here, s.node, s.which);
    s.bytes = peer->bytes;
    s.peer = k;
    if (s.node != here || !c->shared) c->section[c->sections++] = s;
  }
  qsort(c->section, (size_t)c->sections, sizeof *c->section, redist_priv_compare_sections);
  for (k = 0; k < c->sections; k++) {
    carried = k > 0 && c->section[k].carrier == c->section[k - 1].carrier ? carried + 1 : 1;
    most = redist_priv_max(most, carried);
  }
  return most;
}

REDIST_PRIV_COLD const int *redist_priv_ranks_here(const redist_plan *p) {
  return p->nodes->rank + p->nodes->first[p->nodes->node[p->rank]];
}

/* An empty state, with room for what is known; NULL when memory is exhausted. */
REDIST_PRIV_COLD redist_priv_carriers *redist_priv_carriers_new(const redist_plan *p, int shared) {
  const redist_priv_nodes *n = p->nodes;
  const int here = n->node[p->rank];
  int k, node, which;
  redist_priv_carriers *c = REDIST_PRIV_ZEROED(redist_priv_carriers, 1);
  if (c == NULL) return NULL;
  c->shared = shared;
  c->nodes = n->nodes;
  c->per_pair = redist_priv_per_pair(p);
  c->ranks = n->first[here + 1] - n->first[here];
  c->number = n->number[p->rank];
  c->section = REDIST_PRIV_ALLOC(redist_priv_section, p->peers);
  c->portion = REDIST_PRIV_ZEROED(redist_priv_portion, 2 * c->ranks);
  c->pair = REDIST_PRIV_ALLOC(int, p->rank == 0 ? 2 * (n->nodes - 1) * c->per_pair : 0);
  for (k = 0; p->rank == 0 && c->pair != NULL && k < (n->nodes - 1) * c->per_pair; k++) {
    node = k / c->per_pair + 1;
    which = k % c->per_pair;
    c->pair[2 * k] = redist_priv_carrier_of(n, 0, node, which);
    c->pair[2 * k + 1] = redist_priv_carrier_of(n, node, 0, which);
  }
  return c;
}

/* Reports to this node's carriers what they carry for this rank, at most `most` sections each, and
   lists, sorted, what this rank carries. All ranks of the node must call it. */
REDIST_PRIV_COLD int redist_priv_report_sections(const redist_plan *p, redist_priv_carriers *c,
                                                 redist_priv_swap *swap, int64_t most) {
  const int *rank = redist_priv_ranks_here(p);
  const int64_t bytes = sizeof *c->section;
  int64_t k, first, at = 0;
  int code;
  for (k = 0; k < c->ranks; k++) {
    for (first = at; at < c->sections && c->section[at].carrier == rank[k]; at++) continue;
    swap[k].rank = rank[k];
    swap[k].data[0] = c->section + first;
    swap[k].bytes[0] = (int)((at - first) * bytes);
    swap[k].data[1] = c->entry + k * most;
    swap[k].bytes[1] = (int)(most * bytes);
  }
  code = redist_priv_swap_all(swap, c->ranks, p->tag, p->comm);
  for (k = 0; k < c->ranks * most && code == REDIST_OK; k++)
    if (c->entry[k].bytes > 0) c->entry[c->entries++] = c->entry[k];
  qsort(c->entry, (size_t)c->entries, sizeof *c->entry, redist_priv_compare_sections);
  return code;
}

/* Adds a message of MPI's, at the end of the buffer. */
REDIST_PRIV_COLD redist_priv_node_message *redist_priv_add_message(redist_priv_carriers *c, int own,
                                                                   int sends, int rank, int tag) {
  redist_priv_node_message *message = &c->message[c->messages++];
  message->own = own;
  message->sends = sends;
  message->rank = rank;
  message->tag = tag;
  message->at = c->bytes = redist_priv_round_up(c->bytes, REDIST_PRIV_LINE);
  return message;
}

/* Lays out the sections of a buffer. Each rank's begin at a cache line. What stays in the node,
   without shared memory, is sent and arrives in the same place, without a message. */
REDIST_PRIV_COLD void redist_priv_lay_entries(redist_plan *p, redist_priv_carriers *c) {
  const int here = p->nodes->node[p->rank];
  int64_t k, at = 0, stays = 0;
  redist_priv_node_message *message = NULL;
  for (k = 0; k < c->entries; k++) {
    redist_priv_section *s = &c->entry[k];
    const int sends = s->own == REDIST_PRIV_FROM, local = s->node == here;
    const int first = k == 0 || s->own != s[-1].own || s->node != s[-1].node ||
                      s->which != s[-1].which; /* of a message */
    if (first) at = c->bytes = redist_priv_round_up(c->bytes, REDIST_PRIV_LINE);
    if (first && local && sends) stays = at;
    if (first && local && !sends) at = stays;
    if (first && !local)
      message = redist_priv_add_message(c, s->own, sends,
                                        redist_priv_carrier_of(p->nodes, s->node, here, s->which),
                                        p->tag);
    if (first || s->rank[0] != s[-1].rank[0]) at = redist_priv_round_up(at, REDIST_PRIV_LINE);
    s->at = at = redist_priv_round_up(at, p->alignment);
    at += s->bytes;
    c->bytes = redist_priv_max(c->bytes, at);
    if (!local) message->bytes = at - message->at;
  }
  c->between = c->messages;
}

/* Adds the messages between this carrier and the node's other ranks. */
REDIST_PRIV_COLD void redist_priv_add_portions(const redist_plan *p, redist_priv_carriers *c) {
  const redist_priv_section *s;
  int k;
  for (k = 0; k < 2 * c->ranks; k++) {
    const int own = k % 2, rank = redist_priv_ranks_here(p)[k / 2];
    redist_priv_node_message *message = NULL;
    for (s = c->entry; s < c->entry + c->entries && rank != p->rank; s++) {
      if (s->own != own || s->rank[own] != rank) continue;
      if (message == NULL)
        message = redist_priv_add_message(c, own, own == REDIST_PRIV_TO, rank, p->tag + own);
      message->copies = 1;
      c->bytes += redist_priv_round_up(s->bytes, p->alignment);
      message->bytes = c->bytes - message->at;
    }
  }
}

/* Lists this rank's portions, and adds their messages. */
REDIST_PRIV_COLD void redist_priv_list_portions(const redist_plan *p, redist_priv_carriers *c) {
  redist_priv_section *s = c->section, *end = c->section + c->sections;
  while (s < end) {
    redist_priv_portion *portion = &c->portion[c->portions++];
    const int own = portion->own = s->own, carrier = portion->carrier = s->carrier;
    portion->section = s;
    portion->local = 1;
    if (!c->shared && carrier != p->rank)
      portion->message =
          redist_priv_add_message(c, own, own == REDIST_PRIV_FROM, carrier, p->tag + own);
    for (; s < end && s->carrier == carrier && s->own == own; s++, portion->sections++) {
      portion->local &= s->node == p->nodes->node[p->rank];
      s->at = c->bytes;
      if (portion->message != NULL) c->bytes += redist_priv_round_up(s->bytes, p->alignment);
    }
    if (portion->message != NULL) portion->message->bytes = c->bytes - portion->message->at;
  }
  qsort(c->portion, (size_t)c->portions, sizeof *c->portion, redist_priv_compare_ints);
}

/* Lays out this rank's buffer, and what follows it where it is private. */
REDIST_PRIV_COLD int redist_priv_lay_buffer(redist_plan *p, redist_priv_carriers *c) {
  c->message = REDIST_PRIV_ZEROED(redist_priv_node_message, c->entries + 4 * c->ranks);
  if (c->message == NULL) return REDIST_ERR_MEMORY;
  c->bytes = (int64_t)sizeof *c->buffer + 2 * c->ranks * REDIST_PRIV_LINE +
             c->entries * (int64_t)sizeof *c->entry;
  redist_priv_lay_entries(p, c);
  if (!c->shared) redist_priv_add_portions(p, c);
  c->first_own = c->messages;
  redist_priv_list_portions(p, c);
  c->bytes = redist_priv_round_up(c->bytes, REDIST_PRIV_LINE);
  return REDIST_OK;
}

/* Writes a buffer where it lies. Flags of ranks without a section there never make others wait. */
REDIST_PRIV_COLD void redist_priv_write_buffer(const redist_plan *p, char *memory) {
  redist_priv_carriers *c = p->carriers;
  const redist_priv_section *s;
  int k;
  c->buffer = (redist_priv_node_buffer *)(void *)memory;
  memset(c->buffer, 0, sizeof *c->buffer);
  c->buffer->entries = c->entries;
  for (k = 0; k < 2 * c->ranks; k++) {
    int64_t *flag = redist_priv_buffer_flag(c->buffer, c->ranks, k % 2, k / 2);
    flag[0] = flag[1] = REDIST_PRIV_UNUSED;
  }
  for (s = c->entry; s < c->entry + c->entries; s++) {
    int64_t *flag =
        redist_priv_buffer_flag(c->buffer, c->ranks, s->own, p->nodes->number[s->rank[s->own]]);
    c->contributors[s->own] += *flag == REDIST_PRIV_UNUSED && s->rank[s->own] != p->rank;
    flag[0] = 0;
    if (p->overwrites) flag[1] = 0;
  }
  if (c->entries > 0)
    memcpy(redist_priv_buffer_entries(c->buffer, c->ranks), c->entry,
           (size_t)c->entries * sizeof *c->entry);
}

/* Connects a portion to a carrier's buffer in memory. */
REDIST_PRIV_COLD void redist_priv_connect_portion(const redist_priv_carriers *c,
                                                  redist_priv_portion *portion, char *memory) {
  redist_priv_node_buffer *buffer = (redist_priv_node_buffer *)(void *)memory;
  const redist_priv_section *entry = redist_priv_buffer_entries(buffer, c->ranks);
  redist_priv_section *s;
  portion->buffer = memory;
  portion->state = buffer->state[portion->own];
  portion->flag = redist_priv_buffer_flag(buffer, c->ranks, portion->own, c->number);
  for (s = portion->section; s < portion->section + portion->sections; s++) {
    const void *found =
        bsearch(s, entry, (size_t)buffer->entries, sizeof *s, redist_priv_compare_sections);
    REDIST_ASSERT(found != NULL);
    s->at = ((const redist_priv_section *)found)->at;
  }
}

/* What is carried goes neither through this rank's own messages nor through rings. */
REDIST_PRIV_COLD void redist_priv_mark_carried(redist_plan *p) {
  int64_t k;
  for (k = 0; k < p->carriers->sections; k++) p->peer[p->carriers->section[k].peer].near = 1;
}

/* Lists what carriers carry for this rank, reports it to them, and lays out this rank's buffer.
   code: an error of this rank. Collective; the same answer on all ranks. What fails on this rank
   after they have agreed is in p->carriers->code. */
REDIST_PRIV_COLD int redist_priv_make_carriers(redist_plan *p, int shared, int code) {
  redist_priv_carriers *c = p->carriers = redist_priv_carriers_new(p, shared);
  int64_t most[2] = {REDIST_ERR_MEMORY, 0};
  redist_priv_swap *swap = NULL;
  if (c != NULL && c->section != NULL && c->portion != NULL && c->pair != NULL) {
    most[0] = code;
    most[1] = redist_priv_list_sections(p, c);
  }
  code = redist_priv_reduce(p->comm, most, 2, MPI_MAX);
  code = code == REDIST_OK ? (int)most[0] : code;
  if (code != REDIST_OK) return code;
  swap = REDIST_PRIV_ZEROED(redist_priv_swap, c->ranks);
  c->entry = REDIST_PRIV_ZEROED(redist_priv_section, c->ranks * most[1]);
  code = swap == NULL || c->entry == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
  code = redist_priv_worst(p->comm, code);
  if (code == REDIST_OK) {
    c->code = redist_priv_report_sections(p, c, swap, most[1]);
    if (c->code == REDIST_OK) c->code = redist_priv_lay_buffer(p, c);
    redist_priv_mark_carried(p);
  }
  REDIST_FREE(swap);
  return code;
}

/* Compiles the copies of what is carried, and makes room for requests. */
REDIST_PRIV_COLD int redist_priv_carriers_create(redist_plan *p) {
  const redist_priv_cutting uncut = {INT64_MAX, 0};
  redist_priv_carriers *c = p->carriers;
  redist_priv_node_message *m;
  int64_t k;
  int code = redist_priv_lanes_create(p);
  for (k = 0; c != NULL && k < c->sections && code == REDIST_OK; k++) {
    redist_priv_peer *peer = &p->peer[c->section[k].peer];
    code = redist_priv_list_pieces(p, peer, uncut, 1, &peer->whole);
  }
  if (code != REDIST_OK || c == NULL) return code;
  for (m = c->message; m < c->message + c->messages; m++) {
    m->first = c->requests;
    m->pieces = redist_priv_ceil_div(m->bytes, REDIST_MAX_COUNT);
    c->requests += m->pieces;
  }
  c->request = REDIST_PRIV_ALLOC(MPI_Request, c->requests);
  c->status = REDIST_PRIV_ALLOC(MPI_Status, c->requests);
  c->index = REDIST_PRIV_ALLOC(int, 2 * c->requests);
  if (c->request == NULL || c->status == NULL || c->index == NULL) return REDIST_ERR_MEMORY;
  c->message_of = c->index + c->requests; /* not NULL: requests are set */
  for (m = c->message; m < c->message + c->messages; m++)
    for (k = m->first; k < m->first + m->pieces; k++) {
      c->request[k] = MPI_REQUEST_NULL;
      c->message_of[k] = (int)(m - c->message);
    }
  return REDIST_OK;
}

/* Copies a portion's sections from its message to their places, or from there. */
REDIST_PRIV void redist_priv_copy_portion(const redist_plan *p, const redist_priv_node_message *m) {
  const redist_priv_carriers *c = p->carriers;
  const redist_priv_section *s;
  char *buffer = (char *)c->buffer, *at = buffer + m->at;
  for (s = c->entry; s < c->entry + c->entries; s++) {
    if (s->own != m->own || s->rank[s->own] != m->rank) continue;
    memcpy(m->sends ? at : buffer + s->at, m->sends ? buffer + s->at : at, (size_t)s->bytes);
    at += redist_priv_round_up(s->bytes, p->alignment);
  }
}

REDIST_PRIV int redist_priv_start_message(const redist_plan *p, redist_priv_node_message *m) {
  redist_priv_carriers *c = p->carriers;
  char *memory = (char *)c->buffer + m->at;
  MPI_Request *request;
  int64_t k;
  int n, code = MPI_SUCCESS;
  if (m->copies && m->sends) redist_priv_copy_portion(p, m);
  m->pending = m->pieces;
  c->active += m->pieces;
  c->pending[m->own] += m->flag == NULL;
  for (k = 0; k < m->pieces && code == MPI_SUCCESS; k++, memory += n) {
    n = (int)redist_priv_min(m->bytes - k * REDIST_MAX_COUNT, REDIST_MAX_COUNT);
    request = &c->request[m->first + k];
    code = m->sends ? MPI_Isend(memory, n, MPI_BYTE, m->rank, m->tag, p->comm, request)
                    : MPI_Irecv(memory, n, MPI_BYTE, m->rank, m->tag, p->comm, request);
  }
  return code == MPI_SUCCESS ? REDIST_OK : REDIST_ERR_MPI;
}

/* Starts message[first], ..., message[end - 1], those of a side. */
REDIST_PRIV_APART int redist_priv_start_messages(const redist_plan *p, int own, int64_t first,
                                                 int64_t end) {
  redist_priv_node_message *m = p->carriers->message;
  int code = REDIST_OK;
  for (; first < end && code == REDIST_OK; first++)
    if (m[first].own == own) code = redist_priv_start_message(p, &m[first]);
  return code;
}

/* Packs the sections of a portion when the buffer is ready for them, or unpacks them when they have
   arrived; in an ordered plan one peer after another. */
REDIST_PRIV int redist_priv_run_portion(redist_plan *p, redist_priv_portion *portion) {
  redist_priv_carriers *c = p->carriers;
  const int packs = portion->own == REDIST_PRIV_FROM;
  redist_priv_section *s;
  int all = 1;
  if (portion->done || REDIST_PRIV_ACQUIRE(portion->state) < c->execution - packs) return REDIST_OK;
  for (s = portion->section; s < portion->section + portion->sections; s++) {
    redist_priv_peer *peer = &p->peer[s->peer];
    if (peer->pending > 0 && (packs || redist_priv_is_in_turn(p, peer))) {
      redist_priv_copy_piece(p, peer, peer->whole, portion->buffer + s->at);
      peer->pending = 0;
      if (!packs) redist_priv_arrive(p, peer->rank);
    }
    all &= peer->pending == 0;
  }
  if (!all) return REDIST_OK;
  portion->done = 1;
  c->left--;
  if (portion->message == NULL) REDIST_PRIV_RELEASE(portion->flag, c->execution);
  return packs && portion->message != NULL ? redist_priv_start_message(p, portion->message)
                                           : (int)REDIST_OK;
}

REDIST_PRIV int redist_priv_run_portions(redist_plan *p, int own) {
  redist_priv_carriers *c = p->carriers;
  int64_t k;
  int code = REDIST_OK;
  for (k = 0; k < c->portions && code == REDIST_OK; k++)
    if (c->portion[k].own == own) code = redist_priv_run_portion(p, &c->portion[k]);
  return code;
}

/* Progresses this carrier's messages of a side. What stays in the node arrives as soon as it is
   sent. */
REDIST_PRIV int redist_priv_run_messages(const redist_plan *p, int own) {
  redist_priv_carriers *c = p->carriers;
  const int64_t now = c->execution, ready = own == REDIST_PRIV_FROM ? now : now - 1;
  int *raised = &c->raised[own], code = REDIST_OK;
  while (*raised < c->ranks &&
         REDIST_PRIV_ACQUIRE(redist_priv_buffer_flag(c->buffer, c->ranks, own, *raised)) >= ready)
    ++*raised;
  if (c->stage[own] == REDIST_PRIV_GATHERS && *raised == c->ranks) {
    c->stage[own] = REDIST_PRIV_MOVES;
    code = redist_priv_start_messages(p, own, 0, c->between);
  }
  if (c->stage[own] == REDIST_PRIV_MOVES && c->pending[own] == 0 && code == REDIST_OK &&
      (c->shared || c->stage[REDIST_PRIV_FROM] != REDIST_PRIV_GATHERS)) {
    c->stage[own] = REDIST_PRIV_RESTS;
    REDIST_PRIV_RELEASE(&c->buffer->state[own][0], now);
    if (own == REDIST_PRIV_TO) code = redist_priv_start_messages(p, own, c->between, c->first_own);
  }
  return code;
}

/* Progresses all that need not wait for another. */
REDIST_PRIV int redist_priv_run_carriers(redist_plan *p) {
  int code = redist_priv_run_portions(p, REDIST_PRIV_FROM);
  if (code == REDIST_OK) code = redist_priv_run_messages(p, REDIST_PRIV_FROM);
  return code == REDIST_OK ? redist_priv_run_messages(p, REDIST_PRIV_TO) : code;
}

/* Starts an execution. In place, all sections are packed now: the buffers are empty. */
REDIST_PRIV int redist_priv_carriers_post(redist_plan *p) {
  redist_priv_carriers *c = p->carriers;
  int64_t k;
  int own, code;
  if (c == NULL) return REDIST_OK;
  c->execution++;
  c->left = c->portions;
  for (own = 0; own < 2; own++) c->stage[own] = c->raised[own] = 0;
  for (k = 0; k < c->portions; k++) c->portion[k].done = 0;
  for (k = 0; k < c->sections; k++) p->peer[c->section[k].peer].pending = 1;
  code = redist_priv_start_messages(p, REDIST_PRIV_FROM, c->between, c->first_own);
  if (code == REDIST_OK)
    code = redist_priv_start_messages(p, REDIST_PRIV_TO, c->first_own, c->messages);
  return code == REDIST_OK ? redist_priv_run_carriers(p) : code;
}

/* Whether this rank's part of an execution is complete. In place, all that it packed is sent, after
   which it leaves the carriers' buffers. */
REDIST_PRIV int redist_priv_carriers_are_done(const redist_plan *p) {
  const redist_priv_carriers *c = p->carriers;
  redist_priv_portion *portion = c->portion;
  int done = c->left == 0 && c->active == 0 && c->stage[0] == REDIST_PRIV_RESTS &&
             c->stage[1] == REDIST_PRIV_RESTS;
  for (; done && p->overwrites && portion < c->portion + c->portions; portion++) {
    if (portion->own == REDIST_PRIV_TO || portion->done == 2) continue;
    done = REDIST_PRIV_ACQUIRE(portion->state) == c->execution;
    if (!done) continue;
    portion->done = 2;
    if (portion->message == NULL) REDIST_PRIV_RELEASE(&portion->flag[1], c->execution);
  }
  return done;
}

REDIST_PRIV int redist_priv_carriers_poll(redist_plan *p, int *done) {
  redist_priv_carriers *c = p->carriers;
  int k, n = 0, code;
  if (c == NULL) return REDIST_OK;
  if (c->active > 0 &&
      MPI_Testsome((int)c->requests, c->request, &n, c->index, c->status) != MPI_SUCCESS)
    return REDIST_ERR_MPI;
  for (k = 0; n != MPI_UNDEFINED && k < n; k++) {
    redist_priv_node_message *m = &c->message[c->message_of[c->index[k]]];
    c->active--;
    if (--m->pending > 0) continue;
    if (m->copies && !m->sends) redist_priv_copy_portion(p, m);
    if (m->flag == NULL)
      c->pending[m->own]--;
    else
      REDIST_PRIV_RELEASE(m->flag, c->execution);
  }
  code = redist_priv_run_carriers(p);
  if (code == REDIST_OK) code = redist_priv_run_portions(p, REDIST_PRIV_TO);
  *done = redist_priv_carriers_are_done(p);
  return code;
}

REDIST_PRIV_COLD void redist_priv_carriers_close(redist_plan *p) {
  redist_priv_carriers *c = p->carriers;
  int64_t k;
  if (c == NULL) return;
  for (k = 0; c->message_of != NULL && k < c->requests; k++)
    redist_priv_drop(&c->request[k], p->failed && !c->message[c->message_of[k]].sends);
  REDIST_FREE(c->section);
  REDIST_FREE(c->entry);
  REDIST_FREE(c->portion);
  REDIST_FREE(c->pair);
  REDIST_FREE(c->message);
  REDIST_FREE(c->request);
  REDIST_FREE(c->status);
  REDIST_FREE(c->index);
  REDIST_FREE(c);
  p->carriers = NULL;
}

REDIST_PRIV_COLD int redist_priv_unshared_open(redist_plan *p) {
  int code, separate;
  if (p->nodes == NULL) return REDIST_OK; /* on one node there is nothing to carry */
  code = redist_priv_make_carriers(p, 0, REDIST_OK);
  if (code != REDIST_OK) return code;
  separate = redist_priv_separate(p); /* portions have tags of their own */
  return p->carriers->code == REDIST_OK ? separate : p->carriers->code;
}

REDIST_PRIV_COLD int redist_priv_unshared_staging(redist_plan *p, int own) {
  const int code = redist_priv_lanes_staging(p, own);
  if (own == REDIST_PRIV_TO && p->carriers != NULL)
    p->staging[own].bytes += p->carriers->bytes + REDIST_PRIV_LINE;
  return code;
}

REDIST_PRIV_COLD int redist_priv_unshared_create(redist_plan *p) {
  redist_priv_carriers *c = p->carriers;
  char *memory = p->staging[REDIST_PRIV_TO].memory;
  int64_t k;
  if (c == NULL) return redist_priv_lanes_create(p);
  memory += -(uintptr_t)memory % REDIST_PRIV_LINE;
  redist_priv_write_buffer(p, memory);
  for (k = c->between; k < c->first_own; k++) {
    redist_priv_node_message *m = &c->message[k];
    m->flag = redist_priv_buffer_flag(c->buffer, c->ranks, m->own, p->nodes->number[m->rank]);
  }
  for (k = 0; k < c->portions; k++) {
    redist_priv_portion *portion = &c->portion[k];
    portion->buffer = memory;
    if (portion->message == NULL)
      redist_priv_connect_portion(c, portion, memory);
    else
      portion->state = portion->message->flag = &portion->complete;
  }
  return redist_priv_carriers_create(p);
}

#ifdef REDIST_PRIV_SHARES

/* Lists all ranks of the node as members of the plan's home, which has fewer as yet. */
REDIST_PRIV_COLD int redist_priv_list_node(redist_plan *p) {
  redist_priv_home *h = &p->home;
  const int *first = p->nodes->first + p->nodes->node[p->rank];
  int k;
  if (p->options.arena != NULL) return REDIST_OK;
  redist_priv_forget_members(h);
  if (redist_priv_members(h, first[1] - first[0]) != REDIST_OK) return REDIST_ERR_MEMORY;
  for (k = 0; k < h->size; k++) h->member[k].rank = redist_priv_ranks_here(p)[k];
  h->rank = p->nodes->number[p->rank];
  return REDIST_OK;
}

/* Writes this rank's buffer into its block of shared memory, and gives all members notice. Fails
   where a carrier of this rank is none. */
REDIST_PRIV_COLD int redist_priv_share_buffer(redist_plan *p) {
  redist_priv_carriers *c = p->carriers;
  redist_priv_rings *r = p->rings;
  char *segment = redist_priv_own_segment(r->home);
  redist_priv_board *board = (redist_priv_board *)(void *)(segment + r->begin);
  redist_priv_portion *portion;
  int k, code = REDIST_OK;
  board->buffer = r->bytes - c->bytes;
  redist_priv_write_buffer(p, (char *)board + board->buffer);
  r->buffer = c->buffer;
  r->ranks = c->ranks;
  for (k = 0; k < r->home->size; k++)
    REDIST_PRIV_RELEASE(&((redist_priv_notice *)(void *)segment)[k].board, r->begin);
  for (portion = c->portion; portion < c->portion + c->portions && code == REDIST_OK; portion++) {
    portion->there = r->home->rank;
    if (portion->carrier == p->rank) continue;
    code = redist_priv_member_of(p, portion->carrier, &portion->there);
    if (code == REDIST_OK && portion->there < 0) code = REDIST_ERR_MEMORY;
  }
  return code;
}

REDIST_PRIV_COLD int redist_priv_nodes_open(redist_plan *p) {
  int code;
  if (p->nodes == NULL) return redist_priv_shared_open(p);
  code = redist_priv_make_carriers(p, 1, redist_priv_list_node(p));
  if (code != REDIST_OK) return code;
  code = redist_priv_shared_open(p);
  redist_priv_mark_carried(p);
  return code == REDIST_OK ? redist_priv_share_buffer(p) : code;
}

/* Connects all portions to their buffers, after all ranks have written theirs. */
REDIST_PRIV_COLD int redist_priv_nodes_connect(redist_plan *p) {
  redist_priv_carriers *c = p->carriers;
  const redist_priv_home *home = p->rings->home;
  const int code = redist_priv_shared_connect(p);
  int64_t k;
  for (k = 0; c != NULL && k < c->portions && code == REDIST_OK; k++) {
    redist_priv_portion *portion = &c->portion[k];
    const redist_priv_member *m = &home->member[portion->there];
    char *board = m->segment + REDIST_PRIV_ACQUIRE(&redist_priv_notice_of(m)->board);
    redist_priv_connect_portion(c, portion, board + ((redist_priv_board *)(void *)board)->buffer);
  }
  return code;
}

#endif

#endif

/* ------------------------------------------------------------------------ the network (private) */

/* What messages cost between nodes: a latency, which those sent at once share, and the time of each
   message and of each byte. The caller says so, or it is measured while planning. */

REDIST_PRIV_COLD int redist_priv_measure_network(MPI_Comm comm, redist_priv_network *network);

REDIST_PRIV_COLD int redist_priv_create(MPI_Comm comm, const redist_plan *chain, int parts,
                                        const redist_part *part, const redist_options *options,
                                        redist_plan **plan);

/* The seconds in which a rank sends `messages`, of `bytes` in all, at once: while one is on the
   link, the next is prepared. */
REDIST_PRIV_COLD double redist_priv_transfer(const redist_priv_network *n, double messages,
                                             double bytes) {
  const double sending = messages * n->cost.per_message, moving = bytes * n->cost.per_byte;
  return n->latency + (sending > moving ? sending : moving);
}

/* Sets the network from options.cost, or measures it, once for all plans on an arena's ranks. For
   REDIST_AUTO, most of per_message is latency, which concurrent messages share. A chain asked for
   by name pays it for each message, as in redist_cost_of. Collective. */
REDIST_PRIV_COLD int redist_priv_know_network(redist_plan *p) {
  redist_priv_network *known = p->borrows ? &p->options.arena->network : &p->network;
  int code = REDIST_OK;
  if (p->network.cost.per_message + p->network.cost.per_byte > 0) return REDIST_OK;
  if (p->options.cost.per_message + p->options.cost.per_byte <= 0) {
    if (known->cost.per_message <= 0) code = redist_priv_measure_network(p->comm, known);
    p->network = *known;
  } else {
    p->network.cost = p->options.cost;
    p->network.latency =
        p->options.method == REDIST_AUTO ? REDIST_PRIV_LATENCY * p->options.cost.per_message : 0;
    p->network.cost.per_message -= p->network.latency;
    p->network.crowding = REDIST_PRIV_CROWDING;
  }
  return code;
}

REDIST_PRIV_COLD int redist_priv_has_ghosts(const redist_layout *layout) {
  int d, ghosts = 0;
  for (d = 0; d < layout->ndim; d++)
    ghosts |= layout->dim[d].axis.low > 0 || layout->dim[d].axis.high > 0;
  return ghosts;
}

/* What predictions charge for messages: what is known, else what is usual, where the ranks of a
   node share its link. A chain asked for by name gets to know the network only after them. */
REDIST_PRIV_COLD redist_priv_network redist_priv_charged(const redist_plan *p, int *known) {
  redist_priv_network usual[] = {{0, {REDIST_PRIV_WITHIN}, 1},
                                 {0, {REDIST_PRIV_BETWEEN}, REDIST_PRIV_CROWDING}};
  if (p->nodes != NULL) usual[1].cost.per_byte *= p->nodes->most;
  *known = p->options.method == REDIST_AUTO && p->network.cost.per_message > 0;
  return *known ? p->network : usual[p->node > 0];
}

/* ------------------------------------------------------------------ REDIST_MULTIPHASE (private) */

/* The time of tiny messages is mostly latency. A chain of plans through intermediate layouts sends
   fewer of them, so it may be faster than one exchange, although it moves elements several times.
   The layouts are those of redist_phases (see "Routes"). One plan runs after another on two scratch
   buffers.

   Where a rank sends n elements to each of P replicas, or each of these contributes to the others,
   a chain moves fewer elements: through blocks, of which each replica of a place holds one.

       4 replicas           broadcast     reduction             in both
       one exchange         3 n sent      3 n received          3 n
       through blocks       n, then 3/4 n 3/4 n, then n         3/4 n, then 3/4 n

   A sum over replicas begins with what the block's rank holds itself: there is no neutral element
   of an operation.

   Short messages go by a tree: the number of a replica is written in digits, and each phase takes
   one of them, so that a rank exchanges with factor - 1 others. The last digit counts the replicas
   of a node, where there are several. A group of replicas that differ in a phase's digit only is an
   index of one more axis: all groups are one layout.

       8 replicas, 2 on a node     from one             to one               in both
       between nodes               0 to 0 4, to 2 6     after the nodes      0 2 4 6 with 0 4, 2 6
       inside                      0 to 1, 2 to 3, ...  1 to 0, 3 to 2, ...  before and after

   Between nodes, long messages pass through blocks of 0, 2, 4 and 6 instead: so each byte crosses a
   node's border once for each other node at most. */

#ifndef REDIST_NO_MULTIPHASE

/* The layouts of a chain: phase k goes from end[k][0] to end[k][1], for some of which between[] has
   room. made: what is to be freed. tree: whether it is one, with so many levels between nodes (0:
   it has blocks of one replica of each node), where each `near` replicas share one. */
typedef struct {
  const redist_layout *end[REDIST_PRIV_PHASES][2];
  redist_layout between[REDIST_PRIV_PHASES - 1];
  void *made[2 * REDIST_PRIV_PHASES];
  int tree, levels, near;
} redist_priv_stops;

/* The replicas that blocks are made of: those that contribute or, unless the plan combines, those
   that receive. */
REDIST_PRIV_COLD const redist_layout *redist_priv_replicas(const redist_plan *p) {
  return p->combines ? p->part->from : p->part->to;
}

/* Whether replicas may be filled or summed in phases, by this rank. The function must be
   associative and commutative, so only an operation of MPI's is; elements are rounded once; unless
   all replicas of the source contribute, each destination reads one that redist_replicated names;
   what no source place owns may not arrive. Axes that a reshaped view joins have neither blocks nor
   groups. */
REDIST_PRIV_COLD int redist_priv_may_pass(const redist_plan *p) {
  const redist_layout *x = redist_priv_replicas(p);
  const int exact = p->options.wire == REDIST_WIRE_EXACT;
  const redist_op *op = (const redist_op *)p->part->policy.context;
  int commutes;
  if (p->part->from->joined != NULL || p->part->to->joined != NULL) return 0;
  if (!p->combines)
    return p->part->from->copies == 1 && !p->part->from->partial && (exact || !p->options.in_place);
  return p->part->policy.function == redist_combine_op && exact && !p->options.in_place &&
         !redist_priv_has_ghosts(x) && MPI_Op_commutative(op->op, &commutes) == MPI_SUCCESS &&
         commutes;
}

/* Blocks are boxes of intervals, or products of blocks of cyclic axes. */
REDIST_PRIV_COLD int redist_priv_has_blocks(const redist_layout *x) {
  int d, has = 1;
  for (d = 0; d < x->ndim; d++)
    has &= redist_priv_is_interval(&x->dim[d].axis) || x->dim[d].axis.kind == REDIST_PRIV_CYCLIC;
  return has;
}

/* Cuts a box into n of nearly equal size: in two, in the proportion of the numbers of boxes, along
   the slowest axis that is long enough, else along the longest. axes: from slow to fast. */
REDIST_PRIV_COLD void redist_priv_cut_box(int ndim, const int *axes, redist_box whole, int n,
                                          redist_box *box) {
  redist_box rest = whole;
  const int half = n / 2;
  int64_t most = 0;
  int k, longest = 0;
  *box = whole;
  if (n == 1) return;
  for (k = 0; k < ndim && most < REDIST_PRIV_GRAIN * (int64_t)n; k++) {
    const int64_t length = whole.high[axes[k]] - whole.low[axes[k]];
    longest = length > most ? axes[k] : longest;
    most = redist_priv_max(length, most);
  }
  whole.high[longest] = rest.low[longest] += most / n * half + most % n * half / n;
  redist_priv_cut_box(ndim, axes, whole, half, box);
  redist_priv_cut_box(ndim, axes, rest, n - half, box + half);
}

/* The blocks of replicas that own boxes: of place k, number k * replicas and those that follow. */
REDIST_PRIV_COLD redist_layout redist_priv_box_blocks(const redist_layout *x, redist_box *box,
                                                      int *ranks) {
  const int places = redist_layout_places(x), grid = places / x->copies;
  int64_t extents[REDIST_MAX_DIMS];
  redist_layout blocks;
  redist_box whole = {{0}, {0}};
  int axes[REDIST_MAX_DIMS], coords[REDIST_MAX_DIMS], d, k;
  redist_priv_slow_to_fast(x, x->memory_order, axes);
  for (k = 0; k < grid; k++) {
    redist_priv_coords_of_place(x, k, coords);
    for (d = 0; d < x->ndim; d++) {
      const redist_axis *axis = &x->dim[d].axis;
      whole.low[d] = redist_priv_max(redist_priv_distance(axis, coords[d], 0), 0);
      whole.high[d] = whole.low[d] + redist_axis_count(axis, coords[d]);
    }
    redist_priv_cut_box(x->ndim, axes, whole, x->copies, box + k * x->copies);
  }
  for (k = 0; k < places; k++)
    ranks[k] = redist_priv_rank_at(x, k / x->copies + k % x->copies * grid);
  for (d = 0; d < x->ndim; d++) extents[d] = x->dim[d].axis.count;
  blocks = redist_on_ranks(redist_layout_boxes(x->ndim, extents, places, box), ranks);
  blocks.partial = x->partial;
  return blocks;
}

/* Into how many parts each axis is cut, in all as many as replicas: each prime factor goes to the
   axis whose parts are longest. */
REDIST_PRIV_COLD void redist_priv_divide_replicas(const redist_layout *x, int *parts) {
  int left = x->copies, prime = 2, d, longest;
  for (d = 0; d < x->ndim; d++) parts[d] = 1;
  for (; left > 1; left /= prime) {
    double length, most = -1;
    while (left % prime != 0) prime = prime <= left / prime ? prime + 1 : left;
    for (d = longest = 0; d < x->ndim; d++) {
      const redist_axis *axis = &x->dim[d].axis;
      length = axis->procs == 1 || axis->kind == REDIST_PRIV_CYCLIC
                   ? (double)redist_priv_share(axis) / parts[d]
                   : -1;
      longest = length > most ? d : longest;
      most = length > most ? length : most;
    }
    parts[longest] *= prime;
  }
}

/* Cuts each coordinate of an axis into parts: its blocks are dealt out or, if too few, cut. Returns
   whether part j of coordinate c is coordinate c + j procs, else c parts + j. */
REDIST_PRIV_COLD int redist_priv_deal_axis(redist_axis *x, int parts) {
  const int procs = x->procs;
  if (parts == 1) return 0;
  if (procs == 1) {
    *x = redist_balanced(x->count, parts);
    return 0;
  }
  REDIST_ASSERT(x->kind == REDIST_PRIV_CYCLIC);
  x->procs *= parts;
  if (x->block % parts != 0 || x->extent / x->block / procs >= REDIST_PRIV_GRAIN * (int64_t)parts)
    return 1;
  x->block /= parts;
  x->first *= parts;
  return 0;
}

/* The blocks of replicas that own products. */
REDIST_PRIV_COLD redist_layout redist_priv_product_blocks(const redist_layout *x, int *ranks) {
  const int places = redist_layout_places(x), grid = places / x->copies;
  redist_layout blocks;
  int parts[REDIST_MAX_DIMS], dealt[REDIST_MAX_DIMS] = {0}, coords[REDIST_MAX_DIMS], d, k, replica;
  redist_priv_divide_replicas(x, parts);
  redist_priv_copy_to(&blocks, x, 0);
  for (d = 0; d < x->ndim; d++) {
    dealt[d] = redist_priv_deal_axis(&blocks.dim[d].axis, parts[d]);
    blocks.dim[d].low = blocks.dim[d].high = blocks.dim[d].allocated = 0;
  }
  blocks.copies = 1;
  blocks.offsets = NULL;
  blocks.ranks = NULL;
  blocks.error = redist_priv_no_error(-1);
  for (k = 0; k < places; k++) {
    redist_priv_coords_of_place(&blocks, k, coords);
    for (d = replica = 0; d < x->ndim; d++) {
      const int procs = x->dim[d].axis.procs, c = coords[d];
      replica = replica * parts[d] + (dealt[d] ? c / procs : c % parts[d]);
      coords[d] = dealt[d] ? c % procs : c / parts[d];
    }
    ranks[k] = redist_priv_rank_at(x, redist_priv_place_of(x, coords) + replica * grid);
  }
  blocks.ranks = ranks;
  return blocks;
}

/* The blocks of replicas: every replica of a place holds one of them. Their boxes and ranks are in
   *lists, to be freed. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_make_blocks(const redist_layout *x, redist_layout *blocks,
                                             void **lists) {
  const int places = redist_layout_places(x);
  redist_box *box = (redist_box *)redist_priv_alloc(places, sizeof *box + sizeof(int));
  int *ranks = (int *)(void *)(box + places), d, boxes = 1;
  *lists = box;
  if (box == NULL) return REDIST_ERR_MEMORY;
  for (d = 0; d < x->ndim; d++) boxes &= redist_priv_is_interval(&x->dim[d].axis);
  *blocks = boxes ? redist_priv_box_blocks(x, box, ranks) : redist_priv_product_blocks(x, ranks);
  return REDIST_OK;
}

/* The most elements of the view that any place owns. */
REDIST_PRIV_COLD int64_t redist_priv_most_owned(const redist_layout *x) {
  const int grid = redist_layout_places(x) / x->copies;
  int64_t most = 0;
  int k, d, coords[REDIST_MAX_DIMS];
  for (k = 0; k < grid; k++) {
    int64_t owned = 1;
    redist_priv_coords_of_place(x, k, coords);
    for (d = 0; d < x->ndim; d++) owned *= redist_axis_count(&x->dim[d].axis, coords[d]);
    most = redist_priv_max(most, owned);
  }
  return most;
}

/* The seconds of both exchanges, between the plan's layouts and blocks of so many elements. */
REDIST_PRIV_COLD double redist_priv_by_blocks(const redist_plan *p, const redist_priv_network *n,
                                              const redist_layout *blocks) {
  const redist_layout *const end[2] = {p->part->from, p->part->to}, *x = redist_priv_replicas(p);
  const double bytes = (double)(p->part->packed_bytes * p->arrays),
               block = (double)redist_priv_most_owned(blocks);
  double seconds = 0;
  int side;
  for (side = 0; side < 2; side++) {
    const double copies = end[side]->copies, owned = (double)redist_priv_most_owned(end[side]);
    const double others = copies > 1 ? (copies - 1) / copies : 1; /* its own part stays */
    const double most = owned > block * copies ? owned : block * copies;
    seconds += redist_priv_transfer(n, end[side] == x ? copies - 1 : (double)p->agreed.peers,
                                    most * others * bytes);
  }
  return seconds;
}

/* A phase of a tree. It concerns replicas j = ((b factor + c) after + a) rest, with b < before and
   a < after: those with the same a and b are a group, c its members. So many of these hold elements
   before and after the phase: all, or the first. */
typedef struct {
  int before, factor, after, rest, members[2];
} redist_priv_level;

/* The divisor of n whose k-th power is closest to n. */
REDIST_PRIV_COLD int redist_priv_root_divisor(int n, int k) {
  double apart, least = DBL_MAX;
  int r, best = 1;
  for (r = 1; r > 0; r = redist_priv_next_divisor(n, r)) {
    apart = redist_priv_divided(n, r, k);
    apart = apart < 1 ? 1 / apart : apart;
    best = apart < least ? r : best;
    least = apart < least ? apart : least;
  }
  return best;
}

/* The phases of a tree with so many levels between nodes, where each `near` consecutive replicas
   share one. Returns their number; 0: the nodes cannot be divided so often. No levels: two phases
   of a group with a replica of each node, into blocks and out of them. */
REDIST_PRIV_COLD int redist_priv_list_levels(const redist_plan *p, int levels, int near,
                                             redist_priv_level *level) {
  const int gathers = p->combines, hands_out = p->part->to->copies > 1, all = gathers && hands_out;
  const int first = gathers && near > 1, nodes = redist_priv_replicas(p)->copies / near;
  const redist_priv_level whole = {1, nodes, 1, near, {nodes, nodes}};
  int k, before = 1, rest = nodes, phases = first + (levels > 0 ? levels : 2);
  if (levels == 0 && (near == 1 || nodes == 1)) return 0;
  level[first] = level[first + 1] = whole;
  for (k = 0; k < levels; k++) {
    redist_priv_level *l = &level[first + (hands_out ? k : levels - 1 - k)];
    l->before = before;
    l->factor = redist_priv_root_divisor(rest, levels - k);
    if (l->factor == 1) return 0;
    before *= l->factor;
    rest /= l->factor;
    l->after = all ? rest : 1;
    l->rest = all ? near : rest * near;
    l->members[0] = gathers ? l->factor : 1;
    l->members[1] = hands_out ? l->factor : 1;
  }
  for (k = 0; k < 2 && near > 1; k++) {
    redist_priv_level inside = {0, 0, 1, 1, {1, 1}};
    inside.before = nodes;
    inside.factor = inside.members[k] = near;
    if (k == 0 && gathers) level[0] = inside;
    if (k == 1 && hands_out) level[phases++] = inside;
  }
  return phases;
}

/* How many consecutive replicas, a divisor of all, share a node, place by place. */
REDIST_PRIV_COLD int redist_priv_near_replicas(const redist_plan *p) {
  const redist_layout *x = redist_priv_replicas(p);
  const int places = redist_layout_places(x), grid = places / x->copies;
  int k, share, near = p->nodes == NULL ? 1 : p->nodes->most;
  for (; near > 1; near--) {
    share = x->copies % near == 0;
    for (k = 0; k < places && share; k++)
      share = p->nodes->node[redist_priv_rank_at(x, k)] ==
              p->nodes->node[redist_priv_rank_at(x, k - k / grid % near * grid)];
    if (share) break;
  }
  return near;
}

/* The seconds of a tree, where a place of the replicas owns at most so many bytes: those of its
   first or last phase include messages of an end without replicas. Between nodes one of `near`
   ranks has the link to itself, but what it hands out in one phase shares it with what it sends in
   the next. */
REDIST_PRIV_COLD double redist_priv_by_tree(const redist_plan *p, const redist_priv_network *n,
                                            double bytes, int near, int levels,
                                            const redist_priv_level *level, int phases) {
  const redist_priv_network rings = {0, {REDIST_PRIV_RINGS}, 1};
  const redist_layout *from = p->part->from, *to = p->part->to;
  redist_priv_network alone = *n;
  double seconds = 0, replicas;
  int k, sent = 0;
  alone.cost.per_byte /= near;
  for (k = phases - 1; k >= 0; k--) {
    const int inside = near > 1 && level[k].rest == 1, others = level[k].factor - 1;
    const redist_layout *end = k == 0 && from->copies == 1          ? from
                               : k == phases - 1 && to->copies == 1 ? to
                                                                    : NULL;
    const int64_t peers = end != NULL ? redist_layout_places(end) - 1 : 0;
    sent = (inside || level[k].members[0] > 1 ? 0 : sent) + others;
    replicas = inside || levels > 0 ? sent : end != NULL ? 1 : (double)others / level[k].factor;
    seconds += redist_priv_transfer(inside ? &rings : &alone,
                                    (double)redist_priv_max(others, redist_priv_min(p->agreed.peers,
                                                                                    peers)),
                                    replicas * bytes);
    if (inside) sent = 0;
  }
  return seconds;
}

/* Finds the fastest tree. Returns its phases, and its seconds; 0: there is none. With levels a rank
   may send a whole replica in every phase, so long ones have none. */
REDIST_PRIV_COLD int redist_priv_find_tree(const redist_plan *p, const redist_priv_network *n,
                                           redist_priv_stops *s, double *seconds) {
  const redist_layout *x = redist_priv_replicas(p);
  const int near = s->near = redist_priv_near_replicas(p);
  const int64_t bytes = redist_priv_most_owned(x) * p->part->packed_bytes * p->arrays;
  const int most = bytes < REDIST_PRIV_LONG_REPLICA ? REDIST_PRIV_PHASES - 2 : 0;
  redist_priv_level level[REDIST_PRIV_PHASES];
  double one;
  int levels, grown, phases = 0;
  if (x->ndim == REDIST_MAX_DIMS ||
      (p->combines && p->part->to->copies > 1 && p->part->from->copies != p->part->to->copies))
    return 0;
  for (levels = redist_priv_has_blocks(x) ? 0 : 1; levels <= most; levels++) {
    grown = redist_priv_list_levels(p, levels, near, level);
    if (grown < 2) continue;
    one = redist_priv_by_tree(p, n, (double)bytes, near, levels, level, grown);
    if (phases > 0 && one >= *seconds) continue;
    s->levels = levels;
    phases = grown;
    *seconds = one;
  }
  return phases;
}

/* The group of a place of the first members, and its place among the replica's. */
REDIST_PRIV_COLD int redist_priv_group_of(const redist_layout *x, const redist_layout *groups,
                                          int number, int *place) {
  int coords[REDIST_MAX_DIMS];
  *place = number % redist_priv_grid_places(x);
  if (x->boxes > 0) return number / redist_priv_grid_places(x);
  redist_priv_coords_of_place(groups, number, coords);
  *place = redist_priv_place_of(x, coords);
  return groups->ndim > x->ndim ? coords[x->ndim] : 0;
}

/* Makes the layout of a phase's groups: an index of one more axis for each, of which so many
   members hold the elements. inner: an intermediate array, without ghost cells. To be freed. NULL:
   no memory. */
REDIST_PRIV_COLD redist_layout *redist_priv_group_layout(const redist_layout *x,
                                                         const redist_priv_level *l, int members,
                                                         int inner) {
  const int groups = l->before * l->after, grid = redist_priv_grid_places(x);
  const int places = groups * grid * members;
  const int64_t lists = places * (int64_t)(sizeof *x->box + sizeof *x->offsets + sizeof *x->ranks);
  redist_layout *y = (redist_layout *)redist_priv_alloc((int64_t)sizeof *y + lists, 1);
  redist_box *box = (redist_box *)(void *)(y + 1);
  int64_t *offset = (int64_t *)(void *)(box + places);
  int *rank = (int *)(void *)(offset + places), place, d, k;
  const redist_box none = {{0}, {0}};
  if (y == NULL) return NULL;
  redist_priv_copy_to(y, x, !inner);
  y->truncated = 0;
  y->error = redist_priv_no_error(-1);
  y->view.axes = 0;
  y->copies = members;
  for (d = 0; d < y->ndim && inner; d++) y->dim[d].low = y->dim[d].high = y->dim[d].allocated = 0;
  if (groups > 1) {
    memset(&y->dim[y->ndim], 0, sizeof *y->dim);
    y->dim[y->ndim].axis = redist_block(groups, groups);
    y->dim[y->ndim].stored = y->ndim;
    y->ndim++;
  }
  for (k = 0; k < places; k++) {
    const int in = k % (groups * grid), group = redist_priv_group_of(x, y, in, &place);
    box[k] = x->boxes > 0 ? x->box[place] : none;
    box[k].low[x->ndim] = group;
    box[k].high[x->ndim] = group + 1;
    place += ((group / l->after * l->factor + k / (groups * grid)) * l->after + group % l->after) *
             l->rest * grid;
    rank[k] = redist_priv_rank_at(x, place);
    offset[k] = x->offsets != NULL ? x->offsets[place] : 0;
  }
  y->ranks = rank;
  y->offsets = x->offsets != NULL && !inner ? offset : NULL;
  if (x->boxes > 0) redist_priv_attach_boxes(y, groups * grid, box);
  return y;
}

/* Makes the layouts of a tree, without levels with blocks of one replica of each node: at the end
   of phase `first` and the beginning of the next. REDIST_ERR_MEMORY. */
REDIST_PRIV_COLD int redist_priv_lay_tree(const redist_plan *p, redist_priv_stops *s) {
  redist_priv_level level[REDIST_PRIV_PHASES];
  const int first = p->combines && s->near > 1;
  const int phases = redist_priv_list_levels(p, s->levels, s->near, level);
  const int blocks = 2 * first + 1, sums = p->combines;
  int k, code = REDIST_OK;
  for (k = 0; k < 2 * phases && code == REDIST_OK; k++) {
    const int phase = k / 2, side = k % 2, inner = k != 0 && k != 2 * phases - 1;
    const redist_layout *x = inner ? redist_priv_replicas(p) : s->end[phase][side];
    if (x->copies == 1 || (s->levels == 0 && (k == blocks || k == blocks + 1))) continue;
    s->made[k] = redist_priv_group_layout(x, &level[phase], level[phase].members[side], inner);
    s->end[phase][side] = (const redist_layout *)s->made[k];
    code = s->made[k] == NULL ? REDIST_ERR_MEMORY : REDIST_OK;
  }
  if (code != REDIST_OK || s->levels > 0) return code;
  return redist_priv_make_blocks(s->end[first + !sums][!sums], &s->between[first],
                                 &s->made[blocks]);
}

/* Finds blocks, or a tree, and *gain, the ratio of the direct exchange's time to that through them;
   0: not possible, as where a rank has several places. Collective. */
REDIST_PRIV_COLD int redist_priv_find_passes(redist_plan *p, const redist_priv_network *n,
                                             redist_priv_stops *s, double *gain) {
  const redist_layout *x = redist_priv_replicas(p);
  redist_priv_chain *c = &p->state.chain;
  double seconds = 0, faster = 0;
  int phases, code = REDIST_OK;
  *gain = 0;
  if (!p->scheduled || x->copies == 1) return REDIST_OK;
  if (!redist_priv_may_pass(p)) code = REDIST_ERR_ARGUMENT;
  if (redist_priv_has_blocks(x) && code == REDIST_OK)
    code = redist_priv_make_blocks(x, s->between, s->made);
  code = redist_priv_worst(p->comm, code);
  if (code != REDIST_OK) return code == REDIST_ERR_ARGUMENT ? REDIST_OK : code;
  if (s->made[0] != NULL) seconds = redist_priv_by_blocks(p, n, s->between);
  phases = redist_priv_find_tree(p, n, s, &faster);
  s->tree = phases > 0 && (seconds <= 0 || faster < seconds);
  if (s->tree) {
    REDIST_FREE(s->made[0]);
    s->made[0] = NULL;
    seconds = faster;
  }
  if (seconds <= 0) return REDIST_OK;
  *gain = redist_priv_transfer(n, (double)p->agreed.peers, (double)p->agreed.bytes) / seconds;
  c->phases = s->tree ? phases : 2;
  c->sums = p->combines;
  return REDIST_OK;
}

/* Links the layouts of phases: between[phases - 1] of a route that is not a tree. */
REDIST_PRIV_COLD void redist_priv_link_stops(const redist_layout *from, const redist_layout *to,
                                             int phases, redist_priv_stops *s) {
  int k;
  for (k = 0; k < phases; k++) {
    s->end[k][0] = k == 0 ? from : &s->between[k - 1];
    s->end[k][1] = k == phases - 1 ? to : &s->between[k];
  }
}

REDIST_PRIV_COLD double redist_priv_seconds(const redist_plan *p, const redist_layout *from,
                                            const redist_layout *to) {
  const double bytes = (double)(p->part->packed_bytes * p->arrays);
  redist_priv_load busiest;
  if (redist_priv_busiest(from, to, &busiest) != REDIST_OK) return -1;
  return redist_priv_transfer(&p->network, (double)busiest.messages,
                              (double)busiest.elements * bytes);
}

/* Finds the route, the same on all ranks, which agree on layouts and cost, and *gain: the ratio of
   the direct exchange's time to the route's. Sums by a method asked for by name pass through the
   same replicas whatever is measured. Collective. */
REDIST_PRIV_COLD int redist_priv_find_route(redist_plan *p, redist_priv_stops *s, double *gain) {
  /* some elements must not move */
  const int rests = p->options.in_place && p->combines;
  const int most = rests ? 0 : REDIST_PRIV_PHASES - 1, automatic = p->options.method == REDIST_AUTO;
  redist_priv_chain *c = &p->state.chain;
  int k, known, code = redist_priv_know_network(p);
  redist_priv_network n = redist_priv_charged(p, &known);
  double seconds = 0;
  if (code != REDIST_OK) return code;
  if (automatic || !p->combines || p->options.cost.per_message + p->options.cost.per_byte > 0)
    n = p->network;
  code = redist_priv_find_passes(p, &n, s, gain);
  /* REDIST_AUTO has predicted, perhaps with shared memory, that they pay */
  if (code != REDIST_OK || *gain > (automatic ? 0 : 1)) return code;
  s->tree = c->sums = 0;
  code = redist_priv_phases(p->part->from, p->part->to, (size_t)(p->part->packed_bytes * p->arrays),
                            &p->network.cost, p->network.latency, most, s->between, &c->phases);
  c->phases = code == REDIST_OK ? c->phases + 1 : 0;
  redist_priv_link_stops(p->part->from, p->part->to, c->phases, s);
  for (k = 0; k < c->phases; k++) seconds += redist_priv_seconds(p, s->end[k][0], s->end[k][1]);
  *gain = seconds > 0 ? redist_priv_seconds(p, p->part->from, p->part->to) / seconds : 0;
  return code;
}

REDIST_PRIV_COLD void redist_priv_free_stops(redist_priv_stops *s) {
  int k;
  for (k = 0; k < 2 * REDIST_PRIV_PHASES; k++) REDIST_FREE(s->made[k]);
  memset(s, 0, sizeof *s);
}

/* Makes the plan of the k-th phase. All share what intermediate arrays, on a rank at most so many
   bytes, leave of max_buffer. Collective. */
REDIST_PRIV_COLD int redist_priv_open_phase(redist_plan *p, const redist_priv_stops *s, int k,
                                            int64_t bytes) {
  redist_priv_chain *c = &p->state.chain;
  redist_options options = p->options;
  redist_part part = *p->given;
  part.from = s->end[k][0];
  part.to = s->end[k][1];
  part.combine = NULL;
  options.method = REDIST_AUTO;
  options.effort = REDIST_ESTIMATE;
  options.message = NULL;
  options.fixed_from = options.fixed_to = NULL;
  options.in_place = options.in_place && c->phases == 1;
  options.combine = p->part->policy.function;
  options.context = p->part->policy.context;
  if (k < c->phases - 1)
    options.combine = c->sums && part.from->copies > 1 ? redist_priv_begin_op : NULL;
  if (options.max_buffer > 0)
    options.max_buffer =
        (size_t)redist_priv_max(((int64_t)options.max_buffer - bytes) / c->phases, 1);
  return redist_priv_create(p->comm, p, 1, &part, &options, &c->phase[k]);
}

/* Fails where the phases cannot be planned. Intermediate arrays use two buffers alternately, which
   count as the source's staging memory. Collective. */
REDIST_PRIV_COLD int redist_priv_multiphase_open(redist_plan *p) {
  redist_priv_chain *c = &p->state.chain;
  redist_priv_stops s;
  int64_t most[2], elements = 0; /* codes, bytes */
  double gain;
  int k, code;
  memset(&s, 0, sizeof s);
  most[0] = redist_priv_find_route(p, &s, &gain);
  redist_priv_link_stops(p->given->from, p->given->to, c->phases, &s);
  if (s.tree) most[0] = redist_priv_lay_tree(p, &s);
  for (k = 1; k < c->phases && most[0] == REDIST_OK; k++)
    elements = redist_priv_max(elements, redist_layout_local_size(s.end[k][0], p->rank));
  c->array_bytes = redist_priv_round_up(elements * p->part->element_bytes, REDIST_PRIV_LINE);
  most[1] = c->array_bytes * p->arrays * redist_priv_min(c->phases - 1, 2);
  p->staging[REDIST_PRIV_FROM].bytes = most[1];
  code = redist_priv_reduce(p->comm, most, 2, MPI_MAX);
  code = code == REDIST_OK ? (int)most[0] : code;
  for (k = 0; k < c->phases && code == REDIST_OK; k++)
    code = redist_priv_open_phase(p, &s, k, most[1]);
  redist_priv_free_stops(&s);
  return code;
}

/* Starts the current phase: from the arrays of the last phase to those for the next. */
REDIST_PRIV_COLD int redist_priv_phase_post(redist_plan *p) {
  const redist_priv_chain *c = &p->state.chain;
  /* NULL on a rank that owns nothing there */
  char *between = p->staging[REDIST_PRIV_FROM].memory;
  redist_plan *phase = c->phase[c->at];
  int i;
  REDIST_ASSERT(c->at < c->phases && phase != NULL);
  for (i = 0; i < 2 * p->arrays; i++) {
    const int k = c->at + i / p->arrays; /* its arrays come before the k-th phase */
    const int64_t place = (k % 2 == 0 ? p->arrays : 0) + i % p->arrays;
    REDIST_ASSERT(k == 0 || k == c->phases ||
                  (place + 1) * c->array_bytes <= p->staging[REDIST_PRIV_FROM].bytes);
    if (k == 0 || k == c->phases)
      phase->pointers[i] = p->pointers[i];
    else
      phase->pointers[i] = between == NULL ? NULL : between + place * c->array_bytes;
  }
  return redist_priv_begin(phase);
}

REDIST_PRIV_COLD int redist_priv_phase_poll(redist_plan *p, int *done) {
  redist_priv_chain *c = &p->state.chain;
  const int code = redist_priv_test(c->phase[c->at], done);
  if (code != REDIST_OK || !*done) return code;
  c->at = (c->at + 1) % c->phases;
  *done = c->at == 0;
  if (!*done) return redist_priv_phase_post(p);
  redist_priv_arrive_local(p);
  redist_priv_arrive_all(p);
  return REDIST_OK;
}

REDIST_PRIV_COLD void redist_priv_phases_close(redist_plan *p) {
  redist_priv_chain *c = &p->state.chain;
  int k;
  for (k = 0; k < c->phases; k++) redist_plan_free(&c->phase[k]);
}

/* Predicts a chain where it may win: through blocks or a tree, or else where it pays, as it sends
   at least all bytes and has at least one more latency. Replicas on one node read the source, or
   its ring, at once. Collective. */
REDIST_PRIV_COLD void redist_priv_predict_phases(redist_plan *p, double creation) {
  const redist_priv_network rings = {0, {REDIST_PRIV_RINGS}, 1};
  const double shared = p->predicted[REDIST_SHARED], bytes = (double)p->agreed.bytes;
  const double messages = p->predicted[redist_priv_by_messages(p)], again = p->network.latency;
  const int within = p->node == 0 && shared > 0;
  double best = within ? shared : messages, gain = 0;
  double margin = within ? REDIST_PRIV_WITHIN_MARGIN : REDIST_PRIV_MARGIN;
  redist_priv_stops s;
  int known;
  const redist_priv_network network = within ? rings : redist_priv_charged(p, &known);
  if (p->chained) return;
  memset(&s, 0, sizeof s);
  if (!within || p->combines) (void)redist_priv_find_passes(p, &network, &s, &gain);
  redist_priv_free_stops(&s);
  if (gain <= 0 && p->scheduled && p->network.cost.per_message > 0 &&
      messages >= REDIST_PRIV_MARGIN * (again + redist_priv_transfer(&p->network, 2, bytes))) {
    best = messages;
    margin = REDIST_PRIV_MARGIN;
    /* one rank may lack memory */
    if (redist_priv_worst(p->comm, redist_priv_find_route(p, &s, &gain)) != REDIST_OK) gain = 0;
    redist_priv_free_stops(&s);
  }
  if (gain > 0)
    p->predicted[REDIST_MULTIPHASE] = margin * best / gain + p->state.chain.phases * creation;
  memset(&p->state, 0, sizeof p->state);
}

#else

REDIST_PRIV_COLD void redist_priv_predict_phases(redist_plan *p, double creation) {
  (void)p;
  (void)creation;
}

#endif

/* ------------------------------------------------------------------ choosing a method (private) */

/* Which method is fastest depends on sizes and machine, every rank must choose the same, and a
   method may prove unavailable on some rank. So all ranks predict the seconds of each candidate
   from facts that they have agreed on; with REDIST_MEASURE they time candidates, too. They open the
   best one and agree whether that succeeded on all ranks; if not, they try its fallback. */

/* All links that are not left out, in the order of posting, then a row without functions. What is
   local is copied when receivers that have started are served, and others after it. */
REDIST_PRIV const redist_priv_link *redist_priv_links(void) {
  static const redist_priv_link links[] = {
#ifndef REDIST_NO_NODES
      {REDIST_PRIV_BY_CARRIERS, redist_priv_carriers_post, redist_priv_carriers_poll,
       redist_priv_carriers_close},
#endif
#ifdef REDIST_PRIV_SHARES
      {REDIST_PRIV_BY_MEMORY, redist_priv_rings_post, redist_priv_rings_poll,
       redist_priv_rings_close},
#endif
      {REDIST_PRIV_BY_MESSAGES, redist_priv_lanes_post, redist_priv_lanes_poll,
       redist_priv_lanes_close},
#ifndef REDIST_NO_COLLECTIVES
      {REDIST_PRIV_BY_COLLECTIVE, redist_priv_collective_post, redist_priv_collective_poll,
       redist_priv_collective_close},
#endif
#ifndef REDIST_NO_MULTIPHASE
      {REDIST_PRIV_BY_PHASES, redist_priv_phase_post, redist_priv_phase_poll,
       redist_priv_phases_close},
#endif
      {~REDIST_PRIV_BY_PHASES, redist_priv_local_post, NULL, NULL},
#ifdef REDIST_PRIV_SHARES
      {REDIST_PRIV_BY_MEMORY, redist_priv_rings_push, NULL, NULL},
#endif
      {0, NULL, NULL, NULL}};
  return links;
}

/* All methods that are not left out, then a row without a name. Those before REDIST_POINT_TO_POINT
   fall back to messages. From there on each falls back to the next, which needs no more memory, and
   less with max_buffer; the last to REDIST_POINT_TO_POINT. */
REDIST_PRIV_COLD const redist_priv_transport *redist_priv_transports(void) {
  static const redist_priv_transport transports[] = {
#ifdef REDIST_PRIV_SHARES
      {REDIST_SHARED, "REDIST_SHARED", redist_priv_shared_open, redist_priv_lanes_staging,
       redist_priv_lanes_create, redist_priv_shared_connect,
       REDIST_PRIV_BY_MEMORY | REDIST_PRIV_BY_MESSAGES},
#endif
#ifndef REDIST_NO_NODES
#ifdef REDIST_PRIV_SHARES
      {REDIST_NODES, "REDIST_NODES", redist_priv_nodes_open, redist_priv_lanes_staging,
       redist_priv_carriers_create, redist_priv_nodes_connect,
       REDIST_PRIV_BY_CARRIERS | REDIST_PRIV_BY_MEMORY | REDIST_PRIV_BY_MESSAGES},
#endif
      {REDIST_NODES, "REDIST_NODES", redist_priv_unshared_open, redist_priv_unshared_staging,
       redist_priv_unshared_create, NULL, REDIST_PRIV_BY_CARRIERS | REDIST_PRIV_BY_MESSAGES},
#endif
#ifndef REDIST_NO_MULTIPHASE
      {REDIST_MULTIPHASE, "REDIST_MULTIPHASE", redist_priv_multiphase_open, NULL, NULL, NULL,
       REDIST_PRIV_BY_PHASES},
#endif
#ifndef REDIST_NO_COLLECTIVES
      {REDIST_ALLTOALLV, "REDIST_ALLTOALLV", redist_priv_separate, redist_priv_alltoallv_staging,
       redist_priv_collective_create, redist_priv_collective_connect, REDIST_PRIV_BY_COLLECTIVE},
#endif
      {REDIST_POINT_TO_POINT, "REDIST_POINT_TO_POINT", NULL, redist_priv_lanes_staging,
       redist_priv_lanes_create, NULL, REDIST_PRIV_BY_MESSAGES},
#ifndef REDIST_NO_SCHEDULED
      {REDIST_SCHEDULED, "REDIST_SCHEDULED", redist_priv_order_peers, redist_priv_lanes_staging,
       redist_priv_lanes_create, NULL, REDIST_PRIV_BY_MESSAGES},
#endif
#ifndef REDIST_NO_COLLECTIVES
      {REDIST_ALLTOALLW, "REDIST_ALLTOALLW", redist_priv_separate, redist_priv_alltoallw_staging,
       redist_priv_collective_create, redist_priv_collective_connect, REDIST_PRIV_BY_COLLECTIVE},
#endif
      {REDIST_AUTO, NULL, NULL, NULL, NULL, NULL, 0}};
  return transports;
}

REDIST_PRIV_COLD const redist_priv_transport *redist_priv_transport_of(int method) {
  const redist_priv_transport *t = redist_priv_transports();
  while (t->name != NULL && (int)t->method != method) t++;
  return t->name == NULL ? NULL : t;
}

/* Whole messages, or a schedule's pieces, which any max_buffer can hold. */
REDIST_PRIV_COLD redist_method redist_priv_by_messages(const redist_plan *p) {
  const double *s = p->predicted, most = (double)p->options.max_buffer;
  const int scarce = most > 0 && 2 * (double)p->agreed.bytes > most;
  return s[REDIST_SCHEDULED] > 0 && (scarce || s[REDIST_SCHEDULED] < s[REDIST_POINT_TO_POINT])
             ? REDIST_SCHEDULED
             : REDIST_POINT_TO_POINT;
}

REDIST_PRIV_COLD void redist_priv_gather_facts(const redist_plan *p, MPI_Comm comm,
                                               redist_priv_facts *own) {
  const redist_arena *arena = p->options.arena;
  redist_priv_words words = {0, 0, 0, 0, NULL, 0, NULL};
  int64_t k;
  int side, same = MPI_UNEQUAL;
  redist_priv_list_plan(&words, p);
  own->words = words.n;
  own->hash = (int64_t)(words.hash >> 2);
  own->not_hash = -own->hash;
  own->node = redist_priv_node_number(p, p->rank);
  own->not_node = -own->node;
  own->tag = arena != NULL ? arena->tags : 0;
  own->own_comm = arena == NULL || arena->tags >= arena->most_tags ||
                  MPI_Comm_compare(comm, arena->comm, &same) != MPI_SUCCESS ||
                  (same != MPI_IDENT && same != MPI_CONGRUENT);
  own->overwrites = p->overwritten;
  for (k = 0; REDIST_PRIV_SCATTERS && k < 2 * p->parts; k++) {
    const redist_priv_part *part = &p->part[k / 2];
    const redist_priv_joined *joined = (k % 2 ? part->to : part->from)->joined;
    own->padded |= joined != NULL && joined->padded;
  }
  for (side = 0; side < 2; side++) {
    const redist_priv_side *s = &p->side[side];
    const int64_t staged = s->bytes + s->peers * REDIST_PRIV_LINE,
                  large = redist_priv_max(staged, s->array_bytes);
    own->unfixed[side] = p->pointers[side * p->arrays] == NULL && s->owned > 0;
    own->largest = redist_priv_max(own->largest, large);
    own->peers = redist_priv_max(own->peers, s->peers);
    own->bytes = redist_priv_max(own->bytes, s->bytes);
    for (k = 0; k < s->peers; k++) own->message = redist_priv_max(own->message, s->peer[k].bytes);
  }
}

/* Whether a method is correct with this plan and MPI library: datatypes do not convert, and both
   ends of a message must order their elements by the same numbering of positions; in Open MPI
   4.1.4, strided ones of single bytes overwrite other elements. */
REDIST_PRIV_COLD int redist_priv_is_sound(const redist_plan *p, redist_method method) {
  int k, sound = p->options.wire == REDIST_WIRE_EXACT && !p->agreed.padded;
#if defined OPEN_MPI
  for (k = 0; k < p->parts; k++) sound &= p->part[k].element_bytes != 1;
#else
  (void)k;
#endif
  return method != REDIST_ALLTOALLW || sound;
}

/* Agrees on errors, and on the outcome so far. Collective. */
REDIST_PRIV_COLD int redist_priv_settle(redist_plan *p, MPI_Comm comm, redist_priv_error *v) {
  return redist_priv_agree(comm, v, &p->outcome.unfit, sizeof p->outcome / sizeof(int64_t));
}

#ifdef REDIST_PRIV_CHOOSES

/* Counts what this rank exchanges inside its node and with others, on the side with more. */
REDIST_PRIV_COLD void redist_priv_measure_spread(redist_plan *p) {
  const int *node = p->nodes->node;
  redist_priv_outcome *own = &p->outcome;
  const redist_priv_peer *peer;
  int k;
  for (k = 0; k < 4; k++) {
    const redist_priv_side *s = &p->side[k / 2];
    const int far = k % 2;
    int64_t peers = 0, bytes = 0;
    for (peer = s->peer; peer < s->peer + s->peers; peer++) {
      if ((node[peer->rank] != node[p->rank]) != far) continue;
      peers++;
      bytes += peer->bytes;
    }
    own->peers[far] = redist_priv_max(own->peers[far], peers);
    own->bytes[far] = redist_priv_max(own->bytes[far], bytes);
  }
}

/* Whether a method asked for by name, and what it falls back to, opens without a communicator. So
   the ranks agree once it is open, and predict for the report only. */
REDIST_PRIV_COLD int redist_priv_opens_first(const redist_plan *p) {
  return p->options.method >= REDIST_ALLTOALLW && p->options.method <= REDIST_SCHEDULED;
}

/* Finds out which ranks share nodes, if there are several, and agrees whether all ranks have a
   communicator, unless that can wait. Returns the same code on all ranks. Collective. */
REDIST_PRIV_COLD int redist_priv_find_nodes(redist_plan *p, MPI_Comm comm, redist_priv_error *v) {
  if (p->agreed.node == -p->agreed.not_node) {
    p->outcome.peers[0] = p->agreed.peers;
    p->outcome.bytes[0] = p->agreed.bytes;
    REDIST_FREE(p->nodes);
    p->nodes = NULL;
    if (p->borrows) return REDIST_OK;
  } else if (redist_priv_list_nodes(p, comm) == REDIST_OK) {
    while (p->nodes->node[p->node] == 0) p->node++;
    redist_priv_measure_spread(p);
  } else {
    redist_priv_fail(v, REDIST_ERR_MPI, "MPI failed while the ranks of a node were counted");
  }
  return redist_priv_opens_first(p) ? (int)REDIST_OK : redist_priv_settle(p, comm, v);
}

/* The seconds in which a rank sends messages whole, or in a schedule's pieces. Whole ones crowd the
   network unless they are short in all. Links idle while some are prepared. */
REDIST_PRIV_COLD double redist_priv_sending(const redist_priv_network *n, double messages,
                                            double bytes, int in_pieces) {
  const double crowding = !in_pieces && bytes > REDIST_EAGER_BYTES ? n->crowding : 1,
               more = in_pieces ? bytes / REDIST_EAGER_BYTES : 0;
  return redist_priv_transfer(n, messages + more, bytes * crowding) +
         REDIST_PRIV_IDLE * messages * n->cost.per_message;
}

#ifndef REDIST_NO_NODES
/* The seconds by carriers: into their buffers, between nodes, and out of buffers. Where these are
   private, what stays in the node goes with the rest. */
REDIST_PRIV_COLD double redist_priv_predict_nodes(const redist_plan *p,
                                                  const redist_priv_network *n,
                                                  const redist_priv_network *rings) {
  const redist_priv_outcome *s = &p->outcome;
  const int least = p->nodes->least, others = p->nodes->nodes - 1;
  const int64_t carriers = redist_priv_min(redist_priv_min(others, s->peers[1]), least),
                messages = redist_priv_min(others, s->peers[1] * least) * redist_priv_per_pair(p);
  const double bytes = (double)s->bytes[1], near_bytes = (double)s->bytes[0],
               between =
                   redist_priv_sending(n, (double)redist_priv_ceil_div(messages, least), bytes, 0);
  redist_priv_network inside = *n;
  if (redist_priv_transport_of(REDIST_SHARED) != NULL)
    return between + redist_priv_transfer(rings, (double)s->peers[0], near_bytes) +
           2 * redist_priv_transfer(rings, (double)carriers, bytes);
  inside.latency /= REDIST_PRIV_NEARER;
  inside.cost.per_byte *= (double)p->nodes->nodes / p->size;
  return between + redist_priv_transfer(&inside, p->nodes->most - 1, bytes) +
         redist_priv_transfer(&inside, p->nodes->most - 1, near_bytes + bytes);
}
#endif

/* Predicts the seconds of an execution by every candidate but a chain. Shared memory costs set-up;
   MPI's collectives send to all ranks. */
REDIST_PRIV_COLD void redist_priv_predict(redist_plan *p, double creation) {
  const redist_priv_network rings = {0, {REDIST_PRIV_RINGS}, 1};
  int known;
  const redist_priv_network network = redist_priv_charged(p, &known), *n = &network;
  const redist_priv_facts *facts = &p->agreed;
  const redist_priv_outcome *spread = &p->outcome;
  const int64_t peers = facts->peers, most = (int64_t)p->options.max_buffer;
  const double messages = (double)peers, far_bytes = (double)spread->bytes[1],
               bytes = far_bytes > 0 ? far_bytes : (double)facts->bytes,
               far = (double)spread->peers[1], pieces = redist_priv_sending(n, far, far_bytes, 1);
  double between = far > 0 ? redist_priv_sending(n, far, far_bytes, 0) : 0;
  double *s = p->predicted;
  int k;
  s[REDIST_POINT_TO_POINT] = redist_priv_sending(n, messages, bytes, 0);
  if (p->node > 0) {
    s[REDIST_ALLTOALLV] = s[REDIST_POINT_TO_POINT] + n->cost.per_message * (p->size - messages);
    s[REDIST_ALLTOALLW] = s[REDIST_ALLTOALLV];
    s[REDIST_SCHEDULED] = redist_priv_sending(n, messages, bytes, 1);
  }
  for (k = 0; k < REDIST_PRIV_METHODS; k++)
    if (redist_priv_transport_of(k) == NULL) s[k] = 0; /* left out */
  if (s[REDIST_SCHEDULED] > 0 && pieces < between) between = pieces;
  if (redist_priv_transport_of(REDIST_SHARED) != NULL && peers > 0 &&
      (most == 0 || 2 * peers * REDIST_PRIV_SLOTS * REDIST_PRIV_LEAST_PIECE <= most))
    s[REDIST_SHARED] =
        redist_priv_transfer(&rings, (double)spread->peers[0], (double)spread->bytes[0]) + between +
        REDIST_PRIV_SETUP * creation;
#ifndef REDIST_NO_NODES
  if (p->nodes != NULL && spread->peers[1] > 0 && (most == 0 || s[REDIST_SHARED] > 0))
    s[REDIST_NODES] = redist_priv_predict_nodes(p, n, &rings) + REDIST_PRIV_SETUP * creation;
#endif
}

/* Messages to ranks of one node share its link, so orders the peers such that nodes alternate. */
REDIST_PRIV_COLD void redist_priv_alternate_nodes(redist_plan *p) {
  const int each = (int)p->node;
  redist_priv_side *s;
  int64_t k;
  for (s = p->side; s < p->side + 2 && each > 0 && !p->ordered; s++) {
    for (k = 0; k < s->peers; k++)
      s->peer[k].order = s->peer[k].order % each * (p->size / each + 1) + s->peer[k].order / each;
    qsort(s->peer, (size_t)s->peers, sizeof *s->peer, redist_priv_compare_ints);
  }
}

/* The method with the least predicted seconds, or the one asked for by name. The network between
   nodes is measured for plans that run often, unless a method is asked for. Collective. */
REDIST_PRIV_COLD redist_method redist_priv_estimate(redist_plan *p) {
  const int n = p->options.executions;
  const int often = n == 0 || n >= REDIST_PRIV_OFTEN || p->options.cost.per_message > 0;
  const double creation = n > 0 ? 1e-9 * (double)p->outcome.duplication / n : 0, *s = p->predicted;
  redist_method best = p->options.method;
  if (best == REDIST_AUTO && often && p->node > 0 && p->agreed.peers > 0)
    (void)redist_priv_know_network(p);
  redist_priv_predict(p, creation);
  if (best == REDIST_SHARED && s[REDIST_NODES] > 0 && s[REDIST_NODES] < s[REDIST_SHARED])
    return REDIST_NODES;
  if (best != REDIST_AUTO) return best;
  redist_priv_predict_phases(p, creation);
  redist_priv_alternate_nodes(p);
  best = redist_priv_by_messages(p); /* MPI's collectives are never predicted to be faster */
  best = s[REDIST_SHARED] > 0 && s[REDIST_SHARED] <= s[best] ? REDIST_SHARED : best;
  best = s[REDIST_NODES] > 0 && s[REDIST_NODES] < s[best] ? REDIST_NODES : best;
  return s[REDIST_MULTIPHASE] > 0 && s[REDIST_MULTIPHASE] < s[best] ? REDIST_MULTIPHASE : best;
}

/* Arrays to time candidates with, after the pointers to them; NULL when memory is exhausted. Those
   that are read are zeroed: valid numbers, on pages that exist (reading others is faster). */
REDIST_PRIV_COLD char **redist_priv_scratch(const redist_plan *p) {
  const int64_t both = p->side[REDIST_PRIV_FROM].array_bytes + p->side[REDIST_PRIV_TO].array_bytes;
  int64_t at = redist_priv_round_up(2 * p->arrays * (int64_t)sizeof(char *), REDIST_PRIV_LINE);
  char **scratch =
      (char **)redist_priv_alloc(at + both + 2 * p->arrays * (int64_t)REDIST_PRIV_LINE, 1);
  int a;
  for (a = 0; scratch != NULL && a < 2 * p->arrays; a++) {
    const redist_priv_part *part = redist_priv_part_of(p, a % p->arrays);
    const int64_t bytes = part->half[a / p->arrays].array_bytes;
    scratch[a] = (char *)scratch + at;
    if (a < p->arrays || part->policy.function != NULL) memset(scratch[a], 0, (size_t)bytes);
    at += redist_priv_round_up(bytes, REDIST_PRIV_LINE);
  }
  return scratch;
}

/* Seconds since `begin` on the slowest rank; 0 where any failed. Collective. */
REDIST_PRIV_COLD double redist_priv_slowest(MPI_Comm comm, double begin, int code) {
  int64_t most[2];
  most[0] = code;
  most[1] = (int64_t)((MPI_Wtime() - begin) * 1e9) + 1;
  code = redist_priv_reduce(comm, most, 2, MPI_MAX);
  return code == REDIST_OK && most[0] == REDIST_OK ? (double)most[1] * 1e-9 : 0;
}

/* The seconds of one execution on the slowest rank: the least of several series, each of one
   execution or, where it is short, the mean of many. The first series warms up and does not count,
   unless it takes more than twice the best so far: then no other follows. Collective. */
REDIST_PRIV_COLD double redist_priv_time(redist_plan *plan, char **scratch, double best) {
  double least = 0, seconds = 0, begin;
  int series, k, times = 1, code = REDIST_OK;
  for (series = 0; series < REDIST_PRIV_SERIES && seconds <= 2 * best; series++) {
    begin = MPI_Wtime();
    for (k = 0; k < times && code == REDIST_OK; k++)
      code = redist_execute_many(plan, (const void *const *)scratch,
                                 (void *const *)(scratch + plan->arrays));
    seconds = redist_priv_slowest(plan->comm, begin, code) / times;
    if (seconds == 0) return 0;
    least = series < 2 || seconds < least ? seconds : least;
    times = seconds < REDIST_PRIV_BRIEF ? REDIST_PRIV_MANY : 1;
  }
  return least;
}

/* Times one method; 0 when it is unavailable, so that a fallback or a chain of one phase would run.
   Adds the time of creation divided by the number of executions. REDIST_ALLTOALLV is timed with the
   blocking call, too, unless the plan has an arena: waiting for it then progresses other plans.
   Collective. */
REDIST_PRIV_COLD double redist_priv_try(redist_plan *p, const redist_options *options,
                                        char **scratch, double best) {
  const double begin = MPI_Wtime();
  double creation = 0, synchronous, *seconds = &p->seconds[options->method];
  redist_plan *trial;
  redist_stats stats;
  if (redist_priv_create(p->comm, NULL, p->parts, p->given, options, &trial) != REDIST_OK) return 0;
  if (p->options.executions > 0)
    creation = redist_priv_slowest(p->comm, begin, REDIST_OK) / p->options.executions;
  redist_plan_stats(trial, &stats);
  if (stats.method == options->method && (stats.method != REDIST_MULTIPHASE || stats.phases > 1))
    *seconds = redist_priv_time(trial, scratch, best);
  if (*seconds > 0 && options->method == REDIST_ALLTOALLV && options->arena == NULL) {
    trial->synchronous = 1;
    synchronous = redist_priv_time(trial, scratch, best);
    p->synchronous = synchronous > 0 && REDIST_PRIV_MARGIN * synchronous < *seconds;
    *seconds = p->synchronous ? synchronous : *seconds;
  }
  redist_plan_free(&trial);
  return *seconds > 0 ? *seconds + creation : 0;
}

/* Times every candidate that fits, and returns the fastest. Unless that is a tenth faster than the
   estimated method (or, if this is unavailable, messages), returns the estimated one.
   Collective. */
REDIST_PRIV_COLD redist_method redist_priv_measure(redist_plan *p) {
  const redist_priv_transport *t = redist_priv_transports();
  redist_method estimate = redist_priv_estimate(p), fastest = estimate;
  redist_options options = p->options;
  char **scratch = redist_priv_scratch(p);
  const int code = redist_priv_worst(p->comm, scratch == NULL ? REDIST_ERR_MEMORY : REDIST_OK);
  double best = 1e30, seconds[REDIST_PRIV_METHODS] = {0};
  options.effort = REDIST_ESTIMATE;
  options.fixed_from = options.fixed_to = NULL;
  options.message = NULL;
  for (; t->name != NULL && code == REDIST_OK; t++) {
    if (p->predicted[t->method] <= 0 && (p->node == 0 || t->method != REDIST_MULTIPHASE) &&
        t->method != estimate)
      continue;
    if (seconds[t->method] > 0) continue; /* its second row */
    options.method = t->method;
    seconds[t->method] = redist_priv_try(p, &options, scratch, best);
    if (seconds[t->method] > 0 && seconds[t->method] < best) {
      best = seconds[t->method];
      fastest = t->method;
    }
  }
  REDIST_FREE(scratch);
  estimate = seconds[estimate] > 0 ? estimate : REDIST_POINT_TO_POINT;
  return seconds[estimate] > 0 && seconds[estimate] < REDIST_PRIV_MARGIN * best ? estimate
                                                                                : fastest;
}

#endif

/* Sets the plan's transport, equally on all ranks, which have the same facts;
   REDIST_POINT_TO_POINT in place of one that does not work here. Collective. */
REDIST_PRIV_COLD void redist_priv_choose_transport(redist_plan *p, MPI_Comm comm,
                                                   redist_priv_error *v) {
  redist_method method = REDIST_POINT_TO_POINT;
#ifdef REDIST_PRIV_CHOOSES
  const int measures = p->options.method == REDIST_AUTO && p->options.effort == REDIST_MEASURE;
  if (redist_priv_find_nodes(p, comm, v) == REDIST_OK)
    method = redist_priv_opens_first(p) ? p->options.method
             : measures                 ? redist_priv_measure(p)
                                        : redist_priv_estimate(p);
#else
  (void)comm;
  (void)v;
#endif
  p->overwrites = (int)p->agreed.overwrites;
  if (redist_priv_transport_of((int)method) == NULL || !redist_priv_is_sound(p, method))
    method = REDIST_POINT_TO_POINT;
  p->transport = redist_priv_transport_of((int)method);
  REDIST_ASSERT(p->transport != NULL);
}

/* What to try after the plan's transport fails, or NULL. REDIST_ALLTOALLW may lack a
   communicator. */
REDIST_PRIV_COLD const redist_priv_transport *redist_priv_fallback(const redist_plan *p) {
  const redist_priv_transport *messages = redist_priv_transport_of(REDIST_POINT_TO_POINT);
  const redist_priv_transport *next = p->transport + 1;
  if (next->method == p->transport->method) return next; /* its second row */
  if (p->transport < messages) next = redist_priv_transport_of((int)redist_priv_by_messages(p));
  if (next->name == NULL) next = messages;
  return (p->tried >> next->method & 1) || !redist_priv_is_sound(p, next->method) ? NULL : next;
}

/* Decides what is staged, allocates it, and compiles the copies of messages that are packed whole.
   Local. */
REDIST_PRIV_COLD void redist_priv_stage(redist_plan *p, redist_priv_error *v) {
  const redist_priv_cutting uncut = {INT64_MAX, 0};
  redist_priv_staging *s = p->staging;
  redist_priv_peer *peer;
  int side, code = REDIST_OK;
  for (side = 0; side < 2 && p->transport->plan_staging != NULL && code == REDIST_OK; side++)
    code = p->transport->plan_staging(p, side);
  redist_priv_fail(v, code, "too many ranks or bytes for %s", p->transport->name);
  if (p->overwritten && p->transport->method != REDIST_MULTIPHASE)
    s[REDIST_PRIV_PACKED].bytes = p->local.bytes * (p->parts > 1 ? 1 : p->arrays);
  if (p->options.max_buffer > 0 && redist_priv_buffer_bytes(p) > (int64_t)p->options.max_buffer)
    redist_priv_fail(v, REDIST_ERR_MEMORY,
                     "%s needs %" PRId64
                     " bytes of staging memory, but options.max_buffer is %" PRId64,
                     p->transport->name, redist_priv_buffer_bytes(p),
                     (int64_t)p->options.max_buffer);
  for (side = 0; side < REDIST_PRIV_SIDES && v->code == REDIST_OK; side++) {
    s[side].memory = s[side].bytes > 0 ? (char *)redist_priv_alloc(s[side].bytes, 1) : NULL;
    if (s[side].bytes > 0 && s[side].memory == NULL)
      redist_priv_fail(v, REDIST_ERR_MEMORY, "no memory for %" PRId64 " bytes of staging",
                       s[side].bytes);
  }
  if (p->transport->method == REDIST_MULTIPHASE || v->code != REDIST_OK) return;
  for (peer = p->peer; peer < p->peer + p->peers && code == REDIST_OK; peer++)
    if (!peer->near && peer->staged >= 0)
      code = redist_priv_list_pieces(p, peer, uncut, 1, &peer->whole);
  redist_priv_fail(v, code, "no memory for the plan's copies");
}

/* Closes all links, and forgets all copies but those of what is local. */
REDIST_PRIV_COLD void redist_priv_close_transport(redist_plan *p) {
  const redist_priv_link *l;
  int side;
  for (l = redist_priv_links(); l->post != NULL; l++)
    if ((l->kinds & p->transport->links) && l->close != NULL) l->close(p);
  p->pool.steps = p->kept.steps;
  p->pool.loops = p->kept.loops;
  p->pool.offsets = p->kept.offsets;
  p->pieces = p->copies.n = 0;
  for (side = 0; side < REDIST_PRIV_SIDES; side++) REDIST_FREE(p->staging[side].memory);
  memset(p->staging, 0, sizeof p->staging);
  memset(&p->state, 0, sizeof p->state);
}

/* Opens what the transport needs of the system, stages, creates and connects. If that fails on any
   rank, or no rank needs shared memory, the plan falls back to messages; if memory for a method
   that REDIST_AUTO chose is exhausted, to a method that needs less. Collective. */
REDIST_PRIV_COLD void redist_priv_open_transport(redist_plan *p, MPI_Comm comm,
                                                 redist_priv_error *v) {
  redist_priv_outcome *outcome = &p->outcome;
  const redist_priv_error good = *v;
  for (;; *v = good) {
    const redist_priv_transport *t = p->transport, *next;
    outcome->unfit = t->open == NULL ? REDIST_OK : t->open(p);
    if (outcome->unfit != REDIST_OK)
      redist_priv_fail(v, REDIST_ERR_MPI, "%s is unavailable", t->name);
    else
      redist_priv_stage(p, v);
    if (v->code != REDIST_OK && p->options.method == REDIST_AUTO && outcome->unfit == REDIST_OK)
      outcome->unfit = v->code;
    outcome->used = p->rings == NULL || p->rings->channels > 0 ||
                    (p->carriers != NULL && p->carriers->sections > 0);
    if (v->code == REDIST_OK && t->create != NULL)
      redist_priv_fail(v, t->create(p), "no memory, or an MPI error, while making %s", t->name);
    p->tried |= 1u << t->method;
    next = redist_priv_fallback(p);
    if (redist_priv_settle(p, comm, v) == REDIST_OK && t->connect != NULL && outcome->used) {
      outcome->unfit = t->connect(p);
      redist_priv_fail(v, outcome->unfit != REDIST_OK ? REDIST_ERR_MPI : REDIST_OK,
                       "%s is unavailable", t->name);
      redist_priv_settle(p, comm, v);
    }
    if (next == NULL || (outcome->used && outcome->unfit == REDIST_OK)) return;
    redist_priv_close_transport(p);
    p->home.named |= outcome->unfit == REDIST_PRIV_REFUSED;
    p->transport = outcome->unfit == REDIST_PRIV_REFUSED ? t : next;
  }
}

/* ------------------------------------------------------------------------------- plans (bodies) */

/* Gives a plan the arena's communicator, with a tag, if that has comm's ranks; else its own.
   Collective over comm, but it may fail on some ranks only. */
REDIST_PRIV_COLD void redist_priv_take_comm(redist_plan *p, MPI_Comm comm, redist_priv_error *v) {
  redist_arena *arena = p->options.arena;
  const double begin = MPI_Wtime();
  if (!p->agreed.own_comm) {
    p->comm = arena->comm;
    p->borrows = 1;
    p->tag = (int)p->agreed.tag;
    arena->tags = p->tag + 1;
    return;
  }
  redist_priv_fail(v, redist_priv_duplicate(comm, &p->comm),
                   "MPI_Comm_idup failed: MPI may have no communicator left");
  p->outcome.duplication = (int64_t)(1e9 * (MPI_Wtime() - begin));
}

/* Frees what is valid during creation only. */
REDIST_PRIV_COLD void redist_priv_forget_part(redist_priv_part *part) {
  redist_priv_half *half;
  for (half = part->half; half < part->half + 2; half++) {
    while (half->found > 0) redist_priv_place_peers_free(&half->peers[--half->found]);
    REDIST_FREE(half->peers);
    half->peers = NULL;
  }
  if (part->from != NULL) redist_priv_forget_sets(part->from);
  if (part->to != NULL) redist_priv_forget_sets(part->to);
}

REDIST_PRIV_COLD void redist_priv_part_free(redist_priv_part *part) {
  redist_priv_forget_part(part);
  if (part->from != NULL) redist_priv_close_layout(part->from);
  if (part->to != NULL) redist_priv_close_layout(part->to);
  REDIST_FREE(part->half[0].place);
  REDIST_FREE(part->half[1].place);
  REDIST_FREE(part->from);
  REDIST_FREE(part->to);
}

REDIST_PRIV_COLD void redist_priv_plan_destroy(redist_plan *p) {
  int k;
  if (p->transport != NULL) redist_priv_close_transport(p);
  redist_priv_forget_members(&p->home);
  for (k = 0; k < p->parts; k++) redist_priv_part_free(&p->part[k]);
  for (k = 0; k < 2; k++) REDIST_FREE(p->local.copies[k].copy);
  REDIST_FREE(p->nodes);
  REDIST_FREE(p->product);
  REDIST_FREE(p->piece);
  REDIST_FREE(p->copies.copy);
  redist_priv_pool_free(&p->pool);
  REDIST_FREE(p->peer);
  REDIST_FREE(p->pointers);
  REDIST_FREE(p->extent);
  REDIST_ASSERT(p->options.arena == NULL || p->options.arena->plans > 0);
  REDIST_FREE(p->arrival);
  if (p->options.arena != NULL) p->options.arena->plans--;
  /* if MPI failed, a later plan with this tag, or communicator, would receive what is in flight */
  if (p->borrows && !p->failed)
    redist_priv_return_tag(p);
  else if (p->comm != MPI_COMM_NULL && !p->failed)
    MPI_Comm_free(&p->comm);
  REDIST_FREE(p);
}

REDIST_PRIV_COLD int redist_priv_same_blocks(const redist_axis *x, const redist_axis *y) {
  redist_priv_axis_list a[2], b[2];
  int k, same = 1 REDIST_PRIV_AXIS_FIELDS(REDIST_PRIV_SAME_FIELD);
  const int lists = redist_priv_lists_of(x, a);
  for (k = 0; same && x->kind == REDIST_PRIV_LISTED && k < x->procs; k++)
    same = x->begin[k * x->apart] == y->begin[k * y->apart] &&
           x->end[k * x->apart] == y->end[k * y->apart];
  redist_priv_lists_of(y, b);
  for (k = 0; k < lists && same; k++)
    same = a[k].n == 0 || memcmp(a[k].entry, b[k].entry, (size_t)a[k].n * a[k].bytes) == 0;
  return same;
}

/* Whether two layouts store this rank's places the same way: they differ at most in which ghost
   cells hold elements, and in offsets on other ranks. */
REDIST_PRIV_COLD int redist_priv_same_but_ghosts(const redist_layout *a, const redist_layout *b,
                                                 int rank) {
  redist_priv_held_place held = redist_priv_before_first(), other = held;
  int k, same = a->ndim == b->ndim && a->grid_order == b->grid_order &&
                a->memory_order == b->memory_order && a->copies == b->copies && a->joined == NULL &&
                b->joined == NULL;
  for (k = 0; same && k < a->ndim; k++) {
    const redist_priv_dimension *x = &a->dim[k], *y = &b->dim[k];
    same = x->stored == y->stored && x->low == y->low && x->high == y->high &&
           x->allocated == y->allocated && redist_priv_same_blocks(&x->axis, &y->axis);
  }
  for (k = 0; same && k < redist_layout_places(a); k++)
    same = redist_priv_rank_at(a, k) == redist_priv_rank_at(b, k);
  while (same && redist_priv_next_held(a, rank, &held) && redist_priv_next_held(b, rank, &other))
    same = held.storage.origin == other.storage.origin;
  return same;
}

/* Decides how a part's elements travel, and how copies store them. */
REDIST_PRIV_COLD void redist_priv_set_stores(const redist_plan *p, redist_priv_part *part) {
  static const redist_priv_policy convert[REDIST_PRIV_STORES] = {
      {redist_priv_round, NULL, sizeof(double), sizeof(double), 0,
       REDIST_PRIV_CONVERTS(REDIST_PRIV_ROUND)},
      {redist_priv_round, NULL, sizeof(double), sizeof(double), 0,
       REDIST_PRIV_CONVERTS(REDIST_PRIV_ROUND)},
      {redist_priv_narrow, NULL, sizeof(double), sizeof(float), 0,
       REDIST_PRIV_CONVERTS(REDIST_PRIV_NARROW)},
      {redist_priv_widen, NULL, sizeof(float), sizeof(double), 0,
       REDIST_PRIV_CONVERTS(REDIST_PRIV_WIDEN)}};
  const int doubles =
      p->options.wire == REDIST_WIRE_FLOAT ? redist_priv_doubles_of(part->element) : 0;
  int k;
  part->packed_bytes = doubles > 0 ? doubles * (int)sizeof(float) : part->element_bytes;
  for (k = 0; k < REDIST_PRIV_STORES; k++) {
    redist_priv_policy *store = &part->store[k];
    *store = part->policy;
    if (k == REDIST_PRIV_PACKING ||
        (k == REDIST_PRIV_HERE && part->policy.function == redist_priv_begin_op))
      store->function = NULL;
    if (doubles == 0) continue;
    if (store->function == NULL) {
      *store = convert[k];
      continue;
    }
    part->conversion[k].convert = &convert[k];
    part->conversion[k].combine = &part->policy;
    store->function = redist_priv_combine_converted;
    store->context = &part->conversion[k];
    if (k == REDIST_PRIV_UNPACKING) store->element = part->packed_bytes;
  }
}

/* Derives a part's store policy, and what follows from it. In place, nothing is overwritten early
   between layouts that differ in ghosts only, one of which has none (for this rank's lengths). */
REDIST_PRIV_COLD void redist_priv_set_policy(redist_plan *p, redist_priv_part *part) {
  const int several = part->from->copies > 1;
  const int from_ghosts = redist_priv_has_ghosts(part->from),
            to_ghosts = redist_priv_has_ghosts(part->to), combines = part->policy.function != NULL;
  int level = MPI_THREAD_MULTIPLE;
  if ((part->policy.function == redist_combine_op ||
       part->policy.function == redist_priv_begin_op) &&
      MPI_Query_thread(&level) != MPI_SUCCESS)
    level = MPI_THREAD_SINGLE; /* it calls MPI, which OpenMP's threads may be forbidden */
  part->policy.alone = level < MPI_THREAD_MULTIPLE;
  redist_priv_set_stores(p, part);
  redist_priv_slow_to_fast(part->from, part->from->memory_order, part->order);
  p->combines |= combines;
  p->ordered |= combines && (from_ghosts || several);
  p->overwritten |=
      p->options.in_place && (several || (from_ghosts && to_ghosts) ||
                              !redist_priv_same_but_ghosts(part->from, part->to, p->rank));
}

/* Checks a part that the caller gave, and copies it. */
REDIST_PRIV_COLD void redist_priv_take_part(redist_plan *p, redist_priv_part *part,
                                            const redist_part *given, redist_priv_error *v) {
  const int size = redist_priv_check_element(given->element, v);
  const redist_layout *const side[2] = {given->from, given->to};
  redist_layout *copy[2];
  int several;
  part->element = given->element;
  part->element_bytes = size;
  part->policy = redist_priv_replacing(size);
  part->policy.function = given->combine != NULL ? given->combine : p->options.combine;
  part->policy.context = given->combine != NULL ? given->context : p->options.context;
  p->largest = redist_priv_max(p->largest, size);
  /* the largest power of 2 in it */
  p->alignment = redist_priv_max(p->alignment, redist_priv_min(size & -size, 16));
  redist_priv_check_combine(part, v);
  redist_priv_check_layout(p, size, REDIST_PRIV_FROM, given->from, NULL, v);
  redist_priv_check_layout(p, size, REDIST_PRIV_TO, given->to,
                           v->code == REDIST_OK ? given->from : NULL, v);
  if (v->code != REDIST_OK) return;
  copy[0] = part->from = redist_priv_keep_layout(given->from, part->policy.function != NULL, v);
  copy[1] = part->to = redist_priv_keep_layout(given->to, 1, v);
  if (v->code == REDIST_OK) redist_priv_check_shapes(given->from, given->to, v);
  if (v->code != REDIST_OK) return;
  redist_priv_check_apart(part->from, REDIST_PRIV_FROM, p->rank, v);
  redist_priv_check_apart(part->to, REDIST_PRIV_TO, p->rank, v);
  redist_priv_fail(v, redist_priv_join(side, copy), "no memory to join the axes of a view");
  several = redist_priv_check_single(part->from, part->to);
  p->scheduled &= several == REDIST_OK;
  redist_priv_fail(v, several == REDIST_ERR_MEMORY ? several : REDIST_OK, "no memory for a plan");
  redist_priv_set_policy(p, part);
}

/* Checks the caller's arguments, and finds the peers and what the ranks must agree on. Local. */
REDIST_PRIV_COLD void redist_priv_prepare(redist_plan *p, MPI_Comm comm, const redist_part *given,
                                          redist_priv_facts *own, redist_priv_error *v) {
  int k, code;
  p->given = given;
  p->alignment = 1;
  p->scheduled = p->parts == 1;
  p->arrays = p->parts > 1 ? p->parts : (int)redist_priv_max(p->options.arrays, 1);
  for (k = 0; k < p->parts && v->code == REDIST_OK; k++) {
    v->part = p->parts > 1 ? k : -1;
    redist_priv_take_part(p, &p->part[k], &given[k], v);
  }
  v->part = -1;
  redist_priv_check_options(p, v);
  if (v->code != REDIST_OK) return;
  code = redist_priv_open_sides(p);
  redist_priv_fail(v, code, "%s",
                   code == REDIST_ERR_MEMORY
                       ? "no memory for the plan's tables"
                       : "a plan that combines in place needs views with identical strides");
  if (v->code != REDIST_OK) return;
  p->home.machine =
      p->options.arena != NULL ? p->options.arena->home.machine : redist_priv_machine();
#ifdef REDIST_PRIV_SHARES
  redist_priv_fail(v, redist_priv_list_members(p), "no memory for the plan's tables");
#endif
#ifdef REDIST_PRIV_CHOOSES
  p->nodes = redist_priv_nodes_new(p->size);
  if (p->nodes == NULL) redist_priv_fail(v, REDIST_ERR_MEMORY, "no memory for the plan's tables");
#endif
  redist_priv_gather_facts(p, comm, own);
}

/* Chooses the method and opens it; then clears what is valid during creation only. Collective over
   comm, the caller's. */
REDIST_PRIV_COLD void redist_priv_plan_make(redist_plan *p, MPI_Comm comm,
                                            const redist_priv_facts *agreed, redist_priv_error *v) {
  int k;
  p->agreed = *agreed;
  if (p->agreed.hash != -p->agreed.not_hash) redist_priv_explain_mismatch(p, comm, v);
  if (v->code != REDIST_OK) return;
  redist_priv_take_comm(p, comm, v);
  redist_priv_choose_transport(p, comm, v);
  redist_priv_open_transport(p, comm, v);
  if (v->code != REDIST_OK) return;
#ifdef REDIST_PRIV_CHOOSES
  if (redist_priv_opens_first(p)) (void)redist_priv_estimate(p);
#endif
  if (p->rings == NULL) redist_priv_forget_members(&p->home);
  p->given = NULL;
  REDIST_FREE(p->nodes);
  p->nodes = NULL;
  for (k = 0; k < p->parts; k++) redist_priv_forget_part(&p->part[k]);
  p->clock = p->options.timed ? &p->times : NULL;
  for (k = 0; p->transport->method == REDIST_MULTIPHASE && k < p->state.chain.phases; k++)
    p->state.chain.phase[k]->clock = p->clock;
}

/* An empty plan, for this rank of so many; NULL when memory is exhausted. */
REDIST_PRIV_COLD redist_plan *redist_priv_plan_new(int rank, int size, int parts,
                                                   const redist_options *options) {
  const int64_t bytes = (int64_t)sizeof(redist_plan) + parts * (int64_t)sizeof(redist_priv_part);
  redist_plan *p = (redist_plan *)redist_priv_zeroed(bytes, 1);
  if (p == NULL) return NULL;
  p->part = (redist_priv_part *)(p + 1);
  p->parts = parts;
  p->comm = MPI_COMM_NULL;
  p->rank = rank;
  p->size = size;
  if (options != NULL) p->options = *options;
  if (p->options.arena != NULL) p->options.arena->plans++;
  return p;
}

/* A rank without memory for a plan takes part in the agreement without one. */
REDIST_PRIV_COLD int redist_priv_create(MPI_Comm comm, const redist_plan *chain, int parts,
                                        const redist_part *part, const redist_options *options,
                                        redist_plan **plan) {
  const char *error = redist_priv_comm_error(comm);
  redist_priv_error v = redist_priv_no_error(-1);
  redist_priv_facts facts;
  redist_plan *p = NULL;
  int size;
  memset((void *)&facts, 0, sizeof facts);
  if (error != NULL) {
    redist_priv_fail(&v, REDIST_ERR_ARGUMENT, "%s", error);
  } else {
    redist_priv_fail(&v, redist_priv_ranks_of(comm, &v.rank, &size), "MPI_Comm_rank failed");
    if (plan == NULL || parts < 1 || part == NULL)
      redist_priv_fail(&v, REDIST_ERR_ARGUMENT,
                       plan == NULL ? "the pointer to the plan is NULL"
                       : parts < 1  ? "the number of parts is %d, must be at least 1"
                                    : "the list of parts is NULL",
                       parts);
    p = v.code == REDIST_OK ? redist_priv_plan_new(v.rank, size, parts, options) : NULL;
    if (p != NULL && chain != NULL) {
      p->chained = 1;
      if (chain->node > 0) p->network = chain->network;
    }
    if (p != NULL)
      redist_priv_prepare(p, comm, part, &facts, &v);
    else
      redist_priv_fail(&v, REDIST_ERR_MEMORY, "no memory for a plan");
    if (redist_priv_agree(comm, &v, &facts.words, sizeof facts / sizeof facts.words) == REDIST_OK)
      redist_priv_plan_make(p, comm, &facts, &v);
  }
  if (v.code != REDIST_OK && p != NULL) redist_priv_plan_destroy(p);
  if (plan != NULL) *plan = v.code == REDIST_OK ? p : NULL;
  if (options != NULL) redist_priv_tell(&v, options->message, options->message_size);
  return v.code;
}

REDIST_API int redist_plan_create(MPI_Comm comm, const redist_layout *from, const redist_layout *to,
                                  MPI_Datatype element, const redist_options *options,
                                  redist_plan **plan) {
  const redist_part part = {from, to, element, NULL, NULL};
  return redist_priv_create(comm, NULL, 1, &part, options, plan);
}

REDIST_API int redist_plan_create_parts(MPI_Comm comm, int parts, const redist_part *part,
                                        const redist_options *options, redist_plan **plan) {
  return redist_priv_create(comm, NULL, parts, part, options, plan);
}

/* Progresses a started plan, and all others of its arena; those that complete report it through
   their own redist_test. */
REDIST_PRIV void redist_priv_progress(redist_plan *p) {
  redist_plan *at = p->options.arena != NULL ? p->options.arena->started : p;
  int done = 0;
  for (; at != NULL; at = at->next)
    if (at->active == REDIST_PRIV_ACTIVE && (redist_priv_test(at, &done) != REDIST_OK || done))
      at->active = REDIST_PRIV_UNREPORTED;
}

REDIST_API int redist_test(redist_plan *p, int *done) {
  redist_plan *alone = p, **started = &alone, **at;
  if (done != NULL) *done = 0;
  if (p == NULL) return REDIST_ERR_ARGUMENT;
  if (done == NULL)
    return redist_priv_refuse(p, REDIST_ERR_ARGUMENT, "the pointer to `done` is NULL");
  if (!p->active)
    return redist_priv_refuse(p, REDIST_ERR_BUSY, "nothing is started: call redist_start first");
  if (p->options.arena != NULL) started = &p->options.arena->started;
  redist_priv_progress(p);
  *done = p->active == REDIST_PRIV_UNREPORTED && !p->failed;
  if (p->active == REDIST_PRIV_ACTIVE) return REDIST_OK;
  p->active = 0;
  for (at = started; *at != p; at = &(*at)->next) REDIST_ASSERT(*at != NULL);
  *at = p->next;
  return p->failed ? REDIST_ERR_MPI : REDIST_OK;
}

REDIST_API int redist_wait(redist_plan *p) {
  int done = 0;
  const int code = redist_test(p, &done);
  return code == REDIST_OK && !done ? redist_wait_all(1, &p) : code;
}

REDIST_API int redist_next_arrival(redist_plan *p, int *rank) {
  int done;
  if (rank != NULL) *rank = -1;
  if (p == NULL) return REDIST_ERR_ARGUMENT;
  if (rank == NULL)
    return redist_priv_refuse(p, REDIST_ERR_ARGUMENT, "the pointer to `rank` is NULL");
  if (!p->active && p->executions == 0 && !p->failed)
    return redist_priv_refuse(p, REDIST_ERR_BUSY, "never started: call redist_start first");
  if (p->active == REDIST_PRIV_ACTIVE) redist_priv_progress(p);
  if (p->failed) return p->active ? redist_test(p, &done) : REDIST_ERR_MPI;
  if (p->named < p->arrivals) *rank = p->arrival[p->named++];
  return REDIST_OK;
}

REDIST_API int redist_test_all(int plans, redist_plan *const *plan, int *done) {
  int k, one, code = REDIST_OK, bad = plans < 0 || (plans > 0 && plan == NULL) || done == NULL;
  for (k = 0; k < plans && !bad; k++) bad = plan[k] == NULL;
  if (bad) return REDIST_ERR_ARGUMENT;
  *done = 1;
  for (k = 0; k < plans; k++)
    if (plan[k]->active) {
      const int failed = redist_test(plan[k], &one);
      code = code == REDIST_OK ? failed : code;
      *done &= one;
    }
  return code;
}

REDIST_API int redist_wait_all(int plans, redist_plan *const *plan) {
  int done = 0, tries = 0, k, code = redist_test_all(plans, plan, &done);
  if (code != REDIST_OK || done) return code;
  for (k = 0; k < plans; k++) redist_priv_enter(plan[k]);
  while (code == REDIST_OK && !done) {
    redist_priv_yield(&tries);
    code = redist_test_all(plans, plan, &done);
  }
  for (k = 0; k < plans; k++) redist_priv_leave(plan[k]);
  return code;
}

/* The memory of array i of an execution, the sources first; end = at where its cells may interleave
   with another's: then ranges of memory say nothing. */
REDIST_PRIV_COLD redist_priv_extent redist_priv_extent_of(const redist_plan *p, int i) {
  const redist_priv_part *part = redist_priv_part_of(p, i % p->arrays);
  const int own = i >= p->arrays;
  const redist_layout *layout = own ? part->to : part->from;
  int d, padded = layout->offsets != NULL;
  redist_priv_extent extent;
  layout = redist_priv_unjoined(layout, NULL, NULL);
  for (d = 0; d < layout->ndim; d++) padded |= layout->dim[d].allocated > 0;
  extent.at = (int64_t)(uintptr_t)p->pointers[i];
  extent.end = extent.at + (padded ? 0 : part->half[own].array_bytes);
  extent.array = i;
  return extent;
}

/* Refuses two arrays that overlap, unless the plan is made for that: several parts may use one
   array, and the caller keeps apart what they write. */
REDIST_PRIV_COLD int redist_priv_check_overlap(redist_plan *p, const redist_priv_extent *x,
                                               const redist_priv_extent *y) {
  const int i = (int)redist_priv_min(x->array, y->array),
            j = (int)redist_priv_max(x->array, y->array), n = p->arrays, reads = i < n;
  const int equal = x->at == y->at, in_place = p->options.in_place;
  const int made = (reads && p->overwrites) || (equal && reads && in_place && j - i == n) ||
                   (equal && p->parts > 1 && (in_place || !reads));
  return made ? REDIST_OK
              : redist_priv_refuse(p, REDIST_ERR_ALIAS,
                                   reads ? "source %d and destination %d overlap, and the plan is "
                                           "not made for that (options.in_place, from[i] == to[i])"
                                         : "destinations %d and %d overlap",
                                   i % n, j - n);
}

/* Goes through the arrays by address. below[side]: of those that begin before, the one that ends
   last. Of those that begin at the same address, sources first, the first and the last will do: a
   source may be one destination only, and the arrays of several parts are all treated the same. */
REDIST_PRIV_COLD int redist_priv_check_aliases(redist_plan *p) {
  const redist_priv_extent *below[2] = {NULL, NULL}, *x, *first = p->extent;
  int i, n = 0, side, writes, code = REDIST_OK;
  for (i = 0; i < 2 * p->arrays; i++)
    if (redist_priv_part_of(p, i % p->arrays)->half[i >= p->arrays].owned > 0)
      p->extent[n++] = redist_priv_extent_of(p, i);
  qsort(p->extent, (size_t)n, sizeof *p->extent, redist_priv_compare_numbers);
  for (x = p->extent; x < p->extent + n && code == REDIST_OK; x++) {
    for (; first->at != x->at; first++) {
      side = first->array >= p->arrays;
      if (below[side] == NULL || below[side]->end < first->end) below[side] = first;
    }
    writes = x->array >= p->arrays;
    for (side = !writes; side < 2 && code == REDIST_OK; side++)
      if (below[side] != NULL && x->at < below[side]->end && x->at < x->end)
        code = redist_priv_check_overlap(p, below[side], x);
    if (writes && first < x && code == REDIST_OK) code = redist_priv_check_overlap(p, first, x);
    if (writes && first < x && code == REDIST_OK) code = redist_priv_check_overlap(p, x - 1, x);
  }
  return code;
}

/* Checks the arrays of an execution. A side with a fixed array has only one. */
REDIST_PRIV_COLD int redist_priv_check_given(redist_plan *p) {
  const void *const fixed[2] = {p->options.fixed_from, p->options.fixed_to};
  int i;
  for (i = 0; i < 2 * p->arrays; i++) {
    const int own = i >= p->arrays;
    const int64_t owned = redist_priv_part_of(p, i % p->arrays)->half[own].owned;
    const char *name = redist_priv_side_name(own);
    if (p->pointers[i] == NULL && owned > 0)
      return redist_priv_refuse(p, REDIST_ERR_ARGUMENT,
                                "%s %d is NULL, but rank %d owns %" PRId64 " elements of it", name,
                                i % p->arrays, p->rank, owned);
    if (fixed[own] != NULL && p->pointers[i] != fixed[own])
      return redist_priv_refuse(p, REDIST_ERR_BUFFER,
                                "the %s is not the array that options.fixed_%s gave", name,
                                own == REDIST_PRIV_FROM ? "from" : "to");
  }
  return REDIST_OK;
}

/* Refuses an array that is not aligned as C aligns its elements, if they are C's floats or
   integers. */
REDIST_PRIV_COLD int redist_priv_check_alignment(redist_plan *p) {
  int i;
  for (i = 0; i < 2 * p->arrays; i++) {
    const redist_priv_part *part = redist_priv_part_of(p, i % p->arrays);
    const MPI_Datatype x = part->element;
    const int bytes = x == MPI_FLOAT || x == MPI_INT        ? (int)sizeof(int)
                      : x == MPI_DOUBLE || x == MPI_INT64_T ? (int)REDIST_PRIV_ALIGNED
                                                            : 1;
    const int own = i >= p->arrays;
    if (part->half[own].owned > 0 && (uintptr_t)p->pointers[i] % (uintptr_t)bytes != 0)
      return redist_priv_refuse(p, REDIST_ERR_ARGUMENT,
                                "%s %d is not aligned to %d bytes, as its elements must be",
                                redist_priv_side_name(own), i % p->arrays, bytes);
  }
  return REDIST_OK;
}

/* Takes the arrays of an execution, and checks them unless they are the last one's. one: the caller
   gave an array of each side, not lists. */
REDIST_PRIV int redist_priv_take_arrays(redist_plan *p, int one, const void *const *from,
                                        void *const *to) {
  int a, code;
  if (p->failed) return REDIST_ERR_MPI; /* as redist_plan_message says */
  if (one && p->arrays != 1)
    return redist_priv_refuse(p, REDIST_ERR_ARGUMENT,
                              "the plan moves %d arrays: call redist_execute_many or "
                              "redist_start_many",
                              p->arrays);
  if (p->active)
    return redist_priv_refuse(p, REDIST_ERR_BUSY,
                              "started and not yet complete: call redist_wait first");
  if (from == NULL || to == NULL)
    return redist_priv_refuse(p, REDIST_ERR_ARGUMENT, "the list of %s arrays is NULL",
                              redist_priv_side_name(from == NULL ? REDIST_PRIV_FROM
                                                                 : REDIST_PRIV_TO));
  for (a = 0; a < p->arrays; a++) {
    p->checked &= p->pointers[a] == from[a] && p->pointers[p->arrays + a] == to[a];
    p->pointers[a] = from[a];
    p->pointers[p->arrays + a] = to[a];
  }
  if (p->checked) return REDIST_OK;
  code = redist_priv_check_given(p);
  if (code == REDIST_OK) code = redist_priv_check_aliases(p);
  if (code == REDIST_OK && p->options.checked) code = redist_priv_check_alignment(p);
  p->checked = code == REDIST_OK;
  return code;
}

/* With options.checked: agrees on the arguments' first error. What is still in progress is
   completed before, as other ranks may wait for it and not come here. Collective. */
REDIST_PRIV_COLD int redist_priv_agree_start(redist_plan *p, int code) {
  redist_priv_error v = code == REDIST_OK ? redist_priv_no_error(p->rank) : p->error;
  v.rank = p->rank;
  while (p->active == REDIST_PRIV_ACTIVE) {
    redist_priv_progress(p);
    REDIST_YIELD();
  }
  if (redist_priv_agree(p->comm, &v, NULL, 0) != REDIST_OK) p->error = v;
  return v.code;
}

/* blocking: the caller waits for the end now. */
REDIST_PRIV int redist_priv_start(redist_plan *p, int one, const void *const *from, void *const *to,
                                  int blocking) {
  int code;
  if (p == NULL) return REDIST_ERR_ARGUMENT;
  redist_priv_enter(p);
  code = redist_priv_take_arrays(p, one, from, to);
  if (p->options.checked) code = redist_priv_agree_start(p, code);
  if (code == REDIST_OK) {
    p->blocking = blocking;
    code = redist_priv_begin(p);
  }
  redist_priv_leave(p);
  if (code == REDIST_OK && p->options.arena != NULL) {
    p->next = p->options.arena->started;
    p->options.arena->started = p;
  }
  return code;
}

REDIST_API int redist_start(redist_plan *p, const void *from, void *to) {
  return redist_priv_start(p, 1, &from, &to, 0);
}

REDIST_API int redist_start_many(redist_plan *p, const void *const *from, void *const *to) {
  return redist_priv_start(p, 0, from, to, 0);
}

REDIST_API int redist_execute(redist_plan *p, const void *from, void *to) {
  const int code = redist_priv_start(p, 1, &from, &to, 1);
  return code == REDIST_OK ? redist_wait(p) : code;
}

REDIST_API int redist_execute_many(redist_plan *p, const void *const *from, void *const *to) {
  const int code = redist_priv_start(p, 0, from, to, 1);
  return code == REDIST_OK ? redist_wait(p) : code;
}

REDIST_API int redist_plan_free(redist_plan **plan) {
  if (plan == NULL) return REDIST_ERR_ARGUMENT;
  if (*plan != NULL && (*plan)->active)
    return redist_priv_refuse(*plan, REDIST_ERR_BUSY,
                              "started and not yet complete: call redist_wait before "
                              "redist_plan_free");
  if (*plan != NULL) redist_priv_plan_destroy(*plan);
  *plan = NULL;
  return REDIST_OK;
}

REDIST_API const char *redist_plan_message(const redist_plan *p) {
  return p == NULL ? "the plan is NULL" : p->error.text;
}

/* The messages that this rank sends or receives; adds their bytes. A carrier's are those between
   nodes, too, and what it gathers and scatters inside its node: what it carries for others is
   received and sent. */
REDIST_PRIV_COLD int64_t redist_priv_count_messages(const redist_plan *p, int own, int64_t *bytes) {
  const redist_priv_carriers *c = p->carriers;
  int64_t k, n = p->side[own].peers;
  *bytes += p->side[own].bytes;
  if (c == NULL) return n;
  n += c->contributors[!own];
  for (k = 0; k < c->sections; k++) n -= c->section[k].own == own;
  for (k = 0; k < c->portions; k++)
    n += c->portion[k].own == own && c->portion[k].carrier != p->rank;
  for (k = 0; k < c->between; k++) n += c->message[k].own == own;
  for (k = 0; k < c->entries; k++)
    if (c->entry[k].rank[0] != p->rank && c->entry[k].rank[1] != p->rank)
      *bytes += c->entry[k].bytes;
  return n;
}

REDIST_PRIV_COLD void redist_priv_add_stats(const redist_plan *p, redist_stats *stats) {
  const redist_priv_chain *c = &p->state.chain;
  int k;
  stats->buffer_bytes += redist_priv_buffer_bytes(p);
  stats->shared_bytes += p->rings != NULL ? p->rings->bytes : 0;
  if (p->transport->method == REDIST_MULTIPHASE) {
    for (k = 0; k < c->phases; k++) redist_priv_add_stats(c->phase[k], stats);
    return;
  }
  stats->sends += redist_priv_count_messages(p, REDIST_PRIV_FROM, &stats->bytes_sent);
  stats->receives += redist_priv_count_messages(p, REDIST_PRIV_TO, &stats->bytes_received);
  for (k = 0; k < p->arrays; k++)
    stats->bytes_local +=
        redist_priv_part_of(p, k)->local * redist_priv_part_of(p, k)->element_bytes;
  stats->steps +=
      p->transport->method == REDIST_SCHEDULED ? (int)redist_priv_max(p->state.lanes.steps, 1) : 1;
  stats->phases++;
}

REDIST_API int redist_plan_stats(const redist_plan *p, redist_stats *stats) {
  if (p == NULL || stats == NULL) return REDIST_ERR_ARGUMENT;
  memset(stats, 0, sizeof *stats);
  stats->method = p->transport->method;
  stats->executions = p->executions;
  stats->copying = p->times.copying;
  stats->waiting = p->times.inside - p->times.copying;
  redist_priv_add_stats(p, stats);
  return REDIST_OK;
}

/* ----------------------------------------------------------------------------- reports (bodies) */

#ifndef REDIST_NO_TEXT

REDIST_PRIV_COLD const char *redist_priv_why(const redist_plan *p) {
  if (p->options.method == p->transport->method) return "asked for";
  if (p->options.method == REDIST_SHARED && p->transport->method == REDIST_NODES)
    return "between nodes by estimate";
  if (p->options.method != REDIST_AUTO) return "because the method asked for does not work here";
  if (p->options.effort != REDIST_MEASURE) return "by estimate";
  return p->synchronous && p->transport->method == REDIST_ALLTOALLV
             ? "the fastest measured, by MPI_Alltoallv in redist_execute"
             : "the fastest measured";
}

REDIST_PRIV_COLD void redist_priv_print_cores(const redist_priv_home *h, FILE *file) {
  if (h->distance > 0)
    fprintf(file, "  cores     a flag takes %" PRId64 " ns there and back", h->distance);
  else
    fprintf(file, "  cores     not measured: messages are short, or a rank does not answer");
  if (h->distance > 0 && h->fetching > 0 && h->fetching != REDIST_PRIV_FAR + 1)
    fprintf(file, ", fetching lines %" PRId64 "%% of streaming them", h->fetching);
  fprintf(file, "; they are taken to share %s cache\n", redist_priv_is_far(h) ? "no" : "a");
}

/* The methods' seconds that are known, and the costs on which predictions rest. */
REDIST_PRIV_COLD void redist_priv_print_seconds(const redist_plan *p, FILE *file) {
  const double least = 1e-14; /* no link is so fast: it is what noise leaves of a measurement */
  int k, known;
  const redist_priv_network n = redist_priv_charged(p, &known);
  for (k = 0; k < REDIST_PRIV_METHODS; k++)
    if (p->predicted[k] > 0 || p->seconds[k] > 0) {
      fprintf(file, "            %-22s", redist_priv_transport_of(k)->name);
      if (p->predicted[k] > 0) fprintf(file, " %.3g s predicted", p->predicted[k]);
      if (p->seconds[k] > 0)
        fprintf(file, "%s %.3g s measured", p->predicted[k] > 0 ? "," : "", p->seconds[k]);
      fprintf(file, "\n");
    }
  if (p->predicted[REDIST_POINT_TO_POINT] <= 0) return;
  fprintf(file, "  costs     %.3g s per message, ", n.cost.per_message + n.latency);
  if (n.cost.per_byte < least)
    fprintf(file, "too little per byte to measure");
  else
    fprintf(file, "%.3g s per byte", n.cost.per_byte);
  fprintf(file, " (%s)\n",
          !known                             ? "assumed, not measured"
          : p->options.cost.per_message <= 0 ? "measured"
                                             : "given by options.cost");
}

/* Who carries what from rank 0's node. */
REDIST_PRIV_COLD void redist_priv_print_carriers(const redist_plan *p, FILE *file) {
  const redist_priv_carriers *c = p->carriers;
  int k;
  if (c == NULL) return;
  fprintf(file, "  carriers  %d message%s between two of %d nodes, through %s; from node 0",
          c->per_pair, c->per_pair == 1 ? "" : "es", c->nodes,
          c->shared ? "shared memory" : "messages");
  for (k = 0; k < (c->nodes - 1) * c->per_pair; k++)
    fprintf(file, "%s to node %d by ranks %d and %d", k == 0 ? "" : ",", k / c->per_pair + 1,
            c->pair[2 * k], c->pair[2 * k + 1]);
  fprintf(file, "\n");
}

REDIST_PRIV_COLD void redist_priv_print_method(const redist_plan *p, FILE *file) {
  const redist_priv_chain *c = &p->state.chain;
  int k;
  fprintf(file, "  method    %s, %s\n", p->transport->name, redist_priv_why(p));
  if (p->rings != NULL) redist_priv_print_cores(p->rings->home, file);
  redist_priv_print_seconds(p, file);
  redist_priv_print_carriers(p, file);
  for (k = 0; p->transport->method == REDIST_MULTIPHASE && k < c->phases; k++) {
    fprintf(file, "  phase %d   %s to ", k + 1, c->phase[k]->transport->name);
    redist_priv_print_line(c->phase[k]->part->to, file, 1);
  }
}

/* Nanoseconds of all ranks and of the slowest. */
REDIST_PRIV_COLD void redist_priv_print_spent(const redist_plan *p, const char *what, int64_t sum,
                                              int64_t most, FILE *file) {
  fprintf(file,
          "  %s   %.3g s in %" PRId64 " executions on the mean of the ranks, %.3g s on "
          "the slowest\n",
          what, (double)sum * 1e-9 / p->size, p->executions, (double)most * 1e-9);
}

/* Elements that stay on this rank in place but are copied, because they are not at their
   destination. */
REDIST_PRIV_COLD int64_t redist_priv_copied_in_place(const redist_plan *p) {
  int64_t elements = 0;
  int a;
  for (a = 0; a < p->arrays; a++) elements += redist_priv_part_of(p, a)->rest;
  return elements;
}

REDIST_PRIV_COLD void redist_priv_print_parts(const redist_plan *p, FILE *file) {
  int k;
  fprintf(file, "redist plan on %d ranks, %d array%s", p->size, p->arrays,
          p->arrays == 1 ? "" : "s");
  for (k = 0; k < p->parts; k++) {
    const redist_priv_part *part = &p->part[k];
    if (p->parts > 1) fprintf(file, "\n  part %-5d", k);
    fprintf(file, " of %" PRId64 "-byte elements%s%s", part->element_bytes,
            part->packed_bytes < part->element_bytes ? ", which travel as float" : "",
            part->policy.function != NULL ? ", combined" : "");
    fprintf(file, "\n  from      ");
    redist_priv_print_line(part->from, file, 1);
    fprintf(file, "  to        ");
    redist_priv_print_line(part->to, file, 1);
  }
}

/* What a rank reports of a plan, times in nanoseconds. All members are int64_t. */
typedef struct {
  int64_t sends, receives, sent, local, copied, buffer, fastest, copying, waiting;
} redist_priv_report;

/* Collects the sums and the maxima of all ranks. Collective. */
REDIST_PRIV_COLD int redist_priv_collect_report(redist_plan *p, const redist_stats *stats,
                                                redist_priv_report *sum, redist_priv_report *most) {
  enum { N = sizeof *sum / sizeof(int64_t) };
  const redist_priv_report own = {stats->sends,
                                  stats->receives,
                                  stats->bytes_sent,
                                  stats->bytes_local,
                                  redist_priv_copied_in_place(p),
                                  stats->buffer_bytes,
                                  (int64_t)(p->fastest * 1e9),
                                  (int64_t)(stats->copying * 1e9),
                                  (int64_t)(stats->waiting * 1e9)};
  int code;
  *sum = *most = own;
  code = redist_priv_reduce(p->comm, &sum->sends, N, MPI_SUM);
  return code == REDIST_OK ? redist_priv_reduce(p->comm, &most->sends, N, MPI_MAX) : code;
}

REDIST_API int redist_plan_print(redist_plan *p, FILE *file) {
  redist_stats stats;
  redist_priv_report sum, most;
  if (redist_plan_stats(p, &stats) != REDIST_OK) return REDIST_ERR_ARGUMENT;
  if (redist_priv_collect_report(p, &stats, &sum, &most) != REDIST_OK) return REDIST_ERR_MPI;
  if (p->rank != 0 || file == NULL) return p->rank == 0 ? REDIST_ERR_ARGUMENT : REDIST_OK;
  redist_priv_print_parts(p, file);
  redist_priv_print_method(p, file);
  fprintf(file,
          "  messages  %" PRId64 " in all, from one rank at most %" PRId64
          ", to one rank at most %" PRId64 "\n",
          sum.sends, most.sends, most.receives);
  fprintf(file,
          "  bytes     %" PRId64 " moved, %" PRId64 " local, at most %" PRId64
          " sent by one rank\n",
          sum.sent, sum.local, most.sent);
  if (p->options.in_place)
    fprintf(file,
            "  in place  %" PRId64
            " elements that stay on their ranks are copied to where the destination has them\n",
            sum.copied);
  fprintf(file, "  staging   %" PRId64 " bytes in all, at most %" PRId64 " on one rank\n",
          sum.buffer, most.buffer);
  fprintf(file, "  steps     %d in %d phase%s\n", stats.steps, stats.phases,
          stats.phases == 1 ? "" : "s");
  if (p->executions > 0)
    fprintf(file, "  time      %.3g s, the fastest of %" PRId64 " execution%s\n",
            (double)most.fastest * 1e-9, p->executions, p->executions == 1 ? "" : "s");
  if (p->clock != NULL) {
    redist_priv_print_spent(p, "copying", sum.copying, most.copying, file);
    redist_priv_print_spent(p, "waiting", sum.waiting, most.waiting, file);
  }
  return REDIST_OK;
}

#endif

/* ------------------------------------------------------------------------- calibrating (bodies) */

/* The shortest time of an exchange of n messages each way between this rank and its mirror image, n
   <= REDIST_PRIV_BURST, in picoseconds; -1 when MPI fails (the rank goes on, since its image
   waits). The ring of ranks is mirrored so that most images are on other nodes, and half of them,
   or all, in the other half of the network, as when all send to all. Exchanges follow each other
   without a pause, so that it does not matter which rank begins first; they use two sets of
   requests alternately. Collective. */
REDIST_PRIV_COLD int64_t redist_priv_time_mirror(MPI_Comm comm, int n, int bytes, int mirrored,
                                                 char *memory) {
  enum { MOST = 4 * REDIST_PRIV_BURST };
  const int rounds = bytes > REDIST_PRIV_SMALL ? 2 : 8, trials = bytes > REDIST_PRIV_SMALL ? 1 : 2;
  MPI_Request request[MOST];
  double best = 1e6, begin = 0, seconds;
  int trial, round, k, any, failed = 0;
  for (k = 0; k < 4 * n; k++) {
    char *to = memory + (k / 2 % n + 1) * bytes;
    request[k] = MPI_REQUEST_NULL;
    if (k % 2 == 0)
      failed |=
          MPI_Recv_init(to, bytes, MPI_BYTE, mirrored, k / 2, comm, &request[k]) != MPI_SUCCESS;
    else
      failed |=
          MPI_Send_init(memory, bytes, MPI_BYTE, mirrored, k / 2, comm, &request[k]) != MPI_SUCCESS;
  }
  for (trial = 0; trial < trials; trial++) {
    any = redist_priv_worst(comm, failed);
    failed |= any;
    for (round = 0; round <= rounds && !any; round++) {
      MPI_Request *set = request + round % 2 * 2 * n;
      begin = round == 1 ? MPI_Wtime() : begin;
      failed |= MPI_Startall(2 * n, set) != MPI_SUCCESS;
      for (k = 0; k < 2 * n; k++) failed |= redist_priv_await(MPI_SUCCESS, &set[k]) != REDIST_OK;
    }
    seconds = MPI_Wtime() - begin;
    best = seconds < best ? seconds : best;
  }
  for (k = 0; k < 4 * n; k++) redist_priv_drop(&request[k], failed != 0 && k % 2 == 0);
  return failed ? -1 : (int64_t)(best * 1e12) / rounds + 1;
}

/* times: a small message, a burst, pairs of bursts */
enum { REDIST_PRIV_ONE, REDIST_PRIV_TOGETHER, REDIST_PRIV_WHOLE };

/* Fits the network to measured picoseconds. time[REDIST_PRIV_WHOLE], ...: a burst whole and in
   pieces, alternately; time[n]: a small message to the other mirror image. */
REDIST_PRIV_COLD void redist_priv_fit_network(const int64_t *time, int n, int bytes,
                                              redist_priv_network *network) {
  const double unit = 1e-12; /* seconds in a picosecond */
  const int64_t one = time[REDIST_PRIV_ONE];
  int64_t least = INT64_MAX;
  int64_t more = redist_priv_clamp((time[REDIST_PRIV_TOGETHER] - one) / (REDIST_PRIV_BURST - 1),
                                   redist_priv_ceil_div(one, REDIST_PRIV_MOST_SHARED), one);
  int k;
  network->latency = (double)(redist_priv_max(one, time[n]) - more) * unit;
  network->cost.per_message = (double)more * unit;
  network->crowding = 1;
  for (k = REDIST_PRIV_WHOLE; k < n; k += 2) {
    const double crowding = (double)time[k] / (double)time[k + 1];
    network->crowding = crowding > network->crowding ? crowding : network->crowding;
    least = redist_priv_min(least, redist_priv_min(time[k], time[k + 1]));
  }
  more = redist_priv_max(least - one, 1);
  network->cost.per_byte = (double)more * unit / bytes;
}

/* Times one short message and several, then a long one, whole and in a schedule's pieces,
   alternately. The fastest sets per_byte; the worst ratio sets crowding, since whole messages may
   be twice as slow. Which of two mirrors has the farther images depends on the network.
   Collective. */
REDIST_PRIV_COLD int redist_priv_measure_network(MPI_Comm comm, redist_priv_network *network) {
  enum { OPPOSITE = REDIST_PRIV_WHOLE + 2 * 3, FAILED, TIMES };
  const int piece = (int)redist_priv_clamp(REDIST_EAGER_BYTES, 2 * REDIST_PRIV_SMALL, 65536);
  const int small = REDIST_PRIV_SMALL, whole = REDIST_PRIV_BURST * piece;
  const int bytes[FAILED] = {small, small, whole, piece, whole, piece, whole, piece, small};
  MPI_Comm own = MPI_COMM_NULL;
  char *memory = (char *)redist_priv_zeroed(2 * REDIST_PRIV_BURST, (size_t)piece);
  int64_t time[TIMES];
  int k, rank, size, mirrored[2], failed = 0, code = redist_priv_duplicate(comm, &own);
  if (redist_priv_ranks_of(comm, &rank, &size) != REDIST_OK) code = REDIST_ERR_MPI;
  mirrored[0] = (((3 * size - 1) / 4 | 1) + size - rank) % size;
  mirrored[1] = (size - 1 + size - rank) % size;
  if (memory == NULL || network == NULL)
    code = network == NULL ? REDIST_ERR_ARGUMENT : REDIST_ERR_MEMORY;
  code = redist_priv_worst(comm, code);
  if (code == REDIST_OK) {
    for (time[FAILED] = k = 0; k < FAILED; k++) {
      time[k] = redist_priv_time_mirror(own, k % 2 ? REDIST_PRIV_BURST : 1, bytes[k],
                                        mirrored[k == OPPOSITE], memory);
      time[FAILED] |= time[k] < 0;
    }
    failed = redist_priv_reduce(own, time, TIMES, MPI_MAX) != REDIST_OK || time[FAILED];
    code = failed ? REDIST_ERR_MPI : REDIST_OK;
    redist_priv_fit_network(time, OPPOSITE, whole - small, network);
  }
  REDIST_FREE(memory);
  if (own != MPI_COMM_NULL && !failed) MPI_Comm_free(&own);
  return code;
}

REDIST_API int redist_calibrate(MPI_Comm comm, redist_cost *cost) {
  redist_priv_network network;
  int code;
  if (redist_priv_comm_error(comm) != NULL) return REDIST_ERR_ARGUMENT;
  code = redist_priv_measure_network(comm, cost == NULL ? NULL : &network);
  if (code == REDIST_OK) {
    *cost = network.cost;
    cost->per_message += network.latency;
  }
  return code;
}

/* ------------------------------------------------------------------------------ arenas (bodies) */

/* Frees an arena in which no plan lives. */
REDIST_PRIV_COLD void redist_priv_arena_destroy(redist_arena **arena) {
  redist_arena *a = *arena;
  redist_priv_unshare_arena(a);
  REDIST_FREE(a->ordinary);
  if (a->comm != MPI_COMM_NULL) MPI_Comm_free(&a->comm);
  REDIST_FREE(a);
  *arena = NULL;
}

REDIST_API int redist_arena_create(MPI_Comm comm, size_t bytes, redist_arena **arena) {
  const uint64_t limit = sizeof bytes > 4 ? UINT64_C(1) << 50 : UINT64_C(1) << 30;
  const int64_t machine = redist_priv_machine();
  redist_arena *a;
  /* a code, and the arena's name: a hash of one rank's machine, address and time */
  int64_t most[2] = {REDIST_OK, 0};
  int found = 0, code, *tags = NULL;
  if (arena != NULL) *arena = NULL;
  if (arena == NULL || redist_priv_comm_error(comm) != NULL) return REDIST_ERR_ARGUMENT;
  *arena = a = REDIST_PRIV_ZEROED(redist_arena, 1);
  if (a == NULL || (uint64_t)bytes > limit) most[0] = REDIST_ERR_MEMORY;
  most[1] = (int64_t)(redist_priv_hash(redist_priv_hash((uint64_t)machine, (int64_t)(intptr_t)a),
                                       (int64_t)(MPI_Wtime() * 1e9)) >>
                      2);
  code = redist_priv_reduce(comm, most, 2, MPI_MAX) == REDIST_OK ? (int)most[0] : REDIST_ERR_MPI;
  if (a == NULL) return code;
  a->bytes = bytes;
  a->home.machine = machine;
  a->name = most[1];
  a->comm = MPI_COMM_NULL;
  if (code == REDIST_OK) code = redist_priv_worst(comm, redist_priv_duplicate(comm, &a->comm));
  if (code == REDIST_OK) code = redist_priv_share_arena(a);
  if (code == REDIST_OK && a->memory == NULL) {
    a->ordinary = REDIST_MALLOC(bytes + REDIST_PRIV_LINE);
    a->memory = (char *)a->ordinary + -(uintptr_t)a->ordinary % REDIST_PRIV_LINE;
    code = redist_priv_worst(a->comm, a->ordinary == NULL ? REDIST_ERR_MEMORY : REDIST_OK);
  }
  if (code != REDIST_OK)
    redist_priv_arena_destroy(arena);
  else
    a->most_tags = MPI_Comm_get_attr(a->comm, MPI_TAG_UB, &tags, &found) == MPI_SUCCESS && found
                       ? *tags
                       : 32767;
  return code;
}

REDIST_API void *redist_arena_alloc(redist_arena *a, size_t bytes) {
  char *memory;
  if (a == NULL || bytes > a->bytes - a->used) return NULL;
  memory = a->memory + a->used;
  a->used += bytes;
  a->used += (size_t)redist_priv_min((int64_t)(-a->used % REDIST_PRIV_LINE),
                                     (int64_t)(a->bytes - a->used));
  REDIST_ASSERT(a->used <= a->bytes);
  return memory;
}

/* How many arrays of at least so many bytes this rank has adopted at an address. *first: the first
   one's number. */
REDIST_PRIV_COLD int64_t redist_priv_adopted_at(const redist_priv_home *h, const void *array,
                                                size_t least, int64_t *first) {
  int64_t k, n = 0;
  for (k = h->adoptions - 1; k >= 0; k--) {
    const redist_priv_adopted *other = &h->adopted[k];
    if (other->pages == NULL || other->array != (const char *)array || other->bytes < least)
      continue;
    *first = k;
    n++;
  }
  return n;
}

REDIST_API int redist_arena_adopt(redist_arena *a, void *array, size_t bytes) {
  int64_t most[2], k = 0;
  int code;
  if (a == NULL) return REDIST_ERR_ARGUMENT;
  most[0] = redist_priv_check_adopted(a, (char *)array, bytes);
  if (bytes > 0 && redist_priv_adopted_at(&a->home, array, 1, &k) > 0)
    most[0] = REDIST_ERR_ARGUMENT;
  most[1] = array != NULL;
  code = redist_priv_reduce(a->comm, most, 2, MPI_MAX) == REDIST_OK ? (int)most[0] : REDIST_ERR_MPI;
  if (code != REDIST_OK || most[1] == 0) return code;
  for (k = 0; k < a->home.adoptions && a->home.adopted[k].pages != NULL; k++) continue;
  return redist_priv_adopt(a, k, (char *)array, bytes);
}

/* Where a rank has adopted several arrays at one address, all but one of no bytes, it cannot tell
   which of them is meant: its number counts only where no other rank knows. */
REDIST_API int redist_arena_release(redist_arena *a, void *array) {
  /* a code; a number and its negative, of the only array there; of the first of several */
  int64_t most[5] = {REDIST_OK, -1, INT64_MIN, -1, INT64_MIN}, *agreed = &most[1], k = 0, n;
  if (a == NULL) return REDIST_ERR_ARGUMENT;
  n = array == NULL ? 0 : redist_priv_adopted_at(&a->home, array, 0, &k);
  if (n > 0) most[n == 1 ? 1 : 3] = -(most[n == 1 ? 2 : 4] = -k);
  if (array != NULL && n == 0) most[0] = REDIST_ERR_ARGUMENT;
  if (a->started != NULL) most[0] = REDIST_ERR_BUSY;
  if (redist_priv_reduce(a->comm, most, 5, MPI_MAX) != REDIST_OK) return REDIST_ERR_MPI;
  if (most[0] != REDIST_OK) return (int)most[0];
  if (agreed[0] < 0) agreed = &most[3];
  if (agreed[0] < 0) return REDIST_ERR_ARGUMENT;
  if (agreed[0] != -agreed[1]) return REDIST_ERR_MISMATCH;
  redist_priv_release(&a->home, agreed[0]);
  return REDIST_OK;
}

REDIST_API int redist_arena_free(redist_arena **arena) {
  redist_arena *a = arena == NULL ? NULL : *arena;
  int64_t plans; /* of this rank, or of all if MPI works */
  if (a == NULL) return arena == NULL ? REDIST_ERR_ARGUMENT : REDIST_OK;
  plans = a->plans;
  (void)redist_priv_reduce(a->comm, &plans, 1, MPI_MAX);
  if (redist_priv_max(plans, a->plans) > 0) return REDIST_ERR_BUSY;
  redist_priv_arena_destroy(arena);
  return REDIST_OK;
}

/* ------------------------------------------------------------------------------- files (bodies) */

/* A file type must have ascending displacements. The file holds the view row by row, so the
   elements of a place ascend if each axis is followed in ascending order. Where a section takes
   steps through cyclic blocks, an axis has several tracks, whose segments alternate. They are
   followed period by period,

       view index     012345678901234567890123456
       tracks         ##..#.##..##..#.##..##..#.#     head, whole periods, tail:
                      |head|----------------|tail

   where one type is repeated for the whole periods, which are equal. */

/* A run of n elements from position 0 on, in these strides. */
REDIST_PRIV_COLD redist_priv_run redist_priv_run_of(int64_t n, int64_t from, int64_t to) {
  redist_priv_run run;
  memset(&run, 0, sizeof run);
  run.n[0] = n;
  run.n[1] = run.n[2] = 1;
  run.stride[0][REDIST_PRIV_FROM] = from;
  run.stride[0][REDIST_PRIV_TO] = to;
  return run;
}

/* The runs of period k of a pattern, in ascending order: local positions are their source, view
   indices their destination. REDIST_ERR_MEMORY; free them, even on failure. */
REDIST_PRIV_COLD int redist_priv_runs_of_period(const redist_priv_pattern *p, int64_t k,
                                                redist_priv_runs *list) {
  int64_t t;
  int code = REDIST_OK;
  memset(list, 0, sizeof *list);
  for (t = 0; t < p->tracks && code == REDIST_OK; t++) {
    const redist_priv_track *track = &p->track[t];
    const int64_t start = track->start + k * p->period, begin = redist_priv_max(start, 0),
                  length = redist_priv_min(start + track->length, p->count) - begin;
    redist_priv_run run = redist_priv_run_of(length, track->step, 1);
    run.at[REDIST_PRIV_FROM] = track->local + k * p->advance + (begin - start) * track->step;
    run.at[REDIST_PRIV_TO] = begin;
    if (length <= 0) continue;
    code = REDIST_PRIV_SCATTERS && p->scattered
               ? redist_priv_append_segment(list, run.at, length, run.stride[0])
               : redist_priv_append_run(list, &run);
  }
  return code;
}

/* Replaces *x by such elements at every element of some periods of a pattern, all like period k. */
REDIST_PRIV_COLD int redist_priv_follow_periods(redist_priv_typed *x, const redist_priv_pattern *p,
                                                int64_t k, int64_t periods, int side,
                                                int64_t stride) {
  redist_priv_runs list;
  const redist_priv_run again = redist_priv_run_of(periods, p->advance, p->period);
  int code = redist_priv_runs_of_period(p, k, &list);
  if (code == REDIST_OK) code = redist_priv_follow_runs(x, &list, side, stride);
  if (code == REDIST_OK) code = redist_priv_follow_run(x, &again, side, stride);
  redist_priv_runs_free(&list);
  return code;
}

/* Replaces *x by such elements at every element of a pattern, which is not empty. */
REDIST_PRIV_COLD int redist_priv_follow_pattern(redist_priv_typed *x, const redist_priv_pattern *p,
                                                int side, int64_t stride) {
  const redist_priv_track *head = &p->track[0], *last = &p->track[p->tracks - 1];
  const int64_t first = head->start < 0;
  const int64_t end = (p->count - last->start - last->length) / p->period + 1;
  const int64_t begin[] = {0, first, end},
                periods[] = {first, end - first, head->start + end * p->period < p->count};
  redist_priv_typed *typed = redist_priv_typed_open(3);
  int k, n = 0, code = REDIST_OK;
  for (k = 0; typed != NULL && k < 3 && code == REDIST_OK; k++)
    if (periods[k] > 0) {
      code = redist_priv_retype(&typed[n], x->type, x->at);
      if (code == REDIST_OK)
        code = redist_priv_follow_periods(&typed[n], p, begin[k], periods[k], side, stride);
      n++;
    }
  return redist_priv_concatenate(x, typed, n, code);
}

/* Replaces *x, an element of so many bytes, by every element that a place owns, in its rank's array
   (side FROM) or in the file (TO). layout: without ghosts. */
REDIST_PRIV_COLD int redist_priv_follow_place(redist_priv_typed *x, const redist_layout *layout,
                                              int place, int side, int64_t bytes) {
  const redist_priv_storage storage = redist_priv_storage_of(layout, place);
  redist_priv_pattern p;
  int64_t row = 1;
  int d, coords[REDIST_MAX_DIMS], code = REDIST_OK;
  redist_priv_coords_of_place(layout, place, coords);
  for (d = layout->ndim - 1; d >= 0 && code == REDIST_OK; d--) {
    const redist_axis *axis = &layout->dim[d].axis;
    code = redist_priv_pattern_of(axis, coords[d], REDIST_PRIV_ALL_IMAGES, &p);
    if (code == REDIST_OK)
      code = redist_priv_follow_pattern(x, &p, side,
                                        bytes * (side == REDIST_PRIV_TO ? row : storage.stride[d]));
    row *= axis->count;
    redist_priv_pattern_free(&p);
  }
  if (side == REDIST_PRIV_FROM) x->at += (MPI_Aint)(storage.origin * bytes);
  return code;
}

/* Several places of a rank may share rows of the file, so their spans of rows must be sorted. A
   span: where it begins in the file, the sort key, and in the array, in elements, and its kind. */
typedef struct {
  int64_t file, array, kind;
} redist_priv_span;

/* A kind: spans of equal length and stride in the array have equal types, there and in the file. */
typedef struct {
  int64_t length, stride;
  redist_priv_typed typed[2];
} redist_priv_span_kind;

typedef struct {
  MPI_Datatype element;
  int64_t bytes; /* of an element */
  int64_t spans, room, kinds, kind_room;
  redist_priv_span *span;
  redist_priv_span_kind *kind;
} redist_priv_spans;

/* Adds a kind of spans. REDIST_ERR_MEMORY, _MPI. */
REDIST_PRIV_COLD int redist_priv_add_kind(redist_priv_spans *list, int64_t length, int64_t stride) {
  const redist_priv_span_kind next = {length, stride, {{MPI_BYTE, 0}, {MPI_BYTE, 0}}};
  const redist_priv_run run = redist_priv_run_of(length, stride, 1);
  int side, code = REDIST_PRIV_APPEND(list->kind, list->kinds, list->kind_room, next);
  for (side = 0; side < 2 && code == REDIST_OK; side++) {
    redist_priv_typed *x = &list->kind[list->kinds - 1].typed[side];
    code = redist_priv_retype(x, list->element, 0);
    if (code == REDIST_OK) code = redist_priv_follow_run(x, &run, side, list->bytes);
  }
  return code;
}

/* Adds a span of so many elements, with this stride in the array. REDIST_ERR_MEMORY, _MPI. */
REDIST_PRIV_COLD int redist_priv_add_span(redist_priv_spans *list, const int64_t *at,
                                          int64_t length, int64_t stride) {
  redist_priv_span next;
  int code = REDIST_OK;
  next.file = at[REDIST_PRIV_TO];
  next.array = at[REDIST_PRIV_FROM];
  next.kind = list->kinds - 1;
  while (next.kind >= 0 &&
         (list->kind[next.kind].length != length || list->kind[next.kind].stride != stride))
    next.kind--;
  if (next.kind < 0) code = redist_priv_add_kind(list, length, stride);
  if (next.kind < 0) next.kind = list->kinds - 1;
  return code == REDIST_OK ? REDIST_PRIV_APPEND(list->span, list->spans, list->room, next) : code;
}

/* The position of element i of a run on a side. */
REDIST_PRIV_COLD int64_t redist_priv_position_in(const redist_priv_run *run, int64_t i, int side) {
  int64_t at = run->at[side];
  int level;
  for (level = 0; level < REDIST_PRIV_LEVELS; i /= run->n[level++])
    at += i % run->n[level] * run->stride[level][side];
  return at;
}

/* Adds the spans of axis d of a message and of those after it; axis `fast` is the last. A span is
   what lies together in the file: so many elements of a run of that axis. */
REDIST_PRIV_COLD int redist_priv_add_spans(redist_priv_spans *list, const redist_priv_message *m,
                                           int d, int fast, const int64_t *at) {
  const redist_priv_runs *runs;
  int64_t r, i, next[2];
  int side, code = REDIST_OK;
  d += d == fast;
  d = d >= m->ndim ? fast : d;
  for (runs = m->axis[d], r = 0; r < runs->runs && code == REDIST_OK; r++) {
    const redist_priv_run run = redist_priv_run_at(runs, r);
    const int together = run.stride[0][REDIST_PRIV_TO] * m->stride[REDIST_PRIV_TO][d] == 1;
    const int64_t length = d == fast && together ? run.n[0] : 1,
                  stride = run.stride[0][REDIST_PRIV_FROM] * m->stride[REDIST_PRIV_FROM][d];
    for (i = 0; i < run.n[0] * run.n[1] * run.n[2] && code == REDIST_OK; i += length) {
      for (side = 0; side < 2; side++)
        next[side] = at[side] + redist_priv_position_in(&run, i, side) * m->stride[side][d];
      code = d == fast ? redist_priv_add_span(list, next, length, length == 1 ? 1 : stride)
                       : redist_priv_add_spans(list, m, d + 1, fast, next);
    }
  }
  return code;
}

/* Adds the spans of a place, whose only message goes to the file. */
REDIST_PRIV_COLD int redist_priv_add_place(redist_priv_spans *list, const redist_layout *from,
                                           const redist_priv_held_place *held,
                                           redist_priv_directory *file) {
  redist_priv_place_peers n;
  redist_priv_message m;
  redist_priv_storage storage;
  int coords[REDIST_MAX_DIMS], order[REDIST_MAX_DIMS], d, fast = 0, code;
  redist_priv_coords_of_place(from, held->place, coords);
  redist_priv_slow_to_fast(from, from->memory_order, order);
  code = redist_priv_find_peers(from, coords, REDIST_PRIV_FROM, file, 1, -1, &n);
  if (code == REDIST_OK && n.messages > 0) {
    m = redist_priv_message_of(&n, 0, 0, order);
    redist_priv_store(&m, REDIST_PRIV_FROM, from, &held->storage);
    storage = redist_priv_storage_of(file->layout, 0);
    code = redist_priv_store(&m, REDIST_PRIV_TO, file->layout, &storage);
    for (d = 0; d < m.ndim; d++)
      if (m.stride[REDIST_PRIV_TO][d] <= m.stride[REDIST_PRIV_TO][fast]) fast = d;
    if (code == REDIST_OK) code = redist_priv_add_spans(list, &m, 0, fast, m.origin);
    redist_priv_message_close(&m);
  }
  redist_priv_place_peers_free(&n);
  return code;
}

/* Adds the spans of all places of a rank in replica 0. The file holds the view row by row: it is on
   one process. */
REDIST_PRIV_COLD int redist_priv_list_spans(redist_priv_spans *list, const redist_layout *layout,
                                            int rank) {
  redist_axis whole[REDIST_MAX_DIMS];
  redist_priv_held_place held = redist_priv_before_first();
  redist_priv_directory directory;
  redist_layout file, pair[2];
  int d, code;
  for (d = 0; d < redist_priv_axes(layout); d++)
    whole[d] = redist_whole(redist_priv_length(layout, d));
  file = redist_layout_nd(d, whole);
  code = redist_priv_open_pair(layout, &file, 0, pair);
  if (code != REDIST_OK) return code;
  code = redist_priv_directory_open(&directory, &pair[1]);
  while (code == REDIST_OK && redist_priv_next_held(&pair[0], rank, &held) &&
         held.place < redist_priv_grid_places(&pair[0]))
    code = redist_priv_add_place(list, &pair[0], &held, &directory);
  if (list->spans > INT_MAX) code = REDIST_ERR_OVERFLOW;
  if (code == REDIST_OK && list->spans > 0)
    qsort(list->span, (size_t)list->spans, sizeof *list->span, redist_priv_compare_numbers);
  redist_priv_directory_close(&directory);
  redist_priv_close_pair(pair);
  return code;
}

/* The types of a rank with several places, or with a reshaped view: all spans, in their order in
   the file. layout: the caller's. */
REDIST_PRIV_COLD int redist_priv_types_of_places(const redist_layout *layout, int rank,
                                                 MPI_Datatype element, int64_t bytes,
                                                 redist_priv_typed *typed) {
  redist_priv_spans list;
  redist_priv_typed *part;
  int64_t k;
  int side, code;
  memset((void *)&list, 0, sizeof list);
  list.element = element;
  list.bytes = bytes;
  code = redist_priv_list_spans(&list, layout, rank);
  part = REDIST_PRIV_ALLOC(redist_priv_typed, list.spans);
  if (code == REDIST_OK && part == NULL) code = REDIST_ERR_MEMORY;
  for (side = 0; side < 2 && code == REDIST_OK; side++) {
    for (k = 0; k < list.spans; k++) {
      const redist_priv_span *x = &list.span[k];
      REDIST_ASSERT(k == 0 || x[-1].file < x->file);
      part[k].type = list.kind[x->kind].typed[side].type;
      part[k].at = (MPI_Aint)((side == REDIST_PRIV_TO ? x->file : x->array) * bytes);
    }
    code = redist_priv_compose(&typed[side], part, (int)list.spans, REDIST_OK);
  }
  for (k = 0; k < 2 * list.kinds; k++)
    if (list.kind[k / 2].typed[k % 2].type != MPI_BYTE)
      MPI_Type_free(&list.kind[k / 2].typed[k % 2].type);
  REDIST_FREE(part);
  REDIST_FREE(list.kind);
  REDIST_FREE(list.span);
  return code;
}

/* typed[2]: what a rank owns in its array and in the file. given: the caller's layout; layout: its
   copy. n: the rank's places in replica 0 that own elements; the last is `place`. */
REDIST_PRIV_COLD int redist_priv_types_of_rank(const redist_layout *given,
                                               const redist_layout *layout, int rank,
                                               MPI_Datatype element, int64_t bytes,
                                               redist_priv_typed *typed) {
  int coords[REDIST_MAX_DIMS], place = -1, k = -1, n = 0, side, code = REDIST_OK;
  while (!redist_priv_is_reshaped(given) &&
         (k = redist_priv_next_place(layout, NULL, rank, k)) >= 0) {
    redist_priv_coords_of_place(layout, k, coords);
    if (k >= redist_priv_grid_places(layout) || redist_priv_held_at(layout, coords) == 0) continue;
    place = k;
    n++;
  }
  if (n != 1) return redist_priv_types_of_places(given, rank, element, bytes, typed);
  for (side = 0; side < 2 && code == REDIST_OK; side++) {
    code = redist_priv_retype(&typed[side], element, 0);
    if (code == REDIST_OK)
      code = redist_priv_follow_place(&typed[side], layout, place, side, bytes);
  }
  return code;
}

/* The bytes of a rank's array and of the file, for extent[2]. REDIST_ERR_OVERFLOW. */
REDIST_PRIV_COLD int redist_priv_type_extents(const redist_layout *layout, int rank, int64_t bytes,
                                              MPI_Aint *extent) {
  int64_t array = redist_layout_local_size(layout, rank), file = 1;
  int d;
  for (d = 0; d < redist_priv_axes(layout); d++) file *= redist_priv_length(layout, d);
  if (redist_priv_max(array, file) > REDIST_PRIV_MAX_ELEMENTS / bytes) return REDIST_ERR_OVERFLOW;
  extent[REDIST_PRIV_FROM] = (MPI_Aint)(array * bytes);
  extent[REDIST_PRIV_TO] = (MPI_Aint)(file * bytes);
  return extent[REDIST_PRIV_FROM] == array * bytes && extent[REDIST_PRIV_TO] == file * bytes
             ? REDIST_OK
             : REDIST_ERR_OVERFLOW; /* of 32 bits */
}

REDIST_PRIV_COLD int redist_priv_commit_types(const MPI_Aint *extent, redist_priv_typed *typed) {
  MPI_Datatype made;
  int side, code = REDIST_OK;
  for (side = 0; side < 2 && code == REDIST_OK; side++) {
    MPI_Datatype *type = &typed[side].type;
    code = redist_priv_displace(&typed[side]);
    if (code == REDIST_OK)
      code =
          redist_priv_become(type, MPI_Type_create_resized(*type, 0, extent[side], &made), &made);
    if (code == REDIST_OK && MPI_Type_commit(type) != MPI_SUCCESS) code = REDIST_ERR_MPI;
  }
  return code;
}

REDIST_API int redist_layout_types(const redist_layout *layout, int rank, MPI_Datatype element,
                                   MPI_Datatype *file, MPI_Datatype *memory) {
  redist_priv_error v = redist_priv_no_error(-1);
  redist_priv_typed typed[2] = {{MPI_BYTE, 0}, {MPI_BYTE, 0}};
  MPI_Aint extent[2];
  redist_layout own;
  int64_t bytes;
  int side, code = redist_layout_check(layout);
  if (file != NULL) *file = MPI_DATATYPE_NULL;
  if (memory != NULL) *memory = MPI_DATATYPE_NULL;
  if (file == NULL || memory == NULL) return REDIST_ERR_ARGUMENT;
  if (code != REDIST_OK) return code;
  bytes = redist_priv_check_element(element, &v);
  redist_priv_fail(&v, rank < 0 ? REDIST_ERR_RANK : REDIST_OK, "rank %d is negative", rank);
  redist_priv_check_held(layout, rank, "", &v);
  if (v.code != REDIST_OK) return v.code;
  code = redist_priv_sort_axes(redist_priv_copy_to(&own, layout, 0));
  if (code == REDIST_OK) code = redist_priv_type_extents(layout, rank, bytes, extent);
  if (code == REDIST_OK)
    code = redist_priv_types_of_rank(layout, &own, rank, element, bytes, typed);
  if (code == REDIST_OK) code = redist_priv_commit_types(extent, typed);
  redist_priv_forget_sets(&own);
  for (side = 0; side < 2 && code != REDIST_OK; side++)
    if (typed[side].type != MPI_BYTE) MPI_Type_free(&typed[side].type);
  if (code == REDIST_OK) {
    *memory = typed[REDIST_PRIV_FROM].type;
    *file = typed[REDIST_PRIV_TO].type;
  }
  return code;
}

#endif /* REDIST_PRIV_BODIES */

#ifdef __cplusplus
}
#endif

#endif /* REDIST_PLAN_H */
