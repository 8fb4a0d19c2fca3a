// SPDX-License-Identifier: Apache-2.0
// Folds host names to a list, the reverse of hostlist.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view leading_digits(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

std::string_view without_zeros(std::string_view number) {
  return number.substr(std::min(number.find_first_not_of('0'), number.size()));
}

// The length of the common prefix, without digits of a number in which the rest may differ.
std::size_t length_shared(std::string_view a, std::string_view b) {
  auto same = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (same > 0 && is_digit(a[same - 1])) --same;
  return same;
}

// Compares runs of digits by value and the rest by bytes; n1 is before n01.
bool counts_before(std::string_view a, std::string_view b) {
  const auto same = length_shared(a, b);
  auto rest_a = a.substr(same);
  auto rest_b = b.substr(same);
  while (!rest_a.empty() && !rest_b.empty()) {
    if (!is_digit(rest_a.front()) || !is_digit(rest_b.front())) {
      if (rest_a.front() != rest_b.front()) return rest_a.front() < rest_b.front();
      rest_a.remove_prefix(1);
      rest_b.remove_prefix(1);
      continue;
    }
    const auto number_a = leading_digits(rest_a);
    const auto number_b = leading_digits(rest_b);
    const auto value_a = without_zeros(number_a);
    const auto value_b = without_zeros(number_b);
    if (value_a.size() != value_b.size()) return value_a.size() < value_b.size();
    if (value_a != value_b) return value_a < value_b;
    rest_a.remove_prefix(number_a.size());
    rest_b.remove_prefix(number_b.size());
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

// Returns the number in `name` that is followed by `behind` other numbers.
std::optional<std::string_view> number_in(std::string_view name, std::size_t behind) {
  auto end = name.size();
  while (end > 0) {
    if (!is_digit(name[end - 1])) {
      --end;
      continue;
    }
    auto begin = end;
    while (begin > 0 && is_digit(name[begin - 1])) --begin;
    const bool is_number = end - begin <= kMaxDigits;
    if (is_number && behind == 0) return name.substr(begin, end - begin);
    if (is_number) --behind;
    end = begin;
  }
  return std::nullopt;
}

struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;
};

// A name and the number that is being folded.
struct Member {
  std::uint64_t value = 0;
  std::size_t width = 0;  // of the number as written
  std::size_t name = 0;   // index

  bool operator==(const Member& other) const {
    return value == other.value && width == other.width;
  }

  bool operator<(const Member& other) const {
    return std::pair(value, width) < std::pair(other.value, other.width);
  }
};

bool continues(const NumberRange& range, const Member& member) {
  return range.last + 1 == member.value &&
         member.width == std::max(range.width, fmt::format_int(member.value).size());
}

// The content of a bracket. Ranges of several widths can be open at once: 8, 08, 9, 09 become
// 8-9, 08-09.
std::string fold_numbers(const std::vector<Member>& ascending) {
  std::vector<NumberRange> ranges;
  std::vector<std::size_t> open;
  for (const auto& member : ascending) {
    std::erase_if(open, [&](std::size_t at) { return ranges[at].last + 1 < member.value; });
    const auto range =
        std::ranges::find_if(open, [&](std::size_t at) { return continues(ranges[at], member); });
    if (range != open.end()) {
      ranges[*range].last = member.value;
      continue;
    }
    open.push_back(ranges.size());
    ranges.push_back({.first = member.value, .last = member.value, .width = member.width});
  }
  std::string text;
  for (const auto& range : ranges) {
    if (!text.empty()) text.push_back(',');
    fmt::format_to(std::back_inserter(text), "{:0{}}", range.first, range.width);
    if (range.last == range.first) continue;
    fmt::format_to(std::back_inserter(text), "-{:0{}}", range.last, range.width);
  }
  return text;
}

// An entry of the list, and the first of its names, by which entries are sorted.
struct ListEntry {
  std::string_view first;
  std::string text;
};

class HostlistFolder {
 public:
  explicit HostlistFolder(const std::vector<std::string>& names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) left_.push_back(i);
  }

  // Folds the last numbers first, then earlier ones of names that are still unfolded.
  std::vector<ListEntry> entries() {
    for (std::size_t behind = 0; !left_.empty(); ++behind) fold(behind);
    std::ranges::sort(entries_, counts_before, &ListEntry::first);
    return std::move(entries_);
  }

 private:
  void fold(std::size_t behind) {
    // By the name without that number.
    std::unordered_map<std::string, std::vector<Member>> alike;
    std::set<std::string_view> without;
    std::string rest;
    for (const auto place : left_) {
      const std::string_view name = names_[place];
      const auto number = number_in(name, behind);
      if (!number) {
        without.insert(name);
        continue;
      }
      const auto begin = static_cast<std::size_t>(number->data() - name.data());
      rest.assign(name.substr(0, begin)).push_back('[');
      rest.append(name.substr(begin + number->size()));
      alike[rest].push_back({parse_unsigned(*number).value_or(0), number->size(), place});
    }
    for (const auto name : without) entries_.push_back({.first = name, .text = std::string(name)});
    left_.clear();
    for (auto& [key, members] : alike) add_members(key, members);
  }

  // `rest` is the name with an opening bracket in place of the number.
  void add_members(std::string_view rest, std::vector<Member>& members) {
    std::ranges::sort(members, std::less<>{});
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (members.size() == 1) {
      left_.push_back(members.front().name);
      return;
    }
    const auto begin = rest.find('[') + 1;
    entries_.push_back({.first = names_[members.front().name],
                        .text = fmt::format("{}{}]{}", rest.substr(0, begin), fold_numbers(members),
                                            rest.substr(begin))});
  }

  const std::vector<std::string>& names_;
  std::vector<std::size_t> left_;
  std::vector<ListEntry> entries_;
};

}  // namespace

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& entry : HostlistFolder(names).entries()) {
    if (entry.text.empty()) continue;
    if (!list.empty()) list.push_back(',');
    list.append(entry.text);
  }
  return list;
}

}  // namespace muster
