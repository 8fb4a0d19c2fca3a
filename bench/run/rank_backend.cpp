// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rank_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/sim/sim.hpp"
#include "bench/backends/tcp/mesh.hpp"
#include "bench/model/cluster_model.hpp"
#include "bench/run/meeting.hpp"
#include "bench/sockets/greeting.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

std::string name_of(const Split& split, int key, const std::vector<int>& ranks,
                    const std::vector<std::string>& hosts) {
  if (split.by == Split::By::node) return hosts.at(static_cast<std::size_t>(key));
  if (split.by == Split::By::rail) return fmt::format("rail{}", key);
  return fmt::format("ranks {}-{}", ranks.front(), ranks.back());
}

// Returns why MPI is not available, or an empty text. Opens the module, since its MPI library may
// be missing.
std::string why_not_mpi(const Place& place) {
  if (!place.mpi) return ", and no MPI launcher";
  const auto module = open_mpi_module(mpi_module_path());
  return module ? "" : fmt::format(", and no MPI: {}", module.error().message);
}

// The ranks of a back end: all of them, or those of one part.
struct RankScope {
  int rank = 0;
  int ranks = 1;
  Exchange exchange;
  std::optional<int> colour = {};                              // of a part, for MPI
  std::optional<std::chrono::nanoseconds> forming_limit = {};  // see NcclOptions
};

RankScope all_of(Group& group) {
  return {
      .rank = group.rank(),
      .ranks = group.size(),
      .exchange = {.gather = [&group](std::string_view mine) { return group.gather(mine); },
                   .broadcast = [&group](std::string_view text) { return group.broadcast(text); }}};
}

Result<std::unique_ptr<Backend>> make_tcp(const RankScope& scope) {
  TRY_ASSIGN(auto drawn, random_secret());
  TRY_ASSIGN(auto token, scope.exchange.broadcast(drawn));
  return tcp::make_backend({.rank = scope.rank,
                            .ranks = scope.ranks,
                            .token = std::move(token),
                            .exchange = scope.exchange});
}

// Returns 1 once NCCL has logged that this rank has arrived. Versions before 2.17 do not log it.
std::uint64_t has_begun_to_meet() {
  return nccl_log().find("Init START") == std::string::npos ? 0 : 1;
}

// Calls `meet` whenever the ranks are about to meet in NCCL itself, with this rank's progress.
Result<std::unique_ptr<Backend>> make_nccl(const BenchCommand& command, int local_rank,
                                           const RankScope& scope,
                                           const std::function<void(ProgressCounters)>& meet) {
  return make_nccl_backend(
      {.cuda = command.cuda,
       .nccl = command.nccl,
       .rank = scope.rank,
       .ranks = scope.ranks,
       .local_rank = local_rank,
       .host = host_name(),
       .broadcast =
           [broadcast = scope.exchange.broadcast, meet](std::string_view text) {
             meet({.started = has_begun_to_meet, .finished = [] { return 0; }, .unit = ""});
             return broadcast(text);
           },
       .forming_limit = scope.forming_limit,
       .registered = command.registered,
       .diagnose = command.diagnose,
       .bind = command.bind == Bind::gpu});
}

Result<std::unique_ptr<Backend>> make_backend(RankContext& self, const RankScope& scope) {
  const auto limit =
      to_duration(self.command.join_deadline) + to_duration(self.command.operation_deadline);
  const Phase phase{fmt::format("start of {}", to_string(self.kind)), Part::starting};
  self.enter(phase, limit);
  const auto meet = [&self, phase, limit](ProgressCounters counters) {
    self.enter({fmt::format("{}'s communicator", phase.name), Part::starting}, limit,
               std::move(counters));
  };
  switch (self.kind) {
    case BackendKind::nccl:
      return make_nccl(self.command, self.membership.local_rank, scope, meet);
    case BackendKind::mpi:
      return self.membership.mpi->make_backend(scope.colour);
    case BackendKind::tcp:
      return make_tcp(scope);
    case BackendKind::sim:
    case BackendKind::automatic:
      break;
  }
  return make_sim_backend(self.cluster, whole(self.cluster));
}

}  // namespace

Result<std::vector<RankPart>> parts_of(const Split& split, const std::vector<RankPlace>& places,
                                       const std::vector<std::string>& hosts) {
  std::map<int, std::vector<int>> by_key;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const auto& place = places[static_cast<std::size_t>(rank)];
    const int key = split.by == Split::By::node   ? place.node
                    : split.by == Split::By::rail ? place.local
                                                  : rank / split.count;
    by_key[key].push_back(rank);
  }
  std::vector<RankPart> parts;
  for (auto& [key, ranks] : by_key) {
    if (ranks.size() < 2) {
      return make_error("--split: rank {} would be alone, and one rank has no bandwidth",
                        ranks.front());
    }
    auto name = name_of(split, key, ranks, hosts);
    parts.push_back({.name = std::move(name), .ranks = std::move(ranks)});
  }
  if (parts.size() < 2) {
    return make_error("--split: all {} ranks would be together", places.size());
  }
  return parts;
}

Result<std::vector<RankPart>> split_ranks(const RankContext& self) {
  const auto& split = *self.command.split;
  const auto& agreed = self.membership.agreed;
  if (self.kind != BackendKind::sim) return parts_of(split, agreed.places, agreed.hosts);
  const auto& cluster = self.cluster;
  std::vector<RankPlace> places;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks_of(cluster); ++rank) {
    places.push_back({rank / cluster.gpus, rank % cluster.gpus});
  }
  for (const auto node : whole(cluster).nodes) hosts.push_back(sim_node_name(node));
  return parts_of(split, places, hosts);
}

std::size_t part_with(const std::vector<RankPart>& parts, int rank) {
  const auto found = std::ranges::find_if(parts, [rank](const RankPart& part) {
    return std::ranges::find(part.ranks, rank) != part.ranks.end();
  });
  return static_cast<std::size_t>(found - parts.begin());
}

Exchange exchange_within(Group& group, const std::vector<RankPart>& parts) {
  const auto& mine = parts.at(part_with(parts, group.rank()));
  // Returns the texts of all ranks, on all ranks. They may be any bytes, such as NCCL's id; that of
  // a lost rank is empty.
  const auto all = [&group](std::string_view text) -> Result<std::vector<std::string>> {
    TRY_ASSIGN(const auto gathered, group.gather(text));
    std::vector<ByteList> bytes;
    for (const auto& each : gathered) bytes.emplace_back(each.begin(), each.end());
    TRY_ASSIGN(const auto lists, broadcast(group, bytes));
    std::vector<std::string> texts;
    for (const auto& list : lists) texts.emplace_back(list.begin(), list.end());
    return texts;
  };
  return {
      .gather = [all, &group, &mine](std::string_view text) -> Result<std::vector<std::string>> {
        TRY_ASSIGN(const auto texts, all(text));
        std::vector<std::string> own;
        if (group.rank() != mine.ranks.front()) return own;
        for (const int rank : mine.ranks) own.push_back(texts.at(static_cast<std::size_t>(rank)));
        return own;
      },
      .broadcast = [all, &mine](std::string_view text) -> Result<std::string> {
        TRY_ASSIGN(auto texts, all(text));
        return texts.at(static_cast<std::size_t>(mine.ranks.front()));
      }};
}

std::string_view to_string(BackendKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"auto", "nccl", "mpi", "tcp", "sim"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Attempt<BackendKind> pick_backend(const BenchCommand& command, const Place& place,
                                  const Profile& profile, std::vector<std::string>& evidence) {
  if (command.backend != BackendKind::automatic) return command.backend;
  const auto gpus = usable_gpus(command.cuda);
  if (gpus && *gpus > 0) {
    evidence.push_back(fmt::format("back end nccl: CUDA can use {}",
                                   counted(static_cast<std::uint64_t>(*gpus), "GPU")));
    return BackendKind::nccl;
  }
  const auto why = gpus ? std::string("CUDA finds none") : gpus.error().message;
  const bool expected = expects_gpus(profile);
  if (expected || !(gpus || gpus.error().missing)) {
    const auto where = expected ? fmt::format(", where profile {} expects {}", profile.name,
                                              profile.gpu->present.count.value_or(0))
                                : std::string();
    return tl::unexpected<Failure>(
        Failure{.status = kExitUndecided,
                .message = fmt::format("no GPU can be used on {}{}: {} (--backend mpi or tcp would "
                                       "measure host memory)",
                                       host_name(), where, why)});
  }
  const auto no_mpi = why_not_mpi(place);
  const auto kind = no_mpi.empty() ? BackendKind::mpi : BackendKind::tcp;
  evidence.push_back(fmt::format("back end {}: no GPU ({}){}", to_string(kind), why, no_mpi));
  return kind;
}

Result<std::unique_ptr<Backend>> make_whole_backend(RankContext& self) {
  return make_backend(self, all_of(*self.membership.group));
}

Result<std::unique_ptr<Backend>> make_part_backend(RankContext& self,
                                                   const std::vector<RankPart>& parts,
                                                   std::optional<std::chrono::nanoseconds> limit) {
  auto& group = *self.membership.group;
  const auto part = part_with(parts, group.rank());
  const auto& ranks = parts[part].ranks;
  return make_backend(
      self, {.rank = static_cast<int>(std::ranges::find(ranks, group.rank()) - ranks.begin()),
             .ranks = static_cast<int>(ranks.size()),
             .exchange = exchange_within(group, parts),
             .colour = static_cast<int>(part),
             .forming_limit = limit});
}

std::vector<Member> members_known_from(const Agreement& agreed, Member first) {
  std::vector<Member> members{std::move(first)};
  for (std::size_t rank = 1; rank < agreed.places.size(); ++rank) {
    const auto node = static_cast<std::size_t>(agreed.places[rank].node);
    members.push_back({.rank = static_cast<int>(rank), .host = agreed.hosts.at(node)});
  }
  return members;
}

Result<void> introduce(RankContext& self, const Backend& backend) {
  TRY_ASSIGN(const auto texts, self.membership.group->gather(to_message(backend.members())));
  std::vector<Member> members;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto& text = texts[rank];
    TRY_ASSIGN(auto own, text.empty()
                             ? std::vector<Member>(1)
                             : from_message<std::vector<Member>>(text, static_cast<int>(rank)));
    std::ranges::move(own, std::back_inserter(members));
  }
  // Within its part, a rank has another number.
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    members[rank].rank = static_cast<int>(rank);
  }
  TRY_ASSIGN(auto first,
             broadcast(*self.membership.group, self.leads() ? members.front() : Member()));
  if (!self.leads()) members = members_known_from(self.membership.agreed, std::move(first));
  const bool gpus =
      self.kind == BackendKind::nccl || (self.kind == BackendKind::sim && !self.cluster.on_host);
  self.reporter.set_backend(backend, std::move(members), gpus);
  return {};
}

}  // namespace muster::bench
