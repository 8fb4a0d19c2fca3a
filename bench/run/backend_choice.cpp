// SPDX-License-Identifier: Apache-2.0
#include "bench/run/backend_choice.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/backends/sim/cluster.hpp"
#include "bench/backends/tcp/mesh.hpp"
#include "bench/launch/random.hpp"
#include "bench/run/meeting.hpp"
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

Result<std::unique_ptr<Backend>> make_sim(const BenchCommand& command) {
  auto cluster = parse_sim(command.sim);
  if (!cluster) return tl::unexpected(cluster.error());
  return make_sim_backend(*std::move(cluster));
}

Result<std::unique_ptr<Backend>> make_tcp(const BackendParts& parts) {
  auto drawn = random_secret();
  if (!drawn) return tl::unexpected(drawn.error());
  auto token = parts.exchange.broadcast(*drawn);
  if (!token) return tl::unexpected(token.error());
  return tcp::make_backend({.rank = parts.rank,
                            .ranks = parts.ranks,
                            .token = *std::move(token),
                            .exchange = parts.exchange});
}

// 1 once NCCL has logged that this rank is there; versions before 2.17 do not.
std::uint64_t has_begun_to_meet() {
  return nccl_log().find("Init START") == std::string::npos ? 0 : 1;
}

Result<std::unique_ptr<Backend>> make_nccl(const BackendParts& parts) {
  return make_nccl_backend(
      {.cuda = parts.command->cuda,
       .nccl = parts.command->nccl,
       .rank = parts.rank,
       .ranks = parts.ranks,
       .local_rank = parts.local_rank,
       .host = parts.host,
       .broadcast =
           [tell = parts.exchange.broadcast, meet = parts.before_meeting](std::string_view text) {
             meet({.started = has_begun_to_meet, .finished = [] { return 0; }, .unit = ""});
             return tell(text);
           },
       // As programs call it. A call that hangs is reported by another thread,
       // and ends with the process.
       .blocking = true,
       .forming_limit = parts.forming_limit,
       .registered = parts.command->registered,
       .diagnose = parts.command->diagnose,
       .bind = parts.command->bind == Bind::gpu,
       .log = true});
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

Result<std::unique_ptr<Backend>> make_backend(const BackendParts& parts) {
  switch (parts.kind) {
    case BackendKind::nccl:
      return make_nccl(parts);
    case BackendKind::mpi:
      return parts.mpi->make_backend(parts.colour);
    case BackendKind::tcp:
      return make_tcp(parts);
    case BackendKind::sim:
    case BackendKind::automatic:
      break;
  }
  return make_sim(*parts.command);
}

}  // namespace muster::bench
