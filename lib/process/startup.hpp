// SPDX-License-Identifier: Apache-2.0
// What both programs know of themselves and do first.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace muster {

using Variables = std::map<std::string, std::string>;

// The variables of this process.
[[nodiscard]] Variables environment();

// Empty where the variable is not set.
[[nodiscard]] std::string value_of(const Variables& variables, const std::string& name);

// The path of another program of ours: beside this one, else where packages put it. PATH is not
// searched.
[[nodiscard]] std::filesystem::path companion(std::string_view name);

// What main() calls first: a file that is opened later does not become standard output by taking
// its number, writing to a reader that went away is an error and no signal, and how children end is
// learned even where the caller ignores its own.
void prepare_process();

}  // namespace muster
