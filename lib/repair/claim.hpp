// SPDX-License-Identifier: Apache-2.0
// A claim: what a provider needs to know to repair a node, in the form of each provider. Pure
// functions of reports.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/node/parts.hpp"
#include "lib/repair/record.hpp"
#include "lib/repair/repair_rules.hpp"
#include "lib/report/report.hpp"

namespace muster::repair {

// One time at which the fault was found.
struct ClaimSighting {
  MUSTER_DESCRIBED(ClaimSighting);
  MUSTER_FIELD(std::string, at, "RFC 3339, UTC");
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_FIELD(std::string, message, "");
};

struct Claim {
  static constexpr std::string_view kSchema = "muster.claim/1";
  MUSTER_DESCRIBED(Claim);
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(std::string, physical_host, "empty if the provider does not report it");
  MUSTER_UNLESS_EMPTY(std::string, vm_id, "the provider's id of the virtual machine") = {};
  MUSTER_FIELD(std::string, check, "that failed");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, message, "");
  MUSTER_FIELD(std::string, observed, "with its unit; empty if it is not a number");
  MUSTER_FIELD(std::string, limit, "likewise");
  MUSTER_FIELD(std::string, category, "Azure's impact category");
  MUSTER_FIELD(bool, hard, "evidence that needs no repetition") = false;
  MUSTER_FIELD(std::vector<ClaimSighting>, seen, "oldest first");
  MUSTER_FIELD(std::vector<Part>, parts, "that failed");
  MUSTER_FIELD(ByName<std::string>, stack, "versions of the software");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, partners, "nodes of the test that are proven") = {};
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, kernel_lines, "") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence, "file name of the bundle") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence_sha256, "") = {};
};

// "595 TFLOPS"; empty if the value is not a number.
[[nodiscard]] std::string with_unit(const Value& value, const std::string& unit);

// Whether one observation of this category proves the fault: a part that is missing, or that says
// itself that it is broken.
[[nodiscard]] bool is_hard_evidence(std::string_view category, Remedy remedy);

// The first failure of the newest report that is proven: by hard evidence, or since the same check
// failed on the same device in another boot or ten minutes apart. An error says what is missing.
[[nodiscard]] Result<Claim> make_claim(std::vector<Report> reports);

// The record of a claim in the journal, prepared.
[[nodiscard]] RepairRecord record_of(const Claim& claim, std::string_view provider);

// The newest operation that claims the same part of the same host for the same reason, and is
// open; null if there is none. A claim that was reopened needs a new one.
[[nodiscard]] const RepairRecord* open_claim(const std::vector<RepairRecord>& operations,
                                             const RepairRecord& claim);

// Returns the state after later reports; nothing if they do not change it. A node that passes on
// another host, or after another boot, is verified. One that was out and reports again is reopened
// with the same fault of the same part, else returned until its check is judged.
[[nodiscard]] std::optional<State> next_state(const RepairRecord& claim,
                                              const std::vector<Report>& reports);

// The body of Azure's Guest Health Reporting. An error names the key of muster.yaml that is needed.
[[nodiscard]] Result<std::string> azure_payload(const Claim& claim, const AzureRules& rules,
                                                std::chrono::sys_seconds now);

// The arguments of `gcloud` and `oci`, the first one being the program.
[[nodiscard]] Result<std::vector<std::string>> gcp_arguments(const Claim& claim,
                                                             const GcpRules& rules);
[[nodiscard]] Result<std::vector<std::string>> oci_arguments(const Claim& claim);

// For people: what every provider and NVIDIA's return form ask for.
[[nodiscard]] std::string claim_text(const Claim& claim);

// The words in quotes that a shell would need, to show a command to people.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& words);

}  // namespace muster::repair
