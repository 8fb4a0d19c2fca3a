// SPDX-License-Identifier: Apache-2.0
// TensorFlow's TF_CONFIG: {"cluster": {"chief": […], "worker": […]}, "task": {"type", "index"}}.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "bench/launch/detection.hpp"
#include "lib/base/json.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kName = "TF_CONFIG";

tl::unexpected<Error> wrong(std::string_view why) {
  return make_error(
      fmt::format("TF_CONFIG {}: correct or unset it, or name the launcher with --launch", why));
}

// Null if there is no such member.
Json member(const Json& object, const std::string& name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found == object.end() ? Json{} : *found;
}

// The ranks in order: the chief, then the workers. `rank` is that of this task.
struct Cluster {
  std::vector<Rendezvous> addresses;
  std::optional<std::size_t> rank;
};

// The addresses of one type of task.
Result<std::vector<Rendezvous>> read_addresses(const Json& config, const char* type) {
  std::vector<Rendezvous> result;
  const auto addresses = member(member(config, "cluster"), type);
  if (addresses.is_null()) return result;
  if (!addresses.is_array()) return wrong(fmt::format("has a {} that is not a list", type));
  for (const auto& address : addresses) {
    auto parsed = parse_endpoint(address.is_string() ? address.get<std::string>() : "");
    if (!parsed)
      return wrong(fmt::format("has an address of {}: {}", type, parsed.error().message));
    result.push_back(*std::move(parsed));
  }
  return result;
}

Result<Cluster> read_cluster(const Json& config, const std::string& type, std::uint64_t index) {
  constexpr std::array<const char*, 3> kTypes{"chief", "master", "worker"};
  Cluster result;
  for (const auto* each : kTypes) {
    TRY_ASSIGN(const auto addresses, read_addresses(config, each));
    if (each == type && index < addresses.size()) {
      result.rank = result.addresses.size() + static_cast<std::size_t>(index);
    }
    result.addresses.insert(result.addresses.end(), addresses.begin(), addresses.end());
  }
  return result;
}

Result<Place> read_tf_place(const Json& config, std::uint16_t offset) {
  if (!config.is_object()) return wrong("is not a JSON object");
  const auto type = member(member(config, "task"), "type");
  const auto index = member(member(config, "task"), "index");
  if (!type.is_string() || !index.is_number_unsigned()) {
    return wrong("has no task with a type and an index");
  }
  const auto role = type.get<std::string>();
  TRY_ASSIGN(auto cluster, read_cluster(config, role, index.get<std::uint64_t>()));
  if (!cluster.rank) {
    return wrong(fmt::format("has the task {} {}, which is neither chief nor worker of its cluster",
                             printable(role, 40), index.get<std::uint64_t>()));
  }
  auto first = cluster.addresses.front();
  first.port = shifted_port(first.port, offset);
  Place place{.launcher = Launcher::tf_config,
              .rank = static_cast<int>(*cluster.rank),
              .world = static_cast<int>(cluster.addresses.size())};
  place.evidence.push_back(fmt::format("TF_CONFIG names {} {} as rank {} of {}", role,
                                       index.get<std::uint64_t>(), place.rank, place.world));
  place.evidence.push_back(fmt::format(
      "rank 0 listens on {} port {}: the first address of TF_CONFIG, its port moved by {}",
      printable(first.host, 100), first.port, offset));
  place.rendezvous = std::move(first);
  return place;
}

}  // namespace

Detection detect_tf_config(const Environment& environment, const LaunchFlags& flags) {
  Detection result{.launcher = Launcher::tf_config, .missing = environment.missing({kName})};
  if (!environment.has(kName)) return result;
  result.seen = kName;
  const auto config = parse_json(environment.text(kName)).value_or(Json());
  if (config.is_object() && member(config, "cluster").empty()) {
    result.unsuited = "it has no cluster";
  }
  result.place = read_tf_place(config, flags.port_offset);
  return result;
}

}  // namespace muster::bench
