// SPDX-License-Identifier: Apache-2.0
// What both programs know of themselves and do first.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace muster {

[[nodiscard]] std::map<std::string, std::string> environment();

// Another program of ours: beside this one, else where packages put it. Nobody's PATH is asked.
[[nodiscard]] std::filesystem::path companion(std::string_view name);

// A file that is opened later must not become standard output by taking its number, and a reader
// that went away is a failed write.
void keep_standard_streams();

}  // namespace muster
