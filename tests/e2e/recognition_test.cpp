// SPDX-License-Identifier: Apache-2.0
// No fault may hide a simulated node's kind: judged as another size, or as an unknown machine, it
// would pass for healthy. And `muster check --root` reads nothing of its own machine: the report
// is the same if everything that a probe might read there is hidden.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

TEST(RecognitionTest, EveryFaultLeavesTheNodeRecognised) {
  std::map<std::string, Stage, std::less<>> stages;
  for (const auto& fault : nodes::all_faults()) {
    const auto node = node_named(fault.node);
    auto& stage = stages[std::string(fault.node)];
    stage.show(render_with(node, {&fault}));
    EXPECT_EQ(profile_of(stage.root()), node.profile) << fault.name;
  }
}

TEST(RecognitionTest, ANodeWithoutItsRdmaStackIsUnhealthyEvenIfRecognised) {
  const auto* fault = nodes::find_fault("rdma_stack_not_loaded");
  ASSERT_NE(fault, nullptr);
  Stage stage;
  stage.show(render_with(node_named(fault->node), {fault}));
  const auto seen = examine(stage.root(), {});
  EXPECT_THAT(concerns(seen.report), Contains("fail ib.present node")) << explain(seen.report);
  EXPECT_EQ(seen.report.verdict, Verdict::unhealthy);
}

// Enters a namespace in which everything that a probe may read is empty, except below the root.
std::string in_empty_world(const std::string& command) {
  std::string script;
  for (const char* folder : {"/sys", "/etc", "/run", "/var", "/opt", "/proc/sys", "/proc/1"}) {
    script.append(fmt::format("mount -t tmpfs none {} && ", folder));
  }
  // /proc stays: a process finds the names of its own descriptors there.
  for (const char* file : {"cpuinfo", "meminfo", "loadavg", "uptime", "cmdline", "modules"}) {
    script.append(
        fmt::format("(test ! -e /proc/{0} || mount --bind /dev/null /proc/{0}) && ", file));
  }
  script.append(command);
  return output_of(fmt::format("unshare --map-root-user --mount sh -c '{}' 2>&1", script));
}

// A report without values that differ between runs.
nlohmann::json stable_report(const std::string& text) {
  auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_discarded()) return text;
  report.erase("started");
  report.erase("duration_ms");
  for (auto& probe : report["probes"]) probe.erase("duration_ms");
  // The file systems are those of this machine.
  for (auto& reading : report["readings"]) {
    const auto check = reading["labels"].value("check", "");
    if (check == "host.disk" || check == "host.container_storage") reading.erase("value");
  }
  return report;
}

class Isolation : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Isolation, NothingIsReadOutsideTheRoot) {
  if (in_empty_world(fmt::format("test -x {} && echo -n works", MUSTER_PROGRAM)) != "works") {
    GTEST_SKIP() << "no mount namespace may be made here";
  }
  const auto& fault = *nodes::find_fault(GetParam());
  Stage stage;
  stage.show(render_with(node_named(fault.node), {&fault}));
  const auto command = fmt::format(
      "MUSTER_DATA_DIR={}/configs {} check --root {} --profile {} --only \"*\" --format json -v",
      MUSTER_SOURCE_DIR, MUSTER_PROGRAM, stage.root().string(), node_named(fault.node).profile);
  const auto here = output_of(command);
  EXPECT_THAT(here, ::testing::HasSubstr(fault.check));
  EXPECT_EQ(stable_report(in_empty_world(command)), stable_report(here));
}

INSTANTIATE_TEST_SUITE_P(Written, Isolation,
                         ::testing::Values("port_down", "swap_on", "array_degraded"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace muster::e2e
