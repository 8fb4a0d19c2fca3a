// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/inside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "bench/group/bytes.hpp"
#include "bench/run/bench_run.hpp"

namespace muster::bench::locate {
namespace {

// What the tests need to begin and to end.
constexpr std::chrono::seconds kBeside{20};
constexpr std::size_t kMostReasons = 3;

std::vector<std::string> words_of(const BenchCommand& command, std::string_view only) {
  std::vector<std::string> words{"node",
                                 "--level=quick",
                                 "--even-if-busy",
                                 "--format=json",
                                 fmt::format("--only={}", only),
                                 fmt::format("--budget={}s", kInsideBudget.count())};
  hand_on(command, words);
  return words;
}

Inside inside_of(const Report& report) {
  // That the job itself works on the GPUs is no news.
  constexpr std::string_view kInUse = "bench.in_use";
  Inside inside;
  for (const auto outcome : {Outcome::fail, Outcome::warn}) {
    for (const auto& finding : report.findings) {
      if (finding.outcome != outcome || finding.check == kInUse) continue;
      inside.wrong.push_back(
          fmt::format("{} {}: {}", finding.check, finding.device, finding.message));
    }
  }
  inside.passed =
      static_cast<std::size_t>(std::ranges::count_if(report.checks, [&](const CheckResult& check) {
        return check.outcome == Outcome::pass && check.id != kInUse;
      }));
  if (!inside.wrong.empty() || inside.passed > 0) return inside;
  const auto why = std::ranges::find_if(
      report.findings, [&](const Finding& finding) { return finding.check != kInUse; });
  inside.trouble = why == report.findings.end() ? "nothing was tested" : why->message;
  return inside;
}

}  // namespace

Inside test_inside(const RankContext& self, std::string_view only) {
  const auto report =
      run_own(words_of(self.command, only), self.variables, Clock::now() + kInsideBudget + kBeside);
  if (report) return inside_of(*report);
  return {.wrong = {}, .passed = 0, .trouble = report.error().message};
}

std::string to_text(const Inside& inside) {
  Writer writer;
  writer.text(inside.trouble).number(inside.passed).number(inside.wrong.size());
  for (const auto& each : inside.wrong) writer.text(each);
  return writer.take();
}

Inside inside_in(std::string_view text) {
  Inside inside;
  std::uint64_t count = 0;
  Reader reader(text);
  reader.text(inside.trouble).number(inside.passed).number(count);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, text.size()); ++i) {
    reader.text(inside.wrong.emplace_back());
  }
  if (reader.complete()) return inside;
  return {.wrong = {}, .passed = 0, .trouble = "its answer was not whole"};
}

void add_evidence(const Inside& inside, Culprit& culprit) {
  auto& evidence = culprit.evidence;
  if (!inside.trouble.empty()) {
    evidence.push_back(fmt::format("not tested from within: {}", inside.trouble));
    return;
  }
  // The part comes before the partners with whom it was noticed.
  const auto shown = std::min(kMostReasons, inside.wrong.size());
  for (std::size_t i = 0; i < shown; ++i) {
    evidence.insert(evidence.begin() + static_cast<std::ptrdiff_t>(i),
                    fmt::format("tested from within: {}", inside.wrong[i]));
  }
  if (inside.wrong.size() > shown) {
    evidence.push_back(fmt::format("tested from within: {} more", inside.wrong.size() - shown));
  }
  if (inside.wrong.empty()) {
    culprit.ruled_out.push_back(
        fmt::format("what {} of its own tests measure, from within", inside.passed));
  }
}

}  // namespace muster::bench::locate
