// SPDX-License-Identifier: Apache-2.0

#include "checks/run.hpp"
#include "lib/report/format.hpp"
#include "tests/checks/ask.hpp"

namespace muster::folding_test {
namespace {

// Eight GPUs, four of them behind each of two bridges, two behind each bridge below those.
Snapshot node_of_eight() {
  Snapshot snapshot;
  snapshot.nvml = observed(Nvml{});
  snapshot.pci = observed(Pci{});
  snapshot.infiniband = observed(Infiniband{});
  snapshot.mounts = observed(Mounts{});
  for (unsigned i = 0; i < 8; ++i) {
    const auto address = fmt::format("000{}:00:00.0", i);
    Gpu gpu;
    gpu.index = i;
    gpu.address = address;
    snapshot.nvml->gpus.push_back(gpu);
    PciDevice device{.address = address, .kind = PciKind::gpu, .vendor = 0x10de};
    device.numa_node = static_cast<int>(i / 4);
    device.upstream = {fmt::format("00{}0:01:00.0", i / 4), fmt::format("00{}1:02:00.0", i / 2)};
    snapshot.pci->devices.push_back(device);
  }
  return snapshot;
}

Finding hot(unsigned gpu, double celsius) {
  return {.check = "gpu.temperature",
          .device = fmt::format("gpu{}", gpu),
          .outcome = Outcome::fail,
          .message =
              fmt::format("the GPU is at {} C, above 90 C (serial 165092301234{})", celsius, gpu),
          .remedy = Remedy::report_to_provider};
}

// The first line of the text form.
std::string shown(const std::vector<Finding>& findings, const Snapshot& snapshot,
                  const RenderOptions& options = {}) {
  Report report{.findings = findings, .groups = fold(findings, snapshot)};
  const auto text = to_text(report, options);
  return text.substr(0, text.find("\n\nchecked"));
}

TEST(FoldingTest, SomeAreNamedWithWhatOnlyTheyShare) {
  const std::vector<Finding> findings{hot(4, 95), hot(5, 91), hot(6, 95), hot(7, 95)};
  EXPECT_EQ(
      shown(findings, node_of_eight()),
      "fail     gpu.temperature  4 of 8 GPUs  gpu4, gpu5, gpu6, gpu7: gpu4: the GPU is at 95 C, "
      "above 90 C; the others too; these are those behind PCI bridge 0010:01:00.0 -> "
      "report to the provider");
}

TEST(FoldingTest, WithoutBridgesTheNumaNodeIsNamed) {
  auto snapshot = node_of_eight();
  for (auto& device : snapshot.pci->devices) device.upstream.clear();
  const std::vector<Finding> findings{hot(0, 95), hot(1, 95), hot(2, 95), hot(3, 95)};
  EXPECT_THAT(shown(findings, snapshot), HasSubstr("; these are those of NUMA node 0 ->"));
  EXPECT_THAT(shown({findings[0], findings[1], findings[2]}, snapshot),
              AllOf(HasSubstr("3 of 8 GPUs"), Not(HasSubstr("these are"))));
}

TEST(FoldingTest, TwoOfEightAndDifferentFaultsAreNotFolded) {
  const auto snapshot = node_of_eight();
  EXPECT_THAT(fold({hot(0, 95), hot(1, 95), hot(2, 95), hot(2, 96)}, snapshot), IsEmpty());
  EXPECT_THAT(fold({hot(0, 95), hot(1, 95)}, snapshot), IsEmpty());
  auto other = hot(2, 95);
  other.message = "the memory is at 99 C";
  EXPECT_THAT(fold({hot(0, 95), hot(1, 95), other}, snapshot), IsEmpty());
  other = hot(2, 95);
  other.outcome = Outcome::warn;
  EXPECT_THAT(fold({hot(0, 95), hot(1, 95), other}, snapshot), IsEmpty());
}

TEST(FoldingTest, AllGpusWithOneFaultAreOneLineUnlessVerboseOrJson) {
  std::vector<Finding> findings;
  for (unsigned i = 0; i < 8; ++i) findings.push_back(hot(i, 95));
  EXPECT_EQ(
      shown(findings, node_of_eight()),
      "fail     gpu.temperature  8 of 8 GPUs  the GPU is at 95 C, above 90 C; all of them: first "
      "check what they share (driver, power, cooling) -> report to the provider");
  const auto text = shown(findings, node_of_eight(), {.verbose = true});
  EXPECT_THAT(text, AllOf(HasSubstr("gpu0 "), HasSubstr("gpu7 "), Not(HasSubstr("8 of 8"))));
  const Report report{.findings = findings, .groups = fold(findings, node_of_eight())};
  EXPECT_THAT(report.groups, SizeIs(1));
  EXPECT_THAT(to_json(report), AllOf(HasSubstr("gpu0"), HasSubstr("gpu7")));
}

TEST(FoldingTest, TheMountsOfOneServerAreOneLine) {
  auto snapshot = node_of_eight();
  std::vector<Finding> findings;
  for (const auto* point : {"/home", "/data", "/scratch"}) {
    Mount mount;
    mount.point = point;
    mount.type = "nfs4";
    mount.source = fmt::format("nfs1:/export{}", point);
    snapshot.mounts->mounts.push_back(mount);
    findings.push_back({.check = "host.mounts",
                        .device = point,
                        .outcome = Outcome::fail,
                        .message = fmt::format("{} does not answer", point),
                        .remedy = Remedy::reboot});
  }
  EXPECT_THAT(shown(findings, snapshot),
              AllOf(HasSubstr("3 of 3 mounts of nfs1  /home: /home does not answer"),
                    Not(HasSubstr("\n"))));
}

TEST(FoldingTest, ChecksThatCannotJudgeForOneCauseAreOneLine) {
  Snapshot snapshot;
  for_each_section(snapshot, [](Probe probe, auto& section) {
    section.status = Status::error;
    section.reason =
        fmt::format("open /{}/x: No such file or directory", probe == Probe::cpu ? "sys" : "proc");
  });
  const auto report = judge(snapshot, Profile{}, {.only = {"*"}});
  const auto text = to_text(report);
  const auto unknown = std::string_view("unknown  ");
  EXPECT_THAT(report.groups, SizeIs(1));
  EXPECT_THAT(text, HasSubstr("found no files below /proc, /sys\n"));
  std::size_t lines = 0;
  for (auto at = text.find(unknown); at != std::string::npos; at = text.find(unknown, at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 1) << text;
  EXPECT_THAT(text, Not(HasSubstr("\nprobe ")));
}

}  // namespace
}  // namespace muster::folding_test
