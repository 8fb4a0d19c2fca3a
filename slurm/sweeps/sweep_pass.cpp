// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/hosts/hostlist.hpp"
#include "lib/report/harmless.hpp"
#include "lib/report/summary.hpp"
#include "slurm/rules/sweep_kinds.hpp"
#include "slurm/sweeps/sweep_job.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// A file that a node wrote may be seen late over a network.
constexpr seconds kMayStillAppear{120};
constexpr std::size_t kLongestSummary = 300;
constexpr std::size_t kLongestName = 100;
// One may be about its nodes; the next one then is about all.
constexpr int kMostRefusals = 2;
// So many runs in a row that came to nothing are somebody's mistake.
constexpr int kTooManyUndecided = 3;

// What became of a job, and why.
struct Ending {
  SweepOutcome outcome = SweepOutcome::undecided;
  std::string what;
  std::string check, device;
  std::vector<std::string> blamed{};  // nodes that a search among many accuses; the others are good
};

// A part of the nodes of a run, and what became of it.
struct Part {
  SweepRun run;
  Ending ending;
};

// What a search found is a result for those whom it blames, each alone, and one for all others.
std::vector<Part> parts_of(const SweepRun& run, const Ending& ending) {
  if (ending.blamed.empty()) return {{run, ending}};
  std::vector<Part> parts;
  auto rest = run;
  for (const auto& node : ending.blamed) {
    std::erase(rest.nodes, node);
    auto alone = run;
    alone.nodes = {node};
    parts.push_back({std::move(alone), ending});
  }
  if (rest.nodes.empty()) return parts;
  auto passed = ending;
  passed.outcome = SweepOutcome::healthy;
  passed.what = fmt::format("healthy without {}", fold_hostlist(ending.blamed));
  passed.check = passed.device = "";
  parts.insert(parts.begin(), {std::move(rest), std::move(passed)});
  return parts;
}

SweepOutcome outcome_of(Verdict verdict) {
  if (verdict == Verdict::healthy) return SweepOutcome::healthy;
  return verdict == Verdict::unhealthy ? SweepOutcome::unhealthy : SweepOutcome::undecided;
}

Ending undecided(std::string why) {
  return {.what = fmt::format("undecided: {}", why), .check = "", .device = ""};
}

Ending ending_of(const Report& report) {
  // Where the profile has no limit, muster-bench has nothing to complain of.
  if (report.verdict == Verdict::healthy && !judges_nodes(report)) {
    return undecided(
        "no bandwidth was judged: slurm.sweep.bench in muster.yaml needs --min-busbw, or the nodes "
        "a profile with limits");
  }
  Ending ending{.outcome = outcome_of(report.verdict),
                .what = harmless(one_line(report, kLongestSummary), kLongestSummary),
                .check = "",
                .device = ""};
  if (const auto* leading = leading_finding(report)) {
    ending.check = harmless(leading->check, kLongestName);
    ending.device = harmless(leading->device, kLongestName);
  }
  return ending;
}

std::string partners_text(const SweepRun& run, const std::string& node) {
  auto others = run.nodes;
  std::erase(others, node);
  return others.empty() ? run.kind : fmt::format("{} with {}", run.kind, fmt::join(others, ", "));
}

// The nodes of a run that was one too many.
std::vector<std::string> never_decided(const SweepRun& run, const SweepBook& before,
                                       const SweepBook& after) {
  const auto undecided = [&](const SweepBook& book, const std::string& node) {
    const auto* record = book.record(run.kind, node);
    return record == nullptr ? 0 : record->undecided;
  };
  std::vector<std::string> nodes;
  for (const auto& node : run.nodes) {
    if (undecided(before, node) < kTooManyUndecided && undecided(after, node) == kTooManyUndecided)
      nodes.push_back(node);
  }
  return nodes;
}

class Pass {
 public:
  Pass(const SweepRequest& request, const SweepServices& services)
      : request_(request), services_(services) {
    situation_.rules = request.rules;
    situation_.now = request.now;
  }

  SweepResult run() {
    if (!recall() || !take_in() || !look()) return std::move(answer_);
    submit();
    return std::move(answer_);
  }

  SweepResult status() {
    if (recall()) static_cast<void>(look());
    return std::move(answer_);
  }

 private:
  bool fail(std::string trouble) {
    answer_.trouble = std::move(trouble);
    return false;
  }

  [[nodiscard]] bool recall() {
    if (services_.history == nullptr) return true;
    auto runs = services_.history->sweeps();
    if (!runs) return fail(runs.error().message);
    situation_.runs = *std::move(runs);
    mend_times(situation_.runs, request_.now);
    return true;
  }

  // What nodes and partitions there are, and how they stand.
  [[nodiscard]] bool look() {
    auto nodes = services_.controller->nodes("");
    if (!nodes) return fail(nodes.error().message);
    situation_.nodes = *std::move(nodes);
    auto partitions = swept_partitions(situation_.nodes, request_.rules);
    if (!partitions) {
      answer_.bad_rules = partitions.error().message;
      return false;
    }
    situation_.rules.partitions = *std::move(partitions);
    answer_.standings = sweep_standings(situation_);
    return true;
  }

  [[nodiscard]] Event event(std::string node, std::string kind, std::string message) const {
    return {.at = request_.now,
            .node = std::move(node),
            .kind = std::move(kind),
            .context = "sweep",
            .message = std::move(message)};
  }

  [[nodiscard]] bool take_in() {
    const auto open = [](const SweepRun& run) { return run.outcome == SweepOutcome::open; };
    std::error_code gone;
    if (!fs::is_directory(request_.rules.results, gone)) {
      // Results that cannot be seen are not lost.
      return fail(fmt::format("{}: slurm.sweep.results in muster.yaml must be a folder",
                              request_.rules.results));
    }
    // Those that are open are the last ones, and what ends is put before them.
    const auto first = std::ranges::find_if(situation_.runs, open);
    std::vector<SweepRun> waiting(first, situation_.runs.end());
    situation_.runs.erase(first, situation_.runs.end());
    auto book = book_of(situation_.runs, request_.rules);
    std::vector<SweepRun> still_open;
    for (auto& run : waiting) {
      const auto ending = ending_of_run(run);
      if (!answer_.trouble.empty()) return false;
      if (!ending) {
        still_open.push_back(std::move(run));
        continue;
      }
      if (!settle(run, *ending, book)) return false;
    }
    std::ranges::move(still_open, std::back_inserter(situation_.runs));
    return true;
  }

  // Nothing while it may still run.
  [[nodiscard]] std::optional<Ending> ending_of_run(SweepRun& run) {
    const auto report = read_sweep_result(sweep_result_file(run, request_.rules));
    if (report) {
      const auto* kind = find_sweep_kind(run.kind);
      const bool search = kind != nullptr && kind->several && report->verdict == Verdict::unhealthy;
      return search ? ending_of_search(run, *report) : ending_of(*report);
    }
    if (!report.error().missing) {
      return undecided(fmt::format("its result cannot be read: {}",
                                   harmless(report.error().message, kLongestSummary)));
    }
    return ask_queue() ? ending_in_queue(run) : std::nullopt;
  }

  [[nodiscard]] bool ask_queue() {
    if (queue_) return true;
    std::vector<std::string> names;
    names.reserve(kSweepKinds.size());
    for (const auto& kind : kSweepKinds) names.push_back(sweep_job_name(kind.name));
    auto jobs = services_.queue->jobs(names);
    if (!jobs) return fail(jobs.error().message);
    queue_ = *std::move(jobs);
    return true;
  }

  // Where sbatch did not answer, the job is known by what it carries.
  [[nodiscard]] const QueuedJob* find_job(const SweepRun& run) const {
    const auto found = std::ranges::find_if(*queue_, [&](const QueuedJob& job) {
      return run.job.empty() ? job.comment == run.token : job.job == run.job;
    });
    return found == queue_->end() ? nullptr : &*found;
  }

  // sbatch did not say which job it is.
  [[nodiscard]] bool adopt(SweepRun& run, const QueuedJob& job) {
    run.job = job.job;
    if (request_.dry_run) return true;
    const auto noted = services_.history->note_sweep_job(run.id, run.job);
    return noted || fail(noted.error().message);
  }

  [[nodiscard]] std::optional<Ending> ending_in_queue(SweepRun& run) {
    const auto* job = find_job(run);
    if (job == nullptr && !run.job.empty()) {
      return undecided("Slurm does not know the job any more, and it left no result");
    }
    if (job == nullptr) {
      if (request_.now - run.submitted < kMayStillCome) return std::nullopt;
      return undecided("Slurm did not take the job");
    }
    if (run.job.empty() && !adopt(run, *job)) return std::nullopt;
    const auto waited = std::chrono::duration<double>(request_.now - run.submitted - kMayStillCome);
    if (job->state == "PENDING" && waited.count() > request_.rules.start_within.value) {
      return undecided("somebody holds the job in the queue");  // past its deadline: never starts
    }
    if (!is_over(*job)) return std::nullopt;
    if (job->state == "DEADLINE") return undecided("the job could not start in time");
    if (job->ended && request_.now - *job->ended < kMayStillAppear) return std::nullopt;
    return undecided(
        fmt::format("the job ended as {} and left no result", harmless(job->state, kLongestName)));
  }

  // What a run says about each of its nodes, and what it changes.
  [[nodiscard]] std::vector<Event> events_of(const SweepRun& run, const Ending& ending,
                                             const SweepBook& before,
                                             const SweepBook& after) const {
    std::vector<Event> events;
    for (const auto& node : run.nodes) {
      auto noted_event =
          event(node, "sweep", fmt::format("{}: {}", partners_text(run, node), ending.what));
      noted_event.job = run.job;
      noted_event.check = ending.check;
      noted_event.device = ending.device;
      events.push_back(std::move(noted_event));
    }
    if (const auto nodes = never_decided(run, before, after); !nodes.empty()) {
      events.push_back(event(fold_hostlist(nodes), "trouble",
                             fmt::format("{}: {} runs in a row came to nothing; the last was {}",
                                         run.kind, kTooManyUndecided, ending.what)));
    }
    // A pass exonerates others, too.
    for (const auto& [node, record] : after.records(run.kind)) {
      const auto was = before.trust(run.kind, node);
      const auto is = after.trust(run.kind, node);
      if (was == is) continue;
      if (is == Trust::confirmed) {
        events.push_back(
            event(node, "confirmed", fmt::format("{}: {}", run.kind, evidence(record.failures))));
      } else if (was == Trust::confirmed) {
        events.push_back(
            event(node, "cleared", fmt::format("{}: it passed", partners_text(run, node))));
      }
    }
    return events;
  }

  // A report names hosts, which may be called otherwise in Slurm.
  [[nodiscard]] Ending ending_of_search(const SweepRun& run, const Report& report) {
    auto ending = ending_of(report);
    for (const auto& host : hosts_to_blame(report)) {
      auto node = host;
      if (std::ranges::count(run.nodes, node) == 0) {
        const auto names = services_.controller->names();
        const auto found = names ? node_on(*names, host) : Result<std::string>(make_error(""));
        if (found) node = *found;
      }
      if (std::ranges::count(run.nodes, node) > 0) ending.blamed.push_back(std::move(node));
    }
    if (!ending.blamed.empty()) return ending;
    ending.outcome = SweepOutcome::undecided;
    ending.what = fmt::format("undecided: no node is to blame alone: {}", ending.what);
    return ending;
  }

  [[nodiscard]] bool settle(const SweepRun& run, const Ending& ending, SweepBook& book) {
    std::vector<SweepRun> runs;
    std::vector<Event> events;
    auto parts = parts_of(run, ending);
    for (auto& [part, became] : parts) {
      part.outcome = became.outcome;
      part.ended = request_.now;
      const SweepBook before = book;
      if (counts(part, request_.rules)) book.add(part);
      std::ranges::move(events_of(part, became, before, book), std::back_inserter(events));
      runs.push_back(std::move(part));
    }
    const bool healthy = std::ranges::all_of(
        runs, [](const SweepRun& each) { return each.outcome == SweepOutcome::healthy; });
    std::ranges::copy(runs, std::back_inserter(situation_.runs));
    if (request_.dry_run) {
      for (auto noted_event : events) {
        noted_event.message =
            fmt::format("would be taken in: {}: {}", noted_event.kind, noted_event.message);
        noted_event.kind = "dry_run";
        services_.tell(noted_event);
      }
      return true;
    }
    const std::vector<SweepRun> further(runs.begin() + 1, runs.end());
    if (const auto written = services_.history->end_sweep(runs.front(), events, further);
        !written) {
      return fail(written.error().message);
    }
    for (const auto& noted_event : events) services_.tell(noted_event);
    if (!healthy) return true;
    // The others are kept for whoever looks into it.
    std::error_code ignored;
    fs::remove(sweep_result_file(run, request_.rules), ignored);
    fs::remove(sweep_output_file(run, request_.rules), ignored);
    return true;
  }

  void submit() {
    for (const auto& job : plan_sweep(situation_)) {
      if (!send(job)) return;
    }
  }

  [[nodiscard]] bool send(const SweepJob& job) {
    const auto nodes = fold_hostlist(job.nodes);
    const auto what = fmt::format("{} in {}", job.kind, job.partition);
    if (request_.dry_run) {
      services_.tell(event(nodes, "dry_run", fmt::format("would be submitted: {}", what)));
      return true;
    }
    SweepRun run{.kind = job.kind,
                 .partition = job.partition,
                 .nodes = job.nodes,
                 .token = fmt::format("{}-{}", job.kind, services_.token()),
                 .submitted = request_.now};
    const auto arguments = sbatch_arguments(run, request_.rules);
    if (!arguments) return fail(arguments.error().message);
    const auto id = services_.history->begin_sweep(run);
    if (!id) return fail(id.error().message);
    const auto number = services_.queue->submit(*arguments, request_.rules.environment);
    run.id = *id;
    if (!number) return not_taken(run, number.error());
    refusals_ = 0;
    auto noted_event = event(nodes, "submitted", what);
    noted_event.job = *number;
    services_.tell(noted_event);
    const auto noted = services_.history->note_sweep_job(*id, *number);
    return noted || fail(noted.error().message);
  }

  // Whether the next job may be tried.
  [[nodiscard]] bool not_taken(SweepRun& run, const Error& error) {
    if (is_refusal(error)) {
      auto book = book_of(situation_.runs, request_.rules);
      const auto why = undecided(harmless(error.message, kLongestSummary));
      if (!settle(run, why, book)) return false;
      if (++refusals_ < kMostRefusals) return true;
    }
    const auto noted_event =
        event(fold_hostlist(run.nodes), "trouble",
              fmt::format("{} in {}: {}", run.kind, run.partition, error.message));
    static_cast<void>(services_.history->add(noted_event));  // the trouble is said all the same
    services_.tell(noted_event);
    return fail(error.message);
  }

  const SweepRequest& request_;
  const SweepServices& services_;
  SweepSituation situation_;
  SweepResult answer_;
  std::optional<std::vector<QueuedJob>> queue_;
  int refusals_ = 0;  // in a row
};

}  // namespace

SweepResult sweep(const SweepRequest& request, const SweepServices& services) {
  return Pass(request, services).run();
}

SweepResult sweep_status(const SweepRequest& request, const SweepServices& services) {
  return Pass(request, services).status();
}

}  // namespace muster::slurm
