// SPDX-License-Identifier: Apache-2.0
#include "bench/run/transport_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/requirements.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "bench/collectives/definition.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/verbs/library.hpp"

namespace muster::bench {
namespace {

// The index of each rank's node, in the order of first ranks.
std::vector<int> nodes_of(const std::vector<Member>& members) {
  std::map<std::string, int> known;
  std::vector<int> nodes;
  nodes.reserve(members.size());
  for (const auto& member : members) {
    nodes.push_back(known.emplace(member.host, static_cast<int>(known.size())).first->second);
  }
  return nodes;
}

bool same_node(const std::vector<int>& nodes, std::pair<int, int> ranks) {
  const auto node = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return rank >= 0 && at < nodes.size() ? nodes[at] : -1;
  };
  return node(ranks.first) == node(ranks.second);
}

std::string sentence(const RequirementResult& result) {
  return result.cause.empty() ? result.what : fmt::format("{}: {}", result.what, result.cause);
}

// "RING" of "RING/SIMPLE"; empty if ranks or passes differ.
std::string algorithm_of(const Transport& transport, Collective collective) {
  const auto found =
      transport.algorithms.find(std::string(definition_of(collective).nccl.log_name));
  if (found == transport.algorithms.end()) return {};
  std::set<std::string> names;
  for (const auto& each : found->second) names.insert(each.substr(0, each.find('/')));
  return names.size() == 1 ? *names.begin() : std::string();
}

// Pairs in runs, in which each has both ranks one higher than the last: "0-7 to 8-15".
std::string in_runs(RankPairs pairs) {
  constexpr std::size_t kMax = 32;
  std::vector<std::string> runs;
  std::size_t more = 0;
  const auto remove = [&pairs](int from, int to) {
    const auto row = pairs.find(from);
    const auto at = static_cast<std::size_t>(to);
    if (row == pairs.end() || at >= row->second.size() || !row->second[at]) return false;
    row->second[at] = false;
    return true;
  };
  for_each_pair(RankPairs(pairs), [&](int from, int to) {
    if (!remove(from, to)) return;  // in an earlier run
    if (runs.size() == kMax) {
      ++more;
      return;
    }
    int last = 0;
    while (remove(from + last + 1, to + last + 1)) ++last;
    runs.push_back(last == 0 ? fmt::format("{} to {}", from, to)
                             : fmt::format("{}-{} to {}-{}", from, from + last, to, to + last));
  });
  const auto text = fmt::format("{}", fmt::join(runs, ", "));
  return more == 0 ? text : fmt::format("{} and {} more pairs", text, more);
}

std::vector<std::string> pairs_of(const Transport& transport) {
  std::vector<std::string> lines;
  for (const auto& [name, pairs] : transport.pairs) {
    lines.push_back(fmt::format("{}: {}", name, in_runs(pairs)));
  }
  return lines;
}

// The transports within a node, and between nodes.
std::pair<std::set<std::string>, std::set<std::string>> transports_of(
    const Transport& transport, const std::vector<int>& nodes) {
  std::set<std::string> inside;
  std::set<std::string> between;
  for (const auto& [name, pairs] : transport.pairs) {
    for_each_pair(pairs, [&, &name = name](int from, int to) {
      (same_node(nodes, {from, to}) ? inside : between).insert(name);
    });
  }
  return {inside, between};
}

// Returns "infiniband" if that connects some nodes, as between racks, because it is slower; else
// "nvlink" if that does.
std::string over_of(const std::set<std::string>& between) {
  if (between.empty()) return {};
  return between == std::set<std::string>{"P2P/MNNVL"} ? "nvlink" : "infiniband";
}

// "between nodes NET/IB/GDRDMA; inside P2P/CUMEM", "between nodes NET/Socket (eth0)"
std::string summary_of(const Transport& transport, const std::vector<Member>& members) {
  const auto [inside, between] = transports_of(transport, nodes_of(members));
  std::vector<std::string> parts;
  if (!between.empty()) {
    parts.push_back(
        fmt::format("between nodes {}", fmt::join(with_interfaces(between, transport), ", ")));
  }
  if (!inside.empty()) parts.push_back(fmt::format("inside {}", fmt::join(inside, ", ")));
  if (transport.nvls_connected) parts.emplace_back("NVLink SHARP");
  if (!transport.in_network.empty()) {
    parts.push_back(fmt::format("in the network {}", fmt::join(transport.in_network, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

constexpr std::uint64_t kMib = 1UL << 20U;

Result<std::vector<std::string>> listed_hcas() {
  TRY_ASSIGN(const auto library, open_verbs());
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(library.list(&count),
                                                                  library.free_list);
  std::vector<std::string> names;
  for (int at = 0; list && at < count; ++at) names.emplace_back(library.name(list.get()[at]));
  return names;
}

// "mlx5_ib0", "mlx5_ib0 and 7 more"
std::string first_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

bool any_contains(const std::vector<std::string>& texts, std::string_view first,
                  std::string_view second) {
  return std::ranges::any_of(texts, [&](std::string_view text) {
    return text.find(first) != std::string_view::npos &&
           text.find(second) != std::string_view::npos;
  });
}

}  // namespace

std::string logged_algorithm(Collective collective) {
  return algorithm_word(algorithm_of(parse_transport(nccl_log()), collective));
}

std::vector<std::string> nccl_warnings() {
  const auto warnings = parse_transport(nccl_log()).warnings;
  return {warnings.begin(), warnings.end()};
}

TransportReport transport_report(const std::vector<std::string>& logs,
                                 const std::vector<Member>& members,
                                 const std::vector<std::string>& required, Collective collective) {
  Transport transport;
  for (const auto& log : logs) add_log(transport, log);
  TransportReport report{
      .facts = {.known = !transport.empty(),
                .used = summary_of(transport, members),
                .over = over_of(transports_of(transport, nodes_of(members)).second)},
      .algorithm = algorithm_of(transport, collective),
      .pairs = pairs_of(transport),
      .warnings = {transport.warnings.begin(), transport.warnings.end()}};
  const auto requirements = parse_requirements(fmt::format("{}", fmt::join(required, ",")));
  if (!report.facts.known || required.empty() || !requirements) return report;
  for (const auto& result : check_requirements(transport, nodes_of(members), *requirements)) {
    const std::string name(to_string(result.requirement));
    if (result.state == RequirementResult::State::missed) {
      report.facts.missing.push_back({name, sentence(result)});
    }
    if (result.state == RequirementResult::State::unknown) report.facts.unclear.push_back(name);
  }
  return report;
}

std::string problem_with_hcas(const Root& root, const Result<std::vector<std::string>>& listed) {
  std::vector<std::string> closed;
  std::string why;
  std::vector<std::string> unlisted;
  for (const auto& device :
       root.list("/sys/class/infiniband_verbs").value_or(std::vector<std::string>())) {
    const auto name = root.read_line(fmt::format("/sys/class/infiniband_verbs/{}/ibdev", device));
    if (!name) continue;  // abi_version
    const auto path = fmt::format("/dev/infiniband/{}", device);
    if (const auto opened = root.open(path, O_RDWR | O_NONBLOCK); !opened) {
      closed.push_back(path);
      why = opened.error().message;
    } else if (listed && std::ranges::count(*listed, *name) == 0) {
      unlisted.push_back(printable(*name, 64));
    }
  }
  if (!closed.empty()) {
    return fmt::format(
        "{} cannot be used ({}): give the container the HCAs (the RDMA resource of Kubernetes, "
        "--device /dev/infiniband)",
        first_of(closed), why);
  }
  constexpr std::string_view kRemedy = "install ibverbs-providers in the image";
  if (!listed) return fmt::format("{}: {}", listed.error().message, kRemedy);
  if (unlisted.empty()) return {};
  return fmt::format("libibverbs has no provider for {}: {}", first_of(unlisted), kRemedy);
}

std::string problem_with_locked_memory(std::uint64_t limit_bytes, bool ipc_lock) {
  if (limit_bytes == RLIM_INFINITY || ipc_lock) return {};
  return fmt::format(
      "only {} KiB of memory may be locked: give the container the capability IPC_LOCK, or "
      "--ulimit memlock=-1",
      limit_bytes / 1024);
}

std::string problem_with_shared_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kEnough = 1024 * kMib;  // for eight ranks, as NVIDIA recommends
  if (bytes >= kEnough) return {};
  return fmt::format(
      "/dev/shm has {} MiB, expected at least {}: give the container --shm-size=1g, or an emptyDir "
      "in memory (Kubernetes)",
      bytes / kMib, kEnough / kMib);
}

AccessProblems observe_access() {
  const Root root;
  AccessProblems problems{.hcas = problem_with_hcas(root, listed_hcas())};
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    problems.locked_memory = problem_with_locked_memory(limit.rlim_cur, has_ipc_lock(root));
  }
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) {
    problems.shared_memory = problem_with_shared_memory(shared.f_blocks * shared.f_frsize);
  }
  return problems;
}

std::string access_lines(std::string_view log, const AccessProblems& problems) {
  if (!parse_transport(log).networks.contains("Socket")) return {};
  std::string lines;
  for (const auto& problem : {problems.hcas, problems.locked_memory}) {
    if (!problem.empty()) lines += fmt::format("{}{}\n", kAccessLine, problem);
  }
  return lines;
}

std::string explain_failure(const std::vector<std::string>& texts, const AccessProblems& problems) {
  struct Cause {
    std::string_view first, second;  // both in one text
    std::string_view sentence;
  };
  constexpr std::string_view kNoAlgorithm =
      "NCCL_ALGO or NCCL_PROTO leaves nothing for this collective: set another";
  constexpr std::string_view kNoGpuMemory =
      "the GPU has too little free memory: end what else runs on it, or give a smaller size";
  for (const auto& [first, second, sentence] : std::initializer_list<Cause>{
           {"ibv_", "Cannot allocate memory", problems.locked_memory},
           {"network IB", "not found", problems.hcas},
           {"initialize any NET plugin", "", problems.hcas},
           {"no algorithm/protocol available", "was set to", kNoAlgorithm},
           {"CUDA_ERROR_OUT_OF_MEMORY", "", kNoGpuMemory},
           {"Cuda failure", "out of memory", kNoGpuMemory},
           {"/dev/shm", "", problems.shared_memory},
           {"shared memory segment", "", problems.shared_memory},
           {"fallocate", "No space left on device", problems.shared_memory}}) {
    if (any_contains(texts, first, second)) return std::string(sentence);
  }
  return {};
}

std::string explain_failure(const RankContext& self, const Error& error) {
  if (self.kind != BackendKind::nccl) return {};
  auto texts = nccl_warnings();
  texts.push_back(error.message);
  return explain_failure(texts, observe_access());
}

}  // namespace muster::bench
