// SPDX-License-Identifier: Apache-2.0
#include "repair/claim_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "lib/accept/node_claim.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/digest.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/base/uuid.hpp"
#include "lib/process/child.hpp"
#include "lib/process/program.hpp"
#include "lib/profile/choice.hpp"
#include "lib/repair/claim.hpp"
#include "repair/azure.hpp"
#include "repair/journal.hpp"
#include "repair/rules.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using repair::Claim;
using repair::RepairRecord;
using repair::State;

constexpr std::size_t kLargestBundle = 512UL << 20U;
constexpr std::string_view kReportEnd = ".report.json", kBundleEnd = ".evidence.tar.gz";

// Returns the files of a node in the repair folder with this suffix, oldest first.
std::vector<fs::path> files_of(const fs::path& folder, std::string_view end) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    if (entry.path().filename().string().ends_with(end)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class ClaimRun {
 public:
  ClaimRun(const ClaimCommand& command, const Caller& caller, repair::RepairRules rules)
      : command_(command), caller_(caller), rules_(std::move(rules)) {
    provider_ = command.provider.empty() ? rules_.provider : command.provider;
  }

  Result<void> prepare() {
    for (const auto& file : command_.reports) {
      TRY_ASSIGN(auto report, read_report(file));
      given_.push_back(std::move(report));
    }
    if (command_.run.empty()) return {};
    const auto file = (fs::absolute(command_.run) / "accept.json").string();
    const auto text = Root().read(file, kLargestBundle);
    if (!text) {
      return make_error("{}; write it with muster accept --run DIR --page", text.error().message);
    }
    const auto delivery = from_json<accept::Delivery>(*text);
    if (!delivery) return make_error("{}: {}", file, delivery.error().message);
    if (delivery->simulated && command_.send) {
      return make_error("{}: its nodes are simulated, so no claim can be sent", file);
    }
    for (const auto& card : delivery->cards) {
      if (card.verdict == accept::NodeVerdict::rejected)
        rejected_[card.node] = accept::claim_of(card);
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> nodes() const {
    if (!command_.nodes.empty() || rejected_.empty()) return command_.nodes;
    std::vector<std::string> names;
    for (const auto& [name, claim] : rejected_) names.push_back(name);
    return names;
  }

  // Whether the last claim was refused, by the provider or because proof is missing.
  [[nodiscard]] bool refused() const { return refused_; }

  // Prints the claim of one node, or sends it.
  Result<void> claim(const std::string& node) {
    refused_ = false;
    TRY_ASSIGN(auto claim, claim_for(node));
    claim.vm_id = command_.vm_id;
    add_evidence(claim);
    TRY_ASSIGN(const auto payload, payload_of(claim));
    TRY_ASSIGN(auto record, reserve(claim));
    if (!command_.send) {
      caller_.console.note(
          fmt::format("muster: {}: claim {} is prepared; if it is not handed in, end it with "
                      "muster repair --resolve {}=cancelled",
                      printable(node, 100), record.id, record.id));
      return caller_.console.out(payload);
    }
    if (claim.evidence.empty() && !command_.no_evidence) {
      return refuse(
          fmt::format("no evidence in {}: run `muster evidence` on the node before it is sent "
                      "back, or pass --no-evidence if it no longer runs",
                      (fs::path(rules_.folder) / node).string()));
    }
    TRY(send(claim, payload, record));
    record.state = State::sent;
    TRY_ASSIGN(auto journal, repair::RepairJournal::open(rules_.folder));
    TRY(add(journal, record));
    return caller_.console.out(
        fmt::format("{}: sent to {} as {}\n", printable(node, 100), provider_, record.reference));
  }

  // Follows the open claims of the nodes, or all open claims.
  Result<void> poll() {
    TRY_ASSIGN(auto journal, repair::RepairJournal::open(rules_.folder));
    std::optional<repair::AzureClient> azure;
    for (auto record : repair::latest(journal.records())) {
      const bool is_wanted = command_.nodes.empty() ||
                             std::ranges::find(command_.nodes, record.node) != command_.nodes.end();
      if (record.rung != repair::Rung::claim || !is_open(record.state) || record.id.empty() ||
          record.provider.empty() || !is_wanted) {
        continue;
      }
      std::string insight;
      if (record.provider == "azure" && !record.reference.empty()) {
        if (!azure) {
          TRY_ASSIGN(azure, repair::AzureClient::open(rules_.azure, caller_.variables));
        }
        TRY_ASSIGN(insight, follow(*azure, record, journal));
      }
      TRY_ASSIGN(const auto reports, reports_of(record.node));
      if (const auto next = repair::next_state(record, reports)) {
        record.state = *next;
        TRY(add(journal, record));
      }
      TRY(caller_.console.out(fmt::format("{}: claim {} {}: {} {}{}\n", printable(record.node, 100),
                                          record.id, to_string(record.state), record.check,
                                          printable(record.device, 60), insight)));
    }
    return {};
  }

 private:
  // Writes the claim's record to the journal before anything is sent. The lock is not held while
  // the provider answers: a claim that is sent twice has the same name.
  Result<RepairRecord> reserve(const Claim& claim) {
    TRY_ASSIGN(auto journal, repair::RepairJournal::open(rules_.folder));
    auto record = repair::record_of(claim, provider_);
    const auto operations = repair::latest(journal.records());
    const auto* const open = repair::open_claim(operations, record);
    if (open != nullptr && open->state != State::prepared) {
      return refuse(fmt::format(
          "claim {} for the same part has been {} since {}: see `muster claim --poll {}`", open->id,
          to_string(open->state), open->at, claim.node));
    }
    record.id = open == nullptr ? make_uuid() : open->id;
    if (open == nullptr) TRY(add(journal, record));
    return record;
  }

  // Returns the reports in the node's folder and those named with --report.
  Result<std::vector<Report>> reports_of(const std::string& node) const {
    std::vector<Report> reports;
    for (const auto& file : files_of(fs::path(rules_.folder) / node, kReportEnd)) {
      TRY_ASSIGN(auto report, read_report(file.string()));
      reports.push_back(std::move(report));
    }
    std::ranges::copy_if(given_, std::back_inserter(reports),
                         [&](const Report& each) { return each.node == node; });
    return reports;
  }

  // Reports an answer to the claim, which is not a failure of this command.
  tl::unexpected<Error> refuse(std::string message) {
    refused_ = true;
    return make_error(std::move(message));
  }

  Result<Claim> claim_for(const std::string& node) {
    const auto rejected = rejected_.find(node);
    if (rejected == rejected_.end() && !command_.run.empty()) {
      return refuse(fmt::format("not a rejected node of {}", printable(command_.run)));
    }
    TRY_ASSIGN(auto reports, reports_of(node));
    if (rejected != rejected_.end()) {
      auto claim = rejected->second;
      repair::add_sightings(claim, reports);
      auto missing = repair::missing_proof(claim);
      if (!missing.empty()) return refuse(std::move(missing));
      return claim;
    }
    auto claim = repair::make_claim(std::move(reports));
    if (!claim) return refuse(claim.error().message);
    return claim;
  }

  void add_evidence(Claim& claim) const {
    const auto bundles = files_of(fs::path(rules_.folder) / claim.node, kBundleEnd);
    if (bundles.empty()) return;
    const auto content = Root().read(bundles.back().string(), kLargestBundle);
    if (!content) return;
    claim.evidence = bundles.back().filename().string();
    claim.evidence_sha256 = sha256_of(*content);
  }

  // Returns the command line of the provider's client; empty if there is none, and for Azure.
  Result<std::vector<std::string>> arguments_of(const Claim& claim) const {
    if (provider_ == "gcp") return repair::gcp_arguments(claim, rules_.gcp);
    if (provider_ == "oci") return repair::oci_arguments(claim);
    return std::vector<std::string>{};
  }

  Result<std::string> payload_of(const Claim& claim) const {
    if (provider_ == "azure") {
      TRY_ASSIGN(auto json, repair::azure_payload(claim, rules_.azure, wall_time()));
      return json + "\n";
    }
    TRY_ASSIGN(const auto words, arguments_of(claim));
    return words.empty() ? repair::claim_text(claim) : repair::shell_text(words) + "\n";
  }

  Result<void> add(repair::RepairJournal& journal, RepairRecord& record) const {
    record.at = utc(wall_time());
    record.who = user_behind_sudo(caller_.variables);
    return journal.add(record);
  }

  // Sets the reference of the record.
  Result<void> send(const Claim& claim, const std::string& payload, RepairRecord& record) {
    if (provider_ == "azure") {
      TRY_ASSIGN(const auto azure, repair::AzureClient::open(rules_.azure, caller_.variables));
      record.reference = record.id;
      const auto sent = azure.send(record.id, payload);
      if (!sent && !sent.error().missing) return refuse(sent.error().message);
      return sent;
    }
    TRY_ASSIGN(auto words, arguments_of(claim));
    if (words.empty()) {
      return make_error("{} has no interface for claims: hand in the output of `muster claim {}`",
                        provider_, claim.node);
    }
    TRY_ASSIGN(const auto program, find_program(words.front(), caller_.variables));
    words.erase(words.begin());
    constexpr std::chrono::minutes kDeadline(3);
    TRY_ASSIGN(const auto ended, run_program({.program = program,
                                              .arguments = words,
                                              .environment = caller_.variables,
                                              .limit = TimeLimit(kDeadline)}));
    if (ended.status != 0) {
      return refuse(fmt::format("{} failed with status {}: {}", program.string(), ended.status,
                                last_line(ended.err)));
    }
    record.reference = last_line(ended.out);
    return {};
  }

  // Takes the newest state from Azure's insights, and returns their text.
  Result<std::string> follow(const repair::AzureClient& azure, RepairRecord& record,
                             repair::RepairJournal& journal) const {
    TRY_ASSIGN(const auto text, azure.insights(record.reference));
    const auto insights = repair::parse_insights(text);
    if (!insights) {
      return make_error("insights of claim {}: {}", record.id, insights.error().message);
    }
    std::string said;
    for (const auto& each : *insights) {
      if (each.state && *each.state > record.state) {
        record.state = *each.state;
        TRY(add(journal, record));
      }
      if (!each.text.empty()) said = fmt::format("; Azure: {}", each.text);
    }
    return said;
  }

  const ClaimCommand& command_;
  const Caller& caller_;
  repair::RepairRules rules_;
  std::string provider_;
  std::vector<Report> given_;
  std::map<std::string, Claim> rejected_;
  bool refused_ = false;
};

}  // namespace

int run_claim(const ClaimCommand& command, const Caller& caller) {
  const auto rules =
      repair::read_repair_rules(sources_of(caller.variables, command.root, {}), command.root);
  if (!rules) {
    return fail(caller, {.status = kExitConfiguration, .message = rules.error().message});
  }
  ClaimRun run(command, caller, *rules);
  if (const auto prepared = run.prepare(); !prepared) {
    return fail(caller, {.status = kExitUndecided, .message = prepared.error().message});
  }
  if (command.poll) {
    const auto polled = run.poll();
    if (polled) return kExitHealthy;
    return fail(caller, {.status = kExitUndecided, .message = polled.error().message});
  }
  int status = kExitHealthy;
  for (const auto& node : run.nodes()) {
    const auto claimed = run.claim(node);
    if (claimed) continue;
    caller.console.note(
        fmt::format("muster: {}: {}", printable(node, 100), claimed.error().message));
    status = std::max(status, run.refused() ? kExitUnhealthy : kExitUndecided);
  }
  return status;
}

}  // namespace muster::app
