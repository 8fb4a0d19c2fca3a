// SPDX-License-Identifier: Apache-2.0
#include "bench/group/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/group/connector.hpp"
#include "bench/group/message_socket.hpp"
#include "bench/group/poller.hpp"
#include "bench/group/trouble.hpp"

namespace muster::bench {
namespace {

constexpr auto kClientGoodbye = std::chrono::milliseconds(500);

class Client {
 public:
  Client(const JoinOptions& options, PhaseMonitor& monitor)
      : options_(options), monitor_(monitor) {}

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
  // False where the thread has nothing more to do.
  [[nodiscard]] bool arrive() {
    std::string last_failure;
    auto welcome = connect_to_rank_0(options_, after(options_.patience), last_failure);
    if (!welcome) {
      monitor_.fail(welcome.error().message);
      return false;
    }
    if (!*welcome) {
      end_absent(fmt::format("rank 0 did not come to the rendezvous within {}; {}",
                             in_words(options_.patience), last_failure));
      return false;
    }
    socket_ = std::move((*welcome)->socket);
    start_ends_ = after((*welcome)->patience + 2 * options_.grace);
    hear();  // the start may have come with the welcome
    return true;
  }

  void wait() {
    auto until = std::min({start_ends_, verdict_ends_, report_ends_});
    const bool watches_deadlines = !overdue_ && !trouble_ && !giving_up_;
    if (watches_deadlines) until = std::min(until, monitor_.next_look());
    monitor_.arm(until, watches_deadlines);
    poller_.clear();
    poller_.add(monitor_.descriptor());
    poller_.add(socket_ ? socket_->descriptor() : -1, socket_ && socket_->is_sending());
    poller_.wait(until);
  }

  void handle_process() {
    if (poller_.is_ready(0)) monitor_.woken();
    // Asked first: what was posted before it left is among the posts then.
    const bool leaving = monitor_.is_leaving();
    for (auto& message : monitor_.take_posts()) {
      if (socket_) socket_->send(std::move(message));
    }
    if (!giving_up_ && !trouble_) {
      if (const auto reason = monitor_.giving_up()) give_up(*reason);
    }
    if (leaving) say_goodbye();
  }

  void hear() {
    if (!socket_) return;
    socket_->flush();
    const bool open = socket_->receive(kMaxText);
    while (!ended_) {
      const auto message = socket_->next(kMaxText);
      if (!message) break;
      take(*message);
      if (!socket_) return;
    }
    if (!ended_ && (!open || socket_->is_bad())) closed();
  }

  void take(const Message& message) {
    switch (message.kind) {
      case Kind::start:
        joined_ = true;
        start_ends_ = Clock::time_point::max();
        monitor_.mark_joined();
        break;
      case Kind::broadcast:
      case Kind::barrier:
        if (!monitor_.deliver(0, message)) closed();
        break;
      case Kind::where:
        socket_->send(pack(Kind::here, to_bytes(monitor_.stage())));
        break;
      case Kind::trouble:
        trouble_ = read_trouble(message.payload);
        start_ends_ = verdict_ends_ = Clock::time_point::max();
        report_ends_ = std::min(report_ends_, after(options_.grace));
        break;
      case Kind::goodbye:
        socket_.reset();
        monitor_.mark_left(0);
        break;
      default:
        closed();
    }
  }

  void closed() {
    socket_.reset();
    if (giving_up_) return end_quietly(*giving_up_);
    if (trouble_) return end(*trouble_);
    const auto phase = joined_ ? monitor_.stage().phase : kRendezvous;
    end({.kind = Trouble::Kind::lost,
         .phase = phase,
         .what = fmt::format(
             "rank 0 ended without a word, or its node is gone, in the phase \"{}\"", phase.name),
         .ranks = {0},
         .without_rank_0 = true});
  }

  void watch_times() {
    const auto now = Clock::now();
    if (now >= report_ends_) return closed();
    if (now >= start_ends_) {
      return end_absent("rank 0 let this rank in, and then neither started nor answered");
    }
    if (now >= verdict_ends_) {
      const Answer silent{.rank = 0, .name = {}, .stage = {}};
      auto trouble = late_trouble(*overdue_, {silent, own_answer()});
      trouble.without_rank_0 = true;
      return end(trouble);
    }
    if (overdue_ || trouble_ || giving_up_) return;
    const auto stage = monitor_.stage();
    if (now < stage.deadline) return;
    overdue_ = stage;
    if (!socket_) return end(late_trouble(stage, {own_answer()}));
    socket_->send(pack(Kind::overdue, to_bytes(stage)));
    // Rank 0 waits for answers, may have others to wait for, and may know whom else to ask.
    verdict_ends_ = after(4 * options_.grace);
  }

  void give_up(const GivingUp& reason) {
    giving_up_ = reason.why;
    if (!socket_) return end_quietly(reason.why);
    socket_->send(pack(Kind::give_up, to_bytes(trouble_of(reason, monitor_.stage().phase))));
    report_ends_ = after(2 * options_.grace);
  }

  void end(const Trouble& trouble) {
    ended_ = true;
    socket_.reset();
    if (options_.on_trouble) options_.on_trouble(trouble);
    monitor_.fail(trouble.what);
  }

  void end_absent(std::string what) {
    end({.kind = Trouble::Kind::absent,
         .phase = kRendezvous,
         .what = std::move(what),
         .ranks = {0},
         .arrived = {options_.rank},
         .without_rank_0 = true});
  }

  [[nodiscard]] Answer own_answer() const {
    return {.rank = options_.rank, .name = options_.name, .stage = overdue_};
  }

  void end_quietly(std::string why) {
    ended_ = true;
    socket_.reset();
    monitor_.fail(std::move(why));
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
  PhaseMonitor& monitor_;
  Poller poller_;
  std::optional<MessageSocket> socket_;  // nothing once rank 0 has left
  bool joined_ = false;
  bool ended_ = false;
  Clock::time_point start_ends_ = Clock::time_point::max();    // then rank 0 is taken for lost
  Clock::time_point verdict_ends_ = Clock::time_point::max();  // the same, once we are overdue
  Clock::time_point report_ends_ = Clock::time_point::max();   // then we no longer wait for rank 0
  std::optional<Stage> overdue_;
  std::optional<Trouble> trouble_;        // rank 0's word
  std::optional<std::string> giving_up_;  // our own
};

}  // namespace

void follow_rank_0(const JoinOptions& options, PhaseMonitor& monitor) {
  Client(options, monitor).run();
}

}  // namespace muster::bench
