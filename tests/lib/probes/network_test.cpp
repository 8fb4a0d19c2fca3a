// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

class NetworkProbeTest : public ProbeTest<probe_network, write_network> {
 protected:
  [[nodiscard]] Interface interface(std::size_t index) const {
    return probe()->interfaces.at(index);
  }
};

TEST_F(NetworkProbeTest, SeesInterfacesAndTheirDevices) {
  Interface ethernet{.name = "eth0",
                     .type = 1U,
                     .operstate = std::string("up"),
                     .carrier = true,
                     .speed_mbps = 100000U,
                     .mtu = 1500U,
                     .carrier_down_count = 2U,
                     .address = Fact<std::string>::absent(
                         "open /sys/class/net/eth0/device: No such file or directory")};
  Interface infiniband = ethernet;
  infiniband.name = "ib0";
  infiniband.type = 32U;
  infiniband.address = std::string("0101:00:00.0");
  infiniband.hca = "mlx5_ib0";
  EXPECT_EQ(probe(), observed(Network{.interfaces = {ethernet, infiniband}}));
}

TEST_F(NetworkProbeTest, TheAddressIsOfTheFunctionAboveTheDevice) {
  tree_.write("sys/devices/pci0000:00/0000:00:03.0/virtio0/status", "0x0\n");
  tree_.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:03.0/virtio0");
  EXPECT_EQ(interface(0).address, Fact<std::string>(std::string("0000:00:03.0")));
  tree_.write("sys/devices/vmbus/f8b3781a/id", "\n");
  tree_.link("sys/class/net/eth0/device", "../../../devices/vmbus/f8b3781a");
  EXPECT_EQ(interface(0).address,
            Fact<std::string>::absent("/sys/class/net/eth0/device is not on the PCI bus"));
}

TEST_F(NetworkProbeTest, SeesAnInterfaceWithoutCarrier) {
  tree_.write("sys/class/net/eth0/carrier", "0\n");
  EXPECT_EQ(interface(0).carrier, Fact<bool>(false));
}

TEST_F(NetworkProbeTest, TheSpeedIsAbsentIfTheDriverDoesNotKnowIt) {
  for (const auto* text : {"-1\n", "4294967295\n"}) {
    tree_.write("sys/class/net/eth0/speed", text);
    EXPECT_EQ(interface(0).speed_mbps,
              Fact<std::uint64_t>::absent("the driver does not know the speed"));
  }
}

TEST_F(NetworkProbeTest, AnInterfaceThatDisappearsIsUnreadable) {
  tree_.link("sys/class/net/eth0", "nowhere");
  const auto gone = interface(0);
  EXPECT_TRUE(gone.operstate.is_unreadable());
  EXPECT_TRUE(gone.carrier.is_unreadable());
}

}  // namespace
}  // namespace muster
