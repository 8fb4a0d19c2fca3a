// SPDX-License-Identifier: Apache-2.0
// A run of `muster-bench locate`: the search, its report, and what else is written of it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "bench/locate/figures.hpp"
#include "bench/locate/findings.hpp"
#include "bench/locate/inside.hpp"
#include "bench/locate/job.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/topology.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/outcomes.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/reporting.hpp"
#include "bench/run/run_record.hpp"
#include "lib/base/atomic_file.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/verdict.hpp"

namespace muster::bench::locate {
namespace {

// What a pair of nodes must reach by the profile, with messages of this size; its lowest limit,
// since NCCL's algorithm is not known here.
struct PairLimit {
  std::optional<double> gbps{};
  std::uint64_t bytes = 0;
};

PairLimit limit_of_pairs(const Profile& profile, bool gpus) {
  PairLimit lowest;
  for (const auto& limit : job_limits(profile, Collective::all_reduce)) {
    const bool of_two = limit.nodes_at_least.value_or(2) <= 2;
    const bool of_memory = (limit.memory != BenchMemory::host) == gpus;
    if (!of_two || !of_memory || !limit.fail_below) continue;
    const double own = limit.fail_below->value / kGiga;
    if (lowest.gbps && *lowest.gbps <= own) continue;
    lowest = {own, static_cast<std::uint64_t>(limit.size.value_or(Bytes{0}).value)};
  }
  return lowest;
}

// Smaller messages are slower: no limit holds for them.
std::optional<double> floor_of(const LocateCommand& command, const PairLimit& limit,
                               std::uint64_t bytes) {
  if (command.floor) return command.floor->value / kGiga;
  return bytes >= limit.bytes ? limit.gbps : std::nullopt;
}

Result<void> add_topology(Nodes& nodes, const LocateCommand& command) {
  constexpr std::size_t kLargestFile = 16UL << 20U;
  if (command.topology.empty()) return {};
  const auto path = std::filesystem::absolute(command.topology).string();
  TRY_ASSIGN(const auto text, Root().read(path, kLargestFile));
  return set_topology(nodes, text, command.topology);
}

class Run {
 public:
  // `floor`: what a healthy pair reaches at least, in GB/s.
  Run(const LocateCommand& command, const RunInput& input, Choice choice, Nodes nodes,
      std::optional<double> floor)
      : command_(command),
        input_(input),
        choice_(std::move(choice)),
        nodes_(std::move(nodes)),
        floor_(floor),
        begin_(Clock::now()) {
    report_.started = utc_now();
  }

  // Slow nodes, tested from within. None for a model.
  using Test = std::function<Result<std::vector<Inside>>(const std::vector<Node>& nodes)>;

  [[nodiscard]] Result<void> search(Measurer& measurer, const Test& test = {}) {
    Plan plan{.strategy = command_.strategy};
    plan.rule.floor_gbps = floor_;
    plan.watch = [this](const std::string& title, std::size_t groups) {
      progress(fmt::format("{} ({} groups)", title, groups));
    };
    auto found = put(search_, locate(nodes_, measurer, plan));
    progress("");
    if (!found) return found;
    if (auto tested = test_slow_nodes(test); !tested) return tested;
    report_.findings = findings_of(search_, nodes_, plan.rule);
    report_.accused = accused_of(search_, nodes_, plan.rule);
    excluded_ = names_of(excluded(search_, nodes_, plan.rule), nodes_);
    if (auto together = together_finding(search_, nodes_, plan.rule)) {
      together_ = together->message;
      report_.findings.push_back(*std::move(together));
    }
    if (auto matrix = matrix_of(search_, nodes_)) report_.matrices.push_back(*std::move(matrix));
    if (auto parts = breakdown_of(search_, nodes_, plan.rule, choice_.profile)) {
      report_.breakdowns.push_back(*std::move(parts));
    }
    return {};
  }

  // Writes the report, with what was found beside the search, and returns its exit status.
  [[nodiscard]] int conclude(std::vector<Finding> others = {}) {
    std::vector<std::string> checks{std::string(kLocateCheck)};
    if (!others.empty()) checks.push_back(others.front().check);
    std::ranges::move(others, std::back_inserter(report_.findings));
    report_.node = fold_hostlist(nodes_.names);
    report_.nodes = nodes_.names;
    sign(report_, choice_, begin_);
    muster::conclude(report_, checks);
    if (const auto written = write(); !written) {
      return input_.refuse(kExitUndecided, written.error().message);
    }
    if (command_.drain && !report_.accused.empty()) drain();
    return exit_status(report_.verdict);
  }

 private:
  [[nodiscard]] Result<void> test_slow_nodes(const Test& test) {
    const auto is_tested = [](const Culprit& culprit) {
      return culprit.kind == Culprit::Kind::node && culprit.loss.empty();
    };
    std::vector<Node> slow;
    for (const auto& culprit : search_.culprits) {
      if (is_tested(culprit)) slow.push_back(culprit.nodes[0]);
    }
    if (slow.empty() || !test) return {};
    progress(fmt::format("the tests of {} from within", fold_hostlist(names_of(slow, nodes_))));
    const auto said = test(slow);
    progress("");
    if (!said) return tl::unexpected(said.error());
    auto next = said->begin();
    for (auto& culprit : search_.culprits) {
      if (is_tested(culprit)) add_evidence(*next++, culprit);
    }
    return {};
  }

  // By the program and the rules that drain what hooks find.
  void drain() const {
    constexpr std::chrono::seconds kDeadline{120};
    const auto ended =
        run_program({.program = companion("muster"),
                     .arguments = {"drain", "--report", "-"},
                     .environment = input_.variables,
                     .limit = kDeadline,
                     .input = row_of(Format::json).render(report_, {.verbose = true})});
    if (!ended) return input_.say(ended.error().message);
    for (const auto* text : {&ended->out, &ended->err}) {
      for (const auto line : split_lines(*text)) input_.console.note(std::string(line));
    }
  }

  // On a terminal, in place of what stood there.
  void progress(std::string_view what) const {
    if (shows_progress()) (void)input_.console.out(fmt::format("\r\033[K{}", what));
  }

  [[nodiscard]] bool shows_progress() const {
    return input_.console.width > 0 && !command_.quiet && command_.output.empty() &&
           command_.format == Format::text;
  }

  [[nodiscard]] Result<void> write() const {
    const auto file = [](const std::string& name, std::string_view text) -> Result<void> {
      return name.empty() ? Result<void>() : replace_file(name, text, kReportMode);
    };
    if (auto done = file(command_.matrix, pairs_json(search_, nodes_)); !done) return done;
    if (auto done = file(command_.csv, pairs_csv(search_, nodes_)); !done) return done;
    const auto excluded = fold_hostlist(excluded_);
    if (auto done = file(command_.exclude, fmt::format("{}\n", excluded)); !done) return done;
    auto text = report_text(report_, command_, input_.console);
    if (command_.format == Format::text && !command_.quiet) text += summary(excluded);
    return write_answer(input_.console, command_.output, text);
  }

  [[nodiscard]] std::string summary(std::string_view excluded) const {
    auto text = heat_map(search_, nodes_);
    text += fmt::format("{} nodes, {} {}, {} operations\n", nodes_.count(), search_.rounds,
                        search_.rounds == 1 ? "round" : "rounds", search_.operations);
    if (!together_.empty()) text += fmt::format("{}\n", together_);
    if (!excluded.empty()) text += fmt::format("--exclude={}\n", excluded);
    return text;
  }

  const LocateCommand& command_;
  const RunInput& input_;
  Choice choice_;
  Nodes nodes_;
  std::optional<double> floor_;
  Clock::time_point begin_;
  Search search_;
  std::vector<std::string> excluded_;  // by a next job
  std::string together_;               // what all others reach; empty if it was not measured
  Report report_;
};

// Nothing is measured for a report that cannot be written.
Result<void> can_write(const LocateCommand& command, const RunInput& input) {
  for (const auto& name : {command.matrix, command.csv, command.exclude}) {
    if (name.empty()) continue;
    TRY(FileReplacement::begin(name, kReportMode));
  }
  const auto open = Destination::open(input.console, command.output);
  return open ? Result<void>() : tl::unexpected(open.error());
}

int search_model(const LocateCommand& command, const RunInput& input) {
  auto choice = choose_profile(command.profile, command.settings, input.variables);
  if (!choice) return input.refuse(choice.error().status, choice.error().message);
  const auto cluster = command.model.value_or(ModelCluster{.noise = 0});
  auto nodes = nodes_of(cluster, command.topology.empty());
  if (const auto added = add_topology(nodes, command); !added) {
    return input.refuse(kExitConfiguration, added.error().message);
  }
  if (const auto can = can_write(command, input); !can) {
    return input.refuse(kExitUndecided, can.error().message);
  }
  Model model(cluster);
  const auto limit = limit_of_pairs(choice->profile, true);
  const auto floor = floor_of(command, limit, limit.bytes);
  Run run(command, input, *std::move(choice), std::move(nodes), floor);
  if (const auto done = run.search(model); !done) {
    return input.refuse(kExitUndecided, done.error().message);
  }
  return run.conclude();
}

// On GPUs the size that the profile's limit holds for.
std::uint64_t size_for(const LocateCommand& command, BackendKind kind, const PairLimit& limit) {
  constexpr std::uint64_t kOnGpus = 512UL << 20U;
  constexpr std::uint64_t kOnHosts = 8UL << 20U;
  if (command.size) return *command.size;
  if (kind != BackendKind::nccl) return kOnHosts;
  return limit.gbps ? std::max(kOnGpus, limit.bytes) : kOnGpus;
}

void tell_troubles(const std::vector<std::string>& troubles, const RankContext& self) {
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(kShown, troubles.size()); ++i) self.say(troubles[i]);
  if (troubles.size() > kShown) self.say(fmt::format("and {} more", troubles.size() - kShown));
}

// On rank 0: the exit status of all.
Result<int> lead(const LocateCommand& command, RankContext& self, Job& job,
                 std::optional<double> floor) {
  TRY_ASSIGN(auto nodes, nodes_of(self.membership.agreed));
  if (const auto added = add_topology(nodes, command); !added) {
    return tl::unexpected(added.error());
  }
  if (const auto can = can_write(command, self.input); !can) return tl::unexpected(can.error());
  Run run(command, self.input, self.reporter.record().choice, std::move(nodes), floor);
  Run::Test test;
  if (!command.tests(self.kind).empty()) {
    test = [&job](const std::vector<Node>& slow) { return job.test(slow); };
  }
  // NCCL alone can give up what waits for a rank that is gone.
  if (self.kind == BackendKind::nccl) self.membership.group->go_on_without_the_lost();
  if (const auto done = run.search(job, test); !done) return tl::unexpected(done.error());
  if (const auto ended = job.end(); !ended) return tl::unexpected(ended.error());
  const auto held = self.emergency.hold();
  self.emergency.mark_reported();
  tell_troubles(job.troubles(), self);
  return run.conclude(judge_data(job.received(), self.reporter.record().members));
}

Result<int> search_job(const LocateCommand& command, RankContext& self) {
  const auto limit =
      limit_of_pairs(self.reporter.record().choice.profile, self.kind == BackendKind::nccl);
  // The profiles of ranks differ where their nodes do: rank 0's counts.
  TRY_ASSIGN(const auto bytes,
             broadcast(*self.membership.group, size_for(command, self.kind, limit)));
  Job job(self, {.bytes = bytes}, command);
  int status = kExitHealthy;
  if (self.leads()) {
    const auto led = lead(command, self, job, floor_of(command, limit, bytes));
    if (!led) return led;
    status = *led;
  } else if (const auto served = job.serve(); !served) {
    return tl::unexpected(served.error());
  }
  self.enter("report", to_duration(command.operation_deadline));
  return broadcast(*self.membership.group, status);
}

}  // namespace

int run(std::span<const char* const> arguments, const RunInput& input) {
  return run_parsed(parse(arguments), input, [&input](const LocateCommand& command) {
    if (command.backend == BackendKind::sim) return search_model(command, input);
    return bench::run(command, input,
                      [&command](RankContext& self) { return search_job(command, self); });
  });
}

}  // namespace muster::bench::locate
