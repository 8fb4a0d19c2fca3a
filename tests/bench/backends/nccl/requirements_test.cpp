// SPDX-License-Identifier: Apache-2.0
// Whether data took the ways they must take, and what is said where they did not.
#include "bench/backends/nccl/requirements.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"

namespace muster::bench {

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name
inline void PrintTo(const Taken& taken, std::ostream* out) {
  *out << fmt::format(R"({} {} "{}" "{}")", to_string(taken.way), static_cast<int>(taken.answer),
                      taken.what, taken.cause);
}

namespace {

using Answer = Taken::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int> kTwoNodes{0, 0, 1, 1};

Transport across(const std::string& way) {
  Transport transport;
  transport.pairs.add(0, 1, "P2P/CUMEM");
  transport.pairs.add(1, 2, way);
  transport.pairs.add(2, 3, "P2P/CUMEM");
  transport.pairs.add(3, 0, way);
  transport.networks = {way.find("Socket") == std::string::npos ? "IB" : "Socket"};
  return transport;
}

Transport within(const std::string& way) {
  Transport transport;
  transport.pairs.add(0, 1, way);
  return transport;
}

Taken only(const Transport& transport, Way way, const std::vector<int>& nodes = kTwoNodes) {
  return ways_taken(transport, nodes, {way}).at(0);
}

TEST(RequirementsTest, ReadsTheirNames) {
  EXPECT_EQ(*parse_ways("ib,gdr"), (std::vector{Way::ib, Way::gdr}));
  EXPECT_EQ(*parse_ways("NET/IB, GDRDMA ,ib"), (std::vector{Way::ib, Way::gdr}));
  EXPECT_EQ(*parse_ways("nvlink,nvls,sharp,p2p,mnnvl"),
            (std::vector{Way::nvlink, Way::nvls, Way::sharp, Way::p2p, Way::mnnvl}));
  EXPECT_EQ(parse_ways("ib,tcp").error().message,
            "\"tcp\" is no transport: ib, gdr, p2p, nvlink, mnnvl, nvls, sharp");
}

TEST(RequirementsTest, AreMetByWhatTheyName) {
  const std::vector<Way> ways{Way::ib, Way::gdr, Way::p2p};
  EXPECT_THAT(ways_taken(across("NET/IB/GDRDMA"), kTwoNodes, ways),
              ElementsAre(Taken{.way = Way::ib, .answer = Answer::yes},
                          Taken{.way = Way::gdr, .answer = Answer::yes},
                          Taken{.way = Way::p2p, .answer = Answer::yes}));
  EXPECT_EQ(only(across("NET/IBext_v8/GDRDMA/PXN"), Way::ib).answer, Answer::yes);
  EXPECT_EQ(only(across("P2P/MNNVL"), Way::mnnvl).answer, Answer::yes);
  EXPECT_EQ(only({.nvls_connected = true}, Way::nvls).answer, Answer::yes);
  EXPECT_EQ(only({.algorithms = {{"AllReduce", {"NVLS/SIMPLE"}}}}, Way::nvls).answer, Answer::yes);
  EXPECT_EQ(only({.in_network = {"COLLNET/SHARP"}}, Way::sharp).answer, Answer::yes);
}

struct CauseCase {
  std::string name;
  Transport transport;
  Way way;
  std::string what;
  std::string cause;
};

class RequirementsCauseTest : public ::testing::TestWithParam<CauseCase> {};

Transport with(Transport transport, const std::function<void(Transport&)>& change) {
  change(transport);
  return transport;
}

TEST_P(RequirementsCauseTest, SaysWhatHappenedAndWhy) {
  const auto& now = GetParam();
  EXPECT_EQ(only(now.transport, now.way),
            (Taken{.way = now.way, .answer = Answer::no, .what = now.what, .cause = now.cause}));
}

constexpr const char* kSocket = "2 of 2 pairs of ranks on different nodes use NET/Socket";
constexpr const char* kWithoutGdr = "2 of 2 pairs of ranks on different nodes use NET/IB";

INSTANTIATE_TEST_SUITE_P(
    Causes, RequirementsCauseTest,
    ::testing::Values(
        CauseCase{
            "NoHca", with(across("NET/Socket"), [](auto& run) { run.no_hca = true; }), Way::ib,
            kSocket,
            "NCCL sees no HCA: in a container, /dev/infiniband and the limit on locked memory "
            "must be given to it"},
        CauseCase{
            "WrongHcaNamed",
            with(across("NET/Socket"),
                 [](auto& run) {
                   run.no_hca = true;
                   run.settings["NCCL_IB_HCA"] = "mlx4_0";
                 }),
            Way::ib, kSocket,
            "NCCL sees no HCA; NCCL_IB_HCA=mlx4_0 is set: in a container, /dev/infiniband and "
            "the limit on locked memory must be given to it"},
        CauseCase{
            "Disabled",
            with(across("NET/Socket"), [](auto& run) { run.settings["NCCL_IB_DISABLE"] = "1"; }),
            Way::ib, kSocket, "NCCL_IB_DISABLE=1 is set"},
        CauseCase{
            "SocketWanted",
            with(across("NET/Socket"), [](auto& run) { run.settings["NCCL_NET"] = "Socket"; }),
            Way::gdr, kSocket, "NCCL_NET=Socket is set"},
        CauseCase{"PluginMissing",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.plugins = {"NET/Plugin: Could not find: libnccl-net-ucx.so"};
                         run.settings["NCCL_NET_PLUGIN"] = "ucx";
                         run.no_hca = true;
                       }),
                  Way::ib, kSocket, "NET/Plugin: Could not find: libnccl-net-ucx.so"},
        CauseCase{"NamedNetworkMissing",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.plugins = {"Failed to initialize NET plugin UCX"};
                         run.settings["NCCL_NET"] = "UCX";
                       }),
                  Way::ib, kSocket, "Failed to initialize NET plugin UCX"},
        CauseCase{"APluginThatNobodyAskedFor",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.plugins = {"NET/Plugin: Could not find: libnccl-net.so"};
                         run.settings["NCCL_NET_PLUGIN"] = "none";
                       }),
                  Way::ib, kSocket, ""},
        CauseCase{"InnerInterface",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.interfaces = {"docker0:172.17.0.1<0>", "eth0:10.0.0.4<0>"};
                       }),
                  Way::ib,
                  "2 of 2 pairs of ranks on different nodes use NET/Socket (docker0, eth0)",
                  "NCCL takes docker0 for the network between nodes, which does not leave a node: "
                  "NCCL_SOCKET_IFNAME must name the right one"},
        CauseCase{"WrongInterfaceNamed",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.interfaces = {"lo:127.0.0.1<0>"};
                         run.settings["NCCL_SOCKET_IFNAME"] = "lo";
                       }),
                  Way::ib, "2 of 2 pairs of ranks on different nodes use NET/Socket (lo)",
                  "NCCL takes lo for the network between nodes, which does not leave a node: "
                  "NCCL_SOCKET_IFNAME=lo is set"},
        CauseCase{"HcasOnSomeNodes",
                  with(across("NET/Socket"),
                       [](auto& run) {
                         run.hcas = {"mlx5_ib0:1/IB"};
                         run.no_hca = true;
                         run.without_hca = {"gpu-0003", "gpu-0007"};
                       }),
                  Way::ib, kSocket,
                  "NCCL sees HCAs on some nodes only, and none on gpu-0003, gpu-0007"},
        CauseCase{"NothingKnown", across("NET/Socket"), Way::ib, kSocket, ""},
        CauseCase{
            "NoPeermem", with(across("NET/IB"), [](auto& run) { run.without_gdr = {"mlx5_ib0"}; }),
            Way::gdr, kWithoutGdr,
            "GPUDirect RDMA is not offered for mlx5_ib0: neither nvidia_peermem is loaded nor "
            "dma-buf usable"},
        CauseCase{
            "GdrLevel",
            with(across("NET/IB"), [](auto& run) { run.settings["NCCL_NET_GDR_LEVEL"] = "LOC"; }),
            Way::gdr, kWithoutGdr, "NCCL_NET_GDR_LEVEL=LOC is set"},
        CauseCase{"TooFar", with(across("NET/IB"), [](auto& run) { run.with_gdr = {"mlx5_ib0"}; }),
                  Way::gdr, kWithoutGdr,
                  "the HCAs offer it, and NCCL takes them to be too far from the GPUs "
                  "(NCCL_TOPO_FILE is not set)"},
        CauseCase{"SharedMemory",
                  with(within("SHM"), [](auto& run) { run.settings["NCCL_P2P_DISABLE"] = "1"; }),
                  Way::nvlink, "1 of 1 pairs of ranks on one node use SHM",
                  "NCCL_P2P_DISABLE=1 is set"},
        CauseCase{
            "RefusedPeers",
            with(within("SHM"),
                 [](auto& run) { run.refused = {"Could not enable P2P between dev 0 and 1"}; }),
            Way::p2p, "1 of 1 pairs of ranks on one node use SHM",
            "Could not enable P2P between dev 0 and 1"},
        CauseCase{"PeersOverPcie",
                  with(within("P2P/CUMEM"), [](auto& run) { run.links = {"PCI"}; }), Way::nvlink,
                  "the GPUs are peers over PCIe", "NCCL finds no NVLink in the topology"},
        CauseCase{"NoMulticast",
                  {.nvls_missing = true},
                  Way::nvls,
                  "NCCL's log tells of no NVLS",
                  "multicast is not available on the GPUs: they lack it, or the Fabric Manager or "
                  "IMEX has not set it up"},
        CauseCase{"NoCollnet",
                  {.networks = {"IB"}},
                  Way::sharp,
                  "NCCL's log tells of no CollNet",
                  "NCCL_COLLNET_ENABLE=1 is not set"}),
    [](const auto& param) { return param.param.name; });

TEST(RequirementsTest, NothingIsKnownWithoutALog) {
  EXPECT_EQ(only({}, Way::ib), (Taken{.way = Way::ib, .what = "NCCL's log says nothing"}));
  EXPECT_EQ(
      only({.networks = {"IB"}}, Way::ib),
      (Taken{.way = Way::ib, .what = "NCCL's log tells no way between ranks on different nodes"}));
  EXPECT_EQ(only(within("P2P/CUMEM"), Way::nvlink).answer, Answer::unknown);
}

TEST(RequirementsTest, APluginMaySendOverInfiniband) {
  EXPECT_EQ(only(across("NET/UCX"), Way::ib),
            (Taken{.way = Way::ib,
                   .what = "2 of 2 pairs of ranks on different nodes use NET/UCX, and the log does "
                           "not say over what that sends"}));
  auto mixed = across("NET/UCX");
  mixed.pairs.add(3, 0, "NET/Socket");
  EXPECT_EQ(only(mixed, Way::ib).answer, Answer::no);
}

TEST(RequirementsTest, WhatCannotBeUsedIsNotRequired) {
  EXPECT_EQ(only(within("P2P/CUMEM"), Way::gdr, {0, 0}),
            (Taken{.way = Way::gdr,
                   .answer = Answer::does_not_apply,
                   .what = "there are no two ranks on different nodes"}));
  EXPECT_EQ(only(across("NET/IB"), Way::p2p, {0, 1, 2, 3}).answer, Answer::does_not_apply);
}

// What two nodes with two GPUs each say, whole.
std::vector<Taken> taken_of_run(const std::string& scenario, const std::vector<Way>& ways) {
  const auto logs = run_ranks({.ranks = 4, .scenario = scenario, .gpus = 2}, [](Backend& backend) {
    const Operation operation{.bytes = 1024};
    const auto reserved = backend.reserve(operation);
    const auto verified = verify_once(backend, operation);
    return reserved && verified ? telling_lines(backend.log()) : "failed";
  });
  Transport all;
  for (const auto& log : logs) add_log(all, log);
  return ways_taken(all, kTwoNodes, ways);
}

TEST(RequirementsTest, FollowARun) {
  const std::vector<Way> ways{Way::ib, Way::gdr, Way::nvlink, Way::nvls};
  for (const auto& taken : taken_of_run(R"({"gpus": 2, "inside": "nvls"})", ways)) {
    EXPECT_EQ(taken, (Taken{.way = taken.way, .answer = Answer::yes}));
  }
  const auto disabled =
      taken_of_run(R"({"gpus": 2, "network": "socket", "cause": "disabled"})", {Way::ib});
  EXPECT_THAT(disabled, ElementsAre(Taken{.way = Way::ib,
                                          .answer = Answer::no,
                                          .what = fmt::format("{} (eth0)", kSocket),
                                          .cause = "NCCL_IB_DISABLE=1 is set"}));
  EXPECT_THAT(taken_of_run(R"({"gpus": 2, "network": "socket"})", {Way::gdr}).at(0).cause,
              HasSubstr("NCCL sees no HCA"));
  EXPECT_THAT(taken_of_run(R"({"gpus": 2, "network": "ib"})", {Way::gdr}).at(0).cause,
              HasSubstr("GPUDirect RDMA is not offered for mlx5_ib0, mlx5_ib1"));
}

}  // namespace
}  // namespace muster::bench
