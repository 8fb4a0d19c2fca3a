// SPDX-License-Identifier: Apache-2.0
// Command lines as people have them for nccl-tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench {

// The words with nccl-tests' own options turned into muster-bench's: "-b 8 -e 8G -f 2 -g 1" into
// "--min 8 --max 8G --factor 2". An error names one that asks for what there is not, and what to
// write in its place.
[[nodiscard]] Result<std::vector<std::string>> from_nccl_tests(
    std::span<const char* const> arguments);

}  // namespace muster::bench
