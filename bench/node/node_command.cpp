// SPDX-License-Identifier: Apache-2.0
#include "bench/node/node_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "lib/base/text.hpp"

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

Result<void> take_budget(std::optional<Seconds>& target, Text value) {
  return put(target, take_duration(value));
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
                                 "only these tests, at any level; with * and ?", Arity::each),
    option<&C::skip, take_tests>("--skip", "TEST,...", "all but these", Arity::each),
    option<&C::budget, take_budget>("--budget", "TIME",
                                    "end within this time; a test without time left is not a pass"),
    option<&C::size, take_size>("--size", "SIZE",
                                "of each buffer, as '256 MiB'; default: of each test"),
    option<&C::even_if_busy>("--even-if-busy", "", "run even if another program uses a GPU"),
    option<&C::profile>("--profile", "NAME|FILE",
                        "judge by this profile (default: the site's muster.yaml, or by hardware)"),
    option<&C::settings, take_setting>("--set", "KEY=VALUE",
                                       "override one value of the profile; may be repeated"),
    option<&C::format>("--format", kFormats, "format of the report (default text)"),
    option<&C::output>(
        "--output", "FILE",
        "write the report to FILE, replacing it atomically; %h in its name stands for this host"),
    option<&C::cuda>("--cuda", "FILE", "in place of the driver's libcuda.so.1"),
    option<&C::nvml>("--nvml", "FILE", "in place of libnvidia-ml.so.1"),
    option<&C::nccl>("--nccl", "FILE", "in place of libnccl.so.2"),
    option<&C::cublas>("--cublas", "FILE", "in place of libcublasLt.so"),
    option<&C::verbs>("--verbs", "FILE", "in place of libibverbs.so.1"),
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

bool matches_any(const std::vector<std::string>& globs, std::string_view name) {
  return std::ranges::any_of(globs, [&](const auto& glob) { return matches_glob(glob, name); });
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

}  // namespace muster::bench::node
