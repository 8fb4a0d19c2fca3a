// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "bench/backends/host_backend.hpp"
#include "bench/collectives/definition.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::tcp {
namespace {

using Clock = std::chrono::steady_clock;
using Endpoints = std::vector<Endpoint>;

constexpr std::size_t kTokenBytes = 64;
constexpr std::size_t kMostStrangers = 64;  // that may be waited for at once
// A rank says who it is as soon as it is connected; who has not by then may be turned away for
// others.
constexpr auto kTimeToSpeak = std::chrono::seconds(1);
constexpr std::size_t kOtherDescriptors = 128;

// What the two ends of a new connection tell each other. All ranks run the same program, on
// machines of one kind.
struct Hello {
  std::array<char, 16> magic{};
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::array<char, kTokenBytes> token{};
};

constexpr auto kBetweenGreetings = std::chrono::milliseconds(100);

constexpr std::string_view kMagic = "muster-bench/1";

Hello hello_of(int from, int to, std::string_view token) {
  Hello hello{.from = static_cast<std::uint32_t>(from), .to = static_cast<std::uint32_t>(to)};
  std::ranges::copy(kMagic, hello.magic.begin());
  std::ranges::copy(token.substr(0, kTokenBytes), hello.token.begin());
  return hello;
}

// In the same time whatever differs: the token cannot be found out piece by piece.
bool same(const Hello& a, const Hello& b) {
  const auto left = std::as_bytes(std::span(&a, 1));
  const auto right = std::as_bytes(std::span(&b, 1));
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{0};
}

struct Stranger {
  Descriptor socket;
  Hello hello;
  Clock::time_point came;
  std::size_t received = 0;
};

class Assembly {
 public:
  Assembly(int rank, int ranks, std::string_view token, Deadline deadline)
      : rank_(rank),
        token_(token),
        deadline_(deadline),
        sockets_(static_cast<std::size_t>(ranks)) {}

  // Nobody has to accept for this to return: connections wait in the listener's queue.
  [[nodiscard]] Result<void> greet(int peer, const Endpoints& addresses) {
    auto socket = connect_to(addresses, deadline_);
    if (!socket) return socket_error(peer, socket.error());
    const auto hello = hello_of(rank_, peer, token_);
    const auto sent = transfer(
        {.socket = socket->get(), .bytes = std::as_bytes(std::span(&hello, 1))}, {}, &deadline_);
    if (!sent) return socket_error(peer, sent.error());
    socket_of(peer) = *std::move(socket);
    return {};
  }

  // The answer of one who was greeted. Who had no room for this rank among strangers is greeted
  // again.
  [[nodiscard]] Result<void> hear(int peer, const Endpoints& addresses) {
    for (;;) {
      auto heard = hear_once(peer);
      if (heard || Clock::now() + kBetweenGreetings >= deadline_) return heard;
      std::this_thread::sleep_for(kBetweenGreetings);
      if (!greet(peer, addresses)) return heard;
    }
  }

  // Waits until all higher ranks have come.
  [[nodiscard]] Result<void> welcome(const Descriptor& listener) {
    while (missing() != 0) {
      if (Clock::now() >= deadline_) {
        return make_error(
            fmt::format("{} of {} ranks did not connect in time", missing(), sockets_.size()));
      }
      if (auto waited = wait(listener); !waited) return waited;
      if (auto accepted = accept(listener); !accepted) return accepted;
      if (auto listened = listen_to_strangers(); !listened) return listened;
    }
    return {};
  }

  [[nodiscard]] std::vector<Descriptor> take() { return std::move(sockets_); }

 private:
  [[nodiscard]] Result<void> hear_once(int peer) {
    Hello answer;
    const auto received = transfer(
        {},
        {.socket = socket_of(peer).get(), .bytes = std::as_writable_bytes(std::span(&answer, 1))},
        &deadline_);
    if (!received) return socket_error(peer, received.error());
    if (!same(answer, hello_of(peer, rank_, token_))) {
      return socket_error(peer, {.message = "who answers is not of this job"});
    }
    return {};
  }

  [[nodiscard]] static tl::unexpected<Error> socket_error(int peer, const Error& error) {
    return make_error(fmt::format("connect to rank {}: {}", peer, error.message));
  }

  [[nodiscard]] Descriptor& socket_of(int peer) { return sockets_[static_cast<std::size_t>(peer)]; }

  [[nodiscard]] std::int64_t missing() const {
    return std::count_if(sockets_.begin() + rank_ + 1, sockets_.end(),
                         [](const Descriptor& socket) { return !socket.is_open(); });
  }

  // Whether one more may come, if need be for one who said nothing for long.
  [[nodiscard]] bool has_room() const {
    return strangers_.size() < kMostStrangers ||
           Clock::now() - strangers_.front().came >= kTimeToSpeak;
  }

  [[nodiscard]] Result<void> wait(const Descriptor& listener) const {
    // poll() leaves out negative descriptors.
    std::vector<pollfd> all{
        {.fd = has_room() ? listener.get() : -1, .events = POLLIN, .revents = 0}};
    for (const auto& stranger : strangers_) {
      all.push_back({.fd = stranger.socket.get(), .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    const auto timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 100));
    if (::poll(all.data(), all.size(), timeout) < 0 && errno != EINTR) {
      return make_error(fmt::format("poll: {}", std::strerror(errno)));
    }
    return {};
  }

  [[nodiscard]] Result<void> accept(const Descriptor& listener) {
    if (!has_room()) return {};
    Address from;
    Descriptor socket = accept_one(listener.get(), from);
    if (!socket.is_open()) {
      // A stranger may be gone again before it is accepted.
      const bool harmless = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (harmless) return {};
      return make_error(fmt::format("accept: {}", std::strerror(errno)));
    }
    if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({.socket = std::move(socket), .hello = {}, .came = Clock::now()});
    return {};
  }

  [[nodiscard]] Result<void> listen_to_strangers() {
    for (auto& stranger : strangers_) {
      if (auto heard = listen_to(stranger); !heard) return heard;
    }
    std::erase_if(strangers_, [](const Stranger& one) { return !one.socket.is_open(); });
    return {};
  }

  // Takes what has come. Who is of the job gets an answer and its place, and who is not is closed.
  [[nodiscard]] Result<void> listen_to(Stranger& stranger) {
    const auto hello = std::as_writable_bytes(std::span(&stranger.hello, 1));
    const auto rest = hello.subspan(stranger.received);
    const auto got = ::recv(stranger.socket.get(), rest.data(), rest.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got > 0) stranger.received += static_cast<std::size_t>(got);
    if (got > 0 && stranger.received < hello.size()) return {};
    const auto from = stranger.hello.from;
    const bool right = got > 0 && from > static_cast<std::uint32_t>(rank_) &&
                       from < sockets_.size() && !sockets_[from].is_open() &&
                       same(stranger.hello, hello_of(static_cast<int>(from), rank_, token_));
    if (!right) {
      stranger.socket = Descriptor{};
      return {};
    }
    const auto answer = hello_of(rank_, static_cast<int>(from), token_);
    const auto sent =
        transfer({.socket = stranger.socket.get(), .bytes = std::as_bytes(std::span(&answer, 1))},
                 {}, &deadline_);
    if (!sent) return socket_error(static_cast<int>(from), sent.error());
    sockets_[from] = std::move(stranger.socket);
    stranger.socket = Descriptor{};
    return {};
  }

  int rank_;
  std::string_view token_;
  Deadline deadline_;
  std::vector<Descriptor> sockets_;
  std::vector<Stranger> strangers_;
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
  TRY_ASSIGN(const auto told, exchange.broadcast(fmt::format("{}", fmt::join(gathered, "\n"))));
  std::vector<Endpoints> all;
  for (const auto line : split(told, '\n')) {
    auto& one = all.emplace_back();
    for (const auto word : split(line, ',')) {
      TRY_ASSIGN(auto address, parse_endpoint(word));
      one.push_back(std::move(address));
    }
  }
  if (all.size() != static_cast<std::size_t>(ranks)) {
    return make_error(fmt::format("{} ranks told their addresses, expected {}", all.size(), ranks));
  }
  return all;
}

// Those whose addresses are the same: each port is another.
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
  HostJob job;
  Result<void> (*collective)(HostAlgorithms& peers, const HostJob& job);
  Result<void> last{};

  [[nodiscard]] bool run() {
    last = collective(mesh, job);
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
    return {.mesh = mesh_,
            .job = job_of(operation, buffers),
            .collective = definition_of(operation.collective).tcp};
  }

  Mesh mesh_;
};

}  // namespace

Result<Mesh> Mesh::connect(const Options& options) {
  const auto& [rank, ranks, token, exchange, patience] = options;
  // A connection to each other rank, and what else there is.
  const auto wanted = static_cast<std::size_t>(ranks) + kMostStrangers + kOtherDescriptors;
  TRY(allow_descriptors(fmt::format("each of {} ranks", ranks), wanted));
  TRY_ASSIGN(const auto listening, listen_anywhere());
  TRY_ASSIGN(const auto addresses, share(exchange, listening.addresses, ranks));

  Assembly assembly(rank, ranks, token, Clock::now() + patience);
  for (int peer = 0; peer < rank; ++peer) {
    TRY(assembly.greet(peer, addresses[static_cast<std::size_t>(peer)]));
  }
  if (auto all = assembly.welcome(listening.socket); !all) return tl::unexpected(all.error());
  for (int peer = 0; peer < rank; ++peer) {
    TRY(assembly.hear(peer, addresses[static_cast<std::size_t>(peer)]));
  }
  return Mesh(rank, count_here(addresses, rank), assembly.take());
}

Result<void> Mesh::exchange(int to, ConstBytes out, int from, Bytes in) const {
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
  auto available = host_memory_available();  // all have asked when they are connected
  TRY_ASSIGN(auto mesh, Mesh::connect(options));
  if (available) *available /= static_cast<std::uint64_t>(mesh.ranks_here());
  return std::make_unique<TcpBackend>(std::move(mesh), available);
}

}  // namespace muster::bench::tcp
