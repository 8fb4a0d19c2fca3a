// SPDX-License-Identifier: Apache-2.0
#include "bench/run/bench_run.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/sim/cluster.hpp"
#include "bench/launch/local.hpp"
#include "bench/run/concluding.hpp"
#include "bench/run/measuring.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split_measuring.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"

namespace muster::bench {
namespace {

Attempt<void> prepare(RankContext& self) {
  TRY_ASSIGN(auto choice,
             choose_profile(self.command.profile, self.command.settings, self.variables));
  TRY_ASSIGN(const auto kind,
             pick_backend(self.command, self.place, choice.profile, self.place.evidence));
  self.kind = kind;
  if (self.kind != BackendKind::sim) {
    if (self.command.environment == VariableSource::profile) {
      self.settings = take_settings(choice.profile, self.kind, self.variables);
    }
    choice.evidence.push_back(sentence_of(self.settings, choice.profile.name));
    auto set = self.place.mpi ? spare_fabric_search(self.variables) : std::string();
    if (!set.empty()) self.place.evidence.push_back(std::move(set));
  }
  self.reporter.begin(std::move(choice), to_string(self.kind), host_name(), self.variables);
  return {};
}

// What every rank finds out for itself, or the ranks of one node alone, is said once on each node.
int refuse(const RankContext& self, const Failure& failure) {
  if (self.place.local_rank.value_or(0) == 0) {
    self.say(fmt::format("{}{}", self.prefix(), failure.message));
  }
  return failure.status;
}

// The parts of all ranks, of which each rank finds the same.
Result<std::vector<RankPart>> split_ranks(const RankContext& self, const Membership& membership) {
  const auto& split = *self.command.split;
  std::vector<RankPlace> places;
  if (self.kind != BackendKind::sim) {
    for (std::size_t rank = 0; rank < membership.agreed.nodes.size(); ++rank) {
      places.push_back({membership.agreed.nodes[rank], membership.agreed.local_ranks[rank]});
    }
    return parts_of(split, places, membership.agreed.hosts);
  }
  TRY_ASSIGN(const auto cluster, parse_sim(self.command.sim));
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks_of(cluster); ++rank) {
    places.push_back({rank / cluster.gpus, rank % cluster.gpus});
  }
  for (int node = 0; node < cluster.nodes; ++node) hosts.push_back(fmt::format("sim{}", node));
  return parts_of(split, places, hosts);
}

// Of a model this process does all parts.
Result<void> start_models(const RankContext& self, Parts& parts) {
  TRY_ASSIGN(const auto cluster, parse_sim(self.command.sim));
  for (std::size_t part = 0; part < parts.split.size(); ++part) {
    TRY_ASSIGN(const auto of_part, part_of(cluster, parts.split[part].ranks));
    parts.own.push_back({.part = part, .backend = make_sim_backend(of_part)});
  }
  return {};
}

Result<void> start_backend(RankContext& self, Parts& parts) {
  if (self.command.split && self.kind != BackendKind::sim) {
    TRY_ASSIGN(auto backend, make_part_backend(self, parts.membership, parts.split));
    const auto part = part_with(parts.split, parts.membership.group->rank());
    parts.own.push_back({.part = part, .backend = std::move(backend)});
  } else {
    auto made = put(parts.backend, make_whole_backend(self, parts.membership));
    if (!made) return made;
    if (self.command.split) {
      if (auto begun = start_models(self, parts); !begun) return begun;
    }
  }
  auto& any = parts.backend ? *parts.backend : *parts.own.front().backend;
  self.emergency.watch(&any);
  return introduce(self, parts.membership, any);
}

// One after the other. What cannot be run here is left out, unless that is all of them.
Result<int> measure_each(RankContext& self, Group& group, Backend& backend) {
  const auto commands = of_each_collective(self.command);
  const bool several = commands.size() > 1;
  int all = several ? kExitUsage : kExitHealthy;
  for (const auto& command : commands) {
    const auto status = measure(self, command, group, backend);
    const bool left_out = several && status && *status == kExitUsage;
    if (left_out) continue;
    if (!status || *status != kExitHealthy) return status;
    all = kExitHealthy;
    if (several && self.leads()) self.reporter.end_collective(command);
  }
  return all;
}

Result<int> measure_and_report(RankContext& self, Parts& parts) {
  if (self.command.split) {
    auto split = split_ranks(self, parts.membership);
    if (!split) {
      if (self.leads()) self.say(split.error().message);
      return kExitUsage;
    }
    parts.split = *std::move(split);
  }
  if (auto started = start_backend(self, parts); !started) return tl::unexpected(started.error());
  auto& group = *parts.membership.group;
  const auto status = parts.own.empty() ? measure_each(self, group, *parts.backend)
                                        : measure_parts(self, group, parts.split, parts.own);
  if (!status || *status != kExitHealthy) return status;
  self.enter(*parts.membership.group, "report", to_duration(self.command.operation_deadline));
  return broadcast(*parts.membership.group, self.leads() ? self.reporter.conclude() : kExitHealthy);
}

// What goes wrong before the others are met is this process' own; after that everybody is told.
int run_rank(const BenchCommand& command, const RunInput& input, LocalRank own, const Work& work) {
  RankContext self(command, input, std::move(own.place));
  Parts parts;
  if (auto prepared = prepare(self); !prepared) return refuse(self, prepared.error());
  self.emergency.report_through(
      {.report =
           [&](const Trouble& it) {
             give_back_standard_output();
             self.reporter.report(it, nccl_warnings());
           },
       .note = [&](const Trouble& it) { self.say(fmt::format("{}: {}", self.name(), it.what)); },
       .before_exit = replay_nccl_log});
  end_on_signals(self);
  auto met = meet(self, parts.membership, std::move(own.listener), std::move(own.secret));
  if (!met) return give_up(self, parts, met.error());
  const auto status = work ? work(self, parts) : measure_and_report(self, parts);
  if (!status) return give_up(self, parts, status.error());
  leave(self, parts);
  return *status;
}

// How many ranks this process is to become, where its launcher leaves that to it.
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
  const int count = local_ranks(command, *place);
  if (count <= 1) return run_rank(command, input, {.place = *place}, work);
  if (const auto may = may_become(*place, count); !may) {
    return input.refuse(kExitConfiguration, may.error().message);
  }
  auto forked = fork_local_ranks(*place, {.count = count});
  if (!forked) return input.refuse(kExitUndecided, forked.error().message);
  if (auto* rank = std::get_if<LocalRank>(&*forked)) {
    return run_rank(command, input, std::move(*rank), work);
  }
  const auto& end = std::get<LocalEnd>(*forked);
  for (const auto& note : end.notes) input.say(note);
  return end.status;
}

}  // namespace muster::bench
