// A library to be preloaded that makes one call of the operating system fail, whichever process of
// a program and its children makes it:
//
//   PESUITE_FAULT=write:17:ENOSPC   the 17th write; "17+" that and all behind it
//   PESUITE_FAULT_COUNT=FILE        8 bytes, where all processes count the calls of that kind
//
// Kinds: write, fsync, rename, open, mmap, ftruncate, mkdir; each stands for its relatives, such as
// writev. Pipes are left alone, for no disk fills them. Calls that glibc makes inside itself are
// not seen: those of stdio, malloc and dlopen.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

namespace {

struct Fault {
  char kind[16] = "";
  long at = 0;
  bool stays = false;
  int error = 0;
  std::atomic<long>* count = nullptr;  // shared by all processes

  Fault() {
    const char* what = ::getenv("PESUITE_FAULT");
    const char* file = ::getenv("PESUITE_FAULT_COUNT");
    if (what == nullptr || file == nullptr) return;
    char number[24] = "", name[16] = "";
    if (::sscanf(what, "%15[^:]:%23[^:]:%15s", kind, number, name) != 3) ::abort();
    at = ::atol(number), stays = ::strchr(number, '+') != nullptr;
    for (const auto& [known, value] :
         {Named{"ENOSPC", ENOSPC}, Named{"EIO", EIO}, Named{"EMFILE", EMFILE},
          Named{"EACCES", EACCES}, Named{"ENOMEM", ENOMEM}})
      if (::strcmp(known, name) == 0) error = value;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0 || error == 0) ::abort();
    const long page =
        ::syscall(SYS_mmap, nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::syscall(SYS_close, fd);
    if (page == -1) ::abort();
    count = reinterpret_cast<std::atomic<long>*>(page);
  }
  struct Named {
    const char* name;
    int value;
  };
};

// True, with errno, where this call is the one that is to fail.
bool fails(const char* kind) {
  static Fault fault;
  if (fault.count == nullptr || ::strcmp(kind, fault.kind) != 0) return false;
  const long n = ++*fault.count;
  if (n != fault.at && !(fault.stays && n > fault.at)) return false;
  errno = fault.error;
  return true;
}

bool fails_on(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 && !S_ISFIFO(s.st_mode) && fails("write");
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// RESULT NAME(PARAMETERS), which hands on its ARGUMENTS where it does not fail.
#define FAILING(result, name, fails, failure, parameters, arguments) \
  result name parameters {                                           \
    static auto* const real = next<result parameters>(#name);        \
    return fails ? failure : real arguments;                         \
  }

FAILING(ssize_t, write, fails_on(fd), -1, (int fd, const void* data, size_t n), (fd, data, n))
FAILING(ssize_t, writev, fails_on(fd), -1, (int fd, const iovec* v, int n), (fd, v, n))
FAILING(ssize_t, pwrite, fails_on(fd), -1, (int fd, const void* data, size_t n, off_t at),
        (fd, data, n, at))
FAILING(ssize_t, sendfile, fails_on(to), -1, (int to, int from, off_t* at, size_t n),
        (to, from, at, n))
FAILING(ssize_t, copy_file_range, fails_on(to), -1,
        (int from, off64_t* a, int to, off64_t* b, size_t n, unsigned flags),
        (from, a, to, b, n, flags))
FAILING(int, fsync, fails("fsync"), -1, (int fd), (fd))
FAILING(int, fdatasync, fails("fsync"), -1, (int fd), (fd))
FAILING(int, rename, fails("rename"), -1, (const char* from, const char* to), (from, to))
FAILING(int, mkdir, fails("mkdir"), -1, (const char* path, mode_t mode), (path, mode))
FAILING(int, ftruncate, fails("ftruncate"), -1, (int fd, off_t size), (fd, size))
FAILING(int, truncate, fails("ftruncate"), -1, (const char* path, off_t size), (path, size))
FAILING(void*, mmap, fails("mmap"), MAP_FAILED,
        (void* to, size_t size, int protection, int flags, int fd, off_t at),
        (to, size, protection, flags, fd, at))
FAILING(FILE*, fopen, fails("open"), nullptr, (const char* path, const char* mode), (path, mode))
FAILING(FILE*, fopen64, fails("open"), nullptr, (const char* path, const char* mode), (path, mode))

// The mode is only there where a file may be made; to read it otherwise does no harm here.
#define FAILING_OPEN(name, parameters, arguments)          \
  int name parameters {                                    \
    static auto* const real = next<int parameters>(#name); \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = va_arg(rest, mode_t);              \
    va_end(rest);                                          \
    return fails("open") ? -1 : real arguments;            \
  }
FAILING_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
FAILING_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
FAILING_OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))

}  // extern "C"
#pragma GCC visibility pop
