// SPDX-License-Identifier: Apache-2.0
// Launchers' environment variables, and the detection of each launcher by them, independently of
// the others. Empty variables count as unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Ends the messages about a variable.
inline constexpr std::string_view kLaunchRemedy =
    "correct or unset it, or name the launcher with --launch";

class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(&variables) {}

  // Empty if it is not set.
  [[nodiscard]] std::string_view text(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }

  // Returns the names that are not set.
  [[nodiscard]] std::vector<std::string_view> missing(
      const std::vector<std::string_view>& names) const;

  // A whole number from 0 to 2^24; empty if it is not set.
  [[nodiscard]] Result<std::optional<int>> number(std::string_view name) const;
  // 1 to 65535; `otherwise` if it is not set.
  [[nodiscard]] Result<std::uint16_t> port(std::string_view name, std::uint16_t otherwise) const;

 private:
  const Variables* variables_;
};

// "RANK=1".
[[nodiscard]] std::string setting(const Environment& environment, std::string_view name);

// The names of the variables with these numbers.
struct SizeNames {
  std::string_view rank, world;
  std::string_view local_rank = {}, local_world = {};
};

// Reads the variables, of which rank and world must be set, and checks them against each other.
[[nodiscard]] Result<Place> read_place(const Environment& environment, const SizeNames& names);

// Checks that the ranks are below the sizes.
[[nodiscard]] Result<void> check_place(const Place& place, const SizeNames& names);

// One launcher, as the environment describes it.
struct Detection {
  Launcher launcher = Launcher::alone;
  std::string seen;                       // "RANK=1 of WORLD_SIZE=2"; empty if nothing is set
  std::vector<std::string_view> missing;  // required variables that are not set
  std::string unsuited;                   // why it is not the launcher although all are set
  Result<Place> place{Place{}};           // valid if nothing is missing

  [[nodiscard]] bool suited() const { return !seen.empty() && missing.empty() && unsuited.empty(); }
};

[[nodiscard]] Detection detect_torchrun(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_open_mpi(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_hydra(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_pmix(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_slurm(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_tf_config(const Environment& environment, const LaunchFlags& flags);

// The tasks of each node in Slurm's notation: "2(x3),1" is 2, 2, 2, 1. At most 65536 nodes.
[[nodiscard]] Result<std::vector<int>> parse_tasks_per_node(std::string_view text);

// A port from 10000 to 29999 (below the ephemeral ports) that depends on the job only.
[[nodiscard]] std::uint16_t port_of_job(std::string_view job);

// kPortOffset above the port, or below it if that is not a port.
[[nodiscard]] std::uint16_t shifted_port(std::uint16_t port);

}  // namespace muster::bench
