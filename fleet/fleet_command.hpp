// SPDX-License-Identifier: Apache-2.0
// `muster fleet`: a year of reports of all nodes in one file, and questions about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/document.hpp"
#include "fleet/slurm_record.hpp"
#include "lib/base/quantity.hpp"
#include "lib/command/output.hpp"

namespace muster::app {

struct FleetCommand {
  static constexpr std::string_view kName = "fleet";
  enum class Form { text, json };

  std::string question;            // add, show, part ...; empty: show
  std::vector<std::string> words;  // after it
  std::string store = "/var/lib/muster/fleet.db";
  std::string cluster;  // of the nodes that are added; of those that are shown, empty: all
  bool slurm = false;
  std::optional<Seconds> since;  // ago; empty: all
  Form form = Form::text;
  std::string output;
  bool go = false;              // prune
  std::optional<Seconds> keep;  // likewise
};

// The words that may follow `fleet`.
[[nodiscard]] std::vector<std::string> fleet_questions();

// What `add` needs of other rooms.
struct FleetTools {
  fleet::JudgeSnapshot judge;
  fleet::CallSlurm call_slurm;
};

[[nodiscard]] int run_fleet(const FleetCommand& command, const Caller& caller,
                            const FleetTools& tools);

}  // namespace muster::app
