// SPDX-License-Identifier: Apache-2.0
// The outcome of an attempt, from the findings of its reports and from who has to act on their
// remedies.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "lib/accept/facts.hpp"
#include "lib/accept/step.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::accept {
namespace {

Charge charge_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::reseat_or_replace:
    case Remedy::report_to_provider:
      return Charge::provider;
    case Remedy::fix_config:
    case Remedy::restart_service:
    case Remedy::restart_app:
      return Charge::ours;
    default:
      return Charge::open;
  }
}

// Whether the finding is a value below a limit, rather than something wrong or missing.
bool is_measured(const Finding& finding) {
  const auto* const check = find_bench_check(finding.check);
  return check != nullptr && !check->judges_run && std::holds_alternative<double>(finding.observed);
}

Cause cause_of(const Finding& finding, Stage stage) {
  Cause cause{.check = finding.check,
              .device = finding.device,
              .message = finding.message,
              .observed = finding.observed,
              .limit = finding.limit,
              .unit = finding.unit,
              .remedy = finding.remedy,
              .charge = charge_of(finding.remedy)};
  if (finding.outcome == Outcome::unknown) {
    cause.evidence = Evidence::uncertain;
  } else if (stage == Stage::soak) {
    cause.evidence = Evidence::event;
  } else if (is_measured(finding)) {
    cause.evidence = Evidence::slow;
  }
  return cause;
}

template <class AnAttempt>
void refuse(AnAttempt& attempt, std::string why, Evidence evidence) {
  attempt.end = AttemptEnd::refused;
  attempt.why = std::move(why);
  attempt.causes = {Cause{.check = std::string(kStepCheck),
                          .device = "node",
                          .message = attempt.why,
                          .charge = evidence == Evidence::refused ? Charge::ours : Charge::open,
                          .evidence = evidence}};
}

// Whether there was other work on the GPUs, so that the node was not measured.
std::optional<Cause> busy_cause(const StepAnswer& answer, Stage stage) {
  for (const auto& report : answer.reports) {
    const auto busy = std::ranges::find_if(report.findings, [](const Finding& finding) {
      return finding.check == "bench.in_use" &&
             (finding.outcome == Outcome::fail || finding.outcome == Outcome::unknown);
    });
    if (busy == report.findings.end()) continue;
    auto cause = cause_of(*busy, stage);
    cause.charge = Charge::ours;
    cause.evidence = Evidence::refused;
    return cause;
  }
  return std::nullopt;
}

// Collects causes and remarks, and sets `end` by the verdicts of the reports.
template <class AnAttempt>
void judge_reports(AnAttempt& attempt, const StepAnswer& answer) {
  attempt.seconds = answer.seconds;
  if (!answer.refused.empty()) return refuse(attempt, answer.refused, Evidence::refused);
  if (auto busy = busy_cause(answer, attempt.stage)) {
    attempt.end = AttemptEnd::refused;
    attempt.why = busy->message;
    attempt.causes = {*std::move(busy)};
    return;
  }
  bool unhealthy = false;
  std::optional<Cause> uncertain;
  for (const auto& report : answer.reports) {
    unhealthy = unhealthy || report.verdict == Verdict::unhealthy;
    for (const auto& finding : report.findings) {
      auto cause = cause_of(finding, attempt.stage);
      if (finding.outcome == Outcome::fail)
        attempt.causes.push_back(std::move(cause));
      else if (finding.outcome == Outcome::warn)
        attempt.remarks.push_back(std::move(cause));
      else if (finding.outcome == Outcome::unknown && report.verdict == Verdict::unknown &&
               !uncertain) {
        uncertain = std::move(cause);
      }
    }
    if (report.verdict == Verdict::unknown && !uncertain) {
      uncertain =
          Cause{.check = std::string(kStepCheck),
                .device = "node",
                .message = report.judged ? "the run could not decide"
                                         : "no limit for this machine, so nothing was judged",
                .evidence = Evidence::uncertain};
    }
  }
  if (unhealthy && !attempt.causes.empty()) {
    attempt.end = AttemptEnd::fail;
  } else if (uncertain) {
    attempt.end = AttemptEnd::refused;
    attempt.why = to_line(*uncertain);
    attempt.causes = {*std::move(uncertain)};
  } else {
    attempt.end = attempt.remarks.empty() ? AttemptEnd::pass : AttemptEnd::warn;
  }
}

void compare_with_order(Attempt& attempt, const StepAnswer& answer, const OrderedNode& ordered) {
  const auto differs = [&](std::string message) {
    attempt.end = AttemptEnd::fail;
    attempt.causes.push_back({.check = std::string(kOrderCheck),
                              .device = "node",
                              .message = std::move(message),
                              .charge = Charge::provider});
  };
  if (!ordered.host.empty() && answer.physical_host != ordered.host) {
    differs(fmt::format("physical host {}, ordered {}",
                        answer.physical_host.empty() ? "unknown" : answer.physical_host,
                        ordered.host));
  }
  const auto& serial = ordered.serial;
  if (!serial.empty() && std::ranges::find(attempt.serials, serial) == attempt.serials.end()) {
    differs(fmt::format("no part has the serial {} that was ordered", serial));
  }
  if (std::ranges::find(answer.parts, "gpu", &Part::kind) == answer.parts.end()) {
    attempt.remarks.push_back({.check = std::string(kGpusCheck),
                               .device = "node",
                               .message = "no GPU was observed, so the node cannot be accepted"});
    if (attempt.end == AttemptEnd::pass) attempt.end = AttemptEnd::warn;
  }
}

void compare_clocks(Attempt& attempt, const StepAnswer& answer) {
  constexpr std::int64_t kMostSkew = 5;  // seconds, up to which there is no remark
  const auto skew = answer.at - attempt.ended;
  if (answer.at == 0 || std::abs(skew) <= kMostSkew) return;
  attempt.remarks.push_back({.check = std::string(kClockCheck),
                             .device = "node",
                             .message = fmt::format("the node's clock is {} s {}", std::abs(skew),
                                                    skew > 0 ? "ahead" : "behind"),
                             .observed = skew,
                             .limit = kMostSkew,
                             .unit = "s",
                             .remedy = Remedy::fix_config,
                             .charge = Charge::ours});
  if (attempt.end == AttemptEnd::pass) attempt.end = AttemptEnd::warn;
}

void name_node(std::vector<Cause>& causes, const std::string& node) {
  for (auto& cause : causes) cause.node = node;
}

// The speeds of GPUs, links and HCAs, by quantity, device and size. Leaves out the host's own
// speeds, which vary more.
using Speeds = std::map<std::tuple<std::string, std::string, std::int64_t>, const Measurement*>;

Speeds speeds_of(const StepAnswer& answer) {
  Speeds speeds;
  for (const auto& report : answer.reports) {
    for (const auto& each : report.measurements) {
      const std::string_view test = each.conditions.test;
      const bool of_device =
          test.starts_with("gpu.") || test.starts_with("ib.") || test.starts_with("nccl.");
      if (!of_device || less_is_better(each.unit)) continue;
      speeds[{quantity_of(each), each.conditions.device, each.conditions.size_bytes}] = &each;
    }
  }
  return speeds;
}

// Returns the node of the group that a device name refers to; empty for a leaf switch, a level or
// the whole job.
std::string node_named(std::string_view device, const std::vector<std::string>& own_names,
                       const std::vector<std::string>& nodes) {
  const auto found = std::ranges::find(own_names, device);
  if (found == own_names.end()) return "";
  return nodes.at(static_cast<std::size_t>(found - own_names.begin()));
}

void name_nodes(Cause& cause, const std::vector<std::string>& own_names,
                const std::vector<std::string>& nodes) {
  const auto device = cause.device;
  const auto slash = device.find('/');  // a rank is "NODE/GPU"
  cause.node = node_named(device.substr(0, slash), own_names, nodes);
  if (slash != std::string::npos && !cause.node.empty()) cause.device.erase(0, slash + 1);
  for (auto dash = device.find('-'); cause.node.empty() && dash != std::string::npos;
       dash = device.find('-', dash + 1)) {
    auto first = node_named(device.substr(0, dash), own_names, nodes);
    auto second = node_named(device.substr(dash + 1), own_names, nodes);
    if (first.empty() || second.empty()) continue;
    cause.node = std::move(first);
    cause.other = std::move(second);
    cause.evidence = Evidence::pair;
  }
  // Either of two nodes may be slow.
  if (cause.node.empty() && nodes.size() == 2) {
    cause.node = nodes.front();
    cause.other = nodes.back();
    cause.evidence = Evidence::pair;
  }
}

}  // namespace

std::string to_line(const Cause& cause) {
  return fmt::format("{} {}: {}", cause.check, cause.device, cause.message);
}

void judge_attempt(Attempt& attempt, const StepAnswer& answer, const OrderedNode& ordered) {
  attempt.boot_id = answer.boot_id;
  judge_reports(attempt, answer);
  if (attempt.stage == Stage::inventory && attempt.end != AttemptEnd::refused) {
    attempt.physical_host = answer.physical_host;
    attempt.profile = answer.profile;
    for (const auto& part : answer.parts) {
      if (!part.serial.empty()) attempt.serials.push_back(part.serial);
    }
    compare_with_order(attempt, answer, ordered);
  } else if (answer.reports.empty() && attempt.end != AttemptEnd::refused) {
    refuse(attempt, "the node sent no report", Evidence::uncertain);
  }
  compare_clocks(attempt, answer);
  name_node(attempt.causes, attempt.node);
  name_node(attempt.remarks, attempt.node);
}

void compare_speed(Attempt& attempt, const StepAnswer& before, const StepAnswer& after) {
  constexpr double kLeastLoss = 0.05;
  const auto values = speeds_of(before);
  std::map<std::string, std::pair<double, Cause>> losses;  // by quantity
  for (const auto& [key, now] : speeds_of(after)) {
    const auto known = values.find(key);
    if (known == values.end() || known->second->value <= 0) continue;
    const auto was = known->second->value;
    const double kept = now->value / was;
    const auto& quantity = std::get<0>(key);
    const auto worst = losses.find(quantity);
    if (kept > 1 - kLeastLoss || (worst != losses.end() && kept >= worst->second.first)) continue;
    losses[quantity] = {kept,
                        {.node = attempt.node,
                         .check = std::string(kSlowerCheck),
                         .device = now->conditions.device,
                         .message = fmt::format("{}: {:.4g} {} after the soak, {:.4g} before it",
                                                quantity, now->value, now->unit, was),
                         .observed = now->value,
                         .limit = (1 - kLeastLoss) * was,
                         .unit = now->unit,
                         .remedy = Remedy::watch}};
  }
  for (auto& [quantity, loss] : losses) attempt.remarks.push_back(std::move(loss.second));
  if (!losses.empty() && attempt.end == AttemptEnd::pass) attempt.end = AttemptEnd::warn;
}

void judge_attempt(GroupAttempt& attempt, const StepAnswer& answer,
                   const std::vector<std::string>& own_names) {
  judge_reports(attempt, answer);
  if (answer.reports.empty() && attempt.end != AttemptEnd::refused) {
    refuse(attempt, "the group sent no report", Evidence::uncertain);
  }
  for (auto* causes : {&attempt.causes, &attempt.remarks}) {
    for (auto& cause : *causes) name_nodes(cause, own_names, attempt.nodes);
  }
  for (const auto& report : answer.reports) {
    for (const auto& measurement : report.measurements) {
      if (measurement.quantity == "busbw" && measurement.conditions.collective == "all_reduce") {
        attempt.busbw_gbps = std::max(attempt.busbw_gbps, measurement.value);
      }
    }
  }
}

}  // namespace muster::accept
