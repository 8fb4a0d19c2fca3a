// SPDX-License-Identifier: Apache-2.0
// Slurm's lists of hosts: "gpu-[001-064,100],login" to names and back, without asking Slurm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

inline constexpr std::size_t kMostDigits = 18;  // of one number: it fits into 64 bits

inline constexpr std::size_t kMostHosts = 1'000'000;

// The hosts in the order written, duplicates included. Several brackets to a name
// ("r[1-2]n[01-16]"), suffixes behind a bracket, and zero padding as Slurm has them: numbers are as
// wide as the first one of their range. Hosts stand apart by commas, blanks and newlines. An error
// says what is wrong and where, at which column; a list of more than `most` hosts is one, and so
// are an empty one and a name with anything but letters, digits, hyphens, dots and underscores.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view text,
                                                               std::size_t most = kMostHosts);

// The first name of such a list, which is read to its end and not written out.
[[nodiscard]] Result<std::string> first_of_hostlist(std::string_view text);

// A short list that expands to the same set of names: sorted as people count (n2 before n10),
// without duplicates. One number of a name is folded: the last one in which it differs from others
// that are else the same.
[[nodiscard]] std::string fold_hostlist(const std::vector<std::string>& names);

}  // namespace muster
