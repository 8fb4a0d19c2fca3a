// SPDX-License-Identifier: Apache-2.0
// The verdicts on simulated fleets of 128 nodes with a soak of 24 hours: how often each fault is
// found, and how often a good node is rejected. See tools/accept-table.sh.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "accept/sim.hpp"
#include "lib/base/mixing.hpp"
#include "lib/base/text.hpp"
#include "tests/accept/fleet_of.hpp"
#include "tests/accept/in_memory.hpp"

namespace muster::accept {
namespace {

constexpr int kNodes = 128;
constexpr double kFailures = 6.5;  // rate of good nodes, per 1,000 days
constexpr double kHours = 24;
using Verdict = NodeVerdict;

// A fault of one node, which replaces @.
struct Row {
  std::string_view name, words;
  Verdict expected;
  double mean_hours = 0;   // of an intermittent fault
  std::string_view check;  // of the verdict; empty for any
};

constexpr std::array kRows{
    Row{"missing GPU", "fault=missing_gpu:@:5", Verdict::rejected, 0, "gpu.present"},
    Row{"row remap failed", "fault=row_remap:@:2", Verdict::rejected, 0, "gpu.ecc_remapped_rows"},
    Row{"other host than ordered", "fault=host:@", Verdict::rejected, 0, "accept.order"},
    Row{"slow GPU", "fault=slow_gpu:@:1:0.8", Verdict::rejected, 0, "bench.gemm"},
    Row{"dead HCA", "fault=slow_hca:@:3:0.1", Verdict::rejected, 0, "bench.hca_write"},
    Row{"slow with all partners", "fault=slow_large:@:2:0.6", Verdict::rejected, 0, "bench.locate"},
    Row{"hangs with all partners", "fault=hang:@", Verdict::rejected, 0, "bench.locate"},
    Row{"hot", "fault=hot:@:6", Verdict::rejected, 0, "gpu.temperature"},
    Row{"crash in the soak", "fault=crash:@:7", Verdict::rejected, 0, ""},
    Row{"two crashes, returns", "fault=crash:@:7,fault=crash:@:20,fault=returns:@:10",
        Verdict::rejected, 0, ""},
    Row{"one crash, returns", "fault=crash:@:7,fault=returns:@:10", Verdict::remarks, 0, ""},
    Row{"dies in stage fabric", "fault=dies:@:fabric", Verdict::rejected, 0, ""},
    Row{"one XID", "fault=xid:@:48:3", Verdict::remarks, 0, ""},
    Row{"an XID in 8 h", "fault=intermittent:@:8", Verdict::rejected, 8, "gpu.xid"},
    Row{"an XID in 24 h", "fault=intermittent:@:24", Verdict::rejected, 24, "gpu.xid"},
    Row{"an XID in 100 h", "fault=intermittent:@:100", Verdict::rejected, 100, "gpu.xid"},
    Row{"silent", "fault=silent:@", Verdict::not_tested, 0, ""},
    Row{"busy GPU", "fault=busy:@:0", Verdict::held, 0, "gpu.processes"},
    Row{"serial of another node", "fault=serial:@:0", Verdict::held, 0, "accept.serial"},
    Row{"slow link", "fault=slow_link:@:1:0.4", Verdict::held, 0, "bench.locate"},
    Row{"greeting of a shell", "fault=greets:@", Verdict::accepted, 0, ""},
    Row{"cut answers", "fault=cut:@", Verdict::accepted, 0, ""},
    Row{"clock ahead", "fault=skew:@:90", Verdict::remarks, 0, ""}};

// A cause that all or many nodes share. No node may be rejected for it.
struct SharedRow {
  std::string_view name, words;
};

constexpr std::array kShared{SharedRow{"limit that all miss", "fault=limit:0.8"},
                             SharedRow{"40% slow", ""},
                             SharedRow{"slow leaf switch", "fault=slow_leaf:3:0.5"}};

Order ordered() {
  auto plan = shipped_plan("standard").value();
  plan.slice_s = 4 * 3600;  // longer than usual, for speed
  plan.round_s = 2 * plan.slice_s;
  auto order = order_of(kNodes, plan);
  for (auto& node : order.nodes) node.host = fmt::format("host of {}", node.name);
  return order;
}

struct Count {
  int fleets = 0;
  int expected = 0;
  int found = 0;  // it had an effect: an event in the soak, or no acceptance
};

struct Totals {
  std::array<Count, kRows.size()> rows{};
  std::array<Count, kShared.size()> shared{};
  std::int64_t good = 0;
  int good_rejected = 0, good_held = 0, good_flagged = 0, unfinished = 0;
  int rejected_while_shared = 0;
};

std::string replaced(std::string_view words, std::size_t node) {
  std::string text;
  for (const char c : words) {
    if (c == '@') {
      text += fmt::format("{}", node);
    } else {
      text += c;
    }
  }
  return text;
}

Actions accept_fleet(const std::string& words, Totals& totals) {
  const auto order = ordered();
  auto fleet = make_sim_fleet(order, words);
  if (!fleet) fmt::print(stderr, "{}\n", fleet.error().message);
  auto actions = InMemoryRun(order, **fleet).run();
  if (!actions.complete && actions.breakers.empty()) {
    ++totals.unfinished;
    fmt::print("unfinished: {}\n", words);
  }
  return actions;
}

bool is_bad(const NodeStanding& standing, const Row& row) {
  if (standing.verdict != row.expected) return true;
  if (row.check.empty()) return false;
  return std::ranges::count(standing.causes, row.check, &Cause::check) == 0;
}

// Makes a fleet in which each row's fault is on one node. Nodes 0 and 1 are the partners in pairs.
void test_fleet(std::uint64_t seed, const std::vector<std::size_t>& rows, double failures,
                Totals& totals) {
  constexpr std::size_t kStep = 9;  // apart, so that no leaf switch looks slow
  auto words = fmt::format("seed={},failures={}", seed, failures);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    places.push_back(2 + kStep * i + mixed(seed ^ mixed(i)) % (kStep - 1));
    words += fmt::format(",{}", replaced(kRows[rows[i]].words, places.back()));
  }
  const auto actions = accept_fleet(words, totals);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& count = totals.rows[rows[i]];
    const auto& standing = actions.standings[places[i]];
    ++count.fleets;
    if (!is_bad(standing, kRows[rows[i]])) ++count.expected;
    if (standing.soak_events > 0 || standing.verdict >= Verdict::rejected) ++count.found;
    const bool odd = is_bad(standing, kRows[rows[i]]) && kRows[rows[i]].mean_hours == 0;
    if (odd) fmt::print("{}: {}: {}\n", words, to_string(standing.verdict), standing.why);
  }
  for (std::size_t i = 2; i < actions.standings.size(); ++i) {
    if (std::ranges::count(places, i) > 0) continue;
    const auto& standing = actions.standings[i];
    ++totals.good;
    totals.good_rejected += standing.verdict == Verdict::rejected ? 1 : 0;
    totals.good_flagged += standing.soak_events > 0 ? 1 : 0;
    const bool accepted =
        standing.verdict == Verdict::accepted || standing.verdict == Verdict::remarks;
    if (accepted || standing.verdict == Verdict::rejected) continue;
    ++totals.good_held;
    fmt::print("{}: good node {} is {}: {}\n", words, i, to_string(standing.verdict), standing.why);
  }
}

void test_shared(std::uint64_t seed, std::size_t row, Totals& totals) {
  auto words = fmt::format("seed={}", seed);
  if (!kShared[row].words.empty()) words += fmt::format(",{}", kShared[row].words);
  for (int i = 0; kShared[row].words.empty() && i < kNodes * 2 / 5; ++i) {
    words += fmt::format(",fault=slow_gpu:{}:0:0.8", 2 * i);
  }
  const auto actions = accept_fleet(words, totals);
  auto& count = totals.shared[row];
  ++count.fleets;
  const auto rejected =
      std::ranges::count(actions.standings, Verdict::rejected, &NodeStanding::verdict);
  const auto held = std::ranges::count(actions.standings, Verdict::held, &NodeStanding::verdict);
  if (rejected == 0 && held > kNodes / 5) ++count.expected;
  if (rejected > 0) ++totals.rejected_while_shared;
}

// Whether a number of successes is unlikely: more than four deviations off.
bool is_unlikely(int successes, int of, double probability) {
  const double mean = of * probability;
  return std::abs(successes - mean) > 4 * std::sqrt(mean * (1 - probability)) + 1;
}

// Prints the rows, and returns whether all are as expected.
bool report(const Totals& totals, const Totals& quiet, int runs) {
  bool good = totals.unfinished + quiet.unfinished == 0;
  const auto line = [&](std::string_view name, std::string_view verdict, const Count& count,
                        const std::string& wanted, bool ok) {
    good = good && ok;
    fmt::print("| {:<24} | {:<21} | {:>6} | {:>8} | {:>6} | {:<22} |{}\n", name, verdict,
               count.fleets, count.expected, count.found, wanted, ok ? "" : " WRONG");
  };
  fmt::print(
      "| fault of one node        | expected              | fleets | as exp.  | seen   | by "
      "arithmetic          |\n|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const auto& row = kRows[i];
    const auto& count = totals.rows[i];
    if (row.mean_hours == 0) {
      line(row.name, to_string(row.expected), count, "all", count.expected == count.fleets);
      continue;
    }
    const double seen = 1 - std::exp(-kHours / row.mean_hours);
    const double twice = seen * seen;
    line(row.name, to_string(row.expected), count,
         fmt::format("{:.1f}, {:.1f} seen", count.fleets * twice, count.fleets * seen),
         !is_unlikely(count.expected, count.fleets, twice) &&
             !is_unlikely(count.found, count.fleets, seen));
  }
  for (std::size_t i = 0; i < kShared.size(); ++i) {
    const auto& count = totals.shared[i];
    line(kShared[i].name, "held, none rejected", count, "all", count.expected == count.fleets);
  }
  const double once = 1 - std::exp(-kFailures / 1000);
  const auto nodes = static_cast<double>(totals.good);
  const double allowed = std::max(2.0, 3 * nodes * once * once);
  fmt::print(
      "\ngood nodes with {} failures per 1,000 days: {} tested, {} with an event (by "
      "arithmetic {:.0f}), {} rejected (by arithmetic {:.1f}, allowed {:.0f}), {} neither "
      "accepted nor rejected\n",
      kFailures, totals.good, totals.good_flagged, nodes * once, totals.good_rejected,
      nodes * once * once, allowed, totals.good_held);
  fmt::print(
      "good nodes without failures: {} tested in {} fleets, {} rejected (allowed {}), {} "
      "neither accepted nor rejected\n",
      quiet.good, runs, quiet.good_rejected, runs / 1000, quiet.good_held);
  return good && totals.good_rejected <= allowed && quiet.good_rejected <= runs / 1000 &&
         totals.good_held + quiet.good_held == 0;
}

// Half of the fleets have good nodes that fail by chance, and all have 6 faults.
int print_table(int runs, std::uint64_t first_seed) {
  constexpr std::size_t kPerFleet = 6;
  constexpr int kSharedShare = 50;
  Totals totals, quiet;
  std::size_t row = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < kPerFleet; ++i) rows.push_back(row++ % kRows.size());
    test_fleet(first_seed + static_cast<std::uint64_t>(run), rows, kFailures, totals);
    test_fleet(first_seed + static_cast<std::uint64_t>(run), {}, 0, quiet);
    if (run % kSharedShare != 0) continue;
    for (std::size_t i = 0; i < kShared.size(); ++i) {
      test_shared(first_seed + static_cast<std::uint64_t>(run), i, totals);
    }
  }
  return report(totals, quiet, runs) ? 0 : 1;
}

}  // namespace
}  // namespace muster::accept

int main(int count, char** words) {
  const auto number = [&](int index, std::uint64_t usual) {
    return count > index ? muster::parse_unsigned(words[index]).value_or(0) : usual;
  };
  const auto runs = static_cast<int>(number(1, 1000));
  if (runs < 1) {
    fmt::print(stderr, "usage: accept_table [RUNS [SEED]]\n");
    return 64;
  }
  return muster::accept::print_table(runs, number(2, 1));
}
