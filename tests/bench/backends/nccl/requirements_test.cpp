// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/requirements.hpp"

#include <fmt/format.h>

#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name
inline void PrintTo(const RequirementResult& taken, std::ostream* out) {
  *out << fmt::format(R"({} {} "{}" "{}")", to_string(taken.requirement),
                      static_cast<int>(taken.state), taken.what, taken.cause);
}

namespace {

using State = RequirementResult::State;

const std::vector<int> kTwoNodes{0, 0, 1, 1};

// Two nodes that use a transport between them, with what else the log says.
Transport across(const std::string& name, Transport transport = {}) {
  for (const int from : {0, 2}) {
    add_pair(transport, from, from + 1, "P2P/CUMEM");
    add_pair(transport, from + 1, (from + 2) % 4, name);
  }
  transport.networks = {name.find("Socket") == std::string::npos ? "IB" : "Socket"};
  return transport;
}

Transport within(const std::string& name, Transport transport = {}) {
  add_pair(transport, 0, 1, name);
  return transport;
}

RequirementResult only(const Transport& transport, Requirement requirement,
                       const std::vector<int>& nodes = kTwoNodes) {
  return check_requirements(transport, nodes, {requirement}).at(0);
}

TEST(RequirementsTest, HaveNames) {
  EXPECT_EQ(*parse_requirements("ib,gdr"), (std::vector{Requirement::ib, Requirement::gdr}));
  EXPECT_EQ(*parse_requirements("NET/IB, GDRDMA ,ib"),
            (std::vector{Requirement::ib, Requirement::gdr}));
  EXPECT_EQ(*parse_requirements("nvlink,nvls,sharp,p2p,mnnvl"),
            (std::vector{Requirement::nvlink, Requirement::nvls, Requirement::sharp,
                         Requirement::p2p, Requirement::mnnvl}));
  EXPECT_EQ(parse_requirements("ib,tcp").error().message,
            "unknown transport \"tcp\": expected ib, gdr, p2p, nvlink, mnnvl, nvls or sharp");
}

TEST(RequirementsTest, AreMetByWhatTheyName) {
  const std::vector<Requirement> requirements{Requirement::ib, Requirement::gdr, Requirement::p2p};
  EXPECT_THAT(check_requirements(across("NET/IB/GDRDMA"), kTwoNodes, requirements),
              ElementsAre(RequirementResult{.requirement = Requirement::ib, .state = State::met},
                          RequirementResult{.requirement = Requirement::gdr, .state = State::met},
                          RequirementResult{.requirement = Requirement::p2p, .state = State::met}));
  EXPECT_EQ(only(across("NET/IBext_v8/GDRDMA/PXN"), Requirement::ib).state, State::met);
  EXPECT_EQ(only(across("P2P/MNNVL"), Requirement::mnnvl).state, State::met);
  EXPECT_EQ(only({.nvls_connected = true}, Requirement::nvls).state, State::met);
  EXPECT_EQ(only({.algorithms = {{"AllReduce", {"NVLS/SIMPLE"}}}}, Requirement::nvls).state,
            State::met);
  EXPECT_EQ(only({.in_network = {"COLLNET/SHARP"}}, Requirement::sharp).state, State::met);
}

constexpr const char* kSocket = "2 of 2 pairs of ranks on different nodes use NET/Socket";
constexpr const char* kShared = "1 of 1 pairs of ranks on one node use SHM";
constexpr const char* kWithoutGdr = "2 of 2 pairs of ranks on different nodes use NET/IB";

struct CauseCase {
  std::string name;
  Transport transport;
  std::string cause;
  Requirement requirement = Requirement::ib;
  std::string what = kSocket;
};

class RequirementsCauseTest : public ::testing::TestWithParam<CauseCase> {};

TEST_P(RequirementsCauseTest, IsReported) {
  const auto& now = GetParam();
  EXPECT_EQ(only(now.transport, now.requirement), (RequirementResult{.requirement = now.requirement,
                                                                     .state = State::missed,
                                                                     .what = now.what,
                                                                     .cause = now.cause}));
}

CauseCase over_socket(std::string name, Transport transport, std::string cause,
                      std::string_view interfaces = "") {
  return {.name = std::move(name),
          .transport = across("NET/Socket", std::move(transport)),
          .cause = std::move(cause),
          .what = fmt::format("{}{}", kSocket, interfaces)};
}

INSTANTIATE_TEST_SUITE_P(
    Socket, RequirementsCauseTest,
    ::testing::Values(
        over_socket("NoHca", {.no_hca = true},
                    "NCCL sees no HCA: in a container, /dev/infiniband and the limit on locked "
                    "memory must be given to it"),
        over_socket("WrongHcaNamed", {.settings = {{"NCCL_IB_HCA", "mlx4_0"}}, .no_hca = true},
                    "NCCL sees no HCA; NCCL_IB_HCA=mlx4_0 is set: in a container, /dev/infiniband "
                    "and the limit on locked memory must be given to it"),
        over_socket("AccessDenied", {.denied = {"no lock", "no provider"}, .no_hca = true},
                    "NCCL sees no HCA: no lock; no provider"),
        over_socket("LockedMemory", {.denied = {"no lock"}}, "no lock"),
        over_socket("Disabled", {.settings = {{"NCCL_IB_DISABLE", "1"}}},
                    "NCCL_IB_DISABLE=1 is set"),
        over_socket("PluginMissing",
                    {.settings = {{"NCCL_NET_PLUGIN", "ucx"}},
                     .plugins = {"NET/Plugin: Could not find: libnccl-net-ucx.so"},
                     .no_hca = true},
                    "NET/Plugin: Could not find: libnccl-net-ucx.so"),
        over_socket("NamedNetworkMissing",
                    {.settings = {{"NCCL_NET", "UCX"}},
                     .plugins = {"Failed to initialize NET plugin UCX"}},
                    "Failed to initialize NET plugin UCX"),
        over_socket("AnUnrequestedPlugin",
                    {.settings = {{"NCCL_NET_PLUGIN", "none"}},
                     .plugins = {"NET/Plugin: Could not find: x.so"}},
                    ""),
        over_socket("InnerInterface", {.interfaces = {"docker0:172.17.0.1<0>", "eth0:10.0.0.4<0>"}},
                    "NCCL uses docker0 between nodes, which does not lead to other nodes: set "
                    "NCCL_SOCKET_IFNAME to the right one",
                    " (docker0, eth0)"),
        over_socket("WrongInterfaceNamed",
                    {.interfaces = {"lo:127.0.0.1<0>"}, .settings = {{"NCCL_SOCKET_IFNAME", "lo"}}},
                    "NCCL uses lo between nodes, which does not lead to other nodes: "
                    "NCCL_SOCKET_IFNAME=lo is set",
                    " (lo)"),
        over_socket(
            "HcasOnSomeNodes",
            {.hcas = {"mlx5_ib0:1/IB"}, .without_hca = {"gpu-0003", "gpu-0007"}, .no_hca = true},
            "NCCL sees HCAs on some nodes only, and none on gpu-0003, gpu-0007"),
        over_socket("AccessDeniedOnSomeNodes",
                    {.hcas = {"mlx5_ib0:1/IB"},
                     .without_hca = {"gpu-0003"},
                     .denied = {"no provider"},
                     .no_hca = true},
                    "NCCL sees HCAs on some nodes only, and none on gpu-0003: no provider"),
        over_socket("NothingKnown", {}, "")),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, RequirementsCauseTest,
    ::testing::Values(
        CauseCase{"SocketWanted", across("NET/Socket", {.settings = {{"NCCL_NET", "Socket"}}}),
                  "NCCL_NET=Socket is set", Requirement::gdr},
        CauseCase{"NoPeermem", across("NET/IB", {.without_gdr = {"mlx5_ib0"}}),
                  "GPUDirect RDMA is not available on mlx5_ib0: nvidia_peermem is not loaded and "
                  "dma-buf is not usable",
                  Requirement::gdr, kWithoutGdr},
        CauseCase{"GdrLevel", across("NET/IB", {.settings = {{"NCCL_NET_GDR_LEVEL", "LOC"}}}),
                  "NCCL_NET_GDR_LEVEL=LOC is set", Requirement::gdr, kWithoutGdr},
        CauseCase{"TooFar", across("NET/IB", {.with_gdr = {"mlx5_ib0"}}),
                  "the HCAs support it, but NCCL considers them too far from the GPUs "
                  "(NCCL_TOPO_FILE is not set)",
                  Requirement::gdr, kWithoutGdr},
        CauseCase{"SharedMemory", within("SHM", {.settings = {{"NCCL_P2P_DISABLE", "1"}}}),
                  "NCCL_P2P_DISABLE=1 is set", Requirement::nvlink, kShared},
        CauseCase{"RefusedPeers",
                  within("SHM", {.refused = {"Could not enable P2P between dev 0 and 1"}}),
                  "Could not enable P2P between dev 0 and 1", Requirement::p2p, kShared},
        CauseCase{"PeersOverPcie", within("P2P/CUMEM", {.links = {"PCI"}}),
                  "NCCL finds no NVLink in the topology", Requirement::nvlink,
                  "the GPUs are peers over PCIe"},
        CauseCase{"NoMulticast", Transport{.nvls_missing = true},
                  "multicast is not available on the GPUs: they do not support it, or the Fabric "
                  "Manager or IMEX has not set it up",
                  Requirement::nvls, "NCCL's log shows no NVLS"},
        CauseCase{"NoCollnet", Transport{.networks = {"IB"}}, "NCCL_COLLNET_ENABLE=1 is not set",
                  Requirement::sharp, "NCCL's log shows no CollNet"}),
    [](const auto& param) { return param.param.name; });

TEST(RequirementsTest, AreUnknownWithoutALog) {
  EXPECT_EQ(only({}, Requirement::ib),
            (RequirementResult{.requirement = Requirement::ib, .what = "NCCL's log is empty"}));
  EXPECT_EQ(only({.networks = {"IB"}}, Requirement::ib),
            (RequirementResult{
                .requirement = Requirement::ib,
                .what = "NCCL's log shows no transport between ranks on different nodes"}));
  EXPECT_EQ(only(within("P2P/CUMEM"), Requirement::nvlink).state, State::unknown);
}

TEST(RequirementsTest, AreUnknownWithAPlugin) {
  EXPECT_EQ(only(across("NET/UCX"), Requirement::ib),
            (RequirementResult{
                .requirement = Requirement::ib,
                .what = "2 of 2 pairs of ranks on different nodes use NET/UCX, and the log does "
                        "not show its transport"}));
  auto mixed = across("NET/UCX");
  add_pair(mixed, 3, 0, "NET/Socket");
  EXPECT_EQ(only(mixed, Requirement::ib).state, State::missed);
}

TEST(RequirementsTest, DoNotApplyWithoutSuchPairs) {
  EXPECT_EQ(only(within("P2P/CUMEM"), Requirement::gdr, {0, 0}),
            (RequirementResult{.requirement = Requirement::gdr,
                               .state = State::not_applicable,
                               .what = "there are no two ranks on different nodes"}));
  EXPECT_EQ(only(across("NET/IB"), Requirement::p2p, {0, 1, 2, 3}).state, State::not_applicable);
}

// Two nodes with two GPUs each.
std::vector<RequirementResult> results_of_run(const std::string& scenario,
                                              const std::vector<Requirement>& requirements) {
  const auto logs = run_ranks({.ranks = 4, .scenario = scenario, .gpus = 2}, [](Backend& backend) {
    return verify_once(backend, {.bytes = 1024}) ? shorten_log(backend.log()) : "failed";
  });
  Transport all;
  for (const auto& log : logs) add_log(all, log);
  return check_requirements(all, kTwoNodes, requirements);
}

TEST(RequirementsTest, AreCheckedInARun) {
  const std::vector<Requirement> requirements{Requirement::ib, Requirement::gdr,
                                              Requirement::nvlink, Requirement::nvls};
  std::vector<RequirementResult> met;
  for (const auto each : requirements) met.push_back({.requirement = each, .state = State::met});
  EXPECT_EQ(results_of_run(R"({"gpus": 2, "inside": "nvls"})", requirements), met);
  const auto disabled =
      results_of_run(R"({"gpus": 2, "network": "socket", "ib_disabled": true})", {Requirement::ib});
  EXPECT_THAT(disabled, ElementsAre(RequirementResult{.requirement = Requirement::ib,
                                                      .state = State::missed,
                                                      .what = fmt::format("{} (eth0)", kSocket),
                                                      .cause = "NCCL_IB_DISABLE=1 is set"}));
  EXPECT_THAT(results_of_run(R"({"gpus": 2, "network": "socket"})", {Requirement::gdr}).at(0).cause,
              HasSubstr("NCCL sees no HCA"));
  EXPECT_THAT(results_of_run(R"({"gpus": 2, "network": "ib"})", {Requirement::gdr}).at(0).cause,
              HasSubstr("GPUDirect RDMA is not available on mlx5_ib0, mlx5_ib1"));
}

}  // namespace
}  // namespace muster::bench
