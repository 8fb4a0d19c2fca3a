// SPDX-License-Identifier: Apache-2.0
// gpu.xid about two XIDs of one GPU: the remedy is that of the worse.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/xid_node.hpp"

namespace muster::gpu_xid_pairs_test {
namespace {

using namespace xid_node;  // NOLINT(google-build-using-namespace): the node of this test

// A node whose driver does not report the recovery action.
Snapshot older(std::vector<KernelRecord> records) {
  Snapshot snapshot = bare_metal(std::move(records));
  snapshot.nvml->gpus[0].recovery_action = absent();
  return snapshot;
}

TEST(GpuXidPairTest, AFailedRepairInAnIncidentAsksForReplacement) {
  for (const unsigned code : {46U, 48U, 62U, 79U, 95U, 119U, 140U}) {
    for (const auto& [first, second] : {std::pair(code, 64U), std::pair(64U, code)}) {
      const Finding finding = only(older({xid(9 * kHour, fmt::format("{}, x", first)),
                                          xid(9 * kHour + 1, fmt::format("{}, x", second))}));
      EXPECT_EQ(finding.remedy, Remedy::reseat_or_replace) << code;
      EXPECT_EQ(finding.code, "NHC2007") << code;
    }
  }
}

TEST(GpuXidPairTest, TheWorstRemedyOfEarlierIncidentsRemains) {
  const Finding finding = only(
      older({xid(8 * kHour, "48, x"), xid(8 * kHour + 1, "64, x"), xid(9 * kHour, "48, again")}));
  EXPECT_EQ(finding.remedy, Remedy::reseat_or_replace);
  EXPECT_EQ(finding.code, "NHC2007");
}

TEST(GpuXidPairTest, TheDriversRequestIsObeyedIfItAsksForMore) {
  for (const auto& [code, fault_code] : {std::pair(46U, "NHC2001"), std::pair(48U, "NHC2014"),
                                         std::pair(95U, "NHC2011"), std::pair(136U, "NHC2016")}) {
    for (const auto& [action, remedy] :
         {std::pair(1U, Remedy::reset_gpu), std::pair(2U, Remedy::reboot),
          std::pair(5U, Remedy::reset_gpu), std::pair(7U, Remedy::reboot),
          std::pair(9U, Remedy::reboot)}) {
      const Finding finding = only(
          older({xid(9 * kHour, fmt::format("{}, x", code)),
                 xid(9 * kHour + 1, fmt::format("154, changed from 0x0 to {:#x} (x)", action))}));
      EXPECT_EQ(finding.observed, Value(std::int64_t{code}));
      EXPECT_EQ(finding.remedy, remedy) << code << " with " << action;
      EXPECT_EQ(finding.code, fault_code) << "the request is a reaction, not a fault";
    }
  }
}

// How drastic a remedy is.
std::size_t strength(Remedy remedy) {
  constexpr std::array kLadder{Remedy::none,
                               Remedy::watch,
                               Remedy::restart_service,
                               Remedy::reset_gpu,
                               Remedy::reboot,
                               Remedy::reseat_or_replace,
                               Remedy::report_to_provider};
  return static_cast<std::size_t>(std::ranges::find(kLadder, remedy) - kLadder.begin());
}

// The lines of one GPU, and the seconds between them.
struct GpuLines {
  std::vector<std::string> lines;
  double apart_s = 1;
};

// The strength of the worst remedy for each GPU. All are in one log, far apart in time.
std::vector<std::size_t> needed(const std::vector<GpuLines>& gpus, bool guest) {
  std::vector<KernelRecord> records;
  double now_s = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    now_s += kHour;
    for (const auto& text : gpus[i].lines) {
      records.push_back(line(now_s, fmt::format("NVRM: Xid (PCI:{:04x}:10:00): {}", i, text)));
      now_s += gpus[i].apart_s;
    }
  }
  Snapshot snapshot = bare_metal(std::move(records));
  snapshot.identity->hypervisor = guest;
  snapshot.identity->uptime_s = now_s + kHour;
  std::vector<std::size_t> found(gpus.size());
  for (const Finding& finding : judge(snapshot)) {
    if (finding.outcome != Outcome::fail) continue;
    auto& most = found.at(std::stoul(finding.device.substr(0, 4), nullptr, 16));
    most = std::max(most, strength(finding.remedy));
  }
  return found;
}

// Lines of all fatal XIDs.
std::vector<std::string> fatal_lines() {
  std::vector<std::string> lines{
      "74, NVLink: fatal error detected on link 4(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
      "145, RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x40 0x0)"};
  for (const unsigned action : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U}) {
    lines.push_back(fmt::format("154, changed from 0x0 (None) to {:#x} (x)", action));
  }
  for (const auto& rule : profile().gpu->xid.rules) {
    if (rule.kind != "fatal") continue;
    for (const auto& number : rule.xids) lines.push_back(fmt::format("{}, x", number));
  }
  return lines;
}

TEST(GpuXidPairTest, TwoFatalXidsAskForNoLessThanTheWorseOfThem) {
  const auto lines = fatal_lines();
  for (const bool guest : {false, true}) {
    std::vector<GpuLines> single;
    for (const auto& each : lines) single.push_back({.lines = {each}});
    const auto alone = needed(single, guest);
    EXPECT_THAT(alone, Each(::testing::Gt(strength(Remedy::watch))));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const double apart_s : {1.0, 60.0}) {
        std::vector<GpuLines> pairs;
        for (const auto& each : lines) pairs.push_back({{lines[i], each}, apart_s});
        const auto together = needed(pairs, guest);
        for (std::size_t j = 0; j < lines.size(); ++j) {
          // A later request of the driver replaces an earlier one.
          if (lines[i].starts_with("154") && lines[j].starts_with("154")) continue;
          EXPECT_GE(together[j], std::max(alone[i], alone[j]))
              << lines[i] << " and after " << apart_s << " s " << lines[j];
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::gpu_xid_pairs_test
