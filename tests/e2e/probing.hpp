// SPDX-License-Identifier: Apache-2.0
// Runs one probe in a child with its own deadline and puts its section into a snapshot.
#pragma once

#include <chrono>
#include <string>

#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"

namespace muster::e2e {

// Returns how the probe crashed ("killed by signal 11"), or nothing. A missed deadline is not a
// crash: the section is `timeout`.
[[nodiscard]] std::string reprobe(const Root& root, Probe probe, const Wanted& wanted,
                                  std::chrono::milliseconds deadline, Snapshot& snapshot);

}  // namespace muster::e2e
