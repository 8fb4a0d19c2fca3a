// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/group/harness.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "bench/sockets/sockets.hpp"

namespace muster::bench {

Listener listen_here() {
  auto listener = listen_anywhere().value();
  listener.addresses = {{"127.0.0.1", listener.addresses.back().port}};
  return listener;
}

JoinOptions options_for(const Setting& setting, Listener& listener, Rank& into) {
  JoinOptions options{.rank = into.rank,
                      .world = setting.world,
                      .addresses = listener.addresses,
                      .secret = setting.secret,
                      .name = "test",
                      .patience = setting.patience,
                      .grace = setting.grace,
                      .hello_limit = setting.hello_limit};
  if (into.rank == 0) options.listener = std::move(listener.socket);
  options.on_trouble = [&into](const Trouble& trouble) {
    ++into.troubles;
    into.trouble = trouble;
  };
  options.note = [&into](std::string_view note) { into.notes.emplace_back(note); };
  return options;
}

void join_and_work(JoinOptions options, Rank& into, const RankWork& work) {
  const auto group = Group::join(std::move(options));
  if (!group) {
    into.error = group.error().message;
    return;
  }
  work(**group);
}

std::vector<Rank> first_ranks(int count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  int number = 0;
  for (auto& rank : ranks) rank.rank = number++;
  return ranks;
}

std::vector<Rank> run_threads(const Setting& setting, const RankWork& work) {
  auto listener = listen_here();
  auto ranks = first_ranks(setting.world);
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    auto options = options_for(setting, listener, rank);
    threads.emplace_back([options = std::move(options), &rank, &work]() mutable {
      join_and_work(std::move(options), rank, work);
    });
  }
  for (auto& thread : threads) thread.join();
  return ranks;
}

Process::Process(const Setting& setting, Listener& listener, int rank, const RankWork& work)
    : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Rank into{.rank = rank};
  auto options = options_for(setting, listener, into);
  options.on_trouble = [](const Trouble& /*trouble*/) { ::_exit(kReported); };
  join_and_work(std::move(options), into, work);
  ::_exit(into.error.empty() ? 0 : 1);
}

Process::Process(const std::function<void()>& work) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  ::_exit(0);
}

Process::~Process() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::has_ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

int Process::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace muster::bench
