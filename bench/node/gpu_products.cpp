// SPDX-License-Identifier: Apache-2.0
// gpu.truth: whether each GPU's products are right every time.
#include <fmt/format.h>

#include <algorithm>

#include "bench/node/products.hpp"
#include "bench/node/tests.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench::node {
namespace {

// The launches of one GPU with one answer; the first that is wrong is told.
Result<std::optional<Finding>> look_for_wrong(NodeGpu& gpu, const Answer& answer,
                                              std::chrono::duration<double> time,
                                              std::uint64_t& launches) {
  constexpr int kLeast = 3;
  Products products(gpu, answer);
  TRY(products.prepare());
  const auto end = Clock::now() + time;
  for (int i = 0; i < kLeast || Clock::now() < end; ++i) {
    if (auto started = products.start(); !started) return tl::unexpected(started.error());
    TRY_ASSIGN(const auto counts, products.compare());
    ++launches;
    if (counts.wrong != 0) return std::optional(wrong_product(gpu, counts, launches));
  }
  gpu.release_all();
  return std::optional<Finding>();
}

}  // namespace

Result<TestResult> run_gpu_truth(const TestInput& input) {
  constexpr std::uint64_t kAnswers = 3;
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  const auto share = input.time / (static_cast<double>(kAnswers) *
                                   std::max(1.0, static_cast<double>(all.gpus.size())));
  std::vector<std::uint64_t> launches(all.gpus.size());
  std::vector<bool> over(all.gpus.size());
  for (std::uint64_t seed = 1; seed <= kAnswers; ++seed) {
    const auto answer = make_answer(seed);
    for (std::size_t i = 0; i < all.gpus.size(); ++i) {
      if (over[i]) continue;
      auto wrong = look_for_wrong(*all.gpus[i], answer, share, launches[i]);
      over[i] = !wrong || wrong->has_value();
      if (!wrong) {
        result.findings.push_back(unjudged(all.gpus[i]->name(), wrong.error().message));
      } else if (*wrong) {
        result.findings.push_back(**std::move(wrong));
      }
    }
  }
  for (std::size_t i = 0; i < all.gpus.size(); ++i) {
    if (over[i]) continue;
    result.findings.push_back(
        {.device = all.gpus[i]->name(),
         .outcome = Outcome::pass,
         .message = fmt::format("{} products of {} answers were right to the last bit", launches[i],
                                kAnswers)});
  }
  return result;
}

}  // namespace muster::bench::node
