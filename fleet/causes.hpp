// SPDX-License-Identifier: Apache-2.0
// `muster fleet causes`: incidents and the node-hours they cost, by check, part, firmware, leaf
// switch, host or cluster.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/fleet/causes.hpp"

namespace muster::fleet {

enum class CausesBy { check, part_kind, model, firmware, leaf, host, provider, action };

inline constexpr std::string_view kCausesBy{
    "check|part-kind|model|firmware|leaf|host|provider|action"};
MUSTER_WORDS(CausesBy, "check", "part-kind", "model", "firmware", "leaf", "host", "provider",
             "action");

struct CausesAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_causes/1";
  MUSTER_DESCRIBED(CausesAnswer);
  MUSTER_FIELD(CausesBy, by, "") = CausesBy::check;
  MUSTER_FIELD(std::string, from, "the first day") = {};
  MUSTER_FIELD(std::string, until, "the last day") = {};
  MUSTER_FIELD(std::uint64_t, nodes, "") = 0;
  MUSTER_FIELD(Mtbf, all, "incidents of a node, from any cause");
  MUSTER_FIELD(double, lost_h, "node-hours") = 0;
  MUSTER_FIELD(std::vector<CauseRow>, rows, "the most expensive first") = {};
};

// One rung of the repair ladder: what muster would have done, and what it did.
struct ActionRow {
  MUSTER_DESCRIBED(ActionRow);
  MUSTER_FIELD(std::string, action, "");
  MUSTER_FIELD(std::int64_t, shadows, "decisions of --shadow whose incident is over") = 0;
  MUSTER_FIELD(std::int64_t, agreed, "decisions that match what the admins did") = 0;
  MUSTER_FIELD(std::int64_t, open, "decisions whose incident is not over") = 0;
  MUSTER_FIELD(ByName<std::int64_t>, outcomes, "number of actions, by state");
};

struct ActionsAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_actions/1";
  MUSTER_DESCRIBED(ActionsAnswer);
  MUSTER_FIELD(std::vector<ActionRow>, rows, "");
};

[[nodiscard]] Result<ActionsAnswer> ask_actions(Database& database, const Nodes& nodes,
                                                std::int64_t since);
[[nodiscard]] std::string actions_text(const ActionsAnswer& answer, std::size_t width);

// The leaf switch of each node. Only needed for CausesBy::leaf.
using Leaves = std::map<std::string, std::string>;

[[nodiscard]] Result<CausesAnswer> ask_causes(Database& database, const Nodes& nodes, CausesBy by,
                                              std::int64_t since, const Leaves& leaves = {});
[[nodiscard]] std::string causes_text(const CausesAnswer& answer, std::size_t width);

}  // namespace muster::fleet
