// SPDX-License-Identifier: Apache-2.0
// Memory, swap and huge pages.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/procfs.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kHugePages = "/sys/kernel/mm/hugepages";

// "hugepages-2048kB"
std::optional<std::uint64_t> parse_page_size(std::string_view name) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  const auto size = parse_unsigned(name);
  if (!size) return std::nullopt;
  return *size;
}

Result<std::vector<HugePages>> read_huge_pages(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kHugePages));
  std::vector<HugePages> result;
  for (const auto& name : names) {
    const auto size = parse_page_size(name);
    if (!size) continue;
    result.push_back(
        {.size_kib = *size,
         .total =
             required(read_unsigned(root, fmt::format("{}/{}/nr_hugepages", kHugePages, name))),
         .free =
             required(read_unsigned(root, fmt::format("{}/{}/free_hugepages", kHugePages, name)))});
  }
  std::ranges::sort(result, {}, &HugePages::size_kib);
  return result;
}

}  // namespace

Section<Memory> probe_memory(const Root& root) {
  Memory memory;
  const auto meminfo = root.read(kMeminfo);
  const auto value = [&](std::string_view key) -> Result<std::uint64_t> {
    if (!meminfo) return tl::unexpected(meminfo.error());
    return parse_meminfo(*meminfo, key);
  };
  memory.total_bytes = required(value("MemTotal"));
  memory.available_bytes = required(value("MemAvailable"));
  memory.swap_total_bytes = required(value("SwapTotal"));
  memory.huge_pages = read_huge_pages(root);
  if (!meminfo && !memory.huge_pages) return not_observed<Memory>(meminfo.error().message);
  return observed(std::move(memory));
}

}  // namespace muster
