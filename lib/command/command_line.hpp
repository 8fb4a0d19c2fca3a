// SPDX-License-Identifier: Apache-2.0
// Parses a command line and passes each value to its option.
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

// An option and the function that takes each of its values.
struct OptionTaker {
  OptionText text;
  std::function<Result<void>(std::string_view value)> take;
};

// Makes takers that store the values in `command`, which must outlive them.
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
  bool help = false;               // --help was given; the rest of the line is ignored
  std::vector<std::string> words;  // arguments that are not options
};

// Parses the arguments behind the name of the command. Words that are not options are refused if
// the synopsis begins with the options. An error is bad usage.
[[nodiscard]] Result<CommandLine> take_line(std::vector<std::string> arguments,
                                            const CommandText& text,
                                            const std::vector<OptionTaker>& takers);

}  // namespace muster
