// SPDX-License-Identifier: Apache-2.0
// The commands that lines of NHC's configuration run.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/config.hpp"
#include "lib/base/fields.hpp"

namespace muster::nhc {

// The block `nhc` of muster.yaml.
struct SiteRules {
  MUSTER_DESCRIBED(SiteRules);
  MUSTER_FIELD(std::vector<std::string>, commands,
               "which commands of NHC's configuration muster may run: globs for the "
               "program's path and its arguments");
};

// What is wrong with the rules: the key and the rest of a sentence; an empty key for nothing.
struct BrokenRule {
  std::string key;
  std::string what;
};

[[nodiscard]] BrokenRule check_rules(const SiteRules& rules);

struct PlannedCommand {
  std::vector<std::string> words;
  std::chrono::milliseconds deadline{5000};

  bool operator==(const PlannedCommand&) const = default;
};

// The commands of the lines for this node; lines that make no sense have none.
[[nodiscard]] std::vector<PlannedCommand> commands_on(const Config& config, std::string_view node);

// Whether any line, whichever node it is for, runs a command.
[[nodiscard]] bool names_commands(const Config& config);

}  // namespace muster::nhc
