// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/environment_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <pugixml.hpp>
#include <set>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"NCCL_", "UCX_", "SHARP_", "CUDA_DEVICE_ORDER"};
constexpr std::size_t kLongestNcclValue = 1023;  // NCCL truncates values to this

// Real bridges by their class; the switches that NCCL's files invent are in domain ffff.
bool is_bridge(const pugi::xml_node& pci, std::string_view address) {
  return std::string_view(pci.attribute("class").value()).starts_with("0x0604") ||
         address.starts_with("ffff:ff:");
}

// "0001:00:00.0", even if the file omits the domain or uses upper case.
std::string full_address(std::string_view busid) {
  auto address = lower_case(printable(busid, 64));
  if (std::count(address.begin(), address.end(), ':') == 1) return fmt::format("0000:{}", address);
  return address;
}

// Visits every element in document order.
class TopologyWalker final : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    const std::string_view name = node.name();
    if (name == "pci") add_device(node);
    if (name == "cpu") add_cpu(node);
    return missing_.empty();
  }

  [[nodiscard]] Result<NcclTopology> topology() {
    if (!missing_.empty()) return make_error(missing_);
    return std::move(topology_);
  }

 private:
  void add_device(const pugi::xml_node& pci) {
    const auto busid = pci.attribute("busid");
    if (!busid) missing_ = "a <pci> element has no busid";
    const auto address = full_address(busid.value());
    if (!is_bridge(pci, address)) topology_.pci_addresses.push_back(address);
  }

  void add_cpu(const pugi::xml_node& cpu) {
    const auto node = cpu.attribute("numaid");
    if (!node) missing_ = "a <cpu> element has no numaid";
    topology_.cpu_affinities.push_back(printable(
        fmt::format("{}={}", node.value(), cpu.attribute("affinity").value()), kLongestNcclValue));
  }

  NcclTopology topology_;
  std::string missing_;
};

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
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    // At the end of the text the offset may lie beyond it.
    const auto before =
        xml.substr(0, static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)));
    const auto line = 1 + std::ranges::count(before, '\n');
    return make_error(fmt::format("line {}: {}", line, parsed.description()));
  }
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "system") {
    return make_error(
        fmt::format("the root element is <{}>, expected <system>", printable(root.name(), 64)));
  }
  TopologyWalker walker;
  document.traverse(walker);
  return walker.topology();
}

}  // namespace muster
