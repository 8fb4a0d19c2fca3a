// SPDX-License-Identifier: Apache-2.0
// Measures the driver of an acceptance of many nodes: memory, and the time for the whole run, for
// resuming it and for next(). See docs/performance.md.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

#include "accept/loop.hpp"
#include "accept/sim.hpp"
#include "lib/base/text.hpp"
#include "tests/accept/fleet_of.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

// Processor time, which does not depend on other programs.
double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double most_memory_mib() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Result<void> drive(OrFailure<RunFolder> folder) {
  if (!folder) return make_error(folder.error().message);
  TRY_ASSIGN(const auto fleet, make_sim_fleet(folder->order(), "", folder->results()));
  TRY(run_acceptance(*folder, *fleet));
  return {};
}

Result<void> accept_all(const std::filesystem::path& path, int nodes) {
  const auto begin = std::clock();
  TRY(drive(RunFolder::create(path, order_of(nodes))));
  fmt::print("the whole run: {:.1f} s of processor time, at most {:.0f} MiB of memory\n",
             seconds_since(begin), most_memory_mib());
  return {};
}

Result<void> resume(const std::filesystem::path& path) {
  using Clock = std::chrono::steady_clock;
  auto begin = std::clock();
  const auto started = Clock::now();
  TRY(drive(RunFolder::open(path, RunFolder::Use::drive)));
  fmt::print("resuming it: {:.2f} s, {:.2f} s of processor time, at most {:.0f} MiB\n",
             std::chrono::duration<double>(Clock::now() - started).count(), seconds_since(begin),
             most_memory_mib());
  const auto folder = RunFolder::open(path, RunFolder::Use::read);
  if (!folder) return make_error(folder.error().message);
  const auto& results = folder->results();
  const std::vector<bool> reachable(folder->order().nodes.size(), true);
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    begin = std::clock();
    (void)next(folder->order(), results, reachable, folder->order().created);
    times.push_back(seconds_since(begin));
  }
  std::ranges::sort(times);
  fmt::print("next() on {} attempts and {} of groups: {:.1f} ms (median of {})\n",
             results.attempts.size(), results.groups.size(), 1000 * times[times.size() / 2],
             times.size());
  return {};
}

// Runs in its own process, so that its memory can be measured.
template <class Work>
bool in_child(const Work& work) {
  (void)std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    const auto done = work();
    if (!done) fmt::print(stderr, "{}\n", done.error().message);
    (void)std::fflush(nullptr);
    ::_exit(done ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace
}  // namespace muster::accept

int main(int count, char** words) {
  using namespace muster::accept;
  const auto nodes = count > 1 ? muster::parse_unsigned(words[1]).value_or(0) : 10'000;
  if (nodes < 2 || nodes > kMaxNodes) {
    fmt::print(stderr, "usage: accept_cost [NODES]\n");
    return 64;
  }
  const muster::TempDir temp;
  const auto path = temp.path() / "run";
  fmt::print("{} nodes, plan quick\n", nodes);
  const bool good = in_child([&] { return accept_all(path, static_cast<int>(nodes)); }) &&
                    in_child([&] { return resume(path); });
  return good ? 0 : 1;
}
