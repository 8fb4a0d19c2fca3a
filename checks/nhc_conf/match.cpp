// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/match.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <string>

#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::nhc {
namespace {

bool enclosed(std::string_view text, char first, char last) {
  return text.size() >= 2 && text.front() == first && text.back() == last;
}

// POSIX extended expressions of the C library: those that bash takes, with the same words.
Result<bool> matches_regex(const std::string& pattern, const std::string& text) {
  regex_t compiled{};
  const int failure = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failure != 0) {
    std::array<char, 128> why{};
    ::regerror(failure, &compiled, why.data(), why.size());
    return make_error(fmt::format("the expression /{}/: {}", printable(pattern, 80), why.data()));
  }
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

Result<bool> matches_range(std::string_view range, std::string_view text) {
  const auto names = expand_hostlist(range);
  if (!names) {
    return make_error(
        fmt::format("the range {{{}}}: {}", printable(range, 80), names.error().message));
  }
  return std::ranges::find(*names, text) != names->end();
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), FNM_EXTMATCH) == 0;
}

Result<bool> matches(std::string_view expression, std::string_view text) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  if (expression.empty()) return make_error("an empty match string");
  const auto inside = expression.substr(1, std::max<std::size_t>(expression.size(), 2) - 2);
  Result<bool> found = false;
  if (enclosed(expression, '/', '/')) {
    found = matches_regex(std::string(inside), std::string(text));
  } else if (enclosed(expression, '{', '}')) {
    found = matches_range(inside, text);
  } else {
    found = matches_pattern(expression, text);
  }
  if (!found) return found;
  return *found != negated;
}

}  // namespace muster::nhc
