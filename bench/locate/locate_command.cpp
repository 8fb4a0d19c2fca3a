// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "bench/backends/sim/sim.hpp"
#include "bench/command/shared_options.hpp"
#include "bench/locate/findings.hpp"
#include "bench/locate/job.hpp"
#include "bench/locate/simulation.hpp"
#include "bench/model/cluster.hpp"
#include "bench/node/test.hpp"
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
#include "lib/profile/job_limit.hpp"
#include "lib/report/summary.hpp"

namespace muster::bench::locate {
namespace {

using C = LocateCommand;

Result<void> take_tests(std::string& target, std::string_view value) {
  target = value;
  if (value != "none") TRY(node::tests_called(value));
  return {};
}

constexpr std::array kOptions{
    option<&C::cluster, take_sim>("--sim", "WORD=VALUE,...", kSimHelp, Arity::each),
    option<&C::strategy>(
        "--strategy", "auto|screen|tournament|bisect|rails|fabric",
        "screen: disjoint pairs, then suspects with proven partners; tournament: "
        "all pairs; bisect: another name for screen; rails: as auto, and each device "
        "by itself; fabric: the switches first (default auto: tournament up to "
        "16 nodes, else screen)"),
    option<&C::topology>("--topology", "FILE",
                         "Slurm's topology.conf, or lines with a switch and its nodes"),
    option<&C::size, take_size>("--size", "SIZE",
                                "size of the all-reduce (default on GPUs that of the profile's "
                                "limit, or 512 MiB; else 8 MiB)"),
    option<&C::per_repeat, AtLeast<1>{}>("--per-repeat", "N",
                                         "use the median of N operations as one value (default 5)"),
    option<&C::floor, take_rate>(
        "--min-busbw", "RATE",
        "the least that a healthy pair of nodes reaches, such as '180 GB/s'"),
    option<&C::matrix>("--matrix", "FILE", "write the rates of all measured pairs, as JSON"),
    option<&C::csv>("--csv", "FILE", "the same as CSV"),
    option<&C::exclude>("--exclude", "FILE",
                        "write the nodes to avoid, as a list for srun and sbatch --exclude"),
    option<&C::node_tests, take_tests>(
        "--node-tests", "TEST,...|none",
        "tests of muster-bench node that a slow node runs on itself (default on GPUs gpu.*,ib.*; "
        "else none)"),
};

// The messages of a run, and where they go.
struct Messages {
  bool gpus = true;
  std::uint64_t bytes = 0;
  bool one_domain = false;  // the nodes are in one NVLink domain
};

JobConditions conditions_of(const Messages& messages, std::size_t nodes) {
  return {.nodes = static_cast<int>(nodes),
          .memory = messages.gpus ? BenchMemory::gpu : BenchMemory::host,
          .one_domain = messages.one_domain};
}

std::uint64_t size_of(const JobLimit& limit) {
  return static_cast<std::uint64_t>(limit.size.value_or(Bytes{0}).value);
}

// The command's limit or the profile's, which does not hold for smaller messages: these are slower.
Floor floor_of(const LocateCommand& command, const Profile& profile, const Messages& messages,
               std::size_t nodes, std::string_view algorithm = {}) {
  if (command.floor) return command.floor->value / kGiga;
  auto job = conditions_of(messages, nodes);
  job.algorithm = algorithm;
  const auto* limit = limit_of_job(job_limits(profile, Collective::all_reduce), job, true);
  if (limit == nullptr || messages.bytes < size_of(*limit)) return {};
  return limit->fail_below->value / kGiga;
}

// On GPUs at least the sizes of the profile's limits for two nodes and for all of them.
std::uint64_t size_for(const LocateCommand& command, const Profile& profile,
                       const Messages& messages, std::size_t nodes) {
  constexpr std::uint64_t kOnGpus = 512UL << 20U;
  constexpr std::uint64_t kOnHosts = 8UL << 20U;
  if (command.size) return *command.size;
  if (!messages.gpus) return kOnHosts;
  auto size = kOnGpus;
  for (const auto count : {std::size_t{2}, nodes}) {
    for (const auto& limit : job_limits(profile, Collective::all_reduce)) {
      const bool counts = limit.fail_below && may_hold(limit, conditions_of(messages, count));
      if (counts) size = std::max(size, size_of(limit));
    }
  }
  return size;
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

// The options that name a file to write, with that file; empty if it is not given.
std::array<std::pair<std::string_view, std::string>, 4> outputs_of(const LocateCommand& command) {
  return {{{"--matrix", command.matrix},
           {"--csv", command.csv},
           {"--exclude", command.exclude},
           {"--output", command.output}}};
}

// One file would replace the other. Devices, such as /dev/null, may take several.
Result<void> refuse_one_file_twice(const LocateCommand& command) {
  std::map<std::filesystem::path, std::string_view> options;
  for (const auto& [option, name] : outputs_of(command)) {
    if (name.empty() || name == "-" || name.starts_with("/dev/")) continue;
    const auto file = std::filesystem::absolute(name).lexically_normal();
    const auto [first, added] = options.try_emplace(file, option);
    if (!added) return make_error("{} and {} name the same file, {}", first->second, option, name);
  }
  return {};
}

// Checked before the search, which may take minutes.
Result<void> check_outputs(const LocateCommand& command, const RunInput& input) {
  for (const auto& [option, file] : outputs_of(command)) {
    if (!file.empty()) TRY(can_write(input.console, option, file));
  }
  return {};
}

void add_missing(std::vector<std::string>& names, const std::vector<std::string>& more) {
  std::ranges::copy_if(more, std::back_inserter(names), [&](const std::string& name) {
    return std::ranges::find(names, name) == names.end();
  });
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
    const auto job_limit = [this](std::string_view algorithm) {
      return floor_of(command_, choice_.profile, messages_, nodes_.count(), algorithm);
    };
    const SearchOptions options{.strategy = command_.strategy,
                                .floor = floor_of(command_, choice_.profile, messages_, 2),
                                .job_limit = job_limit,
                                .watch = [this](const std::string& title, std::size_t groups) {
                                  show_progress(fmt::format("{} ({} groups)", title, groups));
                                }};
    auto found = locate(nodes_, measurer, options);
    show_progress("");
    TRY_ASSIGN(result_, std::move(found));
    if (test) TRY(test_slow_nodes(test));
    report_.findings = findings_of(result_);
    report_.accused = accused_of(result_);
    // Slow pairs everywhere are the same finding.
    if (std::ranges::count(result_.culprits, Culprit::Kind::everyone, &Culprit::kind) == 0) {
      if (auto together = together_finding(result_)) report_.findings.push_back(*together);
    }
    if (auto matrix = matrix_of(result_)) report_.matrices.push_back(*std::move(matrix));
    if (auto parts = breakdown_of(result_, choice_.profile)) {
      report_.breakdowns.push_back(*std::move(parts));
    }
    return {};
  }

  [[nodiscard]] const Report& report() const { return report_; }

  // Writes the report, with further findings, and returns its exit status.
  [[nodiscard]] int conclude(std::vector<Finding> others = {}) {
    std::vector<std::string> checks{std::string(kLocateCheck)};
    add_missing(report_.accused, bench::accused_of(others, nodes_.names));
    if (!others.empty()) checks.push_back(others.front().check);
    append(report_.findings, std::move(others));
    report_.nodes = nodes_.names;
    sign(report_, "locate", choice_, begin_);
    muster::conclude(report_, checks);
    const bool limited = result_.limits.pair || result_.limits.job;
    report_.judged = !choice_.bare || limited || report_.verdict != Verdict::unknown;
    if (!write()) return kExitUndecided;
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

  // Writes the report even if another file cannot be written. Returns whether all were.
  [[nodiscard]] bool write() const {
    bool all = true;
    const auto note = [&](const Result<void>& written) {
      all = all && written;
      if (!written) input_.say(written.error().message);
    };
    auto avoided = locate::excluded(result_);
    add_missing(avoided, report_.accused);
    const auto excluded = fold_hostlist(avoided);
    const auto write_file = [&](std::string_view option, const std::string& file,
                                std::string_view text) {
      if (!file.empty()) note(write_for(input_.console, option, file, text));
    };
    write_file("--matrix", command_.matrix, pairs_json(result_));
    write_file("--csv", command_.csv, pairs_csv(result_));
    write_file("--exclude", command_.exclude, fmt::format("{}\n", excluded));
    auto text = report_text(report_, command_, input_.console);
    if (command_.format == Format::text && !command_.quiet) text += summary(excluded);
    note(write_report(input_.console, command_.output, text));
    return all;
  }

  [[nodiscard]] std::string summary(std::string_view excluded) const {
    auto text = heat_map(result_);
    text += fmt::format("{} nodes, {} {}, {} operations\n", nodes_.count(), result_.rounds,
                        result_.rounds == 1 ? "round" : "rounds", result_.operations);
    if (const auto rest = together_finding(result_)) text += fmt::format("{}\n", rest->message);
    if (!excluded.empty()) text += fmt::format("--exclude={}\n", excluded);
    return text;
  }

  const LocateCommand& command_;
  const RunInput& input_;
  Choice choice_;
  Nodes nodes_;
  Messages messages_;
  Clock::time_point begin_;
  SearchResult result_;
  Report report_;
};

// The faults of the data that the cluster simulates.
std::vector<Finding> judge_simulated_data(const SimCluster& cluster, std::uint64_t bytes) {
  const Operation operation{.bytes = bytes};
  const auto backend = make_sim_backend(cluster, whole(cluster));
  auto row = row_of(operation, backend->ranks());
  auto& wrong = row.out_of_place.emplace().wrong;
  wrong = wrong_elements(ClusterModel(cluster), whole(cluster), operation);
  return wrong.empty() ? std::vector<Finding>() : judge_data({row}, backend->members());
}

// Adds the topology to the nodes of a search, and checks that its results can be written.
Attempt<Nodes> prepared(Result<Nodes> nodes, const LocateCommand& command, const RunInput& input) {
  if (!nodes) return undecided(nodes.error());
  if (const auto read = read_topology(*nodes, command); !read) {
    return bad_configuration(read.error());
  }
  if (const auto checked = check_outputs(command, input); !checked) {
    return undecided(checked.error());
  }
  return *std::move(nodes);
}

Attempt<int> search_simulation(const LocateCommand& command, const RunInput& input) {
  TRY_ASSIGN(auto choice, choose_profile(command.profile, command.settings, input.variables));
  TRY_ASSIGN(const auto cluster, choose_cluster(command.cluster, choice.profile, input.variables));
  if (cluster.nodes < 2) return undecided({.message = std::string(kNeedsTwoNodes)});
  TRY_ASSIGN(auto nodes, prepared(nodes_of(cluster, command.topology.empty()), command, input));
  choice.bare = false;  // of the simulated nodes
  Simulation simulation(cluster);
  Messages messages{.gpus = !cluster.on_host,
                    .one_domain = share_domain(cluster, 0, nodes.count() - 1)};
  messages.bytes = size_for(command, choice.profile, messages, nodes.count());
  LocateRun run(command, input, std::move(choice), std::move(nodes), messages);
  if (const auto searched = run.search(simulation); !searched) {
    return undecided(searched.error());
  }
  return run.conclude(judge_simulated_data(cluster, messages.bytes));
}

void report_troubles(const std::vector<std::string>& troubles, const RankContext& self) {
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(kShown, troubles.size()); ++i) self.say(troubles[i]);
  if (troubles.size() > kShown) self.say(fmt::format("and {} more", troubles.size() - kShown));
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
  const auto& agreed = self.membership.agreed;
  if (agreed.hosts.size() < 2) {
    if (self.leads()) self.say(kNeedsTwoNodes);
    return kExitUndecided;
  }
  Messages messages{.gpus = self.kind == BackendKind::nccl, .one_domain = agreed.is_one_domain()};
  const auto& profile = self.reporter.record().choice.profile;
  // Ranks on different nodes may have different profiles: rank 0 decides.
  TRY_ASSIGN(messages.bytes, broadcast(*self.membership.group,
                                       size_for(command, profile, messages, agreed.hosts.size())));
  auto nodes = self.leads() ? prepared(nodes_of(agreed), command, self.input) : Attempt<Nodes>();
  TRY_ASSIGN(const int refused,
             broadcast(*self.membership.group, nodes ? kExitHealthy : nodes.error().status));
  if (!nodes) self.say(nodes.error().message);
  if (refused != kExitHealthy) return refused;
  Job job(self, {.bytes = messages.bytes}, command);
  int status = kExitHealthy;
  if (self.leads()) {
    TRY_ASSIGN(status, lead(command, self, job, messages, *std::move(nodes)));
  } else {
    TRY(job.serve());
  }
  self.enter("report", to_duration(command.operation_deadline));
  return broadcast(*self.membership.group, status);
}

}  // namespace

std::string LocateCommand::tests(BackendKind kind) const {
  if (node_tests == "none") return "";
  if (!node_tests.empty()) return node_tests;
  return kind == BackendKind::nccl ? "gpu.*,ib.*" : "";
}

CommandText command_text() {
  return subcommand_text<LocateCommand>(
      "locate",
      "Names the node, device, link or leaf switch that is slow: measures pairs of a job's nodes "
      "side by side, and suspects again with partners that are proven good",
      kOptions,
      "  srun muster-bench locate --exclude slow-nodes     in a job with GPUs\n"
      "  mpirun muster-bench locate --min-busbw '180 GB/s'\n"
      "  muster-bench locate --backend sim --sim nodes=16,fault=slow_node:5:0.8\n");
}

Parsed<LocateCommand> parse(std::span<const char* const> arguments) {
  return parse_subcommand<LocateCommand>(
      arguments, command_text(), kOptions, [](const LocateCommand& command) -> Result<void> {
        const bool sim = command.backend == BackendKind::sim;
        TRY(refuse_any(
            {{command.verbose && command.quiet, "-v and -q exclude each other"},
             {!command.cluster.empty() && !sim, "--sim requires --backend sim"},
             {command.size && sim, "--size and --backend sim exclude each other"},
             {command.per_repeat && sim, "--per-repeat and --backend sim exclude each other"},
             {!command.node_tests.empty() && sim,
              "--node-tests and --backend sim exclude each other"},
             {command.strategy == Strategy::fabric && command.topology.empty() && !sim,
              "--strategy fabric needs --topology"}}));
        TRY(check_sim(command.cluster));
        TRY(refuse_one_file_twice(command));
        return place_fits(command);
      });
}

int run(std::span<const char* const> arguments, const RunInput& input) {
  return run_parsed(parse(arguments), input, [&input](const LocateCommand& command) {
    if (command.backend != BackendKind::sim) {
      return bench::run(command, input,
                        [&command](RankContext& self) { return search_job(command, self); });
    }
    const auto status = search_simulation(command, input);
    return status ? *status : input.refuse(status.error().status, status.error().message);
  });
}

}  // namespace muster::bench::locate
