// SPDX-License-Identifier: Apache-2.0
// The table in docs/nhc.md of what muster judges otherwise than Azure's checks: both readings of
// one line on one fault, and what the table says of it.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "checks/nhc_conf/judge.hpp"
#include "lib/node/xid.hpp"
#include "lib/profile/load.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::differences_test {
namespace {

using ::testing::HasSubstr;

constexpr double kUptime = 10 * 86400;

std::string document() {
  std::ifstream stream(std::filesystem::path(MUSTER_SOURCE_DIR) / "docs/nhc.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

Gpu sound_gpu() {
  Gpu gpu{.address = "0001:00:00.0", .model = std::string("NVIDIA H100 80GB HBM3")};
  gpu.ecc_volatile = {.dram_corrected = std::uint64_t{0},
                      .dram_uncorrected = std::uint64_t{0},
                      .sram_corrected = std::uint64_t{0},
                      .sram_uncorrected = std::uint64_t{0}};
  gpu.ecc_aggregate = gpu.ecc_volatile;
  gpu.sram = GpuSram{};
  gpu.remapped_rows = GpuRemappedRows{};
  gpu.firmware.vbios = std::string("96.00.89.00.01");
  gpu.firmware.inforom_valid = true;
  gpu.modes.persistence = true;
  gpu.recovery_action = 0U;
  gpu.nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}, {.link = 1, .state = 1U}};
  return gpu;
}

Snapshot node() {
  return {.identity = observed(Identity{.hostname = "n3", .uptime_s = kUptime}),
          .kernel_log = observed(KernelLog{}),
          .nvml = observed(Nvml{.driver = std::string("580.82.07"), .gpus = {sound_gpu()}})};
}

void log(Snapshot& snapshot, double hours_ago, std::string text) {
  const auto when = static_cast<std::uint64_t>((kUptime - 3600 * hours_ago) * 1e6);
  snapshot.kernel_log.facts.records.push_back(
      {.time_us = when, .level = 3, .text = std::move(text), .last_us = when});
  snapshot.xids = find_xids(*snapshot.kernel_log);
}

void log_xid(Snapshot& snapshot, double hours_ago, unsigned code) {
  log(snapshot, hours_ago, fmt::format("NVRM: Xid (PCI:0001:00:00): {}, pid=1234, name=x", code));
}

// The worst that one reading of the line says.
std::string reading(const Snapshot& snapshot, std::string_view line, bool strict) {
  static const Profile profile = load_profile({}, "generic").value();
  auto config = parse_config("nhc.conf", fmt::format("* || {}\n", line));
  config.strict = strict;
  const auto report = judge(snapshot, profile, config, "manual");
  return std::string(to_string(report.findings.front().outcome));
}

std::string both(const Snapshot& snapshot, std::string_view line) {
  return fmt::format("| {} | {} |", reading(snapshot, line, true), reading(snapshot, line, false));
}

TEST(NhcDifferencesTest, TheTableNamesTheXidsOfAzuresListThatDoNotFail) {
  std::map<std::string, std::vector<unsigned>> codes;
  for (unsigned code = 1; code <= 180; ++code) {
    auto snapshot = node();
    log_xid(snapshot, 0.5, code);
    const auto strict = reading(snapshot, "check_gpu_xid 2", true);
    const auto own = reading(snapshot, "check_gpu_xid 2", false);
    if (strict == "fail" && own != strict)
      codes[fmt::format("| {} | {} |", strict, own)].push_back(code);
  }
  EXPECT_FALSE(codes.empty());
  const auto text = document();
  for (const auto& [outcomes, list] : codes) {
    EXPECT_THAT(text, HasSubstr(fmt::format("| XID {} {}\n", fmt::join(list, " "), outcomes)));
  }
}

struct Difference {
  std::string_view in_words, line;
  void (*change)(Snapshot&);
};

TEST(NhcDifferencesTest, TheTableSaysBothReadingsOfEachFault) {
  constexpr std::array kDifferences{
      Difference{"XID 79, older than HOURS and of this boot", "check_gpu_xid 2",
                 [](Snapshot& n) { log_xid(n, 30, 79); }},
      Difference{"1 uncorrected SRAM error", "check_gpu_ecc 20000000 10000",
                 [](Snapshot& n) {
                   auto& gpu = n.nvml.facts.gpus.front();
                   gpu.ecc_aggregate.sram_uncorrected = std::uint64_t{1};
                   gpu.sram->unique_uncorrected = 1;
                 }},
      Difference{"1 uncorrected DRAM error since the driver was loaded",
                 "check_gpu_ecc 20000000 10000",
                 [](Snapshot& n) {
                   n.nvml.facts.gpus.front().ecc_volatile.dram_uncorrected = std::uint64_t{1};
                 }},
      Difference{"a retired page waits for a reset, on a V100", "check_gpu_ecc",
                 [](Snapshot& n) {
                   auto& gpu = n.nvml.facts.gpus.front();
                   gpu.model = std::string("Tesla V100-SXM2-32GB");
                   gpu.remapped_rows = {};
                   gpu.retired_pages = {.single_bit = std::uint64_t{0},
                                        .double_bit = std::uint64_t{1},
                                        .pending = true};
                 }},
      Difference{"one of two GPUs with another VBIOS than V", "check_vbios_version 96.00.89.00.01",
                 [](Snapshot& n) {
                   auto other = sound_gpu();
                   other.index = 1;
                   other.firmware.vbios = std::string("96.00.30.00.01");
                   n.nvml.facts.gpus.push_back(other);
                 }}};
  const auto text = document();
  for (const auto& difference : kDifferences) {
    auto snapshot = node();
    difference.change(snapshot);
    EXPECT_NE(reading(snapshot, difference.line, true), reading(snapshot, difference.line, false))
        << difference.in_words;
    EXPECT_THAT(text, HasSubstr(fmt::format("| {} {}\n", difference.in_words,
                                            both(snapshot, difference.line))));
  }
}

}  // namespace
}  // namespace muster::nhc::differences_test
