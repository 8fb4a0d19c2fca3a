// SPDX-License-Identifier: Apache-2.0
#include "tests/support/temp_dir.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {

namespace fs = std::filesystem;

namespace {

// Uses memory if there is enough, since thousands of small files take minutes on a busy disk.
// Containers often have only 64 MB. TMPDIR overrides it.
fs::path default_parent() {
  constexpr const char* kMemory = "/dev/shm";
  struct statvfs status = {};
  constexpr std::uint64_t kEnough = 2ULL << 30U;
  const bool usable = std::getenv("TMPDIR") == nullptr && ::access(kMemory, W_OK | X_OK) == 0 &&
                      ::statvfs(kMemory, &status) == 0 && (status.f_flag & ST_NOEXEC) == 0 &&
                      status.f_bavail * status.f_frsize >= kEnough;
  return usable ? fs::path(kMemory) : fs::temp_directory_path();
}

}  // namespace

TempDir::TempDir() : TempDir(default_parent()) {}

TempDir::TempDir(const fs::path& parent) {
  std::string pattern = (parent / "muster-test-XXXXXX").string();
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

void TempDir::write_program(std::string_view relative, std::string_view content) const {
  write(relative, content);
  fs::permissions(path_ / relative, fs::perms(0755));
}

void TempDir::link(std::string_view relative, std::string_view target) const {
  const fs::path file = path_ / relative;
  fs::create_directories(file.parent_path());
  fs::remove_all(file);
  fs::create_symlink(fs::path(target), file);
}

void TempDir::remove(std::string_view relative) const { fs::remove_all(path_ / relative); }

std::string TempDir::read(std::string_view relative) const {
  std::ifstream file(path_ / relative, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace muster
