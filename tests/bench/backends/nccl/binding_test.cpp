// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/binding.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "lib/base/text.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kGpu = "0001:0a:00.0";

// The CPUs of the calling thread.
std::string own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return to_cpu_list(cpus);
}

// The sysfs of a node with these CPUs and one GPU.
class BindingTest : public ::testing::Test {
 protected:
  BindingTest() {
    folder.write("sys/devices/system/cpu/online", own_cpus() + "\n");
    make_local(first);
  }

  void make_local(std::string_view cpus) const {
    folder.write(fmt::format("sys/bus/pci/devices/{}/local_cpulist", kGpu),
                 fmt::format("{}\n", cpus));
  }

  // Runs in a separate process, which prints "SENTENCE|CPUs of the process afterwards".
  [[nodiscard]] std::string bind(const std::function<std::string()>& seen = own_cpus) const {
    return run_alone("{}", [&] {
      const auto sentence = bind_to_gpu(kGpu, Root::below(folder.path()).value());
      return fmt::format("{}|{}", sentence, seen());
    });
  }

  TempDir folder;
  std::vector<unsigned> all = parse_cpu_list(own_cpus()).value();
  std::string first = std::to_string(all.front());
};

TEST_F(BindingTest, BindsARankToTheCpusNearItsGpu) {
  if (all.size() < 2) GTEST_SKIP() << "one CPU alone";
  EXPECT_EQ(
      bind(),
      fmt::format("this rank runs on CPUs {0}, which are local to the GPU at 0001:0a:00.0|{0}",
                  first));
}

TEST_F(BindingTest, BindsExistingThreads) {
  if (all.size() < 2) GTEST_SKIP() << "one CPU alone";
  const auto seen = run_alone("{}", [&] {
    std::atomic<bool> bound{false};
    std::string cpus;
    std::thread helper([&] {
      bound.wait(false);
      cpus = own_cpus();
    });
    (void)bind_to_gpu(kGpu, Root::below(folder.path()).value());
    bound = true;
    bound.notify_all();
    helper.join();
    return cpus;
  });
  EXPECT_EQ(seen, first);
}

TEST_F(BindingTest, LeavesABoundProcessAlone) {
  folder.write("sys/devices/system/cpu/online", "0-95\n");
  if (all.size() >= 96) GTEST_SKIP() << "more CPUs than the node that is written";
  EXPECT_EQ(bind(), fmt::format("this rank is not bound to CPUs: it may run only on {0} of "
                                "0-95|{0}",
                                to_cpu_list(all)));
}

TEST_F(BindingTest, DoesNothingIfAllOrNoneAreLocal) {
  make_local("0-1023");
  EXPECT_THAT(bind(), AllOf(HasSubstr("all are local to"), EndsWith("|" + to_cpu_list(all))));
  make_local(std::to_string(all.back() + 1));
  EXPECT_THAT(bind(), AllOf(HasSubstr("none is local to"), EndsWith("|" + to_cpu_list(all))));
}

TEST_F(BindingTest, ReportsMissingOrMalformedSysfs) {
  make_local("x");
  EXPECT_THAT(bind(), AllOf(StartsWith("this rank is not bound to CPUs: "), HasSubstr("\"x\"")));
  std::filesystem::remove_all(folder.path() / "sys/bus");
  EXPECT_THAT(bind(), AllOf(HasSubstr("0001:0a:00.0/local_cpulist: No such file or directory"),
                            EndsWith("|" + to_cpu_list(all))));
}

// The fake's GPUs are 0001:0a:00.0, 0002:0a:00.0 and so on.
TEST_F(BindingTest, BindsEachRankByItsOwnGpu) {
  if (all.size() < 2) GTEST_SKIP() << "one CPU alone";
  const auto second = std::to_string(all[1]);
  folder.write("sys/bus/pci/devices/0002:0a:00.0/local_cpulist", second + "\n");
  World world{.bind = true, .root = folder.path().string()};
  EXPECT_THAT(run_ranks(world, [](Backend& /*backend*/) { return own_cpus(); }),
              ElementsAre(first, second));
  EXPECT_THAT(run_ranks(world, [](Backend& backend) { return backend.remarks().front(); }),
              Contains(HasSubstr("this rank runs on CPUs ")));
  world.bind = false;
  EXPECT_THAT(run_ranks(world,
                        [](Backend& backend) {
                          return fmt::format("{} {}", own_cpus(), backend.remarks().size());
                        }),
              ElementsAre(to_cpu_list(all) + " 0", to_cpu_list(all) + " 0"));
}

}  // namespace
}  // namespace muster::bench
