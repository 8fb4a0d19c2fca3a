// SPDX-License-Identifier: Apache-2.0
// Finds devices that differ from the majority of devices like them.
#pragma once

#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <ranges>
#include <type_traits>

#include "checks/shared/support.hpp"

namespace muster::checks {

// A value of one device that should be the same on all devices.
struct DeviceValue {
  std::string device;
  std::string value;
};

// The value of the majority, and of at least three devices; empty without such a majority, because
// then the odd one is unknown.
template <class Range, class Projection = std::identity>
[[nodiscard]] auto usual(const Range& all, Projection value_of = {}) {
  using Each = std::ranges::range_reference_t<const Range>;
  using T = std::remove_cvref_t<std::invoke_result_t<Projection, Each>>;
  constexpr std::size_t kFewest = 3;
  std::map<T, std::size_t> counts;
  std::size_t total = 0;
  for (const auto& each : all) {
    ++counts[std::invoke(value_of, each)];
    ++total;
  }
  std::optional<T> most;
  for (const auto& [value, count] : counts) {
    if (count >= kFewest && count * 2 > total) most = value;
  }
  return most;
}

// The compared property and the devices: "firmware", "HCAs".
struct Comparison {
  std::string_view what;
  std::string_view devices;
};

// "firmware differs between HCAs: 28.35.1012 on mlx5_ib0, mlx5_ib1; 28.35.2000 on mlx5_ib2".
[[nodiscard]] inline std::string differs(const std::vector<DeviceValue>& values,
                                         const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const DeviceValue& each : values) by_value[each.value].push_back(each.device);
  std::vector<std::string> parts;
  parts.reserve(by_value.size());
  for (const auto& [value, devices] : by_value) {
    parts.push_back(fmt::format("{} on {}", value, fmt::join(devices, ", ")));
  }
  return fmt::format("{} differs between {}: {}", comparison.what, comparison.devices,
                     fmt::join(parts, "; "));
}

// One finding for each device that differs from the majority; one for the node if no value has a
// majority, because then the wrong one is unknown.
[[nodiscard]] inline Findings disagreements(const std::vector<DeviceValue>& values,
                                            const Comparison& comparison, const Finding& like) {
  const auto& [what, devices] = comparison;
  std::map<std::string, std::size_t> counts;
  for (const DeviceValue& each : values) ++counts[each.value];
  if (counts.size() < 2) return {};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second * 2 <= values.size()) {
    Finding finding = like;
    finding.device = kNode;
    finding.message = differs(values, comparison);
    return {finding};
  }
  Findings findings;
  for (const DeviceValue& each : values) {
    if (each.value == most->first) continue;
    Finding finding = like;
    finding.device = each.device;
    finding.message = fmt::format("{} {}, but {} on {} of {} {}", what, each.value, most->first,
                                  most->second, values.size(), devices);
    finding.observed = each.value;
    finding.limit = most->first;
    findings.push_back(std::move(finding));
  }
  return findings;
}

// The numbers of devices, by kind. Devices of one kind are peers: if the profile sets no limit, one
// that differs from its peers is at fault.
class Peers {
 public:
  void add(const std::string& kind, std::string device, double number) {
    kinds_[kind].emplace_back(std::move(device), number);
  }

  // The number of the majority of this kind, if any.
  [[nodiscard]] std::optional<double> usual_of(const std::string& kind) const {
    const auto found = kinds_.find(kind);
    return found == kinds_.end() ? std::nullopt : usual(found->second, &DeviceNumber::second);
  }

  // A finding like `like` for each device that differs from the majority of its kind, and a warning
  // about the node for each kind without a majority.
  [[nodiscard]] Findings differences(const Comparison& comparison, std::string_view unit,
                                     const Finding& like) const {
    Findings findings;
    for (const auto& [kind, peers] : kinds_) {
      std::vector<DeviceValue> values;
      for (const auto& [device, number] : peers) {
        values.push_back({device, fmt::format("{:g}{}", number, unit)});
      }
      if (usual(peers, &DeviceNumber::second)) {
        append(findings, disagreements(values, comparison, like));
      } else if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{},
                                            &DeviceValue::value) != values.end()) {
        // No device is proved to be at fault.
        findings.push_back(warned(kNode, differs(values, comparison), like.remedy));
      }
    }
    return findings;
  }

 private:
  using DeviceNumber = std::pair<std::string, double>;

  std::map<std::string, std::vector<DeviceNumber>> kinds_;
};

}  // namespace muster::checks
