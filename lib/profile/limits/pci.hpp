// SPDX-License-Identifier: Apache-2.0
// The limits of the checks pci.*: which devices the bus has, and how their links run.
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
  Limit<int> nvswitches;

  MUSTER_FIELDS(
      PciDeviceLimits,
      MUSTER_FIELD(
          nvswitches,
          "NVSwitches on the bus; GPUs and HCAs are counted by gpu.present and ib.present"));
};

struct LinkLimit {
  Limit<Transfers> speed;
  Limit<int> width;

  MUSTER_FIELDS(LinkLimit, MUSTER_FIELD(speed, "per lane"), MUSTER_FIELD(width, "lanes"));
};

enum class Unmeasurable { skip, unknown };

inline constexpr std::array<std::string_view, 2> kUnmeasurableWords{"skip", "unknown"};

constexpr std::span<const std::string_view> words_of(Unmeasurable /*of*/) {
  return kUnmeasurableWords;
}

struct PciLinkLimits {
  LinkLimit gpu, hca;
  Unmeasurable unmeasurable = Unmeasurable::unknown;

  MUSTER_FIELDS(PciLinkLimits,
                MUSTER_FIELD(gpu, "GPUs"),
                MUSTER_FIELD(hca, "InfiniBand HCAs"),
                MUSTER_FIELD(unmeasurable,
                             "outcome where the kernel says Unknown: skip or unknown"));
};

struct PciErrorLimits {
  Limit<double> correctable_warn_above_per_hour;
  Seconds window{};

  MUSTER_FIELDS(PciErrorLimits,
                MUSTER_FIELD(correctable_warn_above_per_hour,
                             "correctable errors per hour and device"),
                MUSTER_FIELD(window, "how far back"));
};

struct PciLimits {
  PciDeviceLimits devices;
  PciLinkLimits link;
  PciErrorLimits errors;

  MUSTER_FIELDS(PciLimits,
                MUSTER_FIELD(devices, ""),
                MUSTER_FIELD(link, ""),
                MUSTER_FIELD(errors, ""));
};

}  // namespace muster
