// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/supervisor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

namespace muster::bench {
namespace {

// Ranks that have met notice by themselves, and have more to say.
constexpr auto kOthersFirst = std::chrono::milliseconds(700);

bool exited_with_failure(int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 0; }

}  // namespace

LocalEnd Supervisor::wait() {
  for (reap(); !all_ended(); reap()) {
    if (const auto signal = signals_.next(next_deadline())) pass_on(*signal);
    end_stopped();
    if (Clock::now() >= tell_at_) tell_of_loss();
    if (!killed_ && Clock::now() >= kill_at_) {
      for (const auto& child : children_) {
        if (child.status) continue;
        notes_.push_back(fmt::format("rank {} (pid {}) did not end within {} ms and was killed",
                                     child.rank,
                                     child.pid,
                                     grace_.count()));
      }
      kill_all();
    }
  }
  return {.status = status(), .notes = notes_};
}

void Supervisor::kill_all() {
  killed_ = true;
  kill_at_ = Clock::time_point::max();
  send_all(SIGKILL);
}

void Supervisor::reap() {
  for (auto& child : children_) {
    if (!child.status && (child.status = muster::reap(child.pid))) note_end(child);
  }
}

void Supervisor::end_stopped() {
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
                                 child.rank,
                                 child.pid,
                                 stopped_.count()));
    ::kill(child.pid, SIGKILL);
  }
}

Clock::time_point Supervisor::next_deadline() const {
  auto next = std::min(kill_at_, tell_at_);
  for (const auto& child : children_) {
    if (!child.status) next = std::min(next, child.stopped_until);
  }
  return next;
}

void Supervisor::note_end(const Child& child) {
  const int status = *child.status;
  if (WIFSIGNALED(status) && !killed_) {
    notes_.push_back(fmt::format(
        "rank {} (pid {}) was ended by signal {}", child.rank, child.pid, WTERMSIG(status)));
  }
  const bool failed = WIFSIGNALED(status) || exited_with_failure(status);
  if (!failed || killed_) return;
  if (kill_at_ == Clock::time_point::max()) {
    lost_ = child.rank;
    tell_at_ = Clock::now() + kOthersFirst;
  }
  kill_at_ = std::min(kill_at_, Clock::now() + grace_);
}

void Supervisor::tell_of_loss() {
  tell_at_ = Clock::time_point::max();
  for (const auto& child : children_) {
    if (!child.status) ::sigqueue(child.pid, SIGTERM, {.sival_int = told_rank(lost_)});
  }
}

void Supervisor::pass_on(const siginfo_t& signal) {
  if (signal.si_signo == SIGCHLD) return;
  // What comes from the terminal has reached the children already.
  if (signal.si_code != SI_KERNEL) send_all(signal.si_signo);
  if (!killed_) kill_at_ = std::min(kill_at_, Clock::now() + grace_);
}

void Supervisor::send_all(int number) const {
  for (const auto& child : children_) {
    if (!child.status) ::kill(child.pid, number);
  }
}

bool Supervisor::all_ended() const {
  return std::ranges::all_of(children_,
                             [](const Child& child) { return child.status.has_value(); });
}

int Supervisor::status() const {
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

}  // namespace muster::bench
