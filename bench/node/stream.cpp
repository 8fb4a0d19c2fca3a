// SPDX-License-Identifier: Apache-2.0
#include "bench/node/stream.hpp"

#include <algorithm>
#include <mutex>

#include "bench/node/cpus.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench::node {
namespace {

constexpr std::size_t kPeriod = 4099;  // prime: no page and no stripe is as long
constexpr std::size_t kLine = 64 / sizeof(double);
constexpr int kLeastRounds = 3;
constexpr int kMostRounds = 100;

const std::array<double, kPeriod>& values() {
  static const auto table = [] {
    std::array<double, kPeriod> made{};
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (auto& value : made) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      value = static_cast<double>((state >> 14U) | 1U);
    }
    return made;
  }();
  return table;
}

// The factor of a's values that this kernel leaves: b = a, b = 3a, c = a + 3a, c = 3a + 3a.
constexpr std::array<double, kStreamKernels> kFactors{1, kScalar, 1 + kScalar, 2 * kScalar};

class Run {
 public:
  Run(const StreamPlan& plan, FreshMemory a, FreshMemory b, FreshMemory c)
      : plan_(plan), a_(std::move(a)), b_(std::move(b)), c_(std::move(c)), gate_(plan.cpus.size()) {
    outcome_.bytes = a_.bytes();
  }

  Result<StreamOutcome> run() {
    TRY(on_each(plan_.cpus, [this](std::size_t thread) { work(thread); }));
    return std::move(outcome_);
  }

 private:
  // The stretch of one thread, in whole cache lines.
  [[nodiscard]] std::size_t first_of(std::size_t thread) const {
    const auto lines = a_.bytes() / sizeof(double) / kLine;
    return lines * thread / plan_.cpus.size() * kLine;
  }

  void work(std::size_t thread) {
    const auto first = first_of(thread);
    const Arrays mine{.a = a_.as<double>() + first,
                      .b = b_.as<double>() + first,
                      .c = c_.as<double>() + first,
                      .count = first_of(thread + 1) - first};
    // The first touch places each page beside the CPU that will use it.
    for (std::size_t i = 0; i < mine.count; ++i) {
      mine.a[i] = stream_value(first + i);
      mine.b[i] = mine.c[i] = -1;
    }
    // Both forms once, to choose from and to warm up.
    std::array<double, kStreamKernels> ordinary{};
    for (std::size_t k = 0; k < kStreamKernels; ++k) ordinary.at(k) = once(mine, k, false);
    for (std::size_t k = 0; k < kStreamKernels; ++k) {
      const double seconds = once(mine, k, true);
      if (thread == 0) past_.at(k) = seconds < ordinary.at(k);
    }
    gate_.pass();
    const auto begin = Clock::now();
    for (int round = 0;; ++round) {
      if (thread == 0) {
        goes_on_ =
            round < kLeastRounds || (round < kMostRounds && Clock::now() - begin < plan_.time);
      }
      gate_.pass();
      if (!goes_on_) break;
      for (std::size_t k = 0; k < kStreamKernels; ++k) {
        const double seconds = once(mine, k, past_.at(k));
        if (thread == 0) outcome_.seconds.at(k).push_back(seconds);
        verify(thread, mine, first, k);
      }
    }
  }

  double once(const Arrays& mine, std::size_t k, bool past_caches) {
    const auto& kernel = stream_kernels().at(k);
    gate_.pass();
    const auto begin = Clock::now();
    (past_caches ? kernel.past_caches : kernel.ordinary)(mine);
    gate_.pass();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void verify(std::size_t thread, const Arrays& mine, std::size_t first, std::size_t k) {
    const auto* made = stream_kernels().at(k).into_c ? mine.c : mine.b;
    const double factor = kFactors.at(k);
    std::uint64_t wrong = 0;
    auto at = first % kPeriod;
    for (std::size_t i = 0; i < mine.count;) {
      const auto run = std::min(kPeriod - at, mine.count - i);
      const double* expected = values().data() + at;
      for (std::size_t j = 0; j < run; ++j) {
        wrong += static_cast<std::uint64_t>(made[i + j] != factor * expected[j]);
      }
      i += run;
      at = 0;
    }
    if (wrong == 0) return;
    const std::lock_guard lock(mutex_);
    if (outcome_.wrong == 0) outcome_.wrong_cpu = plan_.cpus[thread];
    outcome_.wrong += wrong;
  }

  const StreamPlan& plan_;
  FreshMemory a_, b_, c_;
  Gate gate_;
  StreamOutcome outcome_;
  std::array<bool, kStreamKernels> past_{};  // the form past the caches is the faster one
  bool goes_on_ = true;
  std::mutex mutex_;
};

}  // namespace

double stream_value(std::size_t index) { return values()[index % kPeriod]; }

std::uint64_t stream_array_bytes(std::uint64_t caches, std::uint64_t available) {
  constexpr std::uint64_t kLeast = 256UL << 20U;
  constexpr std::uint64_t kPage = 2UL << 20U;
  const auto wanted = std::max(kLeast, 4 * caches);
  const auto bytes = available == 0 ? kLeast : std::min(wanted, available / 6);
  return bytes / kPage * kPage;
}

Result<StreamOutcome> run_stream(const StreamPlan& plan) {
  if (plan.cpus.empty()) return make_error("no CPU to run on");
  auto a = FreshMemory::reserve(plan.array_bytes);
  auto b = FreshMemory::reserve(plan.array_bytes);
  auto c = FreshMemory::reserve(plan.array_bytes);
  for (const auto* each : {&a, &b, &c}) {
    if (!*each) return tl::unexpected(each->error());
  }
  return Run(plan, *std::move(a), *std::move(b), *std::move(c)).run();
}

}  // namespace muster::bench::node
