// SPDX-License-Identifier: Apache-2.0
// Access of GPUs to each other, and of HCAs to GPUs.
#include "checks/run.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_p2p_test {
namespace {

Profile profile() {
  Profile profile = gpu_node::profile();
  profile.gpu->p2p.expected = true;
  return profile;
}

void answer(Snapshot& node, unsigned a, unsigned b, unsigned status) {
  Gpu& first = gpu_of(node, a);
  Gpu& second = gpu_of(node, b);
  (*first.peers)[second.address] = status;
  (*second.peers)[first.address] = status;
}

// GPUs that all reach each other.
Snapshot node_of(unsigned gpus) {
  Snapshot node = gpu_node::node();
  node.nvml->gpus.clear();
  for (unsigned i = 0; i < gpus; ++i) node.nvml->gpus.push_back(gpu_node::h100(i));
  for (unsigned a = 0; a < gpus; ++a) {
    for (unsigned b = a + 1; b < gpus; ++b) answer(node, a, b, 0);
  }
  return node;
}

// Clears `seen_by`, which the runner uses.
Findings judge(const Snapshot& snapshot, const Profile& expected = profile()) {
  auto findings = ask(checks::gpu_p2p::check, snapshot, expected);
  for (Finding& finding : findings) finding.seen_by.clear();
  return findings;
}

Expected broken(std::string device, std::int64_t pairs, Remedy remedy) {
  return fails(std::move(device), remedy, {pairs, 0, "pairs"});
}

TEST(GpuP2pTest, PassesIfAllReachEachOther) {
  EXPECT_THAT(judge(node_of(4)), ElementsAre(passes()));
}

TEST(GpuP2pTest, NamesAPairOnce) {
  Snapshot node = node_of(4);
  answer(node, 1, 3, 5);
  EXPECT_THAT(judge(node), ElementsAre(broken("gpu1", 1, Remedy::reboot)));
}

TEST(GpuP2pTest, APairThatIsBrokenOneWayIsBroken) {
  for (const auto& [from, to] : {std::pair{1U, 2U}, std::pair{2U, 1U}}) {
    auto node = node_of(4);
    (*gpu_of(node, from).peers)[gpu_of(node, to).address] = 3;
    EXPECT_THAT(judge(node), Contains(is(Outcome::fail)));
  }
}

TEST(GpuP2pTest, OnlyASettingOfTheDriverIsFixed) {
  for (unsigned status = 1; status <= 5; ++status) {
    Snapshot node = node_of(2);
    answer(node, 0, 1, status);
    EXPECT_THAT(judge(node),
                ElementsAre(broken("gpu0", 1, status == 4 ? Remedy::fix_config : Remedy::reboot)));
  }
}

TEST(GpuP2pTest, AGpuThatReachesNoneIsNamedOnce) {
  Snapshot node = node_of(4);
  for (const unsigned peer : {0U, 1U, 3U}) answer(node, 2, peer, 5);
  EXPECT_THAT(judge(node), ElementsAre(broken("gpu2", 3, Remedy::reboot)));
}

TEST(GpuP2pTest, NamesOtherBrokenPairsAsWell) {
  Snapshot node = node_of(5);
  for (const unsigned peer : {0U, 1U, 3U, 4U}) answer(node, 2, peer, 5);
  answer(node, 0, 4, 4);
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::fail, "gpu2"), is(Outcome::fail, "gpu0")));
}

TEST(GpuP2pTest, IfNoneReachesAnotherItIsTheNodesFault) {
  Snapshot node = node_of(3);
  answer(node, 0, 1, 1);
  answer(node, 0, 2, 1);
  answer(node, 1, 2, 4);
  EXPECT_THAT(judge(node), ElementsAre(broken("node", 3, Remedy::fix_config)));
}

TEST(GpuP2pTest, PartitionedGpusHaveNoPeersByDesign) {
  Snapshot node = node_of(3);
  gpu_of(node, 0).modes.mig = true;
  answer(node, 0, 1, 5);
  answer(node, 0, 2, 5);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuP2pTest, MissingAnswersAreUnknown) {
  Snapshot node = node_of(3);
  answer(node, 0, 1, 6);
  gpu_of(node, 0).peers->erase("0003:00:00.0");
  gpu_of(node, 2).peers->erase("0001:00:00.0");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuP2pTest, APairThatIsUnknownOneWayIsUnknown) {
  for (const auto& [from, to] : {std::pair{1U, 2U}, std::pair{2U, 1U}}) {
    for (const unsigned status : {6U, 7U}) {
      Snapshot node = node_of(4);
      (*gpu_of(node, from).peers)[gpu_of(node, to).address] = status;
      EXPECT_THAT(judge(node), ElementsAre(unknown())) << status;
      (*gpu_of(node, to).peers)[gpu_of(node, from).address] = 3;
      EXPECT_THAT(judge(node), ElementsAre(broken("gpu1", 1, Remedy::reboot))) << status;
    }
    Snapshot node = node_of(4);
    gpu_of(node, from).peers->erase(gpu_of(node, to).address);
    EXPECT_THAT(judge(node), ElementsAre(unknown()));
  }
}

TEST(GpuP2pTest, PeersThatCannotBeReadAreUnknownForThatGpu) {
  Snapshot node = node_of(4);
  gpu_of(node, 2).peers = unreadable("nvmlDeviceGetP2PStatus: Unknown Error (999)");
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu2")));
  EXPECT_THAT(judge(node, gpu_node::profile()), ElementsAre(skips()));
  answer(node, 0, 1, 5);
  EXPECT_THAT(judge(node), ElementsAre(broken("gpu0", 1, Remedy::reboot), unknown("gpu2")));
  (*gpu_of(node, 3).peers)[gpu_of(node, 2).address] = 5;
  EXPECT_THAT(judge(node), Contains(broken("gpu2", 1, Remedy::reboot)));
  for (auto& gpu : node.nvml->gpus) gpu.peers = unreadable("nvmlX: Timeout (10)");
  EXPECT_THAT(judge(node),
              ElementsAre(unknown("gpu0"), unknown("gpu1"), unknown("gpu2"), unknown("gpu3")));
}

TEST(GpuP2pTest, LostAndStuckGpusAreLeftToGpuPresent) {
  Snapshot node = node_of(4);
  gpu_of(node, 1).lost = "nvmlDeviceGetName: GPU is lost (15)";
  gpu_of(node, 2).stuck = "nvmlDeviceGetTemperature";
  for (unsigned peer : {0U, 3U}) {
    answer(node, 1, peer, 5);
    answer(node, 2, peer, 5);
  }
  EXPECT_EQ(judge(node).front(), passes());
  gpu_of(node, 3).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

Snapshot whose_pairs_hang() {
  Snapshot node = node_of(2);
  for (auto& gpu : node.nvml->gpus) {
    gpu.peers = unreadable("nvmlDeviceGetP2PStatus did not return");
  }
  return node;
}

TEST(GpuP2pTest, ACallThatNeverReturnsFailsWithoutALimit) {
  const Expected hung = fails("node", Remedy::reboot, {}, "NHC2015");
  EXPECT_THAT(judge(whose_pairs_hang()), ElementsAre(hung));
  EXPECT_THAT(judge(whose_pairs_hang(), gpu_node::profile()), ElementsAre(hung));
}

TEST(GpuP2pTest, AGpuThatHangsEveryCallIsNamedByGpuPresentAlone) {
  Snapshot node = whose_pairs_hang();
  gpu_of(node, 1).stuck = "nvmlDeviceGetName";
  const auto report = judge(node, profile(), {.only = {"gpu.present", "gpu.p2p"}});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"gpu.present", Outcome::fail},
                                         CheckResult{"gpu.p2p", Outcome::skip}));
}

TEST(GpuP2pTest, SkipsWithoutAnExpectationOrAMatrix) {
  Snapshot node = node_of(2);
  EXPECT_THAT(judge(node, gpu_node::profile()), ElementsAre(skips()));
  gpu_of(node, 0).peers = absent();
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(GpuP2pTest, IsLeftToTheServiceThatSetsUpTheFabric) {
  Snapshot node = node_of(3);
  for (const auto& [a, b] : {std::pair{0U, 1U}, {0U, 2U}, {1U, 2U}}) answer(node, a, b, 5);
  node.services = observed(Services{.active = std::vector<std::string>{}});
  Profile expected = profile();
  expected.host->services.active = {"nvidia-fabricmanager.service"};
  const auto report = judge(node, expected, {.only = {"gpu.p2p", "host.services"}});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.services", Outcome::fail},
                                         CheckResult{"gpu.p2p", Outcome::skip}));
}

}  // namespace
}  // namespace muster::gpu_p2p_test

namespace muster::gpu_direct_rdma_test {
namespace {

Profile profile() {
  Profile profile = gpu_node::profile();
  profile.ib->present.count = 2;
  return profile;
}

// Without nvidia_peermem, but with everything that dma-buf needs.
Snapshot with_dma_buf() {
  Snapshot node = gpu_node::node();
  node.kernel = observed(Kernel{.release = "5.15.0-1073-azure"s,
                                .modules = std::vector<std::string>{"nvidia", "nvidia_uvm"}});
  node.nvml->driver = "535.161.08"s;
  node.nvml->open_module = true;
  return node;
}

Snapshot with_module(std::string name) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = false;
  node.kernel->modules->push_back(std::move(name));
  return node;
}

Findings judge(const Snapshot& snapshot, const Profile& expected = profile()) {
  auto findings = ask(checks::gpu_direct_rdma::check, snapshot, expected);
  for (Finding& finding : findings) finding.seen_by.clear();
  return findings;
}

Expected fails() { return muster::fails("node", Remedy::fix_config); }

TEST(GpuDirectRdmaTest, EitherModuleOrDmaBufIsEnough) {
  EXPECT_THAT(judge(with_module("nvidia_peermem")), ElementsAre(passes()));
  EXPECT_THAT(judge(with_module("nv_peer_mem")), ElementsAre(passes()));
  EXPECT_THAT(judge(with_dma_buf()), ElementsAre(passes()));
}

TEST(GpuDirectRdmaTest, AnOlderDriverHasNoDmaBuf) {
  Snapshot node = with_dma_buf();
  node.nvml->driver = "510.47.03"s;
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  node.nvml->driver = "515.43.04"s;
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
  node.nvml->open_module = false;
  EXPECT_THAT(judge(node), ElementsAre(fails()));
}

TEST(GpuDirectRdmaTest, AnOlderKernelHasNoDmaBuf) {
  Snapshot node = with_dma_buf();
  node.kernel->release = "5.4.0-150-generic"s;
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  for (const auto* release : {"5.12.0", "6.8.0-1015-azure", "5.14.0-427.el9.x86_64"}) {
    node.kernel->release = std::string(release);
    EXPECT_EQ(judge(node).front().outcome, Outcome::pass) << release;
  }
  // An enterprise kernel may have it under an older number.
  node.kernel->release = "4.18.0-553.el8_10.x86_64"s;
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuDirectRdmaTest, ASettingMayTurnDmaBufOff) {
  Snapshot node = with_dma_buf();
  node.environment->nccl = std::vector<NcclSetting>{
      {.name = "NCCL_DMABUF_ENABLE", .value = "1", .origin = "/etc/nccl.conf:1"},
      {.name = "NCCL_DMABUF_ENABLE", .value = "0", .origin = "environment"}};
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  node.environment->nccl->pop_back();
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuDirectRdmaTest, IsUnknownForUnknownModes) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = absent();
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->release = "5.4.0"s;
  EXPECT_THAT(judge(node), ElementsAre(fails())) << "a certain reason comes first";
  node = with_dma_buf();
  node.nvml->driver = "?"s;
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node = with_dma_buf();
  node.kernel->release = "custom"s;
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->release = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->modules = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuDirectRdmaTest, WithoutAnUsableDriverTheModuleAloneIsJudged) {
  Snapshot node = with_dma_buf();
  node.nvml->trouble = "nvmlInit_v2: Driver Not Loaded (9)";
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  node.nvml = {.status = Status::absent, .reason = "foreign root"};
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  node.nvml = {.status = Status::timeout, .reason = "no answer"};
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->modules->emplace_back("nvidia_peermem");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuDirectRdmaTest, OnlyIfGpusAndHcasAreExpected) {
  EXPECT_THAT(judge(with_dma_buf(), gpu_node::profile()), ElementsAre(skips()));
  Profile amd = profile();
  amd.gpu->present.vendor = GpuVendor::amd;
  EXPECT_THAT(judge(with_dma_buf(), amd), ElementsAre(skips()));
  Profile without = profile();
  without.gpu->direct_rdma.expected = false;
  EXPECT_THAT(judge(with_dma_buf(), without), ElementsAre(skips()));
}

TEST(GpuDirectRdmaTest, AModuleThatHostModulesMissesIsItsFinding) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = false;
  Profile expected = profile();
  expected.host->modules.required = {"nvidia_peermem|nv_peer_mem"};
  const auto report = judge(node, expected, {.only = {"gpu.direct_rdma", "host.modules"}});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.modules", Outcome::fail},
                                         CheckResult{"gpu.direct_rdma", Outcome::skip}));
  EXPECT_EQ(judge(node, expected, {.only = {"gpu.direct_rdma"}}).verdict, Verdict::unhealthy);
}

}  // namespace
}  // namespace muster::gpu_direct_rdma_test
