// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, from the command line or the launcher's environment variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets/sockets.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

using Variables = std::map<std::string, std::string>;

enum class Launcher { flags, torchrun, open_mpi, hydra, pmix, slurm, tf_config, alone };
MUSTER_WORDS(Launcher, "flags", "torchrun", "open_mpi", "hydra", "pmix", "slurm", "tf_config",
             "alone");
using muster::to_string;
// The values of --launch.
[[nodiscard]] Result<Launcher> parse_launcher(std::string_view name);

// Where rank 0 listens.
using Rendezvous = Endpoint;

// Added to a port that is in use, by torchrun's store or TensorFlow's servers.
inline constexpr std::uint16_t kPortOffset = 97;

struct LaunchFlags {
  std::optional<Launcher> launcher;  // --launch
  std::optional<int> rank, world;    // --rank, --world
  std::optional<Rendezvous> rendezvous;
};

struct Place {
  Launcher launcher = Launcher::alone;
  int rank = 0;
  int world = 1;
  std::optional<int> local_rank;  // on this node
  std::optional<int> local_world;
  std::optional<Rendezvous> rendezvous;  // if the environment names one
  bool mpi = false;                      // whether MPI_Init works
  std::vector<std::string> evidence;     // what was detected and why, as sentences
};

// In this order: flags, RANK with WORLD_SIZE and MASTER_ADDR, OMPI_*, PMI and PMIx, SLURM_*,
// TF_CONFIG, a single process. The flags must fit together. Contradictory sizes and malformed
// numbers of the environment are errors that name the variable.
[[nodiscard]] Result<Place> find_place(const Variables& variables, const LaunchFlags& flags);

}  // namespace muster::bench
