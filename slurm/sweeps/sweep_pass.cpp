// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/hosts/hostlist.hpp"
#include "lib/report/summary.hpp"
#include "slurm/sweeps/sweep_job.hpp"
#include "slurm/sweeps/sweep_plan.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// A network file system may show a node's file this late.
constexpr seconds kFileDelay{120};
constexpr std::size_t kLongestReason = 300;
// The first refusal may be due to the nodes of the job. The second one is not.
constexpr int kMaxRefusals = 2;
// Undecided verdicts in a row that are worth an admin's attention.
constexpr int kManyUndecided = 3;

class SweepPass {
 public:
  SweepPass(const SweepRequest& request, const SweepServices& services)
      : request_(request), services_(services) {
    situation_.rules = request.rules;
    situation_.now = request.now;
  }

  SweepResult run() {
    if (read_situation() && collect_results()) submit_jobs();
    return std::move(result_);
  }

  SweepResult status() {
    static_cast<void>(read_situation());
    return std::move(result_);
  }

 private:
  bool fail(const Error& error) {
    result_.trouble = error.message;
    return false;
  }

  [[nodiscard]] bool read_situation() {
    if (services_.history != nullptr) {
      // Older verdicts do not affect the rotation or a node's standing.
      const auto since = request_.now - 4 * whole(request_.rules.every);
      auto log = read_sweep_log(*services_.history, since, request_.now);
      if (!log) return fail(log.error());
      situation_.log = *std::move(log);
    }
    auto nodes = services_.controller->nodes("");
    if (!nodes) return fail(nodes.error());
    situation_.nodes = *std::move(nodes);
    auto partitions = swept_partitions(situation_.nodes, request_.rules);
    if (!partitions) {
      result_.bad_rules = partitions.error().message;
      return false;
    }
    situation_.rules.partitions = *std::move(partitions);
    result_.standings = sweep_standings(situation_);
    return true;
  }

  [[nodiscard]] bool collect_results() {
    std::error_code ignored;
    if (!fs::is_directory(request_.rules.results, ignored)) {
      return fail(
          Error{fmt::format("slurm.sweep.results: {} is not a folder, expected the one that "
                            "jobs write their reports to",
                            request_.rules.results)});
    }
    const auto before = std::exchange(result_.standings, {});
    std::vector<SweepJob> open;
    for (auto& job : std::exchange(situation_.log.open, {})) {
      const auto verdicts = verdicts_on(job);
      if (!result_.trouble.empty()) return false;
      if (verdicts.empty()) {
        open.push_back(std::move(job));
      } else if (!close(job, verdicts)) {
        return false;
      }
    }
    situation_.log.open = std::move(open);
    result_.standings = sweep_standings(situation_);
    return report_changes(before);
  }

  // Empty as long as the job may still leave a report.
  [[nodiscard]] std::vector<SweepVerdict> verdicts_on(SweepJob& job) {
    const auto report = read_sweep_result(sweep_file(job, request_.rules, "json"));
    if (report) {
      const auto names = report->accused.empty() ? std::vector<NodeName>() : names_of_nodes();
      return sweep_verdicts(job, *report, names);
    }
    if (!report.error().missing) {
      return undecided_verdicts(job, fmt::format("cannot read its report: {}",
                                                 harmless(report.error().message, kLongestReason)));
    }
    if (!read_queue()) return {};
    const auto why = why_without_report(job);
    return why.empty() ? std::vector<SweepVerdict>() : undecided_verdicts(job, why);
  }

  [[nodiscard]] std::vector<NodeName> names_of_nodes() {
    return services_.controller->names().value_or(std::vector<NodeName>());
  }

  [[nodiscard]] bool read_queue() {
    if (queue_) return true;
    std::vector<std::string> names;
    for (const auto& kind : kSweepKinds) names.push_back(sweep_job_name(kind.name));
    auto jobs = services_.queue->jobs(names);
    if (!jobs) return fail(jobs.error());
    queue_ = *std::move(jobs);
    return true;
  }

  // Why the job will leave no report; empty while it may.
  [[nodiscard]] std::string why_without_report(SweepJob& job) const {
    const auto found = std::ranges::find(*queue_, job.token, &QueuedJob::comment);
    if (found == queue_->end()) {
      if (!job.number.empty()) return "Slurm no longer lists the job, and it left no report";
      return request_.now - job.submitted < kMayStillCome ? "" : "Slurm did not take the job";
    }
    job.number = found->job;
    const std::chrono::duration<double> waited = request_.now - job.submitted - kMayStillCome;
    if (found->state == "PENDING" && waited.count() > request_.rules.start_within.value) {
      return "the job is held in the queue";  // past its deadline, it never starts
    }
    if (!is_over(*found)) return "";
    if (found->state == "DEADLINE") return "the job could not start in time";
    if (found->ended && request_.now - *found->ended < kFileDelay) return "";
    return fmt::format("the job ended as {} and left no report",
                       harmless(found->state, kLongestReason));
  }

  [[nodiscard]] bool close(const SweepJob& job, std::vector<SweepVerdict> verdicts) {
    bool healthy = true;
    for (auto& verdict : verdicts) {
      verdict.at = request_.now;
      if (!record(event_of(verdict, job))) return false;
      healthy = healthy && verdict.verdict == Verdict::healthy;
      situation_.log.verdicts.push_back(std::move(verdict));
    }
    if (!healthy || request_.dry_run) return true;
    std::error_code ignored;  // an admin may look into the files of other jobs
    for (const auto* suffix : {"json", "out"}) {
      fs::remove(sweep_file(job, request_.rules, suffix), ignored);
    }
    return true;
  }

  // Nodes that are confirmed, cleared, or undecided again and again, since this pass.
  [[nodiscard]] bool report_changes(const std::vector<SweepStanding>& before) {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> undecided;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto& was = before[i];
      const auto& is = result_.standings[i];
      const bool recorded =
          was.trust != Trust::confirmed && is.trust == Trust::confirmed
              ? record(event(is.node, "confirmed", fmt::format("{}: {}", is.kind, evidence(is))))
          : was.trust == Trust::confirmed && is.trust == Trust::good
              ? record(event(is.node, "cleared", fmt::format("{}: it passed", is.kind)))
              : true;
      if (!recorded) return false;
      if (was.undecided < kManyUndecided && is.undecided >= kManyUndecided) {
        undecided[{is.kind, is.last}].push_back(is.node);
      }
    }
    return std::ranges::all_of(undecided, [&](const auto& each) {
      const auto& [kind, last] = each.first;
      return record(event(fold_hostlist(each.second), "trouble",
                          fmt::format("{}: {} undecided verdicts in a row, the last is {}", kind,
                                      kManyUndecided, last)));
    });
  }

  [[nodiscard]] Event event(std::string node, std::string kind, std::string message) const {
    return {.at = request_.now,
            .node = std::move(node),
            .kind = std::move(kind),
            .context = "sweep",
            .message = std::move(message)};
  }

  // Appends the event to the history and reports it. A dry run only reports it.
  [[nodiscard]] bool record(Event event) {
    if (request_.dry_run) {
      event.message = fmt::format("would record {}: {}", event.kind, event.message);
      event.kind = "dry_run";
    } else if (const auto written = services_.history->add(event); !written) {
      return fail(written.error());
    }
    services_.report_event(event);
    return true;
  }

  void submit_jobs() {
    int refusals = 0;  // in a row
    for (auto& job : plan_sweep(situation_)) {
      job.submitted = request_.now;
      if (request_.dry_run) {
        auto planned = event_of(job, "dry_run");
        planned.message = fmt::format("would submit {}", planned.message);
        services_.report_event(planned);
        continue;
      }
      const auto submitted = submit(job);
      if (submitted) {
        refusals = 0;
        continue;
      }
      const bool refused = is_refusal(submitted.error());
      if (refused && !close(job, undecided_verdicts(
                                     job, harmless(submitted.error().message, kLongestReason)))) {
        return;
      }
      if (refused && ++refusals < kMaxRefusals) continue;
      static_cast<void>(record(
          event(fold_hostlist(job.nodes), "trouble",
                fmt::format("{} in {}: {}", job.kind, job.partition, submitted.error().message))));
      fail(submitted.error());
      return;
    }
  }

  // The job is recorded first: if sbatch does not answer, its token in the queue identifies it.
  [[nodiscard]] Result<void> submit(SweepJob& job) {
    job.token = fmt::format("{}-{}", job.kind, services_.token());
    TRY_ASSIGN(const auto arguments, sbatch_arguments(job, request_.rules));
    TRY(services_.history->add(event_of(job, "planned")));
    TRY_ASSIGN(job.number, services_.queue->submit(arguments, request_.rules.environment));
    const auto submitted = event_of(job, "submitted");
    services_.report_event(submitted);
    return services_.history->add(submitted);
  }

  const SweepRequest& request_;
  const SweepServices& services_;
  SweepSituation situation_;
  SweepResult result_;
  std::optional<std::vector<QueuedJob>> queue_;
};

}  // namespace

SweepResult sweep(const SweepRequest& request, const SweepServices& services) {
  return SweepPass(request, services).run();
}

SweepResult sweep_status(const SweepRequest& request, const SweepServices& services) {
  return SweepPass(request, services).status();
}

}  // namespace muster::slurm
