// SPDX-License-Identifier: Apache-2.0
#include "bench/run/node_settings.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

Gpu gpu_in(std::string cluster, unsigned clique, unsigned state = 3, int status = 0) {
  Gpu gpu;
  gpu.fabric =
      GpuFabric{.state = state, .status = status, .cluster = std::move(cluster), .clique = clique};
  return gpu;
}

TEST(NvlinkDomainTest, IsThatOfGpusInOneClusterAndClique) {
  EXPECT_EQ(domain_of({gpu_in("c7", 4), gpu_in("c7", 4)}), "c7:4");
  EXPECT_EQ(domain_of({gpu_in("c7", 4), gpu_in("c7", 5)}), "");
  EXPECT_EQ(domain_of({gpu_in("c7", 4), gpu_in("c8", 4)}), "");
}

TEST(NvlinkDomainTest, IsEmptyUnlessAllGpusAreRegistered) {
  EXPECT_EQ(domain_of({}), "");
  EXPECT_EQ(domain_of({gpu_in("c7", 4), Gpu{}}), "") << "no fabric";
  EXPECT_EQ(domain_of({gpu_in("c7", 4), gpu_in("c7", 4, 2)}), "") << "in progress";
  EXPECT_EQ(domain_of({gpu_in("c7", 4), gpu_in("c7", 4, 3, 999)}), "") << "failed";
  EXPECT_EQ(domain_of({gpu_in("", 0), gpu_in("", 0)}), "") << "no cluster";
}

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("sys/class/net/eth0/mtu", "1500");
    folder_.write("sys/class/infiniband/mlx5_ib0/fw_ver", "1");
    folder_.write("opt/topology.xml", "<system/>");
  }

  void TearDown() override {
    for (const auto& [name, value] : asked_) ::unsetenv(name.c_str());
  }

  Settings take(std::map<std::string, std::string> asked, BackendKind kind = BackendKind::nccl) {
    asked_ = std::move(asked);
    Profile profile;
    profile.bench->environment = asked_;
    return apply_settings(profile, kind, variables, *Root::below(folder_.path()));
  }

  void write(std::string_view name, std::string_view text) const { folder_.write(name, text); }

  Variables variables;

 private:
  TempDir folder_;
  std::map<std::string, std::string> asked_;
};

TEST_F(SettingsTest, LeavesOutMissingFilesAndInterfaces) {
  const auto settings = take({{"NCCL_SOCKET_IFNAME", "ens3"},
                              {"NCCL_TOPO_FILE", "/opt/none.xml"},
                              {"UCX_NET_DEVICES", "mlx5_ib9:1"}});
  EXPECT_THAT(settings.applied, IsEmpty());
  EXPECT_THAT(settings.left_out, ElementsAre("NCCL_SOCKET_IFNAME=ens3: no such interface",
                                             "NCCL_TOPO_FILE=/opt/none.xml: no such file",
                                             "UCX_NET_DEVICES=mlx5_ib9:1: no such interface"));
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
}

TEST_F(SettingsTest, AppliesExistingFilesAndInterfaces) {
  const auto settings = take({{"NCCL_SOCKET_IFNAME", "eth0"},
                              {"NCCL_TOPO_FILE", "/opt/topology.xml"},
                              {"SHARP_SMX_UCX_INTERFACE", "mlx5_ib0:1"},
                              {"UCX_NET_DEVICES", "ens3,eth0"}});
  EXPECT_THAT(settings.left_out, IsEmpty());
  EXPECT_THAT(settings.applied,
              ElementsAre("NCCL_SOCKET_IFNAME=eth0", "NCCL_TOPO_FILE=/opt/topology.xml",
                          "SHARP_SMX_UCX_INTERFACE=mlx5_ib0:1", "UCX_NET_DEVICES=ens3,eth0"));
  EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "eth0");
}

TEST_F(SettingsTest, MatchesInterfacesAsNcclDoes) {
  for (const auto* value : {"eth", "=eth0", "^docker0,lo", "ib0,eth"}) {
    EXPECT_THAT(take({{"NCCL_SOCKET_IFNAME", value}}).left_out, IsEmpty()) << value;
    variables.clear();
  }
  EXPECT_THAT(take({{"NCCL_SOCKET_IFNAME", "=eth"}}).applied, IsEmpty());
}

TEST_F(SettingsTest, SetsUcxOnlyForNccl) {
  const auto settings =
      take({{"OMPI_MCA_coll_hcoll_enable", "0"}, {"UCX_TLS", "tcp"}}, BackendKind::mpi);
  EXPECT_THAT(settings.applied, ElementsAre("OMPI_MCA_coll_hcoll_enable=0"));
  EXPECT_THAT(settings.left_out, IsEmpty());
  EXPECT_THAT(take({{"UCX_TLS", "tcp"}}).applied, ElementsAre("UCX_TLS=tcp"));
}

TEST_F(SettingsTest, KeepsTheVariablesOfNcclConf) {
  write("etc/nccl.conf", "# of the image\nNCCL_IB_QPS_PER_CONNECTION=2\nNCCL_DEBUG=WARN\n");
  const auto settings = take(
      {{"NCCL_DEBUG", "WARN"}, {"NCCL_IB_QPS_PER_CONNECTION", "4"}, {"NCCL_PXN_DISABLE", "1"}});
  EXPECT_THAT(settings.applied, ElementsAre("NCCL_PXN_DISABLE=1"));
  EXPECT_THAT(settings.left_out, ElementsAre("NCCL_IB_QPS_PER_CONNECTION=4: nccl.conf sets 2"));
  EXPECT_EQ(sentence_of(settings, "p"), "environment: set for p: NCCL_PXN_DISABLE=1");
  EXPECT_EQ(sentence_of({}, "p"), "environment: the job's own");
}

TEST_F(SettingsTest, ReadsNcclConfAsNcclDoes) {
  write("etc/nccl.conf", "NCCL_IB_TC = 106\nNCCL_IB_SL=1\nNCCL_IB_SL=2\nNCCL_PXN_DISABLE=0#1\n");
  const auto settings =
      take({{"NCCL_IB_SL", "2"}, {"NCCL_IB_TC", "106"}, {"NCCL_PXN_DISABLE", "0"}});
  EXPECT_THAT(settings.applied, ElementsAre("NCCL_IB_TC=106"));
  EXPECT_THAT(settings.left_out, ElementsAre("NCCL_IB_SL=2: nccl.conf sets 1",
                                             "NCCL_PXN_DISABLE=0: nccl.conf sets 0#1"));
}

TEST_F(SettingsTest, PrefersTheUsersNcclConf) {
  write("etc/nccl.conf", "NCCL_IB_SL=1\nNCCL_IB_TC=106\n");
  write("home/user/.nccl.conf", "NCCL_IB_SL=2\n");
  write("job.conf", "NCCL_IB_SL=3\n");
  const std::map<std::string, std::string> asked{{"NCCL_IB_SL", "9"}, {"NCCL_IB_TC", "9"}};
  variables["HOME"] = "/home/user";
  EXPECT_THAT(take(asked).left_out,
              ElementsAre("NCCL_IB_SL=9: nccl.conf sets 2", "NCCL_IB_TC=9: nccl.conf sets 106"));
  variables["NCCL_CONF_FILE"] = "/job.conf";
  EXPECT_THAT(take(asked).left_out,
              ElementsAre("NCCL_IB_SL=9: nccl.conf sets 3", "NCCL_IB_TC=9: nccl.conf sets 106"));
}

TEST(LimitingSettingTest, IsOneThatTheProfileDoesNotHave) {
  Profile profile;
  profile.bench->environment = {{"NCCL_SHM_DISABLE", "1"}};
  const Variables usual{
      {"NCCL_SHM_DISABLE", "1"}, {"NCCL_P2P_DISABLE", "0"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_EQ(limiting_setting(profile, usual), "");
  EXPECT_EQ(limiting_setting(Profile{}, usual), "NCCL_SHM_DISABLE=1");
  EXPECT_EQ(without_limiting_settings(usual), (Variables{{"NCCL_DEBUG", "INFO"}}));
}

TEST_F(SettingsTest, KeepsTheUsersVariables) {
  variables["UCX_TLS"] = "rc";
  EXPECT_THAT(take({{"UCX_TLS", "tcp"}}).applied, IsEmpty());
  EXPECT_EQ(variables["UCX_TLS"], "rc");
}

class FabricSearchTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("OMPI_MCA_mtl"); }

  std::string spare(const Variables& variables = {}) {
    return spare_fabric_search(variables, *Root::below(folder.path()));
  }

  TempDir folder;
};

TEST_F(FabricSearchTest, IsSparedIfTheKernelHasNoDevice) {
  folder.write("sys/class/net/eth0/mtu", "1500");
  EXPECT_EQ(spare(), "OMPI_MCA_mtl=^psm,psm2,ofi: this node has no fabric device");
  EXPECT_STREQ(std::getenv("OMPI_MCA_mtl"), "^psm,psm2,ofi");
}

TEST_F(FabricSearchTest, IsSparedIfTheClassIsEmpty) {
  std::filesystem::create_directories(folder.path() / "sys/class/infiniband");
  EXPECT_THAT(spare(), StartsWith("OMPI_MCA_mtl="));
}

TEST_F(FabricSearchTest, IsLeftToOpenMpiIfThereMayBeADevice) {
  EXPECT_EQ(spare(), "") << "without /sys";
  for (const auto* device : {"infiniband/hfi1_0", "cxi/cxi0"}) {
    const TempDir node;
    node.write(fmt::format("sys/class/{}/dev", device), "1");
    EXPECT_EQ(spare_fabric_search({}, *Root::below(node.path())), "") << device;
  }
  EXPECT_EQ(std::getenv("OMPI_MCA_mtl"), nullptr);
}

TEST_F(FabricSearchTest, KeepsTheUsersChoice) {
  folder.write("sys/class/net/eth0/mtu", "1500");
  for (const auto* name : {"OMPI_MCA_mtl", "OMPI_MCA_mtl_ofi_provider_include", "OMPI_MCA_pml"}) {
    EXPECT_EQ(spare({{name, "x"}}), "") << name;
  }
  EXPECT_EQ(std::getenv("OMPI_MCA_mtl"), nullptr);
}

}  // namespace
}  // namespace muster::bench
