// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/table.hpp"

#include <algorithm>

#include "checks/nhc_conf/commands.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kNoMoab = "Moab and TORQUE are not observed";
constexpr std::string_view kOnRequest = "a benchmark, which is run with --active only";
constexpr std::string_view kOtherBench =
    "a benchmark of a kind that muster-bench has none of: --active does not run it either";

Row judged(std::string_view name,
           Judge judge,
           ProbeSet needs,
           std::size_t least,
           std::size_t most = kAny) {
  return {.name = name, .least = least, .most = most, .judge = judge, .needs = needs};
}

Row translated(std::string_view name,
               std::vector<std::string_view> checks,
               Translate translate = nullptr,
               std::size_t least = 0,
               std::size_t most = kAny) {
  return {.name = name,
          .least = least,
          .most = translate == nullptr ? 0 : most,
          .checks = std::move(checks),
          .translate = translate};
}

// Checks of GPUs skip where these two say why there is none to judge, so both run with them.
Row of_gpus(std::string_view name,
            const std::vector<std::string_view>& checks,
            Translate translate = nullptr,
            std::size_t least = 0,
            std::size_t most = kAny) {
  std::vector<std::string_view> all{"gpu.driver", "gpu.present"};
  all.insert(all.end(), checks.begin(), checks.end());
  auto row = translated(name, std::move(all), translate, least, most);
  row.of_gpus = true;
  return row;
}

Row literally(Row row, Judge judge, ProbeSet needs = Probe::nvml, NvmlParts parts = {}) {
  row.literal = judge;
  row.literal_needs = needs;
  row.literal_parts = parts;
  return row;
}

Row also_judged(Row row, Judge judge, ProbeSet needs, std::size_t least, std::size_t most = kAny) {
  row.judge = judge;
  row.needs = needs;
  row.least = least;
  row.most = most;
  return row;
}

Row of_processes(std::string_view name, Judge judge, std::size_t least, std::size_t most = kAny) {
  auto row = judged(name, judge, Probe::processes | Probe::memory, least, most);
  row.all_processes = true;
  return row;
}

Row of_services(std::string_view name, Judge judge, std::size_t least, std::size_t most = kAny) {
  auto row = judged(name, judge, Probe::services | Probe::processes, least, most);
  row.all_processes = true;
  return row;
}

Row unjudged(std::string_view name, std::string_view why) { return {.name = name, .why = why}; }

Row unmeasured(std::string_view name) {
  return {.name = name, .otherwise = Outcome::skip, .why = kOtherBench};
}

Row benchmark(std::string_view name, PlanBenchmark plan) {
  return {.name = name, .otherwise = Outcome::skip, .why = kOnRequest, .benchmark = plan};
}

Row gpu_benchmark(std::string_view name, PlanBenchmark plan) {
  auto row = benchmark(name, plan);
  row.of_gpus = true;
  return row;
}

std::vector<Row> lbnl_rows() {
  auto ib = judged("check_hw_ib", judge_ib, Probe::infiniband, 0, 2);
  ib.absence_counts = true;
  return {
      judged("check_hw_cpuinfo", judge_cpuinfo, Probe::cpu, 0, 3),
      judged("check_hw_physmem", judge_physmem, Probe::memory, 1, 3),
      judged("check_hw_physmem_free", judge_physmem_free, Probe::memory, 1, 1),
      judged("check_hw_swap", judge_swap, Probe::memory, 1, 3),
      judged("check_hw_swap_free", judge_swap_free, Probe::memory, 1, 1),
      judged("check_hw_mem", judge_mem, Probe::memory, 1, 3),
      judged("check_hw_mem_free", judge_mem_free, Probe::memory, 1, 1),
      ib,
      judged("check_hw_eth", judge_eth, Probe::network, 1, 1),
      unjudged("check_hw_gm", "Myrinet is not observed"),
      unjudged("check_hw_mcelog",
               "mcelog is not asked; host.edac judges the counters of memory errors"),
      judged("check_fs_mount", judge_mount, Probe::mounts, 1),
      judged("check_fs_mount_rw", judge_mount_rw, Probe::mounts, 1),
      judged("check_fs_mount_ro", judge_mount_ro, Probe::mounts, 1),
      judged("check_fs_size", judge_fs_size, Probe::mounts, 1, 3),
      judged("check_fs_free", judge_fs_free, Probe::mounts, 2, 2),
      judged("check_fs_used", judge_fs_used, Probe::mounts, 2, 2),
      judged("check_fs_inodes", judge_fs_inodes, Probe::mounts, 1, 3),
      judged("check_fs_ifree", judge_fs_ifree, Probe::mounts, 2, 2),
      judged("check_fs_iused", judge_fs_iused, Probe::mounts, 2, 2),
      judged("check_ps_loadavg", judge_loadavg, Probe::processes, 1, 3),
      of_services("check_ps_service", judge_service, 1),
      of_services("check_ps_daemon", judge_daemon, 1, 3),
      of_processes("check_ps_blacklist", judge_ps_blacklist, 1, 3),
      of_processes("check_ps_cpu", judge_ps_cpu, 1),
      of_processes("check_ps_mem", judge_ps_mem, 1),
      of_processes("check_ps_physmem", judge_ps_physmem, 1),
      of_processes("check_ps_time", judge_ps_time, 1),
      of_processes("check_ps_kswapd", judge_kswapd, 2),
      of_processes("check_ps_unauth_users", judge_unauth_users, 0),
      of_processes("check_ps_userproc_lineage", judge_userproc_lineage, 0),
      judged("check_file_test", judge_file_test, Probe::environment, 2),
      judged("check_file_contents", judge_file_contents, Probe::environment, 2),
      judged("check_file_stat", judge_file_stat, Probe::environment, 1),
      judged("check_net_ping", judge_ping, Probe::environment, 1),
      judged("check_net_socket", judge_net_socket, Probe::network, 1),
      judged("check_cmd_output", judge_cmd_output, Probe::environment, 1),
      judged("check_cmd_status", judge_cmd_status, Probe::environment, 1),
      judged("check_cmd_dmesg", judge_cmd_dmesg, Probe::environment, 0),
      judged("check_dmi_data_match", judge_dmi, Probe::identity, 1),
      unjudged("check_dmi_raw_data_match",
               "of the machine's DMI data only the manufacturer and the product are read"),
      unjudged("check_moab_sched", kNoMoab),
      unjudged("check_moab_rm", kNoMoab),
      unjudged("check_moab_torque", kNoMoab),
      of_gpus("check_nv_healthmon", {}),
  };
}

std::vector<Row> azure_gpu_rows() {
  auto nvlinks = literally(of_gpus("check_nvlink_status", {"gpu.nvlink_state"}),
                           literal_nvlink,
                           Probe::nvml,
                           {.links = true});
  nvlinks.without_limit = [](const Profile& profile) { return !profile.gpu->nvlink_state.links; };
  return {
      literally(of_gpus("check_gpu_count", {}, gpu_count_presets, 1, 2), literal_gpu_count),
      literally(of_gpus("check_nvsmi_healthmon", {"gpu.recovery_action", "gpu.firmware"}),
                literal_healthmon,
                Probe::nvml,
                {.inforom = true}),
      literally(translated("check_gpu_xid", {"gpu.xid"}, gpu_xid_presets, 0, 1),
                literal_xid,
                Probe::kernel_log | Probe::identity),
      literally(of_gpus("check_gpu_ecc",
                        {"gpu.ecc_uncorrectable",
                         "gpu.ecc_sram",
                         "gpu.ecc_corrected",
                         "gpu.ecc_remapped_rows",
                         "gpu.ecc_retired_pages"},
                        gpu_ecc_presets,
                        0,
                        2),
                literal_ecc),
      literally(of_gpus("check_gpu_clock_throttling", {"gpu.clocks"}), literal_logged),
      literally(of_gpus("check_app_gpu_clocks", {"gpu.clocks"}), literal_logged),
      literally(of_gpus("check_gpu_persistence", {"gpu.persistence"}), literal_logged),
      literally(also_judged(of_gpus("check_vbios_version", {}), judge_vbios, Probe::nvml, 1, 1),
                literal_vbios),
      nvlinks,
  };
}

std::vector<Row> azure_rows() {
  constexpr auto kLinkLog = Probe::kernel_log | Probe::identity;
  return {
      literally(
          also_judged(
              translated("check_ib_link_flapping", {"ib.present", "ib.flaps"}, link_flap_presets),
              judge_link_flaps,
              kLinkLog,
              0),
          judge_link_flaps,
          kLinkLog),
      translated("check_hw_topology",
                 {"pci.devices", "topo.numa", "topo.pairing", "topo.nccl_file"}),
      translated("check_nvme_count", {"host.nvme"}, nvme_presets, 1, 1),
      gpu_benchmark("check_nccl_allreduce", all_reduce_benchmark),
      gpu_benchmark("check_nccl_allreduce_ib_loopback", loopback_benchmark),
      gpu_benchmark("check_gpu_bw", gpu_copy_benchmark),
      benchmark("check_ib_bw_gdr", gpu_hca_benchmark),
      benchmark("check_ib_bw_non_gdr", hca_benchmark),
      benchmark("check_cpu_stream", stream_benchmark),
      translated("check_gpu_xgmi", {"gpu.amd"}),
      unmeasured("check_rccl_allreduce"),
      unmeasured("check_rocm_gpu_bw"),
  };
}

std::vector<Row> all_rows() {
  auto rows = lbnl_rows();
  for (auto& row : azure_gpu_rows()) rows.push_back(std::move(row));
  for (auto& row : azure_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

std::span<const Row> table() {
  static const std::vector<Row> rows = all_rows();
  return rows;
}

const Row* row_named(std::string_view name) {
  const auto rows = table();
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

const Row* row_of(const CheckLine& line) {
  static const Row kOfAmd = also_judged(
      translated("check_gpu_count", {"gpu.ras", "gpu.amd"}), judge_amd_count, Probe::pci, 2, 2);
  const bool of_amd = line.check == kOfAmd.name && line.arguments.size() == 2 &&
                      (line.arguments[1] == "rocm" || line.arguments[1] == "amd");
  return of_amd ? &kOfAmd : row_named(line.check);
}

}  // namespace muster::nhc
