/* Shared memory that the library creates itself: the MPI calls of creation, files that are not what
   they claim to be, failing system calls, delays, refusals by the system, leaks. MIT licence, see
   LICENSE.
   usage: own_memory [seccomp-make | seccomp-open | permission | proc | shm | mounts]
          own_memory kill RANK CALL     (rank -1: all) */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REDIST_RING_BYTES 65536 /* arenas are made by the thousand */
#include "failing_malloc.h"

/* ---- the system calls of the library ---- */

enum lie {
  NONE,
  NO_FILE,
  OTHER_PROCESS,
  OTHER_DEVICE,
  OTHER_INODE,
  OTHER_USER,
  OTHER_TOKEN,
  TOO_SHORT,
  NOT_REGULAR,
  LIES
};

static enum lie lie;
static int names_lie;       /* files with names, too */
static int by_name;         /* the file opened last has one */
static int name_tries;      /* files with names, or attempts */
static int live_names;      /* that exist */
static int until_call = -1; /* the system call that fails, or kills the rank */
static int kills, delays, opened_early, written_early;
static int delayed; /* so many times */

static int call_fails(void) {
  const struct timespec some = {0, 50000};
  if (delays && (delayed++ * 7 + 1) % (5 + getpid() % 3) == 0)
    nanosleep(&some, NULL);
  else if (delays)
    sched_yield();
  if (until_call < 0 || until_call-- > 0) return 0;
  if (kills) raise(SIGKILL);
  errno = EIO;
  return 1;
}

/* The lie about the file opened last. */
static enum lie lie_now(void) { return by_name && !names_lie ? NONE : lie; }

static int begins_with(const char *path, const char *begin) {
  return strncmp(path, begin, strlen(begin)) == 0;
}

/* A file of another rank is opened so that nothing blocks or is written, and again when it is
   verified. */
static int test_open(const char *path, int flags, ...) {
  const int creates = (flags & O_CREAT) != 0, writes = (flags & O_ACCMODE) != O_RDONLY;
  const int own = creates || strcmp(path, "/dev/shm") == 0;
  int verified = begins_with(path, "/proc/self/fd"), file;
  if (!verified) by_name = begins_with(path, "/dev/shm/redist-");
  name_tries += creates;
  if (call_fails() || (own && lie_now() == NO_FILE)) return -1;
  verified |= by_name && writes && !own;
  if (!own && !verified && (by_name || strstr(path, "/fd/") != NULL))
    opened_early += writes || !(flags & O_NONBLOCK);
  written_early += verified && lie_now() >= OTHER_PROCESS;
  file = open(path, flags, 0600);
  live_names += creates && file >= 0;
  return file;
}

static int test_unlink(const char *path) {
  const int code = unlink(path);
  live_names -= code == 0;
  return code;
}

static int test_fstat(int file, struct stat *s) {
  const int code = call_fails() ? -1 : fstat(file, s);
  if ((fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY) return code; /* the rank's own */
  s->st_dev += lie_now() == OTHER_DEVICE;
  s->st_ino += lie_now() == OTHER_INODE;
  s->st_uid += lie_now() == OTHER_USER;
  if (lie_now() == TOO_SHORT) s->st_size = 4;
  if (lie_now() == NOT_REGULAR) s->st_mode = S_IFIFO | 0600;
  return code;
}

static ssize_t test_read(int file, void *data, size_t bytes) {
  const ssize_t n = call_fails() ? -1 : read(file, data, bytes);
  if (lie_now() == OTHER_TOKEN && n == 8) ((char *)data)[0]++;
  return n;
}

static ssize_t test_write(int file, const void *data, size_t n) {
  return call_fails() ? -1 : write(file, data, n);
}
static off_t test_lseek(int file, off_t at, int how) {
  return call_fails() ? -1 : lseek(file, at, how);
}
static pid_t test_getpid(void) { return lie == OTHER_PROCESS ? getppid() : getpid(); }
static void *test_mmap(void *at, size_t bytes, int how, int flags, int file, off_t from) {
  return call_fails() ? MAP_FAILED : mmap(at, bytes, how, flags, file, from);
}

#define open test_open
#define unlink test_unlink
#define fstat test_fstat
#define read test_read
#define write test_write
#define lseek test_lseek
#define getpid test_getpid
#define mmap test_mmap
#include "exchange.h"
#undef open
#undef unlink
#undef fstat
#undef read
#undef write
#undef lseek
#undef getpid
#undef mmap

/* ---- MPI calls ---- */

static int duplicates, agreements, gathers, messages;

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  duplicates++;
  return PMPI_Comm_idup(comm, made, request);
}

int MPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  agreements++;
  return PMPI_Iallreduce(from, to, n, type, op, comm, request);
}

int MPI_Iallgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype its,
                   MPI_Comm comm, MPI_Request *request) {
  gathers++;
  return PMPI_Iallgather(from, n, type, to, m, its, comm, request);
}

int MPI_Isend(const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  messages++;
  return PMPI_Isend(from, n, type, to, tag, comm, request);
}

/* ---- resources of this process ---- */

typedef struct {
  int64_t files, mappings, blocks, names;
} holdings;

static holdings held(void) {
  holdings h = {0, 0, live_blocks, live_names};
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  DIR *files = opendir("/proc/self/fd");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    h.mappings += strstr(line, "/dev/shm/#") != NULL || strstr(line, "/dev/shm/redist-") != NULL;
  while (files != NULL && readdir(files) != NULL) h.files++;
  if (maps != NULL) fclose(maps);
  closedir(files);
  h.files--;
  return h;
}

static int is_same(holdings a, holdings b) {
  return a.files == b.files && a.mappings == b.mappings && a.blocks == b.blocks &&
         a.names == b.names;
}

/* ---- plans ---- */

static exchange *open_exchange(redist_method method, int64_t n) {
  exchange *e = exchange_new(MPI_COMM_WORLD);
  exchange_rows(e, n, n - 3, TEST_BLOCK);
  e->method = method;
  exchange_allocate(e);
  return e;
}

static void close_exchange(exchange *e) {
  exchange_release(e);
  free(e);
}

/* Creates a plan, perhaps in an arena, runs it twice, frees it. Returns whether all passed;
   *method: the method used. */
static int live(exchange *e, int in_arena, redist_method *method) {
  redist_options options;
  redist_arena *arena = NULL;
  redist_stats stats;
  int good;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  good = !in_arena || redist_arena_create(MPI_COMM_WORLD, 10000, &arena) == REDIST_OK;
  options.arena = arena;
  good = good && exchange_create_with(e, &options) == REDIST_OK &&
         redist_plan_stats(e->plan, &stats) == REDIST_OK && exchange_is_right(e, 1) &&
         exchange_is_right(e, 2);
  *method = stats.method;
  return redist_plan_free(&e->plan) == REDIST_OK && redist_arena_free(&arena) == REDIST_OK && good;
}

/* One duplicate, a message to each peer, and one agreement each on the arguments, the duplicate,
   the outcome and the connections; nothing that spins. Messages that may be streamed need one more
   agreement, on whether cores share a cache; files with names, after others were refused, one more
   outcome and message to each peer. */
static void check_costs(int in_arena) {
#ifdef REDIST_NAMED_MEMORY
  const int tries = 2;
#else
  const int tries = 1;
#endif
  const holdings before = held();
  exchange *e = open_exchange(REDIST_SHARED, 30);
  redist_arena *arena = NULL;
  redist_options options;
  redist_stats stats;
  int created;
  memset(&options, 0, sizeof options);
  memset(&stats, 0, sizeof stats);
  if (in_arena) redist_arena_create(MPI_COMM_WORLD, 1000, &arena);
  options.arena = arena;
  duplicates = agreements = gathers = messages = 0;
  created = exchange_create_with(e, &options) == REDIST_OK &&
            redist_plan_stats(e->plan, &stats) == REDIST_OK;
  test_case_all(created && stats.method == REDIST_SHARED && gathers == 0 &&
                    duplicates == !in_arena && agreements == (in_arena ? 3 : 3 + tries) &&
                    messages == (in_arena ? 0 : tries * (test_size() - 1)),
                "creating%s: method %d, %d gathers, %d duplicates, %d agreements, %d messages",
                in_arena ? " in an arena" : "", (int)stats.method, gathers, duplicates, agreements,
                messages);
  test_case_all(held().files == before.files + in_arena * test_size() &&
                    held().mappings == before.mappings + test_size() && live_names == 0,
                "one mapping a rank, and in an arena one file: %ld, %ld files, %d names",
                (long)(held().mappings - before.mappings), (long)(held().files - before.files),
                live_names);
  redist_plan_free(&e->plan);
  redist_arena_free(&arena);
  close_exchange(e);
  test_case_all(is_same(held(), before), "all is given back: %ld mappings, %ld files, %ld blocks",
                (long)(held().mappings - before.mappings), (long)(held().files - before.files),
                (long)(held().blocks - before.blocks));
}

/* A wrong file is never taken for a rank's, nor written to: plans use files with names or, if those
   are wrong, too, messages. */
static void check_lie(enum lie which, int bad_rank, int in_arena) {
  const int lies = bad_rank < 0 || bad_rank == test_rank();
  const holdings before = held();
  exchange *e = open_exchange(REDIST_SHARED, 40 + (int)which);
  redist_method method;
  int good;
  name_tries = opened_early = written_early = 0;
  lie = lies ? which : NONE;
  good = live(e, in_arena, &method);
  lie = NONE;
  test_case_all(
      good && name_tries > 0 && opened_early == 0 &&
          (method == REDIST_SHARED) == (!names_lie || which == OTHER_PROCESS) &&
          (which == OTHER_PROCESS || written_early == 0 || !lies),
      "lie %d on rank %d (-1: all)%s%s: method %d, %d named, %d opened, %d written too early: %s",
      (int)which, bad_rank, in_arena ? " in an arena" : "", names_lie ? ", of names" : "",
      (int)method, name_tries, opened_early, written_early, e->message);
  close_exchange(e);
  test_case_all(is_same(held(), before), "after lie %d all is given back", (int)which);
}

static void check_lies(int in_arena) {
  int which, bad_rank;
  for (names_lie = 0; names_lie < 2; names_lie++)
    for (which = NO_FILE; which < LIES; which++)
      for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size())
        check_lie((enum lie)which, bad_rank, in_arena);
  names_lie = 0;
}

/* Any system call fails, on one rank or on all: all ranks use the same method. */
static void check_failures(int in_arena) {
  int k, hit = 1, bad_rank;
  for (bad_rank = -1; bad_rank < test_size(); bad_rank += test_size())
    for (k = 0, hit = 1; hit; k += test_size() > 2 ? 3 : 1) {
      const holdings before = held();
      exchange *e = open_exchange(REDIST_SHARED, 30 + k % 30);
      redist_method method;
      int good, sum;
      until_call = bad_rank < 0 || bad_rank == test_rank() ? k : -1;
      good = live(e, in_arena, &method);
      hit = test_sum((bad_rank < 0 || bad_rank == test_rank()) && until_call < 0) > 0;
      until_call = -1;
      sum = test_sum((int)method);
      test_case_all(good && sum == test_size() * (int)method,
                    "system call %d fails on rank %d (-1: all)%s: %s", k, bad_rank,
                    in_arena ? " in an arena" : "", e->message);
      close_exchange(e);
      test_case_all(is_same(held(), before), "after a failure of call %d all is given back", k);
    }
}

/* Ranks reach every step at different times. */
static void check_delays(int times) {
  exchange *e = open_exchange(REDIST_SHARED, 50);
  redist_method method = REDIST_SHARED;
  int k, good = 1;
  delays = 1;
  for (k = 0; k < times && good; k++)
    good = test_sum(live(e, k % 4 == 3, &method)) == test_size() && method == REDIST_SHARED;
  delays = 0;
  test_case_all(good, "plan %d with delays", k);
  close_exchange(e);
}

static int64_t resident(void) {
  long pages = 0, all;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages * 4096;
}

/* Thousands of plans leave nothing behind. */
static void check_many(int times) {
  exchange *e = open_exchange(REDIST_AUTO, 60);
  const holdings before = held();
  struct statvfs first, last;
  int64_t bytes = 0;
  int k, good = 1;
  statvfs("/dev/shm", &first);
  exchange_prepare(e, 1);
  for (k = 0; k < times && good; k++) {
    bytes = k == times / 10 ? resident() : bytes;
    good = exchange_create(e) == REDIST_OK && exchange_run(e) == REDIST_OK &&
           redist_plan_free(&e->plan) == REDIST_OK;
  }
  bytes = resident() - bytes;
  statvfs("/dev/shm", &last);
  test_case_all(good && exchange_arrived(e, 1) && is_same(held(), before) && bytes < 2 << 20,
                "%d plans one after the other: %ld files, %ld mappings, %ld blocks, %ld bytes", k,
                (long)(held().files - before.files), (long)(held().mappings - before.mappings),
                (long)(held().blocks - before.blocks), (long)bytes);
  test_case_all((double)last.f_bavail * 4096 > (double)first.f_bavail * 4096 - 256e6,
                "/dev/shm is as it was");
  close_exchange(e);
}

/* Where files may not be as long as needed, plans send messages, and arrays are not adopted; there
   is no signal. */
static void check_limit(void) {
  enum { BYTES = 8192 };
  struct rlimit longest, small;
  exchange *e = open_exchange(REDIST_SHARED, 60);
  redist_arena *arena;
  void *array = calloc(BYTES, 1);
  redist_method method;
  int good;
  getrlimit(RLIMIT_FSIZE, &longest);
  small = longest;
  for (small.rlim_cur = 0; small.rlim_cur < 10000; small.rlim_cur += 4096) {
    setrlimit(RLIMIT_FSIZE, &small);
    good = live(e, 0, &method);
    setrlimit(RLIMIT_FSIZE, &longest);
    test_case_all(good && method == REDIST_POINT_TO_POINT, "files of %ld bytes: method %d",
                  (long)small.rlim_cur, (int)method);
  }
  good = redist_arena_create(MPI_COMM_WORLD, 0, &arena) == REDIST_OK;
  small.rlim_cur = 1 << 30;
  setrlimit(RLIMIT_FSIZE, &small);
  good &= redist_arena_adopt(arena, array, BYTES) == REDIST_ERR_MEMORY;
  setrlimit(RLIMIT_FSIZE, &longest);
  test_case_all(good, "an array is not adopted where files have at most 2^30 bytes");
  redist_arena_free(&arena);
  free(array);
  close_exchange(e);
}

/* ---- what the system refuses ---- */

/* From now on openat fails where its flags have these bits. Little-endian. */
static int forbid(unsigned flags) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
                               BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        offsetof(struct seccomp_data, args[2])),
                               BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flags),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int refuse(const char *what) {
  if (strcmp(what, "seccomp-make") == 0) return forbid(__O_TMPFILE);
  if (strcmp(what, "seccomp-open") == 0) return forbid(O_NONBLOCK | O_NOCTTY);
  if (strcmp(what, "permission") == 0)
    return (geteuid() != 0 || setresuid(65534, 65534, 65534) == 0) &&
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return 0;
  if (strcmp(what, "proc") == 0) return mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0;
  if (strcmp(what, "shm") == 0) /* read-only */
    return mount("/dev/shm", "/dev/shm", NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
  return test_rank() % 2 == 0 || mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0;
}

/* Where the system refuses files without names, plans use files with names, and where it refuses
   those, messages; as do ranks with different /dev/shm. */
static void check_refused(const char *what) {
  const int apart = strcmp(what, "mounts") == 0,
            both = strcmp(what, "seccomp-open") == 0 || strcmp(what, "shm") == 0;
  exchange *e = open_exchange(REDIST_SHARED, 57);
  redist_method method;
  int in_arena, good;
  if (test_sum(refuse(what)) < test_size()) {
    if (test_rank() == 0) test_skip("this cannot be refused here");
    return;
  }
  for (in_arena = 0; in_arena < 2; in_arena++) {
    name_tries = 0;
    good = live(e, in_arena, &method);
    test_case_all(good && (apart ? name_tries == 0 && (test_size() > 2 || method != REDIST_SHARED)
                                 : name_tries > 0 && (method == REDIST_SHARED) == !both),
                  "%s%s: method %d, %d files with names: %s", what, in_arena ? ", in an arena" : "",
                  (int)method, name_tries, e->message);
  }
  close_exchange(e);
}

/* Kills one rank, or all, during creation; own_memory.sh checks what is left. */
static void end_early(int rank, int call) {
  redist_arena *arena;
  exchange *e = open_exchange(REDIST_SHARED, 60);
  kills = 1;
  until_call = rank < 0 || rank == test_rank() ? call : -1;
  redist_arena_create(MPI_COMM_WORLD, 16 << 20, &arena);
  exchange_create(e);
  raise(SIGKILL);
}

int main(int count, char **arguments) {
  int status, in_arena;
  MPI_Init(&count, &arguments);
  if (count > 3 && strcmp(arguments[1], "kill") == 0)
    end_early(atoi(arguments[2]), atoi(arguments[3]));
  if (count > 1) {
    check_refused(arguments[1]);
  } else {
    for (in_arena = 0; in_arena < 2; in_arena++) {
      check_costs(in_arena);
      check_lies(in_arena);
      check_failures(in_arena);
    }
    check_delays(200);
    check_limit();
    check_many(test_size() <= 2 ? 3000 : 500);
  }
  status = test_report_all("own_memory");
  MPI_Finalize();
  return status;
}
