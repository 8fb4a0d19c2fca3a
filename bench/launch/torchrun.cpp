// SPDX-License-Identifier: Apache-2.0
// torchrun, and jobs that set the same variables: Azure ML's PyTorch jobs, and Kubernetes'
// PyTorchJob, in which a rank is a pod.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/launch/detection.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr SizeNames kTorchrunNames{.rank = "RANK",
                                   .world = "WORLD_SIZE",
                                   .local_rank = "LOCAL_RANK",
                                   .local_world = "LOCAL_WORLD_SIZE"};

// torchrun's own store listens on MASTER_PORT already.
bool agent_has_port(const Environment& environment) {
  constexpr std::array<std::string_view, 3> kYes{"True", "true", "1"};
  return std::ranges::find(kYes, environment.text("TORCHELASTIC_USE_AGENT_STORE")) != kYes.end();
}

Result<void> add_rendezvous(const Environment& environment, std::uint16_t offset, Place& place) {
  constexpr std::uint16_t kTorchPort = 29500;
  TRY_ASSIGN(const auto master_port, environment.port("MASTER_PORT", kTorchPort));
  const bool taken = agent_has_port(environment);
  const auto port = taken ? shifted_port(master_port, offset) : master_port;
  place.rendezvous = Rendezvous{.host = std::string(environment.text("MASTER_ADDR")), .port = port};
  place.evidence.push_back(
      fmt::format("rank 0 listens on {} port {}: MASTER_ADDR and {}{}",
                  printable(place.rendezvous->host, 100), port,
                  environment.has("MASTER_PORT") ? "MASTER_PORT"
                                                 : "PyTorch's own port, as MASTER_PORT is unset",
                  taken ? fmt::format(" {} moved by {}, as torchrun's own store has that port",
                                      master_port, offset)
                        : ""));
  return {};
}

Result<Place> read_torchrun_place(const Environment& environment, const LaunchFlags& flags) {
  auto place = read_place(environment, kTorchrunNames);
  if (!place) return place;
  place->launcher = Launcher::torchrun;
  place->evidence.push_back(fmt::format("started as by torchrun: {} of {}",
                                        setting(environment, "RANK"),
                                        setting(environment, "WORLD_SIZE")));
  if (!place->local_rank) {
    place->evidence.emplace_back(
        "LOCAL_RANK is not set: this may be the only process of a pod or node");
  }
  // Azure ML's. torchrun renumbers the nodes, so it need not match the ranks.
  if (environment.has("NODE_RANK")) {
    place->evidence.push_back(
        fmt::format("the job's own number of this node: {}", setting(environment, "NODE_RANK")));
  }
  if (environment.has("MASTER_ADDR")) {
    TRY(add_rendezvous(environment, flags.port_offset, *place));
  }
  return place;
}

}  // namespace

Detection detect_torchrun(const Environment& environment, const LaunchFlags& flags) {
  Detection result{.launcher = Launcher::torchrun,
                   .missing = environment.missing({"RANK", "WORLD_SIZE", "MASTER_ADDR"})};
  if (flags.rendezvous) std::erase(result.missing, "MASTER_ADDR");
  for (const std::string_view name : {"RANK", "WORLD_SIZE"}) {
    if (!environment.has(name)) continue;
    result.seen.append(result.seen.empty() ? "" : " of ").append(setting(environment, name));
  }
  if (!result.seen.empty() && result.missing.empty()) {
    result.place = read_torchrun_place(environment, flags);
  }
  return result;
}

}  // namespace muster::bench
