// SPDX-License-Identifier: Apache-2.0
#include "lib/state/left_behind.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "lib/base/descriptor.hpp"

namespace muster {
namespace {

std::filesystem::path note_of(const std::filesystem::path& state_file) {
  return state_file.parent_path() / "left_behind";
}

bool something_hangs(const Snapshot& snapshot) {
  bool hangs =
      std::ranges::any_of(snapshot.mounts->mounts, &Mount::hung) ||
      std::ranges::any_of(snapshot.nvml->gpus, [](const Gpu& gpu) { return !gpu.stuck.empty(); });
  for_each_section(snapshot, [&](Probe /*probe*/, const auto& section) {
    hangs = hangs || section.status == Status::timeout;
  });
  return hangs;
}

}  // namespace

bool nothing_left_behind(const std::filesystem::path& state_file) {
  return ::access(note_of(state_file).c_str(), F_OK) != 0 &&
         ::access(state_file.parent_path().c_str(), W_OK) == 0;
}

void note_left_behind(const std::filesystem::path& state_file, const Snapshot& snapshot) {
  const std::string note = note_of(state_file).string();
  if (something_hangs(snapshot)) {
    const Descriptor made(
        ::open(note.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  } else if (snapshot.mounts.ok() && snapshot.nvml.asked()) {
    ::unlink(note.c_str());
  }
}

}  // namespace muster
