// SPDX-License-Identifier: Apache-2.0
#include "bench/command/shared_options.hpp"

#include <cctype>

#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::bench {
namespace {

// "128MiB" for "128M", as in nccl-tests and OSU.
std::string with_whole_unit(std::string_view value) {
  constexpr std::string_view kLetters = "KMGT";
  if (value.empty()) return "";
  const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(value.back())));
  const auto number = value.substr(0, value.size() - 1);
  if (kLetters.find(letter) == std::string_view::npos || !parse_number(trim(number)))
    return std::string(value);
  return fmt::format("{}{}iB", number, letter);
}

}  // namespace

Result<void> refuse_any(std::initializer_list<Refusal> refusals) {
  for (const auto& [is_so, message] : refusals) {
    if (is_so) return make_error(std::string(message));
  }
  return {};
}

Result<void> add_setting(std::vector<std::string>& target, std::string_view value,
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

Result<std::uint64_t> size_from(std::string_view given) {
  constexpr double kLargest = 1ULL << 50U;
  const auto value = with_whole_unit(given);
  const auto plain = parse_unsigned(value);
  const auto quantity =
      plain ? Result<Bytes>(Bytes{static_cast<double>(*plain)}) : parse_quantity<BytesKind>(value);
  if (!quantity) return tl::unexpected(quantity.error());
  if (quantity->value < 1 || quantity->value > kLargest) {
    return make_error(
        fmt::format("expects a size from 1 B to 1024 TiB, got \"{}\"", printable(value, 80)));
  }
  return static_cast<std::uint64_t>(quantity->value);
}

Result<void> take_size(std::optional<std::uint64_t>& target, std::string_view value) {
  return put(target, size_from(value));
}

}  // namespace muster::bench
