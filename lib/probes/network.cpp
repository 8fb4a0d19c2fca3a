// SPDX-License-Identifier: Apache-2.0
// Network interfaces except the loopback, and the devices behind them.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";

struct DriverAnswer {
  bool refused = false;  // EINVAL: the driver does not know it while the interface is down
  Result<std::string> line;
};

// Reads carrier or speed, which the driver may refuse: unlike for most files, the errno matters.
DriverAnswer ask_driver(const Root& root, const std::string& path) {
  const auto file = root.open(path, O_RDONLY | O_NONBLOCK);
  if (!file) return {.line = tl::unexpected(file.error())};
  std::array<char, 256> buffer{};
  const auto got = ::read(file->get(), buffer.data(), buffer.size());
  const int failure = got < 0 ? errno : 0;
  if (failure != 0) {
    return {.refused = failure == EINVAL || failure == EOPNOTSUPP,
            .line = os_error("read", path, failure)};
  }
  const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
  return {.line = std::string(trim(text.substr(0, text.find('\n'))))};
}

Fact<bool> read_carrier(const Root& root, const std::string& folder) {
  const auto path = fmt::format("{}/carrier", folder);
  const auto answer = ask_driver(root, path);
  if (answer.refused) return false;  // the kernel refuses if the interface is down
  if (!answer.line) return make_error(answer.line.error().message);
  if (*answer.line == "1") return true;
  if (*answer.line == "0") return false;
  return make_error("read {}: expected 0 or 1, got \"{}\"", path, printable(*answer.line, 40));
}

Fact<std::uint64_t> read_speed(const Root& root, const std::string& folder) {
  const auto path = fmt::format("{}/speed", folder);
  const auto answer = ask_driver(root, path);
  // An unknown speed is -1, which older kernels print without its sign.
  if (answer.refused || (answer.line && (*answer.line == "-1" || *answer.line == "4294967295"))) {
    return make_missing("the driver does not know the speed");
  }
  if (!answer.line) return tl::unexpected(answer.line.error());
  const auto speed = parse_unsigned(*answer.line);
  if (!speed) return make_error("read {}: {}", path, speed.error().message);
  return *speed;
}

Result<unsigned> read_type(const Root& root, const std::string& folder) {
  const auto path = fmt::format("{}/type", folder);
  TRY_ASSIGN(const auto type, read_unsigned(root, path));
  if (type > std::numeric_limits<std::uint16_t>::max()) {
    return make_error("read {}: {} is not an interface type", path, type);
  }
  return static_cast<unsigned>(type);
}

// The verbs device on the same PCI function.
std::string read_hca_of(const Root& root, const std::string& folder) {
  const auto names = root.list(fmt::format("{}/device/infiniband", folder));
  return names && !names->empty() ? printable(names->front(), 64) : std::string();
}

Interface read_interface(const Root& root, const std::string& name) {
  const auto folder = fmt::format("{}/{}", kInterfaces, name);
  Interface result;
  result.name = printable(name, 64);
  result.type = required(read_type(root, folder));
  result.operstate = required(read_text(root, fmt::format("{}/operstate", folder)));
  result.carrier = read_carrier(root, folder);
  result.speed_mbps = read_speed(root, folder);
  result.mtu = required(read_unsigned(root, fmt::format("{}/mtu", folder)));
  result.carrier_down_count = read_unsigned(root, fmt::format("{}/carrier_down_count", folder));
  result.address = read_pci_address(root, fmt::format("{}/device", folder));
  result.hca = read_hca_of(root, folder);
  return result;
}

}  // namespace

Section<Network> probe_network(const Root& root) {
  const auto names = root.list(kInterfaces);
  if (!names) return not_observed<Network>(names.error().message);
  Network network;
  for (const auto& name : *names) {
    // The bonding driver keeps its own file among the interfaces.
    if (name == "lo" || name == "bonding_masters") continue;
    network.interfaces.push_back(read_interface(root, name));
  }
  return observed(std::move(network));
}

}  // namespace muster
