// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/backend.hpp"

#include <utility>

#include "bench/backends/mpi/errors.hpp"
#include "bench/backends/timing.hpp"

namespace muster::bench::mpi {
namespace {

// An even share of the machine's memory for each rank on it. Every rank calls it; when it returns,
// all have asked.
std::optional<std::uint64_t> room_of_rank() {
  const auto available = host_memory_available();
  MPI_Comm here = MPI_COMM_NULL;
  int ranks = 0;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) !=
      MPI_SUCCESS) {
    return std::nullopt;
  }
  const bool counted = MPI_Comm_size(here, &ranks) == MPI_SUCCESS && ranks > 0;
  MPI_Comm_free(&here);
  if (!available || !counted) return std::nullopt;
  return *available / static_cast<std::uint64_t>(ranks);
}

class MpiBackend : public Backend {
 public:
  MpiBackend(std::string library, MPI_Comm communicator, int rank, int ranks, std::uint64_t most)
      : library_(std::move(library)),
        communicator_(communicator),
        rank_(rank),
        ranks_(ranks),
        most_(most),
        memory_(rank, ranks, room_of_rank()) {}

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  ~MpiBackend() override {
    if (communicator_ != MPI_COMM_WORLD) MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] std::string library() const override { return library_; }

  [[nodiscard]] int ranks() const override { return ranks_; }

  [[nodiscard]] std::vector<Member> members() const override { return {host_member(rank_)}; }

  [[nodiscard]] std::optional<std::uint64_t> memory_free() const override { return memory_.room(); }

  [[nodiscard]] Result<void> supports(const Operation& operation, const Pace& pace) const override {
    if (pace.graph) return make_error("MPI on host memory has no CUDA graphs");
    if (pace.together > 1) return make_error("MPI on host memory has no groups of operations");
    return can_count(operation, rank_, ranks_, most_);
  }

  [[nodiscard]] Result<void> reserve(const Operation& largest) override {
    return memory_.reserve(largest);
  }

  [[nodiscard]] Result<Batch> measure(const Operation& operation,
                                      const Pace& pace,
                                      Progress& progress) override {
    const auto buffers = lay_out(operation);
    if (!buffers) return tl::unexpected(buffers.error());
    memory_.poison_and_fill(operation, *buffers);
    const auto plan = plan_of(operation, *buffers, types_, communicator_, rank_, ranks_, most_);

    Samples samples{.rank = rank_, .seconds = {}};
    int code = MPI_SUCCESS;
    const auto run = [&] {
      code = plan.run();
      return code == MPI_SUCCESS;
    };
    const auto barrier = [&] {
      code = MPI_Barrier(communicator_);
      return code == MPI_SUCCESS;
    };
    if (!time_operations(pace, run, barrier, samples, progress)) {
      return tl::unexpected(check(code, plan.use->name).error());
    }
    if (!is_repeatable(operation)) {
      memory_.poison_and_fill(operation, *buffers);
      if (!counted(run, progress)) return tl::unexpected(check(code, plan.use->name).error());
    }
    return Batch{.samples = {std::move(samples)}, .wrong = memory_.verify(operation, *buffers)};
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation,
                                                  const Pace& /*pace*/,
                                                  Progress& progress) override {
    const auto buffers = lay_out(operation);
    if (!buffers) return tl::unexpected(buffers.error());
    memory_.poison_and_fill(operation, *buffers);
    const auto plan = plan_of(operation, *buffers, types_, communicator_, rank_, ranks_, most_);
    progress.reset();
    ++progress.started;
    if (auto run = check(plan.run(), plan.use->name); !run) return tl::unexpected(run.error());
    ++progress.finished;
    return memory_.verify(operation, *buffers);
  }

 private:
  [[nodiscard]] Result<HostMemory::Buffers> lay_out(const Operation& operation) const {
    auto buffers = memory_.lay_out(operation);
    if (buffers && definition_of(operation.collective).mpi.received_first) {
      buffers->receive = buffers->whole;
    }
    return buffers;
  }

  std::string library_;
  MPI_Comm communicator_;
  int rank_, ranks_;
  std::uint64_t most_;
  HostMemory memory_;
  Types types_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::string library,
                                              MPI_Comm communicator,
                                              std::uint64_t most) {
  int rank = 0;
  int ranks = 1;
  if (auto ok = check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank"); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = check(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size"); !ok) {
    return tl::unexpected(ok.error());
  }
  return std::make_unique<MpiBackend>(std::move(library), communicator, rank, ranks, most);
}

}  // namespace muster::bench::mpi
