// SPDX-License-Identifier: Apache-2.0
// What MPI's codes and texts mean.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::bench::mpi {

// Nothing where the code is that of success; else "MPI_Allreduce: MPI_ERR_COUNT: invalid count".
[[nodiscard]] Result<void> check(int code, std::string_view call);

// The name and version in what MPI_Get_library_version says: "Open MPI 4.1.4".
[[nodiscard]] std::string library_name(std::string_view text);

}  // namespace muster::bench::mpi
