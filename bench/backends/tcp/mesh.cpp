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
  return make_error(fmt::format("connect to rank {}: {}", peer, why));
}

// Connects one rank to all others. It greets the lower ranks, admits the higher ones, and then
// reads the answers of the lower ones: a rank need not be accepted to go on.
class Assembly {
 public:
  Assembly(Identity self, Clock::time_point deadline)
      : self_(std::move(self)),
        deadline_(deadline),
        sockets_(static_cast<std::size_t>(self_.ranks)) {}

  [[nodiscard]] Result<void> greet(int peer, const Endpoints& addresses) {
    auto socket = connect_to(addresses, deadline_);
    if (!socket) return connect_error(peer, socket.error().message);
    TRY(send_greeting(socket->get(), self_, peer));
    socket_of(peer) = *std::move(socket);
    return {};
  }

  // A peer that was crowded by strangers closes the connection: then it is greeted again.
  [[nodiscard]] Result<void> hear(int peer, const Endpoints& addresses) {
    constexpr auto kPause = std::chrono::milliseconds(100);
    for (;;) {
      const auto answer = receive_answer(socket_of(peer).get(), self_, peer, deadline_);
      if (answer && answer->empty()) return {};
      if (answer) return connect_error(peer, fmt::format("it refuses this rank: {}", *answer));
      if (Clock::now() + kPause >= deadline_) return connect_error(peer, answer.error().message);
      std::this_thread::sleep_for(kPause);
      TRY(greet(peer, addresses));
    }
  }

  // Waits until all higher ranks have come.
  [[nodiscard]] Result<void> admit_higher(Descriptor listener) {
    constexpr auto kGreetingLimit = std::chrono::seconds(5);
    Doorkeeper door(std::move(listener), self_, kGreetingLimit, nullptr);
    Poller poller;
    auto missing = self_.ranks - self_.rank - 1;
    while (missing > 0) {
      if (Clock::now() >= deadline_) {
        return make_error(fmt::format("{} of {} ranks did not connect in time{}", missing,
                                      self_.ranks, door.refusals()));
      }
      poller.clear();
      door.watch(poller);
      poller.wait(std::min(deadline_, door.next_deadline()));
      for (auto& arrival : door.serve(poller)) {
        if (arrival.rank <= self_.rank || socket_of(arrival.rank).is_open()) {
          door.refuse(arrival, "this rank is not expected");
          continue;
        }
        door.admit(arrival);
        socket_of(arrival.rank) = std::move(arrival.socket);
        --missing;
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<Descriptor> take_sockets() { return std::move(sockets_); }

 private:
  [[nodiscard]] Descriptor& socket_of(int peer) { return sockets_[static_cast<std::size_t>(peer)]; }

  Identity self_;
  Clock::time_point deadline_;
  std::vector<Descriptor> sockets_;
};

// "10.0.0.4 40123,fd00::4 40123".
std::string to_line(const Endpoints& addresses) {
  std::vector<std::string> words;
  words.reserve(addresses.size());
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
    return make_error(fmt::format("addresses of {} ranks, expected {}", all.size(), ranks));
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
  Result<void> last{};

  [[nodiscard]] bool run() {
    last = run_operation(mesh, operation, buffers);
    return last.has_value();
  }

  [[nodiscard]] bool barrier() {
    last = mesh.barrier();
    return last.has_value();
  }

  [[nodiscard]] const Error& error() const { return last.error(); }
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

  Assembly assembly({.rank = rank, .ranks = ranks, .secret = token, .name = {}},
                    Clock::now() + patience);
  for (int peer = 0; peer < rank; ++peer) {
    TRY(assembly.greet(peer, addresses[static_cast<std::size_t>(peer)]));
  }
  TRY(assembly.admit_higher(std::move(listening.socket)));
  for (int peer = 0; peer < rank; ++peer) {
    TRY(assembly.hear(peer, addresses[static_cast<std::size_t>(peer)]));
  }
  return Mesh(rank, count_here(addresses, rank), assembly.take_sockets());
}

Result<void> Mesh::exchange(int to, OutBytes out, int from, InBytes in) const {
  auto moved = transfer({.socket = sockets_[static_cast<std::size_t>(to)].get(), .bytes = out},
                        {.socket = sockets_[static_cast<std::size_t>(from)].get(), .bytes = in});
  if (moved) return moved;
  const auto whom =
      to == from ? fmt::format("rank {}", to) : fmt::format("ranks {} and {}", to, from);
  return make_error(fmt::format("exchange data with {}: {}", whom, moved.error().message));
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
