// SPDX-License-Identifier: Apache-2.0
// One line for LBNL NHC. NHC evaluates the text of a failure in a shell and hands it on as a Slurm
// reason, whose words it may expand as globs: nothing that means anything to either may pass.
#include <string_view>

#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxLength = 199;  // 200 with the newline

bool is_harmless(char c) {
  constexpr std::string_view kSpecial = "'\"`$\\*?;|<>&()[]{}!#~";
  return c > ' ' && c < 0x7f && kSpecial.find(c) == std::string_view::npos;
}

// A semicolon ends a clause in our sentences, so it becomes a comma; a character of several bytes
// becomes one hyphen; the rest becomes a blank, and blanks in a row become one.
std::string harmless(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues_character = (byte & 0xc0U) == 0x80;
    if (continues_character) continue;
    if (is_harmless(c) || c == ';') {
      const bool ends_clause = c == ';' || c == ',';
      if (ends_clause && !safe.empty() && safe.back() == ' ') safe.pop_back();
      safe.push_back(ends_clause ? ',' : c);
    } else if (byte >= 0x80) {
      safe.push_back('-');
    } else if (!safe.empty() && safe.back() != ' ') {
      safe.push_back(' ');
    }
  }
  while (!safe.empty() && safe.back() == ' ') safe.pop_back();
  return safe;
}

}  // namespace

std::string to_nhc(const Report& report) {
  auto line = harmless(one_line(report, kMaxLength));
  line.push_back('\n');
  return line;
}

}  // namespace muster
