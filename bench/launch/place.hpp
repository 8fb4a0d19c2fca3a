// SPDX-License-Identifier: Apache-2.0
// Who am I among how many: from the command line, or from what launchers put into the environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets/sockets.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

using Variables = std::map<std::string, std::string>;

enum class Launcher { flags, torchrun, open_mpi, hydra, pmix, slurm, tf_config, alone };

[[nodiscard]] std::string_view to_string(Launcher launcher);
// The inverse: what --launch takes.
[[nodiscard]] Result<Launcher> parse_launcher(std::string_view name);

// Where rank 0 listens.
using Rendezvous = Endpoint;

// Added to a port that is somebody else's: that of torchrun's own store, of TensorFlow's servers.
inline constexpr std::uint16_t kPortOffset = 97;

struct LaunchFlags {
  std::optional<Launcher> launcher;  // --launch: this one, whatever else is there
  std::optional<int> rank, world;    // --rank, --world
  std::optional<Rendezvous> rendezvous;
  std::uint16_t port_offset = kPortOffset;
};

struct Place {
  Launcher launcher = Launcher::alone;
  int rank = 0;
  int world = 1;
  std::optional<int> local_rank;  // among those of this node
  std::optional<int> local_world;
  std::optional<Rendezvous> rendezvous;  // where the environment names one
  bool mpi = false;                      // started so that MPI_Init works
  std::vector<std::string> evidence;     // what was recognised and why, a sentence each
};

// Order of trust: flags, RANK with WORLD_SIZE and MASTER_ADDR, OMPI_*, PMI and PMIx, SLURM_*,
// TF_CONFIG, a single process. Contradicting sizes and malformed numbers are errors that name the
// variable.
[[nodiscard]] Result<Place> find_place(const Variables& variables, const LaunchFlags& flags);

}  // namespace muster::bench
