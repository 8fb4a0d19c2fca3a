// SPDX-License-Identifier: Apache-2.0
#include "bench/run/access.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "bench/backends/nccl/transport.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
