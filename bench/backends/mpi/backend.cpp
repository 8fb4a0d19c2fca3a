// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/backend.hpp"

#include <utility>

#include "bench/backends/host_backend.hpp"
#include "bench/backends/mpi/errors.hpp"

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

struct MpiRun {
  Plan plan;
  int code = MPI_SUCCESS;

  [[nodiscard]] bool run() {
    code = plan.run();
    return code == MPI_SUCCESS;
  }

  [[nodiscard]] bool barrier() {
    code = MPI_Barrier(plan.communicator);
    return code == MPI_SUCCESS;
  }

  [[nodiscard]] Error error() const { return check(code, plan.use->name).error(); }
};

class MpiBackend final : public HostBackend<MpiRun> {
 public:
  MpiBackend(std::string library, MPI_Comm communicator, int rank, int ranks, std::uint64_t most)
      : HostBackend("MPI", rank, ranks, room_of_rank()),
        library_(std::move(library)),
        communicator_(communicator),
        most_(most) {}

  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  ~MpiBackend() override {
    if (communicator_ != MPI_COMM_WORLD) MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] std::string library() const override { return library_; }

  [[nodiscard]] Result<void> supports(const Operation& operation, const Pace& pace) const override {
    if (auto paced = HostBackend::supports(operation, pace); !paced) return paced;
    return can_count(operation, rank(), ranks(), most_);
  }

 private:
  [[nodiscard]] MpiRun calls_of(const Operation& operation, HostMemory::Buffers& buffers) override {
    if (definition_of(operation.collective).mpi.received_first) buffers.receive = buffers.whole;
    return {.plan = plan_of(operation, buffers, types_, communicator_, rank(), ranks(), most_)};
  }

  std::string library_;
  MPI_Comm communicator_;
  std::uint64_t most_;
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
