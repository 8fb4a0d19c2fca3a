// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/local.hpp"

#include <fmt/format.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "bench/sockets/greeting.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/base/clock.hpp"
#include "lib/process/process.hpp"

namespace muster::bench {
namespace {

// Ranks that have met detect the loss themselves and report more.
constexpr auto kOthersFirst = std::chrono::milliseconds(700);

bool exited_with_failure(int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 0; }

// Waits for the ranks, passes signals on to them, and ends all once one has failed.
class RankSupervisor {
 public:
  RankSupervisor(const HeldSignals& signals, const LocalOptions& options)
      : signals_(signals), grace_(options.grace), stopped_(options.stopped) {}

  void add(int rank, pid_t pid) { children_.push_back({.rank = rank, .pid = pid}); }

  // Waits until the last child has ended.
  [[nodiscard]] LocalEnd wait() {
    for (reap(); !all_ended(); reap()) {
      if (const auto signal = signals_.next(next_deadline())) pass_on(*signal);
      kill_stopped();
      if (Clock::now() >= report_at_) report_loss();
      if (!killed_ && Clock::now() >= kill_at_) {
        for (const auto& child : children_) {
          if (child.status) continue;
          notes_.push_back(fmt::format("rank {} (pid {}) did not end within {} ms and was killed",
                                       child.rank, child.pid, grace_.count()));
        }
        kill_all();
      }
    }
    return {.status = status(), .notes = notes_};
  }

  void kill_all() {
    killed_ = true;
    kill_at_ = Clock::time_point::max();
    send_all(SIGKILL);
  }

 private:
  struct Child {
    int rank = 0;
    pid_t pid = -1;
    std::optional<int> status{};  // as wait(2) has it
    // When a rank that stays stopped is killed.
    Clock::time_point stopped_until = Clock::time_point::max();
  };

  void reap() {
    for (auto& child : children_) {
      if (!child.status && (child.status = muster::reap(child.pid))) note_end(child);
    }
  }

  void kill_stopped() {
    for (auto& child : children_) {
      siginfo_t change{};
      const auto id = static_cast<id_t>(child.pid);
      const bool changed = !child.status &&
                           ::waitid(P_PID, id, &change, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
                           change.si_pid == child.pid;
      if (changed && change.si_code == CLD_CONTINUED) {
        child.stopped_until = Clock::time_point::max();
      } else if (changed) {
        child.stopped_until = Clock::now() + stopped_;
      }
      if (Clock::now() < child.stopped_until) continue;
      child.stopped_until = Clock::time_point::max();
      notes_.push_back(fmt::format("rank {} (pid {}) was stopped, as by SIGSTOP, for {} ms",
                                   child.rank, child.pid, stopped_.count()));
      ::kill(child.pid, SIGKILL);
    }
  }

  [[nodiscard]] Clock::time_point next_deadline() const {
    auto next = std::min(kill_at_, report_at_);
    for (const auto& child : children_) {
      if (!child.status) next = std::min(next, child.stopped_until);
    }
    return next;
  }

  void note_end(const Child& child) {
    const int status = *child.status;
    if (WIFSIGNALED(status) && !killed_) {
      notes_.push_back(fmt::format("rank {} (pid {}) was killed by signal {}", child.rank,
                                   child.pid, WTERMSIG(status)));
    }
    const bool failed = WIFSIGNALED(status) || exited_with_failure(status);
    if (!failed || killed_) return;
    if (kill_at_ == Clock::time_point::max()) {
      lost_ = child.rank;
      report_at_ = Clock::now() + kOthersFirst;
    }
    kill_at_ = std::min(kill_at_, Clock::now() + grace_);
  }

  // Ranks that have not met cannot know of the loss.
  void report_loss() {
    report_at_ = Clock::time_point::max();
    for (const auto& child : children_) {
      if (!child.status) ::sigqueue(child.pid, SIGTERM, {.sival_int = signal_value_of(lost_)});
    }
  }

  void pass_on(const siginfo_t& signal) {
    if (signal.si_signo == SIGCHLD) return;
    // A signal from the terminal has reached the children too.
    if (signal.si_code != SI_KERNEL) send_all(signal.si_signo);
    if (!killed_) kill_at_ = std::min(kill_at_, Clock::now() + grace_);
  }

  void send_all(int number) const {
    for (const auto& child : children_) {
      if (!child.status) ::kill(child.pid, number);
    }
  }

  [[nodiscard]] bool all_ended() const {
    return std::ranges::all_of(children_,
                               [](const Child& child) { return child.status.has_value(); });
  }

  [[nodiscard]] int status() const {
    if (children_.empty()) return 0;
    if (const int first = *children_.front().status; exited_with_failure(first)) {
      return WEXITSTATUS(first);
    }
    int worst = 0;
    int signal = 0;
    for (const auto& child : children_) {
      if (WIFSIGNALED(*child.status)) signal = std::max(signal, WTERMSIG(*child.status));
      if (exited_with_failure(*child.status)) worst = std::max(worst, WEXITSTATUS(*child.status));
    }
    constexpr int kKilled = 128;  // as shells count
    return worst == 0 && signal != 0 ? kKilled + signal : worst;
  }

  const HeldSignals& signals_;
  std::chrono::milliseconds grace_, stopped_;
  std::vector<Child> children_;
  std::vector<std::string> notes_;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point report_at_ = Clock::time_point::max();
  int lost_ = 0;
  bool killed_ = false;
};

// The common part of all ranks of this process. On this node only, rank 0 listens on any free port
// of loopback.
Result<LocalRank> prepare(const Place& place, const LocalOptions& options) {
  const int count = options.count;
  LocalRank common{.place = place, .secret = options.secret};
  common.place.world = place.world * count;
  common.place.local_world = count;
  common.place.evidence.push_back(fmt::format("--local: this process becomes ranks {} to {} of {}",
                                              place.rank * count, (place.rank + 1) * count - 1,
                                              common.place.world));
  if (place.world > 1 || place.rendezvous) return common;
  Rendezvous where{.host = "127.0.0.1"};
  TRY_ASSIGN(common.listener, listen_on(where));
  TRY_ASSIGN(where.port, port_of(common.listener));
  if (common.secret.empty()) {
    TRY_ASSIGN(common.secret, random_secret());
  }
  common.place.rendezvous = std::move(where);
  return common;
}

LocalRank become(LocalRank common, int rank_of_process, int index) {
  auto& place = common.place;
  place.rank = rank_of_process * *place.local_world + index;
  place.local_rank = index;
  if (place.rank != 0) common.listener = Descriptor();
  return common;
}

}  // namespace

Result<void> may_become(const Place& place, int count) {
  if (place.world > INT_MAX / count) {
    return make_error("--local {} is too many", count);
  }
  if (place.mpi || place.local_world.value_or(1) > 1) {
    return make_error(
        "--local {} contradicts the launcher ({}), which starts each rank itself: leave out "
        "--local, or give --launch alone",
        count, to_string(place.launcher));
  }
  return {};
}

Result<std::variant<LocalRank, LocalEnd>> fork_local_ranks(const Place& place,
                                                           const LocalOptions& options) {
  TRY_ASSIGN(auto common, prepare(place, options));
  // Otherwise each child would write the buffered output again.
  [[maybe_unused]] const int ignored = std::fflush(nullptr);
  const HeldSignals signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  RankSupervisor supervisor(signals, options);
  for (int index = 0; index < options.count; ++index) {
    const pid_t pid = fork_child(1);
    if (pid == 0) return become(std::move(common), place.rank, index);
    if (pid < 0) {
      const auto error =
          make_error("start rank {} of {}: {}", index, options.count, std::strerror(errno));
      supervisor.kill_all();
      [[maybe_unused]] const auto end = supervisor.wait();
      return error;
    }
    supervisor.add(place.rank * options.count + index, pid);
  }
  common.listener = Descriptor();
  return supervisor.wait();
}

}  // namespace muster::bench
