// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kLargestTable = 32UL * 1024 * 1024;  // some 200,000 connections

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  std::uint32_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number, 16);
  if (failure != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// "0100007F:0016": words of 32 bits, each in the machine's order.
std::optional<std::string> address_of(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i) {
    const auto word = parse_hex(text.substr(8 * i, 8));
    if (!word) return std::nullopt;
    words.at(i) = *word;
  }
  const auto port = parse_hex(text.substr(colon + 1));
  std::array<char, INET6_ADDRSTRLEN> name{};
  const int family = colon == 8 ? AF_INET : AF_INET6;
  if (!port || inet_ntop(family, words.data(), name.data(), name.size()) == nullptr) {
    return std::nullopt;
  }
  return fmt::format("{}:{}", name.data(), *port);
}

std::string state_of(std::string_view protocol, std::uint32_t code) {
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

// "   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 …"
std::optional<Socket> parse_socket(std::string_view protocol, std::string_view line) {
  std::vector<std::string_view> fields;
  for (const auto field : split(line, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  if (fields.size() < 8) return std::nullopt;
  const auto local = address_of(fields[1]);
  const auto remote = address_of(fields[2]);
  const auto state = parse_hex(fields[3]);
  const auto user = parse_unsigned(fields[7]);
  if (!local || !remote || !state || !user) return std::nullopt;
  return Socket{.protocol = std::string(protocol),
                .state = state_of(protocol, *state),
                .local = *local,
                .remote = *remote,
                .user = *user};
}

}  // namespace

Fact<std::vector<Socket>> read_sockets(const Root& root) {
  using Sockets = Fact<std::vector<Socket>>;
  std::vector<Socket> sockets;
  for (const std::string_view protocol : {"tcp", "tcp6", "udp", "udp6"}) {
    const auto path = fmt::format("/proc/net/{}", protocol);
    const auto text = root.read(path, kLargestTable);
    if (!text && text.error().missing && protocol.ends_with('6')) continue;
    if (!text) return Sockets::failed(text.error());
    bool heading = true;
    for (const auto line : split_lines(*text)) {
      if (std::exchange(heading, false) || trim(line).empty()) continue;
      auto socket = parse_socket(protocol, line);
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
