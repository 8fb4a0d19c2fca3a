// SPDX-License-Identifier: Apache-2.0
// What came of a node's tests: their findings, measurements and lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/node/test.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench::node {

// A test that was selected, and what came of it.
struct Ran {
  const NodeTest* test = nullptr;
  Result<TestResult> result;
  double seconds = 0;
};

// What the profile and a comparison of sisters say of a test's result. What could not be run is
// unknown, and what this node has not is skipped.
[[nodiscard]] std::vector<Finding> findings_of(const Ran& ran, const Profile& profile);

// That nobody works on the GPUs is no verdict about the node: where no test judged anything, it is
// a skip, so that the run is undecided.
void leave_undecided_without_tests(std::vector<Finding>& findings);

// The profile's limit for a test; empty where there is none.
[[nodiscard]] Bounds bounds_of_test(const NodeTest& test, const Profile& profile);

[[nodiscard]] std::vector<Measurement> measurements_of(const Ran& ran);

// The title, the names of the columns, and a line for each row; "-" where there is no number.
[[nodiscard]] std::vector<std::string> lines_of(const Matrix& matrix);

// "host.stream: copy 13.1 GB/s, scale 13.0 GB/s (4.1 s)", and below it the test's own lines.
[[nodiscard]] std::string summary_of(const Ran& ran);

}  // namespace muster::bench::node
