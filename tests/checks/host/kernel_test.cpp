// SPDX-License-Identifier: Apache-2.0
// host.kernel judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_kernel_test {
namespace {

using ::testing::ElementsAre;

Findings judge(std::string command_line, KernelLimits limits) {
  return ask(checks::host_kernel::check,
             {.kernel = observed(Kernel{.release = std::string("6.8.0-1015-azure"),
                                        .command_line = std::move(command_line)})},
             {.host = HostLimits{.kernel = std::move(limits)}});
}

const Expected kPass{.device = "node", .outcome = Outcome::pass};

TEST(HostKernelTest, PassesWithTheExpectedReleaseAndParameters) {
  EXPECT_THAT(judge("root=/dev/sda1 iommu=pt",
                    {.release = "6.8.*", .required = {"iommu=pt"}, .forbidden = {"nosmt"}}),
              ElementsAre(kPass));
}

TEST(HostKernelTest, WarnsOfAnotherRelease) {
  EXPECT_THAT(judge("", {.release = "5.15.*"}),
              ElementsAre(warns("node", Remedy::fix_config, {"6.8.0-1015-azure", "5.15.*"})));
}

TEST(HostKernelTest, WarnsOfAMissingParameterByName) {
  EXPECT_THAT(judge("iommu=ptx quiet", {.required = {"quiet", "iommu=pt"}}),
              ElementsAre(warns("iommu=pt", Remedy::fix_config, {{}, "iommu=pt"})));
}

TEST(HostKernelTest, WarnsOfAForbiddenParameterWithItsValue) {
  EXPECT_THAT(judge("quiet mitigations=off", {.forbidden = {"mitigations=*"}}),
              ElementsAre(warns("mitigations=*", Remedy::fix_config, {"mitigations=off"})));
}

TEST(HostKernelTest, KeepsQuotedParametersTogether) {
  EXPECT_THAT(judge(R"(dyndbg="file a.c +p" quiet)",
                    {.required = {"dyndbg=file a.c +p", "quiet"}, .forbidden = {"+p"}}),
              ElementsAre(kPass));
}

TEST(HostKernelTest, TakesDashesAndUnderscoresOfNamesAsTheSame) {
  EXPECT_THAT(judge("transparent-hugepage=a-b", {.required = {"transparent_hugepage=a-b"},
                                                 .forbidden = {"transparent_hugepage=a_b"}}),
              ElementsAre(kPass));
}

TEST(HostKernelTest, IgnoresParametersForInit) {
  EXPECT_THAT(judge("quiet -- iommu=pt", {.forbidden = {"iommu=pt"}}), ElementsAre(kPass));
}

TEST(HostKernelTest, IsUndecidedWhereTheFactsCouldNotBeRead) {
  const Snapshot snapshot{
      .kernel =
          observed(Kernel{.release = Fact<std::string>::unreadable("osrelease: empty"),
                          .command_line = Fact<std::string>::unreadable("cmdline: too large")})};
  EXPECT_THAT(ask(checks::host_kernel::check, snapshot,
                  {.host = HostLimits{.kernel = {.release = "6.*", .required = {"quiet"}}}}),
              ElementsAre(unknown(), unknown()));
}

TEST(HostKernelTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge("quiet", {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_kernel_test
