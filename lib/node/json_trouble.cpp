// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json_trouble.hpp"

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace muster {

std::string json_trouble(std::string_view text, std::string_view otherwise) {
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    return printable(failure.what(), 200);
  }
  return std::string(otherwise);
}

}  // namespace muster
