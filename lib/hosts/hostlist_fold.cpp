// SPDX-License-Identifier: Apache-2.0
// Names of hosts to a list: the other direction of hostlist.cpp.
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

// How much both begin with, but for digits that belong to a number in which they may differ.
std::size_t length_shared(std::string_view a, std::string_view b) {
  auto same = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (same > 0 && is_digit(a[same - 1])) --same;
  return same;
}

// As people count: runs of digits by their value, the rest byte by byte; n1 before n01.
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

// The number of a name that has `behind` others behind it.
std::optional<std::string_view> number_in(std::string_view name, std::size_t behind) {
  auto end = name.size();
  while (end > 0) {
    if (!is_digit(name[end - 1])) {
      --end;
      continue;
    }
    auto begin = end;
    while (begin > 0 && is_digit(name[begin - 1])) --begin;
    const bool is_number = end - begin <= kMostDigits;
    if (is_number && behind == 0) return name.substr(begin, end - begin);
    if (is_number) --behind;
    end = begin;
  }
  return std::nullopt;
}

struct Run {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;
};

// A name, by the number that is looked at.
struct Member {
  std::uint64_t value = 0;
  std::size_t width = 0;  // of the number as written
  std::size_t name = 0;   // its place

  bool operator==(const Member& other) const {
    return value == other.value && width == other.width;
  }

  bool operator<(const Member& other) const {
    return std::pair(value, width) < std::pair(other.value, other.width);
  }
};

bool continues(const Run& range, const Member& member) {
  return range.last + 1 == member.value &&
         member.width == std::max(range.width, fmt::format_int(member.value).size());
}

// What brackets hold. Ranges of several widths may be open at once: 8, 08, 9, 09 make 8-9, 08-09.
std::string fold_numbers(const std::vector<Member>& ascending) {
  std::vector<Run> ranges;
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

// A part of the list, and the first of its names, by which parts are sorted.
struct Part {
  std::string_view first;
  std::string text;
};

class Folder {
 public:
  explicit Folder(const std::vector<std::string>& names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) left_.push_back(i);
  }

  // The last numbers first, then those before them in the names that are still alone.
  std::vector<Part> parts() {
    for (std::size_t behind = 0; !left_.empty(); ++behind) fold(behind);
    std::ranges::sort(parts_, counts_before, &Part::first);
    return std::move(parts_);
  }

 private:
  void fold(std::size_t behind) {
    // By all of the name but that number.
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
    for (const auto name : without) parts_.push_back({.first = name, .text = std::string(name)});
    left_.clear();
    for (auto& [key, members] : alike) add(key, members);
  }

  // `rest` has an opening bracket where the number was.
  void add(std::string_view rest, std::vector<Member>& members) {
    std::ranges::sort(members, std::less<>{});
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (members.size() == 1) {
      left_.push_back(members.front().name);
      return;
    }
    const auto begin = rest.find('[') + 1;
    parts_.push_back({.first = names_[members.front().name],
                      .text = fmt::format("{}{}]{}", rest.substr(0, begin), fold_numbers(members),
                                          rest.substr(begin))});
  }

  const std::vector<std::string>& names_;
  std::vector<std::size_t> left_;
  std::vector<Part> parts_;
};

}  // namespace

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& part : Folder(names).parts()) {
    if (part.text.empty()) continue;
    if (!list.empty()) list.push_back(',');
    list.append(part.text);
  }
  return list;
}

}  // namespace muster
