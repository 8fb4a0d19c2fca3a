// SPDX-License-Identifier: Apache-2.0
// Finds and reads saved snapshots and reports.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/inspect.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

// Returns the *.json of a directory in order.
Result<std::vector<std::string>> json_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code failure;
  fs::directory_iterator entries(directory, failure);
  for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
    if (entries->path().extension() == ".json") files.push_back(entries->path().string());
  }
  if (failure) {
    return make_error(fmt::format("list {}: {}", printable(directory), failure.message()));
  }
  if (files.empty()) return make_error(fmt::format("no *.json in {}", printable(directory)));
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::vector<std::string>> snapshot_files(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const auto& each : named) {
    std::error_code failure;
    if (each == kStandardInput || !fs::is_directory(each, failure)) {
      files.push_back(each);
      continue;
    }
    const auto found = json_files(each);
    if (!found) return found;
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

Result<std::string> read_saved(const std::string& file) {
  constexpr std::size_t kLargest = 64UL * 1024 * 1024;
  const bool piped = file == kStandardInput;
  const Descriptor opened(piped ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!piped && !opened.is_open()) return os_error("read", file, errno);
  std::string text;
  if (const int code = read_all(piped ? STDIN_FILENO : opened.get(), text, kLargest); code != 0) {
    return os_error("read", file, code);
  }
  if (text.size() <= kLargest) return text;
  return make_error(fmt::format("read {}: more than {} bytes", file, kLargest));
}

Result<Snapshot> parse_saved(std::string_view text, std::string_view file) {
  auto snapshot = parse_snapshot(text);
  if (!snapshot) return make_error(fmt::format("{}: {}", file, snapshot.error().message));
  return snapshot;
}

}  // namespace muster::app
