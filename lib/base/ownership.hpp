// SPDX-License-Identifier: Apache-2.0
// Whose files and folders are: what root writes to must not be of somebody else's choice.
#pragma once

#include <filesystem>

#include "lib/base/result.hpp"

namespace muster {

// An error where others than this user and root could put files of their choice into `folder`, and
// says what to do. A folder that is not there yet is fine.
[[nodiscard]] Result<void> check_own_folder(const std::filesystem::path& folder);

// An error where `file` is there and is a link or somebody else's than this user's and root's.
[[nodiscard]] Result<void> check_own_file(const std::filesystem::path& file);

// The first link on the way to `path`, itself included, that belongs to neither this user nor root;
// empty for none, and where the way ends.
[[nodiscard]] std::filesystem::path others_link(const std::filesystem::path& path);

}  // namespace muster
