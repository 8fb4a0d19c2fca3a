// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "checks/xid/xids.hpp"

namespace muster::checks::xid {
namespace {

enum class Action { none, evaluate, reset };  // ascending

// "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 …)"
struct NvlinkLine {
  std::string_view unit;
  bool fatal = false;
  std::string_view link;  // may be empty
  std::vector<std::uint64_t> words;
};

bool is_severity(std::string_view word) {
  return word == "Fatal" || word == "Nonfatal" || word == "Non-fatal";
}

std::vector<std::uint64_t> hexadecimal_words(std::string_view text) {
  std::vector<std::uint64_t> words;
  const auto open = text.rfind("(0x");
  if (open == std::string_view::npos) return words;
  text = text.substr(open + 1);
  for (const auto word : split_words(text.substr(0, text.find(')')))) {
    const auto value = parse_hex(word);
    if (!value) break;
    words.push_back(*value);
  }
  return words;
}

NvlinkLine parse_line(std::string_view text) {
  NvlinkLine line;
  const auto words = split_words(text.substr(0, text.rfind("(0x")));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    // The last match, because the name of a program comes first and may be any text.
    if (is_severity(words[i + 1])) {
      line.unit = words[i];
      line.fatal = words[i + 1] == "Fatal";
    }
    if (words[i] == "Link" && words[i + 1] != "-1") line.link = words[i + 1];
  }
  line.words = hexadecimal_words(text);
  return line;
}

bool has(const Words& words, std::uint64_t bits) {
  return std::ranges::any_of(words, [&](const auto& word) { return parse_hex(word) == bits; });
}

// The first word has the unit in bits 0 to 6 and the flag in bit 7; before driver 575 in bits 5 to
// 9 and bit 10. RLW_RXPIPE is 6 in both layouts, which no word can match in both.
bool is_flagged(std::uint64_t first_word) {
  constexpr std::uint64_t kRxPipe = 6;
  constexpr std::uint64_t kUnit = 0x7f;
  constexpr std::uint64_t kFlag = 0x80;
  constexpr std::uint64_t kOldFlag = 0x400;
  return (first_word & (((first_word & kUnit) == kRxPipe) ? kFlag : kOldFlag)) != 0;
}

std::optional<Action> action_of(const NvlinkUnit& unit, const NvlinkLine& line,
                                std::uint64_t status) {
  if (has(unit.reset, status)) return Action::reset;
  if (has(unit.reset_if_flagged, status)) {
    return is_flagged(line.words[0]) ? Action::reset : Action::none;
  }
  if (has(unit.evaluate, status)) return Action::evaluate;
  if (has(unit.ignore, status)) return Action::none;
  return std::nullopt;
}

struct UnitStatus {
  std::optional<Action> worst;  // of the bits in the table
  bool has_unknown_bits = false;
};

UnitStatus judge_status(const NvlinkUnit& unit, const NvlinkLine& line) {
  const std::uint64_t status = line.words[1];
  UnitStatus found{.worst = action_of(unit, line, status)};
  if (found.worst) return found;
  constexpr unsigned kBits = 32;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    if ((status & one) == 0) continue;
    const auto action = action_of(unit, line, one);
    if (!action) found.has_unknown_bits = true;
    if (action && (!found.worst || *action > *found.worst)) found.worst = action;
  }
  return found;
}

// For lines that the tables do not cover.
std::string kind_by_severity(const NvlinkLine& line) {
  return std::string(line.fatal ? kFatal : kDegraded);
}

std::string kind_of(const NvlinkLine& line, std::optional<Action> action) {
  if (!action) return kind_by_severity(line);
  if (*action == Action::reset) return std::string(kFatal);
  if (*action == Action::evaluate || line.fatal) return std::string(kDegraded);
  return std::string(kIgnored);
}

bool is_link_event(std::string_view unit) {
  return unit == "NETIR_LINK_EVT" || unit == "NETIR_LINK_DOWN";
}

void judge_link_event(const XidLimits& limits, const NvlinkLine& line, NvlinkError& error) {
  constexpr unsigned kReasonAt = 20;
  constexpr std::uint64_t kReasonMask = 0x3f;
  const std::uint64_t reason = (line.words[0] >> kReasonAt) & kReasonMask;
  const auto known = std::ranges::find_if(
      limits.nvlink_reasons, [&](const auto& each) { return has(each.reasons, reason); });
  if (known == limits.nvlink_reasons.end()) return;
  error.kind = kind_of(line, known->reset ? Action::reset : Action::none);
  error.context = known->context;
}

void judge_unit(const XidLimits& limits, const NvlinkLine& line, NvlinkError& error) {
  const auto unit = std::ranges::find_if(limits.nvlink_units, [&](const auto& each) {
    return std::ranges::find(each.units, line.unit) != each.units.end();
  });
  if (unit == limits.nvlink_units.end()) return;
  const UnitStatus status = judge_status(*unit, line);
  error.kind = kind_of(line, status.worst);
  if (status.has_unknown_bits && error.kind == kIgnored) error.kind = kDegraded;
  if (status.has_unknown_bits && line.fatal) error.kind = kFatal;
}

constexpr std::size_t kRegisters = 7;
constexpr unsigned kBits = 32;

// "link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
struct RegisterLine {
  bool harmless = false;
  std::string_view link;
  std::vector<std::uint64_t> registers;  // all seven, or none
};

std::vector<std::uint64_t> registers_of(std::string_view text) {
  std::vector<std::uint64_t> registers;
  for (const auto word : split(text.substr(0, text.find(')')), ',')) {
    const auto value = parse_hex(trim(word));
    if (!value || *value > UINT32_MAX) return {};
    registers.push_back(*value);
  }
  return registers.size() == kRegisters ? registers : std::vector<std::uint64_t>();
}

RegisterLine parse_register_line(std::string_view text) {
  constexpr std::string_view kLink = " link ";
  RegisterLine line;
  // Starts at the driver's own words, because the name of a program may be any text.
  const auto begin = text.rfind("NVLink: ");
  text = begin == std::string_view::npos ? std::string_view() : text.substr(begin);
  for (const std::string_view word : {"non-fatal", "nonfatal", "Non-fatal", "Nonfatal"}) {
    line.harmless = line.harmless || text.find(word) != std::string_view::npos;
  }
  const auto at = text.find(kLink);
  if (at == std::string_view::npos) return line;
  text.remove_prefix(at + kLink.size());
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  line.link = text.substr(0, digits);
  text.remove_prefix(digits);
  if (text.starts_with('(')) line.registers = registers_of(text.substr(1));
  return line;
}

const NvlinkBits* find_bit(const XidLimits& limits, std::size_t number, unsigned bit) {
  const auto found = std::ranges::find_if(limits.nvlink_bits, [&](const NvlinkBits& row) {
    return static_cast<std::size_t>(row.number) == number &&
           std::ranges::count(row.bits, fmt::format("{}", bit)) > 0;
  });
  return found == limits.nvlink_bits.end() ? nullptr : &*found;
}

// The meaning of the set bits.
struct RegisterBits {
  bool fatal = false;  // a bit is fatal or unknown
  bool any = false;
  bool hardware = false;
  std::vector<std::string> registers, contexts;
};

void add_context(RegisterBits& reading, const NvlinkBits& row) {
  // Fatal bits explain the others.
  if (row.kind == kDegraded && reading.fatal) return;
  if (std::ranges::count(reading.contexts, row.context) == 0) {
    reading.contexts.push_back(row.context);
  }
}

RegisterBits parse_bits(const XidLimits& limits, const RegisterLine& line) {
  RegisterBits reading;
  for (std::size_t i = 0; i < line.registers.size(); ++i) {
    const auto value = line.registers[i];
    if (value == 0) continue;
    reading.registers.push_back(fmt::format("register {} {:#x}", i + 1, value));
    for (unsigned bit = 0; bit < kBits; ++bit) {
      if (((value >> bit) & 1U) == 0) continue;
      reading.any = true;
      const auto* row = find_bit(limits, i + 1, bit);
      if (row == nullptr || row->kind != kDegraded) {
        if (!reading.fatal) reading.contexts.clear();
        reading.fatal = true;
      }
      if (row == nullptr) continue;
      reading.hardware = reading.hardware || row->hardware;
      add_context(reading, *row);
    }
  }
  return reading;
}

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
    meaning.meaning = "the driver requests an unknown recovery";
    meaning.remedy = Remedy::reboot;
    return;
  }
  meaning.meaning = fmt::format("the driver requests {}", action->second.meaning);
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

NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text) {
  const NvlinkLine line = parse_line(text);
  NvlinkError error{.kind = kind_by_severity(line), .unit = printable(line.unit, 40)};
  // A line that cannot be parsed may be fatal.
  if (line.unit.empty()) error.kind = kFatal;
  if (is_link_event(line.unit) && !line.words.empty()) {
    judge_link_event(limits, line, error);
  } else if (line.words.size() > 1) {
    judge_unit(limits, line, error);
  }
  if (line.link.empty()) return error;
  const auto link = fmt::format("link {}", printable(line.link, 8));
  error.context = error.context.empty() ? link : fmt::format("{}: {}", link, error.context);
  return error;
}

NvlinkError decode_registers(const XidLimits& limits, std::string_view text) {
  const RegisterLine line = parse_register_line(text);
  const RegisterBits reading = parse_bits(limits, line);
  const bool fatal = !line.harmless && (reading.fatal || !reading.any);
  NvlinkError fault{.kind = std::string(fatal ? kFatal : kDegraded),
                    .link = std::string(line.link),
                    .hardware = reading.hardware};
  if (!line.link.empty()) fault.context = fmt::format("link {}", printable(line.link, 8));
  if (!reading.any) return fault;
  fault.context += fmt::format(", {}", fmt::join(reading.registers, ", "));
  if (!reading.contexts.empty()) {
    fault.context += fmt::format(": {}", fmt::join(reading.contexts, "; "));
  }
  return fault;
}

XidRules::XidRules(const XidLimits& limits) : limits_(&limits), classes_(&limits.classes) {
  index(limits.rules);
}

XidRules::XidRules(const SxidLimits& limits) : classes_(&limits.classes) { index(limits.rules); }

void XidRules::index(const std::vector<XidRule>& rules) {
  rules_ = &rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const auto& number : rules[i].xids) {
      if (const auto code = parse_unsigned(number)) {
        places_.emplace_back(static_cast<unsigned>(*code), i);
      }
    }
  }
  std::ranges::sort(places_);
}

XidMeaning XidRules::meaning_of(const XidEvent& event) const {
  XidMeaning meaning{.kind = std::string(kDegraded),
                     .meaning = "unknown",
                     .remedy = Remedy::watch,
                     .order = rules_->size()};
  // The last rule that lists a number counts.
  const auto after = std::ranges::upper_bound(places_, event.code, {}, &Place::first);
  if (after != places_.begin() && std::prev(after)->first == event.code) {
    const auto place = std::prev(after)->second;
    const XidRule& rule = (*rules_)[place];
    meaning = {.kind = rule.kind,
               .meaning = rule.meaning,
               .remedy = rule.remedy,
               .context = rule.context,
               .rule = &rule,
               .order = place};
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
