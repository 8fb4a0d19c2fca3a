// SPDX-License-Identifier: Apache-2.0
// Text without a meaning to shells and globs, for NHC, which evaluates it, and for Slurm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// Makes one line of ASCII without special characters: a semicolon becomes a comma, a multi-byte
// character a hyphen, other special characters a blank. Several blanks become one.
[[nodiscard]] std::string harmless(std::string_view text, std::size_t max_length);

}  // namespace muster
