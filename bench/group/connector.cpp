// SPDX-License-Identifier: Apache-2.0
#include "bench/group/connector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "bench/group/bytes.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr auto kBetweenRounds = std::chrono::milliseconds(50);
constexpr auto kBetweenLookUps = std::chrono::milliseconds(500);
// An address that has not answered by then has the next one tried beside it.
constexpr auto kHeadStart = std::chrono::milliseconds(200);

}  // namespace

Result<std::optional<Welcome>> Caller::call(Clock::time_point until) {
  for (;;) {
    auto result = go_round(until);
    tries_.clear();
    if (!result || *result) return result;
    if (!refusal_.empty()) return make_error(refusal_);
    if (Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_until(std::min(until, after(kBetweenRounds)));
  }
}

// Not in every round: name servers serve others too.
void Caller::look_up_targets() {
  if (Clock::now() < look_up_again_) return;
  look_up_again_ = after(kBetweenLookUps);
  targets_.clear();
  for (const auto& where : options_.addresses) {
    const auto addresses = resolve(where);
    if (!addresses) {
      why_not_ = addresses.error().message;
      continue;
    }
    for (const auto& address : *addresses) {
      targets_.push_back({address, fmt::format("{} port {}", where.host, where.port)});
    }
  }
}

Result<std::optional<Welcome>> Caller::go_round(Clock::time_point until) {
  look_up_targets();
  auto next = targets_.cbegin();
  auto next_start = Clock::now();
  while (Clock::now() < until) {
    const bool idle = std::ranges::all_of(
        tries_, [](const Try& attempt) { return attempt.state == Try::State::over; });
    if (next == targets_.cend() && idle) break;
    if (next != targets_.cend() && (idle || Clock::now() >= next_start)) {
      begin(*next++);
      next_start = after(kHeadStart);
      continue;
    }
    wait(next == targets_.cend() ? until : std::min(until, next_start));
    for (auto& attempt : tries_) advance(attempt);
    const auto found = std::ranges::find(tries_, Try::State::welcome, &Try::state);
    if (found != tries_.end()) {
      return Welcome{.wire = std::move(found->wire), .patience = patience_};
    }
  }
  return std::nullopt;
}

void Caller::begin(const Target& target) {
  auto nonce = draw_nonce();
  auto socket = start_connecting(target.address);
  if (!nonce || !socket) {
    why_not_ =
        fmt::format("{}: {}", target.label, nonce ? socket.error().message : nonce.error().message);
    return;
  }
  notice_loss(socket->get());
  tries_.push_back({.wire = Wire(*std::move(socket)),
                    .label = target.label,
                    .deadline = after(options_.hello_limit),
                    .hello = {.rank = options_.rank,
                              .world = options_.world,
                              .has_secret = !options_.secret.empty(),
                              .nonce = *std::move(nonce),
                              .name = options_.name}});
}

void Caller::wait(Clock::time_point until) {
  poller_.clear();
  for (auto& attempt : tries_) {
    const bool over = attempt.state == Try::State::over;
    const bool writing = attempt.state == Try::State::connecting || attempt.wire.is_sending();
    attempt.slot = poller_.add(over ? -1 : attempt.wire.descriptor(), writing);
    if (!over) until = std::min(until, attempt.deadline);
  }
  poller_.wait(until);
}

void Caller::advance(Try& attempt) {
  if (attempt.state == Try::State::over) return;
  if (!poller_.is_ready(attempt.slot)) {
    if (Clock::now() >= attempt.deadline) fail(attempt, "no answer");
    return;
  }
  if (attempt.state == Try::State::connecting) {
    if (const int error = error_of(attempt.wire.descriptor()); error != 0) {
      return fail(attempt, std::strerror(error));
    }
    attempt.state = Try::State::asking;
    attempt.wire.send(pack(Kind::hello, to_bytes(attempt.hello)));
  }
  attempt.wire.flush();
  const bool open = attempt.wire.receive(kMaxGreeting);
  while (attempt.state == Try::State::asking || attempt.state == Try::State::proving) {
    const auto message = attempt.wire.next(kMaxGreeting);
    if (!message) break;
    take(attempt, *message);
  }
  const bool waits = attempt.state == Try::State::asking || attempt.state == Try::State::proving;
  if (!waits) return;
  if (attempt.wire.is_bad()) return fail(attempt, "another program listens there");
  if (!open) fail(attempt, "the connection was closed");
}

void Caller::take(Try& attempt, const Message& message) {
  if (message.kind == Kind::refused) {
    return refuse(attempt, fmt::format("refuses this rank: {}", printable(message.payload)));
  }
  if (message.kind == Kind::challenge && attempt.state == Try::State::asking) {
    return prove_to(attempt, message);
  }
  if (message.kind != Kind::welcome || attempt.state != Try::State::proving) {
    return fail(attempt, "another program listens there");
  }
  constexpr std::uint64_t kMost = 1000ULL * 3600 * 24 * 365;
  patience_ = std::chrono::milliseconds(
      static_cast<std::int64_t>(std::min(Reader(message.payload).number(), kMost)));
  attempt.state = Try::State::welcome;
}

void Caller::prove_to(Try& attempt, const Message& message) {
  const auto challenge = read_challenge(message.payload);
  if (!challenge) return fail(attempt, "another program listens there");
  const auto wanted = prove(Side::hub, options_.secret, attempt.hello, challenge->nonce);
  const bool proved = options_.secret.empty() || !wanted.empty();
  if (!proved || !same_bytes(challenge->proof, wanted)) {
    // It is told all the same, so that it can say who came with another secret.
    attempt.wire.send(pack(Kind::proof, "no"));
    return refuse(attempt, "has another job secret");
  }
  attempt.state = Try::State::proving;
  attempt.wire.send(
      pack(Kind::proof, prove(Side::member, options_.secret, attempt.hello, challenge->nonce)));
}

void Caller::fail(Try& attempt, std::string_view why) {
  attempt.state = Try::State::over;
  why_not_ = fmt::format("{}: {}", attempt.label, why);
}

void Caller::refuse(Try& attempt, std::string_view why) {
  attempt.wire.finish();
  attempt.state = Try::State::over;
  refusal_ = fmt::format("rank 0 at {} {}", attempt.label, why);
}

}  // namespace muster::bench
