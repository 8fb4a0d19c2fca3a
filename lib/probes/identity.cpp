// SPDX-License-Identifier: Apache-2.0
// The node's name, boot, vendor and cloud instance, and its physical host if Azure reports it.

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kHostname = "/proc/sys/kernel/hostname";
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLargestInstanceData = 8UL * 1024 * 1024;  // user data may be part of it
constexpr std::size_t kLargestPool = 1024UL * 1024;  // 400 records; real pools have about ten

// Vendors leave fields empty, which the kernel shows as an empty line.
Result<std::string> read_dmi(const Root& root, std::string_view name) {
  const auto path = fmt::format("/sys/class/dmi/id/{}", name);
  auto text = read_filled(root, path);
  if (!text) return text;
  const auto value = trim(*text);
  if (value.empty()) return make_missing(fmt::format("{} is blank", path));
  return printable(value, kLongestName);
}

Result<std::string> read_physical_host(const Root& root) {
  return root.read("/var/lib/hyperv/.kvp_pool_3", kLargestPool).and_then(parse_physical_host);
}

// The world-readable file omits what cloud-init considers sensitive; for some clouds that is all of
// their metadata.
Result<std::string> read_instance_size(const Root& root) {
  const auto size_in = [&](std::string_view name) {
    return root.read(fmt::format("/run/cloud-init/{}", name), kLargestInstanceData)
        .and_then(parse_instance_size);
  };
  auto size = size_in("instance-data.json");
  if (size) return size;
  auto sensitive = size_in("instance-data-sensitive.json");
  return sensitive ? sensitive : size;
}

// x86 has a processor flag for it. On Arm only Xen's folder and the vendor's name show it.
bool read_hypervisor(const Root& root, const Identity& identity) {
  const auto cpuinfo = read_head(root, "/proc/cpuinfo", kCpuinfoHead);
  const auto flags = cpuinfo ? cpuinfo_field(*cpuinfo, "flags") : std::nullopt;
  if (flags) {
    const auto words = split_words(*flags);
    return std::find(words.begin(), words.end(), "hypervisor") != words.end();
  }
  const auto xen = root.read_line("/sys/hypervisor/type");
  if (xen && !xen->empty()) return true;
  return identity.dmi_product.value_or("").find("Virtual Machine") != std::string::npos ||
         identity.dmi_vendor.value_or("") == "QEMU";
}

}  // namespace

std::string read_hostname(const Root& root) {
  return printable(root.read_line(kHostname).value_or(""), kLongestName);
}

Section<Identity> probe_identity(const Root& root) {
  Identity identity;
  const auto hostname = root.read_line(kHostname);
  if (hostname) identity.hostname = printable(*hostname, kLongestName);
  identity.boot_id = required(read_text(root, "/proc/sys/kernel/random/boot_id"));
  identity.uptime_s = required(read_uptime(root));
  identity.dmi_vendor = read_dmi(root, "sys_vendor");
  identity.dmi_product = read_dmi(root, "product_name");
  identity.chassis_asset_tag = read_dmi(root, "chassis_asset_tag");
  identity.hypervisor = read_hypervisor(root, identity);
  identity.foreign_root = root.foreign();
  identity.physical_host = read_physical_host(root);
  identity.instance_size = read_instance_size(root);
  if (!root.foreign()) identity.container = read_container(root);

  const bool nothing = !hostname && !identity.boot_id && !identity.uptime_s &&
                       !identity.dmi_vendor && !identity.dmi_product;
  if (nothing) return not_observed<Identity>(hostname.error().message);
  return observed(std::move(identity));
}

}  // namespace muster
