// SPDX-License-Identifier: Apache-2.0
// Compares simulated nodes with what lspci reads from configuration space and lstopo from sysfs. A
// test whose tool is not installed is skipped.
#include "tests/nodes/render.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tests/nodes/faults.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::nodes {
namespace {

bool installed(const std::string& tool) {
  return !output_of(fmt::format("command -v {}", tool)).empty();
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

// Only the files that the tools read: a large node has some ten thousand files.
Tree hardware_of(const NodeDescription& node) {
  auto tree = render(node);
  for (const auto& hca : node.hcas) {
    const auto port = fmt::format("{}/infiniband/{}/ports/1", device_path(hca.pci), hca.name);
    for (const char* folder : {"pkeys", "counters", "hw_counters"}) {
      tree.remove(fmt::format("{}/{}", port, folder));
    }
  }
  for (const auto& cpu : node.cpus) {
    tree.remove(fmt::format("sys/devices/system/cpu/cpu{}/cache", cpu.id));
  }
  return tree;
}

class WrittenNode {
 public:
  explicit WrittenNode(const NodeDescription& node)
      : written_(write_tree(hardware_of(node), path())) {}

  [[nodiscard]] bool ok() const { return written_; }

  [[nodiscard]] std::filesystem::path path() const { return dir_.path() / "node"; }

  [[nodiscard]] std::string lspci(std::string_view options) const {
    return output_of(
        fmt::format("lspci -A linux-sysfs -O sysfs.path={}/sys/bus/pci -D {} 2>/dev/null",
                    path().string(), options));
  }

  [[nodiscard]] std::string lstopo() const {
    return output_of(
        fmt::format("HWLOC_FSROOT={} HWLOC_COMPONENTS=-x86 lstopo-no-graphics --whole-io "
                    "--no-caches --of console",
                    path().string()));
  }

 private:
  TempDir dir_;
  bool written_;
};

const WrittenNode& h100() {
  static const WrittenNode node(nd96isr_h100_v5());
  return node;
}

// A GPU server reduced to four processors, which is enough for lspci.
NodeDescription bare_metal() {
  auto node = bare_metal_h100();
  give_processors(node, 2, 2, 1, 2);
  return node;
}

TEST(RenderTest, LspciSeesEveryFunctionWithItsLinkAndNode) {
  if (!installed("lspci")) GTEST_SKIP() << "lspci is not installed";
  ASSERT_TRUE(h100().ok());
  EXPECT_EQ(count(h100().lspci("-n"), "\n"), 8U + 9U + 8U);
  const auto gpu = h100().lspci("-vv -s 0009:00:00.0");
  EXPECT_THAT(gpu, HasSubstr("LnkSta:\tSpeed 32GT/s, Width x16"));
  EXPECT_THAT(gpu, HasSubstr("NUMA node: 1"));
  EXPECT_THAT(gpu, HasSubstr("Kernel driver in use: nvidia"));
}

TEST(RenderTest, LspciCallsANarrowLinkDowngraded) {
  if (!installed("lspci")) GTEST_SKIP() << "lspci is not installed";
  auto node = nd96isr_h100_v5();
  give_processors(node, 2, 2, 1, 2);
  change_node(*find_fault("hca_slow_link"), node);
  const WrittenNode slow(node);
  ASSERT_TRUE(slow.ok());
  EXPECT_THAT(slow.lspci("-vv -s 0106:00:00.0"),
              HasSubstr("LnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)"));
}

TEST(RenderTest, LspciHangsBareMetalDevicesBelowTheirSwitch) {
  if (!installed("lspci")) GTEST_SKIP() << "lspci is not installed";
  const WrittenNode node(bare_metal());
  ASSERT_TRUE(node.ok());
  EXPECT_THAT(node.lspci("-t"), HasSubstr("-01.0-[10-14]----00.0-[11-14]--+-00.0-[12]----00.0"));
}

TEST(RenderTest, LspciReadsAccessControl) {
  if (!installed("lspci")) GTEST_SKIP() << "lspci is not installed";
  auto node = bare_metal();
  change_node(*find_fault("acs_on"), node);
  const WrittenNode controlled(node);
  ASSERT_TRUE(controlled.ok());
  EXPECT_THAT(controlled.lspci("-vv -s 0000:11:00.0"),
              HasSubstr("ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+"));
}

TEST(RenderTest, LstopoPlacesDevicesByTheirLocalProcessors) {
  if (!installed("lstopo-no-graphics")) GTEST_SKIP() << "lstopo-no-graphics is not installed";
  ASSERT_TRUE(h100().ok());
  const auto topology = h100().lstopo();
  EXPECT_THAT(topology, HasSubstr("Machine (1870GB total)"));
  EXPECT_EQ(count(topology, "Core L#"), 96U);
  EXPECT_EQ(count(topology, "NUMANode L#"), 2U);
  EXPECT_EQ(count(topology, "(3D)"), 8U);
  EXPECT_EQ(count(topology, "OpenFabrics \"mlx5_ib"), 8U);
  EXPECT_EQ(count(topology, "Block(Disk) \"nvme"), 8U);
  EXPECT_LT(topology.find("PCI 0104:00:00.0"), topology.find("NUMANode L#1"));
  EXPECT_GT(topology.find("PCI 0105:00:00.0"), topology.find("NUMANode L#1"));
}

TEST(RenderTest, LstopoCountsTwoThreadsPerCore) {
  if (!installed("lstopo-no-graphics")) GTEST_SKIP() << "lstopo-no-graphics is not installed";
  const WrittenNode node(laptop());
  ASSERT_TRUE(node.ok());
  const auto topology = node.lstopo();
  EXPECT_EQ(count(topology, "Core L#"), 4U);
  EXPECT_EQ(count(topology, "PU L#"), 8U);
}

TEST(RenderTest, AnOfflineProcessorKeepsItsFolderAndNothingElse) {
  auto node = laptop();
  node.cpus[5].online = false;
  const auto tree = render(node);
  EXPECT_EQ(tree.content("sys/devices/system/cpu/online"), "0-4,6-7\n");
  EXPECT_EQ(tree.content("sys/devices/system/cpu/present"), "0-7\n");
  EXPECT_EQ(tree.content("sys/devices/system/cpu/cpu5/online"), "0\n");
  EXPECT_EQ(tree.find("sys/devices/system/cpu/cpu5/topology/core_id"), nullptr);
  EXPECT_EQ(tree.content("sys/devices/system/node/node0/cpulist"), "0-4,6-7\n");
  EXPECT_THAT(std::string(tree.content("proc/cpuinfo")), Not(HasSubstr("processor\t: 5\n")));
}

TEST(RenderTest, MasksHaveAWordForEvery32Processors) {
  EXPECT_EQ(render(nd96isr_h100_v5()).content("sys/devices/system/node/node0/cpumap"),
            "00000000,0000ffff,ffffffff\n");
}

TEST(RenderTest, ADeviceOffTheBusReadsAllOnes) {
  auto node = nd96isr_h100_v5();
  node.gpus[0].pci.responding = false;
  const auto tree = render(node);
  const auto folder = device_path(node.gpus[0].pci);
  EXPECT_EQ(tree.content(fmt::format("{}/config", folder)), std::string(4096, '\xff'));
  EXPECT_EQ(tree.content(fmt::format("{}/current_link_width", folder)), "63\n");
}

TEST(RenderTest, KernelLogRecordsHavePriorityNumberAndTime) {
  NodeDescription node = laptop();
  node.kernel_log = {{.level = 3, .facility = 1, .time_us = 42, .text = "text\n KEY=value"}};
  EXPECT_EQ(render(node).content("dev/kmsg"), "11,0,42,-;text\n KEY=value\n");
}

TEST(RenderTest, AFaultChangesOnlyWhatItIsAbout) {
  const auto before = render(nd96isr_h100_v5());
  const auto after = render_with(nd96isr_h100_v5(), {find_fault("pkey_limited_only")});
  std::vector<std::string> changed;
  for (const auto& [path, entry] : after.entries()) {
    const auto* was = before.find(path);
    if (was == nullptr || *was != entry) changed.push_back(path);
  }
  ASSERT_THAT(changed, SizeIs(2));
  EXPECT_THAT(changed[0], HasSubstr("mlx5_ib1/ports/1/pkeys/0"));
  EXPECT_THAT(changed[1], HasSubstr("mlx5_ib1/ports/1/pkeys/1"));
}

TEST(RenderTest, BusyNodesHaveAHundredProcessesAndTwoThousandRecords) {
  const auto tree = render(busy(nd96isr_h100_v5()));
  EXPECT_EQ(count(tree.content("dev/kmsg"), ",-;"), 2000U);
  std::set<std::string> processes;
  for (const auto& path : tree.files()) {
    if (path.starts_with("proc/") && path.ends_with("/stat")) processes.insert(path);
  }
  EXPECT_THAT(processes, SizeIs(100));
}

// Four processors keep rendering fast.
NodeDescription small(NodeDescription node) {
  give_processors(node, 2, 2, 1, 2);
  return node;
}

TEST(FaultTest, EveryFaultIsMadeOnEachOtherNodeOrRefused) {
  std::size_t made = 0;
  std::size_t refused = 0;
  for (const auto& named : all_nodes()) {
    const auto node = small(named.make());
    for (const auto& fault : all_faults()) {
      if (fault.node == named.name) continue;
      const auto tree = make_faulty(node, {&fault});
      ++(tree ? made : refused);
      if (tree) continue;
      const auto begin =
          fmt::format("{} is made for {}, and {} ", fault.name, fault.node, node.name);
      EXPECT_THAT(tree.error().message,
                  AnyOf(begin + "lacks what it changes", begin + "stays as it is"));
    }
  }
  EXPECT_GT(made, 0U);
  EXPECT_GT(refused, 0U);
}

TEST(FaultTest, AFaultOfAnHcaThatIsNotThereIsRefused) {
  const auto tree = make_faulty(hb176rs_v4(), {find_fault("port_half_width")});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().message,
            "port_half_width is made for nd96isr_h100_v5, and hb176rs_v4 lacks what it changes");
}

TEST(FaultTest, FaultsThatTakeEachOthersPartAreRefused) {
  const auto node = small(nd96isr_h100_v5());
  std::vector<const Fault*> faults(3, find_fault("hca_missing"));
  EXPECT_TRUE(make_faulty(node, faults));
  faults.resize(node.hcas.size(), find_fault("hca_missing"));
  EXPECT_FALSE(make_faulty(node, faults));
}

}  // namespace
}  // namespace muster::nodes
