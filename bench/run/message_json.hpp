// SPDX-License-Identifier: Apache-2.0
// The definitions of to_message() and from_message(), for files that define messages of their own.
// The JSON library is slow to compile.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/run/meeting.hpp"
#include "lib/base/json.hpp"

namespace muster::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Samples, rank, seconds, cpu_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Wrong, rank, elements, first, observed, low, high, timed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Batch, samples, wrong)

template <class T>
std::string to_message(const T& value) {
  return json_line(value);
}

// All ranks must run the same version of this program.
template <class T>
Result<T> from_message(std::string_view text, int rank) {
  const auto unread = [&](std::string_view why) {
    return make_error(fmt::format(
        "rank {} runs another version of muster-bench: cannot parse its message ({})", rank, why));
  };
  const auto json = parse_json(text);
  if (!json) return unread(json.error().message);
  try {
    return json->template get<T>();
  } catch (const nlohmann::json::exception& error) {
    return unread(error.what());
  }
}

}  // namespace muster::bench
