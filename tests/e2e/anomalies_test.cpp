// SPDX-License-Identifier: Apache-2.0
// Damages every file that a run opens on a healthy node, one at a time. The verdict must not be
// healthy because of it, no probe may crash, and none may outlive its deadline. A file whose damage
// may leave the node healthy is in the list of exceptions, with the reason.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <type_traits>
#include <vector>

#include "checks/app/inspect.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// Files whose damage may leave a node healthy, each with the reason.

struct Exception {
  std::string_view paths;    // globs separated by blanks
  std::string_view damages;  // globs separated by '|'
  std::string_view why;
};

constexpr std::string_view kGone = "missing|a_dangling_link";
// The other files that hwloc opens differ between versions.
constexpr std::string_view kByHwloc = "read by hwloc";

constexpr auto kExceptions = std::to_array<Exception>({
    {"*/b036:00:00.0/*", "*",
     "accelerated networking: its link layer is Ethernet, and no check of ib.* or topo.* counts "
     "it"},
    {"proc/1/*", kGone, "the process has ended meanwhile"},
    {"proc/cpuinfo", "*", "only the model's name; counts are sysfs'"},
    {"sys/class/infiniband_mad/abi_version", "*", "only a line of NHC's asks for it"},
    {"proc/sys/kernel/hostname */infiniband/mlx5_ib0/hca_type */infiniband/mlx5_ib0/node_guid "
     "*/nvme/nvme0/model sys/devices/virtual/block/md0/md/level "
     "sys/devices/virtual/block/md0/md/raid_disks",
     "*", "a label"},
    {"var/lib/hyperv/.kvp_pool_3", "*", "the physical host's name is a label"},
    {"proc/sys/kernel/osrelease", "*", "no release is required"},
    {"proc/sys/kernel/random/boot_id", "*", "it only distinguishes earlier runs"},
    {"proc/sys/kernel/numa_balancing proc/sys/vm/zone_reclaim_mode", kGone,
     "this kernel was built without it"},
    {"*/current_link_*", kGone, "below Hyper-V a link may not be measurable"},
    {"*/max_link_*", "*", "the profile says what is expected"},
    {"*/local_cpulist", "*", "a second source: hwloc reads local_cpus"},
    {"*/subsystem_* sys/devices/system/cpu/cpu0/cache/* "
     "sys/devices/system/cpu/cpu0/topology/die_id sys/devices/system/node/node0/distance "
     "sys/devices/system/node/node0/hugepages/* sys/fs/cgroup/cgroup.controllers "
     "proc/driver/nvidia/gpus/ sys/bus/pci/slots/",
     "*", kByHwloc},
    {"*/infiniband/mlx5_ib0/board_id", kGone, "not every device has a board id"},
    {"*/ports/1/hw_counters/* */ports/1/counters/VL15_dropped */net/*/mtu */net/*/speed", "*",
     "no limit is set"},
    {"*/ports/1/counters/*_data */ports/1/counters/*_packets", "*", "traffic, no error"},
    {"*/ports/1/counters/port_xmit_wait", "*", "congestion, no fault"},
    {"*/ports/1/counters/port_rcv_remote_physical_errors", "*", "another cable's fault"},
    {"*/ports/1/counters/port_rcv_switch_relay_errors", "*", "normal with multicast"},
    {"*/net/*/carrier", "*", "operstate is judged instead"},
    {"*/net/*/type", "*", "not judged"},
    {"*/nvme/nvme0/firmware_rev */pci6460:00/6460:00:00.0/current_link_*", "*",
     "compared among those that report it"},
    {"*/nvme/nvme0/nvme0n1/size", "*", "the profile sets no size"},
    {"sys/devices/virtual/dmi/id/*", "*", "only recognition asks, and the profile is named"},
    {"sys/kernel/mm/hugepages/hugepages-1048576kB/*", "*",
     "the site expects nothing for pages of this size"},
    {"sys/kernel/mm/transparent_hugepage/enabled", "*", "no word is required"},
    {"sys/fs/cgroup/system.slice/*", "*",
     "not required, or systemd's links in /run show it as well"},
    {"run/systemd/units/", "*", "control groups show it as well"},
    {"proc/1234/comm", "*", "the control group of slurmd shows it as well"},
    {"proc/1234/status", "*", "processes in the control group of slurmd may belong to any user"},
    {"proc/cmdline", "garbled|huge", "any text is a command line"},
    {"*/net/eth0/operstate", "*", "carrier shows it as well"},
    {"*/net/*/carrier_down_count", "*",
     "link_downed shows it as well, and flaps of eth0 are not judged"},
    {"*/ports/1/counters/link_downed", kGone, "carrier_down_count shows it as well"},
    {"*/pci000?:00/*/current_link_speed", "*",
     "an idle GPU slows its link down: its speed is not judged"},
    {"*/config", "huge", "the head alone is read: a device without capabilities"},
    {"*/nvme/nvme0/transport", "*",
     "a controller without it counts as local: it must not disappear"},
    {"sys/kernel/mm/hugepages/", "a_directory",
     "a kernel without huge pages has none, as the site expects"},
    {"*/pci6460:00/6460:00:00.0/numa_node */pci6460:00/6460:00:00.0/local_cpus "
     "*/pci6460:00/6460:00:00.0/config",
     "*", "neither the place nor the payload of a disk is checked"},
});

bool matches(const std::vector<std::string_view>& globs, std::string_view text) {
  return std::ranges::any_of(globs,
                             [&](std::string_view glob) { return matches_glob(glob, text); });
}

bool may_stay_healthy(std::string_view path, std::string_view damage) {
  return std::ranges::any_of(kExceptions, [&](const Exception& each) {
    return matches(split_words(each.paths), path) && matches(split(each.damages, '|'), damage);
  });
}

std::vector<std::string_view> exception_patterns() {
  std::vector<std::string_view> patterns;
  for (const auto& each : kExceptions) {
    if (each.why == kByHwloc) continue;
    for (const auto pattern : split_words(each.paths)) patterns.push_back(pattern);
  }
  return patterns;
}

// Finds the files that a function opens. The kernel reports them, so no list can go out of date.
class Watch {
 public:
  explicit Watch(const fs::path& root) : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    // Walks first and watches afterwards, so that the walk itself is not seen.
    std::vector<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory() && !entry.is_symlink()) folders.push_back(entry.path());
    }
    add(root, "");
    for (const auto& folder : folders) {
      add(folder, fmt::format("{}/", folder.lexically_relative(root).string()));
    }
  }

  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  ~Watch() { ::close(queue_); }

  std::set<std::string> take() {
    std::set<std::string> opened;
    alignas(inotify_event) std::array<char, 65536> buffer{};
    for (;;) {
      const auto got = ::read(queue_, buffer.data(), buffer.size());
      if (got <= 0) return opened;
      for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        note(event, buffer.data() + at + sizeof event, opened);
        at += sizeof event + event.len;
      }
    }
  }

 private:
  void add(const fs::path& folder, std::string name) {
    const int watch = ::inotify_add_watch(queue_, folder.c_str(), IN_OPEN);
    if (watch < 0) {
      fmt::print(stderr, "inotify cannot watch {}: {}\n", folder.string(), std::strerror(errno));
      std::abort();
    }
    names_[watch] = std::move(name);
  }

  void note(const inotify_event& event, const char* name, std::set<std::string>& opened) const {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      fmt::print(stderr, "inotify lost events\n");
      std::abort();
    }
    const auto& folder = names_.at(event.wd);
    if (event.len == 0) {
      opened.insert(folder);
    } else if ((event.mask & IN_ISDIR) == 0) {
      opened.insert(fmt::format("{}{}", folder, name));
    }
  }

  int queue_;
  std::map<int, std::string> names_;
};

std::set<std::string> opened_below(const fs::path& root, const std::function<void()>& work) {
  Watch watch(root);
  work();
  return watch.take();
}

std::string shape_of(std::string_view path) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kDigits = "0123456789";
  std::string shape;
  while (!path.empty()) {
    // A run of hexadecimal digits is a number if it has a decimal one.
    const auto run = path.substr(0, path.find_first_not_of(kHex));
    const bool number = run.find_first_of(kDigits) != std::string_view::npos;
    shape.append(number ? "#" : run.empty() ? path.substr(0, 1) : run);
    path.remove_prefix(std::max<std::size_t>(run.size(), 1));
  }
  return shape;
}

constexpr std::chrono::seconds kLongest{10};

std::string observe_one(const Root& root, Probe probe, const Wanted& wanted) {
  const std::map<Probe, std::function<std::string()>> probes{
      {Probe::identity, [&] { return section_to_json(probe_identity(root)); }},
      {Probe::cpu, [&] { return section_to_json(probe_cpu(root)); }},
      {Probe::memory, [&] { return section_to_json(probe_memory(root)); }},
      {Probe::mounts, [&] { return section_to_json(probe_mounts(root, wanted.statfs_deadline)); }},
      {Probe::disks, [&] { return section_to_json(probe_disks(root)); }},
      {Probe::processes, [&] { return section_to_json(probe_processes(root)); }},
      {Probe::kernel, [&] { return section_to_json(probe_kernel(root, wanted.sysctls)); }},
      {Probe::kernel_log, [&] { return section_to_json(probe_kernel_log(root)); }},
      {Probe::services, [&] { return section_to_json(probe_services(root)); }},
      {Probe::network, [&] { return section_to_json(probe_network(root)); }},
      {Probe::pci, [&] { return section_to_json(probe_pci(root)); }},
      {Probe::infiniband, [&] { return section_to_json(probe_infiniband(root)); }},
      {Probe::verbs, [&] { return section_to_json(probe_verbs(root)); }},
      {Probe::topology, [&] { return section_to_json(probe_topology(root)); }},
      {Probe::environment, [&] { return section_to_json(probe_environment(root, wanted, {})); }},
      {Probe::nvml, [&] { return section_to_json(probe_nvml(root, {}, Clock::now() + kLongest)); }},
  };
  return probes.at(probe)();
}

std::string reprobe(const Root& root, Probe probe, const Wanted& wanted,
                    std::chrono::milliseconds deadline, Snapshot& snapshot) {
  Children children;
  children.start("probe", deadline, [&] { return observe_one(root, probe, wanted); });
  const auto answer = children.next().second;
  if (answer.end == ChildAnswer::End::died) return answer.reason;
  std::string trouble;
  for_each_section(snapshot, [&](Probe each, auto& section) {
    if (each != probe) return;
    if (answer.end == ChildAnswer::End::timeout) {
      section = {};
      section.status = Status::timeout;
      section.reason = answer.reason;
      return;
    }
    using Facts = std::remove_reference_t<decltype(section.facts)>;
    auto read = parse_section<Facts>(answer.bytes);
    if (read) {
      section = std::move(*read);
    } else {
      trouble = read.error().message;
    }
  });
  return trouble;
}

void put(const fs::path& file, std::string_view content) {
  std::ofstream(file, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

struct Damage {
  std::string_view name;
  void (*inflict)(const fs::path& path);  // nothing is there
};

constexpr std::string_view kGarbage = "\x01\xff\xfe 9z-garbage{]\x7f\n\n\t=:;,(4X\n";

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"missing", [](const fs::path&) {}},
      {"empty", [](const fs::path& path) { put(path, ""); }},
      {"garbled", [](const fs::path& path) { put(path, kGarbage); }},
      {"a_directory", [](const fs::path& path) { fs::create_directory(path); }},
      {"a_dangling_link", [](const fs::path& path) { fs::create_symlink("nowhere", path); }},
      {"a_link_to_itself", [](const fs::path& path) { fs::create_symlink(path.filename(), path); }},
      {"huge",
       [](const fs::path& path) {
         put(path, "x");
         fs::resize_file(path, 80ULL * 1024 * 1024);
       }},
      {"a_fifo",
       [](const fs::path& path) {
         nodes::Tree pipe;
         pipe.fifo(path.filename().string());
         static_cast<void>(write_tree(pipe, path.parent_path()));
       }},
  };
  return all;
}

// The healthy node, examined twice so that rates are judged too, and what each probe opens.
class Subject {
 public:
  Subject() {
    healthy_ = examine_twice(stage_, nodes::nd96isr_h100_v5());
    wanted_ = app::wanted_of(healthy_.profile);
    for_each_section(healthy_.snapshot, [&](Probe probe, const auto& /*section*/) {
      const auto opened = opened_below(stage_.root(), [&] {
        auto scratch = healthy_.snapshot;
        EXPECT_EQ(reprobe(root_below(), probe, wanted_, 10s, scratch), "");
      });
      for (const auto& path : opened) readers_[path].insert(probe);
    });
    // Opening a file also opens its folders.
    for (auto& [folder, probes] : readers_) {
      if (!folder.ends_with('/')) continue;
      for (const auto& [path, readers] : readers_) {
        if (path.starts_with(folder)) probes.insert(readers.begin(), readers.end());
      }
    }
  }

  [[nodiscard]] const Examination& healthy() const { return healthy_; }

  // One path per pattern: the first of the 96 CPUs stands for all, and so do the first GPU and the
  // first HCA.
  [[nodiscard]] std::vector<std::string> paths() const {
    std::map<std::string, std::string> by_shape;
    for (const auto& [path, probes] : readers_) {
      const auto bus = path.find("/pci");
      const auto kind = bus == std::string::npos ? "" : path.substr(bus, 6);
      by_shape.try_emplace(fmt::format("{} {}", kind, shape_of(path)), path);
    }
    std::vector<std::string> result;
    for (const auto& [shape, path] : by_shape) {
      if (!path.empty()) result.push_back(path);
    }
    return result;
  }

  [[nodiscard]] const std::set<Probe>& readers(const std::string& path) const {
    return readers_.at(path);
  }

  // Returns whether muster calls the node healthy without a remark while `path` is damaged, and
  // restores the path. A probe or a check that crashes is added to `crashed`.
  bool unnoticed(const std::string& path, const Damage& damage, std::string& crashed) {
    const fs::path here =
        stage_.root() / (path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
    const fs::path aside = stage_.root().parent_path() / "aside";
    fs::rename(here, aside);
    damage.inflict(here);
    auto snapshot = healthy_.snapshot;
    // hwloc opens files itself, and waits for a FIFO's other end.
    const auto deadline = damage.name == "a_fifo" ? 200ms : 10'000ms;
    for (const Probe probe : readers_.at(path)) {
      const auto trouble = reprobe(root_below(), probe, wanted_, deadline, snapshot);
      if (!trouble.empty()) {
        crashed.append(fmt::format("{} {}: {} {}\n", path, damage.name, to_string(probe), trouble));
      }
    }
    fs::remove_all(here);
    fs::rename(aside, here);
    Children children;
    children.start("judge", 10s, [&] {
      const auto report = judge(snapshot, healthy_.profile, {.only = {"*"}});
      const bool silent = report.verdict == Verdict::healthy && concerns(report).empty();
      return std::string(silent ? "unnoticed" : "noticed");
    });
    const auto answer = children.next().second;
    if (answer.end == ChildAnswer::End::answered) return answer.bytes == "unnoticed";
    crashed.append(fmt::format("{} {}: judging {}\n", path, damage.name, answer.reason));
    return false;
  }

 private:
  [[nodiscard]] Root root_below() const { return std::move(*Root::below(stage_.root())); }

  Stage stage_;
  Examination healthy_;
  Wanted wanted_;
  std::map<std::string, std::set<Probe>> readers_;
};

Subject& subject() {
  static Subject the_subject;
  return the_subject;
}

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class Anomaly : public DiskTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(Anomaly, NeverLeavesTheNodeHealthy) {
  const auto& damage = GetParam();
  ASSERT_EQ(subject().healthy().report.verdict, Verdict::healthy)
      << explain(subject().healthy().report);
  std::string crashed;
  std::vector<std::string> healthy;
  for (const auto& path : subject().paths()) {
    if (subject().unnoticed(path, damage, crashed) && !may_stay_healthy(path, damage.name)) {
      healthy.push_back(path);
    }
  }
  EXPECT_EQ(crashed, "");
  EXPECT_EQ(fmt::format("{}", fmt::join(healthy, "\n")), "");
}

INSTANTIATE_TEST_SUITE_P(Spoilt, Anomaly, ::testing::ValuesIn(damages()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(AnomalyTest, EveryProbeThatAForeignRootFeedsOpensSomething) {
  std::set<Probe> reading;
  for (const auto& path : subject().paths()) {
    const auto& readers = subject().readers(path);
    reading.insert(readers.begin(), readers.end());
  }
  for_each_section(subject().healthy().snapshot, [&](Probe probe, const auto& section) {
    // NVML is a library and is not loaded again.
    if (section.status != Status::absent && probe != Probe::nvml) {
      EXPECT_TRUE(reading.contains(probe)) << to_string(probe);
    }
  });
}

TEST(AnomalyTest, EveryExceptionIsAboutAFileThatARunOpens) {
  const auto paths = subject().paths();
  for (const auto& pattern : exception_patterns()) {
    EXPECT_TRUE(std::ranges::any_of(
        paths, [&](const std::string& path) { return matches_glob(pattern, path); }))
        << pattern << " matches no file that a run opens";
  }
}

}  // namespace
}  // namespace muster::e2e
