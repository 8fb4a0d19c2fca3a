// SPDX-License-Identifier: Apache-2.0
// The host's steady clock as it would be if the fake HCAs were real: while transfers of a thread
// are under way that thread's clock shows the fake's time, and otherwise goes on as the host's
// does. It replaces clock_gettime in programs that are linked with this library or into which
// LD_PRELOAD brings it; others see the host's own.
#pragma once

#include <cstdint>

namespace muster::fakes::verbs {

// Nanoseconds. All of it is the calling thread's.
[[nodiscard]] double clock_now();
void clock_begin();               // one more transfer is under way
void clock_advance(double when);  // to then, if that is later
void clock_end(std::uint32_t transfers);

}  // namespace muster::fakes::verbs
