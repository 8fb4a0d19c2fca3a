// SPDX-License-Identifier: Apache-2.0
#include "bench/group/listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kMostNotes = 32;
constexpr std::size_t kRoomForStrangers = 64;

}  // namespace

void RankListener::watch(Poller& poller) {
  const bool open = Clock::now() >= closed_until_;
  listener_slot_ = poller.add(open ? listener_.get() : -1);
  for (auto& newcomer : newcomers_) {
    newcomer.slot = poller.add(newcomer.socket.descriptor(), newcomer.socket.is_sending());
  }
}

Clock::time_point RankListener::next_deadline() const {
  auto next = closed_until_ > Clock::now() ? closed_until_ : Clock::time_point::max();
  for (const auto& newcomer : newcomers_) next = std::min(next, newcomer.deadline);
  return next;
}

std::vector<Arrival> RankListener::serve(const Poller& poller) {
  const auto now = Clock::now();
  for (auto& newcomer : newcomers_) {
    if (poller.is_ready(newcomer.slot)) hear(newcomer);
    if (newcomer.state == Newcomer::State::greeting && now >= newcomer.deadline) {
      refuse(
          newcomer,
          fmt::format("it did not say who it is within {} ms",
                      std::chrono::round<std::chrono::milliseconds>(options_.hello_limit).count()),
          false);
    }
  }
  if (poller.is_ready(listener_slot_)) accept_all();
  return collect();
}

void RankListener::accept_all() {
  const auto most = static_cast<std::size_t>(options_.world) + kRoomForStrangers;
  for (;;) {
    Address from;
    Descriptor socket = accept_one(listener_.get(), from);
    if (!socket.is_open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptors or memory left: what waits is taken in later.
      if (errno == EAGAIN) return;
      why_closed_ = std::strerror(errno);
      closed_until_ = Clock::now() + std::chrono::milliseconds(50);
      return;
    }
    notice_loss(socket.get());
    if (newcomers_.size() >= most) {
      // Who has waited longest is the least likely to be a rank, and a rank comes again.
      refuse(newcomers_.front(), "too many connect at once", false);
      newcomers_.erase(newcomers_.begin());
    }
    newcomers_.push_back({.socket = MessageSocket(std::move(socket)),
                          .address = to_text(from),
                          .deadline = after(options_.hello_limit)});
    // Its hello may be here already.
    hear(newcomers_.back());
  }
}

void RankListener::hear(Newcomer& newcomer) {
  newcomer.socket.flush();
  const bool open = newcomer.socket.receive(kMaxGreeting);
  while (newcomer.state == Newcomer::State::greeting) {
    const auto message = newcomer.socket.next(kMaxGreeting);
    if (!message) break;
    take(newcomer, *message);
  }
  if (newcomer.state != Newcomer::State::greeting) return;
  if (newcomer.socket.is_bad()) {
    refuse(newcomer, "it is no muster-bench", false);
  } else if (!open && !newcomer.hello) {
    refuse(newcomer, "it left without saying who it is", false);
  } else if (!open) {
    // A rank that tries several addresses keeps one connection of those.
    newcomer.state = Newcomer::State::gone;
  }
}

void RankListener::take(Newcomer& newcomer, const Message& message) {
  if (!newcomer.hello) return challenge(newcomer, message);
  const auto wanted = prove(Side::member, options_.secret, *newcomer.hello, newcomer.nonce);
  const bool proved = options_.secret.empty() || !wanted.empty();
  if (message.kind != Kind::proof || !proved || !same_bytes(message.payload, wanted)) {
    return refuse(newcomer, "its job secret is another one", true);
  }
  newcomer.state = Newcomer::State::arrived;
}

void RankListener::challenge(Newcomer& newcomer, const Message& message) {
  if (message.kind != Kind::hello) return refuse(newcomer, "it is no muster-bench", false);
  auto hello = read_hello(message.payload);
  if (!hello) return refuse(newcomer, hello.error().message, true);
  if (hello->world != options_.world) {
    return refuse(
        newcomer,
        fmt::format("it is one of {} ranks, and this run has {}", hello->world, options_.world),
        true);
  }
  if (hello->has_secret == options_.secret.empty()) {
    return refuse(newcomer,
                  hello->has_secret ? "it has a job secret, and rank 0 has none"
                                    : "it has no job secret, and rank 0 has one",
                  true);
  }
  auto nonce = draw_nonce();
  if (!nonce) return refuse(newcomer, nonce.error().message, true);
  newcomer.nonce = *std::move(nonce);
  newcomer.hello = *std::move(hello);
  const Challenge challenge{
      .nonce = newcomer.nonce,
      .proof = prove(Side::server, options_.secret, *newcomer.hello, newcomer.nonce)};
  newcomer.socket.send(pack(Kind::challenge, to_bytes(challenge)));
}

void RankListener::refuse(Newcomer& newcomer, std::string_view why, bool tell) {
  if (tell) {
    newcomer.socket.send(pack(Kind::refused, why));
    newcomer.socket.finish();
  }
  newcomer.state = Newcomer::State::gone;
  note(newcomer.address, why);
}

void RankListener::turn_away(Arrival arrival, std::string_view why) {
  arrival.socket.send(pack(Kind::refused, why));
  arrival.socket.finish();
  note(arrival.address, why);
}

// A stranger that comes again and again is noted once.
void RankListener::note(std::string_view address, std::string_view why) {
  ++refused_;
  last_refusal_ = fmt::format("from {}: {}", address, why);
  if (noted_.size() >= kMostNotes || !noted_.insert(last_refusal_).second) return;
  if (options_.note) options_.note(fmt::format("refused a connection {}", last_refusal_));
}

std::string RankListener::refusals() const {
  std::string text;
  if (!why_closed_.empty()) {
    text = fmt::format("; rank 0 could not accept all connections: {}", why_closed_);
  }
  if (refused_ == 0) return text;
  return text + fmt::format("; {} connection{} refused, the last {}", refused_,
                            refused_ == 1 ? " was" : "s were", last_refusal_);
}

std::vector<Arrival> RankListener::collect() {
  std::vector<Arrival> arrivals;
  for (auto& newcomer : newcomers_) {
    if (newcomer.state != Newcomer::State::arrived) continue;
    arrivals.push_back({.rank = newcomer.hello->rank,
                        .name = newcomer.hello->name,
                        .address = newcomer.address,
                        .socket = std::move(newcomer.socket)});
  }
  std::erase_if(newcomers_, [](const Newcomer& newcomer) {
    return newcomer.state != Newcomer::State::greeting;
  });
  return arrivals;
}

}  // namespace muster::bench
