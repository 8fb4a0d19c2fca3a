// SPDX-License-Identifier: Apache-2.0
#include "checks/shared/link_log.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::checks {
namespace {

// An event may be logged several times: by the driver for the port and for its interface, and by
// systemd-networkd.
enum class LinkWriter { port, interface, network_manager };

struct LinkDown {
  LinkWriter writer = LinkWriter::port;
  std::string address;  // PCI address of the adapter, if the line has it
  std::string name;     // of the adapter or its interface: "mlx5_ib0", "ib6"
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The first name of an InfiniBand interface, such as "ib6" or "ibP264s182277"; may be empty.
std::string_view interface_in(std::string_view text) {
  while (!text.empty()) {
    const auto begin = std::ranges::find_if(text, is_word);
    text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
    const auto end = std::ranges::find_if_not(text, is_word);
    const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    if (word.starts_with("ib") && word.size() > 2) return word;
    text.remove_prefix(word.size());
  }
  return {};
}

// "mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN" (the name may be missing),
// "mlx5_core 0101:00:00.0 ib0: Link down", "ib6: Lost carrier".
std::optional<LinkDown> parse_link_down(std::string_view text) {
  const auto lower = lower_case(text);
  if (lower.find("lost carrier") != std::string::npos) {
    const auto name = interface_in(text);
    if (name.empty()) return std::nullopt;
    return LinkDown{.writer = LinkWriter::network_manager, .name = std::string(name)};
  }
  if (!lower.starts_with("mlx5_core ") || lower.find("link down") == std::string::npos) {
    return std::nullopt;
  }
  const auto words = split(text, ' ');
  if (words.size() < 4) return std::nullopt;
  const bool of_port = lower.find(" port: ") != std::string::npos;
  return LinkDown{.writer = of_port ? LinkWriter::port : LinkWriter::interface,
                  .address = std::string(words[1].substr(0, words[1].find_last_not_of(':') + 1)),
                  .name = std::string(words[2].substr(0, words[2].find(':')))};
}

// Lines from user space prove nothing, except those of systemd-networkd, which runs as root.
bool is_believed(const KernelRecord& record) {
  return record.facility == 0 || record.text.starts_with("systemd-networkd");
}

bool has_infiniband(const Hca& hca) {
  if (!hca.ports) return false;
  return std::ranges::any_of(*hca.ports,
                             [](const IbPort& port) { return port.link_layer == "InfiniBand"; });
}

// The InfiniBand adapter that a line is about, if any.
std::optional<std::string> adapter_of(const Snapshot& snapshot, const LinkDown& down) {
  for (const Hca& hca : snapshot.infiniband->hcas) {
    const bool by_address = !down.address.empty() && hca.address.value_or("") == down.address;
    const bool by_name =
        hca.name == down.name || (hca.netdevs && std::ranges::count(*hca.netdevs, down.name) > 0);
    if (!by_address && !by_name) continue;
    return has_infiniband(hca) ? std::optional(hca.name) : std::nullopt;
  }
  const bool has_ib_name =
      down.name.starts_with("ib") || down.name.find("_ib") != std::string::npos;
  return has_ib_name ? std::optional(down.name) : std::nullopt;
}

}  // namespace

std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                           double begin_us) {
  std::map<std::pair<std::string, LinkWriter>, std::uint64_t> by_writer;
  for (const KernelRecord& record : snapshot.kernel_log->records) {
    const auto last_us = static_cast<double>(std::max(record.time_us, record.last_us));
    if (last_us < begin_us || !is_believed(record)) continue;
    const auto down = parse_link_down(record.text);
    const auto adapter = down ? adapter_of(snapshot, *down) : std::nullopt;
    if (adapter) by_writer[{*adapter, down->writer}] += record.repeats;
  }
  std::map<std::string, std::uint64_t> times;
  for (const auto& [key, count] : by_writer) {
    auto& most = times[key.first];
    most = std::max(most, count);
  }
  return times;
}

}  // namespace muster::checks
