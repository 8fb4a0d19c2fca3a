// SPDX-License-Identifier: Apache-2.0

#include "lib/repair/claim.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster::repair {
namespace {

using std::chrono::minutes;
using std::chrono::sys_seconds;

constexpr std::string_view kUnhealthy = "Resource.Hpc.Unhealthy.";

// Subtypes of kUnhealthy.
constexpr std::array<std::string_view, 4> kHardEvidence{
    "HpcMissingGpu", "MissingIB", "XID79FallenOffBus", "XID95UncontainedECCError"};
// Their checks also fail for what a reset repairs, such as a pending remap.
constexpr std::array<std::string_view, 4> kHardUnlessReset{
    "HpcRowRemapFailure", "HpcInforomCorruption", "DBEOverLimit", "ECCPageRetirementTableFull"};

struct AzureProperties {
  MUSTER_DESCRIBED(AzureProperties);
  MUSTER_KEY(std::string, start, "startDateTime", "");
  MUSTER_KEY(std::string, reported, "reportedTimeUtc", "");
  MUSTER_KEY(std::string, category, "impactCategory", "");
  MUSTER_KEY(std::string, description, "impactDescription", "");
  MUSTER_KEY(std::string, resource, "impactedResourceId", "");
  MUSTER_KEY(ByName<std::string>, more, "additionalProperties", "");
};

struct AzureImpact {
  MUSTER_DESCRIBED(AzureImpact);
  MUSTER_FIELD(AzureProperties, properties, "");
};

sys_seconds time_of(const Report& report) {
  return parse_utc(report.started).value_or(sys_seconds{});
}

const Finding* failure_in(const Report& report, const Finding& like) {
  const auto found = std::ranges::find_if(report.findings, [&](const Finding& each) {
    return each.outcome == Outcome::fail && each.check == like.check && each.device == like.device;
  });
  return found == report.findings.end() ? nullptr : &*found;
}

// Whether two of the sightings are in different boots or at least ten minutes apart.
bool was_seen_again(const std::vector<ClaimSighting>& seen) {
  if (seen.empty()) return false;
  std::set<std::string_view> boots;
  for (const auto& each : seen) boots.insert(each.boot_id);
  boots.erase("");
  const auto first = parse_utc(seen.front().at), last = parse_utc(seen.back().at);
  return boots.size() > 1 || (first && last && *last - *first >= minutes(10));
}

// Whether the provider could do something about the fault.
bool is_of_the_provider(const Finding& finding) {
  constexpr std::array kRemedies{Remedy::reset_gpu, Remedy::reboot, Remedy::reseat_or_replace,
                                 Remedy::report_to_provider};
  return std::ranges::count(kRemedies, finding.remedy) > 0 &&
         !finding.category.ends_with(".Healthy");
}

Claim claim_of(const Finding& finding, const std::vector<Report>& reports) {
  const auto& newest = reports.back();
  Claim claim;
  claim.node = newest.node.value_or("");
  claim.physical_host = newest.physical_host;
  claim.check = finding.check;
  claim.device = finding.device;
  claim.message = finding.message;
  claim.observed = with_unit(finding.observed, finding.unit);
  claim.limit = with_unit(finding.limit, finding.unit);
  claim.category = finding.category;
  claim.hard = is_hard_evidence(finding.category, finding.remedy);
  claim.stack = newest.stack;
  add_sightings(claim, reports);
  for (const auto& part : newest.parts) {
    if (part.device == finding.device || (!part.address.empty() && part.address == finding.device))
      claim.parts.push_back(part);
  }
  return claim;
}

std::string first_serial(const Claim& claim) {
  return claim.parts.empty() ? "" : claim.parts.front().serial;
}

std::string description_of(const Claim& claim) {
  auto text = fmt::format("{} {}: {}", claim.check, claim.device, printable(claim.message, 1000));
  if (!claim.limit.empty())
    text += fmt::format("; observed {}, limit {}", claim.observed, claim.limit);
  text += fmt::format("; seen {}", counted(claim.seen.size(), "time"));
  if (!claim.seen.empty()) text += fmt::format(" since {}", claim.seen.front().at);
  return text;
}

Result<void> need_node(const Claim& claim) {
  if (is_host_name(claim.node)) return {};
  return make_error("\"{}\" is not a node's name", printable(claim.node, 100));
}

}  // namespace

std::string with_unit(const Value& value, const std::string& unit) {
  const auto number = number_of(value);
  if (!number) return "";
  return unit.empty() ? fmt::format("{:g}", *number) : fmt::format("{:g} {}", *number, unit);
}

bool is_hard_evidence(std::string_view category, Remedy remedy) {
  if (!category.starts_with(kUnhealthy)) return false;
  const auto word = category.substr(kUnhealthy.size());
  const bool is_for_good =
      remedy == Remedy::reseat_or_replace || remedy == Remedy::report_to_provider;
  return std::ranges::count(kHardEvidence, word) > 0 ||
         (is_for_good && std::ranges::count(kHardUnlessReset, word) > 0);
}

std::string missing_proof(const Claim& claim) {
  if (claim.hard || was_seen_again(claim.seen)) return "";
  return fmt::format(
      "{} is not proven (seen {}{}): a claim needs the same failure in another boot or at least "
      "ten minutes apart; make another report on the node, with muster evidence, or with "
      "muster-bench and --report",
      claim.check.empty() ? printable(claim.message, 200)
                          : fmt::format("{} {}", claim.check, claim.device),
      counted(claim.seen.size(), "time"),
      claim.seen.empty() ? "" : fmt::format(", last at {}", claim.seen.back().at));
}

void add_sightings(Claim& claim, const std::vector<Report>& reports) {
  Finding like;
  like.check = claim.check;
  like.device = claim.device;
  for (const auto& report : reports) {
    const auto* const seen = failure_in(report, like);
    if (seen != nullptr) claim.seen.push_back({report.started, report.boot_id, seen->message});
  }
  std::ranges::stable_sort(claim.seen, {}, &ClaimSighting::at);
}

Result<Claim> make_claim(std::vector<Report> reports) {
  if (reports.empty()) {
    return make_error("no report of this node; make one with muster evidence on the node");
  }
  std::ranges::stable_sort(reports, {}, time_of);
  const auto& newest = reports.back();
  std::string missing;
  for (const auto& finding : newest.findings) {
    if (finding.outcome != Outcome::fail || !is_of_the_provider(finding)) continue;
    auto claim = claim_of(finding, reports);
    auto still_missing = missing_proof(claim);
    if (still_missing.empty()) return claim;
    if (missing.empty()) missing = std::move(still_missing);
  }
  if (!missing.empty()) return make_error(std::move(missing));
  return make_error(
      "nothing to claim: the newest report, of {}, has no failure that a provider can repair",
      newest.started);
}

RepairRecord record_of(const Claim& claim, std::string_view provider) {
  RepairRecord record;
  record.node = claim.node;
  record.rung = Rung::claim;
  record.state = State::prepared;
  record.check = claim.check;
  record.device = claim.device;
  record.incident = fmt::format("{} {} {}", claim.check, claim.device,
                                claim.seen.empty() ? "" : claim.seen.front().at);
  for (const auto& part : claim.parts) record.serials.push_back(part.serial);
  record.why = printable(claim.message, 1000);
  record.boot_id = claim.seen.empty() ? "" : claim.seen.back().boot_id;
  record.physical_host = claim.physical_host;
  record.evidence = claim.evidence;
  record.evidence_sha256 = claim.evidence_sha256;
  record.provider = provider;
  record.category = claim.category;
  return record;
}

const RepairRecord* open_claim(const std::vector<RepairRecord>& operations,
                               const RepairRecord& claim) {
  const auto is_same = [&](const RepairRecord& each) {
    const bool same_host = each.physical_host.empty() || claim.physical_host.empty()
                               ? each.node == claim.node
                               : each.physical_host == claim.physical_host;
    return each.rung == Rung::claim && is_open(each.state) && each.state != State::reopened &&
           same_host && each.serials == claim.serials && each.category == claim.category &&
           each.check == claim.check;
  };
  const auto found = std::find_if(operations.rbegin(), operations.rend(), is_same);
  return found == operations.rend() ? nullptr : &*found;
}

std::optional<State> next_state(const RepairRecord& claim, const std::vector<Report>& reports) {
  const Report* newest = nullptr;
  for (const auto& report : reports) {
    if (report.started <= claim.at) continue;
    if (newest == nullptr || newest->started < report.started) newest = &report;
  }
  if (newest == nullptr || !is_open(claim.state)) return std::nullopt;
  const bool is_other_host = !newest->physical_host.empty() && !claim.physical_host.empty() &&
                             newest->physical_host != claim.physical_host;
  const bool is_other_boot = !newest->boot_id.empty() && newest->boot_id != claim.boot_id;
  const auto judged = std::ranges::find(newest->checks, claim.check, &CheckResult::id);
  const bool passes = judged != newest->checks.end() &&
                      (judged->outcome == Outcome::pass || judged->outcome == Outcome::warn);
  if (passes && (is_other_host || is_other_boot)) return State::verified;
  Finding like;
  like.check = claim.check;
  like.device = claim.device;
  const bool has_part = std::ranges::any_of(newest->parts, [&](const Part& part) {
    return std::ranges::find(claim.serials, part.serial) != claim.serials.end();
  });
  const bool was_away = claim.state == State::out || claim.state == State::returned;
  if (was_away && has_part && failure_in(*newest, like) != nullptr) return State::reopened;
  if (claim.state == State::out && (is_other_host || is_other_boot)) return State::returned;
  return std::nullopt;
}

Result<std::string> azure_payload(const Claim& claim, const AzureRules& rules, sys_seconds now) {
  TRY(need_node(claim));
  struct Needed {
    std::string_view key, value;
  };
  for (const auto& [key, value] : {Needed{"subscription", rules.subscription},
                                   Needed{"resource_group", rules.resource_group}}) {
    if (value.empty()) return make_error("muster.yaml: set repair.azure.{}", key);
  }
  if (claim.physical_host.empty() && claim.vm_id.empty()) {
    return make_error(
        "Azure needs the name of the physical host or the id of the virtual machine: the report "
        "has "
        "none, so give --vm-id");
  }
  const auto category =
      claim.category.empty() ? fmt::format("{}HpcGenericFailure", kUnhealthy) : claim.category;
  std::map<std::string, std::string> more{{"Manufacturer", "Nvidia"}, {"CollectTelemetry", "0"}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) more[key] = value;
  };
  add("PhysicalHostName", claim.physical_host);
  add("VmUniqueId", claim.vm_id);
  add("SerialNumber", first_serial(claim));
  if (!claim.parts.empty()) {
    add("ModelNumber", claim.parts.front().model);
    add("Location",
        claim.parts.front().address.empty() ? claim.device : claim.parts.front().address);
  }
  auto description = description_of(claim);
  if (category.ends_with("HpcRowRemapFailure")) {
    const auto index = claim.device.find_first_of("0123456789");
    const auto number = index == std::string::npos ? claim.device : claim.device.substr(index);
    description = fmt::format("gpu_row_remap_failure: GPU {} (SXM{} SN:{}): row remap failure. {}",
                              number, number, first_serial(claim), description);
    more["UCE"] = "1";
  }
  return to_json_line(AzureImpact{
      .properties = {
          .start = claim.seen.empty() ? utc(now) : claim.seen.front().at,
          .reported = utc(now),
          .category = category,
          .description = description,
          .resource = fmt::format("/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute/"
                                  "virtualMachines/{}",
                                  rules.subscription, rules.resource_group, claim.node),
          .more = std::move(more)}});
}

Result<std::vector<std::string>> gcp_arguments(const Claim& claim, const GcpRules& rules) {
  TRY(need_node(claim));
  if (rules.project.empty()) return make_error("muster.yaml: set repair.gcp.project");
  if (rules.zone.empty()) return make_error("muster.yaml: set repair.gcp.zone");
  const bool is_gpu = claim.check.starts_with("gpu.") || claim.check.starts_with("xid.");
  const std::string_view behavior = claim.category.empty() && !claim.hard ? "PERFORMANCE"
                                    : is_gpu ? "UNRECOVERABLE_GPU_ERROR"
                                             : "BEHAVIOR_UNSPECIFIED";
  // gcloud splits this value at commas and semicolons.
  auto description = description_of(claim);
  std::ranges::replace_if(
      description, [](char c) { return c == ',' || c == ';'; }, ' ');
  return std::vector<std::string>{
      "gcloud",
      "compute",
      "instances",
      "report-host-as-faulty",
      claim.node,
      fmt::format("--project={}", rules.project),
      fmt::format("--zone={}", rules.zone),
      "--disruption-schedule=IMMEDIATE",
      fmt::format("--fault-reasons=behavior={},description={}", behavior, description)};
}

Result<std::vector<std::string>> oci_arguments(const Claim& claim) {
  TRY(need_node(claim));
  if (claim.vm_id.empty()) return make_error("OCI needs the instance's OCID: give --vm-id");
  return std::vector<std::string>{
      "oci",
      "compute",
      "instance",
      "update",
      fmt::format("--instance-id={}", claim.vm_id),
      R"(--defined-tags={"ComputeInstanceHostActions":{"CustomerReportedHostStatus":"unhealthy"}})",
      "--force"};
}

std::string claim_text(const Claim& claim) {
  std::string text;
  const auto add = [&](std::string_view label, std::string_view value) {
    if (!value.empty()) text += fmt::format("{:<12}{}\n", label, printable(value, 1000));
  };
  add("node", claim.node);
  add("host", claim.physical_host);
  add("vm", claim.vm_id);
  for (const auto& part : claim.parts) {
    add("part", fmt::format("{} {}, serial {}, firmware {}{}", part.device, part.model, part.serial,
                            part.firmware,
                            part.address.empty() ? "" : fmt::format(", at {}", part.address)));
  }
  add("fault", fmt::format("{} {}: {}", claim.check, claim.device, claim.message));
  if (!claim.limit.empty()) {
    add("measured", fmt::format("{}; limit {}", claim.observed, claim.limit));
  }
  add("category", claim.category);
  for (const auto& each : claim.seen) {
    add("seen", fmt::format("{} boot {}: {}", each.at, each.boot_id, each.message));
  }
  const auto missing = missing_proof(claim);
  add("proof", claim.hard        ? "hard evidence: the part is missing or reports its own failure"
               : missing.empty() ? std::string_view("the same check failed again")
                                 : missing);
  if (!claim.partners.empty()) add("partners", fmt::format("{}", fmt::join(claim.partners, ", ")));
  for (const auto& line : claim.kernel_lines) add("kernel", line);
  for (const auto& [name, version] : claim.stack) add(name, version);
  if (!claim.evidence.empty()) {
    add("evidence", fmt::format("{} sha256 {}", claim.evidence, claim.evidence_sha256));
  }
  return text;
}

std::string shell_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += ' ';
    const bool is_plain =
        !word.empty() && word.find_first_not_of(
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "-_=./:,+@%") == std::string::npos;
    if (is_plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
    text += '\'';
  }
  return text;
}

}  // namespace muster::repair
