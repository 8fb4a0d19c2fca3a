// SPDX-License-Identifier: Apache-2.0
#include "bench/run/transport_report.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>

#include "bench/backends/nccl/transport.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

// Two ranks on each of two nodes.
std::vector<Member> members() {
  std::vector<Member> all;
  all.reserve(4);
  for (int rank = 0; rank < 4; ++rank) {
    all.push_back({.rank = rank, .host = rank < 2 ? "a" : "b"});
  }
  return all;
}

std::string line(std::string_view text) { return fmt::format("a:1:1 [0] NCCL INFO {}\n", text); }

std::string log_over(std::string_view way) {
  return line("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM") +
         line(fmt::format("Channel 00/0 : 1[1] -> 2[0] [send] via {}", way)) +
         line(fmt::format("Using network {}",
                          way.find("Socket") == std::string_view::npos ? "IB" : "Socket"));
}

TransportReport of(const std::vector<std::string>& logs, const std::vector<std::string>& required) {
  return transport_report(logs, members(), required, Collective::all_reduce);
}

TEST(TransportFactsTest, NameTheTransportsAndTheMissingRequirements) {
  const auto interface = line("NET/Socket : Using [0]eth0:10.0.0.4<0>");
  struct Case {
    std::vector<std::string> logs;
    std::string used;
    std::vector<std::string> required = {"ib"};
    std::vector<std::string> missing = {}, unclear = {};
  };
  const std::string rdma = "between nodes NET/IB/GDRDMA; inside P2P/CUMEM";
  for (const auto& [logs, used, required, missing, unclear] : {
           Case{{log_over("NET/IB/0/GDRDMA")}, rdma, {"ib", "gdr"}},
           Case{{log_over("NET/IB/0/GDRDMA") + interface}, rdma},
           Case{{log_over("NET/Socket/0") + interface},
                "between nodes NET/Socket (eth0); inside P2P/CUMEM",
                {"ib"},
                {"ib"}},
           // The logs of all ranks count.
           Case{{log_over("NET/IB/0/GDRDMA"),
                 line("Channel 00/0 : 3[1] -> 0[0] [send] via NET/Socket/0")},
                "between nodes NET/IB/GDRDMA, NET/Socket; inside P2P/CUMEM",
                {"ib"},
                {"ib"}},
           Case{{line("Using network IB")}, "", {"p2p"}, {}, {"p2p"}},
           Case{{"", ""}, ""},
       }) {
    const auto facts = of(logs, required).facts;
    EXPECT_EQ(facts.known, !logs.front().empty()) << used;
    EXPECT_EQ(facts.used, used);
    EXPECT_EQ(facts.unclear, unclear);
    ASSERT_EQ(facts.missing.size(), missing.size()) << used;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      EXPECT_EQ(facts.missing[i].requirement, missing[i]);
    }
  }
  const auto cause = of({log_over("NET/Socket/0") + line("NET/IB : No device found.")}, {"ib"})
                         .facts.missing.at(0)
                         .cause;
  EXPECT_THAT(cause, AllOf(HasSubstr("NET/Socket"), HasSubstr("no HCA")));
}

// A job across racks uses both, and the network limits it.
TEST(TransportFactsTest, NameTheSlowestConnectionOfNodes) {
  const auto over = [](const std::vector<std::string>& logs) { return of(logs, {}).facts.over; };
  EXPECT_EQ(over({log_over("P2P/MNNVL")}), "nvlink");
  EXPECT_EQ(over({log_over("NET/IB/0/GDRDMA")}), "infiniband");
  EXPECT_EQ(over({log_over("P2P/MNNVL"), log_over("NET/IB/0/GDRDMA")}), "infiniband");
  EXPECT_EQ(over({}), "");
}

TEST(TransportReportTest, ListsEachWarningOnce) {
  const std::string warning = "a:1:1 [0] NCCL WARN NET/IB : Unable to open device mlx5_ib0\n";
  EXPECT_THAT(of({warning + line("Using network IB"), warning}, {}).warnings,
              ElementsAre("NET/IB : Unable to open device mlx5_ib0"));
}

TEST(TransportReportTest, ListsThePairsOfEachTransport) {
  EXPECT_THAT(of({log_over("NET/IB/0/GDRDMA")}, {}).pairs,
              ElementsAre("NET/IB/GDRDMA: 1 to 2", "P2P/CUMEM: 0 to 1"));
}

TEST(TransportReportTest, FoldsPairsAndShortensLongLines) {
  std::string log;
  const auto channel = [&](int from, int to) {
    log += line(fmt::format("Channel 00/0 : {}[0] -> {}[0] [send] via NET/IB/0", from, to));
  };
  for (int rank = 0; rank < 8; ++rank) channel(rank, rank + 8);
  channel(15, 0);
  EXPECT_THAT(of({log}, {}).pairs, ElementsAre("NET/IB: 0-7 to 8-15, 15 to 0"));
  for (int rank = 0; rank < 40; ++rank) channel(100 + 2 * rank, 300);
  EXPECT_THAT(of({log}, {}).pairs,
              ElementsAre(::testing::EndsWith("158 to 300 and 10 more pairs")));
}

TEST(TransportReportTest, NamesTheAlgorithmIfItIsUnique) {
  const auto tuned = [](std::string_view name, std::string_view algorithm) {
    return line(fmt::format("{}: 1024 Bytes -> Algo {} proto SIMPLE channel{{Lo..Hi}}={{0..15}}",
                            name, algorithm));
  };
  EXPECT_EQ(of({tuned("AllReduce", "RING")}, {}).algorithm, "RING");
  EXPECT_EQ(of({tuned("AllReduce", "RING") + tuned("AllReduce", "TREE")}, {}).algorithm, "");
  EXPECT_EQ(of({tuned("Broadcast", "RING")}, {}).algorithm, "");
}

using Names = std::vector<std::string>;

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("sys/class/infiniband_verbs/abi_version", "6");
    for (const int number : {0, 1}) {
      folder_.write(fmt::format("sys/class/infiniband_verbs/uverbs{}/ibdev", number),
                    fmt::format("mlx5_ib{}\n", number));
      folder_.write(device(number), "");
    }
  }

  [[nodiscard]] std::string device(int number) const {
    return fmt::format("dev/infiniband/uverbs{}", number);
  }

  [[nodiscard]] std::string problem(const Result<Names>& listed) const {
    return problem_with_hcas(*Root::below(folder_.path()), listed);
  }

  TempDir folder_;
};

TEST_F(AccessTest, IsCompleteIfLibibverbsListsEveryHca) {
  EXPECT_EQ(problem(Names{"mlx5_ib0", "mlx5_ib1"}), "");
}

TEST_F(AccessTest, NamesDeviceFilesThatTheContainerLacks) {
  std::filesystem::remove(folder_.path() / device(1));
  EXPECT_THAT(problem(Names{"mlx5_ib0"}),
              AllOf(HasSubstr("/dev/infiniband/uverbs1 cannot be used"),
                    HasSubstr("No such file or directory"), HasSubstr("the RDMA resource")));
  std::filesystem::remove(folder_.path() / device(0));
  EXPECT_THAT(problem(Names{}), HasSubstr("/dev/infiniband/uverbs0 and 1 more cannot be used"));
}

TEST_F(AccessTest, NamesTheMissingProvider) {
  EXPECT_EQ(problem(Names{"mlx5_ib1"}),
            "libibverbs has no provider for mlx5_ib0: install ibverbs-providers in the image");
  EXPECT_EQ(problem(Names{}),
            "libibverbs has no provider for mlx5_ib0 and 1 more: install ibverbs-providers in the "
            "image");
  EXPECT_THAT(problem(make_error("libibverbs.so.1: cannot open shared object file")),
              HasSubstr("cannot open shared object file: install ibverbs-providers"));
}

TEST(AccessLimitsTest, NameTheLimitOfLockedMemory) {
  EXPECT_EQ(problem_with_locked_memory(RLIM_INFINITY, false), "");
  EXPECT_EQ(problem_with_locked_memory(65536, true), "");
  EXPECT_THAT(problem_with_locked_memory(65536, false),
              AllOf(HasSubstr("only 64 KiB of memory may be locked"), HasSubstr("IPC_LOCK")));
}

TEST(AccessLimitsTest, NameTheSizeOfSharedMemory) {
  EXPECT_EQ(problem_with_shared_memory(1UL << 30U), "");
  EXPECT_THAT(problem_with_shared_memory(64UL << 20U), HasSubstr("/dev/shm has 64 MiB"));
}

const AccessProblems kAll{.hcas = "no HCAs", .locked_memory = "no lock", .shared_memory = "small"};

TEST(AccessReportTest, IsAddedToTheLogOnlyWithTcp) {
  const auto lines = access_lines("NCCL INFO Using network Socket\n", kAll);
  EXPECT_THAT(parse_transport(lines).denied, ElementsAre("no HCAs", "no lock"));
  EXPECT_EQ(access_lines("NCCL INFO Using network IB\n", kAll), "");
  EXPECT_EQ(access_lines("NCCL INFO Using network Socket\n", {}), "");
}

TEST(AccessReportTest, ExplainsWarningsOfAFailedRun) {
  const auto explained = [](const char* warning) { return explain_failure({warning}, kAll); };
  EXPECT_EQ(explained("Call to ibv_create_cq failed with error Cannot allocate memory"), "no lock");
  EXPECT_EQ(explained("Error: failed to extend /dev/shm/nccl-Ab to 9637892 bytes, error: No space "
                      "left on device (28)"),
            "small");
  EXPECT_EQ(explained("Call to posix_fallocate failed : No space left on device"), "small");
  EXPECT_EQ(explained("Error: network IB not found."), "no HCAs");
  EXPECT_EQ(explained("Failed to initialize any NET plugin"), "no HCAs");
  EXPECT_THAT(explained("Error : no algorithm/protocol available for function AllGather with "
                        "datatype ncclInt8. NCCL_ALGO was set to Tree."),
              HasSubstr("NCCL_ALGO"));
  EXPECT_THAT(explained("Cuda failure 2 'out of memory'"), HasSubstr("free memory"));
  EXPECT_THAT(explained("gpu1: cuMemAlloc: out of memory (CUDA 2, CUDA_ERROR_OUT_OF_MEMORY)"),
              HasSubstr("free memory"));
  EXPECT_EQ(explained("NET/IB : Got completion with error 12"), "");
  EXPECT_EQ(explained("Cuda failure 719 'unspecified launch failure'"), "");
}

}  // namespace
}  // namespace muster::bench
