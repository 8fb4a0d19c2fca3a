// SPDX-License-Identifier: Apache-2.0
// Azure's checks: by muster's own, by what those do not stand for, and to the letter for sites that
// ask for it. To the letter means that what Azure's scripts fail at, fails here, and what they let
// pass, passes; what muster itself knows better is left out.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "checks/nhc_conf/size.hpp"
#include "checks/nhc_conf/table.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/link_log.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::nhc {
namespace {

using Counter = Fact<std::uint64_t>;

// The XIDs that check_gpu_xid looks for.
constexpr std::array<unsigned, 18> kXids{48, 56, 57, 58, 62, 63, 64, 65,  68,
                                         69, 73, 74, 79, 80, 81, 92, 119, 120};

constexpr std::uint64_t kMostHours = 100'000;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `words` stand in the text as whole words, as grep -w looks for them.
bool has_words(std::string_view text, std::string_view words) {
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const auto end = at + words.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// A number that a line may leave out.
Result<std::uint64_t> number_of(std::string_view word, std::uint64_t otherwise,
                                std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  return word.empty() ? Result<std::uint64_t>(otherwise) : parse_whole(word, most);
}

Finding failed_gpu(const Gpu& gpu, std::string message) {
  return checks::gpu::about(gpu, Outcome::fail, std::move(message));
}

Findings judge_vbios(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = argument(arguments, 0);
  const auto gpus = checks::gpu::answering(snapshot);
  if (gpus.empty()) return {not_judged("no GPU answers")};
  Findings findings;
  for (const Gpu* gpu : gpus) {
    const auto& version = gpu->firmware.vbios;
    if (!version) {
      findings.push_back(not_judged(fmt::format("the version of the VBIOS: {}", version.why()),
                                    checks::gpu::name_of(*gpu)));
    } else if (!has_words(*version, wanted)) {
      auto finding =
          failed_gpu(*gpu, fmt::format("VBIOS {}, wanted {}", *version, printable(wanted, 80)));
      finding.remedy = Remedy::fix_config;
      findings.push_back(compared(std::move(finding), *version, printable(wanted, 80)));
    }
  }
  if (findings.empty()) {
    return {checks::passed(fmt::format("{} with VBIOS {}", checks::counted(gpus.size(), "GPU"),
                                       printable(wanted, 80)))};
  }
  // One image for all of them is one cause.
  const bool alike =
      findings.size() == gpus.size() && gpus.size() > 1 &&
      std::ranges::all_of(findings, [&](const Finding& each) {
        return each.outcome == Outcome::fail && each.observed == findings.front().observed;
      });
  if (!alike) return findings;
  findings.resize(1);
  findings.front().device = checks::kNode;
  findings.front().message = fmt::format("{0} of {0} GPUs: VBIOS {1}, wanted {2}", gpus.size(),
                                         *gpus.front()->firmware.vbios, printable(wanted, 80));
  return findings;
}

Findings judge_link_flaps(const Snapshot& snapshot, const Arguments& arguments) {
  const auto hours = number_of(argument(arguments, 0), 24, kMostHours);
  const auto most = number_of(argument(arguments, 1), 5, kMostHours);
  if (!hours || !most) return {not_judged((hours ? most : hours).error().message)};
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {checks::not_known(checks::kNode, "the time since boot", uptime)};
  const double begin_us = (*uptime - kHour * static_cast<double>(*hours)) * kMicrosecondsPerSecond;
  Findings findings;
  for (const auto& [adapter, times] : checks::link_downs_by_adapter(snapshot, begin_us)) {
    if (times < *most) continue;
    auto finding =
        checks::failed(adapter,
                       fmt::format("the link went down {} in {} h, less than {} wanted (the "
                                   "kernel log says so)",
                                   checks::counted(times, "time"), *hours, *most),
                       checks::hardware_remedy(snapshot));
    findings.push_back(
        compared(std::move(finding), checks::count_value(times), checks::count_value(*most)));
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no link went down {} or more in {} h by the kernel's log",
                                     checks::counted(*most, "time"), *hours));
}

// As rocm-smi lists them: those that the amdgpu driver has.
Findings judge_amd_count(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = parse_unsigned(argument(arguments, 0));
  if (!wanted) return {not_judged(fmt::format("the number of GPUs: {}", wanted.error().message))};
  const auto found = snapshot.pci->amd_gpus.size();
  const auto words = fmt::format("{} with the amdgpu driver", checks::counted(found, "GPU"));
  if (found == *wanted) return {checks::passed(words)};
  auto finding = failed(fmt::format("{}, expected {}", words, *wanted), Remedy::reboot);
  finding.code = "NHC2009";
  return {compared(std::move(finding), checks::count_value(found), checks::count_value(*wanted))};
}

// What a GPU does not offer is no number, and bash compares it with none.
bool any_above(std::initializer_list<const Counter*> counters, std::uint64_t limit) {
  return std::ranges::any_of(counters,
                             [&](const Counter* each) { return *each && **each > limit; });
}

std::optional<Finding> retired_pages(const Gpu& gpu) {
  constexpr std::uint64_t kFull = 62;
  const auto& pages = gpu.retired_pages;
  if (!pages.single_bit || !pages.double_bit) return std::nullopt;
  const auto total = *pages.single_bit + *pages.double_bit;
  if (total < kFull || !pages.pending.value_or(false)) return std::nullopt;
  return failed_gpu(gpu, fmt::format("{} retired pages, and more are pending", total));
}

std::optional<Finding> row_remapping(const Gpu& gpu) {
  if (!gpu.remapped_rows) return std::nullopt;
  if (gpu.remapped_rows->pending) return failed_gpu(gpu, "a row remapping is pending");
  if (gpu.remapped_rows->failed) return failed_gpu(gpu, "a row remapping failed");
  return std::nullopt;
}

struct EccLimits {
  std::optional<std::uint64_t> dram;
  std::uint64_t sram = 0;
};

std::optional<Finding> memory_errors(const Gpu& gpu, const EccLimits& limits) {
  const auto& now = gpu.ecc_volatile;
  const auto& life = gpu.ecc_aggregate;
  if (any_above({&now.sram_corrected, &life.sram_corrected}, limits.sram)) {
    return failed_gpu(gpu, fmt::format("more than {} corrected errors of the SRAM", limits.sram));
  }
  if (any_above({&now.sram_uncorrected, &life.sram_uncorrected}, 0)) {
    return failed_gpu(gpu, "uncorrected errors of the SRAM");
  }
  if (limits.dram && any_above({&now.dram_corrected, &life.dram_corrected, &now.dram_uncorrected,
                                &life.dram_uncorrected},
                               *limits.dram)) {
    return failed_gpu(gpu, fmt::format("more than {} errors of the DRAM", *limits.dram));
  }
  return std::nullopt;
}

Findings literal_gpu_count(const Snapshot& snapshot, const Arguments& arguments) {
  if (arguments.empty()) return {failed("no number of GPUs is given", Remedy::none)};
  const auto wanted = parse_unsigned(arguments.front());
  if (!wanted) return {not_judged("expects a number of GPUs")};
  const auto seen = checks::gpu::answering(snapshot).size();
  if (seen == *wanted) return {checks::passed(checks::counted(seen, "GPU"))};
  return {
      failed(fmt::format("{}, {} wanted", checks::counted(seen, "GPU"), *wanted), Remedy::none)};
}

Findings literal_healthmon(const Snapshot& snapshot, const Arguments& /*arguments*/) {
  Findings findings;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (!gpu.lost.empty() || !gpu.stuck.empty()) {
      findings.push_back(failed_gpu(gpu, "the GPU does not answer"));
    } else if (!gpu.firmware.inforom_valid.value_or(true)) {
      findings.push_back(failed_gpu(gpu, "the InfoROM is corrupt"));
    }
  }
  return checks::or_pass(std::move(findings), "NVML answers for every GPU");
}

Findings literal_xid(const Snapshot& snapshot, const Arguments& arguments) {
  const auto hours = number_of(argument(arguments, 0), 2);
  if (!hours) return {not_judged(hours.error().message)};
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {checks::not_known(checks::kNode, "the time since boot", uptime)};
  Findings findings;
  for (const auto& event : snapshot.xids.of_kernel.events) {
    if (event.nvswitch || std::ranges::find(kXids, event.code) == kXids.end()) continue;
    const double age_s = *uptime - static_cast<double>(event.last_us) / kMicrosecondsPerSecond;
    // Whole hours are compared, and part of one counts for nothing.
    if (age_s >= kHour * (static_cast<double>(*hours) + 1)) continue;
    findings.push_back(
        checks::failed(event.address, fmt::format("XID {}", event.code), Remedy::none));
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no XID of Azure's list in {} h", *hours));
}

Findings literal_ecc(const Snapshot& snapshot, const Arguments& arguments) {
  EccLimits limits;
  if (const auto word = argument(arguments, 0); !word.empty()) {
    const auto dram = number_of(word, 0);
    if (!dram) return {not_judged(dram.error().message)};
    limits.dram = *dram;
  }
  const auto sram = number_of(argument(arguments, 1), 0);
  if (!sram) return {not_judged(sram.error().message)};
  limits.sram = *sram;
  Findings findings;
  for (const Gpu* gpu : checks::gpu::answering(snapshot)) {
    std::optional<Finding> finding;
    if (gpu->model.value_or("").find("V100") != std::string::npos) {
      finding = retired_pages(*gpu);
    } else {
      finding = row_remapping(*gpu);
      if (!finding) finding = memory_errors(*gpu, limits);
    }
    if (finding) findings.push_back(*std::move(finding));
  }
  return checks::or_pass(std::move(findings), "no memory errors that Azure's check fails at");
}

// The script joins the versions to one text, and looks for V in all of it.
Findings literal_vbios(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wanted = argument(arguments, 0);
  const auto gpus = checks::gpu::answering(snapshot);
  const bool found = std::ranges::any_of(gpus, [&](const Gpu* gpu) {
    return gpu->firmware.vbios && has_words(*gpu->firmware.vbios, wanted);
  });
  if (found) return {checks::passed(fmt::format("a GPU has VBIOS {}", printable(wanted, 80)))};
  return {failed(fmt::format("no GPU has VBIOS {}", printable(wanted, 80)), Remedy::none)};
}

// Without any link the script passes, as where NVLink is not there.
Findings literal_nvlink(const Snapshot& snapshot, const Arguments& /*arguments*/) {
  Findings findings;
  for (const Gpu* gpu : checks::gpu::answering(snapshot)) {
    if (!gpu->nvlinks) continue;
    const auto inactive = std::ranges::count_if(
        *gpu->nvlinks, [](const NvLink& link) { return link.state && *link.state == 0; });
    if (inactive > 0) {
      findings.push_back(failed_gpu(
          *gpu, fmt::format("{} inactive",
                            checks::counted(static_cast<std::uint64_t>(inactive), "NVLink"))));
    }
  }
  return checks::or_pass(std::move(findings), "no NVLink is inactive");
}

Findings literal_logged(const Snapshot& /*snapshot*/, const Arguments& /*arguments*/) {
  return {checks::passed("Azure's check writes to its log only")};
}

Row translated(std::string_view name, std::vector<std::string_view> checks,
               std::vector<std::string_view> keys = {}, std::size_t least = 0,
               std::size_t most = kAny) {
  return {.name = name,
          .least = least,
          .most = keys.empty() ? 0 : most,
          .checks = std::move(checks),
          .keys = std::move(keys)};
}

// Checks of GPUs skip where these two say why there is none to judge, so both run with them.
Row of_gpus(std::string_view name, const std::vector<std::string_view>& checks,
            std::vector<std::string_view> keys = {}, std::size_t least = 0,
            std::size_t most = kAny) {
  std::vector<std::string_view> all{"gpu.driver", "gpu.present"};
  all.insert(all.end(), checks.begin(), checks.end());
  auto row = translated(name, std::move(all), std::move(keys), least, most);
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

}  // namespace

Row amd_count_row() {
  return also_judged(translated("check_gpu_count", {"gpu.ras", "gpu.amd"}), judge_amd_count,
                     Probe::pci, 2, 2);
}

std::vector<Row> azure_rows() {
  constexpr auto kLog = Probe::kernel_log | Probe::identity;
  auto nvlinks = literally(of_gpus("check_nvlink_status", {"gpu.nvlink_state"}), literal_nvlink,
                           Probe::nvml, {.links = true});
  nvlinks.without_limit = [](const Profile& profile) { return !profile.gpu->nvlink_state.links; };
  auto ecc = literally(
      of_gpus("check_gpu_ecc",
              {"gpu.ecc_uncorrectable", "gpu.ecc_sram", "gpu.ecc_corrected",
               "gpu.ecc_remapped_rows", "gpu.ecc_retired_pages"},
              {"gpu.ecc_corrected.dram_warn_above", "gpu.ecc_corrected.sram_warn_above"}, 0, 2),
      literal_ecc);
  // A line's limit is one to fail above.
  ecc.with_keys = {.key = "gpu.ecc_corrected.warn_as", .value = "fail"};
  return {
      of_gpus("check_nv_healthmon", {}),  // the same by NHC's own name
      literally(of_gpus("check_gpu_count", {}, {"gpu.present.count"}, 1, 2), literal_gpu_count),
      literally(of_gpus("check_nvsmi_healthmon", {"gpu.recovery_action", "gpu.firmware"}),
                literal_healthmon, Probe::nvml, {.inforom = true}),
      literally(translated("check_gpu_xid", {"gpu.xid"}, {"gpu.xid.window"}, 0, 1), literal_xid,
                kLog),
      ecc,
      literally(of_gpus("check_gpu_clock_throttling", {"gpu.clocks"}), literal_logged),
      literally(of_gpus("check_app_gpu_clocks", {"gpu.clocks"}), literal_logged),
      literally(of_gpus("check_gpu_persistence", {"gpu.persistence"}), literal_logged),
      literally(also_judged(of_gpus("check_vbios_version", {}), judge_vbios, Probe::nvml, 1, 1),
                literal_vbios),
      nvlinks,
      literally(also_judged(translated("check_ib_link_flapping", {"ib.present", "ib.flaps"},
                                       {"ib.flaps.window", "ib.flaps.max"}),
                            judge_link_flaps, kLog, 0),
                judge_link_flaps, kLog),
      translated("check_hw_topology",
                 {"pci.devices", "topo.numa", "topo.pairing", "topo.nccl_file"}),
      translated("check_nvme_count", {"host.nvme"}, {"host.nvme.count"}, 1, 1),
      translated("check_gpu_xgmi", {"gpu.amd"}),
  };
}

}  // namespace muster::nhc
