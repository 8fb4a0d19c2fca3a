// SPDX-License-Identifier: Apache-2.0
// Opens the store for a question and delivers the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fleet/fleet_command.hpp"
#include "fleet/sqlite.hpp"

namespace muster::fleet {

// Calls `ask` with the store and writes its answer to command.output. Returns the exit status.
[[nodiscard]] int answer(const app::FleetCommand& command, const Caller& caller,
                         const std::function<Result<std::string>(Database&)>& ask);

// The time of --since.
[[nodiscard]] std::optional<std::int64_t> since_time(const app::FleetCommand& command);

// "2026-11-20 12:00", UTC.
[[nodiscard]] std::string time_text(std::int64_t time);

}  // namespace muster::fleet
