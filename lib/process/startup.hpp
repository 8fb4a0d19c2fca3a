// SPDX-License-Identifier: Apache-2.0
// The startup of both programs: their environment, their folder and their signals.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

using Variables = std::map<std::string, std::string>;

// The environment of this process.
[[nodiscard]] Variables environment();

// Empty if the variable is not set.
[[nodiscard]] std::string value_of(const Variables& variables, const std::string& name);

// The path of our other program: next to this one, or in /usr/bin. PATH is not searched.
[[nodiscard]] std::filesystem::path sibling_program(std::string_view name);

// Searches the PATH of the environment, unless the name has a slash.
[[nodiscard]] Result<std::filesystem::path> find_program(const std::string& name,
                                                         const Variables& variables);

// Call this first in main(). Opens closed standard streams, so that no other file takes their
// numbers; ignores SIGPIPE; and resets SIGCHLD, since a caller that ignores it hides how children
// end.
void prepare_process();

}  // namespace muster
