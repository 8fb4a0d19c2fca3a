// SPDX-License-Identifier: Apache-2.0
// Azure's checks to the letter, for sites that ask for it: what their scripts fail at, fails here,
// and what they let pass, passes. What muster itself knows better is left out.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "checks/nhc_conf/judging.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

using Counter = Fact<std::uint64_t>;

// The XIDs that check_gpu_xid looks for.
constexpr std::array<unsigned, 18> kXids{
    48, 56, 57, 58, 62, 63, 64, 65, 68, 69, 73, 74, 79, 80, 81, 92, 119, 120};

Finding failed(std::string device, std::string message) {
  return {.device = std::move(device), .outcome = Outcome::fail, .message = std::move(message)};
}

Finding failed_gpu(const Gpu& gpu, std::string message) {
  return checks::gpu::about(gpu, Outcome::fail, std::move(message));
}

// An empty argument is 0, as in bash's arithmetic.
Result<std::uint64_t> number_of(std::string_view word, std::uint64_t otherwise) {
  if (word.empty()) return otherwise;
  const auto number = parse_unsigned(word);
  if (number) return *number;
  return make_error(fmt::format("expects a whole number, got \"{}\"", printable(word, 40)));
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
  if (limits.dram && any_above({&now.dram_corrected,
                                &life.dram_corrected,
                                &now.dram_uncorrected,
                                &life.dram_uncorrected},
                               *limits.dram)) {
    return failed_gpu(gpu, fmt::format("more than {} errors of the DRAM", *limits.dram));
  }
  return std::nullopt;
}

}  // namespace

Findings literal_gpu_count(const Snapshot& snapshot, const Arguments& arguments) {
  if (arguments.empty()) return {failed(std::string(checks::kNode), "no number of GPUs is given")};
  const auto wanted = parse_unsigned(arguments.front());
  if (!wanted) return {not_judged("expects a number of GPUs")};
  const auto seen = checks::gpu::answering(snapshot).size();
  if (seen == *wanted) return {checks::passed(checks::counted(seen, "GPU"))};
  return {failed(std::string(checks::kNode),
                 fmt::format("{}, {} wanted", checks::counted(seen, "GPU"), *wanted))};
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
    const double age_s = *uptime - static_cast<double>(event.last_us) / 1e6;
    // Whole hours are compared, and part of one counts for nothing.
    if (age_s >= 3600.0 * (static_cast<double>(*hours) + 1)) continue;
    findings.push_back(failed(event.address, fmt::format("XID {}", event.code)));
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
  return {failed(std::string(checks::kNode),
                 fmt::format("no GPU has VBIOS {}", printable(wanted, 80)))};
}

// Without any link the script passes, as where NVLink is not there.
Findings literal_nvlink(const Snapshot& snapshot, const Arguments& /*arguments*/) {
  Findings findings;
  for (const Gpu* gpu : checks::gpu::answering(snapshot)) {
    if (!gpu->nvlinks) continue;
    const auto inactive = std::ranges::count_if(
        *gpu->nvlinks, [](const NvLink& link) { return link.state && *link.state == 0; });
    if (inactive > 0) {
      findings.push_back(
          failed_gpu(*gpu,
                     fmt::format("{} inactive",
                                 checks::counted(static_cast<std::uint64_t>(inactive), "NVLink"))));
    }
  }
  return checks::or_pass(std::move(findings), "no NVLink is inactive");
}

Findings literal_logged(const Snapshot& /*snapshot*/, const Arguments& /*arguments*/) {
  return {checks::passed("Azure's check writes to its log only")};
}

}  // namespace muster::nhc
