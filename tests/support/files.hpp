// SPDX-License-Identifier: Apache-2.0
// The contents of files, and the output of commands.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// Empty if the file does not exist. Reading a file of /proc fails if its process ends meanwhile; an
// iterator of the stream would then throw.
inline std::string content_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

// A file of the source tree, which must be there.
inline std::string source_file(std::string_view name) {
  const auto file = std::filesystem::path(MUSTER_SOURCE_DIR) / name;
  EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
  return content_of(file);
}

// The standard output of a command of the shell.
inline std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t length = std::fread(part.data(), 1, part.size(), pipe.get())) {
    text.append(part.data(), length);
  }
  return text;
}

}  // namespace muster
