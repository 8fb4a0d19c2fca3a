// SPDX-License-Identifier: Apache-2.0
#include "fleet/ask.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "fleet/store.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {

int fail_to_answer(const Caller& caller, const Error& error) {
  return fail(caller,
              {.status = error.missing ? kExitUsage : kExitUndecided, .message = error.message});
}

int answer(const app::FleetCommand& command, const Caller& caller,
           const std::function<Result<std::string>(Database&)>& ask) {
  auto store = Store::open_to_read(command.store);
  if (!store) return fail(caller, store.error());
  const auto text = ask(store->database());
  if (!text) return fail_to_answer(caller, text.error());
  return deliver(caller, command.output, *text, kExitHealthy);
}

std::optional<std::int64_t> since_time(const app::FleetCommand& command) {
  if (!command.since) return std::nullopt;
  return wall_time().time_since_epoch().count() - static_cast<std::int64_t>(command.since->value);
}

std::string to_minutes(std::string_view time) {
  constexpr std::size_t kMinutes = 16;
  std::string text(time.substr(0, kMinutes));
  std::ranges::replace(text, 'T', ' ');
  return text;
}

Result<std::int64_t> parse_time(std::string_view text, std::int64_t now) {
  if (text.empty()) return 0;
  if (const auto day = parse_utc(fmt::format("{}T00:00:00Z", text))) {
    return day->time_since_epoch().count();
  }
  if (const auto time = parse_utc(text)) return time->time_since_epoch().count();
  const auto before = parse_quantity<SecondsKind>(text);
  if (before) return now - static_cast<std::int64_t>(before->value);
  return make_error(
      fmt::format("invalid time \"{}\", expected 2026-11-20, 2026-11-20T12:00:00Z or 90d",
                  printable(text, 40)));
}

std::int64_t since_of(const app::FleetCommand& command, const Nodes& nodes) {
  return command.since ? newest_of(nodes) - static_cast<std::int64_t>(command.since->value) : 0;
}

std::string screen(const std::vector<std::string>& lines, std::size_t width) {
  constexpr std::size_t kIndent = 9;
  constexpr std::ptrdiff_t kRows = 39;
  std::string text;
  std::ptrdiff_t rows = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // Wrapping would break the alignment of a table.
    const bool fits = width == 0 || text_width(lines[i]) <= width;
    const auto line = fmt::format("{}\n", fits ? lines[i] : wrapped(lines[i], kIndent, width));
    rows += std::ranges::count(line, '\n');
    if (width > 0 && rows > kRows - (i + 1 < lines.size() ? 1 : 0)) {
      return fmt::format("{}{:9}and {}; use a file or pipe to see them all\n", text, "",
                         counted(lines.size() - i, "more line"));
    }
    text += line;
  }
  return text;
}

std::string percent(double share) { return fmt::format("{:+.1f}%", 100 * share); }

std::string number(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : 2);
}

std::string with_unit(double value, std::string_view unit) {
  return fmt::format("{}{}{}", number(value), unit.empty() ? "" : " ", unit);
}

}  // namespace muster::fleet
