// SPDX-License-Identifier: Apache-2.0
// Network interfaces but the loopback, and the devices behind them; where it is asked for, the open
// sockets and who has them.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/procfs.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";

struct Answer {
  bool refused = false;  // the driver answers EINVAL: it cannot tell while the interface is down
  Result<std::string> line;
};

// carrier and speed are asked of the driver, which may refuse: other than for most files, the cause
// of the failure matters.
Answer ask_driver(const Root& root, const std::string& path) {
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
  if (answer.refused) return false;  // the kernel refuses exactly when the interface is not up
  if (!answer.line) return Fact<bool>::unreadable(answer.line.error().message);
  if (*answer.line == "1") return true;
  if (*answer.line == "0") return false;
  return Fact<bool>::unreadable(
      fmt::format("read {}: expected 0 or 1, got \"{}\"", path, printable(*answer.line, 40)));
}

Fact<std::uint64_t> read_speed(const Root& root, const std::string& folder) {
  const auto path = fmt::format("{}/speed", folder);
  const auto answer = ask_driver(root, path);
  if (answer.refused || (answer.line && *answer.line == "-1")) {
    return Fact<std::uint64_t>::absent("the driver does not know the speed");
  }
  if (!answer.line) return Result<std::uint64_t>(tl::unexpected(answer.line.error()));
  const auto speed = parse_unsigned(*answer.line);
  if (!speed) {
    return Fact<std::uint64_t>::unreadable(fmt::format("read {}: {}", path, speed.error().message));
  }
  // Older kernels print the unknown speed (-1) without its sign.
  if (*speed == std::numeric_limits<std::uint32_t>::max()) {
    return Fact<std::uint64_t>::absent("the driver does not know the speed");
  }
  return *speed;
}

Result<unsigned> read_type(const Root& root, const std::string& folder) {
  const auto path = fmt::format("{}/type", folder);
  TRY_ASSIGN(const auto type, read_unsigned(root, path));
  if (type > std::numeric_limits<std::uint16_t>::max()) {
    return make_error(fmt::format("read {}: {} is no type of interface", path, type));
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

constexpr std::size_t kMostOfSockets = 32UL * 1024 * 1024;  // some 200,000 connections

// Names of processes by the inode of a socket, from the links in proc/<pid>/fd.
using SocketPrograms = std::map<std::uint64_t, std::vector<std::string>>;

// "socket:[12345]".
std::optional<std::uint64_t> inode_of(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!link.starts_with(kPrefix) || !link.ends_with(']')) return std::nullopt;
  const auto inode = parse_unsigned(link.substr(kPrefix.size(), link.size() - kPrefix.size() - 1));
  return inode ? std::optional(*inode) : std::nullopt;
}

Result<void> add_process(const Root& root, const std::string& pid, SocketPrograms& programs) {
  const auto folder = fmt::format("/proc/{}", pid);
  const auto files = root.list(fmt::format("{}/fd", folder));
  if (!files && files.error().missing) return {};  // it has ended meanwhile
  if (!files) return tl::unexpected(files.error());
  std::string name;
  for (const auto& file : *files) {
    const auto link = root.read_link(fmt::format("{}/fd/{}", folder, file));
    const auto inode = link ? inode_of(*link) : std::nullopt;
    if (!inode) continue;
    if (name.empty()) name = printable(root.read_line(fmt::format("{}/comm", folder)).value_or(""));
    auto& names = programs[*inode];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return {};
}

// A process whose files may not be seen is an error: only root sees those of all.
Result<SocketPrograms> read_socket_programs(const Root& root) {
  TRY_ASSIGN(const auto names, root.list("/proc", kMostProcesses));
  SocketPrograms programs;
  for (const auto& name : names) {
    if (!parse_unsigned(name)) continue;
    if (auto added = add_process(root, name, programs); !added)
      return tl::unexpected(added.error());
  }
  return programs;
}

// "0100007F:0016": words of 32 bits, each in the machine's order.
std::optional<std::string> address_of(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i) {
    const auto word = parse_hex(text.substr(8 * i, 8));
    if (!word) return std::nullopt;
    words.at(i) = static_cast<std::uint32_t>(*word);
  }
  const auto port = parse_hex(text.substr(colon + 1));
  std::array<char, INET6_ADDRSTRLEN> name{};
  const int family = colon == 8 ? AF_INET : AF_INET6;
  if (!port || inet_ntop(family, words.data(), name.data(), name.size()) == nullptr) {
    return std::nullopt;
  }
  return fmt::format("{}:{}", name.data(), *port);
}

std::string state_of(std::string_view protocol, std::uint64_t code) {
  constexpr std::array<std::string_view, 12> kStates{
      "", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
      "", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING"};
  if (protocol.starts_with("udp") && code != 1) return {};
  return code < kStates.size() ? std::string(kStates.at(code)) : std::string();
}

// Which processes have the socket of an inode open.
class Owners {
 public:
  explicit Owners(const Root& root) : programs_(read_socket_programs(root)) {}

  [[nodiscard]] Fact<std::vector<std::string>> of(std::string_view inode) const {
    using Names = Fact<std::vector<std::string>>;
    const auto number = parse_unsigned(inode);
    if (!programs_) return Names::failed(programs_.error());
    if (!number) return Names::unreadable("the socket has no inode");
    const auto found = programs_->find(*number);
    return found == programs_->end() ? std::vector<std::string>() : found->second;
  }

 private:
  Result<SocketPrograms> programs_;
};

// "   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 4711 …"
std::optional<Socket> parse_internet(std::string_view protocol, std::string_view line,
                                     const Owners& owners) {
  const auto fields = split_words(line);
  if (fields.size() < 10) return std::nullopt;
  const auto local = address_of(fields[1]);
  const auto remote = address_of(fields[2]);
  const auto state = parse_hex(fields[3]);
  const auto user = parse_unsigned(fields[7]);
  if (!local || !remote || !state || !user) return std::nullopt;
  return Socket{.protocol = std::string(protocol),
                .type = {},
                .state = state_of(protocol, *state),
                .local = *local,
                .remote = *remote,
                .user = *user,
                .programs = owners.of(fields[9])};
}

std::string unix_type(std::string_view code) {
  if (code == "0001") return "STREAM";
  if (code == "0002") return "DGRAM";
  return code == "0005" ? "SEQPACKET" : std::string();
}

// The states as netstat names them; of those that only wait for connections the flags tell.
std::string unix_state(std::uint64_t flags, std::string_view code) {
  constexpr std::uint64_t kAccepts = 0x10000;
  if ((flags & kAccepts) != 0) return "LISTENING";
  if (code == "02") return "CONNECTING";
  if (code == "03") return "CONNECTED";
  return code == "04" ? "DISCONNECTING" : std::string();
}

// "0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/munge/munge.socket.2"
std::optional<Socket> parse_unix(std::string_view line, const Owners& owners) {
  constexpr std::size_t kLongestPath = 120;
  const auto fields = split_words(line);
  if (fields.size() < 7) return std::nullopt;
  const auto flags = parse_hex(fields[3]);
  if (!flags) return std::nullopt;
  std::string path;
  if (fields.size() > 7) {
    path = printable(trim(line.substr(static_cast<std::size_t>(fields[7].data() - line.data()))),
                     kLongestPath);
  }
  return Socket{.protocol = "unix",
                .type = unix_type(fields[4]),
                .state = unix_state(*flags, fields[5]),
                .local = std::move(path),
                .remote = {},
                .user = Fact<std::uint64_t>::absent("the kernel does not list it for unix"),
                .programs = owners.of(fields[6])};
}

// From proc/net/{tcp,tcp6,udp,udp6,unix}; a kernel without IPv6 has no files for it.
Fact<std::vector<Socket>> read_sockets(const Root& root) {
  using Sockets = Fact<std::vector<Socket>>;
  std::vector<Socket> sockets;
  const Owners owners(root);
  for (const std::string_view protocol : {"tcp", "tcp6", "udp", "udp6", "unix"}) {
    const auto path = fmt::format("/proc/net/{}", protocol);
    const auto text = root.read(path, kMostOfSockets);
    const bool optional = protocol.ends_with('6') || protocol == "unix";
    if (!text && text.error().missing && optional) continue;
    if (!text) return Sockets::failed(text.error());
    bool heading = true;
    for (const auto line : split_lines(*text)) {
      if (std::exchange(heading, false) || trim(line).empty()) continue;
      auto socket =
          protocol == "unix" ? parse_unix(line, owners) : parse_internet(protocol, line, owners);
      if (!socket) {
        return Sockets::unreadable(
            fmt::format("read {}: not a socket: \"{}\"", path, printable(line, 80)));
      }
      sockets.push_back(*std::move(socket));
    }
  }
  return sockets;
}

}  // namespace

Section<Network> probe_network(const Root& root, bool sockets) {
  const auto names = root.list(kInterfaces);
  if (!names) return not_observed<Network>(names.error().message);
  Network network;
  for (const auto& name : *names) {
    // The bonding driver keeps a file of its own among the interfaces.
    if (name == "lo" || name == "bonding_masters") continue;
    network.interfaces.push_back(read_interface(root, name));
  }
  if (sockets) network.sockets = read_sockets(root);
  return observed(std::move(network));
}

}  // namespace muster
