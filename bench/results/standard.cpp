// SPDX-License-Identifier: Apache-2.0
// Which limit holds for a run.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/results/judge.hpp"

namespace muster::bench {
namespace {

using AllReduceLimit = BenchLimit<BytesPerSecond>;

constexpr std::string_view kMinBusbw = "bench.min_busbw";

std::string device_of(const RunFacts& facts) {
  return facts.nodes == 1 && !facts.node.empty() ? facts.node : "job";
}

// As the command line takes it: "8GiB".
std::string as_flag(std::uint64_t bytes) {
  auto text = to_string(Bytes{static_cast<double>(bytes)});
  std::erase(text, ' ');
  return text;
}

std::string size_text(std::uint64_t bytes) { return to_string(Bytes{static_cast<double>(bytes)}); }

bool was_run(const std::vector<Row>& rows, std::uint64_t bytes) {
  return std::ranges::any_of(rows, [&](const Row& row) { return row.operation.bytes == bytes; });
}

std::string algorithm_wanted(const AllReduceLimit& limit) {
  const auto word = limit.algorithm.value_or("any");
  return word == "any" ? "" : word;
}

bool algorithm_fits(const AllReduceLimit& limit, const std::string& used) {
  const auto wanted = algorithm_wanted(limit);
  return wanted.empty() || wanted == used;
}

std::string nodes_text(int nodes) {
  return nodes == 1 ? "one node" : fmt::format("{} nodes", nodes);
}

// NCCL's own spelling, for NCCL_ALGO.
std::string_view nccl_name(std::string_view word) {
  if (word == "ring") return "Ring";
  if (word == "tree") return "Tree";
  if (word == "nvls") return "NVLS";
  return "CollNetDirect,CollNetChain";
}

class Search {
 public:
  Search(const std::vector<Row>& rows, const Profile& profile, const RunFacts& facts)
      : rows_(rows), profile_(profile), facts_(facts), used_(algorithm_word(facts.algorithm)) {}

  [[nodiscard]] std::variant<Standard, Finding> demanded(const Demand& demand) const {
    if (facts_.ranks < 2) {
      return because(kMinBusbw, Outcome::unknown, "one rank alone has no bus bandwidth");
    }
    std::uint64_t largest = 0;
    for (const auto& row : rows_) largest = std::max(largest, row.operation.bytes);
    const auto bytes = demand.at.value_or(largest);
    if (rows_.empty() || !was_run(rows_, bytes)) {
      return because(kMinBusbw,
                     Outcome::unknown,
                     fmt::format("{} was not run; --min-busbw asks about it: run with --max {}",
                                 size_text(bytes),
                                 as_flag(bytes)));
    }
    return Standard{.check = std::string(kMinBusbw),
                    .device = device_of(facts_),
                    .bytes = bytes,
                    .fail_below = demand.min_busbw,
                    .from = "--min-busbw"};
  }

  [[nodiscard]] std::variant<Standard, Finding> of_profile() const {
    if (const auto why = out_of_scope(); !why.empty()) return skip(why);
    const auto found = facts_.nodes == 1 ? of_node() : of_job();
    if (const auto* finding = std::get_if<Finding>(&found)) return *finding;
    return at_its_size(*std::get<const AllReduceLimit*>(found));
  }

 private:
  using Found = std::variant<const AllReduceLimit*, Finding>;

  [[nodiscard]] Finding because(std::string_view check, Outcome outcome, std::string why) const {
    return {.check = std::string(check),
            .device = device_of(facts_),
            .outcome = outcome,
            .message = std::move(why)};
  }

  [[nodiscard]] std::string_view check() const {
    if (!rows_.empty() && rows_.front().operation.collective != Collective::all_reduce) {
      return kMinBusbw;
    }
    return facts_.nodes == 1 ? "bench.node_all_reduce" : "bench.job_all_reduce";
  }

  [[nodiscard]] Finding skip(std::string why) const {
    return because(check(), Outcome::skip, std::move(why));
  }

  // What no limit of a profile is about.
  [[nodiscard]] std::string out_of_scope() const {
    if (rows_.empty()) return "nothing was run";
    const auto& operation = rows_.front().operation;
    if (operation.collective != Collective::all_reduce) {
      return fmt::format("profiles have no limit for {}; give one with --min-busbw",
                         to_string(operation.collective));
    }
    if (!facts_.gpus) {
      return fmt::format("the limits of profiles are for GPU memory, and {} ran on host memory",
                         facts_.backend);
    }
    if (facts_.ranks < 2) return "one rank alone has no bus bandwidth";
    const auto gpus = profile_.gpu.present.count;
    if (gpus && *gpus * facts_.nodes != facts_.ranks) {
      return fmt::format(
          "the limits of profile {} are for {} ranks on a node, one for each GPU; here "
          "{} ranks ran on {}",
          profile_.name,
          *gpus,
          facts_.ranks,
          nodes_text(facts_.nodes));
    }
    return {};
  }

  [[nodiscard]] Finding no_limit() const {
    return skip(
        fmt::format("profile {} has no limit for an all-reduce on {}; give one with --min-busbw",
                    profile_.name,
                    nodes_text(facts_.nodes)));
  }

  [[nodiscard]] Found of_node() const {
    const auto& limit = profile_.bench.node_all_reduce;
    if (!limit.size) return no_limit();
    if (!algorithm_fits(limit, used_)) return other_algorithm(limit);
    return &limit;
  }

  // Of the entries whose algorithm fits, that for the most nodes.
  [[nodiscard]] Found of_job() const {
    const AllReduceLimit* best = nullptr;
    const AllReduceLimit* other = nullptr;
    const auto nodes = [](const AllReduceLimit& limit) { return limit.nodes_at_least.value_or(0); };
    for (const auto& limit : profile_.bench.job_all_reduce) {
      if (!limit.size || nodes(limit) > facts_.nodes) continue;
      auto*& place = algorithm_fits(limit, used_) ? best : other;
      if (place == nullptr || nodes(*place) < nodes(limit)) place = &limit;
    }
    if (best != nullptr) return best;
    if (other != nullptr) return other_algorithm(*other);
    return no_limit();
  }

  [[nodiscard]] Finding other_algorithm(const AllReduceLimit& limit) const {
    const auto wanted = algorithm_wanted(limit);
    return skip(fmt::format("the limit holds for algorithm {}, and {}; run with NCCL_ALGO={}",
                            wanted,
                            used_.empty() ? std::string("which one NCCL used is not known")
                                          : fmt::format("NCCL used {}", used_),
                            nccl_name(wanted)));
  }

  [[nodiscard]] std::variant<Standard, Finding> at_its_size(const AllReduceLimit& limit) const {
    const auto type = table_name(rows_.front().operation.type);
    if (limit.type && *limit.type != type &&
        *limit.type != to_string(rows_.front().operation.type)) {
      return skip(
          fmt::format("the limit holds for elements of type {}, not {}", *limit.type, type));
    }
    const auto bytes = static_cast<std::uint64_t>(limit.size->value);
    if (!was_run(rows_, bytes)) {
      return skip(fmt::format("the limit holds for {}, which was not run: run with --max {}",
                              size_text(bytes),
                              as_flag(bytes)));
    }
    return Standard{.check = std::string(check()),
                    .device = device_of(facts_),
                    .bytes = bytes,
                    .expected = limit.expected,
                    .warn_below = limit.warn_below,
                    .fail_below = limit.fail_below,
                    .from = fmt::format("profile {}", profile_.name)};
  }

  const std::vector<Row>& rows_;
  const Profile& profile_;
  const RunFacts& facts_;
  std::string used_;
};

}  // namespace

std::string algorithm_word(std::string_view name) {
  std::string word(name);
  std::ranges::transform(
      word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word.starts_with("nvls")) return "nvls";
  if (word.starts_with("collnet")) return "collnet";
  return word;
}

std::variant<Standard, Finding> standard_for(const std::vector<Row>& rows,
                                             const Profile& profile,
                                             const RunFacts& facts,
                                             const Demand& demand) {
  const Search search(rows, profile, facts);
  return demand.min_busbw ? search.demanded(demand) : search.of_profile();
}

}  // namespace muster::bench
