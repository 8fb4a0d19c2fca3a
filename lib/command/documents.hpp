// SPDX-License-Identifier: Apache-2.0
// Generates a program's man page and shell completion from its table of options, at build time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster {

// Makes a man page from its prose and the table. In the prose, `@command NAME` begins the section
// of a command; its options are added at the end. Text after `@option NAME` is added to the help of
// that option; a `.SS` line before it is a heading above it. The section of a command without prose
// begins with its one-line summary.
[[nodiscard]] Result<std::string> man_page(std::string_view prose,
                                           const std::vector<CommandText>& commands);

// Completes "COMMAND:OPTION" or, after all others, "COMMAND:*" by calling a function of the script.
// The names of those functions begin with @FUNCTION@.
using Offer = std::pair<std::string_view, std::string>;

// Makes a bash completion from the script that all programs share. `offers` holds the completions
// that cannot be derived from the table.
[[nodiscard]] std::string completion(std::string_view script,
                                     const std::vector<CommandText>& commands,
                                     const std::vector<Offer>& offers);

}  // namespace muster
