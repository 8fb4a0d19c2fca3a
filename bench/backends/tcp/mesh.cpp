// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/mesh.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "bench/sockets/greeting.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::tcp {
namespace {

using Endpoints = std::vector<Endpoint>;

tl::unexpected<Error> connect_error(int peer, std::string_view why) {
  return make_error("connect to rank {}: {}", peer, why);
}

// A rank greets the lower ranks, admits the higher ones, and then reads the answers of the lower
// ones: a rank need not be accepted to continue.

Result<Descriptor> greet(const Identity& self, int peer, const Endpoints& addresses,
                         Clock::time_point deadline) {
  auto socket = connect_to(addresses, deadline);
  if (!socket) return connect_error(peer, socket.error().message);
  TRY(send_greeting(socket->get(), self, peer));
  return socket;
}

// A peer with too many unknown connections closes this one: greet it again.
Result<void> hear(const Identity& self, int peer, const Endpoints& addresses,
                  Clock::time_point deadline, Descriptor& socket) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  for (;;) {
    const auto answer = receive_answer(socket.get(), self, peer, deadline);
    if (answer && answer->empty()) return {};
    if (answer) return connect_error(peer, fmt::format("it refuses this rank: {}", *answer));
    if (Clock::now() + kPause >= deadline) return connect_error(peer, answer.error().message);
    std::this_thread::sleep_for(kPause);
    TRY_ASSIGN(socket, greet(self, peer, addresses, deadline));
  }
}

// Waits until all higher ranks have come.
Result<void> admit_higher(const Identity& self, Descriptor listener, Clock::time_point deadline,
                          std::vector<Descriptor>& sockets) {
  constexpr auto kGreetingLimit = std::chrono::seconds(5);
  Doorkeeper door(std::move(listener), self, kGreetingLimit, nullptr);
  Poller poller;
  auto missing = self.ranks - self.rank - 1;
  while (missing > 0) {
    if (Clock::now() >= deadline) {
      return make_error("{} of {} ranks did not connect in time{}", missing, self.ranks,
                        door.refusals());
    }
    poller.clear();
    door.watch(poller);
    poller.wait(std::min(deadline, door.next_deadline()));
    for (auto& arrival : door.serve(poller)) {
      auto& socket = sockets[static_cast<std::size_t>(arrival.rank)];
      if (arrival.rank <= self.rank || socket.is_open()) {
        door.refuse(arrival, "this rank is not expected");
        continue;
      }
      door.admit(arrival);
      socket = std::move(arrival.socket);
      --missing;
    }
  }
  return {};
}

// "10.0.0.4 40123,fd00::4 40123".
std::string to_line(const Endpoints& addresses) {
  std::vector<std::string> words;
  for (const auto& address : addresses) words.push_back(to_text(address));
  return fmt::format("{}", fmt::join(words, ","));
}

// The addresses of each rank.
Result<std::vector<Endpoints>> share(const Exchange& exchange, const Endpoints& mine, int ranks) {
  TRY_ASSIGN(const auto gathered, exchange.gather(to_line(mine)));
  TRY_ASSIGN(const auto lines, exchange.broadcast(fmt::format("{}", fmt::join(gathered, "\n"))));
  std::vector<Endpoints> all;
  for (const auto line : split(lines, '\n')) {
    auto& one = all.emplace_back();
    for (const auto word : split(line, ',')) {
      TRY_ASSIGN(auto address, parse_endpoint(word));
      one.push_back(std::move(address));
    }
  }
  if (all.size() != static_cast<std::size_t>(ranks)) {
    return make_error("addresses of {} ranks, expected {}", all.size(), ranks);
  }
  return all;
}

// The number of ranks with the same hosts as this one; their ports differ.
int count_here(const std::vector<Endpoints>& all, int rank) {
  const auto hosts_of = [](const Endpoints& addresses) {
    std::set<std::string> hosts;
    for (const auto& address : addresses) hosts.insert(address.host);
    return hosts;
  };
  const auto mine = hosts_of(all[static_cast<std::size_t>(rank)]);
  return static_cast<int>(
      std::ranges::count_if(all, [&](const auto& one) { return hosts_of(one) == mine; }));
}

struct TcpCalls {
  Mesh& mesh;
  const Operation& operation;
  const HostMemory::Buffers& buffers;

  [[nodiscard]] Result<void> run() const { return run_operation(mesh, operation, buffers); }

  [[nodiscard]] Result<void> meet() const { return mesh.barrier(); }
};

class TcpBackend final : public HostBackend<TcpCalls> {
 public:
  TcpBackend(Mesh mesh, std::optional<std::uint64_t> room)
      : HostBackend("TCP", mesh.rank(), mesh.ranks(), room), mesh_(std::move(mesh)) {}

  [[nodiscard]] std::string library() const override { return "TCP of muster-bench"; }

  void abort() noexcept override { mesh_.shut_down(); }

 private:
  [[nodiscard]] TcpCalls calls_of(const Operation& operation,
                                  HostMemory::Buffers& buffers) override {
    return {.mesh = mesh_, .operation = operation, .buffers = buffers};
  }

  Mesh mesh_;
};

}  // namespace

Result<Mesh> Mesh::connect(const Options& options) {
  const auto& [rank, ranks, token, exchange, patience] = options;
  constexpr std::size_t kOwnDescriptors = 192;
  TRY(allow_descriptors(fmt::format("each of {} ranks", ranks),
                        static_cast<std::size_t>(ranks) + kOwnDescriptors));
  TRY_ASSIGN(auto listening, listen_anywhere());
  TRY_ASSIGN(const auto addresses, share(exchange, listening.addresses, ranks));

  const Identity self{.rank = rank, .ranks = ranks, .secret = token, .name = {}};
  const auto deadline = Clock::now() + patience;
  std::vector<Descriptor> sockets(static_cast<std::size_t>(ranks));
  const auto lower = static_cast<std::size_t>(rank);
  for (std::size_t i = 0; i < lower; ++i) {
    TRY_ASSIGN(sockets[i], greet(self, static_cast<int>(i), addresses[i], deadline));
  }
  TRY(admit_higher(self, std::move(listening.socket), deadline, sockets));
  for (std::size_t i = 0; i < lower; ++i) {
    TRY(hear(self, static_cast<int>(i), addresses[i], deadline, sockets[i]));
  }
  return Mesh(rank, count_here(addresses, rank), std::move(sockets));
}

Result<void> Mesh::exchange(int to, OutBytes out, int from, InBytes in) const {
  auto moved = transfer({.socket = sockets_[static_cast<std::size_t>(to)].get(), .bytes = out},
                        {.socket = sockets_[static_cast<std::size_t>(from)].get(), .bytes = in});
  if (moved) return moved;
  const auto whom =
      to == from ? fmt::format("rank {}", to) : fmt::format("ranks {} and {}", to, from);
  return make_error("exchange data with {}: {}", whom, moved.error().message);
}

void Mesh::shut_down() const noexcept {
  for (const auto& socket : sockets_) {
    if (socket.is_open()) (void)::shutdown(socket.get(), SHUT_RDWR);
  }
}

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  auto available = host_memory_available();  // before any rank allocates
  TRY_ASSIGN(auto mesh, Mesh::connect(options));
  if (available) *available /= static_cast<std::uint64_t>(mesh.ranks_here());
  return std::make_unique<TcpBackend>(std::move(mesh), available);
}

}  // namespace muster::bench::tcp
