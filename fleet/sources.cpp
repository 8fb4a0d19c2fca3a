// SPDX-License-Identifier: Apache-2.0
#include "fleet/sources.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargest = 64UL << 20U;  // of a document
constexpr std::size_t kPiece = 256UL << 10U;

// Whether a line is a complete document, not the first line of an indented one.
bool is_document(std::string_view line) {
  return line.starts_with('{') && line.ends_with('}') &&
         read_json_text(line, [](const JsonReader& /*unread*/) {}).has_value();
}

bool is_wanted(const fs::directory_entry& entry) {
  std::error_code failure;
  const auto end = entry.path().extension();
  return (end == ".json" || end == ".jsonl") && entry.path().filename() != "journal.jsonl" &&
         entry.is_regular_file(failure);
}

}  // namespace

std::vector<NamedDocument> DocumentSource::next() {
  constexpr std::size_t kMost = 256;
  constexpr std::size_t kEnough = 8UL << 20U;
  std::vector<NamedDocument> documents;
  for (std::size_t size = 0; documents.size() < kMost && size < kEnough;) {
    if (!file_) {
      open_next();
      if (!file_) break;
    }
    auto text = next_text();
    if (!text) {
      unreadable_.push_back({file_->name, text.error().message});
      file_.reset();
      continue;
    }
    if (!*text) {
      file_.reset();
      continue;
    }
    const auto trimmed = trim(**text);
    if (trimmed.empty()) {
      // An empty list of documents is one, but a file without its document was cut off.
      if (!file_->by_line) unreadable_.push_back({file_->name, "the file is empty"});
      continue;
    }
    size += trimmed.size();
    documents.push_back(
        {.name = file_->by_line ? fmt::format("{}:{}", file_->name, file_->line) : file_->name,
         .run = file_->run,
         .text = trimmed.size() == (*text)->size() ? *std::move(*text) : std::string(trimmed)});
  }
  return documents;
}

void DocumentSource::open_next() {
  while (!file_) {
    std::error_code failure;
    if (folder_ != fs::recursive_directory_iterator()) {
      const auto entry = *folder_;
      // The iterator would end at a folder that it cannot list.
      if (entry.is_directory(failure) && ::access(entry.path().c_str(), R_OK | X_OK) != 0) {
        unreadable_.push_back({entry.path().string(), errno_text(errno)});
        folder_.disable_recursion_pending();
      }
      folder_.increment(failure);
      if (failure) unreadable_.push_back({entry.path().string(), failure.message()});
      if (is_wanted(entry)) open_file(entry.path());
      continue;
    }
    if (next_path_ == paths_.size()) return;
    const auto& path = paths_[next_path_++];
    if (path == "-" || !fs::is_directory(path, failure)) {
      open_file(path);
      continue;
    }
    folder_ = fs::recursive_directory_iterator(path, failure);
    if (failure) unreadable_.push_back({path, failure.message()});
  }
}

void DocumentSource::open_file(const fs::path& path) {
  OpenFile file{.name = path.string(), .run = run_of(path)};
  if (file.name == "-") {
    file.name = "standard input";
    file.descriptor = STDIN_FILENO;
  } else {
    file.opened = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    file.descriptor = file.opened.get();
  }
  if (file.descriptor < 0) {
    unreadable_.push_back({file.name, errno_text(errno)});
    return;
  }
  file_ = std::move(file);
  // The first line decides whether each line is a document.
  auto& open = *file_;
  for (bool more = true; more && open.buffer.find('\n') == std::string::npos;) {
    const auto read = read_more();
    more = read && *read && open.buffer.size() <= kLargest;
  }
  const auto first = std::string_view(open.buffer).substr(0, open.buffer.find('\n'));
  open.by_line = path.extension() == ".jsonl" || is_document(trim(first));
}

// False at the end of the file.
Result<bool> DocumentSource::read_more() {
  auto& file = *file_;
  if (file.at_end) return false;
  const auto before = file.buffer.size();
  file.buffer.resize(before + kPiece);
  const auto got = read_some(file.descriptor, file.buffer.data() + before, kPiece);
  file.buffer.resize(before + static_cast<std::size_t>(got < 0 ? 0 : got));
  if (got < 0) return os_error("read", printable(file.name), errno);
  file.at_end = got == 0;
  return !file.at_end;
}

Result<std::optional<std::string>> DocumentSource::next_text() {
  auto& file = *file_;
  if (file.by_line) return next_line();
  for (;;) {
    TRY_ASSIGN(const bool more, read_more());
    if (!more) break;
    if (file.buffer.size() > kLargest) {
      return make_error(fmt::format("more than {} bytes", kLargest));
    }
  }
  if (std::exchange(file.line, 1) == 1) return std::nullopt;
  return std::move(file.buffer);
}

Result<std::optional<std::string>> DocumentSource::next_line() {
  auto& file = *file_;
  auto end = file.buffer.find('\n', file.used);
  while (end == std::string::npos) {
    if (file.buffer.size() - file.used > kLargest) {
      return make_error(fmt::format("line {}: more than {} bytes", file.line + 1, kLargest));
    }
    file.buffer.erase(0, std::exchange(file.used, 0));
    const auto searched = file.buffer.size();
    TRY_ASSIGN(const bool more, read_more());
    if (!more && file.buffer.empty()) return std::nullopt;
    end = more ? file.buffer.find('\n', searched) : file.buffer.size();
  }
  ++file.line;
  auto text = file.buffer.substr(file.used, end - file.used);
  file.used = std::min(end + 1, file.buffer.size());
  return text;
}

// The id in the run.json of the folder of an acceptance: group/FILE, nodes/NODE/FILE.
std::string DocumentSource::run_of(const fs::path& file) {
  const auto own = file.parent_path();
  const auto known = runs_.find(own.string());
  if (known != runs_.end()) return known->second;
  std::string run;
  auto folder = own;
  for (int depth = 0; depth < 3 && run.empty(); ++depth, folder = folder.parent_path()) {
    std::error_code ignored;
    const auto path = fs::absolute(folder / "run.json", ignored);
    const auto text = Root().read(path.string(), kLargest);
    if (!text) continue;
    const auto read = read_json_text(*text, [&](const JsonReader& json) {
      std::string schema;
      json.member("schema", schema);
      if (schema == "muster.acceptance/1") json.member("id", run);
    });
    if (!read) run.clear();
  }
  return runs_[own.string()] = run;
}

}  // namespace muster::fleet
