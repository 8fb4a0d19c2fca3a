// SPDX-License-Identifier: Apache-2.0
// Who a node is: its name, its boot and the machine it runs on.
#pragma once

#include <string>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Identity {
  std::string hostname;       // root's proc/sys/kernel/hostname
  Fact<std::string> boot_id;  // proc/sys/kernel/random/boot_id
  Fact<double> uptime_s;
  Fact<std::string> dmi_vendor;
  Fact<std::string> dmi_product;
  Fact<std::string> chassis_asset_tag;
  bool hypervisor = false;
  bool foreign_root = false;
  Fact<std::string> physical_host;

  template <class Self = Identity>
  static constexpr auto fields() {
    return std::tuple{
        field("hostname", &Self::hostname, "the node's name"),
        field("boot_id", &Self::boot_id, "changes with every boot"),
        field("uptime_s", &Self::uptime_s, "seconds since boot, when the snapshot was taken"),
        field("dmi_vendor", &Self::dmi_vendor, "DMI sys_vendor"),
        field("dmi_product", &Self::dmi_product, "DMI product_name"),
        field("chassis_asset_tag",
              &Self::chassis_asset_tag,
              "DMI chassis asset tag; the same on every Azure VM"),
        field("hypervisor", &Self::hypervisor, "the processor says it runs under a hypervisor"),
        field("foreign_root",
              &Self::foreign_root,
              "observed below --root: live interfaces could not be asked"),
        field("physical_host",
              &Self::physical_host,
              "Azure: name of the physical host, from the Hyper-V key-value pool")};
  }

  bool operator==(const Identity&) const = default;
};

}  // namespace muster
