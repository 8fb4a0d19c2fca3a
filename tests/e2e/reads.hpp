// SPDX-License-Identifier: Apache-2.0
// Finds the files that a function opens below a root. The kernel reports them, so no list can go
// out of date.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace muster::e2e {

// Paths relative to `root`, links resolved. Listed directories end in a slash.
[[nodiscard]] std::set<std::string> opened_below(const std::filesystem::path& root,
                                                 const std::function<void()>& work);

// The same files with every number in their names replaced by '#': one of 96 CPUs stands for all.
[[nodiscard]] std::string shape_of(std::string_view path);

}  // namespace muster::e2e
