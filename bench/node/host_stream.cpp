// SPDX-License-Identifier: Apache-2.0
// host.stream: the bandwidth of the host's memory, of the whole node and of each NUMA node.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

#include "bench/backends/nccl/binding.hpp"
#include "bench/node/host.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace muster::bench::node {
namespace {

constexpr std::size_t kPeriod = 4099;  // prime, unlike the length of a page or a stripe

const std::array<double, kPeriod>& stream_values() {
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

#ifdef __x86_64__
#define MUSTER_FASTEST(name)                         \
  (__builtin_cpu_supports("avx512f") ? name##_avx512 \
   : __builtin_cpu_supports("avx2")  ? name##_avx2   \
                                     : name##_sse2)
#else
// Streaming stores are not portable.
#define MUSTER_FASTEST(name) name##_ordinary
#endif

void assign(double* target, double value) { *target = value; }

// Array `out` becomes the expression, element by element or vector by vector.
// NOLINTBEGIN(bugprone-macro-parentheses): names are concatenated
#define MUSTER_KERNEL(name, attribute, Element, store, fence, out, expression)            \
  attribute void name(const StreamArrays& arrays) {                                       \
    for (std::size_t i = 0; i < arrays.count; i += sizeof(Element) / sizeof(double)) {    \
      [[maybe_unused]] const Element a = *reinterpret_cast<const Element*>(arrays.a + i); \
      [[maybe_unused]] const Element b = *reinterpret_cast<const Element*>(arrays.b + i); \
      store(arrays.out + i, expression);                                                  \
    }                                                                                     \
    fence;                                                                                \
  }
#define MUSTER_KERNELS(suffix, attribute, Element, store, fence)                 \
  MUSTER_KERNEL(copy_##suffix, attribute, Element, store, fence, b, a)           \
  MUSTER_KERNEL(scale_##suffix, attribute, Element, store, fence, b, kScalar* a) \
  MUSTER_KERNEL(add_##suffix, attribute, Element, store, fence, c, a + b)        \
  MUSTER_KERNEL(triad_##suffix, attribute, Element, store, fence, c, b + kScalar * a)
// NOLINTEND(bugprone-macro-parentheses)

MUSTER_KERNELS(ordinary, , double, assign, static_cast<void>(0))
#ifdef __x86_64__
// Their stores bypass the caches.
#define MUSTER_TARGET(name) __attribute__((target(name)))
MUSTER_KERNELS(sse2, MUSTER_TARGET("sse2"), __m128d, _mm_stream_pd, _mm_sfence())
MUSTER_KERNELS(avx2, MUSTER_TARGET("avx2"), __m256d, _mm256_stream_pd, _mm_sfence())
MUSTER_KERNELS(avx512, MUSTER_TARGET("avx512f"), __m512d, _mm512_stream_pd, _mm_sfence())
#endif

struct StreamPlan {
  std::vector<unsigned> cpus;
  std::uint64_t array_bytes = 0;
  std::chrono::duration<double> time{1};
};

struct StreamTimes {
  std::array<std::vector<double>, kStreamKernels> seconds;  // of each round, by kernel
  std::uint64_t bytes = 0;                                  // of an array
  std::uint64_t wrong = 0;                                  // elements, over all rounds
  unsigned wrong_cpu = 0;                                   // that found the first of them
};

class StreamRun {
 public:
  StreamRun(const StreamPlan& plan, FreshMemory a, FreshMemory b, FreshMemory c)
      : plan_(plan), a_(std::move(a)), b_(std::move(b)), c_(std::move(c)), gate_(plan.cpus.size()) {
    times_.bytes = a_.bytes();
  }

  [[nodiscard]] Result<StreamTimes> run() {
    TRY(on_each(plan_.cpus, [this](std::size_t thread) { run_thread(thread); }));
    return std::move(times_);
  }

 private:
  // The first element of a thread. Its part is in whole cache lines.
  [[nodiscard]] std::size_t first_of(std::size_t thread) const {
    constexpr std::size_t kLine = 64 / sizeof(double);
    const auto lines = a_.bytes() / sizeof(double) / kLine;
    return lines * thread / plan_.cpus.size() * kLine;
  }

  void run_thread(std::size_t thread) {
    constexpr int kFewestRounds = 3;
    constexpr int kMaxRounds = 100;
    const auto first = first_of(thread);
    const StreamArrays mine{.a = a_.as<double>() + first,
                            .b = b_.as<double>() + first,
                            .c = c_.as<double>() + first,
                            .count = first_of(thread + 1) - first};
    // The first touch places each page near the CPU that uses it.
    for (std::size_t i = 0; i < mine.count; ++i) {
      mine.a[i] = stream_value(first + i);
      mine.b[i] = mine.c[i] = -1;
    }
    // Runs both forms once, to choose between them and to warm up.
    std::array<double, kStreamKernels> ordinary{};
    for (std::size_t k = 0; k < kStreamKernels; ++k) ordinary.at(k) = time_once(mine, k, false);
    for (std::size_t k = 0; k < kStreamKernels; ++k) {
      const double seconds = time_once(mine, k, true);
      if (thread == 0) streaming_.at(k) = seconds < ordinary.at(k);
    }
    gate_.pass();
    const auto begin = Clock::now();
    for (int round = 0;; ++round) {
      if (thread == 0) {
        more_ = round < kFewestRounds || (round < kMaxRounds && Clock::now() - begin < plan_.time);
      }
      gate_.pass();
      if (!more_) break;
      for (std::size_t k = 0; k < kStreamKernels; ++k) {
        const double seconds = time_once(mine, k, streaming_.at(k));
        if (thread == 0) times_.seconds.at(k).push_back(seconds);
        verify(thread, mine, first, k);
      }
    }
  }

  [[nodiscard]] double time_once(const StreamArrays& mine, std::size_t k, bool streaming) {
    const auto& kernel = stream_kernels().at(k);
    gate_.pass();
    const auto begin = Clock::now();
    (streaming ? kernel.streaming : kernel.ordinary)(mine);
    gate_.pass();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void verify(std::size_t thread, const StreamArrays& mine, std::size_t first, std::size_t k) {
    // The results as multiples of a: b = a, b = 3a, c = a + 3a, c = 3a + 3a.
    constexpr std::array<double, kStreamKernels> kFactors{1, kScalar, 1 + kScalar, 2 * kScalar};
    const auto* made = stream_kernels().at(k).into_c ? mine.c : mine.b;
    const double factor = kFactors.at(k);
    std::uint64_t wrong = 0;
    auto at = first % kPeriod;
    for (std::size_t i = 0; i < mine.count;) {
      const auto run = std::min(kPeriod - at, mine.count - i);
      const double* expected = stream_values().data() + at;
      for (std::size_t j = 0; j < run; ++j) {
        wrong += static_cast<std::uint64_t>(made[i + j] != factor * expected[j]);
      }
      i += run;
      at = 0;
    }
    if (wrong == 0) return;
    const std::lock_guard lock(mutex_);
    if (times_.wrong == 0) times_.wrong_cpu = plan_.cpus[thread];
    times_.wrong += wrong;
  }

  const StreamPlan& plan_;
  FreshMemory a_, b_, c_;
  Gate gate_;
  StreamTimes times_;
  std::array<bool, kStreamKernels> streaming_{};  // the streaming form is the faster one
  bool more_ = true;
  std::mutex mutex_;
};

Result<StreamTimes> run_stream(const StreamPlan& plan) {
  if (plan.cpus.empty()) return make_error("no CPU to run on");
  TRY_ASSIGN(auto a, FreshMemory::reserve(plan.array_bytes));
  TRY_ASSIGN(auto b, FreshMemory::reserve(plan.array_bytes));
  TRY_ASSIGN(auto c, FreshMemory::reserve(plan.array_bytes));
  return StreamRun(plan, std::move(a), std::move(b), std::move(c)).run();
}

using StreamSeries = std::array<Series, kStreamKernels>;

void add_values(const std::string& device, const StreamTimes& times, StreamSeries& series) {
  for (std::size_t k = 0; k < kStreamKernels; ++k) {
    const auto bytes = static_cast<double>(times.bytes) / sizeof(double) *
                       stream_kernels().at(k).bytes_per_element;
    std::vector<double> rates;
    for (const double seconds : times.seconds.at(k)) rates.push_back(bytes / seconds / kGiga);
    series.at(k).values.push_back(best_of(device, rates));
    series.at(k).size_bytes = static_cast<std::int64_t>(times.bytes);
    series.at(k).iterations = std::ssize(rates);
  }
}

// `part`: of the node; empty for all of it.
StreamSeries empty_series(std::string_view part) {
  StreamSeries series;
  for (std::size_t k = 0; k < kStreamKernels; ++k) {
    const auto name = stream_kernels().at(k).name;
    series.at(k).what = fmt::format("{}{}{}", name, part.empty() ? "" : " ", part);
    series.at(k).quantity = fmt::format("stream_{}", name);
    series.at(k).unit = "GB/s";
    series.at(k).limited = part.empty();
  }
  return series;
}

std::uint64_t usual_bytes(const Root& root, const std::vector<unsigned>& cpus) {
  return stream_array_bytes(cache_bytes(root, cpus), memory_available(root));
}

}  // namespace

const std::array<StreamKernel, kStreamKernels>& stream_kernels() {
  constexpr double kWord = sizeof(double);
  static const std::array<StreamKernel, kStreamKernels> kernels{
      {{"copy", 2 * kWord, false, copy_ordinary, MUSTER_FASTEST(copy)},
       {"scale", 2 * kWord, false, scale_ordinary, MUSTER_FASTEST(scale)},
       {"add", 3 * kWord, true, add_ordinary, MUSTER_FASTEST(add)},
       {"triad", 3 * kWord, true, triad_ordinary, MUSTER_FASTEST(triad)}}};
  return kernels;
}

double stream_value(std::size_t index) { return stream_values()[index % kPeriod]; }

std::uint64_t stream_array_bytes(std::uint64_t caches, std::uint64_t available) {
  constexpr std::uint64_t kMin = 256UL << 20U;
  constexpr std::uint64_t kPage = 2UL << 20U;
  const auto wanted = std::max(kMin, 4 * caches);
  const auto bytes = available == 0 ? kMin : std::min(wanted, available / 6);
  return bytes / kPage * kPage;
}

Result<TestResult> run_host_stream(const TestInput& input) {
  const Root root;
  TRY_ASSIGN(const auto own, own_cpus());
  TRY_ASSIGN(auto parts, numa_cpus(root, own));
  std::erase_if(parts, [](const NumaCpus& node) { return node.cpus.empty(); });
  const auto share = input.time / (parts.size() > 1 ? static_cast<double>(parts.size()) + 1 : 1);
  TestResult result;
  const auto measure = [&](const std::string& device, const std::vector<unsigned>& cpus,
                           StreamSeries& series) -> Result<void> {
    const auto bytes = input.bytes != 0 ? input.bytes : usual_bytes(root, cpus);
    TRY_ASSIGN(const auto times, run_stream({.cpus = cpus, .array_bytes = bytes, .time = share}));
    add_values(device, times, series);
    if (times.wrong == 0) return {};
    result.findings.push_back(broken(
        device, fmt::format("{} elements are wrong, a fault of memory or processor; CPU {} found "
                            "the first",
                            times.wrong, times.wrong_cpu)));
    return {};
  };
  const auto part = restriction_of_cpus(root, own);
  auto whole = empty_series(part.empty() ? "" : fmt::format("on {}", part));
  TRY(measure("node", own, whole));
  std::ranges::move(whole, std::back_inserter(result.series));
  input.require_size_for(result, usual_bytes(root, own), "arrays");
  if (!part.empty()) result.leave_unjudged(fmt::format("used {}, and the limit is for all", part));
  if (parts.size() < 2) return result;
  auto each = empty_series("per NUMA node");
  for (const auto& part : parts) {
    TRY(measure(fmt::format("numa{}", part.node), part.cpus, each));
  }
  std::ranges::move(each, std::back_inserter(result.series));
  return result;
}

}  // namespace muster::bench::node
