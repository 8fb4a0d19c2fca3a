// SPDX-License-Identifier: Apache-2.0
// The limits of the checks pci.*: the devices on the bus and their links.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct PciDeviceLimits {
  MUSTER_DESCRIBED(PciDeviceLimits);
  MUSTER_FIELD(Limit<int>, nvswitches,
               "NVSwitches on the bus; GPUs and HCAs are counted by gpu.present and ib.present");
};

struct LinkLimit {
  MUSTER_DESCRIBED(LinkLimit);
  MUSTER_FIELD(Limit<Transfers>, speed, "per lane");
  MUSTER_FIELD(Limit<int>, width, "lanes");
};

enum class Unmeasurable { skip, unknown };

inline constexpr std::array<std::string_view, 2> kUnmeasurableWords{"skip", "unknown"};

constexpr std::span<const std::string_view> words_of(Unmeasurable /*of*/) {
  return kUnmeasurableWords;
}

struct PciLinkLimits {
  MUSTER_DESCRIBED(PciLinkLimits);
  MUSTER_FIELD(LinkLimit, gpu, "GPUs");
  MUSTER_FIELD(LinkLimit, hca, "InfiniBand HCAs");
  MUSTER_FIELD(Unmeasurable, unmeasurable,
               "outcome if the kernel reports Unknown: skip or unknown") = Unmeasurable::unknown;
};

struct PciErrorLimits {
  MUSTER_DESCRIBED(PciErrorLimits);
  MUSTER_FIELD(Limit<double>, correctable_warn_above_per_hour,
               "correctable errors per hour and device");
  MUSTER_FIELD(Seconds, window, "how far back") = {};
};

struct PciLimits {
  MUSTER_DESCRIBED(PciLimits);
  MUSTER_FIELD(PciDeviceLimits, devices, "");
  MUSTER_FIELD(PciLinkLimits, link, "");
  MUSTER_FIELD(PciErrorLimits, errors, "");
};

}  // namespace muster
