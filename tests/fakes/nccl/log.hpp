// SPDX-License-Identifier: Apache-2.0
// What the fake NCCL writes to its log, line for line as the real one does.
#pragma once

#include <string>
#include <string_view>

#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

// Who writes.
struct Writer {
  int rank = 0;
  int ranks = 1;
  int gpu = 0;
};

void log_warning(const Writer& writer, std::string_view text);
// When a rank comes to a communicator.
void log_arrival(const Writer& writer);
// While a communicator begins: the network, and that it is complete.
void log_begin(const Writer& writer);
// At the first operation: how the ranks are connected.
void log_connections(const Writer& writer);
// At every operation, where TUNING is asked for.
void log_operation(const Writer& writer, std::string_view name, std::uint64_t bytes);

// The environment is read at the first line, and again at the first after this.
void forget_log_settings();

}  // namespace muster::fakes::gpu
