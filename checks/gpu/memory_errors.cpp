// SPDX-License-Identifier: Apache-2.0
// The errors of GPU memory (gpu.ecc_*), from corrected ones to memory that ran out of repairs.
#include <array>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/xid/xids.hpp"

namespace muster::checks {
namespace {

// The DRAM counter, or the SRAM one if this GPU has only that.
template <auto dram, auto sram>
const Fact<std::uint64_t>& either_count(const GpuEcc& ecc) {
  return (ecc.*dram).is_absent() ? ecc.*sram : ecc.*dram;
}

// True for expected GPUs from Ampere on, with ECC on and MIG off. Virtual GPUs may report less.
bool must_report_errors(const Gpu& gpu, const Profile& profile) {
  constexpr unsigned kAmpere = 7;
  constexpr unsigned kUnknown = 0xffffffff;
  const unsigned architecture = gpu.architecture.value_or(kUnknown);
  return gpu::expected(profile) && architecture >= kAmpere && architecture != kUnknown &&
         gpu.modes.ecc.value_or(false) && !gpu.modes.mig.value_or(false);
}

// Turns the skip for a missing fact into `unknown` if this GPU must report it.
Finding unless_required(const Gpu& gpu, const Profile& profile, Finding missing) {
  if (missing.outcome != Outcome::skip || !must_report_errors(gpu, profile)) return missing;
  missing.outcome = Outcome::unknown;
  missing.message += "; from Ampere on, all GPUs report it while ECC is on";
  return missing;
}

std::optional<Finding> judge_corrected_in(const Gpu& gpu, const Profile& profile,
                                          std::string_view where, const Fact<std::uint64_t>& errors,
                                          const Limit<int>& limit) {
  if (!limit || (errors.is_absent() && !must_report_errors(gpu, profile))) return std::nullopt;
  if (!errors) {
    return unless_required(
        gpu, profile,
        gpu::not_reported(gpu, fmt::format("the count of corrected {} errors", where), errors));
  }
  if (*errors <= static_cast<std::uint64_t>(*limit)) return std::nullopt;
  return gpu::warned(gpu,
                     fmt::format("{} in {} over its lifetime, expected at most {}",
                                 counted(*errors, "corrected error"), where, *limit),
                     Remedy::watch, {count_value(*errors), *limit, "errors"});
}

Findings judge_corrected(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->ecc_corrected;
  if (!limits.dram_warn_above && !limits.sram_warn_above) {
    return {not_limited("corrected memory errors")};
  }
  const auto judge_one = [&](const Gpu& gpu) {
    const auto& ecc = gpu.ecc_aggregate;
    if (!ecc.dram_corrected && !ecc.sram_corrected && !must_report_errors(gpu, profile)) {
      return std::optional(gpu::not_reported_unlike_peers(
          snapshot, gpu, "the count of corrected errors", [](const Gpu& each) -> const auto& {
            return either_count<&GpuEcc::dram_corrected, &GpuEcc::sram_corrected>(
                each.ecc_aggregate);
          }));
    }
    auto dram =
        judge_corrected_in(gpu, profile, "DRAM", ecc.dram_corrected, limits.dram_warn_above);
    return dram ? dram
                : judge_corrected_in(gpu, profile, "SRAM", ecc.sram_corrected,
                                     limits.sram_warn_above);
  };
  return gpu::each(snapshot, judge_one, "with few corrected memory errors");
}

void margins_of_corrected(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const auto& limits = profile.gpu->ecc_corrected;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    const auto add = [&](std::string_view kind, const Fact<std::uint64_t>& errors,
                         const Limit<int>& most) {
      if (errors) margins.at_most(gpu::name_of(*gpu), kind, static_cast<double>(*errors), most);
    };
    add("dram", gpu->ecc_aggregate.dram_corrected, limits.dram_warn_above);
    add("sram", gpu->ecc_aggregate.sram_corrected, limits.sram_warn_above);
  }
}

// Empty if every counter of this GPU is known.
std::optional<Finding> missing_uncorrected_count(const Snapshot& snapshot, const Profile& profile,
                                                 const Gpu& gpu) {
  constexpr std::string_view kWhat = "the count of uncorrected errors";
  const auto& dram = gpu.ecc_volatile.dram_uncorrected;
  const auto& sram = gpu.ecc_volatile.sram_uncorrected;
  for (const auto* fact : {&dram, &sram}) {
    if (fact->known() || (fact->is_absent() && !must_report_errors(gpu, profile))) continue;
    return unless_required(gpu, profile, gpu::not_reported(gpu, kWhat, *fact));
  }
  if (dram || sram) return std::nullopt;
  return gpu::not_reported_unlike_peers(
      snapshot, gpu, kWhat, [](const Gpu& each) -> const auto& {
        return either_count<&GpuEcc::dram_uncorrected, &GpuEcc::sram_uncorrected>(
            each.ecc_volatile);
      });
}

std::uint64_t saturating_sum(std::uint64_t left, std::uint64_t right) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return left > kMax - right ? kMax : left + right;
}

// The checks that report a pending or failed repair of the same memory.
std::vector<SeenBy> repairs_of_same_memory(const Gpu& gpu) {
  std::vector<SeenBy> seen_by;
  const auto add_check = [&](std::string_view check) {
    seen_by.push_back({.check = std::string(check), .device = gpu::name_of(gpu)});
  };
  const bool in_sram = gpu.ecc_volatile.sram_uncorrected.value_or(0) > 0;
  const bool in_dram = gpu.ecc_volatile.dram_uncorrected.value_or(0) > 0;
  if (in_dram || (gpu.repairs && gpu.repairs->tpc_pending)) add_check("gpu.ecc_remapped_rows");
  if (in_dram) add_check("gpu.ecc_retired_pages");
  if (in_sram) add_check("gpu.ecc_sram");
  return seen_by;
}

// Azure's code for these errors from the kernel log, which records whether they were contained.
// Empty if the log has no entry.
std::string memory_error_code_in_log(const Snapshot& snapshot, const XidLimits& limits,
                                     const Gpu& gpu) {
  constexpr std::array kUncontainedFirst{95U, 94U, 48U};
  const auto& log = snapshot.xids.believed(limits.of_programs);
  const xid::XidRules rules(limits);
  for (const auto code : kUncontainedFirst) {
    const auto event = std::ranges::find_if(log.events, [&](const XidEvent& each) {
      return each.code == code && !each.nvswitch && each.address == gpu.address &&
             each.last_us >= log.loaded_us();
    });
    if (event == log.events.end()) continue;
    const auto* rule = rules.meaning_of(*event).rule;
    return rule == nullptr ? "" : rule->code;
  }
  return "";
}

Findings judge_uncorrectable(const Snapshot& snapshot, const Profile& profile) {
  const auto number = [](const Fact<std::uint64_t>& count) {
    return count ? fmt::to_string(*count) : std::string("an unknown number");
  };
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& dram = gpu.ecc_volatile.dram_uncorrected;
    const auto& sram = gpu.ecc_volatile.sram_uncorrected;
    // One known bad count is enough.
    if (dram.value_or(0) == 0 && sram.value_or(0) == 0) {
      return missing_uncorrected_count(snapshot, profile, gpu);
    }
    Finding finding = gpu::failed(
        gpu,
        fmt::format("uncorrected errors since the driver was loaded: {} in DRAM, {} in SRAM",
                    number(dram), number(sram)),
        gpu::reset_remedy(snapshot),
        {count_value(saturating_sum(dram.value_or(0), sram.value_or(0))), 0, "errors"});
    finding.code = memory_error_code_in_log(snapshot, profile.gpu->xid, gpu);
    finding.seen_by = repairs_of_same_memory(gpu);
    return finding;
  };
  return gpu::each(snapshot, judge_one, "without uncorrected memory errors");
}

// Older drivers report only the number of errors.
Fact<GpuSram> sram_of(const Gpu& gpu) {
  const auto& errors = gpu.ecc_aggregate.sram_uncorrected;
  if (gpu.sram || gpu.sram.is_unreadable()) return gpu.sram;
  if (errors) return GpuSram{.unique_uncorrected = *errors};
  if (errors.is_unreadable()) return Fact<GpuSram>::unreadable(errors.why());
  return gpu.sram;
}

Findings judge_sram(const Snapshot& snapshot, const Profile& profile) {
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto sram = sram_of(gpu);
    if (!sram) {
      return unless_required(
          gpu, profile,
          gpu::not_reported_unlike_peers(snapshot, gpu, "the state of the SRAM", sram_of));
    }
    const bool flagged = sram->threshold_exceeded;
    const auto errors = sram->unique_uncorrected;
    if (!flagged && errors == 0) return std::nullopt;
    Finding finding = gpu::about(
        gpu, flagged ? Outcome::fail : Outcome::warn,
        fmt::format("{} in SRAM over its lifetime{}", counted(errors, "uncorrected error"),
                    flagged ? "; the driver's threshold is exceeded" : ""),
        flagged ? hardware_remedy(snapshot) : Remedy::watch, {count_value(errors), 0, "errors"});
    // The lifetime count includes errors since the driver was loaded, which fail that check.
    if (!flagged && gpu.ecc_volatile.sram_uncorrected.value_or(0) > 0) {
      finding.seen_by = {{.check = "gpu.ecc_uncorrectable", .device = finding.device}};
    }
    return finding;
  };
  return gpu::each(snapshot, judge_one, "without uncorrected SRAM errors");
}

bool are_rows_hidden_by_mig(const Gpu& gpu) {
  return gpu.remapped_rows.is_absent() && gpu.modes.mig.value_or(false);
}

Finding missing_rows(const Snapshot& snapshot, const Profile& profile, const Gpu& gpu) {
  if (are_rows_hidden_by_mig(gpu)) {
    return unknown(gpu::name_of(gpu), "the driver does not report remapped rows while MIG is on");
  }
  return unless_required(gpu, profile,
                         gpu::not_reported_unlike_peers(
                             snapshot, gpu, "the state of remapped rows",
                             [](const Gpu& each) -> const auto& { return each.remapped_rows; }));
}

// Reports the worst of four states: failed, pending, a bank without spare rows, many remapped rows.
std::optional<Finding> judge_rows_of(const Snapshot& snapshot, const Profile& profile,
                                     const Gpu& gpu) {
  const auto& limits = profile.gpu->ecc_remapped_rows;
  if (!gpu.remapped_rows) return missing_rows(snapshot, profile, gpu);
  const auto& rows = *gpu.remapped_rows;
  const auto failure = [&](std::string message, Remedy remedy) {
    return gpu::failed(gpu, std::move(message), remedy, {true, false});
  };
  if (rows.failed) {
    return failure("row remapping failed: a bad row had no spare row left",
                   hardware_remedy(snapshot));
  }
  if (rows.pending) {
    return failure("a bad row will be remapped at the next reset", gpu::reset_remedy(snapshot));
  }
  if (gpu.repairs && (gpu.repairs->channel_pending || gpu.repairs->tpc_pending)) {
    return failure("a repair is pending until the next reset", gpu::reset_remedy(snapshot));
  }
  if (gpu.repairs.is_unreadable()) {
    return gpu::not_reported(gpu, "whether a repair is pending", gpu.repairs);
  }
  if (gpu.spare_rows.is_unreadable()) {
    return gpu::not_reported(gpu, "the number of spare rows", gpu.spare_rows);
  }
  const auto remapped = rows.corrected + rows.uncorrected;
  const auto warning = [&](std::string message, Value limit) {
    return gpu::warned(gpu, std::move(message), Remedy::watch,
                       {count_value(remapped), std::move(limit), "rows"});
  };
  if (gpu.spare_rows && gpu.spare_rows->none > 0) {
    return warning(fmt::format("{} without a spare row: the next bad row there cannot be remapped",
                               counted(gpu.spare_rows->none, "memory bank")),
                   {});
  }
  if (limits.watch_above && remapped > static_cast<std::uint64_t>(*limits.watch_above)) {
    return warning(fmt::format("{}, expected at most {}", counted(remapped, "remapped row"),
                               *limits.watch_above),
                   *limits.watch_above);
  }
  return std::nullopt;
}

Findings judge_rows(const Snapshot& snapshot, const Profile& profile) {
  auto gpus = gpu::answering(snapshot);
  // On a node with MIG on by intent, hidden rows are not a fault.
  std::size_t hidden = 0;
  if (profile.gpu->mig.expected.value_or(false)) {
    hidden = std::erase_if(gpus, [](const Gpu* gpu) { return are_rows_hidden_by_mig(*gpu); });
  }
  Findings findings = gpu::each(
      gpus, [&](const Gpu& gpu) { return judge_rows_of(snapshot, profile, gpu); },
      "with sound memory rows");
  if (hidden > 0) {
    findings.push_back(skipped(fmt::format(
        "the driver does not report remapped rows of {} while MIG is on", counted(hidden, "GPU"))));
  }
  return findings;
}

void margins_of_rows(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    const auto& rows = gpu->remapped_rows;
    if (!rows) continue;
    margins.at_most(gpu::name_of(*gpu), "",
                    static_cast<double>(rows->corrected + rows->uncorrected),
                    profile.gpu->ecc_remapped_rows.watch_above);
  }
}

Findings judge_pages(const Snapshot& snapshot, const Profile& profile) {
  const auto& limit = profile.gpu->ecc_retired_pages.fail_above;
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& pages = gpu.retired_pages;
    for (const auto count : {&GpuRetiredPages::single_bit, &GpuRetiredPages::double_bit}) {
      if (pages.*count) continue;
      return gpu::not_reported_unlike_peers(
          snapshot, gpu, "the count of retired pages", [count](const Gpu& each) -> const auto& {
            return each.retired_pages.*count;
          });
    }
    if (!pages.pending) {
      return gpu::not_reported_unlike_peers(
          snapshot, gpu, "whether pages are pending",
          [](const Gpu& each) -> const auto& { return each.retired_pages.pending; });
    }
    const auto retired = *pages.single_bit + *pages.double_bit;
    const bool many = limit && retired > static_cast<std::uint64_t>(*limit);
    if (!many && !*pages.pending) return std::nullopt;
    return gpu::failed(
        gpu,
        many ? fmt::format("{}, expected at most {}", counted(retired, "retired page"), *limit)
             : fmt::format("a bad page will be retired at the next reset; {} so far",
                           counted(retired, "retired page")),
        many ? hardware_remedy(snapshot) : gpu::reset_remedy(snapshot),
        {count_value(retired), limit ? Value(*limit) : Value(), "pages"});
  };
  return gpu::each(snapshot, judge_one, "with sound memory pages");
}

void margins_of_pages(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    const auto& pages = gpu->retired_pages;
    if (!pages.single_bit || !pages.double_bit) continue;
    margins.at_most(gpu::name_of(*gpu), "",
                    static_cast<double>(*pages.single_bit + *pages.double_bit),
                    profile.gpu->ecc_retired_pages.fail_above);
  }
}

}  // namespace

constinit const Check gpu_ecc_uncorrectable::check = gpu::check_of_gpus({
    .id = "gpu.ecc_uncorrectable",
    .title = "No uncorrected memory error since the driver was loaded",
    .why =
        "An uncorrected error destroyed data and ended the application that used it. The damaged "
        "memory stays in use until the GPU is reset: only then are rows remapped and pages "
        "retired. From Ampere on, a missing counter is unknown while ECC is on and MIG is off.",
    .fix = "Reset the GPU (nvidia-smi --gpu-reset) or reboot the node, then look at "
           "gpu.ecc_remapped_rows: it reports whether the GPU could repair itself.",
    .code = "NHC2019",
    .looks_at = Probe::kernel_log,  // for the fault code
    .judge = judge_uncorrectable,
});

constinit const Check gpu_ecc_sram::check = gpu::check_of_gpus({
    .id = "gpu.ecc_sram",
    .title = "Few uncorrected SRAM errors over the life of the GPU",
    .why =
        "Counts the unique uncorrected errors of caches and registers, which cannot be remapped. "
        "The driver sets a flag if one bank has too many of them; NVIDIA replaces such a GPU. "
        "Without the flag, past errors are worth watching; errors since the driver was loaded fail "
        "gpu.ecc_uncorrectable. A missing count is unknown, as it is there.",
    .fix =
        "Run the field diagnostic and replace the GPU, or report its serial number to the provider "
        "of the virtual machine.",
    .code = "NHC2019",
    .judge = judge_sram,
});

constinit const Check gpu_ecc_corrected::check = gpu::check_of_gpus({
    .id = "gpu.ecc_corrected",
    .title = "Corrected memory errors stay below their limits",
    .why =
        "Corrected errors cost a little time and no data. Very many of them are the first sign of "
        "failing memory. A missing counter is unknown, as in gpu.ecc_uncorrectable.",
    .fix = "Watch the GPU, and act when gpu.ecc_remapped_rows or gpu.ecc_uncorrectable reports a "
           "fault.",
    .code = "NHC2019",
    .judge = judge_corrected,
    .margins = margins_of_corrected,
});

constinit const Check gpu_ecc_remapped_rows::check = gpu::check_of_gpus({
    .id = "gpu.ecc_remapped_rows",
    .title = "Bad rows of memory are remapped, and spare ones are left",
    .why =
        "Since Ampere, a GPU replaces a bad row of its memory by a spare row at the next reset. "
        "Failed: no spare row was left, or the spare row was bad; NVIDIA replaces such a GPU. "
        "Pending: the bad row is out of use until the next reset; from version 570 the driver asks "
        "for the reset itself. A repair of a memory channel or processing cluster that waits for a "
        "reset counts as well. A bank without spare rows: nothing is wrong yet, but the next bad "
        "row in it will fail. Many remapped rows: most nodes with more than ten of them come back "
        "with memory errors. With ECC on, a GPU that reports no rows is unknown.",
    .fix =
        "Failed: run the field diagnostic and replace the GPU, or report its serial number to the "
        "provider. Pending: drain the node and reset the GPU or reboot; nothing needs replacing. "
        "No spares or many rows: keep the node in service and watch it.",
    .code = "NHC2007",
    .judge = judge_rows,
    .margins = margins_of_rows,
});

constinit const Check gpu_ecc_retired_pages::check = gpu::check_of_gpus({
    .id = "gpu.ecc_retired_pages",
    .title = "Few pages of memory are retired, and none is pending",
    .why =
        "Before Ampere, the driver takes up to 64 bad pages of memory out of use. A page that was "
        "found bad while in use is retired when the driver is reloaded.",
    .fix =
        "Pending: drain the node and reset the GPU or reboot. Too many: replace the GPU, or report "
        "its serial number to the provider.",
    .code = "NHC2018",
    .judge = judge_pages,
    .margins = margins_of_pages,
});

}  // namespace muster::checks
