// SPDX-License-Identifier: Apache-2.0
// Which limit holds for a run.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/results/bandwidth.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::bench {
namespace {

using AllReduceLimit = BenchLimit<BytesPerSecond>;

constexpr std::string_view kMinBusbw = "bench.min_busbw";

std::string device_of(const RunFacts& facts) {
  return facts.nodes == 1 && !facts.node.empty() ? facts.node : "job";
}

// As the command line takes it: "8GiB".
std::string as_flag(std::uint64_t bytes) {
  auto text = size_text(bytes);
  std::erase(text, ' ');
  return text;
}

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

  [[nodiscard]] std::variant<BandwidthLimit, Finding> demanded(const OwnLimit& own_limit) const {
    if (facts_.ranks < 2) {
      return because(kMinBusbw, Outcome::unknown, "one rank alone has no bus bandwidth");
    }
    std::uint64_t largest = 0;
    for (const auto& row : rows_) largest = std::max(largest, row.operation.bytes);
    const auto bytes = own_limit.at.value_or(largest);
    if (rows_.empty() || !was_run(rows_, bytes)) {
      return because(kMinBusbw,
                     Outcome::unknown,
                     fmt::format("{} was not run; --min-busbw asks about it: run with --max {}",
                                 size_text(bytes),
                                 as_flag(bytes)));
    }
    return BandwidthLimit{.check = std::string(kMinBusbw),
                          .device = device_of(facts_),
                          .bytes = bytes,
                          .fail_below = own_limit.min_busbw,
                          .from = "--min-busbw"};
  }

  [[nodiscard]] std::variant<BandwidthLimit, Finding> of_profile() const {
    if (rows_.empty()) return skip("nothing was run");
    if (const auto why = without_some_gpus(); !why.empty()) return unknown(why);
    const auto collective = rows_.front().operation.collective;
    if (collective != Collective::all_reduce) {
      return skip(fmt::format("profiles have no limit for {}; give one with --min-busbw",
                              to_string(collective)));
    }
    const auto [limit, fits] = facts_.nodes == 1 ? of_node() : of_job();
    if (limit == nullptr) return no_limit();
    // From here on there is a limit for these nodes. Where it cannot be applied, nothing is known.
    if (!facts_.gpus) {
      return unknown(fmt::format(
          "the limit of profile {} is for GPU memory, and {} ran on host memory; give one with "
          "--min-busbw",
          profile_.name,
          facts_.backend));
    }
    if (facts_.ranks < 2) return unknown("one rank alone has no bus bandwidth");
    if (!fits && !fell_back(*limit)) return unknown(other_algorithm(*limit));
    return at_its_size(*limit, fits ? std::string() : other_algorithm(*limit));
  }

 private:
  struct Found {
    const AllReduceLimit* limit = nullptr;  // null where there is none for these nodes
    bool fits = false;                      // the algorithm is the limit's
  };

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

  [[nodiscard]] Finding unknown(std::string why) const {
    return because(check(), Outcome::unknown, std::move(why));
  }

  // GPUs that no rank used may be those that are slow, or gone.
  [[nodiscard]] std::string without_some_gpus() const {
    const auto gpus = profile_.gpu->present.count;
    if (!facts_.gpus || !gpus || *gpus == 0 || *gpus * facts_.nodes == facts_.ranks) return {};
    return fmt::format(
        "profile {} has {} GPUs on a node, one rank for each; here {} ran on {}",
        profile_.name,
        *gpus,
        facts_.ranks == 1 ? std::string("one rank") : fmt::format("{} ranks", facts_.ranks),
        nodes_text(facts_.nodes));
  }

  [[nodiscard]] Finding no_limit() const {
    return skip(
        fmt::format("profile {} has no limit for an all-reduce on {}; give one with --min-busbw",
                    profile_.name,
                    nodes_text(facts_.nodes)));
  }

  [[nodiscard]] Found of_node() const {
    const auto& limit = profile_.bench->node_all_reduce;
    if (!limit.size) return {};
    return {&limit, algorithm_fits(limit, used_)};
  }

  // Of the entries whose algorithm fits, that for the most nodes; else of the others.
  [[nodiscard]] Found of_job() const {
    Found best;
    const auto nodes = [](const AllReduceLimit& limit) { return limit.nodes_at_least.value_or(0); };
    for (const auto& limit : profile_.bench->job_all_reduce) {
      if (!limit.size || nodes(limit) > facts_.nodes) continue;
      const bool fits = algorithm_fits(limit, used_);
      const bool better = best.limit == nullptr || fits > best.fits ||
                          (fits == best.fits && nodes(*best.limit) < nodes(limit));
      if (better) best = {&limit, fits};
    }
    return best;
  }

  // NCCL takes NVLS wherever it can. Where it took another algorithm by itself, the limit is missed
  // for that very reason; what somebody has asked for is no fault.
  [[nodiscard]] bool fell_back(const AllReduceLimit& limit) const {
    return algorithm_wanted(limit) == "nvls" && !used_.empty() && !facts_.algorithm_asked;
  }

  [[nodiscard]] std::string other_algorithm(const AllReduceLimit& limit) const {
    const auto wanted = algorithm_wanted(limit);
    return fmt::format("the limit holds for algorithm {}, and {}; run with NCCL_ALGO={}",
                       wanted,
                       used_.empty() ? std::string("which one NCCL used is not known")
                                     : fmt::format("NCCL used {}", used_),
                       nccl_name(wanted));
  }

  [[nodiscard]] std::variant<BandwidthLimit, Finding> at_its_size(
      const AllReduceLimit& limit, std::string other_algorithm) const {
    const auto type = table_name(rows_.front().operation.type);
    if (limit.type && *limit.type != type &&
        *limit.type != to_string(rows_.front().operation.type)) {
      return unknown(
          fmt::format("the limit holds for elements of type {}, not {}", *limit.type, type));
    }
    const auto bytes = static_cast<std::uint64_t>(limit.size->value);
    if (!was_run(rows_, bytes)) {
      return unknown(fmt::format("the limit holds for {}, which was not run: run with --max {}",
                                 size_text(bytes),
                                 as_flag(bytes)));
    }
    return BandwidthLimit{.check = std::string(check()),
                          .device = device_of(facts_),
                          .bytes = bytes,
                          .expected = limit.expected,
                          .warn_below = limit.warn_below,
                          .fail_below = limit.fail_below,
                          .from = fmt::format("profile {}", profile_.name),
                          .other_algorithm = std::move(other_algorithm)};
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

std::variant<BandwidthLimit, Finding> limit_for(const std::vector<Row>& rows,
                                                const Profile& profile,
                                                const RunFacts& facts,
                                                const OwnLimit& own_limit) {
  const Search search(rows, profile, facts);
  return own_limit.min_busbw ? search.demanded(own_limit) : search.of_profile();
}

}  // namespace muster::bench
