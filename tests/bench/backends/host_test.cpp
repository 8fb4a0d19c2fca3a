// SPDX-License-Identifier: Apache-2.0
// Buffers in host memory, and the module of MPI without an MPI job.

#include <cstring>

#include "bench/backends/host_backend.hpp"
#include "bench/backends/mpi/module.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

TEST(HostMemoryTest, ReservesAtMostItsShare) {
  constexpr std::uint64_t kMib = 1UL << 20;
  HostMemory memory(0, 2, 9 * kMib);
  EXPECT_EQ(memory.room(), 9 * kMib);
  EXPECT_TRUE(memory.reserve({.bytes = 4 * kMib}));
  EXPECT_TRUE(memory.reserve({.in_place = true, .bytes = 8 * kMib}));
  const auto refused = memory.reserve({.bytes = 8 * kMib});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "buffers need 16.125 MiB, but this rank's share of the host's available memory is "
            "9 MiB");
  EXPECT_TRUE(HostMemory(0, 2).reserve({.bytes = 8 * kMib}));
}

TEST(HostMemoryTest, IsLimitedByControlGroups) {
  EXPECT_GT(host_memory_available().value(), 0);
  const TempDir folder;
  const auto root = Root::below(folder.path()).value();
  EXPECT_FALSE(host_memory_available(root));
  folder.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n");
  folder.write("proc/self/cgroup", "0::/job/step\n");
  EXPECT_EQ(host_memory_available(root), 8000U << 10U);
  folder.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  folder.write("sys/fs/cgroup/job/memory.max", "4096\n");
  folder.write("sys/fs/cgroup/job/memory.current", "4000\n");
  EXPECT_EQ(host_memory_available(root), 96);
  // File caches can be dropped to make room.
  folder.write("sys/fs/cgroup/job/memory.stat", "anon 1000\ninactive_file 3000\n");
  EXPECT_EQ(host_memory_available(root), 3096);
}

// One rank, whose results are its inputs. One operation stores nothing.
struct CopyCalls {
  const HostMemory::Buffers& buffers;
  std::size_t bytes;
  int lost;
  int begun = 0;

  [[nodiscard]] Result<void> run() {
    if (begun++ != lost) std::memcpy(buffers.receive, buffers.send, bytes);
    return {};
  }

  [[nodiscard]] static Result<void> meet() { return {}; }
};

class CopyBackend final : public HostBackend<CopyCalls> {
 public:
  explicit CopyBackend(int lost) : HostBackend("copies", 0, 1, {}), lost_(lost) {}

  [[nodiscard]] std::string library() const override { return "memcpy"; }

 private:
  [[nodiscard]] CopyCalls calls_of(const Operation& operation,
                                   HostMemory::Buffers& buffers) override {
    return {.buffers = buffers,
            .bytes = buffers.shape.receive * size_of(operation.type),
            .lost = lost_};
  }

  int lost_;
};

// The elements that are wrong after one of four operations has stored nothing.
std::uint64_t wrong_after(int lost, const Operation& operation, bool pipelined) {
  CopyBackend backend(lost);
  const auto batch =
      measure_once(backend, operation, {.warm_up = 1, .iterations = 2, .pipelined = pipelined});
  EXPECT_TRUE(batch);
  return batch && !batch->wrong.empty() ? batch->wrong.front().elements : 0;
}

TEST(HostBackendTest, FindsEveryElementThatIsNotStored) {
  for (const auto& operation : all_operations(4096, 0)) {
    if (operation.in_place || !reduces(operation.collective)) continue;
    const auto elements = shape_of(operation, 0, 1).receive;
    for (const bool pipelined : {false, true}) {
      EXPECT_EQ(wrong_after(-1, operation, pipelined), 0U) << show(operation);
      EXPECT_EQ(wrong_after(3, operation, pipelined), elements) << show(operation);
    }
    CopyBackend backend(0);
    EXPECT_EQ(verify_once(backend, operation)->at(0).elements, elements) << show(operation);
  }
}

TEST(MpiModuleTest, IsMissing) {
  const auto job = start_mpi("/nowhere/muster_mpi.so");
  ASSERT_FALSE(job);
  EXPECT_TRUE(job.error().missing);
  EXPECT_THAT(job.error().message, StartsWith("open the MPI module: "));
  EXPECT_THAT(job.error().message, HasSubstr("/nowhere/muster_mpi.so"));
}

TEST(MpiModuleTest, RejectsAnotherLibrary) {
  const auto job = start_mpi("libm.so.6");
  ASSERT_FALSE(job);
  EXPECT_FALSE(job.error().missing);
  EXPECT_EQ(job.error().message, "libm.so.6 belongs to another version of this program");
}

TEST(MpiModuleTest, IsNextToTheProgramsFolder) {
  ::unsetenv("MUSTER_MPI_MODULE");
  EXPECT_THAT(mpi_module_path().string(), HasSubstr("/lib/muster/muster_mpi.so"));
  ::setenv("MUSTER_MPI_MODULE", "/opt/muster_mpi.so", 1);
  EXPECT_EQ(mpi_module_path(), "/opt/muster_mpi.so");
  ::unsetenv("MUSTER_MPI_MODULE");
}

}  // namespace
}  // namespace muster::bench
