// SPDX-License-Identifier: Apache-2.0
// LBNL NHC as Slurm's health check, with muster's plug-in: a sick node is drained and comes back.
// MUSTER_NHC_TREE names an unpacked NHC; by default the small one of tests/nhc is used.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/e2e/slurm/cluster.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

// {0}: the call of NHC.
constexpr const char* kHealthCheck = R"(#!/bin/bash
here=${{0%/*}}
cd "$here/glob" || exit
export SLURM_CONF=$here/../etc/slurm.conf
bash {0} CONFDIR="$here/nhc" INCDIR="$here/nhc/scripts" CONFFILE="$here/nhc/nhc.conf" \
  HOSTNAME="$SLURMD_NODENAME" NHC_RM=slurm LOGFILE="$here/$SLURMD_NODENAME.log"
)";

// NHC handles a failure by the same rule: it undoes only its own drains.
constexpr const char* kOffline = R"(#!/bin/bash
node=$1
shift
/usr/bin/scontrol update nodename="$node" state=drain reason="NHC: $*"
)";

constexpr const char* kOnline = R"(#!/bin/bash
read -r state reason < <(/usr/bin/sinfo -h -n "$1" -o '%T %E')
[[ $state == drain* && $reason == 'NHC: '* ]] || exit 0
/usr/bin/scontrol update nodename="$1" state=resume
)";

// Replaces a kernel log that has a line.
constexpr const char* kMuster = R"(#!/bin/bash
here=${0%/*}
if [[ -e $here/sick.$SLURMD_NODENAME ]]; then
  printf '%s\n' "unhealthy: gpu.xid gpu3: XID 48 in \$(touch $here/ran)' ; touch $here/ran ; echo ' * ?"
  exit 1
fi
echo "healthy: 60 checks: 60 pass"
)";

constexpr const char* kNhcConfiguration = R"(* || export MUSTER_PROGRAM={}/programs/muster
* || check_muster_host
{{n[1-2]}} || check_muster_gpu
)";

std::string call_of_nhc() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (const char* tree = std::getenv("MUSTER_NHC_TREE")) {
    return fmt::format("{0}/nhc HELPERDIR={0}/helpers", tree);
  }
  return fmt::format(
      "{}/tests/nhc/driver.sh OFFLINE_NODE=\"$here/offline\" "
      "ONLINE_NODE=\"$here/online\"",
      MUSTER_SOURCE_DIR);
}

std::map<std::string, std::string> programs() {
  std::map<std::string, std::string> all{{"health_check", fmt::format(kHealthCheck, call_of_nhc())},
                                         {"offline", kOffline},
                                         {"online", kOnline},
                                         {"muster", kMuster},
                                         {"glob/file_of_a_glob", ""}};
  const auto plug_in = std::filesystem::path(MUSTER_SOURCE_DIR) / "nhc-plugins/muster.nhc";
  all["nhc/scripts/muster.nhc"] = content_of(plug_in);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  const char* tree = std::getenv("MUSTER_NHC_TREE");
  if (tree == nullptr) return all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(tree) / "scripts")) {
    if (entry.path().extension() != ".nhc") continue;
    all[fmt::format("nhc/scripts/{}", entry.path().filename().string())] = content_of(entry.path());
  }
  return all;
}

TEST(Nhc, DrainsOnlyTheSickNodeAndResumesItAndKeepsAnAdminsDrain) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  Cluster cluster({.nodes = 3, .programs = programs(), .health_check = "health_check"});
  ASSERT_EQ(cluster.trouble(), "");
  (void)cluster.write("programs/nhc/nhc.conf",
                      fmt::format(kNhcConfiguration, cluster.folder().string()));
  const auto drained = [](const auto& node) { return node.is("drained"); };
  const auto idle = [](const auto& node) { return node.is("idle"); };
  ASSERT_EQ(
      cluster.scontrol({"update", "nodename=n2", "state=drain", "reason=swap a cable"}).status, 0);

  const auto sick = cluster.write("programs/sick.n1", "");
  ASSERT_TRUE(cluster.wait_until("n1", drained))
      << content_of(cluster.folder() / "programs/n1.log");
  const auto nodes = cluster.nodes();
  EXPECT_THAT(nodes.at("n1").reason, ::testing::StartsWith("NHC: check_muster_"));
  EXPECT_THAT(nodes.at("n1").reason, HasSubstr("gpu.xid gpu3: XID 48 in touch /tmp/"));
  EXPECT_EQ(nodes.at("n1").reason.find_first_of("'\"`$\\*?;|(){}[]"), std::string::npos);
  EXPECT_EQ(nodes.at("n2").reason, "swap a cable");
  EXPECT_EQ(nodes.at("n3").state, "idle");

  std::filesystem::remove(sick);
  EXPECT_TRUE(cluster.wait_until("n1", idle)) << cluster.nodes().at("n1").state;
  // NHC sets only the state, which since Slurm 24.05 leaves the reason in place.
  EXPECT_THAT(cluster.nodes().at("n1").reason,
              ::testing::AnyOf("", ::testing::StartsWith("NHC: check_muster_")));
  EXPECT_EQ(cluster.nodes().at("n2").reason, "swap a cable");
  EXPECT_FALSE(std::filesystem::exists(cluster.folder() / "programs/ran"));
}

}  // namespace
}  // namespace muster::e2e
