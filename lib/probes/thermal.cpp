// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/thermal.hpp"

#include <fmt/format.h>

#include <string>

#include "lib/probes/attributes.hpp"

namespace muster {
namespace {

constexpr std::string_view kZones = "/sys/class/thermal";
constexpr double kPerDegree = 1000;  // the files are in thousandths of a degree

Fact<double> read_degrees(const Root& root, const std::string& path) {
  const auto value = read_signed(root, path);
  if (!value) return Fact<double>::failed(value.error());
  return static_cast<double>(*value) / kPerDegree;
}

// The first trip point of a type. A zone without one has no such limit.
Fact<double> read_trip(const Root& root, const std::string& folder, std::string_view type) {
  constexpr int kMostTrips = 16;
  for (int i = 0; i < kMostTrips; ++i) {
    const auto point = fmt::format("{}/trip_point_{}", folder, i);
    const auto found = read_text(root, fmt::format("{}_type", point));
    if (!found && found.error().missing) break;
    if (!found) return Fact<double>::failed(found.error());
    if (*found == type) return read_degrees(root, fmt::format("{}_temp", point));
  }
  return Fact<double>::absent(fmt::format("the zone has no {} trip point", type));
}

}  // namespace

Fact<std::vector<ThermalZone>> read_thermal_zones(const Root& root) {
  using Zones = Fact<std::vector<ThermalZone>>;
  const auto names = root.list(kZones);
  if (!names) return Zones::failed(names.error());
  std::vector<ThermalZone> zones;
  for (const auto& name : *names) {
    if (!name.starts_with("thermal_zone")) continue;
    const auto folder = fmt::format("{}/{}", kZones, name);
    const auto type = read_text(root, fmt::format("{}/type", folder));
    zones.push_back({.name = type ? fmt::format("{} ({})", name, *type) : name,
                     .now_c = read_degrees(root, fmt::format("{}/temp", folder)),
                     .critical_c = read_trip(root, folder, "critical"),
                     .hot_c = read_trip(root, folder, "hot")});
  }
  if (zones.empty()) return Zones::absent(fmt::format("no zone in {}", kZones));
  return zones;
}

}  // namespace muster
