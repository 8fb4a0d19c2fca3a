// SPDX-License-Identifier: Apache-2.0
// Options of NHC's checks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/judging.hpp"

namespace muster::nhc {

// Options as getopts reads them: single letters, together or apart, up to the first other word.
struct Options {
  std::map<char, std::vector<std::string>> given;  // with their values; flags have empty ones
  std::vector<std::string> rest;

  [[nodiscard]] bool has(char letter) const { return given.contains(letter); }

  [[nodiscard]] std::vector<std::string> values(char letter) const {
    const auto found = given.find(letter);
    return found == given.end() ? std::vector<std::string>() : found->second;
  }

  // The last one; empty for none.
  [[nodiscard]] std::string value(char letter) const {
    return has(letter) ? given.at(letter).back() : std::string();
  }
};

// Reads them as bash's getopts does. `known`: the letters, each with a colon where it takes a
// value, as "0rs:t:".
[[nodiscard]] Result<Options> read_options(const Arguments& arguments, std::string_view known);

}  // namespace muster::nhc
