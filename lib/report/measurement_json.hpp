// SPDX-License-Identifier: Apache-2.0
// muster.measurement/1 as JSON, for the files that write and read reports. Inside lib/report only.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/base/result.hpp"
#include "lib/report/measurement.hpp"

namespace muster {

[[nodiscard]] nlohmann::ordered_json to_object(const Measurement& measurement,
                                               bool every_iteration);
// The error names the place below the object: "/conditions/ranks: expected a whole number".
[[nodiscard]] Result<Measurement> read_measurement(const nlohmann::json& object);

}  // namespace muster
