// SPDX-License-Identifier: Apache-2.0
// The log of the fake NCCL, in the format of the real one.
#pragma once

#include <string>
#include <string_view>

#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

// The rank that writes.
struct Writer {
  int rank = 0;
  int ranks = 1;
  int gpu = 0;
};

void log_warning(const Writer& writer, std::string_view text);
// When a rank arrives at a communicator.
void log_arrival(const Writer& writer);
// When a communicator is complete: the network.
void log_begin(const Writer& writer);
// At the first operation: the connections between ranks.
void log_connections(const Writer& writer);
// At every operation, if TUNING is enabled.
void log_operation(const Writer& writer, std::string_view name, std::uint64_t bytes);

// The next line reads the environment again.
void forget_log_settings();

}  // namespace muster::fakes::gpu
