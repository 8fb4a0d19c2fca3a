// SPDX-License-Identifier: Apache-2.0
#include "bench/run/watching.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "bench/launch/local.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/reporting.hpp"

namespace muster::bench {
namespace {

// Aborts are known to hang themselves, and a reader of the output may be stuck.
void call_within(Clock::duration patience, std::function<void()> call) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([call = std::move(call), done] {
    call();
    *done = true;
  }).detach();
  const auto until = Clock::now() + patience;
  while (!*done && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::string_view signal_name(int number) {
  if (number == SIGTERM) return "SIGTERM";
  return number == SIGINT ? "SIGINT" : "SIGHUP";
}

// A launcher that ends all ranks because one has ended is not the cause, so the ranks that notice
// the loss report first. Ranks other than 0 leave the report to rank 0.
void stop(RankContext& self, int number, const siginfo_t& info) {
  constexpr auto kOthersFirst = std::chrono::milliseconds(300);
  constexpr auto kReportFirst = std::chrono::seconds(2);
  // A parent process passes the rank whose end is the reason.
  const int value = info.si_value.sival_int;
  if (info.si_code == SI_QUEUE && info.si_pid == ::getppid() && value > 0) {
    const int lost = rank_of_signal(value);
    self.emergency.end({.kind = Trouble::Kind::lost,
                        .phase = self.phase.get(),
                        .what = fmt::format("rank {} ended before all ranks had met", lost),
                        .ranks = {lost},
                        .without_rank_0 = lost == 0});
  }
  self.emergency.begin_stop();
  std::this_thread::sleep_for(kOthersFirst);
  if (!self.leads()) std::this_thread::sleep_for(kReportFirst);
  self.emergency.end({.kind = Trouble::Kind::stopped,
                      .phase = self.phase.get(),
                      .what = fmt::format("ended by {}", signal_name(number)),
                      .ranks = {self.place.rank}});
}

}  // namespace

bool reports(const Trouble& trouble, int rank) { return rank == (trouble.without_rank_0 ? 1 : 0); }

void Emergency::report_through(TroubleReporter reporter) {
  const auto held = hold();
  reporter_ = std::move(reporter);
}

void Emergency::watch(Backend* backend) {
  const auto held = hold();
  backend_ = backend;
}

void Emergency::watch(Group* group) {
  const auto held = hold();
  group_ = group;
}

void Emergency::begin_stop() { stopping_since_ = Clock::now(); }

// A launcher that ends the others because one was lost does so after the loss.
bool Emergency::is_echo(const Trouble& trouble) const {
  constexpr auto kLater = std::chrono::milliseconds(150);
  if (trouble.kind != Trouble::Kind::given_up && trouble.kind != Trouble::Kind::lost) return false;
  const auto since = stopping_since_.load();
  return since != Clock::time_point::max() && Clock::now() - since > kLater;
}

void Emergency::report(const Trouble& trouble) {
  const auto held = hold();
  report_or_note(trouble);
}

void Emergency::report_or_note(const Trouble& trouble) {
  if (!reporter_.report) return;
  if (reports(trouble, rank_) && !reported_) {
    reported_ = true;
    reporter_.report(trouble);
  } else if (trouble.without_rank_0 || reported_) {
    // The other ranks that noticed may also be gone.
    reporter_.note(trouble);
  }
}

void Emergency::end(const Trouble& trouble) {
  if (ending_.exchange(true)) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  // The main thread may be writing, and finishes its line; it may also hang there.
  std::unique_lock held(guard_, std::defer_lock);
  const auto until = Clock::now() + patience_;
  while (!held.try_lock() && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool echo = is_echo(trouble);
  const bool stopped = trouble.kind == Trouble::Kind::stopped && group_ != nullptr;
  // If a launcher ends all ranks because one was lost, the loss is the cause.
  const auto losses = stopped ? group_->losses() : std::vector<Trouble>{};
  const auto& cause = losses.empty() ? trouble : losses.front();
  if (!echo) report_or_note(cause);
  if (stopped) group_->give_up(trouble);
  if (backend_ != nullptr) call_within(patience_, [this] { backend_->abort(); });
  if (reporter_.before_exit) call_within(patience_, reporter_.before_exit);
  ::_exit(echo ? kExitUndecided : exit_status_of(cause));
}

PhaseDeadline::PhaseDeadline(Emergency& emergency, int rank, Phase phase, Clock::duration limit)
    : thread_([&emergency, rank, phase = std::move(phase), limit](const std::stop_token& stop) {
        constexpr Clock::duration kLongest = std::chrono::hours(24 * 365);
        constexpr auto kRank0First = std::chrono::seconds(2);
        if (!sleep_for(stop, std::min(limit, kLongest))) return;
        if (rank != 0 && !sleep_for(stop, kRank0First)) return;
        emergency.end(
            {.kind = Trouble::Kind::late,
             .phase = phase,
             .what = fmt::format("it takes longer than {:.4g} s; {} may not have reached it",
                                 std::chrono::duration<double>(limit).count(),
                                 rank == 0 ? "another rank" : "rank 0, which is silent,"),
             .arrived = {rank},
             .without_rank_0 = rank != 0});
      }) {}

void end_on_signals(RankContext& self) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&handled, number);
  if (::pthread_sigmask(SIG_BLOCK, &handled, nullptr) != 0) return;
  std::thread([handled, &self] {
    siginfo_t info{};
    int number = -1;
    while (number < 0) number = ::sigwaitinfo(&handled, &info);
    stop(self, number, info);
  }).detach();
}

std::string left_in_words(Clock::duration left) {
  constexpr std::chrono::seconds kWorthShowing{2};
  if (left < kWorthShowing) return {};
  return fmt::format("; about {} s left",
                     std::chrono::duration_cast<std::chrono::seconds>(left).count());
}

std::string progress_line(const OperationProgress& progress) {
  // A rank that waits has finished its own work.
  if (!progress.awaited.empty()) {
    return fmt::format("{}{}; waiting for {}", progress.what, progress.left,
                       ranks_in_words(progress.awaited));
  }
  if (progress.done == 0 || progress.done >= progress.all) return progress.what + progress.left;
  auto line = fmt::format("{}: {} of {} iterations", progress.what, progress.done, progress.all);
  if (!progress.left.empty()) return line + progress.left;
  const double each_s =
      std::chrono::duration<double>(progress.since).count() / static_cast<double>(progress.done);
  const double left_s = each_s * static_cast<double>(progress.all - progress.done);
  return left_s < 1 ? line : fmt::format("{}; about {:.0f} s of it left", line, left_s);
}

Ticker::Ticker(std::function<std::string(Clock::duration since)> line,
               std::function<void(std::string_view)> show) {
  show(line({}));
  // The thread must not handle the process's signals.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([line = std::move(line), show = std::move(show),
                          begin = Clock::now()](const std::stop_token& stop) {
    constexpr std::chrono::seconds kEvery{1};
    while (sleep_for(stop, kEvery)) show(line(Clock::now() - begin));
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace muster::bench
