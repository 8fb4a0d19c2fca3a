// SPDX-License-Identifier: Apache-2.0
// Which ways the data of a run took, as NCCL's own log says. Written for NCCL 2.18 to 2.30; a line
// that is not understood says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

// Pairs of ranks, and the ways that data take from the one to the other. Small enough for thousands
// of ranks that all send to all.
class RankPairs {
 public:
  // A set of ways: a bit for each, in the order of names().
  using Ways = std::uint16_t;

  // Adds a way; where there are more than 16, the later ones are left out.
  void add(int from, int to, std::string_view way);
  // Adds a way from each of the one to each of the other.
  void add(std::span<const int> from, std::span<const int> to, std::string_view way);

  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] std::set<std::string> names_of(Ways ways) const;
  [[nodiscard]] std::set<std::string> between(int from, int to) const;

  // Calls `use(from, to, ways)` in the order of the pairs.
  template <class Use>
  void for_each(Use use) const {
    for (std::size_t from = 0; from < rows_.size(); ++from) {
      const auto& row = rows_[from];
      for (std::size_t at = 0; at < row.ways.size(); ++at) {
        if (row.ways[at] == 0) continue;
        use(static_cast<int>(from), row.first + static_cast<int>(at), row.ways[at]);
      }
    }
  }

  bool operator==(const RankPairs& other) const;

 private:
  // The ways from one rank to others: to rank `first`, to the next one, and so on.
  struct Row {
    int first = 0;
    std::vector<Ways> ways;
  };

  [[nodiscard]] Ways bit_of(std::string_view way);
  void add(int from, int to, Ways way);

  std::vector<std::string> names_;
  std::vector<Row> rows_;
  std::size_t size_ = 0;
};

struct Transport {
  // Every way that any channel takes, from rank to rank: "P2P/CUMEM", "P2P/IPC", "P2P/MNNVL",
  // "P2P/direct", "P2P/indirect", "SHM", "NET/IB", "NET/IB/GDRDMA", "NET/Socket"; "NET/x" for a
  // plugin x; with "/PXN" at the end where another GPU's HCA is used.
  RankPairs pairs;
  std::set<std::string> networks;    // "IB", "Socket", a plugin's name
  std::set<std::string> hcas;        // "mlx5_ib0:1/IB"
  std::set<std::string> interfaces;  // of NET/Socket: "eth0:10.0.0.4<0>"
  std::set<std::string> in_network;  // "COLLNET/SHARP/GDRDMA": reductions in switches
  std::map<std::string, std::set<std::string>> algorithms;  // AllReduce: "RING/SIMPLE"
  std::map<std::string, std::string> settings;  // NCCL_…: what NCCL read from the environment
  std::set<std::string> links;        // between GPUs and what is next: "NVL", "PCI", "C2C"
  std::set<std::string> without_gdr;  // HCAs without GPUDirect RDMA
  std::set<std::string> with_gdr;     // and with it
  std::set<std::string> plugins;      // lines about network plugins that are missing or failed
  std::set<std::string> refused;      // lines about GPUs that cannot be peers
  std::set<std::string> warnings;     // WARN lines
  std::set<std::string> without_hca;  // the hosts where NCCL found none, as far as they are told
  bool no_hca = false;                // "NET/IB : No device found."
  bool nvls_missing = false;
  bool nvls_connected = false;
  bool collnet_connected = false;

  bool operator==(const Transport&) const = default;

  // Whether there was anything in the log at all.
  [[nodiscard]] bool empty() const { return *this == Transport{}; }
};

// The log of one rank.
[[nodiscard]] Transport parse_transport(std::string_view log);

// Adds what another rank's log says.
void add_log(Transport& transport, std::string_view log);

// The interfaces of NET/Socket, without their addresses: "eth0".
[[nodiscard]] std::set<std::string> interfaces_of(const Transport& transport);

// Ways as they are told: "NET/Socket (eth0)", where it is known over which interfaces that went.
[[nodiscard]] std::set<std::string> with_interfaces(const std::set<std::string>& ways,
                                                    const Transport& transport);

// The lines of a log that say something, each once, without their prefixes and the numbers of
// channels: what has to be sent to rank 0. parse_transport makes the same of it as of the log. The
// ways of all channels come at the end, those of many ranks in a line: "Ways 0-4,6 -> 5 via SHM".
[[nodiscard]] std::string telling_lines(std::string_view log);

}  // namespace muster::bench
