// SPDX-License-Identifier: Apache-2.0
#include "checks/names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lib/profile/limits/host.hpp"

namespace muster::names_test {
namespace {

// The error about a profile whose prolog is `context`; empty if there is none.
std::string trouble_with(const Context& context) {
  Profile profile;
  profile.contexts["prolog"] = context;
  for (const auto* key : {"run", "skip", "count_unknown"}) {
    profile.origins[std::string("contexts.prolog.") + key] = {.file = "site.yaml", .line = 7};
  }
  const auto checked = check_names(profile);
  return checked ? std::string() : checked.error().message;
}

std::string trouble_with_fatal(const Words& probes) {
  Profile profile;
  profile.muster->probes.fatal = probes;
  const auto checked = check_names(profile);
  return checked ? std::string() : checked.error().message;
}

TEST(NamesTest, ChecksAndGlobsOfChecksAreKnown) {
  EXPECT_EQ(trouble_with({.run = {"*", "ib.*", "host.mounts", "*.present", "ib.st?te"}}), "");
}

TEST(NamesTest, AGlobWithinAGroupMayMatchNothing) {
  EXPECT_EQ(trouble_with({.skip = {"gpu.*", "gpu.ecc_*"}}), "");
}

TEST(NamesTest, AGlobOutsideOfEveryGroupIsASlip) {
  EXPECT_EQ(trouble_with({.run = {"hst.*"}}),
            "site.yaml:7: 'contexts.prolog.run' names unknown check \"hst.*\"");
}

TEST(NamesTest, AMisspelledCheckIsNamedWithItsPlaceAndTheNearest) {
  EXPECT_EQ(trouble_with({.run = {"ib.stat", "host.mounts"}}),
            "site.yaml:7: 'contexts.prolog.run' names unknown check \"ib.stat\"; did you mean "
            "'ib.state'?");
  EXPECT_EQ(trouble_with({.skip = {"host.mount"}}),
            "site.yaml:7: 'contexts.prolog.skip' names unknown check \"host.mount\"; did you mean "
            "'host.mounts'?");
  EXPECT_EQ(trouble_with({.count_unknown = {"pci.device"}}),
            "site.yaml:7: 'contexts.prolog.count_unknown' names unknown check \"pci.device\"; did "
            "you mean 'pci.devices'?");
}

TEST(NamesTest, AProbeIsKnownByItsName) {
  EXPECT_EQ(trouble_with_fatal({"nvml", "mounts", "kernel_log"}), "");
}

TEST(NamesTest, AMisspelledProbeIsNamedWithTheNearest) {
  EXPECT_EQ(trouble_with_fatal({"mount"}),
            "generic: 'muster.probes.fatal' names unknown probe \"mount\"; did you mean 'mounts'?");
}

}  // namespace
}  // namespace muster::names_test
