// SPDX-License-Identifier: Apache-2.0
// Bit errors of links, before and after error correction, by what the interface of each HCA counts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/rise.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_ber {
namespace {

constexpr std::string_view kCorrectedBits = "rx_corrected_bits_phy";
constexpr std::string_view kSymbolErrors = "rx_pcs_symbol_err_phy";

// The errors of a port per bit that its link carries, in the last hour.
struct Measured {
  ib::PortOf at;
  std::optional<double> symbols;  // lost
  std::optional<double> raw;      // bits that were mended
};

std::optional<std::uint64_t> count_of(const IbPort& port, std::string_view name) {
  const auto errors = port.link_errors.find(std::string(name));
  if (errors != port.link_errors.end()) return errors->second;
  const auto counter = port.hw_counters.find(std::string(name));
  if (counter == port.hw_counters.end() || !counter->second) return std::nullopt;
  return *counter->second;
}

bool counts(const ib::PortOf& at) {
  return count_of(*at.port, kCorrectedBits) || count_of(*at.port, kSymbolErrors);
}

std::optional<double> error_rate(const Snapshot& snapshot, const ib::PortOf& at,
                                 std::string_view name) {
  const auto count = count_of(*at.port, name);
  if (!count || !at.port->rate_gbps || *at.port->rate_gbps <= 0) return std::nullopt;
  const auto key = fmt::format("ib.{}.{}.{}", at.hca->name, at.port->number, name);
  const auto rise = rise_of(snapshot, key, *count);
  if (!rise) return std::nullopt;
  return static_cast<double>(rise->increments) / (*at.port->rate_gbps * 1e9 * rise->seconds);
}

Finding too_many(const Measured& port, Outcome outcome, std::string_view what, double seen,
                 double limit, Remedy remedy) {
  return ib::about(port.at, outcome,
                   fmt::format("{} {:.1e} per bit, limit {:.0e}", what, seen, limit), remedy,
                   {seen, limit, "per bit"});
}

bool above(const std::optional<double>& seen, const Limit<double>& limit) {
  return seen && limit && *seen > *limit;
}

// What most HCAs like each one have: of three or more the one in the middle.
std::map<std::string, double> middle_by_kind(const Snapshot& snapshot,
                                             const std::vector<Measured>& ports) {
  constexpr std::size_t kFewest = 3;
  std::map<std::string, std::vector<double>> kinds;
  for (const auto& port : ports) {
    const auto kind = ib::active_kind_of(snapshot, port.at);
    if (port.raw && !kind.empty()) kinds[kind].push_back(*port.raw);
  }
  std::map<std::string, double> middles;
  for (auto& [kind, values] : kinds) {
    if (values.size() < kFewest) continue;
    std::ranges::sort(values);
    middles[kind] = values[(values.size() - 1) / 2];
  }
  return middles;
}

std::optional<Finding> judge_port(const Snapshot& snapshot, const IbBerLimits& limits,
                                  const std::map<std::string, double>& middles,
                                  const Measured& port) {
  constexpr std::string_view kSymbols = "symbol errors after correction:";
  constexpr std::string_view kRaw = "bits that had to be corrected:";
  if (above(port.symbols, limits.symbol_fail_above)) {
    return too_many(port, Outcome::fail, kSymbols, *port.symbols, *limits.symbol_fail_above,
                    hardware_remedy(snapshot));
  }
  if (above(port.symbols, limits.symbol_warn_above)) {
    return too_many(port, Outcome::warn, kSymbols, *port.symbols, *limits.symbol_warn_above,
                    Remedy::watch);
  }
  if (above(port.raw, limits.raw_warn_above)) {
    return too_many(port, Outcome::warn, kRaw, *port.raw, *limits.raw_warn_above, Remedy::watch);
  }
  const auto middle = middles.find(ib::active_kind_of(snapshot, port.at));
  if (middle == middles.end() || !above(port.raw, limits.sisters_warn_above)) return std::nullopt;
  const double most = middle->second * limits.sisters_times.value_or(1);
  if (*port.raw <= most) return std::nullopt;
  auto finding = too_many(port, Outcome::warn, kRaw, *port.raw, most, Remedy::watch);
  finding.message += fmt::format(", where most HCAs like it have {:.1e}", middle->second);
  return finding;
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  if (auto nothing = ib::no_active_ports(snapshot, profile)) return nothing;
  if (!ib::answered(snapshot)) return std::nullopt;
  if (std::ranges::none_of(ib::active_ports(snapshot, profile), counts)) {
    return skipped("neither the HCAs nor their network interfaces count bit errors here");
  }
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  std::vector<Measured> ports;
  for (const auto& at : ib::active_ports(snapshot, profile)) {
    Measured port{.at = at,
                  .symbols = error_rate(snapshot, at, kSymbolErrors),
                  .raw = error_rate(snapshot, at, kCorrectedBits)};
    if (port.symbols || port.raw) ports.push_back(std::move(port));
  }
  if (ports.empty()) {
    return {skipped(
        "first observation in this boot, or counters cleared since: a rate needs an earlier one")};
  }
  const auto middles = middle_by_kind(snapshot, ports);
  Findings findings;
  for (const auto& port : ports) {
    append(findings, judge_port(snapshot, profile.ib->ber, middles, port));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} with few bit errors", counted(ports.size(), "link")));
}

}  // namespace

constinit const Check check{
    .id = "ib.ber",
    .title = "InfiniBand links need little error correction, and lose no symbols",
    .why =
        "From HDR on every link corrects bit errors all the time, and loses a symbol only where "
        "there were too many: then packets are sent again, and all ranks wait for them. The driver "
        "counts corrected bits and lost symbols for the network interface of the HCA (ethtool -S "
        "ib0: rx_corrected_bits_phy, rx_pcs_symbol_err_phy); their rise in an hour over the bits "
        "that the link carries is the bit error rate. One HCA that corrects a hundred times as "
        "much as the others like it has the worst cable, before it is bad by any limit. A virtual "
        "function does not tell.",
    .fix =
        "mlxlink -d mlx5_0 -c shows the same with more detail. Clean, reseat or replace the cable "
        "or optic; move it to another port to see whether the errors go with it.",
    .code = "NHC2003",
    .needs = Probe::infiniband | Probe::identity,
    .looks_at = Probe::pci,
    .when_absent = WhenAbsent::judge,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::ib_ber
