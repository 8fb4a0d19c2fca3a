// SPDX-License-Identifier: Apache-2.0
// The one table of options per command: parsing, --help, the man page's and the completion's tests
// all read it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"

namespace muster {

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

// The same without the type of the command, for texts.
struct OptionText {
  std::string_view name;
  std::string_view argument;
  Arity arity;
  std::string_view help;
};

struct CommandText {
  std::string_view program;   // "muster"
  std::string_view name;      // "check"; empty where the program is the command
  std::string_view synopsis;  // what follows the name: "[OPTION]...", "CHECK [OPTION]..."
  std::string_view about;     // one line
  std::vector<OptionText> options;
};

// With --help, which every command has.
template <class Command>
[[nodiscard]] std::vector<OptionText> texts_of(std::span<const Option<Command>> options) {
  std::vector<OptionText> texts;
  for (const auto& option : options) {
    texts.push_back({option.name, option.argument, option.arity, option.help});
  }
  texts.push_back({"-h,--help", "", Arity::flag, "print this help"});
  return texts;
}

[[nodiscard]] std::string command_help(const CommandText& command);
// Words broken into lines that begin at `column`.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t column);
// "; did you mean --profile?", or nothing where none is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);
// "unknown option --profil; did you mean --profile?"
[[nodiscard]] Error unknown_option(std::string_view word, const CommandText& command);

// What a value means; an error is bad usage, and the option's name is put before it.
[[nodiscard]] Result<void> take_text(std::string& target, std::string_view value);
// The place of `value` among the words of a choice such as "text|json".
[[nodiscard]] Result<std::size_t> take_choice(std::string_view choices, std::string_view value);
[[nodiscard]] Result<void> take_duration(std::optional<Seconds>& target, std::string_view value);

}  // namespace muster
