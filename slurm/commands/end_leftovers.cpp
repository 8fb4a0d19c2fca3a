// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/end_leftovers.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster::app {
namespace {

// One process, whatever its number names later.
struct Target {
  unsigned pid = 0;
  Descriptor handle;
};

// In a child, for good.
bool become(unsigned user) {
  if (::geteuid() == user) return true;
  return ::setgroups(0, nullptr) == 0 && ::setresuid(user, user, user) == 0;
}

bool has_ended(const Target& target) {
  pollfd handle{.fd = target.handle.get(), .events = POLLIN, .revents = 0};
  return ::poll(&handle, 1, 0) == 1;
}

// The pids of those that ended, with blanks between.
std::string end_as(unsigned user, const std::vector<unsigned>& pids, Clock::time_point end) {
  std::vector<Target> targets;
  for (const unsigned pid : pids) {
    Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (handle.is_open()) targets.push_back({.pid = pid, .handle = std::move(handle)});
  }
  if (user == 0 || !become(user)) return "";
  std::erase_if(targets, [](const Target& target) {
    return ::syscall(SYS_pidfd_send_signal, target.handle.get(), SIGKILL, nullptr, 0) != 0;
  });
  std::string gone;
  for (;;) {
    std::erase_if(targets, [&](const Target& target) {
      if (!has_ended(target)) return false;
      gone += fmt::format("{} ", target.pid);
      return true;
    });
    if (targets.empty() || Clock::now() >= end) return gone;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

std::vector<unsigned> end_processes(unsigned user, const std::vector<unsigned>& pids,
                                    Clock::time_point end) {
  constexpr std::chrono::milliseconds kForItsAnswer{200};
  const auto ended = ask_child("end", end + kForItsAnswer, [&] { return end_as(user, pids, end); });
  std::vector<unsigned> gone;
  for (const auto word : split_words(ended ? *ended : std::string_view())) {
    if (const auto pid = parse_unsigned(word)) gone.push_back(static_cast<unsigned>(*pid));
  }
  return gone;
}

}  // namespace muster::app
