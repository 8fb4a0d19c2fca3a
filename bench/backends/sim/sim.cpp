// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "bench/backends/sim/cluster.hpp"

namespace muster::bench {
namespace {

std::string log_line(int rank, int gpus, std::string_view text) {
  return fmt::format("sim{}:{}:{} [{}] NCCL INFO {}\n", rank / gpus, rank, rank, rank % gpus, text);
}

// What NCCL would log about the way from each rank to the next.
std::string first_log(const SimCluster& cluster) {
  const int ranks = ranks_of(cluster);
  const bool tcp = uses_tcp(cluster);
  std::string log;
  for (int node = 0; node < cluster.nodes; ++node) {
    const int rank = node * cluster.gpus;
    const auto add = [&](std::string_view text) { log += log_line(rank, cluster.gpus, text); };
    add(tcp ? "NET/IB : No device found." : "NET/IB : Using [0]mlx5_ib0:1/IB ; OOB eth0");
    add(tcp ? "Using network Socket" : "Using network IB");
  }
  for (int rank = 0; rank < ranks && ranks > 1; ++rank) {
    const int next = (rank + 1) % ranks;
    const bool inside = rank / cluster.gpus == next / cluster.gpus;
    const std::string_view between = tcp ? "[send] via NET/Socket/0" : "[send] via NET/IB/0/GDRDMA";
    log += log_line(rank, cluster.gpus,
                    fmt::format("Channel 00/0 : {}[{}] -> {}[{}] {}", rank, rank % cluster.gpus,
                                next, next % cluster.gpus, inside ? "via P2P/CUMEM" : between));
  }
  return log;
}

// Of a floating-point number the highest bit of its fraction, of an integer the lowest one: the
// number is visibly another one.
std::uint64_t visible_bit(Type type) {
  const auto format = format_of(type);
  return format.is_floating() ? std::uint64_t{1} << (format.fraction_bits() - 1) : 1;
}

// What is wrong with this element; nothing where the rank receives no such element.
std::optional<Wrong> spoiled(const Operation& operation, int rank, int ranks,
                             std::uint64_t element) {
  for (const auto& [first, count, shift, low, high] : expected_of(operation, rank, ranks)) {
    if (element < first || element - first >= count) continue;
    const auto entry = (element - first + shift) % low.size();
    return Wrong{.rank = rank,
                 .elements = 1,
                 .first = element,
                 .observed = high[entry] ^ visible_bit(operation.type),
                 .low = low[entry],
                 .high = high[entry]};
  }
  return {};
}

class Sim final : public Backend {
 public:
  explicit Sim(SimCluster cluster) : cluster_(std::move(cluster)), log_(first_log(cluster_)) {}

  [[nodiscard]] std::string library() const override { return "a model of a cluster"; }

  [[nodiscard]] int ranks() const override { return ranks_of(cluster_); }

  [[nodiscard]] std::vector<Member> members() const override {
    std::vector<Member> all;
    all.reserve(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      all.push_back({.rank = rank,
                     .host = fmt::format("sim{}", rank / cluster_.gpus),
                     .device = "model of a GPU",
                     .device_id = fmt::format("gpu{}", rank % cluster_.gpus)});
    }
    return all;
  }

  [[nodiscard]] Result<bool> renew() override {
    ++run_;
    return true;
  }

  [[nodiscard]] Result<void> supports(const Operation& operation,
                                      const Pace& /*pace*/) const override {
    if (operation.root >= 0 && operation.root < ranks()) return {};
    return make_error(fmt::format("there is no rank {}", operation.root));
  }

  [[nodiscard]] Result<void> reserve(const Operation& /*largest*/) override { return {}; }

  [[nodiscard]] Result<Batch> measure(const Operation& operation, const Pace& pace,
                                      Progress& progress) override {
    note(operation);
    progress.reset();
    const double seconds = seconds_of(cluster_, operation) * run_factor(cluster_, run_);
    std::vector<double> times;
    for (int i = 0; i < pace.warm_up + pace.iterations; ++i) {
      ++progress.started;
      if (auto came = come(); !came) return tl::unexpected(came.error());
      if (i >= pace.warm_up) times.push_back(seconds * noise_factor(cluster_, operations_));
      ++progress.finished;
    }
    Batch batch{.samples = {}, .wrong = wrong_elements(operation)};
    batch.samples.reserve(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      batch.samples.push_back({.rank = rank, .seconds = times});
    }
    return batch;
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation, const Pace& /*pace*/,
                                                  Progress& progress) override {
    progress.reset();
    ++progress.started;
    if (auto came = come(); !came) return tl::unexpected(came.error());
    ++progress.finished;
    return wrong_elements(operation);
  }

  [[nodiscard]] std::string log() const override { return log_; }

  void abort() noexcept override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  [[nodiscard]] std::vector<Wrong> wrong_elements(const Operation& operation) const {
    std::vector<Wrong> all;
    for (const auto& fault : cluster_.faults) {
      if (fault.kind != SimFault::Kind::wrong) continue;
      const auto wrong = spoiled(operation, static_cast<int>(fault.first), ranks(), fault.second);
      if (wrong) all.push_back(*wrong);
    }
    return all;
  }

  // Every rank comes to the next operation; where one hangs, nobody goes on.
  Result<void> come() {
    const auto at = operations_++;
    for (const auto& fault : cluster_.faults) {
      if (fault.kind != SimFault::Kind::hang || fault.second != at) continue;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return aborted_; });
      return make_error(fmt::format("rank {} did not come to operation {}", fault.first, at));
    }
    return {};
  }

  // Once for each size, as NCCL logs what it chose.
  void note(const Operation& operation) {
    if (operation.collective != Collective::all_reduce || ranks() < 2) return;
    if (!noted_.insert(operation.bytes).second) return;
    log_ += log_line(
        0, cluster_.gpus,
        fmt::format("AllReduce: {} Bytes -> Algo {} proto SIMPLE channel{{Lo..Hi}}={{0..15}}",
                    operation.bytes, cluster_.tree ? "TREE" : "RING"));
  }

  SimCluster cluster_;
  std::string log_;
  std::set<std::uint64_t> noted_;
  std::uint64_t operations_ = 0;
  std::uint64_t run_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_sim_backend(SimCluster cluster) {
  return std::make_unique<Sim>(std::move(cluster));
}

}  // namespace muster::bench
