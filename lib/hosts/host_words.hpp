// SPDX-License-Identifier: Apache-2.0
// Hosts that are named on a command line.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

// Each word is a host list, `@FILE` for the lists in a file, or `-` for those on standard input; a
// # begins a comment there. Returns the hosts in the order written, none for no words.
[[nodiscard]] Result<std::vector<std::string>> hosts_of_words(
    const std::vector<std::string>& words);

}  // namespace muster
