// SPDX-License-Identifier: Apache-2.0
// The GPUs from NVML. Any call may block forever on a hung GPU, so all calls are on threads that
// can be abandoned: one opens NVML, then one reads each GPU, then one reads pairs. The process ends
// with _exit, which does not wait for them. NVML is not shut down, because that could block as
// well.
#include <fmt/format.h>

#include <map>

#include "lib/probes/attributes.hpp"
#include "lib/probes/gpu/reader.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

using nvml::Caller;
using nvml::GpuFacts;
using nvml::Library;
using nvml::Watched;

struct Opened {
  Nvml facts;
  std::shared_ptr<const Library> library;
  unsigned count = 0;
  Error error;  // set if the library cannot be used
};

constexpr unsigned kMaxGpus = 64;  // each has its own thread

using WatchedGpu = std::shared_ptr<Watched<GpuFacts>>;

void set_trouble(Nvml& facts, std::string trouble, int code) {
  facts.trouble = std::move(trouble);
  facts.trouble_code = code;
}

void open_nvml(const std::string& named, Watched<Opened>& watched) {
  Opened opened;
  watched.calling("dlopen of NVML");
  auto library = nvml::open_library(named);
  watched.calling({});
  if (!library) {
    opened.error = library.error();
    return watched.publish(opened);
  }
  opened.library = std::make_shared<const Library>(std::move(*library));
  opened.facts.library = opened.library->path;
  const auto& functions = opened.library->functions;
  Caller call(functions, [&](std::string_view name) { watched.calling(name); });
  int code = call(functions.init);
  if (code != nvml::kOk) {
    set_trouble(opened.facts, call.error(functions.init, code).message, code);
    return watched.publish(opened);
  }
  constexpr std::size_t kVersion = 80;
  opened.facts.driver = call.text<kVersion>(functions.driver_version);
  opened.facts.cuda = call.number<unsigned>(functions.cuda_version);
  watched.publish(opened);
  nvml::ConfidentialState state{};
  code = call(functions.confidential, &state);
  opened.facts.confidential = call.fact(functions.confidential, code, state.feature != 0);
  if (opened.facts.confidential.value_or(false)) {
    opened.facts.confidential_ready = call.number<bool>(functions.confidential_ready);
  }
  watched.publish(opened);
  code = call(functions.count, &opened.count);
  if (code != nvml::kOk) {
    set_trouble(opened.facts, call.error(functions.count, code).message, code);
  } else if (opened.count > kMaxGpus) {
    set_trouble(opened.facts,
                fmt::format("{} reports {} GPUs, and muster reads at most {}", functions.count.name,
                            opened.count, kMaxGpus),
                nvml::kOk);
  }
  watched.publish(opened);
}

std::vector<WatchedGpu> start_reading(const Opened& opened, NvmlParts parts) {
  std::vector<WatchedGpu> readings;
  for (unsigned index = 0; index < opened.count; ++index) {
    GpuFacts nothing_yet;
    nothing_yet.gpu.index = index;
    readings.push_back(nvml::start_watched<GpuFacts>(
        std::move(nothing_yet),
        [library = opened.library, index, parts](Watched<GpuFacts>& watched) {
          nvml::read_gpu(library->functions, index, parts, watched);
        }));
  }
  return readings;
}

using Peers = std::vector<std::map<std::string, unsigned>>;  // by index in `gpus`

// Access is mutual, so each pair is queried once.
void query_peers(const Library& library, const std::vector<GpuFacts>& gpus,
                 Watched<Peers>& watched) {
  Peers peers(gpus.size());
  Caller call(library.functions, [&](std::string_view name) { watched.calling(name); });
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      if (gpus[a].handle == nullptr || gpus[b].handle == nullptr) continue;
      int status = 0;
      const int code = call(library.functions.peer_access, gpus[a].handle, gpus[b].handle,
                            nvml::kPeerRead, &status);
      if (code != nvml::kOk) continue;
      peers[a][gpus[b].gpu.address] = static_cast<unsigned>(status);
      peers[b][gpus[a].gpu.address] = static_cast<unsigned>(status);
    }
    watched.publish(peers);
  }
}

void add_peers(const std::shared_ptr<const Library>& library, std::vector<GpuFacts>& gpus,
               Clock::time_point deadline) {
  if (library->functions.peer_access.call == nullptr) {
    const auto why = fmt::format("this driver has no {}", library->functions.peer_access.names);
    for (auto& each : gpus) each.gpu.peers = decltype(each.gpu.peers)::absent(why);
    return;
  }
  // Skip GPUs that are lost or hang.
  auto queried = gpus;
  for (auto& each : queried) {
    if (!each.gpu.lost.empty() || !each.gpu.stuck.empty()) each.handle = nullptr;
  }
  const auto watched = nvml::start_watched<Peers>(
      Peers(gpus.size()),
      [library, queried](Watched<Peers>& found) { query_peers(*library, queried, found); });
  auto [peers, stuck] = watched->wait(deadline);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (stuck.empty()) {
      gpus[i].gpu.peers = std::move(peers[i]);
    } else {
      gpus[i].gpu.peers =
          decltype(gpus[i].gpu.peers)::unreadable(fmt::format("{}{}", stuck, kDidNotReturn));
    }
  }
}

// The text after the first `mark`; empty for none.
std::string_view after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

// "…/slurm/uid_1000/job_4242/step_0" or "…/job_4242/…".
std::string job_of(std::string_view cgroups) {
  const auto rest = after(cgroups, "/job_");
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

// "nvidia-mps.service" for ".../system.slice/nvidia-mps.service", which only root can create.
std::string unit_of(std::string_view cgroups) {
  const auto rest = after(cgroups, "/system.slice/");
  return printable(rest.substr(0, rest.find_first_of("/\n")), 128);
}

void name_processes(const Root& root, Fact<std::vector<GpuProcess>>& processes) {
  if (!processes) return;
  for (auto& process : *processes) {
    const auto name = root.read_line(fmt::format("/proc/{}/comm", process.pid));
    process.name = name ? printable(*name, 64) : "";
    process.user = nvml::as<unsigned>(
        Fact<std::uint64_t>(read_user(root, fmt::format("/proc/{}", process.pid))));
    const auto cgroups = root.read(fmt::format("/proc/{}/cgroup", process.pid)).value_or("");
    process.job = job_of(cgroups);
    process.unit = unit_of(cgroups);
  }
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  …", or for the closed module
// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …".
Fact<bool> is_open_module(const Root& root) {
  constexpr std::string_view kVersion = "/proc/driver/nvidia/version";
  TRY_ASSIGN(const auto line, root.read_line(kVersion));
  if (line.find("Kernel Module") == std::string::npos) {
    return make_error("{} names no kernel module", kVersion);
  }
  return line.find("Open Kernel Module") != std::string::npos;
}

// One address or name per line; "#" begins a comment.
Fact<std::vector<std::string>> read_imex_nodes(const Root& root) {
  TRY_ASSIGN(const auto text, root.read("/etc/nvidia-imex/nodes_config.cfg"));
  std::vector<std::string> nodes;
  for (const auto line : split_lines(text)) {
    const auto node = trim(line.substr(0, line.find('#')));
    if (!node.empty()) nodes.push_back(printable(node, 128));
  }
  return nodes;
}

Fact<bool> has_imex_channel(const Root& root) {
  return root.list("/dev/nvidia-caps-imex-channels").map([](const auto& channels) {
    return !channels.empty();
  });
}

void read_gpus(const Root& root, const Opened& opened, const NvmlOptions& options,
               Clock::time_point deadline, Nvml& facts) {
  std::vector<GpuFacts> gpus;
  // Reserve time for pairs even if a GPU hangs.
  const auto first = Clock::now() + (deadline - Clock::now()) * 3 / 4;
  for (const auto& reading : start_reading(opened, options.parts)) {
    auto [read, stuck] = reading->wait(first);
    read.gpu.stuck = stuck;
    gpus.push_back(std::move(read));
  }
  if (options.parts.pairs) {
    add_peers(opened.library, gpus, deadline);
  } else {
    for (auto& each : gpus) each.gpu.peers = decltype(each.gpu.peers)::absent(nvml::kNotRequested);
  }
  for (auto& each : gpus) {
    name_processes(root, each.gpu.processes);
    name_processes(root, each.gpu.graphics);
    facts.gpus.push_back(std::move(each.gpu));
  }
  std::ranges::stable_sort(facts.gpus, {}, &Gpu::address);
}

}  // namespace

Section<Nvml> probe_nvml(const Root& root, const NvmlOptions& options, Clock::time_point deadline) {
  if (root.foreign() && options.library.empty()) {
    return not_observed<Nvml>(
        Status::absent,
        "the driver's library describes this host, not a foreign root; name one with --nvml");
  }
  const auto begin = Clock::now();
  // Reserve time to send the facts.
  const auto until =
      deadline - std::min<Clock::duration>((deadline - begin) / 8, std::chrono::milliseconds(300));
  const auto opening = nvml::start_watched<Opened>(
      {}, [named = options.library](Watched<Opened>& watched) { open_nvml(named, watched); });
  auto [opened, stuck] = opening->wait(until);
  if (!stuck.empty()) {
    const std::chrono::duration<double> waited = Clock::now() - begin;
    return not_observed<Nvml>(
        Status::timeout, fmt::format("{} did not return within {:.3g} s", stuck, waited.count()));
  }
  if (!opened.library && is_own_lack(opened.error)) {
    return not_observed<Nvml>(std::move(opened.error.message));
  }
  // A library that was named must exist.
  if (!opened.library && opened.error.missing && options.library.empty()) {
    return not_observed<Nvml>(Status::absent, std::move(opened.error.message));
  }
  Nvml facts = std::move(opened.facts);
  facts.module = root.read_line("/sys/module/nvidia/version");
  facts.open_module = is_open_module(root);
  facts.imex_nodes = read_imex_nodes(root);
  facts.imex_channel = has_imex_channel(root);
  if (!opened.library) {
    const int code = opened.error.missing ? nvml::kLibraryNotFound : nvml::kFunctionNotFound;
    set_trouble(facts, opened.error.message, code);
  } else if (facts.trouble.empty()) {
    read_gpus(root, opened, options, until, facts);
  }
  return observed(std::move(facts));
}

}  // namespace muster
