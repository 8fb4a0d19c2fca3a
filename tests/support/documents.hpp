// SPDX-License-Identifier: Apache-2.0
// Shared by tests of documents: the documents of the source tree and of the build (in
// MUSTER_DOCUMENTS), the output of shell commands, and what the completion offers.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "tests/support/files.hpp"

namespace muster {

inline std::string generated_file(std::string_view name) {
  const auto file = std::filesystem::path(MUSTER_DOCUMENTS) / name;
  EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
  return content_of(file);
}

// The standard output of a bash script.
inline std::string output_of_script(const std::string& script) {
  const auto quoted = std::regex_replace(script, std::regex("'"), "'\\''");
  return output_of(fmt::format("bash --norc -c '{}'", quoted));
}

inline std::string without_durations(const std::string& text) {
  return std::regex_replace(text, std::regex(" in [0-9.]+ ms"), " in N ms");
}

inline std::set<std::string> option_names(const CommandText& command) {
  std::set<std::string> names;
  for (const auto& option : command.options) {
    for (const auto name : split(option.name, ',')) names.emplace(name);
  }
  return names;
}

// The offers of the completion of `program` for the last of `words`. `listed`: the lines that
// `muster list` and `muster profiles` print, each in quotes.
inline std::set<std::string> completions(std::string_view program, std::string_view listed,
                                         std::string_view words) {
  const auto function = std::regex_replace(std::string(program), std::regex("-"), "_");
  const auto output =
      output_of_script(fmt::format("source {}/{}.bash\n"
                                   "muster() {{ printf \"%s\\n\" {}; }}\n"
                                   "COMP_WORDS=({})\n"
                                   "COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
                                   "_{}; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"",
                                   MUSTER_DOCUMENTS, program, listed, words, function));
  std::set<std::string> offers;
  for (const auto line : split_lines(output)) offers.emplace(line);
  return offers;
}

}  // namespace muster
