// SPDX-License-Identifier: Apache-2.0
#include "checks/xid/nvlink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "checks/xid/meaning.hpp"
#include "lib/base/text.hpp"

namespace muster::checks::xid {
namespace {

enum class Action { none, evaluate, reset };  // ascending

// "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 …)"
struct Line {
  std::string_view unit;
  bool fatal = false;
  std::string_view link;  // empty where it names none
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

Line parse_line(std::string_view text) {
  Line line;
  const auto words = split_words(text.substr(0, text.rfind("(0x")));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    // The last pair: a program may be called anything, and its name comes first.
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

// The first word tells the unit in its bits 0 to 6 and the flag in bit 7; before driver 575 they
// are bits 5 to 9 and bit 10. RLW_RXPIPE is 6 in both, which no word can be in both ways.
bool is_flagged(std::uint64_t first_word) {
  constexpr std::uint64_t kRxPipe = 6;
  constexpr std::uint64_t kUnit = 0x7f;
  constexpr std::uint64_t kFlag = 0x80;
  constexpr std::uint64_t kOldFlag = 0x400;
  return (first_word & (((first_word & kUnit) == kRxPipe) ? kFlag : kOldFlag)) != 0;
}

std::optional<Action> action_of(const NvlinkUnit& unit, const Line& line, std::uint64_t status) {
  if (has(unit.reset, status)) return Action::reset;
  if (has(unit.reset_if_flagged, status)) {
    return is_flagged(line.words[0]) ? Action::reset : Action::none;
  }
  if (has(unit.evaluate, status)) return Action::evaluate;
  if (has(unit.ignore, status)) return Action::none;
  return std::nullopt;
}

struct Status {
  std::optional<Action> worst;  // of the bits that the table knows
  bool strange = false;         // there are others
};

Status judge_status(const NvlinkUnit& unit, const Line& line) {
  const std::uint64_t status = line.words[1];
  Status found{.worst = action_of(unit, line, status)};
  if (found.worst) return found;
  constexpr unsigned kBits = 32;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    if ((status & one) == 0) continue;
    const auto action = action_of(unit, line, one);
    if (!action) found.strange = true;
    if (action && (!found.worst || *action > *found.worst)) found.worst = action;
  }
  return found;
}

// A line's own word where the tables have none.
std::string kind_by_severity(const Line& line) {
  return std::string(line.fatal ? kFatal : kDegraded);
}

std::string kind_of(const Line& line, std::optional<Action> action) {
  if (!action) return kind_by_severity(line);
  if (*action == Action::reset) return std::string(kFatal);
  if (*action == Action::evaluate || line.fatal) return std::string(kDegraded);
  return std::string(kIgnored);
}

bool is_link_event(std::string_view unit) {
  return unit == "NETIR_LINK_EVT" || unit == "NETIR_LINK_DOWN";
}

// What the unit's name and its words say; a line that cannot be told keeps the driver's word.
void judge_link_event(const XidLimits& limits, const Line& line, NvlinkError& error) {
  constexpr unsigned kReasonAt = 20;
  constexpr std::uint64_t kReasonMask = 0x3f;
  const std::uint64_t reason = (line.words[0] >> kReasonAt) & kReasonMask;
  const auto known = std::ranges::find_if(
      limits.nvlink_reasons, [&](const auto& each) { return has(each.reasons, reason); });
  if (known == limits.nvlink_reasons.end()) return;
  error.kind = kind_of(line, known->reset ? Action::reset : Action::none);
  error.context = known->context;
}

void judge_unit(const XidLimits& limits, const Line& line, NvlinkError& error) {
  const auto unit = std::ranges::find_if(limits.nvlink_units, [&](const auto& each) {
    return std::ranges::find(each.units, line.unit) != each.units.end();
  });
  if (unit == limits.nvlink_units.end()) return;
  const Status status = judge_status(*unit, line);
  error.kind = kind_of(line, status.worst);
  if (status.strange && error.kind == kIgnored) error.kind = kDegraded;
  if (status.strange && line.fatal) error.kind = kFatal;
}

}  // namespace

NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text) {
  const Line line = parse_line(text);
  NvlinkError error{.kind = kind_by_severity(line), .unit = printable(line.unit, 40)};
  // A line that cannot be read says nothing good.
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

}  // namespace muster::checks::xid
