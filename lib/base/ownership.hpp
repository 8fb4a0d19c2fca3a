// SPDX-License-Identifier: Apache-2.0
// Whose files and folders are: what root writes to must not be of somebody else's choice.
#pragma once

#include <filesystem>

#include "lib/base/result.hpp"

namespace muster {

// An error, which says what to do, where others than this user and root could put files of their
// choice into `folder`. A folder that is not there yet is fine.
[[nodiscard]] Result<void> check_own_folder(const std::filesystem::path& folder);

// An error where `file` is a link, or belongs to neither this user nor root. A file that is not
// there is fine.
[[nodiscard]] Result<void> check_own_file(const std::filesystem::path& file);

// The first link on the way to `path`, itself included, that belongs to neither this user nor root;
// empty for none. The search ends at the first part of the path that does not exist.
[[nodiscard]] std::filesystem::path others_link(const std::filesystem::path& path);

}  // namespace muster
