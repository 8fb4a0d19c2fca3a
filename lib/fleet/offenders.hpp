// SPDX-License-Identifier: Apache-2.0
// Parts, seats, nodes and hosts that fail again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster::fleet {

// A bad slot is a seat whose parts changed; a bad part fails wherever it is. Of two that explain
// the same incidents, the first kind is named.
enum class SuspectKind { part, seat, node, host };

MUSTER_WORDS(SuspectKind, "part", "seat", "node", "host");

struct Suspect {
  SuspectKind kind = SuspectKind::part;
  std::uint32_t peers = 0;  // the number of the group that should fail equally often: a model
  double exposure_h = 0;    // observed within the window
};

// An incident, with all that may be at fault. Boots are numbered in any way.
struct SuspectedIncident {
  std::size_t boot = 0;
  std::vector<std::size_t> suspects;  // places
};

struct OffenderRule {
  double factor = 3;
  double probability = 0.8;
  double shape = 0.5;
  std::int64_t fewest_incidents = 3;
  std::int64_t fewest_boots = 2;
  // Some of thousands of parts have several incidents by chance. A part or seat is named if fewer
  // than this many of its peers are expected to have as many.
  double by_chance = 0.1;
};

struct Offender {
  std::size_t suspect = 0;
  std::int64_t incidents = 0;
  std::int64_t boots = 0;
  double factor = 0;       // its rate, as a multiple of its peers'
  double probability = 0;  // that it is above the factor of the rule

  bool operator==(const Offender&) const = default;
};

// The most certain first. An incident that one offender explains does not count against others, so
// the nodes of a bad part that moved are not accused. All incidents are within the window.
[[nodiscard]] std::vector<Offender> find_offenders(const std::vector<Suspect>& suspects,
                                                   const std::vector<SuspectedIncident>& incidents,
                                                   const OffenderRule& rule = {});

}  // namespace muster::fleet
