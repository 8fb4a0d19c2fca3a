// SPDX-License-Identifier: Apache-2.0
#include "lib/hosts/hostlist.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxDigits = 18;     // of a number, so that it fits into 64 bits
constexpr std::size_t kLongestName = 255;  // of a host, with its domain

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;
};

// Text, and the ranges in the brackets that follow it: none after the last piece.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

struct Item {
  std::vector<Piece> pieces;
  std::size_t at = 0;
};

void append_number(std::string& name, std::uint64_t value, std::size_t width) {
  const fmt::format_int digits(value);
  if (digits.size() < width) name.append(width - digits.size(), '0');
  name.append(digits.data(), digits.size());
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names go to host files, ssh and shells, so that no other characters are allowed.
bool is_name_character(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || is_digit(c) || c == '-' || c == '_' || c == '.';
}

// n2 is before n10.
struct NumbersByValue {
  bool operator()(const std::string& a, const std::string& b) const {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
  }
};

bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class HostlistParser {
 public:
  explicit HostlistParser(std::string_view text) : text_(text) {}

  // Like Slurm, allows several commas and blanks between hosts.
  Result<std::vector<Item>> items() {
    std::vector<Item> result;
    while (true) {
      while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      TRY_ASSIGN(auto next, item());
      result.push_back(std::move(next));
    }
    if (result.empty()) return make_error("the host list is empty");
    return result;
  }

  static tl::unexpected<Error> error_at(std::size_t at, std::string_view what) {
    return make_error("column {}: {}", at + 1, what);
  }

 private:
  Result<Item> item() {
    Item result{.at = at_};
    std::size_t longest = 0;
    if (text_[at_] == '-') return error_at(at_, "a host name cannot begin with a hyphen");
    while (at_ < text_.size() && !is_separator(text_[at_])) {
      TRY_ASSIGN(auto next, piece());
      longest += next.text.size() + longest_number(next.ranges);
      result.pieces.push_back(std::move(next));
    }
    if (longest > kLongestName) {
      return error_at(result.at,
                      fmt::format("a host name has more than {} characters", kLongestName));
    }
    return result;
  }

  Result<Piece> piece() {
    const auto begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    Piece result{.text = text_.substr(begin, at_ - begin)};
    if (at_ == text_.size() || is_separator(text_[at_])) return result;
    if (text_[at_] == ']') return error_at(at_, "unmatched closing bracket");
    if (text_[at_] != '[') return error_at(at_, "invalid character in a host name");
    TRY_ASSIGN(result.ranges, ranges());
    return result;
  }

  Result<std::vector<Range>> ranges() {
    const auto open = at_;
    std::vector<Range> result;
    do {
      ++at_;  // the bracket, or a comma
      TRY_ASSIGN(const auto next, range());
      result.push_back(next);
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ == text_.size()) return error_at(open, "unmatched opening bracket");
    if (text_[at_] != ']') return error_at(at_, "expected a comma, a hyphen or a closing bracket");
    ++at_;
    return result;
  }

  Result<Range> range() {
    const auto begin = at_;
    const auto low = digits();
    if (low.empty()) return error_at(at_, "expected a number");
    auto high = low;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      high = digits();
      if (high.empty()) return error_at(at_, "expected the number at the end of a range");
    }
    if (std::max(low.size(), high.size()) > kMaxDigits) {
      return error_at(begin, fmt::format("a number has more than {} digits", kMaxDigits));
    }
    const Range result{.first = parse_unsigned(low).value_or(0),
                       .last = parse_unsigned(high).value_or(0),
                       .width = low.size()};
    if (result.first > result.last) {
      return error_at(begin, fmt::format("the range {}-{} runs backwards", low, high));
    }
    return result;
  }

  std::string_view digits() {
    const auto begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  static std::size_t longest_number(const std::vector<Range>& ranges) {
    std::size_t longest = 0;
    for (const auto& range : ranges) {
      longest = std::max({longest, range.width, fmt::format_int(range.last).size()});
    }
    return longest;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Counts up to `max_hosts` + 1.
std::size_t count_hosts(const Item& item, std::size_t max_hosts) {
  std::size_t count = 1;
  for (const auto& piece : item.pieces) {
    if (piece.ranges.empty()) continue;
    std::size_t numbers = 0;
    for (const auto& range : piece.ranges) {
      numbers += std::min<std::size_t>(range.last - range.first, max_hosts) + 1;
      if (numbers > max_hosts) return max_hosts + 1;
    }
    if (numbers > max_hosts / count) return max_hosts + 1;
    count *= numbers;
  }
  return count;
}

// Appends all names that begin with `name` and continue with the piece `next`.
void append_names(const Item& item, std::size_t next, std::string& name,
                  std::vector<std::string>& names) {
  if (next == item.pieces.size()) {
    names.push_back(name);
    return;
  }
  const auto before = name.size();
  const auto& piece = item.pieces[next];
  name.append(piece.text);
  if (piece.ranges.empty()) append_names(item, next + 1, name, names);
  const auto begin = name.size();
  for (const auto& range : piece.ranges) {
    for (auto value = range.first; value <= range.last; ++value) {
      append_number(name, value, range.width);
      append_names(item, next + 1, name, names);
      name.resize(begin);
    }
  }
  name.resize(before);
}

// Returns the number in `name` that is followed by `behind` other numbers.
std::optional<std::string_view> number_in(std::string_view name, std::size_t behind) {
  constexpr std::string_view kDigits = "0123456789";
  for (;;) {
    const auto last = name.find_last_of(kDigits);
    if (last == std::string_view::npos) return std::nullopt;
    const auto begin = name.find_last_not_of(kDigits, last) + 1;
    const auto number = name.substr(begin, last + 1 - begin);
    if (number.size() <= kMaxDigits && behind-- == 0) return number;
    name = name.substr(0, begin);
  }
}

// A name and the number that is being folded.
struct Member {
  std::uint64_t value = 0;
  std::size_t width = 0;  // of the number as written
  std::size_t name = 0;   // index

  // NOLINTNEXTLINE(modernize-use-nullptr): a false positive
  auto operator<=>(const Member&) const = default;
};

bool continues(const Range& range, const Member& member) {
  return range.last + 1 == member.value &&
         member.width == std::max(range.width, fmt::format_int(member.value).size());
}

// The content of a bracket. Ranges of several widths can be open at once: 8, 08, 9, 09 become
// 8-9, 08-09.
std::string fold_numbers(const std::vector<Member>& ascending) {
  std::vector<Range> ranges;
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
    append_number(text, range.first, range.width);
    if (range.last == range.first) continue;
    text.push_back('-');
    append_number(text, range.last, range.width);
  }
  return text;
}

class HostlistFolder {
 public:
  explicit HostlistFolder(const std::vector<std::string>& names) {
    const std::set<std::string_view> unique(names.begin(), names.end());
    names_.assign(unique.begin(), unique.end());
    for (std::size_t i = 0; i < names_.size(); ++i) left_.push_back(i);
  }

  // The entries of the list by the first of their names. Folds the last numbers first, then earlier
  // ones of names that are still unfolded.
  std::map<std::string, std::string, NumbersByValue> entries() {
    for (std::size_t behind = 0; !left_.empty(); ++behind) fold(behind);
    return std::move(entries_);
  }

 private:
  void fold(std::size_t behind) {
    // By the name, with an opening bracket instead of the number.
    std::unordered_map<std::string, std::vector<Member>> alike;
    for (const auto place : std::exchange(left_, {})) {
      const std::string_view name = names_[place];
      const auto number = number_in(name, behind);
      if (!number) {
        entries_.emplace(name, name);
        continue;
      }
      const auto begin = static_cast<std::size_t>(number->data() - name.data());
      alike[fmt::format("{}[{}", name.substr(0, begin), name.substr(begin + number->size()))]
          .push_back({parse_unsigned(*number).value_or(0), number->size(), place});
    }
    for (auto& [rest, members] : alike) {
      if (members.size() == 1) {
        left_.push_back(members.front().name);
        continue;
      }
      std::ranges::sort(members, std::less<>{});
      const auto begin = rest.find('[') + 1;
      entries_.emplace(
          names_[members.front().name],
          fmt::format("{}{}]{}", rest.substr(0, begin), fold_numbers(members), rest.substr(begin)));
    }
  }

  std::vector<std::string_view> names_;
  std::vector<std::size_t> left_;
  std::map<std::string, std::string, NumbersByValue> entries_;
};

constexpr std::size_t kLargest = 64UL * 1024 * 1024;

Result<std::string> read_lists(int descriptor) {
  std::string text;
  const int code = read_all(descriptor, text, kLargest);
  if (code != 0) return make_error(errno_text(code));
  if (text.size() > kLargest) return make_error("more than {} bytes", kLargest);
  return text;
}

// Parses line by line, so that errors name the line.
Result<std::vector<std::string>> hosts_in(std::string_view text) {
  std::vector<std::string> hosts;
  std::size_t number = 0;
  for (auto line : split_lines(text)) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto names = expand_hostlist(line, kMaxHosts - hosts.size());
    if (!names) return make_error("line {}, {}", number, names.error().message);
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  if (hosts.empty()) return make_error("no hosts");
  return hosts;
}

Result<std::vector<std::string>> hosts_of_word(const std::string& word) {
  const bool is_input = word == "-";
  if (!is_input && !word.starts_with('@')) return expand_hostlist(word);
  const auto file = word.substr(1);
  const auto name = is_input ? std::string("standard input") : printable(file);
  const Descriptor opened(is_input ? ::dup(STDIN_FILENO)
                                   : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open()) {
    return make_error("{}: {}", name, errno_text(errno));
  }
  auto hosts = read_lists(opened.get()).and_then(hosts_in);
  if (!hosts) return make_error("{}: {}", name, hosts.error().message);
  return hosts;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t max_hosts) {
  TRY_ASSIGN(const auto items, HostlistParser(text).items());
  std::size_t count = 0;
  for (const auto& item : items) {
    const auto more = count_hosts(item, max_hosts);
    if (more > max_hosts - count) {
      return HostlistParser::error_at(item.at,
                                      fmt::format("the list has more than {} hosts", max_hosts));
    }
    count += more;
  }
  std::vector<std::string> names;
  names.reserve(count);
  std::string name;
  for (const auto& item : items) append_names(item, 0, name, names);
  return names;
}

Result<std::string> first_of_hostlist(std::string_view text) {
  TRY_ASSIGN(const auto items, HostlistParser(text).items());
  std::string name;
  for (const auto& piece : items.front().pieces) {
    name.append(piece.text);
    if (piece.ranges.empty()) continue;
    append_number(name, piece.ranges.front().first, piece.ranges.front().width);
  }
  return name;
}

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& [first, entry] : HostlistFolder(names).entries()) {
    if (entry.empty()) continue;
    if (!list.empty()) list.push_back(',');
    list.append(entry);
  }
  return list;
}

Result<std::vector<std::string>> hosts_of_words(const std::vector<std::string>& words) {
  std::vector<std::string> hosts;
  for (const auto& word : words) {
    auto more = hosts_of_word(word);
    if (!more) return more;
    hosts.insert(hosts.end(), more->begin(), more->end());
  }
  return hosts;
}

}  // namespace muster
