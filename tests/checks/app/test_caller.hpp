// SPDX-License-Identifier: Apache-2.0
// Runs commands in tests: parses command lines.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/text.hpp"
#include "tests/support/test_caller.hpp"

namespace muster::app {

// The words of a command line without quotes; '' is an empty word.
inline std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const auto word : split_words(line)) words.emplace_back(word == "''" ? "" : word);
  return words;
}

inline Result<Invocation> parse_line(std::string_view line) {
  const auto words = words_of(line);
  std::vector<const char*> arguments;
  for (const auto& word : words) arguments.push_back(word.c_str());
  return parse(arguments);
}

// The parsed command; its defaults if the command line is refused.
template <class Command>
Command parsed(std::string_view line) {
  const auto result = parse_line(line);
  EXPECT_TRUE(result) << result.error().message;
  const auto* command = result ? std::get_if<Command>(&*result) : nullptr;
  EXPECT_NE(command, nullptr) << line;
  return command == nullptr ? Command{} : *command;
}

}  // namespace muster::app
