// SPDX-License-Identifier: Apache-2.0
// Finds parts, seats, nodes and hosts that fail again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster::fleet {

// A bad slot is a seat that keeps failing with different parts; a bad part fails wherever it is. If
// two kinds explain the same incidents, the first one is named.
enum class SuspectKind { part, seat, node, host };

MUSTER_WORDS(SuspectKind, "part", "seat", "node", "host");

struct Suspect {
  SuspectKind kind = SuspectKind::part;
  std::uint32_t peers = 0;  // id of the group that should fail equally often, such as a model
  double exposure_h = 0;    // observed within the window
};

// An incident, with everything that may be at fault. Boots may be numbered in any way.
struct SuspectedIncident {
  std::size_t boot = 0;
  std::vector<std::size_t> suspects;  // indices
};

struct OffenderRule {
  double factor = 3;
  double probability = 0.8;
  double shape = 0.5;
  std::int64_t fewest_incidents = 3;
  std::int64_t fewest_boots = 2;
  // Among thousands of parts, some have several incidents by chance. A part or seat is only named
  // if fewer than this many of its peers are expected to have as many.
  double by_chance = 0.1;
};

struct Offender {
  std::size_t suspect = 0;
  std::int64_t incidents = 0;
  std::int64_t boots = 0;
  double factor = 0;       // its rate, as a multiple of its peers' rate
  double probability = 0;  // probability that its true factor is above the rule's

  bool operator==(const Offender&) const = default;
};

// Returns the most certain first. An incident that one offender explains does not count against
// others, so if a bad part moved, its nodes are not accused. All incidents must be in the window.
[[nodiscard]] std::vector<Offender> find_offenders(const std::vector<Suspect>& suspects,
                                                   const std::vector<SuspectedIncident>& incidents,
                                                   const OffenderRule& rule = {});

}  // namespace muster::fleet
