// SPDX-License-Identifier: Apache-2.0
#include "bench/group/tcp_group.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "bench/sockets/poller.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench {

Result<std::unique_ptr<Group>> Group::join(JoinOptions options) {
  constexpr std::size_t kOwnDescriptors = 256;
  if (options.rank == 0 && options.world > 1) {
    if (!options.listener.is_open()) {
      auto listener = listen_on(options.addresses.front());
      if (!listener) {
        return make_error("{}; name another address with --rendezvous HOST:PORT",
                          listener.error().message);
      }
      options.listener = *std::move(listener);
    }
    TRY(allow_descriptors("rank 0", static_cast<std::size_t>(options.world) - 1 + kOwnDescriptors));
  }
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return os_error("create", "eventfd", errno);
  auto group = std::make_unique<TcpGroup>(std::move(options), std::move(wake));
  TRY(group->begin());
  return group;
}

TcpGroup::TcpGroup(JoinOptions options, Descriptor wake)
    : options_(std::move(options)),
      wake_(std::move(wake)),
      inboxes_(options_.rank == 0 ? static_cast<std::size_t>(options_.world - 1) : 1) {}

TcpGroup::~TcpGroup() {
  {
    const std::lock_guard lock(mutex_);
    orders_.leaving = true;
    wake();
  }
  if (thread_.joinable()) thread_.join();
}

Result<void> TcpGroup::begin() {
  // The new thread handles no signals.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return joined_ || trouble_; });
  if (trouble_) return make_error(*trouble_);
  return {};
}

void TcpGroup::work() {
  if (options_.rank == 0) {
    serve_ranks(options_, *this, std::move(options_.listener));
  } else {
    follow_rank_0(options_, *this);
  }
  mark(ended_);
}

Result<std::vector<std::string>> TcpGroup::gather(std::string_view mine) {
  if (options_.rank != 0) {
    TRY(post(Kind::gather, mine));
    return std::vector<std::string>();
  }
  TRY_ASSIGN(auto texts, collect(Kind::gather));
  texts.insert(texts.begin(), std::string(mine));
  return texts;
}

Result<std::string> TcpGroup::broadcast(std::string_view text) {
  if (options_.rank == 0) {
    TRY(post(Kind::broadcast, text));
    return std::string(text);
  }
  TRY_ASSIGN(auto texts, collect(Kind::broadcast));
  return texts.front();
}

Result<void> TcpGroup::barrier() {
  if (options_.rank != 0) TRY(post(Kind::barrier, {}));
  TRY(collect(Kind::barrier));
  return options_.rank == 0 ? post(Kind::barrier, {}) : Result<void>();
}

void TcpGroup::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto count = ::write(wake_.get(), &one, sizeof one);
}

void TcpGroup::enter(Phase phase, Clock::duration limit, ProgressCounters counters) {
  const std::lock_guard lock(mutex_);
  ++stage_.number;
  stage_.phase = std::move(phase);
  stage_.limit = limit;
  stage_.deadline = after(limit);
  counters_ = std::move(counters);
  stage_.counted = static_cast<bool>(counters_);
  stage_.unit = stage_.counted ? counters_.unit : std::string();
  stage_.started = stage_.finished = 0;
  if (counters_) stage_.finished = counters_.finished();
  if (stage_.next_check() < armed_) wake();
}

void TcpGroup::update_progress() {
  if (!counters_) return;
  stage_.started = counters_.started();
  const auto now = counters_.finished();
  if (std::exchange(stage_.finished, now) != now) stage_.deadline = after(stage_.limit);
}

Result<void> TcpGroup::post(Kind kind, std::string_view text) {
  if (text.size() > kMaxText) {
    return make_error("message of {} bytes: expected at most {}", text.size(), kMaxText);
  }
  auto message = pack(kind, text);
  const std::lock_guard lock(mutex_);
  if (trouble_) return make_error(*trouble_);
  orders_.posts.push_back(std::move(message));
  wake();
  return {};
}

bool TcpGroup::can_collect() const {
  bool complete = true;
  for (const auto& inbox : inboxes_) {
    if (!inbox.messages.empty()) continue;
    if (inbox.left) return true;  // which is an error
    complete = complete && inbox.lost;
  }
  return complete || trouble_;
}

Result<std::vector<std::string>> TcpGroup::collect(Kind kind) {
  std::unique_lock lock(mutex_);
  stage_.waits = true;
  changed_.wait(lock, [this] { return can_collect(); });
  stage_.waits = false;
  if (trouble_) return make_error(*trouble_);
  std::vector<std::string> result;
  result.reserve(inboxes_.size());
  for (auto& inbox : inboxes_) {
    if (inbox.messages.empty()) {
      if (inbox.left) return make_error("a rank has left the run early");
      result.emplace_back();  // lost
      continue;
    }
    auto message = std::move(inbox.messages.front());
    inbox.messages.pop_front();
    inbox.bytes -= message.payload.size();
    if (message.kind != kind) return make_error("bug in muster-bench: ranks are out of step");
    result.push_back(std::move(message.payload));
  }
  return result;
}

std::vector<int> TcpGroup::awaited() {
  std::vector<int> ranks;
  if (options_.rank != 0) return ranks;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; stage_.waits && i < inboxes_.size(); ++i) {
    const auto& inbox = inboxes_[i];
    const bool silent = inbox.messages.empty() && !inbox.left && !inbox.lost;
    if (silent) ranks.push_back(static_cast<int>(i) + 1);
  }
  return ranks;
}

void TcpGroup::go_on_without_the_lost() {
  const std::lock_guard lock(mutex_);
  goes_on_ = true;
}

std::vector<Trouble> TcpGroup::losses() {
  const std::lock_guard lock(mutex_);
  return losses_;
}

bool TcpGroup::pass_over(const Trouble& loss, const std::vector<std::size_t>& sources) {
  const std::lock_guard lock(mutex_);
  if (!goes_on_) return false;
  losses_.push_back(loss);
  for (const auto source : sources) inboxes_[source].lost = true;
  changed_.notify_all();
  return true;
}

void TcpGroup::give_up(Trouble reason) {
  std::unique_lock lock(mutex_);
  if (!orders_.giving_up) orders_.giving_up = std::move(reason);
  wake();
  changed_.wait_for(lock, 2 * options_.grace, [this] { return ended_; });
}

TcpGroup::Orders TcpGroup::take_orders() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return {std::exchange(orders_.posts, {}), orders_.giving_up, orders_.leaving};
}

Stage TcpGroup::stage() {
  const std::lock_guard lock(mutex_);
  update_progress();
  return stage_;
}

void TcpGroup::arm(Clock::time_point until, bool watches_deadlines) {
  const std::lock_guard lock(mutex_);
  armed_ = watches_deadlines ? until : Clock::time_point::min();
  // The process may have entered a phase since `until` was chosen.
  if (stage_.deadline < armed_) wake();
}

bool TcpGroup::deliver(std::size_t source, Message message) {
  const std::lock_guard lock(mutex_);
  auto& inbox = inboxes_[source];
  inbox.bytes += message.payload.size();
  if (inbox.bytes > 2 * kMaxText) return false;
  inbox.messages.push_back(std::move(message));
  if (can_collect()) changed_.notify_all();
  return true;
}

void TcpGroup::mark(bool& flag) {
  const std::lock_guard lock(mutex_);
  flag = true;
  changed_.notify_all();
}

void TcpGroup::mark_left(std::size_t source) { mark(inboxes_[source].left); }

void TcpGroup::mark_joined() { mark(joined_); }

void TcpGroup::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!trouble_) trouble_ = std::move(why);
  changed_.notify_all();
}

}  // namespace muster::bench
