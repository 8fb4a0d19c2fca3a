// SPDX-License-Identifier: Apache-2.0
// ib.verbs: libibverbs, which MPI and NCCL use, opens every HCA, agrees with sysfs about its ports,
// and can register memory.

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"

namespace muster::checks::ib_verbs {
namespace {

void compare(std::vector<std::string>& differences, std::string_view what, unsigned verbs,
             const Fact<unsigned>& sysfs) {
  if (!sysfs || *sysfs == verbs) return;
  differences.push_back(fmt::format("{} is {} in verbs but {} in sysfs", what, verbs, *sysfs));
}

// Not the lane speed, which ib.rate judges: sysfs cannot name every speed.
Findings judge_ports(const Hca& hca, const std::vector<VerbsPort>& verbs) {
  Findings findings;
  for (const IbPort& port : *hca.ports) {
    if (!port.state || *port.state != ib::kActive) continue;
    const auto found = std::ranges::find(verbs, port.number, &VerbsPort::number);
    const ib::PortOf at{&hca, &port};
    if (found == verbs.end()) {
      findings.push_back(ib::about(at, Outcome::fail, "verbs do not list the port"));
      continue;
    }
    std::vector<std::string> differences;
    compare(differences, "state", found->state, port.state);
    compare(differences, "physical state", found->physical_state, port.physical_state);
    compare(differences, "width", found->width, port.width);
    compare(differences, "LID", found->lid, port.lid);
    compare(differences, "SM LID", found->sm_lid, port.sm_lid);
    if (differences.empty()) continue;
    findings.push_back(ib::about(at, Outcome::fail, fmt::format("{}", fmt::join(differences, "; ")),
                                 Remedy::reboot));
  }
  return findings;
}

// host.limits reports a low limit of locked memory.
bool memlock_is_limited(const Snapshot& snapshot) {
  const auto& limit = snapshot.kernel->limits.memlock_bytes;
  return limit && *limit != "unlimited";
}

Findings judge_device(const Snapshot& snapshot, const Hca& hca, const VerbsDevice& device) {
  if (device.ports.is_absent()) return {skipped(device.ports.why(), hca.name)};
  if (!device.ports) return {failed(hca.name, device.ports.why(), Remedy::fix_config)};
  Findings findings;
  if (hca.ports) findings = judge_ports(hca, *device.ports);
  if (device.registers.is_unreadable() && !memlock_is_limited(snapshot)) {
    findings.push_back(failed(hca.name, device.registers.why(), Remedy::fix_config));
  }
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto hcas = ib::hcas_of(snapshot, profile);
  if (!snapshot.verbs.ok()) {
    if (snapshot.identity->foreign_root) return {skipped(snapshot.verbs.reason)};
    return {failed(kNode, snapshot.verbs.reason, Remedy::restart_service)};
  }
  const bool none = std::ranges::none_of(
      hcas, [&](const Hca* hca) { return ib::verbs_device(snapshot, *hca) != nullptr; });
  if (none) {
    return {failed(kNode, fmt::format("libibverbs lists none of {}", counted(hcas.size(), "HCA")),
                   Remedy::fix_config)};
  }
  Findings findings;
  for (const Hca* hca : hcas) {
    const VerbsDevice* device = ib::verbs_device(snapshot, *hca);
    if (device == nullptr) {
      findings.push_back(
          failed(hca->name,
                 "libibverbs does not list it: its provider library or its character device below "
                 "/dev/infiniband is missing",
                 Remedy::fix_config));
    } else {
      append(findings, judge_device(snapshot, *hca, *device));
    }
  }
  return or_pass(std::move(findings),
                 fmt::format("{} opened, consistent with sysfs", counted(hcas.size(), "HCA")));
}

}  // namespace

constinit const Check check{
    .id = "ib.verbs",
    .title = "libibverbs opens every HCA and agrees with sysfs",
    .why =
        "Jobs use an HCA through libibverbs. A missing provider library or character device "
        "silently hides the HCA, wrong permissions prevent opening it, and without memory "
        "registration every transfer fails.",
    .fix =
        "Load ib_uverbs, install the provider libraries (ibverbs-providers, rdma-core), check the "
        "permissions of /dev/infiniband and the limit of locked memory.",
    .needs = Probe::infiniband | Probe::verbs | Probe::identity,
    .looks_at = Probe::kernel,  // the limit of locked memory
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_hcas,
    .judge = judge,
};

}  // namespace muster::checks::ib_verbs
