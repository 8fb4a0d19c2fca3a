// SPDX-License-Identifier: Apache-2.0
// The MPI module under mpirun: all ranks run the same tests in order.
#include <mpi.h>
#include <unistd.h>

#include <iostream>

#include "bench/backends/mpi/backend.hpp"
#include "bench/backends/mpi/module.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

std::unique_ptr<MpiJob>& job() {
  static std::unique_ptr<MpiJob> the_job;
  return the_job;
}

TEST(MpiModuleTest, HasRankAndSize) {
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(job()->rank(), rank);
  EXPECT_EQ(job()->size(), size);
}

TEST(MpiModuleTest, BroadcastsTheTextOfRankZero) {
  const std::string text = "10.0.0.4:5000 secret";
  const auto told = job()->broadcast(job()->rank() == 0 ? text : "not this");
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, text);
  EXPECT_EQ(job()->broadcast(""), "");
}

TEST(MpiBackendTest, HasMembers) {
  const auto backend = job()->make_backend().value();
  EXPECT_EQ(backend->ranks(), job()->size());
  EXPECT_GE(backend->library().size(), 5);
  EXPECT_TRUE(backend->memory_free());
  ASSERT_EQ(backend->members().size(), 1);
  const auto member = backend->members().front();
  EXPECT_EQ(member.rank, job()->rank());
  EXPECT_EQ(member.pid, ::getpid());
  EXPECT_EQ(member.device, "host memory");
  EXPECT_NE(member.host, "");
}

TEST(MpiBackendTest, RunsEveryOperation) {
  const auto backend = job()->make_backend().value();
  EXPECT_THAT(run_battery(*backend, {0, 64, 1000, 50000}, {0, job()->size() - 1}), IsEmpty());
}

TEST(MpiBackendTest, SplitsCallsWithTooManyElements) {
  // Pretends that an int can count only to 4096, which takes several calls and blocks of 16 bytes.
  // Two types are enough.
  const auto backend = mpi::make_backend(MPI_COMM_WORLD, 4096).value();
  for (const auto& operation : all_operations(std::uint64_t{32768} * 4, 1)) {
    if (operation.type != Type::bf16 && operation.type != Type::u8) continue;
    EXPECT_THAT(problems_of(*backend, operation), IsEmpty());
  }
}

TEST(MpiBackendTest, ReportsUnsupportedOperations) {
  const auto backend = mpi::make_backend(MPI_COMM_WORLD, 4096).value();
  const Operation large{.collective = Collective::reduce_scatter,
                        .bytes = static_cast<std::uint64_t>(job()->size()) * 32768};
  EXPECT_EQ(
      backend->supports(large, {}).error().message,
      fmt::format("reduce_scatter of {} bytes has 8192 elements per rank, but MPI counts at most "
                  "4096",
                  large.bytes));
  EXPECT_EQ(backend->supports({.bytes = 8}, {.graph = true}).error().message,
            "MPI on host memory has no CUDA graphs");
}

TEST(MpiBackendTest, NeedsReservedMemory) {
  const auto backend = job()->make_backend().value();
  Progress progress;
  ASSERT_TRUE(backend->reserve({.bytes = 64}));
  EXPECT_EQ(backend->verify({.bytes = 128}, {}, progress).error().message,
            "all_reduce of 128 bytes needs more memory than was reserved");
}

TEST(MpiBackendTest, ReportsTheErrorsOfMpi) {
  const auto backend = job()->make_backend().value();
  const auto wrongs = verify_once(
      *backend, {.collective = Collective::broadcast, .root = job()->size(), .bytes = 64});
  ASSERT_FALSE(wrongs);
  EXPECT_THAT(wrongs.error().message, StartsWith("MPI_Bcast: "));
}

TEST(MpiErrorsTest, ShortensTheNamesOfLibraries) {
  EXPECT_EQ(
      mpi::library_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1"),
      "Open MPI 4.1.4");
  EXPECT_EQ(mpi::library_name("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7"),
            "MPICH 4.0.2");
  EXPECT_EQ(mpi::library_name("Intel(R) MPI Library 2021.5 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.5 for Linux* OS");
  EXPECT_EQ(mpi::library_name(""), "");
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto started = muster::bench::start_mpi(muster::bench::mpi_module_path());
  if (!started) {
    std::cerr << started.error().message << '\n';
    return 1;
  }
  muster::bench::job() = *std::move(started);
  const int status = RUN_ALL_TESTS();
  return muster::bench::job()->finish() ? status : 1;
}
