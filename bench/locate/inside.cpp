// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/inside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/run/bench_run.hpp"
#include "lib/base/json.hpp"

namespace muster::bench::locate {
namespace {

// Expected while the job holds the GPUs.
constexpr std::string_view kInUse = "bench.in_use";

NodeTests tests_of(const Report& report) {
  NodeTests tests;
  for (const auto outcome : {Outcome::fail, Outcome::warn}) {
    for (const auto& finding : report.findings) {
      if (finding.outcome != outcome || finding.check == kInUse) continue;
      tests.wrong.push_back(
          fmt::format("{} {}: {}", finding.check, finding.device, finding.message));
    }
  }
  tests.passed =
      static_cast<std::size_t>(std::ranges::count_if(report.checks, [](const CheckResult& check) {
        return check.outcome == Outcome::pass && check.id != kInUse;
      }));
  if (!tests.wrong.empty() || tests.passed > 0) return tests;
  const auto why = std::ranges::find_if(
      report.findings, [](const Finding& finding) { return finding.check != kInUse; });
  tests.trouble = why == report.findings.end() ? "nothing was tested" : why->message;
  return tests;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeTests, wrong, passed, trouble)

NodeTests test_inside(const RankContext& self, std::string_view only) {
  constexpr std::chrono::seconds kStartAndEnd{20};
  std::vector<std::string> words{"node",
                                 "--level=quick",
                                 "--even-if-busy",
                                 "--format=json",
                                 fmt::format("--only={}", only),
                                 fmt::format("--budget={}s", kInsideBudget.count())};
  hand_on(self.command, words);
  const auto report = run_own(words, self.variables, Clock::now() + kInsideBudget + kStartAndEnd);
  return report ? tests_of(*report) : NodeTests{.trouble = report.error().message};
}

std::string to_text(const NodeTests& tests) { return json_line(tests); }

NodeTests parse_node_tests(std::string_view text) {
  const auto json = parse_json(text);
  try {
    if (json) return json->get<NodeTests>();
  } catch (const nlohmann::json::exception&) {
    // As unreadable text.
  }
  return {.trouble = "its answer was incomplete"};
}

void add_evidence(const NodeTests& tests, Culprit& culprit) {
  constexpr std::size_t kMostReasons = 3;
  auto& evidence = culprit.evidence;
  if (!tests.trouble.empty()) {
    evidence.push_back(fmt::format("not tested from within: {}", tests.trouble));
    return;
  }
  // Before the partners with which the node is slow.
  const auto shown = std::min(kMostReasons, tests.wrong.size());
  for (std::size_t i = 0; i < shown; ++i) {
    evidence.insert(evidence.begin() + static_cast<std::ptrdiff_t>(i),
                    fmt::format("tested from within: {}", tests.wrong[i]));
  }
  if (tests.wrong.size() > shown) {
    evidence.push_back(fmt::format("tested from within: {} more", tests.wrong.size() - shown));
  }
  if (tests.wrong.empty()) {
    culprit.ruled_out.push_back(fmt::format("what {} of its own tests measure", tests.passed));
  }
}

}  // namespace muster::bench::locate
