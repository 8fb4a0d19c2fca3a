// SPDX-License-Identifier: Apache-2.0
// The values of a report and their layout.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/document.hpp"

namespace muster {
class JsonReader;
}

namespace muster::fleet {

// Names are kept whole, so that two nodes never become one.
inline constexpr std::size_t kLongestName = 64UL << 10U;
inline constexpr std::size_t kLongestMessage = 400;

// Makes a name printable, without cutting it.
[[nodiscard]] std::string printable_name(std::string_view text);

// Most reports that a thread parses have the same layout as the previous one, so positions are only
// compared.
class ValuesBuilder {
 public:
  void add(std::string_view quantity, std::string_view device, std::string_view unit, double number,
           std::string_view conditions = {});
  // An error if the store cannot hold one of the numbers.
  [[nodiscard]] Result<Values> take();

  bool operator==(const ValuesBuilder&) const = default;

 private:
  // Handles a layout whose positions differ from the known one from `place` on.
  void leave_known(std::size_t place);

  std::string bytes_;
  std::string out_of_range_;  // the first quantity whose number is too large
  std::size_t count_ = 0;
  std::shared_ptr<const Layout> known_ = last_layout;  // null once a position differs
  std::vector<Position> positions_;

  static thread_local std::shared_ptr<const Layout> last_layout;
};

// The key "values" of a report.
void read_json(const JsonReader& by_check, ValuesBuilder& values);

}  // namespace muster::fleet
