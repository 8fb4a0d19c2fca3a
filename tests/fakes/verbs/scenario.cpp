// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/verbs/scenario.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace muster::fakes::verbs {
namespace {

using Json = nlohmann::json;

template <class T>
void take(const Json& json, const char* key, T& value) {
  if (json.contains(key)) value = json.at(key).get<T>();
}

void take(const Json& json, const char* key, std::optional<int>& value) {
  if (json.contains(key)) value = json.at(key).get<int>();
}

Scenario read() {
  Scenario scenario;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once
  const char* const name = std::getenv("MUSTER_FAKE_VERBS");
  if (name == nullptr) return scenario;
  std::ifstream file(name);
  // An invalid scenario ends the test.
  const auto json = Json::parse(file);
  take(json, "hcas", scenario.hcas);
  take(json, "gbps", scenario.gbps);
  take(json, "noise", scenario.noise);
  take(json, "latency_us", scenario.latency_us);
  take(json, "down", scenario.down);
  take(json, "ethernet", scenario.ethernet);
  take(json, "closed", scenario.closed);
  take(json, "locked", scenario.locked);
  take(json, "spoilt", scenario.spoilt);
  take(json, "skipped", scenario.skipped);
  take(json, "dropped", scenario.dropped);
  take(json, "failing", scenario.failing);
  take(json, "silent", scenario.silent);
  take(json, "slow_gpus", scenario.slow_gpus);
  take(json, "no_dma_buf", scenario.no_dma_buf);
  take(json, "no_relaxed", scenario.no_relaxed);
  take(json, "slow_strict", scenario.slow_strict);
  take(json, "apart", scenario.apart);
  take(json, "limited", scenario.limited);
  if (json.contains("slow")) {
    for (const auto& [hca, gbps] : json.at("slow").items()) {
      scenario.slow[std::stoi(hca)] = gbps.get<double>();
    }
  }
  return scenario;
}

}  // namespace

const Scenario& scenario() {
  static const Scenario read_once = read();
  return read_once;
}

}  // namespace muster::fakes::verbs
