// SPDX-License-Identifier: Apache-2.0
// Finds the limit that applies to a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/results/bandwidth.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/job_limit.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kMinBusbw = "bench.min_busbw";

// A collective that a profile may limit over several nodes.
struct JudgedOverNodes {
  Collective collective;
  std::string_view check;
  std::vector<JobLimit> BenchLimits::*limits;
};

const JudgedOverNodes* judged_over_nodes(Collective collective) {
  static constexpr std::array kAll{
      JudgedOverNodes{Collective::all_reduce, "bench.job_all_reduce", &BenchLimits::job_all_reduce},
      JudgedOverNodes{Collective::all_gather, "bench.job_all_gather", &BenchLimits::job_all_gather},
      JudgedOverNodes{Collective::reduce_scatter, "bench.job_reduce_scatter",
                      &BenchLimits::job_reduce_scatter},
      JudgedOverNodes{Collective::alltoall, "bench.job_alltoall", &BenchLimits::job_alltoall}};
  const auto* const found = std::ranges::find(kAll, collective, &JudgedOverNodes::collective);
  return found == kAll.end() ? nullptr : found;
}

std::string device_of(const RunFacts& facts) {
  return facts.nodes == 1 && !facts.node.empty() ? facts.node : "job";
}

// Formatted as an option's value: "8GiB".
std::string as_flag(std::uint64_t bytes) {
  auto text = size_text(bytes);
  std::erase(text, ' ');
  return text;
}

bool was_run(const std::vector<Row>& rows, std::uint64_t bytes) {
  return std::ranges::any_of(rows, [&](const Row& row) { return row.operation.bytes == bytes; });
}

std::string nodes_text(int nodes) {
  return nodes == 1 ? "one node" : fmt::format("{} nodes", nodes);
}

// The spelling of NCCL_ALGO.
std::string_view nccl_name(std::string_view word) {
  if (word == "ring") return "Ring";
  if (word == "tree") return "Tree";
  if (word == "nvls") return "NVLS";
  return "CollNetDirect,CollNetChain";
}

class LimitSearch {
 public:
  LimitSearch(const std::vector<Row>& rows, const Profile& profile, const RunFacts& facts,
              bool acceptance)
      : rows_(rows),
        profile_(profile),
        facts_(facts),
        acceptance_(acceptance),
        used_(algorithm_word(facts.algorithm)) {}

  [[nodiscard]] std::variant<BandwidthLimit, Finding> of_command(const OwnLimit& own_limit) const {
    if (facts_.ranks < 2) {
      return because(kMinBusbw, Outcome::unknown, "one rank has no bus bandwidth");
    }
    const auto bytes = own_limit.at.value_or(largest_of(rows_));
    if (rows_.empty() || !was_run(rows_, bytes)) {
      return because(kMinBusbw, Outcome::unknown,
                     fmt::format("{}, which --min-busbw is for, was not run: run with --max {}",
                                 size_text(bytes), as_flag(bytes)));
    }
    return BandwidthLimit{.check = std::string(kMinBusbw),
                          .device = device_of(facts_),
                          .bytes = bytes,
                          .fail_below = own_limit.min_busbw,
                          .from = "--min-busbw"};
  }

  [[nodiscard]] bool has_limit() const { return of_these_nodes().limit != nullptr; }

  [[nodiscard]] std::variant<BandwidthLimit, Finding> of_profile() const {
    if (rows_.empty()) return because(check(), Outcome::skip, "nothing was run");
    if (const auto why = without_some_gpus(); !why.empty()) return unknown(why);
    const auto [limit, fits] = of_these_nodes();
    if (limit == nullptr) return no_limit();
    if (!facts_.gpus && limit->memory != BenchMemory::host) {
      return unknown(fmt::format(
          "the limit of profile {} is for GPU memory, and {} ran on host memory; give --min-busbw",
          profile_.name, facts_.backend));
    }
    if (facts_.ranks < 2) return unknown("one rank has no bus bandwidth");
    if (!fits && !fell_back(*limit)) return unknown(other_algorithm(*limit));
    return at_its_size(*limit, fits ? std::string() : other_algorithm(*limit));
  }

 private:
  struct Found {
    const JobLimit* limit = nullptr;  // null: the profile has none for these nodes
    bool fits = false;                // the algorithm is the limit's
  };

  [[nodiscard]] Finding because(std::string_view check, Outcome outcome, std::string why) const {
    return make_finding(check, device_of(facts_), outcome, std::move(why));
  }

  [[nodiscard]] Collective collective() const { return rows_.front().operation.collective; }

  [[nodiscard]] std::string_view check() const {
    const auto of = rows_.empty() ? Collective::all_reduce : collective();
    if (facts_.nodes == 1) {
      return of == Collective::all_reduce ? std::string_view("bench.node_all_reduce") : kMinBusbw;
    }
    const auto* judged = judged_over_nodes(of);
    return judged == nullptr ? kMinBusbw : judged->check;
  }

  [[nodiscard]] Finding unknown(std::string why) const {
    return because(check(), Outcome::unknown, std::move(why));
  }

  // GPUs without a rank may be the slow or missing ones.
  [[nodiscard]] std::string without_some_gpus() const {
    const auto gpus = profile_.gpu->present.count;
    if (!facts_.gpus || !gpus || *gpus == 0 || *gpus * facts_.nodes == facts_.ranks) return {};
    return fmt::format(
        "profile {} expects one rank for each of {} GPUs per node; here {} ran on {}",
        profile_.name, *gpus,
        facts_.ranks == 1 ? std::string("one rank") : fmt::format("{} ranks", facts_.ranks),
        nodes_text(facts_.nodes));
  }

  // Unknown, because an unjudged run is not healthy.
  [[nodiscard]] Finding no_limit() const {
    if (!moves_data(collective())) {
      return unknown(
          fmt::format("not judged: no limit is set for the time of a {}", to_string(collective())));
    }
    return unknown(fmt::format("not judged: profile {} has no limit for {} on {}; give --min-busbw",
                               profile_.name, to_string(collective()), nodes_text(facts_.nodes)));
  }

  [[nodiscard]] Found of_these_nodes() const { return facts_.nodes == 1 ? of_node() : of_job(); }

  [[nodiscard]] Found of_node() const {
    const auto& limit = profile_.bench->node_all_reduce;
    if (!limit.size || collective() != Collective::all_reduce) return {};
    if (facts_.gpus && !may_hold(limit, conditions())) return {};
    return {&limit, fits_algorithm(limit, used_)};
  }

  [[nodiscard]] JobConditions conditions() const {
    return {.nodes = facts_.nodes,
            .memory = facts_.gpus ? BenchMemory::gpu : BenchMemory::host,
            .one_domain = facts_.one_domain,
            .over = facts_.over,
            .algorithm = used_};
  }

  // On hosts also a limit for GPU memory, which is then refused.
  [[nodiscard]] Found of_job() const {
    const auto limits = job_limits(profile_, collective());
    auto job = conditions();
    const auto* found = limit_of_job(limits, job);
    if (found == nullptr && !facts_.gpus) {
      job.memory = BenchMemory::gpu;
      found = limit_of_job(limits, job);
    }
    if (found == nullptr || fits_algorithm(*found, used_)) return {found, found != nullptr};
    job.algorithm = to_string(BenchAlgorithm::nvls);
    const auto* nvls = limit_of_job(limits, job);
    return {nvls->algorithm == BenchAlgorithm::nvls ? nvls : found, false};
  }

  // NCCL uses NVLS whenever it can. Falling back to another algorithm is a fault, unless the
  // environment asked for it.
  [[nodiscard]] bool fell_back(const JobLimit& limit) const {
    return limit.algorithm == BenchAlgorithm::nvls && !used_.empty() && !facts_.algorithm_is_set;
  }

  [[nodiscard]] std::string other_algorithm(const JobLimit& limit) const {
    const auto wanted = to_string(*limit.algorithm);
    return fmt::format(
        "the limit is for algorithm {}, and {}; run with NCCL_ALGO={}", wanted,
        used_.empty() ? std::string("NCCL's is unknown") : fmt::format("NCCL used {}", used_),
        nccl_name(wanted));
  }

  [[nodiscard]] std::variant<BandwidthLimit, Finding> at_its_size(
      const JobLimit& limit, std::string other_algorithm) const {
    const auto type = table_name(rows_.front().operation.type);
    if (limit.type && *limit.type != type &&
        *limit.type != to_string(rows_.front().operation.type)) {
      return unknown(
          fmt::format("the limit is for elements of type {}, not {}", *limit.type, type));
    }
    const auto bytes = static_cast<std::uint64_t>(limit.size->value);
    if (!was_run(rows_, bytes)) {
      return unknown(fmt::format("the limit is for {}, which was not run: run with --max {}",
                                 size_text(bytes), as_flag(bytes)));
    }
    BandwidthLimit found{.check = std::string(check()),
                         .device = device_of(facts_),
                         .bytes = bytes,
                         .expected = limit.expected,
                         .warn_below = limit.warn_below,
                         .fail_below = limit.fail_below,
                         .from = fmt::format("profile {}", profile_.name),
                         .other_algorithm = std::move(other_algorithm)};
    if (limit.over) {
      found.from.append(*limit.over == BenchOver::nvlink ? ", over NVLink" : ", over InfiniBand");
    }
    if (limit.over == BenchOver::nvlink && facts_.over == to_string(BenchOver::infiniband)) {
      found.other_network =
          "the nodes are in one NVLink domain, and NCCL used the network between them";
    }
    if (acceptance_ && (limit.promised || limit.fail_below)) {
      found.warn_below.reset();
      found.fail_below = limit.promised ? limit.promised : limit.fail_below;
      found.clearly = true;
      found.from.append(limit.promised ? ", promised by the provider"
                                       : ", without a provider guarantee");
    }
    return found;
  }

  const std::vector<Row>& rows_;
  const Profile& profile_;
  const RunFacts& facts_;
  bool acceptance_;
  std::string used_;
};

}  // namespace

std::span<const JobLimit> job_limits(const Profile& profile, Collective collective) {
  const auto* judged = judged_over_nodes(collective);
  if (judged == nullptr) return {};
  return (*profile.bench).*judged->limits;
}

std::string algorithm_word(std::string_view name) {
  auto word = lower_case(name);
  if (word.starts_with("nvls")) return "nvls";
  if (word.starts_with("collnet")) return "collnet";
  return word;
}

bool is_unlimited(const std::vector<Row>& rows, const Profile& profile, const RunFacts& facts,
                  const OwnLimit& own_limit) {
  if (own_limit.min_busbw || own_limit.acceptance || rows.empty()) return false;
  return !LimitSearch(rows, profile, facts, false).has_limit();
}

std::variant<BandwidthLimit, Finding> limit_for(const std::vector<Row>& rows,
                                                const Profile& profile, const RunFacts& facts,
                                                const OwnLimit& own_limit) {
  const LimitSearch search(rows, profile, facts, own_limit.acceptance);
  return own_limit.min_busbw ? search.of_command(own_limit) : search.of_profile();
}

}  // namespace muster::bench
