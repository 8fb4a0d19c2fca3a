// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/pci_amd.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"

namespace muster {
namespace {

// "ue: 0\nce: 3\n"; newer drivers add "de: 0", errors that were found before anybody used the data.
Result<RasCounts> read_counts(const Root& root, const std::string& path) {
  const auto text = root.read(path);
  if (!text) return tl::unexpected(text.error());
  std::optional<std::uint64_t> uncorrected;
  std::optional<std::uint64_t> corrected;
  for (const auto line : split_lines(*text)) {
    const auto words = split_words(line);
    const auto count = words.size() == 2 ? parse_unsigned(words[1]) : make_error("");
    if (!count) continue;
    if (words[0] == "ue:") uncorrected = *count;
    if (words[0] == "ce:") corrected = *count;
  }
  if (uncorrected && corrected) {
    return RasCounts{.uncorrected = *uncorrected, .corrected = *corrected};
  }
  return make_error(fmt::format("read {}: \"{}\" has no ue and ce", path, printable(*text, 60)));
}

// A GPU without RAS has no such folder; a block that is not counted has no file.
Fact<std::map<std::string, RasCounts>> read_ras(const Root& root, std::string_view folder) {
  using Blocks = Fact<std::map<std::string, RasCounts>>;
  constexpr std::string_view kSuffix = "_err_count";
  const auto names = root.list(fmt::format("{}/ras", folder));
  if (!names) return Blocks::failed(names.error());
  std::map<std::string, RasCounts> blocks;
  for (const auto& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    const auto counts = read_counts(root, fmt::format("{}/ras/{}", folder, name));
    if (!counts) return Blocks::unreadable(counts.error().message);
    blocks.emplace(printable(name.substr(0, name.size() - kSuffix.size()), 32), *counts);
  }
  return blocks;
}

}  // namespace

AmdGpu read_amd_gpu(const Root& root, std::string_view address) {
  const auto folder = fmt::format("/sys/bus/pci/devices/{}", address);
  AmdGpu gpu{.address = std::string(address)};
  gpu.memory_bytes = read_unsigned(root, fmt::format("{}/mem_info_vram_total", folder));
  gpu.ras = read_ras(root, folder);
  return gpu;
}

}  // namespace muster
