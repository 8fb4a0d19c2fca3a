// SPDX-License-Identifier: Apache-2.0
// A file that never answers costs one probe its section and the run nothing: it ends in time, and
// the report says which probe was stuck.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/printers.hpp"

namespace muster::e2e {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using ::testing::Contains;

struct Stuck {
  std::string_view probe;
  std::string_view file;
};

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
void PrintTo(const Stuck& stuck, std::ostream* out) { *out << stuck.probe; }

class StuckFile : public ::testing::TestWithParam<Stuck> {};

TEST_P(StuckFile, IsNamedAndEndsWithTheDeadline) {
  static Stage stage;
  const auto& [probe, file] = GetParam();
  const auto node = nodes::hb176rs_v4();
  auto tree = render(node);
  ASSERT_NE(tree.find(file), nullptr) << file;
  tree.fifo(file);
  stage.show(std::move(tree));

  const auto begin = std::chrono::steady_clock::now();
  const auto seen = examine(stage.root(), {.profile = node.profile, .deadline = 2s});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2500ms);
  const auto found = std::ranges::find(seen.report.probes, probe, &ProbeResult::name);
  ASSERT_NE(found, seen.report.probes.end());
  EXPECT_EQ(found->status, "timeout");
  EXPECT_NE(seen.report.verdict, Verdict::healthy);
  EXPECT_THAT(seen.report.findings,
              Contains(::testing::AllOf(::testing::Field(&Finding::check, "muster.probes"),
                                        ::testing::Field(&Finding::device, std::string(probe)))))
      << explain(seen.report);
}

constexpr std::string_view kHca =
    "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/"
    "47505500-0101-0000-3130-444531334342/pci0101:00/0101:00:00.0";

std::vector<Stuck> stuck_files() {
  static const std::string port = fmt::format("{}/infiniband/mlx5_ib0/ports/1/state", kHca);
  static const std::string vendor = fmt::format("{}/vendor", kHca);
  return {
      {"identity", "proc/uptime"},
      {"cpu", "sys/devices/system/cpu/online"},
      {"memory", "proc/meminfo"},
      {"mounts", "proc/mounts"},
      {"disks", "sys/devices/virtual/block/md0/md/array_state"},
      {"processes", "proc/loadavg"},
      {"kernel", "proc/cmdline"},
      {"pci", vendor},
      {"infiniband", port},
      {"topology", "sys/devices/system/node/node0/distance"},
  };
}

// The profile is known only once the node is recognised; its deadline holds for what runs already.
TEST(StuckProbe, EndsWithTheDeadlineThatTheSiteSets) {
  Stage stage;
  auto tree = render(nodes::hb176rs_v4());
  tree.fifo("sys/devices/system/node/node0/distance");
  tree.file("etc/muster/muster.yaml",
            "schema: muster.site/1\n"
            "overrides:\n"
            "  source: test\n"
            "  as_of: 2026-01-01\n"
            "  contexts: {manual: {deadline: 2 s}}\n");
  stage.show(std::move(tree));

  const auto begin = std::chrono::steady_clock::now();
  const auto seen = examine(stage.root(), {});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2500ms);
  EXPECT_EQ(seen.snapshot.topology.status, Status::timeout) << explain(seen.report);
  EXPECT_EQ(seen.snapshot.kernel_log.status, Status::ok);
}

INSTANTIATE_TEST_SUITE_P(OneFile,
                         StuckFile,
                         ::testing::ValuesIn(stuck_files()),
                         [](const auto& one) { return std::string(one.param.probe); });

}  // namespace
}  // namespace muster::e2e
