// SPDX-License-Identifier: Apache-2.0
// Expands and folds Slurm's host lists, such as "gpu-[001-064,100],login", without asking Slurm.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

inline constexpr std::size_t kMaxHosts = 1'000'000;

// Returns the hosts in the order written, with duplicates. As in Slurm, a name may have several
// brackets ("r[1-2]n[01-16]") and a suffix, numbers are padded to the width of the first one of
// their range, and commas, blanks and newlines separate hosts. Names consist of letters, digits,
// hyphens, dots and underscores. An error names the column. An empty list or one of more than
// `max_hosts` hosts is an error.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view text,
                                                               std::size_t max_hosts = kMaxHosts);

// Returns the first name of a list, without expanding the rest.
[[nodiscard]] Result<std::string> first_of_hostlist(std::string_view text);

// Returns a short list that expands to the same set of names, sorted by number (n2 before n10),
// without duplicates. In each name it folds the last number in which otherwise equal names differ.
[[nodiscard]] std::string fold_hostlist(const std::vector<std::string>& names);

// Expands the words of a command line. Each is a host list, `@FILE` for the lists in a file, or `-`
// for standard input, where a # begins a comment, as in a file. Keeps the order.
[[nodiscard]] Result<std::vector<std::string>> hosts_of_words(
    const std::vector<std::string>& words);

}  // namespace muster
