// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/job_limit.hpp"

#include <algorithm>
#include <tuple>

namespace muster {
namespace {

bool names_algorithm(const JobLimit& limit) {
  return limit.algorithm.value_or(BenchAlgorithm::any) != BenchAlgorithm::any;
}

// Nodes of one NVLink domain are expected to use it if the profile has a limit for it.
bool is_judged_by_domain(std::span<const JobLimit> limits, const JobConditions& job) {
  return job.one_domain && std::ranges::any_of(limits, [&](const JobLimit& limit) {
           return limit.over == BenchOver::nvlink && may_hold(limit, job);
         });
}

bool fits_network(const JobLimit& limit, const JobConditions& job, bool by_domain) {
  if (by_domain) return limit.over == BenchOver::nvlink;
  if (job.over.empty()) return limit.over != BenchOver::nvlink;
  return !limit.over || to_string(*limit.over) == job.over;
}

}  // namespace

bool may_hold(const JobLimit& limit, const JobConditions& job) {
  return limit.nodes_at_least.value_or(job.nodes) <= job.nodes &&
         limit.nodes_at_most.value_or(job.nodes) >= job.nodes &&
         limit.memory.value_or(BenchMemory::gpu) == job.memory;
}

bool fits_algorithm(const JobLimit& limit, std::string_view algorithm) {
  return !names_algorithm(limit) || to_string(*limit.algorithm) == algorithm;
}

const JobLimit* limit_of_job(std::span<const JobLimit> limits, const JobConditions& job,
                             bool failing) {
  const auto rank = [&](const JobLimit& limit) {
    const bool fits = fits_algorithm(limit, job.algorithm);
    return std::tuple(fits, fits && names_algorithm(limit),
                      fits ? limit.nodes_at_least.value_or(0) : 0,
                      -limit.fail_below.value_or(BytesPerSecond{}).value);
  };
  const bool by_domain = is_judged_by_domain(limits, job);
  const JobLimit* best = nullptr;
  for (const auto& limit : limits) {
    if (!may_hold(limit, job) || !fits_network(limit, job, by_domain)) continue;
    if (failing && !limit.fail_below) continue;
    if (best == nullptr || rank(limit) > rank(*best)) best = &limit;
  }
  return best;
}

}  // namespace muster
