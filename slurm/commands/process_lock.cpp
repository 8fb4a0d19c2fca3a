// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/process_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

ProcessLock try_lock(const std::filesystem::path& file) {
  ProcessLock result;
  result.lock = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!result.lock.is_open()) return result;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  if (::fcntl(result.lock.get(), F_SETLK, &lock) == 0) {
    static_cast<void>(::futimens(result.lock.get(), nullptr));  // since when
    result.holder = ProcessLock::Holder::ours;
    return result;
  }
  result.holder = ProcessLock::Holder::others;
  struct stat status = {};
  static_cast<void>(::fstat(result.lock.get(), &status));
  result.age = wall_time().time_since_epoch() - std::chrono::seconds(status.st_mtime);
  return result;
}

}  // namespace muster::app
