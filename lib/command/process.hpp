// SPDX-License-Identifier: Apache-2.0
// What every program of ours does first.
#pragma once

#include <map>
#include <string>

namespace muster {

[[nodiscard]] std::map<std::string, std::string> environment();

// A file that is opened later must not become standard output by taking its number, and a reader
// that went away is a failed write.
void keep_standard_streams();

}  // namespace muster
