// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "checks/nhc_conf/config.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::nhc {
namespace {

// The C library matches by recursion and by trying combinations. These functions return why a
// pattern would exhaust the stack, the memory or the time, or an empty text.
std::string excess_in(std::string_view pattern) {
  constexpr std::size_t kLongest = 4096;
  constexpr int kDeepest = 64;
  if (pattern.size() > kLongest) return fmt::format("longer than {} characters", kLongest);
  int depth = 0;
  for (const char each : pattern) {
    if (each == '(' && ++depth > kDeepest) return fmt::format("{} nested groups", depth);
    if (each == ')') --depth;
  }
  return {};
}

// The larger number of "{2,255}"; 1 without a number.
std::uint64_t repeat_count(std::string_view braces) {
  const auto inside = braces.substr(0, braces.find('}'));
  const auto comma = inside.find(',');
  const auto last = comma == std::string_view::npos ? inside : inside.substr(comma + 1);
  return std::max<std::uint64_t>(parse_unsigned(last).value_or(1), 1);
}

std::string excess_in_regex(std::string_view pattern) {
  constexpr std::uint64_t kMaxCopies = 100'000;
  constexpr int kMaxInARow = 8;
  std::uint64_t copies = 1;
  int in_a_row = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char each = pattern[i];
    in_a_row = each == '*' || each == '+' || each == '?' ? in_a_row + 1 : 0;
    if (in_a_row > kMaxInARow) return fmt::format("{} repetitions in a row", in_a_row);
    if (each == '{') copies *= std::min(repeat_count(pattern.substr(i + 1)), kMaxCopies);
    if (copies > kMaxCopies) return fmt::format("more than {} copies of a part", kMaxCopies);
    if (each == '\\' && ++i < pattern.size() && pattern[i] >= '1' && pattern[i] <= '9') {
      return "a reference to a group";
    }
  }
  return excess_in(pattern);
}

std::string excess_in_glob(std::string_view pattern) {
  std::vector<bool> repeated;  // of the open groups: "*(" and "+("
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '(') {
      const bool repeats = i > 0 && (pattern[i - 1] == '*' || pattern[i - 1] == '+');
      if (repeats && std::ranges::count(repeated, true) > 0) return "nested repetitions";
      repeated.push_back(repeats);
    } else if (pattern[i] == ')' && !repeated.empty()) {
      repeated.pop_back();
    }
  }
  return excess_in(pattern);
}

// bash also matches [[ … =~ … ]] with the C library's POSIX extended expressions.
Result<bool> matches_regex(const std::string& pattern, const std::string& text) {
  if (auto excess = excess_in_regex(pattern); !excess.empty()) return make_error(std::move(excess));
  regex_t compiled{};
  if (const int failure = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 128> why{};
    ::regerror(failure, &compiled, why.data(), why.size());
    return make_error(why.data());
  }
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

Result<bool> matches_range(const std::string& range, const std::string& text) {
  TRY_ASSIGN(const auto names, expand_hostlist(range));
  return std::ranges::find(names, text) != names.end();
}

// The globs of bash's [[ … == … ]].
Result<bool> matches_extended_glob(const std::string& pattern, const std::string& text) {
  if (auto excess = excess_in_glob(pattern); !excess.empty()) return make_error(std::move(excess));
  return ::fnmatch(pattern.c_str(), text.c_str(), FNM_EXTMATCH) == 0;
}

}  // namespace

Result<bool> matches(std::string_view expression, std::string_view text) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  if (expression.empty()) return make_error("empty match string");
  const auto enclosed = [&](char first, char last) {
    return expression.size() >= 2 && expression.front() == first && expression.back() == last;
  };
  std::string_view kind = "glob";
  auto match = matches_extended_glob;
  std::string pattern(expression);
  if (enclosed('/', '/') || enclosed('{', '}')) {
    const bool is_regex = expression.front() == '/';
    kind = is_regex ? "expression" : "range";
    match = is_regex ? matches_regex : matches_range;
    pattern = expression.substr(1, expression.size() - 2);
  }
  const auto found = match(pattern, std::string(text));
  if (found) return *found != negated;
  return make_error(
      fmt::format("the {} {}: {}", kind, printable(expression, 80), found.error().message));
}

}  // namespace muster::nhc
