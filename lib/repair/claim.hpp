// SPDX-License-Identifier: Apache-2.0
// A claim: what a provider needs to know to repair a node, in each provider's format. Pure
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

// One occasion on which the fault was found.
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
  MUSTER_FIELD(std::string, check, "the check that failed");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, message, "");
  MUSTER_FIELD(std::string, observed, "with its unit; empty if it is not a number");
  MUSTER_FIELD(std::string, limit, "with its unit; empty if it is not a number");
  MUSTER_FIELD(std::string, category, "Azure's impact category");
  MUSTER_FIELD(bool, hard, "one observation is proof enough") = false;
  MUSTER_FIELD(std::vector<ClaimSighting>, seen, "oldest first");
  MUSTER_FIELD(std::vector<Part>, parts, "the parts that failed");
  MUSTER_FIELD(ByName<std::string>, stack, "versions of the software");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, partners,
                      "nodes in the same test that are known to be good") = {};
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, kernel_lines, "") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence, "file name of the bundle") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence_sha256, "") = {};
};

// Returns "595 TFLOPS"; empty if the value is not a number.
[[nodiscard]] std::string with_unit(const Value& value, const std::string& unit);

// Whether one observation of this category proves the fault, because a part is missing or reports
// that it is broken.
[[nodiscard]] bool is_hard_evidence(std::string_view category, Remedy remedy);

// Returns which proof a claim lacks; empty if it is proven, by hard evidence or because the fault
// was seen in several boots or at least ten minutes apart.
[[nodiscard]] std::string missing_proof(const Claim& claim);

// Adds each report in which the same check failed on the same device.
void add_sightings(Claim& claim, const std::vector<Report>& reports);

// Returns the first proven failure of the newest report. An error says which proof is missing.
[[nodiscard]] Result<Claim> make_claim(std::vector<Report> reports);

// Makes the journal's record of a claim, in the state `prepared`.
[[nodiscard]] RepairRecord record_of(const Claim& claim, std::string_view provider);

// Returns the newest open operation that claims the same part of the same host for the same reason;
// null if there is none. A reopened claim needs a new one.
[[nodiscard]] const RepairRecord* open_claim(const std::vector<RepairRecord>& operations,
                                             const RepairRecord& claim);

// Returns the state after later reports; nothing if they do not change it. A node is `verified` if
// it passes on another host or after another boot. If it was `out` and reports again, it is
// `reopened` if the same part has the same fault, else `returned` until its check is judged.
[[nodiscard]] std::optional<State> next_state(const RepairRecord& claim,
                                              const std::vector<Report>& reports);

// Returns the request body for Azure's Guest Health Reporting. An error names the missing key of
// muster.yaml.
[[nodiscard]] Result<std::string> azure_payload(const Claim& claim, const AzureRules& rules,
                                                std::chrono::sys_seconds now);

// Return the command lines of `gcloud` and `oci`, including the program.
[[nodiscard]] Result<std::vector<std::string>> gcp_arguments(const Claim& claim,
                                                             const GcpRules& rules);
[[nodiscard]] Result<std::vector<std::string>> oci_arguments(const Claim& claim);

// Returns a readable text with what every provider and NVIDIA's return form ask for.
[[nodiscard]] std::string claim_text(const Claim& claim);

// Returns the command line, quoted as a shell needs it, to show it to the user.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& words);

}  // namespace muster::repair
