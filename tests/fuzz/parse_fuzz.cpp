// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as each file that probes parse: accepted values are in range and printable.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "lib/probes/attributes.hpp"
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
  if (const auto model = cpuinfo_field(text, "model name")) require(model->size() <= text.size());
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

}  // namespace

void fuzz(std::string_view text) {
  try_procfs(text);
  try_infiniband(text);
  try_key_value_pool(text);
  try_nccl(text);
}

}  // namespace muster
