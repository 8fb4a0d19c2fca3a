// SPDX-License-Identifier: Apache-2.0
// The host tests, on this machine and small.
#include "bench/node/host.hpp"

#include <fmt/format.h>
#include <sched.h>

#include "bench/backends/nccl/binding.hpp"
#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench::node {
namespace {

TEST(NodeCpusTest, SplitsOwnCpusByNumaNode) {
  const TempDir folder;
  folder.write("sys/devices/system/node/online", "0-2\n");
  folder.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  folder.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  folder.write("sys/devices/system/node/node2/cpulist", "\n");
  const auto nodes = numa_cpus(*Root::below(folder.path()), {1, 2, 6});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes,
              ElementsAre(NumaCpus{.node = 0, .cpus = {1, 2}}, NumaCpus{.node = 1, .cpus = {6}},
                          NumaCpus{.node = 2, .cpus = {}}));
}

TEST(NodeCpusTest, AKernelWithoutNumaHasOneNode) {
  const TempDir folder;
  const auto nodes = numa_cpus(*Root::below(folder.path()), {0, 1});
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(NumaCpus{.node = 0, .cpus = {0, 1}}));
}

TEST(NodeCpusTest, CountsEachCacheOnce) {
  const TempDir folder;
  for (const auto* cpu : {"cpu0", "cpu1", "cpu2"}) {
    const auto cache = fmt::format("sys/devices/system/cpu/{}/cache/index0", cpu);
    folder.write(fmt::format("{}/size", cache), "32768K\n");
    folder.write(fmt::format("{}/shared_cpu_list", cache),
                 cpu == std::string("cpu2") ? "2\n" : "0-1\n");
  }
  EXPECT_EQ(cache_bytes(*Root::below(folder.path()), {0, 1, 2}), 64UL << 20U);
}

TEST(NodeCpusTest, ControlGroupsLimitTheMemory) {
  const TempDir folder;
  folder.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n");
  folder.write("proc/self/cgroup", "0::/job/step\n");
  const auto root = Root::below(folder.path());
  EXPECT_EQ(memory_available(*root), 8000U << 10U);
  folder.write("sys/fs/cgroup/job/memory.max", "4096\n");
  folder.write("sys/fs/cgroup/job/memory.current", "1024\n");
  folder.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(memory_available(*root), 3072U);
}

TEST(NodeCpusTest, KnowsWhatThisProcessMayUse) {
  const TempDir folder;
  folder.write("sys/devices/system/cpu/online", "0-3\n");
  folder.write("proc/self/cgroup", "0::/job/step\n");
  const auto root = Root::below(folder.path());
  EXPECT_EQ(restriction_of_cpus(*root, {0, 1, 2, 3}), "");
  EXPECT_EQ(restriction_of_cpus(*root, {0, 3}), "2 of 4 CPUs");
  folder.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  folder.write("sys/fs/cgroup/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(restriction_of_cpus(*root, {0, 1, 2, 3}), "");
  folder.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(restriction_of_cpus(*root, {0, 1, 2, 3}), "1.5 of 4 CPUs");
}

// Its limit is for the whole node.
TEST(NodeStreamTest, IsNotJudgedOnAPartOfTheCpus) {
  cpu_set_t all{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  const auto own = *own_cpus();
  if (own.size() < 2) GTEST_SKIP() << "one CPU";
  cpu_set_t one{};
  CPU_SET(own.front(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const auto result = run_host_stream({.time = std::chrono::milliseconds(1), .bytes = 4U << 20U});
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->series[0].limited);
  EXPECT_THAT(result->series[0].what, HasSubstr(" on 1 of "));
  Profile profile;
  profile.bench->stream.fail_below = BytesPerSecond{300e9};
  profile.values["bench.stream.fail_below"].origin.file = "--set";
  const auto findings = findings_of({.test = find_test("host.stream"), .result = result}, profile);
  EXPECT_THAT(findings.front().message, HasSubstr("not judged: the limit of --set is not for it"));
  EXPECT_EQ(findings.back().outcome, Outcome::unknown);
  EXPECT_THAT(findings.back().message,
              AllOf(HasSubstr("host.stream used 1 of "), HasSubstr("and the limit is for all")));
}

TEST(NodeStreamTest, IsNotJudgedWithArraysThatFitTheCaches) {
  Profile profile;
  profile.name = "x";
  profile.bench->stream.fail_below = BytesPerSecond{1};
  const auto judged = [&](std::optional<double> size_of_limit) {
    return findings_of({.test = find_test("host.stream"),
                        .result = run_host_stream({.time = std::chrono::milliseconds(1),
                                                   .limit = {.size = size_of_limit},
                                                   .bytes = 4U << 20U})},
                       profile);
  };
  const auto skipped = judged({});
  for (const auto& each : skipped) EXPECT_EQ(each.outcome, Outcome::skip) << each.message;
  EXPECT_THAT(skipped.back().message,
              HasSubstr("host.stream used arrays of 4 MiB, and the limit is for "));
  profile.values["bench.stream.fail_below"].origin.file = "--set";
  EXPECT_EQ(judged({}).back().outcome, Outcome::unknown);
  if (!restriction_of_cpus(Root(), *own_cpus()).empty()) return;
  EXPECT_EQ(judged(4U << 20U).front().outcome, Outcome::pass) << "a limit for this size";
}

TEST(NodeStreamTest, ArraysAreFourTimesTheCachesAndNeverFillTheMemory) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  EXPECT_EQ(stream_array_bytes(480 * kMiB, 100000 * kMiB), 1920 * kMiB);
  EXPECT_EQ(stream_array_bytes(480 * kMiB, 6000 * kMiB), 1000 * kMiB);
  EXPECT_EQ(stream_array_bytes(0, 100000 * kMiB), 256 * kMiB);
}

TEST(NodeStreamTest, EveryKernelIsCorrect) {
  constexpr std::size_t kCount = 512;

  struct alignas(64) Values {
    std::array<double, kCount> values;
  };
  Values a{};
  Values b{};
  Values c{};
  for (std::size_t i = 0; i < kCount; ++i) a.values[i] = stream_value(i);
  const StreamArrays arrays{a.values.data(), b.values.data(), c.values.data(), kCount};
  for (const bool streaming : {false, true}) {
    const auto run = [&](std::size_t kernel) {
      const auto& each = stream_kernels().at(kernel);
      (streaming ? each.streaming : each.ordinary)(arrays);
    };
    run(0);
    EXPECT_EQ(b.values, a.values);
    run(1);
    run(2);
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(b.values[i], 3 * a.values[i]);
      EXPECT_EQ(c.values[i], 4 * a.values[i]);
    }
    run(3);
    for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(c.values[i], 6 * a.values[i]);
  }
}

TEST(NodeStreamTest, MeasuresEachKernel) {
  const auto result = run_host_stream({.time = std::chrono::milliseconds(1), .bytes = 4U << 20U});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->findings.empty());
  ASSERT_GE(result->series.size(), kStreamKernels);
  for (std::size_t k = 0; k < kStreamKernels; ++k) {
    const auto& series = result->series[k];
    EXPECT_THAT(series.what, StartsWith(std::string(stream_kernels().at(k).name)));
    EXPECT_GE(series.iterations, 3);
    ASSERT_EQ(series.values.size(), 1U);
    EXPECT_EQ(series.values[0].device, "node");
    EXPECT_GT(series.values[0].value, 0);
  }
}

TEST(NodeLatencyTest, MeasuresMemoryAndEachPairOfCpus) {
  const auto result = run_host_latency({.time = std::chrono::milliseconds(1), .bytes = 1U << 20U});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->findings.empty());
  ASSERT_FALSE(result->series.empty());
  EXPECT_EQ(result->series[0].quantity, "memory_latency");
  EXPECT_EQ(result->series[0].values.at(0).device, "numa0");
  EXPECT_GT(result->series[0].values.at(0).value, 0);
  EXPECT_FALSE(result->matrices.empty());
}

TEST(NodeMatrixTest, ShowsADashForNoNumber) {
  EXPECT_THAT(lines_of({.title = "in ns",
                        .names = {"numa0", "numa1"},
                        .cells = {{98.25, 140}, {141.2, std::nullopt}}}),
              ElementsAre("in ns",  //
                          "      numa0 numa1", "numa0  98.2   140", "numa1   141     -"));
}

TEST(NodeDiskTest, FindsOnlyLocalNvmeDisks) {
  const TempDir folder;
  const auto add_disk = [&](const char* name, const char* transport, const char* sectors) {
    folder.write(fmt::format("sys/block/{}/device/transport", name), transport);
    folder.write(fmt::format("sys/block/{}/device/model", name), "Fast Disk\n");
    folder.write(fmt::format("sys/block/{}/size", name), sectors);
  };
  add_disk("nvme0n1", "pcie\n", "2000\n");
  add_disk("nvme1n1", "rdma\n", "2000\n");
  add_disk("nvme2n1", "pcie\n", "0\n");
  folder.write("sys/block/sda/size", "2000\n");
  const auto disks = local_disks(*Root::below(folder.path()));
  ASSERT_TRUE(disks);
  EXPECT_THAT(
      *disks,
      ElementsAre(LocalDisk{
          .name = "nvme0n1", .device = "/dev/nvme0n1", .bytes = 1024000, .model = "Fast Disk"}));
}

TEST(NodeDiskTest, ReadsAFile) {
  const TempDir folder;
  constexpr std::uint64_t kSize = 1U << 20U;
  folder.write("data", std::string(kSize, 'x'));
  for (const bool random : {false, true}) {
    const auto read = read_disk({.path = folder.path() / "data",
                                 .size = kSize,
                                 .block = 4096,
                                 .depth = 8,
                                 .random = random,
                                 .time = std::chrono::milliseconds(50)});
    if (!read) GTEST_SKIP() << read.error().message;  // no io_uring, or a file in memory
    EXPECT_EQ(read->failed, 0U) << read->first_failure;
    EXPECT_GE(read->reads, 8U);
    EXPECT_EQ(read->bytes_per_second.size(), 10U);
  }
}

TEST(NodeDiskTest, CountsFailedReads) {
  const TempDir folder;
  folder.write("data", std::string(8192, 'x'));
  const auto read = read_disk({.path = folder.path() / "data",
                               .size = 1U << 20U,  // more than there is
                               .block = 4096,
                               .depth = 1,
                               .time = std::chrono::milliseconds(5)});
  if (!read) GTEST_SKIP() << read.error().message;
  EXPECT_GT(read->failed, 0U);
  EXPECT_EQ(read->first_failure, "at byte 8192: 0 of 4096 bytes");
  EXPECT_FALSE(read_disk({.path = "/nowhere/disk", .size = 4096, .block = 4096}));
}

}  // namespace
}  // namespace muster::bench::node
