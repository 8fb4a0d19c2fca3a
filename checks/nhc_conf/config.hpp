// SPDX-License-Identifier: Apache-2.0
// Parses a configuration of LBNL's Node Health Check (NHC) and selects the lines for one node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::nhc {

inline constexpr std::size_t kLargestConfig = 1024UL * 1024;

struct Line {
  int number = 0;         // from 1; the first of several lines that backslashes join
  std::string target;     // which nodes the line is for
  std::string command;    // a check with its arguments, or settings
  std::string complaint;  // why the line is invalid; NHC ignores such a line silently

  bool operator==(const Line&) const = default;
};

struct Config {
  std::string file;
  std::vector<Line> lines;  // without blank lines and comments

  bool operator==(const Config&) const = default;
};

[[nodiscard]] Config parse_config(std::string file, std::string_view text);

// A line that applies to a node, with its variables expanded.
struct CheckLine {
  int number = 0;
  std::string check;  // empty if there is only a complaint
  std::vector<std::string> arguments;
  std::string complaint;   // why the line cannot be judged
  std::string unresolved;  // a variable that the arguments use and the file does not set

  // The argument, or the empty string, which NHC treats like a missing one.
  [[nodiscard]] std::string_view argument(std::size_t index) const {
    return index < arguments.size() ? std::string_view(arguments[index]) : std::string_view();
  }

  bool operator==(const CheckLine&) const = default;
};

// "the variable $NAME has no known value".
[[nodiscard]] std::string unknown_variable(const CheckLine& line);

// The lines for this node in the order of the file; without a node, the lines for any node. A
// setting applies to the lines after it. For an empty name, only lines for all nodes can be
// selected, and the others are complaints.
[[nodiscard]] std::vector<CheckLine> check_lines(const Config& config,
                                                 std::optional<std::string_view> node = {});

// The values of variables. One that is set to something that muster cannot evaluate is left out.
using Variables = std::map<std::string, std::string, std::less<>>;

// Reads the check and its arguments from a command, or updates the variables if the command only
// sets some: NAME=VALUE, or the same after `export`. Understands quotes, backslashes, $NAME,
// ${NAME} and comments. Returns an error that names the construct for anything that only a shell
// can evaluate: "$(", ";", "|" …
[[nodiscard]] Result<void> read_command(std::string_view text, Variables& variables,
                                        CheckLine& line);

// NHC's match strings: a glob, a /regular expression/ or a {range of nodes}, each negated by a
// leading "!". Returns an error for an invalid expression, which NHC takes to match nothing. A
// range is read as Slurm reads it: "n[1-10]" stands for n1 to n10.
[[nodiscard]] Result<bool> matches(std::string_view expression, std::string_view text);

}  // namespace muster::nhc
