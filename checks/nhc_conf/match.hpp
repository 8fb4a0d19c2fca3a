// SPDX-License-Identifier: Apache-2.0
// NHC's match strings: a glob, a /regular expression/ or a {range of nodes}, each negated by a
// leading "!".
#pragma once

#include <string_view>

#include "lib/base/result.hpp"

namespace muster::nhc {

// Returns an error for an invalid expression, which NHC takes to match nothing. A range is read as
// Slurm reads it: "n[1-10]" stands for n1 to n10.
[[nodiscard]] Result<bool> matches(std::string_view expression, std::string_view text);

}  // namespace muster::nhc
