// SPDX-License-Identifier: Apache-2.0
// The one table of options per command: parsing, --help, the man page's and the completion's tests
// all read it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/result.hpp"

namespace muster::app {

enum class Arity {
  flag,  // no value
  one,   // one value; the last one given counts
  each,  // one value, and may be repeated
  many,  // all values that follow
};

template <class Command>
struct Option {
  std::string_view name;      // "--profile", or "-v,--verbose"
  std::string_view argument;  // "NAME|FILE"; for a choice "text|json"; empty for a flag
  Arity arity;
  std::string_view help;
  Result<void> (*set)(Command&, std::string_view);
};

template <class Command>
[[nodiscard]] std::span<const Option<Command>> options_of();

// The same without the type of the command, for texts.
struct OptionText {
  std::string_view name;
  std::string_view argument;
  Arity arity;
  std::string_view help;
};

struct CommandText {
  std::string_view name;
  std::string_view synopsis;  // what follows the name: "[OPTION]...", "CHECK [OPTION]..."
  std::string_view about;     // one line
  std::vector<OptionText> options;
};

// All commands, in the order of the help text.
[[nodiscard]] std::vector<CommandText> command_texts();

[[nodiscard]] std::string overview_help();
[[nodiscard]] std::string command_help(const CommandText& command);

}  // namespace muster::app
