// SPDX-License-Identifier: Apache-2.0
// XIDs over the runs of muster: which job each happened to, and what the kernel's log has lost.
#pragma once

#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/node/xid.hpp"

namespace muster {

// The Slurm job that an event happened to, empty where that is not known: the job of its process,
// where NVML still shows it, else the job that ends here and now, if the event is from its time.
[[nodiscard]] std::string job_of(const Snapshot& snapshot, const XidEvent& event);

// Under which name a GPU is remembered: its UUID by NVML or by the log, empty where neither tells.
[[nodiscard]] std::string uuid_of(const Snapshot& snapshot, const XidLog& log,
                                  const std::string& address);

// Adds the events that are remembered of this boot and that the log no longer has; those that
// programs wrote too where `of_programs`.
void add_remembered(const Snapshot& snapshot, XidLog& log, bool of_programs = false);

// What the next run shall know.
void remember_xids(Earlier& state, const Snapshot& snapshot, bool of_programs = false);
void remember_job(Earlier& state, const Snapshot& snapshot);

}  // namespace muster
