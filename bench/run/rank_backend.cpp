// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rank_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/run/backend_choice.hpp"
#include "bench/run/messages.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"

namespace muster::bench {
namespace {

Exchange exchange_of(Group& group) {
  return {.gather = [&group](std::string_view mine) { return group.gather(mine); },
          .broadcast = [&group](std::string_view text) { return group.broadcast(text); }};
}

// Of a back end among all ranks, which begins to start here.
BackendParts begin(RankContext& self, Met& met) {
  const auto limit =
      to_duration(self.command.join_deadline) + to_duration(self.command.operation_deadline);
  const Phase phase{fmt::format("start of {}", to_string(self.kind)), Part::starting};
  self.enter(*met.group, phase, limit);
  // Called again where the back end makes its connections anew.
  const auto meet = [&self, &group = *met.group, phase, limit](ProgressCounters counters) {
    self.enter(group,
               {fmt::format("{}'s communicator", phase.name), Part::starting},
               limit,
               std::move(counters));
  };
  return {.command = &self.command,
          .kind = self.kind,
          .rank = met.group->rank(),
          .ranks = met.group->size(),
          .exchange = exchange_of(*met.group),
          .mpi = met.mpi.get(),
          .local_rank = met.local_rank,
          .host = host_name(),
          .before_meeting = meet};
}

}  // namespace

Result<std::unique_ptr<Backend>> make_whole_backend(RankContext& self, Met& met) {
  return make_backend(begin(self, met));
}

Result<std::unique_ptr<Backend>> make_part_backend(RankContext& self,
                                                   Met& met,
                                                   const std::vector<RankPart>& parts,
                                                   std::optional<std::chrono::nanoseconds> limit) {
  auto made_of = begin(self, met);
  const auto part = part_with(parts, made_of.rank);
  const auto& ranks = parts[part].ranks;
  made_of.exchange = exchange_within(*met.group, parts);
  made_of.forming_limit = limit;
  made_of.colour = static_cast<int>(part);
  made_of.rank = static_cast<int>(std::ranges::find(ranks, made_of.rank) - ranks.begin());
  made_of.ranks = static_cast<int>(ranks.size());
  return make_backend(made_of);
}

Result<void> introduce(RankContext& self, Met& met, const Backend& backend) {
  const auto told = met.group->gather(to_message(backend.members()));
  if (!told) return tl::unexpected(told.error());
  std::vector<Member> members;
  for (std::size_t rank = 0; rank < told->size(); ++rank) {
    const auto& text = (*told)[rank];
    auto own = text.empty() ? std::vector<Member>(1)
                            : from_message<std::vector<Member>>(text, static_cast<int>(rank));
    if (!own) return tl::unexpected(own.error());
    std::ranges::move(*own, std::back_inserter(members));
  }
  // In its part, a rank has another number.
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    members[rank].rank = static_cast<int>(rank);
  }
  const bool gpus = self.kind == BackendKind::nccl || self.kind == BackendKind::sim;
  self.reporter.set_diagnosis(backend.diagnosis());
  self.reporter.set_members(std::move(members), backend.library(), gpus);
  return {};
}

}  // namespace muster::bench
