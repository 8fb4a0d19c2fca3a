// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/harness.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "checks/app/inspect.hpp"
#include "checks/run.hpp"
#include "lib/base/clock.hpp"
#include "lib/state/state.hpp"
#include "tests/nodes/nvml.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(std::string_view why) {
  fmt::print(stderr, "end-to-end test: {}\n", why);
  std::abort();
}

app::ObservedNode run(const app::ObservationRequest& errand) {
  const auto started = Clock::now();
  const std::map<std::string, std::string> variables{
      {"MUSTER_DATA_DIR", fmt::format("{}/configs", MUSTER_SOURCE_DIR)}};
  Deadline deadline(started + (errand.deadline ? to_duration(*errand.deadline)
                                               : Clock::duration(app::kDefaultDeadline)));
  auto examined = app::observe_node(errand, variables, started, deadline);
  if (!examined) give_up(examined.error().message);
  return std::move(*examined);
}

}  // namespace

void Stage::show(nodes::Tree tree) {
  const bool first = shown_.entries().empty();
  const bool written = first ? write_tree(tree, root()) : change_tree(shown_, tree, root());
  if (!written) give_up(fmt::format("{} could not be written", root().string()));
  shown_ = std::move(tree);
}

fs::path Stage::nvml() const {
  return shown_.find(nodes::kNvmlLibrary) == nullptr ? fs::path() : root() / nodes::kNvmlLibrary;
}

Examination examine(const fs::path& root, const Request& request) {
  std::optional<Seconds> limit;
  if (request.deadline) limit = Seconds{std::chrono::duration<double>(*request.deadline).count()};
  auto examined = run({.profile = request.profile,
                       .root = root.string(),
                       .nvml = request.nvml.string(),
                       .state = request.state.string(),
                       .deadline = limit,
                       .probes = [](const Profile*) { return ProbeSet::all(); }});
  auto report = judge(examined.snapshot, examined.choice.profile, {.only = {"*"}});
  report.profile_evidence = examined.choice.evidence;
  return {.snapshot = std::move(examined.snapshot),
          .profile = std::move(examined.choice.profile),
          .report = std::move(report)};
}

Examination examine_node(Stage& stage, const nodes::NodeDescription& node, const fs::path& state) {
  stage.show(render(node));
  return examine(stage.root(), {.profile = node.profile, .state = state, .nvml = stage.nvml()});
}

Examination examine_twice(Stage& stage, nodes::NodeDescription node,
                          const std::function<void(nodes::NodeDescription&)>& change) {
  const TempDir state;
  remember(state.path(), examine_node(stage, node).snapshot);
  node.system.uptime_s += 3600;
  if (change) change(node);
  return examine_node(stage, node, state.path());
}

Examination examine_fault(Stage& stage, const nodes::NodeDescription& node,
                          const nodes::Fault& fault, const std::string& profile) {
  const TempDir state;
  if (fault.earlier_s > 0) {
    stage.show(render_earlier(node, fault));
    remember(state.path(),
             examine(stage.root(), {.profile = profile, .nvml = stage.nvml()}).snapshot);
  }
  stage.show(render_with(node, {&fault}));
  return examine(stage.root(), {.profile = profile, .state = state.path(), .nvml = stage.nvml()});
}

std::string profile_of(const fs::path& root) {
  return run({.root = root.string(), .probes = [](const Profile*) { return ProbeSet(); }})
      .choice.profile.name;
}

void remember(const fs::path& state, const Snapshot& snapshot) {
  const auto written = write_state(state / "state.json", snapshot);
  if (!written) give_up(written.error().message);
}

std::vector<std::string> concerns(const Report& report) {
  std::vector<std::string> result;
  for (const auto& finding : report.findings) {
    if (finding.outcome == Outcome::pass || finding.outcome == Outcome::skip) continue;
    result.push_back(
        fmt::format("{} {} {}", to_string(finding.outcome), finding.check, finding.device));
  }
  return result;
}

std::string explain(const Report& report) {
  std::string text = fmt::format("{} is {} by {}\n", report.node.value_or("(no name)"),
                                 to_string(report.verdict), report.profile);
  for (const auto& finding : report.findings) {
    if (finding.outcome == Outcome::pass || finding.outcome == Outcome::skip) continue;
    text.append(fmt::format("  {} {} {}: {}\n", to_string(finding.outcome), finding.check,
                            finding.device, finding.message));
  }
  return text;
}

nodes::NodeDescription node_named(std::string_view name) {
  const auto& all = nodes::all_nodes();
  const auto found = std::ranges::find(all, name, &nodes::NamedNode::name);
  if (found == all.end()) give_up(fmt::format("no node is called {}", name));
  return found->make();
}

bool disk_has_room() {
  const TempDir here;

  struct statvfs space {};

  constexpr double kEnough = 0.2;
  return ::statvfs(here.path().c_str(), &space) == 0 &&
         static_cast<double>(space.f_bavail) > kEnough * static_cast<double>(space.f_blocks);
}

}  // namespace muster::e2e
