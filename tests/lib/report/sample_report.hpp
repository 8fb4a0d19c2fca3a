// SPDX-License-Identifier: Apache-2.0
// Reports for the tests of all formats: a sick node, a healthy one, and one with hostile text.
#pragma once

#include <fmt/format.h>

#include "lib/report/format.hpp"

namespace muster {

inline Report sick_report() {
  return {
      .node = "gpu-0007",
      .profile = "nd96isr_h100_v5",
      .profile_evidence = {"chassis asset tag says Azure", "8 x 10de:2330"},
      .context = "prolog",
      .started = "2026-11-20T12:00:00Z",
      .duration_ms = 11.2,
      .verdict = Verdict::unhealthy,
      .coverage = {.judged = 3,
                   .selected = 5,
                   .not_observed = {{"kernel log", "no answer within 2 s"}}},
      .physical_host = "GGBB90904476",
      .muster = "0.1.0",
      .checks = {{"host.edac", Outcome::unknown},
                 {"host.swap", Outcome::warn},
                 {"ib.present", Outcome::pass},
                 {"ib.rate", Outcome::fail},
                 {"pci.acs", Outcome::skip}},
      .findings =
          {{.check = "ib.rate",
            .device = "mlx5_ib3",
            .outcome = Outcome::fail,
            .message = "200 Gb/s (2X NDR), expected 400 Gb/s",
            .observed = 200.0,
            .limit = 400.0,
            .unit = "Gb/s",
            .remedy = Remedy::reseat_or_replace,
            .code = "NHC2005",
            .category = "Resource.Hpc.Unhealthy.IBPortFlapping"},
           {.check = "host.edac",
            .device = "mc0",
            .outcome = Outcome::unknown,
            .message = "ue_count: Permission denied"},
           {.check = "host.swap",
            .device = "node",
            .outcome = Outcome::warn,
            .message = "8 GiB of swap, expected none",
            .observed = std::int64_t{8589934592},
            .limit = std::int64_t{0},
            .unit = "B",
            .remedy = Remedy::fix_config},
           {.check = "ib.present", .device = "node", .outcome = Outcome::pass, .message = "8 HCAs"},
           {.check = "pci.acs",
            .device = "node",
            .outcome = Outcome::skip,
            .message = "a hypervisor hides the switches"}},
      .probes = {{"identity", "ok", 0.4},
                 {"kernel_log", "timeout", 2000.1, "no answer within 2 s"}},
  };
}

inline Report healthy_report() {
  return {.node = "cpu-1",
          .profile = "generic",
          .profile_evidence = {"named by --profile"},
          .context = "manual",
          .started = "2026-11-20T12:00:00Z",
          .duration_ms = 3,
          .verdict = Verdict::healthy,
          .coverage = {.judged = 1, .selected = 1},
          .muster = "0.1.0",
          .checks = {{"host.cpu", Outcome::pass}},
          .findings = {{.check = "host.cpu",
                        .device = "node",
                        .outcome = Outcome::pass,
                        .message = "96 cores"}},
          .probes = {{"cpu", "ok", 1.5}}};
}

// A snapshot without GPU facts.
inline Report unseen_report() {
  auto report = healthy_report();
  report.node = "gpu-0007";
  report.verdict = Verdict::unknown;
  report.coverage = {
      .judged = 34,
      .selected = 72,
      .not_observed = {{"GPUs", "a foreign root", true}, {"verbs", "libibverbs crashed", false}}};
  return report;
}

// A report of a benchmark.
inline Report measured_report() {
  auto report = healthy_report();
  report.benchmark = "all_reduce";
  report.probes.clear();
  report.measurements = {{.quantity = "busbw",
                          .value = 187.5,
                          .unit = "GB/s",
                          .conditions = {.collective = "all_reduce",
                                         .type = "f32",
                                         .reduction = "sum",
                                         .placement = "out_of_place",
                                         .size_bytes = 8589934592,
                                         .ranks = 16,
                                         .nodes = 2,
                                         .backend = "nccl",
                                         .library = "NCCL 2.28.3",
                                         .algorithm = "ring",
                                         .iterations = 3},
                          .statistics = MeasurementStatistics{.median_us = 85900,
                                                              .p5_us = 85899.1,
                                                              .p95_us = 85900.9,
                                                              .min_us = 85899,
                                                              .mean_us = 85900},
                          .wrong_elements = 0,
                          .iterations_us = {85899, 85900, 85901}}};
  return report;
}

// A report of skips only, or without any checks.
inline Report undecided_report(int skipped) {
  auto report = healthy_report();
  report.verdict = Verdict::unknown;
  report.checks.clear();
  report.findings.clear();
  report.coverage = {.judged = 0, .selected = skipped};
  for (int i = 0; i < skipped; ++i) {
    report.checks.push_back({fmt::format("ib.{}", i), Outcome::skip});
    report.findings.push_back({.check = report.checks.back().id,
                               .device = "node",
                               .outcome = Outcome::skip,
                               .message = "no HCAs expected by this profile"});
  }
  return report;
}

// Hostile text, as a process could write it to the kernel log.
// NOLINTBEGIN(misc-misleading-bidirectional): on purpose
inline constexpr std::string_view kHostile =
    "a\nb\r\x1b[2J\"'`$(reboot)\\;<x>&]]>{}|*?!#~\xe2\x80\xae\xff\xef\xbf\xbe\x01";

// NOLINTEND(misc-misleading-bidirectional)

inline Report hostile_report() {
  auto report = sick_report();
  report.node = kHostile;
  report.context = kHostile;
  report.profile = kHostile;
  report.physical_host = kHostile;
  report.profile_evidence = {std::string(kHostile)};
  report.findings[0].device = kHostile;
  report.findings[0].message = kHostile;
  report.findings[0].observed = std::string(kHostile);
  report.probes[1].reason = kHostile;
  report.coverage.not_observed[0] = {.what = std::string(kHostile),
                                     .reason = std::string(kHostile)};
  return report;
}

}  // namespace muster
