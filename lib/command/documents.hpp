// SPDX-License-Identifier: Apache-2.0
// The man page and the completion of a program, made from its table of options when it is built.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster {

// Makes a man page from its prose and the table. In the prose, `@command NAME` begins the section
// of a command, whose options follow at its end. Text behind `@option NAME` is added to the help of
// that option; a `.SS` line before it is a heading above it. A command without prose begins with
// its one line.
[[nodiscard]] Result<std::string> man_page(std::string_view prose,
                                           const std::vector<CommandText>& commands);

// The completion for "COMMAND:OPTION" or, after all others, "COMMAND:*": a call of a function of
// the script, whose names begin with @FUNCTION@.
using Offer = std::pair<std::string_view, std::string>;

// Makes a completion for bash from the script that all programs share. `offers` are those that
// cannot be derived from the table.
[[nodiscard]] std::string completion(std::string_view script,
                                     const std::vector<CommandText>& commands,
                                     const std::vector<Offer>& offers);

}  // namespace muster
