// SPDX-License-Identifier: Apache-2.0
// Bandwidth against its limit: which limit holds for this run, whether a value lies so near to it
// that it has to be measured again, and what it comes to.
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
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench {

using JobLimit = BenchLimit<BytesPerSecond>;

// A profile's limits for a collective over several nodes; none where it has none of this kind.
[[nodiscard]] std::span<const JobLimit> job_limits(const Profile& profile, Collective collective);

// What the command line says of limits: --min-busbw and --at, which come before the profile's, and
// --acceptance, which takes what the provider promises, or else what fails.
struct OwnLimit {
  std::optional<BytesPerSecond> min_busbw;
  std::optional<std::uint64_t> at;  // bytes; empty: the largest size that was run
  bool acceptance = false;
};

// The limit that holds for this run, and the size it holds for.
struct BandwidthLimit {
  std::string check;   // of kBandwidthChecks
  std::string device;  // "job", or the node's name
  std::uint64_t bytes = 0;
  Limit<BytesPerSecond> expected, warn_below, fail_below;
  std::string from;  // "profile nd96asr_v4", "--min-busbw"
  // Where NCCL took another algorithm than the limit's, and should not have: a sentence. A value
  // below the limit then fails, and one above says nothing.
  std::string other_algorithm;
  // The limit is promised: a value fails only if it is clearly below it, and warns if it is neither
  // clearly below nor clearly above.
  bool clearly = false;
};

// A word of a profile (ring, tree, nvls, collnet) for an algorithm as NCCL names it, such as RING,
// Tree, NVLSTree or CollNetDirect; else the name in lower case.
[[nodiscard]] std::string algorithm_word(std::string_view name);

// The limit; or a finding that says why nothing can be judged: unknown where there is no limit for
// such a run, or one that cannot be applied. A limit holds for the size, type, algorithm, number of
// nodes and ranks per node that it names, and for no other.
[[nodiscard]] std::variant<BandwidthLimit, Finding> limit_for(const std::vector<Row>& rows,
                                                              const Profile& profile,
                                                              const RunFacts& facts,
                                                              const OwnLimit& own_limit = {});

// Runs of healthy nodes differ by this share of their bandwidth, as a standard deviation: what is
// published of pairs of ND A100 nodes.
inline constexpr double kRunToRun = 0.006;
// How far the median of so many runs may lie from what the nodes do, as a share of it, in 99 of 100
// cases.
[[nodiscard]] double margin_of(std::size_t runs);

// Bus bandwidths in bytes per second. Is `value` below the limit, within 2% of it, or the limit
// within the confidence interval of the value? Two more runs then decide together with the first.
[[nodiscard]] bool needs_repeat(double value, const std::optional<Interval>& confidence,
                                double limit);

// What has to be run twice more before `judge` may decide; empty where nothing has, or where it has
// been. A row for each run: repeats of an operation stand in `rows` beside the first.
[[nodiscard]] std::optional<Operation> to_repeat(const std::vector<Row>& rows,
                                                 const Profile& profile, const RunFacts& facts,
                                                 const OwnLimit& own_limit = {});
inline constexpr int kRepeats = 2;

// One finding. Of two placements the slower one is judged.
[[nodiscard]] Finding judge(const std::vector<Row>& rows, const Profile& profile,
                            const RunFacts& facts, const OwnLimit& own_limit = {});

}  // namespace muster::bench
