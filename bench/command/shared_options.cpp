// SPDX-License-Identifier: Apache-2.0
#include "bench/command/shared_options.hpp"

#include "lib/profile/load.hpp"

namespace muster::bench {

Result<void> add_setting(std::vector<std::string>& target,
                         std::string_view value,
                         std::string_view example) {
  if (!well_formed_setting(value)) {
    return make_error(
        fmt::format("expects KEY=VALUE{}, got \"{}\"", example, printable(value, 80)));
  }
  target.emplace_back(value);
  return {};
}

Result<void> take_rate(std::optional<BytesPerSecond>& target, std::string_view value) {
  const auto rate = parse_quantity<BytesPerSecondKind>(value);
  if (rate && rate->value <= 0) return make_error("expects a rate above zero");
  return put(target, rate);
}

}  // namespace muster::bench
