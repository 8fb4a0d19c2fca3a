// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "bench/group/tcp_group.hpp"
#include "bench/sockets/greeting.hpp"
#include "bench/sockets/poller.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

constexpr auto kClientGoodbye = std::chrono::milliseconds(500);

// Greets rank 0 until it answers. Empty if it has not by `until`: `last_failure` is then the reason
// of the last attempt. An error if rank 0 refuses this rank.
Result<std::optional<Descriptor>> connect_to_rank_0(const JoinOptions& options,
                                                    Clock::time_point until,
                                                    std::string& last_failure) {
  using std::chrono::milliseconds;
  constexpr Clock::duration kLongestPatience = std::chrono::seconds(4);
  constexpr Clock::duration kLongestPause = milliseconds(400);
  const Identity self{options.rank, options.world, options.secret, options.name};
  Clock::duration patience = milliseconds(500);  // for one address, since another may answer
  Clock::duration pause = milliseconds(25);      // name servers serve others too
  for (;;) {
    for (const auto& where : options.addresses) {
      auto socket = connect_once(where, until, patience);
      const auto answer = socket.and_then([&](const Descriptor& connected) {
        return send_greeting(connected.get(), self, 0).and_then([&] {
          const auto limit = std::min(until, after(options.hello_limit));
          return receive_answer(connected.get(), self, 0, limit);
        });
      });
      if (answer && answer->empty()) return *std::move(socket);
      const auto place = fmt::format("{} port {}", where.host, where.port);
      if (answer) return make_error("rank 0 at {} refuses this rank: {}", place, *answer);
      // The deadline may cut off the last attempt, which then reports no cause.
      if (!last_failure.empty() && Clock::now() >= until) continue;
      last_failure = fmt::format("{}: {}", place, answer.error().message);
    }
    if (Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_until(std::min(until, after(pause)));
    patience = std::min(2 * patience, kLongestPatience);
    pause = std::min(2 * pause, kLongestPause);
  }
}

class Client {
 public:
  Client(const JoinOptions& options, TcpGroup& group) : options_(options), group_(group) {}

  void run() {
    if (!arrive()) return;
    while (!ended_) {
      wait();
      handle_process();
      if (!ended_) hear();
      if (!ended_) watch_times();
    }
  }

 private:
  [[nodiscard]] bool arrive() {
    std::string last_failure;
    auto socket = connect_to_rank_0(options_, after(options_.patience), last_failure);
    if (!socket) {
      group_.fail(socket.error().message);
      return false;
    }
    if (!*socket) {
      end_absent(fmt::format("rank 0 did not come to the rendezvous within {}; {}",
                             in_words(options_.patience), last_failure));
      return false;
    }
    notice_loss((*socket)->get());
    socket_.emplace(**std::move(socket));
    // Rank 0's patience ends first: it began earlier.
    start_ends_ = after(options_.patience + 2 * options_.grace);
    return true;
  }

  void wait() {
    auto until = std::min({start_ends_, verdict_ends_, report_ends_});
    const bool watches_deadlines = !overdue_ && !trouble_ && !giving_up_;
    if (watches_deadlines) until = std::min(until, group_.stage().next_check());
    group_.arm(until, watches_deadlines);
    poller_.clear();
    poller_.add(group_.wake_descriptor());
    poller_.add(socket_ ? socket_->descriptor() : -1, socket_ && socket_->is_sending());
    poller_.wait(until);
  }

  void handle_process() {
    auto orders = group_.take_orders();
    for (auto& message : orders.posts) {
      if (socket_) socket_->send(std::move(message));
    }
    if (orders.giving_up && !giving_up_ && !trouble_) give_up(*orders.giving_up);
    if (orders.leaving) say_goodbye();
  }

  void hear() {
    if (!socket_) return;
    socket_->flush();
    const bool open = socket_->receive();
    while (!ended_) {
      const auto message = socket_->next();
      if (!message) break;
      handle(*message);
      if (!socket_) return;
    }
    if (!ended_ && (!open || socket_->is_bad())) closed();
  }

  void handle(const Message& message) {
    switch (message.kind) {
      case Kind::start:
        joined_ = true;
        start_ends_ = Clock::time_point::max();
        group_.mark_joined();
        break;
      case Kind::broadcast:
      case Kind::barrier:
        if (!group_.deliver(0, message)) closed();
        break;
      case Kind::where:
        socket_->send(pack(Kind::here, to_text(group_.stage())));
        break;
      case Kind::trouble:
        trouble_ = read_trouble(message.payload);
        start_ends_ = verdict_ends_ = Clock::time_point::max();
        report_ends_ = std::min(report_ends_, after(options_.grace));
        break;
      case Kind::goodbye:
        socket_.reset();
        group_.mark_left(0);
        break;
      default:
        closed();
    }
  }

  void closed() {
    socket_.reset();
    if (giving_up_) return end_quietly(*giving_up_);
    if (trouble_) return end(*trouble_);
    const auto phase = joined_ ? group_.stage().phase : kRendezvous;
    end({.kind = Trouble::Kind::lost,
         .phase = phase,
         .what = fmt::format("rank 0 exited unexpectedly, or its node is down, in the phase \"{}\"",
                             phase.name),
         .ranks = {0},
         .without_rank_0 = true});
  }

  void watch_times() {
    const auto now = Clock::now();
    if (now >= report_ends_) return closed();
    if (now >= start_ends_) {
      return end_absent("rank 0 admitted this rank and then did not start the run");
    }
    if (now >= verdict_ends_) {
      auto trouble = late_trouble(*overdue_, {RankStage{}, own_stage()});
      trouble.without_rank_0 = true;
      return end(trouble);
    }
    if (overdue_ || trouble_ || giving_up_) return;
    const auto stage = group_.stage();
    if (now < stage.deadline) return;
    overdue_ = stage;
    if (!socket_) return end(late_trouble(stage, {own_stage()}));
    socket_->send(pack(Kind::overdue, to_text(stage)));
    // Rank 0 waits for the others' answers and may ask NCCL's RAS service.
    verdict_ends_ = after(4 * options_.grace);
  }

  void give_up(const Trouble& reason) {
    giving_up_ = reason.what;
    if (!socket_) return end_quietly(reason.what);
    socket_->send(pack(Kind::give_up, to_text(reason)));
    report_ends_ = after(2 * options_.grace);
  }

  void end(const Trouble& trouble) {
    ended_ = true;
    socket_.reset();
    if (options_.on_trouble) options_.on_trouble(trouble);
    group_.fail(trouble.what);
  }

  void end_absent(std::string what) {
    end({.kind = Trouble::Kind::absent,
         .phase = kRendezvous,
         .what = std::move(what),
         .ranks = {0},
         .arrived = {options_.rank},
         .without_rank_0 = true});
  }

  [[nodiscard]] RankStage own_stage() const {
    return {.rank = options_.rank, .name = options_.name, .stage = overdue_};
  }

  void end_quietly(std::string why) {
    ended_ = true;
    socket_.reset();
    group_.fail(std::move(why));
  }

  void say_goodbye() {
    ended_ = true;
    if (!socket_) return;
    socket_->send(pack(Kind::goodbye));
    flush(kClientGoodbye);
    socket_->finish();
  }

  void flush(Clock::duration limit) {
    const auto until = after(limit);
    for (;;) {
      socket_->flush();
      if (!socket_->is_sending() || Clock::now() >= until) return;
      poller_.clear();
      poller_.add_writing(socket_->descriptor());
      poller_.wait(until);
    }
  }

  const JoinOptions& options_;
  TcpGroup& group_;
  Poller poller_;
  std::optional<MessageSocket> socket_;  // empty once rank 0 has left
  bool joined_ = false;
  bool ended_ = false;
  // The times at which rank 0 is considered lost: it did not start the run, did not answer that
  // this process is overdue, or did not end after trouble.
  Clock::time_point start_ends_ = Clock::time_point::max();
  Clock::time_point verdict_ends_ = Clock::time_point::max();
  Clock::time_point report_ends_ = Clock::time_point::max();
  std::optional<Stage> overdue_;
  std::optional<Trouble> trouble_;        // as rank 0 reported it
  std::optional<std::string> giving_up_;  // this process's own reason
};

}  // namespace

void follow_rank_0(const JoinOptions& options, TcpGroup& group) { Client(options, group).run(); }

}  // namespace muster::bench
