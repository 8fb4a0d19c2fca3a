// SPDX-License-Identifier: Apache-2.0
// `muster claim`: sends a node back to its provider, with the proof.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/command/output.hpp"

namespace muster::app {

struct ClaimCommand {
  static constexpr std::string_view kName = "claim";

  std::vector<std::string> nodes;    // expanded; empty with --poll: all
  std::vector<std::string> reports;  // files; "-" is standard input
  std::string run;                   // folder of an acceptance
  std::string provider;              // empty: the site's
  std::string vm_id;                 // of the only node
  bool send = false;
  bool poll = false;
  bool no_evidence = false;  // send although there is none
  std::string root = "/";
};

// Exit status: 1 if a node has no proof, is claimed already, or its provider refuses the claim; 2
// if that is not known.
[[nodiscard]] int run_claim(const ClaimCommand& command, const Caller& caller);

}  // namespace muster::app
