// SPDX-License-Identifier: Apache-2.0
// The table of NHC's and Azure's checks that muster translates. A row maps a line to muster's own
// checks with limits from its arguments, to a function that judges it, or to a run of muster-bench.
#pragma once

#include <span>

#include "checks/nhc_conf/judge.hpp"
#include "checks/shared/support.hpp"

namespace muster::nhc {

struct JudgedLine {
  const Snapshot& snapshot;
  const Profile& profile;
  const CheckLine& line;

  [[nodiscard]] std::string_view argument(std::size_t index) const { return line.argument(index); }
};

// Returns no finding if the row's own checks are enough, or an error that says why the line cannot
// be judged. The caller adds the line's id and place.
using JudgeLine = Result<Findings> (*)(const JudgedLine& line);

// A limit of the profile that an argument sets.
struct ArgumentLimit {
  std::string_view key;  // "gpu.present.count"
  void (*set)(Profile&, int value);
};

// Returns the arguments of muster-bench for a line, on a node with this many GPUs.
using PlanBenchmark = Result<Benchmark> (*)(const CheckLine& line, std::size_t gpus);

inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Row {
  std::string_view name;
  std::size_t least = 0, most = 0;            // number of arguments
  std::vector<std::string_view> checks = {};  // muster's own checks that run for the line
  std::vector<ArgumentLimit> limits = {};     // of those checks, in the order of the arguments
  bool of_gpus = false;                       // fails without a GPU
  bool may_skip = false;                      // the line is judged even if all its checks skip
  JudgeLine judge = nullptr;
  ProbeSet needs = {};          // the sections that `judge` reads
  bool judges_absence = false;  // calls `judge` even if a section is absent
  PlanBenchmark benchmark = nullptr;
  std::string_view skipped = {};  // why a line of a benchmark is skipped
};

[[nodiscard]] std::vector<Row> host_rows();
[[nodiscard]] std::vector<Row> device_rows();
[[nodiscard]] std::vector<Row> benchmark_rows();

[[nodiscard]] std::span<const Row> table();
// Returns null for a line that is not translated.
[[nodiscard]] const Row* row_of(const CheckLine& line);

// The error for an invalid argument.
[[nodiscard]] inline tl::unexpected<Error> unexpected_word(std::string_view word,
                                                           std::string_view expected) {
  return make_error("\"{}\", expected {}", printable(word, 40), expected);
}

[[nodiscard]] inline Finding not_judged(std::string_view why,
                                        std::string_view device = checks::kNode) {
  return checks::unknown(device, fmt::format("not judged: {}", why));
}

}  // namespace muster::nhc
