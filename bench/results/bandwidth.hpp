// SPDX-License-Identifier: Apache-2.0
// Judges the bandwidth of a run: finds the limit that applies, decides whether a value must be
// measured again, and compares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/results/row.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench {

// Returns a profile's limits for a collective over several nodes.
[[nodiscard]] std::span<const JobLimit> job_limits(const Profile& profile, Collective collective);

// The limits of the command line: --min-busbw and --at, which override the profile's, and
// --acceptance, which uses the provider's promise, or else the limit that fails.
struct OwnLimit {
  std::optional<BytesPerSecond> min_busbw;
  std::optional<std::uint64_t> at;  // bytes; empty: the largest size that was run
  bool acceptance = false;
};

// The limit that applies to a run, and its size.
struct BandwidthLimit {
  std::string check;   // of kBandwidthChecks
  std::string device;  // "job", or the node's name
  std::uint64_t bytes = 0;
  Limit<BytesPerSecond> expected, warn_below, fail_below;
  std::string from;  // "profile nd96asr_v4", "--min-busbw"
  // Set if NCCL should have used the limit's algorithm and did not: a sentence. A value below the
  // limit then fails, and one above is unknown.
  std::string other_algorithm;
  // Set if NCCL did not use the NVLink domain of the nodes: a sentence.
  std::string other_network;
  // A promised limit: a value fails only if it is clearly below, and warns if it is neither clearly
  // below nor clearly above.
  bool clearly = false;
};

// Returns a profile's word (ring, tree, nvls, collnet) for NCCL's name of an algorithm, such as
// RING, NVLSTree or CollNetDirect; else the name in lower case.
[[nodiscard]] std::string algorithm_word(std::string_view name);

// Returns the limit, or a finding about why none applies. A limit applies only to the size, type,
// algorithm, number of nodes and ranks per node that it names.
[[nodiscard]] std::variant<BandwidthLimit, Finding> limit_for(const std::vector<Row>& rows,
                                                              const Profile& profile,
                                                              const RunFacts& facts,
                                                              const OwnLimit& own_limit = {});

// Whether the run has no limit, neither from the command line nor from the profile.
[[nodiscard]] bool is_unlimited(const std::vector<Row>& rows, const Profile& profile,
                                const RunFacts& facts, const OwnLimit& own_limit);

// Whether `value` is below the limit or within 2% of it, or its confidence interval contains the
// limit. Bus bandwidths in bytes per second.
[[nodiscard]] bool needs_repeat(double value, const std::optional<Interval>& confidence,
                                double limit);

// Returns the operation that must run kRepeats times more before `judge` may decide, unless it has.
// `rows` has a row for each run.
[[nodiscard]] std::optional<Operation> to_repeat(const std::vector<Row>& rows,
                                                 const Profile& profile, const RunFacts& facts,
                                                 const OwnLimit& own_limit = {});
inline constexpr int kRepeats = 2;

// Judges the slower placement.
[[nodiscard]] Finding judge(const std::vector<Row>& rows, const Profile& profile,
                            const RunFacts& facts, const OwnLimit& own_limit = {});

// A subset of the ranks with its own communicator.
struct RankPart {
  std::string name;  // "gpu-0007", "rail3", "ranks 0-3"
  std::vector<int> ranks;
};

struct PartResult {
  std::string name;
  std::vector<int> ranks;
  std::vector<Row> rows;  // one for each size
};

// bench.split: a finding for each part that is far below the others or below --min-busbw at the
// judged size, or else one for all. A part below the others warns, and fails from a tenth of their
// median on. Unknown if there are too few parts to compare.
[[nodiscard]] std::vector<Finding> judge_split(const std::vector<PartResult>& parts,
                                               const OwnLimit& own_limit);

// A line for each part: its bus bandwidth at the judged size, and its share of the median.
[[nodiscard]] std::string split_table(const std::vector<PartResult>& parts,
                                      const OwnLimit& own_limit);

}  // namespace muster::bench
