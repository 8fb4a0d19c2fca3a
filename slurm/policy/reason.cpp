// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/reason.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestSubject = 100;  // a check and a device, so that a message has room

// Slurm's own words about a node that it powers down or up.
constexpr std::array<std::string_view, 2> kPowerWords{"ResumeTimeout reached", "POWER_DOWN_ASAP"};

bool is_about_reboot(std::string_view text) {
  const auto words = split_words(text);
  return words.size() == 2 && (words[0] == "reboot" || words[0] == "Reboot") &&
         (words[1] == "issued" || words[1] == "complete" || words[1] == "requested" ||
          words[1] == "ASAP");
}

// Returns the remedy with this description.
std::optional<Remedy> remedy_of(std::string_view description) {
  const auto* found = std::ranges::find(kRemedyDescriptions, description);
  if (description.empty() || found == kRemedyDescriptions.end()) return std::nullopt;
  return static_cast<Remedy>(found - kRemedyDescriptions.begin());
}

// "gpu.ecc_remapped_rows": words with a dot between.
bool is_check(std::string_view text) {
  const auto words = split(text, '.');
  return words.size() > 1 && std::ranges::all_of(words, [](std::string_view word) {
           return !word.empty() && std::ranges::all_of(word, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
         });
}

}  // namespace

std::string make_reason(const Finding& finding, std::size_t others) {
  const auto subject = harmless(subject_of(finding.check, finding.device), kLongestSubject);
  const auto remedy = describe(finding.remedy);
  const auto before = fmt::format("{}{}: ", kOurs, subject);
  const auto more = others == 0 ? std::string() : fmt::format(", and {} more", others);
  const auto behind = fmt::format("{}{}{}", more, remedy.empty() ? "" : "; ", remedy);
  const auto room = kLongestReason - before.size() - behind.size();
  return fmt::format("{}{}{}", before, harmless(finding.message, room), behind);
}

std::string make_admins_reason(std::string_view user, std::string_view text) {
  const auto behind = fmt::format("{}{}", kByAdmin, harmless(user, 60));
  const auto why = harmless(text, kLongestReason - behind.size());
  // A text that begins like a check's verdict would be mistaken for one.
  const std::string_view before = is_ours(why) ? "drain: " : "";
  return fmt::format("{}{}{}", before,
                     why.substr(0, kLongestReason - before.size() - behind.size()), behind);
}

std::size_t others_in(std::string_view reason) {
  constexpr std::string_view kBefore = ", and ";
  const auto begin = reason.rfind(kBefore);
  if (begin == std::string_view::npos) return 0;
  const auto words = split_words(reason.substr(begin + kBefore.size()));
  const bool counts = words.size() > 1 && (words[1] == "more" || words[1] == "more;");
  return counts ? parse_unsigned(words[0]).value_or(0) : 0;
}

std::string_view without_reboot(std::string_view reason) {
  for (;;) {
    const auto colon = reason.rfind(':');
    const auto tail = colon == std::string_view::npos ? reason : reason.substr(colon + 1);
    if (std::ranges::count(kPowerWords, trim(tail)) > 0) {
      reason = colon == std::string_view::npos ? "" : reason.substr(0, colon);
    } else if (colon != std::string_view::npos && is_about_reboot(tail)) {
      reason = reason.substr(0, colon);
    } else {
      return reason;
    }
    while (reason.ends_with(' ')) reason.remove_suffix(1);
  }
}

std::optional<ReasonParts> parse_reason(std::string_view reason) {
  reason = without_reboot(reason);
  if (!is_ours(reason)) return std::nullopt;
  reason.remove_prefix(kOurs.size());
  const auto colon = reason.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const auto subject = reason.substr(0, colon);
  const auto blank = subject.find(' ');
  if (!is_check(subject.substr(0, blank))) return std::nullopt;
  ReasonParts parts{.check = std::string(subject.substr(0, blank))};
  if (blank != std::string_view::npos) parts.device = subject.substr(blank + 1);
  if (parts.device == "node") return std::nullopt;  // subject_of leaves it out
  const auto semicolon = reason.rfind("; ");        // the message has none
  if (semicolon == std::string_view::npos) return parts;
  const auto remedy = remedy_of(reason.substr(semicolon + 2));
  if (!remedy) return std::nullopt;
  parts.remedy = *remedy;
  return parts;
}

std::string subject_of(const std::string& check, const std::string& device) {
  const bool whole_node = device.empty() || device == "node";
  return whole_node ? check : fmt::format("{} {}", check, device);
}

bool is_ours(std::string_view reason) { return reason.starts_with(kOurs); }

bool is_admins(std::string_view reason) {
  constexpr std::string_view kEarlier = "muster-admin: ";  // the form of earlier versions
  return reason.starts_with(kEarlier) || reason.find(kByAdmin) != std::string_view::npos;
}

}  // namespace muster::slurm
