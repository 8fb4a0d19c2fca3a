// SPDX-License-Identifier: Apache-2.0
// NHC's own checks, judged on a snapshot: pure functions from facts and the arguments of a line to
// findings. The caller adds the check's name and the place of the line.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/shared/support.hpp"

namespace muster::nhc {

using Arguments = std::vector<std::string>;
using Judge = Findings (*)(const Snapshot&, const Arguments&);

// hardware.cpp
[[nodiscard]] Findings judge_cpuinfo(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_eth(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_ib(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_dmi(const Snapshot& snapshot, const Arguments& arguments);
// memory.cpp
[[nodiscard]] Findings judge_physmem(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_swap(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_mem(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_physmem_free(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_swap_free(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_mem_free(const Snapshot& snapshot, const Arguments& arguments);
// mounts.cpp
[[nodiscard]] Findings judge_mount(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_mount_rw(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_mount_ro(const Snapshot& snapshot, const Arguments& arguments);
// space.cpp
[[nodiscard]] Findings judge_fs_size(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_fs_free(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_fs_used(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_fs_inodes(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_fs_ifree(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_fs_iused(const Snapshot& snapshot, const Arguments& arguments);
// tasks.cpp
[[nodiscard]] Findings judge_loadavg(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_service(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_daemon(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_file_test(const Snapshot& snapshot, const Arguments& arguments);

// files.cpp
[[nodiscard]] Findings judge_file_stat(const Snapshot& snapshot, const Arguments& arguments);
// contents.cpp
[[nodiscard]] Findings judge_file_contents(const Snapshot& snapshot, const Arguments& arguments);
// lineage.cpp
[[nodiscard]] Findings judge_unauth_users(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_userproc_lineage(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_kswapd(const Snapshot& snapshot, const Arguments& arguments);
// resources.cpp
// Users of the system have numbers up to here, on Debian as on Red Hat.
inline constexpr std::uint64_t kLastSystemUser = 999;
// `owner`: a number, or a match string for the name that the user has in etc/passwd; an error where
// there is no such name.
[[nodiscard]] Result<bool> is_owned_by(const Processes& processes,
                                       const RunningProcess& process,
                                       const std::string& owner);
[[nodiscard]] Findings judge_ps_cpu(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_ps_mem(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_ps_physmem(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_ps_time(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_ps_blacklist(const Snapshot& snapshot, const Arguments& arguments);
// sockets.cpp
[[nodiscard]] Findings judge_net_socket(const Snapshot& snapshot, const Arguments& arguments);
// Whether such a line names a user.
[[nodiscard]] bool asks_for_users(const Arguments& arguments);
// azure.cpp
[[nodiscard]] Findings judge_vbios(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_amd_count(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings judge_link_flaps(const Snapshot& snapshot, const Arguments& arguments);
// literal.cpp: as Azure's scripts judge
[[nodiscard]] Findings literal_gpu_count(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_healthmon(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_xid(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_ecc(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_vbios(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_nvlink(const Snapshot& snapshot, const Arguments& arguments);
[[nodiscard]] Findings literal_logged(const Snapshot& snapshot, const Arguments& arguments);

// Whether `words` stand in the text as whole words, as grep -w looks for them.
[[nodiscard]] bool has_words(std::string_view text, std::string_view words);

// The files that a line of check_file_test or check_file_stat names: they have to be observed.
[[nodiscard]] std::vector<std::string> tested_files(const Arguments& arguments);
[[nodiscard]] std::vector<std::string> stat_files(const Arguments& arguments);

// The last mount of a point, which lies on top of the others; null for none.
[[nodiscard]] const Mount* mount_at(const Snapshot& snapshot, std::string_view point);

// What is said of a line that cannot be judged.
[[nodiscard]] inline Finding not_judged(std::string_view why,
                                        std::string_view device = checks::kNode) {
  return {.device = std::string(device),
          .outcome = Outcome::unknown,
          .message = fmt::format("not judged: {}", why)};
}

// "512 kB", "1870.2 GiB".
[[nodiscard]] inline std::string size_in_words(double bytes) {
  return bytes < 1024.0 * 1024 * 1024 ? fmt::format("{:.0f} kB", bytes / 1024)
                                      : checks::in_gib(bytes);
}

// The argument at `index`, or the empty string, which NHC takes for none.
[[nodiscard]] inline std::string_view argument(const Arguments& arguments, std::size_t index) {
  return index < arguments.size() ? std::string_view(arguments[index]) : std::string_view();
}

// Options as getopts reads them: single letters, together or apart, up to the first other word.
struct Options {
  std::map<char, std::vector<std::string>> given;  // with their values; flags have empty ones
  std::vector<std::string> rest;

  [[nodiscard]] bool has(char letter) const { return given.contains(letter); }

  [[nodiscard]] std::vector<std::string> values(char letter) const {
    const auto found = given.find(letter);
    return found == given.end() ? std::vector<std::string>() : found->second;
  }
};

// `known`: the letters, each with a colon where it takes a value, as "0rs:t:".
[[nodiscard]] Result<Options> read_options(const Arguments& arguments, std::string_view known);

}  // namespace muster::nhc
