#include "run/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>
#include <string_view>

#include "base/error.h"

namespace pesuite {

namespace {

[[noreturn]] void cannot_isolate(const char* what) {
  fail(no_isolation,
       "--sandbox: this system does not let the program {}: {}; it needs user namespaces "
       "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone) and seccomp, which "
       "containers may forbid; without --sandbox libraries may do what you may",
       what, std::strerror(errno));
}

#if !defined(__x86_64__)
}  // namespace
void enter_sandbox(const fs::path&) {
  errno = ENOSYS;
  cannot_isolate("filter system calls on this processor");
}
void watch_sandbox(const std::vector<fs::path>&, void (*)(const std::string&)) {}
#else

// ------------------------------------------------------------------------------ namespaces

void write_proc(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == std::ssize(text);
  if (fd >= 0) ::close(fd);
  if (!written) cannot_isolate("name its user in a namespace of its own");
}

// Of its own: mounts, network, and users, among whom it is who it was.
void leave_namespaces() {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) != 0)
    cannot_isolate("have namespaces of its own");
  write_proc("/proc/self/setgroups", "deny");
  write_proc("/proc/self/uid_map", fmt::format("{0} {0} 1", user));
  write_proc("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

void write_below_alone(const std::string& folder) {
  mount_attr closed{}, open{};
  closed.attr_set = MOUNT_ATTR_RDONLY, open.attr_clr = MOUNT_ATTR_RDONLY;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
      ::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &closed, sizeof closed) != 0 ||
      ::mount_setattr(AT_FDCWD, folder.c_str(), 0, &open, sizeof open) != 0)
    cannot_isolate("make all other folders read-only");
}

void drop_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0 ||
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    cannot_isolate("drop its rights");
}

// ----------------------------------------------------------------------------- system calls

constexpr sock_filter bpf_load(std::uint32_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset};
}
// Skips the next `unless` instructions where the loaded word is another.
constexpr sock_filter bpf_equal(std::uint32_t value, std::uint8_t unless) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, unless, value};
}
constexpr sock_filter bpf_verdict(std::uint32_t what) {
  return {BPF_RET | BPF_K, 0, 0, what};
}
constexpr std::uint32_t low_word(int argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * argument);
}

std::vector<sock_filter> filter_head() {
  return {bpf_load(offsetof(seccomp_data, arch)),
          bpf_equal(AUDIT_ARCH_X86_64, 1),
          {BPF_JMP | BPF_JA, 0, 0, 1},
          bpf_verdict(SECCOMP_RET_KILL_PROCESS),
          bpf_load(offsetof(seccomp_data, nr)),
          // calls of the x32 kind have numbers of their own
          {BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000},
          bpf_verdict(SECCOMP_RET_KILL_PROCESS)};
}

void install_filter(std::vector<sock_filter> filter) {
  filter.push_back(bpf_verdict(SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    cannot_isolate("filter system calls");
}

// What neither a library nor the program needs, in any process of a run.
void refuse_system_calls() {
  constexpr int refused[] = {SYS_ptrace,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_mount,
                             SYS_umount2,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_move_mount,
                             SYS_open_tree,
                             SYS_fsopen,
                             SYS_fsmount,
                             SYS_mount_setattr,
                             SYS_unshare,
                             SYS_setns,
                             SYS_bpf,
                             SYS_perf_event_open,
                             SYS_keyctl,
                             SYS_add_key,
                             SYS_request_key,
                             SYS_io_uring_setup,
                             SYS_userfaultfd,
                             SYS_init_module,
                             SYS_finit_module,
                             SYS_kexec_load,
                             SYS_reboot,
                             SYS_swapon,
                             SYS_pidfd_getfd};
  std::vector<sock_filter> filter = filter_head();
  for (const int call : refused) {
    filter.push_back(bpf_equal(static_cast<std::uint32_t>(call), 1));
    filter.push_back(bpf_verdict(SECCOMP_RET_ERRNO | EPERM));
  }
  install_filter(std::move(filter));
}

// --------------------------------------------------------------------- what a worker watches

struct ForbiddenCall {
  int call;
  const char* what;
};
constexpr ForbiddenCall forbidden_calls[] = {{SYS_socket, "open a socket"},
                                             {SYS_socketpair, "open a socket"},
                                             {SYS_vfork, "start a program"},
                                             {SYS_execve, "start a program"},
                                             {SYS_execveat, "start a program"}};

// A call that changes files: which arguments are paths, and the descriptors they are relative to,
// -1 for the current folder.
struct ChangingCall {
  int call, flags;  // the argument that says whether a call to open writes; -1: it changes anyway
  std::array<int, 2> descriptor, path;  // path -1: none
};
constexpr ChangingCall changing_calls[] = {
    {SYS_open, 1, {-1, -1}, {0, -1}},      {SYS_openat, 2, {0, -1}, {1, -1}},
    {SYS_creat, -1, {-1, -1}, {0, -1}},    {SYS_mkdir, -1, {-1, -1}, {0, -1}},
    {SYS_mkdirat, -1, {0, -1}, {1, -1}},   {SYS_rmdir, -1, {-1, -1}, {0, -1}},
    {SYS_unlink, -1, {-1, -1}, {0, -1}},   {SYS_unlinkat, -1, {0, -1}, {1, -1}},
    {SYS_rename, -1, {-1, -1}, {0, 1}},    {SYS_renameat, -1, {0, 2}, {1, 3}},
    {SYS_renameat2, -1, {0, 2}, {1, 3}},   {SYS_link, -1, {-1, -1}, {0, 1}},
    {SYS_linkat, -1, {0, 2}, {1, 3}},      {SYS_symlink, -1, {-1, -1}, {1, -1}},
    {SYS_symlinkat, -1, {1, -1}, {2, -1}}, {SYS_truncate, -1, {-1, -1}, {0, -1}},
    {SYS_chmod, -1, {-1, -1}, {0, -1}},    {SYS_fchmodat, -1, {0, -1}, {1, -1}}};
constexpr std::uint32_t writing_flags = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

// What the handler needs; it has no argument of ours.
struct CallWatch {
  std::vector<fs::path> folders;
  void (*denounce)(const std::string&) = nullptr;
  std::uint32_t pass = 0;  // a sixth argument that lets a call through, which was looked at
};
CallWatch& the_watch() {
  static CallWatch w;
  return w;
}

fs::path path_of_call(const greg_t* argument, int descriptor, int path) {
  const fs::path given(reinterpret_cast<const char*>(argument[path]));
  std::error_code error;
  const int from = descriptor < 0 ? AT_FDCWD : static_cast<int>(argument[descriptor]);
  if (given.is_absolute()) return given.lexically_normal();
  const fs::path folder = from == AT_FDCWD
                              ? fs::current_path(error)
                              : fs::read_symlink(fmt::format("/proc/self/fd/{}", from), error);
  return (folder / given).lexically_normal();
}

bool is_in_cell(const fs::path& file) {
  const std::string& text = file.native();
  for (const std::string_view place : {"/dev/", "/proc/"})  // mounts decide
    if (text.starts_with(place) && !text.starts_with("/dev/shm/")) return true;
  for (const fs::path& folder : the_watch().folders)
    if (text == folder.native() || text.starts_with(folder.native() + "/")) return true;
  return false;
}

// Lets a call that was stopped through after all where it stays within the folders.
void on_stopped_call(int, siginfo_t* info, void* context) {
  greg_t* const r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const std::array<greg_t, 6> argument = {r[REG_RDI], r[REG_RSI], r[REG_RDX],
                                          r[REG_R10], r[REG_R8],  r[REG_R9]};
  for (const ForbiddenCall& f : forbidden_calls)
    if (f.call == info->si_syscall || (f.call == SYS_vfork && info->si_syscall == SYS_clone))
      the_watch().denounce(fmt::format("a library tried to {}, which --sandbox forbids", f.what));
  const int before = errno;
  for (const ChangingCall& c : changing_calls) {
    if (c.call != info->si_syscall) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      if (c.path[i] < 0 || argument[static_cast<std::size_t>(c.path[i])] == 0) continue;
      const fs::path file = path_of_call(argument.data(), c.descriptor[i], c.path[i]);
      if (!is_in_cell(file))
        the_watch().denounce(fmt::format(
            "a library tried to write {}, which is outside its cell; --sandbox forbids that",
            file.string()));
    }
    const long made = ::syscall(info->si_syscall, argument[0], argument[1], argument[2],
                                argument[3], argument[4], static_cast<long>(the_watch().pass));
    r[REG_RAX] = made < 0 ? -errno : made;
  }
  errno = before;
}

void stop_changing_calls(std::vector<sock_filter>& filter, std::uint32_t pass) {
  for (const ChangingCall& c : changing_calls) {
    std::vector<sock_filter> stop = {bpf_load(low_word(5)), bpf_equal(pass, 1),
                                     bpf_verdict(SECCOMP_RET_ALLOW)};
    if (c.flags >= 0) {
      stop.push_back(bpf_load(low_word(c.flags)));
      stop.push_back({BPF_JMP | BPF_JSET | BPF_K, 1, 0, writing_flags});
      stop.push_back(bpf_verdict(SECCOMP_RET_ALLOW));
    }
    stop.push_back(bpf_verdict(SECCOMP_RET_TRAP));
    filter.push_back(
        bpf_equal(static_cast<std::uint32_t>(c.call), static_cast<std::uint8_t>(stop.size())));
    filter.insert(filter.end(), stop.begin(), stop.end());
  }
}

}  // namespace

void enter_sandbox(const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path here = fs::current_path();
  leave_namespaces();
  write_below_alone(fs::canonical(folder).string());
  if (::chdir(here.c_str()) != 0)
    cannot_isolate("stay where it is");  // and not below the new mount
  drop_rights();
  refuse_system_calls();
}

void watch_sandbox(const std::vector<fs::path>& folders, void (*denounce)(const std::string&)) {
  the_watch() = {folders, denounce, std::random_device()() | 1};
  struct sigaction a {};
  a.sa_sigaction = on_stopped_call;
  a.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (::sigaction(SIGSYS, &a, nullptr) != 0) cannot_isolate("watch system calls");
  std::vector<sock_filter> filter = filter_head();
  // clone3 hides its flags from filters; the C library then does with clone
  filter.push_back(bpf_equal(SYS_clone3, 1));
  filter.push_back(bpf_verdict(SECCOMP_RET_ERRNO | ENOSYS));
  filter.insert(filter.end(), {bpf_equal(SYS_clone, 3),
                               bpf_load(low_word(0)),
                               {BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_VFORK},
                               bpf_verdict(SECCOMP_RET_TRAP),
                               bpf_load(offsetof(seccomp_data, nr))});
  for (const ForbiddenCall& f : forbidden_calls) {
    filter.push_back(bpf_equal(static_cast<std::uint32_t>(f.call), 1));
    filter.push_back(bpf_verdict(SECCOMP_RET_TRAP));
  }
  stop_changing_calls(filter, the_watch().pass);
  install_filter(std::move(filter));
}
#endif

}  // namespace pesuite
