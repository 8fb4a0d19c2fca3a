// SPDX-License-Identifier: Apache-2.0
#include "fleet/values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

static_assert(std::endian::native == std::endian::little, "reading.vals is little-endian");

std::int64_t sum_of_positions(const std::vector<Position>& positions) {
  std::string text;
  for (const auto& each : positions) {
    for (const auto* part : {&each.quantity, &each.device, &each.unit, &each.conditions}) {
      append_with_size(text, *part);
    }
  }
  return sum_of(text);
}

// The numbers of a check in the key "values" of a report.
struct NumbersOfCheck {
  ValuesBuilder& values;
  std::string_view check;
  std::string unit = {};
};

void read_json(const JsonReader& by_device, NumbersOfCheck& numbers) {
  by_device.each_member([&](std::string_view device, const JsonReader& json) {
    double number = 0;
    json.read(number);
    numbers.values.add(numbers.check, device, numbers.unit, number);
  });
}

}  // namespace

std::string printable_name(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_plain && text.size() <= kLongestName ? std::string(text)
                                                 : printable(text, kLongestName);
}

thread_local std::shared_ptr<const Layout> ValuesBuilder::last_layout;

void ValuesBuilder::add(std::string_view quantity, std::string_view device, std::string_view unit,
                        double number, std::string_view conditions) {
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  if (!fits && out_of_range_.empty()) out_of_range_ = printable_name(quantity);
  const auto value = fits ? static_cast<float>(number) : 0;
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  const auto place = count_++;
  if (known_ != nullptr) {
    const auto& positions = known_->positions;
    const bool is_known = place < positions.size() && positions[place].quantity == quantity &&
                          positions[place].device == device && positions[place].unit == unit &&
                          positions[place].conditions == conditions;
    if (is_known) return;
    leave_known(place);
  }
  positions_.push_back({printable_name(quantity), printable_name(device), printable_name(unit),
                        printable_name(conditions)});
}

Result<Values> ValuesBuilder::take() {
  if (!out_of_range_.empty()) return make_error("{}: a number is out of range", out_of_range_);
  if (count_ == 0) return Values();
  if (known_ != nullptr && count_ < known_->positions.size()) leave_known(count_);
  if (known_ == nullptr) {
    const auto sum = sum_of_positions(positions_);
    known_ = std::make_shared<const Layout>(Layout{sum, std::move(positions_)});
    last_layout = known_;
  }
  return Values{std::move(known_), std::move(bytes_)};
}

void ValuesBuilder::leave_known(std::size_t place) {
  positions_.assign(known_->positions.begin(),
                    known_->positions.begin() + static_cast<std::ptrdiff_t>(place));
  known_.reset();
}

void read_json(const JsonReader& by_check, ValuesBuilder& values) {
  by_check.each_member([&](std::string_view check, const JsonReader& json) {
    NumbersOfCheck numbers{.values = values, .check = check};
    json.member("unit", numbers.unit);
    json.member("by_device", numbers);
  });
}

}  // namespace muster::fleet
