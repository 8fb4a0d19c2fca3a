// SPDX-License-Identifier: Apache-2.0
// Every check that NHC and Azure's checks for it document: judged here, or by checks of muster's
// own, or named as what nobody judges. Adding one is one row.
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

// The values that a line's arguments stand for.
using Translate = Result<std::vector<Preset>> (*)(const Arguments&);

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
  Translate translate = nullptr;
  // … or by nobody, and why.
  Outcome otherwise = Outcome::unknown;
  std::string_view why = {};
  PlanBenchmark benchmark = nullptr;  // where it was run, that answers
  bool all_processes = false;         // the list of them has to be read
  bool of_gpus = false;               // without GPUs the line fails; a benchmark is run on them
  // To the letter: in place of all above where that is asked for, else where the checks above have
  // nothing to judge by.
  Judge literal = nullptr;
  ProbeSet literal_needs = {};
  NvmlParts literal_parts = {};
  // Whether the checks have no limit of this profile to judge by, and compare devices alone: then
  // the letter holds beside them.
  bool (*without_limit)(const Profile& profile) = nullptr;
};

[[nodiscard]] std::span<const Row> table();
[[nodiscard]] const Row* row_named(std::string_view name);  // null for none
// The row of a line, which may be another for GPUs that are AMD's; null for none.
[[nodiscard]] const Row* row_of(const CheckLine& line);

// For the table: what Azure's checks' arguments mean.
[[nodiscard]] Result<std::vector<Preset>> gpu_count_presets(const Arguments& arguments);
[[nodiscard]] Result<std::vector<Preset>> gpu_ecc_presets(const Arguments& arguments);
[[nodiscard]] Result<std::vector<Preset>> gpu_xid_presets(const Arguments& arguments);
[[nodiscard]] Result<std::vector<Preset>> link_flap_presets(const Arguments& arguments);
[[nodiscard]] Result<std::vector<Preset>> nvme_presets(const Arguments& arguments);

// Puts values into a profile. An error names the key that is not one of those above.
[[nodiscard]] Result<void> apply(const std::vector<Preset>& presets, Profile& profile);

}  // namespace muster::nhc
