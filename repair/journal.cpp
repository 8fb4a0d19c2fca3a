// SPDX-License-Identifier: Apache-2.0

#include "repair/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "lib/base/files.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/root.hpp"

namespace muster::repair {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestJournal = 256UL << 20U;

fs::path journal_file(const fs::path& folder) { return folder / "journal.jsonl"; }

Result<Descriptor> lock(const fs::path& folder) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto file = folder / "journal.lock";
  Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!opened.is_open()) return os_error("open", file.native(), errno);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return os_error("lock", file.native(), errno);
    if (std::chrono::steady_clock::now() > end) {
      return make_error(
          "{}: another `muster repair` or `muster claim` has held the "
          "lock for 30 s; try again when it has ended",
          file.string());
    }
    std::this_thread::sleep_for(kPause);
  }
  return opened;
}

// A crash may have cut off the last line. It is treated like any other damaged line.
Result<std::vector<RepairRecord>> parse_journal(std::string_view text, const fs::path& file) {
  std::vector<RepairRecord> records;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    auto record = from_json<RepairRecord>(text.substr(0, end));
    if (!record || end == std::string_view::npos) {
      return make_error(
          "{}:{}: a damaged record{}; an operation may be under way: find out what happened to the "
          "node, then correct or delete the line",
          file.string(), number, record ? "" : fmt::format(" ({})", record.error().message));
    }
    records.push_back(*std::move(record));
    text.remove_prefix(end + 1);
  }
  return records;
}

}  // namespace

Result<RepairJournal> RepairJournal::open(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder.parent_path(), failure);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return os_error("create", folder.native(), errno);
  }
  TRY(check_own_folder(folder));
  TRY_ASSIGN(auto locked, lock(folder));
  TRY_ASSIGN(auto records, read(folder));
  return RepairJournal(folder, std::move(locked), std::move(records));
}

Result<std::vector<RepairRecord>> RepairJournal::read(const fs::path& folder) {
  const auto file = journal_file(folder);
  if (::geteuid() == 0) TRY(check_no_others_link(file));
  const auto text = Root().read(file.native(), kLargestJournal);
  if (!text && text.error().missing) return std::vector<RepairRecord>{};
  if (!text) return tl::unexpected(text.error());
  return parse_journal(*text, file);
}

Result<void> RepairJournal::add(RepairRecord record) {
  const auto file = journal_file(folder_);
  const Descriptor opened(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!opened.is_open()) return os_error("open", file.native(), errno);
  const int failure = write_all(opened.get(), to_json_line(record) + "\n");
  if (failure != 0) return os_error("write", file.native(), failure);
  if (::fsync(opened.get()) != 0) return os_error("write", file.native(), errno);
  records_.push_back(std::move(record));
  return {};
}

}  // namespace muster::repair
