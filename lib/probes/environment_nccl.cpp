// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/environment_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/parse/xml.hpp"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"NCCL_", "UCX_", "SHARP_", "CUDA_DEVICE_ORDER"};
constexpr std::size_t kLongestNcclValue = 1023;  // NCCL cuts values there

const std::string* attribute(const XmlElement& element, const std::string& name) {
  const auto found = element.attributes.find(name);
  return found == element.attributes.end() ? nullptr : &found->second;
}

// Real bridges by their class; the switches that files invent lie in domain ffff.
bool is_bridge(const XmlElement& pci, std::string_view address) {
  const auto* const device_class = attribute(pci, "class");
  return (device_class != nullptr && device_class->starts_with("0x0604")) ||
         address.starts_with("ffff:ff:");
}

// "0001:00:00.0", also where the domain is left out or the letters are large.
std::string full_address(std::string_view busid) {
  auto address = lower_case(printable(busid, 64));
  if (std::count(address.begin(), address.end(), ':') == 1) return fmt::format("0000:{}", address);
  return address;
}

Result<void> add_device(const XmlElement& pci, NcclTopology& topology) {
  const auto* const busid = attribute(pci, "busid");
  if (busid == nullptr) return make_error("a <pci> element has no busid");
  const std::string address = full_address(*busid);
  if (!is_bridge(pci, address)) topology.pci_addresses.push_back(address);
  return {};
}

Result<void> add_cpu(const XmlElement& cpu, NcclTopology& topology) {
  const auto* const node = attribute(cpu, "numaid");
  const auto* const mask = attribute(cpu, "affinity");
  if (node == nullptr) return make_error("a <cpu> element has no numaid");
  topology.cpu_affinities.push_back(
      printable(fmt::format("{}={}", *node, mask == nullptr ? "" : *mask), kLongestNcclValue));
  return {};
}

}  // namespace

bool steers_nccl(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<NcclSetting> parse_nccl_conf(std::string_view text, std::string_view path) {
  std::vector<NcclSetting> settings;
  std::set<std::string_view> seen;
  std::size_t number = 0;
  for (const auto line : split_lines(text)) {
    ++number;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = line.substr(0, equals);
    if (!steers_nccl(name) || !seen.insert(name).second) continue;
    settings.push_back({.name = printable(name),
                        .value = printable(line.substr(equals + 1), kLongestNcclValue),
                        .origin = fmt::format("{}:{}", path, number)});
  }
  return settings;
}

Result<NcclTopology> parse_nccl_topology(std::string_view xml) {
  TRY_ASSIGN(const auto elements, parse_xml(xml));
  if (elements.front().name != "system") {
    return make_error(fmt::format("the root element is <{}>, not <system>", elements.front().name));
  }
  NcclTopology topology;
  for (const auto& element : elements) {
    Result<void> done;
    if (element.name == "pci") done = add_device(element, topology);
    if (element.name == "cpu") done = add_cpu(element, topology);
    if (!done) return tl::unexpected(done.error());
  }
  return topology;
}

}  // namespace muster
