// SPDX-License-Identifier: Apache-2.0
// What goes wrong with the memories of GPUs, and what the GPUs did about it.
#include <algorithm>
#include <iterator>

#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

Value number(std::int64_t number) { return number; }

std::vector<Fault> memory_errors() {
  return {
      {.name = "uncorrectable_errors",
       .node = kH100,
       .check = "gpu.ecc_uncorrectable",
       .device = "gpu3",
       .change =
           [](NodeDescription& node) {
             facts(node, 3).ecc_volatile.dram_uncorrected = 2U;
             facts(node, 3).ecc_aggregate.dram_uncorrected = 2U;
           },
       .says = Saying{number(2), number(0), Remedy::reboot}},
      {.name = "uncorrectable_errors_of_bare_metal",
       .node = kBareMetal,
       .check = "gpu.ecc_uncorrectable",
       .device = "gpu0",
       .change = [](NodeDescription& node) { facts(node, 0).ecc_volatile.dram_uncorrected = 1U; },
       .says = Saying{number(1), number(0), Remedy::reset_gpu}},
      {.name = "sram_threshold_exceeded",
       .node = kH100,
       .check = "gpu.ecc_sram",
       .device = "gpu6",
       .change =
           [](NodeDescription& node) {
             facts(node, 6).sram = GpuSram{.unique_uncorrected = 6, .threshold_exceeded = true};
             facts(node, 6).ecc_aggregate.sram_uncorrected = 6U;
           },
       .says = Saying{number(6), number(0), Remedy::report_to_provider}},
      {.name = "sram_error_long_ago",
       .node = kA100,
       .check = "gpu.ecc_sram",
       .device = "gpu1",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             facts(node, 1).sram = GpuSram{.unique_uncorrected = 1};
             facts(node, 1).ecc_aggregate.sram_uncorrected = 1U;
           },
       .says = Saying{number(1), number(0), Remedy::watch}},
      {.name = "many_corrected_errors",
       .node = kH100,
       .check = "gpu.ecc_corrected",
       .device = "gpu4",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { facts(node, 4).ecc_aggregate.dram_corrected = 30'000'000U; },
       .says = Saying{number(30'000'000), number(20'000'000), Remedy::watch}},
      {.name = "many_corrected_sram_errors",
       .node = kA100,
       .check = "gpu.ecc_corrected",
       .device = "gpu0",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { facts(node, 0).ecc_aggregate.sram_corrected = 20'000U; },
       .says = Saying{number(20'000), number(10'000), Remedy::watch}},
  };
}

std::vector<Fault> row_faults() {
  return {
      {.name = "row_remapping_failed",
       .node = kH100,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu5",
       .change = [](NodeDescription& node) { needed(facts(node, 5).remapped_rows).failed = true; },
       .says = Saying{true, false, Remedy::report_to_provider}},
      {.name = "row_remapping_failed_on_bare_metal",
       .node = kBareMetal,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu2",
       .change = [](NodeDescription& node) { needed(facts(node, 2).remapped_rows).failed = true; },
       .says = Saying{true, false, Remedy::reseat_or_replace}},
      {.name = "row_remapping_pending",
       .node = kA100,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu0",
       .change = [](NodeDescription& node) { needed(facts(node, 0).remapped_rows).pending = true; },
       .says = Saying{true, false, Remedy::reboot}},
      {.name = "memory_channel_repair_pending",
       .node = kBareMetal,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu7",
       .change =
           [](NodeDescription& node) { needed(facts(node, 7).repairs).channel_pending = true; },
       .says = Saying{true, false, Remedy::reset_gpu}},
      {.name = "no_spare_row_in_a_bank",
       .node = kH100,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu1",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             needed(facts(node, 1).remapped_rows).uncorrected = 8;
             facts(node, 1).spare_rows = GpuSpareRows{.all = 2559, .none = 1};
           },
       .says = Saying{number(8), {}, Remedy::watch}},
      {.name = "many_rows_remapped",
       .node = kH100,
       .check = "gpu.ecc_remapped_rows",
       .device = "gpu2",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             needed(facts(node, 2).remapped_rows).corrected = 4;
             needed(facts(node, 2).remapped_rows).uncorrected = 9;
           },
       .says = Saying{number(13), number(10), Remedy::watch}},
  };
}

// Of GPUs before Ampere.
std::vector<Fault> page_faults() {
  return {
      {.name = "many_pages_retired",
       .node = kV100,
       .check = "gpu.ecc_retired_pages",
       .device = "gpu6",
       .change =
           [](NodeDescription& node) {
             facts(node, 6).retired_pages.single_bit = 40U;
             facts(node, 6).retired_pages.double_bit = 20U;
           },
       .says = Saying{number(60), number(59), Remedy::report_to_provider}},
      {.name = "page_retirement_pending",
       .node = kV100,
       .check = "gpu.ecc_retired_pages",
       .device = "gpu1",
       .change =
           [](NodeDescription& node) {
             facts(node, 1).retired_pages.double_bit = 2U;
             facts(node, 1).retired_pages.pending = true;
           },
       .says = Saying{number(2), number(59), Remedy::reboot}},
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
