// SPDX-License-Identifier: Apache-2.0
// `muster agent`: runs `muster check` again and again, and publishes each verdict.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/kubernetes/node_status.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/summary.hpp"

namespace muster::app {
namespace {

constexpr auto kUsualInterval = std::chrono::seconds(60);
constexpr auto kLongestCheck = std::chrono::seconds(60);  // longer than any context's deadline
constexpr auto kServerAnswers = std::chrono::seconds(10);

struct Judged {
  int status = kExitUndecided;
  std::string message;
  Report report;
};

// The command line of each run of `muster check`.
std::vector<std::string> check_line(const AgentCommand& command) {
  std::vector<std::string> words{"check",    "--host", "--context", "periodic",
                                 "--format", "json",   "--verbose"};
  words.insert(words.end(), command.check.begin(), command.check.end());
  return words;
}

// Refuses options with which no run could print its report.
Result<void> check_options(const AgentCommand& command) {
  const auto words = check_line(command);
  std::vector<const char*> arguments;
  for (const auto& word : words) arguments.push_back(word.c_str());
  TRY_ASSIGN(const auto invocation, parse(arguments));
  const auto* const check = std::get_if<CheckCommand>(&invocation);
  if (check != nullptr && check->format == Format::json && check->output.empty()) return {};
  return make_error("--check: the agent needs the report, and excludes --help, --format, --output");
}

// Refuses what no round could use.
Result<void> check_agent(const AgentCommand& command, const std::string& port) {
  if (!is_host_name(command.node)) {
    return make_error("agent: invalid node name \"{}\"", printable(command.node, 80));
  }
  constexpr std::uint64_t kLastPort = 65535;
  const auto number = parse_unsigned(port);
  if (!number || *number == 0 || *number > kLastPort) {
    return make_error("agent: KUBERNETES_SERVICE_PORT: invalid port \"{}\"", printable(port, 80));
  }
  return check_options(command);
}

// Runs in its own process, because it moves to the host's namespaces.
Judged judge_node(const AgentCommand& command, const Caller& caller) {
  std::error_code failure;
  const auto ended =
      run_program({.program = std::filesystem::read_symlink("/proc/self/exe", failure),
                   .arguments = check_line(command),
                   .environment = caller.variables,
                   .limit = kLongestCheck});
  const auto without_report = [&](std::string why) {
    return Judged{.message = std::move(why),
                  .report = {.node = command.node,
                             .context = "periodic",
                             .started = utc_now(),
                             .muster = std::string(kVersion)}};
  };
  if (!ended) return without_report(ended.error().message);
  auto report = parse_report(ended->out);
  if (!report) {
    return without_report(
        fmt::format("muster check ended with status {}: {}", ended->status, last_line(ended->err)));
  }
  constexpr std::size_t kLongestMessage = 500;
  auto message = one_line(*report, kLongestMessage);
  return {.status = ended->status, .message = std::move(message), .report = std::move(*report)};
}

// One round. Returns what failed.
std::string publish(kubernetes::NodeStatus& node, const AgentCommand& command,
                    const Caller& caller) {
  const auto judged = judge_node(command, caller);
  auto conditions = kubernetes::conditions_for(judged.status, judged.message);
  const auto published = node.publish(std::move(conditions));
  const auto written =
      command.metrics.empty()
          ? Result<void>()
          : replace_file(command.metrics,
                         to_prometheus(judged.report, {.all_values = command.all_values}), 0644);
  const auto sent = node.send_events();
  if (!published) return published.error().message;
  for (const auto& each : *published) {
    caller.console.note(fmt::format("muster: {} is {}: {}", each.value("type", ""),
                                    each.value("status", ""), judged.message));
  }
  if (!sent) return sent.error().message;
  return written ? "" : written.error().message;
}

}  // namespace

int run_agent(const AgentCommand& asked, const Caller& caller) {
  auto command = asked;
  if (command.node.empty()) command.node = value_of(caller.variables, "NODE_NAME");
  std::error_code failed;
  const kubernetes::Server server{
      .host = value_of(caller.variables, "KUBERNETES_SERVICE_HOST"),
      .port = value_of(caller.variables, "KUBERNETES_SERVICE_PORT"),
      .account = std::filesystem::absolute(
          command.account.empty() ? kubernetes::kAccount : command.account, failed)};
  if (command.node.empty() || server.host.empty() || server.port.empty()) {
    return fail(caller, {.status = kExitUsage,
                         .message = "agent: run it in a pod, with NODE_NAME (or --node), "
                                    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"});
  }
  const auto usage = check_agent(command, server.port);
  if (!usage) return fail(caller, {.status = kExitUsage, .message = usage.error().message});
  kubernetes::NodeStatus node(command.node, [&](const kubernetes::Request& request) {
    return kubernetes::send(server, request, kServerAnswers);
  });
  const Clock::duration kUsual = kUsualInterval;
  const auto interval = command.interval ? to_duration(*command.interval) : kUsual;
  std::string last;  // a failure is printed once, not in every round
  for (;;) {
    const auto begin = Clock::now();
    auto failure = publish(node, command, caller);
    if (failure != last && !failure.empty()) {
      caller.console.note(fmt::format("muster: {}", failure));
    }
    last = std::move(failure);
    std::this_thread::sleep_until(begin + (last.empty() ? interval : std::min(interval, kUsual)));
  }
}

}  // namespace muster::app
