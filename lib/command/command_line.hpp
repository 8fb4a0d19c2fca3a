// SPDX-License-Identifier: Apache-2.0
// Takes the words of a command line: each value goes to the option that it belongs to.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster {

// An option, and what takes each value that is given for it.
struct OptionTaker {
  OptionText text;
  std::function<Result<void>(std::string_view value)> take;
};

// Takers that put the values into `command`, which has these options or is derived from what has
// them. It must outlive them.
template <class Command>
[[nodiscard]] std::vector<OptionTaker> takers_for(std::type_identity_t<Command>& command,
                                                  std::span<const Option<Command>> options) {
  std::vector<OptionTaker> takers;
  takers.reserve(options.size());
  for (const auto& option : options) {
    takers.push_back({option, [&command, &option](std::string_view value) {
                        return option.set(command, option.argument, value);
                      }});
  }
  return takers;
}

struct CommandLine {
  bool help = false;               // --help was among the words: nothing else of the line counts
  std::vector<std::string> words;  // those that belong to no option
};

// Takes the words that follow the name of the command. Words that belong to no option are refused
// where the synopsis begins with the options. An error is bad usage.
[[nodiscard]] Result<CommandLine> take_line(std::vector<std::string> arguments,
                                            const CommandText& text,
                                            const std::vector<OptionTaker>& takers);

}  // namespace muster
