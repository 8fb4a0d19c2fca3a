// SPDX-License-Identifier: Apache-2.0
// Which ranks are on which node, from what every process said of itself; and whether they were all
// started for the same run.
#pragma once

#include <string>
#include <vector>

#include "bench/run/messages.hpp"

namespace muster::bench {

// The introductions of all ranks, in order. Ranks that would run other things than rank 0 are
// named.
[[nodiscard]] Agreement agreement_of(const std::vector<Introduction>& introductions);

// Nodes whose profile is not rank 0's, a sentence for each.
[[nodiscard]] std::vector<std::string> other_profiles(
    const std::vector<Introduction>& introductions);

// What the ranks agree on, from the texts that they sent. `remarks` are set to those about other
// profiles.
[[nodiscard]] Agreement agree(const std::vector<std::string>& texts,
                              std::vector<std::string>& remarks);

// "gpu-0001, gpu-0002 and 62 more".
[[nodiscard]] std::string named(const std::vector<std::string>& hosts);

}  // namespace muster::bench
