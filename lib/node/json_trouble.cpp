// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json_trouble.hpp"

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace muster {

std::string json_trouble(std::string_view text, std::string_view otherwise) {
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": without the number.
    const std::string_view what = failure.what();
    const auto prefix = what.find("] ");
    return printable(prefix == std::string_view::npos ? what : what.substr(prefix + 2), 200);
  }
  return std::string(otherwise);
}

}  // namespace muster
