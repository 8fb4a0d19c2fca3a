// SPDX-License-Identifier: Apache-2.0
#include "fleet/values.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

static_assert(std::endian::native == std::endian::little, "reading.vals is little-endian");

void add_number(std::string& bytes, double number) {
  const auto value = static_cast<float>(number);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string printable_name(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_plain && text.size() <= kLongestName ? std::string(text)
                                                 : printable(text, kLongestName);
}

void ValuesBuilder::add(std::string_view quantity, std::string_view device, std::string_view unit,
                        double number, std::string conditions) {
  for (const auto text : {quantity, device, unit, std::string_view(conditions)}) {
    const auto size = static_cast<std::uint32_t>(text.size());
    spec_.append(reinterpret_cast<const char*>(&size), sizeof size);
    spec_ += text;
  }
  positions_.push_back({quantity, device, unit, std::move(conditions)});
  add_number(values_.bytes, number);
}

Values ValuesBuilder::take() {
  if (positions_.empty()) return {};
  thread_local std::unordered_map<std::int64_t, std::shared_ptr<const std::vector<Position>>> known;
  values_.layout = sum_of(spec_);
  auto& positions = known[values_.layout];
  if (positions == nullptr) positions = made();
  values_.positions = positions;
  return std::move(values_);
}

std::shared_ptr<const std::vector<Position>> ValuesBuilder::made() const {
  std::vector<Position> positions;
  for (const auto& each : positions_) {
    positions.push_back({printable_name(each.quantity), printable_name(each.device),
                         printable_name(each.unit), printable(each.conditions, kLongestMessage)});
  }
  return std::make_shared<const std::vector<Position>>(std::move(positions));
}

}  // namespace muster::fleet
