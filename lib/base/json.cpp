// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json.hpp"

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace muster {

Result<nlohmann::json> parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": without the number.
    const std::string_view what = failure.what();
    const auto prefix = what.find("] ");
    return make_error(
        printable(prefix == std::string_view::npos ? what : what.substr(prefix + 2), 200));
  }
}

std::string json_line(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster
