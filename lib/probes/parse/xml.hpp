// SPDX-License-Identifier: Apache-2.0
// A small strict reader of XML elements and attributes: enough for NCCL's topology files, and less
// than an XML library that resolves entities and includes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  unsigned depth = 0;  // of the root element: 0

  bool operator==(const XmlElement&) const = default;
};

// All elements in the order of their start tags. The document must be well formed; document types
// and CDATA sections are refused, text between tags is passed over. Errors name the line.
[[nodiscard]] Result<std::vector<XmlElement>> parse_xml(std::string_view text);

}  // namespace muster
