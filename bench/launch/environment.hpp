// SPDX-License-Identifier: Apache-2.0
// Launchers' environment variables: empty ones count as unset, numbers are whole. Also the
// rendezvous for launchers that provide none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(&variables) {}

  // Empty if it is not set.
  [[nodiscard]] std::string_view text(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }

  // Those of `names` that are not set.
  [[nodiscard]] std::vector<std::string_view> missing(
      const std::vector<std::string_view>& names) const;

  // A whole number from 0 to 2^24; empty if it is not set.
  [[nodiscard]] Result<std::optional<int>> number(std::string_view name) const;
  // The same, and an error if it is not set.
  [[nodiscard]] Result<int> required(std::string_view name) const;
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

// Reads the variables and checks them against each other.
[[nodiscard]] Result<Place> read_place(const Environment& environment, const SizeNames& names);

// Checks that the ranks are below the sizes.
[[nodiscard]] Result<void> check_place(const Place& place, const SizeNames& names);

// A port from 10000 to 29999 (below the ephemeral ports) that depends on the job only.
[[nodiscard]] std::uint16_t port_of_job(std::string_view job);

// The sum, or the difference if the sum is not a port.
[[nodiscard]] std::uint16_t shifted_port(std::uint16_t port, std::uint16_t offset);

// Sets where the ranks of an MPI launcher meet without MPI: at MASTER_ADDR, Azure Batch's master
// node, or on loopback if all are on this node. Adds to the evidence.
[[nodiscard]] Result<void> add_mpi_rendezvous(const Environment& environment, Place& place);

}  // namespace muster::bench
