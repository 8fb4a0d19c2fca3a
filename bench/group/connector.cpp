// SPDX-License-Identifier: Apache-2.0
#include "bench/group/connector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/group/bytes.hpp"
#include "bench/group/handshake.hpp"
#include "bench/group/poller.hpp"
#include "bench/sockets/sockets.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr auto kBetweenRounds = std::chrono::milliseconds(50);
constexpr auto kBetweenLookUps = std::chrono::milliseconds(500);
// An address that has not answered by then has the next one tried beside it.
constexpr auto kHeadStart = std::chrono::milliseconds(200);

class Connector {
 public:
  Connector(const JoinOptions& options, std::string& last_failure)
      : options_(options), last_failure_(last_failure) {}

  [[nodiscard]] Result<std::optional<Welcome>> connect(Clock::time_point until) {
    for (;;) {
      auto result = try_all(until);
      attempts_.clear();
      if (!result || *result) return result;
      if (!refusal_.empty()) return make_error(refusal_);
      if (Clock::now() >= until) return std::nullopt;
      std::this_thread::sleep_until(std::min(until, after(kBetweenRounds)));
    }
  }

 private:
  struct Target {
    Address address;
    std::string label;  // "node1 port 6105"
  };

  struct Candidate {
    MessageSocket socket;
    std::string label;
    Clock::time_point deadline;
    Hello hello;
    std::size_t slot = 0;
    enum class State { connecting, asking, proving, welcome, over } state = State::connecting;

    [[nodiscard]] bool waits() const { return state == State::asking || state == State::proving; }
  };

  // Not in every round: name servers serve others too.
  void look_up_targets() {
    if (Clock::now() < look_up_again_) return;
    look_up_again_ = after(kBetweenLookUps);
    targets_.clear();
    for (const auto& where : options_.addresses) {
      const auto addresses = resolve(where);
      if (!addresses) {
        last_failure_ = addresses.error().message;
        continue;
      }
      for (const auto& address : *addresses) {
        targets_.push_back({address, fmt::format("{} port {}", where.host, where.port)});
      }
    }
  }

  // Tries each address once, a little after each other. Returns the first that lets this rank in.
  [[nodiscard]] Result<std::optional<Welcome>> try_all(Clock::time_point until) {
    look_up_targets();
    auto next = targets_.cbegin();
    auto next_start = Clock::now();
    while (Clock::now() < until) {
      const bool idle = std::ranges::all_of(attempts_, [](const Candidate& attempt) {
        return attempt.state == Candidate::State::over;
      });
      if (next == targets_.cend() && idle) break;
      if (next != targets_.cend() && (idle || Clock::now() >= next_start)) {
        begin(*next++);
        next_start = after(kHeadStart);
        continue;
      }
      wait(next == targets_.cend() ? until : std::min(until, next_start));
      for (auto& attempt : attempts_) advance(attempt);
      const auto found = std::ranges::find(attempts_, Candidate::State::welcome, &Candidate::state);
      if (found != attempts_.end()) {
        return Welcome{.socket = std::move(found->socket), .patience = patience_};
      }
    }
    return std::nullopt;
  }

  void begin(const Target& target) {
    auto nonce = draw_nonce();
    auto socket = start_connecting(target.address);
    if (!nonce || !socket) {
      last_failure_ = fmt::format("{}: {}", target.label,
                                  nonce ? socket.error().message : nonce.error().message);
      return;
    }
    notice_loss(socket->get());
    attempts_.push_back({.socket = MessageSocket(*std::move(socket)),
                         .label = target.label,
                         .deadline = after(options_.hello_limit),
                         .hello = {.rank = options_.rank,
                                   .world = options_.world,
                                   .has_secret = !options_.secret.empty(),
                                   .nonce = *std::move(nonce),
                                   .name = options_.name}});
  }

  void wait(Clock::time_point until) {
    poller_.clear();
    for (auto& attempt : attempts_) {
      const bool over = attempt.state == Candidate::State::over;
      const bool writing =
          attempt.state == Candidate::State::connecting || attempt.socket.is_sending();
      attempt.slot = poller_.add(over ? -1 : attempt.socket.descriptor(), writing);
      if (!over) until = std::min(until, attempt.deadline);
    }
    poller_.wait(until);
  }

  void advance(Candidate& attempt) {
    if (attempt.state == Candidate::State::over) return;
    if (!poller_.is_ready(attempt.slot)) {
      if (Clock::now() >= attempt.deadline) fail(attempt, "no answer");
      return;
    }
    if (attempt.state == Candidate::State::connecting) {
      if (const int error = error_of(attempt.socket.descriptor()); error != 0) {
        return fail(attempt, std::strerror(error));
      }
      attempt.state = Candidate::State::asking;
      attempt.socket.send(pack(Kind::hello, to_bytes(attempt.hello)));
    }
    attempt.socket.flush();
    const bool open = attempt.socket.receive(kMaxGreeting);
    while (attempt.waits()) {
      const auto message = attempt.socket.next(kMaxGreeting);
      if (!message) break;
      take(attempt, *message);
    }
    if (!attempt.waits()) return;
    if (attempt.socket.is_bad()) return fail(attempt, "another program listens there");
    if (!open) fail(attempt, "the connection was closed");
  }

  void take(Candidate& attempt, const Message& message) {
    if (message.kind == Kind::refused) {
      return refuse(attempt, fmt::format("refuses this rank: {}", printable(message.payload)));
    }
    if (message.kind == Kind::challenge && attempt.state == Candidate::State::asking) {
      return prove_to(attempt, message);
    }
    if (message.kind != Kind::welcome || attempt.state != Candidate::State::proving) {
      return fail(attempt, "another program listens there");
    }
    constexpr std::uint64_t kMost = 1000ULL * 3600 * 24 * 365;
    std::uint64_t left = 0;
    Reader(message.payload).number(left);
    patience_ = std::chrono::milliseconds(static_cast<std::int64_t>(std::min(left, kMost)));
    attempt.state = Candidate::State::welcome;
  }

  void prove_to(Candidate& attempt, const Message& message) {
    const auto challenge = read_challenge(message.payload);
    if (!challenge) return fail(attempt, "another program listens there");
    const auto wanted = prove(Side::server, options_.secret, attempt.hello, challenge->nonce);
    const bool proved = options_.secret.empty() || !wanted.empty();
    if (!proved || !same_bytes(challenge->proof, wanted)) {
      // It is told all the same, so that it can say who came with another secret.
      attempt.socket.send(pack(Kind::proof, "no"));
      return refuse(
          attempt,
          "has another job secret: every rank needs the same --secret-file or MUSTER_JOB_SECRET");
    }
    attempt.state = Candidate::State::proving;
    attempt.socket.send(
        pack(Kind::proof, prove(Side::member, options_.secret, attempt.hello, challenge->nonce)));
  }

  void fail(Candidate& attempt, std::string_view why) {
    attempt.state = Candidate::State::over;
    last_failure_ = fmt::format("{}: {}", attempt.label, why);
  }

  void refuse(Candidate& attempt, std::string_view why) {
    attempt.socket.finish();
    attempt.state = Candidate::State::over;
    refusal_ = fmt::format("rank 0 at {} {}", attempt.label, why);
  }

  const JoinOptions& options_;
  std::string& last_failure_;
  Poller poller_;
  std::vector<Target> targets_;
  Clock::time_point look_up_again_{};
  std::vector<Candidate> attempts_;
  std::string refusal_;  // by rank 0; or of a rank 0 that does not have this rank's secret
  Clock::duration patience_{};
};

}  // namespace

Result<std::optional<Welcome>> connect_to_rank_0(const JoinOptions& options,
                                                 Clock::time_point until,
                                                 std::string& last_failure) {
  Connector connector(options, last_failure);
  return connector.connect(until);
}

}  // namespace muster::bench
