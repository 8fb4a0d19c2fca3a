// SPDX-License-Identifier: Apache-2.0
// Sisters: devices of one node that are of one kind and do the same work, so that one which falls
// behind the others is at fault. They judge where a profile sets no limit.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/shared/agreement.hpp"

namespace muster::checks {

// One number of one device. Devices of different kinds are no sisters.
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
  [[nodiscard]] Findings differences(const Comparison& comparison,
                                     std::string_view unit,
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
