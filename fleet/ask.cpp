// SPDX-License-Identifier: Apache-2.0
#include "fleet/ask.hpp"

#include <chrono>

#include "fleet/store.hpp"
#include "lib/base/clock.hpp"

namespace muster::fleet {

int answer(const app::FleetCommand& command, const Caller& caller,
           const std::function<Result<std::string>(Database&)>& ask) {
  auto store = Store::open_to_read(command.store);
  if (!store) return fail(caller, store.error());
  const auto text = ask(store->database());
  if (!text) {
    return fail(caller, {.status = text.error().missing ? kExitUsage : kExitUndecided,
                         .message = text.error().message});
  }
  return deliver(caller, command.output, *text, kExitHealthy);
}

std::optional<std::int64_t> since_time(const app::FleetCommand& command) {
  if (!command.since) return std::nullopt;
  return wall_time().time_since_epoch().count() - static_cast<std::int64_t>(command.since->value);
}

std::string time_text(std::int64_t time) {
  constexpr std::size_t kMinutes = 16;
  auto text = utc(std::chrono::sys_seconds(std::chrono::seconds(time))).substr(0, kMinutes);
  text.at(text.find('T')) = ' ';
  return text;
}

}  // namespace muster::fleet
