// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kMaxRead = 64UL * 1024 * 1024;
constexpr std::size_t kMaxTexts = 64;  // of each kind: all ranks may log the same problem
constexpr std::size_t kMaxTransports = 16;
constexpr unsigned kMaxRank = 1U << 18U;
constexpr std::string_view kNoHca = "NET/IB : No device found";

// Consumes a text from its beginning.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool skip_past(std::string_view mark) {
    const auto at = rest_.find(mark);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + mark.size());
    return true;
  }

  std::string_view until(std::string_view marks) {
    const auto word = rest_.substr(0, rest_.find_first_of(marks));
    rest_.remove_prefix(word.size());
    return word;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// "0-4,6"; empty if it is malformed.
std::vector<unsigned> parse_ranks(std::string_view text) {
  auto ranks = parse_cpu_list(text).value_or(std::vector<unsigned>());
  return ranks.empty() || ranks.back() > kMaxRank ? std::vector<unsigned>() : ranks;
}

void set_pair(RankPairs& pairs, int from, int to) {
  auto& row = pairs[from];
  const auto at = static_cast<std::size_t>(to);
  if (at >= row.size()) row.resize(at + 1);
  row[at] = true;
}

void keep(std::set<std::string>& texts, std::string_view text) {
  if (texts.size() < kMaxTexts) texts.insert(printable(trim(text), 300));
}

// "NET/IB/0(5)/GDRDMA(PCI)/Shared" becomes "NET/IB/GDRDMA/PXN".
std::string network_name(std::string_view via) {
  const auto words = split(via, '/');
  const bool proxied = words.size() > 2 && words[2].find('(') != std::string_view::npos;
  const bool direct =
      std::ranges::any_of(words, [](std::string_view word) { return word.starts_with("GDRDMA"); });
  const auto name = printable(words[1], 40);
  return fmt::format("NET/{}{}{}", trim(name), direct ? "/GDRDMA" : "", proxied ? "/PXN" : "");
}

// Empty if it is unknown.
std::string transport_name(std::string_view via) {
  constexpr std::array<std::string_view, 5> kPeers{"CUMEM", "IPC", "MNNVL", "direct", "indirect"};
  if (via.starts_with("NET/")) return network_name(via);
  if (via.starts_with("SHM")) return "SHM";
  if (!via.starts_with("P2P/")) return {};
  const auto kind = via.substr(4, via.substr(4).find_first_of("/ "));
  const bool known = std::ranges::find(kPeers, kind) != kPeers.end();
  return known ? fmt::format("P2P/{}", kind) : "P2P";
}

// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"; the words in brackets may be missing.
// In a shortened log "Pairs 0-4,6 -> 5 via SHM", where one side is a single rank. `name` shortens
// the text after "via".
template <class Name>
void parse_pairs(std::string_view text, std::string_view mark, Name name, Transport& transport) {
  LineReader reader(text);
  if (!reader.skip_past(mark)) return;
  const auto from = parse_ranks(reader.until("[ "));
  if (!reader.skip_past(" -> ")) return;
  const auto to = parse_ranks(reader.until("[ "));
  if (!reader.skip_past(" via ") || (from.size() > 1 && to.size() > 1)) return;
  const auto via = name(trim(reader.rest()));
  for (const auto one : from) {
    for (const auto other : to) {
      if (!via.empty()) add_pair(transport, static_cast<int>(one), static_cast<int>(other), via);
    }
  }
}

// "CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA"
void parse_collnet(std::string_view text, Transport& transport) {
  LineReader reader(text);
  if (!reader.skip_past(" via COLLNET/")) return;
  const bool direct = reader.rest().find("/GDRDMA") != std::string_view::npos;
  const auto name = reader.until("/ ");
  keep(transport.in_network, fmt::format("COLLNET/{}{}", name, direct ? "/GDRDMA" : ""));
}

// "[0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>". NCCL 2.21 to 2.23 writes merged
// ports as "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}".
void parse_devices(std::string_view list, std::set<std::string>& devices) {
  std::string plain(list.substr(0, list.find(';')));
  std::ranges::replace_if(
      plain, [](char c) { return std::string_view("={},").find(c) != std::string_view::npos; },
      ' ');
  bool numbered = false;
  for (auto word : split_words(plain)) {
    const auto bracket = word.find(']');
    if (word.starts_with('[') && bracket != std::string_view::npos) {
      numbered = parse_unsigned(word.substr(1, bracket - 1)).has_value();
      word.remove_prefix(bracket + 1);
    }
    if (!numbered || word.empty()) continue;
    keep(devices, word);
    numbered = false;
  }
}

// "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_ib0'", and other lines of NET/.
void parse_network(std::string_view text, Transport& transport) {
  LineReader reader(text);
  if (text.starts_with(kNoHca)) {
    transport.no_hca = true;
  } else if (reader.skip("NET/IB : Using ")) {
    parse_devices(reader.rest(), transport.hcas);
  } else if (reader.skip("NET/Socket : Using ")) {
    parse_devices(reader.rest(), transport.interfaces);
  } else if (reader.skip_past(" : GPU Direct RDMA ")) {
    auto& hcas = reader.rest().starts_with("Disabled") ? transport.without_gdr : transport.with_gdr;
    if (!reader.skip_past(" for HCA ")) return;
    reader.skip_past("'");
    keep(hcas, reader.until("'"));
  }
}

// "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}". Before 2.20 the
// algorithm and the protocol are numbers: "AllReduce: 8 Bytes -> Algo 1 proto 0 time 8.8".
void parse_algorithm(std::string_view text, Transport& transport) {
  constexpr std::array<std::string_view, 6> kAlgorithms{"TREE",          "RING", "COLLNET_DIRECT",
                                                        "COLLNET_CHAIN", "NVLS", "NVLS_TREE"};
  constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "SIMPLE"};
  const auto named = [](std::string_view word, const auto& names) {
    const auto number = parse_unsigned(word);
    if (!number || *number >= names.size()) return printable(word, 40);
    return std::string(names.at(*number));
  };
  LineReader reader(text);
  const auto function = reader.until(": ");
  if (function.empty() || !reader.skip_past(" Bytes -> Algo ")) return;
  const auto algorithm = reader.until(" ");
  if (!reader.skip_past(" proto ")) return;
  const auto protocol = reader.until(" ");
  if (transport.algorithms.size() >= kMaxTexts) return;
  keep(transport.algorithms[printable(function, 40)],
       fmt::format("{}/{}", named(algorithm, kAlgorithms), named(protocol, kProtocols)));
}

// "NCCL_IB_DISABLE set by environment to 1." or "NCCL_IB_HCA set to mlx5_ib".
void parse_setting(std::string_view text, Transport& transport) {
  LineReader reader(text);
  const auto name = reader.until(" ");
  if (!reader.skip(" set by environment to ") && !reader.skip(" set to ")) return;
  auto value = trim(reader.rest());
  if (value.ends_with('.')) value.remove_suffix(1);
  if (transport.settings.size() < 4 * kMaxTexts) {
    transport.settings[printable(name, 80)] = printable(value, 200);
  }
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [text](auto word) { return text.find(word) != std::string_view::npos; });
}

// Missing plugins of other kinds, such as tuners, are normal.
bool is_plugin_failure(std::string_view text) {
  return (text.starts_with("NET/Plugin") || contains_any(text, {"NET plugin"})) &&
         contains_any(text, {"Could not find", "Failed to ", "cannot open", "unsupported"});
}

void parse_topology(std::string_view text, Transport& transport) {
  for (const std::string_view link : {"NVL", "PCI", "C2C"}) {  // "+ NVL[240.0] - NVS/0"
    if (text.starts_with(fmt::format("+ {}[", link))) keep(transport.links, link);
  }
}

void parse_text(std::string_view text, Transport& transport) {
  LineReader reader(text);
  if (reader.skip(kAccessLine)) return keep(transport.denied, reader.rest());
  if (text.starts_with("NCCL_")) return parse_setting(text, transport);
  if (text.starts_with("Channel ")) return parse_pairs(text, " : ", transport_name, transport);
  if (text.starts_with("Pairs ")) {
    return parse_pairs(
        text, "Pairs ", [](auto via) { return printable(via, 80); }, transport);
  }
  if (text.starts_with("CollNet ")) return parse_collnet(text, transport);
  if (text.starts_with("+ ")) return parse_topology(text, transport);
  if (text.starts_with("NET/")) parse_network(text, transport);
  parse_algorithm(text, transport);
  if (reader.skip("Using network ")) keep(transport.networks, reader.rest());
  if (is_plugin_failure(text)) keep(transport.plugins, text);
  if (contains_any(text, {"Could not enable P2P between", "P2P is disabled between"})) {
    keep(transport.refused, text);
  }
  transport.collnet_connected |= contains_any(text, {"Connected CollNet", "Connected Collnet"});
  // NCCL 2.18 to 2.23 connects no tree inside one node.
  const bool has_heads = text.starts_with("NVLS comm ") && contains_any(text, {" nHeads "}) &&
                         !contains_any(text, {" nHeads 0"});
  transport.nvls_connected |= has_heads || text.starts_with("Connected NVLS tree");
  transport.nvls_missing |= text.starts_with("NVLS multicast support is not available");
}

struct LogLine {
  std::string_view text;  // without the prefix
  bool warns = false;
  std::string_view host;
};

// "gpu-0007:12345:12399 [3] ", perhaps after the time: "[2026-02-03 04:05:06] ".
std::string_view host_in(std::string_view prefix) {
  LineReader reader(prefix);
  if (prefix.starts_with('[')) reader.skip_past("] ");
  const auto host = reader.until(":");
  return reader.rest().empty() ? std::string_view{} : host;
}

// Splits off the prefix. In a shortened log only warnings and hosts have one.
LogLine parse_line(std::string_view line) {
  constexpr std::string_view kInfo = "NCCL INFO ";
  constexpr std::string_view kWarn = "NCCL WARN ";
  const auto info = line.rfind(kInfo);
  const auto warn = line.rfind(kWarn);
  if (warn != std::string_view::npos && (info == std::string_view::npos || warn > info)) {
    return {.text = trim(line.substr(warn + kWarn.size())), .warns = true};
  }
  if (info == std::string_view::npos) return {.text = trim(line)};
  return {.text = trim(line.substr(info + kInfo.size())), .host = host_in(line.substr(0, info))};
}

void add_line(const LogLine& line, Transport& transport) {
  if (line.warns) keep(transport.warnings, line.text);
  parse_text(line.text, transport);
  if (line.text.starts_with(kNoHca) && !line.host.empty()) keep(transport.without_hca, line.host);
}

// One rank's pairs: those that share their other side are in one line.
std::string pair_lines(const std::string& name, const RankPairs& pairs) {
  std::map<std::vector<bool>, std::vector<unsigned>> senders;
  for (const auto& [from, row] : pairs) senders[row].push_back(static_cast<unsigned>(from));
  std::string lines;
  for (const auto& [row, from] : senders) {
    std::vector<unsigned> to;
    for (std::size_t rank = 0; rank < row.size(); ++rank) {
      if (row[rank]) to.push_back(static_cast<unsigned>(rank));
    }
    const auto list = to_cpu_list(to);
    if (to.size() == 1) {
      lines += fmt::format("Pairs {} -> {} via {}\n", to_cpu_list(from), list, name);
      continue;
    }
    for (const auto one : from) lines += fmt::format("Pairs {} -> {} via {}\n", one, list, name);
  }
  return lines;
}

}  // namespace

void add_pair(Transport& transport, int from, int to, const std::string& name) {
  if (!transport.pairs.contains(name) && transport.pairs.size() == kMaxTransports) return;
  set_pair(transport.pairs[name], from, to);
}

RankPairs pairs_using(const Transport& transport,
                      const std::function<bool(const std::string& name)>& selects) {
  RankPairs all;
  for (const auto& [name, pairs] : transport.pairs) {
    if (!selects(name)) continue;
    for_each_pair(pairs, [&](int from, int to) { set_pair(all, from, to); });
  }
  return all;
}

void add_log(Transport& transport, std::string_view log) {
  for (const auto line : split_lines(log.substr(0, kMaxRead))) {
    add_line(parse_line(line), transport);
  }
}

Transport parse_transport(std::string_view log) {
  Transport transport;
  add_log(transport, log);
  return transport;
}

std::set<std::string> interfaces_of(const Transport& transport) {
  std::set<std::string> names;
  for (const auto& each : transport.interfaces) names.insert(each.substr(0, each.find(':')));
  return names;
}

std::set<std::string> with_interfaces(const std::set<std::string>& names,
                                      const Transport& transport) {
  const auto interfaces = interfaces_of(transport);
  std::set<std::string> all;
  for (const auto& name : names) {
    const bool socket = name.starts_with("NET/Socket") && !interfaces.empty();
    all.insert(socket ? fmt::format("{} ({})", name, fmt::join(interfaces, ", ")) : name);
  }
  return all;
}

std::string shorten_log(std::string_view log) {
  std::set<std::string> seen;
  std::string lines;
  Transport all;
  for (const auto raw : split_lines(log.substr(0, kMaxRead))) {
    const auto line = parse_line(raw);
    Transport one;
    add_line(line, one);
    for (const auto& [name, pairs] : std::exchange(one.pairs, {})) {
      for_each_pair(pairs,
                    [&all, &name = name](int from, int to) { add_pair(all, from, to, name); });
    }
    if (one.empty()) continue;
    auto text = printable(line.text, 300);
    // Each channel has the same lines.
    const auto colon = text.find(" : ");
    if (text.starts_with("CollNet ") && colon != std::string::npos) {
      text.replace(8, colon - 8, "00");
    }
    if (line.warns) text = fmt::format("NCCL WARN {}", text);
    for (const auto& host : one.without_hca) text = fmt::format("{}: NCCL INFO {}", host, text);
    if (seen.insert(text).second) lines += fmt::format("{}\n", text);
  }
  for (const auto& [name, pairs] : all.pairs) lines += pair_lines(name, pairs);
  return lines;
}

}  // namespace muster::bench
