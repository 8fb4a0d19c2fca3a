// SPDX-License-Identifier: Apache-2.0
// Parses the data that clouds store on a node: the key-value pool of Hyper-V's daemon, and the
// instance data of cloud-init in /run/cloud-init.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// Returns the physical host's name from a pool, and nothing else; missing if the host has not set
// it.
[[nodiscard]] Result<std::string> parse_physical_host(std::string_view pool);

// Returns the cloud's name for the instance's size: "Standard_ND96isr_H100_v5", "p5.48xlarge",
// "a3-highgpu-8g". Missing if the text has none; an error if it is not JSON.
[[nodiscard]] Result<std::string> parse_instance_size(std::string_view text);

}  // namespace muster
