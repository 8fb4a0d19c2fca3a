// SPDX-License-Identifier: Apache-2.0
// Which files below a root a piece of work opens: asked of the kernel, so that no list of them can
// go out of date.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace muster::e2e {

// Paths relative to `root`, links resolved. Directories that were listed end in a slash.
[[nodiscard]] std::set<std::string> opened_below(const std::filesystem::path& root,
                                                 const std::function<void()>& work);

// The same files with every number in their names replaced by '#': one of 96 CPUs stands for all.
[[nodiscard]] std::string shape_of(std::string_view path);

}  // namespace muster::e2e
