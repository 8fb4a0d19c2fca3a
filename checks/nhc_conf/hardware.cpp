// SPDX-License-Identifier: Apache-2.0
// check_hw_cpuinfo, check_hw_eth, check_hw_ib, check_dmi_data_match.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kFewDmiData =
    "of the machine's DMI data only the manufacturer and the product are read";

std::optional<Finding> other_count(const Snapshot& snapshot, std::string_view noun,
                                   const Fact<unsigned>& seen, std::string_view wanted) {
  if (wanted.empty()) return std::nullopt;
  const auto count = parse_unsigned(wanted);
  if (!count) {
    return not_judged(
        fmt::format("expects a number of {}s, got \"{}\"", noun, printable(wanted, 40)));
  }
  if (!seen) return checks::not_known(checks::kNode, fmt::format("the number of {}s", noun), seen);
  if (*seen == *count) return std::nullopt;
  return compared(failed(fmt::format("{}, {} wanted", checks::counted(*seen, noun), *count),
                         *seen < *count ? checks::hardware_remedy(snapshot) : Remedy::fix_config),
                  checks::count_value(*seen), checks::count_value(*count));
}

// Where /proc/cpuinfo names no sockets, as on Arm, NHC counts each processor as one: no machine has
// that many.
bool counts_each_as_socket(const Cpu& cpu, const Arguments& arguments) {
  constexpr std::uint64_t kManySockets = 32;
  const auto sockets = parse_unsigned(argument(arguments, 0));
  return sockets && *sockets > kManySockets && cpu.threads && *cpu.threads == *sockets &&
         argument(arguments, 1) == argument(arguments, 0) &&
         argument(arguments, 2) == argument(arguments, 0);
}

struct PortSeen {
  std::string name;  // mlx5_ib0:1
  const IbPort* port = nullptr;
};

std::string state_of(const IbPort& port) {
  constexpr std::array kStates{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  const auto state = port.state.value_or(99);
  const std::string name =
      state < kStates.size() ? kStates.at(state) : fmt::format("in state {}", state);
  const auto physical = port.physical_state.value_or(0);
  return physical == 5 ? fmt::format("{} (LinkUp)", name)
                       : fmt::format("{} (physical state {})", name, physical);
}

// Not known where a fact that decides is not.
std::optional<bool> is_well(const IbPort& port, std::optional<double> rate) {
  if (!port.state || !port.physical_state || (rate && !port.rate_gbps)) return std::nullopt;
  if (*port.state != 4 || *port.physical_state != 5) return false;
  return !rate || std::abs(*port.rate_gbps - *rate) < 0.01;
}

// "mlx5_0:1", or a device for any of its ports; both may be globs.
bool is_meant(std::string_view wanted, const std::string& device, const std::string& port) {
  if (wanted.empty()) return true;
  return matches_glob(wanted, wanted.find(':') == std::string_view::npos ? device : port);
}

std::vector<PortSeen> ports_meant(const Snapshot& snapshot, std::string_view wanted) {
  std::vector<PortSeen> ports;
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (!hca.ports) continue;
    for (const auto& port : *hca.ports) {
      auto name = fmt::format("{}:{}", hca.name, port.number);
      if (is_meant(wanted, hca.name, name)) ports.push_back({std::move(name), &port});
    }
  }
  return ports;
}

// A port or a device that is meant and could not be read; empty for none.
std::string unread_among(const Snapshot& snapshot, const std::vector<PortSeen>& ports,
                         std::string_view wanted, std::optional<double> rate) {
  for (const auto& [name, port] : ports) {
    if (!is_well(*port, rate)) return name;
  }
  const auto device = wanted.substr(0, wanted.find(':'));
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (!hca.ports && is_meant(device, hca.name, {})) return hca.name;
  }
  return {};
}

std::string no_port(const std::vector<PortSeen>& ports, std::string_view wanted,
                    std::string_view rate) {
  const std::string with = rate.empty() ? std::string() : fmt::format(" at {} Gb/s", rate);
  if (ports.empty()) {
    return fmt::format("there is no port{}{}", wanted.empty() ? "" : " ", printable(wanted, 80));
  }
  if (ports.size() > 1) {
    return fmt::format("none of {} ports is ACTIVE (LinkUp){}", ports.size(), with);
  }
  const auto& [name, port] = ports.front();
  const std::string seen =
      port->rate_gbps ? fmt::format(" at {:g} Gb/s", *port->rate_gbps) : std::string();
  return fmt::format("{} is {}{}, wanted ACTIVE (LinkUp){}", name, state_of(*port), seen, with);
}

Findings judge_cpuinfo(const Snapshot& snapshot, const Arguments& arguments) {
  const auto& cpu = *snapshot.cpu;
  if (counts_each_as_socket(cpu, arguments)) {
    return {checks::passed(
        fmt::format("{}, which NHC counts as sockets", checks::counted(*cpu.threads, "thread")))};
  }
  Findings findings;
  for (const auto& other : {other_count(snapshot, "socket", cpu.sockets, argument(arguments, 0)),
                            other_count(snapshot, "core", cpu.cores, argument(arguments, 1)),
                            other_count(snapshot, "thread", cpu.threads, argument(arguments, 2))}) {
    if (other) findings.push_back(*other);
  }
  const auto words = [](const Fact<unsigned>& count, std::string_view noun) {
    return count ? checks::counted(*count, noun) : fmt::format("unknown {}s", noun);
  };
  return checks::or_pass(std::move(findings),
                         fmt::format("{}, {}, {}", words(cpu.sockets, "socket"),
                                     words(cpu.cores, "core"), words(cpu.threads, "thread")));
}

Findings judge_eth(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = argument(arguments, 0);
  // The probe leaves it out: every network of the kernel has one.
  if (wanted == "lo") return {checks::passed("lo is there wherever there is a network", wanted)};
  const bool found = std::ranges::any_of(snapshot.network->interfaces, [&](const auto& each) {
    return matches_pattern(wanted, each.name);
  });
  if (found) return {checks::passed(fmt::format("the interface {} is there", wanted), wanted)};
  auto message = fmt::format("there is no interface {}", printable(wanted, 80));
  return {compared(checks::failed(wanted, std::move(message), Remedy::fix_config), false, true)};
}

Findings judge_ib(const Snapshot& snapshot, const Arguments& arguments) {
  const auto words = argument(arguments, 0);
  const auto wanted = argument(arguments, 1);
  std::optional<double> rate;
  if (!words.empty()) {
    const auto number = parse_number(words);
    if (!number) {
      return {not_judged(fmt::format("expects a rate in Gb/s, got \"{}\"", printable(words, 40)))};
    }
    rate = *number;
  }
  // A snapshot of before that was looked at says nothing of it.
  const auto& umad = snapshot.infiniband->umad;
  if (snapshot.infiniband.ok() && umad.is_absent() && umad != Fact<std::string>()) {
    return {failed("ib_umad is not loaded: there is no /sys/class/infiniband_mad/abi_version")};
  }
  const auto device = wanted.empty() ? checks::kNode : wanted;
  const auto ports = ports_meant(snapshot, wanted);
  const auto well = std::ranges::find_if(
      ports, [&](const PortSeen& seen) { return is_well(*seen.port, rate).value_or(false); });
  if (well != ports.end()) {
    return {checks::passed(fmt::format("{} is ACTIVE (LinkUp) at {:g} Gb/s", well->name,
                                       well->port->rate_gbps.value_or(0)),
                           device)};
  }
  const auto unread = unread_among(snapshot, ports, wanted, rate);
  if (!unread.empty()) {
    return {not_judged(fmt::format("the state or rate of {} could not be read", unread), unread)};
  }
  return {checks::failed(device, no_port(ports, wanted, words), checks::hardware_remedy(snapshot))};
}

// Only the maker and the product's name are observed, as the kernel shows them without dmidecode.
Findings judge_dmi(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, "!nh:t:");
  if (!options) return {not_judged(options.error().message)};
  constexpr std::string_view kMaker = "System Information: Manufacturer: ";
  constexpr std::string_view kProduct = "System Information: Product Name: ";
  const auto text = fmt::format("{}", fmt::join(options->rest, " "));
  const bool maker = text.starts_with(kMaker);
  if (!options->given.empty() || (!maker && !text.starts_with(kProduct))) {
    return {not_judged(kFewDmiData)};
  }
  const auto& identity = *snapshot.identity;
  const auto& fact = maker ? identity.dmi_vendor : identity.dmi_product;
  const auto wanted = text.substr(maker ? kMaker.size() : kProduct.size());
  const std::string_view what = maker ? "manufacturer" : "product";
  if (!fact) return {checks::not_known(checks::kNode, fmt::format("the {}", what), fact)};
  if (matches_pattern(wanted, *fact)) {
    return {checks::passed(fmt::format("the {} is {}", what, *fact))};
  }
  return {
      compared(failed(fmt::format("the {} is {}, wanted {}", what, *fact, printable(wanted, 80))),
               *fact, wanted)};
}

}  // namespace

std::vector<Row> hardware_rows() {
  auto ib = judged("check_hw_ib", judge_ib, Probe::infiniband, 0, 2);
  ib.absence_counts = true;
  return {judged("check_hw_cpuinfo", judge_cpuinfo, Probe::cpu, 0, 3),
          std::move(ib),
          judged("check_hw_eth", judge_eth, Probe::network, 1, 1),
          unjudged("check_hw_gm", "Myrinet is not observed"),
          unjudged("check_hw_mcelog",
                   "mcelog is not asked; host.edac judges the counters of memory errors"),
          judged("check_dmi_data_match", judge_dmi, Probe::identity, 1),
          unjudged("check_dmi_raw_data_match", kFewDmiData)};
}

}  // namespace muster::nhc
