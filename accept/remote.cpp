// SPDX-License-Identifier: Apache-2.0
#include "accept/remote.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "accept/frame.hpp"
#include "accept/step.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/program.hpp"

namespace muster::accept {
namespace {

using std::chrono::seconds;

constexpr seconds kConnectTime{30};  // added to the deadline of a stage, for connecting
constexpr seconds kProbeTime{30};
constexpr seconds kGraceTime{30};

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text.append("'");
}

CommandWords by_slurm(const std::string& node) {
  return {"srun",      "--nodes=1", "--ntasks=1",      fmt::format("--nodelist={}", node),
          "--overlap", "--mem=0",   "--cpu-bind=none", "--kill-on-bad-exit=0",
          "--quiet"};
}

CommandWords by_ssh(const std::string& node) {
  return {"ssh", "-T",
          "-o",  "BatchMode=yes",
          "-o",  "ConnectTimeout=10",
          "-o",  "ServerAliveInterval=15",
          "-o",  "ServerAliveCountMax=4",
          "--",  node};
}

CommandWords by_mpirun(const std::string& node) {
  return {"mpirun", "-n", "1", "--host", node, "--bind-to", "none"};
}

// How a node is reached.
struct NodeLauncher {
  std::string_view word;  // the value of --by
  std::size_t most;       // maximum number of concurrent steps
  bool by_shell;          // the words of the step become one shell command line
  CommandWords (*node)(const std::string& node);
};

constexpr std::array kNodeLaunchers{
    NodeLauncher{"slurm", 512, false, by_slurm},
    NodeLauncher{"ssh", 64, true, by_ssh},
    NodeLauncher{"mpirun", 64, false, by_mpirun},
    NodeLauncher{"local", 1, false, [](const std::string& /*node*/) { return CommandWords(); }},
};
constexpr NodeLauncher kProgram{"", 64, false, nullptr};

const NodeLauncher& launcher_of(std::string_view by) {
  const auto* const found = std::ranges::find(kNodeLaunchers, by, &NodeLauncher::word);
  return found == kNodeLaunchers.end() ? kProgram : *found;
}

// Phrases of ssh, srun and shells. The first one that an error contains decides.
struct Phrase {
  std::string_view text;
  Unanswered::Kind kind;
};

constexpr std::array kPhrases{
    Phrase{"Permission denied", Unanswered::Kind::refused},
    Phrase{"Host key verification failed", Unanswered::Kind::refused},
    Phrase{"Could not resolve hostname", Unanswered::Kind::refused},
    Phrase{"command not found", Unanswered::Kind::refused},
    Phrase{"No such file or directory", Unanswered::Kind::refused},
    // Slurm removes a node that went down from its job and never puts it back.
    Phrase{"Requested node configuration is not available", Unanswered::Kind::outside},
    Phrase{"not part of the allocation", Unanswered::Kind::outside},
    Phrase{"Connection refused", Unanswered::Kind::lost},
    Phrase{"Connection timed out", Unanswered::Kind::lost},
    Phrase{"Connection closed", Unanswered::Kind::lost},
    Phrase{"Connection reset", Unanswered::Kind::lost},
    Phrase{"No route to host", Unanswered::Kind::lost},
    Phrase{"Network is unreachable", Unanswered::Kind::lost},
    Phrase{"not responding", Unanswered::Kind::lost},
    Phrase{"Broken pipe", Unanswered::Kind::lost},
    Phrase{"Node failure", Unanswered::Kind::lost},
    Phrase{"NODE FAILURE", Unanswered::Kind::lost},
    Phrase{"Communication connection failure", Unanswered::Kind::lost},
};

// Finds the report in the output of a launcher, which may print its own lines as well.
Result<Report> report_in(const std::string& output) {
  const auto begin = output.find('{');
  const auto end = output.rfind('}');
  if (begin == std::string::npos || end < begin) return make_error("it printed no report");
  return parse_report(std::string_view(output).substr(begin, end - begin + 1));
}

constexpr std::size_t kMaxReason = 200;

// Returns the first paragraph of the last message that mpirun prints between two rulers, or the
// last line if it is not in such a message.
std::string reason_in(std::string_view errors) {
  constexpr std::size_t kShortestRuler = 20;
  std::string reason;
  bool in_message = false, in_paragraph = false;
  for (const auto line : split_lines(errors)) {
    const auto text = trim(line);
    if (text.size() >= kShortestRuler && text.find_first_not_of('-') == std::string_view::npos) {
      in_message = in_paragraph = !in_message;
      if (in_message) reason.clear();
    } else if (text.empty()) {
      in_paragraph = in_paragraph && reason.empty();
    } else if (!in_message || reason.empty()) {
      reason = text;
    } else if (in_paragraph) {
      reason += fmt::format(" {}", text);
    }
  }
  return printable(reason, kMaxReason);
}

StepAnswer own_answer(const std::string& host) {
  return {
      .host = host, .muster = std::string(kVersion), .at = wall_time().time_since_epoch().count()};
}

class RemoteFleet : public Fleet {
 public:
  RemoteFleet(const Order& order, RemoteSetup setup, std::vector<bool> reachable)
      : order_(order),
        setup_(std::move(setup)),
        launcher_(launcher_of(setup_.by)),
        reachable_(std::move(reachable)) {}

  [[nodiscard]] std::int64_t now() override { return wall_time().time_since_epoch().count(); }

  [[nodiscard]] std::vector<bool> reachable() override { return reachable_; }

  void start(const NodeStart& step) override { queued_.push_back(step); }

  void start(const GroupStart& step) override {
    const auto key = ++last_key_;
    auto& task = tasks_[key];
    task.step.group = step;
    task.started = Clock::now();
    task.deadline = task.started + seconds(deadline_s(order_.plan, step.stage)) + kConnectTime;
    run_group(key, task);
  }

  [[nodiscard]] std::vector<EndedStep> wait(std::int64_t until) override {
    const auto deadline = Clock::now() + seconds(std::max<std::int64_t>(until - now(), 0));
    for (;;) {
      launch();
      if (!ended_.empty()) return std::exchange(ended_, {});
      auto finished = programs_.wait(deadline, setup_.wake);
      if (finished.empty()) return {};
      for (auto& [key, result] : finished) finish(key, std::move(result));
    }
  }

  void stop() override {
    stopping_ = true;
    programs_.stop(Clock::now() + kGraceTime);
    for (const auto& step : queued_) ended_.push_back({.node = step, .why = "the run was stopped"});
    queued_.clear();
  }

 private:
  struct Task {
    EndedStep step;
    Clock::time_point started{}, deadline{};
    std::size_t probes = 0;  // of nodes of a group, running
  };

  struct Probe {
    std::size_t task = 0, node = 0;
  };

  [[nodiscard]] const std::string& name(std::size_t node) const {
    return order_.nodes.at(node).name;
  }

  // Starts queued steps and probes while there are free slots.
  void launch() {
    while (!queued_probes_.empty() && running_ < launcher_.most) {
      const auto probe = queued_probes_.front();
      queued_probes_.pop_front();
      const auto key = ++last_key_;
      probes_[key] = probe;
      ++running_;
      run(key, node_command(setup_.by, name(probe.node), {"true"}), Clock::now() + kProbeTime,
          false);
    }
    while (!queued_.empty() && running_ < launcher_.most) {
      const auto step = queued_.front();
      queued_.pop_front();
      const auto key = ++last_key_;
      auto& task = tasks_[key];
      task.step.node = step;
      const auto& node = name(step.node);
      ++running_;
      if (outside_.contains(step.node)) {
        run(key, {"sinfo", "--noheader", fmt::format("--nodes={}", node), "--format=%T"},
            Clock::now() + kProbeTime, false);
        continue;
      }
      const CommandWords words{setup_.muster, "accept", "--step",
                               to_json_line(step_request(order_.plan, node, step.stage))};
      const seconds allowed(deadline_s(order_.plan, step.stage));
      run(key, node_command(setup_.by, node, words), Clock::now() + allowed + kConnectTime, true);
    }
  }

  // Starts a program. If it cannot be started, it ends at once.
  void run(std::size_t key, const CommandWords& words, Clock::time_point deadline,
           bool hold_input) {
    const auto program = find_program(words.front(), setup_.variables);
    auto started = program ? programs_.start(key, {.program = *program,
                                                   .arguments = {words.begin() + 1, words.end()},
                                                   .environment = setup_.variables,
                                                   .limit = deadline,
                                                   .hold_input = hold_input})
                           : Result<void>(tl::unexpected(program.error()));
    if (!started) finish(key, tl::unexpected(started.error()));
  }

  void run_group(std::size_t key, Task& task) {
    const auto& group = *task.step.group;
    std::vector<std::string> nodes;
    const auto all = setup_.gpus();
    std::size_t gpus = SIZE_MAX;
    for (const auto node : group.nodes) {
      nodes.push_back(name(node));
      gpus = std::min(gpus, all.at(node));
    }
    const auto processes = std::max<std::size_t>(gpus, 1);
    const auto host_file =
        (setup_.folder / fmt::format("group/{}.{}.hosts", to_string(group.stage), group.number))
            .string();
    std::string hosts;
    for (const auto& node : nodes) hosts += fmt::format("{} slots={}\n", node, processes);
    if (auto written = replace_file(host_file, hosts, 0644); !written) {
      return finish(key, tl::unexpected(written.error()));
    }
    run(key, group_command(setup_.by, nodes, processes, host_file, bench_of(group.stage)),
        task.deadline, false);
  }

  [[nodiscard]] CommandWords bench_of(Stage stage) const {
    CommandWords words{setup_.muster.parent_path() / "muster-bench",
                       stage == Stage::fabric ? "locate" : "all_reduce", "--format=json",
                       "--verbose"};
    if (stage == Stage::soak) words.emplace_back("--soak=5min");
    const auto& plan = order_.plan;
    if (!plan.profile.empty()) words.push_back(fmt::format("--profile={}", plan.profile));
    for (const auto& setting : plan.settings) words.push_back(fmt::format("--set={}", setting));
    return words;
  }

  void finish(std::size_t key, Result<Ended> result) {
    if (const auto probe = probes_.find(key); probe != probes_.end()) {
      const auto [task, node] = probe->second;
      probes_.erase(probe);
      --running_;
      return finish_probe(task, node, result && result->status == 0);
    }
    auto& task = tasks_.at(key);
    if (task.step.group) return finish_group(key, task, result);
    --running_;
    const auto node = task.step.node->node;
    const bool known = outside_.contains(node);
    if (known) {
      end_outside(task.step, result);
    } else {
      finish_node(task.step, result);
    }
    if (known == outside_.contains(node)) return conclude(key);
    queued_.push_back(*task.step.node);
    tasks_.erase(key);
  }

  void conclude(std::size_t key) {
    ended_.push_back(std::move(tasks_.at(key).step));
    tasks_.erase(key);
  }

  void finish_node(EndedStep& step, const Result<Ended>& result) {
    const auto& node = name(step.node->node);
    if (!result) return end_without(step, failed(result.error()), node);
    const auto content = unframe(node, result->out);
    auto answer = content ? from_json<StepAnswer>(*content)
                          : Result<StepAnswer>(tl::unexpected(content.error()));
    if (!answer) {
      const auto& why = answer.error().message;
      return end_without(step, unanswered(result->status, result->err, why), node);
    }
    if (answer->muster != kVersion) {
      answer->refused =
          fmt::format("the node has muster {}, but this is {}", answer->muster, kVersion);
    }
    step.answer = *std::move(answer);
  }

  // Explains a program that could not be run, or that reached its deadline.
  [[nodiscard]] static Unanswered failed(const Error& error) {
    const bool late = error.message.find("did not answer within") != std::string::npos;
    return {.kind = error.missing ? Unanswered::Kind::refused
                    : late        ? Unanswered::Kind::lost
                                  : Unanswered::Kind::interrupted,
            .why = error.message};
  }

  // Handles a node that has left the job: it is lost, or waits for another job.
  void end_outside(EndedStep& step, const Result<Ended>& result) {
    const auto& node = name(step.node->node);
    const auto state = result ? last_line(result->out) : std::string();
    step.lost = state.starts_with("down") || state.ends_with('*');  // "*": does not respond
    step.why = fmt::format("{} has left the job; its state in Slurm is {}", node,
                           state.empty() ? "unknown" : state);
    if (!step.lost) reachable_.at(step.node->node) = false;
  }

  void end_without(EndedStep& step, Unanswered ended, const std::string& node) {
    if (stopping_) ended = {.why = "the run was stopped"};
    if (ended.kind == Unanswered::Kind::outside && step.node) outside_.insert(step.node->node);
    step.why = ended.why;
    step.lost = ended.kind == Unanswered::Kind::lost;
    if (ended.kind != Unanswered::Kind::refused) return;
    step.answer = own_answer(node);
    step.answer->refused = ended.why;
  }

  void finish_group(std::size_t key, Task& task, const Result<Ended>& result) {
    auto report = result ? report_in(result->out) : Result<Report>(tl::unexpected(result.error()));
    if (!report) return explain_group(key, task, result, report.error());
    auto answer = own_answer(host_name());
    answer.seconds = std::chrono::duration<double>(Clock::now() - task.started).count();
    answer.reports.push_back(*std::move(report));
    task.step.answer = std::move(answer);
    conclude(key);
  }

  // If a group sent no answer, asks each of its nodes whether it is still there.
  void explain_group(std::size_t key, Task& task, const Result<Ended>& result, const Error& error) {
    auto why = result ? unanswered(result->status, result->err, error.message) : failed(error);
    const bool ours = why.kind == Unanswered::Kind::refused;
    if (!ours) why.kind = Unanswered::Kind::interrupted;
    end_without(task.step, std::move(why), host_name());
    if (ours || stopping_) return conclude(key);
    const auto nodes = task.step.group->nodes;
    task.probes = nodes.size();
    for (const auto node : nodes) queued_probes_.push_back({.task = key, .node = node});
  }

  void finish_probe(std::size_t key, std::size_t node, bool answered) {
    auto& task = tasks_.at(key);
    if (!answered) task.step.lost_nodes.push_back(node);
    if (--task.probes == 0) conclude(key);
  }

  const Order& order_;
  RemoteSetup setup_;
  const NodeLauncher& launcher_;
  std::vector<bool> reachable_;
  std::set<std::size_t> outside_;  // nodes that have left the Slurm job
  std::deque<NodeStart> queued_;
  std::deque<Probe> queued_probes_;
  std::map<std::size_t, Task> tasks_;
  std::map<std::size_t, Probe> probes_;
  std::vector<EndedStep> ended_;
  std::size_t running_ = 0;  // steps of single nodes, and probes
  std::size_t last_key_ = 0;
  bool stopping_ = false;
  RunningPrograms programs_;
};

// Returns the nodes of this allocation.
Result<std::vector<bool>> nodes_of_job(const Order& order, const Variables& variables) {
  const auto list = value_of(variables, "SLURM_JOB_NODELIST");
  if (list.empty()) {
    return make_error("--by slurm works in an allocation: run it by sbatch or in salloc");
  }
  TRY_ASSIGN(const auto names, expand_hostlist(list));
  const std::set<std::string> in_job(names.begin(), names.end());
  std::vector<bool> reachable;
  for (const auto& node : order.nodes) reachable.push_back(in_job.contains(node.name));
  return reachable;
}

}  // namespace

CommandWords node_command(const std::string& by, const std::string& node,
                          const CommandWords& step) {
  const auto& launcher = launcher_of(by);
  CommandWords words = launcher.node == nullptr ? CommandWords{by, node} : launcher.node(node);
  if (!launcher.by_shell) {
    words.insert(words.end(), step.begin(), step.end());
    return words;
  }
  CommandWords shell_words;
  std::ranges::transform(step, std::back_inserter(shell_words), quoted);
  words.push_back(fmt::format("{}", fmt::join(shell_words, " ")));
  return words;
}

CommandWords group_command(const std::string& by, const std::vector<std::string>& nodes,
                           std::size_t processes, const std::string& host_file,
                           const CommandWords& bench) {
  CommandWords words;
  if (by == "slurm") {
    words = {"srun",
             fmt::format("--nodes={}", nodes.size()),
             fmt::format("--nodelist={}", fold_hostlist(nodes)),
             fmt::format("--ntasks-per-node={}", processes),
             "--overlap",
             "--mem=0",
             "--cpu-bind=none",
             "--kill-on-bad-exit=0",
             "--wait=30",
             "--quiet"};
  } else {
    words = {"mpirun",
             "--hostfile",
             host_file,
             "-n",
             fmt::format("{}", nodes.size() * processes),
             "--map-by",
             fmt::format("ppr:{}:node", processes),
             "--bind-to",
             "none"};
  }
  words.insert(words.end(), bench.begin(), bench.end());
  return words;
}

Unanswered unanswered(int status, std::string_view errors, std::string_view why) {
  const auto lines = split_lines(errors);
  for (const auto& phrase : kPhrases) {
    const auto found = std::ranges::find_if(
        lines, [&](auto line) { return line.find(phrase.text) != std::string_view::npos; });
    if (found == lines.end()) continue;
    return {.kind = phrase.kind, .why = printable(trim(*found), kMaxReason)};
  }
  std::string text(why);
  if (status != 0) text += fmt::format(" (status {})", status);
  if (const auto reason = reason_in(errors); !reason.empty()) text += fmt::format(": {}", reason);
  constexpr int kNotRun = 126;
  constexpr int kNotFound = 127;
  constexpr int kSshFailed = 255;
  if (status == kNotRun || status == kNotFound) {
    return {.kind = Unanswered::Kind::refused, .why = text};
  }
  if (status == kSshFailed) return {.kind = Unanswered::Kind::lost, .why = text};
  return {.kind = Unanswered::Kind::interrupted, .why = text};
}

Result<std::unique_ptr<Fleet>> make_remote_fleet(const Order& order, RemoteSetup setup) {
  std::vector<bool> reachable(order.nodes.size(), true);
  if (setup.by == "slurm") {
    TRY_ASSIGN(reachable, nodes_of_job(order, setup.variables));
  }
  if (setup.by == "local" && order.nodes.size() != 1) {
    return make_error("--by local reaches only this machine, which is one node");
  }
  const auto first = node_command(setup.by, order.nodes.front().name, {setup.muster.string()});
  TRY(find_program(first.front(), setup.variables));
  return std::make_unique<RemoteFleet>(order, std::move(setup), std::move(reachable));
}

}  // namespace muster::accept
