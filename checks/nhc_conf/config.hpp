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
  bool strict = false;      // Azure's checks are judged to the letter

  bool operator==(const Config&) const = default;
};

[[nodiscard]] Config parse_config(std::string file, std::string_view text);

// A line that applies to a node, its variables replaced by their values.
struct CheckLine {
  int number = 0;
  std::string check;  // empty where there is only a complaint, or a setting that is not known
  std::vector<std::string> arguments;
  std::string complaint;   // why it cannot be judged
  std::string unresolved;  // a variable that the arguments need and nobody sets

  bool operator==(const CheckLine&) const = default;
};

// "the variable $NAME is not known".
[[nodiscard]] std::string unknown_variable(const CheckLine& line);

// The lines for this node, in the file's order; a setting holds for the lines after it. Where
// `node` is empty only lines for all nodes can be told, and the others are complaints.
[[nodiscard]] std::vector<CheckLine> check_lines_on(const Config& config, std::string_view node);

// Every line, whichever nodes it is for: what has to be observed follows from these.
[[nodiscard]] std::vector<CheckLine> all_check_lines(const Config& config);

}  // namespace muster::nhc
