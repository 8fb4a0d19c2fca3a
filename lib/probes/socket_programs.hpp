// SPDX-License-Identifier: Apache-2.0
// Which processes have which sockets open, from the links in proc/<pid>/fd.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster {

// Names of processes by the inode of a socket.
using SocketPrograms = std::map<std::uint64_t, std::vector<std::string>>;

// A process whose files may not be seen is an error: only root sees those of all.
[[nodiscard]] Result<SocketPrograms> read_socket_programs(const Root& root);

}  // namespace muster
