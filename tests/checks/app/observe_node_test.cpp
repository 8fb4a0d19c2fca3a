// SPDX-License-Identifier: Apache-2.0
// Observing a node: the probes, the environment, and the site's file.
#include "checks/app/observe_node.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/topology.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class ExamineTest : public ::testing::Test {
 protected:
  ExamineTest() { dir_.write("root/proc/sys/kernel/hostname", "node-7\n"); }

  [[nodiscard]] Attempt<ObservedNode> examine_root(const std::string& profile) const {
    const ObservationRequest request{
        .profile = profile, .root = (dir_.path() / "root").string(), .probes = [](const Profile*) {
          return ProbeSet(Probe::environment);
        }};
    const std::map<std::string, std::string> variables{{"NCCL_DEBUG", "TRACE"}};
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return observe_node(request, variables, Clock::now(), deadline);
  }

  TempDir dir_;
};

TEST_F(ExamineTest, IgnoresTheCallersNcclVariablesForAForeignNode) {
  const auto observed = examine_root("generic");
  ASSERT_TRUE(observed) << observed.error().message;
  ASSERT_TRUE(observed->snapshot.environment->nccl);
  EXPECT_THAT(*observed->snapshot.environment->nccl, IsEmpty());
}

TEST_F(ExamineTest, ReadsTheSettingsOfTheForeignNode) {
  dir_.write("root/etc/nccl.conf", "NCCL_DEBUG=INFO\n");
  const auto observed = examine_root("generic");
  ASSERT_TRUE(observed) << observed.error().message;
  ASSERT_TRUE(observed->snapshot.environment->nccl);
  EXPECT_THAT(*observed->snapshot.environment->nccl,
              ElementsAre(Field(&NcclSetting::value, "INFO")));
}

TEST_F(ExamineTest, AnUnknownCheckInTheSiteFileIsBadConfiguration) {
  dir_.write("root/etc/muster/muster.yaml",
             "overrides:\n  contexts:\n    manual:\n      run: [ib.stat, host.mounts]\n");
  for (const auto* profile : {"generic", ""}) {
    const auto observed = examine_root(profile);
    ASSERT_FALSE(observed);
    EXPECT_EQ(observed.error().status, 78);
    EXPECT_EQ(observed.error().message,
              fmt::format("{}/root/etc/muster/muster.yaml:4: 'contexts.manual.run' names unknown "
                          "check \"ib.stat\"; did you mean 'ib.state'?",
                          dir_.path().string()));
  }
}

TEST(WantedTest, IsNamedByTheProfile) {
  Profile profile;
  profile.host->sysctl.values = {{"vm.zone_reclaim_mode", "0"}};
  profile.host->programs = {.executable = {"/usr/bin/enroot"}, .present = {"/etc/slurm"}};
  profile.host->container_storage.paths = {"/mnt/nvme"};
  profile.host->mounts.answer_within = Seconds{1.5};
  profile.env->libraries.required = {"libibverbs.so.1"};
  profile.env->libraries.optional = {"libnccl.so.2"};
  profile.topo->nccl_file.path = "/opt/topo.xml";
  const auto wanted = wanted_of(profile);
  EXPECT_THAT(wanted.sysctls, ElementsAre("vm.zone_reclaim_mode"));
  EXPECT_THAT(wanted.files, ElementsAre("/usr/bin/enroot", "/etc/slurm", "/mnt/nvme"));
  EXPECT_THAT(wanted.libraries, ElementsAre("libibverbs.so.1", "libnccl.so.2"));
  EXPECT_EQ(wanted.nccl_topology, "/opt/topo.xml");
  EXPECT_EQ(wanted.statfs_deadline, std::chrono::milliseconds(1500));
}

}  // namespace
}  // namespace muster::app
