// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/probing.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <type_traits>

#include "lib/process/child.hpp"

namespace muster::e2e {
namespace {

constexpr std::chrono::seconds kLongest{10};

std::string observe_one(const Root& root, Probe probe, const Wanted& wanted) {
  const std::map<Probe, std::function<std::string()>> probes{
      {Probe::identity, [&] { return section_to_json(probe_identity(root)); }},
      {Probe::cpu, [&] { return section_to_json(probe_cpu(root)); }},
      {Probe::memory, [&] { return section_to_json(probe_memory(root)); }},
      {Probe::mounts, [&] { return section_to_json(probe_mounts(root, wanted.statfs_deadline)); }},
      {Probe::disks, [&] { return section_to_json(probe_disks(root)); }},
      {Probe::processes, [&] { return section_to_json(probe_processes(root)); }},
      {Probe::kernel, [&] { return section_to_json(probe_kernel(root, wanted.sysctls)); }},
      {Probe::kernel_log, [&] { return section_to_json(probe_kernel_log(root)); }},
      {Probe::services, [&] { return section_to_json(probe_services(root)); }},
      {Probe::network, [&] { return section_to_json(probe_network(root)); }},
      {Probe::pci, [&] { return section_to_json(probe_pci(root)); }},
      {Probe::infiniband, [&] { return section_to_json(probe_infiniband(root)); }},
      {Probe::verbs, [&] { return section_to_json(probe_verbs(root)); }},
      {Probe::topology, [&] { return section_to_json(probe_topology(root)); }},
      {Probe::environment, [&] { return section_to_json(probe_environment(root, wanted, {})); }},
      {Probe::nvml, [&] { return section_to_json(probe_nvml(root, {}, Clock::now() + kLongest)); }},
  };
  return probes.at(probe)();
}

}  // namespace

std::string reprobe(const Root& root, Probe probe, const Wanted& wanted,
                    std::chrono::milliseconds deadline, Snapshot& snapshot) {
  Children children;
  children.start("probe", deadline, [&] { return observe_one(root, probe, wanted); });
  const auto answer = children.next().second;
  if (answer.end == ChildAnswer::End::died) return answer.reason;
  std::string trouble;
  for_each_section(snapshot, [&](Probe each, auto& section) {
    if (each != probe) return;
    if (answer.end == ChildAnswer::End::timeout) {
      section = {};
      section.status = Status::timeout;
      section.reason = answer.reason;
      return;
    }
    using Facts = std::remove_reference_t<decltype(section.facts)>;
    auto read = parse_section<Facts>(answer.bytes);
    if (read) {
      section = std::move(*read);
    } else {
      trouble = read.error().message;
    }
  });
  return trouble;
}

}  // namespace muster::e2e
