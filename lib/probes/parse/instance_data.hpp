// SPDX-License-Identifier: Apache-2.0
// The instance data that cloud-init leaves in /run/cloud-init: what the cloud told it about the
// instance when it booted.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// The instance's size as its cloud calls it: "Standard_ND96isr_H100_v5", "p5.48xlarge",
// "a3-highgpu-8g". Missing where the text names none; an error where it is no JSON.
[[nodiscard]] Result<std::string> parse_instance_size(std::string_view text);

}  // namespace muster
