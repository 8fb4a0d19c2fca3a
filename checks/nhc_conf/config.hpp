// SPDX-License-Identifier: Apache-2.0
// NHC's configuration: its lines, and what those that are for one node ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/words.hpp"

namespace muster::nhc {

inline constexpr std::size_t kLargestConfig = 1024UL * 1024;

struct Line {
  int number = 0;         // from 1; the first of those that a backslash joins
  std::string target;     // for which nodes
  std::string command;    // a check with its arguments, or settings
  std::string complaint;  // why it is none of these; NHC leaves it out in silence

  bool operator==(const Line&) const = default;
};

struct Config {
  std::string file;
  std::vector<Line> lines;  // without blank lines and comments

  bool operator==(const Config&) const = default;
};

[[nodiscard]] Config parse_config(std::string file, std::string_view text);

// One line that is for a node, its variables replaced.
struct Demand {
  int number = 0;
  std::string check;  // empty where there is only a complaint, or a setting that is not known
  std::vector<std::string> arguments;
  std::string complaint;   // why it cannot be judged
  std::string unresolved;  // a variable that the arguments need and nobody sets

  bool operator==(const Demand&) const = default;
};

// In the file's order. Settings are taken over as they come. Of a node without a name only lines
// for all nodes are understood.
[[nodiscard]] std::vector<Demand> demands_on(const Config& config, std::string_view node);

// What any node may be asked for, whatever its name: what has to be observed goes by this.
[[nodiscard]] std::vector<Demand> all_demands(const Config& config);

}  // namespace muster::nhc
