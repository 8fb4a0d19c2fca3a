// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as each file that probes parse, and as text from a node: accepted values are in
// range and printable.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/kernel_log.hpp"
#include "lib/probes/parse/parse.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

void try_procfs(std::string_view text) {
  if (const auto stat = parse_process_stat(text)) {
    require(stat->name.data() >= text.data());
    require(stat->name.data() + stat->name.size() <= text.data() + text.size());
  }
  if (const auto load = parse_load_average(text)) {
    require(std::isfinite(load->load1) && load->load1 >= 0);
  }
  if (const auto memory = parse_meminfo(text, "MemTotal")) require(*memory % 1024 == 0);
  if (const auto mount = parse_mount(text)) {
    require(mount->point.starts_with('/') && mount->point.size() <= text.size());
    static_cast<void>(holds_data(mount->type));
  }
  if (const auto model = field_of(text, "model name")) require(model->size() <= text.size());
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

void try_infiniband(std::string_view text) {
  if (const auto rate = parse_link_rate(text)) {
    require(std::isfinite(rate->gbps) && rate->gbps >= 0 && rate->lanes <= 64);
    require(rate->speed.size() <= 8 && is_plain(rate->speed));
  }
  if (const auto state = parse_numbered_state(text)) require(*state <= 255);
  if (const auto key = parse_pkey(text)) require(*key <= 0xffff);
  static_cast<void>(parse_lid(text));
  if (const auto gid = parse_gid(text)) {
    require(gid->size() == 39 && is_plain(*gid) && parse_gid(*gid) == gid);
  }
  if (const auto guid = parse_guid(text)) require(guid->size() == 19 && is_plain(*guid));
  if (is_pci_address(text)) require(text.size() >= 12 && text.size() <= 16);
}

// No message repeats the pool, which may hold secrets.
void try_key_value_pool(std::string_view pool) {
  const auto name = parse_physical_host(pool);
  if (!name) return;
  require(!name->empty() && name->size() <= 253);
  require(std::ranges::all_of(*name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  }));
}

void try_nccl(std::string_view text) {
  for (const auto& setting : parse_nccl_conf(text, "/etc/nccl.conf")) {
    require(steers_nccl(setting.name));
    for (const auto* part : {&setting.name, &setting.value, &setting.origin}) {
      require_printable(*part);
    }
  }
  const auto topology = parse_nccl_topology(text);
  if (!topology) {
    require(!topology.error().message.empty());
    return require_printable(topology.error().message);
  }
  for (const auto* list : {&topology->pci_addresses, &topology->cpu_affinities}) {
    for (const auto& each : *list) require_printable(each);
  }
}

// Kept records of the kernel log are printable, bounded and accounted for.
void try_kernel_log(std::string_view text) {
  KmsgCollector collector;
  for (const auto line : split_lines(text)) {
    if (line.starts_with('!')) collector.overwritten();
    collector.add(line);
  }
  const KernelLog log = collector.finish();
  require(log.unparsable <= log.seen && log.records.size() <= log.seen);
  std::uint64_t kept = 0;
  for (const auto& record : log.records) {
    kept += record.repeats;
    require(record.level <= 7 && record.last_us >= record.time_us);
    require(record.text.size() <= KmsgCollector::kMaxText);
    require(printable(record.text, KmsgCollector::kMaxText) == record.text);
  }
  require(kept <= log.seen);
}

// Every list of capabilities ends.
void try_pci_config(std::span<const std::uint8_t> bytes, PciKind kind) {
  const auto read = [bytes](std::size_t offset, std::span<std::uint8_t> into) {
    if (offset > bytes.size() || into.size() > bytes.size() - offset) return false;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return true;
  };
  PciDevice config{.kind = kind};
  parse_pci_config(read, config);
  for (const auto& fact : {config.payload_bytes, config.payload_max_bytes}) {
    require(!fact || (*fact >= 128 && *fact <= 4096));
    require(fact.known() || !fact.why().empty());
  }
  require(!config.acs_control || (kind == PciKind::bridge && *config.acs_control <= 0xffff));
  require(config.responding.known() || config.responding.is_unreadable());
}

// Text from a node (host names, process names, log lines) becomes inert; numbers with units, globs
// and suggestions never crash; an accepted list of CPUs is ascending and survives writing.
void try_text(std::string_view text) {
  const std::string shown = printable(text, 64);
  require(shown.size() <= 64 && printable(shown, 64) == shown);
  require(std::ranges::none_of(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  const auto half = text.substr(0, text.size() / 2);
  static_cast<void>(matches_glob(half, text.substr(text.size() / 2)));
  static_cast<void>(nearest(half.substr(0, 64), {"total", "tolerance", "warn_below"}));
  static_cast<void>(parse_quantity<BytesKind>(text));
  static_cast<void>(parse_quantity<SecondsKind>(text));
  const auto cpus = parse_cpu_list(text);
  if (!cpus || cpus->empty()) return;
  require(std::ranges::is_sorted(*cpus) && cpus->size() <= 65536);
  require(parse_cpu_list(to_cpu_list(*cpus)) == *cpus);
}

}  // namespace

void fuzz(std::string_view text) {
  try_text(text);
  try_procfs(text);
  try_infiniband(text);
  try_key_value_pool(text);
  try_nccl(text);
  try_kernel_log(text);
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  for (const auto kind : {PciKind::bridge, PciKind::hca}) try_pci_config(bytes, kind);
}

}  // namespace muster
