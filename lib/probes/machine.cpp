// SPDX-License-Identifier: Apache-2.0
// The node: its name, boot, vendor and cloud instance (and its physical host if Azure reports it),
// the processors that are online, the NUMA nodes and the memory.

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <iterator>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kHostname = "/proc/sys/kernel/hostname";
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLargestInstanceData = 8UL * 1024 * 1024;  // user data may be part of it
constexpr std::size_t kLargestPool = 1024UL * 1024;  // 400 records; real pools have about ten

// Vendors leave fields empty, which the kernel shows as an empty line.
Result<std::string> read_dmi(const Root& root, std::string_view name) {
  const auto path = fmt::format("/sys/class/dmi/id/{}", name);
  auto text = read_filled(root, path);
  if (!text) return text;
  const auto value = trim(*text);
  if (value.empty()) return make_missing("{} is blank", path);
  return printable(value, kLongestName);
}

Result<std::string> read_physical_host(const Root& root) {
  return root.read("/var/lib/hyperv/.kvp_pool_3", kLargestPool).and_then(parse_physical_host);
}

// The world-readable file omits what cloud-init considers sensitive; for some clouds that is all of
// their metadata.
Result<std::string> read_instance_size(const Root& root) {
  const auto size_in = [&](std::string_view name) {
    return root.read(fmt::format("/run/cloud-init/{}", name), kLargestInstanceData)
        .and_then(parse_instance_size);
  };
  auto size = size_in("instance-data.json");
  if (size) return size;
  auto sensitive = size_in("instance-data-sensitive.json");
  return sensitive ? sensitive : size;
}

// x86 has a processor flag for it. On Arm only Xen's folder and the vendor's name show it.
bool read_hypervisor(const Root& root, const Identity& identity) {
  const auto cpuinfo = read_head(root, "/proc/cpuinfo", kCpuinfoHead);
  const auto flags = cpuinfo ? field_of(*cpuinfo, "flags") : std::nullopt;
  if (flags) {
    const auto words = split_words(*flags);
    return std::find(words.begin(), words.end(), "hypervisor") != words.end();
  }
  const auto xen = root.read_line("/sys/hypervisor/type");
  if (xen && !xen->empty()) return true;
  return identity.dmi_product.value_or("").find("Virtual Machine") != std::string::npos ||
         identity.dmi_vendor.value_or("") == "QEMU";
}

constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr std::int64_t kUnknownPackage = -1;

// Cores are numbered within their die and socket.
struct Core {
  std::int64_t package = kUnknownPackage;
  std::int64_t die = 0;
  std::int64_t core = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): a false positive
  auto operator<=>(const Core&) const = default;
};

Result<std::vector<unsigned>> read_list(const Root& root, std::string_view path) {
  return read_and_parse(root, path, parse_cpu_list);
}

Result<std::set<Core>> read_cores(const Root& root, const std::vector<unsigned>& online) {
  std::set<Core> cores;
  bool dies = true;  // older kernels, and Arm, do not report dies
  for (const unsigned cpu : online) {
    const auto folder = fmt::format("{}/cpu{}/topology", kCpus, cpu);
    TRY_ASSIGN(const auto package,
               read_signed(root, fmt::format("{}/physical_package_id", folder)));
    TRY_ASSIGN(const auto core, read_signed(root, fmt::format("{}/core_id", folder)));
    const auto die =
        dies ? read_signed(root, fmt::format("{}/die_id", folder)) : Result<std::int64_t>(0);
    if (!die && !die.error().missing) return tl::unexpected(die.error());
    dies = dies && die.has_value();
    cores.insert({.package = package, .die = die.value_or(0), .core = core});
  }
  return cores;
}

Fact<unsigned> count_sockets(const std::set<Core>& cores) {
  std::set<std::int64_t> packages;
  for (const auto& core : cores) packages.insert(core.package);
  if (packages.contains(kUnknownPackage)) {
    return make_missing("the kernel does not know the sockets (physical_package_id -1)");
  }
  return static_cast<unsigned>(packages.size());
}

Result<std::string> read_offline(const Root& root, const std::vector<unsigned>& online) {
  TRY_ASSIGN(const auto present, read_list(root, fmt::format("{}/present", kCpus)));
  std::vector<unsigned> offline;
  std::set_difference(present.begin(), present.end(), online.begin(), online.end(),
                      std::back_inserter(offline));
  return offline.empty() ? std::string() : to_cpu_list(offline);
}

Result<std::string> read_model(const Root& root) {
  TRY_ASSIGN(const auto head, read_head(root, "/proc/cpuinfo", kCpuinfoHead));
  if (trim(head).empty()) return make_error("read /proc/cpuinfo: empty");
  const auto model = field_of(head, "model name");
  if (!model) return make_missing("/proc/cpuinfo names no model");
  return printable(*model, 200);
}

Result<std::uint64_t> read_node_memory(const Root& root, unsigned id, std::string_view key) {
  TRY_ASSIGN(const auto text, root.read(fmt::format("{}/node{}/meminfo", kNodes, id)));
  return parse_meminfo(text, fmt::format("Node {} {}", id, key));
}

// A node without CPUs has an empty line here.
Result<std::string> read_node_cpus(const Root& root, std::string_view folder) {
  const auto path = fmt::format("{}/cpulist", folder);
  auto text = read_filled(root, path);
  if (!text) return text;
  const auto members = parse_cpu_list(*text);
  if (!members) return make_error("read {}: {}", path, members.error().message);
  return to_cpu_list(*members);
}

Result<std::vector<NumaNode>> read_nodes(const Root& root) {
  const auto ids = read_list(root, fmt::format("{}/online", kNodes));
  // A kernel with NUMA support always has this file.
  if (!ids && ids.error().missing && root.exists(kNodes)) return make_error(ids.error().message);
  if (!ids) return tl::unexpected(ids.error());
  std::vector<NumaNode> nodes;
  for (const unsigned id : *ids) {
    const auto folder = fmt::format("{}/node{}", kNodes, id);
    nodes.push_back({.id = id,
                     .cpus = required(read_node_cpus(root, folder)),
                     .memory_bytes = required(read_node_memory(root, id, "MemTotal")),
                     .page_cache_bytes = read_node_memory(root, id, "FilePages")});
  }
  return nodes;
}

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kHugePages = "/sys/kernel/mm/hugepages";

// "hugepages-2048kB"
std::optional<std::uint64_t> parse_page_size(std::string_view name) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  const auto size = parse_unsigned(name);
  if (!size) return std::nullopt;
  return *size;
}

Result<std::vector<HugePages>> read_huge_pages(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kHugePages));
  std::vector<HugePages> result;
  for (const auto& name : names) {
    const auto size = parse_page_size(name);
    if (!size) continue;
    result.push_back(
        {.size_kib = *size,
         .total =
             required(read_unsigned(root, fmt::format("{}/{}/nr_hugepages", kHugePages, name))),
         .free =
             required(read_unsigned(root, fmt::format("{}/{}/free_hugepages", kHugePages, name)))});
  }
  std::ranges::sort(result, {}, &HugePages::size_kib);
  return result;
}

}  // namespace

std::string read_hostname(const Root& root) {
  return printable(root.read_line(kHostname).value_or(""), kLongestName);
}

Section<Identity> probe_identity(const Root& root) {
  Identity identity;
  const auto hostname = root.read_line(kHostname);
  if (hostname) identity.hostname = printable(*hostname, kLongestName);
  identity.boot_id = required(read_text(root, "/proc/sys/kernel/random/boot_id"));
  identity.uptime_s = required(read_uptime(root));
  identity.dmi_vendor = read_dmi(root, "sys_vendor");
  identity.dmi_product = read_dmi(root, "product_name");
  identity.chassis_asset_tag = read_dmi(root, "chassis_asset_tag");
  identity.hypervisor = read_hypervisor(root, identity);
  identity.foreign_root = root.foreign();
  identity.physical_host = read_physical_host(root);
  identity.instance_size = read_instance_size(root);
  if (!root.foreign()) identity.container = read_container(root);

  const bool nothing = !hostname && !identity.boot_id && !identity.uptime_s &&
                       !identity.dmi_vendor && !identity.dmi_product;
  if (nothing) return not_observed<Identity>(hostname.error().message);
  return observed(std::move(identity));
}

Section<Cpu> probe_cpu(const Root& root) {
  Cpu cpu;
  const auto online = read_list(root, fmt::format("{}/online", kCpus));
  const auto count = [](const auto& all) { return static_cast<unsigned>(all.size()); };
  const auto cores = online.and_then([&](const auto& cpus) { return read_cores(root, cpus); });
  cpu.threads = required(online.map(count));
  cpu.offline =
      required(online.and_then([&](const auto& cpus) { return read_offline(root, cpus); }));
  cpu.cores = required(cores.map(count));
  cpu.sockets = cores ? count_sockets(*cores) : cpu.cores;
  cpu.model = read_model(root);
  cpu.numa_nodes = read_nodes(root);
  if (!online && !cpu.model && !cpu.numa_nodes) {
    return not_observed<Cpu>(online.error().message);
  }
  return observed(std::move(cpu));
}

Section<Memory> probe_memory(const Root& root) {
  Memory memory;
  const auto meminfo = root.read(kMeminfo);
  const auto value = [&](std::string_view key) -> Result<std::uint64_t> {
    if (!meminfo) return tl::unexpected(meminfo.error());
    return parse_meminfo(*meminfo, key);
  };
  memory.total_bytes = required(value("MemTotal"));
  memory.available_bytes = required(value("MemAvailable"));
  memory.swap_total_bytes = required(value("SwapTotal"));
  memory.huge_pages = read_huge_pages(root);
  if (!meminfo && !memory.huge_pages) return not_observed<Memory>(meminfo.error().message);
  return observed(std::move(memory));
}

}  // namespace muster
