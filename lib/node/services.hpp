// SPDX-License-Identifier: Apache-2.0
// Facts about systemd's services.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Services {
  Fact<std::vector<std::string>> active;   // units with a process, or that systemd lists as active
  Fact<std::vector<std::string>> failed;   // of those, none; kept where systemd says so in a file
  Fact<std::vector<std::string>> of_root;  // active units whose first process is root's

  template <class Self = Services>
  static constexpr auto fields() {
    return std::tuple{
        field("active", &Self::active, "systemd units that are active"),
        field("failed", &Self::failed, "systemd units that are known to have failed"),
        field("of_root", &Self::of_root, "active units whose first process is root's")};
  }

  bool operator==(const Services&) const = default;
};

}  // namespace muster
