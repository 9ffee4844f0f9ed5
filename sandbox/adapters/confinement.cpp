#include "sandbox/adapters/confinement.hpp"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace swage::sandbox {
namespace {

Result<void, std::string> failed(const char* step) {
  return tl::unexpected(std::string(step) + ": " + std::strerror(errno));
}

bool limit(__rlimit_resource what, std::uint64_t value) {
  const rlimit both{value, value};
  return ::setrlimit(what, &both) == 0;
}

constexpr std::array kRefused{
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_open_tree,
    SYS_mount_setattr,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_quotactl,
    SYS_swapon,
};

constexpr std::uint32_t kNamespaceFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                          CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                          CLONE_NEWCGROUP;

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter refuse(int error) {
  return answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
}
/// Skips `over` instructions unless the loaded word equals `value`.
sock_filter unless_equal(std::uint32_t value, std::uint8_t over) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over);
}

std::vector<sock_filter> make_filter() {
  constexpr auto kNumber = offsetof(seccomp_data, nr);
  constexpr auto kFirst = offsetof(seccomp_data, args);
  std::vector<sock_filter> out;
  out.push_back(load(offsetof(seccomp_data, arch)));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  out.push_back(answer(SECCOMP_RET_KILL_PROCESS));
  out.push_back(load(kNumber));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1));  // the x32 numbers
  out.push_back(refuse(ENOSYS));
  for (const auto number : kRefused) {
    out.push_back(unless_equal(static_cast<std::uint32_t>(number), 1));
    out.push_back(refuse(EPERM));
  }
  out.push_back(unless_equal(SYS_clone3, 1));  // its flags lie in memory: libc falls back to clone
  out.push_back(refuse(ENOSYS));
  out.push_back(unless_equal(SYS_socket, 4));
  out.push_back(load(kFirst));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
  out.push_back(refuse(EAFNOSUPPORT));
  out.push_back(answer(SECCOMP_RET_ALLOW));
  out.push_back(unless_equal(SYS_clone, 3));
  out.push_back(load(kFirst));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNamespaceFlags, 0, 1));
  out.push_back(refuse(EPERM));
  out.push_back(answer(SECCOMP_RET_ALLOW));
  return out;
}

bool install_filter() {
  auto filter = make_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

Result<void, std::string> confine_to_agent(std::optional<uid_t> uid, const AgentLimits& limits,
                                           const std::vector<std::string>& owned) {
  for (const auto& directory : owned)
    if (uid && ::chown(directory.c_str(), *uid, *uid) != 0)
      return failed("giving away directories");
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_DATA, limits.data_bytes) ||
      !limit(RLIMIT_FSIZE, limits.file_bytes) || !limit(RLIMIT_NPROC, limits.processes) ||
      !limit(RLIMIT_CPU, limits.cpu_seconds) || !limit(RLIMIT_NOFILE, limits.open_files) ||
      !limit(RLIMIT_MEMLOCK, 0) || !limit(RLIMIT_MSGQUEUE, 0))
    return failed("setting resource limits");
  if (uid && (::setgroups(0, nullptr) != 0 || ::setresgid(*uid, *uid, *uid) != 0 ||
              ::setresuid(*uid, *uid, *uid) != 0))
    return failed("becoming the agent's user");
  // Both were cleared by the change of user.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed("following the parent's end");
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failed("adopting orphans");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return failed("closing to ptrace");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("giving up new privileges");
  if (!install_filter()) return failed("installing the system-call filter");
  return {};
}

}  // namespace swage::sandbox
