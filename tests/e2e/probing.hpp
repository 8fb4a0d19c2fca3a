// SPDX-License-Identifier: Apache-2.0
// One probe at a time, in a child with a deadline of its own: its section is put into a snapshot in
// place of what stood there.
#pragma once

#include <chrono>
#include <string>

#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"

namespace muster::e2e {

// Empty, or how the probe came to a bad end ("killed by signal 11"). A missed deadline is not one:
// it makes the section `timeout`.
[[nodiscard]] std::string reprobe(const Root& root, Probe probe, const Wanted& wanted,
                                  std::chrono::milliseconds deadline, Snapshot& snapshot);

}  // namespace muster::e2e
