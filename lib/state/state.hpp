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

// Never fails: what cannot be used is said in `note`. Of another boot's file only XIDs and jobs are
// kept.
[[nodiscard]] Earlier read_state(const std::filesystem::path& file, std::string_view boot_id);

// Fills in since when the tasks that are stuck now have been so, as `snapshot.earlier` knows it.
void recall_stuck_tasks(Snapshot& snapshot);

// Merges what `snapshot` saw into the file; XIDs that programs wrote too where `xids_of_programs`.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& file, const Snapshot& snapshot,
                                       bool xids_of_programs = false);

// Whether no child of an earlier run can hang any more, because the file's folder could hold a note
// of one and does not: then nobody need look through all processes for one.
[[nodiscard]] bool nothing_left_behind(const std::filesystem::path& state_file);

}  // namespace muster
