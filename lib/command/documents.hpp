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

// A man page from its prose and the table. In the prose, `@command NAME` stands for the heading of
// a command; its options follow where the next command or section begins. What stands behind
// `@option NAME` is said of that option after its help, and `.SS` before it is a heading above it.
// Without prose of its own a command is introduced by its one line.
[[nodiscard]] Result<std::string> man_page(std::string_view prose,
                                           const std::vector<CommandText>& commands);

// What is offered behind "COMMAND:OPTION" or, last of all, "COMMAND:*": a call of one of the
// script's functions, whose names begin with @FUNCTION@.
using Offer = std::pair<std::string_view, std::string>;

// A completion for bash from the script that all programs share. `offers` are those that the table
// cannot tell.
[[nodiscard]] std::string completion(std::string_view script,
                                     const std::vector<CommandText>& commands,
                                     const std::vector<Offer>& offers);

}  // namespace muster
