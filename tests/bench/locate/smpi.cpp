// SPDX-License-Identifier: Apache-2.0
// The search among the ranks of an MPI program, for SimGrid's SMPI, which simulates hosts and time:
// `smpirun ... locate_smpi [BYTES]`. Rank 0 prints a line for each finding.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"

namespace muster::bench::locate {
namespace {

// Each node has one rank. A task is the number of repeats, then the size and the nodes of each
// group.
using RankTask = std::vector<int>;

int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// The group that this rank is in.
int colour_in(const RankTask& task, int rank) {
  int group = 0;
  for (std::size_t at = 1; at < task.size(); ++group) {
    const auto first = task.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto last = first + task[at];
    if (std::find(first, last, rank) != last) return group;
    at += static_cast<std::size_t>(task[at]) + 1;
  }
  return MPI_UNDEFINED;
}

// Takes part in the task of rank 0. Returns the seconds of each repeat of every rank on rank 0, 0
// for ranks without a group; nothing once the search is over and the task is empty.
std::optional<std::vector<double>> take_part(RankTask task, int bytes) {
  int length = static_cast<int>(task.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (length == 0) return std::nullopt;
  task.resize(static_cast<std::size_t>(length));
  MPI_Bcast(task.data(), length, MPI_INT, 0, MPI_COMM_WORLD);
  const int repeats = task.front();
  std::vector<double> own(static_cast<std::size_t>(repeats));
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour_in(task, own_rank()), own_rank(), &group);
  if (group != MPI_COMM_NULL) {
    const auto count = static_cast<std::size_t>(bytes) / sizeof(float);
    std::vector<float> send(count, 1);
    std::vector<float> receive(count);
    for (auto& seconds : own) {
      MPI_Barrier(group);
      const double begin = MPI_Wtime();
      MPI_Allreduce(send.data(), receive.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    group);
      seconds = MPI_Wtime() - begin;
    }
    MPI_Comm_free(&group);
  }
  std::vector<double> all(own_rank() == 0 ? own.size() * static_cast<std::size_t>(size_of_world())
                                          : 0);
  MPI_Gather(own.data(), repeats, MPI_DOUBLE, all.data(), repeats, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

class Ranks final : public Measurer {
 public:
  explicit Ranks(int bytes) : bytes_(bytes) {}

  [[nodiscard]] Result<std::vector<GroupRates>> measure(const std::vector<NodeGroup>& groups,
                                                        int repeats) override {
    RankTask task{repeats};
    for (const auto& group : groups) {
      task.push_back(static_cast<int>(group.nodes.size()));
      task.insert(task.end(), group.nodes.begin(), group.nodes.end());
    }
    const auto seconds = take_part(task, bytes_).value();
    std::vector<GroupRates> rates;
    for (const auto& group : groups) {
      auto& own = rates.emplace_back();
      const auto n = static_cast<double>(group.nodes.size());
      for (int repeat = 0; repeat < repeats; ++repeat) {
        double slowest = 0;
        for (const auto node : group.nodes) {
          slowest = std::max(
              slowest,
              seconds[node * static_cast<std::size_t>(repeats) + static_cast<std::size_t>(repeat)]);
        }
        own.gbps.push_back(bytes_ * 2 * (n - 1) / n / slowest / 1e9);
      }
    }
    return rates;
  }

 private:
  int bytes_;
};

int lead(int bytes) {
  Nodes nodes;
  for (int rank = 0; rank < size_of_world(); ++rank)
    nodes.names.push_back(fmt::format("h{}", rank));
  Ranks ranks(bytes);
  const auto search = locate(nodes, ranks, {});
  (void)take_part({}, bytes);
  if (!search) {
    fmt::print("{}\n", search.error().message);
    return 2;
  }
  for (const auto& finding : findings_of(*search)) {
    fmt::print("{} {} {}\n", to_string(finding.outcome), finding.device, finding.message);
  }
  fmt::print("{} rounds, {:.3f} simulated seconds\n", search->rounds, MPI_Wtime());
  (void)std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace muster::bench::locate

int main(int count, char** words) {
  namespace locate = muster::bench::locate;
  MPI_Init(&count, &words);
  const int bytes = count > 1 ? std::atoi(words[1]) : 1 << 20;
  int status = 0;
  if (locate::own_rank() == 0) {
    status = locate::lead(bytes);
  } else {
    while (locate::take_part({}, bytes)) {
    }
  }
  MPI_Finalize();
  return status;
}
