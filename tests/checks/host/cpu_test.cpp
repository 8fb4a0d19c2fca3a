// SPDX-License-Identifier: Apache-2.0
// host.cpu judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_cpu_test {
namespace {

using ::testing::ElementsAre;

const Cpu kHealthy{.sockets = 2U,
                   .cores = 96U,
                   .threads = 96U,
                   .offline = std::string(),
                   .numa_nodes = std::vector<NumaNode>{{.id = 0, .cpus = std::string("0-47")},
                                                       {.id = 1, .cpus = std::string("48-95")}}};
const Profile kExpected{
    .host = HostLimits{.cpu = {.sockets = 2, .cores = 96, .threads = 96, .numa_nodes = 2}}};

Findings judge(Cpu cpu, const Profile& profile = kExpected) {
  return ask(checks::host_cpu::check, {.cpu = observed(std::move(cpu))}, profile);
}

TEST(HostCpuTest, PassesWithTheExpectedCounts) {
  EXPECT_THAT(judge(kHealthy), ElementsAre(passes()));
}

TEST(HostCpuTest, ReportsAllWrongCountsInOneFinding) {
  Cpu cpu = kHealthy;
  cpu.cores = 95U;
  cpu.threads = 95U;
  cpu.offline = std::string("7");
  EXPECT_THAT(judge(cpu), ElementsAre(fails("node", Remedy::reseat_or_replace,
                                            {std::int64_t{95}, std::int64_t{96}, "cores"})));
}

TEST(HostCpuTest, AsksTheProviderForLostCoresOfAVirtualMachine) {
  Cpu cpu = kHealthy;
  cpu.sockets = 1U;
  const Snapshot snapshot{.identity = observed(Identity{.hypervisor = true}), .cpu = observed(cpu)};
  EXPECT_THAT(ask(checks::host_cpu::check, snapshot, kExpected),
              ElementsAre(fails("node", Remedy::report_to_provider,
                                {std::int64_t{1}, std::int64_t{2}, "sockets"})));
}

TEST(HostCpuTest, LeavesOutNumaNodesOfMemoryOnly) {
  Cpu cpu = kHealthy;
  cpu.numa_nodes->push_back({.id = 2, .cpus = std::string()});
  EXPECT_THAT(judge(cpu), ElementsAre(passes()));
}

TEST(HostCpuTest, FailsAnOfflineCoreWithoutAnyLimit) {
  const Cpu cpu{.cores = 7U, .threads = 14U, .offline = std::string("3,11")};
  EXPECT_THAT(judge(cpu, {}), ElementsAre(fails("node", Remedy::reboot,
                                                {std::int64_t{2}, std::int64_t{0}, "CPUs"})));
}

TEST(HostCpuTest, OnlyWarnsOfOfflineThreadsThatLookLikeSmtSwitchedOff) {
  const Cpu cpu{.cores = 8U, .threads = 8U, .offline = std::string("8-15")};
  EXPECT_THAT(judge(cpu, {}), ElementsAre(warns("node", Remedy::fix_config,
                                                {std::int64_t{8}, std::int64_t{0}, "CPUs"})));
}

TEST(HostCpuTest, AcceptsOfflineThreadsWhereTheExpectedNumberIsOnline) {
  const Cpu cpu{.cores = 8U, .threads = 8U, .offline = std::string("8-15")};
  EXPECT_THAT(judge(cpu, {.host = HostLimits{.cpu = {.threads = 8}}}), ElementsAre(passes()));
}

TEST(HostCpuTest, IsUndecidedWhereExpectedCountsCouldNotBeRead) {
  Cpu cpu = kHealthy;
  cpu.sockets = Fact<unsigned>::unreadable("read topology: Input/output error");
  cpu.numa_nodes = Fact<std::vector<NumaNode>>::absent("no node directory");
  EXPECT_THAT(judge(cpu), ElementsAre(unknown(), unknown()));
}

TEST(HostCpuTest, IsUndecidedWhereTheListOfOfflineCpusIsGarbled) {
  Cpu cpu = kHealthy;
  cpu.offline = Fact<std::string>::unreadable("offline: not a list");
  EXPECT_THAT(judge(cpu), ElementsAre(unknown()));
}

}  // namespace
}  // namespace muster::host_cpu_test
