// SPDX-License-Identifier: Apache-2.0
// `muster-bench node`. Each test has its own process and deadline, so that one that hangs in a
// driver does not stop the others.
#include "bench/node/node_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/command/shared_options.hpp"
#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/reporting.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/summary.hpp"

namespace muster::bench::node {
namespace {

using C = NodeCommand;
using Text = std::string_view;

Result<void> take_tests(std::vector<std::string>& target, Text value) {
  TRY_ASSIGN(auto globs, tests_called(value));
  std::ranges::move(globs, std::back_inserter(target));
  return {};
}

Result<void> take_setting(std::vector<std::string>& target, Text value) {
  return add_setting(target, value, " as bench.stream.fail_below='300 GB/s'");
}

Result<void> take_size(std::optional<Bytes>& target, Text value) {
  constexpr double kMin = 64.0 * 1024;
  const auto size = parse_quantity<BytesKind>(value);
  if (size && size->value < kMin) return make_error("expects at least 64 KiB");
  return put(target, size);
}

constexpr std::array kOptions{
    option<&C::level>("--level", "quick|full|soak",
                      "how thorough: a minute, five minutes, or half an hour (default quick)"),
    option<&C::only, take_tests>("--only", "TEST,...",
                                 "run only these tests, at any level; * and ? are wildcards",
                                 Arity::each),
    option<&C::skip, take_tests>("--skip", "TEST,...", "skip these tests", Arity::each),
    option<&C::budget>("--budget", "TIME",
                       "end within this time; tests that no longer fit are unknown"),
    option<&C::size, take_size>("--size", "SIZE",
                                "size of each buffer, such as '256 MiB' (default: the test's own)"),
    option<&C::even_if_busy>("--even-if-busy", "", "run even if another program uses a GPU"),
    option<&C::profile>("--profile", "NAME|FILE",
                        "judge by this profile (default: the site's muster.yaml, or by hardware)"),
    option<&C::settings, take_setting>("--set", "KEY=VALUE",
                                       "override one value of the profile; may be repeated"),
    option<&C::format>("--format", kFormats, "format of the report (default text)"),
    option<&C::output>(
        "--output", "FILE",
        "write the report to FILE, replacing it atomically; %h in its name stands for this host"),
    option<&C::cuda>("--cuda", "FILE", "load this instead of the driver's libcuda.so.1"),
    option<&C::nvml>("--nvml", "FILE", "load this instead of libnvidia-ml.so.1"),
    option<&C::nccl>("--nccl", "FILE", "load this instead of libnccl.so.2"),
    option<&C::cublas>("--cublas", "FILE", "load this instead of libcublasLt.so"),
    option<&C::verbs>("--verbs", "FILE", "load this instead of libibverbs.so.1"),
    option<&C::verbose>("-v,--verbose", "", "print the recognised hardware and why"),
    option<&C::quiet>("-q,--quiet", "", "print only what is wrong"),
};

std::string tests_text() {
  std::string text = "Tests:\n";
  for (const auto& test : node_tests()) {
    constexpr std::array<std::string_view, 3> kFrom{"", " (level full)", " (level soak)"};
    const auto about =
        fmt::format("{}{}", test.about, kFrom.at(static_cast<std::size_t>(test.times.from)));
    text += fmt::format("  {:<14}{}\n", test.name, wrapped(about, 16));
  }
  return text.append("\n");
}

}  // namespace

CommandText command_text() {
  return subcommand_text<NodeCommand>(
      "node",
      "Measures this node's memory, disks, GPUs and links, verifies the data, and judges by "
      "the limits of the node's profile and by comparing equal devices",
      kOptions,
      "  muster-bench node                        the tests of a minute\n"
      "  muster-bench node --level full --budget 5min\n"
      "  muster-bench node --only 'gpu.*,ib.*'    only GPUs and HCAs\n"
      "  srun --ntasks-per-node 1 muster-bench node --format json\n");
}

Parsed<NodeCommand> parse(std::span<const char* const> arguments) {
  return parse_subcommand<NodeCommand>(
      arguments, command_text(), kOptions,
      [](const NodeCommand& command) {
        return refuse_any({{command.verbose && command.quiet, "-v and -q exclude each other"},
                           {selected_tests(command).empty(), "no test is left to run"}});
      },
      tests_text());
}

std::vector<const NodeTest*> selected_tests(const NodeCommand& command) {
  std::vector<const NodeTest*> tests;
  for (const auto& test : node_tests()) {
    const bool wanted = command.only.empty() ? test.times.from <= command.level
                                             : matches_any(command.only, test.name);
    if (wanted && !matches_any(command.skip, test.name)) tests.push_back(&test);
  }
  return tests;
}

std::chrono::duration<double> budget_of(const NodeCommand& command) {
  constexpr std::array kBudgets{60.0, 300.0, 1800.0};  // of each level, in seconds
  return std::chrono::duration<double>(command.budget
                                           ? command.budget->value
                                           : kBudgets.at(static_cast<std::size_t>(command.level)));
}

namespace {

using Span = std::chrono::duration<double>;

// Prints progress and results as they come, if the report is text on standard output and not quiet.
class Screen {
 public:
  Screen(const NodeCommand& command, const Console& console)
      : console_(console),
        prints_(command.format == Format::text && !command.quiet && command.output.empty()) {}

  void progress(std::string_view what) {
    if (!prints_ || console_.width == 0) return;
    shown_ = true;
    (void)console_.out(fmt::format("\r\033[K{}", printable(what, console_.width - 1)));
  }

  void print(std::string_view lines) {
    if (prints_) (void)console_.out(fmt::format("{}{}", cleared(), lines));
  }

  [[nodiscard]] std::string_view cleared() {
    return std::exchange(shown_, false) ? "\r\033[K" : "";
  }

 private:
  const Console& console_;
  bool prints_;
  bool shown_ = false;
};

// A soak leaves this much of the budget, to prepare and to verify.
constexpr Span kSoakMargin = std::chrono::seconds(20);

class NodeRun {
 public:
  NodeRun(const NodeCommand& command, const RunInput& input, Choice choice)
      : command_(command),
        input_(input),
        choice_(std::move(choice)),
        screen_(command, input.console),
        begin_(Clock::now()),
        deadline_(begin_ + std::chrono::duration_cast<Clock::duration>(budget_of(command))) {
    report_.started = utc_now();
  }

  [[nodiscard]] int run() {
    const auto tests = selected_tests(command_);
    if (std::ranges::any_of(tests, &NodeTest::needs_idle_gpus)) look_for_processes();
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const auto* test = tests[i];
      screen_.progress(fmt::format("{} ({} of {})", test->name, i + 1, tests.size()));
      add(run_test(*test));
    }
    return conclude();
  }

 private:
  [[nodiscard]] Span time_of(const NodeTest& test) const {
    const auto& times = test.times;
    if (times.from != Level::soak) {
      return Span(command_.level == Level::quick ? times.quick_s : times.full_s);
    }
    const Span left = deadline_ - Clock::now();
    return std::max(left - kSoakMargin, Span(times.quick_s));
  }

  std::vector<Finding> ask_for_processes() {
    nvml_ = ask_nvml({.library = command_.nvml, .parts = {.processes = true}}, input_.variables);
    auto findings = judge_use(nvml_, muster::value_of(input_.variables, "CUDA_VISIBLE_DEVICES"));
    busy_ = first_use(findings);
    return findings;
  }

  // A process that was ended leaves its GPUs about half a second later.
  void look_for_processes() {
    constexpr auto kLeaving = std::chrono::seconds(2);
    screen_.progress("looking for processes on the GPUs");
    auto findings = ask_for_processes();
    while (!busy_.empty() && !command_.even_if_busy && Clock::now() < begin_ + kLeaving) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      findings = ask_for_processes();
    }
    if (command_.even_if_busy && !busy_.empty()) {
      for (auto& finding : findings) finding.outcome = Outcome::warn;
      busy_.clear();
    }
    std::ranges::move(findings, std::back_inserter(report_.findings));
    checks_.emplace_back(kInUse);
  }

  [[nodiscard]] TestRun run_test(const NodeTest& test) const {
    constexpr auto kSetUp = std::chrono::seconds(60);  // to allocate memory and make the data
    TestRun ran{.test = &test};
    const auto now = Clock::now();
    const auto time = time_of(test);
    if (Span(deadline_ - now) < time) {
      ran.result = make_error("not run: too little is left of the budget of {} (--budget)",
                              to_string(Seconds{budget_of(command_).count()}));
      return ran;
    }
    if (test.needs_idle_gpus() && !busy_.empty()) {
      ran.result = make_error("not run: {}; --even-if-busy runs it anyway", busy_);
      return ran;
    }
    const TestInput asked{
        .level = command_.level,
        .time = time,
        .cuda = command_.cuda,
        .nvml = command_.nvml,
        .nccl = command_.nccl,
        .verbs = command_.verbs,
        .cublas = command_.cublas,
        .variables = input_.variables,
        .profile = command_.profile,
        .settings = command_.settings,
        .limit = bounds_of_test(test, choice_.profile),
        .bytes = static_cast<std::uint64_t>(command_.size.value_or(Bytes{0}).value)};
    const auto enough = now + std::chrono::duration_cast<Clock::duration>(3 * time) + kSetUp;
    ran.result = ask_child(std::string(test.name), std::min(enough, deadline_), [&] {
                   return to_json(test.run(asked));
                 }).and_then([](const std::string& answer) { return parse_result(answer); });
    ran.seconds = Span(Clock::now() - now).count();
    return ran;
  }

  void add(const TestRun& ran) {
    screen_.print(summary_of(ran));
    auto findings = findings_of(ran, choice_.profile);
    add_causes(findings, nvml_);
    std::ranges::move(findings, std::back_inserter(report_.findings));
    std::ranges::move(measurements_of(ran), std::back_inserter(report_.measurements));
    if (ran.result) {
      for (auto matrix : ran.result->matrices) {
        matrix.check = ran.test->check;
        report_.matrices.push_back(std::move(matrix));
      }
    }
    checks_.emplace_back(ran.test->check);
  }

  [[nodiscard]] int conclude() {
    report_.node = host_name();
    sign(report_, "node", choice_, begin_);
    leave_undecided_without_tests(report_.findings);
    muster::conclude(report_, checks_);
    report_.judged = !is_trial();
    // Show every check that was measured, even if it passed.
    const std::vector<std::string_view> shown(checks_.begin(), checks_.end());
    const auto text = report_text(report_, command_, input_.console, shown);
    const auto written =
        write_report(input_.console, command_.output, fmt::format("{}{}", screen_.cleared(), text));
    if (written) return exit_status(report_);
    return input_.refuse(kExitUndecided, written.error().message);
  }

  // Whether tests ran but nothing was judged: no limits and no equal devices to compare.
  [[nodiscard]] bool is_trial() const {
    const auto is_skip = [](const Finding& each) { return each.outcome == Outcome::skip; };
    return choice_.bare && !report_.measurements.empty() &&
           std::ranges::all_of(report_.findings, is_skip);
  }

  const NodeCommand& command_;
  const RunInput& input_;
  Choice choice_;
  Screen screen_;
  Clock::time_point begin_;
  Clock::time_point deadline_;
  Report report_;
  Section<Nvml> nvml_;
  std::string busy_;  // "gpu3 is in use by ..."; empty if the GPUs are idle
  std::vector<std::string> checks_;
};

int run_tests(const NodeCommand& command, const RunInput& input) {
  auto choice = choose_profile(command.profile, command.settings, input.variables);
  if (!choice) return input.refuse(choice.error().status, choice.error().message);
  if (const auto open = can_write(input.console, "--output", command.output); !open) {
    return input.refuse(kExitUndecided, open.error().message);
  }
  return NodeRun(command, input, *std::move(choice)).run();
}

}  // namespace

int run(std::span<const char* const> arguments, const RunInput& input) {
  return run_parsed(parse(arguments), input,
                    [&input](const NodeCommand& command) { return run_tests(command, input); });
}

}  // namespace muster::bench::node
