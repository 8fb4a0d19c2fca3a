// SPDX-License-Identifier: Apache-2.0
// One NVML call never returns, for one GPU or for the driver: the program ends within its deadline,
// names the call and the GPU, and judges the rest of the node.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/probes/gpu/library.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/nvml.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using ::testing::UnorderedElementsAre;

constexpr unsigned kDeadlineS = 3;
constexpr auto kGrace = 20s;  // a call that is waited for never returns
constexpr std::string_view kHangingGpu = "gpu3";

struct Call {
  std::string name;
  bool of_a_gpu = false;
  bool of_a_pair = false;
};

template <class Signature>
constexpr bool kOfAGpu = false;
template <class... Rest>
constexpr bool kOfAGpu<int(nvml::Device, Rest...)> = true;
template <>
constexpr bool kOfAGpu<int(unsigned, nvml::Device*)> = true;  // its handle
template <class Signature>
constexpr bool kOfAPair = false;
template <class... Rest>
constexpr bool kOfAPair<int(nvml::Device, nvml::Device, Rest...)> = true;

template <class Signature>
void add(const nvml::Function<Signature>& function, std::vector<Call>& calls) {
  for (const auto name : split_words(function.names)) {
    calls.push_back({.name = std::string(name),
                     .of_a_gpu = kOfAGpu<Signature>,
                     .of_a_pair = kOfAPair<Signature>});
  }
}

// Every function that the probe looks for, under each of its names.
std::vector<Call> all_calls() {
  const nvml::Functions functions;
  std::vector<Call> calls;
#define MUSTER_E2E_CALL(member, ...) add(functions.member, calls);
  MUSTER_NVML_FUNCTIONS(MUSTER_E2E_CALL)
#undef MUSTER_E2E_CALL
  return calls;
}

// Each run spends most of its time waiting for its deadline.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  constexpr unsigned kThreads = 8;
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < count; mine = next++) work(mine);
    });
  }
  for (auto& thread : threads) thread.join();
}

// The result of a run.
struct Run {
  std::string verdict;                // empty without output
  std::vector<std::string> concerns;  // "fail gpu.present gpu3: the GPU does not answer …"
  std::set<std::string> rest;         // of every check that is not about GPUs: "host.cpu pass"
  std::chrono::steady_clock::duration took{};
};

Run read_report(const std::string& text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_discarded()) return {};
  const auto word = [](const nlohmann::json& of, const char* key) {
    return of[key].get<std::string>();
  };
  Run run{.verdict = word(report, "verdict")};
  for (const auto& finding : report["findings"]) {
    const auto outcome = word(finding, "outcome");
    if (outcome == "pass" || outcome == "skip") continue;
    run.concerns.push_back(fmt::format("{} {} {}: {}", outcome, word(finding, "check"),
                                       word(finding, "device"), word(finding, "message")));
  }
  for (const auto& check : report["checks"]) {
    const auto id = word(check, "id");
    if (id.starts_with("gpu.") || id == "muster.probes" || id == "topo.nvlink_matrix") continue;
    run.rest.insert(fmt::format("{} {}", id, word(check, "outcome")));
  }
  return run;
}

// A healthy node whose driver hangs in one call at a time.
class HangingNode {
 public:
  explicit HangingNode(nodes::NodeDescription node) : node_(std::move(node)) {
    stage_.show(render(node_));
  }

  [[nodiscard]] Run run(const Call& call) const {
    const fs::path library = place(call);
    const auto begin = std::chrono::steady_clock::now();
    const auto text = output_of(
        fmt::format("MUSTER_DATA_DIR={}/configs {} check --root {} --nvml {} --profile {} "
                    "--only '*' --deadline '{} s' --format json",
                    MUSTER_SOURCE_DIR, MUSTER_PROGRAM, stage_.root().string(), library.string(),
                    node_.profile, kDeadlineS));
    Run run = read_report(text);
    run.took = std::chrono::steady_clock::now() - begin;
    return run;
  }

  [[nodiscard]] std::vector<Run> run(const std::vector<Call>& calls) const {
    std::vector<Run> runs(calls.size());
    side_by_side(calls.size(), [&](std::size_t i) { runs[i] = run(calls[i]); });
    return runs;
  }

 private:
  // A copy of the library, next to its own scenario.
  [[nodiscard]] fs::path place(const Call& call) const {
    auto node = node_;
    if (!call.name.empty()) {
      node.nvml.hangs.insert(call.of_a_gpu ? fmt::format("{} {}", call.name, kHangingGpu)
                                           : call.name);
    }
    const auto folder = fmt::format("nvml-of-{}", call.name);
    dir_.write(fmt::format("{}/scenario", folder), to_text(scenario_of(node)));
    fs::path library = dir_.path() / folder / "libnvidia-ml.so.1";
    fs::create_symlink(fs::read_symlink(stage_.nvml()), library);
    return library;
  }

  nodes::NodeDescription node_;
  Stage stage_;
  TempDir dir_;
};

// Expects of each run what holds for any hanging call; returns the calls that were never made.
std::vector<Call> judge_runs(const HangingNode& node, const std::vector<Call>& calls) {
  const Run healthy = node.run(Call{});
  EXPECT_THAT(healthy.concerns, IsEmpty());
  std::vector<Call> idle;
  const auto runs = node.run(calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& [name, of_a_gpu, of_a_pair] = calls[i];
    SCOPED_TRACE(name);
    EXPECT_LT(runs[i].took, std::chrono::seconds(kDeadlineS) + kGrace);
    EXPECT_EQ(runs[i].rest, healthy.rest);
    const auto& concerns = runs[i].concerns;
    if (concerns.empty()) {
      EXPECT_EQ(runs[i].verdict, "healthy");
      idle.push_back(calls[i]);
      continue;
    }
    EXPECT_EQ(runs[i].verdict, "unhealthy");
    const auto* who = of_a_pair  ? "gpu.p2p node"
                      : of_a_gpu ? "gpu.present gpu3"
                                 : "muster.probes nvml";
    const auto named = ::testing::ContainsRegex(fmt::format("{}.*: {} did not return", who, name));
    if (of_a_gpu) {
      EXPECT_THAT(concerns, ElementsAre(named));
    } else {
      EXPECT_THAT(concerns, ::testing::Contains(named));
    }
  }
  return idle;
}

std::vector<std::string> names_of(const std::vector<Call>& calls) {
  std::vector<std::string> names;
  names.reserve(calls.size());
  for (const auto& call : calls) names.push_back(call.name);
  return names;
}

using HangTest = DiskTest;

TEST_F(HangTest, EveryHangingCallIsNamedAndAffectsOnlyItsGpu) {
  // Calls that are made only to older drivers.
  const auto idle = judge_runs(HangingNode(nodes::nd96isr_h100_v5()), all_calls());
  const auto never = judge_runs(HangingNode(nodes::nd40rs_v2()), idle);
  EXPECT_THAT(names_of(never),
              UnorderedElementsAre(
                  // Never called: a table of texts.
                  "nvmlShutdown", "nvmlErrorString",
                  // Called only with confidential computing.
                  "nvmlSystemGetConfComputeGpusReadyState",
                  // No driver here is as old as these names, or is one of the few versions that
                  // have them.
                  "nvmlSystemGetCudaDriverVersion", "nvmlDeviceGetComputeRunningProcesses_v2",
                  "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetNvLinkRemotePciInfo",
                  "nvmlDeviceGetGpuFabricInfo"));
}

}  // namespace
}  // namespace muster::e2e
