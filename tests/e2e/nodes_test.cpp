// SPDX-License-Identifier: Apache-2.0
// Simulated nodes through all of observing and judging: healthy ones are healthy with everything
// known, and every single fault yields its own finding and no other.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <variant>

#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

// Texts that tests compare with a file in tests/nodes/golden, one named entry each. With
// MUSTER_REWRITE_GOLDEN set they write the file instead.
class GoldenFile {
 public:
  explicit GoldenFile(std::string_view name)
      : file_(std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/nodes/golden" / name) {
    std::ifstream file(file_);
    std::string* entry = nullptr;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(kHeading)) {
        entry = &entries_[line.substr(kHeading.size())];
      } else if (entry != nullptr) {
        entry->append(line).append("\n");
      }
    }
  }

  // Expects the entry `name` to be `text`, or stores it.
  void expect(const std::string& name, const std::string& text) {
    if (std::getenv("MUSTER_REWRITE_GOLDEN") == nullptr) {
      EXPECT_EQ(text, entries_[name])
          << file_ << ": " << name << " differs; MUSTER_REWRITE_GOLDEN=1 writes it anew";
      return;
    }
    entries_[name] = text;
    std::ofstream file(file_);
    for (const auto& [heading, entry] : entries_) file << kHeading << heading << '\n' << entry;
  }

  // Expects that every entry of the file is in `names`.
  void expect_only(const std::set<std::string_view>& names) const {
    for (const auto& [name, text] : entries_) {
      EXPECT_TRUE(names.contains(name))
          << file_ << " has the entry " << name << ", which no test compares";
    }
  }

 private:
  static constexpr std::string_view kHeading = "== ";

  std::filesystem::path file_;
  std::map<std::string, std::string> entries_;
};

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return "none";
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

// "fail ib.rate mlx5_ib5: 200 Gb/s, expected 400 Gb/s [observed 200, limit 400 Gb/s] -> reseat". Of
// a pass or skip only if `all`.
std::string golden_text(const Report& report, bool all) {
  std::string text;
  for (const auto& each : report.findings) {
    if (!all && (each.outcome == Outcome::pass || each.outcome == Outcome::skip)) continue;
    text +=
        fmt::format("{} {} {}: {}", to_string(each.outcome), each.check, each.device, each.message);
    if (each.observed != Value() || each.limit != Value()) {
      text += fmt::format(" [{}, limit {}{}{}]", text_of(each.observed), text_of(each.limit),
                          each.unit.empty() ? "" : " ", each.unit);
    }
    if (each.remedy != Remedy::none) text += fmt::format(" -> {}", to_string(each.remedy));
    if (!each.code.empty()) text += fmt::format(" {}", each.code);
    text += '\n';
  }
  return text;
}

// One directory per kind of node, reused for all its faults.
Stage& stage_of(std::string_view node) {
  static std::map<std::string, Stage, std::less<>> stages;
  return stages[std::string(node)];
}

// The findings, then the verdict in every context.
std::string golden_entry(const Examination& seen, bool all) {
  constexpr std::array kContexts{"manual", "prolog", "epilog", "periodic", "boot"};
  auto text = golden_text(seen.report, all);
  std::map<Verdict, std::string> contexts;
  for (const auto* context : kContexts) {
    const auto verdict = judge(seen.snapshot, seen.profile, {.context = context}).verdict;
    contexts[verdict].append(" ").append(context);
  }
  for (const auto& [verdict, names] : contexts) {
    text += fmt::format("{} in{}\n", to_string(verdict), names);
  }
  return text;
}

// Expects the same verdict and findings from the snapshot alone.
void expect_same_from_snapshot(const Examination& direct) {
  const auto snapshot = parse_snapshot(to_json(direct.snapshot));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  auto again = judge(*snapshot, direct.profile, {.only = {"*"}});
  again.profile_evidence = direct.report.profile_evidence;
  EXPECT_EQ(again, direct.report);
}

class HealthyNode : public DiskTest, public ::testing::WithParamInterface<std::string_view> {};

TEST_P(HealthyNode, HasNoFindingAndNothingUnknown) {
  const auto seen = examine_node(stage_of(GetParam()), node_named(GetParam()));
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
  EXPECT_EQ(seen.report.verdict, Verdict::healthy);
  static GoldenFile golden("healthy.txt");
  golden.expect(std::string(GetParam()), golden_entry(seen, true));
  expect_same_from_snapshot(seen);
}

TEST_P(HealthyNode, IsRecognisedByItsHardware) {
  const auto node = node_named(GetParam());
  auto& stage = stage_of(GetParam());
  stage.show(render(node));
  EXPECT_EQ(examine(stage.root(), {}).report.profile, node.profile);
}

TEST_P(HealthyNode, StaysHealthyInItsNextRun) {
  const auto seen = examine_twice(stage_of(GetParam()), busy(node_named(GetParam())));
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
  EXPECT_EQ(seen.report.verdict, Verdict::healthy);
  expect_same_from_snapshot(seen);
  expect_sound_metrics(seen);
}

// A process that writes to a busy disk sleeps at every look, and runs in between.
TEST(BusyWriterTest, IsNotStuck) {
  auto node = node_named("nd96isr_h100_v5");
  node.processes.push_back({.pid = 4242, .name = "dd", .state = 'D', .start_ticks = 7'000'000});
  Stage stage;
  const auto seen = examine_twice(stage, node, [](nodes::NodeDescription& later) {
    later.processes.back().voluntary_switches += 90'000;
  });
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
}

std::vector<std::string_view> node_names() {
  std::vector<std::string_view> names;
  for (const auto& node : nodes::all_nodes()) names.push_back(node.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Written, HealthyNode, ::testing::ValuesIn(node_names()),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace muster::e2e

namespace muster::nodes {

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
static void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

}  // namespace muster::nodes

namespace muster::e2e {
namespace {

class SingleFault : public DiskTest, public ::testing::WithParamInterface<nodes::Fault> {};

TEST_P(SingleFault, IsTheOnlyFinding) {
  const auto& fault = GetParam();
  const auto node = node_named(fault.node);
  const auto seen = examine_fault(stage_of(fault.node), node, fault, node.profile);
  EXPECT_THAT(concerns(seen.report), ElementsAre(fmt::format("{} {} {}", to_string(fault.outcome),
                                                             fault.check, fault.device)))
      << explain(seen.report);
  const auto verdict = fault.outcome == Outcome::fail   ? Verdict::unhealthy
                       : fault.outcome == Outcome::warn ? Verdict::healthy
                                                        : Verdict::unknown;
  EXPECT_EQ(seen.report.verdict, verdict);
  static GoldenFile golden("faults.txt");
  golden.expect(std::string(fault.name), golden_entry(seen, false));
  expect_same_from_snapshot(seen);
  expect_sound_metrics(seen);
}

INSTANTIATE_TEST_SUITE_P(Written, SingleFault, ::testing::ValuesIn(nodes::all_faults()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(FaultTableTest, GoldenFilesHaveEntriesOfNodesAndFaultsOnly) {
  std::set<std::string_view> faults;
  for (const auto& fault : nodes::all_faults()) faults.insert(fault.name);
  GoldenFile("faults.txt").expect_only(faults);
  const auto names = node_names();
  GoldenFile("healthy.txt").expect_only({names.begin(), names.end()});
}

}  // namespace
}  // namespace muster::e2e
