// SPDX-License-Identifier: Apache-2.0
#include "checks/shared/kernel_log.hpp"

#include <array>
#include <span>
#include <tuple>

#include "checks/shared/pci_bus.hpp"

namespace muster::checks {
namespace {

constexpr std::string_view kPcie = "pcie";
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kStorage = "storage";
constexpr std::string_view kGpu = "gpu";
constexpr std::string_view kGpuInit = "gpu_init";
constexpr std::string_view kGpuFirmware = "gpu_firmware";
constexpr std::string_view kGpuNvlink = "gpu_nvlink";
constexpr std::string_view kMachineCheck = "machine_check";

struct FamilyMember {
  std::string_view family;
  std::string_view kind;
};

// Within a family the cause comes first.
constexpr std::array<FamilyMember, 21> kMembers{{
    {kPcie, "pcie_fatal"},      {kPcie, "pcie_recovery"},
    {kPcie, "pcie_nonfatal"},   {kMemory, "memory_uncorrected"},
    {kMemory, kMachineCheck},   {kStorage, "nvme_down"},
    {kStorage, "medium_error"}, {kStorage, "io_error"},
    {kStorage, "raid_failed"},  {kStorage, "raid_disk_failed"},
    {kStorage, "nvme_timeout"}, {kStorage, "disk_refusal"},
    {kStorage, "filesystem"},   {kStorage, "filesystem_read_only"},
    {kGpu, "gpu_bad_memory"},   {kGpu, "gpu_uncorrected"},
    {kGpu, "gpu_reset_failed"}, {kGpu, kGpuInit},
    {kGpu, kGpuFirmware},       {kGpu, kGpuNvlink},
    {kGpu, "gpu_reset"},
}};

const StackedDevice* stacked_at(const Snapshot& snapshot, std::string_view name) {
  if (!snapshot.disks.ok() || !snapshot.disks->stacked) return nullptr;
  const auto& all = *snapshot.disks->stacked;
  const auto found = std::ranges::find(all, name, &StackedDevice::name);
  return found == all.end() ? nullptr : &*found;
}

std::string_view family_of(std::string_view kind) {
  const auto* const found = std::ranges::find(kMembers, kind, &FamilyMember::kind);
  return found == kMembers.end() ? std::string_view() : found->family;
}

// The name of the device in a message with a fixed form; empty for other messages.
std::string_view device_in_known_message(std::string_view text,
                                         const std::vector<std::string_view>& words) {
  const auto word = [&](std::size_t at) {
    return at < words.size() ? line::bare(words[at]) : std::string_view();
  };
  // "NETDEV WATCHDOG: eth1 (mlx5_core): transmit queue 0 timed out"
  if (text.starts_with("NETDEV WATCHDOG: ")) return word(2);
  // "hv_netvsc 9d6b…-…-… eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 ms"
  if (word(3) == "NETDEV" && !line::is_pci_address(word(1))) return word(2);
  // "ib0: transmit timeout: latency 2048 msecs"
  if (words[0].ends_with(':') && line::is_interface(word(0))) return word(0);
  // "md/raid0md0: Disk failure on nvme3n1 detected, failing array."
  for (const std::string_view level : {"md/raid0", "md/linear"}) {
    if (word(1) != "Disk" || !word(0).starts_with(level)) continue;
    const auto array = word(0).substr(level.size());
    if (line::is_disk(array)) return array;
  }
  // "nvidia: probe of 0000:a1:00.0 failed with error -1"
  if (word(1) == "probe" && word(2) == "of" && line::is_pci_address(word(3))) return word(3);
  return {};
}

// A device whose lines belong together with those that name none: "mc0" for "EDAC MC0: 1 UE …",
// "nvidia3" for "NVRM: rm_init_adapter failed, device minor number 3". Empty for other messages.
std::string part_of_node(std::string_view text) {
  const auto number_after = [&](std::string_view before) -> std::string_view {
    const auto at = text.find(before);
    if (at == std::string_view::npos) return {};
    const auto rest = text.substr(at + before.size());
    return rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  };
  if (text.starts_with("EDAC MC")) {
    const auto number = number_after("EDAC MC");
    return number.empty() ? std::string() : fmt::format("mc{}", number);
  }
  if (!text.starts_with("NVRM: rm_init_adapter failed")) return {};
  const auto number = number_after(" minor number ");
  return number.empty() ? std::string() : fmt::format("nvidia{}", number);
}

// The subject of one line: a fault of this family (or class) at this device.
struct LineSubject {
  std::string_view family;
  std::string device;
  bool of_memory = false;
  std::string name{};  // in the line, of the device or a part of it
};

// Firmware reports an error in several lines with the same tag; later ones name the device:
// "{1}[Hardware Error]:   section_type: PCIe error", "{1}[Hardware Error]:   device_id: 0000:…".
LineSubject subject_of_firmware_record(std::span<const KernelRecord> from_here) {
  constexpr std::size_t kMaxLines = 40;
  LineSubject subject{.family = kMemory, .device = std::string(kNode)};
  const std::string& first = from_here.front().text;
  const std::string tag = first.substr(0, first.find('}') + 1);
  for (const KernelRecord& record : from_here.first(std::min(from_here.size(), kMaxLines))) {
    if (!record.text.starts_with(tag)) continue;
    const auto words = split_words(record.text);
    if (words.size() < 2) continue;
    if (record.text.find("section_type: memory error") != std::string::npos)
      subject.of_memory = true;
    if (words[words.size() - 2] == "device_id:" && line::is_pci_address(words.back())) {
      subject.family = kPcie;
      subject.device = words.back();
    }
  }
  return subject;
}

LineSubject subject_of(const std::string& kind, std::span<const KernelRecord> from_here) {
  const std::string& text = from_here.front().text;
  if (kind == kMachineCheck && text.starts_with('{')) return subject_of_firmware_record(from_here);
  LineSubject subject{.family = family_of(kind),
                      .of_memory = kind == "memory_uncorrected",
                      .name = device_of_line(text)};
  subject.device = part_of_node(text).empty() ? line::whole_of(subject.name) : std::string(kNode);
  return subject;
}

double gap_s(std::uint64_t earlier_us, std::uint64_t later_us) {
  return (static_cast<double>(later_us) - static_cast<double>(earlier_us)) / 1e6;
}

// Groups lines, in the log's order, into faults.
class FaultCollector {
 public:
  explicit FaultCollector(const KernelLogLimits& limits) : limits_(limits) {}

  void add_line(std::span<const KernelRecord> from_here, const KernelLogPattern& pattern) {
    const KernelRecord& record = from_here.front();
    const LineSubject subject = subject_of(pattern.kind, from_here);
    KernelFault& fault = fault_for(subject, pattern.kind, record.time_us);
    fault.last_us = std::max({fault.last_us, record.time_us, record.last_us});
    fault.of_memory = fault.of_memory || subject.of_memory;
    fault.add_name(subject.name.empty() ? subject.device : subject.name);
    fault.classes[pattern.kind].add(record, pattern, limits_.coalesce);
  }

  [[nodiscard]] std::vector<KernelFault> take_faults() { return std::move(faults_); }

 private:
  KernelFault& fault_for(const LineSubject& subject, const std::string& kind,
                         std::uint64_t time_us) {
    const std::string what = subject.family.empty() ? kind : std::string(subject.family);
    const auto [known, added] = newest_.try_emplace({what, subject.device}, faults_.size());
    // Lines without a device belong together only within seconds.
    const bool loose = !subject.family.empty() && subject.device == kNode;
    if (!added && loose &&
        gap_s(faults_[known->second].last_us, time_us) > limits_.coalesce.value) {
      known->second = faults_.size();
    }
    if (known->second == faults_.size()) {
      faults_.push_back({.family = subject.family, .device = subject.device, .first_us = time_us});
    }
    return faults_[known->second];
  }

  const KernelLogLimits& limits_;
  std::vector<KernelFault> faults_;
  std::map<std::pair<std::string, std::string>, std::size_t> newest_;
};

bool are_simultaneous(const KernelFault& a, const KernelFault& b, Seconds coalesce) {
  return gap_s(a.last_us, b.first_us) <= coalesce.value &&
         gap_s(b.last_us, a.first_us) <= coalesce.value;
}

// The simultaneous fault of the device farthest below this bridge, if any.
std::optional<std::size_t> fault_below(const Snapshot& snapshot,
                                       const std::vector<KernelFault>& faults,
                                       const KernelFault& bridge, Seconds coalesce) {
  std::optional<std::size_t> best;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const PciDevice* device =
        faults[i].family == kPcie ? pci::device_at(snapshot, faults[i].device) : nullptr;
    if (device == nullptr || device->upstream.size() <= depth) continue;
    const bool below = std::ranges::find(device->upstream, bridge.device) != device->upstream.end();
    if (!below || !are_simultaneous(faults[i], bridge, coalesce)) continue;
    best = i;
    depth = device->upstream.size();
  }
  return best;
}

// The ports above a device also report its errors.
void move_to_endpoints(const Snapshot& snapshot, std::vector<KernelFault>& faults,
                       Seconds coalesce) {
  for (std::size_t i = 0; i < faults.size();) {
    const auto below = faults[i].family == kPcie
                           ? fault_below(snapshot, faults, faults[i], coalesce)
                           : std::nullopt;
    if (!below) {
      ++i;
      continue;
    }
    faults[*below].add(faults[i]);
    faults.erase(faults.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
}

// Merges repeated faults into one with several incidents.
std::vector<KernelFault> by_cause_and_device(const KernelLogLimits& limits,
                                             std::vector<KernelFault> faults) {
  std::map<std::tuple<std::string, std::string, std::string_view>, KernelFault> sorted;
  for (KernelFault& fault : faults) {
    const auto [entry, added] =
        sorted.try_emplace({cause_of(limits, fault), fault.device, fault.family}, fault);
    if (added) continue;
    entry->second.add_name(fault.name);
    entry->second.add(fault);
  }
  std::vector<KernelFault> result;
  result.reserve(sorted.size());
  for (auto& [key, fault] : sorted) result.push_back(std::move(fault));
  return result;
}

// Describes the disk image on a device. Set-uid programs (Apptainer) mount disk images of users on
// loop devices, and encrypted ones on a device mapper above them. A device that is gone was only
// mounted temporarily.
std::string image_on(const Snapshot& snapshot, std::string_view device) {
  if (device.starts_with("loop")) {
    const StackedDevice* loop = stacked_at(snapshot, device);
    return loop == nullptr || loop->file.empty()
               ? fmt::format("{} held a disk image", device)
               : fmt::format("{} holds the disk image {}", device, loop->file);
  }
  if (!device.starts_with("dm-") || !snapshot.disks.ok() || !snapshot.disks->stacked) return {};
  const StackedDevice* mapped = stacked_at(snapshot, device);
  if (mapped == nullptr) return fmt::format("{} is gone and was mounted only for a while", device);
  for (const auto& below : mapped->on) {
    if (below == device) continue;
    if (auto image = image_on(snapshot, below); !image.empty()) return image;
  }
  return {};
}

// Lines of NVIDIA's driver are obsolete once the driver is reloaded.
bool is_obsolete(const Snapshot& snapshot, const KernelRecord& record) {
  return record.text.starts_with("NVRM: ") &&
         std::max(record.time_us, record.last_us) < snapshot.xids.of_kernel.loaded_us();
}

// Findings of other checks about a GPU's fault.
std::vector<SeenBy> seen_on_gpu(const KernelFault& fault) {
  if (fault.classes.contains(std::string(kGpuInit)) && fault.device != kNode) {
    return {{.check = "pci.devices", .device = fault.device}};
  }
  if (fault.classes.contains(std::string(kGpuFirmware))) {
    return {{.check = "gpu.xid", .device = "*"}};
  }
  if (!fault.classes.contains(std::string(kGpuNvlink))) return {};
  return {{.check = "gpu.nvlink_state", .device = "*"}, {.check = "gpu.fabric", .device = "*"}};
}

bool has_controller(const Disks& disks, const std::string& name) {
  return std::ranges::find(disks.nvme, name, &Nvme::controller) != disks.nvme.end() ||
         std::ranges::find(disks.dead_controllers, name) != disks.dead_controllers.end();
}

}  // namespace

void ClassLines::add(const KernelRecord& record, const KernelLogPattern& pattern,
                     Seconds coalesce) {
  if (incidents == 0 || gap_s(last_us, record.time_us) > coalesce.value) ++incidents;
  lines += record.repeats;
  last_us = std::max({last_us, record.time_us, record.last_us});
  newest = record.text;
  remedy = pattern.remedy;
}

void ClassLines::add(const ClassLines& other) {
  incidents += other.incidents;
  lines += other.lines;
  if (other.last_us < last_us) return;
  last_us = other.last_us;
  newest = other.newest;
  remedy = other.remedy;
}

// Several parts of a device count as the whole device.
void KernelFault::add_name(const std::string& part) {
  if (name.empty() || name == kNode) {
    name = part;
  } else if (part != kNode && part != name) {
    name = device;
  }
}

void KernelFault::add(const KernelFault& other) {
  first_us = std::min(first_us, other.first_us);
  last_us = std::max(last_us, other.last_us);
  of_memory = of_memory || other.of_memory;
  for (const auto& [kind, lines] : other.classes) {
    const auto [entry, added] = classes.try_emplace(kind, lines);
    if (!added) entry->second.add(lines);
  }
}

std::string device_of_line(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty()) return std::string(kNode);
  // A root port forwards errors of a device below it: "AER: … error received: 0000:12:00.0".
  if (words.size() > 2 && words[0] == "pcieport" &&
      (words[words.size() - 2] == "received:" || words[words.size() - 2] == "from") &&
      line::is_pci_address(line::bare(words.back()))) {
    // Sent by a device that does not know its own address.
    constexpr std::string_view kNoAddress = "0000:00:00.0";
    const auto source = line::bare(words.back());
    return std::string(source == kNoAddress ? line::bare(words[1]) : source);
  }
  if (auto part = part_of_node(text); !part.empty()) return part;
  if (const auto device = device_in_known_message(text, words); !device.empty()) {
    return printable(device, 64);
  }
  // "sd 0:0:0:0: [sda] …", "NVRM: GPU 0000:a1:00.0: …"
  const std::size_t prefix = words[0] == "sd" || text.starts_with("NVRM: GPU ") ? 3 : 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool introduced =
        i > 0 && (line::bare(words[i - 1]) == "dev" || line::bare(words[i - 1]) == "device");
    if (i >= prefix && !introduced) continue;
    const auto word = line::bare(words[i]);
    if (line::is_pci_address(word) || line::is_disk(word)) return std::string(word);
  }
  return std::string(kNode);
}

std::string cause_of(const KernelLogLimits& limits, const KernelFault& fault) {
  const auto place = [&](const std::string& kind) {
    const auto* const found = std::ranges::find(kMembers, kind, &FamilyMember::kind);
    return std::pair(rank(outcome_of(limits.kinds, kind)), found - kMembers.begin());
  };
  std::string cause = fault.classes.begin()->first;
  for (const auto& [kind, lines] : fault.classes) {
    if (place(kind) < place(cause)) cause = kind;
  }
  return cause;
}

std::vector<KernelFault> faults_of(const Snapshot& snapshot, const KernelLogLimits& limits,
                                   double from_us) {
  FaultCollector collector(limits);
  const std::span<const KernelRecord> records(snapshot.kernel_log->records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const KernelRecord& record = records[i];
    // Programs can write any line to /dev/kmsg; only the kernel's own lines count.
    if (record.facility != 0) continue;
    if (static_cast<double>(std::max(record.time_us, record.last_us)) < from_us) continue;
    if (is_xid_line(record.text)) continue;  // gpu.xid and gpu.sxid judge these
    if (is_obsolete(snapshot, record)) continue;
    const auto pattern = std::ranges::find_if(limits.patterns, [&](const KernelLogPattern& each) {
      return matches_pattern(each.pattern, record.text);
    });
    if (pattern == limits.patterns.end()) continue;
    if (outcome_of(limits.kinds, pattern->kind) == Outcome::pass) continue;
    collector.add_line(records.subspan(i), *pattern);
  }
  std::vector<KernelFault> faults = collector.take_faults();
  for (KernelFault& fault : faults) fault.image = image_on(snapshot, fault.device);
  if (snapshot.pci.ok()) move_to_endpoints(snapshot, faults, limits.coalesce);
  return by_cause_and_device(limits, std::move(faults));
}

std::vector<SeenBy> seen_by(const Snapshot& snapshot, const KernelFault& fault) {
  if (fault.family == kPcie && fault.device != kNode)
    return {{.check = "pci.errors", .device = fault.device},
            {.check = "pci.devices", .device = fault.device}};
  if (fault.family == kMemory && fault.of_memory) return {{.check = "host.edac", .device = "*"}};
  if (fault.family == kGpu) return seen_on_gpu(fault);
  if (fault.family != kStorage || !fault.device.starts_with("nvme")) return {};
  std::vector<SeenBy> seen{{.check = "host.nvme", .device = fault.device},
                           {.check = "host.nvme", .device = fmt::format("{}n*", fault.device)}};
  // A controller that is gone has no finding: host.nvme reports a wrong count.
  if (snapshot.disks.ok() && !has_controller(*snapshot.disks, fault.device))
    seen.push_back({.check = "host.nvme", .device = std::string(kNode)});
  return seen;
}

namespace {

// An event may be logged several times: by the driver for the port and for its interface, and by
// systemd-networkd.
enum class LinkWriter { port, interface, network_manager };

struct LinkDown {
  LinkWriter writer = LinkWriter::port;
  std::string address;  // PCI address of the adapter, if the line has it
  std::string name;     // of the adapter or its interface: "mlx5_ib0", "ib6"
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The first name of an InfiniBand interface, such as "ib6" or "ibP264s182277"; may be empty.
std::string_view interface_in(std::string_view text) {
  while (!text.empty()) {
    const auto begin = std::ranges::find_if(text, is_word);
    text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
    const auto end = std::ranges::find_if_not(text, is_word);
    const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    if (word.starts_with("ib") && word.size() > 2) return word;
    text.remove_prefix(word.size());
  }
  return {};
}

// "mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN" (the name may be missing),
// "mlx5_core 0101:00:00.0 ib0: Link down", "ib6: Lost carrier".
std::optional<LinkDown> parse_link_down(std::string_view text) {
  const auto lower = lower_case(text);
  if (lower.find("lost carrier") != std::string::npos) {
    const auto name = interface_in(text);
    if (name.empty()) return std::nullopt;
    return LinkDown{.writer = LinkWriter::network_manager, .name = std::string(name)};
  }
  if (!lower.starts_with("mlx5_core ") || lower.find("link down") == std::string::npos) {
    return std::nullopt;
  }
  const auto words = split(text, ' ');
  if (words.size() < 4) return std::nullopt;
  const bool of_port = lower.find(" port: ") != std::string::npos;
  return LinkDown{.writer = of_port ? LinkWriter::port : LinkWriter::interface,
                  .address = std::string(words[1].substr(0, words[1].find_last_not_of(':') + 1)),
                  .name = std::string(words[2].substr(0, words[2].find(':')))};
}

// Lines from user space prove nothing, except those of systemd-networkd, which runs as root.
bool is_believed(const KernelRecord& record) {
  return record.facility == 0 || record.text.starts_with("systemd-networkd");
}

bool has_infiniband(const Hca& hca) {
  if (!hca.ports) return false;
  return std::ranges::any_of(*hca.ports,
                             [](const IbPort& port) { return port.link_layer == "InfiniBand"; });
}

// The InfiniBand adapter that a line is about, if any.
std::optional<std::string> adapter_of(const Snapshot& snapshot, const LinkDown& down) {
  for (const Hca& hca : snapshot.infiniband->hcas) {
    const bool by_address = !down.address.empty() && hca.address.value_or("") == down.address;
    const bool by_name =
        hca.name == down.name || (hca.netdevs && std::ranges::count(*hca.netdevs, down.name) > 0);
    if (!by_address && !by_name) continue;
    return has_infiniband(hca) ? std::optional(hca.name) : std::nullopt;
  }
  const bool has_ib_name =
      down.name.starts_with("ib") || down.name.find("_ib") != std::string::npos;
  return has_ib_name ? std::optional(down.name) : std::nullopt;
}

}  // namespace

std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                           double begin_us) {
  std::map<std::pair<std::string, LinkWriter>, std::uint64_t> by_writer;
  for (const KernelRecord& record : snapshot.kernel_log->records) {
    const auto last_us = static_cast<double>(std::max(record.time_us, record.last_us));
    if (last_us < begin_us || !is_believed(record)) continue;
    const auto down = parse_link_down(record.text);
    const auto adapter = down ? adapter_of(snapshot, *down) : std::nullopt;
    if (adapter) by_writer[{*adapter, down->writer}] += record.repeats;
  }
  std::map<std::string, std::uint64_t> times;
  for (const auto& [key, count] : by_writer) {
    auto& most = times[key.first];
    most = std::max(most, count);
  }
  return times;
}

}  // namespace muster::checks
