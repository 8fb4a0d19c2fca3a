// SPDX-License-Identifier: Apache-2.0
// Owners of files and folders: users must not be able to choose what root writes to.
#pragma once

#include <filesystem>

#include "lib/base/result.hpp"

namespace muster {

// An error, with a remedy, if users other than this one and root can create files in `folder`. A
// folder that does not exist is fine.
[[nodiscard]] Result<void> check_own_folder(const std::filesystem::path& folder);

// An error if `file` is a link, or belongs to neither this user nor root. A file that does not
// exist is fine.
[[nodiscard]] Result<void> check_own_file(const std::filesystem::path& file);

// The first link in `path`, or `path` itself, that belongs to neither this user nor root; empty if
// there is none before the first component that does not exist.
[[nodiscard]] std::filesystem::path others_link(const std::filesystem::path& path);

}  // namespace muster
