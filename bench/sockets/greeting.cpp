// SPDX-License-Identifier: Apache-2.0
#include "bench/sockets/greeting.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "bench/sockets/sockets.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kProgram = "muster-bench/";
constexpr std::array<char, 16> kMagic{"muster-bench/3"};  // with the version of the protocol

using Proof = std::array<char, 32>;

// The layout on the wire: all ranks run the same program on machines of one kind.
struct Greeting {
  std::array<char, 16> magic = kMagic;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t ranks = 0;
  std::uint32_t refused = 0;
  std::array<char, 120> text{};  // the sender's name, or why it refuses the other rank
  Proof proof{};                 // HMAC of all the above; zeros without a secret
};

std::string sha256(std::string_view first, std::string_view second = {}) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256_CTX state;
  ::SHA256_Init(&state);
  ::SHA256_Update(&state, first.data(), first.size());
  ::SHA256_Update(&state, second.data(), second.size());
  ::SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &state);
  return digest;
}

// RFC 2104. OpenSSL's HMAC() would link every algorithm that OpenSSL has, 3 MB.
std::string hmac(std::string_view secret, std::string_view message) {
  auto key = secret.size() > SHA256_CBLOCK ? sha256(secret) : std::string(secret);
  key.resize(SHA256_CBLOCK);
  const auto combined_with = [&key](char pad) {
    auto block = key;
    for (auto& each : block) each = static_cast<char>(each ^ pad);
    return block;
  };
  return sha256(combined_with(0x5c), sha256(combined_with(0x36), message));
}

// Neither direction's greeting is valid in the other, since it names both ranks.
Proof proof_of(const Greeting& greeting, std::string_view secret) {
  Proof proof{};
  if (secret.empty()) return proof;
  const auto* bytes = reinterpret_cast<const char*>(&greeting);
  std::ranges::copy(hmac(secret, {bytes, offsetof(Greeting, proof)}), proof.begin());
  return proof;
}

Greeting greeting_from(const Identity& self, int to, std::string_view text, bool refused = false) {
  Greeting greeting{.from = static_cast<std::uint32_t>(self.rank),
                    .to = static_cast<std::uint32_t>(to),
                    .ranks = static_cast<std::uint32_t>(self.ranks),
                    .refused = refused ? 1U : 0U};
  const auto shown = printable(text, greeting.text.size() - 4);
  std::ranges::copy(shown, greeting.text.begin());
  greeting.proof = proof_of(greeting, self.secret);
  return greeting;
}

std::string text_of(const Greeting& greeting) {
  const auto& text = greeting.text;
  return printable({text.begin(), std::ranges::find(text, '\0')});
}

// Why the sender is not a rank of this job; empty if it is one.
std::string objection_to(const Greeting& greeting, const Identity& self) {
  if (greeting.magic != kMagic) {
    return "it has another protocol version: run the same muster-bench everywhere";
  }
  if (greeting.ranks != static_cast<std::uint32_t>(self.ranks)) {
    return fmt::format("it is one of {} ranks, and this run has {}", greeting.ranks, self.ranks);
  }
  if (greeting.to != static_cast<std::uint32_t>(self.rank) || greeting.from >= greeting.ranks) {
    return "its greeting is malformed";
  }
  if ((greeting.proof == Proof{}) != self.secret.empty()) {
    return self.secret.empty() ? "it has a job secret, and this rank has none"
                               : "it has no job secret, and this rank has one";
  }
  const auto expected = proof_of(greeting, self.secret);
  if (::CRYPTO_memcmp(greeting.proof.data(), expected.data(), expected.size()) == 0) return {};
  return "it has another job secret: every rank needs the same --secret-file or MUSTER_JOB_SECRET";
}

// A new connection has room for a greeting; a lost one is noticed by the next read.
void send_to(int socket, const Greeting& greeting) {
  [[maybe_unused]] const auto sent = ::send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL);
}

}  // namespace

Result<std::string> random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return os_error("read", "random bytes", errno);
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

Result<void> send_greeting(int socket, const Identity& self, int to) {
  const auto greeting = greeting_from(self, to, self.name);
  if (::send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL) >= 0) return {};
  return make_error("send: {}", std::strerror(errno));
}

Result<std::string> receive_answer(int socket, const Identity& self, int from,
                                   Clock::time_point deadline) {
  Greeting answer;
  const auto bytes = std::as_writable_bytes(std::span(&answer, 1));
  // Another program that speaks first may send less than a greeting and then wait.
  const auto magic = bytes.first(sizeof answer.magic);
  TRY(transfer({}, {.socket = socket, .bytes = magic}, deadline));
  if (!std::ranges::equal(kProgram, std::span(answer.magic).first(kProgram.size()))) {
    return make_error("another program listens there");
  }
  TRY(transfer({}, {.socket = socket, .bytes = bytes.subspan(magic.size())}, deadline));
  if (answer.refused != 0) return text_of(answer);
  if (answer.from != static_cast<std::uint32_t>(from)) return make_error("another rank answers");
  return objection_to(answer, self);
}

Doorkeeper::Doorkeeper(Descriptor listener, Identity self, Clock::duration limit,
                       std::function<void(std::string_view)> log)
    : listener_(std::move(listener)), self_(std::move(self)), limit_(limit), log_(std::move(log)) {}

void Doorkeeper::watch(Poller& poller) {
  listener_slot_ = poller.add(Clock::now() >= paused_until_ ? listener_.get() : -1);
  for (auto& newcomer : newcomers_) newcomer.slot = poller.add(newcomer.socket.get());
}

Clock::time_point Doorkeeper::next_deadline() const {
  auto next = paused_until_ > Clock::now() ? paused_until_ : Clock::time_point::max();
  for (const auto& newcomer : newcomers_) next = std::min(next, newcomer.deadline);
  return next;
}

std::vector<Arrival> Doorkeeper::serve(const Poller& poller) {
  for (auto& newcomer : newcomers_) {
    if (poller.is_ready(newcomer.slot)) receive(newcomer);
    if (!newcomer.socket.is_open() || Clock::now() < newcomer.deadline) continue;
    const auto limit = std::chrono::round<std::chrono::milliseconds>(limit_);
    drop(newcomer, fmt::format("it sent no greeting within {} ms", limit.count()));
  }
  if (poller.is_ready(listener_slot_)) accept_all();
  std::vector<Arrival> arrivals;
  for (auto& newcomer : newcomers_) {
    if (newcomer.arrival) arrivals.push_back(*std::exchange(newcomer.arrival, std::nullopt));
  }
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return !newcomer.socket.is_open(); });
  return arrivals;
}

void Doorkeeper::accept_all() {
  constexpr std::size_t kRoomForStrangers = 64;
  for (;;) {
    Address from;
    Descriptor socket = accept_one(listener_.get(), from);
    if (!socket.is_open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      // Out of descriptors or memory: accept the rest later.
      accept_error_ = std::strerror(errno);
      paused_until_ = Clock::now() + std::chrono::milliseconds(50);
      return;
    }
    const auto oldest = std::ranges::find_if(
        newcomers_, [](const Newcomer& newcomer) { return newcomer.socket.is_open(); });
    const auto room = static_cast<std::size_t>(self_.ranks) + kRoomForStrangers;
    if (newcomers_.size() >= room && oldest != newcomers_.end()) {
      // The oldest is the least likely to be a rank, and a rank tries again.
      drop(*oldest, "too many connect at once");
      newcomers_.erase(oldest);
    }
    newcomers_.push_back(
        {.socket = std::move(socket), .address = to_text(from), .deadline = after(limit_)});
    receive(newcomers_.back());  // its greeting may be here already
  }
}

void Doorkeeper::receive(Newcomer& newcomer) {
  std::array<char, sizeof(Greeting)> buffer{};
  const auto missing = sizeof(Greeting) - newcomer.received.size();
  const auto count = ::recv(newcomer.socket.get(), buffer.data(), missing, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(newcomer, "it left without a greeting");
  newcomer.received.append(buffer.data(), static_cast<std::size_t>(count));
  const std::string_view begin(newcomer.received);
  if (!kProgram.starts_with(begin.substr(0, kProgram.size()))) {
    return drop(newcomer, "it is not muster-bench");
  }
  if (newcomer.received.size() == sizeof(Greeting)) examine(newcomer);
}

void Doorkeeper::examine(Newcomer& newcomer) {
  Greeting greeting;
  std::memcpy(&greeting, newcomer.received.data(), sizeof greeting);
  Arrival arrival{.rank = static_cast<int>(greeting.from),
                  .name = text_of(greeting),
                  .address = newcomer.address,
                  .socket = std::move(newcomer.socket)};
  const auto objection = objection_to(greeting, self_);
  if (objection.empty()) {
    newcomer.arrival = std::move(arrival);
  } else {
    refuse(arrival, objection);
  }
}

void Doorkeeper::drop(Newcomer& newcomer, std::string_view why) {
  newcomer.socket = Descriptor();
  record(newcomer.address, why);
}

void Doorkeeper::admit(const Arrival& arrival) const {
  send_to(arrival.socket.get(), greeting_from(self_, arrival.rank, self_.name));
}

void Doorkeeper::refuse(const Arrival& arrival, std::string_view why) {
  send_to(arrival.socket.get(), greeting_from(self_, arrival.rank, why, true));
  record(arrival.address, why);
}

void Doorkeeper::record(std::string_view address, std::string_view why) {
  constexpr std::size_t kMaxLogged = 32;
  ++refused_;
  last_refusal_ = fmt::format("from {}: {}", address, why);
  if (logged_.size() >= kMaxLogged || !logged_.insert(last_refusal_).second) return;
  if (log_) log_(fmt::format("refused a connection {}", last_refusal_));
}

std::string Doorkeeper::refusals() const {
  std::string text;
  if (!accept_error_.empty()) text = fmt::format("; accept: {}", accept_error_);
  if (refused_ == 0) return text;
  return fmt::format("{}; {} connection{} refused, the last {}", text, refused_,
                     refused_ == 1 ? " was" : "s were", last_refusal_);
}

}  // namespace muster::bench
