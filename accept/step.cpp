// SPDX-License-Identifier: Apache-2.0
#include "accept/step.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "accept/frame.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/node/parts.hpp"
#include "lib/process/process.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"

namespace muster::accept {
namespace {

using Words = std::vector<std::string>;

// Returns the newest lines about Xids, which GPU findings are based on.
std::vector<std::string> kernel_lines_of(const Snapshot& snapshot) {
  constexpr std::size_t kMax = 20;
  std::vector<std::string> lines;
  if (!snapshot.kernel_log.ok()) return lines;
  for (const auto& record : snapshot.kernel_log->records) {
    if (record.text.find("Xid") != std::string::npos) lines.push_back(printable(record.text));
  }
  if (lines.size() > kMax) lines.erase(lines.begin(), lines.end() - kMax);
  return lines;
}

std::string why_no_gpus(const Section<Nvml>& nvml) {
  if (!nvml.ok()) return nvml.reason;
  return nvml->trouble.empty() ? "the driver lists none" : nvml->trouble;
}

// Makes a report with one finding, about something that could not be observed or run.
Report unknown_report(std::string_view check, std::string_view what, std::string_view why) {
  Report report{.context = "boot", .started = utc_now(), .verdict = Verdict::unknown};
  report.coverage = {
      .judged = 0, .selected = 1, .not_observed = {{std::string(what), std::string(why), true}}};
  report.checks = {{std::string(check), Outcome::unknown}};
  report.findings = {{.check = std::string(check),
                      .device = "node",
                      .outcome = Outcome::unknown,
                      .message = fmt::format("{}: not observed: {}", what, printable(why)),
                      .remedy = Remedy::none}};
  return report;
}

class StepRunner {
 public:
  StepRunner(const StepRequest& request, const Caller& caller)
      : request_(request),
        caller_(caller),
        limit_(std::chrono::seconds(request.deadline_s)),
        input_(is_pipe(STDIN_FILENO) ? STDIN_FILENO : -1) {}

  // Returns nothing if the driver is gone.
  [[nodiscard]] std::optional<StepAnswer> run() {
    StepAnswer answer{.host = host_name(), .muster = std::string(kVersion)};
    const auto ran = run_stage(answer);
    if (gone_) return std::nullopt;
    if (!ran && ran.error().missing) {
      answer.refused = ran.error().message;
    } else if (!ran) {
      answer.reports.push_back(unknown_report(kStepCheck, "stage", ran.error().message));
    }
    answer.seconds = std::chrono::duration<double>(Clock::now() - limit_.started()).count();
    answer.at = wall_time().time_since_epoch().count();
    return answer;
  }

 private:
  // The error is `missing` if muster cannot run the stage on this node.
  [[nodiscard]] Result<void> run_stage(StepAnswer& answer) {
    TRY_ASSIGN(const auto text, run_muster({"snapshot", "--context", "boot"}));
    TRY_ASSIGN(const auto snapshot, parse_snapshot(text));
    answer = identity_of(snapshot);
    const bool loads = request_.stage != Stage::inventory && request_.stage != Stage::check;
    if (loads) answer.refused = work_on(snapshot);
    return answer.refused.empty() ? add_reports(answer) : Result<void>{};
  }

  [[nodiscard]] Result<void> add_reports(StepAnswer& answer) {
    const bool checks = request_.stage == Stage::check || request_.stage == Stage::soak ||
                        request_.stage == Stage::after;
    switch (request_.stage) {
      case Stage::node:
        TRY(add_bench({"node", fmt::format("--level={}", request_.level), budget()}, answer));
        break;
      case Stage::soak: {
        // muster-bench keeps this much of the budget to prepare and to verify.
        constexpr std::int64_t kAroundSoak = 20;
        TRY(add_bench({"node", "--only=gpu.soak",
                       fmt::format("--budget={} s", request_.slice_s + kAroundSoak)},
                      answer));
        break;
      }
      case Stage::after:
        TRY(add_bench({"node", "--level=quick", budget()}, answer));
        break;
      case Stage::inventory:
      case Stage::check:
        break;
      case Stage::fabric:
      case Stage::whole:
        return make_error("a stage of several nodes is not a step of one node");
    }
    if (!checks) return {};
    Words words{"check", "--context", "boot", "--format", "json", "--verbose"};
    add_profile(words);
    TRY_ASSIGN(const auto text, run_muster(words));
    return add_report(text, "muster check", answer);
  }

  // Leaves time for the work before and after.
  [[nodiscard]] std::string budget() const {
    return fmt::format("--budget={} s", request_.deadline_s * 4 / 5);
  }

  void add_profile(Words& words) const {
    if (!request_.profile.empty()) words.push_back(fmt::format("--profile={}", request_.profile));
    for (const auto& setting : request_.settings) words.push_back(fmt::format("--set={}", setting));
  }

  [[nodiscard]] Result<void> add_bench(Words words, StepAnswer& answer) {
    words.emplace_back("--format=json");
    words.emplace_back("--verbose");
    add_profile(words);
    const auto program = caller_.bench.empty() ? sibling_program("muster-bench") : caller_.bench;
    TRY_ASSIGN(const auto text, run_one(program, words));
    return add_report(text, "muster-bench", answer);
  }

  [[nodiscard]] static Result<void> add_report(const std::string& text, std::string_view program,
                                               StepAnswer& answer) {
    auto report = parse_report(text);
    if (!report) return make_error("{}: {}", program, report.error().message);
    if (answer.profile.empty()) answer.profile = report->profile;
    answer.reports.push_back(*std::move(report));
    return {};
  }

  [[nodiscard]] Result<std::string> run_muster(const Words& words) {
    return run_one("/proc/self/exe", words);
  }

  // Runs a program and returns its output, which contains a report.
  [[nodiscard]] Result<std::string> run_one(const std::filesystem::path& program,
                                            const Words& words) {
    RunningPrograms running;
    TRY(running.start(0, {.program = program,
                          .arguments = words,
                          .environment = caller_.variables,
                          .limit = limit_.deadline()}));
    for (;;) {
      auto ended = running.wait(limit_.deadline() + std::chrono::seconds(1), input_);
      gone_ = ended.empty() && input_is_closed();
      if (gone_) return make_error("the driver is gone");
      if (ended.empty()) continue;
      auto& result = ended.front().second;
      if (!result) return tl::unexpected(result.error());
      if (result->status <= kExitUndecided && !result->out.empty()) return std::move(result->out);
      const auto* name = program == "/proc/self/exe" ? "muster" : "muster-bench";
      Error error{.message = fmt::format("{} {} exited with status {}: {}", name, words.front(),
                                         result->status, last_line(result->err))};
      error.missing = result->status == kExitUsage || result->status == kExitConfiguration;
      return tl::unexpected(std::move(error));
    }
  }

  // Reads and discards anything that a launcher sends.
  [[nodiscard]] bool input_is_closed() const {
    std::string ignored(4096, '\0');
    return input_ >= 0 && read_some(input_, ignored.data(), ignored.size()) <= 0;
  }

  const StepRequest& request_;
  const Caller& caller_;
  TimeLimit limit_;
  int input_;  // watched; -1 for none
  bool gone_ = false;
};

}  // namespace

StepRequest step_request(const Plan& plan, const std::string& node, Stage stage) {
  return {.node = node,
          .stage = stage,
          .deadline_s = deadline_s(plan, stage),
          .slice_s = plan.slice_s,
          .level = plan.level,
          .profile = plan.profile,
          .settings = plan.settings};
}

StepAnswer identity_of(const Snapshot& snapshot) {
  StepAnswer answer{.host = host_name(), .muster = std::string(kVersion)};
  if (!snapshot.identity->hostname.empty()) answer.host = snapshot.identity->hostname;
  answer.boot_id = snapshot.identity->boot_id.value_or("");
  answer.physical_host = snapshot.identity->physical_host.value_or("");
  answer.kernel_lines = kernel_lines_of(snapshot);
  answer.stack = stack_of(snapshot);
  answer.parts = parts_of(snapshot);
  const auto gpus = snapshot.nvml->gpus.size();
  answer.stack["gpus"] = gpus > 0 ? fmt::format("{}", gpus)
                                  : fmt::format("none: {}", printable(why_no_gpus(snapshot.nvml)));
  return answer;
}

std::string work_on(const Snapshot& snapshot) {
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (!gpu.processes || gpu.processes->empty()) continue;
    const auto& process = gpu.processes->front();
    return fmt::format("gpu{} is used by {} ({})", gpu.index,
                       process.name.empty() ? "a process" : printable(process.name, 40),
                       process.pid);
  }
  return {};
}

int run_step(const std::string& request, const Caller& caller) {
  const auto parsed = from_json<StepRequest>(request);
  if (!parsed) {
    return fail(caller, {.status = kExitUsage,
                         .message = fmt::format("--step: {}", parsed.error().message)});
  }
  StepRunner runner(*parsed, caller);
  const auto answer = runner.run();
  if (!answer) {
    return fail(caller, {.status = kExitUndecided, .message = "stopped: the driver is gone"});
  }
  return deliver(caller, "", frame(parsed->node, to_json_line(*answer)), kExitHealthy);
}

}  // namespace muster::accept
