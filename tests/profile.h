/* redist tests: an MPI profiling layer that counts a plan's MPI calls. Include it in one file. MIT
   licence, see LICENSE. */
#ifndef PROFILE_H
#define PROFILE_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>

enum {
  PROFILE_POSTS = 4096,
  PROFILE_LIVE = 2048,
  PROFILE_SEND = 0,
  PROFILE_RECEIVE = 1,
  PROFILE_COLLECTIVE = 2
};

/* A message, or a collective, that was posted or whose persistent request was started. */
typedef struct {
  int side, persistent, peer; /* side: PROFILE_SEND, ... */
  int64_t bytes;
  const char *memory;
} profile_post;

/* The MPI calls since profile_begin. A message is in flight from its start until a test reports it
   complete. */
static struct {
  int recording, posts, persistent; /* posts: messages and collectives */
  int count[3], flying[3], most[3]; /* by side */
  int prepared;                     /* persistent requests made */
  int others;   /* calls that progress no posted message: there should be none */
  int polls;    /* tests and probes */
  int64_t self; /* bytes that collectives move from the rank to itself */
  profile_post post[PROFILE_POSTS];
} profile;

/* Existing requests, started or not. */
static struct {
  MPI_Request request;
  profile_post post;
  int active;
} profile_live[PROFILE_LIVE];
static int profile_lives;

static void profile_begin(void) {
  memset(&profile, 0, sizeof profile);
  profile.recording = 1;
}

static void profile_end(void) { profile.recording = 0; }

static void profile_note(const profile_post *post) {
  if (!profile.recording) return;
  if (profile.posts < PROFILE_POSTS) profile.post[profile.posts] = *post;
  profile.posts++;
  profile.persistent += post->persistent;
  profile.count[post->side]++;
  if (++profile.flying[post->side] > profile.most[post->side])
    profile.most[post->side] = profile.flying[post->side];
}

/* Records a request. Requests may be equal when MPI completes messages immediately. */
static void profile_made(MPI_Request request, const profile_post *post, int active) {
  if (profile_lives < PROFILE_LIVE) {
    profile_live[profile_lives].request = request;
    profile_live[profile_lives].post = *post;
    profile_live[profile_lives++].active = active;
  }
  if (active)
    profile_note(post);
  else if (profile.recording)
    profile.prepared++;
}

static int profile_find(MPI_Request request, int active) {
  int k;
  for (k = 0; k < profile_lives; k++)
    if (profile_live[k].request == request && profile_live[k].active == active) return k;
  return -1;
}

static void profile_started(MPI_Request request) {
  const int k = profile_find(request, 0);
  if (k < 0) return;
  profile_live[k].active = 1;
  profile_note(&profile_live[k].post);
}

static void profile_gone(int k) { profile_live[k] = profile_live[--profile_lives]; }

static void profile_completed(MPI_Request request) {
  const int k = profile_find(request, 1);
  if (k < 0) return;
  if (profile.recording) profile.flying[profile_live[k].post.side]--;
  profile_live[k].active = 0;
  if (!profile_live[k].post.persistent) profile_gone(k);
}

static profile_post profile_message(int side, int persistent, const void *memory, int count,
                                    MPI_Datatype type, int peer) {
  profile_post post;
  int size = 0;
  PMPI_Type_size(type, &size);
  post.side = side;
  post.persistent = persistent;
  post.peer = peer;
  post.bytes = (int64_t)count * size;
  post.memory = (const char *)memory;
  return post;
}

/* ---- messages ---- */

#define PROFILE_MESSAGE(name, side, persistent, constness)                                         \
  int name(constness void *memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
           MPI_Request *request) {                                                                 \
    const profile_post post = profile_message(side, persistent, memory, count, type, peer);        \
    const int code = P##name(memory, count, type, peer, tag, comm, request);                       \
    profile_made(*request, &post, !(persistent));                                                  \
    return code;                                                                                   \
  }

PROFILE_MESSAGE(MPI_Isend, PROFILE_SEND, 0, const)
PROFILE_MESSAGE(MPI_Irecv, PROFILE_RECEIVE, 0, )
PROFILE_MESSAGE(MPI_Send_init, PROFILE_SEND, 1, const)
PROFILE_MESSAGE(MPI_Recv_init, PROFILE_RECEIVE, 1, )

int MPI_Start(MPI_Request *request) {
  profile_started(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request *request) {
  int k;
  for (k = 0; k < n; k++) profile_started(request[k]);
  return PMPI_Startall(n, request);
}

int MPI_Request_free(MPI_Request *request) {
  int k = profile_find(*request, 0);
  if (k < 0) k = profile_find(*request, 1);
  if (k >= 0) profile_gone(k);
  return PMPI_Request_free(request);
}

/* ---- completion ---- */

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  const MPI_Request before = *request;
  const int code = PMPI_Test(request, done, status);
  profile.polls += profile.recording;
  if (*done) profile_completed(before);
  return code;
}

int MPI_Testsome(int n, MPI_Request *request, int *done, int *index, MPI_Status *status) {
  MPI_Request before[PROFILE_LIVE];
  int k, code;
  memcpy(before, request, (size_t)(n < PROFILE_LIVE ? n : PROFILE_LIVE) * sizeof *request);
  code = PMPI_Testsome(n, request, done, index, status);
  profile.polls += profile.recording;
  for (k = 0; *done != MPI_UNDEFINED && k < *done; k++) profile_completed(before[index[k]]);
  return code;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  profile.polls += profile.recording;
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

/* ---- collectives: the bytes of a side, and those that a rank sends to itself ---- */

static profile_post profile_collective(const int *counts, MPI_Datatype type,
                                       const MPI_Datatype *types, MPI_Comm comm, int persistent) {
  profile_post post = {PROFILE_COLLECTIVE, 0, -1, 0, NULL};
  int rank, size, k, bytes;
  post.persistent = persistent;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  for (k = 0; k < size; k++) {
    PMPI_Type_size(types == NULL ? type : types[k], &bytes);
    post.bytes += (int64_t)counts[k] * bytes;
    if (k == rank) profile.self += (int64_t)counts[k] * bytes;
  }
  return post;
}

int MPI_Alltoallv(const void *from, const int *counts, const int *at, MPI_Datatype type, void *to,
                  const int *to_counts, const int *to_at, MPI_Datatype to_type, MPI_Comm comm) {
  const profile_post post = profile_collective(counts, type, NULL, comm, 0);
  profile_note(&post);
  profile.flying[PROFILE_COLLECTIVE] -= profile.recording;
  return PMPI_Alltoallv(from, counts, at, type, to, to_counts, to_at, to_type, comm);
}

int MPI_Ialltoallv(const void *from, const int *counts, const int *at, MPI_Datatype type, void *to,
                   const int *to_counts, const int *to_at, MPI_Datatype to_type, MPI_Comm comm,
                   MPI_Request *request) {
  const profile_post post = profile_collective(counts, type, NULL, comm, 0);
  const int code =
      PMPI_Ialltoallv(from, counts, at, type, to, to_counts, to_at, to_type, comm, request);
  profile_made(*request, &post, 1);
  return code;
}

int MPI_Ialltoallw(const void *from, const int *counts, const int *at, const MPI_Datatype *types,
                   void *to, const int *to_counts, const int *to_at, const MPI_Datatype *to_types,
                   MPI_Comm comm, MPI_Request *request) {
  const profile_post post = profile_collective(counts, MPI_BYTE, types, comm, 0);
  const int code =
      PMPI_Ialltoallw(from, counts, at, types, to, to_counts, to_at, to_types, comm, request);
  profile_made(*request, &post, 1);
  return code;
}

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
int MPI_Alltoallv_init(const void *from, const int *counts, const int *at, MPI_Datatype type,
                       void *to, const int *to_counts, const int *to_at, MPI_Datatype to_type,
                       MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  const profile_post post = profile_collective(counts, type, NULL, comm, 1);
  const int code = PMPI_Alltoallv_init(from, counts, at, type, to, to_counts, to_at, to_type, comm,
                                       info, request);
  profile_made(*request, &post, 0);
  return code;
}

int MPI_Alltoallw_init(const void *from, const int *counts, const int *at,
                       const MPI_Datatype *types, void *to, const int *to_counts, const int *to_at,
                       const MPI_Datatype *to_types, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request) {
  const profile_post post = profile_collective(counts, MPI_BYTE, types, comm, 1);
  const int code = PMPI_Alltoallw_init(from, counts, at, types, to, to_counts, to_at, to_types,
                                       comm, info, request);
  profile_made(*request, &post, 0);
  return code;
}
#endif

/* ---- functions that no execution should call ---- */

#define PROFILE_OTHER(name, parameters, arguments) \
  int name parameters {                            \
    profile.others += profile.recording;           \
    return P##name arguments;                      \
  }

PROFILE_OTHER(MPI_Barrier, (MPI_Comm comm), (comm))
PROFILE_OTHER(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
PROFILE_OTHER(MPI_Send, (const void *m, int n, MPI_Datatype t, int peer, int tag, MPI_Comm comm),
              (m, n, t, peer, tag, comm))
PROFILE_OTHER(MPI_Recv,
              (void *m, int n, MPI_Datatype t, int peer, int tag, MPI_Comm comm, MPI_Status *s),
              (m, n, t, peer, tag, comm, s))
PROFILE_OTHER(MPI_Iallreduce,
              (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
               MPI_Request *request),
              (a, b, n, t, op, comm, request))
PROFILE_OTHER(MPI_Allreduce,
              (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
              (a, b, n, t, op, comm))
PROFILE_OTHER(MPI_Ibcast,
              (void *m, int n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request *request),
              (m, n, t, root, comm, request))
PROFILE_OTHER(MPI_Bcast, (void *m, int n, MPI_Datatype t, int root, MPI_Comm comm),
              (m, n, t, root, comm))
PROFILE_OTHER(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
PROFILE_OTHER(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request),
              (comm, made, request))
PROFILE_OTHER(MPI_Type_commit, (MPI_Datatype * type), (type))
PROFILE_OTHER(MPI_Type_create_hindexed_block,
              (int n, int length, const MPI_Aint *at, MPI_Datatype type, MPI_Datatype *made),
              (n, length, at, type, made))

#endif
