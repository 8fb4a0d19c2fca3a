// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/last_look.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

constexpr std::string_view kKeptOut = "kept out\n";

// A file name that contains the node's name.
std::string file_name(std::string_view node) {
  auto name = fmt::format("{}.seen", printable(node, 100));
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace

LastLook::LastLook(const std::filesystem::path& folder, std::string_view node)
    : file_(folder / file_name(node)) {}

std::optional<LastLook::Look> LastLook::last() const {
  const auto text = read();
  const auto words = split_words(text ? *text : std::string_view());
  if (words.size() != 2) return std::nullopt;
  const auto at = parse_time(words[1]);
  return at ? std::optional(Look{.boot_id = std::string(words[0]), .at = *at}) : std::nullopt;
}

bool LastLook::is_recent(std::string_view boot_id, Time now) const {
  return is_recent(now) && last()->boot_id == (boot_id.empty() ? "-" : boot_id);
}

bool LastLook::is_recent(Time now) const {
  const auto look = last();
  return look && look->at <= now && now - look->at < kLasts;
}

Result<void> LastLook::note(std::string_view boot_id, Time now) const {
  return write(
      fmt::format("{} {}\n", boot_id.empty() ? "-" : boot_id, now.time_since_epoch().count()));
}

void LastLook::forget() const {
  std::error_code absent;
  if (!is_kept_out()) std::filesystem::resize_file(file_, 0, absent);
}

bool LastLook::is_new() const {
  const auto text = read();
  return text ? *text == kKeptOut : text.error().missing;
}

bool LastLook::is_kept_out() const {
  const auto text = read();
  return text && *text == kKeptOut;
}

Result<void> LastLook::note_kept_out() const { return write(kKeptOut); }

void LastLook::forget_kept_out() const {
  if (is_kept_out()) static_cast<void>(::unlink(file_.c_str()));
}

Result<std::string> LastLook::read() const {
  constexpr std::size_t kMaxBytes = 200;
  const Descriptor file(
      ::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return file_error("open", file_.native(), errno);
  return read_file(file, file_.native(), kMaxBytes);
}

Result<void> LastLook::write(std::string_view text) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const Descriptor file(::open(file_.c_str(), kFlags, 0600));
  if (!file.is_open()) return os_error("open", file_.native(), errno);
  const int failure = write_all(file.get(), text);
  if (failure != 0) return os_error("write", file_.native(), failure);
  return {};
}

}  // namespace muster::slurm
