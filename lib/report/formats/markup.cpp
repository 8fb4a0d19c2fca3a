// SPDX-License-Identifier: Apache-2.0
#include "lib/report/formats/markup.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {

// printable() removes control characters; U+FFFE and U+FFFF are invalid in XML, too.
std::string escaped(std::string_view raw, std::size_t most) {
  constexpr std::array kEntities{std::pair{'&', "&amp;"}, std::pair{'<', "&lt;"},
                                 std::pair{'>', "&gt;"}, std::pair{'"', "&quot;"},
                                 std::pair{'\'', "&apos;"}};
  std::string text;
  const auto shown = printable(raw, most);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto three = std::string_view(shown).substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      i += 2;
      continue;
    }
    const auto* const entity =
        std::ranges::find(kEntities, shown[i], [](auto e) { return e.first; });
    text += entity == kEntities.end() ? std::string(1, shown[i]) : entity->second;
  }
  return text;
}

}  // namespace muster
