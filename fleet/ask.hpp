// SPDX-License-Identifier: Apache-2.0
// What the questions share: opening the store, times, text for people, and delivering the answer.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/fleet_command.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"

namespace muster::fleet {

// Calls `ask` with the store and writes its answer to command.output. Returns the exit status.
[[nodiscard]] int answer(const app::FleetCommand& command, const Caller& caller,
                         const std::function<Result<std::string>(Database&)>& ask);

// The time of --since.
[[nodiscard]] std::optional<std::int64_t> since_time(const app::FleetCommand& command);

// "2026-11-20 12:00", UTC.
[[nodiscard]] std::string time_text(std::int64_t time);

// A date ("2026-11-20"), a time in RFC 3339, or a time before `now` ("90d", "12h"). Empty: 0.
[[nodiscard]] Result<std::int64_t> parse_time(std::string_view text, std::int64_t now);

// Joins lines. On a terminal they are wrapped at its width, and what does not fit on one screen is
// counted.
[[nodiscard]] std::string screen(const std::vector<std::string>& lines, std::size_t width);

// "-1.6%".
[[nodiscard]] std::string percent(double share);
// With as many digits as people need.
[[nodiscard]] std::string number(double value);
// "712 GB/s"
[[nodiscard]] std::string with_unit(double value, std::string_view unit);

// The time of --since before the newest report; 0 without it.
[[nodiscard]] std::int64_t since_of(const app::FleetCommand& command, std::int64_t newest);

// Calls `ask(Database&)` and delivers its answer as JSON, or as the text of `to_text(answer,
// width)`.
template <class Ask, class ToText>
[[nodiscard]] int answer_question(const app::FleetCommand& command, const Caller& caller,
                                  const Ask& ask, const ToText& to_text) {
  return answer(command, caller, [&](Database& database) -> Result<std::string> {
    TRY_ASSIGN(const auto found, ask(database));
    if (command.form == app::FleetCommand::Form::json) {
      return fmt::format("{}\n", to_json_line(found));
    }
    return to_text(found, command.output.empty() ? caller.console.width : 0);
  });
}

}  // namespace muster::fleet
