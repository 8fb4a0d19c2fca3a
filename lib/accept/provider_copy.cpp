// SPDX-License-Identifier: Apache-2.0
// The copy of a delivery that a provider gets: evidence, but nothing about users and jobs.
#include <algorithm>
#include <array>
#include <regex>
#include <string>

#include "lib/accept/delivery.hpp"
#include "lib/accept/node_claim.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

struct PrivateText {
  std::string_view what;
  const char* pattern;
  const char* replacement;
};

// PCI addresses and the GUIDs of HCAs have fewer groups than IPv6 addresses; versions of firmware
// have more numbers than IPv4 addresses.
constexpr std::array kPrivate{
    PrivateText{"addresses", R"((^|[^.\w])\d{1,3}(\.\d{1,3}){3}(:\d+)?(?![.\w]))", "$1[address]"},
    PrivateText{"addresses", R"(\b[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){4,7}\b)", "[address]"},
    PrivateText{"addresses", R"(\b[0-9a-fA-F]{1,4}::[0-9a-fA-F:]+)", "[address]"},
    PrivateText{"processes, users and jobs",
                R"(\b(pid|name|comm|user|uid|job|job_?id)=('[^']*'|"[^"]*"|[^\s,;)]+))",
                "$1=[left out]"},
    PrivateText{"processes, users and jobs", R"(\bprocess \d+ \([^)]*\))", "a process"},
    PrivateText{"processes, users and jobs", R"(\S+ \((process|pid) \d+\))", "a process"},
    PrivateText{"processes, users and jobs", R"(\b(process|pid|job) #?\d+)", "a $1"},
    PrivateText{"processes, users and jobs", R"(\b(user) [\w.@-]+)", "a $1"},
    PrivateText{"processes, users and jobs", R"(/(home|users)/[^\s,;)]+)", "[left out]"},
};

class PrivateTexts {
 public:
  explicit PrivateTexts(std::vector<std::string>& left_out) : left_out_(left_out) {
    for (const auto& each : kPrivate) {
      patterns_.emplace_back(each.pattern, std::regex::ECMAScript | std::regex::optimize);
    }
  }

  void note(std::string_view what) {
    if (std::ranges::count(left_out_, what) == 0) left_out_.emplace_back(what);
  }

  void drop(std::string& text, std::string_view what) {
    if (!text.empty()) note(what);
    text.clear();
  }

  // The library's patterns recurse for each character, so the text is cut.
  void clean(std::string& text) {
    constexpr std::size_t kLongest = 2000;
    if (text.empty()) return;
    text = printable(text, kLongest);
    for (std::size_t i = 0; i < kPrivate.size(); ++i) {
      auto cleaned = std::regex_replace(text, patterns_[i], kPrivate.at(i).replacement);
      if (cleaned == text) continue;
      note(kPrivate.at(i).what);
      text = std::move(cleaned);
    }
  }

  void clean(std::vector<std::string>& texts) {
    for (auto& text : texts) clean(text);
  }

 private:
  std::vector<std::string>& left_out_;
  std::vector<std::regex> patterns_;
};

}  // namespace

Delivery for_provider(Delivery delivery) {
  constexpr std::string_view kNotes = "notes of the admin";
  constexpr std::string_view kPeople = "names of the people who ran it";
  PrivateTexts texts(delivery.left_out);
  texts.drop(delivery.who, kPeople);
  for (auto& each : delivery.overridden) {
    texts.drop(each.who, kPeople);
    texts.drop(each.why, kNotes);
    texts.clean(each.what);
  }
  for (auto& card : delivery.cards) {
    if (card.verdict == NodeVerdict::withdrawn) texts.drop(card.why, kNotes);
    texts.clean(card.why);
    texts.clean(card.kernel_lines);
    for (auto& cause : card.causes) {
      texts.clean(cause.message);
      if (auto* text = std::get_if<std::string>(&cause.observed)) texts.clean(*text);
    }
    for (auto& attempt : card.attempts) texts.clean(attempt.result);
    if (card.claim) card.claim = claim_of(card);
  }
  for (auto& row : delivery.nodes) {
    if (row.verdict == NodeVerdict::withdrawn) texts.drop(row.why, kNotes);
    texts.clean(row.why);
    texts.clean(row.remarks);
  }
  for (auto& gap : delivery.not_observed) texts.clean(gap.reason);
  return delivery;
}

}  // namespace muster::accept
