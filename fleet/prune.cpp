// SPDX-License-Identifier: Apache-2.0
// `muster fleet prune`: removes old values and snapshots. Intervals, reports without their values,
// and events are kept forever.
#include <fmt/format.h>

#include <array>
#include <string>

#include "fleet/fleet_command.hpp"
#include "fleet/store.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

constexpr double kSecondsOfDay = 86'400;
constexpr double kUsual_days = 400;

struct Rule {
  std::string_view what;
  std::string_view from;  // rows older than ?1 are removed
};

constexpr std::array kRules{
    Rule{"reading", "FROM reading WHERE at < ?1"},
    Rule{"snapshot", "FROM snapshot WHERE at < ?1"},
};

Result<std::string> prune(fleet::Database& database, double keep_s, bool go) {
  TRY_ASSIGN(const auto newest, database.whole("SELECT max(last) FROM node"));
  const auto before = newest.value_or(0) - static_cast<std::int64_t>(keep_s);
  std::string text;
  for (const auto& rule : kRules) {
    TRY_ASSIGN(const auto count,
               database.whole(fmt::format("SELECT count(*) {}", rule.from), before));
    text += fmt::format("{} {} than {:.0f} days\n", go ? "removed" : "would remove",
                        fmt::format("{} older", counted(std::uint64_t(*count), rule.what)),
                        keep_s / kSecondsOfDay);
    if (go) TRY(database.run(fmt::format("DELETE {}", rule.from), before));
  }
  if (!go) text += "nothing is removed without --go\n";
  return text;
}

}  // namespace

int run_fleet_prune(const FleetCommand& command, const Caller& caller) {
  auto store = fleet::Store::open_to_write(command.store);
  if (!store) return fail(caller, store.error());
  const double keep_s = command.keep ? command.keep->value : kUsual_days * kSecondsOfDay;
  Result<std::string> text;
  const auto done = fleet::in_transaction(store->database(), [&]() -> Result<void> {
    TRY_ASSIGN(text, prune(store->database(), keep_s, command.go));
    return {};
  });
  if (!done) return fail(caller, undecided(done.error()).value());
  return deliver(caller, "", *text, kExitHealthy);
}

}  // namespace muster::app
