// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/mpi/backend.hpp"

#include <gtest/gtest.h>

namespace muster::bench::mpi {
namespace {

TEST(MpiErrorsTest, ShortensTheNamesOfLibraries) {
  EXPECT_EQ(library_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1"),
            "Open MPI 4.1.4");
  EXPECT_EQ(library_name("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7"),
            "MPICH 4.0.2");
  EXPECT_EQ(library_name("Intel(R) MPI Library 2021.5 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.5 for Linux* OS");
  EXPECT_EQ(library_name(""), "");
}

}  // namespace
}  // namespace muster::bench::mpi
