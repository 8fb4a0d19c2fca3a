// SPDX-License-Identifier: Apache-2.0
// The files that steer NCCL: its settings and its topology. Text in, facts out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/node/environment.hpp"

namespace muster {

// Variables of NCCL and of the libraries below it. Nothing else of a file or an environment is
// kept.
[[nodiscard]] bool steers_nccl(std::string_view name);

// Lines NAME=value as NCCL reads them: no blanks around the name or the value are taken off, there
// is no comment sign, and the first line of a name counts. `path` is for the origin
// "<path>:<line>".
[[nodiscard]] std::vector<NcclSetting> parse_nccl_conf(std::string_view text,
                                                       std::string_view path);

// The devices and CPUs of a topology file; its bridges are left out.
[[nodiscard]] Result<NcclTopology> parse_nccl_topology(std::string_view xml);

}  // namespace muster
