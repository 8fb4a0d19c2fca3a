// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace muster::accept {
namespace {

bool is_worse(const QuantityFact& fact, const QuantityFact& than) {
  return less_is_better(fact.unit) ? fact.value > than.value : fact.value < than.value;
}

// Keeps at most this many lines of the kernel log, in case of an error storm.
constexpr std::size_t kMaxLines = 50;

void add_lines(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  for (const auto& line : more) {
    if (lines.size() < kMaxLines && std::ranges::count(lines, line) == 0) lines.push_back(line);
  }
}

void add_categories(std::vector<CategoryFact>& categories, const Report& report) {
  for (const auto& finding : report.findings) {
    if (finding.category.empty() || finding.outcome != Outcome::fail) continue;
    const bool known = std::ranges::any_of(categories, [&](const CategoryFact& each) {
      return each.check == finding.check && each.device == finding.device;
    });
    if (!known) categories.push_back({finding.check, finding.device, finding.category});
  }
}

// Returns the measurement that a finding judged: it has the same value, and belongs to the
// finding's device or is the worst of the node.
bool is_about(const Finding& finding, const Measurement& measurement) {
  const auto observed = number_of(finding.observed);
  return observed && measurement.unit == finding.unit &&
         (finding.device == "node" || finding.device == measurement.conditions.device) &&
         std::abs(*observed - measurement.value) <= 1e-9 * std::abs(measurement.value);
}

// Returns the worst value of each quantity in a report, with the limit that any of its devices was
// judged by. A limit that fails takes precedence over one that only warns.
std::map<std::string, QuantityFact> quantities_of(const Report& report) {
  std::map<std::string, QuantityFact> worst;
  std::set<std::string> failing;
  for (const auto& each : report.measurements) {
    QuantityFact fact{.name = quantity_of(each),
                      .unit = each.unit,
                      .device = each.conditions.device,
                      .value = each.value,
                      .limit = {}};
    for (const auto& finding : report.findings) {
      const auto limit = number_of(finding.limit);
      if (!limit || !is_about(finding, each)) continue;
      if (finding.outcome == Outcome::warn && failing.contains(fact.name)) continue;
      if (finding.outcome != Outcome::warn) failing.insert(fact.name);
      fact.limit = limit;
    }
    auto& known = worst.try_emplace(fact.name, fact).first->second;
    const auto limit = fact.limit ? fact.limit : known.limit;
    if (is_worse(fact, known)) known = std::move(fact);
    known.limit = limit;
  }
  for (const auto& finding : report.findings) {
    const auto observed = number_of(finding.observed);
    if (!observed || finding.check != "gpu.temperature" || !finding.message.starts_with("GPU at")) {
      continue;
    }
    QuantityFact fact{.name = "gpu.temperature hottest",
                      .unit = finding.unit,
                      .device = finding.device,
                      .value = *observed,
                      .limit = number_of(finding.limit)};
    auto& known = worst.try_emplace(fact.name, fact).first->second;
    if (is_worse(fact, known)) known = std::move(fact);
  }
  return worst;
}

// Prefers full tests to short ones, then the newest. All slices of a soak count as one measurement:
// their worst.
bool replaces(const QuantityFact& fact, const QuantityFact& known, Stage stage) {
  if (fact.of_node_stage != known.of_node_stage) return fact.of_node_stage;
  return stage == Stage::soak ? is_worse(fact, known) : fact.at >= known.at;
}

void add_quantities(NodeFacts& facts, const Report& report, const Attempt& attempt) {
  for (auto& [name, fact] : quantities_of(report)) {
    fact.at = attempt.ended;
    fact.of_node_stage = attempt.stage == Stage::node;
    const auto known = std::ranges::find(facts.quantities, name, &QuantityFact::name);
    if (known == facts.quantities.end()) {
      facts.quantities.push_back(std::move(fact));
      continue;
    }
    const auto limit = fact.limit ? fact.limit : known->limit;
    if (replaces(fact, *known, attempt.stage)) *known = std::move(fact);
    known->limit = limit;
  }
}

// Adds the firmware of each kind of part to the software of the node.
void add_firmware(NodeFacts& facts) {
  for (const auto& [kind, all] : firmware_of(facts.parts)) {
    facts.stack[fmt::format("{} firmware", kind)] = fmt::format("{}", fmt::join(all, ", "));
  }
}

}  // namespace

std::string quantity_of(const Measurement& measurement) {
  const auto& on = measurement.conditions;
  return fmt::format("{} {}", on.test.empty() ? on.collective : on.test, measurement.quantity);
}

void learn(NodeFacts& facts, const Attempt& attempt, const StepAnswer& answer) {
  if (attempt.ended >= facts.at) {
    facts.at = attempt.ended;
    facts.host = answer.host;
    facts.muster = answer.muster;
    if (!answer.profile.empty()) facts.profile = answer.profile;
  }
  if (!answer.parts.empty() && attempt.ended >= facts.parts_at) {
    facts.parts_at = attempt.ended;
    facts.parts = answer.parts;
    facts.stack = answer.stack;
    add_firmware(facts);
  }
  if (!answer.physical_host.empty() && (facts.physical_host.empty() || facts.at == attempt.ended)) {
    facts.physical_host = answer.physical_host;
  }
  add_lines(facts.kernel_lines, answer.kernel_lines);
  for (const auto& report : answer.reports) {
    add_categories(facts.categories, report);
    add_quantities(facts, report, attempt);
    for (const auto& gap : report.coverage.not_observed) {
      if (std::ranges::count(facts.not_observed, gap) == 0) facts.not_observed.push_back(gap);
    }
  }
}

void learn(GroupFacts& facts, const GroupAttempt& attempt, const StepAnswer& answer) {
  for (const auto& report : answer.reports) {
    add_categories(facts.categories, report);
    for (const auto& matrix : report.matrices) {
      if (attempt.stage != Stage::fabric || matrix.names.size() > kMaxDrawnNames) continue;
      if (!facts.pairs || matrix.names.size() > facts.pairs->names.size()) facts.pairs = matrix;
    }
    for (const auto& finding : report.findings) {
      const auto limit = number_of(finding.limit);
      if (finding.check != "bench.job_all_reduce" || !limit) continue;
      if (finding.outcome != Outcome::warn || !facts.whole_limit_gbps) {
        facts.whole_limit_gbps = limit;
      }
    }
  }
}

}  // namespace muster::accept
