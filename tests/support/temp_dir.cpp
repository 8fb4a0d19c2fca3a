// SPDX-License-Identifier: Apache-2.0
#include "tests/support/temp_dir.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace muster {

namespace fs = std::filesystem;

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "muster-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a directory left behind in /tmp must not fail the test
  fs::remove_all(path_, ignored);
}

void TempDir::write(std::string_view relative, std::string_view content) const {
  const fs::path file = path_ / relative;
  fs::create_directories(file.parent_path());
  fs::remove_all(file);
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out) std::abort();
}

void TempDir::link(std::string_view relative, std::string_view target) const {
  const fs::path file = path_ / relative;
  fs::create_directories(file.parent_path());
  fs::remove_all(file);
  fs::create_symlink(fs::path(target), file);
}

void TempDir::remove(std::string_view relative) const { fs::remove_all(path_ / relative); }

}  // namespace muster
