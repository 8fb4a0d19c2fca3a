// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/process_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

#include "lib/base/clock.hpp"
#include "lib/base/ownership.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

ProcessLock try_lock(const std::filesystem::path& file) {
  ProcessLock result;
  // In a folder of others it could be a link of theirs.
  if (!check_own_folder(file.parent_path())) return result;
  result.lock = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!result.lock.is_open()) return result;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  if (::fcntl(result.lock.get(), F_SETLK, &lock) == 0) {
    static_cast<void>(::futimens(result.lock.get(), nullptr));  // since when
    result.holder = ProcessLock::Holder::ours;
    return result;
  }
  if (errno != EAGAIN && errno != EACCES) return result;  // a file system without locks
  result.holder = ProcessLock::Holder::others;
  struct stat status = {};
  static_cast<void>(::fstat(result.lock.get(), &status));
  result.age = wall_time().time_since_epoch() - std::chrono::seconds(status.st_mtime);
  return result;
}

ProcessLock wait_for_lock(const std::filesystem::path& file, Clock::time_point end) {
  constexpr std::chrono::milliseconds kPause{10};
  auto lock = try_lock(file);
  while (lock.holder == ProcessLock::Holder::others && Clock::now() + kPause < end) {
    std::this_thread::sleep_for(kPause);
    lock = try_lock(file);
  }
  return lock;
}

}  // namespace muster::app
