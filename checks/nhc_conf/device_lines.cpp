// SPDX-License-Identifier: Apache-2.0
// The lines about InfiniBand ports, GPUs and disks. Most set a limit of one of muster's own checks;
// the others are judged here, because no check of muster follows the same rule.
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <initializer_list>

#include "checks/nhc_conf/table.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/kernel_log.hpp"

namespace muster::nhc {
namespace {

using checks::count_value;
using checks::failed;
using checks::hardware_remedy;
using checks::kNode;
using checks::passed;

// Returns nothing if it depends on an unknown fact.
std::optional<bool> is_up(const IbPort& port, std::optional<double> rate) {
  if (!port.state || !port.physical_state || (rate && !port.rate_gbps)) return std::nullopt;
  constexpr unsigned kActive = 4;
  constexpr unsigned kLinkUp = 5;
  return *port.state == kActive && *port.physical_state == kLinkUp &&
         (!rate || std::abs(*port.rate_gbps - *rate) < 0.01);
}

// Matches like `grep -w`: no word character may precede or follow the match.
bool has_words(std::string_view text, std::string_view words) {
  const auto is_word = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    if (!is_word(at - 1) && !is_word(at + words.size())) return true;
  }
  return false;
}

// An argument that may be missing.
Result<std::uint64_t> number_in(std::string_view word, std::uint64_t otherwise) {
  constexpr std::uint64_t kMaxNumber = 100'000;
  if (word.empty()) return otherwise;
  const auto number = parse_unsigned(word);
  if (number && *number <= kMaxNumber) return *number;
  return unexpected_word(word, "a whole number");
}

// [RATE [DEVICE[:PORT]]]: a port is ACTIVE, LinkUp and at the rate. The device is a glob such as
// "mlx5_0:1" or "mlx5_*".
Result<Findings> judge_ib_port(const JudgedLine& line) {
  const auto word = line.argument(0);
  const auto rate = parse_number(word);
  if (!rate && !word.empty()) return unexpected_word(word, "a rate in Gb/s");
  const auto wanted_rate = rate ? std::optional(*rate) : std::nullopt;
  const auto& infiniband = line.snapshot.infiniband;
  // An older snapshot lacks this fact.
  if (infiniband.ok() && infiniband->umad.is_absent() && infiniband->umad != Fact<std::string>()) {
    return Findings{failed(kNode, "ib_umad is not loaded: no /sys/class/infiniband_mad/abi_version",
                           Remedy::fix_config)};
  }
  const auto wanted = line.argument(1);
  const auto device = wanted.empty() ? kNode : wanted;
  const auto hca_glob = wanted.substr(0, wanted.find(':'));
  std::string unread, seen;  // the first of each
  for (const auto& hca : infiniband->hcas) {
    if (!wanted.empty() && !matches_glob(hca_glob, hca.name)) continue;
    if (!hca.ports && unread.empty()) unread = hca.name;
    for (const auto& port : hca.ports.value_or(std::vector<IbPort>())) {
      const auto name = fmt::format("{}:{}", hca.name, port.number);
      if (hca_glob.size() != wanted.size() && !matches_glob(wanted, name)) continue;
      const auto up = is_up(port, wanted_rate);
      const double gbps = port.rate_gbps.value_or(0);
      if (up.value_or(false)) {
        return Findings{
            passed(fmt::format("{} is ACTIVE (LinkUp) at {:g} Gb/s", name, gbps), device)};
      }
      if (!up && unread.empty()) unread = name;
      if (!seen.empty()) continue;
      seen = fmt::format("{}: state {}, physical state {}, {:g} Gb/s", name, port.state.value_or(0),
                         port.physical_state.value_or(0), gbps);
    }
  }
  if (!unread.empty()) {
    return Findings{not_judged(fmt::format("{}: cannot read its state or rate", unread), unread)};
  }
  return Findings{failed(
      device,
      fmt::format("{}, expected ACTIVE (4), LinkUp (5){}", seen.empty() ? "no such port" : seen,
                  rate ? fmt::format(", {:g} Gb/s", *rate) : ""),
      hardware_remedy(line.snapshot))};
}

// [HOURS [COUNT]]: links that went down, according to the kernel log.
Result<Findings> judge_link_flaps(const JudgedLine& line) {
  TRY_ASSIGN(const auto hours, number_in(line.argument(0), 24));
  TRY_ASSIGN(const auto limit, number_in(line.argument(1), 5));
  const auto& uptime = line.snapshot.identity->uptime_s;
  if (!uptime) return Findings{checks::not_known(kNode, "the time since boot", uptime)};
  const double begin_us = (*uptime - kHour * static_cast<double>(hours)) * kMicrosecondsPerSecond;
  Findings findings;
  for (const auto& [adapter, times] : checks::link_downs_by_adapter(line.snapshot, begin_us)) {
    if (times < limit) continue;
    findings.push_back(failed(
        adapter,
        fmt::format("the link went down {} in {} h by the kernel log, expected fewer than {}",
                    counted(times, "time"), hours, limit),
        hardware_remedy(line.snapshot), {count_value(times), count_value(limit)}));
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no link went down {} or more in {} h by the kernel log",
                                     counted(limit, "time"), hours));
}

// Without a number of links in the profile, gpu.nvlink_state only compares the GPUs.
Result<Findings> judge_nvlinks(const JudgedLine& line) {
  if (line.profile.gpu->nvlink_state.links) return Findings();
  return checks::gpu::each(
      line.snapshot,
      [](const Gpu& gpu) -> std::optional<Finding> {
        if (!gpu.nvlinks) return std::nullopt;
        const auto inactive = std::ranges::count_if(
            *gpu.nvlinks, [](const NvLink& link) { return link.state && *link.state == 0; });
        if (inactive == 0) return std::nullopt;
        const auto count = static_cast<std::uint64_t>(inactive);
        return checks::gpu::failed(gpu, fmt::format("{} inactive", counted(count, "NVLink")),
                                   Remedy::none);
      },
      "without an inactive NVLink");
}

// VERSION: the VBIOS version of each GPU contains it as whole words.
Result<Findings> judge_vbios(const JudgedLine& line) {
  const auto wanted = line.argument(0);
  return checks::gpu::each(
      line.snapshot,
      [&](const Gpu& gpu) -> std::optional<Finding> {
        const auto& version = gpu.firmware.vbios;
        if (!version) {
          return checks::not_known(checks::gpu::name_of(gpu), "the VBIOS version", version);
        }
        if (has_words(*version, wanted)) return std::nullopt;
        const auto expected = printable(wanted, 80);
        return checks::gpu::failed(gpu, fmt::format("VBIOS {}, expected {}", *version, expected),
                                   Remedy::fix_config, {*version, expected});
      },
      "with the expected VBIOS");
}

// COUNT rocm: the number of GPUs with the amdgpu driver, as rocm-smi lists them.
Result<Findings> judge_amd_count(const JudgedLine& line) {
  TRY_ASSIGN(const auto wanted, number_in(line.argument(0), 0));
  const auto seen = line.snapshot.pci->amd_gpus.size();
  auto message = fmt::format("{} with the amdgpu driver", counted(seen, "GPU"));
  if (seen == wanted) return Findings{passed(std::move(message))};
  auto finding = failed(kNode, fmt::format("{}, expected {}", message, wanted), Remedy::reboot,
                        {count_value(seen), count_value(wanted)});
  finding.code = "NHC2009";
  return Findings{std::move(finding)};
}

Seconds hours(int count) { return {kHour * count}; }

// Above a profile's limit the check warns; above a line's limit it fails.
template <Limit<int> GpuEccCorrectedLimits::*kLimit>
void set_corrected_errors(Profile& profile, int count) {
  profile.gpu->ecc_corrected.*kLimit = count;
  profile.policies["gpu.ecc_corrected"].warn_as = Outcome::fail;
}

// A line about GPUs also runs the checks for a driver and for GPUs. It passes if the GPUs lack the
// feature, as Azure's scripts do.
Row of_gpus(Row row) {
  row.checks.insert(row.checks.begin(), {"gpu.driver", "gpu.present"});
  row.of_gpus = row.may_skip = true;
  return row;
}

Row amd_count(std::string_view name) {
  return {.name = name,
          .least = 2,
          .most = 2,
          .checks = {"gpu.ras", "gpu.amd"},
          .judge = judge_amd_count,
          .needs = Probe::pci};
}

}  // namespace

std::vector<Row> device_rows() {
  return {
      {.name = "check_hw_ib",
       .most = 2,
       .judge = judge_ib_port,
       .needs = Probe::infiniband,
       .judges_absence = true},
      of_gpus({.name = "check_nv_healthmon"}),
      amd_count("check_gpu_count rocm"),
      amd_count("check_gpu_count amd"),
      of_gpus(
          {.name = "check_gpu_count",
           .least = 1,
           .most = 2,
           .limits = {{"gpu.present.count", [](Profile& p, int n) { p.gpu->present.count = n; }}}}),
      of_gpus({.name = "check_nvsmi_healthmon", .checks = {"gpu.recovery_action", "gpu.firmware"}}),
      {.name = "check_gpu_xid",
       .most = 1,
       .checks = {"gpu.xid"},
       .limits = {{"gpu.xid.window", [](Profile& p, int n) { p.gpu->xid.window = hours(n); }}},
       .may_skip = true},
      of_gpus({.name = "check_gpu_ecc",
               .most = 2,
               .checks = {"gpu.ecc_uncorrectable", "gpu.ecc_sram", "gpu.ecc_corrected",
                          "gpu.ecc_remapped_rows", "gpu.ecc_retired_pages"},
               .limits = {{"gpu.ecc_corrected.dram_warn_above",
                           set_corrected_errors<&GpuEccCorrectedLimits::dram_warn_above>},
                          {"gpu.ecc_corrected.sram_warn_above",
                           set_corrected_errors<&GpuEccCorrectedLimits::sram_warn_above>}}}),
      of_gpus({.name = "check_gpu_clock_throttling", .checks = {"gpu.clocks"}}),
      of_gpus({.name = "check_app_gpu_clocks", .checks = {"gpu.clocks"}}),
      of_gpus({.name = "check_gpu_persistence", .checks = {"gpu.persistence"}}),
      of_gpus({.name = "check_vbios_version",
               .least = 1,
               .most = 1,
               .judge = judge_vbios,
               .needs = Probe::nvml}),
      of_gpus({.name = "check_nvlink_status",
               .checks = {"gpu.nvlink_state"},
               .judge = judge_nvlinks,
               .needs = Probe::nvml}),
      {.name = "check_ib_link_flapping",
       .most = kAny,
       .checks = {"ib.present", "ib.flaps"},
       // NHC fails at this number, muster only above it.
       .limits = {{"ib.flaps.window", [](Profile& p, int n) { p.ib->flaps.window = hours(n); }},
                  {"ib.flaps.max",
                   [](Profile& p, int n) { p.ib->flaps.max = std::max(0, n - 1); }}},
       .may_skip = true,
       .judge = judge_link_flaps,
       .needs = Probe::kernel_log | Probe::identity},
      {.name = "check_hw_topology",
       .checks = {"pci.devices", "topo.numa", "topo.pairing", "topo.nccl_file"}},
      {.name = "check_nvme_count",
       .least = 1,
       .most = 1,
       .checks = {"host.nvme"},
       .limits = {{"host.nvme.count", [](Profile& p, int n) { p.host->nvme.count = n; }}}},
      {.name = "check_gpu_xgmi", .checks = {"gpu.amd"}},
  };
}

}  // namespace muster::nhc
