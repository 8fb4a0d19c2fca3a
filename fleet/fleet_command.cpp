// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet_command.hpp"

#include <algorithm>
#include <array>

#include "lib/report/report.hpp"

namespace muster::app {
namespace {

struct Question {
  std::string_view name;
  int (*run)(const FleetCommand& command, const Caller& caller);
};

// Questions that judge snapshots.
constexpr std::string_view kAdd = "add", kWhatif = "whatif";

constexpr std::array kQuestions{
    Question{"show", run_fleet_show},     Question{"part", run_fleet_part},
    Question{"causes", run_fleet_causes}, Question{"odd", run_fleet_odd},
    Question{"drift", run_fleet_drift},   Question{"diff", run_fleet_diff},
    Question{"export", run_fleet_export}, Question{"prune", run_fleet_prune},
};

}  // namespace

std::vector<std::string> fleet_questions() {
  std::vector<std::string> names{std::string(kAdd), std::string(kWhatif)};
  for (const auto& each : kQuestions) names.emplace_back(each.name);
  return names;
}

int run_fleet(const FleetCommand& command, const Caller& caller, const FleetTools& tools) {
  if (command.question == kAdd) return run_fleet_add(command, caller, tools);
  if (command.question == kWhatif) return run_fleet_whatif(command, caller, tools.judge_twice);
  const auto* const question = std::ranges::find(kQuestions, command.question, &Question::name);
  if (question != kQuestions.end()) return question->run(command, caller);
  return fail(caller, {.status = kExitUsage, .message = "unknown question"});
}

}  // namespace muster::app
