// SPDX-License-Identifier: Apache-2.0
#include "lib/report/formats/markup.hpp"

#include "lib/base/text.hpp"

namespace muster {

// printable() leaves no control characters; two code points above them are no XML either.
std::string escaped(std::string_view raw, std::size_t most) {
  std::string text;
  const auto shown = printable(raw, most);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto three = std::string_view(shown).substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      i += 2;
      continue;
    }
    switch (shown[i]) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&apos;";
        break;
      default:
        text.push_back(shown[i]);
    }
  }
  return text;
}

}  // namespace muster
