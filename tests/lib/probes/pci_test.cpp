// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lib/probes/probes.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kAer = "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n";

Fact<std::string> as_fact(std::string text) { return text; }

// A root port, a switch port and a GPU below it; and a function that is ignored.
class PciTest : public ::testing::Test {
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
    dir_.write(fmt::format("{}/class", folder), fmt::format("{}\n", device_class));
    dir_.write(fmt::format("{}/vendor", folder), fmt::format("{}\n", vendor));
    dir_.write(fmt::format("{}/device", folder), fmt::format("{}\n", id));
    dir_.write(fmt::format("{}/config", folder), std::string("\xde\x10", 2).append(4094, '\0'));
    dir_.link(fmt::format("sys/bus/pci/devices/{}", address),
              fmt::format("../../../devices/{}", place));
  }

  void write(std::string_view name, std::string_view text) const {
    dir_.write(
        fmt::format("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/{}", name),
        text);
  }

  [[nodiscard]] Section<Pci> probe() const { return probe_pci(*Root::below(dir_.path())); }

  [[nodiscard]] PciDevice gpu() const {
    const auto section = probe();
    for (const auto& device : section->devices) {
      if (device.kind == PciKind::gpu) return device;
    }
    return {};
  }

  TempDir dir_;
};

TEST_F(PciTest, ListsDevicesAndTheBridgesAboveThem) {
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
  dir_.link("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/driver",
            "../../../../../bus/pci/drivers/nvidia");
  const auto device = gpu();
  EXPECT_EQ(device.link_speed_gts, Fact<double>(2.5));
  EXPECT_EQ(device.link_speed_max_gts, Fact<double>(32.0));
  EXPECT_EQ(device.link_width, Fact<unsigned>(8U));
  EXPECT_EQ(device.link_width_max, Fact<unsigned>(16U));
  EXPECT_EQ(device.numa_node, Fact<int>(-1));
  EXPECT_EQ(device.local_cpus, as_fact("0-23,48-71"));
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

TEST_F(PciTest, ADeviceThatReadsAllOnesDoesNotAnswer) {
  write("config", std::string(4096, '\xff'));
  EXPECT_EQ(gpu().responding, Fact<bool>(false));
}

TEST_F(PciTest, AnUnidentifiableDeviceIsAnError) {
  write("class", "");
  const auto section = probe();
  EXPECT_EQ(section.status, Status::error);
  EXPECT_THAT(section.reason, HasSubstr("0000:02:00.0/class"));
  EXPECT_THAT(section->devices, IsEmpty());
}

TEST_F(PciTest, SkipsADeviceThatWasUnplugged) {
  dir_.link("sys/bus/pci/devices/0000:99:00.0", "../../../devices/gone");
  EXPECT_TRUE(probe().ok());
}

TEST(PciProbeTest, IsAbsentWithoutABus) {
  const TempDir dir;
  EXPECT_EQ(probe_pci(*Root::below(dir.path())).status, Status::absent);
}

TEST_F(PciTest, RecognisesAVirtualFunctionByItsPhysicalOne) {
  EXPECT_FALSE(gpu().virtual_function);
  dir_.link("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/physfn", "..");
  EXPECT_TRUE(gpu().virtual_function);
}

TEST_F(PciTest, ReadsTheFactsOfAnAmdGpu) {
  add("pci0002:00/0002:00:00.0", "0x120000", "0x1002", "0x74b5");
  const std::string folder = "sys/devices/pci0002:00/0002:00:00.0";
  dir_.link(fmt::format("{}/driver", folder), "../../../bus/pci/drivers/amdgpu");
  dir_.write(fmt::format("{}/mem_info_vram_total", folder), "206141652992\n");
  dir_.write(fmt::format("{}/ras/umc_err_count", folder), "ue: 1\nce: 17\nde: 3\n");
  dir_.write(fmt::format("{}/ras/gfx_err_count", folder), "ue: 0\nce: 0\n");
  dir_.write(fmt::format("{}/ras/features", folder), "feature mask: 0x1\n");
  const auto section = probe();
  ASSERT_EQ(section->amd_gpus.size(), 1U);
  const AmdGpu& gpu = section->amd_gpus.front();
  EXPECT_EQ(gpu.address, "0002:00:00.0");
  EXPECT_EQ(gpu.memory_bytes, Fact<std::uint64_t>(206141652992U));
  const std::map<std::string, RasCounts> blocks{{"gfx", {}},
                                                {"umc", {.uncorrected = 1, .corrected = 17}}};
  EXPECT_EQ(gpu.ras, (Fact<std::map<std::string, RasCounts>>(blocks)));
  dir_.write(fmt::format("{}/ras/gpu_vram_bad_pages", folder),
             "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n");
  dir_.write(fmt::format("{}/current_compute_partition", folder), "SPX\n");
  dir_.write(fmt::format("{}/hwmon/hwmon7/temp2_label", folder), "junction\n");
  dir_.write(fmt::format("{}/hwmon/hwmon7/temp2_input", folder), "61000\n");
  dir_.write(fmt::format("{}/hwmon/hwmon7/temp2_crit", folder), "100000\n");
  dir_.write(fmt::format("{}/hwmon/hwmon7/power1_cap", folder), "750000000\n");
  const auto more = probe()->amd_gpus.front();
  EXPECT_EQ(more.bad_pages, Fact<AmdBadPages>({.retired = 1, .pending = 1, .failed = 0}));
  EXPECT_EQ(more.compute_partition, Fact<std::string>(std::string("SPX")));
  const std::vector<AmdSensor> sensors{{.name = "junction", .now_c = 61, .critical_c = 100.0}};
  EXPECT_EQ(more.temperatures, (Fact<std::vector<AmdSensor>>(sensors)));
  EXPECT_EQ(more.power_cap_w, Fact<double>(750));
  EXPECT_TRUE(more.vbios.is_absent());
  EXPECT_TRUE(more.power_w.is_absent());
  dir_.write(fmt::format("{}/ras/gfx_err_count", folder), "busy\n");
  EXPECT_TRUE(probe()->amd_gpus.front().ras.is_unreadable());
}

}  // namespace
}  // namespace muster
