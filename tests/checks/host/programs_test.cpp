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

Expected warning(std::string path, std::string seen, std::string limit) {
  return {.device = std::move(path),
          .outcome = Outcome::warn,
          .observed = std::move(seen),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

TEST(HostProgramsTest, PassesWithEverythingInPlace) {
  EXPECT_THAT(judge({{.path = "/usr/bin/enroot", .exists = true, .executable = true},
                     {.path = "/etc/topo.xml", .exists = true}},
                    {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
              ElementsAre(passes()));
}

TEST(HostProgramsTest, WarnsAboutMissingFiles) {
  EXPECT_THAT(judge({{.path = "/usr/bin/enroot"}, {.path = "/etc/topo.xml"}},
                    {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
              ElementsAre(warning("/usr/bin/enroot", "missing", "executable"),
                          warning("/etc/topo.xml", "missing", "present")));
}

TEST(HostProgramsTest, WarnsOfAProgramThatCannotBeExecuted) {
  EXPECT_THAT(
      judge({{.path = "/usr/bin/enroot", .exists = true}}, {.executable = {"/usr/bin/enroot"}}),
      ElementsAre(warning("/usr/bin/enroot", "not executable", "executable")));
}

TEST(HostProgramsTest, IsUnknownForFilesMissingFromTheSnapshot) {
  EXPECT_THAT(judge({}, {.present = {"/etc/topo.xml"}}), ElementsAre(unknown("/etc/topo.xml")));
}

TEST(HostProgramsTest, IsSkippedWithoutLimits) { EXPECT_THAT(judge({}, {}), ElementsAre(skips())); }

}  // namespace
}  // namespace muster::host_programs_test
