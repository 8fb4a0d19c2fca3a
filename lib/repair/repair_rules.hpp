// SPDX-License-Identifier: Apache-2.0
// The block `repair` of muster.yaml: what muster may do to a sick node, and who repairs the rest.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::repair {

// Azure's resource ids consist of these and the name of the node's virtual machine.
struct AzureRules {
  MUSTER_DESCRIBED(AzureRules);
  MUSTER_FIELD(std::string, subscription, "id of the subscription");
  MUSTER_FIELD(std::string, resource_group, "resource group of the nodes' virtual machines");
  MUSTER_FIELD(std::string, api_version,
               "version of Guest Health Reporting, which is a preview") = "2023-02-01-preview";
  MUSTER_FIELD(std::string, endpoint, "address of Azure's API") = "https://management.azure.com";
  MUSTER_FIELD(std::string, identity,
               "address of the metadata service that issues tokens to this machine") =
      "http://169.254.169.254";
};

struct GcpRules {
  MUSTER_DESCRIBED(GcpRules);
  MUSTER_FIELD(std::string, project, "project that the nodes belong to");
  MUSTER_FIELD(std::string, zone, "zone of the nodes");
};

struct RepairRules {
  MUSTER_DESCRIBED(RepairRules);
  MUSTER_FIELD(std::string, folder, "shared folder for the journal, the evidence and the reports") =
      "/var/lib/muster/repair";
  MUSTER_FIELD(bool, evidence, "collect the evidence as soon as a node is drained") = false;
  MUSTER_FIELD(std::vector<std::string>, automatic,
               "what hooks may do without an admin: restart_service, reset_gpu, reboot");
  MUSTER_FIELD(std::string, by,
               "how nodes are reached: ssh, local, or the path of a program") = "ssh";
  MUSTER_FIELD(std::vector<std::string>, services,
               "units that may be restarted") = std::vector<std::string>{
      "nvidia-fabricmanager.service", "nvidia-persistenced.service", "nvidia-imex.service",
      "openibd.service"};
  // The smaller of the two counts, but at least one node may always be repaired.
  MUSTER_FIELD(Percent, most_at_once,
               "largest share of the nodes to repair at the same time") = {5};
  MUSTER_FIELD(int, most_at_once_nodes, "largest number of nodes to repair at the same time") = 8;
  MUSTER_FIELD(int, actions_per_week,
               "actions on one node or part; after that, only a claim is left") = 2;
  MUSTER_FIELD(Percent, most_by_check,
               "all repairs stop if one check fails on this share of the nodes within "
               "breaker_window") = {10};
  MUSTER_FIELD(Seconds, breaker_window, "period in which these nodes are counted") = {30.0 * 60};
  MUSTER_FIELD(Seconds, reboot_within,
               "a reboot is ambiguous if the node is not back by then") = {30.0 * 60};
  MUSTER_FIELD(std::string, provider, "format of claims: azure, gcp, oci, aws or text") = "text";
  MUSTER_FIELD(AzureRules, azure, "for claims to Azure");
  MUSTER_FIELD(GcpRules, gcp, "for claims to Google Cloud");
};

// A key with an invalid value, and the rest of the sentence; the key is empty if all are valid.
struct BrokenValue {
  std::string key;
  std::string what;
};

[[nodiscard]] BrokenValue check_values(const RepairRules& rules);

}  // namespace muster::repair
