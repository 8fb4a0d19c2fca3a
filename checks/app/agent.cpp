// SPDX-License-Identifier: Apache-2.0
// `muster agent`: runs `muster check` again and again, and publishes each verdict.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "checks/app/commands.hpp"
#include "lib/base/files.hpp"
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

// Runs in its own process, because it moves to the host's namespaces.
Judged judge_node(const AgentCommand& command, const Caller& caller) {
  std::error_code failure;
  std::vector<std::string> arguments{"check",    "--host", "--context", "periodic",
                                     "--format", "json",   "--verbose"};
  arguments.insert(arguments.end(), command.check.begin(), command.check.end());
  const auto ended =
      run_program({.program = std::filesystem::read_symlink("/proc/self/exe", failure),
                   .arguments = std::move(arguments),
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
  if (!published) return published.error().message;
  for (const auto& each : *published) {
    caller.console.note(fmt::format("muster: {} is {}: {}", each.value("type", ""),
                                    each.value("status", ""), judged.message));
  }
  return written ? "" : written.error().message;
}

}  // namespace

int run_agent(const AgentCommand& asked, const Caller& caller) {
  auto command = asked;
  if (command.node.empty()) command.node = value_of(caller.variables, "NODE_NAME");
  const kubernetes::Server server{
      .host = value_of(caller.variables, "KUBERNETES_SERVICE_HOST"),
      .port = value_of(caller.variables, "KUBERNETES_SERVICE_PORT"),
      .account = command.account.empty() ? kubernetes::kAccount : command.account};
  if (command.node.empty() || server.host.empty() || server.port.empty()) {
    return fail(caller, {.status = kExitUsage,
                         .message = "agent: run it in a pod, with NODE_NAME (or --node), "
                                    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"});
  }
  kubernetes::NodeStatus node(command.node, [&](const kubernetes::Request& request) {
    return kubernetes::send(server, request, kServerAnswers);
  });
  std::string last;  // a failure is printed once, not in every round
  for (;;) {
    const auto next = Clock::now() + (command.interval ? to_duration(*command.interval)
                                                       : Clock::duration(kUsualInterval));
    auto failure = publish(node, command, caller);
    if (failure != last && !failure.empty()) {
      caller.console.note(fmt::format("muster: {}", failure));
    }
    last = std::move(failure);
    std::this_thread::sleep_until(next);
  }
}

}  // namespace muster::app
