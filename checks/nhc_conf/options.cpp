// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/options.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// The letters of one word; whether the next word is the value of the last of them.
Result<char> take_letters(std::string_view letters, std::string_view known, Options& options) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char letter = letters[i];
    const auto place = letter == ':' ? std::string_view::npos : known.find(letter);
    if (place == std::string_view::npos) {
      return make_error(
          fmt::format("there is no option -{}", printable(std::string(1, letter), 8)));
    }
    const bool takes_value = place + 1 < known.size() && known[place + 1] == ':';
    if (takes_value && i + 1 == letters.size()) return letter;
    options.given[letter].emplace_back(takes_value ? letters.substr(i + 1) : "");
    if (takes_value) break;
  }
  return '\0';
}

}  // namespace

Result<Options> read_options(const Arguments& arguments, std::string_view known) {
  Options options;
  std::size_t next = 0;
  for (; next < arguments.size(); ++next) {
    const std::string_view word = arguments[next];
    if (word.size() < 2 || word.front() != '-') break;
    if (word == "--") {
      ++next;
      break;
    }
    TRY_ASSIGN(const auto wants, take_letters(word.substr(1), known, options));
    if (wants == '\0') continue;
    if (++next == arguments.size()) {
      return make_error(fmt::format("option -{} needs a value", wants));
    }
    options.given[wants].push_back(arguments[next]);
  }
  for (; next < arguments.size(); ++next) options.rest.push_back(arguments[next]);
  return options;
}

}  // namespace muster::nhc
