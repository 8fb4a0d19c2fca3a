// SPDX-License-Identifier: Apache-2.0
// Snapshots, their sections and the state file as JSON, and back.
#include <fmt/format.h>

#include <set>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {
namespace {

void read_json(const JsonReader& json, Snapshot& snapshot) {
  json.expect_schema(kSnapshotSchema);
  if (json.failed()) return;
  json.member("taken", snapshot.taken);
  for_each_section(snapshot,
                   [&](Probe probe, auto& section) { json.member(to_string(probe), section); });
  json.member("earlier", snapshot.earlier);
  snapshot.xids = find_xids(*snapshot.kernel_log);
}

// Calls visit(field) for the fields of the state file.
template <class Visitor>
void for_each_state_field(Visitor&& visit) {
  for_each_field<Earlier>([&](const auto& field) {
    if (field.name != "note" && field.name != "wall_s") visit(field);
  });
}

// Observations of another boot, or of a time after the snapshot, say nothing about its rates.
void forget_other_boots(Snapshot& snapshot) {
  constexpr double kSlackS = 60;  // a run that started later may have ended earlier
  const auto& boot_id = snapshot.identity->boot_id;
  const auto& uptime_s = snapshot.identity->uptime_s;
  Earlier& earlier = snapshot.earlier;
  const bool other_boot = boot_id && !earlier.boot_id.empty() && earlier.boot_id != *boot_id;
  const bool later = uptime_s && earlier.last_uptime_s > *uptime_s + kSlackS;
  if (!other_boot && !later) return;
  earlier = {.note = other_boot ? "the earlier observations are from another boot"
                                : "the earlier observations are from after this one",
             .xids = std::move(earlier.xids),
             .jobs = std::move(earlier.jobs),
             .wall_s = earlier.wall_s};
}

Result<void> check_uptime(const Snapshot& snapshot) {
  constexpr double kLongestS = 1e9;  // 30 years
  const double uptime_s = snapshot.identity->uptime_s.value_or(0);
  if (uptime_s >= 0 && uptime_s <= kLongestS) return {};
  return make_error("/identity/facts/uptime_s: expected the seconds since boot, got {}", uptime_s);
}

Result<void> check_at_least_0(const Fact<double>& fact, std::string_view place) {
  if (fact.value_or(0) >= 0) return {};
  return make_error("{}: expected 0 or more, got {}", place, *fact);
}

// An NVLink of a GPU, or a device of the bus, has one entry.
Result<void> check_entries(const Snapshot& snapshot) {
  const auto& gpus = snapshot.nvml->gpus;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    std::set<unsigned> seen;
    if (!gpus[gpu].nvlinks) continue;
    const auto& links = *gpus[gpu].nvlinks;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto place = fmt::format("/nvml/facts/gpus/{}/nvlinks/{}", gpu, i);
      TRY(check_at_least_0(links[i].ber, fmt::format("{}/ber", place)));
      if (!seen.insert(links[i].link).second) {
        return make_error("{}/link: link {} has two entries", place, links[i].link);
      }
    }
  }
  std::set<std::string_view> addresses;
  const auto& devices = snapshot.pci->devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& address = devices[i].address;
    if (address.empty() || addresses.insert(address).second) continue;
    return make_error("/pci/facts/devices/{}/address: device {} has two entries", i,
                      printable(address, 40));
  }
  return {};
}

Result<void> check_loads(const Processes& processes) {
  TRY(check_at_least_0(processes.load1, "/processes/facts/load1"));
  TRY(check_at_least_0(processes.load5, "/processes/facts/load5"));
  return check_at_least_0(processes.load15, "/processes/facts/load15");
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  return write_json_object([&](JsonWriter& json) {
    json.member("schema", kSnapshotSchema);
    json.member("taken", snapshot.taken);
    for_each_section(snapshot, [&](Probe probe, const auto& section) {
      json.member(to_string(probe), section);
    });
    json.member("earlier", snapshot.earlier);
  });
}

Result<Snapshot> parse_snapshot(std::string_view text) {
  Snapshot snapshot;
  TRY(read_json_text(text, [&](const JsonReader& json) { read_json(json, snapshot); }));
  TRY(check_uptime(snapshot));
  TRY(check_loads(*snapshot.processes));
  TRY(check_entries(snapshot));
  forget_other_boots(snapshot);
  return snapshot;
}

std::string state_to_json(const Earlier& earlier) {
  return write_json_object([&](JsonWriter& json) {
    json.member("schema", kStateSchema);
    for_each_state_field(
        [&](const auto& field) { json.member(field.name, earlier.*field.member); });
  });
}

Result<Earlier> parse_state(std::string_view text) {
  Earlier state;
  TRY(read_json_text(text, [&](const JsonReader& json) {
    json.expect_schema(kStateSchema);
    for_each_state_field([&](const auto& field) {
      if (!json.failed()) json.member(field.name, state.*field.member);
    });
  }));
  return state;
}

template <class T>
std::string section_to_json(const Section<T>& section) {
  return to_json_line(section);
}

template <class T>
Result<Section<T>> parse_section(std::string_view text) {
  return from_json<Section<T>>(text);
}

// NOLINTBEGIN(bugprone-macro-parentheses): Facts is a type
#define MUSTER_SECTION(name, Facts)                            \
  template std::string section_to_json(const Section<Facts>&); \
  template Result<Section<Facts>> parse_section<Facts>(std::string_view);
// NOLINTEND(bugprone-macro-parentheses)
MUSTER_PROBES(MUSTER_SECTION)
MUSTER_SECTION(earlier, Earlier)
#undef MUSTER_SECTION

}  // namespace muster
