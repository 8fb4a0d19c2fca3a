// SPDX-License-Identifier: Apache-2.0
// A note, beside the state, that something hung and a child may still hang with it. Without it
// nobody need look through all processes for one.
#pragma once

#include <filesystem>

#include "lib/node/snapshot.hpp"

namespace muster {

// Whether there is no note, in a folder that could hold one.
[[nodiscard]] bool nothing_left_behind(const std::filesystem::path& state_file);

// Leaves the note where something hung in `snapshot`, and takes it away where all was asked and
// answered. A note that cannot be written is missed by the next run only.
void note_left_behind(const std::filesystem::path& state_file, const Snapshot& snapshot);

}  // namespace muster
