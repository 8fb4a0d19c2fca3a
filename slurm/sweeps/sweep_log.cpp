// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "lib/hosts/hostlist.hpp"

namespace muster::slurm {
namespace {

constexpr std::string_view kPlanned = "planned";
constexpr std::string_view kSubmitted = "submitted";
constexpr std::string_view kSweep = "sweep";

// NTP may set a clock back by this much.
constexpr std::chrono::seconds kClockTolerance{600};

// "locate" of the token "locate-5e7a".
std::string kind_of(const Event& event) { return event.reason.substr(0, event.reason.find('-')); }

std::optional<SweepJob> job_of(const Event& event) {
  const auto prefix = fmt::format("{} in ", kind_of(event));
  auto nodes = expand_hostlist(event.node);
  if (!nodes || !event.message.starts_with(prefix)) return std::nullopt;
  return SweepJob{.kind = kind_of(event),
                  .partition = event.message.substr(prefix.size()),
                  .nodes = *std::move(nodes),
                  .token = event.reason,
                  .number = event.job,
                  .submitted = event.at};
}

std::optional<SweepVerdict> verdict_of(const Event& event) {
  const auto prefix = fmt::format("{}: ", kind_of(event));
  if (!event.message.starts_with(prefix)) return std::nullopt;
  const auto text = event.message.substr(prefix.size());
  for (const auto verdict : {Verdict::healthy, Verdict::unhealthy, Verdict::unknown}) {
    if (!text.starts_with(sweep_word(verdict))) continue;
    return SweepVerdict{.at = event.at,
                        .kind = kind_of(event),
                        .node = event.node,
                        .verdict = verdict,
                        .text = text,
                        .check = event.check,
                        .device = event.device};
  }
  return std::nullopt;
}

}  // namespace

std::string_view sweep_word(Verdict verdict) {
  return verdict == Verdict::unknown ? "undecided" : to_string(verdict);
}

Event event_of(const SweepJob& job, std::string kind) {
  return {.at = job.submitted,
          .node = fold_hostlist(job.nodes),
          .kind = std::move(kind),
          .context = std::string(kSweep),
          .job = job.number,
          .message = fmt::format("{} in {}", job.kind, job.partition),
          .reason = job.token};
}

Event event_of(const SweepVerdict& verdict, const SweepJob& job) {
  return {.at = verdict.at,
          .node = verdict.node,
          .kind = std::string(kSweep),
          .context = std::string(kSweep),
          .job = job.number,
          .check = verdict.check,
          .device = verdict.device,
          .message = fmt::format("{}: {}", verdict.kind, verdict.text),
          .reason = job.token};
}

SweepLog parse_sweep_log(const std::vector<Event>& events, Time now) {
  SweepLog log;
  std::set<std::string, std::less<>> ended;
  for (auto event : events) {
    if (event.at > now + kClockTolerance) event.at = Time{};
    if (event.kind == kSweep) {
      ended.insert(event.reason);
      if (auto verdict = verdict_of(event)) log.verdicts.push_back(*std::move(verdict));
    } else if (event.kind == kPlanned || event.kind == kSubmitted) {
      auto job = job_of(event);
      if (!job) continue;
      const auto known = std::ranges::find(log.open, job->token, &SweepJob::token);
      if (known == log.open.end()) {
        log.open.push_back(*std::move(job));
      } else {
        *known = *std::move(job);
      }
    }
  }
  std::erase_if(log.open, [&](const SweepJob& job) { return ended.contains(job.token); });
  return log;
}

Result<SweepLog> read_sweep_log(const History& history, Time since, Time now) {
  TRY_ASSIGN(const auto events,
             history.events(
                 {.kinds = {std::string(kPlanned), std::string(kSubmitted), std::string(kSweep)},
                  .since = since}));
  return parse_sweep_log(events, now);
}

}  // namespace muster::slurm
