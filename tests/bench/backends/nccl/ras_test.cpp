// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/ras.hpp"

#include <cstdlib>

#include "bench/backends/nccl/log.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr const char* kHead =
    "SERVER PROTOCOL 2\nOK\nNCCL version 2.28.9 compiled with CUDA 13.0\n\n"
    "Job summary\n===========\n\n  Nodes  Processes         GPUs\n      2          8           "
    "16\n\n";

constexpr const char* kBehind =
    "Errors\n======\n\n"
    "INCOMPLETE\n  Missing communicator data from 1 job process\n"
    "  Process 4711 on node 10.0.0.7 managing GPU 3\n\n"
    "Warnings\n========\n\n"
    "#0-0 (cf264af53edbe986) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  15 ranks have launched up to operation 20\n"
    "  Rank 11 has launched up to operation 2 -- GPU 3 managed by process 4711 on node "
    "10.0.0.7\n\n";

constexpr auto kPatience = std::chrono::seconds(60);

class RasTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("NCCL_RAS_ADDR"); }

  static void set_address(const std::string& address) {
    ::setenv("NCCL_RAS_ADDR", address.c_str(), 1);
  }
};

TEST_F(RasTest, ReportsMissingAndLateRanks) {
  fakes::Ras service(std::string(kHead) + kBehind);
  set_address(service.address());
  EXPECT_EQ(ask_ras(kPatience),
            "Missing communicator data from 1 job process; "
            "Process 4711 on node 10.0.0.7 managing GPU 3; "
            "Communicator ranks have different AllReduce operation counts; "
            "15 ranks have launched up to operation 20; "
            "Rank 11 has launched up to operation 2 -- GPU 3 managed by process 4711 on node "
            "10.0.0.7");
  EXPECT_EQ(service.asked(), "CLIENT PROTOCOL 2\nTIMEOUT 1\nSTATUS\n");
}

TEST_F(RasTest, AcceptsLocalhost) {
  fakes::Ras service(std::string(kHead) + kBehind);
  set_address("localhost" + service.address().substr(service.address().find(':')));
  EXPECT_THAT(ask_ras(kPatience), StartsWith("Missing"));
}

TEST_F(RasTest, IsEmptyWithoutErrorsOrForAnotherService) {
  for (const auto& answer :
       {std::string(kHead), std::string("HTTP/1.1 400 Bad Request\n") + kBehind}) {
    const fakes::Ras service(answer);
    set_address(service.address());
    EXPECT_EQ(ask_ras(kPatience), "");
  }
}

TEST_F(RasTest, KeepsTheAnswerOfAServiceThatHangs) {
  const fakes::Ras service(std::string(kHead) + kBehind, true);
  set_address(service.address());
  EXPECT_THAT(ask_ras(std::chrono::seconds(1)), HasSubstr("Rank 11 has launched"));
}

TEST_F(RasTest, IsEmptyForOtherAddresses) {
  for (const auto* address : {"127.0.0.1:1", "ras.example:28028", "nowhere", ":", "[::1]:x", ""}) {
    set_address(address);
    EXPECT_EQ(ask_ras(kPatience), "") << address;
  }
}

TEST_F(RasTest, ChoosesAFreePortUnlessTheUserHas) {
  ::unsetenv("NCCL_RAS_ADDR");
  choose_ras_address();
  EXPECT_THAT(std::getenv("NCCL_RAS_ADDR"), StartsWith("127.0.0.1:"));
  EXPECT_STRNE(std::getenv("NCCL_RAS_ADDR"), "127.0.0.1:0");
  set_address("localhost:28028");
  choose_ras_address();
  EXPECT_STREQ(std::getenv("NCCL_RAS_ADDR"), "localhost:28028");
}

TEST_F(RasTest, KeepsOnlyTheFirstSentences) {
  std::string answer = "SERVER PROTOCOL 2\nErrors\n======\n";
  for (int rank = 0; rank < 40; ++rank) answer += "  Rank \x1b -- GPU 0\n";
  const auto text = trouble_in_ras_answer(answer);
  EXPECT_THAT(text, AllOf(HasSubstr("; and 28 more lines"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace muster::bench
