// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/job_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/base/descriptor.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

const Variables kBatch{{"SLURM_JOB_ID", "42"},
                       {"SLURM_JOB_USER", "alice"},
                       {"SLURM_NODELIST", "n[7-8]"},
                       {"SLURM_JOB_WORK_DIR", "/home/alice"}};

Variables with_output(const std::string& name) {
  auto variables = kBatch;
  variables["SLURM_JOB_STDOUT"] = name;
  return variables;
}

const slurm::Job kJob{.batch = true,
                      .requeue = true,
                      .name = "train",
                      .array_job = "40",
                      .array_task = "3",
                      .host = "n7"};

std::string path_of(const Variables& variables, const std::optional<slurm::Job>& job) {
  const auto file = output_file(variables, job, "n7");
  return file ? file->path : file.error().message;
}

struct PatternCase {
  std::string_view name, path;
};

class PatternTest : public ::testing::TestWithParam<PatternCase> {};

// Compared with what slurmstepd of 22.05 made of them.
TEST_P(PatternTest, IsFilledInAsSlurmDoes) {
  EXPECT_EQ(path_of(with_output(fmt::format("/home/alice/{}", GetParam().name)), kJob),
            fmt::format("/home/alice/{}", GetParam().path));
}

INSTANTIATE_TEST_SUITE_P(
    Names, PatternTest,
    ::testing::Values(PatternCase{"plain.out", "plain.out"},
                      PatternCase{"o-%j-%J.out", "o-42-42.out"},
                      PatternCase{"o-%5j.out", "o-00042.out"}, PatternCase{"o-%1j.out", "o-42.out"},
                      PatternCase{"%A_%a", "40_3"},
                      PatternCase{"%A_%4a-%x.out", "40_0003-train.out"},
                      PatternCase{"%u/%9u", "alice/alice"}, PatternCase{"%n%s%t", "0batch0"},
                      PatternCase{"100%%", "100%"}, PatternCase{"\\%j-%x.out", "%j-%x.out"},
                      PatternCase{"a\\\\%j", "a\\%j"}));

TEST(OutputFileTest, APatternThatIsNotKnownIsSaid) {
  for (const auto* name : {"/o/%b.out", "/o/%", "/o/%5", "/o/%11j", "/o/%q"}) {
    EXPECT_THAT(path_of(with_output(name), kJob), HasSubstr("which is not known here: ")) << name;
  }
  EXPECT_THAT(path_of(with_output("/o/%x.out"), std::nullopt),
              HasSubstr("the name of its output has %x, which is not known here"));
}

TEST(OutputFileTest, WithoutANameItIsSlurmsDefault) {
  auto single = kJob;
  single.array_job = single.array_task = "";
  EXPECT_EQ(path_of(kBatch, single), "/home/alice/slurm-42.out");
  EXPECT_EQ(path_of(kBatch, kJob), "/home/alice/slurm-40_3.out");
  EXPECT_EQ(path_of(with_output("/dir/%A_%a"), single), "/dir/42_4294967294");
}

TEST(OutputFileTest, PatternsInTheNameOfTheFolderAreNone) {
  auto variables = kBatch;
  variables["SLURM_JOB_WORK_DIR"] = "/home/%j";
  EXPECT_EQ(path_of(variables, kJob), "/home/%j/slurm-40_3.out");
}

TEST(OutputFileTest, OnlySrunsAndSallocsJobsHaveNone) {
  auto waited_for = kJob;
  waited_for.batch = false;
  EXPECT_EQ(path_of(with_output("/o/%j"), waited_for), "");
  EXPECT_EQ(path_of({{"SLURM_JOB_ID", "42"}, {"SLURM_JOB_STDOUT", "relative"}}, kJob), "");
}

TEST(OutputFileTest, IsMadeWhereSlurmWouldMakeIt) {
  const auto made = [](const Variables& variables, const std::optional<slurm::Job>& job,
                       std::string_view node) {
    return output_file(variables, job, node)->may_create;
  };
  EXPECT_TRUE(made(kBatch, kJob, "n7"));
  EXPECT_FALSE(made(kBatch, kJob, "n8"));  // the script runs on another
  EXPECT_TRUE(made(with_output("/o/%j"), std::nullopt, "n7"));
  EXPECT_FALSE(made(with_output("/o/%j"), std::nullopt, "n8"));
  EXPECT_FALSE(made(kBatch, std::nullopt, "n7"));  // it may be srun's
}

class JobOutputTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<void> tell(const std::string& name, unsigned user,
                                  bool create = true) const {
    const Variables variables{{"SLURM_JOB_UID", fmt::format("{}", user)},
                              {"SLURM_JOB_GID", fmt::format("{}", ::getegid())}};
    const OutputFile file{.path = name.starts_with('/') ? name : (dir_.path() / name).string(),
                          .may_create = create};
    return append_to_job_output(file, variables, "muster: not fit\n",
                                Clock::now() + std::chrono::seconds(20));
  }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(dir_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir dir_;
};

TEST_F(JobOutputTest, AppendsToTheFile) {
  dir_.write("slurm-42.out", "earlier\n");
  ASSERT_TRUE(tell("slurm-42.out", ::geteuid()));
  EXPECT_EQ(content("slurm-42.out"), "earlier\nmuster: not fit\n");
}

TEST_F(JobOutputTest, MakesNoFileThatIsNotTheJobs) {
  ASSERT_TRUE(tell("slurm-42.out", ::geteuid(), false));
  EXPECT_TRUE(fs::is_empty(dir_.path()));
  ASSERT_TRUE(tell("slurm-42.out", ::geteuid()));
  EXPECT_EQ(content("slurm-42.out"), "muster: not fit\n");
}

TEST_F(JobOutputTest, WaitsForNobodyWhoReadsAPipe) {
  ASSERT_EQ(::mkfifo((dir_.path() / "pipe").c_str(), 0600), 0);
  const auto told = tell("pipe", ::geteuid());
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("No such device or address"));
}

TEST_F(JobOutputTest, GoesThroughNoLink) {
  dir_.write("other", "mine\n");
  dir_.link("link", (dir_.path() / "other").string());
  const auto told = tell("link", ::geteuid());
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("Too many levels of symbolic links"));
  EXPECT_EQ(content("other"), "mine\n");
}

// What the hook has open is not the user's, whatever the user calls an output.
TEST_F(JobOutputTest, LeadsToNoFileThatIsOpenHere) {
  dir_.write("history", "root's\n");
  fs::create_directory(dir_.path() / "folder");
  dir_.write("folder/name", "root's\n");
  const Descriptor file(::open((dir_.path() / "history").c_str(), O_RDWR | O_CLOEXEC));
  const Descriptor folder(::open((dir_.path() / "folder").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(tell(fmt::format("/proc/self/fd/{}", file.get()), ::geteuid()));
  EXPECT_FALSE(tell(fmt::format("/dev/fd/{}", file.get()), ::geteuid()));
  EXPECT_FALSE(tell(fmt::format("/proc/self/fd/{}/name", folder.get()), ::geteuid()));
  EXPECT_EQ(content("history"), "root's\n");
  EXPECT_EQ(content("folder/name"), "root's\n");
}

TEST_F(JobOutputTest, WritesNothingThatTheUserMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  constexpr unsigned kNobody = 65534;
  dir_.write("secret", "root's\n");
  fs::permissions(dir_.path(), fs::perms(0755));
  fs::permissions(dir_.path() / "secret", fs::perms(0600));
  const auto told = tell("secret", kNobody);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("Permission denied"));
  EXPECT_EQ(content("secret"), "root's\n");
}

}  // namespace
}  // namespace muster::app
