// SPDX-License-Identifier: Apache-2.0
// Devices that should all say the same: which of them differ from most.
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

// What one device says about something on which all devices should agree.
struct Said {
  std::string device;
  std::string value;
};

// The value that the others should have as well: most of them have it, and three at least. None
// where no value has such a majority, because then nobody can say who is odd.
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

// What is compared, as the sentence begins, and what the devices are: "firmware", "HCAs".
struct Comparison {
  std::string_view what;
  std::string_view devices;
};

// "firmware differs between HCAs: 28.35.1012 on mlx5_ib0, mlx5_ib1; 28.35.2000 on mlx5_ib2".
[[nodiscard]] inline std::string differs(const std::vector<Said>& said,
                                         const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const Said& each : said) by_value[each.value].push_back(each.device);
  std::vector<std::string> parts;
  parts.reserve(by_value.size());
  for (const auto& [value, devices] : by_value) {
    parts.push_back(fmt::format("{} on {}", value, fmt::join(devices, ", ")));
  }
  return fmt::format("{} differs between {}: {}", comparison.what, comparison.devices,
                     fmt::join(parts, "; "));
}

// One finding for each device that differs from most; one for the node where no value has a
// majority, because then nobody can say who is wrong.
[[nodiscard]] inline Findings disagreements(const std::vector<Said>& said,
                                            const Comparison& comparison, const Finding& like) {
  const auto& [what, devices] = comparison;
  std::map<std::string, std::size_t> counts;
  for (const Said& each : said) ++counts[each.value];
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
  for (const Said& each : said) {
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

// One number of one device. Devices of one kind, which do the same work, are sisters: one that
// falls behind the others is at fault. They judge where a profile sets no limit.
struct Sister {
  std::string kind;
  std::string device;
  double value = 0;
};

class Sisters {
 public:
  void add(Sister sister) { kinds_[sister.kind].push_back(std::move(sister)); }

  // What most of this kind have; nothing where no majority is clear.
  [[nodiscard]] std::optional<double> usual_of(const std::string& kind) const {
    const auto found = kinds_.find(kind);
    return found == kinds_.end() ? std::nullopt : usual(found->second, &Sister::value);
  }

  // A finding like `like` for each device that differs from most of its kind, and one for the node
  // for each kind without such a majority.
  [[nodiscard]] Findings differences(const Comparison& comparison, std::string_view unit,
                                     const Finding& like) const {
    Findings findings;
    for (const auto& [kind, sisters] : kinds_) {
      std::vector<Said> said;
      for (const auto& each : sisters) {
        said.push_back({each.device, fmt::format("{:g}{}", each.value, unit)});
      }
      const bool differ = std::ranges::any_of(
          said, [&](const Said& each) { return each.value != said.front().value; });
      if (usual(sisters, &Sister::value)) {
        append(findings, disagreements(said, comparison, like));
      } else if (differ) {
        // Nobody is proved to be at fault.
        findings.push_back(warned(kNode, differs(said, comparison), like.remedy));
      }
    }
    return findings;
  }

 private:
  std::map<std::string, std::vector<Sister>> kinds_;
};

}  // namespace muster::checks
