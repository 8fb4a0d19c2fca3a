// SPDX-License-Identifier: Apache-2.0
// The PCI bus from sysfs: GPUs, NVSwitches, HCAs, Ethernet and NVMe devices, and the bridges above
// GPUs and HCAs. The class is read first, so that hundreds of other functions cost one read each.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";

std::string file_of(std::string_view address, std::string_view name) {
  return fmt::format("{}/{}/{}", kDevices, address, name);
}

Result<unsigned> read_id(const Root& root, std::string_view address, std::string_view name) {
  const std::string path = file_of(address, name);
  TRY_ASSIGN(const auto line, root.read_line(path));
  const auto value = parse_hex(line);
  if (!value || *value > 0xffffff) {
    return make_error("read {}: \"{}\" is not a PCI id", path, printable(line));
  }
  return static_cast<unsigned>(*value);
}

// The kind of a device; none for others.
std::optional<PciKind> kind_of(unsigned device_class, unsigned vendor) {
  const unsigned sub = device_class >> 8U;
  if (pci_class::is_gpu(sub, vendor)) return PciKind::gpu;
  switch (sub) {
    case pci_class::kOtherBridge:
      if (vendor == kNvidiaVendor) return PciKind::nvswitch;
      return std::nullopt;
    case pci_class::kInfiniband:
    case pci_class::kSerialInfiniband:
      return PciKind::hca;
    case pci_class::kEthernet:
      return PciKind::ethernet;
    case pci_class::kNvme:
      return PciKind::nvme;
    default:
      return std::nullopt;
  }
}

bool class_may_matter(unsigned device_class) {
  return kind_of(device_class, kNvidiaVendor).has_value();
}

Fact<int> read_numa_node(const Root& root, std::string_view address) {
  const std::string path = file_of(address, "numa_node");
  TRY_ASSIGN(const auto line, root.read_line(path));
  const auto value = parse_signed(line);
  if (!value || *value < -1 || *value > 65535) {
    return make_error("read {}: \"{}\" is not a NUMA node", path, printable(line));
  }
  return static_cast<int>(*value);
}

Fact<std::string> read_local_cpus(const Root& root, std::string_view address) {
  const std::string path = file_of(address, "local_cpulist");
  // A device without local CPUs has an empty line, not an empty file.
  TRY_ASSIGN(const auto text, read_filled(root, path));
  const auto list = trim(text);
  const auto parsed = parse_cpu_list(list);
  if (!parsed) return make_error("read {}: {}", path, parsed.error().message);
  return std::string(list);
}

// Parses lines "NAME count" and "TOTAL_… n". Names differ between kernels, and one message may
// raise several, so the total counts messages; it cannot be 0 if a name is not.
Result<std::uint64_t> read_aer_total(const Root& root, std::string_view address,
                                     std::string_view name) {
  const std::string path = file_of(address, name);
  TRY_ASSIGN(const auto text, root.read(path));
  std::optional<std::uint64_t> total;
  bool raised = false;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    const auto count = words.size() == 2 ? parse_unsigned(words[1]) : make_error("");
    if (!count)
      return make_error("read {}: \"{}\" is not a name and a count", path, printable(line));
    if (words[0].starts_with("TOTAL")) {
      total = *count;
    } else {
      raised = raised || *count > 0;
    }
  }
  if (!total) return make_error("read {}: no total", path);
  if (*total == 0 && raised)
    return make_error("read {}: the total is 0 and its parts are not", path);
  return *total;
}

// Without AER all three files are missing.
Fact<AerCounts> read_aer(const Root& root, std::string_view address) {
  const std::array counts{read_aer_total(root, address, "aer_dev_fatal"),
                          read_aer_total(root, address, "aer_dev_nonfatal"),
                          read_aer_total(root, address, "aer_dev_correctable")};
  const auto is_missing = [](const auto& count) { return !count && count.error().missing; };
  if (std::ranges::all_of(counts, is_missing)) {
    return make_missing("the kernel reports no AER for this device");
  }
  for (const auto& count : counts) {
    if (!count) return make_error(count.error().message);
  }
  return AerCounts{.fatal = *counts[0], .non_fatal = *counts[1], .correctable = *counts[2]};
}

void read_config(const Root& root, PciDevice& device) {
  const auto opened = root.open(file_of(device.address, "config"), O_RDONLY | O_NONBLOCK);
  if (!opened) {
    device.responding = tl::unexpected(opened.error());
    set_config(device, Fact<unsigned>::failed(opened.error()));
    return;
  }
  const int descriptor = opened->get();
  const auto read = [descriptor](std::size_t offset, std::span<std::uint8_t> into) {
    const ssize_t got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    return got >= 0 && static_cast<std::size_t>(got) == into.size();
  };
  parse_pci_config(read, device);
}

std::string read_driver(const Root& root, std::string_view address) {
  const auto target = root.read_link(file_of(address, "driver"));
  if (!target) return {};
  return printable(target->substr(target->rfind('/') + 1));
}

// The bridges above a device, nearest last.
std::vector<std::string> read_upstream(const Root& root, std::string_view address) {
  std::vector<std::string> bridges;
  const auto place = root.resolve(fmt::format("{}/{}", kDevices, address));
  if (!place) return bridges;
  for (const auto part : split(*place, '/')) {
    if (part != address && is_pci_address(part)) bridges.emplace_back(part);
  }
  return bridges;
}

void read_link(const Root& root, PciDevice& device) {
  device.link_speed_gts = read_link_speed(root, file_of(device.address, "current_link_speed"));
  device.link_speed_max_gts = read_link_speed(root, file_of(device.address, "max_link_speed"));
  device.link_width = read_link_width(root, file_of(device.address, "current_link_width"));
  device.link_width_max = read_link_width(root, file_of(device.address, "max_link_width"));
}

PciDevice read_device(const Root& root, std::string address, PciKind kind, unsigned vendor,
                      unsigned id) {
  PciDevice device;
  device.address = std::move(address);
  device.kind = kind;
  device.vendor = vendor;
  device.device = id;
  device.driver = read_driver(root, device.address);
  device.virtual_function = root.exists(file_of(device.address, "physfn"));
  device.numa_node = read_numa_node(root, device.address);
  device.local_cpus = read_local_cpus(root, device.address);
  if (kind != PciKind::ethernet && kind != PciKind::nvme) {
    read_link(root, device);
    device.aer = read_aer(root, device.address);
    read_config(root, device);
    device.upstream = read_upstream(root, device.address);
  }
  return device;
}

// Returns none for other kinds of devices. An entry that cannot be read is an error, as it may be a
// GPU.
Result<std::optional<PciDevice>> read_entry(const Root& root, const std::string& address) {
  TRY_ASSIGN(const auto device_class, read_id(root, address, "class"));
  if (!class_may_matter(device_class)) return std::nullopt;
  TRY_ASSIGN(const auto vendor, read_id(root, address, "vendor"));
  const auto kind = kind_of(device_class, vendor);
  if (!kind) return std::nullopt;
  TRY_ASSIGN(const auto id, read_id(root, address, "device"));
  return read_device(root, address, *kind, vendor, id);
}

Result<PciDevice> read_bridge(const Root& root, const std::string& address) {
  TRY_ASSIGN(const auto vendor, read_id(root, address, "vendor"));
  TRY_ASSIGN(const auto id, read_id(root, address, "device"));
  return read_device(root, address, PciKind::bridge, vendor, id);
}

// "ue: 0\nce: 3\n"; newer drivers add "de: 0", errors in data that was not used.
Result<RasCounts> read_counts(const Root& root, const std::string& path) {
  TRY_ASSIGN(const auto text, root.read(path));
  std::optional<std::uint64_t> uncorrected;
  std::optional<std::uint64_t> corrected;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    const auto count = words.size() == 2 ? parse_unsigned(words[1]) : make_error("");
    if (!count) continue;
    if (words[0] == "ue:") uncorrected = *count;
    if (words[0] == "ce:") corrected = *count;
  }
  if (uncorrected && corrected) {
    return RasCounts{.uncorrected = *uncorrected, .corrected = *corrected};
  }
  return make_error("read {}: \"{}\" has no ue and ce", path, printable(text, 60));
}

// A GPU without RAS has no such folder; a block without counters has no file.
Fact<std::map<std::string, RasCounts>> read_ras(const Root& root, std::string_view folder) {
  constexpr std::string_view kSuffix = "_err_count";
  TRY_ASSIGN(const auto names, root.list(fmt::format("{}/ras", folder)));
  std::map<std::string, RasCounts> blocks;
  for (const auto& name : names) {
    if (!name.ends_with(kSuffix)) continue;
    const auto counts = read_counts(root, fmt::format("{}/ras/{}", folder, name));
    if (!counts) return make_error(counts.error().message);
    blocks.emplace(printable(name.substr(0, name.size() - kSuffix.size()), 32), *counts);
  }
  return blocks;
}

// "0x00001000 : 0x00001000 : R": retired, P: pending, F: failed.
Fact<AmdBadPages> read_bad_pages(const Root& root, std::string_view folder) {
  constexpr std::size_t kLargest = 1024UL * 1024;
  const auto path = fmt::format("{}/ras/gpu_vram_bad_pages", folder);
  TRY_ASSIGN(const auto text, root.read(path, kLargest));
  AmdBadPages pages;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    const auto state = words.back();
    if (words.size() != 5 || state.size() != 1) {
      return make_error("read {}: \"{}\" is not a page", path, printable(line, 60));
    }
    if (state == "R") ++pages.retired;
    if (state == "P") ++pages.pending;
    if (state == "F") ++pages.failed;
  }
  return pages;
}

// For files of amdgpu that a virtual function, or a GPU of another generation, refuses to read.
template <class T>
Result<T> if_offered(Result<T> value) {
  const auto refused = [&](int code) { return value.error().message.ends_with(errno_text(code)); };
  if (!value && std::ranges::any_of(std::array{EOPNOTSUPP, ENODATA, EINVAL}, refused)) {
    value.error().missing = true;
  }
  return value;
}

// The folder of the GPU's sensors, whose number depends on the order of drivers.
Result<std::string> sensors_of(const Root& root, std::string_view folder) {
  TRY_ASSIGN(const auto names, root.list(fmt::format("{}/hwmon", folder)));
  for (const auto& name : names) {
    if (name.starts_with("hwmon")) return fmt::format("{}/hwmon/{}", folder, name);
  }
  return make_missing("{}/hwmon has no sensors", folder);
}

// Omits sensors that do not answer, as in a GPU that sleeps.
std::vector<AmdSensor> read_temperatures(const Root& root, const std::string& sensors) {
  constexpr double kPerDegree = 1000;
  constexpr int kMaxSensors = 16;
  std::vector<AmdSensor> temperatures;
  for (int i = 1; i <= kMaxSensors; ++i) {
    const auto sensor = fmt::format("{}/temp{}", sensors, i);
    const auto label = read_text(root, fmt::format("{}_label", sensor));
    const auto now = read_scaled(root, fmt::format("{}_input", sensor), kPerDegree);
    if (!label || !now) continue;
    temperatures.push_back(
        {.name = *label,
         .now_c = *now,
         .critical_c = read_scaled(root, fmt::format("{}_crit", sensor), kPerDegree)});
  }
  return temperatures;
}

void read_sensors(const Root& root, std::string_view folder, AmdGpu& gpu) {
  constexpr double kPerWatt = 1000000;
  const auto sensors = sensors_of(root, folder);
  if (!sensors) {
    gpu.temperatures = tl::unexpected(sensors.error());
    gpu.power_w = gpu.power_cap_w = gpu.power_cap_default_w = Fact<double>::failed(sensors.error());
    return;
  }
  gpu.temperatures = read_temperatures(root, *sensors);
  gpu.power_w = read_scaled(root, fmt::format("{}/power1_input", *sensors), kPerWatt);
  if (!gpu.power_w) {
    gpu.power_w = read_scaled(root, fmt::format("{}/power1_average", *sensors), kPerWatt);
  }
  const auto watts = [&](std::string_view name) {
    return if_offered(read_scaled(root, fmt::format("{}/{}", *sensors, name), kPerWatt));
  };
  gpu.power_cap_w = watts("power1_cap");
  gpu.power_cap_default_w = watts("power1_cap_default");
}

// The facts of the amdgpu driver about the GPU at a PCI address.
AmdGpu read_amd_gpu(const Root& root, std::string_view address) {
  const auto folder = fmt::format("{}/{}", kDevices, address);
  const auto setting = [&](std::string_view name) {
    return if_offered(read_text(root, fmt::format("{}/{}", folder, name)));
  };
  AmdGpu gpu{.address = std::string(address)};
  gpu.memory_bytes = read_unsigned(root, fmt::format("{}/mem_info_vram_total", folder));
  gpu.memory_used_bytes = read_unsigned(root, fmt::format("{}/mem_info_vram_used", folder));
  gpu.ras = read_ras(root, folder);
  gpu.bad_pages = read_bad_pages(root, folder);
  gpu.vbios = read_text(root, fmt::format("{}/vbios_version", folder));
  gpu.serial = read_text(root, fmt::format("{}/unique_id", folder));
  gpu.compute_partition = setting("current_compute_partition");
  gpu.memory_partition = setting("current_memory_partition");
  gpu.performance_level = setting("power_dpm_force_performance_level");
  gpu.hive = read_text(root, fmt::format("{}/xgmi_hive_info/xgmi_hive_id", folder));
  if (const auto busy = read_unsigned(root, fmt::format("{}/gpu_busy_percent", folder))) {
    gpu.utilisation = static_cast<unsigned>(std::min<std::uint64_t>(*busy, 100));
  }
  gpu.replays = if_offered(read_unsigned(root, fmt::format("{}/pcie_replay_count", folder)));
  read_sensors(root, folder, gpu);
  return gpu;
}

Result<Pci> read_bus(const Root& root, const std::vector<std::string>& addresses) {
  Pci pci;
  std::set<std::string> bridges;
  for (const auto& address : addresses) {
    auto entry = read_entry(root, address);
    if (!entry) {
      // It may have been unplugged since the listing.
      if (!root.exists(fmt::format("{}/{}", kDevices, address))) continue;
      return tl::unexpected(entry.error());
    }
    if (!*entry) continue;
    if ((*entry)->kind == PciKind::gpu || (*entry)->kind == PciKind::hca) {
      bridges.insert((*entry)->upstream.begin(), (*entry)->upstream.end());
    }
    if ((*entry)->driver == "amdgpu") pci.amd_gpus.push_back(read_amd_gpu(root, address));
    pci.devices.push_back(*std::move(*entry));
  }
  for (const auto& address : bridges) {
    TRY_ASSIGN(auto bridge, read_bridge(root, address));
    pci.devices.push_back(std::move(bridge));
  }
  std::ranges::sort(pci.devices, {}, &PciDevice::address);
  std::ranges::sort(pci.amd_gpus, {}, &AmdGpu::address);
  return pci;
}

}  // namespace

Section<Pci> probe_pci(const Root& root) {
  const auto addresses = root.list(kDevices);
  if (!addresses) {
    return not_observed<Pci>(addresses.error().missing ? Status::absent : Status::error,
                             addresses.error().message);
  }

  auto pci = read_bus(root, *addresses);
  if (!pci) return not_observed<Pci>(pci.error().message);
  return observed(*std::move(pci));
}

}  // namespace muster
