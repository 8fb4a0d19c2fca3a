// SPDX-License-Identifier: Apache-2.0
#include "fleet/slurm_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fleet/store.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As sacctmgr and sacct of Slurm 22.05 print them with SLURM_TIME_FORMAT=%s.
constexpr std::string_view kEvents =
    "|1767225600|Unknown||root|Cluster Registered TRES\n"
    "gpu-1|1767300000|1767303600|DRAIN|root|muster: gpu.xid | gpu3\n"
    "gpu-2|1767400000|Unknown|DOWN*|slurm(64030)|Not responding\n";
constexpr std::string_view kJobs =
    "7|1767300000|1767307200|NODE_FAIL|1:0|gpu-[1-2]\n"
    "8|1767400000|Unknown|RUNNING|0:0|gpu-1\n"
    "9|Unknown|1767400000|CANCELLED by 0|0:0|None assigned\n";

TEST(SlurmRecordTest, ReadsOutagesOfNodes) {
  EXPECT_THAT(
      *parse_outages(kEvents),
      ElementsAre(
          SlurmOutage{"gpu-1", 1767300000, 1767303600, "DRAIN", "root", "muster: gpu.xid | gpu3"},
          SlurmOutage{"gpu-2", 1767400000, {}, "DOWN*", "slurm(64030)", "Not responding"}));
  EXPECT_THAT(*parse_outages(""), IsEmpty());
  EXPECT_THAT(parse_outages("gpu-1|x\n").error().message, HasSubstr("expected 6 fields"));
}

TEST(SlurmRecordTest, ReadsJobsThatRan) {
  EXPECT_THAT(
      *parse_jobs(kJobs),
      ElementsAre(SlurmJob{"7", {"gpu-1", "gpu-2"}, 1767300000, 1767307200, "NODE_FAIL", "1:0"},
                  SlurmJob{"8", {"gpu-1"}, 1767400000, {}, "RUNNING", "0:0"}));
}

class SlurmImportTest : public ::testing::Test {
 protected:
  Result<SlurmCounts> import(const CallSlurm& call) {
    Importer importer(store_->database(), "");
    return import_slurm(store_->database(), importer, 1767225600, call);
  }

  TempDir temp_;
  OrFailure<Store> store_ = Store::open_to_write(temp_.path() / "store");
};

TEST_F(SlurmImportTest, IsTheSameWhenRepeated) {
  const auto call = [](std::string_view program, const std::vector<std::string>& words) {
    EXPECT_THAT(words, ::testing::Contains(HasSubstr("2026-01-01T00:00:00")));
    return Result<std::string>(program == "sacct" ? kJobs : kEvents);
  };
  for (int i = 0; i < 2; ++i) {
    const auto counts = import(call);
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->outages, 2);
    EXPECT_EQ(counts->jobs, 2);
  }
  auto& database = store_->database();
  EXPECT_EQ(**database.whole("SELECT count(*) FROM job"), 3);
  EXPECT_EQ(**database.whole("SELECT count(*) FROM outage WHERE ended IS NULL"), 1);
}

TEST_F(SlurmImportTest, ReportsThatThereIsNoAccounting) {
  const auto counts = import([](std::string_view /*program*/, const auto& /*words*/) {
    return Result<std::string>(make_error("sacctmgr ended with status 1: no slurmdbd"));
  });
  EXPECT_THAT(counts.error().message, HasSubstr("no slurmdbd"));
}

}  // namespace
}  // namespace muster::fleet
