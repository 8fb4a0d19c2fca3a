// SPDX-License-Identifier: Apache-2.0
// Splits the command of a line of NHC's configuration into words as a shell would. Nothing is
// carried out: what would need a shell is an error that names it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::nhc {

// A variable is empty where it is set to something that muster cannot know.
using Variables = std::map<std::string, std::optional<std::string>, std::less<>>;

struct Setting {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const Setting&) const = default;
};

struct Command {
  std::vector<Setting> settings;   // NAME=VALUE before the first word, or behind `export`
  std::vector<std::string> words;  // the check and its arguments; empty for settings alone
  std::string unresolved;          // the first variable among the words whose value is not known

  bool operator==(const Command&) const = default;
};

// Quotes, backslashes, $NAME, ${NAME} and comments, without expansion of file names, which NHC
// switches off too. An error names what only a shell could do: "$(", ";", "|" …
[[nodiscard]] Result<Command> read_command(std::string_view text, const Variables& variables);

}  // namespace muster::nhc
