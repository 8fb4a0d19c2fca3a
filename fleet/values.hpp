// SPDX-License-Identifier: Apache-2.0
// The values of a report and their layout.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/document.hpp"

namespace muster::fleet {

// Names are kept whole, so that two nodes never become one.
inline constexpr std::size_t kLongestName = 64UL << 10U;
inline constexpr std::size_t kLongestMessage = 400;

// Printable, and whole.
[[nodiscard]] std::string printable_name(std::string_view text);

// Most reports have the same layout: its positions are made once for each batch, which has a thread
// of its own.
class ValuesBuilder {
 public:
  // The texts must live until take().
  void add(std::string_view quantity, std::string_view device, std::string_view unit, double number,
           std::string conditions = {});
  [[nodiscard]] Values take();

 private:
  struct RawPosition {
    std::string_view quantity, device, unit;
    std::string conditions;
  };

  [[nodiscard]] std::shared_ptr<const std::vector<Position>> made() const;

  std::string spec_;
  std::vector<RawPosition> positions_;
  Values values_;
};

}  // namespace muster::fleet
