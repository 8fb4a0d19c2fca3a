// SPDX-License-Identifier: Apache-2.0
#include "bench/group/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/group/bytes.hpp"
#include "bench/group/trouble.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr auto kGoodbyeLimit = std::chrono::milliseconds(500);

}  // namespace

void Spoke::run() {
  if (!arrive()) return;
  while (!ended_) {
    wait();
    heed_board();
    if (!ended_) hear();
    if (!ended_) watch_times();
  }
}

bool Spoke::arrive() {
  Caller caller(options_);
  auto welcome = caller.call(after(options_.patience));
  if (!welcome) {
    board_.fail(welcome.error().message);
    return false;
  }
  if (!*welcome) {
    end({.kind = Trouble::Kind::absent,
         .phase = "rendezvous",
         .what = fmt::format("rank 0 did not come to the rendezvous within {}; {}",
                             in_words(options_.patience),
                             caller.why_not()),
         .ranks = {0},
         .arrived = {options_.rank},
         .without_rank_0 = true});
    return false;
  }
  wire_ = std::move((*welcome)->wire);
  start_ends_ = after((*welcome)->patience + 2 * options_.grace);
  hear();  // the start may have come with the welcome
  return true;
}

void Spoke::wait() {
  auto until = std::min({start_ends_, verdict_ends_, report_ends_});
  const bool heeds_deadlines = !overdue_ && !trouble_ && !giving_up_;
  if (heeds_deadlines) until = std::min(until, board_.next_look());
  board_.arm(until, heeds_deadlines);
  poller_.clear();
  poller_.add(board_.descriptor());
  poller_.add(wire_ ? wire_->descriptor() : -1, wire_ && wire_->is_sending());
  poller_.wait(until);
}

void Spoke::heed_board() {
  if (poller_.is_ready(0)) board_.woken();
  // Asked first: what was posted before it left is among the posts then.
  const bool leaving = board_.is_leaving();
  for (auto& parcel : board_.take_posts()) {
    if (wire_) wire_->send(std::move(parcel));
  }
  if (!giving_up_ && !trouble_) {
    if (const auto why = board_.giving_up()) give_up(*why);
  }
  if (leaving) say_goodbye();
}

void Spoke::hear() {
  if (!wire_) return;
  wire_->flush();
  const bool open = wire_->receive(kMaxText);
  while (!ended_) {
    const auto message = wire_->next(kMaxText);
    if (!message) break;
    take(*message);
    if (!wire_) return;
  }
  if (!ended_ && (!open || wire_->is_bad())) closed();
}

void Spoke::take(const Message& message) {
  switch (message.kind) {
    case Kind::start:
      joined_ = true;
      start_ends_ = Clock::time_point::max();
      board_.mark_joined();
      break;
    case Kind::broadcast:
    case Kind::barrier:
      if (!board_.deliver(0, message)) closed();
      break;
    case Kind::where:
      wire_->send(pack(Kind::here, to_bytes(board_.stage())));
      break;
    case Kind::trouble:
      trouble_ = read_trouble(message.payload);
      start_ends_ = verdict_ends_ = Clock::time_point::max();
      report_ends_ = std::min(report_ends_, after(options_.grace));
      break;
    case Kind::goodbye:
      wire_.reset();
      board_.mark_left(0);
      break;
    default:
      closed();
  }
}

void Spoke::closed() {
  wire_.reset();
  if (giving_up_) return end_quietly(*giving_up_);
  if (trouble_) return end(*trouble_);
  const auto phase = joined_ ? board_.stage().phase : std::string("rendezvous");
  end({.kind = Trouble::Kind::lost,
       .phase = phase,
       .what = fmt::format("rank 0 ended without a word, or its node is gone, in the phase \"{}\"",
                           phase),
       .ranks = {0},
       .without_rank_0 = true});
}

void Spoke::watch_times() {
  const auto now = Clock::now();
  if (now >= report_ends_) return closed();
  if (now >= start_ends_) {
    return end({.kind = Trouble::Kind::absent,
                .phase = "rendezvous",
                .what = "rank 0 let this rank in, and then neither started nor answered",
                .ranks = {0},
                .arrived = {options_.rank},
                .without_rank_0 = true});
  }
  if (now >= verdict_ends_) {
    const Answer silent{.rank = 0, .name = {}, .stage = {}};
    const Answer own{.rank = options_.rank, .name = options_.name, .stage = overdue_};
    auto trouble = late_trouble(*overdue_, {silent, own});
    trouble.without_rank_0 = true;
    return end(trouble);
  }
  if (overdue_ || trouble_ || giving_up_) return;
  const auto stage = board_.stage();
  if (now < stage.deadline) return;
  overdue_ = stage;
  if (!wire_) {
    const Answer own{.rank = options_.rank, .name = options_.name, .stage = stage};
    return end(late_trouble(stage, {own}));
  }
  wire_->send(pack(Kind::overdue, to_bytes(stage)));
  // Rank 0 waits for answers, and may have others to wait for.
  verdict_ends_ = after(3 * options_.grace);
}

void Spoke::give_up(const std::string& why) {
  giving_up_ = why;
  if (!wire_) return end_quietly(why);
  wire_->send(pack(Kind::give_up, Writer().text(board_.stage().phase).text(why).take()));
  report_ends_ = after(2 * options_.grace);
}

void Spoke::end(const Trouble& trouble) {
  ended_ = true;
  wire_.reset();
  if (options_.on_trouble) options_.on_trouble(trouble);
  board_.fail(trouble.what);
}

void Spoke::end_quietly(std::string why) {
  ended_ = true;
  wire_.reset();
  board_.fail(std::move(why));
}

void Spoke::say_goodbye() {
  ended_ = true;
  if (!wire_) return;
  wire_->send(pack(Kind::goodbye));
  flush(kGoodbyeLimit);
  wire_->finish();
}

void Spoke::flush(Clock::duration limit) {
  const auto until = after(limit);
  for (;;) {
    wire_->flush();
    if (!wire_->is_sending() || Clock::now() >= until) return;
    poller_.clear();
    poller_.add_writing(wire_->descriptor());
    poller_.wait(until);
  }
}

}  // namespace muster::bench
