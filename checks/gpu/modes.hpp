// SPDX-License-Identifier: Apache-2.0
// Modes that take force with the next reset only: what is on now, and what will be.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/shared/gpus.hpp"

namespace muster::checks::gpu {

// A mode that is not as expected, or will not be.
[[nodiscard]] inline std::optional<Finding> judge_mode(const Gpu& gpu,
                                                       std::string_view mode,
                                                       const Fact<bool>& now,
                                                       const Fact<bool>& pending,
                                                       bool expected) {
  if (!now) return not_told(gpu, fmt::format("the {} mode", mode), now);
  const auto word = [](bool on) { return on ? "on" : "off"; };
  std::string message;
  if (*now != expected) {
    message = fmt::format("{} is {}, expected {}", mode, word(*now), word(expected));
  } else if (pending.value_or(expected) != expected) {
    message = fmt::format(
        "{} is {} and will be {} after the next reset", mode, word(expected), word(!expected));
  } else {
    return std::nullopt;
  }
  return failed(gpu, std::move(message), Remedy::fix_config, {!expected, expected});
}

}  // namespace muster::checks::gpu
