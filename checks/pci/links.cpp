// SPDX-License-Identifier: Apache-2.0
// The links of the PCI bus and their errors.
#include <fmt/ranges.h>

#include <array>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/peers.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks {
namespace {

// pci.errors: PCIe errors that the kernel counted since earlier runs. Uncorrected ones fail,
// corrected ones above a rate warn.

struct ErrorFindings {
  Findings findings;
  std::vector<const PciDevice*> without_counters;
  std::vector<const PciDevice*> first_seen;
  std::size_t judged = 0;
};

bool counts_errors(const PciDevice& device) {
  if (device.virtual_function) return false;  // the physical function counts
  return device.kind == PciKind::gpu || device.kind == PciKind::hca ||
         device.kind == PciKind::nvswitch || device.kind == PciKind::bridge;
}

// The rise of one device's counters in the window.
struct CounterRises {
  std::optional<Delta> fatal;
  std::optional<Delta> non_fatal;
  std::optional<Delta> correctable;
};

CounterRises rises_of(const Snapshot& snapshot, const PciDevice& device, Seconds window) {
  const double window_s = window.value > 0 ? window.value : *snapshot.identity->uptime_s;
  const auto delta = [&](std::string_view name, std::uint64_t value) {
    return rise_of(snapshot, fmt::format("pci.{}.{}", device.address, name), value, window_s);
  };
  return {.fatal = delta("fatal", device.aer->fatal),
          .non_fatal = delta("non_fatal", device.aer->non_fatal),
          .correctable = delta("correctable", device.aer->correctable)};
}

// Only the worst severity: one incident raises several.
std::optional<Finding> worst_of(const PciDevice& device, const CounterRises& seen,
                                const Limit<double>& correctable_limit, Remedy remedy) {
  for (const auto& [delta, error] :
       {std::pair(&seen.fatal, "fatal PCIe error"),
        std::pair(&seen.non_fatal, "non-fatal uncorrected PCIe error")}) {
    if (!*delta || (*delta)->increments == 0) continue;
    const auto count = (*delta)->increments;
    return failed(
        device.address,
        fmt::format("{} in {} at the {} {}", counted(count, error), in_time((*delta)->seconds),
                    pci::word_for(device.kind), device.address),
        remedy, {count_value(count), 0, "errors"});
  }
  if (!correctable_limit || !seen.correctable) return std::nullopt;
  const double per_hour = seen.correctable->per_hour();
  if (per_hour <= *correctable_limit) return std::nullopt;
  return warned(
      device.address,
      fmt::format("{:.0f} corrected PCIe errors per hour at the {} {}, limit {:g}", per_hour,
                  pci::word_for(device.kind), device.address, *correctable_limit),
      Remedy::watch, {per_hour, *correctable_limit, "errors/h"});
}

// Bits of AER's register of uncorrectable errors that mean lost or damaged data. Device discovery
// sets others.
constexpr std::array<std::pair<unsigned, std::string_view>, 8> kRecorded{{
    {4, "data link protocol error"},
    {12, "poisoned data"},
    {13, "flow control error"},
    {14, "completion timeout"},
    {17, "receiver overflow"},
    {18, "malformed packet"},
    {19, "checksum error"},
    {22, "internal error"},
}};

// Warns about errors in an HCA's register, because their time is unknown.
std::optional<Finding> recorded_errors(const PciDevice& device) {
  const auto& status = device.uncorrectable_status;
  constexpr unsigned kNoResponse = 0xffffffff;
  if (!status || *status == kNoResponse) return std::nullopt;
  std::vector<std::string_view> words;
  for (const auto& [bit, word] : kRecorded) {
    if ((*status >> bit & 1U) != 0) words.push_back(word);
  }
  if (words.empty()) return std::nullopt;
  return warned(device.address,
                fmt::format("the {} {} has uncorrected PCIe errors on record: {}",
                            pci::word_for(device.kind), device.address, fmt::join(words, ", ")),
                Remedy::watch, {*status});
}

void judge_device_errors(const Snapshot& snapshot, const PciDevice& device,
                         const PciErrorLimits& limits, ErrorFindings& errors) {
  if (device.aer.is_absent()) {
    // Bridges often have no counters; the devices below them do.
    if (device.kind != PciKind::bridge) errors.without_counters.push_back(&device);
    return;
  }
  if (!device.aer) {
    errors.findings.push_back(not_known(device.address, "the number of PCIe errors", device.aer));
    return;
  }
  for (const auto value : {device.aer->fatal, device.aer->non_fatal, device.aer->correctable}) {
    if (!is_saturated(value)) continue;
    errors.findings.push_back(
        warned(device.address, fmt::format("a counter of PCIe errors is saturated at {}", value),
               Remedy::watch, {count_value(value)}));
    return;
  }
  const auto seen = rises_of(snapshot, device, limits.window);
  if (!seen.fatal && !seen.non_fatal && !seen.correctable) {
    errors.first_seen.push_back(&device);
    return;
  }
  ++errors.judged;
  append(errors.findings,
         worst_of(device, seen, limits.correctable_warn_above_per_hour, hardware_remedy(snapshot)));
}

Findings judge_pci_errors(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  if (!snapshot.identity->uptime_s) {
    return {not_known(kNode, "the time since boot", snapshot.identity->uptime_s)};
  }
  ErrorFindings errors;
  for (const auto& device : snapshot.pci->devices) {
    if (!counts_errors(device) || pci::is_silent(device)) continue;
    const auto before = errors.findings.size();
    judge_device_errors(snapshot, device, profile.pci->errors, errors);
    if (errors.findings.size() == before) append(errors.findings, recorded_errors(device));
  }
  const bool healthy = errors.findings.empty() && errors.judged > 0;
  pci::add_for_all(
      errors.findings, snapshot.identity->hypervisor ? Outcome::skip : Outcome::unknown,
      errors.without_counters,
      snapshot.identity->hypervisor ? "the hypervisor hides PCIe errors"
                                    : "the kernel does not count its PCIe errors (no AER)");
  pci::add_for_all(
      errors.findings, Outcome::skip, errors.first_seen,
      "no rate yet: first reading of PCIe errors since boot, or since they were cleared");
  if (healthy) {
    errors.findings.push_back(
        passed(fmt::format("no PCIe errors above limits at {}", counted(errors.judged, "device"))));
  }
  return errors.findings;
}

void margins_of_pci_errors(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.identity->uptime_s) return;
  margins.in(kHour, MarginUnit::per_second);
  const auto& limits = profile.pci->errors;
  for (const auto& device : snapshot.pci->devices) {
    if (!counts_errors(device) || pci::is_silent(device) || !device.aer) continue;
    const auto seen = rises_of(snapshot, device, limits.window).correctable;
    if (!seen || is_saturated(device.aer->correctable)) continue;
    // Bridges are many: only the worst is shown.
    const bool is_bridge = device.kind == PciKind::bridge;
    margins.at_most(is_bridge ? kNode : std::string_view(device.address), "corrected",
                    seen->per_hour(), limits.correctable_warn_above_per_hour);
  }
}

// pci.link: the links of GPUs and HCAs have all their lanes and full speed. An idle GPU slows its
// link down on purpose, so only a busy GPU's current speed is judged, and otherwise the maximum.

constexpr double kRounding = 0.01;  // speeds are parsed from rounded texts

struct LinkFindings {
  Findings findings;
  std::vector<const PciDevice*> unmeasurable;
  std::string why;  // of the first of them
  std::size_t judged = 0;
};

// The width or speed of one link.
template <class T>
struct LinkProperty {
  const Fact<T>& observed;
  Limit<T> expected;
  bool certain = false;  // expected by the profile or most peers, not by the device's own maximum
};

// NVML's facts about a GPU of the bus; null if missing.
const Gpu* nvml_of(const Snapshot& snapshot, const PciDevice& device) {
  const bool is_known = device.kind == PciKind::gpu && snapshot.nvml.ok();
  return is_known ? gpu_at(snapshot, device.address) : nullptr;
}

// The current speed of a GPU that computes at its highest performance state; empty for a GPU that
// may have slowed its link down.
Fact<double> busy_speed_of(const Snapshot& snapshot, const PciDevice& device) {
  constexpr unsigned kBusyPercent = 50;
  const Gpu* gpu = nvml_of(snapshot, device);
  const bool busy = gpu != nullptr && gpu->utilisation.value_or(0) >= kBusyPercent &&
                    gpu->clocks.performance_state.value_or(1) == 0;
  const auto speed = pci::speed_of_generation(busy ? gpu->link.generation.value_or(0) : 0);
  return speed ? Fact<double>(*speed) : Fact<double>::absent("the GPU is idle");
}

// The same if GPU and slot could be faster together.
Fact<double> speed_at_work(const Snapshot& snapshot, const PciDevice& device) {
  const auto now = busy_speed_of(snapshot, device);
  if (!now) return now;
  const auto& link = nvml_of(snapshot, device)->link;
  const bool could_be_faster = *link.generation < link.generation_max.value_or(pci::kSpeeds.size());
  return could_be_faster ? now : Fact<double>::absent("the GPU is idle");
}

// HCAs next to GPUs are not compared with others.
std::string kind_of(const Snapshot& snapshot, const PciDevice& device) {
  return fmt::format("{:04x}:{:04x} {}", device.vendor, device.device,
                     device.kind == PciKind::hca && pci::is_near_gpu(snapshot, device));
}

struct PeerLinks {
  Peers widths;
  Peers speeds;
  Peers busy_speeds;  // of GPUs
};

// The maximum speed of a GPU. NVML's is that of GPU and slot together.
Fact<double> fastest_of(const Snapshot& snapshot, const PciDevice& device) {
  const Gpu* gpu = nvml_of(snapshot, device);
  const auto with_slot =
      pci::speed_of_generation(gpu == nullptr ? 0 : gpu->link.generation_max.value_or(0));
  const auto& own = device.link_speed_max_gts;
  return with_slot && own && *with_slot < *own ? Fact<double>(*with_slot) : own;
}

PeerLinks peer_links_of(const Snapshot& snapshot, const std::vector<PciDevice>& devices) {
  PeerLinks peers;
  for (const auto& device : devices) {
    const auto kind = kind_of(snapshot, device);
    if (device.link_width) {
      peers.widths.add(kind, device.address, static_cast<double>(*device.link_width));
    }
    const auto speed =
        device.kind == PciKind::gpu ? fastest_of(snapshot, device) : device.link_speed_gts;
    if (speed) peers.speeds.add(kind, device.address, *speed);
    if (const auto busy = busy_speed_of(snapshot, device)) {
      peers.busy_speeds.add(kind, device.address, *busy);
    }
  }
  return peers;
}

// Expects the profile's limit, or else the value of most peers if this device has less, or else
// the device's own maximum.
template <class T>
LinkProperty<T> property_of(const Fact<T>& observed, std::optional<double> limit,
                            std::optional<double> usual, const Fact<T>& maximum) {
  LinkProperty<T> property{.observed = observed};
  if (!limit && usual && observed && static_cast<double>(*observed) < *usual) limit = usual;
  if (limit) {
    property.expected = static_cast<T>(*limit);
    property.certain = true;
  } else if (maximum) {
    property.expected = *maximum;
  } else if (usual) {
    property.expected = static_cast<T>(*usual);
  }
  return property;
}

// Adds NVML's facts about the link if the kernel has none, as below some hypervisors.
PciDevice with_nvml_link(const Snapshot& snapshot, const PciDevice& device) {
  const Gpu* gpu = nvml_of(snapshot, device);
  PciDevice known = device;
  if (gpu == nullptr) return known;
  const auto& link = gpu->link;
  if (known.link_width.is_absent() && link.width) known.link_width = link.width;
  if (known.link_width_max.is_absent() && link.width_max) known.link_width_max = link.width_max;
  const auto speed = pci::speed_of_generation(link.generation_max.value_or(0));
  if (known.link_speed_max_gts.is_absent() && speed) known.link_speed_max_gts = *speed;
  return known;
}

// Lowers a GPU's maximum to that of its slot if most GPUs like it have faster slots.
void limit_to_slot(const Snapshot& snapshot, const PeerLinks& peers, PciDevice& device) {
  if (device.kind != PciKind::gpu) return;
  const auto fastest = fastest_of(snapshot, device);
  const auto usual = peers.speeds.usual_of(kind_of(snapshot, device));
  if (fastest && usual && *fastest + kRounding < *usual) device.link_speed_max_gts = fastest;
}

// Adds a finding and returns false if the property or the device's maximum is unreadable.
template <class T>
bool is_readable(const PciDevice& device, std::string_view what, const LinkProperty<T>& property,
                 const Fact<T>& maximum, LinkFindings& links) {
  for (const auto* fact : {&property.observed, &maximum}) {
    if (!fact->is_unreadable() || (fact == &maximum && property.expected)) continue;
    links.findings.push_back(not_known(device.address, what, *fact));
    return false;
  }
  return true;
}

template <class T>
bool is_below(const LinkProperty<T>& property, double rounding) {
  return property.observed && property.expected &&
         static_cast<double>(*property.observed) + rounding <
             static_cast<double>(*property.expected);
}

// Empty if the property could be judged.
template <class T>
std::string why_unmeasurable(const LinkProperty<T>& property) {
  if (!property.observed) return property.observed.why();
  if (!property.expected) return "neither the profile nor the device has an expected value";
  return {};
}

std::string_view slow_gpu_verb(const LinkProperty<double>& speed, const PciDevice& device) {
  const bool at_most = device.link_speed_max_gts &&
                       *device.link_speed_max_gts <= speed.observed.value_or(0) + kRounding;
  return at_most ? "has a maximum of" : "is busy at";
}

Finding narrow_or_slow(const PciDevice& device, const LinkProperty<unsigned>& width,
                       const LinkProperty<double>& speed, Remedy remedy) {
  const bool slow = is_below(speed, kRounding);
  const bool narrow = is_below(width, 0);
  // The wiring of slots is unknown: some boards give a x16 device only eight lanes.
  const bool certain = (slow && speed.certain) || (narrow && width.certain);
  std::string have;
  std::string want;
  if (narrow) {
    have = fmt::format("x{}", *width.observed);
    want = fmt::format("x{}", *width.expected);
  }
  if (slow) {
    have = fmt::format("{}{}{:g} GT/s", have, narrow ? " at " : "", *speed.observed);
    want = fmt::format("{}{}{:g} GT/s", want, narrow ? " at " : "", *speed.expected);
  }
  return about(
      device.address, certain ? Outcome::fail : Outcome::warn,
      fmt::format(
          "PCIe link of the {} at {} {} {}, expected {}", pci::word_for(device.kind),
          device.address,
          slow && !narrow && device.kind == PciKind::gpu ? slow_gpu_verb(speed, device) : "is",
          have, want),
      remedy,
      narrow ? Values{*width.observed, *width.expected, "lanes"}
             : Values{*speed.observed, *speed.expected, "GT/s"});
}

void judge_link(const Snapshot& snapshot, const PciDevice& device, const LinkLimit& limit,
                const PeerLinks& peers, LinkFindings& links) {
  const auto kind = kind_of(snapshot, device);
  std::optional<double> wanted_width;
  if (limit.width && *limit.width > 0) wanted_width = *limit.width;
  const auto width = property_of(device.link_width, wanted_width, peers.widths.usual_of(kind),
                                 device.link_width_max);
  std::optional<double> wanted_speed;
  if (limit.speed) wanted_speed = limit.speed->value / kGiga;
  const bool is_gpu = device.kind == PciKind::gpu;
  const auto speed =
      property_of(is_gpu ? device.link_speed_max_gts : device.link_speed_gts, wanted_speed,
                  peers.speeds.usual_of(kind), device.link_speed_max_gts);
  const Fact<double> now = speed_at_work(snapshot, device);
  const auto usual = peers.busy_speeds.usual_of(kind);
  LinkProperty<double> at_work{
      .observed = now, .expected = speed.expected, .certain = speed.certain};
  if (now && usual && *now + kRounding < *usual && !speed.certain) {
    at_work.expected = *usual;
    at_work.certain = true;
  }
  const bool can_be_faster = !is_below(speed, kRounding);
  const bool slow_at_work = can_be_faster && is_below(at_work, kRounding);
  if (slow_at_work || !can_be_faster || is_below(width, 0)) {
    ++links.judged;
    links.findings.push_back(
        narrow_or_slow(device, width, slow_at_work ? at_work : speed, hardware_remedy(snapshot)));
    return;
  }
  if (!is_readable(device, "the link's width", width, device.link_width_max, links)) return;
  if (!is_readable(device, "the link's speed", speed, device.link_speed_max_gts, links)) return;
  auto why = why_unmeasurable(width);
  if (why.empty()) why = why_unmeasurable(speed);
  if (!why.empty()) {
    if (links.unmeasurable.empty()) links.why = why;
    links.unmeasurable.push_back(&device);
    return;
  }
  ++links.judged;
}

Findings judge_pci_links(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  LinkFindings links;
  std::vector<PciDevice> devices;
  for (const auto* device : pci::endpoints(snapshot)) {
    devices.push_back(with_nvml_link(snapshot, *device));
  }
  const PeerLinks peers = peer_links_of(snapshot, devices);
  for (auto& device : devices) {
    limit_to_slot(snapshot, peers, device);
    const auto& limit = device.kind == PciKind::gpu ? profile.pci->link.gpu : profile.pci->link.hca;
    judge_link(snapshot, device, limit, peers, links);
  }
  const bool healthy = links.findings.empty() && links.judged > 0;
  const bool skip = profile.pci->link.unmeasurable == Unmeasurable::skip;
  pci::add_for_all(links.findings, skip ? Outcome::skip : Outcome::unknown, links.unmeasurable,
                   fmt::format("the PCIe link cannot be judged: {}", links.why));
  if (healthy) {
    links.findings.push_back(
        passed(fmt::format("{} at full width and speed; of idle GPUs the maximum speed was judged",
                           counted(links.judged, "PCIe link"))));
  }
  return links.findings;
}

}  // namespace

constinit const Check pci_errors::check{
    .id = "pci.errors",
    .title = "No PCIe errors since earlier runs",
    .why =
        "The kernel counts Advanced Error Reporting messages: corrected errors, which cost a "
        "retransmission, and uncorrected ones, non-fatal or fatal to the link, which lost data. "
        "The counters of GPUs, HCAs, NVSwitches and the bridges above them are compared with "
        "earlier runs of this boot; a first run has no rate. The register of uncorrected errors of "
        "an HCA keeps its bits until they are cleared, so they only warn. Below a hypervisor these "
        "errors are hidden.",
    .fix =
        "Uncorrected errors: drain the node and reboot it; if they come back, reseat or replace "
        "the card, its riser or its cable, or report it to the provider. Corrected errors: watch "
        "them, and check the link's width and speed.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge_pci_errors,
    .margins = margins_of_pci_errors,
};

constinit const Check pci_link::check{
    .id = "pci.link",
    .title = "PCIe links of GPUs and HCAs have full width and speed",
    .why =
        "Compares the link width of each GPU and HCA, the link speed of each HCA, and the maximum "
        "link speed of each GPU with the profile or else with most devices like it. If the kernel "
        "does not report a GPU's link, NVML does. A link that is only below the device's own "
        "maximum warns, because the wiring of its slot is unknown. A link that trained with fewer "
        "lanes or at a lower generation silently halves every copy and message. An idle GPU lowers "
        "its link speed to save power: the current speed is judged only if the GPU is busy "
        "(highest performance state, busy for at least half of the time), and otherwise the "
        "maximum speed.",
    .fix =
        "Reboot the node once: links are trained at boot. If it stays narrow or slow, redeploy a "
        "virtual machine and report the fault to the provider; on bare metal reseat the card, "
        "riser or cable, then replace it.",
    .needs = Probe::pci | Probe::identity,
    .looks_at = Probe::nvml,
    .when_absent = WhenAbsent::judge,
    .judge = judge_pci_links,
};

}  // namespace muster::checks
