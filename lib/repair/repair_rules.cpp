// SPDX-License-Identifier: Apache-2.0

#include "lib/repair/repair_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::repair {
namespace {

constexpr std::array<std::string_view, 3> kAutomatic{"restart_service", "reset_gpu", "reboot"};
constexpr std::array<std::string_view, 5> kProviders{"azure", "gcp", "oci", "aws", "text"};
constexpr std::string_view kLettersAndDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

bool is_among(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

// Whether the text has only letters, digits and `marks`.
bool is_name(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [&](char c) {
    return kLettersAndDigits.find(c) != std::string_view::npos ||
           marks.find(c) != std::string_view::npos;
  });
}

BrokenValue wrong(std::string key, std::string_view value, std::string_view remedy) {
  return {std::move(key), fmt::format("has \"{}\"; {}", printable(value, 60), remedy)};
}

BrokenValue check_lists(const RepairRules& rules) {
  for (const auto& rung : rules.automatic) {
    if (!is_among(rung, kAutomatic)) {
      return wrong("automatic", rung, "expected some of restart_service, reset_gpu, reboot");
    }
  }
  for (const auto& unit : rules.services) {
    // Whether the text is safe as an argument of systemctl: neither an option nor a glob.
    if (!unit.ends_with(".service") || unit.starts_with('-') || unit.starts_with('.') ||
        !is_name(unit, "-_.@:\\")) {
      return wrong("services", unit, "write names that end in .service");
    }
  }
  return {};
}

// Checks the parts of addresses that claims and tokens are sent to.
BrokenValue check_provider(const RepairRules& rules) {
  if (!is_among(rules.provider, kProviders)) {
    return wrong("provider", rules.provider, "write azure, gcp, oci, aws or text");
  }
  if (!rules.azure.endpoint.starts_with("https://") || !is_name(rules.azure.endpoint, "-.:/[]")) {
    return wrong("azure.endpoint", rules.azure.endpoint, "write an address with https://");
  }
  if (!rules.azure.identity.starts_with("http") || !is_name(rules.azure.identity, "-.:/[]")) {
    return wrong("azure.identity", rules.azure.identity, "write an address with http://");
  }
  struct Id {
    std::string_view key, value;
  };
  for (const auto& [key, value] :
       {Id{"azure.subscription", rules.azure.subscription},
        Id{"azure.resource_group", rules.azure.resource_group},
        Id{"azure.api_version", rules.azure.api_version}, Id{"gcp.project", rules.gcp.project},
        Id{"gcp.zone", rules.gcp.zone}}) {
    // A project may have a domain: example.com:project.
    if (is_name(value, "-_.():") && !value.starts_with('-')) continue;
    return wrong(std::string(key), value, "write letters, digits and - _ . ( ) :");
  }
  return {};
}

}  // namespace

BrokenValue check_values(const RepairRules& rules) {
  if (!rules.folder.starts_with('/')) {
    return wrong("folder", rules.folder, "write an absolute path");
  }
  if (rules.by != "ssh" && rules.by != "local" && !rules.by.starts_with('/')) {
    return wrong("by", rules.by, "write ssh, local or the absolute path of a program");
  }
  if (rules.most_at_once_nodes < 1) return {"most_at_once_nodes", "must be at least 1"};
  if (rules.actions_per_week < 1) return {"actions_per_week", "must be at least 1"};
  if (rules.breaker_window.value < kMinute || rules.breaker_window.value > 7 * kDay) {
    return {"breaker_window", "must be 1 min to 7 d"};
  }
  if (rules.reboot_within.value < kMinute || rules.reboot_within.value > 2 * kHour) {
    return {"reboot_within", "must be 1 min to 2 h"};
  }
  auto broken = check_lists(rules);
  return broken.key.empty() ? check_provider(rules) : broken;
}

}  // namespace muster::repair
