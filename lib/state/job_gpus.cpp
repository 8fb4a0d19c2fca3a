// SPDX-License-Identifier: Apache-2.0
#include "lib/state/job_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr const char* kJob = "SLURM_JOB_ID";
constexpr const char* kBySlurm = "SLURM_JOB_GPUS";
constexpr const char* kByCuda = "CUDA_VISIBLE_DEVICES";

// A parsed list of GPUs.
struct GpuList {
  std::set<unsigned> numbers;
  std::vector<std::string> uuids;        // or prefixes, as CUDA allows
  std::vector<std::string> partitioned;  // UUIDs of GPUs with a listed instance (MIG)
  bool instances = false;                // an instance of an unknown GPU
  bool unclear = false;                  // an unknown entry
};

// "3", or "0-3" as Slurm shortens lists.
bool read_numbers(std::string_view entry, std::set<unsigned>& numbers) {
  constexpr unsigned kMax = 1024;
  const auto dash = entry.find('-');
  const auto first = parse_unsigned(entry.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_unsigned(entry.substr(dash + 1));
  if (!first || !last || *last < *first || *last >= kMax) return false;
  for (auto number = *first; number <= *last; ++number) {
    numbers.insert(static_cast<unsigned>(number));
  }
  return true;
}

void read_entry(std::string_view entry, GpuList& named) {
  constexpr std::string_view kGpu = "GPU-";
  constexpr std::string_view kInstance = "MIG-";
  constexpr std::string_view kInstanceOfGpu = "MIG-GPU-";  // "MIG-GPU-<uuid>/<gpu>/<compute>"
  if (entry.starts_with(kInstanceOfGpu)) {
    entry = entry.substr(kInstance.size());
    named.partitioned.emplace_back(entry.substr(0, entry.find('/')));
  } else if (entry.starts_with(kInstance)) {
    named.instances = true;
  } else if (entry.starts_with(kGpu)) {
    named.uuids.emplace_back(entry);
  } else if (!read_numbers(entry, named.numbers)) {
    named.unclear = true;
  }
}

GpuList read_list(std::string_view list) {
  constexpr std::array<std::string_view, 3> kNone{"", "NoDevFiles", "-1"};
  GpuList named;
  if (std::ranges::count(kNone, trim(list)) > 0) return named;
  for (const auto entry : split(list, ',')) read_entry(trim(entry), named);
  return named;
}

bool names(const std::vector<std::string>& uuids, const Gpu& gpu) {
  return gpu.uuid && std::ranges::any_of(uuids, [&](const auto& uuid) {
           return std::string_view(*gpu.uuid).starts_with(uuid);
         });
}

bool may_be_partitioned(const Gpu& gpu) {
  return gpu.modes.mig ? *gpu.modes.mig : gpu.modes.mig.is_unreadable();
}

// Slurm counts device files or GPUs by PCI address, as configured: only certain if both agree.
Held by_slurms_number(const GpuList& named, const Gpu& gpu) {
  const bool by_address = named.numbers.contains(gpu.index);
  const bool by_file = named.numbers.contains(gpu.minor.value_or(gpu.index));
  if (by_address != by_file) return Held::perhaps;
  return by_address ? Held::yes : Held::no;
}

Held held_by(const GpuList& named, const Gpu& gpu) {
  if (names(named.uuids, gpu)) return Held::yes;
  const Held numbered = by_slurms_number(named, gpu);
  if (numbered != Held::no) return numbered;
  const bool anonymous = !gpu.uuid && (!named.uuids.empty() || !named.partitioned.empty());
  const bool instance =
      names(named.partitioned, gpu) || (named.instances && may_be_partitioned(gpu));
  return anonymous || instance || named.unclear ? Held::perhaps : Held::no;
}

void hold_all(JobGpus& result, const std::vector<Gpu>& gpus, Held held) {
  for (const auto& gpu : gpus) result.held[gpu.index] = held;
}

}  // namespace

JobGpus find_job_gpus(const Snapshot& snapshot) {
  const auto& gpus = snapshot.nvml->gpus;
  JobGpus result;
  if (!snapshot.environment.ok()) {
    result.doubt = fmt::format("the environment is unknown: {}", snapshot.environment.reason);
    return result;
  }
  const auto& variables = snapshot.environment->job;
  const auto job = variables.find(kJob);
  if (job == variables.end() || job->second.empty()) {
    hold_all(result, gpus, Held::yes);
    return result;
  }
  result.job = job->second;
  const bool by_slurm = variables.contains(kBySlurm);
  const auto list = variables.find(by_slurm ? kBySlurm : kByCuda);
  if (list == variables.end()) {
    result.doubt = fmt::format("neither {} nor {} is set", kBySlurm, kByCuda);
    return result;
  }
  result.doubt = fmt::format("{} is {}", list->first, list->second);
  const GpuList named = read_list(list->second);
  // Numbers may be those of instances instead.
  const bool of_gpus = std::ranges::none_of(gpus, may_be_partitioned);
  const auto is_listed = [&](const Gpu& gpu) { return by_slurms_number(named, gpu) == Held::yes; };
  if (of_gpus && std::ranges::all_of(gpus, is_listed)) {
    hold_all(result, gpus, Held::yes);
    return result;
  }
  // In a cgroup, CUDA numbers GPUs from the job's first one.
  const bool certain = named.numbers.empty() || (of_gpus && by_slurm);
  for (const auto& gpu : gpus) {
    const bool is_known = certain || names(named.uuids, gpu);
    result.held[gpu.index] = is_known ? held_by(named, gpu) : Held::perhaps;
  }
  return result;
}

}  // namespace muster
