// SPDX-License-Identifier: Apache-2.0
// The lines of Azure's own configurations: nodes that match them are healthy, and each fault that
// Azure's scripts find fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "checks/nhc_conf/judge.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/nhc_conf/literal_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::aznhc_test {
namespace {

// The lines that differ between kinds of nodes. The topology is left out, which needs a whole node.
constexpr std::string_view kH100 = R"(
 * || check_hw_cpuinfo 2 96 96
 * || check_hw_physmem 1915071MB 1915071MB 5%
 * || check_hw_eth docker0
 * || check_nvme_count 8
 * || check_gpu_count 8
 * || check_nvsmi_healthmon
 * || check_gpu_xid
 * || check_gpu_bw 48 335
 * || check_gpu_ecc 20000000 10000
 * || check_gpu_clock_throttling
 * || check_nccl_allreduce 460.0 1 16G $AZ_NHC_ROOT/topofiles/ndv5-topo.xml
 * || check_nvlink_status
 * || check_ib_bw_gdr 380
)";

constexpr std::string_view kV100 = R"(
 * || check_hw_cpuinfo 2 40 40
 * || check_hw_physmem 693505424kB 693505424kB 3%
 * || check_gpu_ecc
 * || check_gpu_count 8
 * || check_gpu_xid
 * || check_nvsmi_healthmon
 * || check_gpu_clock_throttling
 * || check_gpu_bw 9
 * || check_nvlink_status
 * || check_nccl_allreduce 110.0 1 8G $AZ_NHC_ROOT/topofiles/ndv2-topo.xml
 * || check_ib_bw_non_gdr 78 65536
)";

constexpr std::string_view kMi300x = R"(
 *|| check_hw_cpuinfo 2 96 96
 *|| check_hw_physmem 1915059MB 1915059MB 7%
  * || check_gpu_count 8 rocm
  * || check_gpu_bw 48 44
  * || check_rccl_allreduce 314 1 16G
 * || check_ib_bw_non_gdr 390
)";

Config config_of(std::string_view lines, int rails, int rate_gbps) {
  std::string text(lines);
  text += " * || check_hw_swap 0kB 0kB 3%\n * || check_hw_eth lo\n * || check_hw_eth eth0\n";
  for (int rail = 0; rail < rails; ++rail) {
    text += fmt::format(" * || check_hw_ib {} mlx5_ib{}:1\n * || check_hw_eth ib{}\n", rate_gbps,
                        rail, rail);
  }
  text += " * || check_ib_link_flapping\n";
  return parse_config("azure.conf", text);
}

bool asks(const Config& config, std::string_view check) {
  return std::ranges::any_of(check_lines(config),
                             [&](const CheckLine& line) { return line.check == check; });
}

unsigned number(const CheckLine& line, std::size_t index) {
  if (index >= line.arguments.size()) return 0;
  return static_cast<unsigned>(parse_unsigned(line.arguments[index]).value_or(0));
}

// "1915071MB".
std::uint64_t size_of(std::string_view text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  const auto unit = text.substr(digits.size());
  return parse_unsigned(digits).value_or(0) << (unit == "GB" ? 30U : unit == "MB" ? 20U : 10U);
}

void add_port(Snapshot& node, const CheckLine& line) {
  const auto name = line.arguments.at(1).substr(0, line.arguments.at(1).find(':'));
  node.infiniband.facts.hcas.push_back(
      {.name = name,
       .ports = std::vector<IbPort>{
           {.number = 1,
            .link_layer = "InfiniBand",
            .state = 4U,
            .physical_state = 5U,
            .rate_gbps = static_cast<double>(number(line, 0)),
            .counters = ByName<Fact<std::uint64_t>>{{"link_downed", std::uint64_t{0}}}}}});
}

// The node that the lines describe.
Snapshot node_for(const Config& config, bool volta) {
  Snapshot node{.identity = observed(Identity{.hostname = "n3", .uptime_s = kUptime}),
                .cpu = observed(Cpu{}),
                .memory = observed(Memory{.swap_total_bytes = std::uint64_t{0}}),
                .disks = observed(Disks{}),
                .kernel_log = observed(KernelLog{}),
                .network = observed(Network{}),
                .pci = observed(Pci{}),
                .infiniband = observed(Infiniband{.umad = std::string("5")}),
                .nvml = observed(Nvml{.driver = std::string("580.82.07")})};
  for (const auto& line : check_lines(config)) {
    if (line.check == "check_hw_cpuinfo") {
      node.cpu.facts = {
          .sockets = number(line, 0), .cores = number(line, 1), .threads = number(line, 2)};
    } else if (line.check == "check_hw_physmem") {
      node.memory.facts.total_bytes = size_of(line.arguments.front());
    } else if (line.check == "check_hw_eth") {
      node.network.facts.interfaces.push_back({.name = line.arguments.front()});
    } else if (line.check == "check_hw_ib") {
      add_port(node, line);
    } else if (line.check == "check_gpu_count") {
      for (unsigned i = 0; i < number(line, 0); ++i) {
        node.nvml.facts.gpus.push_back(sound_gpu(i, volta));
      }
    } else if (line.check == "check_nvme_count") {
      for (unsigned i = 0; i < number(line, 0); ++i) {
        node.disks.facts.nvme.push_back(sound_disk(i));
      }
    }
  }
  return node;
}

Report judged(const Snapshot& node, const Config& config) {
  static const Profile profile = load_profile({}, "generic").value();
  return judge(node, profile, config, "manual");
}

std::string describe(const Report& report) {
  std::string text;
  for (const auto& finding : report.findings) {
    if (finding.outcome == Outcome::pass || finding.outcome == Outcome::skip) continue;
    text += fmt::format("\n{} {} {}: {}", to_string(finding.outcome), finding.check, finding.device,
                        finding.message);
  }
  return text;
}

Gpu& last_gpu(Snapshot& node) { return node.nvml.facts.gpus.back(); }

struct Fault {
  std::string_view check;  // of the script that catches it
  std::string_view name;
  void (*change)(Snapshot&);

  enum Of { any, volta, newer } of = any;
};

constexpr auto kFaults = std::to_array<Fault>({
    {"check_hw_cpuinfo", "a thread less", [](Snapshot& n) { n.cpu.facts.threads = 1U; }},
    {"check_hw_physmem", "a tenth less",
     [](Snapshot& n) { n.memory.facts.total_bytes = *n.memory->total_bytes / 10 * 9; }},
    {"check_hw_swap", "swap is on",
     [](Snapshot& n) { n.memory.facts.swap_total_bytes = std::uint64_t{1} << 30U; }},
    {"check_hw_eth", "an interface less",
     [](Snapshot& n) {
       std::erase_if(n.network.facts.interfaces,
                     [](const auto& each) { return each.name == "eth0"; });
     }},
    {"check_hw_ib", "a port down",
     [](Snapshot& n) { n.infiniband.facts.hcas.back().ports->front().state = 1U; }},
    {"check_hw_ib", "a port that trains",
     [](Snapshot& n) { n.infiniband.facts.hcas.back().ports->front().physical_state = 2U; }},
    {"check_hw_ib", "half the rate",
     [](Snapshot& n) { n.infiniband.facts.hcas.front().ports->front().rate_gbps = 50.0; }},
    {"check_hw_ib", "an adapter less", [](Snapshot& n) { n.infiniband.facts.hcas.pop_back(); }},
    {"check_hw_ib", "no ib_umad",
     [](Snapshot& n) { n.infiniband.facts.umad = make_missing("none"); }},
    {"check_hw_ib", "no InfiniBand",
     [](Snapshot& n) {
       n.infiniband = {.status = Status::absent, .reason = "no driver", .facts = {}};
     }},
    {"check_gpu_count", "a GPU less", [](Snapshot& n) { n.nvml.facts.gpus.pop_back(); }},
    {"check_nvsmi_healthmon", "a lost GPU",
     [](Snapshot& n) { last_gpu(n).lost = "nvmlDeviceGetHandle: GPU is lost (15)"; }},
    {"check_nvsmi_healthmon", "a corrupt InfoROM",
     [](Snapshot& n) { last_gpu(n).firmware.inforom_valid = false; }},
    {"check_nvsmi_healthmon", "no driver",
     [](Snapshot& n) {
       n.nvml = observed(Nvml{.trouble = "nvmlInit: Driver Not Loaded (9)", .trouble_code = 9});
     }},
    {"check_nvsmi_healthmon", "no NVML",
     [](Snapshot& n) { n.nvml = {.status = Status::absent, .reason = "no library", .facts = {}}; }},
    {"check_nvsmi_healthmon", "a driver that hangs",
     [](Snapshot& n) { n.nvml = {.status = Status::timeout, .reason = "no answer", .facts = {}}; }},
    {"check_nvsmi_healthmon", "NVML crashes",
     [](Snapshot& n) {
       n.nvml = {.status = Status::error, .reason = "killed by signal 11", .facts = {}};
     }},
    {"check_gpu_xid", "XID 79",
     [](Snapshot& n) {
       log(n, 0.5, "NVRM: Xid (PCI:0001:00:00): 79, pid=1234, GPU has fallen off the bus.");
     }},
    {"check_gpu_xid", "XID 48",
     [](Snapshot& n) {
       log(n, 0.5, "NVRM: Xid (PCI:0001:00:00): 48, pid=1234, DBE (double bit error)");
     }},
    {"check_gpu_xid", "XID 119",
     [](Snapshot& n) {
       log(n, 0.5, "NVRM: Xid (PCI:0001:00:00): 119, pid=1234, Timeout waiting for RPC from GSP!");
     }},
    {"check_gpu_ecc", "70 retired pages and one pending",
     [](Snapshot& n) {
       last_gpu(n).retired_pages = {
           .single_bit = std::uint64_t{60}, .double_bit = std::uint64_t{10}, .pending = true};
     },
     Fault::volta},
    {"check_gpu_ecc", "a pending row",
     [](Snapshot& n) { last_gpu(n).remapped_rows->pending = true; }, Fault::newer},
    {"check_gpu_ecc", "a row that could not be remapped",
     [](Snapshot& n) { last_gpu(n).remapped_rows->failed = true; }, Fault::newer},
    {"check_gpu_ecc", "many uncorrected SRAM errors",
     [](Snapshot& n) {
       last_gpu(n).sram = GpuSram{.unique_uncorrected = 20, .threshold_exceeded = true};
       last_gpu(n).ecc_aggregate.sram_uncorrected = std::uint64_t{20};
     },
     Fault::newer},
    {"check_gpu_ecc", "corrected SRAM errors above the line's limit",
     [](Snapshot& n) { last_gpu(n).ecc_aggregate.sram_corrected = std::uint64_t{10001}; },
     Fault::newer},
    {"check_gpu_ecc", "corrected DRAM errors above the line's limit",
     [](Snapshot& n) { last_gpu(n).ecc_aggregate.dram_corrected = std::uint64_t{20000001}; },
     Fault::newer},
    {"check_nvlink_status", "an inactive link",
     [](Snapshot& n) { last_gpu(n).nvlinks->back().state = 0U; }},
    {"check_nvlink_status", "all links of a GPU inactive",
     [](Snapshot& n) {
       for (auto& link : *last_gpu(n).nvlinks) link.state = 0U;
     }},
    {"check_ib_link_flapping", "five flaps",
     [](Snapshot& n) {
       for (int i = 0; i < 5; ++i) log(n, 0.5, "mlx5_core 0101:00:00.0 ib0: Link down");
     }},
    {"check_nvme_count", "a disk less", [](Snapshot& n) { n.disks.facts.nvme.pop_back(); }},
});

TEST(AzureConfigurations, HealthyNodesPassAndEveryFaultThatTheScriptsFindFails) {
  std::size_t faults = 0;
  for (const bool volta : {false, true}) {
    const auto config = volta ? config_of(kV100, 1, 100) : config_of(kH100, 8, 400);
    const auto healthy = judged(node_for(config, volta), config);
    EXPECT_EQ(healthy.verdict, Verdict::healthy) << describe(healthy);
    for (const auto& fault : kFaults) {
      const bool fits = fault.of == Fault::any || (fault.of == Fault::volta) == volta;
      if (!asks(config, fault.check) || !fits) continue;
      auto node = node_for(config, volta);
      fault.change(node);
      const auto report = judged(node, config);
      EXPECT_EQ(report.verdict, Verdict::unhealthy) << fault.name << describe(report);
      ++faults;
    }
  }
  EXPECT_EQ(faults, 53U);
}

TEST(AzureConfigurations, NodesWithGpusOfAmdAreJudgedByTheirDriver) {
  const auto config = config_of(kMi300x, 8, 400);
  auto node = node_for(config, false);
  node.nvml = {.status = Status::absent, .reason = "no NVML", .facts = {}};
  node.pci = observed(Pci{});
  for (int i = 0; i < 8; ++i) {
    AmdGpu gpu{.address = fmt::format("{:04x}:00:00.0", i + 1)};
    gpu.ras = std::map<std::string, RasCounts>{{"umc", {}}};
    node.pci->amd_gpus.push_back(gpu);
  }
  const auto healthy = judged(node, config);
  EXPECT_EQ(healthy.verdict, Verdict::healthy) << describe(healthy);
  auto sick = node;
  sick.pci->amd_gpus.pop_back();
  EXPECT_EQ(judged(sick, config).verdict, Verdict::unhealthy);
  sick = node;
  (*sick.pci->amd_gpus.back().ras)["umc"].uncorrected = 1;
  EXPECT_EQ(judged(sick, config).verdict, Verdict::unhealthy);
}

}  // namespace
}  // namespace muster::nhc::aznhc_test
