// SPDX-License-Identifier: Apache-2.0
// Whether the tags of a page fit together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The first unbalanced tag; empty if the page is well formed.
inline std::string unbalanced(std::string_view html) {
  std::vector<std::string> open;
  for (auto at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    auto tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const bool closes = tag.starts_with('/');
    if (closes) tag.remove_prefix(1);
    const std::string name(tag.substr(0, tag.find_first_of(" \n")));
    if (name == "!DOCTYPE" || name == "meta" || name == "br") continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return name;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

}  // namespace muster
