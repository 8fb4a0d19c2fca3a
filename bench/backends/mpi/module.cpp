// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/module.hpp"

#include <mpi.h>

#include <cstdint>

#include "bench/backends/mpi/backend.hpp"

namespace muster::bench::mpi {
namespace {

class Job : public MpiJob {
 public:
  [[nodiscard]] Result<void> start() {
    // Not MPI_Init_thread: with MPI_THREAD_FUNNELED, Open MPI 4.1 uses locks, which cost 0.1 of the
    // 0.5 us of small operations. Other threads of this process do not call MPI.
    TRY(check(MPI_Init(nullptr, nullptr), "MPI_Init"));
    const int code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    TRY(check(code, "MPI_Comm_set_errhandler"));
    TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank"));
    return check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }

  [[nodiscard]] int rank() const override { return rank_; }

  [[nodiscard]] int size() const override { return size_; }

  [[nodiscard]] Result<std::string> broadcast(std::string_view text) override {
    const auto send = [](void* data, std::uint64_t count, MPI_Datatype type) {
      return check(MPI_Bcast(data, static_cast<int>(count), type, 0, MPI_COMM_WORLD), "MPI_Bcast");
    };
    std::uint64_t size = text.size();
    TRY(send(&size, 1, MPI_UINT64_T));
    std::string all(text);
    all.resize(size);
    return send(all.data(), size, MPI_CHAR).map([&] { return all; });
  }

  [[nodiscard]] Result<void> finish() override { return check(MPI_Finalize(), "MPI_Finalize"); }

  [[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(std::optional<int> colour) override {
    if (!colour) return mpi::make_backend(MPI_COMM_WORLD);
    MPI_Comm ranks = MPI_COMM_NULL;
    TRY(check(MPI_Comm_split(MPI_COMM_WORLD, *colour, rank_, &ranks), "MPI_Comm_split"));
    return mpi::make_backend(ranks);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace muster::bench::mpi

extern "C" __attribute__((visibility("default"))) muster::bench::MpiJob* muster_mpi_start_5(
    std::string* why);

extern "C" muster::bench::MpiJob* muster_mpi_start_5(std::string* why) {
  auto job = std::make_unique<muster::bench::mpi::Job>();
  if (const auto started = job->start(); !started) {
    *why = started.error().message;
    return nullptr;
  }
  return job.release();
}
