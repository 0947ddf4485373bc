/*
 * A disk between a process and its files, by LD_PRELOAD: it writes down what the process does to one folder, in the
 * order in which it happens, and fails on request. read-log.ts reads what it writes down.
 *
 *   DISK_SHIM_ROOT    the folder that is watched, an absolute path without symlinks
 *   DISK_SHIM_LOG     where it is written down; unset: not at all
 *   DISK_SHIM_MARKS   what the process writes to this path goes into the log as marks, and nowhere else
 *   DISK_SHIM_FAULT   a file that makes the disk fail while it exists: "sync EIO", "write EIO", "write ENOSPC" or
 *                     "sync lie" (syncs answer well and do nothing), then optionally the end of the paths concerned
 *
 * One lock is held over each call and its line in the log, so that the log's order is the disk's. What the shim itself
 * needs of the kernel it asks by syscall(), past its own functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK, RENAME, MKDIR, MARK };
enum fault { NONE, FAIL, LIE };

struct line {
  uint32_t kind;
  int32_t error;
  uint64_t offset; /* of a write; the size of a truncate */
  uint32_t path_length;
  uint32_t length; /* of what follows the path: what was written, the new path of a rename */
};

#define MOST_FDS 65536
static struct {
  char *path; /* in the folder, or `marks`; NULL: not of interest */
  dev_t dev;
  ino_t ino;
} files[MOST_FDS]; /* by descriptor */
static char marks[] = "marks";
static const char *root, *marks_path, *fault_path;
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  root = getenv("DISK_SHIM_ROOT");
  marks_path = getenv("DISK_SHIM_MARKS");
  fault_path = getenv("DISK_SHIM_FAULT");
  const char *log = getenv("DISK_SHIM_LOG");
  if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The real function, looked up at its first use. */
#define REAL(name)                                                                                                   \
  static __typeof__(name) *real;                                                                                     \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* A path's part below the folder, "" for the folder itself, or NULL. */
static const char *below(const char *path) {
  size_t length = root ? strlen(root) : 0;
  if (!length || strncmp(path, root, length)) return NULL;
  if (!path[length]) return path + length;
  return path[length] == '/' ? path + length + 1 : NULL;
}

/* What is open there. libuv closes some descriptors past close(), so that the number can have gone to another file. */
static char *path_of(int fd) {
  if (fd < 0 || fd >= MOST_FDS || !files[fd].path) return NULL;
  struct stat seen;
  if (fstat(fd, &seen) || seen.st_dev != files[fd].dev || seen.st_ino != files[fd].ino) files[fd].path = NULL;
  return files[fd].path;
}

static void put(const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t n = syscall(SYS_write, log_fd, (const char *)bytes + done, length - done);
    if (n <= 0) abort(); /* a log with a hole would prove nothing */
    done += n;
  }
}

static void note(enum kind kind, int error, const char *path, uint64_t offset, const void *bytes, size_t length) {
  if (log_fd < 0) return;
  struct line line = {kind, error, offset, strlen(path), length};
  put(&line, sizeof line);
  put(path, line.path_length);
  put(bytes, length);
}

/* Whether `call` ("write", "sync") on `path` is to fail now; `error` says with what. */
static enum fault fault_of(const char *call, const char *path, int *error) {
  char text[128] = "", which[16] = "", how[16] = "", suffix[64] = "";
  int fd = fault_path ? syscall(SYS_openat, AT_FDCWD, fault_path, O_RDONLY) : -1;
  if (fd < 0) return NONE;
  ssize_t n = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  if (n <= 0 || sscanf(text, "%15s %15s %63s", which, how, suffix) < 2 || strcmp(which, call)) return NONE;
  size_t length = strlen(path), end = strlen(suffix);
  if (end > length || strcmp(path + length - end, suffix)) return NONE;
  *error = strcmp(how, "ENOSPC") ? EIO : ENOSPC;
  return strcmp(how, "lie") ? FAIL : LIE;
}

static int opened(int fd, const char *path, int flags, int was_there) {
  if (fd < 0 || fd >= MOST_FDS) return fd;
  const char *inside = below(path);
  struct stat seen;
  fstat(fd, &seen);
  files[fd].dev = seen.st_dev;
  files[fd].ino = seen.st_ino;
  files[fd].path = marks_path && !strcmp(path, marks_path) ? marks : inside ? strdup(inside) : NULL;
  if (!inside) return fd;
  if (!was_there) note(CREATE, 0, inside, 0, "", 0);
  else if (flags & O_TRUNC) note(TRUNCATE, 0, inside, 0, "", 0);
  return fd;
}

#define OPEN(name, at, call)                                                                                         \
  {                                                                                                                  \
    REAL(name);                                                                                                      \
    va_list rest;                                                                                                    \
    va_start(rest, flags);                                                                                           \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                          \
    va_end(rest);                                                                                                    \
    pthread_mutex_lock(&lock);                                                                                       \
    struct stat seen;                                                                                                \
    int was_there = fstatat(at, path, &seen, 0) == 0;                                                                \
    int fd = opened(call, path, flags, was_there);                                                                   \
    pthread_mutex_unlock(&lock);                                                                                     \
    return fd;                                                                                                       \
  }
int open(const char *path, int flags, ...) OPEN(open, AT_FDCWD, real(path, flags, mode))
int open64(const char *path, int flags, ...) OPEN(open64, AT_FDCWD, real(path, flags, mode))
int openat(int at, const char *path, int flags, ...) OPEN(openat, at, real(at, path, flags, mode))
int openat64(int at, const char *path, int flags, ...) OPEN(openat64, at, real(at, path, flags, mode))

int close(int fd) {
  REAL(close);
  pthread_mutex_lock(&lock);
  if (fd >= 0 && fd < MOST_FDS) files[fd].path = NULL; /* not freed: a test's process is short */
  int result = real(fd);
  pthread_mutex_unlock(&lock);
  return result;
}

/* A write of `length` bytes at `offset`, -1 for the file's own position. A disk without room takes half of it first. */
static ssize_t write_to(int fd, const void *bytes, size_t length, off64_t offset) {
  pthread_mutex_lock(&lock);
  const char *path = path_of(fd);
  int error = 0;
  ssize_t done = -1;
  if (path == marks) {
    note(MARK, 0, "", 0, bytes, length);
    done = length;
  } else if (fault_of("write", path, &error) == FAIL && (error == EIO || length <= 512)) {
    note(WRITE, error, path, 0, "", 0);
    errno = error;
  } else {
    if (error == ENOSPC) length /= 2;
    uint64_t at = offset >= 0                           ? offset
                  : fcntl(fd, F_GETFL) & O_APPEND       ? lseek64(fd, 0, SEEK_END)
                                                        : lseek64(fd, 0, SEEK_CUR);
    done = offset < 0 ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, offset);
    if (done >= 0) note(WRITE, 0, path, at, bytes, done);
  }
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(write);
  return path_of(fd) ? write_to(fd, bytes, length, -1) : real(fd, bytes, length);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  REAL(pwrite);
  return path_of(fd) ? write_to(fd, bytes, length, offset) : real(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64);
  return path_of(fd) ? write_to(fd, bytes, length, offset) : real(fd, bytes, length, offset);
}

/* As many short writes: the caller sees how far it came, as with any other. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  if (!path_of(fd)) return real(fd, parts, count);
  ssize_t sum = 0;
  for (int i = 0; i < count; i++) {
    ssize_t n = write_to(fd, parts[i].iov_base, parts[i].iov_len, -1);
    if (n < 0) return sum ? sum : n;
    sum += n;
    if ((size_t)n < parts[i].iov_len) break;
  }
  return sum;
}

/* A call that succeeds or fails as a whole, and its line. */
#define WHOLE(path, call, kind, offset, bytes, length)                                                               \
  pthread_mutex_lock(&lock);                                                                                         \
  const char *inside = (path);                                                                                       \
  int result = (call);                                                                                               \
  if (inside && result == 0) note(kind, 0, inside, offset, bytes, length);                                           \
  pthread_mutex_unlock(&lock);                                                                                       \
  return result

int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  WHOLE(path_of(fd), real(fd, size), TRUNCATE, size, "", 0);
}

int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  WHOLE(path_of(fd), real(fd, size), TRUNCATE, size, "", 0);
}

int unlink(const char *path) {
  REAL(unlink);
  WHOLE(below(path), real(path), UNLINK, 0, "", 0);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  WHOLE(below(path), real(path, mode), MKDIR, 0, "", 0);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  const char *target = below(to);
  WHOLE(target ? below(from) : NULL, real(from, to), RENAME, 0, target, strlen(target));
}

static int sync_of(int fd, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  const char *path = path_of(fd);
  int error = 0, result = 0;
  enum fault fault = path ? fault_of("sync", path, &error) : NONE;
  if (fault == NONE) result = real(fd);
  if (fault == FAIL) result = -1;
  if (path && fault != LIE) note(SYNC, result ? (error ? error : errno) : 0, path, 0, "", 0);
  if (fault == FAIL) errno = error;
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) {
  REAL(fsync);
  return sync_of(fd, real);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return sync_of(fd, real);
}
