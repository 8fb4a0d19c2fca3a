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

// bash matches [[ … =~ … ]] with POSIX extended expressions of the C library, too.
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

Result<bool> matches(std::string_view expression, std::string_view text) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  if (expression.empty()) return make_error("empty match string");
  const auto enclosed = [&](char first, char last) {
    return expression.size() >= 2 && expression.front() == first && expression.back() == last;
  };
  const auto inside = expression.substr(1, std::max<std::size_t>(expression.size(), 2) - 2);
  Result<bool> found = false;
  if (enclosed('/', '/')) {
    found = matches_regex(std::string(inside), std::string(text));
  } else if (enclosed('{', '}')) {
    found = matches_range(inside, text);
  } else {
    // The globs of bash's [[ … == … ]].
    const std::string glob(expression);
    found = ::fnmatch(glob.c_str(), std::string(text).c_str(), FNM_EXTMATCH) == 0;
  }
  return found ? Result<bool>(*found != negated) : found;
}

}  // namespace muster::nhc
