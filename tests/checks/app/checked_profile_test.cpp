// SPDX-License-Identifier: Apache-2.0
// What a profile makes the probes look for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/app/observe_node.hpp"
#include "lib/profile/limits/environment.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;

TEST(WantedTest, IsWhatTheProfileNames) {
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
