// SPDX-License-Identifier: Apache-2.0
// A run of `muster-bench locate`: the search, its report and its other files.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <tuple>
#include <utility>

#include "bench/backends/sim/sim.hpp"
#include "bench/locate/findings.hpp"
#include "bench/locate/job.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/simulation.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/outcomes.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/reporting.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/root.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/summary.hpp"

namespace muster::bench::locate {
namespace {

// A profile's limit for an all-reduce over several nodes.
struct ProfileLimit {
  Floor gbps{};
  std::uint64_t bytes = 0;  // the message size that it is for
};

// The messages of a run, and where they go.
struct Messages {
  bool gpus = true;
  std::uint64_t bytes = 0;
  bool one_domain = false;  // the nodes are in one NVLink domain
};

// Prefers a limit for the algorithm, then the one for the most nodes, then the lowest. If all
// limits are for other algorithms, or the algorithm is unknown, the lowest one.
ProfileLimit limit_of(const Profile& profile, const Messages& messages, std::size_t nodes,
                      std::string_view algorithm) {
  const auto limits = job_limits(profile, Collective::all_reduce);
  // Nodes of one NVLink domain are expected to use it.
  const bool over_nvlink =
      messages.one_domain &&
      std::ranges::find(limits, BenchOver::nvlink, &JobLimit::over) != limits.end();
  ProfileLimit best;
  std::tuple<bool, bool, int, double> best_rank;
  for (const auto& limit : limits) {
    const auto count = static_cast<int>(nodes);
    const int least = limit.nodes_at_least.value_or(2);
    const bool of_memory = (limit.memory != BenchMemory::host) == messages.gpus;
    if (least > count || limit.nodes_at_most.value_or(count) < count) continue;
    if (!of_memory || !limit.fail_below) continue;
    if (over_nvlink && limit.over != BenchOver::nvlink) continue;
    const auto wanted = limit.algorithm.value_or(BenchAlgorithm::any);
    const bool named = wanted != BenchAlgorithm::any;
    const bool fits = !named || to_string(wanted) == algorithm;
    const double gbps = limit.fail_below->value / kGiga;
    const std::tuple rank(fits, fits && named, fits ? least : 0, -gbps);
    if (best.gbps && rank <= best_rank) continue;
    best_rank = rank;
    best = {gbps, static_cast<std::uint64_t>(limit.size.value_or(Bytes{0}).value)};
  }
  return best;
}

// The command's limit or the profile's, which does not hold for smaller messages: these are slower.
Floor floor_of(const LocateCommand& command, const Profile& profile, const Messages& messages,
               std::size_t nodes, std::string_view algorithm = {}) {
  if (command.floor) return command.floor->value / kGiga;
  const auto limit = limit_of(profile, messages, nodes, algorithm);
  return messages.bytes >= limit.bytes ? limit.gbps : std::nullopt;
}

// On GPUs the size of the profile's limit.
std::uint64_t size_for(const LocateCommand& command, const Profile& profile, bool gpus) {
  constexpr std::uint64_t kOnGpus = 512UL << 20U;
  constexpr std::uint64_t kOnHosts = 8UL << 20U;
  if (command.size) return *command.size;
  return gpus ? std::max(kOnGpus, limit_of(profile, {.gpus = gpus}, 2, {}).bytes) : kOnHosts;
}

Result<void> read_topology(Nodes& nodes, const LocateCommand& command) {
  constexpr std::size_t kLargestFile = 16UL << 20U;
  if (command.topology.empty()) return {};
  const auto path = std::filesystem::absolute(command.topology).string();
  TRY_ASSIGN(const auto text, Root().read(path, kLargestFile));
  return set_topology(nodes, text, command.topology);
}

constexpr std::string_view kNeedsTwoNodes =
    "a search needs at least two nodes, and this job has one; muster-bench node tests a single "
    "node";

// Checked before the search, which may take minutes.
Result<void> check_outputs(const LocateCommand& command, const RunInput& input) {
  for (const auto& name : {command.matrix, command.csv, command.exclude}) {
    if (!name.empty()) TRY(Destination::open(input.console, name));
  }
  TRY(Destination::open(input.console, command.output));
  return {};
}

class LocateRun {
 public:
  LocateRun(const LocateCommand& command, const RunInput& input, Choice choice, Nodes nodes,
            const Messages& messages)
      : command_(command),
        input_(input),
        choice_(std::move(choice)),
        nodes_(std::move(nodes)),
        messages_(messages),
        begin_(Clock::now()) {
    report_.started = utc_now();
  }

  // Tests slow nodes from within; empty for a simulation.
  using NodeTester = std::function<Result<std::vector<NodeTests>>(const std::vector<Node>& nodes)>;

  [[nodiscard]] Result<void> search(Measurer& measurer, const NodeTester& test = {}) {
    limits_.pair = floor_of(command_, choice_.profile, messages_, 2);
    const auto job_limit = [this](std::string_view algorithm) {
      return floor_of(command_, choice_.profile, messages_, nodes_.count(), algorithm);
    };
    const SearchOptions options{.strategy = command_.strategy,
                                .floor = limits_.pair,
                                .job_limit = job_limit,
                                .watch = [this](const std::string& title, std::size_t groups) {
                                  show_progress(fmt::format("{} ({} groups)", title, groups));
                                }};
    auto found = locate(nodes_, measurer, options);
    show_progress("");
    TRY_ASSIGN(result_, std::move(found));
    if (test) TRY(test_slow_nodes(test));
    limits_.job = job_limit(result_.together ? result_.together->algorithm : "");
    report_.findings = findings_of(result_, nodes_, limits_);
    report_.accused = accused_of(result_, nodes_, limits_);
    if (auto together = together_finding(result_, nodes_, limits_)) {
      together_ = together->message;
      // Slow pairs everywhere are the same finding.
      const auto everyone = Culprit::Kind::everyone;
      const bool known = std::ranges::count(result_.culprits, everyone, &Culprit::kind) > 0;
      if (!known) report_.findings.push_back(*std::move(together));
    }
    if (auto matrix = matrix_of(result_, nodes_)) report_.matrices.push_back(*std::move(matrix));
    if (auto parts = breakdown_of(result_, nodes_, limits_, choice_.profile)) {
      report_.breakdowns.push_back(*std::move(parts));
    }
    return {};
  }

  [[nodiscard]] const Report& report() const { return report_; }

  // Writes the report, with further findings, and returns its exit status.
  [[nodiscard]] int conclude(std::vector<Finding> others = {}) {
    std::vector<std::string> checks{std::string(kLocateCheck)};
    if (!others.empty()) checks.push_back(others.front().check);
    append(report_.findings, std::move(others));
    report_.nodes = nodes_.names;
    sign(report_, "locate", choice_, begin_);
    muster::conclude(report_, checks);
    const bool limited = limits_.pair || limits_.job;
    report_.judged = !choice_.bare || limited || report_.verdict != Verdict::unknown;
    if (const auto written = write(); !written) {
      return input_.refuse(kExitUndecided, written.error().message);
    }
    if (command_.format == Format::text) input_.say(why_undecided_at_exit(report_));
    return exit_status(report_);
  }

 private:
  [[nodiscard]] Result<void> test_slow_nodes(const NodeTester& test) {
    std::vector<Culprit*> tested;
    std::vector<Node> slow;
    for (auto& culprit : result_.culprits) {
      if (culprit.kind != Culprit::Kind::node || !culprit.loss.empty()) continue;
      tested.push_back(&culprit);
      slow.push_back(culprit.nodes[0]);
    }
    if (slow.empty()) return {};
    show_progress(
        fmt::format("the tests of {} from within", fold_hostlist(names_of(slow, nodes_))));
    const auto tests = test(slow);
    show_progress("");
    if (!tests) return tl::unexpected(tests.error());
    for (std::size_t i = 0; i < tested.size(); ++i) add_evidence(tests->at(i), *tested[i]);
    return {};
  }

  // Replaces the line on a terminal.
  void show_progress(std::string_view text) const {
    const bool visible = input_.console.width > 0 && !command_.quiet && command_.output.empty() &&
                         command_.format == Format::text;
    if (visible) (void)input_.console.out(fmt::format("\r\033[K{}", text));
  }

  [[nodiscard]] Result<void> write() const {
    const auto excluded =
        fold_hostlist(names_of(locate::excluded(result_, nodes_, limits_), nodes_));
    const auto write_file = [&](const std::string& name, std::string_view text) {
      return name.empty() ? Result<void>() : write_answer(input_.console, name, text);
    };
    TRY(write_file(command_.matrix, pairs_json(result_, nodes_)));
    TRY(write_file(command_.csv, pairs_csv(result_, nodes_)));
    TRY(write_file(command_.exclude, fmt::format("{}\n", excluded)));
    auto text = report_text(report_, command_, input_.console);
    if (command_.format == Format::text && !command_.quiet) text += summary(excluded);
    return write_answer(input_.console, command_.output, text);
  }

  [[nodiscard]] std::string summary(std::string_view excluded) const {
    auto text = heat_map(result_, nodes_);
    text += fmt::format("{} nodes, {} {}, {} operations\n", nodes_.count(), result_.rounds,
                        result_.rounds == 1 ? "round" : "rounds", result_.operations);
    if (!together_.empty()) text += fmt::format("{}\n", together_);
    if (!excluded.empty()) text += fmt::format("--exclude={}\n", excluded);
    return text;
  }

  const LocateCommand& command_;
  const RunInput& input_;
  Choice choice_;
  Nodes nodes_;
  Messages messages_;
  Limits limits_;
  Clock::time_point begin_;
  SearchResult result_;
  std::string together_;  // what the other nodes reach; empty if it was not measured
  Report report_;
};

// The faults of the data that the cluster simulates.
std::vector<Finding> judge_simulated_data(const SimCluster& cluster, std::uint64_t bytes) {
  Operation operation;
  operation.bytes = bytes;
  const auto backend = make_sim_backend(cluster);
  auto row = row_of(operation, backend->ranks());
  Timing timing;
  timing.wrong = wrong_elements(ClusterModel(cluster), whole(cluster), operation);
  if (timing.wrong.empty()) return {};
  timing.checked = true;
  placement_of(row, operation) = std::move(timing);
  return judge_data({row}, backend->members());
}

int search_simulation(const LocateCommand& command, const RunInput& input) {
  auto choice = choose_profile(command.profile, command.settings, input.variables);
  if (!choice) return input.refuse(choice.error().status, choice.error().message);
  const auto cluster = choose_cluster(command.cluster, choice->profile, input.variables);
  if (!cluster) return input.refuse(cluster.error().status, cluster.error().message);
  auto nodes = nodes_of(*cluster, command.topology.empty());
  if (nodes.count() < 2) return input.refuse(kExitUndecided, kNeedsTwoNodes);
  if (const auto read = read_topology(nodes, command); !read) {
    return input.refuse(kExitConfiguration, read.error().message);
  }
  if (const auto checked = check_outputs(command, input); !checked) {
    return input.refuse(kExitUndecided, checked.error().message);
  }
  choice->bare = false;  // of the simulated nodes
  Simulation simulation(*cluster);
  const auto bytes = size_for(command, choice->profile, true);
  const bool one_domain = share_domain(*cluster, 0, static_cast<std::size_t>(cluster->nodes) - 1);
  LocateRun run(command, input, *std::move(choice), std::move(nodes),
                {.gpus = true, .bytes = bytes, .one_domain = one_domain});
  if (const auto searched = run.search(simulation); !searched) {
    return input.refuse(kExitUndecided, searched.error().message);
  }
  return run.conclude(judge_simulated_data(*cluster, bytes));
}

void report_troubles(const std::vector<std::string>& troubles, const RankContext& self) {
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(kShown, troubles.size()); ++i) self.say(troubles[i]);
  if (troubles.size() > kShown) self.say(fmt::format("and {} more", troubles.size() - kShown));
}

// The nodes to search among, or why there can be no search.
Attempt<Nodes> searched_nodes(const LocateCommand& command, const RankContext& self) {
  const auto refuse = [](int status, std::string why) {
    return tl::unexpected(Failure{status, std::move(why)});
  };
  auto nodes = nodes_of(self.membership.agreed);
  if (!nodes) return refuse(kExitUndecided, nodes.error().message);
  if (const auto read = read_topology(*nodes, command); !read) {
    return refuse(kExitConfiguration, read.error().message);
  }
  if (const auto checked = check_outputs(command, self.input); !checked) {
    return refuse(kExitUndecided, checked.error().message);
  }
  return *std::move(nodes);
}

// Runs the search on rank 0. Returns the exit status of all ranks.
Result<int> lead(const LocateCommand& command, RankContext& self, Job& job,
                 const Messages& messages, Nodes nodes) {
  auto choice = self.reporter.record().choice;
  choice.bare = self.reporter.record().facts.bare && self.kind != BackendKind::nccl;
  LocateRun run(command, self.input, std::move(choice), std::move(nodes), messages);
  LocateRun::NodeTester test;
  if (!command.tests(self.kind).empty()) {
    test = [&job](const std::vector<Node>& slow) { return job.test(slow); };
  }
  // Only NCCL can abort an operation that waits for a lost rank.
  if (self.kind == BackendKind::nccl) self.membership.group->go_on_without_the_lost();
  TRY(run.search(job, test));
  TRY(job.end());
  const auto held = self.emergency.hold();
  self.emergency.mark_reported();
  report_troubles(job.troubles(), self);
  const int status = run.conclude(judge_data(job.received(), self.reporter.record().members));
  self.reporter.note_verdict(run.report());
  return status;
}

Result<int> search_job(const LocateCommand& command, RankContext& self) {
  if (self.membership.agreed.hosts.size() < 2) {
    if (self.leads()) self.say(kNeedsTwoNodes);
    return kExitUndecided;
  }
  const bool gpus = self.kind == BackendKind::nccl;
  const auto& profile = self.reporter.record().choice.profile;
  // Ranks on different nodes may have different profiles: rank 0 decides.
  TRY_ASSIGN(const auto bytes, broadcast(*self.membership.group, size_for(command, profile, gpus)));
  auto nodes = self.leads() ? searched_nodes(command, self) : Attempt<Nodes>();
  TRY_ASSIGN(const int refused,
             broadcast(*self.membership.group, nodes ? kExitHealthy : nodes.error().status));
  if (!nodes) self.say(nodes.error().message);
  if (refused != kExitHealthy) return refused;
  Job job(self, {.bytes = bytes}, command);
  int status = kExitHealthy;
  if (self.leads()) {
    const Messages messages{
        .gpus = gpus, .bytes = bytes, .one_domain = self.membership.agreed.one_domain};
    TRY_ASSIGN(status, lead(command, self, job, messages, *std::move(nodes)));
  } else {
    TRY(job.serve());
  }
  self.enter("report", to_duration(command.operation_deadline));
  return broadcast(*self.membership.group, status);
}

}  // namespace

int run(std::span<const char* const> arguments, const RunInput& input) {
  return run_parsed(parse(arguments), input, [&input](const LocateCommand& command) {
    if (command.backend == BackendKind::sim) return search_simulation(command, input);
    return bench::run(command, input,
                      [&command](RankContext& self) { return search_job(command, self); });
  });
}

}  // namespace muster::bench::locate
