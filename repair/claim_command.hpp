// SPDX-License-Identifier: Apache-2.0
// `muster claim`: sends a node back to its provider, with the proof of its fault.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/command/output.hpp"

namespace muster::app {

struct ClaimCommand {
  static constexpr std::string_view kName = "claim";

  std::vector<std::string> nodes;    // expanded; with --poll, empty means all
  std::vector<std::string> reports;  // files; "-" is standard input
  std::string run;                   // folder of an acceptance
  std::string provider;              // empty: the site's
  std::string vm_id;                 // of the single node
  bool send = false;
  bool poll = false;
  bool no_evidence = false;  // send the claim although there is no evidence
  std::string root = "/";
};

// Returns exit status 1 if there is no proof against a node, it is claimed already, or the provider
// refuses the claim; 2 if that is unknown.
[[nodiscard]] int run_claim(const ClaimCommand& command, const Caller& caller);

}  // namespace muster::app
