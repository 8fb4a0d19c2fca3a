// SPDX-License-Identifier: Apache-2.0
// Every file that the probes of the kernel, its log and the PCI bus read, spoilt in every way: what
// it should have told is never known, and no probe falls over it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/probes/probes.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

enum class Holds { number, text };

struct SystemFile {
  std::string path;
  std::function<bool(const Root&)> known;  // is what this file tells still known?
  Holds kind = Holds::number;              // any text is a value where text is expected
};

void PrintTo(const SystemFile& file, std::ostream* out) { *out << file.path; }

constexpr std::string_view kGpu = "sys/bus/pci/devices/0001:00:00.0";

void write_system(const TempDir& tree) {
  tree.write("proc/sys/kernel/osrelease", "6.1.0\n");
  tree.write("proc/cmdline", "quiet\n");
  tree.write("proc/sys/vm/swappiness", "60\n");
  tree.write("proc/7/comm", "slurmd\n");
  tree.write("proc/7/limits",
             "Max open files            1024                 4096                 files     \n"
             "Max locked memory         unlimited            unlimited            bytes     \n");
  tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  tree.write("sys/devices/system/edac/mc/mc0/ce_count", "0\n");
  tree.write("sys/devices/system/edac/mc/mc0/ue_count", "0\n");
  tree.write("dev/kmsg", "3,1,2,-;EDAC MC0: 1 CE\n");
}

void write_gpu(const TempDir& tree) {
  const std::vector<std::pair<std::string_view, std::string_view>> files{
      {"class", "0x030200\n"},
      {"vendor", "0x10de\n"},
      {"device", "0x2330\n"},
      {"current_link_speed", "32.0 GT/s PCIe\n"},
      {"max_link_speed", "32.0 GT/s PCIe\n"},
      {"current_link_width", "16\n"},
      {"max_link_width", "16\n"},
      {"numa_node", "0\n"},
      {"local_cpulist", "0-3\n"},
      {"aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0\n"},
      {"aer_dev_nonfatal", "DLP 0\nTOTAL_ERR_NONFATAL 0\n"},
      {"aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n"}};
  for (const auto& [name, text] : files) tree.write(fmt::format("{}/{}", kGpu, name), text);
}

template <class Pick>
std::function<bool(const Root&)> kernel(Pick pick) {
  return [pick](const Root& root) { return pick(probe_kernel(root, {"vm.swappiness"}).facts); };
}

template <class Pick>
SystemFile gpu(std::string_view name, Pick pick) {
  return {.path = fmt::format("{}/{}", kGpu, name), .known = [pick](const Root& root) {
            const auto section = probe_pci(root);
            return section.ok() && section->devices.size() == 1 && pick(section->devices.front());
          }};
}

std::vector<SystemFile> kernel_files() {
  return {
      {"proc/sys/kernel/osrelease", kernel([](const Kernel& k) { return k.release.known(); }),
       Holds::text},
      {"proc/cmdline", kernel([](const Kernel& k) { return k.command_line.known(); }), Holds::text},
      {"proc/sys/vm/swappiness",
       kernel([](const Kernel& k) { return k.sysctl.at("vm.swappiness").known(); }), Holds::text},
      {"proc/7/comm", kernel([](const Kernel& k) { return k.limits.memlock_bytes.known(); })},
      {"proc/7/limits", kernel([](const Kernel& k) {
         return k.limits.memlock_bytes.known() || k.limits.open_files.known();
       })},
      {"sys/kernel/mm/transparent_hugepage/enabled",
       kernel([](const Kernel& k) { return k.transparent_hugepage.known(); })},
      {"sys/devices/system/clocksource/clocksource0/current_clocksource",
       kernel([](const Kernel& k) { return k.clocksource.known(); }), Holds::text},
      {"sys/devices/system/edac/mc/mc0/ce_count",
       kernel([](const Kernel& k) { return k.edac && k.edac->at(0).corrected.known(); })},
      {"sys/devices/system/edac/mc/mc0/ue_count",
       kernel([](const Kernel& k) { return k.edac && k.edac->at(0).uncorrected.known(); })},
      {"dev/kmsg", [](const Root& root) { return probe_kernel_log(root).ok(); }},
  };
}

std::vector<SystemFile> pci_files() {
  const auto aer = [](const PciDevice& d) { return d.aer.known(); };
  const auto always = [](const PciDevice&) {
    return true;
  };  // without it the device is not told at all
  return {
      gpu("class", always),
      gpu("vendor", always),
      gpu("device", always),
      gpu("current_link_speed", [](const PciDevice& d) { return d.link_speed_gts.known(); }),
      gpu("max_link_speed", [](const PciDevice& d) { return d.link_speed_max_gts.known(); }),
      gpu("current_link_width", [](const PciDevice& d) { return d.link_width.known(); }),
      gpu("max_link_width", [](const PciDevice& d) { return d.link_width_max.known(); }),
      gpu("numa_node", [](const PciDevice& d) { return d.numa_node.known(); }),
      gpu("local_cpulist", [](const PciDevice& d) { return d.local_cpus.known(); }),
      gpu("aer_dev_correctable", aer),
      gpu("aer_dev_nonfatal", aer),
      gpu("aer_dev_fatal", aer),
  };
}

// One healthy tree for all of them: each test spoils its file and puts it back.
class SystemAnomalyTest : public ::testing::TestWithParam<SystemFile> {
 protected:
  static void SetUpTestSuite() {  // NOLINT(readability-identifier-naming): gtest's name
    shared_ = std::make_unique<TempDir>();
    write_system(*shared_);
    write_gpu(*shared_);
  }

  // NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    const std::ifstream file(tree_.path() / GetParam().path);
    std::ostringstream content;
    content << file.rdbuf();
    original_ = content.str();
  }

  void TearDown() override {
    tree_.remove(GetParam().path);
    tree_.write(GetParam().path, original_);
  }

  [[nodiscard]] bool known() const { return GetParam().known(*Root::below(tree_.path())); }

 private:
  static inline std::unique_ptr<TempDir> shared_;  // NOLINT(readability-identifier-naming)
  std::string original_;

 protected:
  TempDir& tree_ = *shared_;
};

TEST_P(SystemAnomalyTest, TellsItWhenTheFileIsInOrder) { EXPECT_TRUE(known()); }

TEST_P(SystemAnomalyTest, DoesNotKnowWhatAMissingFileWouldTell) {
  tree_.remove(GetParam().path);
  EXPECT_FALSE(known());
}

TEST_P(SystemAnomalyTest, DoesNotKnowWhatAnEmptyFileWouldTell) {
  tree_.write(GetParam().path, "");
  EXPECT_FALSE(known());
}

TEST_P(SystemAnomalyTest, DoesNotReadAHugeFile) {
  tree_.write(GetParam().path, std::string(300'000, '7'));
  EXPECT_FALSE(known());
}

TEST_P(SystemAnomalyTest, DoesNotKnowWhatADirectoryInItsPlaceWouldTell) {
  tree_.remove(GetParam().path);
  tree_.write(fmt::format("{}/inside", GetParam().path), "1\n");
  EXPECT_FALSE(known());
}

TEST_P(SystemAnomalyTest, DoesNotKnowWhatADanglingLinkWouldTell) {
  tree_.link(GetParam().path, "/nowhere/at/all");
  EXPECT_FALSE(known());
}

class SystemGarbageTest : public SystemAnomalyTest {};

TEST_P(SystemGarbageTest, IsNotTakenForAValue) {
  tree_.write(GetParam().path, "\xff\xfe garbage \x01 99999999999999999999999\n");
  EXPECT_FALSE(known());
}

std::vector<SystemFile> all_system_files() {
  auto files = kernel_files();
  const auto pci = pci_files();
  files.insert(files.end(), pci.begin(), pci.end());
  return files;
}

std::vector<SystemFile> system_files_of_numbers() {
  auto files = all_system_files();
  std::erase_if(files, [](const SystemFile& file) { return file.kind == Holds::text; });
  return files;
}

std::string name_of_system_file(const ::testing::TestParamInfo<SystemFile>& info) {
  std::string name = info.param.path;
  for (auto& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, SystemAnomalyTest, ::testing::ValuesIn(all_system_files()),
                         name_of_system_file);
INSTANTIATE_TEST_SUITE_P(Files, SystemGarbageTest, ::testing::ValuesIn(system_files_of_numbers()),
                         name_of_system_file);

}  // namespace
}  // namespace muster
