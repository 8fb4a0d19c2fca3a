// SPDX-License-Identifier: Apache-2.0
// The state file (muster.state/1) keeps observations between runs on a node. It is private to root,
// locked for writing and replaced by rename. An invalid file is moved away and reported once.
#pragma once

#include <filesystem>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

// Reads the file. Problems are reported in `note`. Only XIDs and jobs are kept from another boot.
[[nodiscard]] Earlier read_state(const std::filesystem::path& file, std::string_view boot_id);

// Fills in since when current tasks have been stuck, from `snapshot.earlier`.
void recall_stuck_tasks(Snapshot& snapshot);

// Merges `snapshot` into the file, with `xids_of_programs` also XIDs that programs wrote.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& file, const Snapshot& snapshot,
                                       bool xids_of_programs = false);

// Whether no child of an earlier run can still hang: the folder has no note of one, and could have
// one. Then processes need not be searched.
[[nodiscard]] bool nothing_left_behind(const std::filesystem::path& state_file);

}  // namespace muster
