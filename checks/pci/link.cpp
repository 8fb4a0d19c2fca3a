// SPDX-License-Identifier: Apache-2.0
// GPUs and HCAs use all their lanes and their full speed. An idle GPU slows its link down on
// purpose: that of one at work is judged, and of the others what they could reach.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/agreement.hpp"
#include "checks/shared/pci_bus.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/pci.hpp"

namespace muster::checks::pci_link {
namespace {

constexpr double kRounding = 0.01;  // of the texts that speeds are read from

// What is said about the links of all devices.
struct Links {
  Findings findings;
  std::vector<const PciDevice*> unmeasurable;
  std::string why;  // of the first of them
  std::size_t judged = 0;
};

// One property of one link: what it is, and the least it must be.
template <class T>
struct Property {
  const Fact<T>& observed;
  Limit<T> expected;
  bool certain = false;  // by the profile or by most devices like it, and not by its own maximum
};

// NVML's word on a GPU of the bus; null where it has none.
const Gpu* nvml_of(const Snapshot& snapshot, const PciDevice& device) {
  const bool told = device.kind == PciKind::gpu && snapshot.nvml.ok();
  return told ? gpu_at(snapshot, device.address) : nullptr;
}

// The speed now of a GPU that computes at its highest performance state, as NVML tells both at one
// time; empty for one that may have slowed its link down.
Fact<double> busy_speed_of(const Snapshot& snapshot, const PciDevice& device) {
  constexpr unsigned kBusyPercent = 50;
  const Gpu* gpu = nvml_of(snapshot, device);
  const bool busy = gpu != nullptr && gpu->utilisation.value_or(0) >= kBusyPercent &&
                    gpu->clocks.performance_state.value_or(1) == 0;
  const auto speed = pci::speed_of_generation(busy ? gpu->link.generation.value_or(0) : 0);
  return speed ? Fact<double>(*speed) : Fact<double>::absent("the GPU is not at work");
}

// The same where it is less than what GPU and slot can do together; below a hypervisor the slot is
// none of this node's.
Fact<double> speed_at_work(const Snapshot& snapshot, const PciDevice& device) {
  const auto now = busy_speed_of(snapshot, device);
  if (!now) return now;
  const auto& link = nvml_of(snapshot, device)->link;
  const bool could_be_faster = *link.generation < link.generation_max.value_or(pci::kSpeeds.size());
  return could_be_faster ? now : Fact<double>::absent("the GPU is not at work");
}

// An HCA beside GPUs is no sister of one that is not.
std::string kind_of(const Snapshot& snapshot, const PciDevice& device) {
  return fmt::format("{:04x}:{:04x} {}", device.vendor, device.device,
                     device.kind == PciKind::hca && pci::is_beside_a_gpu(snapshot, device));
}

// Devices of one make that do the same work.
struct LinkSisters {
  Sisters widths;
  Sisters speeds;
  Sisters busy_speeds;  // of GPUs at work
};

LinkSisters sisters_among(const Snapshot& snapshot, const std::vector<PciDevice>& devices) {
  LinkSisters sisters;
  for (const auto& device : devices) {
    const auto kind = kind_of(snapshot, device);
    if (device.link_width) {
      sisters.widths.add({kind, device.address, static_cast<double>(*device.link_width)});
    }
    if (device.link_speed_gts && device.kind != PciKind::gpu) {
      sisters.speeds.add({kind, device.address, *device.link_speed_gts});
    }
    if (const auto busy = busy_speed_of(snapshot, device)) {
      sisters.busy_speeds.add({kind, device.address, *busy});
    }
  }
  return sisters;
}

// The profile's limit; else what most devices like it have, where this one has less; else the most
// that it can do itself.
template <class T>
Property<T> property_of(const Fact<T>& observed, std::optional<double> limit,
                        std::optional<double> usual, const Fact<T>& maximum) {
  Property<T> property{.observed = observed};
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

Property<unsigned> width_of(const PciDevice& device, const LinkLimit& limit,
                            std::optional<double> usual) {
  std::optional<double> wanted;
  if (limit.width && *limit.width > 0) wanted = *limit.width;
  return property_of(device.link_width, wanted, usual, device.link_width_max);
}

Property<double> speed_of(const PciDevice& device, const LinkLimit& limit,
                          std::optional<double> usual) {
  std::optional<double> wanted;
  if (limit.speed) wanted = limit.speed->value / kGiga;
  const auto& observed =
      device.kind == PciKind::gpu ? device.link_speed_max_gts : device.link_speed_gts;
  return property_of(observed, wanted, usual, device.link_speed_max_gts);
}

// The device with what NVML tells of its link where the kernel does not know, as below some
// hypervisors.
PciDevice completed(const Snapshot& snapshot, const PciDevice& device) {
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

// False, with what to say, where the property or the device's word for its limit cannot be
// understood.
template <class T>
bool readable(const PciDevice& device, std::string_view what, const Property<T>& property,
              const Fact<T>& maximum, Links& links) {
  for (const auto* fact : {&property.observed, &maximum}) {
    if (!fact->is_unreadable() || (fact == &maximum && property.expected)) continue;
    links.findings.push_back(not_known(device.address, what, *fact));
    return false;
  }
  return true;
}

template <class T>
bool below(const Property<T>& property, double rounding) {
  return property.observed && property.expected &&
         static_cast<double>(*property.observed) + rounding <
             static_cast<double>(*property.expected);
}

// Empty when both properties could be compared with something.
template <class T>
std::string why_unmeasurable(const Property<T>& property) {
  if (!property.observed) return property.observed.why();
  if (!property.expected) return "neither the profile nor the device says what to expect";
  return {};
}

// A GPU is slow at work, or could not be faster.
std::string_view words_for_slow(const Property<double>& speed, const PciDevice& device) {
  const bool at_most = device.link_speed_max_gts &&
                       *device.link_speed_max_gts <= speed.observed.value_or(0) + kRounding;
  return at_most ? "can do no more than" : "is, at work,";
}

Finding narrow_or_slow(const PciDevice& device, const Property<unsigned>& width,
                       const Property<double>& speed, Remedy remedy) {
  const bool slow = below(speed, kRounding);
  const bool narrow = below(width, 0);
  // How a slot is wired is not known: many a board gives a x16 device eight lanes for good.
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
          "the PCIe link of the {} at {} {} {}, expected {}", pci::word_for(device.kind),
          device.address,
          slow && !narrow && device.kind == PciKind::gpu ? words_for_slow(speed, device) : "is",
          have, want),
      remedy,
      narrow ? Values{*width.observed, *width.expected, "lanes"}
             : Values{*speed.observed, *speed.expected, "GT/s"});
}

void judge_link(const Snapshot& snapshot, const PciDevice& device, const LinkLimit& limit,
                const LinkSisters& sisters, Links& links) {
  const auto kind = kind_of(snapshot, device);
  const auto width = width_of(device, limit, sisters.widths.usual_of(kind));
  const auto speed = speed_of(device, limit, sisters.speeds.usual_of(kind));
  const Fact<double> now = speed_at_work(snapshot, device);
  const auto usual = sisters.busy_speeds.usual_of(kind);
  Property<double> at_work{.observed = now, .expected = speed.expected, .certain = speed.certain};
  if (now && usual && *now + kRounding < *usual && !speed.certain) {
    at_work.expected = *usual;
    at_work.certain = true;
  }
  const bool could_do_more = !below(speed, kRounding);
  const bool slow_at_work = could_do_more && below(at_work, kRounding);
  if (slow_at_work || !could_do_more || below(width, 0)) {
    ++links.judged;
    links.findings.push_back(
        narrow_or_slow(device, width, slow_at_work ? at_work : speed, hardware_remedy(snapshot)));
    return;
  }
  if (!readable(device, "the link's width", width, device.link_width_max, links)) return;
  if (!readable(device, "the link's speed", speed, device.link_speed_max_gts, links)) return;
  auto why = why_unmeasurable(width);
  if (why.empty()) why = why_unmeasurable(speed);
  if (!why.empty()) {
    if (links.unmeasurable.empty()) links.why = why;
    links.unmeasurable.push_back(&device);
    return;
  }
  ++links.judged;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  Links links;
  std::vector<PciDevice> devices;
  for (const auto* device : pci::endpoints(snapshot)) {
    devices.push_back(completed(snapshot, *device));
  }
  const LinkSisters sisters = sisters_among(snapshot, devices);
  for (const auto& device : devices) {
    const auto& limit = device.kind == PciKind::gpu ? profile.pci->link.gpu : profile.pci->link.hca;
    judge_link(snapshot, device, limit, sisters, links);
  }
  const bool all_well = links.findings.empty() && links.judged > 0;
  const bool skip = profile.pci->link.unmeasurable == Unmeasurable::skip;
  pci::add_for_all(links.findings, skip ? Outcome::skip : Outcome::unknown, links.unmeasurable,
                   fmt::format("the PCIe link cannot be measured: {}", links.why));
  if (all_well) {
    links.findings.push_back(passed(fmt::format(
        "{} at full width; of GPUs only those at work are judged by their speed of this moment",
        counted(links.judged, "PCIe link"))));
  }
  return links.findings;
}

}  // namespace

constinit const Check check{
    .id = "pci.link",
    .title = "PCIe links of GPUs and HCAs have their full width and speed",
    .why =
        "Compares the width of each GPU's and HCA's link with the profile, or else with most "
        "devices like it, and the speed of each HCA's likewise. Where the kernel does not know a "
        "GPU's link, NVML tells. Below what the device itself could do is a warning only: how its "
        "slot is wired is not known. A link that trained with fewer lanes or at a lower generation "
        "halves every copy and every message through it, without any error. A GPU at idle lowers "
        "its link's speed to save power: the speed of this moment is judged where the GPU is at "
        "work (highest performance state, busy for half of the time or more), and else the most "
        "that it could reach.",
    .fix =
        "Reboot the node once: links are trained at boot. If it stays narrow or slow, a virtual "
        "machine is redeployed and the fault reported to the provider; on bare metal the card, "
        "riser or cable is reseated, then replaced.",
    .needs = Probe::pci | Probe::identity,
    .looks_at = Probe::nvml,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::pci_link
