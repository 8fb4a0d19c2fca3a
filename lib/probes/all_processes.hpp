// SPDX-License-Identifier: Apache-2.0
// Every process with its user, its processor time and its memory, as ps lists them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/root.hpp"
#include "lib/node/processes.hpp"

namespace muster {

// By pid. What ended meanwhile is left out.
[[nodiscard]] Fact<std::vector<RunningProcess>> read_all_processes(const Root& root);

// User ids by name, from etc/passwd. Users of a directory service are not in it.
[[nodiscard]] Fact<std::map<std::string, std::uint64_t>> read_users(const Root& root);

}  // namespace muster
