// SPDX-License-Identifier: Apache-2.0
#include "bench/run/bench_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/sim/sim.hpp"
#include "bench/launch/local.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/operations.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/text.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"

namespace muster::bench {
namespace {

Attempt<void> prepare(RankContext& self) {
  TRY_ASSIGN(auto choice,
             choose_profile(self.command.profile, self.command.settings, self.variables));
  TRY_ASSIGN(self.kind,
             pick_backend(self.command, self.place, choice.profile, self.place.evidence));
  if (self.kind == BackendKind::sim) {
    TRY_ASSIGN(self.cluster, choose_cluster(self.command.sim, choice.profile, self.variables));
    const auto last = static_cast<std::size_t>(self.cluster.nodes) - 1;
    if (share_domain(self.cluster, 0, last)) self.domain = "sim";
  } else {
    if (self.command.environment == VariableSource::profile) {
      self.settings = apply_settings(choice.profile, self.kind, self.variables);
    }
    choice.evidence.push_back(sentence_of(self.settings, choice.profile.name));
    const bool is_off = muster::value_of(self.variables, "NCCL_MNNVL_ENABLE") == "0";
    if (self.place.world > 1 && !is_off) {
      self.domain = read_nvlink_domain(choice.profile, self.variables);
    }
    auto set = self.place.mpi ? spare_fabric_search(self.variables) : std::string();
    if (!set.empty()) self.place.evidence.push_back(std::move(set));
  }
  self.reporter.begin(std::move(choice), to_string(self.kind), host_name(), self.variables);
  return {};
}

// Every rank of a node finds the same reason; its first rank prints it.
int refuse(const RankContext& self, const Failure& failure) {
  if (self.place.local_rank.value_or(0) == 0) {
    self.say(fmt::format("{}{}", self.prefix(), failure.message));
  }
  return failure.status;
}

// The simulated cluster runs all parts in one process.
Result<void> start_part_backends(RankContext& self) {
  if (self.kind != BackendKind::sim) {
    const auto part = part_with(self.parts, self.membership.group->rank());
    TRY_ASSIGN(auto backend, make_part_backend(self, self.parts));
    self.part_backends.push_back({.part = part, .backend = std::move(backend)});
    return {};
  }
  for (std::size_t part = 0; part < self.parts.size(); ++part) {
    TRY_ASSIGN(auto group, group_of(self.cluster, self.parts[part].ranks));
    self.part_backends.push_back(
        {.part = part, .backend = make_sim_backend(self.cluster, std::move(group))});
  }
  return {};
}

Result<void> start_backends(RankContext& self) {
  if (!self.command.split || self.kind == BackendKind::sim) {
    TRY_ASSIGN(self.backend, make_whole_backend(self));
  }
  if (self.command.split) TRY(start_part_backends(self));
  auto& any = self.backend ? *self.backend : *self.part_backends.front().backend;
  self.emergency.watch(&any);
  return introduce(self, any);
}

// Measures one collective after the other. Of several, those that cannot run here are left out.
Result<int> measure_each(RankContext& self) {
  const auto commands = of_each_collective(self.command);
  const bool several = commands.size() > 1;
  int all = kExitUsage;
  for (const auto& command : commands) {
    TRY_ASSIGN(const auto status, measure(self, command));
    if (several && status == kExitUsage) continue;
    if (status != kExitHealthy) return status;
    all = kExitHealthy;
    if (self.leads()) self.reporter.end_collective(command);
  }
  return all;
}

Result<int> measure_and_report(RankContext& self) {
  if (self.command.split) {
    auto parts = split_ranks(self);
    if (!parts) {
      if (self.leads()) self.say(parts.error().message);
      return kExitUsage;
    }
    self.parts = *std::move(parts);
  }
  TRY(start_backends(self));
  TRY_ASSIGN(const auto status, measure_each(self));
  if (status != kExitHealthy) return status;
  self.enter("report", to_duration(self.command.operation_deadline));
  return broadcast(*self.membership.group, self.leads() ? self.reporter.conclude() : kExitHealthy);
}

// Informs the other ranks, if they have met, that this rank cannot continue. Rank 0 reports for the
// run. Back ends are leaked, because taking down a failed one might hang.
int give_up(RankContext& self, Error error) {
  // When a rank is lost, operations fail everywhere. The group's thread reports the loss and ends
  // this process within this time.
  constexpr auto kLossesFirst = std::chrono::milliseconds(300);
  self.emergency.watch(static_cast<Backend*>(nullptr));
  (void)self.backend.release();
  for (auto& each : self.part_backends) (void)each.backend.release();
  (void)self.membership.mpi.release();
  const auto cause = explain_failure(self, error);
  const bool explained = !cause.empty();
  if (explained) error.message.append(fmt::format("; {}", cause));
  auto* const group = self.membership.group.get();
  // A rank that knows the cause reports before those that fail because of it.
  const bool waits = group != nullptr && self.place.world > 1 && !explained;
  if (waits) std::this_thread::sleep_for(kLossesFirst);
  if (!self.leads() || group == nullptr) {
    self.say(fmt::format("{}{}", self.prefix(), error.message));
  }
  if (group == nullptr) return kExitUndecided;
  const Trouble trouble{.kind = Trouble::Kind::given_up,
                        .phase = self.phase.get(),
                        .what = error.message,
                        .ranks = {self.place.rank},
                        .broken = error.broken,
                        .explained = explained};
  if (self.leads()) self.emergency.report(trouble);
  group->give_up(trouble);
  replay_nccl_log();
  return exit_status_of(trouble);
}

// Takes everything down after the report.
void leave(RankContext& self) {
  self.emergency.watch(static_cast<Backend*>(nullptr));
  self.part_backends.clear();
  self.backend.reset();
  self.emergency.watch(static_cast<Group*>(nullptr));
  self.membership.group.reset();
  if (self.membership.mpi == nullptr) return;
  {
    const auto held = self.emergency.hold();
    self.emergency.mark_reported();  // by rank 0
  }
  const PhaseDeadline limit(self.emergency, self.place.rank, "end of MPI",
                            to_duration(self.command.operation_deadline));
  if (auto finished = self.membership.mpi->finish(); !finished) self.say(finished.error().message);
}

// mpirun calls every status but 0 an error of the job, right below what this prints.
void explain_status(const RankContext& self, int status) {
  const bool by_mpirun =
      self.place.launcher == Launcher::open_mpi || self.place.launcher == Launcher::hydra;
  const auto& verdict = self.reporter.verdict_line();
  if (!self.leads() || !by_mpirun || status == kExitHealthy || verdict.empty()) return;
  self.say(fmt::format("exit status {}, because the verdict is {}", status, verdict));
}

int run_rank(const BenchCommand& command, const RunInput& input, LocalRank own, const Work& work) {
  RankContext self(command, input, std::move(own.place));
  if (auto prepared = prepare(self); !prepared) return refuse(self, prepared.error());
  self.emergency.report_through(
      {.report =
           [&](const Trouble& it) {
             restore_standard_output();
             self.reporter.report(it, nccl_warnings());
             explain_status(self, exit_status_of(it));
           },
       .note = [&](const Trouble& it) { self.say(fmt::format("{}: {}", self.name(), it.what)); },
       .before_exit = replay_nccl_log});
  end_on_signals(self);
  auto met = meet(self, std::move(own.listener), std::move(own.secret));
  if (!met) return give_up(self, met.error());
  const auto status = work ? work(self) : measure_and_report(self);
  if (!status) return give_up(self, status.error());
  leave(self);
  explain_status(self, *status);
  return *status;
}

// The number of ranks that this process becomes.
int local_ranks(const BenchCommand& command, const Place& place) {
  if (command.local) return *command.local;
  const bool on_gpus =
      command.backend == BackendKind::automatic || command.backend == BackendKind::nccl;
  const bool one_per_node = place.launcher == Launcher::alone ||
                            (place.launcher == Launcher::torchrun && !place.local_rank) ||
                            place.launcher == Launcher::tf_config;
  if (!on_gpus || !one_per_node) return 1;
  return usable_gpus(command.cuda).value_or(1);
}

// The ranks notice a stopped one within their longest deadline, and then have time to report it.
std::chrono::milliseconds longest_stop(const BenchCommand& command) {
  constexpr std::chrono::seconds kToReport{30};
  return std::chrono::ceil<std::chrono::milliseconds>(to_duration(command.join_deadline) +
                                                      to_duration(command.operation_deadline)) +
         kToReport;
}

}  // namespace

void RunInput::say(std::string_view line) const {
  if (!line.empty()) console.note(fmt::format("muster-bench: {}", line));
}

int RunInput::refuse(int status, std::string_view why) const {
  say(why);
  return status;
}

int run(const BenchCommand& command, const RunInput& input, const Work& work) {
  if (command.backend == BackendKind::sim) return run_rank(command, input, {}, work);
  auto place = find_place(input.variables, command.launch);
  if (!place) return input.refuse(kExitConfiguration, place.error().message);
  auto secret = job_secret(command, input.variables);
  if (!secret) return input.refuse(kExitConfiguration, secret.error().message);
  const int count = local_ranks(command, *place);
  if (count <= 1) {
    return run_rank(command, input, {.place = *place, .secret = *std::move(secret)}, work);
  }
  if (const auto may = may_become(*place, count); !may) {
    return input.refuse(kExitConfiguration, may.error().message);
  }
  auto forked = fork_local_ranks(
      *place, {.count = count, .secret = *std::move(secret), .stopped = longest_stop(command)});
  if (!forked) return input.refuse(kExitUndecided, forked.error().message);
  if (auto* rank = std::get_if<LocalRank>(&*forked)) {
    return run_rank(command, input, std::move(*rank), work);
  }
  const auto& end = std::get<LocalEnd>(*forked);
  for (const auto& note : end.notes) input.say(note);
  return end.status;
}

Result<Report> run_own(const std::vector<std::string>& words, Variables variables,
                       Clock::time_point deadline) {
  std::erase_if(variables, [](const auto& variable) {
    constexpr std::array<std::string_view, 6> kLaunchers{"SLURM_", "OMPI_COMM_", "PMI_",
                                                         "PMIX_",  "RANK",       "WORLD_SIZE"};
    return std::ranges::any_of(
        kLaunchers, [&](std::string_view name) { return variable.first.starts_with(name); });
  });
  TRY_ASSIGN(const auto ended, run_program({.program = sibling_program("muster-bench"),
                                            .arguments = words,
                                            .environment = std::move(variables),
                                            .limit = deadline}));
  if (auto report = parse_report(ended.out)) return report;
  const auto lines = split_lines(ended.err);
  return make_error("muster-bench exited with status {}: {}", ended.status,
                    printable(lines.empty() ? "no output" : lines.back(), 300));
}

}  // namespace muster::bench
