// SPDX-License-Identifier: Apache-2.0
#include "bench/run/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kMostNames = 4;

std::string who(const std::vector<Introduction>& introductions, std::size_t rank) {
  return fmt::format("rank {} on {}", rank, introductions[rank].host);
}

// From the first word in which two command lines differ to the last; an option with its value.
std::pair<std::string, std::string> difference(std::string_view one, std::string_view other) {
  auto a = split_words(one);
  auto b = split_words(other);
  std::string_view before;
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    before = a.front();
    a.erase(a.begin());
    b.erase(b.begin());
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.pop_back();
    b.pop_back();
  }
  const auto shown = [&](std::vector<std::string_view>& words) {
    const bool is_value = !words.empty() && !words.front().starts_with('-');
    if (is_value && before.starts_with("-")) words.insert(words.begin(), before);
    if (words.empty()) return std::string("nothing");
    return printable(fmt::format("{}", fmt::join(words, " ")), 200);
  };
  return {shown(a), shown(b)};
}

Result<void> same_run(const std::vector<Introduction>& introductions) {
  const Introduction& first = introductions.front();
  for (std::size_t rank = 1; rank < introductions.size(); ++rank) {
    const Introduction& other = introductions[rank];
    if (other.asked != first.asked) {
      const auto [ours, theirs] = difference(first.asked, other.asked);
      return make_error(
          fmt::format("{} was started with {} where rank 0 was with {}: all ranks "
                      "need the same arguments",
                      who(introductions, rank), theirs, ours));
    }
    if (other.backend != first.backend) {
      return make_error(fmt::format(
          "{} would run the back end {} and {} {}: is a GPU or a library missing on one of them? "
          "--backend decides",
          who(introductions, 0), first.backend, who(introductions, rank), other.backend));
    }
  }
  return {};
}

}  // namespace

Agreement agreement_of(const std::vector<Introduction>& introductions) {
  Agreement agreement;
  if (auto same = same_run(introductions); !same) {
    agreement.complaint = same.error().message;
    return agreement;
  }
  std::map<std::string, int> taken;
  for (const auto& introduction : introductions) {
    const int local = taken[introduction.host]++;
    if (local == 0) agreement.hosts.push_back(introduction.host);
    agreement.local_ranks.push_back(local);
    const auto host = std::ranges::find(agreement.hosts, introduction.host);
    agreement.nodes.push_back(static_cast<int>(host - agreement.hosts.begin()));
  }
  return agreement;
}

std::vector<std::string> other_profiles(const std::vector<Introduction>& introductions) {
  std::vector<std::string> sentences;
  std::map<std::string, bool> seen;
  for (std::size_t rank = 1; rank < introductions.size(); ++rank) {
    const Introduction& other = introductions[rank];
    if (other.profile == introductions.front().profile || seen[other.host]) continue;
    seen[other.host] = true;
    if (sentences.size() == kMostNames) break;
    sentences.push_back(fmt::format("{} looks like {}, and not like the node of rank 0", other.host,
                                    other.profile));
  }
  return sentences;
}

Agreement agree(const std::vector<std::string>& texts, std::vector<std::string>& remarks) {
  std::vector<Introduction> all;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    auto parsed = from_message<Introduction>(texts[rank], static_cast<int>(rank));
    if (!parsed) {
      Agreement none;
      none.complaint = parsed.error().message;
      return none;
    }
    all.push_back(*std::move(parsed));
  }
  remarks = other_profiles(all);
  return agreement_of(all);
}

std::string named(const std::vector<std::string>& hosts) {
  if (hosts.size() <= kMostNames) return fmt::format("{}", fmt::join(hosts, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(hosts.begin(), hosts.begin() + kMostNames - 1, ", "),
                     hosts.size() - kMostNames + 1);
}

}  // namespace muster::bench
