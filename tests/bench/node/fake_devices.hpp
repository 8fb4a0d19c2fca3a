// SPDX-License-Identifier: Apache-2.0
// Runs the active tests on the fakes of the drivers.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "lib/process/child.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench::node {

// Null if no test has the name.
[[nodiscard]] inline const NodeTest* find_test(std::string_view name) {
  const auto tests = node_tests();
  const auto found = std::ranges::find(tests, name, &NodeTest::name);
  return found == tests.end() ? nullptr : &*found;
}

// Runs `work` in a separate process, with the fake's scenario in the variable's file.
template <class Work>
[[nodiscard]] Result<std::string> ask_with(const char* variable, const std::string& scenario,
                                           const Work& work) {
  const TempDir folder;
  folder.write("scenario.json", scenario);
  return ask_child("test", std::chrono::seconds(60), [&] {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
    ::setenv(variable, (folder.path() / "scenario.json").c_str(), 1);
    return work();
  });
}

[[nodiscard]] inline Result<TestResult> run_on_fake(const char* variable,
                                                    const std::string& scenario,
                                                    std::string_view test, const TestInput& input) {
  return ask_with(variable, scenario, [&] { return to_json(find_test(test)->run(input)); })
      .and_then([](const std::string& text) { return parse_result(text); });
}

[[nodiscard]] inline std::vector<Finding> not_passed(std::vector<Finding> findings) {
  std::erase_if(findings, [](const auto& each) { return each.outcome == Outcome::pass; });
  return findings;
}

[[nodiscard]] inline auto is_finding(Outcome outcome, const std::string& device,
                                     const std::string& message) {
  return ::testing::AllOf(::testing::Field(&Finding::device, device),
                          ::testing::Field(&Finding::outcome, outcome),
                          ::testing::Field(&Finding::message, ::testing::HasSubstr(message)));
}

}  // namespace muster::bench::node
