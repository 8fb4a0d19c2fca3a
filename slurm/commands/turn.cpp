// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/turn.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

Turn take_turn(const std::filesystem::path& file) {
  Turn turn;
  turn.lock = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!turn.lock.is_open()) return turn;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  if (::fcntl(turn.lock.get(), F_SETLK, &lock) == 0) {
    static_cast<void>(::futimens(turn.lock.get(), nullptr));  // since when
    turn.standing = Turn::Standing::ours;
    return turn;
  }
  turn.standing = Turn::Standing::others;
  struct stat status = {};
  static_cast<void>(::fstat(turn.lock.get(), &status));
  turn.age = wall_time().time_since_epoch() - std::chrono::seconds(status.st_mtime);
  return turn;
}

}  // namespace muster::app
