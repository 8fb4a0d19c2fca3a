// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(SlurmConfigTest, ReadsWhatScontrolShows) {
  EXPECT_THAT(parse_config("Configuration data as of 2026-11-23T19:00:00\n"
                           "Epilog                  = (null)\n"
                           "Prolog                  = /etc/slurm/prolog\n"
                           "SLURM_VERSION           = 22.05.8\n"),
              ElementsAre(Pair("Epilog", ""), Pair("Prolog", "/etc/slurm/prolog"),
                          Pair("SLURM_VERSION", "22.05.8")));
}

// Slurm may have several prologs from 24.05 on, and then numbers them.
TEST(SlurmConfigTest, NumberedEntriesAreOne) {
  EXPECT_THAT(
      parse_config("Epilog[0]               = /e\n"
                   "Prolog[0]               = /etc/slurm/prolog\n"
                   "Prolog[1]               = /opt/prologs/*\n"),
      ElementsAre(Pair("Epilog", "/e"), Pair("Prolog", "/etc/slurm/prolog,/opt/prologs/*")));
}

}  // namespace
}  // namespace muster::slurm
