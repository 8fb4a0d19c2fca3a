// SPDX-License-Identifier: Apache-2.0
#include "bench/node/in_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/report/make_finding.hpp"

namespace muster::bench::node {
namespace {

constexpr std::string_view kCheck = "bench.in_use";

bool is_visible(const Gpu& gpu, const std::string& visible) {
  const auto words = split(visible, ',');
  const bool numbers = std::ranges::all_of(
      words, [](std::string_view word) { return parse_unsigned(trim(word)).has_value(); });
  if (visible.empty() || !numbers) return true;
  return std::ranges::find(words, fmt::format("{}", gpu.index), trim) != words.end();
}

std::string name_of(const GpuProcess& process) {
  const auto name = process.name.empty() ? "a process outside this container" : process.name;
  const auto job = process.job.empty() ? std::string() : fmt::format(", job {}", process.job);
  return fmt::format("{} (process {}{})", printable(name, 80), process.pid, printable(job, 40));
}

}  // namespace

std::vector<Finding> judge_use(const Section<Nvml>& nvml, const std::string& visible) {
  if (nvml.status == Status::absent)
    return {make_finding(kCheck, "node", Outcome::skip, nvml.reason)};
  const auto trouble = nvml.ok() ? nvml->trouble : nvml.reason;
  if (!trouble.empty()) {
    return {make_finding(kCheck, "node", Outcome::unknown,
                         fmt::format("NVML cannot list processes: {}", trouble))};
  }
  std::vector<Finding> findings;
  for (const auto& gpu : nvml->gpus) {
    if (!is_visible(gpu, visible) || !gpu.processes || gpu.processes->empty()) continue;
    std::vector<std::string> names;
    for (const auto& process : *gpu.processes) names.push_back(name_of(process));
    findings.push_back(make_finding(kCheck, fmt::format("gpu{}", gpu.index), Outcome::unknown,
                                    fmt::format("in use by {}", fmt::join(names, ", "))));
  }
  if (findings.empty()) {
    findings.push_back(
        make_finding(kCheck, "node", nvml->gpus.empty() ? Outcome::skip : Outcome::pass,
                     fmt::format("no process uses the {}", counted(nvml->gpus.size(), "GPU"))));
  }
  return findings;
}

void add_causes(std::vector<Finding>& findings, const Section<Nvml>& nvml) {
  for (auto& finding : findings) {
    const bool bad = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    if (!bad || finding.check != "bench.host_copy") continue;
    const auto gpu = std::ranges::find_if(nvml->gpus, [&](const Gpu& each) {
      return fmt::format("gpu{}", each.index) == finding.device;
    });
    if (gpu == nvml->gpus.end() || !gpu->link.width || !gpu->link.width_max) continue;
    if (*gpu->link.width >= *gpu->link.width_max) continue;
    finding.message +=
        fmt::format("; its PCI link has {} of {} lanes", *gpu->link.width, *gpu->link.width_max);
  }
}

std::string first_use(const std::vector<Finding>& findings) {
  const auto busy = std::ranges::find_if(findings, [](const Finding& finding) {
    return finding.outcome == Outcome::unknown && finding.device != "node";
  });
  return busy == findings.end() ? "" : fmt::format("{} is {}", busy->device, busy->message);
}

}  // namespace muster::bench::node
