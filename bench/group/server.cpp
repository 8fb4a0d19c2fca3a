// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/group/tcp_group.hpp"
#include "bench/sockets/greeting.hpp"
#include "bench/sockets/poller.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

constexpr auto kServerGoodbye = std::chrono::seconds(1);
// Ranks that die together, as on one node, are reported in one message.
constexpr auto kLossesTogether = std::chrono::milliseconds(50);

class Server {
 public:
  Server(const JoinOptions& options, TcpGroup& group, Descriptor listener)
      : options_(options),
        group_(group),
        peers_(static_cast<std::size_t>(options.world)),
        missing_(options.world - 1),
        patience_ends_(after(options.patience)) {
    peers_.front().name = options.name;
    if (missing_ == 0) {
      start();
    } else {
      const Identity self{options.rank, options.world, options.secret, options.name};
      door_.emplace(std::move(listener), self, options.hello_limit, options.note);
    }
  }

  void run() {
    while (!ended_) {
      wait();
      handle_process();
      if (!ended_ && door_) admit_arrivals();
      for (int rank = 1; rank < options_.world && !ended_; ++rank) hear(rank);
      if (!ended_) watch_times();
    }
  }

 private:
  struct Peer {
    std::optional<MessageSocket> socket{};
    std::string name{};
    std::size_t slot = 0;
    bool left = false;  // said goodbye
    bool lost = false;
    bool declared = false;  // as lost
    std::optional<Stage> answer{};

    [[nodiscard]] bool is_here() const { return socket && !left && !lost; }
  };

  void wait() {
    auto until = std::min({patience_ends_, losses_end_, answers_end_});
    const bool watches_deadlines = !overdue_;
    if (watches_deadlines) until = std::min(until, group_.stage().next_check());
    if (door_) until = std::min(until, door_->next_deadline());
    group_.arm(until, watches_deadlines);
    poller_.clear();
    poller_.add(group_.wake_descriptor());
    for (auto& peer : peers_) {
      const bool listens = peer.is_here();
      peer.slot = poller_.add(listens ? peer.socket->descriptor() : -1,
                              listens && peer.socket->is_sending());
    }
    if (door_) door_->watch(poller_);
    poller_.wait(until);
  }

  void handle_process() {
    const auto orders = group_.take_orders();
    for (const auto& message : orders.posts) send_all(message);
    if (orders.giving_up) return give_up(0, *orders.giving_up);
    if (orders.leaving) say_goodbye();
  }

  void admit_arrivals() {
    const int before = missing_;
    for (auto& arrival : door_->serve(poller_)) admit(std::move(arrival));
    if (missing_ == 0) return start();
    if (missing_ < before) report_missing();
  }

  void admit(Arrival arrival) {
    auto& peer = peers_[static_cast<std::size_t>(arrival.rank)];
    if (arrival.rank == 0 || peer.socket) {
      return door_->refuse(arrival, fmt::format("{} is here already", name_of(arrival.rank)));
    }
    door_->admit(arrival);
    notice_loss(arrival.socket.get());
    peer.socket.emplace(std::move(arrival.socket));
    peer.name = std::move(arrival.name);
    peer.slot = 0;  // polled from the next round on
    --missing_;
  }

  void start() {
    door_.reset();
    patience_ends_ = Clock::time_point::max();
    send_all(pack(Kind::start));
    group_.mark_joined();
  }

  void report_missing() const {
    if (!options_.missing) return;
    std::vector<int> ranks;
    for (int rank = 1; rank < options_.world; ++rank) {
      if (!peers_[static_cast<std::size_t>(rank)].socket) ranks.push_back(rank);
    }
    options_.missing(ranks);
  }

  void hear(int rank) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.is_here() || peer.slot == 0 || !poller_.is_ready(peer.slot)) return;
    peer.socket->flush();
    const bool open = peer.socket->receive();
    while (!ended_) {
      const auto message = peer.socket->next();
      if (!message) break;
      handle(rank, *message);
    }
    if (ended_ || peer.left) return;
    if (!open || peer.socket->is_bad()) lose(rank);
  }

  void handle(int rank, const Message& message) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    switch (message.kind) {
      case Kind::gather:
      case Kind::barrier:
        if (!group_.deliver(static_cast<std::size_t>(rank - 1), message)) lose(rank);
        break;
      case Kind::here:
        if (!peer.answer && overdue_) --unanswered_;
        peer.answer = read_stage(message.payload);
        break;
      case Kind::overdue:
        if (const auto stage = read_stage(message.payload)) ask_where(*stage);
        break;
      case Kind::give_up:
        if (auto trouble = read_trouble(message.payload)) {
          give_up(rank, *std::move(trouble));
        } else {
          lose(rank);
        }
        break;
      case Kind::goodbye:
        if (door_) return lose(rank);  // it has not waited for the others
        peer.left = true;
        group_.mark_left(static_cast<std::size_t>(rank - 1));
        if (overdue_ && !peer.answer) --unanswered_;
        break;
      default:
        lose(rank);
    }
  }

  void lose(int rank) {
    auto& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.lost) return;
    peer.lost = true;
    if (!overdue_) notice_suspension();
    losses_end_ = std::min(losses_end_, after(kLossesTogether));
  }

  // Even on a busy machine a running process notices its deadline earlier.
  void notice_suspension() {
    constexpr auto kBusy = std::chrono::seconds(1);
    if (Clock::now() - kBusy >= group_.stage().deadline) was_suspended_ = true;
  }

  void watch_times() {
    const bool lost_any = losses_end_ != Clock::time_point::max();
    if (was_suspended_ && lost_any) return declare_suspended();
    const auto now = Clock::now();
    if (now >= losses_end_) return declare_lost();
    if (now >= patience_ends_) return declare_absent();
    if (overdue_) {
      // A loss explains why others are late, so it is reported first.
      const bool decided = unanswered_ == 0 || now >= answers_end_;
      if (decided && losses_end_ == Clock::time_point::max()) declare_late();
      return;
    }
    const auto stage = group_.stage();
    if (now < stage.deadline) return;
    ask_where(stage);
    if (unanswered_ == 0) declare_late();
  }

  void ask_where(const Stage& overdue) {
    if (overdue_) return;
    notice_suspension();
    overdue_ = overdue;
    answers_end_ = after(options_.grace);
    for (auto& peer : peers_) {
      if (peer.is_here()) ++unanswered_;
      peer.answer.reset();
    }
    send_all(pack(Kind::where));
  }

  void declare_late() {
    std::vector<RankStage> answers{
        {.rank = 0, .name = peers_.front().name, .stage = group_.stage()}};
    for (int rank = 1; rank < options_.world; ++rank) {
      const auto& peer = peers_[static_cast<std::size_t>(rank)];
      if (peer.left || peer.declared) continue;
      answers.push_back({.rank = rank, .name = peer.name, .stage = peer.answer});
    }
    if (options_.simulated) answers = options_.simulated(group_.stage());
    auto trouble = late_trouble(*overdue_, answers);
    const auto more = options_.explain_late ? options_.explain_late() : std::string();
    if (!more.empty()) trouble.what.append(fmt::format("; {}", more));
    end(trouble);
  }

  void declare_absent() {
    Trouble trouble{.kind = Trouble::Kind::absent, .phase = kRendezvous};
    for (int rank = 0; rank < options_.world; ++rank) {
      const bool here = rank == 0 || peers_[static_cast<std::size_t>(rank)].socket;
      (here ? trouble.arrived : trouble.ranks).push_back(rank);
    }
    trouble.what = fmt::format("{} did not come to the rendezvous within {}; {} of {} came{}",
                               ranks_in_words(trouble.ranks), in_words(options_.patience),
                               trouble.arrived.size(), options_.world, door_->refusals());
    end(trouble);
  }

  void declare_lost() {
    Trouble trouble{.kind = Trouble::Kind::lost,
                    .phase = door_ ? kRendezvous : group_.stage().phase};
    std::vector<std::size_t> sources;
    for (int rank = 1; rank < options_.world; ++rank) {
      auto& peer = peers_[static_cast<std::size_t>(rank)];
      if (!peer.lost || std::exchange(peer.declared, true)) continue;
      trouble.ranks.push_back(rank);
      sources.push_back(static_cast<std::size_t>(rank - 1));
      if (overdue_ && !peer.answer) --unanswered_;
    }
    const bool one = trouble.ranks.size() == 1;
    trouble.what = fmt::format("{} exited unexpectedly, or {} down, in the phase \"{}\"",
                               one ? name_of(trouble.ranks.front()) : ranks_in_words(trouble.ranks),
                               one ? "its node is" : "their nodes are", trouble.phase.name);
    losses_end_ = Clock::time_point::max();
    if (!group_.pass_over(trouble, sources)) end(trouble);
  }

  // Leaves the report to the others.
  void declare_suspended() {
    const auto phase = group_.stage().phase;
    end({.kind = Trouble::Kind::late,
         .phase = phase,
         .what = fmt::format("{} was suspended in the phase \"{}\", past its deadline", name_of(0),
                             phase.name),
         .ranks = {0},
         .without_rank_0 = true});
  }

  void give_up(int rank, Trouble trouble) {
    trouble.ranks = {rank};
    end(trouble, rank == 0);
  }

  // Calls every on_trouble, but not of this process if it has given up.
  void end(const Trouble& trouble, bool given_up_here = false) {
    ended_ = true;
    send_all(pack(Kind::trouble, to_text(trouble)));
    flush_all(options_.grace);
    if (!given_up_here && options_.on_trouble) options_.on_trouble(trouble);
    group_.fail(trouble.what);
    for (auto& peer : peers_) {
      if (peer.socket) peer.socket->finish();
    }
  }

  void say_goodbye() {
    ended_ = true;
    send_all(pack(Kind::goodbye));
    flush_all(kServerGoodbye);
    for (auto& peer : peers_) {
      if (peer.socket) peer.socket->finish();
    }
  }

  void send_all(const PackedMessage& message) {
    for (auto& peer : peers_) {
      if (peer.is_here()) peer.socket->send(message);
    }
  }

  void flush_all(Clock::duration limit) {
    const auto until = after(limit);
    for (;;) {
      poller_.clear();
      bool waiting = false;
      for (auto& peer : peers_) {
        if (!peer.is_here() || !peer.socket->is_sending()) continue;
        peer.socket->flush();
        if (!peer.socket->is_sending()) continue;
        waiting = true;
        poller_.add_writing(peer.socket->descriptor());
      }
      if (!waiting || Clock::now() >= until) return;
      poller_.wait(until);
    }
  }

  [[nodiscard]] std::string name_of(int rank) const {
    const auto& name = peers_[static_cast<std::size_t>(rank)].name;
    return name.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, name);
  }

  const JoinOptions& options_;
  TcpGroup& group_;
  Poller poller_;
  std::optional<Doorkeeper> door_;  // until all are here
  std::vector<Peer> peers_;         // by rank; 0 is this process
  int missing_ = 0;
  bool ended_ = false;
  Clock::time_point patience_ends_ = Clock::time_point::max();
  Clock::time_point losses_end_ = Clock::time_point::max();   // then those lost are declared
  Clock::time_point answers_end_ = Clock::time_point::max();  // then those late are declared
  std::optional<Stage> overdue_;
  std::size_t unanswered_ = 0;
  bool was_suspended_ = false;  // past the deadline
};

}  // namespace

void serve_ranks(const JoinOptions& options, TcpGroup& group, Descriptor listener) {
  Server(options, group, std::move(listener)).run();
}

}  // namespace muster::bench
