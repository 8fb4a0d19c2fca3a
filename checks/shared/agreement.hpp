// SPDX-License-Identifier: Apache-2.0
// Finds devices that differ from the majority of devices like them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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
[[nodiscard]] inline std::string differs(const std::vector<DeviceValue>& said,
                                         const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const DeviceValue& each : said) by_value[each.value].push_back(each.device);
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
[[nodiscard]] inline Findings disagreements(const std::vector<DeviceValue>& said,
                                            const Comparison& comparison, const Finding& like) {
  const auto& [what, devices] = comparison;
  std::map<std::string, std::size_t> counts;
  for (const DeviceValue& each : said) ++counts[each.value];
  if (counts.size() < 2) return {};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second * 2 <= said.size()) {
    Finding finding = like;
    finding.device = kNode;
    finding.message = differs(said, comparison);
    return {finding};
  }
  Findings findings;
  for (const DeviceValue& each : said) {
    if (each.value == most->first) continue;
    Finding finding = like;
    finding.device = each.device;
    finding.message = fmt::format("{} {}, but {} on {} of {} {}", what, each.value, most->first,
                                  most->second, said.size(), devices);
    finding.observed = each.value;
    finding.limit = most->first;
    findings.push_back(std::move(finding));
  }
  return findings;
}

// A number of one device. Devices of one kind are sisters: if the profile sets no limit, one that
// differs from its sisters is at fault.
struct Sister {
  std::string kind;
  std::string device;
  double value = 0;
};

class Sisters {
 public:
  void add(Sister sister) { kinds_[sister.kind].push_back(std::move(sister)); }

  // The value of the majority of this kind, if any.
  [[nodiscard]] std::optional<double> usual_of(const std::string& kind) const {
    const auto found = kinds_.find(kind);
    return found == kinds_.end() ? std::nullopt : usual(found->second, &Sister::value);
  }

  // A finding like `like` for each device that differs from the majority of its kind, and a warning
  // about the node for each kind without a majority.
  [[nodiscard]] Findings differences(const Comparison& comparison, std::string_view unit,
                                     const Finding& like) const {
    Findings findings;
    for (const auto& [kind, sisters] : kinds_) {
      std::vector<DeviceValue> said;
      for (const auto& each : sisters) {
        said.push_back({each.device, fmt::format("{:g}{}", each.value, unit)});
      }
      const bool differ = std::ranges::any_of(
          said, [&](const DeviceValue& each) { return each.value != said.front().value; });
      if (usual(sisters, &Sister::value)) {
        append(findings, disagreements(said, comparison, like));
      } else if (differ) {
        // No device is proved to be at fault.
        findings.push_back(warned(kNode, differs(said, comparison), like.remedy));
      }
    }
    return findings;
  }

 private:
  std::map<std::string, std::vector<Sister>> kinds_;
};

}  // namespace muster::checks
