// SPDX-License-Identifier: Apache-2.0
// Parses the files that configure NCCL: its settings and its topology.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/node/host.hpp"

namespace muster {

// Whether a variable belongs to NCCL or a library that it uses. No other variables are recorded.
[[nodiscard]] bool steers_nccl(std::string_view name);

// Parses NAME=value lines as NCCL does: blanks are significant, comments do not exist, and the
// first line for a name wins. The origin of each setting is "<path>:<line>".
[[nodiscard]] std::vector<NcclSetting> parse_nccl_conf(std::string_view text,
                                                       std::string_view path);

// Returns the devices and CPUs of a topology file, without its bridges.
[[nodiscard]] Result<NcclTopology> parse_nccl_topology(std::string_view xml);

}  // namespace muster
