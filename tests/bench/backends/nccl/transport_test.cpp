// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/transport.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

using ::testing::Pair;

RankPairs pair_row(int from, int to) {
  Transport one;
  add_pair(one, from, to, "");
  return one.pairs.begin()->second;
}

int count_pairs(const RankPairs& pairs) {
  int count = 0;
  for_each_pair(pairs, [&](int /*from*/, int /*to*/) { ++count; });
  return count;
}

std::string info(std::string_view text) {
  return fmt::format("gpu-0007:12345:12399 [3] NCCL INFO {}\n", text);
}

struct PairCase {
  std::string_view line;
  int from;
  int to;
  std::string name;
};

class TransportPairTest : public ::testing::TestWithParam<PairCase> {};

TEST_P(TransportPairTest, IsReadFromALine) {
  const auto& now = GetParam();
  Transport expected;
  add_pair(expected, now.from, now.to, now.name);
  EXPECT_EQ(parse_transport(info(now.line)), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, TransportPairTest,
    ::testing::Values(
        PairCase{"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", 0, 8, "NET/IB/GDRDMA"},
        PairCase{"Channel 00/0 : 0[100000] -> 8[100000] [receive] via NET/IB/0/GDRDMA", 0, 8,
                 "NET/IB/GDRDMA"},
        PairCase{"Channel 01/0 : 7[7] -> 8[0] [receive] via NET/IB/3", 7, 8, "NET/IB"},
        PairCase{"Channel 01/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA(PCI)/Shared", 7, 8,
                 "NET/IB/GDRDMA"},
        PairCase{"Channel 14/0 : 1[1] -> 9[1] [send] via NET/IB/0(5)/GDRDMA", 1, 9,
                 "NET/IB/GDRDMA/PXN"},
        PairCase{"Channel 00/0 : 3[3] -> 11[3] [send] via NET/IBext_v8/2/GDRDMA", 3, 11,
                 "NET/IBext_v8/GDRDMA"},
        PairCase{"Channel 00/0 : 3[3] -> 11[3] [send] via NET/Socket/0", 3, 11, "NET/Socket"},
        PairCase{"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", 0, 1, "P2P/CUMEM"},
        PairCase{"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", 0, 1, "P2P/CUMEM"},
        PairCase{"Channel 22/1 : 6[6] -> 7[7] via P2P/IPC/CE", 6, 7, "P2P/IPC"},
        PairCase{"Channel 00/0 : 4[4] -> 5[5] via P2P/MNNVL", 4, 5, "P2P/MNNVL"},
        PairCase{"Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer/read", 0, 1, "P2P/direct"},
        PairCase{"Channel 00/0 : 0[0] -> 5[5] via P2P/indirect/4[4]", 0, 5, "P2P/indirect"},
        PairCase{"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", 0, 1, "SHM"},
        PairCase{"Channel 00 : 0[0] -> 1[1] via SHM/direct", 0, 1, "SHM"}));

struct LineCase {
  std::string_view line;
  Transport expected;
};

class TransportLineTest : public ::testing::TestWithParam<LineCase> {};

TEST_P(TransportLineTest, IsReadFromOneLine) {
  EXPECT_EQ(parse_transport(info(GetParam().line)), GetParam().expected) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, TransportLineTest,
    ::testing::Values(
        LineCase{"NET/IB : No device found.", {.without_hca = {"gpu-0007"}, .no_hca = true}},
        LineCase{"NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>",
                 {.hcas = {"mlx5_ib0:1/IB", "mlx5_ib1:1/IB"}}},
        LineCase{"NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.4<0>",
                 {.hcas = {"mlx5_0:1/RoCE"}}},
        LineCase{
            "NET/IB : Using [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB} [2]mlx5_2:1/RoCE ; OOB eth0:"
            "10.0.0.4<0>",
            {.hcas = {"mlx5_0:1/IB", "mlx5_1:1/IB", "mlx5_2:1/RoCE"}}},
        LineCase{"NET/Socket : Using [0]eth0:10.0.0.4<0>", {.interfaces = {"eth0:10.0.0.4<0>"}}},
        LineCase{"Using network IB", {.networks = {"IB"}}},
        LineCase{"Using network AWS Libfabric", {.networks = {"AWS Libfabric"}}},
        LineCase{"NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_ib1'",
                 {.without_gdr = {"mlx5_ib1"}}},
        LineCase{"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_ib0'",
                 {.with_gdr = {"mlx5_ib0"}}},
        LineCase{"CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA",
                 {.in_network = {"COLLNET/SHARP/GDRDMA"}}},
        LineCase{"rank 0 Connected CollNet", {.collnet_connected = true}},
        LineCase{"Connected NVLS tree", {.nvls_connected = true}},
        LineCase{"NVLS comm 0x5581d8f0 headRank 0 nHeads 8 buffSize 1048576 memSize 2097152",
                 {.nvls_connected = true}},
        LineCase{"NVLS comm 0x5581d8f0 headRank -1 nHeads 0 buffSize 1048576", {}},
        LineCase{"NVLS multicast support is available on dev 0", {}},
        LineCase{"NVLS multicast support is not available on dev 0", {.nvls_missing = true}},
        LineCase{"AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}",
                 {.algorithms = {{"AllReduce", {"RING/SIMPLE"}}}}},
        LineCase{"AllReduce: 8 Bytes -> Algo 0 proto 1 time 12.100000",
                 {.algorithms = {{"AllReduce", {"TREE/LL128"}}}}},
        LineCase{"NCCL_IB_DISABLE set by environment to 1.",
                 {.settings = {{"NCCL_IB_DISABLE", "1"}}}},
        LineCase{"NCCL_IB_HCA set to mlx5_ib", {.settings = {{"NCCL_IB_HCA", "mlx5_ib"}}}},
        LineCase{"NCCL_TOPO_FILE set by environment to /opt/microsoft/ndv5-topo.xml",
                 {.settings = {{"NCCL_TOPO_FILE", "/opt/microsoft/ndv5-topo.xml"}}}},
        LineCase{
            "ncclCommInitRankConfig comm 0x55d0c3a0 rank 9 nranks 16 cudaDev 1 nvmlDev 1 busId "
            "200000 commId 0x8d2 - Init COMPLETE",
            {}},
        LineCase{"          + NVL[240.0] - NVS/0", {.links = {"NVL"}}},
        LineCase{"+ PCI[24.0] - NIC/0-101000", {.links = {"PCI"}}},
        LineCase{"NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
                 {.plugins =
                      {"NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin."}}},
        LineCase{"Failed to initialize NET plugin UCX",
                 {.plugins = {"Failed to initialize NET plugin UCX"}}},
        LineCase{"TUNER/Plugin: Could not find: libnccl-tuner.so", {}},
        LineCase{"PROFILER/Plugin: Could not find: libnccl-profiler.so.", {}},
        LineCase{"Could not enable P2P between dev 0(=100000) and dev 1(=200000)",
                 {.refused = {"Could not enable P2P between dev 0(=100000) and dev 1(=200000)"}}},
        LineCase{"Connected all rings, use ring PXN 0 GDR 1", {}},
        LineCase{"Channel 00/02 :    0   1   2   3", {}},
        LineCase{"Channel 00/0 : x[0] -> 8[0] via NET/IB/0", {}},
        LineCase{"Channel 00/0 : 0[0] -> 99999999999[0] via NET/IB/0", {}},
        LineCase{"Trees [0] 1/-1/-1->0->-1", {}}));

TEST(TransportTest, KeepsWarnings) {
  const auto transport = parse_transport(
      "[2026-02-03 04:05:06] gpu-0007:12345:12399 [3] graph/xml.cc:411 NCCL WARN Could not open "
      "XML "
      "topology file /x.xml : No such file or directory\n"
      "gpu-0007:12345:12399 [3] transport/p2p.cc:9 NCCL WARN P2P is disabled between NVLINK "
      "connected GPUs 0 and 1.\n");
  EXPECT_THAT(transport.warnings,
              ElementsAre("Could not open XML topology file /x.xml : No such file or directory",
                          "P2P is disabled between NVLINK connected GPUs 0 and 1."));
  EXPECT_THAT(transport.refused,
              ElementsAre("P2P is disabled between NVLINK connected GPUs 0 and 1."));
}

std::string two_ranks_log() {
  return info("NCCL version 2.28.9+cuda13.0") + info("Using network IB") +
         info("Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA") +
         info("Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1/GDRDMA") +
         info("Channel 02/0 : 0[0] -> 1[0] [send] via NET/IB/1") +
         "gpu-0007:1:1 [0] NCCL WARN a thing\nnot of NCCL\n";
}

TEST(TransportTest, MergesTheLogsOfRanks) {
  auto all = parse_transport(two_ranks_log());
  add_log(all, info("Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0") +
                   info("Using network Socket"));
  EXPECT_THAT(all.pairs,
              ElementsAre(Pair("NET/IB", pair_row(0, 1)), Pair("NET/IB/GDRDMA", pair_row(0, 1)),
                          Pair("NET/Socket", pair_row(1, 0))));
  EXPECT_EQ(count_pairs(pairs_using(all, [](const auto& name) { return name != "NET/Socket"; })),
            1);
  EXPECT_THAT(all.networks, ElementsAre("IB", "Socket"));
}

TEST(TransportTest, KeepsTheHostsWithoutAnHca) {
  const std::string log =
      "gpu-0007:1:2 [0] NCCL INFO NET/IB : No device found.\n"
      "gpu-0007:3:4 [1] NCCL INFO NET/IB : No device found.\n"
      "[2026-02-03 04:05:06] gpu-0009:1:1 [0] NCCL INFO NET/IB : No device found.\n";
  const auto lines = shorten_log(log);
  EXPECT_EQ(lines,
            "gpu-0007: NCCL INFO NET/IB : No device found.\n"
            "gpu-0009: NCCL INFO NET/IB : No device found.\n");
  EXPECT_THAT(parse_transport(lines).without_hca, ElementsAre("gpu-0007", "gpu-0009"));
  EXPECT_EQ(parse_transport(lines), parse_transport(log));
}

TEST(TransportTest, SurvivesShortening) {
  const auto lines = shorten_log(two_ranks_log());
  EXPECT_EQ(lines,
            "Using network IB\n"
            "NCCL WARN a thing\n"
            "Pairs 0 -> 1 via NET/IB\n"
            "Pairs 0 -> 1 via NET/IB/GDRDMA\n");
  EXPECT_EQ(parse_transport(lines), parse_transport(two_ranks_log()));
}

// Rank 5 of many in an all-to-all, in which the HCAs of other GPUs are used too.
TEST(TransportTest, HasFewLinesForManyPairs) {
  constexpr int kRanks = 512;
  constexpr int kOwn = 5;
  std::string log;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kOwn) continue;
    const auto* via = rank < 8 ? "P2P/CUMEM" : rank % 8 == kOwn ? "NET/IB/5" : "NET/IB/0(3)";
    log += info(fmt::format("Channel 00/1 : {}[5] -> {}[0] [send] via {}", kOwn, rank, via));
    log += info(fmt::format("Channel 00/1 : {}[0] -> {}[5] [receive] via {}", rank, kOwn, via));
  }
  const auto lines = shorten_log(log);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 6) << lines;
  EXPECT_THAT(lines, ::testing::HasSubstr("Pairs 5 -> 0-4,6-7 via P2P/CUMEM\n"));
  const auto read = parse_transport(lines);
  EXPECT_EQ(read, parse_transport(log));
  EXPECT_EQ(count_pairs(pairs_using(read, [](const auto& /*name*/) { return true; })),
            2 * (kRanks - 1));
}

TEST(TransportTest, IgnoresMalformedPairs) {
  for (const auto* line : {"Pairs 1 -> via SHM", "Pairs -> 1 via SHM", "Pairs 1 -> xg via SHM",
                           "Pairs 1-,2 -> 3 via SHM", "Pairs 1 -> 2 via ", "Pairs 1 -> 2",
                           "Pairs 999999999 -> 1 via SHM", "Pairs 2-1 -> 1 via SHM"}) {
    EXPECT_TRUE(parse_transport(line).empty()) << line;
  }
}

TEST(TransportTest, KeepsTheFirst16) {
  std::string log;
  for (int plugin = 0; plugin < 20; ++plugin) {
    log += info(fmt::format("Channel 00/0 : 0[0] -> 1[0] [send] via NET/plugin{}/0", plugin));
  }
  const auto transport = parse_transport(log);
  EXPECT_EQ(transport.pairs.size(), 16U);
  EXPECT_EQ(parse_transport(shorten_log(log)), transport);
}

TEST(TransportTest, TrimsTheNameOfANetwork) {
  const auto log = info("Channel 00/0 : 0[0] -> 1[0] [send] via NET/  AWS Libfabric /0");
  const auto transport = parse_transport(log);
  EXPECT_TRUE(transport.pairs.contains("NET/AWS Libfabric"));
  EXPECT_EQ(parse_transport(shorten_log(log)), transport);
}

TEST(TransportTest, IsEmptyForOtherText) {
  EXPECT_TRUE(parse_transport("").empty());
  EXPECT_TRUE(parse_transport("hello\n\n: -> via\n").empty());
  EXPECT_THAT(shorten_log("hello\n"), IsEmpty());
}

}  // namespace
}  // namespace muster::bench
