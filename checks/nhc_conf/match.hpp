// SPDX-License-Identifier: Apache-2.0
// NHC's match strings: a glob, a /regular expression/ or a {range of nodes}, each negated by a
// leading "!".
#pragma once

#include <string_view>

#include "lib/base/result.hpp"

namespace muster::nhc {

// An error says why the expression cannot be understood; NHC lets such an expression match nothing.
// A range is read as Slurm reads it: "n[1-10]" are n1 to n10.
[[nodiscard]] Result<bool> matches(std::string_view expression, std::string_view text);

// Whether the pattern matches as in bash's [[ … == … ]]. A glob that could take too long is not
// tried, and matches nothing.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace muster::nhc
