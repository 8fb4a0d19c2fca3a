// SPDX-License-Identifier: Apache-2.0
// `muster fleet prune`: removes old values and snapshots. Intervals, reports without their values,
// and events are kept forever.
#include <fmt/format.h>

#include <string>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/readings.hpp"
#include "fleet/store.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

constexpr double kSecondsOfDay = 86'400;
constexpr double kUsual_days = 400;

Result<std::string> prune(fleet::Database& database, const FleetCommand& command) {
  const double keep_s = command.keep ? command.keep->value : kUsual_days * kSecondsOfDay;
  TRY_ASSIGN(const auto nodes, fleet::read_nodes(database, command.cluster));
  const auto before = fleet::newest_of(nodes) - static_cast<std::int64_t>(keep_s);
  std::string text;
  for (const std::string_view table : {"reading", "snapshot"}) {
    const auto rows = fmt::format(
        "FROM {} WHERE at < ?1 AND (?2 = '' OR node IN (SELECT id FROM node WHERE cluster = ?2))",
        table);
    TRY_ASSIGN(const auto count,
               database.whole(fmt::format("SELECT count(*) {}", rows), before, command.cluster));
    text += fmt::format("{} {} older than {:.1f} days\n", command.go ? "removed" : "would remove",
                        counted(std::uint64_t(*count), table), keep_s / kSecondsOfDay);
    if (command.go) TRY(database.run(fmt::format("DELETE {}", rows), before, command.cluster));
  }
  if (!command.go) text += "nothing is removed without --go\n";
  return text;
}

}  // namespace

int run_fleet_prune(const FleetCommand& command, const Caller& caller) {
  auto store = fleet::Store::open_to_write(command.store);
  if (!store) return fail(caller, store.error());
  Result<std::string> text;
  const auto done = fleet::in_transaction(store->database(), [&]() -> Result<void> {
    TRY_ASSIGN(text, prune(store->database(), command));
    return {};
  });
  if (!done) return fleet::fail_to_answer(caller, done.error());
  return deliver(caller, "", *text, kExitHealthy);
}

}  // namespace muster::app
