// SPDX-License-Identifier: Apache-2.0
#include "bench/run/concluding.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <thread>

#include "bench/backends/nccl/log.hpp"
#include "bench/launch/local.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/run_record.hpp"
#include "bench/run/time_limit.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

std::string_view signal_name(int number) {
  if (number == SIGTERM) return "SIGTERM";
  return number == SIGINT ? "SIGINT" : "SIGHUP";
}

// A launcher that ends all ranks because one has ended is not what went wrong: who notices the
// loss has time to say so. Other ranks leave the report to rank 0.
void stop(RankContext& self, int number, const siginfo_t& info) {
  constexpr auto kOthersFirst = std::chrono::milliseconds(300);
  constexpr auto kReportFirst = std::chrono::seconds(2);
  // A parent says which rank's end is the reason.
  const int told = info.si_value.sival_int;
  if (info.si_code == SI_QUEUE && info.si_pid == ::getppid() && told > 0) {
    const int lost = rank_of_signal(told);
    self.emergency.end({.kind = Trouble::Kind::lost,
                        .phase = self.phase.get(),
                        .what = fmt::format("rank {} has ended before all had met", lost),
                        .ranks = {lost},
                        .arrived = {},
                        .without_rank_0 = lost == 0});
  }
  self.emergency.begin_stop();
  std::this_thread::sleep_for(kOthersFirst);
  if (!self.leads()) std::this_thread::sleep_for(kReportFirst);
  self.emergency.end(
      {.kind = Trouble::Kind::stopped,
       .phase = self.phase.get(),
       .what = fmt::format("it was told to end by the signal {}", signal_name(number)),
       .ranks = {self.place.rank},
       .arrived = {}});
}

}  // namespace

void end_on_signals(RankContext& self) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&taken, number);
  if (::pthread_sigmask(SIG_BLOCK, &taken, nullptr) != 0) return;
  std::thread([taken, &self] {
    siginfo_t info{};
    int number = -1;
    while (number < 0) number = ::sigwaitinfo(&taken, &info);
    stop(self, number, info);
  }).detach();
}

int give_up(RankContext& self, Parts& parts, const Error& error) {
  // Where another rank is lost, operations fail everywhere; the loss is the news, and the thread
  // of the group ends this process with it.
  constexpr auto kLossesFirst = std::chrono::milliseconds(300);
  self.emergency.watch(static_cast<Backend*>(nullptr));
  (void)parts.backend.release();
  for (auto& each : parts.own) (void)each.backend.release();
  (void)parts.membership.mpi.release();
  auto* const group = parts.membership.group.get();
  if (group != nullptr && self.place.world > 1) std::this_thread::sleep_for(kLossesFirst);
  if (!self.leads() || group == nullptr) {
    self.say(fmt::format("{}{}", self.prefix(), error.message));
  }
  if (group == nullptr) return kExitUndecided;
  const Trouble trouble{.kind = Trouble::Kind::given_up,
                        .phase = self.phase.get(),
                        .what = error.message,
                        .ranks = {self.place.rank},
                        .arrived = {},
                        .broken = error.broken};
  if (self.leads()) self.emergency.report(trouble);
  group->give_up({.why = error.message, .broken = error.broken});
  replay_nccl_log();
  return exit_status_of(trouble);
}

void leave(RankContext& self, Parts& parts) {
  self.emergency.watch(static_cast<Backend*>(nullptr));
  parts.own.clear();
  parts.backend.reset();
  self.emergency.watch(static_cast<Group*>(nullptr));
  parts.membership.group.reset();
  if (parts.membership.mpi == nullptr) return;
  {
    const auto held = self.emergency.hold();
    self.emergency.mark_reported();  // by rank 0
  }
  const TimeLimit limit(self.emergency, self.place.rank, "end of MPI",
                        to_duration(self.command.operation_deadline));
  if (auto finished = parts.membership.mpi->finish(); !finished) self.say(finished.error().message);
}

}  // namespace muster::bench
