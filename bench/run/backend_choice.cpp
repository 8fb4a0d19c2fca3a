// SPDX-License-Identifier: Apache-2.0
#include "bench/run/backend_choice.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "bench/backends/mpi_module.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "lib/base/host_name.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {
namespace {

// The module may be there and the MPI library not: it is opened. Empty where MPI can be used.
std::string why_not_mpi(const Place& place) {
  if (!place.mpi) return ", and no MPI launcher";
  const auto module = open_mpi_module(mpi_module_path());
  return module ? "" : fmt::format(", and no MPI: {}", module.error().message);
}

}  // namespace

std::string_view to_string(BackendKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"auto", "nccl", "mpi", "tcp", "sim"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Attempt<BackendKind> pick_backend(const BenchCommand& command,
                                  const Place& place,
                                  const Profile& profile,
                                  std::vector<std::string>& evidence) {
  if (command.backend != BackendKind::automatic) return command.backend;
  const auto gpus = usable_gpus(command.cuda);
  if (gpus && *gpus > 0) {
    evidence.push_back(fmt::format("back end nccl: CUDA can use {} GPUs", *gpus));
    return BackendKind::nccl;
  }
  const auto why = gpus ? std::string("CUDA finds none") : gpus.error().message;
  const bool expected = expects_gpus(profile);
  if (expected || !(gpus || gpus.error().missing)) {
    const auto where = expected ? fmt::format(", where profile {} expects {}",
                                              profile.name,
                                              profile.gpu->present.count.value_or(0))
                                : std::string();
    return tl::unexpected<Failure>(
        Failure{.status = kExitUndecided,
                .message = fmt::format("no GPU can be used on {}{}: {} (--backend mpi or tcp would "
                                       "measure host memory)",
                                       host_name(),
                                       where,
                                       why)});
  }
  const auto instead = why_not_mpi(place);
  evidence.push_back(
      fmt::format("back end {}: no GPU ({}){}", instead.empty() ? "mpi" : "tcp", why, instead));
  return instead.empty() ? BackendKind::mpi : BackendKind::tcp;
}

}  // namespace muster::bench
