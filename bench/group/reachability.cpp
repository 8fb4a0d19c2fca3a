// SPDX-License-Identifier: Apache-2.0
#include "bench/group/reachability.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bench/group/poller.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

std::vector<Descriptor> connections_to(const std::vector<Rendezvous>& addresses) {
  std::vector<Descriptor> sockets;
  for (const auto& where : addresses) {
    const auto resolved = is_loopback(where) ? Result<std::vector<Address>>() : resolve(where);
    if (!resolved || resolved->empty()) continue;
    if (auto socket = start_connecting(resolved->front())) sockets.push_back(*std::move(socket));
  }
  return sockets;
}

}  // namespace

bool answers(const std::vector<Rendezvous>& addresses, Clock::duration patience) {
  auto sockets = connections_to(addresses);
  const auto until = after(patience);
  Poller poller;
  while (!sockets.empty() && Clock::now() < until) {
    poller.clear();
    for (const auto& socket : sockets) (void)poller.add(socket.get(), true);
    poller.wait(until);
    for (std::size_t at = sockets.size(); at-- > 0;) {
      if (!poller.is_ready(at)) continue;
      if (error_of(sockets[at].get()) == 0) return true;
      sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return false;
}

}  // namespace muster::bench
