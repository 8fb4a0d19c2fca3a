// SPDX-License-Identifier: Apache-2.0
// Text that means nothing to a shell, a glob, or a log: what NHC evaluates and Slurm hands on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// One line of ASCII of at most `max_length` bytes, without anything special to a shell or a glob: a
// semicolon becomes a comma, a character of several bytes one hyphen, the rest a blank, and blanks
// in a row become one.
[[nodiscard]] std::string harmless(std::string_view text, std::size_t max_length);

}  // namespace muster
