// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/parse/processes.hpp"

namespace muster {
namespace {

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
  const auto names = root.list("/proc", kMostProcesses);
  if (!names) return tl::unexpected(names.error());
  SocketPrograms programs;
  for (const auto& name : *names) {
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
  constexpr std::array<std::string_view, 12> kStates{"",
                                                     "ESTABLISHED",
                                                     "SYN_SENT",
                                                     "SYN_RECV",
                                                     "FIN_WAIT1",
                                                     "FIN_WAIT2",
                                                     "TIME_WAIT",
                                                     "",
                                                     "CLOSE_WAIT",
                                                     "LAST_ACK",
                                                     "LISTEN",
                                                     "CLOSING"};
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
std::optional<Socket> parse_internet(std::string_view protocol,
                                     std::string_view line,
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

}  // namespace

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

}  // namespace muster
