// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <map>
#include <string>

#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

constexpr std::string_view kTopology = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff,ffffffff" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200"/>
      <pci busid="0101:00:00.0" class="0x020700"/>
    </pci>
    <pci busid="3B:00.0" class="0x010802"/>
  </cpu>
</system>
)";

class EnvironmentTest : public ::testing::Test {
 protected:
  [[nodiscard]] Environment probe(const Wanted& wanted = {},
                                  const std::map<std::string, std::string>& variables = {}) const {
    return *probe_environment(*Root::below(dir_.path()), wanted, variables);
  }

  TempDir dir_;
};

TEST(NcclConfFilesTest, TheUsersFileIsStrongerThanTheNodes) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(nccl_conf_files("", ""), Files{"/etc/nccl.conf"});
  EXPECT_EQ(nccl_conf_files("", "/home/u"), (Files{"/home/u/.nccl.conf", "/etc/nccl.conf"}));
  EXPECT_EQ(nccl_conf_files("/opt/n", "/home/u"), (Files{"/opt/n", "/etc/nccl.conf"}));
}

TEST(NcclConfTest, ReadsLinesAsNcclDoes) {
  EXPECT_THAT(parse_nccl_conf("# comment\n"
                              "NCCL_A=1\n"
                              " NCCL_B=2\n"
                              "NCCL_C\n"
                              "PATH=/bin\n"
                              "NCCL_A=3\n"
                              "UCX_TLS=rc,x=y",
                              "/etc/nccl.conf"),
              ElementsAre(NcclSetting{"NCCL_A", "1", "/etc/nccl.conf:2"},
                          NcclSetting{"UCX_TLS", "rc,x=y", "/etc/nccl.conf:7"}));
}

TEST(NcclTopologyTest, ReturnsDevicesAndCpusWithoutBridges) {
  const auto topology = parse_nccl_topology(kTopology);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_THAT(topology->pci_addresses, ElementsAre("0001:00:00.0", "0101:00:00.0", "0000:3b:00.0"));
  EXPECT_THAT(topology->cpu_affinities, ElementsAre("0=0000ffff,ffffffff"));
}

TEST(NcclTopologyTest, RefusesInvalidDocuments) {
  for (const auto* const text :
       {"", "text", "<", "<system", "<system>", "</system>", "<system></cpu>", "<system a=b/>",
        "<!-- never ends", "<topology/>", "<system><pci class=\"0x030200\"/></system>",
        "<system><cpu affinity=\"1\"/></system>"}) {
    EXPECT_FALSE(parse_nccl_topology(text)) << text;
  }
}

TEST(NcclTopologyTest, NeverExpandsAnEntity) {
  const auto topology = parse_nccl_topology(
      R"(<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/shadow">]><system><cpu numaid="&x;"/></system>)");
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_THAT(topology->cpu_affinities, ElementsAre("&x;="));
}

TEST(NcclTopologyTest, CopesWithDeepNesting) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text.append("<system>");
  EXPECT_FALSE(parse_nccl_topology(text));
  for (int i = 0; i < 100000; ++i) text.append("</system>");
  EXPECT_TRUE(parse_nccl_topology(text));
}

TEST_F(EnvironmentTest, OrdersNcclSettingsByStrength) {
  dir_.write("etc/nccl.conf", "NCCL_DEBUG=WARN\n");
  dir_.write("home/user.conf", "NCCL_DEBUG=INFO\n");
  const auto environment = probe(
      {}, {{"NCCL_CONF_FILE", "/home/user.conf"}, {"NCCL_DEBUG", "TRACE"}, {"HOME", "/root"}});
  EXPECT_THAT(*environment.nccl,
              ElementsAre(NcclSetting{"NCCL_DEBUG", "WARN", "/etc/nccl.conf:1"},
                          NcclSetting{"NCCL_DEBUG", "INFO", "/home/user.conf:1"},
                          NcclSetting{"NCCL_CONF_FILE", "/home/user.conf", "environment"},
                          NcclSetting{"NCCL_DEBUG", "TRACE", "environment"}));
}

TEST_F(EnvironmentTest, UnreadableSettingsAreNotEmpty) {
  EXPECT_THAT(*probe().nccl, IsEmpty());
  dir_.write("etc/nccl.conf/file", "");
  EXPECT_TRUE(probe().nccl.is_unreadable());
}

TEST_F(EnvironmentTest, DoesNotBlockOnAFifo) {
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(probe({}, {{"NCCL_CONF_FILE", "/fifo"}}).nccl.why(), "read /fifo: not a regular file");
  EXPECT_THAT(probe({}, {{"NCCL_TOPO_FILE", "/fifo"}}).nccl_topology.why(),
              HasSubstr("not a regular file"));
}

TEST_F(EnvironmentTest, KeepsTheJobAndNoSecret) {
  const auto environment = probe(
      {},
      {{"SLURM_JOB_ID", "42"}, {"CUDA_VISIBLE_DEVICES", "0,1"}, {"AWS_SECRET_ACCESS_KEY", "x"}});
  EXPECT_THAT(environment.job,
              ElementsAre(std::pair<const std::string, std::string>("CUDA_VISIBLE_DEVICES", "0,1"),
                          std::pair<const std::string, std::string>("SLURM_JOB_ID", "42")));
  EXPECT_THAT(*environment.nccl, IsEmpty());
}

TEST_F(EnvironmentTest, PrefersTheProfilesTopologyFile) {
  dir_.write("opt/topo.xml", kTopology);
  dir_.write("etc/nccl.conf", "NCCL_TOPO_FILE=/opt/other.xml\n");
  const auto topology = probe({.nccl_topology = "/opt/topo.xml"}).nccl_topology;
  ASSERT_TRUE(topology.known()) << topology.why();
  EXPECT_EQ(topology->origin, "profile");
  EXPECT_EQ(topology->path, "/opt/topo.xml");
  EXPECT_EQ(topology->pci_addresses.size(), 3U);
}

TEST_F(EnvironmentTest, FallsBackToNcclsTopologyFile) {
  dir_.write("opt/topo.xml", kTopology);
  EXPECT_TRUE(probe().nccl_topology.is_absent());
  dir_.write("etc/nccl.conf", "NCCL_TOPO_FILE=/opt/topo.xml\n");
  EXPECT_EQ(probe().nccl_topology->origin, "/etc/nccl.conf:1");
  EXPECT_EQ(probe({}, {{"NCCL_TOPO_FILE", "/opt/topo.xml"}}).nccl_topology->origin, "environment");
}

TEST_F(EnvironmentTest, ATopologyFileThatIsMissingOrBrokenIsNotAbsent) {
  const Wanted wanted{.nccl_topology = "/opt/topo.xml"};
  EXPECT_THAT(probe(wanted).nccl_topology.why(), HasSubstr("No such file"));
  EXPECT_TRUE(probe(wanted).nccl_topology.is_unreadable());
  dir_.write("opt/topo.xml", "<system>");
  EXPECT_THAT(probe(wanted).nccl_topology.why(),
              HasSubstr("/opt/topo.xml (named by profile): line 1: "));
}

TEST_F(EnvironmentTest, DescribesTheFilesOfTheProfile) {
  dir_.write("usr/bin/enroot", "#!/bin/sh\n");
  std::filesystem::permissions(dir_.path() / "usr/bin/enroot", std::filesystem::perms::owner_all);
  dir_.write("etc/plain", "");
  std::filesystem::permissions(dir_.path() / "etc/plain", std::filesystem::perms::owner_read);
  const auto files = probe({.files = {"/usr/bin/enroot", "/etc/plain", "/usr", "/none"}}).files;
  ASSERT_EQ(files.size(), 4U);
  EXPECT_TRUE(files[0].exists && files[0].executable && !files[0].directory);
  EXPECT_EQ(files[0].writable, Fact<bool>(true));
  EXPECT_GT(files[0].space->total_bytes, 0U);
  EXPECT_TRUE(files[1].exists && !files[1].executable);
  EXPECT_EQ(files[1].writable, Fact<bool>(false));
  EXPECT_TRUE(files[2].exists && files[2].directory && !files[2].executable);
  EXPECT_FALSE(files[3].exists);
  EXPECT_TRUE(files[3].space.is_absent());
}

TEST_F(EnvironmentTest, DoesNotLoadLibrariesOfAForeignRoot) {
  EXPECT_TRUE(probe({.libraries = {"libc.so.6"}}).libraries.is_absent());
}

TEST(EnvironmentOfTheHostTest, LoadsLibraries) {
  const auto libraries =
      probe_environment(Root(), {.libraries = {"libc.so.6", "libno-such.so.1"}}, {})->libraries;
  ASSERT_TRUE(libraries.known());
  EXPECT_EQ(libraries->at(0), (Library{.name = "libc.so.6", .opened = true}));
  EXPECT_FALSE(libraries->at(1).opened);
  EXPECT_THAT(libraries->at(1).error, HasSubstr("libno-such.so.1"));
}

}  // namespace
}  // namespace muster
