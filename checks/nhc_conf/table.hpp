// SPDX-License-Identifier: Apache-2.0
// Every check that NHC and Azure's checks for it document: judged here, or by checks of muster's
// own, or named as what nobody judges. Adding one is one row, in the file of what judges it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/judging.hpp"
#include "lib/profile/profile.hpp"

namespace muster::nhc {

// A value of the profile: "gpu.present.count" and "8".
struct Preset {
  std::string key;
  std::string value;

  bool operator==(const Preset&) const = default;
};

// What muster-bench is asked for a line.
using PlanBenchmark = Result<Benchmark> (*)(const CheckLine& line, std::size_t gpus);

inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Row {
  std::string_view name;
  std::size_t least = 0, most = kAny;  // arguments
  // Judged here, by these checks of muster's own, or by both …
  Judge judge = nullptr;
  ProbeSet needs = {};
  bool absence_counts = false;  // a section that is absent is judged, too: there is nothing
  std::vector<std::string_view> checks = {};
  std::vector<std::string_view> keys = {};  // of the profile: what the arguments set, in order
  Preset with_keys = {};  // set, too, where an argument sets a key; none where its key is empty
  // … or by nobody, and why.
  Outcome otherwise = Outcome::unknown;
  std::string_view why = {};
  PlanBenchmark benchmark = nullptr;  // where it was run, that answers
  bool all_processes = false;         // the list of them has to be read
  // The list of sockets has to be read; and where this says so of the arguments, the users' names.
  bool (*asks_for_users)(const Arguments&) = nullptr;
  // The files that the arguments name and that have to be observed; and whether their text is too.
  std::vector<std::string> (*files_of)(const Arguments&) = nullptr;
  bool reads_files = false;
  bool of_gpus = false;  // without GPUs the line fails; a benchmark is run on them
  // To the letter: in place of all above where that is asked for, else where the checks above have
  // nothing to judge by.
  Judge literal = nullptr;
  ProbeSet literal_needs = {};
  NvmlParts literal_parts = {};
  // Whether the checks have no limit of this profile to judge by, and compare devices alone: then
  // the letter holds beside them.
  bool (*without_limit)(const Profile& profile) = nullptr;
};

// A check that is judged here.
[[nodiscard]] Row judged(std::string_view name, Judge judge, ProbeSet needs, std::size_t least,
                         std::size_t most = kAny);
// A check of processes, for which the probe `beside` is asked, too.
[[nodiscard]] Row of_processes(std::string_view name, Judge judge, Probe beside, std::size_t least,
                               std::size_t most = kAny);
[[nodiscard]] Row unjudged(std::string_view name, std::string_view why);

// The rows of each subject, in the file of what judges them.
[[nodiscard]] std::vector<Row> azure_rows();
[[nodiscard]] Row amd_count_row();  // of check_gpu_count where the GPUs are AMD's
[[nodiscard]] std::vector<Row> benchmark_rows();
[[nodiscard]] std::vector<Row> command_rows();
[[nodiscard]] std::vector<Row> file_rows();
[[nodiscard]] std::vector<Row> hardware_rows();
[[nodiscard]] std::vector<Row> memory_rows();
[[nodiscard]] std::vector<Row> mount_rows();
[[nodiscard]] std::vector<Row> process_rows();
[[nodiscard]] std::vector<Row> socket_rows();
[[nodiscard]] std::vector<Row> space_rows();
[[nodiscard]] std::vector<Row> task_rows();

[[nodiscard]] std::span<const Row> table();
[[nodiscard]] const Row* row_named(std::string_view name);  // null for none
// The row of a line, which may be another for GPUs that are AMD's; null for none.
[[nodiscard]] const Row* row_of(const CheckLine& line);

// The values that the arguments of a line stand for.
[[nodiscard]] Result<std::vector<Preset>> presets_of(const Row& row, const Arguments& arguments);

// Puts values into a profile. An error names a key that cannot be set so.
[[nodiscard]] Result<void> apply(const std::vector<Preset>& presets, Profile& profile);

}  // namespace muster::nhc
