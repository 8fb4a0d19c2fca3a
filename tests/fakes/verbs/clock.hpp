// SPDX-License-Identifier: Apache-2.0
// Replaces the host's steady clock: during transfers of a thread, that thread's clock shows the
// fake's time, and otherwise continues as the host's. It replaces clock_gettime in programs that
// are linked with this library or preload it.
#pragma once

#include <cstdint>

namespace muster::fakes::verbs {

// Nanoseconds, of the calling thread.
[[nodiscard]] double clock_now();
void clock_begin();               // one more transfer is under way
void clock_advance(double when);  // to then, if that is later
void clock_end(std::uint32_t transfers);

}  // namespace muster::fakes::verbs
