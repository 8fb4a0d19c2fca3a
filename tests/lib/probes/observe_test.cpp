// SPDX-License-Identifier: Apache-2.0
// The order in which an observation calls its caller's functions.
#include "lib/probes/observe.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

TEST(ObserveTest, PreparesOnceBeforeThePlan) {
  const TempDir tree;
  tree.write("proc/sys/kernel/hostname", "n3\n");
  std::string asked;
  const ObserveOptions options{.recognise = true,
                               .probes = Probe::identity,
                               .deadline = Clock::now() + std::chrono::seconds(20),
                               .nvml = {},
                               .state_file = std::nullopt,
                               .variables = {},
                               .meanwhile = [&] { asked += "prepare "; }};
  const auto snapshot =
      observe(root_of(tree), options, [&](const Snapshot& partial) -> std::optional<Plan> {
        asked += fmt::format("plan {}", partial.identity->hostname);
        return std::nullopt;
      });
  EXPECT_EQ(asked, "prepare plan n3");
}

}  // namespace
}  // namespace muster
