// SPDX-License-Identifier: Apache-2.0
// Limits below `bench`: their order, what they must say, and the physical ceilings above them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/profile/ceilings.hpp"
#include "lib/profile/limits/bench.hpp"
#include "tests/lib/profile/profile_files.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// ND H100 v5's facts; `bench` begins on line 9.
constexpr std::string_view kNdH100 = R"(as_of: 2026-05-01
pci: {link: {gpu: {speed: 32 GT/s, width: 16}, source: s}}
gpu:
  present: {count: 8, source: s}
  nvlink_state: {links: 18, speed: 26.562 GB/s, source: s}
ib: {present: {count: 8, source: s}, rate: {expected: 400 Gb/s, source: s}}
bench:
)";

class BenchLimitsTest : public ::testing::Test {
 protected:
  std::string error_in(std::string_view bench) const {
    return files.error_in(fmt::format("{}  source: s\n{}", kNdH100, bench));
  }

  // In parts of the ceiling, by limit.
  std::vector<std::string> ceilings_of(std::string_view bench) const {
    files.shipped("x", fmt::format("{}  source: s\n{}", kNdH100, bench));
    const auto profile = load_profile(files.sources(), "x");
    if (!profile) return {profile.error().message};
    std::vector<std::string> shown;
    for (const auto& limit : bounded_limits(*profile)) {
      if (!limit.path.starts_with("bench.")) continue;
      shown.push_back(fmt::format("{} <= {}", limit.path, limit.ceiling));
    }
    return shown;
  }

  ProfileFiles files;
};

TEST_F(BenchLimitsTest, MustAscend) {
  EXPECT_EQ(
      error_in("  gemm: {expected: 700 TFLOPS, warn_below: 742 TFLOPS}\n"),
      "profiles/x.yaml:10: 'bench.gemm.warn_below' is 742 TFLOPS, above its 'expected' of 700 "
      "TFLOPS");
  EXPECT_EQ(error_in("  gemm:\n    warn_below: 700 TFLOPS\n    fail_below: 701 TFLOPS\n"),
            "profiles/x.yaml:12: 'bench.gemm.fail_below' is 701 TFLOPS, above its 'warn_below' of "
            "700 TFLOPS");
  EXPECT_EQ(error_in("  stream: {expected: 1 GB/s, fail_below: 2 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.stream.fail_below' is 2 GB/s, above its 'expected' of 1 "
            "GB/s");
  EXPECT_EQ(error_in("  gemm: {expected: 7 TFLOPS, warn_below: 7 TFLOPS, fail_below: 7 TFLOPS}\n"),
            "");
}

TEST_F(BenchLimitsTest, ACollectiveSaysItsSize) {
  EXPECT_EQ(error_in("  node_all_reduce: {fail_below: 400 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.node_all_reduce' has no size; bus bandwidth means nothing "
            "without one");
  EXPECT_EQ(error_in("  loopback_all_reduce: {expected: 40 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.loopback_all_reduce' has no size; bus bandwidth means "
            "nothing without one");
  EXPECT_EQ(
      error_in("  job_all_reduce:\n    - {algorithm: ring, nodes_at_least: 2, expected: 9 GB/s}\n"),
      "profiles/x.yaml:11: 'bench.job_all_reduce.0' has no size; bus bandwidth means nothing "
      "without one");
}

TEST_F(BenchLimitsTest, AJobsCollectiveSaysItsAlgorithmAndNodes) {
  EXPECT_EQ(
      error_in("  job_all_reduce:\n    - {size: 1 GiB, nodes_at_least: 2, expected: 9 GB/s}\n"),
      "profiles/x.yaml:11: 'bench.job_all_reduce.0' has no algorithm; write ring, tree, nvls, "
      "collnet or any");
  EXPECT_EQ(error_in("  job_all_reduce:\n    - {size: 1 GiB, algorithm: ring, expected: 9 GB/s}\n"),
            "profiles/x.yaml:11: 'bench.job_all_reduce.0' needs nodes_at_least, of 2 or more");
}

TEST_F(BenchLimitsTest, ALimitAboveItsCeilingIsRefused) {
  EXPECT_EQ(error_in("  peer_copy: {fail_below: 500 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.peer_copy.fail_below' is 500 GB/s, above its physical "
            "ceiling of 478.116 GB/s (18 NVLinks of 26.562 GB/s)");
  EXPECT_EQ(error_in("  host_copy: {expected: 64 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.host_copy.expected' is 64 GB/s, above its physical ceiling "
            "of 63.015 GB/s (PCIe x16 at 32 GT/s)");
  EXPECT_EQ(
      error_in("  hca_write: {expected: 401 Gb/s}\n"),
      "profiles/x.yaml:10: 'bench.hca_write.expected' is 401 Gb/s, above its physical ceiling "
      "of 400 Gb/s (the rate of an HCA)");
  EXPECT_EQ(error_in("  node_all_reduce: {size: 1 GiB, algorithm: ring, expected: 479 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.node_all_reduce.expected' is 479 GB/s, above its physical "
            "ceiling of 478.116 GB/s (18 NVLinks of 26.562 GB/s)");
  EXPECT_EQ(error_in("  loopback_all_reduce: {size: 1 GiB, expected: 51 GB/s}\n"),
            "profiles/x.yaml:10: 'bench.loopback_all_reduce.expected' is 51 GB/s, above its "
            "physical ceiling of 50 GB/s (8 HCAs of 400 Gb/s, shared by 8 GPUs)");
  EXPECT_EQ(
      error_in("  job_all_reduce:\n"
               "    - {size: 1 GiB, algorithm: any, nodes_at_least: 2, fail_below: 800 GB/s}\n"),
      "profiles/x.yaml:11: 'bench.job_all_reduce.0.fail_below' is 800 GB/s, above its physical "
      "ceiling of 750 GB/s (8 HCAs of 400 Gb/s, hierarchical over 2 nodes of 8 ranks)");
}

TEST_F(BenchLimitsTest, TheCeilingIsThatOfTheMergedProfile) {
  files.shipped("base", fmt::format("{}  peer_copy: {{fail_below: 335 GB/s}}\n", kNdH100));
  files.shipped("x", "extends: base\ngpu: {nvlink_state: {links: 12}}\n");
  EXPECT_EQ(files.error_of("x"),
            "profiles/base.yaml:9: 'bench.peer_copy.fail_below' is 335 GB/s, above its physical "
            "ceiling of 318.744 GB/s (12 NVLinks of 26.562 GB/s; 'gpu.nvlink_state.links' from "
            "profiles/x.yaml:3)");
}

TEST_F(BenchLimitsTest, ASettingIsHeldToTheCeilingToo) {
  files.shipped("x", fmt::format("{}  source: s\n", kNdH100));
  EXPECT_EQ(files.error_of("x", {"bench.hca_write.fail_below=1 Tb/s"}),
            "--set: 'bench.hca_write.fail_below' is 1 Tb/s, above its physical ceiling of 400 Gb/s "
            "(the rate of an HCA; 'ib.rate.expected' from profiles/x.yaml:7)");
}

TEST_F(BenchLimitsTest, EveryAlgorithmHasItsOwnCeiling) {
  EXPECT_THAT(ceilings_of(R"(  node_all_reduce: {size: 16 GiB, expected: 479 GB/s}
  job_all_reduce:
    - {size: 16 GiB, algorithm: ring, nodes_at_least: 3, expected: 376 GB/s}
    - {size: 16 GiB, algorithm: tree, nodes_at_least: 4, expected: 376 GB/s}
    - {size: 16 GiB, algorithm: nvls, nodes_at_least: 64, expected: 376 GB/s}
    - {size: 16 GiB, algorithm: collnet, nodes_at_least: 2, expected: 450 GB/s}
)"),
              ElementsAre("bench.node_all_reduce.expected <= 836.703 GB/s",
                          "bench.job_all_reduce.0.expected <= 400 GB/s",
                          "bench.job_all_reduce.1.expected <= 516.667 GB/s",
                          "bench.job_all_reduce.2.expected <= 405.556 GB/s",
                          "bench.job_all_reduce.3.expected <= 750 GB/s"));
}

TEST_F(BenchLimitsTest, PcieGenerationsLoseTheirEncoding) {
  for (const auto& [speed, ceiling] : {std::pair{"5 GT/s", "8 GB/s"},
                                       {"8 GT/s", "15.754 GB/s"},
                                       {"16 GT/s", "31.508 GB/s"},
                                       {"32 GT/s", "63.015 GB/s"},
                                       {"64 GT/s", "121 GB/s"}}) {
    const auto profile = load_profile(
        files.sources({fmt::format("pci.link.gpu.speed={}", speed)}),
        (files.shipped("x", fmt::format("{}  host_copy: {{expected: 7 GB/s}}\n", kNdH100)), "x"));
    ASSERT_TRUE(profile.has_value());
    EXPECT_EQ(bounded_limits(*profile).at(0).ceiling, ceiling) << speed;
  }
}

TEST_F(BenchLimitsTest, WhereNoCeilingIsKnownALimitIsAccepted) {
  EXPECT_THAT(ceilings_of("  stream: {expected: 9000 GB/s}\n  gpu_memory: {expected: 90 TB/s}\n"),
              IsEmpty());
  EXPECT_EQ(
      files.error_in("bench: {peer_copy: {expected: 9 TB/s}, hca_write: {expected: 9 Tb/s}}\n"),
      "");
}

TEST_F(BenchLimitsTest, TransportsHaveNames) {
  EXPECT_EQ(error_in("  transport: {require: [ib, gdr, sharp]}\n"), "");
  EXPECT_EQ(
      error_in("  transport: {require: [ib, rdma]}\n"),
      "profiles/x.yaml:10: 'bench.transport.require' is \"rdma\"; it must be ib, gdr or sharp");
}

TEST_F(BenchLimitsTest, TheEnvironmentMergesVariableByVariable) {
  files.shipped("base", "bench: {environment: {A: \"1\", B: \"2\", C: \"3\"}}\n");
  files.shipped("x", "extends: base\nbench: {environment: {B: \"7\", C: null}}\n");
  const auto profile = load_profile(files.sources({"bench.environment.NCCL_ALGO=Ring"}), "x");
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_THAT(profile->bench->environment,
              ElementsAre(Pair("A", "1"), Pair("B", "7"), Pair("NCCL_ALGO", "Ring")));
}

std::vector<std::string> review_of(const ProfileFiles& files, std::string_view body) {
  files.shipped("x", body);
  const auto profile = load_profile(files.sources(), "x");
  return profile ? review(*profile) : std::vector{profile.error().message};
}

TEST(ReviewTest, ALimitNextToItsCeilingIsOdd) {
  const ProfileFiles files;
  EXPECT_THAT(review_of(files, R"(ib: {rate: {expected: 400 Gb/s, source: s}}
bench:
  hca_write: {expected: 399 Gb/s, warn_below: 393 Gb/s, fail_below: 392 Gb/s, source: s}
)"),
              ElementsAre("profiles/x.yaml:4: 'bench.hca_write.warn_below' is 393 Gb/s, 98.2% of "
                          "its physical ceiling of 400 Gb/s (the rate of an HCA)"));
}

TEST(ReviewTest, ABlockWithoutASourceIsOdd) {
  const ProfileFiles files;
  EXPECT_THAT(review_of(files, R"(recognise: {gpus: 8}
host:
  memory: {total: 8 GiB, tolerance: 5%}
  swap: {total: 0 GiB, source: s}
  nvme: {enabled: false}
  sysctl: {values: {a: 1, b: 2}}
contexts: {prolog: {skip: [x]}}
)"),
              ElementsAre("profiles/x.yaml:4: 'host.memory' has no source",
                          "profiles/x.yaml:7: 'host.sysctl' has no source"));
}

}  // namespace
}  // namespace muster
