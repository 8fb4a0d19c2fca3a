// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/table.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/units.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::nhc {
namespace {

Seconds hours(int count) { return {kHour * count}; }

const ArgumentLimit kGpuCount{"gpu.present.count",
                              [](Profile& p, int n) { p.gpu->present.count = n; }};
const ArgumentLimit kXidWindow{"gpu.xid.window",
                               [](Profile& p, int n) { p.gpu->xid.window = hours(n); }};
const ArgumentLimit kFlapWindow{"ib.flaps.window",
                                [](Profile& p, int n) { p.ib->flaps.window = hours(n); }};
// NHC fails at this number, muster above it.
const ArgumentLimit kFlaps{"ib.flaps.max",
                           [](Profile& p, int n) { p.ib->flaps.max = std::max(0, n - 1); }};
const ArgumentLimit kNvmeCount{"host.nvme.count",
                               [](Profile& p, int n) { p.host->nvme.count = n; }};

// A limit of a profile warns, one of a line fails.
const ArgumentLimit kDramErrors{"gpu.ecc_corrected.dram_warn_above", [](Profile& p, int n) {
                                  p.gpu->ecc_corrected.dram_warn_above = n;
                                  p.policies["gpu.ecc_corrected"].warn_as = Outcome::fail;
                                }};
const ArgumentLimit kSramErrors{"gpu.ecc_corrected.sram_warn_above", [](Profile& p, int n) {
                                  p.gpu->ecc_corrected.sram_warn_above = n;
                                  p.policies["gpu.ecc_corrected"].warn_as = Outcome::fail;
                                }};

Row direct(std::string_view name, std::size_t least, std::size_t most, JudgeLine judge,
           ProbeSet needs) {
  return {.name = name, .least = least, .most = most, .judge = judge, .needs = needs};
}

// Azure's scripts pass where the GPUs do not offer what the line asks for.
Row gpu_checks(std::string_view name, std::vector<std::string_view> checks) {
  return {.name = name, .checks = std::move(checks), .of_gpus = true, .may_skip = true};
}

Row benchmark(std::string_view name, PlanBenchmark plan, bool of_gpus) {
  return {.name = name,
          .most = kAny,
          .of_gpus = of_gpus,
          .benchmark = plan,
          .skipped = "a benchmark, which runs with --active only"};
}

Row unmeasured(std::string_view name) {
  return {.name = name, .most = kAny, .skipped = "muster-bench has no such benchmark"};
}

// In place of check_gpu_count with a second argument "rocm" or "amd".
const Row& amd_count() {
  static const Row row{.name = "check_gpu_count",
                       .least = 2,
                       .most = 2,
                       .checks = {"gpu.ras", "gpu.amd"},
                       .judge = judge_amd_count,
                       .needs = Probe::pci};
  return row;
}

std::vector<Row> all_rows() {
  constexpr auto kLog = Probe::kernel_log | Probe::identity;
  return {
      // NHC's own
      direct("check_hw_cpuinfo", 0, 3, judge_cpuinfo, Probe::cpu),
      direct("check_hw_physmem", 1, 3, judge_physmem, Probe::memory),
      direct("check_hw_swap", 1, 3, judge_swap, Probe::memory),
      direct("check_hw_eth", 1, 1, judge_eth, Probe::network),
      {.name = "check_hw_ib",
       .most = 2,
       .judge = judge_ib_port,
       .needs = Probe::infiniband,
       .judges_absence = true},
      direct("check_fs_mount", 1, kAny, judge_mount, Probe::mounts),
      direct("check_fs_mount_rw", 1, kAny, judge_writable_mount, Probe::mounts),
      direct("check_fs_mount_ro", 1, kAny, judge_read_only_mount, Probe::mounts),
      direct("check_fs_free", 2, 2, judge_free_space, Probe::mounts),
      direct("check_fs_used", 2, 2, judge_used_space, Probe::mounts),
      direct("check_fs_ifree", 2, 2, judge_free_inodes, Probe::mounts),
      direct("check_fs_iused", 2, 2, judge_used_inodes, Probe::mounts),
      direct("check_ps_loadavg", 1, 3, judge_load, Probe::processes),
      direct("check_ps_service", 1, kAny, judge_service, Probe::services),
      {.name = "check_nv_healthmon", .of_gpus = true},
      // Azure's
      {.name = "check_gpu_count", .least = 1, .most = 2, .limits = {kGpuCount}, .of_gpus = true},
      gpu_checks("check_nvsmi_healthmon", {"gpu.recovery_action", "gpu.firmware"}),
      {.name = "check_gpu_xid",
       .most = 1,
       .checks = {"gpu.xid"},
       .limits = {kXidWindow},
       .may_skip = true},
      {.name = "check_gpu_ecc",
       .most = 2,
       .checks = {"gpu.ecc_uncorrectable", "gpu.ecc_sram", "gpu.ecc_corrected",
                  "gpu.ecc_remapped_rows", "gpu.ecc_retired_pages"},
       .limits = {kDramErrors, kSramErrors},
       .of_gpus = true,
       .may_skip = true},
      gpu_checks("check_gpu_clock_throttling", {"gpu.clocks"}),
      gpu_checks("check_app_gpu_clocks", {"gpu.clocks"}),
      gpu_checks("check_gpu_persistence", {"gpu.persistence"}),
      {.name = "check_vbios_version",
       .least = 1,
       .most = 1,
       .of_gpus = true,
       .judge = judge_vbios,
       .needs = Probe::nvml},
      {.name = "check_nvlink_status",
       .checks = {"gpu.nvlink_state"},
       .of_gpus = true,
       .may_skip = true,
       .judge = judge_nvlinks,
       .needs = Probe::nvml},
      {.name = "check_ib_link_flapping",
       .most = kAny,
       .checks = {"ib.present", "ib.flaps"},
       .limits = {kFlapWindow, kFlaps},
       .may_skip = true,
       .judge = judge_link_flaps,
       .needs = kLog},
      {.name = "check_hw_topology",
       .checks = {"pci.devices", "topo.numa", "topo.pairing", "topo.nccl_file"}},
      {.name = "check_nvme_count",
       .least = 1,
       .most = 1,
       .checks = {"host.nvme"},
       .limits = {kNvmeCount}},
      {.name = "check_gpu_xgmi", .checks = {"gpu.amd"}},
      // Azure's benchmarks
      benchmark("check_nccl_allreduce", plan_all_reduce, true),
      benchmark("check_nccl_allreduce_ib_loopback", plan_loopback, true),
      benchmark("check_gpu_bw", plan_gpu_copy, true),
      benchmark("check_ib_bw_gdr", plan_gpu_hca, false),
      benchmark("check_ib_bw_non_gdr", plan_hca, false),
      benchmark("check_cpu_stream", plan_stream, false),
      unmeasured("check_rccl_allreduce"),
      unmeasured("check_rocm_gpu_bw"),
  };
}

}  // namespace

std::span<const Row> table() {
  static const std::vector<Row> rows = all_rows();
  return rows;
}

const Row* row_of(const CheckLine& line) {
  const auto vendor = line.argument(1);
  if (line.check == amd_count().name && (vendor == "rocm" || vendor == "amd")) return &amd_count();
  const auto rows = table();
  const auto found = std::ranges::find(rows, line.check, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace muster::nhc
