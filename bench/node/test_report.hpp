// SPDX-License-Identifier: Apache-2.0
// The findings, measurements and lines of text of a node's tests, and NVML's view of the tested
// GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/node/test.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench::node {

// A selected test with its result.
struct TestRun {
  const NodeTest* test = nullptr;
  Result<TestResult> result = {};
  double seconds = 0;
};

// Returns a finding for each device that misses a limit or is an outlier among equal devices, or
// one for all. An outlier is worse than the median of at least four of them by more than five
// deviations, the tolerance, and five times the scatter of repeats. It warns; a value below the
// limit fails. Without a limit and without equal devices, the finding is a skip. `from`: the source
// of the limits.
[[nodiscard]] std::vector<Finding> judge(std::string_view check, const Series& series,
                                         const Bounds& bounds, std::string_view from);

// Judges a test's result by the profile and by comparing equal devices. A test that could not run
// is unknown, and one of devices that this node lacks is skipped.
[[nodiscard]] std::vector<Finding> findings_of(const TestRun& ran, const Profile& profile);

// Idle GPUs are not a verdict about the node: if no test judged anything, turns that pass into a
// skip, so that the run is undecided.
void leave_undecided_without_tests(std::vector<Finding>& findings);

// Returns the profile's limit for a test; empty if it has none.
[[nodiscard]] Bounds bounds_of_test(const NodeTest& test, const Profile& profile);

[[nodiscard]] std::vector<Measurement> measurements_of(const TestRun& ran);

// Returns the title, the names of the columns, and a line for each row, with "-" for no number.
[[nodiscard]] std::vector<std::string> lines_of(const Matrix& matrix);

// "host.stream: copy 13.1 GB/s, scale 13.0 GB/s (4.1 s)", followed by the test's own lines.
[[nodiscard]] std::string summary_of(const TestRun& ran);

inline constexpr std::string_view kInUse = "bench.in_use";

// Returns an `unknown` with the processes for each GPU that is in use, or else one finding for all.
// `visible`: CUDA_VISIBLE_DEVICES. If it lists numbers, only those GPUs count.
[[nodiscard]] std::vector<Finding> judge_use(const Section<Nvml>& nvml, const std::string& visible);

// "gpu3 is in use by python3 (process 1234)"; empty if none is.
[[nodiscard]] std::string first_use(const std::vector<Finding>& findings);

// Appends to findings about a GPU's copies that its PCI link has fewer lanes than it supports.
void add_causes(std::vector<Finding>& findings, const Section<Nvml>& nvml);

}  // namespace muster::bench::node
