// SPDX-License-Identifier: Apache-2.0
// The samples for metrics.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "lib/base/units.hpp"
#include "lib/node/xid.hpp"
#include "lib/state/xids.hpp"

namespace muster {
namespace {

using Labels = ByName<std::string>;

class Readings {
 public:
  void add(std::string_view metric, Labels labels, double value) {
    std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
    if (!std::isfinite(value)) return;
    all_.push_back({.metric = std::string(metric), .labels = std::move(labels), .value = value});
  }

  template <class T>
  void add_known(std::string_view metric, Labels labels, const Fact<T>& fact, double factor = 1) {
    if (fact) add(metric, std::move(labels), static_cast<double>(*fact) * factor);
  }

  [[nodiscard]] std::vector<Reading> all() && { return std::move(all_); }

 private:
  std::vector<Reading> all_;
};

std::string name_of(const Gpu& gpu) { return fmt::format("gpu{}", gpu.index); }

// The form of dcgm-exporter's label: "00000001:00:00.0".
std::string bus_id_of(std::string address) {
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return address.empty() ? address : fmt::format("{:0>16}", address);
}

std::string text_of(const Fact<std::string>& fact) { return fact.value_or(""); }

void add_identities(const Snapshot& snapshot, const Profile& profile, Readings& readings) {
  readings.add("node_info",
               {{"profile", profile.name},
                {"driver", text_of(snapshot.nvml->driver)},
                {"physical_host", text_of(snapshot.identity->physical_host)}},
               1);
  for (const auto& gpu : snapshot.nvml->gpus) {
    readings.add("device_info",
                 {{"device", name_of(gpu)},
                  {"kind", "gpu"},
                  {"serial", text_of(gpu.serial)},
                  {"uuid", text_of(gpu.uuid)},
                  {"pci_bus_id", bus_id_of(gpu.address)},
                  {"model", text_of(gpu.model)},
                  {"firmware", text_of(gpu.firmware.vbios)}},
                 1);
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    readings.add("device_info",
                 {{"device", hca.name},
                  {"kind", "hca"},
                  {"uuid", text_of(hca.node_guid)},
                  {"pci_bus_id", bus_id_of(text_of(hca.address))},
                  {"model", text_of(hca.type)},
                  {"firmware", text_of(hca.firmware)}},
                 1);
  }
}

bool has_its_sections(const Snapshot& snapshot, const Check& check) {
  bool all = true;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    all = all && (section.ok() || !check.needs.contains(probe));
  });
  return all;
}

// One value for each combination of labels.
using Kept = std::map<Labels, double>;

struct KeptMargins {
  Kept headroom;  // the least
  Kept rates;     // the highest, and so are bit errors
  Kept bit_errors;

  void keep(std::string_view check, const Margin& margin) {
    if (margin.limit != 0) {
      const double over = (margin.observed - margin.limit) / margin.limit;
      const auto [kept, is_new] =
          headroom.emplace(Labels{{"check", std::string(check)}, {"device", margin.device}},
                           margin.is_minimum ? over : -over);
      if (!is_new) kept->second = std::min(kept->second, margin.is_minimum ? over : -over);
    }
    Labels labels{{"device", margin.device}, {"kind", margin.kind}};
    if (margin.unit == MarginUnit::per_bit) keep_highest(bit_errors, labels, margin.observed);
    // A rate of 0 is known from the headroom, and most rates of a healthy fleet are 0.
    if (margin.unit != MarginUnit::per_second || margin.observed == 0) return;
    labels.emplace("check", check);
    keep_highest(rates, labels, margin.observed);
  }

 private:
  static void keep_highest(Kept& kept, const Labels& labels, double value) {
    auto& highest = kept.emplace(labels, value).first->second;
    highest = std::max(highest, value);
  }
};

void add_margins(const Snapshot& snapshot, const Profile& profile, const Report& report,
                 Readings& readings) {
  KeptMargins kept;
  for (const Check* check : checks::kAll) {
    const auto result = std::ranges::find(report.checks, check->id, &CheckResult::id);
    if (check->margins == nullptr || result == report.checks.end()) continue;
    if (result->outcome == Outcome::skip || !has_its_sections(snapshot, *check)) continue;
    Margins margins;
    check->margins(snapshot, profile, margins);
    for (const auto& margin : margins.all()) kept.keep(check->id, margin);
  }
  for (const auto& [labels, value] : kept.headroom) readings.add("headroom_ratio", labels, value);
  for (const auto& [labels, value] : kept.rates) readings.add("error_rate_hertz", labels, value);
  for (const auto& [labels, value] : kept.bit_errors) {
    readings.add("link_bit_error_ratio", labels, value);
  }
}

// Lines of this boot, with those that the kernel log has lost since.
void add_xids(const Snapshot& snapshot, const Profile& profile, Readings& readings) {
  if (!snapshot.kernel_log.ok()) return;
  const bool of_programs = profile.gpu->xid.of_programs;
  auto log = snapshot.xids.believed(of_programs);
  add_remembered(snapshot, log, of_programs);
  std::map<std::pair<std::string_view, Labels>, double> counts;
  for (const auto& event : log.events) {
    const Gpu* gpu = event.nvswitch ? nullptr : gpu_at(snapshot, event.address);
    counts[{event.nvswitch ? "sxid_events_total" : "xid_events_total",
            {{"device", gpu == nullptr ? event.address : name_of(*gpu)},
             {"code", fmt::to_string(event.code)}}}] += static_cast<double>(event.lines);
  }
  for (const auto& [series, count] : counts) readings.add(series.first, series.second, count);
}

void add_port_values(const Hca& hca, const IbPort& port, const IbErrorLimits& limits,
                     Readings& readings) {
  constexpr unsigned kActive = 4;
  Labels labels{{"device", hca.name}, {"port", fmt::to_string(port.number)}};
  readings.add_known("hca_rate_bytes_per_second", labels, port.rate_gbps, kGiga / 8);
  if (port.state) readings.add("hca_active", labels, *port.state == kActive ? 1 : 0);
  if (!port.counters) return;
  for (const auto& [name, count] : *port.counters) {
    if (!limits.counters.contains(name)) continue;  // not of errors
    labels["kind"] = name;
    readings.add_known("hca_errors_total", labels, count);
  }
}

// Values that other exporters have under their own names.
void add_common_values(const Snapshot& snapshot, const Profile& profile, Readings& readings) {
  for (const auto& gpu : snapshot.nvml->gpus) {
    const Labels labels{{"device", name_of(gpu)}};
    readings.add_known("gpu_temperature_celsius", labels, gpu.heat.gpu_c);
    readings.add_known("gpu_memory_temperature_celsius", labels, gpu.heat.memory_c);
    readings.add_known("gpu_power_watts", labels, gpu.power.usage_mw, 1e-3);
    readings.add_known("gpu_clock_hertz", labels, gpu.clocks.sm_mhz, kMega);
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (!hca.ports) continue;
    for (const auto& port : *hca.ports) add_port_values(hca, port, profile.ib->errors, readings);
  }
}

}  // namespace

std::vector<Reading> readings_of(const Snapshot& snapshot, const Profile& profile,
                                 const Report& report) {
  Readings readings;
  add_identities(snapshot, profile, readings);
  add_margins(snapshot, profile, report, readings);
  add_xids(snapshot, profile, readings);
  add_common_values(snapshot, profile, readings);
  return std::move(readings).all();
}

}  // namespace muster
