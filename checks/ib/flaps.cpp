// SPDX-License-Identifier: Apache-2.0
// ib.flaps: how often the link of an ACTIVE port went down. The port's own counter is the best
// source; on a virtual function it may be hidden or zero, so the interface's carrier and the kernel
// log count as well.

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/kernel_log.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks::ib_flaps {
namespace {

constexpr std::string_view kCounter = "link_downed";

// Times are seconds of uptime.
struct FlapWindow {
  double now_s = 0;
  double length_s = 0;
  double from_s = 0;  // flaps while the node boots do not count
};

// How often the link went down.
struct FlapEvidence {
  Delta seen;  // over more than the window if the last run is longer ago
  std::string source;
};

// The rise of a counter in the window, or since the last run if that is longer ago.
std::optional<Delta> rise_in(const Snapshot& snapshot, const FlapWindow& window,
                             std::string_view key, std::uint64_t value) {
  auto delta = rise_of(snapshot, key, value, window.length_s, window.from_s);
  // Unlike a rate, a number of flaps may be from less than an hour.
  const double since_last_s = window.now_s - snapshot.earlier.last_uptime_s;
  if (delta) delta->seconds = std::min(delta->seconds, std::max(window.length_s, since_last_s));
  return delta;
}

void keep_larger(const FlapWindow& window, std::optional<FlapEvidence>& best, Delta seen,
                 std::string source) {
  if (!best || seen.in_window(window.length_s) > best->seen.in_window(window.length_s)) {
    best = FlapEvidence{seen, std::move(source)};
  }
}

const Fact<std::uint64_t>* counter_of(const ib::PortOf& at) {
  return ib::counter_in(at.port->counters, kCounter);
}

// The value of a saturated counter; it cannot show whether the link still flaps.
std::optional<std::uint64_t> saturated_value(const ib::PortOf& at) {
  const auto* counter = counter_of(at);
  const bool saturated = counter != nullptr && *counter && ib::is_saturated(kCounter, **counter);
  return saturated ? std::optional(**counter) : std::nullopt;
}

void add_interfaces(const Snapshot& snapshot, const ib::PortOf& at, const FlapWindow& window,
                    std::optional<FlapEvidence>& best) {
  if (!at.hca->netdevs) return;
  for (const Interface& interface : snapshot.network->interfaces) {
    if (std::ranges::count(*at.hca->netdevs, interface.name) == 0) continue;
    if (!interface.carrier_down_count) continue;
    const auto key = fmt::format("net.{}.carrier_down_count", interface.name);
    const auto delta = rise_in(snapshot, window, key, *interface.carrier_down_count);
    if (delta) {
      keep_larger(window, best, *delta, fmt::format("{} lost its carrier", interface.name));
    }
  }
}

// Only new kernels and recent drivers log that a link went down.
void add_kernel_log(const Snapshot& snapshot, const ib::PortOf& at, const FlapWindow& window,
                    std::optional<FlapEvidence>& best) {
  const double begin = std::max(window.now_s - window.length_s, window.from_s);
  const auto times = link_downs_by_adapter(snapshot, begin * 1e6);
  const auto found = times.find(at.hca->name);
  if (found != times.end()) {
    keep_larger(window, best, {found->second, window.length_s}, "kernel log");
  }
}

std::optional<FlapEvidence> evidence_of(const Snapshot& snapshot, const ib::PortOf& at,
                                        const FlapWindow& window) {
  std::optional<FlapEvidence> best;
  const auto* counter = counter_of(at);
  const auto key = fmt::format("ib.{}.{}.{}", at.hca->name, at.port->number, kCounter);
  const auto saturated = saturated_value(at);
  const auto delta = counter != nullptr && *counter && !saturated
                         ? rise_in(snapshot, window, key, **counter)
                         : std::nullopt;
  if (delta) {
    keep_larger(window, best, *delta, std::string(kCounter));
    // On a physical function the port's counter decides: interfaces can also be shut down.
    if (!at.hca->virtual_function) {
      // Unlike an old counter, log lines have times.
      if (delta->seconds > window.length_s) add_kernel_log(snapshot, at, window, best);
      return best;
    }
  }
  if (!saturated || at.hca->virtual_function) add_interfaces(snapshot, at, window, best);
  add_kernel_log(snapshot, at, window, best);
  return best;
}

// Why the port's own counter is unusable, unless virtual functions never have it.
std::optional<std::string> counter_problem(const ib::PortOf& at) {
  const auto* counter = counter_of(at);
  if (at.port->counters.is_unreadable()) {
    return fmt::format("cannot read {}: {}", kCounter, at.port->counters.why());
  }
  if (counter == nullptr) return fmt::format("the port does not offer {}", kCounter);
  if (counter->known()) return std::nullopt;
  if (counter->is_absent() && at.hca->virtual_function) return std::nullopt;
  return fmt::format("cannot read {}: {}", kCounter, counter->why());
}

// Counts a healthy port in `judged`.
std::optional<Finding> judge_port(const Snapshot& snapshot, const ib::PortOf& at,
                                  const FlapWindow& window, std::uint64_t most,
                                  std::size_t& judged) {
  const auto evidence = evidence_of(snapshot, at, window);
  if (evidence && evidence->seen.in_window(window.length_s) > static_cast<double>(most)) {
    const auto allowed = evidence->seen.seconds > window.length_s
                             ? fmt::format("{} in {}", most, in_time(window.length_s))
                             : fmt::format("{}", most);
    return ib::about(at, Outcome::fail,
                     fmt::format("link went down {} in {}, expected at most {} ({})",
                                 counted(evidence->seen.increments, "time"),
                                 in_time(std::max(evidence->seen.seconds, window.length_s)),
                                 allowed, evidence->source),
                     hardware_remedy(snapshot),
                     {count_value(evidence->seen.increments), count_value(most)});
  }
  if (const auto value = saturated_value(at)) return ib::saturated(at, kCounter, *value);
  if (const auto problem = counter_problem(at)) return ib::about(at, Outcome::unknown, *problem);
  if (evidence) ++judged;
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const IbFlapLimits& limits = profile.ib->flaps;
  if (!limits.max) return {not_limited("link flaps")};
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  const FlapWindow window{.now_s = *uptime,
                          .length_s = limits.window.value > 0 ? limits.window.value : *uptime,
                          .from_s = limits.ignore_after_boot.value};
  const auto most = static_cast<std::uint64_t>(*limits.max);
  Findings findings;
  std::size_t judged = 0;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    append(findings, judge_port(snapshot, at, window, most, judged));
  }
  if (!findings.empty()) return findings;
  if (judged == 0) {
    return {skipped("first observation in this boot: counting flaps needs an earlier one")};
  }
  return {passed(fmt::format("{} went down at most {} in {}", counted(judged, "link"),
                             counted(most, "time"), in_time(window.length_s)))};
}

}  // namespace

constinit const Check check = ib::check_of_hcas({
    .id = "ib.flaps",
    .title = "InfiniBand links do not flap",
    .why =
        "A link that goes down and comes back kills the jobs that use it, and then looks healthy "
        "again. This check counts how often each link went down in a window, except what a run "
        "sees in the first minutes after boot. ib.state reports a port that is down now.",
    .fix = "Reseat or replace the cable or optic; look at the switch port. In a cloud, report the "
           "node to the provider.",
    .code = "NHC2005",
    .needs = Probe::network,
    .looks_at = Probe::kernel_log,
    .judge = judge,
});

}  // namespace muster::checks::ib_flaps
