// SPDX-License-Identifier: Apache-2.0
// Faults of GPU memory, and the GPUs' repairs.
#include <algorithm>
#include <iterator>

#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

std::vector<Fault> memory_errors() {
  return {
      fails("uncorrectable_errors", kH100, "gpu.ecc_uncorrectable", "gpu3",
            [](NodeDescription& node) {
              facts(node, 3).ecc_volatile.dram_uncorrected = 2U;
              facts(node, 3).ecc_aggregate.dram_uncorrected = 2U;
            }),
      fails("uncorrectable_errors_of_bare_metal", kBareMetal, "gpu.ecc_uncorrectable", "gpu0",
            [](NodeDescription& node) { facts(node, 0).ecc_volatile.dram_uncorrected = 1U; }),
      fails("sram_threshold_exceeded", kH100, "gpu.ecc_sram", "gpu6",
            [](NodeDescription& node) {
              facts(node, 6).sram = GpuSram{.unique_uncorrected = 6, .threshold_exceeded = true};
              facts(node, 6).ecc_aggregate.sram_uncorrected = 6U;
            }),
      warns("sram_error_long_ago", kA100, "gpu.ecc_sram", "gpu1",
            [](NodeDescription& node) {
              facts(node, 1).sram = GpuSram{.unique_uncorrected = 1};
              facts(node, 1).ecc_aggregate.sram_uncorrected = 1U;
            }),
      warns(
          "many_corrected_errors", kH100, "gpu.ecc_corrected", "gpu4",
          [](NodeDescription& node) { facts(node, 4).ecc_aggregate.dram_corrected = 30'000'000U; }),
      warns("many_corrected_sram_errors", kA100, "gpu.ecc_corrected", "gpu0",
            [](NodeDescription& node) { facts(node, 0).ecc_aggregate.sram_corrected = 20'000U; }),
  };
}

std::vector<Fault> row_faults() {
  return {
      fails("row_remapping_failed", kH100, "gpu.ecc_remapped_rows", "gpu5",
            [](NodeDescription& node) { needed(facts(node, 5).remapped_rows).failed = true; }),
      fails("row_remapping_failed_on_bare_metal", kBareMetal, "gpu.ecc_remapped_rows", "gpu2",
            [](NodeDescription& node) { needed(facts(node, 2).remapped_rows).failed = true; }),
      fails("row_remapping_pending", kA100, "gpu.ecc_remapped_rows", "gpu0",
            [](NodeDescription& node) { needed(facts(node, 0).remapped_rows).pending = true; }),
      fails("memory_channel_repair_pending", kBareMetal, "gpu.ecc_remapped_rows", "gpu7",
            [](NodeDescription& node) { needed(facts(node, 7).repairs).channel_pending = true; }),
      warns("no_spare_row_in_a_bank", kH100, "gpu.ecc_remapped_rows", "gpu1",
            [](NodeDescription& node) {
              needed(facts(node, 1).remapped_rows).uncorrected = 8;
              facts(node, 1).spare_rows = GpuSpareRows{.all = 2559, .none = 1};
            }),
      warns("many_rows_remapped", kH100, "gpu.ecc_remapped_rows", "gpu2",
            [](NodeDescription& node) {
              needed(facts(node, 2).remapped_rows).corrected = 4;
              needed(facts(node, 2).remapped_rows).uncorrected = 9;
            }),
  };
}

// GPUs before Ampere.
std::vector<Fault> page_faults() {
  return {
      fails("many_pages_retired", kV100, "gpu.ecc_retired_pages", "gpu6",
            [](NodeDescription& node) {
              facts(node, 6).retired_pages.single_bit = 40U;
              facts(node, 6).retired_pages.double_bit = 20U;
            }),
      fails("page_retirement_pending", kV100, "gpu.ecc_retired_pages", "gpu1",
            [](NodeDescription& node) {
              facts(node, 1).retired_pages.double_bit = 2U;
              facts(node, 1).retired_pages.pending = true;
            }),
  };
}

}  // namespace

std::vector<Fault> gpu_memory_faults() {
  auto faults = memory_errors();
  std::ranges::move(row_faults(), std::back_inserter(faults));
  std::ranges::move(page_faults(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
