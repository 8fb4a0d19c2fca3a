// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/fakes/nccl/library.hpp"

namespace muster::fakes::gpu {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets any now
  return text == nullptr ? "" : text;
}

std::string host_name(int rank) { return fmt::format("node{}", scenario().host_of(rank)); }

std::FILE* open_log() {
  auto* opened = std::fopen(variable("NCCL_DEBUG_FILE").c_str(), "w");
  return opened == nullptr ? stdout : opened;
}

// Read at the first line, as by NCCL; later changes have no effect.
struct Settings {
  bool informs = false;
  std::string subsystems;
  std::FILE* file = nullptr;
};

std::optional<Settings>& kept() {
  static std::optional<Settings> settings;
  return settings;
}

const Settings& settings() {
  if (kept()) return *kept();
  return kept().emplace(
      Settings{.informs = ::strcasecmp(variable("NCCL_DEBUG").c_str(), "INFO") == 0,
               .subsystems = variable("NCCL_DEBUG_SUBSYS"),
               .file = open_log()});
}

void write(const Writer& writer, std::string_view level, std::string_view text) {
  auto* out = settings().file;
  fmt::print(out, "{}:{}:{} [{}] {} {}\n", host_name(writer.rank), ::getpid(), ::getpid(),
             writer.gpu, level, text);
  std::fflush(out);  // NOLINT(cert-err33-c): as much as a log can do
}

// "all_reduce" becomes NCCL's "AllReduce".
std::string function_name(std::string_view name) {
  std::string text;
  bool begins = true;
  for (const char letter : name) {
    if (letter != '_') {
      text.push_back(begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
                            : letter);
    }
    begins = letter == '_';
  }
  return text;
}

void inform(const Writer& writer, const char* subsystem, std::string_view text) {
  const auto& all = settings();
  const bool wanted = all.subsystems.empty() ? std::string_view(subsystem) != "TUNING"
                                             : all.subsystems.find(subsystem) != std::string::npos;
  if (all.informs && wanted) write(writer, "NCCL INFO", text);
}

int gpu_of(int rank) { return scenario().gpus > 0 ? rank % scenario().gpus : 0; }

void log_socket(const Writer& writer) {
  if (scenario().ib_disabled) {
    inform(writer, "ENV", "NCCL_IB_DISABLE set by environment to 1.");
  } else {
    inform(writer, "NET", "NET/IB : No device found.");
  }
  inform(writer, "NET", "NET/Socket : Using [0]eth0:10.0.0.4<0>");
  inform(writer, "INIT", "Using network Socket");
}

void log_infiniband(const Writer& writer) {
  inform(writer, "NET",
         "NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>");
  const bool direct = scenario().network == Network::ib_gdr;
  for (int i = 0; i < 2; ++i) {
    inform(writer, "NET",
           fmt::format("NET/IB : GPU Direct RDMA {} for HCA {} 'mlx5_ib{}'",
                       direct ? "Enabled" : "Disabled", i, i));
  }
  inform(writer, "INIT", "Using network IB");
}

void log_pair(const Writer& writer, int from, int to, bool sends) {
  const auto pair =
      fmt::format("Channel 00/0 : {}[{}] -> {}[{}]", from, gpu_of(from), to, gpu_of(to));
  if (scenario().host_of(from) == scenario().host_of(to)) {
    if (!sends) return;
    const bool shared = scenario().inside == Inside::shm;
    inform(writer, shared ? "SHM" : "P2P",
           fmt::format("{} via {}", pair, shared ? "SHM/direct/direct" : "P2P/CUMEM"));
    return;
  }
  std::string_view path = "NET/Socket/0";
  if (scenario().network == Network::ib) path = "NET/IB/0";
  if (scenario().network == Network::ib_gdr) path = "NET/IB/0/GDRDMA";
  inform(writer, "NET", fmt::format("{} [{}] via {}", pair, sends ? "send" : "receive", path));
}

void log_init(const Writer& writer, std::string_view state) {
  inform(
      writer, "INIT",
      fmt::format("ncclCommInitRankConfig comm 0x5581d8f0 rank {} nranks {} cudaDev {} nvmlDev {} "
                  "busId {:x}000a000 commId 0x1a2b3c4d - Init {}",
                  writer.rank, writer.ranks, writer.gpu, writer.gpu, writer.gpu + 1, state));
}

}  // namespace

void log_warning(const Writer& writer, std::string_view text) {
  if (!variable("NCCL_DEBUG").empty()) write(writer, "NCCL WARN", text);
}

void log_arrival(const Writer& writer) { log_init(writer, "START"); }

void log_begin(const Writer& writer) {
  inform(writer, "INIT", "NCCL version 2.28.9+cuda13.0");
  if (!scenario().warning.empty()) log_warning(writer, scenario().warning);
  if (scenario().network == Network::socket) {
    log_socket(writer);
  } else {
    log_infiniband(writer);
  }
  inform(writer, "GRAPH",
         fmt::format("          + {}", scenario().inside == Inside::shm ? "PCI[24.0] - CPU/0-0"
                                                                        : "NVL[240.0] - NVS/0"));
  inform(writer, "INIT",
         fmt::format("NVLS multicast support is {}available on dev {}",
                     scenario().inside == Inside::nvls ? "" : "not ", writer.gpu));
  log_init(writer, "COMPLETE");
  for (const auto& line : scenario().log) inform(writer, "INIT", line);
}

void log_connections(const Writer& writer) {
  if (writer.ranks > 1) {
    const int next = (writer.rank + 1) % writer.ranks;
    const int previous = (writer.rank + writer.ranks - 1) % writer.ranks;
    log_pair(writer, previous, writer.rank, false);
    log_pair(writer, writer.rank, next, true);
  }
  inform(writer, "INIT",
         fmt::format("Connected all rings, use ring PXN 0 GDR {}",
                     scenario().network == Network::ib_gdr ? 1 : 0));
  if (scenario().inside == Inside::nvls) inform(writer, "INIT", "Connected NVLS tree");
}

void log_operation(const Writer& writer, std::string_view name, std::uint64_t bytes) {
  inform(writer, "TUNING",
         fmt::format("{}: {} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..15}}",
                     function_name(name), bytes));
}

void forget_log_settings() {
  if (kept() && kept()->file != stdout) static_cast<void>(std::fclose(kept()->file));
  kept().reset();
}

}  // namespace muster::fakes::gpu
