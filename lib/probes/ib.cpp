// SPDX-License-Identifier: Apache-2.0
// InfiniBand from sysfs: every RDMA device, its ports, addresses, keys and counters. Each file is
// read once: on a virtual function every read of a counter may cost a firmware command and a line
// in the kernel log.
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kClass = "/sys/class/infiniband";
constexpr std::string_view kUmad = "/sys/class/infiniband_mad/abi_version";

// A device has 128 slots for partition keys, and checks use the first two. Reading all would cost a
// thousand reads on a node with eight devices.
constexpr unsigned kPkeysRead = 8;

// In a guest a virtual function has no `physfn` link, but its own PCI device id. From the kernel's
// tables of mlx4_core and mlx5_core, vendor 15b3.
constexpr std::array<std::uint64_t, 10> kVirtualFunctionIds{
    0x1002,  // ConnectX-2
    0x1004,  // ConnectX-3
    0x1012,  // Connect-IB
    0x1014,  // ConnectX-4
    0x1016,  // ConnectX-4 Lx: accelerated networking
    0x1018,  // ConnectX-5
    0x101a,  // ConnectX-5 Ex
    0x101c,  // ConnectX-6
    0x101e,  // ConnectX-6 Dx, 7 and 8
    0xa2d3,  // BlueField
};

bool says(const std::string& message, int error) {
  return message.find(errno_text(error)) != std::string::npos;
}

// Kernels report a refused port register with an error, older ones with a text.
bool refused(const std::string& message) {
  return says(message, EINVAL) || says(message, EOPNOTSUPP) ||
         message.find("N/A (no PMA)") != std::string::npos;
}

Fact<std::uint64_t> read_counter(const Root& root, const std::string& path, bool virtual_function) {
  Result<std::uint64_t> value = read_and_parse(root, path, parse_unsigned);
  // The error counters belong to the physical port, and so to the host.
  if (!value && virtual_function && refused(value.error().message)) {
    return make_missing("refused to a virtual function: {}", value.error().message);
  }
  return value;
}

IbCounters read_counters(const Root& root, const std::string& folder, bool virtual_function) {
  TRY_ASSIGN(const auto names, root.list(folder));
  ByName<Fact<std::uint64_t>> counters;
  for (const std::string& name : names) {
    if (name == "lifespan") continue;  // a setting
    counters.emplace(printable(name, 100),
                     read_counter(root, fmt::format("{}/{}", folder, name), virtual_function));
  }
  return counters;
}

Fact<std::vector<unsigned>> read_pkeys(const Root& root, const std::string& port) {
  std::vector<unsigned> keys;
  for (unsigned index = 0; index < kPkeysRead; ++index) {
    const auto key = read_and_parse(root, fmt::format("{}/pkeys/{}", port, index), parse_pkey);
    // A smaller table ends here, but every table has the first two keys.
    if (!key && key.error().missing && index > 1) break;
    if (!key) return tl::unexpected(key.error());
    keys.push_back(*key);
  }
  while (!keys.empty() && keys.back() == 0) keys.pop_back();
  return keys;
}

void read_rate(const Root& root, const std::string& folder, IbPort& port) {
  const auto rate = read_and_parse(root, fmt::format("{}/rate", folder), parse_link_rate);
  port.rate_gbps = rate.map(&LinkRate::gbps);
  port.width = rate.map(&LinkRate::lanes);
  port.speed = rate.map(&LinkRate::speed);
  if (rate && rate->speed.empty()) port.speed = make_missing("the kernel names no lane speed");
}

IbPort read_port(const Root& root, const std::string& folder, bool virtual_function) {
  IbPort port;
  // Empty, neither InfiniBand nor Ethernet, if it cannot be read.
  port.link_layer = read_text(root, fmt::format("{}/link_layer", folder)).value_or("");
  port.state = read_and_parse(root, fmt::format("{}/state", folder), parse_numbered_state);
  port.physical_state =
      read_and_parse(root, fmt::format("{}/phys_state", folder), parse_numbered_state);
  read_rate(root, folder, port);
  port.lid = read_and_parse(root, fmt::format("{}/lid", folder), parse_lid);
  port.sm_lid = read_and_parse(root, fmt::format("{}/sm_lid", folder), parse_lid);
  port.pkeys = read_pkeys(root, folder);
  port.gid0 = read_and_parse(root, fmt::format("{}/gids/0", folder), parse_gid);
  port.counters = read_counters(root, fmt::format("{}/counters", folder), virtual_function);
  port.hw_counters = read_counters(root, fmt::format("{}/hw_counters", folder), virtual_function);
  return port;
}

Fact<std::vector<IbPort>> read_ports(const Root& root, const std::string& device,
                                     bool virtual_function) {
  const std::string folder = fmt::format("{}/ports", device);
  TRY_ASSIGN(const auto names, root.list(folder));
  std::vector<IbPort> ports;
  for (const std::string& name : names) {
    const auto number = parse_unsigned(name);
    if (!number || *number > 255) {
      return make_error("list {}: \"{}\" is not a port", folder, printable(name, 60));
    }
    IbPort port = read_port(root, fmt::format("{}/{}", folder, name), virtual_function);
    port.number = static_cast<unsigned>(*number);
    ports.push_back(std::move(port));
  }
  std::ranges::sort(ports, {}, &IbPort::number);
  return ports;
}

Fact<std::string> read_address(const Root& root, const std::string& device) {
  TRY_ASSIGN(const auto link, root.read_link(fmt::format("{}/device", device)));
  const std::string last = link.substr(link.rfind('/') + 1);
  if (is_pci_address(last)) return last;
  return make_missing("not on the PCI bus: {}/device leads to {}", device, printable(link, 100));
}

bool is_virtual_function(const Root& root, const std::string& device) {
  if (root.exists(fmt::format("{}/device/physfn", device))) return true;
  const auto vendor = read_and_parse(root, fmt::format("{}/device/vendor", device), parse_hex);
  const auto id = read_and_parse(root, fmt::format("{}/device/device", device), parse_hex);
  return vendor && id && *vendor == 0x15b3 && std::ranges::count(kVirtualFunctionIds, *id) > 0;
}

// The interface of a port; with partitions (ib0, ib0.8015) the shortest name.
std::string interface_of(const Root& root, const Hca& hca, const IbPort& port) {
  std::string found;
  if (!hca.netdevs || !hca.ports) return found;
  for (const auto& name : *hca.netdevs) {
    const auto number =
        read_and_parse(root, fmt::format("/sys/class/net/{}/dev_port", name), parse_unsigned);
    const bool of_port = number ? *number + 1 == port.number : hca.ports->size() == 1;
    if (of_port && (found.empty() || name.size() < found.size())) found = name;
  }
  return found;
}

// Skips virtual functions, which refuse each query with a line in the kernel log.
void add_link_errors(const Root& root, Hca& hca) {
  if (root.foreign() || hca.virtual_function || !hca.ports) return;
  for (auto& port : *hca.ports) {
    const auto name = interface_of(root, hca, port);
    if (!name.empty()) port.link_errors = read_link_errors(name);
  }
}

Hca read_hca(const Root& root, const std::string& name) {
  const std::string device = fmt::format("{}/{}", kClass, name);
  Hca hca;
  hca.name = printable(name, 64);
  hca.address = read_address(root, device);
  hca.node_guid = read_and_parse(root, fmt::format("{}/node_guid", device), parse_guid);
  hca.firmware = read_text(root, fmt::format("{}/fw_ver", device));
  hca.type = read_text(root, fmt::format("{}/hca_type", device));
  hca.board = read_text(root, fmt::format("{}/board_id", device));
  hca.virtual_function = is_virtual_function(root, device);
  hca.netdevs = Fact<std::vector<std::string>>(root.list(fmt::format("{}/device/net", device)));
  hca.ports = read_ports(root, device, hca.virtual_function);
  return hca;
}

constexpr std::size_t kMaxStatistics = 65536;

// Queries the driver of an interface; a buffer begins with the command.
class StatisticsDriver {
 public:
  explicit StatisticsDriver(const std::string& name)
      : name_(name), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    name.copy(static_cast<char*>(request_.ifr_name), IFNAMSIZ - 1);
  }

  [[nodiscard]] Result<void> ask(std::vector<std::uint32_t>& buffer) {
    request_.ifr_data = reinterpret_cast<char*>(buffer.data());  // NOLINT: the kernel's interface
    if (socket_.get() >= 0 && ::ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0) return {};
    return make_error("ask {} for its statistics: {}", name_, errno_text(errno));
  }

 private:
  std::string name_;
  Descriptor socket_;
  ifreq request_{};
};

// The number of statistics: the length of a set follows its mask.
Result<std::uint32_t> count_of(StatisticsDriver& interface) {
  std::vector<std::uint32_t> buffer(sizeof(ethtool_sset_info) / sizeof(std::uint32_t) + 1);
  const std::uint64_t mask = std::uint64_t{1} << ETH_SS_STATS;
  buffer[0] = ETHTOOL_GSSET_INFO;
  std::memcpy(&buffer[2], &mask, sizeof mask);
  TRY(interface.ask(buffer));
  std::uint64_t answered = 0;
  std::memcpy(&answered, &buffer[2], sizeof answered);
  return answered == mask ? buffer.back() : 0;
}

}  // namespace

Section<Infiniband> probe_infiniband(const Root& root, bool link_errors) {
  const auto names = root.list(kClass);
  if (!names && names.error().missing) {
    return not_observed<Infiniband>(
        Status::absent, fmt::format("no RDMA core is loaded: {} does not exist", kClass));
  }
  if (!names) return not_observed<Infiniband>(names.error().message);
  Infiniband facts;
  for (const std::string& name : *names) {
    facts.hcas.push_back(read_hca(root, name));
    if (link_errors) add_link_errors(root, facts.hcas.back());
  }
  facts.umad = Fact<std::string>(root.read_line(kUmad));
  // By address, as Azure's images number them; devices that are not on the bus come last.
  std::ranges::sort(facts.hcas, {}, [](const Hca& hca) {
    return std::tuple(!hca.address.known(), hca.address.value_or(""), hca.name);
  });
  return observed(std::move(facts));
}

std::vector<std::string> split_names(std::string_view block) {
  std::vector<std::string> names;
  for (; block.size() >= ETH_GSTRING_LEN; block.remove_prefix(ETH_GSTRING_LEN)) {
    const auto field = block.substr(0, ETH_GSTRING_LEN);
    names.push_back(printable(trim(field.substr(0, field.find('\0'))), ETH_GSTRING_LEN));
  }
  return names;
}

Result<std::map<std::string, std::uint64_t>> read_statistics(const std::string& interface) {
  StatisticsDriver asked(interface);
  TRY_ASSIGN(const auto count, count_of(asked));
  if (count == 0 || count > kMaxStatistics) {
    return make_error("{} has {} statistics", interface, count);
  }
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  std::vector<std::uint32_t> names(sizeof(ethtool_gstrings) / kWord +
                                   count * ETH_GSTRING_LEN / kWord);
  names[0] = ETHTOOL_GSTRINGS;
  names[1] = ETH_SS_STATS;
  names[2] = count;
  std::vector<std::uint32_t> values(sizeof(ethtool_stats) / kWord + 2 * std::size_t{count});
  values[0] = ETHTOOL_GSTATS;
  values[1] = count;
  for (auto* buffer : {&names, &values}) {
    TRY(asked.ask(*buffer));
  }
  std::string block(count * ETH_GSTRING_LEN, '\0');
  std::memcpy(block.data(), names.data() + sizeof(ethtool_gstrings) / kWord, block.size());
  std::map<std::string, std::uint64_t> statistics;
  std::size_t at = sizeof(ethtool_stats) / kWord;
  for (const auto& name : split_names(block)) {
    std::uint64_t value = 0;
    std::memcpy(&value, &values[at], sizeof value);
    statistics.emplace(name, value);
    at += 2;
  }
  return statistics;
}

std::map<std::string, std::uint64_t> read_link_errors(const std::string& interface) {
  std::map<std::string, std::uint64_t> errors;
  const auto statistics = read_statistics(interface);
  if (!statistics) return errors;
  for (const std::string_view name : {"rx_corrected_bits_phy", "rx_pcs_symbol_err_phy"}) {
    const auto found = statistics->find(std::string(name));
    if (found != statistics->end()) errors.insert(*found);
  }
  return errors;
}

}  // namespace muster
