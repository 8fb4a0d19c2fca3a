// SPDX-License-Identifier: Apache-2.0
// Remembers XIDs between runs: the job of each, and those that the kernel log has lost.
#pragma once

#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/node/xid.hpp"

namespace muster {

// Returns the Slurm job of an event: the job of its process, if NVML still shows it, else the job
// that is ending now, if the event happened during it. Empty if unknown.
[[nodiscard]] std::string job_of(const Snapshot& snapshot, const XidEvent& event);

// The UUID of a GPU from NVML or the log; empty if unknown.
[[nodiscard]] std::string uuid_of(const Snapshot& snapshot, const XidLog& log,
                                  const std::string& address);

// Adds remembered events of this boot that the log has lost, with `of_programs` also those that
// programs wrote.
void add_remembered(const Snapshot& snapshot, XidLog& log, bool of_programs = false);

// Store XIDs and the current job for later runs.
void remember_xids(Earlier& state, const Snapshot& snapshot, bool of_programs = false);
void remember_job(Earlier& state, const Snapshot& snapshot);

}  // namespace muster
