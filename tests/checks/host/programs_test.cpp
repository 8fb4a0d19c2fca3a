// SPDX-License-Identifier: Apache-2.0
// host.programs judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_programs_test {
namespace {

using ::testing::ElementsAre;

Findings judge(std::vector<FileFact> files, ProgramLimits limits) {
  return ask(checks::host_programs::check,
             {.environment = observed(Environment{.files = std::move(files)})},
             {.host = HostLimits{.programs = std::move(limits)}});
}

Finding warning(std::string path, std::string message, std::string seen, std::string limit) {
  return {.device = std::move(path),
          .outcome = Outcome::warn,
          .message = std::move(message),
          .observed = std::move(seen),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

TEST(HostProgramsTest, PassesWithEverythingInPlace) {
  EXPECT_THAT(
      judge({{.path = "/usr/bin/enroot", .exists = true, .executable = true},
             {.path = "/etc/topo.xml", .exists = true}},
            {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "1 program and 1 file in place"}));
}

TEST(HostProgramsTest, WarnsOfWhatDoesNotExist) {
  EXPECT_THAT(
      judge({{.path = "/usr/bin/enroot"}, {.path = "/etc/topo.xml"}},
            {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
      ElementsAre(
          warning("/usr/bin/enroot", "/usr/bin/enroot does not exist", "missing", "executable"),
          warning("/etc/topo.xml", "/etc/topo.xml does not exist", "missing", "present")));
}

TEST(HostProgramsTest, WarnsOfAProgramThatCannotBeExecuted) {
  EXPECT_THAT(
      judge({{.path = "/usr/bin/enroot", .exists = true}}, {.executable = {"/usr/bin/enroot"}}),
      ElementsAre(warning("/usr/bin/enroot",
                          "/usr/bin/enroot is not a program that can be executed", "not executable",
                          "executable")));
}

TEST(HostProgramsTest, IsUndecidedAboutWhatNobodyLookedFor) {
  EXPECT_THAT(judge({}, {.present = {"/etc/topo.xml"}}),
              ElementsAre(Finding{
                  .device = "/etc/topo.xml",
                  .outcome = Outcome::unknown,
                  .message = "whether /etc/topo.xml exists is not known: the snapshot was taken "
                             "without looking for it"}));
}

TEST(HostProgramsTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({}, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "no programs or files expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_programs_test
