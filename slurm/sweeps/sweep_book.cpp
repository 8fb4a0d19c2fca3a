// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_book.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

namespace muster::slurm {
namespace {

// A node that fails alone has nobody else to blame; twice, since once may be a moment's trouble.
constexpr std::size_t kFailuresAlone = 2;
// A clock that is set right goes back by so much at most; more was an error.
constexpr std::chrono::seconds kClocksDiffer{600};

std::vector<std::string> others_of(const SweepRun& run, const std::string& node) {
  auto others = run.nodes;
  std::erase(others, node);
  std::ranges::sort(others);
  return others;
}

template <class Map>
const typename Map::mapped_type* find(const Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

std::string_view to_string(Trust trust) {
  constexpr std::array<std::string_view, 4> kWords{"good", "untested", "suspect", "confirmed"};
  return kWords.at(static_cast<std::size_t>(trust));
}

void mend_times(std::vector<SweepRun>& runs, Time now) {
  const auto is_wrong = [&](Time at) { return at > now + kClocksDiffer; };
  const bool any = std::ranges::any_of(
      runs, [&](const SweepRun& run) { return is_wrong(run.submitted) || is_wrong(run.ended); });
  if (!any) return;
  std::ranges::sort(runs, {}, &SweepRun::id);  // as they began
  Time last{};
  for (auto& run : runs) {
    for (auto* at : {&run.submitted, &run.ended}) {
      if (is_wrong(*at)) *at = last;
      last = std::max(last, *at);
    }
  }
  std::ranges::stable_sort(runs, {}, [](const SweepRun& run) {
    return std::pair(run.outcome == SweepOutcome::open, run.ended);
  });
}

SweepBook::SweepBook(const std::vector<SweepRun>& runs, int partners)
    : partners_(static_cast<std::size_t>(std::max(partners, 1))) {
  for (const auto& run : runs) add(run);
}

void SweepBook::add(const SweepRun& run) {
  ++runs_;
  auto& kind = kinds_[run.kind];
  for (const auto& node : run.nodes) {
    auto& record = kind.records[node];
    record.tried = std::max(record.tried.value_or(run.submitted), run.submitted);
    for (const auto& other : run.nodes) {
      if (other != node) record.partners[other] = run.submitted;
    }
    if (run.outcome != SweepOutcome::undecided) continue;
    record.nothing = run.ended;
    ++record.undecided;
  }
  if (run.outcome == SweepOutcome::healthy) pass(kind, run);
  if (run.outcome == SweepOutcome::unhealthy) fail(kind, run, blamed_for(run));
}

// What many nodes do together is only as good as the worst of them.
void SweepBook::pass(Kind& kind, const SweepRun& run) const {
  for (const auto& node : run.nodes) {
    auto& record = kind.records[node];
    record.swept = run.ended;
    record.passed = runs_;
    record.nothing.reset();
    record.undecided = 0;
    record.failures.clear();
    record.failed_again = false;
  }
  kind.passes[run.partition] = runs_;
}

// Where one of them is known to be bad, this says nothing about the others.
std::vector<std::string> SweepBook::blamed_for(const SweepRun& run) const {
  std::vector<std::string> blamed;
  for (const auto& node : run.nodes) {
    if (trust(node) == Trust::confirmed) blamed.push_back(node);
  }
  return blamed.empty() ? run.nodes : blamed;
}

void SweepBook::fail(Kind& kind, const SweepRun& run,
                     const std::vector<std::string>& blamed) const {
  for (const auto& node : blamed) {
    auto& record = kind.records[node];
    record.failed_again = record.failed_again || another_passed(kind, run, record);
  }
  for (const auto& node : blamed) {
    auto& record = kind.records[node];
    record.swept = run.ended;
    record.nothing.reset();
    record.undecided = 0;
    record.failures.push_back({.at = run.ended, .run = runs_, .others = others_of(run, node)});
  }
}

// Whether all who took part have passed since. Not with this node: that would have cleared it.
bool SweepBook::passed_since(const Kind& kind, const SweepFailure& failure) {
  return std::ranges::all_of(failure.others, [&](const std::string& other) {
    const auto* record = find(kind.records, other);
    return record != nullptr && record->passed > failure.run;
  });
}

// Between this node's earlier failures and this run: then it is nothing that all nodes have, a
// wrong limit or a fabric that was down for an hour.
bool SweepBook::another_passed(const Kind& kind, const SweepRun& run, const SweepRecord& record) {
  if (record.failures.empty()) return false;
  if (run.nodes.size() > 1) {
    return std::ranges::any_of(
        record.failures, [&](const SweepFailure& failure) { return passed_since(kind, failure); });
  }
  const auto* passed = find(kind.passes, run.partition);
  return passed != nullptr && *passed > record.failures.front().run;
}

// Failures that its partners do not explain, with different partners.
std::size_t SweepBook::counted(const Kind& kind, const SweepRecord& record) {
  std::set<std::vector<std::string>> companies;
  for (const auto& failure : record.failures) {
    if (passed_since(kind, failure)) companies.insert(failure.others);
  }
  return companies.size();
}

Trust SweepBook::trust(const Kind& kind, const SweepRecord& record) const {
  if (record.failures.empty()) return record.passed > 0 ? Trust::good : Trust::untested;
  if (!record.failed_again) return Trust::suspect;
  const bool alone = record.failures.front().others.empty();
  const bool enough =
      alone ? record.failures.size() >= kFailuresAlone : counted(kind, record) >= partners_;
  return enough ? Trust::confirmed : Trust::suspect;
}

const SweepRecord* SweepBook::record(std::string_view kind, std::string_view node) const {
  const auto* book = find(kinds_, kind);
  return book == nullptr ? nullptr : find(book->records, node);
}

const SweepBook::Records& SweepBook::records(std::string_view kind) const {
  static const Records none;
  const auto* book = find(kinds_, kind);
  return book == nullptr ? none : book->records;
}

Trust SweepBook::trust(std::string_view kind, std::string_view node) const {
  const auto* book = find(kinds_, kind);
  const auto* found = book == nullptr ? nullptr : find(book->records, node);
  return found == nullptr ? Trust::untested : trust(*book, *found);
}

Trust SweepBook::trust(std::string_view node) const {
  auto worst = Trust::good;
  bool tested = false;
  for (const auto& [name, kind] : kinds_) {
    const auto* found = find(kind.records, node);
    if (found == nullptr) continue;
    const auto here = trust(kind, *found);
    if (here == Trust::untested) continue;
    tested = true;
    worst = std::max(worst, here);
  }
  return tested ? worst : Trust::untested;
}

bool SweepBook::can_tell_more(std::string_view kind, std::string_view partition,
                              const SweepRecord& record) const {
  if (record.failures.empty()) return true;
  // Where everybody fails, a suspect would be tried with everybody.
  if (!record.failures.front().others.empty()) return record.failures.size() < 2 * partners_;
  if (record.failures.size() < kFailuresAlone) return true;
  const auto* book = find(kinds_, kind);
  const auto* passed = book == nullptr ? nullptr : find(book->passes, partition);
  return passed != nullptr && *passed > record.failures.back().run;
}

}  // namespace muster::slurm
