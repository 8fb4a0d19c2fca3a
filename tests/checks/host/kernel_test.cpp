// SPDX-License-Identifier: Apache-2.0
// The kernel, its settings, modules and limits, and the clock judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_kernel_test {
namespace {

namespace host_kernel {

Findings judge(std::string command_line, KernelLimits limits) {
  return ask(checks::host_kernel::check,
             {.kernel = observed(Kernel{.release = std::string("6.8.0-1015-azure"),
                                        .command_line = std::move(command_line)})},
             {.host = HostLimits{.kernel = std::move(limits)}});
}

TEST(HostKernelTest, JudgesEachCase) {
  expect_each({
      {"passes with the expected release and parameters",
       judge("root=/dev/sda1 iommu=pt",
             {.release = "6.8.*", .required = {"iommu=pt"}, .forbidden = {"nosmt"}}),
       {passes()}},
      {"warns of another release",
       judge("", {.release = "5.15.*"}),
       {warns("node", Remedy::fix_config, {"6.8.0-1015-azure", "5.15.*"})}},
      {"warns of a missing parameter by name",
       judge("iommu=ptx quiet", {.required = {"quiet", "iommu=pt"}}),
       {warns("iommu=pt", Remedy::fix_config, {{}, "iommu=pt"})}},
      {"warns of a forbidden parameter with its value",
       judge("quiet mitigations=off", {.forbidden = {"mitigations=*"}}),
       {warns("mitigations=*", Remedy::fix_config, {"mitigations=off"})}},
      {"keeps quoted parameters together",
       judge(R"(dyndbg="file a.c +p" quiet)",
             {.required = {"dyndbg=file a.c +p", "quiet"}, .forbidden = {"+p"}}),
       {passes()}},
      {"takes dashes and underscores of names as the same",
       judge("transparent-hugepage=a-b",
             {.required = {"transparent_hugepage=a-b"}, .forbidden = {"transparent_hugepage=a_b"}}),
       {passes()}},
      {"ignores parameters for init",
       judge("quiet -- iommu=pt", {.forbidden = {"iommu=pt"}}),
       {passes()}},
  });
}

TEST(HostKernelTest, IsUnknownIfTheFactsCouldNotBeRead) {
  const Snapshot snapshot{.kernel =
                              observed(Kernel{.release = make_error("osrelease: empty"),
                                              .command_line = make_error("cmdline: too large")})};
  EXPECT_THAT(ask(checks::host_kernel::check, snapshot,
                  {.host = HostLimits{.kernel = {.release = "6.*", .required = {"quiet"}}}}),
              ElementsAre(unknown(), unknown()));
}

}  // namespace host_kernel

namespace host_sysctl {

Findings judge(Kernel kernel, SysctlLimits limits) {
  return ask(checks::host_sysctl::check, {.kernel = observed(std::move(kernel))},
             {.host = HostLimits{.sysctl = std::move(limits)}});
}

TEST(HostSysctlTest, JudgesEachCase) {
  expect_each({
      {"passes with the expected values",
       judge({.sysctl = {{"kernel.numa_balancing", std::string("0")}},
              .transparent_hugepage = std::string("madvise")},
             {.values = {{"kernel.numa_balancing", "0"}},
              .transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
       {passes()}},
      {"accepts every alternative",
       judge({.sysctl = {{"vm.overcommit_memory", std::string("1")}}},
             {.values = {{"vm.overcommit_memory", "0 | 1"}}}),
       {passes()}},
      {"compares numbers with any separator",
       judge({.sysctl = {{"net.ipv4.tcp_rmem", std::string("4096\t87380\t6291456")}}},
             {.values = {{"net.ipv4.tcp_rmem", "4096 87380 6291456"}}}),
       {passes()}},
      {"warns of another mode of transparent huge pages",
       judge({.transparent_hugepage = std::string("never")},
             {.transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
       {warns("transparent_hugepage", Remedy::fix_config, {"never", "always|madvise"})}},
      {"skips a key that this kernel does not have",
       judge({.sysctl = {{"kernel.numa_balancing", make_missing("no such file")},
                         {"vm.zone_reclaim_mode", std::string("0")}}},
             {.values = {{"kernel.numa_balancing", "0"}, {"vm.zone_reclaim_mode", "0"}}}),
       {skips("kernel.numa_balancing"), passes()}},
      {"skips if the kernel has none of the keys",
       judge({.transparent_hugepage = make_missing("no such file")},
             {.transparent_hugepage = {HugePageMode::never}}),
       {skips("transparent_hugepage")}},
      {"is unknown if a value could not be read or was not looked for",
       judge({.sysctl = {{"a.b", make_error("read a/b: Permission denied")}}},
             {.values = {{"a.b", "0"}, {"c.d", "0"}}}),
       {unknown("a.b"), unknown("c.d")}},
  });
}

}  // namespace host_sysctl

namespace host_modules {

Findings judge(Fact<std::vector<std::string>> modules, ModuleLimits limits) {
  return ask(checks::host_modules::check,
             {.kernel = observed(Kernel{.modules = std::move(modules)})},
             {.host = HostLimits{.modules = std::move(limits)}});
}

const std::vector<std::string> kLoaded{"mlx5_ib", "nv_peer_mem", "nouveau"};

TEST(HostModulesTest, WarnsOfAForbiddenOneThatAnyUserCanHaveLoaded) {
  const std::vector<std::string> loaded{"sctp", "can_raw", "cannery"};
  EXPECT_THAT(judge(loaded, {.forbidden = {"sctp"}}),
              ElementsAre(warns("sctp", Remedy::fix_config, {true, false})));
  EXPECT_EQ(judge(loaded, {.forbidden = {"can-raw"}}).front().outcome, Outcome::warn);
  EXPECT_EQ(judge(loaded, {.forbidden = {"cannery"}}).front().outcome, Outcome::fail);
}

TEST(HostModulesTest, JudgesEachCase) {
  expect_each({
      {"passes with any alternative",
       judge(kLoaded, {.required = {"mlx5_ib", "nvidia_peermem|nv_peer_mem"}}),
       {passes()}},
      {"takes dashes and underscores as the same",
       judge(kLoaded, {.required = {"mlx5-ib"}}),
       {passes()}},
      {"fails a missing module with its alternatives",
       judge(kLoaded, {.required = {"ib_umad", "gdrdrv|nvidia_peermem"}}),
       {fails("ib_umad", Remedy::fix_config, {false, true}),
        fails("gdrdrv|nvidia_peermem", Remedy::fix_config, {false, true})}},
      {"fails a forbidden module",
       judge(kLoaded, {.forbidden = {"nouveau"}}),
       {fails("nouveau", Remedy::fix_config, {true, false})}},
      {"is unknown without the list",
       judge(make_error("list sys/module: Permission denied"), {.required = {"mlx5_ib"}}),
       {unknown()}},
  });
}

}  // namespace host_modules

namespace host_limits {

const Profile kBoth{.host =
                        HostLimits{.limits = {.memlock_unlimited = true, .open_files_min = 65536}}};

Findings judge(Fact<std::string> memlock, Fact<std::string> files, const Profile& profile = kBoth,
               std::string_view process = "slurmd (1234)") {
  return ask(checks::host_limits::check,
             {.kernel = observed(Kernel{.limits = {.process = std::string(process),
                                                   .memlock_bytes = std::move(memlock),
                                                   .open_files = std::move(files)}})},
             profile);
}

TEST(HostLimitsTest, JudgesEachCase) {
  expect_each({
      {"passes with unlimited memory and enough files",
       judge(std::string("unlimited"), std::string("65536")),
       {passes()}},
      {"passes with unlimited files",
       judge(std::string("unlimited"), std::string("unlimited")),
       {passes()}},
      {"only warns if nothing starts jobs and the limits are its own",
       judge(std::string("8388608"), std::string("1024"), kBoth, kOwnLimits),
       {warns("locked memory", Remedy::fix_config, {std::int64_t{8388608}, "unlimited", "B"}),
        warns("open files", Remedy::fix_config,
              {std::int64_t{1024}, std::int64_t{65536}, "files"})}},
      {"ignores facts without a limit",
       judge(std::string("65536"), std::string("4096"),
             {.host = HostLimits{.limits = {.open_files_min = 1024}}}),
       {passes()}},
      {"is unknown if a limit could not be read or understood",
       judge(make_missing("no /proc/1234/limits"), std::string("many")),
       {unknown("locked memory"), unknown("open files")}},
  });
}

TEST(HostLimitsTest, IsSkippedBelowAForeignRootThatHasNoSuchProcess) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel =
          observed(Kernel{.limits = {.memlock_bytes = make_missing("no slurmd below the root")}})};
  EXPECT_THAT(ask(checks::host_limits::check, snapshot,
                  {.host = HostLimits{.limits = {.memlock_unlimited = true}}}),
              ElementsAre(skips("locked memory")));
}

}  // namespace host_limits

namespace host_clock {

const Profile kAll{
    .host = HostLimits{.clock = {.synchronised = true,
                                 .error_warn_above = Seconds{0.1},
                                 .clocksource = {"tsc", "hyperv_clocksource_tsc_page"}}}};

Findings judge(Fact<TimeSync> clock, Fact<std::string> source, const Profile& profile = kAll) {
  return ask(
      checks::host_clock::check,
      {.kernel = observed(Kernel{.clock = std::move(clock), .clocksource = std::move(source)})},
      profile);
}

TEST(HostClockTest, JudgesEachCase) {
  expect_each({
      {"warns once of a clock that nothing keeps right",
       judge(TimeSync{.synchronised = false, .estimated_error_s = 16}, std::string("tsc")),
       {warns("clock", Remedy::restart_service, {false, true})}},
      {"warns of a large error",
       judge(TimeSync{.synchronised = true, .estimated_error_s = 0.25}, std::string("tsc")),
       {warns("clock", Remedy::restart_service, {0.25, 0.1, "s"})}},
      {"is unknown without facts of the kernel",
       judge(make_error("adjtimex: Operation not permitted"), make_missing("no clocksource0")),
       {unknown("clock"), unknown("clocksource")}},
  });
}

TEST(HostClockTest, SkipsTheStateOfTheClockBelowAForeignRoot) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel =
          observed(Kernel{.clock = make_missing("adjtimex cannot be asked below a foreign root"),
                          .clocksource = std::string("tsc")})};
  EXPECT_THAT(ask(checks::host_clock::check, snapshot, kAll), ElementsAre(skips("clock")));
}

}  // namespace host_clock

}  // namespace
}  // namespace muster::host_kernel_test
