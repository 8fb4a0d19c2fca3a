// SPDX-License-Identifier: Apache-2.0
// pci.errors: PCIe errors that the kernel counted since earlier runs. Uncorrected ones fail,
// corrected ones above a rate warn.

#include <fmt/ranges.h>

#include <array>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks::pci_errors {
namespace {

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

CounterRises rises_of(const Snapshot& snapshot, const PciDevice& device, double window_s) {
  const auto delta = [&](std::string_view name, std::uint64_t value) {
    return rise_of(snapshot, fmt::format("pci.{}.{}", device.address, name), value, window_s);
  };
  return {.fatal = delta("fatal", device.aer->fatal),
          .non_fatal = delta("non_fatal", device.aer->non_fatal),
          .correctable = delta("correctable", device.aer->correctable)};
}

Finding uncorrected(const PciDevice& device, const Delta& delta, std::string_view severity,
                    Remedy remedy) {
  return failed(device.address,
                fmt::format("{} in {} at the {} {}",
                            counted(delta.increments, fmt::format("{} PCIe error", severity)),
                            in_time(delta.seconds), pci::word_for(device.kind), device.address),
                remedy, {count_value(delta.increments), 0, "errors"});
}

// Only the worst severity: one incident raises several.
std::optional<Finding> worst_of(const PciDevice& device, const CounterRises& seen,
                                const Limit<double>& correctable_limit, Remedy remedy) {
  if (seen.fatal && seen.fatal->increments > 0)
    return uncorrected(device, *seen.fatal, "fatal", remedy);
  if (seen.non_fatal && seen.non_fatal->increments > 0) {
    return uncorrected(device, *seen.non_fatal, "non-fatal uncorrected", remedy);
  }
  if (!correctable_limit || !seen.correctable || seen.correctable->per_hour() <= *correctable_limit)
    return std::nullopt;
  return warned(device.address,
                fmt::format("{:.0f} corrected PCIe errors per hour at the {} {}, limit {:g}",
                            seen.correctable->per_hour(), pci::word_for(device.kind),
                            device.address, *correctable_limit),
                Remedy::watch, {seen.correctable->per_hour(), *correctable_limit, "errors/h"});
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

void judge_device(const Snapshot& snapshot, const PciDevice& device, const PciErrorLimits& limits,
                  ErrorFindings& errors) {
  if (device.aer.is_absent()) {
    // Bridges often have no counters; the devices below them do.
    if (device.kind != PciKind::bridge) errors.without_counters.push_back(&device);
    return;
  }
  if (!device.aer) {
    errors.findings.push_back(not_known(device.address, "the number of PCIe errors", device.aer));
    return;
  }
  const double window_s =
      limits.window.value > 0 ? limits.window.value : *snapshot.identity->uptime_s;
  const auto seen = rises_of(snapshot, device, window_s);
  if (!seen.fatal && !seen.non_fatal && !seen.correctable) {
    errors.first_seen.push_back(&device);
    return;
  }
  ++errors.judged;
  append(errors.findings,
         worst_of(device, seen, limits.correctable_warn_above_per_hour, hardware_remedy(snapshot)));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  if (!snapshot.identity->uptime_s) {
    return {not_known(kNode, "the time since boot", snapshot.identity->uptime_s)};
  }
  ErrorFindings errors;
  for (const auto& device : snapshot.pci->devices) {
    if (!counts_errors(device) || pci::is_silent(device)) continue;
    const auto before = errors.findings.size();
    judge_device(snapshot, device, profile.pci->errors, errors);
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
      "no rate yet: PCIe errors seen for the first time in this boot, or cleared since");
  if (healthy) {
    errors.findings.push_back(
        passed(fmt::format("no PCIe errors above limits at {}", counted(errors.judged, "device"))));
  }
  return errors.findings;
}

}  // namespace

constinit const Check check{
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
    .judge = judge,
};

}  // namespace muster::checks::pci_errors
