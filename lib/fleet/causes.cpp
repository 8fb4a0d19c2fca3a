// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {
namespace {

std::string hours_text(double hours) {
  return hours < 10 ? fmt::format("{:.1f}", hours) : fmt::format("{:.0f}", hours);
}

}  // namespace

Mtbf mtbf_of(double exposure_h, std::int64_t incidents) {
  constexpr double kEachEnd = 0.95;
  Mtbf mtbf{.exposure_h = exposure_h, .incidents = incidents};
  mtbf.low_h = exposure_h / highest_mean(incidents, kEachEnd);
  if (incidents == 0 || exposure_h <= 0) return mtbf;
  mtbf.hours = exposure_h / static_cast<double>(incidents);
  mtbf.high_h = exposure_h / lowest_mean(incidents, kEachEnd);
  return mtbf;
}

std::string mtbf_text(const Mtbf& mtbf) {
  if (mtbf.exposure_h <= 0) return "not known";
  if (!mtbf.hours) return fmt::format("> {} h", hours_text(mtbf.low_h));
  return fmt::format("{} h ({} to {})", hours_text(*mtbf.hours), hours_text(mtbf.low_h),
                     hours_text(*mtbf.high_h));
}

std::vector<CauseRow> pareto_of(std::vector<Cause> causes) {
  const auto total = [&](auto member) {
    return std::accumulate(causes.begin(), causes.end(), 0.0, [&](double sum, const Cause& each) {
      return sum + static_cast<double>(each.*member);
    });
  };
  const double lost_h = total(&Cause::lost_h);
  const double all = lost_h > 0 ? lost_h : total(&Cause::incidents);
  std::ranges::sort(causes, [](const Cause& a, const Cause& b) {
    return std::tie(b.lost_h, b.incidents, a.key) < std::tie(a.lost_h, a.incidents, b.key);
  });
  std::vector<CauseRow> rows;
  double cumulated = 0;
  for (auto& cause : causes) {
    const double share = lost_h > 0 ? cause.lost_h : static_cast<double>(cause.incidents);
    cumulated += share;
    rows.push_back({.key = std::move(cause.key),
                    .incidents = cause.incidents,
                    .lost_h = cause.lost_h,
                    .share = all > 0 ? share / all : 0,
                    .cumulated = all > 0 ? cumulated / all : 0,
                    .mtbf = mtbf_of(cause.exposure_h, cause.incidents)});
  }
  return rows;
}

}  // namespace muster::fleet
