// SPDX-License-Identifier: Apache-2.0
// The pictures of the page of a delivery, as data for its template. Marks differ in shape as well
// as in colour.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/accept/delivery.hpp"

namespace muster::accept {

// Formats a number with as many digits as a reader needs.
[[nodiscard]] std::string number_text(double value);

// Whether a value is on the wrong side of a limit.
[[nodiscard]] bool is_beyond(const DeliveryQuantity& quantity, double value);

// Draws a dot for the value of each node on a line, with the limits. `place` is the index of the
// quantity in a node's values. Null if no node has a value.
[[nodiscard]] nlohmann::ordered_json strip_of(const Delivery& delivery, std::size_t place);

struct Bar {
  double value = 0;
  std::string label;
  bool bad = false;
};

// Draws bars from 0, with an optional limit.
[[nodiscard]] nlohmann::ordered_json bars_of(const std::vector<Bar>& bars, const std::string& unit,
                                             const std::optional<double>& limit = {});

// Draws a square for each pair of nodes that was measured. Its size and colour show how slow the
// pair is.
[[nodiscard]] nlohmann::ordered_json pairs_of(const Matrix& matrix);

}  // namespace muster::accept
