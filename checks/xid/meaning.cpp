// SPDX-License-Identifier: Apache-2.0
#include "checks/xid/meaning.hpp"

#include <fmt/format.h>

#include <utility>

#include "checks/xid/nvlink.hpp"
#include "lib/base/text.hpp"

namespace muster::checks::xid {
namespace {

constexpr std::string_view kDecode = "decode";
constexpr unsigned kCleanUp = 45;
constexpr unsigned kNvlink = 74;
constexpr unsigned kFirstNvlink5 = 144;
constexpr unsigned kLastNvlink5 = 150;
constexpr unsigned kRecovery = 154;

void decode_by_line(NvlinkError error, XidMeaning& meaning) {
  meaning.kind = std::move(error.kind);
  if (meaning.kind != kFatal) meaning.remedy = Remedy::watch;
  if (!error.unit.empty()) meaning.meaning = fmt::format("{} in {}", meaning.meaning, error.unit);
  if (!error.context.empty()) meaning.context = std::move(error.context);
  meaning.link = std::move(error.link);
  meaning.hardware = error.hardware;
}

// The driver's request decides; one that cannot be parsed counts as a request as well.
void decode_recovery(const XidLimits& limits, const XidEvent& event, XidMeaning& meaning) {
  meaning.kind = kFatal;
  meaning.asks_recovery = true;
  const auto value = parse_recovery_action(event.text);
  const auto action = value ? limits.actions.find(fmt::format("{}", *value)) : limits.actions.end();
  if (action == limits.actions.end()) {
    meaning.meaning = "the driver asks for an unknown recovery";
    meaning.remedy = Remedy::reboot;
    return;
  }
  meaning.meaning = fmt::format("the driver asks for {}", action->second.meaning);
  const auto& remedy = action->second.remedy;
  meaning.remedy = remedy.value_or(Remedy::none);
  if (remedy == Remedy::watch) meaning.kind = kDegraded;
  if (remedy != Remedy::none) return;
  meaning.kind = kIgnored;
  meaning.recovered = true;
  meaning.asks_recovery = false;
}

// "Fatal" and "Non-fatal" in the line take precedence over the table of numbers.
void decode_nvswitch(const XidEvent& event, XidMeaning& meaning) {
  if (event.text.starts_with("Non-fatal")) {
    meaning.kind = kDegraded;
    meaning.remedy = Remedy::watch;
  } else if (meaning.kind != kFatal && event.text.starts_with("Fatal")) {
    meaning.kind = kFatal;
    meaning.remedy = Remedy::reset_gpu;
  } else if (meaning.kind == kDecode) {
    meaning.kind = kFatal;
  }
}

}  // namespace

XidRules::XidRules(const XidLimits& limits) : limits_(&limits), classes_(&limits.classes) {
  index(limits.rules);
}

XidRules::XidRules(const SxidLimits& limits) : classes_(&limits.classes) { index(limits.rules); }

void XidRules::index(const std::vector<XidRule>& rules) {
  rules_ = &rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const auto& number : rules[i].xids) {
      if (const auto code = parse_unsigned(number)) places_[static_cast<unsigned>(*code)] = i;
    }
  }
}

XidMeaning XidRules::meaning_of(const XidEvent& event) const {
  XidMeaning meaning{.kind = std::string(kDegraded),
                     .meaning = "unknown",
                     .remedy = Remedy::watch,
                     .order = rules_->size()};
  if (const auto place = places_.find(event.code); place != places_.end()) {
    const XidRule& rule = (*rules_)[place->second];
    meaning = {.kind = rule.kind,
               .meaning = rule.meaning,
               .remedy = rule.remedy,
               .context = rule.context,
               .rule = &rule,
               .order = place->second};
  }
  decode(event, meaning);
  if (const auto own = classes_->find(fmt::format("{}", event.code));
      own != classes_->end() && own->second != kDecode) {
    meaning.kind = own->second;
  }
  return meaning;
}

void XidRules::decode(const XidEvent& event, XidMeaning& meaning) const {
  if (event.nvswitch) return decode_nvswitch(event, meaning);
  if (event.code == kCleanUp && event.text.find("caused by previous Xid") != std::string::npos) {
    meaning.kind = kIgnored;
  }
  if (meaning.kind != kDecode) return;
  if (event.code == kRecovery) return decode_recovery(*limits_, event, meaning);
  if (event.code >= kFirstNvlink5 && event.code <= kLastNvlink5) {
    return decode_by_line(decode_nvlink(*limits_, event.text), meaning);
  }
  if (event.code == kNvlink) return decode_by_line(decode_registers(*limits_, event.text), meaning);
  meaning.kind = kFatal;
}

}  // namespace muster::checks::xid
