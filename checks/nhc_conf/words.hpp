// SPDX-License-Identifier: Apache-2.0
// Splits the command of a line into words as a shell does, without running anything.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::nhc {

// A variable without a value is set to something that muster cannot evaluate.
using Variables = std::map<std::string, std::optional<std::string>, std::less<>>;

struct Setting {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const Setting&) const = default;
};

struct Command {
  std::vector<Setting> settings;   // NAME=VALUE before the first word, or after `export`
  std::vector<std::string> words;  // the check and its arguments; empty for settings alone
  std::string unresolved;          // the first variable among the words without a value

  bool operator==(const Command&) const = default;
};

// Understands quotes, backslashes, $NAME, ${NAME} and comments. Returns an error that names the
// construct for anything that only a shell can evaluate: "$(", ";", "|" …
[[nodiscard]] Result<Command> read_command(std::string_view text, const Variables& variables);

}  // namespace muster::nhc
