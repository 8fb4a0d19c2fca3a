// SPDX-License-Identifier: Apache-2.0
// Whole configurations on literal nodes, and the table of checks with the one in docs/nhc.md.
#include "checks/nhc_conf/judge.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/nhc_conf/table.hpp"
#include "tests/checks/nhc_conf/literal_node.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::judge_test {
namespace {

Snapshot node() {
  return {.identity = observed(Identity{.hostname = "n3"}),
          .cpu = observed(Cpu{.sockets = 2U, .cores = 8U, .threads = 8U}),
          .disks = observed(Disks{.nvme = {sound_disk(0)}}),
          .network = observed(Network{.interfaces = {{.name = "eth0"}}}),
          .pci = observed(Pci{})};
}

Report judged(std::string_view text, const Profile& profile = {}) {
  return judge(node(), profile, parse_config("nhc.conf", text), "manual");
}

std::vector<std::string> checks_in(const Report& report) {
  std::vector<std::string> names;
  for (const auto& check : report.checks) {
    names.push_back(fmt::format("{} {}", to_string(check.outcome), check.id));
  }
  return names;
}

TEST(NhcJudge, ReportsInTheOrderOfTheFileWithTheLineNumber) {
  const auto report = judged(
      "# hardware\n* || check_hw_eth eth0\n* || check_nvme_count 1\nx* || check_hw_eth eth9\n"
      "{n[1-4]} || check_hw_cpuinfo 2 8 8\n* || check_hw_eth eth0\n");
  EXPECT_THAT(checks_in(report),
              ElementsAre("pass nhc.check_hw_eth", "pass host.nvme", "pass nhc.check_hw_cpuinfo"));
  const auto found = std::ranges::find(report.findings, "nhc.check_hw_cpuinfo", &Finding::check);
  EXPECT_EQ(found->message, "2 sockets, 8 cores, 8 threads (nhc.conf:5)");
  EXPECT_EQ(report.verdict, Verdict::healthy);
}

TEST(NhcJudge, AnEmptyFileHasNoLineNumber) {
  EXPECT_EQ(judged("").findings.front().message, "not judged: no line is for n3 (nhc.conf)");
}

TEST(NhcJudge, ALimitOfALineFailsWhateverTheProfileSays) {
  Profile profile;
  EXPECT_EQ(judged("* || check_nvme_count 1\n").verdict, Verdict::healthy);
  EXPECT_EQ(judged("* || check_nvme_count 2\n", profile).verdict, Verdict::unhealthy);
  profile.policies["host.nvme"].fail_as = Outcome::warn;
  EXPECT_EQ(judged("* || check_nvme_count 2\n", profile).verdict, Verdict::unhealthy);
  profile.policies["host.nvme"].enabled = false;
  EXPECT_EQ(judged("* || check_nvme_count 2\n", profile).verdict, Verdict::unhealthy);
}

TEST(NhcJudge, ALineThatContradictsAnEarlierLimitIsUnknown) {
  const auto report = judged("* || check_nvme_count 1\n* || check_nvme_count 2\n");
  EXPECT_THAT(checks_in(report), ElementsAre("pass host.nvme", "unknown nhc.check_nvme_count"));
  EXPECT_EQ(judged("* || check_nvme_count 1\n* || check_nvme_count 1\n").verdict, Verdict::healthy);
}

TEST(NhcJudge, ALineThatIsNotTranslatedIsUnknownAndNamed) {
  struct Case {
    std::string_view command, check, reason;
  };

  for (const auto& [command, check, reason] :
       {Case{"check_hw_ethh eth0", "nhc.check_hw_ethh", "did you mean check_hw_eth?"},
        Case{"check_ps_cpu 50%", "nhc.check_ps_cpu", "not translated, let NHC run it"},
        Case{"/usr/bin/true", "nhc./usr/bin/true", "not translated, let NHC run it"},
        Case{"check_a | check_b", "nhc.line", "\"|\" needs a shell"},
        Case{"check_hw_eth", "nhc.check_hw_eth", "invalid number of arguments: 0"},
        Case{"check_hw_cpuinfo 1 2 3 4", "nhc.check_hw_cpuinfo", "invalid number of arguments: 4"},
        Case{"check_nvme_count many", "nhc.check_nvme_count", "\"many\""},
        Case{"check_hw_cpuinfo $COUNT", "nhc.check_hw_cpuinfo", "$COUNT has no known value"},
        Case{"check_hw_physmem 1 2", "nhc.check_hw_physmem", "memory probe"},
        Case{"check_hw_ib 400", "nhc.check_hw_ib", "infiniband probe"}}) {
    const auto report = judged(fmt::format("* || check_hw_eth eth0\n* || {}\n", command));
    EXPECT_EQ(report.verdict, Verdict::unknown) << command;
    const auto found = std::ranges::find(report.findings, check, &Finding::check);
    ASSERT_NE(found, report.findings.end()) << command;
    EXPECT_EQ(found->outcome, Outcome::unknown) << command;
    EXPECT_THAT(found->message, HasSubstr(reason));
    EXPECT_THAT(found->message, HasSubstr("(nhc.conf:2)"));
  }
}

TEST(NhcJudge, ALineWhoseChecksFindNothingToJudgeIsUnknown) {
  Snapshot devices = node();
  devices.infiniband = observed(Infiniband{});
  devices.topology = observed(Topology{});
  devices.environment = observed(Environment{});
  devices.nvml = observed(Nvml{});
  const auto report =
      judge(devices, {}, parse_config("nhc.conf", "* || check_hw_topology\n"), "manual");
  EXPECT_THAT(checks_in(report), Contains("unknown nhc.check_hw_topology"));
}

TEST(NhcJudge, UnknownsCountEvenIfTheProfileCountsNone) {
  Profile profile;
  profile.contexts["manual"].count_unknown = {};
  EXPECT_EQ(judged("* || check_hw_eth eth0\n* || check_zzz\n", profile).verdict, Verdict::unknown);
  auto snapshot = node();
  snapshot.disks = {.status = Status::timeout, .reason = "it hung", .facts = {}};
  const auto config = parse_config("nhc.conf", "* || check_hw_eth eth0\n* || check_nvme_count 1\n");
  EXPECT_EQ(judge(snapshot, profile, config, "manual").verdict, Verdict::unknown);
}

TEST(NhcJudge, TheWorstLineDecides) {
  struct Case {
    std::string_view lines;
    Verdict verdict;
    std::vector<std::string> checks;
  };

  for (const auto& [lines, verdict, checks] :
       {Case{"* || check_hw_eth eth9\n* || check_whatever\n",
             Verdict::unhealthy,
             {"fail nhc.check_hw_eth", "unknown nhc.check_whatever"}},
        // Benchmarks are skipped.
        Case{"* || check_hw_eth eth0\n* || check_nccl_allreduce 460.0 1 16G $ROOT/topology.xml\n"
             "* || check_rccl_allreduce 300\n* || check_gpu_bw 48 335\n",
             Verdict::healthy,
             {"pass nhc.check_hw_eth", "skip nhc.check_nccl_allreduce",
              "skip nhc.check_rccl_allreduce", "skip nhc.check_gpu_bw"}},
        // No line is for the node.
        Case{"x* || check_hw_eth eth0\n", Verdict::unknown, {"unknown nhc.line"}}}) {
    const auto report = judged(lines);
    EXPECT_EQ(report.verdict, verdict) << lines;
    EXPECT_EQ(checks_in(report), checks);
  }
}

TEST(NhcNeeds, AreThoseOfEveryLine) {
  const auto needs = needs_of(parse_config(
      "nhc.conf", "a || check_hw_cpuinfo 1\nb || check_nvme_count 8\n* || check_zzz\n"));
  EXPECT_EQ(needs.probes, Probe::identity | Probe::cpu | Probe::disks);
}

TEST(NhcTable, HasOneKindOfTranslationForEachCheck) {
  std::set<std::string_view> names;
  for (const auto& row : table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.judge == nullptr && row.checks.empty() && !row.of_gpus,
              !row.skipped.empty() && !row.of_gpus)
        << row.name;
    EXPECT_EQ(row.judge != nullptr, row.needs != ProbeSet()) << row.name;
    for (const auto check : row.checks) {
      EXPECT_TRUE(std::ranges::any_of(checks::kAll, [&](const auto* c) { return c->id == check; }))
          << row.name << " " << check;
    }
  }
}

TEST(NhcTable, SetsTheLimitsOfTheProfile) {
  Profile profile;
  const auto set = [&](std::string_view check, std::initializer_list<int> values) {
    const auto* row = row_of({.check = std::string(check)});
    ASSERT_GE(row->limits.size(), values.size());
    const auto* value = values.begin();
    for (const auto& limit : row->limits) limit.set(profile, *value++);
  };
  set("check_gpu_count", {8});
  set("check_gpu_ecc", {20000000, 10000});
  set("check_gpu_xid", {2});
  set("check_ib_link_flapping", {24, 5});
  set("check_nvme_count", {8});
  EXPECT_EQ(profile.gpu->present.count, 8);
  EXPECT_EQ(profile.gpu->ecc_corrected.dram_warn_above, 20000000);
  EXPECT_EQ(profile.gpu->ecc_corrected.sram_warn_above, 10000);
  EXPECT_EQ(profile.policies["gpu.ecc_corrected"].warn_as, Outcome::fail);
  EXPECT_EQ(profile.gpu->xid.window, Seconds{7200});
  EXPECT_EQ(profile.ib->flaps.window, Seconds{86400});
  EXPECT_EQ(profile.ib->flaps.max, 4);  // five are too many
  EXPECT_EQ(profile.host->nvme.count, 8);
}

// The rows of the two tables of the section begin with the names of the checks.
TEST(NhcTable, IsTheOneInTheDocument) {
  std::ifstream stream(std::filesystem::path(MUSTER_SOURCE_DIR) / "docs/nhc.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(stream, line) && !line.starts_with("These tables cover");) {
    if (!line.starts_with("| `check_")) continue;
    const auto cell = line.substr(0, line.find('|', 1));
    for (auto at = cell.find("`check_"); at != std::string::npos; at = cell.find("`check_", at)) {
      const auto name = cell.substr(at + 1, cell.find_first_of("` ", at + 1) - at - 1);
      documented.insert(name);
      at += name.size();
    }
  }
  std::set<std::string> translated;
  for (const auto& row : table()) translated.emplace(row.name.substr(0, row.name.find(' ')));
  EXPECT_EQ(documented, translated);
}

}  // namespace
}  // namespace muster::nhc::judge_test
