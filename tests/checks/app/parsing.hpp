// SPDX-License-Identifier: Apache-2.0
// Parses command lines in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "checks/app/commands.hpp"

namespace muster::app {

// The parsed command; its defaults if the command line is refused.
template <class Command>
Command parsed(const std::vector<const char*>& words) {
  const auto result = parse(words);
  EXPECT_TRUE(result) << result.error().message;
  const auto* command = result ? std::get_if<Command>(&*result) : nullptr;
  EXPECT_NE(command, nullptr);
  return command == nullptr ? Command{} : *command;
}

inline std::string refusal(const std::vector<const char*>& words) {
  const auto result = parse(words);
  return result ? "accepted" : result.error().message;
}

}  // namespace muster::app
