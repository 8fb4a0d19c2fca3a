// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kMostRead = 64UL * 1024 * 1024;
constexpr std::size_t kMostTexts =
    64;  // of a kind: a broken cluster says the same a thousand times
constexpr int kMostRank = 1 << 18;
constexpr std::size_t kMostOfAWay = 80;
constexpr std::string_view kNoHca = "NET/IB : No device found";

// A text that is read from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

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
    const auto taken = rest_.substr(0, rest_.find_first_of(marks));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::optional<int> rank() {
    const auto number = parse_unsigned(rest_.substr(0, rest_.find_first_not_of("0123456789")));
    if (!number || *number > kMostRank) return std::nullopt;
    until("[] \t-");
    return static_cast<int>(*number);
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// "0-4,6"; or, where that is long and longer, "x" and the ranks as bits, the first in the lowest
// bit of the first digit.
std::string text_of(const std::vector<int>& ranks) {
  constexpr std::size_t kFew = 64;
  std::string bits((static_cast<std::size_t>(ranks.back()) / 4) + 1, '\0');
  for (const int rank : ranks) {
    auto& digit = bits[static_cast<std::size_t>(rank) / 4];
    digit = static_cast<char>(digit | 1 << rank % 4);
  }
  for (auto& digit : bits) digit = "0123456789abcdef"[static_cast<std::size_t>(digit)];
  auto list = to_cpu_list({ranks.begin(), ranks.end()});
  return list.size() <= std::max(kFew, bits.size()) ? list : "x" + bits;
}

std::vector<int> parse_ranks(std::string_view text) {
  std::vector<int> ranks;
  if (text.starts_with('x')) {
    for (std::size_t at = 1; at < text.size() && at <= kMostRank / 4; ++at) {
      const auto digit = std::string_view("0123456789abcdef").find(text[at]);
      if (digit == std::string_view::npos) return {};
      for (std::size_t bit = 0; bit < 4; ++bit) {
        if ((digit >> bit & 1U) != 0) ranks.push_back(static_cast<int>((at - 1) * 4 + bit));
      }
    }
    return ranks;
  }
  for (const auto run : split(text, ',')) {
    Reader reader(run);
    const auto first = reader.rank();
    const auto last = reader.skip("-") ? reader.rank() : first;
    if (!first || !last) return {};
    for (int rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

void keep(std::set<std::string>& texts, std::string_view text) {
  if (texts.size() < kMostTexts) texts.insert(printable(trim(text), 300));
}

// "NET/IB/0(5)/GDRDMA(PCI)/Shared" becomes "NET/IB/GDRDMA/PXN".
std::string way_of_network(std::string_view via) {
  const auto parts = split(via, '/');
  std::string way = fmt::format("NET/{}", parts.size() > 1 ? printable(parts[1], 40) : "");
  const bool proxied = parts.size() > 2 && parts[2].find('(') != std::string_view::npos;
  const bool direct =
      std::ranges::any_of(parts, [](std::string_view part) { return part.starts_with("GDRDMA"); });
  if (direct) way += "/GDRDMA";
  if (proxied) way += "/PXN";
  return way;
}

std::string way_of(std::string_view via) {
  if (via.starts_with("NET/")) return way_of_network(via);
  if (via.starts_with("SHM")) return "SHM";
  if (!via.starts_with("P2P/")) return {};
  const auto kind = via.substr(4, via.substr(4).find_first_of("/ "));
  constexpr std::array<std::string_view, 5> kKnown{"CUMEM", "IPC", "MNNVL", "direct", "indirect"};
  const auto* const found = std::ranges::find(kKnown, kind);
  return found == kKnown.end() ? "P2P" : fmt::format("P2P/{}", *found);
}

// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"; the words in brackets may be missing.
void take_channel(std::string_view text, Transport& transport) {
  Reader reader(text);
  if (!reader.skip_past(" : ")) return;
  const auto from = reader.rank();
  if (!from || !reader.skip_past(" -> ")) return;
  const auto to = reader.rank();
  if (!to || !reader.skip_past(" via ")) return;
  const auto way = way_of(trim(reader.rest()));
  if (!way.empty()) transport.pairs.add(*from, *to, way);
}

// "Ways 0-4,6 -> 5 via SHM", of a shortened log: one rank and others.
void take_ways(std::string_view text, Transport& transport) {
  Reader reader(text);
  if (!reader.skip("Ways ")) return;
  const auto from = parse_ranks(reader.until(" "));
  if (!reader.skip(" -> ")) return;
  const auto to = parse_ranks(reader.until(" "));
  if (!reader.skip(" via ") || reader.rest().empty()) return;
  if (from.size() > 1 && to.size() > 1) return;
  transport.pairs.add(from, to, printable(reader.rest(), kMostOfAWay));
}

// "CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA"
void take_collnet(std::string_view text, Transport& transport) {
  Reader reader(text);
  if (!reader.skip_past(" via COLLNET/")) return;
  const bool direct = reader.rest().find("/GDRDMA") != std::string_view::npos;
  const auto name = reader.until("/ ");
  keep(transport.in_network, fmt::format("COLLNET/{}{}", name, direct ? "/GDRDMA" : ""));
}

// "[0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>"; of ports that are used as one, by
// NCCL 2.21 to 2.23, "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}".
void take_devices(std::string_view list, std::set<std::string>& devices) {
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

void take_network(std::string_view text, Transport& transport) {
  Reader reader(text);
  if (text.starts_with(kNoHca)) {
    transport.no_hca = true;
  } else if (reader.skip("NET/IB : Using ")) {
    take_devices(reader.rest(), transport.hcas);
  } else if (reader.skip("NET/Socket : Using ")) {
    take_devices(reader.rest(), transport.interfaces);
  } else if (reader.skip_past(" : GPU Direct RDMA ")) {
    const bool disabled = reader.rest().starts_with("Disabled");
    if (!reader.skip_past(" for HCA ")) return;
    auto& hcas = disabled ? transport.without_gdr : transport.with_gdr;
    const auto quote = reader.rest().find('\'');
    const auto name =
        quote == std::string_view::npos
            ? reader.rest()
            : reader.rest().substr(quote + 1, reader.rest().substr(quote + 1).find('\''));
    keep(hcas, name);
  }
}

// "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"; before 2.20 the
// algorithm and the protocol are numbers: "AllReduce: 8 Bytes -> Algo 1 proto 0 time 8.8".
void take_algorithm(std::string_view text, Transport& transport) {
  constexpr std::array<std::string_view, 6> kAlgorithms{"TREE",          "RING", "COLLNET_DIRECT",
                                                        "COLLNET_CHAIN", "NVLS", "NVLS_TREE"};
  constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "SIMPLE"};
  const auto named = [](std::string_view word, const auto& names) {
    const auto number = parse_unsigned(word);
    if (!number || *number >= names.size()) return printable(word, 40);
    return std::string(names.at(*number));
  };
  Reader reader(text);
  const auto function = reader.until(": ");
  if (function.empty() || !reader.skip_past(" -> Algo ")) return;
  const auto algorithm = reader.until(" ");
  if (!reader.skip_past(" proto ")) return;
  const auto protocol = reader.until(" ");
  if (transport.algorithms.size() >= kMostTexts) return;
  keep(transport.algorithms[printable(function, 40)],
       fmt::format("{}/{}", named(algorithm, kAlgorithms), named(protocol, kProtocols)));
}

// "NCCL_IB_DISABLE set by environment to 1."; some are told as "NCCL_IB_HCA set to mlx5_ib".
bool take_setting(std::string_view text, Transport& transport) {
  Reader reader(text);
  const auto name = reader.until(" ");
  if (!name.starts_with("NCCL_")) return false;
  if (!reader.skip(" set by environment to ") && !reader.skip(" set to ")) return false;
  auto value = trim(reader.rest());
  if (value.ends_with('.')) value.remove_suffix(1);
  if (transport.settings.size() < 4 * kMostTexts) {
    transport.settings[printable(name, 80)] = printable(value, 200);
  }
  return true;
}

void take_nvls(std::string_view text, Transport& transport) {
  if (text.starts_with("Connected NVLS tree")) transport.nvls_connected = true;
  // As NCCL 2.18 to 2.23 say it, which connect no tree inside one node.
  const bool has_heads = text.find(" nHeads ") != std::string_view::npos &&
                         text.find(" nHeads 0") == std::string_view::npos;
  if (text.starts_with("NVLS comm ") && has_heads) transport.nvls_connected = true;
  if (text.starts_with("NVLS multicast support is not available")) transport.nvls_missing = true;
}

// "+ NVL[240.0] - NVS/0" in the topology.
void take_links(std::string_view text, Transport& transport) {
  if (text.starts_with("+ ")) {
    const auto kind = text.substr(2, text.substr(2).find('['));
    for (const std::string_view known : {"NVL", "PCI", "C2C"}) {
      if (kind == known) keep(transport.links, kind);
    }
  }
}

// Other plugins, and those for tuning and profiling, are missing on healthy nodes, too.
bool speaks_of_a_plugin_in_trouble(std::string_view text) {
  if (!text.starts_with("NET/Plugin") && text.find("NET plugin") == std::string_view::npos) {
    return false;
  }
  constexpr std::array<std::string_view, 4> kTroubles{"Could not find", "Failed to ", "cannot open",
                                                      "unsupported"};
  return std::ranges::any_of(kTroubles, [text](std::string_view trouble) {
    return text.find(trouble) != std::string_view::npos;
  });
}

bool speaks_of_refused_peers(std::string_view text) {
  return text.find("Could not enable P2P between") != std::string_view::npos ||
         text.find("P2P is disabled between") != std::string_view::npos;
}

void take(std::string_view text, Transport& transport) {
  if (take_setting(text, transport)) return;
  if (text.starts_with("Channel ")) take_channel(text, transport);
  if (text.starts_with("Ways ")) take_ways(text, transport);
  if (text.starts_with("CollNet ")) take_collnet(text, transport);
  if (text.starts_with("NET/")) take_network(text, transport);
  if (text.find(" Bytes -> Algo ") != std::string_view::npos) take_algorithm(text, transport);
  if (text.find("Connected CollNet") != std::string_view::npos ||
      text.find("Connected Collnet") != std::string_view::npos) {
    transport.collnet_connected = true;
  }
  constexpr std::string_view kUsing = "Using network ";
  if (text.starts_with(kUsing)) keep(transport.networks, text.substr(kUsing.size()));
  if (speaks_of_a_plugin_in_trouble(text)) keep(transport.plugins, text);
  if (speaks_of_refused_peers(text)) keep(transport.refused, text);
  take_nvls(text, transport);
  take_links(trim(text), transport);
}

struct Line {
  std::string_view text;  // without the prefix
  bool warns = false;
  std::string_view host;  // of a line with a prefix
};

// "gpu-0007:12345:12399 [3] ", perhaps with the time before it: "[2026-02-03 04:05:06] ".
std::string_view host_of(std::string_view prefix) {
  const auto time = prefix.starts_with('[') ? prefix.find("] ") : std::string_view::npos;
  if (time != std::string_view::npos) prefix.remove_prefix(time + 2);
  const auto colon = prefix.find(':');
  return colon == std::string_view::npos ? std::string_view{} : prefix.substr(0, colon);
}

// Whatever stands before the last mark: a shortened log has no marks but of warnings.
Line without_prefix(std::string_view line) {
  constexpr std::string_view kInfo = "NCCL INFO ";
  constexpr std::string_view kWarn = "NCCL WARN ";
  const auto info = line.rfind(kInfo);
  const auto warn = line.rfind(kWarn);
  if (warn != std::string_view::npos && (info == std::string_view::npos || warn > info)) {
    return {.text = line.substr(warn + kWarn.size()), .warns = true};
  }
  if (info == std::string_view::npos) return {.text = line};
  return {.text = line.substr(info + kInfo.size()), .host = host_of(line.substr(0, info))};
}

void take_line(std::string_view raw, Transport& transport) {
  const auto line = without_prefix(raw);
  if (line.warns) keep(transport.warnings, line.text);
  const auto text = trim(line.text);
  take(text, transport);
  if (text.starts_with(kNoHca) && !line.host.empty()) keep(transport.without_hca, line.host);
}

// "Channel 07/1 : 0[3] …" of every channel says the same.
std::string of_any_channel(std::string_view text) {
  const auto colon = text.find(" : ");
  if (colon == std::string_view::npos) return printable(text, 300);
  for (const std::string_view word : {"Channel ", "CollNet "}) {
    if (text.starts_with(word))
      return fmt::format("{}00{}", word, printable(text.substr(colon), 300));
  }
  return printable(text, 300);
}

// The pairs of a rank with each of many others, in few lines.
std::string lines_of(const RankPairs& pairs) {
  std::string lines;
  for (std::size_t way = 0; way < pairs.names().size(); ++way) {
    std::map<int, std::vector<int>> to_many, from_many;
    pairs.for_each([&](int from, int to, RankPairs::Ways ways) {
      if ((ways >> way & 1U) != 0) to_many[from].push_back(to);
    });
    std::erase_if(to_many, [&](const auto& row) {
      if (row.second.size() > 1) return false;
      from_many[row.second.front()].push_back(row.first);
      return true;
    });
    const auto& name = pairs.names()[way];
    for (const auto& [from, to] : to_many) {
      lines += fmt::format("Ways {} -> {} via {}\n", from, text_of(to), name);
    }
    for (const auto& [to, from] : from_many) {
      lines += fmt::format("Ways {} -> {} via {}\n", text_of(from), to, name);
    }
  }
  return lines;
}

}  // namespace

void add_log(Transport& transport, std::string_view log) {
  for (const auto line : split_lines(log.substr(0, kMostRead))) take_line(line, transport);
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

std::set<std::string> with_interfaces(const std::set<std::string>& ways,
                                      const Transport& transport) {
  const auto names = interfaces_of(transport);
  std::set<std::string> all;
  for (const auto& way : ways) {
    const bool socket = way.starts_with("NET/Socket") && !names.empty();
    all.insert(socket ? fmt::format("{} ({})", way, fmt::join(names, ", ")) : way);
  }
  return all;
}

std::string telling_lines(std::string_view log) {
  std::set<std::string> seen;
  std::string lines;
  RankPairs pairs;
  for (const auto raw : split_lines(log.substr(0, kMostRead))) {
    Transport said;
    take_line(raw, said);
    const auto found = std::exchange(said.pairs, {});
    found.for_each([&](int from, int to, RankPairs::Ways ways) {
      for (const auto& way : found.names_of(ways)) pairs.add(from, to, way);
    });
    if (said.empty()) continue;
    const auto line = without_prefix(raw);
    auto text = of_any_channel(trim(line.text));
    if (line.warns) text = fmt::format("NCCL WARN {}", text);
    for (const auto& host : said.without_hca) text = fmt::format("{}: NCCL INFO {}", host, text);
    if (!seen.insert(text).second) continue;
    lines += text;
    lines.push_back('\n');
  }
  return lines + lines_of(pairs);
}

}  // namespace muster::bench
