// SPDX-License-Identifier: Apache-2.0
// Healthy GPU nodes leave nothing unknown that could be known, also at full load: hot, at their
// power limit, with monitors and MPS on them and moving counters. A node without NVML is unhealthy
// only if GPUs are expected.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "checks/run.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

using ::testing::Field;

using Ids = std::set<std::string>;

// The checks without a finding on a healthy node of this name in its second run.
Ids silent_checks(std::string_view name) {
  Stage stage;
  const auto seen = examine_twice(stage, node_named(name));
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
  Ids ids;
  for (const auto& check : seen.report.checks) {
    if (check.outcome == Outcome::skip) ids.insert(check.id);
  }
  return ids;
}

// Facts that a hypervisor hides, that no file below a foreign root holds, or that only AMD GPUs
// have.
const Ids& hidden_from_guests() {
  static const Ids ids{"host.clock", "host.edac", "host.temperature", "pci.acs",
                       "pci.errors", "gpu.amd",   "gpu.ras",          "gpu.sxid",
                       "ib.ber",     "ib.mtu",    "ib.verbs",         "env.libraries"};
  return ids;
}

Ids with(Ids ids, const Ids& more) {
  ids.insert(more.begin(), more.end());
  return ids;
}

TEST(HealthyGpuNodeTest, H100OfBranch580) {
  EXPECT_EQ(silent_checks("nd96isr_h100_v5"),
            with(hidden_from_guests(), {"gpu.ecc_retired_pages"}));
}

TEST(HealthyGpuNodeTest, A100OfBranch535) {
  const Ids unlimited{"host.container_storage", "host.hugepages", "host.kernel"};
  EXPECT_EQ(silent_checks("nd96asr_v4"),
            with(with(hidden_from_guests(), unlimited),
                 {"gpu.ecc_retired_pages", "gpu.fabric", "gpu.recovery_action"}));
}

TEST(HealthyGpuNodeTest, V100OfBranch470) {
  const Ids unlimited{"host.container_storage", "host.hugepages", "host.kernel",  "host.nvme",
                      "host.programs",          "host.services",  "topo.pairing", "topo.virtual"};
  EXPECT_EQ(silent_checks("nd40rs_v2"),
            with(with(hidden_from_guests(), unlimited),
                 {"gpu.direct_rdma", "gpu.ecc_remapped_rows", "gpu.ecc_sram", "gpu.fabric",
                  "gpu.p2p", "gpu.recovery_action"}));
}

class MissingNvmlTest : public DiskTest {
 protected:
  // `library` is a path below the node; empty: none is named.
  [[nodiscard]] static Report report_of(std::string_view name, const std::string& library) {
    const auto node = node_named(name);
    Stage stage;
    stage.show(render(node));
    const auto nvml = library.empty() ? std::filesystem::path() : stage.root() / library;
    return examine(stage.root(), {.profile = node.profile, .nvml = nvml}).report;
  }
};

TEST_F(MissingNvmlTest, IsUnhealthyIfGpusAreExpected) {
  const auto report = report_of("nd96isr_h100_v5", "nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(concerns(report), ElementsAre("fail gpu.driver node"));
  EXPECT_THAT(report.findings.front().message, StartsWith("NVML is missing: "));
  EXPECT_EQ(report.findings.front().remedy, Remedy::fix_config);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
}

TEST_F(MissingNvmlTest, IsUnknownIfTheNamedFileIsNoLibrary) {
  const auto report = report_of("laptop", "proc/meminfo");
  EXPECT_EQ(report.verdict, Verdict::unknown) << explain(report);
  EXPECT_THAT(report.coverage.not_observed, ElementsAre(Field(&NotObserved::what, "GPUs")));
}

TEST_F(MissingNvmlTest, IsUnknownIfNoLibraryIsNamedForGpusOnTheBus) {
  for (const auto* name : {"nd96isr_h100_v5", "bare_metal_h100"}) {
    const auto report = report_of(name, "");
    EXPECT_EQ(report.verdict, Verdict::unknown) << explain(report);
    EXPECT_THAT(report.coverage.not_observed, ElementsAre(Field(&NotObserved::required, true)));
  }
}

TEST_F(MissingNvmlTest, IsHealthyIfNoGpuIsExpected) {
  const auto report = report_of("hb176rs_v4", "nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(concerns(report), IsEmpty()) << explain(report);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(
      report.coverage.not_observed,
      ElementsAre(AllOf(Field(&NotObserved::what, "GPUs"), Field(&NotObserved::required, false))));
  const auto driver = std::ranges::find(report.findings, "gpu.driver", &Finding::check);
  ASSERT_NE(driver, report.findings.end());
  EXPECT_EQ(driver->message, "no GPU expected by this profile, and NVML is not usable");
}

constexpr std::uint64_t kMib = 1ULL << 20U;

// A process of the node's that computes on every GPU.
void compute(nodes::NodeDescription& node, nodes::ProcessDescription process, std::uint64_t bytes) {
  for (auto& gpu : node.gpus) {
    if (!gpu.facts.processes) gpu.facts.processes = std::vector<GpuProcess>{};
    gpu.facts.processes->push_back({.pid = process.pid, .memory_bytes = bytes});
    nodes::needed(gpu.facts.memory).used += bytes;
  }
  node.processes.push_back(std::move(process));
}

void run_daemons(nodes::NodeDescription& node) {
  compute(node, {.pid = 3001, .name = "dcgm-exporter", .unit = "dcgm-exporter.service"},
          300 * kMib);
  compute(node, {.pid = 3002, .name = "nv-hostengine", .unit = "nvidia-dcgm.service"}, 200 * kMib);
  node.processes.push_back({.pid = 3003, .name = "nvidia-cuda-mps", .unit = "nvidia-mps.service"});
  compute(node,
          {.pid = 3004, .name = "nvidia-cuda-mps", .user = 1000, .unit = "nvidia-mps.service"},
          30 * kMib);
}

void load_fully(nodes::NodeDescription& node) {
  constexpr std::uint64_t kPowerCap = 0x4;
  for (auto& gpu : node.gpus) {
    auto& facts = gpu.facts;
    facts.utilisation = 100U;
    facts.clocks.reasons = kPowerCap;
    facts.clocks.performance_state = 0U;
    facts.heat.gpu_c = 82;
    if (facts.heat.memory_c) facts.heat.memory_c = 91;
    if (facts.heat.margin_c) facts.heat.margin_c = 7;
    facts.power.usage_mw = facts.power.enforced_mw;
    facts.link.generation = facts.link.generation_max;
  }
}

// An hour of work.
void let_counters_move(nodes::NodeDescription& node) {
  constexpr std::uint64_t kMinuteNs = 60'000'000'000;
  for (auto& gpu : node.gpus) {
    auto& facts = gpu.facts;
    facts.clocks.hardware_thermal_ns = kMinuteNs;
    facts.clocks.power_brake_ns = kMinuteNs;
    if (facts.link.replays) facts.link.replays = *facts.link.replays + 40;
    if (facts.ecc_volatile.dram_corrected) facts.ecc_volatile.dram_corrected = 12U;
    if (!facts.nvlinks) continue;
    for (auto& link : *facts.nvlinks) {
      if (link.replays) link.replays = *link.replays + 5;
      if (link.recoveries) link.recoveries = *link.recoveries + 1;
      if (link.crc) link.crc = *link.crc + 50;
    }
  }
}

class BusyGpus : public DiskTest, public ::testing::WithParamInterface<std::string_view> {
 protected:
  // As the profile's context judges it.
  [[nodiscard]] static std::vector<std::string> concerns_in(const Examination& seen,
                                                            const std::string& context) {
    return concerns(judge(seen.snapshot, seen.profile, {.context = context}));
  }

  [[nodiscard]] static Examination look_at(const nodes::NodeDescription& node) {
    Stage stage;
    return examine_twice(stage, node, let_counters_move);
  }
};

TEST_P(BusyGpus, AreSoundBesideAJob) {
  auto node = node_named(GetParam());
  load_fully(node);
  run_daemons(node);
  compute(node,
          {.pid = 4000,
           .name = "python3",
           .user = 1000,
           .unit = "slurmstepd.scope/job_77/step_0/user/task_0"},
          9000 * kMib);
  const auto seen = look_at(node);
  for (const std::string context : {"manual", "periodic"}) {
    EXPECT_THAT(concerns_in(seen, context), IsEmpty()) << context;
  }
}

TEST_P(BusyGpus, AreSoundBetweenJobs) {
  auto node = node_named(GetParam());
  load_fully(node);
  run_daemons(node);
  const auto seen = look_at(node);
  for (const std::string context : {"prolog", "epilog", "boot", "manual", "periodic"}) {
    EXPECT_THAT(concerns_in(seen, context), IsEmpty()) << context;
  }
}

// A momentary hardware slowdown on every GPU is at most a warning.
TEST_P(BusyGpus, MaySlowDownForAMoment) {
  auto node = node_named(GetParam());
  load_fully(node);
  for (auto& gpu : node.gpus) gpu.facts.clocks.reasons = 0x4cU;
  Stage stage;
  const auto seen = examine_node(stage, node);
  for (const std::string context : {"prolog", "epilog", "boot", "manual", "periodic"}) {
    const auto report = judge(seen.snapshot, seen.profile, {.context = context});
    EXPECT_EQ(report.verdict, Verdict::healthy) << context << explain(report);
  }
}

INSTANTIATE_TEST_SUITE_P(Written, BusyGpus,
                         ::testing::Values("nd96asr_v4", "nd96isr_h100_v5", "bare_metal_h100"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace muster::e2e
