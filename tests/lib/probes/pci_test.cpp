// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

using std::string_literals::operator""s;  // NOLINT(misc-unused-using-decls)

constexpr std::string_view kAer = "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n";

constexpr std::string_view kGpuFolder =
    "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0";

// A root port, a switch port and a GPU below it; and a function that is ignored.
class PciTest : public ProbeTest<probe_pci> {
 protected:
  PciTest() {
    add("pci0000:00/0000:00:01.0", "0x060400", "0x8086", "0x352a");
    add("pci0000:00/0000:00:01.0/0000:01:00.0", "0x060400", "0x1000", "0xc030");
    add("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", "0x030200", "0x10de", "0x2330");
    add("pci0000:00/0000:00:1f.0", "0x060100", "0x8086", "0x1bc8");
  }

  void add(std::string_view place, std::string_view device_class, std::string_view vendor,
           std::string_view id) {
    const std::string folder = fmt::format("sys/devices/{}", place);
    const auto address = place.substr(place.rfind('/') + 1);
    write_files(tree_, folder,
                {{"class", device_class},
                 {"vendor", vendor},
                 {"device", id},
                 {"config", std::string("\xde\x10", 2).append(4094, '\0')}});
    tree_.link(fmt::format("sys/bus/pci/devices/{}", address),
               fmt::format("../../../devices/{}", place));
  }

  void write(std::string_view name, std::string_view text) const {
    tree_.write(fmt::format("{}/{}", kGpuFolder, name), text);
  }

  [[nodiscard]] PciDevice gpu() const {
    const auto section = probe();
    for (const auto& device : section->devices) {
      if (device.kind == PciKind::gpu) return device;
    }
    return {};
  }
};

TEST_F(PciTest, ListsDevicesAndTheBridgesAboveThem) {
  tree_.link("sys/bus/pci/devices/0000:99:00.0", "../../../devices/gone");  // was unplugged
  const auto section = probe();
  ASSERT_TRUE(section.ok()) << section.reason;
  std::vector<std::string> seen;
  for (const auto& device : section->devices) seen.push_back(device.address);
  EXPECT_THAT(seen, ElementsAre("0000:00:01.0", "0000:01:00.0", "0000:02:00.0"));
  EXPECT_THAT(gpu().upstream, ElementsAre("0000:00:01.0", "0000:01:00.0"));
}

TEST_F(PciTest, DistinguishesKindsByClassAndVendor) {
  add("pci0001:00/0001:00:00.0", "0x020700", "0x15b3", "0x101e");
  add("pci0002:00/0002:00:00.0", "0x020000", "0x15b3", "0x101e");
  add("pci0003:00/0003:00:00.0", "0x068000", "0x10de", "0x22a3");
  add("pci0004:00/0004:00:00.0", "0x010802", "0x1414", "0xb111");
  add("pci0005:00/0005:00:00.0", "0x120000", "0x1002", "0x74b5");
  add("pci0006:00/0006:00:00.0", "0x030000", "0x1a03", "0x2000");  // a board's own graphics
  const auto section = probe();
  std::map<std::string, PciKind> kinds;
  for (const auto& device : section->devices) kinds[device.address] = device.kind;
  EXPECT_EQ(kinds, (std::map<std::string, PciKind>{{"0000:00:01.0", PciKind::bridge},
                                                   {"0000:01:00.0", PciKind::bridge},
                                                   {"0000:02:00.0", PciKind::gpu},
                                                   {"0001:00:00.0", PciKind::hca},
                                                   {"0002:00:00.0", PciKind::ethernet},
                                                   {"0003:00:00.0", PciKind::nvswitch},
                                                   {"0004:00:00.0", PciKind::nvme},
                                                   {"0005:00:00.0", PciKind::gpu}}));
}

TEST_F(PciTest, ReadsLinkPlaceAndDriver) {
  write("current_link_speed", "2.5 GT/s PCIe\n");
  write("max_link_speed", "32.0 GT/s PCIe\n");
  write("current_link_width", "8\n");
  write("max_link_width", "16\n");
  write("numa_node", "-1\n");
  write("local_cpulist", "0-23,48-71\n");
  tree_.link(fmt::format("{}/driver", kGpuFolder), "../../../../../bus/pci/drivers/nvidia");
  const auto device = gpu();
  EXPECT_EQ(device.link_speed_gts, Fact<double>(2.5));
  EXPECT_EQ(device.link_speed_max_gts, Fact<double>(32.0));
  EXPECT_EQ(device.link_width, Fact<unsigned>(8U));
  EXPECT_EQ(device.link_width_max, Fact<unsigned>(16U));
  EXPECT_EQ(device.numa_node, Fact<int>(-1));
  EXPECT_EQ(device.local_cpus, Fact<std::string>("0-23,48-71"s));
  EXPECT_EQ(device.driver, "nvidia");
  EXPECT_EQ(device.responding, Fact<bool>(true));
}

TEST_F(PciTest, AnUnknownLinkIsAbsent) {
  write("current_link_speed", "Unknown\n");
  write("max_link_speed", "Unknown speed\n");
  write("current_link_width", "63\n");
  write("max_link_width", "0\n");
  const auto device = gpu();
  EXPECT_TRUE(device.link_speed_gts.is_absent());
  EXPECT_TRUE(device.link_speed_max_gts.is_absent());
  EXPECT_TRUE(device.link_width.is_absent());
  EXPECT_TRUE(device.link_width_max.is_absent());
}

TEST_F(PciTest, GarbledFilesAreUnreadable) {
  for (const auto* const name :
       {"current_link_speed", "current_link_width", "numa_node", "local_cpulist"}) {
    write(name, "what?\n");
  }
  const auto device = gpu();
  EXPECT_TRUE(device.link_speed_gts.is_unreadable());
  EXPECT_TRUE(device.link_width.is_unreadable());
  EXPECT_TRUE(device.numa_node.is_unreadable());
  EXPECT_TRUE(device.local_cpus.is_unreadable());
}

TEST_F(PciTest, CountsErrorMessagesOfEachSeverity) {
  write("aer_dev_correctable", kAer);
  write("aer_dev_nonfatal", "Undefined 0\nUnsupReq 1\nTOTAL_ERR_NONFATAL 1\n");
  write("aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n");
  EXPECT_EQ(gpu().aer, Fact<AerCounts>(AerCounts{.fatal = 0, .non_fatal = 1, .correctable = 3}));
}

TEST_F(PciTest, AerIsAbsentOnlyWithoutAllItsFiles) {
  EXPECT_TRUE(gpu().aer.is_absent());
  write("aer_dev_correctable", kAer);
  EXPECT_TRUE(gpu().aer.is_unreadable());
}

TEST_F(PciTest, ErrorCountsThatContradictTheirTotalAreUnreadable) {
  write("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 0\n");
  write("aer_dev_fatal", "TOTAL_ERR_FATAL 0\n");
  write("aer_dev_correctable", "RxErr 2\nTOTAL_ERR_COR 0\n");
  EXPECT_THAT(gpu().aer.why(), HasSubstr("the total is 0"));
  write("aer_dev_correctable", "RxErr 2\n");
  EXPECT_THAT(gpu().aer.why(), HasSubstr("no total"));
  write("aer_dev_correctable", "RxErr two\n");
  EXPECT_THAT(gpu().aer.why(), HasSubstr("not a name and a count"));
}

TEST_F(PciTest, AnUnidentifiableDeviceIsAnError) {
  write("class", "");
  const auto section = probe();
  EXPECT_EQ(section.status, Status::error);
  EXPECT_THAT(section.reason, HasSubstr("0000:02:00.0/class"));
  EXPECT_THAT(section->devices, IsEmpty());
}

TEST_F(PciTest, RecognisesAVirtualFunctionByItsPhysicalOne) {
  EXPECT_FALSE(gpu().virtual_function);
  tree_.link(fmt::format("{}/physfn", kGpuFolder), "..");
  EXPECT_TRUE(gpu().virtual_function);
}

TEST_F(PciTest, ReadsTheFactsOfAnAmdGpu) {
  add("pci0002:00/0002:00:00.0", "0x120000", "0x1002", "0x74b5");
  const std::string folder = "sys/devices/pci0002:00/0002:00:00.0";
  tree_.link(fmt::format("{}/driver", folder), "../../../bus/pci/drivers/amdgpu");
  write_files(tree_, folder,
              {{"mem_info_vram_total", "206141652992\n"},
               {"ras/umc_err_count", "ue: 1\nce: 17\nde: 3\n"},
               {"ras/gfx_err_count", "ue: 0\nce: 0\n"},
               {"ras/features", "feature mask: 0x1\n"},
               {"ras/gpu_vram_bad_pages", "0x1 : 0x00001000 : R\n0x2 : 0x00001000 : P\n"},
               {"current_compute_partition", "SPX\n"},
               {"hwmon/hwmon7/temp2_label", "junction\n"},
               {"hwmon/hwmon7/temp2_input", "61000\n"},
               {"hwmon/hwmon7/temp2_crit", "100000\n"},
               {"hwmon/hwmon7/power1_cap", "750000000\n"}});
  const auto section = probe();
  ASSERT_EQ(section->amd_gpus.size(), 1U);
  const AmdGpu& gpu = section->amd_gpus.front();
  EXPECT_EQ(gpu.address, "0002:00:00.0");
  EXPECT_EQ(gpu.memory_bytes, Fact<std::uint64_t>(206141652992U));
  const std::map<std::string, RasCounts> blocks{{"gfx", {}},
                                                {"umc", {.uncorrected = 1, .corrected = 17}}};
  EXPECT_EQ(gpu.ras, (Fact<std::map<std::string, RasCounts>>(blocks)));
  EXPECT_EQ(gpu.bad_pages, Fact<AmdBadPages>({.retired = 1, .pending = 1, .failed = 0}));
  EXPECT_EQ(gpu.compute_partition, Fact<std::string>("SPX"s));
  const std::vector<AmdSensor> sensors{{.name = "junction", .now_c = 61, .critical_c = 100.0}};
  EXPECT_EQ(gpu.temperatures, (Fact<std::vector<AmdSensor>>(sensors)));
  EXPECT_EQ(gpu.power_cap_w, Fact<double>(750));
  EXPECT_TRUE(gpu.vbios.is_absent());
  EXPECT_TRUE(gpu.power_w.is_absent());
  tree_.write(fmt::format("{}/ras/gfx_err_count", folder), "busy\n");
  EXPECT_TRUE(probe()->amd_gpus.front().ras.is_unreadable());
}

}  // namespace
}  // namespace muster
