// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/sim/sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace muster::bench {
namespace {

// A bit that changes a number visibly: the highest of the fraction, or the lowest of an integer.
std::uint64_t visible_bit(Type type) {
  const auto format = format_of(type);
  return format.is_floating() ? std::uint64_t{1} << (format.fraction_bits() - 1) : 1;
}

// Returns nothing if the rank does not receive this element.
std::optional<Wrong> wrong_element(const Operation& operation, int rank, int ranks,
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
  Sim(const SimCluster& cluster, SimGroup group)
      : model_(cluster), group_(std::move(group)), hang_(model_.hang_of(group_)) {
    log_paths();
  }

  [[nodiscard]] std::string library() const override { return "a model of a cluster"; }

  [[nodiscard]] int ranks() const override { return model_.ranks_of(group_); }

  [[nodiscard]] std::vector<Member> members() const override {
    const bool on_host = model_.cluster().on_host;
    std::vector<Member> all;
    for (int rank = 0; rank < ranks(); ++rank) {
      all.push_back({.rank = rank,
                     .host = sim_node_name(node_of(rank)),
                     .device = on_host ? "model of a node" : "model of a GPU",
                     .device_id = on_host ? "host" : fmt::format("gpu{}", gpu_of(rank))});
    }
    return all;
  }

  [[nodiscard]] Result<bool> renew() override {
    ++run_;
    return true;
  }

  [[nodiscard]] Result<void> supports(const Operation& operation,
                                      const Pace& /*pace*/) const override {
    if (operation.root >= 0 && operation.root < ranks()) return can_be_wrong(operation);
    return make_error("rank {} is not in this run", operation.root);
  }

  [[nodiscard]] Result<void> reserve(const Operation& /*largest*/) override { return {}; }

  [[nodiscard]] Result<Batch> measure(const Operation& operation, const Pace& pace,
                                      Progress& progress) override {
    log_choice(operation);
    progress.reset();
    const auto& cluster = model_.cluster();
    const double seconds = model_.seconds(group_, operation) * run_factor(cluster, run_);
    std::vector<double> times;
    for (int i = 0; i < pace.warm_up + pace.iterations; ++i) {
      TRY(run_operation(progress));
      if (i >= pace.warm_up) times.push_back(seconds * noise_factor(cluster, operations_));
    }
    Batch batch{.samples = {}, .wrong = wrong_elements(model_, group_, operation)};
    for (int rank = 0; rank < ranks(); ++rank) {
      batch.samples.push_back({.rank = rank, .seconds = times});
    }
    return batch;
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation, const Pace& /*pace*/,
                                                  Progress& progress) override {
    progress.reset();
    TRY(run_operation(progress));
    return wrong_elements(model_, group_, operation);
  }

  [[nodiscard]] std::string log() const override { return log_; }

  void abort() noexcept override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  // Refuses a wrong element beyond the last one that its rank receives.
  [[nodiscard]] Result<void> can_be_wrong(const Operation& operation) const {
    for (const auto& fault : model_.cluster().faults) {
      const auto rank = model_.rank_in(group_, fault.first);
      if (fault.kind != SimFault::Kind::wrong || !rank) continue;
      std::uint64_t end = 0;
      for (const auto& part : expected_of(operation, *rank, ranks())) {
        end = std::max(end, part.first + part.count);
      }
      if (end == 0 || fault.second < end) continue;
      return make_error("--sim: fault wrong: rank {} has no element {}: expected 0 to {} for {}",
                        fault.first, fault.second, end - 1, size_text(operation.bytes));
    }
    return {};
  }

  [[nodiscard]] std::size_t node_of(int rank) const {
    return static_cast<std::size_t>(model_.global_rank(group_, rank) / model_.cluster().gpus);
  }

  [[nodiscard]] int gpu_of(int rank) const {
    return model_.global_rank(group_, rank) % model_.cluster().gpus;
  }

  // Waits until abort() in the operation at which a rank hangs.
  Result<void> run_operation(Progress& progress) {
    ++progress.started;
    const auto operation = operations_++;
    if (hang_ && hang_->operation == operation) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return aborted_; });
      const auto rank = model_.rank_in(group_, static_cast<std::uint64_t>(hang_->rank));
      return make_error("rank {} did not start operation {}", rank.value_or(0), operation);
    }
    ++progress.finished;
    return {};
  }

  // NCCL does not run without GPUs.
  void log_line(int rank, std::string_view text) {
    if (model_.cluster().on_host) return;
    log_ += fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", sim_node_name(node_of(rank)), rank, rank,
                        gpu_of(rank), text);
  }

  // Logs the path from each rank to the next, as NCCL does.
  void log_paths() {
    const bool tcp = uses_tcp(model_.cluster());
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank > 0 && node_of(rank) == node_of(rank - 1)) continue;
      log_line(rank,
               tcp ? "NET/IB : No device found." : "NET/IB : Using [0]mlx5_ib0:1/IB ; OOB eth0");
      log_line(rank, tcp ? "Using network Socket" : "Using network IB");
    }
    for (int rank = 0; rank < ranks() && ranks() > 1; ++rank) {
      const int next = (rank + 1) % ranks();
      const auto node = node_of(rank);
      const std::string_view path = node == node_of(next) ? "via P2P/CUMEM"
                                    : use_nvlink(model_.cluster(), node, node_of(next))
                                        ? "via P2P/MNNVL"
                                    : tcp ? "[send] via NET/Socket/0"
                                          : "[send] via NET/IB/0/GDRDMA";
      log_line(rank, fmt::format("Channel 00/0 : {}[{}] -> {}[{}] {}", rank, gpu_of(rank), next,
                                 gpu_of(next), path));
    }
  }

  // NCCL logs its choice of an algorithm once for each size.
  void log_choice(const Operation& operation) {
    if (operation.collective != Collective::all_reduce || ranks() < 2) return;
    if (!logged_.insert(operation.bytes).second) return;
    const auto* const algorithm = model_.uses_nvls(group_, operation.collective) ? "NVLS"
                                  : model_.cluster().tree                        ? "TREE"
                                                                                 : "RING";
    log_line(0,
             fmt::format("AllReduce: {} Bytes -> Algo {} proto SIMPLE channel{{Lo..Hi}}={{0..15}}",
                         operation.bytes, algorithm));
  }

  ClusterModel model_;
  SimGroup group_;
  std::optional<SimHang> hang_;
  std::string log_;
  std::set<std::uint64_t> logged_;
  std::uint64_t operations_ = 0;
  std::uint64_t run_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
};

}  // namespace

std::vector<Wrong> wrong_elements(const ClusterModel& model, const SimGroup& group,
                                  const Operation& operation) {
  std::vector<Wrong> all;
  for (const auto& fault : model.cluster().faults) {
    if (fault.kind != SimFault::Kind::wrong) continue;
    const auto rank = model.rank_in(group, fault.first);
    if (!rank) continue;
    if (const auto wrong = wrong_element(operation, *rank, model.ranks_of(group), fault.second)) {
      all.push_back(*wrong);
    }
  }
  return all;
}

std::unique_ptr<Backend> make_sim_backend(const SimCluster& cluster, SimGroup group) {
  return std::make_unique<Sim>(cluster, std::move(group));
}

}  // namespace muster::bench
