// SPDX-License-Identifier: Apache-2.0
// Each shipped profile loads, has a source for each limit, and recognises its own node; the files
// in configs/ are consistent, and the examples for a site work.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/profile/choice.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;
using ::testing::IsSupersetOf;
using ::testing::Optional;

std::vector<std::string> names() { return profile_names({}).value_or(std::vector<std::string>()); }

// Loads each profile once for several tests. Has a wrong name if it does not load, so that every
// expectation fails.
const Profile& profile(const std::string& name) {
  static std::map<std::string, Profile> all;
  if (const auto known = all.find(name); known != all.end()) return known->second;
  auto loaded = load_profile({}, name);
  if (!loaded) ADD_FAILURE() << loaded.error().message;
  return all.emplace(name, loaded ? *std::move(loaded) : Profile{.name = "did not load"})
      .first->second;
}

class ShippedProfileTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, ShippedProfileTest, ::testing::ValuesIn(names()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(ShippedProfileTest, LoadsWithoutAWarning) {
  EXPECT_THAT(review(profile(GetParam())), IsEmpty());
}

TEST_P(ShippedProfileTest, EveryLimitHasASourceAndADate) {
  const auto& loaded = profile(GetParam());
  std::vector<std::string> without;
  for (const auto& [path, value] : loaded.values) {
    const auto& origin = value.origin;
    const bool is_limit = !path.starts_with("recognise.") && !path.starts_with("contexts.") &&
                          path.find('.') != std::string::npos;
    if (is_limit && (origin.source.empty() || origin.as_of.empty())) without.push_back(path);
  }
  EXPECT_THAT(without, IsEmpty());
}

TEST_P(ShippedProfileTest, MustObserveMatchesTheExpectedDevices) {
  const auto& loaded = profile(GetParam());
  const auto asks_for = [&](std::string_view group) {
    return std::ranges::count(loaded.must_observe, group) > 0;
  };
  const auto& gpus = loaded.gpu->present;
  const bool of_nvml = gpus.vendor.value_or(GpuVendor::nvidia) == GpuVendor::nvidia;
  const auto& hcas = loaded.ib->present;
  // A base for others may leave the counts to them.
  EXPECT_TRUE(!gpus.count || asks_for("gpu") == (*gpus.count > 0 && of_nvml));
  EXPECT_TRUE(!gpus.count || (asks_for("host") && asks_for("pci")));
  EXPECT_TRUE(!hcas.count || asks_for("ib") == (*hcas.count > 0));
}

// The hardware of a node as the profile expects it.
Hardware healthy_node(const Profile& p) {
  Hardware node{.chassis_asset_tag = p.recognise.chassis_asset_tag.value_or(""),
                .dmi_vendor = p.recognise.dmi_vendor.value_or(""),
                .gpu_pci_ids = GpuIds{},
                .infiniband_hcas =
                    p.recognise.infiniband.value_or(false) ? p.ib->present.count.value_or(1) : 0,
                .nvme_disks = p.host->nvme.count,
                .cores = p.host->cpu.cores.value_or(0),
                .memory_bytes = p.host->memory.total.value_or(Bytes{}).value};
  if (!p.recognise.gpu_pci_ids.empty()) {
    node.gpu_pci_ids = GpuIds{{p.recognise.gpu_pci_ids.front(), p.gpu->present.count.value_or(0)}};
  }
  return node;
}

TEST_P(ShippedProfileTest, RecognisesItsOwnNode) {
  const auto& loaded = profile(GetParam());
  if (!loaded.recognise.chassis_asset_tag) return;  // a base for others, or chosen by name
  static const auto candidates = read_candidates({});
  ASSERT_TRUE(candidates.has_value()) << candidates.error().message;
  const Recognised found = choose(*candidates, healthy_node(loaded));
  const bool itself = found.profile == loaded.name;
  // Profiles that recognition cannot distinguish are reported.
  const bool said =
      found.profile == "generic" && found.evidence.back().find(loaded.name) != std::string::npos;
  EXPECT_TRUE(itself || said) << found.profile << ": " << found.evidence.back();
}

TEST(ShippedProfilesTest, DistinguishHBv2AndHBv3ByTheirDisks) {
  const auto candidates = read_candidates({});
  ASSERT_TRUE(candidates.has_value()) << candidates.error().message;
  for (const std::string name : {"hb120rs_v2", "hb120rs_v3"}) {
    EXPECT_EQ(choose(*candidates, healthy_node(profile(name))).profile, name);
  }
}

TEST(ShippedProfilesTest, CoverEverySize) {
  constexpr std::string_view kSizes =
      "generic nd40rs_v2 nd96asr_v4 nd96amsr_a100_v4 nd96is_h100_v5 nd96isr_h100_v5 nd96is_h200_v5 "
      "nd96isr_h200_v5 nd96isrf_h200_v5 nd128isr_ndr_gb200_v6 nd128isr_gb300_v6 hgx_b200 "
      "nd96isr_mi300x_v5 nd96asr_mi200_v4 nc24ads_a100_v4 nc48ads_a100_v4 nc96ads_a100_v4 "
      "nc40ads_h100_v5 nc80adis_h100_v5 nc6s_v3 nc12s_v3 nc24s_v3 nc24rs_v3 hb120rs_v2 hb120rs_v3 "
      "hb120-96rs_v3 hb120-64rs_v3 hb120-32rs_v3 hb120-16rs_v3 hb176rs_v4 hb176-144rs_v4 "
      "hb176-96rs_v4 hb176-48rs_v4 hb176-24rs_v4 hx176rs hx176-144rs hx176-96rs hx176-48rs "
      "hx176-24rs hc44rs hc44-32rs hc44-16rs";
  EXPECT_THAT(names(), IsSupersetOf(split_words(kSizes)));
}

fs::path configs() { return fs::path(MUSTER_SOURCE_DIR) / "configs"; }

// In muster.yaml examples follow `#` directly or indented; prose follows `# `.
std::string with_examples(std::string_view text) {
  std::string result;
  for (const auto line : split_lines(text)) {
    const bool prose = line.starts_with("# ") && !line.starts_with("#  ");
    const bool example = line.starts_with('#') && !prose;
    result.append(example ? line.substr(1) : line).append("\n");
  }
  return result;
}

TEST(ShippedProfilesTest, GenericExpectsNeitherGpusNorInfiniband) {
  const auto generic = profile("generic");
  EXPECT_FALSE(expects_gpus(generic));
  EXPECT_FALSE(expects_hcas(generic));
}

TEST(ShippedProfilesTest, AConstrainedSizeDiffersInItsCoresOnly) {
  const auto& whole = profile("hb176rs_v4");
  const auto& part = profile("hb176-24rs_v4");
  EXPECT_THAT(part.host->cpu.cores, Optional(24));
  std::vector<std::string> different;
  for (const auto& [path, value] : part.values) {
    const auto found = whole.values.find(path);
    if (found == whole.values.end() || found->second.text != value.text) different.push_back(path);
  }
  EXPECT_THAT(different,
              ElementsAre("host.cpu.cores", "host.cpu.threads", "recognise.cores", "summary"));
}

TEST(ShippedProfilesTest, AnHcaIsOnTheNumaNodeOfItsGpu) {
  for (const auto* name : {"nd96asr_v4", "nd96isr_h100_v5"}) {
    const auto& topo = profile(name).topo;
    EXPECT_EQ(topo->pairing.pairs.size(), 8U) << name;
    for (const auto& [gpu, hca] : topo->pairing.pairs) {
      EXPECT_EQ(topo->numa.gpu.at(gpu), topo->numa.hca.at(hca)) << name << " " << gpu;
    }
  }
}

TEST(ShippedProfilesTest, EveryDeviceThatIsCountedHasItsPlace) {
  for (const auto* name : {"nd40rs_v2", "nd96asr_v4", "nd96isr_h100_v5", "nc96ads_a100_v4"}) {
    const auto node = profile(name);
    EXPECT_THAT(node.gpu->present.count, Optional(static_cast<int>(node.topo->numa.gpu.size())))
        << name;
    EXPECT_THAT(node.ib->present.count, Optional(static_cast<int>(node.topo->numa.hca.size())))
        << name;
  }
}

TEST(ShippedProfilesTest, RecognisesANodeWithoutAGpuAndAnHca) {
  const auto candidates = read_candidates({});
  ASSERT_TRUE(candidates) << candidates.error().message;
  const auto found = choose(*candidates, {.chassis_asset_tag = "7783-7084-3265-9085-8269-3286-77",
                                          .dmi_vendor = "Microsoft Corporation",
                                          .gpu_pci_ids = GpuIds{{"10de:2330", 7}},
                                          .infiniband_hcas = 7,
                                          .cores = 96,
                                          .memory_bytes = 1915071.0 * 1024 * 1024});
  EXPECT_EQ(found.profile, "nd96isr_h100_v5");
}

TEST(ShippedProfilesTest, SizesThatLookTheSameShareAProfile) {
  EXPECT_EQ(profile("nd96isrf_h200_v5").name, "nd96isr_h200_v5");
}

TEST(ShippedProfilesTest, OnGraceSharedMemoryMayBeOff) {
  EXPECT_FALSE(profile("nd128isr_gb300_v6").env->nccl.harmful.contains("NCCL_SHM_DISABLE"));
  EXPECT_TRUE(profile("nd96isr_h100_v5").env->nccl.harmful.contains("NCCL_SHM_DISABLE"));
}

TEST(ShippedProfilesTest, GpusAreIdleAroundJobs) {
  const auto contexts = profile("generic").contexts;
  for (const auto* name : {"prolog", "epilog", "boot"}) {
    EXPECT_TRUE(contexts.at(name).gpus_idle) << name;
  }
  for (const auto* name : {"manual", "periodic"}) {
    EXPECT_FALSE(contexts.at(name).gpus_idle) << name;
  }
}

TEST(ShippedProfilesTest, PeersAreExpectedOnlyIfLinksJoinAllGpus) {
  for (const auto* name : {"nd96asr_v4", "nd96isr_h100_v5", "nc80adis_h100_v5"}) {
    EXPECT_THAT(profile(name).gpu->p2p.expected, Optional(true)) << name;
  }
  // Pairs of links only, or a mesh that does not join all.
  for (const auto* name : {"generic", "nc96ads_a100_v4", "nd40rs_v2", "nc24s_v3"}) {
    EXPECT_FALSE(profile(name).gpu->p2p.expected.has_value()) << name;
  }
}

TEST(ShippedProfilesTest, TheExamplesForASiteLoad) {
  const TempDir site;
  site.write("muster.yaml", with_examples(read_yaml_text(configs() / "muster.yaml").value()));
  const auto sources = ProfileSources{.site = site.path()};
  const auto name = read_site(sources);
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->profile, "nd96isr_h100_v5");
  const auto chosen = load_profile(sources, name->profile).value();
  EXPECT_EQ(chosen.policies.at("host.disk").fail_as, Outcome::warn);
  EXPECT_EQ(chosen.ib->present.name, "mlx5_*");
  EXPECT_THAT(chosen.contexts.at("prolog").run,
              ElementsAre("pci.devices", "ib.*", "host.mounts", "muster.probes"));
  EXPECT_TRUE(chosen.contexts.at("periodic").gpus_idle);
}

TEST(ShippedProfilesTest, TheShippedSiteFileChangesNothing) {
  const auto name = read_site({.site = configs()});
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->profile, "");
}

TEST(ShippedProfilesTest, TheRuleForNdA100OverNodesIs185AtEightGibibytes) {
  for (const auto* name : {"nd96asr_v4", "nd96amsr_a100_v4"}) {
    const auto& of_node = profile(name);
    ASSERT_EQ(of_node.bench->job_all_reduce.size(), 1U);
    const auto& limit = of_node.bench->job_all_reduce.front();
    EXPECT_EQ(limit.promised, BytesPerSecond{185e9});
    EXPECT_EQ(limit.warn_below, BytesPerSecond{185e9});
    EXPECT_EQ(limit.fail_below, BytesPerSecond{181e9});
    EXPECT_EQ(limit.expected, BytesPerSecond{188e9});
    EXPECT_EQ(limit.size, Bytes{8.0 * 1024 * 1024 * 1024});
    EXPECT_EQ(limit.algorithm, BenchAlgorithm::any);
    EXPECT_EQ(limit.nodes_at_least, 2);
  }
}

// For several nodes a fall-back to TCP is a failure.
TEST(ShippedProfilesTest, NodesWithInfinibandAndNvidiaGpusRequireIt) {
  for (const auto* name : {"nd40rs_v2", "nd96asr_v4", "nd96isr_h100_v5", "nd96isr_h200_v5",
                           "nd128isr_ndr_gb200_v6", "nd128isr_gb300_v6"}) {
    const auto& of_node = profile(name);
    EXPECT_THAT(of_node.bench->transport.require, Contains(RequiredTransport::ib)) << name;
    EXPECT_EQ(of_node.bench->environment.count("NCCL_ALGO"), 0U) << name;
  }
  for (const auto* name : {"nd96is_h100_v5", "nc80adis_h100_v5", "generic", "hb176rs_v4"}) {
    EXPECT_THAT(profile(name).bench->transport.require, IsEmpty()) << name;
  }
}

// Runs in a container need the settings of the image's /etc/nccl.conf.
TEST(ShippedProfilesTest, EnvironmentsMatchTheNodesNcclConf) {
  for (const auto* name : {"nd40rs_v2", "nd96asr_v4", "nd96isr_h100_v5", "nc96ads_a100_v4"}) {
    const auto& of_node = profile(name);
    for (const auto& [variable, value] : of_node.env->nccl.require) {
      ASSERT_TRUE(of_node.bench->environment.contains(variable)) << name << ' ' << variable;
      EXPECT_EQ(of_node.bench->environment.at(variable), value) << name << ' ' << variable;
    }
  }
}

using Rate = std::optional<double>;  // none if the profile does not set it

constexpr double kBitsPerByte = 8;

// Payload per transferred bit: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits of 256
// bytes with 242 of payload.
double pcie_efficiency(double transfers) {
  if (transfers <= 5e9) return 8.0 / 10;
  return transfers <= 32e9 ? 128.0 / 130 : 242.0 / 256;
}

Rate pcie(const Profile& p) {
  const auto& [speed, width] = p.pci->link.gpu;
  if (!speed || !width) return std::nullopt;
  return speed->value * *width / kBitsPerByte * pcie_efficiency(speed->value);
}

Rate nvlink(const Profile& p) {
  const auto& [links, speed] = p.gpu->nvlink_state;
  if (!links || !speed) return std::nullopt;
  return *links * speed->value;
}

// All HCAs of one node.
Rate fabric(const Profile& p) {
  const auto& hcas = p.ib->present.count;
  const auto& rate = p.ib->rate.expected;
  if (!hcas || !rate) return std::nullopt;
  return *hcas * rate->value / kBitsPerByte;
}

double gpus(const Profile& p) { return std::max(1, p.gpu->present.count.value_or(1)); }

Rate scaled(Rate rate, double factor) {
  if (rate) *rate *= factor;
  return rate;
}

// A ring moves what one GPU's links carry. With NVLS the switch adds, so every byte crosses a link
// once; an unstated algorithm may be NVLS.
Rate node_all_reduce(const Profile& p, Limit<BenchAlgorithm> algorithm) {
  const double n = gpus(p);
  return algorithm == BenchAlgorithm::ring ? nvlink(p)
                                           : scaled(nvlink(p), std::max(1.0, 2 * (n - 1) / n));
}

// A ring sends all data through every node's HCAs; hierarchical algorithms what is left after
// reducing inside the node; CollNet lets the network add. NVLinks between nodes make them one.
Rate job_all_reduce(const Profile& p, const BenchLimit<BytesPerSecond>& limit) {
  if (limit.over == BenchOver::nvlink) return node_all_reduce(p, limit.algorithm);
  if (limit.algorithm == BenchAlgorithm::ring) return fabric(p);
  const double nodes = limit.nodes_at_least.value_or(2);
  // Without GPUs the ranks are processes, at most one per core.
  const double ranks = expects_gpus(p) ? gpus(p) : std::max(1, p.host->cpu.cores.value_or(1));
  const double all = nodes * ranks;
  return scaled(fabric(p), limit.algorithm == BenchAlgorithm::collnet
                               ? 2 * (all - 1) / all
                               : (all - 1) / (ranks * (nodes - 1)));
}

// Each rank sends to those of other nodes through its share of the node's HCAs.
Rate job_alltoall(const Profile& p, const BenchLimit<BytesPerSecond>& limit) {
  if (limit.over == BenchOver::nvlink) return nvlink(p);
  if (!expects_gpus(p)) return std::nullopt;
  const double ranks = gpus(p);
  const double all = limit.nodes_at_least.value_or(2) * ranks;
  return scaled(fabric(p), (all - 1) / (ranks * (all - ranks)));
}

class Bounds {
 public:
  template <class Q>
  void expect_below(const std::string& path, const BenchLimit<Q>& limit, Rate ceiling) {
    // Even the best links reach only 96 to 98% of their ceiling.
    constexpr double kBestLink = 0.98;
    if (!ceiling) return;
    for (const auto& value : {limit.expected, limit.promised}) {
      if (value) expect_at_most(path, value->value, *ceiling);
    }
    for (const auto& value : {limit.warn_below, limit.fail_below}) {
      if (value) expect_at_most(path, value->value, *ceiling * kBestLink);
    }
  }

  void expect_at_most(const std::string& path, double value, double ceiling) {
    constexpr double kRounding = 1e-9;
    EXPECT_LE(value, ceiling * (1 + kRounding)) << path;
    ++checked_;
  }

  [[nodiscard]] int checked() const { return checked_; }

 private:
  int checked_ = 0;
};

template <class Ceiling>
void expect_each_below(Bounds& bounds, const Profile& p, std::string_view name,
                       const std::vector<BenchLimit<BytesPerSecond>>& limits,
                       const Ceiling& ceiling) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    bounds.expect_below(fmt::format("{}: {}.{}", p.name, name, i), limits[i],
                        ceiling(p, limits[i]));
  }
}

int expect_below_ceilings(const Profile& p) {
  const BenchLimits& bench = *p.bench;
  Bounds bounds;
  const bool through_pcie = bench.host_copy.memory != BenchMemory::host;
  if (through_pcie) bounds.expect_below("host_copy", bench.host_copy, pcie(p));
  bounds.expect_below("peer_copy", bench.peer_copy, nvlink(p));
  bounds.expect_below("node_all_reduce", bench.node_all_reduce,
                      node_all_reduce(p, bench.node_all_reduce.algorithm));
  bounds.expect_below("loopback_all_reduce", bench.loopback_all_reduce,
                      scaled(fabric(p), 1 / gpus(p)));
  expect_each_below(bounds, p, "job_all_reduce", bench.job_all_reduce, job_all_reduce);
  expect_each_below(bounds, p, "job_all_gather", bench.job_all_gather, job_all_reduce);
  expect_each_below(bounds, p, "job_reduce_scatter", bench.job_reduce_scatter, job_all_reduce);
  expect_each_below(bounds, p, "job_alltoall", bench.job_alltoall, job_alltoall);
  const auto& rate = p.ib->rate;
  if (rate.expected) {
    bounds.expect_below("hca_write", bench.hca_write, rate.expected->value);
    const auto& lane =
        kIbSpeeds.at(static_cast<std::size_t>(rate.speed.value_or(IbLaneSpeed::xdr)));
    bounds.expect_at_most("ib.rate", rate.expected->value,
                          lanes_of(rate.width.value_or(IbWidth::x4)) * lane.lane_bps);
  }
  return bounds.checked();
}

// A higher limit would fail every healthy node.
TEST(ShippedProfilesTest, NoLimitIsAboveWhatTheHardwareCanDo) {
  int checked = 0;
  for (const auto& name : names()) {
    SCOPED_TRACE(name);
    checked += expect_below_ceilings(profile(name));
  }
  EXPECT_GT(checked, 200);
}

}  // namespace
}  // namespace muster
