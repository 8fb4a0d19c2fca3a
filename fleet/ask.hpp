// SPDX-License-Identifier: Apache-2.0
// Code that all questions share: opening the store, parsing and printing times, formatting text,
// and delivering the answer.
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
#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"

namespace muster::fleet {

// Calls `ask` with the store and writes its answer to command.output. Returns the exit status.
[[nodiscard]] int answer(const app::FleetCommand& command, const Caller& caller,
                         const std::function<Result<std::string>(Database&)>& ask);

// Reports that a question cannot be answered: a usage error if it asks for something missing.
[[nodiscard]] int fail_to_answer(const Caller& caller, const Error& error);

// Returns the time that --since asks for.
[[nodiscard]] std::optional<std::int64_t> since_time(const app::FleetCommand& command);

// "2026-11-20 12:00" of a time in RFC 3339; empty for an empty text.
[[nodiscard]] std::string to_minutes(std::string_view time);

// Parses a date ("2026-11-20"), a time in RFC 3339, or a time before `now` ("90d", "12h"). Returns
// 0 for an empty text.
[[nodiscard]] Result<std::int64_t> parse_time(std::string_view text, std::int64_t now);

// Joins lines. On a terminal, wraps them at its width, and counts the lines that do not fit on one
// screen.
[[nodiscard]] std::string screen(const std::vector<std::string>& lines, std::size_t width);

// Formats "-1.6%".
[[nodiscard]] std::string percent(double share);
// Formats a number with as many digits as a reader needs.
[[nodiscard]] std::string number(double value);
// Formats "712 GB/s".
[[nodiscard]] std::string with_unit(double value, std::string_view unit);

// Returns the time that --since asks for, relative to the newest report; 0 without --since.
[[nodiscard]] std::int64_t since_of(const app::FleetCommand& command, const Nodes& nodes);

// Calls `ask(Database&, const Nodes&)` with the nodes of --cluster, and delivers its answer as
// JSON, or as the text that `to_text(answer, width)` returns.
template <class Ask, class ToText>
[[nodiscard]] int answer_question(const app::FleetCommand& command, const Caller& caller,
                                  const Ask& ask, const ToText& to_text) {
  return answer(command, caller, [&](Database& database) -> Result<std::string> {
    TRY_ASSIGN(const auto nodes, read_nodes(database, command.cluster));
    TRY_ASSIGN(const auto found, ask(database, nodes));
    if (command.form == app::FleetCommand::Form::json) {
      return fmt::format("{}\n", to_json_line(found));
    }
    return to_text(found, command.output.empty() ? caller.console.width : 0);
  });
}

}  // namespace muster::fleet
