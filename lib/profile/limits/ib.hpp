// SPDX-License-Identifier: Apache-2.0
// The limits of the checks ib.*: which HCAs there are, and how their ports run.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/ib_speeds.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct IbPresentLimits {
  Limit<int> count;
  std::string name = "*", exclude;

  MUSTER_FIELDS(IbPresentLimits,
                MUSTER_FIELD(count, "InfiniBand HCAs"),
                MUSTER_FIELD(name, "verbs name, a glob"),
                MUSTER_FIELD(exclude, "verbs names that never count, a glob"));
};

inline constexpr std::array<std::string_view, 3> kIbWidthWords{"1X", "2X", "4X"};

struct IbRateLimits {
  Limit<BitsPerSecond> expected;
  Limit<std::string> width, speed;

  MUSTER_FIELDS(IbRateLimits,
                MUSTER_FIELD(expected, "rate of a port"),
                MUSTER_CHOICE(width, kIbWidthWords, "lanes, as 4X"),
                MUSTER_CHOICE(speed, kIbSpeedNames, "lane speed, as NDR"));
};

struct IbFirmwareLimits {
  std::map<std::string, Words> allowed;
  bool same = true;

  MUSTER_FIELDS(IbFirmwareLimits,
                MUSTER_FIELD(allowed,
                             "board id to allowed firmware versions, globs; empty for any"),
                MUSTER_FIELD(same, "firmware and board id must be the same on all HCAs"));
};

enum class PkeyWanted { non_default_full_member, default_full_member, any_full_member };

inline constexpr std::array<std::string_view, 3> kPkeyWords{
    "non_default_full_member", "default_full_member", "any_full_member"};

constexpr std::span<const std::string_view> words_of(PkeyWanted /*of*/) { return kPkeyWords; }

struct IbPkeyLimits {
  PkeyWanted require = PkeyWanted::any_full_member;

  MUSTER_FIELDS(IbPkeyLimits,
                MUSTER_CHOICE(require,
                              kPkeyWords,
                              "non_default_full_member, default_full_member or any_full_member"));
};

struct IbAddressLimits {
  bool same_prefix = true;

  MUSTER_FIELDS(IbAddressLimits, MUSTER_FIELD(same_prefix, "all HCAs share one GID subnet prefix"));
};

struct IbMtuLimits {
  Limit<Bytes> active;

  MUSTER_FIELDS(IbMtuLimits, MUSTER_FIELD(active, "active MTU of a port"));
};

struct CounterLimit {
  Limit<double> warn_above_per_hour, fail_above_per_hour;
  Limit<double> warn_above, fail_above;
  Limit<Seconds> warn_within, fail_within;

  MUSTER_FIELDS(CounterLimit,
                MUSTER_FIELD(warn_above_per_hour,
                             "increments per hour, in the last hour or on average over the window"),
                MUSTER_FIELD(fail_above_per_hour,
                             "increments per hour, in the last hour or on average over the window"),
                MUSTER_FIELD(warn_above, "increments in warn_within"),
                MUSTER_FIELD(fail_above, "increments in fail_within"),
                MUSTER_FIELD(warn_within, "how far back; not set for the window"),
                MUSTER_FIELD(fail_within, "how far back; not set for the window"));
};

struct IbErrorLimits {
  Seconds window{};
  std::map<std::string, CounterLimit> counters;

  MUSTER_FIELDS(IbErrorLimits,
                MUSTER_FIELD(window, "how far back"),
                MUSTER_FIELD(counters, "limits by the counter's name"));
};

struct IbBerLimits {
  Limit<double> symbol_warn_above, symbol_fail_above, raw_warn_above, sisters_warn_above;
  Limit<double> sisters_times;

  MUSTER_FIELDS(IbBerLimits,
                MUSTER_FIELD(symbol_warn_above, "symbol errors after correction, per bit"),
                MUSTER_FIELD(symbol_fail_above, "symbol errors after correction, per bit"),
                MUSTER_FIELD(raw_warn_above, "corrected bits, per bit"),
                MUSTER_FIELD(sisters_warn_above,
                             "corrected bits, per bit, of one that has sisters_times as many as "
                             "most HCAs like it"),
                MUSTER_FIELD(sisters_times, "how many times as many"));
};

struct IbFlapLimits {
  Limit<int> max;
  Seconds window{}, ignore_after_boot{};

  MUSTER_FIELDS(IbFlapLimits,
                MUSTER_FIELD(max, "times a link may go down in the window"),
                MUSTER_FIELD(window, "how far back"),
                MUSTER_FIELD(ignore_after_boot, "links come and go while the node boots"));
};

struct IbLimits {
  IbPresentLimits present;
  IbRateLimits rate;
  IbFirmwareLimits firmware;
  IbPkeyLimits pkey;
  IbAddressLimits address;
  IbMtuLimits mtu;
  IbErrorLimits errors;
  IbBerLimits ber;
  IbFlapLimits flaps;

  MUSTER_FIELDS(IbLimits,
                MUSTER_FIELD(present, ""),
                MUSTER_FIELD(rate, ""),
                MUSTER_FIELD(firmware, ""),
                MUSTER_FIELD(pkey, ""),
                MUSTER_FIELD(address, ""),
                MUSTER_FIELD(mtu, ""),
                MUSTER_FIELD(errors, ""),
                MUSTER_FIELD(ber, ""),
                MUSTER_FIELD(flaps, ""));
};

}  // namespace muster
