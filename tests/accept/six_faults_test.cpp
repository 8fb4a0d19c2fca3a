// SPDX-License-Identifier: Apache-2.0
// An acceptance of simulated nodes with six kinds of faults, through the folder and the driver.
// Also kills the driver at a write and resumes it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "accept/loop.hpp"
#include "accept/sim.hpp"
#include "accept/write_page.hpp"
#include "lib/base/root.hpp"
#include "tests/accept/fleet_of.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

constexpr std::string_view kSixFaults =
    "fault=missing_gpu:sim003:5,fault=row_remap:sim005:2,fault=slow_gpu:sim007:1:0.8,"
    "fault=slow_large:sim009:2:0.6,fault=intermittent:sim012:0.02,fault=crash:sim014:0.3";
constexpr int kSmall = 16;

struct Blame {
  std::string node, check, device;
};

const std::vector<Blame> kBlamed{
    {"sim003", "gpu.present", "node"}, {"sim005", "gpu.ecc_remapped_rows", "gpu2"},
    {"sim007", "bench.gemm", "gpu1"},  {"sim009", "bench.locate", "sim009"},
    {"sim012", "gpu.xid", "gpu"},      {"sim014", "", ""}};

// Opens the folder, or creates it if there is no run.
OrFailure<RunFolder> open_run(const std::filesystem::path& path, int nodes, const WriteHook& hook) {
  auto folder = RunFolder::open(path, RunFolder::Use::drive, hook);
  if (folder || std::filesystem::exists(path / "run.json")) return folder;
  return RunFolder::create(path, order_of(nodes), hook);
}

Result<Actions> drive(const std::filesystem::path& path, int nodes, const WriteHook& hook = {}) {
  auto folder = open_run(path, nodes, hook);
  if (!folder) return make_error(folder.error().message);
  TRY_ASSIGN(const auto fleet, make_sim_fleet(folder->order(), kSixFaults, folder->results()));
  TRY_ASSIGN(auto result, run_acceptance(*folder, *fleet));
  TRY(write_page(*folder, result.last, fleet->now()));
  return std::move(result.last);
}

// Leaves out times, the numbers of attempts, and attempts that were interrupted.
void drop_times(nlohmann::json& json) {
  static const std::set<std::string> kTimes{"started", "ended",  "at",        "created",
                                            "begun",   "number", "generated", "written"};
  if (json.is_object()) {
    for (const auto& key : kTimes) json.erase(key);
  }
  if (json.is_array()) {
    auto kept = nlohmann::json::array();
    for (auto& each : json) {
      const bool interrupted = each.is_object() && each.value("end", "") == "interrupted";
      if (!interrupted) kept.push_back(std::move(each));
    }
    json = std::move(kept);
  }
  if (!json.is_structured()) return;
  for (auto& each : json) drop_times(each);
}

nlohmann::json document_of(const std::filesystem::path& path) {
  constexpr std::size_t kLongest = 64UL << 20U;
  const auto text = Root().read((path / "accept.json").string(), kLongest);
  auto document = nlohmann::json::parse(text.value_or("null"));
  drop_times(document);
  return document;
}

void expect_six_rejected(const Actions& actions, int nodes) {
  EXPECT_TRUE(actions.complete);
  ASSERT_EQ(actions.standings.size(), static_cast<std::size_t>(nodes));
  const auto order = order_of(nodes);
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    const auto& name = order.nodes[i].name;
    const auto& standing = actions.standings[i];
    const auto blamed = std::ranges::find(kBlamed, name, &Blame::node);
    if (blamed == kBlamed.end()) {
      EXPECT_EQ(to_string(standing.verdict), "accepted") << name << ": " << standing.why;
      continue;
    }
    EXPECT_EQ(to_string(standing.verdict), "rejected") << name;
    EXPECT_EQ(standing.charge, Charge::provider) << name;
    EXPECT_NE(standing.why, "") << name;
    if (blamed->check.empty()) continue;
    ASSERT_FALSE(standing.causes.empty()) << name;
    EXPECT_EQ(standing.causes.front().check, blamed->check) << name;
    EXPECT_THAT(standing.causes.front().device, HasSubstr(blamed->device)) << name;
  }
}

TEST(SixFaultsTest, ExactlyTheSixNodesAreRejectedForTheirFaults) {
  const TempDir temp;
  constexpr int kNodes = 64;
  const auto actions = drive(temp.path() / "run", kNodes);
  ASSERT_TRUE(actions) << actions.error().message;
  expect_six_rejected(*actions, kNodes);
}

// Runs in a process that ends before (even) or after (odd) a write. Returns whether it reached it.
bool crash_at(const std::filesystem::path& path, int nodes, int place) {
  constexpr int kCrashed = 9;
  const auto child = ::fork();
  if (child == 0) {
    int seen = 0;
    const auto hook = [&](const std::filesystem::path& /*file*/, bool /*written*/) {
      if (seen++ == place) ::_exit(kCrashed);
      return Result<void>();
    };
    ::_exit(drive(path, nodes, hook) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1) << "place " << place;
  return WIFEXITED(status) && WEXITSTATUS(status) == kCrashed;
}

// A few places in a small fleet, or with MUSTER_EVERY_WRITE all places in one of 64 nodes.
TEST(SixFaultsTest, ADriverKilledAtAWriteIsResumed) {
  const bool every = std::getenv("MUSTER_EVERY_WRITE") != nullptr;
  const int nodes = every ? 64 : kSmall;
  const TempDir temp;
  int places = 0;
  const auto count = [&](const std::filesystem::path& /*file*/, bool /*written*/) {
    ++places;
    return Result<void>();
  };
  const auto whole = drive(temp.path() / "whole", nodes, count);
  ASSERT_TRUE(whole) << whole.error().message;
  expect_six_rejected(*whole, nodes);
  ASSERT_GT(places, 10 * nodes);
  const auto expected = document_of(temp.path() / "whole");
  ASSERT_EQ(expected["nodes"].size(), static_cast<std::size_t>(nodes));
  const int step = every ? 1 : places / 8 | 1;  // odd: before and after writes
  for (int place = 0; place < places; place += step) {
    const auto path = temp.path() / "run";
    ASSERT_TRUE(crash_at(path, nodes, place)) << place;
    const auto resumed = drive(path, nodes);
    ASSERT_TRUE(resumed) << place << ": " << resumed.error().message;
    const auto difference = nlohmann::json::diff(expected, document_of(path));
    EXPECT_TRUE(difference.empty()) << "place " << place << ": " << difference.dump(1);
    std::filesystem::remove_all(path);
  }
}

}  // namespace
}  // namespace muster::accept
