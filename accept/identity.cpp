// SPDX-License-Identifier: Apache-2.0
#include "accept/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace muster::accept {
namespace {

void add_failure(Attempt& attempt, Cause cause) {
  cause.node = attempt.node;
  cause.charge = Charge::provider;
  cause.remedy = Remedy::report_to_provider;
  cause.evidence = Evidence::hard;
  attempt.causes.push_back(std::move(cause));
  // Leaves an attempt that has already failed or was refused as it is.
  if (attempt.end == AttemptEnd::pass || attempt.end == AttemptEnd::warn) {
    attempt.end = AttemptEnd::fail;
  }
}

void add_remark(Attempt& attempt, Cause cause) {
  cause.node = attempt.node;
  attempt.remarks.push_back(std::move(cause));
  if (attempt.end == AttemptEnd::pass) attempt.end = AttemptEnd::warn;
}

}  // namespace

void Identities::compare(std::size_t node, const StepAnswer& answer, Attempt& attempt) {
  if (attempt.stage == Stage::inventory) remember(node, answer);
  if (attempt.stage == Stage::after) compare_with_inventory(node, answer, attempt);
}

void Identities::remember(std::size_t node, const StepAnswer& answer) {
  nodes_.at(node) = {.host = answer.host, .parts = answer.parts, .stack = answer.stack};
}

std::string Identities::host(std::size_t node) const {
  const auto& host = nodes_.at(node).host;
  return host.empty() ? order_->nodes.at(node).name : host;
}

void Identities::compare_with_inventory(std::size_t node, const StepAnswer& answer,
                                        Attempt& attempt) const {
  const auto& before = nodes_.at(node);
  for (const auto& [name, version] : answer.stack) {
    const auto known = before.stack.find(name);
    if (known == before.stack.end() || known->second == version) continue;
    add_remark(attempt, {.check = std::string(kChangedCheck),
                         .device = "node",
                         .message = fmt::format("{} was {} before the soak and is {} after it",
                                                name, known->second, version),
                         .observed = version,
                         .limit = known->second});
  }
  for (const auto& part : before.parts) {
    if (part.serial.empty() || answer.parts.empty()) continue;
    const auto now = std::ranges::find(answer.parts, part.serial, &Part::serial);
    if (now == answer.parts.end()) {
      add_failure(attempt, {.check = std::string(kChangedCheck),
                            .device = part.device,
                            .message = fmt::format("{} with serial {} is missing after the soak",
                                                   part.device, part.serial),
                            .limit = part.serial});
    } else if (now->firmware != part.firmware) {
      add_remark(attempt, {.check = std::string(kChangedCheck),
                           .device = part.device,
                           .message = fmt::format("the firmware was {} before the soak, and is {}",
                                                  part.firmware, now->firmware),
                           .observed = now->firmware,
                           .limit = part.firmware});
    }
  }
}

}  // namespace muster::accept
