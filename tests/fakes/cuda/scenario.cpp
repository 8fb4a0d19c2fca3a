// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/cuda/scenario.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace muster::fakes::gpu {
namespace {

using Json = nlohmann::json;

When when_of(const Json& json) {
  When when{.rank = json.at("rank").get<int>(), .operation = {}};
  if (json.contains("operation")) when.operation = json.at("operation").get<std::uint64_t>();
  return when;
}

template <class T>
void take(const Json& json, const char* key, T& value) {
  if (json.contains(key)) value = json.at(key).get<T>();
}

// "1-4".
std::pair<int, int> pair_of(const std::string& text) {
  const auto dash = text.find('-');
  return {std::stoi(text.substr(0, dash)), std::stoi(text.substr(dash + 1))};
}

void take_faults(const Json& json, Scenario& scenario) {
  if (json.contains("slow")) {
    const auto& slow = json.at("slow");
    scenario.slow = Slow{.when = when_of(slow), .us = slow.at("us").get<double>()};
  }
  if (json.contains("wrong")) {
    const auto& wrong = json.at("wrong");
    scenario.wrong = Wrong{.when = when_of(wrong), .index = wrong.at("index").get<std::uint64_t>()};
  }
  if (json.contains("hang")) scenario.hang = when_of(json.at("hang"));
  if (json.contains("dies")) scenario.dies = json.at("dies").get<int>();
  if (json.contains("apart")) {
    scenario.apart = pair_of(json.at("apart").get<std::string>());
  }
  if (json.contains("hang_between")) {
    scenario.hang_between = pair_of(json.at("hang_between").get<std::string>());
  }
  if (json.contains("slow_part")) {
    const auto& part = json.at("slow_part");
    auto& slow = scenario.slow_part.emplace();
    take(part, "of", slow.of);
    take(part, "host", slow.host);
    take(part, "gpu", slow.gpu);
    take(part, "share", slow.share);
  }
  if (json.contains("absent")) scenario.absent = json.at("absent").get<int>();
  if (json.contains("async_error")) {
    const auto& error = json.at("async_error");
    scenario.async_error = AsyncError{.when = when_of(error), .code = 6, .text = {}};
    take(error, "code", scenario.async_error->code);
    take(error, "text", scenario.async_error->text);
  }
}

void take_of(const Json& json, const char* key, std::map<int, double>& values) {
  if (!json.contains(key)) return;
  for (const auto& [gpu, value] : json.at(key).items()) values[std::stoi(gpu)] = value;
}

Flip flip_of(const Json& json) {
  Flip flip;
  take(json, "gpu", flip.gpu);
  take(json, "product", flip.product);
  take(json, "index", flip.index);
  take(json, "bit", flip.bit);
  return flip;
}

void take_node(const Json& json, NodeHardware& node) {
  take(json, "pcie_gbs", node.pcie_gbs);
  take(json, "peer_gbs", node.peer_gbs);
  take(json, "memory_gbs", node.memory_gbs);
  take(json, "tflops", node.tflops);
  if (json.contains("gemm")) {
    for (const auto& [type, value] : json.at("gemm").items()) node.gemm[type] = value;
  }
  take_of(json, "gemm_share", node.gemm_of);
  if (json.contains("gemm_flip")) node.gemm_flip = flip_of(json.at("gemm_flip"));
  take_of(json, "pcie", node.pcie_of);
  take_of(json, "memory", node.memory_of);
  if (json.contains("peer")) {
    for (const auto& [pair, value] : json.at("peer").items()) node.peer_of[pair_of(pair)] = value;
  }
  if (json.contains("throttle")) {
    auto& throttle = node.throttle.emplace();
    take(json.at("throttle"), "gpu", throttle.gpu);
    take(json.at("throttle"), "after_s", throttle.after_s);
    take(json.at("throttle"), "share", throttle.share);
  }
  if (json.contains("flip")) node.flip = flip_of(json.at("flip"));
  if (json.contains("stuck")) node.stuck = flip_of(json.at("stuck"));
  if (json.contains("spoilt_copy")) node.spoilt_copy = json.at("spoilt_copy").get<int>();
  if (json.contains("spoilt_pair")) {
    node.spoilt_pair = pair_of(json.at("spoilt_pair").get<std::string>());
  }
  if (json.contains("lost_copy")) node.lost_copy = json.at("lost_copy").get<int>();
  if (json.contains("lost_pair")) {
    node.lost_pair = pair_of(json.at("lost_pair").get<std::string>());
  }
}

Scenario scenario_of(const Json& json) {
  Scenario scenario;
  take(json, "gpus", scenario.gpus);
  if (json.contains("memory_gib")) {
    scenario.memory = json.at("memory_gib").get<std::uint64_t>() << 30U;
  }
  take(json, "name", scenario.model);
  take(json, "hosts", scenario.hosts);
  take(json, "busbw", scenario.busbw_gbs);
  take(json, "latency_us", scenario.latency_us);
  take(json, "answers", scenario.answers);
  take(json, "network", scenario.network);
  take(json, "cause", scenario.cause);
  take(json, "warning", scenario.warning);
  take(json, "diagnosis", scenario.diagnosis);
  take(json, "inside", scenario.inside);
  take(json, "log", scenario.log);
  take(json, "cuda_version", scenario.cuda_version);
  take(json, "nccl_version", scenario.nccl_version);
  take(json, "abort_hangs", scenario.abort_hangs);
  take_faults(json, scenario);
  if (json.contains("node")) take_node(json.at("node"), scenario.node);
  return scenario;
}

}  // namespace

int Scenario::host_of(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  if (index < hosts.size()) return hosts[index];
  return gpus > 0 ? rank / gpus : 0;
}

double Scenario::busbw_of(std::string_view collective) const {
  for (const auto& name : {std::string(collective), std::string("*")}) {
    const auto found = busbw_gbs.find(name);
    if (found != busbw_gbs.end()) return found->second;
  }
  return 100;
}

Result<Scenario> parse_scenario(std::string_view json) {
  try {
    return scenario_of(Json::parse(json));
  } catch (const Json::exception& error) {
    return make_error(fmt::format("MUSTER_FAKE_GPU: {}", error.what()));
  }
}

}  // namespace muster::fakes::gpu
