// SPDX-License-Identifier: Apache-2.0
// What the clouds leave on a node about it: the key-value pool that Hyper-V's daemon keeps for the
// host's side of the exchange, and the instance data that cloud-init leaves in /run/cloud-init.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// The physical host's name among the records of a pool. Nothing else is taken from it, and nothing
// else of it reaches a message. Missing when the host has not given its name.
[[nodiscard]] Result<std::string> parse_physical_host(std::string_view pool);

// The instance's size as its cloud calls it: "Standard_ND96isr_H100_v5", "p5.48xlarge",
// "a3-highgpu-8g". Missing where the text names none; an error where it is no JSON.
[[nodiscard]] Result<std::string> parse_instance_size(std::string_view text);

}  // namespace muster
