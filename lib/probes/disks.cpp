// SPDX-License-Identifier: Apache-2.0
// Local NVMe namespaces and their controllers, md arrays, and devices on other devices.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <regex>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kNvme = "/sys/class/nvme";
constexpr std::string_view kBlock = "/sys/block";
constexpr std::uint64_t kSector = 512;  // the unit of `size` for every device

// The names in a folder; none if it does not exist.
Result<std::vector<std::string>> list_if_any(const Root& root, std::string_view folder) {
  auto names = root.list(folder);
  if (!names && names.error().missing) return std::vector<std::string>();
  return names;
}

// The block device of a namespace's folder: nvme0n1 itself, or nvme0n1 for the path nvme0c1n1 of
// native multipath.
std::optional<std::string> block_name(const std::string& folder) {
  static const std::regex kNamespace("(nvme[0-9]+)(c[0-9]+)?(n[0-9]+)");
  std::smatch parts;
  if (!std::regex_match(folder, parts, kNamespace)) return std::nullopt;
  return fmt::format("{}{}", parts.str(1), parts.str(3));
}

Result<std::uint64_t> read_size(const Root& root, std::string_view folder) {
  const auto path = fmt::format("{}/size", folder);
  auto sectors = read_unsigned(root, path);
  if (!sectors) return sectors;
  if (*sectors > std::numeric_limits<std::uint64_t>::max() / kSector) {
    return make_error("read {}: {} sectors are impossible", path, *sectors);
  }
  return *sectors * kSector;
}

Result<bool> read_flag(const Root& root, std::string_view path) {
  TRY_ASSIGN(const auto value, read_unsigned(root, path));
  if (value > 1) return make_error("read {}: {} is neither 0 nor 1", path, value);
  return value == 1;
}

Result<unsigned> read_count_of_disks(const Root& root, std::string_view path) {
  TRY_ASSIGN(const auto line, root.read_line(path));
  const auto words = split_words(line);  // "4 (3)" while an array changes its shape
  const auto count = parse_unsigned(words.empty() ? std::string_view() : words.front());
  if (!count || *count > std::numeric_limits<unsigned>::max()) {
    return make_error("read {}: no count: \"{}\"", path, printable(line, 40));
  }
  return static_cast<unsigned>(*count);
}

// Clouds also attach remote disks as NVMe controllers; only the model tells them apart.
constexpr std::array<std::string_view, 3> kRemote{"MSFT NVMe Accelerator",
                                                  "Amazon Elastic Block Store", "nvme_card-pd"};

// A controller with an unknown transport counts as local: a broken one must not disappear.
bool is_local(const Root& root, std::string_view controller) {
  const auto folder = fmt::format("{}/{}", kNvme, controller);
  if (read_text(root, fmt::format("{}/transport", folder)).value_or("pcie") != "pcie") return false;
  const auto model = read_text(root, fmt::format("{}/model", folder)).value_or("");
  return std::ranges::none_of(kRemote,
                              [&](std::string_view remote) { return model.starts_with(remote); });
}

Result<void> read_controller(const Root& root, const std::string& controller, Disks& disks) {
  const auto folder = fmt::format("{}/{}", kNvme, controller);
  TRY_ASSIGN(const auto entries, list_if_any(root, folder));
  bool any = false;
  for (const auto& entry : entries) {
    const auto block = block_name(entry);
    if (!block) continue;
    any = true;
    const bool known = std::ranges::find(disks.nvme, *block, &Nvme::name) != disks.nvme.end();
    if (known) continue;  // a second path to it
    const auto device = fmt::format("{}/{}", kBlock, *block);
    disks.nvme.push_back(
        {.name = *block,
         .controller = controller,
         .model = read_text(root, fmt::format("{}/model", folder)),
         .firmware = read_text(root, fmt::format("{}/firmware_rev", folder)),
         .state = required(read_text(root, fmt::format("{}/state", folder))),
         .size_bytes = required(read_size(root, device)),
         .read_only = required(read_flag(root, fmt::format("{}/ro", device))),
         .address = read_pci_address(root, fmt::format("{}/device", folder)),
         .link_speed_gts =
             read_link_speed(root, fmt::format("{}/device/current_link_speed", folder)),
         .link_width = read_link_width(root, fmt::format("{}/device/current_link_width", folder))});
  }
  if (!any) disks.dead_controllers.push_back(controller);
  return {};
}

Result<void> read_nvme(const Root& root, Disks& disks) {
  static const std::regex kController("nvme[0-9]+");
  TRY_ASSIGN(const auto names, list_if_any(root, kNvme));
  for (const auto& name : names) {
    if (!std::regex_match(name, kController) || !is_local(root, name)) continue;
    TRY(read_controller(root, name, disks));
  }
  return {};
}

Result<void> read_raid(const Root& root, Disks& disks) {
  TRY_ASSIGN(const auto names, list_if_any(root, kBlock));
  for (const auto& name : names) {
    const auto folder = fmt::format("{}/{}/md", kBlock, name);
    if (!name.starts_with("md") || !root.exists(folder)) continue;
    disks.raid.push_back(
        {.name = name,
         .level = required(read_text(root, fmt::format("{}/level", folder))),
         .state = required(read_text(root, fmt::format("{}/array_state", folder))),
         .disks = required(read_count_of_disks(root, fmt::format("{}/raid_disks", folder))),
         .degraded = read_count_of_disks(root, fmt::format("{}/degraded", folder))});
  }
  return {};
}

// The name of the image is only read, and never opened: it may lie on a file system that hangs.
Fact<std::vector<StackedDevice>> read_stacked(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kBlock));
  std::vector<StackedDevice> stacked;
  for (const auto& name : names) {
    const auto folder = fmt::format("{}/{}", kBlock, name);
    const auto image = name.starts_with("loop")
                           ? read_text(root, fmt::format("{}/loop/backing_file", folder))
                           : make_missing("no loop device");
    if (image) stacked.push_back({.name = name, .file = *image});
    if (!name.starts_with("dm-")) continue;
    const auto below = root.list(fmt::format("{}/slaves", folder));
    stacked.push_back({.name = name, .on = below.value_or(std::vector<std::string>())});
  }
  return stacked;
}

}  // namespace

Section<Disks> probe_disks(const Root& root) {
  if (!root.exists("/sys")) return not_observed<Disks>("there is no /sys");
  Disks disks;
  const auto read = read_nvme(root, disks).and_then([&] { return read_raid(root, disks); });
  if (!read) return not_observed<Disks>(read.error().message);
  disks.stacked = read_stacked(root);
  return observed(std::move(disks));
}

}  // namespace muster
