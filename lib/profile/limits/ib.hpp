// SPDX-License-Identifier: Apache-2.0
// The limits of the checks ib.*: the HCAs and their ports.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct IbPresentLimits {
  MUSTER_DESCRIBED(IbPresentLimits);
  MUSTER_FIELD(Limit<int>, count, "InfiniBand HCAs");
  MUSTER_FIELD(std::string, name, "verbs name, a glob") = "*";
  MUSTER_FIELD(std::string, exclude, "verbs names to ignore, a glob");
};

enum class IbWidth { x1, x2, x4 };
MUSTER_WORDS(IbWidth, "1X", "2X", "4X");

[[nodiscard]] constexpr unsigned lanes_of(IbWidth width) {
  return 1U << static_cast<unsigned>(width);
}

enum class IbLaneSpeed { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

struct IbSpeed {
  std::string_view name;
  unsigned verbs = 0;   // libibverbs' number for it
  double lane_bps = 0;  // as in the kernel's rates
};

// In the order of IbLaneSpeed, ascending.
inline constexpr std::array kIbSpeeds{
    IbSpeed{"SDR", 1, 2.5e9},  IbSpeed{"DDR", 2, 5e9},        IbSpeed{"QDR", 4, 10e9},
    IbSpeed{"FDR10", 8, 10e9}, IbSpeed{"FDR", 16, 14.0625e9}, IbSpeed{"EDR", 32, 25e9},
    IbSpeed{"HDR", 64, 50e9},  IbSpeed{"NDR", 128, 100e9},    IbSpeed{"XDR", 256, 200e9}};

inline constexpr auto kIbSpeedNames = [] {
  std::array<std::string_view, kIbSpeeds.size()> names;
  std::ranges::transform(kIbSpeeds, names.begin(), &IbSpeed::name);
  return names;
}();

constexpr const auto& json_words(IbLaneSpeed /*of*/) { return kIbSpeedNames; }

// The entry with that name; the table's end, which sorts after all speeds, if there is none.
[[nodiscard]] constexpr auto ib_speed_named(std::string_view name) {
  return std::ranges::find(kIbSpeeds, name, &IbSpeed::name);
}

struct IbRateLimits {
  MUSTER_DESCRIBED(IbRateLimits);
  MUSTER_FIELD(Limit<BitsPerSecond>, expected, "rate of a port");
  MUSTER_FIELD(Limit<IbWidth>, width, "lanes, as 4X");
  MUSTER_FIELD(Limit<IbLaneSpeed>, speed, "lane speed, as NDR");
};

struct IbFirmwareLimits {
  MUSTER_DESCRIBED(IbFirmwareLimits);
  MUSTER_FIELD(ByName<Words>, allowed,
               "board id to allowed firmware versions, globs; empty for any");
  MUSTER_FIELD(bool, same, "firmware and board id must be the same on all HCAs") = true;
};

enum class PkeyWanted { non_default_full_member, default_full_member, any_full_member };
MUSTER_WORDS(PkeyWanted, "non_default_full_member", "default_full_member", "any_full_member");

struct IbPkeyLimits {
  MUSTER_DESCRIBED(IbPkeyLimits);
  MUSTER_FIELD(PkeyWanted, require,
               "non_default_full_member, default_full_member or any_full_member") =
      PkeyWanted::any_full_member;
};

struct IbAddressLimits {
  MUSTER_DESCRIBED(IbAddressLimits);
  MUSTER_FIELD(bool, same_prefix, "all HCAs share one GID subnet prefix") = true;
};

struct IbMtuLimits {
  MUSTER_DESCRIBED(IbMtuLimits);
  MUSTER_FIELD(Limit<Bytes>, active, "active MTU of a port");
};

struct CounterLimit {
  MUSTER_DESCRIBED(CounterLimit);
  MUSTER_FIELD(Limit<double>, warn_above_per_hour,
               "increments per hour, in the last hour or on average over the window");
  MUSTER_FIELD(Limit<double>, fail_above_per_hour,
               "increments per hour, in the last hour or on average over the window");
  MUSTER_FIELD(Limit<double>, warn_above, "increments in warn_within");
  MUSTER_FIELD(Limit<double>, fail_above, "increments in fail_within");
  MUSTER_FIELD(Limit<Seconds>, warn_within, "how far back; unset for the window");
  MUSTER_FIELD(Limit<Seconds>, fail_within, "how far back; unset for the window");
};

struct IbErrorLimits {
  MUSTER_DESCRIBED(IbErrorLimits);
  MUSTER_FIELD(Seconds, window, "how far back") = {};
  MUSTER_FIELD(ByName<CounterLimit>, counters, "limits by the counter's name");
};

struct IbBerLimits {
  MUSTER_DESCRIBED(IbBerLimits);
  MUSTER_FIELD(Limit<double>, symbol_warn_above, "symbol errors after correction, per bit");
  MUSTER_FIELD(Limit<double>, symbol_fail_above, "symbol errors after correction, per bit");
  MUSTER_FIELD(Limit<double>, raw_warn_above, "corrected bits, per bit");
  MUSTER_FIELD(
      Limit<double>, sisters_warn_above,
      "corrected bits, per bit, of an HCA with sisters_times as many as most HCAs like it");
  MUSTER_FIELD(Limit<double>, sisters_times, "factor for sisters_warn_above");
};

struct IbFlapLimits {
  MUSTER_DESCRIBED(IbFlapLimits);
  MUSTER_FIELD(Limit<int>, max, "times a link may go down in the window");
  MUSTER_FIELD(Seconds, window, "how far back") = {};
  MUSTER_FIELD(Seconds, ignore_after_boot, "ignores links that go down while the node boots") = {};
};

struct IbLimits {
  MUSTER_DESCRIBED(IbLimits);
  MUSTER_FIELD(IbPresentLimits, present, "");
  MUSTER_FIELD(IbRateLimits, rate, "");
  MUSTER_FIELD(IbFirmwareLimits, firmware, "");
  MUSTER_FIELD(IbPkeyLimits, pkey, "");
  MUSTER_FIELD(IbAddressLimits, address, "");
  MUSTER_FIELD(IbMtuLimits, mtu, "");
  MUSTER_FIELD(IbErrorLimits, errors, "");
  MUSTER_FIELD(IbBerLimits, ber, "");
  MUSTER_FIELD(IbFlapLimits, flaps, "");
};

}  // namespace muster
