// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/pair_table.hpp"
#include "bench/locate/topology.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/run/node_settings.hpp"
#include "lib/base/atomic_file.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/root.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/verdict.hpp"

namespace muster::bench::locate {
namespace {

// What a pair of nodes must reach by the profile; its lowest limit, since NCCL's algorithm is not
// known here.
std::optional<double> floor_of(const LocateCommand& command, const Profile& profile) {
  constexpr double kGiga = 1e9;
  if (command.min_busbw) return command.min_busbw->value / kGiga;
  std::optional<double> floor;
  for (const auto& limit : job_limits(profile, Collective::all_reduce)) {
    const bool of_two = limit.nodes_at_least.value_or(2) <= 2;
    if (!of_two || !limit.fail_below) continue;
    const double own = limit.fail_below->value / kGiga;
    floor = std::min(floor.value_or(own), own);
  }
  return floor;
}

// The topology of --topology, or the model's own.
Result<Nodes> nodes_for(const LocateCommand& command) {
  constexpr std::size_t kLargestFile = 16UL << 20U;
  auto nodes = nodes_of(command.model, command.topology.empty());
  if (command.topology.empty()) return nodes;
  const auto path = std::filesystem::absolute(command.topology).string();
  const auto text = Root().read(path, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  if (auto done = set_topology(nodes, *text, command.topology); !done) {
    return tl::unexpected(done.error());
  }
  return nodes;
}

class Run {
 public:
  Run(const LocateCommand& command, const RunInput& input, Choice choice, Nodes nodes)
      : command_(command),
        input_(input),
        choice_(std::move(choice)),
        nodes_(std::move(nodes)),
        begin_(Clock::now()) {
    report_.started = utc_now();
  }

  [[nodiscard]] int run() {
    Plan plan{.strategy = command_.strategy};
    plan.rule.floor_gbps = floor_of(command_, choice_.profile);
    if (shows_progress()) {
      plan.watch = [this](const std::string& title, std::size_t groups) {
        (void)input_.console.out(fmt::format("\r\033[K{} ({} groups)", title, groups));
      };
    }
    Model model(command_.model);
    const auto search = locate(nodes_, model, plan);
    if (shows_progress()) (void)input_.console.out("\r\033[K");
    if (!search) return refuse(kExitUndecided, search.error().message);
    report_.findings = findings_of(*search, nodes_, plan.rule);
    report_.accused = accused_of(*search, nodes_);
    const auto verdict = conclude();
    if (auto written = write(*search); !written) {
      return refuse(kExitUndecided, written.error().message);
    }
    return exit_status(verdict);
  }

 private:
  [[nodiscard]] bool shows_progress() const {
    return input_.console.width > 0 && !command_.quiet && command_.output.empty() &&
           command_.format == Format::text;
  }

  int refuse(int status, std::string_view message) const {
    if (!message.empty()) input_.console.note(fmt::format("muster-bench: {}", message));
    return status;
  }

  Verdict conclude() {
    report_.node = host_name();
    report_.nodes = nodes_.names;
    report_.profile = choice_.profile.name;
    report_.profile_evidence = choice_.evidence;
    report_.context = "manual";
    report_.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
    report_.muster = kVersion;
    muster::conclude(report_, {std::string(kLocateCheck)});
    return report_.verdict;
  }

  [[nodiscard]] Result<void> write(const Search& search) const {
    const auto file = [](const std::string& name, std::string_view text) -> Result<void> {
      return name.empty() ? Result<void>() : replace_file(name, text, kReportMode);
    };
    if (auto done = file(command_.matrix, pairs_json(search, nodes_)); !done) return done;
    if (auto done = file(command_.csv, pairs_csv(search, nodes_)); !done) return done;
    const auto excluded = fold_hostlist(excluded_of(search, nodes_));
    if (auto done = file(command_.exclude, fmt::format("{}\n", excluded)); !done) return done;
    auto text = row_of(command_.format)
                    .render(report_,
                            {.verbose = command_.verbose,
                             .quiet = command_.quiet,
                             .colour = input_.console.colour && command_.output.empty(),
                             .width = command_.output.empty() ? input_.console.width : 0});
    if (command_.format == Format::text && !command_.quiet) text += summary(search, excluded);
    auto destination = Destination::open(input_.console, command_.output);
    if (!destination) return tl::unexpected(destination.error());
    if (auto done = destination->write(text); !done) return done;
    return destination->finish();
  }

  [[nodiscard]] std::string summary(const Search& search, std::string_view excluded) const {
    auto text = heat_map(search, nodes_);
    text += fmt::format("{} nodes, {} {}, {} operations\n",
                        nodes_.count(),
                        search.rounds,
                        search.rounds == 1 ? "round" : "rounds",
                        search.operations);
    if (!excluded.empty()) text += fmt::format("--exclude={}\n", excluded);
    return text;
  }

  const LocateCommand& command_;
  const RunInput& input_;
  Choice choice_;
  Nodes nodes_;
  Clock::time_point begin_;
  Report report_;
};

}  // namespace

int run(std::span<const char* const> arguments, const RunInput& input) {
  const auto refuse = [&](int status, std::string_view message) {
    input.console.note(fmt::format("muster-bench: {}", message));
    return status;
  };
  const auto parsed = parse(arguments);
  if (!parsed) return refuse(kExitUsage, parsed.error().message);
  if (const auto* help = std::get_if<std::string>(&*parsed)) {
    return input.console.out(*help) ? kExitHealthy : kExitUndecided;
  }
  const auto& command = std::get<LocateCommand>(*parsed);
  auto choice = choose_profile(command.profile, command.settings, input.variables);
  if (!choice) return refuse(choice.error().status, choice.error().message);
  auto nodes = nodes_for(command);
  if (!nodes) return refuse(kExitConfiguration, nodes.error().message);
  // Nothing is measured for a report that cannot be written.
  if (const auto open = Destination::open(input.console, command.output); !open) {
    return refuse(kExitUndecided, open.error().message);
  }
  return Run(command, input, *std::move(choice), *std::move(nodes)).run();
}

}  // namespace muster::bench::locate
