// SPDX-License-Identifier: Apache-2.0
// The temperatures that the kernel knows, from sys/class/thermal.
#pragma once

#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/root.hpp"
#include "lib/node/kernel.hpp"

namespace muster {

[[nodiscard]] Fact<std::vector<ThermalZone>> read_thermal_zones(const Root& root);

}  // namespace muster
