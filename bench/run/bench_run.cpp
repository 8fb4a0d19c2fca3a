// SPDX-License-Identifier: Apache-2.0
#include "bench/run/bench_run.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "bench/backends/nccl/nccl.hpp"
#include "bench/launch/local.hpp"
#include "bench/run/rank.hpp"

namespace muster::bench {
namespace {

// How many ranks this process is to become, where its launcher leaves that to it.
int local_ranks(const BenchCommand& command, const Place& place) {
  if (command.local) return *command.local;
  const bool on_gpus =
      command.backend == BackendKind::automatic || command.backend == BackendKind::nccl;
  const bool one_per_node = place.launcher == Launcher::alone ||
                            (place.launcher == Launcher::torchrun && !place.local_rank) ||
                            place.launcher == Launcher::tf_config;
  if (!on_gpus || !one_per_node) return 1;
  return usable_gpus(command.cuda).value_or(1);
}

}  // namespace

int run(const BenchCommand& command, const RunInput& input, const Work& work) {
  if (command.backend == BackendKind::sim) return run_rank(command, input, {}, work);
  auto place = find_place(input.variables, command.launch);
  if (!place) {
    input.console.note(fmt::format("muster-bench: {}", place.error().message));
    return kExitConfiguration;
  }
  const int count = local_ranks(command, *place);
  if (count <= 1) return run_rank(command, input, {.place = *place}, work);
  if (const auto may = may_become(*place, count); !may) {
    input.console.note(fmt::format("muster-bench: {}", may.error().message));
    return kExitConfiguration;
  }
  auto forked = fork_local_ranks(*place, {.count = count});
  if (!forked) {
    input.console.note(fmt::format("muster-bench: {}", forked.error().message));
    return kExitUndecided;
  }
  if (auto* rank = std::get_if<LocalRank>(&*forked)) {
    return run_rank(command, input, std::move(*rank), work);
  }
  const auto& end = std::get<LocalEnd>(*forked);
  for (const auto& note : end.notes) input.console.note(fmt::format("muster-bench: {}", note));
  return end.status;
}

}  // namespace muster::bench
