// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/retry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/locate/explain.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kControls = 32;

}  // namespace

Result<void> Retry::measure_some(const std::vector<Suspect>& suspects, std::vector<Node> partners) {
  std::vector<Node> seekers(suspects.size());
  std::ranges::transform(suspects, seekers.begin(), &Suspect::node);
  auto pairs = pair_with(seekers, partners, nodes_);
  const auto count = pairs.size();
  std::ranges::move(take_controls(partners, kControls, nodes_), std::back_inserter(pairs));
  const auto round = rounds_.measure("suspects with proven partners", groups_of(pairs));
  if (!round) return tl::unexpected(round.error());
  search_.keep(*round);
  const auto scale = scale_from(*round, count, suspicion_.scale, rounds_.rule());
  for (std::size_t i = 0; i < count; ++i) {
    auto suspect = suspects[i];
    suspect.meetings.push_back({pairs[i].second, round->gbps[i], scale});
    if (is_low(round->gbps[i], scale)) {
      suspicion_.slow.push_back(std::move(suspect));
    } else if (is_fine(round->gbps[i], scale)) {
      suspicion_.proven.push_back(suspect.node);
    } else {
      unclear_.push_back(std::move(suspect));
    }
  }
  return {};
}

Result<void> Retry::measure(std::vector<Suspect> suspects) {
  const auto proven = suspicion_.proven;
  while (!suspects.empty() && !proven.empty()) {
    const auto end =
        suspects.begin() + static_cast<std::ptrdiff_t>(std::min(suspects.size(), proven.size()));
    const std::vector<Suspect> now(suspects.begin(), end);
    suspects.erase(suspects.begin(), end);
    if (auto done = measure_some(now, proven); !done) return done;
  }
  return {};
}

Result<void> Retry::run(std::vector<Suspect> suspects) {
  if (auto done = measure(std::move(suspects)); !done) return done;
  auto once = std::exchange(unclear_, {});
  std::erase_if(suspicion_.slow, [&](const Suspect& suspect) {
    if (suspect.meetings.size() > 1) return false;
    once.push_back(suspect);
    return true;
  });
  if (auto done = measure(std::move(once)); !done) return done;
  for (const auto& suspect : unclear_) {
    search_.culprits.push_back(
        {.kind = Culprit::Kind::not_enough_data,
         .nodes = {suspect.node},
         .evidence = {fmt::format("{} is neither slow nor fine with {} partners",
                                  nodes_.names[suspect.node],
                                  suspect.meetings.size())}});
  }
  return {};
}

}  // namespace muster::bench::locate
