/* redist tests: the protocol of shared memory in one process, its ranks threads or coroutines. MIT
   licence, see LICENSE. Threads run with random delays, also under the thread sanitizer (rings.sh).
   Coroutines switch at every flag and every copy: all interleavings of small cases are explored,
   and from each state the end must be reachable, with the right data. */
#undef _FORTIFY_SOURCE    /* its longjmp refuses another stack (coroutines.h) */
#define _XOPEN_SOURCE 700 /* barriers of threads, contexts */
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "coroutines.h"

#include "test.h"

static void let_others(void);            /* while this rank waits */
static void point(uint64_t what);        /* where another rank may run */
static void point_after(uint64_t value); /* the value read then */

#define REDIST_YIELD() let_others()
#define REDIST_COPIED(bytes) point((uint64_t)(bytes))
#ifndef RINGS_SANITIZED /* the sanitizer checks the unmodified flags */
static inline int64_t load_flag(const int64_t *flag) {
  int64_t value;
  point(1);
  value = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
  point_after((uint64_t)value);
  return value;
}
static inline void store_flag(int64_t *flag, int64_t value) {
  point(2);
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}
#define REDIST_PRIV_ACQUIRE(pointer) load_flag(pointer)
#define REDIST_PRIV_RELEASE(pointer, value) store_flag(pointer, value)
#endif

static int64_t test_piece_bytes = 64;
#define REDIST_PIECE_BYTES test_piece_bytes
static int64_t test_ring_bytes = 4096; /* an arena's room for rings is part of every state */
#define REDIST_RING_BYTES test_ring_bytes
#define REDIST_PRIV_AWAITED 1 /* what is executed waits to be pushed, however short */

/* All ranks map a file at one address: they are one process, and the sanitizer knows flags and
   elements by their addresses. */
enum { MAPPED = 64 };
static struct {
  ino_t file;
  void *at;
  size_t bytes;
  int mappings;
} mapped[MAPPED];
static pthread_mutex_t segments = PTHREAD_MUTEX_INITIALIZER;

static void *map_segment(void *at, size_t bytes, int may, int how, int file, off_t from) {
  struct stat s;
  int k = 0;
  fstat(file, &s);
  pthread_mutex_lock(&segments);
  while (mapped[k].mappings > 0 && mapped[k].file != s.st_ino) k++;
  if (mapped[k].mappings++ == 0) {
    mapped[k].file = s.st_ino;
    mapped[k].at = mmap(at, bytes, may, how, file, from);
    mapped[k].bytes = bytes;
  }
  at = mapped[k].at;
  pthread_mutex_unlock(&segments);
  return at;
}

static int unmap_segment(void *at, size_t bytes) {
  int k = 0, code = 0;
  pthread_mutex_lock(&segments);
  while (mapped[k].mappings == 0 || mapped[k].at != at) k++;
  if (--mapped[k].mappings == 0) code = munmap(at, bytes);
  pthread_mutex_unlock(&segments);
  return code;
}

#define mmap map_segment
#define munmap unmap_segment
#include "redist_plan.h"
#undef mmap
#undef munmap

/* ---- what the ranks do ---- */

enum { ARRAYS = 2, PLANS = 2, MOST = 2048, MOST_POLLS = 5000000, NEAR = 50, FAR = 1000 };

/* Blocks to smaller blocks, where a message is one, and fills cache lines; cyclic to block, where
   messages interleave with local elements; or from rank 0 to a replica on each, where messages
   share a ring unless there is an arena. */
enum { TO_SMALLER_BLOCKS, FROM_CYCLIC, TO_REPLICAS };

/* arena[round % 8]: bit r is set if rank r's arrays are in the arena then; bit
   4 + r if only its sources are. */
typedef struct {
  const char *name;
  int ranks, n, arrays, in_place, rounds, piece;
  int slots; /* > 0: of every ring, instead of the plan's choice */
  unsigned char arena[8];
  /* the cores share no cache; plans: started at a time, 0 for 1; blocking: as redist_execute */
  int far, job, plans, blocking;
} ring_case;

typedef struct {
  redist_arena *arena;
  redist_plan *plan[PLANS];
  double *held[PLANS][2][2][ARRAYS]; /* [plan][in the arena][side][array] */
  int wrong;
  uint64_t random;
} crew_member;

static ring_case now;
static crew_member crew[CREW];

static int plans(void) { return now.plans > 0 ? now.plans : 1; }

static double element(int round, int plan, int array, int i) {
  return (double)(((round * PLANS + plan) * ARRAYS + array) * MOST + i + 1);
}

static double *array_of(int rank, int round, int plan, int side, int array) {
  const int bits = now.arena[round % 8] >> rank,
            in_arena = side == 0 ? (bits | bits >> 4) & 1 : bits & 1;
  return crew[rank].held[plan][in_arena][now.in_place ? 0 : side][array];
}

/* The elements of a block of the layout that deals blocks out. */
static int dealt(void) { return now.job == FROM_CYCLIC ? 1 : now.n / (now.ranks * now.ranks); }

/* How many elements a rank has on a side. */
static int count_of(int rank, int side) {
  if (now.job == TO_REPLICAS) return side == 1 || rank == 0 ? now.n : 0;
  return now.n / now.ranks;
}

/* The number of a rank's k-th element of a side. */
static int global(int rank, int side, int k) {
  const int b = dealt();
  if (now.job == TO_REPLICAS) return k;
  return side == now.job ? rank * (now.n / now.ranks) + k : (k / b * now.ranks + rank) * b + k % b;
}

/* A rank rewrites its source as soon as its previous execution is complete. */
static void fill(int rank, int round) {
  int p, a, k;
  for (p = 0; p < plans(); p++)
    for (a = 0; a < now.arrays; a++)
      for (k = 0; k < count_of(rank, 0); k++)
        array_of(rank, round, p, 0, a)[k] = element(round, p, a, global(rank, 0, k));
}

static int arrived(int rank, int round, int plan) {
  int a, k, good = 1;
  for (a = 0; a < now.arrays; a++)
    for (k = 0; k < count_of(rank, 1); k++)
      good = good &&
             array_of(rank, round, plan, 1, a)[k] == element(round, plan, a, global(rank, 1, k));
  return good;
}

/* The source of an element. */
static int sender(int i) {
  if (now.job == TO_REPLICAS) return 0;
  return now.job == 0 ? i / (now.n / now.ranks) : i / dealt() % now.ranks;
}

/* Whether everything from another rank has arrived. */
static int arrived_from(int rank, int round, int plan, int source) {
  int a, k, good = 1;
  for (k = 0; k < count_of(rank, 1); k++) {
    const int i = global(rank, 1, k);
    for (a = 0; a < now.arrays && sender(i) == source; a++)
      good = good && array_of(rank, round, plan, 1, a)[k] == element(round, plan, a, i);
  }
  return good;
}

/* Tests a plan; before it ends, asks in some rounds which ranks have arrived. */
static int test_plan(int rank, int round, int plan, int *done) {
  int source = -1, code = REDIST_OK;
  while (round % 2 == 0 && code == REDIST_OK) {
    code = redist_next_arrival(crew[rank].plan[plan], &source);
    if (source < 0) break;
    crew[rank].wrong |= !arrived_from(rank, round, plan, source);
  }
  return code == REDIST_OK ? redist_test(crew[rank].plan[plan], done) : code;
}

static int start(int rank, int round, int plan) {
  const void *from[ARRAYS];
  void *to[ARRAYS];
  int a;
  for (a = 0; a < now.arrays; a++) {
    from[a] = array_of(rank, round, plan, 0, a);
    to[a] = array_of(rank, round, plan, 1, a);
  }
  return redist_priv_start(crew[rank].plan[plan], 0, from, to, now.blocking);
}

/* Ranks start their plans in different orders, and test them in others. */
static int nth_plan(int rank, int round, int k) { return (k + rank + round) % plans(); }

static void create_plans(int rank) {
  crew_member *m = &crew[rank];
  const redist_layout blocks = redist_layout_1d(redist_block(now.n, now.ranks)),
                      cycles = redist_layout_1d(redist_block_cyclic(now.n, dealt(), now.ranks)),
                      one = redist_layout_1d(redist_whole(now.n)),
                      all = redist_replicated(one, now.ranks);
  const redist_layout *const sides[][2] = {{&blocks, &cycles}, {&cycles, &blocks}, {&one, &all}};
  const redist_layout *const from = sides[now.job][0], *const to = sides[now.job][1];
  redist_options options;
  int64_t k;
  int p;
  memset(&options, 0, sizeof options);
  options.method = REDIST_SHARED;
  options.arrays = now.arrays;
  options.in_place = now.in_place;
  options.arena = now.job == TO_REPLICAS && now.arena[0] == 0 ? NULL : m->arena;
  for (p = 0; p < plans(); p++) {
    m->wrong |= redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE, &options, &m->plan[p]) !=
                REDIST_OK;
    for (k = 0; k < m->plan[p]->rings->channels && now.slots > 0; k++)
      m->plan[p]->rings->channel[k].slots = now.slots;
  }
}

static void free_plans(int rank) {
  int p;
  for (p = 0; p < plans(); p++)
    crew[rank].wrong |= redist_plan_free(&crew[rank].plan[p]) != REDIST_OK;
}

static void create(int rank) {
  crew_member *m = &crew[rank];
  const int room = (now.job == TO_REPLICAS ? now.n : now.n / now.ranks) * 8 + 64;
  int p, side, a;
  m->wrong = redist_arena_create(MPI_COMM_WORLD, (size_t)(plans() * 2 * now.arrays * room),
                                 &m->arena) != REDIST_OK;
  m->arena->home.fetching = now.far ? FAR : NEAR;
  for (p = 0; p < plans(); p++)
    for (side = 0; side < 2; side++)
      for (a = 0; a < now.arrays; a++) {
        const size_t bytes = (size_t)count_of(rank, side) * sizeof(double);
        m->held[p][0][side][a] = calloc(bytes + 1, 1);
        m->held[p][1][side][a] = redist_arena_alloc(m->arena, bytes);
        memset(m->held[p][1][side][a], 0, bytes);
      }
  create_plans(rank);
  crew_barrier();
}

static void destroy(int rank) {
  crew_member *m = &crew[rank];
  int p, side, a;
  free_plans(rank);
  m->wrong |= redist_arena_free(&m->arena) != REDIST_OK;
  for (p = 0; p < plans(); p++)
    for (side = 0; side < 2; side++)
      for (a = 0; a < now.arrays; a++) free(m->held[p][0][side][a]);
}

static int all_right(void) {
  int r, wrong = 0;
  for (r = 0; r < now.ranks; r++) wrong |= crew[r].wrong;
  return !wrong;
}

/* ---- threads ---- */

static __thread int thread_rank = -1; /* -1: a coroutine */
static pthread_barrier_t threads_barrier;

static void delay(void) {
  test_random r = {crew[thread_rank].random};
  const int64_t draw = test_between(&r, 0, 63);
  struct timespec some = {0, 0};
  some.tv_nsec = (long)test_between(&r, 1, 300000);
  crew[thread_rank].random = r.state;
  if (draw == 0)
    nanosleep(&some, NULL);
  else if (draw < 16)
    sched_yield();
}

/* One rank waits for ever; the others would, too. */
static void give_up(int round) {
  test_case(0, "%s: rank %d finds no end in execution %d", now.name, thread_rank, round);
  exit(test_report("rings"));
}

static void *thread_work(void *argument) {
  crew_member *m = argument;
  int round, k, done, code;
  long polls;
  thread_rank = (int)(m - crew);
  m->random = (uint64_t)(thread_rank + 100 * now.n + now.rounds);
  create(thread_rank);
  for (round = 0; round < now.rounds; round++) {
    fill(thread_rank, round);
    delay();
    for (k = 0, code = REDIST_OK; k < plans() && code == REDIST_OK; k++)
      code = start(thread_rank, round, nth_plan(thread_rank, round, k));
    for (k = plans() - 1; k >= 0; k--) {
      const int plan = nth_plan(thread_rank, round / 2, k);
      for (done = 0, polls = 0; code == REDIST_OK && !done; delay()) {
        code = test_plan(thread_rank, round, plan, &done);
        if (!done) sched_yield();
        if (++polls > MOST_POLLS) give_up(round);
      }
      m->wrong |= code != REDIST_OK || !arrived(thread_rank, round, plan);
    }
    /* freed at once, whatever the others do, and created again in the same memory */
    if (round % 16 == 15) {
      free_plans(thread_rank);
      create_plans(thread_rank);
    }
  }
  pthread_barrier_wait(&threads_barrier);
  destroy(thread_rank);
  return NULL;
}

static void run_threads(const ring_case *c) {
  pthread_t thread[CREW];
  int r;
  now = *c;
  memset(crew, 0, sizeof crew);
  crew_size = c->ranks;
  test_piece_bytes = c->piece;
  pthread_barrier_init(&threads_barrier, NULL, (unsigned)c->ranks);
  for (r = 0; r < c->ranks; r++) pthread_create(&thread[r], NULL, thread_work, &crew[r]);
  for (r = 0; r < c->ranks; r++) pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&threads_barrier);
  test_case(all_right(), "%d threads, %s", c->ranks, c->name);
}

/* ---- coroutines ---- */

enum { STATES = 1 << 20 };

static struct {
  int round;
  uint64_t trace; /* this rank's actions and observations since its last public call began */
} history[CREW];
static int exploring;

static void point(uint64_t what) {
  if (thread_rank >= 0) delay();
  if (thread_rank >= 0 || !exploring) return;
  history[running].trace = (history[running].trace ^ what) * UINT64_C(0x9E3779B97F4A7C15) + 1;
  hand_over();
}

static void point_after(uint64_t value) {
  if (thread_rank < 0 && exploring)
    history[running].trace = (history[running].trace ^ value) * UINT64_C(0xD6E8FEB86659FD93) + 1;
}

static void let_others(void) {
  if (thread_rank >= 0)
    sched_yield();
  else
    hand_over();
}

static int crew_rank(void) { return thread_rank >= 0 ? thread_rank : running; }

static void crew_barrier(void) {
  if (thread_rank >= 0)
    pthread_barrier_wait(&threads_barrier);
  else
    coroutine_barrier();
}

static uint64_t mix_word(uint64_t hash, const unsigned char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 29;
}

/* Four words at a time: what one multiplies, the others need not wait for. */
static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  enum { WORD = sizeof hash };
  const unsigned char *at = data;
  uint64_t second = 1, third = 2, fourth = 3;
  for (; bytes >= 4 * WORD; bytes -= 4 * WORD, at += 4 * WORD) {
    hash = mix_word(hash, at);
    second = mix_word(second, at + WORD);
    third = mix_word(third, at + 2 * WORD);
    fourth = mix_word(fourth, at + 3 * WORD);
  }
  hash = mix_word(mix_word(mix_word(hash, (unsigned char *)&second), (unsigned char *)&third),
                  (unsigned char *)&fourth);
  for (; bytes >= WORD; bytes -= WORD, at += WORD) hash = mix_word(hash, at);
  for (; bytes > 0; bytes--) hash = (hash ^ *at++) * UINT64_C(1099511628211);
  return hash;
}

/* This rank's progress with each of its messages. */
static uint64_t mix_links(uint64_t hash, int rank) {
  int64_t k;
  int p;
  for (p = 0; p < plans(); p++) {
    const redist_priv_rings *r = crew[rank].plan[p]->rings;
    hash = mix(hash, &crew[rank].plan[p]->active, sizeof crew[rank].plan[p]->active);
    for (k = 0; k < r->channels; k++) hash = mix(hash, &r->channel[k], sizeof r->channel[k]);
  }
  return hash;
}

static void begin_call(int rank, uint64_t call) {
  history[rank].trace = mix_links(call + 10 * (uint64_t)history[rank].round, rank);
}

static void rank_work(void) {
  const int rank = running;
  int round, k, plan, done, code = REDIST_OK;
  for (round = 0; round < now.rounds; round++) {
    history[rank].round = round;
    fill(rank, round);
    for (k = 0; k < plans() && code == REDIST_OK; k++) {
      begin_call(rank, 1 + 2 * (uint64_t)k);
      code = start(rank, round, nth_plan(rank, round, k));
    }
    for (k = 0; k < plans(); k++) {
      plan = nth_plan(rank, round, plans() - 1 - k);
      for (done = 0; code == REDIST_OK && !done;) {
        begin_call(rank, 2 + 2 * (uint64_t)k);
        code = redist_test(crew[rank].plan[plan], &done);
      }
      crew[rank].wrong |= code != REDIST_OK || !arrived(rank, round, plan);
    }
  }
  history[rank].round = round;
  history[rank].trace = 0;
  finish();
}

static void rank_create(void) {
  create(running);
  finish();
}

static void rank_destroy(void) {
  destroy(running);
  finish();
}

static void run_in_turns(void (*work)(void)) {
  int r;
  memset(history, 0, sizeof history);
  begin_coroutines(work);
  while (!all_finished())
    for (r = 0; r < now.ranks; r++)
      if (!coroutine[r].finished) resume(r);
}

/* ---- all that executions change, to be restored ---- */

enum { OWN = 5 }; /* at the end, private regions of each rank's plans */
static struct {
  char *at, *kept;
  size_t bytes;
} region[128];
static int regions;

static void remember(void *at, size_t bytes) {
  region[regions].at = at;
  region[regions].bytes = bytes;
  region[regions].kept = malloc(bytes + 1);
  memcpy(region[regions++].kept, at, bytes);
}

static void remember_plan(redist_plan *p) {
  remember(p->peer, (size_t)p->peers * sizeof *p->peer);
  remember(p->pointers, 2 * (size_t)p->arrays * sizeof *p->pointers);
  remember(p->rings, sizeof *p->rings + (size_t)p->peers * sizeof *p->rings->channel);
  remember(crew[p->rank].arena, sizeof *p->options.arena);
  remember(p, sizeof *p);
}

/* The token, notices and probed lines that a mapped file begins with: executions leave them as they
   are. */
static size_t steady_bytes(const char *file, size_t bytes) {
  int r, p;
  for (r = 0; r < now.ranks; r++)
    for (p = 0; p < plans(); p++) {
      const redist_priv_home *h = crew[r].plan[p]->rings->home;
      const char *segment = redist_priv_own_segment(h);
      if (segment >= file && segment < file + bytes) return (size_t)(segment - file + h->begin);
    }
  return 0;
}

static uint64_t steady_hash(void) {
  uint64_t hash = 7;
  int k;
  for (k = 0; k < MAPPED; k++)
    if (mapped[k].mappings > 0)
      hash = mix(hash, mapped[k].at, steady_bytes(mapped[k].at, mapped[k].bytes));
  return hash;
}

static void remember_all(void) {
  int r, k, p, side, a;
  regions = 0;
  for (k = 0; k < MAPPED; k++)
    if (mapped[k].mappings > 0) {
      const size_t steady = steady_bytes(mapped[k].at, mapped[k].bytes);
      remember((char *)mapped[k].at + steady, mapped[k].bytes - steady);
    }
  for (r = 0; r < now.ranks; r++)
    for (p = 0; p < plans(); p++)
      for (side = 0; side < 2; side++)
        for (a = 0; a < now.arrays; a++)
          remember(crew[r].held[p][0][side][a], (size_t)count_of(r, side) * sizeof(double));
  for (r = 0; r < now.ranks; r++)
    for (p = 0; p < plans(); p++) remember_plan(crew[r].plan[p]);
}

static void put_back(void) {
  int k;
  for (k = 0; k < regions; k++) memcpy(region[k].at, region[k].kept, region[k].bytes);
}

static void forget_all(void) {
  while (regions > 0) free(region[--regions].kept);
}

/* Of the memory that ranks share or fill, and where each rank is in what it does. */
static uint64_t state_hash(void) {
  const int memories = regions - OWN * now.ranks * plans();
  uint64_t hash = 7;
  int k, r;
  for (k = 0; k < memories; k++) hash = mix(hash, region[k].at, region[k].bytes);
  for (r = 0; r < now.ranks; r++) {
    hash = mix_links(hash, r);
    hash = mix(hash, &history[r].trace, sizeof history[r].trace);
    hash = mix(hash, &history[r].round, sizeof history[r].round);
  }
  return hash | 1;
}

/* ---- all interleavings ---- */

/* States by number; next[s][r]: where rank r's step leads from s, -1 when it has none. */
static struct {
  uint64_t *hash;
  int *slot, (*next)[CREW], *parent;
  unsigned char *by, *reaches;
  int n;
} graph;

/* The number of a state, new or not. */
static int number_of(uint64_t hash, int *is_new) {
  size_t at = (size_t)(hash % (2 * STATES));
  while (graph.slot[at] >= 0 && graph.hash[graph.slot[at]] != hash) at = (at + 1) % (2 * STATES);
  *is_new = graph.slot[at] < 0;
  if (*is_new) {
    graph.slot[at] = graph.n;
    graph.hash[graph.n] = hash;
    memset(graph.next[graph.n], -1, sizeof graph.next[graph.n]);
    graph.reaches[graph.n] = 0;
    graph.n++;
  }
  return graph.slot[at];
}

/* Restores a state, in the way in which it was first reached. */
static void replay(int state) {
  static unsigned char path[STATES];
  int length = 0;
  for (; state > 0; state = graph.parent[state]) path[length++] = graph.by[state];
  put_back();
  memset(history, 0, sizeof history);
  begin_coroutines(rank_work);
  while (length > 0) resume(path[--length]);
}

/* Makes one step of `rank` from the current state; returns the state it leads to. */
static int step(int state, int rank, int *is_new) {
  int there;
  resume(rank);
  there = number_of(state_hash(), is_new);
  graph.next[state][rank] = there;
  if (*is_new) {
    graph.parent[there] = state;
    graph.by[there] = (unsigned char)rank;
    graph.reaches[there] = (unsigned char)all_finished();
  }
  return there;
}

/* Explores from a step on, lowest ranks first, until a known state; queues the remaining steps. */
static void follow(int state, int rank) {
  int r, is_new = 1;
  for (; is_new && graph.n < STATES && all_right(); rank = r) {
    state = step(state, rank, &is_new);
    for (r = 0; r < now.ranks && coroutine[r].finished; r++) continue;
    for (rank = r + 1; is_new && rank < now.ranks; rank++)
      if (!coroutine[rank].finished) graph.next[state][rank] = -2;
    if (r == now.ranks) return;
  }
}

/* How many states cannot reach the end. */
static int stuck_states(void) {
  int s, r, changed = 1, stuck = 0;
  while (changed)
    for (s = graph.n - 1, changed = 0; s >= 0; s--)
      for (r = 0; r < now.ranks && !graph.reaches[s]; r++)
        if (graph.next[s][r] >= 0 && graph.reaches[graph.next[s][r]])
          changed = graph.reaches[s] = 1;
  for (s = 0; s < graph.n; s++) stuck += !graph.reaches[s];
  return stuck;
}

static void explore(void) {
  int s, r, is_new;
  size_t k;
  for (k = 0; k < 2 * STATES; k++) graph.slot[k] = -1;
  graph.n = 0;
  exploring = 1;
  replay(0);
  number_of(state_hash(), &is_new);
  for (r = 1; r < now.ranks; r++) graph.next[0][r] = -2;
  follow(0, 0);
  for (s = 0; s < graph.n && graph.n < STATES && all_right(); s++)
    for (r = 0; r < now.ranks && all_right(); r++)
      if (graph.next[s][r] == -2) {
        replay(s);
        follow(s, r);
      }
  exploring = 0;
}

static void allocate_graph(void) {
  graph.hash = malloc(STATES * sizeof *graph.hash);
  graph.slot = malloc(2 * STATES * sizeof *graph.slot);
  graph.next = malloc(STATES * sizeof *graph.next);
  graph.parent = malloc(STATES * sizeof *graph.parent);
  graph.by = malloc(STATES);
  graph.reaches = malloc(STATES);
  allocate_stacks();
}

static void free_graph(void) {
  free(graph.hash);
  free(graph.slot);
  free(graph.next);
  free(graph.parent);
  free(graph.by);
  free(graph.reaches);
  free_stacks();
}

static void run_coroutines(const ring_case *c) {
  uint64_t steady;
  int right;
  now = *c;
  memset(crew, 0, sizeof crew);
  crew_size = c->ranks;
  test_piece_bytes = c->piece;
  run_in_turns(rank_create);
  if (!test_case(all_right(), "coroutines make a plan, %s", c->name)) return;
  remember_all();
  steady = steady_hash();
  explore();
  right = all_right() && steady_hash() == steady;
  test_case(right && graph.n > 100 && graph.n < STATES - 1 && stuck_states() == 0,
            "every interleaving, %s: %d states, %s, %d cannot end", c->name, graph.n,
            right ? "data right" : "DATA WRONG", right ? stuck_states() : -1);
  if (getenv("RINGS_VERBOSE") != NULL) printf("%s: %d states\n", c->name, graph.n);
  put_back();
  forget_all();
  memset(crew_word, 0, sizeof crew_word);
  run_in_turns(rank_destroy);
}

int main(void) {
  static const ring_case threads[] = {
      {"ring", 2, 480, 1, 0, 60, 128, 0, {0}, 0, 0, 0, 0},
      {"several arrays", 3, 504, 2, 0, 40, 128, 0, {0}, 0, 0, 0, 0},
      {"short messages", 4, 64, 1, 0, 60, 4096, 0, {0}, 0, 0, 0, 0},
      {"in place", 3, 504, 2, 1, 40, 128, 0, {0}, 0, 0, 0, 0},
      {"arena", 3, 504, 1, 0, 60, 128, 0, {15, 15, 15, 15, 15, 15, 15, 15}, 0, 0, 0, 0},
      {"arena, far", 3, 504, 1, 0, 60, 4096, 0, {15, 15, 15, 15, 15, 15, 15, 15}, 1, 0, 0, 0},
      {"arena, interleaved",
       3,
       504,
       1,
       0,
       60,
       4096,
       0,
       {15, 15, 15, 15, 15, 15, 15, 15},
       0,
       1,
       0,
       0},
      {"arena, far, interleaved",
       3,
       504,
       1,
       0,
       60,
       128,
       0,
       {15, 15, 15, 15, 15, 15, 15, 15},
       1,
       1,
       0,
       0},
      {"arena and ring alternately",
       2,
       480,
       2,
       0,
       60,
       128,
       0,
       {0, 3, 3, 0, 0, 1, 2, 3},
       0,
       0,
       0,
       0},
      {"arena and ring alternately",
       4,
       480,
       1,
       0,
       60,
       128,
       0,
       {0, 15, 5, 10, 1, 14, 15, 0},
       1,
       0,
       0,
       0},
      {"sources in the arena",
       4,
       480,
       1,
       0,
       60,
       4096,
       0,
       {0, 255, 80, 160, 31, 14, 240, 0},
       0,
       0,
       0,
       0},
      {"arena and short messages alternately",
       3,
       72,
       1,
       0,
       60,
       4096,
       0,
       {0, 7, 0, 7, 1, 6, 3, 0},
       0,
       0,
       0,
       0},
      {"two plans", 3, 504, 1, 0, 60, 128, 0, {15, 15, 15, 0, 15, 3, 15, 15}, 0, 0, 2, 0},
      {"two plans, far", 3, 504, 1, 0, 60, 4096, 0, {15, 15, 15, 0, 15, 3, 15, 15}, 1, 0, 2, 0},
      {"replicas", 4, 480, 2, 0, 60, 128, 0, {0}, 0, 2, 0, 0},
      {"replicas, executed", 4, 480, 1, 0, 60, 128, 0, {0}, 0, 2, 0, 1},
      {"replicas, arena", 4, 480, 1, 0, 60, 128, 0, {15, 0, 1, 14, 15, 15, 7, 15}, 1, 2, 0, 0},
      {"arena, executed", 3, 504, 1, 0, 60, 128, 0, {15, 15, 15, 15, 15, 15, 15, 15}, 0, 0, 0, 1},
      {"arena and ring alternately, executed",
       2,
       480,
       2,
       0,
       60,
       128,
       0,
       {0, 3, 3, 0, 0, 1, 2, 3},
       0,
       0,
       0,
       1},
  };
  static const ring_case small[] = {
      {"2 slots, 3 pieces, 2 executions", 2, 96, 1, 0, 2, 64, 2, {0}, 0, 0, 0, 0},
      {"1 slot, 2 pieces, 3 executions", 2, 64, 1, 0, 3, 64, 1, {0}, 0, 0, 0, 0},
      {"short messages, 4 executions", 2, 32, 1, 0, 4, 4096, 0, {0}, 0, 0, 0, 0},
      {"in place, 2 pieces, 3 executions", 2, 64, 1, 1, 3, 64, 0, {0}, 0, 0, 0, 0},
      {"in place, short messages, 3 executions", 2, 32, 1, 1, 3, 4096, 0, {0}, 0, 0, 0, 0},
      {"arena, 3 executions", 2, 32, 1, 0, 3, 64, 0, {3, 3, 3}, 0, 0, 0, 0},
      {"arena, far, 3 executions", 2, 32, 1, 0, 3, 64, 0, {3, 3, 3}, 1, 0, 0, 0},
      {"arena, interleaved, 3 executions", 2, 32, 1, 0, 3, 64, 0, {3, 3, 3}, 0, 1, 0, 0},
      {"arena, far, interleaved, 3 executions", 2, 32, 1, 0, 3, 64, 0, {3, 3, 3}, 1, 1, 0, 0},
      {"ring, arena, ring", 2, 64, 1, 0, 3, 64, 2, {0, 3, 0}, 0, 0, 0, 0},
      {"arena, ring, arena", 2, 64, 1, 0, 3, 64, 2, {3, 0, 3}, 1, 0, 0, 0},
      {"one in the arena, then the other", 2, 64, 1, 0, 3, 64, 2, {1, 2, 1}, 0, 0, 0, 0},
      {"sources in the arena, then all, far", 2, 32, 1, 0, 3, 64, 0, {16 + 2, 3, 32}, 1, 0, 0, 0},
      {"two plans in different orders", 2, 32, 1, 0, 1, 64, 0, {3}, 0, 0, 2, 0},
      {"arena, long, 2 executions", 2, 64, 1, 0, 2, 64, 1, {3, 3}, 0, 0, 0, 0},
      {"arena, long, executed twice", 2, 64, 1, 0, 2, 64, 1, {3, 3}, 0, 0, 0, 1},
      {"arena, executed 3 times", 2, 32, 1, 0, 3, 64, 0, {3, 3, 3}, 0, 0, 0, 1},
      {"one in the arena, then the other, executed", 2, 32, 1, 0, 3, 64, 0, {1, 2, 3}, 0, 0, 0, 1},
      {"arena, far, interleaved, executed", 2, 32, 1, 0, 2, 64, 0, {3, 3}, 1, 1, 0, 1},
      {"sources in the arena, long, executed", 2, 64, 1, 0, 2, 64, 1, {48, 48}, 0, 0, 0, 1},
      {"replicas, 1 slot, 2 pieces, 2 executions", 3, 16, 1, 0, 2, 64, 1, {0}, 0, 2, 0, 0},
      {"short replicas, 3 executions", 3, 8, 1, 0, 3, 64, 0, {0}, 0, 2, 0, 1},
      {"replicas, arena, 2 executions", 3, 16, 1, 0, 2, 64, 1, {7, 7}, 0, 2, 0, 0},
  };
  size_t k;
  if (access("/dev/shm", W_OK) != 0) {
    test_skip("no /dev/shm");
    return test_report("rings");
  }
#ifndef RINGS_SANITIZED
  allocate_graph();
  for (k = 0; k < sizeof small / sizeof *small; k++) run_coroutines(&small[k]);
  free_graph();
  test_ring_bytes = 65536;
#else
  test_ring_bytes = 65536;
  (void)small;
  (void)run_coroutines;
  (void)allocate_graph;
  (void)free_graph;
  (void)point_after;
#endif
  for (k = 0; k < sizeof threads / sizeof *threads; k++) run_threads(&threads[k]);
  return test_report("rings");
}
