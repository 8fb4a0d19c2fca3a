// SPDX-License-Identifier: Apache-2.0
// Error counters and bit errors of links.

#include <map>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks {
namespace {

// ib.errors: error counters of ACTIVE ports as rates since earlier runs. Lifetime totals are
// meaningless, and the counters saturate.

Remedy remedy_for(const Snapshot& snapshot, std::string_view counter, Outcome outcome) {
  if (counter.ends_with("constraint_errors")) return Remedy::fix_config;
  return outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch;
}

// How far a counter may rise, and in what time.
struct RiseLimit {
  Outcome outcome = Outcome::warn;
  double most = 0;
  double within_s = kHour;
  double over_s = kHour;  // observation time; longer than `within_s` for an average
};

// The worst first. A rate is judged over the last hour, which shows a burst, and over the whole
// window.
std::vector<RiseLimit> rise_limits_of(const CounterLimit& limit, double window_s) {
  std::vector<RiseLimit> rules;
  const auto per_hour = [&](Outcome outcome, const Limit<double>& most) {
    if (!most) return;
    rules.push_back({.outcome = outcome, .most = *most});
    rules.push_back({.outcome = outcome, .most = *most, .over_s = std::max(window_s, kHour)});
  };
  const auto count = [&](Outcome outcome, const Limit<double>& most, const Limit<Seconds>& within) {
    if (!most) return;
    const double span = within ? within->value : window_s;
    rules.push_back({.outcome = outcome, .most = *most, .within_s = span, .over_s = span});
  };
  per_hour(Outcome::fail, limit.fail_above_per_hour);
  count(Outcome::fail, limit.fail_above, limit.fail_within);
  per_hour(Outcome::warn, limit.warn_above_per_hour);
  count(Outcome::warn, limit.warn_above, limit.warn_within);
  return rules;
}

bool is_limited(const CounterLimit& limit) {
  return limit.warn_above_per_hour || limit.fail_above_per_hour || limit.warn_above ||
         limit.fail_above;
}

struct UnreadableCounters {
  std::vector<std::string> names;
  std::string why;  // of the first

  void add_counter(const std::string& name, const std::string& reason) {
    names.push_back(name);
    if (why.empty()) why = reason;
  }
};

// In the register of the physical port, or else of the function; null if the port lacks it.
const Fact<std::uint64_t>* counter_named(const IbPort& port, const std::string& name) {
  const auto* const of_port = ib::counter_in(port.counters, name);
  return of_port != nullptr ? of_port : ib::counter_in(port.hw_counters, name);
}

// Why a port has no such counter in either register.
std::string why_not_offered(const IbPort& port) {
  for (const auto* counters : {&port.counters, &port.hw_counters}) {
    if (counters->is_unreadable()) return counters->why();
  }
  return "the port does not offer it";
}

std::string key_of(const ib::PortOf& at, std::string_view counter) {
  return fmt::format("ib.{}.{}.{}", at.hca->name, at.port->number, counter);
}

// Judges the counters of all ports.
class CounterJudge {
 public:
  CounterJudge(const Snapshot& snapshot, const Profile& profile)
      : snapshot_(snapshot), limits_(profile.ib->errors) {}

  void judge(const ib::PortOf& at) {
    UnreadableCounters unreadable;
    UnreadableCounters refused;
    bool port_answers = false;
    for (const auto& [name, limit] : limits_.counters) {
      if (!is_limited(limit)) continue;
      const bool of_port = ib::counter_in(at.port->counters, name) != nullptr;
      const auto* const counter = counter_named(*at.port, name);
      if (counter == nullptr) {
        unreadable.add_counter(name, why_not_offered(*at.port));
      } else if (const auto& fact = *counter; !fact) {
        const bool by_nature = fact.is_absent() && of_port && at.hca->virtual_function;
        (by_nature ? refused : unreadable).add_counter(name, fact.why());
      } else {
        port_answers = port_answers || of_port;
        judge_value(at, name, *fact, limit);
      }
    }
    report(at, port_answers, std::move(unreadable), refused);
  }

  [[nodiscard]] Findings take_findings() {
    if (findings_.empty()) findings_.push_back(summary());
    return std::move(findings_);
  }

 private:
  void report(const ib::PortOf& at, bool port_answers, UnreadableCounters unreadable,
              const UnreadableCounters& refused) {
    virtual_function_ = virtual_function_ || at.hca->virtual_function;
    // A virtual function is refused the whole register, never a single counter.
    if (port_answers) {
      for (const auto& name : refused.names) unreadable.add_counter(name, refused.why);
    } else {
      refused_ = refused_ || !refused.names.empty();
    }
    if (unreadable.names.empty()) return;
    findings_.push_back(ib::about(
        at, Outcome::unknown,
        fmt::format("cannot read {}: {}", fmt::join(unreadable.names, ", "), unreadable.why)));
  }

  void judge_value(const ib::PortOf& at, const std::string& name, std::uint64_t value,
                   const CounterLimit& limit) {
    if (ib::is_saturated(name, value)) {
      findings_.push_back(ib::saturated(at, name, value));
      return;
    }
    const std::string key = key_of(at, name);
    if (!rise_of(snapshot_, key, value)) {
      ++first_;
      return;
    }
    ++judged_;
    for (const RiseLimit& rule : rise_limits_of(limit, limits_.window.value)) {
      if (auto finding = judge_rule(at, name, *rise_of(snapshot_, key, value, rule.over_s), rule)) {
        findings_.push_back(*std::move(finding));
        return;
      }
    }
  }

  [[nodiscard]] std::optional<Finding> judge_rule(const ib::PortOf& at, const std::string& name,
                                                  const Delta& delta, const RiseLimit& rule) const {
    const double seen = delta.in_window(rule.within_s);
    if (seen <= rule.most) return std::nullopt;
    const bool rate = rule.within_s <= kHour;
    return ib::about(
        at, rule.outcome,
        rate ? fmt::format("{} rose by {} in {}: {:.1f} per hour, limit {}", name, delta.increments,
                           in_time(delta.seconds), seen, rule.most)
             : fmt::format("{} rose by {} in {}, limit {} in {}", name, delta.increments,
                           in_time(std::max(delta.seconds, rule.within_s)), rule.most,
                           in_time(rule.within_s)),
        remedy_for(snapshot_, name, rule.outcome),
        {seen, rule.most,
         rate ? std::string("per hour") : fmt::format("in {}", in_time(rule.within_s))});
  }

  [[nodiscard]] Finding summary() const {
    if (judged_ == 0 && first_ == 0) {
      return skipped("virtual functions cannot read the port's error counters");
    }
    if (judged_ == 0) {
      return skipped(
          "first observation in this boot, or counters cleared since: a rate needs an earlier one");
    }
    std::string message = fmt::format("{} within limits", counted(judged_, "error counter"));
    if (first_ > 0) message += fmt::format(", {} seen for the first time", first_);
    if (refused_) {
      message += "; virtual functions cannot read the port's own counters";
    } else if (virtual_function_) {
      message += "; zeros of a virtual function prove nothing";
    }
    return passed(std::move(message));
  }

  const Snapshot& snapshot_;
  const IbErrorLimits& limits_;
  Findings findings_;
  std::size_t judged_ = 0;
  std::size_t first_ = 0;  // without an earlier observation
  bool virtual_function_ = false;
  bool refused_ = false;  // the registers of physical ports
};

void margins_of_ib_errors(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.identity->uptime_s) return;
  const auto& limits = profile.ib->errors;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    for (const auto& [name, limit] : limits.counters) {
      const auto* const counter = counter_named(*at.port, name);
      if (counter == nullptr || !*counter || ib::is_saturated(name, **counter)) continue;
      for (const RiseLimit& rule : rise_limits_of(limit, limits.window.value)) {
        const auto rise = rise_of(snapshot, key_of(at, name), **counter, rule.over_s);
        if (!rise) continue;
        margins.in(rule.within_s, MarginUnit::per_second)
            .at_most(at.hca->name, name, rise->in_window(rule.within_s),
                     std::optional<double>(rule.most));
      }
    }
  }
}

Findings judge_ib_errors(const Snapshot& snapshot, const Profile& profile) {
  const bool limited = std::ranges::any_of(
      profile.ib->errors.counters, [](const auto& entry) { return is_limited(entry.second); });
  if (!limited) return {not_limited("InfiniBand errors")};
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  CounterJudge judge(snapshot, profile);
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) judge.judge(at);
  return judge.take_findings();
}

// ib.ber: bit errors of links, before and after error correction, from the counters of each HCA's
// network interface.

constexpr std::string_view kCorrectedBits = "rx_corrected_bits_phy";
constexpr std::string_view kSymbolErrors = "rx_pcs_symbol_err_phy";

// Errors of a port per transmitted bit in the last hour.
struct BitErrors {
  ib::PortOf at;
  std::optional<double> symbols;  // lost symbols
  std::optional<double> raw;      // corrected bits
};

std::optional<std::uint64_t> count_of(const IbPort& port, std::string_view name) {
  const auto errors = port.link_errors.find(std::string(name));
  if (errors != port.link_errors.end()) return errors->second;
  const auto* const counter = ib::counter_in(port.hw_counters, name);
  if (counter == nullptr || !*counter) return std::nullopt;
  return **counter;
}

bool counts_bit_errors(const ib::PortOf& at) {
  return count_of(*at.port, kCorrectedBits) || count_of(*at.port, kSymbolErrors);
}

// Whether the only counters that may hold bit errors cannot be listed.
bool hides_bit_errors(const ib::PortOf& at) {
  return at.port->link_errors.empty() && at.port->hw_counters.is_unreadable();
}

std::optional<double> error_rate(const Snapshot& snapshot, const ib::PortOf& at,
                                 std::string_view name) {
  const auto count = count_of(*at.port, name);
  if (!count || !at.port->rate_gbps || *at.port->rate_gbps <= 0) return std::nullopt;
  const auto rise = rise_of(snapshot, key_of(at, name), *count);
  if (!rise) return std::nullopt;
  return static_cast<double>(rise->increments) / (*at.port->rate_gbps * 1e9 * rise->seconds);
}

Finding too_many(const BitErrors& port, Outcome outcome, std::string_view what, double seen,
                 double limit, Remedy remedy) {
  return ib::about(port.at, outcome,
                   fmt::format("{} {:.1e} per bit, limit {:.0e}", what, seen, limit), remedy,
                   {seen, limit, "per bit"});
}

bool above(const std::optional<double>& seen, const Limit<double>& limit) {
  return seen && limit && *seen > *limit;
}

// The (lower) median of each kind with at least three HCAs.
std::map<std::string, double> medians_by_kind(const Snapshot& snapshot,
                                              const std::vector<BitErrors>& ports) {
  constexpr std::size_t kFewest = 3;
  std::map<std::string, std::vector<double>> kinds;
  for (const auto& port : ports) {
    const auto kind = ib::active_kind_of(snapshot, port.at);
    if (port.raw && !kind.empty()) kinds[kind].push_back(*port.raw);
  }
  std::map<std::string, double> medians;
  for (auto& [kind, values] : kinds) {
    if (values.size() < kFewest) continue;
    std::ranges::sort(values);
    medians[kind] = values[(values.size() - 1) / 2];
  }
  return medians;
}

std::optional<Finding> judge_port_ber(const Snapshot& snapshot, const IbBerLimits& limits,
                                      const std::map<std::string, double>& medians,
                                      const BitErrors& port) {
  constexpr std::string_view kSymbols = "symbol errors after correction:";
  constexpr std::string_view kRaw = "corrected bits:";
  if (above(port.symbols, limits.symbol_fail_above)) {
    return too_many(port, Outcome::fail, kSymbols, *port.symbols, *limits.symbol_fail_above,
                    hardware_remedy(snapshot));
  }
  const auto warning = [&](std::string_view what, double seen, double limit) {
    return too_many(port, Outcome::warn, what, seen, limit, Remedy::watch);
  };
  if (above(port.symbols, limits.symbol_warn_above)) {
    return warning(kSymbols, *port.symbols, *limits.symbol_warn_above);
  }
  if (above(port.raw, limits.raw_warn_above)) {
    return warning(kRaw, *port.raw, *limits.raw_warn_above);
  }
  const auto median = medians.find(ib::active_kind_of(snapshot, port.at));
  if (median == medians.end() || !above(port.raw, limits.sisters_warn_above)) return std::nullopt;
  const double most = median->second * limits.sisters_times.value_or(1);
  if (*port.raw <= most) return std::nullopt;
  auto finding = warning(kRaw, *port.raw, most);
  finding.message += fmt::format("; the median of HCAs like it is {:.1e}", median->second);
  return finding;
}

std::optional<Finding> ber_not_applicable(const Snapshot& snapshot, const Profile& profile) {
  if (auto nothing = ib::no_active_ports(snapshot, profile)) return nothing;
  const bool any = !ib::is_observed(snapshot) ||
                   std::ranges::any_of(ib::active_ports(snapshot, profile), [](const auto& at) {
                     return counts_bit_errors(at) || hides_bit_errors(at);
                   });
  return unless(any, skipped("neither the HCAs nor their network interfaces count bit errors"));
}

Findings judge_ber(const Snapshot& snapshot, const Profile& profile) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  std::vector<BitErrors> ports;
  Findings findings;
  for (const auto& at : ib::active_ports(snapshot, profile)) {
    if (hides_bit_errors(at)) {
      findings.push_back(
          ib::about(at, Outcome::unknown,
                    fmt::format("cannot read bit errors: {}", at.port->hw_counters.why())));
    }
    BitErrors port{.at = at,
                   .symbols = error_rate(snapshot, at, kSymbolErrors),
                   .raw = error_rate(snapshot, at, kCorrectedBits)};
    if (port.symbols || port.raw) ports.push_back(std::move(port));
  }
  if (ports.empty() && findings.empty()) {
    return {skipped(
        "first observation in this boot, or counters cleared since: a rate needs an earlier one")};
  }
  const auto medians = medians_by_kind(snapshot, ports);
  for (const auto& port : ports) {
    append(findings, judge_port_ber(snapshot, profile.ib->ber, medians, port));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} with few bit errors", counted(ports.size(), "link")));
}

void margins_of_ber(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.identity->uptime_s) return;
  const auto& limits = profile.ib->ber;
  margins.in(1, MarginUnit::per_bit);
  for (const auto& at : ib::active_ports(snapshot, profile)) {
    const auto& name = at.hca->name;
    if (const auto symbols = error_rate(snapshot, at, kSymbolErrors)) {
      margins.at_most(name, "symbol", *symbols, limits.symbol_warn_above);
      margins.at_most(name, "symbol", *symbols, limits.symbol_fail_above);
    }
    if (const auto raw = error_rate(snapshot, at, kCorrectedBits)) {
      margins.at_most(name, "raw", *raw, limits.raw_warn_above);
    }
  }
}

}  // namespace

constinit const Check ib_errors::check = ib::check_of_hcas({
    .id = "ib.errors",
    .title = "InfiniBand error counters rise no faster than their limits",
    .why =
        "A link that corrects, retrains or drops packets is slow for every job and about to fail. "
        "The counters count since they were last cleared, so only their rise between two runs is "
        "meaningful, and they stop at their maximum. A virtual function may report zeros or "
        "nothing.",
    .fix =
        "Reseat or replace the cable or optic, clear the counters (perfquery -R) and watch them. "
        "Constraint errors point to partition keys, discards to congestion or a dead remote end.",
    .code = "NHC2003",
    .judge = judge_ib_errors,
    .margins = margins_of_ib_errors,
});

constinit const Check ib_ber::check = ib::check_of_hcas({
    .id = "ib.ber",
    .title = "InfiniBand links need little error correction and lose no symbols",
    .why =
        "Since HDR every link corrects bit errors all the time, and loses a symbol only if there "
        "are too many: then packets are resent, and all ranks wait for them. The driver counts "
        "corrected bits and lost symbols of the HCA's network interface (ethtool -S ib0: "
        "rx_corrected_bits_phy, rx_pcs_symbol_err_phy); their rise in an hour, divided by the bits "
        "that the link carries, is the bit error rate. An HCA that corrects a hundred times as "
        "much as its peers has a bad cable, even below the limits. Virtual functions do not report "
        "these counters.",
    .fix = "mlxlink -d mlx5_0 -c shows more details. Clean, reseat or replace the cable or optic; "
           "move it to another port to see whether the errors follow it.",
    .code = "NHC2003",
    .looks_at = Probe::pci,
    .not_applicable = ber_not_applicable,
    .judge = judge_ber,
    .margins = margins_of_ber,
});

}  // namespace muster::checks
