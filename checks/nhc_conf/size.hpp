// SPDX-License-Identifier: Apache-2.0
// Amounts as NHC writes them: "1915071MB" (powers of 1024, kB where no unit is named), "10k" of
// inodes (powers of 1000), "5%", and "2%" or "512MB" as a tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::nhc {

// A whole number from 0 to `most`.
[[nodiscard]] Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t most);
// The bytes of a size as NHC writes it, in powers of 1024: "512MB"; a number alone is in kB.
[[nodiscard]] Result<double> parse_size(std::string_view text);
// A number of inodes, in powers of 1000: "10k".
[[nodiscard]] Result<double> parse_count(std::string_view text);

// A share in percent, or an absolute amount.
struct Amount {
  double value = 0;
  bool percent = false;

  bool operator==(const Amount&) const = default;
};

using ParseAmount = Result<double> (*)(std::string_view);
[[nodiscard]] Result<Amount> parse_amount(std::string_view text, ParseAmount parse);

}  // namespace muster::nhc
