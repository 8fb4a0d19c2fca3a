// SPDX-License-Identifier: Apache-2.0
#include "bench/results/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/summary.hpp"

namespace muster::bench {
namespace {

const Member* member_of(const std::vector<Member>& members, int rank) {
  const auto found = std::ranges::find(members, rank, &Member::rank);
  return found == members.end() ? nullptr : &*found;
}

// "gpu5 0005:00:00.0". The address is needed because a process that sees one GPU calls it gpu0.
std::string gpu_of(const Member& member) {
  const bool one_name = member.pci_address.empty() || member.device_id == member.pci_address;
  return one_name ? member.device_id : fmt::format("{} {}", member.device_id, member.pci_address);
}

// "rank 5 (gpu5 0005:00:00.0 on gpu-0007)"
std::string name_of(const std::vector<Member>& members, int rank) {
  const auto* member = member_of(members, rank);
  if (member == nullptr) return fmt::format("rank {}", rank);
  if (member->pci_address.empty() && (member->device_id.empty() || member->device_id == "host")) {
    return fmt::format("rank {} on {}", rank, member->host);
  }
  return fmt::format("rank {} ({} on {})", rank, gpu_of(*member), member->host);
}

struct WrongResult {
  const Row* row;
  bool in_place;
  Wrong wrong;
};

std::string range_text(Type type, const Wrong& wrong) {
  const double low = value_of(type, wrong.low);
  if (wrong.low == wrong.high) return fmt::format("{}", low);
  return fmt::format("{} to {}", low, value_of(type, wrong.high));
}

std::string text_of(const WrongResult& result, const std::vector<Member>& members) {
  const auto& [row, in_place, wrong] = result;
  const auto& operation = row->operation;
  return fmt::format("{}: element {} is {}, expected {}, after {}{} of {} {}; {} wrong there",
                     name_of(members, wrong.rank), wrong.first,
                     value_of(operation.type, wrong.observed), range_text(operation.type, wrong),
                     wrong.timed ? "the last timed " : "", to_string(operation.collective),
                     size_text(operation.bytes), in_place ? "in place" : "out of place",
                     wrong.elements == 1 ? std::string("1 element is")
                                         : fmt::format("{} elements are", wrong.elements));
}

std::string device_of(const std::vector<Member>& members, int rank) {
  const auto* member = member_of(members, rank);
  if (member == nullptr) return fmt::format("rank {}", rank);
  return fmt::format("{}/{}", member->host, gpu_of(*member));
}

Finding wrong_finding(const WrongResult& first, std::string device, std::string message) {
  const auto type = first.row->operation.type;
  return {.check = "bench.data",
          .device = std::move(device),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .observed = value_of(type, first.wrong.observed),
          .limit = value_of(type, first.wrong.low),
          .remedy = Remedy::report_to_provider};
}

std::vector<WrongResult> wrong_results(const std::vector<Row>& rows) {
  std::vector<WrongResult> results;
  for (const auto& row : rows) {
    for_each_placement(row, [&](const Timing& timing, bool in_place) {
      for (const auto& wrong : timing.wrong) results.push_back({&row, in_place, wrong});
    });
  }
  return results;
}

// Returns one finding for each rank, about its first wrong result.
std::vector<Finding> findings_by_rank(const std::vector<WrongResult>& results,
                                      const std::vector<Member>& members) {
  std::vector<Finding> findings;
  std::set<int> seen;
  for (const auto& first : results) {
    const int rank = first.wrong.rank;
    if (!seen.insert(rank).second) continue;
    auto message = text_of(first, members);
    const auto others = std::ranges::count_if(
        results, [&](const WrongResult& each) { return each.wrong.rank == rank; });
    if (others > 1) message.append(fmt::format("; wrong in {} results", others));
    findings.push_back(wrong_finding(first, device_of(members, rank), std::move(message)));
  }
  return findings;
}

Finding data_is_right(const std::vector<Row>& rows) {
  std::size_t results = 0;
  for (const auto& row : rows) {
    if (!moves_data(row.operation.collective)) continue;
    for_each_placement(row, [&](const Timing&, bool /*in_place*/) { ++results; });
  }
  if (results == 0)
    return make_finding("bench.data", "job", Outcome::skip, "no results were checked");
  return make_finding("bench.data", "job", Outcome::pass,
                      fmt::format("every element is right in {} results of {}", results, results));
}

struct TroubleText {
  std::string_view one, many;  // the verb for one rank or several
  Remedy remedy = Remedy::none;
};

// By kind. Most lost ranks are killed, for lack of memory or with their job. Of a stopped run, the
// signal is the whole message.
constexpr std::array<TroubleText, 5> kTroubleTexts{
    {{"did not reach", "did not reach", Remedy::fix_config},
     {"was lost in", "were lost in", Remedy::restart_app},
     {"did not finish", "did not finish", Remedy::report_to_provider},
     {"gave up in", "gave up in", Remedy::fix_config},
     {}}};

std::string names_of(const std::vector<int>& ranks, const std::vector<Member>& members) {
  if (ranks.empty()) return "the job";
  if (ranks.size() == 1) return name_of(members, ranks.front());
  std::vector<unsigned> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  return fmt::format("ranks {}", to_cpu_list(sorted));  // "ranks 0-4,6-15"
}

// The node of all these ranks, or "job" if there are several.
std::string node_of(const std::vector<int>& ranks, const std::vector<Member>& members) {
  std::set<std::string> hosts;
  for (const int rank : ranks) {
    const auto* member = member_of(members, rank);
    hosts.insert(member == nullptr ? "" : member->host);
  }
  return hosts.size() == 1 && !hosts.begin()->empty() ? *hosts.begin() : "job";
}

// A secret, a port, a host name or a launcher can keep a rank from meeting the others: not a fault
// of its node.
bool before_meeting(const Trouble& trouble) {
  return trouble.kind == Trouble::Kind::absent || trouble.phase.part == Part::meeting;
}

// "ib and gdr were not used: CAUSE", one sentence for each cause.
std::vector<std::string> not_used(const std::vector<TransportFacts::Missing>& missing) {
  std::vector<std::string> parts;
  std::set<std::string> causes;
  for (const auto& first : missing) {
    if (!causes.insert(first.cause).second) continue;
    std::vector<std::string> names;
    for (const auto& each : missing) {
      if (each.cause == first.cause) names.push_back(each.requirement);
    }
    const auto what = fmt::format("{} {} not used", fmt::join(names, " and "),
                                  names.size() == 1 ? "was" : "were");
    parts.push_back(first.cause.empty() ? what : fmt::format("{}: {}", what, first.cause));
  }
  return parts;
}

// "only 52/56 GPU-to-GPU peer accesses passed verification".
bool counts_too_few(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  const auto slash = line.find('/');
  if (slash == std::string_view::npos) return false;
  const auto left = line.substr(0, slash);
  const auto right = line.substr(slash + 1);
  const auto passed = parse_unsigned(left.substr(left.find_last_not_of(kDigits) + 1));
  const auto all = parse_unsigned(right.substr(0, right.find_first_not_of(kDigits)));
  return passed && all && *passed < *all;
}

bool is_bandwidth(const Finding& finding) {
  return std::ranges::find(kBandwidthChecks, finding.check) != kBandwidthChecks.end();
}

void leave_to_transport(std::vector<Finding>& findings) {
  const bool fell_back = std::ranges::any_of(findings, [](const Finding& each) {
    return each.check == "bench.transport" && each.outcome == Outcome::fail;
  });
  if (!fell_back) return;
  for (auto& finding : findings) {
    const bool low = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    if (!low || !is_bandwidth(finding)) continue;
    finding.outcome = Outcome::skip;
    finding.remedy = Remedy::none;
    finding.message.append("; see bench.transport");
  }
}

}  // namespace

std::vector<Finding> judge_data(const std::vector<Row>& rows, const std::vector<Member>& members) {
  constexpr std::size_t kMax = 8;
  const auto results = wrong_results(rows);
  if (results.empty()) return {data_is_right(rows)};
  auto findings = findings_by_rank(results, members);
  if (findings.size() <= kMax) return findings;
  const auto& first = results.front();
  return {wrong_finding(first, "job",
                        fmt::format("{}; {} other ranks have wrong elements too",
                                    text_of(first, members), findings.size() - 1))};
}

Outcome outcome_of(const Trouble& trouble) {
  if (trouble.kind == Trouble::Kind::stopped || before_meeting(trouble)) return Outcome::unknown;
  if (trouble.kind != Trouble::Kind::given_up || trouble.broken) return Outcome::fail;
  const bool tried = trouble.phase.part == Part::running;
  return tried && !trouble.explained ? Outcome::fail : Outcome::unknown;
}

Finding judge_completion(const Trouble& trouble, const std::vector<Member>& members) {
  const auto& [one, many, remedy] = kTroubleTexts.at(static_cast<std::size_t>(trouble.kind));
  auto message = fmt::format("{} {} {}", names_of(trouble.ranks, members),
                             trouble.ranks.size() > 1 ? many : one, trouble.phase.name);
  if (trouble.kind == Trouble::Kind::stopped) {
    message = fmt::format("{} during {}", trouble.what, trouble.phase.name);
  } else if (trouble.kind == Trouble::Kind::absent && !trouble.what.empty()) {
    message = trouble.what;  // names the rank and the place
  } else if (!trouble.what.empty()) {
    message.append(fmt::format(": {}", trouble.what));
  }
  if (before_meeting(trouble)) message.insert(0, "the ranks could not meet: ");
  // Another rank than 0 knows only that it was there itself.
  if (!trouble.arrived.empty() && !trouble.ranks.empty() && !trouble.without_rank_0) {
    message.append(fmt::format("; {} {} there", names_of(trouble.arrived, members),
                               trouble.arrived.size() == 1 ? "was" : "were"));
  }
  return make_finding("bench.completion", node_of(trouble.ranks, members), outcome_of(trouble),
                      std::move(message), trouble.broken ? Remedy::report_to_provider : remedy);
}

Finding completed(int ranks) {
  return make_finding(
      "bench.completion", "job", Outcome::pass,
      ranks == 1 ? "the only rank completed" : fmt::format("all {} ranks completed", ranks));
}

// A line that counts failed paths is a failure. Any other line that NCCL does not mark as OK, such
// as a check that could not run, is a warning. Lines without a tag name the pair of GPUs and the
// path.
Finding judge_diagnosis(const std::vector<std::string>& lines) {
  constexpr std::string_view kRight = "[OK]";
  constexpr std::string_view kToReview = "[INFO]";
  auto finding = make_finding("bench.diagnosis", "job", Outcome::unknown,
                              "NCCL printed no result of its test");
  std::vector<std::string> right, wrong;
  bool failed = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("===") || line.starts_with("NCCL diagnostics completed")) continue;
    if (line.starts_with(kRight)) {
      right.emplace_back(trim(line.substr(kRight.size())));
      continue;
    }
    const bool tagged = line.starts_with(kToReview);
    wrong.emplace_back(trim(tagged ? line.substr(kToReview.size()) : line));
    failed = failed || counts_too_few(line);
  }
  if (!wrong.empty()) {
    finding.outcome = failed ? Outcome::fail : Outcome::warn;
    finding.remedy = Remedy::report_to_provider;
    finding.message = fmt::format("NCCL: {}", fmt::join(wrong, "; "));
  } else if (!right.empty()) {
    finding.outcome = Outcome::pass;
    finding.message = fmt::format("NCCL: {}", fmt::join(right, "; "));
  }
  return finding;
}

std::vector<std::string> required_transports(const std::vector<std::string>& requested,
                                             const Profile& profile, bool gpus, int nodes) {
  if (!requested.empty()) return requested;
  if (!gpus || nodes < 2) return {};
  return words_for(profile.bench->transport.require);
}

Finding judge_transport(const std::vector<std::string>& required, const TransportFacts& facts) {
  auto finding = make_finding("bench.transport", "job", Outcome::pass, facts.used);
  if (!facts.known) {
    finding.outcome = required.empty() ? Outcome::skip : Outcome::unknown;
    finding.message = "the library does not log its transport";
    if (!required.empty()) {
      finding.message.append(fmt::format("; required: {}", fmt::join(required, ", ")));
    }
    return finding;
  }
  if (finding.message.empty()) finding.message = "the library's log does not name a transport";
  if (!facts.missing.empty()) {
    finding.outcome = Outcome::fail;
    finding.message =
        fmt::format("{}; used: {}", fmt::join(not_used(facts.missing), "; "), finding.message);
    finding.remedy = Remedy::fix_config;
  } else if (!facts.unclear.empty()) {
    finding.outcome = Outcome::unknown;
    finding.message = fmt::format("the log does not mention {}; used: {}",
                                  fmt::join(facts.unclear, ", "), finding.message);
  } else if (!required.empty() && facts.used.empty()) {
    finding.outcome = Outcome::unknown;
  }
  if (!required.empty()) {
    finding.observed = facts.used;
    finding.limit = fmt::format("{}", fmt::join(required, ", "));
  }
  return finding;
}

void conclude_trial(Report& report) {
  report.judged = report.verdict != Verdict::unknown ||
                  std::ranges::any_of(report.findings, [](const Finding& each) {
                    return each.outcome == Outcome::unknown && !is_bandwidth(each) &&
                           each.check != "bench.split";
                  });
}

std::vector<std::string> accused_of(const std::vector<Finding>& findings,
                                    const std::vector<std::string>& nodes) {
  std::vector<std::string> accused;
  std::ranges::copy_if(nodes, std::back_inserter(accused), [&](const std::string& node) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      const auto& device = finding.device;
      return finding.outcome == Outcome::fail &&
             (device == node || device.starts_with(fmt::format("{}/", node)));
    });
  });
  return accused;
}

void conclude(Report& report) {
  leave_to_transport(report.findings);
  report.accused = accused_of(report.findings, report.nodes);
  std::set<std::string> checks;
  for (const auto& finding : report.findings) checks.insert(finding.check);
  muster::conclude(report, {checks.begin(), checks.end()});
}

}  // namespace muster::bench
