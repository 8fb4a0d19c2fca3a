// SPDX-License-Identifier: Apache-2.0
// Every file that the host's probes read, spoilt in every way: what it should have told is never
// known, and no probe falls over it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

using std::chrono_literals::operator""s;  // NOLINT(misc-unused-using-decls)

enum class Kind { number, text };

struct File {
  void (*write)(const TempDir&);  // the tree it belongs to
  const char* path;
  std::function<bool(const Root&)> known;  // is what this file tells still known?
  Kind kind = Kind::number;                // any text is a value where text is expected
};

// Is the fact that `pick` chooses known, in a section that is ok?
template <class T, class Pick>
bool tells(const Section<T>& section, Pick pick) {
  return section.ok() && pick(section.facts);
}

template <class Pick>
std::function<bool(const Root&)> identity(Pick pick) {
  return [pick](const Root& root) { return tells(probe_identity(root), pick); };
}

template <class Pick>
std::function<bool(const Root&)> cpu(Pick pick) {
  return [pick](const Root& root) { return tells(probe_cpu(root), pick); };
}

template <class Pick>
std::function<bool(const Root&)> memory(Pick pick) {
  return [pick](const Root& root) { return tells(probe_memory(root), pick); };
}

template <class Pick>
std::function<bool(const Root&)> nvme(Pick pick) {
  return [pick](const Root& root) {
    return tells(probe_disks(root), [pick](const Disks& disks) {
      return !disks.nvme.empty() && pick(disks.nvme.front());
    });
  };
}

template <class Pick>
std::function<bool(const Root&)> raid(Pick pick) {
  return [pick](const Root& root) {
    return tells(probe_disks(root), [pick](const Disks& disks) { return pick(disks.raid.at(0)); });
  };
}

template <class Pick>
std::function<bool(const Root&)> processes(Pick pick) {
  return [pick](const Root& root) { return tells(probe_processes(root), pick); };
}

template <class Pick>
std::function<bool(const Root&)> eth0(Pick pick) {
  return [pick](const Root& root) {
    return tells(probe_network(root),
                 [pick](const Network& network) { return pick(network.interfaces.at(0)); });
  };
}

bool slurmd_runs(const Root& root) {
  return tells(probe_services(root), [](const Services& services) {
    const auto units = services.active.value_or({});
    return std::find(units.begin(), units.end(), "slurmd.service") != units.end();
  });
}

const std::vector<File>& identity_files() {
  static const std::vector<File> files{
      {write_identity, "proc/sys/kernel/hostname",
       identity([](const Identity& i) { return !i.hostname.empty(); }), Kind::text},
      {write_identity, "proc/sys/kernel/random/boot_id",
       identity([](const Identity& i) { return i.boot_id.known(); }), Kind::text},
      {write_identity, "proc/uptime",
       identity([](const Identity& i) { return i.uptime_s.known(); })},
      {write_identity, "sys/class/dmi/id/sys_vendor",
       identity([](const Identity& i) { return i.dmi_vendor.known(); }), Kind::text},
      {write_identity, "sys/class/dmi/id/product_name",
       identity([](const Identity& i) { return i.dmi_product.known(); }), Kind::text},
      {write_identity, "sys/class/dmi/id/chassis_asset_tag",
       identity([](const Identity& i) { return i.chassis_asset_tag.known(); }), Kind::text},
      {write_identity, "var/lib/hyperv/.kvp_pool_3",
       identity([](const Identity& i) { return i.physical_host.known(); })}};
  return files;
}

const std::vector<File>& cpu_files() {
  static const std::vector<File> files{
      {write_cpus, "sys/devices/system/cpu/online",
       cpu([](const Cpu& c) { return c.threads.known(); })},
      {write_cpus, "sys/devices/system/cpu/present",
       cpu([](const Cpu& c) { return c.offline.known(); })},
      {write_cpus, "sys/devices/system/cpu/cpu3/topology/physical_package_id",
       cpu([](const Cpu& c) { return c.sockets.known(); })},
      {write_cpus, "sys/devices/system/cpu/cpu3/topology/core_id",
       cpu([](const Cpu& c) { return c.cores.known(); })},
      {write_cpus, "proc/cpuinfo", cpu([](const Cpu& c) { return c.model.known(); })},
      {write_cpus, "sys/devices/system/node/online",
       cpu([](const Cpu& c) { return c.numa_nodes.known(); })},
      {write_cpus, "sys/devices/system/node/node1/cpulist",
       cpu([](const Cpu& c) { return c.numa_nodes->at(1).cpus.known(); })},
      {write_cpus, "sys/devices/system/node/node1/meminfo",
       cpu([](const Cpu& c) { return c.numa_nodes->at(1).memory_bytes.known(); })}};
  return files;
}

const std::vector<File>& memory_files() {
  static const std::vector<File> files{
      {write_memory, "proc/meminfo", memory([](const Memory& m) { return m.total_bytes.known(); })},
      {write_memory, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
       memory([](const Memory& m) { return m.huge_pages->at(0).total.known(); })},
      {write_memory, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
       memory([](const Memory& m) { return m.huge_pages->at(0).free.known(); })},
      {write_mounts, "proc/mounts", [](const Root& root) { return probe_mounts(root, 20s).ok(); }}};
  return files;
}

const std::vector<File>& disk_files() {
  static const std::vector<File> files{
      {write_disks, "sys/class/nvme/nvme0/model",
       nvme([](const Nvme& n) { return n.model.known(); }), Kind::text},
      {write_disks, "sys/class/nvme/nvme0/state",
       nvme([](const Nvme& n) { return n.state.known(); }), Kind::text},
      {write_disks, "sys/class/nvme/nvme0/nvme0n1/size",
       nvme([](const Nvme& n) { return n.size_bytes.known(); })},
      {write_disks, "sys/class/nvme/nvme0/nvme0n1/ro",
       nvme([](const Nvme& n) { return n.read_only.known(); })},
      {write_disks, "sys/block/md0/md/level", raid([](const Raid& r) { return r.level.known(); }),
       Kind::text},
      {write_disks, "sys/block/md0/md/array_state",
       raid([](const Raid& r) { return r.state.known(); }), Kind::text},
      {write_disks, "sys/block/md0/md/raid_disks",
       raid([](const Raid& r) { return r.disks.known(); })},
      {write_disks, "sys/block/md0/md/degraded",
       raid([](const Raid& r) { return r.degraded.known(); })}};
  return files;
}

const std::vector<File>& task_files() {
  static const std::vector<File> files{
      {write_processes, "proc/loadavg",
       processes([](const Processes& p) { return p.load1.known(); })},
      {write_processes, "proc/42/stat", processes([](const Processes& p) {
         return p.uninterruptible.known() && !p.uninterruptible->empty();
       })},
      {write_services, "sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs", slurmd_runs}};
  return files;
}

const std::vector<File>& network_files() {
  static const std::vector<File> files{
      {write_network, "sys/class/net/eth0/type",
       eth0([](const Interface& i) { return i.type.known(); })},
      {write_network, "sys/class/net/eth0/operstate",
       eth0([](const Interface& i) { return i.operstate.known(); }), Kind::text},
      {write_network, "sys/class/net/eth0/carrier",
       eth0([](const Interface& i) { return i.carrier.known(); })},
      {write_network, "sys/class/net/eth0/speed",
       eth0([](const Interface& i) { return i.speed_mbps.known(); })},
      {write_network, "sys/class/net/eth0/mtu",
       eth0([](const Interface& i) { return i.mtu.known(); })},
      {write_network, "sys/class/net/eth0/carrier_down_count",
       eth0([](const Interface& i) { return i.carrier_down_count.known(); })}};
  return files;
}

class HostAnomalyTest : public ::testing::TestWithParam<File> {
 protected:
  HostAnomalyTest() { GetParam().write(tree_); }

  [[nodiscard]] bool known() const { return GetParam().known(root_of(tree_)); }

  TempDir tree_;
};

TEST_P(HostAnomalyTest, TellsItWhenTheFileIsInOrder) { EXPECT_TRUE(known()); }

TEST_P(HostAnomalyTest, DoesNotKnowWhatAMissingFileWouldTell) {
  tree_.remove(GetParam().path);
  EXPECT_FALSE(known());
}

TEST_P(HostAnomalyTest, DoesNotKnowWhatAnEmptyFileWouldTell) {
  tree_.write(GetParam().path, "");
  EXPECT_FALSE(known());
}

TEST_P(HostAnomalyTest, DoesNotReadAHugeFile) {
  tree_.write(GetParam().path, std::string(300'000, '7'));
  EXPECT_FALSE(known());
}

TEST_P(HostAnomalyTest, DoesNotKnowWhatADirectoryInItsPlaceWouldTell) {
  tree_.remove(GetParam().path);
  tree_.write(std::string(GetParam().path).append("/inside"), "1\n");
  EXPECT_FALSE(known());
}

TEST_P(HostAnomalyTest, DoesNotKnowWhatADanglingLinkWouldTell) {
  tree_.link(GetParam().path, "/nowhere/at/all");
  EXPECT_FALSE(known());
}

class HostGarbageTest : public HostAnomalyTest {};

TEST_P(HostGarbageTest, IsNotTakenForANumber) {
  tree_.write(GetParam().path, "\xff\xfe garbage \x01 99999999999999999999999\n");
  EXPECT_FALSE(known());
}

std::vector<File> all_files() {
  std::vector<File> result;
  for (const auto* files : {&identity_files(), &cpu_files(), &memory_files(), &disk_files(),
                            &task_files(), &network_files()}) {
    result.insert(result.end(), files->begin(), files->end());
  }
  return result;
}

std::vector<File> files_of_numbers() {
  auto files = all_files();
  std::erase_if(files, [](const File& file) { return file.kind == Kind::text; });
  return files;
}

std::string name_of(const ::testing::TestParamInfo<File>& info) {
  std::string name = info.param.path;
  for (auto& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, HostAnomalyTest, ::testing::ValuesIn(all_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Files, HostGarbageTest, ::testing::ValuesIn(files_of_numbers()), name_of);

void PrintTo(const File& file, std::ostream* out) { *out << file.path; }

}  // namespace
}  // namespace muster
