// SPDX-License-Identifier: Apache-2.0
// What muster remembers between runs on one node: one file, private to root, locked while it is
// read or written, replaced by rename. Its form is muster.state/1; corrupt or foreign state is put
// aside and said once.
#pragma once

#include <filesystem>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

// Never fails: what cannot be used is said in `note`. A file of another boot keeps nothing.
[[nodiscard]] Earlier read_state(const std::filesystem::path& file, std::string_view boot_id);

// Adds to the tasks that are stuck now since when `snapshot.earlier` knows them to be.
void recall_stuck_tasks(Snapshot& snapshot);

// Merges what `snapshot` saw into the file; XIDs that programs wrote too where `xids_of_programs`.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& file,
                                       const Snapshot& snapshot,
                                       bool xids_of_programs = false);

// Whether there is no note, in a folder that could hold one, that something hung in an earlier run
// and a child may still hang with it: then nobody need look through all processes for one.
[[nodiscard]] bool nothing_left_behind(const std::filesystem::path& state_file);

}  // namespace muster
