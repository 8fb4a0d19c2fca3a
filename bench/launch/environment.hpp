// SPDX-License-Identifier: Apache-2.0
// The variables of this process as launchers mean them: empty ones are not set, numbers are whole.
// And where the ranks meet, for launchers that have no address of their own for it.
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

  // Empty where it is not set.
  [[nodiscard]] std::string_view text(std::string_view name) const;

  [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }

  // The ones among `names` that are not set.
  [[nodiscard]] std::vector<std::string_view> missing(
      const std::vector<std::string_view>& names) const;

  // A whole number from 0 to 2^24; an error names the variable. Nothing where it is not set.
  [[nodiscard]] Result<std::optional<int>> number(std::string_view name) const;
  // The number in a variable that is known to be set.
  [[nodiscard]] Result<int> needed(std::string_view name) const;
  // 1 to 65535; `otherwise` where it is not set.
  [[nodiscard]] Result<std::uint16_t> port(std::string_view name, std::uint16_t otherwise) const;

 private:
  const Variables* variables_;
};

// "RANK=1".
[[nodiscard]] std::string setting(const Environment& environment, std::string_view name);

// The names of the variables that state these, for messages.
struct SizeNames {
  std::string_view rank, world;
  std::string_view local_rank = {}, local_world = {};
};

// Rank and sizes from variables of these names, checked against each other.
[[nodiscard]] Result<Place> read_place(const Environment& environment, const SizeNames& names);

// Whether those parts of `place` that are set fit together: rank below world, local below global.
[[nodiscard]] Result<void> check_place(const Place& place, const SizeNames& names);

// A port from 10000 to 29999, below those that the kernel gives away, the same for all who name the
// same job.
[[nodiscard]] std::uint16_t port_of_job(std::string_view job);

// `port` and `offset` added; subtracted where that would be no port any more.
[[nodiscard]] std::uint16_t beside(std::uint16_t port, std::uint16_t offset);

// Where ranks that an MPI launcher started meet without MPI: MASTER_ADDR, Azure Batch's variables,
// or this node where all of them are on it. Adds to the evidence.
[[nodiscard]] Result<void> add_mpi_rendezvous(const Environment& environment, Place& place);

}  // namespace muster::bench
