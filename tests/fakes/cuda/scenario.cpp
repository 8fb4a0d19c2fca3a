// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/cuda/scenario.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace muster::fakes::gpu {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Throttle, gpu, after_s, share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Flip, gpu, product, index, bit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SlowPart, of, host, gpu, share)

namespace {

using Json = nlohmann::json;

template <class T>
void take(const Json& json, const char* key, T& value) {
  if (json.contains(key)) value = json.at(key).get<T>();
}

template <class T>
void take(const Json& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json.at(key).get<T>();
}

// "1-4".
std::pair<int, int> pair_of(const std::string& text) {
  const auto dash = text.find('-');
  return {std::stoi(text.substr(0, dash)), std::stoi(text.substr(dash + 1))};
}

void take_pair(const Json& json, const char* key, std::optional<std::pair<int, int>>& value) {
  if (json.contains(key)) value = pair_of(json.at(key).get<std::string>());
}

void take_by_gpu(const Json& json, const char* key, std::map<int, double>& values) {
  if (!json.contains(key)) return;
  for (const auto& [gpu, value] : json.at(key).items()) values[std::stoi(gpu)] = value;
}

When when_of(const Json& json) {
  When when{.rank = json.at("rank").get<int>(), .operation = {}};
  take(json, "operation", when.operation);
  return when;
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
  if (json.contains("async_error")) {
    const auto& error = json.at("async_error");
    scenario.async_error = AsyncError{.when = when_of(error), .code = 6, .text = {}};
    take(error, "code", scenario.async_error->code);
    take(error, "text", scenario.async_error->text);
  }
  if (json.contains("lost")) scenario.lost = when_of(json.at("lost"));
  if (json.contains("hang")) scenario.hang = when_of(json.at("hang"));
  take(json, "dies", scenario.dies);
  take_pair(json, "apart", scenario.apart);
  take_pair(json, "hang_between", scenario.hang_between);
  take(json, "slow_part", scenario.slow_part);
  take(json, "absent", scenario.absent);
}

void take_node(const Json& json, NodeHardware& node) {
  take(json, "peer_gbs", node.peer_gbs);
  if (json.contains("gemm")) {
    for (const auto& [type, value] : json.at("gemm").items()) node.gemm[type] = value;
  }
  take_by_gpu(json, "gemm_share", node.gemm_of);
  take_by_gpu(json, "pcie", node.pcie_of);
  take_by_gpu(json, "memory", node.memory_of);
  if (json.contains("peer")) {
    for (const auto& [pair, value] : json.at("peer").items()) node.peer_of[pair_of(pair)] = value;
  }
  take(json, "gemm_flip", node.gemm_flip);
  take(json, "throttle", node.throttle);
  take(json, "flip", node.flip);
  take(json, "stuck", node.stuck);
  take(json, "spoilt_copy", node.spoilt_copy);
  take_pair(json, "spoilt_pair", node.spoilt_pair);
  take(json, "lost_copy", node.lost_copy);
  take(json, "lost_copy_in", node.lost_copy_in);
  take_pair(json, "lost_pair", node.lost_pair);
  take(json, "lost_from", node.lost_from);
  take(json, "lost_product", node.lost_product);
  take(json, "lost_gemm", node.lost_gemm);
  take(json, "lost_triad", node.lost_triad);
  take(json, "refused_algorithm", node.refused_algorithm);
  take(json, "late_rdma", node.late_rdma);
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
