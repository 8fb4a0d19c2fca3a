// SPDX-License-Identifier: Apache-2.0
#include "bench/group/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <thread>
#include <utility>

#include "bench/group/communication.hpp"
#include "bench/group/phase_monitor.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench {
namespace {

// Its thread answers even while the process hangs.
class TcpGroup final : public Group {
 public:
  TcpGroup(JoinOptions options, std::unique_ptr<PhaseMonitor> monitor)
      : options_(std::move(options)), monitor_(std::move(monitor)) {}

  TcpGroup(const TcpGroup&) = delete;
  TcpGroup& operator=(const TcpGroup&) = delete;

  ~TcpGroup() override {
    monitor_->leave();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] Result<void> begin() {
    // The new thread handles no signals.
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return monitor_->wait_joined();
  }

  [[nodiscard]] int rank() const override { return options_.rank; }

  [[nodiscard]] int size() const override { return options_.world; }

  [[nodiscard]] Result<std::vector<std::string>> gather(std::string_view mine) override {
    if (options_.rank != 0) {
      return monitor_->post(Kind::gather, mine).map([] { return std::vector<std::string>(); });
    }
    TRY_ASSIGN(auto texts, monitor_->collect(Kind::gather));
    texts.insert(texts.begin(), std::string(mine));
    return texts;
  }

  [[nodiscard]] Result<std::string> broadcast(std::string_view text) override {
    if (options_.rank == 0) {
      return monitor_->post(Kind::broadcast, text).map([&] { return std::string(text); });
    }
    return monitor_->collect(Kind::broadcast).map([](std::vector<std::string> texts) {
      return std::move(texts.front());
    });
  }

  [[nodiscard]] Result<void> barrier() override {
    if (options_.rank != 0) TRY(monitor_->post(Kind::barrier, {}));
    TRY(monitor_->collect(Kind::barrier));
    return options_.rank == 0 ? monitor_->post(Kind::barrier, {}) : Result<void>();
  }

  void enter(Phase phase, Clock::duration limit, ProgressCounters counters) override {
    monitor_->enter(std::move(phase), limit, std::move(counters));
  }

  [[nodiscard]] std::vector<int> awaited() override {
    std::vector<int> ranks;
    if (options_.rank != 0) return ranks;
    for (const auto source : monitor_->awaited()) ranks.push_back(static_cast<int>(source) + 1);
    return ranks;
  }

  void go_on_without_the_lost() override { monitor_->go_on_without_the_lost(); }

  [[nodiscard]] std::vector<Trouble> losses() override { return monitor_->losses(); }

  void give_up(GivingUp reason) override {
    monitor_->give_up(std::move(reason), 2 * options_.grace);
  }

 private:
  void work() {
    if (options_.rank == 0) {
      serve_ranks(options_, *monitor_, std::move(options_.listener));
    } else {
      follow_rank_0(options_, *monitor_);
    }
    monitor_->mark_ended();
  }

  JoinOptions options_;
  std::unique_ptr<PhaseMonitor> monitor_;
  std::thread thread_;
};

Result<void> prepare(JoinOptions& options) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return make_error(fmt::format("invalid rank {} of {}: ranks are counted from 0", options.rank,
                                  options.world));
  }
  if (options.world == 1 || options.listener.is_open()) return {};
  if (options.addresses.empty()) {
    return make_error(fmt::format(
        "the address of rank 0 of {} is unknown: give --rendezvous HOST:PORT", options.world));
  }
  if (options.rank != 0) return {};
  auto listener = listen_on(options.addresses.front());
  if (!listener) {
    return make_error(fmt::format("{}; name another address with --rendezvous HOST:PORT",
                                  listener.error().message));
  }
  options.listener = *std::move(listener);
  return {};
}

}  // namespace

Result<std::unique_ptr<Group>> Group::join(JoinOptions options) {
  TRY(prepare(options));
  constexpr std::size_t kOwnDescriptors = 256;
  const auto others = static_cast<std::size_t>(options.world - 1);
  if (options.rank == 0 && others > 0) TRY(allow_descriptors("rank 0", others + kOwnDescriptors));
  TRY_ASSIGN(auto monitor, PhaseMonitor::make(options.rank == 0 ? others : 1));
  auto group = std::make_unique<TcpGroup>(std::move(options), std::move(monitor));
  TRY(group->begin());
  return group;
}

}  // namespace muster::bench
