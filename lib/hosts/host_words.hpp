// SPDX-License-Identifier: Apache-2.0
// Hosts as the words of a command line name them.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

// Each word is a list of hosts, `@FILE` for the lists in a file, or `-` for those on standard
// input; in both, what stands behind a # is left out. Returns the hosts in the order written, none
// where there are no words.
[[nodiscard]] Result<std::vector<std::string>> hosts_of_words(
    const std::vector<std::string>& words);

}  // namespace muster
