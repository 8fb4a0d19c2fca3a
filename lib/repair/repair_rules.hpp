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

// Resource ids of Azure are made of these and the name of the node's virtual machine.
struct AzureRules {
  MUSTER_DESCRIBED(AzureRules);
  MUSTER_FIELD(std::string, subscription, "its id");
  MUSTER_FIELD(std::string, resource_group, "of the nodes' virtual machines");
  MUSTER_FIELD(std::string, api_version,
               "of Guest Health Reporting, which is a preview") = "2023-02-01-preview";
  MUSTER_FIELD(std::string, endpoint,
               "the address of Azure's API") = "https://management.azure.com";
  MUSTER_FIELD(std::string, identity,
               "the address of the metadata service that gives this machine a token") =
      "http://169.254.169.254";
};

struct GcpRules {
  MUSTER_DESCRIBED(GcpRules);
  MUSTER_FIELD(std::string, project, "that the nodes belong to");
  MUSTER_FIELD(std::string, zone, "of the nodes");
};

struct RepairRules {
  MUSTER_DESCRIBED(RepairRules);
  MUSTER_FIELD(std::string, folder,
               "the journal, the evidence and the reports: a folder that all nodes share") =
      "/var/lib/muster/repair";
  MUSTER_FIELD(bool, evidence, "collect the evidence as soon as a node is drained") = false;
  MUSTER_FIELD(std::vector<std::string>, automatic,
               "what hooks may do by themselves: restart_service, reset_gpu, reboot");
  MUSTER_FIELD(std::string, by,
               "how nodes are reached: ssh, local, or the path of a program") = "ssh";
  MUSTER_FIELD(std::vector<std::string>, services,
               "units that may be restarted") = std::vector<std::string>{
      "nvidia-fabricmanager.service", "nvidia-persistenced.service", "nvidia-imex.service",
      "openibd.service"};
  // A share of the cluster's nodes, and a number of nodes; the smaller one holds, but at least one.
  MUSTER_FIELD(Percent, most_at_once, "share of the nodes that are repaired at a time") = {5};
  MUSTER_FIELD(int, most_at_once_nodes, "and how many nodes that is at most") = 8;
  MUSTER_FIELD(int, actions_per_week, "of one node or one part; then only a claim is left") = 2;
  MUSTER_FIELD(Percent, most_by_check,
               "share of the nodes with one failing check within breaker_window that stops "
               "everything") = {10};
  MUSTER_FIELD(Seconds, breaker_window, "time in which such nodes are counted") = {30.0 * 60};
  MUSTER_FIELD(Seconds, reboot_within,
               "a node that is not back by then is ambiguous") = {30.0 * 60};
  MUSTER_FIELD(std::string, provider, "azure, gcp, oci, aws or text: the form of claims") = "text";
  MUSTER_FIELD(AzureRules, azure, "for claims at Azure");
  MUSTER_FIELD(GcpRules, gcp, "for claims at Google Cloud");
};

// A key with an invalid value, and the rest of the sentence; an empty key for none.
struct BrokenValue {
  std::string key;
  std::string what;
};

[[nodiscard]] BrokenValue check_values(const RepairRules& rules);

}  // namespace muster::repair
