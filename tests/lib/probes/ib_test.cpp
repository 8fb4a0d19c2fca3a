// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

// One HCA as the kernel lays it out: folders below sys/devices, relative links from the class.
class InfinibandProbeTest : public ::testing::Test {
 protected:
  InfinibandProbeTest() {
    add_hca("mlx5_ib0", "0101:00:00.0", "0x1021");
    tree_.write("sys/class/infiniband_mad/abi_version", "5\n");
  }

  void add_hca(const std::string& name, const std::string& address, const std::string& device_id) {
    const std::string pci = fmt::format("sys/devices/pci0101:00/{}", address);
    const std::string hca = fmt::format("{}/infiniband/{}", pci, name);
    tree_.write(fmt::format("{}/vendor", pci), "0x15b3\n");
    tree_.write(fmt::format("{}/device", pci), fmt::format("{}\n", device_id));
    tree_.write(fmt::format("{}/net/ib_{}/type", pci, name), "32\n");
    tree_.link(fmt::format("{}/device", hca), fmt::format("../../../{}", address));
    tree_.link(fmt::format("sys/class/infiniband/{}", name),
               fmt::format("../../devices/pci0101:00/{}/infiniband/{}", address, name));
    write_files(tree_, hca,
                {{"node_guid", "0015:5dff:fe33:ff00\n"},
                 {"fw_ver", "28.35.2000\n"},
                 {"hca_type", "MT4129\n"},
                 {"board_id", "MT_0000000838\n"}});
    write_files(tree_, fmt::format("{}/ports/1", hca),
                {{"link_layer", "InfiniBand\n"},
                 {"state", "4: ACTIVE\n"},
                 {"phys_state", "5: LinkUp\n"},
                 {"rate", "400 Gb/sec (4X NDR)\n"},
                 {"lid", "0x1a0\n"},
                 {"sm_lid", "0x1\n"},
                 {"pkeys/0", "0x8015\n"},
                 {"pkeys/1", "0x7fff\n"},
                 {"pkeys/2", "0x0000\n"},
                 {"gids/0", "fe80:0000:0000:0000:0015:5dff:fe33:ff00\n"},
                 {"counters/symbol_error", "3\n"},
                 {"counters/link_downed", "0\n"},
                 {"hw_counters/packet_seq_err", "7\n"},
                 {"hw_counters/lifespan", "10\n"}});
  }

  [[nodiscard]] static std::string port_file(const std::string& file) {
    return fmt::format("sys/devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0/ports/1/{}", file);
  }

  [[nodiscard]] Section<Infiniband> probe() const {
    return probe_infiniband(*Root::below(tree_.path()));
  }

  [[nodiscard]] IbPort port() const { return probe()->hcas.at(0).ports->at(0); }

  TempDir tree_;
};

TEST_F(InfinibandProbeTest, DetectsTheManagementInterface) {
  EXPECT_EQ(probe()->umad, Fact<std::string>(std::string("5")));
  tree_.remove("sys/class/infiniband_mad");
  EXPECT_TRUE(probe()->umad.is_absent());
  EXPECT_NE(probe()->umad, Fact<std::string>());
}

TEST_F(InfinibandProbeTest, ReadsADevice) {
  const Hca expected{
      .name = "mlx5_ib0",
      .address = std::string("0101:00:00.0"),
      .node_guid = std::string("0015:5dff:fe33:ff00"),
      .firmware = std::string("28.35.2000"),
      .type = std::string("MT4129"),
      .board = std::string("MT_0000000838"),
      .virtual_function = false,
      .netdevs = std::vector<std::string>{"ib_mlx5_ib0"},
      .ports = std::vector<IbPort>{
          {.number = 1,
           .link_layer = "InfiniBand",
           .state = 4U,
           .physical_state = 5U,
           .rate_gbps = 400.0,
           .width = 4U,
           .speed = std::string("NDR"),
           .lid = 0x1a0U,
           .sm_lid = 1U,
           .pkeys = std::vector<unsigned>{0x8015, 0x7fff},
           .gid0 = std::string("fe80:0000:0000:0000:0015:5dff:fe33:ff00"),
           .counters = ByName<Fact<std::uint64_t>>{{"link_downed", std::uint64_t{0}},
                                                   {"symbol_error", std::uint64_t{3}}},
           .hw_counters = ByName<Fact<std::uint64_t>>{{"packet_seq_err", std::uint64_t{7}}}}}};
  EXPECT_EQ(probe(), observed(Infiniband{.hcas = {expected}, .umad = std::string("5")}));
}

TEST_F(InfinibandProbeTest, SortsByPciAddressAndNotByName) {
  add_hca("mlx5_ib9", "0001:00:00.0", "0x1021");
  const auto section = probe();
  ASSERT_THAT(section->hcas, SizeIs(2));
  EXPECT_EQ(section->hcas[0].name, "mlx5_ib9");
  EXPECT_EQ(section->hcas[1].name, "mlx5_ib0");
}

TEST_F(InfinibandProbeTest, IsOkAndEmptyWithoutDevices) {
  tree_.remove("sys/class/infiniband/mlx5_ib0");
  EXPECT_EQ(probe(), observed(Infiniband{.umad = std::string("5")}));
}

TEST_F(InfinibandProbeTest, IsAnErrorWhenTheClassCannotBeListed) {
  tree_.link("sys/class/infiniband", "infiniband");
  EXPECT_EQ(probe().status, Status::error);
  EXPECT_THAT(probe().reason, HasSubstr("/sys/class/infiniband"));
}

TEST_F(InfinibandProbeTest, RecognisesAVirtualFunctionByItsPhysfnLink) {
  tree_.link("sys/devices/pci0101:00/0101:00:00.0/physfn", "../0101:00:00.1");
  tree_.write("sys/devices/pci0101:00/0101:00:00.1/device", "0x1021\n");
  EXPECT_TRUE(probe()->hcas.at(0).virtual_function);
}

TEST_F(InfinibandProbeTest, TheSpeedIsAbsentIfTheKernelNamesNone) {
  tree_.write(port_file("rate"), "10 Gb/sec (4X)\n");
  EXPECT_EQ(port().rate_gbps, Fact<double>(10));
  EXPECT_TRUE(port().speed.is_absent());
}

TEST_F(InfinibandProbeTest, ARefusedCounterIsAbsentOnlyOfAVirtualFunction) {
  tree_.write(port_file("counters/symbol_error"), "N/A (no PMA)\n");
  const auto counter = [&] { return port().counters->at("symbol_error"); };
  EXPECT_TRUE(counter().is_unreadable());
  EXPECT_THAT(counter().why(), HasSubstr("N/A (no PMA)"));
  tree_.write("sys/devices/pci0101:00/0101:00:00.0/device", "0x101e\n");
  EXPECT_TRUE(probe()->hcas.at(0).virtual_function);
  EXPECT_TRUE(counter().is_absent());
  EXPECT_THAT(counter().why(), HasSubstr("refused to a virtual function"));
  tree_.write(port_file("counters/symbol_error"), "many\n");
  EXPECT_TRUE(counter().is_unreadable());
}

TEST_F(InfinibandProbeTest, CountersAreUnreadableIfTheirFolderCannotBeListed) {
  tree_.remove(port_file("counters"));
  EXPECT_TRUE(port().counters.is_absent());
  tree_.link(port_file("counters"), "counters");
  EXPECT_TRUE(port().counters.is_unreadable());
  EXPECT_THAT(port().counters.why(), HasSubstr("/ports/1/counters: Too many levels"));
  EXPECT_TRUE(port().hw_counters.known());
}

TEST_F(InfinibandProbeTest, ReadsEightPkeysAtMost) {
  for (int index = 2; index < 128; ++index) {
    tree_.write(port_file(fmt::format("pkeys/{}", index)), "0x8016\n");
  }
  EXPECT_THAT(*port().pkeys, SizeIs(8));
}

TEST_F(InfinibandProbeTest, PkeysAreUnknownWithoutTheSecond) {
  tree_.write(port_file("pkeys/1"), "member\n");
  EXPECT_TRUE(port().pkeys.is_unreadable());
  tree_.remove(port_file("pkeys/1"));
  EXPECT_FALSE(port().pkeys.known());
}

TEST_F(InfinibandProbeTest, HasNoNetworkInterfacesWithoutIpoib) {
  tree_.remove("sys/devices/pci0101:00/0101:00:00.0/net");
  EXPECT_TRUE(probe()->hcas.at(0).netdevs.is_absent());
}

TEST_F(InfinibandProbeTest, PortsAreUnreadableIfAFolderIsNotANumber) {
  tree_.write(port_file("../one/state"), "4: ACTIVE\n");
  EXPECT_TRUE(probe()->hcas.at(0).ports.is_unreadable());
}

TEST_F(InfinibandProbeTest, ASoftwareDeviceHasNoAddress) {
  const std::string link = "sys/devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0/device";
  tree_.link(link, "../../../../virtual/net/eth0");
  EXPECT_TRUE(probe()->hcas.at(0).address.is_absent());
}

// This machine may or may not have HCAs: what holds everywhere is that an answer is complete.
TEST(VerbsProbeTest, SucceedsOrExplainsOnThisMachine) {
  const auto section = probe_verbs(Root());
  EXPECT_THAT(section.status, AnyOf(Status::ok, Status::absent));
  EXPECT_EQ(section.ok(), section.reason.empty());
  for (const VerbsDevice& device : section->devices) EXPECT_THAT(device.name, Not(IsEmpty()));
}

TEST(LinkErrorsTest, SplitsFieldsOfNames) {
  std::string block(96, '\0');
  block.replace(0, 11, "rx_packets ");
  block.replace(32, 32, "rx_a_name_of_thirty_two_bytes_ph");
  block.replace(64, 2, "\x01x");
  EXPECT_THAT(split_names(block),
              ElementsAre("rx_packets", "rx_a_name_of_thirty_two_bytes_ph", "\\x01x"));
  EXPECT_THAT(split_names("short"), IsEmpty());
}

// The loopback device counts nothing of its own, and nothing is a name of no interface.
TEST(LinkErrorsTest, AnInterfaceWithoutStatisticsHasNone) {
  EXPECT_THAT(read_statistics("lo").error().message, HasSubstr("lo"));
  EXPECT_THAT(read_statistics("no-such-0").error().message, HasSubstr("No such device"));
  EXPECT_THAT(read_link_errors("lo"), IsEmpty());
}

}  // namespace
}  // namespace muster
