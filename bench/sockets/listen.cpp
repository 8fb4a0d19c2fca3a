// SPDX-License-Identifier: Apache-2.0
// A listener whose addresses the ranks learn some other way, and those addresses.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

// Bridges of containers and virtual machines have the same addresses on every node.
bool is_bridge(std::string_view interface) {
  constexpr std::array<std::string_view, 6> kNames{"docker", "br-", "virbr", "veth", "cni", "lxc"};
  return std::ranges::any_of(kNames, [&](auto name) { return interface.starts_with(name); });
}

struct Found {
  int order = 0;  // what others are most likely to reach comes first
  std::string host;
};

Result<Found> describe(const ifaddrs& each) {
  constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
  if (each.ifa_addr == nullptr || (each.ifa_flags & kUp) != kUp) return make_missing("down");
  const auto family = each.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return make_missing("no address of IP");
  Address address;
  address.length =
      static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  std::memcpy(&address.storage, each.ifa_addr, address.length);
  auto host = to_text(address);
  if (host.starts_with("fe80")) return make_missing("valid on one link only");
  if ((each.ifa_flags & IFF_LOOPBACK) != 0) return Found{3, host};
  if (is_bridge(each.ifa_name)) return Found{2, host};
  return Found{family == AF_INET ? 0 : 1, host};
}

}  // namespace

Result<Listener> listen_anywhere() {
  auto socket = listen_on({.host = "any address", .port = 0});
  if (!socket) return tl::unexpected(socket.error());
  const auto port = port_of(*socket);
  if (!port) return tl::unexpected(port.error());

  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return make_error(fmt::format("list interfaces: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<Found> found;
  for (const auto* each = list; each != nullptr; each = each->ifa_next) {
    if (auto described = describe(*each)) found.push_back(*std::move(described));
  }
  std::ranges::stable_sort(found, {}, &Found::order);
  Listener result{.socket = *std::move(socket)};
  for (auto& each : found)
    result.addresses.push_back({.host = std::move(each.host), .port = *port});
  if (result.addresses.empty()) return make_error("no network interface has an address");
  return result;
}

}  // namespace muster::bench
