// SPDX-License-Identifier: Apache-2.0
// Where the ranks meet, for launchers that have no address of their own for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/launch/environment.hpp"
#include "bench/launch/place.hpp"

namespace muster::bench {

// A port from 10000 to 29999, below those that the kernel gives away, the same for all who name the
// same job.
[[nodiscard]] std::uint16_t port_of_job(std::string_view job);

// `port` and `offset` added; subtracted where that would be no port any more.
[[nodiscard]] std::uint16_t beside(std::uint16_t port, std::uint16_t offset);

// Where ranks that an MPI launcher started meet without MPI: MASTER_ADDR, Azure Batch's variables,
// or this node where all of them are on it. Adds to the evidence.
[[nodiscard]] Result<void> add_mpi_rendezvous(const Environment& environment, Place& place);

}  // namespace muster::bench
