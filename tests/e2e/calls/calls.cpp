// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/calls/calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace muster::e2e {
namespace {

constexpr std::array kCalls{
    Call{SYS_read, "read", "hir"},
    Call{SYS_pread64, "pread64", "hir"},
    Call{SYS_write, "write", "hisr"},
    Call{SYS_pwrite64, "pwrite64", "hisr"},
    Call{SYS_openat, "openat", "himfsr"},
    Call{SYS_openat2, "openat2", "himfr"},
    Call{SYS_newfstatat, "newfstatat", "him"},
    Call{SYS_statx, "statx", "him"},
    Call{SYS_fstat, "fstat", "him"},
    Call{SYS_lseek, "lseek", "i"},
    Call{SYS_faccessat, "faccessat", "him"},
    Call{SYS_faccessat2, "faccessat2", "him"},
    Call{SYS_getdents64, "getdents64", "him"},
    Call{SYS_readlinkat, "readlinkat", "him"},
    Call{SYS_statfs, "statfs", "him"},
    Call{SYS_fstatfs, "fstatfs", "him"},
    Call{SYS_fsync, "fsync", "his"},
    Call{SYS_fdatasync, "fdatasync", "his"},
    Call{SYS_ftruncate, "ftruncate", "hisr"},
    Call{SYS_fchmod, "fchmod", "hi"},
    Call{SYS_fchmodat, "fchmodat", "hi"},
    Call{SYS_fchown, "fchown", "hi"},
    Call{SYS_utimensat, "utimensat", "hi"},
    Call{SYS_renameat, "renameat", "his"},
    Call{SYS_unlinkat, "unlinkat", "hi"},
    Call{SYS_mkdirat, "mkdirat", "his"},
    Call{SYS_flock, "flock", "r"},
    Call{SYS_connect, "connect", "r"},
    Call{SYS_sendto, "sendto", "mr"},
    Call{SYS_socket, "socket", "mf"},
    Call{SYS_pipe2, "pipe2", "f"},
    Call{SYS_dup, "dup", "f"},
    Call{SYS_memfd_create, "memfd_create", "mf"},
    Call{SYS_mmap, "mmap", "m"},
    Call{SYS_clone, "clone", "m"},
    Call{SYS_execve, "execve", "him"},
    Call{SYS_wait4, "wait4", "r"},
    Call{SYS_waitid, "waitid", "r"},
    Call{SYS_ppoll, "ppoll", "mr"},
    Call{SYS_rt_sigtimedwait, "rt_sigtimedwait", "r"},
    Call{SYS_clock_nanosleep, "clock_nanosleep", "r"},
#ifdef __x86_64__
    Call{SYS_open, "open", "himfsr"},
    Call{SYS_stat, "stat", "him"},
    Call{SYS_lstat, "lstat", "him"},
    Call{SYS_access, "access", "him"},
    Call{SYS_readlink, "readlink", "him"},
    Call{SYS_rename, "rename", "his"},
    Call{SYS_unlink, "unlink", "hi"},
    Call{SYS_mkdir, "mkdir", "his"},
    Call{SYS_chmod, "chmod", "hi"},
    Call{SYS_poll, "poll", "mr"},
#endif
};

struct Kind {
  CallFault fault;
  char letter;
  int code;
};

constexpr std::array kKinds{
    Kind{CallFault::none, '-', 0},        Kind{CallFault::never_returns, 'h', 0},
    Kind{CallFault::eio, 'i', EIO},       Kind{CallFault::enomem, 'm', ENOMEM},
    Kind{CallFault::emfile, 'f', EMFILE}, Kind{CallFault::enospc, 's', ENOSPC},
    Kind{CallFault::eintr, 'r', EINTR},
};

const Kind& kind_of(CallFault fault) { return kKinds.at(static_cast<std::size_t>(fault)); }

}  // namespace

const Call* call_numbered(long number) {
  const auto* const found = std::ranges::find(kCalls, number, &Call::number);
  return found == kCalls.end() ? nullptr : found;
}

bool may_have(const Call& call, CallFault fault) {
  return call.faults.find(kind_of(fault).letter) != std::string_view::npos;
}

int code_of(CallFault fault) { return kind_of(fault).code; }

}  // namespace muster::e2e
